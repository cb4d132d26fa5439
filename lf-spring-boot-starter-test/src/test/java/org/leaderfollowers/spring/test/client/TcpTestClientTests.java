package org.leaderfollowers.spring.test.client;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.ConnectException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.stream.Stream;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.leaderfollowers.CloseReason;
import org.leaderfollowers.Framing;
import org.leaderfollowers.LeaderFollowersPool;
import org.leaderfollowers.MessageHandler;
import org.leaderfollowers.TcpServer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.leaderfollowers.spring.test.assertion.LfAssertions.assertThat;

/**
 * Tests for {@link TcpTestClient}, with real servers and with servers that misbehave.
 */
@Timeout(120)
class TcpTestClientTests {

	private static final Duration SHORT = Duration.ofSeconds(2);

	private LeaderFollowersPool pool;

	@BeforeEach
	void openPool() {
		this.pool = LeaderFollowersPool.builder().name("test").threads(2, 8).build();
	}

	@AfterEach
	void closePool() {
		this.pool.close();
	}

	static Stream<Framing> framings() {
		return Stream.of(Framing.line(), Framing.delimiter("||"), Framing.fixedLength(3), Framing.lengthField(1),
				Framing.lengthField(4).inclusive(true));
	}

	@ParameterizedTest
	@MethodSource("framings")
	void speaksEveryFraming(Framing framing) {
		TcpServer server = start(framing, (connection, message) -> connection.send(message));
		try (TcpTestClient client = LfTestClient.tcp(server.port()).framing(framing).connect()) {
			client.send("abc");
			assertThat(client).receives("abc");
			client.send("def", "ghi", "jkl");
			assertThat(client.receive(2)).containsExactly("def", "ghi");
			assertThat(client).receivesBytes("jkl".getBytes(StandardCharsets.UTF_8)).receivesNothing();
		}
	}

	@Test
	void sendsAndReceivesRawBytes() {
		TcpServer server = start(Framing.line(), (connection, message) -> connection.send(message));
		try (TcpTestClient client = LfTestClient.connect(server.port())) {
			client.sendRaw("hal");
			assertThat(client).receivesNothing();
			client.sendRaw("f\r\nnext\n");
			assertThat(client.receiveRaw(7)).isEqualTo("half\nne".getBytes(StandardCharsets.UTF_8));
			assertThat(client).receives("xt");
		}
	}

	@Test
	void rejectsALargerMessageThanAllowed() {
		TcpServer server = start(Framing.line(), (connection, message) -> connection.send(message));
		try (TcpTestClient client = LfTestClient.tcp(server.port()).maxMessageSize(3).connect()) {
			assertThat(client.exchange("abc")).isEqualTo("abc");
			client.send("abcd");
			assertThatExceptionOfType(AssertionError.class).isThrownBy(client::receive);
		}
	}

	@Test
	void tellsThatTheServerClosed() {
		TcpServer server = start(Framing.line(), (connection, message) -> {
			connection.send(message);
			connection.close();
		});
		try (TcpTestClient client = LfTestClient.connect(server.port())) {
			client.send("a");
			assertThatExceptionOfType(AssertionError.class).isThrownBy(() -> assertThat(client).isClosedByServer())
				.withMessageContaining("but received \"a\"");
			assertThat(client).isClosedByServer();
			assertThatExceptionOfType(AssertionError.class).isThrownBy(client::receive)
				.withMessageContaining("but the server closed the connection");
			assertThatExceptionOfType(AssertionError.class).isThrownBy(() -> assertThat(client).receivesNothing())
				.withMessageContaining("but the server closed the connection");
		}
		assertThat(server).eventually().hasClosedConnections(CloseReason.LOCAL, 1).hasOpenConnections(0);
	}

	@Test
	void tellsOfAMessageThatIsNotWhole() {
		TcpServer server = start(Framing.raw(), (connection, message) -> {
			connection.send(ByteBuffer.wrap("half".getBytes(StandardCharsets.US_ASCII)));
			connection.close();
		});
		try (TcpTestClient client = LfTestClient.connect(server.port())) {
			client.send("a");
			assertThatExceptionOfType(AssertionError.class).isThrownBy(() -> assertThat(client).isClosedByServer())
				.withMessageContaining("after 4 bytes of a message that is not whole: \"half\"");
		}
	}

	@Test
	void tellsThatTheTestClosed() {
		TcpServer server = start(Framing.line(), (connection, message) -> connection.send(message));
		TcpTestClient client = LfTestClient.connect(server.port());
		client.close();
		assertThatExceptionOfType(AssertionError.class).isThrownBy(client::receive)
			.withMessageContaining("or this client was closed by the test");
	}

	@Test
	void closesHalf() {
		TcpServer server = start(Framing.line(), (connection, message) -> connection.send(message));
		try (TcpTestClient client = LfTestClient.connect(server.port())) {
			client.send("a", "b");
			client.shutdownOutput();
			assertThat(client).receives("a", "b").isClosedByServer();
		}
		assertThat(server).eventually().hasClosedConnections(CloseReason.PEER, 1);
	}

	@Test
	void resets() {
		TcpServer server = start(Framing.line(), (connection, message) -> connection.send(message));
		TcpTestClient client = LfTestClient.connect(server.port());
		assertThat(client.exchange("a")).isEqualTo("a");
		client.reset();
		assertThat(server).eventually().hasClosedConnections(CloseReason.IO_ERROR, 1);
	}

	@Test
	void sendsThePrefaceFirst() {
		TcpServer server = start(Framing.line(), (connection, message) -> connection.send(message));
		try (TcpTestClient client = LfTestClient.tcp(server.port())
			.preface("PROXY UNKNOWN\r\n".getBytes(StandardCharsets.US_ASCII))
			.connect()) {
			client.send("a");
			assertThat(client).receives("PROXY UNKNOWN", "a");
		}
	}

	@Test
	void doesNotWaitForEverForAReply() {
		TcpServer server = start(Framing.line(), (connection, message) -> {
		});
		try (TcpTestClient client = LfTestClient.tcp(server.port()).timeout(SHORT).connect()) {
			client.send("a");
			assertThatExceptionOfType(AssertionError.class).isThrownBy(() -> assertThat(client).receives("b"))
				.withMessageContaining("TCP client of port %d".formatted(server.port()))
				.withMessageContaining("within 2s")
				.withMessageContaining("\"b\"")
				.withMessageContaining("but received nothing");
		}
	}

	@Test
	void showsWhatHadArrivedOfAMessage() {
		TcpServer server = start(Framing.raw(), (connection, message) -> connection.send(message));
		// Long enough for the reply to arrive on a busy machine
		try (TcpTestClient client = LfTestClient.tcp(server.port()).timeout(Duration.ofSeconds(10)).connect()) {
			client.sendRaw("abc");
			assertThatExceptionOfType(AssertionError.class).isThrownBy(client::receive)
				.withMessageContaining("received nothing, after 3 bytes of a message that is not whole: \"abc\"");
		}
	}

	@Test
	void showsWhatIsNoMessage() {
		TcpServer server = start(Framing.raw(), (connection, message) -> connection.send(message));
		try (TcpTestClient client = LfTestClient.tcp(server.port())
			.framing(Framing.lengthField(1).inclusive(true))
			.connect()) {
			client.sendRaw((byte) 0, (byte) 0xff);
			assertThatExceptionOfType(AssertionError.class).isThrownBy(client::receiveBytes)
				.withMessageContaining("received what is no message of this framing: 0x00ff");
		}
	}

	@Test
	void doesNotWaitForEverForAServerThatDoesNotRead() throws IOException {
		try (ServerSocket silent = new ServerSocket(0, 1, InetAddress.getLoopbackAddress());
				TcpTestClient client = LfTestClient.tcp(silent.getLocalPort()).timeout(SHORT).connect()) {
			byte[] much = new byte[64 * 1024 * 1024];
			assertThatExceptionOfType(AssertionError.class).isThrownBy(() -> client.sendRaw(much))
				.withMessageContaining("within 2s: the server does not read");
		}
	}

	@Test
	void doesNotWaitForEverForAHandshake() throws IOException {
		try (ServerSocket silent = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
			assertThatExceptionOfType(UncheckedIOException.class)
				.isThrownBy(() -> LfTestClient.tcp(silent.getLocalPort()).timeout(SHORT).tls().connect())
				.withMessageContaining("within 2s");
		}
	}

	@Test
	void tellsThatNobodyListens() throws IOException {
		int port;
		try (ServerSocket closed = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
			port = closed.getLocalPort();
		}
		assertThatExceptionOfType(UncheckedIOException.class).isThrownBy(() -> LfTestClient.connect(port))
			.withMessageContaining(String.valueOf(port))
			.withCauseInstanceOf(ConnectException.class);
	}

	@Test
	void tellsThatItWasReset() throws IOException {
		try (ServerSocket server = new ServerSocket(0, 1, InetAddress.getLoopbackAddress());
				TcpTestClient client = LfTestClient.connect(server.getLocalPort())) {
			try (Socket accepted = server.accept()) {
				accepted.setSoLinger(true, 0);
			}
			assertThat(client).isClosedByServer();
			assertThatExceptionOfType(AssertionError.class).isThrownBy(client::receive)
				.withMessageContaining("closed the connection (java.net.SocketException: Connection reset)");
		}
	}

	@Test
	void mistakesInTheBuilderAreExplained() {
		assertThatIllegalArgumentException().isThrownBy(() -> LfTestClient.tcp(0))
			.withMessageContaining("ask a started server for its port");
		assertThatIllegalArgumentException().isThrownBy(() -> LfTestClient.tcp(1).timeout(Duration.ZERO))
			.withMessageContaining("'timeout' must be positive");
		TcpServer server = start(Framing.line(), (connection, message) -> {
		});
		try (TcpTestClient client = LfTestClient.connect(server.port())) {
			assertThatIllegalStateException().isThrownBy(client::sslSession).withMessageContaining("has no TLS");
			assertThatIllegalArgumentException().isThrownBy(() -> client.send("a\nb"))
				.withMessageContaining("contains the delimiter");
		}
	}

	private TcpServer start(Framing framing, MessageHandler handler) {
		TcpServer server = TcpServer.builder(this.pool).port(0).framing(framing).handler(handler).build();
		server.start();
		return server;
	}

}
