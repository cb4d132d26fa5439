package org.leaderfollowers.promotion;

import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.ZI_Result;
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

}
