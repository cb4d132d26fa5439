package org.leaderfollowers.spring.test.app;

import org.leaderfollowers.spring.annotation.LfHandler;
import org.leaderfollowers.spring.annotation.OnMessage;
import org.leaderfollowers.spring.test.app.Ledger.Entry;

@LfHandler("teller")
class TellerHandler {

	private final Ledger ledger;

	TellerHandler(Ledger ledger) {
		this.ledger = ledger;
	}

	@OnMessage
	String book(String account) {
		return "booked " + this.ledger.book(new Entry(account, 1)).amount();
	}

}
