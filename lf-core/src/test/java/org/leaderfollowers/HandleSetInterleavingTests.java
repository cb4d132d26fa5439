package org.leaderfollowers;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.channels.SelectionKey;
import java.time.Duration;
import java.util.List;

import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.leaderfollowers.interleavings.Exploration;
import org.leaderfollowers.interleavings.Interleaving;
import org.leaderfollowers.interleavings.Mutation;
import org.leaderfollowers.interleavings.Scenario;
import org.leaderfollowers.internal.buffer.MemoryBudget;
import org.leaderfollowers.internal.logging.FailureLog;
import org.leaderfollowers.internal.promotion.Clock;
import org.leaderfollowers.internal.promotion.DispatchPolicy;
import org.leaderfollowers.internal.promotion.HandledWork;
import org.leaderfollowers.internal.promotion.HandlerProfile;
import org.leaderfollowers.internal.promotion.Leadership;
import org.leaderfollowers.internal.promotion.PoolSettings;
import org.leaderfollowers.internal.promotion.ProcessorTime;
import org.leaderfollowers.internal.promotion.PromotionProtocol;
import org.leaderfollowers.internal.promotion.SourcePlaces;
import org.leaderfollowers.internal.promotion.Starvation;
import org.leaderfollowers.internal.promotion.Unfolding;

/**
 * The interleavings of handle sets with the events of a handle, with those who request
 * something of them or take them into use or out of use, and with the promotion of their
 * leaders. Everything is real but the selectors and the channel.
 */
@Tag("interleavings")
class HandleSetInterleavingTests {

	/**
	 * Handle sets, least and most threads, options, and how many preemptions there are.
	 * The options: the second handle set <em>rests</em> from the beginning, is taken
	 * <em>out</em> of use, and is <em>used</em> from some moment on; something is
	 * <em>requested</em> of it, or <em>requested twice</em>; a handler of the first
	 * handle set is <em>endless</em>; <em>events</em> of another handle come; it is
	 * <em>deactivated</em> and activated again, or <em>closes</em>.
	 */
	private enum Case {

		REQUESTED(1, 1, 1, "requested twice", 2),

		OUT_OF_USE(2, 2, 2, "out", 1),

		OUT_OF_USE_AND_USED(2, 2, 2, "out, used", 1),

		OUT_OF_USE_AND_REQUESTED(2, 2, 2, "out, requested", 1),

		OUT_OF_USE_AND_REQUESTED_TWICE(2, 2, 2, "out, requested twice", 0),

		USED(2, 2, 2, "rests, used", 1),

		USED_AND_REQUESTED(2, 2, 2, "rests, used, requested", 1),

		USED_AND_A_THREAD_TO_START(2, 1, 2, "rests, used", 1),

		RESTING_AND_REQUESTED(2, 2, 2, "rests, requested twice", 1),

		RESTING_WHILE_A_HANDLER_DOES_NOT_RETURN(2, 2, 2, "rests, requested, endless", 1),

		EVENTS_OF_ONE_THREAD(1, 1, 1, "events", 1),

		EVENTS(1, 2, 2, "events", 1),

		EVENTS_AND_A_HANDLER_THAT_DOES_NOT_RETURN(1, 2, 2, "events, endless", 1),

		EVENTS_OF_A_HANDLE_THAT_IS_DEACTIVATED(1, 2, 2, "events, deactivated", 1),

		EVENTS_OF_A_HANDLE_THAT_CLOSES(1, 2, 2, "events, closes", 1);

		private final int sets;

		private final int min;

		private final int max;

		private final String options;

		private final int preemptions;

		Case(int sets, int min, int max, String options, int preemptions) {
			this.sets = sets;
			this.min = min;
			this.max = max;
			this.options = options;
			this.preemptions = preemptions;
		}

		Exploration exploration() {
			return Exploration.of(Pool.class, this.sets, this.min, this.max, this.options)
				.preemptions(this.preemptions)
				.adapted(Mutation.failsWith(FailureLog.class, "error", 3),
						Mutation.withoutCall(Leadership.class, "handedOff", "record"),
						Mutation.withoutCall(SelectableHandle.class, "close", "require"),
						Mutation.fieldReads(PromotionProtocol.class, "spin", "SPINS", 1));
		}

	}

	private enum Rule {

		A_LEADER_LOOKS_ONCE_MORE_AFTER_IT_HAS_PUBLISHED_THAT_ITS_SET_RESTS(Case.OUT_OF_USE_AND_USED,
				Mutation.callReturns(Unfolding.class, "rest", "isWanted", 0)),

		A_LEADER_PUBLISHES_THAT_ITS_SET_RESTS_BEFORE_IT_LOOKS(Case.OUT_OF_USE_AND_USED,
				Mutation.movedBehind(Unfolding.class, "rest", "rest", "isWanted")),

		A_SET_THAT_IS_IN_USE_DOES_NOT_REST(Case.OUT_OF_USE_AND_USED,
				Mutation.callReturns(waitingLeadership(), "isWanted", "isInUse", 0)),

		A_SET_THAT_HAS_REQUESTS_DOES_NOT_REST(Case.OUT_OF_USE_AND_REQUESTED,
				Mutation.callReturns(waitingLeadership(), "isWanted", "isEmpty", 1)),

		A_SET_RESTS_ONLY_IF_ITS_ANNOUNCEMENT_HAS_NOT_BEEN_USED_UP(Case.OUT_OF_USE_AND_REQUESTED_TWICE,
				Mutation.callReturns(waitingLeadership(), "isWanted", "isWaitedFor", 1)),

		A_LEADER_ANNOUNCES_A_WAIT_BEFORE_ITS_SET_RESTS(Case.OUT_OF_USE,
				Mutation.withoutCall(HandleSet.class, "rest", "beginWait")),

		A_SET_THAT_RESTS_FROM_THE_BEGINNING_HAS_ANNOUNCED_A_WAIT(Case.RESTING_AND_REQUESTED,
				Mutation.withoutCall(waitingLeadership(), "<init>", "beginWait")),

		A_REQUESTER_OPENS_A_SET_THAT_RESTS(Case.RESTING_AND_REQUESTED,
				Mutation.callReturns(HandleSet.class, "wakeUp", "isResting", 0)),

		A_SET_IS_OPENED_BY_COMPARE_AND_SET(Case.USED_AND_REQUESTED,
				Mutation.setsWithoutComparing(Leadership.class, "open")),

		A_THREAD_THAT_OPENS_A_SET_SIGNALS_FOR_IT(Case.USED,
				Mutation.withoutCall(Unfolding.class, "open", "signalIfVacant")),

		A_LEADER_WHOSE_SET_IS_NOT_IN_USE_ANY_MORE_IS_WOKEN(Case.OUT_OF_USE,
				Mutation.withoutCall(Unfolding.class, "use", "endLongWait")),

		A_LONG_WAIT_IS_ENDED(Case.OUT_OF_USE, Mutation.fieldReads(waitingLeadership(), "endLongWait", "longWait", 0)),

		A_LEADER_WAITS_FOR_LONG_ONLY_IF_ITS_SET_IS_IN_USE(Case.OUT_OF_USE,
				Mutation.callReturns(HandleSet.class, "maxWaitNanos", "isInUse", 1)),

		A_LEADER_DOES_NOT_WAIT_WHILE_THERE_ARE_REQUESTS(Case.REQUESTED,
				Mutation.resultIgnored(HandleSet.class, "await", "beginWait", 1)),

		A_LEADER_ANNOUNCES_ITS_WAIT(Case.REQUESTED, Mutation.callReturns(HandleSet.class, "await", "beginWait", 1)),

		A_REQUESTER_WAKES_THE_SELECTOR(Case.REQUESTED, Mutation.withoutCall(HandleSet.class, "wakeSelector", "wakeup")),

		A_LEADER_APPLIES_REQUESTS_BEFORE_IT_WAITS(Case.REQUESTED,
				Mutation.withoutCall(HandleSet.class, "applyChanges", "applyUpdates")),

		A_LEADER_APPLIES_REQUESTS_BEFORE_ITS_SET_RESTS(Case.OUT_OF_USE_AND_REQUESTED,
				Mutation.withoutCall(HandleSet.class, "isDeserted", "applyUpdates")),

		A_HANDLE_IS_ACTIVATED_AGAIN(Case.EVENTS,
				Mutation.withoutCall(SelectableHandle.class, "releaseOrLookAgain", "request")),

		A_HANDLE_THAT_IS_ACTIVATED_AGAIN_IS_WATCHED(Case.EVENTS,
				Mutation.withoutCall(HandleSet.class, "grant", "applyInterest")),

		A_READY_HANDLE_IS_QUEUED(Case.EVENTS, Mutation.withoutCall(HandleSet.class, "demultiplex", "add")),

		A_LEADER_DOES_NOT_WAIT_WHILE_HANDLES_ARE_READY(Case.RESTING_WHILE_A_HANDLER_DOES_NOT_RETURN,
				Mutation.fieldReads(HandleSet.class, "await", "anyReady", 0)),

		A_HANDLE_THAT_IS_CLOSED_IS_LOOKED_AT(Case.EVENTS_OF_A_HANDLE_THAT_CLOSES,
				Mutation.withoutCall(HandleSet.class, "grant", "look"));

		private final Case pool;

		private final Mutation mutation;

		Rule(Case pool, Mutation mutation) {
			this.pool = pool;
			this.mutation = mutation;
		}

		private static Class<?> waitingLeadership() {
			try {
				return Class.forName(HandleSet.class.getName() + "$WaitingLeadership");
			}
			catch (ClassNotFoundException ex) {
				throw new IllegalStateException(ex);
			}
		}

	}

	@ParameterizedTest
	@EnumSource
	void nothingThatIsRequestedIsLost(Case pool) {
		pool.exploration().assertSound();
	}

	@ParameterizedTest
	@EnumSource
	@Tag("stress")
	void nothingThatIsRequestedIsLostAtRandom(Case pool) {
		pool.exploration().assertSoundAtRandom(10_000);
	}

	@ParameterizedTest
	@EnumSource
	void noRuleCanBeDropped(Rule rule) {
		rule.pool.exploration().preemptions(rule.pool.preemptions + 1).with(rule.mutation).assertViolated();
	}

	/**
	 * The classes of a {@link LeaderFollowersPool}, as far as they belong to its handle
	 * sets and threads.
	 */
	static final class Pool implements Scenario, PoolThreads.Pool {

		private static final long KEEP_ALIVE_NANOS = 100_000_000;

		private final String options;

		private final HandleSets sets;

		private final PoolThreads threads;

		private final PromotionProtocol promotion;

		private final Unfolding unfolding;

		private final EventRoad road;

		private final Requested requested = new Requested();

		private final SelectableHandle handle;

		private final SelectableHandle endless;

		private final ScriptedSelectors.Source channel;

		private final RawEventHandler raw;

		/** How many events have come, and how many had come when one was handled. */
		private int fired;

		private int handled;

		private boolean isHandling;

		private boolean isEndless;

		Pool(int sets, int min, int max, String options) {
			this.options = options;
			FailureLog failureLog = new FailureLog();
			ScriptedSelectors selectors = new ScriptedSelectors(Clock.SYSTEM);
			PoolOptions poolOptions = new PoolOptions("explored",
					new PoolSettings(min, max, true, 1000, Clock.SYSTEM.nanoTime()), Duration.ofNanos(KEEP_ALIVE_NANOS),
					Thread.NORM_PRIORITY, sets, false, List.of(), 9, PromotionOrder.LIFO, 1L << 20,
					new NestedUpcalls.Options(NestedDispatch.NEVER, 1, new NestingGuard() {
					}), List.of(), Clock.SYSTEM, selectors, ProcessorTime.SYSTEM, new PoolWatchdog.Options(0, 0));
			int inUse = isOn("rests") ? 1 : sets;
			this.sets = new HandleSets("explored", sets, inUse, Clock.SYSTEM, poolOptions.selectorProvider(),
					failureLog);
			EventSources sources = new EventSources("explored", List.of(), sets, Clock.SYSTEM);
			this.threads = new PoolThreads(poolOptions, new MemoryBudget(1L << 20), failureLog);
			this.promotion = new PromotionProtocol(this.sets.leaderships(), PromotionOrder.LIFO.followers(),
					this.threads.members(), this.threads, new Starvation(sets, new PoolThreadsTests.Unheard()),
					(kind, vacancyNanos) -> {
					}, KEEP_ALIVE_NANOS, Clock.SYSTEM);
			DispatchPolicy policy = new DispatchPolicy(this.promotion, this.threads, 9, Clock.SYSTEM);
			this.unfolding = new Unfolding(this.promotion, this.sets.leaderships(), this.sets.deal(), 0,
					this.threads.members(), this.threads, policy, 9, ProcessorTime.SYSTEM, Clock.SYSTEM);
			this.sets.begin(this.unfolding);
			sources.begin(new SourcePlaces(this.promotion, sources.leaderships(), sets, this.threads, Clock.SYSTEM));
			this.road = new EventRoad(poolOptions, this.sets, sources, this.promotion, policy, this.unfolding,
					failureLog);
			this.threads.of(this);
			this.handle = new SelectableHandle(null, (short) 0, this.sets.get(sets - 1), this.requested,
					this.sets.newProfiles(), 0);
			this.endless = this.sets.newTimer(new Endless(() -> this.isEndless = true));
			this.channel = source(selectors);
			this.raw = new RawEventHandler(this.channel, (handle, event) -> handleEvent(), (channel,
					handler) -> this.sets.newHandle(channel, handler, SelectionKey.OP_READ, new HandlerProfile()));
		}

		private static ScriptedSelectors.Source source(ScriptedSelectors selectors) {
			try {
				return selectors.new Source();
			}
			catch (IOException ex) {
				throw new UncheckedIOException(ex);
			}
		}

		private boolean isOn(String option) {
			return this.options.contains(option);
		}

		@Override
		public void begin() {
			this.threads.startMinimum();
			if (isOn("out") || isOn("used")) {
				Interleaving.start("uses", () -> {
					if (isOn("out")) {
						this.unfolding.use(1);
					}
					if (isOn("used")) {
						this.unfolding.use(2);
					}
				});
			}
			if (isOn("requested")) {
				Interleaving.start("requests", this::request);
			}
			if (isOn("requested twice")) {
				Interleaving.start("requests again", this::request);
			}
			if (isOn("events")) {
				SelectableHandle handle = this.raw.open();
				Interleaving.start("events", this::events);
				if (isOn("deactivated")) {
					Interleaving.start("deactivates", () -> {
						handle.operations(SelectionKey.OP_READ, 0);
						handle.request(SelectableHandle.INTEREST);
						handle.operations(0, SelectionKey.OP_READ);
						handle.request(SelectableHandle.INTEREST);
					});
				}
				if (isOn("closes")) {
					Interleaving.start("closes", handle::close);
				}
			}
			if (isOn("endless")) {
				this.endless.release();
				this.endless.request(SelectableHandle.LOOK);
			}
		}

		private void events() {
			Interleaving.await("the handle is active", this.channel::isActive);
			for (int i = 0; i < 2; i++) {
				Interleaving.step("an event comes");
				this.fired++;
				this.channel.fireUntilRead();
			}
		}

		private void handleEvent() {
			if (this.isHandling) {
				Interleaving.fail("two threads handle events of one handle");
			}
			this.isHandling = true;
			this.channel.read();
			this.handled = this.fired;
			Interleaving.step("handles");
			this.isHandling = false;
		}

		private void request() {
			this.requested.made++;
			this.handle.request(SelectableHandle.LOOK);
		}

		@Override
		public PromotionProtocol promotion() {
			return this.promotion;
		}

		@Override
		public Participant.@Nullable ReplyWait replyWait() {
			return null;
		}

		@Override
		public void participate(Participant me) {
			this.road.participate(me, Clock.SYSTEM.nanoTime() + PromotionProtocol.FOREVER_NANOS);
		}

		@Override
		public void threadEnded() {
		}

		@Override
		public long delayNanos() {
			return 4 * PromotionProtocol.ROTATION_NANOS;
		}

		@Override
		public @Nullable String violationAtRest() {
			if (this.requested.seen != this.requested.made) {
				return "a request is lost";
			}
			if (isOn("events") && this.handled != 2 && !isOn("closes")) {
				return "an event is lost";
			}
			if (isOn("endless") && !this.isEndless) {
				return "a look is lost";
			}
			if (isOn("closes") && (this.channel.isOpen() || this.channel.isRegistered())) {
				return "the handle is not closed";
			}
			for (HandleSet set : this.sets) {
				boolean inUse = this.sets.deal().isInUse(set.leadership.index());
				if (inUse == set.leadership.isResting()) {
					return inUse ? "a set that is in use rests" : "a set that is not in use does not rest";
				}
				if (inUse && set.leadership.isVacant()) {
					return "a set has no leader";
				}
			}
			return null;
		}

	}

	/** Its leader does at once what is requested. */
	private static final class Requested extends Handler {

		private int made;

		private int seen;

		@Override
		public boolean lookAtOnce() {
			this.seen = this.made;
			return true;
		}

	}

	/** A handler that does not return. */
	private static final class Endless extends Handler {

		private final Runnable begins;

		Endless(Runnable begins) {
			this.begins = begins;
		}

		@Override
		public boolean prepare(Participant me) {
			return true;
		}

		@Override
		public void dispatch(Participant me) {
			this.begins.run();
			Interleaving.await("handles for ever", () -> false);
		}

	}

	private static class Handler implements EngineEventHandler {

		private static final HandledWork WORK = new HandledWork("handle", null, null);

		@Override
		public boolean prepare(Participant me) {
			return false;
		}

		@Override
		public void dispatch(Participant me) {
		}

		@Override
		public boolean release(Participant me) {
			return true;
		}

		@Override
		public HandlerProfile profile() {
			return HandlerProfile.BLOCKING;
		}

		@Override
		public boolean failed(@Nullable Participant me, Throwable failure) {
			return true;
		}

		@Override
		public void abandon() {
		}

		@Override
		public HandledWork work() {
			return WORK;
		}

	}

}
