package org.leaderfollowers.spring.server;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;

import org.awaitility.Awaitility;
import org.awaitility.core.ConditionFactory;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.leaderfollowers.Connection;
import org.leaderfollowers.OwedReply;
import org.leaderfollowers.spring.FreePort;
import org.leaderfollowers.spring.annotation.LfHandler;
import org.leaderfollowers.spring.annotation.OnDrain;
import org.leaderfollowers.spring.annotation.OnMessage;

import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assumptions.assumeThat;

/**
 * Two nodes behind a real HAProxy, if it is installed, are replaced one after the other
 * while clients send requests. HAProxy checks the readiness of the nodes, and sends them
 * the PROXY protocol. A node signs off, its client replies to that, and connects again.
 */
@Timeout(300)
class RollingReplacementTests {

	private static final List<Path> PLACES = List.of(Path.of("/usr/sbin/haproxy"), Path.of("/usr/local/sbin/haproxy"));

	private static final int CLIENTS = 8;

	/** The requests that a handler has seen. Applications of both nodes share it. */
	private static final Set<Long> received = ConcurrentHashMap.newKeySet();

	private final Set<Long> answered = ConcurrentHashMap.newKeySet();

	private final AtomicLong requests = new AtomicLong();

	private final AtomicInteger connects = new AtomicInteger();

	private final Queue<Throwable> failures = new ConcurrentLinkedQueue<>();

	private final List<Thread> clients = new ArrayList<>();

	private final Node[] nodes = new Node[2];

	private volatile boolean done;

	private @Nullable Process haproxy;

	private int port;

	private int statistics;

	@TempDir
	Path directory;

	/** A place for a node: its ports stay when it is replaced. */
	private static final class Node {

		private final int port;

		private final int httpPort;

		private ConfigurableApplicationContext context;

		Node() throws IOException {
			this.port = FreePort.find();
			this.httpPort = FreePort.find();
			this.context = start();
		}

		/** With a delay that does not end by itself during the test. */
		ConfigurableApplicationContext start() {
			return new SpringApplicationBuilder(Application.class).run("--lf.server.port=" + this.port,
					"--lf.server.address=127.0.0.1", "--lf.server.proxy-protocol.trusted-networks=127.0.0.1",
					"--server.port=" + this.httpPort, "--server.address=127.0.0.1",
					"--management.endpoint.health.probes.enabled=true", "--lf.shutdown.delay=250s",
					"--spring.lifecycle.timeout-per-shutdown-phase=280s", "--lf.shutdown.close-rate=50/s");
		}

	}

	@Configuration(proxyBeanMethods = false)
	@EnableAutoConfiguration
	static class Application {

		@Bean
		Orders orders() {
			return new Orders();
		}

	}

	/**
	 * Replies to a request by its number and the port of the client. A connection that
	 * drains stays open until the client has replied to the sign-off, because a reply is
	 * owed.
	 */
	@LfHandler
	static class Orders {

		@OnMessage
		@Nullable String order(String message, Connection connection) {
			if (message.equals("bye")) {
				((OwedReply) connection.attributes().get("owed")).close();
				return null;
			}
			received.add(Long.valueOf(message));
			return message + " " + connection.remoteAddress().getPort();
		}

		@OnDrain
		String signOff(Connection connection) {
			connection.attributes().put("owed", connection.owe());
			return "bye";
		}

	}

	@BeforeEach
	void start() throws IOException {
		Path executable = PLACES.stream().filter(Files::isExecutable).findFirst().orElse(null);
		assumeThat(executable).as("HAProxy is installed").isNotNull();
		received.clear();
		this.nodes[0] = new Node();
		this.nodes[1] = new Node();
		this.port = FreePort.find();
		this.statistics = FreePort.find();
		List<String> lines = new ArrayList<>(List.of("global", "  maxconn 100", "defaults", "  timeout connect 60s",
				"  timeout client 300s", "  timeout server 300s",
				// Otherwise a check that takes longer than its interval has failed. If no
				// node is up, HAProxy ends the connections of clients.
				"  timeout check 60s", "listen statistics", "  mode http", "  stats enable", "  stats uri /",
				"  bind 127.0.0.1:" + this.statistics, "listen nodes", "  mode tcp", "  bind 127.0.0.1:" + this.port,
				"  option redispatch 1", "  retries 3", "  option httpchk GET /actuator/health/readiness"));
		for (int i = 0; i < 2; i++) {
			lines.add("  server node%d 127.0.0.1:%d send-proxy-v2 check port %d inter 100 fall 2 rise 2".formatted(i,
					this.nodes[i].port, this.nodes[i].httpPort));
		}
		Path file = this.directory.resolve("haproxy.cfg");
		Files.write(file, lines);
		this.haproxy = new ProcessBuilder(String.valueOf(executable), "-db", "-f", file.toString())
			.redirectErrorStream(true)
			.redirectOutput(this.directory.resolve("haproxy.log").toFile())
			.start();
	}

	@AfterEach
	void stop() throws Exception {
		this.done = true;
		for (Thread client : this.clients) {
			client.join(Duration.ofSeconds(60).toMillis());
		}
		if (this.haproxy != null) {
			this.haproxy.destroy();
			if (!this.haproxy.waitFor(10, TimeUnit.SECONDS)) {
				this.haproxy.destroyForcibly().waitFor();
			}
		}
		for (Node node : this.nodes) {
			if (node != null && node.context.isActive()) {
				close(node, () -> {
				});
			}
		}
	}

	private static ConditionFactory eventually() {
		return Awaitility.await().atMost(Duration.ofSeconds(120));
	}

	/** Waits until HAProxy considers a node to be up or down. */
	private void awaitStatus(int node, String status) {
		HttpClient http = HttpClient.newHttpClient();
		HttpRequest request = HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + this.statistics + "/;csv"))
			.timeout(Duration.ofSeconds(60))
			.build();
		eventually().ignoreExceptions().untilAsserted(() -> {
			String report = http.send(request, HttpResponse.BodyHandlers.ofString()).body();
			assertThat(report.lines().filter((line) -> line.startsWith("nodes,node" + node + ","))).singleElement()
				.satisfies((line) -> assertThat(line.split(",")[17]).startsWith(status));
		});
	}

	private void run(Runnable client) {
		Thread thread = new Thread(client, "client");
		this.clients.add(thread);
		thread.start();
	}

	private void client() {
		try {
			while (!this.done) {
				connection();
			}
		}
		catch (Throwable ex) {
			this.failures.add(ex);
		}
	}

	/** Sends requests over one connection until the node signs off. */
	private void connection() throws IOException {
		try (Socket socket = new Socket()) {
			socket.connect(new InetSocketAddress(InetAddress.getLoopbackAddress(), this.port), 60_000);
			socket.setSoTimeout(120_000);
			this.connects.incrementAndGet();
			BufferedReader input = new BufferedReader(
					new InputStreamReader(socket.getInputStream(), StandardCharsets.US_ASCII));
			boolean signedOff = false;
			while (!this.done && !signedOff) {
				long number = this.requests.incrementAndGet();
				write(socket, Long.toString(number));
				String line = input.readLine();
				if ("bye".equals(line)) {
					signedOff = true;
					line = input.readLine();
				}
				assertThat(line).as("the reply to %d, received: %s", number, received.contains(number))
					.isEqualTo(number + " " + socket.getLocalPort());
				this.answered.add(number);
			}
			if (signedOff) {
				write(socket, "bye");
				assertThat(input.readLine()).isNull();
			}
		}
	}

	private static void write(Socket socket, String line) throws IOException {
		socket.getOutputStream().write((line + "\n").getBytes(StandardCharsets.US_ASCII));
	}

	/**
	 * Closes the application of a node, as a signal does.
	 * @param noticed waits until the node gets no new clients
	 */
	private static void close(Node node, Runnable noticed) throws InterruptedException {
		Thread closing = new Thread(node.context::close);
		closing.start();
		noticed.run();
		eventually().until(() -> {
			Thread.getAllStackTraces()
				.keySet()
				.stream()
				.filter((thread) -> thread.getName().equals("lf-shutdown-delay"))
				.forEach(Thread::interrupt);
			return !closing.isAlive();
		});
	}

	private void awaitRequests(int more) {
		long before = this.answered.size();
		eventually().until(() -> !this.failures.isEmpty() || this.answered.size() >= before + more);
		assertThat(this.failures).isEmpty();
	}

	@Test
	void noRequestIsLost() throws Exception {
		awaitStatus(0, "UP");
		awaitStatus(1, "UP");
		for (int i = 0; i < CLIENTS; i++) {
			run(this::client);
		}
		awaitRequests(200);
		for (int i = 0; i < 2; i++) {
			Node node = this.nodes[i];
			int number = i;
			close(node, () -> awaitStatus(number, "DOWN"));
			awaitRequests(200);
			node.context = node.start();
			awaitStatus(i, "UP");
			awaitRequests(200);
		}
		this.done = true;
		for (Thread client : this.clients) {
			client.join(Duration.ofSeconds(120).toMillis());
			assertThat(client.isAlive()).isFalse();
		}
		assertThat(this.failures).isEmpty();
		assertThat(this.answered).isEqualTo(received).hasSize(this.requests.intValue());
		// Every client was connected to one of the nodes, and both were replaced.
		assertThat(this.connects.get()).isGreaterThanOrEqualTo(2 * CLIENTS);
	}

}
