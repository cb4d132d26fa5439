package org.leaderfollowers.benchmarks.exchange;

import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisURI;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.api.sync.RedisCommands;
import io.lettuce.core.codec.ByteArrayCodec;

/**
 * Lettuce, with its defaults: the client of Spring Data Redis.
 */
final class LettuceClient implements Client {

	private final RedisClient client;

	private final RedisCommands<byte[], byte[]> commands;

	LettuceClient(int port) {
		this.client = RedisClient.create(RedisURI.create("127.0.0.1", port));
		StatefulRedisConnection<byte[], byte[]> connection = this.client.connect(ByteArrayCodec.INSTANCE);
		this.commands = connection.sync();
	}

	@Override
	public byte[] echo(byte[] text) {
		return this.commands.echo(text);
	}

	@Override
	public void close() {
		this.client.shutdown();
	}

}
