package org.leaderfollowers;

import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.channels.SocketChannel;
import java.security.SecureRandom;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BiFunction;

import javax.net.ssl.SSLContext;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.leaderfollowers.internal.buffer.MemoryBudget;
import org.leaderfollowers.internal.promotion.Clock;
import org.leaderfollowers.internal.transport.Certificates;
import org.leaderfollowers.internal.transport.TlsTransport;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

/** Too many TLS handshakes wait in the backlog, and none of them is rejected. */
class HandshakeGateTests {

	@RegisterExtension
	final Engine engine = new Engine();

	private final TestClock clock = new TestClock();

	private final AtomicInteger looks = new AtomicInteger();

	private HandshakeGate gate(ServerTls tls) {
		return new HandshakeGate(tls, this.clock, new ServerWarnings("test", "handler", "pool"),
				this.looks::incrementAndGet);
	}

	private static ServerTls tls() {
		return ServerTls.of(Certificates.server());
	}

	private TcpServer server(ServerTls tls) {
		return builder(tls).build();
	}

	private TcpServer.Builder builder(ServerTls tls) {
		return TcpServer.builder(this.engine.pool(2, 4))
			.address(InetAddress.getLoopbackAddress())
			.port(0)
			.framing(Framing.line())
			.handler((connection, message) -> connection.send(message))
			.tls(tls);
	}

	private static Socket silent(TcpServer server) throws IOException {
		return new Socket(InetAddress.getLoopbackAddress(), server.port());
	}

	private static CompletableFuture<String> ask(TcpServer server) {
		return CompletableFuture.supplyAsync(() -> {
			try (TlsPeer peer = new TlsPeer(Certificates.client(), server.port())) {
				return peer.send("hello\n").readLine();
			}
		}, (task) -> new Thread(task).start());
	}

	private static ServerSnapshot.Tls snapshot(TcpServer server) {
		ServerSnapshot.Tls tls = server.snapshot().tls();
		assertThat(tls).isNotNull();
		return tls;
	}

	@Test
	void oneMoreThanAllowedWaitsUntilAnotherHasEnded() throws Exception {
		TcpServer server = server(tls().maxHandshakes(2));
		server.start();
		try (Socket first = silent(server); Socket second = silent(server)) {
			Engine.eventually().until(() -> snapshot(server).pendingHandshakes() == 2);
			CompletableFuture<String> third = ask(server);
			CompletableFuture<String> fourth = ask(server);
			Engine.eventually().until(() -> snapshot(server).limitReached() > 0);
			assertThat(server.snapshot().acceptedConnections()).isEqualTo(2);
			assertThat(third).isNotDone();
			first.close();
			assertThat(third.get()).isEqualTo("hello");
			assertThat(fourth.get()).isEqualTo("hello");
			assertThat(server.snapshot().rejectedConnections()).isZero();
			assertThat(this.engine.log()).anyMatch((line) -> line.contains("(maxHandshakes)"));
			// An established connection takes no place.
			try (TlsPeer peer = new TlsPeer(Certificates.client(), server.port())) {
				assertThat(peer.send("one\n").readLine()).isEqualTo("one");
				assertThat(ask(server).get()).isEqualTo("hello");
			}
		}
		Engine.eventually().until(() -> snapshot(server).pendingHandshakes() == 0);
		assertThat(snapshot(server).limitReached()).as("the acceptor pauses meanwhile").isLessThan(100);
	}

	@Test
	void aNewConfigurationMayRaiseTheLimit() throws Exception {
		// A handshake that timed out would make room as well.
		TcpServer server = builder(tls().maxHandshakes(1)).handshakeTimeout(Duration.ZERO).build();
		server.start();
		try (Socket first = silent(server)) {
			Engine.eventually().until(() -> snapshot(server).pendingHandshakes() == 1);
			CompletableFuture<String> second = ask(server);
			Engine.eventually().until(() -> snapshot(server).limitReached() > 0);
			server.tls(tls().maxHandshakes(0));
			assertThat(second.get()).isEqualTo("hello");
			assertThat(first.isConnected()).isTrue();
		}
	}

	@Test
	void connectionsThatComeTooFastAreServedLater() throws Exception {
		TcpServer server = server(tls().maxHandshakeRate(1));
		server.pause();
		server.start();
		List<CompletableFuture<String>> answers = new ArrayList<>();
		for (int i = 0; i < 4; i++) {
			answers.add(ask(server));
		}
		server.resume();
		for (CompletableFuture<String> answer : answers) {
			assertThat(answer.get()).isEqualTo("hello");
		}
		assertThat(server.snapshot().rejectedConnections()).isZero();
	}

	@Test
	void aDrainServesTheBacklogInSpiteOfTheLimit() throws Exception {
		TcpServer server = server(tls().maxHandshakes(1));
		server.start();
		try (Socket first = silent(server); Socket second = silent(server)) {
			Engine.eventually().until(() -> snapshot(server).limitReached() > 0);
			assertThat(second.isConnected()).isTrue();
			server.drain(Engine.DEADLINE);
			Engine.eventually().until(() -> server.snapshot().acceptedConnections() == 2);
			assertThat(first.isConnected()).isTrue();
		}
	}

	@Test
	void aSecondsWorthMayBeginAtOnceAndTheRateAfterwards() throws IOException {
		ServerTls tls = tls().maxHandshakeRate(10).maxHandshakes(0);
		HandshakeGate gate = gate(tls);
		assertThat(begun(gate, tls)).isEqualTo(11);
		assertThat(gate.isOpen()).isFalse();
		assertThat(gate.retryNanos() - this.clock.nanoTime()).isEqualTo(Duration.ofMillis(100).toNanos());
		this.clock.advance(Duration.ofMillis(100));
		assertThat(gate.isOpen()).isTrue();
		assertThat(begun(gate, tls)).isOne();
		this.clock.advance(Duration.ofHours(1));
		assertThat(begun(gate, tls)).isEqualTo(11);
		assertThat(gate.limitReached()).isEqualTo(3);
	}

	@Test
	void aRateThatIsLiftedStopsNoHandshakeAnyMore() throws IOException {
		// The time of the system may be negative.
		this.clock.advance(Duration.ofSeconds(-10));
		ServerTls tls = tls().maxHandshakeRate(10).maxHandshakes(0);
		HandshakeGate gate = gate(tls);
		assertThat(begun(gate, tls)).isEqualTo(11);
		gate.limits(tls.maxHandshakeRate(0));
		assertThat(gate.tryPass()).isTrue();
		assertThat(gate.retryNanos()).isEqualTo(EngineEventHandler.NO_DEADLINE);
	}

	/** A paused server has not tried to accept when the time has come. */
	@Test
	void aTimeThatHasPassedIsNoDeadline() throws IOException {
		ServerTls tls = tls().maxHandshakeRate(10).maxHandshakes(0);
		HandshakeGate gate = gate(tls);
		begun(gate, tls);
		this.clock.advance(Duration.ofMillis(99));
		gate.endWaitIfOver();
		assertThat(gate.retryNanos() - this.clock.nanoTime()).isEqualTo(Duration.ofMillis(1).toNanos());
		this.clock.advance(Duration.ofMillis(1));
		gate.endWaitIfOver();
		assertThat(gate.retryNanos()).isEqualTo(EngineEventHandler.NO_DEADLINE);
		assertThat(gate.isOpen()).isTrue();
	}

	/** Begins as many handshakes as the gate allows. */
	private static int begun(HandshakeGate gate, ServerTls tls) throws IOException {
		TlsGenerations generations = new TlsGenerations(tls, new MemoryBudget(1_000_000), gate);
		int begun = 0;
		try (SocketChannel socket = SocketChannel.open()) {
			while (gate.tryPass()) {
				generations.open(socket);
				begun++;
			}
		}
		return begun;
	}

	@Test
	void theEndOfAHandshakeIsCountedOnceAndReportedIfTheGateIsClosed() throws IOException {
		ServerTls tls = tls().maxHandshakes(2).maxHandshakeRate(0);
		HandshakeGate gate = gate(tls);
		TlsGenerations generations = new TlsGenerations(tls, new MemoryBudget(1_000_000), gate);
		try (SocketChannel socket = SocketChannel.open()) {
			TlsTransport first = generations.open(socket);
			TlsTransport second = generations.open(socket);
			generations.established(first);
			assertThat(this.looks).hasValue(0);
			generations.open(socket);
			assertThat(gate.isOpen()).as("nothing has stopped").isTrue();
			assertThat(gate.tryPass()).isFalse();
			generations.closed(first);
			assertThat(gate.underWay()).isEqualTo(2);
			assertThat(this.looks).hasValue(0);
			generations.closed(second);
			assertThat(this.looks).hasValue(1);
			assertThat(gate.isOpen()).isTrue();
			assertThat(gate.tryPass()).isTrue();
		}
	}

	/** Nobody would ever end it. */
	@Test
	void aHandshakeThatCouldNotBeginTakesNoPlace() throws IOException {
		AtomicBoolean isMemoryShort = new AtomicBoolean();
		ServerTls tls = tls().maxHandshakes(1).maxHandshakeRate(1);
		HandshakeGate gate = new HandshakeGate(tls, new Clock() {

			@Override
			public long nanoTime() {
				if (isMemoryShort.get()) {
					throw new OutOfMemoryError("made for the test");
				}
				return 0;
			}

		}, new ServerWarnings("test", "handler", "pool"), this.looks::incrementAndGet);
		TlsGenerations generations = new TlsGenerations(tls, new MemoryBudget(1_000_000), gate);
		try (SocketChannel socket = SocketChannel.open()) {
			isMemoryShort.set(true);
			assertThatExceptionOfType(OutOfMemoryError.class).isThrownBy(() -> generations.open(socket));
		}
		assertThat(gate.underWay()).isZero();
		assertThat(generations.snapshot().openConnections()).isEmpty();
	}

	/** A connection is closed only once. */
	@Test
	void aHandshakeEndsAlthoughItsConnectionCannotBeCounted() throws IOException {
		ServerTls tls = tls().maxHandshakes(1);
		HandshakeGate gate = gate(tls);
		TlsGenerations generations = new TlsGenerations(tls, new MemoryBudget(1_000_000), gate, new TreeMap<>() {

			@Override
			public Integer computeIfPresent(Integer key,
					BiFunction<? super Integer, ? super Integer, ? extends Integer> change) {
				throw new OutOfMemoryError("made for the test");
			}

		});
		try (SocketChannel socket = SocketChannel.open()) {
			TlsTransport transport = generations.open(socket);
			assertThat(gate.tryPass()).isFalse();
			assertThatExceptionOfType(OutOfMemoryError.class).isThrownBy(() -> generations.closed(transport));
		}
		assertThat(gate.underWay()).isZero();
		assertThat(this.looks).hasValue(1);
	}

	/** Nobody would ever close it. */
	@Test
	void aConnectionThatGetsNoEngineIsNotCounted() throws IOException {
		SSLContext context = Certificates.server();
		ServerTls tls = ServerTls.of(context);
		TlsGenerations generations = new TlsGenerations(tls, new MemoryBudget(1_000_000), gate(tls));
		// A context that could not be initialised again creates no engines.
		assertThatIllegalStateException().isThrownBy(() -> context.init(null, null, new SecureRandom() {

			@Override
			public int nextInt() {
				throw new IllegalStateException("made for the test");
			}

		}));
		try (SocketChannel socket = SocketChannel.open()) {
			assertThatIllegalStateException().isThrownBy(() -> generations.open(socket));
		}
		assertThat(generations.snapshot().openConnections()).isEmpty();
		assertThat(generations.snapshot().pendingHandshakes()).isZero();
	}

	@Test
	void limitsThatMakeNoSenseAreRejected() {
		assertThatIllegalArgumentException().isThrownBy(() -> tls().maxHandshakes(-1));
		assertThatIllegalArgumentException().isThrownBy(() -> tls().maxHandshakeRate(-1));
		assertThatIllegalArgumentException().isThrownBy(() -> tls().maxHandshakeRate(1_000_001));
	}

}
