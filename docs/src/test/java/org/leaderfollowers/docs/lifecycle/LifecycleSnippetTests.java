package org.leaderfollowers.docs.lifecycle;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicReference;

import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;
import org.leaderfollowers.MessageHandler;
import org.leaderfollowers.docs.StxEtxFraming;
import org.leaderfollowers.spring.annotation.LfHandler;
import org.leaderfollowers.spring.server.LeaderFollowersPools;
import org.leaderfollowers.spring.server.LeaderFollowersServers;
import org.slf4j.MDC;

import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.test.context.SpringBootTest;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * The examples of the chapters about the lifecycle of servers and about framings behave
 * as the chapters say.
 */
@SpringBootTest(
		properties = { "spring.config.import=classpath:framing-bean.yaml", "lf.server.port=0",
				"lf.servers.terminals.port=0", "lf.servers.orders.port=0", "lf.pools.database.threads.max=5" },
		classes = LifecycleSnippetTests.Application.class)
class LifecycleSnippetTests {

	private static final int TIMEOUT_MILLIS = 30_000;

	@Autowired
	private LeaderFollowersServers servers;

	@Test
	void framingBeanTellsMessagesApart() throws IOException {
		try (Socket socket = connect("terminals")) {
			socket.getOutputStream().write("\u0002a\u0003\u0002bc\u0003".getBytes(StandardCharsets.US_ASCII));
			assertThat(new String(socket.getInputStream().readNBytes(7), StandardCharsets.US_ASCII))
				.isEqualTo("\u0002a\u0003\u0002bc\u0003");
		}
	}

	@Test
	void connectionIsInTheLogAndAudited(@Autowired ConnectionAudit audit) throws IOException {
		try (Socket socket = connect("orders")) {
			assertThat(ask(socket, "who")).startsWith("orders-");
		}
		Awaitility.await()
			.atMost(Duration.ofSeconds(60))
			.untilAsserted(() -> assertThat(audit.entries()).anyMatch((entry) -> entry.startsWith("opened orders "))
				.contains("closed orders PEER"));
	}

	@Test
	void buildersAreCustomized(@Autowired LeaderFollowersPools pools) {
		assertThat(this.servers.get("orders")).hasFieldOrPropertyWithValue("life.options.backlog", 16);
		assertThat(this.servers.get("terminals")).hasFieldOrPropertyWithValue("life.options.backlog", 1024);
		assertThat(pools.get("database").snapshot().maxThreads()).isEqualTo(12);
	}

	@Test
	void clientsWaitDuringMaintenance(@Autowired Maintenance maintenance) throws IOException {
		AtomicReference<Socket> waiting = new AtomicReference<>();
		maintenance.whileOrdersArePaused(() -> {
			assertThat(this.servers.get("orders").isPaused()).isTrue();
			assertThat(this.servers.get("terminals").isPaused()).isFalse();
			waiting.set(connect("orders"));
		});
		try (Socket socket = waiting.get()) {
			assertThat(ask(socket, "who")).startsWith("orders-");
		}
		maintenance.whileEverythingIsPaused(() -> assertThat(this.servers).allMatch((server) -> server.isPaused()));
		assertThat(this.servers).noneMatch((server) -> server.isPaused());
	}

	private Socket connect(String server) {
		try {
			Socket socket = new Socket(InetAddress.getLoopbackAddress(), this.servers.get(server).port());
			socket.setSoTimeout(TIMEOUT_MILLIS);
			return socket;
		}
		catch (IOException ex) {
			throw new IllegalStateException(ex);
		}
	}

	private static String ask(Socket socket, String line) throws IOException {
		socket.getOutputStream().write((line + "\n").getBytes(StandardCharsets.UTF_8));
		return new BufferedReader(new InputStreamReader(socket.getInputStream(), StandardCharsets.UTF_8)).readLine();
	}

	@Configuration(proxyBeanMethods = false)
	@EnableAutoConfiguration
	@Import({ LifecycleConfiguration.class, ConnectionAudit.class, Maintenance.class, StxEtxFraming.class })
	static class Application {

		@Bean
		@LfHandler(server = "orders")
		MessageHandler orders() {
			return (connection, message) -> connection
				.send(StandardCharsets.UTF_8.encode(String.valueOf(MDC.get("connection"))));
		}

		@Bean
		@LfHandler
		MessageHandler configuredForAllTests() {
			return (connection, message) -> connection.send(message);
		}

		@Bean
		@LfHandler(server = "terminals")
		MessageHandler terminals() {
			return (connection, message) -> connection.send(message);
		}

	}

}
