package org.leaderfollowers.benchmarks.attack;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Optional;

/**
 * What an {@link Attacker} does on each of its connections.
 */
public enum Attack {

	/** Begins a TLS handshake with a long greeting that never ends. */
	HANDSHAKES("unfinished handshakes"),

	/** Sends 60 KB of a message at once, and then a byte at a time, without an end. */
	ENDLESS_MESSAGES("messages without end"),

	/** Sends large requests for as long as the server takes them, and reads nothing. */
	SLOW_READERS("slow readers"),

	/** Closes or resets a connection as soon as it is open, and opens the next one. */
	CONNECTION_FLOOD("connection flood");

	private static final int UNFINISHED = 60 * 1024;

	private static final int LARGE_REQUEST = 32 * 1024;

	/** The JDK rejects a greeting that is longer than 32 KiB as soon as it begins. */
	private static final int GREETING_LENGTH = 32_700;

	/** The payload of the records of the greeting: 31.8 KB together. */
	private static final int[] RECORDS = { 16_000, 15_800 };

	private final String title;

	Attack(String title) {
		this.title = title;
	}

	/**
	 * A name for tables.
	 * @return lower case
	 */
	public String title() {
		return this.title;
	}

	/** The bytes that a connection sends first. */
	byte[] opening(Wire wire) {
		return switch (this) {
			case HANDSHAKES -> greeting();
			case ENDLESS_MESSAGES -> wire.unfinished(UNFINISHED);
			case SLOW_READERS -> wire.frame("s".repeat(LARGE_REQUEST).getBytes(StandardCharsets.US_ASCII));
			case CONNECTION_FLOOD -> new byte[0];
		};
	}

	/** The bytes that a connection sends whenever it can; nothing if it only waits. */
	Optional<byte[]> continuation(Wire wire) {
		return switch (this) {
			case HANDSHAKES, CONNECTION_FLOOD -> Optional.empty();
			case ENDLESS_MESSAGES -> Optional.of(new byte[] { 'u' });
			case SLOW_READERS -> Optional.of(opening(wire));
		};
	}

	private static byte[] greeting() {
		ByteBuffer bytes = ByteBuffer.allocate(Arrays.stream(RECORDS).map((length) -> 5 + length).sum());
		for (int length : RECORDS) {
			int start = bytes.position();
			bytes.put((byte) 22).putShort((short) 0x0301).putShort((short) length);
			if (start == 0) {
				bytes.putInt((1 << 24) | GREETING_LENGTH).putShort((short) 0x0303);
			}
			bytes.position(start + 5 + length);
		}
		return bytes.array();
	}

}
