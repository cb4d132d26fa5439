package org.leaderfollowers.spring.handler;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import java.util.stream.Stream;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.leaderfollowers.FramingException;
import org.leaderfollowers.MessageOrder;
import org.leaderfollowers.TcpServer;
import org.leaderfollowers.spring.LineClient;
import org.leaderfollowers.spring.annotation.LfHandler;
import org.leaderfollowers.spring.annotation.OnError;
import org.leaderfollowers.spring.annotation.OnMessage;
import org.leaderfollowers.spring.autoconfigure.LeaderFollowersAutoConfiguration;
import org.leaderfollowers.spring.server.LeaderFollowersServers;
import org.leaderfollowers.spring.server.UnknownNameException;

import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.test.context.assertj.AssertableApplicationContext;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.boot.test.context.runner.ContextConsumer;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Handler methods for messages of one connection that are handled in parallel.
 */
@Timeout(60)
@ExtendWith(OutputCaptureExtension.class)
class ParallelMessagesTests {

	private static ApplicationContextRunner runner(Class<?>... configurations) {
		return new ApplicationContextRunner()
			.withConfiguration(AutoConfigurations.of(LeaderFollowersAutoConfiguration.class))
			.withUserConfiguration(configurations)
			.withBean(Service.class)
			.withPropertyValues("lf.server.port=0", "lf.pool.threads.max=16");
	}

	private static ContextConsumer<AssertableApplicationContext> talk(Talk talk) {
		return (context) -> {
			TcpServer server = (TcpServer) context.getBean(LeaderFollowersServers.class).get("default");
			try (LineClient client = new LineClient(server.port())) {
				talk.with(client, context.getBean(Service.class), server);
			}
		};
	}

	private interface Talk {

		void with(LineClient client, Service service, TcpServer server) throws Exception;

	}

	@Test
	void messagesAreHandledInParallel() {
		runner().withPropertyValues("lf.server.max-in-flight-per-connection=2").run(talk((client, service, server) -> {
			client.send("wait a");
			assertThat(client.ask("now")).isEqualTo("now");
			service.letGo("wait a");
			assertThat(client.read()).isEqualTo("wait a");
		}));
	}

	@Test
	void longRepliesThatWaitForTheirTurnKeepNoThreadBusy() {
		runner().withBean(LongReplies.class, LongReplies::new)
			.withPropertyValues("lf.server.max-in-flight-per-connection=4", "lf.server.reply-order=arrival",
					"lf.server.max-outbound-size=64KB", "lf.pool.threads.min=2", "lf.pool.threads.max=2",
					"lf.servers.long.port=0", "lf.servers.long.max-in-flight-per-connection=4",
					"lf.servers.long.reply-order=arrival", "lf.servers.long.max-outbound-size=64KB")
			.run((context) -> {
				LongReplies handler = context.getBean(LongReplies.class);
				int port = context.getBean(LeaderFollowersServers.class).get("long").port();
				try (LineClient client = new LineClient(port); LineClient other = new LineClient(port)) {
					client.send("later");
					client.send("long");
					client.send("long");
					assertThat(other.ask("ping")).isEqualTo("ping");
					int made = await().until(handler::madeAndStays, (count) -> count > 0);
					assertThat(made).isLessThan(2 * LongReplies.MANY);
					handler.later.complete("at last");
					assertThat(client.read()).isEqualTo("at last");
					for (int i = 0; i < 2 * LongReplies.MANY; i++) {
						assertThat(client.read()).hasSize(1000);
					}
					assertThat(client.ask("ping")).isEqualTo("ping");
				}
			});
	}

	@LfHandler("long")
	static class LongReplies {

		private static final int MANY = 5000;

		private final CompletableFuture<String> later = new CompletableFuture<>();

		private final AtomicInteger made = new AtomicInteger();

		private final AtomicInteger seen = new AtomicInteger();

		@OnMessage
		Object reply(String request) {
			return switch (request) {
				case "later" -> this.later;
				case "long" -> IntStream.range(0, MANY).mapToObj((i) -> {
					this.made.incrementAndGet();
					return "x".repeat(1000);
				});
				default -> request;
			};
		}

		/** The number of messages, if there are no more than at the last look. */
		int madeAndStays() {
			int now = this.made.get();
			return (this.seen.getAndSet(now) == now) ? now : 0;
		}

	}

	@Test
	void theOnlyMessageOrderKeepsSomeMessagesInOrder() {
		runner(Order.class).run(talk((client, service, server) -> {
			client.send("wait a");
			client.send("wait b");
			assertThat(client.ask("now")).isEqualTo("now");
			await().untilAsserted(() -> assertThat(service.gates).containsOnlyKeys("wait a"));
			service.letGo("wait b");
			service.letGo("wait a");
			assertThat(List.of(client.read(), client.read())).containsExactly("wait a", "wait b");
		}));
	}

	@Test
	void aMessageOrderIsNamedByAProperty() {
		runner(Order.class).withBean("other", MessageOrder.class, () -> (message) -> null)
			.withPropertyValues("lf.server.message-order=firstLetter")
			.run(talk((client, service, server) -> {
				client.send("wait a");
				client.send("wait b");
				assertThat(client.ask("now")).isEqualTo("now");
				await().untilAsserted(() -> assertThat(service.gates).containsOnlyKeys("wait a"));
				service.letGo("wait a");
				service.letGo("wait b");
			}));
	}

	@Test
	void anUnknownMessageOrderIsRejected() {
		runner(Order.class).withPropertyValues("lf.server.message-order=firstLeter")
			.run((context) -> assertThat(context).getFailure()
				.rootCause()
				.isInstanceOfSatisfying(UnknownNameException.class,
						(ex) -> assertThat(ex.getSimilarName()).isEqualTo("firstLetter")));
	}

	@Test
	void aMessageOrderWithoutAWindowIsRejected() {
		runner(Order.class)
			.withPropertyValues("lf.server.message-order=firstLetter", "lf.server.max-in-flight-per-connection=1")
			.run((context) -> assertThat(context).getFailure()
				.rootCause()
				.hasMessageContaining("Is used only if 'lf.server.max-in-flight-per-connection' is greater than 1."));
	}

	@Test
	void anInvalidWindowIsRejected() {
		runner().withPropertyValues("lf.server.max-in-flight-per-connection=0")
			.run((context) -> assertThat(context).getFailure().rootCause().hasMessageContaining("from 1 to 4096"));
	}

	@Test
	void laterRepliesOccupyAPlaceEachAndLeaveAsTheyAreDone() {
		runner().withPropertyValues("lf.server.max-in-flight-per-connection=3").run(talk((client, service, server) -> {
			client.send("later a");
			client.send("later b");
			assertThat(client.ask("now")).isEqualTo("now");
			await().until(() -> server.connections().anyMatch((one) -> one.inFlight() == 2));
			service.future("later b").complete("b");
			assertThat(client.read()).isEqualTo("b");
			service.future("later a").complete("a");
			assertThat(client.read()).isEqualTo("a");
		}));
	}

	@Test
	void repliesLeaveInTheOrderOfArrivalThoughTheyComeLaterOrAreMany() {
		runner().withPropertyValues("lf.server.max-in-flight-per-connection=8", "lf.server.reply-order=arrival")
			.run(talk((client, service, server) -> {
				client.send("later a");
				client.send("many");
				client.send("later sorry");
				client.send("now");
				await().until(() -> server.connections().anyMatch((one) -> one.receivedMessages() == 4));
				service.future("later sorry").completeExceptionally(new IllegalArgumentException("no"));
				service.future("later a").complete("a");
				assertThat(List.of(client.read(), client.read(), client.read(), client.read(), client.read()))
					.containsExactly("a", "1", "2", "sorry: no", "now");
			}));
	}

	@Test
	void aFailureThatNobodyHandlesIsLoggedAndLeavesTheConnectionOpen(CapturedOutput output) {
		runner().withPropertyValues("lf.server.max-in-flight-per-connection=4").run(talk((client, service, server) -> {
			client.send("fail");
			assertThat(client.ask("now")).isEqualTo("now");
			client.send("later a");
			service.future("later a").completeExceptionally(new IllegalStateException("later"));
			assertThat(client.ask("now")).isEqualTo("now");
			await().untilAsserted(() -> assertThat(output.toString().split("is not answered, since")).hasSize(3));
		}));
	}

	@Test
	void aDrainWaitsForLaterReplies() {
		runner().withPropertyValues("lf.server.max-in-flight-per-connection=4").run(talk((client, service, server) -> {
			client.send("later a");
			CompletableFuture<String> reply = service.future("later a");
			CompletableFuture<Boolean> drained = CompletableFuture
				.supplyAsync(() -> server.close(Duration.ofSeconds(30)), (task) -> new Thread(task).start());
			await().until(() -> server.connections().anyMatch((one) -> one.inFlight() == 1)
					&& server.snapshot().state().name().equals("DRAINING"));
			reply.complete("a");
			assertThat(client.read()).isEqualTo("a");
			assertThat(drained.get(60, TimeUnit.SECONDS)).isTrue();
		}));
	}

	@Test
	void aMessageThatIsTooLargeIsLeftOutAndAnswered() {
		runner().withPropertyValues("lf.server.max-message-size=100B", "lf.server.skip-oversized-messages=true")
			.run(talk((client, service, server) -> {
				assertThat(client.ask("x".repeat(1000))).isEqualTo("too large");
				assertThat(client.ask("now")).isEqualTo("now");
			}));
	}

	@Configuration(proxyBeanMethods = false)
	static class Order {

		@Bean
		MessageOrder firstLetter() {
			return (message) -> message.get(message.position());
		}

	}

	@LfHandler
	static class Service {

		final Map<String, CountDownLatch> gates = new ConcurrentHashMap<>();

		private final Map<String, CompletableFuture<String>> futures = new ConcurrentHashMap<>();

		void letGo(String message) {
			gate(message).countDown();
		}

		private CountDownLatch gate(String message) {
			return this.gates.computeIfAbsent(message, (key) -> new CountDownLatch(1));
		}

		CompletableFuture<String> future(String message) {
			return this.futures.computeIfAbsent(message, (key) -> new CompletableFuture<>());
		}

		@OnMessage
		Object handle(String message) throws InterruptedException {
			if (message.startsWith("wait")) {
				assertThat(gate(message).await(60, TimeUnit.SECONDS)).isTrue();
			}
			if (message.startsWith("later")) {
				return future(message);
			}
			if (message.equals("many")) {
				return Stream.of("1", "2");
			}
			if (message.equals("fail")) {
				throw new IllegalStateException("now");
			}
			return message;
		}

		@OnError
		String oversized(FramingException ex) {
			return "too large";
		}

		@OnError
		String failed(IllegalArgumentException ex) {
			return "sorry: " + ex.getMessage();
		}

	}

}
