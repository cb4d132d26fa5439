package org.leaderfollowers;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.management.ManagementFactory;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;

import com.sun.management.ThreadMXBean;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.leaderfollowers.internal.demultiplexing.HandleState.Claim;
import org.leaderfollowers.internal.promotion.HandlerProfile;
import org.leaderfollowers.internal.transport.Certificates;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests how a listening socket is accepted from, paused, and closed. The pool has no
 * threads: the test is the leader of its handle set and the owner of the socket.
 */
class AcceptorTests {

	/** How many connections are accepted in a row. */
	private static final int MAX_ACCEPTS = 64;

	private final LeaderFollowersPool pool = LeaderFollowersPool.builder().name("test").threads(1, 1).build();

	private final TcpServer server = TcpServer.builder(this.pool)
		.framing(Framing.line())
		.handler(Connection::send)
		.build();

	private ServerSocketChannel channel;

	private Acceptor acceptor;

	private HandleSet set;

	@BeforeEach
	void open() throws IOException {
		this.channel = ServerSocketChannel.open()
			.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 2 * MAX_ACCEPTS);
		this.channel.configureBlocking(false);
		this.acceptor = acceptor(TcpServer.builder(this.pool));
		this.set = this.acceptor.handle.handleSet();
		this.server.life.state().started();
		this.acceptor.open();
		this.set.applyUpdates();
		assertThat(this.acceptor.handle.isArmed()).isTrue();
	}

	private Acceptor acceptor(TcpServer.Builder options) {
		return acceptor(new Admission(this.server.life.context(), TcpOptions.of(options, Framing.line())));
	}

	private Acceptor acceptor(Admission admission) {
		return acceptor(1, admission);
	}

	private Acceptor acceptor(int backlog, Admission admission) {
		return new Acceptor(this.server.life.state(), this.channel, backlog, (socket, handler) -> this.pool.handleSets()
			.newHandle(socket, handler, SelectionKey.OP_ACCEPT, new HandlerProfile()), admission);
	}

	@AfterEach
	void close() throws IOException {
		this.channel.close();
		this.pool.close();
	}

	private void own() {
		assertThat(this.acceptor.handle.claimForLook()).isEqualTo(Claim.CLAIMED);
	}

	/** The reason to look again may come between the last check and the pause. */
	@Test
	void looksAgainIfItPausesAlthoughItCanAccept() {
		own();
		assertThat(this.acceptor.pause()).isTrue();
		assertThat(this.acceptor.handle.isPaused()).isTrue();
		this.set.applyUpdates();
		assertThat(this.acceptor.handle.isArmed()).isTrue();
	}

	/** A pause would make its server wait. */
	@Test
	void closesItsSocketIfItFailsAfterTheCloseWasRequested() {
		own();
		this.acceptor.requestClose();
		assertThat(this.acceptor.failed(null, new IllegalStateException("made for the test"))).isFalse();
		assertThat(this.acceptor.handle.isMarkedClosed()).isTrue();
		assertThat(this.acceptor.isBackingOff()).isFalse();
	}

	@Test
	void hasClosedItsSocketAlthoughItFailsAfterwards() {
		own();
		this.acceptor.handle.closeByOwner();
		assertThat(this.acceptor.failed(null, new IllegalStateException("made for the test"))).isFalse();
		assertThat(this.server.snapshot().listeningFailure()).isNull();
	}

	@Test
	void pausesAfterAFailureOfItsOwner() {
		own();
		assertThat(this.acceptor.failed(null, new IllegalStateException("made for the test"))).isFalse();
		assertThat(this.acceptor.isBackingOff()).isTrue();
		assertThat(this.acceptor.handle.isPaused()).isTrue();
		this.set.applyUpdates();
		assertThat(this.acceptor.handle.timerDeadline).isEqualTo(this.acceptor.backoff.retryNanos());
	}

	@Test
	void saysThatItsSocketHasFailed() throws IOException {
		own();
		this.channel.close();
		assertThat(this.acceptor.failed(null, new IllegalStateException("made for the test"))).isFalse();
		assertThat(this.acceptor.handle.isMarkedClosed()).isTrue();
		assertThat(this.acceptor.backoff.isBackingOff()).isFalse();
		assertThat(this.server.life.state().listeningFailure()).contains("made for the test");
	}

	/** Nothing would be tried then, so the leader would look again and again. */
	@Test
	void waitsForNoTimeThatIsOverWhileItsServerIsPaused() {
		own();
		this.acceptor.failed(null, new IllegalStateException("made for the test"));
		this.server.pause();
		Engine.elapse(Duration.ofNanos(this.acceptor.backoff.retryNanos() - System.nanoTime()));
		own();
		this.acceptor.workAlone();
		assertThat(this.acceptor.deadline(System.nanoTime())).isEqualTo(EngineEventHandler.NO_DEADLINE);
	}

	/** Its descriptor is the reason to accept before the pause is over. */
	@Test
	void acceptsAfterAFailureAsSoonAsAConnectionIsClosed() throws IOException {
		own();
		this.acceptor.failed(null, new IllegalStateException("made for the test"));
		try (SocketChannel client = SocketChannel.open(this.channel.getLocalAddress())) {
			assertThat(client.isConnected()).isTrue();
			this.set.applyUpdates();
			assertThat(this.acceptor.isBackingOff()).isTrue();
			this.acceptor.connectionClosed();
			this.set.applyUpdates();
			assertThat(this.acceptor.isBackingOff()).isFalse();
		}
	}

	/** An acceptor whose gate is closed because handshakes begin too fast. */
	private Acceptor limited(LeaderFollowersPool steady, AtomicReference<HandshakeGate> found) throws IOException {
		TcpServer.Builder options = TcpServer.builder(steady)
			.framing(Framing.line())
			.handler(Connection::send)
			.tls(ServerTls.of(Certificates.server()).maxHandshakeRate(10).maxHandshakes(0));
		ConnectionContext context = options.build().life.context();
		Admission admission = new Admission(context, TcpOptions.of(options, Framing.line()));
		HandshakeGate gate = Objects.requireNonNull(admission.gate());
		found.set(gate);
		Acceptor limited = acceptor(admission);
		try (SocketChannel socket = SocketChannel.open()) {
			while (gate.tryPass()) {
				Objects.requireNonNull(context.tls()).open(socket);
			}
		}
		return limited;
	}

	/** The time at which another handshake may begin has passed, but none is tried. */
	@Test
	void waitsForNoHandshakeThatMayBeginWhileItsServerIsPaused() throws IOException {
		TestClock clock = new TestClock();
		try (LeaderFollowersPool steady = steady(clock)) {
			Acceptor limited = limited(steady, new AtomicReference<>());
			this.server.pause();
			clock.advance(Duration.ofSeconds(1));
			limited.workAlone();
			assertThat(limited.deadline(clock.nanoTime())).isEqualTo(EngineEventHandler.NO_DEADLINE);
		}
	}

	/** Clients that wait in the backlog would otherwise be reported again and again. */
	@Test
	void pausesUntilAnotherHandshakeMayBegin() throws IOException {
		TestClock clock = new TestClock();
		try (LeaderFollowersPool steady = steady(clock)) {
			AtomicReference<HandshakeGate> gate = new AtomicReference<>();
			Acceptor limited = limited(steady, gate);
			limited.workAlone();
			assertThat(limited.handle.isPaused()).isTrue();
			this.set.applyUpdates();
			assertThat(limited.handle.isPaused()).isTrue();
			assertThat(limited.handle.timerDeadline).isNotEqualTo(EngineEventHandler.NO_DEADLINE)
				.isEqualTo(gate.get().retryNanos());
		}
	}

	@Test
	void waitsForTheEndOfItsPauseAlthoughItsGateIsOpen() throws IOException {
		TestClock clock = new TestClock();
		try (LeaderFollowersPool steady = steady(clock)) {
			AtomicReference<HandshakeGate> gate = new AtomicReference<>();
			Acceptor limited = limited(steady, gate);
			clock.advance(Duration.ofSeconds(1));
			gate.get().endWaitIfOver();
			assertThat(gate.get().retryNanos()).isEqualTo(EngineEventHandler.NO_DEADLINE);
			assertThat(limited.failed(null, new IllegalStateException("made for the test"))).isFalse();
			this.set.applyUpdates();
			assertThat(limited.handle.timerDeadline).isEqualTo(limited.backoff.retryNanos());
		}
	}

	private static LeaderFollowersPool steady(TestClock clock) {
		return LeaderFollowersPool.builder().name("steady").threads(1, 1).clock(clock).build();
	}

	/** Clients that wait in the backlog would otherwise be reported again and again. */
	@Test
	void pausesWithItsServer() {
		this.server.pause();
		own();
		this.acceptor.workAlone();
		assertThat(this.acceptor.handle.isPaused()).isTrue();
		this.set.applyUpdates();
		assertThat(this.acceptor.handle.isPaused()).isTrue();
	}

	/** Descriptors of closed sockets are freed only by their selector. */
	@Test
	void freesTheDescriptorsThatItsSelectorHolds() throws IOException {
		own();
		this.acceptor.failed(null, new IllegalStateException("made for the test"));
		Selector selector = this.acceptor.handle.key.selector();
		try (SocketChannel closed = SocketChannel.open()) {
			closed.configureBlocking(false);
			closed.register(selector, 0);
		}
		assertThat(selector.keys()).hasSize(2);
		this.acceptor.lookAtOnce();
		assertThat(selector.keys()).hasSize(1);
	}

	@Test
	void isClosedWhenItsDescriptorIsFree() {
		Selector selector = this.acceptor.handle.key.selector();
		own();
		this.acceptor.handle.closeByOwner();
		assertThat(selector.keys()).hasSize(1);
		this.acceptor.gone();
		assertThat(selector.keys()).isEmpty();
		assertThat(this.acceptor.isClosed()).isTrue();
	}

	/** The threads of the pool may be busy in handlers that do not return. */
	@Test
	void isClosedByForceIfNoThreadClosesItInTime() {
		own();
		this.server.life.awaitClosed(this.acceptor, System.nanoTime());
		assertThat(this.channel.isOpen()).isFalse();
	}

	@Test
	void isClosedByForceIfTheThreadThatWaitsForItsEndIsInterrupted() throws InterruptedException {
		own();
		AtomicBoolean interrupted = new AtomicBoolean();
		Thread waiting = new Thread(() -> {
			Thread.currentThread().interrupt();
			this.server.life.awaitClosed(this.acceptor, System.nanoTime() + Duration.ofHours(1).toNanos());
			interrupted.set(Thread.interrupted());
		});
		waiting.setDaemon(true);
		waiting.start();
		waiting.join(Engine.DEADLINE.toMillis());
		assertThat(waiting.isAlive()).isFalse();
		assertThat(interrupted).as("its status is kept").isTrue();
		assertThat(this.channel.isOpen()).isFalse();
	}

	/** Otherwise no client could connect while they wait. */
	@Test
	void acceptsAlthoughAllThreadsOfThePoolWait() throws IOException {
		try (SocketChannel client = SocketChannel.open(this.channel.getLocalAddress())) {
			assertThat(client.isConnected()).isTrue();
			own();
			assertThat(this.acceptor.prepareReplies(null)).isTrue();
			assertThat(this.server.snapshot().acceptedConnections()).isOne();
		}
	}

	@Test
	void isClosedByTheLeaderAsSoonAsThisIsRequested() {
		this.acceptor.requestClose();
		this.set.applyUpdates();
		assertThat(this.channel.isOpen()).isFalse();
	}

	private void connectMoreThanOneRound(List<SocketChannel> clients) throws IOException {
		for (int i = 0; i < MAX_ACCEPTS + 1; i++) {
			clients.add(SocketChannel.open(this.channel.getLocalAddress()));
		}
	}

	/** Open connections have their turn in between. */
	@Test
	void acceptsALimitedNumberOfConnectionsInARow() throws IOException {
		List<SocketChannel> clients = new ArrayList<>();
		try {
			connectMoreThanOneRound(clients);
			own();
			this.acceptor.prepare(null);
			assertThat(this.server.snapshot().acceptedConnections()).isEqualTo(MAX_ACCEPTS);
			this.acceptor.prepare(null);
			assertThat(this.server.snapshot().acceptedConnections()).isEqualTo(MAX_ACCEPTS + 1);
			assertThat(this.acceptor.release(null)).isTrue();
		}
		finally {
			for (SocketChannel client : clients) {
				client.close();
			}
		}
	}

	/** It cannot accept again, so a pause and its line in the log would be wrong. */
	@Test
	void doesNotPauseIfItsSocketIsClosedWhileItAccepts() throws IOException {
		Acceptor guarded = acceptor(new Admission(this.server.life.context(),
				TcpOptions.of(TcpServer.builder(this.pool).connectionGuard((client) -> {
					try {
						this.channel.close();
					}
					catch (IOException ex) {
						throw new UncheckedIOException(ex);
					}
					return null;
				}), Framing.line())));
		try (SocketChannel client = SocketChannel.open(this.channel.getLocalAddress())) {
			assertThat(client.isConnected()).isTrue();
			guarded.prepare(null);
		}
		assertThat(this.server.snapshot().rejectedConnections()).isOne();
		assertThat(guarded.isBackingOff()).isFalse();
	}

	/** The JDK would lose the socket of a client for which the heap has no room. */
	@Test
	void requiresRoomInTheHeapBeforeItAccepts() {
		ThreadMXBean threads = ManagementFactory.getPlatformMXBean(ThreadMXBean.class);
		own();
		this.acceptor.prepare(null);
		long before = threads.getCurrentThreadAllocatedBytes();
		this.acceptor.prepare(null);
		assertThat(threads.getCurrentThreadAllocatedBytes() - before).isGreaterThan(HeapReserve.BYTES);
	}

	/** Otherwise the others would wait for the end of the pause. */
	@Test
	void hasSucceededAlthoughMoreConnectionsWait() throws IOException {
		List<SocketChannel> clients = new ArrayList<>();
		try {
			connectMoreThanOneRound(clients);
			own();
			this.acceptor.backoff.failed(new IllegalStateException("made for the test"));
			this.acceptor.prepare(null);
			assertThat(this.server.snapshot().acceptedConnections()).isEqualTo(MAX_ACCEPTS);
			assertThat(this.acceptor.isBackingOff()).isFalse();
		}
		finally {
			for (SocketChannel client : clients) {
				client.close();
			}
		}
	}

	/** Their clients are connected already, and would be reset. */
	@Test
	void acceptsTheBacklogAlthoughTheCloseIsRequestedWhileItFails() throws IOException {
		AtomicInteger asked = new AtomicInteger();
		AtomicReference<Acceptor> guarded = new AtomicReference<>();
		guarded.set(acceptor(TcpServer.builder(this.pool).connectionGuard((client) -> {
			if (asked.incrementAndGet() == 1) {
				guarded.get().requestClose();
				throw new OutOfMemoryError("made for the test");
			}
			return () -> {
			};
		})));
		try (SocketChannel lost = SocketChannel.open(this.channel.getLocalAddress());
				SocketChannel waiting = SocketChannel.open(this.channel.getLocalAddress())) {
			guarded.get().workAlone();
			this.set.applyUpdates();
			assertThat(this.channel.isOpen()).isFalse();
			assertThat(this.server.snapshot().rejectedConnections()).isEqualTo(1);
			assertThat(this.server.snapshot().acceptedConnections()).isEqualTo(1);
			assertThat(lost.isConnected() && waiting.isConnected()).isTrue();
		}
	}

	/** No event follows that would report the rest. */
	@Test
	void acceptsABacklogThatIsLargerThanOneRoundBeforeItCloses() throws IOException {
		Acceptor last = acceptor(MAX_ACCEPTS + 1,
				new Admission(this.server.life.context(), TcpOptions.of(TcpServer.builder(this.pool), Framing.line())));
		List<SocketChannel> clients = new ArrayList<>();
		try {
			connectMoreThanOneRound(clients);
			last.requestClose();
			last.workAlone();
			assertThat(this.channel.isOpen()).isFalse();
			assertThat(this.server.snapshot().acceptedConnections()).isEqualTo(MAX_ACCEPTS + 1);
		}
		finally {
			for (SocketChannel client : clients) {
				client.close();
			}
		}
	}

	@ParameterizedTest
	@ValueSource(booleans = { false, true })
	void closesItsSocketAtOnceAndSaysSo(boolean isAbandoned) {
		if (isAbandoned) {
			this.acceptor.abandon();
		}
		else {
			this.acceptor.closeByForce();
		}
		assertThat(this.channel.isOpen()).isFalse();
		this.set.applyUpdates();
		this.set.applyUpdates();
		assertThat(this.acceptor.isClosed()).isTrue();
	}

}
