package org.leaderfollowers.docs.classes;

import org.leaderfollowers.ServiceClass;

import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;

@Configuration(proxyBeanMethods = false)
class ClassConfiguration {

	// tag::class[]
	/**
	 * Clients that ask for reports begin with 'R'; all others stay in the pool of the
	 * server.
	 */
	@Bean
	ServiceClass byFirstMessage() {
		return (connection, message) -> (message.get(message.position()) == 'R') ? "reports" : null;
	}
	// end::class[]

}
