package org.leaderfollowers;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

/**
 * Tests for {@link Connection#name(String)}: which connection has a name, and for how
 * long.
 */
@Timeout(180)
class ConnectionNameTests {

	@RegisterExtension
	private final Engine engine = new Engine();

	private final AtomicReference<String> nameAtClose = new AtomicReference<>();

	/**
	 * A message is the name that its connection asks for; the reply says who had the name
	 * before.
	 */
	private TcpServer start() {
		return this.engine.lines(this.engine.pool(2, 4), new MessageHandler() {

			@Override
			public void onMessage(Connection connection, ByteBuffer message) {
				Connection earlier = connection.name(Engine.text(message));
				connection.send(Engine.bytes((earlier != null) ? "from " + earlier.id() : "new"));
			}

			@Override
			public void onClose(Connection connection, CloseReason reason) {
				ConnectionNameTests.this.nameAtClose.set(String.valueOf(connection.name()));
			}

		});
	}

	@Test
	void aConnectionIsFoundByItsNameUntilItIsClosed() {
		TcpServer server = start();
		Peer peer = this.engine.connect(server);
		assertThat(server.connection("4711")).isNull();
		assertThat(peer.send("4711\n").readLine()).isEqualTo("new");
		Connection connection = server.connection("4711");
		assertThat(connection).isNotNull().isSameAs(server.connection(1));
		assertThat(connection.name()).isEqualTo("4711");
		assertThat(server.connections()).extracting(ConnectionSnapshot::name).containsExactly("4711");
		peer.close();
		Engine.eventually().until(() -> server.connection("4711") == null);
		assertThat(this.nameAtClose).hasValue("4711");
		// It is cleared a moment after the connection is not found any more.
		Engine.eventually().until(() -> connection.name() == null);
		assertThat(connection.name("4711")).isNull();
		assertThat(connection.name()).as("the name of a closed connection").isNull();
		assertThat(server.connection("4711")).isNull();
	}

	@Test
	void theLatestConnectionThatTakesANameHasIt() {
		TcpServer server = start();
		Peer first = this.engine.connect(server);
		assertThat(first.send("4711\n").readLine()).isEqualTo("new");
		assertThat(first.send("4711\n").readLine()).as("it has the name already").isEqualTo("new");
		Peer second = this.engine.connect(server);
		assertThat(second.send("4711\n").readLine()).isEqualTo("from 1");
		assertThat(server.connection("4711")).isSameAs(server.connection(2));
		assertThat(server.connection(1).name()).isNull();
		first.close();
		Engine.eventually().until(() -> server.connection(1) == null);
		assertThat(this.nameAtClose).as("of a connection that has lost its name").hasValue("null");
		assertThat(server.connection("4711")).isSameAs(server.connection(2));
	}

	@Test
	void aConnectionHasOneName() {
		TcpServer server = start();
		Peer peer = this.engine.connect(server);
		assertThat(peer.send("a\n").readLine()).isEqualTo("new");
		assertThat(peer.send("b\n").readLine()).isEqualTo("new");
		assertThat(server.connection("a")).isNull();
		assertThat(server.connection("b")).isSameAs(server.connection(1));
		assertThatIllegalArgumentException().isThrownBy(() -> server.connection(1).name(" "))
			.withMessageContaining("name");
	}

	@Test
	void aConnectionGivesUpItsNameAndStaysOpen() {
		TcpServer server = start();
		Peer peer = this.engine.connect(server);
		assertThat(peer.send("a\n").readLine()).isEqualTo("new");
		Connection connection = server.connection("a");
		assertThat(connection.unname("b")).as("a name that it does not have").isFalse();
		assertThat(server.connection("a")).isSameAs(connection);
		assertThat(connection.unname("a")).isTrue();
		assertThat(connection.unname("a")).isFalse();
		assertThat(connection.name()).isNull();
		assertThat(server.connection("a")).isNull();
		assertThat(peer.send("b\n").readLine()).as("stays open").isEqualTo("new");
	}

	@Test
	void namesOfServersAreTheirOwn() {
		TcpServer one = start();
		TcpServer other = start();
		assertThat(this.engine.connect(one).send("x\n").readLine()).isEqualTo("new");
		assertThat(this.engine.connect(other).send("x\n").readLine()).isEqualTo("new");
		assertThat(one.connection("x")).isNotSameAs(other.connection("x"));
	}

	@Test
	void openConnectionsAreThoseThatTheHandlerHasSeen() {
		TcpServer server = start();
		assertThat(server.openConnections()).isEmpty();
		for (int i = 0; i < 3; i++) {
			assertThat(this.engine.connect(server).send(i + "\n").readLine()).isEqualTo("new");
		}
		assertThat(server.openConnections()).extracting(Connection::name).containsExactlyInAnyOrder("0", "1", "2");
	}

	@Test
	void openConnectionsAreNotThoseThatAreNotEstablished() {
		TcpServer server = this.engine.start(TcpServer.builder(this.engine.pool(1, 1))
			.framing(Framing.line())
			.proxyProtocol(TrustedNetworks.of("127.0.0.0/8", "::1"))
			.handler((connection, message) -> connection.send(message)));
		Peer peer = this.engine.connect(server);
		Engine.eventually().until(() -> server.snapshot().openConnections() == 1);
		assertThat(server.openConnections()).isEmpty();
		assertThat(peer.send("PROXY UNKNOWN\r\nx\n").readLine()).isEqualTo("x");
		assertThat(server.openConnections()).hasSize(1);
	}

	@Test
	void aDatagramHasNoName() throws Exception {
		CompletableFuture<Connection> datagram = new CompletableFuture<>();
		UdpServer server = this.engine.start(UdpServer.builder(this.engine.pool(1, 2))
			.handler((connection, message) -> datagram.complete(connection)));
		try (DatagramPeer peer = new DatagramPeer(server)) {
			peer.send("x");
			Connection connection = datagram.get(60, TimeUnit.SECONDS);
			assertThat(connection.name()).isNull();
			assertThatExceptionOfType(UnsupportedOperationException.class).isThrownBy(() -> connection.name("x"))
				.withMessageContaining("remoteAddress()");
		}
	}

	/**
	 * Whether the name is given first or the connection closed first, no name of a closed
	 * connection is kept.
	 */
	@Test
	void aNameThatIsGivenWhileItsConnectionIsClosedIsNotKept() throws Exception {
		TcpServer server = start();
		List<Peer> peers = new ArrayList<>();
		for (int i = 0; i < 100; i++) {
			String name = "device " + i % 3;
			Peer peer = this.engine.connect(server);
			peers.add(peer);
			assertThat(peer.send(name + "\n").readLine()).isNotNull();
			Connection connection = server.connection(name);
			assertThat(connection).isNotNull();
			CompletableFuture<Void> renamed = CompletableFuture.runAsync(() -> {
				for (int round = 0; round < 50; round++) {
					connection.name("device " + round % 3);
				}
			}, (task) -> new Thread(task).start());
			peer.close();
			renamed.get(60, TimeUnit.SECONDS);
		}
		Engine.eventually().untilAsserted(() -> assertThat(server.snapshot().openConnections()).isZero());
		for (int i = 0; i < 3; i++) {
			assertThat(server.connection("device " + i)).isNull();
		}
	}

}
