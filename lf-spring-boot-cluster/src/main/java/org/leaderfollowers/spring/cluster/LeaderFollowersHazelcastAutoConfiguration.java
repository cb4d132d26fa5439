package org.leaderfollowers.spring.cluster;

import java.util.Arrays;
import java.util.List;
import java.util.stream.Stream;

import com.hazelcast.client.config.ClientConfig;
import com.hazelcast.config.AliasedDiscoveryConfig;
import com.hazelcast.config.Config;
import com.hazelcast.config.JavaSerializationFilterConfig;
import com.hazelcast.config.JoinConfig;
import com.hazelcast.config.NetworkConfig;
import com.hazelcast.core.HazelcastInstance;
import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.leaderfollowers.spring.cluster.ClusterProperties.Hazelcast;

import org.springframework.beans.factory.ObjectProvider;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBooleanProperty;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.boot.autoconfigure.condition.NoneNestedConditions;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.boot.hazelcast.autoconfigure.HazelcastAutoConfiguration;
import org.springframework.boot.hazelcast.autoconfigure.HazelcastConfigCustomizer;
import org.springframework.boot.hazelcast.autoconfigure.HazelcastConfigResourceCondition;
import org.springframework.boot.hazelcast.autoconfigure.HazelcastConnectionDetails;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Conditional;
import org.springframework.core.env.Environment;
import org.springframework.core.io.ResourceLoader;

/**
 * {@link EnableAutoConfiguration Auto-configuration} for an embedded Hazelcast, unless
 * the application configures one as Spring Boot describes it.
 */
@AutoConfiguration(before = HazelcastAutoConfiguration.class)
@ConditionalOnClass({ HazelcastInstance.class, HazelcastAutoConfiguration.class })
@ConditionalOnBooleanProperty(name = { "lf.enabled", "lf.cluster.enabled" }, matchIfMissing = true)
@ConditionalOnProperty(name = "lf.cluster.engine", havingValue = "hazelcast", matchIfMissing = true)
@Conditional(LeaderFollowersHazelcastAutoConfiguration.NoResource.class)
@EnableConfigurationProperties(ClusterProperties.class)
public final class LeaderFollowersHazelcastAutoConfiguration {

	private static final Log logger = LogFactory.getLog(LeaderFollowersHazelcastAutoConfiguration.class);

	@Bean
	@ConditionalOnMissingBean({ HazelcastInstance.class, Config.class, ClientConfig.class,
			HazelcastConnectionDetails.class })
	Config leaderFollowersHazelcastConfig(ClusterProperties properties, Environment environment,
			ResourceLoader resourceLoader, ObjectProvider<HazelcastConfigCustomizer> customizers) {
		Config config = config(properties.hazelcast()).setClusterName(properties.nameOrDefault(environment))
			.setClassLoader(resourceLoader.getClassLoader());
		customizers.orderedStream().forEach((customizer) -> customizer.customize(config));
		if (isAlone(config.getNetworkConfig().getJoin())) {
			listenOnLoopback(config);
		}
		return config;
	}

	static Config config(Hazelcast properties) {
		Config config = new Config().setProperty("hazelcast.phone.home.enabled", "false")
			// Spring shuts the member down, after the servers. A hook would not wait for
			// them.
			.setProperty("hazelcast.shutdownhook.enabled", "false")
			// Values have a backup: a process that ends does not wait for members that do
			// not answer.
			.setProperty("hazelcast.graceful.shutdown.max.wait", "15")
			// A silent member is gone after 15 s, and the parts of a split find each
			// other within 10 s.
			.setProperty("hazelcast.heartbeat.interval.seconds", "3")
			.setProperty("hazelcast.max.no.heartbeat.seconds", "15")
			.setProperty("hazelcast.merge.first.run.delay.seconds", "10")
			.setProperty("hazelcast.merge.next.run.delay.seconds", "10");
		config.getSerializationConfig().setJavaSerializationFilterConfig(serializable());
		connect(config.getNetworkConfig(), properties);
		return config;
	}

	/**
	 * Nodes exchange bytes, and exceptions of Hazelcast and the JDK: nothing else may be
	 * deserialized. Hazelcast's default would allow all classes.
	 */
	private static JavaSerializationFilterConfig serializable() {
		JavaSerializationFilterConfig filter = new JavaSerializationFilterConfig().setDefaultsDisabled(true);
		filter.getWhitelist()
			.addPackages("java.io", "java.lang", "java.nio.channels", "java.util", "java.util.concurrent")
			.addPrefixes("com.hazelcast.", "[");
		return filter;
	}

	private static void connect(NetworkConfig network, Hazelcast properties) {
		Integer port = properties.port();
		if (port != null) {
			network.setPort(port).setPortAutoIncrement(false);
		}
		JoinConfig join = network.getJoin();
		join.getAutoDetectionConfig().setEnabled(false);
		join.getMulticastConfig().setEnabled(false);
		String serviceDns = properties.kubernetes().serviceDns();
		List<String> members = properties.members();
		if (serviceDns != null) {
			join.getKubernetesConfig()
				.setEnabled(true)
				.setProperty("service-dns", serviceDns)
				.setProperty("service-port", Integer.toString(network.getPort()));
		}
		else if (!members.isEmpty()) {
			join.getTcpIpConfig().setEnabled(true).setMembers(members);
		}
	}

	/** Whether nothing finds other members. */
	static boolean isAlone(JoinConfig join) {
		return !join.isAutoDetectionEnabled() && !join.getTcpIpConfig().isEnabled()
				&& !join.getMulticastConfig().isEnabled() && !join.getDiscoveryConfig().isEnabled()
				&& Stream
					.of(join.getAwsConfig(), join.getAzureConfig(), join.getEurekaConfig(), join.getGcpConfig(),
							join.getKubernetesConfig())
					.noneMatch(AliasedDiscoveryConfig::isEnabled);
	}

	/** Whoever reaches the port is a node, so it is open only if others are expected. */
	private static void listenOnLoopback(Config config) {
		logger.info("This node is alone: neither 'lf.cluster.hazelcast.members' nor "
				+ "'lf.cluster.hazelcast.kubernetes.service-dns' is set");
		config.setProperty("hazelcast.socket.bind.any", "false");
		config.getNetworkConfig().getInterfaces().setEnabled(true).addInterface("127.0.0.1");
	}

	/** The application names no file, and has none where Boot looks for one. */
	static class NoResource extends NoneNestedConditions {

		NoResource() {
			super(ConfigurationPhase.PARSE_CONFIGURATION);
		}

		@Conditional(MemberResource.class)
		static class OfMember {

		}

		@Conditional(ClientResource.class)
		static class OfClient {

		}

	}

	static class MemberResource extends HazelcastConfigResourceCondition {

		MemberResource() {
			super("hazelcast.config", locations("hazelcast"));
		}

		static String[] locations(String name) {
			return Arrays.stream(new String[] { "xml", "yaml", "yml" })
				.flatMap((type) -> Arrays.stream(new String[] { "file:./", "classpath:/" })
					.map((place) -> place + name + "." + type))
				.toArray(String[]::new);
		}

	}

	static class ClientResource extends HazelcastConfigResourceCondition {

		ClientResource() {
			super("hazelcast.client.config", MemberResource.locations("hazelcast-client"));
		}

	}

}
