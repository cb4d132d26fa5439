package org.leaderfollowers;

import java.nio.ByteBuffer;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.locks.ReentrantLock;
import java.util.stream.Stream;

/** Two handlers that block each other for good: they get the messages "1" and "2". */
final class Deadlock {

	private final ReentrantLock first = new ReentrantLock();

	private final ReentrantLock second = new ReentrantLock();

	private final CyclicBarrier both = new CyclicBarrier(2);

	/** Handles a message, and returns only if the thread is interrupted. */
	void enter(ByteBuffer message) throws Exception {
		boolean forwards = message.get(message.position()) == '1';
		ReentrantLock outer = forwards ? this.first : this.second;
		ReentrantLock inner = forwards ? this.second : this.first;
		outer.lockInterruptibly();
		try {
			this.both.await();
			inner.lockInterruptibly();
			inner.unlock();
		}
		finally {
			outer.unlock();
		}
	}

	/** Waits until both wait. A thread that is queued may still run for a moment. */
	void await() {
		Engine.eventually()
			.until(() -> threads().filter((thread) -> thread.getState() == Thread.State.WAITING).count() == 2);
	}

	private Stream<Thread> threads() {
		return Thread.getAllStackTraces()
			.keySet()
			.stream()
			.filter((thread) -> this.first.hasQueuedThread(thread) || this.second.hasQueuedThread(thread));
	}

	/** Interrupts both. */
	void resolve() {
		threads().forEach(Thread::interrupt);
	}

}
