package org.leaderfollowers;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.SelectionKey;
import java.nio.channels.WritableByteChannel;
import java.util.Deque;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.internal.buffer.MemoryBudget;
import org.leaderfollowers.internal.buffer.OutboundBuffer;
import org.leaderfollowers.internal.logging.WireLogWriter;

/**
 * Writes messages to the socket of a TCP connection. It frames the messages of the
 * application, writes them at once or corks them to write several replies together, and
 * informs the handle when bytes begin to wait.
 * <p>
 * It extends the outbound buffer instead of referring to one, so that an idle connection
 * is small.
 */
final class OutboundWriter extends OutboundBuffer {

	/**
	 * The maximum number of bytes written for one event, so that one connection does not
	 * occupy the leader.
	 */
	private static final long FLUSH_BUDGET = 256 * 1024;

	private final StreamConnection connection;

	/** Whether the handler has to be called when the peer has read the pending bytes. */
	private volatile boolean congested;

	/**
	 * Whether the handler has to be called again when other handles have had their turn.
	 */
	private volatile boolean yielded;

	/** Whether replies were corked to be written together. Used by the owner only. */
	private boolean corked;

	OutboundWriter(StreamConnection connection) {
		super(connection.context.memory());
		this.connection = connection;
	}

	@Override
	protected int minRate() {
		return limits().minWriteRate();
	}

	/**
	 * Sends a message. Any thread.
	 * @param message from position to limit, which do not change
	 */
	void send(ByteBuffer message) {
		Participant me = Participant.current();
		boolean own = this.connection.isOwner(me);
		int bound = this.connection.framing().maxFrameLength(message.remaining());
		ByteBuffer frame;
		if (me != null && own && bound <= Participant.BUFFER_SIZE && (this.corked || me.decoder.isFollowed())
				&& me.isOnLease()) {
			frame = cork(me, message, bound);
			if (frame == null) {
				return;
			}
		}
		else {
			frame = (me != null && bound <= Participant.LARGEST_OUTPUT) ? me.output(bound) : ByteBuffer.allocate(bound);
			encode(message, frame);
			frame.flip();
		}
		int length = frame.remaining();
		write(frame, own);
		this.connection.noteSent(length);
	}

	/**
	 * Frames a request. Any thread.
	 * @param message from position to limit, which do not change
	 * @return the frame, from position to limit, in separate memory
	 */
	ByteBuffer encodeRequest(ByteBuffer message) {
		ByteBuffer frame = ByteBuffer.allocate(this.connection.framing().maxFrameLength(message.remaining()));
		encode(message, frame);
		return frame.flip();
	}

	/**
	 * Sends frames to the peer. Any thread.
	 * @param frames from position to limit
	 * @param acceptance called in the order of the socket, or {@code null}
	 * @return the result. If the socket failed, it is {@link Sent#OVERLOADED}: a part may
	 * have been written, and the connection is closed
	 */
	Sent sendRequests(ByteBuffer frames, @Nullable Acceptance acceptance) {
		long before = acceptedBytes();
		Sent sent;
		try {
			sent = send(channel(), frames, limits().maxOutboundSize(), acceptance);
		}
		catch (IOException ex) {
			this.connection.requestCloseAndLook(reason(ex), ex);
			return Sent.OVERLOADED;
		}
		catch (RuntimeException | Error ex) {
			this.connection.requestCloseAndLook(CloseReason.IO_ERROR, ex);
			throw ex;
		}
		switch (sent) {
			case WRITTEN -> this.connection.noteActivity(this.connection.nanoTime());
			case WAITS -> {
				this.connection.noteActivity(this.connection.nanoTime());
				noteCongestion();
			}
			// If the request is refused, corked replies may have begun to wait just now.
			case BEGAN_TO_WAIT, REFUSED -> beganToWait();
			case OVERLOADED -> overloaded();
			case CLOSED -> {
			}
		}
		this.connection.noteSent((int) Math.max(0, acceptedBytes() - before));
		return sent;
	}

	/**
	 * Frames a reply that will be sent later. Any thread.
	 * @param message from position to limit, which do not change
	 * @param heldBytes how many bytes are already held
	 * @param frames gets the frame as the last one
	 * @return the frame, from position to limit, in memory that the holder must release
	 */
	ByteBuffer hold(ByteBuffer message, long heldBytes, Deque<ByteBuffer> frames) {
		int maxOutboundSize = limits().maxOutboundSize();
		if (waitingBytes() + heldBytes >= maxOutboundSize) {
			throw slowConsumer(waitingBytes() + heldBytes, maxOutboundSize);
		}
		ByteBuffer frame = this.connection.context.memory()
			.allocateLast(this.connection.framing().maxFrameLength(message.remaining()), frames);
		if (frame == null) {
			overloaded();
			throw this.connection.closedException("message", CloseReason.OVERLOADED, null);
		}
		boolean encoded = false;
		try {
			encode(message, frame);
			encoded = true;
		}
		finally {
			if (!encoded) {
				frames.removeLast();
				this.connection.context.memory().release(frame.capacity());
			}
		}
		return frame.flip();
	}

	/**
	 * Sends a held frame. It was accepted when it was held, so only the end of the
	 * connection can prevent it from being sent. Any thread.
	 */
	void sendHeld(ByteBuffer frame) {
		int length = frame.remaining();
		try {
			Sent sent = send(channel(), frame, Long.MAX_VALUE, null);
			switch (sent) {
				case WRITTEN, CLOSED, REFUSED -> {
				}
				case BEGAN_TO_WAIT -> beganToWait();
				case WAITS -> noteCongestion();
				case OVERLOADED -> overloaded();
			}
			this.connection.noteSent(length);
		}
		catch (IOException | RuntimeException | Error ex) {
			// No caller is left to whom the failure could be reported.
			this.connection.requestCloseAndLook(reason(ex), ex);
		}
		finally {
			this.connection.context.memory().release(frame.capacity());
		}
	}

	/** Encodes a message, and leaves its position and limit unchanged. */
	private void encode(ByteBuffer message, ByteBuffer frame) {
		int position = message.position();
		int limit = message.limit();
		try {
			this.connection.framing().encode(message, frame);
		}
		finally {
			message.limit(limit).position(position);
		}
	}

	/**
	 * Corks a reply, so that it is written together with later ones. This lasts at most
	 * until the lease ends: the thread that takes over the leadership writes the corked
	 * replies.
	 * @return {@code null} if the reply was corked, or the frame if it has to be written
	 * now
	 */
	private @Nullable ByteBuffer cork(Participant me, ByteBuffer message, int bound) {
		ByteBuffer gathered = gatheredWithRoom(me, bound);
		int start = gathered.position();
		try {
			encode(message, gathered);
		}
		catch (Throwable ex) {
			gathered.position(start);
			throw ex;
		}
		int end = gathered.position();
		ByteBuffer view = me.gatheredView();
		if (cork(view, start, end) != Sent.WAITS) {
			// Nothing is held, so no other thread uses the view.
			return view.limit(end).position(start);
		}
		this.corked = true;
		this.connection.noteSent(end - start);
		if (!me.isOnLease()) {
			// The thread that took over may have looked before there was anything to
			// write.
			uncork();
		}
		return null;
	}

	/** The buffer for the next reply of several that are written together. */
	private ByteBuffer gatheredWithRoom(Participant me, int room) {
		ByteBuffer gathered = me.gathered();
		if (this.corked && gathered.capacity() - gathered.position() < room) {
			this.corked = false;
			uncork();
		}
		// The framing may have changed the byte order for the previous reply.
		return (this.corked ? gathered : gathered.clear()).order(ByteOrder.BIG_ENDIAN);
	}

	private void write(ByteBuffer frame, boolean own) {
		int maxOutboundSize = limits().maxOutboundSize();
		Sent sent;
		try {
			sent = send(channel(), frame, maxOutboundSize, null);
		}
		catch (IOException ex) {
			this.connection.requestCloseAndLook(reason(ex), ex);
			throw new ConnectionClosedException("%s failed while a message was sent".formatted(this.connection),
					reason(ex), ex)
				.of(this.connection);
		}
		catch (RuntimeException | Error ex) {
			this.connection.requestCloseAndLook(CloseReason.IO_ERROR, ex);
			throw ex;
		}
		switch (sent) {
			case WRITTEN -> {
				if (!own) {
					this.connection.noteActivity(this.connection.context.clock().nanoTime());
				}
			}
			case BEGAN_TO_WAIT -> beganToWait();
			case WAITS -> noteCongestion();
			case REFUSED -> {
				// Corked replies may have begun to wait just now.
				beganToWait();
				refused();
				throw slowConsumer(waitingBytes(), maxOutboundSize);
			}
			case OVERLOADED -> {
				overloaded();
				throw this.connection.closedException("message", CloseReason.OVERLOADED, null);
			}
			case CLOSED -> throw this.connection.notSendable();
		}
	}

	/** Where to write: the transport, or what logs the bytes that it takes. */
	private WritableByteChannel channel() {
		WireLogWriter log = this.connection.context.wire().writer();
		return (log == null) ? this.connection.transport : log.sending(this.connection.id(), this.connection.transport);
	}

	private SlowConsumerException slowConsumer(long waiting, int maxOutboundSize) {
		return new SlowConsumerException(
				"%s does not read: %d bytes wait for it, and the maximum is %d. Send less, wait until it is writable again, or raise the maximum outbound size"
					.formatted(this.connection, waiting, maxOutboundSize));
	}

	/**
	 * Writes the corked replies. Called by the owner, or by the thread that has taken
	 * over the leadership because the owner's handler has not returned.
	 */
	void uncork() {
		try {
			Sent sent = uncork(channel());
			if (sent == Sent.BEGAN_TO_WAIT) {
				beganToWait();
			}
			else if (sent == Sent.OVERLOADED) {
				overloaded();
			}
		}
		catch (IOException ex) {
			this.connection.requestCloseAndLook(reason(ex), ex);
		}
		catch (RuntimeException | Error ex) {
			this.connection.requestCloseAndLook(CloseReason.IO_ERROR, ex);
			throw ex;
		}
	}

	/**
	 * Writes the replies of a round, after its messages have been handled. Called by the
	 * owner only.
	 */
	void uncorkOwn() {
		if (this.corked) {
			this.corked = false;
			uncork();
		}
	}

	private void beganToWait() {
		this.connection.handle.request(SelectableHandle.INTEREST | SelectableHandle.TIMER);
		noteCongestion();
	}

	/** TLS needs memory for a record that the socket accepts only in part. */
	private static CloseReason reason(Throwable failure) {
		return (failure instanceof MemoryBudget.ExhaustedException) ? CloseReason.OVERLOADED : CloseReason.IO_ERROR;
	}

	private void overloaded() {
		this.connection.requestCloseAndLook(CloseReason.OVERLOADED, null);
	}

	// Water marks

	private ConnectionContext.Limits limits() {
		return this.connection.context.limits();
	}

	/**
	 * Whether so many bytes wait, or are held for their turn, that no further messages
	 * are read from the peer.
	 */
	boolean isHigh() {
		return waitingBytes() >= limits().highWaterMark();
	}

	/** Whether so few bytes wait that messages are read from the peer again. */
	boolean isLow() {
		return waitingBytes() <= limits().lowWaterMark();
	}

	/**
	 * Whether the peer has fallen behind, so that the handler will be called when it has
	 * caught up.
	 */
	boolean isCongested() {
		return this.congested;
	}

	/**
	 * If the peer has fallen behind, records that the handler must be called when it has
	 * caught up.
	 */
	private void noteCongestion() {
		if (!this.congested && isHigh()) {
			refused();
		}
	}

	/** Records that the handler must be called when there is room for more. */
	void refused() {
		this.congested = true;
		if (isLow()) {
			// Another thread may have written the bytes and not seen the record, so a
			// look is requested.
			this.connection.handle.request(SelectableHandle.LOOK);
		}
	}

	/**
	 * Records that the handler must be called again when other handles have had their
	 * turn. Any thread.
	 */
	void yieldTurn() {
		this.yielded = true;
		// The owner requests a look when it has released the handle: a look now would
		// bring the handle back to this thread at once.
		if (!this.connection.isOwner(Participant.current())) {
			this.connection.handle.request(SelectableHandle.LOOK);
		}
	}

	/** Whether the handler is still to be called after it has yielded its turn. */
	boolean hasYielded() {
		return this.yielded;
	}

	/** Whether the handler will be called when there is room for more. */
	boolean owesCall() {
		return this.congested || this.yielded;
	}

	/** Whether to call the handler, because there is room for more. */
	boolean isRelieved() {
		return this.congested ? isLow() : this.yielded;
	}

	/**
	 * Whether to call the handler now, because there is room for more. Called by the
	 * owner only, which calls the handler afterwards: a turn that is yielded during the
	 * call is followed by another call.
	 */
	boolean takeRelief() {
		boolean relieved = isRelieved();
		if (relieved) {
			this.congested = false;
			this.yielded = false;
		}
		return relieved;
	}

	// Pending bytes

	/**
	 * Writes pending bytes when the socket has room. Called by the leader, whichever
	 * thread owns the handle.
	 * @param events the events that the handle is ready for
	 * @return the events that remain to be dispatched: without the write event, but with
	 * a look if the owner waits for the bytes to be written
	 */
	int flush(int events) {
		int left = events & ~SelectionKey.OP_WRITE;
		SelectableHandle handle = this.connection.handle;
		try {
			long before = progressNanos(0);
			long waiting = flush(channel(), FLUSH_BUDGET);
			if (this.connection.transport.wantsWrite()) {
				this.connection.transport.flush();
			}
			if (progressNanos(0) != before) {
				this.connection.noteTaken(handle.handleSet().nowNanos());
			}
			if (before != 0 && waiting == 0) {
				// The timer of the write timeout may be later than the idle timeout.
				this.connection.requestTimerIfEarlier();
			}
			long mark = this.connection.isFlushing() ? 0 : limits().lowWaterMark();
			return (waiting <= mark && (handle.isPaused() || owesCall())) ? left | SelectableHandle.LOOK : left;
		}
		catch (IOException ex) {
			this.connection.requestClose(reason(ex), ex);
			// Otherwise the selector would report the failed socket until the owner has
			// closed it, and the handler of the owner may run for long.
			discard();
			return left | SelectableHandle.LOOK;
		}
	}

}
