package org.leaderfollowers;

import java.io.IOException;
import java.net.InetAddress;
import java.time.Duration;
import java.util.concurrent.TimeUnit;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.internal.buffer.MemoryBudget;
import org.leaderfollowers.internal.logging.EngineLog;
import org.leaderfollowers.internal.logging.RateLimit;
import org.leaderfollowers.internal.proxy.ProxyHeaderException;
import org.slf4j.event.Level;

/**
 * The log lines that the peers and the handler of a server cause. Each kind has a rate
 * limit, so that it cannot fill a disk. No thread of the pool waits for the log: it may
 * lead, or own a socket, and if nobody reads the log, a line a second would soon keep all
 * threads. Any thread.
 */
final class ServerWarnings {

	/** The maximum length of a logged exception that a peer can cause, in characters. */
	private static final int LONGEST_CAUSE = 300;

	private static final EngineLog logger = EngineLog.INSTANCE;

	private final String server;

	private final String handlerName;

	private final String pool;

	private final RateLimit rejections = everyTenSeconds();

	private final RateLimit untrusted = everyTenSeconds();

	private final RateLimit guardFailures = everyTenSeconds();

	private final RateLimit overloads = everyTenSeconds();

	private final RateLimit handshakes = everyTenSeconds();

	private final RateLimit notEstablished = everyTenSeconds();

	private final RateLimit truncations = everyTenSeconds();

	private final RateLimit inFlight = everyTenSeconds();

	private final RateLimit noRoom = everyTenSeconds();

	private final RateLimit replies = everyTenSeconds();

	private final RateLimit late = everyTenSeconds();

	private final RateLimit failures = new RateLimit(TimeUnit.SECONDS.toNanos(1));

	ServerWarnings(String server, String handlerName, String pool) {
		this.server = server;
		this.handlerName = handlerName;
		this.pool = pool;
	}

	private static RateLimit everyTenSeconds() {
		return new RateLimit(TimeUnit.SECONDS.toNanos(10));
	}

	/** Not limited, because it happens only once. */
	void listeningFailed(String failure) {
		logger.withoutBlocking(Level.ERROR,
				"Server '{}' no longer listens, because its socket has failed. Build and start a new server: {}",
				this.server, failure);
	}

	// Connections

	void tooManyConnections(int maxConnections) {
		long suppressed = this.rejections.tryAcquire();
		if (suppressed >= 0) {
			logger.withoutBlocking(Level.WARN,
					"Server '{}' rejected a connection: {} are open, which is the maximum number of "
							+ "connections (maxConnections){}",
					this.server, maxConnections, RateLimit.heldBack(suppressed));
		}
	}

	void tooManyHandshakes(boolean full, ServerTls limits) {
		long suppressed = this.handshakes.tryAcquire();
		if (suppressed >= 0) {
			logger.withoutBlocking(Level.WARN,
					"Server '{}' accepts no connections at the moment: {}. They wait in the backlog of the system{}",
					this.server,
					full ? limits.maxHandshakes()
							+ " TLS handshakes are under way, which is the maximum (maxHandshakes)"
							: "more than " + limits.maxHandshakeRate()
									+ " TLS handshakes a second have begun (maxHandshakeRate)",
					RateLimit.heldBack(suppressed));
		}
	}

	void untrusted(InetAddress peer, TrustedNetworks trusted) {
		long suppressed = this.untrusted.tryAcquire();
		if (suppressed >= 0) {
			logger.withoutBlocking(Level.WARN,
					"Server '{}' rejected a connection from {}: it serves only its trusted networks {}, which "
							+ "report the client's address by the PROXY protocol. If this is a load balancer, add its "
							+ "network; if clients may connect directly, allow it (directClients){}",
					this.server, peer.getHostAddress(), trusted, RateLimit.heldBack(suppressed));
		}
	}

	void guardFailed(Throwable failure) {
		long suppressed = this.guardFailures.tryAcquire();
		if (suppressed >= 0) {
			logger.withoutBlocking(Level.ERROR, "Server '{}' rejected a connection because its guard failed{}",
					this.server, RateLimit.heldBack(suppressed), failure);
		}
	}

	void notEstablished(Connection connection, @Nullable Throwable cause, long timeoutNanos) {
		long suppressed = this.notEstablished.tryAcquire();
		if (suppressed >= 0) {
			logger.withoutBlocking(Level.WARN, "{} from {} was not established: {}{}", connection,
					connection.transportAddress().getAddress().getHostAddress(),
					(cause != null) ? describe(cause) : "its handshake took longer than the handshake timeout of "
							+ Duration.ofNanos(timeoutNanos),
					RateLimit.heldBack(suppressed));
		}
	}

	void overloaded(Connection connection, MemoryBudget memory) {
		long suppressed = this.overloads.tryAcquire();
		if (suppressed >= 0) {
			logger.withoutBlocking(Level.WARN,
					"{} is closed: the connections of pool '{}' hold {} bytes of messages and replies that are "
							+ "under way, {} bytes with the pools that share its limit, and the maximum is {} "
							+ "(maxBufferedBytes){}",
					connection, this.pool, memory.used(), memory.usedTogether(), memory.limit(),
					RateLimit.heldBack(suppressed));
		}
	}

	/** The drain could not wait for this message, because nobody had announced it. */
	void sentTooLate(Connection connection) {
		long suppressed = this.late.tryAcquire();
		if (suppressed >= 0) {
			logger.withoutBlocking(Level.WARN,
					"A message for {} was not sent, because the shutdown has closed the connection already. If it "
							+ "was a reply, announce it before the handler returns: Connection.owe(){}",
					connection, RateLimit.heldBack(suppressed));
		}
	}

	/**
	 * A connection is closed because of a failure that no handler has handled.
	 * @param reason what has failed: the handler, its input, or the socket
	 */
	void closedUnhandled(Connection connection, CloseReason reason, Throwable failure) {
		if (failure instanceof IOException && reason != CloseReason.HANDLER_ERROR) {
			// Peers come and go, which is not worth a line in the log of a production
			// system.
			logger.debug("{} failed", connection, failure);
			return;
		}
		long suppressed = this.failures.tryAcquire();
		if (suppressed < 0) {
			return;
		}
		if (failure instanceof FramingException || failure instanceof ClientLimitException) {
			logger.withoutBlocking(Level.WARN, "{} is closed: {}{}", connection, failure.getMessage(),
					RateLimit.heldBack(suppressed));
		}
		else if (reason == CloseReason.MALFORMED) {
			logger.withoutBlocking(Level.ERROR,
					"{} is closed because its framing, correlation or message order failed for a message{}", connection,
					RateLimit.heldBack(suppressed), failure);
		}
		else {
			logger.withoutBlocking(Level.ERROR, "{} is closed because its handler {} failed{}", connection,
					this.handlerName, RateLimit.heldBack(suppressed), failure);
		}
	}

	// Datagrams

	void truncated(int maxMessageSize) {
		long suppressed = this.truncations.tryAcquire();
		if (suppressed >= 0) {
			logger.withoutBlocking(Level.WARN,
					"Server '{}' dropped a datagram that is larger than the maximum message size of {} bytes (maxMessageSize){}",
					this.server, maxMessageSize, RateLimit.heldBack(suppressed));
		}
	}

	void tooManyInFlight(int maxInFlight) {
		long suppressed = this.inFlight.tryAcquire();
		if (suppressed >= 0) {
			logger.withoutBlocking(Level.WARN,
					"Server '{}' reads no datagrams at the moment: {} are being handled or suspended, which is "
							+ "the maximum (maxInFlight). The system keeps some of the others, and drops the rest{}",
					this.server, maxInFlight, RateLimit.heldBack(suppressed));
		}
	}

	void tooManyHandlers(String handlers, int most) {
		long suppressed = this.inFlight.tryAcquire();
		if (suppressed >= 0) {
			logger.withoutBlocking(Level.WARN,
					"Server '{}' reads no datagrams at the moment: {} occupy {} threads of pool '{}', and "
							+ "the others are left for whatever else the pool serves. The system keeps some of the datagrams, "
							+ "and drops the rest. Use more threads (maxThreads) or a pool for datagrams only{}",
					this.server, handlers, most, this.pool, RateLimit.heldBack(suppressed));
		}
	}

	void noRoomForReply() {
		long suppressed = this.noRoom.tryAcquire();
		if (suppressed >= 0) {
			logger.withoutBlocking(Level.WARN,
					"Server '{}' dropped a reply, because the send buffer of the system was full "
							+ "(sendBufferSize){}",
					this.server, RateLimit.heldBack(suppressed));
		}
	}

	void tooManyReplies(int maxReplyRate) {
		long suppressed = this.replies.tryAcquire();
		if (suppressed >= 0) {
			logger.withoutBlocking(Level.WARN,
					"Server '{}' drops replies to a sender that gets more than {} a second (maxReplyRate). The "
							+ "sender may be another server, which answers the replies. If it is a client, raise the rate{}",
					this.server, maxReplyRate, RateLimit.heldBack(suppressed));
		}
	}

	void messageUnhandled(Connection connection, Throwable failure) {
		long suppressed = this.failures.tryAcquire();
		if (suppressed < 0) {
			return;
		}
		if (failure instanceof FramingException || failure instanceof ClientLimitException) {
			logger.withoutBlocking(Level.WARN, "A message of {} was not handled: {}{}", connection,
					failure.getMessage(), RateLimit.heldBack(suppressed));
		}
		else {
			logger.withoutBlocking(Level.ERROR, "A message of {} was not handled because its handler {} failed{}",
					connection, this.handlerName, RateLimit.heldBack(suppressed), failure);
		}
	}

	void datagramUnhandled(Connection datagram, Throwable failure) {
		long suppressed = this.failures.tryAcquire();
		if (suppressed < 0) {
			return;
		}
		if (failure instanceof ReplyRatioException) {
			logger.withoutBlocking(Level.WARN, "{}{}", failure.getMessage(), RateLimit.heldBack(suppressed));
		}
		else {
			logger.withoutBlocking(Level.ERROR, "{} was not handled because its handler {} failed{}", datagram,
					this.handlerName, RateLimit.heldBack(suppressed), failure);
		}
	}

	/**
	 * Describes a failure, and its cause if it does not name it, in one short line of
	 * printable characters. The failure may be one of the application.
	 */
	static String describe(Throwable failure) {
		try {
			if (failure instanceof ProxyHeaderException) {
				return "the header of the PROXY protocol is not valid: " + failure.getMessage();
			}
			String text = describeAlone(failure);
			Throwable cause = failure.getCause();
			String message = (cause != null) ? cause.getMessage() : null;
			boolean isNamed = cause == null
					|| (message != null && !message.isBlank() && text.contains(RateLimit.printable(message)));
			return isNamed ? text : text + " (caused by " + describeAlone(cause) + ")";
		}
		catch (Exception | StackOverflowError ex) {
			return failure.getClass().getSimpleName();
		}
	}

	private static String describeAlone(Throwable failure) {
		String message = failure.getMessage();
		if (message == null) {
			return failure.getClass().getSimpleName();
		}
		String text = RateLimit.printable(message);
		return failure.getClass().getSimpleName() + ": "
				+ ((text.length() > LONGEST_CAUSE) ? text.substring(0, LONGEST_CAUSE) + "..." : text);
	}

}
