package org.leaderfollowers.spring.server;

import org.springframework.boot.diagnostics.AbstractFailureAnalyzer;
import org.springframework.boot.diagnostics.FailureAnalysis;
import org.springframework.boot.diagnostics.FailureAnalyzer;

/**
 * {@link FailureAnalyzer} for an {@link UnknownServerException}.
 */
class UnknownServerFailureAnalyzer extends AbstractFailureAnalyzer<UnknownServerException> {

	@Override
	protected FailureAnalysis analyze(Throwable rootFailure, UnknownServerException cause) {
		String server = cause.getServer();
		String reference = (cause.getHandler() != null)
				? "The bean %s, is annotated with @LfHandler(server = \"%s\")".formatted(cause.getHandler(), server)
				: "The application asks for the server '%s'".formatted(server);
		return new FailureAnalysis(
				"%s, but there is no such server. Known servers: %s.".formatted(reference,
						String.join(", ", cause.getKnownServers())),
				"%sTo have a server '%s', set the property 'lf.servers.%s.port'."
					.formatted(SimilarName.question(server, cause.getKnownServers()), server, server),
				cause);
	}

}
