package org.leaderfollowers.spring.autoconfigure;

import java.lang.ref.WeakReference;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.ToLongFunction;
import java.util.stream.Collectors;

import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.Meter;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.TimeGauge;
import io.micrometer.core.instrument.Tags;
import io.micrometer.core.instrument.Timer;
import io.micrometer.core.instrument.binder.MeterBinder;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;
import org.leaderfollowers.ClientSnapshot;
import org.leaderfollowers.Connection;
import org.leaderfollowers.EventType;
import org.leaderfollowers.LeaderFollowersPool;
import org.leaderfollowers.MessageHandler;
import org.leaderfollowers.PoolAlarm;
import org.leaderfollowers.PoolListener;
import org.leaderfollowers.PoolSnapshot;
import org.leaderfollowers.PoolSnapshot.EventSourceSnapshot;
import org.leaderfollowers.PoolSnapshot.HandleSetSnapshot;
import org.leaderfollowers.PoolSnapshot.RunningHandler;
import org.leaderfollowers.PromotionKind;
import org.leaderfollowers.ServerSnapshot;
import org.leaderfollowers.TcpClient;
import org.leaderfollowers.TcpServer;
import org.leaderfollowers.ThreadRole;
import org.leaderfollowers.TransportType;
import org.leaderfollowers.UdpServer;
import org.leaderfollowers.spring.DistinctAnswers;
import org.leaderfollowers.spring.LineClient;
import org.leaderfollowers.spring.annotation.LfHandler;
import org.leaderfollowers.spring.autoconfigure.LeaderFollowersAutoConfigurationTests.EchoBeanMethod;
import org.leaderfollowers.spring.client.LeaderFollowersClients;
import org.leaderfollowers.spring.limit.ClientLimiters;
import org.leaderfollowers.spring.server.LeaderFollowersPools;
import org.leaderfollowers.spring.server.LeaderFollowersServers;
import org.leaderfollowers.spring.session.LfSessions;
import org.leaderfollowers.spring.session.SessionCounters;
import org.mockito.ArgumentCaptor;

import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.micrometer.metrics.autoconfigure.CompositeMeterRegistryAutoConfiguration;
import org.springframework.boot.micrometer.metrics.autoconfigure.MetricsAutoConfiguration;
import org.springframework.boot.micrometer.metrics.autoconfigure.export.simple.SimpleMetricsExportAutoConfiguration;
import org.springframework.boot.micrometer.observation.autoconfigure.ObservationAutoConfiguration;
import org.springframework.boot.test.context.FilteredClassLoader;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;

import static org.assertj.core.api.Assertions.assertThat;
import static org.mockito.BDDMockito.given;
import static org.mockito.BDDMockito.then;
import static org.mockito.Mockito.atLeastOnce;
import static org.mockito.Mockito.mock;

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
			assertThat(registry.get("lf.bytes").tag("direction", "sent").functionCounter().getId().getBaseUnit())
				.isEqualTo("bytes");
			assertThat(registry.get("lf.buffered").gauge().getId().getBaseUnit()).isEqualTo("bytes");
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
				FunctionCounter received = registry.get("lf.bytes").tag("direction", "received").functionCounter();
				Awaitility.await().untilAsserted(() -> assertThat(received.count()).isEqualTo(expected));
				assertThat(received.count()).as("of the servers that have ended, counted once").isEqualTo(expected);
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

	@Test
	void childContextLeavesTheMetersOfClientsAndSessionsToItsParent() {
		withClientAndSessions(this.contextRunner).run((parent) -> {
			MeterRegistry registry = parent.getBean(MeterRegistry.class);
			withClientAndSessions(new ApplicationContextRunner())
				.withConfiguration(AutoConfigurations.of(LeaderFollowersAutoConfiguration.class,
						LeaderFollowersMetricsAutoConfiguration.class))
				.withParent(parent)
				.run((child) -> assertThat(child).hasNotFailed());
			assertThat(registry.find("lf.client.running").gauge()).isNotNull();
			assertThat(registry.find("lf.sessions.open").gauge()).isNotNull();
		});
	}

	@Test
	void registryOfAParentHasTheMetersOfClientsAndSessions() {
		new ApplicationContextRunner().withBean(SimpleMeterRegistry.class)
			.run((parent) -> withClientAndSessions(new ApplicationContextRunner())
				.withConfiguration(AutoConfigurations.of(LeaderFollowersAutoConfiguration.class,
						LeaderFollowersMetricsAutoConfiguration.class))
				.withParent(parent)
				.run((child) -> {
					MeterRegistry registry = parent.getBean(MeterRegistry.class);
					assertThat(registry.find("lf.client.running").tag("client", "ledger").gauge()).isNotNull();
					assertThat(registry.find("lf.sessions.open").gauge()).isNotNull();
				}));
	}

	private static ApplicationContextRunner withClientAndSessions(ApplicationContextRunner runner) {
		return runner.withConfiguration(AutoConfigurations.of(LeaderFollowersSessionAutoConfiguration.class))
			.withPropertyValues("lf.clients.ledger.addresses=localhost:1",
					"lf.clients.ledger.correlation.type=in-order");
	}

	@Test
	void whatASourceCountedAfterItWasLastReadIsKept() {
		MeterRegistry registry = new SimpleMeterRegistry();
		AtomicReference<AtomicLong> source = new AtomicReference<>(new AtomicLong(1));
		new Meters().of(registry, source::get, AtomicLong::get, Tags.empty()).counter("count", "", Long::doubleValue);
		FunctionCounter counter = registry.get("count").functionCounter();
		assertThat(counter.count()).isEqualTo(1);
		source.get().set(3);
		source.set(new AtomicLong(10));
		assertThat(counter.count()).isEqualTo(13);
	}

	/** Meters refer only weakly to what they read. */
	@Test
	void whatAMeterReadsIsKeptUntilTheMeterIsRemoved() {
		MeterRegistry registry = new SimpleMeterRegistry();
		Meters meters = new Meters();
		meters.of(registry, () -> "four", String::length, Tags.empty()).gauge("length", "", Integer::doubleValue);
		WeakReference<Object> garbage = new WeakReference<>(new Object());
		Awaitility.await().until(() -> {
			System.gc();
			return garbage.get() == null;
		});
		assertThat(registry.get("length").gauge().value()).isEqualTo(4);
		meters.remove();
		assertThat(registry.getMeters()).isEmpty();
	}

	/** A meter that reads the number of another one misleads whoever relies on it. */
	@Test
	void eachMeterOfAServerReadsItsOwnNumber() throws Exception {
		TcpServer server = mock(TcpServer.class, new DistinctAnswers());
		ServerSnapshot now = server.snapshot();
		ServerSnapshot.Tls tls = Objects.requireNonNull(now.tls());
		List<RunningHandler> handlers = server.pool().snapshot().runningHandlers();
		String name = server.name();
		given(handlers.get(0).server()).willReturn(name);
		Map<String, Long> expected = numbers(Map.of("lf.connections", now.openConnections(), "lf.connections.max",
				now.maxConnections(), "lf.connections.accepted", now.acceptedConnections(), "lf.connections.rejected",
				now.rejectedConnections(), "lf.bytes received", now.receivedBytes(), "lf.bytes sent", now.sentBytes(),
				"lf.server.accepting", 0, "lf.handler.threads", handlers.get(0).threads()));
		now.closedConnections()
			.forEach((reason, count) -> expected.put("lf.connections.closed " + Meters.tag(reason), count));
		expected.putAll(numbers(Map.of("lf.tls.handshakes completed", tls.completedHandshakes(),
				"lf.tls.handshakes failed", tls.failedHandshakes(), "lf.tls.handshakes.pending",
				tls.pendingHandshakes(), "lf.tls.handshakes.limit", tls.limitReached())));
		assertThat(read(new ServerMetrics(LeaderFollowersServers.builder().bean("server", server).build(),
				new ClientLimiters(null))))
			.isEqualTo(expected);
	}

	@Test
	void eachMeterOfDatagramsReadsItsOwnNumber() throws Exception {
		UdpServer server = mock(UdpServer.class, new DistinctAnswers());
		ServerSnapshot now = server.snapshot();
		given(now.transport()).willReturn(TransportType.UDP);
		given(now.tls()).willReturn(null);
		given(now.paused()).willReturn(false);
		given(now.acceptingSuspended()).willReturn(false);
		ServerSnapshot.Datagrams datagrams = Objects.requireNonNull(now.datagrams());
		Map<String, Long> expected = numbers(
				Map.of("lf.datagrams", datagrams.inFlight(), "lf.datagrams.max", datagrams.maxInFlight(),
						"lf.datagrams.limit", datagrams.limitReached(), "lf.datagrams.rejected truncated",
						datagrams.truncated(), "lf.datagrams.rejected forged", datagrams.rejected(),
						"lf.datagrams.replies sent", datagrams.sentReplies(), "lf.datagrams.replies refused",
						datagrams.refusedReplies(), "lf.datagrams.replies dropped", datagrams.droppedReplies(),
						"lf.datagrams.replies limited", datagrams.limitedReplies(), "lf.server.accepting", 1));
		expected.putAll(numbers(Map.of("lf.bytes received", now.receivedBytes(), "lf.bytes sent", now.sentBytes(),
				"lf.handler.threads", 0)));
		ServerMetrics metrics = new ServerMetrics(LeaderFollowersServers.builder().bean("server", server).build(),
				new ClientLimiters(null));
		assertThat(read(metrics)).isEqualTo(expected);
		given(now.acceptingSuspended()).willReturn(true);
		assertThat(read(metrics)).containsEntry("lf.server.accepting", 0L);
		given(now.acceptingSuspended()).willReturn(false);
		given(now.paused()).willReturn(true);
		assertThat(read(metrics)).containsEntry("lf.server.accepting", 0L);
		given(now.paused()).willReturn(false);
		given(now.listening()).willReturn(false);
		assertThat(read(metrics)).containsEntry("lf.server.accepting", 0L);
		given(now.listening()).willReturn(true);
		given(now.state()).willReturn(ServerSnapshot.State.DRAINING);
		assertThat(read(metrics)).containsEntry("lf.server.accepting", 0L);
	}

	@Test
	void eachMeterOfAPoolReadsItsOwnNumber() throws Exception {
		LeaderFollowersPool pool = mock(LeaderFollowersPool.class, new DistinctAnswers());
		PoolSnapshot now = pool.snapshot();
		List<HandleSetSnapshot> sets = now.handleSets();
		Map<String, Long> expected = numbers(Map.of());
		for (ThreadRole role : ThreadRole.values()) {
			expected.put("lf.pool.threads " + Meters.tag(role), (long) now.count(role));
		}
		now.promotions().forEach((kind, count) -> expected.put("lf.promotions " + Meters.tag(kind), count));
		for (PoolAlarm.Kind kind : PoolAlarm.Kind.values()) {
			expected.put("lf.pool.alarms " + Meters.tag(kind),
					now.alarms().stream().filter((alarm) -> alarm.kind() == kind).count());
		}
		for (EventType type : EventType.values()) {
			expected.put("lf.events " + Meters.tag(type), sum(sets, (set) -> set.events().get(type)));
		}
		expected.putAll(numbers(Map.of("lf.pool.threads.min", now.minThreads(), "lf.pool.threads.max", now.maxThreads(),
				"lf.pool.threads.failed", now.threadStartFailures(), "lf.starvations", now.starvations(),
				"lf.pool.handle.sets", now.unfolding().inUse(), "lf.buffered", now.bufferedBytes(), "lf.buffered.max",
				now.maxBufferedBytes(), "lf.pool.starved", now.starvedFor().toNanos())));
		expected.putAll(numbers(Map.of("lf.events.shared", sum(sets, (set) -> set.sharing().events()),
				"lf.pool.reliefs", sum(sets, (set) -> set.sharing().reliefs()), "lf.handles active",
				sum(sets, HandleSetSnapshot::active), "lf.handles deactivated",
				sum(sets, HandleSetSnapshot::deactivated), "lf.handles.ready", sum(sets, HandleSetSnapshot::ready))));
		for (EventSourceSnapshot source : now.eventSources()) {
			expected.putAll(numbers(
					Map.of("lf.source.events " + source.name(), source.events(), "lf.source.handling " + source.name(),
							source.handling(), "lf.source.failures handler " + source.name(), source.handlerFailures(),
							"lf.source.failures source " + source.name(), source.sourceFailures())));
		}
		PoolMetrics metrics = new PoolMetrics(new LeaderFollowersPools(List.of(pool), Map.of()));
		for (Duration longest : List.of(Duration.ofHours(1), Duration.ofHours(2))) {
			// First a handle set, then an event source has had no leader for the longest
			// time.
			given((longest.toHours() == 1) ? sets.get(1).vacantFor() : now.eventSources().get(0).vacantFor())
				.willReturn(longest);
			expected.put("lf.pool.vacant", longest.toNanos());
			assertThat(read(metrics)).isEqualTo(expected);
		}
		ArgumentCaptor<PoolListener> listener = ArgumentCaptor.forClass(PoolListener.class);
		SimpleMeterRegistry registry = new SimpleMeterRegistry();
		metrics.bindTo(registry);
		then(pool).should(atLeastOnce()).addListener(listener.capture());
		listener.getValue().handedOff(PromotionKind.EAGER, 3);
		listener.getValue().leaderless(4);
		assertThat(registry.get("lf.handoff").timer().totalTime(TimeUnit.NANOSECONDS)).isEqualTo(3);
		assertThat(registry.get("lf.leaderless").timer().totalTime(TimeUnit.NANOSECONDS)).isEqualTo(4);
	}

	@Test
	void eachMeterOfAClientReadsItsOwnNumber() throws Exception {
		TcpClient client = mock(TcpClient.class, new DistinctAnswers());
		ClientSnapshot now = client.snapshot();
		given(now.addresses().get(0).reachable()).willReturn(false);
		given(now.addresses().get(1).reachable()).willReturn(true);
		Map<String, Long> expected = numbers(
				Map.of("lf.client.exchanges.pending", now.inFlight(), "lf.client.exchanges.waiting", now.waiting(),
						"lf.client.replies.late", now.lateReplies(), "lf.client.messages.unexpected",
						now.unexpectedMessages(), "lf.client.running", 1, "lf.client.connections", now.connected(),
						"lf.client.connections.max", now.connections(), "lf.client.addresses.failing", 1));
		expected.putAll(numbers(Map.of("lf.client.connects success", now.connects(), "lf.client.connects failure",
				now.failedConnects(), "lf.client.disconnects", now.disconnects(), "lf.client.bytes received",
				now.receivedBytes(), "lf.client.bytes sent", now.sentBytes())));
		now.exchanges()
			.forEach((outcome, count) -> expected.put("lf.client.exchanges.ended " + Meters.tag(outcome), count));
		ClientMetrics metrics = new ClientMetrics(LeaderFollowersClients.builder().bean(client, false).build());
		assertThat(read(metrics)).isEqualTo(expected);
		given(now.state()).willReturn(ClientSnapshot.State.CLOSING);
		assertThat(read(metrics)).containsEntry("lf.client.running", 0L);
	}

	@Test
	void eachMeterOfTheSessionsReadsItsOwnNumber() throws Exception {
		LfSessions sessions = mock(LfSessions.class, new DistinctAnswers());
		SessionCounters now = sessions.counters();
		Map<String, Long> expected = numbers(Map.of("lf.sessions.open", now.open(), "lf.sessions.nodes", 2,
				"lf.sessions.opened", now.openedSessions(), "lf.sessions.closed", now.closedSessions(),
				"lf.sessions.takeovers", now.takenOverSessions(), "lf.sessions.contested", now.contestedLogins(),
				"lf.sessions.messages local", now.localMessages(), "lf.sessions.messages remote", now.remoteMessages(),
				"lf.sessions.failures", now.failedMessages()));
		assertThat(read(new SessionMetrics(sessions))).isEqualTo(expected);
	}

	private static Map<String, Long> numbers(Map<String, ? extends Number> numbers) {
		Map<String, Long> values = new TreeMap<>();
		numbers.forEach((name, number) -> values.put(name, number.longValue()));
		return values;
	}

	private static long sum(List<HandleSetSnapshot> sets, ToLongFunction<HandleSetSnapshot> number) {
		return sets.stream().mapToLong(number).sum();
	}

	/**
	 * Reads all gauges and counters, and checks that they end with the metrics.
	 * @return the values by names and by tags that tell meters of one object apart
	 */
	private static <M extends MeterBinder & AutoCloseable> Map<String, Long> read(M metrics) throws Exception {
		SimpleMeterRegistry registry = new SimpleMeterRegistry();
		metrics.bindTo(registry);
		Map<String, Long> values = new TreeMap<>();
		for (Meter meter : registry.getMeters()) {
			String tags = meter.getId()
				.getTags()
				.stream()
				.filter((tag) -> !List.of("pool", "server", "client", "handler").contains(tag.getKey()))
				.map((tag) -> " " + tag.getValue())
				.collect(Collectors.joining());
			if (!(meter instanceof Timer)) {
				double value = (meter instanceof TimeGauge gauge) ? gauge.value(TimeUnit.NANOSECONDS)
						: meter.measure().iterator().next().getValue();
				values.put(meter.getId().getName() + tags, Math.round(value));
			}
		}
		metrics.close();
		assertThat(registry.getMeters()).allMatch((meter) -> meter instanceof Timer);
		return values;
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
