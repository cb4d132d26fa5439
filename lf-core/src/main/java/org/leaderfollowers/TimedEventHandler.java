package org.leaderfollowers;

/**
 * A concrete event handler of the engine itself. It is dispatched to by the leader while
 * it leads, releases its handle itself, promotes a new leader before it calls the
 * application, and may have a deadline.
 */
interface TimedEventHandler extends EventHandler {

	/** No deadline at all. */
	long NO_DEADLINE = Long.MAX_VALUE;

	@Override
	void handleEvent(Handle handle, EventType type);

	/**
	 * When the leader has to call {@link #expire}. Called by the leader, while another
	 * thread may own the handle.
	 * @param nowNanos the time
	 * @return {@link System#nanoTime()}, or {@link #NO_DEADLINE}
	 */
	long deadline(long nowNanos);

	/**
	 * A deadline has passed. Called by the leader, who afterwards dispatches a look.
	 * @param nowNanos the time
	 */
	void expire(long nowNanos);

	/**
	 * The earlier of two deadlines. Times of nanoTime are compared by their difference.
	 * @param deadline one, or {@link #NO_DEADLINE}
	 * @param other another one
	 * @return the earlier one
	 */
	static long earlier(long deadline, long other) {
		return (deadline == NO_DEADLINE || other - deadline < 0) ? other : deadline;
	}

}
