package org.leaderfollowers.spring.autoconfigure;

import java.util.HashMap;
import java.util.Map;

import org.springframework.boot.context.properties.bind.Binder;
import org.springframework.boot.context.properties.source.MapConfigurationPropertySource;

/**
 * Binds properties without a context.
 */
final class TestProperties {

	private TestProperties() {
	}

	static <P> ConfiguredProperties<P> bind(String prefix, Class<P> type, String... properties) {
		Map<String, String> map = new HashMap<>();
		for (String property : properties) {
			int equals = property.indexOf('=');
			map.put(prefix + "." + property.substring(0, equals), property.substring(equals + 1));
		}
		return new ConfiguredProperties<>(prefix,
				new Binder(new MapConfigurationPropertySource(map)).bindOrCreate(prefix, type));
	}

}
