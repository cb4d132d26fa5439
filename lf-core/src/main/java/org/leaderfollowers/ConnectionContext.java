package org.leaderfollowers;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.internal.buffer.MemoryBudget;
import org.leaderfollowers.internal.promotion.Clock;
import org.leaderfollowers.internal.promotion.HandledWork;
import org.leaderfollowers.internal.transport.TlsTransport;
import org.leaderfollowers.internal.transport.Transport;

/**
 * What the TCP connections of one server share. Each of them holds this one reference
 * instead of many, so that an idle connection is small.
 *
 * @param server how far the life of the server is
 * @param handler the application's handler
 * @param framing tells messages apart
 * @param limits what a connection may take
 * @param timeouts how long things may take
 * @param counters what is counted
 * @param warnings what is logged
 * @param registry the open connections
 * @param tls the TLS of the server, if it speaks TLS
 * @param handles makes the handles of connections
 * @param clock the clock of the pool
 * @param memory what the connections of the pool may hold together
 * @param work what is processed when a message of a connection is handled
 * @param window how messages of one connection are handled in parallel, or {@code null}
 * if they are handled one after the other
 * @param wire logs what is received and sent, when it is on
 * @param isClient whether this side has opened the connections
 */
record ConnectionContext(ServerState server, MessageHandler handler, Framing framing, Limits limits,
		ConnectionTimeouts timeouts, ServerCounters counters, ServerWarnings warnings, ConnectionRegistry registry,
		@Nullable TlsGenerations tls, HandleFactory handles, Clock clock, MemoryBudget memory, HandledWork work,
		@Nullable WindowOptions window, WireLog wire, boolean isClient) {

	/**
	 * What one connection may take.
	 *
	 * @param maxMessageSize the size of the largest message, in bytes of payload
	 * @param frameSize the longest frame that can hold a message of the maximum size
	 * @param maxOutboundSize how much may wait for a peer that does not read
	 * @param skipsOversized whether messages that are too large are left out
	 */
	record Limits(int maxMessageSize, int frameSize, int maxOutboundSize, boolean skipsOversized) {

		/** As soon as this much waits for a peer, no more messages are taken from it. */
		long highWaterMark() {
			return this.maxOutboundSize / 2;
		}

		/** When no more than this waits, messages are taken again. */
		long lowWaterMark() {
			return this.maxOutboundSize / 4;
		}

	}

	/** A connection is there for the application. */
	void established() {
		if (this.tls != null) {
			this.tls.established();
		}
	}

	/** A connection is closed. */
	void closed(StreamConnection connection, CloseReason reason) {
		if (this.registry.remove(connection)) {
			transportClosed(connection.transport, reason);
			this.registry.closed(reason);
		}
	}

	/**
	 * The socket of a transport is closed.
	 * @param reason why its connection was closed, or {@code null} if it never was one
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
