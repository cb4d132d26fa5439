package org.leaderfollowers;

import java.util.HashSet;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;

import org.leaderfollowers.internal.promotion.ThreadSupply;

/**
 * How many threads of a pool the handlers of its UDP servers may occupy.
 * <p>
 * A flood of datagrams needs no connection, so no other limit slows it down. If handlers
 * block, it would occupy all threads, and nothing else in the pool would be served.
 * Therefore, UDP servers leave a quarter of the threads to the other servers, clients and
 * event sources of the pool, and divide the rest among them. A UDP server that has the
 * pool for itself may occupy all threads.
 */
final class DatagramShare {

	private final ThreadSupply threads;

	/** Whether the pool was built for event sources, which need threads as well. */
	private final boolean hasSources;

	private final Set<Drainable> served = new HashSet<>();

	/** How many handlers of datagrams run, or will run if there is a datagram. */
	private final AtomicInteger handlers = new AtomicInteger();

	/** The number of UDP servers. */
	private volatile int servers;

	/** Whether the pool serves anything else. */
	private volatile boolean hasOthers;

	/** Whether a UDP server has been closed. Its handlers may run long afterwards. */
	private volatile boolean hasLeft;

	DatagramShare(ThreadSupply threads, boolean hasSources) {
		this.threads = threads;
		this.hasSources = hasSources;
	}

	synchronized void add(Drainable drainable) {
		this.served.add(drainable);
		count();
	}

	synchronized void remove(Drainable drainable) {
		this.hasLeft |= drainable.servesDatagrams();
		this.served.remove(drainable);
		count();
		threadsAdded();
	}

	/** The share of each UDP server may have grown: one that has stopped looks again. */
	synchronized void threadsAdded() {
		this.served.forEach(Drainable::threadsAdded);
	}

	private void count() {
		int datagrams = (int) this.served.stream().filter(Drainable::servesDatagrams).count();
		this.hasOthers = this.hasSources || this.served.size() > datagrams;
		this.servers = datagrams;
	}

	/** The maximum number of threads for each UDP server, at least 1. Any thread. */
	int most() {
		return Math.max(1, total() / Math.max(1, this.servers));
	}

	/** The maximum number of threads for all UDP servers, at least 1. Any thread. */
	int total() {
		int most = this.threads.settings().maxThreads();
		return this.hasOthers ? Math.max(1, most - Math.max(1, most / 4)) : most;
	}

	/**
	 * Whether the handlers of all UDP servers occupy all threads that they may. There may
	 * be more servers than these threads, although each server may occupy one. Any
	 * thread.
	 */
	boolean isFull() {
		return this.handlers.get() >= total();
	}

	/**
	 * Takes one of these threads for a handler. Called before a datagram is read, because
	 * servers read at the same time: each would find the last thread free. Any thread.
	 * @return {@code false} if none is left
	 */
	boolean take() {
		int now;
		do {
			now = this.handlers.get();
			if (now >= total()) {
				return false;
			}
		}
		while (!this.handlers.compareAndSet(now, now + 1));
		return true;
	}

	/** A handler has returned, or is not called. Any thread. */
	void giveBack() {
		if (this.handlers.decrementAndGet() == total() - 1 && (this.servers > 1 || this.hasLeft)) {
			// Another server may wait for this thread.
			threadsAdded();
		}
	}

}
