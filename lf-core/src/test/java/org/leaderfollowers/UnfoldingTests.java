package org.leaderfollowers;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;

import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.leaderfollowers.PoolSnapshot.HandleSetSnapshot;
import org.leaderfollowers.internal.promotion.ProcessorTime;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Handle sets unfold and fold while connections are served. The test states how many
 * processors the pool keeps busy; its leaders really do not wait.
 */
@Timeout(180)
class UnfoldingTests {

	private static final int PEERS = 8;

	/**
	 * Enough to keep the leaders busy while the sending thread waits for a processor
	 * between two rounds.
	 */
	private static final int MESSAGES = 200;

	private static final long HANDLER_NANOS = 200_000;

	@RegisterExtension
	private final Engine engine = new Engine();

	/** The part of a processor that each thread keeps busy while it does not wait. */
	private volatile double load;

	private final AtomicBoolean stopped = new AtomicBoolean();

	private final AtomicInteger rounds = new AtomicInteger();

	private final AtomicReference<@Nullable Throwable> failure = new AtomicReference<>();

	private final List<Peer> peers = new ArrayList<>();

	private @Nullable Thread client;

	/** The test sets how fast the processor time passes; only differences count. */
	private final class Told implements ProcessorTime {

		private double nanos;

		private long latest = System.nanoTime();

		@Override
		public synchronized long nanos(Thread thread) {
			long now = System.nanoTime();
			this.nanos += (now - this.latest) * UnfoldingTests.this.load;
			this.latest = now;
			return (long) this.nanos;
		}

		/**
		 * No processor is ever idle: there are no processors beyond those that the pool
		 * uses.
		 */
		@Override
		public long idleNanos() {
			return 1;
		}

	}

	private LeaderFollowersPool pool(int sets) {
		LeaderFollowersPool.Builder builder = LeaderFollowersPool.builder()
			.threads(4, 8)
			.parallelism(2)
			.processorTime(new Told());
		return this.engine.pool((sets != 0) ? builder.handleSets(sets) : builder);
	}

	private TcpServer server(LeaderFollowersPool pool, Duration idleTimeout) {
		return this.engine.start(TcpServer.builder(pool)
			.framing(Framing.line())
			.idleTimeout(idleTimeout)
			.handler((connection, message) -> {
				long end = System.nanoTime() + HANDLER_NANOS;
				while (System.nanoTime() - end < 0) {
					Thread.onSpinWait();
				}
				connection.send(message);
			}));
	}

	/** Keeps the leaders busy, and checks that each message is answered, in order. */
	private void beginLoad(TcpServer server) {
		for (int i = 0; i < PEERS; i++) {
			this.peers.add(this.engine.connect(server));
		}
		this.client = new Thread(() -> {
			try {
				while (!this.stopped.get()) {
					round(this.rounds.getAndIncrement());
				}
			}
			catch (Throwable ex) {
				this.failure.set(ex);
			}
		});
		this.client.start();
	}

	private void round(int round) {
		StringBuilder lines = new StringBuilder();
		for (int i = 0; i < MESSAGES; i++) {
			lines.append(round).append('-').append(i).append('\n');
		}
		this.peers.forEach((peer) -> peer.send(lines.toString()));
		for (Peer peer : this.peers) {
			for (int i = 0; i < MESSAGES; i++) {
				assertThat(peer.readLine()).isEqualTo(round + "-" + i);
			}
		}
	}

	@AfterEach
	void endLoad() throws InterruptedException {
		this.stopped.set(true);
		if (this.client != null) {
			this.client.join();
		}
		assertThat(this.failure.get()).isNull();
	}

	private void awaitRounds(int more) {
		int goal = this.rounds.get() + more;
		Engine.eventually().until(() -> this.failure.get() != null || this.rounds.get() >= goal);
	}

	private PoolSnapshot awaitSets(LeaderFollowersPool pool, int inUse, int resting) {
		Engine.eventually().untilAsserted(() -> {
			List<HandleSetSnapshot> sets = pool.snapshot().handleSets();
			assertThat(sets).filteredOn(HandleSetSnapshot::inUse)
				.hasSize(inUse)
				.allMatch((set) -> set.leader() != null && set.handles() >= PEERS / 2 / inUse);
			assertThat(sets).filteredOn((set) -> !set.inUse())
				.hasSize(resting)
				.allMatch((set) -> set.leader() == null && set.handles() == 0 && set.vacantFor().isZero());
		});
		return pool.snapshot();
	}

	@Test
	void setsUnfoldAndFoldWhileNoMessageIsLostOrOvertaken() throws Exception {
		LeaderFollowersPool pool = pool(0);
		beginLoad(server(pool, Duration.ofMinutes(1)));
		awaitRounds(2);
		assertThat(pool.snapshot().handleSets()).hasSize(1);
		assertThat(pool.snapshot().unfolding()).isEqualTo(new PoolSnapshot.UnfoldingSnapshot(1, 2, 0, null));
		for (int i = 1; i <= 2; i++) {
			this.load = 1.9;
			PoolSnapshot unfolded = awaitSets(pool, 2, 0);
			awaitRounds(2);
			assertThat(unfolded.unfolding().inUse()).isEqualTo(2);
			assertThat(unfolded.unfolding().latest()).satisfies((change) -> {
				assertThat(change.from()).isEqualTo(1);
				assertThat(change.to()).isEqualTo(2);
				assertThat(change.reason()).matches(
						"threads of the pool kept \\d+\\.\\d\\d processors busy, and .* of 1 leader; .* processors were free");
			});
			this.load = 0.1;
			PoolSnapshot folded = awaitSets(pool, 1, 1);
			awaitRounds(2);
			assertThat(folded.unfolding().changes()).isEqualTo(2L * i);
		}
		endLoad();
		PoolSnapshot idle = Engine.awaitIdle(pool);
		long received = (long) this.rounds.get() * PEERS;
		assertThat(idle.handleSets().stream().mapToLong((set) -> set.events().get(EventType.READ)).sum())
			.isGreaterThanOrEqualTo(received / 2);
	}

	@Test
	void connectionsThatHaveMovedTimeOut() throws Exception {
		LeaderFollowersPool pool = pool(0);
		TcpServer server = server(pool, Duration.ofSeconds(6));
		beginLoad(server);
		this.load = 1.9;
		awaitSets(pool, 2, 0);
		endLoad();
		for (Peer peer : this.peers) {
			assertThat(peer.readLine()).isNull();
		}
		Engine.eventually()
			.untilAsserted(() -> assertThat(server.snapshot().closedConnections().get(CloseReason.IDLE_TIMEOUT))
				.isEqualTo(PEERS));
	}

	@Test
	void idleConnectionsKeepTheLeaderOfAFoldedSetAndMoveWithTheirNextMessage() throws Exception {
		LeaderFollowersPool pool = pool(0);
		TcpServer server = server(pool, Duration.ofMinutes(1));
		this.load = 1.9;
		beginLoad(server);
		awaitSets(pool, 2, 0);
		List<Peer> quiet = new ArrayList<>();
		for (int i = 0; i < 8; i++) {
			quiet.add(this.engine.connect(server));
			assertThat(quiet.get(i).send("x\n").readLine()).isEqualTo("x");
		}
		this.load = 0.1;
		Engine.eventually().untilAsserted(() -> {
			assertThat(pool.snapshot().unfolding().inUse()).isOne();
			assertThat(pool.snapshot().handleSets().get(1)).satisfies((set) -> {
				assertThat(set.inUse()).isFalse();
				assertThat(set.handles()).isBetween(3, 5);
				assertThat(set.leader()).isNotNull();
			});
		});
		quiet.forEach((peer) -> assertThat(peer.send("y\n").readLine()).isEqualTo("y"));
		awaitSets(pool, 1, 1);
		quiet.forEach((peer) -> assertThat(peer.send("z\n").readLine()).isEqualTo("z"));
	}

	@Test
	void aChosenNumberOfSetsRemains() throws Exception {
		LeaderFollowersPool pool = pool(2);
		beginLoad(server(pool, Duration.ofMinutes(1)));
		this.load = 0.1;
		awaitRounds(2);
		// Longer than the pool needs to fold.
		Engine.elapse(Duration.ofSeconds(2));
		assertThat(pool.snapshot().unfolding()).isEqualTo(new PoolSnapshot.UnfoldingSnapshot(2, 2, 0, null));
		assertThat(pool.snapshot().handleSets()).hasSize(2).allMatch(HandleSetSnapshot::inUse);
	}

	/**
	 * Only the threads that share are busy, so a second leader would wait as well. All
	 * time passes while a leader waits.
	 */
	@Test
	void setsDoNotUnfoldWhileTheirLeadersWait() {
		TestClock clock = new TestClock();
		LeaderFollowersPool pool = this.engine.pool(LeaderFollowersPool.builder()
			.threads(4, 8)
			.parallelism(4)
			.clock(clock)
			.selectorProvider(new FaultySelectors(() -> {
			}, () -> {
			}).whileWaiting(() -> clock.advance(Duration.ofSeconds(1))))
			.processorTime(new ProcessorTime() {

				@Override
				public long nanos(Thread thread) {
					return clock.nanoTime();
				}

				@Override
				public long idleNanos() {
					return UNKNOWN;
				}

			}));
		TcpServer server = this.engine.lines(pool, Connection::send);
		Peer peer = this.engine.connect(server);
		for (int i = 0; i < 20; i++) {
			assertThat(peer.send("x\n").readLine()).isEqualTo("x");
		}
		assertThat(pool.snapshot().unfolding()).isEqualTo(new PoolSnapshot.UnfoldingSnapshot(1, 4, 0, null));
	}

	@Test
	void noMoreSetsAreUsedThanThereAreThreadsToKeep() {
		LeaderFollowersPool pool = pool(0);
		beginLoad(server(pool, Duration.ofMinutes(1)));
		this.load = 1.9;
		awaitSets(pool, 2, 0);
		pool.resize(1, 8);
		awaitSets(pool, 1, 1);
	}

	@Test
	void aPoolIsClosedWhileItsSetsRest() throws Exception {
		LeaderFollowersPool pool = pool(0);
		beginLoad(server(pool, Duration.ofMinutes(1)));
		this.load = 1.9;
		awaitSets(pool, 2, 0);
		this.load = 0.1;
		awaitSets(pool, 1, 1);
		this.stopped.set(true);
		assertThat(pool.close(Duration.ofSeconds(20))).isTrue();
		// The client may notice later that its connections were closed.
		this.client.join();
		this.failure.set(null);
	}

}
