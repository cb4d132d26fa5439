package org.leaderfollowers.internal.promotion;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/**
 * The promotion protocol without threads: the test plays them all, one step at a time. A
 * thread that waits waits until its time is over, unless the test plays a step of another
 * thread {@linkplain TickingClock#meanwhile meanwhile}.
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

	/** What happens immediately after a period without a leader has begun. */
	Runnable whenStarved = () -> {
	};

	/** The kind of each hand-off, and how long there was no leader, in nanoseconds. */
	final List<String> handOffs = new ArrayList<>();

	/** What a listener does when a leadership has changed hands. */
	Runnable whenHandedOff = () -> {
	};

	final PromotionProtocol promotion;

	private int waiting;

	SteppedPool(int sets, int minThreads, int maxThreads) {
		this(sets, 0, minThreads, maxThreads);
	}

	/** A pool with sets that are at rest at first, after the others. */
	SteppedPool(int sets, int resting, int minThreads, int maxThreads) {
		this.sets = new Set[sets + resting];
		for (int i = 0; i < this.sets.length; i++) {
			this.sets[i] = new Set(i, this.clock.now);
			if (i >= sets) {
				this.sets[i].rest();
			}
		}
		this.threads = new Supply(minThreads, maxThreads, this.clock);
		this.starvation = new Starvation(this.sets.length, new Starvation.Listener() {

			@Override
			public void began() {
				SteppedPool.this.whenStarved.run();
			}

			@Override
			public void ended(long nanos) {
				SteppedPool.this.starved.add(nanos);
			}

		});
		this.promotion = new PromotionProtocol(this.sets, this.followers, this.members, this.threads, this.starvation,
				(kind, vacancyNanos) -> {
					this.handOffs.add(kind + " " + vacancyNanos);
					this.whenHandedOff.run();
				}, LEASE_NANOS, this.clock);
	}

	/** A thread that runs, and does not lead. */
	Member member() {
		return member(new Thread(), true);
	}

	Member member(Thread thread, boolean owned) {
		Member member = this.members.enroll(thread,
				(number, follower) -> new Member(number, follower, thread, owned, this.clock.now));
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
		member.latestIndex = set.index();
		member.become(Member.Role.LEADER, this.clock.now);
	}

	/** A thread that waits. It is not a member, so it does not count as running. */
	Follower follower() {
		Follower follower = new Follower(Follower.MAX_SLOT - this.waiting++, new Thread(), this.clock);
		this.followers.enqueue(follower);
		return follower;
	}

	/** Makes {@link #isUnparked} ignore the past. */
	static void clearPermit() {
		LockSupport.parkNanos(1);
	}

	/**
	 * Whether the thread of the test was unparked. A test waits long only if it fails.
	 */
	static boolean isUnparked() {
		long began = System.nanoTime();
		LockSupport.parkNanos(TimeUnit.SECONDS.toNanos(10));
		return System.nanoTime() - began < TimeUnit.SECONDS.toNanos(10);
	}

	/** From now on, no thread can be started. */
	void startAllThreads() {
		while (this.threads.mayStart()) {
			this.threads.start(true);
		}
	}

	static final class TickingClock extends Clock {

		private static final int MOST_LOOKS = 1_000_000;

		long now = 1_000_000;

		/** How long it takes to look at the clock. */
		long tick;

		private int looks;

		/** How long each wait may last, in nanoseconds. */
		final List<Long> waits = new ArrayList<>();

		/** What happens during the next waits, and ends them. */
		final Deque<Runnable> meanwhile = new ArrayDeque<>();

		@Override
		public long nanoTime() {
			if (++this.looks > MOST_LOOKS) {
				throw new AssertionError("a thread goes in circles");
			}
			this.now += this.tick;
			return this.now;
		}

		@Override
		public void parkNanos(Object blocker, long nanos) {
			this.waits.add(nanos);
			if (this.meanwhile.isEmpty()) {
				this.now += nanos;
			}
			else {
				this.meanwhile.remove().run();
			}
		}

	}

	static final class Set extends Leadership {

		int ready;

		/** What happens when a thread looks how many handles are ready. */
		Runnable whenLookedAt = () -> {
		};

		long waitedNanos;

		int endedLongWaits;

		boolean waitedOn;

		int endedWaits;

		boolean isForBound = true;

		Set(int index, long nowNanos) {
			super(index, nowNanos);
		}

		@Override
		protected int readyHandles() {
			this.whenLookedAt.run();
			return this.ready;
		}

		@Override
		protected long waitedNanos() {
			return this.waitedNanos;
		}

		@Override
		protected boolean isWaitedOn() {
			return this.waitedOn;
		}

		@Override
		protected boolean mayBeLedByBound() {
			return this.isForBound;
		}

		@Override
		protected void endWait() {
			this.endedWaits++;
		}

		@Override
		protected void endLongWait() {
			this.endedLongWaits++;
		}

	}

	/** A handle that a thread works on. */
	static final class Work implements HandledWork.Source {

		static final HandledWork WORK = new HandledWork("handle", "server", "handler");

		static final long NUMBER = 7;

		int uncorked;

		@Override
		public HandledWork work() {
			return WORK;
		}

		@Override
		public long workNumber() {
			return NUMBER;
		}

		@Override
		public void uncork() {
			this.uncorked++;
		}

	}

	static final class Supply extends ThreadSupply {

		int started;

		/** What happens when a thread is to be started, after the count was read. */
		Runnable whenStarting = () -> {
		};

		/** What starting a thread throws, and reporting that as well, or {@code null}. */
		Error failure;

		Supply(int min, int max, Clock clock) {
			super(new PoolSettings(min, max, false, LEASE_NANOS, 0), clock);
		}

		@Override
		protected void startThread(boolean underWay) {
			if (this.failure != null) {
				throw this.failure;
			}
			this.started++;
		}

		@Override
		protected void startFailed(Throwable failure) {
			throw this.failure;
		}

		@Override
		protected boolean isStopping() {
			this.whenStarting.run();
			return false;
		}

	}

}
