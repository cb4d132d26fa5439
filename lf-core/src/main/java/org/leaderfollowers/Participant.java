package org.leaderfollowers;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.time.Duration;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.internal.buffer.MemoryBudget;
import org.leaderfollowers.internal.buffer.SpareBuffers;
import org.leaderfollowers.internal.exchange.Exchange;
import org.leaderfollowers.internal.promotion.Clock;
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
	MessageDecoder decoder = new MessageDecoder();

	/** How far the thread has got with its event. */
	Turn turn = new Turn();

	/** What belongs to the handler that waits while the thread leads. */
	private @Nullable Frame outer;

	/** To be used again. */
	private @Nullable Frame spare;

	/** For what it waits in the middle of a handler. Opaque would do; any thread. */
	private volatile @Nullable Awaited awaited;

	/** Since when; 0 if it does not wait. */
	private volatile long awaitedSinceNanos;

	/** How the thread waits for a reply. */
	private final ReplyWait replyWait;

	/** How many handlers it runs on top of its first one. */
	int nestedUpcalls;

	/** What it reads while it waits. */
	final BoundInput boundInput = new BoundInput(this);

	/** Whether its thread was interrupted while it took part. */
	private boolean interrupted;

	/** Whether it was interrupted in a handler that runs on top of one that waits. */
	private boolean interruptedNested;

	/** For messages that arrive in parts. */
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
	 * Something for which threads wait in the middle of a handler. Its name is for
	 * people.
	 */
	interface Awaited {

		/** The name of the client or server on whose connection it comes. */
		String peer();

	}

	/**
	 * How threads of a pool wait for replies.
	 */
	@FunctionalInterface
	interface ReplyWait {

		/**
		 * Waits until an exchange has ended. An interrupt ends it.
		 * @param me the calling thread, which the exchange was created by
		 * @return the state, which is final
		 */
		Exchange.State await(Participant me, Exchange exchange);

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

	/**
	 * Waits until an exchange has ended. A thread of a pool does not lead meanwhile,
	 * unless nobody else can.
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

	/** Notes for what the handler waits that the thread runs now. Returns the former. */
	@Nullable Awaited awaits(@Nullable Awaited next) {
		Awaited former = this.awaited;
		this.awaited = next;
		return former;
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
		this.spare = null;
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

	/**
	 * A handler of the calling thread has ended: an interrupt meant for it must not reach
	 * the next one. If it ran on top of a handler that waits, the interrupt may as well
	 * be meant for that, which gets it when no more run on top of it.
	 */
	static void endInterrupt() {
		Participant me = Thread.interrupted() ? current() : null;
		if (me != null && me.nestedUpcalls > 0) {
			me.interruptedNested = true;
		}
	}

	/** Goes on with the handler that waits, after one on top of it. */
	void endNestedUpcall() {
		this.nestedUpcalls--;
		if (this.interruptedNested) {
			this.interruptedNested = false;
			thread().interrupt();
		}
	}

	void restoreInterrupt() {
		if (this.interrupted && !isOwned()) {
			thread().interrupt();
		}
	}

	/**
	 * Puts aside what belongs to the handler that the thread runs, whose message lies in
	 * the buffers: it is going to read for others meanwhile.
	 */
	void nest() {
		Frame own = new Frame(this.outer, this.decoder, this.turn, this.input, this.output, this.gathered,
				this.gatheredView, handledNanos());
		Frame fresh = (this.spare != null) ? this.spare
				: new Frame(null, new MessageDecoder(), new Turn(), null, null, null, null, 0);
		this.spare = null;
		use(fresh);
		this.turn.begin();
		takeHandledNanos();
		this.outer = own;
	}

	/** Goes on with the handler. */
	void unnest() {
		Frame own = this.outer;
		if (own == null) {
			throw new IllegalStateException("nothing was put aside");
		}
		this.spare = new Frame(null, this.decoder, this.turn, this.input, this.output, this.gathered, this.gatheredView,
				0);
		use(own);
		takeHandledNanos();
		if (own.handledNanos() != 0) {
			handled(own.handledNanos());
		}
		this.outer = own.outer();
	}

	private void use(Frame frame) {
		this.decoder = frame.decoder();
		this.turn = frame.turn();
		this.input = frame.input();
		this.output = frame.output();
		this.gathered = frame.gathered();
		this.gatheredView = frame.gatheredView();
	}

	/**
	 * What belongs to one of several handlers that a thread runs on top of each other.
	 */
	private record Frame(@Nullable Frame outer, MessageDecoder decoder, Turn turn, @Nullable ByteBuffer input,
			@Nullable ByteBuffer output, @Nullable ByteBuffer gathered, @Nullable ByteBuffer gatheredView,
			long handledNanos) {
	}

	/** Begins to process an event. */
	void begin(HandledWork.Source source) {
		worksOn(source);
		takeHandledNanos();
		this.turn.begin();
	}

	/** Whether it leads a handle set, as far as it knows. Its own thread. */
	boolean leads(HandleSet set) {
		return leading() == set.leadership;
	}

	/**
	 * The handle that the thread works on, or {@code null}: if it works on none, or on an
	 * event that no handle has. Any thread.
	 */
	@Nullable SelectableHandle handle() {
		return (work() instanceof SelectableHandle handle) ? handle : null;
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
