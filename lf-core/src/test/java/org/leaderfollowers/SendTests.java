package org.leaderfollowers;

import java.lang.management.ManagementFactory;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;

import com.sun.management.ThreadMXBean;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import static org.assertj.core.api.Assertions.assertThat;

/** Sending from any thread, data of any size, to peers that read late or never. */
@Timeout(120)
class SendTests {

	/** So small that the socket is soon full, although the kernel enlarges it. */
	private static final int SMALL_WINDOW = 4096;

	/** How many messages teach the engine that a handler is short. */
	private static final int SHORT = 300;

	@RegisterExtension
	final Engine engine = new Engine();

	@Test
	void foreignThreadsNeverTearAMessageAndKeepTheirOwnOrder() throws Exception {
		Recorder recorder = new Recorder();
		TcpServer server = this.engine.start(TcpServer.builder(this.engine.pool(2, 4))
			.framing(Framing.line())
			.handler(recorder)
			.maxOutboundSize(64 * 1024 * 1024));
		Peer peer = this.engine.connect(server);
		Connection connection = recorder.await(1);
		int threads = 8;
		int each = 500;
		CountDownLatch start = new CountDownLatch(1);
		List<Thread> senders = new ArrayList<>();
		for (int t = 0; t < threads; t++) {
			int sender = t;
			Thread thread = new Thread(() -> {
				Random random = new Random(sender);
				Engine.pass(start);
				for (int i = 0; i < each; i++) {
					String filler = ("" + (char) ('a' + sender)).repeat(random.nextInt(2000));
					connection.send(Engine.bytes(sender + ":" + i + ":" + filler));
				}
			});
			thread.start();
			senders.add(thread);
		}
		start.countDown();
		// Requests and their replies go on in between.
		peer.send("request\n".repeat(100));
		int[] next = new int[threads];
		int replies = 0;
		for (int n = 0; n < threads * each + 100; n++) {
			String line = peer.readLine();
			assertThat(line).isNotNull();
			if (line.equals("request")) {
				replies++;
				continue;
			}
			String[] parts = line.split(":", -1);
			int sender = Integer.parseInt(parts[0]);
			assertThat(Integer.parseInt(parts[1])).isEqualTo(next[sender]++);
			assertThat(parts[2]).matches((char) ('a' + sender) + "*");
		}
		assertThat(replies).isEqualTo(100);
		for (Thread thread : senders) {
			thread.join();
		}
		Engine.eventually().until(() -> connection.pendingBytes() == 0);
	}

	@Test
	void asyncRepliesOfForeignThreadsArrive() {
		TcpServer server = this.engine.lines(this.engine.pool(1, 1), (connection, message) -> {
			String text = Engine.text(message);
			CompletableFuture.runAsync(() -> connection.send(Engine.bytes(text)));
		});
		Peer peer = this.engine.connect(server);
		for (int i = 0; i < 200; i++) {
			assertThat(peer.send(i + "\n").readLine()).isEqualTo("" + i);
		}
	}

	@Test
	void handlersMaySendToEachOthersConnections() throws Exception {
		ConcurrentMap<Long, Connection> members = new ConcurrentHashMap<>();
		TcpServer server = this.engine.start(TcpServer.builder(this.engine.pool(2, 8))
			.framing(Framing.line())
			.maxOutboundSize(64 * 1024 * 1024)
			.handler(new MessageHandler() {
				@Override
				public void onOpen(Connection connection) {
					members.put(connection.id(), connection);
				}

				@Override
				public void onMessage(Connection connection, ByteBuffer message) {
					members.values().forEach((member) -> member.send(message));
				}
			}));
		int count = 8;
		int each = 200;
		List<Peer> peers = new ArrayList<>();
		for (int i = 0; i < count; i++) {
			peers.add(this.engine.connect(server));
		}
		Engine.eventually().until(() -> members.size() == count);
		CompletableFuture<Void> sending = CompletableFuture.runAsync(() -> {
			for (int n = 0; n < each; n++) {
				for (int i = 0; i < count; i++) {
					peers.get(i).send(i + ":" + n + ":" + ("" + i).repeat(n) + "\n");
				}
			}
		});
		for (Peer peer : peers) {
			int[] next = new int[count];
			for (int n = 0; n < count * each; n++) {
				String[] line = peer.readLine().split(":", -1);
				int sender = Integer.parseInt(line[0]);
				assertThat(Integer.parseInt(line[1])).isEqualTo(next[sender]);
				assertThat(line[2]).isEqualTo(("" + sender).repeat(next[sender]++));
			}
		}
		sending.get(30, TimeUnit.SECONDS);
	}

	@Test
	void whatWaitsForAPeerThatDoesNotReadIsBounded() {
		int limit = 256 * 1024;
		Recorder recorder = new Recorder();
		LeaderFollowersPool pool = this.engine.pool(2, 4);
		TcpServer server = this.engine
			.start(TcpServer.builder(pool).framing(Framing.line()).handler(recorder).maxOutboundSize(limit));
		Peer peer = this.engine.connect(server, SMALL_WINDOW);
		Connection connection = recorder.await(1);
		byte[] payload = new byte[1000];
		Arrays.fill(payload, (byte) 'x');
		ByteBuffer message = ByteBuffer.wrap(payload);
		int accepted = 0;
		SlowConsumerException refusal = null;
		long end = System.nanoTime() + Engine.DEADLINE.toNanos();
		while (refusal == null && System.nanoTime() - end < 0) {
			try {
				connection.send(message);
				accepted++;
			}
			catch (SlowConsumerException ex) {
				refusal = ex;
			}
			assertThat(message.position()).isZero();
			assertThat(message.remaining()).isEqualTo(1000);
			assertThat(connection.pendingBytes()).isLessThan(limit + 1001);
		}
		assertThat(refusal).isNotNull().hasMessageContaining("" + limit);
		assertThat(connection.isOpen()).isTrue();
		// Others are served meanwhile, by a pool that does not spin.
		assertThat(this.engine.connect(server).send("other\n").readLine()).isEqualTo("other");
		// When the peer finally reads, everything accepted arrives, and nothing else.
		for (int i = 0; i < accepted; i++) {
			assertThat(peer.readLine()).hasSize(1000);
		}
		Engine.eventually().until(() -> connection.pendingBytes() == 0);
		assertThat(peer.send("again\n").readLine()).isEqualTo("again");
	}

	@Test
	void tinyMessagesThatWaitCostNoMoreThanTheyAreAllowedTo() {
		int limit = 1024 * 1024;
		Recorder recorder = new Recorder();
		TcpServer server = this.engine.start(TcpServer.builder(this.engine.pool(2, 4))
			.framing(Framing.line())
			.handler(recorder)
			.maxMessageSize(100_000)
			.maxOutboundSize(limit));
		int count = 8;
		List<Connection> connections = new ArrayList<>();
		for (int i = 1; i <= count; i++) {
			this.engine.connect(server, SMALL_WINDOW);
			connections.add(recorder.await(i));
		}
		long before = Engine.usedHeap();
		ByteBuffer message = Engine.bytes("");
		for (Connection connection : connections) {
			fill(connection);
			try {
				long end = System.nanoTime() + Engine.DEADLINE.toNanos();
				while (System.nanoTime() - end < 0) {
					connection.send(message);
				}
			}
			catch (SlowConsumerException ex) {
				// full
			}
			assertThat(connection.pendingBytes()).isEqualTo(limit);
		}
		assertThat((Engine.usedHeap() - before) / count).as("heap for %d bytes that wait", limit)
			.isLessThan(3L * limit);
	}

	@Test
	void emptyRawMessagesToAFullSocketDoNotPileUp() {
		Recorder recorder = new Recorder();
		TcpServer server = this.engine.start(TcpServer.builder(this.engine.pool(2, 4))
			.framing(Framing.raw())
			.handler(recorder)
			.maxOutboundSize(64 * 1024));
		this.engine.connect(server, SMALL_WINDOW);
		Connection connection = recorder.await(1);
		fill(connection);
		long before = Engine.usedHeap();
		for (int i = 0; i < 1_000_000 && connection.isOpen(); i++) {
			try {
				connection.send(ByteBuffer.allocate(0));
			}
			catch (SlowConsumerException ex) {
				break;
			}
		}
		assertThat(Engine.usedHeap() - before).isLessThan(10_000_000);
	}

	/**
	 * Sends until the socket buffers of both sides are full and bytes wait in the
	 * connection.
	 */
	private static void fill(Connection connection) {
		ByteBuffer chunk = ByteBuffer.allocate(8 * 1024);
		while (connection.pendingBytes() == 0) {
			connection.send(chunk);
		}
	}

	@Test
	void readingPausesWhileThePeerDoesNotReadAndAllRepliesArriveInOrder() {
		int requests = 20_000;
		AtomicInteger handled = new AtomicInteger();
		String filler = "x".repeat(1000);
		LeaderFollowersPool pool = this.engine.pool(2, 4);
		TcpServer server = this.engine.start(TcpServer.builder(pool)
			.framing(Framing.line())
			.maxOutboundSize(128 * 1024)
			.handler((connection, message) -> {
				handled.incrementAndGet();
				connection.send(Engine.bytes(Engine.text(message) + ":" + filler));
			}));
		Peer peer = this.engine.connect(server, SMALL_WINDOW);
		CompletableFuture<Void> sending = CompletableFuture.runAsync(() -> {
			for (int i = 0; i < requests; i++) {
				peer.send(i + "\n");
			}
			peer.shutdownOutput();
		});
		// The connection comes to rest although requests are left.
		Engine.eventually().untilAsserted(() -> {
			long before = events(pool);
			Engine.elapse(Duration.ofMillis(300));
			assertThat(handled.get()).isPositive();
			assertThat(events(pool) - before).as("events of a pool that should be at rest").isLessThan(5);
		});
		assertThat(handled.get()).isLessThan(requests);
		assertThat(this.engine.connect(server).send("other\n").readLine()).startsWith("other");
		for (int i = 0; i < requests; i++) {
			assertThat(peer.readLine()).isEqualTo(i + ":" + filler);
		}
		assertThat(peer.readLine()).isNull();
		sending.join();
		assertThat(handled).hasValue(requests + 1);
	}

	private static long events(LeaderFollowersPool pool) {
		return pool.snapshot()
			.handleSets()
			.stream()
			.flatMap((set) -> set.events().values().stream())
			.mapToLong(Long::longValue)
			.sum();
	}

	@ParameterizedTest
	@ValueSource(ints = { 1, 65_535, 65_536, 65_537, 200_000, 9_000_000 })
	void payloadsOfAnySizeArriveWhole(int size) {
		byte[] payload = new byte[size];
		new Random(size).nextBytes(payload);
		TcpServer server = this.engine.start(TcpServer.builder(this.engine.pool(1, 2))
			.framing(Framing.lengthField(4))
			.maxOutboundSize(32 * 1024 * 1024)
			.handler((connection, message) -> {
				ByteBuffer heap = ByteBuffer.wrap(payload);
				connection.send(heap);
				assertThat(heap.remaining()).isEqualTo(size);
				ByteBuffer direct = ByteBuffer.allocateDirect(size + 3).position(3).put(payload).position(3);
				connection.send(direct.asReadOnlyBuffer());
				connection.send(ByteBuffer.allocate(0));
				connection.close();
			}));
		Peer peer = this.engine.connect(server, SMALL_WINDOW).send("\0\0\0\0");
		byte[] all = peer.readToEnd();
		assertThat(all).hasSize(2 * size + 12);
		assertThat(Arrays.equals(all, 4, 4 + size, payload, 0, size)).isTrue();
		assertThat(Arrays.equals(all, 8 + size, 8 + 2 * size, payload, 0, size)).isTrue();
	}

	@Test
	void sendLeavesPositionAndLimitAsTheyWere() {
		AtomicReference<String> seen = new AtomicReference<>();
		TcpServer server = this.engine.lines(this.engine.pool(1, 2), (connection, message) -> {
			int position = message.position();
			int limit = message.limit();
			connection.send(message);
			connection.send(message);
			ByteBuffer part = Engine.bytes("0123456789").position(2).limit(5);
			connection.send(part);
			seen.set((message.position() - position) + " " + (message.limit() - limit) + " " + part.position() + " "
					+ part.limit());
		});
		assertThat(this.engine.connect(server).send("x\n").shutdownOutput().readTextToEnd()).isEqualTo("x\nx\n234\n");
		assertThat(seen).hasValue("0 0 2 5");
	}

	@Test
	void aPeerThatTakesNoByteIsClosedAfterTheWriteTimeoutAndOthersAreServedMeanwhile() {
		Recorder recorder = new Recorder();
		LeaderFollowersPool pool = this.engine.pool(2, 4);
		TcpServer server = this.engine.start(TcpServer.builder(pool)
			.framing(Framing.lengthField(4))
			.handler(recorder)
			.maxOutboundSize(32 * 1024 * 1024)
			.writeTimeout(Duration.ofMillis(500)));
		int slow = 10;
		for (int i = 1; i <= slow; i++) {
			this.engine.connect(server, SMALL_WINDOW);
			recorder.await(i).send(ByteBuffer.allocate(8_000_000));
		}
		Peer other = this.engine.connect(server);
		byte[] request = "\0\0\0\1x".getBytes();
		Engine.eventually().until(() -> {
			assertThat(other.send(request).read(5)).isEqualTo(request);
			return server.snapshot().closedConnections().get(CloseReason.WRITE_TIMEOUT) == slow;
		});
		for (int i = 1; i <= slow; i++) {
			assertThat(recorder.awaitClose(i)).containsExactly("open", "close WRITE_TIMEOUT");
			assertThat(recorder.await(i).pendingBytes()).isZero();
		}
	}

	@Test
	void aPeerThatReadsSlowlyButSteadilyIsNotClosedByTheWriteTimeout() {
		Recorder recorder = new Recorder();
		TcpServer server = this.engine.start(TcpServer.builder(this.engine.pool(2, 4))
			.framing(Framing.lengthField(4))
			.handler(recorder)
			.maxOutboundSize(32 * 1024 * 1024)
			.writeTimeout(Duration.ofSeconds(5)));
		Peer peer = this.engine.connect(server, SMALL_WINDOW);
		int size = 8_000_000;
		recorder.await(1).send(ByteBuffer.allocate(size));
		// The whole transfer takes longer than the timeout.
		int part = (size + 4) / 20;
		for (int i = 0; i < 20; i++) {
			peer.read(part);
			Engine.elapse(Duration.ofMillis(300));
		}
		peer.read(size + 4 - 20 * part);
		assertThat(recorder.of(1)).containsExactly("open");
	}

	@Test
	void withoutAWriteTimeoutAPeerMayTakeItsTime() {
		Recorder recorder = new Recorder();
		TcpServer server = this.engine.start(TcpServer.builder(this.engine.pool(2, 4))
			.framing(Framing.lengthField(4))
			.handler(recorder)
			.maxOutboundSize(32 * 1024 * 1024)
			.writeTimeout(Duration.ZERO)
			.idleTimeout(Duration.ZERO));
		Peer peer = this.engine.connect(server, SMALL_WINDOW);
		recorder.await(1).send(ByteBuffer.allocate(8_000_000));
		Engine.elapse(Duration.ofMillis(500));
		assertThat(peer.read(8_000_004)).hasSize(8_000_004);
	}

	@Test
	void closeAfterALargeSendStillDeliversAllOfIt() {
		byte[] payload = new byte[6_000_000];
		new Random(1).nextBytes(payload);
		Recorder recorder = new Recorder() {
			@Override
			void message(Connection connection, ByteBuffer message) {
				connection.send(ByteBuffer.wrap(payload));
				connection.close();
			}
		};
		TcpServer server = this.engine.start(TcpServer.builder(this.engine.pool(1, 2))
			.framing(Framing.lengthField(4))
			.maxOutboundSize(8_000_000)
			.handler(recorder));
		Peer peer = this.engine.connect(server, SMALL_WINDOW).send("\0\0\0\0");
		// Bytes that arrive after the close must not reset the connection either.
		peer.send(new byte[100_000]);
		byte[] all = peer.readToEnd();
		assertThat(Arrays.equals(all, 4, all.length, payload, 0, payload.length)).isTrue();
		assertThat(recorder.awaitClose(1)).containsExactly("open", "", "close LOCAL");
	}

	@Test
	void aSlowConsumerExceptionThatLeavesTheHandlerClosesAndWhatWasAcceptedArrives() {
		AtomicInteger accepted = new AtomicInteger();
		Recorder recorder = new Recorder() {
			@Override
			void message(Connection connection, ByteBuffer message) {
				for (;;) {
					connection.send(ByteBuffer.allocate(50_000));
					accepted.incrementAndGet();
				}
			}
		};
		TcpServer server = this.engine.start(TcpServer.builder(this.engine.pool(1, 2))
			.framing(Framing.lengthField(4))
			.maxOutboundSize(100_000)
			.handler(recorder));
		byte[] all = this.engine.connect(server, SMALL_WINDOW).send("\0\0\0\0").readToEnd();
		assertThat(all).hasSize(accepted.get() * 50_004);
		assertThat(recorder.awaitClose(1)).containsExactly("open", "", "error SlowConsumerException",
				"close HANDLER_ERROR");
	}

	@ParameterizedTest
	@ValueSource(booleans = { true, false })
	void aPeerThatResetsWhileRepliesWaitAndItsHandlerBlocksDoesNotMakeTheLeaderSpin(boolean requestsWait) {
		CountDownLatch gate = this.engine.gate();
		Recorder recorder = new Recorder() {
			@Override
			void message(Connection connection, ByteBuffer message) {
				if (Engine.text(message).equals("block")) {
					fill(connection);
					Engine.pass(gate);
				}
			}
		};
		LeaderFollowersPool pool = this.engine.pool(2, 4);
		TcpServer server = this.engine.start(TcpServer.builder(pool)
			.framing(Framing.line())
			.maxMessageSize(100_000)
			.maxOutboundSize(32 * 1024 * 1024)
			.handler(recorder));
		Peer peer = this.engine.connect(server, SMALL_WINDOW).send("block\n");
		Connection connection = recorder.await(1);
		Engine.eventually().until(() -> connection.pendingBytes() > 0);
		if (requestsWait) {
			peer.send("more\n");
		}
		peer.reset();
		Engine.eventually().until(() -> !connection.isOpen());
		long before = events(pool);
		Engine.elapse(Duration.ofMillis(300));
		assertThat(events(pool) - before).as("events while every peer is silent").isLessThan(5);
		assertThat(this.engine.connect(server).send("\n").shutdownOutput().readLine()).isNull();
		gate.countDown();
		assertThat(recorder.awaitClose(1)).endsWith("close IO_ERROR");
	}

	/** What the socket does not take is kept in memory of its own. */
	@Test
	void aLargeFrameThatTheSocketTakesAllocatesNothing() {
		ThreadMXBean threads = ManagementFactory.getPlatformMXBean(ThreadMXBean.class);
		ByteBuffer large = ByteBuffer.allocate(200_000);
		AtomicLong least = new AtomicLong(Long.MAX_VALUE);
		TcpServer server = this.engine.start(TcpServer.builder(this.engine.pool(1, 1))
			.framing(Framing.lengthField(4))
			.handler((connection, message) -> {
				long before = threads.getCurrentThreadAllocatedBytes();
				connection.send(large);
				least.accumulateAndGet(threads.getCurrentThreadAllocatedBytes() - before, Math::min);
			}));
		Peer peer = this.engine.connect(server);
		for (int i = 0; i < 50; i++) {
			assertThat(peer.send(new byte[] { 0, 0, 0, 0 }).read(4 + 200_000)).hasSize(200_004);
		}
		assertThat(least).hasValueLessThan(10_000);
	}

	@Test
	void sendingToAPeerThatHasGoneIsRefusedInTheEnd() {
		Recorder recorder = new Recorder() {
			@Override
			void message(Connection connection, ByteBuffer message) {
				long end = System.nanoTime() + Engine.DEADLINE.toNanos();
				while (System.nanoTime() - end < 0) {
					try {
						connection.send(message);
					}
					catch (SlowConsumerException ex) {
						Thread.yield();
					}
				}
			}
		};
		TcpServer server = this.engine.lines(this.engine.pool(1, 2), recorder);
		Peer peer = this.engine.connect(server).send("x\n");
		assertThat(peer.readLine()).isEqualTo("x");
		peer.reset();
		assertThat(recorder.awaitClose(1)).last().isEqualTo("close IO_ERROR");
		assertThat(recorder.of(1)).doesNotContain("error ConnectionClosedException");
	}

	/** Replies to messages that arrive together are written together. */
	@Test
	void replyThatCannotBeEncodedLeavesNothingBetweenTheOthers() {
		Framing failing = encoding((line, payload, output) -> {
			boolean fails = payload.get(payload.position()) == '!';
			line.encode(payload, output);
			if (fails) {
				throw new IllegalStateException("made for the test");
			}
		});
		TcpServer server = startWithShortHandler(failing, (connection, message) -> {
			try {
				connection.send(message);
			}
			catch (IllegalStateException ex) {
				connection.send(Engine.bytes("sorry"));
			}
		});
		Peer peer = this.engine.connect(server);
		for (int i = 0; i < 200; i++) {
			peer.send("1\n!\n2\n!\n3\n");
			for (String reply : List.of("1", "sorry", "2", "sorry", "3")) {
				assertThat(peer.readLine()).isEqualTo(reply);
			}
		}
	}

	/**
	 * Starts a server that writes replies to messages that arrive together at once. Its
	 * handler takes no time on this clock. The engine has learned this, and keeps the
	 * leadership while the handler runs.
	 */
	private TcpServer startWithShortHandler(Framing framing, MessageHandler handler) {
		LeaderFollowersPool pool = this.engine.pool(LeaderFollowersPool.builder().threads(1, 1).clock(new TestClock()));
		TcpServer server = this.engine.start(TcpServer.builder(pool).framing(framing).handler(handler));
		Peer peer = this.engine.connect(server);
		for (int i = 0; i < SHORT; i++) {
			assertThat(peer.send("1\n").readLine()).isNotNull();
		}
		return server;
	}

	/** Together they are larger than the buffer that they are encoded into. */
	@Test
	void manyRepliesToMessagesThatArriveTogetherAreWholeAndCounted() {
		AtomicInteger together = new AtomicInteger();
		Framing reordering = encoding((line, payload, output) -> {
			assertThat(output.order()).isEqualTo(ByteOrder.BIG_ENDIAN);
			if (output.position() > 0) {
				together.incrementAndGet();
			}
			line.encode(payload, output);
			output.order(ByteOrder.LITTLE_ENDIAN);
		});
		String reply = "x".repeat(3000);
		TcpServer server = startWithShortHandler(reordering,
				(connection, message) -> connection.send(Engine.bytes(reply)));
		int rounds = 200;
		int each = 30;
		Peer peer = this.engine.connect(server);
		for (int i = 0; i < rounds; i++) {
			peer.send("1\n".repeat(each));
			for (int j = 0; j < each; j++) {
				assertThat(peer.readLine()).isEqualTo(reply);
			}
		}
		assertThat(together).hasPositiveValue();
		Engine.eventually()
			.until(() -> server.snapshot().sentBytes() == (SHORT + rounds * each) * (reply.length() + 1L));
	}

	@Test
	void messageBetweenTwoRequestsIsWrittenAtOnce() {
		TcpServer server = this.engine
			.start(TcpServer.builder(this.engine.pool(1, 1)).framing(Framing.line()).handler(new MessageHandler() {

				@Override
				public void onMessage(Connection connection, ByteBuffer message) {
					if (message.get(message.position()) == '3') {
						connection.idleAfter(EventType.WRITE, Duration.ofMillis(20));
					}
					connection.send(message);
				}

				@Override
				public void onIdle(Connection connection, EventType type) {
					connection.idleAfter(EventType.WRITE, Duration.ZERO);
					connection.send(Engine.bytes("heartbeat"));
				}

			}));
		Peer peer = this.engine.connect(server);
		for (int i = 0; i < 205; i++) {
			boolean isSilent = i >= 200;
			peer.send(isSilent ? "1\n2\n3\n" : "1\n2\n");
			for (String reply : isSilent ? List.of("1", "2", "3", "heartbeat") : List.of("1", "2")) {
				assertThat(peer.readLine()).isEqualTo(reply);
			}
		}
	}

	/** Lines that are encoded in a special way. */
	private static Framing encoding(Encoder encoder) {
		Framing line = Framing.line();
		return new Framing() {

			@Override
			public boolean decode(ByteBuffer input, Frame frame) {
				return line.decode(input, frame);
			}

			@Override
			public int maxFrameLength(int payloadLength) {
				return line.maxFrameLength(payloadLength);
			}

			@Override
			public void encode(ByteBuffer payload, ByteBuffer output) {
				encoder.encode(line, payload, output);
			}

		};
	}

	private interface Encoder {

		void encode(Framing line, ByteBuffer payload, ByteBuffer output);

	}

}
