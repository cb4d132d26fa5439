package org.leaderfollowers;

import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

/**
 * A thread that waits for a future leads meanwhile, so that requests on behalf of other
 * programs are answered although every thread of the pool waits.
 */
class RelayTests {

	private static final Duration LONG = Engine.DEADLINE;

	@RegisterExtension
	final Engine engine = new Engine();

	/** What the handler waits for. */
	private final CompletableFuture<String> awaited = new CompletableFuture<>();

	private final BlockingQueue<Connection> opened = new LinkedBlockingQueue<>();

	private final BlockingQueue<Object> seen = new LinkedBlockingQueue<>();

	private TcpServer start(int maxInFlight, Duration timeout) {
		MessageHandler handler = new MessageHandler() {

			@Override
			public void onOpen(Connection connection) {
				RelayTests.this.opened.add(connection);
			}

			@Override
			public void onMessage(Connection connection, ByteBuffer message) {
				try {
					connection.send(Engine.bytes(
							"got " + LeaderFollowersPool.await(RelayTests.this.awaited, timeout, "another program")));
				}
				catch (InterruptedException | ExecutionException | TimeoutException ex) {
					RelayTests.this.seen.add(ex);
				}
			}

		};
		return this.engine.start(TcpServer.builder(this.engine.pool(1, 1))
			.framing(Framing.line())
			.correlation(Correlation.byKey((message) -> {
				String text = Engine.text(message);
				return text.contains(":") ? text.substring(0, text.indexOf(':')) : null;
			}))
			.maxInFlightPerConnection(maxInFlight)
			.handler(handler));
	}

	private Connection connection() throws InterruptedException {
		Connection connection = this.opened.poll(LONG.toSeconds(), TimeUnit.SECONDS);
		assertThat(connection).isNotNull();
		return connection;
	}

	private void awaitHandler(TcpServer server) {
		Engine.eventually()
			.until(() -> server.pool()
				.snapshot()
				.threads()
				.stream()
				.anyMatch((thread) -> "another program".equals(thread.waitsFor())));
	}

	@ParameterizedTest
	@ValueSource(ints = { 1, 4 })
	void repliesAreRelayedWhileTheOnlyThreadWaits(int maxInFlight) throws Exception {
		TcpServer server = start(maxInFlight, LONG);
		Peer waiting = this.engine.connect(server);
		Connection own = connection();
		Peer peer = this.engine.connect(server);
		Connection other = connection();
		waiting.send("begin\n");
		awaitHandler(server);
		for (int i = 0; i < 50; i++) {
			String request = "k" + i + ":?";
			CompletableFuture<ByteBuffer> first = own.relay(Engine.bytes(request), LONG);
			CompletableFuture<ByteBuffer> second = other.relay(Engine.bytes(request), LONG);
			assertThat(waiting.readLine()).isEqualTo(request);
			assertThat(peer.readLine()).isEqualTo(request);
			waiting.send("k" + i + ":own\n");
			peer.send("k" + i + ":other\n");
			assertThat(Engine.text(first.get(60, TimeUnit.SECONDS))).isEqualTo("k" + i + ":own");
			assertThat(Engine.text(second.get(60, TimeUnit.SECONDS))).isEqualTo("k" + i + ":other");
		}
		this.awaited.complete("it");
		assertThat(waiting.readLine()).isEqualTo("got it");
		assertThat(this.seen).isEmpty();
	}

	@Test
	void theEndOfAConnectionIsToldWhileTheOnlyThreadWaits() throws Exception {
		TcpServer server = start(1, LONG);
		Peer waiting = this.engine.connect(server);
		Connection own = connection();
		Peer peer = this.engine.connect(server);
		Connection other = connection();
		waiting.send("begin\n");
		awaitHandler(server);
		CompletableFuture<ByteBuffer> first = own.relay(Engine.bytes("a:?"), LONG);
		CompletableFuture<ByteBuffer> second = other.relay(Engine.bytes("a:?"), LONG);
		assertThat(waiting.readLine()).isEqualTo("a:?");
		assertThat(peer.readLine()).isEqualTo("a:?");
		peer.close();
		waiting.shutdownOutput();
		for (CompletableFuture<ByteBuffer> lost : List.of(second, first)) {
			assertThatExceptionOfType(ExecutionException.class).isThrownBy(() -> lost.get(60, TimeUnit.SECONDS))
				.withCauseInstanceOf(ExchangeLostException.class);
		}
		this.awaited.complete("it");
		assertThat(waiting.readLine()).isEqualTo("got it");
	}

	@Test
	void aRelayTimesOutWhileTheOnlyThreadWaits() throws Exception {
		TcpServer server = start(1, LONG);
		Peer waiting = this.engine.connect(server);
		connection();
		this.engine.connect(server);
		Connection other = connection();
		waiting.send("begin\n");
		awaitHandler(server);
		CompletableFuture<ByteBuffer> reply = other.relay(Engine.bytes("a:?"), Duration.ofMillis(1));
		assertThatExceptionOfType(ExecutionException.class).isThrownBy(() -> reply.get(60, TimeUnit.SECONDS))
			.withCauseInstanceOf(ExchangeTimeoutException.class);
		this.awaited.complete("it");
		assertThat(waiting.readLine()).isEqualTo("got it");
	}

	@Test
	void aThreadOfThePoolWaitsUntilTheFutureFails() throws Exception {
		Peer peer = this.engine.connect(start(1, LONG)).send("begin\n");
		this.awaited.completeExceptionally(new IllegalStateException("from the test"));
		assertThat(this.seen.poll(60, TimeUnit.SECONDS)).isInstanceOf(ExecutionException.class);
		peer.close();
	}

	@Test
	void aThreadOfThePoolWaitsUntilTheTimeIsUp() throws Exception {
		Peer peer = this.engine.connect(start(1, Duration.ofMillis(1))).send("begin\n");
		assertThat(this.seen.poll(60, TimeUnit.SECONDS)).isInstanceOf(TimeoutException.class);
		peer.close();
	}

	@Test
	void aThreadOfThePoolWaitsUntilItIsInterrupted() throws Exception {
		TcpServer server = start(1, LONG);
		this.engine.connect(server).send("begin\n");
		awaitHandler(server);
		Thread.getAllStackTraces()
			.keySet()
			.stream()
			.filter((thread) -> Engine.threadsOf(server.pool()).contains(thread.getName()))
			.forEach(Thread::interrupt);
		assertThat(this.seen.poll(60, TimeUnit.SECONDS)).isInstanceOf(InterruptedException.class);
	}

	@Test
	void anotherThreadWaitsAsUsual() throws Exception {
		assertThatExceptionOfType(TimeoutException.class)
			.isThrownBy(() -> LeaderFollowersPool.await(this.awaited, Duration.ofMillis(1), "nothing"));
		assertThatIllegalArgumentException()
			.isThrownBy(() -> LeaderFollowersPool.await(this.awaited, Duration.ZERO, "nothing"));
		this.awaited.complete("it");
		assertThat(LeaderFollowersPool.await(this.awaited, Duration.ofMillis(1), "nothing")).isEqualTo("it");
	}

}
