package org.leaderfollowers.internal.demultiplexing;

import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.III_Result;

/**
 * Races between threads that take ready handles and the leader that adds them. The
 * handles are 1, 2 and 4, so a sum shows which ones were taken.
 */
public class ReadyQueueStress {

	/**
	 * Two threads take while the leader adds to a ring that is full and has to grow.
	 */
	@JCStressTest
	@State
	@Outcome(id = { "0, 0, 7", "1, 0, 7", "0, 1, 7", "1, 2, 7", "2, 1, 7" }, expect = Expect.ACCEPTABLE,
			desc = "each is taken once, in order")
	@Outcome(expect = Expect.FORBIDDEN, desc = "one is lost, taken twice, or out of order")
	public static class TakeAndGrow extends Queue {

		public TakeAndGrow() {
			add(1);
		}

		@Actor
		public void leader() {
			add(2);
			add(4);
		}

		@Actor
		public void first(III_Result result) {
			result.r1 = take();
		}

		@Actor
		public void second(III_Result result) {
			result.r2 = take();
		}

		@Arbiter
		public void outcome(III_Result result) {
			result.r3 = result.r1 + result.r2 + drain();
		}

	}

	/**
	 * A thread takes a handle while the leader, after the queue was empty, clears the
	 * taken handles and writes the same slot again.
	 */
	@JCStressTest
	@State
	@Outcome(id = { "1, 0, 3", "0, 1, 3", "1, 2, 3" }, expect = Expect.ACCEPTABLE, desc = "each is taken once")
	@Outcome(expect = Expect.FORBIDDEN, desc = "one is lost or taken twice, or null was taken")
	public static class TakeAndOverwrite extends Queue {

		public TakeAndOverwrite() {
			add(1);
		}

		@Actor
		public void leader(III_Result result) {
			result.r1 = take();
			if (this.queue.isEmpty()) {
				this.queue.clear();
			}
			add(2);
		}

		@Actor
		public void other(III_Result result) {
			result.r2 = take();
		}

		@Arbiter
		public void outcome(III_Result result) {
			result.r3 = result.r1 + result.r2 + drain();
		}

	}

	/**
	 * A queue whose ring has one slot at first.
	 */
	public abstract static class Queue {

		final ReadyQueue<Integer> queue = new ReadyQueue<>(1);

		void add(int handle) {
			this.queue.reserve();
			this.queue.add(handle);
		}

		int take() {
			Integer handle = this.queue.take();
			return (handle != null) ? handle : 0;
		}

		int drain() {
			int sum = 0;
			for (int handle = take(); handle != 0; handle = take()) {
				sum += handle;
			}
			return sum;
		}

	}

}
