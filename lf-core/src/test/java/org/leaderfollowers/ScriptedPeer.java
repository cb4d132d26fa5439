package org.leaderfollowers;

import java.io.BufferedInputStream;
import java.io.ByteArrayOutputStream;
import java.io.Closeable;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;

import org.jspecify.annotations.Nullable;

/**
 * A server of lines that does what the test tells it, with one blocking socket at a time.
 * All waits end after {@link Engine#DEADLINE}.
 */
final class ScriptedPeer implements Closeable {

	private final ServerSocket listener;

	/** The JDK closes a socket that nothing refers to when it collects garbage. */
	private final Queue<Session> accepted = new ConcurrentLinkedQueue<>();

	ScriptedPeer() {
		this(0);
	}

	ScriptedPeer(int port) {
		try {
			this.listener = new ServerSocket();
			this.listener.setReuseAddress(true);
			this.listener.setSoTimeout((int) Engine.DEADLINE.toMillis());
			this.listener.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), port), 1000);
		}
		catch (IOException ex) {
			throw new UncheckedIOException(ex);
		}
	}

	InetSocketAddress address() {
		return (InetSocketAddress) this.listener.getLocalSocketAddress();
	}

	/** The next connection that a client opens. */
	Session accept() {
		try {
			Session session = new Session(this.listener.accept());
			this.accepted.add(session);
			return session;
		}
		catch (IOException ex) {
			throw new UncheckedIOException(ex);
		}
	}

	@Override
	public void close() {
		try {
			this.listener.close();
		}
		catch (IOException ex) {
			throw new UncheckedIOException(ex);
		}
	}

	/**
	 * One connection.
	 */
	static final class Session implements Closeable {

		private final Socket socket;

		private final InputStream input;

		Session(Socket socket) throws IOException {
			this.socket = socket;
			socket.setTcpNoDelay(true);
			socket.setSoTimeout((int) Engine.DEADLINE.toMillis());
			this.input = new BufferedInputStream(socket.getInputStream());
		}

		/** The next line, or {@code null} if the client has closed. */
		@Nullable String readLine() {
			try {
				ByteArrayOutputStream line = new ByteArrayOutputStream();
				for (int b = this.input.read(); b != '\n'; b = this.input.read()) {
					if (b < 0) {
						return null;
					}
					line.write(b);
				}
				return line.toString(StandardCharsets.ISO_8859_1);
			}
			catch (IOException ex) {
				throw new UncheckedIOException(ex);
			}
		}

		/** The next byte, or -1 if the client has closed. */
		int read() throws IOException {
			return this.input.read();
		}

		Session send(String text) {
			try {
				this.socket.getOutputStream().write(text.getBytes(StandardCharsets.ISO_8859_1));
				return this;
			}
			catch (IOException ex) {
				throw new UncheckedIOException(ex);
			}
		}

		/** Sends nothing more. */
		void shutdownOutput() {
			try {
				this.socket.shutdownOutput();
			}
			catch (IOException ex) {
				throw new UncheckedIOException(ex);
			}
		}

		/** Resets the connection. */
		void reset() {
			try {
				this.socket.setSoLinger(true, 0);
				this.socket.close();
			}
			catch (IOException ex) {
				throw new UncheckedIOException(ex);
			}
		}

		@Override
		public void close() {
			try {
				this.socket.close();
			}
			catch (IOException ex) {
				throw new UncheckedIOException(ex);
			}
		}

	}

}
