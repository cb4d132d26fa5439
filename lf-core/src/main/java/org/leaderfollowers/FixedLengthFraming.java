package org.leaderfollowers;

import java.nio.ByteBuffer;

/** Messages of a fixed length. */
final class FixedLengthFraming implements EngineFraming {

	private final int length;

	FixedLengthFraming(int length) {
		if (length < 1) {
			throw new IllegalArgumentException("'length' must be at least 1, but is " + length);
		}
		this.length = length;
	}

	int length() {
		return this.length;
	}

	@Override
	public boolean decode(ByteBuffer input, Frame frame) {
		int available = input.remaining();
		return (available >= this.length) ? frame.complete(0, this.length, this.length)
				: frame.incomplete(available, this.length);
	}

	@Override
	public void encode(ByteBuffer payload, ByteBuffer output) {
		if (payload.remaining() != this.length) {
			throw new IllegalArgumentException(
					"The payload has %d bytes, but the framing 'fixed-length' requires exactly %d"
						.formatted(payload.remaining(), this.length));
		}
		output.put(payload);
	}

	@Override
	public int maxFrameLength(int payloadLength) {
		return payloadLength;
	}

	@Override
	public String toString() {
		return "fixed-length(" + this.length + ")";
	}

}
