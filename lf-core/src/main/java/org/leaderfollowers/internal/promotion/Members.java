package org.leaderfollowers.internal.promotion;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReferenceArray;

import org.jspecify.annotations.Nullable;

/**
 * The members of a pool, by number. The table has room for as many members as have
 * participated at the same time, not for the maximum, because the maximum can be changed
 * while the pool runs.
 * <p>
 * If a thread reads a number from a word of the protocol, it finds the member here: the
 * array with room for it was published before the number.
 *
 * @param <M> the type of the members
 */
public final class Members<M extends Member> {

	private static final int INITIAL_LENGTH = 16;

	/**
	 * Index 0 is unused. Under the monitor, it is written and replaced by longer copies.
	 */
	private volatile AtomicReferenceArray<@Nullable M> byNumber = new AtomicReferenceArray<>(INITIAL_LENGTH);

	/** The number of members that participate. */
	private final AtomicInteger count = new AtomicInteger();

	private final Clock clock;

	/**
	 * Creates a table without members.
	 * @param clock the clock of the followers
	 */
	public Members(Clock clock) {
		this.clock = clock;
	}

	/**
	 * Creates the member of a thread.
	 *
	 * @param <M> the type of the member
	 */
	@FunctionalInterface
	public interface Factory<M extends Member> {

		/**
		 * Creates a member.
		 * @param number the number of the member
		 * @param follower its place among the followers
		 * @return a new member
		 */
		M create(int number, Follower follower);

	}

	/**
	 * Gives a thread a number and a place among the followers.
	 * @param thread the thread
	 * @param factory creates the member
	 * @return the new member
	 * @throws IllegalStateException if there is no number left
	 */
	public synchronized M enroll(Thread thread, Factory<M> factory) {
		for (int number = 1; number <= Follower.MAX_SLOT; number++) {
			if (number == this.byNumber.length()) {
				grow();
			}
			M previous = this.byNumber.get(number);
			if (previous == null || (previous.hasWithdrawn() && previous.follower.handOver(thread))) {
				// The place of a thread that has ended may still be on the stack of
				// followers.
				Follower follower = (previous != null) ? previous.follower : new Follower(number, thread, this.clock);
				M member = factory.create(number, follower);
				this.byNumber.set(number, member);
				this.count.incrementAndGet();
				return member;
			}
		}
		throw new IllegalStateException("No number is left for the thread '%s'".formatted(thread.getName()));
	}

	private void grow() {
		AtomicReferenceArray<@Nullable M> current = this.byNumber;
		AtomicReferenceArray<@Nullable M> longer = new AtomicReferenceArray<>(2 * current.length());
		for (int number = 1; number < current.length(); number++) {
			longer.setPlain(number, current.getPlain(number));
		}
		this.byNumber = longer;
	}

	/**
	 * Ends the participation of a member. Called by the thread of the member.
	 * @param member the member
	 * @return how many members still participate
	 */
	public int withdraw(M member) {
		member.withdraw();
		return this.count.decrementAndGet();
	}

	/**
	 * How many members participate. Any thread.
	 * @return a number of threads
	 */
	public int count() {
		return this.count.get();
	}

	/**
	 * The latest member that had a number, even if it has withdrawn. Any thread.
	 * @param number the number, or 0 for none
	 * @return {@code null} if there has never been one
	 */
	public @Nullable M get(int number) {
		AtomicReferenceArray<@Nullable M> current = this.byNumber;
		return (number < current.length()) ? current.get(number) : null;
	}

	/**
	 * The latest member that had each number, even if it has withdrawn. Any thread.
	 * @return the members by number
	 */
	public List<M> all() {
		AtomicReferenceArray<@Nullable M> current = this.byNumber;
		List<M> all = new ArrayList<>();
		for (int number = 1; number < current.length(); number++) {
			M member = current.get(number);
			if (member != null) {
				all.add(member);
			}
		}
		return all;
	}

	/**
	 * The members that participate. Any thread.
	 * @return the members by number
	 */
	public List<M> living() {
		List<M> living = all();
		living.removeIf(Member::hasWithdrawn);
		return living;
	}

}
