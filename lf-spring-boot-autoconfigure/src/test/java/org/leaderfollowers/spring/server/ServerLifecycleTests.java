package org.leaderfollowers.spring.server;

import java.io.IOException;
import java.net.ConnectException;
import java.net.ServerSocket;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.HashSet;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;

import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.leaderfollowers.CloseReason;
import org.leaderfollowers.Connection;
import org.leaderfollowers.Framing;
import org.leaderfollowers.LeaderFollowersPool;
import org.leaderfollowers.MessageHandler;
import org.leaderfollowers.Server;
import org.leaderfollowers.ServerSnapshot;
import org.leaderfollowers.TcpServer;
import org.leaderfollowers.spring.EchoHandler;
import org.leaderfollowers.spring.LineClient;
import org.leaderfollowers.spring.annotation.LfHandler;
import org.leaderfollowers.spring.autoconfigure.LeaderFollowersAutoConfiguration;
import org.leaderfollowers.spring.event.ServerStoppedEvent;

import org.springframework.boot.Banner;
import org.springframework.boot.WebApplicationType;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.autoconfigure.ImportAutoConfiguration;
import org.springframework.boot.autoconfigure.context.LifecycleAutoConfiguration;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;
import org.springframework.context.ApplicationContext;
import org.springframework.context.ApplicationListener;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.SmartLifecycle;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.mockito.BDDMockito.given;
import static org.mockito.BDDMockito.willAnswer;
import static org.mockito.Mockito.mock;

/**
 * Tests for {@link ServerStartStopLifecycle} and {@link ServerGracefulShutdownLifecycle},
 * through sockets.
 */
@ExtendWith(OutputCaptureExtension.class)
class ServerLifecycleTests {

	private static final Duration PATIENCE = Duration.ofSeconds(60);

	@Test
	void phasesAreThoseOfTheWebServer() {
		try (ConfigurableApplicationContext context = run(Echo.class, "lf.server.port=0")) {
			SmartLifecycle startStop = startStop(context);
			SmartLifecycle gracefulShutdown = context.getBean("leaderFollowersServerGracefulShutdownLifecycle",
					SmartLifecycle.class);
			assertThat(startStop.getPhase()).isEqualTo(SmartLifecycle.DEFAULT_PHASE - 2048);
			assertThat(context.getBean("leaderFollowersClientLifecycle", SmartLifecycle.class).getPhase())
				.as("before the servers start, and after they have stopped")
				.isLessThan(startStop.getPhase());
			assertThat(gracefulShutdown.getPhase()).isEqualTo(SmartLifecycle.DEFAULT_PHASE - 1024);
			assertThat(startStop.isPauseable()).isFalse();
			assertThat(gracefulShutdown.isPauseable()).isFalse();
			assertThat(startStop.isRunning()).isTrue();
			assertThat(gracefulShutdown.isRunning()).isTrue();
		}
	}

	@Test
	void startTellsWhatRunsWhere(CapturedOutput output) {
		try (ConfigurableApplicationContext context = run(Echo.class, "lf.server.port=0",
				"lf.server.address=127.0.0.1")) {
			assertThat(output).contains(
					"Server 'default' started on port %d of 127.0.0.1 (framing 'line', handler 'echo', pool 'default')"
						.formatted(port(context)));
		}
	}

	/** An older JDK has no virtual threads, and Spring Boot ignores the property. */
	@Test
	void startTellsThatThePoolsOfServersKeepTheirThreads(CapturedOutput output) {
		run(Parent.class, "spring.threads.virtual.enabled=true").close();
		assertThat(output).as("without a server").doesNotContain("Virtual threads are enabled");
		run(Echo.class, "spring.threads.virtual.enabled=true", "lf.server.port=0").close();
		assertThat(output.getAll().contains("Virtual threads are enabled, but the pools of the servers keep"))
			.isEqualTo(Runtime.version().feature() >= 21);
	}

	@Test
	void shutdownAnswersEverythingThatWasReceived(CapturedOutput output) throws Exception {
		ConfigurableApplicationContext context = run(Gated.class, "lf.server.port=0");
		Gate gate = context.getBean(Gate.class);
		try (LineClient client = new LineClient(port(context))) {
			client.send("one\ntwo\nthree");
			gate.awaitMessage();
			Thread closing = new Thread(context::close);
			closing.start();
			Server server = context.getBean(LeaderFollowersServers.class).get("default");
			Awaitility.await().atMost(PATIENCE).until(() -> server.snapshot().state() == ServerSnapshot.State.DRAINING);
			assertRefused(server.port());
			gate.open();
			assertThat(client.read()).isEqualTo("one");
			assertThat(client.read()).isEqualTo("two");
			assertThat(client.read()).isEqualTo("three");
			assertThat(client.read()).isNull();
			closing.join(PATIENCE.toMillis());
			assertThat(closing.isAlive()).isFalse();
			assertThat(server.snapshot().closedConnections()).containsEntry(CloseReason.SHUTDOWN, 1L);
		}
		assertThat(output).contains("Commencing graceful shutdown. Waiting for the messages received to be answered")
			.contains("Graceful shutdown complete");
		assertNoThreads();
	}

	@Test
	void shutdownTakesNoLongerThanItsPhase(CapturedOutput output) throws Exception {
		ConfigurableApplicationContext context = run(Gated.class, "lf.server.port=0",
				"spring.lifecycle.timeout-per-shutdown-phase=50ms");
		Server server = context.getBean(LeaderFollowersServers.class).get("default");
		try (LineClient client = new LineClient(server.port())) {
			client.send("one");
			context.getBean(Gate.class).awaitMessage();
			context.close();
			assertThat(server.snapshot().state()).isEqualTo(ServerSnapshot.State.STOPPED);
			assertThat(client.read()).isNull();
		}
		Awaitility.await()
			.atMost(PATIENCE)
			.untilAsserted(() -> assertThat(output)
				.contains("Graceful shutdown aborted with one or more connections still open"));
		assertNoThreads();
	}

	@Test
	void theShutdownWaitsForTheEventOfAServerThatWasDrained() throws Exception {
		CountDownLatch publishing = new CountDownLatch(1);
		CountDownLatch mayReturn = new CountDownLatch(1);
		CountDownLatch stopped = new CountDownLatch(1);
		AtomicBoolean heard = new AtomicBoolean();
		try (ConfigurableApplicationContext context = run(Echo.class, "lf.server.port=0")) {
			context.addApplicationListener((ApplicationListener<ServerStoppedEvent>) (event) -> {
				publishing.countDown();
				await(mayReturn);
				heard.set(true);
			});
			LeaderFollowersServers servers = context.getBean(LeaderFollowersServers.class);
			servers.drain("default", PATIENCE, "");
			await(publishing);
			startStop(context).stop(stopped::countDown);
			Awaitility.await()
				.atMost(PATIENCE)
				.until(() -> stopped.getCount() == 0 || Thread.getAllStackTraces()
					.keySet()
					.stream()
					.anyMatch((thread) -> thread.getName().equals("lf-shutdown-events")
							&& thread.getState() == Thread.State.WAITING));
			boolean waits = stopped.getCount() == 1;
			mayReturn.countDown();
			assertThat(waits).isTrue();
			await(stopped);
			assertThat(heard).isTrue();
		}
		assertNoThreads();
	}

	@Test
	void aListenerOfAServerThatWasDrainedCanStopTheOthers() throws Exception {
		CountDownLatch stopped = new CountDownLatch(1);
		try (ConfigurableApplicationContext context = run(Echo.class, "lf.server.port=0")) {
			context.addApplicationListener(
					(ApplicationListener<ServerStoppedEvent>) (event) -> startStop(context).stop(stopped::countDown));
			context.getBean(LeaderFollowersServers.class).drain("default", PATIENCE, "");
			await(stopped);
		}
		assertNoThreads();
	}

	private static SmartLifecycle startStop(ConfigurableApplicationContext context) {
		return context.getBean("leaderFollowersServerStartStopLifecycle", SmartLifecycle.class);
	}

	private static void await(CountDownLatch latch) {
		try {
			assertThat(latch.await(PATIENCE.toSeconds(), TimeUnit.SECONDS)).isTrue();
		}
		catch (InterruptedException ex) {
			throw new IllegalStateException(ex);
		}
	}

	@Test
	void theParentKnowsThePortToo() {
		try (ConfigurableApplicationContext parent = new SpringApplicationBuilder(Parent.class)
			.web(WebApplicationType.NONE)
			.run();
				ConfigurableApplicationContext child = new SpringApplicationBuilder(Autoconfigured.class, Echo.class)
					.parent(parent)
					.web(WebApplicationType.NONE)
					.run("--lf.server.port=0")) {
			assertThat(port(parent)).isEqualTo(port(child));
		}
	}

	@Test
	void contextCanBeStoppedAndStartedAgain() throws Exception {
		try (ConfigurableApplicationContext context = run(Echo.class, "lf.server.port=0")) {
			Server first = context.getBean(LeaderFollowersServers.class).get("default");
			context.stop();
			assertThat(first.snapshot().state()).isEqualTo(ServerSnapshot.State.STOPPED);
			context.start();
			Server second = context.getBean(LeaderFollowersServers.class).get("default");
			assertThat(second).isNotSameAs(first);
			assertThat(port(context)).isEqualTo(second.port());
			try (LineClient client = new LineClient(port(context))) {
				assertThat(client.ask("again")).isEqualTo("again");
			}
		}
	}

	@Test
	void contextCanBeRestarted() throws Exception {
		try (ConfigurableApplicationContext context = run(Echo.class, "lf.server.port=0")) {
			context.restart();
			try (LineClient client = new LineClient(port(context))) {
				assertThat(client.ask("again")).isEqualTo("again");
			}
		}
	}

	@Test
	void pausedContextGoesOnServing() throws Exception {
		try (ConfigurableApplicationContext context = run(Echo.class, "lf.server.port=0");
				LineClient client = new LineClient(port(context))) {
			context.pause();
			assertThat(client.ask("still here")).isEqualTo("still here");
		}
	}

	@Test
	void serverBeanCanBeStartedOnce() {
		try (ConfigurableApplicationContext context = run(ServerBean.class)) {
			context.stop();
			assertThatExceptionOfType(Exception.class).isThrownBy(context::start)
				.havingRootCause()
				.withMessageContaining("was started before");
		}
	}

	@Test
	void mistakesAreFoundBeforeAnythingIsStarted() {
		AtomicBoolean started = new AtomicBoolean();
		SmartLifecycle other = mock(SmartLifecycle.class);
		given(other.isAutoStartup()).willReturn(true);
		given(other.getPhase()).willReturn(Integer.MIN_VALUE);
		willAnswer((call) -> {
			started.set(true);
			return null;
		}).given(other).start();
		new ApplicationContextRunner().withConfiguration(AutoConfigurations.of(LeaderFollowersAutoConfiguration.class))
			.withUserConfiguration(ServerBean.class)
			.withBean("other", SmartLifecycle.class, () -> other)
			.run((context) -> assertThat(started).isTrue());
		started.set(false);
		try (LeaderFollowersPool pool = LeaderFollowersPool.builder().build()) {
			new ApplicationContextRunner()
				.withConfiguration(AutoConfigurations.of(LeaderFollowersAutoConfiguration.class))
				.withUserConfiguration(ServerBean.class)
				.withBean("second", TcpServer.class, () -> server(pool, "default", 0))
				.withBean("other", SmartLifecycle.class, () -> other)
				.run((context) -> assertThat(context).getFailure()
					.rootCause()
					.hasMessageContaining("There are two servers named 'default'"));
		}
		assertThat(started).isFalse();
	}

	@Test
	void portInUseFailsTheStartAndStopsTheOthers(CapturedOutput output) throws IOException {
		try (ServerSocket taken = new ServerSocket(0)) {
			assertThatExceptionOfType(Exception.class)
				.isThrownBy(() -> run(EchoAndOrders.class, "lf.server.port=0",
						"lf.servers.orders.port=" + taken.getLocalPort()))
				.withCauseInstanceOf(ServerBindException.class);
			assertThat(output).contains("APPLICATION FAILED TO START")
				.contains("Server 'orders' could not be started: port %d is already in use."
					.formatted(taken.getLocalPort()))
				.contains(
						"Stop the other process, or the other server of this application, that listens on port %d; or set the property 'lf.servers.orders.port' to another port. 0 stands for any free port."
							.formatted(taken.getLocalPort()));
			int first = Integer
				.parseInt(output.toString().replaceFirst("(?s).*Server 'default' started on port (\\d+).*", "$1"));
			assertRefused(first);
		}
		assertNoThreads();
	}

	@Test
	void eitherAllServersStartOrNone(CapturedOutput output) throws IOException {
		try (ServerSocket taken = new ServerSocket(0);
				LeaderFollowersPool pool = LeaderFollowersPool.builder().build()) {
			LeaderFollowersServers servers = LeaderFollowersServers.builder()
				.bean("first", server(pool, "first", 0))
				.bean("second", server(pool, "second", taken.getLocalPort()))
				.build();
			assertThatExceptionOfType(ServerBindException.class).isThrownBy(() -> servers.start((server) -> {
			}));
			assertThat(output).contains("Server 'first' started");
			assertThat(servers.get("first").snapshot().state()).isEqualTo(ServerSnapshot.State.STOPPED);
		}
	}

	@Test
	void theLastServerIsStoppedFirst(CapturedOutput output) {
		try (LeaderFollowersPool pool = LeaderFollowersPool.builder().build()) {
			LeaderFollowersServers servers = LeaderFollowersServers.builder()
				.bean("first", server(pool, "first", 0))
				.bean("second", server(pool, "second", 0))
				.build();
			servers.start((server) -> {
			});
			servers.stop();
		}
		assertThat(output).containsSubsequence("Server 'first' started", "Server 'second' started",
				"Server 'second' is stopped", "Server 'first' is stopped");
	}

	@Test
	void allServersAreStoppedEvenIfAListenerFails(CapturedOutput output) {
		try (ConfigurableApplicationContext context = run(EchoAndOrders.class, "lf.server.port=0",
				"lf.servers.orders.port=0")) {
			context.addApplicationListener((ApplicationListener<ServerStoppedEvent>) (event) -> {
				throw new IllegalStateException("told of " + event.getServer().name());
			});
			context.stop();
			assertThat(context.getBean(LeaderFollowersServers.class))
				.allSatisfy((server) -> assertThat(server.snapshot().state()).isEqualTo(ServerSnapshot.State.STOPPED));
			assertThat(output).contains("told of default").contains("told of orders");
		}
		assertNoThreads();
	}

	private static TcpServer server(LeaderFollowersPool pool, String name, int port) {
		return TcpServer.builder(pool).name(name).port(port).framing(Framing.line()).handler(new EchoHandler()).build();
	}

	@Test
	void secondInstanceOnTheSamePortFails(CapturedOutput output) {
		try (ConfigurableApplicationContext context = run(Echo.class, "lf.server.port=0")) {
			int port = port(context);
			assertThatExceptionOfType(Exception.class).isThrownBy(() -> run(Echo.class, "lf.server.port=" + port));
			assertThat(output)
				.contains("Server 'default' could not be started: port %d is already in use.".formatted(port))
				.contains("set the property 'lf.server.port' to another port");
		}
	}

	@Test
	void addressOfAnotherMachineFailsTheStart(CapturedOutput output) {
		assertThatExceptionOfType(Exception.class)
			.isThrownBy(() -> run(Echo.class, "lf.server.port=0", "lf.server.address=192.0.2.1"))
			.withCauseInstanceOf(ServerBindException.class);
		assertThat(output).contains("APPLICATION FAILED TO START")
			.contains(
					"Server 'default' could not be started: no network interface of this machine has the address 192.0.2.1.")
			.contains(
					"Set the property 'lf.server.address' to an address of this machine, or remove it to listen on all of them.");
	}

	@Test
	void aContextThatDoesNotTellItsListenersMayHaveOne() {
		EventPublication events = new EventPublication(mock(ApplicationContext.class));
		events.listenersAreKnown();
		assertThat(events.supports("default")).isTrue();
	}

	@Test
	void serverKeepsTheVirtualMachineAlive() throws Exception {
		Process process = new ProcessBuilder(ProcessHandle.current().info().command().orElse("java"), "-cp",
				System.getProperty("java.class.path"), Main.class.getName())
			.redirectErrorStream(true)
			.start();
		try (var output = process.inputReader()) {
			assertThat(output.lines().anyMatch((line) -> line.equals("main has ended"))).isTrue();
			String line = output.readLine();
			int port = Integer.parseInt(line);
			try (LineClient client = new LineClient(port)) {
				assertThat(client.ask("hello")).isEqualTo("hello");
			}
			process.destroy();
			assertThat(process.waitFor(PATIENCE.toSeconds(), TimeUnit.SECONDS)).isTrue();
			assertThat(process.exitValue()).isEqualTo(128 + 15);
		}
		finally {
			process.destroyForcibly();
		}
	}

	private static ConfigurableApplicationContext run(Class<?> configuration, String... properties) {
		String[] arguments = new String[properties.length];
		for (int i = 0; i < properties.length; i++) {
			arguments[i] = "--" + properties[i];
		}
		return new SpringApplicationBuilder(Autoconfigured.class, configuration).web(WebApplicationType.NONE)
			.bannerMode(Banner.Mode.OFF)
			.run(arguments);
	}

	private static int port(ConfigurableApplicationContext context) {
		return context.getEnvironment().getRequiredProperty("local.lf.server.port", Integer.class);
	}

	/**
	 * Waits, because the selector only closes the socket when it selects the next time.
	 */
	private static void assertRefused(int port) {
		Awaitility.await()
			.atMost(PATIENCE)
			.untilAsserted(() -> assertThatExceptionOfType(ConnectException.class)
				.isThrownBy(() -> new LineClient(port).close()));
	}

	/** Waits, because a thread may end a moment after its work. */
	private static void assertNoThreads() {
		Awaitility.await().atMost(PATIENCE).untilAsserted(() -> assertThat(threads()).isEmpty());
	}

	private static Set<Thread> threads() {
		Set<Thread> threads = new HashSet<>(Thread.getAllStackTraces().keySet());
		threads.removeIf((thread) -> !thread.getName().startsWith("lf-"));
		return threads;
	}

	static class Main {

		public static void main(String[] args) {
			ConfigurableApplicationContext context = run(Echo.class, "lf.server.port=0");
			Thread main = Thread.currentThread();
			Thread reporter = new Thread(() -> {
				try {
					main.join();
				}
				catch (InterruptedException ex) {
					Thread.currentThread().interrupt();
				}
				System.out.println("main has ended");
				System.out.println(port(context));
			});
			reporter.setDaemon(true);
			reporter.start();
		}

	}

	@Configuration(proxyBeanMethods = false)
	@ImportAutoConfiguration({ LeaderFollowersAutoConfiguration.class, LifecycleAutoConfiguration.class })
	static class Autoconfigured {

	}

	@Configuration(proxyBeanMethods = false)
	static class Parent {

	}

	@Configuration(proxyBeanMethods = false)
	static class Echo {

		@Bean
		@LfHandler
		MessageHandler echo() {
			return new EchoHandler();
		}

	}

	@Configuration(proxyBeanMethods = false)
	static class EchoAndOrders {

		@Bean
		@LfHandler
		MessageHandler echo() {
			return new EchoHandler();
		}

		@Bean
		@LfHandler("orders")
		MessageHandler orders() {
			return new EchoHandler();
		}

	}

	@Configuration(proxyBeanMethods = false)
	static class Gated {

		@Bean
		@LfHandler
		Gate gate() {
			return new Gate();
		}

	}

	@Configuration(proxyBeanMethods = false)
	static class ServerBean {

		@Bean
		TcpServer server(LeaderFollowersPools pools) {
			return TcpServer.builder(pools.get("default"))
				.port(0)
				.framing(Framing.line())
				.handler(new EchoHandler())
				.build();
		}

	}

	static class Gate implements MessageHandler {

		private final CountDownLatch received = new CountDownLatch(1);

		private final CountDownLatch open = new CountDownLatch(1);

		@Override
		public void onMessage(Connection connection, ByteBuffer message) throws Exception {
			this.received.countDown();
			this.open.await();
			connection.send(message);
		}

		void awaitMessage() throws InterruptedException {
			assertThat(this.received.await(PATIENCE.toSeconds(), TimeUnit.SECONDS)).isTrue();
		}

		void open() {
			this.open.countDown();
		}

	}

}
