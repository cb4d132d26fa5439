package org.leaderfollowers;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Map;

/**
 * Separates the messages in a stream of bytes. A framing is symmetric: handlers receive
 * only the payload, and the payloads that they send are framed.
 * <p>
 * One framing object serves all connections of a server and all threads, so it must not
 * keep state. While a message is incomplete, the {@link Frame} keeps the necessary
 * values. A custom framing implements the three methods; the factory methods return the
 * built-in framings.
 * <p>
 * If the framing of a protocol depends on earlier messages, it needs a framing object for
 * each connection; see {@link #forConnection}.
 */
public interface Framing {

	/**
	 * Returns the framing of a connection. It is called once, before
	 * {@link MessageHandler#onOpen(Connection) onOpen}. A framing that returns a new
	 * object can keep state in it: one thread at a time calls its {@link #decode}, for
	 * the messages in the order of arrival, and once for a complete message. So it can
	 * deliver a large body in parts, each of which is a message to the handler. It can
	 * also {@linkplain Connection#send send}, for example {@code 100 Continue} before the
	 * whole message has arrived. {@link #decode} should not block; {@code send} does not
	 * block.
	 * <p>
	 * Any thread that sends calls {@link #encode}, possibly at the same time as
	 * {@link #decode}.
	 * @param connection the connection, which is about to be opened: nothing can be sent
	 * yet
	 * @return this framing, or a new object that has state. Its frames must not be longer
	 * than {@link #maxFrameLength} of this framing
	 * @throws RuntimeException if there is no framing for the connection, which is then
	 * closed with the reason {@link CloseReason#HANDSHAKE_FAILED}
	 */
	default Framing forConnection(Connection connection) {
		return this;
	}

	/**
	 * Looks for the first message in the input. If it blocks, this connection waits, and
	 * others only until a follower takes the leadership over, as for a handler.
	 * @param input the bytes received, from position to limit, at least one byte. Read
	 * them by index: position and limit must not change. The bytes of a complete frame
	 * may be rewritten in place, for example to remove escapes
	 * @param frame receives the result: {@link Frame#complete} or
	 * {@link Frame#incomplete}
	 * @return whether the message is complete
	 * @throws FramingException if the input can never become a message: the connection is
	 * closed. Every other exception has the same effect
	 */
	boolean decode(ByteBuffer input, Frame frame);

	/**
	 * Writes a payload with its framing.
	 * @param payload from position to limit; it must be read entirely
	 * @param output has room for {@link #maxFrameLength} bytes behind its position, which
	 * need not be 0: other frames may lie before it
	 * @throws IllegalArgumentException if the framing cannot express the payload
	 */
	void encode(ByteBuffer payload, ByteBuffer output);

	/**
	 * The maximum length of the frame of a payload.
	 * @param payloadLength the length of the payload, in bytes
	 * @return bytes, framing included
	 */
	int maxFrameLength(int payloadLength);

	/**
	 * Lines: a message ends with a line feed. When reading, a carriage return before the
	 * line feed is removed. When writing, only a line feed is added.
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
	 * Messages of a fixed length, without a delimiter.
	 * @param length bytes, at least 1
	 * @return the framing
	 */
	static Framing fixedLength(int length) {
		return new FixedLengthFraming(length);
	}

	/**
	 * Messages behind a header with their length: by default, an unsigned big-endian
	 * number, which counts the bytes that follow it.
	 * @param lengthFieldBytes the size of the length field: 1, 2, 3 or 4
	 * @return the framing; its methods return variants of it
	 */
	static LengthFieldFraming lengthField(int lengthFieldBytes) {
		return LengthFieldFraming.ofBytes(lengthFieldBytes);
	}

	/**
	 * Messages behind a header with their length in decimal digits: by default, a number
	 * that counts the bytes that follow it, with leading zeros.
	 * @param digits the number of digits, from 1 to 9
	 * @return the framing; its methods return variants of it
	 */
	static LengthFieldFraming decimalLength(int digits) {
		return LengthFieldFraming.ofDigits(digits);
	}

	/**
	 * Messages between a start and an end, such as STX and ETX. The payload must not
	 * contain the end.
	 * @param start at least one byte. If start and end are equal, a message is any bytes
	 * between two of them, so that one can both end a message and start the next. There
	 * is no empty message then
	 * @param end at least one byte
	 * @return the framing
	 */
	static Framing enclosed(byte[] start, byte[] end) {
		return new EnclosedFraming(start.clone(), end.clone(), null);
	}

	/**
	 * Messages between a start and an end, with escapes for bytes that must not occur
	 * between them. A frame has up to twice the length of its payload.
	 * @param start as for {@link #enclosed(byte[], byte[])}
	 * @param end as for {@link #enclosed(byte[], byte[])}
	 * @param escapes for each byte that has an escape, two bytes that stand for it. All
	 * begin with the same byte, which has an escape as well
	 * @return the framing
	 */
	static Framing enclosed(byte[] start, byte[] end, Map<Byte, byte[]> escapes) {
		return new EnclosedFraming(start.clone(), end.clone(), Escapes.of(escapes));
	}

	/**
	 * The protocol of Redis, version 2 (RESP2), for servers and clients. A message is a
	 * whole request or reply as it was sent: an array, a string, a number, an error, or a
	 * line with an inline command. Payloads are sent as they are, so each must be such a
	 * value.
	 * @return the framing
	 */
	static Framing resp() {
		return RespFraming.INSTANCE;
	}

	/**
	 * No framing: all bytes that have arrived are one message, up to the maximum message
	 * size.
	 * @return the framing
	 */
	static Framing raw() {
		return RawFraming.INSTANCE;
	}

	/**
	 * The location of the first message in an input. All offsets count from the position
	 * of the input.
	 */
	final class Frame {

		/** The length of a frame whose end has not been found. */
		public static final long UNKNOWN = -1;

		private static final long FITS = -2;

		private int maxMessageSize;

		private int scanned;

		private int payloadOffset;

		private int payloadLength;

		private int frameLength;

		/**
		 * The length of a frame that is too large, {@link #UNKNOWN}, or {@link #FITS}.
		 */
		private long tooLarge;

		/** Whether the input begins in the middle of a message that is too large. */
		private boolean continued;

		/**
		 * Creates a frame, to test a framing or to use it outside of a server. Within a
		 * server, the engine provides the frame.
		 * @param maxMessageSize the maximum message size, in bytes of payload
		 */
		public Frame(int maxMessageSize) {
			this.maxMessageSize = maxMessageSize;
			this.tooLarge = FITS;
		}

		void begin(int maxMessageSize, int scanned) {
			this.maxMessageSize = maxMessageSize;
			this.scanned = scanned;
			this.payloadOffset = 0;
			this.payloadLength = 0;
			this.frameLength = 0;
			this.tooLarge = FITS;
			this.continued = false;
		}

		/** Prepares to look for the end of a message that is too large. */
		void continueTooLarge(int maxMessageSize) {
			begin(maxMessageSize, 0);
			this.continued = true;
		}

		boolean isContinued() {
			return this.continued;
		}

		/**
		 * Checks the result of a framing, which may be code of the application. A wrong
		 * result would make the connection read bytes of others or never advance.
		 */
		void check(boolean complete, int available) {
			if (!complete && isTooLarge()) {
				checkTooLarge(available);
				return;
			}
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

		private void checkTooLarge(int available) {
			boolean ends = (this.tooLarge == UNKNOWN) ? this.scanned > 0 : this.tooLarge > 0;
			if (!ends || this.payloadOffset < 0 || this.payloadOffset > available || this.scanned < 0
					|| this.scanned > available) {
				throw new IllegalStateException(
						"The framing found a frame of %d bytes that is too large, with a payload at %d, and scanned %d, in an input of %d bytes"
							.formatted(this.tooLarge, this.payloadOffset, this.scanned, available));
			}
		}

		/** Whether the framing has reported that the message is too large. */
		boolean isTooLarge() {
			return this.tooLarge != FITS;
		}

		/** The length of the frame that is too large, or {@link #UNKNOWN}. */
		long tooLargeFrameLength() {
			return this.tooLarge;
		}

		/**
		 * The offset of the payload of a complete message.
		 * @return bytes from the position of the input
		 */
		public int payloadOffset() {
			return this.payloadOffset;
		}

		/**
		 * The length of the payload of a complete message, or of an incomplete one whose
		 * length is known.
		 * @return bytes
		 */
		public int payloadLength() {
			return this.payloadLength;
		}

		/**
		 * The number of bytes of the input that belong to a complete message.
		 * @return bytes, framing included
		 */
		public int frameLength() {
			return this.frameLength;
		}

		/**
		 * The number of bytes of this message that an earlier call has scanned without
		 * finding the end.
		 * @return bytes, as that call passed them to {@link #incomplete}; 0 for a new
		 * message
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
		 * Records that the message is complete.
		 * @param payloadOffset the offset of the payload
		 * @param payloadLength the length of the payload, possibly 0
		 * @param frameLength the number of bytes of the input that belong to the message,
		 * at least 1
		 * @return {@code true}
		 */
		public boolean complete(int payloadOffset, int payloadLength, int frameLength) {
			this.payloadOffset = payloadOffset;
			this.payloadLength = payloadLength;
			this.frameLength = frameLength;
			this.tooLarge = FITS;
			return true;
		}

		/**
		 * Records that the message is not complete.
		 * @param scanned the number of bytes that need not be scanned again
		 * @return {@code false}
		 */
		public boolean incomplete(int scanned) {
			this.scanned = scanned;
			this.payloadLength = 0;
			return false;
		}

		/**
		 * Records that the message is larger than the maximum message size. If the server
		 * {@linkplain TcpServer.Builder#skipOversizedMessages(boolean) skips} such
		 * messages, the rest of the message is read and discarded; otherwise the
		 * connection is closed. If a framing does not call this method, the connection is
		 * closed in either case.
		 * @param payloadOffset the offset of the payload
		 * @param scanned the number of bytes of the input that certainly belong to the
		 * message; at least 1 if its length is unknown
		 * @param frameLength the length of the whole message, framing included, which may
		 * exceed the input; or {@link #UNKNOWN}. If it is unknown, the scanned bytes are
		 * discarded, and {@link Framing#decode} is called with the bytes behind them
		 * until it finds a complete message, which is the end of this one
		 * @return {@code false}
		 */
		public boolean tooLarge(int payloadOffset, int scanned, long frameLength) {
			this.payloadOffset = payloadOffset;
			this.payloadLength = (frameLength == UNKNOWN) ? Integer.MAX_VALUE
					: (int) Math.max(0, Math.min(Integer.MAX_VALUE, frameLength - payloadOffset));
			this.scanned = scanned;
			this.tooLarge = frameLength;
			return false;
		}

		/**
		 * Records that the message is not complete, but that its length is known. If the
		 * message is too large, the connection is closed before memory is allocated for
		 * it.
		 * @param scanned the number of bytes that need not be scanned again
		 * @param payloadLength the length that the payload will have
		 * @return {@code false}
		 */
		public boolean incomplete(int scanned, long payloadLength) {
			this.scanned = scanned;
			this.payloadLength = (int) Math.max(-1, Math.min(Integer.MAX_VALUE, payloadLength));
			return false;
		}

	}

}
