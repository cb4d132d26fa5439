package org.leaderfollowers;

import java.io.IOException;
import java.lang.reflect.Field;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.DatagramChannel;
import java.nio.channels.SelectionKey;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Deque;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;

import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.leaderfollowers.internal.demultiplexing.HandleState.Claim;
import org.leaderfollowers.internal.exchange.Exchange;
import org.leaderfollowers.internal.promotion.Follower;
import org.leaderfollowers.internal.promotion.Members;
import org.leaderfollowers.internal.promotion.PoolSettings;
import org.leaderfollowers.internal.promotion.PromotionProtocol;
import org.leaderfollowers.internal.promotion.Starvation;
import org.leaderfollowers.internal.promotion.ThreadSupply;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

/**
 * Tests how a UDP socket is released after each datagram, so that it misses nothing. The
 * pool has no threads: the test is the leader of its handle set and the owner of the
 * socket, and decides which datagrams arrive.
 */
class DatagramRoundTests {

	private static final int THREADS = 4;

	private static final int MAX_SIZE = 100;

	/** How many datagrams are handled in a row. */
	private static final int TURN = 64;

	private static final InetSocketAddress PEER = new InetSocketAddress(InetAddress.getLoopbackAddress(), 1);

	private final TestClock clock = new TestClock();

	private final LeaderFollowersPool pool = LeaderFollowersPool.builder()
		.name("test")
		.threads(1, THREADS)
		.clock(this.clock)
		.build();

	private final List<String> seen = new ArrayList<>();

	private final ScriptedTransfer transfer = new ScriptedTransfer();

	private final UdpServer.Builder builder = UdpServer.builder(this.pool)
		.transfer(this.transfer)
		.maxMessageSize(MAX_SIZE)
		.handler(new MessageHandler() {

			@Override
			public void onMessage(Connection datagram, ByteBuffer message) throws Exception {
				DatagramRoundTests.this.order = message.order();
				DatagramRoundTests.this.seen.add(Engine.text(message));
				DatagramRoundTests.this.onMessage.handle(datagram);
			}

			@Override
			public void onError(Connection datagram, ByteBuffer message, Throwable failure) {
				DatagramRoundTests.this.seen.add("error " + Engine.text(message));
				onError(datagram, failure);
			}

			@Override
			public void onError(Connection datagram, Throwable failure) {
				DatagramRoundTests.this.failures.add(failure);
				DatagramRoundTests.this.onError.accept(datagram);
			}

		});

	private Handler onMessage = (datagram) -> {
	};

	private Consumer<Connection> onError = (datagram) -> {
	};

	/** That of the latest message. */
	private @Nullable ByteOrder order;

	/** The failures that the handler was told of. */
	private final List<Throwable> failures = new ArrayList<>();

	private final Participant me = participant(1);

	private UdpLifecycle life;

	private DatagramReceiver receiver;

	private HandleSet set;

	private interface Handler {

		void handle(Connection datagram) throws Exception;

	}

	/** A network without peers: the test decides what arrives. */
	private static final class ScriptedTransfer implements DatagramTransfer {

		private final Deque<String> waiting = new ArrayDeque<>();

		private InetSocketAddress sender = PEER;

		private @Nullable IOException failure;

		private int reads;

		@Override
		public @Nullable SocketAddress receive(DatagramChannel channel, ByteBuffer target) throws IOException {
			this.reads++;
			if (this.failure != null) {
				throw this.failure;
			}
			String next = this.waiting.poll();
			if (next == null) {
				return null;
			}
			ByteBuffer bytes = Engine.bytes(next);
			target.put(bytes.limit(Math.min(bytes.limit(), target.remaining())));
			return this.sender;
		}

	}

	/** A thread of the pool, in whose place the test acts. */
	private Participant participant(int number) {
		Thread thread = Thread.currentThread();
		return new Participant(number, new Follower(number, thread), thread, true, null,
				(participant, exchange) -> Exchange.State.REPLIED, this.pool.memory(), 0);
	}

	private void open() throws IOException {
		this.life = this.builder.build().life;
		this.receiver = newReceiver(this.life);
		this.life.state().started();
		this.receiver.open();
		this.set = this.receiver.handle.handleSet();
		this.set.applyUpdates();
		this.me.enter();
		assertThat(isArmed()).isTrue();
	}

	private static DatagramReceiver newReceiver(UdpLifecycle life) throws IOException {
		DatagramChannel channel = DatagramChannel.open();
		channel.configureBlocking(false);
		channel.setOption(StandardSocketOptions.SO_RCVBUF, 8192);
		channel.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
		return (DatagramReceiver) life.newSocket(channel);
	}

	@AfterEach
	void close() {
		this.me.enter();
		this.me.withdraw();
		this.receiver.abandon();
		this.set.applyUpdates();
		this.pool.close();
	}

	private boolean isArmed() {
		this.set.applyUpdates();
		SelectionKey key = this.receiver.handle.key;
		return this.receiver.handle.isArmed() && key != null && key.interestOps() == SelectionKey.OP_READ;
	}

	/** Leads. Returns whether there is work for an owner of the socket. */
	private boolean lead() {
		this.set.applyUpdates();
		return this.set.ready.take() != null;
	}

	/** Claims the socket, because it fires. */
	private void own() {
		this.set.applyUpdates();
		this.set.demultiplex(this.receiver.handle, SelectionKey.OP_READ);
		assertThat(lead()).isTrue();
	}

	/** Reads a datagram. Its handler has not run, and the handle was released. */
	private boolean prepare(Participant thread) {
		thread.enter();
		thread.begin(this.receiver.handle);
		return this.receiver.prepare(thread);
	}

	/** Runs the handler of the datagram that was read. */
	private void finish(Participant thread) {
		thread.enter();
		this.receiver.dispatch(thread);
		assertThat(this.receiver.release(thread)).isTrue();
		thread.worksOn(null);
	}

	/** A thread that leads the handle set. */
	private Participant leader() {
		Members<Participant> members = new Members<>(this.clock);
		ThreadSupply threads = new StandInSupply(new PoolSettings(1, 1, false, 1, 0), this.clock);
		PromotionProtocol promotion = new PromotionProtocol(this.pool.handleSets().leaderships(),
				PromotionOrder.LIFO.followers(), members, threads, new Starvation(1, new PoolThreadsTests.Unheard()),
				(kind, vacancyNanos) -> {
				}, 1, this.clock);
		promotion.signalIfVacant();
		promotion.started();
		Participant leader = members.enroll(Thread.currentThread(), (number, follower) -> participant(number));
		promotion.attend(leader);
		assertThat(leader.leads(this.set)).isTrue();
		return leader;
	}

	/** Handles datagrams until other handles have their turn. */
	private void turn(Participant leader) {
		own();
		boolean more = prepare(leader);
		while (more) {
			this.receiver.dispatch(leader);
			more = !this.receiver.release(leader) && this.receiver.prepare(leader);
		}
		leader.worksOn(null);
		leader.withdraw();
		assertThat(isArmed()).isTrue();
	}

	private void round() {
		if (prepare(this.me)) {
			finish(this.me);
		}
	}

	private void receive(String... datagrams) {
		this.transfer.waiting.addAll(List.of(datagrams));
		own();
		round();
	}

	/** Receives a datagram whose handler runs until the thread finishes it. */
	private Participant begin(int number) {
		this.transfer.waiting.add("x" + number);
		own();
		Participant thread = participant(number);
		assertThat(prepare(thread)).isTrue();
		return thread;
	}

	private void drain() {
		this.life.state().drain();
		this.life.drainInput(0);
	}

	private ServerSnapshot.Datagrams counts() {
		ServerSnapshot.Datagrams counts = this.life.snapshot().datagrams();
		assertThat(counts).isNotNull();
		return counts;
	}

	/** Waits for the end of the server in a handler, which does not count itself. */
	private CompletableFuture<Boolean> awaitDrainedInHandler() {
		CountDownLatch waits = new CountDownLatch(1);
		CompletableFuture<Boolean> drained = CompletableFuture
			.supplyAsync(() -> this.life.state().awaitRest((exceptHandlers) -> {
				boolean isDrained = this.life.isDrained(exceptHandlers);
				// Under the monitor, which the report of every change needs from now on.
				waits.countDown();
				return isDrained;
			}, true, System.nanoTime() + Engine.DEADLINE.toNanos()), (task) -> new Thread(task).start());
		Engine.pass(waits);
		return drained;
	}

	private static void assertEnds(CompletableFuture<Boolean> drained) throws Exception {
		assertThat(drained.get(Engine.DEADLINE.toSeconds() / 2, TimeUnit.SECONDS)).isTrue();
	}

	private void breakDown() {
		this.transfer.failure = new IOException("made for the test");
		while (!this.receiver.backoff.isBackingOff()) {
			assertThat(this.transfer.reads).isLessThan(100);
			own();
			round();
		}
	}

	@Test
	void socketIsArmedBeforeTheHandlerRuns() throws IOException {
		open();
		Participant thread = begin(2);
		assertThat(isArmed()).isTrue();
		receive("y");
		assertThat(this.seen).containsExactly("y");
		finish(thread);
		assertThat(this.seen).containsExactly("y", "x2");
		assertThat(counts().inFlight()).isZero();
	}

	/** The last handler may return between the last check and the pause. */
	@Test
	void socketIsClosedIfItPausesAlthoughItIsOver() throws IOException {
		open();
		Participant thread = begin(2);
		drain();
		assertThat(lead()).isTrue();
		round();
		assertThat(this.receiver.hasInputEnded()).isTrue();
		assertThat(this.receiver.handle.claimForLook()).isEqualTo(Claim.CLAIMED);
		finish(thread);
		this.me.enter();
		assertThat(this.receiver.pause()).isTrue();
		assertThat(lead()).isFalse();
		assertThat(this.receiver.handle.isMarkedClosed()).isTrue();
	}

	/** No event would report that there is room again. */
	@Test
	void readingResumesWhenAHandlerReturnsBelowTheLimit() throws IOException {
		this.builder.maxInFlight(1);
		open();
		Participant thread = begin(2);
		assertThat(isArmed()).isFalse();
		assertThat(this.receiver.handle.isPaused()).isTrue();
		finish(thread);
		assertThat(lead()).isTrue();
		round();
		assertThat(isArmed()).isTrue();
	}

	@Test
	void readingResumesWhenASuspensionEndsBelowTheLimit() throws IOException {
		this.builder.maxInFlight(1);
		List<Suspension> suspensions = new ArrayList<>();
		this.onMessage = (datagram) -> suspensions.add(datagram.suspend());
		open();
		receive("x");
		assertThat(lead()).isFalse();
		suspensions.get(0).resume();
		assertThat(lead()).isTrue();
		round();
		assertThat(isArmed()).isTrue();
		// The second time has no effect.
		suspensions.get(0).resume();
		assertThat(counts().inFlight()).isZero();
	}

	@Test
	void readingResumesWhenHandlersOccupyFewerThreads() throws IOException {
		open();
		List<Participant> threads = new ArrayList<>();
		for (int i = 0; i < THREADS; i++) {
			threads.add(begin(i + 2));
		}
		own();
		assertThat(prepare(this.me)).isFalse();
		this.me.worksOn(null);
		assertThat(isArmed()).isFalse();
		assertThat(counts().limitReached()).isOne();
		finish(threads.get(0));
		assertThat(lead()).isTrue();
		round();
		assertThat(isArmed()).isTrue();
		finish(threads.get(1));
		finish(threads.get(2));
		finish(threads.get(3));
	}

	/** Otherwise the limit would be a quarter lower after it was reached once. */
	@ParameterizedTest
	@ValueSource(ints = { THREADS, 1000 })
	void readingThatHasResumedContinuesUntilTheLimitIsReachedAgain(int maxInFlight) throws IOException {
		this.builder.maxInFlight(maxInFlight);
		open();
		List<Participant> threads = new ArrayList<>();
		for (int i = 0; i < THREADS; i++) {
			threads.add(begin(i + 2));
		}
		if (isArmed()) {
			own();
			assertThat(prepare(this.me)).isFalse();
			this.me.worksOn(null);
		}
		assertThat(isArmed()).isFalse();
		finish(threads.remove(0));
		finish(threads.remove(0));
		assertThat(lead()).isTrue();
		round();
		threads.add(begin(THREADS + 2));
		assertThat(isArmed()).isTrue();
		threads.forEach(this::finish);
	}

	@Test
	void otherHandlesHaveTheirTurnAfterManyDatagrams() throws IOException {
		open();
		this.transfer.waiting.addAll(Collections.nCopies(TURN + 1, "x"));
		turn(leader());
		assertThat(this.seen).hasSize(TURN);
	}

	@Test
	void otherHandlesHaveTheirTurnAfterAFewMilliseconds() throws IOException {
		open();
		this.onMessage = (datagram) -> this.clock.advance(Duration.ofMillis(3));
		this.transfer.waiting.addAll(List.of("1", "2", "3"));
		turn(leader());
		assertThat(this.seen).containsExactly("1", "2");
	}

	/** Events of other handles wait as well, so another thread may help. */
	@Test
	void datagramsInARowSuggestThatAsManyWait() throws IOException {
		open();
		Participant thread = begin(2);
		assertThat(this.receiver.more(thread)).isZero();
		thread.turn.countRead();
		assertThat(this.receiver.more(thread)).isOne();
		finish(thread);
	}

	@Test
	void leaderThatHasReadNothingLeavesTheSocket() throws IOException {
		open();
		Participant leader = leader();
		own();
		assertThat(prepare(leader)).isFalse();
		assertThat(this.receiver.release(leader)).isTrue();
		leader.worksOn(null);
		leader.withdraw();
		assertThat(isArmed()).isTrue();
	}

	/** The application may have changed the buffer of the thread. */
	@Test
	void payloadIsBigEndian() throws IOException {
		open();
		this.me.input().order(ByteOrder.LITTLE_ENDIAN);
		receive("x");
		assertThat(this.order).isEqualTo(ByteOrder.BIG_ENDIAN);
	}

	/** Another datagram would take its place in the buffer. */
	@Test
	void socketThatHasFiredAgainIsReleasedWithOneDatagram() throws IOException {
		open();
		this.transfer.waiting.addAll(List.of("x", "y"));
		own();
		this.set.demultiplex(this.receiver.handle, SelectionKey.OP_READ);
		assertThat(prepare(this.me)).isTrue();
		assertThat(this.receiver.handle.isOwned()).isFalse();
		finish(this.me);
		receive();
		assertThat(this.seen).containsExactly("x", "y");
	}

	@Test
	void serverThatIsPausedReadsNothing() throws IOException {
		open();
		this.life.state().paused(true);
		receive("x");
		assertThat(this.transfer.reads).isZero();
		assertThat(isArmed()).isFalse();
		this.life.state().paused(false);
		this.receiver.look();
		assertThat(lead()).isTrue();
		round();
		assertThat(this.seen).containsExactly("x");
	}

	@Test
	void eachHandlerOccupiesAThreadUntilItReturns() throws IOException {
		open();
		DatagramShare share = this.pool.datagramShare;
		List<Participant> threads = new ArrayList<>();
		for (int i = 0; i < share.total(); i++) {
			assertThat(share.isFull()).isFalse();
			threads.add(begin(i + 2));
		}
		assertThat(share.isFull()).isTrue();
		threads.forEach(this::finish);
		for (int i = 0; i < share.total(); i++) {
			assertThat(share.take()).isTrue();
		}
		assertThat(share.isFull()).isTrue();
	}

	@Test
	void threadReadsALimitedNumberOfDatagramsThatAreDropped() throws IOException {
		open();
		this.transfer.sender = this.receiver.localAddress();
		for (int i = 0; i < 1000; i++) {
			this.transfer.waiting.add("x");
		}
		receive();
		assertThat(this.transfer.reads).isEqualTo(64);
		assertThat(counts().rejected()).isEqualTo(64);
		assertThat(isArmed()).isTrue();
	}

	@Test
	void datagramsOfImpossibleSendersAreRejected() throws IOException {
		open();
		this.transfer.sender = new InetSocketAddress("224.0.0.1", 1);
		receive("x");
		this.transfer.sender = new InetSocketAddress(1);
		receive("x");
		assertThat(counts().rejected()).isEqualTo(2);
		assertThat(this.seen).isEmpty();
	}

	@Test
	void senderAtThePortOfTheServerOnAnotherHostIsGenuine() throws IOException {
		open();
		this.transfer.sender = new InetSocketAddress("192.0.2.1", this.receiver.localAddress().getPort());
		receive("x");
		assertThat(this.seen).containsExactly("x");
	}

	/** The port may belong to another program. */
	@ParameterizedTest
	@ValueSource(booleans = { false, true })
	void senderAtThePortOfAServerThatHasEndedIsGenuine(boolean isAbandoned) throws IOException {
		open();
		DatagramReceiver other = newReceiver(this.builder.build().life);
		other.open();
		this.transfer.sender = other.localAddress();
		receive("x");
		assertThat(counts().rejected()).isOne();
		if (isAbandoned) {
			other.abandon();
		}
		else {
			other.abort();
		}
		for (HandleSet each : this.pool.handleSets()) {
			each.applyUpdates();
		}
		assertThat(other.isClosed()).isTrue();
		receive("y");
		assertThat(this.seen).containsExactly("y");
		this.transfer.sender = this.receiver.localAddress();
		receive("z");
		assertThat(counts().rejected()).as("the others have not ended").isEqualTo(2);
	}

	@Test
	void datagramAfterOneThatIsTooLargeIsComplete() throws IOException {
		open();
		receive("y".repeat(MAX_SIZE + 50), "x");
		assertThat(this.seen).containsExactly("x");
		assertThat(counts().truncated()).isOne();
		assertThat(this.life.snapshot().receivedBytes()).as("one byte tells that it is too large")
			.isEqualTo(MAX_SIZE + 2);
	}

	@Test
	void handlerIsToldOfTheDatagramThatItCouldNotHandle() throws IOException {
		open();
		this.onMessage = (datagram) -> {
			throw new IllegalStateException("made for the test");
		};
		receive("x");
		assertThat(this.seen).containsExactly("x", "error x");
	}

	@Test
	void datagramOfTheMaximumSizeIsHandledAndALargerOneIsCounted() throws IOException {
		open();
		receive("x".repeat(MAX_SIZE), "y".repeat(MAX_SIZE + 1));
		receive();
		assertThat(this.seen).containsExactly("x".repeat(MAX_SIZE));
		assertThat(counts().truncated()).isOne();
	}

	// Failures

	@Test
	void datagramThatWasClosedKeepsItsReason() throws IOException {
		List<Connection> datagrams = new ArrayList<>();
		this.onMessage = (datagram) -> {
			datagrams.add(datagram);
			datagram.close();
			throw new IllegalStateException("made for the test");
		};
		open();
		receive("x");
		assertThatExceptionOfType(ConnectionClosedException.class)
			.isThrownBy(() -> datagrams.get(0).send(Engine.bytes("y")))
			.withMessageContaining("(LOCAL)");
		assertThat(this.failures).singleElement().isInstanceOf(IllegalStateException.class);
	}

	/**
	 * A handler may send it again, for example if it has to arrive in spite of losses.
	 */
	@Test
	void replyKeepsItsPositionAndItsLimit() throws IOException {
		ByteBuffer reply = Engine.bytes("<reply>");
		reply.position(1).limit(6);
		this.onMessage = (datagram) -> datagram.send(reply);
		open();
		receive("x");
		assertThat(this.failures).isEmpty();
		assertThat(reply.position()).isOne();
		assertThat(reply.limit()).isEqualTo(6);
	}

	/** Otherwise a thread that sends all the time would not notice the end. */
	@Test
	void replyThatTheRateDoesNotAllowFailsAfterTheEnd() throws IOException {
		List<Connection> datagrams = new ArrayList<>();
		this.onMessage = datagrams::add;
		this.builder.maxReplyRate(1).maxReplyRatio(10_000);
		open();
		receive("x");
		for (int i = 0; i < ReplyRate.BURST_SECONDS + 1; i++) {
			datagrams.get(0).send(Engine.bytes("y"));
		}
		assertThat(counts().limitedReplies()).isOne();
		this.receiver.abandon();
		assertThatExceptionOfType(ConnectionClosedException.class)
			.isThrownBy(() -> datagrams.get(0).send(Engine.bytes("y")));
		assertThat(counts().limitedReplies()).isEqualTo(2);
	}

	/** The handler itself has closed it. */
	@Test
	void replyToADatagramThatWasClosedIsNoFailureOfTheHandler() throws IOException {
		this.onMessage = (datagram) -> {
			datagram.close();
			datagram.send(Engine.bytes("y"));
		};
		open();
		receive("x");
		assertThat(this.failures).isEmpty();
	}

	@ParameterizedTest
	@ValueSource(booleans = { false, true })
	void interruptEndsWithTheHandlerOfItsDatagram(boolean fails) throws IOException {
		this.onMessage = (datagram) -> {
			Thread.currentThread().interrupt();
			if (fails) {
				throw new IllegalStateException("made for the test");
			}
		};
		open();
		receive("x");
		assertThat(Thread.interrupted()).isFalse();
	}

	@Test
	void datagramWhoseThreadFailsIsNoLongerUnderWay() throws IOException {
		open();
		Participant thread = begin(2);
		assertThat(this.receiver.failed(thread, new IllegalStateException("made for the test"))).isFalse();
		assertThat(thread.turn.datagram).isNull();
		assertThat(counts().inFlight()).isZero();
		assertThat(isArmed()).isTrue();
	}

	/** Otherwise the thread would end the datagram again, and keep the socket. */
	@Test
	void threadThatFailsAfterADatagramReleasesTheSocket() throws IOException {
		open();
		receive("x");
		own();
		this.me.begin(this.receiver.handle);
		assertThat(this.receiver.failed(this.me, new IllegalStateException("made for the test"))).isFalse();
		assertThat(this.receiver.handle.isPaused()).isTrue();
		assertThat(counts().inFlight()).isZero();
	}

	@Test
	void receivingIsTriedAgainAfterAPause() throws IOException {
		open();
		breakDown();
		assertThat(counts().receiveFailures()).isEqualTo(16);
		assertThat(isArmed()).isFalse();
		long retry = this.receiver.backoff.retryNanos();
		assertThat(this.receiver.handle.timerDeadline).isEqualTo(retry);
		this.transfer.failure = null;
		this.receiver.expire(retry - 1);
		assertThat(this.receiver.wantsInput()).isFalse();
		this.receiver.expire(retry);
		this.set.demultiplex(this.receiver.handle, SelectableHandle.LOOK);
		assertThat(lead()).isTrue();
		round();
		assertThat(isArmed()).isTrue();
	}

	/** Its share of the threads may have grown, for example. */
	@Test
	void serverThatIsLookedAtDuringAPauseReceivesAfterIt() throws IOException {
		open();
		breakDown();
		this.transfer.failure = null;
		int reads = this.transfer.reads;
		this.receiver.look();
		assertThat(lead()).isTrue();
		round();
		assertThat(this.transfer.reads).isEqualTo(reads);
		assertThat(this.receiver.hasInputEnded()).isFalse();
		this.receiver.expire(this.receiver.backoff.retryNanos());
		this.receiver.look();
		assertThat(lead()).isTrue();
		round();
		assertThat(isArmed()).isTrue();
	}

	@Test
	void failuresThatAreTooFewInARowLeadToNoPause() throws IOException {
		open();
		for (int i = 0; i < 20; i++) {
			this.transfer.failure = new IOException("made for the test");
			receive();
			this.transfer.failure = null;
			receive();
		}
		assertThat(this.receiver.backoff.isBackingOff()).isFalse();
	}

	@Test
	void serverWhoseSocketIsClosedByOthersHasFailed() throws IOException {
		open();
		this.receiver.channel().close();
		this.receiver.look();
		this.set.applyUpdates();
		assertThat(this.life.state().listeningFailure()).isNotNull();
		this.set.applyUpdates();
		assertThat(this.receiver.isClosed()).isTrue();
	}

	@Test
	void socketOfAPoolThatEndsIsClosedAlthoughAThreadOwnsIt() throws IOException {
		open();
		own();
		this.receiver.abandon();
		assertThat(this.receiver.isOpen()).isFalse();
		assertThat(this.receiver.isClosed()).isTrue();
		round();
		assertThat(this.receiver.handle.isMarkedClosed()).isTrue();
		assertThat(this.life.state().listeningFailure()).as("the pool has closed it").isNull();
	}

	@Test
	void socketThatNoThreadOwnsIsClosedByForce() throws IOException {
		open();
		this.receiver.closeByForce();
		assertThat(this.receiver.isOpen()).isFalse();
		assertThat(this.receiver.handle.isMarkedClosed()).isTrue();
		assertThat(this.receiver.isClosed()).isTrue();
	}

	// Suspensions

	@ParameterizedTest
	@ValueSource(booleans = { false, true })
	void suspensionThatHasEndedIsForgotten(boolean inHandler) throws IOException {
		this.builder.suspensionTimeout(Duration.ofHours(1));
		List<Suspension> suspensions = new ArrayList<>();
		this.onMessage = (datagram) -> {
			suspensions.add(datagram.suspend());
			if (inHandler) {
				suspensions.get(0).resume();
			}
		};
		open();
		receive("x");
		suspensions.get(0).resume();
		assertThat(counts().inFlight()).isZero();
		assertThat(this.receiver.deadline(0)).isEqualTo(EngineEventHandler.NO_DEADLINE);
	}

	/** A map may need memory to count its entries, after it has removed one. */
	@ParameterizedTest
	@EnumSource(EndOfSuspension.class)
	void datagramEndsAlthoughItsSuspensionCannotBeForgotten(EndOfSuspension how) throws Exception {
		this.builder.suspensionTimeout(Duration.ofHours(1));
		List<Suspension> suspensions = new ArrayList<>();
		this.onMessage = (datagram) -> {
			suspensions.add(datagram.suspend());
			if (how == EndOfSuspension.IN_HANDLER) {
				suspensions.get(0).resume();
			}
		};
		open();
		LinkageError failure = new LinkageError("made for the test");
		AtomicBoolean fails = new AtomicBoolean(true);
		replaceSuspended(new HashSet<>() {

			@Override
			public boolean remove(Object datagram) {
				boolean removed = super.remove(datagram);
				if (fails.getAndSet(false)) {
					throw failure;
				}
				return removed;
			}

		});
		assertThatExceptionOfType(LinkageError.class).isThrownBy(() -> {
			receive("x");
			if (how == EndOfSuspension.LATER) {
				suspensions.get(0).resume();
			}
			else {
				this.receiver.expire(this.receiver.deadline(0));
			}
		});
		if (how == EndOfSuspension.IN_HANDLER) {
			assertThat(this.receiver.failed(this.me, failure)).isFalse();
			this.me.worksOn(null);
		}
		assertThat(counts().inFlight()).isZero();
		for (int i = 0; i < THREADS; i++) {
			receive("y");
		}
		assertThat(this.seen).hasSize(1 + THREADS);
	}

	/** Its handler cannot end a suspension that it has not got. */
	@ParameterizedTest
	@ValueSource(booleans = { false, true })
	void datagramIsNotHeldByWhatCouldNotBeCreated(boolean owes) throws Exception {
		this.builder.suspensionTimeout(Duration.ofHours(1));
		this.onMessage = (datagram) -> {
			if (owes) {
				datagram.owe();
			}
			else {
				datagram.suspend();
			}
		};
		open();
		LinkageError failure = new LinkageError("made for the test");
		replaceSuspended(new HashSet<>() {

			@Override
			public boolean add(Datagram datagram) {
				throw failure;
			}

		});
		receive("x");
		assertThat(this.failures).containsExactly(failure);
		assertThat(counts().inFlight()).isZero();
	}

	private void replaceSuspended(Set<Datagram> suspended) throws ReflectiveOperationException {
		Field suspensions = DatagramReceiver.class.getDeclaredField("suspensions");
		suspensions.setAccessible(true);
		Field datagrams = DatagramSuspensions.class.getDeclaredField("suspended");
		datagrams.setAccessible(true);
		datagrams.set(suspensions.get(this.receiver), suspended);
	}

	private enum EndOfSuspension {

		IN_HANDLER, LATER, TIMEOUT

	}

	/** A drain must wait for the reply to a failure, too. */
	@Test
	void datagramWhoseHandlerHasFailedIsUnderWayUntilTheFailureIsHandled() throws IOException {
		List<Integer> inFlight = new ArrayList<>();
		this.onMessage = (datagram) -> {
			throw new IllegalStateException("made for the test");
		};
		this.onError = (datagram) -> inFlight.add(counts().inFlight());
		open();
		receive("x");
		assertThat(inFlight).containsExactly(1);
		assertThat(counts().inFlight()).isZero();
	}

	@Test
	void theTimerIsThatOfTheFirstSuspension() throws IOException {
		this.builder.suspensionTimeout(Duration.ofHours(1));
		this.onMessage = Connection::suspend;
		open();
		receive("first");
		long deadline = this.receiver.deadline(0);
		for (int i = 0; i < 50; i++) {
			receive("x");
		}
		assertThat(counts().inFlight()).isEqualTo(51);
		assertThat(this.receiver.deadline(0)).isEqualTo(deadline);
	}

	/** A datagram is under way until each suspension has ended, and not longer. */
	@Test
	void suspensionOfADatagramThatWasClosedHoldsNothing() throws IOException {
		List<Suspension> suspensions = new ArrayList<>();
		this.onMessage = (datagram) -> {
			suspensions.add(datagram.suspend());
			datagram.close();
			suspensions.add(datagram.suspend());
		};
		open();
		receive("x");
		suspensions.get(1).resume();
		assertThat(counts().inFlight()).isOne();
		suspensions.get(0).resume();
		assertThat(counts().inFlight()).isZero();
		this.onMessage = (datagram) -> {
			datagram.close();
			datagram.suspend();
			datagram.owe();
		};
		receive("y");
		assertThat(counts().inFlight()).isZero();
	}

	@Test
	void datagramThatHasBeenHandledCannotBeSuspended() throws IOException {
		List<Connection> datagrams = new ArrayList<>();
		this.onMessage = datagrams::add;
		open();
		receive("x");
		Suspension late = datagrams.get(0).suspend();
		assertThat(counts().inFlight()).isZero();
		late.resume();
		((Datagram) datagrams.get(0)).timeOut();
		assertThat(counts().inFlight()).as("it ends once").isZero();
	}

	@Test
	void suspensionThatTimesOutEarlierThanTheTimerGetsATimer() throws IOException {
		this.builder.suspensionTimeout(Duration.ofHours(1));
		this.onMessage = Connection::suspend;
		open();
		long later = System.nanoTime() + TimeUnit.HOURS.toNanos(3);
		this.receiver.handle.timerDeadline = later;
		receive("x");
		this.set.applyUpdates();
		assertThat(this.receiver.handle.timerDeadline - later).isNegative();
	}

	@ParameterizedTest
	@ValueSource(booleans = { false, true })
	void suspensionThatTimesOutEndsTheDatagramWhenItsHandlerHasReturned(boolean returns) throws IOException {
		this.builder.suspensionTimeout(Duration.ofHours(1)).maxInFlight(1);
		this.onMessage = (datagram) -> {
			Suspension suspension = datagram.suspend();
			if (!returns) {
				this.receiver.expire(this.receiver.deadline(0));
				assertThat(datagram.isOpen()).isFalse();
				assertThat(this.receiver.deadline(0)).isEqualTo(EngineEventHandler.NO_DEADLINE);
				suspension.resume();
				assertThat(counts().inFlight()).isOne();
			}
		};
		open();
		receive("x");
		if (returns) {
			long deadline = this.receiver.deadline(0);
			this.receiver.expire(deadline - 1);
			assertThat(counts().inFlight()).isOne();
			this.receiver.expire(deadline);
		}
		assertThat(this.failures).isEmpty();
		assertThat(counts().inFlight()).isZero();
		assertThat(this.receiver.deadline(0)).isEqualTo(EngineEventHandler.NO_DEADLINE);
		assertThat(lead()).isTrue();
	}

	// Drain

	@Test
	void drainReadsWhatHasArrivedAndThenCloses() throws IOException {
		open();
		this.transfer.waiting.addAll(List.of("x", "y"));
		drain();
		assertThat(lead()).isTrue();
		round();
		// No event reports that nothing follows.
		assertThat(lead()).isTrue();
		round();
		assertThat(this.receiver.hasInputEnded()).isFalse();
		assertThat(lead()).isTrue();
		round();
		assertThat(this.seen).containsExactly("x", "y");
		this.set.applyUpdates();
		assertThat(this.receiver.isClosed()).isTrue();
		assertThat(this.life.isDrained(0)).isTrue();
		assertThat(this.life.state().listeningFailure()).isNull();
	}

	@Test
	void drainOfAServerThatCannotReceiveEndsAtOnce() throws IOException {
		open();
		breakDown();
		drain();
		assertThat(lead()).isTrue();
		round();
		this.set.applyUpdates();
		assertThat(this.receiver.isClosed()).isTrue();
	}

	@Test
	void drainEndsWithAFailure() throws IOException {
		open();
		this.transfer.failure = new IOException("made for the test");
		drain();
		assertThat(lead()).isTrue();
		round();
		this.set.applyUpdates();
		assertThat(this.receiver.isClosed()).isTrue();
	}

	@Test
	void drainOfAPausedServerReadsNothing() throws IOException {
		open();
		this.life.state().paused(true);
		this.transfer.waiting.add("x");
		drain();
		assertThat(lead()).isTrue();
		round();
		this.set.applyUpdates();
		assertThat(this.receiver.isClosed()).isTrue();
		assertThat(this.seen).isEmpty();
	}

	/** Otherwise a peer that goes on sending could prevent the end of the server. */
	@Test
	void drainReadsNoMoreThanTheSystemKeeps() throws IOException {
		open();
		int most = 2 * this.receiver.channel().getOption(StandardSocketOptions.SO_RCVBUF) / 512;
		for (int i = 0; i <= most; i++) {
			this.transfer.waiting.add("");
		}
		drain();
		while (!this.receiver.hasInputEnded()) {
			assertThat(this.transfer.reads).isLessThan(2 * most);
			assertThat(lead()).isTrue();
			round();
		}
		assertThat(this.seen).hasSize(most);
	}

	@ParameterizedTest
	@ValueSource(booleans = { false, true })
	void drainWaitsForTheLastDatagram(boolean suspends) throws IOException {
		open();
		List<Suspension> suspensions = new ArrayList<>();
		this.onMessage = (datagram) -> {
			if (suspends) {
				suspensions.add(datagram.suspend());
			}
		};
		Participant thread = begin(2);
		drain();
		assertThat(lead()).isTrue();
		round();
		assertThat(this.receiver.hasInputEnded()).isTrue();
		assertThat(this.receiver.isOpen()).isTrue();
		finish(thread);
		if (suspends) {
			assertThat(lead()).isFalse();
			assertThat(this.receiver.isOpen()).isTrue();
			suspensions.get(0).resume();
		}
		this.set.applyUpdates();
		assertThat(this.receiver.isClosed()).isTrue();
	}

	@Test
	void handlerThatWaitsForTheEndIsToldWhenEverythingHasBeenRead() throws Exception {
		open();
		Participant thread = begin(2);
		this.life.state().drain();
		CompletableFuture<Boolean> drained = awaitDrainedInHandler();
		this.receiver.look();
		assertThat(lead()).isTrue();
		round();
		assertEnds(drained);
		finish(thread);
	}

	@ParameterizedTest
	@ValueSource(booleans = { false, true })
	void handlerThatWaitsForTheEndIsToldWhenTheOthersHaveEnded(boolean suspends) throws Exception {
		open();
		List<Suspension> suspensions = new ArrayList<>();
		this.onMessage = (datagram) -> {
			if (suspends) {
				suspensions.add(datagram.suspend());
			}
		};
		Participant waiting = begin(2);
		Participant other = begin(3);
		drain();
		assertThat(lead()).isTrue();
		round();
		assertThat(this.receiver.hasInputEnded()).isTrue();
		if (suspends) {
			finish(other);
		}
		CompletableFuture<Boolean> drained = awaitDrainedInHandler();
		if (suspends) {
			suspensions.get(0).resume();
		}
		else {
			finish(other);
		}
		assertEnds(drained);
		finish(waiting);
	}

}
