package org.leaderfollowers.spring.cluster;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;

/**
 * What a member knows of a node.
 *
 * @param id the identifier of the node, printable ASCII
 * @param description what the node says of itself
 * @param endNanos when the lease expires, by {@link System#nanoTime()}
 */
record HazelcastLease(String id, byte[] description, long endNanos) {

	/** The name of a node, the address of its member, and what tells restarts apart. */
	private static final Pattern ID = Pattern.compile("[!-~]*@[!-~]*/[!-~]*");

	private static final long MAX_MILLIS = TimeUnit.DAYS.toMillis(365);

	static HazelcastLease of(String id, byte[] description, Duration duration) {
		return new HazelcastLease(id, description, System.nanoTime() + duration.toNanos());
	}

	boolean isExpired() {
		return this.endNanos - System.nanoTime() <= 0;
	}

	/** Clocks of members differ, so only the rest of the lease is sent. */
	byte[] encode() {
		byte[] name = this.id.getBytes(StandardCharsets.ISO_8859_1);
		return ByteBuffer.allocate(Long.BYTES + Integer.BYTES + name.length + this.description.length)
			.putLong(TimeUnit.NANOSECONDS.toMillis(this.endNanos - System.nanoTime()))
			.putInt(name.length)
			.put(name)
			.put(this.description)
			.array();
	}

	/**
	 * Reads what another node has encoded.
	 * @throws IllegalArgumentException if it is damaged
	 */
	static HazelcastLease decode(byte[] bytes) {
		ByteBuffer buffer = ByteBuffer.wrap(bytes);
		if (buffer.remaining() < Long.BYTES + Integer.BYTES) {
			throw damaged(bytes);
		}
		long restMillis = buffer.getLong();
		int length = buffer.getInt();
		if (restMillis > MAX_MILLIS || restMillis < -MAX_MILLIS || length < 0 || length > buffer.remaining()) {
			throw damaged(bytes);
		}
		byte[] name = new byte[length];
		buffer.get(name);
		String id = new String(name, StandardCharsets.ISO_8859_1);
		if (!ID.matcher(id).matches()) {
			throw damaged(bytes);
		}
		byte[] description = new byte[buffer.remaining()];
		buffer.get(description);
		return of(id, description, Duration.ofMillis(restMillis));
	}

	private static IllegalArgumentException damaged(byte[] bytes) {
		return new IllegalArgumentException("The lease of another node is damaged: %d bytes".formatted(bytes.length));
	}

}
