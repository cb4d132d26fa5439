package org.leaderfollowers.spring.test.client;

import java.io.UncheckedIOException;
import java.nio.charset.Charset;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

import org.assertj.core.api.AssertProvider;
import org.leaderfollowers.Framing;
import org.leaderfollowers.MessageHandler;

/**
 * A blocking client for tests. The verbs are the same whether the server is reached over
 * TCP, over UDP or in memory, so that a test can move from one to the other:
 *
 * <pre>
 * try (LfTestClient client = LfTestClient.connect(port)) {
 *     client.send("hello");
 *     assertThat(client).receives("HELLO").receivesNothing();
 * }
 * </pre>
 *
 * {@code assertThat} is that of AssertJ. A client never waits longer than its timeout: if
 * the expected event does not occur by then, or cannot occur any more, an
 * {@link AssertionError} describes what happened instead.
 * <p>
 * One thread may send while another receives; otherwise, only one thread at a time may
 * use a client.
 */
public abstract sealed class LfTestClient implements AutoCloseable, AssertProvider<LfTestClientAssert>
		permits TcpTestClient, UdpTestClient, InMemoryTestClient {

	private final Charset charset;

	private final Duration timeout;

	LfTestClient(Charset charset, Duration timeout) {
		this.charset = charset;
		this.timeout = timeout;
	}

	/**
	 * Connects to a server on this machine that uses the framing {@link Framing#line()}.
	 * @param port the port of the server
	 * @return a connected client
	 * @throws UncheckedIOException if the server does not accept the connection
	 */
	public static TcpTestClient connect(int port) {
		return tcp(port).connect();
	}

	/**
	 * Begins to build a client of a TCP server on this machine.
	 * @param port the port of the server
	 * @return a builder whose framing is {@link Framing#line()}
	 */
	public static TcpTestClient.Builder tcp(int port) {
		return new TcpTestClient.Builder(port);
	}

	/**
	 * Begins to build a client of a UDP server on this machine.
	 * @param port the port of the server
	 * @return a builder
	 */
	public static UdpTestClient.Builder udp(int port) {
		return new UdpTestClient.Builder(port);
	}

	/**
	 * Begins to build a client of a handler that runs in memory, without any server.
	 * @param handler the handler to call
	 * @return a builder whose framing is {@link Framing#line()}
	 */
	public static InMemoryTestClient.Builder inMemory(MessageHandler handler) {
		return new InMemoryTestClient.Builder(handler);
	}

	/**
	 * Sends messages. Several messages are written at once, as by a client that does not
	 * wait for replies.
	 * @param messages the payloads, without framing
	 * @throws AssertionError if the server does not accept them
	 */
	public final void send(String... messages) {
		List<byte[]> payloads = new ArrayList<>(messages.length);
		for (String message : messages) {
			payloads.add(message.getBytes(this.charset));
		}
		transmit(payloads);
	}

	/**
	 * Sends a message.
	 * @param message the payload, without framing
	 * @throws AssertionError if the server does not accept it
	 */
	public final void send(byte[] message) {
		transmit(List.of(message));
	}

	/**
	 * Waits for the next message.
	 * @return its payload, as text
	 * @throws AssertionError if there is none within the timeout
	 */
	public final String receive() {
		return new String(receiveBytes(), this.charset);
	}

	/**
	 * Waits for several messages.
	 * @param count the number of messages
	 * @return their payloads, as text
	 * @throws AssertionError if a message does not arrive within the timeout after the
	 * previous one
	 */
	public final List<String> receive(int count) {
		List<String> messages = new ArrayList<>(count);
		for (int i = 0; i < count; i++) {
			messages.add(receive());
		}
		return messages;
	}

	/**
	 * Waits for the next message.
	 * @return its payload
	 * @throws AssertionError if there is none within the timeout
	 */
	public final byte[] receiveBytes() {
		Reception reception = take(this.timeout);
		if (reception.isMessage()) {
			return reception.bytes();
		}
		throw failure("%s expected a message within %s, but %s".formatted(this, seconds(this.timeout),
				reception.describe(this.charset)), reception);
	}

	/**
	 * Sends a message and waits for the next one, which is the reply if nothing else is
	 * under way.
	 * @param message the payload, without framing
	 * @return the payload of the reply, as text
	 * @throws AssertionError if the server does not accept the message or does not reply
	 * within the timeout
	 */
	public final String exchange(String message) {
		send(message);
		return receive();
	}

	/**
	 * Closes the client. Does nothing if it is closed already.
	 */
	@Override
	public abstract void close();

	/**
	 * Returns the assertions for this client; called by AssertJ.
	 */
	@Override
	public final LfTestClientAssert assertThat() {
		return new LfTestClientAssert(this);
	}

	/** Sends messages together. */
	abstract void transmit(List<byte[]> payloads);

	/** Waits for a message or for the end. */
	abstract Reception take(Duration within);

	/** How long to wait before concluding that no message arrives. */
	abstract Duration silence();

	final Charset charset() {
		return this.charset;
	}

	final Duration timeout() {
		return this.timeout;
	}

	static AssertionError failure(String message, Reception reception) {
		return new AssertionError(message, reception.cause());
	}

	static String seconds(Duration duration) {
		return duration.toString().substring(2).toLowerCase(java.util.Locale.ROOT);
	}

	static Duration positive(String name, Duration value) {
		if (value.isNegative() || value.isZero()) {
			throw new IllegalArgumentException("'%s' must be positive, but is %s".formatted(name, value));
		}
		return value;
	}

}
