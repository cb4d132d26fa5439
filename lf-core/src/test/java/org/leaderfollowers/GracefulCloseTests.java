package org.leaderfollowers;

import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

/**
 * A connection that is closed with a grace period loses no reply to a message that was
 * received.
 */
@Timeout(120)
class GracefulCloseTests {

	@RegisterExtension
	final Engine engine = new Engine();

	private TcpServer server(int inFlight, MessageHandler handler) {
		return this.engine.start(TcpServer.builder(this.engine.pool(2, 16))
			.framing(Framing.line())
			.maxInFlightPerConnection(inFlight)
			.replyOrder((inFlight > 1) ? ReplyOrder.ARRIVAL : ReplyOrder.COMPLETION)
			.handler(handler));
	}

	@ParameterizedTest
	@ValueSource(ints = { 1, 4 })
	void everyMessageReceivedIsAnsweredFirst(int inFlight) {
		CountDownLatch gate = this.engine.gate();
		Recorder recorder = new Recorder() {
			@Override
			void message(Connection connection, ByteBuffer message) {
				if (Engine.text(message).equals("block")) {
					Engine.pass(gate);
				}
				connection.send(message);
			}
		};
		TcpServer server = server(inFlight, recorder);
		Peer peer = this.engine.connect(server).send("block\n");
		Engine.eventually().until(() -> recorder.of(1).contains("block"));
		// Handlers of messages in parallel would handle these before the close.
		peer.send((inFlight == 1) ? "second\nthird\n" : "");
		Connection connection = recorder.await(1);
		connection.close(Duration.ofDays(1));
		assertThat(connection.isDraining()).isTrue();
		assertThat(connection.isOpen()).isTrue();
		gate.countDown();
		assertThat(peer.readTextToEnd()).isEqualTo((inFlight == 1) ? "block\nsecond\nthird\n" : "block\n");
		assertThat(recorder.awaitClose(1)).endsWith("close LOCAL");
		assertThat(this.engine.connect(server).send("other\n").readLine()).isEqualTo("other");
		assertThat(server.snapshot().state()).isEqualTo(ServerSnapshot.State.RUNNING);
	}

	@Test
	void anIdleConnectionIsClosedAtOnce() {
		Recorder recorder = new Recorder();
		TcpServer server = server(1, recorder);
		Peer peer = this.engine.connect(server);
		recorder.await(1).close(Duration.ofDays(1));
		assertThat(peer.readTextToEnd()).isEmpty();
		assertThat(recorder.awaitClose(1)).containsExactly("open", "close LOCAL");
	}

	@ParameterizedTest
	@ValueSource(ints = { 1, 4 })
	void whenTheGracePeriodEndsTheConnectionIsClosed(int inFlight) {
		CountDownLatch gate = this.engine.gate();
		CountDownLatch inside = new CountDownLatch(1);
		Recorder recorder = new Recorder() {
			@Override
			void message(Connection connection, ByteBuffer message) {
				inside.countDown();
				Engine.pass(gate);
			}
		};
		TcpServer server = server(inFlight, recorder);
		Peer peer = this.engine.connect(server).send("block\n");
		Engine.pass(inside);
		Connection connection = recorder.await(1);
		// The period that ends first counts.
		connection.close(Duration.ofMillis(50));
		connection.close(Duration.ofDays(1));
		Engine.eventually().until(() -> !connection.isOpen());
		gate.countDown();
		assertThat(peer.readTextToEnd()).isEmpty();
		assertThat(recorder.awaitClose(1)).endsWith("close LOCAL");
	}

	@Test
	void whenTheGracePeriodEndsASuspendedConnectionIsClosed() {
		Recorder recorder = new Recorder();
		TcpServer server = server(1, recorder);
		Peer peer = this.engine.connect(server);
		Connection connection = recorder.await(1);
		connection.suspend();
		connection.close(Duration.ofMillis(50));
		assertThat(peer.readTextToEnd()).isEmpty();
		assertThat(recorder.awaitClose(1)).containsExactly("open", "close LOCAL");
	}

	@Test
	void withoutGraceItIsAnOrdinaryClose() {
		Recorder recorder = new Recorder();
		TcpServer server = server(1, recorder);
		Peer peer = this.engine.connect(server);
		Connection connection = recorder.await(1);
		connection.suspend();
		assertThatIllegalArgumentException().isThrownBy(() -> connection.close(Duration.ofNanos(-1)))
			.withMessageContaining("grace");
		connection.close(Duration.ZERO);
		assertThat(connection.isOpen()).isFalse();
		assertThat(peer.readTextToEnd()).isEmpty();
		assertThat(recorder.awaitClose(1)).containsExactly("open", "close LOCAL");
	}

	/**
	 * Each client has one request in flight when its connection is closed. Handlers reply
	 * themselves or leave the reply to another thread.
	 */
	@ParameterizedTest
	@ValueSource(ints = { 1, 4 })
	void hundredsOfClosesUnderLoadLoseNoReply(int inFlight) throws Exception {
		ExecutorService application = Executors.newFixedThreadPool(2);
		Set<String> taken = ConcurrentHashMap.newKeySet();
		Set<String> answered = ConcurrentHashMap.newKeySet();
		Set<Long> open = ConcurrentHashMap.newKeySet();
		List<String> reasons = new ArrayList<>();
		TcpServer server = server(inFlight, new MessageHandler() {

			@Override
			public void onOpen(Connection connection) {
				open.add(connection.id());
			}

			@Override
			public void onMessage(Connection connection, ByteBuffer message) {
				String request = Engine.text(message);
				taken.add(request);
				if (request.hashCode() % 2 == 0) {
					Thread.yield();
					connection.send(Engine.bytes(request));
					return;
				}
				OwedReply owed = connection.owe();
				application.execute(() -> {
					try (owed) {
						owed.send(Engine.bytes(request));
					}
				});
			}

			@Override
			public void onClose(Connection connection, CloseReason reason) {
				open.remove(connection.id());
				synchronized (reasons) {
					reasons.add(reason.name());
				}
			}

		});
		AtomicBoolean done = new AtomicBoolean();
		AtomicInteger lost = new AtomicInteger();
		List<Thread> clients = new ArrayList<>();
		for (int c = 0; c < 8; c++) {
			int client = c;
			clients.add(new Thread(() -> {
				for (int number = 0; !done.get();) {
					try (Peer peer = this.engine.connect(server)) {
						String reply;
						do {
							String request = client + "-" + number++;
							reply = peer.send(request + "\n").readLine();
							if (reply != null) {
								assertThat(reply).isEqualTo(request);
								answered.add(reply);
							}
						}
						while (reply != null);
					}
					catch (UncheckedIOException ex) {
						// A request that came after the end of the connection.
						lost.incrementAndGet();
					}
				}
			}));
		}
		try {
			clients.forEach(Thread::start);
			int closed = 0;
			while (closed < 400) {
				Engine.eventually().until(() -> !open.isEmpty());
				for (long id : open) {
					Connection connection = server.connection(id);
					if (connection != null && !connection.isDraining()) {
						connection.close(Engine.DEADLINE);
						closed++;
					}
				}
			}
		}
		finally {
			done.set(true);
		}
		assertThat(server.close(Engine.DEADLINE)).isTrue();
		for (Thread client : clients) {
			client.join(Engine.DEADLINE.toMillis());
			assertThat(client.isAlive()).isFalse();
		}
		application.shutdown();
		assertThat(application.awaitTermination(30, TimeUnit.SECONDS)).isTrue();
		assertThat(answered).as("%d requests were never received", lost.get()).isEqualTo(taken);
		assertThat(reasons).hasSizeGreaterThanOrEqualTo(400)
			.allMatch((reason) -> Set.of("LOCAL", "SHUTDOWN", "PEER").contains(reason));
	}

}
