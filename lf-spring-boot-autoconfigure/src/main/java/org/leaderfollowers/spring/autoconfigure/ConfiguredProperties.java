package org.leaderfollowers.spring.autoconfigure;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.Consumer;
import java.util.function.Function;

import org.jspecify.annotations.Nullable;

import org.springframework.boot.context.properties.bind.Binder;
import org.springframework.boot.context.properties.source.InvalidConfigurationPropertyValueException;

/**
 * The properties of one server or pool and the prefix that they have.
 *
 * @param <P> the type of the properties
 * @param prefix the prefix of the properties, without a dot at its end
 * @param values the values of the properties
 */
record ConfiguredProperties<P>(String prefix, P values) {

	static final String DEFAULT_NAME = "default";

	/**
	 * Properties that have their default values.
	 */
	static <P extends Record> ConfiguredProperties<P> defaults(String prefix, Class<P> type) {
		return new ConfiguredProperties<>(prefix, new Binder().bindOrCreate(prefix, type));
	}

	/**
	 * Finds the properties of all servers, or all pools.
	 * @param singular the prefix for the one that is named 'default'
	 * @param one the properties with that prefix, if any is set
	 * @param plural the prefix for those with other names
	 * @param others the properties with that prefix
	 * @return the properties by name
	 */
	static <P> Map<String, ConfiguredProperties<P>> byName(String singular, @Nullable P one, String plural,
			Map<String, P> others) {
		if (one != null && others.containsKey(DEFAULT_NAME)) {
			throw new AmbiguousPropertiesException(singular, plural + "." + DEFAULT_NAME);
		}
		Map<String, ConfiguredProperties<P>> byName = new LinkedHashMap<>();
		if (one != null) {
			byName.put(DEFAULT_NAME, new ConfiguredProperties<>(singular, one));
		}
		others.forEach((name, values) -> byName.put(name, new ConfiguredProperties<>(plural + "." + name, values)));
		return byName;
	}

	String key(String property) {
		return this.prefix + "." + property;
	}

	/**
	 * Hands a value on to a builder, which checks it.
	 */
	<V> void set(String property, V value, Consumer<V> setter) {
		get(property, value, (checked) -> {
			setter.accept(checked);
			return checked;
		});
	}

	/**
	 * Makes something of a value, which is checked thereby.
	 */
	<V, R> R get(String property, V value, Function<V, R> factory) {
		try {
			return factory.apply(value);
		}
		catch (IllegalArgumentException ex) {
			throw invalid(property, value, reason(ex), ex);
		}
	}

	/**
	 * Removes from the message of a builder what a failure analysis says already.
	 */
	private String reason(IllegalArgumentException failure) {
		return String.valueOf(failure.getMessage())
			.replaceFirst("^'\\w+' (\\(\\d+\\) )?must", "Must")
			.replaceFirst(", but is [^,]*$", "") + ".";
	}

	InvalidConfigurationPropertyValueException invalid(String property, @Nullable Object value, String reason) {
		return invalid(property, value, reason, null);
	}

	private InvalidConfigurationPropertyValueException invalid(String property, @Nullable Object value, String reason,
			@Nullable Throwable cause) {
		return new InvalidConfigurationPropertyValueException(key(property), value, reason, cause);
	}

}
