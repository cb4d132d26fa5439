package org.leaderfollowers.internal.exchange;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteBuffer;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.locks.LockSupport;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.internal.linkage.Linkage;
import org.leaderfollowers.internal.promotion.Clock;

/**
 * One request and its result. The state leaves PENDING by one compare-and-set and never
 * changes again. If reply, timeout, loss and cancellation race, the caller therefore
 * learns of exactly one of them.
 * <table border="1">
 * <caption>Transitions</caption>
 * <tr>
 * <th>from</th>
 * <th>to</th>
 * <th>by</th>
 * <th>why</th>
 * </tr>
 * <tr>
 * <td>PENDING</td>
 * <td>REPLIED</td>
 * <td>the thread that reads the connection</td>
 * <td>the reply with its key has arrived, and was copied before</td>
 * </tr>
 * <tr>
 * <td>PENDING</td>
 * <td>TIMED_OUT</td>
 * <td>the waiting thread or, if a future waits, the owner of the connection</td>
 * <td>the deadline has passed</td>
 * </tr>
 * <tr>
 * <td>PENDING</td>
 * <td>LOST</td>
 * <td>the owner of the connection</td>
 * <td>the connection ends: no reply can come any more</td>
 * </tr>
 * <tr>
 * <td>PENDING</td>
 * <td>CANCELLED</td>
 * <td>the caller</td>
 * <td>the caller was interrupted, or has cancelled the future</td>
 * </tr>
 * <tr>
 * <td>PENDING</td>
 * <td>REFUSED</td>
 * <td>the thread that writes the request</td>
 * <td>the request cannot be written, and no byte of it was</td>
 * </tr>
 * </table>
 * A waiting thread is unparked after the state has changed. The owner completes a future
 * when it runs code of the application, never under a lock.
 */
public final class Exchange {

	private static final VarHandle STATE;

	static {
		try {
			STATE = MethodHandles.lookup().findVarHandle(Exchange.class, "state", State.class);
		}
		catch (ReflectiveOperationException ex) {
			throw new ExceptionInInitializerError(ex);
		}
		Linkage.link(() -> STATE.compareAndSet((Exchange) null, (State) null, (State) null));
	}

	private final long deadlineNanos;

	private final @Nullable Thread waiter;

	private final @Nullable CompletableFuture<ByteBuffer> future;

	/** The key in a table; written before the exchange is registered there. */
	@Nullable Object key;

	/** The table that it is registered in. Guarded by the monitor of that table. */
	@Nullable ExchangeTable table;

	/** Whether the table counts it as overdue. Guarded by the same monitor. */
	boolean isOverdue;

	/** The next one of an {@link ExchangeChain}. */
	@Nullable Exchange next;

	/** The bytes of the request that a stamp has replaced. */
	private byte @Nullable [] replaced;

	/** Written before the state. */
	private @Nullable ByteBuffer reply;

	/** Written before the state. */
	private ExchangeTable.@Nullable Registration refusal;

	private volatile State state = State.PENDING;

	/** Wakes the thread if it is not parked but waits at a selector, or {@code null}. */
	private volatile @Nullable Runnable waker;

	/** The state of an exchange. */
	public enum State {

		/** The reply is awaited. */
		PENDING,

		/** The reply has come. */
		REPLIED,

		/** The reply did not come in time. */
		TIMED_OUT,

		/** The connection ended before the reply came. */
		LOST,

		/** The caller gave up. */
		CANCELLED,

		/** The request was not written, and may be sent on another connection. */
		REFUSED

	}

	private Exchange(long deadlineNanos, @Nullable Thread waiter, @Nullable CompletableFuture<ByteBuffer> future) {
		this.deadlineNanos = deadlineNanos;
		this.waiter = waiter;
		this.future = future;
	}

	/**
	 * Creates an exchange that the calling thread will wait for.
	 * @param deadlineNanos the deadline, by the clock of the pool
	 * @return a new exchange
	 */
	public static Exchange ofCaller(long deadlineNanos) {
		return new Exchange(deadlineNanos, Thread.currentThread(), null);
	}

	/**
	 * Creates an exchange that completes a future.
	 * @param deadlineNanos the deadline, by the clock of the pool
	 * @param future the future to complete
	 * @return a new exchange
	 */
	public static Exchange ofFuture(long deadlineNanos, CompletableFuture<ByteBuffer> future) {
		return new Exchange(deadlineNanos, null, future);
	}

	/**
	 * Creates an exchange that has ended already: the reply goes to the handler.
	 * @return a new exchange
	 */
	public static Exchange ofHandler() {
		Exchange exchange = new Exchange(ExchangeTable.NO_DEADLINE, null, null);
		exchange.end(State.CANCELLED);
		return exchange;
	}

	/**
	 * Whether the reply goes to the handler. Any thread.
	 * @return {@code true} if neither a thread nor a future waits
	 */
	public boolean isOfHandler() {
		return this.waiter == null && this.future == null;
	}

	/**
	 * Whether a thread waits for the exchange, not a future. Any thread.
	 * @return {@code true} if the end of the exchange only has to wake this thread
	 */
	public boolean isAwaited() {
		return this.waiter != null;
	}

	/**
	 * The future to complete. Any thread.
	 * @return {@code null} if a thread waits
	 */
	public @Nullable CompletableFuture<ByteBuffer> future() {
		return this.future;
	}

	/**
	 * When it times out. Any thread.
	 * @return by the clock of the pool
	 */
	public long deadlineNanos() {
		return this.deadlineNanos;
	}

	/**
	 * The state of the exchange. Any thread.
	 * @return the state
	 */
	public State state() {
		return this.state;
	}

	/**
	 * The reply. Any thread that has read {@link State#REPLIED}.
	 * @return a copy of the reply
	 */
	public ByteBuffer reply() {
		ByteBuffer copy = this.reply;
		if (copy == null) {
			throw new IllegalStateException("There is no reply: " + this.state);
		}
		return copy;
	}

	/**
	 * Stores the bytes that a stamp has replaced. Called before the exchange is
	 * registered.
	 * @param bytes the original bytes of the request
	 */
	public void replaced(byte[] bytes) {
		this.replaced = bytes;
	}

	/**
	 * The bytes that a stamp has replaced. Called by the thread that reads the reply.
	 * @return the original bytes of the request, or {@code null} if nothing was replaced
	 */
	public byte @Nullable [] replaced() {
		return this.replaced;
	}

	/**
	 * Ends the exchange with a reply. Called by the thread that reads.
	 * @param copy a copy of the reply, which then belongs to the caller of the exchange
	 * @return {@code false} if the exchange has ended before
	 */
	public boolean reply(ByteBuffer copy) {
		if (this.state != State.PENDING) {
			return false;
		}
		this.reply = copy;
		return end(State.REPLIED);
	}

	/**
	 * Ends the exchange because the request is not written. Called by the thread that
	 * should write it.
	 * @param why the reason
	 * @return {@code false} if the exchange has ended before
	 */
	public boolean refuse(ExchangeTable.Registration why) {
		this.refusal = why;
		return end(State.REFUSED);
	}

	/**
	 * Why the request was not written. Any thread that has read {@link State#REFUSED}.
	 * @return the reason
	 */
	public ExchangeTable.Registration refusal() {
		return (this.refusal != null) ? this.refusal : ExchangeTable.Registration.CLOSED;
	}

	/**
	 * Ends the exchange without a reply. Any thread.
	 * @param with {@link State#TIMED_OUT}, {@link State#LOST} or {@link State#CANCELLED}
	 * @return {@code false} if the exchange has ended before
	 */
	public boolean end(State with) {
		if (!STATE.compareAndSet(this, State.PENDING, with)) {
			return false;
		}
		Thread awaiting = this.waiter;
		if (awaiting != null && awaiting != Thread.currentThread()) {
			LockSupport.unpark(awaiting);
			// Read after the state has changed: the waiting thread sets the waker first
			// and then checks the state.
			Runnable wakes = this.waker;
			if (wakes != null) {
				wakes.run();
			}
		}
		return true;
	}

	/**
	 * Sets another way to wake the waiting thread. Called by the thread that the exchange
	 * was created for, which checks the state afterwards.
	 * @param wakes ends the current wait or the next one; {@code null} for none
	 */
	public void wakeBy(@Nullable Runnable wakes) {
		this.waker = wakes;
	}

	/**
	 * Waits until the exchange has ended. It also ends when its deadline passes or the
	 * thread is interrupted. Called by the thread that the exchange was created for.
	 * @param clock the clock of the pool
	 * @return the state, which is final
	 */
	public State await(Clock clock) {
		while (this.state == State.PENDING) {
			long left = this.deadlineNanos - clock.nanoTime();
			if (left <= 0) {
				end(State.TIMED_OUT);
			}
			else if (Thread.currentThread().isInterrupted()) {
				end(State.CANCELLED);
			}
			else {
				clock.parkNanos(this, left);
			}
		}
		return this.state;
	}

}
