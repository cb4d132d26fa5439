package org.leaderfollowers.spring.server;

import java.util.List;

import org.springframework.boot.diagnostics.AbstractFailureAnalyzer;
import org.springframework.boot.diagnostics.FailureAnalysis;
import org.springframework.boot.diagnostics.FailureAnalyzer;

/**
 * {@link FailureAnalyzer} for an {@link UnknownSslBundleException}.
 */
class UnknownSslBundleFailureAnalyzer extends AbstractFailureAnalyzer<UnknownSslBundleException> {

	@Override
	protected FailureAnalysis analyze(Throwable rootFailure, UnknownSslBundleException cause) {
		String bundle = cause.getBundle();
		List<String> known = cause.getKnownBundles();
		return new FailureAnalysis(
				"The property '%s' names the SSL bundle '%s', but there is no such bundle. %s".formatted(
						cause.getProperty(), bundle,
						known.isEmpty() ? "There are no SSL bundles."
								: "Known bundles: %s.".formatted(String.join(", ", known))),
				"%sTo have an SSL bundle '%s', set 'spring.ssl.bundle.pem.%s.keystore.certificate' and 'spring.ssl.bundle.pem.%s.keystore.private-key', or the properties of 'spring.ssl.bundle.jks.%s'."
					.formatted(SimilarName.question(bundle, known), bundle, bundle, bundle, bundle),
				cause);
	}

}
