package org.leaderfollowers.docs.handlers;

import java.nio.ByteBuffer;

import org.leaderfollowers.Connection;
import org.leaderfollowers.MessageHandler;
import org.leaderfollowers.spring.annotation.LfHandler;
import org.leaderfollowers.spring.annotation.OnError;
import org.leaderfollowers.spring.annotation.OnOpen;

// tag::handler[]
@LfHandler(server = "meters")
class MeterHandler implements MessageHandler {

	@OnOpen
	String greet() {
		return "ready";
	}

	@Override
	public void onMessage(Connection connection, ByteBuffer message) {
		if (!message.hasRemaining()) {
			throw new IllegalArgumentException("nothing to add up");
		}
		int sum = 0;
		while (message.hasRemaining()) {
			sum += message.get();
		}
		connection.send(ByteBuffer.wrap(new byte[] { (byte) ('0' + sum % 10) }));
	}

	@OnError
	String failed(IllegalArgumentException ex) {
		return "failed: " + ex.getMessage();
	}

}
// end::handler[]
