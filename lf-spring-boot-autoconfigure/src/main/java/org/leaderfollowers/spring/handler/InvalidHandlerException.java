package org.leaderfollowers.spring.handler;

import java.util.Collection;
import java.util.stream.Collectors;

import org.springframework.boot.diagnostics.AbstractFailureAnalyzer;
import org.springframework.boot.diagnostics.FailureAnalysis;

/**
 * Thrown at start when the handlers of servers, or the interfaces of clients, are not as
 * they must be. It says what is wrong and what to do about it, which is all that there is
 * to analyze.
 */
@SuppressWarnings("serial")
class InvalidHandlerException extends RuntimeException {

	private final String action;

	/**
	 * Creates a new exception.
	 * @param description what is wrong
	 * @param action what to do about it
	 */
	InvalidHandlerException(String description, String action) {
		super(description);
		this.action = action;
	}

	String getAction() {
		return this.action;
	}

	/**
	 * Writes items below each other, for descriptions and actions.
	 */
	static String list(Collection<String> items) {
		return items.stream().map("%n\t- %s"::formatted).collect(Collectors.joining("", "%n".formatted(), ""));
	}

	/**
	 * Tells people.
	 */
	static class Analyzer extends AbstractFailureAnalyzer<InvalidHandlerException> {

		@Override
		protected FailureAnalysis analyze(Throwable rootFailure, InvalidHandlerException cause) {
			return new FailureAnalysis(cause.getMessage(), cause.getAction(), cause);
		}

	}

}
