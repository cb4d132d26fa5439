package org.leaderfollowers.benchmarks.soak;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.IntToDoubleFunction;

import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;

class DriftTests {

	private static final Drift DESCRIPTORS = new Drift(Sample.Figure.DESCRIPTORS, 0, 8, 3);

	private static final Drift HEAP = new Drift(Sample.Figure.HEAP, 0.1, 1000, 3);

	@Test
	void aFigureThatMovesUpAndDownDoesNotDrift() {
		Drift.Finding finding = DESCRIPTORS.judge(samples(60, (i) -> 30 + i % 5)).orElseThrow();
		assertThat(finding.drifts()).isFalse();
		assertThat(finding.growth()).isZero();
	}

	@Test
	void oneDescriptorInFiveMinutesIsADrift() {
		Drift.Finding finding = DESCRIPTORS.judge(samples(60, (i) -> 30 + i / 5)).orElseThrow();
		assertThat(finding.growth()).isBetween(8.0, 10.0);
		assertThat(finding.drifts()).isTrue();
	}

	@Test
	void aQuarterOfTheSamplesCanBeDisturbed() {
		assertThat(DESCRIPTORS.judge(samples(60, (i) -> (i > 48) ? 500 : 30)).orElseThrow().drifts()).isFalse();
	}

	@Test
	void theBeginningDoesNotCount() {
		assertThat(DESCRIPTORS.judge(samples(60, (i) -> 30 + Math.min(i, 15))).orElseThrow().drifts()).isFalse();
	}

	@Test
	void samplesOfDisturbedMomentsDoNotCount() {
		List<Sample> samples = samples(8, (i) -> 30);
		for (int i = 0; i < 100; i++) {
			samples.add(new Sample(1000 + i, false, Map.of(Sample.Figure.DESCRIPTORS, 1000.0 * i)));
		}
		assertThat(DESCRIPTORS.judge(samples).orElseThrow().growth()).isZero();
	}

	@Test
	void aFigureMayGrowByAShareOfItsMedian() {
		assertThat(HEAP.judge(samples(60, Sample.Figure.HEAP, (i) -> 100_000 + 100 * i)).orElseThrow().drifts())
			.isFalse();
		assertThat(HEAP.judge(samples(60, Sample.Figure.HEAP, (i) -> 100_000 + 400 * i)).orElseThrow().drifts())
			.isTrue();
	}

	@Test
	void fewSamplesAreNotJudged() {
		assertThat(DESCRIPTORS.judge(samples(3, (i) -> 30))).isEmpty();
		assertThat(DESCRIPTORS.judge(samples(4, (i) -> 30))).isPresent();
	}

	private static List<Sample> samples(int count, IntToDoubleFunction value) {
		return samples(count, Sample.Figure.DESCRIPTORS, value);
	}

	private static List<Sample> samples(int count, Sample.Figure figure, IntToDoubleFunction value) {
		List<Sample> samples = new ArrayList<>();
		for (int i = 0; i < count; i++) {
			samples.add(new Sample(60 * i, true, Map.of(figure, value.applyAsDouble(i))));
		}
		return samples;
	}

}
