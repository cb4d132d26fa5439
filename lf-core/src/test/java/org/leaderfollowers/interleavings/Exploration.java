package org.leaderfollowers.interleavings;

import java.lang.reflect.Constructor;
import java.lang.reflect.InvocationTargetException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;

import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Explores the interleavings of a {@link Scenario} with the real classes of the engine,
 * by executing it again and again. What it checks:
 * <ul>
 * <li>no execution ends with an exception or a call of {@link Interleaving#fail};</li>
 * <li>{@link Scenario#violationAtRest} in every state of rest, where no thread can go on:
 * a lost wake-up shows here;</li>
 * <li>every execution comes to rest: no state comes again while all threads that can go
 * on do so.</li>
 * </ul>
 * The executions that are explored are all those with at most so many preemptions: places
 * where a thread that could go on has to wait for another one, or time passes although
 * somebody could go on. Any number of other switches comes free, so threads may be in any
 * order; most defects need one or two preemptions. A state that has been seen with as
 * many preemptions left is not explored again.
 * <p>
 * Steps are sequentially consistent. The stress tests look at the memory model itself,
 * which allows more.
 */
public final class Exploration {

	private static final Logger logger = LoggerFactory.getLogger(Exploration.class);

	private static final int DEFAULT_PREEMPTIONS = 2;

	/** An exploration that needs more is too large for a test. */
	private static final long MAX_EXECUTIONS = 1_000_000;

	/** For each bound, a violation is searched for in this many executions. */
	private static final long MAX_EXECUTIONS_UNTIL_VIOLATED = 12_000;

	private static final int RANDOM_EXECUTIONS = 50_000;

	/**
	 * Kept for the next exploration. The virtual machine has compiled them, which takes
	 * it as long as some explorations.
	 */
	private static @Nullable InstrumentedClasses latest;

	private final Class<? extends Scenario> type;

	private final Object[] arguments;

	private final List<Mutation> adaptations = new ArrayList<>();

	private final List<Mutation> mutations = new ArrayList<>();

	private int preemptions = DEFAULT_PREEMPTIONS;

	private boolean spuriousWakeUps;

	private boolean prunes = true;

	private Exploration(Class<? extends Scenario> type, Object... arguments) {
		this.type = type;
		this.arguments = arguments;
	}

	/**
	 * Explores a scenario.
	 * @param type its class
	 * @param arguments of its only constructor
	 */
	public static Exploration of(Class<? extends Scenario> type, Object... arguments) {
		return new Exploration(type, arguments);
	}

	/** Sets how many preemptions an execution has at most. */
	public Exploration preemptions(int preemptions) {
		this.preemptions = preemptions;
		return this;
	}

	/** Lets parked threads wake up without a reason. Each time counts as a preemption. */
	public Exploration spuriousWakeUps() {
		this.spuriousWakeUps = true;
		return this;
	}

	/**
	 * Leaves out or fixes code that does not belong to the protocol, such as statistics.
	 */
	public Exploration adapted(Mutation... adaptations) {
		this.adaptations.addAll(List.of(adaptations));
		return this;
	}

	/** Drops a rule. */
	public Exploration with(Mutation... mutations) {
		this.mutations.addAll(List.of(mutations));
		return this;
	}

	/**
	 * Explores all executions.
	 * @return what was found: the first violation, or none
	 */
	private Outcome run() {
		return run(new Bounded(this.preemptions, this.spuriousWakeUps, this.prunes), MAX_EXECUTIONS);
	}

	/**
	 * Explores all executions with no preemption, then those with one and so on, until a
	 * violation is found. The first violation found therefore has as few preemptions as
	 * possible.
	 */
	private Outcome runUntilViolated() {
		Outcome outcome = null;
		for (int bound = 0; bound <= this.preemptions && (outcome == null || outcome.violation() == null); bound++) {
			outcome = run(new Bounded(bound, this.spuriousWakeUps, this.prunes), MAX_EXECUTIONS_UNTIL_VIOLATED);
		}
		return outcome;
	}

	/** Also explores states that have been seen before. */
	public Exploration withoutPruning() {
		this.prunes = false;
		return this;
	}

	/**
	 * Explores all executions.
	 * @return the states of rest in which they end
	 */
	public Set<Long> rests() {
		Outcome outcome = run();
		logger.debug("{}: {}", this, outcome.summary());
		return outcome.rests();
	}

	/** Explores all executions; none of them may violate a rule. */
	public void assertSound() {
		Outcome outcome = run();
		assertThat(outcome.executions()).as("executions").isLessThan(MAX_EXECUTIONS);
		logger.debug("{}: {}", this, outcome.summary());
		assertThat(outcome.violation()).as(outcome::toString).isNull();
		// Otherwise states were taken for others that had been seen.
		assertThat(outcome.rests()).as("states of rest").isNotEmpty();
	}

	/**
	 * Explores executions at random, with any number of preemptions; none of them may
	 * violate a rule.
	 * @param executions how many
	 */
	public void assertSoundAtRandom(int executions) {
		Outcome outcome = runAtRandom(executions, 1);
		logger.debug("{} at random: {}", this, outcome.summary());
		assertThat(outcome.violation()).as(outcome::toString).isNull();
	}

	/**
	 * Explores until a violation is found, and fails if there is none: first with few
	 * preemptions, then at random.
	 */
	public void assertViolated() {
		Outcome outcome = runUntilViolated();
		if (outcome.violation() == null) {
			outcome = runAtRandom(RANDOM_EXECUTIONS, 1);
		}
		logger.debug("{}: {}", this, outcome.summary());
		// A mutation that makes nonsense of the code says nothing about the rule.
		assertThat(outcome.violation()).as(outcome::toString)
			.isNotNull()
			.doesNotContain(VerifyError.class.getName(), NullPointerException.class.getName());
	}

	/**
	 * Explores executions at random, with any number of preemptions.
	 * @param executions how many
	 * @param seed the same one leads to the same executions
	 */
	private Outcome runAtRandom(int executions, long seed) {
		return run(new AtRandom(executions, seed), executions);
	}

	private Outcome run(Strategy strategy, long maxExecutions) {
		long began = System.nanoTime();
		Constructor<?> constructor = load();
		Set<Long> rests = new HashSet<>();
		long executions = 0;
		long steps = 0;
		String violation = null;
		String trace = "";
		// The first execution initializes classes, which later ones find initialized. A
		// virtual thread cannot be suspended while it does so.
		new Execution(strategy.begin(), TaskThreads.PLATFORM).run(create(constructor));
		strategy.forget();
		do {
			Execution execution = new Execution(strategy.begin(), TaskThreads.FASTEST);
			violation = execution.run(create(constructor));
			steps += execution.steps();
			if (execution.rest() != 0) {
				rests.add(execution.rest());
			}
			trace = (violation != null) ? execution.trace() : "";
			executions++;
		}
		while (violation == null && executions < maxExecutions && strategy.hasNext());
		return new Outcome(violation, trace, executions, strategy.states(), steps, rests,
				(System.nanoTime() - began) / 1_000_000);
	}

	private Constructor<?> load() {
		try {
			Constructor<?> constructor = classes().loadClass(this.type.getName()).getDeclaredConstructors()[0];
			constructor.setAccessible(true);
			return constructor;
		}
		catch (ClassNotFoundException ex) {
			throw new IllegalStateException(ex);
		}
	}

	private InstrumentedClasses classes() throws ClassNotFoundException {
		List<Mutation> all = new ArrayList<>(this.adaptations);
		all.addAll(this.mutations);
		if (latest == null || !latest.haveExactly(all)) {
			latest = new InstrumentedClasses(all);
			latest.requireMutations();
		}
		return latest;
	}

	private Scenario create(Constructor<?> constructor) {
		return new Scenario() {

			private @Nullable Scenario created;

			@Override
			public void begin() {
				try {
					this.created = (Scenario) constructor.newInstance(Exploration.this.arguments);
				}
				catch (InvocationTargetException ex) {
					throw new IllegalStateException(ex.getCause());
				}
				catch (ReflectiveOperationException ex) {
					throw new IllegalStateException(ex);
				}
				this.created.begin();
			}

			@Override
			public int patience() {
				return this.created.patience();
			}

			@Override
			public long delayNanos() {
				return this.created.delayNanos();
			}

			@Override
			public @Nullable String violationAtRest() {
				return this.created.violationAtRest();
			}

		};
	}

	@Override
	public String toString() {
		return "%s%s%s".formatted(this.type.getSimpleName(), Arrays.toString(this.arguments),
				this.mutations.isEmpty() ? "" : " with " + this.mutations);
	}

	/**
	 * Goes from one execution to the next.
	 */
	private interface Strategy {

		Execution.Schedule begin();

		boolean hasNext();

		/** Starts again from the first execution. */
		void forget();

		int states();

	}

	/** Explores all executions with a limited number of preemptions, depth first. */
	private static final class Bounded implements Strategy, Execution.Schedule {

		private final int bound;

		private final boolean spuriousWakeUps;

		private final boolean prunes;

		/** The preemptions that were left when a state was seen. */
		private final Map<Long, Integer> seen = new HashMap<>();

		/**
		 * The steps at which the current execution reached states, with the preemptions
		 * that were left.
		 */
		private final Map<Long, Integer> onPath = new HashMap<>();

		/** The choices of the current execution. */
		private final List<Choice> path = new ArrayList<>();

		/** All decisions of the current execution. */
		private final List<Execution.Decision> decisions = new ArrayList<>();

		private int used;

		/** A place where the execution can go on in several ways. */
		private static final class Choice {

			/** The decisions that were made before. */
			private final int decisions;

			private final long signature;

			/** The earlier step of the execution in the same state. */
			private final @Nullable Integer formerStep;

			private final int used;

			private final int alternatives;

			private int chosen;

			Choice(int decisions, long signature, @Nullable Integer formerStep, int used, int alternatives) {
				this.decisions = decisions;
				this.signature = signature;
				this.formerStep = formerStep;
				this.used = used;
				this.alternatives = alternatives;
			}

		}

		Bounded(int bound, boolean spuriousWakeUps, boolean prunes) {
			this.bound = bound;
			this.prunes = prunes;
			this.spuriousWakeUps = spuriousWakeUps;
		}

		/** The next execution repeats the current one up to its latest choice. */
		@Override
		public Execution.Schedule begin() {
			this.used = this.path.isEmpty() ? 0 : latest().used;
			return this;
		}

		private Choice latest() {
			return this.path.get(this.path.size() - 1);
		}

		@Override
		public Execution.@Nullable Decision former(int number) {
			return (number < this.decisions.size()) ? this.decisions.get(number) : null;
		}

		@Override
		public void made(int number, Execution.Decision decision) {
			if (number == this.decisions.size()) {
				this.decisions.add(decision);
			}
		}

		@Override
		public int choose(Execution execution, int count, int free) {
			int affordable = (this.used < this.bound) ? count : free;
			if (affordable == 1) {
				return 0;
			}
			if (!this.path.isEmpty() && latest().decisions == this.decisions.size()) {
				return chooseAnother(affordable, free);
			}
			long signature = execution.signature();
			int left = this.bound - this.used;
			Integer step = this.onPath.get(Execution.mix(signature, left));
			Integer before = this.seen.get(signature);
			if (this.prunes && !execution.isUnfair() && before != null && before >= left) {
				return (step != null && execution.haveAllRunSince(step)) ? CIRCLE : SEEN;
			}
			if (!execution.isUnfair()) {
				this.seen.put(signature, left);
			}
			this.path.add(new Choice(this.decisions.size(), signature, step, this.used, affordable));
			this.onPath.put(Execution.mix(signature, left), execution.steps());
			// The first alternative is always free.
			return 0;
		}

		private int chooseAnother(int affordable, int free) {
			Choice latest = latest();
			if (latest.alternatives != affordable) {
				throw new IllegalStateException("the scenario is not deterministic");
			}
			this.used += (latest.chosen >= free) ? 1 : 0;
			return latest.chosen;
		}

		@Override
		public boolean hasNext() {
			while (!this.path.isEmpty()) {
				Choice latest = latest();
				this.decisions.subList(latest.decisions, this.decisions.size()).clear();
				if (++latest.chosen < latest.alternatives) {
					return true;
				}
				this.path.remove(this.path.size() - 1);
				long key = Execution.mix(latest.signature, this.bound - latest.used);
				if (latest.formerStep != null) {
					this.onPath.put(key, latest.formerStep);
				}
				else {
					this.onPath.remove(key);
				}
			}
			return false;
		}

		@Override
		public void forget() {
			this.seen.clear();
			this.onPath.clear();
			this.path.clear();
			this.decisions.clear();
		}

		@Override
		public boolean wakesSpuriously() {
			return this.spuriousWakeUps;
		}

		@Override
		public int states() {
			return this.seen.size();
		}

	}

	/**
	 * Preempts at one of eight places, up to a limit; other switches are chosen at
	 * random.
	 */
	private static final class AtRandom implements Strategy, Execution.Schedule {

		private static final int ONE_IN = 8;

		/** A limit is needed: otherwise the time could pass again and again. */
		private static final int MAX_PREEMPTIONS = 30;

		private final int executions;

		private final long seed;

		private int execution;

		private int preemptions;

		private Random random = new Random();

		AtRandom(int executions, long seed) {
			this.executions = executions;
			this.seed = seed;
		}

		@Override
		public Execution.Schedule begin() {
			this.random = new Random(this.seed + this.execution);
			this.preemptions = 0;
			return this;
		}

		@Override
		public int choose(Execution execution, int count, int free) {
			if (free < count && this.preemptions < MAX_PREEMPTIONS && this.random.nextInt(ONE_IN) == 0) {
				this.preemptions++;
				return free + this.random.nextInt(count - free);
			}
			return this.random.nextInt(free);
		}

		@Override
		public boolean comparesStates() {
			return false;
		}

		@Override
		public boolean hasNext() {
			return ++this.execution < this.executions;
		}

		@Override
		public void forget() {
			this.execution = 0;
		}

		@Override
		public int states() {
			return 0;
		}

	}

	/**
	 * The result of an exploration.
	 *
	 * @param violation what went wrong, or {@code null}
	 * @param trace the execution in which it did
	 * @param executions how many executions there were
	 * @param states in how many different states there was something to choose
	 * @param steps how many steps there were
	 * @param rests the signatures of the states of rest
	 * @param millis how long it took
	 */
	record Outcome(@Nullable String violation, String trace, long executions, int states, long steps, Set<Long> rests,
			long millis) {

		String summary() {
			return "%,d executions, %,d states, %,d steps, %d ms%s".formatted(this.executions, this.states, this.steps,
					this.millis, (this.violation != null) ? ": " + this.violation : "");
		}

		@Override
		public String toString() {
			return summary() + "\n" + this.trace;
		}

	}

}
