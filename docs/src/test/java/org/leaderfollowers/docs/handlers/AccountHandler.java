package org.leaderfollowers.docs.handlers;

import java.util.concurrent.atomic.AtomicLong;

import org.leaderfollowers.spring.annotation.LfHandler;
import org.leaderfollowers.spring.annotation.OnMessage;

// tag::handler[]
@LfHandler(server = "accounts")
class AccountHandler {

	private final AtomicLong balance = new AtomicLong();

	@OnMessage("deposit")
	Balance deposit(Amount amount) {
		return new Balance(this.balance.addAndGet(amount.cents()));
	}

	@OnMessage({ "withdraw", "pay" })
	Balance withdraw(Amount amount) {
		return new Balance(this.balance.addAndGet(-amount.cents()));
	}

	@OnMessage("balance")
	Balance balance() {
		return new Balance(this.balance.get());
	}

	record Amount(long cents) {
	}

	record Balance(long cents) {
	}

}
// end::handler[]
