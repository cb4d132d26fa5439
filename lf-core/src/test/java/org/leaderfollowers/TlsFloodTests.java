package org.leaderfollowers;

import java.util.HexFormat;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.leaderfollowers.internal.transport.Certificates;

import static org.assertj.core.api.Assertions.assertThat;

/** Peers that send useless TLS records as fast as they can. */
class TlsFloodTests {

	@RegisterExtension
	final Engine engine = new Engine();

	private final Recorder recorder = new Recorder();

	@ParameterizedTest
	@ValueSource(strings = { "15 0303 0002 0164", "16 0303 0000" })
	void aFloodBeforeTheHandshakeKeepsNobodyWaiting(String record) throws Exception {
		// Either a warning that is ignored, and of which old servers accept any number,
		// or an empty record.
		byte[] one = HexFormat.of().parseHex(record.replace(" ", ""));
		byte[] many = new byte[one.length * 8192];
		for (int i = 0; i < many.length; i++) {
			many[i] = one[i % one.length];
		}
		TcpServer server = this.engine.start(TcpServer.builder(this.engine.pool(2, 4))
			.framing(Framing.line())
			.handler(this.recorder)
			.tls(ServerTls.of(Certificates.server())));
		Peer flooder = this.engine.connect(server);
		CompletableFuture<Void> flood = CompletableFuture.runAsync(() -> {
			while (true) {
				flooder.send(many);
			}
		});
		assertThat(flood).as("the flood ends").failsWithin(Engine.DEADLINE.toSeconds() / 2, TimeUnit.SECONDS);
		Engine.eventually()
			.untilAsserted(() -> assertThat(server.snapshot().closedConnections())
				.containsEntry(CloseReason.HANDSHAKE_FAILED, 1L));
		try (TlsPeer peer = new TlsPeer(Certificates.client(), server.port())) {
			assertThat(peer.send("hello\n").readLine()).isEqualTo("hello");
		}
	}

}
