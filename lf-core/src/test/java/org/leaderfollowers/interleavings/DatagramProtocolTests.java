package org.leaderfollowers.interleavings;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.leaderfollowers.interleavings.DatagramProtocol.Without;
import org.leaderfollowers.interleavings.InterleavingExplorer.Exploration;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Explores every interleaving in the life of a datagram socket: no handler stops other
 * threads from reading, no datagram, resume or drain is lost, and the socket is not
 * closed while a handler runs.
 */
class DatagramProtocolTests {

	private static final Logger logger = LoggerFactory.getLogger(DatagramProtocolTests.class);

	private static final int MAX_STATES = 3_000_000;

	private enum Life {

		TWO_THREADS(DatagramProtocol.builder().threads(2).messages(4)),

		THREE_THREADS(DatagramProtocol.builder().threads(3).messages(3)),

		LIMIT_OF_ONE(DatagramProtocol.builder().threads(3).messages(3).limit(1)),

		LIMIT_OF_TWO(DatagramProtocol.builder().threads(3).messages(4).limit(2)),

		DRAINED(DatagramProtocol.builder().threads(3).messages(3).drainer()),

		DRAINED_AT_THE_LIMIT(DatagramProtocol.builder().threads(2).messages(3).limit(1).drainer()),

		PAUSED(DatagramProtocol.builder().threads(2).messages(3).pauses(2)),

		PAUSED_AT_THE_LIMIT(DatagramProtocol.builder().threads(2).messages(3).limit(1).pauses(1)),

		PAUSED_AND_DRAINED(DatagramProtocol.builder().threads(2).messages(2).limit(2).pauses(1).drainer());

		private final DatagramProtocol.Builder builder;

		Life(DatagramProtocol.Builder builder) {
			this.builder = builder;
		}

	}

	@ParameterizedTest
	@EnumSource
	void nobodyIsKeptFromReadingAndNothingIsLost(Life life) {
		Exploration exploration = InterleavingExplorer.explore(life.builder.build(), MAX_STATES);
		logger.debug("{}: {}", life, exploration);
		assertThat(exploration.violation()).as(exploration::toString).isNull();
		assertThat(exploration.rests()).isPositive();
	}

	@ParameterizedTest
	@EnumSource
	void noRuleCanBeDropped(Without rule) {
		Exploration exploration = InterleavingExplorer.explore(lifeThatNeeds(rule).without(rule).build(), MAX_STATES);
		logger.debug("without {}: {}", rule, exploration);
		assertThat(exploration.violation()).isNotNull();
	}

	private static DatagramProtocol.Builder lifeThatNeeds(Without rule) {
		return switch (rule) {
			case RELEASE_BEFORE_HANDLER -> DatagramProtocol.builder().messages(2);
			case CHECK_AFTER_PAUSE, LOOK_WHEN_FINISHED -> DatagramProtocol.builder().messages(3).limit(2);
			case COUNT_BEFORE_DISPATCH, LOOK_WHILE_DRAINING, DRAINING_BEFORE_READ, LOOK_TO_DRAIN, NONE_IN_FLIGHT ->
				DatagramProtocol.builder().messages(2).drainer();
			case LOOK_TO_RESUME -> DatagramProtocol.builder().messages(2).pauses(1);
		};
	}

}
