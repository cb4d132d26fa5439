package org.leaderfollowers.benchmarks.jmh;

import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;

import org.leaderfollowers.internal.demultiplexing.Deadlines;
import org.leaderfollowers.internal.demultiplexing.HandleState;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Level;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.Warmup;

/**
 * The deadlines of ten thousand connections: the leader's work for timeouts in each turn.
 */
@State(Scope.Thread)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Warmup(iterations = 3, time = 1)
@Measurement(iterations = 5, time = 1)
@Fork(1)
public class DeadlinesBenchmark {

	private static final int HANDLES = 10_000;

	/** Between the deadlines of two handles: spread over a second. */
	private static final long STEP_NANOS = TimeUnit.SECONDS.toNanos(1) / HANDLES;

	/**
	 * Has no factor in common with the number of handles, so that all of them are used.
	 */
	private static final int STRIDE = 7919;

	private final ScheduledHandle[] handles = new ScheduledHandle[HANDLES];

	/** Schedules the deadline of a handle again, as after an idle timeout. */
	private final Consumer<ScheduledHandle> scheduleAgain = this::scheduleAgain;

	private Deadlines<ScheduledHandle> deadlines = new Deadlines<>();

	private long now;

	private int next;

	@Setup(Level.Iteration)
	public void scheduleAll() {
		this.deadlines = new Deadlines<>();
		this.now = 0;
		this.next = 0;
		for (int i = 0; i < HANDLES; i++) {
			this.handles[i] = new ScheduledHandle();
		}
		for (int i = 0; i < HANDLES; i++) {
			this.deadlines.schedule(nextHandle(), i * STEP_NANOS);
		}
	}

	private ScheduledHandle nextHandle() {
		this.next = (this.next + STRIDE) % HANDLES;
		return this.handles[this.next];
	}

	/**
	 * A message has begun to arrive: its timeout is earlier than what was scheduled.
	 */
	@Benchmark
	public void scheduleEarlier() {
		this.now -= STEP_NANOS;
		this.deadlines.schedule(nextHandle(), this.now);
	}

	/**
	 * A connection is closed, and another one opened, whose deadline is the last one.
	 */
	@Benchmark
	public void cancelAndSchedule() {
		ScheduledHandle handle = nextHandle();
		this.deadlines.cancel(handle);
		this.now += STEP_NANOS;
		this.deadlines.schedule(handle, this.now + HANDLES * STEP_NANOS);
	}

	/**
	 * Nothing is due, as nearly always.
	 * @return how long the leader may wait
	 */
	@Benchmark
	public long pollNothing() {
		this.deadlines.poll(this.now - 1, this.scheduleAgain);
		return this.deadlines.maxWaitNanos(this.now - 1);
	}

	/**
	 * One deadline is due, and scheduled again behind all others.
	 */
	@Benchmark
	public void pollOne() {
		this.deadlines.poll(this.now, this.scheduleAgain);
		this.now += STEP_NANOS;
	}

	private void scheduleAgain(ScheduledHandle handle) {
		this.deadlines.schedule(handle, this.now + HANDLES * STEP_NANOS);
	}

	private static final class ScheduledHandle extends HandleState {

	}

}
