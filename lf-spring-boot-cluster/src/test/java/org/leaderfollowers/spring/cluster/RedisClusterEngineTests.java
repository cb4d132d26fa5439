package org.leaderfollowers.spring.cluster;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.regex.Pattern;
import java.util.stream.Stream;

import io.lettuce.core.RedisFuture;
import io.lettuce.core.ScriptOutputType;
import io.lettuce.core.api.async.RedisAsyncCommands;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import org.springframework.data.redis.connection.DefaultMessage;
import org.springframework.data.redis.connection.MessageListener;
import org.springframework.data.redis.connection.RedisConnection;
import org.springframework.data.redis.connection.RedisConnectionFactory;
import org.springframework.data.redis.connection.RedisStandaloneConfiguration;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.entry;
import static org.mockito.ArgumentMatchers.any;
import static org.mockito.ArgumentMatchers.eq;
import static org.mockito.BDDMockito.given;
import static org.mockito.BDDMockito.then;
import static org.mockito.BDDMockito.willAnswer;
import static org.mockito.Mockito.mock;
import static org.mockito.Mockito.never;

/** The contract of the engine, and rules for Redis alone. */
class RedisClusterEngineTests extends AbstractClusterEngineTests {

	private static RedisServer redis;

	/** With a user that may do what the guide says, and nothing else. */
	@BeforeAll
	static void startRedis() throws IOException {
		List<String> options = new ArrayList<>(List.of("--user", "node", "on", ">secret", "~lf:{*}:*", "&lf:{*}:*"));
		commandsOfTheGuide().map((command) -> "+" + command).forEach(options::add);
		redis = new RedisServer().start(options.toArray(String[]::new));
	}

	private static Stream<String> commandsOfTheGuide() throws IOException {
		String sentence = Files.readAllLines(Path.of("../docs/src/docs/asciidoc/cluster.adoc"))
			.stream()
			.filter((line) -> line.startsWith("A user of Redis with an access list needs the commands"))
			.findFirst()
			.orElseThrow();
		return Pattern.compile("`([A-Z]+)`")
			.matcher(sentence)
			.results()
			.map((match) -> match.group(1).toLowerCase(Locale.ROOT));
	}

	@AfterAll
	static void stopRedis() {
		if (redis != null) {
			redis.close();
		}
	}

	@Override
	ClusterEngine create(int index, String cluster) {
		RedisStandaloneConfiguration server = new RedisStandaloneConfiguration("127.0.0.1", redis.port());
		server.setUsername("node");
		server.setPassword("secret");
		return new RedisClusterEngine(RedisConnections.forEngine(new LettuceConnectionFactory(server)), cluster);
	}

	private static ClusterEngine engine(int port, String cluster) {
		return new RedisClusterEngine(RedisConnections.forEngine(new LettuceConnectionFactory("127.0.0.1", port)),
				cluster);
	}

	@Test
	void otherClientsThanLettuceAreRejected() {
		RedisConnectionFactory other = mock();
		assertThatIllegalStateException().isThrownBy(() -> RedisConnections.forEngine(other))
			.withMessageContaining("spring.data.redis.client-type");
	}

	@Test
	void aNodeHealsAfterARestartOfRedis() {
		try (RedisServer server = new RedisServer().start()) {
			String cluster = "test-" + UUID.randomUUID();
			ClusterEngine engine = engine(server.port(), cluster);
			try {
				Inbox inbox = new Inbox();
				String id = engine.start("north", inbox);
				get(engine.renew(bytes("node"), LONG));
				assertThat(get(engine.compareAndSet("key", null, bytes("value"), LONG))).isTrue();
				server.stop();
				eventually().untilAsserted(() -> {
					assertFails(engine.get("key"));
					assertFails(engine.compareAndSet("key", null, bytes("value"), LONG));
					assertFails(engine.touch(List.of("key"), LONG).get("key"));
					assertFails(engine.renew(bytes("node"), LONG));
					assertFails(engine.nodes());
					assertFails(engine.send(id, bytes("message")));
				});
				assertThat(inbox.healings).hasValue(0);
				server.start();
				eventually().until(() -> inbox.healings.get() == 1);
				assertThat(get(engine.get("key"))).isNull();
				assertThat(get(engine.nodes())).isEmpty();
				get(engine.renew(bytes("node"), LONG));
				get(engine.send(id, bytes("again")));
				eventually().until(() -> inbox.messages.containsKey("again"));
				assertThat(inbox.messages).hasSize(1);
			}
			finally {
				engine.stop();
			}
		}
	}

	@Test
	void aNodeStartsWithoutRedisAndHealsWhenItIsThere() {
		try (RedisServer server = new RedisServer()) {
			ClusterEngine engine = engine(server.port(), "test");
			try {
				Inbox inbox = new Inbox();
				String id = engine.start("north", inbox);
				assertFails(engine.renew(bytes("node"), LONG));
				assertThat(inbox.healings).hasValue(0);
				eventually().untilAsserted(() -> assertThat(Thread.getAllStackTraces()).anySatisfy((thread, stack) -> {
					assertThat(thread.getName()).isEqualTo("lf-redis");
					assertThat(thread.isDaemon()).isTrue();
					assertThat(stack).extracting(StackTraceElement::getMethodName).contains("parkNanos", "pause");
				}));
				server.start();
				eventually().until(() -> inbox.healings.get() == 1);
				get(engine.renew(bytes("node"), LONG));
				get(engine.send(id, bytes("message")));
				eventually().until(() -> inbox.messages.containsKey("message"));
			}
			finally {
				engine.stop();
			}
		}
	}

	/** The thread that has connected must not seem to go on. */
	@Test
	void aNodeThatHasConnectedLateHealsAfterEachRestartOfRedis() {
		try (RedisServer server = new RedisServer()) {
			ClusterEngine engine = engine(server.port(), "test");
			try {
				Inbox inbox = new Inbox();
				engine.start("north", inbox);
				server.start();
				eventually().until(() -> inbox.healings.get() == 1);
				server.stop();
				eventually().untilAsserted(() -> assertFails(engine.get("key")));
				server.start();
				eventually().until(() -> inbox.healings.get() == 2);
			}
			finally {
				engine.stop();
			}
		}
	}

	@Test
	void aNodeConnectsAfterAnErrorHasPrevented() {
		AtomicInteger attempts = new AtomicInteger();
		ClusterEngine engine = new RedisClusterEngine(new LettuceConnectionFactory("127.0.0.1", redis.port()) {

			@Override
			public RedisConnection getConnection() {
				switch (attempts.incrementAndGet()) {
					case 1 -> throw new IllegalStateException("from the test");
					case 2 -> throw new OutOfMemoryError("from the test");
					// After the subscription.
					case 4 -> throw new IllegalStateException("from the test");
					default -> {
					}
				}
				return super.getConnection();
			}

		}, "test-" + UUID.randomUUID());
		try {
			Inbox inbox = new Inbox();
			String id = engine.start("north", inbox);
			eventually().until(() -> inbox.healings.get() == 1);
			get(engine.renew(bytes("node"), LONG));
			get(engine.send(id, bytes("message")));
			get(engine.send(id, bytes("last")));
			eventually().until(() -> inbox.messages.containsKey("last"));
			assertThat(inbox.messages.values()).containsOnly(1);
		}
		finally {
			engine.stop();
		}
	}

	/** Redis may evict one key of several. */
	@Test
	void aNodeWhoseDescriptionIsMissingIsLive() {
		String cluster = "test-" + UUID.randomUUID();
		ClusterEngine engine = engine(redis.port(), cluster);
		LettuceConnectionFactory connections = new LettuceConnectionFactory("127.0.0.1", redis.port());
		try {
			String id = engine.start("north", new Inbox());
			get(engine.renew(bytes("node"), LONG));
			connections.start();
			connections.getConnection().keyCommands().del(bytes("lf:{" + cluster + "}:nodes"));
			assertThat(get(engine.nodes()).get(id)).isEmpty();
		}
		finally {
			connections.destroy();
			engine.stop();
		}
	}

	/** Otherwise Redis would keep every run of every node that has died. */
	@Test
	void aRenewalRemovesNodesWhoseLeasesHaveExpired() {
		String cluster = "test-" + UUID.randomUUID();
		ClusterEngine dead = engine(redis.port(), cluster);
		ClusterEngine live = engine(redis.port(), cluster);
		LettuceConnectionFactory connections = new LettuceConnectionFactory("127.0.0.1", redis.port());
		try {
			dead.start("dead", new Inbox());
			live.start("live", new Inbox());
			connections.start();
			RedisConnection redisConnection = connections.getConnection();
			get(dead.renew(bytes("node"), Duration.ofMillis(1)));
			eventually().untilAsserted(() -> {
				get(live.renew(bytes("node"), LONG));
				assertThat(redisConnection.hashCommands().hLen(bytes("lf:{" + cluster + "}:nodes"))).isOne();
				assertThat(redisConnection.zSetCommands().zCard(bytes("lf:{" + cluster + "}:leases"))).isOne();
			});
		}
		finally {
			connections.destroy();
			dead.stop();
			live.stop();
		}
	}

	/** Otherwise Redis would keep every run of every node that has stopped. */
	@Test
	void nothingIsKeptOfANodeThatHasStopped() {
		String cluster = "test-" + UUID.randomUUID();
		ClusterEngine engine = engine(redis.port(), cluster);
		LettuceConnectionFactory connections = new LettuceConnectionFactory("127.0.0.1", redis.port());
		try {
			connections.start();
			RedisConnection redisConnection = connections.getConnection();
			engine.start("north", new Inbox());
			get(engine.renew(bytes("node"), LONG));
			assertThat(redisConnection.keyCommands().exists(bytes("lf:{" + cluster + "}:nodes"))).isTrue();
			engine.stop();
			assertThat(redisConnection.keyCommands().exists(bytes("lf:{" + cluster + "}:nodes"))).isFalse();
			assertThat(redisConnection.keyCommands().exists(bytes("lf:{" + cluster + "}:leases"))).isFalse();
		}
		finally {
			connections.destroy();
			engine.stop();
		}
	}

	@Test
	void aValueOfAnotherTypeLeavesTheOthersAloneAndCanBeReplaced() {
		String cluster = "test-" + UUID.randomUUID();
		ClusterEngine engine = engine(redis.port(), cluster);
		LettuceConnectionFactory connections = new LettuceConnectionFactory("127.0.0.1", redis.port());
		try {
			engine.start("north", new Inbox());
			get(engine.compareAndSet("key", null, bytes("value"), LONG));
			connections.start();
			connections.getConnection().listCommands().lPush(bytes("lf:{" + cluster + "}:value:list"), bytes("x"));
			assertThat(touch(engine, List.of("list", "key", "missing"), LONG)).containsOnly(entry("list", new byte[0]),
					entry("key", bytes("value")));
			assertThat(get(engine.get("list"))).isEmpty();
			assertThat(get(engine.get("missing"))).isNull();
			assertThat(get(engine.compareAndSet("list", null, bytes("new"), LONG))).isFalse();
			assertThat(get(engine.compareAndSet("list", new byte[0], bytes("new"), LONG))).isTrue();
			assertThat(get(engine.get("list"))).isEqualTo(bytes("new"));
		}
		finally {
			connections.destroy();
			engine.stop();
		}
	}

	@Test
	void aRenewalReplacesWhatIsNoListOfNodes() {
		String cluster = "test-" + UUID.randomUUID();
		ClusterEngine engine = engine(redis.port(), cluster);
		LettuceConnectionFactory connections = new LettuceConnectionFactory("127.0.0.1", redis.port());
		try {
			engine.start("north", new Inbox());
			connections.start();
			for (String key : List.of("leases", "nodes")) {
				connections.getConnection().stringCommands().set(bytes("lf:{" + cluster + "}:" + key), bytes("x"));
			}
			get(engine.renew(bytes("node"), LONG));
			get(engine.renew(bytes("node"), LONG));
			assertThat(get(engine.nodes()).values()).containsExactly(bytes("node"));
		}
		finally {
			connections.destroy();
			engine.stop();
		}
	}

	@Test
	void anErrorThatConcernsAllValuesIsNotTakenForAValue() {
		ClusterEngine engine = engine(redis.port(), "test-" + UUID.randomUUID());
		try {
			engine.start("north", new Inbox());
			assertThat(get(engine.compareAndSet("key", null, bytes("value"), LONG))).isTrue();
			// Redis rejects an expiration that its clock cannot represent.
			assertThat(engine.touch(List.of("key"), Duration.ofMillis(Long.MAX_VALUE)).get("key"))
				.failsWithin(Duration.ofMinutes(1))
				.withThrowableThat()
				.withMessageContaining("invalid expire time");
			assertThat(touch(engine, List.of("key"), LONG)).containsKey("key");
		}
		finally {
			engine.stop();
		}
	}

	@Test
	void aCommandWhoseReplyIsLostIsNotRepeated() {
		try (TcpProxy proxy = new TcpProxy(redis.port())) {
			String cluster = "test-" + UUID.randomUUID();
			ClusterEngine near = engine(redis.port(), cluster);
			ClusterEngine far = engine(proxy.port(), cluster);
			try {
				Inbox inbox = new Inbox();
				String id = near.start("near", inbox);
				Inbox farInbox = new Inbox();
				far.start("far", farInbox);
				assertThat(get(far.compareAndSet("key", null, bytes("1"), LONG))).isTrue();
				proxy.dropReplies();
				CompletableFuture<Void> sent = far.send(id, bytes("once"));
				CompletableFuture<Boolean> replaced = far.compareAndSet("key", bytes("1"), bytes("2"), LONG);
				eventually().until(() -> inbox.messages.containsKey("once"));
				eventually().until(() -> get(near.get("key"))[0] == '2');
				assertThat(get(near.compareAndSet("key", bytes("2"), bytes("1"), LONG))).isTrue();
				proxy.cut();
				assertFails(sent);
				assertFails(replaced);
				proxy.mend();
				eventually().until(() -> farInbox.healings.get() > 0);
				get(far.send(id, bytes("later")));
				eventually().until(() -> inbox.messages.containsKey("later"));
				assertThat(inbox.messages.values()).containsOnly(1);
				assertThat(get(near.get("key"))).isEqualTo(bytes("1"));
			}
			finally {
				far.stop();
				near.stop();
			}
		}
	}

	/** The first connection is for commands, the second one is the subscription. */
	@ParameterizedTest
	@ValueSource(ints = { 0, 1 })
	void aConnectionThatIsOpenButDeliversNothingIsReplaced(int silent) throws Exception {
		withProxy((proxy, engine, id) -> {
			proxy.dropReplies(silent);
			eventually().until(() -> {
				engine.renew(bytes("node"), LONG)
					.orTimeout(100, TimeUnit.MILLISECONDS)
					.exceptionally((failure) -> 0L)
					.join();
				return proxy.connections() > 2;
			});
		});
	}

	@Test
	void connectionsOnWhichRenewalsSucceedAreKept() {
		try (TcpProxy proxy = new TcpProxy(redis.port())) {
			ClusterEngine engine = engine(proxy.port(), "test-" + UUID.randomUUID());
			try {
				Inbox inbox = new Inbox();
				engine.start("north", inbox);
				for (int i = 0; i < 10; i++) {
					get(engine.renew(bytes("node"), LONG));
				}
				assertThat(proxy.connections()).as("one for commands, and the subscription").isEqualTo(2);
				assertThat(inbox.healings).hasValue(0);
			}
			finally {
				engine.stop();
			}
		}
	}

	@Test
	void aConnectionWhoseRepliesBelongToOtherCommandsIsReplaced() throws Exception {
		withProxy((proxy, engine, id) -> {
			proxy.dropNextReply(0);
			engine.get("key");
			eventually().until(proxy::hasDroppedReplies);
			// Each command gets the reply to the next one.
			CompletableFuture<Long> renewed = engine.renew(bytes("node"), LONG);
			CompletableFuture<Void> sent = engine.send(id, bytes("earlier"));
			eventually().until(sent::isDone);
			engine.nodes();
			assertFails(renewed);
		});
	}

	/** The time of another renewal is later than the lease begins. */
	@Test
	@SuppressWarnings("unchecked")
	void theAnswerToAnotherRenewalIsRejected() {
		RedisAsyncCommands<byte[], byte[]> commands = mock();
		AtomicReference<MessageListener> listener = new AtomicReference<>();
		LettuceConnectionFactory factory = factory(commands, listener);
		willAnswer((call) -> {
			byte[] channel = call.getArgument(0);
			listener.get().onMessage(new DefaultMessage(channel, call.getArgument(1)), null);
			return reply(1L);
		}).given(commands).publish(any(), any());
		AtomicBoolean isOfAnother = new AtomicBoolean();
		willAnswer((call) -> {
			byte[] token = call.getArgument(6);
			return reply(List.of(1000L, isOfAnother.get() ? bytes("of another") : token));
		}).given(commands).eval(any(byte[].class), eq(ScriptOutputType.MULTI), any(), any(byte[][].class));
		ClusterEngine engine = new RedisClusterEngine(factory, "test");
		engine.start("north", new Inbox());
		assertThat(get(engine.renew(bytes("node"), LONG))).isEqualTo(1000);
		isOfAnother.set(true);
		assertFails(engine.renew(bytes("node"), LONG));
	}

	/** A renewal would follow the withdrawal, and nobody would get the replies. */
	@Test
	@SuppressWarnings("unchecked")
	void aNodeDoesNothingWhileItsLeaseIsWithdrawn() {
		RedisAsyncCommands<byte[], byte[]> commands = mock();
		AtomicReference<MessageListener> listener = new AtomicReference<>();
		LettuceConnectionFactory factory = factory(commands, listener);
		RedisFuture<Long> withdrawn = mock();
		AtomicReference<CompletableFuture<Long>> renewed = new AtomicReference<>();
		ClusterEngine engine = new RedisClusterEngine(factory, "test");
		given(withdrawn.toCompletableFuture()).willReturn(new CompletableFuture<>() {

			@Override
			public Long get(long timeout, TimeUnit unit) {
				listener.get().onMessage(new DefaultMessage(bytes("channel"), bytes("late")), null);
				renewed.set(engine.renew(bytes("node"), LONG));
				return 1L;
			}

		});
		given(commands.eval(any(byte[].class), eq(ScriptOutputType.INTEGER), any(), any(byte[][].class)))
			.willReturn((RedisFuture<Object>) (RedisFuture<?>) withdrawn);
		Inbox inbox = new Inbox();
		engine.start("north", inbox);
		listener.get().onMessage(new DefaultMessage(bytes("channel"), bytes("in time")), null);
		engine.stop();
		assertFails(renewed.get());
		then(commands).should(never()).publish(any(), any());
		assertThat(inbox.messages).containsOnlyKeys("in time");
	}

	private static LettuceConnectionFactory factory(RedisAsyncCommands<byte[], byte[]> commands,
			AtomicReference<MessageListener> listener) {
		RedisConnection connection = mock();
		given(connection.getNativeConnection()).willReturn(commands);
		LettuceConnectionFactory factory = mock();
		given(factory.getConnection()).willReturn(connection);
		willAnswer((call) -> {
			listener.set(call.getArgument(0));
			return null;
		}).given(connection).subscribe(any(), any());
		return factory;
	}

	private static <T> RedisFuture<T> reply(T value) {
		RedisFuture<T> future = mock();
		given(future.toCompletableFuture()).willReturn(CompletableFuture.completedFuture(value));
		return future;
	}

	/** For example because memory is short. The caller waits for the future. */
	@Test
	void aCallThatEndsWithAnErrorFails() {
		RedisAsyncCommands<byte[], byte[]> commands = mock();
		given(commands.get(any())).willThrow(new LinkageError("from the test"));
		RedisConnection connection = mock();
		given(connection.getNativeConnection()).willReturn(commands);
		LettuceConnectionFactory factory = mock();
		given(factory.getConnection()).willReturn(connection);
		ClusterEngine engine = new RedisClusterEngine(factory, "test");
		engine.start("north", new Inbox());
		assertFails(engine.get("key"));
	}

	@Test
	void connectionsThatCouldNotBeReplacedAreReplacedLater() {
		AtomicInteger stops = new AtomicInteger();
		ClusterEngine engine = new RedisClusterEngine(new LettuceConnectionFactory("127.0.0.1", redis.port()) {

			@Override
			public void stop() {
				if (stops.incrementAndGet() == 1) {
					throw new OutOfMemoryError("from the test");
				}
				super.stop();
			}

		}, "test-" + UUID.randomUUID());
		try {
			Inbox inbox = new Inbox();
			engine.start("north", inbox);
			eventually().until(() -> {
				for (int i = 0; i < 4; i++) {
					engine.renew(bytes("node"), LONG);
				}
				return stops.get() > 0;
			});
			eventually().until(() -> inbox.healings.get() > 0);
			assertThat(stops.get()).isGreaterThan(1);
			eventually().untilAsserted(() -> engine.renew(bytes("node"), LONG).get(1, TimeUnit.SECONDS));
		}
		finally {
			engine.stop();
		}
	}

	private void withProxy(Fault fault) throws Exception {
		try (TcpProxy proxy = new TcpProxy(redis.port())) {
			ClusterEngine engine = engine(proxy.port(), "test-" + UUID.randomUUID());
			try {
				Inbox inbox = new Inbox();
				String id = engine.start("north", inbox);
				get(engine.renew(bytes("node"), LONG));
				fault.cause(proxy, engine, id);
				eventually().until(() -> inbox.healings.get() == 1);
				get(engine.renew(bytes("node"), LONG));
				assertThat(get(engine.nodes())).containsOnlyKeys(id);
				get(engine.send(id, bytes("message")));
				eventually().until(() -> inbox.messages.containsKey("message"));
				assertThat(inbox.messages).containsEntry("message", 1);
				assertThat(inbox.messages.values()).containsOnly(1);
			}
			finally {
				engine.stop();
			}
		}
	}

	private interface Fault {

		void cause(TcpProxy proxy, ClusterEngine engine, String id) throws Exception;

	}

}
