package org.leaderfollowers.benchmarks.soak;

import java.io.IOException;
import java.net.DatagramPacket;
import java.net.DatagramSocket;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketTimeoutException;
import java.nio.charset.StandardCharsets;
import java.util.HashSet;
import java.util.Set;
import java.util.concurrent.TimeUnit;

/**
 * A client that sends numbered datagrams and waits for each reply. Datagrams may be lost,
 * but each is answered at most once, and with its own bytes.
 */
final class DatagramClient implements AutoCloseable {

	private static final int TIMEOUT_MS = 1000;

	private static final long PAUSE_MS = 20;

	private final InetSocketAddress server;

	private final Thread thread;

	private volatile boolean stopped;

	private volatile long served;

	private volatile long lost;

	private volatile long wrong;

	DatagramClient(int port) {
		this.server = new InetSocketAddress(InetAddress.getLoopbackAddress(), port);
		this.thread = new Thread(this::run, "datagram client");
		this.thread.setDaemon(true);
		this.thread.start();
	}

	long served() {
		return this.served;
	}

	long lost() {
		return this.lost;
	}

	long wrong() {
		return this.wrong;
	}

	private void run() {
		Set<String> owed = new HashSet<>();
		byte[] buffer = new byte[256];
		try (DatagramSocket socket = new DatagramSocket(0, InetAddress.getLoopbackAddress())) {
			socket.setSoTimeout(TIMEOUT_MS);
			for (long number = 0; !this.stopped; number++) {
				String text = "datagram " + number;
				byte[] request = text.getBytes(StandardCharsets.US_ASCII);
				owed.add(text);
				socket.send(new DatagramPacket(request, request.length, this.server));
				await(text, owed, socket, buffer);
				TimeUnit.MILLISECONDS.sleep(PAUSE_MS);
			}
		}
		catch (IOException ex) {
			System.err.println("The datagram client failed: " + ex);
		}
		catch (InterruptedException ex) {
			Thread.currentThread().interrupt();
		}
	}

	private void await(String text, Set<String> owed, DatagramSocket socket, byte[] buffer) throws IOException {
		String answered = "";
		while (!answered.equals(text)) {
			DatagramPacket reply = new DatagramPacket(buffer, buffer.length);
			try {
				socket.receive(reply);
			}
			catch (SocketTimeoutException ex) {
				// Its reply may still come, and is expected then
				this.lost++;
				return;
			}
			answered = new String(buffer, 0, reply.getLength(), StandardCharsets.US_ASCII);
			if (owed.remove(answered)) {
				this.served++;
			}
			else {
				this.wrong++;
			}
		}
	}

	@Override
	public void close() {
		this.stopped = true;
		try {
			this.thread.join();
		}
		catch (InterruptedException ex) {
			Thread.currentThread().interrupt();
		}
	}

}
