package org.leaderfollowers;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.internal.window.MessageWindow;

/**
 * The progress of a thread with its current event: when other handles get their turn, and
 * what {@link EngineEventHandler#prepare} leaves for {@link EngineEventHandler#dispatch}
 * if the handle is concurrent. Only its own thread uses it.
 */
final class Turn {

	private int reads;

	/** When the turn ends, or 0 while no message has been handled. */
	private long endNanos;

	/** The datagram whose handler will run. The handle is released already. */
	@Nullable Connection datagram;

	/** The message whose handler will run. Other threads may own the handle meanwhile. */
	MessageWindow.@Nullable Place message;

	/** Whether the handle was released before the handler of its message has run. */
	boolean released;

	/** Begins an event. */
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

	/** How many times the handle was read. */
	int reads() {
		return this.reads;
	}

	/**
	 * Whether the turn is over. The time counts from the end of the first message.
	 * @param nowNanos when the latest message was handled
	 * @param lengthNanos the length of a turn
	 */
	boolean isTimeUp(long nowNanos, long lengthNanos) {
		if (this.endNanos == 0) {
			this.endNanos = nowNanos + lengthNanos | 1;
		}
		return nowNanos - this.endNanos >= 0;
	}

}
