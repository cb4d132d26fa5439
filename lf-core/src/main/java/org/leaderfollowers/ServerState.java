package org.leaderfollowers;

import java.time.Instant;
import java.util.function.BooleanSupplier;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.internal.lifecycle.Quiescence;
import org.leaderfollowers.internal.promotion.Clock;

/**
 * The current state of a server, which its socket and its connections query and update.
 * Any thread. {@link ServerLifecycle} changes it.
 */
final class ServerState {

	private final String name;

	private final ServerWarnings warnings;

	private final Quiescence quiescence;

	/**
	 * The state of the server, if this is the state of its connections in another pool;
	 * otherwise {@code null}.
	 */
	private final @Nullable ServerState whole;

	private volatile ServerSnapshot.State current = ServerSnapshot.State.NEW;

	/**
	 * Whether the connections drain one after the other, each when its turn comes. Set
	 * before the state changes, so that no connection drains too early.
	 */
	private volatile boolean gradual;

	private volatile boolean paused;

	/** Whether messages were lost because the grace period was over. Never reset. */
	private volatile boolean aborted;

	private volatile @Nullable Instant startedAt;

	private volatile @Nullable String listeningFailure;

	ServerState(String name, ServerWarnings warnings) {
		this(name, warnings, new Quiescence(Clock.SYSTEM), null);
	}

	private ServerState(String name, ServerWarnings warnings, Quiescence quiescence, @Nullable ServerState whole) {
		this.name = name;
		this.warnings = warnings;
		this.quiescence = quiescence;
		this.whole = whole;
	}

	/**
	 * Creates the state of those connections of the server that another pool serves. They
	 * drain if the server does, and may drain although it runs. Its changes are also seen
	 * by threads that wait for the server.
	 */
	ServerState inOtherPool() {
		ServerState state = new ServerState(this.name, this.warnings, this.quiescence, this);
		state.current = ServerSnapshot.State.RUNNING;
		return state;
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

	/** Whether everything drains. */
	boolean isDraining() {
		return (this.current != ServerSnapshot.State.RUNNING && !this.gradual)
				|| (this.whole != null && this.whole.isDraining());
	}

	/** Whether nothing new is accepted, and some or all connections drain. */
	boolean isEnding() {
		return this.current != ServerSnapshot.State.RUNNING || (this.whole != null && this.whole.isEnding());
	}

	/** Ends an evacuation: all connections drain from now on. */
	void drainAll() {
		this.gradual = false;
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

	/** Called when the socket was closed without a request to close it. */
	void listeningFailed(Throwable cause) {
		// Only the first failure is recorded, because later ones are consequences of it.
		if (this.current == ServerSnapshot.State.RUNNING && this.listeningFailure == null) {
			String failure = ServerWarnings.describe(cause);
			this.listeningFailure = failure;
			this.warnings.listeningFailed(failure);
		}
	}

	// Called by the lifecycle of the server, under its monitor

	void started() {
		this.startedAt = Instant.now();
		this.current = ServerSnapshot.State.RUNNING;
	}

	synchronized void drain() {
		if (this.current == ServerSnapshot.State.NEW) {
			this.current = ServerSnapshot.State.STOPPED;
		}
		if (this.current == ServerSnapshot.State.RUNNING) {
			this.current = ServerSnapshot.State.DRAINING;
		}
	}

	/**
	 * Lets a connection in, unless only the connections in this pool drain. A thread that
	 * drains them afterwards finds the connection.
	 * @param entry makes the connection one of these
	 * @return whether the connection has entered
	 */
	synchronized boolean enter(Runnable entry) {
		boolean enters = this.current == ServerSnapshot.State.RUNNING;
		if (enters) {
			entry.run();
		}
		return enters;
	}

	/** Returns {@code false} if the server does not run. */
	boolean evacuate() {
		if (this.current != ServerSnapshot.State.RUNNING) {
			return false;
		}
		this.gradual = true;
		this.current = ServerSnapshot.State.DRAINING;
		return true;
	}

	void stopped() {
		this.current = ServerSnapshot.State.STOPPED;
		// Another thread may be draining without a time limit.
		this.quiescence.changed();
	}

	void aborted() {
		this.aborted = true;
	}

	void paused(boolean paused) {
		this.paused = paused;
	}

	// Waiting for the end

	/** Called when something has happened that a drain may wait for. */
	void changed() {
		if (isEnding()) {
			this.quiescence.changed();
		}
	}

	/**
	 * Waits until nothing is left to do, the deadline passes, or the server is closed.
	 * @return whether nothing is left to do
	 */
	boolean awaitRest(Quiescence.Condition condition, boolean handler, long deadlineNanos) {
		BooleanSupplier isStopped = () -> this.current == ServerSnapshot.State.STOPPED;
		return this.quiescence.await(condition, handler, deadlineNanos, isStopped);
	}

}
