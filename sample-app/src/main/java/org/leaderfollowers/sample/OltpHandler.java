package org.leaderfollowers.sample;

import org.leaderfollowers.FramingException;
import org.leaderfollowers.sample.TransactionResult.Invalid;
import org.leaderfollowers.spring.annotation.LfHandler;
import org.leaderfollowers.spring.annotation.OnError;
import org.leaderfollowers.spring.annotation.OnMessage;

/**
 * The concrete event handler of the paper's database server: receives a transaction
 * request, performs it, and returns the result. The thread that detected the request does
 * all of it and may block in the database; meanwhile another thread leads.
 */
// tag::handler[]
@LfHandler
class OltpHandler {

	private final TransactionProcessor transactions;

	OltpHandler(TransactionProcessor transactions) {
		this.transactions = transactions;
	}

	@OnMessage
	TransactionResult process(TransactionRequest request) {
		return this.transactions.process(request);
	}

	@OnError
	TransactionResult invalid(InvalidRequestException ex) {
		return new Invalid(ex.getMessage());
	}
	// end::handler[]

	/**
	 * A line that exceeds {@code lf.server.max-message-size} is answered as well, but
	 * then the connection closes: nobody knows where the next request begins.
	 */
	@OnError
	TransactionResult tooLong(FramingException ex) {
		return new Invalid("The line is too long for a request");
	}

	// tag::handler[]

}
// end::handler[]
