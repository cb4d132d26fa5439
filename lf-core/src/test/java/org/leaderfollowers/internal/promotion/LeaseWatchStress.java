package org.leaderfollowers.internal.promotion;

import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.IIZ_Result;
import org.openjdk.jcstress.infra.results.LZ_Result;

/**
 * Races of leaders that lease their leadership with the one who watches leases.
 */
public class LeaseWatchStress {

	/**
	 * The watcher resigns while a lease begins.
	 */
	@JCStressTest
	@State
	@Outcome(id = "COVERED, true", expect = Expect.ACCEPTABLE, desc = "the watcher finds a successor")
	@Outcome(id = { "NOBODY, true", "NOBODY, false" }, expect = Expect.ACCEPTABLE, desc = "the leader promotes")
	@Outcome(expect = Expect.FORBIDDEN, desc = "each relies on the other, and nobody watches")
	public static class LeaseAndResign extends Watched {

		@Actor
		public void leader(LZ_Result result) {
			this.leadership.lease(1, 0);
			result.r1 = this.watch.cover();
		}

		@Actor
		public void watcher(LZ_Result result) {
			this.watch.resign();
			result.r2 = this.leadership.isLeased();
		}

	}

	/**
	 * The watcher falls asleep while a lease begins.
	 */
	@JCStressTest
	@State
	@Outcome(id = "COVERED, true", expect = Expect.ACCEPTABLE, desc = "the watcher stays awake")
	@Outcome(id = { "ASLEEP, true", "ASLEEP, false" }, expect = Expect.ACCEPTABLE, desc = "the leader rouses it")
	@Outcome(expect = Expect.FORBIDDEN, desc = "each relies on the other, and nobody watches")
	public static class LeaseAndFallAsleep extends Watched {

		@Actor
		public void leader(LZ_Result result) {
			this.leadership.lease(1, 0);
			result.r1 = this.watch.cover();
		}

		@Actor
		public void watcher(LZ_Result result) {
			this.watch.fallAsleep(2);
			result.r2 = this.leadership.isLeased();
		}

	}

	/**
	 * The watcher resigns while a leader rouses it.
	 */
	@JCStressTest
	@State
	@Outcome(id = "2, 0, true", expect = Expect.ACCEPTABLE, desc = "roused, then resigned: to be unparked for nothing")
	@Outcome(id = "0, 0, true", expect = Expect.ACCEPTABLE, desc = "the leader looks again")
	@Outcome(expect = Expect.FORBIDDEN, desc = "one who has resigned is the watcher")
	public static class RouseAndResign extends Watched {

		public RouseAndResign() {
			this.watch.fallAsleep(2);
		}

		@Actor
		public void leader(IIZ_Result result) {
			result.r1 = this.watch.rouse();
		}

		@Actor
		public void watcher() {
			this.watch.resign();
		}

		@Arbiter
		public void outcome(IIZ_Result result) {
			result.r2 = this.watch.watcher();
			result.r3 = this.watch.isVacant();
		}

	}

	/**
	 * 1 leads, and 2 watches.
	 */
	public static class Watched {

		final Leadership leadership = new Leadership();

		final LeaseWatch watch = new LeaseWatch();

		public Watched() {
			this.leadership.take(1);
			this.watch.appoint(2);
		}

	}

}
