package org.leaderfollowers.interleavings;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.leaderfollowers.interleavings.HandleProtocol.Without;
import org.leaderfollowers.interleavings.InterleavingExplorer.Exploration;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Every interleaving of the life of a connection's handle: one owner at a time, and no
 * event, request, close or drain is lost.
 */
class HandleProtocolTests {

	private static final Logger logger = LoggerFactory.getLogger(HandleProtocolTests.class);

	private static final int MAX_STATES = 3_000_000;

	private enum Life {

		ONE_MESSAGE_EVERY_ACCESS(HandleProtocol.builder().messages(1).fine()),

		THREE_MESSAGES(HandleProtocol.builder().messages(3)),

		CLOSED_FROM_OUTSIDE(HandleProtocol.builder().messages(1).closer()),

		DRAINED(HandleProtocol.builder().messages(1).drainer()),

		SENT_TO_FROM_OUTSIDE(HandleProtocol.builder().messages(1).sender()),

		RESET_BY_THE_PEER(HandleProtocol.builder().messages(2).breaks()),

		CLOSED_AND_DRAINED(HandleProtocol.builder().messages(0).closer().drainer()),

		CLOSED_AND_SENT_TO(HandleProtocol.builder().messages(0).closer().sender());

		private final HandleProtocol.Builder builder;

		Life(HandleProtocol.Builder builder) {
			this.builder = builder;
		}

	}

	@ParameterizedTest
	@EnumSource(names = { "ONE_MESSAGE_EVERY_ACCESS", "DRAINED", "CLOSED_AND_DRAINED" })
	void oneOwnerAtATimeAndNothingIsLost(Life life) {
		explore(life);
	}

	@Tag("stress")
	@ParameterizedTest
	@EnumSource(mode = EnumSource.Mode.EXCLUDE, names = { "ONE_MESSAGE_EVERY_ACCESS", "DRAINED", "CLOSED_AND_DRAINED" })
	void oneOwnerAtATimeAndNothingIsLostInLongLives(Life life) {
		explore(life);
	}

	private static void explore(Life life) {
		Exploration exploration = InterleavingExplorer.explore(life.builder.build(), MAX_STATES);
		logger.debug("{}: {}", life, exploration);
		assertThat(exploration.violation()).as(exploration::toString).isNull();
		assertThat(exploration.rests()).isPositive();
	}

	@ParameterizedTest
	@EnumSource(mode = EnumSource.Mode.EXCLUDE, names = { "DEACTIVATION_WHILE_DRAINING", "DISCARD_AFTER_FAILURE" })
	void noRuleCanBeDropped(Without rule) {
		exploreWithout(rule);
	}

	@Tag("stress")
	@ParameterizedTest
	@EnumSource(names = { "DEACTIVATION_WHILE_DRAINING", "DISCARD_AFTER_FAILURE" })
	void noRuleOfLongLivesCanBeDropped(Without rule) {
		exploreWithout(rule);
	}

	private static void exploreWithout(Without rule) {
		Exploration exploration = InterleavingExplorer.explore(lifeThatNeeds(rule).without(rule).build(), MAX_STATES);
		logger.debug("without {}: {}", rule, exploration);
		assertThat(exploration.violation()).isNotNull();
	}

	private static HandleProtocol.Builder lifeThatNeeds(Without rule) {
		return switch (rule) {
			case DEACTIVATION_WHILE_DRAINING -> HandleProtocol.builder().messages(3);
			case DISCARD_AFTER_FAILURE -> HandleProtocol.builder().messages(2).breaks();
			case COMPARE_AND_SET_OF_RELEASE, COMPARE_AND_SET_OF_ARM, LOOK_TO_CLOSE, LOOK_WHILE_OWNED,
					STATE_BEFORE_DRAIN ->
				HandleProtocol.builder().messages(1).drainer();
			default -> HandleProtocol.builder().messages(2);
		};
	}

}
