package org.leaderfollowers.internal.buffer;

/**
 * A connection, as far as it holds memory of a {@link MemoryBudget}. Any thread calls
 * these methods, while the connection works.
 */
public interface MemoryHolder {

	/**
	 * How much it holds now.
	 * @return bytes, approximately
	 */
	long heldBytes();

	/**
	 * Since when it has held memory without progress.
	 * @return {@link System#nanoTime()}, approximately
	 */
	long heldSinceNanos();

	/**
	 * Whether it closes already, so that it will release the memory.
	 * @return whether it need not be shed
	 */
	boolean isClosing();

	/** Closes the connection, because others need its memory. Must not block. */
	void shed();

}
