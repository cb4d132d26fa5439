package org.leaderfollowers;

import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

/** Connections whose messages wait because a reply comes later. */
@Timeout(120)
class SuspensionTests {

	@RegisterExtension
	final Engine engine = new Engine();

	private record Later(Connection connection, String reply, Suspension suspension) {

		void answer() {
			this.connection.send(Engine.bytes(this.reply));
			this.suspension.resume();
		}

	}

	private final Queue<Later> later = new ConcurrentLinkedQueue<>();

	/** Answers a message that begins with "later" when the test allows it. */
	private Recorder handler() {
		return new Recorder() {
			@Override
			void message(Connection connection, ByteBuffer message) {
				String text = Engine.text(message);
				if (text.startsWith("later")) {
					SuspensionTests.this.later.add(new Later(connection, text, connection.suspend()));
				}
				else {
					connection.send(message);
				}
			}
		};
	}

	private Later awaitLater() {
		Engine.eventually().until(() -> !this.later.isEmpty());
		return this.later.remove();
	}

	@Test
	void noMessageIsHandledUntilTheSuspensionIsResumed() {
		Recorder recorder = handler();
		TcpServer server = this.engine.lines(this.engine.pool(1, 4), recorder);
		Peer peer = this.engine.connect(server).send("1\nlater\n2\n3\n");
		assertThat(peer.readLine()).isEqualTo("1");
		Later reply = awaitLater();
		// Other connections are served meanwhile; these further messages are more to
		// read.
		assertThat(this.engine.connect(server).send("other\n").readLine()).isEqualTo("other");
		peer.send("4\n");
		assertThat(recorder.of(1)).containsExactly("open", "1", "later");
		reply.answer();
		assertThat(List.of(peer.readLine(), peer.readLine(), peer.readLine(), peer.readLine())).containsExactly("later",
				"2", "3", "4");
	}

	@Test
	void theConnectionNeedsNoThreadMeanwhile() {
		TcpServer server = this.engine.lines(this.engine.pool(1, 1), handler());
		Peer peer = this.engine.connect(server).send("later\n");
		Later reply = awaitLater();
		assertThat(this.engine.connect(server).send("other\n").readLine()).isEqualTo("other");
		Engine.eventually().until(() -> server.pool().snapshot().count(ThreadRole.PROCESSING) == 0);
		reply.answer();
		assertThat(peer.readLine()).isEqualTo("later");
	}

	@Test
	void allSuspensionsHaveToBeResumedAndEachCountsOnce() {
		Recorder recorder = new Recorder() {
			@Override
			void open(Connection connection) {
				SuspensionTests.this.later.add(new Later(connection, "a", connection.suspend()));
				SuspensionTests.this.later.add(new Later(connection, "b", connection.suspend()));
			}
		};
		TcpServer server = this.engine.lines(this.engine.pool(1, 4), recorder);
		Peer peer = this.engine.connect(server).send("1\n");
		Later first = awaitLater();
		Later second = awaitLater();
		first.suspension().resume();
		first.suspension().resume();
		first.connection().send(Engine.bytes("still suspended"));
		assertThat(peer.readLine()).isEqualTo("still suspended");
		Engine.eventually().until(() -> server.pool().snapshot().count(ThreadRole.PROCESSING) == 0);
		assertThat(recorder.of(1)).containsExactly("open");
		second.suspension().resume();
		assertThat(peer.readLine()).isEqualTo("1");
	}

	@Test
	void anotherThreadCanSuspend() {
		Recorder recorder = handler();
		TcpServer server = this.engine.lines(this.engine.pool(1, 4), recorder);
		Peer peer = this.engine.connect(server).send("1\n");
		assertThat(peer.readLine()).isEqualTo("1");
		Engine.awaitIdle(server.pool());
		Suspension suspension = recorder.await(1).suspend();
		peer.send("2\n3\n");
		Engine.eventually()
			.until(() -> server.pool().snapshot().handleSets().get(0).deactivated() == 1 || recorder.of(1).size() > 2);
		assertThat(recorder.of(1)).containsExactly("open", "1");
		suspension.resume();
		assertThat(List.of(peer.readLine(), peer.readLine())).containsExactly("2", "3");
	}

	@Test
	void aDrainWaitsForTheReply() throws Exception {
		TcpServer server = this.engine.lines(this.engine.pool(1, 4), handler());
		Peer peer = this.engine.connect(server).send("later 1\nlater 2\nlast\n");
		Later first = awaitLater();
		CompletableFuture<Boolean> drained = CompletableFuture.supplyAsync(() -> server.close(Engine.DEADLINE));
		Engine.eventually().until(() -> server.snapshot().state() == ServerSnapshot.State.DRAINING);
		first.answer();
		Later second = awaitLater();
		assertThat(drained).isNotDone();
		second.answer();
		assertThat(peer.readTextToEnd()).isEqualTo("later 1\nlater 2\nlast\n");
		assertThat(drained.get(30, TimeUnit.SECONDS)).isTrue();
		assertThat(server.snapshot().closedConnections()).containsEntry(CloseReason.SHUTDOWN, 1L);
	}

	@Test
	void aPeerThatHasClosedItsSideGetsTheReply() {
		TcpServer server = this.engine.lines(this.engine.pool(1, 4), handler());
		Peer peer = this.engine.connect(server).send("later\n").shutdownOutput();
		awaitLater().answer();
		assertThat(peer.readTextToEnd()).isEqualTo("later\n");
		Engine.eventually().until(() -> server.snapshot().closedConnections().get(CloseReason.PEER) == 1);
	}

	@Test
	void theIdleTimeoutEndsASuspensionThatIsForgotten() {
		Recorder recorder = handler();
		TcpServer server = this.engine.start(TcpServer.builder(this.engine.pool(1, 4))
			.framing(Framing.line())
			.handler(recorder)
			.idleTimeout(Duration.ofMillis(200)));
		Peer peer = this.engine.connect(server).send("later\n");
		Later forgotten = awaitLater();
		assertThat(peer.readTextToEnd()).isEmpty();
		assertThat(recorder.awaitClose(1)).containsExactly("open", "later", "close IDLE_TIMEOUT");
		assertThatExceptionOfType(ConnectionClosedException.class).isThrownBy(forgotten::answer);
		forgotten.suspension().resume();
	}

	@Test
	void theTimeOfAMessageThatNobodyReadsDoesNotCount() {
		Recorder recorder = handler();
		TcpServer server = this.engine.start(TcpServer.builder(this.engine.pool(1, 4))
			.framing(Framing.line())
			.handler(recorder)
			.messageTimeout(Duration.ofSeconds(3)));
		Peer peer = this.engine.connect(server).send("later\nbeg");
		Later reply = awaitLater();
		Engine.elapse(Duration.ofSeconds(4));
		reply.answer();
		assertThat(peer.readLine()).isEqualTo("later");
		assertThat(peer.send("un\n").readLine()).isEqualTo("begun");
	}

	@Test
	void aReplyThatFailsLaterFailsTheConnection() {
		Recorder recorder = new Recorder() {
			@Override
			void message(Connection connection, ByteBuffer message) {
				SuspensionTests.this.later.add(new Later(connection, "", connection.suspend()));
			}

			@Override
			void error(Connection connection, Throwable failure) {
				connection.send(Engine.bytes("sorry: " + failure.getMessage()));
			}
		};
		TcpServer server = this.engine.lines(this.engine.pool(1, 4), recorder);
		Peer peer = this.engine.connect(server).send("later\nnever\n");
		Connection connection = awaitLater().connection();
		connection.fail(new IllegalStateException("no rate"));
		connection.fail(new IllegalStateException("too late"));
		assertThat(peer.readTextToEnd()).isEqualTo("sorry: no rate\n");
		assertThat(recorder.awaitClose(1)).containsExactly("open", "later", "error IllegalStateException",
				"close HANDLER_ERROR");
	}

	@Test
	void aSuspendedConnectionIsClosedWhenItIsAskedTo() {
		Recorder recorder = handler();
		TcpServer server = this.engine.lines(this.engine.pool(1, 4), recorder);
		Peer peer = this.engine.connect(server).send("later\nnever\n");
		Later reply = awaitLater();
		reply.connection().send(Engine.bytes("bye"));
		reply.connection().close();
		assertThat(peer.readTextToEnd()).isEqualTo("bye\n");
		assertThat(recorder.awaitClose(1)).containsExactly("open", "later", "close LOCAL");
	}

	@ParameterizedTest
	@EnumSource(PromotionPolicy.class)
	void repliesOfManyConnectionsThatComeFromElsewhereKeepTheirOrder(PromotionPolicy policy) throws Exception {
		int connections = 20;
		int messages = 500;
		ExecutorService elsewhere = Executors.newFixedThreadPool(3);
		try {
			TcpServer server = this.engine.lines(
					this.engine.pool(LeaderFollowersPool.builder().threads(2, 4).promotionPolicy(policy)), (c, m) -> {
						String text = Engine.text(m);
						if (ThreadLocalRandom.current().nextInt(4) == 0) {
							c.send(m);
							return;
						}
						Suspension suspension = c.suspend();
						elsewhere.execute(() -> new Later(c, text, suspension).answer());
					});
			List<Peer> peers = new ArrayList<>();
			StringBuilder all = new StringBuilder();
			for (int i = 0; i < messages; i++) {
				all.append(i).append('\n');
			}
			for (int i = 0; i < connections; i++) {
				peers.add(this.engine.connect(server).send(all.toString()).shutdownOutput());
			}
			for (Peer peer : peers) {
				assertThat(peer.readTextToEnd()).isEqualTo(all.toString());
			}
		}
		finally {
			elsewhere.shutdown();
			assertThat(elsewhere.awaitTermination(30, TimeUnit.SECONDS)).isTrue();
		}
	}

}
