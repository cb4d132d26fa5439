package org.leaderfollowers.spring.autoconfigure;

import java.net.InetAddress;
import java.nio.charset.Charset;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Predicate;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.ClientAuth;
import org.leaderfollowers.CloseRate;
import org.leaderfollowers.NestedDispatch;
import org.leaderfollowers.PromotionOrder;
import org.leaderfollowers.PromotionPolicy;
import org.leaderfollowers.ReplyOrder;
import org.leaderfollowers.TransportType;

import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.NestedConfigurationProperty;
import org.springframework.boot.context.properties.bind.DefaultValue;
import org.springframework.util.unit.DataSize;

/**
 * Configuration properties for Leader/Followers servers, clients and pools. An unknown
 * property fails the start instead of being ignored.
 *
 * @param enabled Whether to auto-configure Leader/Followers servers.
 * @param server Server named 'default'.
 * @param servers Further servers, by name.
 * @param clients Clients, by name.
 * @param pool Pool named 'default'.
 * @param pools Further pools, by name.
 * @param sources Event sources, by the name of their bean.
 * @param shutdown Shutdown of the servers.
 * @param observation Observation of the messages.
 * @param logging Logging of servers, clients and event sources.
 * @param health Conditions of the health.
 * @param sessions Sessions, which find clients by their names.
 */
@ConfigurationProperties(prefix = "lf", ignoreUnknownFields = false)
public record LfProperties(@DefaultValue("true") boolean enabled, @Nullable Server server,
		@DefaultValue Map<String, Server> servers, @DefaultValue Map<String, ClientProperties> clients,
		@Nullable Pool pool, @DefaultValue Map<String, Pool> pools, @DefaultValue Map<String, Source> sources,
		@DefaultValue Shutdown shutdown, @DefaultValue Observation observation, @DefaultValue Logging logging,
		@DefaultValue Health health, @DefaultValue Sessions sessions) {

	/**
	 * Returns these properties without some of the servers, for tests that exclude
	 * handlers.
	 * @param names decides by the name whether a server stays
	 * @return a copy
	 */
	public LfProperties onlyServers(Predicate<String> names) {
		Map<String, Server> left = new LinkedHashMap<>(this.servers);
		left.keySet().removeIf(names.negate());
		return new LfProperties(this.enabled, names.test(ConfiguredProperties.DEFAULT_NAME) ? this.server : null, left,
				this.clients, this.pool, this.pools, this.sources, this.shutdown, this.observation, this.logging,
				this.health, this.sessions);
	}

	/**
	 * A server.
	 *
	 * @param port Port to listen on. Use 0 for any free port. Required for every server
	 * but 'default'.
	 * @param address Network address to listen on. Listens on all addresses if not set.
	 * @param pool Name of the pool that serves the connections.
	 * @param transport What carries the messages, streams or datagrams.
	 * @param framing Framing of the messages.
	 * @param ssl TLS of the connections.
	 * @param charset Charset of text messages.
	 * @param maxMessageSize Maximum size of a message, framing excluded. If a client
	 * sends a larger one, the connection is closed; a larger datagram is dropped.
	 * @param skipOversizedMessages Whether a message that is too large is skipped and
	 * reported to the handler, instead of closing the connection.
	 * @param maxConnections Maximum number of open connections. Further ones are closed
	 * as soon as they are accepted.
	 * @param maxOutboundSize Maximum amount of data that waits for a client that does not
	 * read.
	 * @param idleTimeout Time after which a connection that is silent in both directions
	 * is closed. Use 0 for no timeout.
	 * @param messageTimeout Maximum time for a message from its first byte to its last.
	 * Use 0 for no timeout.
	 * @param writeTimeout Maximum time for a client to accept the next pending byte. Use
	 * 0 for no timeout.
	 * @param minReadRate Amount of a message that must arrive in each second after the
	 * first 30 seconds. Use 0 for no minimum.
	 * @param minWriteRate Amount of pending data that a client must accept in a second,
	 * on average over the write timeout. Use 0 for no minimum.
	 * @param handshakeTimeout Maximum time to establish a connection after it was
	 * accepted. Use 0 for no timeout.
	 * @param loginTimeout Maximum time for a client to log in after its connection was
	 * opened. Use 0 for no timeout.
	 * @param readIdle Time without input after which the handler is called, repeatedly.
	 * Use 0 for never.
	 * @param writeIdle Time without output after which the handler is called, repeatedly.
	 * Use 0 for never.
	 * @param backlog Maximum number of connections that the system keeps until they are
	 * accepted.
	 * @param tcpNoDelay Whether small segments are sent at once instead of waiting until
	 * the client has acknowledged earlier ones.
	 * @param keepAlive Whether the system probes silent clients.
	 * @param receiveBufferSize Size of the buffer that the system keeps received data of
	 * a connection in until it is read. Decided by the system if not set.
	 * @param sendBufferSize Size of the buffer that the system keeps sent data of a
	 * connection in until it is acknowledged. Decided by the system if not set.
	 * @param maxInFlightPerConnection Maximum number of messages of one connection that
	 * are handled in parallel. One by default, or 16 if there is a message order.
	 * @param messageOrder Name of a bean of type MessageOrder, which selects messages of
	 * a connection that stay in order while others are handled in parallel. By default,
	 * the only bean of that type, if there is one.
	 * @param replyOrder Order in which the replies of a connection leave if its messages
	 * are handled in parallel.
	 * @param correlation How the request of a reply is found. Without a correlation, the
	 * server cannot send requests to its clients.
	 * @param maxExchanges Maximum number of requests of the server under way on a
	 * connection.
	 * @param proxyProtocol PROXY protocol of load balancers.
	 * @param udp Properties for datagrams only.
	 * @param serviceClasses Names of the pools that a bean of type ServiceClass may
	 * choose for a connection, besides the pool of the server. All pools if empty.
	 * @param perClient Limits that apply to each client.
	 */
	public record Server(@Nullable Integer port, @Nullable InetAddress address, @DefaultValue("default") String pool,
			@DefaultValue("tcp") TransportType transport,
			@NestedConfigurationProperty @DefaultValue FramingProperties framing, @DefaultValue Ssl ssl,
			@DefaultValue("UTF-8") Charset charset, @DefaultValue("64KB") DataSize maxMessageSize,
			@DefaultValue("false") boolean skipOversizedMessages, @DefaultValue("10000") int maxConnections,
			@DefaultValue("1MB") DataSize maxOutboundSize, @DefaultValue("10m") Duration idleTimeout,
			@DefaultValue("30s") Duration messageTimeout, @DefaultValue("30s") Duration writeTimeout,
			@DefaultValue("240B") DataSize minReadRate, @DefaultValue("240B") DataSize minWriteRate,
			@DefaultValue("10s") Duration handshakeTimeout, @DefaultValue("0s") Duration loginTimeout,
			@DefaultValue("0s") Duration readIdle, @DefaultValue("0s") Duration writeIdle,
			@DefaultValue("1024") int backlog, @DefaultValue("true") boolean tcpNoDelay,
			@DefaultValue("true") boolean keepAlive, @Nullable DataSize receiveBufferSize,
			@Nullable DataSize sendBufferSize, @Nullable Integer maxInFlightPerConnection,
			@Nullable String messageOrder, @DefaultValue("completion") ReplyOrder replyOrder,
			@DefaultValue Correlation correlation, @DefaultValue("64") int maxExchanges,
			@DefaultValue ProxyProtocol proxyProtocol, @DefaultValue Udp udp, @DefaultValue List<String> serviceClasses,
			@NestedConfigurationProperty @DefaultValue PerClientProperties perClient) {
	}

	/**
	 * The PROXY protocol of load balancers, which reports the addresses of clients.
	 *
	 * @param trustedNetworks Networks of the load balancers, which must send the header
	 * of the PROXY protocol. Addresses or networks such as '10.0.0.0/8'. No PROXY
	 * protocol if empty.
	 * @param directClients Whether clients from other networks are served. They are
	 * rejected otherwise.
	 */
	public record ProxyProtocol(@DefaultValue List<String> trustedNetworks,
			@DefaultValue("false") boolean directClients) {
	}

	/**
	 * Properties of servers with the transport 'udp' only.
	 *
	 * @param maxInFlight Maximum number of datagrams that are handled or suspended at the
	 * same time. When it is reached, no further datagrams are read.
	 * @param maxReplyRatio Maximum size of all replies to a datagram, as a multiple of
	 * its own size, headers included. Use 0 for no replies at all.
	 * @param maxReplyRate Maximum number of replies to one sender address and port in a
	 * second, on average over 10 seconds. Use 0 for no limit.
	 * @param suspensionTimeout Maximum time that a datagram may be suspended. Use 0 for
	 * no timeout.
	 * @param receiveBufferSize Size of the system's buffer for received datagrams that
	 * were not read yet. Set by the system by default.
	 * @param sendBufferSize Size of the system's buffer for replies that were not sent
	 * yet. Set by the system by default.
	 */
	public record Udp(@DefaultValue("1024") int maxInFlight, @DefaultValue("3") int maxReplyRatio,
			@DefaultValue("1000") int maxReplyRate, @DefaultValue("30s") Duration suspensionTimeout,
			@Nullable DataSize receiveBufferSize, @Nullable DataSize sendBufferSize) {
	}

	/**
	 * The TLS of a server.
	 *
	 * @param enabled Whether to use TLS. Enabled automatically if there is a bundle.
	 * @param bundle Name of the SSL bundle with the keys of the server.
	 * @param clientAuth Whether clients must send a certificate.
	 * @param maxHandshakes Maximum number of handshakes that are under way. Further
	 * connections wait in the backlog. Use 0 for no limit.
	 * @param maxHandshakeRate Maximum number of handshakes that begin in a second.
	 * Further connections wait in the backlog. Use 0 for no limit. 500 for each processor
	 * by default.
	 */
	public record Ssl(@Nullable Boolean enabled, @Nullable String bundle, @DefaultValue("none") ClientAuth clientAuth,
			@DefaultValue("1000") int maxHandshakes, @Nullable Integer maxHandshakeRate) {
	}

	/**
	 * How the request of a reply is found.
	 *
	 * @param type Kind of correlation. Required, unless there is a bean.
	 * @param bean Name of a bean of type Correlation to use instead of a built-in one,
	 * for keys of any kind.
	 * @param offset Position of the number of a request in its message, in bytes. For the
	 * type 'stamped'.
	 * @param length Size of the number of a request in bytes, from 1 to 8. Required for
	 * the type 'stamped'.
	 */
	public record Correlation(@Nullable CorrelationType type, @Nullable String bean, @Nullable Integer offset,
			@Nullable Integer length) {
	}

	/**
	 * The kinds of correlation.
	 */
	public enum CorrelationType {

		/** Replies come in the order of the requests. */
		IN_ORDER,

		/** Each request gets a number, which the peer returns in the same place. */
		STAMPED

	}

	/**
	 * A pool.
	 *
	 * @param threads Threads of the pool.
	 * @param handleSets Number of handle sets that the connections are distributed over,
	 * each with its own leader. By default, as many as the pool can keep processors busy.
	 * @param parallelism Maximum number of threads that share the ready events, from 1 to
	 * 1024. The number of processors by default.
	 * @param maxBufferedSize Maximum memory of all connections together for messages that
	 * have begun to arrive and replies that wait for their peers. By default, all pools
	 * without a value share a quarter of the maximum heap.
	 * @param nestedDispatch Whether a thread that waits for a reply runs handlers of
	 * other events on top of the waiting handler, if there is no other thread for them.
	 * @param maxNestedDepth Maximum number of handlers that a thread runs on top of its
	 * first one, from 1 to 100.
	 * @param promotion Promotion of followers.
	 * @param watchdog Watch for threads that do not come back.
	 */
	public record Pool(@DefaultValue Threads threads, @Nullable Integer handleSets, @Nullable Integer parallelism,
			@Nullable DataSize maxBufferedSize, @DefaultValue("never") NestedDispatch nestedDispatch,
			@DefaultValue("8") int maxNestedDepth, @DefaultValue Promotion promotion, @DefaultValue Watchdog watchdog) {
	}

	/**
	 * When an alarm is raised because a thread does not come back.
	 *
	 * @param stuckAfter Time that a leader may neither wait for events nor run a handler,
	 * or that a handler may be deadlocked. Health is then down. Use 0 not to watch.
	 * @param slowHandlerAfter Time that a handler may run before it is logged. Use 0 not
	 * to watch.
	 */
	public record Watchdog(@DefaultValue("10s") Duration stuckAfter, @DefaultValue("60s") Duration slowHandlerAfter) {
	}

	/**
	 * The threads of a pool.
	 *
	 * @param min Minimum number of threads, which are kept even when idle.
	 * @param max Maximum number of threads, which limits how many handlers can block at
	 * the same time.
	 * @param keepAlive Time after which an idle thread above the minimum ends.
	 * @param priority Priority of the threads, from 1 to 10. Many systems ignore it.
	 */
	public record Threads(@DefaultValue("4") int min, @DefaultValue("64") int max,
			@DefaultValue("60s") Duration keepAlive, @DefaultValue("5") int priority) {
	}

	/**
	 * How followers are promoted.
	 *
	 * @param policy When the leader promotes a follower.
	 * @param order Which follower is promoted, by the time that it has waited or by the
	 * priority of its thread.
	 * @param lease Time that a leader may run a handler before a follower takes over,
	 * from 100us to 1m.
	 */
	public record Promotion(@DefaultValue("adaptive") PromotionPolicy policy,
			@DefaultValue("lifo") PromotionOrder order, @DefaultValue("2ms") Duration lease) {
	}

	/**
	 * An event source.
	 *
	 * @param pool Name of the pool that waits for the events and handles them.
	 * @param concurrency Maximum number of events that are handled at the same time. Use
	 * 1 to handle them one after the other, in order. By default, the number of threads
	 * of the pool is the limit.
	 */
	public record Source(@DefaultValue("default") String pool, @Nullable Integer concurrency) {
	}

	/**
	 * The shutdown of the servers.
	 *
	 * @param delay Time to continue to serve after readiness has gone down, before
	 * draining begins.
	 * @param closeRate Maximum number of connections of a server that are closed in a
	 * second, a minute or an hour, such as '50/s', '30/m' or '100/h'. All drain at once
	 * if not set.
	 * @param messageTimeout Time for the rest of a message that has arrived in part when
	 * its connection drains.
	 */
	public record Shutdown(@DefaultValue("0s") Duration delay, @Nullable CloseRate closeRate,
			@DefaultValue("2s") Duration messageTimeout) {
	}

	/**
	 * The observation of messages.
	 *
	 * @param mode When each message is an observation. Otherwise it is timed.
	 */
	public record Observation(@DefaultValue("auto") ObservationMode mode) {
	}

	/**
	 * When each message is an observation.
	 */
	public enum ObservationMode {

		/**
		 * If anything besides meters may listen to observations, for example a tracer.
		 * Otherwise, messages are timed without an observation, which gives the same
		 * timer at a fraction of the cost.
		 */
		AUTO,

		/**
		 * Always: for code that reads the current observation, or adds its own listeners
		 * to the registry while the application runs.
		 */
		ALWAYS,

		/** Never: the messages are timed, and nothing else. */
		NEVER

	}

	/**
	 * What is logged of servers, clients and event sources.
	 *
	 * @param mdc Whether log lines of handlers have the names of the server, client or
	 * event source and of the connection in the diagnostic context (MDC).
	 * @param wire Limits of the logs of bytes that operators turn on.
	 */
	public record Logging(@DefaultValue("false") boolean mdc, @DefaultValue WireLogging wire) {
	}

	/**
	 * The limits of the logs of bytes that operators turn on by the endpoint
	 * 'lfconnections'.
	 *
	 * @param payload Whether operators may have the bytes themselves logged, which may
	 * contain secrets. Only their number is logged otherwise.
	 * @param maxDuration Maximum time until a log turns itself off.
	 * @param maxSegmentSize Maximum number of bytes that are shown of what was received
	 * or sent at once, from 1B to 16KB.
	 * @param maxSize Maximum size of the lines of a log, which then turns itself off.
	 */
	public record WireLogging(@DefaultValue("false") boolean payload, @DefaultValue("10m") Duration maxDuration,
			@DefaultValue("256B") DataSize maxSegmentSize, @DefaultValue("1MB") DataSize maxSize) {
	}

	/**
	 * Conditions of the health.
	 *
	 * @param saturatedAfter How long every thread of a pool may be busy before its health
	 * is out of service. No limit by default.
	 */
	public record Health(@Nullable Duration saturatedAfter) {
	}

	/**
	 * Sessions, which find clients by their names.
	 *
	 * @param maxNameLength Maximum number of characters of the name of a session.
	 * @param maxTakeovers How often the name of an open connection may be taken over in a
	 * period. Further logins of that name are refused.
	 * @param takeoverPeriod Length of the period that takeovers are counted for.
	 * @param timeout How long to wait for other nodes, apart from the reply of a client.
	 */
	public record Sessions(@DefaultValue("128") int maxNameLength, @DefaultValue("5") int maxTakeovers,
			@DefaultValue("1m") Duration takeoverPeriod, @DefaultValue("2s") Duration timeout) {
	}

}
