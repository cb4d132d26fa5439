package org.leaderfollowers;

import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.leaderfollowers.interleavings.Exploration;
import org.leaderfollowers.interleavings.Interleaving;
import org.leaderfollowers.interleavings.Mutation;
import org.leaderfollowers.interleavings.Scenario;
import org.leaderfollowers.internal.demultiplexing.HandleState;
import org.leaderfollowers.internal.logging.FailureLog;
import org.leaderfollowers.internal.promotion.Clock;
import org.leaderfollowers.internal.promotion.HandledWork;
import org.leaderfollowers.internal.promotion.HandlerProfile;

/**
 * The interleavings of a leader that postpones the work of a handle with the threads that
 * take its place: all work is done, by one thread at a time, and by a thread of the pool
 * that the handle belongs to.
 */
@Tag("interleavings")
class PlaceInterleavingTests {

	/**
	 * How many events come, how many threads of the pool are free, whether the handle
	 * moves to another handle set of the <em>same</em> pool or of <em>another</em> one,
	 * which perhaps <em>closes</em>, and how many preemptions there are.
	 */
	private enum Case {

		ONE_EVENT(1, 1, "", 3),

		TWO_EVENTS(2, 1, "", 2),

		TWO_FREE_THREADS(2, 2, "", 1),

		MOVED_IN_ITS_POOL(1, 1, "same", 2),

		MOVED_IN_ITS_POOL_WITH_TWO_EVENTS(2, 1, "same", 1),

		MOVED_TO_ANOTHER_POOL(1, 1, "another", 1),

		MOVED_TO_ANOTHER_POOL_WITH_TWO_EVENTS(2, 1, "another", 1),

		MOVED_TO_ANOTHER_POOL_THAT_CLOSES(1, 1, "another, closes", 1);

		private final int events;

		private final int free;

		private final String moves;

		private final int preemptions;

		Case(int events, int free, String moves, int preemptions) {
			this.events = events;
			this.free = free;
			this.moves = moves;
			this.preemptions = preemptions;
		}

		Exploration exploration() {
			return Exploration.of(Postponing.class, this.events, this.free, this.moves)
				.preemptions(this.preemptions)
				.adapted(Mutation.failsWith(FailureLog.class, "error", 3),
						Mutation.withoutCall(HandleSet.class, "grant", "register"));
		}

	}

	private enum Rule {

		A_PLACE_IS_GIVEN_UP_BEFORE_ITS_HANDLE_IS_CLAIMED(Case.TWO_EVENTS,
				Mutation.movedBehind(Place.class, "own", "taken", "request")),

		A_PLACE_THAT_WAS_TAKEN_IS_REPLACED(Case.TWO_EVENTS, Mutation.fieldReads(Place.class, "keep", "taken", 0)),

		A_HANDLE_IS_CLAIMED_BY_COMPARE_AND_SET(Case.ONE_EVENT,
				Mutation.setsWithoutComparing(HandleState.class, "claimReleased")),

		A_LOOK_IS_REQUESTED_IF_THE_HANDLE_CANNOT_BE_CLAIMED(Case.ONE_EVENT,
				Mutation.withoutCall(Place.class, "own", "request")),

		A_HANDLE_THAT_HAS_MOVED_IS_LEFT_TO_ITS_POOL(Case.MOVED_TO_ANOTHER_POOL,
				Mutation.callReturns(Place.class, "own", "isInSet", 1)),

		A_HANDLE_IS_ABANDONED_IF_ITS_POOL_HAS_CLOSED_MEANWHILE(Case.MOVED_TO_ANOTHER_POOL_THAT_CLOSES,
				Mutation.withoutCall(Place.class, "own", "abandon")),

		A_HANDLE_THAT_IS_LEFT_TO_ITS_POOL_IS_GIVEN_BACK(Case.MOVED_TO_ANOTHER_POOL,
				Mutation.withoutCall(Place.class, "own", "giveBack"));

		private final Case postponed;

		private final Mutation mutation;

		Rule(Case postponed, Mutation mutation) {
			this.postponed = postponed;
			this.mutation = mutation;
		}

	}

	@ParameterizedTest
	@EnumSource
	void allWorkIsDone(Case postponed) {
		postponed.exploration().assertSound();
	}

	@ParameterizedTest
	@EnumSource
	@Tag("stress")
	void allWorkIsDoneAtRandom(Case postponed) {
		postponed.exploration().assertSoundAtRandom(20_000);
	}

	@ParameterizedTest
	@EnumSource
	void noRuleCanBeDropped(Rule rule) {
		rule.postponed.exploration().preemptions(rule.postponed.preemptions + 1).with(rule.mutation).assertViolated();
	}

	/**
	 * Everything is real but the leaders and the free threads, which have no pool, and
	 * the channel.
	 */
	static final class Postponing implements Scenario, EngineEventHandler {

		private static final HandledWork WORK = new HandledWork("handle", null, null);

		private final HandleSets sets;

		private final HandleSets others;

		private final int free;

		private final boolean movesInPool;

		private boolean movesToOtherPool;

		private final boolean closes;

		private final SelectableHandle handle;

		/** Events that have not come yet. */
		private int left;

		private int come;

		private int handled;

		private boolean isOwned;

		private boolean isAbandoned;

		private @Nullable Place place;

		Postponing(int events, int free, String moves) {
			this.left = events;
			this.free = free;
			this.movesInPool = moves.equals("same");
			this.movesToOtherPool = moves.contains("another");
			this.closes = moves.contains("closes");
			this.sets = sets("pool");
			this.others = sets("other");
			this.handle = this.sets.newTimer(this);
		}

		private static HandleSets sets(String pool) {
			return new HandleSets(pool, 2, 2, Clock.SYSTEM, new ScriptedSelectors(Clock.SYSTEM), new FailureLog());
		}

		@Override
		public void begin() {
			this.handle.release();
			this.handle.request(SelectableHandle.REARM);
			Interleaving.start("events", this::fire);
			Interleaving.start("leader", this::postpone);
			if (this.movesInPool) {
				Interleaving.start("other leader", () -> lead(this.sets.get(1)));
			}
			if (this.closes) {
				Interleaving.start("the other pool", this::leadAndClose);
			}
			else if (this.movesToOtherPool) {
				Interleaving.start("leader of the other pool", () -> lead(this.others.get(0)));
				Interleaving.start("free thread of the other pool", () -> handle(this.others));
			}
			for (int i = 0; i < this.free; i++) {
				Interleaving.start("free " + i, () -> handle(this.sets));
			}
		}

		private void fire() {
			while (this.left > 0) {
				Interleaving.step("an event comes");
				this.left--;
				this.come++;
				this.handle.request(SelectableHandle.LOOK);
			}
		}

		/** What {@link BoundWait} does. */
		private void postpone() {
			HandleSet set = this.sets.get(0);
			boolean moves = this.movesInPool;
			for (;;) {
				Interleaving.beginAnew("leads");
				Interleaving.await("something is requested", () -> !set.updates.isEmpty());
				set.applyUpdates();
				for (int i = set.ready.size(); i > 0; i--) {
					set.ready.reserve();
					Ready next = set.ready.take();
					if (next == this.handle && !this.isAbandoned) {
						postpone(set);
					}
					else if (next != null) {
						set.ready.add(next);
					}
				}
				if (moves && this.handle.disarm()) {
					moves = false;
					this.handle.moveTo(this.sets.get(1));
				}
			}
		}

		private void postpone(HandleSet set) {
			do {
				begin("postpones");
				if (this.handled != this.come) {
					this.place = Place.keep(this.place, this.handle, set);
				}
				this.isOwned = false;
				if (this.movesToOtherPool) {
					this.movesToOtherPool = false;
					this.handle.moveTo(this.others.get(0), (short) 0, this.others.newProfiles());
					return;
				}
			}
			while (!this.handle.releaseOrLookAgain());
		}

		/** What the only thread of a pool does that handles an event and stops. */
		private void leadAndClose() {
			HandleSet set = this.others.get(0);
			Interleaving.await("something is requested", () -> !set.updates.isEmpty());
			set.applyUpdates();
			SelectableHandle taken = Ready.take(set.ready);
			if (taken != null) {
				handle(taken, this.others);
			}
			Interleaving.step("closes");
			set.closed = true;
			set.updates.applyUpdates(SelectableHandle.class, SelectableHandle::abandon);
			abandon();
		}

		private void lead(HandleSet set) {
			for (;;) {
				Interleaving.beginAnew("leads");
				Interleaving.await("something is requested", () -> !set.updates.isEmpty());
				set.applyUpdates();
			}
		}

		private void handle(HandleSets pool) {
			for (;;) {
				Interleaving.beginAnew("free");
				Interleaving.await("a handle is ready",
						() -> !pool.get(0).ready.isEmpty() || !pool.get(1).ready.isEmpty());
				for (HandleSet set : pool) {
					SelectableHandle taken = Ready.take(set.ready);
					if (taken != null) {
						handle(taken, pool);
					}
				}
			}
		}

		private void handle(SelectableHandle taken, HandleSets pool) {
			HandleSet set = taken.handleSet();
			if (set != pool.get(0) && set != pool.get(1)) {
				Interleaving.fail("a thread of another pool handles it");
			}
			do {
				begin("handles");
				this.handled = this.come;
				this.isOwned = false;
				if (this.isAbandoned) {
					taken.markClosed();
					return;
				}
			}
			while (!taken.releaseOrLookAgain());
		}

		private void begin(String what) {
			if (this.isOwned) {
				Interleaving.fail("two threads own the handle");
			}
			this.isOwned = true;
			Interleaving.step(what);
		}

		@Override
		public @Nullable String violationAtRest() {
			if (this.others.get(0).closed) {
				return this.handle.isMarkedClosed() ? null : "the end of the handle is lost";
			}
			if (this.handled != this.come) {
				return "work is lost";
			}
			return this.handle.isOwned() ? "the handle stays owned" : null;
		}

		@Override
		public boolean prepare(Participant me) {
			throw new IllegalStateException();
		}

		@Override
		public void dispatch(Participant me) {
			throw new IllegalStateException();
		}

		@Override
		public boolean release(Participant me) {
			throw new IllegalStateException();
		}

		@Override
		public HandlerProfile profile() {
			return HandlerProfile.BLOCKING;
		}

		@Override
		public boolean failed(Participant me, Throwable failure) {
			return true;
		}

		@Override
		public void abort() {
			this.isAbandoned = true;
		}

		/** What a connection does, as far as it concerns the handle. */
		@Override
		public void abandon() {
			this.isAbandoned = true;
			if (this.handle.claimForLook() == HandleState.Claim.CLAIMED) {
				this.handle.markClosed();
			}
		}

		@Override
		public HandledWork work() {
			return WORK;
		}

	}

}
