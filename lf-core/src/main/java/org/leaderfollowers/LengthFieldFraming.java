package org.leaderfollowers;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/**
 * Messages behind a header with their length, as a binary number or in decimal digits.
 * Immutable; every method returns a changed copy.
 * <p>
 * A frame consists of {@code offset} bytes of header, the length field, and the body. The
 * payload that a handler sees and sends is the header followed by the body: only the
 * length field itself is removed and added. The length of the body is
 *
 * <pre>
 * body = value of the field + adjustment - (inclusive ? offset + size of the field : 0)
 * </pre>
 */
public final class LengthFieldFraming implements EngineFraming {

	private final int fieldBytes;

	private final boolean decimal;

	private final int offset;

	private final int adjustment;

	private final boolean inclusive;

	private final ByteOrder order;

	private LengthFieldFraming(int fieldBytes, boolean decimal, int offset, int adjustment, boolean inclusive,
			ByteOrder order) {
		this.fieldBytes = fieldBytes;
		this.decimal = decimal;
		this.offset = offset;
		this.adjustment = adjustment;
		this.inclusive = inclusive;
		this.order = order;
	}

	static LengthFieldFraming ofBytes(int fieldBytes) {
		if (fieldBytes < 1 || fieldBytes > 4) {
			throw new IllegalArgumentException("'lengthFieldBytes' must be 1, 2, 3 or 4, but is " + fieldBytes);
		}
		return new LengthFieldFraming(fieldBytes, false, 0, 0, false, ByteOrder.BIG_ENDIAN);
	}

	static LengthFieldFraming ofDigits(int digits) {
		if (digits < 1 || digits > 9) {
			throw new IllegalArgumentException("'digits' must be from 1 to 9, but is " + digits);
		}
		return new LengthFieldFraming(digits, true, 0, 0, false, ByteOrder.BIG_ENDIAN);
	}

	/**
	 * Bytes of header before the length field. They are part of the payload.
	 * @param offset bytes, from 0 to 1024; the default is 0
	 * @return a changed copy
	 */
	public LengthFieldFraming offset(int offset) {
		if (offset < 0 || offset > 1024) {
			throw new IllegalArgumentException("'offset' must be from 0 to 1024, but is " + offset);
		}
		return new LengthFieldFraming(this.fieldBytes, this.decimal, offset, this.adjustment, this.inclusive,
				this.order);
	}

	/** The least length of a payload. */
	int headerLength() {
		return this.offset;
	}

	/**
	 * A number that is added to the value of the field to get the length of the body, for
	 * protocols that count other bytes.
	 * @param adjustment bytes, from -65536 to 65536; the default is 0
	 * @return a changed copy
	 */
	public LengthFieldFraming adjustment(int adjustment) {
		if (Math.abs((long) adjustment) > 65536) {
			throw new IllegalArgumentException("'adjustment' must be from -65536 to 65536, but is " + adjustment);
		}
		return new LengthFieldFraming(this.fieldBytes, this.decimal, this.offset, adjustment, this.inclusive,
				this.order);
	}

	/**
	 * Whether the value of the field counts the header and the field itself.
	 * @param inclusive the default is {@code false}: the value counts only the body
	 * @return a changed copy
	 */
	public LengthFieldFraming inclusive(boolean inclusive) {
		return new LengthFieldFraming(this.fieldBytes, this.decimal, this.offset, this.adjustment, inclusive,
				this.order);
	}

	/**
	 * The order of the bytes of the length field.
	 * @param order the default is {@link ByteOrder#BIG_ENDIAN}, the network's
	 * @return a changed copy
	 */
	public LengthFieldFraming order(ByteOrder order) {
		return new LengthFieldFraming(this.fieldBytes, this.decimal, this.offset, this.adjustment, this.inclusive,
				order);
	}

	@Override
	public boolean decode(ByteBuffer input, Frame frame) {
		int head = this.offset + this.fieldBytes;
		int available = input.remaining();
		if (available < head) {
			return frame.incomplete(available);
		}
		int start = input.position();
		long value = readField(input, start + this.offset);
		long body = value + this.adjustment - (this.inclusive ? head : 0);
		if (body < 0) {
			throw new FramingException(
					"The length field contains %d, which means a body of %d bytes".formatted(value, body));
		}
		long payload = this.offset + body;
		boolean isTooLarge = payload > frame.maxMessageSize();
		if (!isTooLarge && available < head + body) {
			return frame.incomplete(available, payload);
		}
		// Moves the header over the length field, so that header and body are contiguous.
		for (int i = this.offset - 1; i >= 0; i--) {
			input.put(start + i + this.fieldBytes, input.get(start + i));
		}
		if (isTooLarge) {
			return frame.tooLarge(this.fieldBytes, head, head + body);
		}
		return frame.complete(this.fieldBytes, (int) payload, (int) (head + body));
	}

	@Override
	public void encode(ByteBuffer payload, ByteBuffer output) {
		int body = payload.remaining() - this.offset;
		if (body < 0) {
			throw new IllegalArgumentException(
					"The payload has %d bytes, but must begin with the %d bytes of header before the length field"
						.formatted(payload.remaining(), this.offset));
		}
		long value = (long) body - this.adjustment + (this.inclusive ? this.offset + this.fieldBytes : 0);
		if (value < 0 || value > maxValue()) {
			throw new IllegalArgumentException(
					"A body of %d bytes needs the length %d, which does not fit into a field of %d %s".formatted(body,
							value, this.fieldBytes, this.decimal ? "digits" : "bytes"));
		}
		for (int i = 0; i < this.offset; i++) {
			output.put(payload.get());
		}
		writeField(output, value);
		output.put(payload);
	}

	private long maxValue() {
		if (!this.decimal) {
			return (1L << (8 * this.fieldBytes)) - 1;
		}
		long values = 1;
		for (int i = 0; i < this.fieldBytes; i++) {
			values *= 10;
		}
		return values - 1;
	}

	private long readField(ByteBuffer buffer, int at) {
		long value = 0;
		for (int i = 0; i < this.fieldBytes; i++) {
			int index = (this.order == ByteOrder.BIG_ENDIAN) ? i : this.fieldBytes - 1 - i;
			byte b = buffer.get(at + index);
			value = this.decimal ? value * 10 + digit(b) : (value << 8) | (b & 0xFF);
		}
		return value;
	}

	private int digit(byte b) {
		if (b < '0' || b > '9') {
			throw new FramingException(
					"The length field has %d bytes, which must all be decimal digits".formatted(this.fieldBytes));
		}
		return b - '0';
	}

	private void writeField(ByteBuffer buffer, long value) {
		int at = buffer.position();
		long rest = value;
		for (int i = this.fieldBytes - 1; i >= 0; i--) {
			int index = (this.order == ByteOrder.BIG_ENDIAN) ? i : this.fieldBytes - 1 - i;
			buffer.put(at + index, (byte) (this.decimal ? '0' + rest % 10 : rest));
			rest = this.decimal ? rest / 10 : rest >>> 8;
		}
		buffer.position(at + this.fieldBytes);
	}

	@Override
	public int maxFrameLength(int payloadLength) {
		return Math.addExact(payloadLength, this.fieldBytes);
	}

	@Override
	public String toString() {
		StringBuilder text = new StringBuilder(this.decimal ? "decimal-length(" : "length-field(")
			.append(this.fieldBytes);
		if (this.offset != 0) {
			text.append(", offset ").append(this.offset);
		}
		if (this.adjustment != 0) {
			text.append(", adjustment ").append(this.adjustment);
		}
		if (this.inclusive) {
			text.append(", inclusive");
		}
		if (this.order == ByteOrder.LITTLE_ENDIAN) {
			text.append(", little-endian");
		}
		return text.append(')').toString();
	}

}
