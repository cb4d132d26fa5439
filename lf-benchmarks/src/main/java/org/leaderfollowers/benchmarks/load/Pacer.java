package org.leaderfollowers.benchmarks.load;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.locks.LockSupport;

import org.jspecify.annotations.Nullable;

/**
 * The second thread of an open loop: sleeps until a request is due, then sends it.
 */
final class Pacer extends Thread {

	private final List<LoadConnection> connections;

	private final Schedule schedule;

	private final Period period;

	private final Sender sender;

	private @Nullable RuntimeException failure;

	Pacer(List<LoadConnection> connections, Schedule schedule, Period period, Sender sender) {
		super("pacer");
		setDaemon(true);
		this.connections = connections;
		this.schedule = schedule;
		this.period = period;
		this.sender = sender;
	}

	@Override
	public void run() {
		sleepPrecisely();
		try {
			sendWhatIsDue();
		}
		catch (RuntimeException ex) {
			this.failure = ex;
		}
	}

	private void sendWhatIsDue() {
		for (long index = 0; !this.period.stopped(); index++) {
			sleepUntil(this.schedule.dueNs(index));
			send(this.connections.get((int) (index % this.connections.size())));
		}
	}

	/**
	 * Wait until this thread has ended, which it does when the period is over.
	 * @throws IOException if it failed
	 */
	void end() throws IOException {
		LockSupport.unpark(this);
		try {
			join();
		}
		catch (InterruptedException ex) {
			throw new IOException("Interrupted", ex);
		}
		if (this.failure != null) {
			throw new IOException("Sending failed", this.failure);
		}
	}

	private void sleepUntil(long timeNs) {
		long leftNs = timeNs - System.nanoTime();
		while (leftNs > 0 && !this.period.stopped()) {
			LockSupport.parkNanos(leftNs);
			leftNs = timeNs - System.nanoTime();
		}
	}

	private void send(LoadConnection connection) {
		synchronized (connection) {
			if (connection.closed || connection.broken) {
				return;
			}
			try {
				this.sender.send(connection);
			}
			catch (IOException ex) {
				// The receiving thread handles it, and counts the requests without a
				// reply
				connection.broken = true;
			}
		}
	}

	/**
	 * Linux lets a thread sleep 50 µs longer than it asked for, to wake several at once.
	 * That is as long as a whole round trip, so this thread asks for no tolerance.
	 * Elsewhere, or where that is not allowed, the lateness in the result shows the
	 * effect.
	 */
	private static void sleepPrecisely() {
		try {
			Path thread = Files.readSymbolicLink(Path.of("/proc/thread-self")).getFileName();
			Files.writeString(Path.of("/proc", thread.toString(), "timerslack_ns"), "1");
		}
		catch (IOException | RuntimeException ex) {
			// The tolerance stays as it is
		}
	}

}
