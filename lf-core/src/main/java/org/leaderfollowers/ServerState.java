package org.leaderfollowers;

import java.time.Instant;
import java.util.function.BooleanSupplier;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.internal.lifecycle.Quiescence;
import org.leaderfollowers.internal.promotion.Clock;

/**
 * How far the life of a server is: what its socket and its connections ask about it and
 * report. Any thread. The life itself is a {@link ServerLifecycle}.
 */
final class ServerState {

	private final String name;

	private final ServerWarnings warnings;

	private final Quiescence quiescence = new Quiescence(Clock.SYSTEM);

	private volatile ServerSnapshot.State current = ServerSnapshot.State.NEW;

	private volatile boolean paused;

	/** Whether messages were lost, since the grace was used up. Stays true. */
	private volatile boolean aborted;

	private volatile @Nullable Instant startedAt;

	private volatile @Nullable String listeningFailure;

	ServerState(String name, ServerWarnings warnings) {
		this.name = name;
		this.warnings = warnings;
	}

	String name() {
		return this.name;
	}

	ServerSnapshot.State current() {
		return this.current;
	}

	@Nullable Instant startedAt() {
		return this.startedAt;
	}

	boolean isDraining() {
		return this.current != ServerSnapshot.State.RUNNING;
	}

	boolean isPaused() {
		return this.paused;
	}

	boolean isAborted() {
		return this.aborted;
	}

	@Nullable String listeningFailure() {
		return this.listeningFailure;
	}

	/** The socket is closed, and nobody has asked for that. */
	void listeningFailed(Throwable cause) {
		// The first failure is the reason; what follows comes of it.
		if (this.current == ServerSnapshot.State.RUNNING && this.listeningFailure == null) {
			String failure = ServerWarnings.describe(cause);
			this.listeningFailure = failure;
			this.warnings.listeningFailed(failure);
		}
	}

	// Told by the life of the server, under its monitor

	void started() {
		this.current = ServerSnapshot.State.RUNNING;
		this.startedAt = Instant.now();
	}

	void drain() {
		if (this.current == ServerSnapshot.State.NEW) {
			this.current = ServerSnapshot.State.STOPPED;
		}
		if (this.current == ServerSnapshot.State.RUNNING) {
			this.current = ServerSnapshot.State.DRAINING;
		}
	}

	void stopped() {
		this.current = ServerSnapshot.State.STOPPED;
		// Another thread may drain without an end of time.
		this.quiescence.changed();
	}

	void aborted() {
		this.aborted = true;
	}

	void paused(boolean paused) {
		this.paused = paused;
	}

	// The wait for the end

	/** Something that a drain may wait for has happened. */
	void changed() {
		if (isDraining()) {
			this.quiescence.changed();
		}
	}

	/**
	 * Waits until nothing is left to be done, the time is up, or the server is closed.
	 * @return whether nothing is left
	 */
	boolean awaitRest(Quiescence.Condition condition, boolean handler, long deadlineNanos) {
		BooleanSupplier isStopped = () -> this.current == ServerSnapshot.State.STOPPED;
		return this.quiescence.await(condition, handler, deadlineNanos, isStopped);
	}

}
