package org.leaderfollowers.spring.handler;

import org.springframework.boot.diagnostics.AbstractFailureAnalyzer;
import org.springframework.boot.diagnostics.FailureAnalysis;
import org.springframework.boot.diagnostics.FailureAnalyzer;

/**
 * {@link FailureAnalyzer} for an {@link InvalidHandlerException}.
 */
class InvalidHandlerFailureAnalyzer extends AbstractFailureAnalyzer<InvalidHandlerException> {

	@Override
	protected FailureAnalysis analyze(Throwable rootFailure, InvalidHandlerException cause) {
		return new FailureAnalysis(cause.getMessage(), cause.getAction(), cause);
	}

}
