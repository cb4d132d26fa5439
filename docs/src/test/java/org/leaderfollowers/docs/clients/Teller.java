package org.leaderfollowers.docs.clients;

import org.leaderfollowers.docs.clients.Ledger.Order;
import org.leaderfollowers.spring.annotation.LfHandler;
import org.leaderfollowers.spring.annotation.OnMessage;

/** Books for its own clients. */
// tag::handler[]
@LfHandler
class Teller {

	private final Ledger ledger;

	Teller(Ledger ledger) {
		this.ledger = ledger;
	}

	@OnMessage
	int book(Order order) {
		return this.ledger.book(order).balance();
	}

}
// end::handler[]
