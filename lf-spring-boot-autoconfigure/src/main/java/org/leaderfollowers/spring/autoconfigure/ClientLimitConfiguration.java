package org.leaderfollowers.spring.autoconfigure;

import java.util.EnumMap;
import java.util.Map;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.ClientKey;
import org.leaderfollowers.TransportType;
import org.leaderfollowers.spring.autoconfigure.LfProperties.Server;
import org.leaderfollowers.spring.interceptor.MessageHandlerDecorator;
import org.leaderfollowers.spring.limit.ClientLimiter;
import org.leaderfollowers.spring.limit.ClientLimiters;
import org.leaderfollowers.spring.limit.ClientLimits;
import org.leaderfollowers.spring.limit.ClientLimits.Limit;
import org.leaderfollowers.spring.server.TcpServerBuilderCustomizer;

import org.springframework.beans.factory.ObjectProvider;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.autoconfigure.condition.SearchStrategy;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.core.annotation.Order;
import org.springframework.core.env.Environment;
import org.springframework.util.ClassUtils;
import org.springframework.util.unit.DataSize;

/**
 * Configures the limits that apply to each client. A server without such limits gets
 * neither a guard nor a decorator.
 */
@Configuration(proxyBeanMethods = false)
class ClientLimitConfiguration {

	/** Outside of the observation: a message that is refused costs little. */
	private static final int ORDER = MessageHandlerDecorator.OBSERVATION_ORDER - 500;

	private static final String LIBRARY = "io.github.bucket4j.Bucket";

	private static final PerClientProperties DEFAULTS = ConfiguredProperties.defaults("lf.server", Server.class)
		.values()
		.perClient();

	@Bean
	@ConditionalOnMissingBean(search = SearchStrategy.CURRENT)
	ClientLimiters leaderFollowersClientLimiters(LfProperties properties, ObjectProvider<ClientKey> keys,
			ConfigurableListableBeanFactory beanFactory, Environment environment) {
		ClientLimiters limiters = new ClientLimiters(keys.getIfAvailable());
		ServerAssembly.properties(properties, environment).forEach((name, server) -> {
			ClientLimits limits = limits(server);
			if (limits != null) {
				checkLibrary(server, beanFactory.getBeanClassLoader());
				PerClientProperties perClient = server.values().perClient();
				limiters.add(name, server.values().transport() == TransportType.UDP, limits,
						inRange(server, "max-clients", perClient.maxClients(), 1, 10_000_000),
						inRange(server, "ipv4-prefix-length", perClient.ipv4PrefixLength(), 8, 32),
						inRange(server, "ipv6-prefix-length", perClient.ipv6PrefixLength(), 16, 128));
			}
		});
		return limiters;
	}

	private static @Nullable ClientLimits limits(ConfiguredProperties<Server> server) {
		PerClientProperties perClient = server.values().perClient();
		if (perClient.equals(DEFAULTS)) {
			return null;
		}
		Map<Limit, Long> values = new EnumMap<>(Limit.class);
		put(server, values, Limit.MAX_CONNECTIONS, perClient.maxConnections());
		put(server, values, Limit.CONNECTIONS_PER_SECOND, perClient.connectionsPerSecond());
		put(server, values, Limit.MESSAGES_PER_SECOND, perClient.messagesPerSecond());
		DataSize bytes = perClient.bytesPerSecond();
		put(server, values, Limit.BYTES_PER_SECOND, (bytes != null) ? bytes.toBytes() : null);
		put(server, values, Limit.FAILED_LOGINS_PER_MINUTE, perClient.failedLoginsPerMinute());
		if (values.isEmpty()) {
			throw server.missing("per-client", "Has no effect without a limit. Set one, for example '%s'."
				.formatted(server.key("per-client.messages-per-second")));
		}
		return new ClientLimits(values, perClient.action());
	}

	private static void checkLibrary(ConfiguredProperties<Server> server, @Nullable ClassLoader classLoader) {
		if (!ClassUtils.isPresent(LIBRARY, classLoader)) {
			throw server.missing("per-client",
					"Limits for each client need the library com.bucket4j:bucket4j_jdk17-core, which is missing. "
							+ "Add it to the dependencies; 'lf-spring-boot-starter' has it.");
		}
	}

	private static void put(ConfiguredProperties<Server> server, Map<Limit, Long> values, Limit limit,
			@Nullable Long value) {
		if (value != null) {
			String property = "per-client." + limit.property();
			server.get(property, value, (checked) -> new ClientLimits(Map.of(limit, checked), DEFAULTS.action()),
					"be from 1 to " + ClientLimits.GREATEST);
			values.put(limit, value);
		}
	}

	private static int inRange(ConfiguredProperties<Server> server, String property, int value, int least,
			int greatest) {
		if (value < least || value > greatest) {
			throw server.invalid("per-client." + property, value, "Must be from %d to %d.".formatted(least, greatest));
		}
		return value;
	}

	@Bean
	@Order(ORDER)
	MessageHandlerDecorator leaderFollowersClientLimitDecorator(ObjectProvider<ClientLimiters> limiters) {
		return (handler, server, handlerName) -> {
			ClientLimiter limiter = limiters.getObject().get(server);
			return (limiter != null) ? limiter.around(handler) : handler;
		};
	}

	@Bean
	TcpServerBuilderCustomizer leaderFollowersClientLimitCustomizer(ObjectProvider<ClientLimiters> limiters) {
		return (name, builder) -> {
			ClientLimiter limiter = limiters.getObject().get(name);
			if (limiter != null) {
				builder.connectionGuard(limiter);
			}
		};
	}

}
