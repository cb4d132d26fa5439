package org.leaderfollowers.spring.test.assertion;

import java.time.Duration;
import java.util.function.Consumer;

import org.assertj.core.api.AbstractAssert;
import org.leaderfollowers.CloseReason;
import org.leaderfollowers.Server;

/**
 * Assertions for a server. Each assertion checks the current state of the server; after
 * {@link #eventually()}, it repeats the check until it succeeds.
 */
public final class ServerAssert extends AbstractAssert<ServerAssert, Server> {

	private Eventually eventually = Eventually.NOW;

	ServerAssert(Server actual) {
		super(actual, ServerAssert.class);
	}

	/**
	 * Makes each of the following assertions wait up to 10 seconds until it holds.
	 * @return this assertion
	 */
	public ServerAssert eventually() {
		this.eventually = Eventually.DEFAULT;
		return this;
	}

	/**
	 * Makes each of the following assertions wait until it holds.
	 * @param timeout how long each of them waits; zero checks once
	 * @return this assertion
	 */
	public ServerAssert within(Duration timeout) {
		this.eventually = new Eventually(timeout);
		return this;
	}

	/**
	 * Verifies how many connections are open.
	 * @param count how many connections
	 * @return this assertion
	 */
	public ServerAssert hasOpenConnections(int count) {
		return check((snapshot) -> snapshot.hasOpenConnections(count));
	}

	/**
	 * Verifies how many connections were accepted since the server was started.
	 * @param count how many connections
	 * @return this assertion
	 */
	public ServerAssert hasAcceptedConnections(long count) {
		return check((snapshot) -> snapshot.hasAcceptedConnections(count));
	}

	/**
	 * Verifies how many connections were rejected because of the limit.
	 * @param count how many connections
	 * @return this assertion
	 */
	public ServerAssert hasRejectedConnections(long count) {
		return check((snapshot) -> snapshot.hasRejectedConnections(count));
	}

	/**
	 * Verifies how many connections were closed for a reason.
	 * @param reason the reason
	 * @param count how many connections
	 * @return this assertion
	 */
	public ServerAssert hasClosedConnections(CloseReason reason, long count) {
		return check((snapshot) -> snapshot.hasClosedConnections(reason, count));
	}

	/**
	 * Verifies how many messages were given to the handler.
	 * @param count how many messages
	 * @return this assertion
	 */
	public ServerAssert hasReceivedMessages(long count) {
		return check((snapshot) -> snapshot.hasReceivedMessages(count));
	}

	/**
	 * Verifies that the server accepts and serves connections.
	 * @return this assertion
	 */
	public ServerAssert isRunning() {
		return check((snapshot) -> snapshot.isRunning());
	}

	/**
	 * Verifies that the server has been stopped.
	 * @return this assertion
	 */
	public ServerAssert isStopped() {
		return check((snapshot) -> snapshot.isStopped());
	}

	/**
	 * Verifies that the server is paused.
	 * @return this assertion
	 */
	public ServerAssert isPaused() {
		return check((snapshot) -> snapshot.isPaused());
	}

	/**
	 * Verifies that the server is not paused.
	 * @return this assertion
	 */
	public ServerAssert isNotPaused() {
		return check((snapshot) -> snapshot.isNotPaused());
	}

	private ServerAssert check(Consumer<ServerSnapshotAssert> assertion) {
		isNotNull();
		this.eventually
			.check(() -> assertion.accept(new ServerSnapshotAssert(this.actual.snapshot()).as(descriptionText())));
		return this;
	}

}
