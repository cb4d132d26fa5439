package org.leaderfollowers;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.concurrent.CompletableFuture;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.internal.buffer.OutboundBuffer;
import org.leaderfollowers.internal.buffer.OutboundBuffer.Sent;
import org.leaderfollowers.internal.exchange.Exchange;
import org.leaderfollowers.internal.exchange.Exchange.State;
import org.leaderfollowers.internal.exchange.ExchangeTable;
import org.leaderfollowers.internal.exchange.ExchangeTable.Registration;

/**
 * The requests that this side sends on one connection, and their replies. The caller's
 * thread sends a request by {@link #send}. The thread that reads finds the exchange of a
 * reply by {@link #find}. If a thread waits for the reply, {@link #resume} ends its wait
 * at once. If a future waits for it, {@link #complete} completes it when the reading
 * thread runs code of the application.
 */
final class Exchanges implements Participant.Awaited {

	/** How many messages are kept while no thread is available to handle them. */
	private static final int MOST_POSTPONED = 256;

	private final Correlation correlation;

	private final ExchangeTable table;

	private final StreamConnection connection;

	private final ExchangeListener listener;

	private final RequestWriter writer;

	// Used by the owner only

	/** The exchange whose reply was decoded last. */
	private @Nullable Exchange found;

	private final EndedExchanges ended = new EndedExchanges(this);

	/** Messages for the handler that a thread has read while it waited for a reply. */
	private final ArrayDeque<ByteBuffer> postponed = new ArrayDeque<>(0);

	/** The memory of these messages. Any thread reads it. */
	private volatile long postponedBytes;

	/**
	 * Notified about the exchanges of all connections of a client. Any thread.
	 * Implementations must neither block nor throw.
	 */
	interface ExchangeListener {

		/** An exchange has ended, or can no longer get its reply. */
		void ended(State state);

		/**
		 * The connection has ended before the replies to some requests came. Called
		 * before the connection is closed, even if a caller does not know yet.
		 */
		default void lost() {
		}

		/** A reply came after its exchange had ended. */
		void late();

		/** A place has become free, or the connection accepts no more exchanges. */
		void changed();

		/** How many replies may be overdue before the connection is closed. */
		int maxOverdue();

	}

	Exchanges(Correlation correlation, int places, StreamConnection connection, ExchangeListener listener) {
		this.correlation = correlation;
		this.table = correlation.newTable(places);
		this.connection = connection;
		this.listener = listener;
		this.writer = new RequestWriter(this.table, connection.outbound, this::changed);
	}

	// Requests

	/** Whether there is a free place. Any thread. */
	boolean hasPlace() {
		return this.table.hasPlace();
	}

	/** Whether no further reply will come. Any thread. */
	boolean isClosed() {
		return this.table.isClosed();
	}

	/** How many places are taken. Any thread. */
	int taken() {
		return this.table.taken();
	}

	/** How many exchanges wait for their replies. Any thread. */
	int pending() {
		return this.table.pending();
	}

	/**
	 * Registers an exchange and sends its request. Any thread.
	 * @param request the payload, from position to limit, which are the same afterwards
	 * @return {@link Registration#REGISTERED} if the request was sent or is being sent by
	 * another thread, which ends the exchange as {@link State#REFUSED} if that fails;
	 * otherwise nothing was written, and the exchange may be tried on another connection
	 */
	Registration send(Exchange exchange, ByteBuffer request) {
		Correlation.Payload payload = new Correlation.Payload(request);
		boolean inOrder = this.correlation.isInOrder();
		Registration registration = inOrder ? Registration.REGISTERED : register(exchange, request, payload);
		if (registration != Registration.REGISTERED) {
			return registration;
		}
		boolean sent = false;
		try {
			if (exchange.isAwaited()) {
				this.writer.send(exchange, payload.bytes(), !inOrder);
			}
			else {
				registration = write(exchange, payload.bytes(), inOrder);
			}
			sent = registration == Registration.REGISTERED;
			if (sent && this.connection.handle.isPaused()) {
				// The owner may have paused the handle before: see pauseUntil.
				this.connection.handle.request(SelectableHandle.LOOK);
			}
			if (sent && this.connection.isDraining()) {
				// A thread in a handler may not read, as no reply was awaited.
				this.connection.ownerLooksAgain();
			}
		}
		finally {
			if (!sent && !inOrder) {
				this.table.withdraw(exchange);
				changed();
			}
		}
		return registration;
	}

	/**
	 * Sends a request on this connection and waits for its reply. Any thread.
	 * @param request the payload, from position to limit, which are the same afterwards
	 */
	ByteBuffer exchange(ByteBuffer request, long timeoutNanos) {
		Exchange exchange = Exchange.ofCaller(this.connection.nanoTime() + timeoutNanos);
		sendHere(exchange, request);
		ByteBuffer reply = await(exchange);
		if (reply == null) {
			this.listener.ended(State.REFUSED);
			throw rejected(exchange.refusal());
		}
		return reply;
	}

	/**
	 * Like {@link #exchange}, without waiting. Any thread.
	 * @param isRelayed whether the thread that reads the reply completes the future at
	 * once, or when it runs code of the application
	 */
	CompletableFuture<ByteBuffer> exchangeAsync(ByteBuffer request, long timeoutNanos, boolean isRelayed) {
		Reply reply = new Reply(this.connection.nanoTime() + timeoutNanos, isRelayed);
		try {
			sendHere(reply.exchange, request);
			reply.begin(this);
		}
		catch (ExchangeRejectedException ex) {
			reply.completeExceptionally(ex);
		}
		return reply;
	}

	private void sendHere(Exchange exchange, ByteBuffer request) {
		Registration sent = (this.connection.closing == null) ? send(exchange, request) : Registration.CLOSED;
		if (sent != Registration.REGISTERED && exchange.state() == State.PENDING) {
			this.listener.ended(State.REFUSED);
			throw rejected(sent);
		}
	}

	/**
	 * Waits for the reply to a request that was sent. Called by the thread that the
	 * exchange was created for.
	 * @return the reply, or {@code null} if the request was refused
	 * @throws ExchangeException if there is none
	 */
	@Nullable ByteBuffer await(Exchange exchange) {
		if (exchange.state() == State.PENDING) {
			boolean waited = false;
			try {
				Participant.await(exchange, this, this.connection.context.clock());
				waited = true;
			}
			finally {
				if (!waited) {
					// For example because memory is short. Nobody waits any more, so a
					// request that is still queued is not written.
					exchange.end(State.CANCELLED);
					givenUp(exchange);
				}
			}
		}
		switch (exchange.state()) {
			case REPLIED -> {
				this.listener.ended(State.REPLIED);
				return exchange.reply();
			}
			case REFUSED -> {
				return null;
			}
			case LOST -> this.listener.ended(State.LOST);
			default -> givenUp(exchange);
		}
		throw failure(exchange);
	}

	private Registration register(Exchange exchange, ByteBuffer request, Correlation.Payload payload) {
		try {
			return this.correlation.register(this.table, exchange, request, payload);
		}
		catch (RuntimeException | Error ex) {
			// A place may have been taken for a moment, so waiting callers are notified.
			changed();
			throw ex;
		}
	}

	/**
	 * Whether replies come in the order of the requests on the socket, and each message
	 * has a reply.
	 */
	boolean isInOrder() {
		return this.correlation.isInOrder();
	}

	/**
	 * Sends a message whose reply goes to the handler. Because replies come in order, the
	 * message takes a place among the requests.
	 */
	void sendForHandler(ByteBuffer message) {
		Exchange exchange = Exchange.ofHandler();
		Registration registration = write(exchange, message, true);
		switch (registration) {
			case REGISTERED -> this.table.overdue(exchange);
			case CLOSED -> throw this.connection.notSendable();
			default -> throw rejected(registration);
		}
	}

	/**
	 * Writes a request. Nothing is queued, because a later rejection could not be
	 * reported to the caller of a future.
	 */
	private Registration write(Exchange exchange, ByteBuffer payload, boolean inOrder) {
		InOrderAcceptance acceptance = inOrder ? new InOrderAcceptance(this.table, exchange) : null;
		OutboundWriter outbound = this.connection.outbound;
		Sent sent = outbound.sendRequests(outbound.encodeRequest(payload), acceptance);
		if (acceptance != null && acceptance.registration != null
				&& acceptance.registration != Registration.REGISTERED) {
			return acceptance.registration;
		}
		return switch (sent) {
			case REFUSED -> Registration.CONGESTED;
			case CLOSED -> Registration.CLOSED;
			// A part may have been written. The end of the connection ends the exchange.
			default -> {
				boolean registered = acceptance == null || acceptance.registration != null;
				this.connection.requestTimerIfEarlier();
				yield registered ? Registration.REGISTERED : Registration.CLOSED;
			}
		};
	}

	private void changed() {
		this.listener.changed();
		if (this.connection.closing == null && this.connection.isDraining() && pending() == 0) {
			// A server that drains closes when no request waits for a reply.
			this.connection.drain();
		}
	}

	/** Holds back requests until the replies that are being read have been passed on. */
	boolean holdRequests() {
		return this.writer.hold();
	}

	/** Writes the requests that were held back. */
	void letRequestsGo() {
		this.writer.letGo();
	}

	/**
	 * Registers an exchange under the monitor that orders the writes, so that the table
	 * has the same order as the socket.
	 */
	private static final class InOrderAcceptance implements OutboundBuffer.Acceptance {

		private final ExchangeTable table;

		private final Exchange exchange;

		private @Nullable Registration registration;

		InOrderAcceptance(ExchangeTable table, Exchange exchange) {
			this.table = table;
			this.exchange = exchange;
		}

		@Override
		public boolean accept() {
			this.registration = this.table.register(this.exchange, null);
			return this.registration == Registration.REGISTERED;
		}

	}

	/**
	 * Called when a caller has given up or an exchange has timed out. The exchange has
	 * ended already. Any thread.
	 */
	void givenUp(Exchange exchange) {
		State state = exchange.state();
		this.listener.ended(state);
		int overdue = this.table.overdue(exchange);
		changed();
		boolean blocks = isInOrder() && state == State.TIMED_OUT && this.table.holds(exchange);
		if (blocks || overdue > this.listener.maxOverdue()) {
			// The next reply could be matched with the wrong request, or the peer owes so
			// many replies that waiting for them is useless.
			this.connection.requestCloseAndLook(CloseReason.EXCHANGE_TIMEOUT, null);
		}
	}

	// Replies; used by the owner only

	/**
	 * Finds the exchange that the decoded message replies to.
	 * @throws RuntimeException if the correlation fails for this message
	 */
	void find(ByteBuffer message) {
		Object key = this.correlation.keyOf(message);
		this.found = (key != null) ? this.table.take(key) : null;
	}

	/** Whether an exchange was found for the message that was decoded last. */
	boolean hasFound() {
		return this.found != null;
	}

	/**
	 * Passes the message that was decoded last to the thread that waits for it, or to
	 * code that never blocks.
	 * @return {@code false} if the message is for {@link #complete} or for the handler
	 */
	boolean resume(ByteBuffer message) {
		Exchange exchange = this.found;
		boolean resumes = exchange != null && (exchange.isAwaited() || isRelayed(exchange))
				&& deliver(exchange, message);
		this.ended.count();
		return resumes;
	}

	/** Whether the thread that reads the reply completes the future at once. */
	static boolean isRelayed(Exchange exchange) {
		return exchange.future() instanceof Reply reply && reply.isRelayed;
	}

	/**
	 * Completes the future that waits for the message that was decoded last.
	 * @return {@code false} if the message is for the handler
	 */
	boolean complete(ByteBuffer message) {
		Exchange exchange = this.found;
		if (exchange == null || !deliver(exchange, message)) {
			return false;
		}
		this.ended.complete();
		return true;
	}

	private boolean deliver(Exchange exchange, ByteBuffer message) {
		ByteBuffer reply = copy(message);
		this.found = null;
		this.correlation.restore(exchange, reply);
		boolean inTime = exchange.reply(reply);
		if (inTime && exchange.future() != null) {
			this.ended.over().add(exchange);
		}
		if (inTime && !exchange.isAwaited()) {
			// A waiting thread counts its own reply. Otherwise it could see its reply
			// before the count.
			this.listener.ended(State.REPLIED);
		}
		else if (!inTime && !exchange.isOfHandler()) {
			this.listener.late();
		}
		// Last, so that threads that wait for a place or for the end see correct counts.
		changed();
		return inTime;
	}

	/** Copies a message. The copy belongs to the application. */
	static ByteBuffer copy(ByteBuffer message) {
		return copy(message, ByteBuffer.allocate(message.remaining()));
	}

	private static ByteBuffer copy(ByteBuffer message, ByteBuffer target) {
		int length = message.remaining();
		target.put(0, message, message.position(), length);
		return target.position(0).limit(length).mark();
	}

	/**
	 * Keeps the message that was decoded last for later, unless it is a reply that
	 * completes an exchange. Replies may follow it, and no thread is available to run a
	 * handler.
	 * @param onlyReplies whether messages for the handler must not be kept
	 * @return {@code false} if the maximum number of messages is kept or the budget
	 * allows no more memory
	 */
	boolean postpone(ByteBuffer message, boolean onlyReplies) {
		Exchange exchange = this.found;
		if (exchange != null && deliver(exchange, message)) {
			this.ended.count();
			return true;
		}
		ByteBuffer memory = (!onlyReplies && mayPostpone())
				? this.connection.context.memory().allocateLast(Math.max(1, message.remaining()), this.postponed)
				: null;
		if (memory != null) {
			this.postponedBytes += memory.capacity();
			copy(message, memory);
		}
		return memory != null;
	}

	/** Whether another message may be kept. */
	boolean mayPostpone() {
		return this.postponed.size() < MOST_POSTPONED;
	}

	/** Whether there are messages for the handler that were read before. */
	boolean hasPostponed() {
		return !this.postponed.isEmpty();
	}

	/** Whether there are futures to complete. */
	boolean hasEnded() {
		return this.ended.isAny();
	}

	/**
	 * The next message that was kept. The caller passes it to {@link #handled}
	 * afterwards.
	 */
	@Nullable ByteBuffer nextPostponed() {
		return this.postponed.pollFirst();
	}

	/**
	 * The next message that was kept, for a handler that waits for it. If memory is too
	 * short for the copy, the message stays there.
	 */
	@Nullable ByteBuffer takePostponed() {
		ByteBuffer message = peekPostponed();
		if (message == null) {
			return null;
		}
		ByteBuffer taken = copy(message);
		this.postponed.removeFirst();
		handled(message);
		return taken;
	}

	/** Discards the messages that were kept. */
	void discardPostponed() {
		for (ByteBuffer lost = nextPostponed(); lost != null; lost = nextPostponed()) {
			handled(lost);
		}
	}

	/** The next message that was kept. It stays there. */
	@Nullable ByteBuffer peekPostponed() {
		return this.postponed.peekFirst();
	}

	/** How much memory the messages that were kept take, in bytes. Any thread. */
	long postponedBytes() {
		return this.postponedBytes;
	}

	/** Releases the memory of a message that was kept and has been handled. */
	void handled(ByteBuffer message) {
		this.postponedBytes -= message.capacity();
		this.connection.context.memory().release(message.capacity());
	}

	// The end; used by the owner only

	/** When {@link #expire} must be called. Any thread. */
	long deadlineNanos() {
		return this.table.deadlineNanos();
	}

	/**
	 * Ends the futures that have timed out. Returns whether there are any to complete.
	 */
	boolean expire(long nowNanos) {
		if (!ConnectionTimeouts.isPast(this.table.deadlineNanos(), nowNanos)) {
			return false;
		}
		this.table.expire(nowNanos, this.ended.over());
		this.ended.count();
		return hasEnded();
	}

	/** Counts an exchange without a reply; a reply was counted when it came. */
	void count(Exchange exchange) {
		switch (exchange.state()) {
			case REPLIED -> {
			}
			case LOST -> this.listener.ended(State.LOST);
			default -> givenUp(exchange);
		}
	}

	/**
	 * Ends all exchanges, because no further reply will come. Returns whether there are
	 * futures to complete.
	 */
	boolean close() {
		// Once: a connection that drains looks again after a change, and gets here.
		boolean changes = !this.table.isClosed();
		boolean isAnyLost = this.table.close(this.ended.over());
		Exchange undelivered = this.found;
		if (undelivered != null && undelivered.end(State.LOST)) {
			isAnyLost = true;
			// A waiting thread counts its own loss, as it counts its own reply.
			if (!undelivered.isAwaited()) {
				this.ended.over().add(undelivered);
			}
		}
		if (isAnyLost) {
			this.listener.lost();
		}
		this.ended.count();
		if (changes) {
			changed();
		}
		return hasEnded();
	}

	/** Completes the futures that have ended. Runs code of the application. */
	void completeEnded() {
		this.ended.complete();
	}

	/** Creates the exception for a request that was not sent. */
	ExchangeRejectedException rejected(Registration why) {
		String reason = switch (why) {
			case CONGESTED -> "the peer does not read, and %d bytes wait for it (maxOutboundSize)"
				.formatted(this.connection.pendingBytes());
			case FULL -> "the maximum number of exchanges is under way, " + this.table.places();
			case DUPLICATE ->
				"a request with the same key waits for its reply, or this reply may still come late. Use keys "
						+ "that are not repeated";
			default -> "the connection is closed";
		};
		return new ExchangeRejectedException("The request was not sent on %s to %s: %s".formatted(this.connection,
				this.connection.remoteAddress(), reason), null);
	}

	/** Creates the exception for an exchange that has ended without a reply. */
	ExchangeException failure(Exchange exchange) {
		return switch (exchange.state()) {
			case TIMED_OUT -> new ExchangeTimeoutException(
					"%s has not replied to %s in time".formatted(this.connection.remoteAddress(), this.connection),
					null);
			case CANCELLED -> new ExchangeLostException(
					"%s was interrupted before the reply came on %s. The peer may have executed the request"
						.formatted(Thread.currentThread().getName(), this.connection),
					null);
			default -> lost();
		};
	}

	@Override
	public String peer() {
		return this.connection.server();
	}

	@Override
	public String toString() {
		// Operators who see this are not necessarily allowed to see addresses of clients.
		return "the reply " + (this.connection.context.isClient() ? "of " + this.connection.remoteAddress() + " " : "")
				+ "on " + this.connection;
	}

	private ExchangeLostException lost() {
		CloseSequence end = this.connection.closing;
		if (end == null) {
			end = this.connection.ending();
		}
		return new ExchangeLostException(
				"%s to %s ended (%s) before the reply came. The peer may have executed the request".formatted(
						this.connection, this.connection.remoteAddress(),
						(end != null) ? end.reason() : CloseReason.IO_ERROR),
				(end != null) ? end.cause() : null);
	}

}
