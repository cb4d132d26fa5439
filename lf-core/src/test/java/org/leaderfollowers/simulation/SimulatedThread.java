package org.leaderfollowers.simulation;

import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;

import org.jspecify.annotations.Nullable;

/**
 * A thread that runs only while it has the baton of its {@link Simulator}. The classes
 * under simulation create it instead of a {@link Thread}. Except for the baton, its
 * fields are used by the thread with the baton only.
 */
public final class SimulatedThread extends Thread {

	private final Simulator simulator;

	private final @Nullable Runnable body;

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
		return (SimulatedThread) Thread.currentThread();
	}

	Simulator simulator() {
		return this.simulator;
	}

	@Override
	public void start() {
		this.simulator.start(this);
	}

	/** Starts the real thread, which waits for the baton. */
	void begin() {
		super.start();
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
		LockSupport.unpark(this);
	}

	void suspendUntilBaton() {
		while (!this.runs) {
			LockSupport.park(this);
		}
		this.runs = false;
	}

	void stopForEver() {
		for (;;) {
			LockSupport.park(this);
		}
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
