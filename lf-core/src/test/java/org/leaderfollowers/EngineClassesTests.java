package org.leaderfollowers;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Stream;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for {@link EngineClasses}.
 */
class EngineClassesTests {

	/**
	 * At run time, a class that does not exist any more is only a line of the log. The
	 * tables for {@code switch} statements differ between compilers.
	 */
	@Test
	void allExist() {
		List<String> missing = new ArrayList<>();
		List<String> names = EngineClasses.NAMES.stream().filter((name) -> !name.matches(".*\\$\\d+")).toList();
		for (String name : names) {
			try {
				Class.forName("org.leaderfollowers." + name, false, EngineClasses.class.getClassLoader());
			}
			catch (ClassNotFoundException ex) {
				missing.add(name);
			}
		}
		assertThat(missing).isEmpty();
	}

	/**
	 * An operator looks at them when no descriptor is left, and then no class can be read
	 * from a directory.
	 */
	@ParameterizedTest
	@ValueSource(classes = { PoolSnapshot.class, ServerSnapshot.class, ClientSnapshot.class, ConnectionSnapshot.class,
			LatencySnapshot.class })
	void snapshotsAreAmongThemWithAllTheirParts(Class<?> snapshot) {
		assertThat(Stream.concat(Stream.of(snapshot), Arrays.stream(snapshot.getDeclaredClasses()))
			.map((type) -> type.getName().substring("org.leaderfollowers.".length()))).isSubsetOf(EngineClasses.NAMES);
	}

}
