package org.leaderfollowers.spring.autoconfigure;

import java.nio.ByteBuffer;
import java.nio.charset.Charset;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.function.Supplier;

import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;
import org.leaderfollowers.LeaderFollowersPool;
import org.leaderfollowers.MessageHandler;
import org.leaderfollowers.TcpClient;
import org.leaderfollowers.spring.client.LeaderFollowersClients;
import org.leaderfollowers.spring.client.TcpClientBuilderCustomizer;
import org.leaderfollowers.spring.handler.ClientProxies.Exchanger;
import org.leaderfollowers.spring.handler.HandlerBeans;
import org.leaderfollowers.spring.handler.HandlerBeans.HandlerBean;
import org.leaderfollowers.spring.server.LeaderFollowersPools;
import org.leaderfollowers.spring.server.UnknownNameException;
import org.leaderfollowers.spring.server.UnknownNameException.Kind;

import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.boot.util.LambdaSafe;

/**
 * Finds out which clients there are, and puts them together of properties, handlers and
 * customizers. A client exists because it is a bean of the application, or because
 * properties configure it.
 */
class ClientAssembly {

	private static final Log logger = LogFactory.getLog(ClientAssembly.class);

	private final ConfigurableListableBeanFactory beanFactory;

	private final LfProperties properties;

	private final LeaderFollowersPools pools;

	private final HandlerBeans handlerBeans;

	private final SslPropertiesMapper ssl;

	private final List<TcpClientBuilderCustomizer> customizers;

	ClientAssembly(ConfigurableListableBeanFactory beanFactory, LfProperties properties, LeaderFollowersPools pools,
			HandlerBeans handlerBeans, SslPropertiesMapper ssl, List<TcpClientBuilderCustomizer> customizers) {
		this.beanFactory = beanFactory;
		this.properties = properties;
		this.pools = pools;
		this.handlerBeans = handlerBeans;
		this.ssl = ssl;
		this.customizers = customizers;
	}

	/**
	 * Adds all clients to a builder.
	 */
	void addTo(LeaderFollowersClients.Builder clients) {
		Map<String, List<HandlerBean>> handlers = this.handlerBeans.findByClient();
		Set<String> taken = new LinkedHashSet<>();
		for (TcpClient client : beansOfApplication()) {
			ClientProperties configured = this.properties.clients().get(client.name());
			clients.bean(client, configured != null && configured.optional());
			taken.add(client.name());
			for (HandlerBean unused : handlers.getOrDefault(client.name(), List.of())) {
				logger.warn("The bean %s, is not used: the client '%s' is a bean, which brings its own handler"
					.formatted(unused, client.name()));
			}
		}
		Set<String> known = new LinkedHashSet<>(taken);
		known.addAll(this.properties.clients().keySet());
		handlers.forEach((client, beans) -> {
			if (!known.contains(client)) {
				throw new UnknownNameException(Kind.CLIENT, client, known, beans.get(0).toString());
			}
		});
		byName(this.properties).forEach((name, client) -> {
			if (!taken.contains(name)) {
				add(name, client, handlers.get(name), clients);
			}
		});
	}

	/** Not those that this object makes. */
	private List<TcpClient> beansOfApplication() {
		List<TcpClient> found = new ArrayList<>();
		for (String name : this.beanFactory.getBeanNamesForType(TcpClient.class, true, false)) {
			boolean ours = this.beanFactory.containsBeanDefinition(name)
					&& ClientRegistrar.isOurs(this.beanFactory.getBeanDefinition(name));
			if (!ours) {
				found.add(this.beanFactory.getBean(name, TcpClient.class));
			}
		}
		return found;
	}

	static Map<String, ConfiguredProperties<ClientProperties>> byName(LfProperties properties) {
		Map<String, ConfiguredProperties<ClientProperties>> byName = new LinkedHashMap<>();
		properties.clients()
			.forEach((name, client) -> byName.put(name, new ConfiguredProperties<>("lf.clients." + name, client)));
		return byName;
	}

	private void add(String name, ConfiguredProperties<ClientProperties> properties,
			@Nullable List<HandlerBean> handlers, LeaderFollowersClients.Builder clients) {
		String pool = properties.values().pool();
		if (!this.pools.names().contains(pool)) {
			throw new UnknownNameException(Kind.POOL, pool, this.pools.names(), properties.key("pool"));
		}
		LeaderFollowersPool serving = this.pools.get(pool);
		TcpClient.Builder builder = new ClientPropertiesMapper(properties, this.beanFactory).map(name, serving);
		clients.configured(properties.values().optional(), handler(name, properties.values().charset(), handlers),
				(handler) -> {
					builder.handler(this.properties.logging().mdc()
							? new LoggingContext(LoggingContext.CLIENT, name).around(handler) : handler);
					LambdaSafe.callbacks(TcpClientBuilderCustomizer.class, this.customizers, name, builder)
						.withLogger(ClientAssembly.class)
						.invoke((customizer) -> customizer.customize(name, builder));
					return this.ssl.buildClient(properties, builder);
				});
	}

	private Supplier<MessageHandler> handler(String client, Charset charset, @Nullable List<HandlerBean> handlers) {
		if (handlers == null) {
			return () -> (connection, message) -> {
			};
		}
		HandlerBean bean = this.handlerBeans.singleOfClient(client, handlers);
		return () -> bean.create(charset, true, (undecorated) -> undecorated);
	}

	/**
	 * Finds what sends the requests of an interface.
	 */
	static Exchanger exchanger(String name, Class<?> type, LeaderFollowersClients clients, LfProperties properties) {
		if (!clients.names().contains(name)) {
			throw new UnknownNameException(Kind.CLIENT, name, clients.names(), "interface " + type.getName());
		}
		ClientProperties configured = properties.clients().get(name);
		return new ClientExchanger(clients.get(name),
				(configured != null) ? configured.charset() : StandardCharsets.UTF_8);
	}

	private record ClientExchanger(TcpClient client, Charset charset) implements Exchanger {

		@Override
		public ByteBuffer exchange(ByteBuffer request, @Nullable Duration timeout) {
			return (timeout != null) ? this.client.exchange(request, timeout) : this.client.exchange(request);
		}

		@Override
		public CompletableFuture<ByteBuffer> exchangeAsync(ByteBuffer request, @Nullable Duration timeout) {
			return (timeout != null) ? this.client.exchangeAsync(request, timeout) : this.client.exchangeAsync(request);
		}

	}

}
