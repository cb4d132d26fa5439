package org.leaderfollowers;

import java.util.ArrayList;
import java.util.List;

import org.junit.jupiter.api.Test;

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

}
