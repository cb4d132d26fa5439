package org.leaderfollowers;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteBuffer;
import java.util.concurrent.atomic.AtomicBoolean;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.internal.linkage.Linkage;
import org.leaderfollowers.internal.logging.EngineLog;
import org.leaderfollowers.internal.transport.Linger;
import org.leaderfollowers.internal.transport.Transport.Progress;

/**
 * The closing of a TCP connection, from the moment when its close reason is known. Open
 * connections have no such object.
 * <p>
 * The phases make sure that no accepted reply is lost. REQUESTED: the owner of the handle
 * has not noticed the request yet; when it does, it reports a failure to the handler.
 * FLUSHING: replies wait for the socket. LINGERING: the peer has been told that nothing
 * more follows, but has not closed its side. Closing a socket with unread input would
 * make the kernel reset the connection and destroy replies on their way. CLOSED: the
 * socket is closed.
 */
final class CloseSequence {

	/** After so many failures, the handler cannot be told of the end. */
	private static final int MAX_FAILURES = 3;

	/** The same if memory is short: after about a minute. */
	private static final int MAX_SHORTAGES = 10_000;

	/** How many causes of a failure are looked at. */
	private static final int MAX_DEPTH = 10;

	private static final VarHandle WHY;

	static {
		try {
			WHY = MethodHandles.lookup().findVarHandle(CloseSequence.class, "why", Why.class);
		}
		catch (ReflectiveOperationException ex) {
			throw new ExceptionInInitializerError(ex);
		}
		Linkage.link(() -> WHY.compareAndSet((CloseSequence) null, (Why) null, (Why) null));
	}

	private final StreamConnection connection;

	private volatile Why why;

	/** What was told to the handler. Another failure may have replaced it meanwhile. */
	private volatile @Nullable Why told;

	/** Whether the handler has nothing left to do. Only the end has to be noted then. */
	private volatile boolean handlerTold;

	/** Whether the handler knows that the connection is closed. Written by the owner. */
	private volatile boolean closeReported;

	/** Written by the owner. */
	private volatile Phase phase = Phase.REQUESTED;

	private volatile @Nullable Linger linger;

	/** The thread in onError, which may still send, or {@code null}. */
	private volatile @Nullable Thread speaker;

	/** Whether the handler was told of the end, or is being told. */
	private final AtomicBoolean tellsOfEnd = new AtomicBoolean();

	// Used by the owner only

	private boolean reported;

	/** How often the engine has failed since the connection began to close. */
	private int failures;

	/**
	 * Whether not even pending replies are written, because the engine itself has failed.
	 */
	private boolean cutShort;

	private @Nullable Progress needs;

	private enum Phase {

		REQUESTED, FLUSHING, LINGERING, CLOSED

	}

	private record Why(CloseReason reason, @Nullable Throwable cause) {
	}

	private CloseSequence(StreamConnection connection, CloseReason reason, @Nullable Throwable cause) {
		this.connection = connection;
		this.why = new Why(reason, cause);
	}

	/**
	 * Creates the close of a connection. Any thread.
	 * @throws OutOfMemoryError if memory is too short. The connection is not forgotten:
	 * it takes no further message, and its next owner closes it
	 */
	static CloseSequence of(StreamConnection connection, CloseReason reason, @Nullable Throwable cause) {
		try {
			return new CloseSequence(connection, reason, cause);
		}
		catch (OutOfMemoryError ex) {
			connection.handle.failLater();
			throw ex;
		}
	}

	CloseReason reason() {
		return this.why.reason();
	}

	@Nullable Throwable cause() {
		return this.why.cause();
	}

	/**
	 * Tells what has failed: the socket, the input, or the handler. A failure other than
	 * the cause of this close is one of the handler, even if the socket has failed too.
	 * If the handler has sent to a peer that had gone, and says so with an exception of
	 * its own, the socket has failed. Any thread.
	 * @return the reason of the close that the failure has caused, or would have caused
	 */
	CloseReason reasonOf(Throwable failure) {
		Why first = this.told;
		Why current = (first != null && first.cause() == failure) ? first : this.why;
		if (current.cause() == failure) {
			return current.reason();
		}
		Throwable cause = failure;
		for (int depth = 0; cause != null && depth < MAX_DEPTH; depth++) {
			if (this.connection.isClosedException(cause)) {
				return CloseReason.IO_ERROR;
			}
			cause = cause.getCause();
		}
		return CloseReason.of(failure);
	}

	/**
	 * Replaces the reason of a graceful close if the close loses replies after all. Any
	 * thread.
	 * @param lossy whether replies are pending
	 * @return whether the reason was replaced
	 */
	boolean replaceReason(CloseReason reason, @Nullable Throwable cause, boolean lossy) {
		Why earlier = this.why;
		return earlier.reason().isGraceful() && !reason.isGraceful()
				&& (lossy || reason == CloseReason.SHUTDOWN_TIMEOUT)
				&& WHY.compareAndSet(this, earlier, new Why(reason, cause));
	}

	/** Whether the owner has not begun to write the last replies yet. Any thread. */
	boolean isRequested() {
		return this.phase == Phase.REQUESTED;
	}

	/** Whether the peer has been told that nothing more follows. Any thread. */
	boolean isLingering() {
		return this.phase == Phase.LINGERING;
	}

	boolean isClosed() {
		return this.phase == Phase.CLOSED;
	}

	/**
	 * Whether the calling thread may still send although the connection is closing. A
	 * reply of another thread would perhaps follow one that was refused before.
	 */
	boolean allowsLastWords() {
		return this.speaker == Thread.currentThread();
	}

	/** When the peer must have closed its side. Any thread. */
	long deadlineNanos() {
		Linger lingering = this.linger;
		return (lingering != null) ? lingering.deadlineNanos() : EngineEventHandler.NO_DEADLINE;
	}

	// Called by the owner only

	/** Whether to report a failure to the handler now. This is the case only once. */
	boolean takeReport() {
		boolean due = !this.reported && !this.cutShort && isRequested() && cause() != null;
		this.reported |= due;
		return due;
	}

	/** Skips all waiting from now on. */
	void cutShort() {
		this.cutShort = true;
	}

	/**
	 * Called when the engine has failed. The next round skips all waiting. If that fails
	 * too, the socket is closed at once, and the round after it only reports the end to
	 * the handler: no code of the application runs here, because the caller may lead.
	 * @param failure the failure
	 * @return whether to run another round; if {@code false}, that has failed as well
	 * @throws OutOfMemoryError if memory was short again. A later round may succeed
	 */
	boolean failed(Throwable failure) {
		cutShort();
		this.failures++;
		if (this.phase != Phase.CLOSED && this.failures > 1) {
			try {
				close();
			}
			catch (Throwable ex) {
				EngineLog.INSTANCE.debug("Closing {} failed", this.connection, ex);
			}
		}
		if (failure instanceof OutOfMemoryError shortage && this.failures < MAX_SHORTAGES) {
			if (this.failures % 2 == 0) {
				// The next owner begins with the same failure, after a pause.
				throw shortage;
			}
			return true;
		}
		return this.failures < MAX_FAILURES;
	}

	/**
	 * Reports the failure that closes the connection to the handler, which can still
	 * send.
	 * @param message the message that could not be handled, or {@code null} if something
	 * else failed
	 */
	void reportFailure(@Nullable ByteBuffer message) {
		Why current = this.why;
		Throwable failure = current.cause();
		if (failure == null) {
			return;
		}
		this.told = current;
		this.speaker = Thread.currentThread();
		try {
			MessageHandler handler = this.connection.context.handler();
			if (message != null) {
				handler.onError(this.connection, message, failure);
			}
			else {
				handler.onError(this.connection, failure);
			}
		}
		catch (Throwable ex) {
			if (!this.connection.isClosedException(ex)) {
				this.connection.logUnhandled(ex);
			}
		}
		finally {
			this.speaker = null;
		}
	}

	/**
	 * Continues the sequence.
	 * @param scratch a buffer to read into, cleared
	 * @param endOfInput whether the peer is known to send nothing more
	 * @param nowNanos the current time
	 * @return whether to close the socket now; if {@code false}, {@link #needs()} tells
	 * what has to happen first
	 */
	boolean proceed(ByteBuffer scratch, boolean endOfInput, long nowNanos) {
		if (this.phase == Phase.REQUESTED) {
			this.connection.outbound.close();
			this.phase = Phase.FLUSHING;
		}
		boolean atOnce = this.cutShort || !reason().isGraceful() || !this.connection.isConnected();
		this.needs = atOnce ? Progress.DONE : flushOrLinger(scratch, endOfInput, nowNanos);
		return this.needs == Progress.DONE;
	}

	private Progress flushOrLinger(ByteBuffer scratch, boolean endOfInput, long nowNanos) {
		Linger lingering = this.linger;
		if (lingering == null) {
			if (this.connection.outbound.waitingBytes() > 0) {
				return Progress.WANTS_WRITE;
			}
			lingering = new Linger(this.connection.transport, nowNanos);
			this.linger = lingering;
			this.phase = Phase.LINGERING;
		}
		return lingering.proceed(scratch, endOfInput, nowNanos);
	}

	/**
	 * The event that has to happen next, or {@code null} if the owner has not noticed the
	 * request yet.
	 */
	@Nullable Progress needs() {
		return this.needs;
	}

	/** Closes the socket. Does not repeat a close that has failed. */
	void close() {
		if (isClosed()) {
			// An earlier owner that could not finish may have left the handle open.
			this.connection.handle.markClosed();
			return;
		}
		this.phase = Phase.CLOSED;
		this.needs = Progress.DONE;
		try {
			this.connection.outbound.discard();
			this.connection.transport.release();
		}
		finally {
			this.connection.handle.closeByOwner();
		}
	}

	/**
	 * Reports that the connection is closed: to the handler, unless the connection was
	 * never opened, and to everybody who waits for the end.
	 */
	void reportClose() {
		try {
			if (this.connection.opened && this.tellsOfEnd.compareAndSet(false, true)) {
				this.connection.context.handler().onClose(this.connection, reason());
			}
		}
		catch (Throwable ex) {
			this.connection.logUnhandled(ex);
		}
		finally {
			this.handlerTold = true;
			noteClosed();
		}
	}

	/**
	 * Closes the socket of a connection that cannot be claimed. Its handler runs, or it
	 * is closed, and memory was too short to note its end.
	 */
	void abandon() {
		if (this.handlerTold) {
			noteClosed();
		}
		this.connection.handle.closeChannel();
	}

	/** Records the end of the connection. Nothing is left to do for it. */
	void noteClosed() {
		if (this.closeReported) {
			return;
		}
		CloseReason reason = reason();
		// If memory is too short, the caller or the next owner repeats it.
		account(reason);
		// First the flag and then the look: whoever asks for the end looks at the flag
		// after it has left its future, so one of the two completes it.
		this.closeReported = true;
		ConnectionWatch watched = this.connection.watch;
		if (watched != null) {
			watched.ended(reason);
		}
	}

	private void account(CloseReason reason) {
		ConnectionContext context = this.connection.context;
		EngineLog.INSTANCE.debug("{} is closed: {}", this.connection, reason);
		if (reason == CloseReason.OVERLOADED) {
			context.warnings().overloaded(this.connection, context.memory());
		}
		boolean isNotEstablished = reason == CloseReason.HANDSHAKE_FAILED || reason == CloseReason.HANDSHAKE_TIMEOUT;
		if (isNotEstablished && !context.isClient()) {
			// A client logs this itself, for each of its addresses.
			context.warnings().notEstablished(this.connection, cause(), context.timeouts().handshakeNanos());
		}
		context.closed(this.connection, reason);
	}

	/** Whether the handler knows that the connection is closed. Any thread. */
	boolean isReported() {
		return this.closeReported;
	}

}
