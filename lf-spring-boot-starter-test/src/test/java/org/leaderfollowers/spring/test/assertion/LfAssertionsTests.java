package org.leaderfollowers.spring.test.assertion;

import java.lang.reflect.RecordComponent;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;

import org.assertj.core.api.Assertions;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.leaderfollowers.CloseReason;
import org.leaderfollowers.Framing;
import org.leaderfollowers.LeaderFollowersPool;
import org.leaderfollowers.PoolSnapshot.EventSourceSnapshot;
import org.leaderfollowers.PoolSnapshot.HandleSetSnapshot;
import org.leaderfollowers.PoolSnapshot.ThreadSnapshot;
import org.leaderfollowers.PoolSnapshot;
import org.leaderfollowers.TcpServer;
import org.leaderfollowers.ThreadRole;
import org.leaderfollowers.spring.test.client.LfTestClient;
import org.leaderfollowers.spring.test.client.TcpTestClient;

import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.leaderfollowers.spring.test.assertion.LfAssertions.assertThat;

/**
 * Tests for {@link LfAssertions}: they pass when they should, and otherwise describe what
 * they found.
 */
@Timeout(120)
class LfAssertionsTests {

	private static final Duration SHORT = Duration.ofMillis(50);

	private final CountDownLatch release = new CountDownLatch(1);

	private final LeaderFollowersPool pool = LeaderFollowersPool.builder().name("tested").threads(2, 2).build();

	private final TcpServer server = TcpServer.builder(this.pool)
		.port(0)
		.framing(Framing.line())
		.handlerName("waiter")
		.handler((connection, message) -> {
			this.release.await();
			connection.send(message);
		})
		.build();

	@AfterEach
	void close() {
		this.release.countDown();
		this.pool.close();
	}

	@Test
	void poolThatHasNotStartedHasNoLeader() {
		assertThat(this.pool).hasThreads(0).isIdle();
		assertThatExceptionOfType(AssertionError.class).isThrownBy(() -> assertThat(this.pool).hasExactlyOneLeader())
			.withMessageContaining("Expecting pool 'tested' to have exactly one leader, but handle set")
			.withMessageContaining("It is NEW");
		assertThatExceptionOfType(AssertionError.class).isThrownBy(() -> assertThat(this.pool).isRunning())
			.withMessageContaining("to be RUNNING, but it is NEW");
		assertThatExceptionOfType(AssertionError.class).isThrownBy(() -> assertThat(this.pool).isStarved());
	}

	@Test
	void idlePoolHasOneLeader() {
		this.server.start();
		assertThat(this.pool).eventually()
			.hasExactlyOneLeader()
			.hasThreads(2)
			.hasThreads(ThreadRole.LEADER, 1)
			.hasThreads(ThreadRole.FOLLOWER, 1)
			.isIdle()
			.isRunning();
		assertThat(this.pool).hasNoStarvation();
		assertThat(this.pool.snapshot()).hasExactlyOneLeader();
		assertThatExceptionOfType(AssertionError.class)
			.isThrownBy(() -> assertThat(this.pool).as("spare").hasThreads(ThreadRole.FOLLOWER, 5))
			.withMessageContaining("[spare]")
			.withMessageContaining("to have 5 threads in the role FOLLOWER, but it has 1")
			.withMessageContaining("thread lf-tested-1");
		assertThatExceptionOfType(AssertionError.class).isThrownBy(() -> assertThat(this.pool).isProcessing(1))
			.withMessageContaining("to process 1 events, but it processes 0")
			.withMessageNotContaining("Not within");
	}

	@Test
	void handleSetThatRestsNeedsNoLeader() throws Exception {
		this.server.start();
		assertThat(this.pool).eventually().hasExactlyOneLeader();
		PoolSnapshot idle = this.pool.snapshot();
		HandleSetSnapshot led = idle.handleSets().get(0);
		HandleSetSnapshot resting = copy(led, Map.of("inUse", false, "handles", 0), "leader");
		assertThat(copy(idle, Map.of("handleSets", List.of(led, resting)))).hasExactlyOneLeader();
		for (HandleSetSnapshot vacant : List.of(copy(resting, Map.of("inUse", true)),
				copy(resting, Map.of("handles", 1)))) {
			assertThatExceptionOfType(AssertionError.class)
				.isThrownBy(
						() -> assertThat(copy(idle, Map.of("handleSets", List.of(led, vacant)))).hasExactlyOneLeader())
				.withMessageContaining("has none");
		}
	}

	@Test
	void leadersAreCountedByThreadAndByHandleSet() throws Exception {
		this.server.start();
		assertThat(this.pool).eventually().hasExactlyOneLeader();
		PoolSnapshot idle = this.pool.snapshot();
		HandleSetSnapshot led = idle.handleSets().get(0);
		ThreadSnapshot leader = leader(idle);
		PoolSnapshot twoLeaders = copy(idle, Map.of("threads", List.of(leader, leader)));
		PoolSnapshot oneLeaderTwice = copy(twoLeaders, Map.of("handleSets", List.of(led, led)));
		for (PoolSnapshot wrong : List.of(twoLeaders, oneLeaderTwice)) {
			assertThatExceptionOfType(AssertionError.class).isThrownBy(() -> assertThat(wrong).hasExactlyOneLeader())
				.withMessageContaining("but 2 threads lead");
		}
	}

	@Test
	void numbersOfOthersDoNotCount() throws Exception {
		this.server.start();
		assertThat(this.pool).eventually().hasExactlyOneLeader();
		PoolSnapshot idle = this.pool.snapshot();
		ThreadSnapshot busy = copy(leader(idle), Map.of("handle", "client"));
		assertThat(copy(idle, Map.of("threads", List.of(busy)))).isProcessing(1);
		assertThatExceptionOfType(AssertionError.class)
			.isThrownBy(() -> assertThat(copy(idle, Map.of("starvations", 1L))).hasNoStarvation());
		assertThat(copy(this.server.snapshot(),
				Map.of("closedConnections", Map.of(CloseReason.LOCAL, 1L, CloseReason.PEER, 2L))))
			.hasClosedConnections(CloseReason.LOCAL, 1)
			.hasClosedConnections(CloseReason.PEER, 2)
			.hasClosedConnections(CloseReason.IDLE_TIMEOUT, 0);
		assertThatExceptionOfType(AssertionError.class)
			.isThrownBy(() -> assertThat(copy(this.server.snapshot(), Map.of("closedConnections", Map.of())))
				.hasClosedConnections(CloseReason.PEER, 3))
			.withMessageContaining("to have closed 3 connections for PEER, but it closed 0");
	}

	private static ThreadSnapshot leader(PoolSnapshot pool) {
		return pool.threads().stream().filter((thread) -> thread.role() == ThreadRole.LEADER).findFirst().orElseThrow();
	}

	@Test
	void eventSourceThatIsInUseNeedsALeader() throws Exception {
		this.server.start();
		assertThat(this.pool).eventually().hasExactlyOneLeader();
		PoolSnapshot idle = this.pool.snapshot();
		EventSourceSnapshot unused = new EventSourceSnapshot("alarms", false, null, 0, Duration.ZERO, 0, 0, 0, 0);
		assertThat(copy(idle, Map.of("eventSources", List.of(unused)))).hasExactlyOneLeader();
		PoolSnapshot vacant = copy(idle, Map.of("eventSources", List.of(copy(unused, Map.of("inUse", true)))));
		assertThatExceptionOfType(AssertionError.class).isThrownBy(() -> assertThat(vacant).hasExactlyOneLeader())
			.withMessageContaining("event source 'alarms' has none")
			.withMessageContaining("event source alarms: leader none, 0 events, 0 handling");
	}

	private static <R extends Record> R copy(R record, Map<String, ?> others, String... empty) {
		RecordComponent[] components = record.getClass().getRecordComponents();
		Object[] arguments = new Object[components.length];
		try {
			for (int i = 0; i < components.length; i++) {
				String name = components[i].getName();
				if (!List.of(empty).contains(name)) {
					arguments[i] = others.containsKey(name) ? others.get(name)
							: components[i].getAccessor().invoke(record);
				}
			}
			@SuppressWarnings("unchecked")
			R copy = (R) record.getClass().getConstructors()[0].newInstance(arguments);
			return copy;
		}
		catch (ReflectiveOperationException ex) {
			throw new IllegalStateException(ex);
		}
	}

	@Test
	void busyPoolIsStarved() {
		this.server.start();
		try (TcpTestClient one = LfTestClient.connect(this.server.port());
				TcpTestClient two = LfTestClient.connect(this.server.port())) {
			one.send("1");
			two.send("2");
			assertThat(this.pool).eventually().isProcessing(2).isStarved();
			assertThatExceptionOfType(AssertionError.class)
				.isThrownBy(() -> assertThat(this.pool).within(SHORT).hasExactlyOneLeader())
				.withMessageContaining("Not within 0.05s")
				.withMessageContaining("has none")
				.withMessageContaining("leader none")
				.withMessageContaining("runs waiter");
			assertThatExceptionOfType(AssertionError.class).isThrownBy(() -> assertThat(this.pool).hasNoStarvation())
				.withMessageContaining("never to have been without a thread to lead");
			assertThatExceptionOfType(AssertionError.class).isThrownBy(() -> assertThat(this.pool).isIdle());
			this.release.countDown();
			assertThat(this.pool).eventually().isIdle().hasExactlyOneLeader();
		}
	}

	@Test
	void serverTellsWhatItHasDone() {
		assertThatExceptionOfType(AssertionError.class).isThrownBy(() -> assertThat(this.server).isRunning())
			.withMessageContaining("Expecting server 'default' to be RUNNING, but it is NEW");
		this.release.countDown();
		this.server.start();
		try (TcpTestClient client = LfTestClient.connect(this.server.port())) {
			client.exchange("a");
			assertThat(this.server).isRunning()
				.isNotPaused()
				.hasOpenConnections(1)
				.hasAcceptedConnections(1)
				.hasRejectedConnections(0)
				.hasReceivedMessages(1);
			assertThatExceptionOfType(AssertionError.class)
				.isThrownBy(() -> assertThat(this.server).as("front").within(SHORT).hasOpenConnections(2))
				.withMessageContaining("[front]")
				.withMessageContaining("Not within 0.05s")
				.withMessageContaining("to have 2 open connections, but it has 1")
				.withMessageContaining("It is RUNNING, has accepted 1 connections");
			assertThatExceptionOfType(AssertionError.class)
				.isThrownBy(() -> assertThat(this.server).hasReceivedMessages(7))
				.withMessageContaining("to have received 7 messages, but it received 1");
			assertThatExceptionOfType(AssertionError.class)
				.isThrownBy(() -> assertThat(this.server).hasReceivedMessages(0))
				.withMessageContaining("to have received 0 messages, but it received 1");
			assertThatExceptionOfType(AssertionError.class)
				.isThrownBy(() -> assertThat(this.server).hasAcceptedConnections(7));
			assertThatExceptionOfType(AssertionError.class)
				.isThrownBy(() -> assertThat(this.server).hasRejectedConnections(7));
		}
		assertThat(this.server).eventually().hasClosedConnections(CloseReason.PEER, 1).hasOpenConnections(0);
		assertThatExceptionOfType(AssertionError.class)
			.isThrownBy(() -> assertThat(this.server).hasClosedConnections(CloseReason.PEER, 2))
			.withMessageContaining("to have closed 2 connections for PEER, but it closed 1")
			.withMessageContaining("closed {PEER=1}");
		this.server.pause();
		assertThat(this.server.snapshot()).isPaused();
		assertThatExceptionOfType(AssertionError.class).isThrownBy(() -> assertThat(this.server).isNotPaused());
		this.server.resume();
		assertThatExceptionOfType(AssertionError.class).isThrownBy(() -> assertThat(this.server).isPaused());
		assertThatExceptionOfType(AssertionError.class).isThrownBy(() -> assertThat(this.server).isStopped())
			.withMessageContaining("to be STOPPED, but it is RUNNING");
		assertThatExceptionOfType(AssertionError.class).isThrownBy(() -> assertThat(this.pool).isStopped())
			.withMessageContaining("to be STOPPED, but it is RUNNING");
		this.server.close();
		assertThat(this.server).isStopped();
		this.pool.close();
		assertThat(this.pool).isStopped();
	}

	@Test
	void nothingIsNotAPool() {
		assertThatExceptionOfType(AssertionError.class)
			.isThrownBy(() -> assertThat((PoolSnapshot) null).hasExactlyOneLeader())
			.withMessageContaining("not to be null");
		assertThatIllegalArgumentException().isThrownBy(() -> assertThat(this.pool).within(Duration.ofSeconds(-1)));
	}

	@Test
	void aThreadThatIsInterruptedWaitsNoLongerAndStaysInterrupted() {
		Thread.currentThread().interrupt();
		try {
			assertThatExceptionOfType(AssertionError.class)
				.isThrownBy(() -> assertThat(this.pool).eventually().isRunning())
				.withMessageContaining("Interrupted while waiting");
		}
		finally {
			Assertions.assertThat(Thread.interrupted()).isTrue();
		}
	}

}
