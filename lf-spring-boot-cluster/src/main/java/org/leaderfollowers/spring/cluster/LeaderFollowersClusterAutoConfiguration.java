package org.leaderfollowers.spring.cluster;

import com.hazelcast.core.HazelcastInstance;
import org.leaderfollowers.spring.autoconfigure.LeaderFollowersAutoConfiguration;
import org.leaderfollowers.spring.autoconfigure.LfProperties;
import org.leaderfollowers.spring.session.SessionDirectory;

import org.springframework.beans.factory.ObjectProvider;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.autoconfigure.condition.AnyNestedCondition;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBooleanProperty;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.boot.context.properties.source.InvalidConfigurationPropertyValueException;
import org.springframework.boot.data.redis.autoconfigure.DataRedisConnectionDetails;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Conditional;
import org.springframework.context.annotation.Configuration;
import org.springframework.core.env.Environment;
import org.springframework.data.redis.connection.RedisConnectionFactory;
import org.springframework.data.redis.connection.RedisStaticMasterReplicaConfiguration;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;

/**
 * {@link EnableAutoConfiguration Auto-configuration} for a node of a cluster, on
 * Hazelcast or Redis.
 */
@AutoConfiguration(before = LeaderFollowersAutoConfiguration.class,
		afterName = { "org.springframework.boot.hazelcast.autoconfigure.HazelcastAutoConfiguration",
				"org.springframework.boot.data.redis.autoconfigure.DataRedisAutoConfiguration" })
@EnableConfigurationProperties(ClusterProperties.class)
public final class LeaderFollowersClusterAutoConfiguration {

	@Bean
	static OwnPropertiesAdvisor leaderFollowersClusterPropertiesAdvisor() {
		return new OwnPropertiesAdvisor();
	}

	@Bean
	@ConditionalOnBooleanProperty(name = { "lf.enabled", "lf.cluster.enabled" }, matchIfMissing = true)
	@ConditionalOnMissingBean
	SessionDirectory leaderFollowersSessionDirectory(ClusterEngine engine, ClusterProperties cluster,
			LfProperties properties) {
		return ClusterSessionDirectory.of(engine, cluster.options(properties.sessions().timeout()));
	}

	/** Spring asks for it after the nested configurations. */
	@Bean
	@ConditionalOnBooleanProperty(name = { "lf.enabled", "lf.cluster.enabled" }, matchIfMissing = true)
	@ConditionalOnMissingBean
	ClusterEngine leaderFollowersClusterEngine(ClusterProperties properties) {
		throw new InvalidConfigurationPropertyValueException("lf.cluster.engine", properties.engine(),
				"The engine is not on the class path. Add 'org.springframework.boot:spring-boot-hazelcast' or "
						+ "'org.springframework.boot:spring-boot-starter-data-redis', "
						+ "or set 'lf.cluster.enabled' to 'false'.");
	}

	@Configuration(proxyBeanMethods = false)
	@ConditionalOnBooleanProperty(name = { "lf.enabled", "lf.cluster.enabled" }, matchIfMissing = true)
	@ConditionalOnClass(HazelcastInstance.class)
	@ConditionalOnProperty(name = "lf.cluster.engine", havingValue = "hazelcast", matchIfMissing = true)
	static class OnHazelcast {

		@Bean(destroyMethod = "stop")
		@ConditionalOnMissingBean
		ClusterEngine leaderFollowersHazelcastEngine(HazelcastInstance member, ClusterProperties cluster,
				LfProperties properties, Environment environment) {
			return new HazelcastClusterEngine(member, cluster.nameOrDefault(environment),
					cluster.options(properties.sessions().timeout()).answerTimeout());
		}

	}

	@Configuration(proxyBeanMethods = false)
	@ConditionalOnBooleanProperty(name = { "lf.enabled", "lf.cluster.enabled" }, matchIfMissing = true)
	@ConditionalOnClass({ LettuceConnectionFactory.class, DataRedisConnectionDetails.class })
	@Conditional(RedisChosen.class)
	static class OnRedis {

		private static final String NO_FIXED_MASTER = "A cluster of nodes needs a Redis that finds its master by "
				+ "itself. Configure one node, Sentinel or Redis Cluster.";

		@Bean(destroyMethod = "stop")
		@ConditionalOnMissingBean
		ClusterEngine leaderFollowersRedisEngine(RedisConnectionFactory connections, ClusterProperties properties,
				Environment environment, ObjectProvider<DataRedisConnectionDetails> details,
				ObjectProvider<RedisStaticMasterReplicaConfiguration> masterAndReplicas) {
			details.ifAvailable((available) -> {
				if (available.getMasterReplica() != null) {
					throw new InvalidConfigurationPropertyValueException("spring.data.redis.masterreplica.nodes",
							available.getMasterReplica().getNodes(), NO_FIXED_MASTER);
				}
			});
			masterAndReplicas.ifAvailable((available) -> {
				throw new IllegalStateException(
						"There is a bean of the type RedisStaticMasterReplicaConfiguration. " + NO_FIXED_MASTER);
			});
			return new RedisClusterEngine(RedisConnections.forEngine(connections),
					properties.nameOrDefault(environment));
		}

	}

	/** Redis is chosen by name, or because there is nothing else. */
	static class RedisChosen extends AnyNestedCondition {

		RedisChosen() {
			super(ConfigurationPhase.PARSE_CONFIGURATION);
		}

		@ConditionalOnProperty(name = "lf.cluster.engine", havingValue = "redis")
		static class ByName {

		}

		@ConditionalOnMissingClass("com.hazelcast.core.HazelcastInstance")
		@ConditionalOnProperty(name = "lf.cluster.engine", havingValue = "redis", matchIfMissing = true)
		static class Alone {

		}

	}

}
