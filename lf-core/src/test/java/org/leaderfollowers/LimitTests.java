package org.leaderfollowers;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.AppenderBase;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.leaderfollowers.internal.logging.FailureLog;
import org.slf4j.LoggerFactory;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assumptions.assumeThat;

/**
 * More connections than the server allows, and more than the system has descriptors for.
 */
@Timeout(120)
class LimitTests {

	@RegisterExtension
	final Engine engine = new Engine();

	@Test
	void connectionsAboveTheMaximumAreTurnedAwayCountedAndMissedWhenThereIsRoomAgain() {
		TcpServer server = this.engine.start(TcpServer.builder(this.engine.pool(2, 4))
			.framing(Framing.line())
			.maxConnections(10)
			.handler((connection, message) -> connection.send(message)));
		long start = System.nanoTime();
		List<Peer> peers = new ArrayList<>();
		for (int i = 0; i < 10; i++) {
			peers.add(this.engine.connect(server));
			assertThat(peers.get(i).send("x\n").readLine()).isEqualTo("x");
		}
		for (int i = 0; i < 40; i++) {
			this.engine.connect(server).awaitClosed();
		}
		Engine.eventually().until(() -> server.snapshot().rejectedConnections() == 40);
		assertThat(server.snapshot().openConnections()).isEqualTo(10);
		assertThat(server.snapshot().acceptedConnections()).isEqualTo(10);
		// One line, and one more for every ten seconds that the test has taken.
		int periods = (int) (Duration.ofNanos(System.nanoTime() - start).toSeconds() / 10);
		assertThat(this.engine.log()).filteredOn((line) -> line.contains("rejected a connection"))
			.hasSizeBetween(1, 1 + periods);
		peers.forEach((peer) -> assertThat(peer.send("y\n").readLine()).isEqualTo("y"));
		peers.get(3).close();
		Engine.eventually().until(() -> server.snapshot().openConnections() == 9);
		assertThat(this.engine.connect(server).send("z\n").readLine()).isEqualTo("z");
	}

	/** For example, nobody reads the standard output of the process. */
	@ParameterizedTest
	@ValueSource(ints = { 1, 4 })
	void aLogThatBlocksDoesNotStopTheLeader(int threads) {
		CountDownLatch gate = this.engine.gate();
		whileTheLogBlocks(gate, () -> {
			TcpServer server = this.engine.start(TcpServer.builder(this.engine.pool(1, threads))
				.framing(Framing.line())
				.maxConnections(1)
				.handler((connection, message) -> connection.send(message)));
			Peer peer = this.engine.connect(server);
			assertThat(peer.send("x\n").readLine()).isEqualTo("x");
			this.engine.connect(server).awaitClosed();
			assertThat(peer.send("y\n").readLine()).isEqualTo("y");
			gate.countDown();
			assertThat(this.engine.log()).filteredOn((line) -> line.contains("rejected a connection")).hasSize(1);
		});
	}

	/** The thread that reads owns the socket, whether it leads or not. */
	@ParameterizedTest
	@EnumSource
	void aLogThatBlocksDoesNotStopTheThreadThatReadsDatagrams(PromotionPolicy policy) {
		CountDownLatch gate = this.engine.gate();
		CountDownLatch handlers = this.engine.gate();
		AtomicInteger inside = new AtomicInteger();
		LeaderFollowersPool pool = this.engine
			.pool(LeaderFollowersPool.builder().threads(3, 3).promotionPolicy(policy));
		whileTheLogBlocks(gate, () -> {
			UdpServer datagrams = this.engine
				.start(UdpServer.builder(pool).maxInFlight(1).handler((datagram, message) -> {
					inside.incrementAndGet();
					Engine.pass(handlers);
				}));
			TcpServer server = this.engine.lines(pool, Connection::send);
			try (DatagramPeer sender = new DatagramPeer(datagrams)) {
				sender.send("1");
				Engine.eventually().until(() -> inside.get() == 1);
				sender.send("2");
				Engine.eventually().until(() -> datagrams.snapshot().datagrams().limitReached() > 0);
				assertThat(this.engine.connect(server).send("x\n").readLine()).isEqualTo("x");
				handlers.countDown();
				Engine.eventually().until(() -> inside.get() == 2);
			}
			gate.countDown();
			assertThat(this.engine.log()).filteredOn((line) -> line.contains("reads no datagrams")).hasSize(1);
		});
	}

	/** The mark of a thread under way is held while this line is logged. */
	@Test
	void failuresOfTheEngineDoNotWaitForTheLog() {
		CountDownLatch gate = this.engine.gate();
		whileTheLogBlocks(gate, () -> {
			new FailureLog().error("%s has failed", "Something", new IllegalStateException("injected"));
			assertThat(gate.getCount()).isOne();
			gate.countDown();
			assertThat(this.engine.log()).anyMatch((line) -> line.startsWith("ERROR Something has failed"));
		});
	}

	private static void whileTheLogBlocks(CountDownLatch gate, Runnable test) {
		AppenderBase<ILoggingEvent> blocking = new AppenderBase<>() {
			@Override
			protected void append(ILoggingEvent event) {
				Engine.pass(gate);
			}
		};
		Logger logger = (Logger) LoggerFactory.getLogger("org.leaderfollowers.engine");
		blocking.start();
		logger.addAppender(blocking);
		try {
			test.run();
		}
		finally {
			gate.countDown();
			logger.detachAppender(blocking);
		}
	}

	@Test
	@EnabledOnOs(OS.LINUX)
	void aServerWithoutDescriptorsServesWhatIsOpenWithoutSpinningAndRecovers() throws Exception {
		assumeThat(Files.isExecutable(Path.of("/usr/bin/prlimit"))).as("there is prlimit").isTrue();
		int limit = 120;
		Process process = new ProcessBuilder("/usr/bin/prlimit", "--nofile=" + limit,
				Path.of(System.getProperty("java.home"), "bin", "java").toString(), "-Xshare:auto", "-cp",
				System.getProperty("java.class.path"), SuspendedServer.class.getName())
			.redirectErrorStream(true)
			.start();
		LinkedBlockingQueue<String> output = new LinkedBlockingQueue<>();
		List<String> all = new ArrayList<>();
		Thread reader = new Thread(() -> {
			try (BufferedReader lines = new BufferedReader(
					new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8))) {
				for (String line = lines.readLine(); line != null; line = lines.readLine()) {
					output.add(line);
				}
			}
			catch (IOException ex) {
				output.add("reading failed: " + ex);
			}
		});
		reader.start();
		List<Peer> peers = new ArrayList<>();
		try {
			InetSocketAddress address = new InetSocketAddress(InetAddress.getLoopbackAddress(),
					Integer.parseInt(await(output, all, "port ")));
			for (int i = 0; i < limit + 60; i++) {
				peers.add(new Peer(address, 0));
			}
			await(output, all, "suspended");
			Peer served = peers.get(0);
			// The compiler may still be at work in the first of these periods.
			Engine.eventually().untilAsserted(() -> {
				long before = Long.parseLong(ask(served, "cpu"));
				for (int i = 0; i < 20; i++) {
					assertThat(ask(served, "x")).isEqualTo("x");
					Engine.elapse(Duration.ofMillis(100));
				}
				assertThat(Long.parseLong(ask(served, "cpu")) - before).as("CPU ms in two seconds").isLessThan(1000);
			});
			int open = Integer.parseInt(ask(served, "open"));
			assertThat(open).isBetween(20, limit);
			// Those that could not be accepted are accepted one by one, as soon as others
			// leave. There are enough of them that descriptors remain for the files of
			// the class path.
			for (int i = 1; i <= 120; i++) {
				peers.get(i).close();
			}
			for (int i = 121; i < peers.size(); i++) {
				assertThat(ask(peers.get(i), "y")).as("connection %d of %d", i, peers.size()).isEqualTo("y");
			}
			// The last accept found no connection; the accept of the next look does not
			// fail, which ends the suspension.
			Engine.eventually().until(() -> ask(served, "suspended").equals("false"));
			for (int i = 0; i < 20; i++) {
				try (Peer late = new Peer(address, 0)) {
					assertThat(ask(late, "z")).isEqualTo("z");
				}
			}
		}
		finally {
			peers.forEach(Peer::close);
			process.destroy();
			process.waitFor(20, TimeUnit.SECONDS);
			process.destroyForcibly();
			reader.join();
		}
		output.drainTo(all);
		assertThat(all).filteredOn((line) -> line.contains("cannot accept connections now")).as("%s", all).hasSize(1);
	}

	private static String ask(Peer peer, String request) {
		return peer.send(request + "\n").readLine();
	}

	private static String await(LinkedBlockingQueue<String> output, List<String> all, String beginning)
			throws InterruptedException {
		for (;;) {
			String line = output.poll(Engine.DEADLINE.toSeconds(), TimeUnit.SECONDS);
			assertThat(line).as("a line that begins with '%s' after %s", beginning, all).isNotNull();
			all.add(line);
			if (line.startsWith(beginning)) {
				return line.substring(beginning.length());
			}
		}
	}

}
