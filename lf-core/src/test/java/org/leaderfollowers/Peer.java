package org.leaderfollowers;

import java.io.ByteArrayOutputStream;
import java.io.Closeable;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.nio.charset.StandardCharsets;

import org.jspecify.annotations.Nullable;

/**
 * A simple client of a server under test: one blocking socket. All reads end after
 * {@link Engine#DEADLINE}.
 */
public final class Peer implements Closeable {

	private final Socket socket = new Socket();

	private final byte[] buffer = new byte[16 * 1024];

	private int next;

	private int end;

	public Peer(InetSocketAddress address, int receiveBuffer) throws IOException {
		if (receiveBuffer > 0) {
			this.socket.setReceiveBufferSize(receiveBuffer);
		}
		this.socket.setTcpNoDelay(true);
		this.socket.setSoTimeout((int) Engine.DEADLINE.toMillis());
		this.socket.connect(address, (int) Engine.DEADLINE.toMillis());
	}

	public Peer send(String text) {
		return send(text.getBytes(StandardCharsets.ISO_8859_1));
	}

	/** Sends, or finds the connection closed. */
	public Peer trySend(String text) {
		try {
			send(text);
		}
		catch (UncheckedIOException ex) {
			// closed by the server
		}
		return this;
	}

	public Peer send(byte[] bytes) {
		return send(bytes, 0, bytes.length);
	}

	public Peer send(byte[] bytes, int offset, int length) {
		try {
			this.socket.getOutputStream().write(bytes, offset, length);
			return this;
		}
		catch (IOException ex) {
			throw new UncheckedIOException(ex);
		}
	}

	private int read() throws IOException {
		if (this.next == this.end) {
			InputStream input = this.socket.getInputStream();
			this.next = 0;
			this.end = Math.max(0, input.read(this.buffer));
			if (this.end == 0) {
				return -1;
			}
		}
		return this.buffer[this.next++] & 0xFF;
	}

	/**
	 * Returns the next line without its end, or {@code null} if the server has closed.
	 */
	public @Nullable String readLine() {
		try {
			StringBuilder line = new StringBuilder();
			for (int b = read(); b != '\n'; b = read()) {
				if (b < 0) {
					return line.isEmpty() ? null : line + " (torn)";
				}
				line.append((char) b);
			}
			return line.toString();
		}
		catch (IOException ex) {
			throw new UncheckedIOException(ex);
		}
	}

	public byte[] read(int count) {
		try {
			byte[] bytes = new byte[count];
			for (int i = 0; i < count; i++) {
				int b = read();
				if (b < 0) {
					throw new EOFException("after %d of %d bytes".formatted(i, count));
				}
				bytes[i] = (byte) b;
			}
			return bytes;
		}
		catch (IOException ex) {
			throw new UncheckedIOException(ex);
		}
	}

	/**
	 * Returns everything up to the regular end, and closes this side as well. A reset is
	 * a failure.
	 */
	public byte[] readToEnd() {
		try {
			ByteArrayOutputStream all = new ByteArrayOutputStream();
			for (int b = read(); b >= 0; b = read()) {
				all.write(b);
			}
			return all.toByteArray();
		}
		catch (IOException ex) {
			throw new UncheckedIOException(ex);
		}
		finally {
			close();
		}
	}

	public String readTextToEnd() {
		return new String(readToEnd(), StandardCharsets.ISO_8859_1);
	}

	/**
	 * Waits until the server has closed the connection, regularly or by a reset, and
	 * closes this side as well.
	 */
	public void awaitClosed() {
		try {
			while (read() >= 0) {
				// further data does not matter
			}
		}
		catch (SocketTimeoutException ex) {
			throw new AssertionError("The server has not closed the connection", ex);
		}
		catch (IOException ex) {
			// reset
		}
		finally {
			close();
		}
	}

	public Peer shutdownOutput() {
		try {
			this.socket.shutdownOutput();
			return this;
		}
		catch (IOException ex) {
			throw new UncheckedIOException(ex);
		}
	}

	/** Closes the connection with a reset. */
	public void reset() {
		try {
			this.socket.setSoLinger(true, 0);
			this.socket.close();
		}
		catch (IOException ex) {
			throw new UncheckedIOException(ex);
		}
	}

	public int port() {
		return this.socket.getLocalPort();
	}

	@Override
	public void close() {
		try {
			this.socket.close();
		}
		catch (IOException ex) {
			// it is closed
		}
	}

}
