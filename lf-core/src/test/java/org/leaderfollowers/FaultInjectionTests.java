package org.leaderfollowers;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Random;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Many faults at once: many clients, well-behaved or not, handlers that fail in every
 * way, peers that vanish at every step, and threads that come and go. Afterwards the pool
 * and the server are in order, and no well-behaved client has missed a reply.
 * <p>
 * The tests with the tag {@code stress} do the same for longer. To make them even longer:
 * {@code -Pstress -Dlf.faults.seconds=600}.
 */
@Timeout(900)
class FaultInjectionTests {

	private static final Duration SHORT = Duration.ofMillis(500);

	private static final Duration LONG = Duration.ofSeconds(Long.getLong("lf.faults.seconds", 7));

	private static final int CLIENTS = 16;

	private static final String BIG = "b".repeat(60_000);

	@RegisterExtension
	final Engine engine = new Engine();

	private final ExecutorService foreign = Executors.newFixedThreadPool(2);

	private final ConcurrentLinkedQueue<String> violations = new ConcurrentLinkedQueue<>();

	private final AtomicInteger opened = new AtomicInteger();

	private final AtomicInteger closed = new AtomicInteger();

	/** The server's state of a connection. */
	private static final class State {

		final AtomicInteger inside = new AtomicInteger();

		int lastSequence;

		boolean closed;

	}

	/** Does what messages of the form {@code sequence:command} ask for. */
	private final class Handler implements MessageHandler {

		private State enter(Connection connection) {
			State state = (State) connection.attributes().computeIfAbsent("state", (key) -> new State());
			if (state.inside.incrementAndGet() != 1) {
				FaultInjectionTests.this.violations.add("overlapping calls");
			}
			if (state.closed) {
				FaultInjectionTests.this.violations.add("a call after onClose");
			}
			return state;
		}

		@Override
		public void onOpen(Connection connection) {
			State state = enter(connection);
			FaultInjectionTests.this.opened.incrementAndGet();
			state.inside.decrementAndGet();
			if (connection.id() % 97 == 0) {
				throw new IllegalStateException("made for the test");
			}
		}

		@Override
		public void onMessage(Connection connection, ByteBuffer message) throws Exception {
			State state = enter(connection);
			try {
				String[] request = Engine.text(message).split(":");
				int sequence = Integer.parseInt(request[0]);
				if (sequence != state.lastSequence + 1) {
					FaultInjectionTests.this.violations.add(sequence + " after " + state.lastSequence);
				}
				state.lastSequence = sequence;
				message.reset();
				obey(connection, message, request[1]);
			}
			finally {
				state.inside.decrementAndGet();
			}
		}

		private void obey(Connection connection, ByteBuffer message, String command) throws Exception {
			switch (command) {
				case "echo" -> connection.send(message);
				case "block" -> {
					LockSupport.parkNanos(1_000_000);
					connection.send(message);
				}
				case "interrupt" -> {
					Thread.currentThread().interrupt();
					connection.send(message);
				}
				case "big" -> connection.send(Engine.bytes(Engine.text(message) + ":" + BIG));
				case "foreign" -> {
					connection.send(message);
					for (int i = 0; i < 5; i++) {
						FaultInjectionTests.this.foreign.execute(() -> push(connection));
					}
				}
				case "foreignclose" -> FaultInjectionTests.this.foreign.execute(connection::close);
				case "close" -> {
					connection.send(message);
					connection.close();
				}
				case "exception" -> throw new Exception("made for the test");
				case "error" -> throw new OutOfMemoryError("made for the test");
				case "overflow" -> recurse(0);
				default -> FaultInjectionTests.this.violations.add("torn: " + command);
			}
		}

		private int recurse(int depth) {
			return recurse(depth + 1) + 1;
		}

		private void push(Connection connection) {
			try {
				connection.send(Engine.bytes("push:" + "p".repeat((int) (connection.id() % 3000))));
			}
			catch (IllegalStateException ex) {
				// gone or slow
			}
		}

		@Override
		public void onError(Connection connection, Throwable failure) {
			State state = enter(connection);
			state.inside.decrementAndGet();
			if (connection.id() % 5 == 0) {
				throw new IllegalStateException("made for the test");
			}
			if (connection.id() % 5 == 1 && !(failure instanceof IOException)) {
				connection.send(Engine.bytes("sorry"));
			}
		}

		@Override
		public void onClose(Connection connection, CloseReason reason) {
			State state = enter(connection);
			state.closed = true;
			FaultInjectionTests.this.closed.incrementAndGet();
			state.inside.decrementAndGet();
			if (connection.id() % 7 == 0) {
				throw new StackOverflowError("made for the test");
			}
		}

	}

	@ParameterizedTest(name = "{0} handle sets")
	@ValueSource(ints = { 1, 3 })
	void faultsOfEveryKindLeaveNothingBehindAndHarmNobodyElse(int handleSets) throws Exception {
		injectFaults(handleSets, SHORT);
	}

	@Tag("stress")
	@ParameterizedTest(name = "{0} handle sets")
	@ValueSource(ints = { 1, 3 })
	void faultsLeaveNothingBehindForLong(int handleSets) throws Exception {
		injectFaults(handleSets, LONG);
	}

	private void injectFaults(int handleSets, Duration time) throws Exception {
		LeaderFollowersPool pool = this.engine
			.pool(LeaderFollowersPool.builder().threads(3, 12).handleSets(handleSets).keepAlive(Duration.ofMillis(20)));
		TcpServer server = this.engine.start(TcpServer.builder(pool)
			.framing(Framing.line())
			.handler(new Handler())
			.maxMessageSize(4096)
			.maxOutboundSize(256 * 1024)
			.messageTimeout(Duration.ofSeconds(20))
			.writeTimeout(Duration.ofSeconds(20)));
		run(pool, server, 1_000_000_000L);
		settle(pool, server);
		long descriptors = Engine.descriptors();
		long heap = Engine.usedHeap();
		long requests = run(pool, server, time.toNanos());
		settle(pool, server);
		assertThat(requests).as("requests of well-behaved clients").isPositive();
		Engine.eventually()
			.untilAsserted(
					() -> assertThat(Engine.descriptors()).as("descriptors").isLessThanOrEqualTo(descriptors + 5));
		Engine.eventually().untilAsserted(() -> assertThat(Engine.usedHeap() - heap).as("heap").isLessThan(8_000_000));
		this.foreign.shutdownNow();
	}

	@ParameterizedTest(name = "{0}, {1} handle sets")
	@CsvSource({ "LIFO, 1", "LIFO, 2", "FIFO, 1", "PRIORITY, 2" })
	void nobodyIsHarmedWhileThePoolIsChangedAgainAndAgain(PromotionOrder order, int handleSets) throws Exception {
		changeThePool(order, handleSets, SHORT);
	}

	@Tag("stress")
	@ParameterizedTest(name = "{0}, {1} handle sets")
	@CsvSource({ "LIFO, 1", "LIFO, 2", "FIFO, 1", "PRIORITY, 2" })
	void nobodyIsHarmedWhileThePoolIsChangedForLong(PromotionOrder order, int handleSets) throws Exception {
		changeThePool(order, handleSets, LONG.dividedBy(2));
	}

	private void changeThePool(PromotionOrder order, int handleSets, Duration time) throws Exception {
		LeaderFollowersPool pool = this.engine.pool(LeaderFollowersPool.builder()
			.threads(handleSets, 4)
			.handleSets(handleSets)
			.promotionOrder(order)
			.keepAlive(Duration.ofMillis(20)));
		TcpServer server = this.engine.start(TcpServer.builder(pool)
			.framing(Framing.line())
			.handler(new Handler())
			.maxMessageSize(4096)
			.maxOutboundSize(256 * 1024)
			.messageTimeout(Duration.ofSeconds(20))
			.writeTimeout(Duration.ofSeconds(20)));
		AtomicBoolean stop = new AtomicBoolean();
		ExecutorService operators = Executors.newFixedThreadPool(2);
		try {
			List<Future<Integer>> changes = new ArrayList<>();
			for (int i = 0; i < 2; i++) {
				Random random = new Random(System.nanoTime());
				changes.add(operators.submit(() -> {
					int count = 0;
					do {
						change(pool, handleSets, random);
						assertLeadersAreDifferentThreads(pool.snapshot());
						count++;
					}
					while (!stop.get());
					return count;
				}));
			}
			long requests = run(pool, server, time.toNanos());
			stop.set(true);
			for (Future<Integer> one : changes) {
				assertThat(one.get(Engine.DEADLINE.toNanos(), TimeUnit.NANOSECONDS)).isPositive();
			}
			assertThat(requests).as("requests of well-behaved clients").isPositive();
		}
		finally {
			stop.set(true);
			operators.shutdownNow();
		}
		// The pool settles with the settings of the last change.
		settle(pool, server);
		this.foreign.shutdownNow();
	}

	private static void change(LeaderFollowersPool pool, int handleSets, Random random) {
		switch (random.nextInt(4)) {
			case 0 -> pool.promotionPolicy(random.nextBoolean() ? PromotionPolicy.EAGER : PromotionPolicy.ADAPTIVE);
			case 1 -> pool.promotionLease(Duration.ofNanos(100_000 + random.nextInt(10_000_000)));
			default -> {
				int min = handleSets + random.nextInt(6);
				pool.resize(min, min + random.nextInt(8));
			}
		}
		LockSupport.parkNanos(random.nextInt(2_000_000));
	}

	private static void assertLeadersAreDifferentThreads(PoolSnapshot snapshot) {
		assertThat(snapshot.handleSets()
			.stream()
			.map(PoolSnapshot.HandleSetSnapshot::leader)
			.filter(Objects::nonNull)
			.toList()).as("%s", snapshot).doesNotHaveDuplicates();
	}

	private void settle(LeaderFollowersPool pool, TcpServer server) {
		assertThat(this.violations).isEmpty();
		Engine.eventually().untilAsserted(() -> assertThat(server.snapshot().openConnections()).isZero());
		assertThat(this.closed).hasValue(this.opened.get());
		PoolSnapshot snapshot = Engine.awaitIdle(pool);
		assertThat(snapshot.handleSets().stream().mapToInt(PoolSnapshot.HandleSetSnapshot::handles).sum())
			.as("the listening socket")
			.isOne();
		Engine.eventually().until(() -> pool.snapshot().threads().size() == snapshot.minThreads());
		assertThat(snapshot.threadStartFailures()).isZero();
		// It ends a moment after it has left the pool.
		Engine.eventually().untilAsserted(() -> assertThat(Engine.threadsOf(pool)).hasSize(snapshot.minThreads()));
	}

	private long run(LeaderFollowersPool pool, TcpServer server, long nanos) throws Exception {
		long end = System.nanoTime() + nanos;
		AtomicBoolean stop = new AtomicBoolean();
		AtomicLong requests = new AtomicLong();
		ExecutorService clients = Executors.newFixedThreadPool(CLIENTS + 1);
		try {
			List<Future<?>> all = new ArrayList<>();
			long seed = System.nanoTime();
			for (int c = 0; c < CLIENTS; c++) {
				Random random = new Random(seed + c);
				boolean wellBehaved = c % 2 == 0;
				all.add(clients.submit(() -> {
					// At least once, even if the thread starts after the end.
					do {
						try (Peer peer = new Peer(server.address(), random.nextInt(4) == 0 ? 4096 : 0)) {
							if (wellBehaved) {
								requests.addAndGet(behave(peer, random));
							}
							else {
								misbehave(peer, random);
							}
						}
					}
					while (System.nanoTime() - end < 0);
					return null;
				}));
			}
			Future<?> joins = clients.submit(() -> {
				Random random = new Random(seed);
				while (!stop.get()) {
					assertThat(pool.join(Duration.ofMillis(random.nextInt(5)))).isFalse();
				}
				return null;
			});
			for (Future<?> one : all) {
				one.get(nanos + Engine.DEADLINE.toNanos(), TimeUnit.NANOSECONDS);
			}
			stop.set(true);
			joins.get(Engine.DEADLINE.toNanos(), TimeUnit.NANOSECONDS);
		}
		finally {
			stop.set(true);
			clients.shutdownNow();
		}
		return requests.get();
	}

	/** Sends bursts and demands every reply in order, and the regular end. */
	private int behave(Peer peer, Random random) {
		int sent = 0;
		int answered = 0;
		try {
			for (int burst = 1 + random.nextInt(6); burst > 0; burst--) {
				StringBuilder text = new StringBuilder();
				List<String> expected = new ArrayList<>();
				for (int n = 1 + random.nextInt(12); n > 0; n--) {
					String command = switch (random.nextInt(12)) {
						case 0 -> "big";
						case 1 -> "block";
						case 2 -> "interrupt";
						default -> "echo";
					};
					String request = ++sent + ":" + command;
					text.append(request).append('\n');
					expected.add(command.equals("big") ? request + ":" + BIG : request);
				}
				byte[] bytes = text.toString().getBytes(StandardCharsets.ISO_8859_1);
				int cut = random.nextInt(bytes.length);
				peer.send(bytes, 0, cut);
				if (random.nextBoolean()) {
					Thread.yield();
				}
				peer.send(bytes, cut, bytes.length - cut);
				for (String reply : expected) {
					String line = peer.readLine();
					if (line == null && answered == 0) {
						// Its onOpen failed.
						return 0;
					}
					if (answered == 0 && "sorry".equals(line)) {
						return 0;
					}
					if (!reply.equals(line)) {
						this.violations.add("expected %.20s, but got %.20s".formatted(reply, line));
						return answered;
					}
					answered++;
				}
			}
			if (random.nextBoolean() && peer.shutdownOutput().readLine() != null) {
				this.violations.add("more replies than requests");
			}
		}
		catch (UncheckedIOException ex) {
			if (answered > 0) {
				this.violations.add("well-behaved, but: " + ex);
			}
		}
		return answered;
	}

	private void misbehave(Peer peer, Random random) {
		try {
			int sent = 0;
			for (int n = random.nextInt(4); n > 0; n--) {
				peer.send(++sent + ":echo\n");
				if (random.nextBoolean()) {
					peer.readLine();
				}
			}
			switch (random.nextInt(14)) {
				case 0 -> peer.send(++sent + ":exception\n" + ++sent + ":echo\n").awaitClosed();
				case 1 -> peer.send(++sent + ":error\n").awaitClosed();
				case 2 -> peer.send(++sent + ":overflow\n").reset();
				case 3 -> peer.send(++sent + ":close\n" + ++sent + ":echo\n").awaitClosed();
				case 4 -> peer.send(++sent + ":foreignclose\n").awaitClosed();
				case 5 -> {
					peer.send(++sent + ":foreign\n" + ++sent + ":foreign\n");
					for (int i = 0; i < 3; i++) {
						String line = peer.readLine();
						if (line != null && !line.matches("push:p*|\\d+:[a-z]+|sorry")) {
							this.violations.add("torn: " + line);
						}
					}
					peer.reset();
				}
				case 6 -> peer.send(++sent + ":fore").reset();
				case 7 -> peer.send(++sent + ":ec").close();
				case 8 -> peer.reset();
				case 9 -> {
					// Sends more requests than it reads replies.
					for (int i = 0; i < 200; i++) {
						peer.send(++sent + ":big\n");
					}
					if (random.nextBoolean()) {
						peer.reset();
					}
				}
				case 10 -> peer.send(++sent + ":block\n").reset();
				case 11 -> peer.send("x".repeat(5000)).awaitClosed();
				case 12 -> {
					for (char c : (++sent + ":echo\n").toCharArray()) {
						peer.send("" + c);
					}
					peer.shutdownOutput();
				}
				default -> peer.send(++sent + ":big\n").shutdownOutput().reset();
			}
		}
		catch (UncheckedIOException | RejectedExecutionException ex) {
			// Replies to the requests above.
		}
	}

}
