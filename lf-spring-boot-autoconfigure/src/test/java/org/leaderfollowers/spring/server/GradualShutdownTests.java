package org.leaderfollowers.spring.server;

import java.net.InetAddress;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.stream.Stream;

import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.leaderfollowers.CloseRate;
import org.leaderfollowers.CloseReason;
import org.leaderfollowers.Connection;
import org.leaderfollowers.Framing;
import org.leaderfollowers.LeaderFollowersPool;
import org.leaderfollowers.MessageHandler;
import org.leaderfollowers.Server;
import org.leaderfollowers.ServerSnapshot;
import org.leaderfollowers.TcpServer;
import org.leaderfollowers.UdpServer;
import org.leaderfollowers.spring.LineClient;
import org.leaderfollowers.spring.annotation.LfHandler;
import org.leaderfollowers.spring.autoconfigure.LeaderFollowersAutoConfiguration;

import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.catchThrowable;
import static org.mockito.ArgumentMatchers.any;
import static org.mockito.BDDMockito.given;
import static org.mockito.Mockito.mock;

/**
 * Tests for {@link GradualShutdown} and {@code lf.shutdown.close-rate}.
 */
@ExtendWith(OutputCaptureExtension.class)
@Timeout(180)
class GradualShutdownTests {

	private final LeaderFollowersPool pool = LeaderFollowersPool.builder().threads(2, 8).build();

	private final List<LineClient> clients = new ArrayList<>();

	@AfterEach
	void close() throws Exception {
		for (LineClient client : this.clients) {
			client.close();
		}
		this.pool.close();
	}

	/** Says "bye" when its connection drains. */
	private static final class Guest implements MessageHandler {

		@Override
		public void onMessage(Connection connection, ByteBuffer message) {
			connection.send(message);
		}

		@Override
		public void onDrain(Connection connection) {
			connection.send(ByteBuffer.wrap("bye".getBytes()));
		}

	}

	private TcpServer server(MessageHandler handler) {
		TcpServer server = TcpServer.builder(this.pool)
			.address(InetAddress.getLoopbackAddress())
			.port(0)
			.framing(Framing.line())
			.handler(handler)
			.build();
		server.start();
		return server;
	}

	private TcpServer server(int connections) throws Exception {
		TcpServer server = server(new Guest());
		for (int i = 0; i < connections; i++) {
			connect(server.port());
		}
		return server;
	}

	private void connect(int port) throws Exception {
		LineClient client = new LineClient(port);
		this.clients.add(client);
		assertThat(client.ask("hello")).isEqualTo("hello");
	}

	private void drain(Server server, String rate, Duration timeout) throws Exception {
		CountDownLatch end = new CountDownLatch(1);
		new GradualShutdown(CloseRate.of(rate), timeout).drain(List.of(ManagedServer.ofBean("server", server)),
				end::countDown);
		assertThat(end.await(60, TimeUnit.SECONDS)).isTrue();
	}

	private void assertToldAndClosed() throws Exception {
		for (LineClient client : this.clients) {
			assertThat(client.read()).isEqualTo("bye");
			assertThat(client.read()).isNull();
		}
	}

	/**
	 * The shutdown goes on in the calling thread, and both servers begin before one of
	 * them is waited for.
	 */
	@Test
	void serversDrainWithoutThreads() throws Exception {
		List<ManagedServer> servers = List.of(ManagedServer.ofBean("first", server(2)),
				ManagedServer.ofBean("second", server(3)));
		List<String> calls = new ArrayList<>();
		new GradualShutdown(null, Duration.ofMinutes(1)).drain(servers, () -> calls.add("callback"),
				(name, task, otherwise) -> {
					calls.add(name);
					otherwise.run();
				});
		assertThat(calls).containsExactly("lf-shutdown-default", "lf-shutdown-default", "callback");
		assertToldAndClosed();
	}

	@Test
	void allServersBeginToDrainBeforeTheCallingThreadWaits(CapturedOutput output) throws Exception {
		TcpServer second = server(1);
		CountDownLatch received = new CountDownLatch(1);
		TcpServer first = server((connection, message) -> {
			received.countDown();
			Awaitility.await()
				.atMost(Duration.ofSeconds(30))
				.until(() -> second.snapshot().state() == ServerSnapshot.State.DRAINING);
			connection.send(message);
		});
		try (LineClient client = new LineClient(first.port())) {
			client.send("request");
			assertThat(received.await(60, TimeUnit.SECONDS)).isTrue();
			drainWithoutThreads(Duration.ofMinutes(2), first, second);
			assertThat(client.read()).isEqualTo("request");
		}
		assertThat(output).contains("Graceful shutdown complete");
	}

	@Test
	void theCallingThreadWaitsForALimitedTime(CapturedOutput output) throws Exception {
		CountDownLatch received = new CountDownLatch(1);
		CountDownLatch open = new CountDownLatch(1);
		TcpServer server = server((connection, message) -> {
			received.countDown();
			open.await();
		});
		try (LineClient client = new LineClient(server.port())) {
			client.send("request");
			assertThat(received.await(60, TimeUnit.SECONDS)).isTrue();
			drainWithoutThreads(Duration.ofMillis(10), server);
		}
		finally {
			open.countDown();
		}
		assertThat(output).contains("Graceful shutdown aborted with one or more connections still open");
	}

	@Test
	void nobodyIsWaitedForWithoutServers() {
		drainWithoutThreads(Duration.ofMinutes(2));
	}

	private void drainWithoutThreads(Duration timeout, Server... servers) {
		AtomicBoolean ended = new AtomicBoolean();
		new GradualShutdown(null, timeout).drain(
				Stream.of(servers).map((server) -> ManagedServer.ofBean("server", server)).toList(),
				() -> ended.set(true), (name, task, otherwise) -> otherwise.run());
		assertThat(ended).isTrue();
	}

	@Test
	void aDrainThatFailsDoesNotHoldUpTheShutdown(CapturedOutput output) throws Exception {
		AtomicBoolean ended = new AtomicBoolean();
		// Four fifths of this time cannot be computed.
		new GradualShutdown(CloseRate.of("1/s"), Duration.ofSeconds(Long.MAX_VALUE)).drain(
				List.of(ManagedServer.ofBean("server", server(0))), () -> ended.set(true),
				(name, task, otherwise) -> assertThatExceptionOfType(ArithmeticException.class).isThrownBy(task::run));
		assertThat(ended).isTrue();
		assertThat(output).contains("Graceful shutdown aborted").doesNotContain("Graceful shutdown complete");
	}

	/** Spring would wait for its timeout otherwise. */
	@Test
	void aShutdownWhoseEndCannotBeReportedEnds() {
		IllegalStateException failure = new IllegalStateException("Made for the test");
		TcpServer server = mock();
		given(server.name()).willReturn("test");
		given(server.drain(any())).willReturn(true);
		ServerSnapshot before = server(new Guest()).snapshot();
		given(server.snapshot()).willReturn(before).willThrow(failure);
		AtomicBoolean ended = new AtomicBoolean();
		new GradualShutdown(null, Duration.ofMinutes(2)).drain(List.of(ManagedServer.ofBean("server", server)),
				() -> ended.set(true),
				(name, task, otherwise) -> assertThat(catchThrowable(task::run)).isSameAs(failure));
		assertThat(ended).isTrue();
	}

	@Test
	void connectionsThatFailedBeforeTheShutdownAreNotReported(CapturedOutput output) throws Exception {
		TcpServer server = server(0);
		try (Socket client = new Socket(InetAddress.getLoopbackAddress(), server.port())) {
			client.setSoLinger(true, 0);
			client.getOutputStream().write("hello\n".getBytes(StandardCharsets.US_ASCII));
			assertThat(client.getInputStream().read()).isEqualTo('h');
		}
		Awaitility.await()
			.atMost(Duration.ofSeconds(60))
			.until(() -> Long.valueOf(1).equals(server.snapshot().closedConnections().get(CloseReason.IO_ERROR)));
		drainWithoutThreads(Duration.ofMinutes(2), server);
		assertThat(output).contains("Graceful shutdown complete: all messages received were handled");
	}

	@Test
	void shutdownDoesNotClaimThatAFailedConnectionGotItsReplies(CapturedOutput output) throws Exception {
		CountDownLatch received = new CountDownLatch(1);
		CountDownLatch gone = new CountDownLatch(1);
		TcpServer server = server((connection, message) -> {
			received.countDown();
			gone.await();
			// The first write may not notice the reset yet.
			for (int i = 0; i < 1000 && connection.isOpen(); i++) {
				connection.send(ByteBuffer.wrap(new byte[1000]));
			}
		});
		CountDownLatch end = new CountDownLatch(1);
		try (Socket client = new Socket(InetAddress.getLoopbackAddress(), server.port())) {
			client.getOutputStream().write("request\n".getBytes(StandardCharsets.US_ASCII));
			received.await();
			new GradualShutdown(null, Duration.ofHours(1)).drain(List.of(ManagedServer.ofBean("server", server)),
					end::countDown);
			client.setSoLinger(true, 0);
		}
		gone.countDown();
		assertThat(end.await(60, TimeUnit.SECONDS)).isTrue();
		assertThat(output)
			.contains("Graceful shutdown complete, but connections have failed meanwhile and may have lost replies: 1");
	}

	@Test
	void connectionsAreToldGradually(CapturedOutput output) throws Exception {
		TcpServer server = server(5);
		drain(server, "20/s", Duration.ofMinutes(10));
		assertToldAndClosed();
		assertThat(output)
			.contains("Server 'default' closes 5 connections gradually, at most 20/s: this takes at least 0 s")
			.contains(
					"Graceful shutdown complete: all messages received were handled, and all announced replies were sent")
			.doesNotContain("at once");
	}

	@Test
	void aRateThatIsTooSlowIsReportedAndTheRestDrainsInTime(CapturedOutput output) throws Exception {
		TcpServer server = server(5);
		// Enough for the first connection to be told, even on a machine that stalls.
		drain(server, "1/h", Duration.ofSeconds(5));
		assertToldAndClosed();
		assertThat(server.snapshot().closedConnections()).containsEntry(CloseReason.SHUTDOWN, 5L);
		assertThat(output)
			.contains("Server 'default' would take at least 14400 s to close 5 connections at the rate of "
					+ "'lf.shutdown.close-rate' (1/h), but has 4 s, four fifths of "
					+ "'spring.lifecycle.timeout-per-shutdown-phase'. The rest will drain at once. Raise one of them")
			.contains("drains its last 4 connections at once")
			.contains("Graceful shutdown complete");
	}

	@Test
	void aServerThatIsStoppedMeanwhileEndsTheWait(CapturedOutput output) throws Exception {
		TcpServer server = server(3);
		CountDownLatch end = new CountDownLatch(1);
		new GradualShutdown(CloseRate.of("1/h"), Duration.ofHours(1))
			.drain(List.of(ManagedServer.ofBean("server", server)), end::countDown);
		// One of them is told at once.
		Awaitility.await().atMost(Duration.ofSeconds(60)).until(() -> server.snapshot().openConnections() == 2);
		server.close(Duration.ZERO);
		assertThat(end.await(60, TimeUnit.SECONDS)).isTrue();
		assertThat(output).contains("Graceful shutdown aborted with one or more connections still open");
	}

	@Test
	void datagramsAndEmptyServersAreDrainedAsWithoutARate(CapturedOutput output) throws Exception {
		UdpServer datagrams = UdpServer.builder(this.pool)
			.address(InetAddress.getLoopbackAddress())
			.port(0)
			.handler(new Guest())
			.build();
		datagrams.start();
		drain(datagrams, "1/h", Duration.ofHours(1));
		drain(server(0), "1/h", Duration.ofHours(1));
		assertThat(output).doesNotContain("gradually").contains("Graceful shutdown complete");
	}

	/** Whoever drains a server publishes its end, even if it has ended by itself. */
	@Test
	void theEndOfAServerThatDrainsIsReportedOnce() throws Exception {
		ManagedServer drained = ManagedServer.ofBean("drained", server(1));
		drained.beginDrain(Duration.ofMinutes(1), "");
		ManagedServer evacuated = ManagedServer.ofBean("evacuated", server(2));
		evacuated.evacuate(CloseRate.of("1/h"), "");
		ManagedServer both = ManagedServer.ofBean("both", server(2));
		both.evacuate(CloseRate.of("1/h"), "");
		both.beginDrain(Duration.ofMinutes(1), "");
		assertThatIllegalStateException().isThrownBy(() -> both.beginDrain(Duration.ofMinutes(1), ""))
			.withMessageContaining("cannot be drained, because it is");
		for (ManagedServer server : List.of(drained, evacuated, both)) {
			server.current().close(Duration.ZERO);
			assertThat(server.stop(Duration.ZERO)).isTrue();
			assertThat(server.stop(Duration.ZERO)).isFalse();
		}
		ManagedServer closed = ManagedServer.ofBean("closed", server(1));
		closed.current().close(Duration.ZERO);
		assertThat(closed.stop(Duration.ZERO)).isFalse();
	}

	@Test
	void thePropertySetsTheRateOfTheShutdown(CapturedOutput output) {
		new ApplicationContextRunner().withConfiguration(AutoConfigurations.of(LeaderFollowersAutoConfiguration.class))
			.withUserConfiguration(Application.class)
			.withPropertyValues("lf.server.port=0", "lf.shutdown.close-rate=100/s")
			.run((context) -> {
				for (int i = 0; i < 3; i++) {
					connect(context.getEnvironment().getRequiredProperty("local.lf.server.port", Integer.class));
				}
			});
		assertThat(output).contains("Server 'default' closes 3 connections gradually, at most 100/s");
	}

	@Test
	void aRateThatIsNoneFailsTheStart() {
		new ApplicationContextRunner().withConfiguration(AutoConfigurations.of(LeaderFollowersAutoConfiguration.class))
			.withUserConfiguration(Application.class)
			.withPropertyValues("lf.server.port=0", "lf.shutdown.close-rate=fast")
			.run((context) -> assertThat(context).getFailure()
				.rootCause()
				.hasMessageContaining("such as '50/s', '30/m' or '100/h'"));
	}

	@Configuration(proxyBeanMethods = false)
	static class Application {

		@Bean
		@LfHandler
		MessageHandler guest() {
			return new Guest();
		}

	}

}
