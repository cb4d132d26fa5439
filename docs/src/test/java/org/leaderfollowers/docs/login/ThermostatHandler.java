package org.leaderfollowers.docs.login;

import java.security.Principal;

import org.leaderfollowers.Connection;
import org.leaderfollowers.spring.annotation.LfHandler;
import org.leaderfollowers.spring.annotation.OnLogin;
import org.leaderfollowers.spring.annotation.OnMessage;
import org.leaderfollowers.spring.handler.LfAuthentication;

import org.springframework.security.access.prepost.PreAuthorize;
import org.springframework.security.authentication.BadCredentialsException;
import org.springframework.security.authentication.UsernamePasswordAuthenticationToken;
import org.springframework.security.core.Authentication;
import org.springframework.security.core.annotation.AuthenticationPrincipal;
import org.springframework.security.core.userdetails.UserDetails;

// tag::handler[]
@LfHandler(server = "thermostat")
class ThermostatHandler {

	private final LfAuthentication authentication;

	private final Heating heating;

	ThermostatHandler(LfAuthentication authentication, Heating heating) {
		this.authentication = authentication;
		this.heating = heating;
	}

	@OnLogin(prefix = "LOGIN ")
	String login(String credentials, Connection connection) {
		String[] parts = credentials.split(" ", 2);
		if (parts.length < 2) {
			throw new BadCredentialsException("No password");
		}
		Authentication credential = UsernamePasswordAuthenticationToken.unauthenticated(parts[0], parts[1]);
		Authentication user = this.authentication.login(connection, credential);
		return "OK " + user.getName();
	}

	@OnMessage(prefix = "READ")
	@PreAuthorize("hasRole('READER')")
	double read() {
		return this.heating.degrees();
	}

	@OnMessage(prefix = "SET ")
	String set(double degrees, Principal client) {
		this.heating.set(degrees);
		return "OK set by " + client.getName();
	}

	@OnMessage(prefix = "ROLES")
	String roles(@AuthenticationPrincipal UserDetails user) {
		return user.getAuthorities().toString();
	}

	@OnMessage(prefix = "LOGOUT")
	String logout(Connection connection) {
		this.authentication.logout(connection);
		return "OK";
	}

}
// end::handler[]
