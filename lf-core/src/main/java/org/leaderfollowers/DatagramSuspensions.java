package org.leaderfollowers;

import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/** The suspended datagrams of a server, which can time out. */
final class DatagramSuspensions {

	private final long timeoutNanos;

	private final Set<Datagram> suspended = ConcurrentHashMap.newKeySet();

	/**
	 * Creates an empty set.
	 * @param timeoutNanos how long a datagram may be suspended, or 0 for no limit
	 */
	DatagramSuspensions(long timeoutNanos) {
		this.timeoutNanos = timeoutNanos;
	}

	/**
	 * Adds a suspended datagram. Any thread.
	 * @return when the suspension times out, or {@link EngineEventHandler#NO_DEADLINE}
	 */
	long add(Datagram datagram) {
		if (this.timeoutNanos == 0) {
			return EngineEventHandler.NO_DEADLINE;
		}
		long now = System.nanoTime();
		datagram.suspendedNanos(now);
		this.suspended.add(datagram);
		return now + this.timeoutNanos;
	}

	/** Removes a datagram that is no longer under way. Any thread. */
	void remove(Datagram datagram) {
		if (datagram.wasSuspended()) {
			this.suspended.remove(datagram);
		}
	}

	/** When the first suspension times out. */
	long deadline() {
		long earliest = EngineEventHandler.NO_DEADLINE;
		for (Datagram datagram : this.suspended) {
			earliest = EngineEventHandler.earlier(earliest, datagram.suspendedNanos() + this.timeoutNanos);
		}
		return earliest;
	}

	/** Ends the suspensions that have timed out. */
	void expire(long nowNanos) {
		for (Datagram datagram : this.suspended) {
			if (nowNanos - datagram.suspendedNanos() - this.timeoutNanos >= 0) {
				// First, because a removal that fails may have removed the datagram.
				datagram.timeOut();
				this.suspended.remove(datagram);
			}
		}
	}

}
