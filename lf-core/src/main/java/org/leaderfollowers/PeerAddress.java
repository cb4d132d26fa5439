package org.leaderfollowers;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.Collections;
import java.util.Comparator;
import java.util.NavigableSet;
import java.util.TreeSet;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.internal.logging.EngineLog;
import org.leaderfollowers.internal.logging.RateLimit;
import org.slf4j.event.Level;

/**
 * One of the addresses that a client connects to: whether it can be reached and, if not,
 * when it is retried. Only the owner of the client's handle changes it.
 */
final class PeerAddress {

	private final String client;

	private final InetSocketAddress requested;

	private final NameLookup.NameService names;

	private final Runnable lookedUp;

	private final long minBackoffNanos;

	private final long maxBackoffNanos;

	/** The number of failures in a row. */
	private volatile int failures;

	private volatile @Nullable String failure;

	/** How many connections exist or are being made. */
	private volatile int connections;

	// Used by the owner only

	private long retryNanos;

	/** The number of pauses in a row, of which the latest one may last. */
	private int pauses;

	/** When the latest pause began. */
	private long pausedNanos;

	/** When the latest attempt failed. */
	private long failedNanos;

	/** The slot whose attempt tests whether the address can be reached again. */
	private @Nullable Object tester;

	/** Limits the lines: a peer can fail and recover as often as it likes. */
	private final RateLimit log = new RateLimit(TimeUnit.SECONDS.toNanos(10));

	/** Whether the log says that the address fails. */
	private boolean reported;

	/** The address that was used last, of those that the name resolves to. */
	private @Nullable InetAddress latest;

	/** The lookup of the name that is under way. */
	private @Nullable NameLookup lookup;

	/** The lookup that has ended since the previous round. */
	private @Nullable NameLookup found;

	/**
	 * Creates an address without connections.
	 * @param lookedUp called when a lookup of the name has ended, by another thread
	 */
	PeerAddress(String client, InetSocketAddress requested, ClientOptions options, Runnable lookedUp) {
		this.client = client;
		this.requested = requested;
		this.names = options.names();
		this.lookedUp = lookedUp;
		this.minBackoffNanos = options.minBackoffNanos();
		this.maxBackoffNanos = options.maxBackoffNanos();
	}

	/**
	 * Begins a round of the owner, in which the result of a lookup can be used that has
	 * ended since the previous one.
	 */
	void beginRound() {
		this.found = (this.lookup != null && this.lookup.hasEnded()) ? this.lookup : null;
		this.lookup = (this.found == null) ? this.lookup : null;
	}

	/**
	 * Whether the name is being looked up. The owner looks again when this has ended.
	 */
	boolean isBeingLookedUp() {
		return this.lookup != null;
	}

	/**
	 * Returns the address to connect to, or {@code null} if its name is being looked up
	 * from now on. It is looked up for each attempt, because its addresses may have
	 * changed; attempts that wait for the same lookup share it.
	 * <p>
	 * All addresses of a name are used in turn. Name servers rotate their answers, so the
	 * turn does not depend on their order.
	 */
	@Nullable InetSocketAddress next() throws IOException {
		if (!this.requested.isUnresolved()) {
			return this.requested;
		}
		if (this.found == null) {
			beginLookup();
			return null;
		}
		InetAddress[] all = this.found.addresses();
		NavigableSet<InetAddress> sorted = new TreeSet<>(Comparator.comparing(InetAddress::getHostAddress));
		Collections.addAll(sorted, all);
		InetAddress next = sorted.higher((this.latest != null) ? this.latest : all[0]);
		this.latest = (next != null) ? next : sorted.first();
		return new InetSocketAddress(this.latest, this.requested.getPort());
	}

	private void beginLookup() {
		if (this.lookup == null) {
			NameLookup begun = new NameLookup(this.requested.getHostString(), this.names, this.lookedUp);
			begun.begin();
			this.lookup = begun;
		}
	}

	/**
	 * Whether a connection may be made. While the address is failing, one attempt at a
	 * time tests whether it can be reached again.
	 */
	boolean isUsable(long nowNanos) {
		return this.failures == 0 || (nowNanos - this.retryNanos >= 0 && this.tester == null);
	}

	/** When to retry an address that fails and is not being tested. */
	long retryNanos() {
		return (this.tester != null) ? EngineEventHandler.NO_DEADLINE : this.retryNanos;
	}

	boolean isFailing() {
		return this.failures > 0;
	}

	/**
	 * Whether the address is failing, but no attempt has failed since the given time. A
	 * connection that is older than the latest failure proves nothing: a server that
	 * drains keeps its connections and refuses new ones.
	 */
	boolean failedBefore(long timeNanos) {
		return isFailing() && timeNanos - this.failedNanos > 0;
	}

	int connections() {
		return this.connections;
	}

	void attempt(Object by) {
		this.connections++;
		this.tester = (this.failures > 0) ? by : null;
	}

	/**
	 * Records that an attempt or its connection has ended. The end of an older connection
	 * leaves the attempt alone that tests the address.
	 */
	void ended(Object by) {
		this.connections--;
		endTest(by);
	}

	private void endTest(Object by) {
		this.tester = (this.tester != by) ? this.tester : null;
	}

	/**
	 * Looks at an established connection. A proxy whose server is down accepts
	 * connections and closes them at once, so the address is proven only after a while.
	 * @return when it is proven, or {@link EngineEventHandler#NO_DEADLINE}
	 */
	long established(Object by, long establishedNanos, long nowNanos) {
		if (!failedBefore(establishedNanos)) {
			// Another attempt has failed since, so this one proves nothing any more.
			endTest(by);
			return EngineEventHandler.NO_DEADLINE;
		}
		long proven = establishedNanos + this.minBackoffNanos;
		if (nowNanos - proven < 0) {
			return proven;
		}
		succeeded();
		return EngineEventHandler.NO_DEADLINE;
	}

	/** Records that the address is proven. */
	void succeeded() {
		this.tester = null;
		if (this.failures > 0) {
			if (this.reported) {
				EngineLog.INSTANCE.withoutBlocking(Level.INFO,
						"Client '{}' is connected to {} again, after {} failed attempts", this.client, this,
						this.failures);
			}
			this.reported = false;
			this.failures = 0;
			this.pauses = 0;
			this.failure = null;
		}
	}

	/**
	 * Records that an attempt has failed or its connection ended at once. The pause
	 * doubles with each failure of an attempt that began after the previous pause: all
	 * connections of a client may have been attempted before the first of them failed.
	 * Half of a pause is random, so that the clients of a restarted server do not all
	 * reconnect at the same time ("equal jitter": M. Brooker, Exponential Backoff And
	 * Jitter, AWS Architecture Blog, 2015).
	 */
	void failed(String why, long begunNanos, long nowNanos) {
		this.failure = why;
		this.failedNanos = nowNanos;
		if (this.pauses == 0 || begunNanos - this.pausedNanos > 0) {
			int exponent = Math.min(this.pauses++, Long.numberOfLeadingZeros(this.minBackoffNanos) - 2);
			long pause = Math.min(this.maxBackoffNanos, this.minBackoffNanos << Math.max(0, exponent));
			this.pausedNanos = nowNanos;
			this.retryNanos = nowNanos + pause / 2 + ThreadLocalRandom.current().nextLong(pause / 2 + 1);
		}
		long suppressed = this.reported ? -1 : this.log.tryAcquire();
		if (suppressed >= 0) {
			this.reported = true;
			EngineLog.INSTANCE.withoutBlocking(Level.WARN,
					"Client '{}' cannot connect to {}: {}. It retries until it succeeds{}", this.client, this, why,
					RateLimit.heldBack(suppressed));
		}
		this.failures++;
	}

	ClientSnapshot.Address snapshot() {
		return new ClientSnapshot.Address(toString(), this.failures == 0, this.connections, this.failures,
				this.failure);
	}

	@Override
	public String toString() {
		return this.requested.getHostString() + ":" + this.requested.getPort();
	}

}
