package org.leaderfollowers.internal.promotion;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.leaderfollowers.internal.promotion.Followers.Signal;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

/**
 * Followers without concurrency: whose turn it is, and who is where.
 */
class FollowersTests {

	private static final int SLOTS = 12;

	private static final int STEPS = 50_000;

	private enum Order {

		LIFO, FIFO, PRIORITY;

		Followers followers() {
			return switch (this) {
				case LIFO -> Followers.lifo();
				case FIFO -> Followers.fifo();
				case PRIORITY -> Followers.byPriority();
			};
		}

	}

	@ParameterizedTest
	@EnumSource
	void everyStepDoesWhatAListWouldDo(Order order) {
		Random random = new Random(42);
		Followers followers = order.followers();
		Expected expected = new Expected(order);
		List<Follower> all = new ArrayList<>();
		for (int slot = 1; slot <= SLOTS; slot++) {
			all.add(new Follower(slot, thread(1 + random.nextInt(10))));
		}
		boolean nobodyUnderWay = true;
		for (int step = 0; step < STEPS; step++) {
			if (random.nextInt(3) == 0) {
				Signal signal = followers.signal();
				Follower woken = nobodyUnderWay ? expected.take() : null;
				assertThat(signal).isEqualTo(!nobodyUnderWay ? Signal.ALREADY_UNDER_WAY
						: (woken != null) ? Signal.WOKEN : Signal.NOBODY_WAITS);
				if (signal == Signal.NOBODY_WAITS) {
					assertThat(followers.isUnderWay()).as("the caller may start a thread").isTrue();
					followers.arrive();
				}
				else {
					nobodyUnderWay = false;
				}
				if (woken != null) {
					assertThat(woken.isSignalled()).isTrue();
				}
			}
			else {
				Follower follower = all.get(random.nextInt(SLOTS));
				if (follower.isSignalled()) {
					assertThat(arrives(followers, follower, random.nextBoolean())).isTrue();
					assertThat(follower.isSignalled()).isFalse();
					nobodyUnderWay = true;
				}
				else if (follower.isWaiting()) {
					assertThat(follower.handOver(thread(1))).isFalse();
					assertThat(followers.leave(follower)).isTrue();
					expected.leave(follower);
				}
				else {
					if (random.nextBoolean()) {
						Thread successor = thread(1 + random.nextInt(10));
						assertThat(follower.handOver(successor)).isTrue();
						assertThat(follower.thread()).isSameAs(successor);
					}
					followers.enqueue(follower);
					expected.enqueue(follower);
				}
			}
			assertThat(all).filteredOn(Follower::isWaiting).containsExactlyInAnyOrderElementsOf(expected.waiting());
			assertThat(followers.waiting()).isEqualTo(expected.places.size());
			assertThat(followers.isEmpty()).isEqualTo(expected.places.isEmpty());
			assertThat(followers.isUnderWay()).isNotEqualTo(nobodyUnderWay);
		}
	}

	private static boolean arrives(Followers followers, Follower follower, boolean awaits) {
		// What it was signalled for is its to find, even if its time is up.
		return awaits ? followers.await(follower, System.nanoTime(), () -> true) : !followers.leave(follower);
	}

	@ParameterizedTest
	@EnumSource
	void theFirstFollowerMayHaveAnySlot(Order order) {
		Followers followers = order.followers();
		Follower last = new Follower(Follower.MAX_SLOT, thread(5));
		followers.enqueue(last);
		assertThat(followers.signal()).isEqualTo(Signal.WOKEN);
		assertThat(last.isSignalled()).isTrue();
	}

	@ParameterizedTest
	@EnumSource
	void aSlotMayGetAnotherFollower(Order order) {
		Followers followers = order.followers();
		Follower first = new Follower(1, thread(5));
		followers.enqueue(first);
		followers.signal();
		assertThat(followers.leave(first)).isFalse();
		Follower second = new Follower(1, thread(5));
		followers.enqueue(second);
		assertThat(followers.signal()).isEqualTo(Signal.WOKEN);
		assertThat(second.isSignalled()).isTrue();
	}

	/** Slot 0 means that nobody waits. */
	@ParameterizedTest
	@ValueSource(ints = { 0, Follower.MAX_SLOT + 1 })
	void aSlotMustFitIntoTheWord(int slot) {
		assertThatIllegalArgumentException().isThrownBy(() -> new Follower(slot, Thread.currentThread()));
	}

	@ParameterizedTest
	@EnumSource
	void theSignalledHasArrivedWhetherItFailsOrNot(Order order) {
		Followers followers = order.followers();
		Follower follower = new Follower(1, thread(5));
		followers.abandon(follower);
		followers.enqueue(follower);
		followers.abandon(follower);
		assertThat(followers.signal()).isEqualTo(Signal.NOBODY_WAITS);
		followers.arrive();
		followers.enqueue(follower);
		assertThat(followers.signal()).isEqualTo(Signal.WOKEN);
		followers.abandon(follower);
		assertThat(followers.signal()).isEqualTo(Signal.NOBODY_WAITS);
	}

	@Test
	void thePriorityIsTheOneAtTheBeginningOfTheWait() {
		Followers followers = Followers.byPriority();
		Thread first = thread(5);
		Follower one = new Follower(1, first);
		Follower other = new Follower(2, thread(6));
		followers.enqueue(one);
		followers.enqueue(other);
		first.setPriority(7);
		assertThat(followers.signal()).isEqualTo(Signal.WOKEN);
		assertThat(other.isSignalled()).isTrue();
		assertThat(followers.leave(other)).isFalse();
		assertThat(followers.leave(one)).isTrue();
		followers.enqueue(one);
		followers.enqueue(other);
		assertThat(followers.signal()).isEqualTo(Signal.WOKEN);
		assertThat(one.isSignalled()).isTrue();
	}

	@Test
	void theStackIsAsDeepAsItsWordCanTell() {
		Followers followers = Followers.lifo();
		for (int slot = 1; slot <= 32_767; slot++) {
			followers.enqueue(new Follower(slot, Thread.currentThread()));
		}
		assertThat(followers.waiting()).isEqualTo(32_767);
		for (int slot = 32_767; slot >= 1; slot--) {
			assertThat(followers.signal()).isEqualTo(Signal.WOKEN);
			followers.arrive();
			assertThat(followers.waiting()).isEqualTo(slot - 1);
		}
		assertThat(followers.signal()).isEqualTo(Signal.NOBODY_WAITS);
		assertThat(followers.waiting()).isZero();
		assertThatIllegalArgumentException().isThrownBy(() -> new Follower(32_768, Thread.currentThread()))
			.withMessage("'slot' must be from 1 to 32767, but is 32768");
	}

	/**
	 * An interrupt comes just after the wait has looked for one, as often as it does.
	 */
	@ParameterizedTest
	@ValueSource(ints = { 1, 2, 3, 4 })
	void anInterruptThatCancelsTheWaitIsNotLost(int look) {
		Followers followers = Followers.fifo();
		Follower follower = new Follower(1, Thread.currentThread(), new Spurious());
		followers.enqueue(follower);
		AtomicInteger looks = new AtomicInteger();
		boolean signalled = followers.await(follower, Long.MAX_VALUE, () -> {
			boolean interrupted = Thread.currentThread().isInterrupted();
			if (looks.incrementAndGet() == look) {
				Thread.currentThread().interrupt();
			}
			// Long after the interrupt: it was lost.
			return interrupted || looks.get() > look + 10;
		});
		assertThat(signalled).isFalse();
		assertThat(Thread.interrupted()).isTrue();
		assertThat(followers.leave(follower)).isTrue();
	}

	@Test
	void anInterruptThatDoesNotCancelTheWaitIsCleared() {
		Followers followers = Followers.lifo();
		Follower follower = new Follower(1, Thread.currentThread(), new Spurious());
		followers.enqueue(follower);
		AtomicInteger looks = new AtomicInteger();
		Thread.currentThread().interrupt();
		assertThat(followers.await(follower, Long.MAX_VALUE, () -> looks.incrementAndGet() > 2)).isFalse();
		assertThat(Thread.interrupted()).isFalse();
		assertThat(followers.leave(follower)).isTrue();
	}

	/** Time stands still, and every wait ends at once. */
	private static final class Spurious extends Clock {

		@Override
		public long nanoTime() {
			return 0;
		}

		@Override
		public void parkNanos(Object blocker, long nanos) {
		}

	}

	/** One that is never started: to wake it does nothing. */
	private static Thread thread(int priority) {
		Thread thread = new Thread(() -> {
		});
		thread.setPriority(priority);
		return thread;
	}

	/** What the followers ought to do, in the simplest way. */
	private static final class Expected {

		private final Order order;

		/** From the oldest to the newest. */
		private final List<Follower> places = new ArrayList<>();

		/** Those that are on the stack but left. */
		private final Set<Follower> away = new HashSet<>();

		private Expected(Order order) {
			this.order = order;
		}

		void enqueue(Follower follower) {
			if (!this.away.remove(follower)) {
				this.places.add(follower);
			}
		}

		void leave(Follower follower) {
			if (this.order == Order.LIFO) {
				this.away.add(follower);
			}
			else {
				this.places.remove(follower);
			}
		}

		Follower take() {
			while (!this.places.isEmpty()) {
				Follower next = next();
				this.places.remove(next);
				if (!this.away.remove(next)) {
					return next;
				}
			}
			return null;
		}

		private Follower next() {
			Follower newest = this.places.get(this.places.size() - 1);
			return switch (this.order) {
				case LIFO -> newest;
				case FIFO -> this.places.get(0);
				case PRIORITY -> this.places.stream()
					.max(Comparator.<Follower>comparingInt((follower) -> follower.thread().getPriority())
						.thenComparingInt(this.places::indexOf))
					.orElseThrow();
			};
		}

		List<Follower> waiting() {
			return this.places.stream().filter((follower) -> !this.away.contains(follower)).toList();
		}

	}

}
