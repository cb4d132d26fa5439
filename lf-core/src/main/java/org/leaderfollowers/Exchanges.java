package org.leaderfollowers;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Stream;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.internal.buffer.OutboundBuffer;
import org.leaderfollowers.internal.buffer.OutboundBuffer.Sent;
import org.leaderfollowers.internal.exchange.Exchange;
import org.leaderfollowers.internal.exchange.Exchange.State;
import org.leaderfollowers.internal.exchange.ExchangeTable;
import org.leaderfollowers.internal.exchange.ExchangeTable.Registration;

/**
 * The requests that this side sends on one connection, and their replies. The road of a
 * request is {@link #send}, by the caller's thread; that of a reply is {@link #find} and
 * {@link #resume}, by the thread that reads, or {@link #complete}, by the same thread
 * when it runs code of the application: a thread that waits needs no dispatch, a future
 * does.
 */
final class Exchanges implements Participant.Awaited {

	/** How many messages are read though nobody is there to handle them. */
	private static final int MOST_POSTPONED = 256;

	private final Correlation correlation;

	private final ExchangeTable table;

	private final StreamConnection connection;

	private final ExchangeListener listener;

	private final RequestWriter writer;

	// The owner's

	/** The exchange whose reply was decoded last. */
	private @Nullable Exchange found;

	/** Futures that have ended, to be completed by the application's share of a round. */
	private List<Exchange> ended = List.of();

	/**
	 * Messages for the handler that were read by a thread that waits for a reply itself.
	 */
	private final ArrayDeque<ByteBuffer> postponed = new ArrayDeque<>(0);

	/** Whether the message that was decoded last is going to be decoded again. */
	private boolean putBack;

	/**
	 * Told of the exchanges of all connections of a client. Any thread. Must neither
	 * block nor throw.
	 */
	interface ExchangeListener {

		/** An exchange has ended, or will never get its reply. */
		void ended(State state);

		/** A reply came too late. */
		void late();

		/** A place is free, or the connection takes no more exchanges. */
		void changed();

		/** How many replies may be owed until the connection is given up. */
		int maxOverdue();

	}

	Exchanges(Correlation correlation, int places, StreamConnection connection, ExchangeListener listener) {
		this.correlation = correlation;
		this.table = correlation.newTable(places);
		this.connection = connection;
		this.listener = listener;
		this.writer = new RequestWriter(this.table, connection.outbound, this::changed);
	}

	// A request

	/** Whether there is a free place. Any thread. */
	boolean hasPlace() {
		return this.table.hasPlace();
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
	 * @return {@link Registration#REGISTERED} if it was sent, or is being sent by another
	 * thread, which ends it as {@link State#REFUSED} if that is not possible; otherwise
	 * nothing was written, and the exchange may be tried again elsewhere
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
				// Its owner has paused it before the reply was waited for, or sees that
				// it
				// is now: see pauseUntil.
				this.connection.handle.request(SelectableHandle.LOOK);
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

	/** The same, without waiting. Any thread. */
	CompletableFuture<ByteBuffer> exchangeAsync(ByteBuffer request, long timeoutNanos) {
		Reply reply = new Reply(this.connection.nanoTime() + timeoutNanos);
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
	 * Waits for the reply to a request that was sent. By the thread that the exchange was
	 * created for.
	 * @return the reply, or {@code null} if the request was refused
	 * @throws ExchangeException if there is none
	 */
	@Nullable ByteBuffer await(Exchange exchange) {
		if (exchange.state() == State.PENDING) {
			Participant.await(exchange, this, this.connection.context.clock());
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
			// It may have had a place for a moment.
			changed();
			throw ex;
		}
	}

	/** Whether the table has the order of the socket, and each message has a reply. */
	boolean isInOrder() {
		return this.correlation.isInOrder();
	}

	/**
	 * Sends a message whose reply is for the handler, though replies come in order: it
	 * takes its place among them.
	 */
	void sendForHandler(ByteBuffer message) {
		Exchange exchange = Exchange.ofFuture(ExchangeTable.NO_DEADLINE, new CompletableFuture<>());
		exchange.end(State.CANCELLED);
		Registration registration = write(exchange, message, true);
		switch (registration) {
			case REGISTERED -> this.table.overdue();
			case CLOSED -> throw this.connection.notSendable();
			default -> throw rejected(registration);
		}
	}

	/**
	 * Writes the request of a future at once: nobody but the caller could tell it of a
	 * refusal.
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
			// Without memory for all of it, or after a failure of the socket, a part may
			// have been written: the end of the connection ends the exchange.
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
			// A server closes the connection when it is not asked any more.
			this.connection.drain();
		}
	}

	/** Has requests wait until the replies that are being read have been given out. */
	boolean holdRequests() {
		return this.writer.hold();
	}

	/** Writes the requests that have come meanwhile. */
	void letRequestsGo() {
		this.writer.letGo();
	}

	/**
	 * Registers an exchange under the monitor that orders the writes, so that the table
	 * has the order of the socket.
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

	/** A caller has given up, or its time is up; its exchange has ended. Any thread. */
	void givenUp(Exchange exchange) {
		State state = exchange.state();
		this.listener.ended(state);
		int overdue = this.table.overdue();
		changed();
		boolean blocks = isInOrder() && state == State.TIMED_OUT && this.table.holds(exchange);
		if (blocks || overdue > this.listener.maxOverdue()) {
			// The next reply could be taken for the wrong one; or the peer owes so many
			// that there is no use in waiting for them.
			this.connection.requestCloseAndLook(CloseReason.EXCHANGE_TIMEOUT, null);
		}
	}

	// A reply; the owner's

	/**
	 * A message was decoded: finds the exchange that it replies to.
	 * @throws RuntimeException if the correlation fails on it
	 */
	void find(ByteBuffer message) {
		if (this.putBack) {
			this.putBack = false;
			return;
		}
		Object key = this.correlation.keyOf(message);
		this.found = (key != null) ? this.table.take(key) : null;
	}

	/** Whether an exchange was found for the message that was decoded last. */
	boolean hasFound() {
		return this.found != null;
	}

	/** The message that was decoded last is kept, to be decoded again. */
	void putBack() {
		this.putBack = true;
	}

	/**
	 * Gives the message that was decoded last to the thread that waits for it.
	 * @return {@code false} if it is something for {@link #complete} or for the handler
	 */
	boolean resume(ByteBuffer message) {
		Exchange exchange = this.found;
		return exchange != null && exchange.isAwaited() && deliver(exchange, message);
	}

	/**
	 * Completes the future that waits for the message that was decoded last.
	 * @return {@code false} if it is something for the handler
	 */
	boolean complete(ByteBuffer message) {
		Exchange exchange = this.found;
		if (exchange == null || !deliver(exchange, message)) {
			return false;
		}
		CompletableFuture<ByteBuffer> future = exchange.future();
		if (future != null) {
			future.complete(exchange.reply());
		}
		return true;
	}

	private boolean deliver(Exchange exchange, ByteBuffer message) {
		ByteBuffer reply = copy(message);
		this.found = null;
		this.correlation.restore(exchange, reply);
		boolean inTime = exchange.reply(reply);
		if (inTime && !exchange.isAwaited()) {
			// A thread that waits counts its own: it would see its reply before the
			// count.
			this.listener.ended(State.REPLIED);
		}
		else if (!inTime) {
			this.table.late();
			this.listener.late();
		}
		// Only now are the counts right for those who wait for a place or for the end.
		changed();
		return inTime;
	}

	/** A copy of a message, which belongs to the application. */
	static ByteBuffer copy(ByteBuffer message) {
		return copy(message, ByteBuffer.allocate(message.remaining()));
	}

	private static ByteBuffer copy(ByteBuffer message, ByteBuffer target) {
		int length = message.remaining();
		target.put(0, message, message.position(), length);
		return target.position(0).limit(length).mark();
	}

	/**
	 * Puts the message that was decoded last aside, if it is none that a thread waits
	 * for: replies may be behind it, and there is no thread to run a handler.
	 * @param onlyReplies whether messages for the handler are not put aside
	 * @return {@code false} if as many have been put aside as may be, or if there is no
	 * memory for it
	 */
	boolean postpone(ByteBuffer message, boolean onlyReplies) {
		Exchange exchange = this.found;
		if (exchange != null && deliver(exchange, message)) {
			this.ended = Stream.concat(this.ended.stream(), Stream.of(exchange)).toList();
			return true;
		}
		ByteBuffer memory = (!onlyReplies && mayPostpone())
				? this.connection.context.memory().allocate(Math.max(1, message.remaining())) : null;
		if (memory != null) {
			this.postponed.addLast(copy(message, memory));
		}
		return memory != null;
	}

	/** Whether another message may be put aside. */
	boolean mayPostpone() {
		return this.postponed.size() < MOST_POSTPONED;
	}

	/** Whether there are messages for the handler that were read before. */
	boolean hasPostponed() {
		return !this.postponed.isEmpty();
	}

	/** Whether there are futures to complete. */
	boolean hasEnded() {
		return !this.ended.isEmpty();
	}

	/** The next message that was put aside, to be {@linkplain #handled} afterwards. */
	@Nullable ByteBuffer nextPostponed() {
		return this.postponed.pollFirst();
	}

	/** The next message that was put aside, for a handler that waits for it. */
	@Nullable ByteBuffer takePostponed() {
		ByteBuffer message = nextPostponed();
		if (message == null) {
			return null;
		}
		ByteBuffer copied = copy(message);
		handled(message);
		return copied;
	}

	/** Messages that were put aside are handled no more. */
	void discardPostponed() {
		for (ByteBuffer lost = nextPostponed(); lost != null; lost = nextPostponed()) {
			handled(lost);
		}
	}

	/** A message that was put aside has been handled. */
	void handled(ByteBuffer message) {
		this.connection.context.memory().release(message.capacity());
	}

	// The end; the owner's

	/** When {@link #expire} is to be called. Any thread. */
	long deadlineNanos() {
		return this.table.deadlineNanos();
	}

	/** Ends the futures whose time is up. Returns whether there are some to complete. */
	boolean expire(long nowNanos) {
		if (!ConnectionTimeouts.isPast(this.table.deadlineNanos(), nowNanos)) {
			return false;
		}
		List<Exchange> expired = this.table.expire(nowNanos);
		expired.forEach(this::givenUp);
		this.ended = Stream.concat(this.ended.stream(), expired.stream()).toList();
		return !expired.isEmpty();
	}

	/**
	 * No reply will come any more: ends what is under way. Returns whether there are
	 * futures to complete.
	 */
	boolean close() {
		List<Exchange> lost = this.table.close();
		Exchange undelivered = this.found;
		if (undelivered != null && undelivered.end(State.LOST) && !undelivered.isAwaited()) {
			lost.add(undelivered);
		}
		if (!lost.isEmpty()) {
			lost.forEach((exchange) -> this.listener.ended(State.LOST));
			this.ended = Stream.concat(this.ended.stream(), lost.stream()).toList();
		}
		changed();
		return !this.ended.isEmpty();
	}

	/** Completes the futures that have ended. Runs code of the application. */
	void completeEnded() {
		List<Exchange> completed = this.ended;
		this.ended = List.of();
		for (Exchange exchange : completed) {
			CompletableFuture<ByteBuffer> future = exchange.future();
			if (future != null && exchange.state() == State.REPLIED) {
				future.complete(exchange.reply());
			}
			else if (future != null) {
				future.completeExceptionally(failure(exchange));
			}
		}
	}

	/** What a caller is told whose request was not sent. */
	ExchangeRejectedException rejected(Registration why) {
		String reason = switch (why) {
			case CONGESTED -> "the peer does not read, and %d bytes wait for it (maxOutboundSize)"
				.formatted(this.connection.pendingBytes());
			case FULL -> "as many exchanges are under way as may be, " + this.table.places();
			case DUPLICATE ->
				"another one with the same key is under way, or its late reply may still come. Use keys that are not repeated";
			default -> "the connection is closed";
		};
		return new ExchangeRejectedException("The request was not sent on %s to %s: %s".formatted(this.connection,
				this.connection.remoteAddress(), reason), null);
	}

	/** What the caller of an exchange is told that has ended without a reply. */
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
		return new ExchangeLostException(
				"%s to %s ended (%s) before the reply came. The peer may have executed the request".formatted(
						this.connection, this.connection.remoteAddress(),
						(end != null) ? end.reason() : CloseReason.IO_ERROR),
				(end != null) ? end.cause() : null);
	}

}
