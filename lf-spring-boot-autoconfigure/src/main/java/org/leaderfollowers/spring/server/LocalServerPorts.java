package org.leaderfollowers.spring.server;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

import org.leaderfollowers.spring.server.LocalServerPorts.Ports;

import org.springframework.context.ApplicationContext;
import org.springframework.core.env.ConfigurableEnvironment;
import org.springframework.core.env.MapPropertySource;
import org.springframework.core.env.MutablePropertySources;

/**
 * Tells the ports that servers are bound to, as properties of the environment:
 * {@code local.lf.servers.<name>.port}, and for the server {@code default} also
 * {@code local.lf.server.port}.
 */
class LocalServerPorts {

	private static final String PROPERTY_SOURCE = "lf.server.ports";

	private final ApplicationContext applicationContext;

	LocalServerPorts(ApplicationContext applicationContext) {
		this.applicationContext = applicationContext;
	}

	void set(String server, int port) {
		for (ApplicationContext context = this.applicationContext; context != null; context = context.getParent()) {
			if (context.getEnvironment() instanceof ConfigurableEnvironment environment) {
				Map<String, Object> ports = ports(environment.getPropertySources());
				ports.put("local.lf.servers." + server + ".port", port);
				if (server.equals("default")) {
					ports.put("local.lf.server.port", port);
				}
			}
		}
	}

	private Map<String, Object> ports(MutablePropertySources sources) {
		if (sources.get(PROPERTY_SOURCE) instanceof Ports ports) {
			return ports.getSource();
		}
		Ports ports = new Ports();
		sources.addFirst(ports);
		return ports.getSource();
	}

	static class Ports extends MapPropertySource {

		Ports() {
			super(PROPERTY_SOURCE, new ConcurrentHashMap<>());
		}

	}

}
