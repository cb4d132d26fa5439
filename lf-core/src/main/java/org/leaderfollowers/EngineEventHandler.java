package org.leaderfollowers;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.internal.promotion.HandledWork;
import org.leaderfollowers.internal.promotion.HandlerProfile;

/**
 * A concrete event handler of the engine. The pool processes an event in rounds. A round
 * begins with {@link #prepare}, which a leader runs without promoting, except if it has a
 * {@linkplain #preparation profile}. If that has found work for the application,
 * promotion or lease, {@link #dispatch} and the regaining of the leadership follow. The
 * round ends with {@link #release}, which may ask for one more round. Event handlers
 * contain no code about promotion.
 */
interface EngineEventHandler {

	/** The value that stands for no deadline. */
	long NO_DEADLINE = Long.MAX_VALUE;

	/**
	 * Accepts, reads and decodes. The caller owns the handle, may lead, and must not
	 * block. Code of the application runs here only if there is a {@link #preparation}
	 * profile.
	 * @param me the calling thread
	 * @return whether there is something to {@link #dispatch}
	 */
	boolean prepare(Participant me);

	/**
	 * The profile of {@link #prepare} if it runs code of the application, such as a
	 * framing that the engine does not provide. The engine cannot know whether this code
	 * blocks, so it promotes or leases first, as before a dispatch.
	 * @return {@code null} if only code of the engine runs, which never blocks
	 */
	default @Nullable HandlerProfile preparation() {
		return null;
	}

	/**
	 * Does what needs no code of the application, such as to accept, or to read replies
	 * and pass them to the threads that wait for them. Prepares nothing for dispatch. The
	 * caller owns the handle, leads, and waits for a reply itself.
	 * @param me the calling thread
	 * @return {@code false} if another thread must {@link #prepare} the handle; otherwise
	 * the caller releases it
	 */
	default boolean prepareReplies(Participant me) {
		return false;
	}

	/**
	 * Whether {@link #prepareReplies} has postponed work for dispatch. The owner then
	 * {@linkplain #keepPlace keeps a place} for it. Called by the owner.
	 */
	default boolean hasPostponed() {
		return false;
	}

	/**
	 * Keeps a {@link Place} of the handle for postponed work. Called by the leader of the
	 * handle set, which owns the handle.
	 * @param set the handle set, whose ready queue has room
	 * @return {@code false} if the handle would be paused: nobody could claim it from its
	 * place, so it stays in the queue itself
	 */
	default boolean keepPlace(HandleSet set) {
		throw new IllegalStateException("nothing is postponed");
	}

	/**
	 * Runs the code of the application for the work that {@link #prepare} has found.
	 * @param me the calling thread
	 * @throws Exception if the handle must be closed
	 */
	void dispatch(Participant me) throws Exception;

	/**
	 * Releases the handle, or closes it.
	 * @param me the calling thread
	 * @return {@code false} if the caller still owns the handle and must begin another
	 * round
	 */
	boolean release(Participant me);

	/**
	 * The profile that records how long dispatching takes. For work that is known to
	 * block, this is {@link HandlerProfile#BLOCKING}.
	 * @return the profile of the work that {@link #prepare} has found
	 */
	HandlerProfile profile();

	/** Whether the handle may move from one handle set to another. */
	default boolean isMovable() {
		return false;
	}

	/**
	 * The number of further events that this handle is likely to have for other threads.
	 * @param me the calling thread
	 */
	default int more(Participant me) {
		return 0;
	}

	/**
	 * Handles an exception of one of the three steps or of the promotion between them,
	 * for example because there is no memory for a buffer. Restores the state that the
	 * calling thread owns.
	 * @param me the calling thread
	 * @param failure the exception or error
	 * @return whether to begin another round, in order to close in good order;
	 * {@code false} if everything is closed
	 */
	boolean failed(Participant me, Throwable failure);

	/**
	 * Called when the handle could not be registered and its channel has been closed. The
	 * owner will find it closed. Called by the leader.
	 * @param failure the cause
	 */
	default void registrationFailed(Throwable failure) {
	}

	/**
	 * When the leader has to call {@link #expire}. Called by the leader, while another
	 * thread may own the handle.
	 * @param nowNanos the current time
	 * @return {@link System#nanoTime()}, or {@link #NO_DEADLINE}
	 */
	default long deadline(long nowNanos) {
		return NO_DEADLINE;
	}

	/**
	 * Called when a deadline has passed. Called by the leader, which dispatches a look
	 * afterwards.
	 * @param nowNanos the current time
	 */
	default void expire(long nowNanos) {
	}

	/**
	 * Whether bytes are pending that are written as soon as there is room. Any thread.
	 */
	default boolean hasPendingBytes() {
		return false;
	}

	/**
	 * Writes pending bytes, because there is room. Called by the leader, whichever thread
	 * owns the handle: pending bytes must not wait for a handler that still works on an
	 * earlier message.
	 * @param events the events that the handle is ready for
	 * @return the events that remain to be dispatched
	 */
	default int notifyWritable(int events) {
		return events;
	}

	/**
	 * Writes bytes that were held back to be written together with later ones. Called by
	 * the owner, or by the thread that took the leadership over from it because its
	 * handler has not returned.
	 */
	default void uncork() {
	}

	/**
	 * Looks at a handle that has not fired, without dispatching, if this never blocks.
	 * Called by the leader.
	 * @return {@code false} if the look is to be dispatched like an event
	 */
	default boolean lookAtOnce() {
		return false;
	}

	/**
	 * The connection that the owner reads while the handler on it waits. Called by the
	 * owner.
	 * @return {@code null} if no input may arrive that must not wait for the end of the
	 * handler
	 */
	default BoundInput.@Nullable BoundConnection boundConnection() {
		return null;
	}

	/**
	 * Called when the handle fires or a look is requested while a thread owns it. If the
	 * owner waits in the middle of a handler, it is notified at once. Called by the
	 * leader.
	 */
	default void ownerLooksAgain() {
	}

	/**
	 * Called when the owner has closed the handle. The owner may not lead, and only the
	 * leader can make the selector free the descriptor. Called by the leader.
	 */
	default void gone() {
	}

	/**
	 * Moves the handle to another pool, as its owner has requested. Called by the leader.
	 */
	default void moveOut() {
		throw new IllegalStateException("the handle stays in its pool");
	}

	/**
	 * Requests the end of the handler: the next owner of the handle ends it, whether
	 * everything was answered or not. Any thread.
	 */
	default void abort() {
	}

	/**
	 * Ends the handler without a thread of the pool. Called when the pool has no threads
	 * left.
	 */
	void abandon();

	/**
	 * Identifies the work in snapshots of threads. The result may be kept longer than
	 * this handler.
	 */
	HandledWork work();

	/**
	 * The number of this handler among those with the same work, or
	 * {@link HandledWork#UNNUMBERED}.
	 */
	default long workNumber() {
		return HandledWork.UNNUMBERED;
	}

	/**
	 * The earlier of two deadlines. Times of {@code nanoTime} must be compared by their
	 * difference.
	 * @param deadline a deadline, or {@link #NO_DEADLINE}
	 * @param other another deadline, or {@link #NO_DEADLINE}
	 * @return the earlier one
	 */
	static long earlier(long deadline, long other) {
		return (deadline == NO_DEADLINE || (other != NO_DEADLINE && other - deadline < 0)) ? other : deadline;
	}

}
