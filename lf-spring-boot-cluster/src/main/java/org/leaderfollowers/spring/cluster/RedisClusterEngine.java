package org.leaderfollowers.spring.cluster;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Arrays;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Function;

import io.lettuce.core.RedisCommandExecutionException;
import io.lettuce.core.ScriptOutputType;
import io.lettuce.core.cluster.api.async.RedisClusterAsyncCommands;
import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;

import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;

/**
 * A client of Redis 6.2 or Valkey, or later versions.
 * <p>
 * Scripts make the updates atomic. All keys have the same hash tag, so one node of a
 * Redis Cluster has all of them. Each node subscribes to a channel of its own.
 * <p>
 * The connections do not repeat a command that may have been executed, and reject
 * commands while there is no connection.
 * <p>
 * A node that hears nothing must not have a lease. Before each renewal, it therefore
 * sends a message to itself. A connection that is open but delivers nothing, or the
 * answers to other commands, would stay for ever: if renewals fail, all connections are
 * replaced.
 */
final class RedisClusterEngine implements ClusterEngine {

	private static final Log logger = LogFactory.getLog(RedisClusterEngine.class);

	private static final Duration STOP_TIMEOUT = Duration.ofSeconds(2);

	/**
	 * A value of another type counts as empty, so that it fails no other value and can be
	 * replaced. A missing value is false in Lua.
	 */
	private static final String READ = """
			local function read(...)
			  local value = redis.pcall(...)
			  local other = type(value) == 'table' and string.find(value.err, 'WRONGTYPE', 1, true)
			  return other and '' or value
			end
			""";

	private static final byte[] COMPARE_AND_SET = bytes(READ + """
			local value = read('GET', KEYS[1])
			if type(value) == 'table' then
			  return value
			end
			if value ~= (ARGV[1] == '1' and ARGV[2]) then
			  return 0
			end
			if ARGV[3] == '1' then
			  redis.call('SET', KEYS[1], ARGV[4], 'PX', ARGV[5])
			else
			  redis.call('DEL', KEYS[1])
			end
			return 1
			""");

	private static final byte[] TOUCH = bytes(READ + """
			local values = {}
			for i, key in ipairs(KEYS) do
			  local value = read('GETEX', key, 'PX', ARGV[1])
			  if type(value) == 'table' then
			    return value
			  end
			  values[i] = value
			end
			return values
			""");

	/**
	 * Adds this node, and removes the nodes whose leases have expired. If the place of
	 * all nodes has a value of another type, it is removed: that this node cannot be
	 * removed from it shows this. Returns the time and what shows that this is the
	 * answer.
	 */
	private static final byte[] RENEW = bytes("""
			for i, remove in ipairs({'ZREM', 'HDEL'}) do
			  local removed = redis.pcall(remove, KEYS[i], ARGV[1])
			  if type(removed) == 'table' and string.find(removed.err, 'WRONGTYPE', 1, true) then
			    redis.call('DEL', KEYS[i])
			  end
			end
			local time = redis.call('TIME')
			local now = time[1] * 1000 + math.floor(time[2] / 1000)
			for _, node in ipairs(redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', now)) do
			  redis.call('ZREM', KEYS[1], node)
			  redis.call('HDEL', KEYS[2], node)
			end
			redis.call('ZADD', KEYS[1], now + ARGV[3], ARGV[1])
			redis.call('HSET', KEYS[2], ARGV[1], ARGV[2])
			return {now, ARGV[4]}
			""");

	private static final byte[] NODES = bytes("""
			local time = redis.call('TIME')
			local now = time[1] * 1000 + math.floor(time[2] / 1000)
			local nodes = {}
			for _, node in ipairs(redis.call('ZRANGEBYSCORE', KEYS[1], '(' .. now, '+inf')) do
			  nodes[#nodes + 1] = node
			  nodes[#nodes + 1] = redis.call('HGET', KEYS[2], node) or ''
			end
			return nodes
			""");

	private static final byte[] WITHDRAW = bytes("""
			redis.call('ZREM', KEYS[1], ARGV[1])
			return redis.call('HDEL', KEYS[2], ARGV[1])
			""");

	private final LettuceConnectionFactory factory;

	private final String prefix;

	private final byte[][] nodeKeys;

	private volatile @Nullable Running running;

	/**
	 * Creates an engine that has not started yet.
	 * @param factory creates the connections of this engine only, which starts and
	 * destroys it
	 * @param cluster the name of the cluster of nodes, for those that share Redis
	 * @see RedisConnections#forEngine
	 */
	RedisClusterEngine(LettuceConnectionFactory factory, String cluster) {
		this.factory = factory;
		this.prefix = "lf:{" + cluster + "}:";
		this.nodeKeys = new byte[][] { bytes(this.prefix + "leases"), bytes(this.prefix + "nodes") };
	}

	@Override
	public String name() {
		return "Redis";
	}

	@Override
	public String start(String node, Receiver receiver) {
		Running starting = new Running(node + "/" + UUID.randomUUID(), receiver);
		this.running = starting;
		starting.connections.open();
		return starting.id;
	}

	@Override
	public void stop() {
		Running stopping = this.running;
		if (stopping == null) {
			return;
		}
		try {
			CompletableFuture<Long> withdrawn = call(
					(redis) -> redis.eval(WITHDRAW, ScriptOutputType.INTEGER, this.nodeKeys, bytes(stopping.id)));
			this.running = null;
			stopping.connections.end();
			withdrawn.get(STOP_TIMEOUT.toMillis(), TimeUnit.MILLISECONDS);
		}
		catch (InterruptedException ex) {
			Thread.currentThread().interrupt();
		}
		catch (ExecutionException | TimeoutException ex) {
			logger.debug("Cannot withdraw the lease of this node. It expires", ex);
		}
		finally {
			stopping.connections.close();
		}
	}

	@Override
	public Map<String, CompletableFuture<byte @Nullable []>> touch(Collection<String> keys, Duration timeToLive) {
		List<String> names = List.copyOf(keys);
		if (names.isEmpty()) {
			return Map.of();
		}
		byte[][] all = names.stream().map(this::key).toArray(byte[][]::new);
		CompletableFuture<List<byte @Nullable []>> touched = call(
				(redis) -> redis.eval(TOUCH, ScriptOutputType.MULTI, all, millis(timeToLive)));
		Map<String, CompletableFuture<byte @Nullable []>> values = new LinkedHashMap<>();
		for (int i = 0; i < names.size(); i++) {
			int index = i;
			values.put(names.get(i), touched.thenApply((list) -> list.get(index)));
		}
		return values;
	}

	@Override
	public CompletableFuture<byte @Nullable []> get(String key) {
		CompletableFuture<byte @Nullable []> value = call((redis) -> redis.get(key(key)));
		return value.exceptionallyCompose((failure) -> isOfAnotherType(failure)
				? CompletableFuture.completedFuture(new byte[0]) : CompletableFuture.failedFuture(failure));
	}

	/** The scripts treat such a value in the same way. */
	private static boolean isOfAnotherType(Throwable failure) {
		Throwable cause = (failure instanceof CompletionException) ? failure.getCause() : failure;
		return cause instanceof RedisCommandExecutionException
				&& String.valueOf(cause.getMessage()).startsWith("WRONGTYPE");
	}

	@Override
	public CompletableFuture<Boolean> compareAndSet(String key, byte @Nullable [] expected, byte @Nullable [] update,
			Duration timeToLive) {
		return this
			.<Long>call((redis) -> redis.eval(COMPARE_AND_SET, ScriptOutputType.INTEGER, new byte[][] { key(key) },
					isPresent(expected), orEmpty(expected), isPresent(update), orEmpty(update), millis(timeToLive)))
			.thenApply((replaced) -> replaced == 1);
	}

	@Override
	public CompletableFuture<Long> renew(byte[] description, Duration lease) {
		Running node = this.running;
		if (node == null) {
			return CompletableFuture.failedFuture(notRunning());
		}
		node.connections.beginRenewal();
		CompletableFuture<@Nullable Void> heard = node.probed.get();
		byte[] token = bytes(UUID.randomUUID().toString());
		return send(node.id, node.probe).thenCompose((sent) -> heard)
			.thenCompose((arrived) -> this.<List<Object>>call((redis) -> redis.eval(RENEW, ScriptOutputType.MULTI,
					this.nodeKeys, bytes(node.id), description, millis(lease), token)))
			.thenApply((answer) -> renewed(node, token, answer));
	}

	private long renewed(Running node, byte[] token, List<Object> answer) {
		if (answer.size() == 2 && answer.get(0) instanceof Long time && answer.get(1) instanceof byte[] returned
				&& Arrays.equals(returned, token)) {
			node.connections.renewed();
			return time;
		}
		String reason = "Redis has answered another command than the one that was sent";
		node.connections.replace(reason);
		throw new IllegalStateException(reason + ".");
	}

	@Override
	public CompletableFuture<Map<String, byte[]>> nodes() {
		CompletableFuture<List<byte[]>> found = call(
				(redis) -> redis.eval(NODES, ScriptOutputType.MULTI, this.nodeKeys));
		return found.thenApply((values) -> {
			Map<String, byte[]> descriptions = new LinkedHashMap<>();
			for (int i = 0; i < values.size(); i += 2) {
				descriptions.put(new String(values.get(i), StandardCharsets.UTF_8), values.get(i + 1));
			}
			return descriptions;
		});
	}

	/**
	 * Redis counts the subscribers, but those of all nodes of a Redis Cluster only in
	 * part.
	 */
	@Override
	public CompletableFuture<Void> send(String node, byte[] message) {
		return this.<Long>call((redis) -> redis.publish(bytes(channel(node)), message)).thenAccept((receivers) -> {
			if (receivers == 0 && running().connections.countsReceivers()) {
				throw new NodeGoneException(node);
			}
		});
	}

	private <T extends @Nullable Object> CompletableFuture<T> call(
			Function<RedisClusterAsyncCommands<byte[], byte[]>, ? extends CompletionStage<T>> command) {
		try {
			return command.apply(running().connections.commands()).toCompletableFuture();
		}
		catch (RuntimeException | Error ex) {
			return CompletableFuture.failedFuture(ex);
		}
	}

	private Running running() {
		Running node = this.running;
		if (node == null) {
			throw notRunning();
		}
		return node;
	}

	private static IllegalStateException notRunning() {
		return new IllegalStateException("The node has not started, or has stopped.");
	}

	private byte[] key(String key) {
		return bytes(this.prefix + "value:" + key);
	}

	private String channel(String node) {
		return this.prefix + "node:" + node;
	}

	private static byte[] millis(Duration duration) {
		return bytes(Long.toString(Math.max(1, duration.toMillis())));
	}

	private static byte[] isPresent(byte @Nullable [] value) {
		return bytes((value != null) ? "1" : "0");
	}

	private static byte[] orEmpty(byte @Nullable [] value) {
		return (value != null) ? value : new byte[0];
	}

	private static byte[] bytes(String text) {
		return text.getBytes(StandardCharsets.UTF_8);
	}

	/** The time between start and stop. */
	private final class Running implements Receiver {

		private final String id;

		private final Receiver receiver;

		private final RedisConnections connections;

		/** What the node sends to itself. */
		private final byte[] probe = bytes(UUID.randomUUID().toString());

		/** Completed when the next one arrives. */
		private final AtomicReference<CompletableFuture<@Nullable Void>> probed = new AtomicReference<>(
				new CompletableFuture<>());

		Running(String id, Receiver receiver) {
			this.id = id;
			this.receiver = receiver;
			this.connections = new RedisConnections(RedisClusterEngine.this.factory, channel(id), this);
		}

		@Override
		public void receive(byte[] message) {
			if (Arrays.equals(message, this.probe)) {
				this.probed.getAndSet(new CompletableFuture<>()).complete(null);
			}
			else {
				this.receiver.receive(message);
			}
		}

		@Override
		public void healed() {
			this.receiver.healed();
		}

	}

}
