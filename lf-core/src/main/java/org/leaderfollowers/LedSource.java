package org.leaderfollowers;

import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.LongAdder;
import java.util.concurrent.locks.LockSupport;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.internal.demultiplexing.PrematureReturns;
import org.leaderfollowers.internal.demultiplexing.UpdateQueue;
import org.leaderfollowers.internal.lifecycle.Quiescence;
import org.leaderfollowers.internal.lifecycle.RetryBackoff;
import org.leaderfollowers.internal.logging.FailureLog;
import org.leaderfollowers.internal.promotion.Clock;
import org.leaderfollowers.internal.promotion.HandledWork;
import org.leaderfollowers.internal.promotion.HandlerProfile;
import org.leaderfollowers.internal.promotion.Leadership;
import org.leaderfollowers.internal.promotion.PromotionProtocol;

/**
 * An event source and its leadership: one thread at a time, the leader, waits for the
 * next event. The leadership rests as long as no source is registered.
 * <p>
 * Another thread that needs the leader does first what it needs it for, and then wakes it
 * if it has announced that it waits; the leader announces its wait, and then looks
 * whether it is needed. One of the two sees the other.
 */
final class LedSource {

	/**
	 * The longest wait. So a wake-up that a source has lost costs no more than this, and
	 * sources can pass the time on in milliseconds.
	 */
	private static final long LONGEST_WAIT_NANOS = TimeUnit.SECONDS.toNanos(10);

	/** A shorter wait without an event has ended at once. */
	private static final long AT_ONCE_NANOS = TimeUnit.MILLISECONDS.toNanos(1);

	private final String name;

	private final Clock clock;

	/** Who leads. */
	final Leadership leadership;

	private final UpdateQueue announcement = new UpdateQueue(this::wakeUp);

	private final FailureLog failureLog = new FailureLog();

	private final LongAdder events = new LongAdder();

	private final LongAdder handlerFailures = new LongAdder();

	private final LongAdder sourceFailures = new LongAdder();

	private volatile @Nullable Registration<?> registration;

	/** Whether the leader waits for as long as it takes. */
	private volatile boolean longWait;

	/** The leader, while it lets a source alone that has failed. */
	private volatile @Nullable Thread pausing;

	private final Quiescence quiescence;

	LedSource(String name, int index, Clock clock) {
		this.name = name;
		this.clock = clock;
		this.quiescence = new Quiescence(clock);
		this.leadership = new SourceLeadership(index, clock.nanoTime());
	}

	/**
	 * The leadership of the source, whose leader waits in the code of the application.
	 */
	private final class SourceLeadership extends Leadership {

		SourceLeadership(int index, long nowNanos) {
			super(index, nowNanos);
			rest();
		}

		@Override
		protected boolean mayBeLedByBound() {
			return false;
		}

		@Override
		protected boolean isWaitedOn() {
			return LedSource.this.announcement.isWaitedFor();
		}

		@Override
		protected void endLongWait() {
			if (LedSource.this.longWait) {
				wakeLeader();
			}
		}

	}

	String name() {
		return this.name;
	}

	/**
	 * Sets what is to be waited on. Called when nothing of an earlier registration runs
	 * any more, and before the places of the source are opened.
	 */
	<E> void use(EventSource<E> source, EventSource.Handler<? super E> handler) {
		this.registration = new Registration<>(this, source, handler);
	}

	/** Has nobody wait any more. The caller has closed the places of the source. */
	void disuse() {
		Registration<?> current = this.registration;
		if (current != null) {
			current.closed = true;
			wakeLeader();
		}
	}

	/**
	 * An event that was received is counted as being handled, or no event was. Called by
	 * the leader.
	 */
	void endAwait() {
		Registration<?> current = this.registration;
		if (current != null) {
			current.awaiting = false;
			changedIfClosed();
		}
	}

	/** Something of the source has ended: whoever waits for the rest looks again. */
	void changedIfClosed() {
		if (!isInUse()) {
			this.quiescence.changed();
		}
	}

	/**
	 * Whether no thread waits on the source any more. Any thread, after the source was
	 * {@linkplain #disuse disused}.
	 */
	boolean isLeftAlone() {
		Registration<?> current = this.registration;
		if (current == null) {
			return true;
		}
		if (!current.left && current.closed && !current.awaiting) {
			// For good: a leader that is about to wait sees that it is closed.
			current.left = true;
		}
		return current.left;
	}

	/**
	 * Waits until nothing of the source runs any more.
	 * @param ended whether that is so, but for a number of handlers that wait themselves
	 * @param deadlineNanos when to give up
	 */
	boolean awaitEnd(Quiescence.Condition ended, long deadlineNanos) {
		Participant me = Participant.current();
		boolean own = me != null && me.work() instanceof SourceEvent<?> event && event.led == this;
		return this.quiescence.await(ended, own, deadlineNanos, () -> false);
	}

	boolean isInUse() {
		Registration<?> current = this.registration;
		return current != null && !current.closed;
	}

	void wakeLeader() {
		this.announcement.wakeLeader();
	}

	private void wakeUp() {
		Thread thread = this.pausing;
		Registration<?> current = this.registration;
		if (thread != null) {
			LockSupport.unpark(thread);
		}
		else if (current != null) {
			current.wakeUp();
		}
	}

	/**
	 * Waits for the next event. Called by the leader while the source is in use.
	 * @param deadlineNanos return then at the latest, with or without an event
	 * @param promotion tells for how long the leader may wait
	 */
	@Nullable SourceEvent<?> await(long deadlineNanos, PromotionProtocol promotion) {
		Registration<?> current = this.registration;
		return (current != null) ? await(current, deadlineNanos, promotion) : null;
	}

	private <E> @Nullable SourceEvent<E> await(Registration<E> current, long deadlineNanos,
			PromotionProtocol promotion) {
		// A thread that was interrupted by its last handler would not wait at all.
		Thread.interrupted();
		long pause = current.pauseNanos();
		// Before the announcement: a thread that wakes the leader looks afterwards where
		// it waits.
		this.pausing = (pause > 0) ? Thread.currentThread() : null;
		this.longWait = true;
		current.awaiting = true;
		this.announcement.beginWait();
		try {
			if (current.closed || promotion.isStopping()) {
				return null;
			}
			// After the announcement: whoever leaves a leadership without a leader does
			// that first, and then looks whether this one waits for long.
			long wait = promotion.maxWaitNanos();
			this.longWait = wait > PromotionProtocol.ROTATION_NANOS;
			wait = Math.min(Math.min(wait, LONGEST_WAIT_NANOS), deadlineNanos - this.clock.nanoTime());
			if (pause > 0) {
				this.clock.parkNanos(this, Math.min(wait, pause));
				return null;
			}
			return current.await(Math.max(0, wait));
		}
		finally {
			endWait();
		}
	}

	/** Returns whether another thread has ended the wait. */
	private boolean endWait() {
		boolean woken = this.announcement.endWait();
		if (this.pausing != null) {
			this.pausing = null;
		}
		return woken;
	}

	/**
	 * A look at the source.
	 * @param leader the name of the thread that leads it
	 * @param vacantFor for how long it has had no leader
	 * @param handling how many events are being handled
	 */
	PoolSnapshot.EventSourceSnapshot snapshot(@Nullable String leader, Duration vacantFor, int handling) {
		return new PoolSnapshot.EventSourceSnapshot(this.name, isInUse(), leader, this.leadership.term(), vacantFor,
				handling, this.events.sum(), this.handlerFailures.sum(), this.sourceFailures.sum());
	}

	@Override
	public String toString() {
		return this.name;
	}

	/**
	 * A source of the application and its handler, from when they are registered until
	 * they are no more.
	 */
	private static final class Registration<E> {

		private final LedSource led;

		private final EventSource<E> source;

		private final EventSource.Handler<? super E> handler;

		private final HandlerProfile profile = new HandlerProfile();

		private final HandledWork work;

		private final RetryBackoff backoff;

		/** The leader's. */
		private final PrematureReturns returns = new PrematureReturns();

		/**
		 * Written before the closer looks whether a thread waits. A leader that is about
		 * to wait says so first, and then looks at this: one of the two sees the other.
		 */
		private volatile boolean closed;

		/** Whether the leader waits, or has received an event that is not counted yet. */
		private volatile boolean awaiting;

		/** Whether it is closed, and no thread has waited since. */
		private volatile boolean left;

		Registration(LedSource led, EventSource<E> source, EventSource.Handler<? super E> handler) {
			this.led = led;
			this.source = source;
			this.handler = handler;
			this.work = new HandledWork("Event source '" + led.name + "'", null, handler.name());
			this.backoff = new RetryBackoff(led.name, 0, "Event source '{}' has failed and is tried again: {}",
					"Event source '{}' works again");
		}

		/** For how long the source is to be let alone; not positive if it works. */
		long pauseNanos() {
			return this.backoff.isBackingOff() ? this.backoff.retryNanos() - System.nanoTime() : 0;
		}

		@Nullable SourceEvent<E> await(long nanos) {
			long began = System.nanoTime();
			E event = null;
			boolean interrupted = false;
			try {
				event = this.source.await(Duration.ofNanos(nanos));
			}
			catch (InterruptedException ex) {
				interrupted = true;
			}
			catch (Throwable ex) {
				failed(ex);
				return null;
			}
			boolean woken = this.led.endWait();
			if (interrupted && !woken) {
				// For a thread of the application that has joined: it gets it back.
				Thread.currentThread().interrupt();
			}
			if (event == null && !woken && nanos > AT_ONCE_NANOS) {
				waitedInVain(began);
				return null;
			}
			this.returns.clear();
			this.backoff.succeeded();
			if (event == null) {
				return null;
			}
			this.led.events.increment();
			return new SourceEvent<>(this.led, this, event);
		}

		private void waitedInVain(long began) {
			long now = System.nanoTime();
			if (now - began >= AT_ONCE_NANOS) {
				this.returns.clear();
				this.backoff.succeeded();
			}
			else if (this.returns.add(began, now)) {
				failed(new IllegalStateException(
						"It returned %d times in a row at once and without an event".formatted(this.returns.count())));
			}
		}

		private void failed(Throwable failure) {
			this.led.sourceFailures.increment();
			this.backoff.failed(failure);
		}

		void wakeUp() {
			try {
				this.source.wakeup();
			}
			catch (Throwable ex) {
				// The caller is about to wait or to process, and must do so.
				this.led.failureLog.error("Waking the leader of event source '%s' failed", this.led, ex);
			}
		}

	}

	/**
	 * An event that has been received, with all that is to be done about it.
	 *
	 * @param <E> the type of the event
	 */
	static final class SourceEvent<E> implements HandledWork.Source {

		private final LedSource led;

		private final Registration<E> registration;

		private final E event;

		private SourceEvent(LedSource led, Registration<E> registration, E event) {
			this.led = led;
			this.registration = registration;
			this.event = event;
		}

		LedSource source() {
			return this.led;
		}

		HandlerProfile profile() {
			return this.registration.profile;
		}

		/** Runs the handler. Never throws: the event is done, whatever happens. */
		void dispatch() {
			try {
				this.registration.handler.handleEvent(this.event);
			}
			catch (Throwable ex) {
				this.led.handlerFailures.increment();
				this.led.failureLog.error("The handler of event source '%s' failed; the event is lost", this.led, ex);
			}
		}

		@Override
		public HandledWork work() {
			return this.registration.work;
		}

		@Override
		public long workNumber() {
			return HandledWork.UNNUMBERED;
		}

		@Override
		public void uncork() {
		}

		@Override
		public String toString() {
			return this.registration.work.handle();
		}

	}

}
