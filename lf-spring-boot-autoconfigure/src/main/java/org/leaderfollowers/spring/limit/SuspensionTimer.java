package org.leaderfollowers.spring.limit;

import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.Connection;
import org.leaderfollowers.Suspension;

/**
 * Resumes the connections of clients that are within their limits again. One thread does
 * so for all servers; it is started by the first excess. Any thread.
 */
final class SuspensionTimer implements AutoCloseable {

	/**
	 * How long a connection may stay suspended after its server has begun to drain or its
	 * limits were raised.
	 */
	private static final long LOOK_NANOS = TimeUnit.MILLISECONDS.toNanos(500);

	/** Guarded by this object. */
	private @Nullable ScheduledThreadPoolExecutor executor;

	/** Guarded by this object. */
	private boolean closed;

	/**
	 * Suspends a connection.
	 * @param nanos how long at most, even if the client exceeds its limits again by other
	 * connections. These could make this one wait for ever otherwise
	 * @param owed how long the client has still to wait, or 0 to end the suspension
	 * @return the suspension
	 */
	Pause suspend(Connection connection, long nanos, LongSupplier owed) {
		Pause pause = new Pause(connection, connection.suspend(), System.nanoTime() + nanos, owed);
		pause.run();
		return pause;
	}

	private synchronized void schedule(Runnable task, long nanos) {
		if (this.closed) {
			throw new RejectedExecutionException("The timer is closed");
		}
		if (this.executor == null) {
			this.executor = new ScheduledThreadPoolExecutor(1, (runnable) -> {
				Thread thread = new Thread(runnable, "lf-client-limits");
				thread.setDaemon(true);
				return thread;
			});
		}
		this.executor.schedule(task, nanos, TimeUnit.NANOSECONDS);
	}

	/**
	 * Ends the thread. Connections that are still suspended belong to servers that are
	 * stopped.
	 */
	@Override
	public synchronized void close() {
		this.closed = true;
		if (this.executor != null) {
			this.executor.shutdownNow();
		}
	}

	final class Pause implements Runnable {

		private final Connection connection;

		private final Suspension suspension;

		private final long untilNanos;

		private final LongSupplier owed;

		private volatile boolean over;

		private Pause(Connection connection, Suspension suspension, long untilNanos, LongSupplier owed) {
			this.connection = connection;
			this.suspension = suspension;
			this.untilNanos = untilNanos;
			this.owed = owed;
		}

		/**
		 * If it fails, the connection is read again: nothing else would end the
		 * suspension.
		 */
		@Override
		public void run() {
			boolean goesOn = false;
			try {
				goesOn = schedulesNextLook();
			}
			catch (RejectedExecutionException ex) {
				// The timer is closed.
			}
			finally {
				if (!goesOn) {
					end();
				}
			}
		}

		private boolean schedulesNextLook() {
			long left = Math.min(this.untilNanos - System.nanoTime(), this.owed.getAsLong());
			if (left <= 0 || this.connection.isDraining() || !this.connection.isOpen()) {
				return false;
			}
			schedule(this, Math.min(left, LOOK_NANOS));
			return true;
		}

		private void end() {
			this.over = true;
			this.suspension.resume();
		}

		/** Whether the connection is no longer suspended because of this. */
		boolean isOver() {
			return this.over;
		}

	}

}
