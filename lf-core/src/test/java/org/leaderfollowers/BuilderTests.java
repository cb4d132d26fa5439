package org.leaderfollowers;

import java.time.Duration;
import java.util.function.Consumer;
import java.util.stream.Stream;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.assertThatNullPointerException;

/** Invalid arguments of the builders, and the messages of the exceptions. */
class BuilderTests {

	static Stream<Arguments> badPools() {
		return Stream.of(pool((pool) -> pool.threads(0, 4), "'min' must be at least 1, but is 0"),
				pool((pool) -> pool.threads(-1, 4), "'min' must be at least 1, but is -1"),
				pool((pool) -> pool.threads(5, 4), "'max' must be from 'min' (5) to 10000, but is 4"),
				pool((pool) -> pool.threads(1, 10_001), "'max' must be from 'min' (1) to 10000, but is 10001"),
				pool((pool) -> pool.name(" "), "'name' must not be empty"),
				pool((pool) -> pool.keepAlive(Duration.ZERO), "'keepAlive' must be positive, but is PT0S"),
				pool((pool) -> pool.keepAlive(Duration.ofMillis(-1)), "'keepAlive' must be positive, but is PT-0.001S"),
				pool((pool) -> pool.threadPriority(0), "'priority' must be from 1 to 10, but is 0"),
				pool((pool) -> pool.threadPriority(11), "'priority' must be from 1 to 10, but is 11"),
				pool((pool) -> pool.handleSets(0), "'handleSets' must be from 1 to 64, but is 0"),
				pool((pool) -> pool.handleSets(65), "'handleSets' must be from 1 to 64, but is 65"),
				pool((pool) -> pool.parallelism(0), "'parallelism' must be from 1 to 1024, but is 0"),
				pool((pool) -> pool.parallelism(1025), "'parallelism' must be from 1 to 1024, but is 1025"),
				pool((pool) -> pool.threads(2, 8).handleSets(3).build(),
						"'handleSets' (3) must not exceed the minimum number of threads (2): each handle set needs a thread to lead it"));
	}

	private static Arguments pool(Consumer<LeaderFollowersPool.Builder> mistake, String message) {
		return Arguments.of(message, mistake);
	}

	@ParameterizedTest(name = "{0}")
	@MethodSource("badPools")
	void aPoolRefuses(String message, Consumer<LeaderFollowersPool.Builder> mistake) {
		assertThatIllegalArgumentException().isThrownBy(() -> mistake.accept(LeaderFollowersPool.builder()))
			.withMessage(message);
	}

	static Stream<Arguments> badServers() {
		return Stream.of(server((server) -> server.port(-1), "'port' must be from 0 to 65535, but is -1"),
				server((server) -> server.port(65536), "'port' must be from 0 to 65535, but is 65536"),
				server((server) -> server.backlog(0), "'backlog' must be from 1 to 65535, but is 0"),
				server((server) -> server.name(""), "'name' must not be empty"),
				server((server) -> server.maxMessageSize(9)
					.framing(Framing.fixedLength(10))
					.handler((connection, message) -> {
					})
					.build(), "'maxMessageSize' (9) must not be less than the length of every message (10)"),
				server((server) -> server.maxMessageSize(3)
					.framing(Framing.lengthField(2).offset(4))
					.handler((connection, message) -> {
					})
					.build(),
						"'maxMessageSize' (3) must not be less than the length of the header of every message (4)"),
				server((server) -> server.maxMessageSize(0), "'maxMessageSize' must be from 1 to 1073741824, but is 0"),
				server((server) -> server.maxMessageSize(Integer.MAX_VALUE),
						"'maxMessageSize' must be from 1 to 1073741824, but is 2147483647"),
				server((server) -> server.maxConnections(0), "'maxConnections' must be from 1 to 2147483647, but is 0"),
				server((server) -> server.maxOutboundSize(1023),
						"'maxOutboundSize' must be from 1024 to 1073741824, but is 1023"),
				server((server) -> server.receiveBufferSize(1023),
						"'receiveBufferSize' must be from 1024 to 1073741824, but is 1023"),
				server((server) -> server.sendBufferSize(0),
						"'sendBufferSize' must be from 1024 to 1073741824, but is 0"),
				server((server) -> server.idleTimeout(Duration.ofMillis(-1)),
						"'idleTimeout' must not be negative, but is PT-0.001S"),
				server((server) -> server.messageTimeout(Duration.ofSeconds(-1)),
						"'messageTimeout' must not be negative, but is PT-1S"),
				server((server) -> server.loginTimeout(Duration.ofMillis(-1)),
						"'loginTimeout' must not be negative, but is PT-0.001S"),
				server((server) -> server.readIdle(Duration.ofMillis(-1)),
						"'readIdle' must not be negative, but is PT-0.001S"),
				server((server) -> server.writeIdle(Duration.ofMillis(-1)),
						"'writeIdle' must not be negative, but is PT-0.001S"),
				server((server) -> server.writeTimeout(Duration.ofSeconds(Long.MIN_VALUE)),
						"'writeTimeout' must not be negative, but is " + Duration.ofSeconds(Long.MIN_VALUE)));
	}

	private static Arguments server(Consumer<TcpServer.Builder> mistake, String message) {
		return Arguments.of(message, mistake);
	}

	@ParameterizedTest(name = "{0}")
	@MethodSource("badServers")
	void aServerRefuses(String message, Consumer<TcpServer.Builder> mistake) {
		try (LeaderFollowersPool pool = LeaderFollowersPool.builder().build()) {
			assertThatIllegalArgumentException().isThrownBy(() -> mistake.accept(TcpServer.builder(pool)))
				.withMessage(message);
		}
	}

	@Test
	void aServerNeedsAFramingAndAHandler() {
		try (LeaderFollowersPool pool = LeaderFollowersPool.builder().build()) {
			assertThatIllegalStateException().isThrownBy(() -> TcpServer.builder(pool).name("orders").build())
				.withMessage("Server 'orders' needs a framing: call framing(...) before build()");
			assertThatIllegalStateException().isThrownBy(() -> TcpServer.builder(pool).framing(Framing.line()).build())
				.withMessage("Server 'default' needs a handler: call handler(...) before build()");
		}
	}

	@Test
	@SuppressWarnings({ "NullAway", "DataFlowIssue" })
	void aServerNeedsAPool() {
		assertThatNullPointerException().isThrownBy(() -> TcpServer.builder(null));
	}

	@Test
	void whatWasBuiltShowsItsConfiguration() {
		try (LeaderFollowersPool pool = LeaderFollowersPool.builder()
			.name("orders")
			.threads(3, 7)
			.handleSets(2)
			.keepAlive(Duration.ofSeconds(5))
			.build()) {
			PoolSnapshot snapshot = pool.snapshot();
			assertThat(snapshot.name()).isEqualTo("orders");
			assertThat(snapshot.minThreads()).isEqualTo(3);
			assertThat(snapshot.maxThreads()).isEqualTo(7);
			assertThat(snapshot.keepAlive()).isEqualTo(Duration.ofSeconds(5));
			assertThat(snapshot.promotionOrder()).isEqualTo(PromotionOrder.LIFO);
			assertThat(snapshot.handleSets()).hasSize(2);
			assertThat(pool).hasToString("LeaderFollowersPool 'orders'");
			ServerSnapshot server = TcpServer.builder(pool)
				.name("in")
				.framing(Framing.line())
				.handlerName("the handler")
				.handler((connection, message) -> {
				})
				.build()
				.snapshot();
			assertThat(server.name()).isEqualTo("in");
			assertThat(server.state()).isEqualTo(ServerSnapshot.State.NEW);
			assertThat(server.handler()).isEqualTo("the handler");
			assertThat(server.framing()).isEqualTo("line");
			assertThat(server.port()).isEqualTo(-1);
			assertThat(server.address()).isNull();
			assertThat(server.pool()).isEqualTo("orders");
			assertThat(server.closedConnections()).containsOnlyKeys(CloseReason.values());
		}
	}

	@Test
	void aPoolUnfoldsUpToTheNumberOfProcessorsUnlessItsHandleSetsAreChosen() {
		int processors = Runtime.getRuntime().availableProcessors();
		PoolOptions options = LeaderFollowersPool.builder().threads(64, 64).options();
		assertThat(options.unfolds()).isTrue();
		assertThat(options.handleSets()).isEqualTo(Math.min(8, processors));
		assertThat(options.parallelism()).isEqualTo(processors);
		assertThat(LeaderFollowersPool.builder().threads(64, 64).parallelism(3).options().handleSets()).isEqualTo(3);
		assertThat(LeaderFollowersPool.builder().threads(64, 64).parallelism(32).options().handleSets()).isEqualTo(8);
		assertThat(LeaderFollowersPool.builder().threads(1, 8).options().handleSets()).isOne();
		PoolOptions chosen = LeaderFollowersPool.builder().handleSets(3).options();
		assertThat(chosen.unfolds()).isFalse();
		assertThat(chosen.handleSets()).isEqualTo(3);
	}

}
