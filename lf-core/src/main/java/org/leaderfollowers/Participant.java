package org.leaderfollowers;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.time.Duration;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.internal.buffer.SpareBuffers;
import org.leaderfollowers.internal.promotion.Follower;

/**
 * A thread that participates in the pattern: its place among the followers, what it leads
 * and works on, and its buffers. Handles share the buffers of the thread that works on
 * them (the paper, section 13: thread-specific storage), so an idle connection needs
 * none.
 */
final class Participant {

	/** The size of each of the two buffers, in bytes: what one read can take. */
	static final int BUFFER_SIZE = 64 * 1024;

	private static final ThreadLocal<@Nullable Participant> CURRENT = new ThreadLocal<>();

	private static final VarHandle ROLE;

	private static final VarHandle SINCE;

	private static final VarHandle HANDLE;

	static {
		try {
			MethodHandles.Lookup lookup = MethodHandles.lookup();
			ROLE = lookup.findVarHandle(Participant.class, "role", ThreadRole.class);
			SINCE = lookup.findVarHandle(Participant.class, "sinceNanos", long.class);
			HANDLE = lookup.findVarHandle(Participant.class, "handle", SelectableHandle.class);
		}
		catch (ReflectiveOperationException ex) {
			throw new ExceptionInInitializerError(ex);
		}
	}

	final LeaderFollowersPool pool;

	final int number;

	final Thread thread;

	final Follower follower;

	/** Whether the pool started the thread, and may end it. */
	final boolean owned;

	/** Finds messages in what the thread reads. */
	final MessageDecoder decoder = new MessageDecoder();

	/** How far the thread has got with its event. */
	final Turn turn = new Turn();

	/** What it leads. Only its own thread touches this. */
	@Nullable HandleSet leading;

	/** Whether it leased the leadership to the handler that it runs. */
	boolean leased;

	/** When the code of the application began to run. */
	long dispatchNanos;

	/**
	 * When the handler of the latest message of the event returned, or 0 if there has
	 * been none.
	 */
	long handledNanos;

	/** The handle set that it led last, by index. */
	int latestSet = -1;

	/** Whether its thread was interrupted while it took part. */
	boolean interrupted;

	/** Whether its thread has waited for the keep-alive time and ends. */
	boolean retired;

	/** For messages that arrive in parts. */
	final SpareBuffers spareBuffers;

	private @Nullable ByteBuffer input;

	private @Nullable ByteBuffer output;

	private @Nullable ByteBuffer gathered;

	private @Nullable ByteBuffer gatheredView;

	// Read by whoever looks at the pool, some time later: opaque

	@SuppressWarnings("FieldMayBeFinal") // by ROLE
	private ThreadRole role = ThreadRole.FOLLOWER;

	@SuppressWarnings("FieldMayBeFinal") // by SINCE
	private long sinceNanos;

	private @Nullable SelectableHandle handle;

	private volatile boolean withdrawn;

	Participant(LeaderFollowersPool pool, int number, Thread thread, boolean owned, Follower follower) {
		this.pool = pool;
		this.number = number;
		this.thread = thread;
		this.owned = owned;
		this.follower = follower;
		this.sinceNanos = pool.clock.nanoTime();
		this.spareBuffers = new SpareBuffers(pool.memory());
	}

	/**
	 * The participant that the calling thread is.
	 * @return {@code null} outside of a pool
	 */
	static @Nullable Participant current() {
		return CURRENT.get();
	}

	void enter() {
		CURRENT.set(this);
	}

	/** Takes part no more, so that its number can be given to another thread. */
	void exit() {
		this.withdrawn = true;
		if (CURRENT.get() == this) {
			CURRENT.remove();
		}
		// It stays until its number is wanted again.
		this.spareBuffers.discard();
		this.input = null;
		this.output = null;
		this.gathered = null;
		this.gatheredView = null;
	}

	/**
	 * Whether the thread takes part no more.
	 */
	boolean hasWithdrawn() {
		return this.withdrawn;
	}

	/**
	 * Whether it leads, and somebody watches that its handler returns. Its own thread.
	 */
	boolean isOnLease() {
		HandleSet set = this.leading;
		return this.leased && set != null && set.leadership.isLeasedBy(this.number);
	}

	void become(ThreadRole role, long nowNanos) {
		SINCE.setOpaque(this, nowNanos);
		ROLE.setOpaque(this, role);
	}

	void worksOn(@Nullable SelectableHandle handle) {
		HANDLE.setRelease(this, handle);
	}

	@Nullable SelectableHandle handle() {
		return (SelectableHandle) HANDLE.getAcquire(this);
	}

	/**
	 * The buffer to read into, cleared. Belongs to the event that the thread works on.
	 */
	ByteBuffer input() {
		ByteBuffer buffer = this.input;
		if (buffer == null) {
			buffer = ByteBuffer.allocateDirect(BUFFER_SIZE);
			this.input = buffer;
		}
		return buffer.clear();
	}

	/**
	 * The buffer to encode into, cleared. Belongs to one call of
	 * {@link Connection#send(ByteBuffer)}.
	 */
	ByteBuffer output() {
		ByteBuffer buffer = this.output;
		if (buffer == null) {
			buffer = ByteBuffer.allocateDirect(BUFFER_SIZE);
			this.output = buffer;
		}
		return buffer.clear().order(ByteOrder.BIG_ENDIAN);
	}

	/**
	 * The buffer in which several replies of one connection are gathered, in order to be
	 * written at once; its position is the end of the last one. What has been gathered
	 * belongs to the {@link org.leaderfollowers.internal.buffer.OutboundBuffer} of that
	 * connection.
	 */
	ByteBuffer gathered() {
		ByteBuffer buffer = this.gathered;
		if (buffer == null) {
			buffer = ByteBuffer.allocateDirect(BUFFER_SIZE);
			this.gathered = buffer;
			// Whoever writes must not touch the position of the buffer that is encoded
			// into.
			this.gatheredView = buffer.duplicate();
		}
		return buffer;
	}

	/** The same memory as {@link #gathered()}, for whoever writes it. */
	ByteBuffer gatheredView() {
		ByteBuffer view = this.gatheredView;
		if (view == null) {
			throw new IllegalStateException("nothing was gathered");
		}
		return view;
	}

	/**
	 * What the thread does.
	 * @param leads whether the word of some handle set names it
	 * @param nowNanos the time
	 */
	PoolSnapshot.ThreadSnapshot snapshot(boolean leads, long nowNanos) {
		ThreadRole own = (ThreadRole) ROLE.getOpaque(this);
		// The word of the handle set decides who leads; the role may lag behind it.
		ThreadRole seen = leads ? ThreadRole.LEADER : (own == ThreadRole.LEADER) ? ThreadRole.PROCESSING : own;
		// A leader, too, if it runs a handler on a leased leadership.
		SelectableHandle current = (seen != ThreadRole.FOLLOWER) ? handle() : null;
		HandledWork work = (current != null) ? current.handler.work() : null;
		return new PoolSnapshot.ThreadSnapshot(this.thread.getName(), seen,
				Duration.ofNanos(Math.max(0, nowNanos - (long) SINCE.getOpaque(this))),
				(work != null) ? work.server() : null,
				(current != null && work != null) ? work.handle(current.handler.workNumber()) : null,
				(work != null) ? work.handler() : null);
	}

}
