package org.leaderfollowers.interleavings;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.leaderfollowers.interleavings.HandOffRingProtocol.Without;
import org.leaderfollowers.interleavings.InterleavingExplorer.Exploration;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Every interleaving of leaders who note their hand-offs and somebody who reads them:
 * nothing torn, nothing invented, and what is kept is found.
 */
class HandOffRingProtocolTests {

	private static final Logger logger = LoggerFactory.getLogger(HandOffRingProtocolTests.class);

	private static final int MAX_STATES = 3_000_000;

	/** Twice round the ring, and once more. */
	private static final int HAND_OFFS = 5;

	@Test
	void whatIsReadIsWholeAndTrueAndNothingKeptIsMissed() {
		Exploration exploration = InterleavingExplorer.explore(new HandOffRingProtocol(HAND_OFFS, null), MAX_STATES);
		logger.debug("{}", exploration);
		assertThat(exploration.violation()).as(exploration::toString).isNull();
		assertThat(exploration.rests()).isPositive();
	}

	@ParameterizedTest
	@EnumSource
	void noRuleCanBeDropped(Without rule) {
		Exploration exploration = InterleavingExplorer.explore(new HandOffRingProtocol(HAND_OFFS, rule), MAX_STATES);
		logger.debug("without {}: {}", rule, exploration);
		assertThat(exploration.violation()).isNotNull();
	}

}
