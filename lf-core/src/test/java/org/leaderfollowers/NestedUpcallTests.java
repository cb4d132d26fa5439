package org.leaderfollowers;

import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.slf4j.MDC;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Handlers that run on top of a handler that waits.
 */
class NestedUpcallTests {

	private static final Duration LONG = Engine.DEADLINE;

	/** Requests are {@code KEY:TEXT}, and replies begin with the same key. */
	private static final Correlation BY_KEY = Correlation.byKey((message) -> {
		String text = Engine.text(message);
		return text.contains(":") ? text.substring(0, text.indexOf(':')) : null;
	});

	@RegisterExtension
	final Engine engine = new Engine();

	private final List<TcpClient> clients = new ArrayList<>();

	private final BlockingQueue<String> seen = new LinkedBlockingQueue<>();

	@AfterEach
	void end() {
		this.clients.forEach((client) -> client.close(Duration.ZERO));
		MDC.clear();
	}

	private LeaderFollowersPool pool(NestedDispatch nested, int threads) {
		return this.engine
			.pool(LeaderFollowersPool.builder().threads(1, threads).nestedDispatch(nested).maxNestedDepth(4));
	}

	private TcpClient client(LeaderFollowersPool pool, TcpServer server, Duration timeout, MessageHandler handler) {
		TcpClient client = TcpClient.builder(pool)
			.address(server.address())
			// The messages of one connection are handled one at a time.
			.connections(16)
			.framing(Framing.line())
			.correlation(BY_KEY)
			.requestTimeout(timeout)
			.handler(handler)
			.build();
		this.clients.add(client);
		client.start();
		// All of them are needed: a request behind another one would wait for the reply
		// to that one.
		Engine.eventually().until(() -> client.snapshot().connected() == 16);
		return client;
	}

	/** One of two applications that call each other. */
	private final class Application {

		private final LeaderFollowersPool pool;

		private final TcpServer server;

		private final Duration timeout;

		private TcpClient other;

		Application(NestedDispatch nested, Duration timeout) {
			this.pool = pool(nested, 1);
			this.timeout = timeout;
			this.server = NestedUpcallTests.this.engine.lines(this.pool, this::handle);
		}

		void calls(Application callee) {
			this.other = client(this.pool, callee.server, this.timeout, (connection, message) -> {
			});
		}

		/** {@code KEY:n} is passed on as {@code KEY:n-1}, until n is 0. */
		private void handle(Connection connection, ByteBuffer message) {
			String[] parts = Engine.text(message).split(":");
			int left = Integer.parseInt(parts[1]);
			String reply = "done";
			if (left > 0) {
				try {
					reply = Engine
						.text(this.other.exchange(Engine.bytes("%s.%d:%d".formatted(parts[0], left, left - 1))));
					reply = reply.substring(reply.indexOf(':') + 1) + "," + left;
				}
				catch (ExchangeTimeoutException ex) {
					reply = "timed out at " + left;
				}
			}
			connection.send(Engine.bytes(parts[0] + ":" + reply));
		}

	}

	private Peer cycle(NestedDispatch nested, Duration timeout) {
		Application first = new Application(nested, timeout);
		Application second = new Application(nested, timeout);
		first.calls(second);
		second.calls(first);
		return this.engine.connect(first.server);
	}

	@Test
	void applicationsOfOneThreadThatCallEachOtherFinish() {
		Peer peer = cycle(NestedDispatch.WHEN_STARVED, LONG);
		for (int i = 0; i < 50; i++) {
			assertThat(peer.send("a:4\n").readLine()).isEqualTo("a:done,1,2,3,4");
		}
	}

	@Test
	void withoutNestingTheyTimeOut() {
		Peer peer = cycle(NestedDispatch.NEVER, Duration.ofMillis(200));
		assertThat(peer.send("a:2\n").readLine()).contains("timed out");
	}

	@Test
	void noMoreHandlersAreNestedThanMayBe() {
		assertThat(cycle(NestedDispatch.WHEN_STARVED, LONG).send("a:8\n").readLine())
			.isEqualTo("a:done,1,2,3,4,5,6,7,8");
		Peer peer = cycle(NestedDispatch.WHEN_STARVED, Duration.ofMillis(300));
		// The first thread would have to run its sixth handler.
		assertThat(peer.send("a:10\n").readLine()).contains("timed out");
		// When the waiting handlers have ended, messages are handled as before.
		Engine.eventually().untilAsserted(() -> assertThat(peer.send("a:2\n").readLine()).isEqualTo("a:done,1,2"));
	}

	@Test
	void whatIsBoundToTheThreadIsKeptApart() {
		AtomicBoolean inTransaction = new AtomicBoolean();
		AtomicInteger separated = new AtomicInteger();
		ThreadLocal<String> user = new ThreadLocal<>();
		LeaderFollowersPool pool = this.engine.pool(LeaderFollowersPool.builder()
			.threads(1, 1)
			.nestedDispatch(NestedDispatch.WHEN_STARVED)
			.nestingGuard(new NestingGuard() {

				@Override
				public boolean mayNest() {
					return !inTransaction.get();
				}

				@Override
				public void separate(Runnable handler) {
					String outer = user.get();
					user.remove();
					separated.incrementAndGet();
					handler.run();
					// Has no effect, because the handler has run.
					handler.run();
					user.set(outer);
				}

			}));
		TcpServer server = this.engine.lines(pool, (connection, message) -> {
			String text = Engine.text(message);
			if (text.startsWith("wait")) {
				MDC.put("request", text);
				user.set("jane");
				inTransaction.set(text.endsWith("in transaction"));
				connection.send(Engine.bytes("waiting"));
				String next = Engine.text(connection.receive(LONG));
				inTransaction.set(false);
				connection.send(Engine.bytes(next + " " + user.get() + " " + MDC.get("request")));
				MDC.clear();
			}
			else {
				this.seen.add(text);
				connection.send(Engine.bytes(user.get() + " " + MDC.get("request")));
				MDC.put("request", "other");
			}
		});
		Peer talking = this.engine.connect(server);
		Peer other = this.engine.connect(server);
		// The connection is open: the call of onOpen would be an event on top of the
		// handler, too.
		assertThat(other.send("0\n").readLine()).isEqualTo("null null");
		assertThat(talking.send("wait\n").readLine()).isEqualTo("waiting");
		assertThat(other.send("1\n").readLine()).isEqualTo("null null");
		assertThat(talking.send("go\n").readLine()).isEqualTo("go jane wait");
		assertThat(separated).hasValue(1);
		this.seen.clear();
		assertThat(talking.send("wait in transaction\n").readLine()).isEqualTo("waiting");
		other.send("2\n");
		assertThat(talking.send("go\n").readLine()).isEqualTo("go jane wait in transaction");
		assertThat(other.readLine()).isNotNull();
		assertThat(separated).hasValue(1);
	}

	@ParameterizedTest
	@CsvSource({ "true, false", "true, true", "false, false", "false, true" })
	void aGuardThatFailsKeepsTheEvent(boolean asks, boolean isError) {
		LeaderFollowersPool pool = this.engine.pool(LeaderFollowersPool.builder()
			.threads(1, 1)
			.nestedDispatch(NestedDispatch.WHEN_STARVED)
			.nestingGuard(new NestingGuard() {

				@Override
				public boolean mayNest() {
					if (asks) {
						fail();
					}
					return true;
				}

				@Override
				public void separate(Runnable handler) {
					fail();
				}

				private void fail() {
					if (isError) {
						throw new AssertionError("a broken guard");
					}
					throw new IllegalStateException("a broken guard");
				}

			}));
		TcpServer server = this.engine.lines(pool, (connection, message) -> {
			if (Engine.text(message).equals("wait")) {
				connection.send(Engine.bytes("waiting"));
				connection.receive(LONG);
			}
			connection.send(message);
		});
		Peer talking = this.engine.connect(server);
		Peer other = this.engine.connect(server);
		assertThat(talking.send("wait\n").readLine()).isEqualTo("waiting");
		other.send("kept\n");
		Engine.eventually().until(() -> this.engine.log().stream().anyMatch((line) -> line.contains("a broken guard")));
		assertThat(talking.send("go\n").readLine()).isEqualTo("wait");
		assertThat(other.readLine()).isEqualTo("kept");
	}

	/**
	 * The example of the pattern's paper, with one thread in each tier: the back end asks
	 * the client of the front end, through both connections, while the front end waits
	 * for the reply of the back end.
	 */
	@ParameterizedTest
	@ValueSource(ints = { 1, 4 })
	void aBackEndAsksTheClientOfTheFrontEnd(int threads) {
		TcpServer backEnd = this.engine.start(TcpServer.builder(pool(NestedDispatch.WHEN_STARVED, threads))
			.framing(Framing.line())
			.correlation(BY_KEY)
			.handler((connection, message) -> {
				String[] parts = Engine.text(message).split(":");
				ByteBuffer question = Engine.bytes("c%s:%s:book %s?".formatted(parts[0], parts[1], parts[2]));
				String answer = Engine.text(connection.exchange(question, LONG));
				connection.send(Engine.bytes("%s:%s".formatted(parts[0], answer.substring(answer.indexOf(':') + 1))));
			}));
		LeaderFollowersPool front = pool(NestedDispatch.WHEN_STARVED, threads);
		TcpServer[] frontEnd = new TcpServer[1];
		TcpClient client = client(front, backEnd, LONG, (connection, message) -> {
			String[] parts = Engine.text(message).split(":");
			Connection teller = frontEnd[0].connection(Long.parseLong(parts[1]));
			ByteBuffer answer = teller.exchange(Engine.bytes("?:" + parts[2]), LONG);
			connection.send(Engine.bytes(parts[0] + ":" + Engine.text(answer).substring(2)));
		});
		AtomicInteger numbers = new AtomicInteger();
		frontEnd[0] = this.engine.start(
				TcpServer.builder(front).framing(Framing.line()).correlation(BY_KEY).handler((connection, message) -> {
					String number = String.valueOf(numbers.incrementAndGet());
					String reply = Engine.text(client
						.exchange(Engine.bytes("%s:%d:%s".formatted(number, connection.id(), Engine.text(message)))));
					connection.send(Engine.bytes(reply.substring(reply.indexOf(':') + 1)));
				}));
		Peer teller = this.engine.connect(frontEnd[0]);
		Peer other = this.engine.connect(frontEnd[0]);
		for (int i = 0; i < 50; i++) {
			assertThat(teller.send("5000\n").readLine()).isEqualTo("?:book 5000?");
			assertThat(other.send("7000\n").readLine()).isEqualTo("?:book 7000?");
			other.send("?:no\n");
			if (threads > 1) {
				assertThat(other.readLine()).isEqualTo("no");
			}
			assertThat(teller.send("?:yes\n").readLine()).isEqualTo("yes");
			if (threads == 1) {
				assertThat(other.readLine()).isEqualTo("no");
			}
		}
	}

	@Test
	void anInterruptOfANestedHandlerReachesThoseThatWaitBelowAndNoOther() throws Exception {
		LeaderFollowersPool pool = pool(NestedDispatch.WHEN_STARVED, 1);
		TcpServer server = this.engine.lines(pool, (connection, message) -> {
			String text = Engine.text(message);
			boolean before = Thread.currentThread().isInterrupted();
			if (text.equals("wait")) {
				connection.send(Engine.bytes("waiting"));
				try {
					connection.receive(LONG);
				}
				catch (ExchangeLostException ex) {
					connection.send(Engine.bytes("ended " + before + " " + Thread.currentThread().isInterrupted()));
				}
			}
			else {
				Thread.currentThread().interrupt();
				this.seen.add(text + " " + before);
			}
		});
		Peer outer = this.engine.connect(server);
		Peer inner = this.engine.connect(server);
		Peer interrupts = this.engine.connect(server);
		assertThat(outer.send("wait\n").readLine()).isEqualTo("waiting");
		assertThat(inner.send("wait\n").readLine()).isEqualTo("waiting");
		interrupts.send("first\nsecond\n");
		assertThat(inner.readLine()).isEqualTo("ended false true");
		assertThat(outer.readLine()).isEqualTo("ended false true");
		interrupts.send("third\n");
		Engine.eventually().until(() -> this.seen.size() == 3);
		assertThat(this.seen).containsExactly("first false", "second false", "third false");
	}

	@ParameterizedTest
	@EnumSource
	void aNestedHandlerDoesNotAnswerTheMessageOfTheOneThatWaits(TransportType transport) {
		LeaderFollowersPool pool = pool(NestedDispatch.WHEN_STARVED, 1);
		Queue<OwedReply> owed = new ConcurrentLinkedQueue<>();
		TcpServer server = this.engine.start(TcpServer.builder(pool)
			.framing(Framing.line())
			.correlation(BY_KEY)
			.maxInFlightPerConnection(4)
			.replyOrder(ReplyOrder.ARRIVAL)
			.handler((connection, message) -> {
				if (Engine.text(message).equals("owe")) {
					owed.add(connection.owe());
				}
				else {
					connection.send(connection.exchange(Engine.bytes("a:?"), LONG));
				}
			}));
		Peer peer = this.engine.connect(server).send("owe\nask\n");
		assertThat(peer.readLine()).isEqualTo("a:?");
		MessageHandler nested = (connection, message) -> server.connection(1).send(message);
		if (transport == TransportType.TCP) {
			this.engine.connect(this.engine.lines(pool, nested)).send("news\n");
		}
		else {
			UdpServer datagrams = this.engine.start(UdpServer.builder(pool).handler(nested));
			try (DatagramPeer sender = new DatagramPeer(datagrams)) {
				sender.send("news");
			}
		}
		assertThat(peer.readLine()).isEqualTo("news");
		peer.send("a:yes\n");
		Engine.eventually().until(() -> server.connection(1).pendingBytes() > 0);
		owed.remove().close();
		assertThat(peer.readLine()).isEqualTo("a:yes");
	}

	@Test
	void theSnapshotTellsOfThem() {
		LeaderFollowersPool pool = pool(NestedDispatch.WHEN_STARVED, 1);
		CountDownLatch gate = this.engine.gate();
		TcpServer server = this.engine.lines(pool, (connection, message) -> {
			if (Engine.text(message).equals("wait")) {
				connection.receive(LONG);
				connection.receive(LONG);
			}
			else {
				Engine.pass(gate);
			}
			connection.send(message);
		});
		Peer talking = this.engine.connect(server).send("wait\n");
		Engine.eventually()
			.until(() -> pool.snapshot().threads().stream().anyMatch((thread) -> thread.waitsFor() != null));
		PoolSnapshot.ThreadSnapshot waiting = pool.snapshot().threads().get(0);
		assertThat(waiting.waitsFor()).contains("the next message of", "Connection 1");
		assertThat(waiting.waitingFor()).isPositive();
		Peer other = this.engine.connect(server).send("other\n");
		Engine.eventually().untilAsserted(() -> {
			PoolSnapshot.ThreadSnapshot nested = pool.snapshot().threads().get(0);
			assertThat(nested.handle()).contains("Connection 2");
			assertThat(nested.waitsFor()).isNull();
		});
		gate.countDown();
		assertThat(other.readLine()).isEqualTo("other");
		Engine.eventually().untilAsserted(() -> {
			PoolSnapshot.ThreadSnapshot outer = pool.snapshot().threads().get(0);
			assertThat(outer.handle()).contains("Connection 1");
			assertThat(outer.waitsFor()).isEqualTo(waiting.waitsFor());
		});
		assertThat(talking.send("go\nend\n").readLine()).isEqualTo("wait");
		assertThat(pool.snapshot().nestedUpcalls()).isPositive();
		assertThat(pool.snapshot().threads()).allMatch((thread) -> thread.waitsFor() == null);
	}

}
