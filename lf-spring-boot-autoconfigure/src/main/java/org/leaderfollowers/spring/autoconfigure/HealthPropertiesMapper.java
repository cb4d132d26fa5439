package org.leaderfollowers.spring.autoconfigure;

import java.time.Duration;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.spring.autoconfigure.LfProperties.Health;

/**
 * Checks the properties of the health indicators.
 */
final class HealthPropertiesMapper {

	private HealthPropertiesMapper() {
	}

	static @Nullable Duration saturatedAfter(Health health) {
		Duration saturatedAfter = health.saturatedAfter();
		if (saturatedAfter != null && (saturatedAfter.isNegative() || saturatedAfter.isZero())) {
			throw new ConfiguredProperties<>("lf.health", health).invalid("saturated-after", saturatedAfter,
					"Must be positive: every pool that is used to the full is saturated for moments.");
		}
		return saturatedAfter;
	}

}
