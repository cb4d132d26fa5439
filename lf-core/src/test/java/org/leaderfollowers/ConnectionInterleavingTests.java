package org.leaderfollowers;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;

import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.leaderfollowers.interleavings.Exploration;
import org.leaderfollowers.interleavings.Interleaving;
import org.leaderfollowers.interleavings.Mutation;
import org.leaderfollowers.interleavings.Scenario;
import org.leaderfollowers.internal.logging.EngineLog;
import org.leaderfollowers.internal.logging.FailureLog;
import org.leaderfollowers.internal.promotion.Clock;
import org.leaderfollowers.internal.promotion.HandlerProfile;
import org.leaderfollowers.internal.promotion.Leadership;
import org.leaderfollowers.internal.promotion.PromotionProtocol;
import org.leaderfollowers.internal.transport.PlainTransport;

/**
 * The interleavings of a connection's owner with the leader, which writes what waits, and
 * with threads that send, close the connection or wait for its end. The pool and the
 * connection are real; only selectors and the socket are scripted.
 */
@Tag("interleavings")
class ConnectionInterleavingTests {

	/** Adapts a real pool: no log, no other threads, and nothing at random. */
	static final Mutation[] OF_A_POOL = { Mutation.failsWith(FailureLog.class, "error", 3),
			Mutation.withoutCall(Leadership.class, "handedOff", "record"),
			Mutation.withoutCall(EngineLog.class, "pass", "add"),
			Mutation.withoutCall(StarvationMonitor.class, "startHerald", "accept"),
			Mutation.withoutCall(LeaderFollowersPool.class, "<init>", "initialize"),
			Mutation.callReturns(StackReserve.class, "keepsValues", "nextInt", 1),
			Mutation.fieldReads(PromotionProtocol.class, "spin", "SPINS", 1) };

	/**
	 * What happens, how many threads the pool has, and how many preemptions there are.
	 * <em>Reads</em>: the peer sends a message for each of the letters. A small letter is
	 * replied to; on <em>S</em>, the handler suspends the connection, and a thread
	 * resumes it; on <em>E</em>, it never returns. <em>Sends</em>: a thread sends a frame
	 * for each of the letters, a short one for a digit. <em>Then closes</em>: it closes
	 * the connection. <em>Closes</em>, <em>fails</em>, <em>drains</em>: another thread
	 * does this. <em>Waits</em>: a thread asks for the end.
	 */
	private enum Case {

		SENDS("sends AB.", 1, 1),

		SENDS_TOO_MUCH("sends ABC.", 1, 1),

		READS("reads abc.", 1, 1),

		READS_WHILE_ANOTHER_SENDS("reads ab. sends AB.", 1, 1),

		CORKS("reads aE.", 2, 1, Mutation.fieldReads(HandlerProfile.class, "blocks", "blocks", 0)),

		SUSPENDS("reads Sb.", 1, 1),

		CLOSES_BEHIND_REPLIES("sends A. then closes", 1, 1),

		CLOSES_BEHIND_A_SHORT_REPLY("sends 1. then closes", 1, 1),

		CLOSES_BESIDE_THE_LEADER("sends 1. then closes", 2, 1),

		CLOSES_BESIDE_REPLIES("sends A. closes", 1, 1),

		CLOSES_AND_FAILS("closes fails waits", 1, 1),

		DRAINS("reads ab. drains waits", 1, 1);

		private final String options;

		private final int threads;

		private final int preemptions;

		private final Mutation[] more;

		Case(String options, int threads, int preemptions, Mutation... more) {
			this.options = options;
			this.threads = threads;
			this.preemptions = preemptions;
			this.more = more;
		}

		Exploration exploration() {
			return Exploration.of(Wire.class, this.options, this.threads)
				.preemptions(this.preemptions)
				.adapted(this.more)
				.adapted(OF_A_POOL);
		}

	}

	private enum Rule {

		THE_LEADER_WATCHES_FOR_ROOM(Case.SENDS, Mutation.withoutCall(OutboundWriter.class, "beganToWait", "request")),

		THE_LEADER_WRITES_WHAT_WAITS(Case.SENDS, Mutation.withoutCall(OutboundWriter.class, "flush", "flush")),

		A_SENDER_THAT_IS_REFUSED_LOOKS_ONCE_MORE(Case.SENDS_TOO_MUCH,
				Mutation.callReturns(OutboundWriter.class, "refused", "isLow", 0)),

		A_SENDER_SAYS_THAT_IT_IS_REFUSED_BEFORE_IT_LOOKS(Case.SENDS_TOO_MUCH,
				Mutation.movedBefore(OutboundWriter.class, "refused", "request", "congested")),

		THE_LEADER_LOOKS_FOR_THOSE_WHO_WERE_REFUSED(Case.SENDS_TOO_MUCH,
				Mutation.callReturns(OutboundWriter.class, "flush", "owesCall", 0)),

		THE_LEADER_LOOKS_FOR_AN_OWNER_THAT_PAUSES(Case.CLOSES_BEHIND_A_SHORT_REPLY,
				Mutation.callReturns(OutboundWriter.class, "flush", "isPaused", 0)),

		AN_OWNER_PAUSES_BEFORE_IT_LOOKS(Case.CLOSES_BESIDE_THE_LEADER,
				Mutation.withoutCall(InboundConnection.class, "requestLookIf", "request")),

		A_REPLY_THAT_IS_CORKED_AFTER_THE_LEASE_IS_WRITTEN_AT_ONCE(Case.CORKS,
				Mutation.callReturns(OutboundWriter.class, "cork", "isOnLease", 1)),

		A_THREAD_THAT_TAKES_OVER_WRITES_WHAT_IS_CORKED(Case.CORKS,
				Mutation.withoutCall(StreamConnection.class, "uncork", "uncork")),

		A_CONNECTION_THAT_IS_RESUMED_IS_LOOKED_AT(Case.SUSPENDS,
				Mutation.withoutCall(StreamConnection.class, "resumed", "request")),

		A_REQUEST_TO_CLOSE_IS_LOOKED_AT(Case.CLOSES_AND_FAILS,
				Mutation.withoutCall(StreamConnection.class, "requestCloseAndLook", "request")),

		A_CLOSE_IS_REQUESTED_BY_COMPARE_AND_SET(Case.CLOSES_AND_FAILS,
				Mutation.setsWithoutComparing(StreamConnection.class, "requestClose")),

		THE_END_IS_PUBLISHED_BEFORE_THE_LOOK_FOR_THOSE_WHO_WAIT(Case.CLOSES_AND_FAILS,
				Mutation.movedBehind(CloseSequence.class, "noteClosed", "closeReported", "ended")),

		THOSE_WHO_ASK_FOR_THE_END_LOOK_WHETHER_IT_HAS_COME(Case.CLOSES_AND_FAILS,
				Mutation.callReturns(ConnectionWatch.class, "end", "isReported", 0)),

		A_SOCKET_IS_CLOSED_WHEN_ALL_IS_WRITTEN(Case.CLOSES_BEHIND_REPLIES,
				Mutation.callReturns(CloseSequence.class, "flushOrLinger", "waitingBytes", 0)),

		A_CONNECTION_THAT_CLOSES_ACCEPTS_NOTHING(Case.CLOSES_BESIDE_REPLIES,
				Mutation.withoutCall(CloseSequence.class, "proceed", "close")),

		A_CONNECTION_THAT_DRAINS_IS_LOOKED_AT(Case.DRAINS,
				Mutation.withoutCall(StreamConnection.class, "close", "request"));

		private final Case wire;

		private final Mutation mutation;

		Rule(Case wire, Mutation mutation) {
			this.wire = wire;
			this.mutation = mutation;
		}

	}

	@ParameterizedTest
	@EnumSource
	void noRuleCanBeDropped(Rule rule) {
		rule.wire.exploration().preemptions(rule.wire.preemptions + 1).with(rule.mutation).assertViolated();
	}

	@ParameterizedTest
	@EnumSource
	void nothingThatIsAcceptedIsLost(Case wire) {
		wire.exploration().assertSound();
	}

	@ParameterizedTest
	@EnumSource
	@Tag("stress")
	void nothingThatIsAcceptedIsLostAtRandom(Case wire) {
		wire.exploration().assertSoundAtRandom(10_000);
	}

	@Test
	void eachThreadThatAsksForTheEndIsToldOfIt() {
		Exploration exploration = Exploration.of(End.class).preemptions(2).adapted(OF_A_POOL);
		exploration.assertSound();
		exploration.with(Mutation.setsWithoutComparing(ConnectionWatch.class, "end")).assertViolated();
	}

	/** The bytes may have been written before either of the two looks how many wait. */
	@Test
	void theHandlerIsToldOfRoomAfterEachRefusal() {
		Exploration exploration = Exploration.of(Refusal.class).preemptions(2).adapted(OF_A_POOL);
		exploration.assertSound();
		exploration.with(Mutation.withoutCall(OutboundWriter.class, "write", "refused")).assertViolated();
	}

	/** Two threads send as many bytes as may wait, while the leader writes them. */
	static final class Refusal implements Scenario {

		private final Wire wire = new Wire("", 1);

		private volatile boolean isRefused;

		@Override
		public void begin() {
			Interleaving.start("sends", this::send);
			Interleaving.start("sends too", this::send);
			Interleaving.start("leads", () -> {
				this.wire.socket.makeRoom(Wire.MAX_OUTBOUND);
				this.wire.connection.outbound.flush(SelectionKey.OP_WRITE);
			});
		}

		private void send() {
			try {
				this.wire.connection.send(Engine.bytes("a".repeat(Wire.MAX_OUTBOUND - 1)));
			}
			catch (SlowConsumerException ex) {
				this.isRefused = true;
			}
		}

		@Override
		public @Nullable String violationAtRest() {
			return (this.isRefused && !this.wire.connection.outbound.isCongested())
					? "the handler will not be told that there is room" : null;
		}

	}

	/** Two threads ask for the end of a connection that has not ended. */
	static final class End implements Scenario {

		private final TcpConnection connection = new Wire("", 1).connection;

		private volatile @Nullable CompletableFuture<CloseReason> first;

		private volatile @Nullable CompletableFuture<CloseReason> second;

		@Override
		public void begin() {
			Interleaving.start("asks", () -> this.first = this.connection.whenClosed());
			Interleaving.start("asks too", () -> this.second = this.connection.whenClosed());
		}

		@Override
		public @Nullable String violationAtRest() {
			this.connection.watch().ended(CloseReason.LOCAL);
			return (this.first.isDone() && this.second.isDone()) ? null : "a thread is not told of the end";
		}

	}

	/** A connection of a server, and the threads that use it. */
	static final class Wire implements Scenario, MessageHandler {

		/** Half of it is the high water mark. */
		private static final int MAX_OUTBOUND = 1024;

		/** The length of a frame: two of them are as many as may wait. */
		private static final int FRAME = MAX_OUTBOUND / 2;

		private final String options;

		private final LeaderFollowersPool pool;

		private final ScriptedSelectors.Socket socket;

		private final TcpConnection connection;

		private final ConnectionRegistry registry;

		/** The letters of the frames that were accepted. */
		private final StringBuffer accepted = new StringBuffer();

		/**
		 * How often the handler was told of room, and how often that was at a refusal.
		 */
		private volatile int relieved;

		private volatile int relievedBefore = -1;

		private volatile boolean isRefusedAsClosed;

		private volatile @Nullable CompletableFuture<CloseReason> end;

		private int handled;

		private int opened;

		private int closed;

		Wire(String options, int threads) {
			this.options = options;
			ScriptedSelectors selectors = new ScriptedSelectors(Clock.SYSTEM);
			this.pool = LeaderFollowersPool.builder()
				.name("explored")
				.threads(threads, threads)
				.handleSets(1)
				.parallelism(9)
				.maxBufferedBytes(1 << 20)
				.stuckAfter(Duration.ZERO)
				.slowHandlerAfter(Duration.ZERO)
				.selectorProvider(selectors)
				.build();
			TcpServer server = TcpServer.builder(this.pool)
				.name("explored")
				.framing(Framing.line())
				.maxMessageSize(FRAME)
				.maxOutboundSize(MAX_OUTBOUND)
				.idleTimeout(Duration.ZERO)
				.writeTimeout(Duration.ZERO)
				.handler(this)
				.build();
			server.life.state().started();
			ConnectionContext context = server.life.context();
			this.registry = context.registry();
			try {
				this.socket = selectors.new Socket(10 * FRAME);
				InetSocketAddress address = new InetSocketAddress(1);
				this.connection = new TcpConnection(context, this.socket, new PlainTransport(this.socket), address,
						address);
			}
			catch (IOException ex) {
				throw new UncheckedIOException(ex);
			}
			this.registry.add(this.connection);
		}

		@Override
		public void begin() {
			String messages = letters("reads");
			StringBuilder lines = new StringBuilder();
			messages.chars().forEach((letter) -> lines.append((char) letter).append('\n'));
			this.socket.receive(lines.toString());
			this.pool.start();
			this.connection.open();
			Interleaving.start("makes room", () -> this.socket.makeRoom(10 * FRAME));
			if (isOn("sends")) {
				Interleaving.start("sends", this::send);
			}
			if (isOn(" closes") && !isOn("then closes")) {
				Interleaving.start("closes", this.connection::close);
			}
			if (isOn("fails")) {
				Interleaving.start("fails", () -> this.connection.fail(new IllegalStateException()));
			}
			if (isOn("drains")) {
				Interleaving.start("drains", () -> this.connection.close(Duration.ofHours(1)));
			}
			if (isOn("waits")) {
				Interleaving.start("waits", () -> this.end = this.connection.whenClosed());
			}
		}

		private boolean isOn(String option) {
			return (" " + this.options).contains(option);
		}

		private String letters(String option) {
			int start = this.options.indexOf(option);
			return (start >= 0) ? this.options.substring(start + option.length() + 1, this.options.indexOf('.', start))
					: "";
		}

		private void send() {
			letters("sends").chars().forEach((letter) -> send((char) letter));
			if (isOn("then closes")) {
				this.connection.close();
			}
		}

		private void send(char letter) {
			int before = this.relieved;
			try {
				int length = Character.isDigit(letter) ? 1 : FRAME - 1;
				this.connection.send(Engine.bytes(String.valueOf(letter).repeat(length)));
				this.accepted.append(letter);
			}
			catch (SlowConsumerException ex) {
				this.relievedBefore = before;
			}
			catch (ConnectionClosedException ex) {
				this.isRefusedAsClosed = true;
			}
		}

		private boolean ends() {
			return isOn("close") || isOn("fails") || isOn("drains");
		}

		@Override
		public void onOpen(Connection connection) {
			this.opened++;
		}

		@Override
		public void onMessage(Connection connection, ByteBuffer message) {
			this.handled++;
			char letter = (char) message.get(message.position());
			switch (letter) {
				case 'S' -> {
					Suspension suspension = connection.suspend();
					Interleaving.start("resumes", suspension::resume);
				}
				case 'E' -> Interleaving.await("handles for ever", () -> false);
				default -> send(letter);
			}
		}

		@Override
		public void onWritable(Connection connection) {
			this.relieved++;
		}

		@Override
		public void onClose(Connection connection, CloseReason reason) {
			this.closed++;
		}

		@Override
		public long delayNanos() {
			// Until the lease of a handler that does not return has expired.
			return isOn("E") ? Duration.ofSeconds(1).toNanos() : 0;
		}

		@Override
		public @Nullable String violationAtRest() {
			String written = this.socket.written().replaceAll("(.)\\1*\n", "$1");
			if (!isSame(written, this.accepted.toString())) {
				return "accepted %s, but written %s".formatted(this.accepted, written);
			}
			if (this.relieved <= this.relievedBefore || (!ends() && !isOn("E") && !this.connection.isWritable())) {
				return "a sender is not told that there is room";
			}
			if (!ends() && (this.isRefusedAsClosed || this.closed != 0)) {
				return "the connection is closed though nobody closes it";
			}
			if (!ends()) {
				return (this.handled == letters("reads").length()) ? null : "messages are not handled";
			}
			boolean isOver = !this.socket.isOpen() && this.registry.open() == 0;
			if (!isOver || this.closed != this.opened) {
				return isOver ? "the handler is told of %d of %d ends".formatted(this.closed, this.opened)
						: "the connection is not closed";
			}
			return (isOn("waits") && !this.end.isDone()) ? "a thread is not told of the end" : null;
		}

		/** Whether all was written, that of each thread in its order. */
		private static boolean isSame(String written, String accepted) {
			return written.replaceAll("[a-z]", "").equals(accepted.replaceAll("[a-z]", ""))
					&& written.replaceAll("[A-Z]", "").equals(accepted.replaceAll("[A-Z]", ""));
		}

	}

}
