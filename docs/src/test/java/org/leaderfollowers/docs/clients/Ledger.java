package org.leaderfollowers.docs.clients;

import java.util.concurrent.CompletableFuture;

import jakarta.validation.Valid;
import jakarta.validation.constraints.Min;
import org.leaderfollowers.spring.annotation.Exchange;
import org.leaderfollowers.spring.annotation.LfClient;

/**
 * A ledger that is kept elsewhere.
 */
// tag::interface[]
@LfClient("ledger")
interface Ledger {

	@Exchange
	Receipt book(@Valid Order order);

	@Exchange(timeout = "30s")
	CompletableFuture<Receipt> bookLater(Order order);

	default Receipt book(String account, int amount) {
		return book(new Order(account, amount));
	}

	// end::interface[]
	record Order(String account, @Min(1) int amount) {
	}

	record Receipt(String account, int balance) {
	}
	// tag::interface[]

}
// end::interface[]
