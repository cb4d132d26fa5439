package org.leaderfollowers;

import java.io.IOException;
import java.net.SocketOption;
import java.net.StandardSocketOptions;
import java.nio.channels.NetworkChannel;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;

import org.leaderfollowers.internal.logging.EngineLog;

/**
 * The socket options of the connections of a server or a client.
 *
 * @param noDelay whether small segments are sent at once, {@code TCP_NODELAY}
 * @param keepAlive whether the system probes silent peers, {@code SO_KEEPALIVE}
 * @param receiveBufferSize in bytes, or 0 if the system decides
 * @param sendBufferSize in bytes, or 0 if the system decides
 */
record TcpSocketOptions(boolean noDelay, boolean keepAlive, int receiveBufferSize, int sendBufferSize) {

	/**
	 * Prepares a socket that listens, before it is bound. Accepted sockets inherit its
	 * receive buffer: the window scale is agreed upon before a socket is accepted.
	 */
	void setOn(ServerSocketChannel channel) throws IOException {
		set(channel, StandardSocketOptions.SO_RCVBUF, this.receiveBufferSize);
	}

	/** Prepares a socket that was accepted. Logs nothing: the caller may lead. */
	void setOnAccepted(SocketChannel channel) throws IOException {
		channel.setOption(StandardSocketOptions.TCP_NODELAY, this.noDelay);
		channel.setOption(StandardSocketOptions.SO_KEEPALIVE, this.keepAlive);
		set(channel, StandardSocketOptions.SO_SNDBUF, this.sendBufferSize);
	}

	/** Prepares a socket before it connects. */
	void setOnConnecting(SocketChannel channel) throws IOException {
		setOnAccepted(channel);
		set(channel, StandardSocketOptions.SO_RCVBUF, this.receiveBufferSize);
	}

	/**
	 * Tries the sizes on a socket of its own, and logs those that the system limits. To
	 * be called once, so that not every connection logs the same.
	 * @param owner begins the line
	 */
	void warnOfLimits(String owner) {
		if (this.receiveBufferSize == 0 && this.sendBufferSize == 0) {
			return;
		}
		try (SocketChannel trial = SocketChannel.open()) {
			setBuffer(trial, StandardSocketOptions.SO_RCVBUF, this.receiveBufferSize, owner, "receiveBufferSize");
			setBuffer(trial, StandardSocketOptions.SO_SNDBUF, this.sendBufferSize, owner, "sendBufferSize");
		}
		catch (IOException ex) {
			EngineLog.INSTANCE.debug("{}: the sizes of its socket buffers could not be tried", owner, ex);
		}
	}

	/** Sets the size of a buffer, and logs if the system grants less. */
	static void setBuffer(NetworkChannel channel, SocketOption<Integer> option, int size, String owner, String property)
			throws IOException {
		set(channel, option, size);
		if (size == 0) {
			return;
		}
		int granted = channel.getOption(option);
		if (granted < size) {
			EngineLog.INSTANCE.warn("{} requested a {} of {} bytes but got {}: raise the limit of the system first",
					owner, property, size, granted);
		}
	}

	private static void set(NetworkChannel channel, SocketOption<Integer> option, int size) throws IOException {
		if (size > 0) {
			channel.setOption(option, size);
		}
	}

}
