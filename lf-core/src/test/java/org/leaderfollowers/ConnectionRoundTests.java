package org.leaderfollowers;

import java.io.IOException;
import java.lang.reflect.Field;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;
import java.nio.channels.SocketChannel;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.UnaryOperator;
import java.util.stream.Stream;

import javax.net.ssl.SSLException;

import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.leaderfollowers.internal.buffer.MemoryBudget;
import org.leaderfollowers.internal.buffer.OutboundBuffer.Sent;
import org.leaderfollowers.internal.demultiplexing.HandleState.Claim;
import org.leaderfollowers.internal.exchange.Exchange;
import org.leaderfollowers.internal.promotion.Follower;
import org.leaderfollowers.internal.promotion.HandlerProfile;
import org.leaderfollowers.internal.promotion.DispatchPolicy;
import org.leaderfollowers.internal.promotion.Leadership;
import org.leaderfollowers.internal.promotion.Members;
import org.leaderfollowers.internal.promotion.PoolSettings;
import org.leaderfollowers.internal.promotion.PromotionProtocol;
import org.leaderfollowers.internal.promotion.Starvation;
import org.leaderfollowers.internal.promotion.ThreadSupply;
import org.leaderfollowers.internal.transport.Transport.Progress;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatNullPointerException;
import static org.assertj.core.api.Assertions.catchThrowableOfType;
import static org.junit.jupiter.params.provider.Arguments.arguments;

/**
 * Tests how a connection is released after each round, so that it misses nothing. The
 * pool has no threads: the test is the leader of its handle set and the owner of the
 * connection, and decides what the peer sends.
 */
class ConnectionRoundTests {

	private static final Duration TIMEOUT = Duration.ofSeconds(10);

	private final TestClock clock = new TestClock();

	private final LeaderFollowersPool pool = LeaderFollowersPool.builder()
		.name("test")
		.threads(1, 1)
		.maxBufferedBytes(1 << 20)
		.clock(this.clock)
		.build();

	private final MemoryBudget memory = this.pool.memory();

	private final List<String> seen = new ArrayList<>();

	private final TcpServer.Builder builder = TcpServer.builder(this.pool)
		.framing(Framing.line())
		.maxMessageSize(100)
		.handler(new MessageHandler() {

			@Override
			public void onMessage(Connection connection, ByteBuffer message) {
				ConnectionRoundTests.this.seen.add(Engine.text(message));
				ConnectionRoundTests.this.onMessage.run();
			}

			@Override
			public void onIdle(Connection connection, EventType type) {
				ConnectionRoundTests.this.seen.add("idle " + type);
				ConnectionRoundTests.this.onIdle.run();
			}

			@Override
			public void onWritable(Connection connection) {
				ConnectionRoundTests.this.seen.add("writable");
				ConnectionRoundTests.this.onWritable.run();
			}

			@Override
			public void onDrain(Connection connection) {
				ConnectionRoundTests.this.onDrain.run();
			}

			@Override
			public void onError(Connection connection, Throwable failure) {
				ConnectionRoundTests.this.seen.add("error");
				ConnectionRoundTests.this.onError.run();
			}

			@Override
			public void onClose(Connection connection, CloseReason reason) {
				ConnectionRoundTests.this.seen.add("close " + reason);
				ConnectionRoundTests.this.onClose.run();
			}

		});

	private Runnable onMessage = () -> {
	};

	private Runnable onError = () -> {
	};

	private Runnable onWritable = () -> {
	};

	private Runnable onClose = () -> {
	};

	private Runnable onDrain = () -> {
	};

	private Runnable onIdle = () -> {
	};

	private UnaryOperator<ConnectionContext> context = UnaryOperator.identity();

	private final Participant me = participant(1);

	private SocketChannel channel;

	private ScriptedTransport transport;

	private TcpConnection connection;

	private HandleSet set;

	/** A thread of the pool, in whose place the test acts. */
	private Participant participant(int number) {
		return participant(number, null);
	}

	private Participant participant(int number, @Nullable PromotionProtocol promotion) {
		Thread thread = Thread.currentThread();
		return new Participant(number, new Follower(number, thread), thread, true, promotion,
				(participant, exchange) -> Exchange.State.REPLIED, this.memory, 0);
	}

	/** Accepts a connection that the test owns. */
	private void accept() throws IOException {
		accept(SocketChannel.open(), new InetSocketAddress(1));
	}

	/** A connection of this side has no local address before it is established. */
	private void accept(SocketChannel socket, @Nullable InetSocketAddress local) throws IOException {
		this.channel = socket;
		this.channel.configureBlocking(false);
		this.transport = new ScriptedTransport(this.channel);
		InetSocketAddress address = new InetSocketAddress(1);
		ConnectionContext context = this.context.apply(this.builder.build().life.context());
		this.connection = (context.window() != null)
				? new WindowedConnection(context, this.channel, this.transport, local, address)
				: new TcpConnection(context, this.channel, this.transport, local, address);
		new ServerExchanges(Correlation.byKey((message) -> {
			String text = Engine.text(message);
			return text.contains(":") ? text.substring(0, text.indexOf(':')) : null;
		}), 10).begin(this.connection);
		context.server().started();
		context.registry().add(this.connection);
		this.set = this.connection.handle.handleSet();
		this.connection.handle.request(SelectableHandle.REGISTER);
		this.set.applyUpdates();
		this.me.enter();
	}

	private void open() throws IOException {
		accept();
		round();
		assertThat(this.connection.opened).isTrue();
	}

	@AfterEach
	void close() throws IOException {
		this.me.withdraw();
		this.channel.close();
		this.pool.close();
	}

	/** Works on the connection until it is released. */
	private void round() {
		round(this.me);
	}

	private void round(Participant thread) {
		thread.enter();
		thread.begin(this.connection.handle);
		if (this.connection.prepare(thread)) {
			this.connection.dispatch(thread);
		}
		rest(thread);
	}

	private void rest(Participant thread) {
		int rounds = 0;
		while (!this.connection.release(thread)) {
			assertThat(rounds++).isLessThan(100);
			if (this.connection.prepare(thread)) {
				this.connection.dispatch(thread);
			}
		}
		thread.worksOn(null);
	}

	/** Leads. Returns whether there is work for an owner of the connection. */
	private boolean lead() {
		this.set.applyUpdates();
		return this.set.ready.take() != null;
	}

	private void receive(String lines) {
		this.transport.receive(lines);
		own();
		round();
	}

	/** Claims the connection, because it fires. */
	private void own() {
		this.set.applyUpdates();
		this.set.demultiplex(this.connection.handle, SelectionKey.OP_READ);
		assertThat(lead()).isTrue();
	}

	private @Nullable CloseReason reason() {
		CloseSequence end = this.connection.closing;
		return (end != null) ? end.reason() : null;
	}

	private CompletableFuture<ByteBuffer> ask() {
		return this.connection.exchangeAsync(Engine.bytes("a:?"), Duration.ofHours(1));
	}

	private void postpone(String message) {
		assertThat(this.connection.exchanges.postpone(Engine.bytes(message), false)).isTrue();
		assertThat(this.memory.used()).isPositive();
	}

	/** A leader that runs a short handler, and whose leadership lasts meanwhile. */
	private Participant leader() {
		Members<Participant> members = new Members<>(this.clock);
		ThreadSupply threads = new StandInSupply(new PoolSettings(1, 1, false, TIMEOUT.toNanos(), 0), this.clock);
		PromotionProtocol promotion = new PromotionProtocol(this.pool.handleSets().leaderships(),
				PromotionOrder.LIFO.followers(), members, threads, new Starvation(2, new PoolThreadsTests.Unheard()),
				(kind, vacancyNanos) -> {
				}, 1, this.clock);
		// The thread is the only one that the pool may have.
		promotion.signalIfVacant();
		promotion.started();
		Participant leader = members.enroll(Thread.currentThread(),
				(number, follower) -> participant(number, promotion));
		HandlerProfile handler = new HandlerProfile();
		while (handler.blocks()) {
			handler.record(0);
		}
		Leadership leadership = promotion.attend(leader);
		new DispatchPolicy(promotion, threads, 1, this.clock).beforeDispatch(leader, handler, leadership, 0);
		assertThat(leader.isOnLease()).isTrue();
		assertThat(leader.leads(this.set)).as("another thread may take over").isFalse();
		return leader;
	}

	/** Whether the peer takes them is known only when they are written together. */
	@Test
	void connectionTakesNoFurtherMessageIfRepliesThatWereWrittenTogetherWait() throws IOException {
		this.builder.maxOutboundSize(1024);
		this.onMessage = () -> this.connection.send(ByteBuffer.allocate(300));
		open();
		this.transport.room = 0;
		this.transport.receive("1\n2\n");
		own();
		round(leader());
		assertThat(this.seen).containsExactly("1", "2");
		assertThat(this.connection.pendingBytes()).isEqualTo(602);
		assertThat(this.connection.handle.isPaused()).isTrue();
		this.transport.room = 1000;
		this.set.demultiplex(this.connection.handle, SelectionKey.OP_WRITE);
		this.transport.receive("3\n");
		assertThat(lead()).isTrue();
		round();
		assertThat(this.seen).contains("3");
	}

	@Test
	void handlerThatYieldsItsTurnIsCalledAgainInALaterRound() throws IOException {
		open();
		this.onMessage = this.connection::requestWritable;
		receive("1\n2\n");
		assertThat(this.seen).as("the second message waits, too").containsExactly("1");
		assertThat(lead()).isTrue();
		round();
		assertThat(this.seen).startsWith("1", "writable");
		while (lead()) {
			round();
		}
		assertThat(this.seen).containsExactly("1", "writable", "2", "writable");
		assertThat(this.connection.handle.isArmed() || this.connection.handle.isPaused()).isTrue();
	}

	@Test
	void inputIsReadBetweenTurns() throws IOException {
		open();
		this.onWritable = this.connection::requestWritable;
		this.connection.requestWritable();
		assertThat(lead()).isTrue();
		round();
		this.transport.receive("1\n");
		assertThat(lead()).isTrue();
		round();
		assertThat(this.seen).containsExactly("writable", "1");
		assertThat(lead()).isTrue();
		round();
		assertThat(this.seen).containsExactly("writable", "1", "writable");
	}

	/** Otherwise a peer that has closed its output would not get the rest. */
	@Test
	void peerThatHasFallenBehindGetsTheRestBeforeItsInputIsRead() throws IOException {
		this.builder.maxOutboundSize(1024);
		open();
		this.transport.ends = true;
		this.onWritable = () -> {
			if (this.seen.size() < 4) {
				this.transport.room = 0;
				this.connection.send(ByteBuffer.allocate(600));
				// The peer reads while the handler runs.
				this.transport.room = 1000;
				this.set.demultiplex(this.connection.handle, SelectionKey.OP_WRITE);
				assertThat(this.connection.isWritable()).isFalse();
				assertThat(this.connection.pendingBytes()).isZero();
			}
		};
		this.onMessage = this.onWritable;
		receive("1\n");
		while (lead()) {
			round();
		}
		assertThat(this.seen).containsExactly("1", "writable", "writable", "writable", "close PEER");
	}

	/** Although bytes wait for the peer, there is room for more. */
	@Test
	void handlerThatYieldsItsTurnDoesNotWaitForThePeer() throws IOException {
		this.builder.maxOutboundSize(1024);
		open();
		this.transport.room = 0;
		this.onMessage = () -> {
			this.connection.send(ByteBuffer.allocate(300));
			this.connection.requestWritable();
		};
		receive("1\n");
		assertThat(this.connection.pendingBytes()).isBetween(257L, 511L);
		assertThat(lead()).isTrue();
		round();
		assertThat(this.seen).containsExactly("1", "writable");
	}

	@Test
	void connectionThatClosesDoesNotLookForAYieldedTurnAgainAndAgain() throws IOException {
		open();
		this.transport.room = 0;
		this.onMessage = () -> {
			this.connection.send(ByteBuffer.allocate(30));
			this.connection.requestWritable();
			this.connection.close();
		};
		receive("1\n");
		assertThat(this.connection.handle.isPaused()).isTrue();
		assertThat(lead()).isFalse();
		this.transport.room = 1000;
		this.set.demultiplex(this.connection.handle, SelectionKey.OP_WRITE);
		while (lead()) {
			round();
		}
		assertThat(this.seen).containsExactly("1", "close LOCAL");
	}

	@Test
	void handlerYieldsItsTurnDuringADrain() throws IOException {
		open();
		this.onWritable = this.connection::requestWritable;
		this.onDrain = () -> this.seen.add("drain");
		this.connection.drains = true;
		this.connection.requestWritable();
		for (int i = 1; i <= 3; i++) {
			assertThat(lead()).isTrue();
			round();
			assertThat(this.seen).containsOnly("writable").hasSize(i);
		}
		this.onWritable = () -> {
		};
		while (lead()) {
			round();
		}
		assertThat(this.seen).endsWith("writable", "drain", "close LOCAL");
	}

	@Test
	void yieldedTurnWaitsWhileTheThreadIsInAnotherHandler() throws IOException {
		open();
		this.onMessage = this.connection::requestWritable;
		receive("1\n");
		assertThat(lead()).isTrue();
		this.me.enter();
		this.me.begin(this.connection.handle);
		assertThat(this.connection.prepareReplies(this.me)).isTrue();
		assertThat(this.connection.hasPostponed()).isTrue();
		assertThat(this.connection.release(this.me)).isTrue();
		assertThat(lead()).as("another look would follow at once, and so on").isFalse();
		this.connection.handle.request(SelectableHandle.LOOK);
		assertThat(lead()).isTrue();
		round();
		assertThat(this.seen).containsExactly("1", "writable");
	}

	@Test
	void yieldedTurnIsNotLookedForAgainAndAgainAtTheEndOfTheInput() throws IOException {
		open();
		this.connection.requestWritable();
		assertThat(lead()).isTrue();
		this.transport.ends = true;
		this.me.enter();
		this.me.begin(this.connection.handle);
		assertThat(this.connection.prepareReplies(this.me)).isTrue();
		assertThat(this.connection.hasPostponed()).isTrue();
		assertThat(this.connection.release(this.me)).isTrue();
		assertThat(lead()).isFalse();
		this.connection.handle.request(SelectableHandle.LOOK);
		assertThat(lead()).isTrue();
		round();
		while (lead()) {
			round();
		}
		assertThat(this.seen).containsExactly("writable", "close PEER");
	}

	@Test
	void turnThatIsRequestedDuringTheHandshakeDoesNotDelayIt() throws IOException {
		accept();
		this.transport.handshake = Progress.HAS_TASKS;
		this.me.enter();
		this.me.begin(this.connection.handle);
		assertThat(this.connection.prepare(this.me)).isTrue();
		this.connection.requestWritable();
		this.transport.handshake = Progress.DONE;
		this.connection.dispatch(this.me);
		rest(this.me);
		while (lead()) {
			round();
		}
		assertThat(this.connection.opened).isTrue();
		assertThat(this.seen).containsExactly("writable");
	}

	/** Otherwise the client would wait for its reply until the server drains. */
	@Test
	void connectionClosesIfAThreadFailsThatHasHandledItsMessage() throws IOException {
		this.builder.maxInFlightPerConnection(2);
		open();
		this.me.enter();
		this.me.begin(this.connection.handle);
		this.me.turn.released = true;
		assertThat(this.connection.handle.closeAfterFailure(this.me, new OutOfMemoryError("Made for the test")))
			.isTrue();
		assertThat(reason()).isEqualTo(CloseReason.IO_ERROR);
		assertThat(lead()).isTrue();
		round();
		assertThat(this.seen).containsExactly("error", "close IO_ERROR");
	}

	/**
	 * Otherwise nobody may have the memory to close it, and later replies never leave.
	 */
	@Test
	void connectionClosesAtOnceIfMemoryIsTooShortForTheRepliesThatFollow() throws Exception {
		this.builder.maxInFlightPerConnection(2).replyOrder(ReplyOrder.ARRIVAL);
		open();
		Field unanswered = OrderedReplies.class.getDeclaredField("unanswered");
		unanswered.setAccessible(true);
		this.onMessage = () -> {
			WindowedMessage message = Objects
				.requireNonNull(WindowedMessage.current((WindowedConnection) this.connection));
			try {
				unanswered.set(message.window.replies, new ArrayDeque<>(List.of(message)) {

					@Override
					public WindowedMessage removeFirst() {
						throw new OutOfMemoryError("made for the test");
					}

				});
			}
			catch (IllegalAccessException ex) {
				throw new IllegalStateException(ex);
			}
		};
		this.transport.receive("1\n");
		own();
		this.me.enter();
		this.me.begin(this.connection.handle);
		assertThat(this.connection.prepare(this.me)).isTrue();
		assertThatExceptionOfType(OutOfMemoryError.class).isThrownBy(() -> this.connection.dispatch(this.me));
		assertThat(this.channel.isOpen()).isFalse();
		assertThat(((WindowedConnection) this.connection).isWorkedOn()).isFalse();
	}

	@Test
	void turnThatIsRequestedBeforeTheConnectionOpensIsMetAfterwards() throws IOException {
		accept();
		this.transport.handshake = Progress.WANTS_READ;
		this.connection.requestWritable();
		round();
		assertThat(lead()).isTrue();
		round();
		assertThat(lead()).as("another look would follow at once, and so on").isFalse();
		this.transport.handshake = Progress.DONE;
		own();
		round();
		while (lead()) {
			round();
		}
		assertThat(this.connection.opened).isTrue();
		assertThat(this.seen).containsExactly("writable");
	}

	@Test
	void replyForWhichThereIsNoRoomBehindCorkedOnesFollowsThem() throws IOException {
		this.onMessage = () -> this.connection.send(ByteBuffer.allocate(40_000));
		open();
		this.transport.receive("1\n2\n3\n");
		own();
		round(leader());
		this.me.enter();
		assertThat(this.seen).containsExactly("1", "2", "3");
		assertThat(this.transport.written).isEqualTo(3 * 40_001);
		assertThat(this.connection.context.counters().sentBytes()).isEqualTo(3 * 40_001);
	}

	/**
	 * The framing has encoded it already when it finds that the peer could not read it.
	 */
	@Test
	void replyThatCannotBeEncodedLeavesNothingBetweenCorkedOnes() throws IOException {
		open();
		this.onMessage = () -> {
			this.connection.send(Engine.bytes("before"));
			assertThatIllegalArgumentException().isThrownBy(() -> this.connection.send(Engine.bytes("one\ntwo")));
			this.connection.send(Engine.bytes("behind"));
		};
		this.transport.receive("1\n2\n");
		own();
		round(leader());
		this.me.enter();
		assertThat(this.seen).containsExactly("1", "2");
		assertThat(this.transport.written).isEqualTo("before\nbehind\nbefore\nbehind\n".length());
	}

	/** It must not keep a socket until the peer closes. */
	@Test
	void connectionThatIsRejectedIsClosedAtOnce() throws IOException {
		accept();
		this.transport.closes = false;
		this.transport.rejection = new GuardedPreamble.RejectedException();
		round();
		assertThat(this.channel.isOpen()).isFalse();
		assertThat(reason()).isEqualTo(CloseReason.CLIENT_LIMIT);
	}

	@Test
	void connectionWithoutMemoryForItsHandshakeCloses() throws IOException {
		accept();
		this.transport.rejection = new MemoryBudget.ExhaustedException();
		round();
		assertThat(reason()).isEqualTo(CloseReason.OVERLOADED);
		assertThat(this.channel.isOpen()).isFalse();
	}

	/** A connection that only holds it makes no progress, and is shed. */
	@Test
	void memoryOfTheTransportIsHeldSinceTheTransportSaysSo() throws IOException {
		open();
		ConnectionMemory memory = new ConnectionMemory(this.connection, true, true);
		long now = this.connection.nanoTime();
		this.transport.heldSinceNanos = now - 5;
		assertThat(memory.heldSinceNanos() - now).isNotNegative();
		this.transport.held = 1000;
		assertThat(memory.heldBytes()).isEqualTo(1000);
		assertThat(memory.heldSinceNanos()).isEqualTo(now - 5);
	}

	/** Otherwise peers could hold them, and those who hold less would be closed. */
	@Test
	void buffersOfTheTransportAreHeldSinceTheirPartHasArrived() throws IOException {
		open();
		ConnectionMemory memory = new ConnectionMemory(this.connection, true, true);
		long now = this.connection.nanoTime();
		this.transport.buffered = 1000;
		assertThat(memory.heldBytes()).isEqualTo(1000);
		assertThat(memory.heldSinceNanos() - now).isNotNegative();
		this.transport.partSinceNanos = now - 5;
		assertThat(memory.heldSinceNanos()).isEqualTo(now - 5);
	}

	/** If memory of that pool is scarce, closing this connection frees none of it. */
	@Test
	void connectionHoldsNoMemoryOfAnotherPool() throws IOException {
		open();
		ConnectionRegistry registry = this.connection.context.registry();
		assertThat(new ConnectionMemory.All(registry, this.memory).get()).hasSize(1);
		assertThat(new ConnectionMemory.All(registry, new MemoryBudget(1000), this.memory).get()).isEmpty();
	}

	/** Otherwise a peer that never completes its message would seem to make progress. */
	@Test
	void memoryOfAPartialMessageIsHeldSinceItBegan() throws IOException {
		open();
		long begun = this.connection.nanoTime();
		receive("x");
		this.clock.advance(Duration.ofMillis(1));
		receive("y");
		assertThat(this.connection.lastActivity()).isGreaterThan(begun);
		assertThat(new ConnectionMemory(this.connection, true, true).heldSinceNanos()).isEqualTo(begun);
	}

	/** Otherwise a peer that sends and does not read would seem to make progress. */
	@Test
	void memoryOfRepliesIsHeldSinceThePeerTookSome() throws IOException {
		this.onMessage = () -> this.connection.send(Engine.bytes("reply"));
		open();
		this.transport.room = 0;
		// The progress of a peer is measured by the clock of the system.
		this.clock.advance(Duration.ofNanos(System.nanoTime() - this.clock.nanoTime()).plusHours(1));
		receive("x\n");
		assertThat(this.connection.pendingBytes()).isPositive();
		assertThat(this.connection.lastActivity() - System.nanoTime()).isPositive();
		assertThat(new ConnectionMemory(this.connection, true, true).heldSinceNanos() - System.nanoTime())
			.isNotPositive();
	}

	@Test
	void memoryOfKeptMessagesIsHeldUntilTheyHaveBeenHandled() throws IOException {
		open();
		postpone("x");
		postpone("yz");
		ConnectionMemory memory = new ConnectionMemory(this.connection, true, true);
		assertThat(memory.heldBytes()).isEqualTo(3).isEqualTo(this.memory.used());
		this.onMessage = () -> assertThat(memory.heldBytes()).isEqualTo(this.memory.used());
		this.connection.handle.request(SelectableHandle.LOOK);
		assertThat(lead()).isTrue();
		round();
		assertThat(this.seen).containsExactly("x", "yz");
		assertThat(memory.heldBytes()).isZero();
	}

	/** Its bytes during the handshake are no progress. */
	@Test
	void connectionThatIsNotEstablishedHoldsItsMemorySinceItWasAccepted() throws IOException {
		accept();
		this.clock.advance(TIMEOUT);
		this.connection.noteActivity(this.clock.nanoTime());
		assertThat(new ConnectionMemory(this.connection, true, true).heldSinceNanos())
			.isEqualTo(this.connection.acceptedNanos);
	}

	/** Its memory will be released anyway, so no other connection has to close for it. */
	@Test
	void memoryOfAConnectionThatClosesIsAboutToBeReleased() throws IOException {
		open();
		ConnectionMemory memory = new ConnectionMemory(this.connection, true, true);
		assertThat(memory.isClosing()).isFalse();
		memory.shed();
		assertThat(memory.isClosing()).isTrue();
		assertThat(reason()).isEqualTo(CloseReason.OVERLOADED);
	}

	/** Only the handshake timeout counts. */
	@Test
	void connectionIsNotIdleBeforeItIsEstablished() throws IOException {
		this.builder.idleTimeout(TIMEOUT).handshakeTimeout(TIMEOUT.multipliedBy(2));
		accept();
		this.transport.handshake = Progress.WANTS_READ;
		this.clock.advance(TIMEOUT);
		round();
		assertThat(reason()).isNull();
		assertThat(this.connection.lastActivity()).isEqualTo(this.clock.nanoTime());
	}

	/** The peer sends nothing more, so there is nothing to wait for. */
	@ParameterizedTest
	@ValueSource(booleans = { false, true })
	void connectionWhosePeerHasEndedIsClosedAtOnce(boolean isEstablished) throws IOException {
		accept();
		this.transport.closes = false;
		this.transport.ends = true;
		this.transport.handshake = isEstablished ? Progress.DONE : Progress.ENDED;
		round();
		assertThat(this.channel.isOpen()).isFalse();
		assertThat(reason()).isEqualTo(CloseReason.PEER);
	}

	@Test
	void handshakeThatHasToWriteWaitsForRoom() throws IOException {
		accept();
		this.transport.handshake = Progress.WANTS_WRITE;
		this.transport.wantsWrite = true;
		round();
		this.set.applyUpdates();
		assertThat(this.connection.handle.isPaused()).isTrue();
		assertThat(this.connection.handle.key.interestOps()).isEqualTo(SelectionKey.OP_WRITE);
		this.transport.handshake = Progress.DONE;
		this.set.demultiplex(this.connection.handle, SelectionKey.OP_WRITE);
		assertThat(lead()).isTrue();
		round();
		assertThat(this.connection.opened).isTrue();
	}

	/** No event will report it. */
	@Test
	void inputThatTheTransportKeepsIsReadInALaterRound() throws IOException {
		open();
		this.transport.keepsInput = true;
		receive("");
		assertThat(lead()).isTrue();
		this.transport.keepsInput = false;
		this.transport.receive("x\n");
		round();
		assertThat(this.seen).containsExactly("x");
	}

	@Test
	void ownBytesOfTheTransportWaitForRoomWhileTheConnectionIsRead() throws IOException {
		open();
		this.onMessage = () -> this.transport.wantsWrite = true;
		receive("x\n");
		this.set.applyUpdates();
		assertThat(this.connection.handle.key.interestOps()).isEqualTo(SelectionKey.OP_READ | SelectionKey.OP_WRITE);
	}

	@Test
	void ownBytesOfTheTransportWaitForRoomWhileTheConnectionIsSuspended() throws IOException {
		open();
		this.onMessage = () -> {
			this.connection.suspend();
			this.transport.wantsWrite = true;
		};
		receive("x\n");
		assertThat(this.connection.handle.isPaused()).isTrue();
		this.set.applyUpdates();
		assertThat(this.connection.handle.key.interestOps() & SelectionKey.OP_WRITE).isEqualTo(SelectionKey.OP_WRITE);
	}

	@Test
	void connectionIsNotIdleWhileItsHandlerRuns() throws IOException {
		this.builder.maxOutboundSize(1024).idleTimeout(TIMEOUT);
		this.onWritable = () -> this.clock.advance(TIMEOUT);
		this.onDrain = this.onWritable;
		this.onMessage = () -> this.connection.send(ByteBuffer.allocate(600));
		open();
		this.transport.room = 0;
		receive("1\n");
		this.transport.room = 601;
		this.set.demultiplex(this.connection.handle, SelectionKey.OP_WRITE);
		assertThat(lead()).isTrue();
		round();
		assertThat(this.seen).containsExactly("1", "writable");
		assertThat(reason()).isNull();
		this.transport.room = 100;
		ask();
		this.connection.drain();
		assertThat(lead()).isTrue();
		round();
		assertThat(this.connection.drained()).isNotNull();
		assertThat(reason()).isNull();
	}

	@Test
	void messageThatComesWhileTheHandlerIsToldOfASilenceIsHandled() throws IOException {
		openWithPeriodOfSilence();
		this.onIdle = () -> {
			this.clock.advance(TIMEOUT);
			this.transport.receive("x\n");
		};
		round();
		assertThat(this.seen).containsExactly("idle READ", "x");
		assertThat(reason()).isNull();
	}

	/** It would otherwise be called again and again, because its period is shorter. */
	@Test
	void slowHandlerOfASilenceDoesNotPreventTheIdleTimeout() throws IOException {
		openWithPeriodOfSilence();
		this.onIdle = () -> this.clock.advance(TIMEOUT);
		round();
		assertThat(this.seen).containsExactly("idle READ", "close IDLE_TIMEOUT");
	}

	@Test
	void connectionIsActiveWhenItsHandlerSendsBecauseOfASilence() throws IOException {
		openWithPeriodOfSilence();
		this.onIdle = () -> this.connection.send(Engine.bytes("are you there?"));
		round();
		assertThat(this.seen).containsExactly("idle READ");
		assertThat(this.connection.lastActivity()).isEqualTo(this.clock.nanoTime());
	}

	/** Opens a connection that has been silent for half of the idle timeout. */
	private void openWithPeriodOfSilence() throws IOException {
		this.builder.messageTimeout(TIMEOUT).idleTimeout(TIMEOUT);
		open();
		this.connection.idleAfter(EventType.READ, TIMEOUT.dividedBy(2));
		this.clock.advance(TIMEOUT.dividedBy(2));
		own();
	}

	/** Only the owner knows whether the rest has arrived. */
	@Test
	void messageIsNotLateAndItsPeerNotIdleWhileAThreadOwnsTheConnection() throws IOException {
		this.builder.messageTimeout(TIMEOUT).idleTimeout(TIMEOUT.multipliedBy(2));
		open();
		receive("x");
		own();
		this.clock.advance(TIMEOUT.multipliedBy(3));
		assertThat(untilDeadline()).isEqualTo(TIMEOUT);
		this.transport.receive("\n");
		round();
		assertThat(this.seen).containsExactly("x");
		assertThat(untilDeadline()).isEqualTo(TIMEOUT.multipliedBy(2));
	}

	@Test
	void periodOfSilenceThatAnotherThreadSetsHasATimer() throws IOException {
		open();
		receive("");
		this.connection.idleAfter(EventType.WRITE, TIMEOUT);
		this.set.applyUpdates();
		assertThat(this.connection.handle.timerDeadline - this.clock.nanoTime()).isEqualTo(TIMEOUT.toNanos());
	}

	@ParameterizedTest
	@EnumSource(names = { "READ", "WRITE" })
	void periodOfSilenceBeginsWhenItsLengthIsSet(EventType type) throws IOException {
		open();
		this.connection.idleAfter(type, TIMEOUT.multipliedBy(2));
		this.clock.advance(TIMEOUT);
		this.connection.idleAfter(type, TIMEOUT);
		assertThat(untilDeadline()).isEqualTo(TIMEOUT);
	}

	/** Neither reading nor sending was possible. */
	@ParameterizedTest
	@EnumSource(names = { "READ", "WRITE" })
	void periodInWhichNothingWasPossibleIsNoSilenceAndBeginsAgain(EventType type) throws IOException {
		open();
		this.connection.idleAfter(type, TIMEOUT);
		this.clock.advance(TIMEOUT);
		boolean reads = type != EventType.READ;
		assertThat(this.connection.watch().isSilent(this.clock.nanoTime(), reads, reads)).isFalse();
		assertThat(untilDeadline()).isEqualTo(TIMEOUT);
	}

	@Test
	void periodOfSilenceBeginsWithEachMessageAndWhenThePeerHasTakenIt() throws IOException {
		open();
		this.connection.idleAfter(EventType.WRITE, TIMEOUT);
		this.transport.room = "1\n".length();
		this.clock.advance(TIMEOUT);
		this.connection.send(Engine.bytes("1"));
		receive("");
		assertThat(untilDeadline()).isEqualTo(TIMEOUT);
		this.connection.send(Engine.bytes("2"));
		this.clock.advance(TIMEOUT);
		this.transport.room = 100;
		this.set.await(this.clock.nanoTime(), null, null);
		this.connection.notifyWritable(SelectionKey.OP_WRITE);
		receive("");
		assertThat(this.seen).isEmpty();
	}

	@Test
	void messagesAreCounted() throws IOException {
		open();
		receive("1\n2\n");
		assertThat(this.connection.context.counters().receivedMessages()).isEqualTo(2);
		assertThat(this.connection.context.counters().receivedBytes()).isEqualTo(4);
	}

	/** Its timer would also expire again and again. */
	@Test
	void peerThatWaitsForAReplyIsNotSilent() throws IOException {
		open();
		this.connection.idleAfter(EventType.READ, TIMEOUT);
		this.onMessage = () -> this.connection.owe();
		receive("1\n");
		this.clock.advance(TIMEOUT);
		this.connection.handle.request(SelectableHandle.LOOK);
		assertThat(lead()).isTrue();
		round();
		assertThat(this.seen).containsExactly("1");
		assertThat(untilDeadline()).isEqualTo(TIMEOUT);
	}

	/** Also if the part is read when the period has passed. */
	@Test
	void peerThatSendsAPartOfAMessageIsNotSilent() throws IOException {
		open();
		this.connection.idleAfter(EventType.READ, TIMEOUT);
		this.clock.advance(TIMEOUT);
		receive("part");
		assertThat(this.seen).isEmpty();
		this.clock.advance(TIMEOUT);
		receive("");
		assertThat(this.seen).containsExactly("idle READ");
	}

	/** The peer could not know that it was waited for while the handler ran. */
	@Test
	void peerIsNotSilentWhileItsMessageIsHandled() throws IOException {
		open();
		this.connection.idleAfter(EventType.READ, TIMEOUT);
		this.onMessage = () -> this.clock.advance(TIMEOUT.multipliedBy(2));
		receive("x\n");
		receive("");
		this.clock.advance(TIMEOUT);
		receive("");
		assertThat(this.seen).containsExactly("x", "idle READ");
	}

	/** A message may be late because no thread was free to read it. */
	@ParameterizedTest
	@ValueSource(booleans = { false, true })
	void messageThatIsReadLateGetsTheFullTimeAgain(boolean skips) throws IOException {
		this.builder.messageTimeout(TIMEOUT).skipOversizedMessages(true);
		open();
		receive("x".repeat(skips ? 200 : 1));
		this.clock.advance(TIMEOUT.plusSeconds(1));
		receive("x");
		assertThat(reason()).isNull();
		this.clock.advance(TIMEOUT.minusMillis(1));
		receive("x\n");
		assertThat(this.seen).containsExactly(skips ? "error" : "xxx");
		assertThat(reason()).isNull();
	}

	@Test
	void messageThatIsNotCompleteInTimeEndsTheConnection() throws IOException {
		this.builder.messageTimeout(TIMEOUT);
		open();
		receive("x");
		assertThat(this.connection.deadline(this.clock.nanoTime()) - this.clock.nanoTime())
			.isEqualTo(TIMEOUT.toNanos());
		this.clock.advance(TIMEOUT);
		receive("");
		assertThat(reason()).isEqualTo(CloseReason.MESSAGE_TIMEOUT);
	}

	@Test
	void messageIsLateAlthoughThereWasMoreToReadBefore() throws IOException {
		this.builder.messageTimeout(TIMEOUT);
		open();
		this.transport.keepsInput = true;
		this.onMessage = () -> this.transport.keepsInput = false;
		receive("1\n2");
		this.clock.advance(TIMEOUT);
		receive("");
		assertThat(reason()).isEqualTo(CloseReason.MESSAGE_TIMEOUT);
	}

	/** The connection stays open only until it has answered the message before. */
	@Test
	void nothingIsReadBehindAMessageThatIsTooLarge() throws IOException {
		this.onMessage = () -> this.connection.owe();
		open();
		receive("1\n");
		this.transport.keepsInput = true;
		this.transport.readable = 200;
		receive("x".repeat(400));
		assertThat(reason()).isNull();
		assertThat(this.transport.input.remaining()).isEqualTo(200);
	}

	@Test
	void connectionGoesOnAfterAHandlerThatFailsWhenItIsToldOfAMessageThatIsTooLarge() throws IOException {
		this.builder.skipOversizedMessages(true);
		open();
		this.onError = () -> {
			throw new IllegalStateException("made for the test");
		};
		receive("x".repeat(200) + "\n2\n");
		assertThat(this.seen).containsExactly("error", "2");
		assertThat(reason()).isNull();
	}

	/** The client would take the next reply for the missing one. */
	@Test
	void connectionEndsIfMemoryIsTooShortToTellOfAMessageThatIsTooLarge() throws IOException {
		this.builder.skipOversizedMessages(true);
		open();
		this.onError = () -> {
			this.onError = () -> {
			};
			throw new OutOfMemoryError("made for the test");
		};
		receive("x".repeat(200) + "\n2\n");
		assertThat(this.seen).containsExactly("error", "error", "close HANDLER_ERROR");
	}

	static Stream<Arguments> failuresToRead() {
		return Stream.of(arguments(new MemoryBudget.ExhaustedException(), CloseReason.OVERLOADED),
				arguments(new SSLException("made for the test"), CloseReason.MALFORMED),
				arguments(new IOException("made for the test"), CloseReason.IO_ERROR));
	}

	/** The system may choose the port of a peer that does not listen. */
	@Test
	@EnabledOnOs(OS.LINUX)
	void connectionToItselfIsNotEstablished() throws IOException {
		SocketChannel socket = SocketChannel.open().bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
		socket.connect(socket.getLocalAddress());
		accept(socket, null);
		round();
		assertThat(reason()).isEqualTo(CloseReason.CONNECT_FAILED);
		assertThat(this.connection.closing().cause()).hasMessageContaining("connected to itself");
		assertThat(this.connection.opened).isFalse();
		assertThat(this.channel.isOpen()).isFalse();
	}

	@ParameterizedTest
	@MethodSource("failuresToRead")
	void connectionThatCannotBeReadCloses(IOException failure, CloseReason reason) throws IOException {
		open();
		this.transport.failsToRead = failure;
		receive("1\n");
		assertThat(this.seen.get(this.seen.size() - 1)).isEqualTo("close " + reason);
		assertThat(this.connection.closing().cause()).isSameAs((reason != CloseReason.OVERLOADED) ? failure : null);
		assertThat(this.channel.isOpen()).isFalse();
	}

	/** The thread that handles the first message no longer owns the connection. */
	@Test
	void messageBehindOneInFlightMustBeCompleteInTime() throws IOException {
		this.builder.messageTimeout(TIMEOUT).maxInFlightPerConnection(4);
		open();
		List<Long> left = new ArrayList<>();
		this.onMessage = () -> left.add(this.connection.deadline(this.clock.nanoTime()) - this.clock.nanoTime());
		receive("1\n2");
		assertThat(left).containsExactly(TIMEOUT.toNanos());
		this.clock.advance(TIMEOUT);
		receive("");
		assertThat(reason()).isEqualTo(CloseReason.MESSAGE_TIMEOUT);
	}

	/** Its timer would fire again and again until the reply is sent. */
	@Test
	void messageThatCannotBeCompletedAnyMoreHasNoDeadline() throws IOException {
		this.builder.messageTimeout(TIMEOUT);
		open();
		OwedReply[] owed = new OwedReply[1];
		this.onMessage = () -> owed[0] = this.connection.owe();
		receive("1\n2");
		assertThat(untilDeadline()).isEqualTo(TIMEOUT);
		this.transport.ends = true;
		receive("");
		assertThat(untilDeadline()).isGreaterThan(TIMEOUT);
		assertThat(reason()).isNull();
		owed[0].close();
		assertThat(lead()).isTrue();
		round();
		assertThat(this.seen).containsExactly("1", "close PEER");
	}

	/** Otherwise its owner would look again and again until the reply is sent. */
	@Test
	void connectionWhoseInputIsOverRestsUntilItHasAnswered() throws IOException {
		open();
		OwedReply[] owed = new OwedReply[1];
		this.onMessage = () -> owed[0] = this.connection.owe();
		receive("1\n");
		this.transport.ends = true;
		receive("");
		assertThat(this.connection.handle.isPaused()).isTrue();
		assertThat(lead()).isFalse();
		owed[0].close();
		assertThat(lead()).isTrue();
		round();
		assertThat(this.seen).containsExactly("1", "close PEER");
	}

	@Test
	void inputEndsForTheFirstReason() throws IOException {
		open();
		this.onMessage = () -> this.connection.owe();
		receive("1\n");
		this.connection.endInput(CloseReason.PEER, null);
		this.connection.endInput(CloseReason.MALFORMED, new IOException("made for the test"));
		assertThat(this.connection.ending().reason()).isEqualTo(CloseReason.PEER);
	}

	/** The peer has ended the conversation, and is still answered. */
	@Test
	void handlerThatReceivesAfterTheEndOfTheInputHasNotFailed() throws IOException {
		open();
		OwedReply[] owed = new OwedReply[1];
		this.onMessage = () -> {
			owed[0] = this.connection.owe();
			this.connection.endInput(CloseReason.PEER, null);
			this.connection.receive(TIMEOUT);
		};
		receive("1\n");
		assertThat(reason()).isNull();
		owed[0].close();
		assertThat(lead()).isTrue();
		round();
		assertThat(this.seen).containsExactly("1", "close PEER");
	}

	/** Between the two marks, it depends on whether they have waited before. */
	@ParameterizedTest
	@ValueSource(booleans = { false, true })
	void keptMessagesWaitUntilThePeerHasReadMostOfItsBytes(boolean stalled) throws IOException {
		this.builder.maxOutboundSize(1400);
		open();
		postpone("x");
		this.transport.room = 0;
		this.connection.send(ByteBuffer.allocate(400));
		this.connection.stalled = stalled;
		assertThat(this.connection.takesPostponed()).isEqualTo(!stalled);
		this.connection.send(ByteBuffer.allocate(400));
		assertThat(this.connection.takesPostponed()).isFalse();
	}

	/** The application wants no further message. */
	@Test
	void keptMessageIsNotHandledAfterTheApplicationHasClosedTheConnection() throws IOException {
		open();
		postpone("x");
		this.connection.close(CloseReason.TAKEN_OVER);
		assertThat(lead()).isTrue();
		round();
		assertThat(this.seen).containsExactly("close TAKEN_OVER");
	}

	/** Its replies could follow others that were refused. */
	@Test
	void keptMessageIsNotHandledWhileTheLastBytesAreWritten() throws IOException {
		open();
		this.transport.room = 0;
		this.connection.send(Engine.bytes("reply"));
		this.connection.requestCloseAndLook(CloseReason.PEER, null);
		assertThat(lead()).isTrue();
		round();
		assertThat(this.channel.isOpen()).isTrue();
		postpone("x");
		assertThat(this.connection.takesPostponed()).isFalse();
	}

	/** No other reason may come for which its owner would look again. */
	@Test
	void connectionThatPausesAlthoughItClosesIsLookedAt() throws IOException {
		open();
		this.onMessage = () -> this.connection.suspend();
		receive("1\n");
		assertThat(this.connection.handle.claimForLook()).isEqualTo(Claim.CLAIMED);
		this.connection.requestClose(CloseReason.LOCAL, null);
		assertThat(this.connection.pauseUntil(0)).isTrue();
		assertThat(lead()).isTrue();
	}

	@Test
	void noMoreIsReadThanThereIsRoomFor() throws IOException {
		open();
		this.transport.receive("12345");
		ByteBuffer input = ByteBuffer.allocate(100);
		assertThat(this.connection.read(input, 2)).isEqualTo(2);
		assertThat(input.position()).isEqualTo(2);
		assertThat(input.limit()).isEqualTo(100);
	}

	/** What the peer has sent before is still answered. */
	@Test
	void inputThatCannotBeDecryptedEndsAfterTheReplies() throws IOException {
		open();
		OwedReply[] owed = new OwedReply[1];
		this.onMessage = () -> owed[0] = this.connection.owe();
		receive("1\n");
		this.transport.failsToRead = new SSLException("made for the test");
		receive("");
		assertThat(reason()).isNull();
		assertThat(this.connection.ending().reason()).isEqualTo(CloseReason.MALFORMED);
		owed[0].close();
		assertThat(reason()).isNull();
		assertThat(lead()).isTrue();
		round();
		assertThat(reason()).isEqualTo(CloseReason.MALFORMED);
	}

	/** Its rest has arrived in time, and no thread was free to read it. */
	@Test
	void messageIsNotLateWhileTheSocketHoldsMore() throws IOException {
		this.builder.messageTimeout(TIMEOUT);
		open();
		receive("part");
		this.clock.advance(TIMEOUT);
		this.connection.checkTimeouts(this.clock.nanoTime(), false, true);
		assertThat(reason()).isNull();
		this.connection.checkTimeouts(this.clock.nanoTime(), false, false);
		assertThat(reason()).isEqualTo(CloseReason.MESSAGE_TIMEOUT);
	}

	@Test
	void skippedMessageIsNotLateWhileItIsNotRead() throws IOException {
		this.builder.messageTimeout(TIMEOUT);
		open();
		this.connection.beginToSkip(100);
		this.connection.stalled = true;
		this.connection.keep(null);
		assertThat(this.connection.messageDeadline).isEqualTo(EngineEventHandler.NO_DEADLINE);
		this.connection.stalled = false;
		this.connection.keep(null);
		assertThat(untilDeadline()).isEqualTo(TIMEOUT);
	}

	/**
	 * A peer that has read all replies must not stay silent without end.
	 * @param skipped whether the message that has begun is too large
	 */
	@ParameterizedTest
	@ValueSource(booleans = { false, true })
	void messageThatWasNotReadHasItsTimeAgainOnceThePeerHasReadTheReplies(boolean skipped) throws IOException {
		this.builder.messageTimeout(TIMEOUT).maxOutboundSize(1024);
		open();
		this.transport.room = 0;
		this.onMessage = () -> {
			if (skipped) {
				this.connection.beginToSkip(100);
			}
			this.connection.send(ByteBuffer.allocate(1000));
		};
		receive(skipped ? "1\n" : "1\npart");
		assertThat(this.connection.handle.isPaused()).isTrue();
		assertThat(this.connection.messageDeadline).isEqualTo(EngineEventHandler.NO_DEADLINE);
		this.clock.advance(TIMEOUT.multipliedBy(2));
		this.transport.room = 2000;
		this.set.demultiplex(this.connection.handle, SelectionKey.OP_WRITE);
		assertThat(lead()).isTrue();
		round();
		assertThat(reason()).isNull();
		assertThat(untilDeadline()).isEqualTo(TIMEOUT);
	}

	/** A handler that waited for a reply had read the beginning of the next message. */
	@Test
	void messageThatWasBegunByAHandlerHasNoDeadlineWhileTheConnectionStalls() throws IOException {
		this.builder.messageTimeout(TIMEOUT).maxOutboundSize(1024);
		open();
		this.transport.room = 0;
		receive("part");
		postpone("x");
		this.onMessage = () -> {
			this.connection.keep(this.connection.partial);
			this.connection.send(ByteBuffer.allocate(1000));
		};
		this.connection.handle.request(SelectableHandle.LOOK);
		assertThat(lead()).isTrue();
		round();
		assertThat(this.seen).containsExactly("x");
		assertThat(this.connection.partial).isNotNull();
		assertThat(this.connection.handle.isPaused()).isTrue();
		assertThat(this.connection.messageDeadline).isEqualTo(EngineEventHandler.NO_DEADLINE);
	}

	/** It is no message, and the peer has had all the time that it may take. */
	@Test
	void handshakeThatIsReadLateIsNotRestarted() throws IOException {
		this.builder.messageTimeout(TIMEOUT).handshakeTimeout(TIMEOUT);
		accept();
		long deadline = this.connection.messageDeadline;
		this.clock.advance(TIMEOUT.multipliedBy(2));
		this.connection.active = true;
		this.connection.restartIfReadLate(this.clock.nanoTime());
		assertThat(this.connection.messageDeadline).isEqualTo(deadline);
		this.connection.timeRest();
		assertThat(this.connection.messageDeadline).isEqualTo(deadline);
	}

	/**
	 * @param byPeer whether the peer has to read before the connection is read
	 */
	@ParameterizedTest
	@ValueSource(booleans = { false, true })
	void partOfARecordThatIsNotReadHasADeadlineIfThePeerIsTheReason(boolean byPeer) throws IOException {
		this.builder.messageTimeout(TIMEOUT);
		open();
		this.transport.holdsPart = true;
		this.connection.stalled = true;
		this.connection.stalledByPeer = byPeer;
		this.connection.timeRest();
		long deadline = this.clock.nanoTime() + TIMEOUT.toNanos();
		assertThat(this.connection.messageDeadline).isEqualTo(byPeer ? deadline : EngineEventHandler.NO_DEADLINE);
	}

	/**
	 * @param except why the time does not begin yet
	 */
	@ParameterizedTest
	@ValueSource(strings = { "", "left", "stalled", "more to read", "whole" })
	void lastMessageOfADrainHasItsTimeOnceNothingElseIsRead(String except) throws IOException {
		this.builder.messageTimeout(TIMEOUT.multipliedBy(5)).drainMessageTimeout(TIMEOUT);
		open();
		receive(except.equals("whole") ? "" : "part");
		this.connection.watch().drained = new DrainedInput(except.equals("left") ? 1 : 0);
		this.connection.stalled = except.equals("stalled");
		this.connection.moreToRead = except.equals("more to read");
		this.connection.timeRest();
		boolean begins = this.connection.messageDeadline == this.clock.nanoTime() + TIMEOUT.toNanos();
		assertThat(begins).isEqualTo(except.isEmpty());
	}

	/** Its peer answers requests, and may wait for the bytes itself. */
	@Test
	void keptMessageOfAClientIsHandledAlthoughItsPeerDoesNotRead() throws IOException {
		this.context = (own) -> new ConnectionContext(own.server(), own.handler(), own.framing(), own.limits(),
				own.timeouts(), own.counters(), own.warnings(), own.registry(), own.tls(), own.pool(), own.clock(),
				own.memory(), own.work(), own.window(), own.wire(), true, own.classes(), own.preparation());
		this.builder.maxOutboundSize(1400);
		open();
		postpone("x");
		this.transport.room = 0;
		this.connection.send(ByteBuffer.allocate(1000));
		assertThat(this.connection.takesPostponed()).isTrue();
	}

	@Test
	void messageHasNoMinimumRateWithoutATimeout() throws IOException {
		this.builder.messageTimeout(Duration.ZERO).minReadRate(1000);
		open();
		receive("part");
		assertThat(this.connection.partial).isNotNull();
		assertThat(this.connection.messageDeadline).isEqualTo(EngineEventHandler.NO_DEADLINE);
	}

	@Test
	void connectionIsNotSilentWhileAMessageIsHandled() throws IOException {
		this.builder.maxInFlightPerConnection(4);
		open();
		this.connection.idleAfter(EventType.WRITE, TIMEOUT);
		begin("1\n");
		this.clock.advance(TIMEOUT);
		this.connection.handle.request(SelectableHandle.LOOK);
		assertThat(lead()).isTrue();
		round(participant(2));
		assertThat(this.seen).isEmpty();
		finish(this.me);
		assertThat(this.seen).containsExactly("1");
	}

	@Test
	void connectionThatPausesHasATimer() throws IOException {
		open();
		this.onMessage = () -> {
			this.connection.idleAfter(EventType.WRITE, TIMEOUT);
			this.connection.suspend();
		};
		receive("x\n");
		assertThat(this.connection.handle.isPaused()).isTrue();
		this.set.applyUpdates();
		assertThat(this.connection.handle.timerDeadline - this.clock.nanoTime()).isEqualTo(TIMEOUT.toNanos());
	}

	/** The reason for the pause may end after the last check. */
	@Test
	void connectionThatIsSuspendedReadsARequestedReply() throws IOException {
		open();
		this.connection.suspend();
		own();
		ask();
		assertThat(this.connection.pauseUntil(0)).isTrue();
		assertThat(lead()).isTrue();
	}

	@Test
	void connectionThatDrainsHandlesTheMessagesThatItHasKept() throws IOException {
		open();
		own();
		postpone("x");
		this.connection.drains = true;
		assertThat(this.connection.isHeldUp()).isTrue();
		assertThat(this.connection.pauseUntil(0)).isTrue();
		assertThat(lead()).isTrue();
		round();
		assertThat(this.seen).startsWith("x");
		assertThat(this.memory.used()).isZero();
	}

	@Test
	void peerThatSendsAPartOfARecordIsNotIdle() throws IOException {
		this.builder.idleTimeout(TIMEOUT);
		open();
		this.clock.advance(TIMEOUT.dividedBy(2));
		this.transport.part = 1;
		receive("");
		assertThat(this.connection.lastActivity()).isEqualTo(this.clock.nanoTime());
		this.clock.advance(TIMEOUT.dividedBy(2));
		receive("");
		assertThat(this.connection.lastActivity()).isNotEqualTo(this.clock.nanoTime());
	}

	/** The thread that has read the message waited for longer than the idle timeout. */
	@Test
	void connectionWithAKeptMessageIsNotIdle() throws IOException {
		this.builder.idleTimeout(TIMEOUT);
		open();
		own();
		this.me.enter();
		this.me.begin(this.connection.handle);
		assertThat(this.connection.prepare(this.me)).isFalse();
		postpone("x");
		this.clock.advance(TIMEOUT);
		rest(this.me);
		assertThat(reason()).isNull();
		assertThat(this.connection.lastActivity()).isEqualTo(this.clock.nanoTime());
		own();
		round();
		assertThat(this.seen).containsExactly("x");
	}

	@Test
	void keptMessagesAreNotHandledAfterTheHandlerHasFailed() throws IOException {
		open();
		postpone("x");
		this.connection.fail(new IllegalStateException("made for the test"));
		assertThat(lead()).isTrue();
		round();
		assertThat(this.seen).containsExactly("error", "close HANDLER_ERROR");
		assertThat(this.memory.used()).isZero();
	}

	@Test
	void keptMessagesAreHandledAfterThePeerHasFailed() throws IOException {
		open();
		own();
		postpone("x");
		this.connection.requestClose(CloseReason.IO_ERROR, null);
		round();
		assertThat(this.seen).containsExactly("x", "close IO_ERROR");
		assertThat(this.memory.used()).isZero();
	}

	@ParameterizedTest
	@ValueSource(booleans = { false, true })
	void nobodyWaitsForAConnectionThatCannotEnd(boolean isAbandoned) throws IOException {
		open();
		receive("part");
		CompletableFuture<ByteBuffer> reply = ask();
		postpone("x");
		if (isAbandoned) {
			this.connection.abandon();
		}
		else {
			own();
			while (this.connection.failed(this.me, new IllegalStateException("made for the test"))) {
				assertThat(reply).isNotDone();
			}
		}
		assertThat(reply).isCompletedExceptionally();
		assertThat(this.connection.whenClosed()).isDone();
		assertThat(this.connection.handle.isMarkedClosed()).isTrue();
		assertThat(this.memory.used()).isZero();
	}

	// A connection that is read by a thread that waits in another handler

	/** Reads without calling the handler. Returns whether this is all there is to do. */
	private boolean prepareReplies() {
		this.me.begin(this.connection.handle);
		return this.connection.prepareReplies(this.me);
	}

	private void receiveElsewhere(String lines) {
		this.transport.receive(lines);
		own();
		assertThat(prepareReplies()).isTrue();
		assertThat(this.connection.release(this.me)).isTrue();
		this.me.worksOn(null);
	}

	@Test
	void silenceThatAWaitingThreadFindsIsReportedByTheNextOwner() throws IOException {
		open();
		this.connection.idleAfter(EventType.READ, TIMEOUT);
		receiveElsewhere("");
		assertThat(this.connection.hasPostponed()).isFalse();
		this.clock.advance(TIMEOUT);
		receiveElsewhere("");
		assertThat(this.connection.hasPostponed()).isTrue();
		assertThat(untilDeadline()).isGreaterThan(TIMEOUT);
		receive("");
		assertThat(this.seen).containsExactly("idle READ");
		assertThat(this.connection.hasPostponed()).isFalse();
		assertThat(untilDeadline()).isEqualTo(TIMEOUT);
	}

	@Test
	void loginThatAWaitingThreadHasPutAsideIsInTime() throws IOException {
		this.builder.loginTimeout(TIMEOUT);
		open();
		receiveElsewhere("login\n");
		this.clock.advance(TIMEOUT.plusSeconds(1));
		receiveElsewhere("");
		assertThat(reason()).isNull();
		this.onMessage = this.connection::loggedIn;
		receive("");
		assertThat(this.seen).containsExactly("login");
		assertThat(reason()).isNull();
	}

	@Test
	void messageThatAWaitingThreadHasPutAsideIsNoLogin() throws IOException {
		this.builder.loginTimeout(TIMEOUT);
		open();
		receiveElsewhere("x\n");
		this.clock.advance(TIMEOUT.plusSeconds(1));
		receiveElsewhere("");
		assertThat(untilDeadline()).isPositive();
		receive("");
		assertThat(this.seen).containsExactly("x");
		this.clock.advance(untilDeadline());
		receive("");
		assertThat(reason()).isEqualTo(CloseReason.LOGIN_TIMEOUT);
	}

	/** No event follows that would make a thread look at the connection. */
	@Test
	void roomThatAWaitingThreadFindsIsReportedByTheNextOwner() throws IOException {
		this.builder.maxOutboundSize(1024);
		open();
		this.transport.room = 0;
		this.connection.send(ByteBuffer.allocate(600));
		receiveElsewhere("");
		assertThat(this.connection.hasPostponed()).isFalse();
		this.transport.room = 601;
		this.set.demultiplex(this.connection.handle, SelectionKey.OP_WRITE);
		assertThat(lead()).isTrue();
		assertThat(prepareReplies()).isTrue();
		assertThat(this.connection.hasPostponed()).isTrue();
		assertThat(this.connection.release(this.me)).isTrue();
		this.me.worksOn(null);
		receive("");
		assertThat(this.seen).containsExactly("writable");
		assertThat(this.connection.hasPostponed()).isFalse();
	}

	@Test
	void futureThatTimesOutWhileAThreadWaitsIsLeftToAnother() throws IOException {
		open();
		CompletableFuture<ByteBuffer> reply = this.connection.exchangeAsync(Engine.bytes("a:?"), TIMEOUT);
		this.clock.advance(TIMEOUT);
		receiveElsewhere("");
		assertThat(reply).isNotDone();
		assertThat(this.connection.hasPostponed()).isTrue();
		receive("");
		assertThat(reply).isCompletedExceptionally();
	}

	@Test
	void waitingThreadReadsNoMessagesOfAConnectionThatDrains() throws IOException {
		open();
		this.connection.drains = true;
		this.transport.receive("x\n");
		own();
		assertThat(prepareReplies()).isFalse();
		assertThat(this.transport.input.remaining()).isEqualTo(2);
	}

	@Test
	void connectionThatIsSuspendedKeepsTheMessagesAroundARequestedReply() throws IOException {
		open();
		Suspension suspension = this.connection.suspend();
		CompletableFuture<ByteBuffer> reply = ask();
		receive("1\na:!\n2\n");
		assertThat(reply).isCompleted();
		assertThat(this.seen).isEmpty();
		suspension.resume();
		assertThat(lead()).isTrue();
		round();
		assertThat(this.seen).containsExactly("1", "2");
		assertThat(this.memory.used()).isZero();
	}

	@Test
	void connectionThatIsSuspendedLosesNoMessageThatCannotBeCopied() throws IOException {
		open();
		Suspension suspension = this.connection.suspend();
		ask();
		exhaustMemory();
		receive("x\n");
		suspension.resume();
		while (lead()) {
			round();
		}
		assertThat(this.seen.equals(List.of("x")) || reason() == CloseReason.OVERLOADED).isTrue();
	}

	@Test
	void tasksOfTheTransportAreRunAlthoughTheConnectionIsSuspended() throws IOException {
		open();
		this.connection.suspend();
		ask();
		this.transport.readNeeds = Progress.HAS_TASKS;
		receive("");
		assertThat(this.transport.readNeeds).isEqualTo(Progress.WANTS_READ);
	}

	@Test
	void tasksOfTheTransportAreRunByTheThreadThatWaits() throws IOException {
		open();
		ask();
		this.onMessage = () -> {
			Participant between = participant(2);
			this.transport.readNeeds = Progress.HAS_TASKS;
			assertThat(this.connection.readBound(between)).isTrue();
			this.connection.runTasks();
			this.transport.receive("a:!\n");
			assertThat(this.connection.readBound(between)).isFalse();
			assertThat(this.connection.exchanges.pending()).isZero();
		};
		receive("1\n");
		assertThat(this.seen).containsExactly("1");
	}

	@Test
	void connectionWithoutMemoryForWhatFollowsClosesAfterTheHandlerThatWaits() throws IOException {
		open();
		exhaustMemory();
		this.onMessage = () -> assertThat(this.connection.keepsInput(this.me)).isTrue();
		receive("1\n2\n");
		assertThat(this.seen).containsExactly("1", "close OVERLOADED");
	}

	@Test
	void memoryOfAMessageIsReleasedOnceIfThereIsNoneForWhatFollows() throws IOException {
		open();
		receive("1");
		long kept = this.memory.used();
		exhaustMemory();
		this.onMessage = () -> assertThat(this.connection.keepsInput(this.me)).isTrue();
		receive("\n2\n");
		assertThat(this.seen).containsExactly("1", "close OVERLOADED");
		this.me.withdraw();
		assertThat(this.memory.limit() - this.memory.used()).isEqualTo(kept);
	}

	/** The first message is not kept yet while a pool is chosen for it. */
	@Test
	void connectionIsReadWhileItsHandlerWaitsButNotWhileItsPoolIsChosen() throws IOException {
		List<Boolean> reads = new ArrayList<>();
		this.builder.serviceClass((connection, message) -> {
			reads.add(this.connection.boundConnection() != null);
			return null;
		});
		this.onMessage = () -> reads.add(this.connection.boundConnection() != null);
		open();
		receive("1\n");
		assertThat(reads).containsExactly(false, true);
	}

	/** No event may follow, because this thread has taken it. */
	@Test
	void inputThatAHandlerDoesNotWaitForIsReadAfterIt() throws IOException {
		open();
		this.onDrain = () -> this.connection.owe();
		drain();
		this.onMessage = () -> {
			if (this.seen.size() == 1) {
				assertThat(this.connection.readBound(participant(2))).isFalse();
				this.transport.receive("2\n");
			}
		};
		receive("1\n");
		assertThat(this.seen).containsExactly("1", "2");
	}

	/** The input that was read is lost, usually because memory is short. */
	@Test
	void connectionThatCannotBeReadWhileItsHandlerWaitsCloses() throws IOException {
		open();
		ask();
		this.onMessage = () -> {
			this.transport.readFailure = new OutOfMemoryError("made for the test");
			assertThatExceptionOfType(OutOfMemoryError.class)
				.isThrownBy(() -> this.connection.readBound(participant(2)));
			this.transport.readFailure = null;
			assertThat(this.connection.exchanges.pending()).isZero();
		};
		receive("1\n");
		assertThat(this.seen).containsExactly("1", "error", "close IO_ERROR");
	}

	@Test
	void waitingThreadReadsAReplyBehindAMessage() throws IOException {
		open();
		CompletableFuture<ByteBuffer> reply = ask();
		receiveElsewhere("1\na:!\n");
		assertThat(this.connection.exchanges.pending()).isZero();
		assertThat(reply).isNotDone();
		receive("");
		assertThat(reply).isCompleted();
		assertThat(this.seen).containsExactly("1");
		assertThat(this.memory.used()).isZero();
	}

	/** Nobody needs a thread for it, because it runs no code of the application. */
	@Test
	void waitingThreadPassesARelayedReplyOnAtOnce() throws IOException {
		open();
		CompletableFuture<ByteBuffer> reply = this.connection.relay(Engine.bytes("a:?"), Duration.ofHours(1));
		receiveElsewhere("1\na:!\n");
		assertThat(reply).isCompleted();
		receive("");
		assertThat(this.seen).containsExactly("1");
	}

	/** The caller may cancel the future before it is known where the request was sent. */
	@Test
	void requestThatWasCancelledBeforeItWasSentIsGivenUp() throws IOException {
		open();
		Reply reply = new Reply(Long.MAX_VALUE, false);
		reply.cancel(true);
		assertThat(reply.exchange.state()).isEqualTo(Exchange.State.PENDING);
		reply.begin(this.connection.exchanges);
		assertThat(reply.exchange.state()).isEqualTo(Exchange.State.CANCELLED);
	}

	/** Otherwise they would keep the thread that completes the futures. */
	@ParameterizedTest
	@EnumSource(names = { "IO_ERROR", "PEER" })
	void waitingThreadLeavesTheEndToAnotherAfterTheWaitsHaveEnded(CloseReason reason) throws IOException {
		open();
		CompletableFuture<ByteBuffer> reply = ask();
		own();
		if (reason == CloseReason.PEER) {
			this.transport.ends = true;
		}
		else {
			this.connection.requestClose(reason, null);
		}
		assertThat(prepareReplies()).isFalse();
		assertThat(this.connection.exchanges.pending()).isZero();
		assertThat(reply).isNotDone();
		this.me.worksOn(null);
		round();
		assertThat(reply).isCompletedExceptionally();
		assertThat(this.seen).containsExactly("close " + reason);
	}

	@Test
	void futureOfASuspendedConnectionIsCompletedAtOnceAfterAThreadHasWaited() throws IOException {
		open();
		receiveElsewhere("");
		this.connection.suspend();
		CompletableFuture<ByteBuffer> reply = ask();
		receive("a:!\n");
		assertThat(reply).isCompleted();
	}

	/** It is skipped by the next owner, who reports it. */
	@Test
	void messageThatIsTooLargeIsLeftToAnotherThread() throws IOException {
		this.builder.skipOversizedMessages(true);
		open();
		this.transport.receive("x".repeat(200));
		own();
		assertThat(prepareReplies()).isFalse();
		this.me.worksOn(null);
		round();
		assertThat(this.seen).containsExactly("error");
		receive("x\n1\n");
		assertThat(this.seen).containsExactly("error", "1");
	}

	// A connection that is not read for a while

	/** Its handler had the connection suspended. */
	private void resume(Suspension suspension) {
		suspension.resume();
		assertThat(lead()).isTrue();
		round();
	}

	@Test
	void messageGetsTheFullTimeAgainAfterASuspension() throws IOException {
		this.builder.messageTimeout(TIMEOUT);
		open();
		receive("x");
		Suspension suspension = this.connection.suspend();
		receive("");
		assertThat(untilDeadline()).isGreaterThan(TIMEOUT);
		this.clock.advance(TIMEOUT.multipliedBy(2));
		resume(suspension);
		assertThat(reason()).isNull();
		assertThat(untilDeadline()).isEqualTo(TIMEOUT);
	}

	@ParameterizedTest
	@ValueSource(booleans = { false, true })
	void messageGetsNoMoreTimeIfItsPeerDoesNotRead(boolean suspends) throws IOException {
		this.builder.messageTimeout(TIMEOUT);
		open();
		receive("x");
		this.transport.readNeeds = Progress.WANTS_WRITE;
		receive("");
		assertThat(this.connection.handle.isPaused()).isTrue();
		Duration half = TIMEOUT.dividedBy(2);
		this.clock.advance(half);
		this.transport.readNeeds = Progress.WANTS_READ;
		if (suspends) {
			Suspension suspension = this.connection.suspend();
			receive("");
			resume(suspension);
		}
		else {
			receive("");
		}
		assertThat(untilDeadline()).isEqualTo(suspends ? TIMEOUT : half);
	}

	/** For example a long reply before the answer to a key update. */
	@ParameterizedTest
	@EnumSource(Begun.class)
	void messageHasTheFullTimeSinceItsPeerHasLastRead(Begun begun) throws IOException {
		this.builder.messageTimeout(TIMEOUT)
			.maxMessageSize(100)
			.skipOversizedMessages(true)
			.writeTimeout(Duration.ZERO)
			.maxOutboundSize(3000);
		stallByOutput(begun);
		read(100);
		long readNanos = this.connection.outbound.progressNanos(0);
		this.clock.advance(TIMEOUT);
		look();
		assertThat(reason()).isNull();
		assertThat(untilDeadline()).isEqualTo(TIMEOUT.plusNanos(readNanos - this.clock.nanoTime()));
		read(Integer.MAX_VALUE);
		this.transport.readNeeds = Progress.WANTS_READ;
		look();
		assertThat(reason()).isNull();
		assertThat(untilDeadline()).isEqualTo(TIMEOUT);
		this.clock.advance(TIMEOUT);
		receive("");
		assertThat(reason()).isEqualTo(CloseReason.MESSAGE_TIMEOUT);
	}

	/** Otherwise, a peer that reads in drips would delay the end of its server. */
	@ParameterizedTest
	@EnumSource(Begun.class)
	void lastMessageOfADrainHasNoMoreTimeAlthoughItsPeerReads(Begun begun) throws IOException {
		this.builder.messageTimeout(TIMEOUT)
			.maxMessageSize(100)
			.skipOversizedMessages(true)
			.writeTimeout(Duration.ZERO)
			.maxOutboundSize(3000);
		stallByOutput(begun);
		long deadline = this.connection.messageDeadline;
		assertThat(deadline).isNotEqualTo(EngineEventHandler.NO_DEADLINE);
		this.connection.watch().drained = new DrainedInput(0);
		this.clock.advance(TIMEOUT.dividedBy(2));
		read(100);
		look();
		assertThat(reason()).isNull();
		assertThat(this.connection.messageDeadline).isLessThanOrEqualTo(deadline);
	}

	/** It could otherwise keep the beginning of a message without end. */
	@ParameterizedTest
	@EnumSource(Begun.class)
	void messageHasNoMoreTimeIfItsPeerReadsNoneOfTheOutput(Begun begun) throws IOException {
		this.builder.messageTimeout(TIMEOUT)
			.maxMessageSize(100)
			.skipOversizedMessages(true)
			.writeTimeout(Duration.ZERO);
		stallByOutput(begun);
		this.clock.advance(TIMEOUT);
		receive("");
		assertThat(reason()).isEqualTo(CloseReason.MESSAGE_TIMEOUT);
	}

	/** It can be the last record, of which the peer reads no more. */
	@Test
	void messageHasNoMoreTimeWhileOnlyItsTransportHasBytesToWrite() throws IOException {
		this.builder.messageTimeout(TIMEOUT).writeTimeout(Duration.ZERO);
		stallByOutput(Begun.MESSAGE);
		read(Integer.MAX_VALUE);
		this.transport.pending = 1;
		this.clock.advance(TIMEOUT);
		receive("");
		assertThat(reason()).isEqualTo(CloseReason.MESSAGE_TIMEOUT);
	}

	/** What has begun when the peer stalls the connection. */
	enum Begun {

		MESSAGE, OVERSIZED, RECORD

	}

	private void stallByOutput(Begun begun) throws IOException {
		// The time of the output is that of the system.
		this.clock.advance(Duration.ofNanos(System.nanoTime() - this.clock.nanoTime()));
		this.builder.idleTimeout(Duration.ZERO);
		open();
		this.transport.room = 0;
		this.connection.outbound.send(ByteBuffer.allocate(1000));
		this.clock.advance(Duration.ofNanos(System.nanoTime() - this.clock.nanoTime()));
		this.transport.holdsPart = begun == Begun.RECORD;
		receive((begun == Begun.MESSAGE) ? "x" : (begun == Begun.OVERSIZED) ? "x".repeat(200) : "");
		this.transport.readNeeds = Progress.WANTS_WRITE;
		receive("");
		assertThat(this.connection.handle.isPaused()).isTrue();
		assertThat(untilDeadline()).isEqualTo(TIMEOUT);
	}

	private void look() {
		this.connection.handle.request(SelectableHandle.LOOK);
		assertThat(lead()).isTrue();
		round();
	}

	private void read(int bytes) {
		this.transport.room = bytes;
		this.connection.outbound.flush(0);
	}

	/** The peer had to read first only before. */
	@Test
	void messageGetsTheFullTimeAgainAfterOtherHandlesHaveHadTheirTurn() throws IOException {
		this.builder.messageTimeout(TIMEOUT);
		open();
		this.transport.readNeeds = Progress.WANTS_WRITE;
		receive("");
		this.transport.readNeeds = Progress.WANTS_READ;
		this.transport.keepsInput = true;
		this.transport.readable = 1;
		receive("x".repeat(20));
		this.clock.advance(TIMEOUT.multipliedBy(2));
		this.transport.keepsInput = false;
		this.transport.receive("");
		assertThat(lead()).isTrue();
		round();
		assertThat(reason()).isNull();
		assertThat(untilDeadline()).isEqualTo(TIMEOUT);
	}

	@Test
	void peerIsNotSilentWhileNothingIsRead() throws IOException {
		open();
		this.connection.idleAfter(EventType.READ, TIMEOUT);
		Suspension[] suspension = new Suspension[1];
		this.onMessage = () -> suspension[0] = this.connection.suspend();
		receive("x\n");
		this.clock.advance(TIMEOUT);
		resume(suspension[0]);
		assertThat(this.seen).containsExactly("x");
		assertThat(untilDeadline()).isEqualTo(TIMEOUT);
	}

	@ParameterizedTest
	@ValueSource(strings = { "2", "2\n" })
	void connectionThatWasSuspendedByItsLastMessageCloses(String rest) throws IOException {
		open();
		receive("1");
		this.connection.drain();
		assertThat(lead()).isTrue();
		round();
		Suspension[] suspension = new Suspension[1];
		this.onMessage = () -> suspension[0] = this.connection.suspend();
		receive("\n" + rest);
		assertThat(reason()).isNull();
		resume(suspension[0]);
		assertThat(this.seen).containsExactly("1", "close LOCAL");
	}

	@Test
	void requestIsLostAtOnceAlthoughThePeerWaitsForItsReply() throws IOException {
		this.onMessage = () -> this.connection.owe();
		open();
		receive("1\n");
		CompletableFuture<ByteBuffer> reply = ask();
		this.transport.ends = true;
		receive("");
		assertThat(reply).isCompletedExceptionally();
		assertThat(reason()).isNull();
	}

	@Test
	void drainReadsOnlyInputThatHasBeenReceivedBefore() throws IOException {
		open();
		this.transport.part = 2;
		receive("");
		this.transport.receive("1\n2\n");
		this.transport.readable = 2;
		drain();
		assertThat(this.seen).containsExactly("1", "close LOCAL");
	}

	@Test
	void messageBehindTheLastReplyOfADrainIsHandled() throws IOException {
		open();
		CompletableFuture<ByteBuffer> reply = this.connection.relay(Engine.bytes("a:?"), Duration.ofHours(1));
		this.connection.drain();
		assertThat(lead()).isTrue();
		round();
		receive("a:!\n1\n");
		assertThat(reply).isCompleted();
		assertThat(this.seen).startsWith("1");
	}

	@Test
	void lastMessageInFlightEndsNoInputThatARequestedReplyNeeds() throws IOException {
		this.builder.maxInFlightPerConnection(4);
		open();
		CompletableFuture<ByteBuffer> reply = ask();
		receive("1");
		this.connection.drain();
		assertThat(lead()).isTrue();
		round();
		receive("\n");
		assertThat(this.seen).containsExactly("1");
		receive("a:!\n");
		assertThat(reply).isCompleted();
		while (lead()) {
			round();
		}
		assertThat(this.seen).containsExactly("1", "close LOCAL");
	}

	@Test
	void connectionThatIsSuspendedWaitsForTheInputOfARequestedReply() throws IOException {
		open();
		this.connection.suspend();
		ask();
		receive("");
		assertThat(this.connection.handle.isPaused()).isFalse();
		assertThat(lead()).isFalse();
	}

	/** For example because the peer has to read before TLS can continue. */
	@Test
	void connectionThatHasToFlushWaitsUntilEverythingIsWritten() throws IOException {
		this.builder.maxOutboundSize(1024);
		open();
		this.transport.room = 0;
		this.connection.send(Engine.bytes("reply"));
		this.transport.readNeeds = Progress.WANTS_FLUSH;
		receive("");
		assertThat(this.connection.handle.isPaused()).isTrue();
		assertThat(lead()).isFalse();
		this.transport.room = 100;
		this.transport.readNeeds = Progress.WANTS_READ;
		this.transport.receive("1\n");
		this.set.demultiplex(this.connection.handle, SelectionKey.OP_WRITE);
		assertThat(lead()).isTrue();
		round();
		assertThat(this.seen).containsExactly("1");
	}

	/** No event would report that the last word of the peer can be read. */
	@Test
	void connectionThatHasWrittenEverythingReadsTheEndBehindIt() throws IOException {
		open();
		this.transport.readNeeds = Progress.WANTS_FLUSH;
		receive("");
		assertThat(this.seen).containsExactly("close PEER");
		assertThat(this.channel.isOpen()).isFalse();
	}

	/** Its replies could fill the memory. */
	@Test
	void futureThatEndsDoesNotLetTheConnectionBeRead() throws IOException {
		this.builder.maxOutboundSize(1024);
		open();
		CompletableFuture<ByteBuffer> reply = ask();
		this.transport.room = 0;
		this.onMessage = () -> this.connection.send(ByteBuffer.allocate(600));
		receive("1\n");
		this.clock.advance(Duration.ofHours(1));
		this.transport.receive("2\n");
		this.connection.handle.request(SelectableHandle.LOOK);
		assertThat(lead()).isTrue();
		round();
		assertThat(reply).isCompletedExceptionally();
		assertThat(this.seen).containsExactly("1");
	}

	// Turns

	private static final int TURN = 64;

	@ParameterizedTest
	@ValueSource(booleans = { false, true })
	void otherHandlesHaveTheirTurnAfterManyMessages(boolean areKept) throws IOException {
		this.builder.idleTimeout(TIMEOUT);
		open();
		if (areKept) {
			own();
			for (int i = 0; i < TURN + 1; i++) {
				postpone("x");
			}
			round();
		}
		else {
			receive("x\n".repeat(TURN + 1));
		}
		assertThat(this.seen).hasSize(TURN);
		assertThat(lead()).isTrue();
		// The connection is not idle, although nothing is read.
		this.onMessage = () -> this.clock.advance(TIMEOUT);
		round();
		assertThat(this.seen).hasSize(TURN + 1);
		assertThat(reason()).isNull();
		assertThat(this.memory.used()).isZero();
	}

	@Test
	void otherHandlesHaveTheirTurnAfterAFewMilliseconds() throws IOException {
		open();
		this.onMessage = () -> this.clock.advance(Duration.ofMillis(6));
		receive("1\n2\n3\n");
		assertThat(this.seen).containsExactly("1", "2");
		assertThat(lead()).isTrue();
		round();
		assertThat(this.seen).containsExactly("1", "2", "3");
	}

	/** Each message waits for the one before it, and the thread goes on with it. */
	@Test
	void otherHandlesHaveTheirTurnAfterAFewMillisecondsOfAFullWindow() throws IOException {
		this.builder.maxInFlightPerConnection(2);
		open();
		this.onMessage = () -> this.connection.suspend();
		receive("0\n");
		this.onMessage = () -> this.clock.advance(Duration.ofMillis(6));
		receive("1\n2\n3\n");
		assertThat(this.seen).containsExactly("0", "1", "2");
		assertThat(lead()).isTrue();
		round();
		assertThat(this.seen).containsExactly("0", "1", "2", "3");
	}

	/** They may block. */
	@Test
	void tasksOfTheTransportAreRunByAThreadThatDoesNotLead() throws IOException {
		open();
		this.transport.readNeeds = Progress.HAS_TASKS;
		own();
		this.me.begin(this.connection.handle);
		assertThat(this.connection.prepare(this.me)).isTrue();
		assertThat(this.connection.profile()).isSameAs(HandlerProfile.BLOCKING);
		this.connection.dispatch(this.me);
		rest(this.me);
		assertThat(this.transport.readNeeds).isEqualTo(Progress.WANTS_READ);
	}

	// Reading

	@Test
	void connectionThatHasNoMemoryForTheBeginningOfAMessageCloses() throws IOException {
		open();
		exhaustMemory();
		receive("x");
		assertThat(reason()).isEqualTo(CloseReason.OVERLOADED);
	}

	@Test
	void connectionThatHasNoMemoryForTheRestOfAMessageCloses() throws IOException {
		this.builder.maxMessageSize(200_000);
		open();
		receive("x".repeat(70_000));
		exhaustMemory();
		receive("x".repeat(70_000));
		assertThat(reason()).isEqualTo(CloseReason.OVERLOADED);
	}

	@Test
	void connectionIsReadAFewTimesBeforeOthersHaveTheirTurn() throws IOException {
		open();
		this.transport.readable = 1;
		this.transport.keepsInput = true;
		receive("x".repeat(50));
		assertThat(this.transport.input.remaining()).isEqualTo(50 - FramedConnection.MAX_READS);
		assertThat(lead()).isTrue();
		round();
		assertThat(this.transport.input.remaining()).isEqualTo(50 - 2 * FramedConnection.MAX_READS);
	}

	/** The handler would fill the memory with its replies. */
	@Test
	void nothingIsReadUntilThePeerHasTakenMostReplies() throws IOException {
		this.builder.maxOutboundSize(1024);
		open();
		this.transport.room = 0;
		this.onMessage = () -> this.connection.send(ByteBuffer.allocate(600));
		receive("1\n2\n");
		assertThat(this.seen).containsExactly("1");
		this.connection.handle.request(SelectableHandle.LOOK);
		assertThat(lead()).isTrue();
		round();
		assertThat(this.seen).containsExactly("1");
		this.transport.room = 601;
		this.set.demultiplex(this.connection.handle, SelectionKey.OP_WRITE);
		assertThat(lead()).isTrue();
		round();
		assertThat(this.seen).containsExactly("1", "writable", "2");
	}

	// The end of a connection

	@ParameterizedTest
	@CsvSource({ "LOCAL, IO_ERROR, true, true", "LOCAL, IO_ERROR, false, false", "LOCAL, SHUTDOWN_TIMEOUT, false, true",
			"LOCAL, PEER, true, false", "IO_ERROR, WRITE_TIMEOUT, true, false" })
	void reasonIsReplacedOnlyIfAGracefulCloseLosesReplies(CloseReason earlier, CloseReason later, boolean lossy,
			boolean replaces) throws IOException {
		open();
		CloseSequence end = CloseSequence.of(this.connection, earlier, null);
		assertThat(end.replaceReason(later, null, lossy)).isEqualTo(replaces);
		assertThat(end.reason()).isEqualTo(replaces ? later : earlier);
	}

	/** Closes the connection, whose peer does not close its side. */
	private void linger() throws IOException {
		open();
		this.transport.closes = false;
		own();
		this.connection.close();
		round();
		assertThat(this.channel.isOpen()).isTrue();
	}

	@Test
	void connectionThatIsAbandonedLosesItsRepliesAndSaysSo() throws IOException {
		open();
		this.transport.room = 0;
		this.connection.send(Engine.bytes("reply"));
		own();
		this.connection.close();
		round();
		assertThat(this.channel.isOpen()).isTrue();
		this.connection.abandon();
		assertThat(this.channel.isOpen()).isFalse();
		assertThat(this.seen).containsExactly("close SHUTDOWN_TIMEOUT");
		assertThat(this.memory.used()).isZero();
	}

	/** The thread may belong to the application, which closes the pool. */
	@Test
	void interruptEndsWithTheHandlerOfAConnectionThatIsAbandoned() throws IOException {
		open();
		this.onClose = () -> Thread.currentThread().interrupt();
		this.connection.abandon();
		assertThat(Thread.interrupted()).isFalse();
		assertThat(this.seen).containsExactly("close SHUTDOWN_TIMEOUT");
	}

	@Test
	void connectionThatIsAbandonedWhileItLingersHasLostNothing() throws IOException {
		linger();
		this.connection.abandon();
		assertThat(this.channel.isOpen()).isFalse();
		assertThat(this.seen).containsExactly("close LOCAL");
	}

	/** The connections of a server, which cannot be removed while memory is short. */
	private ConnectionRegistry registryWithoutMemory(AtomicBoolean isShort) {
		ConnectionRegistry registry = new ConnectionRegistry(() -> {
		}, new ConcurrentHashMap<>() {

			@Override
			public TcpConnection remove(Object key) {
				if (isShort.get()) {
					throw new OutOfMemoryError("made for the test");
				}
				return super.remove(key);
			}

		});
		registry.add(this.connection);
		ConnectionContext own = this.connection.context;
		this.connection.context = new ConnectionContext(own.server(), own.handler(), own.framing(), own.limits(),
				own.timeouts(), own.counters(), own.warnings(), registry, own.tls(), own.pool(), own.clock(),
				own.memory(), own.work(), own.window(), own.wire(), own.isClient(), own.classes(), own.preparation());
		return registry;
	}

	/** The pool ends before its next owner comes. */
	@Test
	void endThatItsOwnerCouldNotNoteIsNotedWhenTheConnectionIsAbandoned() throws IOException {
		open();
		AtomicBoolean isShort = new AtomicBoolean(true);
		ConnectionRegistry registry = registryWithoutMemory(isShort);
		CompletableFuture<CloseReason> end = this.connection.whenClosed().toCompletableFuture();
		own();
		this.connection.requestClose(CloseReason.IO_ERROR, null);
		assertThatExceptionOfType(OutOfMemoryError.class).isThrownBy(this::round);
		assertThat(this.seen).containsExactly("close IO_ERROR");
		assertThat(end).isNotDone();
		isShort.set(false);
		this.connection.abandon();
		assertThat(end).isCompletedWithValue(CloseReason.IO_ERROR);
		assertThat(registry.open()).isZero();
		assertThat(this.seen).containsExactly("close IO_ERROR");
	}

	/**
	 * No other thread can claim a closed connection, so nobody else would note its end.
	 */
	@Test
	void endOfAConnectionThatIsAbandonedIsNotedByTheNextAttemptIfMemoryIsShort() throws IOException {
		open();
		AtomicBoolean isShort = new AtomicBoolean(true);
		ConnectionRegistry registry = registryWithoutMemory(isShort);
		CompletableFuture<CloseReason> end = this.connection.whenClosed().toCompletableFuture();
		assertThatExceptionOfType(OutOfMemoryError.class).isThrownBy(this.connection::abandon);
		assertThat(end).isNotDone();
		isShort.set(false);
		this.connection.abandon();
		assertThat(end).isCompletedWithValue(CloseReason.SHUTDOWN_TIMEOUT);
		assertThat(registry.open()).isZero();
		assertThat(this.seen).containsExactly("close SHUTDOWN_TIMEOUT");
	}

	/** The thread that abandons it has claimed it, and does not come back. */
	@Test
	void connectionThatIsAbandonedIsLeftToTheNextOwnerIfItsRequestsCannotBeEnded() throws IOException {
		open();
		AtomicBoolean isShort = new AtomicBoolean(true);
		this.connection.exchanges = new Exchanges(Correlation.byKey(Engine::text), 10, this.connection,
				new Exchanges.ExchangeListener() {

					@Override
					public void ended(Exchange.State state) {
						if (isShort.get()) {
							throw new OutOfMemoryError("made for the test");
						}
					}

					@Override
					public void late() {
					}

					@Override
					public void changed() {
					}

					@Override
					public int maxOverdue() {
						return 1;
					}

				});
		CompletableFuture<ByteBuffer> reply = ask();
		assertThatExceptionOfType(OutOfMemoryError.class).isThrownBy(this.connection::abandon);
		isShort.set(false);
		assertThat(lead()).isTrue();
		round();
		assertThat(reply).isCompletedExceptionally();
		assertThat(this.seen).containsExactly("close SHUTDOWN_TIMEOUT");
	}

	/** Its socket is closed by then, and nobody else would note its end. */
	@ParameterizedTest
	@ValueSource(booleans = { false, true })
	void connectionWhoseCloseFailsWhenItIsAbandonedIsClosedByTheNextOwner(boolean isAbandonedAgain) throws IOException {
		open();
		CompletableFuture<CloseReason> end = this.connection.whenClosed();
		this.transport.failsToRelease = true;
		assertThatExceptionOfType(InternalError.class).isThrownBy(this.connection::abandon);
		assertThat(this.channel.isOpen()).isFalse();
		if (isAbandonedAgain) {
			this.connection.abandon();
		}
		else {
			assertThat(lead()).isTrue();
			round();
		}
		assertThat(end).isCompletedWithValue(CloseReason.SHUTDOWN_TIMEOUT);
		assertThat(this.connection.context.registry().open()).isZero();
		assertThat(this.connection.handle.isMarkedClosed()).isTrue();
		assertThat(this.seen).containsExactly("close SHUTDOWN_TIMEOUT");
	}

	@Test
	void socketOfAConnectionThatIsAbandonedIsClosedWhileItsHandlerRuns() throws IOException {
		open();
		List<Boolean> opens = new ArrayList<>();
		CompletableFuture<CloseReason> end = this.connection.whenClosed();
		this.onMessage = () -> {
			this.connection.abandon();
			opens.add(this.channel.isOpen());
			opens.add(!end.isDone());
		};
		receive("1\n");
		assertThat(opens).as("the socket, and the connection").containsExactly(false, true);
		assertThat(this.seen).containsExactly("1", "close SHUTDOWN_TIMEOUT");
	}

	@Test
	void connectionThatIsAbortedIsClosedByTheNextOwner() throws IOException {
		open();
		receive("");
		assertThat(this.connection.isWritable()).isTrue();
		this.connection.abort();
		assertThat(this.connection.isWritable()).isFalse();
		assertThat(lead()).isTrue();
		round();
		assertThat(this.seen).containsExactly("close SHUTDOWN_TIMEOUT");
	}

	/** The log names it if the handler does not deal with the failure. */
	@Test
	void failureThatTheHandlerIsToldOfKeepsItsReasonIfTheSocketFailsMeanwhile() throws IOException {
		open();
		this.transport.room = 0;
		this.connection.send(Engine.bytes("lost"));
		Exception failure = new IllegalStateException("made for the test");
		List<CloseReason> reasons = new ArrayList<>();
		this.onError = () -> {
			IOException later = new IOException("made for the test");
			this.connection.requestClose(CloseReason.IO_ERROR, later);
			reasons.add(this.connection.closing().reasonOf(failure));
			reasons.add(this.connection.closing().reasonOf(later));
		};
		own();
		this.connection.requestClose(CloseReason.MALFORMED, failure);
		round();
		assertThat(reasons).containsExactly(CloseReason.MALFORMED, CloseReason.IO_ERROR);
		assertThat(reason()).isEqualTo(CloseReason.IO_ERROR);
	}

	/** A handler sends to a peer that has gone, and wraps the exception. */
	@Test
	void failureThatIsCausedByTheCloseIsThatOfTheSocket() throws IOException {
		open();
		own();
		this.connection.requestClose(CloseReason.PEER, null);
		CloseSequence end = this.connection.closing();
		Throwable failure = this.connection.closedException("reply", CloseReason.PEER, null);
		for (int depth = 0; depth < 10; depth++) {
			assertThat(end.reasonOf(failure)).isEqualTo(CloseReason.IO_ERROR);
			failure = new IllegalStateException(failure);
		}
		assertThat(end.reasonOf(failure)).as("its causes might go in circles").isEqualTo(CloseReason.HANDLER_ERROR);
		assertThat(end.reasonOf(new ClientLimitException("made for the test"))).isEqualTo(CloseReason.CLIENT_LIMIT);
	}

	@Test
	void connectionThatLingersKeepsNoPartOfAMessage() throws IOException {
		open();
		receive("part");
		assertThat(this.memory.used()).isPositive();
		this.transport.closes = false;
		own();
		this.connection.close();
		round();
		assertThat(this.connection.closing().isLingering()).isTrue();
		assertThat(this.memory.used()).isZero();
	}

	@Test
	void requestsOfAConnectionThatClosesAreLost() throws IOException {
		open();
		CompletableFuture<ByteBuffer> reply = ask();
		own();
		this.connection.close();
		round();
		assertThat(reply).isCompletedExceptionally();
		assertThat(this.seen).containsExactly("close LOCAL");
	}

	/** Its handler may have read the input behind it meanwhile. */
	@ParameterizedTest
	@ValueSource(booleans = { false, true })
	void largeMessageWhoseHandlingFailsIsReleased(boolean hasRead) throws IOException {
		this.builder.maxMessageSize(200_000);
		open();
		receive("x".repeat(100_000));
		this.transport.receive("\n2");
		own();
		this.me.begin(this.connection.handle);
		assertThat(this.connection.prepare(this.me)).isTrue();
		assertThat(this.memory.used()).isGreaterThanOrEqualTo(100_000);
		if (hasRead) {
			assertThat(this.connection.keepsInput(this.me)).isTrue();
		}
		assertThat(this.connection.failed(this.me, new IllegalStateException("made for the test"))).isTrue();
		round();
		assertThat(this.seen).containsExactly("close IO_ERROR");
		assertThat(this.memory.used()).isZero();
	}

	// A connection that drains

	private void drain() {
		this.connection.drain();
		assertThat(lead()).isTrue();
		round();
	}

	@Test
	void connectionThatWasNotOpenedWhenItDrainsCloses() throws IOException {
		accept();
		this.transport.handshake = Progress.WANTS_READ;
		round();
		drain();
		assertThat(reason()).isEqualTo(CloseReason.LOCAL);
		assertThat(this.channel.isOpen()).isFalse();
	}

	@Test
	void messageThatHasBegunIsTheLastOneAndMustBeCompleteInTime() throws IOException {
		open();
		receive("1");
		drain();
		assertThat(reason()).isNull();
		assertThat(untilDeadline()).isEqualTo(Duration.ofNanos(this.connection.context.timeouts().drainNanos()));
		receive("\n2\n");
		assertThat(this.seen).containsExactly("1", "close LOCAL");
		assertThat(this.memory.used()).isZero();
	}

	/** A peer that continues to send must not keep the leader busy. */
	@Test
	void connectionThatDrainsIsNotReadWhileItOwesItsLastReply() throws IOException {
		open();
		receive("1");
		drain();
		OwedReply[] owed = new OwedReply[1];
		this.onMessage = () -> owed[0] = this.connection.owe();
		receive("\n2\n");
		assertThat(this.seen).containsExactly("1");
		assertThat(this.connection.handle.isPaused()).isTrue();
		owed[0].close();
		assertThat(lead()).isTrue();
		round();
		assertThat(this.seen).containsExactly("1", "close LOCAL");
	}

	@Test
	void connectionThatDrainsWaitsForTheAnswerToItsSignOff() throws IOException {
		open();
		OwedReply[] owed = new OwedReply[1];
		this.onDrain = () -> owed[0] = this.connection.owe();
		drain();
		assertThat(reason()).isNull();
		assertThat(lead()).isFalse();
		this.onMessage = () -> owed[0].close();
		receive("bye\n");
		assertThat(this.seen).containsExactly("bye", "close LOCAL");
	}

	@Test
	void connectionThatLingersSendsNothingAndEndsInTime() throws IOException {
		linger();
		assertThat(this.connection.closing().isLingering()).isTrue();
		assertThat(this.connection.outbound.sendRequests(Engine.bytes("late"), null)).isEqualTo(Sent.CLOSED);
		this.set.applyUpdates();
		assertThat(this.connection.handle.timerDeadline - this.clock.nanoTime()).isEqualTo(TIMEOUT.toNanos() / 10);
		this.clock.advance(TIMEOUT.dividedBy(10));
		receive("");
		assertThat(this.channel.isOpen()).isFalse();
		assertThat(this.seen).containsExactly("close LOCAL");
	}

	/** Its last timer may have expired just before the rest of the flood came. */
	@Test
	void connectionThatIsNotReadAnyMoreWhileItLingersHasATimer() throws IOException {
		linger();
		this.transport.flood = 16 * 1024 * 1024;
		while (this.transport.flood > 256 * 1024) {
			receive("");
		}
		Duration silence = TIMEOUT.dividedBy(10);
		this.clock.advance(silence);
		expire();
		round();
		assertThat(this.transport.flood).isZero();
		assertThat(this.connection.handle.isPaused()).isTrue();
		this.set.applyUpdates();
		assertThat(this.connection.handle.timerDeadline - this.clock.nanoTime()).isEqualTo(4 * silence.toNanos());
	}

	/** The leader finds that the deadline of the connection has passed. */
	private void expire() {
		this.connection.handle.timerDeadline = EngineEventHandler.NO_DEADLINE;
		this.connection.expire(this.clock.nanoTime());
		this.set.demultiplex(this.connection.handle, SelectableHandle.LOOK);
		assertThat(lead()).isTrue();
	}

	@Test
	void connectionWhoseEngineFailsDoesNotLinger() throws IOException {
		linger();
		own();
		assertThat(this.connection.failed(this.me, new IllegalStateException("made for the test"))).isTrue();
		round();
		assertThat(this.channel.isOpen()).isFalse();
		assertThat(this.seen).containsExactly("close LOCAL");
	}

	/** No reply must follow instead of the one that failed. */
	@Test
	void connectionIsNotOpenAfterAFailureThatIsStillToBeHandled() throws IOException {
		open();
		receive("hello\n");
		assertThat(this.connection.isOpen()).isTrue();
		this.connection.handle.failLater();
		assertThat(this.connection.isOpen()).isFalse();
	}

	@Test
	void socketIsClosedWhenTheEngineFailsForTheSecondTime() throws IOException {
		open();
		own();
		assertThat(this.connection.failed(this.me, new IllegalStateException("first"))).isTrue();
		assertThat(this.channel.isOpen()).isTrue();
		assertThat(this.connection.failed(this.me, new IllegalStateException("second"))).isTrue();
		assertThat(this.channel.isOpen()).isFalse();
		assertThat(this.connection.failed(this.me, new IllegalStateException("third"))).isFalse();
	}

	@Test
	void socketIsClosedAlthoughItsTransportCannotBeReleased() throws IOException {
		open();
		this.transport.failsToRelease = true;
		this.transport.room = 0;
		this.connection.send(Engine.bytes("reply"));
		own();
		this.connection.requestClose(CloseReason.IO_ERROR, null);
		assertThatExceptionOfType(InternalError.class).isThrownBy(() -> this.connection.prepare(this.me));
		assertThat(this.channel.isOpen()).isFalse();
		assertThat(this.memory.used()).isZero();
		assertThat(this.connection.failed(this.me, new IllegalStateException("first"))).isTrue();
		round();
		assertThat(this.seen).containsExactly("close IO_ERROR");
	}

	@Test
	void failureToCloseASocketDoesNotEndTheOwner() throws IOException {
		open();
		this.transport.failsToRelease = true;
		own();
		assertThat(this.connection.failed(this.me, new IllegalStateException("first"))).isTrue();
		assertThat(this.connection.failed(this.me, new IllegalStateException("second"))).isTrue();
		assertThat(this.transport.releases).isOne();
		assertThat(this.channel.isOpen()).isFalse();
	}

	@Test
	void partOfAMessageIsReleasedWhenTheEngineFailsForTheSecondTime() throws IOException {
		open();
		long used = this.memory.used();
		receive("part");
		assertThat(this.connection.partial).isNotNull();
		own();
		assertThat(this.connection.failed(this.me, new IllegalStateException("first"))).isTrue();
		assertThat(this.connection.failed(this.me, new IllegalStateException("second"))).isTrue();
		round();
		assertThat(this.seen).containsExactly("close IO_ERROR");
		assertThat(this.connection.partial).isNull();
		this.me.spareBuffers.discard();
		assertThat(this.memory.used()).isEqualTo(used);
	}

	@Test
	void requestsAreLostWhenTheEngineFailsForTheSecondTime() throws IOException {
		open();
		CompletableFuture<ByteBuffer> reply = ask();
		own();
		assertThat(this.connection.failed(this.me, new IllegalStateException("first"))).isTrue();
		assertThat(this.connection.failed(this.me, new IllegalStateException("second"))).isTrue();
		assertThat(reply).isNotDone();
		round();
		assertThat(reply).isCompletedExceptionally();
		assertThat(this.seen).containsExactly("close IO_ERROR");
	}

	/** After a pause, there may be memory for the end. */
	@Test
	void connectionThatCannotEndForLackOfMemoryIsTriedAgain() throws IOException {
		open();
		own();
		for (int i = 0; i < 10; i++) {
			assertThat(this.connection.failed(this.me, new OutOfMemoryError("made for the test"))).isTrue();
			assertThatExceptionOfType(OutOfMemoryError.class)
				.isThrownBy(() -> this.connection.failed(this.me, new OutOfMemoryError("made for the test")));
		}
		assertThat(this.channel.isOpen()).isFalse();
		this.connection.handle.leaveToNextOwner();
		this.connection.handle.request(SelectableHandle.LOOK);
		assertThat(lead()).isTrue();
		round();
		assertThat(this.seen).containsExactly("close IO_ERROR");
		assertThat(this.connection.handle.isMarkedClosed()).isTrue();
	}

	/** A cause other than a shortage of memory would remain for ever. */
	@Test
	void connectionThatCannotEndForLackOfMemoryIsGivenUpAfterAboutAMinute() throws IOException {
		open();
		own();
		for (int failures = 1; failures < 10_000; failures++) {
			if (failures % 2 != 0) {
				assertThat(this.connection.failed(this.me, new OutOfMemoryError("made for the test"))).isTrue();
			}
			else {
				assertThatExceptionOfType(OutOfMemoryError.class)
					.isThrownBy(() -> this.connection.failed(this.me, new OutOfMemoryError("made for the test")));
			}
		}
		assertThat(this.connection.failed(this.me, new OutOfMemoryError("made for the test"))).isFalse();
	}

	/** The memory of the other pool was never charged with it. */
	@Test
	void messageThatCannotFollowToAnotherPoolIsReleasedInItsOwnAlthoughTheEngineFails() throws IOException {
		try (LeaderFollowersPool other = LeaderFollowersPool.builder()
			.name("other")
			.threads(1, 1)
			.maxBufferedBytes(1 << 20)
			.build()) {
			assertThat(other.memory().reserve(1 << 20)).isTrue();
			this.builder.serviceClass((connection, message) -> "other", other);
			open();
			this.transport.receive("x\n");
			own();
			this.me.begin(this.connection.handle);
			assertThat(this.connection.prepare(this.me)).isTrue();
			this.connection.dispatch(this.me);
			assertThat(reason()).isEqualTo(CloseReason.OVERLOADED);
			while (this.connection.failed(this.me, new IllegalStateException("made for the test"))) {
				assertThat(this.connection.whenClosed()).isNotDone();
			}
			assertThat(this.memory.used()).isZero();
			assertThat(other.memory().used()).isEqualTo(1 << 20);
			this.me.withdraw();
		}
	}

	/** Its handle was marked as closed before the next owner claimed it. */
	@Test
	void connectionThatFailsAgainAfterAShortageOfMemoryIsGivenUp() throws IOException {
		open();
		own();
		assertThat(this.connection.failed(this.me, new OutOfMemoryError("made for the test"))).isTrue();
		assertThatExceptionOfType(OutOfMemoryError.class)
			.isThrownBy(() -> this.connection.failed(this.me, new OutOfMemoryError("made for the test")));
		this.connection.handle.leaveToNextOwner();
		this.connection.handle.request(SelectableHandle.LOOK);
		assertThat(lead()).isTrue();
		assertThat(this.connection.failed(this.me, new IllegalStateException("made for the test"))).isFalse();
		assertThat(this.connection.handle.isMarkedClosed()).isTrue();
	}

	@Test
	void failureIsReportedOnlyBeforeTheConnectionCloses() throws IOException {
		open();
		this.transport.room = 0;
		this.onMessage = () -> {
			this.connection.send(Engine.bytes("reply"));
			this.connection.close();
		};
		receive("x\n");
		assertThat(this.channel.isOpen()).isTrue();
		assertThat(this.memory.used()).isPositive();
		this.connection.requestCloseAndLook(CloseReason.IO_ERROR, new IOException("made for the test"));
		this.set.applyUpdates();
		assertThat(lead()).isTrue();
		round();
		assertThat(this.seen).containsExactly("x", "close IO_ERROR");
		assertThat(this.memory.used()).isZero();
	}

	private void assertThatNothingIsSent() {
		assertThatExceptionOfType(ConnectionClosedException.class)
			.isThrownBy(() -> this.connection.send(Engine.bytes("late")));
	}

	@Test
	void onlyTheThreadThatIsToldOfAFailureMaySendAndOnlyMeanwhile() throws IOException {
		open();
		this.onMessage = () -> {
			throw new IllegalStateException("made for the test");
		};
		this.onError = () -> {
			CompletableFuture.runAsync(this::assertThatNothingIsSent).join();
			this.connection.send(Engine.bytes("sorry"));
		};
		receive("x\n");
		assertThat(this.transport.written).isEqualTo("sorry\n".length());
		assertThatNothingIsSent();
		assertThat(this.seen).containsExactly("x", "error", "close HANDLER_ERROR");
	}

	@Test
	void nothingIsSentAfterTheHandlerWasToldOfAFailureAlthoughItsRepliesStillWait() throws IOException {
		open();
		this.transport.room = 0;
		this.onMessage = () -> {
			throw new IllegalStateException("made for the test");
		};
		this.onError = () -> this.connection.send(Engine.bytes("sorry"));
		receive("x\n");
		assertThat(this.channel.isOpen()).isTrue();
		assertThat(this.connection.outbound.waitingBytes()).isEqualTo("sorry\n".length());
		assertThatNothingIsSent();
	}

	@Test
	void connectionClosesIfTheHandlerOfAKeptMessageFails() throws IOException {
		open();
		own();
		postpone("x");
		this.onMessage = () -> {
			throw new IllegalStateException("made for the test");
		};
		round();
		assertThat(this.seen).containsExactly("x", "error", "close HANDLER_ERROR");
		assertThat(this.memory.used()).isZero();
	}

	@Test
	void connectionClosesIfItsHandlerFailsWhenItIsToldOfADrain() throws IOException {
		open();
		this.onDrain = () -> {
			throw new IllegalStateException("made for the test");
		};
		drain();
		assertThat(this.seen).containsExactly("error", "close HANDLER_ERROR");
	}

	/** The handler may take long for it. */
	@Test
	void earlierRepliesAreWrittenBeforeTheHandlerIsToldOfAFailure() throws IOException {
		open();
		List<Integer> written = new ArrayList<>();
		this.onMessage = () -> {
			written.add(this.transport.written);
			if (this.seen.size() == 2) {
				throw new IllegalStateException("made for the test");
			}
			this.connection.send(Engine.bytes("reply"));
		};
		this.onError = () -> written.add(this.transport.written);
		this.transport.receive("1\n2\n");
		own();
		round(leader());
		assertThat(this.seen).containsExactly("1", "2", "error", "close HANDLER_ERROR");
		assertThat(written).containsExactly(0, 0, "reply\n".length());
	}

	@Test
	void endIsReportedOnce() throws IOException {
		open();
		CompletableFuture<CloseReason> early = this.connection.whenClosed();
		own();
		this.connection.close();
		round();
		assertThat(early).isCompletedWithValue(CloseReason.LOCAL);
		assertThat(this.transport.releases).isOne();
		assertThat(this.connection.whenClosed()).isCompletedWithValue(CloseReason.LOCAL);
		this.connection.closing().reportClose();
		assertThat(this.seen).containsExactly("close LOCAL");
		assertThat(this.connection.context.registry().closedConnections()).containsEntry(CloseReason.LOCAL, 1L);
	}

	/**
	 * Memory is too short to close the connection, and a reply may be missing. The next
	 * owner closes it.
	 */
	@ParameterizedTest
	@ValueSource(ints = { 1, 4 })
	void nothingFollowsAFailureThatIsPending(int window) throws IOException {
		this.builder.maxInFlightPerConnection(window);
		open();
		this.transport.receive("1\n2\n");
		own();
		this.me.begin(this.connection.handle);
		assertThat(this.connection.prepare(this.me)).isTrue();
		this.connection.handle.failLater();
		this.connection.dispatch(this.me);
		assertThat(this.seen).isEmpty();
		this.me.worksOn(null);
	}

	@Test
	void messageThatWasPutAsideWaitsForAFailureThatIsPending() throws IOException {
		open();
		postpone("x");
		assertThat(this.connection.takesPostponed()).isTrue();
		this.connection.handle.failLater();
		assertThat(this.connection.takesPostponed()).isFalse();
	}

	@Test
	void endIsKnownToACallerThatAsksLater() throws IOException {
		open();
		own();
		this.connection.close();
		round();
		assertThat(this.connection.whenClosed()).isCompletedWithValue(CloseReason.LOCAL);
	}

	@Test
	void handlerIsNotToldOfTheEndOfAConnectionThatWasNeverOpened() throws IOException {
		accept();
		this.connection.requestClose(CloseReason.IO_ERROR, new IOException("made for the test"));
		round();
		assertThat(this.channel.isOpen()).isFalse();
		assertThat(this.connection.whenClosed()).isCompletedWithValue(CloseReason.IO_ERROR);
		assertThat(this.seen).isEmpty();
	}

	// Messages of a window

	/** Reads a message. Its handler has not run, and the handle was released. */
	private void prepare(Participant thread) {
		thread.enter();
		thread.begin(this.connection.handle);
		assertThat(this.connection.prepare(thread)).isTrue();
		assertThat(thread.turn.released).isTrue();
	}

	/** Receives messages and begins to handle the first one. */
	private void begin(String lines) {
		this.transport.receive(lines);
		own();
		prepare(this.me);
	}

	/** Runs the handler of the message, and continues if the connection waits for it. */
	private void finish(Participant thread) {
		thread.enter();
		this.connection.dispatch(thread);
		rest(thread);
	}

	@Test
	void inputThatTheTransportKeepsIsReadWhileAHandlerRuns() throws IOException {
		this.builder.maxInFlightPerConnection(4);
		open();
		this.transport.keepsInput = true;
		begin("1\n");
		assertThat(lead()).isTrue();
		this.transport.keepsInput = false;
		this.transport.receive("2\n");
		Participant other = participant(2);
		prepare(other);
		finish(other);
		finish(this.me);
		assertThat(this.seen).containsExactly("2", "1");
	}

	@Test
	void connectionIsNotIdleWhileAMessageIsHandled() throws IOException {
		this.builder.maxInFlightPerConnection(4).idleTimeout(TIMEOUT);
		open();
		begin("1\n");
		this.clock.advance(TIMEOUT);
		own();
		round(participant(2));
		assertThat(reason()).isNull();
		finish(this.me);
		assertThat(reason()).isNull();
	}

	@Test
	void connectionIsActiveWhenAMessageArrivesThatIsHandledForLong() throws IOException {
		this.builder.maxInFlightPerConnection(4);
		open();
		this.clock.advance(TIMEOUT);
		begin("1\n");
		assertThat(this.connection.lastActivity()).isEqualTo(this.clock.nanoTime());
		this.clock.advance(TIMEOUT);
		finish(this.me);
		assertThat(this.connection.lastActivity()).isEqualTo(this.clock.nanoTime());
	}

	/** The peer cannot complete it, because nothing is read. */
	@Test
	void messageThatHasBegunHasNoDeadlineWhileTheWindowIsFull() throws IOException {
		this.builder.maxInFlightPerConnection(2).messageTimeout(TIMEOUT);
		open();
		receive("1");
		assertThat(untilDeadline()).isEqualTo(TIMEOUT);
		begin("\n2\n3");
		assertThat(lead()).isTrue();
		Participant other = participant(2);
		prepare(other);
		assertThat(this.connection.handle.isPaused()).isTrue();
		assertThat(untilDeadline()).isGreaterThan(TIMEOUT);
		finish(other);
		finish(this.me);
	}

	@Test
	void messageThatHasBegunGetsTheFullTimeAgainWhenTheWindowHasRoom() throws IOException {
		this.builder.maxInFlightPerConnection(2).messageTimeout(TIMEOUT);
		open();
		begin("1\n2\n3");
		assertThat(lead()).isTrue();
		Participant other = participant(2);
		prepare(other);
		this.clock.advance(TIMEOUT.multipliedBy(2));
		finish(other);
		finish(this.me);
		assertThat(this.seen).containsExactly("2", "1");
		assertThat(reason()).isNull();
		assertThat(untilDeadline()).isEqualTo(TIMEOUT);
	}

	/** It was received together with the message before, and is taken only later. */
	@Test
	void connectionIsActiveWhenAKeptMessageIsTaken() throws IOException {
		this.builder.maxInFlightPerConnection(4);
		open();
		begin("1\n2\n");
		assertThat(lead()).isTrue();
		this.clock.advance(TIMEOUT);
		Participant other = participant(2);
		prepare(other);
		assertThat(this.connection.lastActivity()).isEqualTo(this.clock.nanoTime());
		finish(other);
		finish(this.me);
		assertThat(this.seen).containsExactly("2", "1");
	}

	@Test
	void connectionIsIdleAfterItsMessageWasHandled() throws IOException {
		this.builder.maxInFlightPerConnection(4).idleTimeout(TIMEOUT);
		open();
		receive("1\n");
		this.clock.advance(TIMEOUT);
		receive("");
		assertThat(reason()).isEqualTo(CloseReason.IDLE_TIMEOUT);
	}

	/** If its thread fails, each of them is ended. */
	@Test
	void threadWorksOnTheMessageThatWaitedForAnotherOne() throws IOException {
		this.builder.maxInFlightPerConnection(4).messageOrder((message) -> "same");
		List<Object> messages = new ArrayList<>();
		this.onMessage = () -> messages.add(this.me.turn.message);
		open();
		begin("1\n2\n");
		assertThat(lead()).isTrue();
		Participant other = participant(2);
		other.enter();
		other.begin(this.connection.handle);
		assertThat(this.connection.prepare(other)).isFalse();
		rest(other);
		finish(this.me);
		assertThat(this.seen).containsExactly("1", "2");
		assertThat(messages).hasSize(2).doesNotContainNull().doesNotHaveDuplicates();
	}

	@Test
	void connectionIsActiveAndItsThreadNotInterruptedAfterAKeptReply() throws IOException {
		this.builder.maxInFlightPerConnection(4);
		open();
		ask().thenRun(() -> Thread.currentThread().interrupt());
		begin("1\na:!\n");
		finish(this.me);
		assertThat(this.seen).containsExactly("1");
		assertThat(lead()).isTrue();
		this.clock.advance(TIMEOUT);
		round();
		assertThat(Thread.interrupted()).isFalse();
		assertThat(this.connection.lastActivity()).isEqualTo(this.clock.nanoTime());
	}

	private Duration untilDeadline() {
		long now = this.clock.nanoTime();
		return Duration.ofNanos(this.connection.deadline(now) - now);
	}

	/** Its first byte came later than that of the message before it. */
	@Test
	void messageBehindAnotherOneHasTheFullTime() throws IOException {
		this.builder.maxInFlightPerConnection(4).messageTimeout(TIMEOUT);
		open();
		receive("1");
		this.clock.advance(TIMEOUT.dividedBy(2));
		receive("\n2");
		assertThat(this.seen).containsExactly("1");
		assertThat(untilDeadline()).isEqualTo(TIMEOUT);
		receive("\n");
		assertThat(this.memory.used()).isZero();
	}

	@Test
	void messageOrderMayReadTheMessage() throws IOException {
		this.builder.maxInFlightPerConnection(4).messageOrder(ByteBuffer::get);
		open();
		receive("key\n");
		assertThat(this.seen).containsExactly("key");
	}

	@Test
	void messageIsHandledAlthoughThereIsNoMemoryForTheNextOne() throws IOException {
		this.builder.maxInFlightPerConnection(4);
		open();
		receive("1");
		assertThat(this.memory.used()).isPositive();
		exhaustMemory();
		long used = this.memory.used();
		long partial = this.connection.partial.capacity();
		begin("2\n" + "3".repeat(100));
		assertThat(reason()).isEqualTo(CloseReason.OVERLOADED);
		assertThat(this.connection.partial).as("has the memory of the message that is being handled").isNull();
		finish(this.me);
		assertThat(lead()).isTrue();
		round();
		assertThat(this.seen).containsExactly("close OVERLOADED");
		assertThat(this.memory.used()).isEqualTo(used - partial);
	}

	@Test
	void memoryOfAHeldReplyThatTheFramingRefusesIsReleased() throws IOException {
		open();
		Deque<ByteBuffer> frames = new ArrayDeque<>();
		assertThatIllegalArgumentException()
			.isThrownBy(() -> this.connection.outbound.hold(Engine.bytes("two\nlines"), 0, frames));
		assertThat(frames).isEmpty();
		assertThat(this.memory.used()).isZero();
	}

	@Test
	void memoryOfAHeldReplyThatCannotBeWrittenIsReleased() throws IOException {
		open();
		ByteBuffer frame = this.connection.outbound.hold(Engine.bytes("reply"), 0, new ArrayDeque<>());
		assertThat(this.memory.used()).isPositive();
		this.transport.failure = new IOException("made for the test");
		this.connection.outbound.sendHeld(frame);
		assertThat(reason()).isEqualTo(CloseReason.IO_ERROR);
		assertThat(this.memory.used()).isZero();
	}

	private void exhaustMemory() {
		for (long bytes = this.memory.limit(); bytes > 0; bytes /= 2) {
			while (this.memory.reserve(bytes)) {
				assertThat(this.memory.used()).isLessThanOrEqualTo(this.memory.limit());
			}
		}
	}

	/** Code of the application may fail at any time. */
	@Test
	void copyOfAMessageWhoseKeyFailsIsReleased() throws IOException {
		AtomicInteger keys = new AtomicInteger();
		this.builder.maxInFlightPerConnection(4).messageOrder((message) -> {
			keys.incrementAndGet();
			return new Key();
		});
		open();
		begin("1\n2\n");
		assertThat(lead()).isTrue();
		round(participant(2));
		finish(this.me);
		assertThat(keys).hasValue(2);
		assertThat(this.seen).containsExactly("1", "error", "close MALFORMED");
		assertThat(this.memory.used()).isZero();
	}

	/** Its first comparison succeeds. */
	private static final class Key {

		private boolean compared;

		@Override
		public boolean equals(@Nullable Object other) {
			if (this.compared) {
				throw new IllegalStateException("made for the test");
			}
			this.compared = true;
			return true;
		}

		@Override
		public int hashCode() {
			return 0;
		}

	}

	@ParameterizedTest
	@ValueSource(booleans = { false, true })
	void messageWhoseThreadFailsIsNoLongerInFlight(boolean waits) throws IOException {
		this.builder.maxInFlightPerConnection(4).messageOrder((message) -> "same");
		open();
		begin(waits ? "1\n2\n3\n" : "1\n3");
		if (waits) {
			// The next thread lets the others wait.
			assertThat(lead()).isTrue();
			round(participant(2));
		}
		assertThat(this.memory.used()).isPositive();
		assertThat(this.connection.unanswered()).isEqualTo(waits ? 3 : 1);
		assertThat(this.connection.failed(this.me, new IllegalStateException("made for the test"))).isFalse();
		this.me.worksOn(null);
		assertThat(this.connection.isWorkedOn()).isFalse();
		assertThat(lead()).isTrue();
		round();
		assertThat(this.connection.unanswered()).isZero();
		assertThat(this.seen).containsExactly("error", "close IO_ERROR");
		assertThat(this.memory.used()).isZero();
	}

	@Test
	void waitingMessagesOfAConnectionThatCannotEndAreReleased() throws IOException {
		this.builder.maxInFlightPerConnection(4).messageOrder((message) -> "same");
		open();
		begin("1\n2\n3\n");
		assertThat(lead()).isTrue();
		Participant other = participant(2);
		round(other);
		assertThat(this.connection.unanswered()).isEqualTo(3);
		own();
		other.begin(this.connection.handle);
		while (this.connection.failed(other, new IllegalStateException("made for the test"))) {
			assertThat(this.connection.unanswered()).isEqualTo(3);
		}
		other.worksOn(null);
		assertThat(this.memory.used()).isZero();
		finish(this.me);
		assertThat(this.connection.unanswered()).isZero();
		assertThat(this.seen).containsExactly("close IO_ERROR");
	}

	/** Another thread has answered a message that another one waits for. */
	@Test
	void messageThatIsDueIsHandledWhileTheConnectionIsArmed() throws IOException {
		this.builder.maxInFlightPerConnection(4).messageOrder((message) -> "same");
		open();
		OwedReply[] owed = new OwedReply[1];
		this.onMessage = () -> owed[0] = (owed[0] != null) ? owed[0] : this.connection.owe();
		receive("1\n");
		receive("2\n");
		assertThat(this.seen).containsExactly("1");
		owed[0].close();
		assertThat(lead()).isTrue();
		round();
		assertThat(this.seen).containsExactly("1", "2");
		assertThat(this.connection.unanswered()).isZero();
		assertThat(this.memory.used()).isZero();
	}

	@Test
	void messageThatWasDueIsReleasedIfItsThreadFails() throws IOException {
		this.builder.maxInFlightPerConnection(4).messageOrder((message) -> "same");
		open();
		OwedReply[] owed = new OwedReply[1];
		this.onMessage = () -> owed[0] = this.connection.owe();
		receive("1\n");
		receive("2\n");
		owed[0].close();
		assertThat(lead()).isTrue();
		prepare(this.me);
		assertThat(this.connection.failed(this.me, new IllegalStateException("made for the test"))).isFalse();
		assertThat(this.memory.used()).isZero();
		assertThat(this.connection.unanswered()).isZero();
	}

	@Test
	void drainWaitsForNoMessageThatWasAnsweredByAnotherThread() throws IOException {
		this.builder.maxInFlightPerConnection(4);
		open();
		OwedReply[] owed = new OwedReply[1];
		this.onMessage = () -> owed[0] = this.connection.owe();
		receive("1\n");
		assertThat(this.connection.handle.isPaused()).isFalse();
		this.connection.drains = true;
		owed[0].close();
		assertThat(lead()).isTrue();
		round();
		assertThat(this.seen).containsExactly("1", "close LOCAL");
	}

	/** TLS has to answer a key update first, and the socket has no room. */
	@Test
	void drainHandlesTheMessagesThatItsTransportCannotDecodeYet() throws IOException {
		open();
		this.connection.drains = true;
		this.transport.readNeeds = Progress.WANTS_WRITE;
		receive("1\n");
		assertThat(this.seen).isEmpty();
		this.transport.readNeeds = Progress.WANTS_READ;
		this.connection.handle.request(SelectableHandle.LOOK);
		assertThat(lead()).isTrue();
		round();
		assertThat(this.seen).containsExactly("1", "close LOCAL");
	}

	/** It was received before the drain. A peer that sends more must not be read. */
	@Test
	void connectionIsNotReadWhileItOwesTheReplyToWhatItHasReceivedBeforeTheDrain() throws IOException {
		open();
		this.connection.drains = true;
		this.transport.readNeeds = Progress.WANTS_WRITE;
		receive("1\n");
		this.transport.readNeeds = Progress.WANTS_READ;
		OwedReply[] owed = new OwedReply[1];
		this.onMessage = () -> owed[0] = this.connection.owe();
		this.connection.handle.request(SelectableHandle.LOOK);
		assertThat(lead()).isTrue();
		round();
		assertThat(this.seen).containsExactly("1");
		receive("2\n");
		assertThat(this.transport.input.remaining()).isEqualTo(2);
		assertThat(this.connection.handle.isPaused()).isTrue();
		owed[0].close();
		assertThat(lead()).isTrue();
		round();
		assertThat(this.seen).containsExactly("1", "close LOCAL");
	}

	@Test
	void suspensionOfAMessageEndsOnce() throws IOException {
		this.builder.maxInFlightPerConnection(4);
		open();
		List<Suspension> suspensions = new ArrayList<>();
		this.onMessage = () -> suspensions.add(this.connection.suspend());
		receive("1\n");
		receive("2\n");
		assertThat(this.connection.unanswered()).isEqualTo(2);
		suspensions.get(0).resume();
		suspensions.get(0).resume();
		assertThat(this.connection.unanswered()).isOne();
		suspensions.get(1).resume();
		assertThat(this.connection.unanswered()).isZero();
	}

	/** The owner has looked already, so nothing else would end the drain. */
	@Test
	void drainFollowsTheLastHandler() throws IOException {
		this.builder.maxInFlightPerConnection(4);
		open();
		begin("1\n");
		assertThat(lead()).isFalse();
		this.connection.drains = true;
		finish(this.me);
		assertThat(lead()).isTrue();
		round();
		assertThat(this.seen).containsExactly("1", "close LOCAL");
	}

	@Test
	void nothingIsReadAfterAMessageThatClosesBehindItsReply() throws IOException {
		this.builder.maxInFlightPerConnection(4).replyOrder(ReplyOrder.ARRIVAL);
		open();
		begin("1\n2\n3\n");
		this.onMessage = () -> {
			if (this.seen.size() == 1) {
				this.connection.send(Engine.bytes("bye"));
				this.connection.close();
			}
		};
		assertThat(lead()).isTrue();
		round(participant(2));
		assertThat(lead()).isTrue();
		round(participant(3));
		assertThat(this.connection.handle.isPaused()).isTrue();
		finish(this.me);
		assertThat(this.seen).containsExactly("2", "1", "close LOCAL");
		assertThat(this.memory.used()).isZero();
	}

	@Test
	void nothingIsReadWhileManyRepliesAreHeld() throws IOException {
		this.builder.maxInFlightPerConnection(4).replyOrder(ReplyOrder.ARRIVAL).maxOutboundSize(1024);
		open();
		begin("1\n2\n3\n");
		this.onMessage = () -> this.connection.send(ByteBuffer.allocate(512));
		assertThat(lead()).isTrue();
		round(participant(2));
		assertThat(this.connection.pendingBytes()).isGreaterThanOrEqualTo(512);
		assertThat(this.transport.written).isZero();
		assertThat(lead()).isTrue();
		round(participant(3));
		assertThat(this.connection.handle.isPaused()).isTrue();
		finish(this.me);
		assertThat(this.seen).containsExactly("2", "1", "3");
		assertThat(this.memory.used()).isZero();
	}

	/** Its message is not complete, so there is nothing to ask for. */
	@Test
	void messageThatIsSkippedHasNoKey() throws IOException {
		this.builder.maxInFlightPerConnection(4)
			.skipOversizedMessages(true)
			.messageOrder((message) -> this.seen.add("key"));
		open();
		receive("x".repeat(200) + "\n");
		assertThat(this.seen).containsExactly("error");
		assertThat(reason()).isNull();
	}

	@Test
	void connectionThatHasNoMemoryForAMessageThatWaitsCloses() throws IOException {
		this.builder.maxInFlightPerConnection(4).messageOrder((message) -> "same");
		open();
		begin("1\n");
		exhaustMemory();
		this.transport.receive("2\n");
		own();
		round(participant(2));
		assertThat(reason()).isEqualTo(CloseReason.OVERLOADED);
		finish(this.me);
		assertThat(this.seen).containsExactly("close OVERLOADED");
	}

	@Test
	void emptyMessageThatWaitsIsReleased() throws IOException {
		this.builder.maxInFlightPerConnection(4).messageOrder((message) -> "same");
		open();
		begin("\n\n");
		assertThat(lead()).isTrue();
		round(participant(2));
		finish(this.me);
		assertThat(this.seen).containsExactly("", "");
		assertThat(this.memory.used()).isZero();
	}

	@Test
	void connectionThatDrainsReadsARequestedReplyBesideItsMessages() throws IOException {
		this.builder.maxInFlightPerConnection(4);
		open();
		CompletableFuture<ByteBuffer> reply = ask();
		this.connection.drains = true;
		receive("1\n");
		assertThat(reason()).isNull();
		receive("a:!\n");
		assertThat(reply).isCompletedWithValueMatching((message) -> Engine.text(message).equals("a:!"));
		assertThat(this.connection.context.counters().receivedMessages()).isEqualTo(2);
	}

	@Test
	void messageBehindARequestedReplyIsHandled() throws IOException {
		this.builder.maxInFlightPerConnection(4);
		open();
		CompletableFuture<ByteBuffer> reply = ask();
		receive("a:!\n1\n");
		while (lead()) {
			round();
		}
		assertThat(reply).isCompleted();
		assertThat(this.seen).containsExactly("1");
	}

	/** The exchange may end after its reply was decoded. */
	@Test
	void replyThatNobodyWaitsForAnyMoreIsHandled() throws IOException {
		this.builder.maxInFlightPerConnection(4);
		open();
		CompletableFuture<ByteBuffer> reply = ask();
		this.transport.receive("a:!\n");
		own();
		this.me.begin(this.connection.handle);
		assertThat(this.connection.prepare(this.me)).isTrue();
		reply.cancel(false);
		finish(this.me);
		assertThat(this.seen).containsExactly("a:!");
	}

	/** Another thread may own the handle meanwhile. */
	@Test
	void handlerOfAMessageInAWindowReadsNothingWhileItWaits() throws IOException {
		this.builder.maxInFlightPerConnection(4);
		open();
		assertThat(this.connection.boundConnection()).isSameAs(this.connection);
		List<Boolean> reads = new ArrayList<>();
		this.onMessage = () -> reads.add(this.connection.boundConnection() != null);
		receive("1\n");
		assertThat(reads).containsExactly(false);
	}

	/** The reply may come behind them. */
	@Test
	void moreMessagesAreHandledThanTheWindowAllowsWhileAReplyIsAwaited() throws IOException {
		this.builder.maxInFlightPerConnection(2);
		open();
		ask();
		begin("1\n2\n3\n");
		assertThat(lead()).isTrue();
		Participant second = participant(2);
		prepare(second);
		assertThat(lead()).isTrue();
		round(participant(3));
		assertThat(this.seen).containsExactly("3");
		finish(second);
		finish(this.me);
	}

	@Test
	void eachSuspensionOfAMessageCountsOnce() throws IOException {
		this.builder.maxInFlightPerConnection(4);
		open();
		List<Suspension> suspensions = new ArrayList<>();
		this.onMessage = () -> {
			suspensions.add(this.connection.suspend());
			suspensions.add(this.connection.suspend());
		};
		receive("1\n");
		suspensions.get(0).resume();
		suspensions.get(0).resume();
		assertThat(this.connection.unanswered()).isOne();
		suspensions.get(1).resume();
		assertThat(this.connection.unanswered()).isZero();
		assertThat(this.connection.undone()).as("the connection itself").isOne();
	}

	@Test
	void handlerThatSendsAReplyOwedForAnotherMessageStillAnswersItsOwn() throws IOException {
		this.builder.maxInFlightPerConnection(4);
		open();
		List<OwedReply> owed = new ArrayList<>();
		this.onMessage = () -> owed.add(this.connection.owe());
		receive("1\n");
		WindowedConnection windowed = (WindowedConnection) this.connection;
		this.onMessage = () -> {
			WindowedMessage own = WindowedMessage.current(windowed);
			owed.get(0).send(Engine.bytes("reply"));
			assertThat(own).isNotNull();
			assertThat(WindowedMessage.current(windowed)).isSameAs(own);
			this.seen.add("checked");
		};
		receive("2\n");
		assertThat(this.seen).containsExactly("1", "2", "checked");
	}

	@Test
	void connectionClosesForTheFirstReasonThatTheHandlerOfAMessageGives() throws IOException {
		this.builder.maxInFlightPerConnection(4).replyOrder(ReplyOrder.ARRIVAL);
		open();
		this.onMessage = () -> {
			this.connection.close();
			throw new IllegalStateException("made for the test");
		};
		receive("1\n");
		while (lead()) {
			round();
		}
		assertThat(this.seen).containsExactly("1", "error", "close LOCAL");
	}

	/** It was meant for that handler. */
	@ParameterizedTest
	@ValueSource(booleans = { false, true })
	void interruptEndsWithTheHandlerOfItsMessage(boolean fails) throws IOException {
		this.builder.maxInFlightPerConnection(4);
		open();
		List<Boolean> interrupts = new ArrayList<>();
		this.onMessage = () -> {
			Thread.currentThread().interrupt();
			if (fails) {
				throw new IllegalStateException("made for the test");
			}
		};
		this.onError = () -> interrupts.add(Thread.currentThread().isInterrupted());
		receive("1\n");
		interrupts.add(Thread.interrupted());
		assertThat(interrupts).hasSize(fails ? 2 : 1).containsOnly(false);
	}

	@ParameterizedTest
	@ValueSource(booleans = { false, true })
	void interruptDoesNotReachTheHandlerOfTheNextMessage(boolean areKept) throws IOException {
		open();
		List<Boolean> interrupts = new ArrayList<>();
		this.onMessage = () -> {
			interrupts.add(Thread.currentThread().isInterrupted());
			Thread.currentThread().interrupt();
		};
		own();
		if (areKept) {
			postpone("1");
			postpone("2");
		}
		else {
			this.transport.receive("1\n2\n");
		}
		round();
		interrupts.add(Thread.interrupted());
		assertThat(this.seen).containsExactly("1", "2");
		assertThat(interrupts).containsExactly(false, false, false);
	}

	@Test
	void interruptEndsWithTheHandlerThatIsToldOfADrain() throws IOException {
		open();
		this.onDrain = () -> Thread.currentThread().interrupt();
		drain();
		assertThat(Thread.interrupted()).isFalse();
	}

	/** Neither its interrupt nor its duration belongs to the message that follows. */
	@Test
	void codeThatReceivesAReplyIsNoPartOfTheHandlerOfAMessage() throws IOException {
		open();
		List<Boolean> interrupts = new ArrayList<>();
		this.onMessage = () -> interrupts.add(Thread.currentThread().isInterrupted());
		CompletableFuture<Void> received = ask().thenRun(() -> {
			Thread.currentThread().interrupt();
			this.clock.advance(TIMEOUT);
		});
		receiveElsewhere("1\na:!\n");
		receive("");
		assertThat(received).isCompleted();
		assertThat(Thread.interrupted()).isFalse();
		assertThat(interrupts).containsExactly(false);
		assertThat(this.connection.context.counters().handling().max()).isLessThan(TIMEOUT);
	}

	@Test
	void interruptEndsBeforeTheHandlerIsToldOfItsFailure() throws IOException {
		open();
		List<Boolean> interrupts = new ArrayList<>();
		this.onMessage = () -> {
			Thread.currentThread().interrupt();
			throw new IllegalStateException("made for the test");
		};
		this.onError = () -> interrupts.add(Thread.currentThread().isInterrupted());
		receive("1\n");
		interrupts.add(Thread.interrupted());
		assertThat(interrupts).containsExactly(false, false);
	}

	@Test
	void interruptEndsWithTheHandlerThatIsToldOfTheEndBehindItsMessage() throws IOException {
		this.builder.maxInFlightPerConnection(4);
		open();
		this.onClose = () -> Thread.currentThread().interrupt();
		begin("1\n");
		this.transport.ends = true;
		this.connection.abort();
		assertThat(lead()).isTrue();
		round(participant(2));
		assertThat(this.seen).isEmpty();
		finish(this.me);
		assertThat(Thread.interrupted()).isFalse();
		assertThat(this.seen).containsExactly("close SHUTDOWN_TIMEOUT");
	}

	@Test
	void connectionWithAWindowClosesIfItsClientExceedsALimit() throws IOException {
		this.builder.maxInFlightPerConnection(4);
		open();
		this.onMessage = () -> {
			throw new ClientLimitException("made for the test");
		};
		receive("1\n");
		assertThat(reason()).isEqualTo(CloseReason.CLIENT_LIMIT);
	}

	/** A part of a record may contain a message. */
	@Test
	void partOfARecordBehindAMessageInFlightMustBeCompleteInTime() throws IOException {
		this.builder.messageTimeout(TIMEOUT).maxInFlightPerConnection(4);
		open();
		this.transport.holdsPart = true;
		begin("1\n");
		assertThat(untilDeadline()).isEqualTo(TIMEOUT);
		finish(this.me);
		assertThat(this.seen).containsExactly("1");
	}

	@Test
	void eachRecordHasTheFullTimeAndNoMore() throws IOException {
		this.builder.messageTimeout(TIMEOUT);
		open();
		this.transport.holdsPart = true;
		receive("");
		this.clock.advance(TIMEOUT.dividedBy(2));
		receive("");
		assertThat(untilDeadline()).isEqualTo(TIMEOUT.dividedBy(2));
		this.transport.holdsNewPart = true;
		receive("");
		assertThat(untilDeadline()).isEqualTo(TIMEOUT);
	}

	/** It held no message, so no message has set another deadline. */
	@Test
	void recordThatIsCompleteHasNoDeadline() throws IOException {
		this.builder.messageTimeout(TIMEOUT);
		open();
		this.transport.holdsPart = true;
		receive("");
		assertThat(untilDeadline()).isEqualTo(TIMEOUT);
		this.transport.holdsPart = false;
		receive("");
		assertThat(untilDeadline()).isGreaterThan(TIMEOUT);
	}

	/** Otherwise the connection would wait for the thread, and never end. */
	@Test
	void threadDoesNotCountForAMessageThatCannotBeCounted() throws IOException {
		LongAdder failing = new LongAdder() {

			private static final long serialVersionUID = 1L;

			@Override
			public void increment() {
				throw new OutOfMemoryError("made for the test");
			}

		};
		this.context = (own) -> new ConnectionContext(own.server(), own.handler(), own.framing(), own.limits(),
				own.timeouts(), new ServerCounters(1, failing), own.warnings(), own.registry(), own.tls(), own.pool(),
				own.clock(), own.memory(), own.work(), own.window(), own.wire(), own.isClient(), own.classes(),
				own.preparation());
		this.builder.maxInFlightPerConnection(4);
		open();
		this.transport.receive("1\n2");
		own();
		this.me.begin(this.connection.handle);
		OutOfMemoryError failure = catchThrowableOfType(OutOfMemoryError.class, () -> this.connection.prepare(this.me));
		assertThat(this.connection.failed(this.me, failure)).isTrue();
		rest(this.me);
		assertThat(this.seen).containsExactly("close IO_ERROR");
		assertThat(this.connection.context.registry().open()).isZero();
		assertThat(this.memory.used()).isZero();
	}

	@Test
	void lastMessageOfAWindowEndsTheInput() throws IOException {
		this.builder.maxInFlightPerConnection(4);
		open();
		receive("1");
		drain();
		assertThat(reason()).isNull();
		receive("\n2\n");
		while (lead()) {
			round();
		}
		assertThat(this.seen).containsExactly("1", "close LOCAL");
		assertThat(this.memory.used()).isZero();
	}

	@Test
	void connectionDoesNotCloseForAFailureThatIsMissing() throws IOException {
		open();
		assertThatNullPointerException().isThrownBy(() -> this.connection.fail(null))
			.withMessage("'failure' must not be null");
		assertThat(reason()).isNull();
	}

	@Test
	void handlerThatSendsAfterItHasClosedHasNotFailed() throws IOException {
		this.builder.maxInFlightPerConnection(4);
		open();
		this.onMessage = () -> {
			this.connection.close();
			this.connection.send(Engine.bytes("reply"));
		};
		receive("1\n");
		assertThat(this.seen).startsWith("1").doesNotContain("error");
	}

	/** The thread that has made room may be busy for long. */
	@Test
	void connectionIsReadAsSoonAsThereIsRoomInItsWindow() throws IOException {
		this.builder.maxInFlightPerConnection(2).messageOrder((message) -> "same");
		open();
		begin("1\n2\n");
		assertThat(lead()).isTrue();
		round(participant(2));
		assertThat(this.connection.handle.isPaused()).isTrue();
		List<Boolean> looks = new ArrayList<>();
		this.onMessage = () -> looks.add(lead());
		finish(this.me);
		assertThat(this.seen).containsExactly("1", "2");
		assertThat(looks).containsExactly(false, true);
	}

	@Test
	void threadAnswersNoMessageAfterItsHandler() throws IOException {
		this.builder.maxInFlightPerConnection(4);
		open();
		WindowedConnection windowed = (WindowedConnection) this.connection;
		this.onMessage = () -> assertThat(WindowedMessage.current(windowed)).isNotNull();
		receive("1\n");
		assertThat(reason()).isNull();
		assertThat(WindowedMessage.current(windowed)).isNull();
		assertThat(windowed.context.counters().handling().count()).isOne();
	}

	@Test
	void handlerThatFailsAfterItsReplyClosesNothing() throws IOException {
		this.builder.maxInFlightPerConnection(4).replyOrder(ReplyOrder.ARRIVAL);
		open();
		this.onMessage = () -> {
			this.connection.send(Engine.bytes("reply"));
			throw new IllegalStateException("made for the test");
		};
		receive("1\n");
		assertThat(this.seen).containsExactly("1", "error");
		assertThat(reason()).isNull();
	}

	/** Its peer would wait for the reply. */
	@Test
	void connectionIsClosedLaterIfThereIsNoMemoryToFailAnOwedReply() throws IOException {
		this.builder.maxInFlightPerConnection(4);
		open();
		List<OwedReply> owed = new ArrayList<>();
		this.onMessage = () -> owed.add(this.connection.owe());
		receive("1\n");
		FramingException failure = new FramingException("made for the test") {

			@Override
			public String getMessage() {
				throw new OutOfMemoryError("made for the test");
			}

		};
		this.onError = () -> {
			throw failure;
		};
		assertThatExceptionOfType(OutOfMemoryError.class).isThrownBy(() -> owed.get(0).fail(failure));
		assertThat(this.connection.handle.isFailurePending()).isTrue();
	}

	@Test
	void replyIsHeldUntilItsTurnUnlessItCannotBeEncoded() throws IOException {
		this.builder.maxInFlightPerConnection(4).replyOrder(ReplyOrder.ARRIVAL);
		open();
		List<OwedReply> owed = new ArrayList<>();
		this.onMessage = () -> owed.add(this.connection.owe());
		receive("1\n");
		receive("2\n");
		assertThatIllegalArgumentException().isThrownBy(() -> owed.get(1).send(Engine.bytes("one\ntwo")));
		assertThat(this.memory.used()).isZero();
		owed.get(1).send(Engine.bytes("reply"));
		owed.get(1).close();
		assertThat(this.transport.written).isZero();
		assertThat(this.connection.pendingBytes()).isPositive();
		receive("3\n");
		owed.get(0).close();
		assertThat(this.transport.written).isEqualTo("reply\n".length());
		assertThat(this.connection.pendingBytes()).isZero();
		assertThat(this.memory.used()).isZero();
	}

	@Test
	void repliesThatAreHeldWhenTheConnectionClosesAreReleased() throws IOException {
		this.builder.maxInFlightPerConnection(4).replyOrder(ReplyOrder.ARRIVAL);
		open();
		List<OwedReply> owed = new ArrayList<>();
		this.onMessage = () -> owed.add(this.connection.owe());
		receive("1\n");
		receive("2\n");
		owed.get(1).send(Engine.bytes("held"));
		assertThat(this.memory.used()).isPositive();
		own();
		this.connection.requestClose(CloseReason.IO_ERROR, null);
		round();
		assertThat(this.seen).endsWith("close IO_ERROR");
		assertThat(this.memory.used()).isZero();
		assertThat(this.connection.pendingBytes()).isZero();
		assertThatExceptionOfType(ConnectionClosedException.class)
			.isThrownBy(() -> owed.get(1).send(Engine.bytes("late")));
		assertThat(this.memory.used()).isZero();
	}

	@Test
	void handlerIsCalledWhenItsRepliesAreNotHeldAnyMore() throws IOException {
		this.builder.maxInFlightPerConnection(4).replyOrder(ReplyOrder.ARRIVAL).maxOutboundSize(1024);
		open();
		begin("1\n2\n");
		List<Boolean> writable = new ArrayList<>();
		this.onMessage = () -> {
			this.connection.send(ByteBuffer.allocate(512));
			writable.add(this.connection.isWritable());
		};
		assertThat(lead()).isTrue();
		round(participant(2));
		assertThat(writable).containsExactly(false);
		finish(this.me);
		while (lead()) {
			round();
		}
		assertThat(this.seen).containsExactly("2", "1", "writable");
		assertThat(writable).containsExactly(false, true);
	}

	/** It has not asked whether there is room. */
	@Test
	void handlerIsCalledAfterItsReplyCouldNotBeHeld() throws IOException {
		this.builder.maxInFlightPerConnection(4).replyOrder(ReplyOrder.ARRIVAL).maxOutboundSize(1024);
		open();
		begin("1\n2\n");
		this.onMessage = () -> {
			if (this.seen.equals(List.of("2"))) {
				this.connection.send(ByteBuffer.allocate(1024));
				assertThatExceptionOfType(SlowConsumerException.class)
					.isThrownBy(() -> this.connection.send(Engine.bytes("more")));
			}
		};
		assertThat(lead()).isTrue();
		round(participant(2));
		finish(this.me);
		while (lead()) {
			round();
		}
		assertThat(this.seen).containsExactly("2", "1", "writable");
	}

	/** A message that exceeds the buffer of a thread is handled in kept memory. */
	@Test
	void largeMessageIsReleasedIfItsThreadFails() throws IOException {
		this.builder.maxInFlightPerConnection(4).maxMessageSize(200_000);
		open();
		receive("x".repeat(100_000));
		begin("\n");
		assertThat(this.memory.used()).isGreaterThanOrEqualTo(100_000);
		assertThat(this.connection.failed(this.me, new IllegalStateException("made for the test"))).isFalse();
		this.me.worksOn(null);
		assertThat(lead()).isTrue();
		round();
		assertThat(this.memory.used()).isZero();
	}

}
