package org.leaderfollowers;

import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicReference;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;

import static org.assertj.core.api.Assertions.assertThat;

/** Clients that have to log in: some do, and some do not. */
@Timeout(120)
class LoginTests {

	private static final Duration SHORT = Duration.ofMillis(500);

	@RegisterExtension
	final Engine engine = new Engine();

	private final AtomicReference<Suspension> suspension = new AtomicReference<>();

	private final CountDownLatch gate = this.engine.gate();

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
		return this.engine.start(TcpServer.builder(this.engine.pool(threads, threads))
			.framing(Framing.line())
			.handler(this.recorder)
			.idleTimeout(Duration.ZERO)
			.loginTimeout(loginTimeout));
	}

	@Test
	void aClientThatDoesNotLogInIsClosedAfterTheTimeoutAndNotBefore() {
		TcpServer server = start(Duration.ofSeconds(2), 2);
		long start = System.nanoTime();
		Peer silent = this.engine.connect(server);
		Peer talks = this.engine.connect(server);
		assertThat(talks.send("hello\n").readLine()).isEqualTo("hello");
		assertThat(silent.readTextToEnd()).isEmpty();
		assertThat(System.nanoTime() - start).isGreaterThanOrEqualTo(2_000_000_000L);
		assertThat(talks.readTextToEnd()).isEmpty();
		assertThat(this.recorder.awaitClose(1)).containsExactly("open", "close LOGIN_TIMEOUT");
		assertThat(this.recorder.awaitClose(2)).containsExactly("open", "hello", "close LOGIN_TIMEOUT");
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
		TcpServer server = start(Duration.ofSeconds(2), 2);
		Peer peer = this.engine.connect(server);
		Peer never = this.engine.connect(server);
		assertThat(peer.send("login\n").readLine()).isEqualTo("login");
		assertThat(never.readTextToEnd()).as("the time has passed").isEmpty();
		this.recorder.await(1).loggedIn();
		assertThat(peer.send("x\n").readLine()).isEqualTo("x");
		assertThat(this.recorder.of(1)).containsExactly("open", "login", "x");
	}

	@Test
	void anotherThreadMayLogAClientIn() {
		TcpServer server = start(Duration.ofSeconds(2), 2);
		Peer peer = this.engine.connect(server);
		this.recorder.await(1).loggedIn();
		assertThat(this.engine.connect(server).readTextToEnd()).as("the time has passed").isEmpty();
		assertThat(peer.send("x\n").readLine()).isEqualTo("x");
	}

	@Test
	void aSuspendedConnectionIsLateAsWell() {
		TcpServer server = start(SHORT, 2);
		Peer peer = this.engine.connect(server).send("later\n");
		assertThat(peer.readTextToEnd()).isEqualTo("later\n");
		assertThat(this.recorder.awaitClose(1)).containsExactly("open", "later", "close LOGIN_TIMEOUT");
		this.suspension.get().resume();
	}

	@Test
	void aHandlerMayTakeLongerThanTheTimeoutToLogItsClientIn() {
		TcpServer server = start(Duration.ofSeconds(2), 4);
		Peer peer = this.engine.connect(server).send("slow login\n");
		assertThat(this.engine.connect(server).readTextToEnd()).as("the time has passed").isEmpty();
		this.gate.countDown();
		assertThat(peer.readLine()).isEqualTo("slow login");
		assertThat(peer.send("x\n").readLine()).isEqualTo("x");
	}

	/** A login that has arrived in time counts, even if no thread was free to read it. */
	@Test
	void aLoginThatWaitsForAThreadIsNotLate() {
		TcpServer server = start(Duration.ofSeconds(3), 1);
		Peer waiting = this.engine.connect(server);
		this.recorder.await(1);
		Peer blocks = this.engine.connect(server).send("slow login\n");
		Engine.eventually().until(() -> this.recorder.of(2).contains("slow login"));
		waiting.send("login\n");
		Engine.elapse(Duration.ofSeconds(4));
		this.gate.countDown();
		assertThat(blocks.readLine()).isEqualTo("slow login");
		assertThat(waiting.readLine()).isEqualTo("login");
		assertThat(waiting.send("x\n").readLine()).isEqualTo("x");
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
