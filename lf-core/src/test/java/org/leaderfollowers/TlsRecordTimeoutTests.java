package org.leaderfollowers;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.time.Duration;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.leaderfollowers.internal.transport.Certificates;
import org.leaderfollowers.internal.transport.ClientEngine;

import static org.assertj.core.api.Assertions.assertThat;

/** An incomplete TLS record counts as an incomplete message: it takes memory. */
class TlsRecordTimeoutTests {

	@RegisterExtension
	final Engine engine = new Engine();

	private final Recorder recorder = new Recorder();

	private static Socket shakeHands(ClientEngine client, int port) throws IOException {
		Socket socket = new Socket();
		socket.setReceiveBufferSize(4096);
		socket.connect(new InetSocketAddress(InetAddress.getLoopbackAddress(), port));
		socket.setSoTimeout((int) Engine.DEADLINE.toMillis());
		client.begin();
		OutputStream output = socket.getOutputStream();
		InputStream input = socket.getInputStream();
		byte[] buffer = new byte[16 * 1024];
		output.write(client.speak());
		while (client.isHandshaking()) {
			int count = input.read(buffer);
			assertThat(count).isPositive();
			client.hear(ByteBuffer.wrap(buffer, 0, count));
			byte[] flight = client.speak();
			while (flight.length > 0) {
				output.write(flight);
				// The bytes that the client could not read before it had sent something.
				client.hear(ByteBuffer.allocate(0));
				flight = client.speak();
			}
		}
		return socket;
	}

	@ParameterizedTest
	@ValueSource(strings = { "PT0S", "PT1H" })
	void aRecordThatIsNotCompletedIsAMessageThatIsNotCompleted(Duration readIdle) throws IOException {
		TcpServer server = this.engine.start(TcpServer.builder(this.engine.pool(2, 4))
			.framing(Framing.line())
			.handler(this.recorder)
			.readIdle(readIdle)
			.messageTimeout(Duration.ofMillis(200))
			.tls(ServerTls.of(Certificates.server())));
		ClientEngine client = new ClientEngine(Certificates.client(), "TLSv1.3");
		try (Socket socket = shakeHands(client, server.port())) {
			socket.getOutputStream().write(client.say("hello\n"));
			Engine.eventually().until(() -> this.recorder.of(1).contains("hello"));
			byte[] record = client.say("never complete\n");
			socket.getOutputStream().write(record, 0, record.length - 1);
			assertThat(this.recorder.awaitClose(1)).containsExactly("open", "hello", "close MESSAGE_TIMEOUT");
		}
	}

	/**
	 * The peer reads nothing and requests a key update. The server cannot answer it, and
	 * reads on only afterwards. The peer could otherwise keep the beginning of a message
	 * for ever.
	 */
	@Test
	void aPeerThatDoesNotReadItsKeyUpdateGetsNoMoreTimeForItsMessage() throws IOException {
		Recorder pushing = new Recorder() {
			@Override
			void message(Connection connection, ByteBuffer message) {
				ByteBuffer reply = ByteBuffer.allocate(16 * 1024);
				while (connection.pendingBytes() < 100_000) {
					connection.send(reply.clear());
				}
			}
		};
		TcpServer server = this.engine.start(TcpServer.builder(this.engine.pool(2, 4))
			.framing(Framing.line())
			.handler(pushing)
			.sendBufferSize(16 * 1024)
			.messageTimeout(Duration.ofMillis(200))
			.writeTimeout(Duration.ZERO)
			.tls(ServerTls.of(Certificates.server())));
		ClientEngine client = new ClientEngine(Certificates.client(), "TLSv1.3");
		try (Socket socket = shakeHands(client, server.port())) {
			socket.getOutputStream().write(client.say("push\n"));
			Engine.eventually().until(() -> pushing.of(1).contains("push"));
			socket.getOutputStream().write(client.say("never complete"));
			client.begin();
			socket.getOutputStream().write(client.speak());
			Engine.eventually().until(() -> !pushing.connections.get(1L).isOpen());
		}
		assertThat(pushing.awaitClose(1)).hasSize(3).startsWith("open", "push");
	}

}
