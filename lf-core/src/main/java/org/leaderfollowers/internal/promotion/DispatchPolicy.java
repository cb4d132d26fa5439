package org.leaderfollowers.internal.promotion;

/**
 * Decides when a leader promotes another one: before a handler runs, or not (the paper,
 * activity 5).
 * <ul>
 * <li><em>Eager</em>: before every dispatch, as in the paper.</li>
 * <li><em>Adaptive</em>: before a handler that is known to block. Otherwise the leader
 * leases the leadership to the handler, which costs no wake-up. If more handles are ready
 * than the running threads can serve soon, the leader wakes a thread to share them
 * ({@link Relief}).</li>
 * </ul>
 */
public final class DispatchPolicy {

	private final PromotionProtocol promotion;

	private final Leases leases;

	private final Relief relief;

	private final ThreadSupply threads;

	private final Clock clock;

	/**
	 * Creates the policy of a pool.
	 * @param promotion promotes, leases and regains leaderships
	 * @param threads provides the settings
	 * @param parallelism the maximum number of threads that share the ready handles
	 * @param clock the clock of the pool
	 */
	public DispatchPolicy(PromotionProtocol promotion, ThreadSupply threads, int parallelism, Clock clock) {
		this.promotion = promotion;
		this.leases = promotion.leases();
		this.relief = new Relief(promotion, parallelism, clock.nanoTime());
		this.threads = threads;
		this.clock = clock;
	}

	/** Wakes no further thread to share until the given time. Any thread. */
	void pauseSharing(long untilNanos) {
		this.relief.pause(untilNanos);
	}

	/**
	 * Whether the calling thread should leave the ready handles to other threads, and
	 * wait. The leaders of the sets take them, or the threads that take over from these
	 * leaders.
	 * @param me the calling thread
	 * @return {@code true} if the thread does not lead and enough others run
	 */
	public boolean isSuperfluous(Member me) {
		return me.leading == null && this.relief.isTooMany();
	}

	/**
	 * Called before code of the application runs. If the caller leads, it promotes
	 * another leader or leases the leadership. If the running threads cannot serve the
	 * ready handles soon, a thread is woken to share them.
	 * @param me the calling thread
	 * @param profile the learned duration of the code
	 * @param source the leadership of the handle set that the handle belongs to
	 * @param more how many further events this handle is likely to have for other threads
	 */
	public void beforeDispatch(Member me, HandlerProfile profile, Leadership source, int more) {
		long now = this.clock.nanoTime();
		if (me.leading == null) {
			source.sharing().shared();
		}
		boolean woken = letOthersLead(me, profile, now);
		if (me.shares) {
			woken |= this.relief.relieve(source, source.readyHandles() + more, profile.meanNanos(), now);
		}
		begin(me, woken, now);
	}

	/**
	 * Called before code of the application that only prepares a dispatch, such as its
	 * framing. Like {@link #beforeDispatch}, but wakes no thread to share, because the
	 * work is not known yet. {@link #afterDispatch} follows.
	 * @param me the calling thread
	 * @param profile the learned duration of the code
	 */
	public void beforePreparation(Member me, HandlerProfile profile) {
		long now = this.clock.nanoTime();
		begin(me, letOthersLead(me, profile, now), now);
	}

	/**
	 * If the caller leads, promotes another leader or leases the leadership. Returns
	 * whether a thread was woken.
	 */
	private boolean letOthersLead(Member me, HandlerProfile profile, long nowNanos) {
		PoolSettings settings = this.threads.settings();
		boolean blocks = settings.eager() || profile.blocks();
		me.shares = !blocks;
		Leadership leadership = me.leading;
		if (leadership == null) {
			me.become(Member.Role.PROCESSING, nowNanos);
			if (me.countedOn) {
				this.promotion.passOn(me);
			}
		}
		if (blocks) {
			this.relief.beginToBlock(me);
			return leadership != null && this.promotion.promote(me, nowNanos);
		}
		if (leadership != null) {
			leadership.worthAProcessor(profile.isWorthAProcessor());
			this.leases.lease(me, leadership, nowNanos, settings);
		}
		return leadership != null && me.leading == null;
	}

	/**
	 * Waking another thread takes longer than many handlers, and does not count as time
	 * of the handler.
	 */
	private void begin(Member me, boolean woken, long nowNanos) {
		me.beginDispatch(woken ? this.clock.nanoTime() : nowNanos);
	}

	/**
	 * Called after code of the application has run: learns how long it took, and
	 * determines whether the caller still leads.
	 * @param me the calling thread
	 * @param profile the profile to update
	 */
	public void afterDispatch(Member me, HandlerProfile profile) {
		if (me.isBlocking()) {
			this.relief.endToBlock(me);
		}
		if (!me.leased && this.threads.settings().eager()) {
			// There was no lease, and an eager policy needs no profile.
			return;
		}
		long handled = me.handledNanos();
		long now = (handled != 0) ? handled : this.clock.nanoTime();
		if (profile != HandlerProfile.BLOCKING) {
			profile.record(now - me.dispatchNanos());
		}
		if (me.leased) {
			this.leases.regain(me, now);
		}
	}

	/**
	 * The state of a dispatch that is interrupted by another one on top of it.
	 *
	 * @param dispatchNanos when it began
	 * @param blocks whether its handler is known to block
	 * @param shares whether the thread may take further handles when it has finished
	 */
	public record Suspended(long dispatchNanos, boolean blocks, boolean shares) {
	}

	/**
	 * Saves the state of a dispatch whose handler waits, because another one begins on
	 * top of it.
	 * @param me the calling thread
	 * @return the state for {@link #resume}
	 */
	public Suspended suspend(Member me) {
		Suspended outer = new Suspended(me.dispatchNanos(), me.isBlocking(), me.shares);
		if (outer.blocks()) {
			this.relief.endToBlock(me);
		}
		return outer;
	}

	/**
	 * Restores the state when the dispatch on top has ended.
	 * @param me the calling thread
	 * @param outer the saved state
	 */
	public void resume(Member me, Suspended outer) {
		if (outer.blocks()) {
			this.relief.beginToBlock(me);
		}
		me.beginDispatch(outer.dispatchNanos());
		me.shares = outer.shares();
	}

}
