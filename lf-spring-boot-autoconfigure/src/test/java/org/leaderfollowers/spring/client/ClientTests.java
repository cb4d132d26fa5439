package org.leaderfollowers.spring.client;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;

import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.leaderfollowers.ClientSnapshot.Outcome;
import org.leaderfollowers.ClientSnapshot.State;
import org.leaderfollowers.Connection;
import org.leaderfollowers.Correlation;
import org.leaderfollowers.Framing;
import org.leaderfollowers.LeaderFollowersPool;
import org.leaderfollowers.TcpClient;
import org.leaderfollowers.spring.LineClient;
import org.leaderfollowers.spring.annotation.Exchange;
import org.leaderfollowers.spring.annotation.LfClient;
import org.leaderfollowers.spring.annotation.LfHandler;
import org.leaderfollowers.spring.annotation.OnMessage;
import org.leaderfollowers.spring.annotation.OnOpen;
import org.leaderfollowers.spring.autoconfigure.LeaderFollowersAutoConfiguration;
import org.leaderfollowers.spring.server.LeaderFollowersPools;
import org.leaderfollowers.spring.server.LeaderFollowersServers;

import org.springframework.beans.factory.annotation.Qualifier;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;

import static org.assertj.core.api.Assertions.assertThat;

/** The clients of an application context, and how long they live. */
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
