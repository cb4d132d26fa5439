package org.leaderfollowers;

/**
 * Handles raw events of a {@link Handle}, for channels that no {@link Server} serves.
 * <p>
 * Register a handler with {@link LeaderFollowersPool#register}. While {@code handleEvent}
 * runs, the handle belongs to the calling thread, and its events are held back: two
 * threads never call a handler for one handle at the same time. The handler may block:
 * another leader was promoted before the call, or takes over when the lease ends; see
 * {@link PromotionPolicy}.
 */
@FunctionalInterface
public interface EventHandler {

	/**
	 * Handles an event. A processing thread of the pool calls this method when the event
	 * has occurred.
	 * <p>
	 * The previous call may have processed this event already: a leader can notice an
	 * event before that call has read the bytes, and claim the handle after the call. A
	 * read then returns 0 bytes.
	 * <p>
	 * If this method throws an exception or error, it is logged, and the handle is
	 * closed. Other handles and the threads of the pool are not affected.
	 * @param handle the handle of the event
	 * @param type the type of the event; if several events occurred at once, there is one
	 * call for each
	 * @throws Exception if the event could not be processed
	 */
	void handleEvent(Handle handle, EventType type) throws Exception;

}
