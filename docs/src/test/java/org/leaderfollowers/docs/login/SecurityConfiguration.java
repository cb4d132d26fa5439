package org.leaderfollowers.docs.login;

import java.util.UUID;

import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.security.config.annotation.method.configuration.EnableMethodSecurity;
import org.springframework.security.core.userdetails.User;
import org.springframework.security.core.userdetails.UserDetailsService;
import org.springframework.security.crypto.factory.PasswordEncoderFactories;
import org.springframework.security.crypto.password.PasswordEncoder;
import org.springframework.security.provisioning.InMemoryUserDetailsManager;

// tag::configuration[]
@Configuration(proxyBeanMethods = false)
@EnableMethodSecurity
class SecurityConfiguration {

	@Bean
	PasswordEncoder passwordEncoder() {
		return PasswordEncoderFactories.createDelegatingPasswordEncoder();
	}

	@Bean
	UserDetailsService users(PasswordEncoder encoder) {
		return new InMemoryUserDetailsManager(
				User.withUsername("ada").password(encoder.encode("secret")).roles("OPERATOR", "READER").build(),
				User.withUsername("bob").password(encoder.encode("sesame")).roles("READER").build(),
				// Logs in by its certificate; nobody knows this password.
				User.withUsername("till-17")
					.password(encoder.encode(UUID.randomUUID().toString()))
					.roles("READER")
					.build());
	}

}
// end::configuration[]
