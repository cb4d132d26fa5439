package org.leaderfollowers.benchmarks.exchange;

import java.util.Map;
import java.util.TreeMap;

/**
 * A client of Redis with one connection that many threads share.
 */
interface Client extends AutoCloseable {

	/**
	 * The clients that can be compared, by name.
	 */
	Map<String, Factory> KINDS = new TreeMap<>(
			Map.of("lf", LeaderFollowersClient::new, "lettuce", LettuceClient::new, "netty", NettyClient::new));

	/**
	 * Connects a client.
	 */
	@FunctionalInterface
	interface Factory {

		/**
		 * Connects.
		 * @param port of a Redis server on this machine
		 * @return a client that is connected
		 * @throws Exception if that fails
		 */
		Client connect(int port) throws Exception;

	}

	/**
	 * Sends a text that the server returns.
	 * @param text what to return
	 * @return what was returned
	 * @throws Exception if there is no reply
	 */
	byte[] echo(byte[] text) throws Exception;

	@Override
	void close();

}
