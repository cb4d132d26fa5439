package org.leaderfollowers;

import java.nio.ByteBuffer;
import java.nio.channels.Pipe;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

/**
 * Threads of the application that take part in a pool, for a while.
 */
@Timeout(120)
class JoinTests {

	@RegisterExtension
	final Engine engine = new Engine();

	private static CompletableFuture<Boolean> join(LeaderFollowersPool pool, Duration timeout) {
		CompletableFuture<Boolean> result = new CompletableFuture<>();
		Thread thread = new Thread(() -> {
			try {
				result.complete(pool.join(timeout));
			}
			catch (Throwable ex) {
				result.completeExceptionally(ex);
			}
		}, "joined");
		thread.setDaemon(true);
		thread.start();
		return result;
	}

	/** Keeps all threads of the pool busy until the gate is opened. */
	private TcpServer busy(LeaderFollowersPool pool, CountDownLatch gate, AtomicReference<String> servedBy) {
		AtomicInteger inside = new AtomicInteger();
		TcpServer server = this.engine.lines(pool, (connection, message) -> {
			if (Engine.text(message).equals("block")) {
				inside.incrementAndGet();
				Engine.pass(gate);
			}
			servedBy.set(Thread.currentThread().getName());
			connection.send(message);
		});
		for (int i = 0; i < pool.snapshot().maxThreads(); i++) {
			int count = i + 1;
			this.engine.connect(server).send("block\n");
			Engine.eventually().until(() -> inside.get() == count);
		}
		return server;
	}

	@Test
	void aFollowerReturnsFalseWhenItsTimeIsUp() throws Exception {
		LeaderFollowersPool pool = this.engine.pool(2, 2);
		pool.start();
		Engine.awaitIdle(pool);
		long start = System.nanoTime();
		assertThat(join(pool, Duration.ofMillis(200)).get(30, TimeUnit.SECONDS)).isFalse();
		assertThat(System.nanoTime() - start).isGreaterThanOrEqualTo(200_000_000);
		Engine.awaitIdle(pool);
		assertThat(pool.join(Duration.ZERO)).isFalse();
		assertThat(pool.join(Duration.ofMillis(-1))).isFalse();
	}

	@Test
	void aLeaderReturnsFalseWhenItsTimeIsUp() throws Exception {
		CountDownLatch gate = this.engine.gate();
		LeaderFollowersPool pool = this.engine.pool(1, 1);
		busy(pool, gate, new AtomicReference<>());
		long start = System.nanoTime();
		CompletableFuture<Boolean> joined = join(pool, Duration.ofSeconds(3));
		assertThat(joined.get(30, TimeUnit.SECONDS)).isFalse();
		assertThat(pool.handOffs()).extracting(HandOff::to).contains("joined");
		assertThat(System.nanoTime() - start).isGreaterThanOrEqualTo(3_000_000_000L);
		assertThat(pool.snapshot().handleSets().get(0).leader()).isNull();
		assertThat(pool.snapshot().threads()).hasSize(1);
	}

	@Test
	void aJoinedThreadServesWhenAllOthersAreBusy() throws Exception {
		CountDownLatch gate = this.engine.gate();
		AtomicReference<String> servedBy = new AtomicReference<>();
		LeaderFollowersPool pool = this.engine.pool(1, 2);
		TcpServer server = busy(pool, gate, servedBy);
		CompletableFuture<Boolean> joined = join(pool, Engine.DEADLINE);
		Peer peer = this.engine.connect(server);
		for (int i = 0; i < 50; i++) {
			assertThat(peer.send(i + "\n").readLine()).isEqualTo("" + i);
			assertThat(servedBy).hasValue("joined");
		}
		assertThat(pool.snapshot().threads()).extracting(PoolSnapshot.ThreadSnapshot::name).contains("joined");
		gate.countDown();
		assertThat(pool.close(Engine.DEADLINE)).isTrue();
		assertThat(joined.get(30, TimeUnit.SECONDS)).as("the pool was closed").isTrue();
	}

	@Test
	void aTimeThatIsUpDoesNotInterruptTheHandlerThatRuns() throws Exception {
		CountDownLatch gate = this.engine.gate();
		CountDownLatch second = this.engine.gate();
		LeaderFollowersPool pool = this.engine.pool(1, 1);
		AtomicReference<String> last = new AtomicReference<>();
		AtomicInteger inside = new AtomicInteger();
		TcpServer server = this.engine.lines(pool, (connection, message) -> {
			String text = Engine.text(message);
			inside.incrementAndGet();
			Engine.pass(text.equals("pool") ? gate : second);
			last.set(Thread.currentThread().getName());
			connection.send(message);
		});
		Peer first = this.engine.connect(server).send("pool\n");
		Engine.eventually().until(() -> inside.get() == 1);
		// Before the thread joins: it finds the event at once, however short its time is.
		Peer other = this.engine.connect(server).send("joined\n");
		CompletableFuture<Boolean> joined = join(pool, Duration.ofSeconds(3));
		Engine.eventually().until(() -> inside.get() == 2);
		Engine.elapse(Duration.ofMillis(3500));
		assertThat(joined).isNotDone();
		second.countDown();
		assertThat(other.readLine()).isEqualTo("joined");
		assertThat(joined.get(30, TimeUnit.SECONDS)).isFalse();
		gate.countDown();
		assertThat(first.readLine()).isEqualTo("pool");
	}

	@Test
	void anEndOfTimeIsNoticedAlthoughEventsNeverEnd() throws Exception {
		CountDownLatch gate = this.engine.gate();
		LeaderFollowersPool pool = this.engine.pool(1, 1);
		TcpServer server = busy(pool, gate, new AtomicReference<>());
		CompletableFuture<Boolean> joined = join(pool, Duration.ofMillis(500));
		List<Thread> clients = new ArrayList<>();
		for (int i = 0; i < 4; i++) {
			Peer peer = this.engine.connect(server);
			Thread client = new Thread(() -> {
				try {
					while (!joined.isDone() || gate.getCount() > 0) {
						assertThat(peer.send("x\n").readLine()).isEqualTo("x");
					}
				}
				catch (RuntimeException ex) {
					// the test has ended
				}
			});
			client.start();
			clients.add(client);
		}
		assertThat(joined.get(30, TimeUnit.SECONDS)).isFalse();
		gate.countDown();
		for (Thread client : clients) {
			client.join(Engine.DEADLINE.toMillis());
		}
	}

	@Test
	void manyMayJoinOneAfterTheOther() throws Exception {
		LeaderFollowersPool pool = this.engine.pool(2, 2);
		pool.start();
		for (int i = 0; i < 300; i++) {
			assertThat(pool.join(Duration.ofNanos(1 + i * 1000L))).isFalse();
		}
		// The times overlap: when one thread leaves, another one stays.
		List<CompletableFuture<Boolean>> joined = new ArrayList<>();
		for (int i = 0; i < 200; i++) {
			joined.add(join(pool, Duration.ofMillis(20)));
			if (i >= 20) {
				assertThat(joined.get(i - 20).get(30, TimeUnit.SECONDS)).isFalse();
			}
		}
		for (CompletableFuture<Boolean> one : joined) {
			assertThat(one.get(30, TimeUnit.SECONDS)).isFalse();
		}
		PoolSnapshot snapshot = Engine.awaitIdle(pool);
		assertThat(snapshot.threads()).hasSize(2);
		TcpServer server = this.engine.lines(pool, (connection, message) -> connection.send(message));
		assertThat(this.engine.connect(server).send("x\n").readLine()).isEqualTo("x");
	}

	@Test
	void tooManyAtATimeAreToldSo() throws Exception {
		LeaderFollowersPool pool = this.engine.pool(1, 1);
		pool.start();
		List<CompletableFuture<Boolean>> joined = new ArrayList<>();
		for (int i = 0; i < 64; i++) {
			joined.add(join(pool, Engine.DEADLINE));
		}
		Engine.eventually().until(() -> pool.snapshot().threads().size() == 65);
		assertThatIllegalStateException().isThrownBy(() -> pool.join(Duration.ofSeconds(1)))
			.withMessageContaining("64")
			.withMessageContaining(pool.name());
		assertThat(pool.close(Engine.DEADLINE)).isTrue();
		for (CompletableFuture<Boolean> one : joined) {
			assertThat(one.get(30, TimeUnit.SECONDS)).isTrue();
		}
	}

	@Test
	void aHandlerCannotJoin() throws Exception {
		AtomicReference<Throwable> own = new AtomicReference<>();
		AtomicReference<Throwable> other = new AtomicReference<>();
		LeaderFollowersPool pool = this.engine.pool(1, 1);
		LeaderFollowersPool second = this.engine.pool(1, 1);
		TcpServer server = this.engine.lines(pool, (connection, message) -> {
			try {
				pool.join(Duration.ofSeconds(1));
			}
			catch (IllegalStateException ex) {
				own.set(ex);
			}
			try {
				second.join(Duration.ofSeconds(1));
			}
			catch (IllegalStateException ex) {
				other.set(ex);
			}
			connection.send(message);
		});
		assertThat(this.engine.connect(server).send("x\n").readLine()).isEqualTo("x");
		assertThat(own.get()).hasMessageContaining("participates in a Leader/Followers pool already");
		assertThat(other.get()).isNotNull();
	}

	@Test
	void aHandlerOfAJoinedThreadMayFailInAnyWay() throws Exception {
		CountDownLatch gate = this.engine.gate();
		LeaderFollowersPool pool = this.engine.pool(1, 1);
		TcpServer server = busy(pool, gate, new AtomicReference<>());
		CompletableFuture<Boolean> joined = join(pool, Duration.ofSeconds(5));
		for (Throwable failure : new Throwable[] { new IllegalStateException("made for the test"),
				new OutOfMemoryError("made for the test") }) {
			Pipe pipe = Pipe.open();
			pipe.source().configureBlocking(false);
			Handle handle = pool.register(pipe.source(), (event, type) -> {
				if (failure instanceof RuntimeException exception) {
					throw exception;
				}
				throw (Error) failure;
			}, EventType.READ);
			pipe.sink().write(ByteBuffer.allocate(1));
			Engine.eventually().until(() -> !handle.isOpen());
			pipe.sink().close();
		}
		assertThat(joined.get(30, TimeUnit.SECONDS)).isFalse();
		assertThat(server.snapshot().state()).isEqualTo(ServerSnapshot.State.RUNNING);
	}

	@Test
	void joiningStartsThePool() throws Exception {
		LeaderFollowersPool pool = this.engine.pool(2, 2);
		assertThat(pool.join(Duration.ofMillis(50))).isFalse();
		assertThat(Engine.awaitIdle(pool).threads()).hasSize(2);
	}

	@Test
	void anInterruptOfTheJoinedThreadIsRestored() throws Exception {
		LeaderFollowersPool pool = this.engine.pool(1, 1);
		pool.start();
		CompletableFuture<Boolean> interrupted = new CompletableFuture<>();
		Thread thread = new Thread(() -> {
			Thread.currentThread().interrupt();
			pool.join(Duration.ofMillis(100));
			interrupted.complete(Thread.currentThread().isInterrupted());
		}, "joined");
		thread.start();
		assertThat(interrupted.get(30, TimeUnit.SECONDS)).isTrue();
	}

	@Test
	void anInterruptOfAJoinedThreadThatFollowsIsRestored() throws Exception {
		LeaderFollowersPool pool = this.engine.pool(1, 1);
		pool.start();
		Engine.awaitIdle(pool);
		CompletableFuture<Boolean> interrupted = new CompletableFuture<>();
		Thread thread = new Thread(() -> {
			pool.join(Engine.DEADLINE);
			interrupted.complete(Thread.currentThread().isInterrupted());
		}, "joined");
		thread.start();
		Engine.eventually()
			.until(() -> pool.snapshot()
				.threads()
				.stream()
				.anyMatch((t) -> t.name().equals("joined") && t.role() == ThreadRole.FOLLOWER));
		thread.interrupt();
		// The thread has noticed it, and follows again
		Engine.eventually().until(() -> !thread.isInterrupted());
		pool.close(Engine.DEADLINE);
		assertThat(interrupted.get(30, TimeUnit.SECONDS)).isTrue();
	}

}
