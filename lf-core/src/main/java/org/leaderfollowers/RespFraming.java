package org.leaderfollowers;

import java.nio.ByteBuffer;

/**
 * Whole requests and replies of Redis (RESP2). Each connection has its own object, so
 * that an array that arrives in pieces is scanned only once.
 */
class RespFraming implements EngineFraming {

	static final Framing INSTANCE = new RespFraming();

	/** The length of a type byte, the digits of the greatest int, and a line end. */
	private static final int MAX_LENGTH_LINE = 13;

	private RespFraming() {
	}

	@Override
	public Framing forConnection(Connection connection) {
		return new OfConnection();
	}

	@Override
	public boolean decode(ByteBuffer input, Frame frame) {
		return new OfConnection().decode(input, frame);
	}

	@Override
	public final void encode(ByteBuffer payload, ByteBuffer output) {
		output.put(payload);
	}

	@Override
	public final int maxFrameLength(int payloadLength) {
		// A line with a length counts to the size of a message only when it is complete.
		return Math.addExact(payloadLength, MAX_LENGTH_LINE);
	}

	@Override
	public final String toString() {
		return "resp";
	}

	private enum Part {

		/** The first byte of a message. */
		FIRST,

		/** The first byte of an element of an array. */
		ELEMENT,

		/** Inside a line. */
		LINE,

		/** The bytes of a string, or the line end after them. */
		STRING

	}

	/** Stores how far the current message has been read. */
	private static final class OfConnection extends RespFraming {

		private static final DelimiterFraming LINE_FEED = new DelimiterFraming("line", new byte[] { '\n' }, false);

		/**
		 * The offset of the first byte that has not been read. It may lie behind the
		 * input.
		 */
		private long next;

		/**
		 * The number of values that the message still lacks. An array adds the number of
		 * its elements.
		 */
		private long missing = 1;

		private Part part = Part.FIRST;

		private boolean tooLarge;

		@Override
		public boolean decode(ByteBuffer input, Frame frame) {
			while (this.missing > 0 && (this.tooLarge || leastLength() <= frame.maxMessageSize()) && read(input)) {
				// Repeats until the message is complete, too large, or the input is used
				// up. What follows in a message that is too large is read later, even if
				// it has arrived, so that its end does not depend on the pieces.
			}
			int scanned = (int) Math.min(this.next, input.remaining());
			if (this.missing == 0) {
				this.next = 0;
				this.missing = 1;
				this.part = Part.FIRST;
				this.tooLarge = false;
				return frame.complete(0, scanned, scanned);
			}
			long length = leastLength();
			if (!this.tooLarge && length <= frame.maxMessageSize()) {
				return frame.incomplete(scanned, length);
			}
			boolean reported = this.tooLarge;
			this.tooLarge = true;
			// The bytes before this offset are discarded.
			this.next -= scanned;
			return reported ? frame.incomplete(scanned) : frame.tooLarge(0, scanned, Frame.UNKNOWN);
		}

		/** Each missing value has at least one byte. */
		private long leastLength() {
			return this.next + this.missing;
		}

		/**
		 * Reads the next part. Returns {@code false} if the input does not contain it
		 * completely.
		 */
		private boolean read(ByteBuffer input) {
			if (this.next >= input.remaining()) {
				return false;
			}
			int index = input.position() + (int) this.next;
			return switch (this.part) {
				case FIRST, ELEMENT -> readType(input, index);
				case LINE -> readLine(input, index);
				case STRING -> readStringEnd(input, index);
			};
		}

		private boolean readType(ByteBuffer input, int index) {
			byte type = input.get(index);
			if (type == '$' || type == '*') {
				return readLength(input, index, type == '*');
			}
			if (this.part == Part.ELEMENT && type != '+' && type != '-' && type != ':') {
				throw new FramingException("An element of an array must begin with '+', '-', ':', '$' or '*'");
			}
			this.part = Part.LINE;
			return true;
		}

		private boolean readLine(ByteBuffer input, int index) {
			int end = LINE_FEED.find(input, index, input.limit());
			this.next += ((end < 0) ? input.limit() : end + 1) - index;
			return end >= 0 && endValue();
		}

		private boolean readStringEnd(ByteBuffer input, int index) {
			if (input.limit() - index < 2) {
				return false;
			}
			requireLineEnd(input, index);
			this.next += 2;
			return endValue();
		}

		private boolean readLength(ByteBuffer input, int index, boolean ofArray) {
			int end = LINE_FEED.find(input, index, Math.min(input.limit(), index + MAX_LENGTH_LINE)) - 1;
			if (end < index) {
				if (input.limit() - index >= MAX_LENGTH_LINE) {
					throw new FramingException("A length must end after at most 10 digits");
				}
				return false;
			}
			requireLineEnd(input, end);
			int length = number(input, index + 1, end);
			this.next += end + 2 - index;
			if (length < 0 || ofArray) {
				this.missing += Math.max(0, length);
				return endValue();
			}
			this.next += length;
			this.part = Part.STRING;
			return true;
		}

		/** Returns the number, or -1 for the value null. */
		private static int number(ByteBuffer input, int from, int to) {
			if (to - from == 2 && input.get(from) == '-' && input.get(from + 1) == '1') {
				return -1;
			}
			long number = 0;
			for (int i = from; i < to; i++) {
				byte b = input.get(i);
				number = number * 10 + b - '0';
				if (b < '0' || b > '9' || number > Integer.MAX_VALUE) {
					throw notANumber();
				}
			}
			if (from == to) {
				throw notANumber();
			}
			return (int) number;
		}

		private static FramingException notANumber() {
			return new FramingException(
					"A length must be a decimal number from 0 to %d, or -1".formatted(Integer.MAX_VALUE));
		}

		private static void requireLineEnd(ByteBuffer input, int index) {
			if (input.get(index) != '\r' || input.get(index + 1) != '\n') {
				throw new FramingException("A length, and the bytes of a string, must end with \\r\\n");
			}
		}

		private boolean endValue() {
			this.missing--;
			this.part = Part.ELEMENT;
			return true;
		}

	}

}
