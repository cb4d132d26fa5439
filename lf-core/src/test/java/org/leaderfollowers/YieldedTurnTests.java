package org.leaderfollowers;

import java.nio.ByteBuffer;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.UnaryOperator;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for handlers that send very much, and let others have their turn meanwhile.
 */
@Timeout(120)
class YieldedTurnTests {

	@RegisterExtension
	private final Engine engine = new Engine();

	private final AtomicInteger calls = new AtomicInteger();

	/** The number of lines that are still to be sent to each connection. */
	private final Map<Connection, Integer> left = new ConcurrentHashMap<>();

	private volatile boolean wasWritable = true;

	private final class Lines implements MessageHandler {

		@Override
		public void onMessage(Connection connection, ByteBuffer message) {
			String text = Engine.text(message);
			if (text.startsWith("lines ")) {
				YieldedTurnTests.this.left.put(connection, Integer.parseInt(text.substring(6)));
				onWritable(connection);
			}
			else if (text.equals("stop")) {
				YieldedTurnTests.this.left.remove(connection);
				connection.send(message);
			}
			else {
				connection.send(message);
			}
		}

		/** Sends a line in each turn. */
		@Override
		public void onWritable(Connection connection) {
			YieldedTurnTests.this.calls.incrementAndGet();
			Integer now = YieldedTurnTests.this.left.computeIfPresent(connection, (key, lines) -> lines - 1);
			if (now != null && now >= 0) {
				connection.send(Engine.bytes("line"));
				assertThat(connection.requestWritable()).isTrue();
				YieldedTurnTests.this.wasWritable &= connection.isWritable();
			}
		}

	}

	private TcpServer start(LeaderFollowersPool pool, UnaryOperator<TcpServer.Builder> options) {
		return this.engine.start(options.apply(TcpServer.builder(pool).framing(Framing.line()).handler(new Lines())));
	}

	private static void assertLines(Peer client, int count) {
		for (int i = 0; i < count; i++) {
			assertThat(client.readLine()).isEqualTo("line");
		}
	}

	private static void assertStops(Peer client) {
		String line = client.send("stop\n").readLine();
		while ("line".equals(line)) {
			line = client.readLine();
		}
		assertThat(line).isEqualTo("stop");
	}

	@Test
	void otherConnectionsAreServedMeanwhile() {
		TcpServer server = start(this.engine.pool(1, 1), (builder) -> builder);
		Peer client = this.engine.connect(server).send("lines 1000000000\n");
		assertLines(client, 1);
		for (int i = 0; i < 20; i++) {
			assertThat(this.engine.connect(server).send("hello\n").readLine()).isEqualTo("hello");
		}
		assertThat(this.wasWritable).as("others may send to it meanwhile").isTrue();
		client.close();
	}

	@Test
	void theConnectionItselfIsReadMeanwhile() {
		TcpServer server = start(this.engine.pool(1, 1), (builder) -> builder);
		Peer client = this.engine.connect(server).send("lines 1000000000\n");
		assertLines(client, 10);
		assertStops(client);
		client.close();
	}

	@Test
	void messagesOfTheConnectionAreHandledMeanwhileIfTheyAreParallel() {
		TcpServer server = start(this.engine.pool(2, 2), (builder) -> builder.maxInFlightPerConnection(4));
		Peer client = this.engine.connect(server).send("lines 1000000000\n");
		assertLines(client, 10);
		assertStops(client);
		assertThat(this.engine.connect(server).send("hello\n").readLine()).isEqualTo("hello");
	}

	@Test
	void aClientThatHasClosedItsOutputGetsAllLines() {
		TcpServer server = start(this.engine.pool(1, 1), (builder) -> builder);
		Peer client = this.engine.connect(server).send("lines 100\n").shutdownOutput();
		assertLines(client, 100);
		assertThat(client.readLine()).isNull();
	}

	@Test
	void aDrainSendsAllLines() throws Exception {
		TcpServer server = start(this.engine.pool(2, 2), (builder) -> builder);
		Peer client = this.engine.connect(server).send("lines 2000\n");
		assertLines(client, 1);
		CompletableFuture<Boolean> closing = CompletableFuture.supplyAsync(() -> server.close(Engine.DEADLINE));
		assertLines(client, 1999);
		assertThat(client.readLine()).isNull();
		assertThat(closing.get(Engine.DEADLINE.toSeconds(), TimeUnit.SECONDS)).isTrue();
	}

	@Test
	void aThreadOfTheApplicationRequestsACall() {
		LeaderFollowersPool pool = this.engine.pool(1, 1);
		TcpServer server = start(pool, (builder) -> builder);
		Peer client = this.engine.connect(server);
		assertThat(client.send("hello\n").readLine()).isEqualTo("hello");
		Connection connection = server.openConnections().findAny().orElseThrow();
		for (int i = 1; i <= 100; i++) {
			int call = i;
			assertThat(connection.requestWritable()).isTrue();
			Engine.eventually().until(() -> this.calls.get() == call);
		}
		client.close();
		Engine.eventually().until(() -> !connection.isOpen());
		assertThat(connection.requestWritable()).isTrue();
		Engine.awaitIdle(pool);
		assertThat(this.calls).hasValue(100);
	}

	@Test
	void aRequestDuringAnotherHandlerIsMetAfterIt() {
		CountDownLatch gate = this.engine.gate();
		CountDownLatch entered = new CountDownLatch(1);
		AtomicInteger called = new AtomicInteger();
		LeaderFollowersPool pool = this.engine.pool(2, 2);
		TcpServer server = this.engine.lines(pool, new MessageHandler() {

			@Override
			public void onMessage(Connection connection, ByteBuffer message) {
				entered.countDown();
				Engine.pass(gate);
				connection.send(message);
			}

			@Override
			public void onWritable(Connection connection) {
				called.incrementAndGet();
			}

		});
		Peer client = this.engine.connect(server).send("hello\n");
		Engine.pass(entered);
		Connection connection = server.openConnections().findAny().orElseThrow();
		connection.requestWritable();
		connection.requestWritable();
		assertThat(called).hasValue(0);
		gate.countDown();
		assertThat(client.readLine()).isEqualTo("hello");
		Engine.eventually().until(() -> called.get() > 0);
		Engine.awaitIdle(pool);
		assertThat(called).as("requests that were not met yet count as one").hasValue(1);
	}

	@Test
	void datagramsAreNotCalledAgain() throws Exception {
		UdpServer server = this.engine.start(UdpServer.builder(this.engine.pool(1, 1))
			.handler((connection, message) -> connection
				.send(Engine.bytes(String.valueOf(connection.requestWritable())))));
		try (DatagramPeer peer = new DatagramPeer(server)) {
			assertThat(peer.send("hello").receive()).isEqualTo("false");
		}
	}

}
