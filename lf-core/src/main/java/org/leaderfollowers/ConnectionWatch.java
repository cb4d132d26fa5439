package org.leaderfollowers;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.concurrent.TimeUnit;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.internal.exchange.Exchange;

/**
 * State that only some connections have at some time: periods of silence that the handler
 * is told of, a time to log in, and the rest of the input while the server drains. Most
 * connections have none of it, so that an idle connection is small.
 * <p>
 * A period begins when something was received or sent, and anew when the handler was told
 * that it is over. Any thread may begin the period of sending; a period that two threads
 * begin at a time begins with one of them.
 */
final class ConnectionWatch {

	/** A shorter period would keep a leader busy with nothing else. */
	private static final long SHORTEST_PERIOD_NANOS = TimeUnit.MILLISECONDS.toNanos(1);

	private static final VarHandle RECEIVING_SINCE;

	private static final VarHandle SENDING_SINCE;

	static {
		try {
			MethodHandles.Lookup lookup = MethodHandles.lookup();
			RECEIVING_SINCE = lookup.findVarHandle(ConnectionWatch.class, "receivingSince", long.class);
			SENDING_SINCE = lookup.findVarHandle(ConnectionWatch.class, "sendingSince", long.class);
		}
		catch (ReflectiveOperationException ex) {
			throw new ExceptionInInitializerError(ex);
		}
	}

	/** How long nothing may be received until the handler is told, 0 for ever. */
	private volatile long readIdleNanos;

	/** How long nothing may be sent until the handler is told, 0 for ever. */
	private volatile long writeIdleNanos;

	/** When the period of receiving began. Opaque. */
	@SuppressWarnings("FieldMayBeFinal") // by RECEIVING_SINCE
	private long receivingSince;

	/** When the period of sending began. Opaque. */
	@SuppressWarnings("FieldMayBeFinal") // by SENDING_SINCE
	private long sendingSince;

	/** When the client has to have logged in. */
	private volatile long loginDeadline;

	/** The thread that owns the connection and reads it while its handler waits. */
	volatile @Nullable BoundInput reader;

	// Written by the owner

	/** Takes the next message, for the handler that waits for it. */
	@Nullable Exchange receiver;

	/** The rest of the input, since the handler was told that the server drains. */
	volatile @Nullable DrainedInput drained;

	/** What closes the connection when what was received before has been answered. */
	volatile @Nullable CloseSequence ending;

	/** The framing, if it is not that of all connections. Any thread reads. */
	volatile @Nullable Framing framing;

	/** Where the message is that was decoded and kept, not handled. The owner's. */
	Framing.@Nullable Frame kept;

	/** How much of a message that is too large is to be left out. The owner's. */
	long skipped;

	/** Since when. The owner's. */
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

	/** Begins a period of receiving of another length. Any thread. */
	void readIdleAfter(long periodNanos, long nowNanos) {
		received(nowNanos);
		this.readIdleNanos = period(periodNanos);
	}

	/** Begins a period of sending of another length. Any thread. */
	void writeIdleAfter(long periodNanos, long nowNanos) {
		sent(nowNanos);
		this.writeIdleNanos = period(periodNanos);
	}

	/** The client has logged in. Any thread. */
	void loggedIn() {
		this.loginDeadline = EngineEventHandler.NO_DEADLINE;
	}

	/** Whether the client has not logged in in time. */
	boolean isLoginLate(long nowNanos) {
		return ConnectionTimeouts.isPast(this.loginDeadline, nowNanos);
	}

	/** Something was received, or can be from now on. The owner, mostly. */
	void received(long nowNanos) {
		RECEIVING_SINCE.setOpaque(this, nowNanos);
	}

	/** Something was sent. Any thread. */
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

	/** When the next period or the time to log in is over. Any thread. */
	long deadline() {
		long silence = EngineEventHandler.earlier(readDeadline((long) RECEIVING_SINCE.getOpaque(this)),
				writeDeadline((long) SENDING_SINCE.getOpaque(this)));
		return EngineEventHandler.earlier(silence, this.loginDeadline);
	}

	/**
	 * The same while a thread works on the connection: all periods begin now, and the
	 * thread judges itself whether the client is late. Any thread.
	 */
	long deadlineFrom(long nowNanos) {
		long login = this.loginDeadline;
		return EngineEventHandler.earlier(EngineEventHandler.earlier(readDeadline(nowNanos), writeDeadline(nowNanos)),
				ConnectionTimeouts.isPast(login, nowNanos) ? EngineEventHandler.NO_DEADLINE : login);
	}

	/**
	 * Whether a period of silence is over. One that is over without having been a silence
	 * of the peer or of the handler begins anew. The owner's.
	 * @param reading whether the connection is read
	 * @param writing whether bytes wait for the peer: the write timeout counts then
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
	 * Takes a silence that the handler is to be told of; its period begins anew. The
	 * owner's.
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

}
