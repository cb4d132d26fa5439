package org.leaderfollowers.docs.handlers;

import java.time.Duration;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.Connection;
import org.leaderfollowers.EventType;
import org.leaderfollowers.spring.annotation.LfHandler;
import org.leaderfollowers.spring.annotation.OnClose;
import org.leaderfollowers.spring.annotation.OnDrain;
import org.leaderfollowers.spring.annotation.OnIdle;
import org.leaderfollowers.spring.annotation.OnMessage;

// tag::handler[]
@LfHandler(server = "feed")
class FeedHandler {

	private final Set<Connection> subscribers = ConcurrentHashMap.newKeySet();

	@OnMessage(isDefault = true)
	String subscribe(String topic, Connection connection) {
		this.subscribers.add(connection);
		return connection.isDraining() ? "GOAWAY" : "OK " + topic;
	}

	// tag::period[]
	@OnMessage(prefix = "HEARTBEAT ")
	String heartbeat(long millis, Connection connection) {
		connection.idleAfter(EventType.WRITE, Duration.ofMillis(Math.max(100, millis)));
		return "OK";
	}
	// end::period[]

	// tag::idle[]
	@OnIdle
	@Nullable String silent(Connection connection, EventType type) {
		if (type == EventType.READ) {
			connection.close();
			return null;
		}
		return "PING";
	}
	// end::idle[]

	// tag::drain[]
	@OnDrain
	String signOff() {
		return "GOAWAY";
	}
	// end::drain[]

	@OnClose
	void gone(Connection connection) {
		this.subscribers.remove(connection);
	}

}
// end::handler[]
