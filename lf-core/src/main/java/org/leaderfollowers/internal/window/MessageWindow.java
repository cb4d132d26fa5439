package org.leaderfollowers.internal.window;

import org.jspecify.annotations.Nullable;

/**
 * The messages of one connection that are in flight: taken from the input and not
 * answered yet. The owner of the connection adds them in the order of arrival; any thread
 * ends them. One monitor guards all of the state, and code under it never blocks.
 * <table border="1">
 * <caption>Transitions of a place. O is the owner of the connection, T the thread that
 * runs a handler, R a thread that settles a reply</caption>
 * <tr>
 * <th>from</th>
 * <th>to</th>
 * <th>by</th>
 * <th>why</th>
 * </tr>
 * <tr>
 * <td>(new)</td>
 * <td>TAKEN</td>
 * <td>O</td>
 * <td>no earlier place has an equal key: the thread runs the handler</td>
 * </tr>
 * <tr>
 * <td>(new)</td>
 * <td>WAITING</td>
 * <td>O</td>
 * <td>an earlier place has an equal key</td>
 * </tr>
 * <tr>
 * <td>WAITING</td>
 * <td>TAKEN</td>
 * <td>T</td>
 * <td>T has ended the place before it, and continues with this one</td>
 * </tr>
 * <tr>
 * <td>WAITING</td>
 * <td>DUE</td>
 * <td>R</td>
 * <td>R has ended the place before it, but runs no handlers: O must look</td>
 * </tr>
 * <tr>
 * <td>DUE</td>
 * <td>TAKEN</td>
 * <td>O</td>
 * <td>the thread runs the handler</td>
 * </tr>
 * <tr>
 * <td>TAKEN</td>
 * <td>GONE</td>
 * <td>T, R</td>
 * <td>the handler has returned, and every hold has ended</td>
 * </tr>
 * <tr>
 * <td>WAITING, DUE</td>
 * <td>GONE</td>
 * <td>O</td>
 * <td>the connection is closed: no further handler runs</td>
 * </tr>
 * </table>
 * Of all places with equal keys, only the first is DUE or TAKEN, so their handlers run
 * one after the other, in the order of arrival. Keys are compared only before a place
 * enters: the comparison runs code of the application, and ending a place must not fail.
 * A thread is counted from the time when it takes a place until it {@linkplain #depart
 * departs}. Either one of these threads or the thread that closes the window therefore
 * learns that it is the last.
 * <p>
 * Any thread can {@linkplain #giveUp give up} a window without messages, so that an idle
 * connection needs none. The owner {@linkplain #reserve reserves} the window before it
 * adds a message, or learns that it was given up.
 *
 * @param <P> the place of a message
 */
public class MessageWindow<P extends MessageWindow.Place> {

	private final int limit;

	private int size;

	private int due;

	private int threads;

	private boolean closed;

	/** Whether a message is about to enter. */
	private boolean reserved;

	private boolean givenUp;

	private @Nullable Place first;

	private @Nullable Place last;

	/** The place of one message. The window guards all of its fields. */
	public abstract static class Place {

		private static final ThreadLocal<@Nullable Place> ANSWERED = new ThreadLocal<>();

		private @Nullable Object key;

		private Turn turn = Turn.WAITING;

		/** One for the handler, and one for each owed reply. */
		private int holds = 1;

		private @Nullable Place earlier;

		private @Nullable Place later;

		/** The next place with an equal key. */
		private @Nullable Place successor;

		/**
		 * The message that the calling thread is answering.
		 * @return its place, or {@code null} if there is none
		 */
		protected static @Nullable Place answered() {
			return ANSWERED.get();
		}

		/**
		 * Sets the message that the calling thread answers from now on.
		 * @param next its place, or {@code null} for none
		 * @return the place of the previous message, or {@code null}
		 */
		public static @Nullable Place answer(@Nullable Place next) {
			Place before = ANSWERED.get();
			if (next != null) {
				ANSWERED.set(next);
			}
			else {
				ANSWERED.remove();
			}
			return before;
		}

	}

	private enum Turn {

		WAITING, DUE, TAKEN, GONE

	}

	/**
	 * Creates an empty window.
	 * @param limit the maximum number of messages in flight, at least 1
	 */
	public MessageWindow(int limit) {
		this.limit = limit;
	}

	// State; any thread

	/**
	 * Whether another message may enter.
	 * @param beyond how many messages are temporarily allowed beyond the limit
	 * @return whether there is room
	 */
	public final synchronized boolean hasRoom(int beyond) {
		return this.size < this.limit + (long) beyond;
	}

	/**
	 * How many messages are in flight.
	 * @return from 0 to the limit
	 */
	public final synchronized int size() {
		return this.size;
	}

	/**
	 * How many threads run handlers.
	 * @return at most the number of messages, unless a thread is about to depart
	 */
	public final synchronized int threads() {
		return this.threads;
	}

	/**
	 * Whether a message may be handled but no thread has taken it.
	 * @return whether the owner must take it
	 */
	public final synchronized boolean hasDue() {
		return this.due > 0;
	}

	/**
	 * Whether a message with this key would have to wait if it entered now. For the
	 * owner, the result {@code false} stays valid.
	 * @param key the key
	 * @return whether a message with an equal key is in flight
	 */
	public final synchronized boolean isBusy(Object key) {
		return find(key) != null;
	}

	// Entering; the owner

	/**
	 * Makes sure that the window is not given up before the next message has entered.
	 * @return {@code false} if it was given up already, so that another window must be
	 * used
	 */
	public final synchronized boolean reserve() {
		this.reserved = !this.givenUp;
		return this.reserved;
	}

	/**
	 * Adds a message. There must be room for it.
	 * @param place its new place
	 * @param key messages with equal keys are handled one after the other; {@code null}
	 * if the message waits for no other
	 * @return whether the calling thread must run its handler now; otherwise it waits
	 */
	public final synchronized boolean enter(P place, @Nullable Object key) {
		Place before = (key != null) ? find(key) : null;
		while (before != null && before.successor != null) {
			before = before.successor;
		}
		Place entering = place;
		entering.key = key;
		this.reserved = false;
		append(place);
		if (before != null) {
			before.successor = place;
			return false;
		}
		take(place);
		this.threads++;
		return true;
	}

	/**
	 * Takes a message that is due, so that the calling thread runs its handler.
	 * @return the oldest one, or {@code null}
	 */
	public final synchronized @Nullable P takeDue() {
		Place place = (this.due > 0) ? this.first : null;
		while (place != null && place.turn != Turn.DUE) {
			place = place.later;
		}
		if (place != null) {
			this.due--;
			this.threads++;
			take(place);
		}
		return own(place);
	}

	/**
	 * Closes the window: no message can enter or become due any more.
	 * @return whether no thread runs a handler; otherwise the last thread that
	 * {@linkplain #depart departs} learns that it is the last
	 */
	public final synchronized boolean close() {
		this.closed = true;
		return this.threads == 0;
	}

	/**
	 * Removes a message that will not be handled, because the window is closed.
	 * @return the message, or {@code null} if none is left
	 */
	public final synchronized @Nullable P dropNext() {
		Place place = this.first;
		while (place != null && place.turn == Turn.TAKEN) {
			place = place.later;
		}
		if (place != null) {
			this.due -= (place.turn == Turn.DUE) ? 1 : 0;
			remove(place);
		}
		return own(place);
	}

	// Ending; any thread

	/**
	 * Keeps a place after its handler has returned, for an owed reply.
	 * @param place a place that was taken
	 * @return {@code false} if it has ended
	 */
	public final synchronized boolean hold(P place) {
		Place held = place;
		boolean holds = held.holds > 0;
		held.holds += holds ? 1 : 0;
		return holds;
	}

	/**
	 * Ends a hold, because the handler has returned or an owed reply was settled.
	 * @param place the place
	 * @return whether it was the last hold: then the caller, and no other thread, must
	 * {@linkplain #end end} the place
	 */
	public final synchronized boolean letGo(P place) {
		Place held = place;
		held.holds--;
		return held.holds == 0;
	}

	/**
	 * Ends a place: its message is no longer in flight.
	 * @param place a place whose last hold the caller has ended
	 * @param goesOn whether the calling thread runs handlers and continues with the next
	 * message that has an equal key
	 * @return that message, or {@code null} if there is none or it is due
	 */
	public final synchronized @Nullable P end(P place, boolean goesOn) {
		Place next = ((Place) place).successor;
		remove(place);
		if (next == null || this.closed) {
			return null;
		}
		if (goesOn) {
			take(next);
			return own(next);
		}
		next.turn = Turn.DUE;
		this.due++;
		return null;
	}

	/**
	 * Called by a thread that runs no more handlers of the window.
	 * @return whether it was the last thread and the window is closed
	 */
	public final synchronized boolean depart() {
		this.threads--;
		return this.closed && this.threads == 0;
	}

	/**
	 * Gives the window up if no message is in flight or about to enter, and no thread is
	 * counted. Any thread.
	 * @return whether this call gave it up
	 */
	public final synchronized boolean giveUp() {
		boolean isIdle = this.size == 0 && this.threads == 0 && !this.reserved && !this.closed;
		boolean now = isIdle && !this.givenUp;
		this.givenUp |= isIdle;
		return now;
	}

	// The list of places, in the order of arrival; under the monitor

	private @Nullable Place find(Object key) {
		Place place = this.first;
		while (place != null && !key.equals(place.key)) {
			place = place.later;
		}
		return place;
	}

	private static void take(Place place) {
		place.turn = Turn.TAKEN;
	}

	private void append(Place place) {
		place.earlier = this.last;
		if (this.last != null) {
			this.last.later = place;
		}
		else {
			this.first = place;
		}
		this.last = place;
		this.size++;
	}

	private void remove(Place place) {
		Place before = place.earlier;
		Place behind = place.later;
		if (before != null) {
			before.later = behind;
		}
		else {
			this.first = behind;
		}
		if (behind != null) {
			behind.earlier = before;
		}
		else {
			this.last = before;
		}
		place.turn = Turn.GONE;
		place.earlier = null;
		place.later = null;
		place.successor = null;
		this.size--;
	}

	@SuppressWarnings("unchecked") // only places of type P enter
	private @Nullable P own(@Nullable Place place) {
		return (P) place;
	}

}
