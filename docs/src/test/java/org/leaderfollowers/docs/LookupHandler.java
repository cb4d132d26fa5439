package org.leaderfollowers.docs;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.UnaryOperator;

import org.leaderfollowers.Connection;
import org.leaderfollowers.LeaderFollowersPool;
import org.leaderfollowers.MessageHandler;
import org.leaderfollowers.spring.annotation.LfHandler;
import org.leaderfollowers.spring.server.LeaderFollowersPools;

// tag::handler[]
@LfHandler(server = "lookups")
class LookupHandler implements MessageHandler {

	private final Map<String, String> cache = new ConcurrentHashMap<>();

	private final UnaryOperator<String> directory;

	private final LeaderFollowersPool pool;

	LookupHandler(UnaryOperator<String> directory, LeaderFollowersPools pools) {
		this.directory = directory;
		this.pool = pools.get("lookups");
	}

	@Override
	public void onMessage(Connection connection, ByteBuffer message) {
		String key = StandardCharsets.UTF_8.decode(message).toString();
		String value = this.cache.get(key);
		if (value == null) {
			this.pool.promoteNewLeader();
			value = this.directory.apply(key);
			this.cache.put(key, value);
		}
		connection.send(StandardCharsets.UTF_8.encode(value));
	}

}
// end::handler[]
