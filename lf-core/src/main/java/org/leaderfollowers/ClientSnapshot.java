package org.leaderfollowers;

import java.util.List;
import java.util.Map;

import org.jspecify.annotations.Nullable;

/**
 * The state of a client at one moment. The figures are only of about the same moment,
 * because no thread is stopped for them.
 *
 * @param name the name of the client
 * @param pool the name of its pool
 * @param state the state of the client
 * @param addresses the addresses that it connects to
 * @param connections how many connections it keeps open
 * @param connected how many of them are established
 * @param connects how many connections have been established
 * @param disconnects how many of those have ended
 * @param failedConnects how many attempts to connect have failed
 * @param inFlight how many exchanges wait for their replies
 * @param waiting how many callers wait for a connection with a free place
 * @param exchanges how many exchanges have ended, by outcome
 * @param lateReplies how many replies came after their exchange had ended
 * @param unexpectedMessages how many messages were not the reply to a request
 * @param receivedBytes how many bytes were read, framing included
 * @param sentBytes how many bytes were accepted for sending, framing included
 */
public record ClientSnapshot(String name, String pool, State state, List<Address> addresses, int connections,
		int connected, long connects, long disconnects, long failedConnects, int inFlight, int waiting,
		Map<Outcome, Long> exchanges, long lateReplies, long unexpectedMessages, long receivedBytes, long sentBytes) {

	/**
	 * The life of a client.
	 */
	public enum State {

		/** Not started. */
		NEW,

		/** Connects, and accepts requests. */
		RUNNING,

		/** Accepts no more requests, and waits for replies. */
		CLOSING,

		/** Has no connections any more. */
		CLOSED

	}

	/**
	 * The outcome of an exchange.
	 */
	public enum Outcome {

		/** The reply came. */
		REPLIED,

		/** The reply did not come in time. */
		TIMED_OUT,

		/** The connection ended before the reply came. */
		LOST,

		/** The caller gave up. */
		CANCELLED,

		/** The request was not sent. */
		REJECTED

	}

	/**
	 * An address of the peer.
	 *
	 * @param address host and port, as they were configured
	 * @param reachable whether the latest attempt to connect succeeded, or no attempt was
	 * made
	 * @param connections how many connections exist or are being made
	 * @param failures how many attempts have failed in a row
	 * @param failure why the latest one has failed, or {@code null}
	 */
	public record Address(String address, boolean reachable, int connections, int failures, @Nullable String failure) {
	}

}
