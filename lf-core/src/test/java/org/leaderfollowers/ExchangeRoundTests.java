package org.leaderfollowers;

import java.io.IOException;
import java.lang.reflect.Field;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.channels.SelectionKey;
import java.nio.channels.SocketChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.function.BiConsumer;
import java.util.function.Consumer;

import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.leaderfollowers.internal.buffer.MemoryBudget;
import org.leaderfollowers.internal.exchange.Exchange;
import org.leaderfollowers.internal.exchange.Exchange.State;
import org.leaderfollowers.internal.exchange.OrderedExchanges;
import org.leaderfollowers.internal.promotion.Follower;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

/**
 * Tests how the requests of a connection end, and that everybody concerned is told. The
 * pool has no threads: the test is the leader of its handle set and the owner of the
 * connection, and decides what the peer sends.
 */
class ExchangeRoundTests {

	private static final Duration TIMEOUT = Duration.ofSeconds(10);

	private static final int PLACES = 4;

	private static final int MAX_OUTBOUND = 1024;

	private final TestClock clock = new TestClock();

	private final LeaderFollowersPool pool = LeaderFollowersPool.builder()
		.name("test")
		.threads(1, 1)
		.maxBufferedBytes(1 << 20)
		.clock(this.clock)
		.build();

	private final MemoryBudget memory = this.pool.memory();

	private final List<String> seen = new ArrayList<>();

	private final TcpServer server = TcpServer.builder(this.pool)
		.framing(Framing.line())
		.maxMessageSize(100)
		.maxOutboundSize(MAX_OUTBOUND)
		.handler((connection, message) -> {
			this.seen.add(Engine.text(message));
			try {
				this.onMessage.run();
			}
			catch (Throwable ex) {
				this.failure = ex;
				throw ex;
			}
		})
		.build();

	private Runnable onMessage = () -> {
	};

	/** What the handler has thrown. */
	private @Nullable Throwable failure;

	private final Told told = new Told();

	private Consumer<Exchange> onWait = (exchange) -> {
	};

	private final Participant me = new Participant(1, new Follower(1, Thread.currentThread()), Thread.currentThread(),
			true, null, (participant, exchange) -> {
				this.onWait.accept(exchange);
				return exchange.state();
			}, this.memory, 0);

	private SocketChannel channel;

	private ScriptedTransport transport;

	private TcpConnection connection;

	private Exchanges exchanges;

	private HandleSet set;

	/** What the client or server is told about its exchanges. */
	private static final class Told implements Exchanges.ExchangeListener {

		private final List<State> ended = new ArrayList<>();

		private int late;

		private int losses;

		private int changes;

		private int maxOverdue = PLACES;

		private @Nullable Error failure;

		@Override
		public void ended(State state) {
			fail();
			this.ended.add(state);
		}

		@Override
		public void late() {
			this.late++;
		}

		@Override
		public void lost() {
			this.losses++;
		}

		@Override
		public void changed() {
			fail();
			this.changes++;
		}

		private void fail() {
			if (this.failure != null) {
				throw this.failure;
			}
		}

		@Override
		public int maxOverdue() {
			return this.maxOverdue;
		}

	}

	private void open() throws IOException {
		open(Correlation.byKey((message) -> {
			String text = Engine.text(message);
			if (text.startsWith("!")) {
				throw new IllegalStateException("made for the test");
			}
			return text.contains(":") ? text.substring(0, text.indexOf(':')) : null;
		}));
	}

	private void open(Correlation correlation) throws IOException {
		this.channel = SocketChannel.open();
		this.channel.configureBlocking(false);
		this.transport = new ScriptedTransport(this.channel);
		InetSocketAddress address = new InetSocketAddress(1);
		ConnectionContext context = this.server.life.context();
		this.connection = new TcpConnection(context, this.channel, this.transport, address, address);
		this.exchanges = new Exchanges(correlation, PLACES, this.connection, this.told);
		this.connection.exchanges = this.exchanges;
		context.server().started();
		context.registry().add(this.connection);
		this.set = this.connection.handle.handleSet();
		this.connection.handle.request(SelectableHandle.REGISTER);
		this.set.applyUpdates();
		this.me.enter();
		round();
		assertThat(this.connection.opened).isTrue();
	}

	@AfterEach
	void close() throws IOException {
		this.me.withdraw();
		this.channel.close();
		this.pool.close();
		assertThat(this.failure).isNull();
	}

	private void round() {
		this.me.begin(this.connection.handle);
		int rounds = 0;
		do {
			assertThat(rounds++).isLessThan(100);
			if (this.connection.prepare(this.me)) {
				this.connection.dispatch(this.me);
			}
		}
		while (!this.connection.release(this.me));
		this.me.worksOn(null);
	}

	private boolean lead() {
		this.set.applyUpdates();
		return this.set.ready.take() != null;
	}

	private void receive(String lines) {
		this.transport.receive(lines);
		this.set.applyUpdates();
		this.set.demultiplex(this.connection.handle, SelectionKey.OP_READ);
		assertThat(lead()).isTrue();
		round();
	}

	private CompletableFuture<ByteBuffer> ask(String request) {
		return this.connection.exchangeAsync(Engine.bytes(request), TIMEOUT);
	}

	private CompletableFuture<ByteBuffer> relayed(String request) {
		return this.exchanges.exchangeAsync(Engine.bytes(request), TIMEOUT.toNanos(), true);
	}

	private @Nullable CloseReason reason() {
		CloseSequence end = this.connection.closing;
		return (end != null) ? end.reason() : null;
	}

	/** Expects that threads that wait for a place or for the end are told. */
	private void assertChanged(Runnable action) {
		int before = this.told.changes;
		action.run();
		assertThat(this.told.changes).isGreaterThan(before);
	}

	@Test
	void replyFreesAPlaceAndIsCounted() throws IOException {
		open();
		CompletableFuture<ByteBuffer> reply = ask("a:?");
		assertThat(this.exchanges.taken()).isOne();
		assertChanged(() -> receive("a:!\n"));
		assertThat(reply).isCompletedWithValueMatching((message) -> Engine.text(message).equals("a:!"));
		assertThat(this.told.ended).containsExactly(State.REPLIED);
		assertThat(this.exchanges.taken()).isZero();
		assertThat(this.exchanges.hasEnded()).isFalse();
		assertThat(this.seen).isEmpty();
	}

	/** The owner may have paused the handle before a reply was awaited. */
	@Test
	void ownerOfAPausedConnectionLooksWhenAReplyIsAwaited() throws IOException {
		open();
		this.connection.suspend();
		receive("");
		assertThat(this.connection.handle.isPaused()).isTrue();
		assertThat(lead()).isFalse();
		ask("a:?");
		assertThat(lead()).isTrue();
	}

	/** Until then, it reads nothing from a connection that drains. */
	@Test
	void threadThatWaitsInAHandlerReadsWhenADrainingConnectionAwaitsAReply() throws IOException {
		open();
		this.connection.readBy(this.me.boundInput);
		ask("a:?");
		assertThat(this.me.boundInput.isWanted()).isFalse();
		this.connection.drains = true;
		ask("b:?");
		assertThat(this.me.boundInput.isWanted()).isTrue();
	}

	/** The caller learns that the peer has not executed it. */
	@Test
	void requestOnAConnectionThatIsAboutToCloseIsRejected() throws IOException {
		open();
		this.connection.requestClose(CloseReason.LOCAL, null);
		assertThat(ask("a:?")).isCompletedExceptionally();
		assertThat(this.exchanges.taken()).isZero();
		assertThat(this.told.ended).containsExactly(State.REFUSED);
	}

	@Test
	void requestThatTimesOutBeforeTheTimerGetsATimer() throws IOException {
		open();
		assertThat(lead()).isFalse();
		ask("a:?");
		this.set.applyUpdates();
		assertThat(this.connection.handle.timerDeadline - this.clock.nanoTime()).isLessThanOrEqualTo(TIMEOUT.toNanos());
	}

	@ParameterizedTest
	@ValueSource(booleans = { false, true })
	void requestThatThePeerDoesNotReadLeavesItsPlace(boolean waits) throws IOException {
		open();
		this.onWait = (exchange) -> receive("a:!\n");
		this.connection.exchange(Engine.bytes("a:?"), TIMEOUT);
		this.told.ended.clear();
		this.onWait = (exchange) -> {
		};
		this.transport.room = 0;
		this.connection.outbound.send(ByteBuffer.allocate(MAX_OUTBOUND));
		assertChanged(() -> {
			if (waits) {
				assertThatExceptionOfType(ExchangeRejectedException.class)
					.isThrownBy(() -> this.connection.exchange(Engine.bytes("a:?"), TIMEOUT))
					.withMessageContaining("maxOutboundSize");
			}
			else {
				assertThat(ask("a:?")).isCompletedExceptionally();
			}
		});
		assertThat(this.exchanges.taken()).isZero();
		assertThat(this.told.ended).containsExactly(State.REFUSED);
	}

	/** For example because memory is short. */
	@ParameterizedTest
	@ValueSource(booleans = { false, true })
	void requestWhoseCallerCannotWaitIsGivenUp(boolean held) throws IOException {
		open();
		OutOfMemoryError failure = new OutOfMemoryError("made for the test");
		this.onWait = (exchange) -> {
			throw failure;
		};
		assertThat(!held || this.exchanges.holdRequests()).isTrue();
		assertThatExceptionOfType(OutOfMemoryError.class)
			.isThrownBy(() -> this.connection.exchange(Engine.bytes("a:?"), TIMEOUT))
			.isSameAs(failure);
		assertThat(this.told.ended).containsExactly(State.CANCELLED);
		if (held) {
			assertChanged(this.exchanges::letRequestsGo);
			assertThat(this.transport.written).as("a request that nobody waits for").isZero();
			assertThat(this.exchanges.taken()).isZero();
		}
		else {
			assertChanged(() -> receive("a:!\n"));
			assertThat(this.told.late).isOne();
			assertThat(this.exchanges.taken()).isZero();
			assertThat(this.seen).containsExactly("a:!");
		}
	}

	/** Otherwise their callers would try the next connection of a slow peer, too. */
	@Test
	void requestsThatAreRefusedTogetherAreAllToldThatThePeerDoesNotRead() throws IOException {
		open();
		this.transport.room = 0;
		this.connection.outbound.send(ByteBuffer.allocate(MAX_OUTBOUND));
		assertThat(this.exchanges.holdRequests()).isTrue();
		this.onWait = (first) -> {
			this.onWait = (second) -> this.exchanges.letRequestsGo();
			assertThatThePeerDoesNotRead("b:?");
		};
		assertThatThePeerDoesNotRead("a:?");
	}

	private void assertThatThePeerDoesNotRead(String request) {
		assertThatExceptionOfType(ExchangeRejectedException.class)
			.isThrownBy(() -> this.connection.exchange(Engine.bytes(request), TIMEOUT))
			.withMessageContaining("maxOutboundSize");
	}

	/** It may be sent on another connection. */
	@Test
	void requestThatIsNotWrittenBecauseTheConnectionClosesIsToldSo() throws IOException {
		open();
		this.connection.outbound.close();
		assertThatExceptionOfType(ExchangeRejectedException.class)
			.isThrownBy(() -> this.connection.exchange(Engine.bytes("a:?"), TIMEOUT))
			.withMessageEndingWith("the connection is closed");
	}

	@Test
	void requestMayBeLargerThanTheBuffersOfItsThread() throws IOException {
		open();
		String request = "a:" + "x".repeat(Participant.LARGEST_OUTPUT);
		this.onWait = (exchange) -> exchange.end(State.LOST);
		assertThatExceptionOfType(ExchangeLostException.class)
			.isThrownBy(() -> this.connection.exchange(Engine.bytes(request), TIMEOUT));
		assertThat(this.transport.written).isEqualTo(request.length() + 1);
		assertThat(reason()).isNull();
	}

	@Test
	void requestThatCannotBeEncodedLeavesItsPlace() throws IOException {
		open();
		assertChanged(() -> assertThatExceptionOfType(RuntimeException.class)
			.isThrownBy(() -> ask("a:" + "x".repeat(10) + "\n")));
		assertThat(this.exchanges.taken()).isZero();
	}

	/** A place may have been taken for a moment. */
	@Test
	void waitingCallersAreToldIfTheCorrelationFails() throws IOException {
		open();
		assertChanged(() -> assertThatIllegalStateException().isThrownBy(() -> ask("!")));
		assertThat(this.exchanges.taken()).isZero();
	}

	@Test
	void requestBeyondTheLimitIsRejected() throws IOException {
		open();
		for (int i = 0; i < PLACES; i++) {
			assertThat(this.exchanges.hasPlace()).isTrue();
			assertThat(ask(i + ":?")).isNotDone();
		}
		assertThat(this.exchanges.hasPlace()).isFalse();
		assertThat(ask("x:?")).isCompletedExceptionally();
		assertThat(this.told.ended).containsExactly(State.REFUSED);
	}

	@Test
	void callerIsRejectedBeyondTheLimitOfRepliesInOrder() throws IOException {
		open(Correlation.inOrder());
		for (int i = 0; i < PLACES; i++) {
			assertThat(ask("a")).isNotDone();
		}
		assertThatExceptionOfType(ExchangeRejectedException.class)
			.isThrownBy(() -> this.connection.exchange(Engine.bytes("x"), TIMEOUT));
		assertThat(this.told.ended).containsExactly(State.REFUSED);
	}

	/** Nothing would ever end it, because it was not registered. */
	@Test
	void requestBehindAReplyThatCannotBeWrittenIsRejected() throws IOException {
		open(Correlation.inOrder());
		ByteBuffer gathered = Engine.bytes("reply\n");
		this.connection.outbound.cork(gathered, 0, gathered.limit());
		this.transport.failure = new IOException("made for the test");
		assertThat(ask("a")).isCompletedExceptionally();
		assertThat(this.told.ended).containsExactly(State.REFUSED);
		assertThat(reason()).isEqualTo(CloseReason.IO_ERROR);
	}

	@Test
	void requestIsWrittenOnceAlthoughAnotherOneFollowsBeforeItsReply() throws IOException {
		open(Correlation.inOrder());
		List<String> replies = new ArrayList<>();
		this.onWait = (first) -> {
			this.onWait = (second) -> receive("1\n2\n");
			replies.add(Engine.text(this.connection.exchange(Engine.bytes("b"), TIMEOUT)));
		};
		replies.add(Engine.text(this.connection.exchange(Engine.bytes("a"), TIMEOUT)));
		assertThat(replies).containsExactly("2", "1");
		assertThat(this.transport.written).isEqualTo("a\nb\n".length());
	}

	@Test
	void callerIsToldTheOutcomeThatIsCounted() throws IOException {
		open();
		this.onWait = (exchange) -> exchange.end(State.LOST);
		assertThatExceptionOfType(ExchangeLostException.class)
			.isThrownBy(() -> this.connection.exchange(Engine.bytes("a:?"), TIMEOUT));
		this.onWait = (exchange) -> exchange.end(State.TIMED_OUT);
		assertThatExceptionOfType(ExchangeTimeoutException.class)
			.isThrownBy(() -> this.connection.exchange(Engine.bytes("b:?"), TIMEOUT));
		this.onWait = (exchange) -> receive("c:!\n");
		assertThat(Engine.text(this.connection.exchange(Engine.bytes("c:?"), TIMEOUT))).isEqualTo("c:!");
		assertThat(this.told.ended).containsExactly(State.LOST, State.TIMED_OUT, State.REPLIED);
	}

	@Test
	void lateReplyIsCountedAndGoesToTheHandler() throws IOException {
		open();
		CompletableFuture<ByteBuffer> reply = ask("a:?");
		assertChanged(() -> reply.cancel(false));
		assertThat(this.told.ended).containsExactly(State.CANCELLED);
		assertThat(this.exchanges.pending()).isZero();
		assertThat(this.exchanges.taken()).isOne();
		assertChanged(() -> receive("a:!\n"));
		assertThat(this.told.late).isOne();
		assertThat(this.told.ended).hasSize(1);
		assertThat(this.seen).containsExactly("a:!");
		ask("b:?");
		assertThat(this.exchanges.pending()).isOne();
	}

	@Test
	void peerMayOweAsManyRepliesAsAllowed() throws IOException {
		open();
		this.told.maxOverdue = 1;
		ask("a:?").cancel(false);
		receive("a:!\n");
		ask("b:?").cancel(false);
		assertThat(reason()).isNull();
		ask("c:?").cancel(false);
		assertThat(reason()).isEqualTo(CloseReason.EXCHANGE_TIMEOUT);
		assertThat(lead()).isTrue();
	}

	@Test
	void futureTimesOutAtItsDeadline() throws IOException {
		open();
		CompletableFuture<ByteBuffer> reply = ask("a:?");
		this.clock.advance(TIMEOUT.minusNanos(1));
		receive("");
		assertThat(reply).isNotDone();
		this.clock.advance(Duration.ofNanos(1));
		assertChanged(() -> receive(""));
		assertThat(reply).isCompletedExceptionally();
		assertThat(this.told.ended).containsExactly(State.TIMED_OUT);
		assertThat(reason()).isNull();
	}

	/** The next reply could be matched with the wrong request. */
	@Test
	void requestThatTimesOutEndsAConnectionWhoseRepliesComeInOrder() throws IOException {
		open(Correlation.inOrder());
		ask("a");
		this.clock.advance(TIMEOUT);
		receive("");
		assertThat(this.told.ended).containsExactly(State.TIMED_OUT);
		assertThat(reason()).isEqualTo(CloseReason.EXCHANGE_TIMEOUT);
	}

	@Test
	void cancelledRequestDoesNotEndAConnectionWhoseRepliesComeInOrder() throws IOException {
		open(Correlation.inOrder());
		CompletableFuture<ByteBuffer> cancelled = ask("a");
		CompletableFuture<ByteBuffer> reply = ask("b");
		cancelled.cancel(false);
		assertThat(reason()).isNull();
		receive("1\n2\n");
		assertThat(reply).isCompletedWithValueMatching((message) -> Engine.text(message).equals("2"));
		assertThat(this.seen).containsExactly("1");
	}

	/** No reply to such a request can be matched with another one. */
	@ParameterizedTest
	@ValueSource(booleans = { false, true })
	void requestThatTimesOutBeforeItIsWrittenIsNotWritten(boolean isInOrder) throws IOException {
		if (isInOrder) {
			open(Correlation.inOrder());
		}
		else {
			open();
		}
		int before = this.transport.written;
		assertThat(this.exchanges.holdRequests()).isTrue();
		this.onWait = (exchange) -> exchange.end(State.TIMED_OUT);
		assertThatExceptionOfType(ExchangeTimeoutException.class)
			.isThrownBy(() -> this.connection.exchange(Engine.bytes("a:?"), TIMEOUT));
		int changes = this.told.changes;
		this.exchanges.letRequestsGo();
		assertThat(this.told.changes - changes).isEqualTo(isInOrder ? 0 : 1);
		assertThat(this.transport.written).isEqualTo(before);
		assertThat(this.exchanges.taken()).isZero();
		assertThat(reason()).isNull();
		ask("b:?");
		assertThat(this.exchanges.pending()).isOne();
	}

	@Test
	void requestsAreNotHeldBackAfterAFailureToWriteThem() throws IOException {
		open();
		assertThat(this.exchanges.holdRequests()).isTrue();
		this.transport.failure = new OutOfMemoryError("made for the test");
		this.onWait = (exchange) -> {
			assertThatExceptionOfType(OutOfMemoryError.class).isThrownBy(this.exchanges::letRequestsGo);
			exchange.end(State.LOST);
		};
		assertThatExceptionOfType(ExchangeLostException.class)
			.isThrownBy(() -> this.connection.exchange(Engine.bytes("a:?"), TIMEOUT));
		assertThat(this.exchanges.holdRequests()).isTrue();
	}

	/** Otherwise the others would wait, and be written with the next ones. */
	@Test
	void allRequestsAreRefusedAlthoughNobodyCanBeTold() throws IOException {
		refuseTwoRequests((first, second) -> {
			this.told.failure = new OutOfMemoryError("made for the test");
			assertThatExceptionOfType(OutOfMemoryError.class).isThrownBy(this.exchanges::letRequestsGo);
			this.told.failure = null;
			assertThat(List.of(first.state(), second.state())).containsOnly(State.REFUSED);
		});
	}

	/** Each time, one of those who wait for a place wakes up. */
	@Test
	void asManyAreToldAsRequestsAreRefused() throws IOException {
		refuseTwoRequests((first, second) -> {
			int before = this.told.changes;
			this.exchanges.letRequestsGo();
			assertThat(this.told.changes).isEqualTo(before + 2);
		});
	}

	/** Sends two requests, which are held back, to a peer that does not read. */
	private void refuseTwoRequests(BiConsumer<Exchange, Exchange> write) throws IOException {
		open();
		this.transport.room = 0;
		this.connection.send(Engine.bytes("x".repeat(MAX_OUTBOUND)));
		assertThat(this.exchanges.holdRequests()).isTrue();
		this.onWait = (first) -> {
			this.onWait = (second) -> write.accept(first, second);
			assertThatExceptionOfType(ExchangeRejectedException.class)
				.isThrownBy(() -> this.connection.exchange(Engine.bytes("b:?"), TIMEOUT));
		};
		assertThatExceptionOfType(ExchangeRejectedException.class)
			.isThrownBy(() -> this.connection.exchange(Engine.bytes("a:?"), TIMEOUT));
		assertThat(this.exchanges.taken()).isZero();
		assertThat(reason()).isNull();
	}

	/** The table does not have them, so nothing else would end them. */
	@Test
	void requestsAreRefusedIfTheyCannotBeRegistered() throws Exception {
		open(Correlation.inOrder());
		Field table = Exchanges.class.getDeclaredField("table");
		Field waiting = OrderedExchanges.class.getDeclaredField("waiting");
		table.setAccessible(true);
		waiting.setAccessible(true);
		waiting.set(table.get(this.exchanges), new ArrayDeque<Exchange>() {

			@Override
			public void addLast(Exchange exchange) {
				throw new OutOfMemoryError("made for the test");
			}

		});
		assertThat(this.exchanges.holdRequests()).isTrue();
		this.onWait = (first) -> {
			this.onWait = (second) -> {
				assertThatExceptionOfType(OutOfMemoryError.class).isThrownBy(this.exchanges::letRequestsGo);
				assertThat(List.of(first.state(), second.state())).containsOnly(State.REFUSED);
			};
			assertThatExceptionOfType(ExchangeException.class)
				.isThrownBy(() -> this.connection.exchange(Engine.bytes("b"), TIMEOUT));
		};
		assertThatExceptionOfType(ExchangeException.class)
			.isThrownBy(() -> this.connection.exchange(Engine.bytes("a"), TIMEOUT));
		assertThat(this.exchanges.taken()).isZero();
		assertThat(reason()).isEqualTo(CloseReason.IO_ERROR);
	}

	@Test
	void replyToAMessageOfTheHandlerIsNotLate() throws IOException {
		open(Correlation.inOrder());
		this.exchanges.sendForHandler(Engine.bytes("login"));
		assertThat(this.exchanges.taken()).isOne();
		assertThat(this.exchanges.pending()).isZero();
		CompletableFuture<ByteBuffer> reply = ask("a");
		assertThat(this.exchanges.pending()).isOne();
		receive("welcome\nb\n");
		assertThat(this.seen).containsExactly("welcome");
		assertThat(reply).isCompletedWithValueMatching((message) -> Engine.text(message).equals("b"));
		assertThat(this.exchanges.taken()).isZero();
		assertThat(this.told.ended).containsExactly(State.REPLIED);
		assertThat(this.told.late).isZero();
	}

	@Test
	void requestsOfAConnectionThatEndsAreLostAndCounted() throws IOException {
		open();
		List<CompletableFuture<ByteBuffer>> replies = List.of(ask("a:?"), ask("b:?"), ask("c:?"));
		replies.get(0).cancel(false);
		assertChanged(() -> assertThat(this.exchanges.close()).isTrue());
		assertThat(this.told.ended).containsExactly(State.CANCELLED, State.LOST, State.LOST);
		assertThat(replies.get(1)).isNotDone();
		this.exchanges.completeEnded();
		assertThat(replies).allMatch(CompletableFuture::isCompletedExceptionally);
		assertThat(this.exchanges.hasEnded()).isFalse();
		assertThat(this.exchanges.pending()).isZero();
		assertThat(this.exchanges.taken()).isZero();
	}

	/**
	 * A handler that waits ends the exchanges of its connection with every look. If each
	 * of them requested another look, its thread would go in circles.
	 */
	@Test
	void everyFutureIsCompletedAlthoughItsLossCouldNotBeCounted() throws IOException {
		open();
		List<CompletableFuture<ByteBuffer>> replies = List.of(ask("a:?"), ask("b:?"), relayed("c:?"));
		this.told.failure = new OutOfMemoryError("made for the test");
		for (int i = 0; i < replies.size(); i++) {
			assertThatExceptionOfType(OutOfMemoryError.class).isThrownBy(this.exchanges::close);
			assertThat(this.exchanges.hasEnded()).isTrue();
		}
		this.told.failure = null;
		assertThat(this.exchanges.close()).isTrue();
		this.exchanges.completeEnded();
		assertThat(replies).allMatch(CompletableFuture::isCompletedExceptionally);
		assertThat(this.exchanges.hasEnded()).isFalse();
	}

	/** Otherwise no thread could claim the connection, and the futures would be lost. */
	@ParameterizedTest
	@ValueSource(booleans = { false, true })
	void connectionThatCouldNotBeAbandonedIsClosedByTheNextOwner(boolean isAbandonedAgain) throws IOException {
		open();
		List<CompletableFuture<ByteBuffer>> replies = List.of(ask("a:?"), ask("b:?"));
		this.told.failure = new OutOfMemoryError("made for the test");
		assertThatExceptionOfType(OutOfMemoryError.class).isThrownBy(this.connection::abandon);
		this.told.failure = null;
		if (isAbandonedAgain) {
			this.connection.abandon();
		}
		else {
			assertThat(lead()).isTrue();
			round();
		}
		assertThat(replies).allMatch(CompletableFuture::isCompletedExceptionally);
		assertThat(this.connection.whenClosed()).isDone();
		assertThat(this.channel.isOpen()).isFalse();
	}

	/** Otherwise a client would not connect again. */
	@Test
	void endIsReportedAfterFuturesOfARoundThatFailedWhenTheSocketWasClosed() throws IOException {
		open();
		CompletableFuture<ByteBuffer> reply = ask("a:?");
		OutOfMemoryError failure = new OutOfMemoryError("made for the test");
		this.told.failure = failure;
		assertThatExceptionOfType(OutOfMemoryError.class).isThrownBy(this.exchanges::close);
		this.told.failure = null;
		this.connection.drain();
		assertThat(lead()).isTrue();
		assertThat(this.connection.failed(this.me, failure)).isTrue();
		// Closes the socket.
		assertThatExceptionOfType(OutOfMemoryError.class).isThrownBy(() -> this.connection.failed(this.me, failure));
		round();
		assertThat(reply).isCompletedExceptionally();
		assertThat(this.connection.closing.isReported()).isTrue();
	}

	@Test
	void futureTimesOutAlthoughThisCouldNotBeCounted() throws IOException {
		open();
		List<CompletableFuture<ByteBuffer>> replies = List.of(ask("a:?"), ask("b:?"));
		this.clock.advance(TIMEOUT);
		this.told.failure = new OutOfMemoryError("made for the test");
		assertThatExceptionOfType(OutOfMemoryError.class)
			.isThrownBy(() -> this.exchanges.expire(this.clock.nanoTime()));
		this.told.failure = null;
		this.exchanges.completeEnded();
		assertThat(replies).allSatisfy((reply) -> assertThat(reply).failsWithin(Duration.ZERO)
			.withThrowableOfType(ExecutionException.class)
			.withCauseInstanceOf(ExchangeTimeoutException.class));
		assertThat(this.told.ended).containsExactly(State.TIMED_OUT);
	}

	@ParameterizedTest
	@ValueSource(booleans = { false, true })
	void replyIsPassedOnAlthoughItCouldNotBeCounted(boolean isRelayed) throws IOException {
		open();
		CompletableFuture<ByteBuffer> reply = isRelayed ? relayed("a:?") : ask("a:?");
		this.exchanges.find(Engine.bytes("a:!"));
		this.told.failure = new OutOfMemoryError("made for the test");
		assertThatExceptionOfType(OutOfMemoryError.class).isThrownBy(() -> {
			if (isRelayed) {
				this.exchanges.resume(Engine.bytes("a:!"));
			}
			else {
				this.exchanges.complete(Engine.bytes("a:!"));
			}
		});
		this.told.failure = null;
		assertThat(this.exchanges.hasEnded()).isTrue();
		assertThat(this.exchanges.close()).isEqualTo(!isRelayed);
		this.exchanges.completeEnded();
		assertThat(reply).isCompletedWithValueMatching((message) -> Engine.text(message).equals("a:!"));
	}

	@Test
	void futureThatCannotBeCompletedIsCompletedLater() throws IOException {
		open();
		StubbornFuture reply = new StubbornFuture();
		this.exchanges.send(Exchange.ofFuture(this.clock.nanoTime() + TIMEOUT.toNanos(), reply), Engine.bytes("a:?"));
		this.exchanges.find(Engine.bytes("a:!"));
		assertThatExceptionOfType(OutOfMemoryError.class)
			.isThrownBy(() -> this.exchanges.complete(Engine.bytes("a:!")));
		assertThat(this.exchanges.hasEnded()).isTrue();
		this.exchanges.completeEnded();
		assertThat(reply).isCompletedWithValueMatching((message) -> Engine.text(message).equals("a:!"));
		assertThat(this.exchanges.hasEnded()).isFalse();
		assertThat(this.told.ended).containsExactly(State.REPLIED);
	}

	@Test
	void endIsToldOnce() throws IOException {
		open();
		this.connection.drains = true;
		assertChanged(this.exchanges::close);
		assertThat(lead()).isTrue();
		int changes = this.told.changes;
		this.exchanges.close();
		assertThat(this.told.changes).isEqualTo(changes);
	}

	@Test
	void replyThatWasReadAndNotDeliveredIsLost() throws IOException {
		open();
		CompletableFuture<ByteBuffer> reply = ask("a:?");
		this.exchanges.find(Engine.bytes("a:!"));
		assertThat(this.exchanges.hasFound()).isTrue();
		assertThat(this.exchanges.close()).isTrue();
		assertThat(this.told.losses).isOne();
		this.exchanges.completeEnded();
		assertThat(reply).isCompletedExceptionally();
		assertThat(this.told.ended).containsExactly(State.LOST);
	}

	/** The table no longer contains it. */
	@Test
	void replyThatIsTooLargeForTheMemoryIsLost(@TempDir Path directory) throws IOException {
		open();
		CompletableFuture<ByteBuffer> reply = ask("a:?");
		this.exchanges.find(Engine.bytes("a:!"));
		try (FileChannel file = FileChannel.open(directory.resolve("large"), StandardOpenOption.CREATE_NEW,
				StandardOpenOption.SPARSE, StandardOpenOption.READ, StandardOpenOption.WRITE)) {
			// No array is as large.
			ByteBuffer large = file.map(FileChannel.MapMode.READ_WRITE, 0, Integer.MAX_VALUE);
			assertThatExceptionOfType(OutOfMemoryError.class).isThrownBy(() -> this.exchanges.complete(large));
		}
		assertThat(this.exchanges.close()).isTrue();
		this.exchanges.completeEnded();
		assertThat(reply).isCompletedExceptionally();
		assertThat(this.told.ended).containsExactly(State.LOST);
	}

	@Test
	void keptMessagesAreLimitedAndTheirMemoryIsReleased() throws IOException {
		open();
		int count = 0;
		while (this.exchanges.mayPostpone()) {
			assertThat(this.exchanges.postpone(Engine.bytes((count % 2 == 0) ? "" : "x"), false)).isTrue();
			count++;
		}
		assertThat(count).isEqualTo(256);
		assertThat(this.exchanges.postpone(Engine.bytes("x"), false)).isFalse();
		assertThat(this.memory.used()).isEqualTo(256);
		assertThat(this.exchanges.postponedBytes()).isEqualTo(256);
		assertThat(this.exchanges.takePostponed()).isEqualTo(Engine.bytes(""));
		assertThat(this.memory.used()).isEqualTo(255);
		assertThat(this.exchanges.postpone(Engine.bytes("x"), true)).isFalse();
		this.exchanges.discardPostponed();
		assertThat(this.memory.used()).isZero();
		assertThat(this.exchanges.hasPostponed()).isFalse();
	}

	/** Otherwise others would be closed when the memory of the pool is short. */
	@Test
	void keptMessagesAreMemoryOfTheirConnection() throws IOException {
		open();
		ConnectionMemory memory = new ConnectionMemory(this.connection, true, false);
		long before = memory.heldBytes();
		assertThat(this.exchanges.postpone(Engine.bytes("x".repeat(1_000)), false)).isTrue();
		assertThat(memory.heldBytes()).isEqualTo(before + 1_000);
		this.exchanges.discardPostponed();
		assertThat(memory.heldBytes()).isEqualTo(before);
	}

	@Test
	void repliesAreTakenAlthoughNoMessageMayBeKept() throws IOException {
		open();
		Map<String, CompletableFuture<ByteBuffer>> replies = Map.of("a:!", ask("a:?"), "b:!", ask("b:?"));
		replies.forEach((text, reply) -> {
			this.exchanges.find(Engine.bytes(text));
			assertThat(this.exchanges.postpone(Engine.bytes(text), true)).isTrue();
			assertThat(reply).isNotDone();
			assertThat(this.exchanges.hasEnded()).isTrue();
		});
		this.exchanges.completeEnded();
		replies.forEach((text, reply) -> assertThat(reply)
			.isCompletedWithValueMatching((message) -> Engine.text(message).equals(text)));
	}

	@ParameterizedTest
	@ValueSource(booleans = { false, true })
	void drainFollowsTheLastReply(boolean isCancelled) throws IOException {
		open();
		CompletableFuture<ByteBuffer> reply = ask("a:?");
		this.connection.drains = true;
		receive("");
		assertThat(reason()).isNull();
		assertThat(lead()).isFalse();
		if (isCancelled) {
			reply.cancel(false);
			assertThat(lead()).isTrue();
			round();
		}
		else {
			receive("a:!\n");
		}
		assertThat(reason()).isEqualTo(CloseReason.LOCAL);
	}

	// Reading in the middle of a handler

	/** Reads as a handler does that waits for a reply. */
	private void readBetween() {
		assertThat(this.me.boundInput.bind()).isTrue();
		this.me.boundInput.read();
		this.me.boundInput.unbind();
	}

	private void readBetween(String lines) {
		this.transport.receive(lines);
		this.set.demultiplex(this.connection.handle, SelectionKey.OP_READ);
		readBetween();
	}

	@Test
	void messagesAroundAReplyAreHandledAfterTheHandlerThatReadsThem() throws IOException {
		open();
		CompletableFuture<ByteBuffer> reply = ask("a:?");
		this.onMessage = () -> {
			if (this.seen.size() == 1) {
				readBetween("3\na:!\n4\n");
				assertThat(this.exchanges.hasEnded()).isTrue();
				assertThat(reply).isNotDone();
			}
		};
		receive("1\n2\n");
		assertThat(reply).isCompleted();
		assertThat(this.seen).containsExactly("1", "2", "3", "4");
		assertThat(this.connection.context.counters().receivedMessages()).isEqualTo(5);
		assertThat(this.memory.used()).isZero();
	}

	@Test
	void replyBehindAMessageIsPassedOnWhileTheHandlerOfTheMessageWaits() throws IOException {
		open();
		ask("a:?");
		this.onMessage = () -> {
			readBetween();
			assertThat(this.exchanges.pending()).isZero();
		};
		receive("1\na:!\n");
		assertThat(this.told.ended).containsExactly(State.REPLIED);
		assertThat(this.seen).containsExactly("1");
	}

	@Test
	void messagesBeyondTheLimitStayInOrderWhileAHandlerWaits() throws IOException {
		open();
		ask("a:?");
		int count = 300;
		StringBuilder lines = new StringBuilder();
		for (int i = 1; i <= count; i++) {
			lines.append(i).append('\n');
		}
		this.onMessage = () -> {
			if (this.seen.size() == 1) {
				readBetween(lines.toString());
				readBetween(count + 1 + "\na:!\n");
				assertThat(this.exchanges.pending()).isOne();
			}
		};
		receive("0\n");
		while (lead()) {
			round();
		}
		assertThat(this.seen).hasSize(count + 2);
		for (int i = 0; i < count + 2; i++) {
			assertThat(this.seen.get(i)).isEqualTo(String.valueOf(i));
		}
		assertThat(this.exchanges.pending()).isZero();
		assertThat(this.memory.used()).isZero();
	}

	@ParameterizedTest
	@ValueSource(booleans = { false, true })
	void requestOfAHandlerIsWrittenBeforeItWaits(boolean hasRead) throws IOException {
		open();
		this.onMessage = () -> {
			if (hasRead) {
				readBetween("");
			}
			int before = this.transport.written;
			this.onWait = (exchange) -> {
				assertThat(this.transport.written).isGreaterThan(before);
				exchange.end(State.LOST);
			};
			assertThatExceptionOfType(ExchangeLostException.class)
				.isThrownBy(() -> this.connection.exchange(Engine.bytes("a:?"), TIMEOUT));
		};
		receive("1\n");
		assertThat(this.told.ended).containsExactly(State.LOST);
	}

	@Test
	void handlerThatReadsTheEndOfTheInputMayStillReply() throws IOException {
		open();
		ask("a:?");
		this.onMessage = () -> {
			this.transport.ends = true;
			readBetween("");
			assertThat(this.exchanges.pending()).isZero();
			assertThat(reason()).isNull();
			this.connection.send(Engine.bytes("reply"));
		};
		receive("1\n");
		assertThat(this.transport.written).isEqualTo("a:?\nreply\n".length());
		assertThat(this.told.ended).containsExactly(State.LOST);
		assertThat(reason()).isEqualTo(CloseReason.PEER);
	}

	@Test
	void waitsEndWithTheConnectionWhileAHandlerRuns() throws IOException {
		open();
		CompletableFuture<ByteBuffer> reply = ask("a:?");
		this.onMessage = () -> {
			this.onWait = (exchange) -> {
				this.connection.requestClose(CloseReason.IO_ERROR, null);
				readBetween("");
			};
			assertThatExceptionOfType(ConnectionClosedException.class)
				.isThrownBy(() -> this.connection.receive(TIMEOUT));
			assertThat(this.exchanges.pending()).isZero();
			assertThat(reply).isNotDone();
		};
		receive("1\n");
		assertThat(reply).isCompletedExceptionally();
	}

	/** The input that was read is lost. */
	@Test
	void connectionClosesIfItCannotBeReadWhileAHandlerWaits() throws IOException {
		open();
		this.onMessage = () -> {
			this.transport.readFailure = new OutOfMemoryError("made for the test");
			Turn turn = this.me.turn;
			assertThatExceptionOfType(OutOfMemoryError.class).isThrownBy(() -> readBetween(""));
			assertThat(this.me.turn).isSameAs(turn);
			assertThat(reason()).isEqualTo(CloseReason.IO_ERROR);
		};
		receive("1\n");
		assertThat(this.seen).containsExactly("1");
	}

	/** What follows could be taken for an answer to what was lost. */
	@Test
	void nothingIsReadAfterAFailureThatIsStillToBeHandled() throws IOException {
		open();
		CompletableFuture<ByteBuffer> reply = ask("a:?");
		this.onMessage = () -> {
			this.connection.handle.failLater();
			readBetween("a:!\n2\n");
			assertThat(this.transport.input.remaining()).isEqualTo(6);
			assertThat(reply).isNotDone();
			assertThat(this.connection.mayReadOn()).isFalse();
			this.transport.input.position(6);
		};
		receive("1\n");
		assertThat(this.failure).isNull();
		assertThat(this.seen).containsExactly("1");
	}

	@Test
	void handlerThatWaitsForTheNextMessageDoesNotReceiveAReply() throws IOException {
		open();
		CompletableFuture<ByteBuffer> reply = ask("a:?");
		this.onWait = (exchange) -> readBetween("a:!\n2\n3\n");
		this.onMessage = () -> {
			if (this.seen.size() == 1) {
				assertThat(Engine.text(this.connection.receive(TIMEOUT))).isEqualTo("2");
			}
		};
		receive("1\n");
		assertThat(reply).isCompletedWithValueMatching((message) -> Engine.text(message).equals("a:!"));
		assertThat(this.seen).containsExactly("1", "3");
	}

	@Test
	void messagesStayInTheSocketWhileAHandlerOfADrainingConnectionWaits() throws IOException {
		open();
		this.onMessage = () -> {
			this.connection.drains = true;
			readBetween("2\n");
			assertThat(this.transport.input.remaining()).isEqualTo("2\n".length());
		};
		receive("1\n");
		assertThat(this.seen).containsExactly("1");
	}

	/** The handler may wait for the next message each time. */
	@Test
	void messagesBehindTheOneThatAHandlerWaitsForDoNotDelayADrain() throws IOException {
		open();
		this.onWait = (exchange) -> readBetween("2\n3\n");
		this.onMessage = () -> {
			if (this.seen.size() == 1) {
				this.connection.drains = true;
				assertThat(Engine.text(this.connection.receive(TIMEOUT))).isEqualTo("2");
			}
			else {
				assertThat(this.connection.drained()).isNotNull();
			}
		};
		receive("1\n");
		assertThat(this.seen).containsExactly("1", "3");
		assertThat(reason()).isEqualTo(CloseReason.LOCAL);
		assertThat(this.memory.used()).isZero();
	}

	/** It was decoded before the request, so it cannot be the reply. */
	@Test
	void messageThatWasKeptIsNotTheReplyToALaterRequest() throws IOException {
		open(Correlation.inOrder());
		while (this.exchanges.mayPostpone()) {
			this.exchanges.postpone(Engine.bytes("kept"), false);
		}
		this.transport.receive("last\n");
		this.set.applyUpdates();
		this.set.demultiplex(this.connection.handle, SelectionKey.OP_READ);
		assertThat(lead()).isTrue();
		this.me.begin(this.connection.handle);
		assertThat(this.connection.prepareReplies(this.me)).isFalse();
		this.me.worksOn(null);
		CompletableFuture<ByteBuffer> reply = ask("b");
		round();
		while (lead()) {
			round();
		}
		assertThat(this.seen).endsWith("kept", "last");
		assertThat(reply).isNotDone();
		receive("reply\n");
		assertThat(reply).isCompleted();
	}

	/** Can be completed at the second attempt. */
	private static final class StubbornFuture extends CompletableFuture<ByteBuffer> {

		private boolean fails = true;

		@Override
		public boolean complete(ByteBuffer value) {
			if (this.fails) {
				this.fails = false;
				throw new OutOfMemoryError("made for the test");
			}
			return super.complete(value);
		}

	}

}
