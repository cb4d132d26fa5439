package org.leaderfollowers.sample.frontend;

import java.time.Duration;

import jakarta.validation.constraints.NotNull;

import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;
import org.springframework.validation.annotation.Validated;

/**
 * What can be configured of the front end.
 *
 * @param boundary the last account that has its home at the first back end; those above
 * have it at the second
 * @param orderTimeout how long a back end may take for an order, with the time that the
 * teller takes to confirm it
 * @param tellerTimeout how long a teller may take to confirm an order; less than
 * {@code sample.oltp.confirm-timeout} of the back ends
 * @param patience how long a request waits for a back end if none can be reached
 */
@Validated
@ConfigurationProperties("sample.front-end")
record FrontEndProperties(@DefaultValue("5000") long boundary, @DefaultValue("90s") @NotNull Duration orderTimeout,
		@DefaultValue("30s") @NotNull Duration tellerTimeout, @DefaultValue("5s") @NotNull Duration patience) {

}
