package org.leaderfollowers;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.time.Duration;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.internal.buffer.MemoryBudget;
import org.leaderfollowers.internal.buffer.SpareBuffers;
import org.leaderfollowers.internal.promotion.Follower;
import org.leaderfollowers.internal.promotion.HandledWork;
import org.leaderfollowers.internal.promotion.Member;
import org.leaderfollowers.internal.promotion.PromotionProtocol;

/**
 * A thread that participates in the pattern: beside its part in the promotion protocol,
 * the buffers that it lends to the handle that it works on (the paper, section 13:
 * thread-specific storage). So an idle connection needs none.
 */
final class Participant extends Member {

	/** The size of each buffer, in bytes: the most that one read can take. */
	static final int BUFFER_SIZE = 64 * 1024;

	private static final ThreadLocal<@Nullable Participant> CURRENT = new ThreadLocal<>();

	private final PromotionProtocol promotion;

	/** Finds messages in what the thread reads. */
	final MessageDecoder decoder = new MessageDecoder();

	/** How far the thread has got with its event. */
	final Turn turn = new Turn();

	/** Whether its thread was interrupted while it took part. */
	private boolean interrupted;

	/** For messages that arrive in parts. */
	final SpareBuffers spareBuffers;

	private @Nullable ByteBuffer input;

	private @Nullable ByteBuffer output;

	private @Nullable ByteBuffer gathered;

	private @Nullable ByteBuffer gatheredView;

	Participant(int number, Follower follower, Thread thread, boolean owned, PromotionProtocol promotion,
			MemoryBudget memory, long nowNanos) {
		super(number, follower, thread, owned, nowNanos);
		this.promotion = promotion;
		this.spareBuffers = new SpareBuffers(memory);
	}

	/**
	 * The participant that the calling thread is.
	 * @return {@code null} outside of a pool
	 */
	static @Nullable Participant current() {
		return CURRENT.get();
	}

	/**
	 * To be called by public methods that may block: whatever pool the calling thread
	 * belongs to, it does not block as a leader.
	 */
	static void promoteBeforeBlocking() {
		Participant me = current();
		if (me != null) {
			me.promotion.promoteNewLeader(me);
		}
	}

	/** Whether the thread takes part in a pool. */
	boolean isOf(PromotionProtocol candidate) {
		return this.promotion == candidate;
	}

	void enter() {
		CURRENT.set(this);
	}

	@Override
	protected void withdraw() {
		super.withdraw();
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
	 * Clears the interrupt status: it would turn every wait into a spin. It is restored
	 * when the thread leaves the pool.
	 */
	void deferInterrupt() {
		if (Thread.interrupted()) {
			this.interrupted = true;
		}
	}

	void restoreInterrupt() {
		if (this.interrupted && !isOwned()) {
			thread().interrupt();
		}
	}

	/** Begins to process an event of a handle. */
	void begin(SelectableHandle handle) {
		worksOn(handle);
		takeHandledNanos();
		this.turn.begin();
	}

	/** Whether it leads a handle set, as far as it knows. Its own thread. */
	boolean leads(HandleSet set) {
		return leading() == set.leadership;
	}

	/** The handle that the thread works on. Any thread. */
	@Nullable SelectableHandle handle() {
		return (SelectableHandle) work();
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
	 * written at once; its position is the end of the last one. The gathered bytes belong
	 * to the {@link org.leaderfollowers.internal.buffer.OutboundBuffer} of that
	 * connection.
	 */
	ByteBuffer gathered() {
		ByteBuffer buffer = this.gathered;
		if (buffer == null) {
			buffer = ByteBuffer.allocateDirect(BUFFER_SIZE);
			this.gathered = buffer;
			// A thread that writes must not touch the position of the buffer that is
			// encoded into.
			this.gatheredView = buffer.duplicate();
		}
		return buffer;
	}

	/** The same memory as {@link #gathered()}, for the thread that writes it. */
	ByteBuffer gatheredView() {
		ByteBuffer view = this.gatheredView;
		if (view == null) {
			throw new IllegalStateException("nothing was gathered");
		}
		return view;
	}

	/**
	 * A look at the thread.
	 * @param leads whether the word of some handle set names it
	 * @param nowNanos the time
	 */
	PoolSnapshot.ThreadSnapshot snapshot(boolean leads, long nowNanos) {
		// The word of the handle set decides who leads; the role may lag behind it.
		ThreadRole seen = leads ? ThreadRole.LEADER : switch (role()) {
			case LEADER, PROCESSING -> ThreadRole.PROCESSING;
			case FOLLOWER -> ThreadRole.FOLLOWER;
		};
		// A leader, too, if it runs a handler on a leased leadership.
		HandledWork.Source source = (seen != ThreadRole.FOLLOWER) ? work() : null;
		HandledWork work = (source != null) ? source.work() : null;
		return new PoolSnapshot.ThreadSnapshot(thread().getName(), seen,
				Duration.ofNanos(Math.max(0, nowNanos - sinceNanos())), (work != null) ? work.server() : null,
				(source != null && work != null) ? work.handle(source.workNumber()) : null,
				(work != null) ? work.handler() : null);
	}

}
