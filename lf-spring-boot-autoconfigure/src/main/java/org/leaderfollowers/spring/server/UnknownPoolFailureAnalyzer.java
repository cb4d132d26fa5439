package org.leaderfollowers.spring.server;

import org.springframework.boot.diagnostics.AbstractFailureAnalyzer;
import org.springframework.boot.diagnostics.FailureAnalysis;
import org.springframework.boot.diagnostics.FailureAnalyzer;

/**
 * {@link FailureAnalyzer} for an {@link UnknownPoolException}.
 */
class UnknownPoolFailureAnalyzer extends AbstractFailureAnalyzer<UnknownPoolException> {

	@Override
	protected FailureAnalysis analyze(Throwable rootFailure, UnknownPoolException cause) {
		String pool = cause.getPool();
		String reference = (cause.getProperty() != null) ? "The property '%s' names".formatted(cause.getProperty())
				: "The application asks for";
		return new FailureAnalysis(
				"%s the pool '%s', but there is no such pool. Known pools: %s.".formatted(reference, pool,
						String.join(", ", cause.getKnownPools())),
				"%sTo have a pool '%s', set a property such as 'lf.pools.%s.threads.max', or define a LeaderFollowersPool bean that has this name."
					.formatted(SimilarName.question(pool, cause.getKnownPools()), pool, pool),
				cause);
	}

}
