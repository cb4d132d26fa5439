package org.leaderfollowers.internal.transport;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;

/** Passes the bytes of the socket unchanged. */
public final class PlainTransport extends Transport {

	/**
	 * Creates the transport of one connection.
	 * @param socket in non-blocking mode
	 */
	public PlainTransport(SocketChannel socket) {
		super(socket);
	}

	@Override
	public int read(ByteBuffer destination) throws IOException {
		return receive(destination);
	}

	@Override
	public int write(ByteBuffer source) throws IOException {
		return socket().write(source);
	}

}
