package org.leaderfollowers.spring;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;

import org.leaderfollowers.Connection;
import org.leaderfollowers.MessageHandler;

/** Answers each message with a prefix and the message. */
public class EchoHandler implements MessageHandler {

	private final String prefix;

	public EchoHandler() {
		this("");
	}

	public EchoHandler(String prefix) {
		this.prefix = prefix;
	}

	@Override
	public void onMessage(Connection connection, ByteBuffer message) {
		String text = StandardCharsets.UTF_8.decode(message).toString();
		if (text.equals("fail")) {
			throw new IllegalStateException("As asked for");
		}
		connection.send(ByteBuffer.wrap((this.prefix + text).getBytes(StandardCharsets.UTF_8)));
	}

}
