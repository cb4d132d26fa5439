package org.leaderfollowers.interleavings;

import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.interleavings.Execution.Task;

/**
 * The threads of the tasks of executions. Only one of them runs at a time, and says which
 * one is next. A switch between platform threads takes the system many microseconds, and
 * is most of the time of an exploration. Virtual threads of which one thread is the
 * carrier are switched without the system, but the JDK has no public way to create them.
 */
abstract class TaskThreads {

	/** Platform threads. */
	static final TaskThreads PLATFORM = new Platform();

	/**
	 * Virtual threads if this JDK lets us have them: it must not pin those that have
	 * entered a monitor, so it is JDK 24 or later, and {@code java.lang} is open.
	 */
	static final TaskThreads FASTEST = fastest();

	/** Creates the thread of a task, which {@linkplain TaskThread#begin begins} later. */
	abstract TaskThread create(Task task);

	/**
	 * Lets threads run until a latch is at zero.
	 * @return {@code false} if they block before
	 */
	abstract boolean runUntil(CountDownLatch end);

	/** Returns the task of the calling thread, or {@code null} if it has none. */
	static @Nullable Task currentTask() {
		Thread current = Thread.currentThread();
		if (current instanceof Worker worker) {
			return worker.task;
		}
		CarriedThread mounted = CarriedThread.mounted;
		return (mounted != null && mounted.thread == current) ? mounted.task : null;
	}

	private static TaskThreads fastest() {
		try {
			Class<?> builders = Class.forName("java.lang.ThreadBuilders");
			MethodHandle create = MethodHandles.privateLookupIn(builders, MethodHandles.lookup())
				.findStatic(builders, "newVirtualThread",
						MethodType.methodType(Thread.class, Executor.class, String.class, int.class, Runnable.class));
			return (Runtime.version().feature() >= 24) ? new Carrier(create) : PLATFORM;
		}
		catch (ReflectiveOperationException ex) {
			return PLATFORM;
		}
	}

	/**
	 * The thread of a task. The running thread resumes another one and then suspends
	 * itself, or ends.
	 */
	interface TaskThread {

		/** What the task takes for its thread. */
		Thread asThread();

		/** Lets the task begin. */
		void begin();

		/** Lets it go on when the running thread is suspended or ends. */
		void resume();

		/**
		 * Suspends the running thread, unless it was resumed since it was suspended last.
		 */
		void suspend();

		/** Gives up a thread that has not begun. */
		void release();

	}

	/** Hands out a worker for each task. */
	private static final class Platform extends TaskThreads {

		@Override
		TaskThread create(Task task) {
			return new WorkerThread(Worker.take(), task);
		}

		@Override
		boolean runUntil(CountDownLatch end) {
			try {
				return end.await(1, TimeUnit.MINUTES);
			}
			catch (InterruptedException ex) {
				Thread.currentThread().interrupt();
				throw new IllegalStateException("interrupted", ex);
			}
		}

	}

	/** A worker while it runs one task. */
	private static final class WorkerThread implements TaskThread {

		private final Worker worker;

		private final Task task;

		/** Guards against the reordering of resume and suspend. */
		private volatile boolean runs;

		WorkerThread(Worker worker, Task task) {
			this.worker = worker;
			this.task = task;
		}

		@Override
		public Thread asThread() {
			return this.worker;
		}

		@Override
		public void begin() {
			this.worker.task = this.task;
			LockSupport.unpark(this.worker);
		}

		@Override
		public void resume() {
			this.runs = true;
			LockSupport.unpark(this.worker);
		}

		@Override
		public void suspend() {
			while (!this.runs) {
				LockSupport.park(this);
			}
			this.runs = false;
		}

		@Override
		public void release() {
			this.worker.release();
		}

	}

	/** A platform thread that runs the tasks of one execution after another. */
	private static final class Worker extends Thread {

		private static final Deque<Worker> IDLE = new ArrayDeque<>();

		private volatile @Nullable Task task;

		private Worker() {
			super("worker");
			setDaemon(true);
		}

		static Worker take() {
			Worker worker;
			synchronized (IDLE) {
				worker = IDLE.poll();
			}
			if (worker == null) {
				worker = new Worker();
				worker.start();
			}
			return worker;
		}

		@Override
		public void run() {
			for (;;) {
				Task next = this.task;
				if (next == null) {
					LockSupport.park(this);
					continue;
				}
				setPriority(NORM_PRIORITY);
				next.run();
				this.task = null;
				release();
			}
		}

		private void release() {
			synchronized (IDLE) {
				IDLE.push(this);
			}
		}

	}

	/** Carries all virtual threads on the thread that explores. */
	private static final class Carrier extends TaskThreads {

		private final MethodHandle create;

		private final Deque<CarriedThread> resumed = new ArrayDeque<>();

		Carrier(MethodHandle create) {
			this.create = create;
		}

		@Override
		TaskThread create(Task task) {
			return new CarriedThread(this, task);
		}

		@Override
		boolean runUntil(CountDownLatch end) {
			try {
				for (CarriedThread next = this.resumed.poll(); next != null; next = this.resumed.poll()) {
					CarriedThread.mounted = next;
					next.mount();
				}
			}
			finally {
				CarriedThread.mounted = null;
				this.resumed.clear();
			}
			return end.getCount() == 0;
		}

	}

	/** A virtual thread that runs one task. */
	private static final class CarriedThread implements TaskThread {

		/** The one that the carrier executes. */
		private static @Nullable CarriedThread mounted;

		private final Carrier carrier;

		private final Task task;

		private final Thread thread;

		/** Executes the thread until it is suspended or ends. */
		private @Nullable Runnable continuation;

		private boolean runs;

		CarriedThread(Carrier carrier, Task task) {
			this.carrier = carrier;
			this.task = task;
			// The scheduler of this thread. It keeps what the JDK wants to be executed.
			Executor scheduler = (next) -> this.continuation = next;
			Runnable body = task::run;
			try {
				this.thread = (Thread) carrier.create.invokeExact(scheduler, "virtual", 0, body);
			}
			catch (Throwable ex) {
				throw new IllegalStateException(ex);
			}
		}

		@Override
		public Thread asThread() {
			return this.thread;
		}

		@Override
		public void begin() {
			this.thread.start();
			this.carrier.resumed.add(this);
		}

		@Override
		public void resume() {
			if (!this.runs) {
				this.runs = true;
				this.carrier.resumed.add(this);
			}
		}

		@Override
		public void suspend() {
			Thread.yield();
			if (!this.runs) {
				throw new IllegalStateException("A pinned thread cannot be suspended");
			}
			this.runs = false;
		}

		private void mount() {
			Runnable next = this.continuation;
			this.continuation = null;
			// There is none if the thread has ended although it was resumed.
			if (next != null) {
				next.run();
			}
		}

		@Override
		public void release() {
			// Nothing was begun.
		}

	}

}
