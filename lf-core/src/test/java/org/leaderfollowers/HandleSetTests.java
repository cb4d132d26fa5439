package org.leaderfollowers;

import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Proxy;
import java.nio.ByteBuffer;
import java.nio.channels.Pipe;
import java.nio.channels.SelectionKey;
import java.nio.channels.spi.SelectorProvider;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicIntegerArray;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.leaderfollowers.internal.logging.FailureLog;
import org.leaderfollowers.internal.promotion.Clock;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Several handle sets: multiple leaders, multiple followers.
 */
@Timeout(120)
class HandleSetTests {

	@RegisterExtension
	final Engine engine = new Engine();

	private LeaderFollowersPool pool(int sets, int min, int max) {
		return this.engine.pool(LeaderFollowersPool.builder().threads(min, max).handleSets(sets));
	}

	@ParameterizedTest
	@ValueSource(ints = { 2, 3, 4 })
	void connectionsAreSpreadAndEverySetHasItsLeader(int sets) {
		LeaderFollowersPool pool = pool(sets, sets, 2 * sets);
		TcpServer server = this.engine.lines(pool, (connection, message) -> connection.send(message));
		List<Peer> peers = new ArrayList<>();
		for (int i = 0; i < 10 * sets; i++) {
			peers.add(this.engine.connect(server));
			assertThat(peers.get(i).send("x\n").readLine()).isEqualTo("x");
		}
		PoolSnapshot snapshot = Engine.awaitIdle(pool);
		assertThat(snapshot.handleSets()).hasSize(sets);
		assertThat(snapshot.handleSets()).allMatch((set) -> set.handles() >= 9 && set.handles() <= 12);
		assertThat(snapshot.handleSets()).extracting(PoolSnapshot.HandleSetSnapshot::name).doesNotHaveDuplicates();
		for (int round = 0; round < 50; round++) {
			peers.forEach((peer) -> peer.send("y\n"));
			peers.forEach((peer) -> assertThat(peer.readLine()).isEqualTo("y"));
		}
		assertThat(pool.snapshot().handleSets()).allMatch((set) -> set.events().get(EventType.READ) >= 10);
	}

	@ParameterizedTest
	@ValueSource(ints = { 2, 4 })
	void noSetIsLeftAloneWhileHandlersOfOthersBlock(int sets) {
		CountDownLatch gate = this.engine.gate();
		AtomicInteger inside = new AtomicInteger();
		int max = sets + 3;
		LeaderFollowersPool pool = pool(sets, sets, max);
		TcpServer server = this.engine.lines(pool, (connection, message) -> {
			if (Engine.text(message).equals("block")) {
				inside.incrementAndGet();
				Engine.pass(gate);
			}
			connection.send(message);
		});
		// Blocks all threads except one for each set.
		List<Peer> blocked = new ArrayList<>();
		for (int i = 0; i < max - sets; i++) {
			blocked.add(this.engine.connect(server).send("block\n"));
		}
		Engine.eventually().until(() -> inside.get() == max - sets);
		for (int i = 0; i < 5 * sets; i++) {
			assertThat(this.engine.connect(server).send("x\n").readLine()).isEqualTo("x");
		}
		Engine.eventually()
			.untilAsserted(() -> assertThat(pool.snapshot().handleSets()).allMatch((set) -> set.leader() != null));
		// More handlers block than there are threads: a thread that returns serves any
		// set that has work.
		for (int i = 0; i < sets; i++) {
			blocked.add(this.engine.connect(server).send("block\n"));
		}
		List<Peer> waiting = new ArrayList<>();
		for (int i = 0; i < 5 * sets; i++) {
			waiting.add(this.engine.connect(server).send("waiting\n"));
		}
		gate.countDown();
		waiting.forEach((peer) -> assertThat(peer.readLine()).isEqualTo("waiting"));
		blocked.forEach((peer) -> assertThat(peer.readLine()).isEqualTo("block"));
		Engine.awaitIdle(pool);
	}

	@Test
	void fewerThreadsThanBusySetsStillServeThemAll() {
		// Two sets, two threads: while one thread blocks, the other one serves its own
		// set, and serves the set of the blocked thread as soon as it is free.
		LeaderFollowersPool pool = pool(2, 2, 2);
		Map<Long, String> order = new ConcurrentHashMap<>();
		TcpServer server = this.engine.lines(pool, (connection, message) -> {
			order.merge(connection.id(), Engine.text(message), String::concat);
			connection.send(message);
		});
		List<Peer> peers = new ArrayList<>();
		for (int i = 0; i < 20; i++) {
			peers.add(this.engine.connect(server));
		}
		for (int round = 0; round < 200; round++) {
			peers.forEach((peer) -> peer.send("a\nb\n"));
		}
		for (Peer peer : peers) {
			for (int round = 0; round < 200; round++) {
				assertThat(peer.readLine()).isEqualTo("a");
				assertThat(peer.readLine()).isEqualTo("b");
			}
		}
		assertThat(order.values()).hasSize(20).allMatch((all) -> all.equals("ab".repeat(200)));
		Engine.awaitIdle(pool);
	}

	@Test
	void aServersConnectionsOfAllSetsAreDrained() {
		LeaderFollowersPool pool = pool(3, 3, 3);
		Recorder recorder = new Recorder() {
			@Override
			void message(Connection connection, ByteBuffer message) {
				connection.send(message);
			}
		};
		TcpServer server = this.engine.lines(pool, recorder);
		List<Peer> peers = new ArrayList<>();
		for (int i = 0; i < 30; i++) {
			peers.add(this.engine.connect(server).send("x\n"));
			assertThat(peers.get(i).readLine()).isEqualTo("x");
		}
		Thread readers = new Thread(() -> peers.forEach(Peer::readToEnd));
		readers.start();
		assertThat(server.close(Engine.DEADLINE)).isTrue();
		assertThat(server.snapshot().closedConnections()).containsEntry(CloseReason.SHUTDOWN, 30L);
		Engine.eventually().until(() -> !readers.isAlive());
		assertThat(pool.snapshot()
			.handleSets()
			.stream()
			.collect(Collectors.summingInt(PoolSnapshot.HandleSetSnapshot::active))).isZero();
	}

	@Test
	void aSaturatedPoolServesItsSetsInTurn() {
		LeaderFollowersPool pool = pool(2, 2, 2);
		TcpServer server = this.engine.lines(pool, (connection, message) -> {
			Engine.elapse(Duration.ofMillis(1));
			connection.send(message);
		});
		AtomicIntegerArray answers = new AtomicIntegerArray(16);
		AtomicBoolean stop = new AtomicBoolean();
		List<Thread> clients = new ArrayList<>();
		for (int i = 0; i < answers.length(); i++) {
			int number = i;
			Peer peer = this.engine.connect(server);
			clients.add(new Thread(() -> {
				while (!stop.get() && peer.send("x\n").readLine() != null) {
					answers.incrementAndGet(number);
				}
			}));
		}
		clients.forEach(Thread::start);
		// A client whose thread has not begun yet asks for nothing.
		Engine.eventually().until(() -> numbers(answers).min().orElse(0) > 0);
		int[] before = numbers(answers).toArray();
		Engine.eventually().until(() -> since(answers, before).max().orElse(0) >= 200);
		stop.set(true);
		// Without a fair choice, every set before the last one got less than a twentieth
		// of it.
		assertThat(since(answers, before).min().orElse(0)).isGreaterThan(50);
		Engine.eventually().until(() -> clients.stream().noneMatch(Thread::isAlive));
		Engine.awaitIdle(pool);
	}

	@Test
	void aHandleReturnsToASetBeforeItsFormerKeyIsGone() throws Exception {
		HandleSets sets = new HandleSets("test", 2, 2, Clock.SYSTEM, SelectorProvider.provider(), new FailureLog());
		EngineEventHandler untouched = (EngineEventHandler) Proxy.newProxyInstance(getClass().getClassLoader(),
				new Class<?>[] { EngineEventHandler.class }, (proxy, method, arguments) -> method.isDefault()
						? InvocationHandler.invokeDefault(proxy, method, arguments) : null);
		Pipe pipe = Pipe.open();
		try (Pipe.SourceChannel source = pipe.source(); Pipe.SinkChannel sink = pipe.sink()) {
			source.configureBlocking(false);
			SelectableHandle handle = sets.newHandle(source, untouched, SelectionKey.OP_READ);
			HandleSet first = handle.handleSet();
			HandleSet other = sets.get(1 - first.leadership.index());
			handle.release();
			handle.request(SelectableHandle.REGISTER | SelectableHandle.REARM);
			first.applyUpdates();
			SelectionKey former = handle.key;
			for (HandleSet next : List.of(other, first)) {
				assertThat(handle.disarm()).isTrue();
				handle.moveTo(next);
				next.applyUpdates();
				assertThat(handle.handleSet()).isSameAs(next);
				assertThat(handle.isArmed()).isTrue();
				assertThat(handle.key.isValid()).isTrue();
				assertThat(handle.key.interestOps()).isEqualTo(SelectionKey.OP_READ);
			}
			assertThat(handle.key).isNotSameAs(former);
			assertThat(former.isValid()).isFalse();
		}
		finally {
			sets.forEach(HandleSet::close);
		}
	}

	private static IntStream numbers(AtomicIntegerArray array) {
		return IntStream.range(0, array.length()).map(array::get);
	}

	private static IntStream since(AtomicIntegerArray array, int[] before) {
		return IntStream.range(0, array.length()).map((i) -> array.get(i) - before[i]);
	}

	/**
	 * It is in order however often another thread ends a wait, and returning for nothing
	 * in between costs little.
	 * @param period of so many waits, another thread ends one
	 */
	@ParameterizedTest
	@ValueSource(ints = { 1, 100 })
	void selectorThatIsWokenAgainAndAgainIsNotReplaced(int period) {
		TestClock clock = new TestClock();
		AtomicInteger left = new AtomicInteger(3000);
		List<HandleSet> sets = new ArrayList<>();
		LeaderFollowersPool pool = this.engine.pool(LeaderFollowersPool.builder()
			.threads(1, 1)
			.handleSets(1)
			.clock(clock)
			.selectorProvider(new FaultySelectors(() -> {
				int wait = left.getAndDecrement();
				if (wait > 0) {
					clock.advance(Duration.ofMillis(1));
					if (wait % period == 0) {
						sets.get(0).wakeLeader();
					}
					else {
						sets.get(0).wakeSelector();
					}
				}
			}, () -> {
			})));
		pool.handleSets().forEach(sets::add);
		pool.start();
		Engine.eventually().until(() -> left.get() <= 0);
		Engine.awaitIdle(pool);
		assertThat(this.engine.log()).noneMatch((line) -> line.contains("is replaced"));
	}

	/** Timers may expire again and again while nothing else happens. */
	@Test
	void selectorThatWaitsUntilTimersExpireIsNotReplaced() {
		AtomicInteger silences = new AtomicInteger();
		TcpServer server = this.engine.lines(this.engine.pool(1, 1), new MessageHandler() {

			@Override
			public void onOpen(Connection connection) {
				connection.idleAfter(EventType.READ, Duration.ofMillis(1));
			}

			@Override
			public void onIdle(Connection connection, EventType type) {
				silences.incrementAndGet();
			}

			@Override
			public void onMessage(Connection connection, ByteBuffer message) {
			}

		});
		this.engine.connect(server);
		Engine.eventually().until(() -> silences.get() > 1000);
		assertThat(this.engine.log()).noneMatch((line) -> line.contains("is replaced"));
	}

	@Test
	void leaderWhoseKeysAreInDoubtIsWoken() {
		TestClock clock = new TestClock();
		LeaderFollowersPool pool = this.engine
			.pool(LeaderFollowersPool.builder().threads(1, 1).handleSets(1).clock(clock));
		pool.start();
		Engine.awaitIdle(pool);
		HandleSet set = pool.handleSets().iterator().next();
		long returned = set.nowNanos();
		clock.advance(Duration.ofSeconds(1));
		set.doubtKeys();
		Engine.eventually().until(() -> set.nowNanos() != returned);
	}

	@Test
	@EnabledOnOs(OS.LINUX)
	void setThatIsClosedLeavesNoDescriptorOpen() {
		long descriptors = Engine.descriptors();
		for (int i = 0; i < 100; i++) {
			new HandleSets("test", 1, 1, Clock.SYSTEM, SelectorProvider.provider(), new FailureLog())
				.forEach(HandleSet::close);
		}
		assertThat(Engine.descriptors()).isLessThan(descriptors + 50);
	}

}
