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
				"The bean %s, is annotated with @LfHandler, but its type %s has no method that is annotated with @OnMessage, and does not implement %s either."
					.formatted(cause.getBean(), type, MessageHandler.class.getName()),
				"Annotate a method of %s with @OnMessage, let it implement MessageHandler, or remove the annotation @LfHandler."
					.formatted(type),
				cause);
	}

}
