package org.leaderfollowers.spring.server;

import java.io.UncheckedIOException;
import java.time.Duration;
import java.time.temporal.ChronoUnit;
import java.util.function.Supplier;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.CloseRate;
import org.leaderfollowers.Server;
import org.leaderfollowers.ServerSnapshot;
import org.leaderfollowers.ServerSnapshot.State;
import org.leaderfollowers.TcpServer;

import org.springframework.util.Assert;

/**
 * A server that can be started again after it was stopped, and a description of where it
 * is configured.
 */
final class ManagedServer {

	/** The drain itself has no timeout: the thread that stops the server ends it. */
	static final Duration UNLIMITED = ChronoUnit.FOREVER.getDuration();

	private final String name;

	private final Supplier<? extends Server> factory;

	/** The name of the bean, or the prefix of the properties. */
	private final String configuration;

	private final boolean configuredByProperties;

	private volatile @Nullable Server current;

	/**
	 * The latest server that was drained separately from the others. Guarded by this
	 * object.
	 */
	private @Nullable Server drained;

	/**
	 * The latest server that was evacuated, until it is drained. Guarded by this object.
	 */
	private @Nullable Server evacuated;

	/** The latest server that was stopped. Guarded by this object. */
	private @Nullable Server stopped;

	private ManagedServer(String name, Supplier<? extends Server> factory, String configuration,
			boolean configuredByProperties) {
		this.name = name;
		this.factory = factory;
		this.configuration = configuration;
		this.configuredByProperties = configuredByProperties;
	}

	/**
	 * Manages a server that is configured by properties.
	 * @param factory builds a new server of this name. It is called when the server is
	 * first needed, and again when the server is started after a stop
	 */
	static ManagedServer ofProperties(String name, String prefix, Supplier<? extends Server> factory) {
		return new ManagedServer(name, factory, prefix, true);
	}

	/**
	 * Manages a server that is a bean. It can be started once.
	 */
	static ManagedServer ofBean(String beanName, Server server) {
		ManagedServer managed = new ManagedServer(server.name(), () -> server, beanName, false);
		managed.current = server;
		return managed;
	}

	String name() {
		return this.name;
	}

	/** Describes where to change an attribute of the server, for messages. */
	String where(String attribute) {
		return this.configuredByProperties ? "the property '%s.%s'".formatted(this.configuration, attribute)
				: "the %s of the bean '%s'".formatted(attribute, this.configuration);
	}

	/**
	 * Builds the server when it is first needed: when it is started, or earlier if other
	 * code asks for it.
	 */
	Server current() {
		Server server = this.current;
		return (server != null) ? server : build(null);
	}

	private synchronized Server build(@Nullable Server outlived) {
		Server server = this.current;
		if (server == outlived || server == null) {
			Server built = this.factory.get();
			Assert.state(built.name().equals(this.name),
					() -> "The server '%s' must keep its name, but was built as '%s'".formatted(this.name,
							built.name()));
			server = built;
			this.current = built;
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
	 * @return whether it was not running before
	 */
	boolean start() {
		if (isRunning()) {
			// The configuration of a bean may have started it.
			return false;
		}
		Server started = (state() != State.NEW) ? build(this.current) : current();
		try {
			started.start();
		}
		catch (UncheckedIOException ex) {
			throw ServerBindException.of(ex, started, this);
		}
		ServerLog.started(started);
		return true;
	}

	/** Whether there may be unanswered messages. */
	boolean isServing() {
		State state = state();
		return state == State.RUNNING || state == State.DRAINING;
	}

	/**
	 * Begins to drain. Another thread stops the server.
	 * @throws IllegalStateException if the server does not run or drains already
	 */
	synchronized ServerSnapshot beginDrain(Duration timeout, String occasion) {
		State state = state();
		boolean drainsAtOnce = state == State.DRAINING && this.evacuated != current();
		if (drainsAtOnce || (state != State.RUNNING && state != State.DRAINING)) {
			throw new IllegalStateException(
					"The server '%s' cannot be drained, because it is %s".formatted(name(), state));
		}
		Server draining = current();
		this.drained = draining;
		this.evacuated = null;
		draining.drain(Duration.ZERO);
		ServerLog.draining(draining, timeout, occasion);
		return draining.snapshot();
	}

	/**
	 * Begins an evacuation, or changes its rate. Another thread stops the server.
	 * @throws IllegalStateException if the server does not run or drains already, or has
	 * no connections
	 */
	synchronized ServerSnapshot evacuate(CloseRate rate, String occasion) {
		Server evacuated = current();
		// Connections may close as soon as the evacuation has begun.
		int open = evacuated.snapshot().openConnections();
		if (!(evacuated instanceof TcpServer server) || !server.evacuate(rate)) {
			throw new IllegalStateException("The server '%s' cannot be evacuated, because it %s".formatted(name(),
					(evacuated instanceof TcpServer) ? "is " + state() : "has no connections"));
		}
		this.drained = evacuated;
		this.evacuated = evacuated;
		ServerLog.evacuating(evacuated, open, rate, occasion);
		return evacuated.snapshot();
	}

	/** Whether some connections have not been told to end yet. */
	boolean isEvacuating() {
		Server server = this.current;
		return server != null && server.snapshot().evacuation() != null;
	}

	boolean awaitDrained() {
		return current().awaitDrained(UNLIMITED);
	}

	/**
	 * Stops the server.
	 * @param grace how long to drain
	 * @return whether it was not stopped before. If two threads stop it at the same time,
	 * the result is {@code true} for one of them only
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
			// A draining server may have ended before this method has reported it to a
			// caller.
			boolean news = (state != State.STOPPED || this.drained == stopping) && this.stopped != stopping;
			this.stopped = stopping;
			return news;
		}
	}

}
