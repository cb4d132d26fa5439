package org.leaderfollowers.spring.actuate;

import java.security.Principal;

import org.leaderfollowers.spring.logging.Printable;

import org.springframework.boot.actuate.endpoint.SecurityContext;

/**
 * Who asked for an operation.
 *
 * @param name the printable name of the principal, empty if nobody had to say who he is
 */
record Operator(String name) {

	/** JMX does not tell. */
	static final Operator UNKNOWN = new Operator("");

	static Operator of(SecurityContext context) {
		Principal principal = context.getPrincipal();
		String name = (principal != null) ? principal.getName() : null;
		return (name != null) ? new Operator(Printable.of(name)) : UNKNOWN;
	}

	/**
	 * For a line of the log, in the middle of a sentence.
	 */
	String by() {
		return this.name.isEmpty() ? " through Actuator" : " by '%s' through Actuator".formatted(this.name);
	}

}
