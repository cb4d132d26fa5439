package org.leaderfollowers.process;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/**
 * Connections that each send the same bytes and then hold on without a further byte. A
 * connection that the server closes is replaced, so the flood lasts until it is closed.
 */
final class Flood implements AutoCloseable {

	/** Leaves the processor to others between two looks at all connections. */
	private static final long PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(1);

	private final InetSocketAddress address;

	private final ByteBuffer bytes;

	private final SocketChannel[] connections;

	private final Thread thread = new Thread(this::run, "flood");

	private final ByteBuffer reply = ByteBuffer.allocate(1024);

	private volatile boolean ends;

	/** How many connections have been opened. */
	private volatile int opened;

	private volatile IOException failure;

	/**
	 * Begins a flood.
	 * @param address the server to flood
	 * @param connections how many are open at a time
	 * @param bytes what each of them sends
	 */
	Flood(InetSocketAddress address, int connections, byte[] bytes) {
		this.address = address;
		this.connections = new SocketChannel[connections];
		this.bytes = ByteBuffer.wrap(bytes);
		this.thread.start();
	}

	int opened() throws IOException {
		if (this.failure != null) {
			throw this.failure;
		}
		return this.opened;
	}

	private void run() {
		try {
			while (!this.ends) {
				for (int i = 0; i < this.connections.length && !this.ends; i++) {
					if (this.connections[i] == null || isClosed(this.connections[i])) {
						this.connections[i] = open();
					}
				}
				LockSupport.parkNanos(PAUSE_NANOS);
			}
		}
		catch (IOException ex) {
			this.failure = ex;
		}
	}

	private boolean isClosed(SocketChannel connection) throws IOException {
		try {
			if (connection.read(this.reply.clear()) >= 0) {
				return false;
			}
		}
		catch (IOException ex) {
			// Reset by the server.
		}
		connection.close();
		return true;
	}

	private SocketChannel open() throws IOException {
		SocketChannel connection = SocketChannel.open();
		// Few ports are left on one address after many connections.
		connection.bind(new InetSocketAddress(
				InetAddress.getByAddress(new byte[] { 127, 0, 3, (byte) (this.opened / 4096) }), 0));
		connection.connect(this.address);
		connection.configureBlocking(false);
		this.opened++;
		try {
			connection.write(this.bytes.duplicate());
		}
		catch (IOException ex) {
			// Closed already.
		}
		return connection;
	}

	@Override
	public void close() throws InterruptedException, IOException {
		this.ends = true;
		this.thread.join();
		for (SocketChannel connection : this.connections) {
			if (connection != null) {
				connection.close();
			}
		}
	}

}
