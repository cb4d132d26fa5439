package org.leaderfollowers.spring.autoconfigure;

import org.springframework.boot.diagnostics.AbstractFailureAnalyzer;
import org.springframework.boot.diagnostics.FailureAnalysis;
import org.springframework.boot.diagnostics.FailureAnalyzer;

/**
 * {@link FailureAnalyzer} for a {@link DuplicateHandlerException}.
 */
class DuplicateHandlerFailureAnalyzer extends AbstractFailureAnalyzer<DuplicateHandlerException> {

	@Override
	protected FailureAnalysis analyze(Throwable rootFailure, DuplicateHandlerException cause) {
		StringBuilder description = new StringBuilder("Server '%s' must have one handler, but there are %d:%n"
			.formatted(cause.getServer(), cause.getHandlers().size()));
		cause.getHandlers().forEach((handler) -> description.append("%n\t- %s".formatted(handler)));
		return new FailureAnalysis(description.toString(), "Keep one of them, or give each a server of its own "
				+ "with @LfHandler(server = \"<name>\") and the property 'lf.servers.<name>.port'.", cause);
	}

}
