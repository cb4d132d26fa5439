package org.leaderfollowers.spring.autoconfigure;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;

import org.leaderfollowers.LeaderFollowersPool;
import org.leaderfollowers.Server;
import org.leaderfollowers.TcpServer;
import org.leaderfollowers.spring.annotation.LfHandler;
import org.leaderfollowers.spring.autoconfigure.LfProperties.Pool;
import org.leaderfollowers.spring.handler.HandlerBeans;
import org.leaderfollowers.spring.handler.LfErrorHandler;
import org.leaderfollowers.spring.interceptor.MessageHandlerDecorator;
import org.leaderfollowers.spring.server.LeaderFollowersPoolBuilderCustomizer;
import org.leaderfollowers.spring.server.LeaderFollowersPools;
import org.leaderfollowers.spring.server.LeaderFollowersServers;
import org.leaderfollowers.spring.server.ServerLifecycle;
import org.leaderfollowers.spring.server.TcpServerBuilderCustomizer;
import org.leaderfollowers.spring.server.UdpServerBuilderCustomizer;

import org.springframework.beans.factory.ObjectProvider;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBooleanProperty;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.autoconfigure.condition.SearchStrategy;
import org.springframework.boot.autoconfigure.ssl.SslAutoConfiguration;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.boot.ssl.SslBundles;
import org.springframework.boot.util.LambdaSafe;
import org.springframework.context.ApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.core.env.Environment;
import org.springframework.messaging.converter.MessageConverter;
import org.springframework.validation.Validator;

/**
 * {@link EnableAutoConfiguration Auto-configuration} for Leader/Followers servers. Beans
 * that are annotated with {@link LfHandler @LfHandler} handle the messages, properties
 * configure servers and pools. A {@link LeaderFollowersPool} or {@link Server} bean takes
 * the place of the pool or server that would be configured under its
 * {@linkplain Server#name() name}.
 */
@AutoConfiguration(after = SslAutoConfiguration.class)
@ConditionalOnClass(TcpServer.class)
@ConditionalOnBooleanProperty(name = "lf.enabled", matchIfMissing = true)
@EnableConfigurationProperties(LfProperties.class)
public final class LeaderFollowersAutoConfiguration {

	@Bean
	@ConditionalOnMissingBean
	LeaderFollowersPools leaderFollowersPools(LfProperties properties, ObjectProvider<LeaderFollowersPool> poolBeans,
			ObjectProvider<LeaderFollowersPoolBuilderCustomizer> customizers, Environment environment) {
		List<LeaderFollowersPoolBuilderCustomizer> ordered = customizers.orderedStream().toList();
		Map<String, ConfiguredProperties<Pool>> configured = ConfiguredProperties.byName("lf.pool", properties.pool(),
				"lf.pools", properties.pools(), environment);
		Map<String, Supplier<LeaderFollowersPool>> builders = new LinkedHashMap<>();
		configured.forEach((name, pool) -> builders.put(name, () -> build(name, pool, ordered)));
		builders.computeIfAbsent(ConfiguredProperties.DEFAULT_NAME,
				(name) -> () -> build(name, ConfiguredProperties.defaults("lf.pool", Pool.class), ordered));
		LeaderFollowersPools pools = new LeaderFollowersPools(poolBeans.stream().toList(), builders);
		// Now, so that invalid values are found even if nothing uses the pool.
		configured.keySet().forEach(pools::get);
		return pools;
	}

	private static LeaderFollowersPool build(String name, ConfiguredProperties<Pool> properties,
			List<LeaderFollowersPoolBuilderCustomizer> customizers) {
		LeaderFollowersPool.Builder builder = new PoolPropertiesMapper(properties).map(name);
		LambdaSafe.callbacks(LeaderFollowersPoolBuilderCustomizer.class, customizers, name, builder)
			.withLogger(LeaderFollowersAutoConfiguration.class)
			.invoke((customizer) -> customizer.customize(name, builder));
		return builder.build();
	}

	@Bean
	@ConditionalOnMissingBean(search = SearchStrategy.CURRENT)
	HandlerBeans leaderFollowersHandlerBeans(ConfigurableListableBeanFactory beanFactory,
			ObjectProvider<MessageConverter> messageConverters, ObjectProvider<Validator> validator,
			ObjectProvider<LfErrorHandler> errorHandlers) {
		return new HandlerBeans(beanFactory, messageConverters.orderedStream().toList(), validator.getIfUnique(),
				errorHandlers.orderedStream().toList());
	}

	@Bean
	@ConditionalOnMissingBean(search = SearchStrategy.CURRENT)
	LeaderFollowersServers leaderFollowersServers(LfProperties properties, LeaderFollowersPools pools,
			HandlerBeans handlerBeans, ConfigurableListableBeanFactory beanFactory,
			ObjectProvider<MessageHandlerDecorator> decorators, ObjectProvider<TcpServerBuilderCustomizer> customizers,
			ObjectProvider<UdpServerBuilderCustomizer> udpCustomizers, ObjectProvider<SslBundles> sslBundles,
			ApplicationContext applicationContext) {
		ServerAssembly assembly = new ServerAssembly(beanFactory, properties, pools, handlerBeans,
				SslPropertiesMapper.of(sslBundles.getIfAvailable()), decorators.orderedStream().toList(),
				customizers.orderedStream().toList(), udpCustomizers.orderedStream().toList());
		LeaderFollowersServers.Builder builder = LeaderFollowersServers.builder().publishTo(applicationContext);
		assembly.addTo(builder);
		return builder.build();
	}

	@Bean
	@ConditionalOnMissingBean(name = "leaderFollowersServerStartStopLifecycle", search = SearchStrategy.CURRENT)
	ServerLifecycle leaderFollowersServerStartStopLifecycle(LeaderFollowersServers servers,
			ApplicationContext applicationContext) {
		return ServerLifecycle.startStop(servers, applicationContext);
	}

	@Bean
	@ConditionalOnMissingBean(name = "leaderFollowersReadinessLifecycle", search = SearchStrategy.CURRENT)
	ServerLifecycle leaderFollowersReadinessLifecycle(LfProperties properties, LeaderFollowersServers servers,
			ApplicationContext applicationContext) {
		return ServerLifecycle.readiness(servers,
				ShutdownPropertiesMapper.delay(properties.shutdown(), applicationContext.getEnvironment()),
				applicationContext);
	}

	@Bean
	@ConditionalOnMissingBean(name = "leaderFollowersServerGracefulShutdownLifecycle", search = SearchStrategy.CURRENT)
	ServerLifecycle leaderFollowersServerGracefulShutdownLifecycle(LeaderFollowersServers servers) {
		return ServerLifecycle.gracefulShutdown(servers);
	}

}
