package org.leaderfollowers.internal.exchange;

import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.concurrent.CompletableFuture;

import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.leaderfollowers.internal.exchange.Exchange.State;
import org.leaderfollowers.internal.exchange.ExchangeTable.Registration;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

/** Tests the places of exchanges, and when futures time out. */
class ExchangeTableTests {

	private final ExchangeTable table = new KeyedExchanges(2);

	private final ExchangeChain ended = new ExchangeChain();

	private static Exchange until(long deadlineNanos) {
		return Exchange.ofFuture(deadlineNanos, new CompletableFuture<ByteBuffer>());
	}

	private Exchange registered(String key, long deadlineNanos) {
		Exchange exchange = until(deadlineNanos);
		assertThat(this.table.register(exchange, key)).isEqualTo(Registration.REGISTERED);
		return exchange;
	}

	private List<Exchange> expire(long nowNanos) {
		this.table.expire(nowNanos, this.ended);
		return ended();
	}

	private List<Exchange> ended() {
		List<Exchange> polled = new ArrayList<>();
		for (Exchange exchange = this.ended.poll(); exchange != null; exchange = this.ended.poll()) {
			polled.add(exchange);
		}
		assertThat(this.ended.isEmpty()).isTrue();
		return polled;
	}

	@Test
	void exchangeThatEndsFreesItsPlace() {
		Exchange first = registered("a", 10);
		Exchange second = registered("b", 10);
		assertThat(this.table.hasPlace()).isFalse();
		assertThat(this.table.register(until(10), "c")).isEqualTo(Registration.FULL);
		assertThat(this.table.take("a")).isSameAs(first);
		assertThat(this.table.taken()).isOne();
		registered("c", 10);
		this.table.withdraw(second);
		assertThat(this.table.taken()).isOne();
		registered("d", 10);
	}

	@Test
	void exchangeWithTheKeyOfAnotherTakesNoPlace() {
		registered("a", 10);
		assertThat(this.table.register(until(5), "a")).isEqualTo(Registration.DUPLICATE);
		assertThat(this.table.taken()).isOne();
		assertThat(this.table.places()).isEqualTo(2);
		assertThat(this.table.deadlineNanos()).isEqualTo(10);
	}

	/** The reply may come, or the connection end, before the caller knows. */
	@Test
	void exchangeThatHasLeftTheTableFreesNoOtherPlace() {
		Exchange first = registered("a", 10);
		assertThat(this.table.take("a")).isSameAs(first);
		this.table.withdraw(first);
		assertThat(this.table.take("a")).isNull();
		assertThat(this.table.taken()).isZero();
	}

	/** A peer may reply before the request is written, which is not written then. */
	@Test
	void exchangeThatHasLeftTheTableLeavesALaterOneWithItsKey() {
		Exchange first = registered("a", 10);
		assertThat(this.table.take("a")).isSameAs(first);
		Exchange second = registered("a", 10);
		this.table.withdraw(first);
		assertThat(this.table.take("a")).isSameAs(second);
	}

	@Test
	void numbersAreUsedInTurnUpToTheLargest() {
		KeyedExchanges numbered = new KeyedExchanges(2);
		List<Long> stamps = new ArrayList<>();
		for (int i = 0; i < 4; i++) {
			Exchange exchange = until(10);
			assertThat(numbered.registerStamped(exchange, 2)).isEqualTo(Registration.REGISTERED);
			stamps.add(KeyedExchanges.stampOf(exchange));
			assertThat(numbered.take(stamps.get(i))).isSameAs(exchange);
		}
		assertThat(stamps).containsExactly(0L, 1L, 2L, 0L);
	}

	@Test
	void numberThatIsStillInUseIsNotUsedAgain() {
		KeyedExchanges numbered = new KeyedExchanges(3);
		assertThat(numbered.registerStamped(until(10), 2)).isEqualTo(Registration.REGISTERED);
		List<Long> stamps = new ArrayList<>();
		for (int i = 0; i < 5; i++) {
			Exchange exchange = until(10);
			assertThat(numbered.registerStamped(exchange, 2)).isEqualTo(Registration.REGISTERED);
			stamps.add(KeyedExchanges.stampOf(exchange));
			assertThat(numbered.take(stamps.get(i))).isSameAs(exchange);
		}
		assertThat(stamps).containsExactly(1L, 2L, 1L, 2L, 1L);
	}

	@Test
	void exchangeOfAThreadThatWaitsNeedsNoTimer() {
		assertThat(this.table.register(Exchange.ofCaller(10), "a")).isEqualTo(Registration.REGISTERED);
		assertThat(this.table.deadlineNanos()).isEqualTo(ExchangeTable.NO_DEADLINE);
		assertThat(expire(10)).isEmpty();
	}

	@Test
	void nextFutureTimesOutAfterTheEarliest() {
		Exchange first = registered("a", 10);
		Exchange second = registered("b", 20);
		assertThat(this.table.deadlineNanos()).isEqualTo(10);
		assertThat(expire(9)).isEmpty();
		assertThat(this.table.deadlineNanos()).isEqualTo(10);
		assertThat(expire(10)).containsExactly(first);
		assertThat(this.table.deadlineNanos()).isEqualTo(20);
		assertThat(expire(20)).containsExactly(second);
		assertThat(this.table.deadlineNanos()).isEqualTo(ExchangeTable.NO_DEADLINE);
	}

	@Test
	void earliestFutureIsNextAlthoughItWasNotTheFirst() {
		registered("a", 20);
		registered("b", 10);
		assertThat(this.table.deadlineNanos()).isEqualTo(10);
		assertThat(expire(9)).isEmpty();
		assertThat(this.table.deadlineNanos()).isEqualTo(10);
	}

	@Test
	void futureThatHasEndedNeedsNoTimer() {
		registered("a", 10).end(State.CANCELLED);
		registered("b", 20);
		assertThat(expire(5)).isEmpty();
		assertThat(this.table.deadlineNanos()).isEqualTo(20);
	}

	@Test
	void replyToTheHandlerNeedsNoTimer() {
		registered("a", -10);
		assertThat(this.table.register(Exchange.ofHandler(), "b")).isEqualTo(Registration.REGISTERED);
		assertThat(this.table.deadlineNanos()).isEqualTo(-10);
		assertThat(expire(-11)).isEmpty();
		assertThat(this.table.deadlineNanos()).isEqualTo(-10);
	}

	@Test
	void tableThatIsClosedHasNoExchangesAndTakesNone() {
		Exchange lost = registered("a", 10);
		Exchange cancelled = registered("b", 10);
		cancelled.end(State.CANCELLED);
		this.table.overdue(cancelled);
		assertThat(this.table.pending()).isOne();
		assertThat(this.table.close(this.ended)).isTrue();
		assertThat(ended()).containsExactly(lost);
		assertThat(lost.state()).isEqualTo(State.LOST);
		assertThat(this.table.take("a")).isNull();
		assertThat(this.table.taken()).isZero();
		assertThat(this.table.pending()).isZero();
		assertThat(this.table.deadlineNanos()).isEqualTo(ExchangeTable.NO_DEADLINE);
		assertThat(this.table.hasPlace()).as("threads that wait for a place").isFalse();
		assertThat(this.table.register(until(10), "c")).isEqualTo(Registration.CLOSED);
		assertThat(this.table.overdue(cancelled)).isZero();
		assertThat(this.table.overdue(lost)).isZero();
		assertThat(this.table.pending()).isZero();
	}

	@Test
	void onlyExchangesThatTheCloseEndsAreLost() {
		assertThat(this.table.register(Exchange.ofCaller(10), "a")).isEqualTo(Registration.REGISTERED);
		registered("b", 10).end(State.CANCELLED);
		assertThat(this.table.close(this.ended)).isTrue();
		assertThat(ended()).isEmpty();
		assertThat(this.table.close(this.ended)).isFalse();
	}

	@Test
	void tableIsNotClosedIfMemoryIsTooShort() {
		ShortOfMemory shortOfMemory = new ShortOfMemory();
		Exchange first = until(10);
		Exchange second = until(10);
		shortOfMemory.register(first, null);
		shortOfMemory.register(second, null);
		assertThatExceptionOfType(OutOfMemoryError.class).isThrownBy(() -> shortOfMemory.close(this.ended));
		assertThat(shortOfMemory.isClosed()).isFalse();
		assertThat(shortOfMemory.close(this.ended)).isTrue();
		assertThat(ended()).containsExactly(first, second);
	}

	/** Its request is not written, so it would get the reply to the next one. */
	@Test
	void exchangeIsNotAddedIfTheDequeFailsAfterwards() {
		ArrayDeque<Exchange> waiting = new ArrayDeque<>() {

			@Override
			public void addLast(Exchange exchange) {
				super.addLast(exchange);
				if (exchange.deadlineNanos() == 20) {
					throw new OutOfMemoryError("made for the test");
				}
			}

		};
		onlyExchangesWithoutFailureAreAdded(new OrderedExchanges(3, waiting));
	}

	/** Its key would be taken until the connection ends. */
	@Test
	void exchangeIsNotAddedIfTheMapFailsAfterwards() {
		HashMap<Object, Exchange> byKey = new HashMap<>() {

			@Override
			public Exchange putIfAbsent(Object key, Exchange exchange) {
				Exchange other = super.putIfAbsent(key, exchange);
				if (exchange.deadlineNanos() == 20) {
					throw new OutOfMemoryError("made for the test");
				}
				return other;
			}

		};
		onlyExchangesWithoutFailureAreAdded(new KeyedExchanges(3, byKey));
	}

	private void onlyExchangesWithoutFailureAreAdded(ExchangeTable failing) {
		Exchange first = until(10);
		Exchange next = until(30);
		assertThat(failing.register(first, "a")).isEqualTo(Registration.REGISTERED);
		assertThatExceptionOfType(OutOfMemoryError.class).isThrownBy(() -> failing.register(until(20), "b"));
		assertThat(failing.taken()).isOne();
		assertThat(failing.register(next, "b")).isEqualTo(Registration.REGISTERED);
		assertThat(failing.take("a")).isSameAs(first);
		assertThat(failing.take("b")).isSameAs(next);
		assertThat(failing.taken()).isZero();
	}

	@Test
	void replyThatComesLateIsNotOverdueAnyMore() {
		Exchange first = registered("a", 10);
		Exchange second = registered("b", 10);
		assertThat(expire(10)).hasSize(2);
		assertThat(this.table.overdue(first)).isOne();
		assertThat(this.table.overdue(first)).as("counts once").isOne();
		assertThat(this.table.overdue(second)).isEqualTo(2);
		assertThat(this.table.pending()).isZero();
		assertThat(this.table.take("a")).isSameAs(first);
		assertThat(this.table.overdue(first)).isOne();
		assertThat(this.table.taken()).isOne();
		assertThat(this.table.pending()).isZero();
	}

	/** It has ended between its registration and the attempt to write the request. */
	@Test
	void requestThatIsNotWrittenIsNotOverdue() {
		Exchange before = registered("a", 10);
		Exchange after = registered("b", 10);
		assertThat(expire(10)).hasSize(2);
		assertThat(this.table.overdue(before)).isOne();
		this.table.withdraw(before);
		this.table.withdraw(after);
		assertThat(this.table.overdue(after)).isZero();
		assertThat(this.table.taken()).isZero();
		registered("c", 20);
		assertThat(this.table.pending()).isOne();
	}

	/** The first attempt to look at its exchanges fails. */
	private static final class ShortOfMemory extends ExchangeTable {

		private final List<Exchange> exchanges = new ArrayList<>();

		private boolean fails = true;

		ShortOfMemory() {
			super(2);
		}

		@Override
		boolean add(Exchange exchange) {
			return this.exchanges.add(exchange);
		}

		@Override
		boolean remove(Exchange exchange) {
			return this.exchanges.remove(exchange);
		}

		@Override
		@Nullable Exchange find(@Nullable Object key) {
			return null;
		}

		@Override
		Collection<Exchange> all() {
			if (this.fails) {
				this.fails = false;
				throw new OutOfMemoryError("made for the test");
			}
			return this.exchanges;
		}

		@Override
		void clear() {
			this.exchanges.clear();
		}

	}

}
