package org.leaderfollowers;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.internal.buffer.OutboundBuffer;
import org.leaderfollowers.internal.buffer.OutboundBuffer.Sent;
import org.leaderfollowers.internal.exchange.Exchange;
import org.leaderfollowers.internal.exchange.Exchange.State;
import org.leaderfollowers.internal.exchange.ExchangeTable;
import org.leaderfollowers.internal.exchange.ExchangeTable.Registration;
import org.leaderfollowers.internal.exchange.RequestQueue;

/**
 * Writes requests whose callers wait. Requests that arrive together are written at once,
 * by one of the callers or by the thread that reads replies. With 64 callers on one
 * connection, this saves most of the system calls, and no caller waits until the system
 * call of another one has returned.
 */
final class RequestWriter implements OutboundBuffer.Acceptance {

	private final ExchangeTable table;

	private final OutboundWriter outbound;

	private final Runnable onWithdrawal;

	private final RequestQueue<Request> queue = new RequestQueue<>(this::write);

	// Used only by the thread that holds the queue

	/** There is always room for one. */
	private final List<Request> taken = new ArrayList<>(1);

	private @Nullable ByteBuffer batch;

	/** How many of the requests that were taken are registered or have ended. */
	private int settled;

	/**
	 * A request that is to be written.
	 *
	 * @param exchange may have ended by now
	 * @param frame from position to limit
	 * @param registered whether the exchange is registered already; otherwise it is
	 * registered when the request is written
	 */
	private record Request(Exchange exchange, ByteBuffer frame, boolean registered) {
	}

	/**
	 * Creates the writer of one connection.
	 * @param onWithdrawal called when an exchange leaves the table because its request
	 * was not written
	 */
	RequestWriter(ExchangeTable table, OutboundWriter outbound, Runnable onWithdrawal) {
		this.table = table;
		this.outbound = outbound;
		this.onWithdrawal = onWithdrawal;
	}

	/**
	 * Sends a request. Any thread. If the request cannot be written, the exchange ends as
	 * {@link State#REFUSED}.
	 * @param registered whether the exchange is registered already
	 */
	void send(Exchange exchange, ByteBuffer message, boolean registered) {
		this.queue.add(new Request(exchange, this.outbound.encodeRequest(message), registered));
	}

	/** See {@link RequestQueue#hold()}. */
	boolean hold() {
		return this.queue.hold();
	}

	/** See {@link RequestQueue#letGo()}. */
	void letGo() {
		this.queue.letGo();
	}

	private void write(Queue<Request> requests) {
		int bytes = take(requests);
		this.settled = 0;
		Registration refusal = Registration.CLOSED;
		try {
			Participant me = Participant.current();
			ByteBuffer single = (this.taken.size() == 1) ? this.taken.get(0).frame() : null;
			ByteBuffer target = (me != null && bytes <= Participant.BUFFER_SIZE) ? me.output(bytes)
					: (single != null) ? single : ByteBuffer.allocate(bytes);
			this.batch = target;
			Sent sent = this.outbound.sendRequests(target, this);
			refusal = (sent == Sent.REFUSED) ? Registration.CONGESTED : refusal;
		}
		finally {
			this.batch = null;
			try {
				refuseFrom(this.settled, refusal);
			}
			finally {
				// Otherwise the next batch would contain these requests again.
				this.taken.clear();
			}
		}
	}

	/** Refuses requests, and then tells of their places, which may fail. */
	private void refuseFrom(int first, Registration why) {
		int withdrawn = 0;
		for (int i = first; i < this.taken.size(); i++) {
			Request request = this.taken.get(i);
			request.exchange().refuse(why);
			if (request.registered()) {
				this.table.withdraw(request.exchange());
				withdrawn++;
			}
		}
		for (int i = 0; i < withdrawn; i++) {
			// Each call wakes one thread that waits for a place.
			this.onWithdrawal.run();
		}
	}

	/**
	 * Takes as many requests as fit into a buffer, but at least one. Returns their total
	 * length.
	 */
	private int take(Queue<Request> requests) {
		int bytes = 0;
		for (Request next = requests.peek(); next != null
				&& (bytes == 0 || bytes + next.frame().remaining() <= Participant.BUFFER_SIZE); next = requests
					.peek()) {
			// In this order: a request that was taken is written or refused.
			if (!keep(next)) {
				return bytes;
			}
			requests.remove();
			bytes += next.frame().remaining();
		}
		return bytes;
	}

	/** Without memory for another request, those that were taken are written first. */
	private boolean keep(Request next) {
		try {
			return this.taken.add(next);
		}
		catch (OutOfMemoryError ex) {
			return false;
		}
	}

	/** Collects the requests that are still wanted, in the order of the socket. */
	@Override
	public boolean accept() {
		ByteBuffer target = this.batch;
		if (target == null) {
			return false;
		}
		boolean any = false;
		for (Request request : this.taken) {
			boolean wanted = isWanted(request);
			this.settled++;
			if (wanted) {
				any = true;
				if (target != request.frame()) {
					target.put(request.frame());
				}
			}
		}
		if (any && target != this.taken.get(0).frame()) {
			target.flip();
		}
		return any;
	}

	private boolean isWanted(Request request) {
		if (request.exchange().state() != State.PENDING) {
			withdraw(request);
			return false;
		}
		if (!request.registered()) {
			Registration registration = this.table.register(request.exchange(), null);
			if (registration != Registration.REGISTERED) {
				request.exchange().refuse(registration);
				return false;
			}
		}
		return true;
	}

	/** Withdraws a request whose caller has given up. */
	private void withdraw(Request request) {
		if (request.registered()) {
			this.table.withdraw(request.exchange());
			this.onWithdrawal.run();
		}
	}

}
