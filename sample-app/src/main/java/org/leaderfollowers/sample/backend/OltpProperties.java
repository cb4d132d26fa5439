package org.leaderfollowers.sample.backend;

import java.time.Duration;

import jakarta.validation.constraints.Max;
import jakarta.validation.constraints.Min;
import jakarta.validation.constraints.NotNull;

import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;
import org.springframework.validation.annotation.Validated;

/**
 * The properties of the back ends.
 *
 * @param scale the size of the database: each unit has 1 branch, 10 tellers and 10,000
 * accounts. An existing database grows with it, but does not shrink
 * @param maxAttempts how often a transaction is attempted if the database cannot
 * serialize it with others
 * @param confirmAbove the largest amount, in cents, that is moved without a confirmation
 * by the teller
 * @param confirmTimeout how long the teller may take to confirm
 * @param conversationTimeout how long the client of a conversation may take for its next
 * message
 */
@Validated
@ConfigurationProperties("sample.oltp")
record OltpProperties(@DefaultValue("1") @Min(1) @Max(1000) int scale,
		@DefaultValue("5") @Min(1) @Max(20) int maxAttempts, @DefaultValue("1000000") @Min(0) long confirmAbove,
		@DefaultValue("40s") @NotNull Duration confirmTimeout,
		@DefaultValue("30s") @NotNull Duration conversationTimeout) {

	/** Whether the teller has to confirm an amount. */
	boolean isLarge(long delta) {
		return delta > this.confirmAbove || delta < -this.confirmAbove;
	}

}
