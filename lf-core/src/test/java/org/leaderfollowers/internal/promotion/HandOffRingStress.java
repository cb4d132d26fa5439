package org.leaderfollowers.internal.promotion;

import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.JJJ_Result;

/**
 * Reads a {@link HandOffRing} while leaders write it. A hand-off of these tests has its
 * sequence number in every field.
 */
public class HandOffRingStress {

	/** What was read, as one number: the same as the sequence number if it is whole. */
	private static long read(HandOffRing<Long> ring, long sequence) {
		HandOffRing.Copy<Long> copy = new HandOffRing.Copy<>();
		if (!ring.read(sequence, copy)) {
			return 0;
		}
		String name = Long.toString(sequence);
		Long work = copy.work();
		boolean whole = copy.nanos() == sequence && copy.vacancyNanos() == sequence && copy.kind() == sequence
				&& copy.workNumber() == sequence && copy.to().equals(name) && name.equals(copy.from()) && work != null
				&& work == sequence;
		return whole ? sequence : -1;
	}

	private static void add(HandOffRing<Long> ring, long number) {
		String name = Long.toString(number);
		ring.add(number, number, (int) number, name, name, number, number);
	}

	/**
	 * The slot that is read is overwritten meanwhile.
	 */
	@JCStressTest
	@State
	@Outcome(id = { "1, 0, 0", "1, 1, 0", "2, 0, 2", "2, 1, 2" }, expect = Expect.ACCEPTABLE,
			desc = "what is read is whole, and what is known is there")
	@Outcome(expect = Expect.FORBIDDEN, desc = "torn, invented, or lost")
	public static class Overwritten {

		private final HandOffRing<Long> ring = new HandOffRing<>(1);

		public Overwritten() {
			HandOffRingStress.add(this.ring, 1);
		}

		@Actor
		public void leader() {
			HandOffRingStress.add(this.ring, 2);
		}

		@Actor
		public void reader(JJJ_Result result) {
			result.r2 = read(this.ring, 1);
			result.r1 = this.ring.latest();
			result.r3 = (result.r1 == 2) ? read(this.ring, 2) : 0;
		}

	}

	/**
	 * The slot that is read is overwritten again and again.
	 */
	@JCStressTest
	@State
	@Outcome(id = { "[1234], 0, 0", "1, 1, 0", "2, 2, 0", "3, 3, 0", "4, 4, 0" }, expect = Expect.ACCEPTABLE,
			desc = "whole, or overwritten")
	@Outcome(expect = Expect.FORBIDDEN, desc = "torn or invented")
	public static class OverwrittenAgain {

		private final HandOffRing<Long> ring = new HandOffRing<>(1);

		public OverwrittenAgain() {
			HandOffRingStress.add(this.ring, 1);
		}

		@Actor
		public void leader() {
			for (int number = 2; number <= 4; number++) {
				HandOffRingStress.add(this.ring, number);
			}
		}

		@Actor
		public void reader(JJJ_Result result) {
			result.r1 = this.ring.latest();
			result.r2 = read(this.ring, result.r1);
		}

	}

	/**
	 * A hand-off that is known and not overwritten is there.
	 */
	@JCStressTest
	@State
	@Outcome(id = { "1, 1, 0", "2, 1, 2" }, expect = Expect.ACCEPTABLE, desc = "all that is known is there")
	@Outcome(expect = Expect.FORBIDDEN, desc = "torn or lost")
	public static class Kept {

		private final HandOffRing<Long> ring = new HandOffRing<>(2);

		public Kept() {
			HandOffRingStress.add(this.ring, 1);
		}

		@Actor
		public void leader() {
			HandOffRingStress.add(this.ring, 2);
		}

		@Actor
		public void reader(JJJ_Result result) {
			result.r1 = this.ring.latest();
			result.r2 = read(this.ring, 1);
			result.r3 = (result.r1 == 2) ? read(this.ring, 2) : 0;
		}

	}

}
