package org.leaderfollowers;

import java.lang.ref.WeakReference;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.channels.SocketChannel;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;

import javax.net.ssl.SSLContext;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.leaderfollowers.ClientSnapshot.Outcome;
import org.leaderfollowers.ScriptedPeer.Session;
import org.leaderfollowers.internal.demultiplexing.HandleState.Claim;
import org.leaderfollowers.internal.exchange.Exchange;
import org.leaderfollowers.internal.promotion.Clock;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.catchThrowable;

@Timeout(120)
class TcpClientTests {

	/** Longer than a test waits: no test passes because a request has timed out. */
	private static final Duration LONG = Engine.DEADLINE.multipliedBy(10);

	/**
	 * The key of a line is the text before the colon; a line without a colon is not a
	 * reply.
	 */
	private static final Correlation BY_KEY = Correlation.byKey((message) -> {
		String text = Engine.text(message);
		return text.contains(":") ? text.substring(0, text.indexOf(':')) : null;
	});

	@RegisterExtension
	final Engine engine = new Engine();

	private final ExecutorService callers = Executors.newCachedThreadPool();

	private final ScriptedPeer peer = new ScriptedPeer();

	private final List<TcpClient> clients = new ArrayList<>();

	private final BlockingQueue<String> unexpected = new LinkedBlockingQueue<>();

	@AfterEach
	void end() {
		this.clients.forEach((client) -> client.close(Duration.ZERO));
		this.callers.shutdownNow();
		this.peer.close();
	}

	private TcpClient.Builder builder(Correlation correlation) {
		return builder(this.engine.pool(2, 4), correlation);
	}

	private TcpClient.Builder builder(LeaderFollowersPool pool, Correlation correlation) {
		return TcpClient.builder(pool)
			.name("peer")
			.address(this.peer.address())
			.framing(Framing.line())
			.correlation(correlation)
			.requestTimeout(LONG)
			.backoff(Duration.ofMillis(1), Duration.ofMillis(20))
			.handler((connection, message) -> this.unexpected.add(Engine.text(message)));
	}

	private TcpClient start(TcpClient.Builder builder) {
		TcpClient client = builder.build();
		this.clients.add(client);
		client.start();
		return client;
	}

	private Future<String> call(TcpClient client, String request) {
		return this.callers.submit(() -> Engine.text(client.exchange(Engine.bytes(request))));
	}

	private static String get(Future<?> future) throws Exception {
		return String.valueOf(future.get(Engine.DEADLINE.toSeconds(), TimeUnit.SECONDS));
	}

	private static Throwable failureOf(Future<?> future) {
		try {
			future.get(Engine.DEADLINE.toSeconds(), TimeUnit.SECONDS);
			throw new AssertionError("It has not failed");
		}
		catch (ExecutionException ex) {
			return ex.getCause();
		}
		catch (InterruptedException | TimeoutException ex) {
			throw new AssertionError(ex);
		}
	}

	private static long count(TcpClient client, Outcome outcome) {
		return client.snapshot().exchanges().get(outcome);
	}

	/** Otherwise its other connections would wait until its lease ends. */
	@ParameterizedTest
	@ValueSource(strings = { "awaits", "asks", "closes" })
	void aHandlerThatWaitsForAClientDoesNotLeadMeanwhile(String what) {
		TcpClient client = start(TcpClient.builder(this.engine.pool(1, 1))
			.address(new InetSocketAddress(InetAddress.getLoopbackAddress(), FreePort.find()))
			.framing(Framing.line())
			.correlation(Correlation.inOrder())
			.placeTimeout(Duration.ofMillis(1)));
		LeaderFollowersPool pool = this.engine
			.pool(LeaderFollowersPool.builder().threads(2, 2).promotionLease(Duration.ofMinutes(1)));
		TcpServer server = this.engine.lines(pool, (connection, message) -> {
			Participant me = Participant.current();
			boolean before = me.isOnLease();
			if (before) {
				switch (what) {
					case "awaits" -> client.awaitConnected(Duration.ofMillis(1));
					case "asks" -> assertThatExceptionOfType(ExchangeRejectedException.class)
						.isThrownBy(() -> client.exchange(Engine.bytes("PING")));
					default -> client.close(Duration.ZERO);
				}
			}
			connection.send(Engine.bytes(before + " " + me.isOnLease()));
		});
		Peer caller = this.engine.connect(server);
		// Until the engine has learned that the handler is short.
		String leads = caller.send("x\n").readLine();
		for (int i = 0; i < 10_000 && leads.equals("false false"); i++) {
			leads = caller.send("x\n").readLine();
		}
		assertThat(leads).isEqualTo("true false");
	}

	// Replies

	@Test
	void aCallerGetsTheReplyToItsRequest() throws Exception {
		TcpClient client = start(builder(Correlation.inOrder()));
		Session session = this.peer.accept();
		ByteBuffer request = Engine.bytes("PING");
		Future<ByteBuffer> reply = this.callers.submit(() -> client.exchange(request));
		assertThat(session.readLine()).isEqualTo("PING");
		session.send("WELCOME\n");
		assertThat(Engine.text(reply.get(30, TimeUnit.SECONDS))).isEqualTo("WELCOME");
		assertThat(request.remaining()).isEqualTo(4);
		Engine.eventually().until(() -> count(client, Outcome.REPLIED) == 1);
		assertThat(client.snapshot().sentBytes()).isEqualTo("PING\n".length());
		assertThat(client.snapshot().receivedBytes()).isEqualTo("WELCOME\n".length());
		assertThat(client.snapshot().inFlight()).isZero();
	}

	@Test
	void requestsArePipelinedAndRepliesComeInOrder() throws Exception {
		TcpClient client = start(builder(Correlation.inOrder()));
		Session session = this.peer.accept();
		List<Future<String>> replies = new ArrayList<>();
		List<String> arrived = new ArrayList<>();
		for (int i = 0; i < 50; i++) {
			replies.add(call(client, "request" + i));
		}
		for (int i = 0; i < 50; i++) {
			arrived.add(session.readLine());
		}
		// All replies in one write, so that one read returns many of them.
		session.send(String.join("", arrived.stream().map((line) -> "reply to " + line + "\n").toList()));
		for (int i = 0; i < 50; i++) {
			assertThat(get(replies.get(i))).isEqualTo("reply to request" + i);
		}
	}

	@Test
	void repliesOutOfOrderReachTheirCallers() throws Exception {
		TcpClient client = start(builder(BY_KEY));
		Session session = this.peer.accept();
		Map<String, Future<String>> replies = new HashMap<>();
		List<String> arrived = new ArrayList<>();
		for (int i = 0; i < 20; i++) {
			replies.put("k" + i, call(client, "k" + i + ":?"));
		}
		for (int i = 0; i < 20; i++) {
			arrived.add(session.readLine());
		}
		for (int i = 19; i >= 0; i--) {
			session.send(arrived.get(i).replace('?', '!') + "\n");
		}
		for (Map.Entry<String, Future<String>> reply : replies.entrySet()) {
			assertThat(get(reply.getValue())).isEqualTo(reply.getKey() + ":!");
		}
	}

	@Test
	void aStampIsReplacedByTheCallersBytesInTheReply() throws Exception {
		TcpClient client = start(builder(Correlation.stamped(0, 1)).framing(Framing.lengthField(1)));
		Session session = this.peer.accept();
		Future<ByteBuffer> first = this.callers.submit(() -> client.exchange(Engine.bytes("Xone")));
		assertThat(readFrame(session)).containsExactly(0, 'o', 'n', 'e');
		Future<ByteBuffer> second = this.callers.submit(() -> client.exchange(Engine.bytes("Ytwo")));
		assertThat(readFrame(session)).containsExactly(1, 't', 'w', 'o');
		session.send("\4\1TWO").send("\4\0ONE");
		assertThat(Engine.text(second.get(30, TimeUnit.SECONDS))).isEqualTo("YTWO");
		assertThat(Engine.text(first.get(30, TimeUnit.SECONDS))).isEqualTo("XONE");
		assertThatIllegalArgumentException().isThrownBy(() -> client.exchange(ByteBuffer.allocate(0)))
			.withMessageContaining("has no room");
	}

	private static int[] readFrame(Session session) throws Exception {
		int[] frame = new int[session.read()];
		for (int i = 0; i < frame.length; i++) {
			frame[i] = session.read();
		}
		return frame;
	}

	@Test
	void numbersAreGivenInTurnAndNotWhileTheyAreInUse() throws Exception {
		TcpClient client = start(builder(
				Correlation.stamped(2, (request, number) -> request.put(request.position(), (byte) ('0' + number)),
						(reply) -> reply.get(reply.position()) - '0')));
		Session session = this.peer.accept();
		Future<String> slow = call(client, "?slow");
		assertThat(session.readLine()).isEqualTo("0slow");
		for (int i = 0; i < 4; i++) {
			Future<String> quick = call(client, "?quick");
			String number = String.valueOf(1 + i % 2);
			assertThat(session.readLine()).isEqualTo(number + "quick");
			session.send(number + "\n");
			assertThat(get(quick)).isEqualTo(number);
		}
		session.send("0done\n");
		assertThat(get(slow)).isEqualTo("0done");
	}

	@Test
	void messagesThatReplyToNothingGoToTheHandler() throws Exception {
		TcpClient client = start(builder(BY_KEY));
		Session session = this.peer.accept();
		Future<String> reply = call(client, "a:?");
		session.readLine();
		session.send("notice\nb:nobody\na:!\n");
		assertThat(get(reply)).isEqualTo("a:!");
		assertThat(this.unexpected.poll(30, TimeUnit.SECONDS)).isEqualTo("notice");
		assertThat(this.unexpected.poll(30, TimeUnit.SECONDS)).isEqualTo("b:nobody");
		assertThat(client.snapshot().unexpectedMessages()).isEqualTo(2);
	}

	@Test
	void aCorrelationThatFailsClosesTheConnection() throws Exception {
		TcpClient client = start(builder(Correlation.byKey(Engine::text, (message) -> {
			throw new IllegalStateException("no key here");
		})));
		Session session = this.peer.accept();
		Future<String> reply = call(client, "a");
		session.readLine();
		session.send("a\n");
		assertThat(failureOf(reply)).isInstanceOf(ExchangeLostException.class)
			.hasMessageContaining("MALFORMED")
			.hasRootCauseMessage("no key here");
		// Not the handler, which was not called.
		Engine.eventually()
			.untilAsserted(() -> assertThat(this.engine.log()).filteredOn((line) -> line.contains("is closed"))
				.singleElement()
				.asString()
				.contains("framing, correlation or message order failed"));
	}

	@Test
	void aRequestWithoutAKeyIsRejected() {
		TcpClient client = start(builder(BY_KEY));
		this.peer.accept();
		assertThat(client.awaitConnected(Engine.DEADLINE)).isTrue();
		assertThatIllegalArgumentException().isThrownBy(() -> client.exchange(Engine.bytes("keyless")))
			.withMessageContaining("has no key");
		assertThatIllegalArgumentException().isThrownBy(() -> client.exchange(Engine.bytes("a:two\nlines")));
		assertThat(client.snapshot().inFlight()).isZero();
	}

	@Test
	void aHandlerOfTheSamePoolWaitsForAReply() {
		LeaderFollowersPool pool = this.engine.pool(2, 4);
		TcpServer backEnd = this.engine.lines(pool,
				(connection, message) -> connection.send(Engine.bytes("answer to " + Engine.text(message))));
		TcpClient client = start(TcpClient.builder(pool)
			.address(backEnd.address())
			.framing(Framing.line())
			.correlation(Correlation.inOrder())
			.requestTimeout(LONG));
		TcpServer frontEnd = this.engine.lines(pool,
				(connection, message) -> connection.send(client.exchange(message)));
		List<Peer> peers = new ArrayList<>();
		for (int i = 0; i < 3; i++) {
			peers.add(this.engine.connect(frontEnd).send("question " + i + "\n"));
		}
		for (int i = 0; i < 3; i++) {
			assertThat(peers.get(i).readLine()).isEqualTo("answer to question " + i);
		}
		peers.forEach(Peer::close);
	}

	// Waiting threads take part in the pool

	/** A server whose handlers ask the peer, with one thread for all of it. */
	private TcpServer frontEnd(LeaderFollowersPool pool, TcpClient client) {
		return this.engine.lines(pool, (connection, message) -> {
			String reply = Engine.text(client.exchange(message));
			connection.send(Engine.bytes(reply + " to " + Engine.text(message)));
		});
	}

	/**
	 * The peer accepts a connection before the client has it. A call would wait for the
	 * connection, within its timeout, and a thread that waits for a connection does not
	 * lead meanwhile.
	 */
	private Session acceptAndAwait(TcpClient client) {
		Session session = this.peer.accept();
		assertThat(client.awaitConnected(Engine.DEADLINE)).isTrue();
		return session;
	}

	@Test
	void oneThreadIsEnoughForARequestThatCallsOut() {
		LeaderFollowersPool pool = this.engine.pool(1, 1);
		TcpClient client = start(builder(pool, BY_KEY));
		TcpServer server = frontEnd(pool, client);
		Session session = acceptAndAwait(client);
		Peer caller = this.engine.connect(server);
		for (int i = 0; i < 3; i++) {
			caller.send("a:?\n");
			assertThat(session.readLine()).isEqualTo("a:?");
			session.send("a:!\n");
			// The message of the handler is unchanged after its thread has led.
			assertThat(caller.readLine()).isEqualTo("a:! to a:?");
		}
		caller.close();
	}

	@ParameterizedTest
	@ValueSource(ints = { 1, 2 })
	void leadershipDoesNotGoInCirclesWhileAHandlerWaitsAndMessagesForOthersAreKept(int sets) throws Exception {
		LeaderFollowersPool.Builder builder = LeaderFollowersPool.builder()
			.threads(2, 2)
			.handleSets(sets)
			.nestedDispatch(NestedDispatch.NEVER);
		LeaderFollowersPool pool = this.engine.pool((sets == 1) ? builder.eventSources("events") : builder);
		if (sets == 1) {
			pool.register("events", EventSource.of(new LinkedBlockingQueue<String>()), (event) -> {
			});
		}
		CountDownLatch gate = this.engine.gate();
		TcpClient client = start(builder(pool, BY_KEY).connections(sets));
		TcpServer server = this.engine.lines(pool, (connection, message) -> {
			if (Engine.text(message).equals("block")) {
				Engine.pass(gate);
			}
			connection.send(client.exchange(message));
		});
		List<Session> sessions = new ArrayList<>();
		for (int i = 0; i < sets; i++) {
			sessions.add(this.peer.accept());
		}
		Engine.eventually().until(() -> client.snapshot().connected() == sets);
		this.engine.connect(server).send("a:?\n");
		this.engine.connect(server).send("block\n");
		Engine.eventually()
			.until(() -> pool.snapshot().threads().stream().allMatch((thread) -> thread.handle() != null)
					&& pool.snapshot().threads().stream().anyMatch((thread) -> thread.waitsFor() != null));
		for (Session session : sessions) {
			this.callers.submit(() -> {
				session.send("notice\n");
				for (String line = session.readLine(); line != null; line = session.readLine()) {
					if (Character.isDigit(line.charAt(0))) {
						session.send(line.replace('?', '!') + "\n");
					}
				}
				return null;
			});
		}
		long before = leaders(pool);
		long began = System.nanoTime();
		int calls = 100;
		for (int i = 0; i < calls; i++) {
			Future<String> one = call(client, i + ":?");
			Future<String> two = call(client, (calls + i) + ":?");
			assertThat(get(one)).isEqualTo(i + ":!");
			assertThat(get(two)).isEqualTo((calls + i) + ":!");
		}
		// The thread stays with a handle set until it has waited there for a millisecond
		// or for an event.
		long turns = TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - began) + 2 * calls;
		assertThat(leaders(pool) - before).isLessThanOrEqualTo((sets == 1) ? 5 : turns);
		assertThat(this.unexpected).isEmpty();
	}

	private static long leaders(LeaderFollowersPool pool) {
		return pool.snapshot().promotions().values().stream().mapToLong(Long::longValue).sum();
	}

	@ParameterizedTest
	@ValueSource(strings = { "client", "connection" })
	void handlersThatKeepAllThreadsWaitingAreToldOfTheEnd(String closed) {
		LeaderFollowersPool pool = this.engine
			.pool(LeaderFollowersPool.builder().threads(1, 1).nestedDispatch(NestedDispatch.NEVER));
		AtomicReference<Connection> connection = new AtomicReference<>();
		TcpClient client = start(builder(pool, BY_KEY).handler((opened, message) -> connection.set(opened)));
		BlockingQueue<Throwable> failures = new LinkedBlockingQueue<>();
		TcpServer server = this.engine.lines(pool, (caller, message) -> {
			try {
				client.exchange(message);
			}
			catch (ExchangeException ex) {
				failures.add(ex);
				throw ex;
			}
		});
		Session session = acceptAndAwait(client).send("notice\n");
		Engine.eventually().until(() -> connection.get() != null);
		Peer caller = this.engine.connect(server).send("a:?\n");
		assertThat(session.readLine()).isEqualTo("a:?");
		if (closed.equals("client")) {
			assertThat(client.close(Duration.ofMillis(20))).isFalse();
		}
		else {
			connection.get().close();
		}
		caller.awaitClosed();
		assertThat(failures).singleElement().isInstanceOf(ExchangeLostException.class);
		assertThat(session.readLine()).isNull();
	}

	@Test
	void eventsForOthersAreKeptWhileAllThreadsWait() {
		LeaderFollowersPool pool = this.engine.pool(1, 1);
		TcpClient client = start(builder(pool, BY_KEY));
		TcpServer server = frontEnd(pool, client);
		Session session = acceptAndAwait(client);
		Peer first = this.engine.connect(server).send("a:?\n");
		assertThat(session.readLine()).isEqualTo("a:?");
		Peer second = this.engine.connect(server).send("b:?\n");
		session.send("notice\n");
		Engine.eventually().until(() -> pool.snapshot().handleSets().get(0).ready() > 0);
		assertThat(server.snapshot().receivedMessages()).isEqualTo(1);
		session.send("a:!\n");
		assertThat(first.readLine()).isEqualTo("a:! to a:?");
		assertThat(session.readLine()).isEqualTo("b:?");
		session.send("b:!\n");
		assertThat(second.readLine()).isEqualTo("b:! to b:?");
		Engine.eventually().untilAsserted(() -> assertThat(this.unexpected).containsExactly("notice"));
		first.close();
		second.close();
	}

	@Test
	void repliesReachAllThreadsThatWait() {
		LeaderFollowersPool pool = this.engine.pool(2, 2);
		TcpClient client = start(builder(pool, BY_KEY));
		TcpServer server = frontEnd(pool, client);
		Session session = acceptAndAwait(client);
		Peer first = this.engine.connect(server).send("a:?\n");
		assertThat(session.readLine()).isEqualTo("a:?");
		Peer second = this.engine.connect(server).send("b:?\n");
		assertThat(session.readLine()).isEqualTo("b:?");
		session.send("a:!\n");
		assertThat(first.readLine()).isEqualTo("a:! to a:?");
		session.send("b:!\n");
		assertThat(second.readLine()).isEqualTo("b:! to b:?");
		first.close();
		second.close();
	}

	@Test
	void theLossOfAConnectionReachesTheThreadThatLeadsMeanwhile() {
		LeaderFollowersPool pool = this.engine.pool(1, 1);
		TcpClient client = start(builder(pool, BY_KEY));
		TcpServer server = this.engine.lines(pool, (connection, message) -> {
			try {
				client.exchange(message);
			}
			catch (ExchangeLostException ex) {
				connection.send(Engine.bytes("lost"));
			}
		});
		Session session = acceptAndAwait(client);
		Peer caller = this.engine.connect(server).send("a:?\n");
		assertThat(session.readLine()).isEqualTo("a:?");
		session.reset();
		assertThat(caller.readLine()).isEqualTo("lost");
		this.peer.accept();
		caller.close();
	}

	@Test
	void aTimeoutReachesTheThreadThatLeadsMeanwhile() {
		LeaderFollowersPool pool = this.engine.pool(1, 1);
		TcpClient client = start(builder(pool, BY_KEY).requestTimeout(Duration.ofMillis(50)));
		TcpServer server = this.engine.lines(pool, (connection, message) -> {
			try {
				client.exchange(message);
			}
			catch (ExchangeTimeoutException ex) {
				connection.send(Engine.bytes("late"));
			}
		});
		Session session = acceptAndAwait(client);
		Peer caller = this.engine.connect(server).send("a:?\n");
		assertThat(caller.readLine()).isEqualTo("late");
		assertThat(session.readLine()).isEqualTo("a:?");
		caller.close();
	}

	@Test
	void aReplyOnAConnectionOfAnotherPoolReachesTheThreadThatLeadsMeanwhile() {
		// A watchdog would wake the leader after a while.
		LeaderFollowersPool pool = this.engine
			.pool(LeaderFollowersPool.builder().threads(1, 1).stuckAfter(Duration.ZERO));
		TcpClient client = start(builder(BY_KEY));
		TcpServer server = frontEnd(pool, client);
		Session session = acceptAndAwait(client);
		Peer caller = this.engine.connect(server).send("a:?\n");
		assertThat(session.readLine()).isEqualTo("a:?");
		Engine.awaitSelecting(pool.living().get(0).thread());
		session.send("a:!\n");
		assertThat(caller.readLine()).isEqualTo("a:! to a:?");
		caller.close();
	}

	@Test
	void closingAPoolInterruptsAThreadThatLeadsWhileItWaits() {
		LeaderFollowersPool pool = this.engine.pool(1, 1);
		TcpClient client = start(builder(BY_KEY));
		TcpServer server = frontEnd(pool, client);
		Session session = acceptAndAwait(client);
		Peer caller = this.engine.connect(server).send("a:?\n");
		assertThat(session.readLine()).isEqualTo("a:?");
		pool.close(Duration.ofMillis(50));
		assertThat(pool.close(Engine.DEADLINE)).isTrue();
		assertThat(count(client, Outcome.CANCELLED)).isEqualTo(1);
		caller.close();
	}

	@Test
	void aFutureThatWasAnsweredLongAgoKeepsNoReplyFromAThreadThatLeadsMeanwhile() throws Exception {
		LeaderFollowersPool pool = this.engine.pool(1, 1);
		TcpClient client = start(builder(pool, BY_KEY));
		TcpServer server = frontEnd(pool, client);
		Session session = acceptAndAwait(client);
		CompletableFuture<ByteBuffer> early = client.exchangeAsync(Engine.bytes("f:?"), Duration.ofSeconds(5));
		session.readLine();
		session.send("f:!\n");
		get(early);
		Peer caller = this.engine.connect(server).send("a:?\n");
		assertThat(session.readLine()).isEqualTo("a:?");
		Engine.elapse(Duration.ofMillis(5100));
		session.send("a:!\n");
		assertThat(caller.readLine()).isEqualTo("a:! to a:?");
		caller.close();
	}

	@ParameterizedTest
	@ValueSource(ints = { 1, 4 })
	void aHandlerOfTheOnlyConnectionReadsItsReplyItself(int threads) throws Exception {
		BlockingQueue<String> replies = new LinkedBlockingQueue<>();
		TcpClient[] client = new TcpClient[1];
		client[0] = start(builder(this.engine.pool(1, threads), BY_KEY)
			.handler((connection, message) -> replies.add(Engine.text(client[0].exchange(Engine.bytes("a:?"))))));
		Session session = acceptAndAwait(client[0]);
		for (int i = 0; i < 20; i++) {
			session.send("notice\n");
			assertThat(session.readLine()).isEqualTo("a:?");
			session.send("a:" + i + "\n");
			assertThat(replies.poll(30, TimeUnit.SECONDS)).isEqualTo("a:" + i);
		}
	}

	@Test
	void aMessageOfTheHandlerTakesItsPlaceAmongRepliesInOrder() throws Exception {
		TcpClient client = start(builder(Correlation.inOrder()).handler(new MessageHandler() {

			@Override
			public void onOpen(Connection connection) {
				connection.send(Engine.bytes("login"));
			}

			@Override
			public void onMessage(Connection connection, ByteBuffer message) {
				TcpClientTests.this.unexpected.add(Engine.text(message));
			}

		}));
		Session session = acceptAndAwait(client);
		assertThat(session.readLine()).isEqualTo("login");
		Future<String> reply = call(client, "request");
		assertThat(session.readLine()).isEqualTo("request");
		session.send("welcome\nreply\n");
		assertThat(get(reply)).isEqualTo("reply");
		assertThat(this.unexpected.poll(30, TimeUnit.SECONDS)).isEqualTo("welcome");
		assertThat(client.snapshot().inFlight()).isZero();
	}

	@Test
	void aHandlerLearnsTheAddressesOfItsConnection() throws Exception {
		TcpServer server = this.engine.lines(this.engine.pool(1, 2),
				(connection, message) -> connection.send(Engine.bytes("to " + connection.remoteAddress())));
		BlockingQueue<String> seen = new LinkedBlockingQueue<>();
		TcpClient client = start(TcpClient.builder(server.pool())
			.name("peer")
			.address(server.address())
			.framing(Framing.line())
			.correlation(Correlation.inOrder())
			.handler(new MessageHandler() {

				@Override
				public void onOpen(Connection connection) {
					seen.add("to " + connection.localAddress());
					assertThat(connection.remoteAddress()).isEqualTo(server.address());
				}

				@Override
				public void onMessage(Connection connection, ByteBuffer message) {
				}

			}));
		assertThat(get(call(client, "Who am I?"))).isEqualTo(seen.poll(30, TimeUnit.SECONDS));
	}

	// Timeouts

	/**
	 * The owner of a new connection may hold the queue of requests for longer than an
	 * exchange waits; the request would then not be sent.
	 */
	private static void awaitNobodyWrites(TcpClient client) {
		Engine.awaitIdle(client.pool());
	}

	@Test
	void aLateReplyIsNeverGivenToAnotherCaller() throws Exception {
		TcpClient client = start(builder(BY_KEY));
		Session session = acceptAndAwait(client);
		awaitNobodyWrites(client);
		Future<String> late = this.callers
			.submit(() -> Engine.text(client.exchange(Engine.bytes("a:1"), Duration.ofMillis(50))));
		assertThat(session.readLine()).isEqualTo("a:1");
		assertThat(failureOf(late)).isInstanceOf(ExchangeTimeoutException.class)
			.hasMessageContaining("has not replied");
		assertThatExceptionOfType(ExchangeRejectedException.class)
			.isThrownBy(() -> client.exchange(Engine.bytes("a:2")))
			.withMessageContaining("same key");
		session.send("a:late\n");
		assertThat(this.unexpected.poll(30, TimeUnit.SECONDS)).isEqualTo("a:late");
		Future<String> again = call(client, "a:3");
		assertThat(session.readLine()).isEqualTo("a:3");
		session.send("a:in time\n");
		assertThat(get(again)).isEqualTo("a:in time");
		Engine.eventually().until(() -> count(client, Outcome.REPLIED) == 1);
		ClientSnapshot snapshot = client.snapshot();
		assertThat(snapshot.lateReplies()).isEqualTo(1);
		assertThat(snapshot.exchanges()).containsEntry(Outcome.TIMED_OUT, 1L)
			.containsEntry(Outcome.REPLIED, 1L)
			.containsEntry(Outcome.REJECTED, 1L);
	}

	@Test
	void aPeerThatOwesTooManyRepliesIsConnectedToAnew() throws Exception {
		TcpClient client = start(builder(BY_KEY).maxInFlight(4));
		Session first = acceptAndAwait(client);
		awaitNobodyWrites(client);
		for (int i = 0; i < 3; i++) {
			String request = i + ":?";
			assertThatExceptionOfType(ExchangeTimeoutException.class)
				.isThrownBy(() -> client.exchange(Engine.bytes(request), Duration.ofMillis(20)));
		}
		Session second = this.peer.accept();
		Future<String> reply = call(client, "0:again");
		assertThat(second.readLine()).isEqualTo("0:again");
		second.send("0:!\n");
		assertThat(get(reply)).isEqualTo("0:!");
		first.close();
	}

	@Test
	void aReplyThatCameLateIsNotOwedAnyMore() throws Exception {
		TcpClient client = start(builder(BY_KEY).maxInFlight(4));
		Session session = acceptAndAwait(client);
		for (int i = 0; i < 5; i++) {
			assertThat(client.exchangeAsync(Engine.bytes("a:?")).cancel(true)).isTrue();
			assertThat(session.readLine()).isEqualTo("a:?");
			session.send("a:late\n");
			assertThat(this.unexpected.poll(30, TimeUnit.SECONDS)).isEqualTo("a:late");
		}
		Future<String> reply = call(client, "a:again");
		assertThat(session.readLine()).isEqualTo("a:again");
		session.send("a:!\n");
		assertThat(get(reply)).isEqualTo("a:!");
	}

	@Test
	void withoutKeysATimeoutClosesTheConnection() throws Exception {
		TcpClient client = start(builder(Correlation.inOrder()));
		Session first = this.peer.accept();
		Future<String> underWay = call(client, "one");
		assertThat(first.readLine()).isEqualTo("one");
		awaitNobodyWrites(client);
		Future<String> timedOut = this.callers
			.submit(() -> Engine.text(client.exchange(Engine.bytes("two"), Duration.ofMillis(50))));
		assertThat(failureOf(timedOut)).isInstanceOf(ExchangeTimeoutException.class);
		assertThat(failureOf(underWay)).isInstanceOf(ExchangeLostException.class)
			.hasMessageContaining("EXCHANGE_TIMEOUT");
		Session second = this.peer.accept();
		Future<String> next = call(client, "three");
		assertThat(second.readLine()).isEqualTo("three");
		second.send("3\n");
		assertThat(get(next)).isEqualTo("3");
	}

	// Loss

	@Test
	void whatIsUnderWayIsLostWithTheConnection() throws Exception {
		TcpClient client = start(builder(BY_KEY));
		Session session = this.peer.accept();
		Future<String> one = call(client, "a:?");
		session.readLine();
		CompletableFuture<ByteBuffer> two = client.exchangeAsync(Engine.bytes("b:?"));
		session.readLine();
		session.reset();
		assertThat(failureOf(one)).isInstanceOf(ExchangeLostException.class).hasMessageContaining("may have executed");
		assertThat(failureOf(two)).isInstanceOf(ExchangeLostException.class);
		assertThat(count(client, Outcome.LOST)).isEqualTo(2);
		Session next = this.peer.accept();
		Future<String> three = call(client, "a:again");
		assertThat(next.readLine()).isEqualTo("a:again");
		next.send("a:!\n");
		assertThat(get(three)).isEqualTo("a:!");
		Engine.eventually().untilAsserted(() -> {
			assertThat(client.snapshot().connects()).isEqualTo(2);
			assertThat(client.snapshot().disconnects()).isEqualTo(1);
		});
	}

	@Test
	void aPeerThatClosesItsSideLosesWhatIsUnderWayAtOnce() throws Exception {
		TcpClient client = start(builder(Correlation.inOrder()));
		Session session = this.peer.accept();
		Future<String> one = call(client, "one");
		session.readLine();
		session.close();
		assertThat(failureOf(one)).isInstanceOf(ExchangeLostException.class).hasMessageContaining("PEER");
	}

	@Test
	void onlyIdempotentRequestsAreRepeated() throws Exception {
		TcpClient client = start(builder(BY_KEY).idempotent((request) -> {
			byte[] bytes = new byte[request.remaining()];
			// The request is sent again as a whole, although this reads it.
			request.get(bytes);
			return new String(bytes, StandardCharsets.UTF_8).endsWith("read");
		}));
		Session first = this.peer.accept();
		Future<String> write = call(client, "a:write");
		first.readLine();
		Future<String> read = call(client, "b:read");
		first.readLine();
		first.reset();
		Session second = this.peer.accept();
		assertThat(second.readLine()).isEqualTo("b:read");
		second.send("b:!\n");
		assertThat(get(read)).isEqualTo("b:!");
		assertThat(failureOf(write)).isInstanceOf(ExchangeLostException.class);
	}

	// Futures

	/** It may have been executed. */
	@Test
	void aRequestThatCannotBeRepeatedIsLost() throws Exception {
		TcpClient client = start(builder(BY_KEY).idempotent((request) -> true).placeTimeout(Duration.ofMillis(50)));
		Session session = acceptAndAwait(client);
		Future<String> reply = call(client, "a:?");
		assertThat(session.readLine()).isEqualTo("a:?");
		this.peer.close();
		session.close();
		assertThat(failureOf(reply)).isInstanceOf(ExchangeLostException.class);
	}

	/** A request that cannot be sent again is lost, and not rejected as well. */
	@ParameterizedTest
	@ValueSource(booleans = { false, true })
	void aRequestIsNotRepeatedAfterItsTimeoutOrTheEndOfTheClient(boolean closes) throws Exception {
		TestClock clock = new TestClock();
		AtomicReference<TcpClient> started = new AtomicReference<>();
		LeaderFollowersPool pool = this.engine.pool(LeaderFollowersPool.builder().threads(2, 4).clock(clock));
		TcpClient client = start(builder(pool, BY_KEY).idempotent((request) -> {
			if (closes) {
				started.get().close(Duration.ZERO);
			}
			else {
				clock.advance(LONG);
			}
			return true;
		}));
		started.set(client);
		Session session = acceptAndAwait(client);
		Future<String> reply = call(client, "a:?");
		assertThat(session.readLine()).isEqualTo("a:?");
		session.reset();
		assertThat(failureOf(reply)).isInstanceOf(ExchangeLostException.class);
		assertThat(count(client, Outcome.LOST)).isOne();
		assertThat(count(client, Outcome.REJECTED)).isZero();
	}

	@Test
	void aRequestIsNotRepeatedAfterAnInterrupt() throws Exception {
		TcpClient client = start(builder(Correlation.inOrder()).idempotent((request) -> true));
		Session session = acceptAndAwait(client);
		Future<String> reply = call(client, "a:?");
		assertThat(session.readLine()).isEqualTo("a:?");
		// Interrupts the caller.
		this.callers.shutdownNow();
		assertThat(failureOf(reply)).isInstanceOf(ExchangeLostException.class);
		client.close(Duration.ZERO);
		assertThat(session.readLine()).isNull();
	}

	@Test
	void aRequestWaitsForAPlaceNoLongerThanItsOwnTimeout() throws Exception {
		TcpClient client = start(builder(BY_KEY).maxInFlight(1));
		Session session = acceptAndAwait(client);
		Future<String> reply = call(client, "a:?");
		assertThat(session.readLine()).isEqualTo("a:?");
		Future<ByteBuffer> rejected = this.callers
			.submit(() -> client.exchange(Engine.bytes("b:?"), Duration.ofMillis(20)));
		assertThat(failureOf(rejected)).isInstanceOf(ExchangeRejectedException.class);
		assertThat(failureOf(client.exchangeAsync(Engine.bytes("b:?")))).isInstanceOf(ExchangeRejectedException.class);
		assertThat(count(client, Outcome.REJECTED)).isEqualTo(2);
		session.send("a:!\n");
		assertThat(get(reply)).isEqualTo("a:!");
	}

	@Test
	void aRequestThatThePeerHasNoRoomForIsRejectedAndCounted() throws Exception {
		TcpClient client = start(builder(BY_KEY).maxInFlight(1000).maxOutboundSize(1024));
		assertThat(client.awaitConnected(LONG)).isTrue();
		String rest = ":" + "?".repeat(1_000_000);
		Throwable failure;
		int requests = 0;
		do {
			ByteBuffer request = Engine.bytes(requests++ + rest);
			failure = failureOf(this.callers.submit(() -> client.exchange(request, Duration.ofMillis(1))));
		}
		while (failure instanceof ExchangeTimeoutException);
		assertThat(failure).isInstanceOf(ExchangeRejectedException.class).hasMessageContaining("maxOutboundSize");
		assertThat(count(client, Outcome.REJECTED)).isOne();
	}

	/** It owes a reply itself, so it stays open. Its callers must not spin meanwhile. */
	@ParameterizedTest
	@ValueSource(booleans = { false, true })
	void aConnectionWhosePeerHasSaidItsLastTakesNoRequests(boolean inOrder) throws Exception {
		CompletableFuture<OwedReply> owed = new CompletableFuture<>();
		AtomicReference<Connection> open = new AtomicReference<>();
		TcpClient client = start(builder(inOrder ? Correlation.inOrder() : BY_KEY).placeTimeout(Duration.ofMillis(50))
			.handler((connection, message) -> {
				open.set(connection);
				owed.complete(connection.owe());
			}));
		Session session = this.peer.accept().send("push\n");
		OwedReply reply = owed.get(Engine.DEADLINE.toSeconds(), TimeUnit.SECONDS);
		session.shutdownOutput();
		Engine.eventually().until(() -> ((TcpConnection) open.get()).ending() != null);
		assertThat(failureOf(call(client, "1:x"))).isInstanceOf(ExchangeRejectedException.class)
			.hasMessageContaining("is connected to none of its addresses");
		assertThat(client.snapshot().connected()).isZero();
		if (!inOrder) {
			reply.send(Engine.bytes("pushed"));
			assertThat(session.readLine()).isEqualTo("pushed");
		}
		reply.close();
		assertThat(session.readLine()).as("the end").isNull();
	}

	/** Otherwise none would be left to connect. */
	@ParameterizedTest
	@ValueSource(ints = { 1, 2, 4 })
	void oneThreadOfAPoolDoesNotWaitForAPlace(int threads) {
		LeaderFollowersPool pool = this.engine.pool(threads, threads);
		int port = this.peer.address().getPort();
		this.peer.close();
		TcpClient client = start(builder(pool, Correlation.inOrder()).placeTimeout(LONG));
		TcpServer server = asking(pool, client);
		List<Peer> peers = new ArrayList<>();
		for (int i = 0; i < threads; i++) {
			peers.add(this.engine.connect(server).send("hello\n"));
		}
		Engine.eventually()
			.until(() -> count(client, Outcome.REJECTED) == 1 && client.snapshot().waiting() == threads - 1);
		try (ScriptedPeer late = new ScriptedPeer(port)) {
			Session session = late.accept();
			for (int i = 1; i < threads; i++) {
				session.send(session.readLine() + "\n");
			}
			List<String> replies = new ArrayList<>(peers.stream().map(Peer::readLine).toList());
			assertThat(replies).filteredOn("hello"::equals).hasSize(threads - 1);
			replies.removeIf("hello"::equals);
			assertThat(replies).singleElement()
				.asString()
				.contains("is connected to none of its addresses")
				.contains("All threads of pool '%s' wait".formatted(pool.name()));
			Engine.eventually().until(() -> client.snapshot().connected() == 1);
			peers.get(0).send("again\n");
			session.send(session.readLine() + "\n");
			assertThat(peers.get(0).readLine()).isEqualTo("again");
		}
		assertThat(count(client, Outcome.REJECTED)).isOne();
	}

	/** Another thread would give up at once if this one seemed to wait for ever. */
	@Test
	void aThreadThatHasWaitedInVainCountsAsFree() {
		LeaderFollowersPool pool = this.engine.pool(2, 2);
		this.peer.close();
		TcpClient client = start(builder(pool, Correlation.inOrder()).placeTimeout(Duration.ofMillis(50)));
		Set<Thread> waited = ConcurrentHashMap.newKeySet();
		TcpServer server = this.engine.lines(pool, (connection, message) -> {
			waited.add(Thread.currentThread());
			try {
				client.exchange(message);
			}
			catch (ExchangeRejectedException ex) {
				connection.send(Engine.bytes("" + ex.getMessage()));
			}
		});
		Peer caller = this.engine.connect(server);
		Engine.eventually().until(() -> {
			assertThat(caller.send("hello\n").readLine()).contains("is connected to none of its addresses")
				.doesNotContain("All threads");
			return waited.size() == 2;
		});
	}

	/** The second thread is started when the first one begins to wait. */
	@Test
	void aThreadWaitsForAPlaceIfAnotherOneMayBeStarted() {
		LeaderFollowersPool pool = this.engine.pool(1, 2);
		int port = this.peer.address().getPort();
		this.peer.close();
		TcpClient client = start(builder(pool, Correlation.inOrder()).placeTimeout(LONG));
		Peer caller = this.engine.connect(asking(pool, client)).send("hello\n");
		Engine.eventually().until(() -> client.snapshot().waiting() == 1);
		try (ScriptedPeer late = new ScriptedPeer(port)) {
			Session session = late.accept();
			session.send(session.readLine() + "\n");
			assertThat(caller.readLine()).isEqualTo("hello");
		}
		assertThat(count(client, Outcome.REJECTED)).isZero();
	}

	/** A thread that waits for a reply reads, but does not connect. */
	@ParameterizedTest
	@ValueSource(booleans = { false, true })
	void aThreadDoesNotWaitForAConnectionIfAllOthersHaveWaitedForRepliesForLong(boolean asks) throws Exception {
		LeaderFollowersPool pool = this.engine.pool(2, 2);
		TcpClient slow = start(builder(pool, Correlation.inOrder()).name("slow"));
		assertThat(slow.awaitConnected(Engine.DEADLINE)).isTrue();
		Session session = this.peer.accept();
		TcpClient down = start(TcpClient.builder(pool)
			.address(new InetSocketAddress(InetAddress.getLoopbackAddress(), FreePort.find()))
			.framing(Framing.line())
			.correlation(Correlation.inOrder())
			.requestTimeout(LONG)
			.placeTimeout(LONG));
		Peer waiting = this.engine.connect(asking(pool, slow)).send("hello\n");
		assertThat(session.readLine()).isEqualTo("hello");
		TcpServer server = asks ? asking(pool, down) : this.engine.lines(pool, (connection, message) -> connection
			.send(Engine.bytes("All threads wait: " + !down.awaitConnected(LONG))));
		assertThat(this.engine.connect(server).send("x\n").readLine()).contains("All threads", asks ? "" : "true");
		session.send("hello\n");
		assertThat(waiting.readLine()).isEqualTo("hello");
	}

	/** The thread would have to read the replies to its own requests. */
	@Test
	void theOnlyThreadOfAPoolDoesNotWaitForThePlacesThatItHasTaken() {
		LeaderFollowersPool pool = this.engine.pool(1, 1);
		TcpClient client = start(builder(pool, Correlation.inOrder()).maxInFlight(1).placeTimeout(LONG));
		assertThat(client.awaitConnected(Engine.DEADLINE)).isTrue();
		Session session = this.peer.accept();
		CompletableFuture<CompletableFuture<ByteBuffer>> first = new CompletableFuture<>();
		TcpServer server = this.engine.lines(pool, (connection, message) -> {
			first.complete(client.exchangeAsync(Engine.bytes("1")));
			try {
				client.exchange(Engine.bytes("2"));
			}
			catch (ExchangeRejectedException ex) {
				connection.send(Engine.bytes("" + ex.getMessage()));
			}
		});
		assertThat(this.engine.connect(server).send("x\n").readLine()).contains("has the maximum number of exchanges")
			.contains("All threads");
		assertThat(session.readLine()).isEqualTo("1");
		session.send("one\n");
		assertThat(first.thenCompose((reply) -> reply)).succeedsWithin(Engine.DEADLINE)
			.satisfies((reply) -> assertThat(Engine.text(reply)).isEqualTo("one"));
	}

	/** Sends each message to the client, and the reply or the failure back. */
	private TcpServer asking(LeaderFollowersPool pool, TcpClient client) {
		return this.engine.lines(pool, (connection, message) -> {
			try {
				connection.send(client.exchange(message));
			}
			catch (ExchangeRejectedException ex) {
				connection.send(Engine.bytes("" + ex.getMessage()));
			}
		});
	}

	@Test
	void futuresAreCompleted() throws Exception {
		TcpClient client = start(builder(BY_KEY));
		Session session = this.peer.accept();
		assertThat(client.awaitConnected(Engine.DEADLINE)).isTrue();
		CompletableFuture<String> reply = client.exchangeAsync(Engine.bytes("a:?"))
			.thenApply((message) -> Thread.currentThread().getName() + " " + Engine.text(message));
		assertThat(session.readLine()).isEqualTo("a:?");
		session.send("a:!\n");
		assertThat(get(reply)).startsWith("lf-" + client.pool().name()).endsWith(" a:!");
	}

	@Test
	void futuresTimeOut() {
		TcpClient client = start(builder(BY_KEY));
		Session session = this.peer.accept();
		assertThat(client.awaitConnected(Engine.DEADLINE)).isTrue();
		CompletableFuture<ByteBuffer> never = client.exchangeAsync(Engine.bytes("a:?"), LONG);
		CompletableFuture<ByteBuffer> late = client.exchangeAsync(Engine.bytes("b:?"), Duration.ofMillis(30));
		assertThat(failureOf(late)).isInstanceOf(ExchangeTimeoutException.class);
		assertThat(never).isNotDone();
		assertThat(count(client, Outcome.TIMED_OUT)).isEqualTo(1);
		session.close();
		assertThat(failureOf(never)).isInstanceOf(ExchangeLostException.class);
	}

	/** A thread fails between reading the reply and running code of the application. */
	@Test
	void aFutureWhoseReplyWasReadIsCompletedIfItCannotBeDelivered() {
		CompletableFuture<TcpConnection> opened = new CompletableFuture<>();
		TcpClient client = start(builder(BY_KEY).handler(new MessageHandler() {

			@Override
			public void onOpen(Connection connection) {
				opened.complete((TcpConnection) connection);
			}

			@Override
			public void onMessage(Connection connection, ByteBuffer message) {
			}

		}));
		acceptAndAwait(client);
		CompletableFuture<ByteBuffer> reply = client.exchangeAsync(Engine.bytes("a:?"));
		TcpConnection connection = opened.join();
		Engine.eventually().until(connection.handle::isArmed);
		assertThat(connection.handle.claimForLook()).isEqualTo(Claim.CLAIMED);
		connection.exchanges.find(Engine.bytes("a:!"));
		connection.endExchanges();
		assertThat(connection.handle.releaseOrLookAgain()).isTrue();
		assertThat(failureOf(reply)).isInstanceOf(ExchangeLostException.class);
	}

	@Test
	void aClientThatWasClosedWhileItWasNotConnectedIsGarbage() {
		this.peer.close();
		WeakReference<MessageHandler> handler = closedUnconnected(this.engine.pool(1, 1));
		Engine.awaitCollected(handler);
	}

	private WeakReference<MessageHandler> closedUnconnected(LeaderFollowersPool pool) {
		MessageHandler handler = new MessageHandler() {

			@Override
			public void onMessage(Connection connection, ByteBuffer message) {
			}

		};
		Duration backoff = Duration.ofHours(1);
		TcpClient client = builder(pool, BY_KEY).handler(handler).backoff(backoff, backoff).build();
		client.start();
		Engine.eventually().until(() -> client.snapshot().failedConnects() == 1);
		// The only thread answers after it has set the timer of the next attempt.
		TcpServer server = this.engine.lines(pool, Connection::send);
		assertThat(this.engine.connect(server).send("hello\n").readLine()).isEqualTo("hello");
		assertThat(client.close(Engine.DEADLINE)).isTrue();
		return new WeakReference<>(handler);
	}

	@Test
	void aCancelledFutureKeepsItsKeyUntilTheReplyComes() throws Exception {
		TcpClient client = start(builder(BY_KEY));
		Session session = this.peer.accept();
		assertThat(client.awaitConnected(Engine.DEADLINE)).isTrue();
		CompletableFuture<ByteBuffer> cancelled = client.exchangeAsync(Engine.bytes("a:?"));
		assertThat(cancelled.cancel(true)).isTrue();
		assertThat(failureOf(client.exchangeAsync(Engine.bytes("a:again"))))
			.isInstanceOf(ExchangeRejectedException.class);
		session.readLine();
		session.send("a:late\n");
		assertThat(this.unexpected.poll(30, TimeUnit.SECONDS)).isEqualTo("a:late");
		assertThat(count(client, Outcome.CANCELLED)).isEqualTo(1);
		assertThat(client.snapshot().inFlight()).isZero();
	}

	@Test
	void aFutureThatBlocksHoldsUpNoOtherConnection() throws Exception {
		LeaderFollowersPool pool = this.engine.pool(2, 4);
		TcpServer server = this.engine.lines(pool, (connection, message) -> connection.send(message));
		TcpClient client = start(builder(pool, BY_KEY));
		Session session = this.peer.accept();
		assertThat(client.awaitConnected(Engine.DEADLINE)).isTrue();
		CountDownLatch gate = this.engine.gate();
		CompletableFuture<Void> blocked = client.exchangeAsync(Engine.bytes("a:?"))
			.thenAccept((message) -> Engine.pass(gate));
		session.readLine();
		session.send("a:!\n");
		assertThat(this.engine.connect(server).send("hello\n").readLine()).isEqualTo("hello");
		gate.countDown();
		get(blocked);
	}

	// The window

	@Test
	void aFullWindowRefusesAtOnceOrMakesCallersWait() throws Exception {
		TcpClient client = start(builder(BY_KEY).maxInFlight(2));
		Session session = this.peer.accept();
		Future<String> one = call(client, "a:?");
		Future<String> two = call(client, "b:?");
		session.readLine();
		session.readLine();
		assertThat(failureOf(client.exchangeAsync(Engine.bytes("c:?")))).isInstanceOf(ExchangeRejectedException.class)
			.hasMessageContaining("maxInFlight");
		Future<String> three = call(client, "c:?");
		Engine.eventually().until(() -> client.snapshot().waiting() == 1);
		session.send("b:!\n");
		assertThat(get(two)).isEqualTo("b:!");
		assertThat(session.readLine()).isEqualTo("c:?");
		session.send("c:!\na:!\n");
		assertThat(get(three)).isEqualTo("c:!");
		assertThat(get(one)).isEqualTo("a:!");
	}

	/** Such a thread takes no place, so it passes the notification of a free one on. */
	@Test
	void aThreadThatWaitsUntilConnectedHoldsUpNoCaller() throws Exception {
		TcpClient client = start(builder(BY_KEY).maxInFlight(1).requestTimeout(LONG.multipliedBy(4)));
		Session session = this.peer.accept();
		Future<String> one = call(client, "a:?");
		assertThat(session.readLine()).isEqualTo("a:?");
		Future<Boolean> connected = this.callers.submit(() -> client.awaitConnected(LONG.multipliedBy(4)));
		Engine.eventually().until(() -> client.snapshot().waiting() == 1);
		Future<String> two = call(client, "b:?");
		Engine.eventually().until(() -> client.snapshot().waiting() == 2);
		session.send("a:!\n");
		assertThat(get(one)).isEqualTo("a:!");
		assertThat(session.readLine()).isEqualTo("b:?");
		session.send("b:!\n");
		assertThat(get(two)).isEqualTo("b:!");
		assertThat(get(connected)).isEqualTo("true");
	}

	/** The one that it was notified of. */
	@Test
	void aCallerWhoseRequestCannotBeSentLeavesItsPlaceToTheNextOne() throws Exception {
		TcpClient client = start(builder(Correlation.byKey((request) -> {
			String text = Engine.text(request);
			if (text.startsWith("bad")) {
				throw new IllegalStateException("made for the test");
			}
			return text.substring(0, text.indexOf(':'));
		})).maxInFlight(1).requestTimeout(LONG.multipliedBy(4)));
		Session session = this.peer.accept();
		Future<String> one = call(client, "a:?");
		assertThat(session.readLine()).isEqualTo("a:?");
		Future<String> bad = call(client, "bad");
		Engine.eventually().until(() -> client.snapshot().waiting() == 1);
		Future<String> two = call(client, "b:?");
		Engine.eventually().until(() -> client.snapshot().waiting() == 2);
		session.send("a:!\n");
		assertThat(get(one)).isEqualTo("a:!");
		assertThat(failureOf(bad)).hasMessageContaining("made for the test");
		assertThat(session.readLine()).isEqualTo("b:?");
		session.send("b:!\n");
		assertThat(get(two)).isEqualTo("b:!");
	}

	/** No other one is notified by its connection. */
	@ParameterizedTest
	@ValueSource(booleans = { false, true })
	void aCallerWhoseRequestIsNotWrittenLeavesItsPlaceToTheNextOne(boolean isInOrder) throws Exception {
		TcpClient client = start(builder(isInOrder ? Correlation.inOrder() : BY_KEY).maxInFlight(2)
			.requestTimeout(LONG.multipliedBy(4)));
		Session session = this.peer.accept();
		Future<String> one = call(client, "a:?");
		assertThat(session.readLine()).isEqualTo("a:?");
		Future<String> two = call(client, "b:?");
		assertThat(session.readLine()).isEqualTo("b:?");
		// Not one line, or the key of a request that still waits.
		Future<String> bad = call(client, isInOrder ? "c:?\n" : "b:?");
		Engine.eventually().until(() -> client.snapshot().waiting() == 1);
		Future<String> three = call(client, "d:?");
		Engine.eventually().until(() -> client.snapshot().waiting() == 2);
		session.send("a:!\n");
		assertThat(get(one)).isEqualTo("a:!");
		assertThat(failureOf(bad)).isInstanceOf(RuntimeException.class);
		assertThat(session.readLine()).isEqualTo("d:?");
		session.send("b:!\nd:!\n");
		assertThat(get(two)).isEqualTo("b:!");
		assertThat(get(three)).isEqualTo("d:!");
	}

	@Test
	void callersDoNotWaitForLongerThanThePlaceTimeout() throws Exception {
		TcpClient client = start(builder(BY_KEY).maxInFlight(1).placeTimeout(Duration.ofMillis(30)));
		Session session = this.peer.accept();
		assertThat(client.awaitConnected(Engine.DEADLINE)).isTrue();
		Future<String> one = call(client, "a:?");
		session.readLine();
		assertThatExceptionOfType(ExchangeRejectedException.class)
			.isThrownBy(() -> client.exchange(Engine.bytes("b:?")));
		session.send("a:!\n");
		assertThat(get(one)).isEqualTo("a:!");
	}

	@Test
	void anInterruptEndsTheWaitForAPlace() throws Exception {
		TcpClient client = start(builder(BY_KEY).maxInFlight(1));
		Session session = acceptAndAwait(client);
		Future<String> one = call(client, "a:?");
		session.readLine();
		Thread.currentThread().interrupt();
		assertThatExceptionOfType(ExchangeRejectedException.class)
			.isThrownBy(() -> client.exchange(Engine.bytes("b:?")))
			.withMessageEndingWith("interrupted while it waited for a place");
		assertThat(Thread.interrupted()).isTrue();
		session.send("a:!\n");
		assertThat(get(one)).isEqualTo("a:!");
	}

	@Test
	void thereAreNoMorePlacesThanNumbers() throws Exception {
		TcpClient client = start(builder(
				Correlation.stamped(0, (request, number) -> request.put(request.position(), (byte) ('0' + number)),
						(reply) -> reply.get(reply.position()) - '0'))
			.placeTimeout(Duration.ofMillis(50)));
		Session session = acceptAndAwait(client);
		Future<String> first = call(client, "?");
		assertThat(session.readLine()).isEqualTo("0");
		assertThat(client.awaitConnected(Duration.ZERO)).as("has a place").isFalse();
		assertThat(failureOf(call(client, "?"))).isInstanceOf(ExchangeRejectedException.class);
		session.send("0\n");
		assertThat(get(first)).isEqualTo("0");
	}

	@Test
	void aRequestThatCannotBeFramedLeavesItsPlaceToOthers() throws Exception {
		TcpClient client = start(builder(BY_KEY).maxInFlight(1));
		Session session = this.peer.accept();
		assertThat(client.awaitConnected(Engine.DEADLINE)).isTrue();
		for (int i = 0; i < 3; i++) {
			assertThatIllegalArgumentException().isThrownBy(() -> client.exchange(Engine.bytes("a:two\nlines")));
		}
		Future<String> next = call(client, "a:?");
		assertThat(session.readLine()).isEqualTo("a:?");
		session.send("a:!\n");
		assertThat(get(next)).isEqualTo("a:!");
	}

	/**
	 * A caller that waits for this place would only see after the place timeout that it
	 * is free.
	 */
	@Test
	void aFutureWhoseRequestCannotBeFramedLeavesItsPlaceToTheCallerThatWaits() throws Exception {
		AtomicReference<TcpClient> waitedFor = new AtomicReference<>();
		Framing framing = new HeldUpFraming((text) -> {
			if (text.startsWith("bad")) {
				Engine.eventually().until(() -> waitedFor.get().snapshot().waiting() == 1);
				throw new IllegalStateException("made for the test");
			}
		});
		TcpClient client = start(builder(BY_KEY).framing(framing).maxInFlight(1).requestTimeout(LONG.multipliedBy(4)));
		waitedFor.set(client);
		Session session = acceptAndAwait(client);
		Future<?> bad = this.callers.submit(() -> client.exchangeAsync(Engine.bytes("bad:?")));
		Engine.eventually().until(() -> client.snapshot().inFlight() == 1);
		Future<String> next = call(client, "a:?");
		assertThat(failureOf(bad)).hasMessage("made for the test");
		assertThat(session.readLine()).isEqualTo("a:?");
		session.send("a:!\n");
		assertThat(get(next)).isEqualTo("a:!");
	}

	/** It is rejected too, instead of waiting for a place that is free. */
	@Test
	void aRequestThatThePeerHasNoRoomForLeavesItsPlaceToTheCallerThatWaits() throws Exception {
		AtomicReference<TcpClient> waitedFor = new AtomicReference<>();
		Framing framing = new HeldUpFraming((text) -> {
			if (text.startsWith("b")) {
				Engine.eventually().until(() -> waitedFor.get().snapshot().waiting() == 1);
			}
		});
		TcpClient client = start(builder(BY_KEY).framing(framing)
			.maxInFlight(2)
			.maxOutboundSize(1024)
			.requestTimeout(LONG.multipliedBy(4)));
		waitedFor.set(client);
		acceptAndAwait(client);
		call(client, "a:" + "?".repeat(16_000_000));
		Engine.eventually().until(() -> client.snapshot().sentBytes() > 0);
		Future<String> refused = call(client, "b:?");
		Engine.eventually().until(() -> client.snapshot().inFlight() == 2);
		Future<String> next = call(client, "c:?");
		assertThat(failureOf(refused)).hasMessageContaining("maxOutboundSize");
		assertThat(failureOf(next)).hasMessageContaining("maxOutboundSize");
	}

	/** Lines, before each of which something may happen. */
	private record HeldUpFraming(Consumer<String> before) implements Framing {

		private static final Framing LINES = Framing.line();

		@Override
		public boolean decode(ByteBuffer input, Frame frame) {
			return LINES.decode(input, frame);
		}

		@Override
		public int maxFrameLength(int payloadLength) {
			return LINES.maxFrameLength(payloadLength);
		}

		@Override
		public void encode(ByteBuffer payload, ByteBuffer output) {
			this.before.accept(Engine.text(payload));
			LINES.encode(payload, output);
		}

	}

	/** Its queue of connections is full, so the system drops every attempt. */
	@Test
	@EnabledOnOs(OS.LINUX)
	void anAddressThatDoesNotAnswerInTimeIsNotReachableAndAnotherOneIsUsed() throws Exception {
		List<SocketChannel> queued = new ArrayList<>();
		try (ServerSocket silent = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
			for (int i = 0; i < 10; i++) {
				SocketChannel channel = SocketChannel.open();
				queued.add(channel);
				channel.configureBlocking(false);
				channel.connect(silent.getLocalSocketAddress());
			}
			TcpClient client = start(builder(BY_KEY).address((InetSocketAddress) silent.getLocalSocketAddress())
				.connections(2)
				.connectTimeout(Duration.ofMillis(100)));
			this.peer.accept();
			this.peer.accept();
			Engine.eventually().until(() -> client.snapshot().connected() == 2);
			assertThat(client.snapshot().addresses().get(1)).satisfies((address) -> {
				assertThat(address.reachable()).isFalse();
				assertThat(address.failure()).contains("The peer did not answer in time");
			});
		}
		finally {
			for (SocketChannel channel : queued) {
				channel.close();
			}
		}
	}

	@Test
	void aRequestThatCannotBeStampedLeavesItsNumberToOthers() throws Exception {
		TcpClient client = start(builder(Correlation.stamped(1, (request, number) -> {
			if (request.get(request.position()) == 'x') {
				throw new IllegalArgumentException("made for the test");
			}
			request.put(request.position(), (byte) ('0' + number));
		}, (reply) -> reply.get(reply.position()) - '0')).maxInFlight(2));
		Session session = acceptAndAwait(client);
		for (int i = 0; i < 3; i++) {
			assertThatIllegalArgumentException().isThrownBy(() -> client.exchange(Engine.bytes("x")))
				.withMessage("made for the test");
		}
		Future<String> first = call(client, "?");
		String number = session.readLine();
		Future<String> second = call(client, "?");
		String other = session.readLine();
		session.send(other + "\n" + number + "\n");
		assertThat(get(first)).isEqualTo(number);
		assertThat(get(second)).isEqualTo(other);
	}

	@Test
	void anInterruptEndsTheWait() throws Exception {
		TcpClient client = start(builder(BY_KEY));
		Session session = this.peer.accept();
		AtomicInteger stillInterrupted = new AtomicInteger();
		Thread[] thread = new Thread[1];
		CountDownLatch known = new CountDownLatch(1);
		Future<?> interrupted = this.callers.submit(() -> {
			thread[0] = Thread.currentThread();
			known.countDown();
			try {
				client.exchange(Engine.bytes("a:?"));
			}
			finally {
				stillInterrupted.set(Thread.interrupted() ? 1 : -1);
			}
		});
		session.readLine();
		Engine.pass(known);
		thread[0].interrupt();
		assertThat(failureOf(interrupted)).isInstanceOf(ExchangeLostException.class)
			.hasMessageContaining("interrupted");
		assertThat(stillInterrupted).hasValue(1);
		assertThat(count(client, Outcome.CANCELLED)).isEqualTo(1);
	}

	// Addresses

	@Test
	void connectionsAreSpreadOverTheAddresses() throws Exception {
		try (ScriptedPeer other = new ScriptedPeer()) {
			TcpClient client = start(builder(BY_KEY).address(other.address()).connections(4));
			for (int i = 0; i < 2; i++) {
				this.peer.accept();
				other.accept();
			}
			Engine.eventually().untilAsserted(() -> assertThat(client.snapshot().connected()).isEqualTo(4));
			assertThat(client.snapshot().addresses()).extracting(ClientSnapshot.Address::connections)
				.containsExactly(2, 2);
		}
	}

	@Test
	void anAddressThatCannotBeReachedIsLeftOutUntilItCan() throws Exception {
		int port = FreePort.find();
		TcpClient client = start(builder(BY_KEY).address("localhost", port).connections(2));
		Session first = this.peer.accept();
		Session second = this.peer.accept();
		Engine.eventually().untilAsserted(() -> {
			ClientSnapshot.Address unreachable = client.snapshot().addresses().get(1);
			assertThat(unreachable.reachable()).isFalse();
			assertThat(unreachable.failure()).contains("ConnectException");
		});
		Engine.eventually().until(() -> client.snapshot().connected() == 2);
		assertThat(this.engine.log()).filteredOn((line) -> line.contains("cannot connect to")).hasSize(1);
		try (ScriptedPeer back = new ScriptedPeer(port)) {
			// Longer than the pause after a failure: otherwise the client uses the other
			// address again.
			Engine.elapse(Duration.ofMillis(100));
			first.reset();
			back.accept();
			Engine.eventually().until(() -> client.snapshot().addresses().get(1).reachable());
		}
		second.close();
	}

	@Test
	void aClientWaitsForAPeerThatIsNotThereYet() throws Exception {
		int port = FreePort.find();
		TcpClient client = start(TcpClient.builder(this.engine.pool(2, 4))
			.address("localhost", port)
			.framing(Framing.line())
			.correlation(Correlation.inOrder())
			.requestTimeout(LONG)
			.backoff(Duration.ofMillis(1), Duration.ofMillis(10)));
		assertThat(failureOf(client.exchangeAsync(Engine.bytes("now")))).isInstanceOf(ExchangeRejectedException.class)
			.hasMessageContaining("none of its addresses: localhost:%d (".formatted(port));
		Engine.eventually()
			.untilAsserted(() -> assertThat(failureOf(client.exchangeAsync(Engine.bytes("now"))))
				.hasMessageContaining("localhost:%d (ConnectException".formatted(port)));
		Engine.eventually().until(() -> client.snapshot().failedConnects() > 2);
		Future<String> reply = call(client, "whenever");
		try (ScriptedPeer back = new ScriptedPeer(port); Session session = back.accept()) {
			assertThat(session.readLine()).isEqualTo("whenever");
			session.send("now\n");
			assertThat(get(reply)).isEqualTo("now");
		}
	}

	@Test
	void aNameThatDoesNotExistIsReported() {
		TcpClient client = start(TcpClient.builder(this.engine.pool(2, 4))
			.address("no-such-host.invalid", 7)
			.framing(Framing.line())
			.correlation(Correlation.inOrder()));
		Engine.eventually()
			.untilAsserted(
					() -> assertThat(client.snapshot().addresses().get(0).failure()).contains("UnknownHostException"));
	}

	@Test
	void aPeerThatClosesAtOnceIsNotConnectedToWithoutEnd() {
		TcpClient client = start(builder(BY_KEY).backoff(Duration.ofSeconds(20), LONG));
		this.peer.accept().close();
		Engine.eventually().until(() -> !client.snapshot().addresses().get(0).reachable());
		assertThat(client.snapshot().connects() + client.snapshot().failedConnects()).isEqualTo(1);
	}

	@Test
	void aConnectionThatTheApplicationHasSeenWasEstablished() {
		CountDownLatch ended = this.engine.gate();
		// The only thread sees the end of the connection before it has recorded that the
		// connection is open.
		TcpClient client = start(builder(this.engine.pool(1, 1), BY_KEY).backoff(Duration.ofSeconds(20), LONG)
			.handler(new MessageHandler() {

				@Override
				public void onOpen(Connection connection) {
					Engine.pass(ended);
				}

				@Override
				public void onMessage(Connection connection, ByteBuffer message) {
					TcpClientTests.this.unexpected.add(Engine.text(message));
				}

			}));
		this.peer.accept().close();
		ended.countDown();
		Engine.eventually().until(() -> client.snapshot().disconnects() == 1);
		assertThat(client.snapshot().connects()).isEqualTo(1);
		assertThat(client.snapshot().failedConnects()).isZero();
	}

	// Heartbeats

	@Test
	void aSilentPeerGetsAHeartbeat() throws Exception {
		TcpClient client = start(builder(Correlation.inOrder()).requestTimeout(LONG)
			.heartbeat(Duration.ofMillis(20), () -> Engine.bytes("alive?")));
		Session session = this.peer.accept();
		for (int i = 0; i < 3; i++) {
			assertThat(session.readLine()).isEqualTo("alive?");
			session.send("yes\n");
		}
		assertThat(client.snapshot().connected()).isEqualTo(1);
	}

	@Test
	void aHeartbeatWithoutReplyClosesTheConnection() {
		start(builder(BY_KEY).requestTimeout(Duration.ofMillis(50))
			.heartbeat(Duration.ofMillis(20), () -> Engine.bytes("heart:beat")));
		Session first = this.peer.accept();
		assertThat(first.readLine()).isEqualTo("heart:beat");
		assertThat(this.peer.accept().readLine()).isEqualTo("heart:beat");
	}

	// The end

	/** The system rejects a multicast address before it sends anything. */
	@Test
	void anAttemptThatFailsAtOnceIsRepeatedAndCountsNoConnection() {
		TcpClient client = start(TcpClient.builder(this.engine.pool(2, 4))
			.address(new InetSocketAddress("224.0.0.1", 9))
			.framing(Framing.line())
			.correlation(BY_KEY)
			.backoff(Duration.ofMillis(1), Duration.ofMillis(20)));
		Engine.eventually().until(() -> client.snapshot().addresses().get(0).failures() >= 3);
		assertThat(client.snapshot().addresses().get(0).connections()).isLessThanOrEqualTo(1);
	}

	@Test
	void closingWaitsForReplies() throws Exception {
		TcpClient client = start(builder(BY_KEY));
		Session session = this.peer.accept();
		Future<String> reply = call(client, "a:?");
		session.readLine();
		Future<Boolean> closed = this.callers.submit(() -> client.close(Engine.DEADLINE));
		Engine.eventually().until(() -> client.snapshot().state() == ClientSnapshot.State.CLOSING);
		assertThatExceptionOfType(ExchangeRejectedException.class)
			.isThrownBy(() -> client.exchange(Engine.bytes("b:?")))
			.withMessageContaining("closed");
		assertThat(failureOf(client.exchangeAsync(Engine.bytes("c:?")))).isInstanceOf(ExchangeRejectedException.class)
			.hasMessageContaining("closed");
		session.send("a:!\n");
		assertThat(get(reply)).isEqualTo("a:!");
		assertThat(session.readLine()).isNull();
		session.close();
		assertThat(get(closed)).isEqualTo("true");
		assertThat(client.snapshot().state()).isEqualTo(ClientSnapshot.State.CLOSED);
		assertThat(client.awaitConnected(Duration.ZERO)).isFalse();
	}

	@Test
	void theLastReplyEndsTheWaitOfAllThreadsThatClose() throws Exception {
		TcpClient client = start(builder(BY_KEY).requestTimeout(LONG.multipliedBy(4)));
		Session session = this.peer.accept();
		Future<String> one = call(client, "a:?");
		assertThat(session.readLine()).isEqualTo("a:?");
		Future<String> two = call(client, "b:?");
		assertThat(session.readLine()).isEqualTo("b:?");
		List<Future<Boolean>> closed = new ArrayList<>();
		for (int i = 1; i <= 2; i++) {
			int waiting = i;
			closed.add(this.callers.submit(() -> client.close(LONG.multipliedBy(4))));
			Engine.eventually().until(() -> client.snapshot().waiting() == waiting);
		}
		session.send("a:!\n");
		assertThat(get(one)).isEqualTo("a:!");
		// A thread that was woken by the first reply waits again.
		Engine.awaitIdle(client.pool());
		session.send("b:!\n");
		assertThat(get(two)).isEqualTo("b:!");
		assertThat(session.readLine()).isNull();
		session.close();
		for (Future<Boolean> each : closed) {
			assertThat(get(each)).isEqualTo("true");
		}
	}

	/** Then no connection ends that would tell them. */
	@Test
	void allThreadsThatCloseAreToldOfTheEndAlthoughEveryThreadOfThePoolIsBusy() throws Exception {
		TcpClient client = start(builder(this.engine.pool(1, 1), BY_KEY));
		Session session = acceptAndAwait(client);
		CountDownLatch gate = this.engine.gate();
		CountDownLatch busy = new CountDownLatch(1);
		client.exchangeAsync(Engine.bytes("a:?")).thenRun(() -> {
			busy.countDown();
			Engine.pass(gate);
		});
		assertThat(session.readLine()).isEqualTo("a:?");
		session.send("a:!\n");
		Engine.pass(busy);
		Future<Boolean> first = this.callers.submit(() -> client.close(Duration.ZERO));
		Engine.eventually().until(() -> client.snapshot().state() == ClientSnapshot.State.CLOSING);
		Future<Boolean> second = this.callers.submit(() -> client.close(LONG));
		assertThat(get(first)).isEqualTo("true");
		assertThat(get(second)).isEqualTo("true");
	}

	@Test
	void closingLosesWhatIsUnderWayAfterTheGrace() throws Exception {
		TcpClient client = start(builder(BY_KEY));
		Session session = this.peer.accept();
		Future<String> reply = call(client, "a:?");
		session.readLine();
		assertThat(client.close(Duration.ofMillis(20))).isFalse();
		assertThat(failureOf(reply)).isInstanceOf(ExchangeLostException.class);
		assertThat(this.engine.log()).anyMatch((line) -> line.contains("closed with 1 exchanges under way"));
	}

	@Test
	void closingTellsThatARequestWasLostMeanwhile() throws Exception {
		TcpClient client = start(builder(BY_KEY));
		Session session = acceptAndAwait(client);
		CompletableFuture<ByteBuffer> lost = client.exchangeAsync(Engine.bytes("a:?"));
		Future<Boolean> closed = this.callers.submit(() -> client.close(LONG));
		Engine.eventually().until(() -> client.snapshot().waiting() == 1);
		session.reset();
		assertThat(failureOf(lost)).isInstanceOf(ExchangeLostException.class);
		assertThat(get(closed)).isEqualTo("false");
	}

	@ParameterizedTest
	@ValueSource(strings = { "thread", "future", "interrupted", "cancelled" })
	void closingTellsThatARequestGotNoReplyInTime(String caller) throws Exception {
		AtomicLong passed = new AtomicLong();
		Clock clock = new Clock() {

			@Override
			public long nanoTime() {
				return super.nanoTime() + passed.get();
			}

			@Override
			public void parkNanos(Object blocker, long nanos) {
				super.parkNanos(blocker, Math.min(nanos, 10_000_000));
			}

		};
		TcpClient client = start(
				builder(this.engine.pool(LeaderFollowersPool.builder().threads(2, 4).clock(clock)), BY_KEY));
		Session session = acceptAndAwait(client);
		CompletableFuture<Thread> thread = new CompletableFuture<>();
		boolean waits = caller.equals("thread") || caller.equals("interrupted");
		Future<?> request = waits ? this.callers.submit(() -> {
			thread.complete(Thread.currentThread());
			return client.exchange(Engine.bytes("a:?"), Engine.DEADLINE);
		}) : client.exchangeAsync(Engine.bytes("a:?"), Engine.DEADLINE);
		assertThat(session.readLine()).isEqualTo("a:?");
		Future<Boolean> closed = this.callers.submit(() -> client.close(LONG));
		Engine.eventually().until(() -> client.snapshot().waiting() == 1);
		switch (caller) {
			case "interrupted" -> thread.get().interrupt();
			case "cancelled" -> request.cancel(true);
			default -> {
				passed.set(Engine.DEADLINE.toNanos());
				// The leader notices that time has passed.
				session.send("b:!\n");
			}
		}
		assertThat(get(closed)).isEqualTo("false");
		assertThat(request).satisfiesAnyOf((one) -> assertThat(one).isCancelled(),
				(one) -> assertThat(failureOf(one)).isInstanceOf(ExchangeException.class));
		assertThat(client.close(Duration.ZERO)).as("once more").isFalse();
	}

	@Test
	void closingTellsThatARequestWasLostAlthoughItsCallerDoesNotKnowYet() throws Exception {
		CountDownLatch gate = this.engine.gate();
		Clock clock = new Clock() {

			@Override
			public void parkNanos(Object blocker, long nanos) {
				super.parkNanos(blocker, nanos);
				if (blocker instanceof Exchange) {
					Engine.pass(gate);
				}
			}

		};
		TcpClient client = start(
				builder(this.engine.pool(LeaderFollowersPool.builder().threads(2, 4).clock(clock)), BY_KEY));
		Session session = acceptAndAwait(client);
		Future<String> lost = call(client, "a:?");
		assertThat(session.readLine()).isEqualTo("a:?");
		Future<Boolean> closed = this.callers.submit(() -> client.close(LONG));
		Engine.eventually().until(() -> client.snapshot().waiting() == 1);
		session.reset();
		assertThat(get(closed)).isEqualTo("false");
		gate.countDown();
		assertThat(failureOf(lost)).isInstanceOf(ExchangeLostException.class);
	}

	/** A thread that closes the client would wait for longer than it has to. */
	@Test
	void theEndOfAConnectionWakesTheThreadsThatWaitForIt() throws Exception {
		CompletableFuture<Connection> opened = new CompletableFuture<>();
		start(builder(BY_KEY).handler(new MessageHandler() {

			@Override
			public void onOpen(Connection connection) {
				opened.complete(connection);
			}

			@Override
			public void onMessage(Connection connection, ByteBuffer message) {
			}

		}));
		Session session = this.peer.accept();
		ConnectionContext context = ((TcpConnection) opened.get(Engine.DEADLINE.toSeconds(), TimeUnit.SECONDS)).context;
		// Only the end of a connection reports a change, because the client runs.
		context.server().drain();
		CompletableFuture<Boolean> ended = new CompletableFuture<>();
		Thread waiting = new Thread(() -> ended.complete(context.server()
			.awaitRest((exceptHandlers) -> context.registry().closedConnections().containsValue(1L), false,
					System.nanoTime() + LONG.toNanos())));
		waiting.start();
		Engine.eventually().until(() -> waiting.getState() == Thread.State.TIMED_WAITING);
		session.close();
		assertThat(get(ended)).isEqualTo("true");
	}

	/**
	 * @param asks whether the reply to a request is lost. Otherwise the connection has a
	 * long grace period, of which it may use a short part only
	 */
	@ParameterizedTest
	@ValueSource(booleans = { false, true })
	void aClientIsClosedByForceAlthoughItsHandlerRuns(boolean asks) throws Exception {
		CountDownLatch running = new CountDownLatch(1);
		CountDownLatch gate = this.engine.gate();
		TcpClient client = start(builder(BY_KEY).handler((connection, message) -> {
			running.countDown();
			Engine.pass(gate);
		}));
		Session session = acceptAndAwait(client);
		if (asks) {
			call(client, "a:?");
			assertThat(session.readLine()).isEqualTo("a:?");
		}
		session.send("notice\n");
		Engine.pass(running);
		Future<Boolean> closed = this.callers.submit(() -> client.close(asks ? Duration.ZERO : LONG));
		assertThat(get(closed)).isEqualTo(asks ? "false" : "true");
		assertThat(session.readLine()).isNull();
	}

	@Test
	void aConnectionWhosePeerDoesNotCloseItsSideIsEndedWithItsClient() throws Exception {
		CompletableFuture<CloseReason> end = new CompletableFuture<>();
		TcpClient client = start(builder(BY_KEY).handler(new MessageHandler() {

			@Override
			public void onMessage(Connection connection, ByteBuffer message) {
			}

			@Override
			public void onClose(Connection connection, CloseReason reason) {
				end.complete(reason);
			}

		}));
		Session session = acceptAndAwait(client);
		client.close(Duration.ZERO);
		assertThat(get(end)).isEqualTo("SHUTDOWN_TIMEOUT");
		assertThat(session.readLine()).isNull();
	}

	@Test
	void aHandlerMayCloseItsOwnClient() throws Exception {
		CompletableFuture<Boolean> closed = new CompletableFuture<>();
		CompletableFuture<CloseReason> end = new CompletableFuture<>();
		TcpClient[] client = new TcpClient[1];
		client[0] = start(builder(BY_KEY).handler(new MessageHandler() {

			@Override
			public void onMessage(Connection connection, ByteBuffer message) {
				closed.complete(client[0].close(LONG));
			}

			@Override
			public void onClose(Connection connection, CloseReason reason) {
				end.complete(reason);
			}

		}));
		Session session = acceptAndAwait(client[0]);
		session.send("notice\n");
		assertThat(session.readLine()).isNull();
		session.close();
		assertThat(get(closed)).isEqualTo("true");
		assertThat(get(end)).isEqualTo("LOCAL");
	}

	/** Nothing else would wake it, because the only thread of the pool is busy. */
	@Test
	void aSecondCloseReturnsWhenTheFirstHasEnded() throws Exception {
		CountDownLatch gate = this.engine.gate();
		TcpClient client = start(builder(this.engine.pool(1, 1), BY_KEY).handler(new MessageHandler() {

			@Override
			public void onOpen(Connection connection) {
				connection.whenClosed().thenRun(() -> {
					if (Participant.current() != null) {
						Engine.pass(gate);
					}
				});
			}

			@Override
			public void onMessage(Connection connection, ByteBuffer message) {
			}

		}));
		Session session = acceptAndAwait(client);
		Future<String> reply = call(client, "a:?");
		assertThat(session.readLine()).isEqualTo("a:?");
		List<Future<Boolean>> closed = new ArrayList<>();
		for (int i = 1; i <= 2; i++) {
			int waiting = i;
			closed.add(this.callers.submit(() -> client.close(LONG)));
			Engine.eventually().until(() -> client.snapshot().waiting() == waiting);
		}
		session.send("a:!\n");
		assertThat(get(reply)).isEqualTo("a:!");
		assertThat(session.readLine()).isNull();
		session.close();
		for (Future<Boolean> each : closed) {
			assertThat(get(each)).isEqualTo("true");
		}
		gate.countDown();
	}

	/** Only a handler of the client itself cannot wait for its own connection. */
	@Test
	void aHandlerOfAServerWaitsForAllConnectionsOfTheClientThatItCloses() {
		CountDownLatch open = new CountDownLatch(1);
		TcpClient client = start(builder(BY_KEY).handler(new MessageHandler() {

			@Override
			public void onMessage(Connection connection, ByteBuffer message) {
			}

			@Override
			public void onClose(Connection connection, CloseReason reason) {
				open.countDown();
			}

		}));
		Session session = acceptAndAwait(client);
		TcpServer server = this.engine.lines(this.engine.pool(1, 1), (connection, message) -> {
			client.close(LONG);
			connection.send(Engine.bytes(open.getCount() + " open"));
		});
		// The peer does not close its side yet.
		assertThat(this.engine.connect(server).send("close\n").readLine()).isEqualTo("0 open");
		session.close();
	}

	@Test
	void aSecondCloseWaitsForTheFirst() throws Exception {
		TcpClient client = start(builder(BY_KEY));
		Session session = this.peer.accept();
		Future<String> one = call(client, "a:?");
		session.readLine();
		Future<String> two = call(client, "b:?");
		session.readLine();
		Future<Boolean> first = this.callers.submit(() -> client.close(Engine.DEADLINE));
		Engine.eventually().until(() -> client.snapshot().state() == ClientSnapshot.State.CLOSING);
		assertThat(client.close(Duration.ofMillis(20))).isFalse();
		session.send("a:!\n");
		assertThat(get(one)).isEqualTo("a:!");
		session.send("b:!\n");
		assertThat(get(two)).isEqualTo("b:!");
		assertThat(session.readLine()).isNull();
		session.close();
		assertThat(get(first)).isEqualTo("true");
		assertThat(client.close(Duration.ZERO)).isTrue();
	}

	/** Memory may be short at each step. */
	@Test
	void aCloseThatFailedIsRepeated() {
		AtomicInteger left = new AtomicInteger();
		LeaderFollowersPool pool = this.engine
			.pool(LeaderFollowersPool.builder().threads(2, 4).clock(failing(Thread.currentThread(), left)));
		TcpServer server = this.engine.lines(this.engine.pool(1, 1), (connection, message) -> {
		});
		boolean fails = true;
		for (int step = 1; fails; step++) {
			TcpClient client = start(TcpClient.builder(pool)
				.framing(Framing.line())
				.correlation(Correlation.inOrder())
				.address(server.address()));
			assertThat(client.awaitConnected(Engine.DEADLINE)).isTrue();
			left.set(step);
			fails = catchThrowable(() -> client.close(Engine.DEADLINE)) != null;
			left.set(0);
			assertThat(fails || step > 1).as("one step has failed").isTrue();
			assertThat(client.close(Engine.DEADLINE)).as("closed after step %d has failed", step).isTrue();
			assertThat(client.snapshot().state()).isEqualTo(ClientSnapshot.State.CLOSED);
			Engine.eventually().until(() -> server.snapshot().openConnections() == 0);
		}
	}

	/** A clock that fails when one thread has looked at it some more times. */
	private static Clock failing(Thread thread, AtomicInteger left) {
		return new Clock() {

			@Override
			public long nanoTime() {
				if (Thread.currentThread() == thread && left.getAndDecrement() == 1) {
					throw new OutOfMemoryError("made for the test");
				}
				return super.nanoTime();
			}

		};
	}

	@Test
	void callersThatWaitForAPlaceAreRejectedByTheEnd() throws Exception {
		TcpClient client = start(builder(BY_KEY).maxInFlight(1));
		Session session = this.peer.accept();
		Future<String> one = call(client, "a:?");
		session.readLine();
		Future<String> waits = call(client, "b:?");
		Engine.eventually().until(() -> client.snapshot().waiting() == 1);
		Future<Boolean> closed = this.callers.submit(() -> client.close(Engine.DEADLINE));
		assertThat(failureOf(waits)).isInstanceOf(ExchangeRejectedException.class).hasMessageContaining("closed");
		session.send("a:!\n");
		session.close();
		assertThat(get(one)).isEqualTo("a:!");
		assertThat(get(closed)).isEqualTo("true");
	}

	@Test
	void thePoolClosesItsServersBeforeItsClients() throws Exception {
		LeaderFollowersPool pool = this.engine.pool(2, 4);
		TcpClient client = start(builder(pool, BY_KEY));
		CountDownLatch draining = this.engine.gate();
		pool.serves(new Drainable() {

			@Override
			public void beginDrain(long deadlineNanos) {
			}

			/**
			 * Before this server, the pool has closed whatever it takes for another one.
			 */
			@Override
			public boolean close(Duration grace) {
				draining.countDown();
				return true;
			}

		});
		TcpServer server = this.engine.lines(pool, (connection, message) -> {
			Engine.pass(draining);
			connection.send(client.exchange(message));
		});
		Session session = this.peer.accept();
		Peer caller = this.engine.connect(server).send("a:?\n");
		Engine.eventually().until(() -> server.snapshot().receivedMessages() == 1);
		Future<Boolean> closed = this.callers.submit(() -> pool.close(Engine.DEADLINE));
		assertThat(session.readLine()).isEqualTo("a:?");
		session.send("a:!\n");
		assertThat(caller.readLine()).isEqualTo("a:!");
		session.close();
		caller.close();
		assertThat(get(closed)).isEqualTo("true");
		assertThat(client.snapshot().state()).isEqualTo(ClientSnapshot.State.CLOSED);
	}

	@Test
	void thePoolClosesItsClientsWhenTheHandlersOfEventsHaveReturned() throws Exception {
		LeaderFollowersPool pool = this.engine
			.pool(LeaderFollowersPool.builder().threads(3, 4).handleSets(1).eventSources("events"));
		TcpClient client = start(builder(pool, BY_KEY));
		Session session = this.peer.accept();
		CountDownLatch draining = this.engine.gate();
		CompletableFuture<String> reply = new CompletableFuture<>();
		pool.register("events", EventSource.of(new LinkedBlockingQueue<>(List.of("a:?"))), (event) -> {
			Engine.pass(draining);
			reply.completeAsync(() -> Engine.text(client.exchange(Engine.bytes(event))), Runnable::run);
		});
		Engine.eventually().until(() -> pool.snapshot().eventSources().get(0).handling() == 1);
		Thread closing = new Thread(() -> pool.close(Engine.DEADLINE));
		closing.start();
		Engine.eventually().until(() -> closing.getState() == Thread.State.TIMED_WAITING);
		draining.countDown();
		assertThat(session.readLine()).isEqualTo("a:?");
		session.send("a:!\n");
		assertThat(get(reply)).isEqualTo("a:!");
		session.close();
		closing.join(Engine.DEADLINE.toMillis());
		assertThat(client.snapshot().state()).isEqualTo(ClientSnapshot.State.CLOSED);
	}

	@Test
	void aClientIsStartedOnceAndNeedsItsParts() {
		TcpClient.Builder builder = TcpClient.builder(this.engine.pool(1, 2));
		assertThatIllegalStateException().isThrownBy(builder::build).withMessageContaining("needs an address");
		builder.address("localhost", 1);
		assertThatIllegalStateException().isThrownBy(builder::build).withMessageContaining("needs a framing");
		builder.framing(Framing.line());
		assertThatIllegalStateException().isThrownBy(builder::build).withMessageContaining("needs a correlation");
		TcpClient client = start(builder.correlation(BY_KEY));
		assertThatIllegalStateException().isThrownBy(client::start).withMessageContaining("started before");
		TcpClient unstarted = builder.build();
		assertThatExceptionOfType(ExchangeRejectedException.class)
			.isThrownBy(() -> unstarted.exchange(Engine.bytes("a:?")))
			.withMessageContaining("call start()");
		assertThat(unstarted.close(Duration.ZERO)).isTrue();
		assertThatIllegalArgumentException().isThrownBy(() -> client.exchange(Engine.bytes("a:?"), Duration.ZERO));
		assertThatIllegalArgumentException().isThrownBy(() -> builder.connections(0));
		assertThatIllegalArgumentException().isThrownBy(() -> builder.requestTimeout(Duration.ZERO));
		assertThatIllegalArgumentException()
			.isThrownBy(() -> builder.backoff(Duration.ofSeconds(2), Duration.ofSeconds(1)));
	}

	@Test
	void aClientThatWasClosedIsStartedAgainAndCountsOn() throws Exception {
		TcpClient client = start(builder(BY_KEY));
		// The peer leaves each connection open. A client that had lost a connection could
		// open the next one before it is closed, and the peer would take that one for the
		// connection that the client opens after its restart.
		Session first = this.peer.accept();
		assertThat(answered(client, first, "a:1")).isEqualTo("a:1!");
		assertThat(client.close(LONG)).isTrue();
		assertThat(first.readLine()).isNull();
		ClientSnapshot closed = client.snapshot();
		assertThat(closed.state()).isEqualTo(ClientSnapshot.State.CLOSED);
		assertThatExceptionOfType(ExchangeRejectedException.class)
			.isThrownBy(() -> client.exchange(Engine.bytes("b:2")))
			.withMessageContaining("closed");
		client.start();
		assertThat(answered(client, this.peer.accept(), "c:3")).isEqualTo("c:3!");
		assertThat(client.snapshot().state()).isEqualTo(ClientSnapshot.State.RUNNING);
		Engine.eventually().until(() -> count(client, Outcome.REPLIED) == 2);
		assertThat(count(client, Outcome.REJECTED)).isEqualTo(1);
		assertThat(client.snapshot().sentBytes()).isGreaterThan(closed.sentBytes());
		assertThatIllegalStateException().isThrownBy(client::start).withMessageContaining("started before");
	}

	private String answered(TcpClient client, Session session, String request) throws Exception {
		Future<String> reply = call(client, request);
		session.send(session.readLine() + "!\n");
		return get(reply);
	}

	@Test
	void aClientInTheClearIsNotGivenTls() throws Exception {
		TcpClient client = start(builder(BY_KEY));
		ClientTls tls = ClientTls.of(SSLContext.getDefault());
		assertThatIllegalStateException().isThrownBy(() -> client.tls(tls)).withMessageContaining("does not use TLS");
	}

}
