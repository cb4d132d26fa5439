package org.leaderfollowers.sample.frontend;

import java.util.UUID;

import org.leaderfollowers.Connection;
import org.leaderfollowers.FramingException;
import org.leaderfollowers.sample.Tiers;
import org.leaderfollowers.sample.TransactionRequest;
import org.leaderfollowers.sample.TransactionResult;
import org.leaderfollowers.sample.TransactionResult.Invalid;
import org.leaderfollowers.sample.client.InvalidRequestException;
import org.leaderfollowers.sample.tier.Order;
import org.leaderfollowers.spring.annotation.LfHandler;
import org.leaderfollowers.spring.annotation.OnError;
import org.leaderfollowers.spring.annotation.OnMessage;

import org.springframework.context.annotation.Profile;

/**
 * The concrete event handler of the paper's front-end communication server: receives and
 * validates the request of a client, forwards it to a back end, and returns the result.
 * The thread that has detected the request waits for the reply to this order, on
 * connections that it shares with other threads.
 */
// tag::handler[]
@LfHandler
@Profile(Tiers.FRONT_END)
class FrontEndHandler {

	private final OrderRouter router;

	private final Tellers tellers;

	FrontEndHandler(OrderRouter router, Tellers tellers) {
		this.router = router;
		this.tellers = tellers;
	}

	@OnMessage
	TransactionResult process(TransactionRequest request, Connection client) {
		Order order = new Order(UUID.randomUUID(), request);
		this.tellers.add(order, client);
		try {
			return this.router.route(order);
		}
		finally {
			this.tellers.remove(order);
		}
	}

	@OnError
	TransactionResult invalid(InvalidRequestException ex) {
		return new Invalid(ex.getMessage());
	}
	// end::handler[]

	/**
	 * A line that exceeds {@code lf.server.max-message-size} is answered too, but then
	 * the connection closes, because the start of the next request is unknown.
	 */
	@OnError
	TransactionResult tooLong(FramingException ex) {
		return new Invalid("The line is too long for a request");
	}

	// tag::handler[]

}
// end::handler[]
