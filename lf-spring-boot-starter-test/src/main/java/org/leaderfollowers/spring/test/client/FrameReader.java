package org.leaderfollowers.spring.test.client;

import java.nio.ByteBuffer;
import java.util.Arrays;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.Framing;
import org.leaderfollowers.Framing.Frame;
import org.leaderfollowers.FramingException;

/**
 * Separates the messages in a stream of bytes as the engine does, and checks the results
 * of the framing as strictly. Not thread-safe.
 */
public final class FrameReader {

	/**
	 * As in a server, the input does not begin at index 0, so that a framing that assumes
	 * position 0 fails.
	 */
	private static final int HEAD = 7;

	private final Framing framing;

	private final int maxMessageSize;

	private final int frameLimit;

	/** The bytes that were received and not taken: from {@link #HEAD} to the position. */
	private ByteBuffer bytes = ByteBuffer.allocate(256).position(HEAD);

	private Frame frame;

	/**
	 * Creates a reader without input.
	 * @param framing separates messages
	 * @param maxMessageSize the maximum message size, in bytes of payload
	 */
	public FrameReader(Framing framing, int maxMessageSize) {
		this.framing = framing;
		this.maxMessageSize = maxMessageSize;
		this.frameLimit = framing.maxFrameLength(maxMessageSize);
		this.frame = new Frame(maxMessageSize);
	}

	/**
	 * Adds bytes that were received.
	 * @param source contains the bytes
	 * @param offset the index of the first byte
	 * @param length the number of bytes
	 */
	public void append(byte[] source, int offset, int length) {
		if (this.bytes.remaining() < length) {
			int size = this.bytes.position();
			int capacity = Math.max(Math.addExact(size, length), Math.multiplyExact(2, size));
			this.bytes = ByteBuffer.wrap(Arrays.copyOf(this.bytes.array(), capacity)).position(size);
		}
		this.bytes.put(source, offset, length);
	}

	/**
	 * How many bytes were added and not taken.
	 * @return bytes
	 */
	public int available() {
		return this.bytes.position() - HEAD;
	}

	/** A copy of the remaining bytes, without taking them. */
	byte[] peek() {
		return Arrays.copyOfRange(this.bytes.array(), HEAD, this.bytes.position());
	}

	/**
	 * Takes the first message if it is complete.
	 * @return its payload, or {@code null} if it is incomplete
	 * @throws FramingException if no message can follow, or if the message is too large
	 * @throws IllegalStateException if the result of the framing does not fit the input
	 */
	public byte @Nullable [] next() {
		int available = available();
		if (available == 0) {
			return null;
		}
		boolean complete = this.framing.decode(this.bytes.duplicate().flip().position(HEAD), this.frame);
		int payloadLength = this.frame.payloadLength();
		if (payloadLength > this.maxMessageSize || (!complete && available >= this.frameLimit)) {
			throw new TooLargeException("A message is larger than the maximum message size of %d bytes (maxMessageSize)"
				.formatted(this.maxMessageSize));
		}
		if (!complete) {
			checkFits(this.frame.scanned() >= 0 && this.frame.scanned() <= available && payloadLength >= 0, complete,
					available);
			return null;
		}
		int offset = this.frame.payloadOffset();
		int length = this.frame.frameLength();
		checkFits(length > 0 && length <= available && offset >= 0 && payloadLength >= 0
				&& offset <= length - payloadLength, complete, available);
		byte[] payload = Arrays.copyOfRange(this.bytes.array(), HEAD + offset, HEAD + offset + payloadLength);
		remove(length);
		return payload;
	}

	/** Rejects the same results of a framing that the engine rejects. */
	private void checkFits(boolean fits, boolean complete, int available) {
		if (!fits) {
			throw new IllegalStateException(
					"The framing found a %s frame of %d bytes with a payload of %d at %d and scanned %d, in an input of %d bytes"
						.formatted(complete ? "complete" : "incomplete", this.frame.frameLength(),
								this.frame.payloadLength(), this.frame.payloadOffset(), this.frame.scanned(),
								available));
		}
	}

	/** Takes bytes without decoding them. */
	byte[] take(int count) {
		byte[] taken = Arrays.copyOfRange(this.bytes.array(), HEAD, HEAD + count);
		remove(count);
		return taken;
	}

	private void remove(int count) {
		int left = available() - count;
		System.arraycopy(this.bytes.array(), HEAD + count, this.bytes.array(), HEAD, left);
		this.bytes.position(HEAD + left);
		this.frame = new Frame(this.maxMessageSize);
	}

	/** A message is too large. */
	static final class TooLargeException extends FramingException {

		private static final long serialVersionUID = 1L;

		TooLargeException(String message) {
			super(message);
		}

	}

}
