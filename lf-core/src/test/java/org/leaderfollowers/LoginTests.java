package org.leaderfollowers;

import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.leaderfollowers.internal.promotion.Clock;

import static org.assertj.core.api.Assertions.assertThat;

/** Clients that have to log in: some do, and some do not. */
@Timeout(120)
class LoginTests {

	/** Longer than any test takes: it passes only if the clock is moved. */
	private static final Duration TIMEOUT = Duration.ofHours(2);

	@RegisterExtension
	final Engine engine = new Engine();

	private final AtomicReference<Suspension> suspension = new AtomicReference<>();

	private final CountDownLatch gate = this.engine.gate();

	private final AtomicLong passed = new AtomicLong();

	/** Moves on by itself as well, so that threads that wait do not wait for ever. */
	private final Clock clock = new Clock() {
		@Override
		public long nanoTime() {
			return super.nanoTime() + LoginTests.this.passed.get();
		}
	};

	/** Logs in a client that asks for it. */
	private final Recorder recorder = new Recorder() {
		@Override
		void message(Connection connection, ByteBuffer message) {
			switch (Engine.text(message)) {
				case "later" -> LoginTests.this.suspension.set(connection.suspend());
				case "slow login" -> {
					Engine.pass(LoginTests.this.gate);
					connection.loggedIn();
				}
				case "login" -> connection.loggedIn();
				default -> {
					// The message is only answered.
				}
			}
			connection.send(message);
		}
	};

	private TcpServer start(Duration loginTimeout, int threads) {
		return this.engine.start(TcpServer
			.builder(this.engine.pool(LeaderFollowersPool.builder().threads(threads, threads).clock(this.clock)))
			.framing(Framing.line())
			.handler(this.recorder)
			.idleTimeout(Duration.ZERO)
			.loginTimeout(loginTimeout));
	}

	/** Moves the clock, and lets the leader see it: the new client is an event. */
	private void elapse(TcpServer server, Duration time) {
		this.passed.addAndGet(time.toNanos());
		assertThat(this.engine.connect(server).send("time\n").readLine()).isEqualTo("time");
	}

	@Test
	void aClientThatDoesNotLogInIsClosedAfterTheTimeoutAndNotBefore() {
		TcpServer server = start(TIMEOUT, 2);
		Peer silent = this.engine.connect(server);
		Engine.eventually().until(() -> this.recorder.of(1).contains("open"));
		Peer talks = this.engine.connect(server);
		assertThat(talks.send("hello\n").readLine()).isEqualTo("hello");
		elapse(server, TIMEOUT.minusMinutes(10));
		assertThat(talks.send("still here\n").readLine()).isEqualTo("still here");
		assertThat(this.recorder.of(1)).containsExactly("open");
		elapse(server, Duration.ofMinutes(11));
		assertThat(silent.readTextToEnd()).isEmpty();
		assertThat(talks.readTextToEnd()).isEmpty();
		assertThat(this.recorder.awaitClose(1)).containsExactly("open", "close LOGIN_TIMEOUT");
		assertThat(this.recorder.awaitClose(2)).containsExactly("open", "hello", "still here", "close LOGIN_TIMEOUT");
		Engine.eventually().until(() -> server.snapshot().closedConnections().get(CloseReason.LOGIN_TIMEOUT) == 2);
	}

	@Test
	void activityDoesNotReplaceTheLogin() {
		TcpServer server = start(Duration.ofSeconds(1), 2);
		Peer peer = this.engine.connect(server);
		for (String line = "0"; line != null; line = peer.readLine()) {
			try {
				peer.send("hello\n");
			}
			catch (RuntimeException ex) {
				break;
			}
		}
		peer.close();
		assertThat(this.recorder.awaitClose(1)).endsWith("close LOGIN_TIMEOUT");
	}

	@Test
	void aClientThatHasLoggedInStays() {
		TcpServer server = start(TIMEOUT, 2);
		Peer peer = this.engine.connect(server);
		Peer never = this.engine.connect(server);
		assertThat(peer.send("login\n").readLine()).isEqualTo("login");
		this.recorder.await(2);
		elapse(server, TIMEOUT.plusMinutes(1));
		assertThat(never.readTextToEnd()).as("the time has passed").isEmpty();
		this.recorder.await(1).loggedIn();
		assertThat(peer.send("x\n").readLine()).isEqualTo("x");
		assertThat(this.recorder.of(1)).containsExactly("open", "login", "x");
	}

	@Test
	void anotherThreadMayLogAClientIn() {
		TcpServer server = start(TIMEOUT, 2);
		Peer peer = this.engine.connect(server);
		this.recorder.await(1).loggedIn();
		Peer never = this.engine.connect(server);
		this.recorder.await(2);
		elapse(server, TIMEOUT.plusMinutes(1));
		assertThat(never.readTextToEnd()).as("the time has passed").isEmpty();
		assertThat(peer.send("x\n").readLine()).isEqualTo("x");
	}

	@Test
	void aSuspendedConnectionIsLateAsWell() {
		TcpServer server = start(TIMEOUT, 2);
		Peer peer = this.engine.connect(server).send("later\n");
		assertThat(peer.readLine()).isEqualTo("later");
		elapse(server, TIMEOUT.plusMinutes(1));
		assertThat(peer.readTextToEnd()).isEmpty();
		assertThat(this.recorder.awaitClose(1)).containsExactly("open", "later", "close LOGIN_TIMEOUT");
		this.suspension.get().resume();
	}

	@Test
	void aHandlerMayTakeLongerThanTheTimeoutToLogItsClientIn() {
		TcpServer server = start(TIMEOUT, 4);
		Peer peer = this.engine.connect(server).send("slow login\n");
		Engine.eventually().until(() -> this.recorder.of(1).contains("slow login"));
		Peer never = this.engine.connect(server);
		this.recorder.await(2);
		elapse(server, TIMEOUT.plusMinutes(1));
		assertThat(never.readTextToEnd()).as("the time has passed").isEmpty();
		this.gate.countDown();
		assertThat(peer.readLine()).isEqualTo("slow login");
		assertThat(peer.send("x\n").readLine()).isEqualTo("x");
	}

	/** A login that has arrived in time counts, even if no thread was free to read it. */
	@Test
	void aLoginThatWaitsForAThreadIsNotLate() {
		TcpServer server = start(TIMEOUT, 1);
		Peer waiting = this.engine.connect(server);
		this.recorder.await(1);
		Peer blocks = this.engine.connect(server).send("slow login\n");
		Engine.eventually().until(() -> this.recorder.of(2).contains("slow login"));
		waiting.send("login\n");
		this.passed.addAndGet(TIMEOUT.plusMinutes(1).toNanos());
		this.gate.countDown();
		assertThat(blocks.readLine()).isEqualTo("slow login");
		assertThat(waiting.readLine()).isEqualTo("login");
		assertThat(waiting.send("x\n").readLine()).isEqualTo("x");
	}

	/** It may pass after the thread has looked and before it releases the connection. */
	@Test
	void aTimerRemainsForATimeoutThatPassesWhileAThreadWorks() {
		ConnectionWatch watch = new ConnectionWatch(new ConnectionTimeouts(0, 0, 0, 0, 0, 0, 1000, 0), 5);
		assertThat(watch.deadlineFrom(10)).isEqualTo(1005);
		assertThat(watch.deadlineFrom(2000)).isGreaterThan(2000).isNotEqualTo(EngineEventHandler.NO_DEADLINE);
		watch.loggedIn();
		assertThat(watch.deadlineFrom(2000)).isEqualTo(EngineEventHandler.NO_DEADLINE);
	}

	@Test
	void withoutATimeoutLoggingInDoesNothing() {
		TcpServer server = start(Duration.ZERO, 2);
		Peer peer = this.engine.connect(server).send("login\nx\n");
		assertThat(peer.readLine()).isEqualTo("login");
		assertThat(peer.readLine()).isEqualTo("x");
		assertThat(((StreamConnection) this.recorder.await(1)).watch).isNull();
	}

}
