package org.leaderfollowers.docs.push;

import java.time.Duration;

import org.awaitility.Awaitility;
import org.awaitility.core.ThrowingRunnable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.leaderfollowers.spring.handler.LfConnections;
import org.leaderfollowers.spring.server.LeaderFollowersServers;
import org.leaderfollowers.spring.test.client.TcpTestClient;

import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.boot.test.context.SpringBootTest;
import org.springframework.boot.test.context.SpringBootTest.WebEnvironment;
import org.springframework.http.HttpStatus;
import org.springframework.http.HttpStatusCode;
import org.springframework.web.client.RestClient;

import static org.assertj.core.api.Assertions.assertThat;
import static org.leaderfollowers.spring.test.assertion.LfAssertions.assertThat;

/** The chat of the guide behaves as the guide says. */
@Timeout(180)
@SpringBootTest(webEnvironment = WebEnvironment.RANDOM_PORT,
		properties = { "spring.config.location=classpath:push.yaml", "lf.servers.chat.port=0" },
		classes = PushSnippetTests.Application.class)
class PushSnippetTests {

	@Autowired
	private LeaderFollowersServers servers;

	@Autowired
	private LfConnections connections;

	@Value("${local.server.port}")
	private int httpPort;

	/**
	 * Waits until all members of an earlier test have left, so that no member is told
	 * about it later.
	 */
	@AfterEach
	void awaitThatAllHaveLeft() {
		await(() -> assertThat(this.servers.get("chat").snapshot().openConnections()).isZero());
	}

	private static void await(ThrowingRunnable assertion) {
		Awaitility.await().atMost(Duration.ofSeconds(60)).untilAsserted(assertion);
	}

	private TcpTestClient enter(String name) {
		TcpTestClient client = TcpTestClient.connect(this.servers.get("chat").port());
		assertThat(client.exchange("NAME " + name)).isEqualTo("Welcome, " + name);
		return client;
	}

	private HttpStatusCode post(String name, String text) {
		return RestClient.create("http://localhost:" + this.httpPort)
			.post()
			.uri("/members/{name}/messages", name)
			.body(text)
			.exchange((request, response) -> response.getStatusCode());
	}

	@Test
	void everyoneHearsEveryone() {
		try (TcpTestClient alice = enter("Alice"); TcpTestClient bob = enter("Bob")) {
			try (TcpTestClient stranger = TcpTestClient.connect(this.servers.get("chat").port())) {
				assertThat(stranger.exchange("hello")).startsWith("Who are you?");
			}
			alice.send("Hello!");
			assertThat(alice.receive()).isEqualTo("Alice: Hello!");
			assertThat(bob.receive()).isEqualTo("Alice: Hello!");
			alice.close();
			assertThat(bob.receive()).isEqualTo("Alice has left");
		}
	}

	@Test
	void theControllerReachesAMember() {
		try (TcpTestClient carol = enter("Carol")) {
			assertThat(post("Carol", "Dinner is ready")).isEqualTo(HttpStatus.OK);
			assertThat(carol.receive()).isEqualTo("Dinner is ready");
		}
		await(() -> assertThat(this.connections.find("chat", "Carol")).isEmpty());
		assertThat(post("Carol", "Too late")).isEqualTo(HttpStatus.NOT_FOUND);
	}

	@Test
	void aMemberHasOneConnection() {
		try (TcpTestClient first = enter("Dave"); TcpTestClient second = enter("Dave")) {
			assertThat(first).isClosedByServer();
			assertThat(post("Dave", "Welcome back")).isEqualTo(HttpStatus.OK);
			assertThat(second.receive()).isEqualTo("Welcome back");
		}
	}

	@SpringBootApplication
	static class Application {

	}

}
