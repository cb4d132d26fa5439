package org.leaderfollowers.docs.login;

import org.leaderfollowers.spring.annotation.LfAdvice;
import org.leaderfollowers.spring.annotation.OnError;
import org.leaderfollowers.spring.handler.LoginRequiredException;

import org.springframework.security.access.AccessDeniedException;
import org.springframework.security.core.AuthenticationException;

// tag::advice[]
@LfAdvice(server = "thermostat")
class Refusals {

	@OnError
	String loginRequired(LoginRequiredException ex) {
		return "ERROR log in first";
	}

	@OnError(close = true)
	String wrongCredentials(AuthenticationException ex) {
		return "ERROR wrong credentials";
	}

	@OnError
	String forbidden(AccessDeniedException ex) {
		return "ERROR not allowed";
	}

}
// end::advice[]
