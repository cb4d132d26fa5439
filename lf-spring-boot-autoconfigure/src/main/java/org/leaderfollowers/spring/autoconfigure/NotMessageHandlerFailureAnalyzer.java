package org.leaderfollowers.spring.autoconfigure;

import org.leaderfollowers.MessageHandler;

import org.springframework.boot.diagnostics.AbstractFailureAnalyzer;
import org.springframework.boot.diagnostics.FailureAnalysis;
import org.springframework.boot.diagnostics.FailureAnalyzer;

/**
 * {@link FailureAnalyzer} for a {@link NotMessageHandlerException}.
 */
class NotMessageHandlerFailureAnalyzer extends AbstractFailureAnalyzer<NotMessageHandlerException> {

	@Override
	protected FailureAnalysis analyze(Throwable rootFailure, NotMessageHandlerException cause) {
		String type = cause.getType().getName();
		return new FailureAnalysis(
				"The bean %s, is annotated with @LfHandler, but its type %s does not implement %s."
					.formatted(cause.getBean(), type, MessageHandler.class.getName()),
				"Let %s implement MessageHandler, or remove the annotation @LfHandler.".formatted(type), cause);
	}

}
