package org.leaderfollowers.spring.handler;

import java.util.List;

import org.springframework.boot.diagnostics.AbstractFailureAnalyzer;
import org.springframework.boot.diagnostics.FailureAnalysis;
import org.springframework.boot.diagnostics.FailureAnalyzer;

/**
 * {@link FailureAnalyzer} for an {@link InvalidHandlerException}.
 */
class InvalidHandlerFailureAnalyzer extends AbstractFailureAnalyzer<InvalidHandlerException> {

	@Override
	protected FailureAnalysis analyze(Throwable rootFailure, InvalidHandlerException cause) {
		StringBuilder description = new StringBuilder(
				"The bean %s, is annotated with @LfHandler, but %s cannot handle messages as it stands:%n"
					.formatted(cause.getBean(), cause.getType().getName()));
		cause.getMistakes()
			.forEach((mistake) -> description.append("%n\t- %s %s.".formatted(mistake.subject(), mistake.problem())));
		return new FailureAnalysis(description.toString(), action(cause), cause);
	}

	private static String action(InvalidHandlerException cause) {
		List<String> remedies = cause.getMistakes()
			.stream()
			.map(InvalidHandlerException.Mistake::remedy)
			.distinct()
			.toList();
		if (remedies.size() == 1) {
			return remedies.get(0);
		}
		StringBuilder action = new StringBuilder("Correct all of this in %s:%n".formatted(cause.getType().getName()));
		cause.getMistakes()
			.forEach((mistake) -> action.append("%n\t- %s: %s".formatted(mistake.subject(), mistake.remedy())));
		return action.toString();
	}

}
