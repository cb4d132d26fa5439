package org.leaderfollowers.spring.test.assertion;

import java.util.HashSet;
import java.util.List;
import java.util.Set;

import org.assertj.core.api.AbstractAssert;
import org.leaderfollowers.PoolSnapshot;
import org.leaderfollowers.PoolSnapshot.EventSourceSnapshot;
import org.leaderfollowers.PoolSnapshot.HandleSetSnapshot;
import org.leaderfollowers.PoolSnapshot.ThreadSnapshot;
import org.leaderfollowers.ThreadRole;

/**
 * Assertions for a {@link PoolSnapshot}. The message of a failure contains the relevant
 * parts of the snapshot.
 */
public final class PoolSnapshotAssert extends AbstractAssert<PoolSnapshotAssert, PoolSnapshot> {

	PoolSnapshotAssert(PoolSnapshot actual) {
		super(actual, PoolSnapshotAssert.class);
	}

	/**
	 * Verifies that every handle set that is in use or has handles has exactly one
	 * leader. A pool with the default number of handle sets has one set while it is not
	 * under load. Also verifies that every event source in use has a leader.
	 * @return this assertion
	 */
	public PoolSnapshotAssert hasExactlyOneLeader() {
		isNotNull();
		Set<String> leaders = new HashSet<>();
		List<HandleSetSnapshot> led = this.actual.handleSets()
			.stream()
			.filter((set) -> set.inUse() || set.handles() > 0)
			.toList();
		for (HandleSetSnapshot handleSet : led) {
			String leader = handleSet.leader();
			if (leader == null) {
				throw unmet("to have exactly one leader, but handle set '%s' has none", handleSet.name());
			}
			leaders.add(leader);
		}
		List<EventSourceSnapshot> sources = this.actual.eventSources()
			.stream()
			.filter(EventSourceSnapshot::inUse)
			.toList();
		for (EventSourceSnapshot source : sources) {
			String leader = source.leader();
			if (leader == null) {
				throw unmet("to have exactly one leader, but event source '%s' has none", source.name());
			}
			leaders.add(leader);
		}
		int expected = led.size() + sources.size();
		int actualLeaders = this.actual.count(ThreadRole.LEADER);
		if (leaders.size() != expected || actualLeaders != expected) {
			throw unmet("to have exactly one leader%s, but %d threads lead",
					(expected == 1) ? ""
							: " of each of its %d handle sets".formatted(led.size())
									+ (sources.isEmpty() ? "" : " and %d event sources".formatted(sources.size())),
					actualLeaders);
		}
		return this;
	}

	/**
	 * Verifies how many threads play a role.
	 * @param role the role
	 * @param count how many threads
	 * @return this assertion
	 */
	public PoolSnapshotAssert hasThreads(ThreadRole role, int count) {
		isNotNull();
		int actualCount = this.actual.count(role);
		if (actualCount != count) {
			throw unmet("to have %d threads in the role %s, but it has %d", count, role, actualCount);
		}
		return this;
	}

	/**
	 * Verifies how many threads there are, whatever their role is.
	 * @param count how many threads
	 * @return this assertion
	 */
	public PoolSnapshotAssert hasThreads(int count) {
		isNotNull();
		int actualCount = this.actual.threads().size();
		if (actualCount != count) {
			throw unmet("to have %d threads, but it has %d", count, actualCount);
		}
		return this;
	}

	/**
	 * Verifies how many threads run handlers: processing threads, and leaders that run a
	 * handler under a lease.
	 * @param count how many threads
	 * @return this assertion
	 */
	public PoolSnapshotAssert isProcessing(int count) {
		isNotNull();
		long actualCount = this.actual.threads().stream().filter((thread) -> thread.handle() != null).count();
		if (actualCount != count) {
			throw unmet("to process %d events, but it processes %d", count, actualCount);
		}
		return this;
	}

	/**
	 * Verifies that no thread runs a handler.
	 * @return this assertion
	 */
	public PoolSnapshotAssert isIdle() {
		isNotNull();
		isProcessing(0);
		return this;
	}

	/**
	 * Verifies that a thread has always been available to lead, except for periods up to
	 * the lease.
	 * @return this assertion
	 */
	public PoolSnapshotAssert hasNoStarvation() {
		isNotNull();
		if (this.actual.starvations() != 0 || !this.actual.starvedFor().isZero()) {
			throw unmet("never to have been without a thread to lead, but it was %d times, and is for %s now",
					this.actual.starvations(), this.actual.starvedFor());
		}
		return this;
	}

	/**
	 * Verifies that a handle set has no leader now, because every thread is busy.
	 * @return this assertion
	 */
	public PoolSnapshotAssert isStarved() {
		isNotNull();
		if (this.actual.starvedFor().isZero()) {
			throw unmet("to be starved, but every handle set has a leader or can get one");
		}
		return this;
	}

	/**
	 * Verifies that the pool runs.
	 * @return this assertion
	 */
	public PoolSnapshotAssert isRunning() {
		isNotNull();
		hasState(PoolSnapshot.State.RUNNING);
		return this;
	}

	/**
	 * Verifies that the pool has no threads any more.
	 * @return this assertion
	 */
	public PoolSnapshotAssert isStopped() {
		isNotNull();
		hasState(PoolSnapshot.State.STOPPED);
		return this;
	}

	private void hasState(PoolSnapshot.State state) {
		if (this.actual.state() != state) {
			throw unmet("to be %s, but it is %s", state, this.actual.state());
		}
	}

	private AssertionError unmet(String expectation, Object... arguments) {
		return failure("%nExpecting pool '%s' %s.%n%s", this.actual.name(), expectation.formatted(arguments),
				describe());
	}

	private String describe() {
		StringBuilder text = new StringBuilder("It is %s and has:".formatted(this.actual.state()));
		for (HandleSetSnapshot handleSet : this.actual.handleSets()) {
			text.append("%n  handle set %s: leader %s, %d handles, %d active, %d deactivated".formatted(
					handleSet.name(), (handleSet.leader() != null) ? handleSet.leader() : "none", handleSet.handles(),
					handleSet.active(), handleSet.deactivated()));
		}
		for (EventSourceSnapshot source : this.actual.eventSources()) {
			text.append("%n  event source %s: leader %s, %d events, %d handling".formatted(source.name(),
					(source.leader() != null) ? source.leader() : "none", source.events(), source.handling()));
		}
		for (ThreadSnapshot thread : this.actual.threads()) {
			text.append("%n  thread %s: %s for %s".formatted(thread.name(), thread.role(), thread.since()));
			if (thread.handler() != null) {
				text.append(", runs ").append(thread.handler());
			}
		}
		return text.toString();
	}

}
