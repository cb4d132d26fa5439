package org.leaderfollowers.docs.parallel;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;

import org.junit.jupiter.api.Test;
import org.leaderfollowers.TcpServer;
import org.leaderfollowers.spring.server.LeaderFollowersServers;

import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.boot.test.context.SpringBootTest;
import org.springframework.context.annotation.Bean;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/** The examples of the chapter about messages in parallel behave as the chapter says. */
@SpringBootTest(properties = { "spring.config.location=classpath:parallel.yaml", "lf.servers.payments.port=0" },
		classes = ParallelSnippetTests.Application.class)
class ParallelSnippetTests {

	@Autowired
	private LeaderFollowersServers servers;

	@Autowired
	private GatedLedger ledger;

	@Test
	void bookingsOfOneAccountStayInOrderAndADrainWaitsForTheirReplies() throws Exception {
		TcpServer server = (TcpServer) this.servers.get("payments");
		try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), server.port())) {
			socket.setSoTimeout(20_000);
			BufferedReader reader = new BufferedReader(
					new InputStreamReader(socket.getInputStream(), StandardCharsets.US_ASCII));
			send(socket, "#17 wait\n#17 second\n#18 other\nbalance\n");
			assertThat(List.of(reader.readLine(), reader.readLine())).containsExactlyInAnyOrder("#18 other done",
					"balance done");
			CompletableFuture<Boolean> closed = CompletableFuture
				.supplyAsync(() -> server.close(Duration.ofSeconds(30)), (task) -> new Thread(task).start());
			await().atMost(Duration.ofSeconds(60)).until(() -> server.connection(1).isDraining());
			this.ledger.gate.countDown();
			assertThat(List.of(reader.readLine(), reader.readLine())).containsExactly("#17 wait done",
					"#17 second done");
			assertThat(reader.readLine()).isNull();
			assertThat(closed.get(30, TimeUnit.SECONDS)).isTrue();
		}
	}

	private static void send(Socket socket, String text) throws IOException {
		socket.getOutputStream().write(text.getBytes(StandardCharsets.US_ASCII));
	}

	static class GatedLedger implements Ledger {

		final CountDownLatch gate = new CountDownLatch(1);

		@Override
		public String book(String request) {
			if (request.endsWith("wait")) {
				try {
					assertThat(this.gate.await(20, TimeUnit.SECONDS)).isTrue();
				}
				catch (InterruptedException ex) {
					Thread.currentThread().interrupt();
				}
			}
			return request + " done";
		}

	}

	@SpringBootApplication
	static class Application {

		@Bean(destroyMethod = "shutdown")
		ExecutorService executor() {
			return Executors.newCachedThreadPool();
		}

		@Bean
		GatedLedger ledger() {
			return new GatedLedger();
		}

	}

}
