package org.leaderfollowers.process;

import java.io.IOException;
import java.io.Serializable;
import java.net.InetAddress;
import java.nio.ByteBuffer;
import java.nio.channels.DatagramChannel;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.leaderfollowers.Connection;
import org.leaderfollowers.Engine;
import org.leaderfollowers.Framing;
import org.leaderfollowers.LeaderFollowersPool;
import org.leaderfollowers.MessageHandler;
import org.leaderfollowers.Peer;
import org.leaderfollowers.Server;
import org.leaderfollowers.TcpServer;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * A process that does not return to its baseline is noticed: each kind of leak is made on
 * purpose.
 */
@Timeout(300)
@EnabledOnOs(OS.LINUX)
class BaselineTests {

	/** Leaks something each time it is asked to. */
	private static final class Leaking implements Program, MessageHandler {

		private final List<Object> leaked = new ArrayList<>();

		private final CountDownLatch never = new CountDownLatch(1);

		@Override
		public Server start() {
			LeaderFollowersPool pool = LeaderFollowersPool.builder().threads(2, 8).build();
			TcpServer server = TcpServer.builder(pool)
				.address(InetAddress.getLoopbackAddress())
				.port(0)
				.framing(Framing.line())
				.handler(this)
				.build();
			server.start();
			return server;
		}

		@Override
		public void onMessage(Connection connection, ByteBuffer message) throws InterruptedException {
			if (Engine.text(message).equals("block")) {
				this.never.await();
			}
			connection.send(message);
		}

		@Override
		public Serializable answer(String what) throws IOException {
			switch (what) {
				case "descriptors" -> {
					for (int i = 0; i < 10; i++) {
						this.leaked.add(DatagramChannel.open());
					}
				}
				case "heap" -> this.leaked.add(new byte[8_000_000]);
				case "direct memory" -> this.leaked.add(ByteBuffer.allocateDirect(2_000_000));
				case "threads" -> daemon(() -> Engine.elapse(Duration.ofHours(1)));
				case "processor" -> daemon(() -> {
					while (true) {
						Thread.onSpinWait();
					}
				});
				default -> throw new IllegalArgumentException(what);
			}
			return true;
		}

		private static void daemon(Runnable body) {
			Thread thread = new Thread(body);
			thread.setDaemon(true);
			thread.start();
		}

	}

	@Test
	void whateverIsLeakedIsNoticed() {
		try (ServerProcess server = ServerProcess.of(Leaking.class).start()) {
			ServerProcess.Baseline before = server.baseline();
			server.assertReturnedTo(before);
			for (String what : List.of("descriptors", "heap", "direct memory", "threads")) {
				server.ask(what);
				assertThat(server.deviations(before)).anyMatch((deviation) -> deviation.startsWith(what));
			}
			try (Peer peer = server.connect()) {
				peer.send("block\n");
				Engine.eventually()
					.untilAsserted(() -> assertThat(server.state().disorder()).contains("deactivated handles"));
				assertThat(server.deviations(before)).contains("open connections: 0 at first, 1 now");
			}
			server.ask("processor");
			Engine.eventually().untilAsserted(() -> assertThat(server.idleCpu()).isGreaterThan(Duration.ofMillis(100)));
		}
	}

}
