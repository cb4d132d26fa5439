package org.leaderfollowers;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Stream;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.leaderfollowers.internal.promotion.Followers;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests which thread is promoted. To know which threads wait, and since when, a test only
 * continues when the thread in question is parked among the followers: by then, it is
 * visible as waiting. The handlers block, so that no thread is awake that could take the
 * leadership before the promoted one does.
 */
@Timeout(120)
class PromotionOrderTests {

	@RegisterExtension
	final Engine engine = new Engine();

	private final List<String> servedBy = new CopyOnWriteArrayList<>();

	private final List<CompletableFuture<Boolean>> joined = new ArrayList<>();

	private LeaderFollowersPool pool(PromotionOrder order, int min, int max, Duration keepAlive, int priority) {
		return pool(order, PromotionPolicy.EAGER, min, max, keepAlive, priority);
	}

	private LeaderFollowersPool pool(PromotionOrder order, PromotionPolicy policy, int min, int max, Duration keepAlive,
			int priority) {
		LeaderFollowersPool pool = this.engine.pool(LeaderFollowersPool.builder()
			.threads(min, max)
			.handleSets(1)
			.keepAlive(keepAlive)
			.threadPriority(priority)
			.promotionPolicy(policy)
			.promotionOrder(order));
		assertThat(pool.snapshot().promotionOrder()).isEqualTo(order);
		return pool;
	}

	/** Blocks a thread for each message "block", in the order in which they are sent. */
	private TcpServer blocking(LeaderFollowersPool pool, CountDownLatch gate) {
		return this.engine.lines(pool, (connection, message) -> {
			if (Engine.text(message).equals("block")) {
				this.servedBy.add(Thread.currentThread().getName());
				Engine.pass(gate);
			}
			connection.send(message);
		});
	}

	/** Connections that are in the handle set, so that a message is the next event. */
	private List<Peer> peers(TcpServer server, int count) {
		List<Peer> peers = new ArrayList<>();
		for (int i = 0; i < count; i++) {
			Peer peer = this.engine.connect(server);
			assertThat(peer.send("hello\n").readLine()).isEqualTo("hello");
			peers.add(peer);
		}
		return peers;
	}

	private Thread join(LeaderFollowersPool pool, String name, int priority) {
		CompletableFuture<Boolean> result = new CompletableFuture<>();
		Thread thread = new Thread(() -> {
			try {
				result.complete(pool.join(Engine.DEADLINE));
			}
			catch (Throwable ex) {
				result.completeExceptionally(ex);
			}
		}, name);
		thread.setDaemon(true);
		thread.setPriority(priority);
		thread.start();
		this.joined.add(result);
		Engine.eventually().until(() -> isParkedAmongFollowers(thread));
		return thread;
	}

	private static boolean isParkedAmongFollowers(Thread thread) {
		return LockSupport.getBlocker(thread) instanceof Followers;
	}

	private static List<Thread> parked(LeaderFollowersPool pool) {
		List<String> names = Engine.threadsOf(pool);
		return Thread.getAllStackTraces()
			.keySet()
			.stream()
			.filter((thread) -> names.contains(thread.getName()) && isParkedAmongFollowers(thread))
			.toList();
	}

	private void blockOneAfterTheOther(List<Peer> peers) {
		for (Peer peer : peers) {
			int count = this.servedBy.size() + 1;
			peer.send("block\n");
			Engine.eventually().until(() -> this.servedBy.size() == count);
		}
	}

	@ParameterizedTest
	@CsvSource({ "LIFO, D C B A", "FIFO, A B C D", "PRIORITY, B C A D" })
	void followersArePromotedInOrder(PromotionOrder order, String expected) throws Exception {
		CountDownLatch gate = this.engine.gate();
		LeaderFollowersPool pool = pool(order, 1, 1, Duration.ofMinutes(1), Thread.NORM_PRIORITY);
		List<Peer> peers = peers(blocking(pool, gate), 5);
		String leader = Engine.awaitIdle(pool).handleSets().get(0).leader();
		join(pool, "A", 5);
		join(pool, "B", 8);
		join(pool, "C", 5);
		join(pool, "D", 2);
		blockOneAfterTheOther(peers);
		assertThat(String.join(" ", this.servedBy)).isEqualTo(leader + " " + expected);
		gate.countDown();
		for (Peer peer : peers) {
			assertThat(peer.readLine()).isEqualTo("block");
		}
		assertThat(pool.close(Engine.DEADLINE)).isTrue();
		for (CompletableFuture<Boolean> one : this.joined) {
			assertThat(one.get(30, TimeUnit.SECONDS)).as("the pool was closed").isTrue();
		}
	}

	@Test
	void thePoolsOwnThreadsWaitWithThePrioritySetForThem() {
		CountDownLatch gate = this.engine.gate();
		LeaderFollowersPool pool = pool(PromotionOrder.PRIORITY, 2, 2, Duration.ofMinutes(1), 6);
		List<Peer> peers = peers(blocking(pool, gate), 4);
		String leader = Engine.awaitIdle(pool).handleSets().get(0).leader();
		Engine.eventually().until(() -> parked(pool).size() == 1);
		String follower = parked(pool).get(0).getName();
		join(pool, "high", 9);
		join(pool, "low", 5);
		blockOneAfterTheOther(peers);
		assertThat(this.servedBy).containsExactly(leader, "high", follower, "low");
		gate.countDown();
		assertThat(pool.close(Engine.DEADLINE)).isTrue();
	}

	@ParameterizedTest
	@CsvSource({ "LIFO, 2", "FIFO, 3", "PRIORITY, 2" })
	void workIsSpreadOverAllThreadsByFifoOnly(PromotionOrder order, int threads) {
		LeaderFollowersPool pool = pool(order, 3, 3, Duration.ofMinutes(1), Thread.NORM_PRIORITY);
		TcpServer server = this.engine.lines(pool, (connection, message) -> {
			String me = Thread.currentThread().getName();
			this.servedBy.add(me);
			// Otherwise the thread could be faster than the one that it has just
			// promoted.
			Engine.eventually().until(() -> {
				String leader = pool.snapshot().handleSets().get(0).leader();
				return leader != null && !leader.equals(me);
			});
			connection.send(message);
		});
		Peer peer = this.engine.connect(server);
		for (int i = 0; i < 12; i++) {
			Engine.awaitIdle(pool);
			Engine.eventually().until(() -> parked(pool).size() == 2);
			assertThat(peer.send("x\n").readLine()).isEqualTo("x");
		}
		// With the stack, a thread that has found a vacancy by itself keeps its old
		// place, so the first few may come in any order.
		List<String> settled = this.servedBy.subList(3, 12);
		assertThat(new HashSet<>(settled)).hasSize(threads);
		for (int i = threads; i < settled.size(); i++) {
			assertThat(settled.get(i)).as("%s", settled).isEqualTo(settled.get(i - threads));
		}
	}

	@ParameterizedTest
	@EnumSource
	void surplusThreadsExpire(PromotionOrder order) {
		LeaderFollowersPool pool = pool(order, 1, 4, Duration.ofMillis(50), Thread.NORM_PRIORITY);
		for (int round = 0; round < 2; round++) {
			this.servedBy.clear();
			CountDownLatch gate = this.engine.gate();
			TcpServer server = blocking(pool, gate);
			for (int i = 1; i <= 4; i++) {
				int count = i;
				this.engine.connect(server).send("block\n");
				Engine.eventually().until(() -> this.servedBy.size() == count);
			}
			assertThat(new HashSet<>(this.servedBy)).hasSize(4);
			gate.countDown();
			Engine.eventually().until(() -> pool.snapshot().threads().size() == 1);
			assertThat(peers(server, 1)).hasSize(1);
			server.close(Engine.DEADLINE);
		}
	}

	static Stream<Arguments> ordersAndPolicies() {
		return Arrays.stream(PromotionOrder.values())
			.flatMap((order) -> Arrays.stream(PromotionPolicy.values()).map((policy) -> Arguments.of(order, policy)));
	}

	@ParameterizedTest
	@MethodSource("ordersAndPolicies")
	void joinedThreadsComeAndGoUnderLoad(PromotionOrder order, PromotionPolicy policy) throws Exception {
		LeaderFollowersPool pool = pool(order, policy, 1, 3, Duration.ofMillis(1), Thread.NORM_PRIORITY);
		TcpServer server = this.engine.lines(pool, (connection, message) -> connection.send(message));
		AtomicBoolean over = new AtomicBoolean();
		AtomicInteger joins = new AtomicInteger();
		List<CompletableFuture<Void>> busy = new ArrayList<>();
		for (int priority = 4; priority <= 6; priority++) {
			busy.add(run("joins", priority, () -> {
				while (!over.get()) {
					assertThat(pool.join(Duration.ofNanos(1 + joins.get() % 8 * 200_000))).isFalse();
					joins.incrementAndGet();
				}
			}));
		}
		List<CompletableFuture<Void>> clients = new ArrayList<>();
		for (int i = 0; i < 4; i++) {
			Peer peer = this.engine.connect(server);
			clients.add(run("client", Thread.NORM_PRIORITY, () -> {
				for (int message = 0; message < 500 || joins.get() < 500; message++) {
					assertThat(peer.send(message + "\n").readLine()).isEqualTo("" + message);
				}
			}));
		}
		for (CompletableFuture<Void> client : clients) {
			client.get(60, TimeUnit.SECONDS);
		}
		over.set(true);
		for (CompletableFuture<Void> one : busy) {
			one.get(30, TimeUnit.SECONDS);
		}
		Engine.eventually().until(() -> pool.snapshot().threads().size() == 1);
	}

	private static CompletableFuture<Void> run(String name, int priority, Runnable task) {
		CompletableFuture<Void> result = new CompletableFuture<>();
		Thread thread = new Thread(() -> {
			try {
				task.run();
				result.complete(null);
			}
			catch (Throwable ex) {
				result.completeExceptionally(ex);
			}
		}, name);
		thread.setDaemon(true);
		thread.setPriority(priority);
		thread.start();
		return result;
	}

}
