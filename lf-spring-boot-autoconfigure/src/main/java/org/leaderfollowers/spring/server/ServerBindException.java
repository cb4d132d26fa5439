package org.leaderfollowers.spring.server;

import java.io.UncheckedIOException;
import java.net.BindException;
import java.net.InetSocketAddress;
import java.util.Locale;

import org.leaderfollowers.Server;

import org.springframework.boot.diagnostics.AbstractFailureAnalyzer;
import org.springframework.boot.diagnostics.FailureAnalysis;

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

	/** Returns the address that the server could not listen on. */
	InetSocketAddress getAddress() {
		return this.address;
	}

	/**
	 * Java has one exception for all reasons; only the message of the system
	 * distinguishes them.
	 * @return the exception to throw, which is the given one for any other reason
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

		/** Another socket listens on the port. */
		PORT_IN_USE("in use"),

		/** The machine does not have the address. */
		ADDRESS_NOT_AVAILABLE("assign requested address"),

		/** The process is not allowed to listen on the port. */
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

	/** Describes which server could not be started, why, and what to do. */
	static class Analyzer extends AbstractFailureAnalyzer<ServerBindException> {

		@Override
		protected FailureAnalysis analyze(Throwable rootFailure, ServerBindException cause) {
			ManagedServer server = cause.getServer();
			int port = cause.getAddress().getPort();
			return switch (cause.getReason()) {
				case PORT_IN_USE -> analysis(cause, "port %d is already in use".formatted(port),
						"Stop the other process, or the other server of this application, that listens on port %d; or set %s to another port. 0 stands for any free port."
							.formatted(port, server.where("port")));
				case ADDRESS_NOT_AVAILABLE -> analysis(cause,
						"no network interface of this machine has the address %s"
							.formatted(cause.getAddress().getHostString()),
						"Set %s to an address of this machine, or remove it to listen on all of them."
							.formatted(server.where("address")));
				case PORT_NOT_PERMITTED -> analysis(cause,
						"the process is not permitted to listen on port %d".formatted(port),
						("Set %s to a port from 1024 on: most systems reserve the lower ones for privileged processes. "
								+ "If it must be port %d, give the process the permission, "
								+ "for example the capability CAP_NET_BIND_SERVICE on Linux.")
							.formatted(server.where("port"), port));
			};
		}

		private static FailureAnalysis analysis(ServerBindException cause, String problem, String action) {
			return new FailureAnalysis(
					"Server '%s' could not be started: %s.".formatted(cause.getServer().name(), problem), action,
					cause);
		}

	}

}
