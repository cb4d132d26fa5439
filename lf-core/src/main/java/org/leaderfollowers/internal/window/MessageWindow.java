package org.leaderfollowers.internal.window;

import org.jspecify.annotations.Nullable;

/**
 * The messages of one connection that are in flight: taken from the input and not
 * answered. The owner of the connection lets them in, in the order of arrival; any thread
 * ends them. All of the state is here, under one monitor, under which nothing blocks.
 * <table border="1">
 * <caption>Turns of a place. O is the owner of the connection, T the thread that runs a
 * handler, R a thread that settles a reply</caption>
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
 * <td>T has ended the place before it, and goes on with this one</td>
 * </tr>
 * <tr>
 * <td>WAITING</td>
 * <td>DUE</td>
 * <td>R</td>
 * <td>R has ended the place before it, and runs no handlers: O is to look</td>
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
 * <td>the handler has returned, and every hold was let go</td>
 * </tr>
 * <tr>
 * <td>WAITING, DUE</td>
 * <td>GONE</td>
 * <td>O</td>
 * <td>the connection is closed: no further handler runs</td>
 * </tr>
 * </table>
 * Of all places with equal keys only the first is DUE or TAKEN, so their handlers run one
 * after the other, in the order of arrival. A thread is counted from when it takes a
 * place until it {@linkplain #depart departs}, so that one of them, or the thread that
 * closes, finds that it is the last.
 * <p>
 * A window in which nothing is in flight can be {@linkplain #giveUp given up} by any
 * thread, so that an idle connection needs none. The owner {@linkplain #reserve reserves}
 * it before it lets a message in, or finds that it was given up.
 *
 * @param <P> what the user keeps of a message
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

	/**
	 * The place of one message. Everything of it is guarded by the window.
	 */
	public abstract static class Place {

		private static final ThreadLocal<@Nullable Place> ANSWERED = new ThreadLocal<>();

		private @Nullable Object key;

		private Turn turn = Turn.WAITING;

		/** One for the handler, and one for each reply that is owed. */
		private int holds = 1;

		private @Nullable Place earlier;

		private @Nullable Place later;

		/**
		 * The message that the calling thread answers.
		 * @return its place, or {@code null} if it answers none
		 */
		protected static @Nullable Place answered() {
			return ANSWERED.get();
		}

		/**
		 * Has the calling thread answer another message from now on.
		 * @param next its place, or {@code null} if it answers none
		 * @return what it has answered until now
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
	 * @param limit how many messages may be in flight, at least 1
	 */
	public MessageWindow(int limit) {
		this.limit = limit;
	}

	// What it looks like; any thread

	/**
	 * Whether one more message may be let in.
	 * @param beyond how many are allowed beyond the limit for the moment
	 * @return whether fewer are in flight than may be
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
	 * @return not more than there are messages, unless one is about to depart
	 */
	public final synchronized int threads() {
		return this.threads;
	}

	/**
	 * Whether a message has its turn, and no thread for it.
	 * @return whether the owner is to take it
	 */
	public final synchronized boolean hasDue() {
		return this.due > 0;
	}

	/**
	 * Whether a message with this key would have to wait if it was let in now. For the
	 * owner, {@code false} stays true.
	 * @param key the key
	 * @return whether a message with an equal key is in flight
	 */
	public final synchronized boolean isBusy(Object key) {
		return find(key) != null;
	}

	// Let in; the owner

	/**
	 * Has the window stay until the next message has entered.
	 * @return {@code false} if it was given up: another one is to be used
	 */
	public final synchronized boolean reserve() {
		this.reserved = !this.givenUp;
		return this.reserved;
	}

	/**
	 * Lets a message in. There must be room.
	 * @param place its new place
	 * @param key messages with equal keys are handled one after the other, or
	 * {@code null} if it waits for none
	 * @return whether the calling thread is to run its handler now; otherwise it waits
	 */
	public final synchronized boolean enter(P place, @Nullable Object key) {
		boolean waits = key != null && find(key) != null;
		Place entering = place;
		entering.key = key;
		this.reserved = false;
		append(place);
		if (!waits) {
			take(place);
			this.threads++;
		}
		return !waits;
	}

	/**
	 * Takes a message whose turn has come, for the calling thread to run its handler.
	 * @return the first one, or {@code null}
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
	 * Closes the window: nothing is let in and nothing becomes due any more.
	 * @return whether no thread runs a handler; otherwise the last one that
	 * {@linkplain #depart departs} finds that it is the last
	 */
	public final synchronized boolean close() {
		this.closed = true;
		return this.threads == 0;
	}

	/**
	 * Takes a message out that will not be handled, since the window is closed.
	 * @return one of them, or {@code null} if there is none left
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

	// Settled; any thread

	/**
	 * Holds a place beyond the return of its handler, for a reply that is owed.
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
	 * Ends a hold: the handler has returned, or an owed reply is settled.
	 * @param place the place
	 * @return whether it was the last one: the caller, and nobody else, is to
	 * {@linkplain #end end} the place
	 */
	public final synchronized boolean letGo(P place) {
		Place held = place;
		held.holds--;
		return held.holds == 0;
	}

	/**
	 * Ends a place: its message is not in flight any more.
	 * @param place a place whose last hold the caller has let go
	 * @param goesOn whether the calling thread runs handlers, and goes on with the next
	 * message that has an equal key
	 * @return that message, or {@code null} if there is none or if it is due now
	 */
	public final synchronized @Nullable P end(P place, boolean goesOn) {
		Object key = ((Place) place).key;
		remove(place);
		Place next = (key != null) ? find(key) : null;
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
	 * The calling thread runs no more handlers of the window.
	 * @return whether it was the last one, and the window is closed
	 */
	public final synchronized boolean depart() {
		this.threads--;
		return this.closed && this.threads == 0;
	}

	/**
	 * Gives the window up if nothing is in flight, no thread is counted, and no message
	 * is about to enter. Any thread.
	 * @return whether it was given up now
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
		this.size--;
	}

	@SuppressWarnings("unchecked") // only P is let in
	private @Nullable P own(@Nullable Place place) {
		return (P) place;
	}

}
