package org.leaderfollowers;

/**
 * Why a connection was closed. The first reason counts, unless it promised replies that
 * were lost later.
 */
public enum CloseReason {

	/** The application called {@link Connection#close()}; all replies were written. */
	LOCAL(true),

	/** The peer closed; all replies were written. */
	PEER(true),

	/**
	 * The peer closed, and TLS does not confirm that this was the end of what it sent: it
	 * did not say so, or somebody cut the connection. All replies were written.
	 */
	TRUNCATED(true),

	/**
	 * The connection could not be established, because the TLS handshake failed or the
	 * header of the PROXY protocol is not valid, for example. The handler was never
	 * called.
	 */
	HANDSHAKE_FAILED(true),

	/**
	 * The connection was not established within the handshake timeout. The handler was
	 * never called.
	 */
	HANDSHAKE_TIMEOUT(true),

	/** Nothing was received or sent for the idle timeout. */
	IDLE_TIMEOUT(true),

	/** A message was begun and not completed within the message timeout. */
	MESSAGE_TIMEOUT(true),

	/** The peer took no byte for the write timeout; replies are lost. */
	WRITE_TIMEOUT(false),

	/** A message exceeds the maximum message size. */
	MESSAGE_TOO_LARGE(true),

	/** The input is not what the framing, or TLS beneath it, allows. */
	MALFORMED(true),

	/** The handler failed with an exception or an error. */
	HANDLER_ERROR(true),

	/**
	 * The connections of the pool hold as much memory as they may, and this one wanted
	 * more; replies that wait are lost.
	 */
	OVERLOADED(false),

	/** Reading or writing failed, for example by a reset; replies may be lost. */
	IO_ERROR(false),

	/** The server stopped; every message received was answered. */
	SHUTDOWN(true),

	/** The server stopped and its grace period ended first; replies may be lost. */
	SHUTDOWN_TIMEOUT(false);

	private final boolean graceful;

	CloseReason(boolean graceful) {
		this.graceful = graceful;
	}

	/**
	 * Whether what was accepted by {@link Connection#send} is still written before the
	 * connection is closed for this reason.
	 * @return {@code false} if the socket is closed at once
	 */
	public boolean isGraceful() {
		return this.graceful;
	}

}
