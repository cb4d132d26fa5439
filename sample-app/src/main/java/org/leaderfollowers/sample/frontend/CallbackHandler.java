package org.leaderfollowers.sample.frontend;

import java.nio.ByteBuffer;
import java.util.concurrent.BlockingQueue;

import org.leaderfollowers.Connection;
import org.leaderfollowers.MessageHandler;
import org.leaderfollowers.sample.tier.ConfirmationRequest;
import org.leaderfollowers.sample.tier.TierProtocol;

/**
 * Handles the messages of a back end that are the result of no order: it calls back. A
 * teller may think for long, and orders of others share the connection. So the callback
 * becomes an event, and the connection is free for the next message.
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
		// A reply that comes here is the result of an order that was given up.
		if (!TierProtocol.isReply(message)) {
			ConfirmationRequest request = this.protocol.read(message, ConfirmationRequest.class);
			this.callbacks.add(new Callback(backEnd, TierProtocol.number(message), request.order()));
		}
	}

}
// end::handler[]
