package org.leaderfollowers.spring.test.client;

import java.time.Duration;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * Runs an action after a timeout, to end operations that have no timeout themselves, for
 * example writing to a blocking socket.
 */
final class Watchdog implements AutoCloseable {

	private static final ScheduledThreadPoolExecutor TIMER = new ScheduledThreadPoolExecutor(1, (task) -> {
		Thread thread = new Thread(task, "lf-test-client-watchdog");
		thread.setDaemon(true);
		return thread;
	});

	static {
		TIMER.setRemoveOnCancelPolicy(true);
	}

	private final AtomicBoolean bitten = new AtomicBoolean();

	private final ScheduledFuture<?> future;

	private Watchdog(Duration timeout, Runnable end) {
		this.future = TIMER.schedule(() -> {
			this.bitten.set(true);
			end.run();
		}, timeout.toNanos(), TimeUnit.NANOSECONDS);
	}

	/**
	 * Runs the action unless the watchdog is closed in time.
	 */
	static Watchdog after(Duration timeout, Runnable end) {
		return new Watchdog(timeout, end);
	}

	boolean hasBitten() {
		return this.bitten.get();
	}

	@Override
	public void close() {
		this.future.cancel(false);
	}

}
