package org.leaderfollowers.docs.handlers;

import java.util.Optional;

import org.leaderfollowers.Connection;
import org.leaderfollowers.spring.annotation.LfHandler;
import org.leaderfollowers.spring.annotation.OnMessage;

import org.springframework.messaging.handler.annotation.Header;

// tag::handler[]
@LfHandler(server = "vault")
class VaultHandler {

	@OnMessage(prefix = "LOGIN ")
	String login(String password, Connection connection) {
		if (!password.equals("sesame")) {
			return "wrong";
		}
		connection.attributes().put("user", "owner");
		connection.loggedIn();
		return "welcome";
	}

	@OnMessage(isDefault = true)
	String command(String command, @Header Optional<String> user) {
		return user.isPresent() ? "open" : "who are you?";
	}

}
// end::handler[]
