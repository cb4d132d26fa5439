package org.leaderfollowers.internal.promotion;

/**
 * When a leader promotes another one: before a handler runs, or not (the paper, activity
 * 5; DESIGN 4.4).
 * <ul>
 * <li><em>Eager</em>: before every dispatch, as in the paper.</li>
 * <li><em>Adaptive</em>: before a handler that is known to block. Otherwise the leader
 * leases the leadership to the handler, which costs no wake-up; and if more handles are
 * ready than the threads that run can serve soon, it wakes one to share them
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
	 * @param promotion promotes, leases and regains
	 * @param threads has the settings
	 * @param parallelism how many threads share the handles that are ready, at the most
	 * @param clock the clock of the pool
	 */
	public DispatchPolicy(PromotionProtocol promotion, ThreadSupply threads, int parallelism, Clock clock) {
		this.promotion = promotion;
		this.leases = promotion.leases();
		this.relief = new Relief(promotion, parallelism, clock.nanoTime());
		this.threads = threads;
		this.clock = clock;
	}

	/** Has no further thread woken to share until then. Any thread. */
	void pauseSharing(long untilNanos) {
		this.relief.pause(untilNanos);
	}

	/**
	 * Whether the calling thread is to leave the handles that are ready to others, and to
	 * wait. Those who lead their sets take them, or whoever takes over from these.
	 * @param me the calling thread
	 * @return {@code true} if it does not lead, and enough others run
	 */
	public boolean isSuperfluous(Member me) {
		return me.leading == null && this.relief.isTooMany();
	}

	/**
	 * Code of the application is about to run: promotes another leader, or leases the
	 * leadership, if the caller has it; and wakes a thread to share the handles that are
	 * ready, if they are too many for those that run.
	 * @param me the calling thread
	 * @param profile how long the code takes, as far as it is known
	 * @param source the leadership of the handle set that the handle is of
	 * @param more how much more the handle itself is likely to have for other threads
	 */
	public void beforeDispatch(Member me, HandlerProfile profile, Leadership source, int more) {
		long now = this.clock.nanoTime();
		PoolSettings settings = this.threads.settings();
		boolean blocks = settings.eager() || profile.blocks();
		me.shares = !blocks;
		Leadership leadership = me.leading;
		if (leadership == null) {
			source.sharing().shared();
			me.become(Member.Role.PROCESSING, now);
			if (me.countedOn) {
				this.promotion.passOn(me);
			}
		}
		boolean woken = false;
		if (blocks) {
			this.relief.beginToBlock(me);
			woken = leadership != null && this.promotion.promote(me, now);
		}
		else {
			if (leadership != null) {
				leadership.worthAProcessor(profile.isWorthAProcessor());
				this.leases.lease(me, leadership, now, settings);
				woken = me.leading == null;
			}
			woken |= this.relief.relieve(source, source.readyHandles() + more, profile.meanNanos(), now);
		}
		// Waking another thread takes longer than many a handler, and is not the
		// handler's time.
		me.beginDispatch(woken ? this.clock.nanoTime() : now);
	}

	/**
	 * Code of the application has run: learns how long it took, and finds out whether the
	 * caller still leads.
	 * @param me the calling thread
	 * @param profile learns
	 */
	public void afterDispatch(Member me, HandlerProfile profile) {
		if (me.isBlocking()) {
			this.relief.endToBlock(me);
		}
		if (!me.leased && this.threads.settings().eager()) {
			// Nothing is to be learned, and nothing was leased.
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
	 * A dispatch that is interrupted by another one on top of it.
	 *
	 * @param dispatchNanos when it began
	 * @param blocks whether its handler is known to block
	 * @param shares whether the thread shares handles when it is done
	 */
	public record Suspended(long dispatchNanos, boolean blocks, boolean shares) {
	}

	/**
	 * Another dispatch begins on top of one whose handler waits.
	 * @param me the calling thread
	 * @return what to {@link #resume}
	 */
	public Suspended suspend(Member me) {
		Suspended outer = new Suspended(me.dispatchNanos(), me.isBlocking(), me.shares);
		if (outer.blocks()) {
			this.relief.endToBlock(me);
		}
		return outer;
	}

	/**
	 * The dispatch on top has ended.
	 * @param me the calling thread
	 * @param outer goes on
	 */
	public void resume(Member me, Suspended outer) {
		if (outer.blocks()) {
			this.relief.beginToBlock(me);
		}
		me.beginDispatch(outer.dispatchNanos());
		me.shares = outer.shares();
	}

}
