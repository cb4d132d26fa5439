package org.leaderfollowers.benchmarks.soak;

import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * A whole soak, in small.
 */
@Timeout(600)
class SoakTests {

	@TempDir
	Path directory;

	private final ByteArrayOutputStream out = new ByteArrayOutputStream();

	@Test
	void aShortSoakIsClean() throws Exception {
		assertThat(soak("--minutes=0.2", "--plant=nothing")).as(this.out.toString(StandardCharsets.UTF_8)).isTrue();
		assertThat(this.directory.resolve("soak.csv")).content()
			.startsWith("seconds,quiet,heap,direct,descriptors,threads,")
			.contains(",true,")
			.contains(",false,");
		assertThat(this.directory.resolve("soak.svg")).content().startsWith("<svg").contains("descriptors, quiet");
		assertThat(this.directory.resolve("soak.txt")).content().contains("descriptors: grew by").contains("Verdict: ");
	}

	@Test
	void descriptorsThatAreLeftOpenAreNoticed() throws Exception {
		assertThat(soak("--minutes=0.2", "--plant=descriptors")).isFalse();
		assertThat(this.out.toString(StandardCharsets.UTF_8)).contains("Problem: descriptors drifts")
			.contains("Problem: The process was left with more descriptors");
	}

	@Tag("stress")
	@ParameterizedTest
	@EnumSource(names = { "HEAP", "THREADS" })
	void aLeakIsNoticed(Plant plant) throws Exception {
		String figure = plant.name().toLowerCase(Locale.ROOT);
		// The faster the machine, the more leaks until the end.
		assertThat(soak("--minutes=0.5", "--plant=" + figure, "--vm=-Xmx2g")).isFalse();
		assertThat(this.out.toString(StandardCharsets.UTF_8)).contains("Problem: " + figure + " drifts")
			.contains("Problem: The process was left with more " + figure);
	}

	@Tag("stress")
	@Test
	void repliesThatComeTwiceAreNoticed() throws Exception {
		assertThat(soak("--minutes=0.2", "--plant=replies")).isFalse();
		assertThat(this.out.toString(StandardCharsets.UTF_8)).contains("that were not the next one");
	}

	private boolean soak(String... args) throws Exception {
		List<String> all = new ArrayList<>(List.of(args));
		all.addAll(List.of("--cycle=2.4", "--interval=1", "--timeout=120", "--output=" + this.directory));
		return Soak.run(all, new PrintStream(this.out, true, StandardCharsets.UTF_8));
	}

}
