package org.leaderfollowers.spring.server;

import java.io.UncheckedIOException;
import java.net.BindException;
import java.net.InetSocketAddress;
import java.util.Locale;

import org.leaderfollowers.Server;

/**
 * Thrown when a server cannot listen on its address. The subclasses tell why.
 *
 * @serial exclude
 */
@SuppressWarnings("serial")
public abstract class ServerBindException extends RuntimeException {

	private final String server;

	private final InetSocketAddress address;

	private final ServerRegistration registration;

	ServerBindException(String message, Throwable cause, Server server, ServerRegistration registration) {
		super(message, cause);
		this.server = server.name();
		this.address = server.address();
		this.registration = registration;
	}

	/**
	 * Returns the name of the server.
	 * @return the name
	 */
	public String getServer() {
		return this.server;
	}

	/**
	 * Returns the address that the server was to listen on.
	 * @return address and port
	 */
	public InetSocketAddress getAddress() {
		return this.address;
	}

	/**
	 * Tells where to change an attribute of the server, to people.
	 */
	String where(String attribute) {
		return this.registration.where(attribute);
	}

	/**
	 * Java has one exception for all of them; only the system's message tells them apart.
	 * @return the exception to throw, which is the given one if the reason is another
	 */
	static RuntimeException of(UncheckedIOException failure, Server server, ServerRegistration registration) {
		if (failure.getCause() instanceof BindException cause && cause.getMessage() != null) {
			String message = cause.getMessage().toLowerCase(Locale.ROOT);
			if (message.contains("in use")) {
				return new PortInUseException(failure, server, registration);
			}
			if (message.contains("assign requested address")) {
				return new AddressNotAvailableException(failure, server, registration);
			}
			if (message.contains("permission denied")) {
				return new PortNotPermittedException(failure, server, registration);
			}
		}
		return failure;
	}

}
