package org.leaderfollowers.internal.buffer;

import java.nio.ByteBuffer;
import java.util.ArrayDeque;

import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

/** Tests for a shared {@link MemoryBudget}. */
class SharedMemoryBudgetTests {

	private final MemoryBudget shared = new MemoryBudget(100);

	private final MemoryBudget one = new MemoryBudget(this.shared);

	private final MemoryBudget other = new MemoryBudget(this.shared);

	@Test
	void allOfThemTogetherStayWithinTheLimit() {
		assertThat(this.one.reserve(60)).isTrue();
		assertThat(this.other.reserve(60)).isFalse();
		assertThat(this.other.reserve(40)).isTrue();
		assertThat(this.one.reserve(1)).isFalse();
		assertThat(this.one.used()).isEqualTo(60);
		assertThat(this.other.used()).isEqualTo(40);
		assertThat(this.one.usedTogether()).isEqualTo(100);
		assertThat(this.other.limit()).isEqualTo(100);
	}

	@Test
	void oneGivesBackForTheOthers() {
		assertThat(this.one.reserve(100)).isTrue();
		this.one.release(100);
		assertThat(this.other.reserve(100)).isTrue();
		assertThat(this.one.used()).isZero();
	}

	@Test
	void memoryIsNotChargedTwiceWhenOnePassesItOn() {
		assertThat(this.one.reserve(60)).isTrue();
		assertThat(this.one.transfer(60, this.other)).isTrue();
		assertThat(this.one.used()).isZero();
		assertThat(this.other.used()).isEqualTo(60);
		assertThat(this.one.usedTogether()).isEqualTo(60);
		assertThat(this.one.reserve(40)).isTrue();
	}

	@Test
	void aLimitOfItsOwnIsCheckedWhenMemoryIsPassedOn() {
		MemoryBudget small = new MemoryBudget(50);
		assertThat(this.one.reserve(60)).isTrue();
		assertThat(this.one.transfer(60, small)).isFalse();
		assertThat(this.one.transfer(50, small)).isTrue();
		assertThat(this.one.usedTogether()).isEqualTo(10);
		assertThat(small.used()).isEqualTo(50);
	}

	@Test
	void budgetsWithLimitsOfTheirOwnShareNone() {
		MemoryBudget small = new MemoryBudget(50);
		assertThat(this.shared.reserve(60)).isTrue();
		assertThat(this.shared.transfer(60, small)).isFalse();
		assertThat(small.used()).isZero();
		assertThat(this.shared.used()).isEqualTo(60);
	}

	@Test
	void memoryThatCannotBeAllocatedIsNotCharged() {
		MemoryBudget large = new MemoryBudget(Long.MAX_VALUE);
		// No virtual machine has arrays of this length.
		assertThatExceptionOfType(OutOfMemoryError.class).isThrownBy(() -> large.allocate(Integer.MAX_VALUE));
		assertThat(large.used()).isZero();
	}

	@Test
	void memoryThatCannotBeAddedIsReleased() {
		MemoryBudget budget = new MemoryBudget(100);
		ArrayDeque<ByteBuffer> buffers = new ArrayDeque<>() {

			@Override
			public void addLast(ByteBuffer buffer) {
				throw new OutOfMemoryError("made for the test");
			}

		};
		assertThatExceptionOfType(OutOfMemoryError.class).isThrownBy(() -> budget.allocateLast(10, buffers));
		assertThat(budget.used()).isZero();
	}

	/** Otherwise it would be released again by whoever empties the deque. */
	@Test
	void memoryThatIsReleasedIsNotAmongTheOther() {
		MemoryBudget budget = new MemoryBudget(100);
		ArrayDeque<ByteBuffer> buffers = new ArrayDeque<>() {

			@Override
			public void addLast(ByteBuffer buffer) {
				super.addLast(buffer);
				throw new OutOfMemoryError("made for the test");
			}

		};
		buffers.addFirst(budget.allocate(20));
		assertThatExceptionOfType(OutOfMemoryError.class).isThrownBy(() -> budget.allocateLast(10, buffers));
		assertThat(budget.used()).isEqualTo(20);
		assertThat(buffers).extracting(ByteBuffer::capacity).containsExactly(20);
	}

	@Test
	void memoryIsNotChargedIfTheHoldersCannotBeFound() {
		this.shared.add(() -> {
			throw new OutOfMemoryError("made for the test");
		});
		assertThat(this.one.reserve(70)).isTrue();
		assertThatExceptionOfType(OutOfMemoryError.class).isThrownBy(() -> this.other.reserve(10));
		assertThat(this.other.used()).isZero();
		assertThat(this.one.usedTogether()).isEqualTo(70);
	}

}
