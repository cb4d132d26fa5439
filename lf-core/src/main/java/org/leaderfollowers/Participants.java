package org.leaderfollowers;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicReferenceArray;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.internal.promotion.Follower;

/**
 * The participants of a pool, by number. There is room for as many as have taken part at
 * the same time, not for as many as might: the limit can be changed while the pool runs.
 * <p>
 * Whoever has learned a number from a word of the protocol finds the participant here:
 * the array that has room for it was published before the number was.
 */
final class Participants {

	private static final int INITIAL_LENGTH = 16;

	/** Index 0 is nobody. Replaced by a longer copy, and written, under the monitor. */
	private volatile AtomicReferenceArray<@Nullable Participant> byNumber = new AtomicReferenceArray<>(INITIAL_LENGTH);

	/**
	 * Gives a thread a number and a place among the followers.
	 * @throws IllegalStateException if there is no number left
	 */
	synchronized Participant enroll(LeaderFollowersPool pool, Thread thread, boolean owned) {
		for (int number = 1; number <= Follower.MAX_SLOT; number++) {
			if (number == this.byNumber.length()) {
				grow();
			}
			Participant previous = this.byNumber.get(number);
			if (previous == null || (previous.hasWithdrawn() && previous.follower.handOver(thread))) {
				// The place of an ended thread can be on the stack of followers still.
				Follower follower = (previous != null) ? previous.follower : new Follower(number, thread, pool.clock);
				Participant participant = new Participant(pool, number, thread, owned, follower);
				this.byNumber.set(number, participant);
				return participant;
			}
		}
		throw new IllegalStateException("Pool '%s' has no number left for a thread".formatted(pool.name()));
	}

	private void grow() {
		AtomicReferenceArray<@Nullable Participant> current = this.byNumber;
		AtomicReferenceArray<@Nullable Participant> longer = new AtomicReferenceArray<>(2 * current.length());
		for (int number = 1; number < current.length(); number++) {
			longer.setPlain(number, current.getPlain(number));
		}
		this.byNumber = longer;
	}

	/**
	 * The latest participant that was given a number, even if it has withdrawn. Any
	 * thread.
	 */
	@Nullable Participant get(int number) {
		AtomicReferenceArray<@Nullable Participant> current = this.byNumber;
		return (number < current.length()) ? current.get(number) : null;
	}

	/**
	 * The latest participant of each number, even if it has withdrawn. Any thread.
	 */
	List<Participant> all() {
		AtomicReferenceArray<@Nullable Participant> current = this.byNumber;
		List<Participant> all = new ArrayList<>();
		for (int number = 1; number < current.length(); number++) {
			Participant participant = current.get(number);
			if (participant != null) {
				all.add(participant);
			}
		}
		return all;
	}

	/** Those that take part, by number. Any thread. */
	List<Participant> living() {
		List<Participant> living = all();
		living.removeIf(Participant::hasWithdrawn);
		return living;
	}

}
