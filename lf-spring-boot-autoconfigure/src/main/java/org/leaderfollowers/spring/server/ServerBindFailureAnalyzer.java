package org.leaderfollowers.spring.server;

import org.springframework.boot.diagnostics.AbstractFailureAnalyzer;
import org.springframework.boot.diagnostics.FailureAnalysis;

/**
 * {@link org.springframework.boot.diagnostics.FailureAnalyzer} for a
 * {@link ServerBindException}.
 */
class ServerBindFailureAnalyzer extends AbstractFailureAnalyzer<ServerBindException> {

	@Override
	protected FailureAnalysis analyze(Throwable rootFailure, ServerBindException cause) {
		ManagedServer server = cause.getServer();
		int port = cause.getAddress().getPort();
		return switch (cause.getReason()) {
			case PORT_IN_USE -> analysis(cause, "port %d is already in use".formatted(port),
					"Stop what listens on port %d, another process or another server of this application, or set %s to another port. 0 stands for any free port."
						.formatted(port, server.where("port")));
			case ADDRESS_NOT_AVAILABLE -> analysis(cause,
					"no network interface of this machine has the address %s"
						.formatted(cause.getAddress().getHostString()),
					"Set %s to an address of this machine, or remove it to listen on all of them."
						.formatted(server.where("address")));
			case PORT_NOT_PERMITTED ->
				analysis(cause, "the process is not permitted to listen on port %d".formatted(port),
						("Set %s to a port from 1024 on: most systems reserve the lower ones for privileged processes. "
								+ "If it must be port %d, give the process the permission, "
								+ "for example the capability CAP_NET_BIND_SERVICE on Linux.")
							.formatted(server.where("port"), port));
		};
	}

	private static FailureAnalysis analysis(ServerBindException cause, String problem, String action) {
		return new FailureAnalysis("Server '%s' could not be started: %s.".formatted(cause.getServer().name(), problem),
				action, cause);
	}

}
