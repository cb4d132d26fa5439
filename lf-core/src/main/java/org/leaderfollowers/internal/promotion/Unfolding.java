package org.leaderfollowers.internal.promotion;

import java.util.Locale;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.LongAdder;

import org.jspecify.annotations.Nullable;

/**
 * How many handle sets are in use: as many as the pool can keep processors busy.
 * <p>
 * One leader at one set is the cheapest way to serve as long as one processor suffices.
 * If it does not, threads share the ready handles at once ({@link Relief}); each of them
 * then works on handles that another processor had in its cache, and has to be woken by
 * the leader. If that goes on, it is better to have a leader for each of these
 * processors, whom the kernel wakes, with handles of its own: the sets <em>unfold</em>.
 * They fold as soon as fewer processors do.
 * <p>
 * Either pays only if there is a processor to spare. If other processes use all of them,
 * a further thread gains nothing, and costs the others their caches. So idle time is
 * measured, too.
 * <p>
 * Sharing answers within microseconds, unfolding within a third of a second, folding
 * within a second. What is measured is the time that the threads of the pool have used of
 * the processors: a thread that is blocked, or waits for a processor, uses none.
 * <p>
 * A set that is not in use and has no handles left needs no leader: it rests. The rules:
 * <ol>
 * <li>how many sets are in use is written <em>before</em> their leaderships are opened;
 * </li>
 * <li>a leader publishes that its set rests <em>before</em> it looks once more whether
 * the set is in use or anything is requested of it ({@link #rest}). Whoever puts it into
 * use, or requests something of it, sees that it rests, or is seen.</li>
 * </ol>
 */
public final class Unfolding {

	/** What is measured is the mean of so long. */
	private static final long WINDOW_NANOS = TimeUnit.MILLISECONDS.toNanos(100);

	/** So many windows in a row have to ask for more sets. */
	private static final int WINDOWS_TO_UNFOLD = 2;

	/** And for fewer: a short lull is no reason to move handles to and fro. */
	private static final int WINDOWS_TO_FOLD = 10;

	/** A leader that waits for no more of its time than what is left needs help. */
	private static final double BUSY = 0.85;

	/** A leader that is busy for no more of its time can do the work of a folded one. */
	private static final double QUIET = 0.7;

	/**
	 * So much of a processor has to be there for a further thread. On two processors,
	 * beside the generator of a load, one leader leaves less with an echo and with
	 * handlers of 2 microseconds, and this much from 5 microseconds on, where a second
	 * thread begins to gain something.
	 */
	private static final double SPARE = 0.3;

	private final PromotionProtocol promotion;

	private final Leadership[] leaderships;

	private final Deal deal;

	private final boolean unfolds;

	/** How many threads lead something other than a handle set. */
	private final int otherLeaders;

	private final DispatchPolicy policy;

	private final int parallelism;

	private final Members<?> members;

	private final ThreadSupply threads;

	private final ProcessorTime processorTime;

	private final Clock clock;

	private final AtomicBoolean measuring = new AtomicBoolean();

	private final LongAdder changes = new LongAdder();

	private volatile @Nullable Change latest;

	/** When to measure next. */
	private volatile long nextNanos;

	// Of the thread that measures

	private final long[] waitedNanos;

	private long measuredNanos;

	private long idleNanos = ProcessorTime.UNKNOWN;

	/** How many windows in a row have asked for more sets; negative: for fewer. */
	private int agreeing;

	/**
	 * The number of sets in use has changed.
	 *
	 * @param nanoTime when, by the clock of the pool
	 * @param from how many sets were in use
	 * @param to how many are now
	 * @param processors how many processors the threads of the pool kept busy
	 * @param spare how many were there beside those of the leaders
	 * @param leaders how many leaders were not waiting for events, on the average
	 */
	public record Change(long nanoTime, int from, int to, double processors, double spare, double leaders) {

		/**
		 * The reason, for people.
		 * @return a sentence
		 */
		public String reason() {
			return String.format(Locale.ROOT,
					"threads of the pool kept %.2f processors busy, and %.2f of %d %s; %.2f processors were to spare",
					this.processors, this.leaders, this.from, (this.from == 1) ? "leader" : "leaders", this.spare);
		}

	}

	/**
	 * Creates what decides for a pool. If all sets are in use now, they remain so.
	 * @param promotion wakes threads for leaderships that are opened
	 * @param leaderships one for each handle set, by index
	 * @param deal has the number of sets in use
	 * @param otherLeaders how many threads lead something other than a handle set
	 * @param members the threads that take part
	 * @param threads has the settings
	 * @param policy is told whether threads may share
	 * @param parallelism how many processors the pool may use
	 * @param processorTime what the threads have used, and what is idle
	 * @param clock the clock of the pool
	 */
	public Unfolding(PromotionProtocol promotion, Leadership[] leaderships, Deal deal, int otherLeaders,
			Members<?> members, ThreadSupply threads, DispatchPolicy policy, int parallelism,
			ProcessorTime processorTime, Clock clock) {
		this.policy = policy;
		this.parallelism = parallelism;
		this.promotion = promotion;
		this.leaderships = leaderships.clone();
		this.deal = deal;
		this.otherLeaders = otherLeaders;
		this.unfolds = deal.inUse() < leaderships.length;
		this.members = members;
		this.threads = threads;
		this.processorTime = processorTime;
		this.waitedNanos = new long[leaderships.length];
		this.clock = clock;
		this.measuredNanos = clock.nanoTime();
		this.nextNanos = this.measuredNanos + WINDOW_NANOS;
	}

	// Measuring

	/**
	 * Measures, if it is time to, and unfolds or folds. Called by leaders before they
	 * wait.
	 * @param nowNanos the time, by the clock of the pool
	 */
	public void measure(long nowNanos) {
		if (nowNanos - this.nextNanos < 0 || !this.measuring.compareAndSet(false, true)) {
			return;
		}
		try {
			long windowNanos = nowNanos - this.measuredNanos;
			if (windowNanos >= WINDOW_NANOS) {
				double processors = (double) processorNanos() / windowNanos;
				double leaders = busyLeaders(windowNanos);
				// What threads that share have got is not idle, but is there for leaders.
				double spare = idle(processors, windowNanos) + Math.max(0, processors - leaders);
				this.measuredNanos = nowNanos;
				this.nextNanos = nowNanos + WINDOW_NANOS;
				this.policy.pauseSharing(nowNanos + ((spare < SPARE) ? 2 * WINDOW_NANOS : 0));
				if (this.unfolds) {
					decide(leaders, processors, spare, nowNanos);
				}
			}
		}
		finally {
			this.measuring.set(false);
		}
	}

	private double busyLeaders(long windowNanos) {
		double busy = 0;
		int inUse = this.deal.inUse();
		for (int i = 0; i < this.leaderships.length; i++) {
			long waited = this.leaderships[i].waitedNanos();
			if (i < inUse) {
				busy += 1 - Math.min(1, (double) (waited - this.waitedNanos[i]) / windowNanos);
			}
			this.waitedNanos[i] = waited;
		}
		return busy;
	}

	/**
	 * How many processors the pool could have used, and nobody has. In a container others
	 * may be idle, too, but not for this one.
	 */
	private double idle(double processors, long windowNanos) {
		long former = this.idleNanos;
		this.idleNanos = this.processorTime.idleNanos();
		double unused = Math.max(0, this.parallelism - processors);
		boolean known = former != ProcessorTime.UNKNOWN && this.idleNanos != ProcessorTime.UNKNOWN;
		return known ? Math.min(unused, (double) (this.idleNanos - former) / windowNanos) : unused;
	}

	/** What the members have used since this was called last. */
	private long processorNanos() {
		long sum = 0;
		for (Member member : this.members.all()) {
			if (hasWaited(member)) {
				// Asked for nothing. What a watcher uses meanwhile counts for no window.
				member.processorNanos = ProcessorTime.UNKNOWN;
			}
			else {
				sum += processorNanos(member);
			}
		}
		return sum;
	}

	/** Whether it has been among the followers for the whole window. */
	private boolean hasWaited(Member member) {
		return member.role() == Member.Role.FOLLOWER && member.sinceNanos() - this.measuredNanos < 0;
	}

	private long processorNanos(Member member) {
		long former = member.processorNanos;
		long now = member.hasWithdrawn() ? ProcessorTime.UNKNOWN : this.processorTime.nanos(member.thread());
		member.processorNanos = now;
		return (former != ProcessorTime.UNKNOWN && now != ProcessorTime.UNKNOWN) ? now - former : 0;
	}

	private void decide(double leaders, double processors, double spare, long nowNanos) {
		int inUse = this.deal.inUse();
		int most = Math.min(this.leaderships.length, this.threads.settings().minThreads() - this.otherLeaders);
		int wanted = Math.max(1, Math.min(most, wanted(inUse, leaders, processors, spare)));
		int direction = Integer.signum(wanted - inUse);
		this.agreeing = (Integer.signum(this.agreeing) == direction) ? this.agreeing + direction : direction;
		if (this.agreeing >= WINDOWS_TO_UNFOLD || this.agreeing <= -WINDOWS_TO_FOLD) {
			this.agreeing = 0;
			this.latest = new Change(nowNanos, inUse, wanted, processors, spare, leaders);
			this.changes.increment();
			use(wanted);
		}
	}

	/**
	 * How many sets are wanted.
	 * @param inUse how many are in use
	 * @param leaders how many of their leaders do not wait, on the average
	 * @param processors how many processors the pool keeps busy
	 * @param spare how many are there beside those of the leaders
	 */
	static int wanted(int inUse, double leaders, double processors, double spare) {
		if (leaders >= BUSY * inUse && spare >= SPARE) {
			return inUse + Math.max(1, Math.min(inUse, (int) spare));
		}
		return Math.min(inUse, (int) Math.ceil(Math.min(processors, leaders / QUIET)));
	}

	// Using

	private void use(int sets) {
		this.deal.use(sets);
		for (int i = 0; i < this.leaderships.length; i++) {
			if (i < sets) {
				open(this.leaderships[i]);
			}
			else {
				// Its leader may have nothing left to wait for.
				this.leaderships[i].endLongWait();
			}
		}
	}

	/**
	 * Ends the rest of a set, if it rests: wakes or starts a thread to lead it. Any
	 * thread.
	 * @param leadership the leadership of the set
	 */
	public void open(Leadership leadership) {
		if (leadership.isResting() && leadership.open(this.clock.nanoTime())) {
			this.promotion.signalIfVacant();
		}
	}

	/**
	 * The caller leads a set that is not in use and has no handles: it leads no more, and
	 * nobody else has to.
	 * @param me the calling thread, which has not leased the leadership
	 */
	public void rest(Member me) {
		Leadership leadership = me.leading;
		if (leadership != null) {
			me.leading = null;
			me.become(Member.Role.PROCESSING, this.clock.nanoTime());
			leadership.leftBy(me, null);
			leadership.rest(me.number);
			if (leadership.isWanted()) {
				open(leadership);
			}
		}
	}

	// A look from outside

	/**
	 * How many handle sets are in use. Any thread.
	 * @return from 1
	 */
	public int inUse() {
		return this.deal.inUse();
	}

	/**
	 * How often that has changed. Any thread.
	 * @return a number of changes
	 */
	public long changes() {
		return this.changes.sum();
	}

	/**
	 * The latest change. Any thread.
	 * @return {@code null} if there was none
	 */
	public @Nullable Change latest() {
		return this.latest;
	}

}
