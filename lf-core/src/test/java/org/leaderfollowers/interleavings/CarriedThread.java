package org.leaderfollowers.interleavings;

import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.util.Objects;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

import org.jspecify.annotations.Nullable;

/**
 * A virtual thread that runs only while another thread, its carrier, executes it. A
 * switch between platform threads takes the system many microseconds. A carrier switches
 * threads without the system, but the JDK has no public way to create them.
 */
public final class CarriedThread {

	/** Creates a virtual thread, or is {@code null} if this JDK does not let us. */
	private static final @Nullable MethodHandle CREATE = findCreate();

	private static final long PATIENCE_NANOS = TimeUnit.MINUTES.toNanos(1);

	private final Thread thread;

	/** Executes the thread until it is unmounted. The JDK passes it to the scheduler. */
	private volatile @Nullable Runnable continuation;

	private boolean begun;

	private boolean suspended;

	/**
	 * Creates a thread, which begins when it is executed.
	 * @param body all that the thread does
	 */
	public CarriedThread(Runnable body) {
		// The scheduler of this thread. It keeps what the JDK wants to be executed.
		Executor scheduler = (next) -> this.continuation = next;
		try {
			this.thread = (Thread) Objects.requireNonNull(CREATE).invokeExact(scheduler, "virtual", 0, body);
		}
		catch (Throwable ex) {
			throw new IllegalStateException(ex);
		}
	}

	/**
	 * Whether this JDK lets us create such threads: it must not pin those that have
	 * entered a monitor, so it is JDK 24 or later, and {@code java.lang} is open.
	 */
	public static boolean areAvailable() {
		return CREATE != null;
	}

	private static @Nullable MethodHandle findCreate() {
		if (Runtime.version().feature() < 24) {
			return null;
		}
		try {
			Class<?> builders = Class.forName("java.lang.ThreadBuilders");
			return MethodHandles.privateLookupIn(builders, MethodHandles.lookup())
				.findStatic(builders, "newVirtualThread",
						MethodType.methodType(Thread.class, Executor.class, String.class, int.class, Runnable.class));
		}
		catch (ReflectiveOperationException ex) {
			return null;
		}
	}

	/** Returns the thread that is current while the body runs. */
	public Thread asThread() {
		return this.thread;
	}

	/**
	 * Executes this thread until it {@linkplain #suspend suspends itself} or ends. The
	 * calling thread is its carrier for this time.
	 * @return {@code false} if the thread has blocked for a minute
	 */
	public boolean execute() {
		if (!this.begun) {
			this.begun = true;
			this.thread.start();
		}
		this.suspended = false;
		while (!this.suspended && this.thread.isAlive()) {
			if (!awaitContinuation()) {
				return false;
			}
			Runnable next = Objects.requireNonNull(this.continuation);
			this.continuation = null;
			next.run();
		}
		return true;
	}

	/**
	 * A thread that has not suspended itself waits for a lock of the JDK, which a thread
	 * of another carrier may hold for a moment.
	 */
	private boolean awaitContinuation() {
		if (this.continuation == null) {
			long deadline = System.nanoTime() + PATIENCE_NANOS;
			while (this.continuation == null) {
				if (System.nanoTime() - deadline >= 0) {
					return false;
				}
				LockSupport.parkNanos(100_000);
			}
		}
		return true;
	}

	/**
	 * Called by this thread: suspends it until it is executed again.
	 * @return {@code false} if it could not be suspended, because it is pinned
	 */
	public boolean suspend() {
		this.suspended = true;
		Thread.yield();
		boolean pinned = this.suspended;
		this.suspended = false;
		return !pinned;
	}

}
