package org.leaderfollowers.internal.exchange;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteBuffer;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.locks.LockSupport;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.internal.promotion.Clock;

/**
 * One request and what becomes of it. Its state leaves PENDING once, by one
 * compare-and-set, and never changes again: however reply, timeout, loss and cancellation
 * race, the caller learns of exactly one of them.
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
 * <td>the thread that waits; the owner of the connection if nobody does</td>
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
 * <td>it cannot be written: not a byte of it was</td>
 * </tr>
 * </table>
 * The thread that waits is told by an unpark after the state has changed. A future is
 * completed by the application's share of the owner's round, never under a lock.
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
	}

	private final long deadlineNanos;

	private final @Nullable Thread waiter;

	private final @Nullable CompletableFuture<ByteBuffer> future;

	/** Finds it in a table; written before it is registered there. */
	@Nullable Object key;

	/** Bytes of the request that a stamp has replaced. */
	private byte @Nullable [] replaced;

	/** Written before the state. */
	private @Nullable ByteBuffer reply;

	/** Written before the state. */
	private ExchangeTable.@Nullable Registration refusal;

	private volatile State state = State.PENDING;

	/** How to wake the thread if it is not parked but waits at a selector. */
	private volatile @Nullable Runnable waker;

	/**
	 * What became of it.
	 */
	public enum State {

		/** The reply is awaited. */
		PENDING,

		/** The reply is there. */
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
	 * An exchange for which the calling thread is going to wait.
	 * @param deadlineNanos until when, by the clock of the pool
	 * @return a new exchange
	 */
	public static Exchange ofCaller(long deadlineNanos) {
		return new Exchange(deadlineNanos, Thread.currentThread(), null);
	}

	/**
	 * An exchange that completes a future.
	 * @param deadlineNanos until when, by the clock of the pool
	 * @param future what to complete
	 * @return a new exchange
	 */
	public static Exchange ofFuture(long deadlineNanos, CompletableFuture<ByteBuffer> future) {
		return new Exchange(deadlineNanos, null, future);
	}

	/**
	 * Whether a thread waits for it, rather than a future. Any thread.
	 * @return whether the one who learns of its end only has to wake that thread
	 */
	public boolean isAwaited() {
		return this.waiter != null;
	}

	/**
	 * The future. Any thread.
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
	 * What became of it. Any thread.
	 * @return the state
	 */
	public State state() {
		return this.state;
	}

	/**
	 * The reply. Any thread that has seen {@link State#REPLIED}.
	 * @return the copy that was made of it
	 */
	public ByteBuffer reply() {
		ByteBuffer copy = this.reply;
		if (copy == null) {
			throw new IllegalStateException("There is no reply: " + this.state);
		}
		return copy;
	}

	/**
	 * Notes what a stamp has replaced. Before it is registered.
	 * @param bytes of the request
	 */
	public void replaced(byte[] bytes) {
		this.replaced = bytes;
	}

	/**
	 * What a stamp has replaced. The thread that reads the reply.
	 * @return bytes of the request, or {@code null} if nothing was replaced
	 */
	public byte @Nullable [] replaced() {
		return this.replaced;
	}

	/**
	 * The reply has arrived. By the thread that reads.
	 * @param copy of the reply, which belongs to the caller of the exchange from now on
	 * @return {@code false} if it comes too late
	 */
	public boolean reply(ByteBuffer copy) {
		if (this.state != State.PENDING) {
			return false;
		}
		this.reply = copy;
		return end(State.REPLIED);
	}

	/**
	 * The request is not written. By the thread that would write it.
	 * @param why it is not
	 * @return {@code false} if it has ended before
	 */
	public boolean refuse(ExchangeTable.Registration why) {
		this.refusal = why;
		return end(State.REFUSED);
	}

	/**
	 * Why it was refused. Any thread that has seen {@link State#REFUSED}.
	 * @return the reason
	 */
	public ExchangeTable.Registration refusal() {
		return (this.refusal != null) ? this.refusal : ExchangeTable.Registration.CLOSED;
	}

	/**
	 * Ends it without a reply. Any thread.
	 * @param with {@link State#TIMED_OUT}, {@link State#LOST} or {@link State#CANCELLED}
	 * @return {@code false} if it has ended before
	 */
	public boolean end(State with) {
		if (!STATE.compareAndSet(this, State.PENDING, with)) {
			return false;
		}
		Thread awaiting = this.waiter;
		if (awaiting != null && awaiting != Thread.currentThread()) {
			LockSupport.unpark(awaiting);
			// After the state: the thread sets this first, and then looks at the state.
			Runnable wakes = this.waker;
			if (wakes != null) {
				wakes.run();
			}
		}
		return true;
	}

	/**
	 * Has its end wake the thread in another way as well. By the thread that it was
	 * created for, which looks at the state afterwards.
	 * @param wakes ends the wait, or the next one; {@code null} for none
	 */
	public void wakeBy(@Nullable Runnable wakes) {
		this.waker = wakes;
	}

	/**
	 * Waits until it has ended, its deadline has passed, or the thread is interrupted,
	 * which also ends it. By the thread that it was created for.
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
