package org.leaderfollowers;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Locale;
import java.util.concurrent.CompletableFuture;

import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.leaderfollowers.interleavings.Exploration;
import org.leaderfollowers.interleavings.Interleaving;
import org.leaderfollowers.interleavings.Mutation;
import org.leaderfollowers.interleavings.Scenario;
import org.leaderfollowers.internal.exchange.Exchange;
import org.leaderfollowers.internal.promotion.Clock;

/**
 * The interleavings of threads that send requests, wait for places and replies, and close
 * a client, with the threads that connect, read and notice that a connection has ended.
 * The pool and the client are real; only selectors and sockets are scripted.
 */
@Tag("interleavings")
class ClientInterleavingTests {

	/**
	 * What happens, and how many preemptions there are. A thread sends a request for each
	 * of the letters. For a large one it waits for the reply, for a small one it gets a
	 * future, as soon as there is a connection. The peer replies at once, except that it
	 * ends the connection at an <em>X</em>. For each <em>!</em>, a thread closes the
	 * client; for a <em>?</em>, one waits for a free place only. For a digit, there is a
	 * thread of the pool and a connection: a future of an <em>x</em> is completed, and
	 * the thread that does this sends a request and waits for its reply.
	 */
	private enum Case {

		WAITS("A", 1),

		WAITS_FOR_A_PLACE("AB", 0),

		WAITS_FOR_A_PLACE_BEHIND_A_FUTURE("aB", 0),

		WAITS_ONLY_FOR_A_PLACE("aB?", 0),

		LOSES("X", 0),

		LOSES_A_FUTURE("x", 1),

		WAITS_FOR_A_PLACE_OF_A_NEW_CONNECTION("XB", 0),

		CLOSES("A!", 0),

		CLOSES_WITH_A_FUTURE("a!", 0),

		CLOSES_WHILE_A_CALLER_WAITS_FOR_A_PLACE("AB!", 0),

		CLOSES_A_LOST_CONNECTION("x!", 0),

		CLOSES_TWICE("A!!", 0),

		GIVES_UP_A_PLACE("1", 1),

		ONE_OF_TWO_GIVES_UP("12", 0);

		private final String options;

		private final int preemptions;

		Case(String options, int preemptions) {
			this.options = options;
			this.preemptions = preemptions;
		}

		Exploration exploration() {
			return Exploration.of(Callers.class, this.options)
				.preemptions(this.preemptions)
				.adapted(Mutation.calledInstead(ClientConnections.class, "connect", "open#1", Callers.class, "socket"),
						Mutation.callReturns(PeerAddress.class, "failed", "nextLong", 0))
				.adapted(ConnectionInterleavingTests.OF_A_POOL);
		}

	}

	private enum Rule {

		A_CALLER_COUNTS_AS_WAITING_BEFORE_IT_LOOKS(Case.WAITS_FOR_A_PLACE,
				Mutation.movedBehind(Places.class, "await", "waiting", "getAsBoolean")),

		A_FREE_PLACE_IS_ANNOUNCED(Case.WAITS_FOR_A_PLACE, Mutation.withoutCall(Places.class, "freed", "notify")),

		A_REPLY_FREES_A_PLACE(Case.WAITS_FOR_A_PLACE, Mutation.withoutCall(Exchanges.class, "deliver", "changed")),

		A_CALLER_THAT_TAKES_NO_PLACE_PASSES_IT_ON(Case.WAITS_ONLY_FOR_A_PLACE,
				Mutation.withoutCall(ClientLifecycle.class, "awaitConnected", "freed")),

		A_NEW_CONNECTION_IS_ANNOUNCED(Case.WAITS, Mutation.withoutCall(ClientConnections.class, "opened", "changed")),

		AN_END_IS_LOOKED_AT(Case.WAITS_FOR_A_PLACE_OF_A_NEW_CONNECTION,
				Mutation.withoutCall(ClientLifecycle.class, "connectionClosed", "look")),

		A_CALLER_IS_WOKEN_WHEN_ITS_EXCHANGE_ENDS(Case.WAITS, Mutation.withoutCall(Exchange.class, "end", "unpark")),

		THE_LAST_REPLY_WAKES_THE_CLOSER(Case.CLOSES_WITH_A_FUTURE,
				Mutation.withoutCall(ClientConnections.class, "changed", "changed")),

		THE_CLOSER_WAKES_THE_OTHERS(Case.CLOSES_TWICE, Mutation.withoutCall(ClientLifecycle.class, "end", "changed")),

		A_THREAD_GIVES_UP_IF_NO_OTHER_CAN_CONNECT(Case.GIVES_UP_A_PLACE,
				Mutation.callReturns(ClientLifecycle.class, "awaitPlace", "mustGiveUp", 0)),

		ONE_OF_THE_LAST_THREADS_GIVES_UP(Case.ONE_OF_TWO_GIVES_UP,
				Mutation.callReturns(ClientLifecycle.class, "awaitPlace", "mustGiveUp", 0)),

		A_THREAD_THAT_GIVES_UP_COUNTS_AS_FREE(Case.ONE_OF_TWO_GIVES_UP,
				Mutation.fieldReads(PoolThreads.class, "lambda$mustGiveUp$0", "waitsForPlace", 1)),

		A_THREAD_THAT_DOES_NOT_WAIT_IS_FREE(Case.ONE_OF_TWO_GIVES_UP,
				Mutation.callReturns(ClientLifecycle.class, "awaitPlace", "mustGiveUp", 1));

		private final Case calls;

		private final Mutation mutation;

		Rule(Case calls, Mutation mutation) {
			this.calls = calls;
			this.mutation = mutation;
		}

	}

	@ParameterizedTest
	@EnumSource
	void noRuleCanBeDropped(Rule rule) {
		rule.calls.exploration().preemptions(rule.calls.preemptions + 1).with(rule.mutation).assertViolated();
	}

	@ParameterizedTest
	@EnumSource
	void everyRequestEnds(Case calls) {
		calls.exploration().assertSound();
	}

	@ParameterizedTest
	@EnumSource
	@Tag("stress")
	void everyRequestEndsAtRandom(Case calls) {
		calls.exploration().assertSoundAtRandom(2_000);
	}

	/** A client with one place, its peer, and the threads that use it. */
	static final class Callers implements Scenario {

		private static final Duration GRACE = Duration.ofHours(1);

		private static @Nullable Callers latest;

		private final String options;

		private final ScriptedSelectors selectors = new ScriptedSelectors(Clock.SYSTEM);

		private final TcpClient client;

		/** The letters of the requests that were replied to, and of the others. */
		private final StringBuffer replied = new StringBuffer();

		private final StringBuffer failed = new StringBuffer();

		/** Those of threads of the pool that could not wait for a place. */
		private final StringBuffer rejected = new StringBuffer();

		/** Those of requests that have a reason to fail. */
		private final StringBuffer late = new StringBuffer();

		/** How many threads have closed the client, and with which result. */
		private final StringBuffer closed = new StringBuffer();

		private volatile boolean hasLooked;

		Callers(String options) {
			this.options = options;
			LeaderFollowersPool pool = LeaderFollowersPool.builder()
				.name("explored")
				.threads(threads(options), threads(options))
				.handleSets(1)
				.parallelism(9)
				.maxBufferedBytes(1 << 20)
				.stuckAfter(Duration.ZERO)
				.slowHandlerAfter(Duration.ZERO)
				.selectorProvider(this.selectors)
				.build();
			this.client = TcpClient.builder(pool)
				.name("explored")
				.address(new InetSocketAddress(2))
				.framing(Framing.line())
				.correlation(Correlation.inOrder())
				.maxInFlight(1)
				.connections(threads(options))
				.requestTimeout(GRACE)
				.build();
			latest = this;
		}

		/** The number of threads of the pool, and of connections. */
		private static int threads(String options) {
			return Math.max(1, nested(options));
		}

		private static int nested(String options) {
			return options.replaceAll("\\D", "").length();
		}

		/** A socket of the peer, which replies at once. */
		private final class Peer extends ScriptedSelectors.Socket {

			private int answered;

			Peer() throws IOException {
				Callers.this.selectors.super(64);
				makeRoom(64);
			}

			@Override
			public int write(ByteBuffer source) throws IOException {
				int count = super.write(source);
				String requests = written().substring(this.answered);
				if (requests.endsWith("\n")) {
					this.answered += requests.length();
					answer(requests);
				}
				return count;
			}

			private void answer(String requests) {
				if (requests.toUpperCase(Locale.ROOT).contains("X")) {
					end();
				}
				else {
					receive(requests);
				}
			}

		}

		static SocketChannel socket() throws IOException {
			return latest.new Peer();
		}

		@Override
		public void begin() {
			this.client.start();
			this.options.chars().forEach((option) -> start((char) option));
		}

		private void start(char option) {
			switch (option) {
				case '!' ->
					Interleaving.start("closes", () -> this.closed.append(this.client.close(GRACE) ? '+' : '-'));
				case '?' ->
					Interleaving.start("looks", () -> this.hasLooked = this.client.awaitConnected(GRACE) || isLate());
				case '1', '2' -> Interleaving.start("nests " + option, () -> nest(option));
				default -> Interleaving.start("asks " + option, () -> ask(option));
			}
		}

		private void ask(char letter) {
			ByteBuffer request = Engine.bytes(String.valueOf(letter));
			try {
				if (Character.isUpperCase(letter)) {
					ended(letter, this.client.exchange(request));
				}
				else {
					this.client.awaitConnected(GRACE);
					CompletableFuture<ByteBuffer> reply = this.client.exchangeAsync(request);
					reply.whenComplete((payload, failure) -> {
						if (failure instanceof ExchangeRejectedException) {
							// Another caller has taken the place meanwhile.
							this.late.append(letter);
						}
						else {
							ended(letter, payload);
						}
					});
				}
			}
			catch (ExchangeException ex) {
				ended(letter, null);
			}
		}

		private void nest(char digit) {
			this.client.awaitConnected(GRACE);
			this.client.exchangeAsync(Engine.bytes("x")).whenComplete((payload, lost) -> {
				try {
					ended(digit, this.client.exchange(Engine.bytes(String.valueOf(digit))));
				}
				catch (ExchangeRejectedException ex) {
					((isLate()) ? this.late : this.rejected).append(digit);
				}
				catch (ExchangeException ex) {
					ended(digit, null);
				}
			});
		}

		private void ended(char letter, @Nullable ByteBuffer reply) {
			if (reply == null) {
				(isLate() ? this.late : this.failed).append(letter);
			}
			else if (!StandardCharsets.US_ASCII.decode(reply).toString().equals(String.valueOf(letter))) {
				Interleaving.fail("the reply to another request");
			}
			else {
				this.replied.append(letter);
			}
		}

		/** Whether time has passed although threads could go on. */
		private static boolean isLate() {
			return Interleaving.nanoTime() > GRACE.toNanos();
		}

		@Override
		public long delayNanos() {
			// An address that has failed is tried again after a pause.
			return Duration.ofSeconds(1).toNanos();
		}

		@Override
		public @Nullable String violationAtRest() {
			boolean closes = this.options.contains("!");
			String letters = this.options.replaceAll("[!?]", "");
			if (this.replied.length() + this.failed.length() + this.late.length() + this.rejected.length() != letters
				.length()) {
				return "replied to %s, failed %s, rejected %s of %s".formatted(this.replied, this.failed, this.rejected,
						letters);
			}
			if (!closes && !this.failed.toString().matches("[xX\\d]*")) {
				return "failed without need: " + this.failed;
			}
			if (this.rejected.length() > 1) {
				return "more than one thread has given up: " + this.rejected;
			}
			if (!closes && this.client.snapshot().connected() != threads(this.options)) {
				return "not connected";
			}
			if (this.options.contains("?") && !this.hasLooked) {
				return "a place is not found";
			}
			if (this.closed.length() != this.options.length() - this.options.replace("!", "").length()) {
				return "a thread waits for the end";
			}
			ClientSnapshot snapshot = this.client.snapshot();
			if (closes && (snapshot.state() != ClientSnapshot.State.CLOSED || snapshot.connected() != 0)) {
				return "not closed: " + snapshot;
			}
			long counted = snapshot.exchanges().values().stream().mapToLong(Long::longValue).sum();
			if (counted != letters.length() + nested(letters)) {
				return "counted %s of %s".formatted(snapshot.exchanges(), letters);
			}
			return (snapshot.inFlight() != 0 || snapshot.waiting() != 0) ? "under way: " + snapshot : null;
		}

	}

}
