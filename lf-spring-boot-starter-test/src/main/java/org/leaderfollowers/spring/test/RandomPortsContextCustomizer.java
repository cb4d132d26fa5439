package org.leaderfollowers.spring.test;

import java.util.LinkedHashMap;
import java.util.Map;

import org.springframework.boot.context.properties.bind.Bindable;
import org.springframework.boot.context.properties.bind.Binder;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.core.env.ConfigurableEnvironment;
import org.springframework.core.env.MapPropertySource;
import org.springframework.test.context.ContextCustomizer;
import org.springframework.test.context.MergedContextConfiguration;

/**
 * Lets the system choose the ports of all servers that properties configure, if the test
 * sets the property {@value #SWITCH}.
 */
record RandomPortsContextCustomizer() implements ContextCustomizer {

	/** Not below {@code lf}, because unknown properties there fail the start. */
	private static final String SWITCH = "lf-test.random-ports";

	private static final String PROPERTY_SOURCE = "lfTestPorts";

	@Override
	public void customizeContext(ConfigurableApplicationContext context, MergedContextConfiguration mergedConfig) {
		if (context.getEnvironment().getProperty(SWITCH, Boolean.class, false)) {
			useRandomPorts(context.getEnvironment());
		}
	}

	static void useRandomPorts(ConfigurableEnvironment environment) {
		Map<String, Object> ports = new LinkedHashMap<>();
		Map<String, Object> servers = Binder.get(environment)
			.bind("lf.servers", Bindable.mapOf(String.class, Object.class))
			.orElse(Map.of());
		servers.keySet().forEach((name) -> ports.put("lf.servers." + name + ".port", 0));
		if (!servers.containsKey("default")) {
			ports.put("lf.server.port", 0);
		}
		environment.getPropertySources().addFirst(new MapPropertySource(PROPERTY_SOURCE, ports));
	}

}
