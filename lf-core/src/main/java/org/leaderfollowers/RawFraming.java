package org.leaderfollowers;

import java.nio.ByteBuffer;

/** No framing: all bytes that have arrived are one message. */
final class RawFraming implements EngineFraming {

	static final RawFraming INSTANCE = new RawFraming();

	private RawFraming() {
	}

	@Override
	public boolean decode(ByteBuffer input, Frame frame) {
		int length = Math.min(input.remaining(), frame.maxMessageSize());
		return frame.complete(0, length, length);
	}

	@Override
	public void encode(ByteBuffer payload, ByteBuffer output) {
		output.put(payload);
	}

	@Override
	public int maxFrameLength(int payloadLength) {
		return payloadLength;
	}

	@Override
	public String toString() {
		return "raw";
	}

}
