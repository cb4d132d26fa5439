package org.leaderfollowers.internal.buffer;

import java.util.Deque;

/**
 * Adds to a deque or fails, also if memory is short. An {@link java.util.ArrayDeque}
 * grows only after it has added an element. If that fails, it is full but takes itself
 * for empty, and still has the element. Removing the element puts this right.
 */
public final class GrowingDeque {

	private GrowingDeque() {
	}

	/**
	 * Adds an element at the end.
	 * @param <E> the type of the elements
	 * @param deque the deque
	 * @param element an element that is not in the deque
	 * @throws OutOfMemoryError if the deque cannot grow. It is as before then
	 */
	public static <E> void addLast(Deque<E> deque, E element) {
		try {
			deque.addLast(element);
		}
		catch (OutOfMemoryError ex) {
			if (deque.peekLast() == element) {
				deque.pollLast();
			}
			throw ex;
		}
	}

}
