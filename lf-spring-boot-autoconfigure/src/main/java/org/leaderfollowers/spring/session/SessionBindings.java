package org.leaderfollowers.spring.session;

import java.nio.ByteBuffer;
import java.nio.charset.Charset;
import java.util.Collection;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletionException;
import java.util.function.Function;
import java.util.stream.Stream;

import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;
import org.leaderfollowers.CloseReason;
import org.leaderfollowers.Connection;
import org.leaderfollowers.ConnectionClosedException;
import org.leaderfollowers.spring.event.SessionClosedEvent;
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

	/** The attribute of a connection that holds its {@link LocalSession}. */
	private static final String SESSION = LocalSession.class.getName();

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
		Assert.isTrue(name.length() <= this.options.maxNameLength(),
				() -> "The name of a session has %d characters, but at most %d are allowed ('lf.sessions.max-name-length')"
					.formatted(name.length(), this.options.maxNameLength()));
		if (!connection.isOpen()) {
			// The client may have logged in again by another connection.
			throw new ConnectionClosedException(
					"%s is closed, so it does not take the name of a session".formatted(connection), CloseReason.LOCAL,
					null);
		}
		LocalSession bound = of(connection);
		if (bound != null && bound.name().equals(name) && this.sessions.get(name) == bound) {
			return bound.entry();
		}
		LocalSession session = new LocalSession(claim(connection, name), connection);
		LocalSession loser = this.sessions.finish(session);
		if (loser == session) {
			// A later login was faster. This one is over before it has begun.
			this.counters.takenOver();
			connection.close(CloseReason.TAKEN_OVER);
			return session.entry();
		}
		if (bound != null) {
			end(bound, CloseReason.LOCAL);
		}
		connection.attributes().put(SESSION, session);
		connection.name(name);
		connection.loggedIn();
		this.counters.opened();
		try {
			if (loser != null && loser != bound) {
				takenOver(loser, session.entry());
			}
			this.events.publishEvent(new SessionOpenedEvent(connection, name, session.entry().epoch()));
		}
		finally {
			// Runs at once if the connection has been closed meanwhile.
			connection.whenClosed().thenAccept((reason) -> end(session, reason));
		}
		return session.entry();
	}

	/** Takes the name in the directory, which may take a while. */
	private SessionEntry claim(Connection connection, String name) {
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
		LocalSession session = of(connection);
		if (session != null) {
			end(session, CloseReason.LOCAL);
		}
	}

	private static @Nullable LocalSession of(Connection connection) {
		return (LocalSession) connection.attributes().get(SESSION);
	}

	private void end(LocalSession session, CloseReason reason) {
		if (!session.ended().compareAndSet(false, true)) {
			return;
		}
		if (this.sessions.remove(session)) {
			this.directory.release(session.entry());
		}
		session.connection().attributes().remove(SESSION, session);
		this.counters.closed();
		SessionEntry successor = session.successor().get();
		if (successor != null) {
			this.events.publishEvent(new SessionTakenOverEvent(session.connection(), session.name(),
					session.entry().epoch(), successor.node()));
		}
		this.events.publishEvent(
				new SessionClosedEvent(session.connection(), session.name(), session.entry().epoch(), reason));
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
		LocalSession session = of(connection);
		Assert.state(session != null, () -> "%s joined no group: bind it to a name first".formatted(connection));
		this.sessions.join(session, group);
	}

	void leave(Connection connection, String group) {
		LocalSession session = of(connection);
		if (session != null) {
			this.sessions.leave(session, group);
		}
	}

	Set<String> groups(Connection connection) {
		LocalSession session = of(connection);
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
			return SessionBroadcast.NONE.plus(Delivery.of(connection, message.duplicate()));
		}).reduce(SessionBroadcast.NONE, SessionBroadcast::plus);
	}

	@Override
	public void takenOver(SessionEntry successor) {
		LocalSession loser = this.sessions.concede(successor);
		if (loser != null) {
			takenOver(loser, successor);
		}
	}

}
