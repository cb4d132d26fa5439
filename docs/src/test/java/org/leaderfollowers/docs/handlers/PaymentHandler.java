package org.leaderfollowers.docs.handlers;

import org.leaderfollowers.spring.annotation.LfHandler;
import org.leaderfollowers.spring.annotation.OnError;
import org.leaderfollowers.spring.annotation.OnMessage;

// tag::handler[]
@LfHandler(server = "payments")
class PaymentHandler {

	@OnMessage
	String pay(String request) {
		String[] words = request.split(" ");
		return words[0] + " paid " + Integer.parseInt(words[2]);
	}

	@OnError
	String failed(NumberFormatException ex, String request) {
		return request.split(" ")[0] + " failed";
	}

}
// end::handler[]
