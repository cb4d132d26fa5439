package org.leaderfollowers.sample.frontend;

import java.nio.ByteBuffer;
import java.util.concurrent.BlockingQueue;

import org.leaderfollowers.Connection;
import org.leaderfollowers.MessageHandler;
import org.leaderfollowers.sample.tier.ConfirmationRequest;
import org.leaderfollowers.sample.tier.TierProtocol;

/**
 * Handles messages of a back end that are not results of orders: requests for a
 * confirmation. A teller may take long, and other orders share the connection. The
 * request therefore becomes an event, and the connection is free for the next message.
 */
// tag::handler[]
class CallbackHandler implements MessageHandler {

	private final TierProtocol protocol;

	private final BlockingQueue<Callback> callbacks;

	CallbackHandler(TierProtocol protocol, BlockingQueue<Callback> callbacks) {
		this.protocol = protocol;
		this.callbacks = callbacks;
	}

	@Override
	public void onMessage(Connection backEnd, ByteBuffer message) {
		// A reply that arrives here is the late result of an order that was given up.
		if (!TierProtocol.isReply(message)) {
			ConfirmationRequest request = this.protocol.read(message, ConfirmationRequest.class);
			this.callbacks.add(new Callback(backEnd, TierProtocol.number(message), request.order()));
		}
	}

}
// end::handler[]
