package org.leaderfollowers.spring.cluster;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;

import io.lettuce.core.ClientOptions;
import io.lettuce.core.ClientOptions.DisconnectedBehavior;
import io.lettuce.core.SocketOptions;
import io.lettuce.core.SocketOptions.KeepAliveOptions;
import io.lettuce.core.cluster.api.async.RedisClusterAsyncCommands;
import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;
import org.leaderfollowers.spring.cluster.ClusterEngine.Receiver;

import org.springframework.data.redis.connection.Message;
import org.springframework.data.redis.connection.MessageListener;
import org.springframework.data.redis.connection.RedisConfiguration;
import org.springframework.data.redis.connection.RedisStandaloneConfiguration;
import org.springframework.data.redis.connection.RedisConnection;
import org.springframework.data.redis.connection.RedisConnectionFactory;
import org.springframework.data.redis.connection.SubscriptionListener;
import org.springframework.data.redis.connection.lettuce.LettuceClientConfiguration;
import org.springframework.data.redis.connection.lettuce.LettuceClientConfiguration.LettuceClientConfigurationBuilder;
import org.springframework.data.redis.connection.lettuce.LettuceClientConfiguration.LettuceSslClientConfigurationBuilder;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;

/**
 * The connections of a running node to Redis: one is subscribed to the channel of the
 * node, one is for commands. Lettuce connects again when a connection is lost. One that
 * stays open but is of no use must be {@linkplain #replace replaced}.
 */
final class RedisConnections implements MessageListener, SubscriptionListener {

	private static final Log logger = LogFactory.getLog(RedisClusterEngine.class);

	/**
	 * How long an attempt to connect waits for an answer at most: the next attempt may be
	 * answered. Also limits each command, whose caller rarely waits as long.
	 */
	private static final Duration LONGEST_TIMEOUT = Duration.ofSeconds(10);

	/** How many commands may wait for a slow Redis. Further ones fail. */
	private static final int QUEUE_SIZE = 100_000;

	/**
	 * How many renewals in a row may fail on the same connections: about those within a
	 * lease.
	 */
	private static final int MAX_FAILURES = 3;

	private static final Duration RETRY_DELAY = Duration.ofMillis(500);

	private final LettuceConnectionFactory factory;

	private final String channel;

	private final Receiver receiver;

	private volatile @Nullable RedisClusterAsyncCommands<byte[], byte[]> commands;

	private volatile boolean subscribed;

	/** How many renewals have begun since one succeeded on these connections. */
	private final AtomicInteger renewals = new AtomicInteger();

	/** Whether a thread is connecting. */
	private final AtomicBoolean connects = new AtomicBoolean();

	/** Set before the factory is destroyed, which nothing may start again. */
	private volatile boolean closed;

	/**
	 * Creates connections that are not open.
	 * @param factory creates these connections only, and is started and destroyed here
	 * @param channel the channel of the node
	 * @param receiver is told of messages, and each time when connections that were lost
	 * are there again
	 */
	RedisConnections(LettuceConnectionFactory factory, String channel, Receiver receiver) {
		this.factory = factory;
		this.channel = channel;
		this.receiver = receiver;
	}

	/**
	 * Creates connections that differ from those of the application: they repeat no
	 * command, fail commands at once while disconnected, notice a silent connection, and
	 * read from no replica.
	 * @param factory the connections of the application
	 * @return connections that have not started
	 */
	static LettuceConnectionFactory forEngine(RedisConnectionFactory factory) {
		if (!(factory instanceof LettuceConnectionFactory lettuce)) {
			throw new IllegalStateException("The connections to Redis are of the type " + factory.getClass().getName()
					+ ". A cluster needs Lettuce: set 'spring.data.redis.client-type' to 'lettuce'.");
		}
		return new LettuceConnectionFactory(server(lettuce), client(lettuce.getClientConfiguration()));
	}

	private static RedisConfiguration server(LettuceConnectionFactory factory) {
		if (factory.getClusterConfiguration() != null) {
			return factory.getClusterConfiguration();
		}
		if (factory.getSentinelConfiguration() != null) {
			return factory.getSentinelConfiguration();
		}
		if (factory.getSocketConfiguration() != null) {
			return factory.getSocketConfiguration();
		}
		return standalone(factory);
	}

	/**
	 * A factory that was created with the static type {@link RedisConfiguration} tells
	 * the defaults instead of the configuration.
	 */
	private static RedisConfiguration standalone(LettuceConnectionFactory factory) {
		RedisStandaloneConfiguration server = factory.getStandaloneConfiguration();
		if (!server.getHostName().equals(factory.getHostName()) || server.getPort() != factory.getPort()
				|| server.getDatabase() != factory.getDatabase()) {
			throw new IllegalStateException(
					"The settings of the connections to Redis at %s:%d cannot be read. A cluster needs them: create the LettuceConnectionFactory with a variable of the type RedisStandaloneConfiguration, not RedisConfiguration."
						.formatted(factory.getHostName(), factory.getPort()));
		}
		return server;
	}

	private static LettuceClientConfiguration client(LettuceClientConfiguration application) {
		LettuceClientConfigurationBuilder client = LettuceClientConfiguration.builder()
			.commandTimeout(timeout(application.getCommandTimeout()))
			.shutdownTimeout(Duration.ZERO)
			.shutdownQuietPeriod(Duration.ZERO)
			.clientOptions(options(application.getClientOptions().orElseGet(ClientOptions::create)));
		application.getClientResources().ifPresent(client::clientResources);
		application.getClientName().ifPresent(client::clientName);
		application.getRedisCredentialsProviderFactory().ifPresent(client::redisCredentialsProviderFactory);
		if (application.isUseSsl()) {
			LettuceSslClientConfigurationBuilder ssl = client.useSsl().verifyPeer(application.getVerifyMode());
			if (application.isStartTls()) {
				ssl.startTls();
			}
		}
		return client.build();
	}

	/** For Lettuce, zero is no limit. */
	private static Duration timeout(Duration application) {
		boolean isShorter = application.compareTo(Duration.ZERO) > 0 && application.compareTo(LONGEST_TIMEOUT) < 0;
		return isShorter ? application : LONGEST_TIMEOUT;
	}

	private static ClientOptions options(ClientOptions application) {
		SocketOptions sockets = application.getSocketOptions()
			.mutate()
			.keepAlive(KeepAliveOptions.builder()
				.enable()
				.idle(Duration.ofSeconds(10))
				.interval(Duration.ofSeconds(5))
				.count(3)
				.build())
			.build();
		return application.mutate()
			.autoReconnect(true)
			.replayFilter((command) -> true)
			.requestQueueSize(QUEUE_SIZE)
			.disconnectedBehavior(DisconnectedBehavior.REJECT_COMMANDS)
			.socketOptions(sockets)
			.build();
	}

	/** Connects now or, if that fails, later. */
	void open() {
		this.factory.afterPropertiesSet();
		this.factory.start();
		try {
			connect();
		}
		catch (RuntimeException ex) {
			logger.warn("Cannot connect to Redis. Sessions stay local until it can be reached", ex);
			connectLater(false);
		}
	}

	/** Afterwards, Lettuce reconnects and subscribes again. */
	private void connect() {
		this.subscribed = false;
		RedisConnection subscription = this.factory.getConnection();
		boolean connected = false;
		try {
			subscription.subscribe(this, this.channel.getBytes(StandardCharsets.UTF_8));
			RedisConnection connection = this.factory.getConnection();
			this.commands = cast(connection.getNativeConnection());
			connected = true;
		}
		finally {
			if (!connected) {
				// The next attempt subscribes again, and each message must arrive once.
				subscription.close();
			}
		}
	}

	@SuppressWarnings("unchecked")
	private static RedisClusterAsyncCommands<byte[], byte[]> cast(Object connection) {
		return (RedisClusterAsyncCommands<byte[], byte[]>) connection;
	}

	/**
	 * Called before each renewal of the lease. If several in a row have not succeeded on
	 * these connections, replaces them.
	 */
	void beginRenewal() {
		if (this.renewals.getAndIncrement() >= MAX_FAILURES) {
			replace("%d renewals of the lease of this node have failed".formatted(MAX_FAILURES));
		}
	}

	/** Called when a renewal of the lease has succeeded. */
	void renewed() {
		this.renewals.set(0);
	}

	/**
	 * Closes all connections, and connects again in another thread. Has no effect while
	 * such a thread is connecting.
	 * @param reason why, for the log
	 */
	void replace(String reason) {
		if (!this.closed && !this.connects.get()) {
			logger.warn("The connections to Redis are replaced: " + reason);
			connectLater(true);
		}
	}

	private void connectLater(boolean restarts) {
		if (!this.connects.compareAndSet(false, true)) {
			return;
		}
		boolean started = false;
		try {
			Thread thread = new Thread(() -> reconnect(restarts), "lf-redis");
			thread.setDaemon(true);
			thread.start();
			started = true;
		}
		finally {
			if (!started) {
				// A later renewal tries it again.
				this.connects.set(false);
			}
		}
	}

	private void reconnect(boolean restarts) {
		boolean restartsNext = restarts;
		boolean connected = false;
		while (!this.closed && !connected) {
			try {
				if (restartsNext) {
					restart();
					restartsNext = false;
				}
				connect();
				connected = true;
			}
			catch (Throwable ex) {
				// Also an error, such as short memory, because nothing else connects.
				logger.debug("Cannot connect to Redis", ex);
				pause();
			}
		}
		// The failures were those of other connections.
		this.renewals.set(0);
		this.connects.set(false);
		heal();
	}

	private synchronized void restart() {
		if (!this.closed) {
			this.commands = null;
			this.factory.stop();
			this.factory.start();
		}
	}

	private static void pause() {
		LockSupport.parkNanos(RETRY_DELAY.toNanos());
	}

	/** Ignores messages from now on, and connects no more. */
	void end() {
		this.closed = true;
	}

	synchronized void close() {
		this.closed = true;
		this.factory.destroy();
	}

	/**
	 * The connection for commands.
	 * @throws IllegalStateException if there is none
	 */
	RedisClusterAsyncCommands<byte[], byte[]> commands() {
		RedisClusterAsyncCommands<byte[], byte[]> redis = this.commands;
		if (redis == null) {
			throw new IllegalStateException("There is no connection to Redis.");
		}
		return redis;
	}

	/** Whether Redis tells how many clients have received a message. */
	boolean countsReceivers() {
		return !this.factory.isClusterAware();
	}

	@Override
	public void onMessage(Message message, byte @Nullable [] pattern) {
		if (this.closed) {
			return;
		}
		try {
			this.receiver.receive(message.getBody());
		}
		catch (Throwable ex) {
			logger.error("A message of another node has failed", ex);
		}
	}

	/**
	 * The second time, the connection had been lost. A thread that connects heals itself.
	 */
	@Override
	public void onChannelSubscribed(byte[] channel, long count) {
		if (this.subscribed && !this.connects.get()) {
			heal();
		}
		this.subscribed = true;
	}

	/** The connection for commands may come back later than the subscription. */
	private void heal() {
		if (!this.closed) {
			ping().whenComplete((pong, failure) -> {
				if (failure != null) {
					CompletableFuture.delayedExecutor(RETRY_DELAY.toMillis(), TimeUnit.MILLISECONDS)
						.execute(this::heal);
				}
				else {
					this.receiver.healed();
				}
			});
		}
	}

	private CompletableFuture<String> ping() {
		try {
			return commands().ping().toCompletableFuture();
		}
		catch (RuntimeException | Error ex) {
			// Also an error, such as short memory: it must be asked for again.
			return CompletableFuture.failedFuture(ex);
		}
	}

}
