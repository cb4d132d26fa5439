package org.leaderfollowers.process;

import java.io.IOException;
import java.io.Serializable;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.Pipe;
import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.LongAdder;
import java.util.stream.Collectors;
import java.util.stream.Stream;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.leaderfollowers.CloseReason;
import org.leaderfollowers.Connection;
import org.leaderfollowers.ConnectionGuard;
import org.leaderfollowers.Correlation;
import org.leaderfollowers.Engine;
import org.leaderfollowers.EventSource;
import org.leaderfollowers.EventType;
import org.leaderfollowers.ExchangeException;
import org.leaderfollowers.Framing;
import org.leaderfollowers.LeaderFollowersPool;
import org.leaderfollowers.MessageHandler;
import org.leaderfollowers.Peer;
import org.leaderfollowers.PoolAlarm;
import org.leaderfollowers.PoolListener;
import org.leaderfollowers.PromotionKind;
import org.leaderfollowers.Server;
import org.leaderfollowers.ServiceClass;
import org.leaderfollowers.TcpClient;
import org.leaderfollowers.TcpServer;
import org.leaderfollowers.process.ServerProcess.Baseline;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * An {@code Error} in each method of an application that the engine calls. It ends its
 * own connection at most.
 */
@Tag("stress")
@Timeout(300)
@EnabledOnOs(OS.LINUX)
class CallbackErrorTests {

	private static final int PEERS = 4;

	/**
	 * Half of the maximum outbound size: the handler is told when the peer has caught up.
	 */
	private static final int CONGESTED = 512 * 1024;

	/** Where an application can fail. */
	private enum Place {

		FOR_CONNECTION, DECODE, ENCODE, MAX_FRAME_LENGTH, ON_OPEN, ON_MESSAGE, ON_WRITABLE, ON_IDLE, ON_ERROR, ON_CLOSE,
		ON_DRAIN, KEY, ADMIT, PERMIT_OPENED, PERMIT_CLOSED, HANDED_OFF, POOL_OF_OPENED, POOL_OF_MESSAGE, SUSPENDED,
		STARVED, LEADERLESS, ALARMED, AWAIT_EVENT, WAKE_UP, HANDLE_EVENT, HANDLE_RAW_EVENT, CLIENT_ON_OPEN,
		CLIENT_ON_MESSAGE, CLIENT_ON_ERROR, CLIENT_ON_CLOSE

	}

	/** Fails at the places that it is told, except for its first connection. */
	private static final class Failing extends LineProgram
			implements PoolListener, ConnectionGuard, ServiceClass, EventSource<String> {

		private static final String SOURCE = "events";

		private volatile Set<Place> places = EnumSet.noneOf(Place.class);

		/** How often each place was reached, whether it failed or not. */
		private final Map<Place, LongAdder> calls = Stream.of(Place.values())
			.collect(Collectors.toUnmodifiableMap((place) -> place, (place) -> new LongAdder()));

		private final BlockingQueue<String> events = new LinkedBlockingQueue<>();

		private final AtomicInteger handledEvents = new AtomicInteger();

		/** Handlers of {@code hold} wait for it. */
		private volatile CountDownLatch held = new CountDownLatch(0);

		private volatile Server server;

		private TcpClient client;

		private void fail(Place place) {
			this.calls.get(place).increment();
			if (this.places.contains(place)) {
				throw new NoClassDefFoundError("made for the test: " + place);
			}
		}

		private void fail(Place place, Connection connection) {
			if (connection.id() > 1) {
				fail(place);
			}
		}

		@Override
		public Server start() {
			this.server = super.start();
			this.server.pool().register(SOURCE, this, this::handle);
			return this.server;
		}

		@Override
		void configure(LeaderFollowersPool.Builder builder) {
			// The watchdog alarms about handlers that hold.
			builder.listener(this).handleSets(1).eventSources(SOURCE).slowHandlerAfter(Duration.ofSeconds(1));
		}

		@Override
		void configure(TcpServer.Builder builder) {
			builder.framing(new Lines(null)).correlation(Correlation.byKey((message) -> {
				fail(Place.KEY);
				return null;
			})).connectionGuard(this).serviceClass(this).readIdle(Duration.ofMillis(300));
		}

		@Override
		public Serializable answer(String question) throws Exception {
			String[] words = question.split(" ");
			switch (words[0]) {
				case "drain" -> {
					return this.server.drain(Engine.DEADLINE.dividedBy(2));
				}
				case "calls" -> {
					return this.calls.get(Place.valueOf(words[1])).sum();
				}
				case "hold" -> this.held = new CountDownLatch(1);
				case "go" -> this.held.countDown();
				case "emit" -> this.events.add("event");
				case "handled" -> {
					return this.handledEvents.get();
				}
				case "register" -> {
					boolean ended = this.server.pool().deregister(SOURCE, Engine.DEADLINE);
					this.server.pool().register(SOURCE, this, this::handle);
					return ended;
				}
				case "raw" -> failInRawHandler();
				case "client" -> startClient();
				case "exchange" -> {
					return exchange(words[1]);
				}
				case "end" -> this.client.close();
				default -> this.places = Stream.of(question.split(",")).map(Place::valueOf).collect(Collectors.toSet());
			}
			return true;
		}

		private void failInRawHandler() throws IOException {
			Pipe pipe = Pipe.open();
			pipe.source().configureBlocking(false);
			this.server.pool().register(pipe.source(), (handle, type) -> fail(Place.HANDLE_RAW_EVENT), EventType.READ);
			try (Pipe.SinkChannel sink = pipe.sink()) {
				sink.write(Engine.bytes("event"));
			}
		}

		private void startClient() {
			this.client = TcpClient.builder(this.server.pool())
				.address(new InetSocketAddress(InetAddress.getLoopbackAddress(), this.server.port()))
				.framing(Framing.line())
				.correlation(Correlation.inOrder())
				.backoff(Duration.ofMillis(1), Duration.ofMillis(20))
				.handler(new ClientSide())
				.build();
			this.client.start();
		}

		/** Returns whether there was a reply. */
		private boolean exchange(String line) {
			try {
				this.client.exchange(Engine.bytes(line));
				return true;
			}
			catch (ExchangeException ex) {
				return false;
			}
		}

		@Override
		public String poolOf(Connection connection) {
			fail(Place.POOL_OF_OPENED, connection);
			return null;
		}

		@Override
		public String poolOf(Connection connection, ByteBuffer firstMessage) {
			fail(Place.POOL_OF_MESSAGE, connection);
			return null;
		}

		@Override
		public String await(Duration timeout) throws InterruptedException {
			fail(Place.AWAIT_EVENT);
			// It cannot be woken.
			return this.events.poll(100, TimeUnit.MILLISECONDS);
		}

		@Override
		public void wakeup() {
			fail(Place.WAKE_UP);
		}

		private void handle(String event) {
			fail(Place.HANDLE_EVENT);
			this.handledEvents.incrementAndGet();
		}

		@Override
		public void starved(long nanos) {
			fail(Place.STARVED);
		}

		@Override
		public void leaderless(long nanos) {
			fail(Place.LEADERLESS);
		}

		@Override
		public void alarmed(PoolAlarm alarm) {
			fail(Place.ALARMED);
		}

		@Override
		public void handedOff(PromotionKind kind, long vacancyNanos) {
			fail(Place.HANDED_OFF);
		}

		@Override
		public Permit admit(InetSocketAddress client) {
			fail(Place.ADMIT);
			return new Permit() {

				@Override
				public void opened(Connection connection) {
					fail(Place.PERMIT_OPENED, connection);
				}

				@Override
				public void closed() {
					fail(Place.PERMIT_CLOSED);
				}

			};
		}

		@Override
		public void onOpen(Connection connection) {
			fail(Place.ON_OPEN, connection);
		}

		@Override
		public void onMessage(Connection connection, ByteBuffer message) throws Exception {
			fail(Place.ON_MESSAGE, connection);
			switch (Engine.text(message)) {
				case "hold" -> {
					this.held.await();
					connection.send(message);
				}
				case "twice" -> {
					connection.send(Engine.bytes("twice"));
					connection.send(Engine.bytes("twice"));
				}
				default -> {
					if (this.places.contains(Place.SUSPENDED) && connection.id() > 1) {
						// Nobody resumes it.
						connection.suspend();
						fail(Place.SUSPENDED);
					}
					super.onMessage(connection, message);
				}
			}
		}

		@Override
		public void onWritable(Connection connection) {
			fail(Place.ON_WRITABLE, connection);
		}

		@Override
		public void onIdle(Connection connection, EventType type) {
			fail(Place.ON_IDLE, connection);
		}

		@Override
		public void onDrain(Connection connection) {
			fail(Place.ON_DRAIN);
		}

		@Override
		public void onError(Connection connection, Throwable failure) {
			fail(Place.ON_ERROR);
		}

		@Override
		public void onClose(Connection connection, CloseReason reason) {
			fail(Place.ON_CLOSE);
		}

		/** The handler of a client in this process. */
		private final class ClientSide implements MessageHandler {

			@Override
			public void onOpen(Connection connection) {
				fail(Place.CLIENT_ON_OPEN);
			}

			@Override
			public void onMessage(Connection connection, ByteBuffer message) {
				fail(Place.CLIENT_ON_MESSAGE);
			}

			@Override
			public void onError(Connection connection, Throwable failure) {
				fail(Place.CLIENT_ON_ERROR);
			}

			@Override
			public void onClose(Connection connection, CloseReason reason) {
				fail(Place.CLIENT_ON_CLOSE);
			}

		}

		/** Lines of a connection. */
		private final class Lines implements Framing {

			private final Framing lines = Framing.line();

			private final Connection connection;

			private Lines(Connection connection) {
				this.connection = connection;
			}

			private void failIn(Place place) {
				if (this.connection != null) {
					fail(place, this.connection);
				}
			}

			@Override
			public Framing forConnection(Connection opened) {
				fail(Place.FOR_CONNECTION, opened);
				return new Lines(opened);
			}

			@Override
			public boolean decode(ByteBuffer input, Frame frame) {
				failIn(Place.DECODE);
				return this.lines.decode(input, frame);
			}

			@Override
			public void encode(ByteBuffer payload, ByteBuffer output) {
				failIn(Place.ENCODE);
				this.lines.encode(payload, output);
			}

			@Override
			public int maxFrameLength(int payloadLength) {
				failIn(Place.MAX_FRAME_LENGTH);
				return this.lines.maxFrameLength(payloadLength);
			}

			@Override
			public String toString() {
				return this.lines.toString();
			}

		}

	}

	private final ServerProcess server = ServerProcess.of(Failing.class).start();

	private final Peer bystander = this.server.connect();

	@AfterEach
	void stop() {
		this.bystander.close();
		this.server.close();
	}

	private void assertBystanderIsServed() {
		assertThat(this.bystander.send("still\n").readLine()).isEqualTo("still");
	}

	@Test
	void anErrorEndsItsConnectionOnly() {
		assertBystanderIsServed();
		this.server.ask("ON_DRAIN");
		// Each thread has its buffers from now on.
		starve(Place.STARVED);
		Baseline before = this.server.baseline();
		for (Place place : Place.values()) {
			// The bystander's messages have a key as well.
			boolean spares = place != Place.KEY;
			long calls = calls(place);
			this.server.ask(switch (place) {
				case ON_ERROR -> "ON_MESSAGE,ON_ERROR";
				case CLIENT_ON_ERROR -> "CLIENT_ON_MESSAGE,CLIENT_ON_ERROR";
				default -> place.name();
			});
			switch (place) {
				case ON_CLOSE, PERMIT_CLOSED, ON_DRAIN -> converse();
				case HANDED_OFF -> hold();
				case ON_WRITABLE -> beSlow();
				case STARVED, LEADERLESS, ALARMED -> starve(place);
				case AWAIT_EVENT, HANDLE_EVENT -> emit(place);
				case WAKE_UP -> assertThat(this.server.ask("register")).isEqualTo(true);
				case HANDLE_RAW_EVENT -> failInRawHandlers();
				case CLIENT_ON_OPEN, CLIENT_ON_MESSAGE, CLIENT_ON_ERROR, CLIENT_ON_CLOSE -> failInClient(place);
				default -> beClosed();
			}
			if (place != Place.ON_DRAIN) {
				awaitCall(place, calls);
			}
			if (spares) {
				assertBystanderIsServed();
			}
			this.server.ask("ON_DRAIN");
			Engine.eventually().until(() -> this.server.state().openConnections() == 1);
			assertBystanderIsServed();
			assertEventsAreHandled();
		}
		this.server.assertReturnedTo(before);
	}

	private long calls(Place place) {
		return (long) this.server.ask("calls " + place);
	}

	private void awaitCall(Place place, long before) {
		Engine.eventually().until(() -> calls(place) > before);
	}

	/** A handler blocks, so another thread leads. */
	private void hold() {
		long handOffs = calls(Place.HANDED_OFF);
		this.server.ask("hold");
		try (Peer peer = this.server.connect().send("hold\n")) {
			awaitCall(Place.HANDED_OFF, handOffs);
			this.server.ask("go");
			assertThat(peer.readLine()).isEqualTo("hold");
		}
	}

	/** All threads run handlers until the listener was told of it. */
	private void starve(Place place) {
		long alarms = calls(Place.ALARMED);
		long starvations = calls(Place.STARVED);
		long ends = calls(Place.LEADERLESS);
		this.server.ask("hold");
		List<Peer> peers = new ArrayList<>();
		for (int i = 0; i < LineProgram.MAX_THREADS; i++) {
			peers.add(this.server.connect().send("hold\n"));
		}
		awaitCall(Place.STARVED, starvations);
		if (place == Place.ALARMED) {
			awaitCall(Place.ALARMED, alarms);
		}
		this.server.ask("go");
		awaitCall(Place.LEADERLESS, ends);
		for (Peer peer : peers) {
			assertThat(peer.readLine()).isEqualTo("hold");
			peer.close();
		}
	}

	private void emit(Place place) {
		long calls = calls(place);
		this.server.ask("emit");
		awaitCall(place, calls);
	}

	/** The event source works again after a pause, if it has failed. */
	private void assertEventsAreHandled() {
		int handled = (int) this.server.ask("handled");
		this.server.ask("emit");
		Engine.eventually().until(() -> (int) this.server.ask("handled") > handled);
	}

	/** More than the descriptors that the baseline tolerates. */
	private void failInRawHandlers() {
		long calls = calls(Place.HANDLE_RAW_EVENT);
		for (int i = 0; i < 2 * PEERS; i++) {
			this.server.ask("raw");
			awaitCall(Place.HANDLE_RAW_EVENT, calls + i);
		}
	}

	/** Afterwards, the client is served. */
	private void failInClient(Place place) {
		long calls = calls(place);
		this.server.ask("client");
		if (place != Place.CLIENT_ON_OPEN) {
			this.server.ask((place == Place.CLIENT_ON_CLOSE) ? "exchange bye" : "exchange twice");
		}
		awaitCall(place, calls);
		this.server.ask("ON_DRAIN");
		Engine.eventually().until(() -> this.server.ask("exchange still").equals(true));
		this.server.ask("end");
	}

	private void beClosed() {
		for (int i = 0; i < PEERS; i++) {
			try (Peer peer = this.server.connect()) {
				// A reset may come while it sends.
				peer.trySend("probe\n").awaitClosed();
			}
		}
	}

	private void converse() {
		for (int i = 0; i < PEERS; i++) {
			this.server.probe();
		}
	}

	private void beSlow() {
		for (int i = 0; i < PEERS; i++) {
			try (Peer peer = this.server.connect(4096)) {
				peer.send("large\n");
				Engine.eventually().until(() -> this.server.state().bufferedBytes() >= CONGESTED);
				peer.awaitClosed();
			}
		}
	}

	@Test
	void anErrorWhileItDrainsEndsItsConnection() {
		assertBystanderIsServed();
		Baseline before = this.server.baseline();
		this.server.ask("ON_DRAIN");
		// Kept: the JDK closes sockets that nothing refers to.
		List<Peer> peers = new ArrayList<>();
		for (int i = 0; i < PEERS; i++) {
			Peer peer = this.server.connect().send("probe\n");
			peers.add(peer);
			peer.readLine();
		}
		assertThat(this.server.ask("drain")).isEqualTo(true);
		assertThat(this.bystander.readLine()).isNull();
		ProcessState state = this.server.state();
		assertThat(state.openConnections()).isZero();
		assertThat(state.closedConnections()).containsEntry(CloseReason.HANDLER_ERROR, PEERS + 1L);
		Engine.eventually().untilAsserted(() -> assertThat(this.server.deviations(before)).isEmpty());
		peers.forEach(Peer::close);
	}

}
