package org.leaderfollowers.spring.cluster;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.concurrent.TimeUnit;

/**
 * What a member knows of a node.
 *
 * @param id the identifier of the node, printable ASCII
 * @param description what the node says of itself
 * @param endNanos when the lease expires, by {@link System#nanoTime()}
 */
record HazelcastLease(String id, byte[] description, long endNanos) {

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

	static HazelcastLease decode(byte[] bytes) {
		ByteBuffer buffer = ByteBuffer.wrap(bytes);
		Duration rest = Duration.ofMillis(buffer.getLong());
		byte[] name = new byte[buffer.getInt()];
		buffer.get(name);
		byte[] description = new byte[buffer.remaining()];
		buffer.get(description);
		return of(new String(name, StandardCharsets.ISO_8859_1), description, rest);
	}

}
