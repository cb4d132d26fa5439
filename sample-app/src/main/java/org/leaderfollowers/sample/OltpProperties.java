package org.leaderfollowers.sample;

import jakarta.validation.constraints.Max;
import jakarta.validation.constraints.Min;

import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;
import org.springframework.validation.annotation.Validated;

/**
 * What can be configured of the sample itself.
 *
 * @param scale the size of the database: each unit has 1 branch, 10 tellers and 10,000
 * accounts. A database that exists already grows with it, but does not shrink
 * @param maxAttempts how often a transaction is tried when the database could not
 * serialize it with others
 */
@Validated
@ConfigurationProperties("sample.oltp")
record OltpProperties(@DefaultValue("1") @Min(1) @Max(1000) int scale,
		@DefaultValue("5") @Min(1) @Max(20) int maxAttempts) {

}
