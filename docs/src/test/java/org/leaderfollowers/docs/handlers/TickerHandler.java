package org.leaderfollowers.docs.handlers;

import java.time.Duration;

import org.leaderfollowers.spring.annotation.LfHandler;
import org.leaderfollowers.spring.annotation.OnMessage;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

// tag::handler[]
@LfHandler(server = "ticker")
class TickerHandler {

	@OnMessage(prefix = "LAST ")
	Mono<String> last(String symbol) {
		return Mono.just(symbol + " 100").delayElement(Duration.ofMillis(10));
	}

	@OnMessage(prefix = "WATCH ")
	Flux<String> watch(String symbol) {
		return Flux.range(100, 3).delayElements(Duration.ofMillis(10)).map((price) -> symbol + " " + price);
	}

}
// end::handler[]
