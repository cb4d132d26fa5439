package org.leaderfollowers;

import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.internal.promotion.ProcessorTime;
import org.leaderfollowers.simulation.SimulatedPeer;
import org.leaderfollowers.simulation.SimulatedPeer.Frames;
import org.leaderfollowers.simulation.Simulator;

/**
 * The workload of one simulated run: a pool with a server and a client, peers, threads of
 * the application, and an operator. The seed chooses all options, requests and failures.
 * At the end everything must be done, accounted for, and closed.
 */
public final class EngineWorkload implements Runnable {

	/** How long a run may take, in virtual time, once nothing fails any more. */
	private static final long PATIENCE_NANOS = Duration.ofSeconds(20).toNanos();

	/** How long the engine may keep a peer waiting if nothing fails. */
	private static final long LONGEST_PAUSE_NANOS = Duration.ofMillis(400).toNanos();

	private static final long LONGEST_EXCHANGE_NANOS = Duration.ofMillis(1500).toNanos();

	private final Simulator simulator;

	private final Frames frames;

	private final boolean parallel;

	/** Whether calls of the JDK and handlers fail. */
	private final boolean fails;

	/** Whether handlers send requests and wait for the replies. */
	private final boolean nests;

	private final Map<Integer, Conversation> conversations = new TreeMap<>();

	private final List<SimulatedPeer> peers = new ArrayList<>();

	/** What threads of the application have to do. */
	private final List<Runnable> tasks = new ArrayList<>();

	private int applicationThreads;

	private boolean applicationEnds;

	private boolean closing;

	private @Nullable TcpClient client;

	/** The events of a connection. */
	private static final class Conversation {

		private int opened;

		private int running;

		private int taken;

		private boolean closedByOperator;

		private @Nullable CloseReason end;

	}

	/** Creates the workload of a run. */
	public EngineWorkload(Simulator simulator) {
		this.simulator = simulator;
		this.frames = Frames.values()[choose(3)];
		this.parallel = choose(4) == 0;
		this.fails = choose(2) == 0;
		this.nests = choose(2) == 0;
	}

	private int choose(int bound) {
		return this.simulator.choose(bound);
	}

	private void note(String line) {
		this.simulator.note(line);
	}

	@Override
	public void run() {
		LeaderFollowersPool pool = pool();
		TcpServer server = server(pool);
		server.start();
		TcpClient started = client(pool, server.port());
		started.start();
		this.client = started;
		for (int i = choose(3); i >= 0; i--) {
			startThread("application-" + i, this::runTasks);
		}
		if (this.fails) {
			this.simulator.beginFaults();
			this.simulator.network().failures(choose(4) * 3, choose(3) * 10);
		}
		for (int i = choose(6); i >= 0; i--) {
			SimulatedPeer peer = new SimulatedPeer(this.simulator, server.port(), this.frames, actions());
			// An exchange within a handler may have to wait until it times out.
			peer.expectProgress((this.fails || this.nests) ? PATIENCE_NANOS : LONGEST_PAUSE_NANOS);
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
		}
		end(pool, server, started, early);
	}

	// The parts

	private LeaderFollowersPool pool() {
		int sets = 1 + choose(3);
		int min = sets + choose(3);
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
			.selectorProvider(this.simulator.network())
			.processorTime(time)
			.threads(min, min + choose(5))
			.parallelism(1 + choose(3))
			.keepAlive((choose(2) == 0) ? Duration.ofMillis(5 + choose(200)) : Duration.ofSeconds(60))
			.promotionPolicy(PromotionPolicy.values()[choose(2)])
			.promotionOrder(PromotionOrder.values()[choose(3)])
			.promotionLease(Duration.ofNanos(lease * 100_000L))
			.nestedDispatch(NestedDispatch.values()[choose(2)])
			.maxBufferedBytes(8_000_000);
		if (choose(2) == 0) {
			builder.handleSets(sets);
		}
		return builder.build();
	}

	private Framing framing() {
		return switch (this.frames) {
			case LENGTH -> Framing.lengthField(2);
			case LINE -> Framing.line();
			case FIXED -> Framing.fixedLength(SimulatedPeer.FIXED_LENGTH);
		};
	}

	private TcpServer server(LeaderFollowersPool pool) {
		TcpServer.Builder builder = TcpServer.builder(pool)
			.port(0)
			.backlog(2 + choose(20))
			.framing(framing())
			.maxMessageSize(4000)
			.idleTimeout(Duration.ofSeconds(this.nests ? 5 : 2))
			.messageTimeout(Duration.ofSeconds((this.nests || this.fails) ? 8 : 1))
			.drainMessageTimeout(Duration.ofMillis(choose(3) * 250))
			.handler(new Handler());
		if (this.parallel) {
			builder.maxInFlightPerConnection(2 + choose(4)).replyOrder(ReplyOrder.ARRIVAL);
		}
		return builder.build();
	}

	private TcpClient client(LeaderFollowersPool pool, int port) {
		return TcpClient.builder(pool)
			.address(this.simulator.network().address(port))
			.framing(framing())
			.maxMessageSize(4000)
			.correlation(Correlation.inOrder())
			.connections(1 + choose(3))
			.requestTimeout(Duration.ofSeconds(2))
			.placeTimeout(Duration.ofSeconds(1))
			.backoff(Duration.ofMillis(1), Duration.ofMillis(50))
			.build();
	}

	private String actions() {
		String possible = "rrrrrrbbsoo" + (this.nests ? "x" : "") + (this.fails ? "tec" : "");
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
				task.run();
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

	private void exchange(char action, int number) {
		TcpClient current = this.client;
		if (current == null) {
			return;
		}
		long began = this.simulator.nanoTime();
		try {
			ByteBuffer request = SimulatedPeer.message(this.simulator, this.frames, action, number);
			ByteBuffer reply = current.exchange(request, Duration.ofSeconds(2));
			if (SimulatedPeer.number(reply) != number) {
				this.simulator.fail("an exchange got the reply to another request");
			}
		}
		catch (ExchangeException | IllegalStateException | OutOfMemoryError ex) {
			note("exchange failed: " + ex);
		}
		boolean mayTakeLong = this.fails || this.nests || this.closing;
		long nanos = this.simulator.nanoTime() - began;
		// Refused connections are retried with pauses, but no reply may wait for the
		// timeout.
		if (nanos > (mayTakeLong ? PATIENCE_NANOS : LONGEST_EXCHANGE_NANOS)) {
			this.simulator.fail("an exchange took " + nanos / 1_000_000 + " ms" + this.simulator.describeThreads());
		}
	}

	private void operate(LeaderFollowersPool pool, TcpServer server) {
		this.simulator.sleep(choose(4_000_000));
		switch (choose(8)) {
			case 0 -> {
				note("pauses");
				server.pause();
				this.simulator.sleep(choose(5_000_000));
				server.resume();
			}
			case 1 -> {
				int min = 3 + choose(4);
				note("resizes to " + min);
				pool.resize(min, min + choose(5));
			}
			case 2 -> pool.promotionPolicy(PromotionPolicy.values()[choose(2)]);
			case 3 -> pool.promotionLease(Duration.ofNanos(100_000 + choose(2_000_000)));
			case 4 -> pool.snapshot();
			case 5 -> server.snapshot();
			case 6 -> closeOne(server);
			default -> {
			}
		}
	}

	/** Closes a connection as an operator does. */
	private void closeOne(TcpServer server) {
		List<ConnectionSnapshot> open = server.connections().toList();
		Connection chosen = open.isEmpty() ? null : server.connection(open.get(choose(open.size())).id());
		if (chosen != null) {
			note("closes " + chosen.remoteAddress().getPort());
			of(chosen).closedByOperator = true;
			chosen.close(Duration.ofSeconds(30));
		}
	}

	private Conversation of(Connection connection) {
		return this.conversations.computeIfAbsent(connection.remoteAddress().getPort(), (port) -> new Conversation());
	}

	private void awaitPeers() {
		boolean done = this.simulator.await("awaits the peers",
				() -> this.peers.stream().allMatch(SimulatedPeer::isFinished),
				this.simulator.nanoTime() + PATIENCE_NANOS);
		if (!done) {
			this.simulator.fail("a request was not answered in time: "
					+ this.peers.stream().filter((peer) -> !peer.isFinished()).toList()
					+ this.simulator.describeThreads());
		}
	}

	// The end

	private void end(LeaderFollowersPool pool, TcpServer server, TcpClient started, boolean early) {
		this.closing = early;
		long began = this.simulator.nanoTime();
		note("closes");
		if (choose(2) == 0 && !server.close(Duration.ofSeconds(30))) {
			this.simulator.fail("the server was not drained");
		}
		if (!pool.close(Duration.ofSeconds(30))) {
			this.simulator.fail("the pool was not closed:" + this.simulator.describeThreads());
		}
		long millis = (this.simulator.nanoTime() - began) / 1_000_000;
		note("closed in " + millis + " ms");
		if (millis > 31_000) {
			this.simulator.fail("closing took " + millis + " ms");
		}
		this.applicationEnds = true;
		this.simulator.await("awaits the application", () -> this.applicationThreads == 0,
				this.simulator.nanoTime() + PATIENCE_NANOS);
		awaitPeers();
		check(pool, server, started);
	}

	private void check(LeaderFollowersPool pool, TcpServer server, TcpClient started) {
		if (!this.simulator.await("awaits the threads", () -> this.simulator.living() == 1,
				this.simulator.nanoTime() + PATIENCE_NANOS)) {
			this.simulator.fail("threads are left:" + this.simulator.describeThreads());
		}
		require(this.simulator.network().open().isEmpty(), "not closed: " + this.simulator.network().open());
		require(server.snapshot().openConnections() == 0, "the server counts connections");
		require(pool.memory().used() == 0, pool.memory().used() + " bytes are still reserved");
		this.conversations.forEach((port, conversation) -> {
			require(conversation.end != null || conversation.opened == 0, "onClose was not called for " + port);
			require(conversation.running == 0, "an event of " + port + " has not ended");
		});
		this.peers.forEach(this::check);
	}

	private void require(boolean holds, String rule) {
		if (!holds) {
			this.simulator.fail(rule);
		}
	}

	private void check(SimulatedPeer peer) {
		if (peer.ending() == null) {
			return;
		}
		Conversation conversation = this.conversations.get(peer.port());
		CloseReason reason = (conversation != null) ? conversation.end : null;
		if (reason == null) {
			require(this.fails || this.closing || !peer.wasConnected(), "no reason: " + peer);
			return;
		}
		boolean right = switch (reason) {
			case LOCAL -> this.fails || conversation.closedByOperator;
			case HANDLER_ERROR, IO_ERROR, OVERLOADED -> this.fails;
			case SHUTDOWN -> this.closing;
			case IDLE_TIMEOUT -> peer.fallsSilent() && peer.isAnswered();
			case MESSAGE_TIMEOUT -> peer.fallsSilent();
			default -> false;
		};
		require(right, "wrong reason " + reason + ": " + peer);
		if (!this.fails && !peer.hasReset() && (reason == CloseReason.SHUTDOWN || reason == CloseReason.LOCAL)) {
			require(peer.replies() == conversation.taken,
					"replies are lost, %d messages were handled: %s".formatted(conversation.taken, peer));
			require(peer.replies() >= peer.arrivedBeforeDrain(),
					"%d requests had been received: %s".formatted(peer.arrivedBeforeDrain(), peer));
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
		}

		@Override
		public void onMessage(Connection connection, ByteBuffer message) {
			Conversation conversation = begin(connection);
			conversation.taken++;
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
						try {
							owed.send(SimulatedPeer.message(EngineWorkload.this.simulator, EngineWorkload.this.frames,
									'R', number));
							owed.close();
						}
						catch (RuntimeException | OutOfMemoryError ex) {
							note("an owed reply failed: " + ex);
							owed.fail(ex);
						}
						order.resume();
					});
				}
				case 'x' -> {
					exchange('r', number);
					reply(connection, number);
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

		private void reply(Connection connection, int number) {
			try {
				connection.send(
						SimulatedPeer.message(EngineWorkload.this.simulator, EngineWorkload.this.frames, 'R', number));
			}
			catch (ConnectionClosedException | SlowConsumerException | OutOfMemoryError ex) {
				note("a reply failed: " + ex);
				connection.fail(ex);
			}
		}

		@Override
		public void onClose(Connection connection, CloseReason reason) {
			Conversation conversation = begin(connection);
			conversation.running--;
			conversation.end = reason;
			note("onClose " + connection.remoteAddress().getPort() + ": " + reason);
		}

		@Override
		public void onError(Connection connection, Throwable failure) {
			note("onError " + connection.remoteAddress().getPort() + ": " + failure);
		}

	}

}
