package org.leaderfollowers.sample;

import java.nio.ByteBuffer;

import org.leaderfollowers.Connection;
import org.leaderfollowers.FramingException;
import org.leaderfollowers.MessageHandler;
import org.leaderfollowers.sample.TransactionResult.Invalid;
import org.leaderfollowers.spring.annotation.LfHandler;

/**
 * The concrete event handler of the paper's database server: receives a transaction
 * request, performs it, and returns the result. The thread that detected the request does
 * all of it and may block in the database; meanwhile another thread leads.
 */
// tag::handler[]
@LfHandler
class OltpHandler implements MessageHandler {

	private final OltpProtocol protocol;

	private final TransactionProcessor transactions;

	OltpHandler(OltpProtocol protocol, TransactionProcessor transactions) {
		this.protocol = protocol;
		this.transactions = transactions;
	}

	@Override
	public void onMessage(Connection connection, ByteBuffer message) {
		TransactionResult result;
		try {
			result = this.transactions.process(this.protocol.read(message));
		}
		catch (InvalidRequestException ex) {
			result = new Invalid(ex.getMessage());
		}
		connection.send(this.protocol.write(result));
	}
	// end::handler[]

	/**
	 * A line that exceeds {@code lf.server.max-message-size} is answered as well, but
	 * then the connection closes: nobody knows where the next request begins.
	 */
	@Override
	public void onError(Connection connection, Throwable failure) throws Exception {
		if (failure instanceof FramingException) {
			connection.send(this.protocol.write(new Invalid("The line is too long for a request")));
		}
		MessageHandler.super.onError(connection, failure);
	}

	// tag::handler[]

}
// end::handler[]
