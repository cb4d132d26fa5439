package org.leaderfollowers.internal.demultiplexing;

import java.util.Arrays;

import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.leaderfollowers.interleavings.Exploration;
import org.leaderfollowers.interleavings.Interleaving;
import org.leaderfollowers.interleavings.Mutation;
import org.leaderfollowers.interleavings.Scenario;

/**
 * The interleavings of a leader that adds ready handles and of threads that take them:
 * each handle is taken once, in the order in which it became ready.
 */
@Tag("interleavings")
class ReadyQueueInterleavingTests {

	private enum Rule {

		A_HANDLE_IS_TAKEN_BY_COMPARE_AND_SET(Mutation.setsWithoutComparing(ReadyQueue.class, "take")),

		THE_LEADER_OVERWRITES_NO_HANDLE_THAT_WAITS(Mutation.withoutCall(Queue.class, "lead", "reserve")),

		THE_LEADER_FORGETS_HANDLES_WHEN_ALL_HAVE_BEEN_TAKEN(
				Mutation.movedBefore(Queue.class, "lead", "clear", "await"));

		private final Mutation mutation;

		Rule(Mutation mutation) {
			this.mutation = mutation;
		}

	}

	@Test
	void eachHandleIsTakenOnce() {
		Exploration.of(Queue.class, 2, 1).preemptions(2).assertSound();
	}

	@Test
	@Tag("stress")
	void eachHandleIsTakenOnceByThreeThreads() {
		Exploration.of(Queue.class, 3, 2).preemptions(1).assertSound();
	}

	@ParameterizedTest
	@EnumSource
	void noRuleCanBeDropped(Rule rule) {
		Exploration.of(Queue.class, 2, 1).preemptions(2).with(rule.mutation).assertViolated();
	}

	/**
	 * The second batch makes the ring grow.
	 */
	static final class Queue implements Scenario {

		private static final int FIRST = 2;

		private static final int HANDLES = 5;

		private final ReadyQueue<Integer> queue = new ReadyQueue<>(2);

		private final int takers;

		private final int rounds;

		private final int[] taken;

		private boolean done;

		Queue(int takers, int rounds) {
			this.takers = takers;
			this.rounds = rounds;
			this.taken = new int[HANDLES * rounds];
		}

		@Override
		public void begin() {
			Interleaving.start("leader", () -> {
				for (int i = 0; i < this.rounds; i++) {
					lead(i * HANDLES, i * HANDLES + FIRST);
					lead(i * HANDLES + FIRST, (i + 1) * HANDLES);
				}
				this.done = true;
			});
			for (int i = 0; i < this.takers; i++) {
				Interleaving.start("taker", this::take);
			}
		}

		private void lead(int from, int to) {
			for (int handle = from; handle < to; handle++) {
				this.queue.reserve();
				this.queue.add(handle);
			}
			await();
			this.queue.clear();
		}

		private void await() {
			Interleaving.await("all are taken", this.queue::isEmpty);
		}

		private void take() {
			while (!this.done || !this.queue.isEmpty()) {
				Interleaving.await("one is ready", () -> this.done || !this.queue.isEmpty());
				Integer handle = this.queue.take();
				if (handle != null) {
					this.taken[handle]++;
				}
				else if (this.queue.size() < 0) {
					Interleaving.fail("fewer than none");
				}
			}
		}

		@Override
		public @Nullable String violationAtRest() {
			boolean each = Arrays.stream(this.taken).allMatch((times) -> times == 1);
			return (each && this.queue.size() == 0) ? null : "taken: " + Arrays.toString(this.taken);
		}

	}

}
