package org.leaderfollowers.process;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.leaderfollowers.CloseReason;
import org.leaderfollowers.Engine;
import org.leaderfollowers.Peer;
import org.leaderfollowers.TcpServer;
import org.leaderfollowers.process.ServerProcess.Baseline;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Peers that send a byte now and then, do not read, or have vanished. They are closed in
 * time, for the right reason, and others are served meanwhile.
 */
@Tag("stress")
@Timeout(300)
@EnabledOnOs(OS.LINUX)
class SlowPeerTests {

	private static final int PEERS = 200;

	private static final class Impatient extends LineProgram {

		@Override
		void configure(TcpServer.Builder builder) {
			// No minimum rates: only timeouts end slow peers.
			builder.messageTimeout(Duration.ofSeconds(4))
				.writeTimeout(Duration.ofSeconds(4))
				.idleTimeout(Duration.ofSeconds(4))
				.minReadRate(0)
				.minWriteRate(0);
		}

	}

	private static final class ImpatientTls extends LineProgram.Tls {

		@Override
		void configure(TcpServer.Builder builder) {
			super.configure(builder);
			builder.handshakeTimeout(Duration.ofSeconds(4));
		}

	}

	private final ScheduledExecutorService clock = Executors.newSingleThreadScheduledExecutor();

	private final List<Peer> peers = new ArrayList<>();

	private ServerProcess server;

	private Baseline before;

	private void start(Class<? extends Program> program) {
		this.server = ServerProcess.of(program).start();
		this.before = this.server.baseline();
	}

	private void connect(int receiveBuffer) {
		for (int i = 0; i < PEERS; i++) {
			this.peers.add(this.server.connect(receiveBuffer));
		}
	}

	@AfterEach
	void stop() {
		this.clock.shutdownNow();
		this.peers.forEach(Peer::close);
		this.server.close();
	}

	/** Each sends one byte a second, and does not care whether it was closed. */
	private void trickle(byte[] bytes) {
		int[] next = new int[1];
		this.clock.scheduleAtFixedRate(() -> {
			for (Peer peer : this.peers) {
				try {
					peer.send(bytes, next[0] % bytes.length, 1);
				}
				catch (RuntimeException ex) {
					// closed
				}
			}
			next[0]++;
		}, 0, 1, TimeUnit.SECONDS);
	}

	private void assertClosedFor(CloseReason reason) {
		Engine.eventually().pollInterval(Duration.ofMillis(100)).untilAsserted(() -> {
			this.server.probe();
			assertThat(this.server.state().closedConnections()).containsEntry(reason, (long) PEERS);
		});
		this.server.assertReturnedTo(this.before);
	}

	@Test
	void aByteASecond() {
		start(Impatient.class);
		connect(0);
		trickle("x".repeat(1000).getBytes());
		assertClosedFor(CloseReason.MESSAGE_TIMEOUT);
	}

	@Test
	void aByteASecondOfTheTlsHandshake() {
		start(ImpatientTls.class);
		connect(0);
		// The beginning of a large record
		trickle(new byte[] { 22, 3, 1, 0x40, 0, 1, 0, 0x3f, 0, 3, 3, 0, 0, 0, 0, 0, 0, 0, 0 });
		assertClosedFor(CloseReason.HANDSHAKE_TIMEOUT);
	}

	@Test
	void noByteIsRead() {
		start(Impatient.class);
		connect(4096);
		// Together they would need more memory than there is.
		this.peers.forEach((peer) -> peer.send("large\nlarge\n"));
		Engine.eventually().until(() -> this.server.state().bufferedBytes() > 0);
		Engine.eventually().pollInterval(Duration.ofMillis(100)).untilAsserted(() -> {
			this.server.probe();
			assertThat(this.server.state().openConnections()).isZero();
		});
		// The others were closed before, because memory was short.
		assertThat(this.server.state().closedConnections()).containsKey(CloseReason.WRITE_TIMEOUT)
			.doesNotContainKey(CloseReason.IDLE_TIMEOUT);
		this.server.assertReturnedTo(this.before);
	}

	/** They never answer, not even the end of the server's output. */
	@Test
	void peersThatHaveVanished() {
		start(Impatient.class);
		connect(0);
		assertClosedFor(CloseReason.IDLE_TIMEOUT);
	}

}
