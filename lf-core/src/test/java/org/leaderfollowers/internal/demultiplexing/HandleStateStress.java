package org.leaderfollowers.internal.demultiplexing;

import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.LLL_Result;
import org.openjdk.jcstress.infra.results.ZL_Result;
import org.openjdk.jcstress.infra.results.ZZ_Result;

/** Races between the owner of a handle and the leader. */
public class HandleStateStress {

	/** The handle becomes ready while its owner releases it. */
	@JCStressTest
	@State
	@Outcome(id = "RELEASED, CLAIMED, CLAIMED", expect = Expect.ACCEPTABLE, desc = "first released, then claimed")
	@Outcome(id = "LOOK_AGAIN, OWNER_LOOKS_AGAIN, CLAIMED_DISARMED", expect = Expect.ACCEPTABLE,
			desc = "its owner keeps it")
	@Outcome(expect = Expect.FORBIDDEN, desc = "two own it, or nobody looks at it")
	public static class ReleaseAndFire extends Busy {

		@Actor
		public void owner(LLL_Result result) {
			result.r1 = this.handle.release();
		}

		@Actor
		public void leader(LLL_Result result) {
			result.r2 = this.handle.claimFired();
		}

		@Arbiter
		public void outcome(LLL_Result result) {
			result.r3 = this.handle.stateName();
		}

	}

	/**
	 * Another thread requests a look while the owner, who has found nothing more to read,
	 * releases the handle.
	 */
	@JCStressTest
	@State
	@Outcome(id = "REARM_NEEDED, CLAIMED, CLAIMED_DISARMED", expect = Expect.ACCEPTABLE,
			desc = "first released, then claimed")
	@Outcome(id = "LOOK_AGAIN, OWNER_LOOKS_AGAIN, CLAIMED_DISARMED", expect = Expect.ACCEPTABLE,
			desc = "its owner keeps it")
	@Outcome(expect = Expect.FORBIDDEN, desc = "two own it, or nobody looks at it")
	public static class ReleaseAndLook {

		private final TestHandle handle = new TestHandle();

		@Actor
		public void owner(LLL_Result result) {
			result.r1 = this.handle.release();
		}

		@Actor
		public void leader(LLL_Result result) {
			result.r2 = this.handle.claimForLook();
		}

		@Arbiter
		public void outcome(LLL_Result result) {
			result.r3 = this.handle.stateName();
		}

	}

	/** Another thread requests a look while the owner pauses the handle. */
	@JCStressTest
	@State
	@Outcome(id = "RELEASED, CLAIMED, CLAIMED_DISARMED", expect = Expect.ACCEPTABLE,
			desc = "first paused, then claimed")
	@Outcome(id = "LOOK_AGAIN, OWNER_LOOKS_AGAIN, CLAIMED_DISARMED", expect = Expect.ACCEPTABLE,
			desc = "its owner keeps it")
	@Outcome(expect = Expect.FORBIDDEN, desc = "two own it, or nobody looks at it")
	public static class PauseAndLook extends Busy {

		@Actor
		public void owner(LLL_Result result) {
			result.r1 = this.handle.pause();
		}

		@Actor
		public void leader(LLL_Result result) {
			result.r2 = this.handle.claimForLook();
		}

		@Arbiter
		public void outcome(LLL_Result result) {
			result.r3 = this.handle.stateName();
		}

	}

	/**
	 * Waiting bytes are written while the owner pauses the handle until they are written.
	 */
	@JCStressTest
	@State
	@Outcome(id = { "true, false", "false, true", "true, true" }, expect = Expect.ACCEPTABLE,
			desc = "one of them sees it")
	@Outcome(id = "false, false", expect = Expect.FORBIDDEN, desc = "it stays paused for ever")
	public static class PauseAndFlush extends Busy {

		private volatile long waitingBytes = 1;

		@Actor
		public void owner(ZZ_Result result) {
			this.handle.pause();
			result.r1 = this.waitingBytes == 0;
		}

		@Actor
		public void leader(ZZ_Result result) {
			this.waitingBytes = 0;
			result.r2 = this.handle.isPaused();
		}

	}

	/**
	 * A late request to arm meets an owner that closes.
	 */
	@JCStressTest
	@State
	@Outcome(id = { "false, CLOSED", "true, CLOSED" }, expect = Expect.ACCEPTABLE, desc = "closed for good")
	@Outcome(expect = Expect.FORBIDDEN, desc = "armed again")
	public static class ArmAndClose {

		private final TestHandle handle = new TestHandle();

		public ArmAndClose() {
			this.handle.release();
		}

		@Actor
		public void owner() {
			this.handle.claimForLook();
			this.handle.markClosed();
		}

		@Actor
		public void leader(ZL_Result result) {
			result.r1 = this.handle.arm();
		}

		@Arbiter
		public void outcome(ZL_Result result) {
			result.r2 = this.handle.stateName();
		}

	}

	/**
	 * A handle that fired and was claimed.
	 */
	public static class Busy {

		final TestHandle handle = new TestHandle();

		public Busy() {
			this.handle.release();
			this.handle.arm();
			this.handle.claimFired();
		}

	}

	/**
	 * Nothing but the words.
	 */
	static final class TestHandle extends HandleState {

	}

}
