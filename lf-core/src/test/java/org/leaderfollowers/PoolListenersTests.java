package org.leaderfollowers;

import java.util.ArrayList;
import java.util.List;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.leaderfollowers.internal.promotion.HandOffKind;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests the listeners of a pool.
 */
class PoolListenersTests {

	private final List<String> told = new ArrayList<>();

	private final PoolListener listener = new PoolListener() {

		@Override
		public void handedOff(PromotionKind kind, long vacancyNanos) {
			PoolListenersTests.this.told.add(kind + " " + vacancyNanos);
		}

		@Override
		public void starved(long nanos) {
			PoolListenersTests.this.told.add("starved " + nanos);
		}

	};

	@Test
	void eachKindOfHandOffHasItsName() {
		PoolListeners listeners = new PoolListeners(List.of(this.listener));
		for (HandOffKind kind : HandOffKind.values()) {
			listeners.handedOff(kind, 5);
			assertThat(this.told).last().isEqualTo(kind.name() + " 5");
		}
	}

	@ParameterizedTest
	@ValueSource(booleans = { false, true })
	void aListenerThatThrowsLeavesTheOthersAndTheCallerAlone(boolean withError) {
		PoolListeners listeners = new PoolListeners(List.of(new PoolListener() {

			@Override
			public void handedOff(PromotionKind kind, long vacancyNanos) {
				starved(vacancyNanos);
			}

			@Override
			public void starved(long nanos) {
				if (withError) {
					throw new StackOverflowError("made for the test");
				}
				throw new IllegalStateException("made for the test");
			}

		}));
		listeners.add(this.listener);
		listeners.handedOff(HandOffKind.values()[0], 5);
		listeners.tell((each) -> each.starved(7));
		assertThat(this.told).containsExactly(HandOffKind.values()[0] + " 5", "starved 7");
	}

}
