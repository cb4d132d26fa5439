package org.leaderfollowers.spring.server;

import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.time.Duration;
import java.time.temporal.ChronoUnit;

import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.leaderfollowers.ServerSnapshot;
import org.leaderfollowers.ServerSnapshot.State;
import org.leaderfollowers.Server;

/**
 * A server that can be started again after it was stopped.
 */
class ManagedServer {

	private static final Log logger = LogFactory.getLog(ManagedServer.class);

	/**
	 * How long draining may take is limited by the one who stops the server meanwhile.
	 */
	private static final Duration UNLIMITED = ChronoUnit.FOREVER.getDuration();

	private final ServerRegistration registration;

	private volatile Server current;

	ManagedServer(ServerRegistration registration) {
		this.registration = registration;
		this.current = registration.get();
	}

	String name() {
		return this.current.name();
	}

	Server current() {
		return this.current;
	}

	boolean isRunning() {
		return state() == State.RUNNING;
	}

	private State state() {
		return this.current.snapshot().state();
	}

	void start() {
		if (isRunning()) {
			// A bean that was started by its own configuration.
			return;
		}
		if (state() != State.NEW) {
			this.current = this.registration.get();
		}
		try {
			this.current.start();
		}
		catch (UncheckedIOException ex) {
			throw ServerBindException.of(ex, this.current, this.registration);
		}
		ServerSnapshot server = this.current.snapshot();
		logger.info("Server '%s' started on port %d of %s (framing '%s', handler '%s', pool '%s')".formatted(
				server.name(), server.port(), addressDescription(), server.framing(), server.handler(), server.pool()));
	}

	private String addressDescription() {
		InetAddress address = this.current.address().getAddress();
		return address.isAnyLocalAddress() ? "all addresses" : address.getHostAddress();
	}

	boolean drain() {
		return this.current.drain(UNLIMITED);
	}

	void stop() {
		if (state() != State.NEW) {
			this.current.close(Duration.ZERO);
		}
	}

}
