package org.leaderfollowers.spring.session;

import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.nio.ByteBuffer;
import java.nio.charset.Charset;
import java.time.Clock;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.function.BiConsumer;

import org.jspecify.annotations.Nullable;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.leaderfollowers.Connection;
import org.leaderfollowers.spring.autoconfigure.LeaderFollowersAutoConfiguration;
import org.leaderfollowers.spring.autoconfigure.LeaderFollowersSessionAutoConfiguration;
import org.leaderfollowers.spring.handler.LfConnections.Delivery;

import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.jackson.autoconfigure.JacksonAutoConfiguration;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests that a caller who has used up its stack overflows before the directory is
 * entered, never in the middle: the directory holds locks that other threads need.
 */
class SessionStackTests {

	/** At least 100 bytes for each frame: 10 KB. */
	private static final int DEPTH_OF_DIRECTORY = 100;

	private final Map<String, Object> attributes = new ConcurrentHashMap<>();

	private final CompletableFuture<?> closed = new CompletableFuture<>();

	private int entered;

	private int left;

	/** What was sent to other nodes. */
	private int sent;

	private int sentHere;

	private int overflows;

	enum Call {

		GET((sessions, connection) -> sessions.get("far")),

		SEND((sessions, connection) -> sessions.sendAsync("far", "x").join()),

		EXCHANGE(
				(sessions, connection) -> sessions.exchangeAsync("far", "x", String.class, Duration.ofHours(1)).join()),

		SEND_HERE((sessions, connection) -> sessions.send("near", "x")),

		SEND_AND_WAIT((sessions, connection) -> sessions.send("far", "x")),

		EXCHANGE_AND_WAIT((sessions, connection) -> sessions.exchange("far", "x", String.class, Duration.ofHours(1))),

		BROADCAST((sessions, connection) -> sessions.broadcast("x")),

		BIND((sessions, connection) -> sessions.bind(connection, "other")),

		UNBIND((sessions, connection) -> sessions.unbind(connection));

		private final BiConsumer<LfSessions, Connection> call;

		Call(BiConsumer<LfSessions, Connection> call) {
			this.call = call;
		}

	}

	@ParameterizedTest
	@EnumSource
	void noCallOverflowsInTheDirectory(Call call) {
		new ApplicationContextRunner()
			.withConfiguration(AutoConfigurations.of(JacksonAutoConfiguration.class,
					LeaderFollowersAutoConfiguration.class, LeaderFollowersSessionAutoConfiguration.class))
			.withBean(SessionDirectory.class, DeepDirectory::new)
			.run((context) -> {
				LfSessions sessions = context.getBean(LfSessions.class);
				Connection connection = (Connection) Proxy.newProxyInstance(getClass().getClassLoader(),
						new Class<?>[] { Connection.class }, (proxy, method, arguments) -> answer(method));
				// Loads the classes: those of a failed attempt could not be used any
				// more.
				sessions.bind(connection, "near");
				call.call.accept(sessions, connection);
				sessions.bind(connection, "near");
				this.entered = 0;
				this.left = 0;
				this.sent = 0;
				this.sentHere = 0;
				Thread thread = new Thread(null, () -> descend(() -> call.call.accept(sessions, connection)), "deep",
						512 * 1024);
				thread.start();
				thread.join(TimeUnit.MINUTES.toMillis(1));
				assertThat(thread.isAlive()).isFalse();
				assertThat(this.overflows).as("overflows of the caller").isGreaterThan(1);
				assertThat(this.entered + this.sentHere).as("calls of the directory or the connection").isPositive();
				assertThat(this.left).isEqualTo(this.entered);
				assertThat(this.sent).as("only the last call has not failed").isLessThanOrEqualTo(1);
				assertThat(this.sentHere).as("only the last call has not failed").isLessThanOrEqualTo(1);
			});
	}

	private @Nullable Object answer(Method method) {
		return switch (method.getName()) {
			case "server" -> "default";
			case "attributes" -> this.attributes;
			case "send" -> {
				this.sentHere++;
				yield null;
			}
			case "whenClosed" -> this.closed;
			default -> (method.getReturnType() == boolean.class) ? true : null;
		};
	}

	/** Calls in one of the last frames of the stack after the other. */
	private void descend(Runnable called) {
		try {
			descend(called);
		}
		catch (StackOverflowError ex) {
			this.overflows++;
			called.run();
		}
	}

	private static int descend(int depth) {
		return (depth > 0) ? descend(depth - 1) + 1 : 0;
	}

	/** Another node holds all names. */
	private final class DeepDirectory implements SessionDirectory {

		private final SessionDirectory memory = SessionDirectory.inMemory(Clock.systemUTC());

		private <T> T deep(T result) {
			SessionStackTests.this.entered++;
			descend(DEPTH_OF_DIRECTORY);
			SessionStackTests.this.left++;
			return result;
		}

		@Override
		public void start(SessionHolder holder) {
		}

		@Override
		public void stop() {
		}

		@Override
		public String node() {
			return "this";
		}

		@Override
		public List<SessionNode> nodes() {
			return List.of();
		}

		@Override
		public CompletableFuture<SessionEntry> claim(SessionClaim claim) {
			return deep(this.memory.claim(claim));
		}

		@Override
		public void release(SessionEntry entry) {
			deep(entry);
		}

		@Override
		public CompletableFuture<@Nullable SessionEntry> find(String name) {
			return deep(CompletableFuture
				.completedFuture(new SessionEntry(name, "other", "default", 5, Instant.EPOCH, 0, Instant.EPOCH)));
		}

		@Override
		public CompletableFuture<Delivery> send(SessionEntry to, ByteBuffer message, Duration timeout) {
			SessionStackTests.this.sent++;
			return deep(CompletableFuture.completedFuture(Delivery.SENT));
		}

		@Override
		public CompletableFuture<ByteBuffer> exchange(SessionEntry to, ByteBuffer request, Duration timeout) {
			SessionStackTests.this.sent++;
			return deep(CompletableFuture.completedFuture(request));
		}

		@Override
		public CompletableFuture<SessionBroadcast> broadcast(@Nullable String group, Map<Charset, ByteBuffer> messages,
				Duration timeout) {
			SessionStackTests.this.sent++;
			return deep(CompletableFuture.completedFuture(new SessionBroadcast(0, 0, 0, 0)));
		}

	}

}
