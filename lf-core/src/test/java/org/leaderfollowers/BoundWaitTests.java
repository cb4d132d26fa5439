package org.leaderfollowers;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * A thread that waits in a handler, and leads meanwhile, keeps no event from a thread
 * that has nothing to do, even if that thread leads something else.
 */
class BoundWaitTests {

	private static final Duration LONG = Duration.ofHours(1);

	@RegisterExtension
	final Engine engine = new Engine();

	private final CountDownLatch blocked = new CountDownLatch(1);

	private final CountDownLatch blocks = new CountDownLatch(1);

	/** What happens when a leader begins to wait. */
	private final Queue<Runnable> whileWaiting = new ConcurrentLinkedQueue<>();

	private final AtomicInteger waited = new AtomicInteger();

	private final BlockingQueue<Integer> waits = new LinkedBlockingQueue<>();

	private final List<Connection> opened = new CopyOnWriteArrayList<>();

	/** The watchdog would wake a leader that waits for long. */
	private LeaderFollowersPool pool(LeaderFollowersPool.Builder builder) {
		return this.engine.pool(builder.stuckAfter(Duration.ZERO));
	}

	private TcpServer server(LeaderFollowersPool pool) {
		TcpServer server = this.engine.lines(pool, (connection, message) -> {
			switch (Engine.text(message)) {
				case "wait" -> connection.send(connection.receive(LONG));
				case "block" -> {
					this.blocked.await();
					connection.send(message);
				}
				default -> connection.send(message);
			}
		});
		Engine.awaitIdle(pool);
		return server;
	}

	private Peer waiting(TcpServer server, int waiting) {
		Peer peer = this.engine.connect(server).send("wait\n");
		Engine.eventually()
			.until(() -> server.pool()
				.snapshot()
				.threads()
				.stream()
				.filter((thread) -> thread.waitsFor() != null)
				.count() == waiting);
		return peer;
	}

	private void areServed(TcpServer server) {
		for (int i = 0; i < 8; i++) {
			Peer peer = this.engine.connect(server);
			for (int j = 0; j < 20; j++) {
				assertThat(peer.send("hello\n").readLine()).isEqualTo("hello");
			}
		}
	}

	@ParameterizedTest
	@EnumSource
	void leavesEventsToALeaderOfAnEventSource(PromotionPolicy policy) throws Exception {
		LeaderFollowersPool pool = pool(LeaderFollowersPool.builder()
			.threads(2, 2)
			.handleSets(1)
			.promotionPolicy(policy)
			.eventSources("events"));
		LinkedBlockingQueue<String> events = new LinkedBlockingQueue<>();
		LinkedBlockingQueue<String> handled = new LinkedBlockingQueue<>();
		pool.register("events", EventSource.of(events), handled::add);
		TcpServer server = server(pool);
		Peer waiting = waiting(server, 1);
		for (int i = 0; i < 20; i++) {
			areServed(server);
			events.add("event");
			assertThat(handled.take()).isEqualTo("event");
		}
		assertThat(waiting.send("go\n").readLine()).isEqualTo("go");
	}

	@ParameterizedTest
	@ValueSource(ints = { 1, 2, 3 })
	void leaveEventsToALeaderOfAnotherHandleSet(int waiting) {
		LeaderFollowersPool pool = pool(
				LeaderFollowersPool.builder().threads(waiting + 1, waiting + 1).handleSets(waiting + 1));
		TcpServer server = server(pool);
		List<Peer> peers = new ArrayList<>();
		for (int i = 1; i <= waiting; i++) {
			peers.add(waiting(server, i));
		}
		areServed(server);
		for (Peer peer : peers) {
			assertThat(peer.send("go\n").readLine()).isEqualTo("go");
		}
	}

	@Test
	void leavesEventsToALeaderThatWasBusy() {
		LeaderFollowersPool pool = pool(LeaderFollowersPool.builder().threads(2, 2).handleSets(2));
		TcpServer server = server(pool);
		Peer waiting = waiting(server, 1);
		Peer blocked = this.engine.connect(server).send("block\n");
		Engine.eventually()
			.until(() -> pool.snapshot().threads().stream().noneMatch((thread) -> thread.handle() == null));
		List<Peer> peers = new ArrayList<>();
		for (int i = 0; i < 8; i++) {
			peers.add(this.engine.connect(server).send("hello\n"));
		}
		this.blocked.countDown();
		assertThat(blocked.readLine()).isEqualTo("block");
		for (Peer peer : peers) {
			assertThat(peer.readLine()).isEqualTo("hello");
		}
		assertThat(waiting.send("go\n").readLine()).isEqualTo("go");
	}

	/** Further input would otherwise be taken for an answer to what was lost. */
	@Test
	void handlesAFailureOfAnotherConnectionThatIsStillToBeHandled() {
		LeaderFollowersPool pool = pool(LeaderFollowersPool.builder().threads(1, 1));
		TcpServer server = server(pool);
		Peer failing = this.engine.connect(server).send("hello\n");
		assertThat(failing.readLine()).isEqualTo("hello");
		Connection failed = server.openConnections().findFirst().orElseThrow();
		Peer waiting = waiting(server, 1);
		((FramedConnection) failed).handle.failLater();
		Engine.eventually()
			.until(() -> this.engine.log()
				.stream()
				.anyMatch((line) -> line.contains("An earlier failure could not be handled")));
		assertThat(waiting.send("go\n").readLine()).isEqualTo("go");
		assertThat(failing.readLine()).isNull();
	}

	@Test
	void isAnsweredAlthoughItHoldsEventsThatNoThreadCanHandle() {
		LeaderFollowersPool pool = pool(LeaderFollowersPool.builder().threads(2, 2).handleSets(2));
		TcpServer server = server(pool);
		List<Peer> idle = new ArrayList<>();
		for (int i = 0; i < 4; i++) {
			idle.add(this.engine.connect(server).send("hello\n"));
			assertThat(idle.get(i).readLine()).isEqualTo("hello");
		}
		Peer waiting = waiting(server, 1);
		this.engine.connect(server).send("block\n");
		Engine.eventually()
			.until(() -> pool.snapshot().threads().stream().noneMatch((thread) -> thread.handle() == null));
		for (Peer peer : idle) {
			peer.send("hello\n");
		}
		this.engine.connect(server);
		assertThat(waiting.send("go\n").readLine()).isEqualTo("go");
		for (Peer peer : idle) {
			assertThat(peer.readLine()).isEqualTo("hello");
		}
		this.blocked.countDown();
	}

	@Test
	void leavesEventsToAThreadThatMayBeStartedAfterwards() {
		LeaderFollowersPool pool = pool(LeaderFollowersPool.builder().threads(1, 1));
		TcpServer server = server(pool);
		Peer idle = this.engine.connect(server).send("hello\n");
		assertThat(idle.readLine()).isEqualTo("hello");
		Peer waiting = waiting(server, 1);
		idle.send("hello\n");
		Engine.eventually().until(() -> pool.snapshot().handleSets().get(0).ready() > 0);
		pool.resize(1, 2);
		assertThat(idle.readLine()).isEqualTo("hello");
		assertThat(waiting.send("go\n").readLine()).isEqualTo("go");
	}

	@Test
	void leavesEventsToAThreadThatHasNothingToLead() {
		LeaderFollowersPool pool = pool(LeaderFollowersPool.builder().threads(2, 2).handleSets(1));
		TcpServer server = server(pool);
		Peer blocked = this.engine.connect(server).send("block\n");
		Engine.eventually()
			.until(() -> pool.snapshot().threads().stream().anyMatch((thread) -> thread.handle() != null));
		Peer waiting = waiting(server, 1);
		// Until then, the other thread would lead if it returned.
		Engine.eventually()
			.until(() -> pool.snapshot()
				.threads()
				.stream()
				.anyMatch((thread) -> thread.role() == ThreadRole.LEADER && thread.waitsFor() != null));
		this.blocked.countDown();
		assertThat(blocked.readLine()).isEqualTo("block");
		Engine.eventually()
			.until(() -> pool.snapshot().threads().stream().anyMatch((thread) -> thread.role() == ThreadRole.FOLLOWER));
		areServed(server);
		assertThat(waiting.send("go\n").readLine()).isEqualTo("go");
	}

	/**
	 * A selector that returns for no reason again and again is taken for a broken one.
	 */
	@Test
	void wakesNoSelectorWhenItIsOver() {
		LeaderFollowersPool pool = pool(LeaderFollowersPool.builder().threads(1, 1));
		TcpServer server = server(pool);
		Peer waiting = waiting(server, 1);
		Participant thread = pool.living().get(0);
		Engine.awaitSelecting(thread.thread());
		Runnable wakes = thread.boundInput.wakeBy(null);
		assertThat(wakes).as("while it waits at a selector").isNotNull();
		thread.boundInput.wakeBy(wakes);
		assertThat(waiting.send("go\n").readLine()).isEqualTo("go");
		Engine.awaitIdle(pool);
		assertThat(thread.boundInput.wakeBy(null)).isNull();
	}

	/** The thread that completes it knows no selector. */
	@Test
	void isWokenAtItsSelectorWhenItsFutureIsCompleted() {
		LeaderFollowersPool pool = pool(LeaderFollowersPool.builder().threads(1, 1));
		CompletableFuture<String> future = new CompletableFuture<>();
		TcpServer server = this.engine.lines(pool, (connection, message) -> connection
			.send(Engine.bytes(LeaderFollowersPool.await(future, LONG, "a future"))));
		Engine.awaitIdle(pool);
		Peer peer = this.engine.connect(server).send("hello\n");
		Engine.eventually()
			.until(() -> pool.snapshot().threads().stream().anyMatch((thread) -> thread.waitsFor() != null));
		Engine.awaitSelecting(pool.living().get(0).thread());
		future.complete("now");
		assertThat(peer.readLine()).isEqualTo("now");
	}

	@Test
	void leadAnEventSourceAfterTheyHaveWaited() throws Exception {
		LeaderFollowersPool pool = pool(
				LeaderFollowersPool.builder().threads(2, 2).handleSets(1).eventSources("events"));
		LinkedBlockingQueue<String> events = new LinkedBlockingQueue<>();
		LinkedBlockingQueue<String> handled = new LinkedBlockingQueue<>();
		pool.register("events", EventSource.of(events), handled::add);
		TcpServer server = server(pool);
		List<Peer> peers = List.of(waiting(server, 1), waiting(server, 2));
		for (Peer peer : peers) {
			assertThat(peer.send("go\n").readLine()).isEqualTo("go");
		}
		events.add("event");
		assertThat(handled.poll(Engine.DEADLINE.toSeconds(), TimeUnit.SECONDS)).isEqualTo("event");
	}

	@Test
	void leadsTheHandleSetOfABusyThreadInTurn() {
		LeaderFollowersPool pool = pool(LeaderFollowersPool.builder().threads(2, 2).handleSets(2));
		TcpServer server = server(pool);
		this.engine.connect(server).send("block\n");
		Engine.eventually()
			.until(() -> pool.snapshot().threads().stream().anyMatch((thread) -> thread.handle() != null));
		for (int i = 0; i < 4; i++) {
			assertThat(waiting(server, 1).send("go\n").readLine()).isEqualTo("go");
		}
		this.blocked.countDown();
	}

	/** Otherwise the reply would wait as long as the leader does, at another selector. */
	@Test
	void passesOnAReplyBeforeItLeadsTheNextHandleSet() throws Exception {
		TcpServer server = consulting();
		Peer consulted = this.engine.connect(server).send("hello\n");
		Connection connection = opened(null);
		Peer asking = this.engine.connect(server);
		block(server);
		for (int i = 0; i < 20; i++) {
			asking.send("ask\n");
			assertThat(consulted.readLine()).isEqualTo("!question");
			for (int j = i % 3; j >= 0; j--) {
				this.whileWaiting.add(() -> {
				});
			}
			this.whileWaiting.add(() -> reply(consulted, connection));
			assertThat(waits()).isLessThan(2);
		}
		this.blocked.countDown();
	}

	@Test
	void leadsTheNextHandleSetAlthoughThisOneHasEventsAllTheTime() throws Exception {
		TcpServer server = consulting();
		Peer consulted = this.engine.connect(server).send("hello\n");
		Connection connection = opened(null);
		Peer busy = this.engine.connect(server).send("hello\n");
		Connection other = opened(connection);
		Peer asking = this.engine.connect(server);
		block(server);
		asking.send("ask\n");
		assertThat(consulted.readLine()).isEqualTo("!question");
		this.whileWaiting.add(() -> {
			send(busy, "put aside\n", other);
			reply(consulted, connection);
		});
		for (int i = 0; i < 50; i++) {
			this.whileWaiting.add(() -> send(busy, "put aside\n", other));
		}
		assertThat(waits()).isLessThan(6);
		endActions();
		this.blocked.countDown();
	}

	/**
	 * A pool of two threads with two handle sets, whose handlers ask the first client.
	 */
	private TcpServer consulting() {
		FaultySelectors selectors = new FaultySelectors(() -> {
		}, () -> {
		}).whileWaiting(() -> {
			this.waited.incrementAndGet();
			act();
		});
		LeaderFollowersPool pool = pool(
				LeaderFollowersPool.builder().threads(2, 2).handleSets(2).selectorProvider(selectors));
		return this.engine.start(TcpServer.builder(pool)
			.framing(Framing.line())
			.correlation(Correlation.byKey((message) -> Engine.text(message).startsWith("!") ? "!" : null))
			.handler((connection, message) -> {
				switch (Engine.text(message)) {
					case "block" -> {
						this.blocks.countDown();
						this.blocked.await();
					}
					case "ask" -> {
						this.opened.get(0).exchange(Engine.bytes("!question"), LONG);
						this.waits.add(this.waited.get());
					}
					case "hello" -> this.opened.add(connection);
					default -> {
					}
				}
			}));
	}

	/** Returns the connection that has said hello last. */
	private Connection opened(Connection before) {
		Engine.eventually().until(() -> !this.opened.isEmpty() && this.opened.get(this.opened.size() - 1) != before);
		return this.opened.get(this.opened.size() - 1);
	}

	private void block(TcpServer server) throws InterruptedException {
		this.engine.connect(server).send("block\n");
		assertThat(this.blocks.await(Engine.DEADLINE.toSeconds(), TimeUnit.SECONDS)).isTrue();
	}

	private synchronized void act() {
		Runnable action = this.whileWaiting.poll();
		if (action != null) {
			action.run();
		}
	}

	/** None is running afterwards, so the connections may be closed. */
	private synchronized void endActions() {
		this.whileWaiting.clear();
	}

	private void reply(Peer peer, Connection connection) {
		send(peer, "!answer\n", connection);
		this.waited.set(0);
	}

	/** Returns how often the leader has begun to wait since the reply came. */
	private int waits() throws InterruptedException {
		return this.waits.poll(Engine.DEADLINE.toSeconds(), TimeUnit.SECONDS);
	}

	/** Sends something that the selector of the connection then reports. */
	private static void send(Peer peer, String text, Connection connection) {
		peer.send(text);
		try (Selector selector = Selector.open()) {
			((FramedConnection) connection).handle.channel().register(selector, SelectionKey.OP_READ);
			selector.select(Engine.DEADLINE.toMillis());
		}
		catch (IOException ex) {
			throw new UncheckedIOException(ex);
		}
	}

}
