package org.leaderfollowers;

import java.time.Duration;
import java.util.Objects;

import org.jspecify.annotations.Nullable;

/**
 * The options that a {@link TcpServer} and a {@link TcpClient} share.
 *
 * @param <B> the builder
 */
abstract class TcpBuilder<B extends TcpBuilder<B>> {

	/** A frame with its overhead must fit into an array. */
	private static final int LARGEST_MESSAGE = 1 << 30;

	private static final int LARGEST_BUFFER = 1 << 30;

	private static final int LARGEST_RATE = 1_000_000_000;

	/** In bytes per second. */
	private static final int DEFAULT_RATE = 240;

	final LeaderFollowersPool pool;

	String name = "default";

	@Nullable Framing framing;

	int maxMessageSize = 64 * 1024;

	int maxOutboundSize = 1024 * 1024;

	Duration messageTimeout = Duration.ofSeconds(30);

	Duration writeTimeout = Duration.ofSeconds(30);

	private int minReadRate = DEFAULT_RATE;

	private int minWriteRate = DEFAULT_RATE;

	private boolean tcpNoDelay = true;

	private boolean keepAlive = true;

	private int receiveBufferSize;

	private int sendBufferSize;

	TcpBuilder(LeaderFollowersPool pool) {
		this.pool = Objects.requireNonNull(pool, "'pool' must not be null");
	}

	abstract B self();

	/**
	 * The name, which is part of warnings and snapshots.
	 * @param name not empty; the default is {@code default}
	 * @return this builder
	 */
	public B name(String name) {
		this.name = Arguments.notBlank("name", name);
		return self();
	}

	/**
	 * The framing that separates messages. Required.
	 * @param framing shared by all connections
	 * @return this builder
	 */
	public B framing(Framing framing) {
		this.framing = framing;
		return self();
	}

	/**
	 * The maximum size of a message. If a peer sends a larger message, the connection is
	 * closed before memory is allocated for the message, unless the server skips such
	 * messages.
	 * @param maxMessageSize bytes of payload, from 1 to 1 GiB; the default is 64 KiB
	 * @return this builder
	 */
	public B maxMessageSize(int maxMessageSize) {
		this.maxMessageSize = Arguments.inRange("maxMessageSize", maxMessageSize, 1, LARGEST_MESSAGE);
		return self();
	}

	/**
	 * How many bytes may wait for a peer that does not read; see
	 * {@link Connection#send(java.nio.ByteBuffer)}. A message is accepted while fewer
	 * bytes wait, so the output that waits is at most this size plus one message.
	 * Requests are rejected when this size is reached.
	 * @param maxOutboundSize bytes for each connection, at least 1024; the default is 1
	 * MiB
	 * @return this builder
	 */
	public B maxOutboundSize(int maxOutboundSize) {
		this.maxOutboundSize = Arguments.inRange("maxOutboundSize", maxOutboundSize, 1024, LARGEST_MESSAGE);
		return self();
	}

	/**
	 * How long a message may take from its first byte to its last, however often bytes
	 * arrive in between.
	 * @param messageTimeout the timeout, 0 for none; the default is 30 seconds
	 * @return this builder
	 */
	public B messageTimeout(Duration messageTimeout) {
		this.messageTimeout = Arguments.notNegative("messageTimeout", messageTimeout);
		return self();
	}

	/**
	 * How long a peer may take to accept the next byte of the output that waits for it.
	 * @param writeTimeout the timeout, 0 for none; the default is 30 seconds
	 * @return this builder
	 */
	public B writeTimeout(Duration writeTimeout) {
		this.writeTimeout = Arguments.notNegative("writeTimeout", writeTimeout);
		return self();
	}

	/**
	 * How fast a long message must arrive: a message may take 30 seconds, plus one second
	 * for each such number of bytes that have arrived. If it takes longer, the connection
	 * is closed with {@link CloseReason#MESSAGE_TIMEOUT}. This matters only if the
	 * message timeout is longer; without a message timeout, there is no minimum rate.
	 * @param minReadRate bytes per second, up to a billion, or 0 for no minimum; the
	 * default is 240
	 * @return this builder
	 */
	public B minReadRate(int minReadRate) {
		this.minReadRate = Arguments.inRange("minReadRate", minReadRate, 0, LARGEST_RATE);
		return self();
	}

	/**
	 * How fast a peer must accept the output that waits for it. A peer that is slower
	 * falls behind: when the bytes that it has accepted are worth less than the time that
	 * has passed, and the difference is more than the write timeout, the connection is
	 * closed with {@link CloseReason#WRITE_TIMEOUT}. Without a write timeout, there is no
	 * minimum rate.
	 * @param minWriteRate bytes per second, up to a billion, or 0 for no minimum; the
	 * default is 240
	 * @return this builder
	 */
	public B minWriteRate(int minWriteRate) {
		this.minWriteRate = Arguments.inRange("minWriteRate", minWriteRate, 0, LARGEST_RATE);
		return self();
	}

	/**
	 * Whether small segments are sent at once ({@code TCP_NODELAY}), instead of waiting
	 * until the peer has acknowledged earlier ones (Nagle's algorithm).
	 * @param tcpNoDelay the default is {@code true}
	 * @return this builder
	 */
	public B tcpNoDelay(boolean tcpNoDelay) {
		this.tcpNoDelay = tcpNoDelay;
		return self();
	}

	/**
	 * Whether the system probes peers that have been silent ({@code SO_KEEPALIVE}), and
	 * ends connections whose peer does not answer. The system decides when it probes.
	 * @param keepAlive the default is {@code true}
	 * @return this builder
	 */
	public B keepAlive(boolean keepAlive) {
		this.keepAlive = keepAlive;
		return self();
	}

	/**
	 * The size of the system's buffer for bytes that were received and not read yet
	 * ({@code SO_RCVBUF}), for each connection. Limits how much a peer can send ahead.
	 * @param receiveBufferSize bytes, from 1024 to 1 GiB; by default the system decides,
	 * and adapts the size. If the system grants less, a line is logged
	 * @return this builder
	 */
	public B receiveBufferSize(int receiveBufferSize) {
		this.receiveBufferSize = Arguments.inRange("receiveBufferSize", receiveBufferSize, 1024, LARGEST_BUFFER);
		return self();
	}

	/**
	 * The size of the system's buffer for bytes that the peer has not acknowledged yet
	 * ({@code SO_SNDBUF}), for each connection. Bytes beyond it wait in the engine, see
	 * {@code maxOutboundSize}.
	 * @param sendBufferSize bytes, from 1024 to 1 GiB; by default the system decides, and
	 * adapts the size. If the system grants less, a line is logged
	 * @return this builder
	 */
	public B sendBufferSize(int sendBufferSize) {
		this.sendBufferSize = Arguments.inRange("sendBufferSize", sendBufferSize, 1024, LARGEST_BUFFER);
		return self();
	}

	final TcpSocketOptions socketOptions() {
		return new TcpSocketOptions(this.tcpNoDelay, this.keepAlive, this.receiveBufferSize, this.sendBufferSize);
	}

	/** The limits of one connection. */
	final ConnectionContext.Limits limits(Framing framing, boolean skipsOversized) {
		if (framing instanceof FixedLengthFraming fixed && fixed.length() > this.maxMessageSize) {
			throw new IllegalArgumentException(
					"'maxMessageSize' (%d) must not be less than the length of every message (%d)"
						.formatted(this.maxMessageSize, fixed.length()));
		}
		if (framing instanceof LengthFieldFraming field && field.headerLength() > this.maxMessageSize) {
			throw new IllegalArgumentException(
					"'maxMessageSize' (%d) must not be less than the length of the header of every message (%d)"
						.formatted(this.maxMessageSize, field.headerLength()));
		}
		return new ConnectionContext.Limits(this.maxMessageSize, framing.maxFrameLength(this.maxMessageSize),
				this.maxOutboundSize, skipsOversized, this.minReadRate, this.minWriteRate);
	}

}
