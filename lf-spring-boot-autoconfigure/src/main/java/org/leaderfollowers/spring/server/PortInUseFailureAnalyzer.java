package org.leaderfollowers.spring.server;

import org.springframework.boot.diagnostics.AbstractFailureAnalyzer;
import org.springframework.boot.diagnostics.FailureAnalysis;
import org.springframework.boot.diagnostics.FailureAnalyzer;

/**
 * {@link FailureAnalyzer} for a {@link PortInUseException}.
 */
class PortInUseFailureAnalyzer extends AbstractFailureAnalyzer<PortInUseException> {

	@Override
	protected FailureAnalysis analyze(Throwable rootFailure, PortInUseException cause) {
		int port = cause.getAddress().getPort();
		return new FailureAnalysis(
				"Server '%s' could not be started: port %d is already in use.".formatted(cause.getServer(), port),
				"Stop what listens on port %d, another process or another server of this application, or set %s to another port. 0 stands for any free port."
					.formatted(port, cause.where("port")),
				cause);
	}

}
