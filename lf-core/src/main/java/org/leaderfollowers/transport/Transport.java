package org.leaderfollowers.transport;

import java.io.EOFException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.ByteChannel;
import java.nio.channels.SocketChannel;

import javax.net.ssl.SSLSession;

import org.jspecify.annotations.Nullable;

/**
 * What the bytes of a connection go through between its non-blocking socket and its
 * framing.
 * <p>
 * A transport is first {@linkplain #establish established}, then read and written, and in
 * the end {@linkplain #shutdownOutput shut down}. Who may call what:
 * <ul>
 * <li>the owner of the handle, one thread at a time: everything;</li>
 * <li>any thread, at any time: {@link #wantsWrite}, {@link #flush} and {@link #session};
 * once it is established, and one thread at a time: {@link #write}.</li>
 * </ul>
 * Nothing but {@link #runTasks} ever blocks, and nothing loops without progress.
 */
public abstract class Transport implements ByteChannel {

	/** How much room the first look at a preamble gets, in bytes. */
	private static final int FIRST_LOOK = 256;

	private final SocketChannel socket;

	private @Nullable Preamble preamble;

	/** What was received and is to be read before the socket, position to limit. */
	private @Nullable ByteBuffer start;

	/**
	 * What a transport needs in order to go on.
	 */
	public enum Progress {

		/** Nothing: it is done. */
		DONE,

		/** More bytes of the peer. */
		WANTS_READ,

		/**
		 * Room in the socket for what it has to write before it can do anything else;
		 * there is no use in reading until then.
		 */
		WANTS_WRITE,

		/**
		 * That everything which waits is written first, since nothing can be written
		 * after what is to be read next; then {@link Transport#endInput()}.
		 */
		WANTS_FLUSH,

		/** Somebody who calls {@link Transport#runTasks()}. */
		HAS_TASKS,

		/** Nothing will help: the peer closed before it sent anything. */
		ENDED

	}

	/**
	 * Creates the transport of one connection.
	 * @param socket non-blocking
	 */
	protected Transport(SocketChannel socket) {
		this.socket = socket;
	}

	/**
	 * Has something read before anything else. To be called before it is established.
	 * @param preamble comes first
	 */
	public final void expect(Preamble preamble) {
		this.preamble = preamble;
	}

	/**
	 * Gets on with what comes before the first byte of the application. To be called
	 * until it is {@link Progress#DONE}.
	 * @return what is needed next
	 * @throws IOException if this will never be a connection
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
		ByteBuffer input = this.start;
		this.start = null;
		if (input == null) {
			input = ByteBuffer.allocate(Math.min(FIRST_LOOK, first.maxLength())).limit(0);
		}
		for (;;) {
			int count = more(input, first.maxLength());
			if (count < 0) {
				if (input.hasRemaining()) {
					throw new EOFException("The peer closed in the middle of its preamble");
				}
				return Progress.ENDED;
			}
			if (input.hasRemaining() && first.decode(input)) {
				pushBack(input);
				return Progress.DONE;
			}
			if (count == 0) {
				this.start = input;
				return Progress.WANTS_READ;
			}
			if (input.remaining() >= first.maxLength()) {
				throw new IOException(
						"The preamble is longer than the %d bytes it may have".formatted(first.maxLength()));
			}
			if (input.limit() == input.capacity()) {
				// It grows with what has arrived.
				input = ByteBuffer.allocate(Math.min(input.capacity() * 2, first.maxLength())).put(input).flip();
			}
		}
	}

	/** Appends what the socket has to a buffer that is being read. */
	private int more(ByteBuffer input, int most) throws IOException {
		int end = input.limit();
		input.limit(Math.min(input.capacity(), most)).mark().position(end);
		int count = 0;
		try {
			count = this.socket.read(input);
		}
		finally {
			input.reset().limit(end + Math.max(0, count));
		}
		return count;
	}

	/**
	 * Has something read again, before anything else. Owner.
	 * @param bytes from position to limit; kept as it is
	 */
	public final void pushBack(ByteBuffer bytes) {
		this.start = bytes.hasRemaining() ? bytes : null;
	}

	/**
	 * Gets on with what comes before the first byte of the application, but for the
	 * preamble.
	 * @return what is needed next
	 * @throws IOException if this will never be a connection
	 */
	protected Progress handshake() throws IOException {
		return Progress.DONE;
	}

	/**
	 * Reads what the peer sent, as it sent it.
	 * @param destination where to put it
	 * @return how many bytes, 0 if there are none now, -1 if there will be none
	 * @throws IOException if the socket failed
	 */
	protected final int receive(ByteBuffer destination) throws IOException {
		ByteBuffer first = this.start;
		return (first == null) ? this.socket.read(destination) : receive(first, destination);
	}

	private int receive(ByteBuffer first, ByteBuffer destination) {
		int count = Math.min(first.remaining(), destination.remaining());
		destination.put(destination.position(), first, first.position(), count);
		destination.position(destination.position() + count);
		first.position(first.position() + count);
		pushBack(first);
		return count;
	}

	/**
	 * Whether the last read left something that is no longer in the socket, so that no
	 * event will tell of it. Owner.
	 * @return whether to read again, when there is room
	 */
	public boolean hasMoreInput() {
		return this.start != null;
	}

	/**
	 * What {@link #read} needs after it had nothing to return.
	 * @return {@link Progress#WANTS_READ} unless something else has to be done first
	 */
	public Progress readNeeds() {
		return Progress.WANTS_READ;
	}

	/**
	 * Allows {@link #read} to go on although nothing can be written afterwards. Owner.
	 */
	public void endInput() {
	}

	/**
	 * Does what may take long, or block. Owner, who does not lead meanwhile.
	 */
	public void runTasks() {
	}

	/**
	 * Whether it has bytes of its own for the socket, which those of the application that
	 * wait are not counted among. Any thread.
	 * @return whether to call {@link #flush} when there is room in the socket
	 */
	public boolean wantsWrite() {
		return false;
	}

	/**
	 * Writes what it {@linkplain #wantsWrite() wants to}, as far as the socket takes it.
	 * Any thread.
	 * @throws IOException if the socket failed
	 */
	public void flush() throws IOException {
	}

	/**
	 * Tells the peer that nothing more comes. Owner; to be called again until it is done.
	 * @param closesNext whether the socket is closed next anyhow
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
	 * Reads for nobody, after the output was shut down. Owner.
	 * @param scratch cleared; what is in it afterwards is nothing to look at
	 * @return how many bytes, 0 if there are none now, -1 if there will be none
	 * @throws IOException if the socket failed
	 */
	public int discard(ByteBuffer scratch) throws IOException {
		return receive(scratch);
	}

	/**
	 * Whether the peer, whose end was read, did not say that it is the end: somebody
	 * between may have cut it off. Owner.
	 * @return {@code false} if the transport knows no difference
	 */
	public boolean isTruncated() {
		return false;
	}

	/**
	 * What was agreed upon with the peer. Any thread.
	 * @return {@code null} if nothing was
	 */
	public @Nullable SSLSession session() {
		return null;
	}

	/**
	 * Gives back what it holds; the socket is left as it is. Owner. Nothing can be
	 * written or read afterwards.
	 */
	public void release() {
		this.start = null;
	}

	/**
	 * The socket.
	 * @return non-blocking
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
