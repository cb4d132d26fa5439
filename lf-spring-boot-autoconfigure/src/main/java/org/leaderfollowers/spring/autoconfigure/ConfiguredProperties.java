package org.leaderfollowers.spring.autoconfigure;

import java.time.Duration;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Consumer;
import java.util.function.Function;

import org.jspecify.annotations.Nullable;

import org.springframework.boot.context.properties.bind.Binder;
import org.springframework.boot.context.properties.source.ConfigurationPropertyName;
import org.springframework.boot.context.properties.source.ConfigurationPropertySource;
import org.springframework.boot.context.properties.source.ConfigurationPropertySources;
import org.springframework.boot.context.properties.source.InvalidConfigurationPropertyValueException;
import org.springframework.boot.context.properties.source.IterableConfigurationPropertySource;
import org.springframework.boot.context.properties.source.MutuallyExclusiveConfigurationPropertiesException;
import org.springframework.boot.convert.DurationStyle;
import org.springframework.core.env.Environment;
import org.springframework.util.unit.DataSize;

/**
 * The properties of one server, client or pool, and their prefix.
 *
 * @param <P> the type of the properties
 * @param prefix the prefix of the properties, without a dot at its end
 * @param values the values of the properties
 */
record ConfiguredProperties<P>(String prefix, P values) {

	static final String DEFAULT_NAME = "default";

	/** Properties with their default values. */
	static <P extends Record> ConfiguredProperties<P> defaults(String prefix, Class<P> type) {
		return new ConfiguredProperties<>(prefix, new Binder().bindOrCreate(prefix, type));
	}

	/**
	 * Finds the properties of all servers, clients or pools.
	 * @param singular the prefix of the one named 'default'
	 * @param one the properties with this prefix, if any is set
	 * @param plural the prefix of the others
	 * @param others the properties with this prefix
	 * @param environment contains the properties
	 * @return the properties by name
	 */
	static <P> Map<String, ConfiguredProperties<P>> byName(String singular, @Nullable P one, String plural,
			Map<String, P> others, Environment environment) {
		String alternative = plural + "." + DEFAULT_NAME;
		if (one != null && others.containsKey(DEFAULT_NAME)) {
			List<String> names = new ArrayList<>();
			for (String prefix : List.of(singular, alternative)) {
				List<String> found = names(prefix, environment);
				// Not every property source can list its names.
				names.addAll(found.isEmpty() ? List.of(prefix) : found);
			}
			throw new MutuallyExclusiveConfigurationPropertiesException(names,
					List.of(singular + ".*", alternative + ".*"));
		}
		Map<String, ConfiguredProperties<P>> byName = new LinkedHashMap<>();
		if (one != null) {
			byName.put(DEFAULT_NAME, new ConfiguredProperties<>(singular, one));
		}
		others.forEach((name, values) -> byName.put(name, new ConfiguredProperties<>(plural + "." + name, values)));
		return byName;
	}

	/**
	 * Finds the names of properties that are set.
	 * @param prefix the beginning of the names
	 * @param environment contains the properties
	 */
	static List<String> names(String prefix, Environment environment) {
		ConfigurationPropertyName parent = ConfigurationPropertyName.adapt(prefix, '.');
		Set<String> names = new TreeSet<>();
		for (ConfigurationPropertySource source : ConfigurationPropertySources.get(environment)) {
			if (source instanceof IterableConfigurationPropertySource iterable) {
				iterable.stream().filter(parent::isAncestorOf).map(Object::toString).forEach(names::add);
			}
		}
		return List.copyOf(names);
	}

	/** Writes a duration as users do, unless it has no exact text of this form. */
	static String text(Duration duration) {
		try {
			String text = DurationStyle.SIMPLE.print(duration, ChronoUnit.MILLIS);
			return duration.equals(DurationStyle.SIMPLE.parse(text)) ? text : duration.toString();
		}
		catch (ArithmeticException ex) {
			return duration.toString();
		}
	}

	String key(String property) {
		return this.prefix + "." + property;
	}

	/**
	 * Passes a value to a builder, which checks it.
	 * @param rule the values that the builder accepts, as the rest of a sentence after
	 * "must"
	 */
	<V> void set(String property, V value, Consumer<V> setter, String rule) {
		get(property, value, (checked) -> {
			setter.accept(checked);
			return checked;
		}, rule);
	}

	/**
	 * Passes a size to a builder, in bytes.
	 * @param rule the values that the builder accepts, as the rest of a sentence after
	 * "must"
	 */
	void setSize(String property, DataSize value, Consumer<Integer> setter, String rule) {
		set(property, value,
				(size) -> setter.accept((int) Math.max(Integer.MIN_VALUE, Math.min(size.toBytes(), Integer.MAX_VALUE))),
				rule);
	}

	/**
	 * Hands the size of a buffer of the system on to a builder, unless the system
	 * decides.
	 */
	void setBufferSize(String property, @Nullable DataSize value, Consumer<Integer> setter) {
		if (value != null) {
			setSize(property, value, setter, "be from 1024 to 1073741824 bytes");
		}
	}

	/**
	 * Converts a value, which also checks it.
	 * @param rule the accepted values, as the rest of a sentence after "must"
	 */
	<V, R> R get(String property, V value, Function<V, R> factory, String rule) {
		try {
			return factory.apply(value);
		}
		catch (IllegalArgumentException ex) {
			throw invalid(property, value, "Must %s.".formatted(rule), ex);
		}
	}

	/** Converts a value, if the exception alone is a sufficient message. */
	<V, R> R get(String property, V value, Function<V, R> factory) {
		try {
			return factory.apply(value);
		}
		catch (IllegalArgumentException ex) {
			throw invalid(property, value, ex.getMessage() + ".", ex);
		}
	}

	/**
	 * The failure analysis of Boot prints the value, and a missing value is printed as
	 * empty.
	 */
	InvalidConfigurationPropertyValueException missing(String property, String reason) {
		return invalid(property, "", reason);
	}

	InvalidConfigurationPropertyValueException invalid(String property, @Nullable Object value, String reason) {
		return invalid(property, value, reason, null);
	}

	private InvalidConfigurationPropertyValueException invalid(String property, @Nullable Object value, String reason,
			@Nullable Throwable cause) {
		return new InvalidConfigurationPropertyValueException(key(property), value, reason, cause);
	}

}
