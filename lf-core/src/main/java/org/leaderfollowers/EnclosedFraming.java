package org.leaderfollowers;

import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.HexFormat;

import org.jspecify.annotations.Nullable;

/**
 * Messages between a start and an end.
 */
final class EnclosedFraming implements EngineFraming {

	/**
	 * Limits how often the payload has to be found again if the message arrives in
	 * pieces, and the memory for a message.
	 */
	private static final int MAX_REPETITIONS = 64;

	private final byte[] start;

	private final byte[] end;

	private final DelimiterFraming ends;

	private final @Nullable Escapes escapes;

	/**
	 * Whether start and end are equal, so that one delimiter can end a message and start
	 * the next.
	 */
	private final boolean shared;

	EnclosedFraming(byte[] start, byte[] end, @Nullable Escapes escapes) {
		if (start.length == 0 || end.length == 0) {
			throw new IllegalArgumentException("'start' and 'end' must have at least one byte");
		}
		this.start = start;
		this.end = end;
		this.ends = new DelimiterFraming("enclosed", end, false);
		this.escapes = escapes;
		this.shared = Arrays.equals(start, end);
	}

	@Override
	public boolean decode(ByteBuffer input, Frame frame) {
		int first = input.position();
		int payload = frame.isContinued() ? first : findPayload(input);
		int found = this.ends.find(input, Math.max(payload, first + frame.scanned()), input.limit());
		if (found < 0) {
			// The last bytes may be the beginning of an end.
			int scanned = Math.max(0, input.remaining() - (this.end.length - 1));
			boolean isTooLarge = scanned > (payload - first) + escapedLength(frame.maxMessageSize());
			return isTooLarge ? frame.tooLarge(payload - first, scanned, Frame.UNKNOWN) : frame.incomplete(scanned);
		}
		// A message that is too large is rejected before its escapes are checked, because
		// if it arrives in pieces, it is rejected before it is complete.
		boolean isTooLarge = found - payload > escapedLength(frame.maxMessageSize());
		boolean hasEscapes = this.escapes != null && !frame.isContinued() && !isTooLarge;
		int payloadEnd = hasEscapes ? this.escapes.remove(input, payload, found) : found;
		return frame.complete(payload - first, payloadEnd - payload, found + this.end.length - first);
	}

	/** Returns the index behind the start, or behind the part of it that has arrived. */
	private int findPayload(ByteBuffer input) {
		int index = input.position();
		if (this.shared) {
			for (int i = 0; startLength(input, index) == this.start.length; i++) {
				if (i == MAX_REPETITIONS) {
					throw new FramingException("0x%s occurs more than %d times between two messages"
						.formatted(HexFormat.of().formatHex(this.start), MAX_REPETITIONS));
				}
				index += this.start.length;
			}
			return index;
		}
		int length = startLength(input, index);
		if (length < Math.min(this.start.length, input.remaining())) {
			throw new FramingException("A message must begin with 0x" + HexFormat.of().formatHex(this.start));
		}
		return index + length;
	}

	/** Returns how many bytes at the index belong to the start. */
	private int startLength(ByteBuffer input, int index) {
		int length = 0;
		while (length < this.start.length && index + length < input.limit()
				&& input.get(index + length) == this.start[length]) {
			length++;
		}
		return length;
	}

	@Override
	public void encode(ByteBuffer payload, ByteBuffer output) {
		if (this.shared && !payload.hasRemaining()) {
			throw new IllegalArgumentException(
					"The payload is empty, but %s does not allow empty messages".formatted(this));
		}
		int first = output.position() + this.start.length;
		output.put(this.start);
		if (this.escapes != null) {
			this.escapes.write(payload, output);
		}
		else {
			output.put(payload);
		}
		output.put(this.end);
		// The whole frame is searched, not only the payload: the last bytes of the
		// payload and the first bytes of the end can form an end as well.
		int found = this.ends.find(output, first, output.position());
		if (found < output.position() - this.end.length) {
			throw new IllegalArgumentException(
					"The payload contains the end 0x%s of the framing '%s', or forms one together with the bytes that follow"
						.formatted(HexFormat.of().formatHex(this.end), this));
		}
	}

	@Override
	public int maxFrameLength(int payloadLength) {
		// The peer may repeat a shared delimiter before a message.
		int starts = this.start.length * (this.shared ? MAX_REPETITIONS : 1);
		return (int) Math.min(Integer.MAX_VALUE, starts + escapedLength(payloadLength) + this.end.length);
	}

	private long escapedLength(int payloadLength) {
		return (this.escapes != null) ? 2L * payloadLength : payloadLength;
	}

	@Override
	public String toString() {
		HexFormat hex = HexFormat.of();
		return "enclosed(0x%s, 0x%s%s)".formatted(hex.formatHex(this.start), hex.formatHex(this.end),
				(this.escapes != null) ? ", escapes" : "");
	}

}
