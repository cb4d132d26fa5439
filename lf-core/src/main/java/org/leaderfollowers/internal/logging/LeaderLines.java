package org.leaderfollowers.internal.logging;

import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicLong;

import org.jspecify.annotations.Nullable;
import org.slf4j.event.Level;

/**
 * The log lines of threads that lead. A thread of its own logs them and may block. It is
 * started when there is a line, and ends when there has been none for a while. If it
 * cannot be started, the lines wait until it can. If the log accepts no lines for a long
 * time, lines are dropped and counted.
 */
final class LeaderLines {

	/** The maximum number of lines that wait. */
	static final int CAPACITY = 1000;

	private static final long KEEP_ALIVE_MILLIS = 1000;

	private final Output output;

	private final AtomicLong dropped = new AtomicLong();

	private final BlockingQueue<Runnable> waiting = new ArrayBlockingQueue<>(CAPACITY);

	private final ThreadPoolExecutor thread;

	/** Logs a line, and may block. */
	@FunctionalInterface
	interface Output {

		void write(Level level, String line, @Nullable Throwable failure);

	}

	LeaderLines(Output output) {
		this(output, (task) -> {
			Thread started = new Thread(null, task, "lf-log", 0, false);
			started.setContextClassLoader(null);
			started.setDaemon(true);
			return started;
		});
	}

	LeaderLines(Output output, ThreadFactory threads) {
		this.output = output;
		this.thread = new ThreadPoolExecutor(1, 1, KEEP_ALIVE_MILLIS, TimeUnit.MILLISECONDS, this.waiting, threads);
		this.thread.allowCoreThreadTimeOut(true);
	}

	/** Adds a line. Never blocks, and never throws. */
	void add(Level level, String line, @Nullable Throwable failure) {
		try {
			Runnable task = () -> write(level, line, failure);
			resume();
			if (!start(task) && !this.waiting.offer(task)) {
				this.dropped.incrementAndGet();
			}
		}
		catch (RejectedExecutionException | Error ex) {
			// Too many lines, or memory is short.
			this.dropped.incrementAndGet();
		}
	}

	/** Returns whether a thread has the task or will take it. */
	private boolean start(Runnable task) {
		try {
			this.thread.execute(task);
			return true;
		}
		catch (Error ex) {
			// No thread can be started, which the line may report.
			return false;
		}
	}

	/** Starts the thread again if lines wait without one. Never throws. */
	void resume() {
		try {
			if (!noneWaits()) {
				this.thread.prestartCoreThread();
			}
		}
		catch (Error ex) {
			// No thread can be started yet.
		}
	}

	private void write(Level level, String line, @Nullable Throwable failure) {
		// One more, until it is known that this line is written. It may fail, for example
		// because memory is short.
		this.dropped.incrementAndGet();
		this.output.write(level, line, failure);
		long count = this.dropped.decrementAndGet();
		if (count > 0) {
			this.output.write(Level.WARN,
					"%d log lines were dropped, because the log accepted no lines for a while".formatted(count), null);
			this.dropped.addAndGet(-count);
		}
	}

	/** Whether no line waits for the thread, which may be logging one. */
	boolean noneWaits() {
		return this.waiting.isEmpty();
	}

	/** Waits until the lines that were added before are logged. */
	void flush(long millis) {
		// A thread that has just taken a line is not active yet. The queue comes first: a
		// line that has left it is written when there is no thread any more.
		if (noneWaits() && this.thread.getPoolSize() == 0) {
			return;
		}
		try {
			resume();
			CompletableFuture.runAsync(() -> {
			}, this.thread).get(millis, TimeUnit.MILLISECONDS);
		}
		catch (InterruptedException ex) {
			Thread.currentThread().interrupt();
		}
		catch (ExecutionException | TimeoutException | RejectedExecutionException | OutOfMemoryError ex) {
			// The lines follow when the log accepts them.
		}
	}

}
