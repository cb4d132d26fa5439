package org.leaderfollowers.spring.client;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;

import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.leaderfollowers.ClientSnapshot;
import org.leaderfollowers.ClientSnapshot.Outcome;
import org.leaderfollowers.ClientSnapshot.State;
import org.leaderfollowers.CloseReason;
import org.leaderfollowers.Connection;
import org.leaderfollowers.Correlation;
import org.leaderfollowers.EventType;
import org.leaderfollowers.Framing;
import org.leaderfollowers.LeaderFollowersPool;
import org.leaderfollowers.MessageHandler;
import org.leaderfollowers.TcpClient;
import org.leaderfollowers.spring.LineClient;
import org.leaderfollowers.spring.annotation.Exchange;
import org.leaderfollowers.spring.annotation.LfClient;
import org.leaderfollowers.spring.annotation.LfHandler;
import org.leaderfollowers.spring.annotation.OnMessage;
import org.leaderfollowers.spring.annotation.OnOpen;
import org.leaderfollowers.spring.autoconfigure.LeaderFollowersAutoConfiguration;
import org.leaderfollowers.spring.event.ClientConnectedEvent;
import org.leaderfollowers.spring.event.ClientDisconnectedEvent;
import org.leaderfollowers.spring.event.ClientStateChangedEvent;
import org.leaderfollowers.spring.server.LeaderFollowersPools;
import org.leaderfollowers.spring.server.LeaderFollowersServers;

import org.springframework.beans.factory.annotation.Qualifier;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;
import org.springframework.context.ApplicationEvent;
import org.springframework.context.ApplicationListener;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.mockito.ArgumentMatchers.any;
import static org.mockito.BDDMockito.given;
import static org.mockito.BDDMockito.then;
import static org.mockito.BDDMockito.willAnswer;
import static org.mockito.BDDMockito.willThrow;
import static org.mockito.Mockito.mock;

/** The clients of an application context, and how long they live. */
@ExtendWith(OutputCaptureExtension.class)
class ClientTests {

	private final BlockingQueue<String> gate = new LinkedBlockingQueue<>();

	private final LinePeer peer = new LinePeer(this::answer);

	private String answer(String line) {
		if (line.equals("wait")) {
			try {
				this.gate.take();
			}
			catch (InterruptedException ex) {
				Thread.currentThread().interrupt();
			}
		}
		return line + "!";
	}

	private final ApplicationContextRunner runner = new ApplicationContextRunner()
		.withConfiguration(AutoConfigurations.of(LeaderFollowersAutoConfiguration.class))
		.withPropertyValues("lf.clients.ledger.addresses=" + this.peer.address(),
				"lf.clients.ledger.correlation.type=in-order", "lf.clients.ledger.request-timeout=60s");

	@AfterEach
	void end() {
		this.peer.close();
	}

	private static String ask(TcpClient client, String text) {
		return StandardCharsets.UTF_8.decode(client.exchange(StandardCharsets.UTF_8.encode(text))).toString();
	}

	@Test
	void clientsAreBeansWithTheirNamesAsQualifiers() {
		this.runner.withUserConfiguration(Users.class)
			.withPropertyValues("lf.clients.other.addresses=" + this.peer.address(),
					"lf.clients.other.correlation.type=in-order", "lf.clients.other.request-timeout=60s",
					"lf.clients.other.pool=side", "lf.clients.other.optional=true", "lf.pools.side.threads.min=1")
			.run((context) -> {
				Users users = context.getBean(Users.class);
				LeaderFollowersClients clients = context.getBean(LeaderFollowersClients.class);
				assertThat(clients.names()).containsExactlyInAnyOrder("ledger", "other");
				assertThat(clients).containsExactlyInAnyOrder(users.ledger, users.other);
				assertThat(users.ledger.name()).isEqualTo("ledger");
				assertThat(users.other.pool().name()).isEqualTo("side");
				assertThat(clients.isOptional("other")).isTrue();
				assertThat(clients.isOptional("ledger")).isFalse();
				assertThat(ask(users.other, "hello")).isEqualTo("hello!");
			});
	}

	@Test
	void withoutClientsThereIsNoPool() {
		new ApplicationContextRunner().withConfiguration(AutoConfigurations.of(LeaderFollowersAutoConfiguration.class))
			.run((context) -> {
				assertThat(context.getBean(LeaderFollowersClients.class)).isEmpty();
				assertThat(context.getBean(LeaderFollowersPools.class)).isEmpty();
			});
	}

	@Test
	void aBeanTakesThePlaceOfTheClientOfItsName() {
		this.runner.withUserConfiguration(Own.class).run((context) -> {
			TcpClient own = context.getBean("own", TcpClient.class);
			assertThat(context.getBean(LeaderFollowersClients.class)).containsExactly(own);
			assertThat(own.snapshot().addresses().get(0).address()).contains("localhost");
			assertThat(own.snapshot().state()).isEqualTo(State.RUNNING);
		});
	}

	@ParameterizedTest
	@ValueSource(booleans = { false, true })
	void aBeanIsOptionalIfThePropertiesOfItsNameSaySo(boolean optional) {
		this.runner.withUserConfiguration(Own.class)
			.withPropertyValues("lf.clients.ledger.optional=" + optional)
			.run((context) -> assertThat(context.getBean(LeaderFollowersClients.class).isOptional("ledger"))
				.isEqualTo(optional));
	}

	@Test
	void aBeanThatIsStartedAlreadyIsNotStartedAgain(CapturedOutput output) {
		this.runner.withUserConfiguration(Started.class)
			.run((context) -> assertThat(context.getBean("own", TcpClient.class).snapshot().state())
				.isEqualTo(State.RUNNING));
		assertThat(output).doesNotContain("Client 'ledger' connects");
	}

	@Test
	void aClientIsClosedWhenItHasItsReplies(CapturedOutput output) {
		this.runner.run((context) -> {
			TcpClient client = context.getBean(TcpClient.class);
			assertThat(output)
				.containsOnlyOnce("Client 'ledger' connects to %s (pool 'default')".formatted(this.peer.address()));
			CompletableFuture<ByteBuffer> reply = askToWait(client);
			Thread stopping = new Thread(context.getSourceApplicationContext()::stop);
			stopping.start();
			Awaitility.await().until(() -> client.snapshot().state() != State.RUNNING);
			this.gate.add("go");
			assertThat(reply).succeedsWithin(Duration.ofSeconds(60));
			stopping.join();
			assertThat(client.snapshot().state()).isEqualTo(State.CLOSED);
		});
		assertThat(output).doesNotContain("was closed before");
	}

	private CompletableFuture<ByteBuffer> askToWait(TcpClient client) {
		Awaitility.await().until(() -> client.snapshot().connected() == 1);
		CompletableFuture<ByteBuffer> reply = client.exchangeAsync(StandardCharsets.UTF_8.encode("wait"));
		Awaitility.await().until(() -> this.peer.received.contains("wait"));
		return reply;
	}

	@Test
	void aClientThatDoesNotGetItsRepliesIsClosedInTime(CapturedOutput output) {
		this.runner.withPropertyValues("spring.lifecycle.timeout-per-shutdown-phase=1ms").run((context) -> {
			TcpClient client = context.getBean(TcpClient.class);
			askToWait(client);
			// Returns after that time, even if the client is not closed yet.
			context.getSourceApplicationContext().stop();
			Awaitility.await().untilAsserted(() -> {
				assertThat(client.snapshot().state()).isEqualTo(State.CLOSED);
				assertThat(output).containsOnlyOnce("Client 'ledger' was closed before it got all replies");
			});
			this.gate.add("go");
		});
	}

	@Test
	void clientsShareTheTimeForTheirReplies() {
		TcpClient first = mock(TcpClient.class);
		TcpClient second = mock(TcpClient.class);
		List<Duration> left = new ArrayList<>();
		for (TcpClient client : List.of(first, second)) {
			ClientSnapshot running = mock(ClientSnapshot.class);
			given(running.state()).willReturn(State.RUNNING);
			given(client.snapshot()).willReturn(running);
			given(client.name()).willReturn("client" + client.hashCode());
			given(client.close(any())).will((call) -> {
				left.add(call.getArgument(0));
				long start = System.nanoTime();
				while (System.nanoTime() == start) {
					Thread.onSpinWait();
				}
				return true;
			});
		}
		LeaderFollowersClients clients = LeaderFollowersClients.builder()
			.grace(Duration.ofMinutes(1))
			.bean(first, false)
			.bean(second, false)
			.build();
		assertThat(clients.names()).hasSize(2);
		clients.close();
		assertThat(left).hasSize(2).isSortedAccordingTo(Comparator.reverseOrder()).doesNotHaveDuplicates();
	}

	@Test
	void allClientsAreClosedEvenIfAListenerFails() {
		this.runner
			.withPropertyValues("lf.clients.orders.addresses=" + this.peer.address(),
					"lf.clients.orders.correlation.type=in-order")
			.run((context) -> {
				List<String> told = new CopyOnWriteArrayList<>();
				context.getSourceApplicationContext()
					.addApplicationListener((ApplicationListener<ClientStateChangedEvent>) (event) -> {
						told.add(event.getClient().name());
						throw new IllegalStateException("told of " + event.getClient().name());
					});
				context.getSourceApplicationContext().stop();
				assertThat(context.getBean(LeaderFollowersClients.class))
					.allSatisfy((client) -> assertThat(client.snapshot().state()).isEqualTo(State.CLOSED));
				assertThat(told).containsExactlyInAnyOrder("ledger", "orders");
			});
	}

	@Test
	void theEventsOfAConnectionFollowItsHandler() throws Exception {
		MessageHandler handler = mock(MessageHandler.class);
		Connection connection = mock(Connection.class);
		List<ApplicationEvent> events = new ArrayList<>();
		ClientHandler publishing = new ClientHandler(() -> handler, events::add);
		publishing.prepare(mock(TcpClient.class));
		willAnswer((call) -> {
			assertThat(events).isEmpty();
			return null;
		}).given(handler).onOpen(connection);
		willThrow(IllegalStateException.class).given(handler).onClose(connection, CloseReason.PEER);
		ByteBuffer message = ByteBuffer.allocate(0);
		Throwable failure = new IllegalStateException();
		publishing.onOpen(connection);
		publishing.onWritable(connection);
		publishing.onIdle(connection, EventType.READ);
		publishing.onDrain(connection);
		publishing.onError(connection, failure);
		publishing.onError(connection, message, failure);
		assertThatIllegalStateException().isThrownBy(() -> publishing.onClose(connection, CloseReason.PEER));
		then(handler).should().onWritable(connection);
		then(handler).should().onIdle(connection, EventType.READ);
		then(handler).should().onDrain(connection);
		then(handler).should().onError(connection, failure);
		then(handler).should().onError(connection, message, failure);
		assertThat(events).hasExactlyElementsOfTypes(ClientConnectedEvent.class, ClientDisconnectedEvent.class);
		assertThat(((ClientDisconnectedEvent) events.get(1)).getReason()).isEqualTo(CloseReason.PEER);
	}

	@Test
	void customizersComeAfterTheProperties() {
		this.runner.withBean(TcpClientBuilderCustomizer.class, () -> (name, builder) -> {
			assertThat(name).isEqualTo("ledger");
			builder.connections(3);
		})
			.withPropertyValues("lf.clients.ledger.connections=2")
			.run((context) -> assertThat(context.getBean(TcpClient.class).snapshot().connections()).isEqualTo(3));
	}

	@Test
	void aContextThatIsStartedAgainStartsItsClientsAgain() {
		// A time that is longer than nanoseconds can tell.
		this.runner.withPropertyValues("spring.lifecycle.timeout-per-shutdown-phase=400000d").run((context) -> {
			TcpClient client = context.getBean(TcpClient.class);
			assertThat(ask(client, "one")).isEqualTo("one!");
			context.getSourceApplicationContext().stop();
			assertThat(client.snapshot().state()).isEqualTo(State.CLOSED);
			context.getSourceApplicationContext().start();
			assertThat(ask(client, "two")).isEqualTo("two!");
			Awaitility.await()
				.untilAsserted(() -> assertThat(client.snapshot().exchanges()).containsEntry(Outcome.REPLIED, 2L));
		});
	}

	@Test
	void aChildContextUsesTheClientsOfItsParentAndLeavesThemOpen() {
		this.runner.run((parent) -> this.runner.withParent(parent)
			.withUserConfiguration(FrontEnd.class)
			.withPropertyValues("lf.server.port=0")
			.run((child) -> {
				assertThat(child).hasNotFailed();
				TcpClient client = parent.getBean(TcpClient.class);
				assertThat(child.getBean(TcpClient.class)).isSameAs(client);
				assertThat(child.getBean(Ledger.class).book("one")).isEqualTo("one!");
				child.getSourceApplicationContext().close();
				assertThat(ask(client, "two")).isEqualTo("two!");
			}));
	}

	@Test
	void handlersUseClientsUntilTheirServerIsDrained() {
		this.runner.withUserConfiguration(FrontEnd.class).withPropertyValues("lf.server.port=0").run((context) -> {
			TcpClient client = context.getBean(TcpClient.class);
			try (LineClient caller = new LineClient(
					context.getBean(LeaderFollowersServers.class).get("default").port())) {
				caller.send("wait");
				Awaitility.await().until(() -> this.peer.received.contains("wait"));
				Thread closing = new Thread(context.getSourceApplicationContext()::close);
				closing.start();
				Awaitility.await()
					.until(() -> context.getBean(LeaderFollowersServers.class)
						.get("default")
						.snapshot()
						.state() != org.leaderfollowers.ServerSnapshot.State.RUNNING);
				assertThat(client.snapshot().state()).isEqualTo(State.RUNNING);
				this.gate.add("go");
				assertThat(caller.read()).isEqualTo("wait!");
				closing.join(TimeUnit.MINUTES.toMillis(1));
				assertThat(client.snapshot().state()).isEqualTo(State.CLOSED);
			}
		});
	}

	@Test
	void messagesThatAreNoRepliesGoToTheHandlerOfTheClient() {
		this.runner.withUserConfiguration(Listening.class).run((context) -> {
			Listening listening = context.getBean(Listening.class);
			assertThat(listening.heard.poll(60, TimeUnit.SECONDS)).isEqualTo("LOGIN!");
			this.peer.connections.forEach((connection) -> LinePeer.send(connection, "news"));
			assertThat(listening.heard.poll(60, TimeUnit.SECONDS)).isEqualTo("news");
			assertThat(ask(context.getBean(TcpClient.class), "x")).isEqualTo("x!");
		});
	}

	@Configuration(proxyBeanMethods = false)
	static class Users {

		private final TcpClient ledger;

		private final TcpClient other;

		Users(@Qualifier("ledger") TcpClient ledger, @Qualifier("other") TcpClient other) {
			this.ledger = ledger;
			this.other = other;
		}

	}

	@Configuration(proxyBeanMethods = false)
	static class Own {

		@Bean
		TcpClient own(LeaderFollowersPools pools) {
			LeaderFollowersPool pool = pools.get("default");
			return TcpClient.builder(pool)
				.name("ledger")
				.address("localhost", 1)
				.framing(Framing.line())
				.correlation(Correlation.inOrder())
				.backoff(Duration.ofSeconds(1), Duration.ofSeconds(1))
				.build();
		}

	}

	@Configuration(proxyBeanMethods = false)
	static class Started extends Own {

		@Bean
		@Override
		TcpClient own(LeaderFollowersPools pools) {
			TcpClient client = super.own(pools);
			client.start();
			return client;
		}

	}

	@LfClient("ledger")
	interface Ledger {

		@Exchange
		String book(String order);

	}

	@Configuration(proxyBeanMethods = false)
	@ImportLfClients(Ledger.class)
	static class FrontEnd {

		@Bean
		@LfHandler
		Relay relay(Ledger ledger) {
			return new Relay(ledger);
		}

	}

	record Relay(Ledger ledger) {

		@OnMessage
		String relay(String order) {
			return this.ledger.book(order);
		}

	}

	@LfHandler(client = "ledger")
	static class Listening {

		private final BlockingQueue<String> heard = new LinkedBlockingQueue<>();

		/** The handler of a client may need the client. */
		Listening(@Qualifier("ledger") TcpClient client) {
			assertThat(client.snapshot().state()).isEqualTo(State.NEW);
		}

		@OnOpen
		void logIn(Connection connection) {
			connection.send(ByteBuffer.wrap("LOGIN".getBytes(StandardCharsets.UTF_8)));
		}

		@OnMessage
		void hear(String text) {
			this.heard.add(text);
		}

	}

}
