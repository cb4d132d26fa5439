package org.leaderfollowers.spring;

import java.time.Duration;

import org.awaitility.Awaitility;
import org.junit.jupiter.api.extension.BeforeAllCallback;
import org.junit.jupiter.api.extension.ExtensionContext;

/**
 * What must happen is given as long as a busy machine may take: the deadline never
 * decides whether a test passes. Registered for all tests of this module.
 */
public final class PatientAwaitility implements BeforeAllCallback {

	@Override
	public void beforeAll(ExtensionContext context) {
		Awaitility.setDefaultTimeout(Duration.ofSeconds(60));
	}

}
