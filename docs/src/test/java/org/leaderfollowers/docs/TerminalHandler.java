package org.leaderfollowers.docs;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;

import org.leaderfollowers.Connection;
import org.leaderfollowers.MessageHandler;
import org.leaderfollowers.spring.annotation.LfHandler;

// tag::handler[]
@LfHandler(server = "terminals")
class TerminalHandler implements MessageHandler {

	@Override
	public void onMessage(Connection connection, ByteBuffer message) {
		String reply = "You are %s, and came through %s".formatted(connection.remoteAddress().getHostString(),
				connection.transportAddress().getHostString());
		connection.send(StandardCharsets.UTF_8.encode(reply));
	}

}
// end::handler[]
