package org.leaderfollowers.internal.transport;

import java.io.EOFException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.ByteChannel;
import java.nio.channels.SocketChannel;

import javax.net.ssl.SSLSession;

import org.jspecify.annotations.Nullable;

/**
 * The layer between the non-blocking socket of a connection and its framing.
 * <p>
 * A transport is first {@linkplain #establish established}, then read and written, and
 * finally {@linkplain #shutdownOutput shut down}. These threads may call its methods:
 * <ul>
 * <li>the owner of the handle, one thread at a time: all methods;</li>
 * <li>any thread, at any time: {@link #wantsWrite}, {@link #flush} and {@link #session};
 * after the transport is established, and one thread at a time: {@link #write}.</li>
 * </ul>
 * Only {@link #runTasks} may block, and no method loops without progress.
 */
public abstract class Transport implements ByteChannel {

	/** The maximum number of bytes of a preamble that are read at once. */
	private static final int PREAMBLE_READ = 128;

	private final SocketChannel socket;

	private @Nullable Preamble preamble;

	private boolean preambleHasBegun;

	/** The event that a transport needs in order to continue. */
	public enum Progress {

		/** Nothing: the operation is complete. */
		DONE,

		/** More input. */
		WANTS_READ,

		/**
		 * Room in the socket for output that must be written before anything else.
		 * Reading is useless until then.
		 */
		WANTS_WRITE,

		/**
		 * All pending output must be written first, because nothing can be written after
		 * the next input; then {@link Transport#endInput()}.
		 */
		WANTS_FLUSH,

		/** Nothing but time. */
		WANTS_TIME,

		/** A call of {@link Transport#runTasks()}. */
		HAS_TASKS,

		/** Nothing: the peer has closed before it sent anything. */
		ENDED

	}

	/**
	 * Creates the transport of one connection.
	 * @param socket in non-blocking mode
	 */
	protected Transport(SocketChannel socket) {
		this.socket = socket;
	}

	/**
	 * How much memory it holds, apart from the bytes that it returns. Any thread.
	 * @return bytes, approximately
	 */
	public int heldBytes() {
		return 0;
	}

	/**
	 * Since when it holds most of that memory. Any thread.
	 * @return a time, {@link System#nanoTime()}, if it holds any
	 */
	public long heldSinceNanos() {
		return 0;
	}

	/**
	 * How much memory the bytes take that it has received or encrypted, and keeps. Any
	 * thread.
	 * @return bytes, approximately
	 */
	public int bufferedBytes() {
		return 0;
	}

	/**
	 * Since when it keeps the beginning of a record. Any thread.
	 * @param otherwise the result if it keeps none
	 * @return a time, {@link System#nanoTime()}
	 */
	public long partSinceNanos(long otherwise) {
		return otherwise;
	}

	/**
	 * Expects a preamble before any other input. Called before the transport is
	 * established.
	 * @param preamble receives the first bytes
	 */
	public final void expect(Preamble preamble) {
		this.preamble = preamble;
	}

	/**
	 * Continues the steps that precede the first byte of the application. Called until
	 * the result is {@link Progress#DONE}.
	 * @return the event that is needed next
	 * @throws IOException if the connection cannot be established
	 */
	public final Progress establish() throws IOException {
		Preamble first = this.preamble;
		if (first != null) {
			Progress progress = readPreamble(first);
			if (progress != Progress.DONE) {
				return progress;
			}
			this.preamble = null;
		}
		return handshake();
	}

	private Progress readPreamble(Preamble first) throws IOException {
		ByteBuffer input = ByteBuffer.allocate(PREAMBLE_READ);
		for (;;) {
			int count;
			try {
				count = this.socket.read(input.clear().limit(Math.min(first.missing(), PREAMBLE_READ)));
			}
			catch (IOException ex) {
				if (this.preambleHasBegun) {
					throw ex;
				}
				// Some health checks connect and then reset the connection.
				return Progress.ENDED;
			}
			if (count < 0) {
				if (this.preambleHasBegun) {
					throw new EOFException("the peer closed before %s was complete".formatted(first));
				}
				return Progress.ENDED;
			}
			if (count == 0) {
				return Progress.WANTS_READ;
			}
			this.preambleHasBegun = true;
			if (first.decode(input.flip())) {
				return Progress.DONE;
			}
		}
	}

	/**
	 * Continues the steps between the preamble and the first byte of the application.
	 * @return the event that is needed next
	 * @throws IOException if the connection cannot be established
	 */
	protected Progress handshake() throws IOException {
		return Progress.DONE;
	}

	/**
	 * Reads bytes of the peer without changing them.
	 * @param destination receives the bytes
	 * @return the number of bytes, 0 if there are none now, or -1 at the end of the input
	 * @throws IOException if the socket failed
	 */
	protected final int receive(ByteBuffer destination) throws IOException {
		return this.socket.read(destination);
	}

	/**
	 * Whether the last read left input that is no longer in the socket, so that no event
	 * will report it. Called by the owner.
	 * @return whether to read again when there is room
	 */
	public boolean hasMoreInput() {
		return false;
	}

	/**
	 * How many bytes were received from the socket and not returned by a read. Called by
	 * the owner.
	 * @return bytes, encrypted or not
	 */
	public int undecodedBytes() {
		return 0;
	}

	/**
	 * Whether the transport keeps the beginning of a unit that it can process only as a
	 * whole. Called by the owner.
	 * @return whether to call {@link #holdsNewPart()}
	 */
	public boolean holdsPart() {
		return false;
	}

	/**
	 * Whether the {@linkplain #holdsPart() kept} beginning is a different one than at the
	 * previous call. Called by the owner.
	 * @return {@code false} if this beginning was reported before
	 */
	public boolean holdsNewPart() {
		return false;
	}

	/**
	 * The event that {@link #read} needs after it had no data to return.
	 * @return {@link Progress#WANTS_READ} unless something else has to be done first
	 */
	public Progress readNeeds() {
		return Progress.WANTS_READ;
	}

	/**
	 * Allows {@link #read} to continue although nothing can be written afterwards. Called
	 * by the owner.
	 */
	public void endInput() {
	}

	/**
	 * Runs tasks that may take long or block. Called by the owner, which does not lead
	 * meanwhile.
	 */
	public void runTasks() {
	}

	/**
	 * Whether the transport itself has bytes to write, which the pending bytes of the
	 * application do not include. Any thread.
	 * @return whether to call {@link #flush} when there is room in the socket
	 */
	public boolean wantsWrite() {
		return false;
	}

	/**
	 * How many {@linkplain #wantsWrite() bytes} the transport itself has to write. Any
	 * thread.
	 * @return the number of bytes
	 */
	public int pendingBytes() {
		return 0;
	}

	/**
	 * Writes its own {@linkplain #wantsWrite() bytes}, as far as the socket accepts them.
	 * Any thread.
	 * @throws IOException if the socket failed
	 */
	public void flush() throws IOException {
	}

	/**
	 * Tells the peer that nothing more follows. Called by the owner, repeatedly until it
	 * is done.
	 * @param closesNext whether the socket will be closed next in any case
	 * @return {@link Progress#DONE} or {@link Progress#WANTS_WRITE}
	 * @throws IOException if the socket failed
	 */
	public Progress shutdownOutput(boolean closesNext) throws IOException {
		if (!closesNext) {
			this.socket.shutdownOutput();
		}
		return Progress.DONE;
	}

	/**
	 * Reads and discards input, after the output was shut down. Called by the owner.
	 * @param scratch a cleared buffer, whose contents are undefined afterwards
	 * @return the number of bytes, 0 if there are none now, or -1 at the end of the input
	 * @throws IOException if the socket failed
	 */
	public int discard(ByteBuffer scratch) throws IOException {
		return receive(scratch);
	}

	/**
	 * Whether the input has ended without the closing message of the peer, so that a
	 * third party may have cut it off. Called by the owner.
	 * @return {@code false} if the transport has no closing message
	 */
	public boolean isTruncated() {
		return false;
	}

	/**
	 * The result of the TLS negotiation. Any thread.
	 * @return {@code null} if there is none
	 */
	public @Nullable SSLSession session() {
		return null;
	}

	/**
	 * Releases memory, but leaves the socket unchanged. Called by the owner. Nothing can
	 * be written or read afterwards.
	 */
	public void release() {
	}

	/**
	 * The socket.
	 * @return the socket in non-blocking mode
	 */
	protected final SocketChannel socket() {
		return this.socket;
	}

	@Override
	public final boolean isOpen() {
		return this.socket.isOpen();
	}

	@Override
	public final void close() throws IOException {
		release();
		this.socket.close();
	}

}
