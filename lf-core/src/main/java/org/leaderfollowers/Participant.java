package org.leaderfollowers;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.time.Duration;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.promotion.Follower;

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

	final LeaderFollowersPool pool;

	final int number;

	final Thread thread;

	final Follower follower;

	/** Whether the pool started the thread, and may end it. */
	final boolean owned;

	final Framing.Frame frame = new Framing.Frame();

	/** What it leads. Only its own thread touches this. */
	@Nullable HandleSet leading;

	/** Whether it leased the leadership to the handler that it runs. */
	boolean leased;

	/** Whether it runs code of the application. */
	boolean dispatching;

	/** When that began. */
	long dispatchNanos;

	/** The handle set that it led last, by index. */
	int latestSet = -1;

	/** Whether its thread was interrupted while it took part. */
	boolean interrupted;

	/** Whether its thread has waited for the keep-alive time and ends. */
	boolean retired;

	private @Nullable ByteBuffer input;

	private @Nullable ByteBuffer output;

	// Read by whoever looks at the pool

	private volatile ThreadRole role = ThreadRole.FOLLOWER;

	private volatile long sinceNanos = System.nanoTime();

	private volatile @Nullable SelectableHandle handle;

	private volatile boolean withdrawn;

	Participant(LeaderFollowersPool pool, int number, Thread thread, boolean owned, Follower follower) {
		this.pool = pool;
		this.number = number;
		this.thread = thread;
		this.owned = owned;
		this.follower = follower;
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
		this.input = null;
		this.output = null;
	}

	/**
	 * Whether the thread takes part no more.
	 */
	boolean hasWithdrawn() {
		return this.withdrawn;
	}

	void become(ThreadRole role, long nowNanos) {
		this.sinceNanos = nowNanos;
		this.role = role;
	}

	void worksOn(@Nullable SelectableHandle handle) {
		this.handle = handle;
	}

	@Nullable SelectableHandle handle() {
		return this.handle;
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
	 * What the thread does.
	 * @param leads whether the word of some handle set names it
	 * @param nowNanos the time
	 */
	PoolSnapshot.ThreadSnapshot snapshot(boolean leads, long nowNanos) {
		ThreadRole own = this.role;
		// The word of the handle set decides who leads; the role may lag behind it.
		ThreadRole seen = leads ? ThreadRole.LEADER : (own == ThreadRole.LEADER) ? ThreadRole.PROCESSING : own;
		SelectableHandle current = (seen == ThreadRole.PROCESSING) ? this.handle : null;
		return new PoolSnapshot.ThreadSnapshot(this.thread.getName(), seen,
				Duration.ofNanos(Math.max(0, nowNanos - this.sinceNanos)),
				(current != null) ? current.handler.toString() : null,
				(current != null && current.handler instanceof TcpConnection connection) ? connection.handlerName()
						: null);
	}

}
