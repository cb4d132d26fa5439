package org.leaderfollowers.spring.autoconfigure;

import java.time.Duration;

import org.leaderfollowers.spring.autoconfigure.LfProperties.Shutdown;

import org.springframework.boot.context.properties.bind.Binder;
import org.springframework.core.env.Environment;

/**
 * Checks the properties of the shutdown.
 */
final class ShutdownPropertiesMapper {

	private static final String PHASE_TIMEOUT = "spring.lifecycle.timeout-per-shutdown-phase";

	private ShutdownPropertiesMapper() {
	}

	static Duration delay(Shutdown shutdown, Environment environment) {
		ConfiguredProperties<Shutdown> properties = new ConfiguredProperties<>("lf.shutdown", shutdown);
		Duration delay = shutdown.delay();
		if (delay.isNegative()) {
			throw properties.invalid("delay", delay, "Must not be negative.");
		}
		Duration timeout = phaseTimeout(environment);
		if (delay.compareTo(timeout) >= 0 && !delay.isZero()) {
			throw properties.invalid("delay", delay,
					"Must be less than '%s', which is %s: no phase of the shutdown takes longer."
						.formatted(PHASE_TIMEOUT, ConfiguredProperties.text(timeout)));
		}
		return delay;
	}

	/** How long the rest of a message may take when its connection drains. */
	static Duration messageTimeout(Shutdown shutdown) {
		Duration timeout = shutdown.messageTimeout();
		if (timeout.isNegative()) {
			throw new ConfiguredProperties<>("lf.shutdown", shutdown).invalid("message-timeout", timeout,
					"Must not be negative.");
		}
		return timeout;
	}

	/** How long a drain may take during the shutdown. */
	static Duration phaseTimeout(Environment environment) {
		return Binder.get(environment).bind(PHASE_TIMEOUT, Duration.class).orElse(Duration.ofSeconds(30));
	}

}
