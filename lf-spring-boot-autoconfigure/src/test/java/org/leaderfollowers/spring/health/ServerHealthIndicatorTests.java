package org.leaderfollowers.spring.health;

import java.net.DatagramPacket;
import java.net.DatagramSocket;
import java.net.InetAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

import org.awaitility.Awaitility;
import org.awaitility.core.ThrowingRunnable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.leaderfollowers.Framing;
import org.leaderfollowers.LeaderFollowersPool;
import org.leaderfollowers.Server;
import org.leaderfollowers.ServerSnapshot;
import org.leaderfollowers.ServerSnapshot.State;
import org.leaderfollowers.TcpServer;
import org.leaderfollowers.UdpServer;
import org.leaderfollowers.spring.LineClient;
import org.leaderfollowers.spring.health.ServerHealthIndicator.Connections;

import org.springframework.boot.health.contributor.Health;
import org.springframework.boot.health.contributor.Status;
import org.springframework.test.util.ReflectionTestUtils;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for {@link ServerHealthIndicator}.
 */
@Timeout(120)
class ServerHealthIndicatorTests {

	private final CountDownLatch entered = new CountDownLatch(1);

	private final CountDownLatch gate = new CountDownLatch(1);

	private final LeaderFollowersPool pool = LeaderFollowersPool.builder().name("demo").threads(1, 3).build();

	private final TcpServer server = TcpServer.builder(this.pool)
		.name("orders")
		.address(InetAddress.getLoopbackAddress())
		.port(0)
		.framing(Framing.line())
		.maxConnections(5)
		.handler((connection, message) -> {
			this.entered.countDown();
			this.gate.await();
			connection.send(message);
		})
		.build();

	private final UdpServer udp = UdpServer.builder(this.pool)
		.name("telemetry")
		.address(InetAddress.getLoopbackAddress())
		.port(0)
		.handler((connection, message) -> {
		})
		.build();

	@AfterEach
	void close() {
		this.gate.countDown();
		this.server.close(Duration.ZERO);
		this.udp.close(Duration.ZERO);
		this.pool.close(Duration.ofSeconds(20));
	}

	@Test
	void serverThatWasNotStartedIsOutOfService() {
		assertOutOfService(State.NEW, "The server has not been started yet");
	}

	@Test
	void serverThatRunsIsUp() throws Exception {
		this.server.start();
		try (LineClient client = new LineClient(this.server.port())) {
			await(() -> assertThat(health(this.server).getDetails()).containsEntry("connections",
					new Connections(5, 1)));
			Health health = health(this.server);
			assertThat(health.getStatus()).isEqualTo(Status.UP);
			assertThat(health.getDetails())
				.containsOnlyKeys("state", "pool", "listening", "acceptingSuspended", "paused", "connections")
				.containsEntry("state", State.RUNNING)
				.containsEntry("pool", "demo")
				.containsEntry("listening", true)
				.containsEntry("acceptingSuspended", false)
				.containsEntry("paused", false);
		}
	}

	@Test
	void serverWithoutRoomForConnectionsIsOutOfService() throws Exception {
		this.server.start();
		List<LineClient> clients = new ArrayList<>();
		try {
			for (int i = 0; i < 5; i++) {
				clients.add(new LineClient(this.server.port()));
			}
			await(() -> assertOutOfService(State.RUNNING,
					"The server rejects new connections, because 5 are open, which is the maximum (max-connections)"));
			clients.remove(0).close();
			await(() -> assertThat(health(this.server).getStatus()).isEqualTo(Status.UP));
		}
		finally {
			for (LineClient client : clients) {
				client.close();
			}
		}
	}

	@Test
	void serverWhoseHandshakesAreAtTheirLimitIsUpAndTells() {
		this.server.start();
		ServerSnapshot.Tls tls = new ServerSnapshot.Tls(1, Map.of(), 0, 0, 7, 1, 7);
		ServerSnapshot full = Snapshots.with(this.server.snapshot(), Map.of("tls", tls));
		Health health = new ServerHealthIndicator(() -> full).health();
		assertThat(health.getStatus()).isEqualTo(Status.UP);
		assertThat(health.getDetails()).containsEntry("reason",
				"New connections wait, because 7 TLS handshakes are under way, which is the maximum (ssl.max-handshakes)");
		ServerSnapshot unlimited = Snapshots.with(full,
				Map.of("tls", new ServerSnapshot.Tls(1, Map.of(), 0, 0, 7, 0, 0)));
		assertThat(new ServerHealthIndicator(() -> unlimited).health().getDetails()).doesNotContainKey("reason");
	}

	@Test
	void serverOfDatagramsAtItsLimitIsUpAndTells() throws Exception {
		UdpServer small = UdpServer.builder(this.pool)
			.address(InetAddress.getLoopbackAddress())
			.port(0)
			.maxInFlight(1)
			.handler((connection, message) -> {
				this.entered.countDown();
				this.gate.await();
			})
			.build();
		small.start();
		try (DatagramSocket socket = new DatagramSocket()) {
			socket.send(new DatagramPacket(new byte[1], 1, InetAddress.getLoopbackAddress(), small.port()));
			assertThat(this.entered.await(60, TimeUnit.SECONDS)).isTrue();
			Health health = health(small);
			assertThat(health.getStatus()).isEqualTo(Status.UP);
			assertThat(health.getDetails()).containsEntry("reason",
					"New datagrams wait, because 1 are being handled or suspended, which is the maximum (udp.max-in-flight)");
		}
		finally {
			this.gate.countDown();
			small.close(Duration.ofSeconds(20));
		}
	}

	@Test
	void serverOfDatagramsIsUpAndHasNoConnections() {
		this.udp.start();
		Health health = health(this.udp);
		assertThat(health.getStatus()).isEqualTo(Status.UP);
		assertThat(health.getDetails()).doesNotContainKey("connections");
	}

	@Test
	void pausedServerIsUpAndTells() {
		this.server.start();
		this.server.pause();
		Health health = health(this.server);
		assertThat(health.getStatus()).isEqualTo(Status.UP);
		assertThat(health.getDetails()).containsEntry("paused", true)
			.containsEntry("reason", "The server is paused: it accepts nothing new until it is resumed");
	}

	@Test
	void serverThatDrainsAndThatHasBeenDrainedIsOutOfService() throws Exception {
		this.server.start();
		try (LineClient client = new LineClient(this.server.port())) {
			client.send("hello");
			assertThat(this.entered.await(60, TimeUnit.SECONDS)).isTrue();
			Thread draining = new Thread(() -> this.server.drain(Duration.ofSeconds(60)));
			draining.start();
			await(() -> assertOutOfService(State.DRAINING,
					"The server is draining: it accepts nothing new, and answers the messages that it has received"));
			this.gate.countDown();
			assertThat(client.read()).isEqualTo("hello");
			draining.join(TimeUnit.SECONDS.toMillis(60));
			assertThat(draining.isAlive()).isFalse();
		}
		assertThat(health(this.server).getStatus()).isEqualTo(Status.OUT_OF_SERVICE);
		this.server.close(Duration.ZERO);
		assertOutOfService(State.STOPPED, "The server is stopped");
	}

	@Test
	void serverWhoseListeningSocketFailedIsDown() {
		this.server.start();
		failListening(this.server, "acceptor");
		await(() -> assertListeningFailed(health(this.server)));
		this.server.close(Duration.ZERO);
		assertOutOfService(State.STOPPED, "The server is stopped");
	}

	@Test
	void serverWhoseDatagramSocketFailedIsDown() {
		this.udp.start();
		failListening(this.udp, "receiver");
		await(() -> assertListeningFailed(health(this.udp)));
	}

	@Test
	void serverThatCannotAcceptIsDown() {
		this.server.start();
		// Simulates a failure of the system, which would affect the whole process.
		Object backoff = field(field(field(this.server, "life"), "acceptor"), "backoff");
		ReflectionTestUtils.invokeMethod(backoff, "failed", new OutOfMemoryError("simulated"));
		Health health = health(this.server);
		assertThat(health.getStatus()).isEqualTo(Status.DOWN);
		assertThat(health.getDetails()).containsEntry("acceptingSuspended", true)
			.containsEntry("reason", "The server cannot accept connections now: usually the system is out of "
					+ "descriptors or memory, or the connections hold most of max-buffered-size. It retries");
	}

	@Test
	void serverThatCannotReceiveIsDown() {
		this.udp.start();
		ServerSnapshot suspended = Snapshots.with(this.udp.snapshot(), Map.of("acceptingSuspended", true));
		Health health = new ServerHealthIndicator(() -> suspended).health();
		assertThat(health.getStatus()).isEqualTo(Status.DOWN);
		assertThat((String) health.getDetails().get("reason")).contains("cannot receive datagrams now");
	}

	private static void assertListeningFailed(Health health) {
		assertThat(health.getStatus()).isEqualTo(Status.DOWN);
		assertThat(health.getDetails()).containsEntry("listening", false);
		assertThat((String) health.getDetails().get("reason"))
			.startsWith("The server no longer listens, because its socket has failed: ClosedChannelException");
	}

	private void assertOutOfService(State state, String reason) {
		Health health = health(this.server);
		assertThat(health.getStatus()).isEqualTo(Status.OUT_OF_SERVICE);
		assertThat(health.getDetails()).containsEntry("state", state).containsEntry("reason", reason);
	}

	/** Closes the socket behind the engine's back, and makes the engine look at it. */
	private static void failListening(Server server, String field) {
		Object channel = field(field(field(server, "life"), field), "channel");
		ReflectionTestUtils.invokeMethod(channel, "close");
		server.pause();
		server.resume();
	}

	private static Object field(Object target, String name) {
		Object value = ReflectionTestUtils.getField(target, name);
		assertThat(value).isNotNull();
		return value;
	}

	private static Health health(Server server) {
		return new ServerHealthIndicator(server::snapshot).health();
	}

	private static void await(ThrowingRunnable assertion) {
		Awaitility.await().atMost(Duration.ofSeconds(60)).untilAsserted(assertion);
	}

}
