package org.leaderfollowers.benchmarks.load;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.util.ArrayList;
import java.util.List;

/**
 * Connections that get one reply each and are then idle. The memory that a server keeps
 * for them is the cost of an idle connection, including memory that the server does not
 * release after the first request.
 */
final class IdleConnections implements AutoCloseable {

	private final List<SocketChannel> channels = new ArrayList<>();

	private final Requests requests;

	private final ByteBuffer in;

	private final int errors;

	IdleConnections(Load load) throws IOException {
		this.requests = new Requests(load.payload());
		this.in = ByteBuffer.allocateDirect(load.payload());
		try {
			InetSocketAddress address = new InetSocketAddress(load.host(), load.port());
			int wrong = 0;
			for (int id = 0; id < load.connections(); id++) {
				SocketChannel channel = Connecting.to(address);
				this.channels.add(channel);
				wrong += replies(channel, id) ? 0 : 1;
			}
			this.errors = wrong;
		}
		catch (IOException ex) {
			close();
			throw ex;
		}
	}

	int errors() {
		return this.errors;
	}

	private boolean replies(SocketChannel channel, int id) throws IOException {
		ByteBuffer request = this.requests.lines(id, 0, 0, 1);
		while (request.hasRemaining()) {
			channel.write(request);
		}
		this.in.clear();
		while (this.in.hasRemaining()) {
			if (channel.read(this.in) < 0) {
				return false;
			}
		}
		return this.requests.matches(this.in.flip(), id, 0, 0, this.requests.length());
	}

	@Override
	public void close() throws IOException {
		for (SocketChannel channel : this.channels) {
			channel.close();
		}
	}

}
