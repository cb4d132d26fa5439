package org.leaderfollowers.spring.test.assertion;

import java.util.Map;
import java.util.TreeMap;

import org.assertj.core.api.AbstractAssert;
import org.leaderfollowers.CloseReason;
import org.leaderfollowers.ServerSnapshot;

/**
 * Assertions for a {@link ServerSnapshot}. The message of a failure contains the relevant
 * parts of the snapshot.
 */
public final class ServerSnapshotAssert extends AbstractAssert<ServerSnapshotAssert, ServerSnapshot> {

	ServerSnapshotAssert(ServerSnapshot actual) {
		super(actual, ServerSnapshotAssert.class);
	}

	/**
	 * Verifies how many connections are open.
	 * @param count how many connections
	 * @return this assertion
	 */
	public ServerSnapshotAssert hasOpenConnections(int count) {
		isNotNull();
		if (this.actual.openConnections() != count) {
			throw unmet("to have %d open connections, but it has %d", count, this.actual.openConnections());
		}
		return this;
	}

	/**
	 * Verifies how many connections were accepted since the server was started.
	 * @param count how many connections
	 * @return this assertion
	 */
	public ServerSnapshotAssert hasAcceptedConnections(long count) {
		isNotNull();
		if (this.actual.acceptedConnections() != count) {
			throw unmet("to have accepted %d connections, but it accepted %d", count,
					this.actual.acceptedConnections());
		}
		return this;
	}

	/**
	 * Verifies how many connections were rejected because of the limit.
	 * @param count how many connections
	 * @return this assertion
	 */
	public ServerSnapshotAssert hasRejectedConnections(long count) {
		isNotNull();
		if (this.actual.rejectedConnections() != count) {
			throw unmet("to have rejected %d connections, but it rejected %d", count,
					this.actual.rejectedConnections());
		}
		return this;
	}

	/**
	 * Verifies how many connections were closed for a reason.
	 * @param reason the reason
	 * @param count how many connections
	 * @return this assertion
	 */
	public ServerSnapshotAssert hasClosedConnections(CloseReason reason, long count) {
		isNotNull();
		long actualCount = this.actual.closedConnections().getOrDefault(reason, 0L);
		if (actualCount != count) {
			throw unmet("to have closed %d connections for %s, but it closed %d", count, reason, actualCount);
		}
		return this;
	}

	/**
	 * Verifies how many messages were given to the handler.
	 * @param count how many messages
	 * @return this assertion
	 */
	public ServerSnapshotAssert hasReceivedMessages(long count) {
		isNotNull();
		if (this.actual.receivedMessages() != count) {
			throw unmet("to have received %d messages, but it received %d", count, this.actual.receivedMessages());
		}
		return this;
	}

	/**
	 * Verifies that the server accepts and serves connections.
	 * @return this assertion
	 */
	public ServerSnapshotAssert isRunning() {
		isNotNull();
		hasState(ServerSnapshot.State.RUNNING);
		return this;
	}

	/**
	 * Verifies that the server has been stopped.
	 * @return this assertion
	 */
	public ServerSnapshotAssert isStopped() {
		isNotNull();
		hasState(ServerSnapshot.State.STOPPED);
		return this;
	}

	/**
	 * Verifies that the server is paused.
	 * @return this assertion
	 */
	public ServerSnapshotAssert isPaused() {
		isNotNull();
		if (!this.actual.paused()) {
			throw unmet("to be paused, but it is not");
		}
		return this;
	}

	/**
	 * Verifies that the server is not paused.
	 * @return this assertion
	 */
	public ServerSnapshotAssert isNotPaused() {
		isNotNull();
		if (this.actual.paused()) {
			throw unmet("not to be paused, but it is");
		}
		return this;
	}

	private void hasState(ServerSnapshot.State state) {
		if (this.actual.state() != state) {
			throw unmet("to be %s, but it is %s", state, this.actual.state());
		}
	}

	private AssertionError unmet(String expectation, Object... arguments) {
		return failure("%nExpecting server '%s' %s.%n%s", this.actual.name(), expectation.formatted(arguments),
				describe());
	}

	private String describe() {
		return "It is %s%s, has accepted %d connections and rejected %d, has %d open and closed %s, and received %d messages."
			.formatted(this.actual.state(), this.actual.paused() ? " and paused" : "",
					this.actual.acceptedConnections(), this.actual.rejectedConnections(), this.actual.openConnections(),
					closedConnections(), this.actual.receivedMessages());
	}

	private Map<CloseReason, Long> closedConnections() {
		Map<CloseReason, Long> closed = new TreeMap<>(this.actual.closedConnections());
		closed.values().removeIf((count) -> count == 0);
		return closed;
	}

}
