package org.leaderfollowers.spring.test.assertion;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;

import org.assertj.core.api.AbstractAssert;
import org.leaderfollowers.Framing;
import org.leaderfollowers.spring.test.client.FrameReader;

/**
 * Assertions for a {@link Framing}. A network can split and join bytes in any way. All
 * assertions therefore try the input in one piece, in two pieces with every possible
 * split, and byte by byte. Because a server reads many connections with one framing, the
 * input never begins at index 0 of its buffer.
 */
public final class FramingAssert extends AbstractAssert<FramingAssert, Framing> {

	private static final int SENTINELS = 3;

	private int maxMessageSize = 64 * 1024;

	FramingAssert(Framing actual) {
		super(actual, FramingAssert.class);
	}

	/**
	 * Sets the maximum message size of the following assertions.
	 * @param maxMessageSize bytes of payload; 64 KiB unless this is called
	 * @return this assertion
	 */
	public FramingAssert withMaxMessageSize(int maxMessageSize) {
		this.maxMessageSize = maxMessageSize;
		return this;
	}

	/**
	 * Verifies that messages are read as they were written, and that no frame is longer
	 * than the framing declares.
	 * @param payloads the payloads, as text in UTF-8
	 * @return this assertion
	 */
	public FramingAssert roundTrips(String... payloads) {
		return roundTrips(bytes(payloads));
	}

	/**
	 * Verifies that messages are read as they were written, and that no frame is longer
	 * than the framing declares.
	 * @param payloads the payloads
	 * @return this assertion
	 */
	public FramingAssert roundTrips(byte[]... payloads) {
		isNotNull();
		byte[] stream = {};
		for (byte[] payload : payloads) {
			byte[] frame = encode(payload);
			int length = stream.length;
			stream = Arrays.copyOf(stream, length + frame.length);
			System.arraycopy(frame, 0, stream, length, frame.length);
		}
		return reads(stream, payloads);
	}

	/**
	 * Verifies how a payload is written.
	 * @param payload the payload, as text in UTF-8
	 * @param frame the expected bytes
	 * @return this assertion
	 */
	public FramingAssert writes(String payload, byte... frame) {
		isNotNull();
		byte[] written = encode(payload.getBytes(StandardCharsets.UTF_8));
		if (!Arrays.equals(written, frame)) {
			throw failure("%nExpecting framing '%s' to write the payload \"%s\" as%n  %s%nbut it wrote%n  %s",
					this.actual, payload, hex(frame), hex(written));
		}
		return this;
	}

	/**
	 * Verifies which messages an input consists of, and that no bytes remain.
	 * @param input the received bytes
	 * @param payloads the payloads of the messages, as text in UTF-8
	 * @return this assertion
	 */
	public FramingAssert reads(byte[] input, String... payloads) {
		return reads(input, bytes(payloads));
	}

	/**
	 * Verifies which messages an input consists of, and that no bytes remain.
	 * @param input the received bytes
	 * @param payloads the payloads of the messages
	 * @return this assertion
	 */
	public FramingAssert reads(byte[] input, byte[]... payloads) {
		isNotNull();
		for (int[] pieces : split(input.length)) {
			FrameReader reader = new FrameReader(this.actual, this.maxMessageSize);
			List<byte[]> messages = read(reader, input, pieces);
			if (!Arrays.deepEquals(messages.toArray(byte[][]::new), payloads)) {
				throw failure("%nExpecting framing '%s' to read from %s%n  %s%nthe messages%n  %s%nbut it read%n  %s",
						this.actual, describe(pieces), hex(input), hex(Arrays.asList(payloads)), hex(messages));
			}
			if (reader.available() > 0) {
				throw failure("%nExpecting framing '%s' to read all of %s%n  %s%nbut it left %d bytes", this.actual,
						describe(pieces), hex(input), reader.available());
			}
		}
		return this;
	}

	/**
	 * Verifies that an input can become a message but is incomplete, whatever its end is.
	 * @param input the received bytes
	 * @return this assertion
	 */
	public FramingAssert waitsFor(byte... input) {
		isNotNull();
		for (int[] pieces : split(input.length)) {
			List<byte[]> messages = read(new FrameReader(this.actual, this.maxMessageSize), input, pieces);
			if (!messages.isEmpty()) {
				throw failure("%nExpecting framing '%s' to wait for more after %s%n  %s%nbut it read%n  %s",
						this.actual, describe(pieces), hex(input), hex(messages));
			}
		}
		return this;
	}

	/**
	 * Verifies that an input is rejected, because it can never become a message or the
	 * message is too large.
	 * @param input the received bytes
	 * @return this assertion
	 */
	public FramingAssert rejects(byte... input) {
		isNotNull();
		for (int[] pieces : split(input.length)) {
			List<byte[]> messages;
			try {
				messages = read(new FrameReader(this.actual, this.maxMessageSize), input, pieces);
			}
			catch (Unread ex) {
				continue;
			}
			throw failure("%nExpecting framing '%s' to reject %s%n  %s%nbut it read%n  %s", this.actual,
					describe(pieces), hex(input), hex(messages));
		}
		return this;
	}

	private byte[] encode(byte[] payload) {
		int bound = this.actual.maxFrameLength(payload.length);
		ByteBuffer buffer = ByteBuffer.allocate(bound + 2 * SENTINELS).position(SENTINELS);
		ByteBuffer source = ByteBuffer.wrap(payload);
		try {
			this.actual.encode(source, buffer);
		}
		catch (RuntimeException ex) {
			throw new AssertionError("Expecting framing '%s' to write a payload of %d bytes%n  %s%nbut it failed: %s"
				.formatted(this.actual, payload.length, hex(payload), ex), ex);
		}
		int length = buffer.position() - SENTINELS;
		if (length > bound || source.hasRemaining()) {
			throw failure(
					"%nExpecting framing '%s' to write a payload of %d bytes entirely, in a frame of at most %d, but it wrote %d and left %d bytes of the payload",
					this.actual, payload.length, bound, length, source.remaining());
		}
		return Arrays.copyOfRange(buffer.array(), SENTINELS, SENTINELS + length);
	}

	private List<byte[]> read(FrameReader reader, byte[] input, int[] pieces) {
		List<byte[]> messages = new ArrayList<>();
		int start = 0;
		for (int end : pieces) {
			reader.append(input, start, end - start);
			start = end;
			try {
				for (byte[] message = reader.next(); message != null; message = reader.next()) {
					messages.add(message);
				}
			}
			catch (RuntimeException ex) {
				throw new Unread("Framing '%s' refused %s%n  %s%nafter %d messages, having seen %d bytes: %s"
					.formatted(this.actual, describe(pieces), hex(input), messages.size(), end, ex), ex);
			}
		}
		return messages;
	}

	/**
	 * The ends of the pieces: one piece, two pieces with every possible split, single
	 * bytes.
	 */
	private static List<int[]> split(int length) {
		List<int[]> splits = new ArrayList<>();
		splits.add(new int[] { length });
		for (int i = 1; i < length; i++) {
			splits.add(new int[] { i, length });
		}
		int[] single = new int[length];
		Arrays.setAll(single, (i) -> i + 1);
		splits.add(single);
		return splits;
	}

	private static String describe(int[] pieces) {
		return switch (pieces.length) {
			case 0, 1 -> "the input in one piece";
			case 2 -> "the input in two pieces, split after %d bytes".formatted(pieces[0]);
			default -> "the input byte by byte";
		};
	}

	private static byte[][] bytes(String... payloads) {
		return Arrays.stream(payloads)
			.map((payload) -> payload.getBytes(StandardCharsets.UTF_8))
			.toArray(byte[][]::new);
	}

	private static String hex(byte[] bytes) {
		return (bytes.length == 0) ? "nothing" : HexFormat.ofDelimiter(" ").formatHex(bytes);
	}

	private static String hex(List<byte[]> messages) {
		return messages.stream()
			.map((message) -> "[" + ((message.length == 0) ? "" : hex(message)) + "]")
			.toList()
			.toString();
	}

	/** The framing has rejected its input. */
	private static final class Unread extends AssertionError {

		private static final long serialVersionUID = 1L;

		Unread(String message, Throwable cause) {
			super(message, cause);
		}

	}

}
