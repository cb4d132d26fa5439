package org.leaderfollowers.docs.sessions;

import java.time.Duration;
import java.util.concurrent.CompletableFuture;

import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.leaderfollowers.spring.server.LeaderFollowersServers;
import org.leaderfollowers.spring.test.client.TcpTestClient;

import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.boot.test.context.SpringBootTest;
import org.springframework.boot.test.context.SpringBootTest.WebEnvironment;
import org.springframework.web.client.RestClient;

import static org.assertj.core.api.Assertions.assertThat;
import static org.leaderfollowers.spring.test.assertion.LfAssertions.assertThat;

/** The meters of the guide behave as the guide says. */
@Timeout(180)
@SpringBootTest(webEnvironment = WebEnvironment.RANDOM_PORT,
		properties = { "spring.config.location=classpath:sessions.yaml", "lf.servers.meters.port=0",
				"management.endpoints.web.exposure.include=lfsessions" },
		classes = SessionSnippetTests.Application.class)
class SessionSnippetTests {

	@Autowired
	private LeaderFollowersServers servers;

	@Autowired
	private Presence presence;

	@Value("${local.server.port}")
	private int httpPort;

	private TcpTestClient meter(String serialNumber) {
		TcpTestClient meter = TcpTestClient.connect(this.servers.get("meters").port());
		assertThat(meter.exchange("HELLO " + serialNumber)).isEqualTo("WELCOME");
		return meter;
	}

	private String get(String path) {
		return RestClient.create("http://localhost:" + this.httpPort)
			.get()
			.uri(path)
			.exchange((request, response) -> response.getStatusCode().value() + " " + response.bodyTo(String.class));
	}

	@Test
	void aMeterIsReadByItsSerialNumber() {
		assertThat(get("/meters/DE4711/reading")).isEqualTo("409 The meter is not connected");
		try (TcpTestClient meter = meter("DE4711")) {
			CompletableFuture<String> answer = CompletableFuture.supplyAsync(() -> get("/meters/DE4711/reading"));
			assertThat(meter.receive()).isEqualTo("READ");
			meter.send("{\"wattHours\":5}");
			assertThat(answer).succeedsWithin(Duration.ofSeconds(60)).isEqualTo("200 {\"wattHours\":5}");
			assertThat(get("/actuator/lfsessions/DE4711")).startsWith("200 ").contains("\"server\":\"meters\"");
			assertThat(get("/actuator/lfsessions")).contains("\"nodes\":[{\"id\":\"local\"", "\"name\":\"DE4711\"");
			assertThat(this.presence.open()).hasSize(1);
		}
		Awaitility.await().atMost(Duration.ofSeconds(60)).until(() -> this.presence.open().isEmpty());
		assertThat(get("/actuator/lfsessions/DE4711")).startsWith("404 ");
	}

	@Test
	void aRegionIsToldSomething() {
		try (TcpTestClient german = meter("DE1"); TcpTestClient french = meter("FR1")) {
			assertThat(RestClient.create("http://localhost:" + this.httpPort)
				.post()
				.uri("/regions/DE/messages")
				.body("hello")
				.retrieve()
				.body(String.class)).startsWith("{\"sent\":1,");
			assertThat(german.receive()).isEqualTo("hello");
			assertThat(french.exchange("HELLO FR2")).as("nothing else was sent").isEqualTo("WELCOME");
		}
	}

	@SpringBootApplication
	static class Application {

	}

}
