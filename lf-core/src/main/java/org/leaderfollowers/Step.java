package org.leaderfollowers;

/**
 * The work that a round of a TCP connection has for the application.
 * {@link TcpConnection} determines it when it prepares the round, and executes it when it
 * dispatches.
 */
enum Step {

	/** Nothing. */
	NOTHING(false),

	/** Tasks of TLS, which may block. */
	TASKS(true),

	/** The connection is established and chooses its service class. */
	CLASSIFY(true),

	/** The connection has chosen another pool, and continues there. */
	MOVED(false),

	/** The connection is established: onOpen. */
	OPENED(true),

	/** Messages, the first of which is decoded: onMessage. */
	MESSAGES(false),

	/** The peer has caught up: onWritable. */
	RELIEVED(true),

	/** The server has begun to drain: onDrain. */
	DRAINING(true),

	/** Nothing was received or sent for a while: onIdle. */
	SILENT(true),

	/** Futures have ended without a reply: they are completed. */
	EXCHANGES(true),

	/** Something failed: onError. */
	FAILED(false),

	/** The socket is closed: onClose. */
	CLOSED(false);

	private final boolean followed;

	Step(boolean followed) {
		this.followed = followed;
	}

	/**
	 * Whether the same thread runs another round, because nothing has been read yet, or
	 * input may have arrived while the handler ran.
	 */
	boolean isFollowed() {
		return this.followed;
	}

	/** A call of a handler method that does not concern a message. */
	@FunctionalInterface
	interface Call {

		void on(MessageHandler handler, Connection connection) throws Exception;

	}

}
