package org.leaderfollowers.internal.transport;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;

/**
 * The bytes of the socket as they are.
 */
public final class PlainTransport extends Transport {

	/**
	 * Creates the transport of one connection.
	 * @param socket non-blocking
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
