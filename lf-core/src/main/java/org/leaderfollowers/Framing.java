package org.leaderfollowers;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;

/**
 * How messages are told apart in a stream of bytes. A framing is symmetric: handlers see
 * the payload only, and what they send is framed.
 * <p>
 * One framing object serves all connections of a server and all threads, so it must not
 * keep state; what has to be remembered while a message is incomplete is in the
 * {@link Frame}. Own framings implement the three methods; the built-in ones come from
 * the factory methods.
 */
public interface Framing {

	/**
	 * Looks for the first message in the input.
	 * @param input what was received, from position to limit, at least one byte. To be
	 * read by index: position and limit are to stay as they are. The bytes of a complete
	 * frame may be rewritten in place, for example to remove escapes
	 * @param frame takes the result: {@link Frame#complete} or {@link Frame#incomplete}
	 * @return whether the message is complete
	 * @throws FramingException if the input can never become a message: the connection is
	 * closed. Every other exception is treated likewise
	 */
	boolean decode(ByteBuffer input, Frame frame);

	/**
	 * Writes a payload with its framing.
	 * @param payload from position to limit, to be read entirely
	 * @param output has room for {@link #maxFrameLength} bytes behind its position, which
	 * need not be 0: other frames may lie before it
	 * @throws IllegalArgumentException if the framing cannot express the payload
	 */
	void encode(ByteBuffer payload, ByteBuffer output);

	/**
	 * How long the frame of a payload can be at the most.
	 * @param payloadLength the length of the payload, in bytes
	 * @return bytes, framing included
	 */
	int maxFrameLength(int payloadLength);

	/**
	 * Lines: a message ends with a line feed. A carriage return before it is removed when
	 * reading; when writing, a line feed alone is added.
	 * @return the framing
	 */
	static Framing line() {
		return new DelimiterFraming("line", new byte[] { '\n' }, true);
	}

	/**
	 * Messages that end with a delimiter.
	 * @param delimiter at least one byte
	 * @return the framing
	 */
	static Framing delimiter(byte... delimiter) {
		return new DelimiterFraming("delimiter", delimiter.clone(), false);
	}

	/**
	 * Messages that end with a delimiter.
	 * @param delimiter at least one character, in UTF-8
	 * @return the framing
	 */
	static Framing delimiter(String delimiter) {
		return delimiter(delimiter.getBytes(StandardCharsets.UTF_8));
	}

	/**
	 * Messages of one length, without a mark.
	 * @param length bytes, at least 1
	 * @return the framing
	 */
	static Framing fixedLength(int length) {
		return new FixedLengthFraming(length);
	}

	/**
	 * Messages behind a header that tells their length: by default an unsigned big-endian
	 * number of the bytes that follow it.
	 * @param lengthFieldBytes the size of the length field: 1, 2, 3 or 4
	 * @return the framing, to be refined by its methods
	 */
	static LengthFieldFraming lengthField(int lengthFieldBytes) {
		return LengthFieldFraming.ofBytes(lengthFieldBytes);
	}

	/**
	 * No framing: whatever has arrived is a message, up to the maximum message size.
	 * @return the framing
	 */
	static Framing raw() {
		return RawFraming.INSTANCE;
	}

	/**
	 * Where the first message of an input lies. All offsets count from the position of
	 * the input.
	 */
	final class Frame {

		private int maxMessageSize;

		private int scanned;

		private int payloadOffset;

		private int payloadLength;

		private int frameLength;

		/**
		 * Creates a frame, to try a framing or to use one outside of a server. Within,
		 * the engine brings it.
		 * @param maxMessageSize the maximum message size, in bytes of payload
		 */
		public Frame(int maxMessageSize) {
			this.maxMessageSize = maxMessageSize;
		}

		void begin(int maxMessageSize, int scanned) {
			this.maxMessageSize = maxMessageSize;
			this.scanned = scanned;
			this.payloadOffset = 0;
			this.payloadLength = 0;
			this.frameLength = 0;
		}

		/**
		 * A framing is the application's code as well: what it says must fit the input,
		 * or the connection would read bytes of others or never advance.
		 */
		void check(boolean complete, int available) {
			boolean fits = complete
					? this.frameLength > 0 && this.frameLength <= available && this.payloadOffset >= 0
							&& this.payloadLength >= 0 && this.payloadOffset <= this.frameLength - this.payloadLength
					: this.scanned >= 0 && this.scanned <= available && this.payloadLength >= 0;
			if (!fits) {
				throw new IllegalStateException(
						"The framing found a %s frame of %d bytes with a payload of %d at %d and scanned %d, in an input of %d bytes"
							.formatted(complete ? "complete" : "incomplete", this.frameLength, this.payloadLength,
									this.payloadOffset, this.scanned, available));
			}
		}

		/**
		 * Where the payload of a complete message begins.
		 * @return bytes from the position of the input
		 */
		public int payloadOffset() {
			return this.payloadOffset;
		}

		/**
		 * The length of the payload of a complete message, or, if it is known already, of
		 * an incomplete one.
		 * @return bytes
		 */
		public int payloadLength() {
			return this.payloadLength;
		}

		/**
		 * How much of the input a complete message takes.
		 * @return bytes, framing included
		 */
		public int frameLength() {
			return this.frameLength;
		}

		/**
		 * How many bytes of this message were seen by an earlier call that returned
		 * {@link #incomplete}, and are known not to end it.
		 * @return bytes, as told by that call; 0 for a new message
		 */
		public int scanned() {
			return this.scanned;
		}

		/**
		 * The maximum message size of the server.
		 * @return bytes of payload
		 */
		public int maxMessageSize() {
			return this.maxMessageSize;
		}

		/**
		 * The message is complete.
		 * @param payloadOffset where the payload begins
		 * @param payloadLength the length of the payload, possibly 0
		 * @param frameLength how many bytes of the input belong to the message, at least
		 * 1
		 * @return {@code true}
		 */
		public boolean complete(int payloadOffset, int payloadLength, int frameLength) {
			this.payloadOffset = payloadOffset;
			this.payloadLength = payloadLength;
			this.frameLength = frameLength;
			return true;
		}

		/**
		 * The message is not complete.
		 * @param scanned how many bytes need not be looked at again
		 * @return {@code false}
		 */
		public boolean incomplete(int scanned) {
			this.scanned = scanned;
			this.payloadLength = 0;
			return false;
		}

		/**
		 * The message is not complete, but its length is known: if it is too large, the
		 * connection is closed before anything is allocated for it.
		 * @param scanned how many bytes need not be looked at again
		 * @param payloadLength how long the payload will be
		 * @return {@code false}
		 */
		public boolean incomplete(int scanned, long payloadLength) {
			this.scanned = scanned;
			this.payloadLength = (int) Math.max(-1, Math.min(Integer.MAX_VALUE, payloadLength));
			return false;
		}

	}

}
