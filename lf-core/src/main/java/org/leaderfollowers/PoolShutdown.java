package org.leaderfollowers;

import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Collectors;

import org.leaderfollowers.internal.lifecycle.Quiescence;
import org.leaderfollowers.internal.logging.EngineLog;
import org.leaderfollowers.internal.promotion.Clock;
import org.leaderfollowers.internal.promotion.HandledWork;
import org.leaderfollowers.internal.promotion.PromotionProtocol;
import org.slf4j.event.Level;

/**
 * The lifecycle of a pool: NEW until it has threads, then RUNNING, STOPPING from the
 * moment when no thread may lead any more, and STOPPED when the handle sets are closed.
 * The last thread that leaves closes the handle sets.
 */
final class PoolShutdown {

	/**
	 * How long threads without a handler may take to end, even if the grace period is
	 * over.
	 */
	private static final Duration IDLE_END_TIMEOUT = Duration.ofMillis(200);

	private static final Duration INTERRUPT_TIMEOUT = Duration.ofSeconds(2);

	private final String name;

	private final Clock clock;

	private final PoolThreads threads;

	private final HandleSets handleSets;

	private final EventSources sources;

	private final PromotionProtocol promotion;

	private final List<Drainable> drainables = new CopyOnWriteArrayList<>();

	private final Quiescence quiescence;

	/** Written under the monitor of the threads. */
	private volatile PoolSnapshot.State state = PoolSnapshot.State.NEW;

	PoolShutdown(PoolOptions options, PoolThreads threads, HandleSets handleSets, EventSources sources,
			PromotionProtocol promotion) {
		this.name = options.name();
		this.clock = options.clock();
		this.threads = threads;
		this.handleSets = handleSets;
		this.sources = sources;
		this.promotion = promotion;
		this.drainables.add(sources);
		this.quiescence = new Quiescence(this.clock);
	}

	PoolSnapshot.State state() {
		return this.state;
	}

	/**
	 * Begins the lifecycle.
	 * @return whether this call has begun it
	 * @throws IllegalStateException if the pool was closed
	 */
	boolean begin() {
		synchronized (this.threads) {
			requireOpen();
			boolean isNew = this.state == PoolSnapshot.State.NEW;
			this.state = PoolSnapshot.State.RUNNING;
			return isNew;
		}
	}

	/** Called under the monitor of the threads. */
	void requireOpen() {
		if (this.promotion.isStopping()) {
			throw new IllegalStateException("Pool '%s' is closed".formatted(this.name));
		}
	}

	void add(Drainable drainable) {
		this.drainables.add(drainable);
	}

	void remove(Drainable drainable) {
		this.drainables.remove(drainable);
	}

	/**
	 * Closes the event sources and servers, then ends the threads. Returns whether all
	 * have ended.
	 */
	boolean close(Duration grace) {
		try {
			return end(grace);
		}
		finally {
			// The virtual machine often ends next.
			EngineLog.INSTANCE.flush(EngineLog.CLOSE_MILLIS);
		}
	}

	private boolean end(Duration grace) {
		long deadlineNanos = deadlineAfter(grace);
		boolean ended;
		try {
			closeAll(deadlineNanos);
		}
		finally {
			// No other call would stop the threads if a server fails to close.
			ended = endThreads(grace, deadlineNanos);
		}
		return ended;
	}

	private void closeAll(long deadlineNanos) {
		try {
			// All of them begin first, so that no server accepts connections while
			// another one drains.
			HandleSets.forAll(this.drainables, (drainable) -> drainable.beginDrain(deadlineNanos));
		}
		finally {
			// Clients are closed last, because handlers of servers need them to answer
			// messages.
			try {
				closeAll(false, deadlineNanos);
			}
			finally {
				closeAll(true, deadlineNanos);
			}
		}
	}

	private boolean endThreads(Duration grace, long deadlineNanos) {
		stop();
		for (HandleSet set : this.handleSets) {
			set.wakeLeader();
		}
		this.sources.wakeLeaders();
		for (Participant participant : this.threads.living()) {
			LockSupport.unpark(participant.thread());
		}
		if (this.threads.members().count() == 0) {
			closeHandleSets();
		}
		long idleDeadline = deadlineAfter(IDLE_END_TIMEOUT);
		if (awaitEnd((idleDeadline - deadlineNanos > 0) ? idleDeadline : deadlineNanos)) {
			joinOwnThreads();
			return true;
		}
		return interrupt(grace);
	}

	private void closeAll(boolean clients, long deadlineNanos) {
		HandleSets.forAll(this.drainables, (drainable) -> {
			if (drainable.isClient() == clients) {
				drainable.close(Duration.ofNanos(Math.max(0, deadlineNanos - this.clock.nanoTime())));
			}
		});
	}

	private void stop() {
		synchronized (this.threads) {
			if (this.state != PoolSnapshot.State.STOPPED) {
				this.state = PoolSnapshot.State.STOPPING;
			}
			this.promotion.stop();
		}
	}

	private boolean interrupt(Duration grace) {
		for (Participant participant : this.threads.living()) {
			HandledWork.Source work = participant.work();
			if (participant != Participant.current() && work != null) {
				EngineLog.INSTANCE.withoutBlocking(Level.WARN,
						"Thread '{}' of pool '{}' has not ended within {} and is interrupted; it works on {}",
						participant.thread().getName(), this.name, grace, work);
				participant.thread().interrupt();
			}
		}
		boolean ended = awaitEnd(deadlineAfter(INTERRUPT_TIMEOUT));
		if (ended) {
			// The last thread is no longer counted, but may still close the handle sets.
			joinOwnThreads();
		}
		else {
			EngineLog.INSTANCE.withoutBlocking(Level.WARN,
					"Pool '{}' is closed, but {} of its threads ignore interrupts", this.name,
					this.threads.living().size());
		}
		closeHandleSets();
		return ended;
	}

	/** If the wait is interrupted, the pool is closed nevertheless. */
	private boolean awaitEnd(long deadlineNanos) {
		Participant me = Participant.current();
		boolean handler = me != null && me.isOf(this.promotion);
		return this.quiescence.await(this::isEnded, handler, deadlineNanos, () -> false);
	}

	private boolean isEnded(int exceptHandlers) {
		return this.threads.members().count() <= exceptHandlers && this.threads.count() <= exceptHandlers;
	}

	/**
	 * Waits until the pool's own threads have ended. They no longer participate, so they
	 * end at once. This includes threads that were started while the pool was closing.
	 */
	private void joinOwnThreads() {
		try {
			Set<Thread> busy = this.threads.living().stream().map(Participant::thread).collect(Collectors.toSet());
			for (Thread thread : this.threads.own()) {
				if (!busy.contains(thread)) {
					thread.join(INTERRUPT_TIMEOUT.toMillis());
				}
			}
		}
		catch (InterruptedException ex) {
			Thread.currentThread().interrupt();
		}
	}

	/**
	 * Called when a thread has ended while the pool is stopping. The last thread closes
	 * the handle sets.
	 */
	void threadEnded() {
		try {
			if (this.threads.members().count() == 0) {
				closeHandleSets();
			}
		}
		finally {
			this.quiescence.changed();
		}
	}

	private void closeHandleSets() {
		synchronized (this.threads) {
			if (this.state == PoolSnapshot.State.STOPPED) {
				return;
			}
			this.state = PoolSnapshot.State.STOPPED;
		}
		HandleSets.forAll(this.handleSets, HandleSet::close);
	}

	private long deadlineAfter(Duration timeout) {
		return this.clock.nanoTime() + Arguments.nanos(timeout);
	}

}
