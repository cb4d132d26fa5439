package org.leaderfollowers;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.LongAdder;
import java.util.concurrent.locks.LockSupport;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.internal.demultiplexing.PrematureReturns;
import org.leaderfollowers.internal.demultiplexing.UpdateQueue;
import org.leaderfollowers.internal.lifecycle.Quiescence;
import org.leaderfollowers.internal.lifecycle.RetryBackoff;
import org.leaderfollowers.internal.linkage.Linkage;
import org.leaderfollowers.internal.logging.FailureLog;
import org.leaderfollowers.internal.promotion.Clock;
import org.leaderfollowers.internal.promotion.HandledWork;
import org.leaderfollowers.internal.promotion.HandlerProfile;
import org.leaderfollowers.internal.promotion.Leadership;
import org.leaderfollowers.internal.promotion.PromotionProtocol;

/**
 * An event source and its leadership: one thread at a time, the leader, waits for the
 * next event. While no source is registered, the leadership is at rest.
 * <p>
 * No wake-up is lost: a thread that needs the leader first changes the state, and then
 * wakes the leader if it has announced a wait. The leader first announces the wait, and
 * then checks the state. At least one of the two therefore sees the other.
 */
final class LedSource {

	/**
	 * The longest wait. It limits the damage if a source loses a wake-up, and lets
	 * sources convert the time to milliseconds.
	 */
	private static final long LONGEST_WAIT_NANOS = TimeUnit.SECONDS.toNanos(10);

	/** A call that returns earlier without an event counts as having returned at once. */
	private static final long AT_ONCE_NANOS = TimeUnit.MILLISECONDS.toNanos(1);

	private static final VarHandle AWAITING;

	static {
		try {
			AWAITING = MethodHandles.lookup().findVarHandle(Registration.class, "awaiting", Thread.class);
		}
		catch (ReflectiveOperationException ex) {
			throw new ExceptionInInitializerError(ex);
		}
		Linkage.link(() -> AWAITING.compareAndSet((Registration) null, (Thread) null, null));
	}

	private final String name;

	private final Clock clock;

	/** The leadership of this source. */
	final Leadership leadership;

	private final UpdateQueue announcement = new UpdateQueue(this::wakeUp);

	private final FailureLog failureLog = new FailureLog();

	private final LongAdder events = new LongAdder();

	private final LongAdder handlerFailures = new LongAdder();

	private final LongAdder sourceFailures = new LongAdder();

	private volatile @Nullable Registration<?> registration;

	/** Whether the leader may wait for a long time. */
	private volatile boolean longWait;

	/** The leader while it pauses because the source has failed, or {@code null}. */
	private volatile @Nullable Thread pausing;

	private final Quiescence quiescence;

	LedSource(String name, int index, Clock clock) {
		this.name = name;
		this.clock = clock;
		this.quiescence = new Quiescence(clock);
		this.leadership = new SourceLeadership(index, clock.nanoTime());
	}

	/** The leadership of the source. Its leader waits in code of the application. */
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
	 * Sets the source to wait on. Called when no thread uses an earlier registration any
	 * more, and before the places of the source are opened.
	 */
	<E> void use(EventSource<E> source, EventSource.Handler<? super E> handler) {
		this.registration = new Registration<>(this, source, handler);
	}

	/** Ends the waiting on the source. The caller has closed the places of the source. */
	void disuse() {
		Registration<?> current = this.registration;
		if (current != null) {
			current.closed = true;
			wakeLeader();
		}
	}

	/**
	 * Ends the wait of the calling thread: it has received no event, or the event already
	 * counts as being handled. Since then, another thread may lead and wait.
	 */
	void endAwait() {
		Registration<?> current = this.registration;
		if (current != null) {
			AWAITING.compareAndSet(current, Thread.currentThread(), null);
			changedIfClosed();
		}
	}

	/**
	 * Notifies threads that wait for the end of the source, because a part of it has
	 * ended.
	 */
	void changedIfClosed() {
		if (!isInUse()) {
			this.quiescence.changed();
		}
	}

	/**
	 * Whether no thread waits on the source any more. Any thread, after {@link #disuse}.
	 */
	boolean isLeftAlone() {
		Registration<?> current = this.registration;
		if (current == null) {
			return true;
		}
		if (!current.left && current.closed && current.awaiting == null) {
			// This is final: a leader that is about to wait sees that the source is
			// closed.
			current.left = true;
		}
		return current.left;
	}

	/**
	 * Waits until no thread uses the source any more.
	 * @param ended the condition, which allows for a number of handlers that wait
	 * themselves
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
	 * @param deadlineNanos when to return at the latest, with or without an event
	 * @param promotion limits how long the leader may wait
	 */
	@Nullable SourceEvent<?> await(long deadlineNanos, PromotionProtocol promotion) {
		Registration<?> current = this.registration;
		return (current != null) ? await(current, deadlineNanos, promotion) : null;
	}

	private <E> @Nullable SourceEvent<E> await(Registration<E> current, long deadlineNanos,
			PromotionProtocol promotion) {
		long pause = current.pauseNanos();
		// Before the announcement, because a thread that wakes the leader reads this
		// field afterwards.
		this.pausing = (pause > 0) ? Thread.currentThread() : null;
		this.longWait = true;
		current.awaiting = Thread.currentThread();
		this.announcement.beginWait();
		try {
			if (current.closed || promotion.isStopping()) {
				return null;
			}
			// After the announcement: a thread that leaves a leadership without a leader
			// does so before it checks whether this leader waits for long.
			long wait = promotion.maxWaitNanos(this.leadership);
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
	 * Takes a snapshot of the source.
	 * @param leader the name of the thread that leads it
	 * @param vacantFor how long it has had no leader
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
	 * A source of the application and its handler, from registration to deregistration.
	 */
	private static final class Registration<E> {

		private final LedSource led;

		private final EventSource<E> source;

		private final EventSource.Handler<? super E> handler;

		private final HandlerProfile profile = new HandlerProfile();

		private final HandledWork work;

		private final RetryBackoff backoff;

		/** Used by the leader only. */
		private final PrematureReturns returns = new PrematureReturns();

		/**
		 * Written before the closing thread checks whether another thread waits. A leader
		 * that is about to wait announces this first and then reads this field, so at
		 * least one of the two sees the other.
		 */
		private volatile boolean closed;

		/**
		 * The thread that waits, or has received an event that is not counted as being
		 * handled yet.
		 */
		private volatile @Nullable Thread awaiting;

		/** For the next event. Used by the leader only. */
		private @Nullable SourceEvent<E> next;

		/** Whether the source is closed and no thread can wait on it any more. */
		private volatile boolean left;

		Registration(LedSource led, EventSource<E> source, EventSource.Handler<? super E> handler) {
			this.led = led;
			this.source = source;
			this.handler = handler;
			this.work = new HandledWork("Event source '" + led.name + "'", null, handler.name());
			this.backoff = new RetryBackoff(led.name, 0, "Event source '{}' has failed, and the pool retries: {}",
					"Event source '{}' works again");
		}

		/** How long to pause because the source has failed. Not positive if it works. */
		long pauseNanos() {
			return this.backoff.isBackingOff() ? this.backoff.retryNanos() - System.nanoTime() : 0;
		}

		@Nullable SourceEvent<E> await(long nanos) {
			if (this.next == null) {
				// Before there is an event, which would be lost if memory was short.
				this.next = new SourceEvent<>(this.led, this);
			}
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
				// The interrupt was meant for a thread of the application that has
				// joined, so its status is restored.
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
			SourceEvent<E> taken = this.next;
			this.next = null;
			taken.event = event;
			return taken;
		}

		private void waitedInVain(long began) {
			long now = System.nanoTime();
			if (now - began >= AT_ONCE_NANOS) {
				if (this.returns.makeUp(now - began)) {
					this.backoff.succeeded();
				}
			}
			else if (this.returns.add(began, now)) {
				failed(new IllegalStateException(
						"It returned at once and without an event %d times in a row".formatted(this.returns.count())));
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
				// The exception is only logged, because the caller must continue to wait
				// or to process.
				this.led.failureLog.error("Waking the leader of event source '%s' failed", this.led, ex);
			}
		}

	}

	/**
	 * An event that was received, and everything needed to handle it.
	 *
	 * @param <E> the type of the event
	 */
	static final class SourceEvent<E> implements HandledWork.Source {

		private final LedSource led;

		private final Registration<E> registration;

		private @Nullable E event;

		private SourceEvent(LedSource led, Registration<E> registration) {
			this.led = led;
			this.registration = registration;
		}

		LedSource source() {
			return this.led;
		}

		HandlerProfile profile() {
			return this.registration.profile;
		}

		/** Runs the handler. Never throws: the event counts as handled in any case. */
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
