package org.leaderfollowers.spring.event;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.leaderfollowers.CloseReason;
import org.leaderfollowers.Connection;
import org.leaderfollowers.Framing;
import org.leaderfollowers.LeaderFollowersPool;
import org.leaderfollowers.MessageHandler;
import org.leaderfollowers.Server;
import org.leaderfollowers.ServiceClass;
import org.leaderfollowers.TcpServer;
import org.leaderfollowers.spring.EchoHandler;
import org.leaderfollowers.spring.LineClient;
import org.leaderfollowers.spring.annotation.LfHandler;
import org.leaderfollowers.spring.autoconfigure.LeaderFollowersAutoConfiguration;
import org.leaderfollowers.spring.server.LeaderFollowersServers;

import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;
import org.springframework.context.ApplicationContext;
import org.springframework.context.ApplicationEvent;
import org.springframework.context.ApplicationListener;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.event.EventListener;

import static org.assertj.core.api.Assertions.assertThat;

/** Which events are published, and when. */
@ExtendWith(OutputCaptureExtension.class)
class EventTests {

	private final Queue<String> heard = new ConcurrentLinkedQueue<>();

	private final ApplicationContextRunner contextRunner = new ApplicationContextRunner()
		.withConfiguration(AutoConfigurations.of(LeaderFollowersAutoConfiguration.class))
		.withUserConfiguration(Echo.class)
		.withBean("heard", Queue.class, () -> this.heard)
		.withPropertyValues("lf.server.port=0");

	@Test
	void lifeOfAServerIsPublished() {
		this.contextRunner.withBean(ServerListener.class).run((context) -> {
			assertThat(this.heard).containsExactly("ServerStartedEvent[server=default]");
			ConfigurableApplicationContext source = context.getSourceApplicationContext();
			source.stop();
			source.start();
			assertThat(this.heard).containsExactly("ServerStartedEvent[server=default]",
					"ServerStoppedEvent[server=default]", "ServerStartedEvent[server=default]");
			source.close();
			assertThat(this.heard).hasSize(4).endsWith("ServerStoppedEvent[server=default]");
		});
	}

	@Test
	void pauseAndResumeArePublishedOnce() {
		this.contextRunner.withBean(ServerListener.class).run((context) -> {
			LeaderFollowersServers servers = context.getBean(LeaderFollowersServers.class);
			Server server = servers.get("default");
			servers.pause("default");
			servers.pause("default");
			assertThat(server.isPaused()).isTrue();
			servers.resume("default");
			servers.resume("default");
			assertThat(server.isPaused()).isFalse();
			assertThat(this.heard).containsExactly("ServerStartedEvent[server=default]",
					"ServerPausedEvent[server=default]", "ServerResumedEvent[server=default]");
		});
	}

	@Test
	void aPauseIsPublishedWhenItHasBegun() {
		this.contextRunner.withBean(PauseListener.class).run((context) -> {
			context.getBean(LeaderFollowersServers.class).pause("default");
			context.getBean(LeaderFollowersServers.class).resume("default");
			assertThat(this.heard).containsExactly("paused true", "paused false");
		});
	}

	@Test
	void lifeOfAConnectionIsPublished() {
		this.contextRunner.withBean(ConnectionListener.class).run((context) -> {
			try (LineClient client = client(context)) {
				assertThat(client.ask("hello")).isEqualTo("hello");
				client.send("fail");
				assertThat(client.read()).isNull();
			}
			Awaitility.await().untilAsserted(() -> assertThat(this.heard).hasSize(3));
			assertThat(this.heard).containsExactly("ConnectionOpenedEvent[server=default, connection=1]",
					"ConnectionFailedEvent[server=default, connection=1] As asked for",
					"ConnectionClosedEvent[server=default, connection=1] HANDLER_ERROR");
		});
	}

	@Test
	void listenerOfTheParentHearsConnections() {
		new ApplicationContextRunner().withBean("heard", Queue.class, () -> this.heard)
			.withBean(ConnectionListener.class)
			.run((parent) -> this.contextRunner.withParent(parent.getSourceApplicationContext()).run((context) -> {
				client(context).close();
				Awaitility.await()
					.untilAsserted(() -> assertThat(this.heard)
						.contains("ConnectionOpenedEvent[server=default, connection=1]"));
			}));
	}

	@Test
	void listenerThatIsDeclaredByItsClassHearsConnections() {
		this.contextRunner.withBean(OpenedListener.class).run((context) -> {
			client(context).close();
			Awaitility.await().untilAsserted(() -> assertThat(this.heard).containsExactly("opened"));
		});
	}

	@Test
	void unlessSomebodyListensTheHandlerIsCalledDirectly() {
		this.contextRunner.withBean(ServerListener.class)
			.withBean(EverythingListener.class)
			.run((context) -> assertThat(context.getBean(LeaderFollowersServers.class).get("default"))
				.hasFieldOrPropertyWithValue("life.context.handler", context.getBean("echo")));
	}

	@Test
	void serverThatIsAskedForTooEarlyPublishesToo() {
		this.contextRunner.withBean(EarlyBird.class).withBean(ConnectionListener.class).run((context) -> {
			client(context).close();
			Awaitility.await()
				.untilAsserted(
						() -> assertThat(this.heard).contains("ConnectionOpenedEvent[server=default, connection=1]"));
		});
	}

	@Test
	void whatAListenerThrowsCountsAsThrownByTheHandler() {
		this.contextRunner.withBean(BrokenListener.class).run((context) -> {
			try (LineClient client = client(context)) {
				assertThat(client.read()).isNull();
			}
			try (LineClient client = client(context)) {
				assertThat(client.read()).as("others are served").isNull();
			}
		});
	}

	@Test
	void starvedPoolIsPublishedOnce() {
		this.contextRunner.withBean(StarvationListener.class)
			.withPropertyValues("lf.pool.threads.min=1", "lf.pool.threads.max=1", "lf.servers.blocking.port=0")
			.withUserConfiguration(BlockingOnOpen.class)
			.run((context) -> {
				CountDownLatch open = context.getBean(CountDownLatch.class);
				try (LineClient client = new LineClient(
						context.getBean(LeaderFollowersServers.class).get("blocking").port())) {
					Awaitility.await().untilAsserted(() -> assertThat(this.heard).containsExactly("starved default"));
					open.countDown();
					assertThat(client.read()).isEqualTo("opened");
					assertThat(this.heard).hasSize(1);
				}
			});
	}

	@Test
	void starvedPoolOfAParentIsPublishedOnceToTheListenersOfEachContext() {
		Queue<String> heardByChild = new ConcurrentLinkedQueue<>();
		this.contextRunner.withBean(StarvationListener.class)
			.withPropertyValues("lf.pool.threads.min=1", "lf.pool.threads.max=1", "lf.servers.blocking.port=0")
			.withUserConfiguration(BlockingOnOpen.class)
			.run((parent) -> new ApplicationContextRunner()
				.withConfiguration(AutoConfigurations.of(LeaderFollowersAutoConfiguration.class))
				.withBean(StarvationListener.class, () -> new StarvationListener(heardByChild))
				.withParent(parent.getSourceApplicationContext())
				.run((child) -> {
					CountDownLatch open = parent.getBean(CountDownLatch.class);
					try (LineClient client = new LineClient(
							parent.getBean(LeaderFollowersServers.class).get("blocking").port())) {
						Awaitility.await().untilAsserted(() -> {
							assertThat(this.heard).contains("starved default");
							assertThat(heardByChild).contains("starved default");
						});
						open.countDown();
						assertThat(client.read()).isEqualTo("opened");
						assertThat(this.heard).containsExactly("starved default");
						assertThat(heardByChild).containsExactly("starved default");
					}
				}));
	}

	/** The configuration of its bean has started it, and its pool is no bean. */
	@Test
	void serverThatRunsAlreadyIsNotPublishedAsStartedButItsPoolIsWatched(CapturedOutput output) {
		CountDownLatch open = new CountDownLatch(1);
		try (LeaderFollowersPool pool = LeaderFollowersPool.builder().name("own").threads(1, 1).build();
				TcpServer server = TcpServer.builder(pool)
					.name("early")
					.port(0)
					.framing(Framing.line())
					.handler((connection, message) -> {
						assertThat(open.await(60, TimeUnit.SECONDS)).isTrue();
						connection.send(message);
					})
					.build()) {
			server.start();
			this.contextRunner.withBean(ServerListener.class)
				.withBean(StarvationListener.class)
				.withBean("early", TcpServer.class, () -> server)
				.run((context) -> {
					assertThat(this.heard).containsExactly("ServerStartedEvent[server=default]");
					try (LineClient client = new LineClient(server.port())) {
						client.send("block");
						Awaitility.await().untilAsserted(() -> assertThat(this.heard).contains("starved own"));
						open.countDown();
						assertThat(client.read()).isEqualTo("block");
					}
				});
		}
		assertThat(output).contains("Server 'default' started").doesNotContain("Server 'early' started");
	}

	@Test
	void starvedPoolThatOnlyServesAClassIsPublished() {
		this.contextRunner.withBean(StarvationListener.class)
			.withPropertyValues("lf.pools.bulk.threads.min=1", "lf.pools.bulk.threads.max=1",
					"lf.servers.blocking.port=0")
			.withBean(ServiceClass.class, () -> (connection, first) -> "bulk")
			.withUserConfiguration(Blocking.class)
			.run((context) -> {
				CountDownLatch open = context.getBean(CountDownLatch.class);
				int port = context.getBean(LeaderFollowersServers.class).get("blocking").port();
				try (LineClient client = new LineClient(port); LineClient other = new LineClient(port)) {
					client.send("block");
					other.send("block");
					Awaitility.await().untilAsserted(() -> assertThat(this.heard).containsExactly("starved bulk"));
					open.countDown();
					assertThat(client.read()).isEqualTo("block");
					assertThat(other.read()).isEqualTo("block");
				}
			});
	}

	@Test
	void handlerThatDoesNotComeBackIsPublishedOnce() {
		this.contextRunner.withBean(AlarmListener.class)
			.withPropertyValues("lf.pool.watchdog.slow-handler-after=1s", "lf.servers.blocking.port=0")
			.withUserConfiguration(BlockingOnOpen.class)
			.run((context) -> {
				CountDownLatch open = context.getBean(CountDownLatch.class);
				try (LineClient client = new LineClient(
						context.getBean(LeaderFollowersServers.class).get("blocking").port())) {
					Awaitility.await()
						.atMost(Duration.ofSeconds(60))
						.untilAsserted(() -> assertThat(this.heard).containsExactly("HANDLER_SLOW blocking"));
					open.countDown();
					assertThat(client.read()).isEqualTo("opened");
					assertThat(this.heard).hasSize(1);
				}
			});
	}

	@ParameterizedTest
	@ValueSource(classes = { GreetedListener.class, FailedListener.class, ClosedListener.class })
	void onlyListenerHearsAfterTheHandlerEvenIfThatFails(Class<?> listener) {
		this.contextRunner.withBean(listener)
			.withUserConfiguration(Faulty.class)
			.withPropertyValues("lf.servers.faulty.port=0")
			.run((context) -> {
				int port = context.getBean(LeaderFollowersServers.class).get("faulty").port();
				try (LineClient client = new LineClient(port)) {
					assertThat(client.ask("fail")).isEqualTo("<closed>");
				}
				Awaitility.await().untilAsserted(() -> assertThat(this.heard).containsOnly(listener.getSimpleName()));
			});
	}

	private static LineClient client(ApplicationContext context) throws Exception {
		return new LineClient(context.getBean(LeaderFollowersServers.class).get("default").port());
	}

	@Configuration(proxyBeanMethods = false)
	static class Echo {

		@Bean
		@LfHandler
		MessageHandler echo() {
			return new EchoHandler();
		}

	}

	@Configuration(proxyBeanMethods = false)
	static class Blocking {

		@Bean
		CountDownLatch open() {
			return new CountDownLatch(1);
		}

		@Bean
		@LfHandler("blocking")
		MessageHandler blocking(CountDownLatch open) {
			return new MessageHandler() {

				@Override
				public void onMessage(Connection connection, ByteBuffer message) throws Exception {
					assertThat(open.await(60, TimeUnit.SECONDS)).isTrue();
					connection.send(message);
				}

			};
		}

	}

	/** The first dispatch of a connection blocks: no earlier one can cause an event. */
	@Configuration(proxyBeanMethods = false)
	static class BlockingOnOpen {

		@Bean
		CountDownLatch open() {
			return new CountDownLatch(1);
		}

		@Bean
		@LfHandler("blocking")
		MessageHandler blocking(CountDownLatch open) {
			return new MessageHandler() {

				@Override
				public void onOpen(Connection connection) throws Exception {
					assertThat(open.await(60, TimeUnit.SECONDS)).isTrue();
					connection.send(ByteBuffer.wrap("opened".getBytes(StandardCharsets.UTF_8)));
				}

				@Override
				public void onMessage(Connection connection, ByteBuffer message) {
				}

			};
		}

	}

	@Configuration(proxyBeanMethods = false)
	static class Faulty {

		@Bean
		@LfHandler("faulty")
		MessageHandler faulty() {
			return new MessageHandler() {

				@Override
				public void onOpen(Connection connection) {
					connection.attributes().put("greeted", true);
				}

				@Override
				public void onMessage(Connection connection, ByteBuffer message) {
					throw new IllegalStateException("As asked for");
				}

				@Override
				public void onError(Connection connection, Throwable failure) {
					throw new IllegalStateException("As asked for");
				}

				@Override
				public void onClose(Connection connection, CloseReason reason) {
					throw new IllegalStateException("As asked for");
				}

			};
		}

	}

	static class ServerListener {

		private final Queue<String> heard;

		ServerListener(Queue<String> heard) {
			this.heard = heard;
		}

		@EventListener
		void on(ServerEvent event) {
			this.heard.add(event.toString());
		}

	}

	static class PauseListener {

		private final Queue<String> heard;

		PauseListener(Queue<String> heard) {
			this.heard = heard;
		}

		@EventListener({ ServerPausedEvent.class, ServerResumedEvent.class })
		void on(ServerEvent event) {
			this.heard.add("paused " + event.getServer().isPaused());
		}

	}

	static class ConnectionListener {

		private final Queue<String> heard;

		ConnectionListener(Queue<String> heard) {
			this.heard = heard;
		}

		@EventListener
		void on(ConnectionOpenedEvent event) {
			this.heard.add(event.toString());
		}

		@EventListener
		void on(ConnectionFailedEvent event) {
			this.heard.add(event + " " + event.getFailure().getMessage());
		}

		@EventListener
		void on(ConnectionClosedEvent event) {
			this.heard.add(event + " " + event.getReason());
		}

	}

	static class GreetedListener {

		private final Queue<String> heard;

		GreetedListener(Queue<String> heard) {
			this.heard = heard;
		}

		@EventListener
		void on(ConnectionOpenedEvent event) {
			assertThat(event.getConnection().attributes()).containsKey("greeted");
			this.heard.add("GreetedListener");
		}

	}

	static class FailedListener {

		private final Queue<String> heard;

		FailedListener(Queue<String> heard) {
			this.heard = heard;
		}

		@EventListener
		void on(ConnectionFailedEvent event) {
			this.heard.add("FailedListener");
		}

	}

	static class ClosedListener {

		private final Queue<String> heard;

		ClosedListener(Queue<String> heard) {
			this.heard = heard;
		}

		@EventListener
		void on(ConnectionClosedEvent event) {
			this.heard.add("ClosedListener");
		}

	}

	static class OpenedListener implements ApplicationListener<ConnectionOpenedEvent> {

		private final Queue<String> heard;

		OpenedListener(Queue<String> heard) {
			this.heard = heard;
		}

		@Override
		public void onApplicationEvent(ConnectionOpenedEvent event) {
			this.heard.add("opened");
		}

	}

	static class EverythingListener implements ApplicationListener<ApplicationEvent> {

		@Override
		public void onApplicationEvent(ApplicationEvent event) {
		}

	}

	static class BrokenListener {

		@EventListener
		void on(ConnectionOpenedEvent event) {
			throw new IllegalStateException("As asked for");
		}

	}

	static class StarvationListener {

		private final Queue<String> heard;

		StarvationListener(Queue<String> heard) {
			this.heard = heard;
		}

		@EventListener
		void on(PoolStarvedEvent event) {
			// A wrong unit would make hours of milliseconds.
			assertThat(event.getDuration()).isBetween(Duration.ofNanos(1), Duration.ofMinutes(10));
			this.heard.add("starved " + event.getPool().name());
		}

	}

	static class AlarmListener {

		private final Queue<String> heard;

		AlarmListener(Queue<String> heard) {
			this.heard = heard;
		}

		@EventListener
		void on(PoolAlarmEvent event) {
			assertThat(event.getPool().name()).isEqualTo("default");
			assertThat(event)
				.hasToString("PoolAlarmEvent[pool=default, alarm=%s]".formatted(event.getAlarm().description()));
			this.heard.add(event.getAlarm().kind() + " " + event.getAlarm().server());
		}

	}

	static class EarlyBird {

		EarlyBird(LeaderFollowersServers servers) {
			assertThat(servers.get("default").name()).isEqualTo("default");
		}

	}

}
