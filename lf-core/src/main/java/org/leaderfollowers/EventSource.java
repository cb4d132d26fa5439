package org.leaderfollowers;

import java.time.Duration;
import java.util.concurrent.BlockingQueue;

import org.jspecify.annotations.Nullable;

/**
 * A source of events that a selector cannot wait on: a blocking queue, a watch service,
 * notifications of a database, a consumer of a broker (the paper, 10.5, <em>alternative
 * event sources</em>). A {@link LeaderFollowersPool} serves it, with a leader of its own:
 * one thread at a time waits for an event and then processes it, while another thread
 * waits for the next event.
 *
 * @param <E> the type of the events
 * @see LeaderFollowersPool#register(String, EventSource, int, Handler)
 */
public interface EventSource<E> {

	/**
	 * Waits for the next event. The leader calls this method: one thread at a time, but
	 * not always the same one. An event that is returned is handled, even if the pool is
	 * being closed.
	 * <p>
	 * The method may return without an event before the time is up, but it should not
	 * always do so at once. If it does, or if it throws, it is called less often, with
	 * pauses of up to 10 seconds. It must not call methods of the pool or of its
	 * connections.
	 * @param timeout the maximum time to wait, from zero to 10 seconds
	 * @return the event, or {@code null} if there was none
	 * @throws Exception if the source has failed; it is called again. An
	 * {@link InterruptedException} counts as a return without an event
	 */
	@Nullable E await(Duration timeout) throws Exception;

	/**
	 * Makes the current call of {@link #await} return or, if there is none, the next one.
	 * Any thread may call this method, when the leader is needed elsewhere or should stop
	 * waiting. It must not block. An event that has occurred must not get lost.
	 * <p>
	 * If a source cannot be woken, this method does nothing, and {@code await} returns
	 * after a short time, for example 50 milliseconds.
	 */
	void wakeup();

	/**
	 * Creates an event source from a queue, such as a
	 * {@link java.util.concurrent.DelayQueue DelayQueue}. Its elements are the events.
	 * While the source is registered, other code may also take elements from the queue.
	 * @param <E> the type of the elements
	 * @param queue the queue
	 * @return a new source
	 */
	static <E> EventSource<E> of(BlockingQueue<E> queue) {
		return new QueueSource<>(queue);
	}

	/**
	 * Handles the events of a source.
	 *
	 * @param <E> the type of the events
	 */
	@FunctionalInterface
	interface Handler<E> {

		/**
		 * Handles an event. The thread that has received the event calls this method,
		 * which may block. Unless the source was registered for one event at a time,
		 * other threads handle later events meanwhile.
		 * @param event the event
		 * @throws Exception if the event could not be handled. The failure is logged and
		 * counted; the event is not delivered again
		 */
		void handleEvent(E event) throws Exception;

		/**
		 * The name of the handler in the log and in snapshots.
		 * @return by default, the name of its class
		 */
		default String name() {
			return getClass().getName();
		}

	}

}
