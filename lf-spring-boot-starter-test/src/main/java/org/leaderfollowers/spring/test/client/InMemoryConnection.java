package org.leaderfollowers.spring.test.client;

import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.Deque;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;

import javax.net.ssl.SSLSession;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.CloseReason;
import org.leaderfollowers.Connection;
import org.leaderfollowers.ConnectionClosedException;
import org.leaderfollowers.EventType;
import org.leaderfollowers.Framing;
import org.leaderfollowers.FramingException;
import org.leaderfollowers.MessageHandler;
import org.leaderfollowers.OwedReply;
import org.leaderfollowers.SlowConsumerException;
import org.leaderfollowers.Suspension;

import org.springframework.util.Assert;

/**
 * A connection without a socket. A thread that makes a change which the handler has to
 * learn of calls {@link #work()}. If no thread works on the connection, the calling
 * thread works until nothing is left to do. Otherwise the working thread sees the change.
 * One thread at a time therefore calls the handler, without holding a lock.
 */
final class InMemoryConnection implements Connection {

	private static final AtomicLong IDS = new AtomicLong();

	/**
	 * The contents of a lent buffer after its use: invalid UTF-8, and hardly a number
	 * that occurs in a message.
	 */
	private static final byte GARBAGE = (byte) 0xEE;

	/** The index of a message in a lent buffer. */
	private static final int HEAD = 13;

	private static final int SMALLEST_BUFFER = 1024;

	private final long id = IDS.incrementAndGet();

	private final MessageHandler handler;

	private final Framing framing;

	private final String server;

	private final int maxOutboundSize;

	private final InetSocketAddress remoteAddress;

	private final InetSocketAddress localAddress;

	private final InetSocketAddress transportAddress;

	private final @Nullable SSLSession sslSession;

	private volatile @Nullable String name;

	private final ConcurrentMap<String, Object> attributes = new ConcurrentHashMap<>();

	private final ReentrantLock lock = new ReentrantLock();

	private final Condition changed = this.lock.newCondition();

	// Guarded by the lock

	private final FrameReader requests;

	private final FrameReader replies;

	private final Deque<byte[]> pending = new ArrayDeque<>();

	private final List<Throwable> failures = new ArrayList<>();

	/** Exceptions that tell a handler of this connection that it is closed. */
	private final Set<Throwable> refusals = Collections.newSetFromMap(new IdentityHashMap<>());

	private @Nullable Thread worker;

	private long pendingBytes;

	private int suspensions;

	/** The number of owed replies, which delay the end. */
	private int owedReplies;

	private boolean reading = true;

	private boolean congested;

	private boolean stalled;

	private boolean opened;

	/** The silences to report to the handler. */
	private final Deque<EventType> silences = new ArrayDeque<>();

	private boolean draining;

	/** The reason to close the connection at the end of the drain. */
	private CloseReason drainReason = CloseReason.SHUTDOWN;

	/** Whether the drain was reported to the handler. */
	private boolean toldToDrain;

	private boolean endOfInput;

	private boolean broken;

	private @Nullable CloseReason closing;

	private @Nullable Throwable cause;

	private boolean reported;

	/**
	 * Whether the handler may still send although the connection is closing, which is the
	 * case in onError.
	 */
	private boolean lastWords;

	private @Nullable CloseReason closed;

	private final CompletableFuture<CloseReason> end = new CompletableFuture<>();

	// Used only by the thread that works

	private ByteBuffer lent = ByteBuffer.allocateDirect(SMALLEST_BUFFER);

	/** The message that is being handled, or {@code null}. */
	private byte @Nullable [] current;

	/** The message that could not be handled, or {@code null}. */
	private byte @Nullable [] failed;

	/** The next step of the work. Runs without the lock. */
	private interface Step {

		void run();

	}

	/**
	 * A call of the handler.
	 */
	private interface HandlerCall {

		void run() throws Exception;

	}

	/**
	 * A call of the handler with a message.
	 */
	private interface BufferCall {

		void run(ByteBuffer message) throws Exception;

	}

	InMemoryConnection(InMemoryTestClient.Builder builder) {
		this.handler = builder.handler;
		this.server = builder.server;
		this.maxOutboundSize = builder.maxOutboundSize;
		this.remoteAddress = builder.remoteAddress;
		this.localAddress = builder.localAddress;
		this.transportAddress = (builder.transportAddress != null) ? builder.transportAddress : builder.remoteAddress;
		this.sslSession = builder.sslSession;
		this.replies = new FrameReader(builder.clientFraming(), Integer.MAX_VALUE >> 2);
		this.framing = builder.framing.forConnection(this);
		this.requests = new FrameReader(this.framing, builder.maxMessageSize);
	}

	// Called by the client

	void open() {
		work();
	}

	void receive(byte[] bytes) {
		locked(() -> {
			if (this.closing != null || this.endOfInput) {
				throw new AssertionError(
						(this.closing == null) ? "%s cannot send: its output was shut down".formatted(this)
								: "%s could not send %d bytes: the server closed the connection%s".formatted(this,
										bytes.length, describeEnd()),
						this.cause);
			}
			this.requests.append(bytes, 0, bytes.length);
		});
		work();
	}

	void endInput() {
		locked(() -> this.endOfInput = true);
		work();
	}

	void end(CloseReason reason, @Nullable Throwable failure) {
		locked(() -> {
			this.broken |= reason == CloseReason.IO_ERROR;
			requestClose(reason, failure);
		});
		work();
	}

	void beSilent(EventType type) {
		locked(() -> this.silences.add(type));
		work();
	}

	void drain() {
		locked(() -> {
			this.draining = true;
			this.drainReason = CloseReason.SHUTDOWN;
		});
		work();
	}

	void stopReading() {
		locked(() -> this.reading = false);
	}

	void startReading() {
		locked(() -> {
			this.reading = true;
			this.pending.forEach((frame) -> this.replies.append(frame, 0, frame.length));
			this.pending.clear();
			this.pendingBytes = 0;
			this.changed.signalAll();
		});
		work();
	}

	@Nullable CloseReason reportedReason() {
		this.lock.lock();
		try {
			return this.closed;
		}
		finally {
			this.lock.unlock();
		}
	}

	List<Throwable> failures() {
		this.lock.lock();
		try {
			return List.copyOf(this.failures);
		}
		finally {
			this.lock.unlock();
		}
	}

	Reception take(Duration within) {
		long deadline = System.nanoTime() + within.toNanos();
		this.lock.lock();
		try {
			for (;;) {
				try {
					byte[] message = this.replies.next();
					if (message != null) {
						return Reception.message(message);
					}
				}
				catch (RuntimeException ex) {
					return Reception.malformed(this.replies.peek(), ex);
				}
				if (this.closed != null) {
					return Reception.closed(this.replies.peek(), describeEnd(), this.cause);
				}
				long left = deadline - System.nanoTime();
				if (left <= 0) {
					return Reception.silence(this.replies.peek());
				}
				this.changed.awaitNanos(left);
			}
		}
		catch (InterruptedException ex) {
			Thread.currentThread().interrupt();
			throw new AssertionError("%s was interrupted while it waited for a message".formatted(this), ex);
		}
		finally {
			this.lock.unlock();
		}
	}

	private String describeEnd() {
		return (this.closing != null) ? " for " + this.closing : "";
	}

	private void locked(Runnable change) {
		this.lock.lock();
		try {
			change.run();
		}
		finally {
			this.lock.unlock();
		}
	}

	// The path of a message

	private void work() {
		this.lock.lock();
		try {
			if (this.worker != null) {
				return;
			}
			this.worker = Thread.currentThread();
		}
		finally {
			this.lock.unlock();
		}
		for (Step step = nextStep(); step != null; step = nextStep()) {
			step.run();
		}
	}

	/**
	 * Determines the next step. If there is none, the work ends in the same locked
	 * section, so that no change is overlooked.
	 */
	private @Nullable Step nextStep() {
		this.lock.lock();
		boolean proceeds = false;
		try {
			Step step = decide();
			proceeds = step != null;
			return step;
		}
		finally {
			if (!proceeds) {
				this.worker = null;
				this.changed.signalAll();
			}
			this.lock.unlock();
		}
	}

	private @Nullable Step decide() {
		if (this.closed != null) {
			return null;
		}
		if (!this.opened) {
			this.opened = true;
			return () -> call(() -> this.handler.onOpen(this));
		}
		if (this.closing == null) {
			Step step = decideWhileOpen();
			if (step != null || this.closing == null) {
				return step;
			}
		}
		return decideWhileClosing(this.closing);
	}

	private @Nullable Step decideWhileOpen() {
		if (this.congested && this.pendingBytes <= this.maxOutboundSize / 4) {
			this.congested = false;
			return () -> call(() -> this.handler.onWritable(this));
		}
		EventType silent = this.silences.poll();
		if (silent != null) {
			return () -> call(() -> this.handler.onIdle(this, silent));
		}
		if (this.suspensions > 0) {
			return null;
		}
		if (this.draining && !this.toldToDrain && !this.congested && this.owedReplies == 0) {
			this.toldToDrain = true;
			return () -> call(() -> this.handler.onDrain(this));
		}
		if (this.stalled) {
			if (this.pendingBytes > this.maxOutboundSize / 4) {
				return null;
			}
			this.stalled = false;
		}
		try {
			byte[] message = this.requests.next();
			if (message != null) {
				return () -> deliver(message);
			}
		}
		catch (FrameReader.TooLargeException ex) {
			requestClose(CloseReason.MESSAGE_TOO_LARGE, new FramingException(ex.getMessage()));
			return null;
		}
		catch (Throwable ex) {
			requestClose(CloseReason.MALFORMED, ex);
			return null;
		}
		if (this.owedReplies > 0) {
			return null;
		}
		if (this.endOfInput) {
			requestClose(CloseReason.PEER, null);
		}
		else if (this.draining && !this.congested && this.requests.peek().length == 0) {
			// A message that has begun may be completed.
			requestClose(this.drainReason, null);
		}
		return null;
	}

	private @Nullable Step decideWhileClosing(CloseReason reason) {
		if (!this.reported) {
			this.reported = true;
			Throwable failure = this.cause;
			if (failure != null) {
				this.lastWords = true;
				this.failures.add(failure);
				return () -> report(failure);
			}
		}
		if (!reason.isGraceful()) {
			this.pending.clear();
			this.pendingBytes = 0;
		}
		if (this.pendingBytes > 0) {
			// Accepted messages are read before the connection is closed.
			return null;
		}
		return () -> terminate(reason);
	}

	private void deliver(byte[] message) {
		this.current = message;
		call(() -> lend(message, (buffer) -> this.handler.onMessage(this, buffer)));
		this.current = null;
		locked(() -> this.stalled |= this.pendingBytes >= this.maxOutboundSize / 2);
	}

	/** Lends the buffer to the handler, as a thread of a pool does. */
	private void lend(byte[] message, BufferCall call) throws Exception {
		if (this.lent.capacity() < HEAD + message.length) {
			this.lent = ByteBuffer.allocateDirect(HEAD + message.length * 2);
		}
		fillWithGarbage(this.lent);
		ByteBuffer lentOnce = this.lent.duplicate();
		lentOnce.put(HEAD, message).limit(HEAD + message.length).position(HEAD).mark();
		try {
			call.run(lentOnce);
		}
		finally {
			fillWithGarbage(this.lent);
			lentOnce.clear();
		}
	}

	private static void fillWithGarbage(ByteBuffer buffer) {
		byte[] garbage = new byte[buffer.capacity()];
		Arrays.fill(garbage, GARBAGE);
		buffer.duplicate().clear().put(garbage);
	}

	private void call(HandlerCall call) {
		try {
			call.run();
		}
		catch (Throwable ex) {
			locked(() -> {
				// A message is refused only while the connection closes, so its exception
				// changes nothing.
				requestClose(CloseReason.HANDLER_ERROR, ex);
				this.failed = (this.cause == ex) ? this.current : null;
			});
		}
	}

	private void report(Throwable failure) {
		byte[] message = this.failed;
		try {
			if (message != null) {
				lend(message, (buffer) -> this.handler.onError(this, buffer, failure));
			}
			else {
				this.handler.onError(this, failure);
			}
		}
		catch (Throwable ex) {
			noteFailure(ex);
		}
		finally {
			locked(() -> this.lastWords = false);
		}
	}

	private void terminate(CloseReason reason) {
		try {
			this.handler.onClose(this, reason);
		}
		catch (Throwable ex) {
			noteFailure(ex);
		}
		finally {
			locked(() -> {
				this.closed = reason;
				this.changed.signalAll();
			});
			this.end.complete(reason);
		}
	}

	private void noteFailure(Throwable failure) {
		locked(() -> {
			if (!this.refusals.contains(failure)) {
				this.failures.add(failure);
			}
		});
	}

	private void requestClose(CloseReason reason, @Nullable Throwable failure) {
		if (this.closing == null) {
			this.closing = reason;
			this.cause = failure;
		}
		else if (this.closing.isGraceful() && !reason.isGraceful()
				&& (this.pendingBytes > 0 || reason == CloseReason.SHUTDOWN_TIMEOUT)) {
			// A graceful close that loses replies after all gets the reason of the loss.
			this.closing = reason;
		}
	}

	// Called by the handler

	@Override
	public void send(ByteBuffer message) {
		byte[] frame = encode(message);
		this.lock.lock();
		try {
			CloseReason why = this.closing;
			if (why != null && (!this.lastWords || this.broken)) {
				ConnectionClosedException refusal = new ConnectionClosedException(
						"%s is closed (%s): the message was not sent".formatted(this, why), why, this.cause);
				this.refusals.add(refusal);
				throw refusal;
			}
			if (this.reading) {
				this.replies.append(frame, 0, frame.length);
				this.changed.signalAll();
				return;
			}
			if (this.pendingBytes >= this.maxOutboundSize) {
				throw new SlowConsumerException(
						"%s does not read: %d bytes wait for it, and the maximum is %d. Send less, wait until it is writable again, or raise the maximum outbound size"
							.formatted(this, this.pendingBytes, this.maxOutboundSize));
			}
			this.pending.add(frame);
			this.pendingBytes += frame.length;
			this.congested |= this.pendingBytes >= this.maxOutboundSize / 2;
		}
		finally {
			this.lock.unlock();
		}
	}

	private byte[] encode(ByteBuffer message) {
		int position = message.position();
		int limit = message.limit();
		// As in a server, a frame may begin at any index.
		ByteBuffer frame = ByteBuffer.allocate(HEAD + this.framing.maxFrameLength(message.remaining())).position(HEAD);
		try {
			this.framing.encode(message, frame);
		}
		finally {
			message.limit(limit).position(position);
		}
		return Arrays.copyOfRange(frame.array(), HEAD, frame.position());
	}

	@Override
	public void close() {
		end(CloseReason.LOCAL, null);
	}

	/** The grace period does not end, because no time passes in memory. */
	@Override
	public void close(Duration grace) {
		Assert.isTrue(!grace.isNegative(), () -> "'grace' must not be negative: " + grace);
		if (grace.isZero()) {
			close();
			return;
		}
		locked(() -> {
			if (!this.draining) {
				this.draining = true;
				this.drainReason = CloseReason.LOCAL;
			}
		});
		work();
	}

	@Override
	public CompletableFuture<CloseReason> whenClosed() {
		return this.end.copy();
	}

	@Override
	public void close(CloseReason reason) {
		switch (reason) {
			case LOCAL, TAKEN_OVER, CLIENT_LIMIT -> end(reason, null);
			default -> throw new IllegalArgumentException(
					"A connection cannot be closed for the reason %s: only the engine can know it".formatted(reason));
		}
	}

	@Override
	public void fail(Throwable failure) {
		locked(() -> requestClose(CloseReason.HANDLER_ERROR, failure));
		work();
	}

	@Override
	public @Nullable CloseReason closeReason() {
		this.lock.lock();
		try {
			return this.closing;
		}
		finally {
			this.lock.unlock();
		}
	}

	@Override
	public boolean isOpen() {
		this.lock.lock();
		try {
			return this.closing == null;
		}
		finally {
			this.lock.unlock();
		}
	}

	@Override
	public boolean isDraining() {
		this.lock.lock();
		try {
			return this.draining;
		}
		finally {
			this.lock.unlock();
		}
	}

	@Override
	public long pendingBytes() {
		this.lock.lock();
		try {
			return this.pendingBytes;
		}
		finally {
			this.lock.unlock();
		}
	}

	@Override
	public boolean isWritable() {
		this.lock.lock();
		try {
			return this.closing == null && !this.congested;
		}
		finally {
			this.lock.unlock();
		}
	}

	@Override
	public void idleAfter(EventType type, Duration period) {
		if ((type != EventType.READ && type != EventType.WRITE) || period.isNegative()) {
			throw new IllegalArgumentException("There is no %s of %s".formatted(type, period));
		}
		// Does nothing, because no time passes in memory.
	}

	@Override
	public Suspension suspend() {
		locked(() -> this.suspensions++);
		AtomicBoolean resumed = new AtomicBoolean();
		return () -> {
			if (resumed.compareAndSet(false, true)) {
				locked(() -> this.suspensions--);
				work();
			}
		};
	}

	@Override
	public OwedReply owe() {
		locked(() -> this.owedReplies++);
		return new InMemoryOwedReply();
	}

	/** A reply that is owed. */
	private final class InMemoryOwedReply implements OwedReply {

		private final AtomicBoolean settled = new AtomicBoolean();

		@Override
		public void send(ByteBuffer reply) {
			run(() -> InMemoryConnection.this.send(reply));
		}

		@Override
		public void run(Runnable action) {
			if (this.settled.get()) {
				throw new IllegalStateException("The owed reply is closed already");
			}
			action.run();
		}

		@Override
		public void fail(Throwable failure) {
			if (!this.settled.get()) {
				InMemoryConnection.this.fail(failure);
				close();
			}
		}

		@Override
		public void close() {
			if (this.settled.compareAndSet(false, true)) {
				locked(() -> InMemoryConnection.this.owedReplies--);
				work();
			}
		}

	}

	@Override
	public long id() {
		return this.id;
	}

	@Override
	public InetSocketAddress remoteAddress() {
		return this.remoteAddress;
	}

	@Override
	public InetSocketAddress localAddress() {
		return this.localAddress;
	}

	@Override
	public InetSocketAddress transportAddress() {
		return this.transportAddress;
	}

	@Override
	public @Nullable SSLSession sslSession() {
		return this.sslSession;
	}

	@Override
	public @Nullable String name() {
		return this.name;
	}

	/** There is no other connection that could have the name. */
	@Override
	public @Nullable Connection name(String name) {
		Assert.hasText(name, "'name' must not be blank");
		this.name = name;
		return null;
	}

	@Override
	public boolean unname(String name) {
		boolean had = name.equals(this.name);
		if (had) {
			this.name = null;
		}
		return had;
	}

	@Override
	public ConcurrentMap<String, Object> attributes() {
		return this.attributes;
	}

	@Override
	public String server() {
		return this.server;
	}

	@Override
	public String toString() {
		return "Connection " + this.id + " of server '" + this.server + "' in memory";
	}

}
