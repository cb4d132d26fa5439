package org.leaderfollowers.internal.promotion;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

import org.jspecify.annotations.Nullable;

/**
 * The leadership of one handle set: a single atomic word that holds the current leader,
 * whether it has leased the leadership out to a handler, and a stamp.
 * <p>
 * The word has four states, and nobody but the thread named in the third column moves it:
 * <table border="1">
 * <caption>Transitions</caption>
 * <tr>
 * <th>from</th>
 * <th>to</th>
 * <th>by</th>
 * <th>why</th>
 * </tr>
 * <tr>
 * <td>VACANT</td>
 * <td>LED(p)</td>
 * <td>p, any idle participant</td>
 * <td>taking the role is a race: the one whose compare-and-set succeeds leads, the others
 * go on looking</td>
 * </tr>
 * <tr>
 * <td>LED(p)</td>
 * <td>VACANT</td>
 * <td>p only</td>
 * <td>a promotion; published <em>before</em> anybody is woken, so that whoever is awake
 * first may take it, p included</td>
 * </tr>
 * <tr>
 * <td>LED(p)</td>
 * <td>LEASED(p)</td>
 * <td>p only</td>
 * <td>p runs a handler that is expected to be short. From here on p touches nothing that
 * belongs to the leader: somebody else may be it</td>
 * </tr>
 * <tr>
 * <td>LEASED(p)</td>
 * <td>LED(p)</td>
 * <td>p only</td>
 * <td>the handler returned in time; nobody was woken, nothing has changed</td>
 * </tr>
 * <tr>
 * <td>LEASED(p)</td>
 * <td>VACANT</td>
 * <td>p only</td>
 * <td>the handler is about to block and says so, or nobody watches the lease</td>
 * </tr>
 * <tr>
 * <td>LEASED(p)</td>
 * <td>LED(q)</td>
 * <td>q, the follower that watches</td>
 * <td>the lease has run out: a takeover. p notices when it wants the leadership back</td>
 * </tr>
 * <tr>
 * <td>LED(p)</td>
 * <td>RESTING</td>
 * <td>p only</td>
 * <td>the handle set is not in use and has no handles: nobody has to lead it. Some sets
 * begin like that</td>
 * </tr>
 * <tr>
 * <td>RESTING</td>
 * <td>VACANT</td>
 * <td>whoever puts the set into use, or requests something of it</td>
 * <td>opened: published before anybody is woken, like a promotion; see {@link Unfolding}
 * </td>
 * </tr>
 * <tr>
 * <td>RESTING</td>
 * <td>LED(p)</td>
 * <td>p, which has handled an event of the source that rested meanwhile</td>
 * <td>resumed: nobody else has to be woken; see {@link SourcePlaces}</td>
 * </tr>
 * </table>
 * Taking, leasing and taking over each raise the stamp, so a word that was read once and
 * compares equal later is of the same leadership and the same lease: a watcher that comes
 * late cannot take over a lease that has only begun. No ABA: the stamp has 47 bits, which
 * a million leases a second use up in four years, in which a watcher would have to sleep.
 * <p>
 * Everything that only the leader touches (the ready ring, the selector, the timers) is
 * handed from leader to leader by this word: what the old leader wrote before
 * {@link #giveUp} or {@link #lease} is visible to the new one after {@link #take} or
 * {@link #takeOver}.
 */
public class Leadership {

	/** The holder of a leadership that nobody has. */
	public static final int VACANT = 0;

	/** What {@link #leaseWord()} returns if there is no lease. */
	public static final long NOT_LEASED = 0;

	private static final int HOLDER_BITS = 16;

	/** The bits of the holder; and the holder of a leadership that rests. */
	private static final int RESTING = (1 << HOLDER_BITS) - 1;

	/** The highest participant number that the word can hold. */
	public static final int MAX_PARTICIPANT = RESTING - 1;

	private static final long LEASED = 1L << HOLDER_BITS;

	private static final long STAMP = LEASED << 1;

	private static final VarHandle WORD;

	private static final VarHandle LEASED_NANOS;

	private static final VarHandle VACATED_NANOS;

	static {
		try {
			MethodHandles.Lookup lookup = MethodHandles.lookup();
			WORD = lookup.findVarHandle(Leadership.class, "word", long.class);
			LEASED_NANOS = lookup.findVarHandle(Leadership.class, "leasedNanos", long.class);
			VACATED_NANOS = lookup.findVarHandle(Leadership.class, "vacatedNanos", long.class);
		}
		catch (ReflectiveOperationException ex) {
			throw new ExceptionInInitializerError(ex);
		}
	}

	/** {@code stamp << 17 | leased << 16 | holder}. */
	private volatile long word = VACANT;

	/**
	 * When the current lease began. Written by the leader before the word says so, read
	 * by watchers after: what they read is of the lease that they saw, or of a later one,
	 * which their compare-and-set tells apart.
	 */
	private long leasedNanos;

	/**
	 * When it fell vacant; written by the old leader before, read by the new one after,
	 * and by whoever looks at the pool.
	 */
	private long vacatedNanos;

	private boolean vacatedOnce;

	private final int index;

	/** The hand-offs between its leaders. Written by new leaders. */
	private final HandOffs handOffs = new HandOffs();

	private final Sharing sharing = new Sharing();

	/**
	 * Whether the handler that the leader runs on a lease is long enough for another
	 * thread to lead meanwhile. Written before the lease is published; a hint for threads
	 * that look for a leadership, who need not have seen the lease.
	 */
	private volatile boolean worthAProcessor;

	// The leader's: handed on with the leadership

	/** When a handler was run last by a leader that leased the leadership. */
	long dispatchedNanos;

	/** The name of the thread that led before the leadership fell vacant. */
	private @Nullable String leftBy;

	/** The work that the old leader went off to process. */
	private @Nullable HandledWork leftFor;

	private long leftForNumber;

	/** Creates a leadership that nobody has. */
	public Leadership() {
		this(0, System.nanoTime());
	}

	/**
	 * Creates a leadership that nobody has.
	 * @param index its place among the leaderships of a pool, from 0
	 * @param nowNanos the time, {@link System#nanoTime()}
	 */
	public Leadership(int index, long nowNanos) {
		this.index = index;
		this.leasedNanos = nowNanos;
		this.vacatedNanos = nowNanos;
	}

	/**
	 * Its place among the leaderships of a pool.
	 * @return from 0
	 */
	public final int index() {
		return this.index;
	}

	/**
	 * The hand-offs between its leaders. Any thread.
	 * @return read only
	 */
	public final HandOffs handOffs() {
		return this.handOffs;
	}

	/**
	 * How often the ready handles of the set were shared. Any thread.
	 * @return for people who look at the pool
	 */
	public final Sharing sharing() {
		return this.sharing;
	}

	/**
	 * Whether a thread that waits for a reply may lead it: to lead must be no more than
	 * to wait at a selector.
	 * @return {@code true} for handle sets
	 */
	protected boolean mayBeLedByBound() {
		return true;
	}

	/**
	 * Whether the leader waits for events, or is about to. Any thread.
	 * @return {@code false} if it is known to be busy
	 */
	protected boolean isWaitedOn() {
		return false;
	}

	/**
	 * How many handles of the set are ready and wait for a thread. Any thread.
	 * @return about how many
	 */
	protected int readyHandles() {
		return 0;
	}

	/**
	 * For how long leaders have waited for events, all together. Any thread.
	 * @return nanoseconds, up to the latest return from a wait
	 */
	protected long waitedNanos() {
		return 0;
	}

	/**
	 * Whether a set that rests needs a leader. Any thread.
	 * @return whether it is in use, or something is requested of it
	 */
	protected boolean isWanted() {
		return true;
	}

	/** Has a leader that waits look again for how long it may wait. Any thread. */
	protected void endLongWait() {
	}

	/**
	 * Whether the handler that the leader runs on a lease is long enough for a thread
	 * that is awake to lead meanwhile. Any thread.
	 * @return as the leader has written it
	 */
	final boolean isWorthAProcessor() {
		return this.worthAProcessor;
	}

	/** Called by the leader, before it publishes the lease. */
	final void worthAProcessor(boolean isWorthIt) {
		if (isWorthIt != this.worthAProcessor) {
			// Nearly always as before: a volatile store less.
			this.worthAProcessor = isWorthIt;
		}
	}

	/**
	 * Notes who gives the leadership up, and for which work. Called by a leader that has
	 * not leased it before it does so, or by one that has taken it over.
	 * @param leader led until now
	 * @param source the handle that it processes, or {@code null}
	 */
	final void leftBy(Member leader, HandledWork.@Nullable Source source) {
		this.leftBy = leader.thread().getName();
		this.leftFor = (source != null) ? source.work() : null;
		this.leftForNumber = (source != null) ? source.workNumber() : HandledWork.UNNUMBERED;
	}

	/** Records that the leadership has changed hands. Called by the new leader. */
	final void handedOff(Member leader, HandOffKind kind, long vacancyNanos, long nowNanos) {
		this.handOffs.record(nowNanos, vacancyNanos, kind, this.leftBy, leader.thread().getName(), this.leftFor,
				this.leftForNumber);
	}

	/**
	 * Takes the leadership if nobody has it.
	 * @param participant who wants it, from 1 to {@link #MAX_PARTICIPANT}
	 * @return whether the participant leads now
	 */
	public final boolean take(int participant) {
		long current = this.word;
		return holderOf(current) == VACANT && WORD.compareAndSet(this, current, stamped(current) | participant);
	}

	/**
	 * Gives the leadership up, leased or not. The caller then wakes a follower; see
	 * {@link Followers}.
	 * @param participant who leads, or did
	 * @param nowNanos the time, {@link System#nanoTime()}
	 * @return {@code false} if the participant does not lead: nothing was changed
	 */
	public final boolean giveUp(int participant, long nowNanos) {
		long current = this.word;
		if (holderOf(current) != participant) {
			return false;
		}
		long vacant = current & ~(LEASED | RESTING);
		if ((current & LEASED) != 0) {
			// The times belong to the leader, who may be another one by now.
			if (!WORD.compareAndSet(this, current, (current & ~LEASED))) {
				return false;
			}
		}
		// Before the word: a taker may read them as soon as the word is vacant.
		VACATED_NANOS.setOpaque(this, nowNanos);
		this.vacatedOnce = true;
		this.word = vacant;
		return true;
	}

	/**
	 * Ends the leadership of a set that needs no leader.
	 * @param participant the current leader, which has not leased it
	 */
	final void rest(int participant) {
		this.vacatedOnce = true;
		// Nobody else moves a word that is LED. Volatile: the caller looks afterwards
		// whether the set is wanted.
		this.word = this.word & ~participant | RESTING;
	}

	/** Has a set rest from the beginning. To be called before any thread sees it. */
	protected final void rest() {
		this.word = RESTING;
	}

	/**
	 * Makes the leadership of a set that rests vacant. The caller then wakes a follower.
	 * @param nowNanos the time, {@link System#nanoTime()}
	 * @return whether it rested
	 */
	final boolean open(long nowNanos) {
		long current = this.word;
		if (holderOf(current) != RESTING) {
			return false;
		}
		// Before the word. Others that open it, too, write about the same time.
		VACATED_NANOS.setOpaque(this, nowNanos);
		return WORD.compareAndSet(this, current, current & ~RESTING);
	}

	/**
	 * Ends the rest by taking the leadership.
	 * @param participant who takes it
	 * @return whether it rested
	 */
	final boolean resume(int participant) {
		long current = this.word;
		return holderOf(current) == RESTING && WORD.compareAndSet(this, current, stamped(current) | participant);
	}

	/**
	 * Whether the set needs no leader. Any thread.
	 * @return whether nobody leads, and nobody has to
	 */
	public final boolean isResting() {
		return holder() == RESTING;
	}

	/**
	 * Leases the leadership out to a handler that the leader is about to run. The caller
	 * then makes sure that the lease is watched; see {@link LeaseWatch#cover}.
	 * @param participant the current leader, which has not leased it already
	 * @param nowNanos the time, {@link System#nanoTime()}
	 */
	public final void lease(int participant, long nowNanos) {
		LEASED_NANOS.setOpaque(this, nowNanos);
		// Nobody else moves a word that is LED. Volatile: the leader looks afterwards
		// whether somebody watches, a watcher that leaves looks whether there is a lease.
		this.word = stamped(this.word) | LEASED | participant;
	}

	/**
	 * Ends the lease: the handler has returned.
	 * @param participant who leased the leadership
	 * @return whether the participant leads still; {@code false} if it was taken over
	 */
	public final boolean regain(int participant) {
		long current = this.word;
		return holderOf(current) == participant && WORD.compareAndSet(this, current, current & ~LEASED);
	}

	/**
	 * The word, if the leadership is leased now. Any thread.
	 * @return what {@link #takeOver} takes, or {@link #NOT_LEASED}
	 */
	public final long leaseWord() {
		long current = this.word;
		return ((current & LEASED) != 0) ? current : NOT_LEASED;
	}

	/**
	 * When the lease began whose {@link #leaseWord()} the caller has read before, or a
	 * later one. Any thread.
	 * @return {@link System#nanoTime()}
	 */
	public final long leasedNanos() {
		return (long) LEASED_NANOS.getOpaque(this);
	}

	/**
	 * Takes the leadership over from a leader whose handler has not returned.
	 * @param leaseWord what {@link #leaseWord()} returned when the caller looked when the
	 * lease began
	 * @param participant who takes it over
	 * @return whether the participant leads now; {@code false} if that lease has ended
	 */
	public final boolean takeOver(long leaseWord, int participant) {
		return WORD.compareAndSet(this, leaseWord, stamped(leaseWord) | participant);
	}

	/**
	 * How long the leadership was vacant before the current leader took it. To be called
	 * by that leader only, and only if it did not take it over.
	 * @param nowNanos the time, {@link System#nanoTime()}
	 * @return nanoseconds, or -1 if this is the first leadership of all
	 */
	public final long vacancyNanos(long nowNanos) {
		return this.vacatedOnce ? Math.max(0, nowNanos - this.vacatedNanos) : -1;
	}

	/**
	 * Since when it has been vacant, if {@link #holder()} has just said that it is. Any
	 * thread.
	 * @return {@link System#nanoTime()} of that vacancy or a later one; of the creation,
	 * if nobody has led yet
	 */
	public final long vacatedNanos() {
		return (long) VACATED_NANOS.getOpaque(this);
	}

	/**
	 * Who leads, even if it has leased the leadership.
	 * @return the participant's number, {@link #VACANT}, or a higher number than any
	 * participant has if it {@linkplain #isResting rests}
	 */
	public final int holder() {
		return holderOf(this.word);
	}

	/**
	 * Whether nobody leads.
	 * @return whether the leadership can be taken
	 */
	public final boolean isVacant() {
		return holder() == VACANT;
	}

	/**
	 * Whether the leader runs a handler and somebody may have to take over. Any thread.
	 * @return whether the leadership is leased
	 */
	public final boolean isLeased() {
		return (this.word & LEASED) != 0;
	}

	/**
	 * Whether a participant leads, runs a handler and was not taken over. Called by that
	 * participant.
	 * @param participant who leased the leadership
	 * @return {@code false} if it was taken over, or never leased
	 */
	public final boolean isLeasedBy(int participant) {
		long current = this.word;
		return (current & LEASED) != 0 && holderOf(current) == participant;
	}

	/**
	 * How many leaders there have been: the first one, and one for each hand-off. Any
	 * thread.
	 * @return the number of the current or latest term
	 */
	public final long term() {
		return this.handOffs.count() + ((this.word >= STAMP) ? 1 : 0);
	}

	private static long stamped(long word) {
		return (word & -STAMP) + STAMP;
	}

	/**
	 * Who leads, or has leased the leadership.
	 * @param word what {@link #leaseWord()} returned
	 * @return the participant's number
	 */
	public static int holderOf(long word) {
		return (int) word & RESTING;
	}

}
