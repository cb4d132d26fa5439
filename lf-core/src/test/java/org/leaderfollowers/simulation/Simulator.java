package org.leaderfollowers.simulation;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.PriorityQueue;
import java.util.SplittableRandom;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;

import org.jspecify.annotations.Nullable;

/**
 * Runs the whole engine on a virtual clock and a simulated network. The design:
 * <ul>
 * <li>The engine's own classes run, unchanged, except that {@link SimulatedClasses} loads
 * them a second time and redirects their calls into the JDK to {@link SimulatedJdk}: the
 * time, parking, monitors, threads, interrupts, channels, random numbers and large
 * buffers. Production code needs no seam for this, so it pays for none.</li>
 * <li>The threads are real or carried, but exactly one holds the baton and runs. It may
 * pass the baton before each access to shared memory, and must pass it when it waits. The
 * seed decides when, and which thread is next. Monitors are simulated too, so no thread
 * ever blocks for real while it holds the baton.</li>
 * <li>Time is a number. It passes a little with every step, and jumps to the next
 * deadline or {@linkplain #at event} when no thread can continue.</li>
 * <li>Peers and the {@link SimulatedNetwork} are no threads. Their actions are events,
 * which the thread with the baton executes when they are due.</li>
 * <li>The steps only depend on the seed. To replay a failure, run its seed again.</li>
 * </ul>
 * Not simulated: the reordering of plain memory accesses, which jcstress covers; the
 * cryptography of TLS; the load, which the seed chooses; work inside the JDK's own
 * classes, which counts as one step.
 */
public final class Simulator {

	/** A deadline that never comes. */
	public static final long NEVER = Long.MAX_VALUE;

	/** The thread of the workload, which starts the others and awaits the end. */
	private static final String MAIN = "main";

	private static final long START_NANOS = TimeUnit.DAYS.toNanos(10);

	private static final long LONGEST_NANOS = START_NANOS + TimeUnit.MINUTES.toNanos(30);

	private static final long MOST_STEPS = 300_000;

	/** How long a run may take of the real time, before it counts as stuck. */
	private static final long WATCHDOG_SECONDS = 120;

	private final long seed;

	private final SplittableRandom random;

	private final List<SimulatedThread> threads = new ArrayList<>();

	private final PriorityQueue<Event> events = new PriorityQueue<>(
			Comparator.comparingLong(Event::nanos).thenComparingLong(Event::number));

	private final Map<Object, Monitor> monitors = new IdentityHashMap<>();

	private final CountDownLatch end = new CountDownLatch(1);

	/** The carried thread that has been given the baton and is not executed yet. */
	private @Nullable SimulatedThread resumed;

	private final @Nullable StringBuilder trace;

	/** The average number of accesses to shared memory between two preemptions. */
	private final int stickiness;

	/** How many of a thousand preemptions take the processor away for long. */
	private final int stalls;

	private final int spuriousWakeups;

	private int untilPreemption;

	/** Apart from the other choices, so that few of them depend on what is allocated. */
	private final SplittableRandom memory;

	/** Half of the usual number of allocations between two shortages of memory. */
	private final int shortageEvery;

	/** The number of allocations until memory is short, or 0 if it never is. */
	private int untilShortage;

	private long now = START_NANOS;

	private long pauseEnd;

	private long steps;

	private final long[] counts = new long[Counted.values().length];

	private long eventNumbers;

	private int threadNumbers;

	/** Stands for all steps so far. */
	private long signature;

	private int living;

	/** Whether the thread with the baton does the work of the simulator. */
	private boolean busy;

	private int hashes;

	private final SimulatedNetwork network = new SimulatedNetwork(this);

	private @Nullable String violation;

	private volatile boolean over;

	private boolean faults;

	private @Nullable Runnable invariant;

	private boolean threadsFail;

	private int load = 1;

	private long nextLoadNanos;

	/** Something that happens without a thread. */
	private record Event(long nanos, long number, String what, Runnable action) {
	}

	/** A monitor that is held, or that threads wait for. */
	private static final class Monitor {

		private @Nullable SimulatedThread holder;

		private int count;

		private final List<SimulatedThread> waiting = new ArrayList<>();

	}

	/**
	 * Creates a simulator for one run.
	 * @param seed decides everything
	 * @param traced whether to record each step
	 */
	public Simulator(long seed, boolean traced) {
		this.seed = seed;
		this.random = new SplittableRandom(seed);
		this.trace = traced ? new StringBuilder() : null;
		int[] choices = { 3, 10, 30, 100, 400 };
		this.stickiness = choices[this.random.nextInt(choices.length)];
		this.stalls = this.random.nextInt(3) * 10;
		this.spuriousWakeups = this.random.nextInt(4) == 0 ? 20 : 0;
		this.memory = new SplittableRandom(-seed);
		this.shortageEvery = 50 << this.memory.nextInt(7);
		this.untilShortage = (this.memory.nextInt(2) == 0) ? 1 + this.memory.nextInt(this.shortageEvery) : 0;
	}

	/**
	 * Runs a thread, and all that it starts, to the end.
	 * @param body the first thread
	 * @return the violated rule, or {@code null}
	 */
	@Nullable String run(Runnable body) throws InterruptedException {
		SimulatedThread main = new SimulatedThread(this, MAIN, body);
		register(main);
		this.living++;
		main.begin();
		main.resumeWithBaton();
		if (this.resumed != null) {
			Thread carrier = new Thread(this::carry, "carrier");
			carrier.setDaemon(true);
			carrier.start();
		}
		if (!this.end.await(WATCHDOG_SECONDS, TimeUnit.SECONDS)) {
			StringBuilder stuck = new StringBuilder("stuck for real:");
			for (SimulatedThread thread : this.threads) {
				stuck.append("\n  ").append(thread).append(thread.runs() ? " has the baton" : "");
				for (StackTraceElement frame : thread.getStackTrace()) {
					stuck.append("\n    ").append(frame);
				}
			}
			return stuck.toString();
		}
		return this.violation;
	}

	/** Executes all carried threads, until none has the baton. */
	private void carry() {
		for (SimulatedThread next = this.resumed; next != null; next = this.resumed) {
			this.resumed = null;
			if (!next.execute()) {
				return;
			}
		}
	}

	/** Lets the carrier execute a thread when the running one is suspended or ends. */
	void executeNext(SimulatedThread thread) {
		this.resumed = thread;
	}

	// For the workload

	/** Returns the seed. */
	public long seed() {
		return this.seed;
	}

	/** Returns the network. */
	public SimulatedNetwork network() {
		return this.network;
	}

	/** Returns the virtual time. */
	public long nanoTime() {
		return this.now;
	}

	/** Called by a leader that has failed, and pauses before it leads again. */
	void leaderPauses(long endNanos) {
		this.pauseEnd = Math.max(this.pauseEnd, endNanos);
	}

	/** When the last pause of a leader that has failed ends or has ended, or 0. */
	public long pauseEnd() {
		return this.pauseEnd;
	}

	/** Returns a number from 0 to {@code bound - 1}. */
	public int choose(int bound) {
		return this.random.nextInt(bound);
	}

	/** Returns {@code true} in so many of a thousand cases. */
	public boolean chance(int permille) {
		return permille > 0 && this.random.nextInt(1000) < permille;
	}

	/** Like {@link #chance}, but only between the begin and the end of the faults. */
	public boolean fault(int permille) {
		return this.faults && chance(permille);
	}

	/** Begins the faults: calls of the JDK may fail. */
	public void beginFaults() {
		this.faults = true;
	}

	/** Ends the faults: what was owed must be done from now on. */
	public void endFaults() {
		this.faults = false;
	}

	/**
	 * Checks an invariant whenever every thread waits for something that has not happened
	 * yet. A signal that is lost shows here at once, although a later event would put it
	 * right.
	 */
	public void whenAllWait(Runnable check) {
		this.invariant = check;
	}

	/** Lets no thread be started, or ends this. */
	public void failThreads(boolean fail) {
		this.threadsFail = fail;
	}

	/** Executes an action after a time, without a thread. */
	public void at(long nanos, String what, Runnable action) {
		this.events.add(new Event(nanos, this.eventNumbers++, what, action));
	}

	/** Lets the calling thread wait until a condition holds or a time has come. */
	public boolean await(String what, BooleanSupplier condition, long deadlineNanos) {
		SimulatedThread self = SimulatedThread.current();
		self.waitFor(what, condition, deadlineNanos);
		pass(self);
		self.goOn();
		this.busy = true;
		boolean holds = condition.getAsBoolean();
		this.busy = false;
		return holds;
	}

	/** Lets the calling thread wait for a time. */
	public void sleep(long nanos) {
		await("sleeps", () -> false, this.now + nanos);
	}

	/** Ends the run, because a rule was violated. */
	public void fail(String rule) {
		end(rule);
		if (!this.busy) {
			SimulatedThread.current().stopForEver();
		}
	}

	private void end(String rule) {
		if (this.violation == null) {
			this.violation = rule;
		}
		note("VIOLATION: " + rule);
		this.over = true;
		this.end.countDown();
	}

	/** Adds a line to the trace. */
	public void note(String line) {
		if (this.trace != null) {
			SimulatedThread self = SimulatedThread.currentOrNull();
			this.trace.append("%,15d %s: %s%n".formatted((this.now - START_NANOS) / 1000,
					(self != null) ? self.getName() : "", line));
		}
	}

	/** Returns the trace. */
	String trace() {
		return (this.trace != null) ? this.trace.toString() : "";
	}

	/** Returns a number that is the same for equal runs. */
	long signature() {
		return this.signature;
	}

	/** Returns the number of scheduling points. */
	long steps() {
		return this.steps;
	}

	/** Counts something that has happened. */
	public void count(Counted what) {
		this.counts[what.ordinal()]++;
	}

	/** Returns what was counted, in the order of {@link Counted}. */
	long[] counts() {
		return this.counts;
	}

	/** Returns how many threads have begun and not ended, the workload's included. */
	public int living() {
		return this.living;
	}

	/** Describes the threads that have not ended. */
	public String describeThreads() {
		StringBuilder text = new StringBuilder();
		for (SimulatedThread thread : this.threads) {
			if (!thread.hasEnded()) {
				text.append("\n  ").append(thread);
			}
		}
		return text.toString();
	}

	// For the classes under simulation, see SimulatedJdk

	/** Called before an access to shared memory. */
	void step(SimulatedThread self) {
		if (this.busy || --this.untilPreemption > 0) {
			return;
		}
		this.untilPreemption = 1 + this.random.nextInt(2 * this.stickiness);
		if (this.trace != null) {
			note("is preempted at " + site());
		}
		if (chance(this.stalls)) {
			self.stallUntil(this.now + 1 + this.random.nextInt(this.random.nextBoolean() ? 200_000 : 20_000_000));
		}
		pass(self);
	}

	void logged(String level, String format, @Nullable Object[] arguments) {
		if (this.trace != null) {
			boolean wasBusy = this.busy;
			// The engine's objects allocate for their names, in a traced run only.
			this.busy = true;
			String line = level + " " + format + " " + Arrays.toString(arguments);
			this.busy = wasBusy;
			note(line);
		}
		Object last = (arguments.length > 0) ? arguments[arguments.length - 1] : null;
		if (level.equals("ERROR") && last instanceof Throwable failure && !isSimulated(failure)) {
			fail("logged an error: %s %s at %s".formatted(format, Arrays.toString(arguments), site(failure)));
		}
	}

	private static boolean isSimulated(Throwable failure) {
		String message = String.valueOf(failure.getMessage());
		return failure instanceof SimulatedFailure || message.contains("simulated")
				|| message.equals("An earlier failure could not be handled");
	}

	void caught(Throwable failure) {
		if (this.trace != null) {
			note("catches " + failure + " of " + site(failure));
		}
	}

	/**
	 * Whether an allocation of the engine fails, in its own threads or in those of the
	 * application. A failure often comes soon after another one.
	 */
	boolean isShortOfMemory(SimulatedThread self) {
		if (this.untilShortage == 0 || !this.faults || this.busy || self.getName().equals(MAIN)
				|| --this.untilShortage > 0) {
			return false;
		}
		this.untilShortage = 1 + this.memory.nextInt((this.memory.nextInt(2) == 0) ? 10 : 4 * this.shortageEvery);
		return true;
	}

	/** Called instead of a busy wait: another thread should run. */
	void yield(SimulatedThread self) {
		if (!this.busy) {
			self.stallUntil(this.now + 1 + this.random.nextInt(20_000));
			pass(self);
		}
	}

	long readClock() {
		if (!this.busy) {
			this.now += this.random.nextInt(200);
		}
		return this.now;
	}

	/** How many leaders would be busy. Changes from time to time. */
	int load() {
		if (this.now >= this.nextLoadNanos) {
			this.load = 1 + this.random.nextInt(4);
			this.nextLoadNanos = this.now + this.random.nextInt(2_000_000_000);
		}
		return this.load;
	}

	int nextHash() {
		return ++this.hashes * 0x9E3779B9 | 1;
	}

	void start(SimulatedThread thread) {
		if (this.threadsFail || fault(10)) {
			throw new OutOfMemoryError("unable to create native thread (simulated)");
		}
		note("starts " + thread.getName());
		this.living++;
		register(thread);
		thread.begin();
		step(SimulatedThread.current());
	}

	private void register(SimulatedThread thread) {
		thread.number = ++this.threadNumbers;
		this.threads.add(thread);
	}

	void ended(SimulatedThread self, @Nullable Throwable failure) {
		if (this.over) {
			return;
		}
		this.threads.remove(self);
		this.living--;
		note("ends");
		if (failure != null && !isSimulated(failure)) {
			this.busy = true;
			fail("%s ended with %s at %s".formatted(self.getName(), failure, site(failure)));
			return;
		}
		SimulatedThread next = next(self);
		if (next != null) {
			next.resumeWithBaton();
		}
	}

	/** The running thread is pinned to its carrier, so it cannot pass the baton. */
	void cannotSuspend() {
		end("a pinned thread cannot be suspended at " + site());
	}

	void park(SimulatedThread self, long deadlineNanos) {
		boolean spurious = chance(this.spuriousWakeups);
		self.waitFor("parks", () -> spurious || self.permit || self.interruption, deadlineNanos);
		pass(self);
		self.goOn();
		self.permit = false;
	}

	void unpark(SimulatedThread thread) {
		thread.permit = true;
		step(SimulatedThread.current());
	}

	void enter(SimulatedThread self, Object object) {
		if (this.busy) {
			return;
		}
		step(self);
		Monitor monitor = this.monitors.computeIfAbsent(object, (key) -> new Monitor());
		take(self, monitor, 1);
	}

	private void take(SimulatedThread self, Monitor monitor, int count) {
		while (monitor.holder != null && monitor.holder != self) {
			self.waitFor("enters a monitor of " + monitor.holder.getName(), () -> monitor.holder == null, NEVER);
			pass(self);
			self.goOn();
		}
		monitor.holder = self;
		monitor.count += count;
	}

	void exit(SimulatedThread self, Object object) {
		if (this.busy) {
			return;
		}
		Monitor monitor = this.monitors.get(object);
		if (monitor == null || monitor.holder != self) {
			throw new IllegalMonitorStateException();
		}
		if (--monitor.count == 0) {
			monitor.holder = null;
		}
		step(self);
	}

	void await(SimulatedThread self, Object object, long nanos) throws InterruptedException {
		Monitor monitor = held(self, object);
		int count = monitor.count;
		monitor.count = 0;
		monitor.holder = null;
		monitor.waiting.add(self);
		boolean spurious = chance(this.spuriousWakeups);
		self.waitFor("waits", () -> spurious || !monitor.waiting.contains(self) || self.interruption, this.now + nanos);
		pass(self);
		self.goOn();
		monitor.waiting.remove(self);
		take(self, monitor, count);
		if (self.interruption) {
			self.interruption = false;
			throw new InterruptedException();
		}
	}

	void notify(SimulatedThread self, Object object, boolean all) {
		Monitor monitor = held(self, object);
		if (all) {
			monitor.waiting.clear();
		}
		else if (!monitor.waiting.isEmpty()) {
			monitor.waiting.remove(this.random.nextInt(monitor.waiting.size()));
		}
	}

	private Monitor held(SimulatedThread self, Object object) {
		Monitor monitor = this.monitors.get(object);
		if (monitor == null || monitor.holder != self) {
			throw new IllegalMonitorStateException();
		}
		return monitor;
	}

	private static String site() {
		return StackWalker.getInstance()
			.walk((frames) -> frames
				.filter((frame) -> !frame.getClassName().startsWith("org.leaderfollowers.simulation."))
				.findFirst()
				.map(Object::toString)
				.orElse("?"));
	}

	private static String site(Throwable failure) {
		StackTraceElement[] frames = failure.getStackTrace();
		StringBuilder text = new StringBuilder();
		for (int i = 0; i < Math.min(6, frames.length); i++) {
			text.append(frames[i]).append(' ');
		}
		return text.toString();
	}

	// Choice of the next thread

	private void pass(SimulatedThread self) {
		if (this.busy) {
			throw new IllegalStateException("the simulator must not wait for itself");
		}
		SimulatedThread next = next(self);
		if (next == self) {
			return;
		}
		if (next != null) {
			next.resumeWithBaton();
		}
		self.suspendUntilBaton();
	}

	private @Nullable SimulatedThread next(SimulatedThread self) {
		this.busy = true;
		try {
			return choose(self);
		}
		catch (RuntimeException | Error ex) {
			fail("the simulation failed: " + ex + " at " + site(ex));
			return null;
		}
		finally {
			this.busy = false;
		}
	}

	private @Nullable SimulatedThread choose(SimulatedThread self) {
		SimulatedThread[] candidates = new SimulatedThread[this.threads.size()];
		for (;;) {
			if (this.over) {
				return null;
			}
			this.now += this.random.nextInt(2000);
			for (Event event = this.events.peek(); event != null
					&& event.nanos() <= this.now; event = this.events.peek()) {
				this.events.poll();
				if (this.trace != null) {
					note("[" + event.what() + "]");
				}
				event.action().run();
			}
			if (this.over) {
				return null;
			}
			int count = 0;
			long later = NEVER;
			for (SimulatedThread thread : this.threads) {
				if (thread.canGoOn(this.now)) {
					candidates[count++] = thread;
				}
				else {
					later = Math.min(later, thread.nextNanos(this.now));
				}
			}
			if (count > 0) {
				SimulatedThread chosen = candidates[this.random.nextInt(count)];
				this.signature = (this.signature ^ chosen.number ^ this.now) * 0x9E3779B97F4A7C15L;
				this.signature ^= this.signature >>> 31;
				if (++this.steps > MOST_STEPS) {
					fail("goes in circles: %,d steps".formatted(this.steps) + describeThreads());
				}
				return chosen;
			}
			if (this.threads.isEmpty()) {
				this.over = true;
				this.end.countDown();
				return null;
			}
			Event event = this.events.peek();
			long next = Math.min(later, (event != null) ? event.nanos() : NEVER);
			if (next == NEVER || next > LONGEST_NANOS) {
				fail("nothing goes on:" + describeThreads());
				return null;
			}
			if (this.invariant != null && this.threads.stream().noneMatch((thread) -> thread.isStalled(this.now))) {
				this.invariant.run();
			}
			this.now = Math.max(this.now, next);
		}
	}

}
