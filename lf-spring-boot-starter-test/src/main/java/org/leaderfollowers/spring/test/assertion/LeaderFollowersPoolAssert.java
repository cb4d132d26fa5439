package org.leaderfollowers.spring.test.assertion;

import java.time.Duration;
import java.util.function.Consumer;

import org.assertj.core.api.AbstractAssert;
import org.leaderfollowers.LeaderFollowersPool;
import org.leaderfollowers.ThreadRole;

/**
 * Assertions for a pool. Each one looks at the pool as it is then; after
 * {@link #eventually()}, again and again until it holds.
 */
public final class LeaderFollowersPoolAssert extends AbstractAssert<LeaderFollowersPoolAssert, LeaderFollowersPool> {

	private Eventually eventually = Eventually.NOW;

	LeaderFollowersPoolAssert(LeaderFollowersPool actual) {
		super(actual, LeaderFollowersPoolAssert.class);
	}

	/**
	 * Waits, up to 10 seconds each, until the assertions that follow hold.
	 * @return this assertion
	 */
	public LeaderFollowersPoolAssert eventually() {
		this.eventually = Eventually.DEFAULT;
		return this;
	}

	/**
	 * Waits until the assertions that follow hold.
	 * @param timeout how long for each; zero looks once
	 * @return this assertion
	 */
	public LeaderFollowersPoolAssert within(Duration timeout) {
		this.eventually = new Eventually(timeout);
		return this;
	}

	/**
	 * Verifies that every handle set has exactly one leader, which is one for a pool with
	 * the default number of handle sets.
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
	 * Verifies how many threads there are, whatever they do.
	 * @param count how many threads
	 * @return this assertion
	 */
	public LeaderFollowersPoolAssert hasThreads(int count) {
		return check((snapshot) -> snapshot.hasThreads(count));
	}

	/**
	 * Verifies how many threads run handlers: threads that process, and leaders that do
	 * so without having been relieved.
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
	 * Verifies that there has always been a thread left to lead, for longer than the
	 * lease.
	 * @return this assertion
	 */
	public LeaderFollowersPoolAssert hasNoStarvation() {
		return check((snapshot) -> snapshot.hasNoStarvation());
	}

	/**
	 * Verifies that a handle set has no leader now, since every thread is busy.
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
