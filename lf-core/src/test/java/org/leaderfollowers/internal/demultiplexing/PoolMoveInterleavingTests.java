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
 * Explores the interleavings when the owner of a handle passes it to another pool: the
 * message that made it choose and all later events are processed there and by one owner
 * at a time, in the end the handle is active there, and no look, timer or close is lost.
 * If the other pool stops, the handle is closed, but never by a thread that leads.
 */
@Tag("interleavings")
class PoolMoveInterleavingTests {

	/**
	 * Events that come, and what happens meanwhile: the handle is <em>looked</em> at,
	 * given a <em>timer</em>, or asked to <em>close</em>, from outside; the other pool
	 * <em>stops</em>.
	 */
	private enum Passing {

		QUIET(1, "", 2),

		TWO_EVENTS(2, "", 1),

		LOOKED_AT(1, "looked", 1),

		GIVEN_A_TIMER(1, "timer", 1),

		LOOKED_AT_AND_GIVEN_A_TIMER(1, "looked, timer", 0),

		TWO_EVENTS_AND_A_LOOK(2, "looked", 0),

		CLOSED(1, "close", 1),

		INTO_A_POOL_THAT_STOPS(1, "stops", 1),

		GIVEN_A_TIMER_AND_INTO_A_POOL_THAT_STOPS(1, "stops, timer", 1),

		CLOSED_AND_INTO_A_POOL_THAT_STOPS(1, "stops, close", 1);

		private final int events;

		private final String options;

		private final int preemptions;

		Passing(int events, String options, int preemptions) {
			this.events = events;
			this.options = options;
			this.preemptions = preemptions;
		}

		Exploration exploration() {
			return Exploration.of(Passed.class, this.events, this.options).preemptions(this.preemptions);
		}

	}

	private enum Rule {

		THE_OWNER_KEEPS_THE_HANDLE_UNTIL_IT_HAS_MOVED(Passing.LOOKED_AT,
				Mutation.callReturns(Passed.class, "passOn", "remainsOwner", 0)),

		A_LOOK_DURING_THE_MOVE_IS_REPEATED(Passing.LOOKED_AT, Mutation.fieldReads(Passed.class, "moveOut", "look", 0)),

		THE_HANDLE_IS_RELEASED(Passing.QUIET, Mutation.withoutCall(Passed.class, "moveOut", "pause")),

		A_TIMER_IS_CANCELLED_BEFORE_THE_HANDLE_MOVES(Passing.GIVEN_A_TIMER,
				Mutation.withoutCall(Passed.class, "applyUpdate", "cancel")),

		REQUESTS_OF_A_HANDLE_THAT_HAS_MOVED_ARE_FORWARDED(Passing.LOOKED_AT,
				Mutation.withoutCall(Passed.class, "forward", "requestThere")),

		A_HANDLE_LEAVES_ITS_SET_BEFORE_IT_IS_REQUESTED_IN_THE_NEW_ONE(Passing.QUIET,
				Mutation.movedBehind(Passed.class, "moveOut", "active", "requestThere")),

		A_POOL_THAT_HAS_STOPPED_IS_NOTICED(Passing.INTO_A_POOL_THAT_STOPS,
				Mutation.fieldReads(Passed.class, "requestThere", "stopped", 0)),

		A_HANDLE_THAT_RETURNS_IS_TO_BE_CLOSED(Passing.INTO_A_POOL_THAT_STOPS,
				Mutation.withoutCall(Passed.class, "requestThere", "abort")),

		THE_LEADER_CLAIMS_A_HANDLE_THAT_RETURNS(Passing.INTO_A_POOL_THAT_STOPS,
				Mutation.withoutCall(Passed.class, "requestThere", "demultiplex"));

		private final Passing passing;

		private final Mutation mutation;

		Rule(Passing passing, Mutation mutation) {
			this.passing = passing;
			this.mutation = mutation;
		}

	}

	@ParameterizedTest
	@EnumSource
	void processedInTheOtherPoolAndNothingIsLost(Passing passing) {
		passing.exploration().assertSound();
	}

	@ParameterizedTest
	@EnumSource
	@Tag("stress")
	void processedInTheOtherPoolAndNothingIsLostAtRandom(Passing passing) {
		passing.exploration().assertSoundAtRandom(20_000);
	}

	@ParameterizedTest
	@EnumSource
	void noRuleCanBeDropped(Rule rule) {
		rule.passing.exploration().preemptions(rule.passing.preemptions + 1).with(rule.mutation).assertViolated();
	}

	/**
	 * The real {@link HandleState} and {@link UpdateQueue}s, with the least of two pools
	 * of one handle set each around them. A handle is registered with a set if it has a
	 * key there.
	 */
	static final class Passed extends HandleState implements Scenario {

		private static final int LOOK = 2;

		private static final int REGISTER = 4;

		private static final int REARM = 8;

		private static final int TIMER = 16;

		private static final int MOVE = 32;

		private static final int GONE = 64;

		private final Set first = new Set();

		private final Set second = new Set();

		private final int events;

		private final String options;

		/** Not a constant, so that a mutation can leave it out. */
		private final int look;

		/** The set that the handle is in. */
		private volatile Set set = this.first;

		private int data;

		private volatile boolean stopping;

		private volatile boolean stopped;

		// The leader's

		private @Nullable Set key;

		private boolean active;

		private @Nullable Set scheduled;

		// The owner's

		private @Nullable Set owner;

		/** Whether the message that has made the handle choose waits for a thread. */
		private boolean kept;

		private boolean hasChosen;

		private volatile boolean timed;

		private volatile int looks;

		private volatile boolean closing;

		Passed(int events, String options) {
			this.events = events;
			this.options = options;
			this.look = LOOK;
		}

		private boolean isOn(String option) {
			return this.options.contains(option);
		}

		@Override
		public void begin() {
			request(REGISTER);
			release();
			request(REARM);
			for (Set each : new Set[] { this.first, this.second }) {
				Interleaving.start("leader", () -> lead(each));
			}
			Interleaving.start("peer", () -> {
				for (int i = 0; i < this.events; i++) {
					step("peer sends");
					this.data++;
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
			if (isOn("close")) {
				Interleaving.start("closes", () -> {
					this.closing = true;
					request(LOOK);
				});
			}
			if (isOn("stops")) {
				Interleaving.start("stops", () -> {
					this.stopping = true;
					this.second.updates.wakeLeader();
				});
			}
		}

		private void request(int requests) {
			this.set.updates.request(this, requests);
		}

		// The leaders, as HandleSet does it

		private void lead(Set me) {
			while (me == this.first || !this.stopping) {
				Interleaving.beginAnew("leads");
				me.updates.applyUpdates(Passed.class, (handle, requests) -> applyUpdate(me, requests));
				if (me.updates.beginWait() && (me == this.first || !this.stopping)) {
					Interleaving.await("selects", () -> me.woken || hasFired(me));
				}
				me.woken = false;
				me.updates.endWait();
				if (hasFired(me)) {
					demultiplex(me, claimFired());
				}
			}
			this.stopped = true;
			me.updates.applyUpdates(Passed.class, (handle, requests) -> abandon());
			if (this.key == me) {
				abandon();
			}
		}

		private boolean hasFired(Set me) {
			return this.key == me && this.active && this.data > 0;
		}

		private void cancel(Set me) {
			step("cancels the timer");
			if (this.scheduled != null && this.scheduled != me && !this.stopped) {
				Interleaving.fail("the handle has a timer in another set, which is still led");
			}
			this.scheduled = null;
		}

		private void applyUpdate(Set me, int requests) {
			if (isElsewhere(me)) {
				forward(requests);
				return;
			}
			if (isMarkedClosed()) {
				this.key = null;
				cancel(me);
				return;
			}
			if ((requests & MOVE) != 0) {
				cancel(me);
				moveOut();
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
				demultiplex(me, claimForLook());
			}
		}

		/** As SelectableHandle does it. */
		private void moveOut() {
			Release released = Release.LOOK_AGAIN;
			while (released == Release.LOOK_AGAIN) {
				released = pause();
			}
			this.key = null;
			step("leaves its set");
			this.active = false;
			this.set = this.second;
			requestThere(REGISTER | TIMER | this.look);
		}

		private void requestThere(int requests) {
			request(requests);
			if (this.set == this.second && this.stopped) {
				this.set = this.first;
				abort();
				demultiplex(this.first, claimForLook());
			}
		}

		private void abort() {
			this.closing = true;
			request(LOOK);
		}

		private boolean isElsewhere(Set me) {
			return this.set != me;
		}

		private void forward(int requests) {
			requestThere(requests);
		}

		private void demultiplex(Set me, Claim claim) {
			switch (claim) {
				case CLAIMED -> {
					own(me);
					Interleaving.start("owner", () -> work(me));
				}
				case OWNER_LOOKS_AGAIN, UNWANTED -> this.active = false;
				case STALE -> {
				}
			}
		}

		private void abandon() {
			this.closing = true;
			if (claimForLook() == Claim.CLAIMED) {
				markClosed();
				request(GONE);
			}
		}

		// The owner

		private void own(Set pool) {
			if (this.owner != null) {
				Interleaving.fail("two threads own the handle");
			}
			this.owner = pool;
		}

		private void work(Set me) {
			for (;;) {
				Interleaving.beginAnew("owns");
				this.looks = 0;
				if (this.closing) {
					this.owner = null;
					markClosed();
					request(GONE);
					return;
				}
				step("reads");
				if (me == this.first && this.hasChosen) {
					Interleaving.fail("a thread of the former pool owns the handle");
				}
				if (me == this.first && this.data > 0) {
					this.data--;
					this.kept = true;
					this.hasChosen = true;
					this.owner = null;
					passOn();
					return;
				}
				this.kept = false;
				this.data = Math.max(0, this.data - 1);
				this.owner = null;
				switch (release()) {
					case RELEASED -> {
						return;
					}
					case REARM_NEEDED -> {
						request(REARM);
						return;
					}
					case LOOK_AGAIN -> own(me);
				}
			}
		}

		private void passOn() {
			if (!remainsOwner()) {
				pause();
			}
			request(MOVE);
		}

		private boolean remainsOwner() {
			return true;
		}

		@Override
		public @Nullable String violationAtRest() {
			if (isOn("close") || isOn("stops")) {
				return isMarkedClosed() ? null : "the handle is never closed";
			}
			if (!isArmed() || this.owner != null) {
				return "the handle is never armed again";
			}
			if (this.set != this.second || this.key != this.set || !this.active) {
				return "the handle is not active in its set";
			}
			if (this.data > 0 || this.kept) {
				return "an event is lost";
			}
			if (this.looks > 0) {
				return "a look is lost";
			}
			return (this.scheduled == (this.timed ? this.set : null)) ? null : "a timer is lost";
		}

		private static final class Set {

			private final UpdateQueue updates = new UpdateQueue(() -> this.woken = true);

			private boolean woken;

		}

	}

}
