package org.leaderfollowers.internal.promotion;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReferenceArray;

import org.jspecify.annotations.Nullable;

/**
 * The members of a pool, by number. There is room for as many as have taken part at the
 * same time, not for as many as might: the limit can be changed while the pool runs.
 * <p>
 * A thread that has learned a number from a word of the protocol finds the member here:
 * the array that has room for it was published before the number was.
 *
 * @param <M> the type of the members
 */
public final class Members<M extends Member> {

	private static final int INITIAL_LENGTH = 16;

	/** Index 0 is nobody. Replaced by a longer copy, and written, under the monitor. */
	private volatile AtomicReferenceArray<@Nullable M> byNumber = new AtomicReferenceArray<>(INITIAL_LENGTH);

	/** Those that take part now. */
	private final AtomicInteger count = new AtomicInteger();

	private final Clock clock;

	/**
	 * Creates a table without members.
	 * @param clock the clock of their followers
	 */
	public Members(Clock clock) {
		this.clock = clock;
	}

	/**
	 * Makes the member of a thread.
	 *
	 * @param <M> the type of the member
	 */
	@FunctionalInterface
	public interface Factory<M extends Member> {

		/**
		 * Makes a member.
		 * @param number the number of the member
		 * @param follower its place among the followers
		 * @return a new member
		 */
		M create(int number, Follower follower);

	}

	/**
	 * Gives a thread a number and a place among the followers.
	 * @param thread the thread
	 * @param factory makes its member
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
				// The place of an ended thread can be on the stack of followers still.
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
	 * Ends the part of a member. Its own thread.
	 * @param member the member
	 * @return how many take part still
	 */
	public int withdraw(M member) {
		member.withdraw();
		return this.count.decrementAndGet();
	}

	/**
	 * How many threads take part. Any thread.
	 * @return a number of threads
	 */
	public int count() {
		return this.count.get();
	}

	/**
	 * The latest member that was given a number, even if it has withdrawn. Any thread.
	 * @param number the number, or 0 for nobody
	 * @return {@code null} if there has never been one
	 */
	public @Nullable M get(int number) {
		AtomicReferenceArray<@Nullable M> current = this.byNumber;
		return (number < current.length()) ? current.get(number) : null;
	}

	/**
	 * The latest member of each number, even if it has withdrawn. Any thread.
	 * @return by number
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
	 * The members that take part. Any thread.
	 * @return by number
	 */
	public List<M> living() {
		List<M> living = all();
		living.removeIf(Member::hasWithdrawn);
		return living;
	}

}
