package org.leaderfollowers.interleavings;

import java.lang.reflect.Field;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.interleavings.Execution.Task;

/**
 * The threads of the tasks of executions. Only one of them runs at a time, and says which
 * one is next. The switches are most of the time of an exploration.
 */
abstract class TaskThreads {

	/** Platform threads. */
	static final TaskThreads PLATFORM = new Platform();

	/** {@linkplain CarriedThread Carried threads} if they are available. */
	static final TaskThreads FASTEST = CarriedThread.areAvailable() ? new Carrier() : PLATFORM;

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
		CarriedTask mounted = CarriedTask.mounted;
		return (mounted != null && mounted.thread.asThread() == current) ? mounted.task : null;
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

	/** A platform thread that runs one task after another. */
	private static final class Worker extends Thread {

		private static final Deque<Worker> IDLE = new ArrayDeque<>();

		/** Where a thread keeps thread-local values, if this virtual machine tells. */
		private static final @Nullable Field LOCALS = findLocals();

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
					// An interrupt that came late belongs to an earlier task.
					Thread.interrupted();
					continue;
				}
				setPriority(NORM_PRIORITY);
				next.run();
				this.task = null;
				if (next.execution.isOver() && !forgetLocals()) {
					return;
				}
				release();
			}
		}

		/**
		 * Forgets the thread-local values that a task leaves behind if it is abandoned.
		 * Most executions end so, and to start threads for each took two thirds of the
		 * time.
		 * @return {@code false} if this is not possible, so that the thread has to end
		 */
		private boolean forgetLocals() {
			if (LOCALS == null) {
				return false;
			}
			try {
				LOCALS.set(this, null);
				return true;
			}
			catch (IllegalAccessException ex) {
				throw new IllegalStateException(ex);
			}
		}

		private static @Nullable Field findLocals() {
			try {
				Field field = Thread.class.getDeclaredField("threadLocals");
				return field.trySetAccessible() ? field : null;
			}
			catch (NoSuchFieldException ex) {
				return null;
			}
		}

		private void release() {
			synchronized (IDLE) {
				IDLE.push(this);
			}
		}

	}

	/** Carries all threads on the thread that explores. */
	private static final class Carrier extends TaskThreads {

		private final Deque<CarriedTask> resumed = new ArrayDeque<>();

		@Override
		TaskThread create(Task task) {
			return new CarriedTask(this, task);
		}

		@Override
		boolean runUntil(CountDownLatch end) {
			try {
				for (CarriedTask next = this.resumed.poll(); next != null; next = this.resumed.poll()) {
					CarriedTask.mounted = next;
					if (!next.thread.execute()) {
						return false;
					}
				}
			}
			finally {
				CarriedTask.mounted = null;
				this.resumed.clear();
			}
			return end.getCount() == 0;
		}

	}

	/** A carried thread that runs one task. */
	private static final class CarriedTask implements TaskThread {

		/** The one that the carrier executes. */
		private static @Nullable CarriedTask mounted;

		private final Carrier carrier;

		private final Task task;

		private final CarriedThread thread;

		private boolean runs;

		CarriedTask(Carrier carrier, Task task) {
			this.carrier = carrier;
			this.task = task;
			this.thread = new CarriedThread(task::run);
		}

		@Override
		public Thread asThread() {
			return this.thread.asThread();
		}

		@Override
		public void begin() {
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
			if (!this.thread.suspend()) {
				throw new IllegalStateException("A pinned thread cannot be suspended");
			}
			this.runs = false;
		}

		@Override
		public void release() {
			// Nothing was begun.
		}

	}

}
