package org.leaderfollowers.spring.session;

import java.util.concurrent.atomic.LongAdder;

/**
 * Counts what happened to the sessions of this node, and the messages that this node has
 * sent to sessions. Safe for many threads.
 */
public final class SessionCounters {

	private final LongAdder opened = new LongAdder();

	private final LongAdder closed = new LongAdder();

	private final LongAdder takenOver = new LongAdder();

	private final LongAdder contested = new LongAdder();

	private final LongAdder localMessages = new LongAdder();

	private final LongAdder remoteMessages = new LongAdder();

	private final LongAdder failedMessages = new LongAdder();

	SessionCounters() {
	}

	void opened() {
		this.opened.increment();
	}

	void closed() {
		this.closed.increment();
	}

	void takenOver() {
		this.takenOver.increment();
	}

	void contested() {
		this.contested.increment();
	}

	void message(boolean local) {
		(local ? this.localMessages : this.remoteMessages).increment();
	}

	void failed() {
		this.failedMessages.increment();
	}

	/**
	 * Returns how many sessions are open.
	 * @return the number, which may be a little old
	 */
	public long open() {
		return Math.max(0, this.opened.sum() - this.closed.sum());
	}

	/**
	 * Returns how many connections have taken a name.
	 * @return the number since the start
	 */
	public long openedSessions() {
		return this.opened.sum();
	}

	/**
	 * Returns how many sessions have ended.
	 * @return the number since the start
	 */
	public long closedSessions() {
		return this.closed.sum();
	}

	/**
	 * Returns how many sessions have lost their name to a later login.
	 * @return the number since the start
	 */
	public long takenOverSessions() {
		return this.takenOver.sum();
	}

	/**
	 * Returns how many logins were refused because the name was taken over too often.
	 * @return the number since the start
	 */
	public long contestedLogins() {
		return this.contested.sum();
	}

	/**
	 * Returns how many messages and requests were for sessions of this node.
	 * @return the number since the start
	 */
	public long localMessages() {
		return this.localMessages.sum();
	}

	/**
	 * Returns how many messages and requests were sent to sessions of other nodes.
	 * @return the number since the start
	 */
	public long remoteMessages() {
		return this.remoteMessages.sum();
	}

	/**
	 * Returns how many messages and requests were not sent, or failed later.
	 * @return the number since the start
	 */
	public long failedMessages() {
		return this.failedMessages.sum();
	}

}
