package org.leaderfollowers.internal.promotion;

import org.leaderfollowers.internal.promotion.Followers.Signal;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.II_Result;
import org.openjdk.jcstress.infra.results.I_Result;
import org.openjdk.jcstress.infra.results.LLL_Result;
import org.openjdk.jcstress.infra.results.LL_Result;
import org.openjdk.jcstress.infra.results.L_Result;
import org.openjdk.jcstress.infra.results.ZLL_Result;

/** Races between followers on a stack and threads that wake them. */
public class FollowersStress {

	/** One thread gives the leadership up while another one begins to wait for it. */
	@JCStressTest
	@State
	@Outcome(id = "leads", expect = Expect.ACCEPTABLE, desc = "found the vacancy by itself")
	@Outcome(id = "signalled", expect = Expect.ACCEPTABLE, desc = "was woken")
	@Outcome(expect = Expect.FORBIDDEN, desc = "waits while nobody leads: a lost wake-up")
	public static class GiveUpAndWait extends OneFollower {

		private final Leadership leadership = new Leadership();

		public GiveUpAndWait() {
			this.leadership.take(1);
		}

		@Actor
		public void leader() {
			this.leadership.giveUp(1, 0);
			this.followers.signal();
		}

		@Actor
		public void follower() {
			this.followers.enqueue(this.follower);
			this.leadership.take(2);
		}

		@Arbiter
		public void outcome(L_Result result) {
			result.r1 = (this.leadership.holder() == 2) ? "leads" : this.follower.isWaiting() ? "waits" : "signalled";
		}

	}

	/**
	 * A follower leaves while another thread wakes it.
	 */
	@JCStressTest
	@State
	@Outcome(id = "true, NOBODY_WAITS, ALREADY_UNDER_WAY", expect = Expect.ACCEPTABLE,
			desc = "it was away before; the signaller holds the mark")
	@Outcome(id = "false, WOKEN, NOBODY_WAITS", expect = Expect.ACCEPTABLE,
			desc = "it was woken, and has cleared the mark")
	@Outcome(expect = Expect.FORBIDDEN, desc = "the two do not agree")
	public static class LeaveAndSignal extends OneFollower {

		public LeaveAndSignal() {
			this.followers.enqueue(this.follower);
		}

		@Actor
		public void follower(ZLL_Result result) {
			result.r1 = this.followers.leave(this.follower);
		}

		@Actor
		public void signaller(ZLL_Result result) {
			result.r2 = this.followers.signal();
		}

		@Arbiter
		public void outcome(ZLL_Result result) {
			result.r3 = this.followers.signal();
		}

	}

	/**
	 * A follower looks whether it is signalled while another thread wakes it.
	 */
	@JCStressTest
	@State
	@Outcome(id = "true, WOKEN, NOBODY_WAITS", expect = Expect.ACCEPTABLE, desc = "it has arrived")
	@Outcome(id = "false, WOKEN, ALREADY_UNDER_WAY", expect = Expect.ACCEPTABLE, desc = "it has yet to see it")
	@Outcome(expect = Expect.FORBIDDEN, desc = "the mark is set for ever, or was cleared by nobody")
	public static class AwaitAndSignal extends OneFollower {

		public AwaitAndSignal() {
			this.followers.enqueue(this.follower);
		}

		@Actor
		public void follower(ZLL_Result result) {
			for (int i = 0; i < 50 && !result.r1; i++) {
				result.r1 = this.followers.await(this.follower, 0, () -> true);
			}
		}

		@Actor
		public void signaller(ZLL_Result result) {
			result.r2 = this.followers.signal();
		}

		@Arbiter
		public void outcome(ZLL_Result result) {
			result.r3 = this.followers.signal();
		}

	}

	/**
	 * A follower that had left waits again while its old place is popped.
	 */
	@JCStressTest
	@State
	@Outcome(id = "WOKEN, signalled, empty", expect = Expect.ACCEPTABLE, desc = "woken in its old place")
	@Outcome(id = "NOBODY_WAITS, waits, on the stack", expect = Expect.ACCEPTABLE, desc = "in a new place")
	@Outcome(expect = Expect.FORBIDDEN, desc = "waits where nobody finds it")
	public static class WaitAgainAndSignal extends OneFollower {

		public WaitAgainAndSignal() {
			this.followers.enqueue(this.follower);
			this.followers.leave(this.follower);
		}

		@Actor
		public void follower() {
			this.followers.enqueue(this.follower);
		}

		@Actor
		public void signaller(LLL_Result result) {
			result.r1 = this.followers.signal();
		}

		@Arbiter
		public void outcome(LLL_Result result) {
			result.r2 = this.follower.isWaiting() ? "waits" : "signalled";
			result.r3 = this.followers.isEmpty() ? "empty" : "on the stack";
		}

	}

	/**
	 * Two vacancies at once: one is woken, who finds both.
	 */
	@JCStressTest
	@State
	@Outcome(id = { "WOKEN, ALREADY_UNDER_WAY", "ALREADY_UNDER_WAY, WOKEN" }, expect = Expect.ACCEPTABLE,
			desc = "one is under way")
	@Outcome(expect = Expect.FORBIDDEN, desc = "none or both are")
	public static class SignalTwice extends OneFollower {

		public SignalTwice() {
			this.followers.enqueue(new Follower(2, Thread.currentThread()));
			this.followers.enqueue(this.follower);
		}

		@Actor
		public void first(LL_Result result) {
			result.r1 = this.followers.signal();
		}

		@Actor
		public void second(LL_Result result) {
			result.r2 = this.followers.signal();
		}

	}

	/**
	 * One begins to wait while another is woken; whatever happens, each is found once.
	 */
	@JCStressTest
	@State
	@Outcome(id = "2, 2", expect = Expect.ACCEPTABLE, desc = "each was found once, or counted")
	@Outcome(expect = Expect.FORBIDDEN, desc = "one was lost, or found twice")
	public static class EnqueueAndSignal extends OneFollower {

		private int found;

		public EnqueueAndSignal() {
			this.followers.enqueue(new Follower(2, Thread.currentThread()));
		}

		@Actor
		public void follower() {
			this.followers.enqueue(this.follower);
		}

		@Actor
		public void signaller() {
			this.found += (this.followers.signal() == Signal.WOKEN) ? 1 : 0;
		}

		@Arbiter
		public void outcome(II_Result result) {
			result.r2 = this.found + this.followers.waiting();
			this.followers.arrive();
			while (this.followers.signal() == Signal.WOKEN) {
				this.found++;
				this.followers.arrive();
			}
			result.r1 = this.found;
		}

	}

	/**
	 * Two begin to wait at once; each is found once.
	 */
	@JCStressTest
	@State
	@Outcome(id = "2, 2", expect = Expect.ACCEPTABLE, desc = "each was counted and found once")
	@Outcome(expect = Expect.FORBIDDEN, desc = "one was lost, or found twice")
	public static class EnqueueTwice extends OneFollower {

		private final Follower second = new Follower(2, Thread.currentThread());

		@Actor
		public void first() {
			this.followers.enqueue(this.follower);
		}

		@Actor
		public void second() {
			this.followers.enqueue(this.second);
		}

		@Arbiter
		public void outcome(II_Result result) {
			result.r2 = this.followers.waiting();
			while (this.followers.signal() == Signal.WOKEN) {
				result.r1++;
				this.followers.arrive();
			}
		}

	}

	/**
	 * One waits for the first time, and needs more room than there is, while another
	 * thread wakes one.
	 */
	@JCStressTest
	@State
	@Outcome(id = "1, 1", expect = Expect.ACCEPTABLE, desc = "one was woken, the other waits")
	@Outcome(expect = Expect.FORBIDDEN, desc = "one is lost: whoever saw its slot did not find it")
	public static class GrowAndSignal {

		private final Followers followers = Followers.lifo();

		private final Follower second = new Follower(100, Thread.currentThread());

		public GrowAndSignal() {
			this.followers.enqueue(new Follower(1, Thread.currentThread()));
		}

		@Actor
		public void follower() {
			this.followers.enqueue(this.second);
		}

		@Actor
		public void signaller(II_Result result) {
			result.r1 = (this.followers.signal() == Signal.WOKEN) ? 1 : 0;
		}

		@Arbiter
		public void outcome(II_Result result) {
			this.followers.arrive();
			while (this.followers.signal() == Signal.WOKEN) {
				result.r2++;
				this.followers.arrive();
			}
		}

	}

	/**
	 * Two wait for the first time, and need more room than there is.
	 */
	@JCStressTest
	@State
	@Outcome(id = "2", expect = Expect.ACCEPTABLE, desc = "both wait")
	@Outcome(expect = Expect.FORBIDDEN, desc = "one has overwritten the room of the other")
	public static class GrowTwice {

		private final Followers followers = Followers.lifo();

		private final Follower first = new Follower(16, Thread.currentThread());

		private final Follower second = new Follower(100, Thread.currentThread());

		@Actor
		public void first() {
			this.followers.enqueue(this.first);
		}

		@Actor
		public void second() {
			this.followers.enqueue(this.second);
		}

		@Arbiter
		public void outcome(I_Result result) {
			while (this.followers.signal() == Signal.WOKEN) {
				result.r1++;
				this.followers.arrive();
			}
		}

	}

	/**
	 * A stack with one follower that is not on it.
	 */
	public static class OneFollower {

		final Followers followers = Followers.lifo();

		final Follower follower = new Follower(1, Thread.currentThread());

	}

}
