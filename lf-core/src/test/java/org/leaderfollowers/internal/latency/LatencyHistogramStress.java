package org.leaderfollowers.internal.latency;

import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.JJJ_Result;

/**
 * Several threads record in one {@link LatencyHistogram}.
 */
public class LatencyHistogramStress {

	private static void read(LatencyHistogram histogram, JJJ_Result result) {
		LatencyHistogram.Sum sum = new LatencyHistogram.Sum();
		histogram.addTo(sum);
		for (int bucket = 0; bucket < LatencyHistogram.BUCKETS; bucket++) {
			result.r1 += sum.count(bucket);
		}
		result.r2 = sum.totalNanos();
		result.r3 = sum.maxNanos();
	}

	/**
	 * The same bucket, with every kind of collision.
	 */
	@JCStressTest
	@State
	@Outcome(id = "4, 29, 8", expect = Expect.ACCEPTABLE, desc = "nothing is lost")
	@Outcome(expect = Expect.FORBIDDEN, desc = "something is")
	public static class Record {

		private final LatencyHistogram histogram = new LatencyHistogram();

		@Actor
		public void first() {
			this.histogram.record(7);
			this.histogram.record(7);
		}

		@Actor
		public void second() {
			this.histogram.record(7);
			this.histogram.record(8);
		}

		@Arbiter
		public void outcome(JJJ_Result result) {
			read(this.histogram, result);
		}

	}

	/**
	 * One records, and another one reads.
	 */
	@JCStressTest
	@State
	@Outcome(id = "0, (0|5|12), (0|5|7)", expect = Expect.ACCEPTABLE, desc = "nothing counted yet")
	@Outcome(id = "1, (5|12), (5|7)", expect = Expect.ACCEPTABLE, desc = "one counted")
	@Outcome(id = "2, 12, 7", expect = Expect.ACCEPTABLE, desc = "both counted")
	@Outcome(expect = Expect.FORBIDDEN, desc = "counted what is not in the total and the greatest")
	public static class RecordAlone {

		private final LatencyHistogram histogram = new LatencyHistogram();

		@Actor
		public void leader() {
			this.histogram.recordAlone(5);
			this.histogram.recordAlone(7);
		}

		@Actor
		public void reader(JJJ_Result result) {
			read(this.histogram, result);
		}

	}

}
