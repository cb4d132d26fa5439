package org.leaderfollowers.internal.transport;

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

	/** The most that is read of a preamble at once, in bytes. */
	private static final int PREAMBLE_READ = 128;

	private final SocketChannel socket;

	private @Nullable Preamble preamble;

	private boolean preambleHasBegun;

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
				// Some health checks connect and end with a reset.
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
		return this.socket.read(destination);
	}

	/**
	 * Whether the last read left something that is no longer in the socket, so that no
	 * event will tell of it. Owner.
	 * @return whether to read again, when there is room
	 */
	public boolean hasMoreInput() {
		return false;
	}

	/**
	 * Whether it keeps the beginning of something that it can make nothing of until the
	 * rest has arrived. Owner.
	 * @return whether {@link #holdsNewPart()} is to be asked
	 */
	public boolean holdsPart() {
		return false;
	}

	/**
	 * Whether the beginning that it {@linkplain #holdsPart() keeps} is another one than
	 * when this was asked before. Owner.
	 * @return {@code false} if it was answered for this one
	 */
	public boolean holdsNewPart() {
		return false;
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
