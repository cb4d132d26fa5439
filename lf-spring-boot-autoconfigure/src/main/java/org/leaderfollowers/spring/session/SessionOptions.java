package org.leaderfollowers.spring.session;

import java.time.Duration;

import org.springframework.util.Assert;

/**
 * Limits of the sessions.
 *
 * @param maxNameLength the maximum number of characters of a name, from 1
 * @param maxTakeovers how often a name may be taken from an open connection in a period,
 * from 1
 * @param takeoverPeriod the length of the period, more than 0
 * @param timeout how long to wait for another node, apart from the reply of a client;
 * more than 0
 */
public record SessionOptions(int maxNameLength, int maxTakeovers, Duration takeoverPeriod, Duration timeout) {

	/**
	 * Creates limits.
	 * @param maxNameLength from 1
	 * @param maxTakeovers from 1
	 * @param takeoverPeriod more than 0
	 * @param timeout more than 0
	 * @throws IllegalArgumentException if a value is out of range
	 */
	public SessionOptions {
		Assert.isTrue(maxNameLength >= 1, "'maxNameLength' must be at least 1");
		Assert.isTrue(maxTakeovers >= 1, "'maxTakeovers' must be at least 1");
		Assert.isTrue(takeoverPeriod.compareTo(Duration.ZERO) > 0, "'takeoverPeriod' must be more than 0");
		Assert.isTrue(timeout.compareTo(Duration.ZERO) > 0, "'timeout' must be more than 0");
	}

}
