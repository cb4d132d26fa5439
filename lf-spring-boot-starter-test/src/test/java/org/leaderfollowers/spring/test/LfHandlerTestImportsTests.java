package org.leaderfollowers.spring.test;

import org.junit.jupiter.api.Test;

import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.context.annotation.ImportCandidates;

import static org.assertj.core.api.Assertions.assertThat;

/** The slice imports all auto-configurations of this project that handlers need. */
class LfHandlerTestImportsTests {

	@Test
	void importsWhatHandlersNeed() {
		ClassLoader classLoader = getClass().getClassLoader();
		ImportCandidates own = ImportCandidates.load(LfHandlerTest.class, classLoader);
		assertThat(ImportCandidates.load(AutoConfiguration.class, classLoader))
			.filteredOn((name) -> name.startsWith("org.leaderfollowers.") && !name.contains("Endpoint")
					&& !name.contains("Metrics") && !name.contains("Contributor"))
			.isNotEmpty()
			.isSubsetOf(own);
	}

}
