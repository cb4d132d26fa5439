package org.leaderfollowers.benchmarks.simulation;

import java.util.Arrays;
import java.util.Comparator;
import java.util.PriorityQueue;
import java.util.Random;

import org.jspecify.annotations.Nullable;

/**
 * Simulated time, and processors that tasks take turns at, as under Linux: each processor
 * has a queue of its own, and runs the task that has used the least. A task that is woken
 * goes to an idle processor, or to the one where it ran last, and preempts a task that
 * has used more. A processor that becomes idle takes a task from the queue of another,
 * but not always: the system looks for one only if it expects to be idle for long enough.
 */
final class Processors {

	/** A task that has slept for long is ahead of the others by no more than this. */
	private static final double LAG_NANOS = 1_400_000;

	/** When an idle processor looks again whether there is something to take. */
	private static final double TICK_NANOS = 4_000_000;

	/**
	 * How often a processor that becomes idle looks at once. The only number of the model
	 * that was fitted to whole servers, on two processors: with 1 none is ever idle while
	 * a task waits elsewhere, and the throughput comes out a fifth too high. It matters
	 * where there are more tasks than processors.
	 */
	private static final double LOOKS_AT_ONCE = 0.05;

	private final Random random;

	private final double switchNanos;

	private final PriorityQueue<Event> events = new PriorityQueue<>();

	private final Processor[] processors;

	private long sequence;

	private double now;

	private int tasks;

	/**
	 * Creates processors that do nothing yet.
	 * @param count how many tasks can run at once
	 * @param switchNanos what it takes until a processor runs another task
	 */
	Processors(int count, double switchNanos, Random random) {
		this.random = random;
		this.processors = new Processor[count];
		Arrays.setAll(this.processors, (index) -> new Processor());
		this.switchNanos = switchNanos;
	}

	double now() {
		return this.now;
	}

	/** Has something happen after some time. */
	void after(double nanos, Runnable action) {
		this.events.add(new Event(this.now + nanos, this.sequence++, action));
	}

	/** Lets time pass. */
	void run(double untilNanos) {
		for (Event event = this.events.peek(); event != null
				&& event.time() <= untilNanos; event = this.events.peek()) {
			this.events.poll();
			this.now = event.time();
			event.action().run();
		}
	}

	/**
	 * A processor.
	 */
	private final class Processor {

		private final PriorityQueue<Task> queue = new PriorityQueue<>(Comparator.comparingDouble((task) -> task.share));

		/** Runs, or is about to. */
		private @Nullable Task current;

		private boolean idle = true;

		/** Tells one idle period from the next. */
		private int periods;

		private void dispatch(Task task, double delayNanos) {
			this.idle = false;
			this.current = task;
			task.processor = this;
			after(delayNanos, task.next);
		}

		private void next() {
			Task task = this.queue.poll();
			if (task != null) {
				dispatch(task, Processors.this.switchNanos);
				return;
			}
			this.idle = true;
			int period = ++this.periods;
			double patience = (Processors.this.random.nextDouble() < LOOKS_AT_ONCE) ? 0 : TICK_NANOS;
			after(patience, () -> {
				if (this.idle && this.periods == period) {
					balance();
				}
			});
		}

		private void balance() {
			for (Processor other : Processors.this.processors) {
				Task task = other.queue.poll();
				if (task != null) {
					dispatch(task, Processors.this.switchNanos);
					return;
				}
			}
		}

	}

	/**
	 * A thread of some process. Its methods are called by itself, while it runs, but for
	 * {@link #wake}.
	 */
	abstract static class Task {

		private final Processors all;

		private Processor processor;

		private Runnable next = () -> {
		};

		private double busyNanos;

		/**
		 * What it has used in the eyes of the system, which lets the one with the least
		 * run.
		 */
		private double share;

		Task(Processors all) {
			this.all = all;
			this.processor = all.processors[all.tasks++ % all.processors.length];
		}

		/** Needs the processor for some time, and goes on with something. */
		void work(double nanos, Runnable then) {
			use(nanos);
			this.all.after(nanos, () -> {
				if (mustGiveWay()) {
					use(this.all.switchNanos);
					this.next = then;
					this.processor.queue.add(this);
					this.processor.next();
				}
				else {
					then.run();
				}
			});
		}

		private void use(double nanos) {
			this.busyNanos += nanos;
			this.share += nanos;
		}

		private boolean mustGiveWay() {
			Task other = this.processor.queue.peek();
			return other != null && other.share < this.share;
		}

		/** Gives the processor up until it is woken. */
		void block() {
			use(this.all.switchNanos);
			this.processor.next();
		}

		/**
		 * Has it run as soon as a processor is free. Called by others.
		 * @param latencyNanos what it takes to get it to a processor that is idle
		 * @param then what it does
		 */
		void wake(double latencyNanos, Runnable then) {
			this.next = then;
			if (this.processor.idle) {
				this.processor.dispatch(this, latencyNanos);
				return;
			}
			for (Processor other : this.all.processors) {
				if (other.idle) {
					other.dispatch(this, latencyNanos);
					return;
				}
			}
			if (this.processor.current != null) {
				this.share = Math.max(this.share, this.processor.current.share - LAG_NANOS);
			}
			this.processor.queue.add(this);
		}

		/** Has used the processor without having said so before. */
		void usedSince(double startNanos) {
			use(this.all.now - startNanos);
		}

		/** The time that it has used a processor for. */
		double busyNanos() {
			return this.busyNanos;
		}

	}

	/**
	 * A word of memory that several processors write: one at a time, and each of those
	 * who wait makes the others wait longer.
	 */
	static final class SharedWord {

		private final double transferNanos;

		private Object owner = this;

		private double freeAt;

		SharedWord(double transferNanos) {
			this.transferNanos = transferNanos;
		}

		/**
		 * Gets the word to a task.
		 * @param task wants to write it
		 * @param now the time
		 * @return how long the task is held up
		 */
		double acquire(Object task, double now) {
			double wait = Math.max(0, this.freeAt - now);
			if (this.owner == task && wait == 0) {
				return 0;
			}
			this.owner = task;
			double waiting = (this.transferNanos > 0) ? wait / this.transferNanos : 0;
			double held = wait + this.transferNanos * (1 + Math.min(1, waiting));
			this.freeAt = now + held;
			return held;
		}

	}

	private record Event(double time, long sequence, Runnable action) implements Comparable<Event> {

		@Override
		public int compareTo(Event other) {
			int byTime = Double.compare(this.time, other.time);
			return (byTime != 0) ? byTime : Long.compare(this.sequence, other.sequence);
		}

	}

}
