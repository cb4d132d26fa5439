package org.leaderfollowers.spring.test.assertion;

import java.time.Duration;
import java.util.function.Consumer;

import org.assertj.core.api.AbstractAssert;
import org.leaderfollowers.LeaderFollowersPool;
import org.leaderfollowers.ThreadRole;

/**
 * Assertions for a pool. Each assertion checks the current state of the pool; after
 * {@link #eventually()}, it repeats the check until it succeeds.
 */
public final class LeaderFollowersPoolAssert extends AbstractAssert<LeaderFollowersPoolAssert, LeaderFollowersPool> {

	private Eventually eventually = Eventually.NOW;

	LeaderFollowersPoolAssert(LeaderFollowersPool actual) {
		super(actual, LeaderFollowersPoolAssert.class);
	}

	/**
	 * Makes each of the following assertions wait up to 10 seconds until it holds.
	 * @return this assertion
	 */
	public LeaderFollowersPoolAssert eventually() {
		this.eventually = Eventually.DEFAULT;
		return this;
	}

	/**
	 * Makes each of the following assertions wait until it holds.
	 * @param timeout how long each of them waits; zero checks once
	 * @return this assertion
	 */
	public LeaderFollowersPoolAssert within(Duration timeout) {
		this.eventually = new Eventually(timeout);
		return this;
	}

	/**
	 * Verifies that every handle set has exactly one leader. A pool with the default
	 * number of handle sets has one set at first.
	 * @return this assertion
	 */
	public LeaderFollowersPoolAssert hasExactlyOneLeader() {
		return check((snapshot) -> snapshot.hasExactlyOneLeader());
	}

	/**
	 * Verifies how many threads play a role.
	 * @param role the role
	 * @param count how many threads
	 * @return this assertion
	 */
	public LeaderFollowersPoolAssert hasThreads(ThreadRole role, int count) {
		return check((snapshot) -> snapshot.hasThreads(role, count));
	}

	/**
	 * Verifies how many threads there are, whatever their role is.
	 * @param count how many threads
	 * @return this assertion
	 */
	public LeaderFollowersPoolAssert hasThreads(int count) {
		return check((snapshot) -> snapshot.hasThreads(count));
	}

	/**
	 * Verifies how many threads run handlers: processing threads, and leaders that run a
	 * handler under a lease.
	 * @param count how many threads
	 * @return this assertion
	 */
	public LeaderFollowersPoolAssert isProcessing(int count) {
		return check((snapshot) -> snapshot.isProcessing(count));
	}

	/**
	 * Verifies that no thread runs a handler.
	 * @return this assertion
	 */
	public LeaderFollowersPoolAssert isIdle() {
		return check((snapshot) -> snapshot.isIdle());
	}

	/**
	 * Verifies that a thread has always been available to lead, except for periods up to
	 * the lease.
	 * @return this assertion
	 */
	public LeaderFollowersPoolAssert hasNoStarvation() {
		return check((snapshot) -> snapshot.hasNoStarvation());
	}

	/**
	 * Verifies that a handle set has no leader now, because every thread is busy.
	 * @return this assertion
	 */
	public LeaderFollowersPoolAssert isStarved() {
		return check((snapshot) -> snapshot.isStarved());
	}

	/**
	 * Verifies that the pool runs.
	 * @return this assertion
	 */
	public LeaderFollowersPoolAssert isRunning() {
		return check((snapshot) -> snapshot.isRunning());
	}

	/**
	 * Verifies that the pool has no threads any more.
	 * @return this assertion
	 */
	public LeaderFollowersPoolAssert isStopped() {
		return check((snapshot) -> snapshot.isStopped());
	}

	private LeaderFollowersPoolAssert check(Consumer<PoolSnapshotAssert> assertion) {
		isNotNull();
		this.eventually
			.check(() -> assertion.accept(new PoolSnapshotAssert(this.actual.snapshot()).as(descriptionText())));
		return this;
	}

}
