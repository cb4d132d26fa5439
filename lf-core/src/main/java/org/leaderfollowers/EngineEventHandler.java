package org.leaderfollowers;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.internal.promotion.HandledWork;
import org.leaderfollowers.internal.promotion.HandlerProfile;

/**
 * A concrete event handler of the engine itself. The pool runs an event in rounds:
 * {@link #prepare}, and if that has found something for the application, promotion or
 * lease, {@link #dispatch} and the way back to the leadership; then {@link #release},
 * which may ask for one more round. A handler knows nothing of promotion.
 */
interface EngineEventHandler {

	/** No deadline at all. */
	long NO_DEADLINE = Long.MAX_VALUE;

	/**
	 * Accepts, reads and decodes. The caller owns the handle; it may lead or not, and
	 * does nothing that blocks. Runs no code of the application but the decoding of its
	 * framing.
	 * @param me the calling thread
	 * @return whether there is something to {@link #dispatch}
	 */
	boolean prepare(Participant me);

	/**
	 * Reads, and gives replies to the threads that wait for them, but prepares nothing
	 * that has to be dispatched. The caller owns the handle, leads, and waits for a reply
	 * itself.
	 * @param me the calling thread
	 * @return {@code false} if another thread has to go on with the handle, and
	 * {@link #prepare} it; otherwise it is to be released
	 */
	default boolean prepareReplies(Participant me) {
		return false;
	}

	/**
	 * Whether {@link #prepareReplies} has put something aside that is to be dispatched,
	 * so that the handle has to be looked at as soon as there is a thread for it. The
	 * owner.
	 */
	default boolean hasPostponed() {
		return false;
	}

	/**
	 * Runs code of the application: what {@link #prepare} has found.
	 * @param me the calling thread
	 * @throws Exception if the handle is to be closed because of it
	 */
	void dispatch(Participant me) throws Exception;

	/**
	 * Releases the handle, or closes it.
	 * @param me the calling thread
	 * @return {@code false} if the caller still owns the handle and has to go round again
	 */
	boolean release(Participant me);

	/**
	 * Learns how long dispatching takes. For work that is known to block it is
	 * {@link HandlerProfile#BLOCKING}.
	 * @return the profile of what {@link #prepare} has found
	 */
	HandlerProfile profile();

	/**
	 * Whether the handle may go from one handle set to another.
	 */
	default boolean isMovable() {
		return false;
	}

	/**
	 * How many more events the handle itself is likely to have for other threads.
	 * @param me the calling thread
	 */
	default int more(Participant me) {
		return 0;
	}

	/**
	 * One of the three steps, or the promotion between them, has thrown: out of memory
	 * for a buffer, for example. Puts in order what the calling thread owns.
	 * @param me the calling thread
	 * @param failure what was thrown
	 * @return whether to go round again, in order to end in good order; {@code false} if
	 * everything is closed
	 */
	boolean failed(Participant me, Throwable failure);

	/**
	 * The handle could not be registered, and its channel has been closed. Its owner is
	 * going to find it closed. Called by the leader.
	 * @param failure why
	 */
	default void registrationFailed(Throwable failure) {
	}

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
	 * There is room to write. Called by the leader, whoever owns the handle: pending
	 * bytes must not wait for a handler that still works on an earlier message.
	 * @param events what the handle is ready for
	 * @return what is left to dispatch
	 */
	default int notifyWritable(int events) {
		return events;
	}

	/**
	 * Writes what was held back to be written together with more. By the owner, or by the
	 * thread that has taken the leadership over from it, since its handler does not
	 * return.
	 */
	default void uncork() {
	}

	/**
	 * Looks at a handle that did not fire, at once, if that never blocks. Called by the
	 * leader.
	 * @return {@code false} if the look is to be dispatched like an event
	 */
	default boolean lookAtOnce() {
		return false;
	}

	/**
	 * What the owner reads while the handler that it runs waits. Called by the owner.
	 * @return {@code null} if nothing may come that does not wait for the end of the
	 * handler
	 */
	default BoundInput.@Nullable BoundConnection boundConnection() {
		return null;
	}

	/**
	 * The handle fired, or somebody asks for a look at it, while it is owned: its owner
	 * is told at once if it waits in the middle of a handler. Called by the leader.
	 */
	default void ownerLooksAgain() {
	}

	/**
	 * The handle was closed by its owner, who may not lead: only the leader can have the
	 * selector free the descriptor. Called by the leader.
	 */
	default void gone() {
	}

	/**
	 * Ends without a thread of the pool. Called when there are none any more.
	 */
	void abandon();

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
	 * @param other another one, or {@link #NO_DEADLINE}
	 * @return the earlier one
	 */
	static long earlier(long deadline, long other) {
		return (deadline == NO_DEADLINE || (other != NO_DEADLINE && other - deadline < 0)) ? other : deadline;
	}

}
