package org.leaderfollowers.spring.test.client;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.DatagramPacket;
import java.net.DatagramSocket;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketTimeoutException;
import java.nio.charset.Charset;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.TimeUnit;

/**
 * A client of a UDP server: each message is a datagram, without any framing. It receives
 * only datagrams of the server.
 */
public final class UdpTestClient extends LfTestClient {

	private static final Duration SILENCE = Duration.ofMillis(200);

	private static final int LARGEST_DATAGRAM = 65_535;

	private final DatagramSocket socket;

	private final byte[] buffer = new byte[LARGEST_DATAGRAM];

	private UdpTestClient(Builder builder, DatagramSocket socket) {
		super(builder.charset, builder.timeout);
		this.socket = socket;
	}

	/**
	 * The address of this client, which is the remote address that a handler sees.
	 * @return address and port
	 */
	public InetSocketAddress localAddress() {
		return (InetSocketAddress) this.socket.getLocalSocketAddress();
	}

	@Override
	void transmit(List<byte[]> payloads) {
		for (byte[] payload : payloads) {
			try {
				this.socket.send(new DatagramPacket(payload, payload.length));
			}
			catch (IOException ex) {
				throw new AssertionError(
						"%s could not send a datagram of %d bytes: %s".formatted(this, payload.length, ex), ex);
			}
		}
	}

	@Override
	Reception take(Duration within) {
		try {
			long millis = TimeUnit.NANOSECONDS.toMillis(within.toNanos());
			this.socket.setSoTimeout((int) Math.max(1, Math.min(millis, Integer.MAX_VALUE)));
			DatagramPacket packet = new DatagramPacket(this.buffer, this.buffer.length);
			this.socket.receive(packet);
			return Reception.message(Arrays.copyOf(packet.getData(), packet.getLength()));
		}
		catch (SocketTimeoutException ex) {
			return Reception.nothing();
		}
		catch (IOException ex) {
			// The system of the server reports that the port is unreachable, or the test
			// has closed the client.
			return new Reception(Reception.Outcome.UNREACHABLE, new byte[0], "", ex);
		}
	}

	@Override
	Duration silence() {
		return SILENCE;
	}

	@Override
	public void close() {
		this.socket.close();
	}

	@Override
	public String toString() {
		return "UDP client of port " + this.socket.getPort();
	}

	/**
	 * Builds a client of a UDP server.
	 */
	public static final class Builder {

		private final int port;

		private InetAddress address = InetAddress.getLoopbackAddress();

		private Charset charset = StandardCharsets.UTF_8;

		private Duration timeout = Duration.ofSeconds(10);

		Builder(int port) {
			if (port < 1 || port > 65535) {
				throw new IllegalArgumentException(
						"'port' must be from 1 to 65535, but is %d: ask a started server for its port".formatted(port));
			}
			this.port = port;
		}

		/**
		 * The address of the server.
		 * @param address the default is the loopback address
		 * @return this builder
		 */
		public Builder address(InetAddress address) {
			this.address = Objects.requireNonNull(address, "'address' must not be null");
			return this;
		}

		/**
		 * The charset of text messages.
		 * @param charset the default is UTF-8
		 * @return this builder
		 */
		public Builder charset(Charset charset) {
			this.charset = Objects.requireNonNull(charset, "'charset' must not be null");
			return this;
		}

		/**
		 * How long to wait for a message.
		 * @param timeout more than 0; the default is 10 seconds
		 * @return this builder
		 */
		public Builder timeout(Duration timeout) {
			this.timeout = positive("timeout", timeout);
			return this;
		}

		/**
		 * Opens the socket of the client.
		 * @return a client that sends to the server
		 * @throws UncheckedIOException if the system has no socket left
		 */
		public UdpTestClient open() {
			try {
				DatagramSocket socket = new DatagramSocket(
						new InetSocketAddress(this.address.isLoopbackAddress() ? this.address : null, 0));
				socket.connect(this.address, this.port);
				return new UdpTestClient(this, socket);
			}
			catch (IOException ex) {
				throw new UncheckedIOException("Could not open a client of port " + this.port, ex);
			}
		}

	}

}
