package org.leaderfollowers.spring.client;

import java.util.Optional;
import java.util.concurrent.CompletableFuture;

import org.leaderfollowers.spring.annotation.Exchange;
import org.leaderfollowers.spring.annotation.LfClient;

/** Implemented ahead of time. */
@LfClient("quotes")
public interface QuotesClient {

	@Exchange
	CompletableFuture<Optional<Answer>> askLater(Ask ask);

	@Exchange
	String ask(Ask ask);

	default String name() {
		return "quotes";
	}

	record Ask(String symbol) {
	}

	record Answer(String symbol) {
	}

}
