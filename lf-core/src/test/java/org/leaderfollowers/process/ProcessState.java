package org.leaderfollowers.process;

import java.io.Serializable;
import java.lang.management.BufferPoolMXBean;
import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;

import org.leaderfollowers.CloseReason;
import org.leaderfollowers.Engine;
import org.leaderfollowers.PoolSnapshot;
import org.leaderfollowers.Server;
import org.leaderfollowers.ServerSnapshot;

/**
 * What a {@link ServerProcess} tells about itself.
 *
 * @param disorder why the pool is not at rest: a handle set without a leader, a handle
 * that is deactivated, or a thread that is busy; empty if it is at rest
 * @param handles how many handles are registered
 * @param openConnections how many connections are open
 * @param acceptedConnections how many were accepted
 * @param closedConnections how many were closed, by reason
 * @param receivedMessages how many messages the handler was given
 * @param acceptingSuspended whether accepting is interrupted because it failed
 * @param threadStartFailures how many threads could not be started
 * @param bufferedBytes the memory that connections hold
 * @param threads how many threads of Java there are
 * @param directBytes the size of all direct buffers
 * @param heapBytes the heap in use after a collection
 * @param currentTimeMillis the wall clock
 */
public record ProcessState(String disorder, int handles, int openConnections, long acceptedConnections,
		Map<CloseReason, Long> closedConnections, long receivedMessages, boolean acceptingSuspended,
		long threadStartFailures, long bufferedBytes, int threads, long directBytes, long heapBytes,
		long currentTimeMillis) implements Serializable {

	/** The JDK creates some objects, and some buffers for threads, when it likes. */
	private static final long HEAP_TOLERANCE = 4_000_000;

	private static final long DIRECT_TOLERANCE = 500_000;

	static ProcessState of(Server server) {
		PoolSnapshot pool = server.pool().snapshot();
		ServerSnapshot snapshot = server.snapshot();
		Map<CloseReason, Long> closed = new EnumMap<>(CloseReason.class);
		closed.putAll(snapshot.closedConnections());
		closed.values().removeIf((count) -> count == 0);
		System.gc();
		return new ProcessState(describeDisorder(pool),
				pool.handleSets().stream().mapToInt(PoolSnapshot.HandleSetSnapshot::handles).sum(),
				snapshot.openConnections(), snapshot.acceptedConnections(), closed, snapshot.receivedMessages(),
				snapshot.acceptingSuspended(), pool.threadStartFailures(), pool.bufferedBytes(),
				ManagementFactory.getThreadMXBean().getThreadCount(), measureDirectBytes(),
				Runtime.getRuntime().totalMemory() - Runtime.getRuntime().freeMemory(), System.currentTimeMillis());
	}

	private static String describeDisorder(PoolSnapshot pool) {
		try {
			Engine.assertIdle(pool);
			return "";
		}
		catch (AssertionError ex) {
			return String.valueOf(ex.getMessage());
		}
	}

	private static long measureDirectBytes() {
		return ManagementFactory.getPlatformMXBeans(BufferPoolMXBean.class)
			.stream()
			.filter((buffers) -> buffers.getName().equals("direct"))
			.mapToLong(BufferPoolMXBean::getMemoryUsed)
			.sum();
	}

	/** Returns in what this state is worse than an earlier one. */
	List<String> deviations(ProcessState before) {
		List<String> deviations = new ArrayList<>();
		if (!this.disorder.isEmpty()) {
			deviations.add(this.disorder);
		}
		compare(deviations, "handles", before.handles, this.handles, 0);
		compare(deviations, "open connections", before.openConnections, this.openConnections, 0);
		compare(deviations, "buffered bytes", before.bufferedBytes, this.bufferedBytes, 0);
		if (this.bufferedBytes < 0) {
			deviations.add("memory was returned twice: %d buffered bytes".formatted(this.bufferedBytes));
		}
		compare(deviations, "threads", before.threads, this.threads, 0);
		compare(deviations, "direct memory", before.directBytes, this.directBytes, DIRECT_TOLERANCE);
		compare(deviations, "heap", before.heapBytes, this.heapBytes, HEAP_TOLERANCE);
		long unaccounted = this.acceptedConnections - this.openConnections
				- this.closedConnections.values().stream().mapToLong(Long::longValue).sum();
		if (unaccounted != 0) {
			deviations.add(unaccounted + " connections ended without a reason");
		}
		if (this.acceptingSuspended) {
			deviations.add("accepting is interrupted");
		}
		return deviations;
	}

	static void compare(List<String> deviations, String name, long before, long now, long tolerance) {
		if (now > before + tolerance) {
			deviations.add("%s: %d at first, %d now".formatted(name, before, now));
		}
	}

}
