package org.leaderfollowers;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.WritableByteChannel;
import java.time.Duration;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicLong;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.AppenderBase;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.leaderfollowers.WireLog.Options;
import org.leaderfollowers.internal.logging.WireLogWriter;
import org.leaderfollowers.internal.transport.Certificates;
import org.slf4j.LoggerFactory;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

/**
 * Tests for {@link WireLog}.
 */
@Timeout(180)
class WireLogTests {

	private static final Duration LONG = Duration.ofHours(1);

	private static final Options PAYLOAD = new Options(0, LONG, true, 256, 1_000_000);

	private static final Options MASKED = new Options(0, LONG, false, 256, 1_000_000);

	@RegisterExtension
	private final Engine engine = new Engine();

	private final Logger logger = (Logger) LoggerFactory.getLogger("org.leaderfollowers.wire");

	private final List<String> lines = new CopyOnWriteArrayList<>();

	/** Lines wait while it is not open. */
	private final CountDownLatch gate = new CountDownLatch(1);

	private volatile boolean slow;

	private final AppenderBase<ILoggingEvent> appender = new AppenderBase<>() {

		@Override
		protected void append(ILoggingEvent event) {
			if (WireLogTests.this.slow) {
				Engine.pass(WireLogTests.this.gate);
			}
			WireLogTests.this.lines.add(event.getLevel() + " " + event.getFormattedMessage());
		}

	};

	@BeforeEach
	void listen() {
		this.logger.setAdditive(false);
		this.logger.setLevel(Level.INFO);
		this.appender.start();
		this.logger.addAppender(this.appender);
	}

	@AfterEach
	void end() {
		this.gate.countDown();
		this.logger.detachAppender(this.appender);
		this.logger.setAdditive(true);
		this.logger.setLevel(null);
	}

	private TcpServer echo() {
		return this.engine.lines(this.engine.pool(2, 4), Connection::send);
	}

	/**
	 * Stops the log after a number of lines, and returns the lines of segments without
	 * their times. A peer may have a reply before its line is there.
	 */
	private List<String> stopped(WireLog log, int count) {
		Engine.eventually().until(() -> segments().size() >= count);
		assertThat(log.stop()).isNotNull();
		awaitEnd();
		return segments();
	}

	private void awaitEnd() {
		Engine.eventually().until(() -> this.lines.stream().anyMatch((line) -> line.contains(" has ended, because ")));
	}

	private List<String> segments() {
		return this.lines.stream()
			.filter((line) -> line.startsWith("INFO Connection "))
			.map((line) -> line.replaceFirst(" after [0-9]+\\.[0-9]{6} s ", " "))
			.toList();
	}

	/** Otherwise its thread and its file would remain. */
	@ParameterizedTest
	@ValueSource(booleans = { false, true })
	void endsWithItsServer(boolean hasGrace) {
		TcpServer server = this.engine.lines(this.engine.pool(1, 2), Connection::send);
		server.wireLog().start(PAYLOAD);
		if (hasGrace) {
			server.close(Duration.ZERO);
		}
		else {
			server.close();
		}
		assertThat(server.wireLog().snapshot()).isNull();
	}

	@Test
	void bothDirectionsAreLoggedWithTheirFraming() {
		TcpServer server = echo();
		Peer peer = this.engine.connect(server);
		WireLog.Snapshot started = server.wireLog().start(PAYLOAD);
		assertThat(started.options()).isEqualTo(PAYLOAD);
		assertThat(peer.send("hi\n").readLine()).isEqualTo("hi");
		// A line is counted after it has been logged.
		Engine.eventually().untilAsserted(() -> assertThat(server.wireLog().snapshot()).isNotNull().satisfies((now) -> {
			assertThat(now.segments()).isEqualTo(2);
			assertThat(now.omitted()).isZero();
		}));
		assertThat(stopped(server.wireLog(), 2)).containsExactly(
				"INFO Connection 1 of server 'default' received 3 bytes: 68 69 0a | hi.",
				"INFO Connection 1 of server 'default' sent 3 bytes: 68 69 0a | hi.");
		assertThat(this.lines).first()
			.isEqualTo(
					"INFO Wire log of server 'default' begins: all connections, for 3600.000000 s at most, with payload");
		assertThat(this.lines).last()
			.isEqualTo(
					"INFO Wire log of server 'default' has ended, because it was stopped: 2 segments were logged, 0 were left out");
		assertThat(server.wireLog().snapshot()).isNull();
		assertThat(server.wireLog().stop()).isNull();
		assertThat(peer.send("more\n").readLine()).isEqualTo("more");
		assertThat(segments()).hasSize(2);
	}

	@Test
	void thePayloadIsMaskedUnlessAskedFor() {
		TcpServer server = echo();
		Peer peer = this.engine.connect(server);
		server.wireLog().start(MASKED);
		assertThat(peer.send("secret\n").readLine()).isEqualTo("secret");
		assertThat(stopped(server.wireLog(), 2)).containsExactly(
				"INFO Connection 1 of server 'default' received 7 bytes",
				"INFO Connection 1 of server 'default' sent 7 bytes");
		assertThat(this.lines).first().asString().endsWith("with the payload masked");
		assertThat(this.lines).noneMatch((line) -> line.contains("secret") || line.contains("73 65"));
	}

	@Test
	void bytesOfAPeerCannotForgeALine() {
		TcpServer server = this.engine.start(TcpServer.builder(this.engine.pool(2, 4))
			.framing(Framing.line())
			.handler(Connection::send)
			.name("a\nINFO forged"));
		Peer peer = this.engine.connect(server);
		server.wireLog().start(PAYLOAD);
		assertThat(peer.send("a\r\u001b[2K\u009b\u0085b\\\n").readLine()).isNotNull();
		assertThat(stopped(server.wireLog(), 2)).first()
			.asString()
			.endsWith(": 61 0d 1b 5b 32 4b 9b 85 62 5c 0a | a..[2K..b\\.");
		assertThat(this.lines).noneMatch((line) -> line.chars().anyMatch((c) -> c < ' ' || c > '~'));
	}

	@Test
	void oneConnectionIsLoggedWithoutTheOthers() {
		TcpServer server = echo();
		Peer first = this.engine.connect(server);
		assertThat(first.send("one\n").readLine()).isEqualTo("one");
		Peer second = this.engine.connect(server);
		assertThat(second.send("two\n").readLine()).isEqualTo("two");
		server.wireLog().start(new Options(2, LONG, true, 256, 1_000_000));
		assertThat(first.send("one\n").readLine()).isEqualTo("one");
		assertThat(second.send("two\n").readLine()).isEqualTo("two");
		assertThat(stopped(server.wireLog(), 2)).hasSize(2)
			.allSatisfy((line) -> assertThat(line).contains("Connection 2 ", "| two."));
	}

	@Test
	void bytesThatAreNoMessageAreLoggedToo() {
		TcpServer server = echo();
		Peer peer = this.engine.connect(server);
		server.wireLog().start(PAYLOAD);
		peer.send("half a mess");
		assertThat(stopped(server.wireLog(), 1)).containsExactly(
				"INFO Connection 1 of server 'default' received 11 bytes: 68 61 6c 66 20 61 20 6d 65 73 73 | half a mess");
	}

	@Test
	void onlyTheBeginningOfALongSegmentIsShown() {
		TcpServer server = echo();
		Peer peer = this.engine.connect(server);
		server.wireLog().start(new Options(0, LONG, true, 3, 1_000_000));
		assertThat(peer.send("abcdef\n").readLine()).isEqualTo("abcdef");
		assertThat(stopped(server.wireLog(), 2)).containsExactly(
				"INFO Connection 1 of server 'default' received 7 bytes, which begin with 61 62 63 | abc",
				"INFO Connection 1 of server 'default' sent 7 bytes, which begin with 61 62 63 | abc");
	}

	@Test
	void tlsIsDecrypted() throws Exception {
		TcpServer server = this.engine.start(TcpServer.builder(this.engine.pool(2, 4))
			.framing(Framing.line())
			.handler(Connection::send)
			.tls(ServerTls.of(Certificates.server())));
		server.wireLog().start(PAYLOAD);
		try (TlsPeer peer = new TlsPeer(Certificates.client(), server.port())) {
			assertThat(peer.send("hi\n").readLine()).isEqualTo("hi");
		}
		assertThat(stopped(server.wireLog(), 2)).containsExactly(
				"INFO Connection 1 of server 'default' received 3 bytes: 68 69 0a | hi.",
				"INFO Connection 1 of server 'default' sent 3 bytes: 68 69 0a | hi.");
	}

	@Test
	void whatASlowPeerReadsLaterIsLoggedWhenTheSocketTakesIt() {
		int size = 1 << 22;
		TcpServer server = this.engine.start(TcpServer.builder(this.engine.pool(2, 4))
			.framing(Framing.line())
			.maxOutboundSize(2 * size)
			.sendBufferSize(16 * 1024)
			.handler((connection, message) -> connection.send(ByteBuffer.wrap("x".repeat(size).getBytes()))));
		Peer peer = this.engine.connect(server, 16 * 1024);
		server.wireLog().start(MASKED);
		assertThat(peer.send("go\n").readLine()).hasSize(size);
		Engine.eventually().until(() -> sent() >= size + 1L);
		assertThat(sent()).isEqualTo(size + 1L);
		assertThat(stopped(server.wireLog(), 3)).hasSizeGreaterThan(2);
	}

	private long sent() {
		return segments().stream()
			.filter((line) -> line.contains(" sent "))
			.mapToLong((line) -> Long.parseLong(line.replaceFirst(".* sent ([0-9]+) bytes.*", "$1")))
			.sum();
	}

	@Test
	void theLogEndsWhenItsTimeIsOver() {
		TcpServer server = echo();
		server.wireLog().start(new Options(0, Duration.ofMillis(1), false, 1, 1_000_000));
		awaitEnd();
		assertThat(this.lines).last().asString().contains("because its time is over: 0 segments");
		assertThat(server.wireLog().snapshot()).isNull();
	}

	@Test
	void theLogEndsWhenItsLinesAreTooLong() {
		TcpServer server = echo();
		Peer peer = this.engine.connect(server);
		server.wireLog().start(new Options(0, LONG, false, 1, 100));
		assertThat(peer.send("a\n").readLine()).isEqualTo("a");
		awaitEnd();
		assertThat(segments()).hasSize(1);
		assertThat(this.lines).last()
			.asString()
			.contains("because its lines have reached their maximum size: 1 segments");
		assertThat(server.wireLog().snapshot()).isNull();
	}

	@Test
	void aLogThatBlocksDelaysNobodyAndLeavesSegmentsOut() {
		TcpServer server = this.engine.lines(this.engine.pool(1, 1), Connection::send);
		Peer peer = this.engine.connect(server);
		this.slow = true;
		server.wireLog().start(MASKED);
		for (int i = 0; i < 1000; i++) {
			assertThat(peer.send("a\n").readLine()).isEqualTo("a");
		}
		assertThat(server.wireLog().snapshot()).isNotNull()
			.satisfies((now) -> assertThat(now.omitted()).isBetween(900L, 1000L));
		this.gate.countDown();
		assertThat(stopped(server.wireLog(), 1000)).hasSizeBetween(1000, 1100);
	}

	@Test
	void anotherLogTakesThePlaceOfTheFirst() {
		TcpServer server = echo();
		server.wireLog().start(MASKED);
		server.wireLog().start(PAYLOAD);
		awaitEnd();
		assertThat(server.wireLog().snapshot()).isNotNull()
			.satisfies((now) -> assertThat(now.options()).isEqualTo(PAYLOAD));
	}

	@Test
	void closingTheServerEndsTheLog() {
		TcpServer server = echo();
		server.wireLog().start(MASKED);
		server.close();
		awaitEnd();
		assertThat(server.wireLog().snapshot()).isNull();
	}

	@Test
	void aClientHasALogOfItsOwn() {
		TcpServer server = echo();
		TcpClient client = TcpClient.builder(server.pool())
			.name("there")
			.address(new InetSocketAddress(InetAddress.getLoopbackAddress(), server.port()))
			.framing(Framing.line())
			.correlation(Correlation.inOrder())
			.build();
		client.start();
		client.wireLog().start(PAYLOAD);
		assertThat(Engine.text(client.exchange(Engine.bytes("hi"), Engine.DEADLINE))).isEqualTo("hi");
		Engine.eventually().until(() -> segments().size() == 2);
		client.close();
		awaitEnd();
		// The thread that has sent may be overtaken, but not the time of its line.
		List<String> byTime = this.lines.stream()
			.filter((line) -> line.contains(" after "))
			.sorted(Comparator
				.comparingDouble((line) -> Double.parseDouble(line.replaceFirst(".* after ([0-9.]+) s .*", "$1"))))
			.toList();
		assertThat(byTime).hasSize(2).first().asString().contains(" s sent ");
		assertThat(segments()).containsExactlyInAnyOrder(
				"INFO Connection 1 of client 'there' sent 3 bytes: 68 69 0a | hi.",
				"INFO Connection 1 of client 'there' received 3 bytes: 68 69 0a | hi.");
		assertThat(client.wireLog().snapshot()).isNull();
	}

	@Test
	void aLogThatWouldNotAppearIsNotStarted() {
		this.logger.setLevel(Level.WARN);
		TcpServer server = echo();
		assertThatIllegalStateException().isThrownBy(() -> server.wireLog().start(MASKED))
			.withMessage("The lines would not appear: set the level of the logger 'org.leaderfollowers.wire' to INFO");
		assertThat(server.wireLog().snapshot()).isNull();
	}

	@Test
	void whatMakesNoSenseIsRejected() {
		assertThatIllegalArgumentException().isThrownBy(() -> new Options(0, Duration.ZERO, false, 1, 1))
			.withMessage("'duration' must be more than 0, but is PT0S");
		assertThatIllegalArgumentException().isThrownBy(() -> new Options(0, LONG, false, 0, 1))
			.withMessage("'maxSegmentSize' must be from 1 to 16384, but is 0");
		assertThatIllegalArgumentException().isThrownBy(() -> new Options(-1, LONG, false, 1, 1))
			.withMessageContaining("'connection' must not be negative");
		assertThatIllegalArgumentException().isThrownBy(() -> new Options(0, LONG, false, 1, 0))
			.withMessageContaining("'maxSize' must be at least 1");
	}

	/** Otherwise a busy server would be logged for as long as it is busy. */
	@Test
	void nothingMoreIsTakenAfterTheTimeIsOver() {
		AtomicLong logged = new AtomicLong(-1);
		WireLogWriter writer = new WireLogWriter("the test", new WireLogWriter.Limits(0, 1, false, 1, 1000),
				(ending) -> logged.compareAndSet(-1, ending.segments()));
		writer.received(1, ByteBuffer.allocate(3).position(3), 3);
		writer.run();
		assertThat(logged).hasValue(0);
		assertThat(writer.segments()).isOne();
	}

	@Test
	void linesMayReachTheMaximumSize() {
		WireLogWriter writer = writer(Long.MAX_VALUE);
		writer.received(1, ByteBuffer.allocate(3).position(3), 3);
		writer.stop();
		writer.run();
		String line = this.lines.stream().filter((each) -> each.contains("received 3 bytes")).findFirst().orElseThrow();
		WireLogWriter exact = writer(line.length() - "INFO ".length());
		exact.received(1, ByteBuffer.allocate(3).position(3), 3);
		exact.stop();
		exact.run();
		assertThat(exact.segments()).isOne();
		assertThat(exact.omitted()).isZero();
	}

	private static WireLogWriter writer(long maxSize) {
		return new WireLogWriter("the test", new WireLogWriter.Limits(0, LONG.toNanos(), false, 1, maxSize),
				(ending) -> {
				});
	}

	@Test
	void bytesThatTheSocketDoesNotTakeAreNotLogged() throws IOException {
		WireLogWriter writer = writer(Long.MAX_VALUE);
		try (FullChannel full = new FullChannel()) {
			assertThat(writer.sending(1, full).write(ByteBuffer.allocate(3))).isZero();
		}
		writer.stop();
		writer.run();
		assertThat(writer.segments()).isZero();
	}

	/** The virtual machine would not end while it runs. */
	@Test
	void threadOfALogIsADaemon() {
		TcpServer server = echo();
		server.wireLog().start(MASKED);
		assertThat(Thread.getAllStackTraces().keySet()).filteredOn((thread) -> thread.getName().equals("lf-wire-log"))
			.isNotEmpty()
			.allMatch(Thread::isDaemon);
	}

	/** A channel that has no room. */
	private static final class FullChannel implements WritableByteChannel {

		@Override
		public int write(ByteBuffer source) {
			return 0;
		}

		@Override
		public boolean isOpen() {
			return true;
		}

		@Override
		public void close() {
		}

	}

	@Test
	void segmentWhoseLineWouldBeTooMuchCountsAsLeftOut() {
		WireLogWriter writer = new WireLogWriter("the test", new WireLogWriter.Limits(0, LONG.toNanos(), false, 1, 10),
				(ending) -> {
				});
		writer.received(1, ByteBuffer.allocate(3).position(3), 3);
		writer.run();
		assertThat(writer.segments()).isZero();
		assertThat(writer.omitted()).isOne();
	}

}
