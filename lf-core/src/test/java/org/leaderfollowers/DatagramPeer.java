package org.leaderfollowers;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.DatagramPacket;
import java.net.DatagramSocket;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketTimeoutException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;

/**
 * A client that sends datagrams, with the JDK's blocking socket.
 */
public final class DatagramPeer implements AutoCloseable {

	private final DatagramSocket socket;

	private final InetSocketAddress server;

	public DatagramPeer(UdpServer server) {
		this(new InetSocketAddress(InetAddress.getLoopbackAddress(), server.port()));
	}

	public DatagramPeer(InetSocketAddress server) {
		try {
			this.server = server;
			this.socket = new DatagramSocket(new InetSocketAddress(server.getAddress(), 0));
		}
		catch (IOException ex) {
			throw new UncheckedIOException(ex);
		}
	}

	public int port() {
		return this.socket.getLocalPort();
	}

	public DatagramPeer send(String text) {
		return send(text.getBytes(StandardCharsets.ISO_8859_1));
	}

	public DatagramPeer send(byte[] bytes) {
		try {
			this.socket.send(new DatagramPacket(bytes, bytes.length, this.server));
			return this;
		}
		catch (IOException ex) {
			throw new UncheckedIOException(ex);
		}
	}

	/** Returns the next datagram; waits for it as long as a test may last. */
	public String receive() {
		String text = receive(Engine.DEADLINE);
		if (text == null) {
			throw new AssertionError("No datagram came in time");
		}
		return text;
	}

	/** Returns the next datagram, or {@code null} if none comes in time. */
	public String receive(Duration timeout) {
		try {
			this.socket.setSoTimeout((int) Math.max(1, timeout.toMillis()));
			DatagramPacket packet = new DatagramPacket(new byte[65_536], 65_536);
			this.socket.receive(packet);
			return new String(packet.getData(), 0, packet.getLength(), StandardCharsets.ISO_8859_1);
		}
		catch (SocketTimeoutException ex) {
			return null;
		}
		catch (IOException ex) {
			throw new UncheckedIOException(ex);
		}
	}

	/**
	 * Sends the text repeatedly until there is an answer, because datagrams may be lost.
	 * An answer that is only late would be taken for the answer to the next question.
	 */
	public String ask(String text) {
		long end = System.nanoTime() + Engine.DEADLINE.toNanos();
		while (System.nanoTime() - end < 0) {
			String answer = send(text).receive(Duration.ofSeconds(10));
			if (answer != null) {
				return answer;
			}
		}
		throw new AssertionError("No answer came in time");
	}

	@Override
	public void close() {
		this.socket.close();
	}

}
