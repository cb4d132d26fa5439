package org.leaderfollowers.benchmarks.load;

import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * A server for lines that does to its connections what a test wants.
 */
final class LineServer implements AutoCloseable {

	private final ServerSocket listening = new ServerSocket(0, 1024, InetAddress.getLoopbackAddress());

	private final Set<Socket> sockets = ConcurrentHashMap.newKeySet();

	private final AtomicInteger received = new AtomicInteger();

	private final Behaviour behaviour;

	/**
	 * What is done with a connection.
	 */
	interface Behaviour {

		void serve(Lines lines, OutputStream out) throws IOException;

	}

	/**
	 * What is done with a request.
	 */
	interface Handler {

		/**
		 * Handle a request.
		 * @param number its number among those of all connections, from 1
		 * @param line the request with its newline
		 * @param out where the reply is written to
		 * @throws IOException if that fails
		 */
		void handle(int number, byte[] line, OutputStream out) throws IOException;

	}

	private LineServer(Behaviour behaviour) throws IOException {
		this.behaviour = behaviour;
		start(this::accept);
	}

	static LineServer serving(Behaviour behaviour) throws IOException {
		return new LineServer(behaviour);
	}

	static LineServer handling(Handler handler) throws IOException {
		return new LineServer((lines, out) -> {
			while (true) {
				byte[] line = lines.next();
				handler.handle(lines.number(), line, out);
				if (lines.isEmpty()) {
					out.flush();
				}
			}
		});
	}

	static LineServer echoing() throws IOException {
		return handling((number, line, out) -> out.write(line));
	}

	int port() {
		return this.listening.getLocalPort();
	}

	/** How many requests have been received on all connections. */
	int received() {
		return this.received.get();
	}

	int connections() {
		return this.sockets.size();
	}

	private static void start(Runnable task) {
		Thread thread = new Thread(task, "line-server");
		thread.setDaemon(true);
		thread.start();
	}

	private void accept() {
		try {
			while (true) {
				Socket socket = this.listening.accept();
				socket.setTcpNoDelay(true);
				this.sockets.add(socket);
				start(() -> serve(socket));
			}
		}
		catch (IOException ex) {
			// Closed
		}
	}

	private void serve(Socket socket) {
		try (socket) {
			this.behaviour.serve(new Lines(socket.getInputStream(), this.received),
					new BufferedOutputStream(socket.getOutputStream(), 256 * 1024));
		}
		catch (IOException | UncheckedIOException ex) {
			// The peer, or the test, has closed it
		}
		finally {
			this.sockets.remove(socket);
		}
	}

	@Override
	public void close() throws IOException {
		this.listening.close();
		for (Socket socket : this.sockets) {
			socket.close();
		}
	}

	/**
	 * The lines of a connection.
	 */
	static final class Lines {

		private final InputStream in;

		private final AtomicInteger received;

		private int number;

		private Lines(InputStream in, AtomicInteger received) {
			this.in = new BufferedInputStream(in, 64 * 1024);
			this.received = received;
		}

		byte[] next() throws IOException {
			ByteArrayOutputStream line = new ByteArrayOutputStream();
			int next = -1;
			while (next != '\n') {
				next = this.in.read();
				if (next < 0) {
					throw new IOException("The peer has closed the connection");
				}
				line.write(next);
			}
			this.number = this.received.incrementAndGet();
			return line.toByteArray();
		}

		/** The number of the last line among those of all connections. */
		int number() {
			return this.number;
		}

		/** Whether nothing more has come yet. */
		boolean isEmpty() throws IOException {
			return this.in.available() == 0;
		}

	}

}
