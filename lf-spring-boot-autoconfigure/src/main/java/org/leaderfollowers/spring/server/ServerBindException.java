package org.leaderfollowers.spring.server;

import java.io.UncheckedIOException;
import java.net.BindException;
import java.net.InetSocketAddress;
import java.util.Locale;

import org.leaderfollowers.Server;

/**
 * Thrown when a server cannot listen on its address. The root cause is the
 * {@link BindException}.
 */
@SuppressWarnings("serial")
class ServerBindException extends RuntimeException {

	private final Reason reason;

	private final ManagedServer server;

	private final InetSocketAddress address;

	private ServerBindException(Reason reason, ManagedServer server, InetSocketAddress address, Throwable cause) {
		super(reason.describe(address), cause);
		this.reason = reason;
		this.server = server;
		this.address = address;
	}

	Reason getReason() {
		return this.reason;
	}

	ManagedServer getServer() {
		return this.server;
	}

	/**
	 * Returns the address that the server was to listen on.
	 */
	InetSocketAddress getAddress() {
		return this.address;
	}

	/**
	 * Java has one exception for all reasons; only the system's message tells them apart.
	 * @return the exception to throw, which is the given one if the reason is another
	 */
	static RuntimeException of(UncheckedIOException failure, Server server, ManagedServer managed) {
		if (failure.getCause() instanceof BindException cause && cause.getMessage() != null) {
			String message = cause.getMessage().toLowerCase(Locale.ROOT);
			for (Reason reason : Reason.values()) {
				if (message.contains(reason.systemMessage)) {
					return new ServerBindException(reason, managed, server.address(), failure);
				}
			}
		}
		return failure;
	}

	/**
	 * The reasons why a server cannot listen.
	 */
	enum Reason {

		/** Something else listens on the port. */
		PORT_IN_USE("in use"),

		/** The machine does not have the address. */
		ADDRESS_NOT_AVAILABLE("assign requested address"),

		/** The process must not listen on the port. */
		PORT_NOT_PERMITTED("permission denied");

		private final String systemMessage;

		Reason(String systemMessage) {
			this.systemMessage = systemMessage;
		}

		private String describe(InetSocketAddress address) {
			return switch (this) {
				case PORT_IN_USE -> "Port %d is already in use".formatted(address.getPort());
				case ADDRESS_NOT_AVAILABLE -> "Address %s is not available".formatted(address.getHostString());
				case PORT_NOT_PERMITTED -> "Listening on port %d is not permitted".formatted(address.getPort());
			};
		}

	}

}
