package org.leaderfollowers;

import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.lang.ref.WeakReference;
import java.net.ConnectException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.IntStream;

import com.sun.management.UnixOperatingSystemMXBean;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.leaderfollowers.internal.promotion.Clock;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

/**
 * Evacuations: connections drain gradually. In most tests the clock of the pool stands
 * still unless the test moves it, and the pool has one thread, so a reply proves that
 * everything that was requested before has happened.
 */
@Timeout(180)
class EvacuationTests {

	private static final CloseRate ONE = CloseRate.of("1/s");

	@RegisterExtension
	final Engine engine = new Engine();

	private final TestClock clock = new TestClock();

	private final AtomicReference<Suspension> suspension = new AtomicReference<>();

	/** Says "bye" when its connection drains, and obeys some commands. */
	private final class Guest extends Recorder {

		final CountDownLatch gate = EvacuationTests.this.engine.gate();

		@Override
		public void onDrain(Connection connection) throws Exception {
			record(connection, "drain", () -> {
				assertThat(connection.isDraining()).isTrue();
				connection.send(Engine.bytes("bye"));
			});
		}

		@Override
		void message(Connection connection, ByteBuffer message) {
			switch (Engine.text(message)) {
				case "block" -> Engine.pass(this.gate);
				case "later" -> {
					EvacuationTests.this.suspension.set(connection.suspend());
					return;
				}
				default -> {
				}
			}
			connection.send(message);
		}

		long told(int connections) {
			return IntStream.rangeClosed(1, connections).filter((id) -> of(id).contains("drain")).count();
		}

	}

	private final Guest guest = new Guest();

	private TcpServer server(int threads) {
		return this.engine.lines(
				this.engine.pool(LeaderFollowersPool.builder().threads(threads, threads).clock(this.clock)),
				this.guest);
	}

	private List<Peer> connect(TcpServer server, int count) {
		List<Peer> peers = new ArrayList<>();
		for (int i = 1; i <= count; i++) {
			peers.add(this.engine.connect(server));
			this.guest.await(i);
		}
		return peers;
	}

	/** Moves the clock, and makes the evacuation look at it. */
	private void advance(TcpServer server, String time) {
		this.clock.advance(Duration.parse(time));
		ServerSnapshot.Evacuation evacuation = server.snapshot().evacuation();
		if (evacuation != null) {
			server.evacuate(evacuation.rate());
		}
	}

	private static Peer open(TcpServer server, Guest guest, List<Peer> peers) {
		return peers.get((int) server.openConnections().mapToLong(Connection::id).filter((id) -> {
			List<String> calls = guest.of(id);
			return !calls.contains("drain");
		}).findFirst().orElseThrow() - 1);
	}

	/**
	 * Reads to the end, and closes: the server waits for this, since its clock stands.
	 */
	private static void leave(Peer peer, String last) {
		assertThat(peer.readTextToEnd()).endsWith(last);
		peer.close();
	}

	private void assertTold(TcpServer server, List<Peer> peers, int told) {
		Engine.eventually().untilAsserted(() -> assertThat(this.guest.told(peers.size())).isGreaterThanOrEqualTo(told));
		// With the only thread, the reply follows everything that was requested before.
		assertThat(open(server, this.guest, peers).send("still here\n").readLine()).isEqualTo("still here");
		assertThat(this.guest.told(peers.size())).isEqualTo(told);
		ServerSnapshot snapshot = server.snapshot();
		assertThat(snapshot.state()).isEqualTo(ServerSnapshot.State.DRAINING);
		assertThat(snapshot.evacuation()).isNotNull()
			.satisfies((evacuation) -> assertThat(evacuation.left()).isEqualTo(peers.size() - told));
	}

	@Test
	void oneConnectionAfterTheOtherIsToldAndTheOthersAreServed() {
		TcpServer server = server(1);
		List<Peer> peers = connect(server, 4);
		assertThat(server.evacuate(ONE)).isTrue();
		assertTold(server, peers, 1);
		assertThat(server.openConnections().filter(Connection::isDraining)).hasSize(1);
		assertThatExceptionOfType(ConnectException.class)
			.isThrownBy(() -> new Socket(InetAddress.getLoopbackAddress(), server.port()).close());
		advance(server, "PT0.999999999S");
		assertTold(server, peers, 1);
		advance(server, "PT0.000000001S");
		assertTold(server, peers, 2);
		assertThat(server.awaitDrained(Duration.ZERO)).isFalse();
		advance(server, "PT1S");
		assertTold(server, peers, 3);
		advance(server, "PT1S");
		Engine.eventually().until(() -> server.snapshot().evacuation() == null);
		for (int i = 1; i <= 4; i++) {
			leave(peers.get(i - 1), "bye\n");
			assertThat(this.guest.awaitClose(i)).endsWith("drain", "close SHUTDOWN").containsOnlyOnce("drain");
		}
		assertThat(server.awaitDrained(Engine.DEADLINE)).isTrue();
		assertThat(server.close(Duration.ZERO)).isTrue();
		assertThat(server.evacuate(ONE)).as("stopped").isFalse();
	}

	/** As if the process had been stopped by a signal for five minutes. */
	@Test
	void whatWasMissedIsNotMadeUpFor() {
		TcpServer server = server(1);
		List<Peer> peers = connect(server, 6);
		server.evacuate(ONE);
		assertTold(server, peers, 1);
		advance(server, "PT5M");
		assertTold(server, peers, 2);
		advance(server, "PT0.9S");
		assertTold(server, peers, 2);
		advance(server, "PT0.1S");
		assertTold(server, peers, 3);
	}

	@Test
	void groupsAreToldTogether() {
		TcpServer server = server(1);
		List<Peer> peers = connect(server, 8);
		server.evacuate(CloseRate.of("300/s"));
		assertTold(server, peers, 3);
		advance(server, "PT0.01S");
		assertTold(server, peers, 6);
		advance(server, "PT0.01S");
		Engine.eventually().until(() -> this.guest.told(8) == 8);
	}

	@Test
	void theRateCanBeChanged() {
		TcpServer server = server(1);
		List<Peer> peers = connect(server, 5);
		server.evacuate(CloseRate.of("1/h"));
		assertTold(server, peers, 1);
		advance(server, "PT20S");
		assertTold(server, peers, 1);
		assertThat(server.evacuate(CloseRate.of("6/m"))).isTrue();
		assertTold(server, peers, 2);
		advance(server, "PT9S");
		assertThat(server.evacuate(CloseRate.of("1/m"))).isTrue();
		advance(server, "PT50S");
		assertTold(server, peers, 2);
		advance(server, "PT1S");
		assertTold(server, peers, 3);
	}

	@Test
	void aConnectionThatClosesByItselfTakesNoTurn() {
		TcpServer server = server(1);
		List<Peer> peers = connect(server, 5);
		server.evacuate(ONE);
		assertTold(server, peers, 1);
		Peer leaving = open(server, this.guest, peers);
		leaving.close();
		Engine.eventually().until(() -> this.guest.of(peers.indexOf(leaving) + 1).contains("close PEER"));
		advance(server, "PT1S");
		Engine.eventually().until(() -> this.guest.told(5) == 2);
		advance(server, "PT1S");
		Engine.eventually().until(() -> this.guest.told(5) == 3);
		assertThat(server.snapshot().evacuation()).isNotNull();
		advance(server, "PT1S");
		Engine.eventually().until(() -> this.guest.told(5) == 4);
		assertThat(this.guest.of(peers.indexOf(leaving) + 1)).doesNotContain("drain").contains("close PEER");
	}

	@ParameterizedTest
	@ValueSource(ints = { 1, 4 })
	void aDrainTellsTheRestAtOnce(int threads) {
		TcpServer server = server(threads);
		List<Peer> peers = connect(server, 20);
		server.evacuate(ONE);
		Engine.eventually().until(() -> this.guest.told(20) == 1);
		assertThat(server.drain(Duration.ZERO)).isFalse();
		assertThat(server.evacuate(ONE)).as("everything drains").isFalse();
		for (int i = 1; i <= 20; i++) {
			leave(peers.get(i - 1), "bye\n");
			assertThat(this.guest.awaitClose(i)).containsExactly("open", "drain", "close SHUTDOWN");
		}
		assertThat(server.awaitDrained(Engine.DEADLINE)).isTrue();
	}

	@Test
	void aServerThatDoesNotRunIsNotEvacuated() {
		TcpServer server = TcpServer.builder(this.engine.pool(1, 1))
			.framing(Framing.line())
			.handler(this.guest)
			.port(0)
			.build();
		assertThat(server.evacuate(ONE)).isFalse();
		server.start();
		assertThat(server.awaitDrained(Duration.ZERO)).as("runs").isFalse();
		server.drain(Duration.ZERO);
		assertThat(server.evacuate(ONE)).isFalse();
		server.close();
	}

	@ParameterizedTest
	@ValueSource(booleans = { true, false })
	void connectionsThatAnotherPoolServesAreToldToo(boolean beforeOpening) {
		LeaderFollowersPool own = this.engine.pool(2, 4);
		LeaderFollowersPool other = this.engine.pool(1, 2);
		TcpServer server = this.engine.start(TcpServer.builder(own)
			.port(0)
			.framing(Framing.line())
			.handler(this.guest)
			.serviceClass(new ServiceClass() {

				@Override
				public String poolOf(Connection connection) {
					return beforeOpening ? other.name() : null;
				}

				@Override
				public String poolOf(Connection connection, ByteBuffer firstMessage) {
					return other.name();
				}

			}, other));
		List<Peer> peers = connect(server, 5);
		peers.forEach((peer) -> assertThat(peer.send("moved\n").readLine()).isEqualTo("moved"));
		assertThat(server.connections().map(ConnectionSnapshot::pool)).containsOnly(other.name());
		// One more is open but has not sent its first message.
		peers.add(this.engine.connect(server));
		this.guest.await(6);
		assertThat(server.evacuate(CloseRate.of("1000/s"))).isTrue();
		peers.forEach((peer) -> assertThat(peer.readTextToEnd()).isEqualTo("bye\n"));
		assertThat(server.awaitDrained(Duration.ofSeconds(60))).isTrue();
	}

	@Test
	void thePortIsClosedAtOnceAlthoughTheOnlyThreadIsBusy() throws Exception {
		CountDownLatch gate = this.engine.gate();
		CountDownLatch begun = new CountDownLatch(1);
		TcpServer server = this.engine.lines(this.engine.pool(1, 1), (connection, message) -> {
			begun.countDown();
			Engine.pass(gate);
		});
		this.engine.connect(server).send("x\n");
		Engine.pass(begun);
		InetSocketAddress address = server.address();
		assertThat(server.evacuate(ONE)).isTrue();
		try (ServerSocket again = new ServerSocket(address.getPort(), 1, address.getAddress())) {
			assertThat(again.isBound()).isTrue();
		}
	}

	@Test
	void anEmptyServerIsEvacuatedAtOnce() {
		TcpServer server = server(2);
		assertThat(server.evacuate(CloseRate.of("1/h"))).isTrue();
		assertThat(server.awaitDrained(Engine.DEADLINE)).isTrue();
		Engine.eventually().until(() -> server.snapshot().evacuation() == null);
	}

	@Test
	void aRunningHandlerReturnsFirstAndWhatHasArrivedIsAnswered() {
		TcpServer server = server(4);
		Peer peer = connect(server, 1).get(0).send("block\n");
		Engine.eventually().until(() -> this.guest.of(1).contains("block"));
		peer.send("second\nthird\n");
		assertThat(server.evacuate(ONE)).isTrue();
		Engine.eventually().until(() -> server.snapshot().evacuation() == null);
		assertThat(this.guest.of(1)).containsExactly("open", "block");
		this.guest.gate.countDown();
		leave(peer, "block\nbye\nsecond\nthird\n");
		assertThat(server.awaitDrained(Engine.DEADLINE)).isTrue();
		assertThat(this.guest.overlapped).isFalse();
	}

	/** The last suspension ends in another thread, before or after the mark is set. */
	@ParameterizedTest
	@ValueSource(booleans = { true, false })
	void aSuspendedConnectionIsToldAfterItsReply(boolean toldFirst) {
		TcpServer server = server(2);
		Peer peer = connect(server, 1).get(0).send("later\n");
		Engine.eventually().until(() -> this.suspension.get() != null);
		if (toldFirst) {
			server.evacuate(ONE);
			Engine.eventually().until(() -> server.snapshot().evacuation() == null);
			assertThat(this.guest.of(1)).containsExactly("open", "later");
		}
		this.guest.await(1).send(Engine.bytes("reply"));
		this.suspension.get().resume();
		server.evacuate(ONE);
		leave(peer, "reply\nbye\n");
		assertThat(server.awaitDrained(Engine.DEADLINE)).isTrue();
	}

	/**
	 * Nothing but its timer makes the evacuation continue, also after a change of the
	 * rate.
	 */
	@Test
	void groupsFollowEachOtherByThemselves() {
		TcpServer server = this.engine.lines(this.engine.pool(1, 1), this.guest);
		List<Peer> peers = connect(server, 6);
		server.evacuate(CloseRate.of("1/h"));
		Engine.eventually().until(() -> this.guest.told(6) == 1);
		server.evacuate(CloseRate.of("100/s"));
		peers.forEach((peer) -> leave(peer, "bye\n"));
		assertThat(server.awaitDrained(Engine.DEADLINE)).isTrue();
	}

	@Test
	void groupsFollowEachOtherWhileEveryThreadWaitsForAMessage() {
		LeaderFollowersPool pool = this.engine.pool(1, 1);
		TcpServer server = this.engine.lines(pool,
				(connection, message) -> connection.send(connection.receive(Duration.ofHours(1))));
		Peer waiting = this.engine.connect(server).send("wait\n");
		Engine.eventually()
			.until(() -> pool.snapshot().threads().stream().anyMatch((thread) -> thread.waitsFor() != null));
		List<Peer> idle = List.of(this.engine.connect(server), this.engine.connect(server));
		Engine.eventually().until(() -> server.snapshot().openConnections() == 3);
		server.evacuate(CloseRate.of("100/s"));
		Engine.eventually().until(() -> server.snapshot().evacuation() == null);
		assertThat(waiting.send("message\n").readTextToEnd()).isEqualTo("message\n");
		idle.forEach((peer) -> leave(peer, ""));
		assertThat(server.awaitDrained(Engine.DEADLINE)).isTrue();
	}

	@Test
	void aConnectionThatWasToldIsNotLeftAlthoughItsHandlerRuns() {
		TcpServer server = server(4);
		List<Peer> peers = connect(server, 2);
		peers.forEach((peer) -> peer.send("block\n"));
		Engine.eventually().until(() -> this.guest.of(1).contains("block") && this.guest.of(2).contains("block"));
		server.evacuate(ONE);
		Engine.eventually()
			.untilAsserted(() -> assertThat(server.snapshot().evacuation()).isNotNull()
				.extracting(ServerSnapshot.Evacuation::left)
				.isEqualTo(1));
		assertThat(server.snapshot().openConnections()).isEqualTo(2);
	}

	/**
	 * The port is closed by force while the guard decides about a connection, so the
	 * evacuation does not know of it.
	 */
	@ParameterizedTest
	@ValueSource(booleans = { true, false })
	void aConnectionThatIsAdmittedAfterTheEndOfTheEvacuationDrains(boolean drained) {
		CountDownLatch admits = new CountDownLatch(1);
		CountDownLatch gate = this.engine.gate();
		TcpServer server = this.engine.start(TcpServer.builder(this.engine.pool(2, 4))
			.framing(Framing.line())
			.handler(this.guest)
			.connectionGuard((client) -> {
				admits.countDown();
				Engine.pass(gate);
				return () -> {
				};
			}));
		Peer peer = this.engine.connect(server);
		Engine.pass(admits);
		CompletableFuture<Boolean> begun = CompletableFuture.supplyAsync(() -> server.evacuate(ONE),
				(task) -> new Thread(task).start());
		Engine.eventually().until(() -> server.snapshot().state() == ServerSnapshot.State.DRAINING);
		if (drained) {
			// Before the evacuation has begun, because it waits for the port.
			server.drain(Duration.ZERO);
		}
		assertThat(begun.join()).isTrue();
		Engine.eventually().until(() -> server.snapshot().evacuation() == null);
		assertThat(server.evacuate(ONE)).isFalse();
		gate.countDown();
		leave(peer, "bye\n");
		assertThat(server.awaitDrained(Engine.DEADLINE)).isTrue();
	}

	/** Nobody tells it, so it must see for itself that it drains. */
	@Test
	void aConnectionThatComesWhileTheRestIsToldSeesThatAllDrain() {
		LeaderFollowersPool pool = this.engine.pool(1, 1);
		ConnectionContext own = TcpServer.builder(pool).framing(Framing.line()).handler(this.guest).build().life
			.context();
		List<Boolean> allDrain = new ArrayList<>();
		ConnectionRegistry registry = new ConnectionRegistry(() -> {
		}, new ConcurrentHashMap<>() {

			@Override
			public Collection<TcpConnection> values() {
				allDrain.add(own.server().isDraining());
				return super.values();
			}

		});
		own.server().started();
		own.server().evacuate();
		Evacuation evacuation = new Evacuation(
				new ConnectionContext(own.server(), own.handler(), own.framing(), own.limits(), own.timeouts(),
						own.counters(), own.warnings(), registry, own.tls(), own.pool(), own.clock(), own.memory(),
						own.work(), own.window(), own.wire(), own.isClient(), own.classes(), own.preparation()),
				pool.handleSets(), ONE);
		evacuation.begin();
		evacuation.prepare(null);
		assertThat(allDrain).as("for the groups, and for the rest").containsExactly(false, true);
	}

	@Test
	void anEvacuationIsOverWithoutItsPool() {
		LeaderFollowersPool pool = this.engine.pool(1, 1);
		Evacuation evacuation = new Evacuation(
				TcpServer.builder(pool).framing(Framing.line()).handler(this.guest).build().life.context(),
				pool.handleSets(), ONE);
		evacuation.begin();
		assertThat(evacuation.snapshot()).isNotNull();
		evacuation.abandon();
		assertThat(evacuation.snapshot()).isNull();
		assertThat(evacuation.rate(ONE)).isFalse();
	}

	/**
	 * @param attempt which look at the clock fails
	 * @param origin what is subtracted from the time, which may be negative
	 */
	@ParameterizedTest
	@CsvSource({ "1, 0", "2, 0", "1, 9223372036854775807", "2, 9223372036854775807" })
	void anEvacuationThatFailsContinuesLater(int attempt, long origin) {
		AtomicInteger left = new AtomicInteger(attempt);
		Clock failing = new Clock() {

			@Override
			public long nanoTime() {
				if (left.get() > 0
						&& StackWalker.getInstance()
							.walk((frames) -> frames
								.anyMatch((frame) -> frame.getClassName().equals(Evacuation.class.getName())))
						&& left.decrementAndGet() == 0) {
					throw new OutOfMemoryError("made for the test");
				}
				return super.nanoTime() - origin;
			}

		};
		TcpServer server = this.engine
			.lines(this.engine.pool(LeaderFollowersPool.builder().threads(1, 1).clock(failing)), this.guest);
		List<Peer> peers = connect(server, 3);
		server.evacuate(CloseRate.of("100/s"));
		peers.forEach((peer) -> leave(peer, "bye\n"));
		assertThat(server.awaitDrained(Engine.DEADLINE)).isTrue();
		assertThat(left).hasValue(0);
		assertThat(this.engine.log())
			.anyMatch((line) -> line.startsWith("ERROR The evacuation of server 'default' failed; it continues later"));
	}

	/** Its other connections would wait while another thread closes the port. */
	@ParameterizedTest
	@ValueSource(strings = { "evacuates", "drains", "waits" })
	void aHandlerThatEndsAServerDoesNotLeadMeanwhile(String what) {
		TcpServer other = this.engine.lines(this.engine.pool(1, 1), this.guest);
		LeaderFollowersPool pool = this.engine
			.pool(LeaderFollowersPool.builder().threads(2, 2).promotionLease(Duration.ofMinutes(1)));
		TcpServer server = this.engine.lines(pool, (connection, message) -> {
			Participant me = Participant.current();
			boolean before = me.isOnLease();
			if (before) {
				switch (what) {
					case "evacuates" -> other.evacuate(CloseRate.of("1/h"));
					case "drains" -> other.drain(Duration.ZERO);
					default -> other.awaitDrained(Duration.ZERO);
				}
			}
			connection.send(Engine.bytes(before + " " + me.isOnLease()));
		});
		Peer caller = this.engine.connect(server);
		// Until the engine has learned that the handler is short.
		String leads = caller.send("x\n").readLine();
		for (int i = 0; i < 10_000 && leads.equals("false false"); i++) {
			leads = caller.send("x\n").readLine();
		}
		assertThat(leads).isEqualTo("true false");
	}

	@Test
	void theTimerOfAnEvacuationThatADrainHasEndedKeepsNothing() {
		WeakReference<MessageHandler> handler = drainedInAnEvacuation();
		Engine.awaitCollected(handler);
	}

	private WeakReference<MessageHandler> drainedInAnEvacuation() {
		Guest handler = new Guest();
		TcpServer server = this.engine.lines(this.engine.pool(1, 1), handler);
		List<Peer> peers = List.of(this.engine.connect(server), this.engine.connect(server));
		handler.await(2);
		server.evacuate(CloseRate.of("1/h"));
		Engine.eventually().until(() -> handler.told(2) == 1);
		server.drain(Duration.ZERO);
		peers.forEach((peer) -> leave(peer, "bye\n"));
		assertThat(server.close(Engine.DEADLINE)).isTrue();
		return new WeakReference<>(handler);
	}

	/**
	 * Threads evacuate, change the rate, drain and close at the same time, while peers
	 * leave. Each connection is told at most once, and none is forgotten.
	 */
	private void race(int round) throws Exception {
		Guest handler = new Guest();
		TcpServer server = this.engine.lines(this.engine.pool(2, 4), handler);
		List<Peer> peers = new ArrayList<>();
		for (int i = 1; i <= 8; i++) {
			peers.add(this.engine.connect(server));
			handler.await(i);
		}
		List<Runnable> actions = new ArrayList<>(List.of(() -> server.evacuate(CloseRate.of("1000/s")),
				() -> server.evacuate(CloseRate.of("100000/s")), () -> peers.get(3).close()));
		if (round % 3 == 0) {
			actions.add(() -> server.drain(Duration.ZERO));
		}
		if (round % 3 == 1) {
			actions.add(() -> server.close(Engine.DEADLINE));
		}
		CyclicBarrier start = new CyclicBarrier(actions.size());
		List<CompletableFuture<?>> ends = new ArrayList<>();
		for (Runnable action : actions) {
			CompletableFuture<Object> end = new CompletableFuture<>();
			ends.add(end);
			new Thread(() -> {
				try {
					start.await();
					action.run();
					end.complete("");
				}
				catch (Throwable ex) {
					end.completeExceptionally(ex);
				}
			}).start();
		}
		peers.stream().filter((peer) -> peer != peers.get(3)).forEach((peer) -> leave(peer, "bye\n"));
		for (CompletableFuture<?> end : ends) {
			end.get(60, TimeUnit.SECONDS);
		}
		assertThat(server.awaitDrained(Engine.DEADLINE)).isTrue();
		assertThat(server.close(Duration.ZERO)).isTrue();
		for (int i = 1; i <= 8; i++) {
			List<String> calls = handler.awaitClose(i);
			assertThat(calls.stream().filter("drain"::equals).count())
				.isEqualTo(calls.contains("close PEER") ? calls.contains("drain") ? 1 : 0 : 1);
		}
		server.pool().close();
	}

	@Test
	void nobodyIsForgottenInARace() throws Exception {
		for (int round = 0; round < 12; round++) {
			race(round);
		}
	}

	@Tag("stress")
	@Test
	void nobodyIsForgottenInManyRaces() throws Exception {
		for (int round = 0; round < 500; round++) {
			race(round);
		}
	}

	/**
	 * Evacuates up to 10,000 connections, as many as this process has descriptors for.
	 * Counts how many are told in any period of a second, by the clock of the server.
	 */
	@Tag("stress")
	@Test
	@Timeout(600)
	@EnabledOnOs(OS.LINUX)
	void manyConnectionsNeverEndFasterThanTheRate() throws IOException {
		long limit = ((UnixOperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean())
			.getMaxFileDescriptorCount();
		int count = (int) Math.min(10_000, (limit - 1000) / 2);
		TcpServer server = this.engine
			.start(TcpServer.builder(this.engine.pool(2, 4)).framing(Framing.line()).handler((connection, message) -> {
			}));
		List<Socket> sockets = new ArrayList<>();
		try {
			for (int i = 0; i < count; i++) {
				Socket socket = new Socket();
				sockets.add(socket);
				socket.connect(new InetSocketAddress(InetAddress.getLoopbackAddress(), server.port()), 60_000);
			}
			Engine.eventually().until(() -> server.snapshot().openConnections() == count);
			CloseRate rate = CloseRate.of("1000/s");
			long begin = System.nanoTime();
			assertThat(server.evacuate(rate)).isTrue();
			int told = 0;
			while (told < count) {
				ServerSnapshot.Evacuation evacuation = server.snapshot().evacuation();
				told = (evacuation != null) ? count - evacuation.left() : count;
				// The time is taken afterwards, so it is at least as long as what the
				// evacuation had.
				Duration elapsed = Duration.ofNanos(System.nanoTime() - begin);
				assertThat(rate.timeFor(told)).isLessThanOrEqualTo(elapsed);
			}
			for (Socket socket : sockets) {
				assertThat(socket.getInputStream().read()).isNegative();
				socket.close();
			}
			assertThat(server.awaitDrained(Engine.DEADLINE)).isTrue();
			assertThat(server.snapshot().closedConnections()).containsEntry(CloseReason.SHUTDOWN, (long) count);
		}
		finally {
			for (Socket socket : sockets) {
				socket.close();
			}
		}
	}

}
