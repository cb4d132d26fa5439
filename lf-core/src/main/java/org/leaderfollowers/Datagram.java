package org.leaderfollowers;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.net.Inet6Address;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicBoolean;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.internal.linkage.Linkage;

/**
 * A received datagram in the role of a connection to its sender.
 * <p>
 * A datagram is <em>under way</em> while its handler runs or one of its suspensions has
 * not ended. The server counts such datagrams, and a drain waits for them. Replies can be
 * sent later as well, until the socket is closed.
 */
final class Datagram extends EngineConnection {

	private static final int IPV4_PAYLOAD = 65_507;

	private static final int IPV6_PAYLOAD = 65_527;

	/**
	 * The bytes that the headers of IPv4 and UDP add to a payload. IPv6 adds 20 more, in
	 * both directions.
	 */
	private static final int HEADERS = 28;

	private static final int HANDLER = 1 << 30;

	private static final Suspension NOTHING_WAITS = () -> {
	};

	private static final VarHandle HOLDS;

	private static final VarHandle REPLIED;

	private static final VarHandle CLOSING;

	static {
		try {
			MethodHandles.Lookup lookup = MethodHandles.lookup();
			HOLDS = lookup.findVarHandle(Datagram.class, "holds", int.class);
			REPLIED = lookup.findVarHandle(Datagram.class, "replied", long.class);
			CLOSING = lookup.findVarHandle(Datagram.class, "closing", CloseReason.class);
		}
		catch (ReflectiveOperationException ex) {
			throw new ExceptionInInitializerError(ex);
		}
		Linkage.link(() -> HOLDS.compareAndSet((Datagram) null, 0, 0), () -> {
			int ignored = (int) HOLDS.getAndBitwiseAnd((Datagram) null, 0);
		}, () -> REPLIED.compareAndSet((Datagram) null, 0L, 0L),
				() -> CLOSING.compareAndSet((Datagram) null, null, (CloseReason) null));
	}

	private final DatagramReceiver receiver;

	private final int length;

	private final InetSocketAddress remoteAddress;

	private volatile @Nullable CloseReason closing;

	/**
	 * The sum of {@link #HANDLER} while the handler runs, and one for each suspension.
	 * The datagram is under way until this is 0.
	 */
	@SuppressWarnings("FieldMayBeFinal") // changed through HOLDS
	private volatile int holds = HANDLER;

	/** The size of the replies on the wire, in bytes. */
	@SuppressWarnings("FieldMayBeFinal") // changed through REPLIED
	private volatile long replied;

	/** When it was suspended, or 0 if it never was. */
	private volatile long suspendedNanos;

	Datagram(DatagramReceiver receiver, long id, int length, InetSocketAddress remoteAddress) {
		super(id);
		this.receiver = receiver;
		this.length = length;
		this.remoteAddress = remoteAddress;
	}

	@Override
	public void send(ByteBuffer message) {
		StackReserve.require();
		CloseReason why = this.closing;
		if (why != null) {
			throw closedException("reply", why, null);
		}
		int size = message.remaining();
		int most = (this.remoteAddress.getAddress() instanceof Inet6Address) ? IPV6_PAYLOAD : IPV4_PAYLOAD;
		if (size > most) {
			throw new IllegalArgumentException(
					"A reply of %d bytes does not fit into a datagram, which holds at most %d bytes. Divide it"
						.formatted(size, most));
		}
		reserve(size);
		if (!this.receiver.replies().send(message, this.remoteAddress)) {
			throw closedException("reply", this.receiver.closeReason(), null);
		}
	}

	/** Counts a reply against the limit for this datagram. */
	private void reserve(int size) {
		int ratio = this.receiver.replies().maxRatio();
		long allowed = (long) ratio * (HEADERS + this.length);
		long before;
		long after;
		do {
			before = this.replied;
			after = before + HEADERS + size;
			if (after > allowed) {
				this.receiver.replies().refused();
				throw new ReplyRatioException(
						"%s was not answered with %d bytes: its replies may take %d times the size of the datagram of %d bytes (maxReplyRatio). That is %d bytes, including headers of %d bytes for each datagram, and %d bytes are used already. Send less, or raise the ratio if the senders can be trusted"
							.formatted(this, size, ratio, this.length, allowed, HEADERS, before));
			}
		}
		while (!REPLIED.compareAndSet(this, before, after));
	}

	/** Closes the datagram. Only the first reason counts. */
	private void end(CloseReason reason) {
		CLOSING.compareAndSet(this, null, reason);
	}

	@Override
	public void close() {
		end(CloseReason.LOCAL);
	}

	@Override
	public void fail(Throwable failure) {
		StackReserve.require();
		Objects.requireNonNull(failure, "'failure' must not be null");
		if (isOpen()) {
			handlerFailed(failure, null);
		}
	}

	/**
	 * Passes a failure to the application, and ends replying.
	 * @param payload the datagram if it could not be handled, or {@code null}
	 */
	void handlerFailed(Throwable failure, @Nullable ByteBuffer payload) {
		if (isClosedException(failure)) {
			return;
		}
		try {
			MessageHandler handler = this.receiver.handler();
			if (payload != null) {
				handler.onError(this, payload, failure);
			}
			else {
				handler.onError(this, failure);
			}
		}
		catch (Throwable ex) {
			onErrorFailed(ex);
		}
		end(CloseReason.HANDLER_ERROR);
	}

	private void onErrorFailed(Throwable failure) {
		try {
			if (!isClosedException(failure)) {
				logUnhandled(failure);
			}
		}
		catch (Throwable ex) {
			// For example, memory is short or the failure cannot even be logged. The
			// exception must not propagate, because another thread may own the socket by
			// now.
		}
	}

	@Override
	void logUnhandled(Throwable failure) {
		this.receiver.warnings().datagramUnhandled(this, failure);
	}

	@Override
	public void idleAfter(EventType type, Duration period) {
		// Does nothing: a datagram is received as a whole, so nothing is left to receive.
	}

	// Under way

	@Override
	public Suspension suspend() {
		StackReserve.require();
		AtomicBoolean resumed = new AtomicBoolean();
		Suspension suspension = () -> {
			StackReserve.require();
			if (resumed.compareAndSet(false, true)) {
				resume();
			}
		};
		return hold() ? suspension : NOTHING_WAITS;
	}

	@Override
	public OwedReply owe() {
		StackReserve.require();
		OwedReply owed = EngineOwedReply.of(this, this::resume);
		return hold() ? owed : EngineOwedReply.of(this, NOTHING_WAITS::resume);
	}

	/**
	 * Makes the datagram wait for a suspension that exists: nobody could end it if there
	 * were no memory for the object.
	 * @return {@code false} if the handler has returned or nothing can be sent any more
	 */
	private boolean hold() {
		int current;
		do {
			current = this.holds;
			if (current == 0 || this.closing != null) {
				return false;
			}
		}
		while (!HOLDS.compareAndSet(this, current, current + 1));
		boolean holds = false;
		try {
			this.receiver.suspended(this);
			// It may have timed out since the look above, and would not do so again.
			holds = this.closing == null;
		}
		finally {
			if (!holds) {
				// The caller gets no suspension, perhaps because memory is short.
				resume();
			}
		}
		return holds;
	}

	private void resume() {
		int current;
		do {
			current = this.holds;
			if ((current & ~HANDLER) == 0) {
				// The suspension has timed out before.
				return;
			}
		}
		while (!HOLDS.compareAndSet(this, current, current - 1));
		if (current == 1) {
			this.receiver.finished(this);
		}
	}

	/** Called when the handler has returned, and again if that call has failed. */
	void handled() {
		int before = (int) HOLDS.getAndBitwiseAnd(this, ~HANDLER);
		if ((before & HANDLER) != 0) {
			this.receiver.handlerReturned(this, before == HANDLER);
		}
	}

	/**
	 * Stops waiting for the suspensions. If the handler still runs, the datagram stays
	 * under way.
	 */
	void timeOut() {
		// First, so that it cannot be suspended again.
		end(CloseReason.IDLE_TIMEOUT);
		int before = (int) HOLDS.getAndBitwiseAnd(this, HANDLER);
		if (before != 0 && (before & HANDLER) == 0) {
			this.receiver.finished(this);
		}
	}

	/** Whether it was ever suspended. */
	boolean wasSuspended() {
		return this.suspendedNanos != 0;
	}

	long suspendedNanos() {
		return this.suspendedNanos;
	}

	void suspendedNanos(long nowNanos) {
		this.suspendedNanos = nowNanos | 1;
	}

	// Methods for the application

	int length() {
		return this.length;
	}

	@Override
	public boolean isOpen() {
		return this.closing == null && this.receiver.isOpen();
	}

	@Override
	public boolean isDraining() {
		return this.receiver.isDraining();
	}

	@Override
	public long pendingBytes() {
		return 0;
	}

	@Override
	public boolean isWritable() {
		return isOpen();
	}

	@Override
	public InetSocketAddress remoteAddress() {
		return this.remoteAddress;
	}

	@Override
	public InetSocketAddress localAddress() {
		return this.receiver.localAddress();
	}

	@Override
	public String server() {
		return this.receiver.serverName();
	}

	@Override
	public String toString() {
		return "Datagram " + id() + " of server '" + server() + "'";
	}

}
