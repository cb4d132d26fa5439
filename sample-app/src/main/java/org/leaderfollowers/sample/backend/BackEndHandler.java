package org.leaderfollowers.sample.backend;

import java.nio.ByteBuffer;

import org.leaderfollowers.Connection;
import org.leaderfollowers.ExchangeException;
import org.leaderfollowers.MessageHandler;
import org.leaderfollowers.sample.TransactionResult;
import org.leaderfollowers.sample.TransactionResult.Rejected;
import org.leaderfollowers.sample.tier.Confirmation;
import org.leaderfollowers.sample.tier.ConfirmationRequest;
import org.leaderfollowers.sample.tier.Order;
import org.leaderfollowers.sample.tier.TierProtocol;

/**
 * The concrete event handler of the paper's database server: receives an order, performs
 * the transaction, and returns the result. The thread that has detected the order does
 * all of this and may block in the database; meanwhile another thread leads.
 */
// tag::handler[]
class BackEndHandler implements MessageHandler {

	private final TierProtocol protocol;

	private final TransactionProcessor transactions;

	private final OltpProperties properties;

	BackEndHandler(TierProtocol protocol, TransactionProcessor transactions, OltpProperties properties) {
		this.protocol = protocol;
		this.transactions = transactions;
		this.properties = properties;
	}

	@Override
	public void onMessage(Connection frontEnd, ByteBuffer message) {
		long number = TierProtocol.number(message);
		Order order = this.protocol.read(message, Order.class);
		TransactionResult result = (this.properties.isLarge(order.request().delta()) && !isConfirmed(frontEnd, order))
				? new Rejected("The next line did not confirm the amount; nothing was changed")
				: this.transactions.process(order.id(), order.request());
		frontEnd.send(this.protocol.reply(number, result));
	}

	/**
	 * Sends a request to the front end, on the connection that the order came from. The
	 * front end asks the teller, who may take a while.
	 */
	private boolean isConfirmed(Connection frontEnd, Order order) {
		ByteBuffer question = this.protocol.request(new ConfirmationRequest(order.id()));
		try {
			ByteBuffer answer = frontEnd.exchange(question, this.properties.confirmTimeout());
			return this.protocol.read(answer, Confirmation.class).given();
		}
		catch (ExchangeException ex) {
			return false;
		}
	}

}
// end::handler[]
