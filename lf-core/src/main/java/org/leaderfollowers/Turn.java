package org.leaderfollowers;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.internal.window.MessageWindow;

/**
 * How far a thread has got with the event that it processes: when others get their turn,
 * and what {@link EngineEventHandler#prepare} leaves for
 * {@link EngineEventHandler#dispatch} if the handle is concurrent. Only its own thread
 * touches it.
 */
final class Turn {

	private int reads;

	/** When the turn is over, or 0 as long as no message has been handled. */
	private long endNanos;

	/** The datagram whose handler is to run, which is not the handle's any more. */
	@Nullable Connection datagram;

	/** The message whose handler is to run while others may own the handle. */
	MessageWindow.@Nullable Place message;

	/** Whether the handle was given back before the handler of its message has run. */
	boolean released;

	/** Begins the event. */
	void begin() {
		this.message = null;
		this.released = false;
		this.reads = 0;
		this.endNanos = 0;
	}

	/** Counts a read of the handle. */
	void countRead() {
		this.reads++;
	}

	/** How often the handle was read. */
	int reads() {
		return this.reads;
	}

	/**
	 * Whether messages have been handled for long enough. The time counts from the end of
	 * the first one.
	 * @param nowNanos when the latest message was handled
	 * @param lengthNanos how long a turn is
	 */
	boolean isTimeUp(long nowNanos, long lengthNanos) {
		if (this.endNanos == 0) {
			this.endNanos = nowNanos + lengthNanos | 1;
		}
		return nowNanos - this.endNanos >= 0;
	}

}
