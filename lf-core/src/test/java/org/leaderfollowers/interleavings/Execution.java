package org.leaderfollowers.interleavings;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Deque;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CountDownLatch;
import java.util.function.BooleanSupplier;

import org.jspecify.annotations.Nullable;

/**
 * One execution of a {@link Scenario}: its threads run one at a time, and before each
 * access to shared memory the {@link Schedule} chooses which one goes on. Time passes
 * only when the schedule chooses it, and moves to the end of the next waiting time.
 * <p>
 * The {@link #signature} of a state stands for the value of each location in memory and
 * for what each thread has read so far, which is all that its next steps depend on. Two
 * executions that come to the same signature have come to the same state.
 */
final class Execution {

	/** A wait with this deadline never ends. */
	static final long NEVER = Long.MAX_VALUE / 8;

	/** More steps mean that the threads repeat themselves for ever. */
	private static final int MAX_STEPS = 5_000;

	/**
	 * After so many steps, a thread lets others run, as a fair scheduler would make it
	 * do.
	 */
	private static final int MAX_IN_A_ROW = 400;

	private static final int TIME_PASSES = -1;

	/** The execution is over. */
	private static final int NOBODY = Integer.MIN_VALUE;

	/** Nobody can go on until time passes. */
	private static final int IDLE = NOBODY + 1;

	private final Schedule schedule;

	private final TaskThreads threads;

	/** Whether what happens in memory is recorded. */
	private final boolean comparesStates;

	private final List<Task> tasks = new ArrayList<>();

	private final SharedMemory memory = new SharedMemory();

	private final Map<Object, Monitor> monitors = new IdentityHashMap<>();

	private final Map<Thread, Task> byThread = new IdentityHashMap<>();

	/** Pairs of a task's number and a step. */
	private Object[] trace = new Object[256];

	private int traced;

	private int steps;

	/** How many decisions were made: who goes on, or what a thread chooses. */
	private int decisions;

	private int inARow;

	private boolean unfair;

	private int patience;

	/** For how long nothing but time has passed while something was wrong. */
	private long wrongNanos;

	private long now = 1;

	/** The thread that continues unless another one is chosen. */
	private @Nullable Task running;

	private final CountDownLatch end = new CountDownLatch(1);

	/** The execution is over: threads that are still at work give up. */
	private volatile boolean abandoned;

	/** Whether the state of rest is being examined. */
	private boolean looking;

	private volatile @Nullable String violation;

	/** What is wrong with the scenario itself. */
	private volatile @Nullable String defect;

	/** The signature of the latest state of rest. */
	private long rest;

	private Scenario scenario;

	Execution(Schedule schedule, TaskThreads threads) {
		this.schedule = schedule;
		this.threads = threads;
		this.comparesStates = schedule.comparesStates();
	}

	/**
	 * Chooses between alternatives. The first one is the running thread, if it can
	 * continue.
	 */
	interface Schedule {

		/** Ends the execution: the state has been seen before. */
		int SEEN = -1;

		/** Ends the execution: it would continue like this for ever. */
		int CIRCLE = -2;

		/**
		 * Chooses.
		 * @param execution in which state
		 * @param count how many alternatives there are
		 * @param free how many of them, the first ones, take the processor away from no
		 * thread that could go on
		 * @return the index of an alternative, {@link #SEEN} or {@link #CIRCLE}
		 */
		int choose(Execution execution, int count, int free);

		/**
		 * Whether threads that park may return for no reason.
		 * @return whether to explore that, too
		 */
		default boolean wakesSpuriously() {
			return false;
		}

		/**
		 * Whether {@link Execution#signature} is needed, which costs as much as all the
		 * rest.
		 * @return {@code false} if states are not compared
		 */
		default boolean comparesStates() {
			return true;
		}

		/**
		 * Returns a decision that is made as in the previous execution, or {@code null}
		 * if it is to be made.
		 */
		default @Nullable Decision former(int number) {
			return null;
		}

		/** A decision was made, or made again because nobody could go on. */
		default void made(int number, Decision decision) {
		}

	}

	/**
	 * What was decided. Most steps of an exploration repeat the beginning of the previous
	 * execution, so it must be cheap to make these decisions again.
	 *
	 * @param where what the deciding thread was about to do
	 * @param chosen who goes on, or what the thread chooses
	 * @param now the time afterwards
	 */
	record Decision(@Nullable Object where, int chosen, long now) {
	}

	/** Ends a thread whose execution is over. */
	@SuppressWarnings("serial")
	static final class Abandoned extends Error {

		Abandoned() {
			super(null, null, false, false);
		}

	}

	/** A rule was broken. */
	@SuppressWarnings("serial")
	static final class Violation extends Error {

		Violation(String message) {
			super(message);
		}

	}

	/** Returns what is wrong, or {@code null}. */
	@Nullable String run(Scenario scenario) {
		this.scenario = scenario;
		Task first = start("setup", scenario::begin);
		first.resume();
		if (!this.threads.runUntil(this.end)) {
			throw new IllegalStateException("A thread blocks where the exploration cannot see it:\n" + trace());
		}
		if (this.defect != null) {
			// No rule is broken by that.
			throw new IllegalStateException(this.defect + "\n" + trace());
		}
		return this.violation;
	}

	int steps() {
		return this.steps;
	}

	/**
	 * The signature of the state of rest, or 0 if the execution was given up before or
	 * states are not compared.
	 */
	long rest() {
		return this.rest;
	}

	boolean isOver() {
		return this.abandoned;
	}

	Task start(String name, Runnable body) {
		if (this.abandoned) {
			throw new Abandoned();
		}
		Task parent = TaskThreads.currentTask();
		boolean first = parent == null || parent.execution != this;
		Task task = new Task(this, this.tasks.size(), name, body, first ? 1 : mix(parent.id, ++parent.created));
		if (!first) {
			parent.learn(4);
		}
		this.tasks.add(task);
		this.byThread.put(task.thread(), task);
		this.memory.created(task.thread(), task.id);
		return task;
	}

	/**
	 * Whether every thread that can continue has done so since a step. If the state is
	 * the same as it was then, the threads repeat themselves for ever.
	 */
	boolean haveAllRunSince(int step) {
		for (Task task : this.tasks) {
			if (task.latestStep <= step && canGoOn(task)) {
				return false;
			}
		}
		return true;
	}

	/**
	 * Whether the running thread has been left out of the alternatives because it has run
	 * for too long. A choice in this state does not apply when the state is seen again.
	 */
	boolean isUnfair() {
		return this.unfair;
	}

	/** Two states have equal signatures only if the same steps can follow. */
	long signature() {
		long hash = this.memory.hash() + mix(this.now, mix(this.patience, this.wrongNanos));
		for (Task task : this.tasks) {
			if (!task.ended) {
				// A thread that waits at once has learned nothing since it began.
				hash += mix(task.history, (task.permit ? 1 : 0) + ((task == this.running) ? 2 : 0)
						+ (task.begun ? 4 : 0) + (task.notified ? 8 : 0));
			}
		}
		return hash;
	}

	static long mix(long one, long other) {
		long hash = one * 0x9E3779B97F4A7C15L + other;
		hash = (hash ^ (hash >>> 32)) * 0xD6E8FEB86659FD93L;
		hash = (hash ^ (hash >>> 32)) * 0xD6E8FEB86659FD93L;
		return hash ^ (hash >>> 32);
	}

	// Choice of the thread that continues

	/**
	 * Called by the running thread when it is about to make its next step, must wait, or
	 * has ended.
	 * @return the one to go on, or {@code null} if the execution is over
	 */
	private @Nullable Task next(Task self) {
		for (;;) {
			if (++this.steps > MAX_STEPS) {
				return end("goes in circles: no rest after %d steps".formatted(MAX_STEPS));
			}
			// The thread may repeat itself until another thread has done something.
			this.unfair = ++this.inARow > MAX_IN_A_ROW;
			self.yields |= this.unfair;
			Decision former = former(self);
			int chosen = (former != null) ? former.chosen : decide(self);
			if (chosen == NOBODY) {
				return null;
			}
			if (chosen == TIME_PASSES) {
				record(null, "time passes: " + this.now);
				continue;
			}
			Task task = this.tasks.get((chosen >= 0) ? chosen : TIME_PASSES - 1 - chosen);
			if (chosen < 0) {
				record(task, "wakes up for no reason");
			}
			task.yields = false;
			task.latestStep = this.steps;
			if (task != self || this.unfair) {
				this.inARow = 0;
			}
			return task;
		}
	}

	/**
	 * Makes the next decision as in the previous execution, if it is made in that way.
	 */
	private @Nullable Decision former(Task self) {
		Decision former = this.schedule.former(this.decisions);
		if (former == null) {
			return null;
		}
		if (!Objects.equals(former.where, self.doing)) {
			this.defect = "the scenario is not deterministic: %s, formerly %s".formatted(self.doing, former.where);
			end(null);
			throw new Abandoned();
		}
		if (former.chosen == IDLE) {
			return null;
		}
		this.decisions++;
		this.now = former.now;
		return former;
	}

	private void made(Task self, int chosen) {
		if (this.comparesStates) {
			this.schedule.made(this.decisions++, new Decision(self.doing, chosen, this.now));
		}
	}

	/** Returns the number of the thread to go on, or another alternative. */
	private int decide(Task self) {
		int[] candidates = new int[2 * this.tasks.size() + 1];
		boolean goesOn = !self.yields && canGoOn(self);
		this.running = goesOn ? self : null;
		int count = 0;
		if (goesOn) {
			candidates[count++] = self.number;
		}
		long deadline = NEVER;
		for (Task task : this.tasks) {
			if (task != self && canGoOn(task)) {
				candidates[count++] = task.number;
			}
			else if (!task.ended && task.deadline > this.now) {
				deadline = Math.min(deadline, task.deadline);
			}
		}
		if (self.yields && !(this.unfair && count > 0) && canGoOn(self)) {
			candidates[count++] = self.number;
		}
		int free = goesOn ? 1 : count;
		boolean idle = count == 0;
		if (deadline < NEVER) {
			candidates[count++] = TIME_PASSES;
		}
		if (count == 0) {
			end(atRest());
			return NOBODY;
		}
		if (idle) {
			String wrong = atRest();
			if (wrong == null && this.patience++ == this.scenario.patience()) {
				end(null);
				return NOBODY;
			}
			this.wrongNanos = (wrong == null) ? 0 : this.wrongNanos + deadline - this.now;
			if (wrong != null && this.wrongNanos > this.scenario.delayNanos()) {
				end(wrong);
				return NOBODY;
			}
		}
		if (!idle && this.schedule.wakesSpuriously()) {
			for (Task task : this.tasks) {
				if (task.parks && !canGoOn(task)) {
					candidates[count++] = TIME_PASSES - 1 - task.number;
				}
			}
		}
		int index = (count == 1) ? 0 : this.schedule.choose(this, count, idle ? count : free);
		if (index < 0) {
			end((index == Schedule.CIRCLE) ? "goes in circles" : null);
			return NOBODY;
		}
		if (candidates[index] == TIME_PASSES) {
			this.now = deadline;
		}
		// In a state of rest, the scenario looks at it each time.
		made(self, idle ? IDLE : candidates[index]);
		return candidates[index];
	}

	private boolean canGoOn(Task task) {
		if (task.ended) {
			return false;
		}
		if (task.condition == null || task.deadline <= this.now) {
			return true;
		}
		this.looking = true;
		boolean holds = task.condition.getAsBoolean();
		this.looking = false;
		return holds;
	}

	private @Nullable String atRest() {
		this.rest = this.comparesStates ? signature() : 0;
		this.looking = true;
		String wrong = this.scenario.violationAtRest();
		this.looking = false;
		return wrong;
	}

	private @Nullable Task end(@Nullable String violation) {
		if (this.violation == null) {
			this.violation = violation;
		}
		this.abandoned = true;
		for (Task task : this.tasks) {
			if (!task.begun) {
				task.thread.release();
			}
			else if (!task.ended) {
				task.resume();
			}
		}
		this.end.countDown();
		return null;
	}

	private void record(@Nullable Task task, Object step) {
		if (this.traced + 2 > this.trace.length) {
			this.trace = Arrays.copyOf(this.trace, this.trace.length * 2);
		}
		this.trace[this.traced++] = (task != null) ? task.name : "";
		this.trace[this.traced++] = step;
	}

	/**
	 * The steps of the execution; consecutive steps of one thread are listed under its
	 * name.
	 */
	String trace() {
		StringBuilder text = new StringBuilder();
		Object latest = null;
		for (int i = 0; i < this.traced; i += 2) {
			if (!this.trace[i].equals(latest)) {
				latest = this.trace[i];
				text.append("  ").append(latest).append('\n');
			}
			text.append("      ").append(this.trace[i + 1]).append('\n');
		}
		text.append("  at the end, time ").append(this.now).append('\n');
		for (Task task : this.tasks) {
			text.append("      ").append(task).append('\n');
		}
		return text.toString();
	}

	/** The owner of a monitor, and how often it has entered it. */
	private static final class Monitor {

		private @Nullable Task holder;

		private int count;

	}

	/**
	 * A thread of an execution.
	 */
	static final class Task {

		final Execution execution;

		private final TaskThreads.TaskThread thread;

		private final int number;

		private final String name;

		private final Runnable body;

		/** Stands for the thread in the values of locations. */
		private final long id;

		/** Stands for all that the thread has read. */
		private long history;

		private long created;

		private int latestStep;

		/** The location that the latest step wrote to. */
		private SharedMemory.@Nullable Location written;

		private boolean begun;

		private boolean ended;

		private boolean yields;

		private boolean parks;

		private boolean permit;

		/** The object on whose monitor the thread waits. */
		private @Nullable Object waitsOn;

		private boolean notified;

		/** Whether accesses are recorded without letting other threads run. */
		private boolean quiet;

		/** How many classes the thread is initializing. Nothing is recorded meanwhile. */
		private int initializing;

		/** The end of the wait; in the past if the thread does not wait. */
		private long deadline;

		private @Nullable BooleanSupplier condition;

		private @Nullable Object doing;

		private final Deque<Object> entered = new ArrayDeque<>();

		private Task(Execution execution, int number, String name, Runnable body, long id) {
			this.execution = execution;
			this.number = number;
			this.name = name;
			this.body = body;
			this.id = id;
			this.history = id;
			this.thread = execution.threads.create(this);
		}

		Thread thread() {
			return this.thread.asThread();
		}

		private void resume() {
			if (this.begun) {
				this.thread.resume();
			}
			else {
				this.begun = true;
				this.thread.begin();
			}
		}

		private void suspend() {
			this.thread.suspend();
			if (this.execution.abandoned) {
				throw new Abandoned();
			}
		}

		/** All that the thread does for this task. */
		void run() {
			try {
				this.body.run();
			}
			catch (Abandoned ex) {
				// The execution is over.
			}
			catch (Violation ex) {
				fail(ex.getMessage());
			}
			catch (Throwable ex) {
				fail("%s failed: %s".formatted(this.name,
						ex + " at " + Arrays.stream(ex.getStackTrace()).limit(4).toList()));
			}
			if (!this.execution.abandoned) {
				settle();
				this.ended = true;
				this.doing = "ended";
				Task next = this.execution.next(this);
				if (next != null) {
					next.resume();
				}
			}
			this.ended = true;
		}

		private void fail(String violation) {
			if (!this.execution.abandoned) {
				this.execution.end(violation);
			}
		}

		/** Lets other threads run before the next step. */
		private void pass(Object step) {
			Execution execution = this.execution;
			if (execution.abandoned) {
				throw new Abandoned();
			}
			this.doing = step;
			settle();
			Task next = execution.next(this);
			if (next != this) {
				if (next != null) {
					next.resume();
				}
				suspend();
			}
			this.condition = null;
			this.deadline = 0;
			execution.record(this, step);
		}

		private void happened(SharedMemory.Location location, Site site) {
			if (site.kind() != Site.Kind.WRITE) {
				learn(location.read());
			}
			// A write counts, too: the thread has made progress.
			learn(site.hash());
			if (site.kind() != Site.Kind.READ) {
				this.written = location;
			}
		}

		/** To be called before the next step. */
		private void settle() {
			SharedMemory.Location location = this.written;
			if (location != null) {
				this.written = null;
				location.written(this.history);
			}
			this.execution.memory.stepped(this.history);
		}

		/** From here on, the thread behaves as if it had read nothing yet. */
		void beginAnew(Object where) {
			this.history = mix(this.id, where.hashCode());
		}

		private void learn(long what) {
			this.history = mix(this.history, what);
		}

		void initializes(int more) {
			this.initializing += more;
		}

		void access(Object target, String field, Site site) {
			if (this.execution.looking || this.initializing > 0) {
				return;
			}
			if (site.shared() && !this.quiet) {
				pass(site);
			}
			else if (this.execution.abandoned) {
				return;
			}
			if (this.execution.comparesStates) {
				settle();
				happened(this.execution.memory.location(target, field), site);
			}
		}

		void created(Object object) {
			if (this.execution.comparesStates && !this.execution.looking && this.initializing == 0
					&& !this.execution.abandoned) {
				this.execution.memory.created(object, mix(this.id, ++this.created));
			}
		}

		void enter(Object object, Site site) {
			if (this.execution.looking) {
				return;
			}
			if (this.execution.abandoned) {
				throw new Abandoned();
			}
			enter(this.execution.monitors.computeIfAbsent(object, (key) -> new Monitor()), site, 1);
			this.entered.push(object);
			learn(site.hash());
		}

		private void enter(Monitor monitor, Object step, int count) {
			this.condition = () -> monitor.holder == null || monitor.holder == this;
			this.deadline = NEVER;
			pass(step);
			monitor.holder = this;
			monitor.count += count;
		}

		void exit(Object object) {
			if (this.execution.looking || this.execution.abandoned) {
				return;
			}
			this.entered.pop();
			Monitor monitor = this.execution.monitors.get(object);
			if (--monitor.count == 0) {
				monitor.holder = null;
			}
			learn(0);
		}

		void exitLatest() {
			if (!this.execution.looking && !this.execution.abandoned) {
				exit(this.entered.peek());
			}
		}

		/** Leaves a monitor until another thread notifies this one, or time is up. */
		void waitOn(Object object, long deadlineNanos) {
			if (this.execution.abandoned) {
				throw new Abandoned();
			}
			Monitor monitor = this.execution.monitors.get(object);
			int count = monitor.count;
			monitor.holder = null;
			monitor.count = 0;
			this.waitsOn = object;
			this.condition = () -> this.notified;
			this.deadline = bounded(deadlineNanos);
			this.parks = true;
			pass("waits for a notification");
			this.parks = false;
			this.waitsOn = null;
			this.notified = false;
			learn(5);
			enter(monitor, "enters its monitor again", count);
			learn(6);
		}

		/** Notifies any one of the threads that wait, or all of them. */
		void notify(Object object, boolean all) {
			if (this.execution.looking || this.execution.abandoned) {
				return;
			}
			List<Task> waiting = new ArrayList<>();
			for (Task task : this.execution.tasks) {
				if (task.waitsOn == object && !task.notified) {
					waiting.add(task);
				}
			}
			if (all) {
				waiting.forEach((task) -> task.notified = true);
			}
			else if (!waiting.isEmpty()) {
				waiting.get((waiting.size() > 1) ? choose(waiting.size()) : 0).notified = true;
			}
			learn(7);
		}

		void await(String what, BooleanSupplier condition, long deadlineNanos) {
			this.condition = condition;
			this.deadline = Math.min(deadlineNanos, NEVER);
			pass(what);
			learn(what.hashCode());
			// Evaluated once more, so that everything it depends on becomes part of the
			// history.
			this.quiet = true;
			learn(condition.getAsBoolean() ? 1 : 0);
			this.quiet = false;
		}

		int choose(int choices) {
			if (this.execution.abandoned) {
				throw new Abandoned();
			}
			this.execution.running = this;
			Decision former = this.execution.former(this);
			int chosen = (former != null) ? former.chosen
					: this.execution.schedule.choose(this.execution, choices, choices);
			if (chosen < 0) {
				this.execution.end(null);
				throw new Abandoned();
			}
			if (former == null) {
				this.execution.made(this, chosen);
			}
			this.execution.record(this, "chooses " + chosen);
			learn(chosen);
			return chosen;
		}

		private static long bounded(long deadlineNanos) {
			return (deadlineNanos < 0 || deadlineNanos > NEVER) ? NEVER : deadlineNanos;
		}

		void park(long deadlineNanos) {
			this.condition = () -> this.permit;
			this.deadline = bounded(deadlineNanos);
			this.parks = true;
			pass("parks");
			this.parks = false;
			learn(1);
			this.permit = false;
		}

		void unpark(Thread thread) {
			if (this.execution.looking) {
				return;
			}
			Task task = this.execution.byThread.get(thread);
			pass("unparks " + ((task != null) ? task.name : "nobody"));
			learn(2);
			if (task != null) {
				task.permit = true;
			}
		}

		void pause(String what) {
			this.yields = true;
			pass(what);
			learn(3);
		}

		void yield() {
			pause("yields");
		}

		long nanoTime() {
			learn(this.execution.now);
			return this.execution.now;
		}

		@Override
		public String toString() {
			return this.name + ": " + this.doing
					+ ((this.condition != null && this.deadline < NEVER) ? " until " + this.deadline : "");
		}

	}

}
