package org.leaderfollowers.spring.autoconfigure;

import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Supplier;

import org.leaderfollowers.LeaderFollowersPool;
import org.leaderfollowers.Server;
import org.leaderfollowers.TcpServer;
import org.leaderfollowers.spring.annotation.LfHandler;
import org.leaderfollowers.spring.autoconfigure.LfProperties.Pool;
import org.leaderfollowers.spring.event.EventPublication;
import org.leaderfollowers.spring.handler.HandlerFactory;
import org.leaderfollowers.spring.interceptor.MessageHandlerDecorator;
import org.leaderfollowers.spring.server.LeaderFollowersPoolBuilderCustomizer;
import org.leaderfollowers.spring.server.LeaderFollowersPools;
import org.leaderfollowers.spring.server.LeaderFollowersServers;
import org.leaderfollowers.spring.server.PauseAndResume;
import org.leaderfollowers.spring.server.ReadinessLifecycle;
import org.leaderfollowers.spring.server.ServerGracefulShutdownLifecycle;
import org.leaderfollowers.spring.server.ServerStartStopLifecycle;
import org.leaderfollowers.spring.server.TcpServerBuilderCustomizer;
import org.leaderfollowers.spring.server.UdpServerBuilderCustomizer;

import org.springframework.beans.factory.BeanFactory;
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
import org.springframework.context.annotation.Import;

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
@Import(HandlerConfiguration.class)
public final class LeaderFollowersAutoConfiguration {

	@Bean
	@ConditionalOnMissingBean
	LeaderFollowersPools leaderFollowersPools(LfProperties properties, ObjectProvider<LeaderFollowersPool> poolBeans,
			ObjectProvider<LeaderFollowersPoolBuilderCustomizer> customizers) {
		List<LeaderFollowersPoolBuilderCustomizer> ordered = customizers.orderedStream().toList();
		Map<String, ConfiguredProperties<Pool>> configured = ConfiguredProperties.byName("lf.pool", properties.pool(),
				"lf.pools", properties.pools());
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
	LeaderFollowersServers leaderFollowersServers(LfProperties properties, LeaderFollowersPools pools,
			ConfigurableListableBeanFactory beanFactory, HandlerFactory handlerFactory,
			ObjectProvider<MessageHandlerDecorator> decorators, ObjectProvider<TcpServerBuilderCustomizer> customizers,
			ObjectProvider<UdpServerBuilderCustomizer> udpCustomizers, ObjectProvider<SslBundles> sslBundles,
			ApplicationContext applicationContext) {
		HandlerBeans handlers = new HandlerBeans(beanFactory);
		// Threads that run handlers end before the beans that the handlers use.
		Set<String> poolBeans = new LinkedHashSet<>(
				List.of(beanFactory.getBeanNamesForType(LeaderFollowersPool.class, true, false)));
		poolBeans.addAll(List.of(beanFactory.getBeanNamesForType(LeaderFollowersPools.class, true, false)));
		handlers.find()
			.forEach((handler) -> poolBeans.forEach((pool) -> beanFactory.registerDependentBean(handler.name(), pool)));
		EventPublication events = new EventPublication(applicationContext);
		ServerAssembly assembly = new ServerAssembly(new FramingBeans(beanFactory),
				SslPropertiesMapper.of(sslBundles.getIfAvailable()), handlerFactory,
				decorators.orderedStream().toList(), customizers.orderedStream().toList(),
				udpCustomizers.orderedStream().toList(), events);
		return new LeaderFollowersServers(new ServerRegistrations(properties, pools,
				beanFactory.getBeansOfType(Server.class), namesOfParent(beanFactory), handlers, assembly)
			.create(), events);
	}

	private static Set<String> namesOfParent(ConfigurableListableBeanFactory beanFactory) {
		BeanFactory parent = beanFactory.getParentBeanFactory();
		LeaderFollowersServers servers = (parent != null)
				? parent.getBeanProvider(LeaderFollowersServers.class).getIfUnique() : null;
		return (servers != null) ? servers.names() : Set.of();
	}

	@Bean
	@ConditionalOnMissingBean(search = SearchStrategy.CURRENT)
	ServerStartStopLifecycle leaderFollowersServerStartStopLifecycle(LeaderFollowersServers servers,
			ApplicationContext applicationContext) {
		return new ServerStartStopLifecycle(servers, applicationContext);
	}

	@Bean
	@ConditionalOnMissingBean(search = SearchStrategy.CURRENT)
	ReadinessLifecycle leaderFollowersReadinessLifecycle(LfProperties properties, LeaderFollowersServers servers,
			ApplicationContext applicationContext) {
		return new ReadinessLifecycle(servers,
				ShutdownPropertiesMapper.delay(properties.shutdown(), applicationContext.getEnvironment()),
				applicationContext);
	}

	@Bean
	@ConditionalOnMissingBean(search = SearchStrategy.CURRENT)
	PauseAndResume leaderFollowersPauseAndResume(LeaderFollowersServers servers) {
		return new PauseAndResume(servers);
	}

	@Bean
	@ConditionalOnMissingBean(search = SearchStrategy.CURRENT)
	ServerGracefulShutdownLifecycle leaderFollowersServerGracefulShutdownLifecycle(LeaderFollowersServers servers) {
		return new ServerGracefulShutdownLifecycle(servers);
	}

}
