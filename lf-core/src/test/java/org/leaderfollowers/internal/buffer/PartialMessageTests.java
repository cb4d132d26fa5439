package org.leaderfollowers.internal.buffer;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;

import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests which bytes are kept of messages that arrive in parts, and how much memory is
 * reserved for them.
 */
class PartialMessageTests {

	private static final int LIMIT = 100_000;

	private final MemoryBudget budget = new MemoryBudget(1_000_000);

	private final SpareBuffers buffers = new SpareBuffers(this.budget);

	private PartialMessage keep(@Nullable PartialMessage previous, String text) {
		PartialMessage kept = PartialMessage.keep(previous, ByteBuffer.wrap(text.getBytes(StandardCharsets.US_ASCII)),
				0, 0, LIMIT, this.buffers);
		assertThat(kept).isNotNull();
		return kept;
	}

	private static String text(PartialMessage kept) {
		ByteBuffer copy = ByteBuffer.allocate(kept.size());
		kept.restore(copy);
		return new String(copy.array(), StandardCharsets.US_ASCII);
	}

	@Test
	void memoryThatIsTooSmallIsReleasedWhenItIsReplaced() {
		PartialMessage kept = keep(keep(null, "a".repeat(100)), "b".repeat(10_000));
		assertThat(this.budget.used()).isEqualTo(kept.capacity());
		ByteBuffer appendable = kept.appendable(20_000, LIMIT, this.buffers);
		assertThat(appendable).isNotNull();
		assertThat(appendable.remaining()).isGreaterThanOrEqualTo(20_000);
		assertThat(this.budget.used()).isEqualTo(kept.capacity());
		assertThat(text(kept)).isEqualTo("b".repeat(10_000));
		kept.discard(this.buffers);
		assertThat(this.budget.used()).isZero();
	}

	/** Otherwise two messages would share it. */
	@Test
	void memoryIsReturnedOnce() {
		PartialMessage kept = keep(null, "a".repeat(100));
		kept.discard(this.buffers);
		kept.discard(this.buffers);
		PartialMessage one = keep(null, "b".repeat(100));
		PartialMessage other = keep(null, "c".repeat(100));
		assertThat(text(one)).isEqualTo("b".repeat(100));
		assertThat(text(other)).isEqualTo("c".repeat(100));
		one.discard(this.budget);
		one.discard(this.budget);
		assertThat(this.budget.used()).isEqualTo(other.capacity());
	}

	/** It may be larger than what was asked for. */
	@Test
	void wholeSpareBufferIsReserved() {
		PartialMessage first = keep(null, "a".repeat(2000));
		int capacity = first.capacity();
		first.discard(this.buffers);
		PartialMessage second = keep(null, "b".repeat(1000));
		assertThat(second.capacity()).isEqualTo(capacity);
		assertThat(this.budget.used()).isEqualTo(capacity);
		second.discard(this.buffers);
		assertThat(this.budget.used()).isZero();
	}

	@Test
	void nextInputReplacesTheRestOfAnEarlierOne() {
		PartialMessage kept = keep(null, "handled rest");
		kept.content();
		kept.keepFrom(8, 12, 0, 0);
		assertThat(text(kept)).isEqualTo("rest");
		assertThat(text(keep(kept, "next"))).isEqualTo("next");
	}

	@Test
	void bytesAreAppendedToTheRestOfAnEarlierInput() {
		PartialMessage kept = keep(null, "handled rest");
		kept.content();
		kept.keepFrom(8, 12, 0, 0);
		ByteBuffer appendable = kept.appendable(4, LIMIT, this.buffers);
		assertThat(appendable).isNotNull();
		appendable.put("more".getBytes(StandardCharsets.US_ASCII)).flip();
		kept.keepAll(7);
		assertThat(text(kept)).isEqualTo("restmore");
		assertThat(kept.scanned()).isEqualTo(7);
	}

	@Test
	void restHasItsOwnTimeAndIsScannedFromItsBeginning() {
		PartialMessage kept = keep(null, "handled rest");
		kept.content();
		kept.keepFrom(8, 12, 3, 7);
		assertThat(kept.scanned()).isEqualTo(3);
		assertThat(kept.startedNanos()).isEqualTo(7);
		kept.restart(9);
		assertThat(kept.startedNanos()).isEqualTo(9);
	}

	@Test
	void largestMessageHasRoomAfterTheRestOfAnEarlierInput() {
		PartialMessage kept = keep(null, "handled rest");
		kept.content();
		kept.keepFrom(8, 12, 0, 0);
		ByteBuffer appendable = kept.appendable(LIMIT - 4, LIMIT, this.buffers);
		assertThat(appendable).isNotNull();
		assertThat(appendable.remaining()).isEqualTo(LIMIT - 4);
		assertThat(text(kept)).isEqualTo("rest");
	}

	@Test
	void memoryWithRoomEnoughDoesNotGrow() {
		PartialMessage kept = keep(null, "rest");
		int room = kept.capacity() - 4;
		assertThat(kept.appendable(room, LIMIT, this.buffers)).isNotNull();
		assertThat(kept.capacity()).isEqualTo(room + 4);
		assertThat(kept.appendable(room + 1, LIMIT, this.buffers)).isNotNull();
		assertThat(kept.capacity()).isEqualTo(2 * (room + 4));
		assertThat(text(kept)).isEqualTo("rest");
	}

	/** A message that arrives in many parts would need more and more memory. */
	@Test
	void memoryThatIsLeftAfterOneReadIsThereForTheNextOne() {
		PartialMessage kept = keep(null, "rest");
		ByteBuffer first = kept.appendable(10_000, LIMIT, this.buffers);
		assertThat(first).isNotNull();
		int capacity = kept.capacity();
		first.put("more".getBytes(StandardCharsets.US_ASCII)).flip();
		kept.keepAll(0);
		ByteBuffer second = kept.appendable(capacity - 8, LIMIT, this.buffers);
		assertThat(second).isNotNull();
		assertThat(second.remaining()).isEqualTo(capacity - 8);
		assertThat(kept.capacity()).isEqualTo(capacity);
	}

	@Test
	void spareBufferIsHandedOutOnce() {
		ByteBuffer first = this.buffers.take(100);
		assertThat(first).isNotNull();
		this.buffers.giveBack(first);
		assertThat(this.budget.used()).isZero();
		ByteBuffer second = this.buffers.take(100);
		ByteBuffer third = this.buffers.take(100);
		assertThat(second).isSameAs(first);
		assertThat(third).isNotNull().isNotSameAs(second);
		assertThat(this.budget.used()).isEqualTo(200);
	}

	private ByteBuffer take(int capacity) {
		ByteBuffer taken = this.buffers.take(capacity);
		assertThat(taken).isNotNull();
		return taken;
	}

	@Test
	void twoSpareBuffersAreKeptUntilTheyAreDiscarded() {
		ByteBuffer first = take(100);
		ByteBuffer second = take(100);
		this.buffers.giveBack(first.putInt(1).flip());
		this.buffers.giveBack(second);
		assertThat(take(100)).isSameAs(first);
		assertThat(take(100)).isSameAs(second);
		assertThat(first.remaining()).isEqualTo(100);
		this.buffers.giveBack(first);
		this.buffers.discard();
		assertThat(take(100)).isNotSameAs(first);
	}

	@Test
	void spareBufferIsAtMostTwiceAsLargeAsNeeded() {
		ByteBuffer spare = take(100);
		this.buffers.giveBack(spare);
		assertThat(take(49)).isNotSameAs(spare);
		assertThat(take(50)).isSameAs(spare);
	}

	/** The budget does not account for spare buffers. */
	@Test
	void largeBuffersAreNotKept() {
		ByteBuffer large = take(200_000);
		this.buffers.giveBack(large);
		assertThat(take(200_000)).isNotSameAs(large);
	}

}
