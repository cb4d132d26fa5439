package org.leaderfollowers;

import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

/**
 * Handlers are told when nothing is received or sent for a while.
 */
@Timeout(120)
class SilenceTests {

	private static final Duration SHORT = Duration.ofMillis(100);

	@RegisterExtension
	final Engine engine = new Engine();

	/** Counts the calls for each connection separately. */
	private static class Listener extends Recorder {

		void idle(Connection connection, EventType type) throws Exception {
		}

		@Override
		public final void onIdle(Connection connection, EventType type) throws Exception {
			record(connection, "idle " + type, () -> idle(connection, type));
		}

		long count(long id, EventType type) {
			return of(id).stream().filter(("idle " + type)::equals).count();
		}

	}

	private TcpServer.Builder builder(MessageHandler handler) {
		return TcpServer.builder(this.engine.pool(2, 4)).framing(Framing.line()).handler(handler);
	}

	@ParameterizedTest
	@EnumSource(value = EventType.class, names = { "READ", "WRITE" })
	void theHandlerIsToldAfterEachPeriodOfSilenceAndNotBefore(EventType type) {
		List<Long> times = new ArrayList<>();
		Listener listener = new Listener() {
			@Override
			void idle(Connection connection, EventType silent) {
				times.add(System.nanoTime());
			}
		};
		Duration period = Duration.ofMillis(200);
		long start = System.nanoTime();
		TcpServer server = this.engine
			.start((type == EventType.READ) ? builder(listener).readIdle(period) : builder(listener).writeIdle(period));
		this.engine.connect(server);
		Engine.eventually().until(() -> listener.count(1, type) >= 4);
		server.close(Duration.ZERO);
		listener.awaitClose(1);
		assertThat(listener.of(1)).startsWith("open", "idle " + type, "idle " + type);
		for (int i = 0; i < times.size(); i++) {
			assertThat(times.get(i) - start).isGreaterThanOrEqualTo(period.toNanos() * (i + 1));
		}
		assertThat(listener.overlapped).isFalse();
	}

	@Test
	void byDefaultTheHandlerIsNeverToldAndNothingIsKeptForIt() {
		Listener listener = new Listener();
		TcpServer server = this.engine.start(builder(listener));
		Peer peer = this.engine.connect(server);
		assertThat(peer.send("x\n").readLine()).isEqualTo("x");
		assertThat(((StreamConnection) listener.await(1)).watch).isNull();
		assertThat(listener.of(1)).containsExactly("open", "x");
	}

	@Test
	void aHeartbeatIsSentWhileNothingElseIs() {
		Listener listener = new Listener() {
			@Override
			void idle(Connection connection, EventType type) {
				connection.send(Engine.bytes("ping"));
			}
		};
		TcpServer server = this.engine.start(builder(listener).writeIdle(SHORT));
		Peer peer = this.engine.connect(server);
		for (int i = 0; i < 5; i++) {
			assertThat(peer.readLine()).isEqualTo("ping");
		}
		assertThat(listener.count(1, EventType.READ)).isZero();
	}

	@Test
	void heartbeatsKeepAConnectionFromTheIdleTimeoutButDoNotCountAsReceived() {
		Listener listener = new Listener() {
			@Override
			void idle(Connection connection, EventType type) {
				if (type == EventType.WRITE) {
					connection.send(Engine.bytes("ping"));
				}
			}
		};
		TcpServer server = this.engine.start(builder(listener).writeIdle(Duration.ofMillis(300))
			.readIdle(Duration.ofMillis(900))
			.idleTimeout(Duration.ofSeconds(3)));
		Peer peer = this.engine.connect(server);
		long start = System.nanoTime();
		while (System.nanoTime() - start < 5_000_000_000L) {
			assertThat(peer.readLine()).isEqualTo("ping");
		}
		assertThat(listener.count(1, EventType.READ)).isPositive();
	}

	@Test
	void aPeerThatSendsIsNotSilentThoughItIsNotAnswered() {
		Listener listener = new Listener() {
			@Override
			void message(Connection connection, ByteBuffer message) {
				// no reply
			}
		};
		TcpServer server = this.engine
			.start(builder(listener).readIdle(Duration.ofSeconds(5)).writeIdle(Duration.ofMillis(300)));
		Peer peer = this.engine.connect(server);
		for (int i = 0; i < 15; i++) {
			Engine.elapse(Duration.ofMillis(400));
			// Part of a message counts as received data.
			peer.send("x");
		}
		assertThat(listener.count(1, EventType.READ)).isZero();
		assertThat(listener.count(1, EventType.WRITE)).isPositive();
	}

	@Test
	void aHandlerMayCloseASilentConnection() {
		Listener listener = new Listener() {
			@Override
			void idle(Connection connection, EventType type) {
				connection.send(Engine.bytes("too silent"));
				connection.close();
			}
		};
		TcpServer server = this.engine.start(builder(listener).readIdle(SHORT).writeIdle(SHORT));
		assertThat(this.engine.connect(server).readTextToEnd()).isEqualTo("too silent\n");
		assertThat(listener.awaitClose(1)).hasSize(3).startsWith("open").endsWith("close LOCAL");
	}

	@Test
	void aHandlerThatFailsClosesTheConnection() {
		Listener listener = new Listener() {
			@Override
			void idle(Connection connection, EventType type) {
				throw new IllegalStateException("as asked for");
			}
		};
		TcpServer server = this.engine.start(builder(listener).readIdle(SHORT));
		this.engine.connect(server).awaitClosed();
		assertThat(listener.awaitClose(1)).containsExactly("open", "idle READ", "error IllegalStateException",
				"close HANDLER_ERROR");
	}

	@Test
	void aConnectionMayHavePeriodsOfItsOwn() {
		Listener listener = new Listener() {
			@Override
			void open(Connection connection) {
				if (connection.id() == 2) {
					connection.idleAfter(EventType.WRITE, SHORT);
				}
			}

			@Override
			void idle(Connection connection, EventType type) {
				connection.send(Engine.bytes("ping"));
			}
		};
		TcpServer server = this.engine.start(builder(listener));
		this.engine.connect(server);
		listener.await(1);
		Peer peer = this.engine.connect(server);
		assertThat(peer.readLine()).isEqualTo("ping");
		assertThat(peer.readLine()).isEqualTo("ping");
		Connection connection = listener.await(2);
		connection.idleAfter(EventType.WRITE, Duration.ZERO);
		Engine.awaitIdle(server.pool());
		long before = listener.count(2, EventType.WRITE);
		Engine.elapse(SHORT.multipliedBy(5));
		assertThat(listener.count(2, EventType.WRITE)).as("one may have been under way").isLessThan(before + 2);
		assertThat(listener.of(1)).containsExactly("open");
	}

	/** The leader waits without a limit, and must be told of the earlier deadline. */
	@Test
	void anotherThreadMaySetThePeriodOfAnIdleConnection() {
		Listener listener = new Listener();
		TcpServer server = this.engine.start(builder(listener).idleTimeout(Duration.ZERO));
		this.engine.connect(server);
		Connection connection = listener.await(1);
		Engine.awaitIdle(server.pool());
		connection.idleAfter(EventType.READ, SHORT);
		Engine.eventually().until(() -> listener.count(1, EventType.READ) >= 2);
	}

	@Test
	void aPeriodOfTheServerCanBeReplacedByALongerOne() {
		Listener listener = new Listener() {
			@Override
			void open(Connection connection) {
				connection.idleAfter(EventType.READ, (connection.id() == 1) ? Duration.ofHours(1) : SHORT);
			}
		};
		TcpServer server = this.engine.start(builder(listener).readIdle(Duration.ofMillis(200)));
		this.engine.connect(server);
		listener.await(1);
		this.engine.connect(server);
		Engine.eventually().until(() -> listener.count(2, EventType.READ) >= 5);
		assertThat(listener.of(1)).containsExactly("open");
	}

	@Test
	void aSuspendedConnectionIsNotSilentSinceNobodyReads() {
		AtomicReference<Suspension> suspension = new AtomicReference<>();
		AtomicInteger pings = new AtomicInteger();
		Listener listener = new Listener() {
			@Override
			void message(Connection connection, ByteBuffer message) {
				suspension.set(connection.suspend());
			}

			@Override
			void idle(Connection connection, EventType type) {
				if (type == EventType.WRITE) {
					pings.incrementAndGet();
				}
			}
		};
		TcpServer server = this.engine.start(builder(listener).readIdle(SHORT).writeIdle(SHORT));
		this.engine.connect(server).send("later\n");
		Engine.eventually().until(() -> suspension.get() != null);
		long before = listener.count(1, EventType.READ);
		int pinged = pings.get();
		Engine.eventually().until(() -> pings.get() > pinged + 5);
		assertThat(listener.count(1, EventType.READ)).isEqualTo(before);
		suspension.get().resume();
		Engine.eventually().until(() -> listener.count(1, EventType.READ) > before);
	}

	@Test
	void theTimeOfAHandlerIsNoSilence() {
		CountDownLatch gate = this.engine.gate();
		Listener listener = new Listener() {
			@Override
			void message(Connection connection, ByteBuffer message) {
				Engine.pass(gate);
			}
		};
		TcpServer server = this.engine.start(builder(listener).readIdle(Duration.ofSeconds(2)));
		Peer peer = this.engine.connect(server).send("block\n");
		Engine.eventually().until(() -> listener.of(1).contains("block"));
		Engine.elapse(Duration.ofMillis(2500));
		long before = listener.count(1, EventType.READ);
		long start = System.nanoTime();
		gate.countDown();
		Engine.eventually().until(() -> listener.count(1, EventType.READ) > before);
		assertThat(System.nanoTime() - start).isGreaterThan(1_800_000_000L);
		assertThat(listener.overlapped).isFalse();
		peer.close();
	}

	@Test
	void whatWaitsForThePeerIsNoSilence() {
		Listener listener = new Listener() {
			@Override
			void message(Connection connection, ByteBuffer message) {
				connection.send(Engine.bytes("x".repeat(8_000_000)));
			}
		};
		TcpServer server = this.engine.start(builder(listener).writeIdle(SHORT).idleTimeout(Duration.ZERO));
		Peer peer = this.engine.connect(server, 4096).send("1\n");
		Connection connection = listener.await(1);
		Engine.eventually().until(() -> connection.pendingBytes() > 0);
		// Another connection proves that the time has passed.
		this.engine.connect(server);
		long before = listener.count(1, EventType.WRITE);
		Engine.eventually().until(() -> listener.count(2, EventType.WRITE) >= 5);
		assertThat(listener.count(1, EventType.WRITE)).isEqualTo(before);
		assertThat(peer.readLine()).hasSize(8_000_000);
		Engine.eventually().until(() -> listener.count(1, EventType.WRITE) > before);
	}

	@ParameterizedTest
	@ValueSource(ints = { 1, 4 })
	void manyConnectionsAreToldWhileOthersWork(int threads) {
		Listener listener = new Listener() {
			@Override
			void idle(Connection connection, EventType type) {
				connection.send(Engine.bytes("ping"));
			}
		};
		TcpServer server = this.engine.start(TcpServer.builder(this.engine.pool(threads, threads))
			.framing(Framing.line())
			.handler(listener)
			.writeIdle(SHORT));
		List<Peer> silent = new ArrayList<>();
		for (int i = 0; i < 50; i++) {
			silent.add(this.engine.connect(server));
		}
		Peer busy = this.engine.connect(server);
		for (int i = 0; i < 1000; i++) {
			busy.send(i + "\n");
			String line = busy.readLine();
			while ("ping".equals(line)) {
				line = busy.readLine();
			}
			assertThat(line).isEqualTo("" + i);
		}
		for (Peer peer : silent) {
			assertThat(peer.readLine()).isEqualTo("ping");
			assertThat(peer.readLine()).isEqualTo("ping");
		}
		assertThat(listener.overlapped).isFalse();
		server.close(Duration.ofSeconds(20));
	}

	@Test
	void aPeriodOfNearlyNothingDoesNotKeepTheLeaderFromItsWork() {
		Listener listener = new Listener();
		TcpServer server = this.engine.start(builder(listener).readIdle(Duration.ofNanos(1)));
		Peer peer = this.engine.connect(server);
		Engine.eventually().until(() -> listener.count(1, EventType.READ) > 10);
		assertThat(peer.send("x\n").readLine()).isEqualTo("x");
		server.close(Duration.ofSeconds(20));
	}

	@Test
	void onlyReadingAndWritingCanBeIdle() {
		Listener listener = new Listener();
		TcpServer server = this.engine.start(builder(listener));
		this.engine.connect(server);
		Connection connection = listener.await(1);
		assertThatIllegalArgumentException().isThrownBy(() -> connection.idleAfter(EventType.ACCEPT, SHORT))
			.withMessage("'type' must be READ or WRITE, but is ACCEPT");
		assertThatIllegalArgumentException()
			.isThrownBy(() -> connection.idleAfter(EventType.READ, Duration.ofMillis(-1)))
			.withMessage("'period' must not be negative, but is PT-0.001S");
		connection.idleAfter(EventType.READ, Duration.ofSeconds(Long.MAX_VALUE));
		server.close();
		connection.idleAfter(EventType.READ, SHORT);
		assertThat(listener.awaitClose(1)).containsExactly("open", "close SHUTDOWN");
	}

}
