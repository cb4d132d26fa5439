package org.leaderfollowers.benchmarks.results;

import java.util.List;

import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Medians and ranges.
 */
class SummaryTests {

	@Test
	void theMedianIsTheOneInTheMiddleOrBetweenTheTwoInTheMiddle() {
		assertThat(Summary.of(List.of(3.0))).contains(new Summary(3, 3, 3, 1));
		assertThat(Summary.of(List.of(9.0, 1.0, 3.0))).contains(new Summary(3, 1, 9, 3));
		assertThat(Summary.of(List.of(9.0, 1.0, 3.0, 5.0))).contains(new Summary(4, 1, 9, 4));
		assertThat(Summary.of(List.of())).isEmpty();
	}

	@Test
	void readersGetTheRangeIfThereIsOne() {
		assertThat(new Summary(12_345.678, 1000, 20_000, 5).text(0)).isEqualTo("12,346 (1,000–20,000)");
		assertThat(new Summary(1.054, 1.05, 1.06, 2).text(2)).isEqualTo("1.05 (1.05–1.06)");
		assertThat(new Summary(1.054, 1.054, 1.054, 1).text(1)).isEqualTo("1.1");
	}

	@Test
	void aValueBetweenTheEndsIsSpanned() {
		Summary summary = new Summary(1.1, 0.9, 1.2, 3);
		assertThat(summary.spans(1)).isTrue();
		assertThat(summary.spans(0.9)).isFalse();
		assertThat(summary.spans(1.3)).isFalse();
	}

}
