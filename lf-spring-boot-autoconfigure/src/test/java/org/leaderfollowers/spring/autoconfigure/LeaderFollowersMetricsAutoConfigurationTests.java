package org.leaderfollowers.spring.autoconfigure;

import java.nio.ByteBuffer;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

import io.micrometer.core.instrument.Meter;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Timer;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;
import org.leaderfollowers.Connection;
import org.leaderfollowers.EventType;
import org.leaderfollowers.LeaderFollowersPool;
import org.leaderfollowers.MessageHandler;
import org.leaderfollowers.TcpServer;
import org.leaderfollowers.spring.LineClient;
import org.leaderfollowers.spring.annotation.LfHandler;
import org.leaderfollowers.spring.autoconfigure.LeaderFollowersAutoConfigurationTests.EchoBeanMethod;
import org.leaderfollowers.spring.limit.ClientLimiters;
import org.leaderfollowers.spring.server.LeaderFollowersPools;
import org.leaderfollowers.spring.server.LeaderFollowersServers;

import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.micrometer.metrics.autoconfigure.CompositeMeterRegistryAutoConfiguration;
import org.springframework.boot.micrometer.metrics.autoconfigure.MetricsAutoConfiguration;
import org.springframework.boot.micrometer.metrics.autoconfigure.export.simple.SimpleMetricsExportAutoConfiguration;
import org.springframework.boot.micrometer.observation.autoconfigure.ObservationAutoConfiguration;
import org.springframework.boot.test.context.FilteredClassLoader;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for {@link LeaderFollowersMetricsAutoConfiguration}, and for the meters.
 */
class LeaderFollowersMetricsAutoConfigurationTests {

	private final ApplicationContextRunner contextRunner = new ApplicationContextRunner()
		.withConfiguration(AutoConfigurations.of(LeaderFollowersAutoConfiguration.class,
				LeaderFollowersMetricsAutoConfiguration.class, LeaderFollowersObservationAutoConfiguration.class,
				MetricsAutoConfiguration.class, CompositeMeterRegistryAutoConfiguration.class,
				SimpleMetricsExportAutoConfiguration.class, ObservationAutoConfiguration.class))
		.withUserConfiguration(EchoBeanMethod.class)
		.withPropertyValues("lf.server.port=0");

	@Test
	void everyMeterIsThereWithTagsAndADescription() {
		this.contextRunner.run((context) -> {
			MeterRegistry registry = context.getBean(MeterRegistry.class);
			for (String role : new String[] { "leader", "processing", "follower" }) {
				registry.get("lf.pool.threads").tags("pool", "default", "role", role).gauge();
			}
			for (String kind : new String[] { "eager", "takeover", "reclaimed" }) {
				registry.get("lf.promotions").tags("pool", "default", "kind", kind).functionCounter();
			}
			registry.get("lf.handoff").tag("pool", "default").timer();
			registry.get("lf.leaderless").tag("pool", "default").timer();
			registry.get("lf.starvations").tag("pool", "default").functionCounter();
			for (String type : new String[] { "accept", "connect", "read", "write" }) {
				registry.get("lf.events").tags("pool", "default", "type", type).functionCounter();
			}
			registry.get("lf.events.shared").tag("pool", "default").functionCounter();
			registry.get("lf.pool.reliefs").tag("pool", "default").functionCounter();
			registry.get("lf.handles.ready").tag("pool", "default").gauge();
			registry.get("lf.connections").tag("server", "default").gauge();
			registry.get("lf.connections.accepted").tag("server", "default").functionCounter();
			registry.get("lf.connections.rejected").tag("server", "default").functionCounter();
			registry.get("lf.connections.closed").tags("server", "default", "reason", "peer").functionCounter();
			registry.get("lf.bytes").tags("server", "default", "direction", "received").functionCounter();
			registry.get("lf.bytes").tags("server", "default", "direction", "sent").functionCounter();
			assertThat(registry.getMeters()).map(Meter::getId)
				.filteredOn((id) -> id.getName().startsWith("lf."))
				.allSatisfy((id) -> assertThat(id.getDescription()).isNotBlank())
				.flatMap(Meter.Id::getTags)
				.extracting((tag) -> tag.getKey())
				.containsOnly("pool", "role", "kind", "type", "server", "reason", "direction", "handler", "outcome",
						"error", "state");
		});
	}

	@Test
	void metersCountWhatHappens() {
		this.contextRunner.run((context) -> {
			MeterRegistry registry = context.getBean(MeterRegistry.class);
			try (LineClient client = new LineClient(
					context.getBean(LeaderFollowersServers.class).get("default").port())) {
				assertThat(client.ask("hello")).isEqualTo("hello");
				Awaitility.await().untilAsserted(() -> {
					assertThat(registry.get("lf.connections").gauge().value()).isEqualTo(1);
					assertThat(registry.get("lf.connections.accepted").functionCounter().count()).isEqualTo(1);
					assertThat(registry.get("lf.bytes").tag("direction", "received").functionCounter().count())
						.isEqualTo(6);
					assertThat(registry.get("lf.bytes").tag("direction", "sent").functionCounter().count())
						.isEqualTo(6);
					assertThat(registry.get("lf.events").tag("type", "accept").functionCounter().count()).isPositive();
					assertThat(registry.get("lf.pool.threads").tag("role", "leader").gauge().value()).isEqualTo(1);
					// There is one more if the first event came before all of them were
					// waiting.
					assertThat(registry.get("lf.pool.threads").tag("role", "follower").gauge().value())
						.isGreaterThanOrEqualTo(3);
				});
			}
			Awaitility.await().untilAsserted(() -> {
				assertThat(registry.get("lf.connections").gauge().value()).isZero();
				assertThat(registry.get("lf.connections.closed").tag("reason", "peer").functionCounter().count())
					.isEqualTo(1);
				Timer handOff = registry.get("lf.handoff").timer();
				assertThat(handOff.count()).isPositive();
				assertThat(handOff.totalTime(TimeUnit.NANOSECONDS)).isPositive();
				assertThat(registry.get("lf.promotions")
					.functionCounters()
					.stream()
					.mapToDouble((counter) -> counter.count())
					.sum()).isEqualTo(handOff.count());
			});
		});
	}

	@Test
	void messagesAreTimedByOutcome() {
		this.contextRunner.run((context) -> {
			MeterRegistry registry = context.getBean(MeterRegistry.class);
			try (LineClient client = new LineClient(
					context.getBean(LeaderFollowersServers.class).get("default").port())) {
				assertThat(client.ask("hello")).isEqualTo("hello");
				assertThat(client.ask("hello")).isEqualTo("hello");
				client.send("fail");
				assertThat(client.read()).isNull();
			}
			Awaitility.await().untilAsserted(() -> {
				assertThat(registry.get("lf.messages")
					.tags("server", "default", "handler", "echo", "outcome", "success")
					.timer()
					.count()).isEqualTo(2);
				assertThat(registry.get("lf.messages")
					.tags("server", "default", "handler", "echo", "outcome", "error", "error", "IllegalStateException")
					.timer()
					.count()).isEqualTo(1);
			});
		});
	}

	@Test
	void serverThatIsRestartedKeepsItsMeters() {
		this.contextRunner.run((context) -> {
			context.stop();
			context.start();
			try (LineClient client = new LineClient(
					context.getBean(LeaderFollowersServers.class).get("default").port())) {
				assertThat(client.ask("hello")).isEqualTo("hello");
				MeterRegistry registry = context.getBean(MeterRegistry.class);
				Awaitility.await()
					.untilAsserted(() -> assertThat(registry.get("lf.connections").gauge().value()).isEqualTo(1));
			}
		});
	}

	@Test
	void poolBeanHasAllMeters() {
		this.contextRunner
			.withBean("own", LeaderFollowersPool.class, () -> LeaderFollowersPool.builder().name("own").build())
			.run((context) -> {
				MeterRegistry registry = context.getBean(MeterRegistry.class);
				assertThat(registry.find("lf.pool.threads").tag("pool", "own").gauges()).hasSize(3);
				assertThat(registry.find("lf.events").tag("pool", "own").functionCounters()).hasSize(4);
				assertThat(registry.find("lf.handoff").tag("pool", "own").timer()).isNotNull();
				assertThat(registry.find("lf.leaderless").tag("pool", "own").timer()).isNotNull();
				assertThat(registry.find("lf.starvations").tag("pool", "own").functionCounter()).isNotNull();
			});
	}

	@Test
	void eventsOfAllHandleSetsAreAddedUp() {
		this.contextRunner.withPropertyValues("lf.pool.handle-sets=3").run((context) -> {
			MeterRegistry registry = context.getBean(MeterRegistry.class);
			int port = context.getBean(LeaderFollowersServers.class).get("default").port();
			try (LineClient one = new LineClient(port);
					LineClient two = new LineClient(port);
					LineClient three = new LineClient(port)) {
				for (LineClient client : new LineClient[] { one, two, three }) {
					// A message that arrives together with the connection is read without
					// an event.
					assertThat(client.ask("hello")).isEqualTo("hello");
					assertThat(client.ask("again")).isEqualTo("again");
				}
				LeaderFollowersPool pool = context.getBean(LeaderFollowersPools.class).get("default");
				Awaitility.await().untilAsserted(() -> {
					List<Long> reads = pool.snapshot()
						.handleSets()
						.stream()
						.map((set) -> set.events().getOrDefault(EventType.READ, 0L))
						.toList();
					assertThat(reads).hasSize(3).allMatch((count) -> count > 0);
					assertThat(registry.get("lf.events").tag("type", "read").functionCounter().count())
						.isEqualTo(reads.stream().mapToLong(Long::longValue).sum());
				});
			}
		});
	}

	@Test
	void withoutMicrometerEverythingElseWorks() {
		this.contextRunner.withClassLoader(new FilteredClassLoader("io.micrometer"))
			.run((context) -> assertThat(context).hasNotFailed()
				.hasSingleBean(LeaderFollowersServers.class)
				.doesNotHaveBean(LeaderFollowersMetricsAutoConfiguration.class)
				.doesNotHaveBean(LeaderFollowersObservationAutoConfiguration.class));
	}

	@Test
	void withoutAMeterRegistryThereAreNoMeters() {
		new ApplicationContextRunner()
			.withConfiguration(AutoConfigurations.of(LeaderFollowersAutoConfiguration.class,
					LeaderFollowersMetricsAutoConfiguration.class))
			.run((context) -> assertThat(context).hasNotFailed()
				.doesNotHaveBean(PoolMetrics.class)
				.doesNotHaveBean(ServerMetrics.class));
	}

	@Test
	void withoutTheEngineThereAreNoMeters() {
		this.contextRunner.withClassLoader(new FilteredClassLoader(TcpServer.class))
			.run((context) -> assertThat(context).hasNotFailed()
				.doesNotHaveBean(LeaderFollowersMetricsAutoConfiguration.class)
				.doesNotHaveBean(LeaderFollowersObservationAutoConfiguration.class));
	}

	@Test
	void ifDisabledThereAreNoMeters() {
		this.contextRunner.withPropertyValues("lf.enabled=false")
			.run((context) -> assertThat(context).hasNotFailed()
				.doesNotHaveBean(PoolMetrics.class)
				.doesNotHaveBean(ServerMetrics.class));
	}

	@Test
	void beansOfTheUserTakeTheirPlace() {
		PoolMetrics pools = new PoolMetrics(new LeaderFollowersPools(List.of(), Map.of()));
		ServerMetrics servers = new ServerMetrics(LeaderFollowersServers.builder().build(), new ClientLimiters(null));
		this.contextRunner.withBean("myPoolMetrics", PoolMetrics.class, () -> pools)
			.withBean("myServerMetrics", ServerMetrics.class, () -> servers)
			.run((context) -> {
				assertThat(context).getBean(PoolMetrics.class).isSameAs(pools);
				assertThat(context).getBean(ServerMetrics.class).isSameAs(servers);
			});
	}

	@Test
	void boundToAnyRegistryByHand() {
		this.contextRunner.run((context) -> {
			SimpleMeterRegistry registry = new SimpleMeterRegistry();
			context.getBean(PoolMetrics.class).bindTo(registry);
			context.getBean(ServerMetrics.class).bindTo(registry);
			assertThat(registry.find("lf.handoff").timer()).isNotNull();
			assertThat(registry.find("lf.connections").gauge()).isNotNull();
		});
	}

	@Test
	void registryThatIsBoundTwiceCountsOnce() {
		this.contextRunner.run((context) -> {
			MeterRegistry registry = context.getBean(MeterRegistry.class);
			int meters = registry.getMeters().size();
			context.getBean(PoolMetrics.class).bindTo(registry);
			context.getBean(ServerMetrics.class).bindTo(registry);
			assertThat(registry.getMeters()).hasSize(meters);
			try (LineClient client = new LineClient(
					context.getBean(LeaderFollowersServers.class).get("default").port())) {
				assertThat(client.ask("hello")).isEqualTo("hello");
			}
			Awaitility.await()
				.untilAsserted(() -> assertThat(registry.get("lf.promotions")
					.functionCounters()
					.stream()
					.mapToDouble((counter) -> counter.count())
					.sum()).isPositive().isEqualTo(registry.get("lf.handoff").timer().count()));
		});
	}

	@Test
	void countersGoOnWhenAServerIsStartedAgain() {
		this.contextRunner.run((context) -> {
			MeterRegistry registry = context.getBean(MeterRegistry.class);
			for (int i = 1; i <= 3; i++) {
				int expected = 6 * i;
				try (LineClient client = new LineClient(
						context.getBean(LeaderFollowersServers.class).get("default").port())) {
					assertThat(client.ask("hello")).isEqualTo("hello");
				}
				Awaitility.await()
					.untilAsserted(() -> assertThat(
							registry.get("lf.bytes").tag("direction", "received").functionCounter().count())
						.isEqualTo(expected));
				context.stop();
				Awaitility.await()
					.untilAsserted(() -> assertThat(registry.get("lf.server.accepting").gauge().value()).isZero());
				context.start();
				Awaitility.await()
					.untilAsserted(() -> assertThat(registry.get("lf.server.accepting").gauge().value()).isEqualTo(1));
			}
		});
	}

	@Test
	void limitsAreWhatIsConfigured() {
		this.contextRunner
			.withPropertyValues("lf.pool.threads.min=3", "lf.pool.threads.max=7", "lf.pool.max-buffered-size=1MB",
					"lf.server.max-connections=11")
			.run((context) -> {
				MeterRegistry registry = context.getBean(MeterRegistry.class);
				assertThat(registry.get("lf.pool.threads.min").gauge().value()).isEqualTo(3);
				assertThat(registry.get("lf.pool.threads.max").gauge().value()).isEqualTo(7);
				assertThat(registry.get("lf.buffered.max").gauge().value()).isEqualTo(1024 * 1024);
				assertThat(registry.get("lf.connections.max").gauge().value()).isEqualTo(11);
				context.getBean(LeaderFollowersPools.class).get("default").resize(4, 9);
				Awaitility.await()
					.untilAsserted(() -> assertThat(registry.get("lf.pool.threads.max").gauge().value()).isEqualTo(9));
			});
	}

	@Test
	void pausedServerDoesNotAccept() {
		this.contextRunner.run((context) -> {
			MeterRegistry registry = context.getBean(MeterRegistry.class);
			assertThat(registry.get("lf.server.accepting").tag("server", "default").gauge().value()).isEqualTo(1);
			context.getBean(LeaderFollowersServers.class).pause("default");
			Awaitility.await()
				.untilAsserted(() -> assertThat(registry.get("lf.server.accepting").gauge().value()).isZero());
			context.getBean(LeaderFollowersServers.class).resume("default");
			Awaitility.await()
				.untilAsserted(() -> assertThat(registry.get("lf.server.accepting").gauge().value()).isEqualTo(1));
		});
	}

	@Test
	void handlerThatBlocksIsSeenAndThePoolStarves() {
		BlockingHandler handler = new BlockingHandler();
		this.contextRunner.withBean("blocking", BlockingHandler.class, () -> handler)
			.withPropertyValues("lf.servers.slow.port=0", "lf.servers.slow.pool=small", "lf.pools.small.threads.min=2",
					"lf.pools.small.threads.max=2")
			.run((context) -> {
				MeterRegistry registry = context.getBean(MeterRegistry.class);
				int port = context.getBean(LeaderFollowersServers.class).get("slow").port();
				assertThat(registry.get("lf.handler.threads")
					.tags("pool", "small", "server", "slow", "handler", "blocking")
					.gauge()
					.value()).isZero();
				try (LineClient one = new LineClient(port); LineClient two = new LineClient(port)) {
					one.send("block");
					two.send("block");
					Awaitility.await().untilAsserted(() -> {
						assertThat(registry.get("lf.handler.threads").tag("server", "slow").gauge().value())
							.isEqualTo(2);
						assertThat(registry.get("lf.handler.threads").tag("server", "default").gauge().value())
							.isZero();
						assertThat(registry.get("lf.pool.starved")
							.tag("pool", "small")
							.timeGauge()
							.value(TimeUnit.MILLISECONDS)).isPositive();
						assertThat(registry.get("lf.pool.vacant")
							.tag("pool", "small")
							.timeGauge()
							.value(TimeUnit.MILLISECONDS)).isPositive();
						assertThat(registry.get("lf.handles")
							.tags("pool", "small", "state", "deactivated")
							.gauge()
							.value()).isGreaterThanOrEqualTo(2);
					});
					handler.release.countDown();
					assertThat(one.read()).isEqualTo("block");
					Awaitility.await().untilAsserted(() -> {
						assertThat(registry.get("lf.handler.threads").tag("server", "slow").gauge().value()).isZero();
						assertThat(registry.get("lf.pool.starved").tag("pool", "small").timeGauge().value()).isZero();
						assertThat(registry.get("lf.pool.vacant").tag("pool", "small").timeGauge().value()).isZero();
						assertThat(registry.get("lf.handles").tags("pool", "small", "state", "active").gauge().value())
							.isEqualTo(3);
					});
				}
				finally {
					handler.release.countDown();
				}
			});
	}

	@Test
	void hostileNamesAreOnlyValuesOfTags() {
		String name = "evil\"} 1\nlf_forged{a=\"";
		this.contextRunner
			.withBean("pool", LeaderFollowersPool.class, () -> LeaderFollowersPool.builder().name(name).build())
			.run((context) -> assertThat(
					context.getBean(MeterRegistry.class).get("lf.pool.threads.max").tag("pool", name).gauge())
				.isNotNull());
	}

	@Test
	void withoutBootsModuleForMetricsTheyAreBound() {
		MeterRegistry registry = new SimpleMeterRegistry();
		new ApplicationContextRunner()
			.withConfiguration(AutoConfigurations.of(LeaderFollowersAutoConfiguration.class,
					LeaderFollowersMetricsAutoConfiguration.class, LeaderFollowersObservationAutoConfiguration.class))
			.withUserConfiguration(EchoBeanMethod.class)
			.withClassLoader(new FilteredClassLoader("org.springframework.boot.micrometer"))
			.withBean(MeterRegistry.class, () -> registry)
			.withPropertyValues("lf.server.port=0")
			.run((context) -> {
				assertThat(registry.get("lf.connections").gauge().value()).isZero();
				assertThat(registry.get("lf.handoff").timer()).isNotNull();
				assertThat(registry.get("lf.messages").timer()).isNotNull();
			});
	}

	@Test
	void childContextMeasuresItsOwnServers() {
		this.contextRunner.run((parent) -> {
			MeterRegistry registry = parent.getBean(MeterRegistry.class);
			List<Meter> before = registry.getMeters();
			new ApplicationContextRunner()
				.withConfiguration(AutoConfigurations.of(LeaderFollowersAutoConfiguration.class,
						LeaderFollowersMetricsAutoConfiguration.class, MetricsAutoConfiguration.class))
				.withBean("childHandler", ChildHandler.class)
				.withPropertyValues("lf.servers.child.port=0")
				.withParent(parent)
				.run((child) -> {
					assertThat(registry.get("lf.connections").tag("server", "child").gauge().value()).isZero();
					assertThat(registry.find("lf.pool.threads.max").gauges()).hasSize(1);
				});
			// The registry outlives the child context. A timer keeps the recorded values.
			assertThat(registry.getMeters()).filteredOn((meter) -> !(meter instanceof Timer))
				.containsExactlyInAnyOrderElementsOf(
						before.stream().filter((meter) -> !(meter instanceof Timer)).toList());
		});
	}

	@LfHandler(server = "slow")
	static class BlockingHandler implements MessageHandler {

		private final CountDownLatch release = new CountDownLatch(1);

		@Override
		public void onMessage(Connection connection, ByteBuffer message) throws Exception {
			this.release.await();
			connection.send(message);
		}

	}

	@LfHandler(server = "child")
	static class ChildHandler implements MessageHandler {

		@Override
		public void onMessage(Connection connection, ByteBuffer message) {
			connection.send(message);
		}

	}

}
