package org.leaderfollowers.internal.demultiplexing;

import java.util.concurrent.TimeUnit;

import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;

/** When a selector that returns without events counts as broken. */
class PrematureReturnsTests {

	private static final int MOST = 512;

	private static final long BEGAN = Long.MAX_VALUE - 1000;

	private final PrematureReturns returns = new PrematureReturns();

	private void add(int count) {
		for (int i = 0; i < count; i++) {
			assertThat(this.returns.add(BEGAN + i, BEGAN + i + 1)).isFalse();
		}
	}

	private static long after(long millis) {
		return BEGAN + TimeUnit.MILLISECONDS.toNanos(millis);
	}

	@Test
	void aSelectorThatReturnsOftenForLongIsBroken() {
		add(MOST);
		assertThat(this.returns.add(after(499), after(500) - 1)).as("not for long").isFalse();
		assertThat(this.returns.add(after(499), after(500))).isTrue();
		assertThat(this.returns.count()).isEqualTo(MOST + 2);
	}

	@Test
	void aSelectorThatReturnsRarelyIsNotBroken() {
		add(MOST - 1);
		assertThat(this.returns.add(after(500), after(5000))).isFalse();
		assertThat(this.returns.add(after(500), after(5000))).isTrue();
	}

	@Test
	void afterAWaitEverythingBeginsAgain() {
		add(MOST);
		this.returns.clear();
		assertThat(this.returns.count()).isZero();
		for (int i = 0; i < MOST; i++) {
			assertThat(this.returns.add(after(1000), after(1600))).isFalse();
		}
		assertThat(this.returns.add(after(1000), after(1500) - 1)).as("since the first of them").isFalse();
		assertThat(this.returns.add(after(1000), after(1500))).isTrue();
	}

	@Test
	void eachMillisecondMakesUpForOneReturn() {
		add(10);
		assertThat(this.returns.makeUp(TimeUnit.MILLISECONDS.toNanos(1) - 1)).isFalse();
		assertThat(this.returns.count()).isEqualTo(10);
		assertThat(this.returns.makeUp(TimeUnit.MILLISECONDS.toNanos(9))).isFalse();
		assertThat(this.returns.count()).isOne();
		assertThat(this.returns.makeUp(TimeUnit.MILLISECONDS.toNanos(5))).isTrue();
		assertThat(this.returns.count()).isZero();
	}

	/** A selector that was broken for a day needs no day to be trusted again. */
	@Test
	void moreReturnsThanMakeASelectorBrokenNeedNotBeMadeUpFor() {
		add(MOST);
		for (int i = 0; i < 5000; i++) {
			assertThat(this.returns.add(BEGAN, after(1000))).isTrue();
		}
		assertThat(this.returns.makeUp(TimeUnit.MILLISECONDS.toNanos(MOST))).isFalse();
		assertThat(this.returns.count()).isOne();
	}

}
