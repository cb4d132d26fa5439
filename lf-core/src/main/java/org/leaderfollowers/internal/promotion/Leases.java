package org.leaderfollowers.internal.promotion;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/**
 * The leases of a pool: a leader leases its leadership to a handler and regains it; a
 * follower watches the leases and takes over when one expires.
 * <p>
 * {@link LeaseWatch} says which thread watches. While a thread waits, every lease is
 * watched. If every thread is busy, the handle set counts as {@linkplain Starvation
 * starved} from the end of the lease on, and the next thread that becomes idle watches
 * it.
 */
final class Leases {

	/** How often a surplus thread that watches checks whether it is still needed. */
	private static final long SURPLUS_WATCH_NANOS = TimeUnit.MILLISECONDS.toNanos(1);

	private final PromotionProtocol promotion;

	private final Leadership[] leaderships;

	private final Followers followers;

	private final LeaseWatch watch = new LeaseWatch();

	private final Members<?> members;

	private final ThreadSupply threads;

	private final Starvation starvation;

	private final Clock clock;

	Leases(PromotionProtocol promotion, Leadership[] leaderships, Followers followers, Members<?> members,
			ThreadSupply threads, Starvation starvation, Clock clock) {
		this.promotion = promotion;
		this.leaderships = leaderships;
		this.followers = followers;
		this.members = members;
		this.threads = threads;
		this.starvation = starvation;
		this.clock = clock;
	}

	// Called by the leader

	/**
	 * Keeps the leadership while a handler runs, under a lease. If there is a follower
	 * but no watcher, gives the leadership up instead.
	 */
	void lease(Member me, Leadership leadership, long nowNanos, PoolSettings settings) {
		boolean busy = nowNanos - leadership.dispatchedNanos < settings.quietNanos();
		leadership.dispatchedNanos = nowNanos;
		me.leased = true;
		leadership.lease(me.number, nowNanos);
		LeaseWatch.Cover cover = this.watch.cover();
		while (cover == LeaseWatch.Cover.ASLEEP) {
			if (!busy) {
				// Waking any thread costs the same. The woken thread may as well lead,
				// and the watcher can sleep until there are more leases.
				this.promotion.promote(me, nowNanos);
				return;
			}
			Member watcher = this.members.get(this.watch.rouse());
			if (watcher != null) {
				LockSupport.unpark(watcher.thread());
				return;
			}
			cover = this.watch.cover();
		}
		if (cover == LeaseWatch.Cover.COVERED) {
			return;
		}
		// No thread watches. This check comes after the lease was published: a thread
		// that raises the maximum does so first, and then looks for leases.
		if (!this.followers.isEmpty() || this.threads.mayStart() || this.promotion.bound().isAny()) {
			this.promotion.promote(me, nowNanos);
		}
		else {
			leaseUnwatched(me, leadership, nowNanos);
		}
	}

	/**
	 * Leases the leadership without a watcher. The next thread that becomes idle watches
	 * it.
	 */
	private void leaseUnwatched(Member me, Leadership leadership, long nowNanos) {
		this.starvation.begin(leadership, this.threads.settings().leaseEndNanos(nowNanos));
		if (!leadership.isLeasedBy(me.number)) {
			this.starvation.cancel(leadership);
		}
		this.promotion.vacancies().rotateLeaders();
	}

	/**
	 * Called when the handler has returned: the caller leads again, unless another thread
	 * took over.
	 */
	void regain(Member me, long nowNanos) {
		Leadership leadership = me.leading;
		me.leased = false;
		if (leadership != null && leadership.regain(me.number)) {
			this.starvation.end(leadership, nowNanos);
		}
		else {
			me.leading = null;
			me.become(Member.Role.PROCESSING, nowNanos);
		}
	}

	// Called by the watcher

	/**
	 * Makes the caller the watcher if one is needed and there is none. The caller is a
	 * follower that is published as waiting. With an eager policy, leases exist only of
	 * handlers that began before the policy was changed.
	 */
	boolean appointWatcher(Member me) {
		return (!this.threads.settings().eager() || isAny()) && this.watch.appoint(me.number);
	}

	/** Ends the watch of the caller. It looks for unwatched leases afterwards. */
	void resignWatcher(Member me) {
		this.watch.resign();
		// Also if its deadline has passed, because it may take a ready handle next.
		me.countedOn = true;
	}

	void unparkWatcher() {
		Member watcher = this.members.get(this.watch.watcher());
		if (watcher != null) {
			LockSupport.unpark(watcher.thread());
		}
	}

	/**
	 * Waits as a follower, and takes over from a leader whose handler has not returned
	 * when its lease expires.
	 * @return whether the thread was signalled; {@code false} if it took over
	 */
	boolean watch(Member me, long untilNanos) {
		boolean signalled = false;
		long now = this.clock.nanoTime();
		while (!signalled && !this.promotion.isStopping() && untilNanos - now > 0) {
			// A thread that changes the settings unparks the watcher afterwards.
			PoolSettings settings = this.threads.settings();
			boolean quiet = true;
			boolean leased = false;
			// A lease that begins from now on does not expire before this time.
			long next = now + settings.leaseNanos();
			for (Leadership leadership : this.leaderships) {
				long lease = leadership.leaseWord();
				long began = leadership.leasedNanos();
				leased |= lease != Leadership.NOT_LEASED;
				quiet &= lease == Leadership.NOT_LEASED && now - began > settings.quietNanos();
				long end = settings.leaseEndNanos(began);
				if (lease != Leadership.NOT_LEASED && end - now <= 0) {
					if (this.promotion.takeOver(me, leadership, lease, HandOffKind.TAKEOVER, now - end)) {
						return false;
					}
				}
				else if (lease != Leadership.NOT_LEASED && end - next < 0) {
					next = end;
				}
			}
			if (me.isOwned() && this.threads.isSurplus()) {
				// If there is a lease, this may be the last thread that can lead.
				if (!leased) {
					return false;
				}
				next = Math.min(next - now, SURPLUS_WATCH_NANOS) + now;
			}
			signalled = quiet ? sleep(me, untilNanos, settings)
					: this.followers.await(me.follower, (next - untilNanos < 0) ? next : untilNanos,
							() -> this.promotion.isStopping() || this.threads.settings() != settings);
			now = this.clock.nanoTime();
		}
		return signalled;
	}

	/**
	 * Sleeps until a leader rouses the watcher, because there was no lease for a while.
	 */
	private boolean sleep(Member me, long untilNanos, PoolSettings settings) {
		boolean signalled = false;
		this.watch.fallAsleep(me.number);
		if (!isAny()) {
			signalled = this.followers.await(me.follower, untilNanos,
					() -> this.promotion.isStopping() || this.watch.isAwake() || this.threads.settings() != settings);
		}
		this.watch.rouse();
		return signalled;
	}

	// Used if there is no watcher

	/**
	 * Makes leaderships vacant if their leases have expired and no thread watches them.
	 * While no thread is left to watch, a leader that waits only for moments does this.
	 */
	void endUnwatched(Member me) {
		if (!isAnyUnwatched()) {
			return;
		}
		long now = this.clock.nanoTime();
		for (Leadership leadership : this.leaderships) {
			if (seizeIfRunOut(me, leadership, now)) {
				leadership.giveUp(me.number, now);
			}
		}
	}

	boolean seizeIfRunOut(Member me, Leadership leadership, long nowNanos) {
		long lease = leadership.leaseWord();
		Member former = hasRunOut(leadership, nowNanos) ? this.promotion.seize(me, leadership, lease) : null;
		if (former != null) {
			former.uncork();
		}
		return former != null;
	}

	boolean hasRunOut(Leadership leadership, long nowNanos) {
		return leadership.isLeased() && this.threads.settings().leaseEndNanos(leadership.leasedNanos()) - nowNanos <= 0;
	}

	boolean isAnyUnwatched() {
		return this.watch.isVacant() && isAny();
	}

	private boolean isAny() {
		for (Leadership leadership : this.leaderships) {
			if (leadership.isLeased()) {
				return true;
			}
		}
		return false;
	}

	/** Records that no thread is left to watch the leases. */
	void starve() {
		for (Leadership leadership : this.leaderships) {
			long lease = leadership.leaseWord();
			while (lease != Leadership.NOT_LEASED && this.watch.isVacant()) {
				this.starvation.begin(leadership, this.threads.settings().leaseEndNanos(leadership.leasedNanos()));
				long former = lease;
				lease = leadership.leaseWord();
				if (lease == former) {
					// The thread that ends this lease also ends the period.
					break;
				}
				if (!leadership.isVacant()) {
					this.starvation.cancel(leadership);
				}
			}
		}
	}

	/**
	 * Applies a changed lease: a set whose lease was not watched when it began is starved
	 * from the new end of the lease on.
	 */
	void settingsChanged() {
		for (Leadership leadership : this.leaderships) {
			moveStarvation(leadership);
		}
	}

	private void moveStarvation(Leadership leadership) {
		long now = this.clock.nanoTime();
		long lease = leadership.leaseWord();
		while (lease != Leadership.NOT_LEASED && this.starvation.move(leadership,
				this.threads.settings().leaseEndNanos(leadership.leasedNanos()), now)) {
			long former = lease;
			lease = leadership.leaseWord();
			if (lease == former) {
				return;
			}
			// The period may be that of the next lease. The end of that one is read now.
		}
	}

}
