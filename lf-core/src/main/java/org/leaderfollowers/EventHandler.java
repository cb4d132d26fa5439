package org.leaderfollowers;

/**
 * The hook for raw events of a {@link Handle}, for event sources that are not served by a
 * {@link Server}.
 * <p>
 * A handler is registered with {@link LeaderFollowersPool#register}. While
 * {@code handleEvent} runs, the handle belongs to the calling thread and its events are
 * held back: a handler is never called for one handle by two threads at a time. It may
 * block: another leader has been promoted before the call, or takes over when the lease
 * runs out; see {@link PromotionPolicy}.
 */
@FunctionalInterface
public interface EventHandler {

	/**
	 * Called by a processing thread of the pool when an event has occurred.
	 * <p>
	 * Whatever this method throws closes the handle and is logged; no other handle and no
	 * thread of the pool suffers from it.
	 * @param handle where the event occurred
	 * @param type what occurred; if several things occurred at once, there is one call
	 * for each
	 * @throws Exception if the event could not be processed
	 */
	void handleEvent(Handle handle, EventType type) throws Exception;

}
