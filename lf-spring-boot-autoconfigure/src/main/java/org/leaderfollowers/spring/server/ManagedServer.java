package org.leaderfollowers.spring.server;

import java.io.UncheckedIOException;
import java.time.Duration;
import java.time.temporal.ChronoUnit;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.ServerSnapshot.State;
import org.leaderfollowers.Server;

/**
 * A server that can be started again after it was stopped.
 */
class ManagedServer {

	/**
	 * How long draining may take is limited by the one who stops the server meanwhile.
	 */
	private static final Duration UNLIMITED = ChronoUnit.FOREVER.getDuration();

	private final ServerRegistration registration;

	private volatile @Nullable Server current;

	/** The last one that was drained ahead of its end. Guarded by this object. */
	private @Nullable Server drained;

	/** The last one that was stopped. Guarded by this object. */
	private @Nullable Server stopped;

	ManagedServer(ServerRegistration registration) {
		this.registration = registration;
		if (!registration.isBuiltWhenNeeded()) {
			this.current = registration.get();
		}
	}

	String name() {
		return this.registration.server();
	}

	/**
	 * Builds the server when it is first needed, which is its start unless somebody asks
	 * for it before.
	 */
	Server current() {
		Server server = this.current;
		return (server != null) ? server : build(null);
	}

	private synchronized Server build(@Nullable Server outlived) {
		Server server = this.current;
		if (server == outlived || server == null) {
			server = this.registration.get();
			this.current = server;
		}
		return server;
	}

	boolean isRunning() {
		return state() == State.RUNNING;
	}

	private State state() {
		Server server = this.current;
		return (server != null) ? server.snapshot().state() : State.NEW;
	}

	/**
	 * Starts the server.
	 * @return whether it did not run before
	 */
	boolean start() {
		if (isRunning()) {
			// A bean that was started by its own configuration.
			return false;
		}
		Server started = (state() != State.NEW) ? build(this.current) : current();
		try {
			started.start();
		}
		catch (UncheckedIOException ex) {
			throw ServerBindException.of(ex, started, this.registration);
		}
		ServerLog.started(started);
		return true;
	}

	/**
	 * Whether there may be something left to be answered.
	 */
	boolean isServing() {
		State state = state();
		return state == State.RUNNING || state == State.DRAINING;
	}

	boolean drain() {
		return current().drain(UNLIMITED);
	}

	/**
	 * Takes on nothing new from now on. Somebody else stops the server.
	 * @throws IllegalStateException if the server does not run, or drains already
	 */
	synchronized void beginDrain() {
		State state = state();
		if (state != State.RUNNING) {
			throw new IllegalStateException(
					"The server '%s' cannot be drained, since it is %s".formatted(name(), state));
		}
		Server draining = current();
		this.drained = draining;
		draining.drain(Duration.ZERO);
	}

	/**
	 * Stops the server.
	 * @param grace how long it may drain
	 * @return whether it was not stopped before. If it is stopped by two at the same
	 * time, one of them is told so
	 */
	boolean stop(Duration grace) {
		State state = state();
		if (state == State.NEW) {
			return false;
		}
		Server stopping = current();
		if (state != State.STOPPED) {
			stopping.close(grace);
		}
		synchronized (this) {
			// One that drains may have reached its end before anybody was told.
			boolean news = (state != State.STOPPED || this.drained == stopping) && this.stopped != stopping;
			this.stopped = stopping;
			return news;
		}
	}

}
