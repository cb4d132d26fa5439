package org.leaderfollowers.internal.promotion;

import java.util.ArrayList;
import java.util.List;

/**
 * The promotion protocol without threads: the test plays them all, one step at a time.
 */
final class SteppedPool {

	static final long LEASE_NANOS = 1_000_000;

	final TickingClock clock = new TickingClock();

	final Set[] sets;

	final Supply threads;

	final Members<Member> members = new Members<>(this.clock);

	final Followers followers = Followers.lifo();

	final Starvation starvation;

	/** How long each period without a leader was, in nanoseconds. */
	final List<Long> starved = new ArrayList<>();

	final PromotionProtocol promotion;

	private int waiting;

	SteppedPool(int sets, int minThreads, int maxThreads) {
		this.sets = new Set[sets];
		for (int i = 0; i < sets; i++) {
			this.sets[i] = new Set(i, this.clock.now);
		}
		this.threads = new Supply(minThreads, maxThreads, this.clock);
		this.starvation = new Starvation(sets, new Starvation.Listener() {

			@Override
			public void began() {
			}

			@Override
			public void ended(long nanos) {
				SteppedPool.this.starved.add(nanos);
			}

		});
		this.promotion = new PromotionProtocol(this.sets, this.followers, this.members, this.threads, this.starvation,
				(kind, vacancyNanos) -> {
				}, LEASE_NANOS, this.clock);
	}

	/** A thread that runs, and does not lead. */
	Member member() {
		Thread thread = new Thread();
		Member member = this.members.enroll(thread,
				(number, follower) -> new Member(number, follower, thread, true, this.clock.now));
		member.become(Member.Role.PROCESSING, this.clock.now);
		return member;
	}

	/** A thread that leads a set. */
	Member leader(Set set) {
		Member member = member();
		lead(member, set);
		return member;
	}

	void lead(Member member, Set set) {
		if (!set.take(member.number)) {
			throw new IllegalStateException("there is a leader");
		}
		member.leading = set;
	}

	/** A thread that waits. It is not a member, so it does not count as running. */
	Follower follower() {
		Follower follower = new Follower(Follower.MAX_SLOT - this.waiting++, new Thread(), this.clock);
		this.followers.enqueue(follower);
		return follower;
	}

	/** From now on, no thread can be started. */
	void startAllThreads() {
		while (this.threads.mayStart()) {
			this.threads.start(true);
		}
	}

	static final class TickingClock extends Clock {

		long now = 1_000_000;

		/** How long it takes to look at the clock. */
		long tick;

		@Override
		public long nanoTime() {
			this.now += this.tick;
			return this.now;
		}

	}

	static final class Set extends Leadership {

		int ready;

		long waitedNanos;

		int endedLongWaits;

		Set(int index, long nowNanos) {
			super(index, nowNanos);
		}

		@Override
		protected int readyHandles() {
			return this.ready;
		}

		@Override
		protected long waitedNanos() {
			return this.waitedNanos;
		}

		@Override
		protected void endLongWait() {
			this.endedLongWaits++;
		}

	}

	static final class Supply extends ThreadSupply {

		int started;

		Supply(int min, int max, Clock clock) {
			super(new PoolSettings(min, max, false, LEASE_NANOS, 0), clock);
		}

		@Override
		protected void startThread(boolean underWay) {
			this.started++;
		}

		@Override
		protected boolean isStopping() {
			return false;
		}

	}

}
