package org.leaderfollowers.internal.demultiplexing;

import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.leaderfollowers.interleavings.Exploration;
import org.leaderfollowers.interleavings.Interleaving;
import org.leaderfollowers.interleavings.Mutation;
import org.leaderfollowers.interleavings.Scenario;

import static org.leaderfollowers.interleavings.Interleaving.step;

/**
 * Explores the interleavings when a handle moves from one handle set to another: in the
 * end it is active in one of them, it has one owner at a time, and no request is lost.
 */
@Tag("interleavings")
class MoveInterleavingTests {

	/**
	 * Events that come, and what happens meanwhile: the handle is <em>looked</em> at, or
	 * given a <em>timer</em>, from outside; its owners <em>time</em> its next event; it
	 * is dealt <em>back</em>; the first set has no other handles and <em>rests</em>.
	 */
	private enum Move {

		QUIET(1, "", 2),

		TWO_EVENTS(2, "", 1),

		LOOKED_AT(1, "looked", 1),

		GIVEN_A_TIMER(1, "timer", 1),

		LOOKED_AT_AND_GIVEN_A_TIMER(1, "looked, timer", 0),

		OWNERS_THAT_TIME(2, "looked, time,", 1),

		THERE_AND_BACK(2, "back, looked", 1),

		FROM_A_SET_THAT_RESTS(1, "rests, looked", 1),

		FROM_A_SET_THAT_RESTS_WITH_A_TIMER(1, "rests, timer", 1);

		private final int events;

		private final String options;

		private final int preemptions;

		Move(int events, String options, int preemptions) {
			this.events = events;
			this.options = options;
			this.preemptions = preemptions;
		}

		Exploration exploration() {
			return Exploration.of(Moving.class, this.events, this.options).preemptions(this.preemptions);
		}

	}

	private enum Rule {

		A_HANDLE_IS_DISARMED_BY_COMPARE_AND_SET(Move.LOOKED_AT,
				Mutation.setsWithoutComparing(HandleState.class, "disarm")),

		A_HANDLE_THAT_IS_OWNED_STAYS(Move.TWO_EVENTS, Mutation.resultIgnored(Moving.class, "movesOn", "disarm", 1)),

		REQUESTS_OF_A_HANDLE_THAT_HAS_MOVED_ARE_FORWARDED(Move.LOOKED_AT,
				Mutation.withoutCall(Moving.class, "forward", "request")),

		REQUESTS_ARE_GRANTED_BY_THE_SET_OF_THE_HANDLE(Move.LOOKED_AT,
				Mutation.callReturns(Moving.class, "applyUpdate", "isElsewhere", 0)),

		A_HANDLE_LEAVES_ITS_SET_BEFORE_IT_IS_REQUESTED_IN_THE_NEW_ONE(Move.QUIET,
				Mutation.movedBehind(Moving.class, "moveTo", "active", "request")),

		A_TIMER_IS_CANCELLED_BEFORE_THE_HANDLE_MOVES(Move.GIVEN_A_TIMER,
				Mutation.withoutCall(Moving.class, "movesOn", "cancel")),

		A_REQUESTER_OPENS_A_SET_THAT_RESTS(Move.FROM_A_SET_THAT_RESTS,
				Mutation.fieldReads(Moving.Set.class, "wakeUp", "resting", 0)),

		A_LEADER_LOOKS_FOR_REQUESTS_AFTER_ITS_SET_RESTS(Move.FROM_A_SET_THAT_RESTS,
				Mutation.callReturns(Moving.Set.class, "rest", "isEmpty", 1));

		private final Move move;

		private final Mutation mutation;

		Rule(Move move, Mutation mutation) {
			this.move = move;
			this.mutation = mutation;
		}

	}

	@ParameterizedTest
	@EnumSource
	void activeInOneSetAndNothingIsLost(Move move) {
		move.exploration().assertSound();
	}

	@ParameterizedTest
	@EnumSource(names = { "TWO_EVENTS", "LOOKED_AT", "GIVEN_A_TIMER", "LOOKED_AT_AND_GIVEN_A_TIMER" })
	@Tag("stress")
	void activeInOneSetAndNothingIsLostWithOnePreemptionMore(Move move) {
		move.exploration().preemptions(move.preemptions + 1).assertSound();
	}

	@ParameterizedTest
	@EnumSource
	@Tag("stress")
	void activeInOneSetAndNothingIsLostAtRandom(Move move) {
		move.exploration().assertSoundAtRandom(20_000);
	}

	@ParameterizedTest
	@EnumSource
	void noRuleCanBeDropped(Rule rule) {
		rule.move.exploration().preemptions(rule.move.preemptions + 1).with(rule.mutation).assertViolated();
	}

	/**
	 * The real {@link HandleState} and {@link UpdateQueue}s, with the least of two handle
	 * sets around them. A handle is registered with a set if it has a key there.
	 */
	static final class Moving extends HandleState implements Scenario {

		private static final int READ = 1;

		private static final int LOOK = 2;

		private static final int REGISTER = 4;

		private static final int REARM = 8;

		private static final int TIMER = 16;

		private final Set[] sets = { new Set(), new Set() };

		private final int events;

		private final String options;

		/** The set to which the handle has been assigned. */
		private volatile int dealt;

		/** The set that the handle is in. */
		private volatile Set set = this.sets[0];

		private int data;

		// The leader's

		private @Nullable Set key;

		private boolean active;

		private @Nullable Set scheduled;

		// The owner's

		private boolean owned;

		private volatile boolean timed;

		private volatile int looks;

		Moving(int events, String options) {
			this.events = events;
			this.options = options;
		}

		private boolean isOn(String option) {
			return this.options.contains(option);
		}

		@Override
		public void begin() {
			request(REGISTER);
			release();
			request(REARM);
			for (Set each : this.sets) {
				Interleaving.start("leader", () -> lead(each));
			}
			Interleaving.start("peer", () -> {
				for (int i = 0; i < this.events; i++) {
					step("peer sends");
					this.data++;
				}
			});
			Interleaving.start("deals", () -> {
				this.dealt = 1;
				if (isOn("rests")) {
					this.sets[0].updates.wakeLeader();
				}
				if (isOn("back")) {
					this.dealt = 0;
				}
			});
			if (isOn("looked")) {
				Interleaving.start("looked", () -> {
					this.looks++;
					request(LOOK);
				});
			}
			if (isOn("timer")) {
				Interleaving.start("timer", () -> {
					this.timed = true;
					request(TIMER);
				});
			}
		}

		private void request(int requests) {
			this.set.updates.request(this, requests);
		}

		// The leaders, as HandleSet and LeaderFollowersPool do it

		private void lead(Set me) {
			for (;;) {
				Interleaving.beginAnew("leads");
				me.updates.applyUpdates(Moving.class, (handle, requests) -> applyUpdate(me, requests));
				if (isDeserted(me)) {
					me.rest();
				}
				else if (me.updates.beginWait()) {
					Interleaving.await("selects", () -> me.woken || hasFired(me));
				}
				me.woken = false;
				me.updates.endWait();
				if (hasFired(me) && !movesOn(me)) {
					demultiplex(claimFired());
				}
			}
		}

		private boolean isDeserted(Set me) {
			return isOn("rests") && me == this.sets[0] && this.dealt == 1 && this.key != me;
		}

		private boolean hasFired(Set me) {
			return this.key == me && this.active && this.data > 0;
		}

		private boolean movesOn(Set me) {
			Set other = this.sets[this.dealt];
			if (other == me || !disarm()) {
				return false;
			}
			cancel(me);
			moveTo(other);
			return true;
		}

		private void cancel(Set me) {
			step("cancels the timer");
			if (this.scheduled == me) {
				this.scheduled = null;
			}
		}

		private void moveTo(Set other) {
			this.key = null;
			step("leaves its set");
			this.active = false;
			this.set = other;
			request(REGISTER | REARM | TIMER);
		}

		private void applyUpdate(Set me, int requests) {
			if (isElsewhere(me)) {
				forward(requests);
				return;
			}
			step("grants");
			if ((requests & REGISTER) != 0) {
				if (this.key != null) {
					Interleaving.fail("the handle is registered twice");
				}
				this.key = me;
			}
			if ((requests & REARM) != 0 && arm()) {
				this.active = true;
			}
			if ((requests & TIMER) != 0) {
				if (this.scheduled != null && this.scheduled != me) {
					Interleaving.fail("the handle has a timer in a set that it has left");
				}
				this.scheduled = this.timed ? me : null;
			}
			if ((requests & LOOK) != 0) {
				demultiplex(claimForLook());
			}
		}

		private boolean isElsewhere(Set me) {
			return this.set != me;
		}

		private void forward(int requests) {
			request(requests);
		}

		private void demultiplex(Claim claim) {
			switch (claim) {
				case CLAIMED -> {
					own();
					Interleaving.start("owner", this::work);
				}
				case OWNER_LOOKS_AGAIN, UNWANTED -> this.active = false;
				case STALE -> {
				}
			}
		}

		// The owner

		private void own() {
			if (this.owned) {
				Interleaving.fail("two threads own the handle");
			}
			this.owned = true;
		}

		private void work() {
			for (;;) {
				Interleaving.beginAnew("owns");
				this.looks = 0;
				step("reads");
				this.data = Math.max(0, this.data - 1);
				if (isOn("time,") && !this.timed) {
					this.timed = true;
					request(TIMER);
				}
				this.owned = false;
				switch (release()) {
					case RELEASED -> {
						return;
					}
					case REARM_NEEDED -> {
						request(REARM);
						return;
					}
					case LOOK_AGAIN -> own();
				}
			}
		}

		@Override
		public @Nullable String violationAtRest() {
			if (!isArmed() || this.owned) {
				return "the handle is never armed again";
			}
			if (this.key != this.set || !this.active) {
				return "the handle is not active in its set";
			}
			if (this.data > 0) {
				return "an event is lost";
			}
			if (this.looks > 0) {
				return "a look is lost";
			}
			return (this.scheduled == (this.timed ? this.set : null)) ? null : "a timer is lost";
		}

		/** As HandleSet and Unfolding do it: a set that rests has no leader. */
		private static final class Set {

			private final UpdateQueue updates = new UpdateQueue(this::wakeUp);

			private boolean woken;

			private volatile boolean resting;

			private void wakeUp() {
				if (this.resting) {
					this.resting = false;
				}
				else {
					this.woken = true;
				}
			}

			private void rest() {
				this.updates.beginWait();
				this.resting = true;
				if (this.updates.isEmpty() && this.updates.isWaitedFor()) {
					Interleaving.await("rests", () -> !this.resting);
				}
				this.resting = false;
			}

		}

	}

}
