package org.leaderfollowers;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.AppenderBase;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.leaderfollowers.internal.logging.EngineLog;
import org.leaderfollowers.internal.logging.FailureLog;
import org.slf4j.LoggerFactory;

import static org.assertj.core.api.Assertions.assertThat;

/** More connections than the server allows. */
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

	/** A client whose reset is logged could otherwise occupy a thread. */
	@Test
	void detailsAboutClientsDoNotWaitForTheLog() {
		CountDownLatch gate = this.engine.gate();
		Logger logger = (Logger) LoggerFactory.getLogger("org.leaderfollowers.engine");
		Level before = logger.getLevel();
		logger.setLevel(Level.DEBUG);
		try {
			whileTheLogBlocks(gate, () -> {
				EngineLog.INSTANCE.debug("Details of {}", "a client");
				assertThat(gate.getCount()).isOne();
				gate.countDown();
				assertThat(this.engine.log()).contains("DEBUG Details of a client");
			});
		}
		finally {
			logger.setLevel(before);
		}
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

}
