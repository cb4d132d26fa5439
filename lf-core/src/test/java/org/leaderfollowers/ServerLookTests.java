package org.leaderfollowers;

import java.net.InetAddress;
import java.time.Duration;
import java.time.Instant;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicBoolean;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

import static org.assertj.core.api.Assertions.assertThat;

/** Tests the snapshots of a server. */
@Timeout(180)
class ServerLookTests {

	@RegisterExtension
	private final Engine engine = new Engine();

	/** A pool whose selectors refuse to register a handle while the flag is set. */
	private LeaderFollowersPool poolThatRefuses(AtomicBoolean refuses) {
		StackWalker walker = StackWalker.getInstance();
		return this.engine.pool(LeaderFollowersPool.builder().threads(2, 2).selectorProvider(new FaultySelectors(() -> {
			boolean registers = walker
				.walk((frames) -> frames.anyMatch((frame) -> frame.getMethodName().equals("register")));
			if (registers && refuses.get()) {
				throw new IllegalStateException("no\nroom");
			}
		}, () -> {
		})));
	}

	@Test
	void aServerWhoseSocketFailsDoesNotListen() {
		AtomicBoolean refuses = new AtomicBoolean(true);
		LeaderFollowersPool pool = poolThatRefuses(refuses);
		TcpServer deaf = this.engine.lines(pool, Connection::send);
		Engine.eventually().untilAsserted(() -> assertThat(deaf.snapshot().listening()).isFalse());
		assertThat(deaf.snapshot().listeningFailure()).isEqualTo("IllegalStateException: no?room");
		assertThat(deaf.snapshot().state()).isEqualTo(ServerSnapshot.State.RUNNING);
		Engine.eventually()
			.untilAsserted(() -> assertThat(this.engine.log())
				.anyMatch((line) -> line.startsWith("ERROR Server 'default' no longer listens")));
		refuses.set(false);
		TcpServer other = this.engine.lines(pool, Connection::send);
		assertThat(this.engine.connect(other).send("x\n").readLine()).isEqualTo("x");
		assertThat(other.snapshot().listening()).isTrue();
		assertThat(other.snapshot().listeningFailure()).isNull();
		// It can still be closed, at once.
		assertThat(deaf.close(Duration.ofSeconds(30))).isTrue();
	}

	@Test
	void whateverItIsNamedWhatIsLoggedIsOneLine() {
		String name = "x\nERROR forged \u001b[2J\u2028\u202e" + "n".repeat(10_000);
		this.engine.start(TcpServer.builder(poolThatRefuses(new AtomicBoolean(true)))
			.name(name)
			.framing(Framing.line())
			.handler(Connection::send));
		TcpServer full = this.engine.start(TcpServer.builder(this.engine.pool(2, 4))
			.name(name)
			.maxConnections(1)
			.framing(Framing.line())
			.handler(Connection::send));
		this.engine.connect(full);
		this.engine.connect(full).awaitClosed();
		Engine.eventually()
			.untilAsserted(() -> assertThat(this.engine.log())
				.anyMatch((line) -> line.startsWith("ERROR Server 'x?ERROR forged ?[2J??n"))
				.anyMatch((line) -> line.startsWith("WARN Server 'x?ERROR forged ?[2J??n")));
		assertThat(this.engine.log())
			.noneMatch((line) -> line.lines().skip(1).anyMatch((rest) -> rest.contains("ERROR forged")));
	}

	@Test
	void aServerOfDatagramsWhoseSocketFailsDoesNotListen() {
		AtomicBoolean refuses = new AtomicBoolean(true);
		LeaderFollowersPool pool = poolThatRefuses(refuses);
		UdpServer deaf = this.engine.start(UdpServer.builder(pool).handler(Connection::send));
		Engine.eventually().untilAsserted(() -> assertThat(deaf.snapshot().listening()).isFalse());
		assertThat(deaf.snapshot().listeningFailure()).isEqualTo("IllegalStateException: no?room");
		refuses.set(false);
		assertThat(deaf.close(Duration.ofSeconds(30))).isTrue();
	}

	@Test
	void aServerThatIsClosedHasNotFailed() {
		LeaderFollowersPool pool = this.engine.pool(2, 2);
		TcpServer server = TcpServer.builder(pool)
			.address(InetAddress.getLoopbackAddress())
			.port(0)
			.framing(Framing.line())
			.handler(Connection::send)
			.maxConnections(7)
			.build();
		assertThat(server.snapshot().startedAt()).isNull();
		assertThat(server.snapshot().listening()).isTrue();
		Instant before = Instant.now();
		server.start();
		assertThat(server.snapshot().startedAt()).isBetween(before, Instant.now());
		assertThat(server.snapshot().maxConnections()).isEqualTo(7);
		server.pause();
		assertThat(server.snapshot().listening()).isTrue();
		server.close();
		assertThat(server.snapshot().listening()).isTrue();
		assertThat(server.snapshot().listeningFailure()).isNull();
	}

	@ParameterizedTest
	@EnumSource
	void timesTheHandlerForEachMessage(PromotionPolicy policy) {
		LeaderFollowersPool pool = this.engine
			.pool(LeaderFollowersPool.builder().threads(2, 4).promotionPolicy(policy));
		TcpServer server = this.engine.lines(pool, (connection, message) -> {
			if (message.get(message.position()) == 'l') {
				Engine.elapse(Duration.ofMillis(30));
			}
			connection.send(message);
			if (message.get(message.position()) == 'f') {
				throw new IllegalStateException("failed");
			}
		});
		Peer peer = this.engine.connect(server);
		// Several messages at once: one takes long, and one fails.
		for (String line : peer.send("a\nb\nlong\nc\nfailing\n").readTextToEnd().split("\n")) {
			assertThat(line).isIn("a", "b", "long", "c", "failing");
		}
		LatencySnapshot handling = server.snapshot().handling();
		assertThat(handling.count()).isEqualTo(5).isEqualTo(server.snapshot().receivedMessages());
		assertThat(handling.max()).isGreaterThanOrEqualTo(Duration.ofMillis(30));
		assertThat(handling.total()).isGreaterThanOrEqualTo(handling.max());
		assertThat(handling.percentile(100)).isEqualTo(handling.max());
		// The long message is not counted in the times of the others. Which of the others
		// had to wait for a processor depends on the machine.
		assertThat(handling.buckets().get(0).upTo()).isLessThan(handling.max());
	}

	@ParameterizedTest
	@EnumSource
	void timesTheHandlerForEachDatagram(PromotionPolicy policy) {
		LeaderFollowersPool pool = this.engine
			.pool(LeaderFollowersPool.builder().threads(2, 4).promotionPolicy(policy));
		CountDownLatch gate = this.engine.gate();
		CountDownLatch inside = this.engine.gate();
		UdpServer server = this.engine.start(UdpServer.builder(pool).maxInFlight(99).handler((datagram, message) -> {
			if (message.get(message.position()) == 'l') {
				inside.countDown();
				Engine.pass(gate);
			}
			datagram.send(message);
		}));
		try (DatagramPeer peer = new DatagramPeer(server)) {
			peer.ask("x");
			peer.send("long");
			Engine.pass(inside);
			Engine.elapse(Duration.ofMillis(30));
			gate.countDown();
			Engine.eventually()
				.untilAsserted(() -> assertThat(server.snapshot().handling().max())
					.isGreaterThanOrEqualTo(Duration.ofMillis(10)));
		}
		Engine.awaitIdle(pool);
		assertThat(server.snapshot().handling().count()).isEqualTo(server.snapshot().receivedMessages());
		assertThat(server.snapshot().datagrams().maxInFlight()).isEqualTo(99);
		assertThat(server.snapshot().startedAt()).isNotNull();
	}

}
