package org.leaderfollowers;

import java.io.IOException;
import java.net.SocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.DatagramChannel;

import org.jspecify.annotations.Nullable;

/**
 * Receives and sends datagrams: by system calls, or by a substitute with which a test
 * provokes failures.
 */
interface DatagramTransfer {

	/** Uses system calls. */
	DatagramTransfer SYSTEM = new DatagramTransfer() {
	};

	/** See {@link DatagramChannel#receive(ByteBuffer)}. */
	default @Nullable SocketAddress receive(DatagramChannel channel, ByteBuffer target) throws IOException {
		return channel.receive(target);
	}

	/** See {@link DatagramChannel#send(ByteBuffer, SocketAddress)}. */
	default int send(DatagramChannel channel, ByteBuffer source, SocketAddress target) throws IOException {
		return channel.send(source, target);
	}

}
