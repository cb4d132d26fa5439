package org.leaderfollowers;

import java.nio.ByteOrder;
import java.util.HashMap;
import java.util.Map;

/** A built-in framing that a fuzzer has chosen. */
final class FuzzedFraming {

	private static final int MAX_MESSAGE_SIZE = 1024;

	final Framing framing;

	final int maxMessageSize;

	/** Whether the bytes of the peer, and not the ends of its segments, make messages. */
	final boolean separates;

	FuzzedFraming(Framing framing, int maxMessageSize) {
		this.framing = framing;
		this.maxMessageSize = maxMessageSize;
		this.separates = !(framing instanceof RawFraming);
	}

	/**
	 * Chooses a framing.
	 * @return {@code null} if no such framing exists
	 */
	static FuzzedFraming choose(FuzzInput input) {
		int size = 1 + input.below64k(MAX_MESSAGE_SIZE);
		try {
			Framing framing = framing(input);
			return new FuzzedFraming(framing, Math.max(size, leastMessageSize(framing)));
		}
		catch (IllegalArgumentException ex) {
			return null;
		}
	}

	/** A server or client does not accept a smaller one. */
	private static int leastMessageSize(Framing framing) {
		if (framing instanceof LengthFieldFraming field) {
			return field.headerLength();
		}
		return (framing instanceof FixedLengthFraming fixed) ? fixed.length() : 1;
	}

	private static Framing framing(FuzzInput input) {
		return switch (input.below(10)) {
			case 0 -> Framing.line();
			case 1 -> Framing.delimiter(input.bytes(1 + input.below(3)));
			case 2 -> Framing.fixedLength(1 + input.below(100));
			case 3 -> header(Framing.lengthField(1 + input.below(4)), input)
				.order(input.flip() ? ByteOrder.LITTLE_ENDIAN : ByteOrder.BIG_ENDIAN);
			case 4 -> header(Framing.decimalLength(1 + input.below(9)), input);
			case 5 -> Framing.enclosed(input.bytes(1 + input.below(3)), input.bytes(1 + input.below(3)));
			case 6 ->
				Framing.enclosed(input.bytes(1 + input.below(2)), input.bytes(1 + input.below(2)), escapes(input));
			// Health Level 7, Modbus TCP
			case 7 -> input.flip() ? Framing.enclosed(new byte[] { 0x0B }, new byte[] { 0x1C, '\r' })
					: Framing.lengthField(2).offset(4);
			case 8 -> Framing.resp();
			default -> Framing.raw();
		};
	}

	private static LengthFieldFraming header(LengthFieldFraming framing, FuzzInput input) {
		return framing.offset(input.below(10)).adjustment((byte) input.below(256)).inclusive(input.flip());
	}

	private static Map<Byte, byte[]> escapes(FuzzInput input) {
		byte escape = (byte) input.below(256);
		Map<Byte, byte[]> escapes = new HashMap<>();
		escapes.put(escape, new byte[] { escape, (byte) input.below(256) });
		for (int i = input.below(4); i > 0; i--) {
			escapes.put((byte) input.below(256), new byte[] { escape, (byte) input.below(256) });
		}
		return escapes;
	}

}
