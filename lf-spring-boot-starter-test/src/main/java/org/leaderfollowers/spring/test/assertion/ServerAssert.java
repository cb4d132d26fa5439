package org.leaderfollowers.spring.test.assertion;

import java.time.Duration;
import java.util.function.Consumer;

import org.assertj.core.api.AbstractAssert;
import org.leaderfollowers.CloseReason;
import org.leaderfollowers.Server;

/**
 * Assertions for a server. Each one looks at the server as it is then; after
 * {@link #eventually()}, again and again until it holds.
 */
public final class ServerAssert extends AbstractAssert<ServerAssert, Server> {

	private Eventually eventually = Eventually.NOW;

	ServerAssert(Server actual) {
		super(actual, ServerAssert.class);
	}

	/**
	 * Waits, up to 10 seconds each, until the assertions that follow hold.
	 * @return this assertion
	 */
	public ServerAssert eventually() {
		this.eventually = Eventually.DEFAULT;
		return this;
	}

	/**
	 * Waits until the assertions that follow hold.
	 * @param timeout how long for each; zero looks once
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
	 * Verifies how many connections were turned away because of the limit.
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
	 * Verifies that the server takes on nothing new, since it was asked to.
	 * @return this assertion
	 */
	public ServerAssert isPaused() {
		return check((snapshot) -> snapshot.isPaused());
	}

	/**
	 * Verifies that the server was not asked to take on nothing new.
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
