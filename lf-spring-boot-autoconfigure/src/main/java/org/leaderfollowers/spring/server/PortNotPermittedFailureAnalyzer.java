package org.leaderfollowers.spring.server;

import org.springframework.boot.diagnostics.AbstractFailureAnalyzer;
import org.springframework.boot.diagnostics.FailureAnalysis;
import org.springframework.boot.diagnostics.FailureAnalyzer;

/**
 * {@link FailureAnalyzer} for a {@link PortNotPermittedException}.
 */
class PortNotPermittedFailureAnalyzer extends AbstractFailureAnalyzer<PortNotPermittedException> {

	@Override
	protected FailureAnalysis analyze(Throwable rootFailure, PortNotPermittedException cause) {
		int port = cause.getAddress().getPort();
		return new FailureAnalysis(
				"Server '%s' could not be started: the process is not permitted to listen on port %d."
					.formatted(cause.getServer(), port),
				("Set %s to a port from 1024 on: most systems reserve the lower ones for privileged processes. "
						+ "If it must be port %d, give the process the permission, "
						+ "for example the capability CAP_NET_BIND_SERVICE on Linux.")
					.formatted(cause.where("port"), port),
				cause);
	}

}
