package org.leaderfollowers.spring.actuate;

import java.net.Inet6Address;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.PriorityQueue;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.locks.ReentrantLock;
import java.util.stream.Stream;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.ConnectionSnapshot;
import org.leaderfollowers.Server;
import org.leaderfollowers.TcpServer;
import org.leaderfollowers.WireLog;
import org.leaderfollowers.spring.actuate.WriteAudit.Operator;
import org.leaderfollowers.spring.internal.Printable;
import org.leaderfollowers.spring.server.LeaderFollowersServers;

import org.springframework.boot.actuate.endpoint.Access;
import org.springframework.boot.actuate.endpoint.OperationResponseBody;
import org.springframework.boot.actuate.endpoint.SecurityContext;
import org.springframework.boot.actuate.endpoint.Show;
import org.springframework.boot.actuate.endpoint.annotation.Endpoint;
import org.springframework.boot.actuate.endpoint.annotation.ReadOperation;
import org.springframework.boot.actuate.endpoint.annotation.WriteOperation;
import org.springframework.context.ApplicationEventPublisher;
import org.springframework.util.Assert;
import org.springframework.util.StringUtils;

/**
 * {@link Endpoint @Endpoint} that shows a page of the open connections. A request visits
 * all connections one by one, but keeps only those of the page and of the pages before
 * it. Only one request at a time does so. Writes turn the wire log of a server on and
 * off.
 */
@Endpoint(id = "lfconnections", defaultAccess = Access.READ_ONLY)
public class ConnectionsEndpoint {

	private static final int SIZE = 20;

	private static final int GREATEST_SIZE = 500;

	/** The maximum number of connections that a request keeps. */
	private static final int REACH = 10_000;

	private static final Comparator<ConnectionSnapshot> BY_NAME = Comparator.comparing(ConnectionSnapshot::server)
		.thenComparingLong(ConnectionSnapshot::id);

	/** No order depends on the remote address, which may be hidden. */
	private static final Map<String, Comparator<ConnectionSnapshot>> ORDERS = new TreeMap<>(Map.of("age",
			Comparator.comparing(ConnectionSnapshot::age), "idle", Comparator.comparing(ConnectionSnapshot::idle),
			"messages", Comparator.comparingLong(ConnectionSnapshot::receivedMessages), "received",
			Comparator.comparingLong(ConnectionSnapshot::receivedBytes), "sent",
			Comparator.comparingLong(ConnectionSnapshot::sentBytes), "pending",
			Comparator.comparingLong(ConnectionSnapshot::pendingBytes)));

	private final LeaderFollowersServers servers;

	private final Show showRemoteAddresses;

	private final Set<String> roles;

	private final WireLogOperations wireLogs;

	/**
	 * Held while a request visits the connections. A request takes a megabyte or two, so
	 * many requests at the same time could exhaust the memory.
	 */
	final ReentrantLock looking = new ReentrantLock();

	/**
	 * Creates a new endpoint.
	 * @param servers the servers whose connections are shown
	 * @param showRemoteAddresses to which callers the addresses of clients are shown. JMX
	 * does not identify its callers, so it shows addresses only if all callers may see
	 * them
	 * @param roles a caller with one of these roles is authorized; if there are none,
	 * every authenticated caller is
	 * @param wireLogLimits the longest duration of a wire log, whether it may show bytes,
	 * and its maximum sizes; the connection is ignored
	 * @param publisher publishes each write as an event for Boot's audit
	 */
	public ConnectionsEndpoint(LeaderFollowersServers servers, Show showRemoteAddresses, Set<String> roles,
			WireLog.Options wireLogLimits, ApplicationEventPublisher publisher) {
		Assert.notNull(servers, "'servers' must not be null");
		Assert.notNull(showRemoteAddresses, "'showRemoteAddresses' must not be null");
		Assert.notNull(roles, "'roles' must not be null");
		Assert.notNull(wireLogLimits, "'wireLogLimits' must not be null");
		Assert.notNull(publisher, "'publisher' must not be null");
		this.servers = servers;
		this.showRemoteAddresses = showRemoteAddresses;
		this.roles = Set.copyOf(roles);
		this.wireLogs = new WireLogOperations(wireLogLimits, new WriteAudit(publisher));
	}

	/**
	 * Shows a page of the connections.
	 * @param server the name of the server; all servers if not given
	 * @param state the state of the connections; all states if not given
	 * @param sort {@code age}, {@code idle}, {@code messages}, {@code received},
	 * {@code sent} or {@code pending}, with a {@code -} in front for descending order;
	 * {@code -age} if not given
	 * @param page the number of the page, from 0, which is also the default
	 * @param size the number of connections on a page, from 1 to 500; 20 if not given
	 * @return a page
	 */
	@ReadOperation
	public ConnectionsDescriptor connections(@Nullable String server, @Nullable String state, @Nullable String sort,
			@Nullable String page, @Nullable String size) {
		return connections(SecurityContext.NONE, server, state, sort, page, size);
	}

	ConnectionsDescriptor connections(SecurityContext securityContext, @Nullable String server, @Nullable String state,
			@Nullable String sort, @Nullable String page, @Nullable String size) {
		List<TcpServer> chosen = chosen(server);
		ConnectionSnapshot.State wanted = OperationArguments.constant("state", state, ConnectionSnapshot.State.class);
		Comparator<ConnectionSnapshot> order = order(sort);
		int pageSize = OperationArguments.integer("size", size, SIZE, 1, GREATEST_SIZE);
		int number = OperationArguments.integer("page", page, 0, 0, Integer.MAX_VALUE);
		long first = (long) number * pageSize;
		if (first + pageSize > REACH) {
			throw RefusedRequestException
				.invalid(("Pages reach to the connection number %d in the order of 'sort': turn 'sort' around, "
						+ "or choose by 'server' and 'state'")
					.formatted(REACH));
		}
		boolean shown = this.showRemoteAddresses.isShown(securityContext, this.roles);
		this.looking.lock();
		try {
			Page found = new Page(order, (int) first + pageSize);
			for (TcpServer candidate : chosen) {
				try (Stream<ConnectionSnapshot> connections = candidate.connections()) {
					connections.filter((connection) -> wanted == null || connection.state() == wanted)
						.forEach(found::add);
				}
			}
			return new ConnectionsDescriptor(Instant.now(), found.total, number, pageSize,
					found.from((int) first)
						.stream()
						.map((connection) -> ConnectionDescriptor.of(connection, shown))
						.toList(),
					WireLogOperations.running(chosen));
		}
		finally {
			this.looking.unlock();
		}
	}

	private List<TcpServer> chosen(@Nullable String name) {
		List<String> known = new ArrayList<>();
		List<TcpServer> chosen = new ArrayList<>();
		for (Server candidate : this.servers) {
			known.add(candidate.name());
			boolean named = candidate.name().equals(name);
			if (candidate instanceof TcpServer tcpServer && (named || !StringUtils.hasText(name))) {
				chosen.add(tcpServer);
			}
			else if (named) {
				throw RefusedRequestException.withoutConnections();
			}
		}
		if (chosen.isEmpty() && StringUtils.hasText(name)) {
			throw RefusedRequestException.unknown("server", known);
		}
		return chosen;
	}

	/**
	 * Turns the wire log of a server on or off. A log that runs already is replaced.
	 * @param wireLog {@code on} or {@code off}
	 * @param server the name of the server
	 * @param connection the identifier of the only connection to log; all if not given
	 * @param duration how long to log; 60 seconds if not given
	 * @param payload {@code true} to show bytes; they are masked if not given
	 * @return the log that was turned on or off, or {@code null} if there was no log to
	 * turn off
	 */
	@WriteOperation
	public @Nullable WireLogDescriptor changeWireLog(@Nullable String wireLog, @Nullable String server,
			@Nullable String connection, @Nullable String duration, @Nullable String payload) {
		return changeWireLog(Operator.UNKNOWN, wireLog, server, connection, duration, payload);
	}

	@Nullable WireLogDescriptor changeWireLog(Operator operator, @Nullable String wireLog, @Nullable String server,
			@Nullable String connection, @Nullable String duration, @Nullable String payload) {
		return this.wireLogs.change(operator, wireLog, StringUtils.hasText(server) ? chosen(server).get(0) : null,
				connection, duration, payload);
	}

	private static Comparator<ConnectionSnapshot> order(@Nullable String sort) {
		String by = StringUtils.hasText(sort) ? sort.strip().toLowerCase(Locale.ROOT) : "-age";
		boolean descending = by.startsWith("-");
		Comparator<ConnectionSnapshot> order = ORDERS.get(descending ? by.substring(1) : by);
		if (order == null) {
			throw OperationArguments.invalid("sort", "one of '%s', with a '-' in front for the greatest first"
				.formatted(String.join("', '", ORDERS.keySet())), String.valueOf(sort));
		}
		return (descending ? order.reversed() : order).thenComparing(BY_NAME);
	}

	/**
	 * Keeps the first connections in an order, and counts all of them.
	 */
	private static final class Page {

		private final Comparator<ConnectionSnapshot> order;

		private final int end;

		/** In reverse order, since the last connection is replaced first. */
		private final PriorityQueue<ConnectionSnapshot> kept;

		private long total;

		private Page(Comparator<ConnectionSnapshot> order, int end) {
			this.order = order;
			this.end = end;
			this.kept = new PriorityQueue<>(order.reversed());
		}

		private void add(ConnectionSnapshot connection) {
			this.total++;
			if (this.kept.size() < this.end) {
				this.kept.add(connection);
			}
			else if (this.order.compare(connection, this.kept.element()) < 0) {
				this.kept.remove();
				this.kept.add(connection);
			}
		}

		private List<ConnectionSnapshot> from(int first) {
			return this.kept.stream().sorted(this.order).skip(first).toList();
		}

	}

	/**
	 * A page of the connections.
	 *
	 * @param time when the connections were visited
	 * @param total how many connections there are on all pages
	 * @param page the number of the page, from 0
	 * @param size the maximum number of connections on a page
	 * @param connections the connections of the page
	 * @param wireLogs the running wire logs of the servers
	 */
	public record ConnectionsDescriptor(Instant time, long total, int page, int size,
			List<ConnectionDescriptor> connections, List<WireLogDescriptor> wireLogs) implements OperationResponseBody {
	}

	/**
	 * A wire log.
	 *
	 * @param server the name of the server
	 * @param connection the identifier of the only connection that is logged, or
	 * {@code null} if all are
	 * @param until when the log ends at the latest
	 * @param payload whether bytes are shown
	 * @param segments how many segments have been logged
	 * @param omitted how many segments were left out because the log was too slow
	 */
	public record WireLogDescriptor(String server, @Nullable Long connection, Instant until, boolean payload,
			long segments, long omitted) implements OperationResponseBody {

		static WireLogDescriptor of(TcpServer server, WireLog.Snapshot log) {
			long connection = log.options().connection();
			return new WireLogDescriptor(server.name(), (connection != 0) ? connection : null, log.until(),
					log.options().payload(), log.segments(), log.omitted());
		}

	}

	/**
	 * A connection.
	 *
	 * @param id the identifier of the connection, unique within its server
	 * @param name the name that the application has given to the connection, or
	 * {@code null} if there is none. Also {@code null} if the addresses of clients are
	 * hidden, because a name may reveal as much
	 * @param server the name of the server
	 * @param state the state of the connection
	 * @param remoteAddress the address and port of the client, or {@code null} if it is
	 * hidden
	 * @param age how long ago the connection was accepted
	 * @param idle how long ago bytes were last received or sent
	 * @param messages how many messages were passed to the handler
	 * @param receivedBytes how many bytes were received, framing included
	 * @param sentBytes how many bytes were accepted for sending, framing included
	 * @param pendingBytes how many of these bytes wait for the client to read
	 * @param tlsGeneration the generation of its TLS configuration, from 1, or 0 without
	 * TLS
	 * @param inFlight how many messages are in flight, if they are handled in parallel,
	 * and replies owed
	 * @param pool the name of the pool that serves the connection
	 */
	public record ConnectionDescriptor(long id, @Nullable String name, String server, ConnectionSnapshot.State state,
			@Nullable String remoteAddress, Duration age, Duration idle, long messages, long receivedBytes,
			long sentBytes, long pendingBytes, int tlsGeneration, int inFlight, String pool) {

		static ConnectionDescriptor of(ConnectionSnapshot connection, boolean shown) {
			String name = shown ? connection.name() : null;
			return new ConnectionDescriptor(connection.id(), (name != null) ? Printable.of(name) : null,
					connection.server(), connection.state(), shown ? describe(connection.remoteAddress()) : null,
					connection.age(), connection.idle(), connection.receivedMessages(), connection.receivedBytes(),
					connection.sentBytes(), connection.pendingBytes(), connection.tlsGeneration(),
					connection.inFlight(), connection.pool());
		}

		/** Formats the address without a lookup of its name. */
		private static String describe(InetSocketAddress socket) {
			InetAddress address = socket.getAddress();
			String host = (address != null) ? address.getHostAddress() : socket.getHostString();
			// Not %d, which writes the digits of the default locale.
			return Printable
				.of(((address instanceof Inet6Address) ? "[%s]:%s" : "%s:%s").formatted(host, socket.getPort()));
		}

	}

}
