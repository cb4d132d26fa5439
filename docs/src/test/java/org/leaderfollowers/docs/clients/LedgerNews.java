package org.leaderfollowers.docs.clients;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;

import org.leaderfollowers.Connection;
import org.leaderfollowers.spring.annotation.LfHandler;
import org.leaderfollowers.spring.annotation.OnMessage;
import org.leaderfollowers.spring.annotation.OnOpen;

/** Handles messages of the ledger that are not replies. */
// tag::handler[]
@LfHandler(client = "ledger")
class LedgerNews {

	// end::handler[]
	private final BlockingQueue<String> news = new LinkedBlockingQueue<>();

	// tag::handler[]
	@OnOpen
	void logIn(Connection connection) {
		connection.send(ByteBuffer.wrap("LOGIN teller".getBytes(StandardCharsets.US_ASCII)));
	}

	@OnMessage
	void handle(String message) {
		// end::handler[]
		this.news.add(message);
		// tag::handler[]
		// A notification, a late reply, or the reply to the login.
	}

	// end::handler[]
	BlockingQueue<String> news() {
		return this.news;
	}
	// tag::handler[]

}
// end::handler[]
