package org.leaderfollowers.spring.server;

import org.springframework.boot.diagnostics.AbstractFailureAnalyzer;
import org.springframework.boot.diagnostics.FailureAnalysis;
import org.springframework.boot.diagnostics.FailureAnalyzer;

/**
 * {@link FailureAnalyzer} for an {@link AddressNotAvailableException}.
 */
class AddressNotAvailableFailureAnalyzer extends AbstractFailureAnalyzer<AddressNotAvailableException> {

	@Override
	protected FailureAnalysis analyze(Throwable rootFailure, AddressNotAvailableException cause) {
		return new FailureAnalysis(
				"Server '%s' could not be started: no network interface of this machine has the address %s."
					.formatted(cause.getServer(), cause.getAddress().getHostString()),
				"Set %s to an address of this machine, or remove it to listen on all of them."
					.formatted(cause.where("address")),
				cause);
	}

}
