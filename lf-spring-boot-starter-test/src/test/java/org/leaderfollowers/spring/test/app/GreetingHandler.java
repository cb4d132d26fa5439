package org.leaderfollowers.spring.test.app;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;

import org.leaderfollowers.Connection;
import org.leaderfollowers.MessageHandler;
import org.leaderfollowers.spring.annotation.LfHandler;

@LfHandler
public class GreetingHandler implements MessageHandler {

	private final Greetings greetings;

	GreetingHandler(Greetings greetings) {
		this.greetings = greetings;
	}

	@Override
	public void onMessage(Connection connection, ByteBuffer message) {
		String name = StandardCharsets.UTF_8.decode(message).toString();
		connection.send(StandardCharsets.UTF_8.encode(this.greetings.greet(name)));
	}

}
