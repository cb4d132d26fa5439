package org.leaderfollowers.internal.promotion;

import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.ZII_Result;
import org.openjdk.jcstress.infra.results.ZI_Result;
import org.openjdk.jcstress.infra.results.ZZI_Result;
import org.openjdk.jcstress.infra.results.ZZ_Result;

/**
 * Races for a {@link Leadership}.
 */
public class LeadershipStress {

	@JCStressTest
	@State
	@Outcome(id = { "true, false", "false, true" }, expect = Expect.ACCEPTABLE, desc = "one leads")
	@Outcome(expect = Expect.FORBIDDEN, desc = "none leads, or both do")
	public static class Take {

		private final Leadership leadership = new Leadership();

		@Actor
		public void first(ZZ_Result result) {
			result.r1 = this.leadership.take(1);
		}

		@Actor
		public void second(ZZ_Result result) {
			result.r2 = this.leadership.take(2);
		}

	}

	@JCStressTest
	@State
	@Outcome(id = "true, 42", expect = Expect.ACCEPTABLE, desc = "the next leader sees what the former one did")
	@Outcome(id = "false, 0", expect = Expect.ACCEPTABLE, desc = "too early")
	@Outcome(expect = Expect.FORBIDDEN, desc = "the next leader sees less")
	public static class HandOn {

		private final Leadership leadership = new Leadership();

		private int leaders;

		public HandOn() {
			this.leadership.take(1);
		}

		@Actor
		public void former() {
			this.leaders = 42;
			this.leadership.giveUp(1, 0);
		}

		@Actor
		public void next(ZI_Result result) {
			result.r1 = this.leadership.take(2);
			result.r2 = result.r1 ? this.leaders : 0;
		}

	}

	/**
	 * The handler returns, and the next one begins, while the lease of the first runs
	 * out.
	 */
	@JCStressTest
	@State
	@Outcome(id = "true, false, 1", expect = Expect.ACCEPTABLE, desc = "the watcher was too late for the old lease")
	@Outcome(id = "false, true, 2", expect = Expect.ACCEPTABLE, desc = "it was in time")
	@Outcome(expect = Expect.FORBIDDEN, desc = "none leads, or both do, or a lease was taken over that had only begun")
	public static class RenewAndTakeOver extends Leased {

		@Actor
		public void leader(ZZI_Result result) {
			result.r1 = this.leadership.regain(1);
			if (result.r1) {
				this.leadership.lease(1, 1);
			}
		}

		@Actor
		public void watcher(ZZI_Result result) {
			result.r2 = this.leadership.takeOver(this.lease, 2);
		}

		@Arbiter
		public void outcome(ZZI_Result result) {
			result.r3 = this.leadership.holder();
		}

	}

	/**
	 * The handler says that it will block while its lease runs out.
	 */
	@JCStressTest
	@State
	@Outcome(id = "true, false, 0", expect = Expect.ACCEPTABLE, desc = "it promotes; anybody may lead")
	@Outcome(id = "false, true, 2", expect = Expect.ACCEPTABLE, desc = "it has nothing to give up any more")
	@Outcome(expect = Expect.FORBIDDEN, desc = "what another leads was given up")
	public static class GiveUpAndTakeOver extends Leased {

		@Actor
		public void leader(ZZI_Result result) {
			result.r1 = this.leadership.giveUp(1, 0);
		}

		@Actor
		public void watcher(ZZI_Result result) {
			result.r2 = this.leadership.takeOver(this.lease, 2);
		}

		@Arbiter
		public void outcome(ZZI_Result result) {
			result.r3 = this.leadership.holder();
		}

	}

	/**
	 * Two want the same lease that has run out: the watcher, and one who looks after it
	 * in passing.
	 */
	@JCStressTest
	@State
	@Outcome(id = { "true, false, 2", "false, true, 3" }, expect = Expect.ACCEPTABLE, desc = "one leads")
	@Outcome(expect = Expect.FORBIDDEN, desc = "none leads, or both do")
	public static class TakeOverTwice extends Leased {

		@Actor
		public void first(ZZI_Result result) {
			result.r1 = this.leadership.takeOver(this.lease, 2);
		}

		@Actor
		public void second(ZZI_Result result) {
			result.r2 = this.leadership.takeOver(this.lease, 3);
		}

		@Arbiter
		public void outcome(ZZI_Result result) {
			result.r3 = this.leadership.holder();
		}

	}

	/**
	 * A lease begins while the watcher looks.
	 */
	@JCStressTest
	@State
	@Outcome(id = "true, 42, 7", expect = Expect.ACCEPTABLE, desc = "the watcher sees all that the leader did")
	@Outcome(id = "false, 0, 0", expect = Expect.ACCEPTABLE, desc = "too early")
	@Outcome(expect = Expect.FORBIDDEN, desc = "the watcher sees less")
	public static class LeaseAndTakeOver {

		private final Leadership leadership = new Leadership();

		private int leaders;

		public LeaseAndTakeOver() {
			this.leadership.take(1);
		}

		@Actor
		public void leader() {
			this.leaders = 42;
			this.leadership.lease(1, 7);
		}

		@Actor
		public void watcher(ZII_Result result) {
			long lease = this.leadership.leaseWord();
			if (lease != Leadership.NOT_LEASED) {
				result.r3 = (int) this.leadership.leasedNanos();
				result.r1 = this.leadership.takeOver(lease, 2);
				result.r2 = this.leaders;
			}
		}

	}

	/**
	 * A leadership that 1 has leased.
	 */
	public static class Leased {

		final Leadership leadership = new Leadership();

		final long lease;

		public Leased() {
			this.leadership.take(1);
			this.leadership.lease(1, 0);
			this.lease = this.leadership.leaseWord();
		}

	}

}
