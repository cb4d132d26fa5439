package org.leaderfollowers.process;

import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.leaderfollowers.Connection;
import org.leaderfollowers.Engine;
import org.leaderfollowers.Peer;
import org.leaderfollowers.Server;
import org.leaderfollowers.TcpServer;
import org.leaderfollowers.process.ServerProcess.Baseline;

import static org.assertj.core.api.Assertions.assertThat;

/** The standard output, to which the engine logs, is a pipe that nobody reads. */
@Tag("stress")
@Timeout(300)
@EnabledOnOs(OS.LINUX)
class BlockedOutputTests {

	private static final int MAX_CONNECTIONS = 20;

	/** Its output is blocked before the server starts. */
	private static final class Mute extends LineProgram {

		private final Thread writer = new Thread(() -> {
			while (true) {
				System.out.println("x".repeat(1000));
			}
		});

		@Override
		void configure(TcpServer.Builder builder) {
			builder.maxConnections(MAX_CONNECTIONS);
		}

		@Override
		public Server start() {
			this.writer.setDaemon(true);
			this.writer.start();
			Server server = super.start();
			Runtime.getRuntime().addShutdownHook(new Thread(() -> server.pool().close(Duration.ofSeconds(1))));
			return server;
		}

		@Override
		public void onMessage(Connection connection, ByteBuffer message) throws Exception {
			if (Engine.text(message).equals("fail")) {
				throw new IllegalStateException("made for the test");
			}
			super.onMessage(connection, message);
		}

		@Override
		public void onError(Connection connection, Throwable failure) {
			connection.send(Engine.bytes("failed"));
		}

	}

	@Test
	void leadersServeAllTheSame() {
		List<Peer> peers = new ArrayList<>();
		try (ServerProcess server = ServerProcess.of(Mute.class).blockOutput().start()) {
			Baseline before = server.baseline();
			// Leaders log that connections are rejected.
			for (int i = 0; i < MAX_CONNECTIONS; i++) {
				peers.add(server.connect());
				assertThat(peers.get(i).send("hello\n").readLine()).isEqualTo("hello");
			}
			for (int i = 0; i < 100; i++) {
				server.connect().awaitClosed();
				Peer served = peers.get(i % MAX_CONNECTIONS);
				assertThat(served.send("still\n").readLine()).isEqualTo("still");
			}
			peers.forEach(Peer::close);
			Engine.eventually().until(() -> server.state().openConnections() == 0);
			// Messages that are too large, and failures.
			for (int i = 0; i < 100; i++) {
				server.connect().trySend("x".repeat(100_000)).awaitClosed();
				server.connect().send("fail\n").awaitClosed();
				server.probe();
			}
			// The thread that writes the log waits for the output.
			Engine.eventually()
				.untilAsserted(
						() -> assertThat(server.state().threads()).isLessThanOrEqualTo(before.state().threads() + 1));
			assertThat(server.state().disorder()).isEmpty();
			server.probe();
		}
		finally {
			peers.forEach(Peer::close);
		}
	}

	/** The close has lines to log, because a handler does not return. */
	@Test
	void aProcessIsEndedAllTheSame() throws Exception {
		try (ServerProcess server = ServerProcess.of(Mute.class).blockOutput().start(); Peer peer = server.connect()) {
			peer.send("wait\n");
			Engine.eventually().until(() -> server.ask("waiting").equals(1));
			server.signal("TERM");
			assertThat(server.process().waitFor(Engine.DEADLINE.toSeconds(), TimeUnit.SECONDS)).isTrue();
		}
	}

}
