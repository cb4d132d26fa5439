package org.leaderfollowers;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.internal.buffer.MemoryBudget;
import org.leaderfollowers.internal.buffer.SpareBuffers;
import org.leaderfollowers.internal.exchange.Exchange;
import org.leaderfollowers.internal.logging.EngineLog;
import org.leaderfollowers.internal.promotion.Clock;
import org.leaderfollowers.internal.promotion.Follower;
import org.leaderfollowers.internal.promotion.HandledWork;
import org.leaderfollowers.internal.promotion.Member;
import org.leaderfollowers.internal.promotion.PromotionProtocol;

/**
 * A thread that participates in the pattern. In addition to its part in the promotion
 * protocol, it has the buffers for the handle that it works on (the paper, section 13:
 * thread-specific storage). An idle connection therefore needs no buffers.
 */
final class Participant extends Member {

	/** The size of each buffer in bytes, which limits a single read. */
	static final int BUFFER_SIZE = 64 * 1024;

	/** The largest frame that is encoded in a buffer of the thread, in bytes. */
	static final int LARGEST_OUTPUT = 256 * 1024;

	private static final ThreadLocal<@Nullable Participant> CURRENT = new ThreadLocal<>();

	static {
		EngineLog.INSTANCE.leads(() -> {
			Participant me = current();
			return me != null && me.leadsUnleased();
		});
	}

	private final PromotionProtocol promotion;

	/** Finds messages in the input that the thread reads. */
	MessageDecoder decoder = new MessageDecoder();

	/** The progress of the current event. */
	Turn turn = new Turn();

	/** The saved state of the waiting handler, while the thread leads. */
	private @Nullable Frame outer;

	/** A frame to reuse. */
	private @Nullable Frame spare;

	/**
	 * What the thread waits for in the middle of a handler, or {@code null}. Opaque mode
	 * would suffice. Any thread reads it.
	 */
	private volatile @Nullable Awaited awaited;

	/** Since when; 0 if it does not wait. */
	private volatile long awaitedSinceNanos;

	/**
	 * Whether the thread waits for a place on a connection that its own pool serves. It
	 * does not lead meanwhile. See {@link PoolThreads#mustGiveUp}.
	 */
	volatile boolean waitsForPlace;

	/** How the thread waits for a reply. */
	private final ReplyWait replyWait;

	/** The number of handlers that run on top of the first one. */
	int nestedUpcalls;

	/** The connections that the thread reads while it waits. */
	final BoundInput boundInput = new BoundInput(this);

	/**
	 * Whether the thread was interrupted in a handler that runs on top of a waiting one.
	 */
	private boolean interruptedNested;

	/** Memory for messages that arrive in parts. */
	final SpareBuffers spareBuffers;

	private @Nullable ByteBuffer input;

	private @Nullable ByteBuffer output;

	private @Nullable ByteBuffer gathered;

	private @Nullable ByteBuffer gatheredView;

	Participant(int number, Follower follower, Thread thread, boolean owned, PromotionProtocol promotion,
			ReplyWait replyWait, MemoryBudget memory, long nowNanos) {
		super(number, follower, thread, owned, nowNanos);
		this.promotion = promotion;
		this.replyWait = replyWait;
		this.spareBuffers = new SpareBuffers(memory);
	}

	/**
	 * Something that threads wait for in the middle of a handler. Its {@code toString} is
	 * shown to operators.
	 */
	interface Awaited {

		/** The name of the client or server that the connection belongs to. */
		String peer();

	}

	/**
	 * How threads of a pool wait for replies.
	 */
	@FunctionalInterface
	interface ReplyWait {

		/** The clock of the pool. */
		default Clock clock() {
			return Clock.SYSTEM;
		}

		/**
		 * Waits until an exchange has ended. An interrupt ends the wait.
		 * @param me the calling thread, which has created the exchange
		 * @return the state, which is final
		 */
		Exchange.State await(Participant me, Exchange exchange);

	}

	/**
	 * The participant of the calling thread.
	 * @return {@code null} outside of a pool
	 */
	static @Nullable Participant current() {
		return CURRENT.get();
	}

	/**
	 * Public methods that may block call this method first, so that the calling thread
	 * does not block as the leader of any pool.
	 */
	static void promoteBeforeBlocking() {
		StackReserve.require();
		Participant me = current();
		if (me != null) {
			me.promotion.promoteNewLeader(me);
		}
	}

	/**
	 * Waits until an exchange has ended. A thread of a pool leads meanwhile only if no
	 * other thread can. The caller has made sure of the stack before it sent the request:
	 * here it would be too late.
	 */
	static void await(Exchange exchange, Awaited awaited, Clock clock) {
		Participant me = current();
		if (me != null) {
			Awaited outer = me.awaited;
			long outerSinceNanos = me.awaitedSinceNanos;
			me.awaitedSinceNanos = clock.nanoTime();
			me.awaited = awaited;
			try {
				me.replyWait.await(me, exchange);
			}
			finally {
				me.awaited = outer;
				me.awaitedSinceNanos = outerSinceNanos;
			}
		}
		else {
			exchange.await(clock);
		}
	}

	/**
	 * Waits until a future is completed, if the calling thread belongs to a pool. It
	 * leads meanwhile only if no other thread can.
	 * @return {@code false} if the calling thread does not belong to a pool, so that it
	 * has not waited
	 */
	static boolean await(CompletableFuture<?> future, long timeoutNanos, Awaited awaited) {
		Participant me = current();
		if (me == null) {
			return false;
		}
		Clock clock = me.replyWait.clock();
		Exchange end = Exchange.ofCaller(clock.nanoTime() + timeoutNanos);
		future.whenComplete((result, failure) -> end.end(Exchange.State.LOST));
		if (end.state() == Exchange.State.PENDING) {
			await(end, awaited, clock);
		}
		return true;
	}

	/** Whether the running handler has waited for a reply since that time. Any thread. */
	boolean hasAwaitedSince(long nanos) {
		long since = this.awaitedSinceNanos;
		return this.awaited != null && since - nanos <= 0;
	}

	/** Whether the running handler waits for a reply or a message. Any thread. */
	boolean awaits() {
		return this.awaited != null;
	}

	/** Records what the running handler waits for. Returns the previous value. */
	@Nullable Awaited awaits(@Nullable Awaited next) {
		Awaited former = this.awaited;
		this.awaited = next;
		return former;
	}

	/** Whether the thread participates in a pool. */
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
		// The frame stays until its slot is needed again.
		this.spareBuffers.discard();
		this.input = null;
		this.output = null;
		this.gathered = null;
		this.gatheredView = null;
		this.spare = null;
	}

	/**
	 * Called when a handler has ended: an interrupt that was meant for it must not reach
	 * the next handler. If it ran on top of a waiting handler, the interrupt may be meant
	 * for that one, which receives it when no more handlers run on top of it.
	 */
	static void endInterrupt() {
		Participant me = Thread.interrupted() ? current() : null;
		if (me != null && me.nestedUpcalls > 0) {
			me.interruptedNested = true;
		}
	}

	/**
	 * Restores the state of the waiting handler, after a handler on top of it has ended.
	 */
	void endNestedUpcall() {
		this.nestedUpcalls--;
		if (this.interruptedNested) {
			this.interruptedNested = false;
			thread().interrupt();
		}
	}

	/**
	 * Saves the state of the running handler, whose message lies in the buffers, because
	 * the thread will read other connections.
	 */
	void nest() {
		Frame frame = (this.spare != null) ? this.spare : new Frame();
		this.spare = null;
		frame.handledNanos = takeHandledNanos();
		frame.outer = this.outer;
		this.outer = frame;
		swap(frame);
		this.turn.begin();
	}

	/**
	 * Restores the state of the handler. Allocates nothing: with the state of another
	 * one, the thread would release a handle that it does not own.
	 */
	void unnest() {
		Frame frame = this.outer;
		if (frame == null) {
			throw new IllegalStateException("nothing was put aside");
		}
		swap(frame);
		takeHandledNanos();
		if (frame.handledNanos != 0) {
			handled(frame.handledNanos);
		}
		this.outer = frame.outer;
		frame.outer = null;
		this.spare = frame;
	}

	private void swap(Frame frame) {
		MessageDecoder ownDecoder = this.decoder;
		this.decoder = frame.decoder;
		frame.decoder = ownDecoder;
		Turn ownTurn = this.turn;
		this.turn = frame.turn;
		frame.turn = ownTurn;
		ByteBuffer ownInput = this.input;
		this.input = frame.input;
		frame.input = ownInput;
		ByteBuffer ownOutput = this.output;
		this.output = frame.output;
		frame.output = ownOutput;
		ByteBuffer ownGathered = this.gathered;
		this.gathered = frame.gathered;
		frame.gathered = ownGathered;
		ByteBuffer ownView = this.gatheredView;
		this.gatheredView = frame.gatheredView;
		frame.gatheredView = ownView;
	}

	/**
	 * The saved state of one of several handlers that a thread runs on top of each other,
	 * or new state to use.
	 */
	private static final class Frame {

		private @Nullable Frame outer;

		private MessageDecoder decoder = new MessageDecoder();

		private Turn turn = new Turn();

		private @Nullable ByteBuffer input;

		private @Nullable ByteBuffer output;

		private @Nullable ByteBuffer gathered;

		private @Nullable ByteBuffer gatheredView;

		private long handledNanos;

	}

	/** Begins to process an event. */
	void begin(HandledWork.Source source) {
		worksOn(source);
		takeHandledNanos();
		this.turn.begin();
	}

	/**
	 * Whether the thread leads a handle set without a lease, so that no other thread can
	 * have taken over. Called by the thread itself.
	 */
	boolean leads(HandleSet set) {
		return leading() == set.leadership && leadsUnleased();
	}

	/**
	 * The handle that the thread works on. It is {@code null} if the thread works on
	 * none, or on an event that belongs to no handle. Any thread.
	 */
	@Nullable SelectableHandle handle() {
		return (work() instanceof SelectableHandle handle) ? handle : null;
	}

	/**
	 * The buffer to read into, cleared. It belongs to the event that the thread works on.
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
	 * {@link Connection#send(ByteBuffer)}. A thread that sends large frames keeps a
	 * larger buffer: a new one for each frame would have to be zeroed, and the JDK would
	 * copy it to a direct buffer.
	 * @param size how many bytes to make room for, at most {@link #LARGEST_OUTPUT}
	 */
	ByteBuffer output(int size) {
		ByteBuffer buffer = this.output;
		if (buffer == null || buffer.capacity() < size) {
			buffer = ByteBuffer.allocateDirect((size <= BUFFER_SIZE) ? BUFFER_SIZE : LARGEST_OUTPUT);
			this.output = buffer;
		}
		return buffer.clear().order(ByteOrder.BIG_ENDIAN);
	}

	/**
	 * The buffer that collects several replies of one connection, to write them together;
	 * its position is the end of the last one. The collected bytes belong to the
	 * {@link org.leaderfollowers.internal.buffer.OutboundBuffer} of that connection.
	 */
	ByteBuffer gathered() {
		ByteBuffer buffer = this.gathered;
		if (buffer == null) {
			buffer = ByteBuffer.allocateDirect(BUFFER_SIZE);
			this.gathered = buffer;
			// A writing thread must not change the position of the buffer that replies
			// are encoded into.
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
	 * Takes a snapshot of the thread.
	 * @param leads whether the state of a handle set names this thread as its leader
	 * @param nowNanos the current time
	 */
	PoolSnapshot.ThreadSnapshot snapshot(boolean leads, long nowNanos) {
		// The state of the handle set decides who leads; the role may be out of date.
		ThreadRole seen = leads ? ThreadRole.LEADER : switch (role()) {
			case LEADER, PROCESSING -> ThreadRole.PROCESSING;
			case FOLLOWER -> ThreadRole.FOLLOWER;
		};
		// This includes a leader that runs a handler under a lease.
		HandledWork.Source source = (seen != ThreadRole.FOLLOWER) ? work() : null;
		HandledWork work = (source != null) ? source.work() : null;
		// Read first: a wait that ends meanwhile clears it last.
		long since = this.awaitedSinceNanos;
		Awaited waits = (work != null && since != 0) ? this.awaited : null;
		return new PoolSnapshot.ThreadSnapshot(thread().getName(), seen,
				Duration.ofNanos(Math.max(0, nowNanos - sinceNanos())), (work != null) ? work.server() : null,
				(source != null && work != null) ? work.handle(source.workNumber()) : null,
				(work != null) ? work.handler() : null, (waits != null) ? waits.toString() : null,
				(waits != null) ? waits.peer() : null,
				(waits != null) ? Duration.ofNanos(Math.max(0, nowNanos - since)) : Duration.ZERO);
	}

}
