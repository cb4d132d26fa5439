package org.leaderfollowers.spring.server;

import java.util.ArrayList;
import java.util.List;
import java.util.function.Supplier;

import org.leaderfollowers.ServerSnapshot;
import org.leaderfollowers.spring.internal.Printable;

/**
 * Threads that wait until a server has been drained or evacuated, separately from the
 * others, and then stop it and publish its end.
 */
final class DrainThreads {

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

	/** The threads that still run, except the calling one. */
	synchronized List<Thread> others() {
		return this.threads.stream().filter((thread) -> thread.isAlive() && thread != Thread.currentThread()).toList();
	}

}
