package org.leaderfollowers.internal.exchange;

import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.leaderfollowers.internal.exchange.ExchangeTable.Registration;
import org.leaderfollowers.internal.promotion.Clock;
import org.leaderfollowers.internal.promotion.PromotionProtocol;
import org.leaderfollowers.interleavings.Exploration;
import org.leaderfollowers.interleavings.Interleaving;
import org.leaderfollowers.interleavings.Mutation;
import org.leaderfollowers.interleavings.Scenario;

/**
 * The interleavings of callers, of the thread that reads replies, of timeouts and of the
 * end of the connection: each caller learns of one end of its exchange, no reply reaches
 * another caller, and no exchange is forgotten.
 */
@Tag("interleavings")
class ExchangeInterleavingTests {

	private enum Rule {

		AN_EXCHANGE_IS_REGISTERED_BEFORE_ITS_REQUEST_IS_WRITTEN(
				Mutation.callReturns(Calls.class, "callByKey", "isRegisteredFirst", 0), "key"),

		REQUESTS_WITHOUT_KEYS_ARE_REGISTERED_IN_THE_ORDER_OF_THE_SOCKET(
				Mutation.callReturns(Calls.class, "callInOrder", "isRegisteredUnderMonitor", 0), "order"),

		THE_REPLY_IS_THERE_BEFORE_THE_STATE_SAYS_SO(Mutation.movedBehind(Exchange.class, "reply", "reply", "end"),
				"key"),

		AN_EXCHANGE_ENDS_BY_COMPARE_AND_SET(Mutation.setsWithoutComparing(Exchange.class, "end"), "key"),

		THE_THREAD_THAT_WAITS_IS_WOKEN(Mutation.withoutCall(Exchange.class, "end", "unpark"), "close"),

		A_CLOSED_TABLE_TAKES_NO_EXCHANGE(Mutation.fieldReads(ExchangeTable.class, "register", "closed", 0), "close"),

		CLOSING_A_TABLE_ENDS_ITS_EXCHANGES(Mutation.callReturns(ExchangeTable.class, "close", "end", 1), "close"),

		A_KEY_IN_USE_IS_REFUSED(Mutation.callReturns(KeyedExchanges.class, "add", "putIfAbsent", 0), "same"),

		A_FUTURE_ENDS_WITH_ITS_TIME(Mutation.withoutCall(ExchangeTable.class, "expire", "end"), "future"),

		AN_EXCHANGE_THAT_HAS_LEFT_ITS_TABLE_IS_NOT_OVERDUE(
				Mutation.callReturns(ExchangeTable.class, "overdue", "holds", 1), "refused"),

		AN_EXCHANGE_THAT_LEAVES_ITS_TABLE_IS_NOT_OVERDUE_ANY_MORE(
				Mutation.fieldReads(ExchangeTable.class, "removed", "isOverdue", 0), "refused");

		private final Mutation mutation;

		private final String kind;

		Rule(Mutation mutation, String kind) {
			this.mutation = mutation;
			this.kind = kind;
		}

	}

	@ParameterizedTest
	@ValueSource(strings = { "key", "order", "close", "same", "future", "cancel", "refused" })
	void eachExchangeEndsOnce(String kind) {
		Exploration.of(Calls.class, kind, 2).preemptions(2).assertSound();
	}

	@Test
	@Tag("stress")
	void eachExchangeOfThreeCallersEndsOnce() {
		for (String kind : new String[] { "key", "order", "close", "same", "future", "cancel", "refused" }) {
			Exploration.of(Calls.class, kind, 3).preemptions(2).assertSoundAtRandom(10_000);
		}
	}

	@ParameterizedTest
	@EnumSource
	void noRuleCanBeDropped(Rule rule) {
		Exploration.of(Calls.class, rule.kind, 2).preemptions(2).with(rule.mutation).assertViolated();
	}

	/**
	 * Callers on one connection, whose peer replies to each request, or to none.
	 */
	static final class Calls implements Scenario {

		private static final long TIMEOUT = TimeUnit.SECONDS.toNanos(1);

		private final String kind;

		private final int callers;

		private final ExchangeTable table;

		/** Requests that were written and not replied to, in the order of the socket. */
		private final Deque<Integer> wire = new ArrayDeque<>();

		private final Object outboundMonitor = new Object();

		private int ended;

		private boolean closed;

		private int refused;

		Calls(String kind, int callers) {
			this.kind = kind;
			this.callers = callers;
			this.table = kind.equals("order") ? new OrderedExchanges(callers) : new KeyedExchanges(callers);
		}

		@Override
		public void begin() {
			for (int i = 0; i < this.callers; i++) {
				int number = i + 1;
				Interleaving.start("caller" + number, () -> call(number));
			}
			Interleaving.start("reader", this::read);
		}

		// The callers

		private void call(int number) {
			boolean awaits = !isFuture();
			// Where no time is needed, none ends what has lost its wake-up.
			long deadline = this.kind.equals("close") ? PromotionProtocol.FOREVER_NANOS
					: Clock.SYSTEM.nanoTime() + TIMEOUT;
			Exchange exchange = awaits ? Exchange.ofCaller(deadline)
					: Exchange.ofFuture(deadline, new CompletableFuture<>());
			Registration registration = this.kind.equals("order") ? callInOrder(exchange, number)
					: callByKey(exchange, number);
			if (registration != Registration.REGISTERED) {
				this.refused++;
				boolean expected = (registration == Registration.CLOSED) ? this.closed : this.kind.equals("same");
				if (!expected) {
					Interleaving.fail(registration + " for no reason");
				}
			}
			else if (this.kind.equals("refused")) {
				Interleaving.step("the request is not written");
				this.table.withdraw(exchange);
			}
			else if (awaits) {
				check(exchange, exchange.await(Clock.SYSTEM), number);
			}
			else if (this.kind.equals("cancel")) {
				Interleaving.await("the deadline", () -> false, deadline);
				if (exchange.end(Exchange.State.CANCELLED)) {
					this.table.overdue(exchange);
				}
			}
			else {
				Interleaving.await("it has ended", () -> exchange.state() != Exchange.State.PENDING);
				if (exchange.state() == Exchange.State.REPLIED) {
					check(exchange, Exchange.State.REPLIED, number);
				}
			}
			this.ended++;
		}

		private boolean isFuture() {
			return this.kind.equals("future") || this.kind.equals("cancel") || this.kind.equals("refused");
		}

		private Registration callByKey(Exchange exchange, int number) {
			if (!isRegisteredFirst()) {
				write(null, number);
			}
			Registration registration = this.table.register(exchange, this.kind.equals("same") ? 1 : number);
			if (isRegisteredFirst()) {
				write(this.kind.equals("refused") ? Registration.CLOSED : registration, number);
			}
			return registration;
		}

		private boolean isRegisteredFirst() {
			return true;
		}

		private Registration callInOrder(Exchange exchange, int number) {
			if (!isRegisteredUnderMonitor()) {
				Registration registration = this.table.register(exchange, null);
				write(registration, number);
				return registration;
			}
			synchronized (this.outboundMonitor) {
				Registration registration = this.table.register(exchange, null);
				this.wire.addLast(number);
				return registration;
			}
		}

		private boolean isRegisteredUnderMonitor() {
			return true;
		}

		private void write(@Nullable Registration registration, int number) {
			if (registration == null || registration == Registration.REGISTERED) {
				synchronized (this.outboundMonitor) {
					this.wire.addLast(number);
				}
			}
		}

		private void check(Exchange exchange, Exchange.State state, int number) {
			switch (state) {
				case REPLIED -> {
					if (exchange.reply().get(0) != number) {
						Interleaving.fail("caller " + number + " has got the reply to " + exchange.reply().get(0));
					}
				}
				case LOST -> {
					if (!this.closed) {
						Interleaving.fail("lost for no reason");
					}
				}
				default -> this.table.overdue(exchange);
			}
			if (exchange.state() != state) {
				Interleaving.fail(state + " became " + exchange.state());
			}
		}

		// The owner of the connection

		private void read() {
			boolean replies = !this.kind.equals("close") && Interleaving.choose(2) == 0;
			for (int i = 0; i < this.callers && !this.kind.equals("refused"); i++) {
				long deadline = this.table.deadlineNanos();
				boolean isFuture = deadline != ExchangeTable.NO_DEADLINE;
				if (isFuture && !replies) {
					Interleaving.await("the deadline", () -> false, deadline);
					expire();
				}
				Interleaving.await("a request", () -> !this.wire.isEmpty() || areRefused());
				if (replies && !this.wire.isEmpty()) {
					reply();
				}
			}
			if (this.kind.equals("close")) {
				this.closed = true;
				this.table.close(new ExchangeChain());
			}
			else if (isFuture()) {
				expireAll();
			}
		}

		private boolean areRefused() {
			return this.refused > 0 || this.ended > 0 || this.kind.equals("close");
		}

		private void expireAll() {
			while (this.ended < this.callers) {
				Interleaving.await("a deadline",
						() -> this.ended == this.callers || this.table.deadlineNanos() != ExchangeTable.NO_DEADLINE);
				if (this.ended < this.callers) {
					Interleaving.await("the deadline", () -> this.ended == this.callers, this.table.deadlineNanos());
					expire();
				}
			}
		}

		private void expire() {
			ExchangeChain expired = new ExchangeChain();
			this.table.expire(Clock.SYSTEM.nanoTime(), expired);
			for (Exchange each = expired.poll(); each != null; each = expired.poll()) {
				this.table.overdue(each);
			}
		}

		private void reply() {
			int number;
			synchronized (this.outboundMonitor) {
				number = this.wire.removeFirst();
			}
			Exchange exchange = this.table.take(this.kind.equals("same") ? 1 : number);
			if (exchange == null) {
				Interleaving.fail("the reply to " + number + " finds no exchange");
			}
			else {
				exchange.reply(ByteBuffer.wrap(new byte[] { (byte) number }));
			}
		}

		@Override
		public long delayNanos() {
			return 2 * TIMEOUT;
		}

		@Override
		public @Nullable String violationAtRest() {
			if (this.ended < this.callers) {
				return "a caller waits for ever";
			}
			return (this.table.pending() == 0) ? null
					: "of %d exchanges, %d are forgotten".formatted(this.table.taken(), this.table.pending());
		}

	}

}
