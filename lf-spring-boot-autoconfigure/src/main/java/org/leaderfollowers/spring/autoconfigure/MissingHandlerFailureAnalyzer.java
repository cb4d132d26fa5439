package org.leaderfollowers.spring.autoconfigure;

import java.util.List;

import org.springframework.boot.diagnostics.AbstractFailureAnalyzer;
import org.springframework.boot.diagnostics.FailureAnalysis;
import org.springframework.boot.diagnostics.FailureAnalyzer;
import org.springframework.core.env.Environment;

/**
 * {@link FailureAnalyzer} for a {@link MissingHandlerException}.
 */
class MissingHandlerFailureAnalyzer extends AbstractFailureAnalyzer<MissingHandlerException> {

	private final PropertyNames propertyNames;

	MissingHandlerFailureAnalyzer(Environment environment) {
		this.propertyNames = new PropertyNames(environment);
	}

	@Override
	protected FailureAnalysis analyze(Throwable rootFailure, MissingHandlerException cause) {
		StringBuilder description = new StringBuilder(
				"Server '%s' has no handler for its messages.".formatted(cause.getServer()));
		appendList(description, "It is configured by the following properties:",
				this.propertyNames.startingWith(cause.getPrefix()));
		appendList(description, "The following beans could handle messages, but are not annotated with @LfHandler:",
				cause.getUnmarkedHandlers());
		return new FailureAnalysis(description.toString(),
				"""
						%s a handler, for example:

						    %s
						    class MyHandler {

						        @OnMessage
						        String handle(String message) {
						            return message;
						        }

						    }

						Or, if there is to be no such server, remove the properties that start with '%s.'.""".formatted(
						cause.getUnmarkedHandlers().isEmpty() ? "Add"
								: "Annotate one of these beans with " + annotation(cause.getServer()) + ", or add",
						annotation(cause.getServer()), cause.getPrefix()),
				cause);
	}

	private static String annotation(String server) {
		return server.equals(ConfiguredProperties.DEFAULT_NAME) ? "@LfHandler"
				: "@LfHandler(server = \"%s\")".formatted(server);
	}

	private static void appendList(StringBuilder description, String title, List<String> lines) {
		if (!lines.isEmpty()) {
			description.append("%n%n%s%n".formatted(title));
			lines.forEach((line) -> description.append("%n\t- %s".formatted(line)));
		}
	}

}
