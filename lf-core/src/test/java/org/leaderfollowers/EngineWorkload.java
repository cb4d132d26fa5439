package org.leaderfollowers;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.UnknownHostException;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.stream.IntStream;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.internal.buffer.SharedMemory;
import org.leaderfollowers.internal.exchange.Exchange;
import org.leaderfollowers.internal.promotion.Leadership;
import org.leaderfollowers.internal.promotion.ProcessorTime;
import org.leaderfollowers.simulation.Counted;
import org.leaderfollowers.simulation.SimulatedPeer;
import org.leaderfollowers.simulation.SimulatedPeer.Frames;
import org.leaderfollowers.simulation.SimulatedTlsContext;
import org.leaderfollowers.simulation.Simulator;

/**
 * The workload of one simulated run: a pool with a server, a client, an event source and
 * a server of datagrams, sometimes a second pool that connections move to, peers, threads
 * of the application, and an operator. The seed chooses all options, requests and
 * failures. At the end everything must be done, accounted for, and closed.
 */
public final class EngineWorkload implements Runnable {

	/** How long a peer may wait, in virtual time, once nothing fails any more. */
	private static final long PATIENCE_NANOS = Duration.ofSeconds(20).toNanos();

	/**
	 * How long a run may take then. It is longer, because handlers that wait for the only
	 * thread of their own pool time out one after the other.
	 */
	private static final long LONG_PATIENCE_NANOS = 3 * PATIENCE_NANOS;

	/**
	 * Handlers that wait for replies can keep every thread busy for two seconds, again
	 * and again. The socket then takes only a part of a large message. With a message
	 * timeout of the same length, the peer would have no time left for the rest.
	 */
	private static final Duration LONG_MESSAGE = Duration.ofSeconds(8);

	/** A leader that takes turns may wait for a millisecond before it looks again. */
	private static final long LONGEST_ROTATION_NANOS = Duration.ofMillis(10).toNanos();

	/** How long the engine may keep a peer waiting if nothing fails. */
	private static final long LONGEST_PAUSE_NANOS = Duration.ofMillis(400).toNanos();

	/** The memory of a pool in which memory is scarce, in bytes. */
	private static final int LEAST_MEMORY = 65_536;

	/** The memory of two TLS handshakes, in bytes. */
	private static final int HANDSHAKES_MEMORY = 2 * 48 * 1024;

	/** The longest lease, and some time for the thread that takes over. */
	private static final long LONGEST_LEASE_NANOS = Duration.ofMillis(50).toNanos();

	private static final Duration LOGIN_TIMEOUT = Duration.ofMillis(800);

	private static final long LONGEST_EXCHANGE_NANOS = Duration.ofMillis(1500).toNanos();

	/** So little that a handler which streams has to stop for its peer, in bytes. */
	private static final int SMALL_OUTBOUND_SIZE = 16_384;

	private final Simulator simulator;

	private final Frames frames;

	private final boolean parallel;

	/** Whether calls of the JDK and handlers fail. */
	private final boolean fails;

	/** Whether handlers send requests and wait for the replies. */
	private final boolean nests;

	/** Whether handlers send requests to their own clients. */
	private final boolean asks;

	/** Whether a thread may run a handler on top of one that waits. */
	private final boolean mayNest;

	/** Whether some clients are behind a proxy. */
	private final boolean hasProxy;

	/** Whether memory is so short that connections are closed. */
	private final boolean scarce;

	/** Whether the pools have no limits of their own. */
	private final boolean sharesMemory;

	/** Whether handlers stream replies, as fast as their peers read. */
	private final boolean streams;

	/** Whether the handler is told of silences. */
	private final boolean tellsSilences;

	/** Whether messages that are too large are skipped and replied to. */
	private final boolean skips;

	/** Whether peers must log in, which most do with their first message. */
	private final boolean logsIn;

	/** Whether the client has few places, sends heartbeats, and repeats requests. */
	private final boolean hasBusyClient;

	/** Admits connections, or {@code null}. */
	private final @Nullable Guard guard;

	/** Whether there is an event source. */
	private final @Nullable SourceWorkload source;

	/** Creates the TLS engines, or {@code null} for no TLS. */
	private final @Nullable SimulatedTlsContext tls;

	/** Whether peers violate the rules of TLS. */
	private final boolean offends;

	/** Whether peers wait for the handshakes of others. */
	private boolean limitsHandshakes;

	/** The memory of the pools that the workload itself has reserved, in bytes. */
	private final Map<LeaderFollowersPool, Long> reserved = new LinkedHashMap<>();

	private final Map<Integer, Conversation> conversations = new TreeMap<>();

	private final List<SimulatedPeer> peers = new ArrayList<>();

	/** What threads of the application have to do. */
	private final List<Runnable> tasks = new ArrayList<>();

	/** Exchanges that nobody waits for, and that have not ended. */
	private int exchanges;

	private int applicationThreads;

	private boolean applicationEnds;

	private boolean closing;

	/** Whether the second pool is closed while the server may still need it. */
	private boolean closesGuestFirst;

	/** Whether the server was closed and another one was started in its place. */
	private boolean restarted;

	private @Nullable TcpClient client;

	private @Nullable TcpServer server;

	/** Since when connections have something left, by their id. */
	private final Map<Long, Left> leftSince = new TreeMap<>();

	/** Since when the input of a handler that waits for it has come. */
	private final Map<Long, Long> waitsSince = new TreeMap<>();

	private @Nullable DatagramWorkload datagrams;

	/** The events of a connection. */
	private static final class Conversation {

		private int opened;

		private int running;

		private int taken;

		/** Whether the operator has closed the connection. */
		private boolean closedByOperator;

		/** Whether it has not waited for replies. */
		private boolean closedAtOnce;

		private @Nullable CloseReason end;

		private @Nullable Stream stream;

		private boolean drains;

		private boolean loggedIn;

	}

	/** A reply in many messages. */
	private static final class Stream {

		private final int number;

		/** Keeps back the messages after it. */
		private final Suspension order;

		private int parts;

		/** Whether other handles get their turn between the parts. */
		private final boolean yields;

		Stream(int number, Suspension order, int parts, boolean yields) {
			this.number = number;
			this.order = order;
			this.parts = parts;
			this.yields = yields;
		}

	}

	/** Creates the workload of a run. */
	public EngineWorkload(Simulator simulator) {
		this.simulator = simulator;
		this.frames = Frames.values()[choose(3)];
		this.parallel = choose(4) == 0;
		this.fails = choose(2) == 0;
		this.nests = choose(2) == 0;
		this.asks = this.nests && choose(2) == 0;
		this.mayNest = choose(2) == 0;
		this.hasProxy = choose(4) == 0;
		this.scarce = choose(8) == 0;
		this.source = (choose(3) == 0) ? new SourceWorkload(simulator, this::exchangeMaybe) : null;
		this.streams = !this.parallel && choose(3) == 0;
		this.tellsSilences = choose(3) == 0;
		this.guard = (choose(4) == 0) ? new Guard() : null;
		// Not chosen, so that the other seeds do not depend on TLS.
		this.tls = (simulator.seed() % 4 == 0) ? new SimulatedTlsContext(simulator) : null;
		this.offends = this.tls != null && choose(2) == 0;
		this.sharesMemory = simulator.seed() % 3 == 0;
		this.skips = this.frames != Frames.FIXED && simulator.seed() % 5 == 2;
		this.logsIn = simulator.seed() % 7 == 3;
		this.hasBusyClient = simulator.seed() % 6 == 1;
		SharedMemory.begin(memory(), taken());
	}

	/** The memory of a pool, in bytes. */
	private long memory() {
		return !this.scarce ? 8_000_000 : LEAST_MEMORY + ((this.tls != null) ? HANDSHAKES_MEMORY : 0);
	}

	/** How much of the memory is reserved from the beginning, in bytes. */
	private long taken() {
		return this.scarce ? 30_000 + this.simulator.seed() % 18_000 : 0;
	}

	/** Whether an exchange may fail or take long. */
	private boolean mayTakeLong() {
		return this.fails || this.nests || this.scarce || this.offends || this.limitsHandshakes || this.closing
				|| this.restarted;
	}

	private int choose(int bound) {
		return this.simulator.choose(bound);
	}

	private void note(String line) {
		this.simulator.note(line);
	}

	@Override
	public void run() {
		LeaderFollowersPool pool = pool("own");
		LeaderFollowersPool guest = (choose(3) == 0) ? pool("guest") : null;
		if (this.tls != null) {
			this.simulator.network().readAll();
		}
		TcpServer server = server(pool, guest, 0);
		this.server = server;
		this.simulator.whenAllWait(() -> {
			requireLeaders();
			requireNothingLeft();
		});
		server.start();
		if (this.source != null) {
			this.source.begin(pool);
		}
		TcpClient started = client(pool, server.port());
		started.start();
		this.client = started;
		DatagramWorkload datagramServer = (choose(3) == 0) ? new DatagramWorkload(this.simulator, pool, this.fails,
				this.nests, (number) -> exchange('r', number), this::later) : null;
		this.datagrams = datagramServer;
		if (datagramServer != null) {
			datagramServer.begin();
		}
		for (int i = choose(3); i >= 0; i--) {
			startThread("application-" + i, this::runTasks);
		}
		if (this.fails) {
			this.simulator.beginFaults();
			this.simulator.network().failures(choose(4) * 3, choose(3) * 10);
		}
		for (int i = choose(6); i >= 0; i--) {
			SimulatedPeer peer = peer(server);
			// An exchange within a handler may have to wait until it times out.
			peer.expectProgress(mayTakeLong() ? PATIENCE_NANOS : LONGEST_PAUSE_NANOS);
			this.peers.add(peer);
			if (choose(3) == 0) {
				startThread("requester-" + i, this::request);
			}
			operate(pool, server);
		}
		this.simulator.endFaults();
		server.resume();
		boolean early = choose(4) == 0;
		if (!early) {
			awaitPeers();
			if (this.source != null) {
				this.source.awaitEvents(PATIENCE_NANOS);
			}
			if (datagramServer != null) {
				datagramServer.awaitReplies(PATIENCE_NANOS);
			}
			if (choose(4) == 0) {
				server = restart(pool, guest, server);
			}
		}
		end(pool, guest, server, early);
	}

	// The parts

	private LeaderFollowersPool pool(String name) {
		int sets = 1 + choose(3);
		boolean hasSource = this.source != null && name.equals("own");
		int min = sets + choose(3) + (hasSource ? 1 : 0);
		int lease = 1 + choose(20);
		ProcessorTime time = new ProcessorTime() {

			@Override
			public long nanos(Thread thread) {
				return UNKNOWN;
			}

			@Override
			public long idleNanos() {
				return UNKNOWN;
			}

		};
		LeaderFollowersPool.Builder builder = LeaderFollowersPool.builder()
			.name(name)
			.selectorProvider(this.simulator.network())
			.processorTime(time)
			.threads(min, min + choose(5))
			.parallelism(1 + choose(3))
			.keepAlive((choose(2) == 0) ? Duration.ofMillis(5 + choose(200)) : Duration.ofSeconds(60))
			.promotionPolicy(PromotionPolicy.values()[choose(2)])
			.promotionOrder(PromotionOrder.values()[choose(3)])
			.promotionLease(Duration.ofNanos(lease * 100_000L))
			.nestedDispatch(this.mayNest ? NestedDispatch.WHEN_STARVED : NestedDispatch.NEVER);
		if (!this.sharesMemory) {
			builder.maxBufferedBytes(memory());
		}
		if (hasSource) {
			builder.eventSources(SourceWorkload.NAME);
		}
		if (choose(2) == 0) {
			builder.handleSets(sets);
		}
		LeaderFollowersPool pool = builder.build();
		if (!this.sharesMemory) {
			pool.memory().reserve(taken());
		}
		this.reserved.put(pool, pool.memory().used());
		return pool;
	}

	private Framing framing() {
		return switch (this.frames) {
			case LENGTH -> Framing.lengthField(2);
			case LINE -> Framing.line();
			case FIXED -> Framing.fixedLength(SimulatedPeer.FIXED_LENGTH);
		};
	}

	private Duration messageTimeout() {
		return this.nests ? LONG_MESSAGE : Duration.ofSeconds(1);
	}

	private TcpServer server(LeaderFollowersPool pool, @Nullable LeaderFollowersPool guest, int port) {
		TcpServer.Builder builder = TcpServer.builder(pool)
			.port(port)
			.backlog(2 + choose(20))
			.framing(framing())
			.maxMessageSize(4000)
			.idleTimeout(Duration.ofSeconds(this.nests ? 5 : 2))
			.messageTimeout(messageTimeout())
			.drainMessageTimeout(Duration.ofMillis(choose(3) * 250))
			.skipOversizedMessages(this.skips)
			.handler(new Handler());
		if (this.streams) {
			builder.maxOutboundSize(SMALL_OUTBOUND_SIZE);
		}
		if (this.tellsSilences) {
			builder.readIdle(Duration.ofMillis(5 + choose(200))).writeIdle(Duration.ofMillis(5 + choose(200)));
		}
		if (this.logsIn) {
			builder.loginTimeout(LOGIN_TIMEOUT);
		}
		if (this.guard != null) {
			builder.connectionGuard(this.guard);
		}
		if (guest != null) {
			builder.serviceClass(new Classes(pool, guest), pool, guest);
		}
		if (this.parallel) {
			builder.maxInFlightPerConnection(2 + choose(4)).replyOrder(ReplyOrder.ARRIVAL);
			if (choose(2) == 0) {
				builder.messageOrder((message) -> SimulatedPeer.number(message) % 2);
			}
		}
		if (this.hasProxy) {
			builder.proxyProtocol(TrustedNetworks.of(this.simulator.network().proxy())).directClients(true);
		}
		if (this.tls != null) {
			builder.tls(serverTls(this.tls)).handshakeTimeout(this.nests ? LONG_MESSAGE : Duration.ofSeconds(1));
		}
		if (this.asks) {
			builder.correlation(Correlation.byKey(EngineWorkload::key));
		}
		else if (this.nests && choose(2) == 0) {
			// The server sends no request, but threads read while their handlers wait.
			builder.correlation(Correlation.inOrder());
		}
		return builder.build();
	}

	private ServerTls serverTls(SimulatedTlsContext context) {
		int handshakes = choose(4);
		this.limitsHandshakes |= handshakes != 0;
		return ServerTls.of(context)
			.maxHandshakes(handshakes)
			.maxHandshakeRate((this.offends && choose(4) == 0) ? 4 + choose(20) : 0);
	}

	/** The key of a question and its answer; no other message has one. */
	private static @Nullable Integer key(ByteBuffer message) {
		char kind = (char) message.get(message.position());
		return (kind == SimulatedPeer.QUESTION || kind == SimulatedPeer.ANSWER) ? SimulatedPeer.number(message) : null;
	}

	private TcpClient client(LeaderFollowersPool pool, int port) {
		TcpClient.Builder builder = TcpClient.builder(pool)
			.framing(framing())
			.maxMessageSize(4000)
			.correlation(Correlation.inOrder())
			.connections(1 + choose(3))
			.requestTimeout(Duration.ofSeconds(2))
			.placeTimeout(Duration.ofSeconds(1))
			.backoff(Duration.ofMillis(1), Duration.ofMillis(50));
		if (this.tls != null) {
			builder.tls(ClientTls.of(this.tls));
		}
		if (this.hasBusyClient) {
			builder.maxInFlight(1 + choose(4))
				.heartbeat(Duration.ofMillis(200 + choose(1000)),
						() -> SimulatedPeer.message(this.simulator, this.frames, 'r', 0))
				.idempotent((request) -> SimulatedPeer.number(request) % 2 == 0);
		}
		InetSocketAddress address = this.simulator.network().address(port);
		return ((choose(2) == 0) ? builder.address(address)
				: builder.address("server", port).names((name) -> lookUp(name, address)))
			.build();
	}

	private InetAddress[] lookUp(String name, InetSocketAddress address) throws UnknownHostException {
		this.simulator.sleep(this.simulator.fault(100) ? 10_000_000_000L : 1 + choose(2_000_000));
		if (this.simulator.fault(50)) {
			throw new UnknownHostException(name + " (simulated)");
		}
		return new InetAddress[] { address.getAddress() };
	}

	private SimulatedPeer peer(TcpServer server) {
		return new SimulatedPeer(this.simulator, server.port(), this.frames, actions(), this.hasProxy && choose(2) == 0,
				peerTls());
	}

	private SimulatedPeer.@Nullable Tls peerTls() {
		// A handler that waits may read the closing alert before it replies.
		boolean endsEarly = !this.parallel && !this.nests;
		return (this.tls != null) ? new SimulatedPeer.Tls(this.tls, this.offends, endsEarly) : null;
	}

	private String actions() {
		String possible = "rrrrrrbbsoo" + (this.nests ? "x" : "") + (this.asks ? SimulatedPeer.ASKS : "")
				+ ((this.nests && !this.parallel) ? "vv" : "")
				+ (this.skips ? String.valueOf(SimulatedPeer.TOO_LARGE).repeat(2) : "") + (this.streams ? "ww" : "")
				+ (this.fails ? "tec" : "");
		StringBuilder actions = new StringBuilder();
		for (int i = choose((choose(10) == 0) ? 60 : 8); i >= 0; i--) {
			actions.append(possible.charAt(choose(possible.length())));
		}
		return actions.toString();
	}

	private void startThread(String name, Runnable body) {
		try {
			this.applicationThreads++;
			new Thread(() -> {
				try {
					body.run();
				}
				finally {
					this.applicationThreads--;
				}
			}, name).start();
		}
		catch (OutOfMemoryError ex) {
			this.applicationThreads--;
		}
	}

	private void runTasks() {
		while (!this.applicationEnds || !this.tasks.isEmpty()) {
			this.simulator.await("awaits tasks", () -> this.applicationEnds || !this.tasks.isEmpty(), Simulator.NEVER);
			if (!this.tasks.isEmpty()) {
				Runnable task = this.tasks.remove(choose(this.tasks.size()));
				if (choose(2) == 0) {
					this.simulator.sleep(choose(3_000_000));
				}
				try {
					task.run();
				}
				catch (OutOfMemoryError ex) {
					note("a task failed: " + ex);
				}
			}
		}
	}

	/** Runs a task on a thread of the application, or here if there is none. */
	private void later(Runnable task) {
		this.tasks.add(task);
	}

	/** A thread of the application that sends requests by the client. */
	private void request() {
		for (int i = choose(4); i >= 0; i--) {
			exchange('r', i);
		}
	}

	/** Sends a request and waits for the reply, if handlers do so. */
	private void exchangeMaybe() {
		if (this.nests && choose(6) == 0) {
			exchange('r', choose(100));
		}
	}

	/** Ends the event of the conversation, even if memory is short. */
	private void exchangeMaybe(Conversation conversation) {
		try {
			exchangeMaybe();
		}
		finally {
			conversation.running--;
		}
	}

	private void exchange(char action, int number) {
		TcpClient current = this.client;
		if (current == null) {
			return;
		}
		long began = this.simulator.nanoTime();
		try {
			ByteBuffer request = SimulatedPeer.message(this.simulator, this.frames, action, number);
			if (choose(3) == 0) {
				CompletableFuture<ByteBuffer> exchange = current.exchangeAsync(request, Duration.ofSeconds(2));
				this.exchanges++;
				if (choose(10) == 0) {
					later(() -> exchange.cancel(false));
				}
				exchange.whenComplete((reply, failure) -> {
					this.exchanges--;
					exchanged(number, reply, failure, began);
				});
			}
			else {
				exchanged(number, current.exchange(request, Duration.ofSeconds(2)), null, began);
			}
		}
		catch (ExchangeException | IllegalStateException | OutOfMemoryError ex) {
			exchanged(number, null, ex, began);
		}
		requireNoLeader();
	}

	/**
	 * A handler that has waited must not lead without a lease: its thread demultiplexes
	 * no events. The word of the leadership is read once, because another thread may take
	 * a lease over at any time.
	 */
	private void requireNoLeader() {
		Participant me = Participant.current();
		Leadership leadership = (me != null) ? me.leading() : null;
		if (me != null && leadership != null) {
			long word = leadership.word();
			require(!Leadership.isLedWithoutLease(word) || Leadership.holderOf(word) != me.number(),
					"a handler leads without a lease");
		}
	}

	private void exchanged(int number, @Nullable ByteBuffer reply, @Nullable Throwable failure, long began) {
		countExchange(reply);
		if (reply != null && SimulatedPeer.number(reply) != number) {
			this.simulator.fail("an exchange got the reply to another request");
		}
		if (failure != null) {
			note("exchange failed: " + failure);
		}
		long nanos = this.simulator.nanoTime() - began;
		// Refused connections are retried with pauses, but no reply may wait for the
		// timeout.
		if (nanos > (mayTakeLong() ? PATIENCE_NANOS : LONGEST_EXCHANGE_NANOS)) {
			this.simulator.fail("an exchange took " + nanos / 1_000_000 + " ms" + this.simulator.describeThreads());
		}
	}

	private void countExchange(@Nullable ByteBuffer reply) {
		this.simulator.count(Counted.EXCHANGES);
		if (reply != null) {
			this.simulator.count(Counted.EXCHANGES_REPLIED);
		}
	}

	private void operate(LeaderFollowersPool pool, TcpServer server) {
		this.simulator.sleep(choose(4_000_000));
		DatagramWorkload datagramServer = this.datagrams;
		switch (choose(10)) {
			case 0 -> {
				note("pauses");
				server.pause();
				this.simulator.sleep(choose(5_000_000));
				server.resume();
			}
			case 1 -> {
				int min = 4 + choose(4);
				note("resizes to " + min);
				pool.resize(min, min + choose(5));
			}
			case 2 -> pool.promotionPolicy(PromotionPolicy.values()[choose(2)]);
			case 3 -> pool.promotionLease(Duration.ofNanos(100_000 + choose(2_000_000)));
			case 4 -> pool.snapshot();
			case 5 -> server.snapshot();
			case 6 -> closeConnection(server);
			case 8 -> replaceClient(pool, server);
			case 7 -> {
				if (datagramServer != null) {
					note("pauses the datagrams");
					datagramServer.pause();
				}
			}
			case 9 -> {
				if (this.tls != null) {
					note("replaces the keys");
					server.tls(serverTls(this.tls));
				}
			}
			default -> {
			}
		}
	}

	/** Starts another client in place of the current one, which ends its exchanges. */
	private void replaceClient(LeaderFollowersPool pool, TcpServer server) {
		TcpClient former = this.client;
		if (former == null) {
			return;
		}
		note("replaces the client");
		TcpClient next = client(pool, server.port());
		try {
			next.start();
		}
		catch (IllegalStateException ex) {
			// No thread has started yet, and none can be started now.
			require(this.fails, "the client was not started: " + ex);
			return;
		}
		this.client = next;
		long began = this.simulator.nanoTime();
		former.close(Duration.ofSeconds(30));
		require(this.simulator.nanoTime() - began < PATIENCE_NANOS,
				"the client was not closed when its requests had timed out");
	}

	/** Closes a connection as an operator does, gracefully or at once. */
	private void closeConnection(TcpServer server) {
		List<Connection> open = server.openConnections().sorted(Comparator.comparingLong(Connection::id)).toList();
		if (!open.isEmpty() && choose(3) == 0) {
			Connection chosen = open.get(choose(open.size()));
			note("closes " + chosen);
			Conversation conversation = of(chosen);
			conversation.closedByOperator = true;
			if (choose(2) == 0) {
				conversation.closedAtOnce = true;
				chosen.close();
			}
			else {
				chosen.close(Duration.ofSeconds(30));
			}
		}
	}

	private Conversation of(Connection connection) {
		return this.conversations.computeIfAbsent(connection.remoteAddress().getPort(), (port) -> new Conversation());
	}

	/**
	 * Closes the server, and starts another one at the same port, which serves a peer.
	 */
	private TcpServer restart(LeaderFollowersPool pool, @Nullable LeaderFollowersPool guest, TcpServer server) {
		note("restarts");
		this.restarted = true;
		require(server.close(Duration.ofSeconds(30)), "the server was not drained before the restart");
		require(server.snapshot().openConnections() == 0, "the closed server counts connections");
		TcpServer next = server(pool, guest, server.port());
		this.server = next;
		next.start();
		this.peers.add(peer(next));
		awaitPeers();
		return next;
	}

	private void awaitPeers() {
		boolean done = this.simulator.await("awaits the peers",
				() -> this.peers.stream().allMatch(SimulatedPeer::isFinished),
				this.simulator.nanoTime() + LONG_PATIENCE_NANOS);
		if (!done) {
			this.simulator.fail("a request was not answered in time: "
					+ this.peers.stream().filter((peer) -> !peer.isFinished()).toList()
					+ this.simulator.describeThreads());
		}
	}

	// The end

	private void end(LeaderFollowersPool pool, @Nullable LeaderFollowersPool guest, TcpServer server, boolean early) {
		this.closing = early;
		if (choose(4) == 0) {
			note("evacuates");
			require(server.evacuate(new CloseRate(1 + choose(100), ChronoUnit.SECONDS)),
					"the server does not evacuate");
			this.simulator.sleep(choose(2_000_000_000));
		}
		long began = this.simulator.nanoTime();
		note("closes");
		if (guest != null && choose(2) == 0) {
			// Closes the connections that have moved there. Others cannot follow, so
			// their
			// first messages are not handled.
			this.closesGuestFirst = true;
			require(guest.close(Duration.ofSeconds(30)), "the second pool was not closed");
		}
		if (this.source != null && choose(2) == 0) {
			require(pool.deregister(SourceWorkload.NAME, Duration.ofSeconds(30)), "the source was not deregistered");
			this.source.check();
		}
		if (choose(2) == 0 && !server.close(Duration.ofSeconds(30))) {
			this.simulator.fail("the server was not drained");
		}
		if (this.datagrams != null) {
			this.datagrams.beginsToDrain();
		}
		if (!pool.close(Duration.ofSeconds(30))) {
			this.simulator.fail("the pool was not closed:" + this.simulator.describeThreads());
		}
		long millis = (this.simulator.nanoTime() - began) / 1_000_000;
		note("closed in " + millis + " ms");
		if (guest != null && !guest.close(Duration.ofSeconds(30))) {
			this.simulator.fail("the second pool was not closed:" + this.simulator.describeThreads());
		}
		if (millis > 31_000) {
			this.simulator.fail("closing took " + millis + " ms");
		}
		this.applicationEnds = true;
		this.simulator.await("awaits the application", () -> this.applicationThreads == 0,
				this.simulator.nanoTime() + PATIENCE_NANOS);
		awaitPeers();
		check(server);
	}

	private void check(TcpServer server) {
		if (!this.simulator.await("awaits the threads", () -> this.simulator.living() == 1,
				this.simulator.nanoTime() + PATIENCE_NANOS)) {
			this.simulator.fail("threads are left:" + this.simulator.describeThreads());
		}
		require(this.simulator.network().open().isEmpty(), "not closed: " + this.simulator.network().open());
		require(server.snapshot().openConnections() == 0, "the server counts connections");
		this.reserved.forEach((pool, held) -> require(pool.memory().used() == held,
				pool.memory().used() - held + " bytes are still reserved in " + pool));
		require(!this.sharesMemory || SharedMemory.used() == taken(),
				SharedMemory.used() - taken() + " bytes are still reserved in the shared memory");
		if (this.source != null) {
			this.source.check();
		}
		if (this.datagrams != null) {
			this.datagrams.check();
		}
		if (this.guard != null) {
			require(this.guard.admitted == 0, this.guard.admitted + " permits were not closed");
		}
		require(this.exchanges == 0, this.exchanges + " exchanges have not ended");
		this.conversations.forEach((port, conversation) -> {
			require(conversation.end != null || conversation.opened == 0, "onClose was not called for " + port);
			require(conversation.running == 0, "an event of " + port + " has not ended");
		});
		this.peers.forEach(this::check);
	}

	/**
	 * While a follower waits, each handle set has a leader, and no leader keeps its
	 * leadership for long after its lease.
	 */
	private void requireLeaders() {
		for (LeaderFollowersPool pool : this.reserved.keySet()) {
			for (Leadership leadership : pool.handleSets().leaderships()) {
				boolean isLeft = leadership.isVacant() || (leadership.isLeased()
						&& this.simulator.nanoTime() - leadership.leasedNanos() > LONGEST_LEASE_NANOS);
				if (isLeft && hasFollower(pool)) {
					this.simulator
						.fail("handle set %d of %s is %s although a follower waits%s".formatted(leadership.index(),
								pool, leadership.isVacant() ? "vacant" : "leased", this.simulator.describeThreads()));
				}
			}
		}
	}

	/**
	 * While a thread has nothing to do, no connection has something that its handler or a
	 * future must be told.
	 */
	private void requireNothingLeft() {
		TcpServer current = this.server;
		if (current != null) {
			current.openConnections().forEach((connection) -> {
				String left = (connection instanceof FramedConnection framed) ? left(framed) : null;
				require(left == null, "%s: %s%s".formatted(connection.remoteAddress(), left,
						(left != null) ? this.simulator.describeThreads() : ""));
			});
		}
	}

	private @Nullable String left(FramedConnection connection) {
		long now = this.simulator.nanoTime();
		if (!isLeft(connection)) {
			this.leftSince.remove(connection.id());
		}
		else if (this.leftSince.computeIfAbsent(connection.id(), (id) -> new Left(now, waitedNanos(connection)))
			.isTooLong(now, this.simulator.pauseEnd(), waitedNanos(connection))) {
			return "something is left although a thread is idle";
		}
		ConnectionWatch watched = connection.watch;
		// On top of a handler that waits, another one or a guard may run.
		if (this.mayNest || this.guard != null || watched == null) {
			return null;
		}
		boolean hasReceived = watched.receiver != null && watched.receiver.state() != Exchange.State.PENDING;
		boolean isWanted = watched.reader != null && watched.reader.isWanted();
		if (!hasReceived && !isWanted) {
			this.waitsSince.remove(connection.id());
		}
		else if (this.tls == null
				|| now - this.waitsSince.computeIfAbsent(connection.id(), (id) -> now) > LONGEST_ROTATION_NANOS) {
			// The thread may run a task of TLS first.
			return hasReceived ? "a handler waits although its message has come" : "a handler does not read its input";
		}
		return null;
	}

	/**
	 * Since when something is left. The check runs when all threads wait, so it does not
	 * notice whether they were busy in between. What a leader has waited tells. A leader
	 * that has failed, usually because memory is short, applies no updates while it
	 * pauses.
	 *
	 * @param sinceNanos when this was noticed
	 * @param waitedNanos how long leaders had waited until then, at each place
	 */
	private record Left(long sinceNanos, List<Long> waitedNanos) {

		boolean isTooLong(long nowNanos, long pauseEnd, List<Long> waitedUntilNow) {
			return nowNanos - Math.max(this.sinceNanos, pauseEnd) > LONGEST_ROTATION_NANOS
					&& IntStream.range(0, Math.min(this.waitedNanos.size(), waitedUntilNow.size()))
						.anyMatch((i) -> waitedUntilNow.get(i) - this.waitedNanos.get(i) > LONGEST_ROTATION_NANOS);
		}

	}

	/** How long leaders have waited at the handle sets of a pool, and at the source. */
	private List<Long> waitedNanos(FramedConnection connection) {
		String name = connection.context.pool().name();
		List<Long> waited = new ArrayList<>();
		for (LeaderFollowersPool pool : this.reserved.keySet()) {
			if (pool.name().equals(name)) {
				for (HandleSet set : pool.handleSets()) {
					long waiting = set.updates.isWaitedFor() ? this.simulator.nanoTime() - set.nowNanos() : 0;
					waited.add(set.waitedNanos + waiting);
				}
			}
		}
		if (this.source != null && name.equals("own")) {
			waited.add(this.source.waitedNanos());
		}
		return waited;
	}

	private boolean isLeft(FramedConnection connection) {
		boolean isOwed = connection.outbound.isRelieved()
				|| (connection.exchanges != null && connection.exchanges.hasEnded())
				|| (connection instanceof WindowedConnection windowed && windowed.hasDue());
		return isOwed && !connection.handle.isOwned() && connection.closing == null
				&& this.reserved.keySet()
					.stream()
					.anyMatch((pool) -> pool.name().equals(connection.context.pool().name()) && hasIdleThread(pool));
	}

	private static boolean hasIdleThread(LeaderFollowersPool pool) {
		PoolSnapshot snapshot = pool.snapshot();
		return snapshot.state() == PoolSnapshot.State.RUNNING && snapshot.threads()
			.stream()
			.anyMatch((thread) -> thread.waitsFor() == null
					&& (thread.role() == ThreadRole.FOLLOWER || thread.role() == ThreadRole.LEADER));
	}

	private static boolean hasFollower(LeaderFollowersPool pool) {
		PoolSnapshot snapshot = pool.snapshot();
		return snapshot.state() == PoolSnapshot.State.RUNNING
				&& snapshot.threads().stream().anyMatch((thread) -> thread.role() == ThreadRole.FOLLOWER);
	}

	private void require(boolean holds, String rule) {
		if (!holds) {
			this.simulator.fail(rule);
		}
	}

	private void check(SimulatedPeer peer) {
		if (peer.wasConnected()) {
			this.simulator.count(Counted.CONNECTIONS);
		}
		if (peer.ending() == null) {
			return;
		}
		Conversation conversation = this.conversations.get(peer.port());
		CloseReason reason = (conversation != null) ? conversation.end : null;
		if (reason == null) {
			require(this.fails || this.scarce || this.closing || !peer.wasConnected() || isRejected(peer)
					|| (this.tls != null && isLong(peer.durationNanos())) || peer.offends(), "no reason: " + peer);
			return;
		}
		boolean right = switch (reason) {
			// MALFORMED if a key or a message could not be found because memory was
			// short.
			case HANDLER_ERROR, IO_ERROR, MALFORMED -> this.fails;
			case LOCAL -> this.fails || conversation.closedByOperator;
			case OVERLOADED -> this.fails || this.scarce;
			// A second pool that cannot start any thread takes no connections.
			case SHUTDOWN -> this.closing || (this.fails && this.reserved.size() > 1);
			case IDLE_TIMEOUT -> peer.fallsSilent() && peer.isAnswered();
			case LOGIN_TIMEOUT ->
				this.logsIn && !conversation.loggedIn && peer.durationNanos() >= LOGIN_TIMEOUT.toNanos();
			// A large message of a slow peer may take too long.
			case MESSAGE_TIMEOUT -> peer.fallsSilent() || peer.sendsSlowly() || isLong(peer.requestNanos())
					|| (this.skips && peer.requestNanos() >= messageTimeout().toNanos());
			default -> false;
		};
		require(right || peer.offends(), "wrong reason " + reason + ": " + peer);
		require(!peer.isCutOff() || peer.offends() || this.fails || !reason.isGraceful(),
				"no closing alert was sent although the reason is " + reason + ": " + peer);
		if (!this.fails && !peer.hasReset() && !peer.offends() && !conversation.closedAtOnce
				&& (reason == CloseReason.SHUTDOWN || reason == CloseReason.LOCAL)) {
			require(peer.replies() == conversation.taken,
					"replies are lost, %d messages were handled: %s".formatted(conversation.taken, peer));
			require(this.closesGuestFirst || peer.replies() >= peer.arrivedBeforeDrain(),
					"%d requests had been received: %s".formatted(peer.arrivedBeforeDrain(), peer));
		}
	}

	/**
	 * Whether a handshake or message may have timed out, because handlers that waited for
	 * the only thread of their own pool kept that thread for so long.
	 */
	private boolean isLong(long nanos) {
		return this.nests && nanos >= LONG_MESSAGE.toNanos();
	}

	private boolean isRejected(SimulatedPeer peer) {
		return this.guard != null && this.guard.rejected.contains(peer.port());
	}

	/** Rejects some connections, and takes its time. */
	private final class Guard implements ConnectionGuard {

		private final Set<Integer> rejected = new HashSet<>();

		/** How many permits are not closed. */
		private int admitted;

		@Override
		public @Nullable Permit admit(InetSocketAddress client) {
			if (choose(10) == 0) {
				EngineWorkload.this.simulator.sleep(choose(5_000_000));
			}
			if (choose(10) == 0) {
				this.rejected.add(client.getPort());
				return null;
			}
			this.admitted++;
			return new Permit() {

				private boolean closed;

				@Override
				public void opened(Connection connection) {
					require(!this.closed && of(connection).opened == 0, "opened was called after another method");
				}

				@Override
				public void closed() {
					require(!this.closed, "a permit was closed twice");
					this.closed = true;
					Guard.this.admitted--;
				}

			};
		}

	}

	/**
	 * Chooses one of two pools, before a connection is opened or by its first message.
	 */
	private final class Classes implements ServiceClass {

		private final LeaderFollowersPool[] pools;

		Classes(LeaderFollowersPool... pools) {
			this.pools = pools;
		}

		private String any() {
			return this.pools[choose(2)].name();
		}

		@Override
		public @Nullable String poolOf(Connection connection) {
			return (choose(3) == 0) ? any() : null;
		}

		@Override
		public @Nullable String poolOf(Connection connection, ByteBuffer firstMessage) {
			return any();
		}

	}

	/** Does what a request says, and checks that events do not overlap. */
	private final class Handler implements MessageHandler {

		private Conversation begin(Connection connection) {
			Conversation conversation = of(connection);
			conversation.running++;
			require(EngineWorkload.this.parallel || conversation.running == 1,
					"events of " + connection.remoteAddress().getPort() + " overlap");
			require(conversation.opened == 1 && conversation.end == null, "an event outside of onOpen and onClose");
			return conversation;
		}

		@Override
		public void onOpen(Connection connection) {
			Conversation conversation = of(connection);
			require(conversation.opened++ == 0, "onOpen was called twice");
			conversation.running++;
			if (EngineWorkload.this.logsIn && choose(2) == 0) {
				logIn(connection, conversation);
			}
			exchangeMaybe(conversation);
		}

		private void logIn(Connection connection, Conversation conversation) {
			conversation.loggedIn = true;
			connection.loggedIn();
		}

		@Override
		public void onMessage(Connection connection, ByteBuffer message) {
			if (message.get(message.position()) == SimulatedPeer.ANSWER) {
				// It came too late for the handler that asked.
				return;
			}
			Conversation conversation = begin(connection);
			conversation.taken++;
			if (EngineWorkload.this.logsIn) {
				logIn(connection, conversation);
			}
			EngineWorkload.this.simulator.count(Counted.MESSAGES);
			note("onMessage " + connection.remoteAddress().getPort() + " " + (char) message.get(message.position())
					+ SimulatedPeer.number(message));
			try {
				act(connection, conversation, (char) message.get(message.position()), SimulatedPeer.number(message));
			}
			finally {
				conversation.running--;
			}
		}

		private void act(Connection connection, Conversation conversation, char action, int number) {
			switch (action) {
				case 'b' -> {
					EngineWorkload.this.simulator.sleep(choose(5_000_000));
					reply(connection, number);
				}
				case 's' -> {
					if (EngineWorkload.this.parallel) {
						// Only the reply to a message waits for earlier replies.
						act(connection, conversation, 'o', number);
						return;
					}
					Suspension suspension = connection.suspend();
					later(() -> {
						reply(connection, number);
						suspension.resume();
					});
				}
				case 'o' -> {
					OwedReply owed = connection.owe();
					// Only a suspension keeps the order if messages are not in parallel.
					Suspension order = EngineWorkload.this.parallel ? () -> {
					} : connection.suspend();
					later(() -> {
						reply(owed, number);
						order.resume();
					});
				}
				case 'x' -> {
					exchange('r', number);
					reply(connection, number);
				}
				case SimulatedPeer.ASKS -> {
					if (choose(3) == 0) {
						askAndReturn(connection, number);
						return;
					}
					ask(connection, number);
					reply(connection, number);
				}
				case 'v' -> converse(connection, conversation, number);
				case 'w' -> {
					conversation.stream = new Stream(number, connection.suspend(), 1 + choose(20), choose(2) == 0);
					stream(connection, conversation);
				}
				case 't' -> throw new IllegalArgumentException("simulated");
				case 'e' -> throw new org.leaderfollowers.simulation.SimulatedFailure();
				case 'c' -> {
					reply(connection, number);
					connection.close();
				}
				default -> reply(connection, number);
			}
		}

		/** Replies, and handles the next message in the same call of the handler. */
		private void converse(Connection connection, Conversation conversation, int number) {
			boolean first = choose(2) == 0;
			if (first) {
				reply(connection, number);
			}
			ByteBuffer next = null;
			try {
				next = connection.receive(Duration.ofMillis(1 + choose(300)));
			}
			catch (ExchangeException | ConnectionClosedException | OutOfMemoryError ex) {
				note("no further message was received: " + ex);
			}
			if (!first) {
				reply(connection, number);
			}
			if (next != null && next.get(next.position()) != SimulatedPeer.ANSWER) {
				conversation.taken++;
				act(connection, conversation, (char) next.get(next.position()), SimulatedPeer.number(next));
			}
		}

		/** Sends parts of the reply until the peer is slow or there are none left. */
		private void stream(Connection connection, Conversation conversation) {
			Stream stream = conversation.stream;
			if (stream == null) {
				return;
			}
			boolean sends = true;
			while (sends && stream.parts > 0 && connection.isWritable()) {
				if (stream.yields && choose(4) == 0) {
					yieldTurn(connection);
					return;
				}
				stream.parts--;
				sends = send(connection, SimulatedPeer.PART, stream.number);
			}
			if (!sends || stream.parts == 0) {
				conversation.stream = null;
				reply(connection, stream.number);
				stream.order.resume();
			}
		}

		/** Requests to go on later, now or by another thread. */
		private void yieldTurn(Connection connection) {
			if (choose(2) == 0) {
				require(connection.requestWritable(), "a connection of TCP takes no request for onWritable");
			}
			else {
				later(connection::requestWritable);
			}
		}

		@Override
		public void onWritable(Connection connection) {
			Conversation conversation = begin(connection);
			note("onWritable " + connection.remoteAddress().getPort());
			// It may yield again at once, and then has to wait again.
			EngineWorkload.this.leftSince.remove(connection.id());
			try {
				stream(connection, conversation);
			}
			finally {
				conversation.running--;
			}
		}

		@Override
		public void onIdle(Connection connection, EventType type) {
			Conversation conversation = begin(connection);
			note("onIdle " + connection.remoteAddress().getPort() + " " + type);
			if (choose(3) == 0) {
				connection.idleAfter(type, Duration.ofMillis(choose(100)));
			}
			exchangeMaybe(conversation);
		}

		@Override
		public void onDrain(Connection connection) {
			Conversation conversation = begin(connection);
			note("onDrain " + connection.remoteAddress().getPort());
			require(!conversation.drains, "onDrain was called twice");
			conversation.drains = true;
			exchangeMaybe(conversation);
		}

		private ByteBuffer question(int number) {
			return SimulatedPeer.message(EngineWorkload.this.simulator, EngineWorkload.this.frames,
					SimulatedPeer.QUESTION, number);
		}

		private void ask(Connection connection, int number) {
			try {
				answered(number, connection.exchange(question(number), Duration.ofSeconds(1)), null);
			}
			catch (ExchangeException | OutOfMemoryError ex) {
				answered(number, null, ex);
			}
			requireNoLeader();
		}

		/** Asks a question, and replies when its answer comes. */
		private void askAndReturn(Connection connection, int number) {
			OwedReply owed = connection.owe();
			Suspension order = EngineWorkload.this.parallel ? () -> {
			} : connection.suspend();
			boolean relays = choose(2) == 0;
			Runnable rest = () -> {
				reply(owed, number);
				order.resume();
			};
			try {
				CompletableFuture<ByteBuffer> answer = relays
						? connection.relay(question(number), Duration.ofSeconds(1))
						: connection.exchangeAsync(question(number), Duration.ofSeconds(1));
				EngineWorkload.this.exchanges++;
				answer.whenComplete((reply, failure) -> {
					EngineWorkload.this.exchanges--;
					answered(number, reply, failure);
					if (relays) {
						later(rest);
					}
					else {
						rest.run();
					}
				});
			}
			catch (OutOfMemoryError ex) {
				answered(number, null, ex);
				rest.run();
			}
		}

		private void answered(int number, @Nullable ByteBuffer answer, @Nullable Throwable failure) {
			countExchange(answer);
			require(answer == null || (answer.get(answer.position()) == SimulatedPeer.ANSWER
					&& SimulatedPeer.number(answer) == number), "a question got the answer to another one");
			if (failure != null) {
				note("a question was not answered: " + failure);
			}
		}

		private void reply(Connection connection, int number) {
			send(connection, 'R', number);
		}

		private void reply(OwedReply owed, int number) {
			try {
				owed.send(
						SimulatedPeer.message(EngineWorkload.this.simulator, EngineWorkload.this.frames, 'R', number));
				owed.close();
			}
			catch (RuntimeException | OutOfMemoryError ex) {
				note("an owed reply failed: " + ex);
				owed.fail(ex);
			}
		}

		private boolean send(Connection connection, char kind, int number) {
			try {
				connection.send(
						SimulatedPeer.message(EngineWorkload.this.simulator, EngineWorkload.this.frames, kind, number));
				return true;
			}
			catch (ConnectionClosedException | SlowConsumerException | OutOfMemoryError ex) {
				note("a reply failed: " + ex);
				connection.fail(ex);
				return false;
			}
		}

		@Override
		public void onClose(Connection connection, CloseReason reason) {
			Conversation conversation = begin(connection);
			conversation.end = reason;
			note("onClose " + connection.remoteAddress().getPort() + ": " + reason);
			exchangeMaybe(conversation);
		}

		@Override
		public void onError(Connection connection, ByteBuffer message, Throwable failure) {
			if (!(failure instanceof FramingException)) {
				onError(connection, failure);
				return;
			}
			Conversation conversation = begin(connection);
			note("onError " + connection.remoteAddress().getPort() + " with a message that is too large");
			conversation.taken++;
			try {
				send(connection, SimulatedPeer.SKIPPED, 0);
			}
			finally {
				conversation.running--;
			}
		}

		@Override
		public void onError(Connection connection, Throwable failure) {
			note("onError " + connection.remoteAddress().getPort() + ": " + failure);
		}

	}

}
