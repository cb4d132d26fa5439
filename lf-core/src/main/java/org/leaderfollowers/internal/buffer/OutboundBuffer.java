package org.leaderfollowers.internal.buffer;

import java.io.IOException;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteBuffer;
import java.nio.channels.WritableByteChannel;
import java.util.ArrayDeque;

import org.jspecify.annotations.Nullable;

/**
 * The way of a connection's bytes to its socket: written at once while the socket takes
 * them, otherwise kept in order until it does.
 * <p>
 * Any thread may send; the monitor of this object orders them. Under the monitor there
 * are only non-blocking writes and copies, so a leader that flushes never waits long for
 * it.
 */
public class OutboundBuffer {

	/**
	 * The most of a heap buffer that is written at once: the JDK copies each such write
	 * to a direct buffer of the same size, and keeps that buffer with the thread.
	 */
	private static final int HEAP_CHUNK = 128 * 1024;

	/** The largest buffer that is allocated for several small frames. */
	private static final int SHARED_BUFFER = 16 * 1024;

	private static final VarHandle ACCEPTED;

	static {
		try {
			ACCEPTED = MethodHandles.lookup().findVarHandle(OutboundBuffer.class, "accepted", long.class);
		}
		catch (ReflectiveOperationException ex) {
			throw new ExceptionInInitializerError(ex);
		}
	}

	private final MemoryBudget budget;

	/** What waits for the socket; nothing for nearly all connections at any time. */
	private volatile @Nullable Waiting waiting;

	/** Frames that were gathered and not yet given to the socket, position to limit. */
	private @Nullable ByteBuffer corked;

	/**
	 * How many bytes of frames were accepted; the complement of it when nothing is any
	 * more, since a flag would make each connection larger. Written under the monitor,
	 * opaque.
	 */
	@SuppressWarnings("FieldMayBeFinal") // by ACCEPTED
	private long accepted;

	/**
	 * Bytes that wait, at least one. Changed under the monitor, looked at by anybody.
	 */
	private static final class Waiting {

		final ArrayDeque<ByteBuffer> buffers = new ArrayDeque<>(4);

		volatile long bytes;

		/** When the socket last took something. */
		volatile long progressNanos = System.nanoTime();

	}

	/**
	 * What became of a frame.
	 */
	public enum Sent {

		/** The socket took all of it. */
		WRITTEN,

		/** Accepted; the first bytes that wait: write events are wanted from now on. */
		BEGAN_TO_WAIT,

		/** Accepted; it waits behind others. */
		WAITS,

		/** Not accepted: as much waits as may wait, or the one who was asked says so. */
		REFUSED,

		/**
		 * Not accepted, or not entirely: there is no memory to keep it. Nothing is
		 * accepted any more.
		 */
		OVERLOADED,

		/** Not accepted: the connection is closed. */
		CLOSED

	}

	/**
	 * Asked about a frame in the order in which frames are written.
	 */
	@FunctionalInterface
	public interface Acceptance {

		/**
		 * Asked under the monitor, before the first byte of the frame is written. Must
		 * not block.
		 * @return whether to write it
		 */
		boolean accept();

	}

	/**
	 * Creates the way of one connection.
	 * @param budget where the memory of what waits is accounted for
	 */
	public OutboundBuffer(MemoryBudget budget) {
		this.budget = budget;
	}

	/**
	 * Writes a frame, or keeps what the socket does not take.
	 * @param channel the non-blocking socket
	 * @param frame from position to limit; copied if it has to wait
	 * @param limit refuse the frame if this many bytes wait already
	 * @param acceptance asked if nothing else speaks against it, or {@code null}
	 * @return what became of it
	 * @throws IOException if the socket failed
	 */
	public synchronized Sent send(WritableByteChannel channel, ByteBuffer frame, long limit,
			@Nullable Acceptance acceptance) throws IOException {
		if (isClosed()) {
			return Sent.CLOSED;
		}
		Sent earlier = writeCorked(channel);
		if (earlier == Sent.OVERLOADED) {
			return earlier;
		}
		if (waitingBytes() >= limit || (acceptance != null && !acceptance.accept())) {
			return Sent.REFUSED;
		}
		int length = frame.remaining();
		Sent now = writeOrKeep(channel, frame);
		if (now != Sent.OVERLOADED) {
			accepted(length);
		}
		// The write events are wanted because of the first of the two that waits.
		return (earlier == Sent.BEGAN_TO_WAIT && now == Sent.WAITS) ? Sent.BEGAN_TO_WAIT : now;
	}

	private void accepted(int bytes) {
		ACCEPTED.setOpaque(this, this.accepted + bytes);
	}

	private boolean isClosed() {
		return this.accepted < 0;
	}

	private void markClosed() {
		if (!isClosed()) {
			ACCEPTED.setOpaque(this, ~this.accepted);
		}
	}

	private Sent writeOrKeep(WritableByteChannel channel, ByteBuffer frame) throws IOException {
		Waiting current = this.waiting;
		if (current == null) {
			write(channel, frame, Long.MAX_VALUE);
			if (!frame.hasRemaining()) {
				return Sent.WRITTEN;
			}
		}
		// If a part was written and the rest cannot be kept, nothing may follow it.
		boolean kept = false;
		try {
			Waiting behind = (current != null) ? current : new Waiting();
			kept = keep(frame, behind);
			if (!kept) {
				return Sent.OVERLOADED;
			}
			this.waiting = behind;
		}
		finally {
			if (!kept) {
				markClosed();
			}
		}
		return (current == null) ? Sent.BEGAN_TO_WAIT : Sent.WAITS;
	}

	/**
	 * Holds a frame back, to be written together with the ones that follow, at the latest
	 * by {@link #uncork}.
	 * @param gathered holds the frames, one behind the other; touched by nobody but this
	 * object while they are corked
	 * @param start where the frame begins: where the one before it ends, if that is
	 * corked
	 * @param end where it ends
	 * @return {@link Sent#WAITS} if it is corked, {@link Sent#CLOSED}, or
	 * {@link Sent#REFUSED} if it must be sent now, since others wait already
	 */
	public synchronized Sent cork(ByteBuffer gathered, int start, int end) {
		if (isClosed()) {
			return Sent.CLOSED;
		}
		if (this.waiting != null) {
			return Sent.REFUSED;
		}
		accepted(end - start);
		gathered.limit(end);
		if (this.corked == null) {
			// The earlier ones may have been released by another thread.
			this.corked = gathered.position(start);
		}
		return Sent.WAITS;
	}

	/**
	 * Writes what was held back. Any thread: whoever takes over from a thread whose
	 * handler does not return does it in its stead.
	 * @param channel the non-blocking socket
	 * @return {@link Sent#WRITTEN}, {@link Sent#BEGAN_TO_WAIT} if the socket did not take
	 * all of it, or {@link Sent#OVERLOADED}
	 * @throws IOException if the socket failed
	 */
	public synchronized Sent uncork(WritableByteChannel channel) throws IOException {
		return writeCorked(channel);
	}

	private Sent writeCorked(WritableByteChannel channel) throws IOException {
		ByteBuffer gathered = this.corked;
		if (gathered == null) {
			return Sent.WRITTEN;
		}
		this.corked = null;
		return writeOrKeep(channel, gathered);
	}

	/**
	 * Copies a frame behind what waits: into the spare room of the last buffer, or into a
	 * new one with as much spare room as waits already. So many small frames share a
	 * buffer, and the memory of what waits is at most about twice its size.
	 * @return whether the budget allows it
	 */
	private boolean keep(ByteBuffer frame, Waiting behind) {
		int length = frame.remaining();
		ByteBuffer last = behind.buffers.peekLast();
		if (last == null || last.capacity() - last.limit() < length) {
			last = this.budget.allocate(Math.max(length, (int) Math.min(behind.bytes, SHARED_BUFFER)));
			if (last == null) {
				return false;
			}
			behind.buffers.addLast(last.limit(0));
		}
		int end = last.limit();
		last.limit(end + length).put(end, frame, frame.position(), length);
		frame.position(frame.limit());
		behind.bytes += length;
		return true;
	}

	/**
	 * Writes what waits, as far as the socket takes it.
	 * @param channel the non-blocking socket
	 * @param budget stop after this many bytes, so that one connection does not keep a
	 * leader
	 * @return how many bytes still wait
	 * @throws IOException if the socket failed
	 */
	public synchronized long flush(WritableByteChannel channel, long budget) throws IOException {
		Waiting current = this.waiting;
		if (current == null) {
			return 0;
		}
		long written = 0;
		while (written < budget) {
			ByteBuffer first = current.buffers.peekFirst();
			if (first == null) {
				break;
			}
			written += write(channel, first, budget - written);
			if (first.hasRemaining()) {
				break;
			}
			current.buffers.removeFirst();
			this.budget.release(first.capacity());
		}
		if (written > 0) {
			current.progressNanos = System.nanoTime();
			current.bytes -= written;
		}
		if (current.buffers.isEmpty()) {
			this.waiting = null;
			return 0;
		}
		return current.bytes;
	}

	private static int write(WritableByteChannel channel, ByteBuffer buffer, long budget) throws IOException {
		int limit = buffer.limit();
		int written = 0;
		int chunk;
		int taken;
		do {
			if (!buffer.isDirect()) {
				buffer.limit(Math.min(limit, buffer.position() + HEAP_CHUNK));
			}
			chunk = buffer.remaining();
			try {
				taken = channel.write(buffer);
			}
			finally {
				buffer.limit(limit);
			}
			written += taken;
		}
		while (taken == chunk && buffer.hasRemaining() && written < budget);
		return written;
	}

	/**
	 * Accepts nothing more. What waits may still be flushed.
	 */
	public synchronized void close() {
		markClosed();
	}

	/**
	 * Accepts nothing more and forgets what waits.
	 * @return how many bytes will never be written
	 */
	public synchronized long discard() {
		markClosed();
		this.corked = null;
		Waiting lost = this.waiting;
		if (lost == null) {
			return 0;
		}
		lost.buffers.forEach((buffer) -> this.budget.release(buffer.capacity()));
		this.waiting = null;
		return lost.bytes;
	}

	/**
	 * How many bytes of frames have been accepted. Any thread, without the monitor.
	 * @return bytes
	 */
	public long acceptedBytes() {
		long current = (long) ACCEPTED.getOpaque(this);
		return (current < 0) ? ~current : current;
	}

	/**
	 * How many bytes wait for the socket. Any thread, without the monitor.
	 * @return bytes
	 */
	public long waitingBytes() {
		Waiting current = this.waiting;
		return (current != null) ? current.bytes : 0;
	}

	/**
	 * When the socket last took something, while bytes wait. Any thread, without the
	 * monitor.
	 * @param otherwise what to return if nothing waits
	 * @return {@link System#nanoTime()}
	 */
	public long progressNanos(long otherwise) {
		Waiting current = this.waiting;
		return (current != null) ? current.progressNanos : otherwise;
	}

}
