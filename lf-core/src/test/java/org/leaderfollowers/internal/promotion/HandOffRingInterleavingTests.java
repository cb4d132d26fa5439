package org.leaderfollowers.internal.promotion;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.leaderfollowers.interleavings.Exploration;
import org.leaderfollowers.interleavings.Interleaving;
import org.leaderfollowers.interleavings.Mutation;
import org.leaderfollowers.interleavings.Scenario;

/**
 * The interleavings of leaders who record their hand-offs and a thread that reads them:
 * nothing is torn, nothing is invented, and every hand-off that is kept is found.
 */
@Tag("interleavings")
class HandOffRingInterleavingTests {

	private static final int CAPACITY = 2;

	private enum Rule {

		THE_SEQUENCE_NUMBER_IS_WRITTEN_BEFORE_THE_FIELDS(
				Mutation.movedBefore(HandOffRing.class, "add", "setOpaque", "setRelease")),

		A_HAND_OFF_COUNTS_WHEN_ITS_FIELDS_HAVE_BEEN_WRITTEN(
				Mutation.movedBefore(HandOffRing.class, "add", "setRelease", "storeStoreFence")),

		THE_READER_LOOKS_AT_THE_SEQUENCE_NUMBER_AFTER_THE_FIELDS(
				Mutation.calledBefore(HandOffRing.class, "read", "getOpaque", "nanos"));

		private final Mutation mutation;

		Rule(Mutation mutation) {
			this.mutation = mutation;
		}

	}

	@Test
	void readsAreWholeAndTrueAndNothingKeptIsMissed() {
		Exploration.of(Ring.class, 4, 2).assertSound();
	}

	@Test
	@Tag("stress")
	void readsAreWholeAndTrueTwiceRoundTheRing() {
		Exploration.of(Ring.class, 5, 3).preemptions(3).assertSound();
	}

	@ParameterizedTest
	@EnumSource
	void noRuleCanBeDropped(Rule rule) {
		Exploration.of(Ring.class, 4, 2).with(rule.mutation).assertViolated();
	}

	/**
	 * One thread stands for all leaders: there is one at a time, who sees what the one
	 * before wrote.
	 */
	static final class Ring implements Scenario {

		private final HandOffRing<String> ring = new HandOffRing<>(CAPACITY);

		private final int handOffs;

		private final int reads;

		private int begun;

		Ring(int handOffs, int reads) {
			this.handOffs = handOffs;
			this.reads = reads;
		}

		@Override
		public void begin() {
			Interleaving.start("leaders", () -> {
				for (int i = 1; i <= this.handOffs; i++) {
					this.begun = i;
					this.ring.add(i, i, i, null, "leader " + i, "work " + i, i);
				}
			});
			Interleaving.start("reader", () -> {
				for (int i = 0; i < this.reads; i++) {
					read();
				}
			});
		}

		private void read() {
			long latest = this.ring.latest();
			HandOffRing.Copy<String> copy = new HandOffRing.Copy<>();
			for (long sequence = Math.max(1, latest - CAPACITY + 1); sequence <= latest; sequence++) {
				if (!this.ring.read(sequence, copy)) {
					if (this.begun < sequence + CAPACITY) {
						Interleaving.fail("hand-off %d is missed".formatted(sequence));
					}
				}
				else if (copy.nanos() != sequence || copy.vacancyNanos() != sequence || copy.kind() != sequence
						|| copy.workNumber() != sequence || !copy.to().equals("leader " + sequence)
						|| !("work " + sequence).equals(copy.work())) {
					Interleaving.fail("hand-off %d is torn".formatted(sequence));
				}
			}
		}

		@Override
		public String violationAtRest() {
			return (this.ring.latest() == this.handOffs) ? null : "a hand-off is lost";
		}

	}

}
