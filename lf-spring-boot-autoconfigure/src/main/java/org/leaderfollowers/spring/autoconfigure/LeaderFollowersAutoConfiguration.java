package org.leaderfollowers.spring.autoconfigure;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import java.util.function.Supplier;

import org.leaderfollowers.CloseRate;
import org.leaderfollowers.LeaderFollowersPool;
import org.leaderfollowers.NestingGuard;
import org.leaderfollowers.Server;
import org.leaderfollowers.TcpClient;
import org.leaderfollowers.TcpServer;
import org.leaderfollowers.spring.annotation.LfClient;
import org.leaderfollowers.spring.annotation.LfHandler;
import org.leaderfollowers.spring.autoconfigure.LfProperties.Pool;
import org.leaderfollowers.spring.client.ImportLfClients;
import org.leaderfollowers.spring.client.LeaderFollowersClients;
import org.leaderfollowers.spring.client.TcpClientBuilderCustomizer;
import org.leaderfollowers.spring.handler.ClientProxies;
import org.leaderfollowers.spring.handler.ClientProxies.Exchangers;
import org.leaderfollowers.spring.handler.HandlerBeans;
import org.leaderfollowers.spring.handler.LfConnections;
import org.leaderfollowers.spring.handler.MessageConversion;
import org.leaderfollowers.spring.interceptor.ExchangeInterceptor;
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
import org.springframework.boot.autoconfigure.condition.ConditionalOnBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBooleanProperty;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.autoconfigure.condition.SearchStrategy;
import org.springframework.boot.autoconfigure.ssl.SslAutoConfiguration;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.boot.ssl.SslBundles;
import org.springframework.boot.util.LambdaSafe;
import org.springframework.context.ApplicationContext;
import org.springframework.context.SmartLifecycle;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;
import org.springframework.context.annotation.ImportRuntimeHints;
import org.springframework.core.env.Environment;
import org.springframework.messaging.converter.MessageConverter;
import org.springframework.transaction.support.TransactionSynchronizationManager;
import org.springframework.validation.Validator;

/**
 * {@link EnableAutoConfiguration Auto-configuration} for Leader/Followers servers and
 * clients. Beans annotated with {@link LfHandler @LfHandler} handle messages, interfaces
 * annotated with {@link LfClient @LfClient} send requests, and properties configure
 * servers, clients and pools. A {@link LeaderFollowersPool}, {@link Server} or
 * {@link TcpClient} bean replaces the pool, server or client that would be configured
 * under the same {@linkplain Server#name() name}.
 */
@AutoConfiguration(after = SslAutoConfiguration.class)
@ConditionalOnClass(TcpServer.class)
@ConditionalOnBooleanProperty(name = "lf.enabled", matchIfMissing = true)
@EnableConfigurationProperties(LfProperties.class)
@ImportLfClients
@Import({ ClientRegistrar.class, ClientLimitConfiguration.class })
@ImportRuntimeHints(ClientRegistrar.PropertiesRuntimeHints.class)
public final class LeaderFollowersAutoConfiguration {

	@Bean
	@ConditionalOnMissingBean
	LeaderFollowersPools leaderFollowersPools(LfProperties properties, ObjectProvider<LeaderFollowersPool> poolBeans,
			ObjectProvider<LeaderFollowersPoolBuilderCustomizer> customizers,
			ObjectProvider<NestingGuard> nestingGuards, Environment environment,
			ConfigurableListableBeanFactory beanFactory) {
		List<LeaderFollowersPoolBuilderCustomizer> ordered = customizers.orderedStream().toList();
		NestingGuard guard = new NestingGuards(nestingGuards.orderedStream().toList());
		Map<String, ConfiguredProperties<Pool>> configured = ConfiguredProperties.byName("lf.pool", properties.pool(),
				"lf.pools", properties.pools(), environment);
		Function<String, List<String>> sources = (name) -> SourceAssembly.namesOf(name, beanFactory, properties);
		Map<String, Supplier<LeaderFollowersPool>> builders = new LinkedHashMap<>();
		configured
			.forEach((name, pool) -> builders.put(name, () -> build(name, pool, sources.apply(name), guard, ordered)));
		builders.computeIfAbsent(ConfiguredProperties.DEFAULT_NAME, (name) -> () -> build(name,
				ConfiguredProperties.defaults("lf.pool", Pool.class), sources.apply(name), guard, ordered));
		LeaderFollowersPools pools = new LeaderFollowersPools(poolBeans.stream().toList(), builders);
		// Done now, so that invalid values are found even if the pool is not used.
		configured.keySet().forEach(pools::get);
		return pools;
	}

	private static LeaderFollowersPool build(String name, ConfiguredProperties<Pool> properties, List<String> sources,
			NestingGuard guard, List<LeaderFollowersPoolBuilderCustomizer> customizers) {
		LeaderFollowersPool.Builder builder = new PoolPropertiesMapper(properties).map(name, sources)
			.nestingGuard(guard);
		LambdaSafe.callbacks(LeaderFollowersPoolBuilderCustomizer.class, customizers, name, builder)
			.withLogger(LeaderFollowersAutoConfiguration.class)
			.invoke((customizer) -> customizer.customize(name, builder));
		return builder.build();
	}

	@Bean
	@ConditionalOnMissingBean(search = SearchStrategy.CURRENT)
	HandlerBeans leaderFollowersHandlerBeans(ConfigurableListableBeanFactory beanFactory) {
		return new HandlerBeans(beanFactory);
	}

	/**
	 * A bean, so that servers and clients follow their bundles for the lifetime of the
	 * context.
	 */
	@Bean
	@ConditionalOnMissingBean(search = SearchStrategy.CURRENT)
	SslPropertiesMapper leaderFollowersSslPropertiesMapper(ObjectProvider<SslBundles> sslBundles) {
		return SslPropertiesMapper.of(sslBundles.getIfAvailable());
	}

	/**
	 * Does not depend on the beans that the servers need, so handlers and interceptors
	 * can use it.
	 */
	@Bean
	@ConditionalOnMissingBean(search = SearchStrategy.CURRENT)
	LeaderFollowersServers leaderFollowersServers(LfProperties properties, ObjectProvider<LeaderFollowersPools> pools,
			HandlerBeans handlerBeans, ConfigurableListableBeanFactory beanFactory,
			ObjectProvider<MessageHandlerDecorator> decorators, ObjectProvider<TcpServerBuilderCustomizer> customizers,
			ObjectProvider<UdpServerBuilderCustomizer> udpCustomizers, SslPropertiesMapper ssl,
			ApplicationContext applicationContext) {
		return LeaderFollowersServers.builder()
			.publishTo(applicationContext)
			.later((servers) -> new ServerAssembly(beanFactory, properties, pools.getObject(), handlerBeans, ssl,
					decorators.orderedStream().toList(), customizers.orderedStream().toList(),
					udpCustomizers.orderedStream().toList())
				.addTo(servers))
			.build();
	}

	@Bean
	@ConditionalOnMissingBean(search = SearchStrategy.CURRENT)
	MessageConversion leaderFollowersMessageConversion(LfProperties properties,
			ConfigurableListableBeanFactory beanFactory, ObjectProvider<MessageConverter> messageConverters,
			Environment environment) {
		return new MessageConversion((server) -> ServerAssembly.charset(server, properties, environment), beanFactory,
				messageConverters);
	}

	/** Does not depend on the beans that the servers need either. */
	@Bean
	@ConditionalOnMissingBean(search = SearchStrategy.CURRENT)
	LfConnections leaderFollowersConnections(LeaderFollowersServers servers, MessageConversion conversion) {
		return new LfConnections(servers, conversion);
	}

	@Bean(ClientRegistrar.CLIENTS)
	@ConditionalOnMissingBean
	LeaderFollowersClients leaderFollowersClients(LfProperties properties, LeaderFollowersPools pools,
			HandlerBeans handlerBeans, ConfigurableListableBeanFactory beanFactory,
			ObjectProvider<TcpClientBuilderCustomizer> customizers, SslPropertiesMapper ssl,
			ApplicationContext applicationContext) {
		return LeaderFollowersClients.builder()
			.publishTo(applicationContext)
			.grace(ShutdownPropertiesMapper.phaseTimeout(applicationContext.getEnvironment()))
			.later((clients) -> new ClientAssembly(beanFactory, properties, pools, handlerBeans, ssl,
					customizers.orderedStream().toList())
				.addTo(clients))
			.build();
	}

	@Bean
	@ConditionalOnBean(value = LeaderFollowersClients.class, search = SearchStrategy.CURRENT)
	@ConditionalOnMissingBean(name = "leaderFollowersClientLifecycle", search = SearchStrategy.CURRENT)
	SmartLifecycle leaderFollowersClientLifecycle(LeaderFollowersClients clients) {
		return clients.lifecycle();
	}

	@Bean
	@ConditionalOnMissingBean
	Exchangers leaderFollowersExchangers(LfProperties properties, LeaderFollowersClients clients) {
		return (client, type) -> ClientAssembly.exchanger(client, type, clients, properties);
	}

	@Bean
	@ConditionalOnMissingBean
	ClientProxies leaderFollowersClientProxies(Exchangers exchangers, ConfigurableListableBeanFactory beanFactory,
			ObjectProvider<MessageConverter> messageConverters, ObjectProvider<Validator> validator,
			ObjectProvider<ExchangeInterceptor> interceptors) {
		return new ClientProxies(beanFactory, messageConverters.orderedStream().toList(), validator.getIfUnique(),
				interceptors.orderedStream().toList(), exchangers);
	}

	@Bean
	@ConditionalOnMissingBean(name = "leaderFollowersEventSourceLifecycle", search = SearchStrategy.CURRENT)
	SmartLifecycle leaderFollowersEventSourceLifecycle(LfProperties properties, LeaderFollowersPools pools,
			HandlerBeans handlerBeans, ConfigurableListableBeanFactory beanFactory) {
		return SourceAssembly.lifecycle(beanFactory, properties, pools, handlerBeans);
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
	ServerLifecycle leaderFollowersServerGracefulShutdownLifecycle(LfProperties properties,
			LeaderFollowersServers servers, Environment environment) {
		CloseRate rate = properties.shutdown().closeRate();
		return (rate != null)
				? ServerLifecycle.gracefulShutdown(servers, rate, ShutdownPropertiesMapper.phaseTimeout(environment))
				: ServerLifecycle.gracefulShutdown(servers);
	}

	/** Requires transactions on the class path. */
	@Configuration(proxyBeanMethods = false)
	@ConditionalOnClass(TransactionSynchronizationManager.class)
	static class Transactions {

		@Bean
		NestingGuards.OutsideOfTransactions leaderFollowersTransactionGuard() {
			return new NestingGuards.OutsideOfTransactions();
		}

	}

}
