package org.leaderfollowers.internal.promotion;

/**
 * Limits how many events of the event sources of a pool are handled at the same time, and
 * determines which sources are at rest meanwhile.
 * <p>
 * A source with a backlog always has its next event ready. Without a limit, its handlers
 * would take all threads, and the handle sets would starve. Each source therefore has a
 * place for one thread: its leader or, while the source is at rest, one handler. A
 * handler that runs while its source has a leader takes a further place. The number of
 * further places is the maximum number of threads, minus one for each handle set and one
 * for each source. If no further place is left, or the maximum number of handlers of the
 * source runs, the source is <em>at rest</em>: it needs no leader until one of its
 * handlers returns.
 * <p>
 * The rules:
 * <ol>
 * <li>all counts, and whether a source is at rest, change only under the monitor. Either
 * a thread that returns from a handler therefore sees that its source is at rest, or the
 * leader sees that the handler has returned;</li>
 * <li>code under the monitor does not block and runs no code of the application. A thread
 * that opens a leadership signals for it <em>after</em> it has left the monitor;</li>
 * <li>a thread that ends a rest and has nothing else to do leads the source itself, so
 * that no other thread has to be woken.</li>
 * </ol>
 */
public final class SourcePlaces {

	private final PromotionProtocol promotion;

	private final Leadership[] sources;

	/** The index of the leadership of the first source. */
	private final int first;

	private final ThreadSupply threads;

	private final Clock clock;

	/**
	 * The maximum number of handlers that a source may have at the same time; 0 if it is
	 * closed.
	 */
	private final int[] limits;

	/** The number of handlers that a source has. */
	private final int[] handling;

	/**
	 * Creates the places of a pool. All sources are closed at first.
	 * @param promotion wakes threads for leaderships that become vacant
	 * @param sources the leaderships of the sources, which follow those of the handle
	 * sets and are at rest
	 * @param handleSets how many handle sets there are
	 * @param threads provides the settings
	 * @param clock the clock of the pool
	 */
	public SourcePlaces(PromotionProtocol promotion, Leadership[] sources, int handleSets, ThreadSupply threads,
			Clock clock) {
		this.promotion = promotion;
		this.sources = sources.clone();
		this.first = handleSets;
		this.threads = threads;
		this.clock = clock;
		this.limits = new int[sources.length];
		this.handling = new int[sources.length];
	}

	/**
	 * Opens a source, so that a thread leads it from now on. Any thread.
	 * @param source the leadership of the source
	 * @param limit the maximum number of handlers at the same time
	 */
	public void open(Leadership source, int limit) {
		boolean opened;
		synchronized (this) {
			this.limits[indexOf(source)] = limit;
			opened = openThoseThatMay();
		}
		signalIf(opened);
	}

	/**
	 * Closes a source. Its leader gives up when it notices this. Any thread.
	 * @param source the leadership of the source
	 */
	public synchronized void close(Leadership source) {
		this.limits[indexOf(source)] = 0;
	}

	/**
	 * Ends the leadership of a source that is closed.
	 * @param me the calling thread, which leads the source and has not leased it
	 * @param source the leadership of the source
	 */
	public void restIfClosed(Member me, Leadership source) {
		boolean opened;
		synchronized (this) {
			if (this.limits[indexOf(source)] == 0 && me.leading == source) {
				rest(me, source);
			}
			opened = openThoseThatMay();
		}
		signalIf(opened);
	}

	/**
	 * Called when a thread has received an event and is about to handle it. Puts the
	 * source to rest unless there is a place for another thread.
	 * @param me the calling thread, which leads the source and has not leased it
	 * @param source the leadership of the source
	 */
	public void begin(Member me, Leadership source) {
		boolean rests;
		synchronized (this) {
			int index = indexOf(source);
			this.handling[index]++;
			boolean stays = isBelowLimit(index) && further() <= mostFurther();
			// An event source that calls methods of the pool may have made the caller
			// lose its leadership.
			rests = !stays && me.leading == source;
			if (rests) {
				rest(me, source);
			}
		}
		// A leader that takes turns may have left another leadership vacant. It does not
		// promote a follower now, so it looks for vacancies before it runs the handler.
		signalIf(rests);
	}

	/**
	 * Called when a thread has handled the event. If the source is at rest and may be
	 * led, the caller leads it again.
	 * @param me the calling thread
	 * @param source the leadership of the source
	 */
	public void end(Member me, Leadership source) {
		boolean opened;
		synchronized (this) {
			int index = indexOf(source);
			this.handling[index]--;
			if (me.leading == null && mayBeOpened(index) && source.resume(me.number)) {
				me.leading = source;
				me.latestIndex = source.index();
				me.become(Member.Role.LEADER, this.clock.nanoTime());
			}
			opened = openThoseThatMay();
		}
		signalIf(opened);
	}

	/** Opens sources for which there is a place now. Any thread. */
	public void settingsChanged() {
		boolean opened;
		synchronized (this) {
			opened = openThoseThatMay();
		}
		signalIf(opened);
	}

	private void rest(Member me, Leadership source) {
		me.leading = null;
		me.become(Member.Role.PROCESSING, this.clock.nanoTime());
		source.leftBy(me, me.work());
		source.rest(me.number);
	}

	/** Returns whether any source was opened, so that the caller must signal. */
	private boolean openThoseThatMay() {
		boolean opened = false;
		for (int i = 0; i < this.sources.length; i++) {
			opened |= mayBeOpened(i) && this.sources[i].open(this.clock.nanoTime());
		}
		return opened;
	}

	private boolean mayBeOpened(int index) {
		return this.sources[index].isResting() && isBelowLimit(index)
				&& (this.handling[index] == 0 || further() < mostFurther());
	}

	private boolean isBelowLimit(int index) {
		return this.handling[index] < this.limits[index];
	}

	private void signalIf(boolean opened) {
		if (opened) {
			this.promotion.signalIfVacant();
		}
	}

	/** The number of further places that are taken. */
	private int further() {
		int further = 0;
		for (int i = 0; i < this.sources.length; i++) {
			further += Math.max(0, this.handling[i] - (this.sources[i].isResting() ? 1 : 0));
		}
		return further;
	}

	private int mostFurther() {
		return this.threads.settings().maxThreads() - this.first - this.sources.length;
	}

	private int indexOf(Leadership source) {
		return source.index() - this.first;
	}

	/**
	 * How many events of a source are being handled. Any thread.
	 * @param source the leadership of the source
	 * @return a number of handlers
	 */
	public synchronized int handling(Leadership source) {
		return this.handling[indexOf(source)];
	}

}
