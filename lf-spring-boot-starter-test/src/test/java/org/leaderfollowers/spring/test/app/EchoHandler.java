package org.leaderfollowers.spring.test.app;

import java.nio.ByteBuffer;

import org.leaderfollowers.Connection;
import org.leaderfollowers.MessageHandler;
import org.leaderfollowers.spring.annotation.LfHandler;

@LfHandler(server = "echo")
public class EchoHandler implements MessageHandler {

	@Override
	public void onMessage(Connection connection, ByteBuffer message) {
		connection.send(message);
	}

}
