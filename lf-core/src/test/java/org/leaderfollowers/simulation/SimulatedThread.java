package org.leaderfollowers.simulation;

import java.util.Objects;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.interleavings.CarriedThread;

/**
 * A thread that runs only while it has the baton of its {@link Simulator}. The classes
 * under simulation create it instead of a {@link Thread}. If {@link CarriedThread}s are
 * available, one of them runs the body, and this thread is never started: the classes
 * under simulation only take it for the current one. Except for the baton, its fields are
 * used by the thread with the baton only.
 */
public final class SimulatedThread extends Thread {

	/** For which simulated thread a carried thread runs. */
	private static final ThreadLocal<@Nullable SimulatedThread> CARRIED = new ThreadLocal<>();

	private final Simulator simulator;

	private final @Nullable Runnable body;

	/** Runs the body, unless this thread itself does. */
	private final @Nullable CarriedThread carried;

	/** Whether this thread has the baton. */
	private volatile boolean runs;

	private boolean ended;

	private String doing = "has not begun";

	private @Nullable BooleanSupplier condition;

	private long deadline = Simulator.NEVER;

	private long stalledUntil;

	int number;

	/** The permit of {@link LockSupport}. */
	boolean permit;

	/** The interrupt status. */
	boolean interruption;

	SimulatedThread(Simulator simulator, String name, Runnable body) {
		super(null, null, name, 0, false);
		this.simulator = simulator;
		this.body = body;
		this.carried = CarriedThread.areAvailable() ? new CarriedThread(this::runCarried) : null;
		setDaemon(true);
	}

	/** For the classes under simulation: has the parameters of the replaced one. */
	public SimulatedThread(@Nullable ThreadGroup group, Runnable body, String name, long stackSize,
			boolean inheritsThreadLocals) {
		this(current().simulator, name, body);
	}

	/** For the classes under simulation: has the parameters of the replaced one. */
	public SimulatedThread(Runnable body, String name) {
		this(current().simulator, name, body);
	}

	static SimulatedThread current() {
		return Objects.requireNonNull(currentOrNull(), "not a simulated thread");
	}

	static @Nullable SimulatedThread currentOrNull() {
		return (Thread.currentThread() instanceof SimulatedThread thread) ? thread : CARRIED.get();
	}

	Simulator simulator() {
		return this.simulator;
	}

	/** The number within the run, because the engine derives slots from it. */
	@Override
	public long getId() {
		return this.number;
	}

	@Override
	public void start() {
		this.simulator.start(this);
	}

	/** Starts the real thread, which waits for the baton. */
	void begin() {
		if (this.carried == null) {
			super.start();
		}
	}

	/**
	 * Lets the calling thread execute this one until it waits for the baton again.
	 * @return {@code false} if this thread blocks
	 */
	boolean execute() {
		return Objects.requireNonNull(this.carried).execute();
	}

	private void runCarried() {
		CARRIED.set(this);
		run();
	}

	@Override
	public void run() {
		suspendUntilBaton();
		this.doing = "runs";
		Throwable failure = null;
		try {
			if (this.body != null) {
				this.body.run();
			}
		}
		catch (Throwable ex) {
			failure = ex;
		}
		this.ended = true;
		this.simulator.ended(this, failure);
	}

	boolean runs() {
		return this.runs;
	}

	void resumeWithBaton() {
		this.runs = true;
		if (this.carried == null) {
			LockSupport.unpark(this);
		}
		else {
			this.simulator.executeNext(this);
		}
	}

	void suspendUntilBaton() {
		while (!this.runs) {
			halt();
		}
		this.runs = false;
	}

	void stopForEver() {
		for (;;) {
			halt();
		}
	}

	private void halt() {
		if (this.carried == null) {
			LockSupport.park(this);
		}
		else if (!this.carried.suspend()) {
			this.simulator.cannotSuspend();
			LockSupport.park(this);
		}
	}

	@Override
	public StackTraceElement[] getStackTrace() {
		return (this.carried != null) ? this.carried.asThread().getStackTrace() : super.getStackTrace();
	}

	@Override
	public State getState() {
		return (this.condition != null) ? State.WAITING : State.RUNNABLE;
	}

	void waitFor(String what, BooleanSupplier until, long deadlineNanos) {
		this.doing = what;
		this.condition = until;
		this.deadline = deadlineNanos;
	}

	void goOn() {
		this.doing = "runs";
		this.condition = null;
		this.deadline = Simulator.NEVER;
	}

	void stallUntil(long nanos) {
		this.stalledUntil = nanos;
	}

	boolean isStalled(long now) {
		return this.stalledUntil > now;
	}

	boolean hasEnded() {
		return this.ended;
	}

	boolean canGoOn(long now) {
		return !this.ended && this.stalledUntil <= now
				&& (this.condition == null || this.deadline <= now || this.condition.getAsBoolean());
	}

	/** When the thread can go on without the help of others. */
	long nextNanos(long now) {
		return (this.stalledUntil > now) ? this.stalledUntil : this.deadline;
	}

	@Override
	public String toString() {
		return getName() + ": " + this.doing + ((this.deadline != Simulator.NEVER) ? " until " + this.deadline : "");
	}

}
