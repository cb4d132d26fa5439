package org.leaderfollowers;

import java.io.IOException;
import java.net.Inet6Address;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.DatagramChannel;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;

import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

/**
 * Datagrams: handled in parallel, received completely or not at all, and answered within
 * limits.
 */
class UdpServerTests {

	@RegisterExtension
	final Engine engine = new Engine();

	private final List<DatagramPeer> peers = new ArrayList<>();

	private UdpServer start(LeaderFollowersPool pool, MessageHandler handler) {
		return this.engine.start(UdpServer.builder(pool).handler(handler));
	}

	private static void echo(Connection datagram, ByteBuffer message) {
		datagram.send(message);
	}

	private LeaderFollowersPool pool(PromotionPolicy policy, int min, int max) {
		return this.engine.pool(LeaderFollowersPool.builder().promotionPolicy(policy).threads(min, max));
	}

	private static ServerSnapshot.Datagrams datagrams(UdpServer server) {
		ServerSnapshot.Datagrams datagrams = server.snapshot().datagrams();
		assertThat(datagrams).isNotNull();
		return datagrams;
	}

	@Test
	void bytesAreCountedInBothDirectionsUntilTheServerIsDone() throws Exception {
		UdpServer server = this.engine.start(UdpServer.builder(this.engine.pool(2, 4))
			.handler((datagram, message) -> datagram.send(Engine.bytes("longer"))));
		try (DatagramPeer peer = new DatagramPeer(server)) {
			assertThat(peer.ask("x")).isEqualTo("longer");
		}
		Engine.eventually().until(() -> datagrams(server).inFlight() == 0);
		assertThat(server.snapshot().receivedBytes()).isPositive();
		assertThat(server.snapshot().sentBytes()).isEqualTo("longer".length() * server.snapshot().receivedBytes());
		assertThat(server.life.isDone()).isFalse();
		assertThat(server.close(Engine.DEADLINE)).isTrue();
		assertThat(server.life.isDone()).isTrue();
	}

	@ParameterizedTest
	@CsvSource({ "EAGER, 1", "EAGER, 2", "ADAPTIVE, 1", "ADAPTIVE, 2" })
	void everySenderGetsItsOwnAnswers(PromotionPolicy policy, int handleSets) throws Exception {
		LeaderFollowersPool pool = this.engine
			.pool(LeaderFollowersPool.builder().promotionPolicy(policy).handleSets(handleSets).threads(2, 4));
		UdpServer server = start(pool, UdpServerTests::echo);
		List<CompletableFuture<Void>> senders = new ArrayList<>();
		for (int i = 0; i < 4; i++) {
			int sender = i;
			senders.add(CompletableFuture.runAsync(() -> {
				try (DatagramPeer peer = new DatagramPeer(server)) {
					for (int j = 0; j < 500; j++) {
						String text = "sender " + sender + " message " + j;
						assertThat(peer.ask(text)).isEqualTo(text);
					}
				}
			}));
		}
		for (CompletableFuture<Void> sender : senders) {
			sender.get(Engine.DEADLINE.toSeconds() * 2, TimeUnit.SECONDS);
		}
		// The reply is counted after it has been sent.
		Engine.eventually().until(() -> datagrams(server).inFlight() == 0);
		ServerSnapshot snapshot = server.snapshot();
		assertThat(snapshot.transport()).isEqualTo(TransportType.UDP);
		assertThat(snapshot.receivedMessages()).isGreaterThanOrEqualTo(2000);
		assertThat(snapshot.receivedBytes()).isEqualTo(snapshot.sentBytes()).isPositive();
		assertThat(datagrams(server).sentReplies()).isEqualTo(snapshot.receivedMessages());
	}

	@Test
	void aDatagramStandsForAConnection() throws Exception {
		BlockingQueue<Connection> seen = new LinkedBlockingQueue<>();
		UdpServer server = this.engine.start(UdpServer.builder(this.engine.pool(2, 4))
			.name("telemetry")
			.handlerName("sensors")
			.handler((datagram, message) -> {
				assertThat(message.order()).isEqualTo(ByteOrder.BIG_ENDIAN);
				message.order(ByteOrder.LITTLE_ENDIAN);
				message.get();
				message.reset();
				datagram.attributes().put("text", Engine.text(message));
				seen.add(datagram);
			}));
		try (DatagramPeer peer = new DatagramPeer(server)) {
			peer.send("one").send("two");
			Connection one = seen.take();
			Connection two = seen.take();
			assertThat(one.id()).isNotEqualTo(two.id());
			assertThat(one.attributes()).isNotSameAs(two.attributes()).hasSize(1);
			assertThat(List.of(one.attributes().get("text"), two.attributes().get("text")))
				.containsExactlyInAnyOrder("one", "two");
			assertThat(one.remoteAddress())
				.isEqualTo(new InetSocketAddress(InetAddress.getLoopbackAddress(), peer.port()));
			assertThat(one.localAddress()).isEqualTo(server.address());
			assertThat(one.server()).isEqualTo("telemetry");
			assertThat(one).hasToString("Datagram " + one.id() + " of server 'telemetry'");
			assertThat(one.isOpen()).isTrue();
			assertThat(one.isWritable()).isTrue();
			assertThat(one.pendingBytes()).isZero();
			one.close();
			assertThat(one.isOpen()).isFalse();
			assertThat(two.isOpen()).isTrue();
			assertThatExceptionOfType(ConnectionClosedException.class).isThrownBy(() -> one.send(Engine.bytes("late")))
				.satisfies((ex) -> assertThat(ex.reason()).isEqualTo(CloseReason.LOCAL));
			ByteBuffer reply = Engine.bytes("...two").position(3);
			two.send(reply);
			assertThat(reply.position()).isEqualTo(3);
			assertThat(reply.remaining()).isEqualTo(3);
			assertThat(peer.receive()).isEqualTo("two");
		}
		assertThat(server.snapshot().handler()).isEqualTo("sensors");
		assertThat(server.snapshot().framing()).isEqualTo("datagram");
	}

	@Test
	void thereIsNothingToOpenOrToClose() {
		Recorder recorder = new Recorder();
		UdpServer server = start(this.engine.pool(2, 4), recorder);
		try (DatagramPeer peer = new DatagramPeer(server)) {
			assertThat(peer.ask("hello")).isEqualTo("hello");
		}
		server.close();
		assertThat(recorder.of(1)).containsExactly("hello");
	}

	@Test
	void anEmptyDatagramIsAMessage() {
		UdpServer server = start(this.engine.pool(2, 4),
				(datagram, message) -> datagram.send(Engine.bytes("got " + message.remaining())));
		try (DatagramPeer peer = new DatagramPeer(server)) {
			assertThat(peer.ask("")).isEqualTo("got 0");
		}
		assertThat(server.snapshot().receivedMessages()).isPositive();
	}

	@Test
	void anEmptyReplyIsSent() {
		UdpServer server = start(this.engine.pool(2, 4), (datagram, message) -> datagram.send(ByteBuffer.allocate(0)));
		try (DatagramPeer peer = new DatagramPeer(server)) {
			assertThat(peer.ask("x")).isEmpty();
		}
		Engine.eventually().until(() -> datagrams(server).sentReplies() > 0);
		assertThat(datagrams(server).droppedReplies()).isZero();
	}

	@Test
	void aDatagramThatIsTooLargeIsDroppedAndCounted() {
		UdpServer server = this.engine
			.start(UdpServer.builder(this.engine.pool(2, 4)).maxMessageSize(10).handler(UdpServerTests::echo));
		try (DatagramPeer peer = new DatagramPeer(server)) {
			peer.send("12345678901").send("x".repeat(60_000));
			assertThat(peer.ask("1234567890")).isEqualTo("1234567890");
			Engine.eventually().until(() -> datagrams(server).truncated() == 2);
		}
		assertThat(this.engine.log()).anyMatch((line) -> line.contains("maxMessageSize")).hasSize(1);
	}

	@Test
	void theLargestDatagramIsHandledWhole() {
		UdpServer server = start(this.engine.pool(2, 4), UdpServerTests::echo);
		try (DatagramPeer peer = new DatagramPeer(server)) {
			String largest = "0123456789".repeat(6_550) + "1234567";
			assertThat(largest).hasSize(65_507);
			assertThat(peer.ask(largest)).isEqualTo(largest);
		}
	}

	@Test
	void aReplyThatFitsIntoNoDatagramIsRefused() {
		CompletableFuture<Throwable> refusal = new CompletableFuture<>();
		UdpServer server = start(this.engine.pool(2, 4), (datagram, message) -> {
			try {
				datagram.send(ByteBuffer.allocate(65_508));
			}
			catch (IllegalArgumentException ex) {
				refusal.complete(ex);
			}
		});
		try (DatagramPeer peer = new DatagramPeer(server)) {
			peer.send("x".repeat(40_000));
			assertThat(refusal.orTimeout(30, TimeUnit.SECONDS).join()).hasMessage(
					"A reply of 65508 bytes does not fit into a datagram, which holds at most 65507 bytes. Divide it");
		}
	}

	@ParameterizedTest
	@EnumSource
	void datagramsAreHandledInParallelThoseOfOneSenderToo(PromotionPolicy policy) {
		CyclicBarrier both = new CyclicBarrier(2);
		UdpServer server = start(pool(policy, 2, 3), (datagram, message) -> {
			both.await(30, TimeUnit.SECONDS);
			datagram.send(message);
		});
		try (DatagramPeer peer = new DatagramPeer(server)) {
			peer.send("a").send("b");
			assertThat(List.of(peer.receive(), peer.receive())).containsExactlyInAnyOrder("a", "b");
		}
	}

	@ParameterizedTest
	@EnumSource
	void aHandlerThatBlocksDoesNotStopOthers(PromotionPolicy policy) throws Exception {
		CountDownLatch gate = this.engine.gate();
		CountDownLatch blocked = new CountDownLatch(1);
		UdpServer server = start(pool(policy, 2, 2), (datagram, message) -> {
			if (Engine.text(message).equals("block")) {
				blocked.countDown();
				Engine.pass(gate);
			}
			datagram.send(message);
		});
		try (DatagramPeer blocking = new DatagramPeer(server); DatagramPeer other = new DatagramPeer(server)) {
			for (int i = 0; i < 2000; i++) {
				// Sends datagrams until the handler is known to be short and runs on a
				// lease.
				other.ask("short");
			}
			blocking.send("block");
			blocked.await();
			for (int i = 0; i < 100; i++) {
				assertThat(other.ask("served")).isEqualTo("served");
			}
			gate.countDown();
			assertThat(blocking.receive()).isEqualTo("block");
			assertThat(other.ask("afterwards")).isEqualTo("afterwards");
		}
	}

	@Test
	void aFloodTakesNoMoreThreadsThanAllowed() throws Exception {
		LeaderFollowersPool pool = this.engine.pool(2, 8);
		CountDownLatch gate = this.engine.gate();
		AtomicInteger inside = new AtomicInteger();
		AtomicInteger most = new AtomicInteger();
		UdpServer flooded = this.engine.start(UdpServer.builder(pool).maxInFlight(3).handler((datagram, message) -> {
			most.accumulateAndGet(inside.incrementAndGet(), Math::max);
			Engine.pass(gate);
			inside.decrementAndGet();
			datagram.send(message);
		}));
		UdpServer other = start(pool, UdpServerTests::echo);
		try (DatagramPeer peer = new DatagramPeer(flooded); DatagramPeer calm = new DatagramPeer(other)) {
			for (int i = 0; i < 100; i++) {
				peer.send("flood");
			}
			// They are under way before their handlers run.
			Engine.eventually().until(() -> inside.get() == 3);
			for (int i = 0; i < 100; i++) {
				assertThat(calm.ask("calm")).isEqualTo("calm");
			}
			assertThat(datagrams(flooded).inFlight()).isEqualTo(3);
			assertThat(flooded.snapshot().receivedMessages()).isEqualTo(3);
			gate.countDown();
			for (int i = 0; i < 100; i++) {
				assertThat(peer.receive()).isEqualTo("flood");
			}
		}
		assertThat(most).hasValue(3);
		assertThat(datagrams(flooded).limitReached()).isPositive();
		assertThat(this.engine.log()).anyMatch((line) -> line.contains("maxInFlight"));
	}

	@ParameterizedTest
	@EnumSource
	void aFloodLeavesThreadsToOtherServers(PromotionPolicy policy) throws Exception {
		LeaderFollowersPool pool = pool(policy, 2, 8);
		CountDownLatch gate = this.engine.gate();
		AtomicInteger inside = new AtomicInteger();
		MessageHandler blocks = (datagram, message) -> {
			inside.incrementAndGet();
			Engine.pass(gate);
			datagram.send(message);
		};
		TcpServer connections = this.engine.lines(pool, UdpServerTests::echo);
		UdpServer flooded = start(pool, blocks);
		UdpServer flooded2 = start(pool, blocks);
		try (DatagramPeer peer = new DatagramPeer(flooded);
				DatagramPeer peer2 = new DatagramPeer(flooded2);
				Peer client = this.engine.connect(connections)) {
			for (int i = 0; i < 50; i++) {
				peer.send("flood");
				peer2.send("flood");
			}
			Engine.eventually()
				.until(() -> datagrams(flooded).limitReached() > 0 && datagrams(flooded2).limitReached() > 0);
			for (int i = 0; i < 100; i++) {
				client.send("calm\n");
				assertThat(client.readLine()).isEqualTo("calm");
			}
			// Each has half of three quarters of the threads.
			assertThat(datagrams(flooded).inFlight()).isEqualTo(3);
			assertThat(datagrams(flooded2).inFlight()).isEqualTo(3);
			Engine.eventually().until(() -> inside.get() == 6);
			gate.countDown();
			for (int i = 0; i < 50; i++) {
				assertThat(peer.receive()).isEqualTo("flood");
				assertThat(peer2.receive()).isEqualTo("flood");
			}
		}
		assertThat(this.engine.log()).anyMatch((line) -> line.contains("occupy 3 threads of pool"));
	}

	@Test
	void moreServersThanThreadsLeaveAThreadToOtherServers() throws Exception {
		LeaderFollowersPool pool = this.engine.pool(2, 3);
		CountDownLatch gate = this.engine.gate();
		AtomicInteger inside = new AtomicInteger();
		TcpServer connections = this.engine.lines(pool, UdpServerTests::echo);
		List<UdpServer> servers = new ArrayList<>();
		List<DatagramPeer> peers = new ArrayList<>();
		try (Peer client = this.engine.connect(connections)) {
			for (int i = 0; i < 4; i++) {
				servers.add(start(pool, (datagram, message) -> {
					inside.incrementAndGet();
					Engine.pass(gate);
					datagram.send(message);
				}));
				peers.add(new DatagramPeer(servers.get(i)));
				peers.get(i).send("block");
			}
			Engine.eventually()
				.until(() -> inside.get() == 2
						&& servers.stream().filter((server) -> datagrams(server).limitReached() > 0).count() >= 2);
			client.send("calm\n");
			assertThat(client.readLine()).isEqualTo("calm");
			gate.countDown();
			peers.forEach((peer) -> assertThat(peer.receive()).isEqualTo("block"));
		}
		finally {
			peers.forEach(DatagramPeer::close);
		}
		assertThat(this.engine.log())
			.anyMatch((line) -> line.contains("handlers of datagrams occupy 2 threads of pool"));
	}

	@Test
	void datagramsAreReadAgainWhenHandlersOfAClosedServerReturn() throws Exception {
		LeaderFollowersPool pool = this.engine.pool(2, 4);
		CountDownLatch gate = this.engine.gate();
		AtomicInteger inside = new AtomicInteger();
		this.engine.lines(pool, UdpServerTests::echo);
		UdpServer closed = start(pool, (datagram, message) -> {
			inside.incrementAndGet();
			Engine.pass(gate);
		});
		try (DatagramPeer peer = new DatagramPeer(closed)) {
			for (int i = 0; i < 3; i++) {
				peer.send("block");
			}
			Engine.eventually().until(() -> inside.get() == 3);
		}
		closed.close(Duration.ZERO);
		UdpServer server = start(pool, UdpServerTests::echo);
		try (DatagramPeer peer = new DatagramPeer(server)) {
			peer.send("waits");
			Engine.eventually().until(() -> datagrams(server).limitReached() > 0);
			gate.countDown();
			assertThat(peer.receive()).isEqualTo("waits");
		}
	}

	/** Their handlers may wait for something that never comes. */
	@Test
	void datagramsAreReadAgainOnceTheyMayOccupyMoreThreads() throws Exception {
		LeaderFollowersPool pool = this.engine.pool(2, 4);
		CountDownLatch gate = this.engine.gate();
		AtomicInteger inside = new AtomicInteger();
		TcpServer connections = this.engine.lines(pool, UdpServerTests::echo);
		UdpServer server = start(pool, (datagram, message) -> {
			if (message.hasRemaining()) {
				inside.incrementAndGet();
				Engine.pass(gate);
			}
			datagram.send(message);
		});
		try (DatagramPeer peer = new DatagramPeer(server)) {
			occupy(3, inside, server, peer);
			pool.resize(2, 5);
			assertThat(peer.receive()).isEmpty();
			occupy(4, inside, server, peer);
			connections.close();
			assertThat(peer.receive()).isEmpty();
			gate.countDown();
		}
	}

	/** Occupies all threads that datagrams may have, and sends one more. */
	private static void occupy(int threads, AtomicInteger inside, UdpServer server, DatagramPeer peer) {
		// A handler that is still returning could reach the limit as well.
		Engine.eventually().until(() -> datagrams(server).inFlight() == inside.get());
		long stops = datagrams(server).limitReached();
		while (inside.get() < threads) {
			int before = inside.get();
			peer.send("block");
			Engine.eventually().until(() -> inside.get() > before);
		}
		peer.send("");
		Engine.eventually().until(() -> datagrams(server).limitReached() > stops);
	}

	@Test
	void suspendedDatagramsOccupyNoThreads() throws Exception {
		LeaderFollowersPool pool = this.engine.pool(2, 4);
		this.engine.lines(pool, UdpServerTests::echo);
		BlockingQueue<OwedReply> owed = new LinkedBlockingQueue<>();
		UdpServer server = start(pool, (datagram, message) -> owed.add(datagram.owe()));
		try (DatagramPeer peer = new DatagramPeer(server)) {
			for (int i = 0; i < 100; i++) {
				peer.send("x");
			}
			for (int i = 0; i < 100; i++) {
				OwedReply reply = owed.take();
				reply.send(Engine.bytes("later"));
				reply.close();
				assertThat(peer.receive()).isEqualTo("later");
			}
		}
		Engine.eventually().until(() -> datagrams(server).inFlight() == 0);
		assertThat(owed).isEmpty();
	}

	@ParameterizedTest
	@CsvSource({ "EAGER, 1", "EAGER, 3", "ADAPTIVE, 1", "ADAPTIVE, 2", "ADAPTIVE, 4" })
	void nothingIsStuckIfThreadsAreShared(PromotionPolicy policy, int threads) throws Exception {
		LeaderFollowersPool pool = pool(policy, 1, threads);
		this.engine.lines(pool, UdpServerTests::echo);
		UdpServer server = this.engine
			.start(UdpServer.builder(pool).receiveBufferSize(200_000).handler((datagram, message) -> {
				if (datagram.id() % 7 == 0) {
					Thread.yield();
				}
				datagram.send(message);
			}));
		try (DatagramPeer peer = new DatagramPeer(server)) {
			for (int round = 0; round < 200; round++) {
				for (int i = 0; i < 20; i++) {
					peer.send("x");
				}
				for (int i = 0; i < 20; i++) {
					assertThat(peer.receive()).isEqualTo("x");
				}
			}
		}
	}

	@ParameterizedTest
	@CsvSource({ "EAGER, 1", "EAGER, 2", "ADAPTIVE, 1", "ADAPTIVE, 2", "ADAPTIVE, 5" })
	void nothingIsStuckAtTheLimit(PromotionPolicy policy, int limit) throws Exception {
		UdpServer server = this.engine.start(UdpServer.builder(pool(policy, 4, 8))
			.maxInFlight(limit)
			.receiveBufferSize(200_000)
			.handler((datagram, message) -> {
				if (datagram.id() % 7 == 0) {
					Thread.yield();
				}
				datagram.send(message);
			}));
		try (DatagramPeer peer = new DatagramPeer(server)) {
			for (int round = 0; round < 200; round++) {
				for (int i = 0; i < 20; i++) {
					peer.send("x");
				}
				for (int i = 0; i < 20; i++) {
					assertThat(peer.receive()).isEqualTo("x");
				}
			}
		}
	}

	@Test
	void readingResumesWhenASuspendedDatagramIsResumed() throws Exception {
		BlockingQueue<Suspension> suspensions = new LinkedBlockingQueue<>();
		LeaderFollowersPool pool = this.engine.pool(2, 4);
		UdpServer server = this.engine.start(UdpServer.builder(pool)
			.maxInFlight(1)
			.handler((datagram, message) -> suspensions.add(datagram.suspend())));
		try (DatagramPeer peer = new DatagramPeer(server)) {
			for (int i = 0; i < 3; i++) {
				peer.send("x").send("x");
				Suspension first = suspensions.poll(Engine.DEADLINE.toSeconds(), TimeUnit.SECONDS);
				// The second datagram stays in the socket, which is not read any more.
				Engine.eventually().until(() -> pool.snapshot().handleSets().get(0).deactivated() == 1);
				first.resume();
				Suspension second = suspensions.poll(Engine.DEADLINE.toSeconds(), TimeUnit.SECONDS);
				assertThat(second).as("the second datagram is read").isNotNull();
				second.resume();
			}
		}
	}

	// Replies

	@Test
	void aReplyMayComeLaterFromAnotherThread() throws Exception {
		BlockingQueue<Connection> waiting = new LinkedBlockingQueue<>();
		UdpServer server = start(this.engine.pool(2, 4), (datagram, message) -> waiting.add(datagram));
		try (DatagramPeer first = new DatagramPeer(server); DatagramPeer second = new DatagramPeer(server)) {
			first.send("1");
			Connection toFirst = waiting.take();
			second.send("2");
			Connection toSecond = waiting.take();
			Engine.eventually().until(() -> datagrams(server).inFlight() == 0);
			toSecond.send(Engine.bytes("second"));
			toFirst.send(Engine.bytes("first"));
			assertThat(first.receive()).isEqualTo("first");
			assertThat(second.receive()).isEqualTo("second");
		}
	}

	@Test
	void repliesTakeNoMoreThanAllowed() throws Exception {
		BlockingQueue<Connection> waiting = new LinkedBlockingQueue<>();
		UdpServer server = this.engine.start(UdpServer.builder(this.engine.pool(2, 4))
			.maxReplyRatio(3)
			.handler((datagram, message) -> waiting.add(datagram)));
		try (DatagramPeer peer = new DatagramPeer(server)) {
			peer.send("x".repeat(72));
			Connection datagram = waiting.take();
			// 100 bytes with headers allow 300.
			datagram.send(ByteBuffer.allocate(172));
			assertThatExceptionOfType(ReplyRatioException.class)
				.isThrownBy(() -> datagram.send(ByteBuffer.allocate(73)))
				.withMessage(
						"Datagram 1 of server 'default' was not answered with 73 bytes: its replies may take 3 times the "
								+ "size of the datagram of 72 bytes (maxReplyRatio). That is 300 bytes, including headers of 28 "
								+ "bytes for each datagram, and 200 bytes are used already. Send less, or raise the ratio if the "
								+ "senders can be trusted");
			datagram.send(ByteBuffer.allocate(72));
			assertThatExceptionOfType(ReplyRatioException.class)
				.isThrownBy(() -> datagram.send(ByteBuffer.allocate(0)));
			assertThat(peer.receive()).hasSize(172);
			assertThat(peer.receive()).hasSize(72);
			peer.send("");
			Connection empty = waiting.take();
			empty.send(ByteBuffer.allocate(56));
			assertThat(peer.receive()).hasSize(56);
		}
		assertThat(datagrams(server).refusedReplies()).isEqualTo(2);
		// The reply was sent by this thread.
		assertThat(datagrams(server).sentReplies()).isEqualTo(3);
	}

	@Test
	void repliesOfManyThreadsTakeNoMoreThanAllowed() throws Exception {
		BlockingQueue<Connection> waiting = new LinkedBlockingQueue<>();
		UdpServer server = this.engine.start(UdpServer.builder(this.engine.pool(2, 4))
			.maxReplyRatio(10)
			.handler((datagram, message) -> waiting.add(datagram)));
		try (DatagramPeer peer = new DatagramPeer(server)) {
			peer.send("");
			Connection datagram = waiting.take();
			AtomicInteger accepted = new AtomicInteger();
			List<CompletableFuture<Void>> senders = new ArrayList<>();
			for (int i = 0; i < 4; i++) {
				senders.add(CompletableFuture.runAsync(() -> {
					for (int j = 0; j < 10; j++) {
						try {
							datagram.send(ByteBuffer.allocate(0));
							accepted.incrementAndGet();
						}
						catch (ReplyRatioException ex) {
							// expected
						}
					}
				}));
			}
			senders.forEach(CompletableFuture::join);
			assertThat(accepted).hasValue(10);
		}
	}

	@Test
	void aServerThatOnlyListensNeverReplies() {
		UdpServer server = this.engine
			.start(UdpServer.builder(this.engine.pool(2, 4)).maxReplyRatio(0).handler(UdpServerTests::echo));
		try (DatagramPeer peer = new DatagramPeer(server)) {
			peer.send("x");
			Engine.eventually().until(() -> datagrams(server).refusedReplies() == 1);
			Engine.eventually().until(() -> !this.engine.log().isEmpty());
			assertThat(this.engine.log()).singleElement()
				.satisfies(
						(line) -> assertThat(line).startsWith("WARN").contains("maxReplyRatio").doesNotContain("\n"));
		}
	}

	@Test
	void whatTheSystemDoesNotTakeIsDroppedAndCounted() {
		AtomicReference<@Nullable IOException> failure = new AtomicReference<>();
		AtomicBoolean full = new AtomicBoolean();
		AtomicInteger sent = new AtomicInteger();
		UdpServer server = this.engine.start(UdpServer.builder(this.engine.pool(2, 4)).handler((datagram, message) -> {
			datagram.send(message);
			sent.incrementAndGet();
		}).transfer(new DatagramTransfer() {
			@Override
			public int send(DatagramChannel channel, ByteBuffer source, SocketAddress target) throws IOException {
				IOException ex = failure.get();
				if (ex != null) {
					throw ex;
				}
				return full.get() ? 0 : DatagramTransfer.super.send(channel, source, target);
			}
		}));
		try (DatagramPeer peer = new DatagramPeer(server)) {
			full.set(true);
			peer.send("x");
			Engine.eventually().until(() -> datagrams(server).droppedReplies() == 1);
			full.set(false);
			failure.set(new IOException("Network is unreachable"));
			peer.send("x");
			Engine.eventually().until(() -> datagrams(server).droppedReplies() == 2);
			failure.set(null);
			assertThat(peer.ask("y")).isEqualTo("y");
		}
		// The line follows the count; the handler that logs it may return last.
		Engine.eventually().until(() -> datagrams(server).inFlight() == 0);
		assertThat(sent.get()).as("handlers that did not fail").isEqualTo(server.snapshot().receivedMessages());
		assertThat(this.engine.log()).singleElement().satisfies((line) -> assertThat(line).contains("sendBufferSize"));
	}

	// Peers that do not listen

	@Test
	void repliesToAPortThatNobodyListensAtHarmNobody() {
		UdpServer server = start(this.engine.pool(2, 4), (datagram, message) -> {
			for (int i = 0; i < 3; i++) {
				datagram.send(ByteBuffer.allocate(0));
			}
		});
		for (int i = 0; i < 200; i++) {
			new DatagramPeer(server).send("gone").close();
		}
		Engine.eventually().until(() -> server.snapshot().receivedMessages() == 200);
		try (DatagramPeer peer = new DatagramPeer(server)) {
			assertThat(peer.ask("here")).isEmpty();
		}
		assertThat(server.snapshot().acceptingSuspended()).isFalse();
	}

	@Test
	void aDatagramFromTheServerItselfIsRejected() throws Exception {
		UdpServer server = start(this.engine.pool(2, 4), UdpServerTests::echo);
		DatagramChannel own = server.channel();
		assertThat(own).isNotNull();
		own.send(Engine.bytes("loop"), server.address());
		Engine.eventually().until(() -> datagrams(server).rejected() == 1);
		try (DatagramPeer peer = new DatagramPeer(server)) {
			assertThat(peer.ask("x")).isEqualTo("x");
		}
		assertThat(datagrams(server).rejected()).isEqualTo(1);
	}

	@Test
	void aDatagramFromTheServerItselfIsRejectedIfItListensToAllAddresses() throws Exception {
		UdpServer server = UdpServer.builder(this.engine.pool(2, 4)).port(0).handler(UdpServerTests::echo).build();
		server.start();
		DatagramChannel own = server.channel();
		assertThat(own).isNotNull();
		own.send(Engine.bytes("loop"), new InetSocketAddress(InetAddress.getLoopbackAddress(), server.port()));
		Engine.eventually().until(() -> datagrams(server).rejected() == 1);
	}

	@Test
	void receivingThatFailsNowAndThenGoesOn() {
		AtomicInteger calls = new AtomicInteger();
		UdpServer server = this.engine.start(UdpServer.builder(this.engine.pool(2, 4))
			.handler(UdpServerTests::echo)
			.transfer(new DatagramTransfer() {
				@Override
				public @Nullable SocketAddress receive(DatagramChannel channel, ByteBuffer target) throws IOException {
					if (calls.incrementAndGet() % 2 == 0) {
						throw new java.net.PortUnreachableException();
					}
					return DatagramTransfer.super.receive(channel, target);
				}
			}));
		try (DatagramPeer peer = new DatagramPeer(server)) {
			for (int i = 0; i < 50; i++) {
				assertThat(peer.ask("x" + i)).isEqualTo("x" + i);
			}
		}
		assertThat(datagrams(server).receiveFailures()).isPositive();
		assertThat(this.engine.log()).isEmpty();
	}

	@Test
	void receivingThatKeepsFailingPausesInsteadOfSpinning() {
		AtomicBoolean broken = new AtomicBoolean(true);
		AtomicInteger calls = new AtomicInteger();
		UdpServer server = this.engine.start(UdpServer.builder(this.engine.pool(2, 4))
			.handler(UdpServerTests::echo)
			.transfer(new DatagramTransfer() {
				@Override
				public @Nullable SocketAddress receive(DatagramChannel channel, ByteBuffer target) throws IOException {
					calls.incrementAndGet();
					if (broken.get()) {
						throw new IOException("No buffer space\navailable");
					}
					return DatagramTransfer.super.receive(channel, target);
				}
			}));
		try (DatagramPeer peer = new DatagramPeer(server)) {
			peer.send("x");
			Engine.eventually().until(() -> server.snapshot().acceptingSuspended());
			Engine.elapse(Duration.ofMillis(500));
			assertThat(calls.get()).isLessThan(30);
			broken.set(false);
			assertThat(peer.receive()).isEqualTo("x");
			assertThat(peer.ask("y")).isEqualTo("y");
		}
		assertThat(server.snapshot().acceptingSuspended()).isFalse();
		assertThat(this.engine.log()).singleElement()
			.satisfies((line) -> assertThat(line).contains("No buffer space?available"));
	}

	@Test
	void aServerThatCannotReceiveClosesAllTheSame() {
		UdpServer server = this.engine.start(UdpServer.builder(this.engine.pool(2, 4))
			.handler(UdpServerTests::echo)
			.transfer(new DatagramTransfer() {
				@Override
				public @Nullable SocketAddress receive(DatagramChannel channel, ByteBuffer target) throws IOException {
					throw new IOException("broken");
				}
			}));
		try (DatagramPeer peer = new DatagramPeer(server)) {
			peer.send("x");
			Engine.eventually().until(() -> server.snapshot().acceptingSuspended());
			assertThat(server.close(Duration.ofSeconds(30))).isTrue();
		}
	}

	// Failures of the handler

	@ParameterizedTest
	@EnumSource
	void aHandlerThatFailsIsToldAndTheServerGoesOn(PromotionPolicy policy) throws Exception {
		CompletableFuture<Connection> failed = new CompletableFuture<>();
		UdpServer server = start(pool(policy, 2, 2), new MessageHandler() {
			@Override
			public void onMessage(Connection datagram, ByteBuffer message) {
				switch (Engine.text(message)) {
					case "exception" -> throw new IllegalStateException("failed");
					case "error" -> throw new StackOverflowError();
					default -> datagram.send(message);
				}
			}

			@Override
			public void onError(Connection datagram, Throwable failure) throws Exception {
				datagram.send(Engine.bytes(failure.getClass().getSimpleName()));
				failed.complete(datagram);
				throw new IllegalArgumentException("fails as well");
			}
		});
		try (DatagramPeer peer = new DatagramPeer(server)) {
			assertThat(peer.ask("exception")).isEqualTo("IllegalStateException");
			assertThat(peer.ask("error")).isEqualTo("StackOverflowError");
			assertThat(peer.ask("fine")).isEqualTo("fine");
		}
		Connection datagram = failed.get();
		Engine.eventually().until(() -> !datagram.isOpen());
		assertThatExceptionOfType(ConnectionClosedException.class).isThrownBy(() -> datagram.send(Engine.bytes("x")))
			.satisfies((ex) -> assertThat(ex.reason()).isEqualTo(CloseReason.HANDLER_ERROR));
		Engine.eventually().until(() -> datagrams(server).inFlight() == 0);
		assertThat(server.snapshot().handling().count()).isEqualTo(server.snapshot().receivedMessages());
		assertThat(this.engine.log()).anyMatch((line) -> line.contains("fails as well"));
	}

	@Test
	void aFailureThatNobodyHandlesIsLoggedAndNotForEachDatagram() {
		UdpServer server = start(this.engine.pool(2, 4), (datagram, message) -> {
			throw new IllegalStateException("failed");
		});
		try (DatagramPeer peer = new DatagramPeer(server)) {
			for (int i = 0; i < 100; i++) {
				peer.send("secret");
			}
			Engine.eventually().until(() -> server.snapshot().receivedMessages() == 100);
			Engine.eventually().until(() -> datagrams(server).inFlight() == 0);
		}
		// On a slow machine, there may also be a line about starvation.
		assertThat(this.engine.log()).filteredOn((line) -> !line.contains("had no thread left"))
			.hasSizeBetween(1, 20)
			.allSatisfy((line) -> assertThat(line).startsWith("ERROR Datagram ")
				.contains("was not handled because its handler")
				.doesNotContain("secret"));
	}

	@Test
	void aFailureThatCannotBeLoggedHarmsNobody() {
		UdpServer server = start(this.engine.pool(2, 4), new MessageHandler() {
			@Override
			public void onMessage(Connection datagram, ByteBuffer message) {
				if (message.remaining() > 1) {
					throw new IllegalStateException("failed");
				}
				datagram.send(message);
			}

			@Override
			public void onError(Connection datagram, Throwable failure) {
				throw new IllegalStateException() {
					@Override
					public String getMessage() {
						throw new IllegalStateException("fails to tell");
					}
				};
			}
		});
		try (DatagramPeer peer = new DatagramPeer(server)) {
			peer.send("bad");
			Engine.eventually().until(() -> server.snapshot().receivedMessages() == 1);
			assertThat(peer.ask("x")).isEqualTo("x");
		}
		Engine.eventually().until(() -> datagrams(server).inFlight() == 0);
	}

	// Suspension

	@Test
	void aDrainWaitsForSuspendedDatagrams() throws Exception {
		BlockingQueue<Connection> waiting = new LinkedBlockingQueue<>();
		BlockingQueue<Suspension> suspensions = new LinkedBlockingQueue<>();
		UdpServer server = start(this.engine.pool(2, 4), (datagram, message) -> {
			suspensions.add(datagram.suspend());
			suspensions.add(datagram.suspend());
			waiting.add(datagram);
		});
		try (DatagramPeer peer = new DatagramPeer(server)) {
			peer.send("x");
			Connection datagram = waiting.take();
			assertThat(server.drain(Duration.ofMillis(50))).isFalse();
			Suspension first = suspensions.take();
			first.resume();
			first.resume();
			assertThat(server.drain(Duration.ofMillis(50))).isFalse();
			datagram.send(Engine.bytes("late"));
			assertThat(peer.receive()).isEqualTo("late");
			suspensions.take().resume();
			assertThat(server.drain(Engine.DEADLINE)).isTrue();
			assertThat(datagram.isOpen()).isFalse();
			assertThatExceptionOfType(ConnectionClosedException.class)
				.isThrownBy(() -> datagram.send(Engine.bytes("too late")))
				.satisfies((ex) -> assertThat(ex.reason()).isEqualTo(CloseReason.SHUTDOWN));
			assertThat(server.close(Duration.ZERO)).isTrue();
		}
	}

	@Test
	void aDrainWaitsForRepliesThatAreOwed() throws Exception {
		BlockingQueue<OwedReply> owed = new LinkedBlockingQueue<>();
		UdpServer server = start(this.engine.pool(2, 4), (datagram, message) -> owed.add(datagram.owe()));
		try (DatagramPeer peer = new DatagramPeer(server)) {
			peer.send("x");
			OwedReply reply = owed.take();
			assertThat(server.drain(Duration.ofMillis(50))).isFalse();
			reply.send(Engine.bytes("late"));
			assertThat(peer.receive()).isEqualTo("late");
			reply.close();
			assertThat(server.drain(Engine.DEADLINE)).isTrue();
		}
	}

	@Test
	void aSuspensionTimesOut() throws Exception {
		BlockingQueue<Connection> waiting = new LinkedBlockingQueue<>();
		BlockingQueue<Suspension> suspensions = new LinkedBlockingQueue<>();
		UdpServer server = this.engine.start(UdpServer.builder(this.engine.pool(2, 4))
			.maxInFlight(1)
			.suspensionTimeout(Duration.ofMillis(100))
			.handler((datagram, message) -> {
				suspensions.add(datagram.suspend());
				waiting.add(datagram);
			}));
		try (DatagramPeer peer = new DatagramPeer(server)) {
			peer.send("1").send("2");
			Connection first = waiting.take();
			// It is suspended only when there is room for it.
			Connection second = waiting.take();
			assertThat(second.id()).isEqualTo(2);
			assertThatExceptionOfType(ConnectionClosedException.class)
				.isThrownBy(() -> first.send(Engine.bytes("late")))
				.satisfies((ex) -> assertThat(ex.reason()).isEqualTo(CloseReason.IDLE_TIMEOUT));
			// The datagram is resumed too late, and counted once.
			suspensions.take().resume();
			first.suspend().resume();
			Engine.eventually().until(() -> datagrams(server).inFlight() == 0);
			suspensions.take().resume();
			assertThat(datagrams(server).inFlight()).isZero();
		}
	}

	@ParameterizedTest
	@ValueSource(booleans = { false, true })
	void aSuspensionThatWasResumedDoesNotTimeOut(boolean resumesInHandler) throws Exception {
		BlockingQueue<Connection> suspended = new LinkedBlockingQueue<>();
		BlockingQueue<Suspension> suspensions = new LinkedBlockingQueue<>();
		LeaderFollowersPool pool = this.engine.pool(2, 4);
		UdpServer server = this.engine
			.start(UdpServer.builder(pool).suspensionTimeout(Duration.ofHours(1)).handler((datagram, message) -> {
				suspensions.add(datagram.suspend());
				if (resumesInHandler && datagram.id() == 1) {
					suspensions.element().resume();
				}
				suspended.add(datagram);
			}));
		try (DatagramPeer peer = new DatagramPeer(server)) {
			peer.send("1");
			Connection first = suspended.take();
			Engine.awaitIdle(pool);
			suspensions.take().resume();
			assertThat(datagrams(server).inFlight()).isZero();
			peer.send("2");
			Connection second = suspended.take();
			Engine.awaitIdle(pool);
			DatagramReceiver receiver = Objects.requireNonNull(server.life.socket());
			receiver.expire(System.nanoTime() + Duration.ofHours(2).toNanos());
			assertThat(second.isOpen()).as("its suspension has timed out").isFalse();
			first.send(Engine.bytes("late"));
			assertThat(peer.receive()).isEqualTo("late");
			suspensions.take().resume();
		}
	}

	@Test
	void aReplyThatFailsLaterIsToldToTheHandler() throws Exception {
		BlockingQueue<Connection> waiting = new LinkedBlockingQueue<>();
		UdpServer server = start(this.engine.pool(2, 4), new MessageHandler() {

			@Override
			public void onMessage(Connection datagram, ByteBuffer message) {
				Suspension suspension = datagram.suspend();
				datagram.attributes().put("suspension", suspension);
				waiting.add(datagram);
			}

			@Override
			public void onError(Connection datagram, Throwable failure) {
				datagram.send(Engine.bytes("sorry: " + failure.getMessage()));
			}

		});
		try (DatagramPeer peer = new DatagramPeer(server)) {
			peer.send("1");
			Connection datagram = waiting.take();
			datagram.fail(new IllegalStateException("no rate"));
			datagram.fail(new IllegalStateException("too late"));
			assertThat(peer.receive()).isEqualTo("sorry: no rate");
			assertThat(datagram.isOpen()).isFalse();
			((Suspension) datagram.attributes().get("suspension")).resume();
			Engine.eventually().until(() -> datagrams(server).inFlight() == 0);
		}
	}

	@Test
	void aHandlerThatDrainsAnotherServerWaitsForTheHandlersOfThatServer() throws Exception {
		CountDownLatch gate = this.engine.gate();
		LeaderFollowersPool pool = this.engine.pool(2, 4);
		UdpServer blocked = start(pool, (datagram, message) -> {
			Engine.pass(gate);
			datagram.send(message);
		});
		UdpServer other = start(pool,
				(datagram, message) -> datagram.send(Engine.bytes("drained: " + blocked.drain(Duration.ofMillis(20)))));
		try (DatagramPeer waiting = new DatagramPeer(blocked); DatagramPeer peer = new DatagramPeer(other)) {
			waiting.send("block");
			Engine.eventually().until(() -> blocked.snapshot().receivedMessages() == 1);
			assertThat(peer.ask("x")).isEqualTo("drained: false");
			gate.countDown();
			assertThat(waiting.receive()).isEqualTo("block");
		}
	}

	@Test
	void aHandlerThatWaitsLongerThanItsSuspensionCountsStill() throws Exception {
		CountDownLatch gate = this.engine.gate();
		BlockingQueue<Connection> waiting = new LinkedBlockingQueue<>();
		UdpServer server = this.engine.start(UdpServer.builder(this.engine.pool(2, 4))
			.suspensionTimeout(Duration.ofMillis(20))
			.handler((datagram, message) -> {
				datagram.suspend();
				waiting.add(datagram);
				Engine.pass(gate);
			}));
		try (DatagramPeer peer = new DatagramPeer(server)) {
			peer.send("1");
			Connection datagram = waiting.take();
			Engine.eventually().until(() -> !datagram.isOpen());
			assertThat(datagrams(server).inFlight()).isEqualTo(1);
			gate.countDown();
			Engine.eventually().until(() -> datagrams(server).inFlight() == 0);
		}
	}

	@Test
	void aServerSaysThatItCouldNotReadBeforeItWasClosed() throws Exception {
		LeaderFollowersPool pool = pool(PromotionPolicy.EAGER, 1, 1);
		CountDownLatch entered = new CountDownLatch(1);
		CountDownLatch gate = this.engine.gate();
		TcpServer busy = this.engine.lines(pool, (connection, message) -> {
			entered.countDown();
			Engine.pass(gate);
		});
		UdpServer server = start(pool, UdpServerTests::echo);
		this.engine.connect(busy).send("1\n");
		Engine.pass(entered);
		assertThat(server.close(Duration.ZERO)).isFalse();
		gate.countDown();
		assertThat(this.engine.log())
			.anyMatch((line) -> line.contains("is closed although reading from its socket had not finished"));
	}

	// Pause

	@Test
	void aPausedServerReadsNothingUntilItIsResumed() throws Exception {
		AtomicInteger handled = new AtomicInteger();
		LeaderFollowersPool pool = this.engine.pool(2, 4);
		UdpServer server = UdpServer.builder(pool)
			.address(InetAddress.getLoopbackAddress())
			.port(0)
			.handler((datagram, message) -> {
				handled.incrementAndGet();
				datagram.send(message);
			})
			.build();
		server.pause();
		server.start();
		try (DatagramPeer peer = new DatagramPeer(server)) {
			peer.send("1").send("2");
			Engine.eventually().until(() -> pool.snapshot().handleSets().get(0).deactivated() == 1);
			assertThat(handled).hasValue(0);
			assertThat(server.snapshot().paused()).isTrue();
			server.resume();
			assertThat(List.of(peer.receive(), peer.receive())).containsExactlyInAnyOrder("1", "2");
			// A thread that is about to read would still read the third one.
			Engine.awaitIdle(pool);
			server.pause();
			peer.send("3");
			Engine.eventually().until(() -> pool.snapshot().handleSets().get(0).deactivated() == 1);
			assertThat(handled).hasValue(2);
			assertThat(server.close(Engine.DEADLINE)).isTrue();
			assertThat(handled).hasValue(2);
		}
	}

	// The end

	@ParameterizedTest
	@EnumSource
	void whatWasReceivedIsAnsweredBeforeTheEnd(PromotionPolicy policy) throws Exception {
		CountDownLatch gate = this.engine.gate();
		CountDownLatch inside = new CountDownLatch(2);
		UdpServer server = start(pool(policy, 2, 2), (datagram, message) -> {
			inside.countDown();
			Engine.pass(gate);
			datagram.send(message);
		});
		try (DatagramPeer peer = new DatagramPeer(server)) {
			for (int i = 0; i < 240; i++) {
				peer.send("x" + i);
			}
			inside.await();
			// Two are being handled; the others wait in the buffer of the system.
			CompletableFuture<Boolean> drained = CompletableFuture.supplyAsync(() -> server.drain(Engine.DEADLINE),
					(task) -> new Thread(task).start());
			Engine.eventually().until(() -> server.snapshot().state() == ServerSnapshot.State.DRAINING);
			gate.countDown();
			Set<String> answers = ConcurrentHashMap.newKeySet();
			for (int i = 0; i < 240; i++) {
				answers.add(peer.receive());
			}
			assertThat(answers).hasSize(240);
			assertThat(drained.get(30, TimeUnit.SECONDS)).isTrue();
			rebind(server.address());
		}
		assertThat(server.close(Duration.ZERO)).isTrue();
		assertThat(server.snapshot().state()).isEqualTo(ServerSnapshot.State.STOPPED);
	}

	private static void rebind(InetSocketAddress address) throws IOException {
		try (DatagramChannel channel = DatagramChannel.open()) {
			channel.bind(address);
		}
	}

	@ParameterizedTest
	@EnumSource
	void aServerIsClosedByForceWhileItsHandlersBlock(PromotionPolicy policy) throws Exception {
		CountDownLatch gate = this.engine.gate();
		BlockingQueue<Connection> inside = new LinkedBlockingQueue<>();
		CompletableFuture<Throwable> failure = new CompletableFuture<>();
		UdpServer server = start(pool(policy, 2, 2), (datagram, message) -> {
			inside.add(datagram);
			Engine.pass(gate);
			try {
				datagram.send(message);
			}
			catch (ConnectionClosedException ex) {
				failure.complete(ex);
				throw ex;
			}
		});
		try (DatagramPeer peer = new DatagramPeer(server)) {
			peer.send("1").send("2").send("3");
			inside.take();
			inside.take();
			assertThat(server.close(Duration.ofMillis(20))).isFalse();
			rebind(server.address());
			assertThat(server.close(Duration.ZERO)).as("once more").isFalse();
			gate.countDown();
			Engine.eventually().until(() -> server.close(Duration.ZERO));
			assertThat(failure.get(30, TimeUnit.SECONDS)).isInstanceOf(ConnectionClosedException.class)
				.satisfies((ex) -> assertThat(((ConnectionClosedException) ex).reason())
					.isEqualTo(CloseReason.SHUTDOWN_TIMEOUT));
		}
		// On a slow machine, there may also be a line about starvation.
		assertThat(this.engine.log())
			.anyMatch((line) -> line.startsWith("WARN Server 'default' is closed although 2 datagrams"));
	}

	@ParameterizedTest
	@EnumSource
	void aHandlerMayCloseItsOwnServer(PromotionPolicy policy) throws Exception {
		AtomicReference<UdpServer> self = new AtomicReference<>();
		CompletableFuture<Boolean> closed = new CompletableFuture<>();
		UdpServer server = start(pool(policy, 2, 2), (datagram, message) -> {
			closed.complete(self.get().close(Engine.DEADLINE));
			datagram.send(message);
		});
		self.set(server);
		try (DatagramPeer peer = new DatagramPeer(server)) {
			peer.send("bye");
			assertThat(peer.receive()).isEqualTo("bye");
			assertThat(closed.get(30, TimeUnit.SECONDS)).isTrue();
			Engine.eventually().until(() -> !server.channel().isOpen());
		}
	}

	@Test
	void aHandlerThatDrainsItsOwnServerWaitsForWhatWasReceived() throws Exception {
		AtomicReference<UdpServer> self = new AtomicReference<>();
		CountDownLatch gate = this.engine.gate();
		UdpServer server = this.engine
			.start(UdpServer.builder(this.engine.pool(2, 2)).maxInFlight(1).handler((datagram, message) -> {
				Engine.pass(gate);
				if (Engine.text(message).equals("drain")) {
					datagram.send(Engine.bytes("drained: " + self.get().drain(Duration.ofMillis(20))));
				}
				else {
					datagram.send(message);
				}
			}));
		self.set(server);
		try (DatagramPeer peer = new DatagramPeer(server)) {
			peer.send("drain").send("second");
			gate.countDown();
			assertThat(peer.receive()).isEqualTo("drained: false");
			assertThat(peer.receive()).isEqualTo("second");
		}
	}

	@Test
	void aPoolThatIsClosedClosesItsServers() throws Exception {
		LeaderFollowersPool pool = this.engine.pool(2, 4);
		UdpServer server = start(pool, UdpServerTests::echo);
		try (DatagramPeer peer = new DatagramPeer(server)) {
			assertThat(peer.ask("x")).isEqualTo("x");
		}
		assertThat(pool.close(Engine.DEADLINE)).isTrue();
		assertThat(server.snapshot().state()).isEqualTo(ServerSnapshot.State.STOPPED);
		rebind(server.address());
	}

	@ParameterizedTest
	@EnumSource
	void serversAreClosedUnderLoad(PromotionPolicy policy) throws Exception {
		LeaderFollowersPool pool = pool(policy, 2, 6);
		long before = 0;
		for (int round = 0; round < 30; round++) {
			UdpServer server = start(pool, UdpServerTests::echo);
			AtomicBoolean end = new AtomicBoolean();
			List<Thread> senders = new ArrayList<>();
			for (int i = 0; i < 2; i++) {
				Thread sender = new Thread(() -> {
					try (DatagramPeer peer = new DatagramPeer(server)) {
						while (!end.get()) {
							peer.send("load");
						}
					}
				});
				sender.start();
				senders.add(sender);
			}
			Engine.eventually().until(() -> server.snapshot().receivedMessages() > 20);
			assertThat(server.close(Engine.DEADLINE)).isTrue();
			rebind(server.address());
			assertThat(datagrams(server).inFlight()).isZero();
			end.set(true);
			for (Thread sender : senders) {
				sender.join();
			}
			if (round == 9) {
				before = Engine.descriptors();
			}
		}
		assertThat(Engine.descriptors()).isLessThanOrEqualTo(before + 5);
	}

	@Test
	void aServerIsStartedOnce() {
		LeaderFollowersPool pool = this.engine.pool(2, 4);
		UdpServer server = start(pool, UdpServerTests::echo);
		assertThatIllegalStateException().isThrownBy(server::start).withMessage("Server 'default' was started before");
		UdpServer closed = UdpServer.builder(pool).handler(UdpServerTests::echo).build();
		assertThatIllegalStateException().isThrownBy(closed::port);
		assertThat(closed.close(Duration.ZERO)).isTrue();
		assertThatIllegalStateException().isThrownBy(closed::start);
		UdpServer same = UdpServer.builder(pool)
			.address(server.address().getAddress())
			.port(server.port())
			.handler(UdpServerTests::echo)
			.build();
		assertThatExceptionOfType(java.io.UncheckedIOException.class).isThrownBy(same::start)
			.withMessageContaining("could not bind")
			.withCauseInstanceOf(java.net.BindException.class);
	}

	// Addresses

	@Test
	void aServerAtAnIpv6AddressAnswersThere() throws Exception {
		InetAddress loopback = Inet6Address.getByName("::1");
		try (DatagramChannel channel = DatagramChannel.open()) {
			channel.bind(new InetSocketAddress(loopback, 0));
		}
		catch (IOException | UnsupportedOperationException ex) {
			assumeTrue(false, "no IPv6 here");
		}
		UdpServer server = UdpServer.builder(this.engine.pool(2, 4))
			.address(loopback)
			.port(0)
			.handler(UdpServerTests::echo)
			.build();
		server.start();
		try (DatagramPeer peer = new DatagramPeer(new InetSocketAddress(loopback, server.port()))) {
			assertThat(peer.ask("six")).isEqualTo("six");
		}
	}

	@Test
	void aServerAtAllAddressesAnswersBothFamilies() throws Exception {
		UdpServer server = UdpServer.builder(this.engine.pool(2, 4)).port(0).handler(UdpServerTests::echo).build();
		server.start();
		try (DatagramPeer peer = new DatagramPeer(
				new InetSocketAddress(InetAddress.getByName("127.0.0.1"), server.port()))) {
			assertThat(peer.ask("four")).isEqualTo("four");
		}
		assumeTrue(server.address().getAddress() instanceof Inet6Address, "no IPv6 here");
		try (DatagramPeer peer = new DatagramPeer(
				new InetSocketAddress(Inet6Address.getByName("::1"), server.port()))) {
			assertThat(peer.ask("six")).isEqualTo("six");
		}
	}

	// The builder

	@Test
	void buffersOfTheSystemAreAsAskedFor() throws Exception {
		UdpServer server = this.engine.start(UdpServer.builder(this.engine.pool(2, 4))
			.receiveBufferSize(20_000)
			.sendBufferSize(30_000)
			.handler(UdpServerTests::echo));
		DatagramChannel channel = server.channel();
		assertThat(channel).isNotNull();
		assertThat(channel.getOption(StandardSocketOptions.SO_RCVBUF)).isGreaterThanOrEqualTo(20_000)
			.isLessThan(60_000);
		assertThat(channel.getOption(StandardSocketOptions.SO_SNDBUF)).isGreaterThanOrEqualTo(30_000)
			.isLessThan(90_000);
		assertThat(this.engine.log()).isEmpty();
		this.engine
			.start(UdpServer.builder(this.engine.pool(2, 4)).receiveBufferSize(1 << 30).handler(UdpServerTests::echo));
		assertThat(this.engine.log()).singleElement()
			.satisfies((line) -> assertThat(line).contains("receiveBufferSize", "limit of the system"));
	}

	@Test
	void whatMakesNoSenseIsRefused() {
		UdpServer.Builder builder = UdpServer.builder(this.engine.pool(2, 4));
		assertThatIllegalStateException().isThrownBy(builder::build)
			.withMessage("Server 'default' needs a handler: call handler(...) before build()");
		assertThatIllegalArgumentException().isThrownBy(() -> builder.name(" "));
		assertThatIllegalArgumentException().isThrownBy(() -> builder.port(-1));
		assertThatIllegalArgumentException().isThrownBy(() -> builder.maxMessageSize(65_537))
			.withMessage("'maxMessageSize' must be from 1 to 65536, but is 65537");
		assertThatIllegalArgumentException().isThrownBy(() -> builder.maxMessageSize(0));
		assertThatIllegalArgumentException().isThrownBy(() -> builder.maxInFlight(0));
		assertThatIllegalArgumentException().isThrownBy(() -> builder.maxReplyRatio(-1));
		assertThatIllegalArgumentException().isThrownBy(() -> builder.maxReplyRatio(10_001));
		assertThatIllegalArgumentException().isThrownBy(() -> builder.maxReplyRate(-1));
		assertThatIllegalArgumentException().isThrownBy(() -> builder.maxReplyRate(1_000_001));
		assertThatIllegalArgumentException().isThrownBy(() -> builder.suspensionTimeout(Duration.ofMillis(-1)));
		assertThatIllegalArgumentException().isThrownBy(() -> builder.receiveBufferSize(1023));
		assertThatIllegalArgumentException().isThrownBy(() -> builder.sendBufferSize(0));
	}

}
