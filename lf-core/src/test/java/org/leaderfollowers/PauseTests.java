package org.leaderfollowers;

import java.lang.management.ManagementFactory;
import java.lang.management.ThreadInfo;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicReference;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Servers that accept nothing for a while, and the calls of listeners when no thread is
 * left.
 */
@Timeout(120)
class PauseTests {

	@RegisterExtension
	final Engine engine = new Engine();

	@Test
	void whoComesWhileTheServerIsPausedIsServedAfterwards() {
		Recorder recorder = new Recorder();
		TcpServer server = this.engine.lines(this.engine.pool(1, 4), recorder);
		Peer open = this.engine.connect(server).send("1\n");
		assertThat(open.readLine()).isEqualTo("1");
		server.pause();
		assertThat(server.isPaused()).isTrue();
		assertThat(server.snapshot().paused()).isTrue();
		Peer waiting = this.engine.connect(server).send("waiting\n");
		// The leader has seen the event, and waits for further ones.
		Engine.eventually().until(() -> server.pool().snapshot().handleSets().get(0).deactivated() == 1);
		for (int i = 0; i < 100; i++) {
			assertThat(open.send("2\n").readLine()).isEqualTo("2");
		}
		assertThat(server.snapshot().acceptedConnections()).isOne();
		assertThat(server.pool().snapshot().handleSets().get(0).events().get(EventType.ACCEPT))
			.as("it is not reported again and again")
			.isLessThan(50);
		server.resume();
		assertThat(waiting.readLine()).isEqualTo("waiting");
		assertThat(server.isPaused()).isFalse();
	}

	@Test
	void aServerCanStartPausedAndBePausedAgain() {
		TcpServer server = TcpServer.builder(this.engine.pool(1, 4))
			.port(0)
			.framing(Framing.line())
			.handler(new Recorder())
			.build();
		server.pause();
		server.pause();
		server.start();
		Peer first = this.engine.connect(server).send("first\n");
		Engine.eventually().until(() -> server.pool().snapshot().handleSets().get(0).deactivated() == 1);
		assertThat(server.snapshot().acceptedConnections()).isZero();
		for (int i = 0; i < 100; i++) {
			server.resume();
			server.pause();
		}
		server.resume();
		server.resume();
		assertThat(first.readLine()).isEqualTo("first");
		assertThat(this.engine.connect(server).send("second\n").readLine()).isEqualTo("second");
	}

	@Test
	void aPausedServerCanBeClosed() {
		TcpServer server = this.engine.lines(this.engine.pool(1, 4), new Recorder());
		Peer open = this.engine.connect(server).send("open\n");
		assertThat(open.readLine()).isEqualTo("open");
		server.pause();
		Peer waiting = this.engine.connect(server).send("waiting\n");
		assertThat(server.close(Engine.DEADLINE)).isTrue();
		assertThat(open.readTextToEnd()).isEmpty();
		waiting.awaitClosed();
		assertThat(server.snapshot().acceptedConnections()).isOne();
	}

	@Test
	void aListenerIsToldOncePerStarvationWhileItLasts() {
		List<Long> starved = new CopyOnWriteArrayList<>();
		AtomicReference<Thread> herald = new AtomicReference<>();
		LeaderFollowersPool pool = this.engine
			.pool(LeaderFollowersPool.builder().threads(1, 1).listener(new PoolListener() {

				@Override
				public void handedOff(PromotionKind kind, long vacancyNanos) {
				}

				@Override
				public void starved(long nanos) {
					herald.set(Thread.currentThread());
					Thread.currentThread().interrupt();
					starved.add(nanos);
				}

			}));
		CountDownLatch[] gates = { this.engine.gate(), this.engine.gate() };
		TcpServer server = this.engine.lines(pool, (connection, message) -> {
			Engine.pass(gates[Integer.parseInt(Engine.text(message))]);
			connection.send(message);
		});
		Peer peer = this.engine.connect(server);
		for (int i = 0; i < 2; i++) {
			int count = i + 1;
			peer.send(i + "\n");
			Engine.eventually().until(() -> starved.size() == count);
			// Otherwise it would look again and again without a pause.
			Engine.eventually().until(() -> !herald.get().isInterrupted());
			Engine.eventually().until(() -> pool.snapshot().starvedFor().compareTo(Duration.ofMillis(400)) > 0);
			assertThat(starved).hasSize(count).allMatch((nanos) -> nanos >= Duration.ofMillis(100).toNanos());
			gates[i].countDown();
			assertThat(peer.readLine()).isEqualTo("" + i);
			Engine.eventually().until(() -> pool.snapshot().starvedFor().isZero());
			// The watching thread must see the end, too.
			long waits = waits(herald.get());
			Engine.eventually().until(() -> waits(herald.get()) >= waits + 2);
		}
	}

	/** Returns how often a thread has begun to wait. */
	private static long waits(Thread thread) {
		ThreadInfo info = ManagementFactory.getThreadMXBean().getThreadInfo(thread.getId());
		return (info != null) ? info.getWaitedCount() : Long.MAX_VALUE;
	}

}
