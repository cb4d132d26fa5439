package org.leaderfollowers.sample.frontend;

import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;

import org.junit.jupiter.api.Test;
import org.leaderfollowers.Connection;
import org.leaderfollowers.ExchangeLostException;
import org.leaderfollowers.sample.TransactionRequest;
import org.leaderfollowers.sample.TransactionResult.Committed;
import org.leaderfollowers.sample.client.ClientProtocol;
import org.leaderfollowers.sample.tier.Order;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.mockito.ArgumentMatchers.any;
import static org.mockito.BDDMockito.given;
import static org.mockito.Mockito.mock;
import static org.mockito.Mockito.never;
import static org.mockito.Mockito.verify;

/**
 * Tests for {@link Tellers}.
 */
class TellersTests {

	private static final Duration TELLER_TIMEOUT = Duration.ofSeconds(30);

	private static final ByteBuffer QUESTION = ByteBuffer.allocate(1);

	private static final ByteBuffer ANSWER = ByteBuffer.allocate(2);

	private final Order order = new Order(UUID.randomUUID(), new TransactionRequest(42, 3, 1, 2_000_000));

	private final Connection connection = mock();

	private final ClientProtocol protocol = mock();

	private final Tellers tellers = new Tellers(this.protocol, new FrontEndProperties(5000, Duration.ofSeconds(90),
			TELLER_TIMEOUT, Duration.ofSeconds(10), Duration.ofSeconds(5)));

	@Test
	void tellerIsAskedOnceAlthoughTheOrderIsSentAgain() {
		tellerAnswers(true);
		this.tellers.add(this.order, this.connection);
		assertThat(this.tellers.confirm(this.order.id())).isCompletedWithValue(true);
		assertThat(this.tellers.confirm(this.order.id())).isCompletedWithValue(true);
		verify(this.connection).exchange(QUESTION, TELLER_TIMEOUT);
	}

	@Test
	void secondQuestionWaitsForTheAnswerToTheFirst() {
		CompletableFuture<CompletableFuture<Boolean>> second = new CompletableFuture<>();
		given(this.protocol.confirmationRequest(this.order.request())).willReturn(QUESTION);
		given(this.connection.exchange(QUESTION, TELLER_TIMEOUT)).will((call) -> {
			second.complete(this.tellers.confirm(this.order.id()));
			assertThat(second.join()).isNotDone();
			return ANSWER;
		});
		given(this.protocol.isConfirmation(ANSWER)).willReturn(true);
		this.tellers.add(this.order, this.connection);
		assertThat(this.tellers.confirm(this.order.id())).isCompletedWithValue(true);
		assertThat(second.join()).isCompletedWithValue(true);
	}

	@Test
	void tellerWhoDoesNotAnswerHasNotConfirmed() {
		given(this.protocol.confirmationRequest(this.order.request())).willReturn(QUESTION);
		given(this.connection.exchange(QUESTION, TELLER_TIMEOUT))
			.willThrow(new ExchangeLostException("connection reset", null));
		this.tellers.add(this.order, this.connection);
		assertThat(this.tellers.confirm(this.order.id())).isCompletedWithValue(false);
	}

	@Test
	void orderThatIsNotUnderWayIsNotConfirmed() {
		assertThat(this.tellers.confirm(UUID.randomUUID())).isCompletedWithValue(false);
	}

	/** Otherwise the front end would keep every order and its connection. */
	@Test
	void orderThatHasItsResultIsForgotten() {
		tellerAnswers(true);
		OrderRouter router = mock();
		UUID[] routed = new UUID[1];
		given(router.route(any())).will((call) -> {
			routed[0] = call.<Order>getArgument(0).id();
			return new Committed(42, 5, 1);
		}).will((call) -> {
			routed[0] = call.<Order>getArgument(0).id();
			throw new IllegalStateException("a mistake");
		});
		FrontEndHandler handler = new FrontEndHandler(router, this.tellers);
		handler.process(this.order.request(), this.connection);
		assertThat(this.tellers.confirm(routed[0])).isCompletedWithValue(false);
		assertThatIllegalStateException().isThrownBy(() -> handler.process(this.order.request(), this.connection));
		assertThat(this.tellers.confirm(routed[0])).isCompletedWithValue(false);
		verify(this.connection, never()).exchange(any(), any());
	}

	private void tellerAnswers(boolean given) {
		given(this.protocol.confirmationRequest(this.order.request())).willReturn(QUESTION);
		given(this.connection.exchange(QUESTION, TELLER_TIMEOUT)).willReturn(ANSWER);
		given(this.protocol.isConfirmation(ANSWER)).willReturn(given);
	}

}
