package org.leaderfollowers.docs.monitoring;

import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for {@link PromQl}.
 */
class PromQlTests {

	@Test
	void metricsAndLabelsAreFound() {
		PromQl query = PromQl
			.of("""
					histogram_quantile(0.99, sum by (le, server) (rate(a_bucket{job=~"$job",x="a by (b) {"}[$__rate_interval])))
					/ ignoring (role) group_left () (b_total > 0) unless on (job) c offset 5m or vector(0)""");
		assertThat(query.selectors()).extracting(PromQl.Selector::metric).containsExactly("a_bucket", "b_total", "c");
		assertThat(query.selectors().get(0).labels()).containsExactly("job", "x");
		assertThat(query.groupingLabels()).contains("job", "le", "role", "server");
	}

	@Test
	void recordedNamesAreFound() {
		assertThat(PromQl.of("(present_over_time(job:x:count[1d]) unless job:y:count)").selectors())
			.extracting(PromQl.Selector::metric)
			.containsExactly("job:x:count", "job:y:count");
	}

}
