package org.leaderfollowers;

/**
 * The reason why a connection was closed. The first reason counts, unless it promised
 * replies that were lost later.
 */
public enum CloseReason {

	/**
	 * The application, or an operator, closed the connection by
	 * {@link Connection#close()} or {@link Connection#close(java.time.Duration)}; all
	 * replies were written, except those that were kept for {@link ReplyOrder#ARRIVAL}.
	 * With a grace period, every message received was answered as well, unless the period
	 * ended first.
	 */
	LOCAL(true),

	/** The peer closed; all replies were written. */
	PEER(true),

	/**
	 * The peer closed the connection without the closing message of TLS: it did not send
	 * this message, or somebody cut the connection, so its last messages may be missing.
	 * All replies were written.
	 */
	TRUNCATED(true),

	/**
	 * This side could not connect: the peer refused the connection, could not be reached,
	 * or did not answer within the connect timeout. The handler was never called.
	 */
	CONNECT_FAILED(false),

	/**
	 * The connection could not be established, for example because the TLS handshake
	 * failed or the header of the PROXY protocol is not valid. The handler was never
	 * called.
	 */
	HANDSHAKE_FAILED(true),

	/**
	 * The connection was not established within the handshake timeout. The handler was
	 * never called.
	 */
	HANDSHAKE_TIMEOUT(true),

	/**
	 * The client did not log in within the login timeout; see
	 * {@link Connection#loggedIn()}.
	 */
	LOGIN_TIMEOUT(true),

	/**
	 * Another connection has logged in under the same name, and has taken over the
	 * session of this connection. Given by {@link Connection#close(CloseReason)}.
	 */
	TAKEN_OVER(true),

	/**
	 * The client exceeded a limit that applies to each client. Given by
	 * {@link Connection#close(CloseReason)}, by a {@link ConnectionGuard}, or because a
	 * handler has thrown a {@link ClientLimitException}.
	 */
	CLIENT_LIMIT(true),

	/** Nothing was received or sent for the idle timeout. */
	IDLE_TIMEOUT(true),

	/**
	 * A message began to arrive but was not completed within the message timeout, or
	 * arrived more slowly than the minimum read rate.
	 */
	MESSAGE_TIMEOUT(true),

	/**
	 * A reply did not come in time, and later replies could not be distinguished from it;
	 * or the peer owes too many replies. Exchanges under way on the connection are lost.
	 */
	EXCHANGE_TIMEOUT(false),

	/**
	 * The peer took no byte for the write timeout, or too few for the minimum write rate;
	 * replies are lost.
	 */
	WRITE_TIMEOUT(false),

	/** A message exceeds the maximum message size. */
	MESSAGE_TOO_LARGE(true),

	/** The input violates the framing, or TLS beneath it. */
	MALFORMED(true),

	/** The handler failed with an exception or an error. */
	HANDLER_ERROR(true),

	/**
	 * The connections of the pool hold nearly all the memory that they may, and this one
	 * held more than others or needed more than was left; replies that wait are lost.
	 */
	OVERLOADED(false),

	/** Reading or writing failed, for example by a reset; replies may be lost. */
	IO_ERROR(false),

	/**
	 * The server stopped or was {@linkplain TcpServer#evacuate evacuated}, or the pool of
	 * the connection stopped; every message received was answered, except a first message
	 * that has {@linkplain ServiceClass chosen} a pool that is closing. A message that
	 * had arrived in part, and was not completed in a
	 * {@linkplain TcpServer.Builder#drainMessageTimeout short time}, was not received.
	 */
	SHUTDOWN(true),

	/**
	 * The server stopped, or the pool of the connection, and its grace period ended
	 * first; replies may be lost.
	 */
	SHUTDOWN_TIMEOUT(false);

	private final boolean graceful;

	CloseReason(boolean graceful) {
		this.graceful = graceful;
	}

	/** The reason to close because the handler has failed. */
	static CloseReason of(Throwable failure) {
		return (failure instanceof ClientLimitException) ? CLIENT_LIMIT : HANDLER_ERROR;
	}

	/** Whether the application decides to close for this reason. */
	boolean isOfApplication() {
		return this == LOCAL || this == TAKEN_OVER || this == CLIENT_LIMIT;
	}

	CloseReason requireOfApplication() {
		if (!isOfApplication()) {
			throw new IllegalArgumentException(
					"A connection cannot be closed for the reason %s: only LOCAL, TAKEN_OVER and CLIENT_LIMIT can be given"
						.formatted(this));
		}
		return this;
	}

	/**
	 * Whether everything that {@link Connection#send} accepted is still written before
	 * the connection is closed for this reason.
	 * @return {@code false} if the socket is closed at once
	 */
	public boolean isGraceful() {
		return this.graceful;
	}

}
