package org.leaderfollowers.internal.promotion;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.LongAdder;
import java.util.concurrent.locks.LockSupport;

import org.jspecify.annotations.Nullable;

/**
 * The promotion protocol of a pool: how leaderships are taken, given up, leased, regained
 * and taken over, and how followers wait and are woken for them. It knows nothing of
 * sockets, so that its interleavings can be explored separately.
 * <p>
 * The words that it changes have their own transition tables: {@link Leadership} (which
 * thread leads), {@link Followers} and {@link Follower} (which threads wait or are under
 * way), {@link LeaseWatch} (which thread watches leases), {@link ThreadSupply} (how many
 * threads there are), {@link Starvation} (since when no thread is left). The rules
 * between these words:
 * <ol>
 * <li>a leadership is published as vacant <em>before</em> a follower is woken
 * ({@link #promote});</li>
 * <li>a follower publishes itself as waiting <em>before</em> it looks for a vacancy once
 * more ({@link #follow}): either it sees the vacancy, or the thread that left it sees the
 * follower;</li>
 * <li>at most one woken follower is under way; it clears this mark <em>before</em> it
 * tries to take a vacancy, and signals for the next vacancy after it has taken one
 * ({@link #arrive});</li>
 * <li>a lease is published <em>before</em> its leader checks whether it is watched
 * ({@link Leases#lease}); a watcher that leaves or sleeps writes its word <em>before</em>
 * it checks the leases again ({@link Leases#watch});</li>
 * <li>a thread that was woken and shares the ready handles instead of leading looks for
 * vacancies and unwatched leases <em>before</em> it runs a handler ({@link #passOn}), so
 * that another thread leads or watches in its place;</li>
 * <li>a thread that ends or changes the settings publishes this <em>before</em> it looks
 * for vacancies ({@link #signalIfVacant}).</li>
 * </ol>
 * While a thread is idle, each handle set therefore has a leader, or a thread is on its
 * way to it.
 */
public final class PromotionProtocol {

	/**
	 * How long a leader waits on one handle set while another has no leader and no thread
	 * is left to lead it.
	 */
	public static final long ROTATION_NANOS = TimeUnit.MILLISECONDS.toNanos(1);

	/** The longest wait: sums with {@link System#nanoTime()} do not overflow. */
	public static final long FOREVER_NANOS = Long.MAX_VALUE / 4;

	/** How often a thread that is not surplus checks whether it is. */
	private static final long MIN_PATIENCE_NANOS = TimeUnit.SECONDS.toNanos(1);

	/** The maximum number of checks before a thread waits; see {@link #spin}. */
	private static final int SPINS = (Runtime.getRuntime().availableProcessors() > 1) ? 1000 : 0;

	/** After this number of checks, the thread yields the processor. */
	private static final int SPINS_BEFORE_YIELD = 8;

	private final Leadership[] leaderships;

	private final Followers followers;

	private final Leases leases;

	private final Vacancies vacancies;

	private final Members<?> members;

	private final ThreadSupply threads;

	private final Starvation starvation;

	private final Listener listener;

	private final long keepAliveNanos;

	private final Clock clock;

	/** The number of members that wait among the followers or are about to. */
	private final AtomicInteger parked = new AtomicInteger();

	private final LongAdder wastedWakeUps = new LongAdder();

	private final BoundThreads bound;

	private final StandIn standIn;

	private volatile boolean stopping;

	/** A listener for hand-offs. */
	@FunctionalInterface
	public interface Listener {

		/**
		 * A leadership has changed hands. Called by the new leader, which has recorded
		 * this. Must not throw; may give the leadership up.
		 * @param kind how the new leader came to lead
		 * @param vacancyNanos how long there was no leader, in nanoseconds
		 */
		void handedOff(HandOffKind kind, long vacancyNanos);

	}

	/**
	 * Creates the protocol of a pool.
	 * @param leaderships one for each handle set, by index
	 * @param followers decide which follower is promoted
	 * @param members the threads that participate
	 * @param threads starts further threads
	 * @param starvation records when no thread is left
	 * @param listener called for hand-offs
	 * @param keepAliveNanos how long a surplus thread waits before it ends
	 * @param clock the clock of the pool
	 */
	public PromotionProtocol(Leadership[] leaderships, Followers followers, Members<?> members, ThreadSupply threads,
			Starvation starvation, Listener listener, long keepAliveNanos, Clock clock) {
		this.leaderships = leaderships.clone();
		this.followers = followers;
		this.members = members;
		this.threads = threads;
		this.starvation = starvation;
		this.listener = listener;
		this.keepAliveNanos = keepAliveNanos;
		this.clock = clock;
		this.leases = new Leases(this, this.leaderships, followers, members, threads, starvation, clock);
		this.bound = new BoundThreads(this, this.leaderships, followers, threads, clock);
		this.vacancies = new Vacancies(this.leaderships, followers, this.bound, this.leases, threads, starvation,
				clock);
		this.standIn = new StandIn(this, clock);
	}

	// Looking for a leadership

	/**
	 * Keeps the leadership of the calling thread, or takes a vacancy. Called before the
	 * thread takes a ready handle: any thread can take the handle later, but perhaps no
	 * other is left to lead. A surplus thread that finds no vacancy
	 * {@linkplain Member#isRetired() retires}.
	 * @param me the calling thread
	 * @return the leadership that the thread has now, or {@code null}
	 */
	public @Nullable Leadership attend(Member me) {
		takeTurns(me, true);
		if (me.leading == null && takeVacancy(me, HandOffKind.RECLAIMED) == null && this.threads.isSurplus()) {
			retire(me, false);
		}
		return me.leading;
	}

	/**
	 * Finds a leadership for the calling thread, or waits among the followers. Called if
	 * the thread has {@linkplain #attend attended} and no handle was ready.
	 * @param me the calling thread
	 * @param deadlineNanos when to give up
	 * @param superfluous whether it waits although a handle may be ready
	 * @return {@code null} if a handle is ready, no vacancy was found, the deadline has
	 * passed, the pool stops, or the thread was {@linkplain Member#isRetired retired}
	 */
	public @Nullable Leadership lead(Member me, long deadlineNanos, boolean superfluous) {
		Leadership leadership = (me.leading == null && me.shares && !superfluous) ? spin(me) : me.leading;
		boolean waits = leadership == null && (superfluous || !this.vacancies.isAnyReady());
		return waits ? follow(me, deadlineNanos) : leadership;
	}

	/**
	 * If no other thread can lead a vacant handle set, the calling leader gives up its
	 * own, to take turns. If a bound leader has left the vacancy to it, the caller takes
	 * it, and the bound thread may lead here.
	 */
	private void giveWay(Member me) {
		this.leases.endUnwatched(me);
		if (!this.vacancies.isAny()) {
			return;
		}
		if (this.bound.isLeftFor(me)) {
			if (giveUp(me, this.clock.nanoTime()) && takeVacancy(me, HandOffKind.RECLAIMED, true) != null) {
				signalIfVacant();
			}
		}
		else if (!this.vacancies.signalFollower() && this.bound.isVacantFor(me) && giveUp(me, this.clock.nanoTime())
				&& !this.followers.isEmpty()) {
			// A thread has begun to wait since, and may have seen the own set still led.
			this.vacancies.signalFollower();
		}
	}

	/** Takes the leadership of any handle set that has no leader. */
	@Nullable Leadership takeVacancy(Member me, HandOffKind kind) {
		return takeVacancy(me, kind, false);
	}

	private @Nullable Leadership takeVacancy(Member me, HandOffKind kind, boolean left) {
		int count = this.leaderships.length;
		for (int i = 1; i <= count; i++) {
			// Not always from the first set, or the last ones would starve if every
			// thread is busy.
			Leadership leadership = this.leaderships[(me.latestIndex + i) % count];
			boolean may = left ? leadership.boundLead() == BoundLead.LEFT : BoundThreads.mayTake(me, leadership);
			if (may && leadership.take(me.number)) {
				long now = this.clock.nanoTime();
				beginToLead(me, leadership, now);
				handedOff(me, leadership, kind, leadership.vacancyNanos(now), now);
				return me.leading;
			}
		}
		return null;
	}

	/**
	 * Checks for a moment whether a handle becomes ready or a leadership can be taken.
	 * The moment is not longer than the cost of a wake-up for both sides, so it never
	 * wastes more than the best decision would cost. It also takes over a lease that has
	 * not expired, unless the handler is about to return: the leader is busy, and this
	 * thread is not.
	 */
	private @Nullable Leadership spin(Member me) {
		long began = this.clock.nanoTime();
		long most = 2 * this.vacancies.wakeUpNanos();
		for (int i = 1; i <= SPINS && !this.vacancies.isAnyReady(); i++) {
			for (Leadership leadership : this.leaderships) {
				long lease = leadership.isWorthAProcessor() ? leadership.leaseWord() : Leadership.NOT_LEASED;
				if (lease != Leadership.NOT_LEASED && takeOver(me, leadership, lease, HandOffKind.RECLAIMED, 0)) {
					return me.leading;
				}
			}
			if (this.vacancies.isAny() && takeVacancy(me, HandOffKind.RECLAIMED) != null) {
				return me.leading;
			}
			if (i % SPINS_BEFORE_YIELD != 0) {
				Thread.onSpinWait();
			}
			else if (this.clock.nanoTime() - began >= most) {
				return null;
			}
			else {
				Thread.yield();
			}
		}
		return null;
	}

	private static void beginToLead(Member me, Leadership leadership, long nowNanos) {
		me.leading = leadership;
		leadership.boundLead(me.isBound ? BoundLead.LEADS : BoundLead.NONE);
		me.latestIndex = leadership.index();
		me.become(Member.Role.LEADER, nowNanos);
	}

	/**
	 * Records that the leadership has passed to the caller, and notifies the listeners.
	 * The listeners come last, because one of them may give the leadership up, for
	 * example by resizing the pool.
	 * @param vacancyNanos how long there was no leader; negative if there was none before
	 */
	private void handedOff(Member me, Leadership leadership, HandOffKind kind, long vacancyNanos, long nowNanos) {
		if (vacancyNanos >= 0) {
			leadership.handedOff(me, kind, vacancyNanos, nowNanos);
		}
		this.starvation.end(leadership, nowNanos);
		if (vacancyNanos >= 0) {
			this.listener.handedOff(kind, vacancyNanos);
		}
	}

	// Promotion

	/**
	 * Gives up the leadership if the caller has one: makes it vacant, and then wakes a
	 * thread that may take it.
	 * @param me the calling thread
	 * @return whether it led
	 */
	public boolean promoteNewLeader(Member me) {
		if (me.leading == null) {
			return false;
		}
		boolean led = promote(me, this.clock.nanoTime());
		me.uncork();
		return led;
	}

	boolean promote(Member me, long nowNanos) {
		boolean led = giveUp(me, nowNanos);
		if (led) {
			this.vacancies.signalFollower();
		}
		return led;
	}

	private static boolean giveUp(Member me, long nowNanos) {
		Leadership leadership = me.leading;
		if (leadership == null) {
			return false;
		}
		boolean leads = !me.leased || leadership.regain(me.number);
		me.leading = null;
		me.leased = false;
		me.become(Member.Role.PROCESSING, nowNanos);
		if (!leads) {
			// Another thread took over meanwhile.
			return false;
		}
		leadership.leftBy(me, me.work());
		return leadership.giveUp(me.number, nowNanos);
	}

	/**
	 * Takes over from a leader whose handler runs under a lease, and writes the replies
	 * that it has corked: they must not wait for the handler.
	 * @param lease the lease word
	 */
	boolean takeOver(Member me, Leadership leadership, long lease, HandOffKind kind, long vacancyNanos) {
		Member former = seize(me, leadership, lease);
		if (former == null) {
			return false;
		}
		long now = this.clock.nanoTime();
		beginToLead(me, leadership, now);
		former.uncork();
		handedOff(me, leadership, kind, vacancyNanos, now);
		return true;
	}

	/** Returns the former leader, or {@code null} if the lease has ended. */
	@Nullable Member seize(Member me, Leadership leadership, long lease) {
		Member former = this.members.get(Leadership.holderOf(lease));
		// Read before the takeover: while the lease lasts, the leader works on this
		// handle or on none.
		HandledWork.Source work = (former != null) ? former.work() : null;
		if (former == null || !leadership.takeOver(lease, me.number)) {
			return null;
		}
		leadership.leftBy(former, work);
		return former;
	}

	// Followers

	/**
	 * Waits among the followers.
	 * @return the leadership that the thread has now, or {@code null} if it was woken
	 * without a vacancy, the deadline has passed, or the pool stops
	 */
	private @Nullable Leadership follow(Member me, long deadlineNanos) {
		me.become(Member.Role.FOLLOWER, this.clock.nanoTime());
		this.parked.incrementAndGet();
		try {
			return await(me, deadlineNanos);
		}
		catch (Throwable ex) {
			// No signal must go to a place where no thread waits.
			this.followers.abandon(me.follower);
			if (me.leading == null) {
				me.become(Member.Role.PROCESSING, this.clock.nanoTime());
				signalIfVacant();
			}
			throw ex;
		}
		finally {
			this.parked.decrementAndGet();
		}
	}

	private @Nullable Leadership await(Member me, long deadlineNanos) {
		this.followers.enqueue(me.follower);
		me.countedOn = false;
		// Again, now that every thread that leaves a vacancy can see this one.
		Leadership leadership = takeVacancy(me, HandOffKind.RECLAIMED);
		if (leadership != null) {
			if (!this.followers.leave(me.follower)) {
				signalIfVacant();
			}
			return leadership;
		}
		this.bound.lookAgain();
		// A thread that cannot end anyway need not check often.
		long patience = this.threads.isAboveMinimum() ? this.keepAliveNanos
				: Math.max(this.keepAliveNanos, MIN_PATIENCE_NANOS);
		long expiryNanos = this.clock.nanoTime() + patience;
		boolean surplusEnds = me.isOwned() && expiryNanos - deadlineNanos < 0;
		long untilNanos = surplusEnds ? expiryNanos : deadlineNanos;
		boolean signalled;
		if (this.leases.appointWatcher(me)) {
			try {
				signalled = this.leases.watch(me, untilNanos);
			}
			finally {
				this.leases.resignWatcher(me);
			}
			if (me.leading != null) {
				// Other leases have lost their watcher. If this thread was signalled
				// meanwhile, there is a vacancy.
				this.followers.leave(me.follower);
				signalIfVacant();
				return me.leading;
			}
		}
		else {
			signalled = this.followers.await(me.follower, untilNanos,
					() -> this.stopping || (me.isOwned() && this.threads.isSurplus()));
		}
		if (signalled || !this.followers.leave(me.follower)) {
			return arrive(me);
		}
		retire(me, surplusEnds && expiryNanos - this.clock.nanoTime() <= 0);
		return null;
	}

	/**
	 * Looks for a leadership, after the thread was woken or started to lead. The
	 * under-way mark was cleared before.
	 * @param me the calling thread
	 * @return the leadership that the thread has now, or {@code null}
	 */
	public @Nullable Leadership arrive(Member me) {
		Leadership leadership = takeVacancy(me, HandOffKind.EAGER);
		me.countedOn = leadership == null;
		if (leadership == null && !this.vacancies.isAnyReady()) {
			this.wastedWakeUps.increment();
		}
		else if (leadership != null) {
			// This thread has found one vacancy; the next one needs another thread.
			signalIfVacant();
		}
		return leadership;
	}

	/**
	 * Lets another thread watch or lead, because the caller, which was woken or started
	 * and does not lead, is about to process an event.
	 */
	void passOn(Member me) {
		me.countedOn = false;
		if (this.vacancies.isAnythingWanted() && !this.vacancies.signalFollower()) {
			this.leases.starve();
		}
	}

	/**
	 * Clears the under-way mark in a thread that was started as the one under way. Called
	 * before anything else. The thread then {@linkplain #arrive arrives}, or
	 * {@linkplain #startedInVain reports} that it cannot.
	 */
	public void started() {
		this.followers.arrive();
	}

	/**
	 * Reports that a thread that was started as the one under way cannot participate. The
	 * vacancy still exists, and another thread may have begun to wait.
	 */
	public void startedInVain() {
		if (!this.followers.isEmpty() || this.bound.isAny()) {
			signalIfVacant();
		}
	}

	// Leaving threads and changed settings

	/**
	 * Counts the calling thread out if it is not needed: if it is surplus, or above the
	 * minimum and has waited for the keep-alive time. The caller neither leads nor waits.
	 * The threads that have waited longest end first.
	 * <p>
	 * A surplus thread stays while a leadership is vacant: all others are busy, and the
	 * first of them that becomes idle ends instead.
	 */
	private void retire(Member me, boolean expired) {
		boolean ends = this.threads.isSurplus() ? !this.vacancies.isAnythingWanted() : expired;
		if (ends && me.isOwned() && !this.stopping && this.threads.countOut(expired)) {
			me.retire();
		}
	}

	/**
	 * Ends the participation of the calling thread: gives up its leadership. The caller
	 * then counts it out and {@linkplain #signalIfVacant() signals}.
	 * @param me the calling thread
	 */
	public void leave(Member me) {
		giveUp(me, this.clock.nanoTime());
	}

	/**
	 * Applies changed settings. A thread that has decided by the old ones has published
	 * its decision before, or sees the new ones.
	 */
	public void settingsChanged() {
		this.leases.settingsChanged();
		this.threads.startMinimum();
		if (this.threads.isSurplus()) {
			for (Member member : this.members.living()) {
				if (member.isOwned()) {
					LockSupport.unpark(member.thread());
				}
			}
		}
		this.leases.unparkWatcher();
		if (!this.stopping) {
			startIfWanted();
		}
	}

	/**
	 * Starts a thread if one is needed, after the caller has published that one may be
	 * started that perhaps could not be before. Any thread.
	 */
	public void startIfWanted() {
		signalIfVacant();
		this.bound.lookAgain();
	}

	/** Ends leading, following and starting. The caller wakes the waiting threads. */
	public void stop() {
		this.stopping = true;
	}

	/**
	 * Whether the pool stops. Any thread.
	 * @return whether {@link #stop()} was called
	 */
	public boolean isStopping() {
		return this.stopping;
	}

	/**
	 * The threads that wait in the middle of a handler.
	 * @return the bound threads of the pool
	 */
	public BoundThreads bound() {
		return this.bound;
	}

	/**
	 * Acts in place of missing leaders. Any thread.
	 * @return the only instance of the pool
	 */
	public StandIn standIn() {
		return this.standIn;
	}

	/**
	 * If another handle set has no leader, makes the caller take turns with it.
	 * @param me the calling thread, which may have no leadership afterwards
	 * @param handles whether it handles the ready handles of its own set first
	 */
	public void takeTurns(Member me, boolean handles) {
		Leadership own = (this.leaderships.length > 1) ? me.leading : null;
		if (own != null && !(handles && own.readyHandles() > 0)) {
			giveWay(me);
		}
	}

	/** The number of members that wait. */
	AtomicInteger parked() {
		return this.parked;
	}

	Leases leases() {
		return this.leases;
	}

	Vacancies vacancies() {
		return this.vacancies;
	}

	/**
	 * How long a leader may wait for events of its handle set. Called after the leader
	 * has announced its wait: a thread that leaves a vacancy does so before it looks for
	 * long waits.
	 * @param leadership the leadership of the caller
	 * @return nanoseconds
	 */
	public long maxWaitNanos(Leadership leadership) {
		boolean looks = (this.leaderships.length > 1 && this.vacancies.isAnythingWanted())
				|| this.bound.looksAgain(leadership);
		return looks ? ROTATION_NANOS : FOREVER_NANOS;
	}

	/**
	 * Wakes or starts a thread if one is needed, to lead or to watch a lease. Called by a
	 * thread that found one of several vacancies, and by one that ends: the thread that
	 * left the vacancy may have relied on it, or found the pool at its maximum.
	 */
	public void signalIfVacant() {
		if (this.vacancies.isAnythingWanted()) {
			this.vacancies.signalFollower();
		}
	}

	// Monitoring

	/** How many threads wait neither for events nor as followers. Any thread. */
	int running() {
		int running = this.members.count() - this.parked.get();
		for (Leadership leadership : this.leaderships) {
			running -= leadership.isWaitedOn() ? 1 : 0;
		}
		return running;
	}

	/**
	 * How many followers were woken. Any thread.
	 * @return a number
	 */
	public long wakeUps() {
		return this.vacancies.wakeUps();
	}

	/**
	 * How many of the woken followers found that another thread led already. Any thread.
	 * @return a number
	 */
	public long wastedWakeUps() {
		return this.wastedWakeUps.sum();
	}

}
