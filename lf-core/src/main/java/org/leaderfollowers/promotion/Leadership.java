package org.leaderfollowers.promotion;

import java.util.concurrent.atomic.AtomicLong;

/**
 * The leadership of one handle set: a single atomic word that holds the current leader
 * and the number of the term.
 * <p>
 * The word has two states, and nobody but the thread named in the third column moves it:
 * <table border="1">
 * <caption>Transitions</caption>
 * <tr>
 * <th>from</th>
 * <th>to</th>
 * <th>by</th>
 * <th>why</th>
 * </tr>
 * <tr>
 * <td>VACANT, term n</td>
 * <td>LED(p), term n + 1</td>
 * <td>p, any idle participant</td>
 * <td>taking the role is a race: the one whose compare-and-set succeeds leads, the others
 * go on looking</td>
 * </tr>
 * <tr>
 * <td>LED(p), term n</td>
 * <td>VACANT, term n</td>
 * <td>p only</td>
 * <td>published <em>before</em> anybody is woken, so that whoever is awake first may take
 * it, p included</td>
 * </tr>
 * </table>
 * The term counts leaderships. A word that was seen in term n and is again held by the
 * same participant in term m &gt; n does not compare equal: no ABA.
 * <p>
 * Everything that only the leader touches (the ready ring, the selector, the timers) is
 * handed from leader to leader by this word: what the old leader wrote before
 * {@link #giveUp(int)} is visible to the new one after {@link #take(int)}.
 */
public final class Leadership {

	/** The holder of a leadership that nobody has. */
	public static final int VACANT = 0;

	private static final int HOLDER_BITS = 16;

	/** The highest participant number that the word can hold. */
	public static final int MAX_PARTICIPANT = (1 << HOLDER_BITS) - 1;

	/** {@code term << 16 | holder}. */
	private final AtomicLong word = new AtomicLong(VACANT);

	/**
	 * When it fell vacant; written by the old leader before, read by the new one after.
	 */
	private long vacatedNanos;

	private boolean vacatedOnce;

	/**
	 * Takes the leadership if nobody has it.
	 * @param participant who wants it, from 1 to {@link #MAX_PARTICIPANT}
	 * @return whether the participant leads now
	 */
	public boolean take(int participant) {
		long current = this.word.get();
		return holderOf(current) == VACANT
				&& this.word.compareAndSet(current, (((current >>> HOLDER_BITS) + 1) << HOLDER_BITS) | participant);
	}

	/**
	 * Gives the leadership up. The caller then wakes a follower; see {@link Followers}.
	 * @param participant the current leader
	 * @param nowNanos the time, {@link System#nanoTime()}
	 * @return {@code false} if the participant does not lead: nothing was changed
	 */
	public boolean giveUp(int participant, long nowNanos) {
		long current = this.word.get();
		if (holderOf(current) != participant) {
			return false;
		}
		// Before the word: a taker may read it as soon as the word is vacant.
		this.vacatedNanos = nowNanos;
		this.vacatedOnce = true;
		this.word.set(current & ~(long) MAX_PARTICIPANT);
		return true;
	}

	/**
	 * How long the leadership was vacant before the current leader took it. To be called
	 * by that leader only.
	 * @param nowNanos the time, {@link System#nanoTime()}
	 * @return nanoseconds, or -1 if this is the first leadership of all
	 */
	public long vacancyNanos(long nowNanos) {
		return this.vacatedOnce ? Math.max(0, nowNanos - this.vacatedNanos) : -1;
	}

	/**
	 * Who leads.
	 * @return the participant's number, or {@link #VACANT}
	 */
	public int holder() {
		return holderOf(this.word.get());
	}

	/**
	 * Whether nobody leads.
	 * @return whether the leadership can be taken
	 */
	public boolean isVacant() {
		return holder() == VACANT;
	}

	/**
	 * How many leaderships there have been.
	 * @return the number of the current or latest term
	 */
	public long term() {
		return this.word.get() >>> HOLDER_BITS;
	}

	private static int holderOf(long word) {
		return (int) word & MAX_PARTICIPANT;
	}

}
