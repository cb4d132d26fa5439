package org.leaderfollowers;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.channels.Channel;
import java.nio.channels.SocketChannel;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.internal.logging.EngineLog;
import org.leaderfollowers.internal.transport.PlainTransport;
import org.leaderfollowers.internal.transport.Transport;

/** Decides whether an accepted socket is served, and creates its connection. */
final class Admission {

	private final ConnectionContext context;

	private final TcpOptions options;

	Admission(ConnectionContext context, TcpOptions options) {
		this.context = context;
		this.options = options;
	}

	void accepted(SocketChannel channel) {
		TcpConnection connection;
		Transport transport = null;
		ConnectionGuard.Permit permit = null;
		try {
			if (this.context.registry().open() >= this.options.maxConnections()) {
				reject(channel);
				this.context.warnings().tooManyConnections(this.options.maxConnections());
				return;
			}
			InetSocketAddress peer = (InetSocketAddress) channel.getRemoteAddress();
			boolean proxied = this.options.trustedNetworks().contains(peer.getAddress());
			if (!proxied && !this.options.servesDirectClients()) {
				reject(channel);
				this.context.warnings().untrusted(peer.getAddress(), this.options.trustedNetworks());
				return;
			}
			ConnectionGuard guard = this.options.guard();
			if (guard != null && !proxied) {
				permit = Permitted.ask(guard, peer, this.context.warnings());
				if (permit == null) {
					reject(channel);
					return;
				}
			}
			channel.configureBlocking(false);
			this.options.sockets().setOnAccepted(channel);
			TlsGenerations tls = this.context.tls();
			transport = (tls != null) ? tls.open(channel) : new PlainTransport(channel);
			InetSocketAddress local = (InetSocketAddress) channel.getLocalAddress();
			connection = (this.context.window() != null)
					? new WindowedConnection(this.context, channel, transport, local, peer)
					: new TcpConnection(this.context, channel, transport, local, peer);
			if (permit != null) {
				connection.origin = new Permitted(permit, null);
			}
			if (proxied) {
				connection.expectProxyHeader(guard);
			}
			ServerExchanges exchanges = this.options.exchanges();
			if (exchanges != null) {
				exchanges.begin(connection);
			}
			this.context.registry().add(connection);
		}
		catch (Exception ex) {
			// The peer has reset the connection before it was served, or the context of
			// TLS has thrown what it does not declare.
			EngineLog.INSTANCE.debug("Server '{}' lost a connection while accepting it", this.context.server().name(),
					ex);
			drop(channel, transport, permit);
			return;
		}
		catch (Throwable ex) {
			// Usually memory is short.
			drop(channel, transport, permit);
			this.context.registry().rejected();
			throw ex;
		}
		connection.open();
	}

	/** Whether code of the application decides which connections are served. */
	boolean isGuarded() {
		return this.options.guard() != null;
	}

	/** Limits TLS handshakes, or {@code null} if the server does not use TLS. */
	@Nullable HandshakeGate gate() {
		TlsGenerations tls = this.context.tls();
		return (tls != null) ? tls.gate() : null;
	}

	/** Whether memory is left for another connection. If not, some of it is freed. */
	boolean hasMemory() {
		return !this.context.memory().isScarce();
	}

	private void reject(SocketChannel channel) {
		this.context.registry().rejected();
		closeQuietly(channel);
	}

	private void drop(SocketChannel channel, @Nullable Transport transport, ConnectionGuard.@Nullable Permit permit) {
		closeQuietly(channel);
		try {
			this.context.transportClosed(transport, null);
		}
		finally {
			if (permit != null) {
				permit.closed();
			}
		}
	}

	private static void closeQuietly(Channel channel) {
		try {
			channel.close();
		}
		catch (IOException ex) {
			// Ignored: nothing was sent or received on this channel.
		}
	}

}
