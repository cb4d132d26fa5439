package org.leaderfollowers.benchmarks.servers;

import java.util.concurrent.ExecutorService;
import java.util.concurrent.TimeUnit;

/**
 * Makes sure that the threads of a closed server have ended before the next one is
 * measured.
 */
final class Threads {

	private static final long PATIENCE_MILLIS = 5_000;

	private Threads() {
	}

	static void join(Iterable<Thread> threads) {
		threads.forEach(Threads::join);
	}

	static void join(Thread thread) {
		try {
			thread.join(PATIENCE_MILLIS);
		}
		catch (InterruptedException ex) {
			Thread.currentThread().interrupt();
		}
	}

	static void shutDown(ExecutorService executor) {
		executor.shutdownNow();
		try {
			executor.awaitTermination(PATIENCE_MILLIS, TimeUnit.MILLISECONDS);
		}
		catch (InterruptedException ex) {
			Thread.currentThread().interrupt();
		}
	}

}
