package org.leaderfollowers.internal.promotion;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.internal.linkage.Linkage;

/**
 * The leadership of one handle set: a single atomic word that holds the current leader,
 * whether it has leased the leadership out to a handler, and a stamp.
 * <p>
 * Only the thread in the third column changes the word:
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
 * <td>taking the leadership is a race: the thread whose compare-and-set succeeds leads,
 * the others continue to look</td>
 * </tr>
 * <tr>
 * <td>LED(p)</td>
 * <td>VACANT</td>
 * <td>p only</td>
 * <td>a promotion; published <em>before</em> a follower is woken, so that the first
 * thread that is awake may take it, even p</td>
 * </tr>
 * <tr>
 * <td>LED(p)</td>
 * <td>LEASED(p)</td>
 * <td>p only</td>
 * <td>p runs a handler that is expected to be short. From here on, p uses nothing that
 * belongs to the leader, because another thread may lead</td>
 * </tr>
 * <tr>
 * <td>LEASED(p)</td>
 * <td>LED(p)</td>
 * <td>p only</td>
 * <td>the handler returned in time; no thread was woken, and nothing has changed</td>
 * </tr>
 * <tr>
 * <td>LEASED(p)</td>
 * <td>VACANT</td>
 * <td>p only</td>
 * <td>the handler announces that it will block, or no thread watches the lease</td>
 * </tr>
 * <tr>
 * <td>LEASED(p)</td>
 * <td>LED(q)</td>
 * <td>q, the follower that watches</td>
 * <td>the lease has expired: a takeover. p notices it when it tries to regain the
 * leadership</td>
 * </tr>
 * <tr>
 * <td>LED(p)</td>
 * <td>RESTING</td>
 * <td>p only</td>
 * <td>the handle set is not in use and has no handles, so it needs no leader. Some sets
 * begin in this state</td>
 * </tr>
 * <tr>
 * <td>RESTING</td>
 * <td>VACANT</td>
 * <td>a thread that takes the set into use or requests something of it</td>
 * <td>opened: published before a thread is woken, like a promotion; see {@link Unfolding}
 * </td>
 * </tr>
 * <tr>
 * <td>RESTING</td>
 * <td>LED(p)</td>
 * <td>p, which has handled an event of an event source that was at rest meanwhile</td>
 * <td>resumed: no other thread has to be woken; see {@link SourcePlaces}</td>
 * </tr>
 * </table>
 * Taking, leasing and taking over each increase the stamp. A word that still compares
 * equal therefore belongs to the same leadership and the same lease, so a watcher that
 * comes late cannot take over a lease that has only just begun. There is no ABA problem:
 * the stamp has 47 bits, and a million leases a second use them up in four years.
 * <p>
 * This word also passes on everything that only the leader uses (the ready ring, the
 * selector, the timers): the new leader sees after {@link #take} or {@link #takeOver}
 * what the old leader wrote before {@link #giveUp} or {@link #lease}.
 */
public class Leadership {

	/** The holder of a vacant leadership. */
	public static final int VACANT = 0;

	/** What {@link #leaseWord()} returns if there is no lease. */
	public static final long NOT_LEASED = 0;

	private static final int HOLDER_BITS = 16;

	/** The bits of the holder, and also the holder of a leadership that rests. */
	private static final int RESTING = (1 << HOLDER_BITS) - 1;

	/** The highest participant number that the word can hold. */
	public static final int MAX_PARTICIPANT = RESTING - 1;

	private static final long LEASED = 1L << HOLDER_BITS;

	private static final long STAMP = LEASED << 1;

	private static final VarHandle WORD;

	private static final VarHandle LEASED_NANOS;

	private static final VarHandle VACATED_NANOS;

	private static final VarHandle BOUND_LEAD;

	static {
		try {
			MethodHandles.Lookup lookup = MethodHandles.lookup();
			WORD = lookup.findVarHandle(Leadership.class, "word", long.class);
			LEASED_NANOS = lookup.findVarHandle(Leadership.class, "leasedNanos", long.class);
			VACATED_NANOS = lookup.findVarHandle(Leadership.class, "vacatedNanos", long.class);
			BOUND_LEAD = lookup.findVarHandle(Leadership.class, "boundLead", BoundLead.class);
		}
		catch (ReflectiveOperationException ex) {
			throw new ExceptionInInitializerError(ex);
		}
		Linkage.link(() -> WORD.compareAndSet((Leadership) null, 0L, 0L), () -> {
			long ignored = (long) VACATED_NANOS.getOpaque((Leadership) null);
		}, () -> VACATED_NANOS.setOpaque((Leadership) null, 0L),
				() -> BOUND_LEAD.compareAndSet((Leadership) null, (BoundLead) null, (BoundLead) null));
	}

	/** {@code stamp << 17 | leased << 16 | holder}. */
	private volatile long word = VACANT;

	/**
	 * When the current lease began. The leader writes it before the word, and watchers
	 * read it after the word. Their value belongs to the lease that they saw or to a
	 * later one, which their compare-and-set detects.
	 */
	private long leasedNanos;

	/**
	 * When the leadership became vacant. The old leader writes it before the word; the
	 * new leader and monitoring threads read it after the word.
	 */
	private long vacatedNanos;

	private boolean vacatedOnce;

	private final int index;

	/** The hand-offs between its leaders. Written by new leaders. */
	private final HandOffs handOffs = new HandOffs();

	private final Sharing sharing = new Sharing();

	/**
	 * Whether the handler that runs under a lease takes long enough for another thread to
	 * lead meanwhile. Written before the lease is published. It is only a hint: threads
	 * that look for a leadership need not have seen the lease.
	 */
	private volatile boolean worthAProcessor;

	/** Any thread reads it. {@link BoundLead} says which thread writes it. */
	private volatile BoundLead boundLead = BoundLead.NONE;

	// Used by the leader only; passed on with the leadership

	/** When a leader last ran a handler under a lease. */
	long dispatchedNanos;

	/** The name of the thread that led before the leadership became vacant. */
	private @Nullable String leftBy;

	/** The work that the old leader processes. */
	private @Nullable HandledWork leftFor;

	private long leftForNumber;

	/** Creates a vacant leadership. */
	public Leadership() {
		this(0, System.nanoTime());
	}

	/**
	 * Creates a vacant leadership.
	 * @param index its index among the leaderships of a pool, from 0
	 * @param nowNanos the current time, {@link System#nanoTime()}
	 */
	public Leadership(int index, long nowNanos) {
		this.index = index;
		this.leasedNanos = nowNanos;
		this.vacatedNanos = nowNanos;
	}

	/**
	 * Its index among the leaderships of a pool.
	 * @return from 0
	 */
	public final int index() {
		return this.index;
	}

	/**
	 * The hand-offs between its leaders. Any thread.
	 * @return the hand-offs, for reading only
	 */
	public final HandOffs handOffs() {
		return this.handOffs;
	}

	/**
	 * The figures about sharing the ready handles of the set. Any thread.
	 * @return the figures, for monitoring
	 */
	public final Sharing sharing() {
		return this.sharing;
	}

	/**
	 * Whether a thread that waits for a reply may lead: only if leading means nothing but
	 * waiting at a selector.
	 * @return {@code true} for handle sets
	 */
	protected boolean mayBeLedByBound() {
		return true;
	}

	/**
	 * Whether the leader waits for events or is about to. Any thread.
	 * @return {@code false} if it is known to be busy
	 */
	protected boolean isWaitedOn() {
		return false;
	}

	/**
	 * How many handles of the set are ready and wait for a thread. Any thread.
	 * @return an approximate number
	 */
	protected int readyHandles() {
		return 0;
	}

	/**
	 * How long leaders have waited for events in total. Any thread.
	 * @return nanoseconds, up to the latest return from a wait
	 */
	protected long waitedNanos() {
		return 0;
	}

	/**
	 * Whether a set at rest needs a leader. Any thread.
	 * @return whether the set is in use or something is requested of it
	 */
	protected boolean isWanted() {
		return true;
	}

	/** Ends the wait of the leader, if it waits. Any thread. */
	protected void endWait() {
	}

	/** Makes a waiting leader compute again how long it may wait. Any thread. */
	protected void endLongWait() {
	}

	/**
	 * Whether the handler that runs under a lease takes long enough for an idle thread to
	 * lead meanwhile. Any thread.
	 * @return the value that the leader has written
	 */
	final boolean isWorthAProcessor() {
		return this.worthAProcessor;
	}

	/** Sets this value. Called by the leader before it publishes the lease. */
	final void worthAProcessor(boolean isWorthIt) {
		if (isWorthIt != this.worthAProcessor) {
			// The value is nearly always unchanged, so this saves a volatile store.
			this.worthAProcessor = isWorthIt;
		}
	}

	/** What a bound thread has to do with this leadership. Any thread. */
	final BoundLead boundLead() {
		return this.boundLead;
	}

	/** Changes this state. Called by the leader, while it does not wait. */
	final void boundLead(BoundLead next) {
		if (next != this.boundLead) {
			// It is nearly always unchanged, so this saves a volatile store.
			this.boundLead = next;
		}
	}

	/** Lets any thread take a leadership that was left for an unbound one. Any thread. */
	final void leaveToAnybody() {
		BOUND_LEAD.compareAndSet(this, BoundLead.LEFT, BoundLead.NONE);
	}

	/**
	 * Records which thread gives the leadership up, and for which work. Called by a
	 * leader without a lease before it gives up, or by a thread that has taken over.
	 * @param leader the thread that led until now
	 * @param source the handle that this thread processes, or {@code null}
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
	 * Takes the leadership if it is vacant.
	 * @param participant the number of the thread, from 1 to {@link #MAX_PARTICIPANT}
	 * @return whether the thread leads now
	 */
	public final boolean take(int participant) {
		long current = this.word;
		return holderOf(current) == VACANT && WORD.compareAndSet(this, current, stamped(current) | participant);
	}

	/**
	 * Gives the leadership up, with or without a lease. The caller then wakes a follower;
	 * see {@link Followers}.
	 * @param participant the number of the thread that led
	 * @param nowNanos the current time, {@link System#nanoTime()}
	 * @return {@code false} if the thread does not lead: nothing was changed
	 */
	public final boolean giveUp(int participant, long nowNanos) {
		long current = this.word;
		if (holderOf(current) != participant) {
			return false;
		}
		long vacant = current & ~(LEASED | RESTING);
		if ((current & LEASED) != 0) {
			// The times belong to the leader, which may be another thread by now.
			if (!WORD.compareAndSet(this, current, (current & ~LEASED))) {
				return false;
			}
		}
		// Before the word, because another thread may read the times as soon as the word
		// says vacant.
		VACATED_NANOS.setOpaque(this, nowNanos);
		this.vacatedOnce = true;
		this.word = vacant;
		return true;
	}

	/**
	 * Ends the leadership of a set that needs no leader.
	 * @param participant the number of the leader, which has no lease
	 */
	final void rest(int participant) {
		this.vacatedOnce = true;
		// Only the leader changes a word that is LED. A volatile store, because the
		// caller then checks whether the set is wanted.
		this.word = this.word & ~participant | RESTING;
	}

	/**
	 * Puts the set to rest from the beginning. Must be called before any other thread
	 * sees this object.
	 */
	protected final void rest() {
		this.word = RESTING;
	}

	/**
	 * Makes the leadership of a set at rest vacant. The caller then wakes a follower.
	 * @param nowNanos the current time, {@link System#nanoTime()}
	 * @return whether the set was at rest
	 */
	final boolean open(long nowNanos) {
		long current = this.word;
		if (holderOf(current) != RESTING) {
			return false;
		}
		// Before the word. Other threads that open it at the same time write about the
		// same time.
		VACATED_NANOS.setOpaque(this, nowNanos);
		return WORD.compareAndSet(this, current, current & ~RESTING);
	}

	/**
	 * Ends the rest by taking the leadership.
	 * @param participant the number of the thread that takes it
	 * @return whether the set was at rest
	 */
	final boolean resume(int participant) {
		long current = this.word;
		return holderOf(current) == RESTING && WORD.compareAndSet(this, current, stamped(current) | participant);
	}

	/**
	 * Whether the set needs no leader. Any thread.
	 * @return whether no thread leads or has to lead
	 */
	public final boolean isResting() {
		return holder() == RESTING;
	}

	/**
	 * Leases the leadership to a handler that the leader is about to run. The caller then
	 * makes sure that the lease is watched; see {@link LeaseWatch#cover}.
	 * @param participant the number of the leader, which has no lease yet
	 * @param nowNanos the current time, {@link System#nanoTime()}
	 */
	public final void lease(int participant, long nowNanos) {
		LEASED_NANOS.setOpaque(this, nowNanos);
		// Only the leader changes a word that is LED. A volatile store: the leader then
		// checks whether a thread watches, and a watcher that leaves checks whether there
		// is a lease.
		this.word = stamped(this.word) | LEASED | participant;
	}

	/**
	 * Ends the lease, because the handler has returned.
	 * @param participant the number of the thread that leased the leadership
	 * @return whether the thread still leads; {@code false} if another one took over
	 */
	public final boolean regain(int participant) {
		long current = this.word;
		return holderOf(current) == participant && WORD.compareAndSet(this, current, current & ~LEASED);
	}

	/**
	 * The word, if there is a lease. Any thread.
	 * @return the argument for {@link #takeOver}, or {@link #NOT_LEASED}
	 */
	public final long leaseWord() {
		long current = this.word;
		return ((current & LEASED) != 0) ? current : NOT_LEASED;
	}

	/**
	 * When the lease began whose {@link #leaseWord()} the caller has read before. The
	 * result may belong to a later lease. Any thread.
	 * @return {@link System#nanoTime()}
	 */
	public final long leasedNanos() {
		return (long) LEASED_NANOS.getOpaque(this);
	}

	/**
	 * Takes the leadership over from a leader whose handler has not returned.
	 * @param leaseWord the result of {@link #leaseWord()} from before the caller read
	 * when the lease began
	 * @param participant the number of the thread that takes over
	 * @return whether the thread leads now; {@code false} if that lease has ended
	 */
	public final boolean takeOver(long leaseWord, int participant) {
		return WORD.compareAndSet(this, leaseWord, stamped(leaseWord) | participant);
	}

	/**
	 * How long the leadership was vacant before the current leader took it. Called only
	 * by that leader, and only if it did not take over from another one.
	 * @param nowNanos the current time, {@link System#nanoTime()}
	 * @return nanoseconds, or -1 if there was no leader before
	 */
	public final long vacancyNanos(long nowNanos) {
		return this.vacatedOnce ? Math.max(0, nowNanos - this.vacatedNanos) : -1;
	}

	/**
	 * Since when the leadership has been vacant, if {@link #holder()} has just returned
	 * {@link #VACANT}. Any thread.
	 * @return {@link System#nanoTime()} of that vacancy or a later one; of the creation,
	 * if there was no leader before
	 */
	public final long vacatedNanos() {
		return (long) VACATED_NANOS.getOpaque(this);
	}

	/**
	 * The leader, with or without a lease.
	 * @return the number of the thread, {@link #VACANT}, or a higher number than any
	 * thread has if the leadership {@linkplain #isResting rests}
	 */
	public final int holder() {
		return holderOf(this.word);
	}

	/**
	 * The word. If two calls return equal values, nothing has changed in between. Any
	 * thread.
	 * @return the argument for {@link #isLedWithoutLease} and {@link #holderOf}
	 */
	public final long word() {
		return this.word;
	}

	/**
	 * Whether there is a leader that has not leased the leadership.
	 * @param word a result of {@link #word()}
	 * @return {@code false} if the leadership is vacant, leased or at rest
	 */
	public static boolean isLedWithoutLease(long word) {
		int holder = holderOf(word);
		return (word & LEASED) == 0 && holder != VACANT && holder != RESTING;
	}

	/**
	 * Whether the leadership is vacant.
	 * @return whether the leadership can be taken
	 */
	public final boolean isVacant() {
		return holder() == VACANT;
	}

	/**
	 * Whether the leader runs a handler under a lease, so that another thread may have to
	 * take over. Any thread.
	 * @return whether the leadership is leased
	 */
	public final boolean isLeased() {
		return (this.word & LEASED) != 0;
	}

	/**
	 * Whether a thread leads under a lease and no other thread took over. Called by that
	 * thread.
	 * @param participant the number of the thread
	 * @return {@code false} if another thread took over or there was no lease
	 */
	public final boolean isLeasedBy(int participant) {
		long current = this.word;
		return (current & LEASED) != 0 && holderOf(current) == participant;
	}

	/**
	 * How many leaders there have been: the first one, and one more for each hand-off.
	 * Any thread.
	 * @return the number of the current or latest term
	 */
	public final long term() {
		return this.handOffs.count() + ((this.word >= STAMP) ? 1 : 0);
	}

	private static long stamped(long word) {
		return (word & -STAMP) + STAMP;
	}

	/**
	 * The leader that a word names.
	 * @param word a result of {@link #leaseWord()} or {@link #word()}
	 * @return the number of the thread
	 */
	public static int holderOf(long word) {
		return (int) word & RESTING;
	}

}
