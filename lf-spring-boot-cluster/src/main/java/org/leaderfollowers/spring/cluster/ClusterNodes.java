package org.leaderfollowers.spring.cluster;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
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

	/** Before the first renewal has ended. */
	private static final String NOT_TRIED = "This node has not joined yet";

	/**
	 * Characters that would forge lines or change the direction of text. The class of the
	 * auto-configuration that replaces them is internal there.
	 */
	private static final String HARMFUL = "[\\p{Cc}\\p{Cf}\\p{Zl}\\p{Zp}]";

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

	private volatile View view = new View(Map.of(), 0, new Offset(0, 0, 0, 0), false, NOT_TRIED);

	/** How many looks at the others have begun. */
	private final AtomicLong looks = new AtomicLong();

	/** The latest look whose answer has come. Guarded by this object. */
	private long latestLook;

	/**
	 * What this node knows.
	 *
	 * @param live the nodes with a lease, by identifier, with their sessions
	 * @param renewedNanos when this node has last renewed its lease, by
	 * {@link System#nanoTime()}
	 * @param offset the time of the engine
	 * @param joined whether this node has ever renewed its lease
	 * @param failure why the latest renewal has failed, or {@code null} if it has not
	 */
	private record View(Map<String, Integer> live, long renewedNanos, Offset offset, boolean joined,
			@Nullable String failure) {
	}

	/**
	 * The time of the engine minus that of {@link System#nanoTime()}, in milliseconds. It
	 * lies between two bounds, because the engine reads its clock after it was asked, and
	 * before its answer arrives.
	 *
	 * @param earliest the lower bound
	 * @param latest the upper bound
	 * @param believed the lower bound, as long as a time that goes back is not believed
	 * @param behindSince since when the time that the engine tells is not believed, by
	 * {@link System#nanoTime()}
	 */
	private record Offset(long earliest, long latest, long believed, long behindSince) {

		static Offset between(long askedNanos, long answeredNanos, long engineMillis) {
			// Rounded down
			long earliest = engineMillis - TimeUnit.NANOSECONDS.toMillis(answeredNanos) - 1;
			return new Offset(earliest, engineMillis - TimeUnit.NANOSECONDS.toMillis(askedNanos), earliest, 0);
		}

		boolean isBehind() {
			return this.earliest < this.believed;
		}

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
			.<Void>thenApply((seen) -> null)
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
		// The lease counts from before the call: it cannot end earlier than this.
		this.view = new View(earlier.live, begun, offset(earlier, begun, engineMillis), true, null);
		if (!wasIsolated && earlier.failure != null) {
			// Something may have been lost meanwhile.
			this.returned.run();
		}
		if (wasIsolated) {
			logger.info("Node '%s' has joined the other nodes by %s".formatted(this.self, this.engine.name()));
			this.returned.run();
		}
	}

	/**
	 * Corrects the time of the engine. While a process was suspended, its own time has
	 * gone on. Hazelcast first hears of an earlier time then, so an engine whose time
	 * goes back is believed only if that lasts.
	 */
	private Offset offset(View earlier, long begun, long engineMillis) {
		Offset known = earlier.offset;
		Offset told = Offset.between(begun, nanoTime(), engineMillis);
		boolean isExact = nanoTime() - begun < CLOCK_ERROR_NANOS;
		if (!earlier.joined || (isExact && told.latest >= known.believed)) {
			return told;
		}
		if (!isExact) {
			// The answer to a process that was suspended tells little about the time.
			return known;
		}
		boolean goesOn = known.isBehind() && begun - earlier.renewedNanos < this.lease.toNanos();
		long since = goesOn ? known.behindSince : begun;
		return (begun - since >= this.lease.toNanos()) ? told
				: new Offset(Math.min(told.earliest, known.earliest), known.latest, known.believed, since);
	}

	private synchronized void failed(Throwable failure) {
		View earlier = this.view;
		Throwable cause = (failure.getCause() != null) ? failure.getCause() : failure;
		String reason = cause.getClass().getSimpleName()
				+ ((cause.getMessage() != null) ? ": " + cause.getMessage().replaceAll(HARMFUL, "?") : "");
		if (earlier.failure == null || earlier.failure.equals(NOT_TRIED)) {
			logger.warn(
					"Node '%s' could not renew its lease by %s, and tries again: %s. Its own sessions go on; after %s without a lease, other nodes cannot be reached"
						.formatted(this.self, this.engine.name(), reason, this.lease));
		}
		this.view = new View(earlier.live, earlier.renewedNanos, earlier.offset, earlier.joined, reason);
	}

	/**
	 * Reads which nodes have a lease.
	 * @return their identifiers
	 */
	CompletableFuture<Set<String>> look() {
		long number = this.looks.incrementAndGet();
		return this.engine.nodes()
			.orTimeout(this.timeout.toMillis(), TimeUnit.MILLISECONDS)
			.thenApply((nodes) -> seen(number, nodes));
	}

	private Set<String> seen(long number, Map<String, byte[]> nodes) {
		Map<String, Integer> live = new TreeMap<>();
		nodes.forEach((id, description) -> {
			// Others can write to the engine, and the log shows identifiers as they are.
			if (WireForm.isNode(id)) {
				live.put(id, WireForm.sessionsOfNode(description));
			}
		});
		Set<String> left;
		synchronized (this) {
			if (number < this.latestLook) {
				// A later look was faster, and knows better.
				return live.keySet();
			}
			this.latestLook = number;
			View earlier = this.view;
			left = new HashSet<>(earlier.live.keySet());
			left.removeAll(live.keySet());
			this.view = new View(Collections.unmodifiableMap(live), earlier.renewedNanos, earlier.offset,
					earlier.joined, earlier.failure);
		}
		left.forEach((id) -> {
			logger.info("Node '%s' has left".formatted(id));
			this.gone.accept(id);
		});
		return live.keySet();
	}

	/**
	 * Whether a node has a lease. Looks again if the node is not known, because it may
	 * have just joined.
	 */
	CompletableFuture<Boolean> isLive(String id) {
		if (isKnown(id)) {
			return CompletableFuture.completedFuture(true);
		}
		return look().thenApply((seen) -> seen.contains(id) || isKnown(id));
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

	/** The latest time that it may be for the engine, in milliseconds. */
	long engineMillis() {
		View now = this.view;
		return now.joined ? now.offset.latest + TimeUnit.NANOSECONDS.toMillis(nanoTime()) : System.currentTimeMillis();
	}

	/**
	 * How far {@link #engineMillis()} may be ahead of the engine, in milliseconds. The
	 * deadline of a request must not be later than its sender wants, for any receiver.
	 */
	long errorMillis() {
		Offset offset = this.view.offset;
		return offset.latest - offset.earliest;
	}

}
