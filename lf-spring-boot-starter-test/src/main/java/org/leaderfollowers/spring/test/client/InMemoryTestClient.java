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
 * A client of a handler, without a server, a socket or a thread between them:
 * {@link #send} calls the handler on the calling thread and returns when it has returned.
 * So a test is fast, and the same every time.
 * <p>
 * The connection that the handler sees behaves as that of a server does: messages pass
 * through the framing in both directions, are handled one at a time and in order, and
 * failures close it. The buffer of a message is lent: it is direct, its position is not
 * 0, and when the handler returns it is overwritten, so that a handler that keeps it is
 * found out.
 * <p>
 * What does not happen in memory: timeouts pass ({@link #simulateClose} and
 * {@link #simulateIdle} tell the handler of one), leaders are promoted, and limits of a
 * server or pool are reached, except for the sizes that this client is built with.
 * Messages are not handled in parallel either, whatever a server is configured to do: the
 * window of a connection, the order of its messages and that of its replies need a server
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
	 * The connection as the handler sees it.
	 * @return the connection
	 */
	public Connection connection() {
		return this.connection;
	}

	/**
	 * Sends bytes as they are, without framing: half a message, or what is none.
	 * @param bytes the bytes
	 * @throws AssertionError if the connection is closed
	 */
	public void sendRaw(byte... bytes) {
		this.connection.receive(bytes);
	}

	/**
	 * Sends text as it is, without framing.
	 * @param text the text
	 * @throws AssertionError if the connection is closed
	 */
	public void sendRaw(String text) {
		sendRaw(text.getBytes(charset()));
	}

	/**
	 * Tells the handler that nothing more comes, and goes on receiving: the connection
	 * closes with {@link CloseReason#PEER} as soon as all messages are handled.
	 */
	public void shutdownOutput() {
		this.connection.endInput();
	}

	/**
	 * Breaks the connection off, as a client does whose process or machine has crashed:
	 * the handler is told an {@link IOException}, and that the connection is closed for
	 * {@link CloseReason#IO_ERROR}.
	 */
	public void reset() {
		this.connection.end(CloseReason.IO_ERROR, new IOException("Connection reset"));
	}

	/**
	 * Closes the connection as a server would, for reasons that come from time or from
	 * the server itself: {@link CloseReason#IDLE_TIMEOUT} or
	 * {@link CloseReason#SHUTDOWN}, for example.
	 * @param reason what the handler is told
	 */
	public void simulateClose(CloseReason reason) {
		this.connection.end(reason, null);
	}

	/**
	 * Tells the handler that nothing was received or sent for a while, by
	 * {@link MessageHandler#onIdle}, whatever time is set for that.
	 * @param type {@link EventType#READ} for nothing received, {@link EventType#WRITE}
	 * for nothing sent
	 */
	public void simulateIdle(EventType type) {
		this.connection.beSilent(type);
	}

	/**
	 * Drains the connection as a server does that is shut down: the handler is told by
	 * {@link MessageHandler#onDrain}, and the connection closes with
	 * {@link CloseReason#SHUTDOWN} as soon as all messages are handled.
	 */
	public void simulateDrain() {
		this.connection.drain();
	}

	/**
	 * Reads no more of what the handler sends, until {@link #startReading}: it waits, and
	 * the connection ceases to be {@linkplain Connection#isWritable() writable}, as with
	 * a peer that is slow. At first, everything is read at once.
	 */
	public void stopReading() {
		this.connection.stopReading();
	}

	/**
	 * Reads what the handler has sent in the meantime, and everything from now on. The
	 * handler is told by {@link MessageHandler#onWritable}, if it was held up.
	 */
	public void startReading() {
		this.connection.startReading();
	}

	/**
	 * Why the connection was closed.
	 * @return what the handler was told in {@link MessageHandler#onClose}, or
	 * {@code null} if it was not yet
	 */
	public @Nullable CloseReason closeReason() {
		return this.connection.closeReason();
	}

	/**
	 * What failed on the connection: what the handler was told in
	 * {@link MessageHandler#onError}, and what {@code onError} and {@code onClose} threw
	 * themselves, which a server would log.
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
	 * Closes the client: the handler is told {@link CloseReason#PEER}, or a reset if
	 * there is something that this client has not read.
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
		 * How the server tells messages apart.
		 * @param framing the default is {@link Framing#line()}
		 * @return this builder
		 */
		public Builder framing(Framing framing) {
			this.framing = Objects.requireNonNull(framing, "'framing' must not be null");
			return this;
		}

		/**
		 * How the client tells messages apart, for protocols whose requests and replies
		 * look different. With {@link Framing#raw()} the client receives what was sent as
		 * it is, and sends what it wants to.
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
		 * The charset of text that is sent and received.
		 * @param charset the default is UTF-8
		 * @return this builder
		 */
		public Builder charset(Charset charset) {
			this.charset = Objects.requireNonNull(charset, "'charset' must not be null");
			return this;
		}

		/**
		 * How long to wait for a message that the handler sends later, from another
		 * thread.
		 * @param timeout more than 0; the default is 10 seconds
		 * @return this builder
		 */
		public Builder timeout(Duration timeout) {
			this.timeout = positive("timeout", timeout);
			return this;
		}

		/**
		 * The name of the server that the handler believes to serve.
		 * @param server the default is {@code default}
		 * @return this builder
		 */
		public Builder server(String server) {
			this.server = Objects.requireNonNull(server, "'server' must not be null");
			return this;
		}

		/**
		 * The size of the largest message in both directions. A larger one of the client
		 * closes the connection.
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
		 * How much may wait for the client while it does not read, before
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
		 * The address that the client seems to have.
		 * @param remoteAddress the default is port 50000 of the loopback address
		 * @return this builder
		 */
		public Builder remoteAddress(InetSocketAddress remoteAddress) {
			this.remoteAddress = Objects.requireNonNull(remoteAddress, "'remoteAddress' must not be null");
			return this;
		}

		/**
		 * The address that the client seems to have connected to.
		 * @param localAddress the default is port 7070 of the loopback address
		 * @return this builder
		 */
		public Builder localAddress(InetSocketAddress localAddress) {
			this.localAddress = Objects.requireNonNull(localAddress, "'localAddress' must not be null");
			return this;
		}

		/**
		 * The address of the load balancer that the client seems to be behind.
		 * @param transportAddress the default is the remote address: no load balancer
		 * @return this builder
		 */
		public Builder transportAddress(InetSocketAddress transportAddress) {
			this.transportAddress = Objects.requireNonNull(transportAddress, "'transportAddress' must not be null");
			return this;
		}

		/**
		 * What TLS seems to have negotiated.
		 * @param sslSession the default is none: no TLS
		 * @return this builder
		 */
		public Builder sslSession(@Nullable SSLSession sslSession) {
			this.sslSession = sslSession;
			return this;
		}

		/**
		 * Opens the connection: the handler is told of it before this method returns.
		 * @return a client
		 */
		public InMemoryTestClient open() {
			InMemoryTestClient client = new InMemoryTestClient(this);
			client.connection.open();
			return client;
		}

	}

}
