package org.leaderfollowers;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteBuffer;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.internal.logging.EngineLog;
import org.leaderfollowers.internal.transport.Linger;
import org.leaderfollowers.internal.transport.Transport.Progress;

/**
 * The end of a TCP connection, from the first moment that its reason is known. Open
 * connections have none.
 * <p>
 * It goes through phases, so that nothing accepted is lost: REQUESTED until the owner of
 * the handle takes notice, which tells the handler of a failure; FLUSHING while replies
 * wait for the socket; LINGERING while the peer, told that nothing more comes, has not
 * closed its side, since closing with unread input would make the kernel reset the
 * connection and destroy replies on their way; CLOSED.
 */
final class CloseSequence {

	private static final VarHandle WHY;

	static {
		try {
			WHY = MethodHandles.lookup().findVarHandle(CloseSequence.class, "why", Why.class);
		}
		catch (ReflectiveOperationException ex) {
			throw new ExceptionInInitializerError(ex);
		}
	}

	private final StreamConnection connection;

	private volatile Why why;

	/** Written by the owner. */
	private volatile Phase phase = Phase.REQUESTED;

	private volatile @Nullable Linger linger;

	/** Whether the handler may still send: in onError. */
	private volatile boolean lastWords;

	// The owner's

	private boolean reported;

	/** Whether not even replies are waited for, since the engine itself has failed. */
	private boolean cutShort;

	private @Nullable Progress needs;

	private enum Phase {

		REQUESTED, FLUSHING, LINGERING, CLOSED

	}

	private record Why(CloseReason reason, @Nullable Throwable cause) {
	}

	CloseSequence(StreamConnection connection, CloseReason reason, @Nullable Throwable cause) {
		this.connection = connection;
		this.why = new Why(reason, cause);
	}

	CloseReason reason() {
		return this.why.reason();
	}

	@Nullable Throwable cause() {
		return this.why.cause();
	}

	/**
	 * Replaces the reason of a graceful close that turns out to lose replies. Any thread.
	 * @param lossy whether replies wait
	 * @return whether this is the reason now
	 */
	boolean replaceReason(CloseReason reason, @Nullable Throwable cause, boolean lossy) {
		Why earlier = this.why;
		return earlier.reason().isGraceful() && !reason.isGraceful()
				&& (lossy || reason == CloseReason.SHUTDOWN_TIMEOUT)
				&& WHY.compareAndSet(this, earlier, new Why(reason, cause));
	}

	/** Whether the owner has not begun to write the last replies. Any thread. */
	boolean isRequested() {
		return this.phase == Phase.REQUESTED;
	}

	/** Whether the peer has been told that nothing more comes. Any thread. */
	boolean isLingering() {
		return this.phase == Phase.LINGERING;
	}

	boolean isClosed() {
		return this.phase == Phase.CLOSED;
	}

	/** Whether the handler may still send although the connection closes. Any thread. */
	boolean allowsLastWords() {
		return this.lastWords;
	}

	/** When the peer has had its moment to close its side. Any thread. */
	long deadlineNanos() {
		Linger lingering = this.linger;
		return (lingering != null) ? lingering.deadlineNanos() : EngineEventHandler.NO_DEADLINE;
	}

	// The owner's

	/** Whether the handler is to be told of a failure now, which happens once. */
	boolean takeReport() {
		boolean due = !this.reported && !this.cutShort && isRequested() && cause() != null;
		this.reported |= due;
		return due;
	}

	/** Waits for nothing any more. Returns whether it did until now. */
	boolean cutShort() {
		boolean before = this.cutShort;
		this.cutShort = true;
		return !before;
	}

	/**
	 * Tells the handler what closes the connection, while it can still send.
	 * @param message the message that could not be handled, or {@code null} if something
	 * else failed
	 */
	void reportFailure(@Nullable ByteBuffer message) {
		Throwable failure = cause();
		if (failure == null) {
			return;
		}
		this.lastWords = true;
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
			this.lastWords = false;
		}
	}

	/**
	 * Gets on with it.
	 * @param scratch to read into, cleared
	 * @param endOfInput whether the peer is known to send nothing more
	 * @param nowNanos the time
	 * @return whether the socket is to be closed; otherwise something is
	 * {@linkplain #needs() needed} first
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

	/** What is needed next, or {@code null} if the owner has not taken notice. */
	@Nullable Progress needs() {
		return this.needs;
	}

	/** Closes the socket. */
	void close() {
		this.phase = Phase.CLOSED;
		this.needs = Progress.DONE;
		this.connection.outbound.discard();
		this.connection.transport.release();
		this.connection.handle.closeByOwner();
	}

	/** Tells the handler that the connection is closed. */
	void reportClose() {
		try {
			this.connection.context.handler().onClose(this.connection, reason());
		}
		catch (Throwable ex) {
			this.connection.logUnhandled(ex);
		}
		finally {
			noteClosed();
		}
	}

	/** Nothing is left to be done for the connection. */
	void noteClosed() {
		ConnectionContext context = this.connection.context;
		CloseReason reason = reason();
		EngineLog.INSTANCE.debug("{} is closed: {}", this.connection, reason);
		if (reason == CloseReason.OVERLOADED) {
			context.warnings().overloaded(this.connection, context.memory());
		}
		boolean isNotEstablished = reason == CloseReason.HANDSHAKE_FAILED || reason == CloseReason.HANDSHAKE_TIMEOUT;
		if (isNotEstablished && !context.isClient()) {
			// A client tells it for each of its addresses.
			context.warnings().notEstablished(this.connection, cause(), context.timeouts().handshakeNanos());
		}
		context.closed(this.connection, reason);
	}

}
