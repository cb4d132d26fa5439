package org.leaderfollowers;

import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Collectors;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Leases in the whole engine, when no thread is left to watch them, and when there is
 * nothing to watch.
 */
@Timeout(120)
class LeaseTests {

	@RegisterExtension
	final Engine engine = new Engine();

	/**
	 * Sends messages until the engine has learned, in every handle set, that a handler is
	 * short.
	 */
	private void learn(LeaderFollowersPool pool, List<Peer> peers) {
		Engine.eventually().until(() -> {
			long before = eager(pool);
			for (int i = 0; i < 100; i++) {
				for (Peer peer : peers) {
					assertThat(peer.send("x\n").readLine()).isEqualTo("x");
				}
			}
			return eager(pool) == before;
		});
	}

	private static long eager(LeaderFollowersPool pool) {
		return pool.snapshot().promotions().values().stream().mapToLong(Long::longValue).sum();
	}

	@Test
	void aShortHandlerThatBlocksForGoodDoesNotKeepTheLastThreadFromItsHandleSet() {
		LeaderFollowersPool pool = this.engine.pool(LeaderFollowersPool.builder().threads(2, 2).handleSets(2));
		CountDownLatch gate = this.engine.gate();
		AtomicInteger inside = new AtomicInteger();
		TcpServer server = this.engine.lines(pool, (connection, message) -> {
			if (message.get(message.position()) == 'b') {
				inside.incrementAndGet();
				Engine.pass(gate);
			}
			connection.send(message);
		});
		// Connections are dealt to the handle sets in turn.
		List<Peer> peers = List.of(this.engine.connect(server), this.engine.connect(server),
				this.engine.connect(server), this.engine.connect(server));
		learn(pool, peers);
		peers.get(0).send("b\n");
		Engine.eventually().until(() -> inside.get() == 1);
		for (int i = 0; i < 20; i++) {
			for (Peer peer : peers.subList(1, 4)) {
				assertThat(peer.send("x\n").readLine()).isEqualTo("x");
			}
		}
		assertThat(inside).hasValue(1);
		gate.countDown();
		assertThat(peers.get(0).readLine()).isEqualTo("b");
	}

	@Test
	void whoeverTakesOverToCloseTheServerSendsWhatTheHandlerHadAnswered() throws Exception {
		LeaderFollowersPool pool = this.engine.pool(1, 1);
		CountDownLatch gate = this.engine.gate();
		TcpServer server = this.engine.lines(pool, (connection, message) -> {
			connection.send(message);
			if (message.get(message.position()) == 'b') {
				Engine.pass(gate);
			}
		});
		Peer peer = this.engine.connect(server);
		for (int i = 0; i < 2000; i++) {
			assertThat(peer.send("x\n").readLine()).isEqualTo("x");
		}
		// The reply to the first message waits for the reply to the second one.
		peer.send("b1\n2\n");
		Thread closing = new Thread(() -> server.close(Engine.DEADLINE));
		closing.start();
		assertThat(peer.readLine()).isEqualTo("b1");
		gate.countDown();
		assertThat(peer.readLine()).isEqualTo("2");
		closing.join();
	}

	/**
	 * The thread that takes over looks for such replies at that moment only. Here, the
	 * framing encodes the reply until then.
	 */
	@Test
	void aReplyThatIsGatheredWhenTheLeaseHasEndedIsSentAtOnce() {
		LeaderFollowersPool pool = this.engine.pool(LeaderFollowersPool.builder().threads(2, 2).handleSets(1));
		Semaphore returns = new Semaphore(0);
		SlowFraming framing = new SlowFraming();
		TcpServer server = this.engine.start(TcpServer.builder(pool).framing(framing).handler((connection, message) -> {
			connection.send(message);
			if (message.get(message.position()) == 'b') {
				assertThat(returns.tryAcquire(Engine.DEADLINE.toSeconds(), TimeUnit.SECONDS)).isTrue();
			}
		}));
		Peer peer = this.engine.connect(server);
		while (!framing.outlastsALease) {
			for (int i = 0; i < 2000; i++) {
				assertThat(peer.send("x\n").readLine()).isEqualTo("x");
			}
			// The reply to the first message could wait for the reply to the second one.
			peer.send("b1\n2\n");
			assertThat(peer.readLine()).isEqualTo("b1");
			returns.release();
			assertThat(peer.readLine()).isEqualTo("2");
		}
	}

	/**
	 * Lines. If a thread encodes one that begins with "b" under a lease, the lease ends.
	 */
	private static final class SlowFraming implements Framing {

		private final Framing lines = Framing.line();

		private volatile boolean outlastsALease;

		@Override
		public boolean decode(ByteBuffer input, Frame frame) {
			return this.lines.decode(input, frame);
		}

		@Override
		public void encode(ByteBuffer payload, ByteBuffer output) {
			Participant me = Participant.current();
			if (me != null && payload.get(payload.position()) == 'b' && me.isOnLease()) {
				long deadline = System.nanoTime() + Engine.DEADLINE.toNanos();
				while (me.isOnLease() && System.nanoTime() - deadline < 0) {
					Thread.onSpinWait();
				}
				this.outlastsALease = true;
			}
			this.lines.encode(payload, output);
		}

		@Override
		public int maxFrameLength(int payloadLength) {
			return this.lines.maxFrameLength(payloadLength);
		}

	}

	@Test
	void aServerWithoutTrafficUsesNoProcessor() {
		LeaderFollowersPool pool = this.engine.pool(3, 3);
		TcpServer server = this.engine.lines(pool, Connection::send);
		Peer peer = this.engine.connect(server);
		for (int i = 0; i < 2000; i++) {
			assertThat(peer.send("x\n").readLine()).isEqualTo("x");
		}
		Engine.awaitIdle(pool);
		ThreadMXBean beans = ManagementFactory.getThreadMXBean();
		// Counted, not timed: a thread that ticks every two milliseconds waits 500 times.
		Engine.eventually().until(() -> {
			long wakeUps = pool.snapshot().wakeUps();
			Map<Long, Long> before = waits(pool, beans);
			Engine.elapse(Duration.ofSeconds(1));
			Map<Long, Long> after = waits(pool, beans);
			long ticks = after.keySet().stream().mapToLong((id) -> after.get(id) - before.getOrDefault(id, 0L)).sum();
			return ticks <= 10 && pool.snapshot().wakeUps() == wakeUps;
		});
		long before = processorNanos(pool, beans);
		Engine.elapse(Duration.ofSeconds(1));
		assertThat(processorNanos(pool, beans) - before).isLessThan(Duration.ofMillis(100).toNanos());
	}

	private static Map<Long, Long> waits(LeaderFollowersPool pool, ThreadMXBean beans) {
		return pool.living()
			.stream()
			.map((participant) -> beans.getThreadInfo(participant.thread().getId()))
			.collect(Collectors.toMap((info) -> info.getThreadId(), (info) -> info.getWaitedCount()));
	}

	private static long processorNanos(LeaderFollowersPool pool, ThreadMXBean beans) {
		return pool.living()
			.stream()
			.mapToLong((participant) -> beans.getThreadCpuTime(participant.thread().getId()))
			.sum();
	}

}
