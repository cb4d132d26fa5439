package org.leaderfollowers.spring.cluster;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Stream;

import io.lettuce.core.ClientOptions;
import io.lettuce.core.ClientOptions.DisconnectedBehavior;
import io.lettuce.core.RedisFuture;
import io.lettuce.core.SocketOptions;
import io.lettuce.core.SslVerifyMode;
import io.lettuce.core.api.async.RedisAsyncCommands;
import io.lettuce.core.protocol.RedisCommand;
import io.lettuce.core.resource.ClientResources;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.leaderfollowers.spring.cluster.AbstractClusterEngineTests.Inbox;

import org.springframework.data.redis.connection.DefaultMessage;
import org.springframework.data.redis.connection.RedisClusterConfiguration;
import org.springframework.data.redis.connection.RedisConfiguration;
import org.springframework.data.redis.connection.RedisConnection;
import org.springframework.data.redis.connection.RedisSentinelConfiguration;
import org.springframework.data.redis.connection.RedisSocketConfiguration;
import org.springframework.data.redis.connection.RedisStandaloneConfiguration;
import org.springframework.data.redis.connection.lettuce.LettuceClientConfiguration;
import org.springframework.data.redis.connection.lettuce.LettuceClientConfiguration.LettuceClientConfigurationBuilder;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;
import org.springframework.data.redis.connection.lettuce.RedisCredentialsProviderFactory;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.leaderfollowers.spring.cluster.AbstractClusterEngineTests.bytes;
import static org.leaderfollowers.spring.cluster.AbstractClusterEngineTests.eventually;
import static org.mockito.BDDMockito.given;
import static org.mockito.BDDMockito.then;
import static org.mockito.Mockito.mock;
import static org.mockito.Mockito.times;

/**
 * Tests which settings of the application the {@link RedisConnections} of a node have.
 */
class RedisConnectionsTests {

	@Test
	void clientsAreSetUpLikeThoseOfTheApplication() {
		ClientResources resources = ClientResources.create();
		try {
			RedisCredentialsProviderFactory credentials = new RedisCredentialsProviderFactory() {
			};
			LettuceClientConfigurationBuilder client = LettuceClientConfiguration.builder()
				.clientName("taxis")
				.clientResources(resources)
				.redisCredentialsProviderFactory(credentials)
				.commandTimeout(Duration.ofMillis(100));
			client.useSsl().startTls().verifyPeer(SslVerifyMode.CA);
			LettuceClientConfiguration made = RedisConnections
				.forEngine(new LettuceConnectionFactory(new RedisStandaloneConfiguration(), client.build()))
				.getClientConfiguration();
			assertThat(made.getClientName()).contains("taxis");
			assertThat(made.getClientResources()).containsSame(resources);
			assertThat(made.getRedisCredentialsProviderFactory()).containsSame(credentials);
			assertThat(made.getCommandTimeout()).hasMillis(100);
			assertThat(made.isUseSsl()).isTrue();
			assertThat(made.isStartTls()).isTrue();
			assertThat(made.getVerifyMode()).isEqualTo(SslVerifyMode.CA);
		}
		finally {
			resources.shutdown();
		}
	}

	@Test
	void clientsDoNotUseTlsOfTheirOwnAccord() {
		LettuceClientConfiguration made = RedisConnections.forEngine(new LettuceConnectionFactory())
			.getClientConfiguration();
		assertThat(made.isUseSsl()).isFalse();
		assertThat(made.getClientName()).isEmpty();
	}

	/** A repeated command would replace a value again, or send a message twice. */
	@Test
	void commandsAreNeitherRepeatedNorKeptUntilTheNextConnection() {
		ClientOptions options = RedisConnections.forEngine(new LettuceConnectionFactory())
			.getClientConfiguration()
			.getClientOptions()
			.orElseThrow();
		RedisCommand<?, ?, ?> sent = mock();
		assertThat(options.getReplayFilter().test(sent)).isTrue();
		assertThat(options.getDisconnectedBehavior()).isEqualTo(DisconnectedBehavior.REJECT_COMMANDS);
	}

	/**
	 * A connection that is subscribed sends nothing: only probes tell that it is lost.
	 */
	@Test
	void connectionsNoticeASilentServerAndEndAtOnce() {
		LettuceClientConfiguration made = RedisConnections.forEngine(new LettuceConnectionFactory())
			.getClientConfiguration();
		ClientOptions options = made.getClientOptions().orElseThrow();
		assertThat(options.getSocketOptions().isKeepAlive()).isTrue();
		assertThat(options.getSocketOptions().getKeepAlive()).satisfies((probes) -> {
			assertThat(probes.getIdle()).hasSeconds(10);
			assertThat(probes.getInterval()).hasSeconds(5);
			assertThat(probes.getCount()).isEqualTo(3);
		});
		assertThat(options.isAutoReconnect()).isTrue();
		assertThat(options.getRequestQueueSize()).as("commands that wait use bounded memory").isEqualTo(100_000);
		assertThat(made.getShutdownTimeout()).isZero();
		assertThat(made.getShutdownQuietPeriod()).isZero();
	}

	@Test
	void optionsOfTheApplicationThatNodesDoNotNeedAreKept() {
		ClientOptions application = ClientOptions.builder()
			.autoReconnect(false)
			.pingBeforeActivateConnection(false)
			.socketOptions(SocketOptions.builder().connectTimeout(Duration.ofMillis(700)).build())
			.build();
		ClientOptions options = RedisConnections
			.forEngine(new LettuceConnectionFactory(new RedisStandaloneConfiguration(),
					LettuceClientConfiguration.builder().clientOptions(application).build()))
			.getClientConfiguration()
			.getClientOptions()
			.orElseThrow();
		assertThat(options.isPingBeforeActivateConnection()).isFalse();
		assertThat(options.getSocketOptions().getConnectTimeout()).hasMillis(700);
		assertThat(options.isAutoReconnect()).isTrue();
	}

	/** A later attempt may be answered. For Lettuce, zero is no limit. */
	@ParameterizedTest
	@CsvSource({ "0, 10000", "1, 1", "9999, 9999", "10000, 10000", "10001, 10000" })
	void commandsWaitTenSecondsAtMost(long application, long expected) {
		LettuceClientConfiguration client = LettuceClientConfiguration.builder()
			.commandTimeout(Duration.ofMillis(application))
			.build();
		assertThat(RedisConnections.forEngine(new LettuceConnectionFactory(new RedisStandaloneConfiguration(), client))
			.getClientConfiguration()
			.getCommandTimeout()).hasMillis(expected);
	}

	@Test
	void messagesThatArriveAfterTheEndAreIgnored() {
		Inbox inbox = new Inbox();
		RedisConnections connections = new RedisConnections(new LettuceConnectionFactory(), "channel", inbox);
		connections.onMessage(new DefaultMessage(bytes("channel"), bytes("before")), null);
		connections.end();
		connections.onMessage(new DefaultMessage(bytes("channel"), bytes("after")), null);
		assertThat(inbox.messages).containsOnlyKeys("before");
	}

	/** The subscription may come back earlier. */
	@Test
	void aNodeHealsWhenTheConnectionForCommandsIsThereAgain() {
		RedisAsyncCommands<byte[], byte[]> commands = mock();
		RedisConnection connection = mock();
		given(connection.getNativeConnection()).willReturn(commands);
		LettuceConnectionFactory factory = mock();
		given(factory.getConnection()).willReturn(connection);
		RedisFuture<String> failed = mock();
		given(failed.toCompletableFuture())
			.willReturn(CompletableFuture.failedFuture(new IllegalStateException("from the test")));
		RedisFuture<String> answered = mock();
		given(answered.toCompletableFuture()).willReturn(CompletableFuture.completedFuture("PONG"));
		given(commands.ping()).willReturn(failed)
			.willThrow(new OutOfMemoryError("made for the test"))
			.willReturn(answered);
		Inbox inbox = new Inbox();
		RedisConnections connections = new RedisConnections(factory, "channel", inbox);
		connections.open();
		connections.onChannelSubscribed(bytes("channel"), 1);
		connections.onChannelSubscribed(bytes("channel"), 1);
		assertThat(inbox.healings).hasValue(0);
		eventually().until(() -> inbox.healings.get() == 1);
		then(commands).should(times(3)).ping();
	}

	@ParameterizedTest
	@MethodSource("servers")
	void serversAreThoseOfTheApplication(LettuceConnectionFactory application) {
		LettuceConnectionFactory made = RedisConnections.forEngine(application);
		assertThat(made.getClusterConfiguration()).isSameAs(application.getClusterConfiguration());
		assertThat(made.getSentinelConfiguration()).isSameAs(application.getSentinelConfiguration());
		assertThat(made.getSocketConfiguration()).isSameAs(application.getSocketConfiguration());
		assertThat(made.getHostName()).isEqualTo(application.getHostName());
		assertThat(made.getPort()).isEqualTo(application.getPort());
	}

	static Stream<LettuceConnectionFactory> servers() {
		LettuceClientConfiguration client = LettuceClientConfiguration.defaultConfiguration();
		return Stream.of(
				new LettuceConnectionFactory(new RedisClusterConfiguration().clusterNode("cluster", 1), client),
				new LettuceConnectionFactory(new RedisSentinelConfiguration().master("taxis").sentinel("sentinel", 2),
						client),
				new LettuceConnectionFactory(new RedisSocketConfiguration("/socket"), client),
				new LettuceConnectionFactory(new RedisStandaloneConfiguration("standalone", 3), client));
	}

	/** The node would connect to a server on its own host instead. */
	@Test
	void settingsThatTheFactoryDoesNotTellAreRejected() {
		RedisStandaloneConfiguration numbered = new RedisStandaloneConfiguration();
		numbered.setDatabase(1);
		for (RedisConfiguration server : List.of(new RedisStandaloneConfiguration("standalone"),
				new RedisStandaloneConfiguration("localhost", 3), numbered)) {
			LettuceConnectionFactory application = new LettuceConnectionFactory(server);
			assertThatIllegalStateException().isThrownBy(() -> RedisConnections.forEngine(application))
				.withMessageContaining(application.getHostName() + ":" + application.getPort())
				.withMessageContaining("RedisStandaloneConfiguration");
		}
	}

}
