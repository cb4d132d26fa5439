package org.leaderfollowers;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.SelectionKey;
import java.nio.channels.WritableByteChannel;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.internal.buffer.OutboundBuffer;
import org.leaderfollowers.internal.logging.WireLogWriter;

/**
 * The way of messages to the socket of a TCP connection: frames what the application
 * sends, writes it at once or corks it behind other replies, and tells the handle when
 * bytes begin to wait.
 * <p>
 * It is the outbound buffer, rather than having one, so that an idle connection is small.
 */
final class OutboundWriter extends OutboundBuffer {

	/** Written for one event, so that one connection does not keep the leader. */
	private static final long FLUSH_BUDGET = 256 * 1024;

	private final StreamConnection connection;

	/** Whether the handler is to be told when the peer has read what waits for it. */
	private volatile boolean congested;

	/** Whether replies were corked, to be written together. The owner's. */
	private boolean corked;

	OutboundWriter(StreamConnection connection) {
		super(connection.context.memory());
		this.connection = connection;
	}

	/**
	 * Sends a message. Any thread.
	 * @param message from position to limit, which are the same afterwards
	 */
	void send(ByteBuffer message) {
		Participant me = Participant.current();
		boolean own = this.connection.isOwner(me);
		int bound = this.connection.framing().maxFrameLength(message.remaining());
		boolean fits = me != null && bound <= Participant.BUFFER_SIZE;
		ByteBuffer frame;
		if (me != null && own && fits && (this.corked || me.decoder.isFollowed()) && me.isOnLease()) {
			frame = cork(me, message, bound);
			if (frame == null) {
				return;
			}
		}
		else {
			frame = (me != null && fits) ? me.output() : ByteBuffer.allocate(bound);
			encode(message, frame);
			frame.flip();
		}
		int length = frame.remaining();
		write(frame, own);
		this.connection.noteSent(length);
	}

	/**
	 * Frames a request. Any thread.
	 * @param message from position to limit, which are the same afterwards
	 * @return the frame, from position to limit, in memory of its own
	 */
	ByteBuffer encodeRequest(ByteBuffer message) {
		ByteBuffer frame = ByteBuffer.allocate(this.connection.framing().maxFrameLength(message.remaining()));
		encode(message, frame);
		return frame.flip();
	}

	/**
	 * Sends frames to the peer. Any thread.
	 * @param frames from position to limit
	 * @param acceptance asked in the order of the socket, or {@code null}
	 * @return what became of it. If the socket failed, it is {@link Sent#OVERLOADED}:
	 * perhaps a part was written, and the connection is closed
	 */
	Sent sendRequests(ByteBuffer frames, @Nullable Acceptance acceptance) {
		long before = acceptedBytes();
		Sent sent;
		try {
			sent = send(channel(), frames, limits().maxOutboundSize(), acceptance);
		}
		catch (IOException ex) {
			this.connection.requestCloseAndLook(CloseReason.IO_ERROR, ex);
			return Sent.OVERLOADED;
		}
		catch (RuntimeException | Error ex) {
			this.connection.requestCloseAndLook(CloseReason.IO_ERROR, ex);
			throw ex;
		}
		switch (sent) {
			case WRITTEN, WAITS -> this.connection.noteActivity(this.connection.nanoTime());
			// If it is refused, corked replies may have begun to wait only now.
			case BEGAN_TO_WAIT, REFUSED -> beganToWait();
			case OVERLOADED -> overloaded();
			case CLOSED -> {
			}
		}
		this.connection.noteSent((int) Math.max(0, acceptedBytes() - before));
		return sent;
	}

	/**
	 * Frames a reply that is to be sent later. Any thread.
	 * @param message from position to limit, which are the same afterwards
	 * @param held how many bytes are held already
	 * @return the frame, from position to limit, in memory that its holder releases
	 */
	ByteBuffer hold(ByteBuffer message, long held) {
		int maxOutboundSize = limits().maxOutboundSize();
		if (waitingBytes() + held >= maxOutboundSize) {
			throw slowConsumer(waitingBytes() + held, maxOutboundSize);
		}
		ByteBuffer frame = this.connection.context.memory()
			.allocate(this.connection.framing().maxFrameLength(message.remaining()));
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
				this.connection.context.memory().release(frame.capacity());
			}
		}
		return frame.flip();
	}

	/**
	 * Sends a frame that was held. It was accepted then, so nothing refuses it but the
	 * end of the connection. Any thread.
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
			// Nobody who could be told has sent it just now.
			this.connection.requestCloseAndLook(CloseReason.IO_ERROR, ex);
		}
		finally {
			this.connection.context.memory().release(frame.capacity());
		}
	}

	/** Leaves the payload as it was. */
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
	 * Has a reply wait for the ones that follow, as long as the lease lasts: the thread
	 * that takes the leadership over writes them.
	 * @return {@code null} if it is corked, or the frame if it has to be written now
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
			// Nothing is held, so this is the only one who touches the view.
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

	/** Where to put the next reply of several that are written together. */
	private ByteBuffer gatheredWithRoom(Participant me, int room) {
		ByteBuffer gathered = me.gathered();
		if (this.corked && gathered.capacity() - gathered.position() < room) {
			this.corked = false;
			uncork();
		}
		return this.corked ? gathered : gathered.clear().order(ByteOrder.BIG_ENDIAN);
	}

	private void write(ByteBuffer frame, boolean own) {
		int maxOutboundSize = limits().maxOutboundSize();
		Sent sent;
		try {
			sent = send(channel(), frame, maxOutboundSize, null);
		}
		catch (IOException ex) {
			this.connection.requestCloseAndLook(CloseReason.IO_ERROR, ex);
			throw new ConnectionClosedException("%s failed while a message was sent".formatted(this.connection),
					CloseReason.IO_ERROR, ex)
				.of(this.connection);
		}
		catch (Error ex) {
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
				// Corked replies may have begun to wait only now.
				beganToWait();
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
				"%s does not read: %d bytes wait for it, and no more than %d may. Send less, wait until it is writable again, or raise the maximum outbound size"
					.formatted(this.connection, waiting, maxOutboundSize));
	}

	/**
	 * Writes the corked replies. By the owner, or by the thread that has taken the
	 * leadership over from it, since its handler does not return.
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
			this.connection.requestCloseAndLook(CloseReason.IO_ERROR, ex);
		}
	}

	/** The messages of a round have been handled: writes their replies. The owner's. */
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

	private void overloaded() {
		this.connection.requestCloseAndLook(CloseReason.OVERLOADED, null);
	}

	// Water marks

	private ConnectionContext.Limits limits() {
		return this.connection.context.limits();
	}

	/** Whether so much waits that no more messages are taken from the peer. */
	boolean isHigh() {
		return waitingBytes() >= limits().highWaterMark();
	}

	/** Whether so little waits that messages are taken from the peer. */
	boolean isLow() {
		return waitingBytes() <= limits().lowWaterMark();
	}

	/** Whether the peer is far behind, and the handler will be told when it is not. */
	boolean isCongested() {
		return this.congested;
	}

	/** Promises the handler a call when the peer has caught up, if it is far behind. */
	private void noteCongestion() {
		if (!this.congested && isHigh()) {
			this.congested = true;
			if (isLow()) {
				// It was written between the two looks, by somebody who saw no promise.
				this.connection.handle.request(SelectableHandle.LOOK);
			}
		}
	}

	/** Whether the handler is to be told now that its peer has caught up. The owner's. */
	boolean takeRelief() {
		boolean relieved = this.congested && isLow();
		if (relieved) {
			this.congested = false;
		}
		return relieved;
	}

	// Pending bytes

	/**
	 * Writes what waits, when the socket has room. Called by the leader, whoever owns the
	 * handle.
	 * @param events what the handle is ready for
	 * @return what is left to dispatch: not the room to write any more, but a look, if
	 * somebody waited for the writing
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
			long mark = this.connection.isFlushing() ? 0 : limits().lowWaterMark();
			return (waiting <= mark && (handle.isPaused() || this.congested)) ? left | SelectableHandle.LOOK : left;
		}
		catch (IOException ex) {
			this.connection.requestClose(CloseReason.IO_ERROR, ex);
			// Or the selector would report the failed socket until the owner, whose
			// handler may run for long, has closed it.
			discard();
			return left | SelectableHandle.LOOK;
		}
	}

}
