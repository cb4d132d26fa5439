package org.leaderfollowers.benchmarks.servers;

import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.management.BufferPoolMXBean;
import java.lang.management.ManagementFactory;
import java.util.concurrent.TimeUnit;

import com.sun.management.ThreadMXBean;
import org.jspecify.annotations.Nullable;

/**
 * What a server process has used.
 *
 * @param allocated bytes that its threads have allocated since it began. Before JDK 21
 * those of threads that have ended are missing
 * @param heap bytes of the heap in use, garbage included
 * @param direct bytes off the heap in buffers
 * @param threads platform threads that live
 */
record ProcessStatistics(long allocated, long heap, long direct, int threads) {

	private static final ThreadMXBean THREADS = (ThreadMXBean) ManagementFactory.getThreadMXBean();

	private static final @Nullable MethodHandle TOTAL_ALLOCATED = totalAllocatedBytes();

	private static final int MAX_COLLECTIONS = 12;

	private static final int MIN_COLLECTIONS = 3;

	/** If a collection frees no more than this, the heap has settled. */
	private static final long SETTLED_BYTES = 16 * 1024;

	static ProcessStatistics of(EchoServer server) {
		// Its own allocator may or may not use buffers that the JVM knows.
		long direct = Math.max(poolOfDirectBuffers(), server.ownDirectBytes());
		return new ProcessStatistics(allocatedBytes(), usedHeap(), direct, THREADS.getThreadCount());
	}

	/**
	 * Collects garbage until nothing more is found: an object that one collection frees
	 * may have kept others alive until the next one.
	 */
	static ProcessStatistics settled(EchoServer server) {
		long before = Long.MAX_VALUE;
		for (int i = 0; i < MAX_COLLECTIONS; i++) {
			System.gc();
			pauseForCleaners();
			long after = usedHeap();
			if (i + 1 >= MIN_COLLECTIONS && Math.abs(before - after) <= SETTLED_BYTES) {
				break;
			}
			before = after;
		}
		return of(server);
	}

	/** Waits, because a thread frees buffers off the heap only after a collection. */
	private static void pauseForCleaners() {
		try {
			TimeUnit.MILLISECONDS.sleep(50);
		}
		catch (InterruptedException ex) {
			Thread.currentThread().interrupt();
		}
	}

	private static long usedHeap() {
		return ManagementFactory.getMemoryMXBean().getHeapMemoryUsage().getUsed();
	}

	private static long poolOfDirectBuffers() {
		return ManagementFactory.getPlatformMXBeans(BufferPoolMXBean.class)
			.stream()
			.filter((pool) -> pool.getName().equals("direct"))
			.mapToLong(BufferPoolMXBean::getMemoryUsed)
			.sum();
	}

	private static long allocatedBytes() {
		if (TOTAL_ALLOCATED != null) {
			try {
				return (long) TOTAL_ALLOCATED.invoke(THREADS);
			}
			catch (Throwable ex) {
				throw new IllegalStateException("The allocated bytes are not known", ex);
			}
		}
		long sum = 0;
		for (long bytes : THREADS.getThreadAllocatedBytes(THREADS.getAllThreadIds())) {
			// -1 for threads that have ended in the meantime.
			sum += Math.max(0, bytes);
		}
		return sum;
	}

	private static @Nullable MethodHandle totalAllocatedBytes() {
		try {
			return MethodHandles.publicLookup()
				.findVirtual(ThreadMXBean.class, "getTotalThreadAllocatedBytes", MethodType.methodType(long.class));
		}
		catch (ReflectiveOperationException ex) {
			return null;
		}
	}

	/** Returns the line that a server process prints. */
	@Override
	public String toString() {
		return "STATS allocated=%d heap=%d direct=%d threads=%d".formatted(this.allocated, this.heap, this.direct,
				this.threads);
	}

}
