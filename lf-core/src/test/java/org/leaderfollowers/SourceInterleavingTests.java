package org.leaderfollowers;

import java.nio.channels.spi.SelectorProvider;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.stream.IntStream;

import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.leaderfollowers.interleavings.Exploration;
import org.leaderfollowers.interleavings.Interleaving;
import org.leaderfollowers.interleavings.Mutation;
import org.leaderfollowers.interleavings.Scenario;
import org.leaderfollowers.internal.buffer.MemoryBudget;
import org.leaderfollowers.internal.demultiplexing.UpdateQueue;
import org.leaderfollowers.internal.logging.EngineLog;
import org.leaderfollowers.internal.logging.FailureLog;
import org.leaderfollowers.internal.promotion.Clock;
import org.leaderfollowers.internal.promotion.DispatchPolicy;
import org.leaderfollowers.internal.promotion.HandledWork;
import org.leaderfollowers.internal.promotion.HandlerProfile;
import org.leaderfollowers.internal.promotion.Leadership;
import org.leaderfollowers.internal.promotion.Member;
import org.leaderfollowers.internal.promotion.PoolSettings;
import org.leaderfollowers.internal.promotion.ProcessorTime;
import org.leaderfollowers.internal.promotion.PromotionProtocol;
import org.leaderfollowers.internal.promotion.SourcePlaces;
import org.leaderfollowers.internal.promotion.Starvation;

import static org.leaderfollowers.interleavings.Interleaving.step;

/**
 * The interleavings of event sources with each other and with a handle set: two threads
 * never wait on one source, there are never more handlers than allowed, no event or
 * wake-up is lost, and handlers of events never leave a handle set without a thread.
 */
@Tag("interleavings")
class SourceInterleavingTests {

	/**
	 * Sources, least and most threads, how many events of a source may be handled at the
	 * same time, options, and how many preemptions there are. The options: <em>eager</em>
	 * policy; handlers that are <em>endless</em>, or take as <em>long</em> as a lease; a
	 * handle set that is <em>busy</em>, whose handlers are endless, too; sources that
	 * <em>end</em> at some moment, and begin <em>again</em>, or <em>begin</em> then;
	 * <em>three</em> events instead of two; a pool that <em>grows</em>.
	 */
	private enum Case {

		ONE_SOURCE(1, 2, 2, 9, "eager, endless", 1),

		ONE_SOURCE_AND_A_THREAD_TO_START(1, 2, 3, 9, "eager, endless", 1),

		ONE_SOURCE_AND_THREE_THREADS(1, 3, 3, 9, "eager, endless", 1),

		ONE_EVENT_AT_A_TIME(1, 3, 3, 1, "eager, endless", 1),

		LEASES(1, 3, 3, 9, "long", 1),

		LEASES_AND_ENDLESS_HANDLERS(1, 3, 3, 9, "endless", 1),

		A_BUSY_HANDLE_SET(1, 2, 2, 9, "eager, busy", 1),

		A_BUSY_HANDLE_SET_AND_A_THREAD_MORE(1, 3, 3, 9, "eager, busy", 0),

		TWO_SOURCES(2, 3, 3, 9, "eager, endless", 0),

		TWO_SOURCES_AND_A_PLACE(2, 4, 4, 9, "eager", 0),

		TWO_SOURCES_AND_A_PLACE_AND_ENDLESS_HANDLERS(2, 4, 4, 9, "eager, endless", 0),

		A_SOURCE_THAT_ENDS(1, 2, 2, 9, "eager, ends", 1),

		A_SOURCE_THAT_ENDS_AFTER_THREE_EVENTS(1, 3, 3, 9, "eager, ends, three", 0),

		A_SOURCE_THAT_ENDS_WITH_THREE_THREADS(1, 3, 3, 9, "ends, long", 0),

		A_SOURCE_THAT_ENDS_AND_BEGINS_AGAIN(1, 2, 2, 9, "eager, ends, again", 1),

		A_SOURCE_THAT_ENDS_AND_BEGINS_AGAIN_WITH_THREE_THREADS(1, 3, 3, 1, "eager, ends, again", 0),

		A_SOURCE_THAT_BEGINS(1, 2, 2, 9, "eager, begins", 1),

		GROWN(1, 2, 2, 9, "eager, endless, grows", 1);

		private final int sources;

		private final int min;

		private final int max;

		private final int limit;

		private final String options;

		private final int preemptions;

		Case(int sources, int min, int max, int limit, String options, int preemptions) {
			this.sources = sources;
			this.min = min;
			this.max = max;
			this.limit = limit;
			this.options = options;
			this.preemptions = preemptions;
		}

		Exploration exploration() {
			return Exploration.of(Pool.class, this.sources, this.min, this.max, this.limit, this.options)
				.preemptions(this.preemptions)
				.adapted(Mutation.failsWith(FailureLog.class, "error", 3),
						Mutation.withoutCall(EngineLog.class, "pass", "add"),
						Mutation.withoutCall(Leadership.class, "handedOff", "record"),
						Mutation.fieldReads(PromotionProtocol.class, "spin", "SPINS", 1),
						Mutation.callReturns(DispatchPolicy.class, "letOthersLead", "blocks", 0),
						Mutation.callReturns(DispatchPolicy.class, "letOthersLead", "isWorthAProcessor", 0),
						Mutation.withoutCall(DispatchPolicy.class, "letOthersLead", "beginToBlock"),
						Mutation.callReturns(DispatchPolicy.class, "afterDispatch", "isBlocking", 0),
						Mutation.callReturns(internal("Relief"), "relieve", "isWorthIt", 0),
						// Threads that wait for the end of a source are not explored
						// here.
						Mutation.withoutCall(LedSource.class, "changedIfClosed", "changed"),
						Mutation.withoutCall(DispatchPolicy.class, "afterDispatch", "record"));
		}

	}

	private enum Rule {

		A_LEADER_ANNOUNCES_ITS_WAIT_BEFORE_IT_LOOKS_WHETHER_IT_IS_NEEDED_ELSEWHERE(Case.A_BUSY_HANDLE_SET,
				Mutation.movedBehind(LedSource.class, "await", "beginWait", "maxWaitNanos")),

		A_LEADER_THAT_IS_NEEDED_ELSEWHERE_IS_WOKEN(Case.A_BUSY_HANDLE_SET,
				Mutation.withoutCall(nested("LedSource$SourceLeadership"), "endLongWait", "wakeLeader")),

		A_LEADER_SAYS_THAT_IT_WAITS_FOR_LONG_BEFORE_IT_LOOKS(Case.A_BUSY_HANDLE_SET,
				Mutation.movedBehind(LedSource.class, "await", "longWait", "maxWaitNanos")),

		HANDLERS_OF_EVENTS_TAKE_NO_MORE_THAN_THEIR_PLACES(Case.ONE_SOURCE_AND_THREE_THREADS,
				Mutation.callReturns(SourcePlaces.class, "begin", "further", 0)),

		A_SOURCE_HAS_NO_MORE_HANDLERS_THAN_IT_MAY(Case.ONE_EVENT_AT_A_TIME,
				Mutation.callReturns(SourcePlaces.class, "begin", "isBelowLimit", 1)),

		A_PLACE_THAT_IS_FREE_AGAIN_OPENS_OTHER_SOURCES(Case.TWO_SOURCES_AND_A_PLACE_AND_ENDLESS_HANDLERS,
				Mutation.withoutCall(SourcePlaces.class, "end", "openThoseThatMay")),

		A_THREAD_THAT_OPENS_A_SOURCE_SIGNALS_FOR_IT(Case.A_SOURCE_THAT_BEGINS,
				Mutation.withoutCall(SourcePlaces.class, "signalIf", "signalIfVacant")),

		MORE_PLACES_OPEN_SOURCES(Case.GROWN,
				Mutation.withoutCall(SourcePlaces.class, "settingsChanged", "openThoseThatMay")),

		A_SOURCE_THAT_ENDS_WAKES_ITS_LEADER(Case.A_SOURCE_THAT_ENDS,
				Mutation.withoutCall(LedSource.class, "disuse", "wakeLeader")),

		A_LEADER_LOOKS_WHETHER_ITS_SOURCE_HAS_ENDED_AFTER_IT_HAS_ANNOUNCED_ITS_WAIT(Case.A_SOURCE_THAT_ENDS,
				Mutation.fieldReads(LedSource.class, "await", "closed", 0)),

		A_LEADER_SAYS_THAT_IT_WAITS_BEFORE_IT_LOOKS_WHETHER_ITS_SOURCE_HAS_ENDED(Case.A_SOURCE_THAT_ENDS,
				Mutation.movedBehind(LedSource.class, "await", "awaiting", "isStopping")),

		AN_EVENT_IS_COUNTED_BEFORE_ITS_WAIT_HAS_ENDED(Case.A_SOURCE_THAT_ENDS,
				Mutation.movedBefore(EventSources.class, "begin", "endAwait", "begin")),

		A_LEADER_WHOSE_SOURCE_HAS_ENDED_RESTS(Case.A_SOURCE_THAT_ENDS,
				Mutation.withoutCall(SourcePlaces.class, "restIfClosed", "rest")),

		THE_PLACES_OF_A_SOURCE_THAT_ENDS_ARE_CLOSED(Case.A_SOURCE_THAT_ENDS,
				Mutation.withoutCall(EventSources.class, "end", "close"));

		private final Case pool;

		private final Mutation[] mutations;

		Rule(Case pool, Mutation... mutations) {
			this.pool = pool;
			this.mutations = mutations;
		}

	}

	private static Class<?> internal(String name) {
		return named(PromotionProtocol.class.getPackageName() + "." + name);
	}

	private static Class<?> nested(String name) {
		return named(LedSource.class.getPackageName() + "." + name);
	}

	private static Class<?> named(String name) {
		try {
			return Class.forName(name);
		}
		catch (ClassNotFoundException ex) {
			throw new IllegalStateException(ex);
		}
	}

	@ParameterizedTest
	@EnumSource
	void noEventAndNoThreadIsLost(Case pool) {
		pool.exploration().assertSound();
	}

	@ParameterizedTest
	@EnumSource
	@Tag("stress")
	void noEventAndNoThreadIsLostAtRandom(Case pool) {
		pool.exploration().assertSoundAtRandom((pool == Case.A_SOURCE_THAT_ENDS_AFTER_THREE_EVENTS) ? 100_000 : 10_000);
	}

	@ParameterizedTest
	@EnumSource
	void noRuleCanBeDropped(Rule rule) {
		rule.pool.exploration().preemptions(rule.pool.preemptions + 1).with(rule.mutations).assertViolated();
	}

	/**
	 * The real {@link EventSources}, {@link LedSource}s and {@link SourcePlaces}, with
	 * the real promotion protocol. The work of {@link EventRoad} and {@link HandleSet} is
	 * replaced by a number of events.
	 */
	static final class Pool implements Scenario, PoolThreads.Pool {

		private static final long LEASE_NANOS = 1000;

		private static final long KEEP_ALIVE_NANOS = 100_000_000;

		private final String options;

		private final int limit;

		private final Set set = new Set();

		private final EventSources sources;

		private final SourcePlaces places;

		private final Told[] told;

		private final PoolThreads threads;

		private final PromotionProtocol promotion;

		private final DispatchPolicy policy;

		private final HandlerProfile profile = new HandlerProfile();

		Pool(int sources, int min, int max, int limit, String options) {
			this.options = options;
			this.limit = limit;
			List<String> names = IntStream.range(0, sources).mapToObj((index) -> "source" + index).toList();
			PoolOptions poolOptions = new PoolOptions("explored",
					new PoolSettings(min, max, isOn("eager"), LEASE_NANOS, Clock.SYSTEM.nanoTime()),
					Duration.ofNanos(KEEP_ALIVE_NANOS), Thread.NORM_PRIORITY, 1, false, names, 9, PromotionOrder.LIFO,
					1L << 20, new NestedUpcalls.Options(NestedDispatch.NEVER, 1, new NestingGuard() {
					}), List.of(), Clock.SYSTEM, SelectorProvider.provider(), ProcessorTime.SYSTEM,
					new PoolWatchdog.Options(0, 0));
			this.threads = new PoolThreads(poolOptions, new MemoryBudget(1L << 20), new FailureLog());
			this.threads.of(this);
			this.sources = new EventSources("explored", names, 1, Clock.SYSTEM);
			this.told = new Told[sources];
			Arrays.setAll(this.told, (index) -> new Told());
			Leadership[] leaderships = new Leadership[1 + sources];
			leaderships[0] = this.set;
			System.arraycopy(this.sources.leaderships(), 0, leaderships, 1, sources);
			this.promotion = new PromotionProtocol(leaderships, PromotionOrder.LIFO.followers(), this.threads.members(),
					this.threads, new Starvation(leaderships.length, new Unheard()), (kind, vacancyNanos) -> {
					}, KEEP_ALIVE_NANOS, Clock.SYSTEM);
			this.policy = new DispatchPolicy(this.promotion, this.threads, 9, Clock.SYSTEM);
			this.places = new SourcePlaces(this.promotion, this.sources.leaderships(), 1, this.threads, Clock.SYSTEM);
			this.sources.begin(this.places);
		}

		private boolean isOn(String option) {
			return this.options.contains(option);
		}

		@Override
		public void begin() {
			for (int i = 0; i < this.told.length; i++) {
				Told source = this.told[i];
				if (!isOn("begins")) {
					register(i);
				}
				Interleaving.start("events", () -> events(source));
			}
			this.threads.startMinimum();
			start("begins", () -> register(0));
			start("ends", () -> {
				this.sources.beginDrain(0);
				LedSource source = this.sources.all().get(0);
				Interleaving.await("it has ended", () -> this.sources.isEnded(source, 0));
				this.told[0].requireNotUsed(this.told[0].waits || this.told[0].handling > 0);
				this.told[0].ended = true;
				if (isOn("again")) {
					this.told[0].ended = false;
					register(0);
				}
			});
			start("grows", () -> {
				this.threads.change((settings, now) -> settings.withThreads(2, 3), Clock.SYSTEM.nanoTime());
				this.promotion.settingsChanged();
				this.sources.settingsChanged();
			});
			start("busy", () -> {
				step("an event comes");
				this.set.arrived++;
			});
		}

		private void start(String option, Runnable body) {
			if (isOn(option)) {
				Interleaving.start(option, body);
			}
		}

		private void register(int index) {
			this.sources.register("source" + index, this.told[index], this.limit, (event) -> handle(index));
		}

		private void events(Told source) {
			for (int i = isOn("three") ? 3 : 2; i > 0; i--) {
				step("an event comes");
				source.arrived++;
			}
		}

		@Override
		public Participant.@Nullable ReplyWait replyWait() {
			return null;
		}

		@Override
		public PromotionProtocol promotion() {
			return this.promotion;
		}

		@Override
		public void threadEnded() {
		}

		/** As {@link EventRoad} does it. */
		@Override
		public void participate(Participant me) {
			while (!me.isRetired() && !this.promotion.isStopping()) {
				Interleaving.beginAnew("takes its turn");
				Leadership attended = this.promotion.attend(me);
				if (!me.isRetired() && (attended == null || attended == this.set) && this.set.ready > 0) {
					this.set.ready--;
					processOfSet(me);
				}
				else if (!me.isRetired()) {
					Leadership leadership = this.promotion.lead(me, PromotionProtocol.FOREVER_NANOS, false);
					LedSource source = (leadership != null) ? this.sources.of(leadership) : null;
					if (source != null) {
						lead(me, source);
					}
					else if (leadership != null && this.set.ready == 0) {
						this.set.await(this.promotion);
					}
				}
			}
		}

		private void lead(Participant me, LedSource source) {
			if (!source.isInUse()) {
				this.sources.rest(me, source);
				return;
			}
			LedSource.SourceEvent<?> event = source.await(PromotionProtocol.FOREVER_NANOS, this.promotion);
			if (event == null) {
				source.endAwait();
			}
			else {
				me.worksOn(event);
				this.sources.begin(me, source);
				this.policy.beforeDispatch(me, event.profile(), source.leadership, 0);
				event.dispatch();
				this.policy.afterDispatch(me, event.profile());
				this.sources.end(me, source);
				me.worksOn(null);
			}
		}

		private void handle(int index) {
			Told source = this.told[index];
			source.requireNotUsed(source.ended);
			source.handling++;
			if (source.handling > this.limit) {
				Interleaving.fail("too many handlers");
			}
			if (isOn("endless") && Interleaving.choose(2) == 1) {
				handleForEver();
			}
			if (isOn("long")) {
				Interleaving.await("takes long", () -> false, Clock.SYSTEM.nanoTime() + LEASE_NANOS);
			}
			else {
				step("handles");
			}
			source.handling--;
		}

		private static void handleForEver() {
			Interleaving.await("handles for ever", () -> false);
		}

		private void processOfSet(Participant me) {
			me.worksOn(new Work());
			this.policy.beforeDispatch(me, this.profile, this.set, 0);
			handleForEver();
		}

		@Override
		public long delayNanos() {
			return 4 * PromotionProtocol.ROTATION_NANOS;
		}

		@Override
		public @Nullable String violationAtRest() {
			Member idle = null;
			for (Participant member : this.threads.living()) {
				if (member.work() == null && (member.role() == Member.Role.FOLLOWER || isWaitingForLong(member))) {
					idle = member;
				}
			}
			String violation = violation("the handle set", this.set, this.set.arrived + this.set.ready, idle);
			for (int i = 0; i < this.told.length && violation == null; i++) {
				violation = violation(i, idle);
			}
			return violation;
		}

		private @Nullable String violation(int index, @Nullable Member idle) {
			LedSource source = this.sources.all().get(index);
			Leadership leadership = source.leadership;
			int handling = this.places.handling(leadership);
			if (handling != this.told[index].handling) {
				return "a handler is not counted";
			}
			if (!source.isInUse()) {
				return (leadership.isResting() || (leadership.isVacant() && idle == null)) ? null
						: "a source that has ended is led";
			}
			if (leadership.isResting()) {
				boolean may = handling < this.limit && (handling == 0 || further() < mostFurther());
				return may ? "a source rests although it may be led" : null;
			}
			return violation(source.name(), leadership, this.told[index].arrived, idle);
		}

		private @Nullable String violation(String name, Leadership leadership, int arrived, @Nullable Member idle) {
			if (!leadership.isVacant() && !leadership.isLeased()) {
				return (arrived > 0) ? "an event of " + name + " is lost" : null;
			}
			if (idle != null) {
				return "%s %d waits though %s has no leader".formatted(idle.role(), idle.number(), name);
			}
			if (this.threads.count() < this.threads.settings().maxThreads()) {
				return "no thread was started for " + name;
			}
			boolean waits = this.set.waits || Arrays.stream(this.told).anyMatch((source) -> source.waits);
			if (arrived > 0 && waits) {
				return name + " is never taken in turn";
			}
			return isOn("busy") ? null : "the handlers of events leave no thread to " + name;
		}

		private int further() {
			return this.sources.all()
				.stream()
				.map((source) -> source.leadership)
				.mapToInt((source) -> Math.max(0, this.places.handling(source) - (source.isResting() ? 1 : 0)))
				.sum();
		}

		private int mostFurther() {
			return this.threads.settings().maxThreads() - 1 - this.told.length;
		}

		private boolean isWaitingForLong(Member member) {
			Leadership leading = member.leading();
			if (leading == this.set) {
				return this.set.longWait;
			}
			return leading != null && this.told[leading.index() - 1].longWait;
		}

		/** A source whose events are made by the test. */
		private static final class Told implements EventSource<String> {

			private int arrived;

			private boolean woken;

			private boolean waits;

			private boolean longWait;

			private int handling;

			private boolean ended;

			private void requireNotUsed(boolean isUsed) {
				if (isUsed) {
					Interleaving.fail("a source is used after its end");
				}
			}

			@Override
			public @Nullable String await(Duration timeout) {
				if (this.waits) {
					Interleaving.fail("two threads wait");
				}
				requireNotUsed(this.ended);
				this.waits = true;
				this.longWait = timeout.toNanos() > PromotionProtocol.ROTATION_NANOS;
				Interleaving.await("waits for events", () -> this.woken || this.arrived > 0,
						Clock.SYSTEM.nanoTime() + timeout.toNanos());
				this.woken = false;
				this.waits = false;
				this.longWait = false;
				if (this.arrived == 0) {
					return null;
				}
				this.arrived--;
				return "event";
			}

			@Override
			public void wakeup() {
				this.woken = true;
			}

		}

		/** As {@link HandleSet} does it. */
		private static final class Set extends Leadership {

			private final UpdateQueue updates = new UpdateQueue(this::wakeUp);

			private volatile boolean longWait;

			private boolean waits;

			private boolean woken;

			private int arrived;

			private int ready;

			Set() {
				super(0, Clock.SYSTEM.nanoTime());
			}

			private void wakeUp() {
				this.woken = true;
			}

			private void await(PromotionProtocol promotion) {
				this.longWait = true;
				if (this.updates.beginWait()) {
					long wait = promotion.maxWaitNanos(this);
					this.longWait = wait > PromotionProtocol.ROTATION_NANOS;
					this.waits = true;
					Interleaving.await("waits for events", () -> this.woken || this.arrived > 0,
							Clock.SYSTEM.nanoTime() + wait);
					this.waits = false;
				}
				this.updates.endWait();
				this.woken = false;
				this.ready += this.arrived;
				this.arrived = 0;
			}

			@Override
			protected int readyHandles() {
				return this.ready;
			}

			@Override
			protected boolean isWaitedOn() {
				return this.updates.isWaitedFor();
			}

			@Override
			protected void endLongWait() {
				if (this.longWait) {
					this.updates.wakeLeader();
				}
			}

		}

		private static final class Work implements HandledWork.Source {

			private static final HandledWork WORK = new HandledWork("handle", null, null);

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
