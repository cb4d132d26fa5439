package org.leaderfollowers.internal.buffer;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Supplier;
import java.util.stream.Stream;

import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;

/** Tests which connections pay when memory is short. */
class MemorySheddingTests {

	private static final int KB = 1024;

	private static final int LIMIT = 800 * KB;

	/** Longer ago than the patience. */
	private static final long LONG = TimeUnit.SECONDS.toNanos(2);

	private final MemoryBudget budget = new MemoryBudget(LIMIT);

	private final List<Holder> holders = new ArrayList<>();

	private final List<String> shed = new ArrayList<>();

	private final Supplier<Stream<Holder>> source = this.holders::stream;

	private final class Holder implements MemoryHolder {

		private final String name;

		private final long bytes;

		private long sinceNanos;

		private boolean closing;

		Holder(String name, long bytes, long ageNanos) {
			this.name = name;
			this.bytes = bytes;
			this.sinceNanos = System.nanoTime() - ageNanos;
			MemorySheddingTests.this.holders.add(this);
			assertThat(MemorySheddingTests.this.budget.reserve(bytes)).isTrue();
		}

		@Override
		public long heldBytes() {
			return this.bytes;
		}

		@Override
		public long heldSinceNanos() {
			return this.sinceNanos;
		}

		@Override
		public boolean isClosing() {
			return this.closing;
		}

		@Override
		public void shed() {
			this.closing = true;
			MemorySheddingTests.this.shed.add(this.name);
		}

	}

	/** Asks after the pause between two rounds. */
	private boolean isScarce() {
		awaitPause();
		this.budget.add(this.source);
		return this.budget.isScarce();
	}

	private static void awaitPause() {
		long due = System.nanoTime() + 2 * MemoryShedding.INTERVAL_NANOS;
		while (System.nanoTime() - due < 0) {
			LockSupport.parkNanos(due - System.nanoTime());
		}
	}

	@Test
	void nobodyPaysWhileThreeQuartersSuffice() {
		new Holder("large", 590 * KB, LONG);
		new Holder("small", 10 * KB, LONG);
		assertThat(isScarce()).isFalse();
		assertThat(this.shed).isEmpty();
	}

	@Test
	void onlyThoseWithoutProgressPayWhileMemoryIsScarce() {
		new Holder("fresh", 400 * KB, 0);
		new Holder("stuck", 250 * KB, LONG);
		assertThat(isScarce()).isTrue();
		assertThat(this.shed).containsExactly("stuck");
	}

	@Test
	void everybodyMayPayWhenMemoryHasBeenScarceForLong() {
		MemoryShedding shedding = new MemoryShedding(LIMIT);
		shedding.add(this.source);
		Holder fresh = new Holder("fresh", 650 * KB, 0);
		long begin = System.nanoTime() + MemoryShedding.PATIENCE_NANOS;
		for (long after = 0; after < MemoryShedding.MOST_SCARCE_NANOS; after += MemoryShedding.PATIENCE_NANOS / 2) {
			fresh.sinceNanos = begin + after;
			shedding.relieve(650 * KB, begin + after);
			assertThat(this.shed).isEmpty();
		}
		shedding.relieve(650 * KB, begin + MemoryShedding.MOST_SCARCE_NANOS);
		assertThat(this.shed).containsExactly("fresh");
	}

	@Test
	void aPauseBetweenTwoScarcitiesIsNoScarcity() {
		MemoryShedding shedding = new MemoryShedding(LIMIT);
		shedding.add(this.source);
		Holder fresh = new Holder("fresh", 650 * KB, 0);
		long begin = System.nanoTime() + MemoryShedding.PATIENCE_NANOS;
		for (int i = 0; i < 3; i++) {
			fresh.sinceNanos = begin + i * MemoryShedding.MOST_SCARCE_NANOS;
			shedding.relieve(650 * KB, fresh.sinceNanos);
		}
		assertThat(this.shed).isEmpty();
	}

	@Test
	void everybodyMayPayWhenMemoryIsShort() {
		new Holder("fresh", 750 * KB, 0);
		new Holder("small", 3 * KB, LONG);
		assertThat(isScarce()).isTrue();
		assertThat(this.shed).containsExactly("fresh");
	}

	@Test
	void theLargestPayFirstAndThenTheOldest() {
		new Holder("10 KB", 10 * KB, 2 * LONG);
		new Holder("70 KB", 70 * KB, LONG);
		new Holder("90 KB", 90 * KB, 2 * LONG);
		new Holder("300 KB", 300 * KB, LONG);
		new Holder("150 KB, older", 150 * KB, 2 * LONG);
		assertThat(isScarce()).as("620 KB").isTrue();
		assertThat(this.shed).as("220 KB too many").containsExactly("300 KB");
		assertThat(isScarce()).as("the memory is not released yet").isTrue();
		assertThat(this.shed).containsExactly("300 KB");
	}

	@Test
	void ofTheSameSizeTheOldestPays() {
		new Holder("old", 210 * KB, LONG);
		new Holder("oldest", 200 * KB, 2 * LONG);
		new Holder("new", 220 * KB, LONG - LONG / 4);
		assertThat(isScarce()).isTrue();
		assertThat(this.shed).as("230 KB too many").containsExactly("oldest", "old");
	}

	@Test
	void aShareOfMemoryIsLeftToEverybody() {
		for (int i = 0; i < 190; i++) {
			new Holder("share", MemoryShedding.SHARE, LONG);
		}
		assertThat(isScarce()).isTrue();
		assertThat(this.shed).isEmpty();
	}

	@Test
	void theLastEighthIsKeptForShares() {
		new Holder("large", 690 * KB, 0);
		assertThat(this.budget.reserve(MemoryShedding.SHARE + 1)).as("698 KB are less than 7/8").isTrue();
		assertThat(this.budget.reserve(4 * KB)).isTrue();
		assertThat(this.budget.reserve(MemoryShedding.SHARE + 1)).isFalse();
		assertThat(this.budget.reserve(MemoryShedding.SHARE)).isTrue();
		assertThat(this.budget.used()).isLessThan(this.budget.limit());
	}

	@Test
	void aSingleHolderMayHaveAll() {
		assertThat(this.budget.reserve(this.budget.limit())).isTrue();
		assertThat(this.budget.reserve(1)).isFalse();
	}

	@Test
	void connectionsOfEachPoolThatSharesTheLimitPay() {
		MemoryBudget one = new MemoryBudget(this.budget);
		new Holder("stuck", 650 * KB, LONG);
		one.add(this.source);
		awaitPause();
		assertThat(one.reserve(10 * KB)).isTrue();
		assertThat(this.shed).containsExactly("stuck");
	}

	@Test
	void memoryIsScarceForEachPoolThatSharesTheLimit() {
		MemoryBudget one = new MemoryBudget(this.budget);
		new Holder("fresh", 650 * KB, 0);
		assertThat(one.used()).isZero();
		assertThat(one.isScarce()).isTrue();
	}

	@Test
	void connectionsPayForTheReservationThatMakesMemoryScarce() {
		new Holder("stuck", 590 * KB, LONG);
		this.budget.add(this.source);
		awaitPause();
		assertThat(this.budget.reserve(20 * KB)).isTrue();
		assertThat(this.shed).containsExactly("stuck");
	}

	@Test
	void connectionsThatWereRemovedAreForgotten() {
		new Holder("stuck", 650 * KB, LONG);
		this.budget.add(this.source);
		this.budget.remove(this.source);
		awaitPause();
		assertThat(this.budget.isScarce()).isTrue();
		assertThat(this.shed).isEmpty();
	}

	@Test
	void oneRoundFollowsAnotherOnlyAfterAPause() {
		new Holder("first", 650 * KB, LONG);
		assertThat(isScarce()).isTrue();
		this.holders.clear();
		Holder next = new Holder("next", 50 * KB, LONG);
		assertThat(this.budget.isScarce()).isTrue();
		// If this thread was so slow that the pause is over, the next one has paid.
		assertThat(this.shed).startsWith("first");
		assertThat(isScarce()).isTrue();
		assertThat(next.closing).isTrue();
	}

	/** A round visits all connections. */
	@Test
	void roundsAreRareHoweverOftenMemoryIsNeeded() {
		new Holder("fresh", 650 * KB, 0);
		AtomicInteger rounds = new AtomicInteger();
		this.budget.add(() -> {
			rounds.incrementAndGet();
			return this.holders.stream();
		});
		long began = System.nanoTime();
		for (int i = 0; i < 1000; i++) {
			assertThat(this.budget.isScarce()).isTrue();
		}
		long intervals = (System.nanoTime() - began) / MemoryShedding.INTERVAL_NANOS;
		assertThat((long) rounds.get()).isLessThanOrEqualTo(intervals + 1);
	}

}
