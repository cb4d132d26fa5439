package org.leaderfollowers.internal.promotion;

/**
 * How many events of the event sources of a pool are handled at the same time, and which
 * sources rest meanwhile.
 * <p>
 * A source with a backlog has its next event ready whenever a leader asks for it. Without
 * a limit, its handlers would take all threads, and the handle sets would starve. So each
 * source has a place for one thread: its leader or, while the source rests, a handler. A
 * handler that runs while its source is led takes a further place. There are as many
 * further places as the pool may have threads beyond one for each handle set and one for
 * each source. If there is no further place, or if as many handlers run as the source may
 * have, the source <em>rests</em>: it needs no leader until one of its handlers returns.
 * <p>
 * The rules:
 * <ol>
 * <li>all counts, and whether a source rests, change under the monitor only: the thread
 * that returns from a handler sees that its source rests, or the leader sees that the
 * handler has returned;</li>
 * <li>under the monitor nothing blocks, and no code of the application runs. A thread
 * that opens a leadership signals for it <em>after</em> it has left the monitor;</li>
 * <li>a thread that ends a rest and has nothing else to do leads the source itself, so
 * that nobody needs to be woken.</li>
 * </ol>
 */
public final class SourcePlaces {

	private final PromotionProtocol promotion;

	private final Leadership[] sources;

	/** The index of the leadership of the first source. */
	private final int first;

	private final ThreadSupply threads;

	private final Clock clock;

	/** How many handlers a source may have at the same time; 0 if it is closed. */
	private final int[] limits;

	/** How many handlers a source has. */
	private final int[] handling;

	/**
	 * Creates the places of a pool, all of whose sources are closed.
	 * @param promotion wakes threads for leaderships that are opened
	 * @param sources the leaderships of the sources, which follow those of the handle
	 * sets and rest
	 * @param handleSets how many handle sets there are
	 * @param threads has the settings
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
	 * Has a source led from now on. Any thread.
	 * @param source the leadership of the source
	 * @param limit how many handlers it may have at the same time
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
	 * Has a source led no more, as soon as its leader finds out. Any thread.
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
	 * The caller has received an event, and is about to handle it: the source rests
	 * meanwhile unless there is a place for another thread.
	 * @param me the calling thread, which leads the source and has not leased it
	 * @param source the leadership of the source
	 */
	public void begin(Member me, Leadership source) {
		boolean rests;
		synchronized (this) {
			int index = indexOf(source);
			this.handling[index]++;
			boolean stays = isBelowLimit(index) && further() <= mostFurther();
			// An event source that calls the pool back may have cost the caller its
			// leadership.
			rests = !stays && me.leading == source;
			if (rests) {
				rest(me, source);
			}
		}
		// A leader that takes leaderships in turn may have left another one vacant. It
		// promotes nobody now, so it looks before it runs the handler.
		signalIf(rests);
	}

	/**
	 * The caller has handled the event. It leads the source again if that rests and may
	 * be led.
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

	/** There may be more places now. Any thread. */
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

	/** Returns whether any was opened, for which the caller then signals. */
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

	/** How many further places are taken. */
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
