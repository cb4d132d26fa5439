package org.leaderfollowers.docs.login;

import java.security.Principal;

import org.leaderfollowers.Connection;
import org.leaderfollowers.spring.annotation.LfHandler;
import org.leaderfollowers.spring.annotation.OnLogin;
import org.leaderfollowers.spring.annotation.OnMessage;
import org.leaderfollowers.spring.handler.LfHeaders;

// tag::handler[]
@LfHandler(server = "doors")
class BadgeHandler {

	private record Badge(String number) implements Principal {

		@Override
		public String getName() {
			return this.number;
		}

	}

	@OnLogin
	String login(String number, Connection connection) {
		if (!number.matches("\\d{6}")) {
			return "ERROR no badge";
		}
		connection.attributes().put(LfHeaders.PRINCIPAL, new Badge(number));
		return "OK";
	}

	@OnMessage
	String open(String door, Principal badge) {
		return door + " opened for " + badge.getName();
	}

}
// end::handler[]
