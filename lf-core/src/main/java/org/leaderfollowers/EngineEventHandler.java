package org.leaderfollowers;

/**
 * A concrete event handler of the engine itself. It is dispatched to by the leader while
 * it leads, and releases its handle itself. Before it calls the application, the pool
 * decides whether another leader is promoted.
 */
interface EngineEventHandler extends EventHandler {

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
	default long deadline(long nowNanos) {
		return NO_DEADLINE;
	}

	/**
	 * A deadline has passed. Called by the leader, who afterwards dispatches a look.
	 * @param nowNanos the time
	 */
	default void expire(long nowNanos) {
	}

	/**
	 * Whether it has something to write as soon as there is room. Any thread.
	 */
	default boolean hasPendingBytes() {
		return false;
	}

	/**
	 * There is room to write. Called by the leader, whoever owns the handle: writing what
	 * waits must not wait for a handler that still works on an earlier message.
	 * @param events what the handle is ready for
	 * @return what is left to dispatch
	 */
	default int flush(int events) {
		return events;
	}

	/**
	 * Writes what was held back to be written together with more. By the owner, or by
	 * whoever has taken over the leadership from it, since its handler does not return.
	 */
	default void uncork() {
	}

	/**
	 * Looks at a handle that did not fire, at once, if that never blocks. Called by the
	 * leader.
	 * @return {@code false} if the look is to be dispatched like an event
	 */
	default boolean lookAtOnce(SelectableHandle handle) {
		return false;
	}

	/**
	 * Ends without a thread of the pool. Called when there are none any more.
	 */
	default void abandon(SelectableHandle handle) {
		handle.closeChannel();
	}

	/**
	 * It has thrown, or could not be registered, and its handle has been closed
	 * therefore.
	 * @param failure what it has thrown
	 */
	default void closedByFailure(Throwable failure) {
	}

	/**
	 * What is processed when this is dispatched to. It may be kept longer than this.
	 */
	HandledWork work();

	/**
	 * Which one of these it is, or {@link HandledWork#UNNUMBERED}.
	 */
	default long workNumber() {
		return HandledWork.UNNUMBERED;
	}

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
