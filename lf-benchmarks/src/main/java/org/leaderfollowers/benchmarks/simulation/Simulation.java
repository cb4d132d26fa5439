package org.leaderfollowers.benchmarks.simulation;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Deque;
import java.util.List;
import java.util.Objects;
import java.util.Queue;
import java.util.Random;
import java.util.concurrent.TimeUnit;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.benchmarks.simulation.Processors.SharedWord;
import org.leaderfollowers.benchmarks.simulation.Processors.Task;

/**
 * A discrete-event simulation of the engine under a closed loop: its threads, handle sets
 * and queues of ready handles, the words of memory that they share, and the processors
 * that they run on.
 * <p>
 * A thread takes a ready handle, reads, runs the handler, writes. A leader whose queue is
 * empty selects; all handles that are ready come at once, and are added one by one.
 * Before a handler runs, a thread wakes another one if the work that waits is worth
 * sixteen times what that costs, fewer threads run than there are processors, and no
 * woken thread is under way. A thread that finds no handle looks around for some time, in
 * which it takes over from a leader that runs a handler of some length, and then waits.
 * <p>
 * Left out: handlers that block, leases that run out, connections that come and go,
 * unequal connections, and the processors' time for the network when the load comes from
 * outside.
 */
final class Simulation {

	/** What a wait for events brings at the most, in the JDK. */
	private static final int MOST_SELECTED = 1024;

	// As in the engine: Relief and HandlerProfile

	private static final double OVERHEAD_NANOS = 1_000;

	private static final double WAKE_UPS = 16;

	private static final double LEAST_WAKE_NANOS = TimeUnit.MICROSECONDS.toNanos(3);

	private static final double MOST_WAKE_NANOS = TimeUnit.MICROSECONDS.toNanos(25);

	private static final double WORTH_A_PROCESSOR_NANOS = TimeUnit.MICROSECONDS.toNanos(4);

	/**
	 * To wait in the system and to leave the processor to another thread. Not measured.
	 */
	private static final double SWITCH_NANOS = 1_000;

	private final Costs costs;

	private final Situation situation;

	private final Processors processors;

	private final Random random;

	private final HandleSet[] sets;

	private final Deque<EngineThread> parked = new ArrayDeque<>();

	private final Deque<EngineThread> lookingAround = new ArrayDeque<>();

	private final List<EngineThread> threads = new ArrayList<>();

	private final @Nullable Generator generator;

	/** What the engine sees of a handler: it sends the reply itself. */
	private final double meanNanos;

	/** Whether a thread was woken that has not arrived yet. */
	private boolean underWay;

	private int running;

	private long served;

	private Simulation(Situation situation, Costs costs, long seed) {
		this.situation = situation;
		this.costs = costs;
		this.random = new Random(seed);
		this.processors = new Processors(situation.processors(), isFree(costs) ? 0 : SWITCH_NANOS, this.random);
		this.meanNanos = situation.handlerNanos() + costs.of(Cost.WRITE);
		this.sets = new HandleSet[situation.handleSets()];
		Arrays.setAll(this.sets, (index) -> new HandleSet());
		for (HandleSet set : this.sets) {
			set.leader.leads = set;
		}
		// As many as processors, beside leaders that wait.
		for (int i = 0; i < situation.processors(); i++) {
			this.parked.push(new EngineThread());
		}
		this.generator = situation.local() ? new Generator() : null;
	}

	private static boolean isFree(Costs costs) {
		return costs.nanos().isEmpty();
	}

	/**
	 * What came of it.
	 *
	 * @param requestsPerSecond replies per second
	 * @param cpuMicros processor time of the server for each of them
	 */
	record Outcome(double requestsPerSecond, double cpuMicros) {

	}

	/**
	 * Simulates a server under load.
	 * @param situation the machine and the load
	 * @param costs what the steps cost; if there are none, switching costs nothing either
	 * @param millis for how long it is observed, after half of that
	 * @param seed decides what is left to chance
	 * @return what came of it
	 */
	static Outcome run(Situation situation, Costs costs, double millis, long seed) {
		return new Simulation(situation, costs, seed).run(millis * TimeUnit.MILLISECONDS.toNanos(1));
	}

	private Outcome run(double nanos) {
		for (int i = 0; i < this.situation.connections(); i++) {
			reply(this.sets[i % this.sets.length]);
		}
		this.processors.run(nanos / 2);
		long servedBefore = this.served;
		double busyBefore = busyNanos();
		this.processors.run(1.5 * nanos);
		double count = this.served - servedBefore;
		return new Outcome(count / nanos * TimeUnit.SECONDS.toNanos(1), (busyNanos() - busyBefore) / count / 1e3);
	}

	private double busyNanos() {
		return this.threads.stream().mapToDouble(Task::busyNanos).sum();
	}

	private double of(Cost cost) {
		return this.costs.of(cost);
	}

	/** The client has its reply, and will send its next request. */
	private void reply(HandleSet set) {
		if (this.generator != null) {
			this.generator.replied(set);
		}
		else {
			double nanos = -Math.log(1 - this.random.nextDouble()) * this.situation.roundTripNanos();
			this.processors.after(nanos, set::arrive);
		}
	}

	/** Wakes a thread if the engine would. Returns what it costs the caller. */
	private double relieve(int ready) {
		double wake = of(Cost.WAKE);
		double bounded = Math.max(LEAST_WAKE_NANOS, Math.min(wake, MOST_WAKE_NANOS));
		if (ready == 0 || ready * (this.meanNanos + OVERHEAD_NANOS) < WAKE_UPS * bounded || this.underWay
				|| this.running >= this.situation.processors() || this.parked.isEmpty()) {
			return 0;
		}
		this.underWay = true;
		EngineThread follower = this.parked.pop();
		follower.wake(of(Cost.WAKE_LATENCY), follower::arrive);
		return wake;
	}

	/**
	 * A handle set. Its requests are equal, so they are but counted.
	 */
	private final class HandleSet {

		private final SharedWord next = new SharedWord(Math.max(of(Cost.TRANSFER), of(Cost.TAKE_CONTENDED)));

		/** The word in which the mean of a handler is learned. */
		private final SharedWord mean = new SharedWord(of(Cost.TRANSFER));

		/** Requests that the system has and nobody has selected. */
		private int arrived;

		private int ready;

		private EngineThread leader = new EngineThread();

		private boolean waiting = true;

		private boolean leased;

		private void arrive() {
			this.arrived++;
			if (this.waiting) {
				this.waiting = false;
				EngineThread woken = this.leader;
				woken.wake(of(Cost.WAKE_LATENCY), woken::select);
			}
		}

		private void add() {
			this.ready++;
			EngineThread thread = Simulation.this.lookingAround.poll();
			if (thread != null) {
				thread.stopLookingAround(of(Cost.TRANSFER));
			}
		}

		private boolean isWorthAProcessor() {
			return this.leased && Simulation.this.meanNanos >= WORTH_A_PROCESSOR_NANOS;
		}

	}

	/**
	 * A thread of the engine.
	 */
	private final class EngineThread extends Task {

		private @Nullable HandleSet leads;

		private double looksSince;

		/** Tells one look around from the next. */
		private int looks;

		private EngineThread() {
			super(Simulation.this.processors);
			Simulation.this.threads.add(this);
		}

		private void arrive() {
			Simulation.this.underWay = false;
			Simulation.this.running++;
			turn();
		}

		/** Takes a ready handle, selects or waits. */
		private void turn() {
			double nanos = 0;
			HandleSet source = (this.leads != null && this.leads.ready > 0) ? this.leads : null;
			if (this.leads == null) {
				// It looks at every leadership, and at queues until one has a handle.
				nanos = Simulation.this.sets.length * of(Cost.TRANSFER);
				for (int i = 0; i < Simulation.this.sets.length && source == null; i++) {
					nanos += (i > 0) ? of(Cost.TRANSFER) : 0;
					source = (Simulation.this.sets[i].ready > 0) ? Simulation.this.sets[i] : null;
				}
			}
			if (source != null) {
				HandleSet set = source;
				set.ready--;
				nanos += of(Cost.TAKE) + set.next.acquire(this, Simulation.this.processors.now());
				work(nanos + of(Cost.READ) + of(Cost.REST) / 2, () -> dispatch(set));
			}
			else if (this.leads != null) {
				Simulation.this.running--;
				select();
			}
			else {
				work(nanos, this::lookAround);
			}
		}

		private void dispatch(HandleSet set) {
			double nanos = relieve(set.ready);
			if (this.leads != null) {
				this.leads.leased = true;
				EngineThread idle = this.leads.isWorthAProcessor() ? Simulation.this.lookingAround.poll() : null;
				if (idle != null) {
					idle.takeOver(this.leads);
					idle.stopLookingAround(of(Cost.TAKE_OVER));
				}
			}
			work(nanos + Simulation.this.situation.handlerNanos() + of(Cost.WRITE), () -> finish(set));
		}

		private void finish(HandleSet set) {
			Simulation.this.served++;
			reply(set);
			if (this.leads != null) {
				this.leads.leased = false;
			}
			work(of(Cost.REST) / 2 + set.mean.acquire(this, Simulation.this.processors.now()), this::turn);
		}

		/** A leader that selects counts as one that waits. */
		private void select() {
			HandleSet set = Objects.requireNonNull(this.leads);
			if (set.arrived == 0) {
				set.waiting = true;
				block();
				return;
			}
			int count = Math.min(set.arrived, MOST_SELECTED);
			set.arrived -= count;
			work(of(Cost.SELECT) + count * of(Cost.SELECT_HANDLE), () -> {
				Simulation.this.running++;
				add(set, count);
			});
		}

		private void add(HandleSet set, int count) {
			if (count == 0) {
				turn();
				return;
			}
			work(of(Cost.ADD) + set.next.acquire(this, Simulation.this.processors.now()), () -> {
				set.add();
				add(set, count - 1);
			});
		}

		private void lookAround() {
			for (HandleSet set : Simulation.this.sets) {
				if (set.ready > 0) {
					turn();
					return;
				}
				if (set.isWorthAProcessor() && Simulation.this.situation.processors() > 1) {
					takeOver(set);
					work(of(Cost.TAKE_OVER), this::turn);
					return;
				}
			}
			this.looksSince = Simulation.this.processors.now();
			Simulation.this.lookingAround.add(this);
			int look = ++this.looks;
			double patience = (Simulation.this.situation.processors() > 1) ? of(Cost.SPIN) : 0;
			Simulation.this.processors.after(patience, () -> {
				if (look == this.looks) {
					Simulation.this.lookingAround.remove(this);
					stopLookingAround();
					park();
				}
			});
		}

		private void stopLookingAround() {
			this.looks++;
			usedSince(this.looksSince);
		}

		private void stopLookingAround(double nanos) {
			stopLookingAround();
			work(nanos, this::turn);
		}

		private void takeOver(HandleSet set) {
			set.leader.leads = null;
			set.leader = this;
			set.leased = false;
			this.leads = set;
		}

		private void park() {
			Simulation.this.running--;
			Simulation.this.parked.push(this);
			block();
		}

	}

	/**
	 * The load generator as a process of the same processors.
	 */
	private final class Generator extends Task {

		private final Queue<HandleSet> replies = new ArrayDeque<>();

		private boolean waiting = true;

		private Generator() {
			super(Simulation.this.processors);
		}

		private void replied(HandleSet set) {
			this.replies.add(set);
			if (this.waiting) {
				this.waiting = false;
				wake(of(Cost.WAKE_LATENCY), this::next);
			}
		}

		private void next() {
			HandleSet set = this.replies.poll();
			if (set == null) {
				this.waiting = true;
				block();
				return;
			}
			work(of(Cost.GENERATOR), () -> {
				set.arrive();
				next();
			});
		}

	}

}
