package org.leaderfollowers.docs.handlers;

import org.leaderfollowers.ClientKey;

import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;

@Configuration(proxyBeanMethods = false)
class TerminalKeys {

	// tag::key[]
	/** The name that a terminal has logged in with, or null as long as it has none. */
	@Bean
	ClientKey byName() {
		return (connection) -> connection.name();
	}
	// end::key[]

}
