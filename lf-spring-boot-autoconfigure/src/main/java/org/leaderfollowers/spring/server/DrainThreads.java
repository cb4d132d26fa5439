package org.leaderfollowers.spring.server;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.Supplier;

import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.leaderfollowers.ServerSnapshot;
import org.leaderfollowers.spring.internal.Printable;

/**
 * Threads that wait until a server has been drained or evacuated, separately from the
 * others, and then stop it and publish its end.
 */
final class DrainThreads {

	private static final Log logger = LogFactory.getLog(LeaderFollowersServers.class);

	/** Guarded by this object, and so is the beginning of a drain. */
	private final List<Thread> threads = new ArrayList<>();

	/**
	 * Starts the thread of a drain and begins the drain. If no thread can be started,
	 * nothing has begun. If the drain begins, a thread that stops the server later finds
	 * this thread.
	 * @param name the name of the thread
	 * @param begin begins the drain without waiting, or throws an exception
	 * @param end waits and stops the server
	 * @return the state of the server when the drain has begun
	 */
	synchronized ServerSnapshot start(String name, Supplier<ServerSnapshot> begin, Runnable end) {
		CompletableFuture<Boolean> begun = new CompletableFuture<>();
		Thread thread = new Thread(() -> {
			if (begun.join()) {
				end.run();
			}
		}, Printable.of(name));
		// If the virtual machine ends meanwhile, the shutdown of the context waits.
		thread.setDaemon(true);
		this.threads.removeIf((earlier) -> !earlier.isAlive());
		this.threads.add(thread);
		// First: a drain whose thread could not be started would never end.
		thread.start();
		try {
			ServerSnapshot snapshot = begin.get();
			begun.complete(true);
			return snapshot;
		}
		finally {
			begun.complete(false);
		}
	}

	/**
	 * Runs a part of the shutdown in a daemon thread of its own, so that Spring can limit
	 * its time. If no thread can be started, the shutdown must go on nevertheless:
	 * otherwise, requests that have been received would be lost.
	 * @param name the name of the thread
	 * @param task the part
	 * @param otherwise what the calling thread does if no thread can be started. Must
	 * return in limited time
	 */
	static void run(String name, Runnable task, Runnable otherwise) {
		try {
			Thread thread = new Thread(task, Printable.of(name));
			thread.setDaemon(true);
			thread.start();
		}
		catch (OutOfMemoryError ex) {
			logger.warn("No thread could be started for the shutdown, which continues without it", ex);
			otherwise.run();
		}
	}

	/** The threads that still run, except the calling one. */
	synchronized List<Thread> others() {
		return this.threads.stream().filter((thread) -> thread.isAlive() && thread != Thread.currentThread()).toList();
	}

}
