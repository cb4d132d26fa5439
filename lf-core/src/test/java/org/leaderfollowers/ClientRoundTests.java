package org.leaderfollowers;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;
import java.nio.channels.SocketChannel;
import java.time.Duration;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.leaderfollowers.internal.exchange.Exchange;
import org.leaderfollowers.internal.promotion.Follower;
import org.leaderfollowers.internal.promotion.HandledWork;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

/**
 * Tests how a client replaces its connections, step by step. The pool has no threads: the
 * test is its leader, and decides when a connection is established and when it ends.
 */
class ClientRoundTests {

	private static final Duration MIN_BACKOFF = Duration.ofSeconds(1);

	private static final Duration HEARTBEAT = Duration.ofSeconds(10);

	private static final Duration FOREVER = Duration.ofHours(1);

	private final TestClock clock = new TestClock();

	private final LeaderFollowersPool pool = LeaderFollowersPool.builder()
		.name("test")
		.threads(1, 1)
		.clock(this.clock)
		.build();

	private final Places places = new Places(this.clock);

	private final ClientCounters counters = new ClientCounters(1);

	private final Participant me = new Participant(1, new Follower(1, Thread.currentThread()), Thread.currentThread(),
			true, null, (participant, exchange) -> Exchange.State.REPLIED, this.pool.memory(), 0);

	private ServerSocket peer;

	private ClientConnections connections;

	private SelectableHandle handle;

	private HandleSet set;

	private @Nullable RuntimeException failure;

	@BeforeEach
	void open() throws IOException {
		open(1);
		this.me.enter();
	}

	private void open(int connections) throws IOException {
		open(connections, 1);
	}

	private void open(int connections, int addresses) throws IOException {
		this.peer = new ServerSocket(0, 10, InetAddress.getLoopbackAddress());
		this.peer.setSoTimeout((int) Engine.DEADLINE.toMillis());
		ClientOptions options = new ClientOptions(connections, new TcpSocketOptions(true, false, 0, 0),
				Correlation.inOrder(), 4, 0, TimeUnit.HOURS.toNanos(1), MIN_BACKOFF.toNanos(), MIN_BACKOFF.toNanos(),
				HEARTBEAT.toNanos(), this::heartbeat, (request) -> false, this::tls, InetAddress::getAllByName);
		this.connections = new ClientConnections("test",
				Collections.nCopies(addresses, (InetSocketAddress) this.peer.getLocalSocketAddress()), options,
				this.counters, this.places, (handler) -> {
					this.handle = this.pool.handleSets().newTimer(handler);
					return this.handle;
				}, this::context);
		this.set = this.handle.handleSet();
		this.connections.context().server().started();
		this.connections.open();
	}

	@AfterEach
	void close() throws IOException {
		this.me.withdraw();
		this.connections.context().registry().all().forEach(TcpConnection::abandon);
		this.peer.close();
		this.pool.close();
	}

	private ConnectionContext context(ClientConnections created) {
		ServerWarnings warnings = new ServerWarnings("test", "handler", "pool");
		return new ConnectionContext(new ServerState("test", warnings), new ClientHandler((connection, message) -> {
		}, this.counters, created), Framing.line(), new ConnectionContext.Limits(100, 101, 1024, false, 0, 0),
				new ConnectionTimeouts(0, 0, 0, 0, 0, 0, 0, 0), this.counters.ofConnections, warnings,
				new ConnectionRegistry(created::look), null, new PoolHandles(this.pool, SelectionKey.OP_CONNECT),
				this.clock, this.pool.memory(), HandledWork.ofClient("test", "handler"), null, new WireLog("test"),
				true, null, null);
	}

	private ByteBuffer heartbeat() {
		fail();
		return Engine.bytes("heartbeat");
	}

	private @Nullable ClientTls tls() {
		fail();
		return null;
	}

	private void fail() {
		if (this.failure != null) {
			throw this.failure;
		}
	}

	/** Leads. Returns whether there is work for an owner of the client's handle. */
	private boolean lead() {
		this.set.applyUpdates();
		boolean found = false;
		for (SelectableHandle ready = Ready.take(this.set.ready); ready != null; ready = Ready.take(this.set.ready)) {
			if (ready == this.handle) {
				found = true;
			}
			else {
				// The test establishes and ends connections itself.
				ready.pause();
			}
		}
		return found;
	}

	/** Looks at the connections, because something has changed. */
	private void look() {
		assertThat(lead()).isTrue();
		this.me.begin(this.handle);
		int rounds = 0;
		do {
			assertThat(rounds++).isLessThan(100);
			if (this.connections.prepare(this.me)) {
				this.connections.dispatch(this.me);
			}
		}
		while (!this.connections.release(this.me));
		this.me.worksOn(null);
		assertThat(lead()).isFalse();
	}

	/** Lets the timer of the client expire, at the latest after the given time. */
	private void expire(Duration duration) {
		assertThat(this.handle.timerDeadline - this.clock.nanoTime()).isBetween(duration.toNanos() / 2,
				duration.toNanos());
		this.clock.advance(duration);
		this.set.await(this.clock.nanoTime(), null, null);
		look();
	}

	private @Nullable TcpConnection connection() {
		return this.connections.context().registry().all().stream().findFirst().orElse(null);
	}

	private TcpConnection connect() throws IOException {
		look();
		TcpConnection connection = connection();
		assertThat(connection).isNotNull();
		SocketChannel channel = (SocketChannel) connection.handle.channel();
		Engine.eventually().until(channel::finishConnect);
		return connection;
	}

	private TcpConnection establish() throws IOException {
		TcpConnection connection = connect();
		this.connections.opened(connection);
		look();
		return connection;
	}

	private void end(TcpConnection connection) {
		connection.abandon();
		assertThat(connection()).isNull();
	}

	private ClientSnapshot.Address address() {
		return this.connections.addresses().get(0);
	}

	/** Lets one more thread wait for a place. */
	private CompletableFuture<Boolean> await() {
		int before = this.places.waiting();
		CompletableFuture<Boolean> result = CompletableFuture.supplyAsync(
				() -> this.places.await(this.connections::hasPlace, this.clock.nanoTime() + FOREVER.toNanos()),
				(task) -> new Thread(task).start());
		Engine.eventually().until(() -> this.places.waiting() > before);
		return result;
	}

	@Test
	void connectionTakesRequestsFromTheTimeWhenTheApplicationHasSeenIt() throws Exception {
		TcpConnection connection = connect();
		assertThat(this.connections.ready()).isZero();
		assertThat(this.connections.hasPlace()).isFalse();
		assertThat(this.counters.connects.sum()).isZero();
		CompletableFuture<Boolean> first = await();
		CompletableFuture<Boolean> second = await();
		this.connections.opened(connection);
		assertThat(first.get(30, TimeUnit.SECONDS)).isTrue();
		assertThat(second.get(30, TimeUnit.SECONDS)).isTrue();
		look();
		assertThat(this.connections.ready()).isOne();
		assertThat(this.counters.connects.sum()).isOne();
		assertThat(address().connections()).isOne();
	}

	@Test
	void placeOfAConnectionThatHasEndedIsLikeNew() throws IOException {
		end(establish());
		look();
		assertThat(this.counters.disconnects.sum()).isOne();
		assertThat(this.counters.failedConnects.sum()).isZero();
		assertThat(address().connections()).isZero();
		// It ended at once, so the address is tried again after a pause.
		assertThat(address().failures()).isOne();
		expire(MIN_BACKOFF);
		TcpConnection next = connection();
		assertThat(next).isNotNull();
		assertThat(this.connections.ready()).isZero();
		assertThat(this.counters.connects.sum()).isOne();
		this.connections.opened(next);
		look();
		assertThat(this.connections.ready()).isOne();
		assertThat(this.counters.connects.sum()).isEqualTo(2);
	}

	@Test
	void connectionThatIsNotEstablishedIsCountedAsFailed() throws IOException {
		end(connect());
		look();
		assertThat(this.counters.disconnects.sum()).isZero();
		assertThat(this.counters.failedConnects.sum()).isOne();
		assertThat(address().failures()).isOne();
		assertThat(address().connections()).isZero();
	}

	@Test
	void addressWhosePauseEndsFirstIsTriedFirst() throws IOException {
		this.peer.close();
		open(1, 2);
		end(connect());
		look();
		// The pause of the first address lasts at most as long again.
		this.clock.advance(MIN_BACKOFF.dividedBy(2));
		this.connections.look();
		end(connect());
		look();
		assertThat(this.connections.addresses()).allMatch((each) -> each.failures() == 1);
		assertThat(this.handle.timerDeadline - this.clock.nanoTime())
			.isLessThanOrEqualTo(MIN_BACKOFF.dividedBy(2).toNanos());
	}

	@Test
	void connectionThatEndsLaterIsReplacedAtOnce() throws IOException {
		TcpConnection connection = establish();
		this.clock.advance(MIN_BACKOFF);
		end(connection);
		look();
		assertThat(address().failures()).isZero();
		assertThat(connection()).isNotNull();
		assertThat(address().connections()).isOne();
	}

	@Test
	void addressIsReachableAgainWhenItsConnectionHasLasted() throws IOException {
		end(establish());
		look();
		expire(MIN_BACKOFF);
		this.connections.opened(connection());
		look();
		assertThat(address().reachable()).isFalse();
		expire(MIN_BACKOFF);
		assertThat(address().reachable()).isTrue();
		assertThat(connection()).isNotNull();
	}

	/** For example because the server drains: it closes its port, not its connections. */
	@Test
	void anOlderConnectionDoesNotMakeAFailingAddressReachable() throws IOException {
		this.peer.close();
		open(2);
		look();
		TcpConnection old = connection();
		Engine.eventually().until(((SocketChannel) old.handle.channel())::finishConnect);
		this.connections.opened(old);
		look();
		this.clock.advance(MIN_BACKOFF.multipliedBy(2));
		TcpConnection refused = others(old).get(0);
		for (int failures = 1; failures <= 3; failures++) {
			refused.abandon();
			look();
			this.connections.look();
			look();
			assertThat(address().failures()).isEqualTo(failures);
			assertThat(others(old)).isEmpty();
			expire(MIN_BACKOFF);
			refused = others(old).get(0);
		}
		Engine.eventually().until(((SocketChannel) refused.handle.channel())::finishConnect);
		this.connections.opened(refused);
		look();
		expire(MIN_BACKOFF);
		assertThat(address().reachable()).isTrue();
	}

	private List<TcpConnection> others(TcpConnection than) {
		return this.connections.context().registry().all().stream().filter((each) -> each != than).toList();
	}

	/** For example because there is no memory to promote a leader. */
	@Test
	void anAttemptThatCouldNotBeginIsMadeLater() throws IOException {
		assertThat(lead()).isTrue();
		this.me.begin(this.handle);
		assertThat(this.connections.prepare(this.me)).isTrue();
		assertThat(this.connections.failed(this.me, new OutOfMemoryError("made for the test"))).isFalse();
		this.me.worksOn(null);
		assertThat(lead()).isFalse();
		assertThat(connection()).isNull();
		expire(Duration.ofSeconds(1));
		assertThat(connection()).isNotNull();
		assertThat(address().connections()).isOne();
	}

	@Test
	void addressOfAnAttemptThatCouldNotBeginHasNoConnectionWhenTheClientEnds() {
		assertThat(lead()).isTrue();
		this.me.begin(this.handle);
		assertThat(this.connections.prepare(this.me)).isTrue();
		assertThat(this.connections.failed(this.me, new OutOfMemoryError("made for the test"))).isFalse();
		this.me.worksOn(null);
		assertThat(address().connections()).isOne();
		this.connections.end();
		look();
		assertThat(address().connections()).isZero();
	}

	/** Otherwise the client could run out of descriptors. */
	@Test
	void socketOfAnAttemptThatFailsIsClosed() throws IOException {
		this.failure = new IllegalStateException("made for the test");
		look();
		assertThat(this.counters.failedConnects.sum()).isOne();
		assertThat(address().connections()).isZero();
		assertThat(address().failures()).isOne();
		assertThat(address().failure()).contains("made for the test");
		try (Socket accepted = this.peer.accept()) {
			accepted.setSoTimeout((int) Engine.DEADLINE.toMillis());
			assertThat(accepted.getInputStream().read()).isEqualTo(-1);
		}
		this.failure = null;
		expire(MIN_BACKOFF);
		assertThat(connection()).isNotNull();
	}

	@Test
	void attemptThatBeginsWhileTheClientEndsMakesNoConnection() {
		assertThat(lead()).isTrue();
		this.me.begin(this.handle);
		assertThat(this.connections.prepare(this.me)).isTrue();
		assertThat(address().connections()).isOne();
		this.connections.end();
		this.connections.dispatch(this.me);
		assertThat(connection()).isNull();
		assertThat(address().connections()).isZero();
		assertThat(this.connections.release(this.me)).isFalse();
		assertThat(this.connections.prepare(this.me)).isFalse();
		assertThat(this.connections.release(this.me)).isTrue();
		assertThat(this.handle.isMarkedClosed()).isTrue();
	}

	@Test
	void nobodyWaitsForAPlaceOfAClientWithoutItsPool() {
		assertThat(this.connections.hasPlace()).isFalse();
		this.connections.abandon();
		assertThat(this.connections.hasPlace()).isTrue();
	}

	@Test
	void handleIsClosedAfterTheLastConnection() throws Exception {
		TcpConnection connection = connect();
		CompletableFuture<Boolean> waiting = await();
		this.connections.end();
		look();
		assertThat(waiting.get(30, TimeUnit.SECONDS)).isTrue();
		assertThat(this.handle.isMarkedClosed()).isFalse();
		end(connection);
		look();
		assertThat(this.handle.isMarkedClosed()).isTrue();
		assertThat(address().failures()).isZero();
	}

	@Test
	void connectionThatEndsDuringTheLastRoundIsCounted() throws IOException {
		TcpConnection connection = establish();
		this.connections.end();
		assertThat(lead()).isTrue();
		this.me.begin(this.handle);
		assertThat(this.connections.prepare(this.me)).isFalse();
		end(connection);
		assertThat(this.connections.release(this.me)).isTrue();
		assertThat(this.handle.isMarkedClosed()).isTrue();
		assertThat(this.counters.disconnects.sum()).isOne();
		assertThat(address().connections()).isZero();
	}

	@Test
	void requestThatGetsNoReplyIsReportedIfTheClientHasBegunToEnd() {
		this.connections.ended(Exchange.State.TIMED_OUT);
		this.connections.lost();
		this.connections.end();
		this.connections.ended(Exchange.State.REPLIED);
		assertThat(this.connections.hasUnanswered()).isFalse();
		this.connections.lost();
		assertThat(this.connections.hasUnanswered()).isTrue();
	}

	/** Each of them waits for another condition. */
	@Test
	void threadsThatCloseAreAllToldWhatChanges() {
		int[] told = new int[1];
		for (int i = 0; i < 2; i++) {
			int before = this.places.waiting();
			new Thread(() -> this.places.await(() -> told[0]++ < 0, this.clock.nanoTime() + FOREVER.toNanos())).start();
			Engine.eventually().until(() -> this.places.waiting() > before);
		}
		this.connections.end();
		Engine.eventually().until(() -> told(told) == 4);
		this.connections.changed();
		Engine.eventually().until(() -> told(told) == 6);
		this.clock.advance(FOREVER);
		this.places.changed();
	}

	/** Reads under the monitor under which the conditions are checked. */
	private int told(int[] told) {
		synchronized (this.places) {
			return told[0];
		}
	}

	@Test
	void clientThatFailsTriesAgain() {
		assertThat(lead()).isTrue();
		this.me.begin(this.handle);
		assertThat(this.connections.failed(this.me, new IllegalStateException("made for the test"))).isFalse();
		assertThat(lead()).isFalse();
		assertThat(this.handle.isPaused()).isTrue();
		expire(Duration.ofSeconds(1));
		assertThat(connection()).isNotNull();
	}

	@Test
	void silentPeerGetsAHeartbeatAndAPeerThatOwesAReplyDoesNot() throws IOException {
		TcpConnection connection = establish();
		expire(HEARTBEAT);
		assertThat(connection.exchanges.pending()).isOne();
		expire(HEARTBEAT);
		assertThat(connection.exchanges.pending()).isOne();
		assertThat(connection.isOpen()).isTrue();
	}

	/** Nothing else would detect that the peer is gone. */
	@Test
	void silentPeerGetsAHeartbeatAlthoughItHasNotAnsweredTheHandler() throws IOException {
		TcpConnection connection = establish();
		connection.send(Engine.bytes("login"));
		assertThat(connection.exchanges.taken()).isOne();
		expire(HEARTBEAT);
		assertThat(connection.exchanges.pending()).isOne();
	}

	@Test
	void peerThatHasSentSomethingGetsNoHeartbeatOnThatConnection() throws IOException {
		TcpConnection connection = establish();
		connection.noteReceived(1);
		expire(HEARTBEAT);
		assertThat(connection.exchanges.pending()).isZero();
		end(connection);
		TcpConnection next = establish();
		expire(HEARTBEAT);
		assertThat(next.exchanges.pending()).isOne();
	}

	@Test
	void heartbeatThatIsLostEndsTheConnection() throws IOException {
		TcpConnection connection = establish();
		expire(HEARTBEAT);
		assertThat(connection.exchanges.close()).isTrue();
		connection.exchanges.completeEnded();
		assertThat(connection.closing.reason()).isEqualTo(CloseReason.EXCHANGE_TIMEOUT);
	}

	@Test
	void connectionWhoseHeartbeatFailsIsReplaced() throws IOException {
		TcpConnection connection = establish();
		this.failure = new IllegalStateException("made for the test");
		expire(HEARTBEAT);
		assertThat(connection.closing).isNotNull();
	}

	@Test
	void requestIsSentOnTheConnectionThatHasTheLeastToDoAndElseOnAnyOther() throws IOException {
		this.peer.close();
		open(2);
		look();
		for (TcpConnection each : this.connections.context().registry().all()) {
			Engine.eventually().until(((SocketChannel) each.handle.channel())::finishConnect);
			this.connections.opened(each);
			look();
		}
		Exchanges first = send();
		Exchanges second = send();
		assertThat(second).isNotSameAs(first);
		// It has nothing to do, but takes no requests any more.
		first.close();
		assertThat(first.taken()).isZero();
		assertThat(send()).isSameAs(second);
	}

	private @Nullable Exchanges send() {
		return this.connections.send(
				Exchange.ofFuture(this.clock.nanoTime() + HEARTBEAT.toNanos(), new CompletableFuture<>()),
				Engine.bytes("x"));
	}

	@Test
	void connectionThatIsAboutToCloseHasNoPlace() throws IOException {
		TcpConnection connection = establish();
		assertThat(this.connections.hasPlace()).isTrue();
		connection.requestClose(CloseReason.LOCAL, null);
		assertThat(this.connections.hasPlace()).isFalse();
		assertThat(send()).isNull();
	}

	@Test
	void requestOnAConnectionThatPeersDoNotReadIsRejected() throws IOException {
		TcpConnection connection = establish();
		SocketChannel channel = (SocketChannel) connection.handle.channel();
		while (connection.pendingBytes() < 1024) {
			connection.outbound.send(ByteBuffer.allocate(64 * 1024));
		}
		assertThat(channel.isOpen()).isTrue();
		Exchange exchange = Exchange.ofFuture(this.clock.nanoTime() + HEARTBEAT.toNanos(), new CompletableFuture<>());
		assertThatExceptionOfType(ExchangeRejectedException.class)
			.isThrownBy(() -> this.connections.send(exchange, Engine.bytes("x")))
			.withMessageContaining("maxOutboundSize");
		assertThat(this.connections.pending()).isZero();
	}

	@Test
	void connectionOfAClientIsClosedWithoutAGracePeriod() throws IOException {
		TcpConnection connection = establish();
		connection.close(FOREVER);
		assertThat(connection.isOpen()).isFalse();
	}

}
