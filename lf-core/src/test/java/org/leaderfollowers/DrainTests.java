package org.leaderfollowers;

import java.io.Closeable;
import java.io.UncheckedIOException;
import java.net.BindException;
import java.net.ConnectException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.nio.channels.Pipe;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.IntStream;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.leaderfollowers.internal.transport.Certificates;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

/**
 * When servers and pools end, every received message is answered, and nothing is left
 * behind.
 */
@Timeout(120)
class DrainTests {

	@RegisterExtension
	final Engine engine = new Engine();

	/** Blocks if the message is "block", and echoes. */
	private static Recorder blocking(CountDownLatch gate) {
		return new Recorder() {
			@Override
			void message(Connection connection, ByteBuffer message) {
				if (Engine.text(message).startsWith("block")) {
					Engine.pass(gate);
				}
				connection.send(message);
			}
		};
	}

	private static CompletableFuture<Boolean> closing(TcpServer server) {
		CompletableFuture<Boolean> result = CompletableFuture.supplyAsync(() -> server.close(Engine.DEADLINE));
		// The drain may be over before the next look.
		Engine.eventually().until(() -> server.snapshot().state() != ServerSnapshot.State.RUNNING);
		return result;
	}

	@Test
	void aRequestThatIsBeingProcessedIsAnswered() throws Exception {
		CountDownLatch gate = this.engine.gate();
		Recorder recorder = blocking(gate);
		TcpServer server = this.engine.lines(this.engine.pool(2, 16), recorder);
		List<Peer> peers = new ArrayList<>();
		for (int i = 1; i <= 10; i++) {
			peers.add(this.engine.connect(server).send("block " + i + "\n"));
			long id = i;
			Engine.eventually().until(() -> recorder.of(id).size() == 2);
		}
		CompletableFuture<Boolean> closed = closing(server);
		assertThat(closed).isNotDone();
		gate.countDown();
		for (int i = 1; i <= 10; i++) {
			assertThat(peers.get(i - 1).readTextToEnd()).isEqualTo("block " + i + "\n");
		}
		assertThat(closed.get(30, TimeUnit.SECONDS)).isTrue();
		assertThat(recorder.of(1)).containsExactly("open", "block 1", "close SHUTDOWN");
		assertThat(server.snapshot().state()).isEqualTo(ServerSnapshot.State.STOPPED);
		assertThat(server.snapshot().openConnections()).isZero();
	}

	/** No handler runs, so that the connections end as soon as they are told to. */
	@Test
	void aDrainThatAnotherThreadCutsShortIsNoSuccess() throws Exception {
		TcpServer server = this.engine.lines(this.engine.pool(2, 4), (connection, message) -> connection.suspend());
		Peer peer = this.engine.connect(server).send("never answered\n");
		Engine.eventually().until(() -> server.snapshot().receivedMessages() == 1);
		CompletableFuture<Boolean> drained = CompletableFuture.supplyAsync(() -> server.drain(Engine.DEADLINE));
		// The drain may be over before the next look.
		Engine.eventually().until(() -> server.snapshot().state() != ServerSnapshot.State.RUNNING);
		assertThat(server.close(Duration.ZERO)).isFalse();
		assertThat(drained.get(30, TimeUnit.SECONDS)).isFalse();
		Engine.eventually().untilAsserted(() -> assertThat(server.snapshot().openConnections()).isZero());
		assertThat(server.drain(Duration.ZERO)).as("nothing is left").isTrue();
		assertThat(peer.readTextToEnd()).isEmpty();
	}

	@ParameterizedTest
	@ValueSource(ints = { 1, 4 })
	void requestsInTheBufferOfTheKernelAreAnswered(int threads) throws Exception {
		CountDownLatch gate = this.engine.gate();
		Recorder recorder = blocking(gate);
		TcpServer server = this.engine.lines(this.engine.pool(threads, threads), recorder);
		Peer peer = this.engine.connect(server).send("block\n");
		Engine.eventually().until(() -> recorder.of(1).contains("block"));
		// The server does not read these before it is told to stop.
		peer.send("second\nthird\n");
		CompletableFuture<Boolean> closed = closing(server);
		gate.countDown();
		assertThat(peer.readTextToEnd()).isEqualTo("block\nsecond\nthird\n");
		assertThat(closed.get(30, TimeUnit.SECONDS)).isTrue();
		assertThat(recorder.of(1)).containsExactly("open", "block", "second", "third", "close SHUTDOWN");
	}

	@Test
	void aMessageThatHasBegunIsNotTheLastOneIfOthersFollow() throws Exception {
		CountDownLatch gate = this.engine.gate();
		Recorder recorder = blocking(gate);
		TcpServer server = this.engine.lines(this.engine.pool(2, 4), recorder);
		Peer peer = this.engine.connect(server).send("block\nsec");
		Engine.eventually().until(() -> recorder.of(1).contains("block"));
		peer.send("ond\nthird\nfourth\n");
		CompletableFuture<Boolean> closed = closing(server);
		gate.countDown();
		assertThat(peer.readTextToEnd()).isEqualTo("block\nsecond\nthird\nfourth\n");
		assertThat(closed.get(30, TimeUnit.SECONDS)).isTrue();
	}

	@Test
	void moreThanOneReadFullOfRequestsIsAnswered() throws Exception {
		CountDownLatch gate = this.engine.gate();
		Recorder recorder = blocking(gate);
		TcpServer server = this.engine.lines(this.engine.pool(2, 4), recorder);
		Peer peer = this.engine.connect(server).send("block\n");
		Engine.eventually().until(() -> recorder.of(1).contains("block"));
		// Less than a kernel keeps for a connection.
		int count = 5_000;
		peer.send("12345678\n".repeat(count));
		CompletableFuture<Boolean> closed = closing(server);
		gate.countDown();
		assertThat(peer.readTextToEnd()).hasSize(6 + 9 * count);
		assertThat(closed.get(30, TimeUnit.SECONDS)).isTrue();
	}

	@Test
	void requestsOfConnectionsThatWereNotAcceptedYetAreAnswered() throws Exception {
		CountDownLatch gate = this.engine.gate();
		Recorder recorder = blocking(gate);
		TcpServer server = this.engine.lines(this.engine.pool(1, 1), recorder);
		Peer blocks = this.engine.connect(server).send("block\n");
		Engine.eventually().until(() -> recorder.of(1).contains("block"));
		// The only thread is busy, so the kernel keeps these connections.
		List<Peer> waiting = new ArrayList<>();
		for (int i = 0; i < 100; i++) {
			waiting.add(this.engine.connect(server).send("waiting " + i + "\n"));
		}
		assertThat(server.snapshot().acceptedConnections()).isOne();
		CompletableFuture<Boolean> closed = closing(server);
		gate.countDown();
		assertThat(blocks.readTextToEnd()).isEqualTo("block\n");
		for (int i = 0; i < 100; i++) {
			assertThat(waiting.get(i).readTextToEnd()).isEqualTo("waiting " + i + "\n");
		}
		assertThat(closed.get(30, TimeUnit.SECONDS)).isTrue();
		assertThatExceptionOfType(AssertionError.class).isThrownBy(() -> this.engine.connect(server));
	}

	@Test
	void aMessageThatHasBegunMayBeCompleted() throws Exception {
		Recorder recorder = new Recorder();
		TcpServer server = this.engine.start(TcpServer.builder(this.engine.pool(2, 4))
			.framing(Framing.line())
			.drainMessageTimeout(Engine.DEADLINE)
			.handler(recorder));
		Peer begun = this.engine.connect(server).send("be");
		Peer idle = this.engine.connect(server).send("x\n");
		assertThat(idle.readLine()).isEqualTo("x");
		Engine.eventually().until(() -> server.snapshot().receivedBytes() == 4);
		CompletableFuture<Boolean> closed = closing(server);
		assertThat(idle.readTextToEnd()).isEmpty();
		assertThat(recorder.of(1)).containsExactly("open");
		assertThat(begun.send("gun\n").readTextToEnd()).isEqualTo("begun\n");
		assertThat(closed.get(30, TimeUnit.SECONDS)).isTrue();
		assertThat(recorder.of(1)).containsExactly("open", "begun", "close SHUTDOWN");
	}

	@ParameterizedTest
	@ValueSource(ints = { 1, 4 })
	void aMessageThatIsNotCompletedDelaysTheEndForAShortTimeOnly(int inFlight) throws Exception {
		Recorder recorder = new Recorder();
		TcpServer server = this.engine.start(TcpServer.builder(this.engine.pool(2, 4))
			.framing(Framing.line())
			.maxInFlightPerConnection(inFlight)
			.messageTimeout(Duration.ZERO)
			.drainMessageTimeout(Duration.ofMillis(100))
			.handler(recorder));
		Peer begun = this.engine.connect(server).send("x\nbe");
		assertThat(begun.readLine()).isEqualTo("x");
		Engine.eventually().until(() -> server.snapshot().receivedBytes() == 4);
		assertThat(server.close(Duration.ofDays(1))).isTrue();
		assertThat(begun.readTextToEnd()).isEmpty();
		assertThat(recorder.awaitClose(1)).containsExactly("open", "x", "close SHUTDOWN");
	}

	/** The time is not given anew with each byte. */
	@Test
	void aMessageThatDripsDelaysTheEndForAShortTimeOnly() throws Exception {
		Recorder recorder = new Recorder();
		TcpServer server = this.engine.start(TcpServer.builder(this.engine.pool(2, 4))
			.framing(Framing.line())
			// More than arrives byte by byte before the drain ends, however late it
			// begins.
			.maxMessageSize(64 * 1024 * 1024)
			.drainMessageTimeout(Duration.ofMillis(100))
			.handler(recorder));
		Peer begun = this.engine.connect(server).send("be");
		Engine.eventually().until(() -> server.snapshot().receivedBytes() == 2);
		CompletableFuture<Boolean> closed = CompletableFuture.supplyAsync(() -> server.close(Duration.ofDays(1)));
		assertThatExceptionOfType(UncheckedIOException.class).isThrownBy(() -> {
			for (;;) {
				begun.send(".");
				Thread.yield();
			}
		});
		assertThat(closed.get(30, TimeUnit.SECONDS)).isTrue();
		assertThat(recorder.awaitClose(1)).containsExactly("open", "close SHUTDOWN");
	}

	@Test
	void aPeerThatAlwaysKeepsAMessageBegunIsNotServedOn() throws Exception {
		CountDownLatch gate = this.engine.gate();
		Recorder recorder = blocking(gate);
		TcpServer server = this.engine.start(TcpServer.builder(this.engine.pool(2, 4))
			.framing(Framing.line())
			.drainMessageTimeout(Duration.ofDays(1))
			.handler(recorder));
		Peer peer = this.engine.connect(server).send("block\nsecond\nlast");
		Engine.eventually().until(() -> recorder.of(1).contains("block"));
		CompletableFuture<Boolean> closed = closing(server);
		gate.countDown();
		assertThat(peer.readLine()).isEqualTo("block");
		assertThat(peer.readLine()).isEqualTo("second");
		// What arrives before this moment has arrived before the drain.
		InboundConnection connection = (InboundConnection) recorder.await(1);
		Engine.eventually().until(() -> {
			DrainedInput drained = connection.drained();
			return drained != null && drained.isMeasured();
		});
		assertThat(closed).isNotDone();
		peer.send(" message\nafter it\nand half of an");
		assertThat(peer.readTextToEnd()).isEqualTo("last message\n");
		assertThat(closed.get(30, TimeUnit.SECONDS)).isTrue();
		assertThat(recorder.of(1)).containsExactly("open", "block", "second", "last message", "close SHUTDOWN");
	}

	@Test
	void repliesThatWaitForTheirPeerAreWrittenFirst() throws Exception {
		Recorder recorder = new Recorder() {
			@Override
			void message(Connection connection, ByteBuffer message) {
				connection.send(Engine.bytes("x".repeat(8_000_000)));
			}
		};
		TcpServer server = this.engine.lines(this.engine.pool(2, 4), recorder);
		Peer peer = this.engine.connect(server, 4096).send("1\n2\n");
		Connection connection = recorder.await(1);
		Engine.eventually().until(() -> connection.pendingBytes() > 0);
		CompletableFuture<Boolean> closed = closing(server);
		assertThat(peer.readToEnd()).as("both replies: both requests had arrived").hasSize(2 * 8_000_001);
		assertThat(closed.get(30, TimeUnit.SECONDS)).isTrue();
	}

	@Test
	void everyRequestReceivedUnderLoadIsAnswered() throws Exception {
		for (int round = 0; round < 10; round++) {
			AtomicInteger handled = new AtomicInteger();
			LeaderFollowersPool pool = this.engine.pool(2, 8);
			TcpServer server = this.engine.lines(pool, (connection, message) -> {
				handled.incrementAndGet();
				connection.send(message);
			});
			AtomicInteger answered = new AtomicInteger();
			List<Thread> clients = new ArrayList<>();
			for (int c = 0; c < 8; c++) {
				Peer peer = this.engine.connect(server);
				Thread client = new Thread(() -> {
					try {
						for (;;) {
							peer.send("1\n2\n3\n");
							for (int i = 1; i <= 3; i++) {
								String line = peer.readLine();
								if (line == null) {
									return;
								}
								assertThat(line).isEqualTo("" + i);
								answered.incrementAndGet();
							}
						}
					}
					catch (UncheckedIOException ex) {
						// The server is gone.
					}
					finally {
						peer.close();
					}
				});
				client.start();
				clients.add(client);
			}
			Engine.eventually().until(() -> answered.get() > 500);
			assertThat(pool.close(Engine.DEADLINE)).isTrue();
			for (Thread client : clients) {
				client.join(Engine.DEADLINE.toMillis());
				assertThat(client.isAlive()).isFalse();
			}
			assertThat(answered.get()).as("answers of %d requests handled", handled.get()).isEqualTo(handled.get());
		}
	}

	@Test
	void aPeerThatNeverStopsSendingDoesNotDelayTheEnd() throws Exception {
		AtomicInteger afterwards = new AtomicInteger();
		TcpServer server = this.engine.lines(this.engine.pool(2, 4), (connection, message) -> {
			// No reply: its peer does not read.
			if (connection.isDraining()) {
				afterwards.addAndGet(message.remaining());
			}
		});
		Peer peer = this.engine.connect(server);
		CompletableFuture<Void> flood = CompletableFuture.runAsync(() -> {
			byte[] lines = ("x".repeat(999) + "\n").repeat(64).getBytes();
			try {
				for (;;) {
					peer.send(lines, 0, lines.length - 7);
					peer.send(lines, lines.length - 7, 7);
				}
			}
			catch (UncheckedIOException ex) {
				// closed at last
			}
			finally {
				peer.close();
			}
		});
		Engine.eventually().until(() -> server.snapshot().receivedMessages() > 1000);
		long start = System.nanoTime();
		assertThat(server.close(Engine.DEADLINE)).isTrue();
		assertThat(System.nanoTime() - start).isLessThan(20_000_000_000L);
		flood.get(30, TimeUnit.SECONDS);
		assertThat(server.snapshot().closedConnections()).containsEntry(CloseReason.SHUTDOWN, 1L);
		assertThat(afterwards).as("no more than a kernel can keep").hasValueLessThan(34_000_000);
	}

	/**
	 * A server with a correlation reads while its handlers wait. Each waits until the
	 * peer has sent one more request.
	 */
	@ParameterizedTest
	@CsvSource({ "false, 1", "false, 4", "true, 1", "true, 4" })
	void aPeerThatSendsOnForEachReplyDoesNotDelayTheEndAlthoughHandlersWait(boolean tls, int inFlight)
			throws Exception {
		Semaphore permits = new Semaphore(0);
		TcpServer backEnd = this.engine.lines(this.engine.pool(2, 8), (connection, message) -> {
			permits.acquire();
			connection.send(message);
		});
		try (TcpClient client = client(backEnd)) {
			TcpServer.Builder builder = TcpServer.builder(this.engine.pool(2, 16))
				.framing(Framing.line())
				.correlation(Correlation.inOrder())
				.maxInFlightPerConnection(inFlight)
				.handler((connection, message) -> connection.send(client.exchange(message)));
			TcpServer server = this.engine.start(tls ? builder.tls(ServerTls.of(Certificates.server())) : builder);
			List<String> requests = IntStream.range(0, 300).mapToObj(Integer::toString).toList();
			try (Closeable peer = tls ? new TlsPeer(Certificates.client(), server.port())
					: this.engine.connect(server)) {
				send(peer, String.join("\n", requests) + "\n");
				int read = (inFlight == 1) ? 200 : inFlight;
				Engine.eventually().until(() -> server.snapshot().receivedMessages() >= read);
				CompletableFuture<Boolean> closed = closing(server);
				permits.release();
				List<String> replies = new ArrayList<>();
				for (String reply = readLine(peer); reply != null; reply = readLine(peer)) {
					replies.add(reply);
					try {
						send(peer, "late\n");
					}
					catch (UncheckedIOException ex) {
						// closed at last
					}
					permits.release();
				}
				assertThat(closed.get(30, TimeUnit.SECONDS)).isTrue();
				assertThat(replies).containsAll(requests);
				if (inFlight == 1) {
					assertThat(replies).startsWith(requests.toArray(String[]::new));
				}
			}
			assertThat(server.snapshot().closedConnections()).containsEntry(CloseReason.SHUTDOWN, 1L);
		}
	}

	private static void send(Closeable peer, String text) {
		if (peer instanceof TlsPeer encrypted) {
			encrypted.send(text);
		}
		else {
			((Peer) peer).send(text);
		}
	}

	private static String readLine(Closeable peer) {
		return (peer instanceof TlsPeer encrypted) ? encrypted.readLine() : ((Peer) peer).readLine();
	}

	private TcpClient client(TcpServer server) {
		TcpClient client = TcpClient.builder(this.engine.pool(2, 4))
			.address(new InetSocketAddress(InetAddress.getLoopbackAddress(), server.port()))
			.framing(Framing.line())
			.correlation(Correlation.inOrder())
			.connections(1)
			.requestTimeout(Engine.DEADLINE)
			.build();
		client.start();
		return client;
	}

	/** While nothing is expected of the peer, the thread of the handler does not read. */
	@Test
	void aPeerIsStillAskedWhileAHandlerWaitsDuringTheDrain() throws Exception {
		CountDownLatch gate = this.engine.gate();
		AtomicReference<Connection> asked = new AtomicReference<>();
		try (TcpClient client = client(this.engine.lines(this.engine.pool(2, 8), blocking(gate)))) {
			TcpServer server = this.engine.start(TcpServer.builder(this.engine.pool(1, 4))
				.framing(Framing.line())
				.correlation(Correlation.inOrder())
				.handler((connection, message) -> {
					asked.set(connection);
					connection.send(client.exchange(message));
				}));
			Peer peer = this.engine.connect(server).send("block\n");
			Engine.eventually().until(() -> asked.get() != null);
			CompletableFuture<Boolean> closed = closing(server);
			CompletableFuture<String> answer = CompletableFuture.supplyAsync(
					() -> Engine.text(asked.get().exchange(Engine.bytes("sure?"), Engine.DEADLINE)),
					(task) -> new Thread(task).start());
			assertThat(peer.readLine()).isEqualTo("sure?");
			peer.send("yes\n");
			assertThat(answer.get(30, TimeUnit.SECONDS)).isEqualTo("yes");
			gate.countDown();
			assertThat(peer.readTextToEnd()).isEqualTo("block\n");
			assertThat(closed.get(30, TimeUnit.SECONDS)).isTrue();
		}
	}

	/**
	 * A reset would destroy the part of the reply that waits in the kernel. The clock
	 * stands until the peer has read its reply, however long it needs.
	 */
	@Test
	void aPeerThatContinuesToSendCanStillReadItsReplies() throws Exception {
		byte[] reply = "r".repeat(200_000).getBytes();
		TestClock clock = new TestClock();
		LeaderFollowersPool pool = this.engine.pool(LeaderFollowersPool.builder().threads(2, 4).clock(clock));
		TcpServer server = this.engine.lines(pool, (connection, message) -> {
			if (message.remaining() == 1) {
				connection.send(ByteBuffer.wrap(reply));
			}
		});
		// Smaller than the reply.
		Peer peer = this.engine.connect(server, 4096).send("1\n");
		AtomicInteger sent = new AtomicInteger();
		CompletableFuture<Void> flood = CompletableFuture.runAsync(() -> {
			byte[] lines = ("x".repeat(999) + "\n").repeat(64).getBytes();
			try {
				for (;;) {
					peer.send(lines);
					sent.addAndGet(lines.length);
				}
			}
			catch (UncheckedIOException ex) {
				// closed at last
			}
		});
		Engine.eventually().until(() -> server.snapshot().receivedMessages() > 1000);
		int before = sent.get();
		CompletableFuture<Boolean> closed = closing(server);
		// The server discards 16 MB and then no more; the kernels keep at most 10 MB.
		AtomicInteger seen = new AtomicInteger();
		Engine.eventually().until(() -> sent.get() - before > 6_000_000 && seen.getAndSet(sent.get()) == sent.get());
		assertThat(flood).isNotDone();
		assertThat(peer.readToEnd().length).isEqualTo(reply.length + 1);
		clock.advance(Duration.ofSeconds(5));
		peer.close();
		flood.get(30, TimeUnit.SECONDS);
		assertThat(closed.get(30, TimeUnit.SECONDS)).isTrue();
	}

	@Test
	void theLogTellsHowManyMessagesAreNotAnswered() throws Exception {
		CompletableFuture<OwedReply> owed = new CompletableFuture<>();
		TcpServer server = this.engine.lines(this.engine.pool(2, 4),
				(connection, message) -> owed.complete(connection.owe()));
		Peer peer = this.engine.connect(server).send("x\n");
		OwedReply reply = owed.get(Engine.DEADLINE.toSeconds(), TimeUnit.SECONDS);
		assertThat(server.life.undone()).isEqualTo("1 connections (1 messages unanswered)");
		reply.send(Engine.bytes("reply"));
		assertThat(peer.readLine()).isEqualTo("reply");
		reply.close();
		Engine.eventually().until(() -> server.life.undone().equals("1 connections"));
	}

	@Test
	void aConnectionWhosePeerDoesNotCloseItsSideIsAbortedWithItsServer() throws Exception {
		CompletableFuture<CloseReason> end = new CompletableFuture<>();
		TcpServer server = this.engine.lines(this.engine.pool(2, 4), new MessageHandler() {

			@Override
			public void onMessage(Connection connection, ByteBuffer message) {
				connection.send(message);
			}

			@Override
			public void onClose(Connection connection, CloseReason reason) {
				end.complete(reason);
			}

		});
		assertThat(this.engine.connect(server).send("x\n").readLine()).isEqualTo("x");
		server.close(Duration.ZERO);
		assertThat(end.get(Engine.DEADLINE.toSeconds(), TimeUnit.SECONDS)).isEqualTo(CloseReason.SHUTDOWN_TIMEOUT);
	}

	/** A thread that drains the server would wait for longer than it has to. */
	@Test
	void theEndOfAConnectionWakesTheThreadsThatWaitForIt() throws Exception {
		TcpServer server = this.engine.lines(this.engine.pool(2, 4), Connection::send);
		Peer peer = this.engine.connect(server);
		assertThat(peer.send("x\n").readLine()).isEqualTo("x");
		ServerState state = server.life.state();
		// No connection is told to end.
		state.evacuate();
		CompletableFuture<Boolean> ended = new CompletableFuture<>();
		Thread waiting = new Thread(() -> ended.complete(state.awaitRest((exceptHandlers) -> server.life.isDone(),
				false, System.nanoTime() + Duration.ofHours(1).toNanos())));
		waiting.start();
		Engine.eventually().until(() -> waiting.getState() == Thread.State.TIMED_WAITING);
		peer.close();
		assertThat(ended.get(Engine.DEADLINE.toSeconds(), TimeUnit.SECONDS)).isTrue();
	}

	@Test
	void whenTheGracePeriodEndsFirstCloseSaysSo() {
		CountDownLatch gate = this.engine.gate();
		Recorder recorder = blocking(gate);
		TcpServer server = this.engine.lines(this.engine.pool(2, 4), recorder);
		Peer blocks = this.engine.connect(server).send("block\n");
		Peer begun = this.engine.connect(server).send("be");
		Engine.eventually().until(() -> recorder.of(1).contains("block"));
		Engine.eventually().until(() -> server.snapshot().receivedBytes() == 8);
		assertThat(server.close(Duration.ofMillis(200))).isFalse();
		begun.awaitClosed();
		assertThat(recorder.awaitClose(2)).containsExactly("open", "close SHUTDOWN_TIMEOUT");
		// The socket is closed while the handler runs.
		blocks.awaitClosed();
		gate.countDown();
		assertThat(recorder.awaitClose(1)).endsWith("close SHUTDOWN_TIMEOUT");
		Engine.eventually().until(() -> server.snapshot().openConnections() == 0);
		assertThat(server.snapshot().closedConnections()).containsEntry(CloseReason.SHUTDOWN_TIMEOUT, 2L);
		assertThat(this.engine.log()).anyMatch((line) -> line.contains("not finished within PT0.2S"));
	}

	@Test
	void closeWithoutGraceIsAtOnce() {
		Recorder recorder = new Recorder();
		TcpServer server = this.engine.lines(this.engine.pool(2, 4), recorder);
		Peer peer = this.engine.connect(server);
		recorder.await(1);
		long start = System.nanoTime();
		server.close(Duration.ZERO);
		assertThat(System.nanoTime() - start).isLessThan(10_000_000_000L);
		peer.awaitClosed();
		recorder.awaitClose(1);
		// The connection is counted until its handler has returned.
		Engine.eventually().until(() -> server.snapshot().openConnections() == 0);
		assertThat(server.close(Duration.ZERO)).as("once more").isTrue();
	}

	@Test
	void aServerIsStartedOnceAndClosedAnyTimes() {
		TcpServer server = this.engine.lines(this.engine.pool(1, 1), (connection, message) -> {
		});
		assertThatIllegalStateException().isThrownBy(server::start);
		server.close();
		server.close();
		assertThatIllegalStateException().isThrownBy(server::start);
		TcpServer never = TcpServer.builder(this.engine.pool(1, 1))
			.framing(Framing.line())
			.handler((connection, message) -> {
			})
			.build();
		assertThatIllegalStateException().isThrownBy(never::port);
		assertThat(never.close(Engine.DEADLINE)).isTrue();
		assertThatIllegalStateException().isThrownBy(never::start);
	}

	@Test
	void aPortInUseFailsTheStartAndTheServerCanBeStartedWhenItIsFree() {
		LeaderFollowersPool pool = this.engine.pool(1, 1);
		TcpServer first = this.engine.lines(pool, (connection, message) -> {
		});
		TcpServer second = TcpServer.builder(pool)
			.address(InetAddress.getLoopbackAddress())
			.port(first.port())
			.framing(Framing.line())
			.handler((connection, message) -> connection.send(message))
			.build();
		assertThatExceptionOfType(UncheckedIOException.class).isThrownBy(second::start)
			.withCauseInstanceOf(BindException.class)
			.withMessageContaining("" + first.port());
		first.close();
		second.start();
		assertThat(this.engine.connect(second).send("x\n").readLine()).isEqualTo("x");
	}

	@Test
	void aServerIsNotBoundToAGroup() throws Exception {
		InetAddress group = InetAddress.getByName("224.0.0.1");
		LeaderFollowersPool pool = this.engine.pool(1, 1);
		List<Server> servers = List.of(TcpServer.builder(pool)
			.address(group)
			.framing(Framing.line())
			.handler((connection, message) -> connection.send(message))
			.build(), UdpServer.builder(pool).address(group).handler((peer, datagram) -> {
			}).build());
		for (Server server : servers) {
			assertThatExceptionOfType(UncheckedIOException.class).isThrownBy(server::start)
				.withCauseInstanceOf(BindException.class)
				.withMessageContaining("could not bind /224.0.0.1:7070: it is the address of a group");
		}
	}

	@Test
	@EnabledOnOs(OS.LINUX)
	void aServerWhosePoolIsClosedDoesNotStartAndLeavesNothing() {
		LeaderFollowersPool pool = this.engine.pool(1, 1);
		pool.close();
		TcpServer server = TcpServer.builder(pool)
			.port(0)
			.address(InetAddress.getLoopbackAddress())
			.framing(Framing.line())
			.handler((connection, message) -> {
			})
			.build();
		long before = Engine.descriptors();
		for (int i = 0; i < 50; i++) {
			assertThatIllegalStateException().isThrownBy(server::start).withMessageContaining(pool.name());
		}
		assertThat(Engine.descriptors()).isLessThan(before + 20);
		assertThat(server.snapshot().state()).isNotEqualTo(ServerSnapshot.State.RUNNING);
		assertThatIllegalStateException().isThrownBy(pool::start);
		assertThatIllegalStateException().isThrownBy(() -> pool.join(Duration.ZERO));
	}

	@Test
	@EnabledOnOs(OS.LINUX)
	void twoHundredStartsAndStopsLeaveNothing() {
		startAndStop(20);
		long descriptors = Engine.descriptors();
		int threads = Thread.activeCount();
		startAndStop(200);
		Engine.eventually().untilAsserted(() -> {
			assertThat(Engine.descriptors()).isLessThan(descriptors + 10);
			assertThat(Thread.activeCount()).isLessThanOrEqualTo(threads + 2);
		});
	}

	private void startAndStop(int times) {
		for (int i = 0; i < times; i++) {
			LeaderFollowersPool pool = LeaderFollowersPool.builder()
				.name("short")
				.threads(1 + i % 4, 4)
				.handleSets(1 + (i % 4) / 2)
				.build();
			TcpServer server = this.engine.start(TcpServer.builder(pool)
				.framing(Framing.line())
				.handler((connection, message) -> connection.send(message)));
			if (i % 3 != 0) {
				Peer peer = this.engine.connect(server).send("x\n");
				if (i % 3 == 1) {
					assertThat(peer.readLine()).isEqualTo("x");
				}
				peer.close();
			}
			assertThat(pool.close(Engine.DEADLINE)).isTrue();
			assertThat(Engine.threadsOf(pool)).isEmpty();
			assertThat(pool.snapshot().state()).isEqualTo(PoolSnapshot.State.STOPPED);
			assertThat(pool.snapshot().threads()).isEmpty();
		}
	}

	@Test
	void aPoolThatWasNeverUsedIsClosedLikeAnyOther() {
		LeaderFollowersPool pool = this.engine.pool(2, 4);
		assertThat(pool.snapshot().state()).isEqualTo(PoolSnapshot.State.NEW);
		assertThat(pool.snapshot().threads()).isEmpty();
		assertThat(pool.close(Engine.DEADLINE)).isTrue();
		assertThat(pool.close(Engine.DEADLINE)).isTrue();
		assertThat(pool.snapshot().state()).isEqualTo(PoolSnapshot.State.STOPPED);
	}

	@Test
	void closingThePoolInterruptsAHandlerThatIsStuck() {
		CountDownLatch inside = new CountDownLatch(1);
		AtomicBoolean interrupted = new AtomicBoolean();
		LeaderFollowersPool pool = this.engine.pool(2, 4);
		TcpServer server = this.engine.lines(pool, (connection, message) -> {
			inside.countDown();
			try {
				new CountDownLatch(1).await();
			}
			catch (InterruptedException ex) {
				interrupted.set(true);
				throw ex;
			}
		});
		Peer peer = this.engine.connect(server).send("x\n");
		Engine.pass(inside);
		pool.close(Duration.ofMillis(100));
		assertThat(pool.close(Engine.DEADLINE)).as("all threads have ended").isTrue();
		assertThat(interrupted).isTrue();
		peer.awaitClosed();
		Engine.awaitNoThreads(pool);
	}

	@Test
	void closingThePoolReturnsAlthoughAHandlerIgnoresItsInterrupt() {
		CountDownLatch inside = new CountDownLatch(1);
		AtomicBoolean leave = new AtomicBoolean();
		LeaderFollowersPool pool = this.engine.pool(1, 1);
		TcpServer server = this.engine.lines(pool, (connection, message) -> {
			inside.countDown();
			long end = System.nanoTime() + 2 * Engine.DEADLINE.toNanos();
			while (!leave.get() && System.nanoTime() - end < 0) {
				Thread.onSpinWait();
			}
		});
		this.engine.connect(server).send("x\n");
		Engine.pass(inside);
		assertThat(pool.close(Duration.ofMillis(100))).isFalse();
		assertThat(pool.snapshot().state()).isEqualTo(PoolSnapshot.State.STOPPED);
		// Queries still work, and do not block.
		assertThat(pool.snapshot().threads()).hasSize(1);
		assertThat(server.snapshot().openConnections()).isOne();
		long start = System.nanoTime();
		assertThat(server.close(Engine.DEADLINE)).isFalse();
		assertThat(System.nanoTime() - start).as("nothing will change by waiting").isLessThan(15_000_000_000L);
		leave.set(true);
		Engine.awaitNoThreads(pool);
		assertThat(pool.snapshot().threads()).isEmpty();
	}

	@ParameterizedTest
	@ValueSource(ints = { 1, 4 })
	void aHandlerMayCloseItsServerAndIsNotWaitedForByItself(int threads) {
		AtomicReference<Boolean> result = new AtomicReference<>();
		AtomicReference<TcpServer> self = new AtomicReference<>();
		LeaderFollowersPool pool = this.engine.pool(threads, threads);
		TcpServer server = this.engine.lines(pool, (connection, message) -> {
			connection.send(Engine.bytes("closing"));
			result.set(self.get().close(Engine.DEADLINE));
		});
		self.set(server);
		long start = System.nanoTime();
		assertThat(this.engine.connect(server).send("x\n").readTextToEnd()).isEqualTo("closing\n");
		Engine.eventually().until(() -> result.get() != null);
		assertThat(System.nanoTime() - start).isLessThan(20_000_000_000L);
		Engine.eventually().until(() -> server.snapshot().openConnections() == 0);
		Engine.awaitIdle(pool);
	}

	@Test
	void aHandlerThatDrainsAnotherServerWaitsForTheHandlersOfThatServer() {
		CountDownLatch gate = this.engine.gate();
		LeaderFollowersPool pool = this.engine.pool(2, 4);
		TcpServer blocked = this.engine.lines(pool, blocking(gate));
		TcpServer other = this.engine.lines(pool, (connection, message) -> connection
			.send(Engine.bytes("drained: " + blocked.drain(Duration.ofMillis(20)))));
		Peer waiting = this.engine.connect(blocked).send("block\n");
		Engine.eventually().until(() -> blocked.snapshot().receivedMessages() == 1);
		assertThat(this.engine.connect(other).send("x\n").readLine()).isEqualTo("drained: false");
		gate.countDown();
		assertThat(waiting.readTextToEnd()).isEqualTo("block\n");
	}

	/** With a window, the other handler runs for the same connection. */
	@ParameterizedTest
	@ValueSource(ints = { 1, 2 })
	void aHandlerThatDrainsItsServerWaitsForTheOtherHandlers(int inFlight) {
		CountDownLatch gate = this.engine.gate();
		AtomicReference<TcpServer> self = new AtomicReference<>();
		TcpServer server = this.engine.start(TcpServer.builder(this.engine.pool(2, 4))
			.framing(Framing.line())
			.maxInFlightPerConnection(inFlight)
			.handler((connection, message) -> {
				if (Engine.text(message).equals("block")) {
					Engine.pass(gate);
					connection.send(message);
				}
				else {
					connection.send(Engine.bytes("drained: " + self.get().drain(Duration.ofMillis(20))));
				}
			}));
		self.set(server);
		Peer waiting = this.engine.connect(server).send("block\n");
		Engine.eventually().until(() -> server.snapshot().receivedMessages() == 1);
		Peer asking = (inFlight > 1) ? waiting : this.engine.connect(server);
		assertThat(asking.send("x\n").readLine()).isEqualTo("drained: false");
		gate.countDown();
		assertThat(waiting.readTextToEnd()).isEqualTo("block\n");
	}

	@ParameterizedTest
	@ValueSource(ints = { 1, 4 })
	void aHandlerMayCloseItsPool(int threads) {
		AtomicReference<Boolean> result = new AtomicReference<>();
		LeaderFollowersPool pool = this.engine.pool(threads, threads);
		TcpServer server = this.engine.lines(pool, (connection, message) -> {
			connection.send(Engine.bytes("closing"));
			result.set(pool.close(Engine.DEADLINE));
		});
		long start = System.nanoTime();
		assertThat(this.engine.connect(server).send("x\n").readLine()).isEqualTo("closing");
		Engine.eventually().until(() -> result.get() != null);
		assertThat(System.nanoTime() - start).isLessThan(20_000_000_000L);
		Engine.awaitNoThreads(pool);
		assertThat(pool.snapshot().state()).isEqualTo(PoolSnapshot.State.STOPPED);
		assertThat(server.snapshot().openConnections()).isZero();
	}

	@ParameterizedTest
	@ValueSource(booleans = { true, false })
	void severalHandlersMayCloseTheirServerOrPoolAtATime(boolean server) {
		AtomicReference<TcpServer> self = new AtomicReference<>();
		AtomicInteger inside = new AtomicInteger();
		AtomicInteger done = new AtomicInteger();
		LeaderFollowersPool pool = this.engine.pool(2, 8);
		self.set(this.engine.lines(pool, (connection, message) -> {
			inside.incrementAndGet();
			Engine.eventually().until(() -> inside.get() == 4);
			assertThat(server ? self.get().close(Engine.DEADLINE) : pool.close(Engine.DEADLINE)).isTrue();
			done.incrementAndGet();
		}));
		long start = System.nanoTime();
		for (int i = 0; i < 4; i++) {
			this.engine.connect(self.get()).send("x\n");
		}
		Engine.eventually().until(() -> done.get() == 4);
		assertThat(System.nanoTime() - start).isLessThan(20_000_000_000L);
		Engine.eventually().until(() -> self.get().snapshot().openConnections() == 0);
	}

	@Test
	void connectionsOfAPoolThatIsClosedByForceAreToldSo() {
		CountDownLatch inside = new CountDownLatch(1);
		Recorder recorder = new Recorder() {
			@Override
			void message(Connection connection, ByteBuffer message) throws Exception {
				inside.countDown();
				new CountDownLatch(1).await();
			}
		};
		LeaderFollowersPool pool = this.engine.pool(1, 1);
		TcpServer server = this.engine.lines(pool, recorder);
		Peer idle = this.engine.connect(server);
		recorder.await(1);
		this.engine.connect(server).send("x\n");
		Engine.pass(inside);
		pool.close(Duration.ofMillis(100));
		idle.awaitClosed();
		assertThat(recorder.awaitClose(2)).last().asString().startsWith("close ");
		assertThat(recorder.awaitClose(1)).containsExactly("open", "close SHUTDOWN_TIMEOUT");
		// A connection is counted until its handler has returned.
		Engine.eventually().untilAsserted(() -> assertThat(server.snapshot().openConnections()).isZero());
	}

	@Test
	void aHandleRegisteredJustBeforeTheEndIsClosedAsWell() throws Exception {
		CountDownLatch inside = new CountDownLatch(1);
		LeaderFollowersPool pool = this.engine.pool(1, 1);
		TcpServer server = this.engine.lines(pool, (connection, message) -> {
			inside.countDown();
			new CountDownLatch(1).await();
		});
		this.engine.connect(server).send("x\n");
		Engine.pass(inside);
		Pipe pipe = Pipe.open();
		pipe.source().configureBlocking(false);
		Handle handle = pool.register(pipe.source(), (event, type) -> {
		}, EventType.READ);
		pool.close(Duration.ofMillis(100));
		assertThat(handle.isOpen()).isFalse();
		pipe.sink().close();
		pipe.source().close();
	}

	@Test
	void aSnapshotCanBeTakenAtAnyTime() throws Exception {
		AtomicBoolean stop = new AtomicBoolean();
		AtomicReference<LeaderFollowersPool> current = new AtomicReference<>(this.engine.pool(1, 2));
		CompletableFuture<Integer> watching = CompletableFuture.supplyAsync(() -> {
			int looks = 0;
			for (; !stop.get(); looks++) {
				PoolSnapshot snapshot = current.get().snapshot();
				assertThat(snapshot.count(ThreadRole.LEADER)).isLessThanOrEqualTo(2);
				assertThat(snapshot.handleSets()).hasSizeBetween(1, 2);
			}
			return looks;
		});
		for (int i = 0; i < 50; i++) {
			LeaderFollowersPool pool = this.engine.pool(LeaderFollowersPool.builder().threads(2, 4).handleSets(2));
			current.set(pool);
			TcpServer server = this.engine.lines(pool, (connection, message) -> connection.send(message));
			assertThat(this.engine.connect(server).send("x\n").readLine()).isEqualTo("x");
			pool.close(Duration.ZERO);
		}
		stop.set(true);
		assertThat(watching.get(30, TimeUnit.SECONDS)).isPositive();
	}

	@Test
	void aPortCanBeBoundAgainAsSoonAsItsServerIsClosed() {
		LeaderFollowersPool pool = this.engine.pool(2, 4);
		TcpServer first = this.engine.lines(pool, (connection, message) -> connection.send(message));
		int port = first.port();
		first.close();
		for (int i = 0; i < 300; i++) {
			TcpServer next = TcpServer.builder(pool)
				.address(InetAddress.getLoopbackAddress())
				.port(port)
				.framing(Framing.line())
				.handler((connection, message) -> connection.send(message))
				.build();
			next.start();
			next.close();
		}
	}

	@Test
	void aPoolThatIsClosedStopsAllItsServersFromAcceptingAtOnce() throws Exception {
		CountDownLatch gate = this.engine.gate();
		LeaderFollowersPool pool = this.engine.pool(2, 8);
		Recorder recorder = blocking(gate);
		TcpServer first = this.engine.lines(pool, recorder);
		TcpServer second = this.engine.lines(pool, recorder);
		Peer peer = this.engine.connect(first).send("block\n");
		Engine.eventually().until(() -> recorder.of(1).size() == 2);
		CompletableFuture<Boolean> closed = CompletableFuture.supplyAsync(() -> pool.close(Engine.DEADLINE));
		Engine.eventually().until(() -> second.snapshot().state() != ServerSnapshot.State.RUNNING);
		Engine.eventually().ignoreExceptions().until(() -> {
			try (Socket socket = new Socket(second.address().getAddress(), second.port())) {
				return false;
			}
			catch (ConnectException ex) {
				return true;
			}
		});
		gate.countDown();
		assertThat(peer.readTextToEnd()).isEqualTo("block\n");
		assertThat(closed.get(30, TimeUnit.SECONDS)).isTrue();
	}

	@Test
	void aServerWhosePortIsInUseLeavesNoThread() {
		TcpServer first = this.engine.lines(this.engine.pool(1, 1), (connection, message) -> {
		});
		LeaderFollowersPool pool = this.engine.pool(2, 4);
		TcpServer second = TcpServer.builder(pool)
			.address(InetAddress.getLoopbackAddress())
			.port(first.port())
			.framing(Framing.line())
			.handler((connection, message) -> {
			})
			.build();
		assertThatThrownBy(second::start).hasRootCauseInstanceOf(BindException.class);
		assertThat(Engine.threadsOf(pool)).isEmpty();
		List<Long> descriptors = new ArrayList<>();
		for (int i = 0; i < 50 && OS.LINUX.isCurrentOs(); i++) {
			descriptors.add(Engine.descriptors());
			assertThatThrownBy(second::start).hasRootCauseInstanceOf(BindException.class);
		}
		assertThat(descriptors).allSatisfy((count) -> assertThat(count).isLessThan(descriptors.get(0) + 20));
	}

}
