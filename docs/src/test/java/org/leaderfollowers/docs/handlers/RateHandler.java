package org.leaderfollowers.docs.handlers;

import java.util.concurrent.CompletableFuture;
import java.util.stream.LongStream;
import java.util.stream.Stream;

import org.leaderfollowers.spring.annotation.LfHandler;
import org.leaderfollowers.spring.annotation.OnMessage;

// tag::handler[]
@LfHandler(server = "rates")
class RateHandler {

	private final RateClient client;

	RateHandler(RateClient client) {
		this.client = client;
	}

	@OnMessage(prefix = "RATE ")
	CompletableFuture<Double> rate(String currency) {
		return this.client.fetch(currency);
	}

	@OnMessage(prefix = "HISTORY ")
	Stream<String> history(long days) {
		return LongStream.range(0, days).mapToObj((day) -> "day " + day + ": " + this.client.rateAt(day));
	}

}
// end::handler[]
