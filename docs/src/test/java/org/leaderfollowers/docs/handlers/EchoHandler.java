package org.leaderfollowers.docs.handlers;

import java.nio.ByteBuffer;

import org.leaderfollowers.Connection;
import org.leaderfollowers.MessageHandler;
import org.leaderfollowers.spring.annotation.LfHandler;

// tag::handler[]
@LfHandler(server = "echo")
class EchoHandler implements MessageHandler {

	@Override
	public void onMessage(Connection connection, ByteBuffer message) {
		connection.send(message);
	}

}
// end::handler[]
