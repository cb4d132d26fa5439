package org.leaderfollowers.spring.cluster;

import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.IntSupplier;
import java.util.function.LongSupplier;

import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;
import org.leaderfollowers.spring.session.SessionNode;

/**
 * Which nodes are alive: those whose leases have not expired. This node renews its own
 * lease, and looks at those of the others, three times within a lease.
 * <p>
 * If this node could not renew its lease until it has expired, it is isolated: others
 * count it as gone, and it does not try to reach them.
 */
final class ClusterNodes {

	private static final Log logger = LogFactory.getLog(ClusterSessionDirectory.class);

	/** An answer that takes longer does not set the clock. */
	private static final long CLOCK_ERROR_NANOS = TimeUnit.SECONDS.toNanos(1);

	private final ClusterEngine engine;

	private final Duration lease;

	private final Duration timeout;

	private final LongSupplier clock;

	private final IntSupplier sessions;

	private final Consumer<String> gone;

	private final Runnable returned;

	private volatile String self = "";

	private volatile View view = new View(Map.of(), 0, 0, false, "This node has not joined yet");

	/**
	 * What this node knows.
	 *
	 * @param live the nodes with a lease, by identifier, with their sessions
	 * @param renewedNanos when this node has last renewed its lease, by
	 * {@link System#nanoTime()}
	 * @param clockMillis the time of the engine minus that of {@link System#nanoTime()}
	 * @param joined whether this node has ever renewed its lease
	 * @param failure why the latest renewal has failed, or {@code null} if it has not
	 */
	private record View(Map<String, Integer> live, long renewedNanos, long clockMillis, boolean joined,
			@Nullable String failure) {
	}

	/**
	 * Creates a registry of nodes.
	 * @param clock tells the time as {@link System#nanoTime()} does
	 * @param sessions counts the sessions of this node
	 * @param gone called with each node whose lease has expired
	 * @param returned called when this node is no longer isolated
	 */
	ClusterNodes(ClusterEngine engine, Duration lease, Duration timeout, LongSupplier clock, IntSupplier sessions,
			Consumer<String> gone, Runnable returned) {
		this.engine = engine;
		this.lease = lease;
		this.timeout = timeout;
		this.clock = clock;
		this.sessions = sessions;
		this.gone = gone;
		this.returned = returned;
	}

	void start(String id) {
		this.self = id;
	}

	String self() {
		return this.self;
	}

	private long nanoTime() {
		return this.clock.getAsLong();
	}

	/**
	 * Renews the lease and looks at the others. One thread at a time.
	 * @return completed when both is done or has failed
	 */
	CompletableFuture<Void> renew() {
		long begun = nanoTime();
		return this.engine.renew(WireForm.ofNode(this.sessions.getAsInt()), this.lease)
			.orTimeout(this.timeout.toMillis(), TimeUnit.MILLISECONDS)
			.thenAccept((engineMillis) -> renewed(begun, engineMillis))
			.thenCompose((renewed) -> look())
			.exceptionally((failure) -> {
				failed(failure);
				return null;
			});
	}

	private synchronized void renewed(long begun, long engineMillis) {
		View earlier = this.view;
		if (earlier.joined && begun - earlier.renewedNanos < 0) {
			// A later renewal was faster.
			return;
		}
		boolean wasIsolated = isIsolated(earlier);
		// The lease counts from before the call: it cannot end earlier than this. The
		// clock does, too, so it is never behind, and requests that are too late are
		// refused. The answer to a process that was paused tells little about the time.
		boolean exact = nanoTime() - begun < CLOCK_ERROR_NANOS;
		this.view = new View(earlier.live, begun,
				(exact || !earlier.joined) ? engineMillis - TimeUnit.NANOSECONDS.toMillis(begun) : earlier.clockMillis,
				true, null);
		if (!wasIsolated && earlier.failure != null) {
			// Something may have been lost meanwhile.
			this.returned.run();
		}
		if (wasIsolated) {
			logger.info("Node '%s' has joined the other nodes by %s".formatted(this.self, this.engine.name()));
			this.returned.run();
		}
	}

	private synchronized void failed(Throwable failure) {
		View earlier = this.view;
		Throwable cause = (failure.getCause() != null) ? failure.getCause() : failure;
		String reason = cause.getClass().getSimpleName()
				+ ((cause.getMessage() != null) ? ": " + cause.getMessage() : "");
		if (earlier.failure == null || !earlier.joined) {
			logger.warn(
					"Node '%s' could not renew its lease by %s, and tries again: %s. Its own sessions go on; after %s without a lease, other nodes cannot be reached"
						.formatted(this.self, this.engine.name(), reason, this.lease));
		}
		this.view = new View(earlier.live, earlier.renewedNanos, earlier.clockMillis, earlier.joined, reason);
	}

	/** Reads which nodes have a lease. */
	CompletableFuture<Void> look() {
		return this.engine.nodes().orTimeout(this.timeout.toMillis(), TimeUnit.MILLISECONDS).thenAccept(this::seen);
	}

	private void seen(Map<String, byte[]> nodes) {
		Map<String, Integer> live = new TreeMap<>();
		nodes.forEach((id, description) -> live.put(id, WireForm.sessionsOfNode(description)));
		Set<String> left;
		synchronized (this) {
			View earlier = this.view;
			left = new HashSet<>(earlier.live.keySet());
			left.removeAll(live.keySet());
			this.view = new View(Map.copyOf(live), earlier.renewedNanos, earlier.clockMillis, earlier.joined,
					earlier.failure);
		}
		left.forEach((id) -> {
			logger.info("Node '%s' has left".formatted(id));
			this.gone.accept(id);
		});
	}

	/**
	 * Whether a node has a lease. Looks again if the node is not known, because it may
	 * have just joined.
	 */
	CompletableFuture<Boolean> isLive(String id) {
		if (isKnown(id)) {
			return CompletableFuture.completedFuture(true);
		}
		return look().thenApply((seen) -> isKnown(id));
	}

	/** Whether a node had a lease when this node looked for the last time. */
	boolean isKnown(String id) {
		return id.equals(this.self) || this.view.live.containsKey(id);
	}

	/**
	 * Returns the other nodes that had a lease when this node looked for the last time.
	 */
	List<String> others() {
		return this.view.live.keySet().stream().filter((id) -> !id.equals(this.self)).toList();
	}

	List<SessionNode> all() {
		List<SessionNode> all = new ArrayList<>();
		all.add(new SessionNode(this.self, this.sessions.getAsInt(), true));
		if (!isIsolated()) {
			View now = this.view;
			now.live.forEach((id, count) -> {
				if (!id.equals(this.self)) {
					all.add(new SessionNode(id, count, false));
				}
			});
		}
		return all;
	}

	/** Whether the lease of this node has expired. */
	boolean isIsolated() {
		return isIsolated(this.view);
	}

	private boolean isIsolated(View now) {
		return !now.joined || nanoTime() - now.renewedNanos >= this.lease.toNanos();
	}

	/** Why this node is isolated, or {@code null} if it is not. */
	@Nullable String problem() {
		View now = this.view;
		if (!isIsolated(now)) {
			return null;
		}
		String reason = (now.failure != null) ? now.failure : "the latest renewal of its lease takes too long";
		return "%s cannot be reached, so this node reaches no other: %s".formatted(this.engine.name(), reason);
	}

	/** The time of the engine in milliseconds, as far as this node knows it. */
	long engineMillis() {
		View now = this.view;
		return now.joined ? now.clockMillis + TimeUnit.NANOSECONDS.toMillis(nanoTime()) : System.currentTimeMillis();
	}

}
