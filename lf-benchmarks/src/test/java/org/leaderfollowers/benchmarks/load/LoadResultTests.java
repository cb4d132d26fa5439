package org.leaderfollowers.benchmarks.load;

import java.util.List;

import org.HdrHistogram.Histogram;
import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

/**
 * The line that machines read, and the arguments that people write.
 */
class LoadResultTests {

	@Test
	void aResultIsRestoredFromItsLine() {
		Histogram latencyNs = LoadResult.histogram();
		for (int i = 1; i <= 1000; i++) {
			latencyNs.recordValue(i * 1000L);
		}
		Histogram latenessNs = LoadResult.histogram();
		latenessNs.recordValue(5000);
		LoadResult result = new LoadResult(1000, 2, 3, 1500, 0.5, 0.25, latencyNs, latenessNs);
		assertThat(result.line()).startsWith("RESULT requests=1000 errors=2 unsent=3 total=1500 rps=2000.0")
			.contains(" p50=500", " p99=99", " max=10", " lateness-p99=5.0 ")
			.doesNotContain("\n");
		LoadResult restored = LoadResult.parse(result.line());
		assertThat(restored).isEqualTo(result);
		assertThat(restored.latencyUs(50)).isEqualTo(result.latencyUs(50));
	}

	@Test
	void aLoadIsRestoredFromItsArguments() {
		Load load = new Load("example.org", 7071, 1000, 16, 4096, 20_000, 0.5, 2.5, 12);
		assertThat(Load.of(new Arguments(load.arguments()))).isEqualTo(load);
	}

	@Test
	void argumentsThatNobodyKnowsAreRejected() {
		Arguments arguments = new Arguments(List.of("--rate=60_000", "--tiem=3", "--list=a,b"));
		assertThat(arguments.number("rate", 0)).isEqualTo(60_000);
		assertThat(arguments.list("list", "")).containsExactly("a", "b");
		assertThat(arguments.list("other", "")).isEmpty();
		assertThatIllegalArgumentException().isThrownBy(arguments::rejectUnread).withMessageContaining("--tiem");
		assertThatIllegalArgumentException().isThrownBy(() -> new Arguments(List.of("rate=3")));
	}

}
