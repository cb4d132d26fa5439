package org.leaderfollowers.spring.cluster;

import java.io.IOException;
import java.io.ObjectInputStream;
import java.io.Serializable;
import java.net.Socket;
import java.time.Clock;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;

import com.hazelcast.client.config.ClientConfig;
import com.hazelcast.cluster.Member;
import com.hazelcast.config.Config;
import com.hazelcast.config.DiscoveryStrategyConfig;
import com.hazelcast.config.JoinConfig;
import com.hazelcast.core.Hazelcast;
import com.hazelcast.core.HazelcastInstance;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.leaderfollowers.spring.autoconfigure.LeaderFollowersAutoConfiguration;
import org.leaderfollowers.spring.cluster.AbstractClusterEngineTests.Inbox;
import org.leaderfollowers.spring.session.SessionDirectory;

import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.context.annotation.ImportCandidates;
import org.springframework.boot.context.properties.source.InvalidConfigurationPropertyValueException;
import org.springframework.boot.data.redis.autoconfigure.DataRedisAutoConfiguration;
import org.springframework.boot.hazelcast.autoconfigure.HazelcastAutoConfiguration;
import org.springframework.boot.hazelcast.autoconfigure.HazelcastConfigCustomizer;
import org.springframework.boot.test.context.FilteredClassLoader;
import org.springframework.boot.test.context.assertj.AssertableApplicationContext;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.data.redis.connection.RedisStaticMasterReplicaConfiguration;
import org.springframework.util.unit.DataSize;

import static org.assertj.core.api.Assertions.assertThat;
import static org.leaderfollowers.spring.cluster.AbstractClusterEngineTests.bytes;
import static org.leaderfollowers.spring.cluster.AbstractClusterEngineTests.eventually;
import static org.leaderfollowers.spring.cluster.AbstractClusterEngineTests.get;
import static org.mockito.BDDMockito.given;
import static org.mockito.Mockito.mock;

/** Which engine an application gets, and how it is configured. */
@Timeout(300)
class LeaderFollowersClusterAutoConfigurationTests {

	private final ApplicationContextRunner application = new ApplicationContextRunner()
		.withConfiguration(AutoConfigurations.of(LeaderFollowersAutoConfiguration.class,
				LeaderFollowersClusterAutoConfiguration.class, LeaderFollowersHazelcastAutoConfiguration.class,
				HazelcastAutoConfiguration.class, DataRedisAutoConfiguration.class))
		.withPropertyValues("lf.cluster.name=test-" + System.nanoTime());

	/** Without a member, which would take a second or more to start. */
	private final ApplicationContextRunner configured = this.application.withBean(HazelcastInstance.class,
			LeaderFollowersClusterAutoConfigurationTests::member);

	private final ApplicationContextRunner withoutMember = new ApplicationContextRunner()
		.withConfiguration(AutoConfigurations.of(LeaderFollowersHazelcastAutoConfiguration.class));

	private static HazelcastInstance member() {
		HazelcastInstance member = mock();
		given(member.getLocalEndpoint()).willReturn(mock(Member.class));
		return member;
	}

	@Test
	void bothAutoConfigurationsAreFound() {
		assertThat(ImportCandidates.load(org.springframework.boot.autoconfigure.AutoConfiguration.class, null)
			.getCandidates()).contains(LeaderFollowersClusterAutoConfiguration.class.getName(),
					LeaderFollowersHazelcastAutoConfiguration.class.getName());
	}

	@Test
	void hazelcastIsTheDefaultEvenIfRedisIsThere() {
		this.configured.withPropertyValues("spring.data.redis.host=redis.example")
			.run((context) -> assertThat(engine(context)).isInstanceOf(HazelcastClusterEngine.class));
	}

	@Test
	void redisIsChosenByName() {
		this.application.withPropertyValues("lf.cluster.engine=redis").run((context) -> {
			assertThat(engine(context)).isInstanceOf(RedisClusterEngine.class);
			assertThat(context).doesNotHaveBean(HazelcastInstance.class).doesNotHaveBean(Config.class);
		});
	}

	@Test
	void redisIsChosenIfThereIsNoHazelcast() {
		this.application.withClassLoader(new FilteredClassLoader("com.hazelcast"))
			.run((context) -> assertThat(engine(context)).isInstanceOf(RedisClusterEngine.class));
	}

	@Test
	void aMissingEngineFailsTheStart() {
		ApplicationContextRunner without = this.application
			.withClassLoader(new FilteredClassLoader("com.hazelcast", "org.springframework.data.redis"));
		without.run((context) -> assertThat(context).getFailure()
			.rootCause()
			.hasMessageContaining("lf.cluster.engine")
			.hasMessageContaining("spring-boot-hazelcast"));
		without.withPropertyValues("lf.cluster.enabled=false")
			.run((context) -> assertThat(context).hasNotFailed().doesNotHaveBean(ClusterEngine.class));
		this.application.withClassLoader(new FilteredClassLoader("com.hazelcast"))
			.withPropertyValues("lf.cluster.engine=hazelcast")
			.run((context) -> assertThat(context).getFailure().rootCause().hasMessageContaining("HAZELCAST"));
		this.configured.withClassLoader(new FilteredClassLoader("org.springframework.data.redis"))
			.withPropertyValues("lf.cluster.engine=redis")
			.run((context) -> assertThat(context).getFailure().rootCause().hasMessageContaining("REDIS"));
	}

	@Test
	void aListOfMasterAndReplicasFailsTheStart() {
		this.application
			.withPropertyValues("lf.cluster.engine=redis", "spring.data.redis.masterreplica.nodes=10.0.0.1:6379")
			.run((context) -> assertThat(context).getFailure()
				.rootCause()
				.hasMessageContaining("spring.data.redis.masterreplica.nodes")
				.hasMessageContaining("Sentinel"));
		this.application.withPropertyValues("lf.cluster.engine=redis")
			.withBean(RedisStaticMasterReplicaConfiguration.class,
					() -> new RedisStaticMasterReplicaConfiguration("10.0.0.1"))
			.run((context) -> assertThat(context).getFailure()
				.rootCause()
				.hasMessageContaining("RedisStaticMasterReplicaConfiguration")
				.hasMessageContaining("Sentinel"));
	}

	@Test
	void anUnknownEngineFailsTheStart() {
		this.configured.withPropertyValues("lf.cluster.engine=zookeeper")
			.run((context) -> assertThat(context).getFailure().rootCause().hasMessageContaining("zookeeper"));
	}

	@Test
	void nothingIsThereIfTheClusterIsSwitchedOff() {
		for (String property : List.of("lf.cluster.enabled=false", "lf.enabled=false")) {
			this.application.withPropertyValues(property)
				.run((context) -> assertThat(context).hasNotFailed()
					.doesNotHaveBean(ClusterEngine.class)
					.doesNotHaveBean(HazelcastInstance.class));
		}
	}

	@Test
	void mistypedPropertiesFailTheStart() {
		for (String name : List.of("lf.cluster.nam", "lf.cluster.hazelcast.member[0]", "lf.clusters.name", "lf.pol.x",
				"lf.cluster")) {
			this.configured.withPropertyValues(name + "=1")
				.run((context) -> assertThat(context).getFailure()
					.as(name)
					.rootCause()
					.satisfies((cause) -> assertThat(cause.toString())
						.contains(name.equals("lf.cluster") ? "cluster" : name)));
		}
	}

	@Test
	void propertiesOfClusterAndServersAreBound() {
		this.configured
			.withPropertyValues("lf.cluster.name=taxis", "lf.cluster.node-name=a b", "lf.cluster.hazelcast.port=5800",
					"lf.cluster.hazelcast.members=10.0.0.1:5701,10.0.0.2", "lf.pool.threads.min=2")
			.run((context) -> {
				ClusterProperties properties = context.getBean(ClusterProperties.class);
				assertThat(properties.nameOrDefault(context.getEnvironment())).isEqualTo("taxis");
				assertThat(properties.nodeNameOrDefault()).isEqualTo("a_b");
				assertThat(properties.hazelcast().members()).containsExactly("10.0.0.1:5701", "10.0.0.2");
			});
	}

	@ParameterizedTest
	@ValueSource(strings = { "lease=299ms", "lease=86401s", "verify-interval=9ms", "verify-interval=400000d",
			"max-cached-names=-1", "max-outbound-size=0B" })
	void valuesOutOfTheirRangesFailTheStart(String property) {
		this.configured.withPropertyValues("lf.cluster." + property)
			.run((context) -> assertThat(context).getFailure()
				.rootCause()
				.isInstanceOf(InvalidConfigurationPropertyValueException.class)
				.hasMessageContaining("lf.cluster." + property.substring(0, property.indexOf('=')))
				.hasMessageContaining("Must"));
	}

	@Test
	void aNodeMayWaitLongerThanNanosecondsCanTell() {
		ClusterProperties properties = new ClusterProperties(true, null, null, "n", Duration.ofDays(1),
				Duration.ofDays(1), 0, DataSize.ofBytes(1), null);
		assertThat(properties.options(Duration.ofSeconds(Long.MAX_VALUE)).timeout()).isEqualTo(Duration.ofDays(36_500));
		assertThat(properties.options(Duration.ofSeconds(5)).timeout()).isEqualTo(Duration.ofSeconds(5));
	}

	@Test
	void everyPropertyReachesTheDirectoryAndItsEngine() {
		this.configured
			.withPropertyValues("lf.cluster.name=taxis", "lf.cluster.node-name=north", "lf.cluster.lease=20s",
					"lf.cluster.verify-interval=30s", "lf.cluster.max-cached-names=5",
					"lf.cluster.max-outbound-size=6KB", "lf.sessions.timeout=600ms")
			.run((context) -> {
				assertThat(context.getBean(SessionDirectory.class)).hasFieldOrPropertyWithValue("options",
						new ClusterOptions("north", Duration.ofSeconds(20), Duration.ofSeconds(30),
								Duration.ofMillis(600), 5, 6 * 1024));
				assertThat(engine(context)).hasFieldOrPropertyWithValue("key", "lf:taxis")
					.hasFieldOrPropertyWithValue("answerTimeout", Duration.ofMillis(300));
			});
	}

	@Test
	void theShortestTimesAreAllowed() {
		ClusterProperties properties = new ClusterProperties(true, null, null, "n", Duration.ofMillis(300),
				Duration.ofMillis(10), 0, DataSize.ofBytes(1), null);
		assertThat(properties.options(Duration.ofSeconds(5))).isEqualTo(
				new ClusterOptions("n", Duration.ofMillis(300), Duration.ofMillis(10), Duration.ofSeconds(5), 0, 1));
	}

	@Test
	void namesHaveDefaults() {
		ClusterProperties properties = new ClusterProperties(true, null, null, null, Duration.ofSeconds(10),
				Duration.ofMinutes(1), 1, DataSize.ofBytes(1), null);
		assertThat(properties.nodeNameOrDefault()).isNotEmpty().isASCII().doesNotContainAnyWhitespaces();
		this.configured.withPropertyValues("spring.application.name=dispatch")
			.run((context) -> assertThat(properties.nameOrDefault(context.getEnvironment())).isEqualTo("dispatch"));
	}

	@Test
	void theDefaultOfHazelcast() {
		this.application.withBean(HazelcastInstance.class, () -> member())
			.withPropertyValues("lf.cluster.engine=hazelcast")
			.run((context) -> assertThat(context).doesNotHaveBean(Config.class));
		Config config = LeaderFollowersHazelcastAutoConfiguration.config(new ClusterProperties.Hazelcast(
				List.of("10.0.0.1:5701"), null, new ClusterProperties.Kubernetes(null)));
		assertThat(config.getNetworkConfig().getJoin().getTcpIpConfig().isEnabled()).isTrue();
		assertThat(config.getNetworkConfig().getJoin().getTcpIpConfig().getMembers()).containsExactly("10.0.0.1:5701");
		assertThat(config.getNetworkConfig().getJoin().getMulticastConfig().isEnabled()).isFalse();
		assertThat(config.getNetworkConfig().getJoin().isAutoDetectionEnabled()).isFalse();
		assertThat(config.getNetworkConfig().getPort()).isEqualTo(5701);
		assertThat(config.getNetworkConfig().isPortAutoIncrement()).isTrue();
		assertThat(config.getProperties()).containsEntry("hazelcast.phone.home.enabled", "false")
			.containsEntry("hazelcast.shutdownhook.enabled", "false")
			.containsEntry("hazelcast.graceful.shutdown.max.wait", "15")
			.containsEntry("hazelcast.heartbeat.interval.seconds", "3")
			.containsEntry("hazelcast.max.no.heartbeat.seconds", "15")
			.containsEntry("hazelcast.merge.first.run.delay.seconds", "10")
			.containsEntry("hazelcast.merge.next.run.delay.seconds", "10");
	}

	@Test
	void hazelcastInKubernetes() {
		Config config = LeaderFollowersHazelcastAutoConfiguration.config(new ClusterProperties.Hazelcast(
				List.of("10.0.0.1"), 5800, new ClusterProperties.Kubernetes("nodes.taxis.svc.cluster.local")));
		assertThat(config.getNetworkConfig().getJoin().getKubernetesConfig().isEnabled()).isTrue();
		assertThat(config.getNetworkConfig().getJoin().getKubernetesConfig().getProperties())
			.containsEntry("service-dns", "nodes.taxis.svc.cluster.local")
			.containsEntry("service-port", "5800");
		assertThat(config.getNetworkConfig().getJoin().getTcpIpConfig().isEnabled()).as("only one of them").isFalse();
		assertThat(config.getSerializationConfig().getJavaSerializationFilterConfig().isDefaultsDisabled())
			.as("only what is listed may be deserialized")
			.isTrue();
		assertThat(config.getNetworkConfig().getPort()).isEqualTo(5800);
		assertThat(config.getNetworkConfig().isPortAutoIncrement()).isFalse();
	}

	@Test
	void nodesOfTwoApplicationsFindEachOther() {
		List<Integer> ports = List.of(FreePort.find(), FreePort.find());
		ApplicationContextRunner node = this.application
			.withPropertyValues("lf.cluster.hazelcast.members=127.0.0.1:%s,127.0.0.1:%s".formatted(ports.toArray()))
			.withUserConfiguration(Quick.class);
		node.withPropertyValues("lf.cluster.hazelcast.port=" + ports.get(0))
			.run((first) -> node.withPropertyValues("lf.cluster.hazelcast.port=" + ports.get(1)).run((second) -> {
				Inbox inbox = new Inbox();
				engine(first).start("north", new Inbox());
				String id = engine(second).start("south", inbox);
				get(engine(first).send(id, bytes("message")));
				eventually().until(() -> inbox.messages.containsKey("message"));
				assertThat(Thread.getAllStackTraces().keySet())
					.filteredOn((thread) -> thread.getName().equals("lf-hazelcast"))
					.isNotEmpty()
					.allMatch(Thread::isDaemon);
			}));
	}

	/** Otherwise the port would be open to all, although nobody is expected. */
	@Test
	void aNodeThatIsAloneListensOnLoopbackOnly() {
		int port = FreePort.find();
		this.application.withPropertyValues("lf.cluster.hazelcast.port=" + port)
			.withUserConfiguration(QuickAnywhere.class)
			.run((context) -> {
				assertThat(context).hasNotFailed();
				assertThat(isOpen("127.0.0.1", port)).isTrue();
				assertThat(isOpen("127.0.0.2", port)).isFalse();
			});
		this.application
			.withPropertyValues("lf.cluster.hazelcast.port=" + port, "lf.cluster.hazelcast.members=127.0.0.1:" + port)
			.withUserConfiguration(QuickAnywhere.class)
			.run((context) -> assertThat(isOpen("127.0.0.2", port)).isTrue());
	}

	/** Anyone who finds others in another way is not alone. */
	@Test
	void aCustomizerMayAddADiscovery() {
		for (Consumer<JoinConfig> discovery : List.<Consumer<JoinConfig>>of(
				(join) -> join.getAwsConfig().setEnabled(true), (join) -> join.getMulticastConfig().setEnabled(true),
				(join) -> join.getAutoDetectionConfig().setEnabled(true),
				(join) -> join.getDiscoveryConfig().addDiscoveryStrategyConfig(new DiscoveryStrategyConfig("mine")))) {
			Config config = new Config();
			JoinConfig join = config.getNetworkConfig().getJoin();
			join.getAutoDetectionConfig().setEnabled(false);
			assertThat(LeaderFollowersHazelcastAutoConfiguration.isAlone(join)).isTrue();
			discovery.accept(join);
			assertThat(LeaderFollowersHazelcastAutoConfiguration.isAlone(join)).isFalse();
		}
	}

	/** Another member, with a class that runs code when it is deserialized. */
	@Test
	void anIntruderCannotHaveItsClassesDeserialized() {
		int port = FreePort.find();
		this.application
			.withPropertyValues("lf.cluster.hazelcast.port=" + port, "lf.cluster.hazelcast.members=127.0.0.1:" + port)
			.withUserConfiguration(Quick.class)
			.run((context) -> {
				HazelcastInstance node = context.getBean(HazelcastInstance.class);
				Config config = new Config().setClusterName(node.getConfig().getClusterName());
				new Quick().quick().customize(config);
				JoinConfig join = config.getNetworkConfig().setPort(FreePort.find()).getJoin();
				join.getAutoDetectionConfig().setEnabled(false);
				join.getTcpIpConfig().setEnabled(true).addMember("127.0.0.1:" + port);
				HazelcastInstance intruder = Hazelcast.newHazelcastInstance(config);
				try {
					eventually().until(() -> node.getCluster().getMembers().size() == 2);
					Exploit.deserialized.set(0);
					assertThat(run(intruder, new Exploit(), intruder.getCluster().getLocalMember()))
						.as("the intruder's own member")
						.isNull();
					assertThat(Exploit.deserialized).hasValue(1);
					assertThat(run(intruder, new Exploit(), node.getCluster().getLocalMember())).rootCause()
						.isInstanceOf(SecurityException.class)
						.hasMessageContaining(Exploit.class.getName());
					assertThat(Exploit.deserialized).hasValue(1);
				}
				finally {
					intruder.getLifecycleService().terminate();
				}
			});
	}

	private static @Nullable Throwable run(HazelcastInstance from, Callable<String> task, Member member) {
		try {
			from.getExecutorService("any").submitToMember(task, member).get();
			return null;
		}
		catch (ExecutionException ex) {
			return ex.getCause();
		}
		catch (InterruptedException ex) {
			throw new IllegalStateException(ex);
		}
	}

	/** Doors that a version of Hazelcast might open by default. */
	@Test
	void aMemberRunsNoCodeOfOthers() {
		Config config = LeaderFollowersHazelcastAutoConfiguration
			.config(new ClusterProperties.Hazelcast(List.of(), null, new ClusterProperties.Kubernetes(null)));
		assertThat(config.getJetConfig().isEnabled()).isFalse();
		assertThat(config.getJetConfig().isResourceUploadEnabled()).isFalse();
		assertThat(config.getUserCodeDeploymentConfig().isEnabled()).isFalse();
		assertThat(config.getManagementCenterConfig().isScriptingEnabled()).isFalse();
		assertThat(config.getManagementCenterConfig().isConsoleEnabled()).isFalse();
	}

	private static boolean isOpen(String address, int port) {
		try (Socket socket = new Socket(address, port)) {
			return socket.isConnected();
		}
		catch (IOException ex) {
			return false;
		}
	}

	/** What an attacker would find on the class path of an application. */
	static class Exploit implements Callable<String>, Serializable {

		private static final long serialVersionUID = 1L;

		static final AtomicInteger deserialized = new AtomicInteger();

		@Override
		public String call() {
			return "run";
		}

		private void readObject(ObjectInputStream in) throws IOException, ClassNotFoundException {
			in.defaultReadObject();
			deserialized.incrementAndGet();
		}

	}

	@Test
	void theConfigurationOfTheApplicationComesFirst() {
		int port = FreePort.find();
		this.application.withBean(Config.class, () -> {
			Config config = new Config("mine").setClusterName("mine-" + port);
			config.getNetworkConfig().setPort(port).getJoin().getAutoDetectionConfig().setEnabled(false);
			new Quick().quick().customize(config);
			return config;
		}).run((context) -> {
			assertThat(context).hasSingleBean(Config.class);
			assertThat(context.getBean(HazelcastInstance.class).getName()).isEqualTo("mine");
			assertThat(engine(context)).isInstanceOf(HazelcastClusterEngine.class);
		});
	}

	@Test
	void theMemberHasTheNameOfTheClusterAndTheClassesOfTheApplication() {
		ClassLoader classes = new FilteredClassLoader("missing");
		this.withoutMember.withClassLoader(classes)
			.withPropertyValues("lf.cluster.name=taxis")
			.run((context) -> assertThat(context).getBean(Config.class).satisfies((config) -> {
				assertThat(config.getClusterName()).isEqualTo("taxis");
				assertThat(config.getClassLoader()).isSameAs(classes);
			}));
	}

	@Test
	void aFileOfTheApplicationComesFirst() {
		for (String property : List.of("spring.hazelcast.config=file:mine.yaml", "lf.cluster.engine=redis")) {
			this.withoutMember.withPropertyValues(property)
				.run((context) -> assertThat(context).hasNotFailed().doesNotHaveBean(Config.class));
		}
	}

	@Test
	void theEngineAndTheDirectoryOfTheApplicationAreNotReplaced() {
		ClusterEngine engine = mock();
		SessionDirectory directory = SessionDirectory.inMemory(Clock.systemUTC());
		for (ApplicationContextRunner runner : List.of(this.configured,
				this.application.withPropertyValues("lf.cluster.engine=redis"))) {
			runner.withBean("mine", ClusterEngine.class, () -> engine)
				.withBean("directory", SessionDirectory.class, () -> directory)
				.run((context) -> {
					assertThat(context).getBean(ClusterEngine.class).isSameAs(engine);
					assertThat(context).getBean(SessionDirectory.class).isSameAs(directory);
				});
		}
	}

	@Test
	void aClientOfTheApplicationIsNotReplaced() {
		this.application.withBean(ClientConfig.class, () -> {
			ClientConfig client = new ClientConfig();
			client.getConnectionStrategyConfig().setAsyncStart(true);
			client.setProperty("hazelcast.logging.type", "none");
			client.getNetworkConfig().addAddress("127.0.0.1:" + FreePort.find());
			return client;
		})
			.run((context) -> assertThat(context).getFailure()
				.rootCause()
				.hasMessageContaining("is a client")
				.hasMessageContaining("lf.cluster.engine"));
	}

	private static ClusterEngine engine(AssertableApplicationContext context) {
		return context.getBean(ClusterEngine.class);
	}

	/** Starts a member in less time. */
	@Configuration(proxyBeanMethods = false)
	static class QuickAnywhere {

		@Bean
		HazelcastConfigCustomizer quickAnywhere() {
			return (config) -> {
				config.setProperty("hazelcast.logging.type", "none")
					.setProperty("hazelcast.partition.count", "17")
					.setProperty("hazelcast.wait.seconds.before.join", "0");
				config.getMetricsConfig().setEnabled(false);
			};
		}

	}

	/** Starts a member in less time, on loopback. */
	@Configuration(proxyBeanMethods = false)
	static class Quick {

		@Bean
		HazelcastConfigCustomizer quick() {
			return (config) -> {
				new QuickAnywhere().quickAnywhere().customize(config);
				config.getNetworkConfig().getInterfaces().setEnabled(true).addInterface("127.0.0.1");
			};
		}

	}

}
