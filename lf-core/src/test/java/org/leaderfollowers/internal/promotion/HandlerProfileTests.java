package org.leaderfollowers.internal.promotion;

import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests what is learned about handlers.
 */
class HandlerProfileTests {

	private static final long MICROS = 1000;

	private static final long MILLIS = 1000 * MICROS;

	private final HandlerProfile profile = new HandlerProfile();

	private void record(int times, long nanos) {
		for (int i = 0; i < times; i++) {
			this.profile.record(nanos);
		}
	}

	@Test
	void aHandlerIsTakenForOneThatBlocksUntilMoreIsKnown() {
		assertThat(this.profile.blocks()).isTrue();
		record(20, 3 * MICROS);
		assertThat(this.profile.blocks()).isTrue();
		record(400, 3 * MICROS);
		assertThat(this.profile.blocks()).isFalse();
		assertThat(this.profile.isWorthAProcessor()).isFalse();
		assertThat(this.profile.meanNanos()).isBetween(2 * MICROS, 3 * MICROS);
	}

	@Test
	void oneLongDispatchAmongManyIsNoHabit() {
		record(1000, 3 * MICROS);
		record(1, 200 * MILLIS);
		assertThat(this.profile.blocks()).isFalse();
	}

	@Test
	void aHandlerThatBlocksNowAndThenBlocks() {
		record(1000, 3 * MICROS);
		for (int i = 0; i < 20; i++) {
			record(19, 3 * MICROS);
			record(1, 2 * MILLIS);
		}
		assertThat(this.profile.blocks()).isTrue();
	}

	@Test
	void aHandlerThatAlwaysBlocksIsKnownAfterFewDispatches() {
		record(1000, 3 * MICROS);
		record(3, MILLIS);
		assertThat(this.profile.blocks()).isTrue();
		record(1000, 3 * MICROS);
		assertThat(this.profile.blocks()).isFalse();
	}

	@Test
	void aHandlerThatNeverWasShortBlocks() {
		record(1000, 10 * MILLIS);
		assertThat(this.profile.blocks()).isTrue();
	}

	@Test
	void beingKeptFromAProcessorInProportionToItsUseIsNotBlocking() {
		// 80 microseconds each, and every three milliseconds of them a slice for others.
		for (int i = 0; i < 100; i++) {
			record(37, 80 * MICROS);
			record(1, 3 * MILLIS);
		}
		assertThat(this.profile.blocks()).isFalse();
		assertThat(this.profile.isWorthAProcessor()).isTrue();
	}

	@Test
	void whatIsLongerThanAWakeUpIsWorthAProcessor() {
		record(1000, 25 * MICROS);
		assertThat(this.profile.isWorthAProcessor()).isTrue();
		assertThat(this.profile.blocks()).isFalse();
	}

	/** Otherwise a handler at the limit would be taken for both in turn. */
	@Test
	void aHandlerBlocksUntilItIsMuchShorter() {
		// It is taken for one that blocks for 36 microseconds.
		record(100, 0);
		assertThat(this.profile.blocks()).as("about 16 microseconds").isTrue();
		record(150, 0);
		assertThat(this.profile.blocks()).as("about 5 microseconds").isFalse();
	}

}
