package org.leaderfollowers.docs;

// tag::imports[]
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Locale;

import org.leaderfollowers.Connection;
import org.leaderfollowers.MessageHandler;
import org.leaderfollowers.spring.annotation.LfHandler;

// end::imports[]
// tag::handler[]
@LfHandler
class UpperCaseHandler implements MessageHandler {

	@Override
	public void onMessage(Connection connection, ByteBuffer message) {
		String text = StandardCharsets.UTF_8.decode(message).toString();
		String reply = text.toUpperCase(Locale.ROOT);
		connection.send(StandardCharsets.UTF_8.encode(reply));
	}

}
// end::handler[]
