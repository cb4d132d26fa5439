package org.leaderfollowers.interleavings;

import java.util.Objects;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;

/**
 * The calls that {@link InstrumentedClasses} puts into classes under exploration, and
 * those that a {@link Scenario} makes itself. On a thread that belongs to no
 * {@link Execution} they do nothing, or what the JDK does.
 */
public final class Interleaving {

	private Interleaving() {
	}

	// For scenarios

	/**
	 * Starts a thread. It runs when the exploration chooses it.
	 * @param name its name in traces
	 * @param body what it does
	 * @return the thread
	 */
	public static Thread start(String name, Runnable body) {
		return task().execution.start(name, body).thread();
	}

	/**
	 * Returns a choice; each alternative is explored.
	 * @param choices how many there are
	 * @return from 0 to one less than that
	 */
	public static int choose(int choices) {
		return task().choose(choices);
	}

	/**
	 * Blocks the calling thread until a condition holds.
	 * @param what for traces
	 * @param condition evaluated whenever another thread has made a step; changes nothing
	 */
	public static void await(String what, BooleanSupplier condition) {
		task().await(what, condition, Execution.NEVER);
	}

	/**
	 * Blocks the calling thread until a condition holds or time is up.
	 * @param what for traces
	 * @param condition evaluated whenever another thread has made a step; changes nothing
	 * @param deadlineNanos when time is up, by {@link #nanoTime()}
	 */
	public static void await(String what, BooleanSupplier condition, long deadlineNanos) {
		task().await(what, condition, deadlineNanos);
	}

	/**
	 * Says that the further steps of the calling thread depend on nothing that it has
	 * read so far, except for fields; for example, because it is at the head of a loop.
	 * States that differ only in what was read are then explored only once.
	 * @param where the place in the scenario
	 */
	public static void beginAnew(String where) {
		task().beginAnew(where);
	}

	/**
	 * Lets other threads run between two steps of a scenario.
	 * @param what for traces
	 */
	public static void step(String what) {
		task().await(what, () -> true, Execution.NEVER);
	}

	/**
	 * Ends the execution with a violation.
	 * @param violation what is wrong
	 */
	public static void fail(String violation) {
		Execution.Task task = task();
		if (task.execution.isOver()) {
			throw new Execution.Abandoned();
		}
		throw new Execution.Violation(violation);
	}

	/**
	 * Ends the execution, if code under exploration has caught something that it did not
	 * expect.
	 * @param failure what it has caught
	 */
	public static void caught(Throwable failure) {
		if (failure instanceof Execution.Abandoned || failure instanceof Execution.Violation) {
			throw (Error) failure;
		}
		fail("caught " + failure);
	}

	/**
	 * Lets other threads run for as long as they like; this does not count as a
	 * preemption.
	 * @param what for traces
	 */
	public static void pause(String what) {
		task().pause(what);
	}

	// For instrumented classes

	/** Before an access to a field or an object of {@code java.util.concurrent}. */
	public static void access(Object target, int site) {
		Execution.Task task = TaskThreads.currentTask();
		if (task != null) {
			task.access(target, Site.of(site).field(), Site.of(site));
		}
	}

	/** Before an access through a variable handle. */
	public static void access(Object handle, Object target, int site) {
		Execution.Task task = TaskThreads.currentTask();
		if (task != null) {
			task.access(target, Site.fieldOf((java.lang.invoke.VarHandle) handle), Site.of(site));
		}
	}

	/** After the creation of an object. */
	public static void created(Object object) {
		Execution.Task task = TaskThreads.currentTask();
		if (task != null) {
			task.created(object);
		}
	}

	/** Before a class is initialized. */
	public static void initializes() {
		Execution.Task task = TaskThreads.currentTask();
		if (task != null) {
			task.initializes(1);
		}
	}

	/** After a class was initialized. */
	public static void initialized() {
		Execution.Task task = TaskThreads.currentTask();
		if (task != null) {
			task.initializes(-1);
		}
	}

	/** Before a monitor is entered. */
	public static void enter(Object monitor, int site) {
		Execution.Task task = TaskThreads.currentTask();
		if (task != null) {
			task.enter(monitor, Site.of(site));
		}
	}

	/** After a monitor was left. */
	public static void exit(Object monitor) {
		Execution.Task task = TaskThreads.currentTask();
		if (task != null) {
			task.exit(monitor);
		}
	}

	/** For a synchronized method that ends with an exception. */
	public static void exitLatest() {
		Execution.Task task = TaskThreads.currentTask();
		if (task != null) {
			task.exitLatest();
		}
	}

	// Instead of methods of the JDK, and with their names and parameters

	public static void start(Thread thread) {
		start(thread.getName(), thread::run).setPriority(thread.getPriority());
	}

	public static void park() {
		task().park(Execution.NEVER);
	}

	public static void park(Object blocker) {
		task().park(Execution.NEVER);
	}

	public static void parkNanos(long nanos) {
		task().park(nanoTime() + nanos);
	}

	public static void parkNanos(Object blocker, long nanos) {
		task().park(nanoTime() + nanos);
	}

	public static void unpark(Thread thread) {
		task().unpark(thread);
	}

	public static void timedWait(TimeUnit unit, Object monitor, long timeout) {
		task().waitOn(monitor, nanoTime() + unit.toNanos(timeout));
	}

	public static void notify(Object monitor) {
		task().notify(monitor, false);
	}

	public static void notifyAll(Object monitor) {
		task().notify(monitor, true);
	}

	public static boolean interrupted() {
		return false;
	}

	public static void onSpinWait() {
		task().yield();
	}

	public static void yield() {
		task().yield();
	}

	public static long nanoTime() {
		Execution.Task task = TaskThreads.currentTask();
		return (task != null) ? task.nanoTime() : System.nanoTime();
	}

	private static Execution.Task task() {
		return Objects.requireNonNull(TaskThreads.currentTask(), "not a thread of an exploration");
	}

}
