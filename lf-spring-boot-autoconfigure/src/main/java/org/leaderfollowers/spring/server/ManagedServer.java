package org.leaderfollowers.spring.server;

import java.io.UncheckedIOException;
import java.time.Duration;
import java.time.temporal.ChronoUnit;
import java.util.function.Supplier;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.Server;
import org.leaderfollowers.ServerSnapshot.State;

import org.springframework.util.Assert;

/**
 * A server that can be started again after it was stopped, and where people find what
 * configures it.
 */
final class ManagedServer {

	/**
	 * How long draining may take is limited by the one who stops the server meanwhile.
	 */
	private static final Duration UNLIMITED = ChronoUnit.FOREVER.getDuration();

	private final String name;

	private final Supplier<? extends Server> factory;

	/** The name of the bean, or the prefix of the properties. */
	private final String configuration;

	private final boolean configuredByProperties;

	private volatile @Nullable Server current;

	/** The last one that was drained ahead of its end. Guarded by this object. */
	private @Nullable Server drained;

	/** The last one that was stopped. Guarded by this object. */
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
	 * needed, and again when the server was stopped and is to be started once more
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

	/**
	 * Tells where to change an attribute of the server, to people.
	 */
	String where(String attribute) {
		return this.configuredByProperties ? "the property '%s.%s'".formatted(this.configuration, attribute)
				: "the %s of the bean '%s'".formatted(attribute, this.configuration);
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
			throw ServerBindException.of(ex, started, this);
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
