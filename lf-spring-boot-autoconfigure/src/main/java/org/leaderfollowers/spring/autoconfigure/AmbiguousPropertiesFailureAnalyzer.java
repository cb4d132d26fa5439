package org.leaderfollowers.spring.autoconfigure;

import java.util.ArrayList;
import java.util.List;

import org.springframework.boot.diagnostics.AbstractFailureAnalyzer;
import org.springframework.boot.diagnostics.FailureAnalysis;
import org.springframework.boot.diagnostics.FailureAnalyzer;
import org.springframework.core.env.Environment;

/**
 * {@link FailureAnalyzer} for an {@link AmbiguousPropertiesException}.
 */
class AmbiguousPropertiesFailureAnalyzer extends AbstractFailureAnalyzer<AmbiguousPropertiesException> {

	private final PropertyNames propertyNames;

	AmbiguousPropertiesFailureAnalyzer(Environment environment) {
		this.propertyNames = new PropertyNames(environment);
	}

	@Override
	protected FailureAnalysis analyze(Throwable rootFailure, AmbiguousPropertiesException cause) {
		StringBuilder description = new StringBuilder("'%s' and '%s' are two names for the same, but both are used:%n"
			.formatted(cause.getPrefix(), cause.getOtherPrefix()));
		List<String> names = new ArrayList<>(this.propertyNames.startingWith(cause.getPrefix()));
		names.addAll(this.propertyNames.startingWith(cause.getOtherPrefix()));
		names.forEach((name) -> description.append("%n\t- %s".formatted(name)));
		return new FailureAnalysis(description.toString(),
				"Begin all of these properties with '%s.'.".formatted(cause.getPrefix()), cause);
	}

}
