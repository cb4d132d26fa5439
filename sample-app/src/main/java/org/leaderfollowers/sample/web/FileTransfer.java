package org.leaderfollowers.sample.web;

import java.io.EOFException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.ReadableByteChannel;

import org.leaderfollowers.Connection;

/**
 * A large file that is being sent to a client: it is read in pieces, as fast as the
 * client accepts them.
 */
class FileTransfer {

	private static final int PIECE = 32 * 1024;

	private final ReadableByteChannel file;

	private long left;

	private Runnable completion = () -> {
	};

	FileTransfer(ReadableByteChannel file, long length) {
		this.file = file;
		this.left = length;
	}

	void whenComplete(Runnable completion) {
		this.completion = completion;
	}

	/**
	 * Sends as much as the client accepts now.
	 * @param connection the connection to the client
	 * @return whether the file has been sent
	 * @throws IOException if the file cannot be read or has become shorter
	 */
	boolean proceed(Connection connection) throws IOException {
		if (this.left > 0 && connection.isWritable()) {
			ByteBuffer piece = ByteBuffer.allocate((int) Math.min(PIECE, this.left));
			while (this.left > 0 && connection.isWritable()) {
				piece.clear().limit((int) Math.min(PIECE, this.left));
				while (piece.hasRemaining()) {
					if (this.file.read(piece) < 0) {
						throw new EOFException("The file has become shorter while it was sent");
					}
				}
				connection.send(piece.flip());
				this.left -= piece.limit();
			}
		}
		return this.left == 0;
	}

	/** Ends a complete transfer. */
	void complete() throws IOException {
		close();
		this.completion.run();
	}

	void close() throws IOException {
		this.file.close();
	}

}
