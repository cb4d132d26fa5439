package org.leaderfollowers.spring.health;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.RecordComponent;
import java.util.Arrays;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;

import org.jspecify.annotations.Nullable;

import static org.assertj.core.api.Assertions.assertThat;

/** Snapshots of states that an engine without a fault does not reach. */
final class Snapshots {

	private Snapshots() {
	}

	/**
	 * Copies a record with other values for some of its components.
	 * @param record the record
	 * @param values the other values, by the names of the components
	 */
	static <R extends Record> R with(R record, Map<String, ? extends @Nullable Object> values) {
		RecordComponent[] components = record.getClass().getRecordComponents();
		assertThat(names(components)).containsAll(values.keySet());
		try {
			Object[] arguments = new Object[components.length];
			for (int i = 0; i < components.length; i++) {
				String name = components[i].getName();
				arguments[i] = values.containsKey(name) ? values.get(name) : components[i].getAccessor().invoke(record);
			}
			Class<?>[] types = Arrays.stream(components).map(RecordComponent::getType).toArray(Class<?>[]::new);
			@SuppressWarnings("unchecked")
			R copy = (R) record.getClass().getDeclaredConstructor(types).newInstance(arguments);
			return copy;
		}
		catch (InstantiationException | IllegalAccessException | NoSuchMethodException | InvocationTargetException ex) {
			throw new IllegalStateException(ex);
		}
	}

	private static Set<String> names(RecordComponent[] components) {
		return Arrays.stream(components).map(RecordComponent::getName).collect(Collectors.toSet());
	}

}
