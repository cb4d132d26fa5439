package org.leaderfollowers.internal.demultiplexing;

import java.util.concurrent.atomic.AtomicInteger;

import org.leaderfollowers.internal.demultiplexing.HandleStateStress.TestHandle;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.III_Result;
import org.openjdk.jcstress.infra.results.ZII_Result;

/** Races between threads that make requests and the leader that is about to wait. */
public class UpdateQueueStress {

	/** Two requests are made while the leader begins to wait. */
	@JCStressTest
	@State
	@Outcome(id = "true, 1, 3", expect = Expect.ACCEPTABLE, desc = "it waits, and is woken once")
	@Outcome(id = { "false, 0, 3", "false, 1, 3" }, expect = Expect.ACCEPTABLE, desc = "it sees them and does not wait")
	@Outcome(expect = Expect.FORBIDDEN, desc = "it waits and is not woken, or woken twice, or a request is lost")
	public static class RequestAndWait extends Queue {

		@Actor
		public void requester() {
			this.queue.request(this.first, 1);
			this.queue.request(this.second, 2);
		}

		@Actor
		public void leader(ZII_Result result) {
			result.r1 = this.queue.beginWait();
		}

		@Arbiter
		public void outcome(ZII_Result result) {
			result.r2 = this.wakeUps.get();
			result.r3 = drain();
		}

	}

	/** Two requests are made for one handle while the leader takes the requests. */
	@JCStressTest
	@State
	@Outcome(id = { "0, 3, 3", "1, 2, 3", "3, 0, 3" }, expect = Expect.ACCEPTABLE, desc = "each is taken once")
	@Outcome(expect = Expect.FORBIDDEN, desc = "one is lost, or taken twice")
	public static class RequestAndDrain extends Queue {

		@Actor
		public void requester() {
			this.queue.request(this.first, 1);
			this.queue.request(this.first, 2);
		}

		@Actor
		public void leader(III_Result result) {
			result.r1 = drain();
		}

		@Arbiter
		public void outcome(III_Result result) {
			result.r2 = drain();
			result.r3 = result.r1 + result.r2;
		}

	}

	/**
	 * Two handles are linked while the leader takes the list.
	 */
	@JCStressTest
	@State
	@Outcome(id = { "4, 3, 7", "5, 2, 7", "7, 0, 7" }, expect = Expect.ACCEPTABLE, desc = "each is taken once")
	@Outcome(expect = Expect.FORBIDDEN, desc = "one is lost, or taken twice")
	public static class LinkAndDrain extends Queue {

		public LinkAndDrain() {
			this.queue.request(this.first, 4);
		}

		@Actor
		public void requester() {
			this.queue.request(this.first, 1);
			this.queue.request(this.second, 2);
		}

		@Actor
		public void leader(III_Result result) {
			result.r1 = drain();
		}

		@Arbiter
		public void outcome(III_Result result) {
			result.r2 = drain();
			result.r3 = result.r1 + result.r2;
		}

	}

	/** Two threads make a request at the same time; neither is lost. */
	@JCStressTest
	@State
	@Outcome(id = "3, 1, 0", expect = Expect.ACCEPTABLE, desc = "both are taken, with one wake-up")
	@Outcome(expect = Expect.FORBIDDEN, desc = "one is lost, or there is not one wake-up")
	public static class RequestTwice extends Queue {

		public RequestTwice() {
			this.queue.beginWait();
		}

		@Actor
		public void one() {
			this.queue.request(this.first, 1);
		}

		@Actor
		public void other() {
			this.queue.request(this.second, 2);
		}

		@Arbiter
		public void outcome(III_Result result) {
			result.r1 = drain();
			result.r2 = this.wakeUps.get();
			result.r3 = drain();
		}

	}

	/**
	 * A queue and two handles.
	 */
	public static class Queue {

		final AtomicInteger wakeUps = new AtomicInteger();

		final UpdateQueue queue = new UpdateQueue(this.wakeUps::incrementAndGet);

		final TestHandle first = new TestHandle();

		final TestHandle second = new TestHandle();

		final int drain() {
			int[] sum = new int[1];
			this.queue.applyUpdates(TestHandle.class, (handle, requests) -> sum[0] += requests);
			return sum[0];
		}

	}

}
