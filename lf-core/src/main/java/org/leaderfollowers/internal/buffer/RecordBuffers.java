package org.leaderfollowers.internal.buffer;

import java.nio.ByteBuffer;
import java.util.concurrent.atomic.AtomicReferenceArray;

/**
 * Buffers that a thread needs only during one call; bytes that a connection keeps between
 * two calls are stored elsewhere. The number of buffers therefore depends on the threads
 * that use them at the same time, not on the number of connections. Any thread.
 * <p>
 * Only local variables of one call refer to a taken buffer, and a {@code finally} block
 * of this call gives it back once, so no buffer is stored twice and handed to two
 * threads.
 */
public final class RecordBuffers {

	/** The size of two TLS records with their maximum overhead. */
	public static final int SIZE = 2 * (16 * 1024 + 512);

	/** A power of two. */
	private static final int SLOTS = 32;

	private static final int PROBES = 4;

	private final AtomicReferenceArray<ByteBuffer> slots = new AtomicReferenceArray<>(SLOTS);

	/**
	 * Hands out a buffer.
	 * @return a cleared heap buffer of {@link #SIZE} bytes, because TLS of the JDK works
	 * on arrays
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
	 * Takes a buffer back. If enough are stored, the garbage collector gets it.
	 * @param buffer a buffer that {@link #take} has returned
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

	/** The slot that a thread tries first. It differs for neighbouring threads. */
	private static int slot() {
		return (int) (Thread.currentThread().getId() * PROBES);
	}

}
