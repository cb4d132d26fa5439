package org.leaderfollowers.internal.promotion;

/**
 * When a leader promotes another one: before a handler runs, or not (the paper, activity
 * 5; DESIGN 4.4).
 * <ul>
 * <li><em>Eager</em>: before every dispatch, as in the paper.</li>
 * <li><em>Adaptive</em>: before a handler that is known to block; and before a handler
 * that is worth a processor of its own, if more handles are ready and a processor is
 * idle. Otherwise the leader leases the leadership to the handler, which costs no
 * wake-up.</li>
 * </ul>
 */
public final class DispatchPolicy {

	private static final int PROCESSORS = Runtime.getRuntime().availableProcessors();

	private final PromotionProtocol promotion;

	private final Leases leases;

	private final ThreadSupply threads;

	private final Clock clock;

	/**
	 * Creates the policy of a pool.
	 * @param promotion promotes, leases and regains
	 * @param threads has the settings
	 * @param clock the clock of the pool
	 */
	public DispatchPolicy(PromotionProtocol promotion, ThreadSupply threads, Clock clock) {
		this.promotion = promotion;
		this.leases = promotion.leases();
		this.threads = threads;
		this.clock = clock;
	}

	/**
	 * Code of the application is about to run: promotes another leader, or leases the
	 * leadership. Does neither if the caller has lost the leadership already.
	 * @param me the calling thread
	 * @param profile how long the code takes, as far as it is known
	 * @param more whether other threads have something to do meanwhile
	 */
	public void beforeDispatch(Member me, HandlerProfile profile, boolean more) {
		long now = this.clock.nanoTime();
		me.beginDispatch(now);
		Leadership leadership = me.leading;
		if (leadership == null) {
			return;
		}
		PoolSettings settings = this.threads.settings();
		boolean blocks = settings.eager() || profile.blocks();
		boolean worthAProcessor = !blocks && profile.isWorthAProcessor();
		leadership.worthAProcessor(worthAProcessor);
		if (blocks || (worthAProcessor && more && this.promotion.running() < PROCESSORS)) {
			this.promotion.promote(me, now);
		}
		else {
			this.leases.lease(me, leadership, now, settings);
		}
		if (me.leading == null) {
			// Waking another thread takes longer than many a handler, and is not the
			// handler's time.
			me.beginDispatch(this.clock.nanoTime());
		}
	}

	/**
	 * Code of the application has run: learns how long it took, and finds out whether the
	 * caller still leads.
	 * @param me the calling thread
	 * @param profile learns
	 */
	public void afterDispatch(Member me, HandlerProfile profile) {
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

}
