package org.leaderfollowers.spring.cluster;

import java.time.Duration;
import java.util.Collection;
import java.util.Map;
import java.util.concurrent.CompletableFuture;

import org.jspecify.annotations.Nullable;

/**
 * What the directory of sessions needs of an existing distributed engine: a map with
 * atomic updates, a registry of nodes with leases, and messages between nodes. The engine
 * replicates, detects failures and heals partitions.
 * <p>
 * Only the start and the stop may block, for some seconds. Each future fails if the
 * engine cannot do its work, and may stay incomplete as long as the engine waits: callers
 * have deadlines of their own. Threads of the engine complete the futures.
 * <p>
 * Values and nodes are kept for at least their time, and up to three seconds longer.
 */
interface ClusterEngine {

	/**
	 * The name of the engine for people, for example {@code Redis}.
	 */
	String name();

	/**
	 * Begins to receive messages. If the engine cannot be reached yet, that follows, and
	 * the receiver is told that the engine has healed.
	 * @param node the readable name of this node, printable ASCII without spaces
	 * @param receiver called by threads of the engine, which it does not block
	 * @return the identifier of this node: the name followed by something that no other
	 * node, and no earlier run of this one, has
	 */
	String start(String node, Receiver receiver);

	/**
	 * Ends receiving, and withdraws the lease of this node if the engine can be reached.
	 * The engine itself belongs to the application. A stopped engine cannot start again.
	 */
	void stop();

	/**
	 * Reads values and extends their lifetimes.
	 * @param keys up to a few hundred keys
	 * @param timeToLive how long the values are kept from now on
	 * @return the values by key, or {@code null} if there is none. Each has a future of
	 * its own, because the part of the engine that keeps it may be slow or gone
	 */
	Map<String, CompletableFuture<byte @Nullable []>> touch(Collection<String> keys, Duration timeToLive);

	/**
	 * Reads a value.
	 * @return the value, or {@code null} if there is none
	 */
	CompletableFuture<byte @Nullable []> get(String key);

	/**
	 * Replaces a value atomically.
	 * @param expected the current value, or {@code null} for none
	 * @param update the new value, or {@code null} to remove it
	 * @param timeToLive how long the new value is kept unless it is touched
	 * @return whether the current value was the expected one. If the future fails, the
	 * value may or may not have been replaced
	 */
	CompletableFuture<Boolean> compareAndSet(String key, byte @Nullable [] expected, byte @Nullable [] update,
			Duration timeToLive);

	/**
	 * Registers this node, or renews its lease.
	 * @param description what other nodes see of this node
	 * @param lease how long the node is registered from now on
	 * @return the time of the engine in milliseconds since 1970, the same for all nodes
	 * but for the delays of the network
	 */
	CompletableFuture<Long> renew(byte[] description, Duration lease);

	/**
	 * Reads which nodes have a lease. Before this node has renewed its own, others may be
	 * missing.
	 * @return the descriptions by the identifiers of the nodes
	 */
	CompletableFuture<Map<String, byte[]>> nodes();

	/**
	 * Sends a message to a node. It arrives once or not at all; messages to one node may
	 * overtake each other.
	 * @return completed when the engine has accepted the message, which does not show
	 * that it arrives; failed if the node is known to be gone. If the future fails, the
	 * message may have arrived, or may arrive later: a node that was suspended receives
	 * what had reached it before
	 */
	CompletableFuture<Void> send(String node, byte[] message);

	/**
	 * Receives what the engine has for this node.
	 */
	interface Receiver {

		/**
		 * A message of another node has arrived.
		 */
		void receive(byte[] message);

		/**
		 * The engine was split, restarted or had lost data, and can be reached again:
		 * what was registered may be missing or outdated. Also called when nothing was
		 * lost.
		 */
		void healed();

	}

	/**
	 * A message was not sent, because its node is gone.
	 */
	@SuppressWarnings("serial")
	class NodeGoneException extends IllegalStateException {

		NodeGoneException(String node) {
			super("The node %s is gone".formatted(node));
		}

	}

}
