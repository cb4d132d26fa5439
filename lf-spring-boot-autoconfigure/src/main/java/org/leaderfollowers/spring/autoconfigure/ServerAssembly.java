package org.leaderfollowers.spring.autoconfigure;

import java.nio.charset.Charset;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Function;

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
 * Finds out which servers there are, and puts them together of properties, handlers,
 * decorators and customizers. A server exists because it is a bean, because properties
 * configure it, or, if it is the one named 'default', because a handler names it.
 */
class ServerAssembly {

	private static final Log logger = LogFactory.getLog(ServerAssembly.class);

	private final ConfigurableListableBeanFactory beanFactory;

	private final Environment environment;

	private final LeaderFollowersPools pools;

	private final Map<String, ConfiguredProperties<Server>> properties;

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
		// Threads that run handlers end before the beans that the handlers use.
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
		Map<String, HandlerBean> handlers = handlers(taken);
		Set<String> servedByParent = namesOfParent();
		this.properties.forEach((name, server) -> {
			HandlerBean handler = handlers.get(name);
			// If a parent serves it, the properties are the same, the server is the
			// parent's.
			if (!taken.contains(name) && (handler != null || !servedByParent.contains(name))) {
				if (handler == null) {
					throw this.handlerBeans.missing(name, server.prefix(),
							ConfiguredProperties.names(server.prefix(), this.environment));
				}
				servers.configured(name, server.prefix(), server(name, server, handler));
			}
		});
	}

	/**
	 * Finds the charset of text that a server receives and sends.
	 */
	static Charset charset(String name, LfProperties properties, Environment environment) {
		ConfiguredProperties<Server> configured = properties(properties, environment).get(name);
		return (configured != null) ? configured.values().charset() : StandardCharsets.UTF_8;
	}

	private static Map<String, ConfiguredProperties<Server>> properties(LfProperties properties,
			Environment environment) {
		return ConfiguredProperties.byName("lf.server", properties.server(), "lf.servers", properties.servers(),
				environment);
	}

	private Set<String> namesOfParent() {
		BeanFactory parent = this.beanFactory.getParentBeanFactory();
		LeaderFollowersServers servers = (parent != null)
				? parent.getBeanProvider(LeaderFollowersServers.class).getIfUnique() : null;
		return (servers != null) ? servers.names() : Set.of();
	}

	/**
	 * Finds the handler of each server, except for those that bring their own.
	 */
	private Map<String, HandlerBean> handlers(Set<String> taken) {
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
		Map<String, HandlerBean> handlers = new LinkedHashMap<>();
		candidates.forEach((server, beans) -> {
			if (!this.properties.containsKey(server)) {
				Set<String> known = new LinkedHashSet<>(taken);
				known.add(ConfiguredProperties.DEFAULT_NAME);
				known.addAll(this.properties.keySet());
				throw new UnknownNameException(Kind.SERVER, server, known, beans.get(0).toString());
			}
			handlers.put(server, this.handlerBeans.single(server, beans));
		});
		return handlers;
	}

	/**
	 * Prepares a server: invalid values are found now, before anything is started.
	 * @return builds the server, and decorates its handler before
	 */
	private Function<MessageHandlerDecorator, org.leaderfollowers.Server> server(String name,
			ConfiguredProperties<Server> properties, HandlerBean bean) {
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
		MessageHandler handler = bean.create(properties.values().charset(), !udp,
				(undecorated) -> decorate(undecorated, name, bean.name()));
		return (events) -> {
			MessageHandler publishing = events.decorate(handler, name, bean.name());
			MessageHandler outermost = this.mdc ? new LoggingContext(LoggingContext.SERVER, name).around(publishing)
					: publishing;
			return udp ? buildUdp(name, mapper.mapUdp(name, pool).handler(outermost).handlerName(bean.name()))
					: build(name, properties, mapper.map(name, pool).handler(outermost).handlerName(bean.name()));
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
