package org.leaderfollowers.internal.promotion;

import java.util.concurrent.atomic.AtomicInteger;

/**
 * Determines which handle sets of a pool are in use, and assigns handles to them. The
 * sets in use are always the first ones. Any thread.
 * <p>
 * Handles are numbered, and a number is assigned by its multiple of the golden ratio:
 * every run of numbers is spread evenly over any number of sets (Knuth, The Art of
 * Computer Programming, volume 3, 6.4), and no table is needed to find the set of a
 * handle.
 */
public final class Deal {

	/** 2^16 divided by the golden ratio, made odd. */
	private static final int GOLDEN = 40503;

	private static final int FRACTION_BITS = 16;

	private static final int FRACTION = (1 << FRACTION_BITS) - 1;

	private final AtomicInteger numbers = new AtomicInteger();

	private volatile int inUse;

	/**
	 * Creates the assignment.
	 * @param inUse how many sets are in use at the beginning
	 */
	public Deal(int inUse) {
		this.inUse = inUse;
	}

	/**
	 * Returns a number for a new handle.
	 * @return the next number; after 65,536 numbers, they repeat
	 */
	public short nextNumber() {
		return (short) this.numbers.getAndIncrement();
	}

	/**
	 * The set that a handle currently belongs to.
	 * @param number the number of the handle
	 * @return the index of the set, from 0
	 */
	public int indexOf(short number) {
		return ((number * GOLDEN) & FRACTION) * this.inUse >>> FRACTION_BITS;
	}

	/**
	 * How many sets are in use.
	 * @return from 1
	 */
	public int inUse() {
		return this.inUse;
	}

	/**
	 * Whether handles are assigned to a set.
	 * @param index the index of the set
	 * @return {@code false} if the set has only handles that were assigned to it before
	 */
	public boolean isInUse(int index) {
		return index < this.inUse;
	}

	/**
	 * Changes the number of sets in use. Handles move to their new sets with their next
	 * event.
	 * @param sets from 1
	 */
	public void use(int sets) {
		this.inUse = sets;
	}

}
