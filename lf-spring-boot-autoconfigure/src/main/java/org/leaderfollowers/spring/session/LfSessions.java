package org.leaderfollowers.spring.session;

import java.nio.ByteBuffer;
import java.nio.charset.Charset;
import java.time.Duration;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.Connection;
import org.leaderfollowers.ExchangeLostException;
import org.leaderfollowers.ExchangeRejectedException;
import org.leaderfollowers.ExchangeTimeoutException;
import org.leaderfollowers.spring.handler.LfConnections.Delivery;
import org.leaderfollowers.spring.handler.MessageConversion;

import org.springframework.beans.factory.DisposableBean;
import org.springframework.beans.factory.InitializingBean;
import org.springframework.context.ApplicationEventPublisher;
import org.springframework.core.ParameterizedTypeReference;
import org.springframework.core.ResolvableType;
import org.springframework.util.Assert;

/**
 * Sends messages to clients by their names, on whatever node of a cluster they are
 * connected. It can be injected into any bean. A handler binds a connection to a name
 * when the client has logged in:
 *
 * <pre>
 * &#064;OnLogin(prefix = "HELLO ")
 * String hello(String device, Connection connection) {
 *     this.sessions.bind(connection, device);
 *     return "WELCOME";
 * }
 * </pre>
 *
 * and any bean of any node reaches the client as long as it is connected:
 *
 * <pre>
 * Status status = this.sessions.exchange("4711", new Query(), Status.class, Duration.ofSeconds(2));
 * </pre>
 *
 * A name belongs to one connection: the newest login wins, and the earlier connection is
 * closed with {@link org.leaderfollowers.CloseReason#TAKEN_OVER}, wherever it is.
 * Messages are sent at most once, and are not stored for clients that are not connected.
 * Without a cluster, everything happens in memory. Safe for many threads.
 * <p>
 * Messages are converted as the replies of the handlers of the server are, so the nodes
 * of a cluster must be configured alike.
 */
public final class LfSessions implements InitializingBean, DisposableBean {

	private final SessionDirectory directory;

	private final SessionCounters counters = new SessionCounters();

	private final SessionBindings bindings;

	private final SessionRouter router;

	private final MessageConversion conversion;

	private final Supplier<Set<String>> servers;

	private final Duration timeout;

	/**
	 * Creates an object that sends messages.
	 * @param directory says which node holds which name
	 * @param options limits
	 * @param conversion converts the messages
	 * @param servers supplies the names of the servers of this node
	 * @param events receives the events of the sessions of this node
	 */
	public LfSessions(SessionDirectory directory, SessionOptions options, MessageConversion conversion,
			Supplier<Set<String>> servers, ApplicationEventPublisher events) {
		Assert.notNull(directory, "'directory' must not be null");
		Assert.notNull(options, "'options' must not be null");
		Assert.notNull(conversion, "'conversion' must not be null");
		Assert.notNull(servers, "'servers' must not be null");
		Assert.notNull(events, "'events' must not be null");
		this.directory = directory;
		this.bindings = new SessionBindings(directory, options, events, this.counters, conversion::charset);
		this.router = new SessionRouter(this.bindings, directory, this.counters);
		this.conversion = conversion;
		this.servers = servers;
		this.timeout = Duration.ofNanos(SessionRouter.nanos(options.timeout()));
	}

	/** Joins the other nodes. */
	@Override
	public void afterPropertiesSet() {
		this.directory.start(this.bindings);
	}

	/** Leaves the other nodes. */
	@Override
	public void destroy() {
		this.directory.stop();
	}

	/**
	 * Binds a connection to a name, for example after a login. The connection also gets
	 * the {@linkplain Connection#name(String) name} within its server, and counts as
	 * {@linkplain Connection#loggedIn() logged in}. Another connection that has the name,
	 * on any node, is closed with the reason
	 * {@link org.leaderfollowers.CloseReason#TAKEN_OVER}. An earlier name of this
	 * connection is given up. In a cluster, this method waits for the directory; if the
	 * directory cannot be reached, the session works on this node, and is registered
	 * later.
	 * @param connection a connection of a server or client
	 * @param name the name, not blank
	 * @return the entry of the session
	 * @throws SessionContestedException if the name was taken over too often in a short
	 * time; the connection is not bound and stays open
	 * @throws org.leaderfollowers.ConnectionClosedException if the connection is closed
	 * @throws IllegalArgumentException if the name is blank or too long
	 * @throws UnsupportedOperationException for a datagram
	 */
	public SessionEntry bind(Connection connection, String name) {
		return this.bindings.bind(connection, name);
	}

	/**
	 * Gives up the name of a connection, also within its server. The connection stays
	 * open. Does nothing if it has no name.
	 * @param connection the connection
	 */
	public void unbind(Connection connection) {
		this.bindings.unbind(connection);
	}

	/**
	 * Finds who holds a name.
	 * @param name the name
	 * @return the entry of the session; empty if no reachable node holds the name
	 * @throws ExchangeRejectedException if the directory cannot be reached, and the name
	 * is not held by this node
	 */
	public Optional<SessionEntry> get(String name) {
		LocalSession local = this.bindings.local(name);
		return Optional
			.ofNullable((local != null) ? local.entry() : SessionRouter.await(this.router.find(name), this.timeout));
	}

	/**
	 * Whether a client of a name is connected to any reachable node.
	 * @param name the name
	 * @return whether the name is held
	 * @throws ExchangeRejectedException if the directory cannot be reached, and the name
	 * is not held by this node
	 */
	public boolean isPresent(String name) {
		return get(name).isPresent();
	}

	/**
	 * Finds the connection of a name on this node.
	 * @param name the name
	 * @return the connection, which may be closed at any time; empty if another node, or
	 * none, holds the name
	 */
	public Optional<Connection> connection(String name) {
		return Optional.ofNullable(this.bindings.local(name)).map(LocalSession::connection);
	}

	/**
	 * Adds a bound connection to a group. The session leaves all groups when it ends.
	 * @param connection a connection of this node
	 * @param group the name of the group, not blank
	 * @throws IllegalStateException if the connection is not bound to a name
	 */
	public void join(Connection connection, String group) {
		this.bindings.join(connection, group);
	}

	/**
	 * Removes a bound connection from a group. Does nothing if it is not a member.
	 * @param connection a connection of this node
	 * @param group the name of the group
	 */
	public void leave(Connection connection, String group) {
		this.bindings.leave(connection, group);
	}

	/**
	 * Returns the groups of a connection.
	 * @param connection a connection of this node
	 * @return the names of the groups; empty if the connection is not bound
	 */
	public Set<String> groups(Connection connection) {
		return this.bindings.groups(connection);
	}

	/**
	 * Sends a message to the client of a name. Waits for another node if that holds the
	 * name, and never for the client.
	 * @param name the name
	 * @param payload the message
	 * @return the outcome
	 * @throws org.leaderfollowers.spring.handler.PayloadConversionException if nothing
	 * can convert the payload
	 * @throws IllegalArgumentException if the framing cannot express the message
	 */
	public Delivery send(String name, Object payload) {
		return SessionRouter.await(sendAsync(name, payload), this.timeout.multipliedBy(2));
	}

	/**
	 * Sends a message to the client of a name without waiting.
	 * @param name the name
	 * @param payload the message
	 * @return the outcome; completed by a thread that the caller must not block
	 */
	public CompletableFuture<Delivery> sendAsync(String name, Object payload) {
		long deadline = System.nanoTime() + this.timeout.toNanos();
		CompletableFuture<Delivery> sent = this.router.route(name, (connection) -> {
			ByteBuffer message = this.conversion.write(connection.server(), connection, payload);
			SessionRouter.requireTimeLeft(deadline);
			return CompletableFuture.completedFuture(Delivery.of(connection, message));
		}, (entry) -> this.directory.send(entry, this.conversion.write(entry.server(), null, payload),
				SessionRouter.left(deadline)));
		return sent.exceptionally(SessionRouter::undelivered)
			.completeOnTimeout(Delivery.UNKNOWN, this.timeout.toNanos(), TimeUnit.NANOSECONDS);
	}

	/**
	 * Sends a request to the client of a name, and waits for its reply. The
	 * {@linkplain org.leaderfollowers.Correlation correlation} of the server finds the
	 * reply.
	 * @param <T> the type of the reply
	 * @param name the name
	 * @param request the request
	 * @param type the type of the reply
	 * @param timeout the time from the call to the reply, more than 0
	 * @return the reply
	 * @throws ExchangeRejectedException if the request was not sent, for example because
	 * nobody holds the name or its node cannot be reached
	 * @throws ExchangeTimeoutException if no reply came in time; the client may have got
	 * the request
	 * @throws ExchangeLostException if the connection or the node ended before the reply;
	 * the client may have got the request
	 * @throws org.leaderfollowers.spring.handler.PayloadConversionException if the
	 * request or the reply cannot be converted
	 */
	public <T> @Nullable T exchange(String name, Object request, Class<T> type, Duration timeout) {
		return exchange(name, request, ResolvableType.forClass(type), timeout);
	}

	/**
	 * {@linkplain #exchange(String, Object, Class, Duration) Exchanges} messages with a
	 * reply of a generic type.
	 * @param <T> the type of the reply
	 * @param name the name
	 * @param request the request
	 * @param type the type of the reply
	 * @param timeout the time from the call to the reply, more than 0
	 * @return the reply
	 */
	public <T> @Nullable T exchange(String name, Object request, ParameterizedTypeReference<T> type, Duration timeout) {
		return exchange(name, request, ResolvableType.forType(type), timeout);
	}

	private <T> @Nullable T exchange(String name, Object request, ResolvableType type, Duration timeout) {
		LocalSession local = this.bindings.local(name);
		if (local == null) {
			return SessionRouter.await(exchangeAsync(name, request, type, timeout), timeout);
		}
		// This thread waits as a handler does, so it can lead meanwhile.
		this.counters.message(true);
		Connection connection = local.connection();
		try {
			ByteBuffer reply = connection.exchange(this.conversion.write(connection.server(), connection, request),
					timeout);
			return cast(this.conversion.read(connection.server(), type, reply));
		}
		catch (RuntimeException ex) {
			this.counters.failed();
			throw ex;
		}
	}

	/**
	 * Sends a request to the client of a name without waiting for the reply.
	 * @param <T> the type of the reply
	 * @param name the name
	 * @param request the request
	 * @param type the type of the reply
	 * @param timeout the time from the call to the reply, more than 0
	 * @return the reply, or one of the exceptions of
	 * {@link #exchange(String, Object, Class, Duration)}; completed by a thread that the
	 * caller must not block
	 */
	public <T> CompletableFuture<T> exchangeAsync(String name, Object request, Class<T> type, Duration timeout) {
		return exchangeAsync(name, request, ResolvableType.forClass(type), timeout);
	}

	/**
	 * {@linkplain #exchangeAsync(String, Object, Class, Duration) Exchanges} messages
	 * with a reply of a generic type.
	 * @param <T> the type of the reply
	 * @param name the name
	 * @param request the request
	 * @param type the type of the reply
	 * @param timeout the time from the call to the reply, more than 0
	 * @return the reply
	 */
	public <T> CompletableFuture<T> exchangeAsync(String name, Object request, ParameterizedTypeReference<T> type,
			Duration timeout) {
		return exchangeAsync(name, request, ResolvableType.forType(type), timeout);
	}

	private <T> CompletableFuture<T> exchangeAsync(String name, Object request, ResolvableType type, Duration timeout) {
		Assert.isTrue(!timeout.isNegative() && !timeout.isZero(), "'timeout' must be more than 0");
		long deadline = System.nanoTime() + SessionRouter.nanos(timeout);
		return SessionRouter.within(timeout,
				this.router.route(name,
						(connection) -> connection
							.exchangeAsync(this.conversion.write(connection.server(), connection, request),
									SessionRouter.left(deadline))
							.thenApply((reply) -> this.<T>cast(this.conversion.read(connection.server(), type, reply))),
						(entry) -> this.directory
							.exchange(entry, this.conversion.write(entry.server(), null, request),
									SessionRouter.left(deadline))
							.thenApply((reply) -> this.<T>cast(this.conversion.read(entry.server(), type, reply)))));
	}

	/**
	 * Sends a message to all sessions of all nodes. The message is converted once for
	 * each charset of the servers of this node, and without the headers of a connection.
	 * @param payload the message
	 * @return the outcome
	 * @throws org.leaderfollowers.spring.handler.PayloadConversionException if nothing
	 * can convert the payload
	 */
	public SessionBroadcast broadcast(Object payload) {
		return broadcastTo(null, payload);
	}

	/**
	 * Sends a message to all sessions of a group, on all nodes.
	 * @param group the name of the group
	 * @param payload the message
	 * @return the outcome
	 * @throws org.leaderfollowers.spring.handler.PayloadConversionException if nothing
	 * can convert the payload
	 */
	public SessionBroadcast broadcast(String group, Object payload) {
		Assert.hasText(group, "'group' must not be blank");
		return broadcastTo(group, payload);
	}

	private SessionBroadcast broadcastTo(@Nullable String group, Object payload) {
		Map<Charset, ByteBuffer> messages = new LinkedHashMap<>();
		Set<String> names = this.servers.get();
		for (String server : names.isEmpty() ? Set.of("default") : names) {
			messages.computeIfAbsent(this.conversion.charset(server),
					(charset) -> this.conversion.write(server, null, payload));
		}
		CompletableFuture<SessionBroadcast> others = this.router.broadcast(group, messages, this.timeout);
		SessionBroadcast here = this.bindings.broadcast(group, messages);
		return here.plus(SessionRouter.await(others, this.timeout.multipliedBy(2)));
	}

	/**
	 * Returns what says which node holds which name.
	 * @return what says which node holds which name
	 */
	public SessionDirectory directory() {
		return this.directory;
	}

	/**
	 * Returns what has happened on this node since the start.
	 * @return what has happened on this node since the start
	 */
	public SessionCounters counters() {
		return this.counters;
	}

	/**
	 * Returns the entries of the sessions of this node.
	 * @return a snapshot
	 */
	public Collection<SessionEntry> held() {
		return this.bindings.held();
	}

	@SuppressWarnings("unchecked") // converted to this type
	private <T> T cast(@Nullable Object converted) {
		return (T) converted;
	}

}
