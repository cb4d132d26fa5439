package org.leaderfollowers.spring.autoconfigure;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.leaderfollowers.LeaderFollowersPool;
import org.leaderfollowers.spring.autoconfigure.LfProperties.Server;
import org.leaderfollowers.spring.server.LeaderFollowersPools;
import org.leaderfollowers.spring.server.ServerRegistration;
import org.leaderfollowers.spring.server.UnknownPoolException;
import org.leaderfollowers.spring.server.UnknownServerException;

/**
 * Finds out which servers there are, and who handles their messages: a server exists
 * because it is a bean, because properties configure it, or, if it is the one named
 * 'default', because a handler names it.
 */
class ServerRegistrations {

	private static final Log logger = LogFactory.getLog(ServerRegistrations.class);

	private final Map<String, ConfiguredProperties<Server>> properties;

	private final LeaderFollowersPools pools;

	private final Map<String, org.leaderfollowers.Server> serverBeans;

	private final Set<String> servedByParent;

	private final HandlerBeans handlerBeans;

	private final ServerAssembly assembly;

	ServerRegistrations(LfProperties properties, LeaderFollowersPools pools,
			Map<String, org.leaderfollowers.Server> serverBeans, Set<String> servedByParent, HandlerBeans handlerBeans,
			ServerAssembly assembly) {
		this.properties = ConfiguredProperties.byName("lf.server", properties.server(), "lf.servers",
				properties.servers());
		this.pools = pools;
		this.serverBeans = serverBeans;
		this.servedByParent = servedByParent;
		this.handlerBeans = handlerBeans;
		this.assembly = assembly;
	}

	List<ServerRegistration> create() {
		List<ServerRegistration> registrations = new ArrayList<>();
		Set<String> taken = new LinkedHashSet<>();
		this.serverBeans.forEach((beanName, server) -> {
			registrations.add(ServerRegistration.ofBean(beanName, server));
			taken.add(server.name());
		});
		Map<String, HandlerBean> handlers = handlers(taken);
		this.properties.forEach((name, server) -> {
			if (!taken.contains(name)) {
				HandlerBean handler = handlers.get(name);
				if (handler == null && this.servedByParent.contains(name)) {
					// The properties are the same, the server is the parent's.
					return;
				}
				if (handler == null) {
					throw new MissingHandlerException(name, server.prefix(), this.handlerBeans.findUnmarked());
				}
				registrations.add(registration(name, server, handler));
			}
		});
		return registrations;
	}

	/**
	 * Finds the handler of each server, except for those that bring their own.
	 */
	private Map<String, HandlerBean> handlers(Set<String> taken) {
		Map<String, List<HandlerBean>> handlers = new LinkedHashMap<>();
		for (HandlerBean handler : this.handlerBeans.find()) {
			if (taken.contains(handler.server())) {
				logger.warn("The bean %s, is not used: the server '%s' is a bean, which brings its own handler"
					.formatted(handler.describe(), handler.server()));
			}
			else {
				handlers.computeIfAbsent(handler.server(), (server) -> new ArrayList<>()).add(handler);
			}
		}
		if (handlers.containsKey(ConfiguredProperties.DEFAULT_NAME)) {
			this.properties.computeIfAbsent(ConfiguredProperties.DEFAULT_NAME,
					(name) -> ConfiguredProperties.defaults("lf.server", Server.class));
		}
		Map<String, HandlerBean> single = new LinkedHashMap<>();
		handlers.forEach((server, candidates) -> {
			if (!this.properties.containsKey(server)) {
				Set<String> known = new LinkedHashSet<>(taken);
				known.add(ConfiguredProperties.DEFAULT_NAME);
				known.addAll(this.properties.keySet());
				throw new UnknownServerException(server, known, candidates.get(0).describe());
			}
			if (candidates.size() > 1) {
				candidates.forEach(HandlerBean::checkType);
				throw new DuplicateHandlerException(server, candidates.stream().map(HandlerBean::describe).toList());
			}
			single.put(server, candidates.get(0));
		});
		return single;
	}

	private ServerRegistration registration(String name, ConfiguredProperties<Server> properties,
			HandlerBean handlerBean) {
		return this.assembly.registration(name, properties, pool(properties), handlerBean.get());
	}

	private LeaderFollowersPool pool(ConfiguredProperties<Server> properties) {
		String pool = properties.values().pool();
		if (!this.pools.names().contains(pool)) {
			throw new UnknownPoolException(pool, this.pools.names(), properties.key("pool"));
		}
		return this.pools.get(pool);
	}

}
