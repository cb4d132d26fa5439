package org.leaderfollowers.internal.promotion;

import java.util.concurrent.atomic.AtomicInteger;

/**
 * Which handle sets of a pool are in use, and to which one a handle is dealt. The first
 * ones are. Any thread.
 * <p>
 * Handles are numbered, and a number is dealt by its fraction of the golden ratio: any
 * run of numbers is spread evenly over any number of sets (Knuth, The Art of Computer
 * Programming, volume 3, 6.4), and a handle knows its set without a table.
 */
public final class Deal {

	/** 2^16 divided by the golden ratio, made odd. */
	private static final int GOLDEN = 40503;

	private static final int FRACTION_BITS = 16;

	private static final int FRACTION = (1 << FRACTION_BITS) - 1;

	private final AtomicInteger numbers = new AtomicInteger();

	private volatile int inUse;

	/**
	 * Creates a deal.
	 * @param inUse how many sets are in use at first
	 */
	public Deal(int inUse) {
		this.inUse = inUse;
	}

	/**
	 * A number for a new handle.
	 * @return the next one, around after 65,536 of them
	 */
	public short nextNumber() {
		return (short) this.numbers.getAndIncrement();
	}

	/**
	 * The set that a handle belongs to now.
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
	 * Whether handles are dealt to a set.
	 * @param index the index of the set
	 * @return {@code false} if it has only those that were dealt to it before
	 */
	public boolean isInUse(int index) {
		return index < this.inUse;
	}

	/**
	 * Changes how many sets are in use. Handles go to their new sets with their next
	 * event.
	 * @param sets from 1
	 */
	public void use(int sets) {
		this.inUse = sets;
	}

}
