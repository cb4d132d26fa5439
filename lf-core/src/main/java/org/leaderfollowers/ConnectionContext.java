package org.leaderfollowers;

import java.util.concurrent.TimeUnit;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.internal.buffer.MemoryBudget;
import org.leaderfollowers.internal.promotion.Clock;
import org.leaderfollowers.internal.promotion.HandledWork;
import org.leaderfollowers.internal.promotion.HandlerProfile;
import org.leaderfollowers.internal.transport.TlsTransport;
import org.leaderfollowers.internal.transport.Transport;

/**
 * The objects that all TCP connections of one server share. Each connection holds only
 * this reference, so that an idle connection is small.
 *
 * @param server the state of the server
 * @param handler the handler of the application
 * @param framing separates messages
 * @param limits the limits of one connection
 * @param timeouts the timeouts of one connection
 * @param counters the counters of the server
 * @param warnings writes warnings to the log
 * @param registry the open connections
 * @param tls the TLS configuration of the server, or {@code null} for none
 * @param pool the pool that serves the connection, and creates its handle
 * @param clock the clock of the pool
 * @param memory the memory budget that all connections of the pool share
 * @param work identifies the handler in snapshots of threads
 * @param window the options for messages of one connection that are handled in parallel,
 * or {@code null} if they are handled one after the other
 * @param wire logs what is received and sent, when it is on
 * @param isClient whether this side has opened the connections
 * @param classes chooses another context, or {@code null} if the connection has its class
 * @param preparation how long it takes to decode, if this runs code of the application;
 * otherwise {@code null}
 */
record ConnectionContext(ServerState server, MessageHandler handler, Framing framing, Limits limits,
		ConnectionTimeouts timeouts, ServerCounters counters, ServerWarnings warnings, ConnectionRegistry registry,
		@Nullable TlsGenerations tls, ServingPool pool, Clock clock, MemoryBudget memory, HandledWork work,
		@Nullable WindowOptions window, WireLog wire, boolean isClient, @Nullable ServiceClasses classes,
		@Nullable HandlerProfile preparation) {

	/**
	 * The limits of one connection.
	 *
	 * @param maxMessageSize the maximum size of a message, in bytes of payload
	 * @param frameSize the maximum length of a frame with a message of the maximum size,
	 * in bytes
	 * @param maxOutboundSize how many bytes may wait for a peer that does not read
	 * @param skipsOversized whether messages that are too large are skipped
	 * @param minReadRate how many bytes of a message must arrive in a second after the
	 * {@link #READ_GRACE_NANOS}, or 0
	 * @param minWriteRate how many of the bytes that wait a peer must accept in a second,
	 * or 0
	 */
	record Limits(int maxMessageSize, int frameSize, int maxOutboundSize, boolean skipsOversized, int minReadRate,
			int minWriteRate) {

		/** How long a message may take at any rate. */
		private static final long READ_GRACE_NANOS = TimeUnit.SECONDS.toNanos(30);

		/**
		 * When more of a message must have arrived.
		 * @param startedNanos when it began
		 * @param bytes how many have arrived
		 */
		long readDeadline(long startedNanos, int bytes) {
			return (this.minReadRate != 0)
					? startedNanos + READ_GRACE_NANOS + TimeUnit.SECONDS.toNanos(bytes) / this.minReadRate
					: EngineEventHandler.NO_DEADLINE;
		}

		/**
		 * If this many bytes wait for a peer, no further messages of the peer are read.
		 */
		long highWaterMark() {
			return this.maxOutboundSize / 2;
		}

		/** If no more than this many bytes wait, messages are read again. */
		long lowWaterMark() {
			return this.maxOutboundSize / 4;
		}

		/** The exception that reports a skipped message to the handler. */
		FramingException oversized() {
			return new FramingException(
					"A message is larger than the maximum message size of %d bytes (maxMessageSize), and is skipped"
						.formatted(this.maxMessageSize));
		}

	}

	/**
	 * The profile of the code of the application that the engine calls before it has a
	 * message for the handler. The engine's own framings and functions are fast, and need
	 * none.
	 */
	static @Nullable HandlerProfile preparation(Framing framing, @Nullable Correlation correlation,
			@Nullable WindowOptions window, @Nullable ConnectionGuard guard) {
		boolean own = framing instanceof EngineFraming && (correlation == null || correlation.isEngineCode())
				&& (window == null || window.order() == null) && guard == null;
		return own ? null : new HandlerProfile();
	}

	/** The same context for connections that choose their class. */
	ConnectionContext with(ServiceClasses choice) {
		return new ConnectionContext(this.server, this.handler, this.framing, this.limits, this.timeouts, this.counters,
				this.warnings, this.registry, this.tls, this.pool, this.clock, this.memory, this.work, this.window,
				this.wire, this.isClient, choice, this.preparation);
	}

	/** The same context for connections that another pool serves. */
	ConnectionContext in(ServingPool other, Clock otherClock, MemoryBudget otherMemory, ServerWarnings otherWarnings) {
		return new ConnectionContext(this.server.inOtherPool(), this.handler, this.framing, this.limits, this.timeouts,
				this.counters, otherWarnings, this.registry, this.tls, other, otherClock, otherMemory, this.work,
				this.window, this.wire, this.isClient, null, (this.preparation != null) ? new HandlerProfile() : null);
	}

	/**
	 * The handshake of a connection that is to choose its class is over. The pool that it
	 * chooses may have no free thread for long, and must not keep others from shaking
	 * hands.
	 */
	void handshakeEnded(Transport transport) {
		if (this.tls != null && transport instanceof TlsTransport own) {
			this.tls.gate().end(own);
		}
	}

	/** Counts a connection that is established and has been passed to the application. */
	void established(Transport transport) {
		if (this.tls != null && transport instanceof TlsTransport own) {
			this.tls.established(own);
		}
	}

	/** Removes and counts a connection that is closed. */
	void closed(StreamConnection connection, CloseReason reason) {
		if (this.registry.remove(connection)) {
			try {
				transportClosed(connection.transport, reason);
			}
			finally {
				countOut(connection, reason);
			}
		}
	}

	/** Returns the permit even if memory is short: a connection is removed only once. */
	private void countOut(StreamConnection connection, CloseReason reason) {
		try {
			this.registry.closed(reason);
		}
		finally {
			if (connection.origin instanceof Permitted permitted) {
				permitted.permit().closed();
			}
		}
	}

	/**
	 * The socket of a transport has been closed.
	 * @param reason why the connection was closed, or {@code null} if no connection was
	 * created
	 */
	void transportClosed(@Nullable Transport transport, @Nullable CloseReason reason) {
		if (this.tls != null && transport instanceof TlsTransport own) {
			this.tls.closed(own);
			if (reason == CloseReason.HANDSHAKE_FAILED || reason == CloseReason.HANDSHAKE_TIMEOUT) {
				this.tls.failed();
			}
		}
	}

}
