package org.leaderfollowers.spring.cluster;

import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;

import org.leaderfollowers.ExchangeRejectedException;

/**
 * Sends messages to other nodes, unless too many bytes wait for a node. A node that
 * stands still takes no message, and counts as gone only when its lease has expired.
 * Engines do not limit the bytes that they keep for it until then. Any thread.
 */
final class NodeOutbox {

	private final ClusterEngine engine;

	private final long maxBytes;

	/** How many bytes wait for a node. A node for which none wait has no entry. */
	private final Map<String, Long> waiting = new ConcurrentHashMap<>();

	NodeOutbox(ClusterEngine engine, long maxBytes) {
		this.engine = engine;
		this.maxBytes = maxBytes;
	}

	/**
	 * Sends a message. One that is larger than the limit is sent if no other waits.
	 * @return completed when the node or the engine has it; or with an
	 * {@link ExchangeRejectedException} if too many bytes wait; or with the failure of
	 * the engine
	 */
	CompletableFuture<Void> send(String node, byte[] message) {
		long length = message.length;
		long now = this.waiting.merge(node, length, Long::sum);
		if (now > this.maxBytes && now != length) {
			ended(node, length);
			return CompletableFuture.failedFuture(new ExchangeRejectedException(
					"Node '%s' does not take its messages: %d bytes wait for it, so nothing was sent. Is it overloaded or suspended? The limit is 'lf.cluster.max-outbound-size'"
						.formatted(node, now - length),
					null));
		}
		CompletableFuture<Void> result = null;
		try {
			result = this.engine.send(node, message).whenComplete((sent, failure) -> ended(node, length));
			return result;
		}
		finally {
			if (result == null) {
				// Memory is short. Nothing else would end the message, and in the end no
				// other would be sent.
				ended(node, length);
			}
		}
	}

	private void ended(String node, long length) {
		this.waiting.computeIfPresent(node, (key, bytes) -> (bytes == length) ? null : bytes - length);
	}

}
