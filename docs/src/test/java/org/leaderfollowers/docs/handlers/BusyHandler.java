package org.leaderfollowers.docs.handlers;

import org.leaderfollowers.ClientLimitException;
import org.leaderfollowers.spring.annotation.LfHandler;
import org.leaderfollowers.spring.annotation.OnError;
import org.leaderfollowers.spring.annotation.OnMessage;

// tag::handler[]
@LfHandler(server = "terminals")
class BusyHandler {

	@OnMessage
	String pay(String request) {
		return "PAID " + request;
	}

	@OnError
	String busy(ClientLimitException failure, String request) {
		return "BUSY " + request;
	}

}
// end::handler[]
