package org.leaderfollowers;

import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;

import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Connections choose their pools while they are closed from both sides, reset and
 * drained. Every connection then ends once, every message of an undisturbed one is
 * answered in order, and no handle or memory is left in any pool.
 */
@Timeout(600)
class ServiceClassStressTests {

	private static final int CLIENTS = 4;

	@RegisterExtension
	final Engine engine = new Engine();

	@ParameterizedTest
	@CsvSource({ "60, false, NOTHING", "60, true, NOTHING", "60, false, POOL", "60, true, POOL", "60, false, SERVER",
			"60, true, SERVER" })
	void nothingIsLostOrLeft(int rounds, boolean parallel, Closed closed) throws Exception {
		run(rounds, parallel, closed);
	}

	@ParameterizedTest
	@CsvSource({ "3000, false, NOTHING", "3000, true, NOTHING", "1000, false, POOL", "1000, true, POOL",
			"1000, false, SERVER", "1000, true, SERVER" })
	@Tag("stress")
	void nothingIsLostOrLeftInTheLongRun(int rounds, boolean parallel, Closed closed) throws Exception {
		run(rounds, parallel, closed);
	}

	/** What is closed in the middle of the run. */
	enum Closed {

		NOTHING, POOL, SERVER

	}

	private void run(int rounds, boolean parallel, Closed closed) throws Exception {
		LeaderFollowersPool own = this.engine.pool(LeaderFollowersPool.builder().threads(2, 4).handleSets(2));
		LeaderFollowersPool gold = this.engine.pool(LeaderFollowersPool.builder().threads(1, 3));
		LeaderFollowersPool bulk = this.engine.pool(LeaderFollowersPool.builder().threads(3, 6).handleSets(3));
		Recorder recorder = new Recorder() {
			@Override
			void message(Connection connection, ByteBuffer message) {
				if (Engine.text(message).endsWith("close")) {
					connection.close();
				}
				else {
					connection.send(message);
				}
			}
		};
		MessageHandler handler = parallel ? (connection, message) -> connection.send(message) : recorder;
		TcpServer server = this.engine.start(TcpServer.builder(own)
			.framing(Framing.line())
			.handler(handler)
			.maxInFlightPerConnection(parallel ? 3 : 1)
			.replyOrder(ReplyOrder.ARRIVAL)
			.serviceClass(new Classes(own, gold, bulk), gold, bulk));
		ExecutorService clients = Executors.newFixedThreadPool(CLIENTS);
		try {
			List<Future<Void>> results = new ArrayList<>();
			for (int i = 0; i < CLIENTS; i++) {
				Random random = new Random(i);
				results.add(clients.submit((Callable<Void>) () -> {
					for (int round = 0; round < rounds; round++) {
						converse(server, random, parallel);
					}
					return null;
				}));
			}
			if (closed != Closed.NOTHING) {
				Engine.eventually().until(() -> server.snapshot().acceptedConnections() >= rounds);
				boolean done = (closed == Closed.POOL) ? gold.close(Duration.ofSeconds(60))
						: server.close(Duration.ofSeconds(60));
				assertThat(done).isTrue();
			}
			for (Future<Void> result : results) {
				result.get(500, TimeUnit.SECONDS);
			}
		}
		finally {
			clients.shutdownNow();
		}
		assertThat(recorder.overlapped).isFalse();
		server.close(Duration.ofSeconds(60));
		ServerSnapshot snapshot = server.snapshot();
		assertThat(snapshot.openConnections()).isZero();
		assertThat(snapshot.closedConnections().values().stream().mapToLong(Long::longValue).sum())
			.isEqualTo(snapshot.acceptedConnections());
		for (LeaderFollowersPool pool : List.of(own, gold, bulk)) {
			Engine.eventually().untilAsserted(() -> {
				assertThat(pool.snapshot().bufferedBytes()).as("%s", pool).isZero();
				assertThat(pool.snapshot().handleSets()).as("%s", pool).allMatch((set) -> set.handles() == 0);
			});
		}
		if (!parallel) {
			for (long id = 1; id <= snapshot.acceptedConnections(); id++) {
				List<String> calls = recorder.of(id);
				assertThat(calls.stream().filter((call) -> call.startsWith("close ")).count()).as("%s", calls)
					.isEqualTo(calls.isEmpty() ? 0 : 1);
			}
		}
	}

	/**
	 * Chooses by the first letter: in lower case by the message, in upper case before.
	 */
	private record Classes(LeaderFollowersPool own, LeaderFollowersPool gold,
			LeaderFollowersPool bulk) implements ServiceClass {

		@Override
		public @Nullable String poolOf(Connection connection) {
			return switch ((int) (connection.id() % 5)) {
				case 0 -> this.gold.name();
				case 1 -> this.own.name();
				default -> null;
			};
		}

		@Override
		public @Nullable String poolOf(Connection connection, ByteBuffer firstMessage) {
			return switch (firstMessage.get(0)) {
				case 'g' -> this.gold.name();
				case 'b' -> this.bulk.name();
				default -> null;
			};
		}

	}

	private void converse(TcpServer server, Random random, boolean parallel) {
		String letter = "gbo".substring(random.nextInt(3)).substring(0, 1);
		int messages = 1 + random.nextInt(6);
		StringBuilder sent = new StringBuilder();
		for (int i = 0; i < messages; i++) {
			sent.append(letter).append(i).append("-".repeat(random.nextInt(200))).append('\n');
		}
		Peer peer = connect(server);
		if (peer == null) {
			return;
		}
		int cut = random.nextInt(sent.length() + 1);
		try {
			converse(server, peer, sent.toString(), cut, random.nextInt(5), parallel);
		}
		catch (UncheckedIOException ex) {
			// The server or another client has closed the connection.
			peer.close();
		}
	}

	private void converse(TcpServer server, Peer peer, String sent, int cut, int how, boolean parallel) {
		switch (how) {
			case 0 -> peer.send(sent.substring(0, cut)).reset();
			case 1 -> {
				peer.send(sent.substring(0, cut));
				if (!parallel) {
					// Parallel messages that are in flight could not be answered any
					// more.
					server.openConnections().skip(cut % 3).findFirst().ifPresent(Connection::close);
				}
				peer.close();
			}
			case 2 -> peer.send(sent.substring(0, cut)).close();
			default -> {
				peer.send(sent.substring(0, cut)).send(sent.substring(cut)).shutdownOutput();
				String replies = peer.readTextToEnd();
				assertThat(sent).startsWith(replies);
				peer.close();
			}
		}
	}

	/** Returns {@code null} if the server is closed. */
	private @Nullable Peer connect(TcpServer server) {
		try {
			return this.engine.connect(server);
		}
		catch (AssertionError ex) {
			if (server.snapshot().state() == ServerSnapshot.State.RUNNING) {
				throw ex;
			}
			return null;
		}
	}

}
