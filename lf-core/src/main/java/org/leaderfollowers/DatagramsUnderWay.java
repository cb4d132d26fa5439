package org.leaderfollowers;

import java.util.concurrent.atomic.AtomicLong;

/**
 * The datagrams of a server that are under way, and the limits at which it stops reading:
 * how many are under way, and how many threads their handlers occupy.
 * <p>
 * After the server has stopped reading because too many datagrams are under way, it
 * resumes when the number is a quarter below the limit, unless so many handlers run that
 * this may never come. A thread that is free is used at once, because the other handlers
 * may never return. No wake-up is lost: the owner of the socket notes why it stops
 * reading, pauses the handle, and then checks the numbers again. A thread that ends
 * something changes the numbers first, and then checks whether the handle is paused.
 */
final class DatagramsUnderWay {

	/** A handler that runs. The lower bits count the datagrams under way. */
	private static final long HANDLER = 1L << Integer.SIZE;

	private final int maxInFlight;

	private final DatagramShare share;

	private final DatagramCounters counters;

	private final ServerWarnings warnings;

	/**
	 * How many datagrams are under way, and times {@link #HANDLER} how many handlers run.
	 */
	private final AtomicLong underWay = new AtomicLong();

	/** Whether reading has stopped until fewer datagrams are under way. */
	private volatile boolean throttled;

	/** Whether reading has stopped until the handlers occupy fewer threads. */
	private volatile boolean crowded;

	DatagramsUnderWay(int maxInFlight, DatagramShare share, DatagramCounters counters, ServerWarnings warnings) {
		this.maxInFlight = maxInFlight;
		this.share = share;
		this.counters = counters;
		this.warnings = warnings;
	}

	/** How many are under way. Any thread. */
	int count() {
		return (int) this.underWay.get();
	}

	private static int handlers(long underWay) {
		return (int) (underWay >>> Integer.SIZE);
	}

	/** Whether no limit was reached, or reading may resume. Any thread. */
	boolean hasRoom() {
		return (!this.throttled || isBelowLimit()) && (!this.crowded || hasThread());
	}

	private boolean isBelowLimit() {
		long now = this.underWay.get();
		int resumeAt = Math.max(0, this.maxInFlight - 1 - this.maxInFlight / 4);
		// Handlers may never return. What follows them ends by a timeout.
		return (int) now <= resumeAt || ((int) now < this.maxInFlight && handlers(now) > resumeAt);
	}

	private boolean hasThread() {
		return handlers(this.underWay.get()) < this.share.most() && !this.share.isFull();
	}

	/**
	 * Takes a thread for the handler of the next datagram. Called by the owner before it
	 * reads, and not after it: if no other datagram follows, reading need not stop.
	 * @return {@code false} if the handlers occupy all threads that they may
	 */
	boolean takeThread() {
		int most = this.share.most();
		boolean own = handlers(this.underWay.get()) >= most;
		boolean none = own || !this.share.take();
		if (none) {
			this.counters.limitReached.increment();
			this.warnings.tooManyHandlers(own ? "its handlers" : "handlers of datagrams",
					own ? most : this.share.total());
		}
		if (none != this.crowded) {
			this.crowded = none;
		}
		return !none;
	}

	/** No datagram was read, so no handler needs the thread. Called by the owner. */
	void giveBackThread() {
		this.share.giveBack();
	}

	/**
	 * A datagram was read, and its handler will be called in the thread that was taken.
	 * Called by the owner.
	 */
	void begin() {
		if ((int) this.underWay.addAndGet(HANDLER + 1) >= this.maxInFlight) {
			this.throttled = true;
			try {
				this.counters.limitReached.increment();
				this.warnings.tooManyInFlight(this.maxInFlight);
			}
			catch (Throwable ex) {
				// Usually because memory is short. The datagram counts already, so it
				// must be handled.
			}
		}
		else if (this.throttled) {
			this.throttled = false;
		}
	}

	/**
	 * A handler has returned. Any thread.
	 * @param finished whether its datagram is no longer under way
	 * @return whether reading resumes if the handle is paused
	 */
	boolean handlerReturned(boolean finished) {
		// First, so that this server sees that there is room.
		this.share.giveBack();
		return ended(finished ? HANDLER + 1 : HANDLER);
	}

	/**
	 * A datagram is no longer under way, after its handler has returned. Any thread.
	 * @return whether reading resumes if the handle is paused
	 */
	boolean finished() {
		return ended(1);
	}

	private boolean ended(long count) {
		// A drain waits until none is under way.
		return (int) this.underWay.addAndGet(-count) == 0 || ((this.throttled || this.crowded) && hasRoom());
	}

}
