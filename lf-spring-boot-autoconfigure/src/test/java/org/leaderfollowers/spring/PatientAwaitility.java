package org.leaderfollowers.spring;

import java.time.Duration;

import org.awaitility.Awaitility;
import org.junit.jupiter.api.extension.BeforeAllCallback;
import org.junit.jupiter.api.extension.ExtensionContext;

/**
 * Gives a condition as much time as it may need on a busy machine: no test passes because
 * of the deadline. Registered for all tests of this module.
 */
public final class PatientAwaitility implements BeforeAllCallback {

	@Override
	public void beforeAll(ExtensionContext context) {
		Awaitility.setDefaultTimeout(Duration.ofSeconds(60));
	}

}
