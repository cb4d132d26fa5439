package org.leaderfollowers.benchmarks.results;

import java.util.Arrays;

import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * The paper is right where the figures say so, and only there.
 */
class ClaimTests {

	private static final Scenario ECHO = Scenario.closed("none", 64);

	private static final Claim LESS = new Claim("", ECHO, Metric.CPU_US, Servers.HALF_SYNC, Claim.Relation.LESS);

	private static final Claim NOT_MORE = new Claim("", ECHO, Metric.CPU_US, Servers.HALF_SYNC,
			Claim.Relation.NOT_MORE);

	private static final Claim MORE = new Claim("", ECHO, Metric.CPU_US, Servers.HALF_SYNC, Claim.Relation.MORE);

	@Test
	void aClearDifferenceDecides() {
		assertThat(verdict(LESS, 50, 60)).isEqualTo("agrees");
		assertThat(verdict(NOT_MORE, 50, 60)).isEqualTo("agrees");
		assertThat(verdict(MORE, 50, 60)).isEqualTo("does not agree");
		assertThat(verdict(LESS, 150, 160)).isEqualTo("does not agree");
		assertThat(verdict(NOT_MORE, 150, 160)).isEqualTo("does not agree");
		assertThat(verdict(MORE, 150, 160)).isEqualTo("agrees");
	}

	@Test
	void aSmallDifferenceIsNone() {
		assertThat(verdict(LESS, 98, 98)).isEqualTo("does not agree");
		assertThat(verdict(NOT_MORE, 102, 102)).isEqualTo("agrees");
		assertThat(verdict(MORE, 102, 102)).isEqualTo("does not agree");
	}

	@Test
	void roundsThatDisagreeAreSaid() {
		assertThat(verdict(LESS, 60, 70, 110)).isEqualTo("agrees (not in every round)");
		assertThat(verdict(LESS, 60, 120, 130)).isEqualTo("does not agree (not in every round)");
	}

	@Test
	void nothingIsSaidOfWhatWasNotMeasured() {
		assertThat(LESS.check(new Fixture().with(ECHO, Servers.HALF_SYNC, Metric.CPU_US, 1).results(), Servers.EAGER))
			.isEmpty();
	}

	private static String verdict(Claim claim, double... values) {
		double[] references = new double[values.length];
		Arrays.fill(references, 100);
		Results results = new Fixture().with(ECHO, Servers.EAGER, Metric.CPU_US, values)
			.with(ECHO, Servers.HALF_SYNC, Metric.CPU_US, references)
			.results();
		return claim.check(results, Servers.EAGER).orElseThrow().verdict();
	}

}
