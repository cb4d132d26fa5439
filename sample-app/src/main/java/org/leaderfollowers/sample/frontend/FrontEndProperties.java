package org.leaderfollowers.sample.frontend;

import java.time.Duration;

import jakarta.validation.constraints.NotNull;

import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;
import org.springframework.validation.annotation.Validated;

/**
 * The properties of the front end.
 *
 * @param boundary the last account that belongs to the first back end; accounts above it
 * belong to the second
 * @param orderTimeout how long a back end may take for an order, including the
 * confirmation by the teller
 * @param tellerTimeout how long a teller may take to confirm an order; less than
 * {@code sample.oltp.confirm-timeout} of the back ends
 * @param readerTimeout how long a card reader may take to answer
 * @param patience how long a request waits for a back end if none can be reached
 */
@Validated
@ConfigurationProperties("sample.front-end")
record FrontEndProperties(@DefaultValue("5000") long boundary, @DefaultValue("90s") @NotNull Duration orderTimeout,
		@DefaultValue("30s") @NotNull Duration tellerTimeout, @DefaultValue("10s") @NotNull Duration readerTimeout,
		@DefaultValue("5s") @NotNull Duration patience) {

}
