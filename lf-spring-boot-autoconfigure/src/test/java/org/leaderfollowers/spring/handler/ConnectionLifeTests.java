package org.leaderfollowers.spring.handler;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.leaderfollowers.CloseReason;
import org.leaderfollowers.Connection;
import org.leaderfollowers.EventType;
import org.leaderfollowers.MessageHandler;
import org.leaderfollowers.Server;
import org.leaderfollowers.spring.LineClient;
import org.leaderfollowers.spring.annotation.LfHandler;
import org.leaderfollowers.spring.annotation.OnDrain;
import org.leaderfollowers.spring.annotation.OnIdle;
import org.leaderfollowers.spring.annotation.OnMessage;
import org.leaderfollowers.spring.annotation.OnOpen;
import org.leaderfollowers.spring.interceptor.HandlerCallInterceptor;
import org.leaderfollowers.spring.server.LeaderFollowersServers;

import org.springframework.boot.test.context.assertj.AssertableApplicationContext;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;
import org.springframework.messaging.handler.annotation.Header;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Methods that are about a connection, and not about a message.
 */
@ExtendWith(OutputCaptureExtension.class)
class ConnectionLifeTests {

	private static CompletableFuture<Boolean> close(AssertableApplicationContext context) {
		Server server = context.getBean(LeaderFollowersServers.class).get("default");
		// A thread of its own: the common pool may have just one, and replies of futures
		// need it
		return CompletableFuture.supplyAsync(() -> server.close(Duration.ofSeconds(60)),
				(task) -> new Thread(task).start());
	}

	private static void assertSignedOff(AssertableApplicationContext context, LineClient client, String farewell)
			throws Exception {
		CompletableFuture<Boolean> closed = close(context);
		assertThat(client.read()).isEqualTo(farewell);
		assertThat(client.read()).isNull();
		assertThat(closed.get(60, TimeUnit.SECONDS)).isTrue();
	}

	@Test
	void methodSignsOff() {
		HandlerRunner.talk(HandlerRunner.of(Farewell.class), (client, context) -> {
			assertThat(client.ask("hello")).isEqualTo("hello");
			assertSignedOff(context, client, "bye Jane");
		});
	}

	@Test
	void signOffMayComeLater() {
		HandlerRunner.talk(HandlerRunner.of(LateFarewell.class), (client, context) -> {
			assertThat(client.ask("hello")).isEqualTo("hello");
			assertSignedOff(context, client, "late bye");
		});
	}

	@Test
	void messageHandlerMayHaveTheMethod() {
		HandlerRunner.talk(HandlerRunner.of(AnnotatedFarewell.class), (client, context) -> {
			assertThat(client.ask("hello")).isEqualTo("hello");
			assertSignedOff(context, client, "annotated bye");
		});
	}

	@Test
	void messageHandlerWithAnnotatedMethodsMaySignOffItself() {
		HandlerRunner.talk(HandlerRunner.of(OwnFarewell.class), (client, context) -> {
			assertThat(client.read()).isEqualTo("welcome");
			assertThat(client.ask("hello")).isEqualTo("hello");
			assertSignedOff(context, client, "own bye");
		});
	}

	@Test
	void methodSendsHeartbeats() {
		HandlerRunner.talk(HandlerRunner.of(Heart.class).withPropertyValues("lf.server.write-idle=50ms"),
				(client, context) -> {
					assertThat(client.read()).isEqualTo("beat WRITE");
					assertThat(client.read()).isEqualTo("beat WRITE");
				});
	}

	@Test
	void methodMayCloseASilentConnection() {
		HandlerRunner.talk(HandlerRunner.of(Impatient.class).withPropertyValues("lf.server.read-idle=50ms"),
				(client, context) -> {
					assertThat(client.read()).isEqualTo("Jane is silent");
					assertThat(client.read()).isNull();
				});
	}

	@Test
	void messageHandlerMayListenForSilenceItself() {
		HandlerRunner.talk(HandlerRunner.of(OwnHeart.class), (client, context) -> {
			assertThat(client.read()).isEqualTo("welcome");
			assertThat(client.read()).isEqualTo("own beat");
		});
	}

	@Test
	void messageHandlerWithAnnotatedMethodsGetsAllOtherEventsItself() {
		HandlerRunner.of(OwnLife.class).withPropertyValues("lf.server.max-outbound-size=64KB").run((context) -> {
			try (LineClient client = HandlerRunner.connect(context)) {
				assertThat(client.read()).isEqualTo("welcome");
				client.send("push");
				assertThat(context.getBean(OwnLife.class).fellBehind.await(60, TimeUnit.SECONDS)).isTrue();
				String line = client.read();
				while (OwnLife.LINE.equals(line)) {
					line = client.read();
				}
				assertThat(line).isEqualTo("caught up");
				assertThat(client.ask("fail")).isEqualTo("failed: fail");
				assertThat(client.read()).isNull();
			}
			assertThat(context.getBean(OwnLife.class).closed.get(60, TimeUnit.SECONDS))
				.isEqualTo(CloseReason.HANDLER_ERROR);
		});
	}

	@Test
	void interceptorsSurroundTheSignOff() {
		List<String> calls = new CopyOnWriteArrayList<>();
		HandlerCallInterceptor interceptor = (connection, call) -> {
			calls.add(connection.isDraining() ? "before draining" : "before");
			call.proceed();
			calls.add("after");
		};
		HandlerRunner.talk(HandlerRunner.of(Farewell.class).withBean(HandlerCallInterceptor.class, () -> interceptor),
				(client, context) -> {
					assertThat(client.ask("hello")).isEqualTo("hello");
					assertSignedOff(context, client, "bye Jane");
				});
		assertThat(calls).startsWith("before", "after", "before", "after", "before draining", "after",
				"before draining");
	}

	@Test
	void mistakesAreFoundAtTheStart(CapturedOutput output) {
		HandlerRunner.of(TwoFarewells.class)
			.run((context) -> assertThat(context.getStartupFailure()).rootCause()
				.hasMessageContaining("is annotated with @OnDrain")
				.hasMessageContaining("which nothing can supply to a method for @OnDrain"));
	}

	@LfHandler
	static class Farewell {

		@OnOpen
		void open(Connection connection) {
			connection.attributes().put("name", "Jane");
		}

		@OnMessage
		String echo(String message) {
			return message;
		}

		@OnDrain
		String farewell(Connection connection, @Header String name) {
			return (connection.isDraining() ? "bye " : "hello ") + name;
		}

	}

	@LfHandler
	static class Heart {

		@OnMessage
		String echo(String message) {
			return message;
		}

		@OnIdle
		String beat(EventType type) {
			return "beat " + type;
		}

	}

	@LfHandler
	static class Impatient extends Farewell {

		@OnIdle
		void silent(Connection connection, @Header String name) {
			connection.send(ByteBuffer.wrap((name + " is silent").getBytes()));
			connection.close();
		}

	}

	@LfHandler
	static class OwnHeart implements MessageHandler {

		@OnOpen
		String welcome(Connection connection) {
			connection.idleAfter(EventType.WRITE, Duration.ofMillis(50));
			return "welcome";
		}

		@Override
		public void onMessage(Connection connection, ByteBuffer message) {
			connection.send(message);
		}

		@Override
		public void onIdle(Connection connection, EventType type) {
			connection.send(ByteBuffer.wrap("own beat".getBytes()));
		}

	}

	@LfHandler
	static class OwnLife implements MessageHandler {

		private static final String LINE = "x".repeat(8000);

		private final CountDownLatch fellBehind = new CountDownLatch(1);

		private final CompletableFuture<CloseReason> closed = new CompletableFuture<>();

		@OnOpen
		String welcome() {
			return "welcome";
		}

		@Override
		public void onMessage(Connection connection, ByteBuffer message) {
			if (StandardCharsets.UTF_8.decode(message).charAt(0) == 'f') {
				throw new IllegalStateException("as asked for");
			}
			while (connection.isWritable()) {
				connection.send(StandardCharsets.UTF_8.encode(LINE));
			}
			this.fellBehind.countDown();
		}

		@Override
		public void onWritable(Connection connection) {
			connection.send(StandardCharsets.UTF_8.encode("caught up"));
		}

		@Override
		public void onError(Connection connection, ByteBuffer message, Throwable failure) {
			connection.send(StandardCharsets.UTF_8.encode("failed: " + StandardCharsets.UTF_8.decode(message)));
		}

		@Override
		public void onClose(Connection connection, CloseReason reason) {
			this.closed.complete(reason);
		}

	}

	@LfHandler
	static class LateFarewell {

		@OnMessage
		String echo(String message) {
			return message;
		}

		@OnDrain
		CompletableFuture<String> farewell() {
			return CompletableFuture.supplyAsync(() -> "late bye",
					CompletableFuture.delayedExecutor(50, TimeUnit.MILLISECONDS));
		}

	}

	@LfHandler
	static class AnnotatedFarewell implements MessageHandler {

		@Override
		public void onMessage(Connection connection, ByteBuffer message) {
			connection.send(message);
		}

		@OnDrain
		String farewell() {
			return "annotated bye";
		}

	}

	@LfHandler
	static class OwnFarewell implements MessageHandler {

		@OnOpen
		String welcome() {
			return "welcome";
		}

		@Override
		public void onMessage(Connection connection, ByteBuffer message) {
			connection.send(message);
		}

		@Override
		public void onDrain(Connection connection) {
			connection.send(ByteBuffer.wrap("own bye".getBytes()));
		}

	}

	@LfHandler
	static class TwoFarewells extends AnnotatedFarewell {

		@Override
		public void onDrain(Connection connection) {
		}

		@OnDrain
		String another(Throwable failure) {
			return "another";
		}

	}

}
