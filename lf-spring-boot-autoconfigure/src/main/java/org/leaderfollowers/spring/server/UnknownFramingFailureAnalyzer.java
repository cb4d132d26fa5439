package org.leaderfollowers.spring.server;

import java.util.List;

import org.springframework.boot.diagnostics.AbstractFailureAnalyzer;
import org.springframework.boot.diagnostics.FailureAnalysis;
import org.springframework.boot.diagnostics.FailureAnalyzer;

/**
 * {@link FailureAnalyzer} for an {@link UnknownFramingException}.
 */
class UnknownFramingFailureAnalyzer extends AbstractFailureAnalyzer<UnknownFramingException> {

	@Override
	protected FailureAnalysis analyze(Throwable rootFailure, UnknownFramingException cause) {
		List<String> known = cause.getKnownFramings();
		return new FailureAnalysis(
				"The property '%s' names the bean '%s', but there is no such bean. %s".formatted(cause.getProperty(),
						cause.getFraming(),
						known.isEmpty() ? "There are no beans of type org.leaderfollowers.Framing."
								: "Known framing beans: %s.".formatted(String.join(", ", known))),
				"%sDefine a bean of type org.leaderfollowers.Framing that has this name, or remove the property and choose one of the built-in framings by '%s'."
					.formatted(SimilarName.question(cause.getFraming(), known),
							cause.getProperty().replaceFirst("bean$", "type")),
				cause);
	}

}
