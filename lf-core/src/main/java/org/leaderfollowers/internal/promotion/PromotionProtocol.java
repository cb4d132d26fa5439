package org.leaderfollowers.internal.promotion;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.LongAdder;
import java.util.concurrent.locks.LockSupport;

import org.jspecify.annotations.Nullable;

/**
 * The promotion protocol of a pool: how leaderships are taken, given up, leased, regained
 * and taken over, and how followers wait and are woken for them. It knows nothing of
 * sockets, so that its interleavings can be explored by themselves.
 * <p>
 * The words that it moves have transition tables of their own: {@link Leadership} (who
 * leads), {@link Followers} and {@link Follower} (who waits, who is under way),
 * {@link LeaseWatch} (who watches leases), {@link ThreadSupply} (how many threads there
 * are), {@link Starvation} (since when nobody is left). The rules between the words:
 * <ol>
 * <li>a leadership is published as vacant <em>before</em> a follower is woken
 * ({@link #promote});</li>
 * <li>a follower publishes itself as waiting <em>before</em> it looks for a vacancy once
 * more ({@link #follow}): it sees the vacancy, or the thread that left it sees the
 * follower;</li>
 * <li>at most one woken follower is under way; it clears that mark <em>before</em> it
 * tries to take a vacancy, and signals for the next vacancy after it took one
 * ({@link #arrive});</li>
 * <li>a lease is published <em>before</em> its leader looks whether it is watched
 * ({@link Leases#lease}); a watcher that leaves or sleeps writes its word <em>before</em>
 * it looks at the leases again ({@link Leases#watch});</li>
 * <li>a thread that was woken and shares the ready handles instead of leading looks for
 * vacancies and for unwatched leases <em>before</em> it runs a handler ({@link #passOn});
 * whoever counted on it to lead or to watch gets another thread;</li>
 * <li>a thread that ends or changes the settings writes that <em>before</em> it looks for
 * vacancies ({@link #signalIfVacant}).</li>
 * </ol>
 * So whenever a thread is idle, each handle set has a leader, or one on its way to it.
 */
public final class PromotionProtocol {

	/**
	 * How long a leader waits on one handle set while another has no leader and no thread
	 * is left to become it.
	 */
	public static final long ROTATION_NANOS = TimeUnit.MILLISECONDS.toNanos(1);

	/** The longest wait: sums with {@link System#nanoTime()} cannot overflow. */
	public static final long FOREVER_NANOS = Long.MAX_VALUE / 4;

	/** How often a thread that is not surplus looks whether it has become so. */
	private static final long MIN_PATIENCE_NANOS = TimeUnit.SECONDS.toNanos(1);

	/** How often a thread looks before it waits, at the most; see {@link #spin}. */
	private static final int SPINS = (Runtime.getRuntime().availableProcessors() > 1) ? 1000 : 0;

	/** After so many looks it leaves its processor to others that want it. */
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

	/** Members that wait among the followers, or are about to. */
	private final AtomicInteger parked = new AtomicInteger();

	private final LongAdder wastedWakeUps = new LongAdder();

	private final BoundThreads bound;

	private final StandIn standIn;

	private volatile boolean stopping;

	/**
	 * Told of hand-offs.
	 */
	@FunctionalInterface
	public interface Listener {

		/**
		 * A leadership has changed hands. Called by the new leader, who has recorded it.
		 * Must not throw; it may give the leadership up.
		 * @param kind how the new leader came to lead
		 * @param vacancyNanos how long there was no leader, in nanoseconds
		 */
		void handedOff(HandOffKind kind, long vacancyNanos);

	}

	/**
	 * Creates the protocol of a pool.
	 * @param leaderships one for each handle set, by index
	 * @param followers decide which follower is promoted
	 * @param members the threads that take part
	 * @param threads starts further ones
	 * @param starvation notes when none is left
	 * @param listener is told of hand-offs
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
		this.bound = new BoundThreads(this, followers, threads, clock);
		this.vacancies = new Vacancies(this.leaderships, followers, this.bound, this.leases, threads, starvation,
				clock);
		this.standIn = new StandIn(this, clock);
	}

	// A thread looks for a leadership

	/**
	 * Keeps what the calling thread leads, or takes a vacancy. To be called before it
	 * takes a handle that is ready: any thread can take the handle later, but perhaps no
	 * other one is left to lead. A surplus thread that finds no vacancy
	 * {@linkplain Member#isRetired() retires}.
	 * @param me the calling thread
	 * @return what it leads, or {@code null}
	 */
	public @Nullable Leadership attend(Member me) {
		takeTurns(me);
		if (me.leading == null && takeVacancy(me, HandOffKind.RECLAIMED) == null && this.threads.isSurplus()) {
			retire(me, false);
		}
		return me.leading;
	}

	/**
	 * Finds the calling thread something to lead, or waits among the followers. To be
	 * called if it has {@linkplain #attend attended} and no handle was ready.
	 * @param me the calling thread
	 * @param deadlineNanos when to give up
	 * @param superfluous whether it waits although a handle may be ready
	 * @return {@code null} if a handle is ready, if it was woken for one or for nothing,
	 * if time is up, if the pool stops, or if the thread was {@linkplain Member#isRetired
	 * retired}
	 */
	public @Nullable Leadership lead(Member me, long deadlineNanos, boolean superfluous) {
		Leadership leadership = (me.leading == null && me.shares && !superfluous) ? spin(me) : me.leading;
		boolean waits = leadership == null && (superfluous || !this.vacancies.isAnyReady());
		return waits ? follow(me, deadlineNanos) : leadership;
	}

	/**
	 * If no other thread can lead another handle set, the calling leader takes it in turn
	 * with its own.
	 */
	private void giveWay(Member me) {
		this.leases.endUnwatched(me);
		if (this.vacancies.isAny() && !this.vacancies.signalFollower()) {
			giveUp(me, this.clock.nanoTime());
		}
	}

	/** Takes the leadership of any handle set that has no leader. */
	@Nullable Leadership takeVacancy(Member me, HandOffKind kind) {
		int count = this.leaderships.length;
		for (int i = 1; i <= count; i++) {
			// Not always from the first: if every thread is busy, a thread that is done
			// takes the next set in turn, or the last ones would starve.
			Leadership leadership = this.leaderships[(me.latestIndex + i) % count];
			if (me.mayLead(leadership) && leadership.take(me.number)) {
				long now = this.clock.nanoTime();
				beginToLead(me, leadership, now);
				handedOff(me, leadership, kind, leadership.vacancyNanos(now), now);
				return me.leading;
			}
		}
		return null;
	}

	/**
	 * Looks for a moment whether a handle becomes ready, or a leadership can be had. Not
	 * for longer than being woken costs both sides: so it wastes no more than the best
	 * decision would cost, whatever comes. It takes a lease that has not run out, too,
	 * unless the handler is about to return: there is nothing to do but to wait for
	 * events, and the leader is busy.
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
		me.latestIndex = leadership.index();
		me.become(Member.Role.LEADER, nowNanos);
	}

	/**
	 * Records that the leadership has changed hands, and tells it. The listeners come
	 * last: one that gives the leadership up, for instance since it resizes the pool,
	 * leaves the caller without it.
	 * @param vacancyNanos how long there was no leader; negative if there has never been
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
	 * Gives up the leadership, if the caller has one: vacant first, then wakes a thread
	 * that may take it.
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
		if (!giveUp(me, nowNanos)) {
			return false;
		}
		this.vacancies.signalFollower();
		return true;
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
			// It was taken over meanwhile.
			return false;
		}
		leadership.leftBy(me, me.work());
		return leadership.giveUp(me.number, nowNanos);
	}

	/**
	 * Takes a leadership over from a leader whose handler runs on a lease, and writes
	 * what that leader has kept back: it must not wait until the handler returns.
	 * @param lease the word of the lease
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
		// Before: as long as the lease lasts, the leader works on this and nothing else,
		// or on nothing any more.
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
	 * @return the leadership that the thread has now, or {@code null} if it was woken for
	 * nothing, if time is up, or if the pool stops
	 */
	private @Nullable Leadership follow(Member me, long deadlineNanos) {
		me.become(Member.Role.FOLLOWER, this.clock.nanoTime());
		this.parked.incrementAndGet();
		try {
			return await(me, deadlineNanos);
		}
		catch (Throwable ex) {
			// A thread that pops a place in which nobody waits any more would wake
			// nobody.
			this.followers.abandon(me.follower);
			throw ex;
		}
		finally {
			this.parked.decrementAndGet();
		}
	}

	private @Nullable Leadership await(Member me, long deadlineNanos) {
		this.followers.enqueue(me.follower);
		me.countedOn = false;
		// Once more, now that every thread that leaves a vacancy can see this one
		// waiting.
		Leadership leadership = takeVacancy(me, HandOffKind.RECLAIMED);
		if (leadership != null) {
			if (!this.followers.leave(me.follower)) {
				signalIfVacant();
			}
			return leadership;
		}
		// A thread that would not end anyhow need not look often.
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
				// Other leases have lost their watcher; and if it was signalled
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
	 * A thread that was woken or started to lead looks for a leadership. The mark of the
	 * one under way was cleared before.
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
			// The one under way found one vacancy; the next one needs another thread.
			signalIfVacant();
		}
		return leadership;
	}

	/**
	 * The caller, which was woken or started and does not lead, is about to process an
	 * event: what it has watched, or was woken for, needs another thread.
	 */
	void passOn(Member me) {
		me.countedOn = false;
		if (this.vacancies.isAnythingWanted() && !this.vacancies.signalFollower()) {
			this.leases.starve();
		}
	}

	/**
	 * Clears the mark of the one under way, in a thread that was started as such. To be
	 * called before anything else, by a thread that then {@linkplain #arrive arrives} or
	 * {@linkplain #startedInVain says} that it cannot.
	 */
	public void started() {
		this.followers.arrive();
	}

	/**
	 * A thread that was started as the one under way cannot take part. A thread may have
	 * begun to wait meanwhile, and the vacancy is there still.
	 */
	public void startedInVain() {
		if (!this.followers.isEmpty() || this.bound.isAny()) {
			signalIfVacant();
		}
	}

	// Threads come and go

	/**
	 * Counts the calling thread out, which leads nothing and does not wait, if it is one
	 * too many: it is surplus, or above the minimum and has waited for the keep-alive
	 * time. Those that waited longest come first.
	 * <p>
	 * A surplus thread stays as long as anything is vacant: the others are busy, and the
	 * first of them that is not ends instead.
	 */
	private boolean retire(Member me, boolean expired) {
		boolean surplus = this.threads.isSurplus();
		if (!me.isOwned() || this.stopping || !(surplus || expired) || (surplus && this.vacancies.isAnythingWanted())) {
			return false;
		}
		if (this.threads.countOut(expired)) {
			me.retire();
		}
		return me.isRetired();
	}

	/**
	 * The calling thread takes part no more: gives up what it leads. The caller then
	 * counts it out and {@linkplain #signalIfVacant() signals}.
	 * @param me the calling thread
	 */
	public void leave(Member me) {
		giveUp(me, this.clock.nanoTime());
	}

	/**
	 * Has the threads go by changed settings: a thread that decided something by the old
	 * ones has published it before it did, or sees the new ones.
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
			signalIfVacant();
		}
	}

	/** No thread is to lead, follow or be started any more. The caller wakes the rest. */
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
	 * @return for threads of the pool
	 */
	public BoundThreads bound() {
		return this.bound;
	}

	/**
	 * What is done in place of leaders. Any thread.
	 * @return one for all
	 */
	public StandIn standIn() {
		return this.standIn;
	}

	/**
	 * A bound thread that leads takes handle sets without a leader in turn with its own.
	 * @param me the calling thread; it may lead nothing afterwards
	 */
	public void takeTurns(Member me) {
		if (me.leading != null && this.leaderships.length > 1 && me.leading.readyHandles() == 0) {
			giveWay(me);
		}
	}

	/**
	 * Whether a bound thread that leads can leave handlers to another one. Any thread.
	 * @return whether there is a follower, or a thread may be started
	 */
	public boolean isAnybodyElse() {
		return !this.followers.isEmpty() || this.followers.isUnderWay() || this.threads.isBelowMaximum();
	}

	/** Members that wait, and do not run. */
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
	 * How long a leader may wait for events of its handle set. To be asked after it has
	 * announced that it waits: a thread that leaves a vacancy does that first, and then
	 * looks for leaders that wait for long.
	 * @return nanoseconds
	 */
	public long maxWaitNanos() {
		return (this.leaderships.length > 1 && this.vacancies.isAnythingWanted()) ? ROTATION_NANOS : FOREVER_NANOS;
	}

	/**
	 * Wakes or starts a thread if one is wanted: to lead, or to watch the lease of one
	 * that leads. To be called by a thread that found one of several vacancies, and by
	 * one that ends: the thread that left a vacancy may have counted on it, or on its
	 * place below the limit being taken.
	 */
	public void signalIfVacant() {
		if (this.vacancies.isAnythingWanted()) {
			this.vacancies.signalFollower();
		}
	}

	// A look from outside

	/** How many threads neither wait for events nor among the followers. Any thread. */
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
	 * How many of them found another leader in place already. Any thread.
	 * @return a number
	 */
	public long wastedWakeUps() {
		return this.wastedWakeUps.sum();
	}

}
