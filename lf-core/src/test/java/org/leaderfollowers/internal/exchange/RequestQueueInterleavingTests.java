package org.leaderfollowers.internal.exchange;

import java.util.Arrays;
import java.util.Queue;

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
 * The interleavings of threads that add requests and of one that reads: each request is
 * written once, by one thread at a time. If a request fails, one of the threads is told.
 */
@Tag("interleavings")
class RequestQueueInterleavingTests {

	private enum Rule {

		A_HOLDER_LOOKS_ONCE_MORE_AFTER_IT_HAS_LET_GO(Mutation.withoutCall(RequestQueue.class, "letGo", "flush")),

		A_THREAD_THAT_WROTE_LOOKS_ONCE_MORE_AFTER_IT_HAS_LET_GO(
				Mutation.movedBefore(RequestQueue.class, "add", "flush", "add")),

		WHAT_WAS_ADDED_MEANWHILE_IS_WRITTEN(Mutation.withoutCall(RequestQueue.class, "add", "flush")),

		ONE_THREAD_AT_A_TIME_HOLDS_THE_QUEUE(Mutation.callReturns(RequestQueue.class, "flush", "hold", 1));

		private final Mutation mutation;

		Rule(Mutation mutation) {
			this.mutation = mutation;
		}

	}

	@Test
	void eachRequestIsWrittenOnce() {
		Exploration.of(Requests.class, 2).preemptions(2).assertSound();
	}

	@Test
	@Tag("stress")
	void eachRequestOfThreeThreadsIsWrittenOnce() {
		Exploration.of(Requests.class, 3).preemptions(2).assertSound();
	}

	@Test
	void aFailureIsToldAlthoughOthersAddMeanwhile() {
		Exploration.of(FailingRequest.class).preemptions(2).assertSound();
	}

	@ParameterizedTest
	@EnumSource
	void noRuleCanBeDropped(Rule rule) {
		Exploration.of(Requests.class, 2).preemptions(2).with(rule.mutation).assertViolated();
	}

	/**
	 * A writer that takes one request at a time, and a reader that holds the queue once.
	 */
	static final class Requests implements Scenario {

		private final RequestQueue<Integer> queue = new RequestQueue<>(this::write);

		private final int[] written;

		private boolean writing;

		Requests(int callers) {
			this.written = new int[callers];
		}

		@Override
		public void begin() {
			for (int i = 0; i < this.written.length; i++) {
				int number = i;
				Interleaving.start("caller" + number, () -> this.queue.add(number));
			}
			Interleaving.start("reader", () -> {
				if (this.queue.hold()) {
					Interleaving.step("reads");
					this.queue.letGo();
				}
			});
		}

		private void write(Queue<Integer> requests) {
			if (this.writing) {
				Interleaving.fail("two threads write");
			}
			this.writing = true;
			Interleaving.step("writes");
			Integer number = requests.poll();
			if (number == null) {
				Interleaving.fail("another thread took the request");
			}
			else {
				this.written[number]++;
			}
			this.writing = false;
		}

		@Override
		public @Nullable String violationAtRest() {
			boolean each = Arrays.stream(this.written).allMatch((times) -> times == 1);
			return each ? null : "written: " + Arrays.toString(this.written);
		}

	}

	/** Two threads that add requests. One request fails. */
	static final class FailingRequest implements Scenario {

		private static final int FAILS = 0;

		private final RequestQueue<Integer> queue = new RequestQueue<>(FailingRequest::write);

		private int told;

		@Override
		public void begin() {
			for (int i = 0; i < 2; i++) {
				int number = i;
				Interleaving.start("caller" + number, () -> add(number));
			}
		}

		private void add(int number) {
			try {
				this.queue.add(number);
			}
			catch (IllegalStateException ex) {
				this.told++;
			}
		}

		private static void write(Queue<Integer> requests) {
			if (requests.remove() == FAILS) {
				throw new IllegalStateException("made for the test");
			}
		}

		@Override
		public @Nullable String violationAtRest() {
			return (this.told == 1) ? null : "threads that were told of the failure: " + this.told;
		}

	}

}
