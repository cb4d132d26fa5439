package org.leaderfollowers.process;

import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.leaderfollowers.Connection;
import org.leaderfollowers.DatagramPeer;
import org.leaderfollowers.Engine;
import org.leaderfollowers.process.ServerProcess.Baseline;

import static org.assertj.core.api.Assertions.assertThat;

/** Floods of datagrams: proper ones, empty ones, and some that are too large. */
@Tag("stress")
@Timeout(300)
@EnabledOnOs(OS.LINUX)
class DatagramFaultTests {

	private static final Duration FLOOD = Duration.ofSeconds(4);

	/** Sends each datagram back, and fails for some. */
	private static final class Datagrams extends DatagramProgram {

		@Override
		public void onMessage(Connection datagram, ByteBuffer message) {
			if (Engine.text(message).startsWith("fail")) {
				throw new NoClassDefFoundError("made for the test");
			}
			super.onMessage(datagram, message);
		}

	}

	private static Void flood(ServerProcess server, byte[] datagram) {
		try (DatagramPeer peer = new DatagramPeer(server.address())) {
			long end = System.nanoTime() + FLOOD.toNanos();
			while (System.nanoTime() - end < 0) {
				peer.send(datagram);
			}
		}
		return null;
	}

	@Test
	void othersAreServedDuringAFlood() throws Exception {
		ExecutorService floods = Executors.newCachedThreadPool();
		try (ServerProcess server = ServerProcess.of(Datagrams.class).start()) {
			Baseline before = server.baseline();
			List<Future<Void>> all = new ArrayList<>();
			for (byte[] datagram : List.of(new byte[0], new byte[1], new byte[1001], new byte[60_000],
					"fail".getBytes())) {
				all.add(floods.submit(() -> flood(server, datagram)));
			}
			while (!all.stream().allMatch(Future::isDone)) {
				// The system drops many datagrams, so the probe asks again.
				server.probe();
			}
			for (Future<Void> flood : all) {
				flood.get(Engine.DEADLINE.toSeconds(), TimeUnit.SECONDS);
			}
			assertThat((long) server.ask("truncated")).isPositive();
			server.assertReturnedTo(before);
			assertThat(server.output().lines().count()).as("lines of the log").isLessThan(1000);
		}
		finally {
			floods.shutdownNow();
		}
	}

}
