package org.leaderfollowers.internal.promotion;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.internal.linkage.Linkage;

/**
 * A thread's part in the promotion protocol: its number in the words of the protocol, its
 * place among the followers, the leadership that it has, and the handle that it works on.
 * <p>
 * Only its own thread uses the fields, unless their comment says otherwise.
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
		Linkage.link(() -> {
			Role ignored = (Role) ROLE.getOpaque((Member) null);
		}, () -> ROLE.setOpaque((Member) null, (Role) null), () -> {
			long ignored = (long) SINCE.getOpaque((Member) null);
		}, () -> SINCE.setOpaque((Member) null, 0L), () -> {
			HandledWork.Source ignored = (HandledWork.Source) WORK.getAcquire((Member) null);
		}, () -> WORK.setRelease((Member) null, (HandledWork.Source) null));
	}

	/**
	 * The role of a thread, as the thread has recorded it. A leader that was taken over
	 * from learns of this later.
	 */
	public enum Role {

		/** Waits for events, or runs a handler under a lease. */
		LEADER,

		/** Processes an event and does not lead. */
		PROCESSING,

		/** Waits to be promoted. */
		FOLLOWER

	}

	final int number;

	private final Thread thread;

	final Follower follower;

	/** Its place among the {@link BoundThreads}. */
	final Follower bound;

	/** Whether it looks for a leadership while it waits for a reply. */
	boolean isBound;

	private final boolean owned;

	/** The leadership that it has, unless another thread took over, or {@code null}. */
	@Nullable Leadership leading;

	/** Whether the leadership is leased to the handler that it runs. */
	boolean leased;

	/**
	 * Whether the handler that it ran last does not block. The thread may then look for
	 * more work for a moment before it waits.
	 */
	boolean shares;

	/**
	 * Whether it was woken or started and found no vacancy, or has watched leases. Until
	 * it waits again, other threads may rely on it.
	 */
	boolean countedOn;

	/** Whether it runs a handler that is known to block. Any thread reads it. */
	private volatile boolean blocks;

	/** When the current dispatch began. */
	private long dispatchNanos;

	/** When the latest message of the dispatch was handled, or 0 if there was none. */
	private long handledNanos;

	/**
	 * The processor time that it had used when {@link Unfolding} last measured; only that
	 * class uses this field.
	 */
	long processorNanos = ProcessorTime.UNKNOWN;

	/** The index of the leadership that it took last. */
	int latestIndex = -1;

	/** Whether the thread no longer counts and will end. */
	private boolean retired;

	// Read in opaque mode by monitoring threads

	@SuppressWarnings("FieldMayBeFinal") // changed through ROLE
	private Role role = Role.FOLLOWER;

	@SuppressWarnings("FieldMayBeFinal") // changed through SINCE
	private long sinceNanos;

	private HandledWork.@Nullable Source work;

	private volatile boolean withdrawn;

	/**
	 * Creates a member without a leadership.
	 * @param number identifies it in the words of the protocol
	 * @param follower its place among the followers
	 * @param thread the thread
	 * @param owned whether the pool started the thread, and may end it
	 * @param nowNanos the current time, by the clock of the pool
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
	 * The number of the thread in the words of the protocol. Any thread.
	 * @return from 1
	 */
	public final int number() {
		return this.number;
	}

	/**
	 * The thread. Any thread.
	 * @return the thread that participates
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
	 * Clears the interrupt status, which would turn every wait into a busy loop. It is
	 * restored when the thread leaves the pool. Called by the thread itself.
	 */
	public final void deferInterrupt() {
		this.follower.deferInterrupt();
	}

	/**
	 * Whether an interrupt was deferred. Called by the thread itself.
	 * @return whether the interrupt status has to be restored
	 */
	public final boolean isInterruptDeferred() {
		return this.follower.isInterruptDeferred();
	}

	/**
	 * The leadership of the thread. Called by the thread itself.
	 * @return {@code null} if it has none; another thread may have taken it over
	 */
	public final @Nullable Leadership leading() {
		return this.leading;
	}

	/**
	 * Whether the thread leads under a lease, which another thread watches. Called by the
	 * thread itself.
	 * @return {@code false} if it leads without a lease, does not lead, or was taken over
	 */
	public final boolean isOnLease() {
		Leadership current = this.leading;
		return this.leased && current != null && current.isLeasedBy(this.number);
	}

	/**
	 * Whether the thread leads and must not block. A handler that runs under a lease may
	 * block. Called by the thread itself.
	 * @return whether it leads without a lease
	 */
	protected final boolean leadsUnleased() {
		return this.leading != null && !this.leased;
	}

	void become(Role next, long nowNanos) {
		SINCE.setOpaque(this, nowNanos);
		ROLE.setOpaque(this, next);
	}

	/**
	 * The role. Any thread.
	 * @return the role that the thread has recorded
	 */
	public final Role role() {
		return (Role) ROLE.getOpaque(this);
	}

	/**
	 * When the thread began to play its role. Any thread.
	 * @return by the clock of the pool
	 */
	public final long sinceNanos() {
		return (long) SINCE.getOpaque(this);
	}

	/**
	 * Records the handle that the thread works on. Called by the thread itself.
	 * @param source the handle, or {@code null} when the work is finished
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
	 * Writes the replies that the thread has corked. Called when another thread leads
	 * while the handler of this one runs. Any thread.
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
	 * Whether the thread runs a handler that is known to block. Any thread.
	 * @return whether the thread probably needs no processor
	 */
	public final boolean isBlocking() {
		return this.blocks;
	}

	// One dispatch

	final void beginDispatch(long nowNanos) {
		this.dispatchNanos = nowNanos;
		this.handledNanos = 0;
	}

	/**
	 * When the current dispatch began, without the time for a promotion. Called by the
	 * thread itself, or by a monitoring thread that reads an earlier value for a moment.
	 * @return by the clock of the pool
	 */
	public final long dispatchNanos() {
		return this.dispatchNanos;
	}

	/**
	 * Records that a message was handled. Called by the thread itself.
	 * @param nowNanos the current time, by the clock of the pool
	 * @return how long the message took: since the previous message, or since the
	 * dispatch began
	 */
	public final long handled(long nowNanos) {
		long began = (this.handledNanos != 0) ? this.handledNanos : this.dispatchNanos;
		this.handledNanos = nowNanos;
		return nowNanos - began;
	}

	/**
	 * When the latest message of the dispatch was handled. Called by the thread itself.
	 * @return by the clock of the pool, or 0 if there was none
	 */
	public final long handledNanos() {
		return this.handledNanos;
	}

	/**
	 * The time when the latest message was handled. Resets it. Called by the thread
	 * itself.
	 * @return the time by the clock of the pool, or 0 if no message was handled since the
	 * last call
	 */
	public final long takeHandledNanos() {
		long nanos = this.handledNanos;
		this.handledNanos = 0;
		return nanos;
	}

	// Leaving the pool

	final void retire() {
		this.retired = true;
	}

	/**
	 * Whether the thread no longer counts and will end. Called by the thread itself.
	 * @return whether it was counted out
	 */
	public final boolean isRetired() {
		return this.retired;
	}

	/** Ends the participation, so that the number can be given to another thread. */
	protected void withdraw() {
		this.withdrawn = true;
	}

	/**
	 * Whether the thread no longer participates. Any thread.
	 * @return whether its number may belong to another thread
	 */
	public final boolean hasWithdrawn() {
		return this.withdrawn;
	}

}
