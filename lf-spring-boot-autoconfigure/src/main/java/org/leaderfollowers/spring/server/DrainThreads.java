package org.leaderfollowers.spring.server;

import java.util.ArrayList;
import java.util.List;
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
	 * Begins a drain and starts its thread. If the drain begins, a thread that stops the
	 * server later finds this thread.
	 * @param name the name of the thread
	 * @param begin begins the drain without waiting, or throws an exception
	 * @param end waits and stops the server
	 * @return the state of the server when the drain has begun
	 */
	synchronized ServerSnapshot start(String name, Supplier<ServerSnapshot> begin, Runnable end) {
		// If the virtual machine ends meanwhile, the shutdown of the context waits.
		Thread thread = new Thread(end, Printable.of(name));
		thread.setDaemon(true);
		ServerSnapshot begun = begin.get();
		thread.start();
		this.threads.removeIf((earlier) -> !earlier.isAlive());
		this.threads.add(thread);
		return begun;
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
