package org.leaderfollowers.process;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.StandardSocketOptions;
import java.nio.channels.SocketChannel;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.IntStream;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.leaderfollowers.Engine;
import org.leaderfollowers.Peer;
import org.leaderfollowers.TcpServer;
import org.leaderfollowers.process.ServerProcess.Baseline;

import static org.assertj.core.api.Assertions.assertThat;

/** Much at once, and little at a time. */
@Tag("stress")
@Timeout(600)
@EnabledOnOs(OS.LINUX)
class FloodTests {

	/** Has room for all connections of a flood. */
	private static final class Roomy extends LineProgram {

		@Override
		void configure(TcpServer.Builder builder) {
			builder.backlog(1000).maxConnections(20_000);
		}

	}

	private final ServerProcess server = ServerProcess.of(Roomy.class).start();

	private final Baseline before = this.server.baseline();

	@AfterEach
	void stop() {
		this.server.close();
	}

	@Test
	void tenThousandRequestsInOneWrite() {
		String text = IntStream.range(0, 10_000)
			.mapToObj((i) -> "request " + i + "\n")
			.reduce(new StringBuilder(), StringBuilder::append, StringBuilder::append)
			.toString();
		// More than the peer's window, so that it must read while it writes.
		try (Peer peer = this.server.connect()) {
			Thread writer = new Thread(() -> peer.send(text));
			writer.start();
			for (int i = 0; i < 10_000; i++) {
				assertThat(peer.readLine()).isEqualTo("request " + i);
			}
		}
		this.server.assertReturnedTo(this.before);
	}

	@Test
	void oneByteInEachSegment() {
		byte[] text = "probe\n".repeat(2000).getBytes();
		try (Peer peer = this.server.connect()) {
			for (int i = 0; i < text.length; i++) {
				peer.send(text, i, 1);
			}
			for (int i = 0; i < 2000; i++) {
				assertThat(peer.readLine()).isEqualTo("probe");
			}
		}
		this.server.assertReturnedTo(this.before);
	}

	/** The addresses of each round differ, because the system keeps them for a minute. */
	@Test
	void tenThousandConnectionsOpenedAndClosedTwentyTimes() throws IOException {
		for (int round = 0; round < 20; round++) {
			List<SocketChannel> peers = new ArrayList<>();
			try {
				while (peers.size() < 10_000) {
					peers.add(connect(round));
				}
				Engine.eventually().until(() -> this.server.state().openConnections() == 10_000);
			}
			finally {
				for (SocketChannel peer : peers) {
					peer.close();
				}
			}
			Engine.eventually().until(() -> this.server.state().openConnections() == 0);
		}
		this.server.assertReturnedTo(this.before);
		assertThat(this.server.state().acceptedConnections() - this.before.state().acceptedConnections())
			.isGreaterThanOrEqualTo(200_000);
	}

	@Test
	void aStormOfConnectionsThatCloseAtOnce() throws Exception {
		int threads = 4;
		ExecutorService storm = Executors.newFixedThreadPool(threads);
		try {
			List<Callable<Void>> peers = new ArrayList<>();
			for (int thread = 0; thread < threads; thread++) {
				int network = 100 + thread;
				peers.add(() -> {
					for (int i = 0; i < 25_000; i++) {
						try (SocketChannel peer = connect(network)) {
							if (i % 2 == 0) {
								peer.setOption(StandardSocketOptions.SO_LINGER, 0);
							}
						}
					}
					return null;
				});
			}
			for (Future<Void> peer : storm.invokeAll(peers)) {
				peer.get();
			}
		}
		finally {
			storm.shutdownNow();
		}
		this.server.assertReturnedTo(this.before);
	}

	private SocketChannel connect(int network) throws IOException {
		SocketChannel peer = SocketChannel.open();
		peer.bind(new InetSocketAddress(InetAddress.getByAddress(new byte[] { 127, 0, 2, (byte) network }), 0));
		peer.connect(this.server.address());
		return peer;
	}

}
