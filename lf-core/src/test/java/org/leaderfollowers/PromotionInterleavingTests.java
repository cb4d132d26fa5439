package org.leaderfollowers;

import java.nio.channels.spi.SelectorProvider;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Stream;

import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.leaderfollowers.interleavings.Exploration;
import org.leaderfollowers.interleavings.Interleaving;
import org.leaderfollowers.interleavings.Mutation;
import org.leaderfollowers.interleavings.Scenario;
import org.leaderfollowers.internal.buffer.MemoryBudget;
import org.leaderfollowers.internal.demultiplexing.ReadyQueue;
import org.leaderfollowers.internal.demultiplexing.UpdateQueue;
import org.leaderfollowers.internal.logging.FailureLog;
import org.leaderfollowers.internal.promotion.BoundThreads;
import org.leaderfollowers.internal.promotion.Clock;
import org.leaderfollowers.internal.promotion.DispatchPolicy;
import org.leaderfollowers.internal.promotion.Followers;
import org.leaderfollowers.internal.promotion.HandledWork;
import org.leaderfollowers.internal.promotion.HandlerProfile;
import org.leaderfollowers.internal.promotion.Leadership;
import org.leaderfollowers.internal.promotion.LeaseWatch;
import org.leaderfollowers.internal.promotion.Member;
import org.leaderfollowers.internal.promotion.PoolSettings;
import org.leaderfollowers.internal.promotion.ProcessorTime;
import org.leaderfollowers.internal.promotion.PromotionProtocol;
import org.leaderfollowers.internal.promotion.Starvation;

import static org.leaderfollowers.interleavings.Interleaving.step;

/**
 * The interleavings of the promotion protocol: there are never two leaders, no wake-up is
 * lost, and no handle set waits for a handler while a thread has nothing to do.
 */
@Tag("interleavings")
class PromotionInterleavingTests {

	/**
	 * Handle sets, least and most threads, options, and how many preemptions there are.
	 * The options: <em>eager</em> policy; a FIFO order; leaderships that are
	 * <em>shared</em> while handlers run; leaders that are <em>relieved</em> whenever a
	 * handler runs; handlers that <em>pause</em>, take as <em>long</em> as a lease, are
	 * <em>endless</em>, <em>promote</em> or <em>reply</em>, or <em>call</em> and are
	 * bound until an event of their own comes, after which none returns if one
	 * <em>lasts</em>, and the first is bound for ever if it is <em>unanswered</em>; a
	 * second handle set that is an event source (<em>sourced</em>), which bound threads
	 * cannot lead; a <em>first</em> handler that returns before the other events come,
	 * whose handlers do not; events that come <em>often</em> or <em>late</em>; threads
	 * that <em>expire</em>; a pool that <em>closes, grows, shrinks</em> or changes its
	 * <em>policy</em>; leases of an <em>hour</em>.
	 */
	private enum Case {

		TWO_THREADS(1, 2, 2, "eager", 1),

		ONE_TO_TWO_THREADS(1, 1, 2, "eager, endless, expire", 1),

		THREE_THREADS(1, 3, 3, "eager, endless", 1),

		THREE_THREADS_FIFO(1, 3, 3, "eager, endless, fifo", 0),

		THREE_BUSY_THREADS(1, 3, 3, "eager, endless, pauses, often", 0),

		FOUR_THREADS(1, 4, 4, "eager, endless", 0),

		TWO_HANDLE_SETS(2, 2, 3, "eager, endless", 0),

		TWO_HANDLE_SETS_TWO_THREADS(2, 2, 2, "eager, endless", 0),

		TWO_HANDLE_SETS_AFTER_THE_FIRST_EVENT(2, 4, 4, "eager, endless, first", 0),

		TWO_HANDLE_SETS_FOUR_THREADS(2, 4, 4, "eager, endless", 0),

		LEASES(1, 2, 2, "long, replies", 1),

		LEASES_OF_ENDLESS_HANDLERS(1, 2, 2, "endless, replies, promotes", 1),

		LEASES_AFTER_A_WHILE(1, 2, 2, "endless, late", 1),

		LEASES_OF_THREE_THREADS(1, 3, 3, "endless, replies", 0),

		LEASES_OF_THREE_THREADS_FIFO(1, 3, 3, "endless, fifo", 0),

		LEASES_OF_FOUR_THREADS(2, 4, 4, "endless, fifo", 0),

		LEASES_AND_A_THREAD_TO_START(1, 1, 2, "endless, expire", 1),

		LEASES_OF_TWO_HANDLE_SETS(2, 2, 2, "endless, replies", 1),

		LEASES_THAT_ARE_SHARED(1, 2, 2, "shared, long, replies", 1),

		READY_HANDLES_THAT_ARE_SHARED(1, 2, 2, "relieved, endless", 1),

		READY_HANDLES_AND_LEASES_THAT_ARE_SHARED(1, 2, 2, "relieved, shared, long, replies", 1),

		READY_HANDLES_SHARED_BY_THREE_THREADS(1, 3, 3, "relieved, endless, often", 0),

		READY_HANDLES_AND_A_THREAD_TO_START(1, 1, 2, "relieved, endless, promotes", 1),

		READY_HANDLES_OF_TWO_HANDLE_SETS(2, 2, 3, "relieved, endless", 0),

		READY_HANDLES_THAT_ARE_LEFT_TO_THE_LEADER(1, 2, 2, "relieved, endless, crowded", 1),

		READY_HANDLES_AND_LEASES_THAT_ARE_LEFT_TO_THE_LEADER(1, 2, 2, "relieved, shared, long, replies, crowded", 1),

		READY_HANDLES_THAT_ARE_LEFT_TO_THE_LEADERS(2, 2, 3, "relieved, endless, crowded", 0),

		CLOSED(1, 2, 2, "eager, closes", 1),

		GROWN(1, 1, 1, "eager, endless, grows", 1),

		SHRUNK(1, 1, 2, "eager, endless, shrinks", 1),

		EAGER_FROM_NOW_ON(1, 2, 2, "endless, policy", 1),

		EAGER_FROM_NOW_ON_WITH_A_LONG_LEASE(1, 2, 2, "endless, policy, hourly", 1),

		CALLS_OF_ONE_THREAD(1, 1, 1, "eager, calls", 2),

		CALLS_OF_TWO_THREADS(1, 2, 2, "eager, calls", 1),

		CALLS_AND_HANDLERS_THAT_DO_NOT_RETURN(1, 2, 2, "eager, calls, endless", 1),

		CALLS_BEFORE_SOMETHING_THAT_LASTS(1, 3, 3, "eager, calls, endless, lasts", 0),

		CALLS_AND_A_THREAD_TO_START(1, 1, 2, "eager, calls, endless", 0),

		CALLS_AND_LEASES(1, 2, 2, "calls, endless", 1),

		CALLS_AND_TWO_HANDLE_SETS(2, 2, 2, "eager, calls", 0),

		CALLS_WITHOUT_A_REPLY_AND_TWO_HANDLE_SETS(2, 2, 2, "eager, calls, unanswered", 0),

		CALLS_WITHOUT_A_REPLY_AND_LEASES_OF_TWO_HANDLE_SETS(2, 2, 2, "calls, unanswered", 0),

		CALLS_WITHOUT_A_REPLY_AND_HANDLERS_THAT_DO_NOT_RETURN(2, 2, 2, "eager, calls, unanswered, endless", 0),

		CALLS_WITHOUT_A_REPLY_AND_AN_EVENT_SOURCE(2, 2, 2, "eager, calls, unanswered, endless, sourced", 0),

		CALLS_WITHOUT_A_REPLY_AND_LEASES_OF_AN_EVENT_SOURCE(2, 2, 2, "calls, unanswered, endless, sourced", 0),

		CALLS_WITHOUT_A_REPLY_AND_A_POOL_THAT_GROWS(1, 1, 1, "eager, calls, unanswered, endless, grows", 1);

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
			return exploration("");
		}

		Exploration exploration(String furtherOptions) {
			return Exploration.of(Pool.class, this.sets, this.min, this.max, this.options + furtherOptions)
				.preemptions(this.preemptions)
				.adapted(Mutation.failsWith(FailureLog.class, "error", 3),
						Mutation.withoutCall(Leadership.class, "handedOff", "record"),
						Mutation.fieldReads(PromotionProtocol.class, "spin", "SPINS", 1),
						Mutation.callReturns(DispatchPolicy.class, "letOthersLead", "blocks", 0),
						Mutation.callReturns(DispatchPolicy.class, "letOthersLead", "isWorthAProcessor",
								this.options.contains("shared") ? 1 : 0),
						Mutation.withoutCall(DispatchPolicy.class, "letOthersLead", "beginToBlock"),
						Mutation.callReturns(DispatchPolicy.class, "afterDispatch", "isBlocking", 0),
						Mutation.callReturns(internal("Relief"), "relieve", "isWorthIt",
								this.options.contains("relieved") ? 1 : 0),
						Mutation.callReturns(DispatchPolicy.class, "isSuperfluous", "isTooMany", 1),
						Mutation.withoutCall(DispatchPolicy.class, "afterDispatch", "record"));
		}

	}

	private enum Rule {

		A_LEADERSHIP_IS_TAKEN_BY_COMPARE_AND_SET(Case.TWO_THREADS,
				Mutation.setsWithoutComparing(Leadership.class, "take")),

		A_LEADERSHIP_IS_VACANT_BEFORE_A_FOLLOWER_IS_WOKEN(Case.THREE_THREADS,
				Mutation.movedBefore(PromotionProtocol.class, "promote", "signalFollower", "giveUp")),

		A_FOLLOWER_LOOKS_ONCE_MORE_AFTER_IT_HAS_PUBLISHED_ITSELF(Case.THREE_THREADS,
				Mutation.callReturns(PromotionProtocol.class, "await", "takeVacancy", 0)),

		THE_MARK_IS_CLEARED_BEFORE_THE_LOOK(Case.TWO_HANDLE_SETS_AFTER_THE_FIRST_EVENT,
				Mutation.withoutCall(Followers.class, "await", "arrive"),
				Mutation.callAdded(PromotionProtocol.class, "arrive", "takeVacancy", "followers", Followers.class,
						"arrive")),

		THE_ONE_UNDER_WAY_SIGNALS_FOR_THE_NEXT_VACANCY(Case.TWO_HANDLE_SETS_FOUR_THREADS,
				Mutation.withoutCall(PromotionProtocol.class, "arrive", "signalIfVacant")),

		A_SIGNALLER_THAT_FOUND_NOBODY_LOOKS_AGAIN(Case.THREE_BUSY_THREADS,
				Mutation.callReturns(vacancies(), "signalFollower", "isEmpty", 1)),

		A_SIGNALLER_AT_THE_LIMIT_LOOKS_AT_THE_LIMIT_AGAIN(Case.ONE_TO_TWO_THREADS,
				Mutation.callReturns(vacancies(), "signalFollower", "isBelowMaximum", 0)),

		A_THREAD_THAT_ENDS_SIGNALS_FOR_A_VACANCY(Case.ONE_TO_TWO_THREADS,
				Mutation.withoutCall(PoolThreads.class, "leave", "startIfWanted")),

		A_POOL_STOPS_BEFORE_IT_WAKES_ITS_THREADS(Case.CLOSED,
				Mutation.movedBehind(Pool.class, "close", "stop", "unpark")),

		A_LEASE_IS_PUBLISHED_BEFORE_THE_LOOK_WHETHER_IT_IS_WATCHED(Case.LEASES_AFTER_A_WHILE,
				Mutation.movedBehind(leases(), "lease", "lease", "cover#1")),

		A_LEADER_ROUSES_A_WATCHER_THAT_SLEEPS(Case.LEASES_AFTER_A_WHILE,
				Mutation.constantInstead(LeaseWatch.class, "cover", "ASLEEP", "COVERED")),

		A_LEADER_UNPARKS_THE_WATCHER_THAT_IT_ROUSES(Case.LEASES_AFTER_A_WHILE,
				Mutation.withoutCall(leases(), "lease", "unpark")),

		A_WATCHER_THAT_IS_UNPARKED_LOOKS_WHETHER_IT_IS_AWAKE(Case.LEASES_AFTER_A_WHILE,
				Mutation.callReturns(leases(), "sleep", "isAwake", 0)),

		A_WATCHER_LOOKS_AT_THE_LEASES_AFTER_IT_HAS_FALLEN_ASLEEP(Case.LEASES_AFTER_A_WHILE,
				Mutation.callReturns(leases(), "sleep", "isAny", 0)),

		A_FOLLOWER_BECOMES_THE_WATCHER(Case.LEASES_OF_ENDLESS_HANDLERS,
				Mutation.callReturns(PromotionProtocol.class, "await", "appointWatcher", 0)),

		A_WATCHER_THAT_IS_PROMOTED_RESIGNS(Case.LEASES_OF_ENDLESS_HANDLERS,
				Mutation.withoutCall(PromotionProtocol.class, "await", "resignWatcher")),

		A_THREAD_IS_WANTED_FOR_A_LEASE_THAT_NOBODY_WATCHES(Case.LEASES_OF_FOUR_THREADS,
				Mutation.callReturns(vacancies(), "isAnythingWanted", "isAnyUnwatched", 0)),

		A_LEADER_THAT_TOOK_OVER_SIGNALS_FOR_A_SUCCESSOR(Case.LEASES_OF_FOUR_THREADS,
				Mutation.withoutCall(PromotionProtocol.class, "await", "signalIfVacant#2")),

		A_LEADER_THAT_TOOK_OVER_LEAVES_THE_FOLLOWERS(Case.LEASES_OF_THREE_THREADS_FIFO,
				Mutation.withoutCall(PromotionProtocol.class, "await", "leave#2")),

		A_LEADER_THAT_NOBODY_WATCHES_PROMOTES_A_FOLLOWER(Case.LEASES_OF_THREE_THREADS,
				Mutation.callReturns(leases(), "lease", "isEmpty", 1)),

		A_LEADER_THAT_NOBODY_WATCHES_STARTS_A_THREAD(Case.LEASES_AND_A_THREAD_TO_START,
				Mutation.callReturns(leases(), "lease", "mayStart", 0)),

		A_LEADERSHIP_IS_REGAINED_BY_COMPARE_AND_SET(Case.LEASES,
				Mutation.setsWithoutComparing(Leadership.class, "regain")),

		A_LEASE_HAS_A_STAMP(Case.LEASES, Mutation.withoutSum(Leadership.class, "stamped")),

		REPLIES_ARE_WRITTEN_AFTER_A_TAKEOVER(Case.LEASES_OF_ENDLESS_HANDLERS,
				Mutation.withoutCall(PromotionProtocol.class, "takeOver", "uncork")),

		REPLIES_ARE_WRITTEN_AFTER_A_PROMOTION(Case.LEASES_OF_ENDLESS_HANDLERS,
				Mutation.withoutCall(PromotionProtocol.class, "promoteNewLeader", "uncork")),

		REPLIES_ARE_WRITTEN_AFTER_THE_END_OF_AN_UNWATCHED_LEASE(Case.LEASES_OF_TWO_HANDLE_SETS,
				Mutation.withoutCall(leases(), "seizeIfRunOut", "uncork")),

		A_SIGNALLER_THAT_FOUND_NOBODY_ENDS_LONG_WAITS(Case.TWO_HANDLE_SETS_TWO_THREADS,
				Mutation.withoutCall(vacancies(), "signalFollower", "rotateLeaders")),

		A_LEADER_THAT_NOBODY_WATCHES_ENDS_LONG_WAITS(Case.LEASES_OF_TWO_HANDLE_SETS,
				Mutation.withoutCall(leases(), "leaseUnwatched", "rotateLeaders")),

		A_LEADER_WAITS_FOR_LONG_ONLY_IF_NOTHING_IS_WANTED(Case.LEASES_OF_TWO_HANDLE_SETS,
				Mutation.callReturns(PromotionProtocol.class, "maxWaitNanos", "isAnythingWanted", 0)),

		A_LEADER_TAKES_A_VACANCY_IN_TURN_WITH_ITS_OWN_HANDLE_SET(Case.TWO_HANDLE_SETS_TWO_THREADS,
				Mutation.withoutCall(PromotionProtocol.class, "giveWay", "giveUp")),

		A_LEADER_ENDS_LEASES_THAT_NOBODY_WATCHES(Case.LEASES_OF_TWO_HANDLE_SETS,
				Mutation.withoutCall(PromotionProtocol.class, "giveWay", "endUnwatched")),

		LEASES_ARE_WATCHED_WITH_AN_EAGER_POLICY_TOO(Case.EAGER_FROM_NOW_ON,
				Mutation.callReturns(leases(), "appointWatcher", "isAny", 0)),

		A_HANDLER_THAT_BEGAN_ON_A_LEASE_ENDS_WITH_IT(Case.EAGER_FROM_NOW_ON,
				Mutation.fieldReads(DispatchPolicy.class, "afterDispatch", "leased", 0)),

		A_THREAD_THAT_SHARES_PASSES_ON_WHAT_IT_IS_COUNTED_ON_FOR(Case.READY_HANDLES_OF_TWO_HANDLE_SETS,
				Mutation.withoutCall(DispatchPolicy.class, "letOthersLead", "passOn")),

		A_THREAD_THAT_FINDS_NOBODY_TO_SHARE_WITH_LOOKS_FOR_VACANCIES(Case.READY_HANDLES_SHARED_BY_THREE_THREADS,
				Mutation.callReturns(vacancies(), "relieve", "isAnythingWanted", 0)),

		A_THREAD_THAT_LEADS_IS_NEVER_SUPERFLUOUS(Case.READY_HANDLES_THAT_ARE_LEFT_TO_THE_LEADER,
				Mutation.callReturns(Pool.class, "participate", "isSuperfluous", 1)),

		A_READY_HANDLE_IS_TAKEN_BY_COMPARE_AND_SET(Case.READY_HANDLES_THAT_ARE_SHARED,
				Mutation.setsWithoutComparing(ReadyQueue.class, "take")),

		AFTER_A_CHANGE_OF_SETTINGS_VACANCIES_ARE_SIGNALLED(Case.GROWN,
				Mutation.withoutCall(PromotionProtocol.class, "startIfWanted", "signalIfVacant")),

		AFTER_A_CHANGE_OF_SETTINGS_SURPLUS_THREADS_ARE_UNPARKED(Case.SHRUNK,
				Mutation.withoutCall(PromotionProtocol.class, "settingsChanged", "unpark")),

		AFTER_A_CHANGE_OF_SETTINGS_THE_WATCHER_IS_UNPARKED(Case.EAGER_FROM_NOW_ON_WITH_A_LONG_LEASE,
				Mutation.withoutCall(PromotionProtocol.class, "settingsChanged", "unparkWatcher")),

		A_FOLLOWER_LOOKS_WHETHER_IT_IS_SURPLUS_BEFORE_IT_PARKS(Case.SHRUNK,
				Mutation.callReturns(PromotionProtocol.class, "await", "isSurplus", 0)),

		A_BOUND_THREAD_LOOKS_FOR_A_VACANCY_AFTER_IT_HAS_PUBLISHED_ITSELF(Case.CALLS_OF_ONE_THREAD,
				Mutation.callReturns(BoundThreads.class, "lead", "isUnderWay", 1)),

		A_BOUND_THREAD_IS_WOKEN_IF_NOBODY_ELSE_IS_LEFT(Case.CALLS_AND_HANDLERS_THAT_DO_NOT_RETURN,
				Mutation.callReturns(vacancies(), "signalFollower", "signal#2", 0)),

		A_BOUND_THREAD_WHOSE_REPLY_HAS_COME_PASSES_ITS_SIGNAL_ON(Case.CALLS_BEFORE_SOMETHING_THAT_LASTS,
				Mutation.withoutCall(BoundThreads.class, "lead", "signalIfVacant")),

		A_REPLY_UNPARKS_THE_THREAD_THAT_WAITS_FOR_IT(Case.CALLS_OF_TWO_THREADS,
				Mutation.withoutCall(Pool.Set.class, "reply", "unpark")),

		A_REPLY_WAKES_THE_THREAD_THAT_LEADS_ANOTHER_SET_MEANWHILE(Case.CALLS_AND_TWO_HANDLE_SETS,
				Mutation.withoutCall(Pool.Set.class, "reply", "wakeUp")),

		A_LEASE_THAT_NOBODY_WATCHES_IS_NO_LEASE_WHILE_THREADS_ARE_BOUND(Case.CALLS_AND_LEASES,
				Mutation.callReturns(leases(), "lease", "isAny", 0)),

		A_BOUND_LEADER_LEAVES_ITS_EVENTS_TO_A_LEADER_THAT_WAITS(Case.CALLS_WITHOUT_A_REPLY_AND_TWO_HANDLE_SETS,
				Mutation.callReturns(BoundThreads.class, "leavesToOthers", "isAnyLeaderIdle", 0)),

		A_BOUND_LEADER_LOOKS_FOR_SUCH_A_LEADER_AFTER_IT_HAS_ANNOUNCED_ITS_WAIT(
				Case.CALLS_WITHOUT_A_REPLY_AND_TWO_HANDLE_SETS,
				Mutation.callReturns(BoundThreads.class, "looksAgain", "isAnyLeaderIdle", 0)),

		A_LEADER_THAT_WAITS_WAKES_A_BOUND_LEADER_THAT_HOLDS_EVENTS(Case.CALLS_WITHOUT_A_REPLY_AND_TWO_HANDLE_SETS,
				Mutation.withoutCall(BoundThreads.class, "looksAgain", "lookAgain")),

		A_LEADER_TAKES_WHAT_WAS_LEFT_TO_IT(Case.CALLS_WITHOUT_A_REPLY_AND_TWO_HANDLE_SETS,
				Mutation.callReturns(PromotionProtocol.class, "giveWay", "isLeftFor", 0)),

		A_BOUND_THREAD_DOES_NOT_TAKE_WHAT_WAS_LEFT_TO_A_LEADER(Case.CALLS_WITHOUT_A_REPLY_AND_TWO_HANDLE_SETS,
				Mutation.callReturns(PromotionProtocol.class, "takeVacancy", "mayTake", 1)),

		A_BOUND_LEADER_TAKES_TURNS_ALTHOUGH_IT_HOLDS_EVENTS(Case.CALLS_WITHOUT_A_REPLY_AND_HANDLERS_THAT_DO_NOT_RETURN,
				Mutation.withoutCall(Pool.class, "call", "takeTurns")),

		A_LEADER_THAT_BECOMES_BUSY_LEAVES_IT_TO_ANYBODY(Case.CALLS_WITHOUT_A_REPLY_AND_AN_EVENT_SOURCE,
				Mutation.withoutCall(BoundThreads.class, "signal", "leaveToAnybody")),

		A_LEADER_LEAVES_IT_TO_ANYBODY_BEFORE_IT_LOOKS_FOR_BOUND_THREADS(Case.CALLS_WITHOUT_A_REPLY_AND_AN_EVENT_SOURCE,
				Mutation.movedBehind(BoundThreads.class, "signal", "leaveToAnybody", "signal#1")),

		AFTER_A_CHANGE_OF_SETTINGS_BOUND_LEADERS_THAT_HOLD_EVENTS_LOOK_AGAIN(
				Case.CALLS_WITHOUT_A_REPLY_AND_A_POOL_THAT_GROWS,
				Mutation.withoutCall(PromotionProtocol.class, "startIfWanted", "lookAgain")),

		A_FOLLOWER_LOOKS_FOR_EVENTS_THAT_ARE_HELD_AFTER_IT_HAS_PUBLISHED_ITSELF(
				Case.CALLS_WITHOUT_A_REPLY_AND_A_POOL_THAT_GROWS,
				Mutation.withoutCall(PromotionProtocol.class, "await", "lookAgain")),

		A_BOUND_LEADER_LOOKS_FOR_A_THREAD_TO_START_AFTER_IT_HAS_ANNOUNCED_ITS_WAIT(
				Case.CALLS_WITHOUT_A_REPLY_AND_A_POOL_THAT_GROWS,
				Mutation.callReturns(BoundThreads.class, "looksAgain", "isAnybodyElse", 0));

		private final Case pool;

		private final Mutation[] mutations;

		Rule(Case pool, Mutation... mutations) {
			this.pool = pool;
			this.mutations = mutations;
		}

		private static Class<?> vacancies() {
			return internal("Vacancies");
		}

		private static Class<?> leases() {
			return internal("Leases");
		}

	}

	private static Class<?> internal(String name) {
		try {
			return Class.forName(PromotionProtocol.class.getPackageName() + "." + name);
		}
		catch (ClassNotFoundException ex) {
			throw new IllegalStateException(ex);
		}
	}

	@ParameterizedTest
	@EnumSource(mode = EnumSource.Mode.EXCLUDE, names = "TWO_HANDLE_SETS_FOUR_THREADS")
	void neverTwoLeadersAndNeverALostWakeUp(Case pool) {
		pool.exploration().assertSound();
	}

	@ParameterizedTest
	@EnumSource(names = { "TWO_THREADS", "ONE_TO_TWO_THREADS", "THREE_THREADS_FIFO", "TWO_HANDLE_SETS",
			"TWO_HANDLE_SETS_TWO_THREADS", "LEASES", "LEASES_OF_ENDLESS_HANDLERS", "LEASES_OF_THREE_THREADS",
			"LEASES_AND_A_THREAD_TO_START", "LEASES_THAT_ARE_SHARED", "READY_HANDLES_THAT_ARE_SHARED",
			"READY_HANDLES_OF_TWO_HANDLE_SETS", "SHRUNK" })
	@Tag("stress")
	void neverTwoLeadersAndNeverALostWakeUpWithOnePreemptionMore(Case pool) {
		pool.exploration().preemptions(pool.preemptions + 1).assertSound();
	}

	@ParameterizedTest
	@EnumSource
	@Tag("stress")
	void neverTwoLeadersAndNeverALostWakeUpAtRandom(Case pool) {
		pool.exploration(", slowly").assertSoundAtRandom(10_000);
	}

	@ParameterizedTest
	@EnumSource
	void noRuleCanBeDropped(Rule rule) {
		rule.pool.exploration().preemptions(rule.pool.preemptions + 1).with(rule.mutations).assertViolated();
	}

	/**
	 * The real {@link PromotionProtocol} with all of its classes, and the real
	 * {@link PoolThreads}. What {@link LeaderFollowersPool} and {@link HandleSet} do with
	 * sockets is done with a number of events here.
	 */
	static final class Pool implements Scenario, PoolThreads.Pool {

		private static final long LEASE_NANOS = 1000;

		private static final long KEEP_ALIVE_NANOS = 100_000_000;

		private static final long LONG_LEASE_NANOS = 1_000_000_000;

		private final String options;

		private final List<String> handling;

		private final Set[] sets;

		private final PoolThreads threads;

		private final PromotionProtocol promotion;

		private final DispatchPolicy policy;

		private final HandlerProfile profile = new HandlerProfile();

		private boolean isAnyIdle;

		private boolean isFirstHandled;

		/** Whether there is a call without a reply. */
		private boolean isUnanswered;

		private final Work[] works = new Work[16];

		Pool(int sets, int min, int max, String options) {
			this.options = options;
			this.handling = Stream.of("returns", "endless", "long", "promotes", "calls").filter(this::isOn).toList();
			PromotionOrder order = isOn("fifo") ? PromotionOrder.FIFO : PromotionOrder.LIFO;
			PoolOptions poolOptions = new PoolOptions("explored",
					new PoolSettings(min, max, isOn("eager"), isOn("hourly") ? LONG_LEASE_NANOS : LEASE_NANOS,
							Clock.SYSTEM.nanoTime()),
					Duration.ofNanos(KEEP_ALIVE_NANOS), Thread.NORM_PRIORITY, sets, false, List.of(), 9, order,
					1L << 20, new NestedUpcalls.Options(NestedDispatch.NEVER, 1, new NestingGuard() {
					}), List.of(), Clock.SYSTEM, SelectorProvider.provider(), ProcessorTime.SYSTEM,
					new PoolWatchdog.Options(0, 0));
			this.threads = new PoolThreads(poolOptions, new MemoryBudget(1L << 20), new FailureLog());
			this.threads.of(this);
			this.sets = new Set[sets];
			Arrays.setAll(this.sets, (index) -> new Set(index, isOn("sourced") && index > 0));
			this.promotion = new PromotionProtocol(this.sets, order.followers(), this.threads.members(), this.threads,
					new Starvation(sets, new Unheard()), (kind, vacancyNanos) -> {
					}, KEEP_ALIVE_NANOS, Clock.SYSTEM);
			this.policy = new DispatchPolicy(this.promotion, this.threads, 9, Clock.SYSTEM);
		}

		private boolean isOn(String option) {
			return option.equals("returns") ? !isOn("lasts") && !isOn("first") : this.options.contains(option);
		}

		@Override
		public void begin() {
			this.threads.startMinimum();
			for (Set set : this.sets) {
				Interleaving.start("events", () -> events(set));
			}
			start("closes", this::close);
			start("grows", () -> change((settings, now) -> settings.withThreads(1, 2)));
			start("shrinks", () -> change((settings, now) -> settings.withThreads(1, 1)));
			start("policy", () -> {
				if (isOn("hourly")) {
					Interleaving.await("a lease has begun", () -> this.sets[0].isLeased());
				}
				change((settings, now) -> settings.withPolicy(true, now));
			});
		}

		private void events(Set set) {
			boolean one = isOn("hourly") || (isOn("first") && set.index() > 0);
			int count = isOn("often") ? 4 : isOn("lasts") ? 3 : one ? 1 : 2;
			for (int i = 0; i < count; i++) {
				if (isOn("late") || (isOn("expire") && i > 0)) {
					// The moment in which the watcher falls asleep, or a thread expires.
					Interleaving.await("it is late", () -> false,
							1 + (isOn("late") ? 9 * LEASE_NANOS : KEEP_ALIVE_NANOS));
				}
				if (isOn("first") && i + set.index() > 0) {
					Interleaving.await("the first event was handled", () -> this.isFirstHandled);
				}
				if (isOn("late")) {
					Interleaving.pause("an event comes");
				}
				else {
					step("an event comes");
				}
				set.arrived++;
			}
		}

		private void start(String option, Runnable body) {
			if (isOn(option)) {
				Interleaving.start(option, body);
			}
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
			while (!me.isRetired() && !this.promotion.isStopping()) {
				Interleaving.beginAnew("takes its turn");
				Leadership attended = this.promotion.attend(me);
				boolean superfluous = isOn("crowded") && this.policy.isSuperfluous(me);
				Work work = (superfluous || me.isRetired()) ? null : takeReady(attended);
				if (work != null) {
					process(me, work);
				}
				else if (!me.isRetired()) {
					Leadership leadership = this.promotion.lead(me, PromotionProtocol.FOREVER_NANOS, superfluous);
					if (leadership != null) {
						lead(me, this.sets[leadership.index()]);
					}
				}
			}
		}

		private @Nullable Work takeReady(@Nullable Leadership leadership) {
			if (leadership != null) {
				return this.sets[leadership.index()].ready.take();
			}
			for (Set set : this.sets) {
				Work work = set.ready.take();
				if (work != null) {
					return work;
				}
			}
			return null;
		}

		private void lead(Participant me, Set set) {
			if (set.leader != null) {
				Interleaving.fail("two leaders");
			}
			set.leader = me;
			if (set.ready.isEmpty()) {
				set.await(this.promotion);
			}
			set.leader = null;
		}

		private void process(Participant me, Work work) {
			if (work.taken) {
				Interleaving.fail("an event is handled twice");
			}
			work.taken = true;
			this.works[me.number()] = work;
			me.worksOn(work);
			this.policy.beforeDispatch(me, this.profile, work.set, 0);
			if (isOn("long") && !isOn("shared") && me.isOnLease()) {
				work.until = me.dispatchNanos() + LEASE_NANOS;
			}
			handle(me, work);
			work.until = 0;
			this.policy.afterDispatch(me, this.profile);
			work.uncork();
			me.worksOn(null);
			this.works[me.number()] = null;
		}

		private void handle(Participant me, Work work) {
			if (isOn("replies")) {
				work.corked = true;
				step("replies");
				if (!me.isOnLease()) {
					work.uncork();
				}
			}
			if (isOn("pauses")) {
				Interleaving.pause("handles");
			}
			if (isOn("first") && !this.isFirstHandled) {
				this.isFirstHandled = true;
				return;
			}
			switch (this.handling.get(Interleaving.choose(this.handling.size()))) {
				case "long" -> Interleaving.await("takes long", () -> false, Clock.SYSTEM.nanoTime() + LEASE_NANOS);
				case "promotes" -> {
					this.promotion.promoteNewLeader(me);
					handleForEver(work);
				}
				case "endless" -> handleForEver(work);
				case "calls" -> {
					call(me, work.set.source ? this.sets[0] : work.set);
					if (isOn("lasts")) {
						handleForEver(work);
					}
				}
				default -> {
				}
			}
		}

		/** As {@link BoundWait} does it. */
		private void call(Participant me, Set set) {
			Call call = new Call(Thread.currentThread());
			this.works[me.number()].call = call;
			if (isOn("unanswered") && !this.isUnanswered) {
				this.isUnanswered = true;
			}
			else {
				set.calls.add(call);
				Interleaving.start("peer", () -> {
					step("the peer replies");
					set.replies++;
				});
			}
			this.promotion.promoteNewLeader(me);
			while (!call.over) {
				Leadership leadership = this.promotion.bound()
					.await(me, () -> call.over, PromotionProtocol.FOREVER_NANOS);
				while (leadership != null && !call.over && me.leading() != null) {
					leadBound(me, this.sets[leadership.index()], call);
					this.promotion.takeTurns(me, false);
				}
				this.promotion.promoteNewLeader(me);
			}
			this.works[me.number()].call = null;
		}

		private void leadBound(Participant me, Set set, Call call) {
			if (set.leader != null) {
				Interleaving.fail("two leaders");
			}
			call.leads = set;
			boolean leaves = this.promotion.bound().leavesToOthers(me, !set.ready.isEmpty());
			if (leaves) {
				this.promotion.promoteNewLeader(me);
			}
			else if (!call.over) {
				set.leader = me;
				set.await(this.promotion);
				set.leader = null;
			}
			call.leads = null;
		}

		private void handleForEver(Work work) {
			work.endless = true;
			Interleaving.await("handles for ever", () -> false);
		}

		@Override
		public void threadEnded() {
		}

		/** As {@link LeaderFollowersPool} does it. */
		private void change(PoolSettings.Change change) {
			this.threads.change(change, Clock.SYSTEM.nanoTime());
			this.promotion.settingsChanged();
		}

		/** As {@link PoolShutdown} does it. */
		private void close() {
			this.promotion.stop();
			List<Participant> ending = this.threads.living();
			for (Set set : this.sets) {
				set.updates.wakeLeader();
			}
			for (Participant participant : ending) {
				LockSupport.unpark(participant.thread());
			}
		}

		@Override
		public int patience() {
			return (isOn("expire") || isOn("late")) ? 12 : 0;
		}

		/**
		 * The time of a lease, or of a few turns of a leader with two handle sets. A
		 * follower that looks at one set after the other can miss that the leader leaves
		 * the first set and takes the second one. It is then woken at the next turn.
		 * Bound threads change places with leaders in such turns.
		 */
		@Override
		public long delayNanos() {
			boolean atOnce = this.isAnyIdle && !isOn("slowly") && !isOn("unanswered");
			return atOnce ? 4 * LEASE_NANOS : 4 * PromotionProtocol.ROTATION_NANOS;
		}

		@Override
		public @Nullable String violationAtRest() {
			int endless = 0;
			boolean isAnyUnbound = false;
			Member idle = null;
			Member idleBound = null;
			for (Participant member : this.threads.living()) {
				Work work = this.works[member.number()];
				if (work != null && work.corked && !member.isOnLease()) {
					return "a reply is not written, though its thread leads no more";
				}
				if (work != null && work.call != null && work.call.over) {
					return "a thread waits for a reply that has come";
				}
				endless += (work != null && work.endless) ? 1 : 0;
				isAnyUnbound |= work == null || !this.isUnanswered;
				if (work == null && (member.role() == Member.Role.FOLLOWER || isWaitingForLong(member))) {
					idle = member;
				}
				if (work != null && work.call != null && work.call.leads == null) {
					idleBound = member;
				}
			}
			if (this.promotion.isStopping()) {
				return (this.threads.members().count() == endless) ? null : "a thread has not ended";
			}
			if (idle != null && idle.role() == Member.Role.FOLLOWER && this.threads.isSurplus()) {
				return "a thread waits though there are too many";
			}
			PoolSettings settings = this.threads.settings();
			if (this.threads.count() < settings.minThreads()) {
				return "too few threads";
			}
			this.isAnyIdle = idle != null || idleBound != null;
			for (Set set : this.sets) {
				Member waiter = (idle != null || set.source) ? idle : idleBound;
				if (isOn("hourly") ? this.promotion.standIn().isWanted(set) : (set.isVacant() || set.isLeased())) {
					if (waiter != null) {
						return "%s %d waits though set %d has no leader, or one whose handler does not return"
							.formatted(waiter.role(), waiter.number(), set.index());
					}
					if (this.threads.count() < settings.maxThreads()) {
						return "no thread was started, though one more may be";
					}
					if (set.arrived > 0 && Arrays.stream(this.sets).anyMatch((other) -> takesTurns(other, set))) {
						return "set %d is never taken in turn with the other one".formatted(set.index());
					}
				}
				else if (set.arrived > 0 || set.replies > 0
						|| (!set.ready.isEmpty() && (isAnyUnbound || this.threads.count() < settings.maxThreads()))) {
					return "an event is lost";
				}
			}
			return null;
		}

		private boolean takesTurns(Set led, Set vacant) {
			return led.leader != null && !(vacant.source && this.works[led.leader.number()] != null);
		}

		private boolean isWaitingForLong(Member member) {
			return Arrays.stream(this.sets).anyMatch((set) -> set.leader == member && set.longWait);
		}

		/** As {@link HandleSet} does it. */
		private static final class Set extends Leadership {

			private final UpdateQueue updates = new UpdateQueue(this::wakeUp);

			private volatile boolean longWait;

			private boolean woken;

			private int arrived;

			private final ReadyQueue<Work> ready = new ReadyQueue<>();

			private final Deque<Call> calls = new ArrayDeque<>();

			/** Replies that have arrived, each for the call that came first. */
			private int replies;

			/** The thread that does what only the leader may do. */
			private @Nullable Member leader;

			/** Whether the set stands for an event source. */
			private final boolean source;

			Set(int index, boolean source) {
				super(index, Clock.SYSTEM.nanoTime());
				this.source = source;
			}

			private void wakeUp() {
				this.woken = true;
			}

			private void await(PromotionProtocol promotion) {
				this.longWait = true;
				if (this.updates.beginWait() && !promotion.isStopping()) {
					long wait = promotion.maxWaitNanos(this);
					this.longWait = wait > PromotionProtocol.ROTATION_NANOS;
					Interleaving.await("waits for events", () -> this.woken || this.arrived > 0 || this.replies > 0,
							Clock.SYSTEM.nanoTime() + wait);
				}
				this.updates.endWait();
				this.woken = false;
				for (; this.replies > 0; this.replies--) {
					reply(this.calls.removeFirst());
				}
				for (; this.arrived > 0; this.arrived--) {
					this.ready.reserve();
					this.ready.add(new Work(this));
				}
			}

			/** The thread that reads does it. */
			private void reply(Call call) {
				call.over = true;
				LockSupport.unpark(call.thread);
				Set led = call.leads;
				if (led != null) {
					led.wakeUp();
				}
			}

			@Override
			protected boolean mayBeLedByBound() {
				return !this.source;
			}

			@Override
			protected int readyHandles() {
				return this.ready.size();
			}

			@Override
			protected boolean isWanted() {
				return true;
			}

			@Override
			protected boolean isWaitedOn() {
				return this.updates.isWaitedFor();
			}

			@Override
			protected void endWait() {
				this.updates.wakeLeader();
			}

			@Override
			protected void endLongWait() {
				if (this.longWait) {
					endWait();
				}
			}

		}

		/** A handler that waits for its reply. */
		private static final class Call {

			private final Thread thread;

			private volatile boolean over;

			/** The set that its thread leads meanwhile. */
			private volatile @Nullable Set leads;

			Call(Thread thread) {
				this.thread = thread;
			}

		}

		/** The handle of an event, and what its handler has sent. */
		private static final class Work implements HandledWork.Source {

			private static final HandledWork WORK = new HandledWork("handle", null, null);

			private final Set set;

			private boolean taken;

			private boolean corked;

			private boolean endless;

			/** The reply that its handler waits for. */
			private @Nullable Call call;

			/** Until then, no other thread may lead. */
			private long until;

			private Work(Set set) {
				this.set = set;
			}

			@Override
			public HandledWork work() {
				return WORK;
			}

			@Override
			public long workNumber() {
				return HandledWork.UNNUMBERED;
			}

			@Override
			public void uncork() {
				this.corked = false;
				if (this.until - Clock.SYSTEM.nanoTime() > 0) {
					Interleaving.fail("a lease is taken over before it has run out");
				}
			}

		}

		private static final class Unheard implements Starvation.Listener {

			@Override
			public void began() {
			}

			@Override
			public void ended(long nanos) {
			}

		}

	}

}
