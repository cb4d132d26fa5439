package org.leaderfollowers.spring.test.client;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.Charset;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Objects;

import javax.net.ssl.SSLSession;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.CloseReason;
import org.leaderfollowers.Connection;
import org.leaderfollowers.EventType;
import org.leaderfollowers.Framing;
import org.leaderfollowers.MessageHandler;
import org.leaderfollowers.SlowConsumerException;

/**
 * A client that calls a handler directly, without a server, a socket or a thread:
 * {@link #send} calls the handler on the calling thread and returns when the handler has
 * returned. Such a test is fast and repeatable.
 * <p>
 * The connection behaves like a connection of a server: messages pass through the framing
 * in both directions, are handled one at a time and in order, and failures close the
 * connection. The buffer of a message is lent: it is a direct buffer, its position is not
 * 0, and it is overwritten when the handler returns, so that a handler that keeps the
 * buffer fails its test.
 * <p>
 * Some things do not happen in memory. Timeouts do not end ({@link #simulateClose} and
 * {@link #simulateIdle} report one to the handler), no leader is promoted, and limits of
 * a server or pool are not reached, except for the sizes that this client is built with.
 * Messages are not handled in parallel, whatever the configuration of a server is. The
 * number of messages in flight, their order and the order of their replies need a server
 * and a {@link LfTestClient#tcp client with a socket}, and so does
 * {@link Connection#exchange}.
 */
public final class InMemoryTestClient extends LfTestClient {

	private final Framing framing;

	private final InMemoryConnection connection;

	private InMemoryTestClient(Builder builder) {
		super(builder.charset, builder.timeout);
		this.framing = builder.clientFraming();
		this.connection = new InMemoryConnection(builder);
	}

	/**
	 * The connection that the handler sees.
	 * @return the connection
	 */
	public Connection connection() {
		return this.connection;
	}

	/**
	 * Sends bytes without framing, for example half a message or an invalid one.
	 * @param bytes the bytes
	 * @throws AssertionError if the connection is closed
	 */
	public void sendRaw(byte... bytes) {
		this.connection.receive(bytes);
	}

	/**
	 * Sends text without framing.
	 * @param text the text
	 * @throws AssertionError if the connection is closed
	 */
	public void sendRaw(String text) {
		sendRaw(text.getBytes(charset()));
	}

	/**
	 * Ends the output of the client, which still receives: the connection closes with
	 * {@link CloseReason#PEER} as soon as all messages are handled.
	 */
	public void shutdownOutput() {
		this.connection.endInput();
	}

	/**
	 * Resets the connection, as when the client's process or machine crashes: the handler
	 * receives an {@link IOException}, and the connection closes with
	 * {@link CloseReason#IO_ERROR}.
	 */
	public void reset() {
		this.connection.end(CloseReason.IO_ERROR, new IOException("Connection reset"));
	}

	/**
	 * Closes the connection as a server would, for a reason that time or the server
	 * causes, for example {@link CloseReason#IDLE_TIMEOUT} or
	 * {@link CloseReason#SHUTDOWN}.
	 * @param reason the reason that the handler receives
	 */
	public void simulateClose(CloseReason reason) {
		this.connection.end(reason, null);
	}

	/**
	 * Reports to the handler, by {@link MessageHandler#onIdle}, that nothing was received
	 * or sent for a while, whatever period is configured.
	 * @param type {@link EventType#READ} for nothing received, {@link EventType#WRITE}
	 * for nothing sent
	 */
	public void simulateIdle(EventType type) {
		this.connection.beSilent(type);
	}

	/**
	 * Drains the connection as a server does that shuts down:
	 * {@link MessageHandler#onDrain} is called, and the connection closes with
	 * {@link CloseReason#SHUTDOWN} as soon as all messages are handled.
	 */
	public void simulateDrain() {
		this.connection.drain();
	}

	/**
	 * Stops reading what the handler sends, until {@link #startReading}. Messages wait,
	 * and the connection ceases to be {@linkplain Connection#isWritable() writable}, as
	 * with a slow peer. At first, every message is read at once.
	 */
	public void stopReading() {
		this.connection.stopReading();
	}

	/**
	 * Reads what the handler has sent in the meantime, and reads at once from now on. If
	 * the connection was not writable, {@link MessageHandler#onWritable} is called.
	 */
	public void startReading() {
		this.connection.startReading();
	}

	/**
	 * Why the connection was closed.
	 * @return the reason that {@link MessageHandler#onClose} has received, or
	 * {@code null} if it was not called yet
	 */
	public @Nullable CloseReason closeReason() {
		return this.connection.reportedReason();
	}

	/**
	 * The failures of the connection: those that {@link MessageHandler#onError} has
	 * received, and exceptions of {@code onError} and {@code onClose}, which a server
	 * would log.
	 * @return the failures in the order in which they happened
	 */
	public List<Throwable> failures() {
		return this.connection.failures();
	}

	@Override
	void transmit(List<byte[]> payloads) {
		sendRaw(TcpTestClient.encode(this.framing, payloads));
	}

	@Override
	Reception take(Duration within) {
		return this.connection.take(within);
	}

	@Override
	Duration silence() {
		return Duration.ZERO;
	}

	/**
	 * Closes the client: the handler receives {@link CloseReason#PEER}, or a reset if
	 * this client has not read everything.
	 */
	@Override
	public void close() {
		if (this.connection.pendingBytes() > 0) {
			reset();
		}
		else {
			this.connection.endInput();
		}
	}

	@Override
	public String toString() {
		return "in-memory client of " + this.connection;
	}

	/**
	 * Builds a client of a handler.
	 */
	public static final class Builder {

		final MessageHandler handler;

		Framing framing = Framing.line();

		private @Nullable Framing clientFraming;

		Charset charset = StandardCharsets.UTF_8;

		Duration timeout = Duration.ofSeconds(10);

		String server = "default";

		int maxMessageSize = 64 * 1024;

		int maxOutboundSize = 1024 * 1024;

		InetSocketAddress remoteAddress = new InetSocketAddress(InetAddress.getLoopbackAddress(), 50_000);

		InetSocketAddress localAddress = new InetSocketAddress(InetAddress.getLoopbackAddress(), 7070);

		@Nullable InetSocketAddress transportAddress;

		@Nullable SSLSession sslSession;

		Builder(MessageHandler handler) {
			this.handler = Objects.requireNonNull(handler, "'handler' must not be null");
		}

		/**
		 * The framing of the server.
		 * @param framing the default is {@link Framing#line()}
		 * @return this builder
		 */
		public Builder framing(Framing framing) {
			this.framing = Objects.requireNonNull(framing, "'framing' must not be null");
			return this;
		}

		/**
		 * The framing of the client, for protocols whose requests and replies have
		 * different framings. With {@link Framing#raw()}, the client sends and receives
		 * bytes without framing.
		 * @param clientFraming writes requests and reads replies; the default is the same
		 * framing as that of the server
		 * @return this builder
		 */
		public Builder clientFraming(Framing clientFraming) {
			this.clientFraming = Objects.requireNonNull(clientFraming, "'clientFraming' must not be null");
			return this;
		}

		Framing clientFraming() {
			return (this.clientFraming != null) ? this.clientFraming : this.framing;
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
		 * How long to wait for a message that the handler sends later from another
		 * thread.
		 * @param timeout more than 0; the default is 10 seconds
		 * @return this builder
		 */
		public Builder timeout(Duration timeout) {
			this.timeout = positive("timeout", timeout);
			return this;
		}

		/**
		 * The name of the server that the handler sees.
		 * @param server the default is {@code default}
		 * @return this builder
		 */
		public Builder server(String server) {
			this.server = Objects.requireNonNull(server, "'server' must not be null");
			return this;
		}

		/**
		 * The maximum size of a message in both directions. A larger message of the
		 * client closes the connection.
		 * @param maxMessageSize bytes of payload, at least 1; the default is 64 KiB
		 * @return this builder
		 */
		public Builder maxMessageSize(int maxMessageSize) {
			if (maxMessageSize < 1) {
				throw new IllegalArgumentException(
						"'maxMessageSize' must be at least 1, but is %d".formatted(maxMessageSize));
			}
			this.maxMessageSize = maxMessageSize;
			return this;
		}

		/**
		 * How many bytes may wait for a client that does not read before
		 * {@link Connection#send} throws {@link SlowConsumerException}.
		 * @param maxOutboundSize bytes, framing included, at least 1; the default is 1
		 * MiB
		 * @return this builder
		 */
		public Builder maxOutboundSize(int maxOutboundSize) {
			if (maxOutboundSize < 1) {
				throw new IllegalArgumentException(
						"'maxOutboundSize' must be at least 1, but is %d".formatted(maxOutboundSize));
			}
			this.maxOutboundSize = maxOutboundSize;
			return this;
		}

		/**
		 * The address of the client that the handler sees.
		 * @param remoteAddress the default is port 50000 of the loopback address
		 * @return this builder
		 */
		public Builder remoteAddress(InetSocketAddress remoteAddress) {
			this.remoteAddress = Objects.requireNonNull(remoteAddress, "'remoteAddress' must not be null");
			return this;
		}

		/**
		 * The address that the client has connected to, as the handler sees it.
		 * @param localAddress the default is port 7070 of the loopback address
		 * @return this builder
		 */
		public Builder localAddress(InetSocketAddress localAddress) {
			this.localAddress = Objects.requireNonNull(localAddress, "'localAddress' must not be null");
			return this;
		}

		/**
		 * The address of a load balancer between client and server, as the handler sees
		 * it.
		 * @param transportAddress the default is the remote address, which means no load
		 * balancer
		 * @return this builder
		 */
		public Builder transportAddress(InetSocketAddress transportAddress) {
			this.transportAddress = Objects.requireNonNull(transportAddress, "'transportAddress' must not be null");
			return this;
		}

		/**
		 * The TLS session that the handler sees.
		 * @param sslSession the default is none: no TLS
		 * @return this builder
		 */
		public Builder sslSession(@Nullable SSLSession sslSession) {
			this.sslSession = sslSession;
			return this;
		}

		/**
		 * Opens the connection: the handler has been called when this method returns.
		 * @return a client
		 */
		public InMemoryTestClient open() {
			InMemoryTestClient client = new InMemoryTestClient(this);
			client.connection.open();
			return client;
		}

	}

}
