package org.leaderfollowers;

import java.io.IOException;
import java.nio.channels.Pipe;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.leaderfollowers.PoolSnapshot.HandleSetSnapshot;
import org.leaderfollowers.PoolSnapshot.ThreadSnapshot;

import static org.assertj.core.api.Assertions.assertThat;

/** Tests the snapshots of a pool. */
@Timeout(180)
class PoolLookTests {

	@RegisterExtension
	private final Engine engine = new Engine();

	private static void assertThatItAgrees(PoolSnapshot snapshot) {
		Set<String> leaders = new HashSet<>();
		for (HandleSetSnapshot set : snapshot.handleSets()) {
			if (set.leader() != null) {
				assertThat(leaders.add(set.leader())).as("%s", snapshot).isTrue();
				assertThat(set.vacantFor()).as("%s", snapshot).isZero();
			}
			else if (set.inUse()) {
				assertThat(set.vacantFor()).as("%s", snapshot).isPositive();
			}
			assertThat(set.ready()).as("%s", snapshot).isNotNegative();
		}
		assertThat(snapshot.threads()).as("%s", snapshot)
			.filteredOn((thread) -> thread.role() == ThreadRole.LEADER)
			.extracting(ThreadSnapshot::name)
			.containsExactlyInAnyOrderElementsOf(leaders);
		assertThat(snapshot.threads()).as("%s", snapshot).extracting(ThreadSnapshot::name).doesNotHaveDuplicates();
	}

	@ParameterizedTest
	@EnumSource
	void whenEveryThreadIsBlockedNoneLeads(PromotionPolicy policy) {
		LeaderFollowersPool pool = this.engine
			.pool(LeaderFollowersPool.builder().threads(2, 2).handleSets(1).promotionPolicy(policy));
		CountDownLatch gate = this.engine.gate();
		TcpServer server = this.engine.start(TcpServer.builder(pool)
			.name("orders")
			.framing(Framing.line())
			.handlerName("shop")
			.handler((connection, message) -> {
				if (message.get(message.position()) == 'b') {
					Engine.pass(gate);
				}
				connection.send(message);
			}));
		Peer first = this.engine.connect(server);
		Peer second = this.engine.connect(server);
		// Both handlers are known to be short, so the second thread usually blocks as the
		// leader.
		for (int i = 0; i < 300; i++) {
			assertThat(first.send("x\n").readLine()).isEqualTo("x");
			assertThat(second.send("x\n").readLine()).isEqualTo("x");
		}
		first.send("b\n");
		second.send("b\n");
		Engine.eventually().untilAsserted(() -> {
			PoolSnapshot snapshot = pool.snapshot();
			assertThatItAgrees(snapshot);
			assertThat(snapshot.count(ThreadRole.PROCESSING)).isEqualTo(2);
			assertThat(snapshot.threads()).allSatisfy((thread) -> {
				assertThat(thread.server()).isEqualTo("orders");
				assertThat(thread.handler()).isEqualTo("shop");
				assertThat(thread.handle()).matches("Connection [12] of server 'orders'");
			});
			assertThat(snapshot.handleSets()).singleElement().satisfies((set) -> {
				assertThat(set.leader()).isNull();
				assertThat(set.vacantFor()).isGreaterThan(Duration.ofMillis(20));
			});
			assertThat(snapshot.starvedFor()).isPositive();
		});
		gate.countDown();
		// A leader ends the starvation a moment after it has begun to lead.
		Engine.eventually().untilAsserted(() -> {
			PoolSnapshot idle = Engine.awaitIdle(pool);
			assertThatItAgrees(idle);
			assertThat(idle.starvedFor()).isZero();
		});
		assertThat(first.readLine()).isEqualTo("b");
		assertThat(second.readLine()).isEqualTo("b");
	}

	@ParameterizedTest
	@EnumSource
	void rolesAndLeadersOfOneSnapshotAgree(PromotionPolicy policy) throws InterruptedException {
		LeaderFollowersPool pool = this.engine
			.pool(LeaderFollowersPool.builder().threads(4, 8).handleSets(2).promotionPolicy(policy));
		TcpServer server = this.engine.lines(pool, Connection::send);
		AtomicBoolean stop = new AtomicBoolean();
		List<Thread> threads = new ArrayList<>();
		for (int i = 0; i < 3; i++) {
			Peer peer = this.engine.connect(server);
			Thread thread = new Thread(() -> {
				while (!stop.get()) {
					peer.send("x\n").readLine();
				}
			});
			threads.add(thread);
			thread.start();
		}
		threads.add(new Thread(() -> {
			while (!stop.get()) {
				pool.join(Duration.ofMillis(1));
			}
		}));
		threads.get(threads.size() - 1).start();
		try {
			for (int i = 0; i < 3000; i++) {
				assertThatItAgrees(pool.snapshot());
			}
		}
		finally {
			stop.set(true);
			for (Thread thread : threads) {
				thread.join();
			}
		}
	}

	@Test
	void aThreadThatHasJoinedIsSeenToLead() throws InterruptedException {
		LeaderFollowersPool pool = this.engine
			.pool(LeaderFollowersPool.builder().threads(1, 1).promotionPolicy(PromotionPolicy.EAGER));
		CountDownLatch gate = this.engine.gate();
		CountDownLatch inside = new CountDownLatch(1);
		TcpServer server = this.engine.lines(pool, (connection, message) -> {
			inside.countDown();
			Engine.pass(gate);
		});
		this.engine.connect(server).send("x\n");
		Engine.pass(inside);
		Thread joined = new Thread(() -> pool.join(Duration.ofMinutes(1)), "guest");
		joined.start();
		Engine.eventually().untilAsserted(() -> {
			PoolSnapshot snapshot = pool.snapshot();
			assertThatItAgrees(snapshot);
			assertThat(snapshot.handleSets().get(0).leader()).isEqualTo("guest");
		});
		gate.countDown();
		pool.close();
		joined.join();
	}

	@Test
	void countsTheHandlesThatHaveFiredAndWait() throws IOException {
		LeaderFollowersPool pool = this.engine.pool(1, 1);
		CountDownLatch first = this.engine.gate();
		CountDownLatch second = this.engine.gate();
		AtomicInteger inside = new AtomicInteger();
		TcpServer server = this.engine.lines(pool, (connection, message) -> {
			inside.incrementAndGet();
			Engine.pass(first);
		});
		Peer blocker = this.engine.connect(server);
		// A pipe can be read as soon as it has been written to. The bytes of a socket may
		// still be on their way.
		List<Pipe> others = List.of(Pipe.open(), Pipe.open(), Pipe.open());
		for (Pipe other : others) {
			other.source().configureBlocking(false);
			pool.register(other.source(), (handle, type) -> {
				inside.incrementAndGet();
				Engine.pass(second);
				handle.close();
			}, EventType.READ);
		}
		// The port, the connection and the pipes.
		Engine.eventually().until(() -> pool.snapshot().handleSets().get(0).active() == 5);
		blocker.send("b\n");
		Engine.eventually().until(() -> inside.get() == 1);
		for (Pipe other : others) {
			other.sink().write(Engine.bytes("b"));
		}
		first.countDown();
		Engine.eventually().until(() -> inside.get() == 2);
		Engine.eventually().untilAsserted(() -> assertThat(pool.snapshot().handleSets().get(0).ready()).isEqualTo(2));
		second.countDown();
		assertThat(Engine.awaitIdle(pool).handleSets().get(0).ready()).isZero();
		for (Pipe other : others) {
			other.sink().close();
		}
	}

	@Test
	void tellsWhenItWasTaken() {
		Instant before = Instant.now();
		PoolSnapshot snapshot = this.engine.pool(1, 1).snapshot();
		assertThat(snapshot.time()).isBetween(before, Instant.now());
		assertThat(snapshot.vacancies()).isEqualTo(new LatencySnapshot(0, Duration.ZERO, Duration.ZERO, List.of()));
	}

}
