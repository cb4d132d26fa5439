package org.leaderfollowers.internal.promotion;

import java.util.concurrent.atomic.AtomicInteger;

import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.leaderfollowers.interleavings.Exploration;
import org.leaderfollowers.interleavings.Interleaving;
import org.leaderfollowers.interleavings.Mutation;
import org.leaderfollowers.interleavings.Scenario;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Explores the interleavings of followers in each order, without the rest of the
 * protocol: no vacancy remains while a follower waits.
 */
@Tag("interleavings")
class FollowersInterleavingTests {

	private enum Order {

		LIFO, FIFO, PRIORITY

	}

	private enum Rule {

		A_FOLLOWER_THAT_LEAVES_WHEN_IT_IS_SIGNALLED_HAS_ARRIVED(Order.LIFO,
				Mutation.withoutCall(LifoFollowers.class, "leave", "arrive")),

		A_SIGNALLER_THAT_POPPED_A_THREAD_THAT_HAD_LEFT_GOES_ON(Order.LIFO,
				Mutation.resultIgnored(LifoFollowers.class, "signal", "popped", 1)),

		THE_WORD_OF_THE_STACK_HAS_A_VERSION(Order.LIFO, Mutation.withoutSum(LifoFollowers.class, "nextVersion")),

		A_FOLLOWER_WAITS_AGAIN_IN_ITS_PLACE(Order.LIFO,
				Mutation.callReturns(LifoFollowers.class, "enqueue", "waitAgainInPlace", 0)),

		A_FOLLOWER_IS_MARKED_AS_WAITING_BEFORE_IT_IS_PUSHED(Order.LIFO,
				Mutation.movedBehind(LifoFollowers.class, "enqueue", "beginWaiting", "compareAndSet")),

		A_QUEUED_FOLLOWER_THAT_LEAVES_WHEN_IT_IS_SIGNALLED_HAS_ARRIVED(Order.FIFO,
				Mutation.withoutCall(OrderedFollowers.class, "leave", "arrive")),

		A_FOLLOWER_THAT_LEAVES_IS_TAKEN_OUT_OF_THE_QUEUE(Order.FIFO,
				Mutation.withoutCall(OrderedFollowers.class, "leave", "unlink")),

		A_FOLLOWER_THAT_LEAVES_LOOKS_AT_ITS_PERMIT_UNDER_THE_LOCK(Order.FIFO,
				Mutation.calledBefore(OrderedFollowers.class, "leave", "isWaiting", "read lock")),

		A_SIGNALLER_LOOKS_AT_THE_MARK_UNDER_THE_LOCK(Order.FIFO,
				Mutation.fieldReads(OrderedFollowers.class, "signal", "underWay#2", 0)),

		THE_MARK_IS_SET_BEFORE_THE_PERMIT(Order.PRIORITY,
				Mutation.movedBehind(OrderedFollowers.class, "signal", "underWay", "signal"));

		private final Order order;

		private final Mutation mutation;

		Rule(Order order, Mutation mutation) {
			this.order = order;
			this.mutation = mutation;
		}

	}

	@ParameterizedTest
	@EnumSource
	void noVacancyIsLeftWhileAFollowerWaits(Order order) {
		Exploration.of(Vacancies.class, order.name(), 2, 1, 1).assertSound();
		Exploration.of(Vacancies.class, order.name(), 2, 2, 2).preemptions(1).assertSound();
	}

	@ParameterizedTest
	@EnumSource
	@Tag("stress")
	void noVacancyIsLeftWhileAFollowerWaitsWithMorePreemptions(Order order) {
		Exploration.of(Vacancies.class, order.name(), 2, 1, 1).preemptions(3).spuriousWakeUps().assertSound();
		Exploration.of(Vacancies.class, order.name(), 3, 2, 2).preemptions(1).assertSound();
	}

	/** Tests the explorer itself. */
	@ParameterizedTest
	@EnumSource
	void aStateThatIsNotExploredAgainHidesNothing(Order order) {
		Exploration every = Exploration.of(Vacancies.class, order.name(), 2, 1, 1).withoutPruning();
		Exploration pruned = Exploration.of(Vacancies.class, order.name(), 2, 1, 1);
		assertThat(pruned.rests()).containsExactlyInAnyOrderElementsOf(every.rests());
	}

	@ParameterizedTest
	@EnumSource
	void noRuleCanBeDropped(Rule rule) {
		Exploration.of(Vacancies.class, rule.order.name(), 3, 2, 2).with(rule.mutation).assertViolated();
	}

	/** Followers that each take one of several vacancies, and threads that leave them. */
	static final class Vacancies implements Scenario {

		private final Followers followers;

		private final int threads;

		private final int leaders;

		private final int rounds;

		private final AtomicInteger vacancies = new AtomicInteger();

		private int waiting;

		/** At most: a follower may arrive before its signaller has counted. */
		private int underWay;

		Vacancies(String order, int threads, int leaders, int rounds) {
			this.threads = threads;
			this.leaders = leaders;
			this.rounds = rounds;
			this.followers = switch (Order.valueOf(order)) {
				case LIFO -> Followers.lifo();
				case FIFO -> Followers.fifo();
				case PRIORITY -> Followers.byPriority();
			};
		}

		@Override
		public void begin() {
			for (int slot = 1; slot <= this.threads; slot++) {
				int number = slot;
				Interleaving.start("follower " + slot, () -> follow(new Follower(number, Thread.currentThread())));
			}
			for (int i = 0; i < this.leaders; i++) {
				Interleaving.start("leader", () -> {
					this.vacancies.incrementAndGet();
					signal();
					this.vacancies.incrementAndGet();
					signal();
				});
			}
		}

		private void follow(Follower follower) {
			for (int taken = 0; taken < this.rounds;) {
				this.followers.enqueue(follower);
				if (take()) {
					taken++;
					if (!this.followers.leave(follower)) {
						this.underWay--;
						signalIfVacant();
					}
					continue;
				}
				this.waiting++;
				this.followers.await(follower, Long.MAX_VALUE / 4, () -> false);
				this.waiting--;
				this.underWay--;
				if (take()) {
					taken++;
					signalIfVacant();
				}
			}
		}

		private boolean take() {
			int count;
			do {
				count = this.vacancies.get();
				if (count == 0) {
					return false;
				}
			}
			while (!this.vacancies.compareAndSet(count, count - 1));
			return true;
		}

		private void signalIfVacant() {
			if (this.vacancies.get() > 0) {
				signal();
			}
		}

		private void signal() {
			for (;;) {
				Followers.Signal signal = this.followers.signal();
				if (signal == Followers.Signal.ALREADY_UNDER_WAY) {
					return;
				}
				if (++this.underWay > 1) {
					Interleaving.fail("two are under way");
				}
				if (signal == Followers.Signal.WOKEN) {
					return;
				}
				this.underWay--;
				this.followers.arrive();
				if (this.followers.isEmpty() || this.vacancies.get() == 0) {
					return;
				}
			}
		}

		@Override
		public @Nullable String violationAtRest() {
			if (this.vacancies.get() > 0 && this.waiting > 0) {
				return "%d wait, though there are vacancies".formatted(this.waiting);
			}
			return (this.followers.signal() != Followers.Signal.ALREADY_UNDER_WAY) ? null
					: "nobody is under way, but the mark says so";
		}

	}

}
