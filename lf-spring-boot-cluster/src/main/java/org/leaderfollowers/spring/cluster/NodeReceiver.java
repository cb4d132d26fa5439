package org.leaderfollowers.spring.cluster;

import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;

import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;
import org.leaderfollowers.Connection;
import org.leaderfollowers.ExchangeRejectedException;
import org.leaderfollowers.ExchangeTimeoutException;
import org.leaderfollowers.spring.cluster.NodeMessage.Broadcast;
import org.leaderfollowers.spring.cluster.NodeMessage.Exchange;
import org.leaderfollowers.spring.cluster.NodeMessage.Reply;
import org.leaderfollowers.spring.cluster.NodeMessage.Reply.Outcome;
import org.leaderfollowers.spring.cluster.NodeMessage.Send;
import org.leaderfollowers.spring.cluster.NodeMessage.TakenOver;
import org.leaderfollowers.spring.handler.LfConnections.Delivery;
import org.leaderfollowers.spring.session.SessionBroadcast;
import org.leaderfollowers.spring.session.SessionHolder;

/**
 * Does what other nodes ask of this one. Whatever is asked is done at most once, and not
 * after its deadline: a node that was paused finds old requests when it goes on, and
 * whoever sent them was told already that they failed.
 */
final class NodeReceiver {

	private static final Log logger = LogFactory.getLog(ClusterSessionDirectory.class);

	/** How many requests are remembered until their deadlines. */
	static final int MAX_RECEIVED = 200_000;

	private static final ByteBuffer EMPTY = ByteBuffer.allocate(0).asReadOnlyBuffer();

	private final NodeOutbox outbox;

	private final ClusterNodes nodes;

	private final SessionHolder holder;

	private final LimitedLog failureLog;

	/**
	 * The deadlines of the requests that were received, so that none is done twice even
	 * if the engine delivers it twice.
	 */
	private final Map<Request, Long> received = new ConcurrentHashMap<>();

	private record Request(String sender, long id) {
	}

	NodeReceiver(NodeOutbox outbox, ClusterNodes nodes, SessionHolder holder, LimitedLog failureLog) {
		this.outbox = outbox;
		this.nodes = nodes;
		this.holder = holder;
		this.failureLog = failureLog;
	}

	/** Does not block, as the threads of the engine require. */
	void receive(NodeMessage message) {
		if (message instanceof TakenOver takenOver) {
			this.holder.takenOver(takenOver.successor());
		}
		else if (message instanceof NodeMessage.Unknown unknown) {
			if (!unknown.isRequest()) {
				logger.debug("A message of node '%s' has a newer format".formatted(message.sender()));
				return;
			}
			reply(message, Outcome.REJECTED,
					"Node '%s' is of an older version and does not understand the message: complete the upgrade"
						.formatted(this.nodes.self()),
					EMPTY);
		}
		else if (this.nodes.engineMillis() > message.deadline()) {
			logger.debug("A message of node '%s' has come too late".formatted(message.sender()));
		}
		else if (this.received.size() >= MAX_RECEIVED) {
			reply(message, Outcome.REJECTED,
					"Node '%s' has received %d requests whose timeouts have not ended, and accepts no more. Use shorter timeouts or more nodes"
						.formatted(this.nodes.self(), MAX_RECEIVED),
					EMPTY);
		}
		else if (this.received.putIfAbsent(new Request(message.sender(), message.id()), message.deadline()) == null) {
			try {
				perform(message);
			}
			catch (IllegalArgumentException ex) {
				reply(message, Outcome.INEXPRESSIBLE, String.valueOf(ex.getMessage()), EMPTY);
			}
			catch (RuntimeException ex) {
				failed(message, Outcome.REJECTED, ex);
			}
			catch (Throwable ex) {
				// For example, the framing has failed, or memory is short, perhaps after
				// the message was sent: the sender must neither wait nor repeat it.
				failed(message, Outcome.LOST, ex);
			}
		}
	}

	private void failed(NodeMessage message, Outcome outcome, Throwable failure) {
		try {
			this.failureLog.warn("A message of node '%s' could not be handled".formatted(message.sender()), failure);
		}
		finally {
			reply(message, outcome, detail(failure), EMPTY);
		}
	}

	/** The failure may be one of the application, which may not even describe itself. */
	private static String detail(Throwable failure) {
		try {
			return String.valueOf(failure.getMessage());
		}
		catch (RuntimeException | StackOverflowError ex) {
			return failure.getClass().getName();
		}
	}

	private void perform(NodeMessage message) {
		if (message instanceof Send send) {
			Connection connection = this.holder.connection(send.name(), send.epoch());
			if (connection == null) {
				reply(send, Outcome.STALE, "", EMPTY);
			}
			else {
				reply(send, Outcome.DONE, "", of(Delivery.of(connection, send.payload()).ordinal()));
			}
		}
		else if (message instanceof Exchange exchange) {
			Connection connection = this.holder.connection(exchange.name(), exchange.epoch());
			if (connection == null) {
				reply(exchange, Outcome.STALE, "", EMPTY);
			}
			else {
				long left = exchange.deadline() - this.nodes.engineMillis();
				connection.relay(exchange.payload(), Duration.ofMillis(Math.max(1, left)))
					.whenComplete((result, failure) -> replied(exchange, result, failure));
			}
		}
		else if (message instanceof Broadcast broadcast) {
			SessionBroadcast done = this.holder.broadcast(broadcast.group(), broadcast.messages());
			reply(broadcast, Outcome.DONE, "", of(done.sent(), done.notWritable(), done.gone()));
		}
	}

	private void replied(Exchange exchange, @Nullable ByteBuffer result, @Nullable Throwable failure) {
		Throwable cause = NodeRequests.unwrap(failure);
		if (cause == null && result != null) {
			reply(exchange, Outcome.DONE, "", result);
		}
		else {
			Outcome outcome = (cause instanceof ExchangeRejectedException) ? Outcome.REJECTED
					: (cause instanceof ExchangeTimeoutException) ? Outcome.TIMED_OUT : Outcome.LOST;
			reply(exchange, outcome, (cause != null) ? String.valueOf(cause.getMessage()) : "", EMPTY);
		}
	}

	private void reply(NodeMessage request, Outcome outcome, String detail, ByteBuffer payload) {
		this.outbox
			.send(request.sender(),
					WireForm
						.of(new Reply(this.nodes.self(), request.id(), request.deadline(), outcome, detail, payload)))
			.exceptionally((failure) -> {
				logger.debug("Node '%s' did not get a reply".formatted(request.sender()), failure);
				return null;
			});
	}

	private static ByteBuffer of(int... numbers) {
		ByteBuffer buffer = ByteBuffer.allocate(Integer.BYTES * numbers.length);
		for (int number : numbers) {
			buffer.putInt(number);
		}
		return buffer.flip();
	}

	/** Forgets requests that would be too late anyway. */
	void forget() {
		long now = this.nodes.engineMillis();
		this.received.values().removeIf((deadline) -> deadline < now);
	}

	/**
	 * Logs one warning per interval, so that messages of a broken node cannot fill a
	 * disk. The others are logged at {@code DEBUG} and counted. Any thread.
	 */
	static final class LimitedLog {

		static final long INTERVAL_NANOS = TimeUnit.SECONDS.toNanos(10);

		private final Log logger;

		private final LongSupplier clock;

		private long nextNanos;

		private long heldBack;

		/**
		 * Creates a limit that lets the first warning through.
		 * @param clock tells the time as {@link System#nanoTime()} does
		 */
		LimitedLog(Log logger, LongSupplier clock) {
			this.logger = logger;
			this.clock = clock;
			this.nextNanos = clock.getAsLong();
		}

		void warn(String message, Throwable failure) {
			long before = heldBack();
			if (before < 0) {
				this.logger.debug(message, failure);
			}
			else {
				this.logger.warn(
						(before > 0) ? "%s (%d more since the last such line)".formatted(message, before) : message,
						failure);
			}
		}

		/** Returns how many warnings were held back, or -1 if the next one is, too. */
		private synchronized long heldBack() {
			long now = this.clock.getAsLong();
			if (now - this.nextNanos < 0) {
				this.heldBack++;
				return -1;
			}
			this.nextNanos = now + INTERVAL_NANOS;
			long before = this.heldBack;
			this.heldBack = 0;
			return before;
		}

	}

}
