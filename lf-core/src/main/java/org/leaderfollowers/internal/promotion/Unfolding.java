package org.leaderfollowers.internal.promotion;

import java.util.Locale;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.LongAdder;

import org.jspecify.annotations.Nullable;

/**
 * Determines how many handle sets are in use: as many as the pool can keep processors
 * busy.
 * <p>
 * While one processor suffices, one leader on one set is the cheapest way to serve. If it
 * does not suffice, threads share the ready handles at once ({@link Relief}). Each of
 * them then works on handles that another processor had in its cache, and must be woken
 * by the leader. If this continues, it is better to have a leader for each of these
 * processors, with its own handles, which the kernel wakes: the sets <em>unfold</em>.
 * They fold as soon as fewer processors suffice.
 * <p>
 * Unfolding and sharing pay only if a processor is free. If other processes use all
 * processors, a further thread gains nothing and evicts the data of the others from their
 * caches. Idle time is therefore measured as well.
 * <p>
 * Sharing reacts within microseconds, unfolding within a third of a second, folding
 * within a second. The measured value is the processor time that the threads of the pool
 * have used: a thread that is blocked, or waits for a processor, uses none.
 * <p>
 * A set that is not in use and has no handles left needs no leader: it is at rest. The
 * rules:
 * <ol>
 * <li>the number of sets in use is written <em>before</em> their leaderships are opened;
 * </li>
 * <li>a leader publishes that its set is at rest <em>before</em> it checks once more
 * whether the set is in use or anything is requested of it ({@link #rest}). Either a
 * thread that takes the set into use or requests something of it therefore sees that it
 * is at rest, or the leader sees the change.</li>
 * </ol>
 */
public final class Unfolding {

	/** The length of a window. The measured values are means over a window. */
	private static final long WINDOW_NANOS = TimeUnit.MILLISECONDS.toNanos(100);

	/** How many windows in a row must ask for more sets. */
	private static final int WINDOWS_TO_UNFOLD = 2;

	/**
	 * How many windows in a row must ask for fewer sets: a short lull is no reason to
	 * move handles.
	 */
	private static final int WINDOWS_TO_FOLD = 10;

	/** A leader that is busy for at least this share of its time needs help. */
	private static final double BUSY = 0.85;

	/**
	 * A leader that is busy for no more than this share of its time can take over the
	 * work of a folded set.
	 */
	private static final double QUIET = 0.7;

	/**
	 * How much of a processor must be free for a further thread. Measured on two
	 * processors, beside the generator of a load: with an echo or a handler of 2
	 * microseconds, one leader leaves less than this. From 5 microseconds on, where a
	 * second thread begins to gain something, it leaves this much.
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

	/** When the next measurement is due. */
	private volatile long nextNanos;

	// Used by the thread that measures only

	private final long[] waitedNanos;

	private long measuredNanos;

	private long idleNanos = ProcessorTime.UNKNOWN;

	/** How many windows in a row have asked for more sets or, if negative, for fewer. */
	private int agreeing;

	/**
	 * The number of sets in use has changed.
	 *
	 * @param nanoTime when, by the clock of the pool
	 * @param from how many sets were in use
	 * @param to how many sets are in use now
	 * @param processors how many processors the threads of the pool kept busy
	 * @param spare how many processors were free, in addition to those of the leaders
	 * @param leaders how many leaders were busy, on average
	 */
	public record Change(long nanoTime, int from, int to, double processors, double spare, double leaders) {

		/**
		 * Describes the reason, for operators.
		 * @return a sentence
		 */
		public String reason() {
			return String.format(Locale.ROOT,
					"threads of the pool kept %.2f processors busy, and %.2f of %d %s; %.2f processors were free",
					this.processors, this.leaders, this.from, (this.from == 1) ? "leader" : "leaders", this.spare);
		}

	}

	/**
	 * Creates the object for a pool. If all sets are in use at first, they remain in use.
	 * @param promotion wakes threads for leaderships that become vacant
	 * @param leaderships one for each handle set, by index
	 * @param deal holds the number of sets in use
	 * @param otherLeaders how many threads lead something other than a handle set
	 * @param members the threads that participate
	 * @param threads provides the settings
	 * @param policy is told when threads may share
	 * @param parallelism how many processors the pool may use
	 * @param processorTime measures the processor time of threads and the idle time
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
	 * If a measurement is due, measures, and then unfolds or folds. Called by leaders
	 * before they wait.
	 * @param nowNanos the current time, by the clock of the pool
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
				// Processor time of threads that share is not idle, but leaders could use
				// it.
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
	 * How many processors the pool could have used but were idle. In a container, further
	 * processors of the machine may be idle, but the pool cannot use them.
	 */
	private double idle(double processors, long windowNanos) {
		long former = this.idleNanos;
		this.idleNanos = this.processorTime.idleNanos();
		double unused = Math.max(0, this.parallelism - processors);
		boolean known = former != ProcessorTime.UNKNOWN && this.idleNanos != ProcessorTime.UNKNOWN;
		return known ? Math.min(unused, (double) (this.idleNanos - former) / windowNanos) : unused;
	}

	/** The processor time that the members have used since the last call. */
	private long processorNanos() {
		long sum = 0;
		for (Member member : this.members.all()) {
			if (hasWaited(member)) {
				// Not measured. The processor time of a watcher meanwhile counts for no
				// window.
				member.processorNanos = ProcessorTime.UNKNOWN;
			}
			else {
				sum += processorNanos(member);
			}
		}
		return sum;
	}

	/** Whether the member was a follower for the whole window. */
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
	 * Computes how many sets should be in use.
	 * @param inUse how many are in use
	 * @param leaders how many of their leaders are busy, on average
	 * @param processors how many processors the pool keeps busy
	 * @param spare how many processors are free, in addition to those of the leaders
	 */
	static int wanted(int inUse, double leaders, double processors, double spare) {
		if (leaders >= BUSY * inUse && spare >= SPARE) {
			return inUse + Math.max(1, Math.min(inUse, (int) spare));
		}
		return Math.min(inUse, (int) Math.ceil(Math.min(processors, leaders / QUIET)));
	}

	// Changing the number of sets in use

	/**
	 * Changes the number of sets in use. Called by the thread that measures.
	 * @param sets from 1 to the number of sets
	 */
	public void use(int sets) {
		this.deal.use(sets);
		for (int i = 0; i < this.leaderships.length; i++) {
			if (i < sets) {
				open(this.leaderships[i]);
			}
			else {
				// Its leader may have no handles left to wait for.
				this.leaderships[i].endLongWait();
			}
		}
	}

	/**
	 * If a set is at rest, takes it into use: wakes or starts a thread to lead it. Any
	 * thread.
	 * @param leadership the leadership of the set
	 */
	public void open(Leadership leadership) {
		if (leadership.isResting() && leadership.open(this.clock.nanoTime())) {
			this.promotion.signalIfVacant();
		}
	}

	/**
	 * Called by the leader of a set that is not in use and has no handles: puts the set
	 * to rest, so that it needs no leader.
	 * @param me the calling thread, which leads without a lease
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

	// Monitoring

	/**
	 * How many handle sets are in use. Any thread.
	 * @return from 1
	 */
	public int inUse() {
		return this.deal.inUse();
	}

	/**
	 * How often this number has changed. Any thread.
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
