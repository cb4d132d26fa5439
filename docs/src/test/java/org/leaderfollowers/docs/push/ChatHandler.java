package org.leaderfollowers.docs.push;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.Connection;
import org.leaderfollowers.spring.annotation.LfHandler;
import org.leaderfollowers.spring.annotation.OnClose;
import org.leaderfollowers.spring.annotation.OnMessage;
import org.leaderfollowers.spring.handler.LfConnections;

// tag::handler[]
@LfHandler(server = "chat")
class ChatHandler {

	private final LfConnections connections;

	ChatHandler(LfConnections connections) {
		this.connections = connections;
	}

	@OnMessage(prefix = "NAME ")
	String enter(String name, Connection connection) {
		Connection earlier = connection.name(name);
		if (earlier != null) {
			earlier.close();
		}
		return "Welcome, " + name;
	}

	@OnMessage(isDefault = true)
	@Nullable String say(String text, Connection connection) {
		if (connection.name() == null) {
			return "Who are you? Send NAME and your name";
		}
		this.connections.broadcast("chat", connection.name() + ": " + text, (other) -> other.name() != null);
		return null;
	}

	@OnClose
	void leave(Connection connection) {
		if (connection.name() != null) {
			this.connections.broadcast("chat", connection.name() + " has left", (other) -> other.name() != null);
		}
	}

}
// end::handler[]
