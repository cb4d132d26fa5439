package org.leaderfollowers.spring.cluster;

import java.time.Duration;

import io.lettuce.core.ClientOptions;
import io.lettuce.core.ClientOptions.DisconnectedBehavior;
import io.lettuce.core.SocketOptions;
import io.lettuce.core.SocketOptions.KeepAliveOptions;

import org.springframework.data.redis.connection.RedisConfiguration;
import org.springframework.data.redis.connection.RedisConnectionFactory;
import org.springframework.data.redis.connection.lettuce.LettuceClientConfiguration;
import org.springframework.data.redis.connection.lettuce.LettuceClientConfiguration.LettuceClientConfigurationBuilder;
import org.springframework.data.redis.connection.lettuce.LettuceClientConfiguration.LettuceSslClientConfigurationBuilder;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;

/**
 * Connections for {@link RedisClusterEngine}, to the Redis of the application.
 */
final class RedisConnections {

	private RedisConnections() {
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
		return factory.getStandaloneConfiguration();
	}

	private static LettuceClientConfiguration client(LettuceClientConfiguration application) {
		LettuceClientConfigurationBuilder client = LettuceClientConfiguration.builder()
			.commandTimeout(application.getCommandTimeout())
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

	/** How many commands may wait for a slow Redis. Further ones fail. */
	private static final int QUEUE_SIZE = 100_000;

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

}
