package org.leaderfollowers.interleavings;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.leaderfollowers.interleavings.InterleavingExplorer.Exploration;
import org.leaderfollowers.interleavings.LeaseProtocol.Without;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Every interleaving of the lease protocol: never two leaders, never a handle set that
 * waits for a handler while a thread has nothing to do.
 */
class LeaseProtocolTests {

	private static final Logger logger = LoggerFactory.getLogger(LeaseProtocolTests.class);

	private static final int MAX_STATES = 2_000_000;

	private enum Pool {

		TWO_THREADS_AND_AN_ATTENDANT_EVERY_LOOK(LeaseProtocol.builder()
			.threads(2, 2)
			.burst()
			.replies()
			.promotingHandlers()
			.attendant()
			.fine()
			.symmetric()),

		THREE_THREADS(LeaseProtocol.builder().threads(3, 3).burst().replies().promotingHandlers().symmetric()),

		THREE_THREADS_THAT_SHARE(
				LeaseProtocol.builder().threads(3, 3).burst().replies().sharedHandleSets().symmetric()),

		ONE_TO_THREE_THREADS(LeaseProtocol.builder().threads(1, 3).keepAlive().symmetric()),

		ONE_TO_TWO_THREADS_WHILE_A_THIRD_ENDS(
				LeaseProtocol.builder().threads(1, 2).keepAlive().spareThreads(1).fine().symmetric()),

		TWO_HANDLE_SETS_TWO_THREADS(LeaseProtocol.builder()
			.handleSets(2)
			.threads(2, 2)
			.burst()
			.replies()
			.promotingHandlers()
			.sharedHandleSets()
			.symmetric()),

		TWO_HANDLE_SETS_TWO_THREADS_EVERY_LOOK(LeaseProtocol.builder().handleSets(2).threads(2, 2).fine().symmetric()),

		TWO_HANDLE_SETS_TWO_THREADS_AND_AN_ATTENDANT(
				LeaseProtocol.builder().handleSets(2).threads(2, 2).replies().attendant().symmetric()),

		TWO_HANDLE_SETS_TWO_TO_THREE_THREADS(
				LeaseProtocol.builder().handleSets(2).threads(2, 3).keepAlive().sharedHandleSets().symmetric()),

		CHANGED_POLICY(LeaseProtocol.builder().threads(2, 2).changes(3).policies().symmetric()),

		CHANGED_POLICY_TWO_HANDLE_SETS(
				LeaseProtocol.builder().handleSets(2).threads(2, 2).changes(1).policies().symmetric()),

		CHANGED_NUMBER_OF_THREADS(LeaseProtocol.builder()
			.threads(1, 2)
			.keepAlive()
			.changes(2, size(1, 1), size(2, 2), size(1, 2))
			.symmetric()),

		CHANGED_NUMBER_OF_THREADS_AND_POLICY(LeaseProtocol.builder()
			.threads(1, 1)
			.changes(2, size(1, 1), size(1, 2), size(2, 2))
			.policies()
			.symmetric());

		private final LeaseProtocol.Builder builder;

		Pool(LeaseProtocol.Builder builder) {
			this.builder = builder;
		}

	}

	private static int[] size(int min, int max) {
		return new int[] { min, max };
	}

	@ParameterizedTest
	@EnumSource(mode = EnumSource.Mode.EXCLUDE,
			names = { "THREE_THREADS_THAT_SHARE", "TWO_HANDLE_SETS_TWO_THREADS_EVERY_LOOK",
					"TWO_HANDLE_SETS_TWO_TO_THREE_THREADS", "CHANGED_NUMBER_OF_THREADS",
					"CHANGED_NUMBER_OF_THREADS_AND_POLICY" })
	void neverTwoLeadersAndNobodyIsIdleWhileOneIsMissing(Pool pool) {
		explore(pool);
	}

	@Tag("stress")
	@ParameterizedTest
	@EnumSource(names = { "THREE_THREADS_THAT_SHARE", "TWO_HANDLE_SETS_TWO_THREADS_EVERY_LOOK",
			"TWO_HANDLE_SETS_TWO_TO_THREE_THREADS", "CHANGED_NUMBER_OF_THREADS",
			"CHANGED_NUMBER_OF_THREADS_AND_POLICY" })
	void neverTwoLeadersAndNobodyIsIdleWhileOneIsMissingInALargePool(Pool pool) {
		explore(pool);
	}

	private static void explore(Pool pool) {
		Exploration exploration = InterleavingExplorer.explore(pool.builder.build(), MAX_STATES);
		logger.debug("{}: {}", pool, exploration);
		assertThat(exploration.violation()).as(exploration::toString).isNull();
		assertThat(exploration.rests()).isPositive();
	}

	@ParameterizedTest
	@EnumSource(mode = EnumSource.Mode.EXCLUDE, names = { "SUCCESSOR_OF_PROMOTED", "SUCCESSOR_AFTER_TAKEOVER" })
	void noRuleCanBeDropped(Without rule) {
		exploreWithout(rule);
	}

	@Tag("stress")
	@ParameterizedTest
	@EnumSource(names = { "SUCCESSOR_OF_PROMOTED", "SUCCESSOR_AFTER_TAKEOVER" })
	void noRuleOfALargePoolCanBeDropped(Without rule) {
		exploreWithout(rule);
	}

	private static void exploreWithout(Without rule) {
		Exploration exploration = InterleavingExplorer.explore(poolThatNeeds(rule).symmetric().without(rule).build(),
				MAX_STATES);
		logger.debug("without {}: {}", rule, exploration);
		assertThat(exploration.violation()).isNotNull();
	}

	private static LeaseProtocol.Builder poolThatNeeds(Without rule) {
		return switch (rule) {
			case RESIGNATION_BEFORE_LOOK, SUCCESSOR_OF_ENDED, LEASES_AFTER_MARK, THREAD_WITHOUT_WATCHER ->
				LeaseProtocol.builder().threads(1, 3).keepAlive();
			case LONG_WAIT_BEFORE_LOOK, END_OF_LONG_WAITS, END_OF_LONG_WAITS_WITHOUT_WATCHER,
					SHORT_WAIT_WITHOUT_WATCHER, ROTATION, END_OF_UNWATCHED_LEASES, RELEASE_AFTER_END_OF_LEASE ->
				LeaseProtocol.builder().handleSets(2).threads(2, 2).replies();
			case RELEASE_BY_WHO_SHARES -> LeaseProtocol.builder().threads(2, 2).replies().sharedHandleSets();
			// One leads, one blocks, one watched and one waits.
			case SUCCESSOR_OF_PROMOTED, SUCCESSOR_AFTER_TAKEOVER ->
				LeaseProtocol.builder().handleSets(2).threads(4, 4).endlessHandlers();
			case WATCH_OF_OLD_LEASES, END_OF_OLD_LEASE -> LeaseProtocol.builder().threads(2, 2).changes(1).policies();
			case LOOK_AFTER_CHANGE, UNPARK_OF_SURPLUS, SETTINGS_AFTER_UNPARK, SURPLUS_BEFORE_PARK, CURRENT_LIMIT ->
				LeaseProtocol.builder().threads(1, 2).keepAlive().changes(2, size(1, 1), size(2, 2), size(1, 2));
			default -> LeaseProtocol.builder().threads(2, 2).replies().promotingHandlers().attendant();
		};
	}

}
