package org.leaderfollowers.sample.frontend;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.leaderfollowers.ExchangeLostException;
import org.leaderfollowers.ExchangeRejectedException;
import org.leaderfollowers.ExchangeTimeoutException;
import org.leaderfollowers.sample.TransactionRequest;
import org.leaderfollowers.sample.TransactionResult.Committed;
import org.leaderfollowers.sample.TransactionResult.Rejected;
import org.leaderfollowers.sample.TransactionResult.Unknown;
import org.leaderfollowers.sample.TransactionResult;
import org.leaderfollowers.sample.frontend.OrderRouter.Route;
import org.leaderfollowers.sample.tier.Order;
import org.leaderfollowers.spring.handler.InvalidReplyException;

import static org.assertj.core.api.Assertions.assertThat;
import static org.mockito.ArgumentMatchers.any;
import static org.mockito.BDDMockito.given;
import static org.mockito.Mockito.mock;
import static org.mockito.Mockito.never;
import static org.mockito.Mockito.times;
import static org.mockito.Mockito.verify;

/**
 * Tests for {@link OrderRouter}.
 */
class OrderRouterTests {

	private static final Committed COMMITTED = new Committed(42, 5, 1);

	private static final ExchangeRejectedException NOT_SENT = new ExchangeRejectedException("no connection", null);

	private static final ExchangeLostException LOST = new ExchangeLostException("connection reset", null);

	private final BackEnd first = mock();

	private final BackEnd second = mock();

	private final List<Duration> waits = new ArrayList<>();

	private final OrderRouter router = router(Duration.ofMinutes(1));

	private OrderRouter router(Duration patience) {
		return new OrderRouter(List.of(new Route(this.first, this.waits::add), new Route(this.second, this.waits::add)),
				new FrontEndProperties(5000, Duration.ofSeconds(1), Duration.ofSeconds(1), Duration.ofSeconds(1),
						patience));
	}

	@ParameterizedTest
	@CsvSource({ "-1, 1", "1, 1", "5000, 1", "5001, 2", "9223372036854775807, 2" })
	void sendsOrderToHomeOfAccount(long account, int home) {
		given(this.first.execute(any())).willReturn(COMMITTED);
		given(this.second.execute(any())).willReturn(COMMITTED);
		assertThat(route(account)).isEqualTo(COMMITTED);
		verify((home == 1) ? this.second : this.first, never()).execute(any());
	}

	@Test
	void otherBackEndStandsIn() {
		given(this.first.execute(any())).willThrow(NOT_SENT);
		given(this.second.execute(any())).willReturn(COMMITTED);
		assertThat(route(42)).isEqualTo(COMMITTED);
		assertThat(this.waits).isEmpty();
	}

	@Test
	void orderThatWasLostIsSentAgainAsTheSameOrder() {
		List<Order> orders = new ArrayList<>();
		given(this.first.execute(any())).will((call) -> {
			orders.add(call.getArgument(0));
			throw LOST;
		});
		given(this.second.execute(any())).will((call) -> {
			orders.add(call.getArgument(0));
			return COMMITTED;
		});
		assertThat(route(42)).isEqualTo(COMMITTED);
		assertThat(orders).hasSize(2);
		assertThat(orders.get(0)).isEqualTo(orders.get(1));
	}

	@Test
	void rejectionIsReportedAsSuch() {
		given(this.first.execute(any())).willThrow(NOT_SENT);
		given(this.second.execute(any())).willReturn(new Rejected("There is no teller 11"));
		assertThat(route(42)).isEqualTo(new Rejected("There is no teller 11"));
	}

	@Test
	void rejectionProvesNothingWhenEarlierAttemptMayBeUnderWay() {
		given(this.first.execute(any())).willThrow(new ExchangeTimeoutException("no reply", null));
		given(this.second.execute(any())).willReturn(new Rejected("Too many others"));
		assertThat(route(42)).isInstanceOf(Unknown.class);
	}

	@Test
	void rejectionProvesNothingAfterAnUnknownResult() {
		given(this.first.execute(any())).willReturn(new Unknown("The database failed"));
		given(this.second.execute(any())).willReturn(new Rejected("Too many others"));
		assertThat(route(42)).isInstanceOf(Unknown.class);
	}

	@Test
	void replyThatNobodyUnderstandsIsAskedForAgain() {
		given(this.first.execute(any())).willThrow(mock(InvalidReplyException.class));
		given(this.second.execute(any())).willReturn(COMMITTED);
		assertThat(route(42)).isEqualTo(COMMITTED);
	}

	@Test
	void unknownResultIsAskedForAgain() {
		given(this.first.execute(any())).willReturn(new Unknown("The database failed"));
		given(this.second.execute(any())).willReturn(COMMITTED);
		assertThat(route(42)).isEqualTo(COMMITTED);
	}

	@Test
	void waitsForBackEndThatComesBack() {
		given(this.first.execute(any())).willThrow(NOT_SENT, NOT_SENT).willReturn(COMMITTED);
		given(this.second.execute(any())).willThrow(NOT_SENT);
		assertThat(route(42)).isEqualTo(COMMITTED);
		assertThat(this.waits).hasSize(2);
	}

	@Test
	void rejectsWhenPatienceIsAtAnEndAndNothingWasSent() {
		given(this.first.execute(any())).willThrow(NOT_SENT);
		given(this.second.execute(any())).willThrow(NOT_SENT);
		assertThat(router(Duration.ZERO).route(order(42)))
			.isEqualTo(new Rejected("No back end can be reached; nothing was changed, try again later"));
	}

	@Test
	void doesNotSendOrderThatBreaksBackEndsForEver() {
		given(this.first.execute(any())).willThrow(LOST);
		given(this.second.execute(any())).willThrow(LOST);
		assertThat(route(42)).isInstanceOf(Unknown.class);
		verify(this.first, times(2)).execute(any());
		verify(this.second, times(2)).execute(any());
	}

	@Test
	void oneLostOrderMakesTheResultUnknown() {
		given(this.first.execute(any())).willThrow(LOST);
		given(this.second.execute(any())).willThrow(NOT_SENT);
		assertThat(router(Duration.ZERO).route(order(42))).isInstanceOf(Unknown.class);
	}

	@Test
	void waitsForTheHomeOfTheAccount() {
		List<Duration> others = new ArrayList<>();
		given(this.first.execute(any())).willThrow(NOT_SENT);
		given(this.second.execute(any())).willThrow(NOT_SENT).willReturn(COMMITTED);
		OrderRouter router = new OrderRouter(
				List.of(new Route(this.first, others::add), new Route(this.second, this.waits::add)),
				new FrontEndProperties(5000, Duration.ofSeconds(1), Duration.ofSeconds(1), Duration.ofSeconds(1),
						Duration.ofMinutes(1)));
		assertThat(router.route(order(5001))).isEqualTo(COMMITTED);
		assertThat(this.waits).hasSize(1);
		assertThat(others).isEmpty();
	}

	@Test
	void waitsNoLongerThanItsPatience() {
		given(this.first.execute(any())).willThrow(NOT_SENT);
		given(this.second.execute(any())).willThrow(NOT_SENT);
		assertThat(router(Duration.ofMillis(90)).route(order(42))).isInstanceOf(Rejected.class);
		assertThat(this.waits).allMatch((wait) -> wait.toMillis() <= 90);
	}

	@Test
	void doesNotWaitOnceInterrupted() {
		given(this.first.execute(any())).willThrow(NOT_SENT);
		given(this.second.execute(any())).willThrow(NOT_SENT);
		Thread.currentThread().interrupt();
		try {
			assertThat(router(Duration.ofSeconds(1)).route(order(42))).isInstanceOf(Rejected.class);
		}
		finally {
			assertThat(Thread.interrupted()).isTrue();
		}
		assertThat(this.waits).isEmpty();
	}

	private TransactionResult route(long account) {
		return this.router.route(order(account));
	}

	private static Order order(long account) {
		return new Order(UUID.randomUUID(), new TransactionRequest(account, 3, 1, 5));
	}

}
