package org.leaderfollowers.benchmarks.attack;

import java.io.BufferedInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Arrays;
import java.util.concurrent.locks.LockSupport;

import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLSocket;

import org.jspecify.annotations.Nullable;

/**
 * A client that behaves well and checks that the server does, too: it sends a few
 * numbered requests, waits for their replies, and pauses. Each request must be answered
 * once and in order. Uses blocking sockets and a thread of its own, and nothing of the
 * engine that is tested.
 */
public final class HonestClient implements AutoCloseable {

	private static final int BATCH = 3;

	/** After this time, a client that is closed gives its current requests up. */
	private static final Duration END_TIMEOUT = Duration.ofSeconds(60);

	private static final Duration PAUSE_AFTER_FAILURE = Duration.ofMillis(50);

	private final Options options;

	private final Tally tally;

	private final Thread thread;

	private volatile boolean stopped;

	private volatile @Nullable Socket socket;

	private long sequence;

	/** How many of the requests under way have no reply yet. */
	private int owed;

	/**
	 * How a client behaves.
	 *
	 * @param name the beginning of its requests and of its failures
	 * @param server where it connects
	 * @param from the address that it connects from, and no other client
	 * @param wire how its messages are separated
	 * @param tls the trust for TLS, or {@code null} for none
	 * @param perConnection after how many batches of requests it opens the next
	 * connection; 0 for never
	 * @param pause how long it pauses between batches
	 * @param timeout how long it waits for a connection or a reply
	 */
	public record Options(String name, InetSocketAddress server, InetAddress from, Wire wire, @Nullable SSLContext tls,
			int perConnection, Duration pause, Duration timeout) {
	}

	/**
	 * Starts a client.
	 * @param options how it behaves
	 * @param tally where it counts
	 */
	public HonestClient(Options options, Tally tally) {
		this.options = options;
		this.tally = tally;
		this.thread = new Thread(this::run, options.name());
		this.thread.setDaemon(true);
		this.thread.start();
	}

	private void run() {
		while (!this.stopped) {
			try (Socket connected = connect()) {
				this.socket = connected;
				converse(connected);
			}
			catch (IOException ex) {
				this.tally.failed(this.options.name(), Math.max(1, this.owed), ex);
				this.owed = 0;
				LockSupport.parkNanos(PAUSE_AFTER_FAILURE.toNanos());
			}
		}
	}

	private Socket connect() throws IOException {
		Socket connecting = new Socket();
		int timeout = (int) this.options.timeout().toMillis();
		try {
			connecting.bind(new InetSocketAddress(this.options.from(), 0));
			connecting.connect(this.options.server(), timeout);
			connecting.setSoTimeout(timeout);
			connecting.setTcpNoDelay(true);
			if (this.options.tls() == null) {
				return connecting;
			}
			SSLSocket secure = (SSLSocket) this.options.tls()
				.getSocketFactory()
				.createSocket(connecting, "localhost", this.options.server().getPort(), true);
			secure.startHandshake();
			return secure;
		}
		catch (IOException ex) {
			connecting.close();
			throw ex;
		}
	}

	private void converse(Socket connected) throws IOException {
		DataInputStream in = new DataInputStream(new BufferedInputStream(connected.getInputStream()));
		int batches = 0;
		while (!this.stopped && (this.options.perConnection() == 0 || batches < this.options.perConnection())) {
			if (!exchange(connected, in)) {
				return;
			}
			batches++;
			LockSupport.parkNanos(this.options.pause().toNanos());
		}
		end(connected, in);
	}

	private boolean exchange(Socket connected, DataInputStream in) throws IOException {
		byte[][] requests = new byte[BATCH][];
		ByteArrayOutputStream frames = new ByteArrayOutputStream();
		for (int i = 0; i < BATCH; i++) {
			// Lengths differ, so that messages end at any place of a buffer
			String padding = ".".repeat((int) (this.sequence % 97));
			requests[i] = (this.options.name() + " " + this.sequence++ + padding).getBytes(StandardCharsets.US_ASCII);
			frames.write(this.options.wire().frame(requests[i]));
		}
		this.owed = BATCH;
		long start = System.nanoTime();
		connected.getOutputStream().write(frames.toByteArray());
		for (byte[] request : requests) {
			byte[] reply = this.options.wire().read(in);
			if (!Arrays.equals(request, reply)) {
				this.tally.wrong(this.options.name(),
						"'%s' was answered by '%s'".formatted(text(request), text(reply)));
				this.owed = 0;
				return false;
			}
			this.owed--;
			this.tally.served(System.nanoTime() - start);
		}
		return true;
	}

	/** All requests are answered, so nothing may come any more. */
	private void end(Socket connected, DataInputStream in) {
		try {
			connected.shutdownOutput();
			if (in.read() >= 0) {
				this.tally.wrong(this.options.name(), "there are more replies than requests");
			}
		}
		catch (IOException ex) {
			// Closed without a farewell, but no reply is missing
		}
	}

	private static String text(byte[] bytes) {
		return new String(bytes, StandardCharsets.ISO_8859_1);
	}

	/**
	 * Tells the client to end when its current requests are answered. Does not wait.
	 */
	public void stop() {
		this.stopped = true;
		LockSupport.unpark(this.thread);
	}

	/**
	 * Waits for the replies that are still missing, and closes the connection.
	 */
	@Override
	public void close() {
		stop();
		try {
			this.thread.join(END_TIMEOUT.toMillis());
			Socket open = this.socket;
			if (this.thread.isAlive() && open != null) {
				open.close();
				this.thread.join(END_TIMEOUT.toMillis());
			}
		}
		catch (IOException ex) {
			// Is closed anyway
		}
		catch (InterruptedException ex) {
			Thread.currentThread().interrupt();
		}
	}

}
