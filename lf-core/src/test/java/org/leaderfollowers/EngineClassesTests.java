package org.leaderfollowers;

import java.util.ArrayList;
import java.util.List;

import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for {@link EngineClasses}.
 */
class EngineClassesTests {

	/** At run time, a class that does not exist any more is only a line of the log. */
	@Test
	void allExist() {
		List<String> missing = new ArrayList<>();
		for (String name : EngineClasses.NAMES) {
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
