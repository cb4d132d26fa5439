package org.leaderfollowers.internal.promotion;

import org.leaderfollowers.internal.promotion.Followers.Signal;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.II_Result;
import org.openjdk.jcstress.infra.results.LII_Result;
import org.openjdk.jcstress.infra.results.LLL_Result;
import org.openjdk.jcstress.infra.results.LL_Result;
import org.openjdk.jcstress.infra.results.L_Result;
import org.openjdk.jcstress.infra.results.ZLL_Result;

/**
 * Races of followers in queues with those who wake them: those of {@link FollowersStress}
 * by arrival, and those in which the priority plays a part.
 */
public class OrderedFollowersStress {

	/**
	 * One gives the leadership up, another waits for it.
	 */
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
	 * A follower that had left waits again while somebody is to be woken.
	 */
	@JCStressTest
	@State
	@Outcome(id = "WOKEN, signalled, empty", expect = Expect.ACCEPTABLE, desc = "woken")
	@Outcome(id = "NOBODY_WAITS, waits, in the queue", expect = Expect.ACCEPTABLE, desc = "too early")
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
			result.r3 = this.followers.isEmpty() ? "empty" : "in the queue";
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
	 * One leaves from between two others while the first is woken: the others are found.
	 */
	@JCStressTest
	@State
	@Outcome(id = "WOKEN, 2, 0", expect = Expect.ACCEPTABLE, desc = "each was found once")
	@Outcome(expect = Expect.FORBIDDEN, desc = "one was lost, found twice, or is still counted")
	public static class LeaveTheMiddleAndSignal extends OneFollower {

		public LeaveTheMiddleAndSignal() {
			this.followers.enqueue(new Follower(2, Thread.currentThread()));
			this.followers.enqueue(this.follower);
			this.followers.enqueue(new Follower(3, Thread.currentThread()));
		}

		@Actor
		public void follower() {
			this.followers.leave(this.follower);
		}

		@Actor
		public void signaller(LII_Result result) {
			result.r1 = this.followers.signal();
		}

		@Arbiter
		public void outcome(LII_Result result) {
			result.r2 = 1;
			this.followers.arrive();
			while (this.followers.signal() == Signal.WOKEN) {
				result.r2++;
				this.followers.arrive();
			}
			result.r3 = this.followers.waiting();
		}

	}

	/**
	 * One of higher priority begins to wait while another is woken.
	 */
	@JCStressTest
	@State
	@Outcome(id = "high, low", expect = Expect.ACCEPTABLE, desc = "it was in time")
	@Outcome(id = "low, high", expect = Expect.ACCEPTABLE, desc = "it was too late")
	@Outcome(expect = Expect.FORBIDDEN, desc = "one was lost, or found twice")
	public static class EnqueueHigherAndSignal extends TwoPriorities {

		public EnqueueHigherAndSignal() {
			this.followers.enqueue(this.low);
		}

		@Actor
		public void follower() {
			this.followers.enqueue(this.high);
		}

		@Actor
		public void signaller() {
			this.followers.signal();
		}

		@Arbiter
		public void outcome(LL_Result result) {
			result.r1 = signalled();
			result.r2 = next();
		}

	}

	/**
	 * Two of different priorities begin to wait at once.
	 */
	@JCStressTest
	@State
	@Outcome(id = "high, low", expect = Expect.ACCEPTABLE, desc = "in their order")
	@Outcome(expect = Expect.FORBIDDEN, desc = "one was lost, found twice, or before its turn")
	public static class EnqueueTwoPriorities extends TwoPriorities {

		@Actor
		public void low() {
			this.followers.enqueue(this.low);
		}

		@Actor
		public void high() {
			this.followers.enqueue(this.high);
		}

		@Arbiter
		public void outcome(LL_Result result) {
			this.followers.signal();
			result.r1 = signalled();
			result.r2 = next();
		}

	}

	/**
	 * One follower for each of two priorities, none of which waits.
	 */
	public static class TwoPriorities {

		/** Never started: to wake them does nothing. */
		private static final Thread lowThread = new Thread();

		private static final Thread highThread = new Thread();

		static {
			lowThread.setPriority(Thread.MIN_PRIORITY);
			highThread.setPriority(Thread.MAX_PRIORITY);
		}

		final Followers followers = Followers.byPriority();

		final Follower low = new Follower(1, lowThread);

		final Follower high = new Follower(2, highThread);

		String signalled() {
			return (this.low.isSignalled() && this.high.isSignalled()) ? "both"
					: this.low.isSignalled() ? "low" : this.high.isSignalled() ? "high" : "none";
		}

		/** The one that is signalled when the one that is now has arrived. */
		String next() {
			this.followers.leave(this.low.isSignalled() ? this.low : this.high);
			this.followers.signal();
			return signalled();
		}

	}

	/**
	 * A queue with one follower that is not in it.
	 */
	public static class OneFollower {

		final Followers followers = Followers.fifo();

		final Follower follower = new Follower(1, Thread.currentThread());

	}

}
