package org.leaderfollowers.process;

import java.io.Serializable;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
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
import org.leaderfollowers.EventType;
import org.leaderfollowers.Framing;
import org.leaderfollowers.LeaderFollowersPool;
import org.leaderfollowers.Peer;
import org.leaderfollowers.PoolListener;
import org.leaderfollowers.PromotionKind;
import org.leaderfollowers.Server;
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
		ON_DRAIN, KEY, ADMIT, PERMIT_OPENED, PERMIT_CLOSED, HANDED_OFF

	}

	/** Fails at the places that it is told, except for its first connection. */
	private static final class Failing extends LineProgram implements PoolListener, ConnectionGuard {

		private volatile Set<Place> places = EnumSet.noneOf(Place.class);

		private volatile Server server;

		private void fail(Place place) {
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
			return this.server;
		}

		@Override
		void configure(LeaderFollowersPool.Builder builder) {
			builder.listener(this);
		}

		@Override
		void configure(TcpServer.Builder builder) {
			builder.framing(new Lines(null)).correlation(Correlation.byKey((message) -> {
				fail(Place.KEY);
				return null;
			})).connectionGuard(this).readIdle(Duration.ofMillis(300));
		}

		@Override
		public Serializable answer(String question) throws Exception {
			if (question.equals("drain")) {
				return this.server.drain(Engine.DEADLINE.dividedBy(2));
			}
			this.places = Stream.of(question.split(",")).map(Place::valueOf).collect(Collectors.toSet());
			return true;
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
			super.onMessage(connection, message);
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
		Baseline before = this.server.baseline();
		for (Place place : Place.values()) {
			// The bystander's messages have a key as well.
			boolean spares = place != Place.KEY;
			this.server.ask((place == Place.ON_ERROR) ? "ON_MESSAGE,ON_ERROR" : place.name());
			switch (place) {
				case ON_CLOSE, PERMIT_CLOSED, HANDED_OFF, ON_DRAIN -> converse();
				case ON_WRITABLE -> beSlow();
				default -> beClosed();
			}
			if (spares) {
				assertBystanderIsServed();
			}
			this.server.ask("ON_DRAIN");
			Engine.eventually().until(() -> this.server.state().openConnections() == 1);
			assertBystanderIsServed();
		}
		this.server.assertReturnedTo(before);
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
