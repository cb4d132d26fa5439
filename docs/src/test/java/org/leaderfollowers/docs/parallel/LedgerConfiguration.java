package org.leaderfollowers.docs.parallel;

import java.nio.ByteBuffer;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.MessageOrder;

import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;

@Configuration(proxyBeanMethods = false)
class LedgerConfiguration {

	// tag::order[]
	@Bean
	MessageOrder byAccount() {
		return LedgerConfiguration::account;
	}

	/**
	 * Bookings begin with '#' and an account of two digits; other messages may overtake.
	 */
	private static @Nullable Object account(ByteBuffer message) {
		int start = message.position();
		return (message.get(start) == '#') ? message.getShort(start + 1) : null;
	}
	// end::order[]

}
