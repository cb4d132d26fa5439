package org.leaderfollowers.spring.cluster;

import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicLong;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.ExchangeLostException;
import org.leaderfollowers.ExchangeRejectedException;
import org.leaderfollowers.ExchangeTimeoutException;
import org.leaderfollowers.spring.cluster.NodeMessage.Reply;
import org.leaderfollowers.spring.cluster.NodeMessage.Reply.Outcome;
import org.leaderfollowers.spring.handler.LfConnections.Delivery;
import org.leaderfollowers.spring.session.SessionBroadcast;

/**
 * Requests of this node to others, which wait for their replies. A request is sent once.
 * Its future is completed by the reply, by the end of its timeout, or because the node
 * has left, whatever is first.
 */
final class NodeRequests {

	private final NodeOutbox outbox;

	private final ClusterNodes nodes;

	private final AtomicLong ids = new AtomicLong();

	private final Map<Long, Pending> pending = new ConcurrentHashMap<>();

	private record Pending(String node, CompletableFuture<Reply> reply) {
	}

	NodeRequests(NodeOutbox outbox, ClusterNodes nodes) {
		this.outbox = outbox;
		this.nodes = nodes;
	}

	/**
	 * Creates a request, or a message without a reply.
	 */
	@FunctionalInterface
	interface Factory {

		NodeMessage create(String sender, long id, long deadline);

	}

	/**
	 * Sends a request.
	 * @return the reply; or an {@link ExchangeRejectedException} if the node did not get
	 * it, an {@link ExchangeTimeoutException} if it has not answered in time, or an
	 * {@link ExchangeLostException} if it is not known whether the node got it
	 */
	CompletableFuture<Reply> send(String node, Duration timeout, Factory factory) {
		if (this.nodes.isIsolated()) {
			return CompletableFuture
				.failedFuture(new ExchangeRejectedException(String.valueOf(this.nodes.problem()), null));
		}
		long id = this.ids.incrementAndGet();
		long deadline = this.nodes.engineMillis() - this.nodes.errorMillis() + Math.max(1, timeout.toMillis());
		byte[] message = WireForm.of(factory.create(this.nodes.self(), id, deadline));
		CompletableFuture<Reply> reply = new CompletableFuture<>();
		this.pending.put(id, new Pending(node, reply));
		// Before the caller goes on
		CompletableFuture<Reply> forgotten = reply.orTimeout(Math.max(1, timeout.toNanos()), TimeUnit.NANOSECONDS)
			.whenComplete((result, failure) -> this.pending.remove(id));
		if (!this.nodes.isKnown(node)) {
			// It has left before it was told of this request.
			reply.completeExceptionally(rejected(node, null));
		}
		else {
			this.outbox.send(node, message).exceptionally((failure) -> {
				Throwable cause = unwrap(failure);
				reply.completeExceptionally((cause instanceof ClusterEngine.NodeGoneException) ? rejected(node, cause)
						: (cause instanceof ExchangeRejectedException) ? cause : new ExchangeLostException(
								"Node '%s' may or may not have got a message".formatted(node), cause));
				return null;
			});
		}
		return forgotten.handle((result, failure) -> {
			Throwable cause = unwrap(failure);
			if (cause instanceof TimeoutException) {
				throw new ExchangeTimeoutException("Node '%s' has not answered within %s".formatted(node, timeout),
						cause);
			}
			if (cause != null) {
				throw new CompletionException(cause);
			}
			return result;
		});
	}

	private static ExchangeRejectedException rejected(String node, @Nullable Throwable cause) {
		return new ExchangeRejectedException("Node '%s' is gone, so nothing was sent".formatted(node), cause);
	}

	/** What sends the requests. */
	NodeOutbox outbox() {
		return this.outbox;
	}

	/** Sends a message without waiting for anything. It may be lost. */
	void tell(String node, Factory factory) {
		this.outbox.send(node, WireForm.of(factory.create(this.nodes.self(), 0, Long.MAX_VALUE)));
	}

	/** A reply has arrived. If nobody waits for it any more, it is dropped. */
	void receive(Reply reply) {
		Pending waiting = this.pending.get(reply.id());
		if (waiting != null && waiting.node.equals(reply.sender())) {
			waiting.reply.complete(reply);
		}
	}

	/** A node has left, so it does not answer any more. */
	void left(String node) {
		this.pending.values().forEach((waiting) -> {
			if (waiting.node.equals(node)) {
				waiting.reply.completeExceptionally(new ExchangeLostException(
						"Node '%s' has left, and may or may not have got a message".formatted(node), null));
			}
		});
	}

	/**
	 * Converts a reply to its payload.
	 * @throws CompletionException with the failure that the reply says
	 */
	static ByteBuffer payload(Reply reply, RuntimeException stale) {
		if (reply.outcome() == Outcome.DONE) {
			return reply.payload();
		}
		throw new CompletionException(switch (reply.outcome()) {
			case STALE -> stale;
			case INEXPRESSIBLE -> new IllegalArgumentException(reply.detail());
			case REJECTED -> new ExchangeRejectedException(reply.detail(), null);
			case TIMED_OUT -> new ExchangeTimeoutException(reply.detail(), null);
			default -> new ExchangeLostException(reply.detail(), null);
		});
	}

	/**
	 * What became of a message; unknown if a later version or a damaged node tells it.
	 */
	static Delivery delivery(ByteBuffer payload) {
		int outcome = (payload.remaining() >= Integer.BYTES) ? payload.getInt() : -1;
		Delivery[] known = Delivery.values();
		return (outcome >= 0 && outcome < known.length) ? known[outcome] : Delivery.UNKNOWN;
	}

	/**
	 * What became of a broadcast.
	 * @throws RuntimeException if a damaged node has answered
	 */
	static SessionBroadcast counts(ByteBuffer payload) {
		SessionBroadcast counts = new SessionBroadcast(payload.getInt(), payload.getInt(), payload.getInt(), 0);
		if ((counts.sent() | counts.notWritable() | counts.gone()) < 0) {
			throw new IllegalStateException("A node counts less than nothing: " + counts);
		}
		return counts;
	}

	static @Nullable Throwable unwrap(@Nullable Throwable failure) {
		return (failure instanceof CompletionException && failure.getCause() != null) ? failure.getCause() : failure;
	}

}
