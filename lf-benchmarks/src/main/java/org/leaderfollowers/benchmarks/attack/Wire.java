package org.leaderfollowers.benchmarks.attack;

import java.io.DataInputStream;
import java.io.EOFException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/**
 * How messages are separated on a connection to a server that echoes them.
 */
public enum Wire {

	/** Each message ends with a newline. */
	LINE {

		@Override
		public byte[] frame(byte[] payload) {
			return ByteBuffer.allocate(payload.length + 1).put(payload).put((byte) '\n').array();
		}

		@Override
		byte[] read(DataInputStream in) throws IOException {
			return readLine(in);
		}

		@Override
		byte[] unfinished(int length) {
			return text("u".repeat(length));
		}

	},

	/** The length of a message is in the four bytes before it. */
	LENGTH_FIELD {

		@Override
		public byte[] frame(byte[] payload) {
			return ByteBuffer.allocate(payload.length + Integer.BYTES).putInt(payload.length).put(payload).array();
		}

		@Override
		byte[] read(DataInputStream in) throws IOException {
			return in.readNBytes(checked(in.readInt()));
		}

		@Override
		byte[] unfinished(int length) {
			// One byte more than the trickle of an attack will ever add
			return ByteBuffer.allocate(Integer.BYTES + length).putInt(LONGEST).array();
		}

	},

	/** HTTP/1.1 with keep-alive: a message is the body of a request or response. */
	HTTP {

		@Override
		public byte[] frame(byte[] payload) {
			return concatenate(head(payload.length), payload);
		}

		@Override
		byte[] read(DataInputStream in) throws IOException {
			String status = text(readLine(in));
			int length = 0;
			for (String header = text(readLine(in)); !header.isEmpty(); header = text(readLine(in))) {
				int colon = header.indexOf(':');
				if (header.substring(0, Math.max(0, colon)).equalsIgnoreCase("content-length")) {
					length = Integer.parseInt(header.substring(colon + 1).strip());
				}
			}
			if (!status.contains(" 200")) {
				throw new IOException("The server answered " + status);
			}
			return in.readNBytes(checked(length));
		}

		@Override
		byte[] unfinished(int length) {
			return concatenate(head(LONGEST), new byte[length]);
		}

		private byte[] head(int length) {
			return text("POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: " + length + "\r\n\r\n");
		}

		private byte[] concatenate(byte[] head, byte[] body) {
			return ByteBuffer.allocate(head.length + body.length).put(head).put(body).array();
		}

	};

	/** The longest message that all servers accept, in bytes. */
	static final int LONGEST = 64 * 1024;

	/**
	 * Puts a payload into a frame.
	 * @param payload without a newline
	 * @return the bytes to send
	 */
	public abstract byte[] frame(byte[] payload);

	/**
	 * Reads the next message.
	 * @param in buffered input of the connection
	 * @return the payload
	 * @throws IOException if the connection ends, or the input is no message
	 */
	abstract byte[] read(DataInputStream in) throws IOException;

	/**
	 * The beginning of a message that the server accepts and that does not end.
	 * @param length how many bytes of its payload there are, less than {@link #LONGEST}
	 * @return the bytes to send
	 */
	abstract byte[] unfinished(int length);

	private static byte[] readLine(DataInputStream in) throws IOException {
		byte[] line = new byte[64];
		int length = 0;
		for (int next = in.read(); next != '\n'; next = in.read()) {
			if (next < 0) {
				throw new EOFException("The server closed the connection");
			}
			if (length == line.length) {
				line = Arrays.copyOf(line, 2 * checked(length));
			}
			line[length++] = (byte) next;
		}
		return Arrays.copyOf(line, (length > 0 && line[length - 1] == '\r') ? length - 1 : length);
	}

	private static int checked(int length) throws IOException {
		if (length < 0 || length > LONGEST) {
			throw new IOException("A reply of " + length + " bytes is too long");
		}
		return length;
	}

	private static String text(byte[] bytes) {
		return new String(bytes, StandardCharsets.ISO_8859_1);
	}

	private static byte[] text(String text) {
		return text.getBytes(StandardCharsets.ISO_8859_1);
	}

}
