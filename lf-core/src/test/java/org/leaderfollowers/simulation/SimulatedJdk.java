package org.leaderfollowers.simulation;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.DatagramChannel;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.time.Instant;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.locks.LockSupport;

import org.jspecify.annotations.Nullable;

/**
 * Takes the place of methods of the JDK in {@link SimulatedClasses}. They have the same
 * names; an instance method gets its object as the first parameter. On a thread that is
 * not simulated, such as one that initialises a class, they do what the JDK does.
 */
public final class SimulatedJdk {

	/** Classes whose leaders pause after a failure. Nothing else parks in them. */
	private static final Set<String> PAUSING_LEADERS = Set.of("EventRoad", "HandleSet");

	private SimulatedJdk() {
	}

	private static @Nullable SimulatedThread self() {
		return SimulatedThread.currentOrNull();
	}

	/** Called before each access to shared memory. */
	public static void step() {
		SimulatedThread self = self();
		if (self != null) {
			self.simulator().step(self);
		}
	}

	/** Called when a class under simulation has caught something. */
	public static void caught(Throwable failure) {
		SimulatedThread self = self();
		if (self != null) {
			self.simulator().caught(failure);
		}
	}

	/** Called instead of writing a line to the log. */
	public static void logged(Object level, String format, @Nullable Object[] arguments) {
		SimulatedThread self = self();
		if (self != null) {
			self.simulator().logged(level.toString(), format, arguments);
		}
	}

	/** Returns the hash code of an object that does not define one. */
	public static int nextHash() {
		SimulatedThread self = self();
		return (self != null) ? self.simulator().nextHash() : 1;
	}

	// Time

	public static long nanoTime() {
		SimulatedThread self = self();
		return (self != null) ? self.simulator().readClock() : System.nanoTime();
	}

	public static Instant now() {
		return Instant.ofEpochSecond(0, nanoTime());
	}

	public static ThreadLocalRandom current() {
		return ThreadLocalRandom.current();
	}

	/** Not chosen, so that the steps do not depend on it. */
	public static long nextLong(ThreadLocalRandom random) {
		SimulatedThread self = self();
		return (self != null) ? self.simulator().seed() : random.nextLong();
	}

	public static long nextLong(ThreadLocalRandom random, long bound) {
		SimulatedThread self = self();
		return (self != null) ? self.simulator().choose((int) Math.min(bound, Integer.MAX_VALUE))
				: random.nextLong(bound);
	}

	/** Chooses how many handle sets a pool should use. */
	public static int wanted(int inUse, double leaders, double processors, double spare) {
		SimulatedThread self = self();
		return (self != null) ? self.simulator().load() : inUse;
	}

	// Threads

	public static Thread currentThread() {
		SimulatedThread self = self();
		return (self != null) ? self : Thread.currentThread();
	}

	public static void parkNanos(@Nullable Object blocker, long nanos) {
		SimulatedThread self = self();
		if (self == null) {
			LockSupport.parkNanos(blocker, nanos);
		}
		else if (nanos > 0) {
			long now = self.simulator().nanoTime();
			long end = (nanos > Simulator.NEVER - now) ? Simulator.NEVER : now + nanos;
			if (blocker != null && PAUSING_LEADERS.contains(blocker.getClass().getSimpleName())) {
				self.simulator().leaderPauses(end);
			}
			self.simulator().park(self, end);
		}
	}

	public static void park(Object blocker) {
		parkNanos(blocker, Long.MAX_VALUE);
	}

	public static void unpark(@Nullable Thread thread) {
		if (thread instanceof SimulatedThread simulated) {
			simulated.simulator().unpark(simulated);
		}
		else {
			LockSupport.unpark(thread);
		}
	}

	public static void onSpinWait() {
		SimulatedJdk.yield();
	}

	public static void yield() {
		SimulatedThread self = self();
		if (self != null) {
			self.simulator().yield(self);
		}
	}

	public static boolean interrupted() {
		SimulatedThread self = self();
		if (self == null) {
			return Thread.interrupted();
		}
		boolean was = self.interruption;
		self.interruption = false;
		return was;
	}

	public static boolean isInterrupted(Thread thread) {
		return (thread instanceof SimulatedThread simulated) ? simulated.interruption : thread.isInterrupted();
	}

	public static void interrupt(Thread thread) {
		if (thread instanceof SimulatedThread simulated) {
			simulated.interruption = true;
			step();
		}
		else {
			thread.interrupt();
		}
	}

	public static void join(Thread thread, long millis) throws InterruptedException {
		await((SimulatedThread) thread, millis);
	}

	public static void setDaemon(Thread thread, boolean daemon) {
		// The threads of a run that has failed must not keep the process alive.
	}

	private static void await(SimulatedThread thread, long millis) throws InterruptedException {
		SimulatedThread self = SimulatedThread.current();
		Simulator simulator = self.simulator();
		simulator.await("joins " + thread.getName(), () -> thread.hasEnded() || self.interruption,
				simulator.nanoTime() + TimeUnit.MILLISECONDS.toNanos(millis));
		throwIfInterrupted(self);
	}

	private static void throwIfInterrupted(SimulatedThread self) throws InterruptedException {
		if (self.interruption) {
			self.interruption = false;
			throw new InterruptedException();
		}
	}

	// Monitors

	public static void enter(Object monitor) {
		SimulatedThread self = self();
		if (self != null) {
			self.simulator().enter(self, monitor);
		}
	}

	public static void exit(Object monitor) {
		SimulatedThread self = self();
		if (self != null) {
			self.simulator().exit(self, monitor);
		}
	}

	public static void notify(Object monitor) {
		SimulatedThread self = SimulatedThread.current();
		self.simulator().notify(self, monitor, false);
	}

	public static void notifyAll(Object monitor) {
		SimulatedThread self = SimulatedThread.current();
		self.simulator().notify(self, monitor, true);
	}

	public static void timedWait(TimeUnit unit, Object monitor, long timeout) throws InterruptedException {
		SimulatedThread self = SimulatedThread.current();
		self.simulator().await(self, monitor, Math.min(unit.toNanos(timeout), TimeUnit.DAYS.toNanos(1)));
	}

	// Classes of java.util.concurrent that block

	public static boolean await(CountDownLatch latch, long timeout, TimeUnit unit) throws InterruptedException {
		SimulatedThread self = SimulatedThread.current();
		Simulator simulator = self.simulator();
		boolean open = simulator.await("awaits a latch", () -> latch.getCount() == 0 || self.interruption,
				simulator.nanoTime() + Math.max(0, unit.toNanos(timeout)));
		throwIfInterrupted(self);
		return open && latch.getCount() == 0;
	}

	public static Object get(CompletableFuture<?> future, long timeout, TimeUnit unit)
			throws InterruptedException, ExecutionException, TimeoutException {
		SimulatedThread self = SimulatedThread.current();
		Simulator simulator = self.simulator();
		simulator.await("awaits a future", () -> future.isDone() || self.interruption,
				simulator.nanoTime() + unit.toNanos(timeout));
		throwIfInterrupted(self);
		if (!future.isDone()) {
			throw new TimeoutException();
		}
		return future.get();
	}

	// Memory and channels

	/** Called before an object is created or added to a collection. */
	public static void allocates() {
		SimulatedThread self = self();
		if (self != null && self.simulator().isShortOfMemory(self)) {
			self.simulator().note("has no memory");
			self.simulator().count(Counted.SHORTAGES);
			throw new OutOfMemoryError("simulated");
		}
	}

	public static ByteBuffer allocateDirect(int capacity) {
		failForWantOfMemory();
		return ByteBuffer.allocate(capacity);
	}

	public static ByteBuffer allocate(int capacity) {
		failForWantOfMemory();
		return ByteBuffer.allocate(capacity);
	}

	private static void failForWantOfMemory() {
		SimulatedThread self = self();
		if (self != null && self.simulator().network().failsToAllocate()) {
			self.simulator().note("has no memory");
			self.simulator().count(Counted.SHORTAGES);
			throw new OutOfMemoryError("simulated");
		}
	}

	public static SocketChannel openSocket() throws IOException {
		return SimulatedThread.current().simulator().network().openSocketChannel();
	}

	public static ServerSocketChannel openServerSocket() throws IOException {
		return SimulatedThread.current().simulator().network().openServerSocketChannel();
	}

	public static DatagramChannel openDatagramSocket() {
		return SimulatedThread.current().simulator().network().openDatagramChannel();
	}

}
