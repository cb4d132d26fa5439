package org.leaderfollowers;

import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;

import javax.net.ssl.SSLSocket;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.leaderfollowers.internal.transport.Certificates;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Ends of connections that cross something else: replies that are owed or held, a
 * suspension, requests under way. Nobody waits for ever, and no memory is left.
 */
@Timeout(120)
class ClosePathTests {

	@RegisterExtension
	final Engine engine = new Engine();

	private TcpServer.Builder builder(int window, MessageHandler handler) {
		return TcpServer.builder(this.engine.pool(2, 4))
			.framing(Framing.line())
			.maxInFlightPerConnection(window)
			.replyOrder(ReplyOrder.ARRIVAL)
			.handler(handler);
	}

	private static void assertNothingIsLeft(TcpServer server) {
		Engine.eventually().untilAsserted(() -> {
			assertThat(server.snapshot().openConnections()).isZero();
			assertThat(server.pool().snapshot().bufferedBytes()).isZero();
		});
	}

	@ParameterizedTest
	@ValueSource(ints = { 1, 4 })
	void aReplyThatIsOwedIsSentThoughTheInputWasCutOff(int window) throws IOException {
		CountDownLatch gate = this.engine.gate();
		CountDownLatch begun = new CountDownLatch(1);
		Recorder recorder = new Recorder() {
			@Override
			void message(Connection connection, ByteBuffer message) {
				begun.countDown();
				Engine.pass(gate);
				connection.send(message);
			}
		};
		TcpServer server = this.engine.start(builder(window, recorder).tls(ServerTls.of(Certificates.server())));
		try (Socket plain = new Socket(InetAddress.getLoopbackAddress(), server.port())) {
			plain.setSoTimeout((int) Engine.DEADLINE.toMillis());
			SSLSocket socket = (SSLSocket) Certificates.client()
				.getSocketFactory()
				.createSocket(plain, "localhost", server.port(), false);
			socket.getOutputStream().write("hello\nhalf a li".getBytes(StandardCharsets.US_ASCII));
			Engine.pass(begun);
			plain.shutdownOutput();
			gate.countDown();
			assertThat(new String(socket.getInputStream().readAllBytes(), StandardCharsets.US_ASCII))
				.isEqualTo("hello\n");
		}
		assertThat(recorder.awaitClose(1)).containsExactly("open", "hello", "close TRUNCATED");
		assertNothingIsLeft(server);
	}

	@Test
	void aResetReleasesRepliesThatAreHeldThoughAHandlerStillRuns() {
		CountDownLatch gate = this.engine.gate();
		CountDownLatch blocks = new CountDownLatch(1);
		CountDownLatch held = new CountDownLatch(1);
		CompletableFuture<Connection> connection = new CompletableFuture<>();
		TcpServer server = this.engine.start(builder(4, (each, message) -> {
			connection.complete(each);
			if (Engine.text(message).equals("blocks")) {
				blocks.countDown();
				Engine.pass(gate);
			}
			each.send(ByteBuffer.allocate(10_000));
			held.countDown();
		}));
		Peer peer = this.engine.connect(server).send("blocks\nsecond\n");
		// The second message may be handled before the first one has begun.
		Engine.pass(blocks);
		Engine.pass(held);
		assertThat(server.pool().snapshot().bufferedBytes()).isPositive();
		peer.reset();
		Engine.eventually().untilAsserted(() -> assertThat(server.pool().snapshot().bufferedBytes()).isZero());
		assertThat(connection.join().whenClosed()).as("a handler still runs").isNotDone();
		gate.countDown();
		assertThat(connection.join().whenClosed()).succeedsWithin(Engine.DEADLINE).isEqualTo(CloseReason.IO_ERROR);
		assertNothingIsLeft(server);
	}

	@ParameterizedTest
	@ValueSource(ints = { 1, 4 })
	void aConnectionThatIsClosedWhileSuspendedForgetsItsInput(int window) {
		Recorder recorder = new Recorder() {
			@Override
			void message(Connection connection, ByteBuffer message) {
				connection.suspend();
			}
		};
		TcpServer server = this.engine.start(builder(window, recorder));
		Peer peer = this.engine.connect(server).send("first\nsecond\nthi");
		Engine.eventually().until(() -> recorder.of(1).contains("first"));
		recorder.await(1).close();
		assertThat(peer.readTextToEnd()).isEmpty();
		assertThat(recorder.awaitClose(1)).startsWith("open").contains("first").endsWith("close LOCAL");
		assertNothingIsLeft(server);
	}

	/** Ways in which a connection ends while a request of this side is under way. */
	private enum End {

		CLOSE, HALF_CLOSE, RESET, SERVER_CLOSE, POOL_CLOSE;

		void of(Connection connection, Peer peer, TcpServer server) {
			switch (this) {
				case CLOSE -> connection.close();
				case HALF_CLOSE -> peer.shutdownOutput();
				case RESET -> peer.reset();
				case SERVER_CLOSE -> server.close(Duration.ZERO);
				case POOL_CLOSE -> server.pool().close(Duration.ZERO);
			}
		}

	}

	private static long closes(Recorder recorder) {
		return recorder.of(1).stream().filter((call) -> call.startsWith("close ")).count();
	}

	@ParameterizedTest
	@EnumSource
	void aRequestUnderWayIsLostAndItsFutureMayCloseToo(End end) {
		Recorder recorder = new Recorder();
		TcpServer server = this.engine.start(builder(1, recorder).correlation(Correlation.inOrder()));
		Peer peer = this.engine.connect(server);
		Connection connection = recorder.await(1);
		CompletableFuture<Void> closesAgain = connection.whenClosed().thenRun(connection::close);
		CompletableFuture<String> lost = connection.exchangeAsync(Engine.bytes("request"), Engine.DEADLINE)
			.handle((reply, failure) -> {
				connection.close();
				return (closes(recorder) == 0) + " " + failure.getClass().getSimpleName();
			});
		assertThat(peer.readLine()).isEqualTo("request");
		end.of(connection, peer, server);
		assertThat(lost).succeedsWithin(Engine.DEADLINE).isEqualTo("true ExchangeLostException");
		assertThat(closesAgain).succeedsWithin(Engine.DEADLINE);
		assertThat(closes(recorder)).isOne();
		peer.close();
		assertNothingIsLeft(server);
	}

	@ParameterizedTest
	@ValueSource(strings = { "TLSv1.2", "TLSv1.3" })
	void aConnectionThatIsClosedWhenItOpensEndsInOrder(String protocol) {
		Recorder recorder = new Recorder() {
			@Override
			void open(Connection connection) {
				connection.send(Engine.bytes("bye"));
				connection.close();
			}
		};
		TcpServer server = this.engine.start(builder(1, recorder).tls(ServerTls.of(Certificates.server())));
		try (TlsPeer peer = new TlsPeer(Certificates.client(), server.port(), protocol)) {
			assertThat(peer.send("never handled\n").readLine()).isEqualTo("bye");
			assertThat(peer.readLine()).as("announced").isNull();
		}
		assertThat(recorder.awaitClose(1)).isEqualTo(List.of("open", "close LOCAL"));
		assertNothingIsLeft(server);
	}

}
