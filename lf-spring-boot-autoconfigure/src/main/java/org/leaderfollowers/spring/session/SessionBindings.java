package org.leaderfollowers.spring.session;

import java.nio.ByteBuffer;
import java.nio.charset.Charset;
import java.time.Duration;
import java.util.Collection;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.Function;
import java.util.stream.Stream;

import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;
import org.leaderfollowers.CloseReason;
import org.leaderfollowers.Connection;
import org.leaderfollowers.ConnectionClosedException;
import org.leaderfollowers.StackReserve;
import org.leaderfollowers.spring.event.SessionClosedEvent;
import org.leaderfollowers.spring.event.SessionEvent;
import org.leaderfollowers.spring.event.SessionOpenedEvent;
import org.leaderfollowers.spring.event.SessionTakenOverEvent;
import org.leaderfollowers.spring.handler.LfConnections.Delivery;
import org.leaderfollowers.spring.internal.Printable;

import org.springframework.context.ApplicationEventPublisher;
import org.springframework.util.Assert;

/**
 * The life of the sessions of this node: connections take names, lose them to later
 * logins, and give them up when they end.
 */
final class SessionBindings implements SessionHolder {

	private static final Log logger = LogFactory.getLog(LfSessions.class);

	/** The attribute of a connection that holds its {@link Seat}. */
	private static final String SESSION = Seat.class.getName();

	private final ListenerFailures listenerFailures = new ListenerFailures();

	private final LocalSessions sessions = new LocalSessions();

	private final SessionDirectory directory;

	private final SessionOptions options;

	private final ApplicationEventPublisher events;

	private final SessionCounters counters;

	private final Function<String, Charset> charsets;

	SessionBindings(SessionDirectory directory, SessionOptions options, ApplicationEventPublisher events,
			SessionCounters counters, Function<String, Charset> charsets) {
		this.directory = directory;
		this.options = options;
		this.events = events;
		this.counters = counters;
		this.charsets = charsets;
	}

	SessionEntry bind(Connection connection, String name) {
		Assert.notNull(connection, "'connection' must not be null");
		Assert.hasText(name, "The name of a session must not be blank");
		Assert.isTrue(name.equals(Printable.of(name)), "The name of a session has characters that cannot be printed");
		Assert.isTrue(name.length() <= this.options.maxNameLength(),
				() -> "The name of a session has %d characters, but at most %d are allowed ('lf.sessions.max-name-length')"
					.formatted(name.length(), this.options.maxNameLength()));
		if (!connection.isOpen()) {
			// The client may have logged in again by another connection.
			throw new ConnectionClosedException(
					"%s is closed, so it does not take the name of a session".formatted(connection), CloseReason.LOCAL,
					null);
		}
		Seat seat = seat(connection);
		LocalSession bound = seat.session.get();
		if (bound != null && bound.name().equals(name) && this.sessions.get(name) == bound) {
			return bound.entry();
		}
		LocalSession session = new LocalSession(claim(connection, name), connection);
		LocalSession loser;
		LocalSession former;
		// Two threads may bind one connection. The seat must be for what the last one
		// got.
		synchronized (seat) {
			loser = this.sessions.finish(session);
			former = (loser != session) ? seat.session.getAndSet(session) : seat.session.get();
		}
		if (loser == session) {
			if (former != null && this.sessions.get(name) == former) {
				// The later login is of the same connection.
				return former.entry();
			}
			// A later login was faster. This one is over before it has begun.
			this.counters.takenOver();
			connection.close(CloseReason.TAKEN_OVER);
			return session.entry();
		}
		this.counters.opened();
		if (former != null) {
			end(former, CloseReason.LOCAL);
		}
		if (loser != null && loser != former) {
			takenOver(loser, session.entry());
		}
		try {
			connection.name(name);
			if (session.ended().get()) {
				// Another thread has given up the session, and has found no name.
				connection.unname(name);
			}
			connection.loggedIn();
			this.events.publishEvent(new SessionOpenedEvent(connection, name, session.entry().epoch()));
		}
		finally {
			session.announced().complete(null);
			CloseReason reason = seat.closed;
			if (reason != null) {
				// The connection was closed before the session had its seat.
				end(session, reason);
			}
		}
		return session.entry();
	}

	/**
	 * Returns the seat of a connection.
	 * @throws UnsupportedOperationException for a datagram, before anything is done
	 */
	private Seat seat(Connection connection) {
		Seat seat = of(connection);
		if (seat != null) {
			return seat;
		}
		Seat created = new Seat();
		// First: a session in a seat that is not told of the end would never end.
		connection.whenClosed().thenAccept((reason) -> {
			created.closed = reason;
			LocalSession session = created.session.get();
			if (session != null) {
				end(session, reason);
			}
		});
		Object earlier = connection.attributes().putIfAbsent(SESSION, created);
		return (earlier != null) ? (Seat) earlier : created;
	}

	/** Takes the name in the directory, which may take a while. */
	private SessionEntry claim(Connection connection, String name) {
		StackReserve.requireForLibrary();
		this.sessions.begin(name);
		try {
			return this.directory
				.claim(new SessionClaim(name, this.directory.node(), connection.server(), this.options.maxTakeovers(),
						this.options.takeoverPeriod()))
				.join();
		}
		catch (RuntimeException | Error ex) {
			this.sessions.abort(name);
			Throwable cause = (ex instanceof CompletionException) ? ex.getCause() : ex;
			if (cause instanceof SessionContestedException contested) {
				this.counters.contested();
				throw contested;
			}
			throw ex;
		}
	}

	void unbind(Connection connection) {
		LocalSession session = session(connection);
		if (session != null) {
			StackReserve.requireForLibrary();
			end(session, CloseReason.LOCAL);
			connection.unname(session.name());
		}
	}

	private static @Nullable Seat of(Connection connection) {
		return (Seat) connection.attributes().get(SESSION);
	}

	private static @Nullable LocalSession session(Connection connection) {
		Seat seat = of(connection);
		return (seat != null) ? seat.session.get() : null;
	}

	private void end(LocalSession session, CloseReason reason) {
		if (!session.ended().compareAndSet(false, true)) {
			return;
		}
		if (this.sessions.remove(session)) {
			this.directory.release(session.entry());
		}
		Seat seat = of(session.connection());
		if (seat != null) {
			seat.session.compareAndSet(session, null);
		}
		this.counters.closed();
		session.announced().thenRun(() -> {
			SessionEntry successor = session.successor().get();
			if (successor != null) {
				publish(new SessionTakenOverEvent(session.connection(), session.name(), session.entry().epoch(),
						successor.node()));
			}
			publish(new SessionClosedEvent(session.connection(), session.name(), session.entry().epoch(), reason));
		});
	}

	private void publish(SessionEvent event) {
		try {
			this.events.publishEvent(event);
		}
		catch (Throwable ex) {
			this.listenerFailures.log(event, ex);
		}
	}

	private void takenOver(LocalSession loser, SessionEntry successor) {
		if (logger.isDebugEnabled()) {
			logger.debug("Session '%s' of %s was taken over by node '%s'".formatted(Printable.of(loser.name()),
					loser.connection(), Printable.of(successor.node())));
		}
		this.counters.takenOver();
		// Events follow when the connection has been closed: listeners may block, but a
		// thread that brings news of other nodes must not.
		loser.successor().set(successor);
		loser.connection().close(CloseReason.TAKEN_OVER);
	}

	// Groups

	void join(Connection connection, String group) {
		Assert.hasText(group, "'group' must not be blank");
		LocalSession session = session(connection);
		Assert.state(session != null, () -> "%s joined no group: bind it to a name first".formatted(connection));
		this.sessions.join(session, group);
	}

	void leave(Connection connection, String group) {
		LocalSession session = session(connection);
		if (session != null) {
			this.sessions.leave(session, group);
		}
	}

	Set<String> groups(Connection connection) {
		LocalSession session = session(connection);
		return (session != null) ? Set.copyOf(session.groups()) : Set.of();
	}

	// What other nodes, and this one, ask for

	/** Finds a session of this node whose connection is open. */
	@Nullable LocalSession local(String name) {
		LocalSession session = this.sessions.get(name);
		return (session != null && session.connection().isOpen()) ? session : null;
	}

	Stream<LocalSession> all() {
		return this.sessions.all();
	}

	@Override
	public Collection<SessionEntry> held() {
		return this.sessions.all().map(LocalSession::entry).toList();
	}

	@Override
	public @Nullable Connection connection(String name, long epoch) {
		LocalSession session = this.sessions.get(name);
		return (session != null && session.entry().epoch() == epoch) ? session.connection() : null;
	}

	@Override
	public SessionBroadcast broadcast(@Nullable String group, Map<Charset, ByteBuffer> messages) {
		ByteBuffer first = messages.values().iterator().next();
		return ((group != null) ? this.sessions.members(group) : this.sessions.all()).map((session) -> {
			Connection connection = session.connection();
			ByteBuffer message = messages.getOrDefault(this.charsets.apply(connection.server()), first);
			try {
				return SessionBroadcast.NONE.plus(Delivery.of(connection, message.duplicate()));
			}
			catch (IllegalArgumentException ex) {
				// The framing of this server cannot express it; others may.
				return SessionBroadcast.NONE.plus(Delivery.GONE);
			}
		}).reduce(SessionBroadcast.NONE, SessionBroadcast::plus);
	}

	@Override
	public void takenOver(SessionEntry successor) {
		LocalSession loser = this.sessions.concede(successor);
		if (loser != null) {
			takenOver(loser, successor);
		}
	}

	/**
	 * The place of a connection for its session, from its first bind until it ends. First
	 * the one that binds takes the seat and then looks whether the connection is closed;
	 * first the one that closes marks it and then looks at the seat: one of them ends the
	 * session.
	 */
	private static final class Seat {

		private final AtomicReference<@Nullable LocalSession> session = new AtomicReference<>();

		private volatile @Nullable CloseReason closed;

	}

	/**
	 * Logs the failures of listeners, of which nobody else hears. Only one thread at a
	 * time logs, because the log may block for ever, and it logs at most once in ten
	 * seconds, because clients that log in and out would fill the disk.
	 */
	private static final class ListenerFailures {

		private static final long INTERVAL_NANOS = Duration.ofSeconds(10).toNanos();

		private final AtomicBoolean logging = new AtomicBoolean();

		private final LongAdder heldBack = new LongAdder();

		/** Changed only by the thread that logs. */
		private volatile long nextNanos = System.nanoTime();

		void log(SessionEvent event, Throwable failure) {
			if (System.nanoTime() - this.nextNanos < 0 || !this.logging.compareAndSet(false, true)) {
				this.heldBack.increment();
				return;
			}
			try {
				long more = this.heldBack.sumThenReset();
				logger.error(
						"A listener for %s has failed%s".formatted(Printable.of(event.toString()),
								(more > 0) ? " (%d more failures since the last such line)".formatted(more) : ""),
						Printable.of(failure));
			}
			finally {
				this.nextNanos = System.nanoTime() + INTERVAL_NANOS;
				this.logging.set(false);
			}
		}

	}

}
