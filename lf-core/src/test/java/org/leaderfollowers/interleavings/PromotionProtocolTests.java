package org.leaderfollowers.interleavings;

import java.util.Arrays;
import java.util.List;
import java.util.function.Predicate;
import java.util.stream.Stream;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.leaderfollowers.interleavings.InterleavingExplorer.Exploration;
import org.leaderfollowers.interleavings.PromotionProtocol.Order;
import org.leaderfollowers.interleavings.PromotionProtocol.Without;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Every interleaving of the promotion protocol: never two leaders, never a lost wake-up.
 */
class PromotionProtocolTests {

	private static final Logger logger = LoggerFactory.getLogger(PromotionProtocolTests.class);

	private static final int MAX_STATES = 2_000_000;

	private enum Pool {

		TWO_THREADS_EVERY_ACCESS(PromotionProtocol.builder().threads(2, 2).fine()),

		TWO_THREADS_THAT_EXPIRE_EVERY_ACCESS(PromotionProtocol.builder().threads(1, 2).keepAlive().fine()),

		THREE_THREADS(PromotionProtocol.builder().threads(3, 3).symmetric()),

		ONE_TO_THREE_THREADS(PromotionProtocol.builder().threads(1, 3).keepAlive().symmetric()),

		ONE_TO_TWO_THREADS_WHILE_A_THIRD_ENDS(
				PromotionProtocol.builder().threads(1, 2).keepAlive().spareThreads(1).symmetric()),

		THREADS_THAT_CANNOT_BE_STARTED(
				PromotionProtocol.builder().threads(1, 3).keepAlive().failingStarts().symmetric()),

		ONE_THREAD_AND_A_JOINER(PromotionProtocol.builder().threads(1, 1).joiners(1).fine()),

		ONE_TO_TWO_THREADS_AND_A_JOINER(PromotionProtocol.builder().threads(1, 2).keepAlive().joiners(1).symmetric()),

		TWO_HANDLE_SETS_TWO_TO_THREE_THREADS(
				PromotionProtocol.builder().handleSets(2).threads(2, 3).keepAlive().symmetric()),

		TWO_HANDLE_SETS_TWO_THREADS_AND_A_JOINER(
				PromotionProtocol.builder().handleSets(2).threads(2, 2).joiners(1).symmetric()),

		CLOSED(PromotionProtocol.builder().threads(1, 2).keepAlive().closes().symmetric()),

		CLOSED_EVERY_ACCESS(PromotionProtocol.builder().threads(2, 2).closes().fine()),

		CLOSED_WITH_A_JOINER(PromotionProtocol.builder().threads(1, 1).joiners(1).closes().symmetric()),

		// With a lock there are fewer states, so there is room for more threads.

		ONE_TO_THREE_THREADS_EVERY_ACCESS(PromotionProtocol.builder().threads(1, 3).keepAlive().fine().symmetric(),
				Order.FIFO, Order.PRIORITY),

		ONE_TO_FOUR_THREADS(PromotionProtocol.builder().threads(1, 4).keepAlive().symmetric(), Order.FIFO,
				Order.PRIORITY),

		ONE_TO_TWO_THREADS_AND_A_JOINER_EVERY_ACCESS(
				PromotionProtocol.builder().threads(1, 2).keepAlive().joiners(1).fine().symmetric(), Order.FIFO,
				Order.PRIORITY),

		TWO_THREADS_AND_TWO_JOINERS(PromotionProtocol.builder().threads(2, 2).joiners(2).symmetric(), Order.FIFO,
				Order.PRIORITY);

		private final PromotionProtocol.Builder builder;

		private final List<Order> orders;

		Pool(PromotionProtocol.Builder builder) {
			this(builder, Order.values());
		}

		Pool(PromotionProtocol.Builder builder, Order... orders) {
			this.builder = builder;
			this.orders = List.of(orders);
		}

	}

	static Stream<Arguments> pools() {
		return pools((pool) -> pool != Pool.TWO_THREADS_AND_TWO_JOINERS);
	}

	static Stream<Arguments> largePools() {
		return pools((pool) -> pool == Pool.TWO_THREADS_AND_TWO_JOINERS);
	}

	private static Stream<Arguments> pools(Predicate<Pool> wanted) {
		return Arrays.stream(Order.values())
			.flatMap((order) -> Arrays.stream(Pool.values())
				.filter((pool) -> pool.orders.contains(order) && wanted.test(pool))
				.map((pool) -> Arguments.of(order, pool)));
	}

	static Stream<Arguments> rules() {
		return rules((rule) -> rule != Without.VERSION);
	}

	static Stream<Arguments> rulesOfLargePools() {
		return rules((rule) -> rule == Without.VERSION);
	}

	private static Stream<Arguments> rules(Predicate<Without> wanted) {
		return Arrays.stream(Order.values())
			.flatMap((order) -> Arrays.stream(Without.values())
				.filter((rule) -> rule.isRuleOf(order) && wanted.test(rule))
				.map((rule) -> Arguments.of(order, rule)));
	}

	@ParameterizedTest
	@MethodSource("pools")
	void neverTwoLeadersAndNeverALostWakeUp(Order order, Pool pool) {
		explore(order, pool);
	}

	@Tag("stress")
	@ParameterizedTest
	@MethodSource("largePools")
	void neverTwoLeadersAndNeverALostWakeUpInALargePool(Order order, Pool pool) {
		explore(order, pool);
	}

	private static void explore(Order order, Pool pool) {
		Exploration exploration = InterleavingExplorer.explore(pool.builder.order(order).build(), MAX_STATES);
		logger.debug("{} {}: {}", order, pool, exploration);
		assertThat(exploration.violation()).as(exploration::toString).isNull();
		assertThat(exploration.rests()).isPositive();
	}

	@ParameterizedTest
	@MethodSource("rules")
	void noRuleCanBeDropped(Order order, Without rule) {
		exploreWithout(order, rule);
	}

	@Tag("stress")
	@ParameterizedTest
	@MethodSource("rulesOfLargePools")
	void noRuleOfALargePoolCanBeDropped(Order order, Without rule) {
		exploreWithout(order, rule);
	}

	private static void exploreWithout(Order order, Without rule) {
		PromotionProtocol protocol = poolThatNeeds(rule).order(order).without(rule).build();
		Exploration exploration = InterleavingExplorer.explore(protocol, MAX_STATES);
		logger.debug("{} without {}: {}", order, rule, exploration);
		assertThat(exploration.violation()).isNotNull();
	}

	private static PromotionProtocol.Builder poolThatNeeds(Without rule) {
		return switch (rule) {
			case MARK_CLEARED_FIRST, NEXT_VACANCY ->
				PromotionProtocol.builder().handleSets(2).threads(2, 3).keepAlive();
			case LIMIT_AFTER_MARK, LOOK_BEFORE_END ->
				PromotionProtocol.builder().threads(1, 2).keepAlive().spareThreads(1);
			case VERSION -> PromotionProtocol.builder().threads(4, 4).symmetric();
			case WAIT_AGAIN_IN_PLACE -> PromotionProtocol.builder().threads(1, 2).keepAlive();
			case END_OF_JOIN -> PromotionProtocol.builder().threads(1, 1).joiners(1);
			case STOP_BEFORE_WAKE_UP -> PromotionProtocol.builder().threads(1, 2).closes();
			default -> PromotionProtocol.builder().threads(3, 3);
		};
	}

}
