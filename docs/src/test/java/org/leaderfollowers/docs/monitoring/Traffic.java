package org.leaderfollowers.docs.monitoring;

import java.io.IOException;
import java.io.OutputStream;
import java.net.DatagramPacket;
import java.net.DatagramSocket;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.ToIntFunction;

import javax.net.ssl.SSLContext;

import org.jspecify.annotations.Nullable;

/** Well-behaved and faulty clients of a {@link MonitoredApplication}, until closed. */
final class Traffic implements AutoCloseable {

	private static final int TIMEOUT_MILLIS = 60_000;

	private static final int PAUSE_MILLIS = 200;

	/** Failures are logged with their stack trace, so there should not be too many. */
	private static final int ROUNDS_PER_FAILURE = 5;

	private final InetAddress address = InetAddress.getLoopbackAddress();

	private final ToIntFunction<String> ports;

	private final SSLContext tls;

	private final CountDownLatch stop = new CountDownLatch(1);

	private final List<Socket> stuck = new ArrayList<>();

	private final Thread thread = new Thread(this::run, "traffic");

	private volatile @Nullable Exception failure;

	Traffic(ToIntFunction<String> ports, SSLContext tls) {
		this.ports = ports;
		this.tls = tls;
	}

	void start() {
		this.thread.start();
	}

	/**
	 * Sends a message to each thread of the pool of the server {@code stuck} that keeps
	 * the thread busy.
	 */
	void getThreadsStuck(int threads) throws IOException {
		for (int i = 0; i < threads; i++) {
			Socket socket = connect("stuck");
			this.stuck.add(socket);
			write(socket, "wait\n");
		}
	}

	@Nullable Exception failure() {
		return this.failure;
	}

	private void run() {
		try {
			try (Socket plain = connect("default"); Socket secure = secure(); DatagramSocket datagrams = datagrams()) {
				for (int round = 0; !this.stop.await(PAUSE_MILLIS, TimeUnit.MILLISECONDS); round++) {
					ask(plain);
					ask(secure);
					datagrams.send(new DatagramPacket(new byte[8], 8));
					datagrams.send(new DatagramPacket(new byte[65], 65));
					if (round % ROUNDS_PER_FAILURE == 0) {
						fail("default", "fail\n");
						fail("secure", "this is no handshake\n");
					}
				}
			}
		}
		catch (Exception ex) {
			this.failure = ex;
		}
	}

	private Socket connect(String server) throws IOException {
		Socket socket = new Socket(this.address, this.ports.applyAsInt(server));
		socket.setSoTimeout(TIMEOUT_MILLIS);
		return socket;
	}

	private Socket secure() throws IOException {
		Socket socket = this.tls.getSocketFactory().createSocket(this.address, this.ports.applyAsInt("secure"));
		socket.setSoTimeout(TIMEOUT_MILLIS);
		return socket;
	}

	private DatagramSocket datagrams() throws IOException {
		DatagramSocket socket = new DatagramSocket();
		socket.connect(new InetSocketAddress(this.address, this.ports.applyAsInt("telemetry")));
		return socket;
	}

	private static void ask(Socket socket) throws IOException {
		write(socket, "hello\n");
		byte[] answer = socket.getInputStream().readNBytes(6);
		if (!new String(answer, StandardCharsets.US_ASCII).equals("hello\n")) {
			throw new IOException("no answer");
		}
	}

	/** Sends something that makes the server close the connection. */
	private void fail(String server, String text) throws IOException {
		try (Socket socket = connect(server)) {
			write(socket, text);
			socket.getInputStream().readAllBytes();
		}
	}

	private static void write(Socket socket, String text) throws IOException {
		OutputStream output = socket.getOutputStream();
		output.write(text.getBytes(StandardCharsets.US_ASCII));
		output.flush();
	}

	@Override
	public void close() throws Exception {
		this.stop.countDown();
		this.thread.join();
		for (Socket socket : this.stuck) {
			socket.close();
		}
	}

}
