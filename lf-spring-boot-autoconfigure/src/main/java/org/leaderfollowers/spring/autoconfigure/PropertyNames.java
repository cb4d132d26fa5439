package org.leaderfollowers.spring.autoconfigure;

import java.util.List;
import java.util.Set;
import java.util.TreeSet;

import org.springframework.boot.context.properties.source.ConfigurationPropertyName;
import org.springframework.boot.context.properties.source.ConfigurationPropertySource;
import org.springframework.boot.context.properties.source.ConfigurationPropertySources;
import org.springframework.boot.context.properties.source.IterableConfigurationPropertySource;
import org.springframework.core.env.Environment;

/**
 * The names of the properties that are set.
 *
 * @param environment where they are set
 */
record PropertyNames(Environment environment) {

	List<String> startingWith(String prefix) {
		ConfigurationPropertyName parent = ConfigurationPropertyName.adapt(prefix, '.');
		Set<String> names = new TreeSet<>();
		for (ConfigurationPropertySource source : ConfigurationPropertySources.get(this.environment)) {
			if (source instanceof IterableConfigurationPropertySource iterable) {
				iterable.stream().filter(parent::isAncestorOf).map(Object::toString).forEach(names::add);
			}
		}
		return List.copyOf(names);
	}

}
