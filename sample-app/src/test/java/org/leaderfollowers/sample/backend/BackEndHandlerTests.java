package org.leaderfollowers.sample.backend;

import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.List;
import java.util.UUID;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.leaderfollowers.Connection;
import org.leaderfollowers.ExchangeException;
import org.leaderfollowers.ExchangeLostException;
import org.leaderfollowers.ExchangeRejectedException;
import org.leaderfollowers.ExchangeTimeoutException;
import org.leaderfollowers.sample.TransactionRequest;
import org.leaderfollowers.sample.TransactionResult.Committed;
import org.leaderfollowers.sample.TransactionResult.Rejected;
import org.leaderfollowers.sample.tier.Confirmation;
import org.leaderfollowers.sample.tier.ConfirmationRequest;
import org.leaderfollowers.sample.tier.Order;
import org.leaderfollowers.sample.tier.TierProtocol;

import static org.mockito.ArgumentMatchers.any;
import static org.mockito.ArgumentMatchers.eq;
import static org.mockito.ArgumentMatchers.isA;
import static org.mockito.BDDMockito.given;
import static org.mockito.Mockito.mock;
import static org.mockito.Mockito.never;
import static org.mockito.Mockito.verify;

/**
 * Tests for {@link BackEndHandler}.
 */
class BackEndHandlerTests {

	private static final Duration CONFIRM_TIMEOUT = Duration.ofSeconds(40);

	private static final ByteBuffer QUESTION = ByteBuffer.allocate(1);

	private static final ByteBuffer ANSWER = ByteBuffer.allocate(2);

	private final Connection frontEnd = mock();

	private final TierProtocol protocol = mock();

	private final TransactionProcessor transactions = mock();

	private final BackEndHandler handler = new BackEndHandler(this.protocol, this.transactions,
			new OltpProperties(1, 5, 1_000_000, CONFIRM_TIMEOUT, Duration.ofSeconds(30)));

	static List<ExchangeException> failures() {
		return List.of(new ExchangeTimeoutException("no answer", null), new ExchangeLostException("reset", null),
				new ExchangeRejectedException("closed", null));
	}

	@ParameterizedTest
	@MethodSource("failures")
	void orderIsNotCarriedOutWhenTheFrontEndDoesNotAnswer(ExchangeException failure) {
		Order order = order(1_000_001);
		given(this.frontEnd.exchange(QUESTION, CONFIRM_TIMEOUT)).willThrow(failure);
		this.handler.onMessage(this.frontEnd, message(order));
		verify(this.transactions, never()).process(any(), any());
		verify(this.protocol).reply(eq(7L), isA(Rejected.class));
	}

	@ParameterizedTest
	@ValueSource(longs = { 1_000_001, -1_000_001, Long.MAX_VALUE, Long.MIN_VALUE })
	void largeAmountIsMovedOnlyWhenConfirmed(long delta) {
		Order order = order(delta);
		given(this.frontEnd.exchange(QUESTION, CONFIRM_TIMEOUT)).willReturn(ANSWER);
		given(this.protocol.read(ANSWER, Confirmation.class)).willReturn(new Confirmation(false),
				new Confirmation(true));
		this.handler.onMessage(this.frontEnd, message(order));
		verify(this.transactions, never()).process(any(), any());
		this.handler.onMessage(this.frontEnd, message(order));
		verify(this.transactions).process(order.id(), order.request());
	}

	@ParameterizedTest
	@ValueSource(longs = { 1_000_000, -1_000_000, 0 })
	void otherAmountIsMovedAtOnce(long delta) {
		Order order = order(delta);
		Committed committed = new Committed(42, delta, 1);
		given(this.transactions.process(order.id(), order.request())).willReturn(committed);
		this.handler.onMessage(this.frontEnd, message(order));
		verify(this.protocol).reply(7, committed);
		verify(this.frontEnd, never()).exchange(any(), any());
	}

	private Order order(long delta) {
		Order order = new Order(UUID.randomUUID(), new TransactionRequest(42, 3, 1, delta));
		given(this.protocol.request(new ConfirmationRequest(order.id()))).willReturn(QUESTION);
		return order;
	}

	private ByteBuffer message(Order order) {
		ByteBuffer message = ByteBuffer.allocate(Long.BYTES + 1).putLong(0, 7);
		given(this.protocol.read(message, Order.class)).willReturn(order);
		return message;
	}

}
