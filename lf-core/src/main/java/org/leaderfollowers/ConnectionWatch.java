package org.leaderfollowers;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.internal.exchange.Exchange;
import org.leaderfollowers.internal.linkage.Linkage;

/**
 * State that a connection has only in some cases: periods of silence that are reported to
 * the handler, a login timeout, and the remaining input and time while it drains. It is
 * separate so that an idle connection is small.
 * <p>
 * A period begins when something is received or sent, and again when the handler has been
 * called for it. Any thread may begin the period of sending. If two threads begin it at
 * the same time, either value may remain.
 */
final class ConnectionWatch {

	/** A shorter period would keep a leader busy with these deadlines alone. */
	private static final long SHORTEST_PERIOD_NANOS = TimeUnit.MILLISECONDS.toNanos(1);

	/** When to look again at a login timeout that has passed while a thread worked. */
	private static final long LOGIN_RETRY_NANOS = TimeUnit.SECONDS.toNanos(1);

	private static final VarHandle RECEIVING_SINCE;

	private static final VarHandle SENDING_SINCE;

	private static final VarHandle END;

	static {
		try {
			MethodHandles.Lookup lookup = MethodHandles.lookup();
			RECEIVING_SINCE = lookup.findVarHandle(ConnectionWatch.class, "receivingSince", long.class);
			SENDING_SINCE = lookup.findVarHandle(ConnectionWatch.class, "sendingSince", long.class);
			END = lookup.findVarHandle(ConnectionWatch.class, "end", CompletableFuture.class);
		}
		catch (ReflectiveOperationException ex) {
			throw new ExceptionInInitializerError(ex);
		}
		Linkage.link(() -> {
			long ignored = (long) SENDING_SINCE.getOpaque((ConnectionWatch) null);
		}, () -> SENDING_SINCE.setOpaque((ConnectionWatch) null, 0L),
				() -> END.compareAndSet((ConnectionWatch) null, null, (CompletableFuture<?>) null));
	}

	/** After how long without input the handler is called, or 0 for never. */
	private volatile long readIdleNanos;

	/** After how long without output the handler is called, or 0 for never. */
	private volatile long writeIdleNanos;

	/** When the period of receiving began. Accessed in opaque mode. */
	@SuppressWarnings("FieldMayBeFinal") // changed through RECEIVING_SINCE
	private long receivingSince;

	/** When the period of sending began. Accessed in opaque mode. */
	@SuppressWarnings("FieldMayBeFinal") // changed through SENDING_SINCE
	private long sendingSince;

	/** When the client must have logged in. */
	private volatile long loginDeadline;

	/** When the grace period of a connection ends that drains alone. */
	private volatile long drainDeadline = EngineEventHandler.NO_DEADLINE;

	/** Completed when the connection has ended. {@code null} until it is asked for. */
	@SuppressWarnings("FieldMayBeFinal") // changed through END
	private volatile @Nullable CompletableFuture<CloseReason> end;

	/** The thread that owns the connection and reads it while its handler waits. */
	volatile @Nullable BoundInput reader;

	// Written by the owner only

	/** Waits for the next message on behalf of a handler, or {@code null}. */
	@Nullable Exchange receiver;

	/**
	 * Whether a period has ended, and the next thread that can call the handler reports
	 * this. No timer is needed until then.
	 */
	volatile boolean isPostponed;

	/** The latest place of the handle, for postponed work. Used by its owner only. */
	private @Nullable Place place;

	/** The remaining input since the handler was called for the drain. */
	volatile @Nullable DrainedInput drained;

	/** The close that begins when all received messages have been answered. */
	volatile @Nullable CloseSequence ending;

	/**
	 * The framing of this connection if it differs from that of the server. Any thread
	 * reads.
	 */
	volatile @Nullable Framing framing;

	/**
	 * Where the message is that was decoded but not handled yet. Used by the owner only.
	 */
	Framing.@Nullable Frame kept;

	/**
	 * How many bytes of a message that is too large are still to be skipped. Used by the
	 * owner only.
	 */
	long skipped;

	/** When skipping began. Used by the owner only. */
	long skippedSinceNanos;

	ConnectionWatch(ConnectionTimeouts timeouts, long nowNanos) {
		this.readIdleNanos = period(timeouts.readIdleNanos());
		this.writeIdleNanos = period(timeouts.writeIdleNanos());
		this.receivingSince = nowNanos;
		this.sendingSince = nowNanos;
		this.loginDeadline = (timeouts.loginNanos() != 0) ? nowNanos + timeouts.loginNanos()
				: EngineEventHandler.NO_DEADLINE;
	}

	private static long period(long nanos) {
		return (nanos != 0) ? Math.max(nanos, SHORTEST_PERIOD_NANOS) : 0;
	}

	/** Begins a period of receiving with a new length. Any thread. */
	void readIdleAfter(long periodNanos, long nowNanos) {
		received(nowNanos);
		this.readIdleNanos = period(periodNanos);
	}

	/** Begins a period of sending with a new length. Any thread. */
	void writeIdleAfter(long periodNanos, long nowNanos) {
		sent(nowNanos);
		this.writeIdleNanos = period(periodNanos);
	}

	/** A future for the end of the connection. Any thread. */
	CompletableFuture<CloseReason> end(StreamConnection connection) {
		CompletableFuture<CloseReason> current = this.end;
		if (current == null) {
			current = new CompletableFuture<>();
			if (!END.compareAndSet(this, null, current)) {
				return end(connection);
			}
		}
		// The end may have come before it was asked for. See CloseSequence.noteClosed.
		CloseSequence closing = connection.closing;
		if (closing != null && closing.isReported()) {
			current.complete(closing.reason());
		}
		return current;
	}

	/** The connection has ended. Called by the owner only. */
	void ended(CloseReason reason) {
		CompletableFuture<CloseReason> current = this.end;
		if (current != null) {
			current.complete(reason);
		}
	}

	/** Ends the login timeout, because the client has logged in. Any thread. */
	synchronized void loggedIn() {
		this.loginDeadline = EngineEventHandler.NO_DEADLINE;
	}

	/** The login timeout will be looked at again, unless the client has logged in. */
	synchronized void delayLogin(long nowNanos) {
		if (this.loginDeadline != EngineEventHandler.NO_DEADLINE) {
			this.loginDeadline = nowNanos + LOGIN_RETRY_NANOS;
		}
	}

	/** Whether the login timeout has passed. */
	boolean isLoginLate(long nowNanos) {
		return ConnectionTimeouts.isPast(this.loginDeadline, nowNanos);
	}

	/** Begins a grace period. The one that ends first counts. Any thread. */
	synchronized void drainsUntil(long deadline) {
		this.drainDeadline = EngineEventHandler.earlier(this.drainDeadline, deadline);
	}

	/** Whether the grace period is over. */
	boolean isDrainLate(long nowNanos) {
		return ConnectionTimeouts.isPast(this.drainDeadline, nowNanos);
	}

	/**
	 * Begins a new period: something was received, or can be received from now on.
	 * Usually the owner.
	 */
	void received(long nowNanos) {
		RECEIVING_SINCE.setOpaque(this, nowNanos);
	}

	/** Begins a new period, because something was sent. Any thread. */
	void sent(long nowNanos) {
		SENDING_SINCE.setOpaque(this, nowNanos);
	}

	private long readDeadline(long since) {
		long period = this.readIdleNanos;
		return (period != 0) ? since + period : EngineEventHandler.NO_DEADLINE;
	}

	private long writeDeadline(long since) {
		long period = this.writeIdleNanos;
		return (period != 0) ? since + period : EngineEventHandler.NO_DEADLINE;
	}

	/** Keeps a place of the handle for postponed work. Returns {@code true}. */
	boolean keepPlace(SelectableHandle handle, HandleSet set) {
		this.place = Place.keep(this.place, handle, set);
		return true;
	}

	/** When the next period, the login timeout or the grace period ends. Any thread. */
	long deadline() {
		long silence = this.isPostponed ? EngineEventHandler.NO_DEADLINE
				: EngineEventHandler.earlier(readDeadline((long) RECEIVING_SINCE.getOpaque(this)),
						writeDeadline((long) SENDING_SINCE.getOpaque(this)));
		return EngineEventHandler.earlier(EngineEventHandler.earlier(silence, this.loginDeadline), this.drainDeadline);
	}

	/**
	 * Like {@link #deadline}, while a thread works on the connection. All periods begin
	 * now. The thread checks itself whether the login timeout has passed, but the timeout
	 * may pass after that check and before the thread releases the connection. The timer
	 * therefore remains, and expires again. Any thread.
	 */
	long deadlineFrom(long nowNanos) {
		long login = this.loginDeadline;
		long silence = EngineEventHandler.earlier(readDeadline(nowNanos), writeDeadline(nowNanos));
		return EngineEventHandler.earlier(EngineEventHandler.earlier(silence, this.drainDeadline),
				ConnectionTimeouts.isPast(login, nowNanos) ? nowNanos + LOGIN_RETRY_NANOS : login);
	}

	/**
	 * Whether a period of silence is over. A period that ends while nothing could be
	 * received or sent is not silence, and begins again. Called by the owner only.
	 * @param reading whether the connection is read
	 * @param writing whether bytes wait for the peer; the write timeout applies then
	 */
	boolean isSilent(long nowNanos, boolean reading, boolean writing) {
		boolean nothingReceived = ConnectionTimeouts.isPast(readDeadline(this.receivingSince), nowNanos);
		boolean nothingSent = ConnectionTimeouts.isPast(writeDeadline((long) SENDING_SINCE.getOpaque(this)), nowNanos);
		if (nothingReceived && !reading) {
			received(nowNanos);
		}
		if (nothingSent && writing) {
			sent(nowNanos);
		}
		return (nothingReceived && reading) || (nothingSent && !writing);
	}

	/**
	 * Takes a silence that is to be reported to the handler, and begins a new period.
	 * Called by the owner only.
	 * @param reading whether the connection is read
	 * @param writing whether bytes wait for the peer
	 * @return {@link EventType#READ} if nothing was received, {@link EventType#WRITE} if
	 * nothing was sent, or {@code null}
	 */
	@Nullable EventType takeSilence(long nowNanos, boolean reading, boolean writing) {
		if (reading && ConnectionTimeouts.isPast(readDeadline(this.receivingSince), nowNanos)) {
			received(nowNanos);
			return EventType.READ;
		}
		if (!writing && ConnectionTimeouts.isPast(writeDeadline((long) SENDING_SINCE.getOpaque(this)), nowNanos)) {
			sent(nowNanos);
			return EventType.WRITE;
		}
		return null;
	}

	/** What a handler that calls receive waits for. */
	record NextMessage(TcpConnection connection) implements Participant.Awaited {

		/** Waits for the message. Called by the owner in its handler. */
		ByteBuffer await(Duration timeout, long nanos) {
			TcpConnection current = this.connection;
			if (current.takesNothingMore()) {
				throw current.inputOver();
			}
			Exchange next = Exchange.ofCaller(current.nanoTime() + nanos);
			ConnectionWatch watched = current.watch();
			watched.receiver = next;
			try {
				Participant.await(next, this, current.context.clock());
			}
			finally {
				watched.receiver = null;
			}
			return switch (next.state()) {
				case REPLIED -> next.reply();
				case LOST -> throw current.inputOver();
				case TIMED_OUT -> throw new ExchangeTimeoutException(
						"%s has sent no message on %s within %s".formatted(current.remoteAddress(), current, timeout),
						null);
				default ->
					throw new ExchangeLostException("%s was interrupted while it waited for the next message of %s"
						.formatted(Thread.currentThread().getName(), current), null);
			};
		}

		@Override
		public String peer() {
			return this.connection.server();
		}

		@Override
		public String toString() {
			return "the next message of " + this.connection;
		}

	}

}
