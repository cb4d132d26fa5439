package org.leaderfollowers.internal.buffer;

import java.nio.ByteBuffer;
import java.util.concurrent.atomic.AtomicReferenceArray;

/**
 * Buffers that are needed for the length of one call, by any thread: what a connection
 * holds between two calls is its own. So as many exist as threads are at it at the same
 * time, however many connections there are. Any thread.
 */
public final class RecordBuffers {

	/**
	 * Two records of TLS with all their overhead.
	 */
	public static final int SIZE = 2 * (16 * 1024 + 512);

	/** A power of two. */
	private static final int SLOTS = 32;

	private static final int PROBES = 4;

	private final AtomicReferenceArray<ByteBuffer> slots = new AtomicReferenceArray<>(SLOTS);

	/**
	 * Hands out a buffer.
	 * @return a cleared heap buffer of {@link #SIZE} bytes, since TLS of the JDK works on
	 * arrays
	 */
	public ByteBuffer take() {
		int slot = slot();
		for (int i = 0; i < PROBES; i++) {
			int index = (slot + i) & (SLOTS - 1);
			if (this.slots.getPlain(index) != null) {
				ByteBuffer buffer = this.slots.getAndSet(index, null);
				if (buffer != null) {
					return buffer.clear();
				}
			}
		}
		return ByteBuffer.allocate(SIZE);
	}

	/**
	 * Takes a buffer back, or leaves it to the garbage collector if there are enough.
	 * @param buffer was handed out by this
	 */
	public void giveBack(ByteBuffer buffer) {
		int slot = slot();
		for (int i = 0; i < PROBES; i++) {
			int index = (slot + i) & (SLOTS - 1);
			if (this.slots.getPlain(index) == null && this.slots.compareAndSet(index, null, buffer)) {
				return;
			}
		}
	}

	/** Neighbouring threads do not share the first slot that they try. */
	private static int slot() {
		return (int) (Thread.currentThread().getId() * PROBES);
	}

}
