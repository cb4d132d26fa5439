package org.leaderfollowers.internal.promotion;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

import org.jspecify.annotations.Nullable;

/**
 * The part that a thread takes in the promotion protocol: its number in the words of the
 * protocol, its place among the followers, the leadership that it has, and the handle
 * that it works on.
 * <p>
 * Only its own thread touches the fields, unless their comment says otherwise.
 */
public class Member {

	private static final VarHandle ROLE;

	private static final VarHandle SINCE;

	private static final VarHandle WORK;

	static {
		try {
			MethodHandles.Lookup lookup = MethodHandles.lookup();
			ROLE = lookup.findVarHandle(Member.class, "role", Role.class);
			SINCE = lookup.findVarHandle(Member.class, "sinceNanos", long.class);
			WORK = lookup.findVarHandle(Member.class, "work", HandledWork.Source.class);
		}
		catch (ReflectiveOperationException ex) {
			throw new ExceptionInInitializerError(ex);
		}
	}

	/**
	 * The role of a thread, as it has noted it itself; a leader that was taken over from
	 * learns of it later.
	 */
	public enum Role {

		/** Waits for events, or runs a handler on a lease. */
		LEADER,

		/** Processes an event, and leads no more. */
		PROCESSING,

		/** Waits to be promoted. */
		FOLLOWER

	}

	final int number;

	private final Thread thread;

	final Follower follower;

	/** Its place among the {@link BoundThreads}. */
	final Follower bound;

	/** Whether it looks for something to lead while it waits for a reply. */
	boolean isBound;

	private final boolean owned;

	/** Its leadership, unless it was taken over meanwhile. */
	@Nullable Leadership leading;

	/** Whether the leadership is leased to the handler that it runs. */
	boolean leased;

	/**
	 * Whether the handler that it ran last does not block: it may look for more to do for
	 * a moment before it waits.
	 */
	boolean shares;

	/**
	 * Whether it was woken or started and found no vacancy, or has watched leases: others
	 * may count on it until it waits again.
	 */
	boolean countedOn;

	/**
	 * Whether it runs a handler of which it is known that it blocks. Any thread reads.
	 */
	private volatile boolean blocks;

	/** When the current dispatch began. */
	private long dispatchNanos;

	/** When the latest message of the dispatch was handled, or 0. */
	private long handledNanos;

	/** What it had used of the processors when {@link Unfolding} measured last; of it. */
	long processorNanos = ProcessorTime.UNKNOWN;

	/** The index of the leadership that it took last. */
	int latestIndex = -1;

	/** Whether its thread counts no more, and ends. */
	private boolean retired;

	// Read by threads that look at the pool, some time later: opaque

	@SuppressWarnings("FieldMayBeFinal") // by ROLE
	private Role role = Role.FOLLOWER;

	@SuppressWarnings("FieldMayBeFinal") // by SINCE
	private long sinceNanos;

	private HandledWork.@Nullable Source work;

	private volatile boolean withdrawn;

	/**
	 * Creates a member that leads nothing.
	 * @param number identifies it in the words of the protocol
	 * @param follower its place among the followers
	 * @param thread the thread
	 * @param owned whether the pool started the thread, and may end it
	 * @param nowNanos the time, by the clock of the pool
	 */
	public Member(int number, Follower follower, Thread thread, boolean owned, long nowNanos) {
		this.number = number;
		this.follower = follower;
		this.bound = new Follower(number, thread, follower.clock);
		this.thread = thread;
		this.owned = owned;
		this.sinceNanos = nowNanos;
	}

	/**
	 * What identifies it in the words of the protocol. Any thread.
	 * @return from 1
	 */
	public final int number() {
		return this.number;
	}

	/**
	 * The thread. Any thread.
	 * @return the thread that takes part
	 */
	public final Thread thread() {
		return this.thread;
	}

	/**
	 * Whether the pool started the thread, and may end it. Any thread.
	 * @return {@code false} for threads of the application that have joined
	 */
	public final boolean isOwned() {
		return this.owned;
	}

	/**
	 * The leadership of the thread. Its own thread.
	 * @return {@code null} if it has none; it may have been taken over
	 */
	public final @Nullable Leadership leading() {
		return this.leading;
	}

	/**
	 * Whether it leads, and another thread watches that its handler returns. Its own
	 * thread.
	 * @return {@code false} if it leads without a lease, does not lead, or was taken over
	 */
	public final boolean isOnLease() {
		Leadership current = this.leading;
		return this.leased && current != null && current.isLeasedBy(this.number);
	}

	boolean mayLead(Leadership leadership) {
		return !this.isBound || leadership.mayBeLedByBound();
	}

	void become(Role next, long nowNanos) {
		SINCE.setOpaque(this, nowNanos);
		ROLE.setOpaque(this, next);
	}

	/**
	 * The role. Any thread.
	 * @return as the thread has noted it
	 */
	public final Role role() {
		return (Role) ROLE.getOpaque(this);
	}

	/**
	 * Since when it has its role. Any thread.
	 * @return by the clock of the pool
	 */
	public final long sinceNanos() {
		return (long) SINCE.getOpaque(this);
	}

	/**
	 * Notes the handle that the thread works on. Its own thread.
	 * @param source the handle, or {@code null} if it is done
	 */
	public final void worksOn(HandledWork.@Nullable Source source) {
		WORK.setRelease(this, source);
	}

	/**
	 * The handle that the thread works on. Any thread.
	 * @return {@code null} if it works on none
	 */
	public final HandledWork.@Nullable Source work() {
		return (HandledWork.Source) WORK.getAcquire(this);
	}

	/**
	 * Writes the replies that the thread has kept back, since others lead while its
	 * handler runs. Any thread.
	 */
	final void uncork() {
		HandledWork.Source current = work();
		if (current != null) {
			current.uncork();
		}
	}

	final void blocks(boolean isKnownToBlock) {
		this.blocks = isKnownToBlock;
	}

	/**
	 * Whether it runs a handler of which it is known that it blocks. Any thread.
	 * @return whether it needs no processor, most likely
	 */
	public final boolean isBlocking() {
		return this.blocks;
	}

	// One dispatch: when it began, and when its latest message was handled

	final void beginDispatch(long nowNanos) {
		this.dispatchNanos = nowNanos;
		this.handledNanos = 0;
	}

	/**
	 * When the current dispatch began, without the time that a promotion took. Its own
	 * thread.
	 * @return by the clock of the pool
	 */
	public final long dispatchNanos() {
		return this.dispatchNanos;
	}

	/**
	 * Notes that a message was handled. Its own thread.
	 * @param nowNanos the time, by the clock of the pool
	 * @return how long the message took: since the one before it, or since the dispatch
	 * began
	 */
	public final long handled(long nowNanos) {
		long began = (this.handledNanos != 0) ? this.handledNanos : this.dispatchNanos;
		this.handledNanos = nowNanos;
		return nowNanos - began;
	}

	/**
	 * When the latest message of the dispatch was handled. Its own thread.
	 * @return by the clock of the pool, or 0 if there was none
	 */
	public final long handledNanos() {
		return this.handledNanos;
	}

	/**
	 * The latest time that is known from a dispatch, once. Its own thread.
	 * @return by the clock of the pool, or 0 if there was no message since this was asked
	 */
	public final long takeHandledNanos() {
		long nanos = this.handledNanos;
		this.handledNanos = 0;
		return nanos;
	}

	// The end

	final void retire() {
		this.retired = true;
	}

	/**
	 * Whether the thread counts no more, and ends. Its own thread.
	 * @return whether it was counted out
	 */
	public final boolean isRetired() {
		return this.retired;
	}

	/** Takes part no more, so that the number can be given to another thread. */
	protected void withdraw() {
		this.withdrawn = true;
	}

	/**
	 * Whether the thread takes part no more. Any thread.
	 * @return whether its number may belong to another thread
	 */
	public final boolean hasWithdrawn() {
		return this.withdrawn;
	}

}
