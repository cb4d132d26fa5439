package org.leaderfollowers.docs.handlers;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

import org.leaderfollowers.Connection;
import org.leaderfollowers.spring.annotation.LfHandler;
import org.leaderfollowers.spring.annotation.OnMessage;

// tag::handler[]
@LfHandler(server = "commands")
class CommandHandler {

	private final Map<String, String> values = new ConcurrentHashMap<>();

	@OnMessage(prefix = "PUT ")
	String put(String keyAndValue) {
		String[] parts = keyAndValue.split("=", 2);
		this.values.put(parts[0], parts[1]);
		return "OK";
	}

	@OnMessage(prefix = "GET ")
	String get(String key) {
		return this.values.getOrDefault(key, "");
	}

	@OnMessage(prefix = "QUIT")
	void quit(Connection connection) {
		connection.close();
	}

	@OnMessage(isDefault = true)
	String unknown() {
		return "ERROR unknown command";
	}

}
// end::handler[]
