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
 * While another thread used up a heap of 64 MB again and again, 74 of 5,500 accepted
 * sockets were lost without the check, and 2 of 23,500 with it (JDK 17, serial
 * collector). With G1, hardly any were lost either way. The check takes 0.4 microseconds.
 */
final class HeapReserve {

	/** Several times as much as the objects of a plain connection. */
	static final int BYTES = 8 * 1024;

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
		room = new byte[BYTES];
		room = null;
	}

}
