package org.leaderfollowers.spring.autoconfigure;

import java.nio.charset.Charset;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Function;
import java.util.stream.Collectors;

import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.leaderfollowers.LeaderFollowersPool;
import org.leaderfollowers.MessageHandler;
import org.leaderfollowers.TcpServer;
import org.leaderfollowers.TransportType;
import org.leaderfollowers.UdpServer;
import org.leaderfollowers.spring.autoconfigure.LfProperties.Server;
import org.leaderfollowers.spring.handler.HandlerBeans;
import org.leaderfollowers.spring.handler.HandlerBeans.HandlerBean;
import org.leaderfollowers.spring.interceptor.MessageHandlerDecorator;
import org.leaderfollowers.spring.server.LeaderFollowersPools;
import org.leaderfollowers.spring.server.LeaderFollowersServers;
import org.leaderfollowers.spring.server.TcpServerBuilderCustomizer;
import org.leaderfollowers.spring.server.UdpServerBuilderCustomizer;
import org.leaderfollowers.spring.server.UnknownNameException;
import org.leaderfollowers.spring.server.UnknownNameException.Kind;

import org.springframework.beans.factory.BeanFactory;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.boot.util.LambdaSafe;
import org.springframework.core.env.Environment;

/**
 * Determines which servers there are, and assembles them from properties, handlers,
 * decorators and customizers. A server exists because it is a bean, because properties
 * configure it, or, for the server 'default', because a handler names it.
 */
class ServerAssembly {

	private static final Log logger = LogFactory.getLog(ServerAssembly.class);

	private final ConfigurableListableBeanFactory beanFactory;

	private final Environment environment;

	private final LeaderFollowersPools pools;

	private final Map<String, ConfiguredProperties<Server>> properties;

	private final Duration drainMessageTimeout;

	private final boolean mdc;

	private final HandlerBeans handlerBeans;

	private final SslPropertiesMapper ssl;

	private final List<MessageHandlerDecorator> decorators;

	private final List<TcpServerBuilderCustomizer> customizers;

	private final List<UdpServerBuilderCustomizer> udpCustomizers;

	ServerAssembly(ConfigurableListableBeanFactory beanFactory, LfProperties properties, LeaderFollowersPools pools,
			HandlerBeans handlerBeans, SslPropertiesMapper ssl, List<MessageHandlerDecorator> decorators,
			List<TcpServerBuilderCustomizer> customizers, List<UdpServerBuilderCustomizer> udpCustomizers) {
		this.beanFactory = beanFactory;
		this.environment = beanFactory.getBean(Environment.class);
		this.pools = pools;
		this.properties = properties(properties, this.environment);
		this.drainMessageTimeout = ShutdownPropertiesMapper.messageTimeout(properties.shutdown());
		this.mdc = properties.logging().mdc();
		this.handlerBeans = handlerBeans;
		this.ssl = ssl;
		this.decorators = decorators;
		this.customizers = customizers;
		this.udpCustomizers = udpCustomizers;
	}

	/**
	 * Adds all servers to a builder.
	 */
	void addTo(LeaderFollowersServers.Builder servers) {
		// Ensures that threads that run handlers end before the beans that the handlers
		// use are destroyed.
		Set<String> poolBeans = new LinkedHashSet<>();
		for (Class<?> type : List.of(LeaderFollowersPool.class, LeaderFollowersPools.class)) {
			poolBeans.addAll(List.of(this.beanFactory.getBeanNamesForType(type, true, false)));
		}
		this.handlerBeans.addDependents(poolBeans);
		Set<String> taken = new LinkedHashSet<>();
		this.beanFactory.getBeansOfType(org.leaderfollowers.Server.class).forEach((beanName, server) -> {
			servers.bean(beanName, server);
			taken.add(server.name());
		});
		Map<String, List<HandlerBean>> handlers = handlers(taken);
		Set<String> servedByParent = namesOfParent();
		this.properties.forEach((name, server) -> {
			List<String> set = taken.contains(name) ? ConfiguredProperties.names(server.prefix(), this.environment)
					: List.of();
			if (!set.isEmpty()) {
				logger.warn("The server '%s' is a bean, which does not use these properties: %s".formatted(name,
						String.join(", ", set)));
			}
			List<HandlerBean> handler = handlers.getOrDefault(name, List.of());
			// If a parent context serves it with the same properties, the server belongs
			// to the parent.
			if (!taken.contains(name) && (!handler.isEmpty() || !servedByParent.contains(name))) {
				if (handler.isEmpty()) {
					throw this.handlerBeans.missing(name, server.prefix(),
							ConfiguredProperties.names(server.prefix(), this.environment));
				}
				servers.configured(name, server.prefix(), server(name, server, handler));
			}
		});
	}

	/** Finds the charset of the text messages of a server. */
	static Charset charset(String name, LfProperties properties, Environment environment) {
		ConfiguredProperties<Server> configured = properties(properties, environment).get(name);
		return (configured != null) ? configured.values().charset() : StandardCharsets.UTF_8;
	}

	static Map<String, ConfiguredProperties<Server>> properties(LfProperties properties, Environment environment) {
		return ConfiguredProperties.byName("lf.server", properties.server(), "lf.servers", properties.servers(),
				environment);
	}

	private Set<String> namesOfParent() {
		BeanFactory parent = this.beanFactory.getParentBeanFactory();
		LeaderFollowersServers servers = (parent != null)
				? parent.getBeanProvider(LeaderFollowersServers.class).getIfUnique() : null;
		return (servers != null) ? servers.names() : Set.of();
	}

	/** Finds the handlers of each server, except for servers that are beans. */
	private Map<String, List<HandlerBean>> handlers(Set<String> taken) {
		Map<String, List<HandlerBean>> candidates = new LinkedHashMap<>(this.handlerBeans.findByServer());
		for (String server : taken) {
			for (HandlerBean unused : candidates.getOrDefault(server, List.of())) {
				logger.warn("The bean %s, is not used: the server '%s' is a bean, which brings its own handler"
					.formatted(unused, server));
			}
			candidates.remove(server);
		}
		if (candidates.containsKey(ConfiguredProperties.DEFAULT_NAME)) {
			this.properties.computeIfAbsent(ConfiguredProperties.DEFAULT_NAME,
					(name) -> ConfiguredProperties.defaults("lf.server", Server.class));
		}
		Set<String> known = new LinkedHashSet<>(taken);
		known.add(ConfiguredProperties.DEFAULT_NAME);
		known.addAll(this.properties.keySet());
		candidates.forEach((server, beans) -> checkKnown(known, server, beans.get(0).toString()));
		this.handlerBeans.findByAdvice()
			.forEach((bean, servers) -> servers.stream()
				// Of a test that leaves servers out, the properties are still there.
				.filter((server) -> ConfiguredProperties.names("lf.servers." + server, this.environment).isEmpty())
				.forEach((server) -> checkKnown(known, server, "advice " + bean)));
		return candidates;
	}

	private static void checkKnown(Set<String> known, String server, String reference) {
		if (!known.contains(server)) {
			throw new UnknownNameException(Kind.SERVER, server, known, reference);
		}
	}

	/**
	 * Prepares a server. Invalid values are found now, before any server is started.
	 * @return a function that decorates the handler and builds the server
	 */
	private Function<MessageHandlerDecorator, org.leaderfollowers.Server> server(String name,
			ConfiguredProperties<Server> properties, List<HandlerBean> beans) {
		LeaderFollowersPool pool = pool(properties);
		ServerPropertiesMapper mapper = new ServerPropertiesMapper(properties, this.beanFactory);
		boolean udp = properties.values().transport() == TransportType.UDP;
		if (udp) {
			mapper.mapUdp(name, pool);
		}
		else {
			mapper.map(name, pool);
			this.ssl.check(properties);
		}
		String handlerName = beans.stream().map(HandlerBean::name).collect(Collectors.joining(", "));
		MessageHandler handler = this.handlerBeans.create(true, name, beans, properties.values().charset(), !udp,
				(undecorated) -> decorate(undecorated, name, handlerName));
		return (events) -> {
			MessageHandler publishing = events.decorate(handler, name, handlerName);
			MessageHandler outermost = this.mdc ? new LoggingContext(LoggingContext.SERVER, name).around(publishing)
					: publishing;
			return udp ? buildUdp(name, mapper.mapUdp(name, pool).handler(outermost).handlerName(handlerName))
					: build(name, properties, mapper.map(name, pool).handler(outermost).handlerName(handlerName));
		};
	}

	private LeaderFollowersPool pool(ConfiguredProperties<Server> properties) {
		String pool = properties.values().pool();
		if (!this.pools.names().contains(pool)) {
			throw new UnknownNameException(Kind.POOL, pool, this.pools.names(), properties.key("pool"));
		}
		return this.pools.get(pool);
	}

	private MessageHandler decorate(MessageHandler handler, String server, String handlerName) {
		MessageHandler decorated = handler;
		for (int i = this.decorators.size() - 1; i >= 0; i--) {
			decorated = this.decorators.get(i).decorate(decorated, server, handlerName);
		}
		return decorated;
	}

	private TcpServer build(String name, ConfiguredProperties<Server> properties, TcpServer.Builder builder) {
		builder.drainMessageTimeout(this.drainMessageTimeout);
		LambdaSafe.callbacks(TcpServerBuilderCustomizer.class, this.customizers, name, builder)
			.withLogger(ServerAssembly.class)
			.invoke((customizer) -> customizer.customize(name, builder));
		return this.ssl.build(properties, builder);
	}

	private UdpServer buildUdp(String name, UdpServer.Builder builder) {
		LambdaSafe.callbacks(UdpServerBuilderCustomizer.class, this.udpCustomizers, name, builder)
			.withLogger(ServerAssembly.class)
			.invoke((customizer) -> customizer.customize(name, builder));
		return builder.build();
	}

}
