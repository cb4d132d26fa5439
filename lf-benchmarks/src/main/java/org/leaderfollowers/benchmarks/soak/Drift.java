package org.leaderfollowers.benchmarks.soak;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;

/**
 * Decides whether a figure drifts.
 * <p>
 * Only samples of quiet moments count, because a figure that rises in an attack has to
 * fall again afterwards. The first quarter of them is left out: until then classes are
 * loaded, code is compiled, and buffers of threads are allocated. The slope is the median
 * of the slopes between each two of the samples (the Theil-Sen estimator), so that less
 * than 29 percent of the samples can be disturbed without any effect. The slope times the
 * time between the first and the last of these samples is how much the figure has grown.
 * If this is more than the figure may grow, it drifts. A figure may grow by a share of
 * its median, or by a fixed amount, whichever is more.
 *
 * @param figure the figure
 * @param share how much it may grow, as a share of its median
 * @param amount how much it may grow in any case
 * @param leastSamples with fewer samples, there is no decision
 */
record Drift(Sample.Figure figure, double share, double amount, int leastSamples) {

	private static final int FEW = 3;

	private static final int MANY = 12;

	private static final double MEGABYTE = 1024 * 1024;

	/**
	 * The rules of a soak. Threads and their buffers have a margin, since the pool has
	 * more threads when the machine is busy. Latency has a wide margin and needs many
	 * samples, since other programs on the machine change it.
	 */
	static final List<Drift> RULES = List.of(new Drift(Sample.Figure.HEAP, 0.1, 2 * MEGABYTE, FEW),
			new Drift(Sample.Figure.DIRECT, 0.1, 4 * MEGABYTE, FEW), new Drift(Sample.Figure.DESCRIPTORS, 0, 8, FEW),
			new Drift(Sample.Figure.THREADS, 0, 16, FEW), new Drift(Sample.Figure.CONNECTIONS, 0, 2, FEW),
			new Drift(Sample.Figure.BUFFERED, 0, 64 * 1024, FEW), new Drift(Sample.Figure.P99_MS, 1, 100, MANY));

	/**
	 * What a figure did.
	 *
	 * @param growth how much it has grown
	 * @param allowed how much it may grow
	 */
	record Finding(double growth, double allowed) {

		boolean drifts() {
			return this.growth > this.allowed;
		}

	}

	/**
	 * Judges a figure.
	 * @param samples all samples, in order
	 * @return nothing if there are too few, of which the first quarter does not count
	 */
	Optional<Finding> judge(List<Sample> samples) {
		List<Sample> quiet = samples.stream()
			.filter((sample) -> sample.quiet() && !Double.isNaN(sample.value(this.figure)))
			.toList();
		List<Sample> judged = quiet.subList((quiet.size() + 3) / 4, quiet.size());
		if (judged.size() < this.leastSamples) {
			return Optional.empty();
		}
		List<Double> slopes = new ArrayList<>();
		for (int i = 0; i < judged.size(); i++) {
			for (int j = i + 1; j < judged.size(); j++) {
				slopes.add((judged.get(j).value(this.figure) - judged.get(i).value(this.figure))
						/ (judged.get(j).seconds() - judged.get(i).seconds()));
			}
		}
		double duration = judged.get(judged.size() - 1).seconds() - judged.get(0).seconds();
		double middle = median(judged.stream().mapToDouble((sample) -> sample.value(this.figure)).toArray());
		return Optional.of(new Finding(median(slopes.stream().mapToDouble(Double::doubleValue).toArray()) * duration,
				Math.max(this.share * middle, this.amount)));
	}

	private static double median(double[] values) {
		Arrays.sort(values);
		int half = values.length / 2;
		return (values.length % 2 == 1) ? values[half] : (values[half - 1] + values[half]) / 2;
	}

}
