package org.leaderfollowers;

import java.io.FilterOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;

import javax.net.ssl.SSLSocket;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.leaderfollowers.internal.proxy.ProxyHeaders;
import org.leaderfollowers.internal.transport.Certificates;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIOException;

/**
 * TLS that a load balancer passes through, behind the header of the PROXY protocol.
 */
@Timeout(120)
class ProxyProtocolTlsTests {

	private static final byte[] V1 = ProxyHeaders.v1("PROXY TCP4 203.0.113.9 198.51.100.1 40000 443");

	private static final byte[] V2 = ProxyHeaders.v2Ipv4(ProxyHeaders.tlv(4, new byte[300]));

	@RegisterExtension
	final Engine engine = new Engine();

	private final Recorder recorder = new Recorder() {
		@Override
		void message(Connection connection, ByteBuffer message) {
			connection.send(Engine
				.bytes(connection.remoteAddress() + " " + connection.transportAddress() + " " + Engine.text(message)));
		}
	};

	private TcpServer start(Duration handshakeTimeout) {
		return this.engine.start(TcpServer.builder(this.engine.pool(2, 4))
			.framing(Framing.line())
			.handler(this.recorder)
			.tls(ServerTls.of(Certificates.server()))
			.handshakeTimeout(handshakeTimeout)
			.proxyProtocol(TrustedNetworks.of("127.0.0.1")));
	}

	/** Sends something in front of the first bytes, in one piece with them. */
	private static final class PrefixedSocket extends Socket {

		private final byte[] prefix;

		private final int apart;

		private boolean sent;

		/**
		 * Creates the socket.
		 * @param prefix what to send first
		 * @param apart how many bytes of it go before the rest
		 */
		PrefixedSocket(byte[] prefix, int apart) {
			this.prefix = prefix;
			this.apart = apart;
		}

		@Override
		public OutputStream getOutputStream() throws IOException {
			return new FilterOutputStream(super.getOutputStream()) {
				@Override
				public void write(byte[] bytes, int offset, int length) throws IOException {
					byte[] first = new byte[0];
					if (!PrefixedSocket.this.sent) {
						PrefixedSocket.this.sent = true;
						this.out.write(PrefixedSocket.this.prefix, 0, PrefixedSocket.this.apart);
						first = Arrays.copyOfRange(PrefixedSocket.this.prefix, PrefixedSocket.this.apart,
								PrefixedSocket.this.prefix.length);
					}
					this.out.write(ProxyHeaders.join(first, Arrays.copyOfRange(bytes, offset, offset + length)));
				}
			};
		}

	}

	private static String exchange(TcpServer server, byte[] header, int apart, String protocol, String request)
			throws IOException {
		try (Socket plain = new PrefixedSocket(header, apart)) {
			plain.setSoTimeout((int) Engine.DEADLINE.toMillis());
			plain.setTcpNoDelay(true);
			plain.connect(new InetSocketAddress(InetAddress.getLoopbackAddress(), server.port()));
			String own = "/127.0.0.1:" + plain.getLocalPort();
			try (SSLSocket socket = (SSLSocket) Certificates.client()
				.getSocketFactory()
				.createSocket(plain, "localhost", server.port(), true)) {
				socket.setEnabledProtocols(new String[] { protocol });
				socket.getOutputStream().write((request + "\n").getBytes(StandardCharsets.ISO_8859_1));
				String expected = "/203.0.113.9:40000 " + own + " " + request + "\n";
				return new String(socket.getInputStream().readNBytes(expected.length()), StandardCharsets.ISO_8859_1)
					.replace(own, "own");
			}
		}
	}

	@ParameterizedTest
	@ValueSource(strings = { "TLSv1.2", "TLSv1.3" })
	void theHeaderComesBeforeTheHandshake(String protocol) throws IOException {
		TcpServer server = start(Engine.DEADLINE);
		for (byte[] header : List.of(V1, V2)) {
			for (int apart : new int[] { 0, 1, 16, header.length - 1, header.length }) {
				assertThat(exchange(server, header, apart, protocol, "hello"))
					.isEqualTo("/203.0.113.9:40000 own hello\n");
			}
		}
		assertThat(this.engine.log()).isEmpty();
	}

	@Test
	void aHandshakeWithoutAHeaderIsRefusedAndTheLogSaysSo() {
		TcpServer server = start(Engine.DEADLINE);
		try (TlsPeer peer = new TlsPeer(Certificates.client(), server.port())) {
			assertThatIOException().isThrownBy(peer::shakeHands);
		}
		Engine.eventually()
			.untilAsserted(() -> assertThat(server.snapshot().closedConnections())
				.containsEntry(CloseReason.HANDSHAKE_FAILED, 1L));
		assertThat(this.recorder.connections).isEmpty();
		assertThat(this.engine.log()).singleElement().asString().contains("the connection begins with TLS");
	}

	@Test
	void oneTimeoutBoundsHeaderAndHandshakeTogether() {
		TcpServer server = start(Duration.ofMillis(700));
		this.engine.connect(server).send(V1).awaitClosed();
		this.engine.connect(server).send(V2, 0, 20).awaitClosed();
		Engine.eventually()
			.untilAsserted(() -> assertThat(server.snapshot().closedConnections())
				.containsEntry(CloseReason.HANDSHAKE_TIMEOUT, 2L));
		assertThat(this.recorder.connections).isEmpty();
	}

	@Test
	void healthChecksThatDoNotSpeakTlsAreNotLogged() {
		TcpServer server = start(Engine.DEADLINE);
		this.engine.connect(server).close();
		this.engine.connect(server).reset();
		this.engine.connect(server).send(ProxyHeaders.v2Local()).close();
		this.engine.connect(server).send(ProxyHeaders.v2Local()).reset();
		Engine.eventually()
			.until(() -> server.snapshot().acceptedConnections() == 4 && server.snapshot().openConnections() == 0);
		assertThat(this.recorder.connections).isEmpty();
		assertThat(this.engine.log()).isEmpty();
	}

}
