package org.leaderfollowers.spring.actuate;

import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.time.Instant;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;

import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;
import org.leaderfollowers.Connection;
import org.leaderfollowers.MessageHandler;
import org.leaderfollowers.spring.LineClient;
import org.leaderfollowers.spring.annotation.LfHandler;

import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.test.context.SpringBootTest;
import org.springframework.boot.test.context.SpringBootTest.WebEnvironment;
import org.springframework.boot.test.json.BasicJsonTester;
import org.springframework.boot.test.json.JsonContent;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.test.annotation.DirtiesContext;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for {@link LeaderFollowersEndpoint} over HTTP.
 */
@SpringBootTest(webEnvironment = WebEnvironment.RANDOM_PORT,
		properties = { "management.endpoints.web.exposure.include=leaderfollowers", "lf.server.port=0",
				"lf.server.address=127.0.0.1", "lf.pool.threads.min=2", "lf.pool.threads.max=5",
				"lf.pools.spare.handle-sets=2", "lf.pools.spare.parallelism=5",
				"lf.pools.spare.promotion.lease=500ms" })
// Its threads would be left over for tests that look for such.
@DirtiesContext
class LeaderFollowersEndpointTests {

	private final HttpClient http = HttpClient.newHttpClient();

	private final BasicJsonTester json = new BasicJsonTester(getClass());

	@Value("${local.server.port}")
	private int httpPort;

	@Value("${local.lf.server.port}")
	private int port;

	@Autowired
	private Gate gate;

	@Test
	void showsPoolsAndServers() throws Exception {
		Instant before = Instant.now();
		try (LineClient client = new LineClient(this.port)) {
			client.send("hello");
			this.gate.awaitMessage();
			AtomicReference<JsonContent<Object>> answer = new AtomicReference<>();
			// The next leader is woken, but may not run yet.
			Awaitility.await().untilAsserted(() -> {
				answer.set(this.json.from(get("").body()));
				assertThat(answer.get()).extractingJsonPathNumberValue("$.pools.default.roles.LEADER").isEqualTo(1);
				assertThat(answer.get()).extractingJsonPathNumberValue("$.pools.default.roles.PROCESSING").isEqualTo(1);
			});
			JsonContent<Object> body = answer.get();
			assertThat(body).extractingJsonPathMapValue("$.pools").containsOnlyKeys("default", "spare");
			assertThat(body).extractingJsonPathStringValue("$.pools.default.state").isEqualTo("RUNNING");
			assertThat(body).extractingJsonPathNumberValue("$.pools.default.configuration.threads.min").isEqualTo(2);
			assertThat(body).extractingJsonPathNumberValue("$.pools.default.configuration.threads.max").isEqualTo(5);
			assertThat(body).extractingJsonPathStringValue("$.pools.default.configuration.threads.keepAlive")
				.isEqualTo("PT1M");
			assertThat(body).extractingJsonPathStringValue("$.pools.default.configuration.promotion.policy")
				.isEqualTo("ADAPTIVE");
			assertThat(body).extractingJsonPathStringValue("$.pools.default.configuration.promotion.order")
				.isEqualTo("LIFO");
			assertThat(body).extractingJsonPathStringValue("$.pools.default.configuration.promotion.lease")
				.isEqualTo("PT0.002S");
			assertThat(body).extractingJsonPathStringValue("$.pools.spare.configuration.promotion.lease")
				.isEqualTo("PT0.5S");
			assertThat(body).extractingJsonPathNumberValue("$.pools.default.configuration.maxBufferedBytes")
				.satisfies((bytes) -> assertThat(bytes.longValue()).isEqualTo(Runtime.getRuntime().maxMemory() / 4));
			assertThat(body).extractingJsonPathNumberValue("$.pools.default.bufferedBytes").isEqualTo(0);
			String processing = "$.pools.default.threads[?(@.role=='PROCESSING')]";
			assertThat(body).extractingJsonPathArrayValue(processing + ".name").hasSize(1);
			assertThat(body).extractingJsonPathArrayValue(processing + ".handle").hasSize(1);
			assertThat(body).extractingJsonPathArrayValue(processing + ".handler")
				.singleElement()
				.asString()
				.contains("gate");
			assertThat(body).extractingJsonPathArrayValue(processing + ".since")
				.singleElement()
				.satisfies((since) -> assertThat(Instant.parse((String) since)).isBetween(before.minusSeconds(1),
						Instant.now()));
			assertThat(body).extractingJsonPathStringValue("$.pools.default.handleSets[0].leader").startsWith("lf-");
			assertThat(body).extractingJsonPathNumberValue("$.pools.default.handleSets[0].handles.registered")
				.isEqualTo(2);
			assertThat(body).hasJsonPathNumberValue("$.pools.default.handleSets[0].handles.active");
			assertThat(body).hasJsonPathNumberValue("$.pools.default.handleSets[0].handles.deactivated");
			assertThat(body).hasJsonPathNumberValue("$.pools.default.handleSets[0].events.READ");
			assertThat(body).extractingJsonPathMapValue("$.pools.default.handleSets[0].sharing")
				.containsOnlyKeys("threads", "events", "reliefs");
			// Its handler is not known to be short yet.
			assertThat(body).extractingJsonPathNumberValue("$.pools.default.handleSets[0].sharing.threads")
				.isEqualTo(0);
			assertThat(body).hasJsonPathNumberValue("$.pools.default.promotions.EAGER");
			assertThat(body).hasJsonPathNumberValue("$.pools.default.handOffs.count");
			assertThat(body).extractingJsonPathStringValue("$.pools.default.handOffs.totalTime")
				.satisfies((time) -> assertThat(Duration.parse(time)).isGreaterThanOrEqualTo(Duration.ZERO));
			assertThat(body).hasJsonPathNumberValue("$.pools.default.handOffs.wakeUps");
			assertThat(body).hasJsonPathNumberValue("$.pools.default.leaderless.periods");
			assertThat(body).extractingJsonPathStringValue("$.pools.default.leaderless.totalTime")
				.satisfies((time) -> assertThat(Duration.parse(time)).isGreaterThanOrEqualTo(Duration.ZERO));
			assertThat(body).hasJsonPathNumberValue("$.pools.default.leaderless.starvations");
			assertThat(body).extractingJsonPathStringValue("$.pools.default.leaderless.starvedFor").isEqualTo("PT0S");
			assertThat(body).extractingJsonPathStringValue("$.servers.default.state").isEqualTo("RUNNING");
			assertThat(body).extractingJsonPathBooleanValue("$.servers.default.paused").isFalse();
			assertThat(body).extractingJsonPathStringValue("$.servers.default.address").isEqualTo("127.0.0.1");
			assertThat(body).extractingJsonPathNumberValue("$.servers.default.port").isEqualTo(this.port);
			assertThat(body).extractingJsonPathStringValue("$.servers.default.framing").isEqualTo("line");
			assertThat(body).extractingJsonPathStringValue("$.servers.default.handler").isEqualTo("gate");
			assertThat(body).extractingJsonPathStringValue("$.servers.default.pool").isEqualTo("default");
			assertThat(body).extractingJsonPathNumberValue("$.servers.default.connections.open").isEqualTo(1);
			assertThat(body).extractingJsonPathNumberValue("$.servers.default.connections.accepted").isEqualTo(1);
			assertThat(body).extractingJsonPathNumberValue("$.servers.default.connections.rejected").isEqualTo(0);
			assertThat(body).extractingJsonPathNumberValue("$.servers.default.connections.closed.PEER").isEqualTo(0);
			assertThat(body).extractingJsonPathNumberValue("$.servers.default.bytes.received").isEqualTo(6);
			assertThat(body).hasJsonPathNumberValue("$.servers.default.bytes.sent");
			assertThat(body).hasJsonPathNumberValue("$.servers.default.messages.received");
			this.gate.open();
			assertThat(client.read()).isEqualTo("hello");
		}
	}

	@Test
	void showsOnePool() throws Exception {
		HttpResponse<String> response = get("/spare");
		assertThat(response.statusCode()).isEqualTo(200);
		JsonContent<Object> body = this.json.from(response.body());
		assertThat(body).extractingJsonPathStringValue("$.state").isEqualTo("NEW");
		assertThat(body).extractingJsonPathNumberValue("$.configuration.handleSets").isEqualTo(2);
		assertThat(body).extractingJsonPathNumberValue("$.configuration.parallelism").isEqualTo(5);
		assertThat(body).extractingJsonPathArrayValue("$.threads").isEmpty();
		assertThat(body).extractingJsonPathArrayValue("$.handleSets").hasSize(2);
	}

	@Test
	void unknownPoolIsNotFound() throws Exception {
		assertThat(get("/unknown").statusCode()).isEqualTo(404);
	}

	private HttpResponse<String> get(String path) throws IOException, InterruptedException {
		URI uri = URI.create("http://localhost:" + this.httpPort + "/actuator/leaderfollowers" + path);
		return this.http.send(HttpRequest.newBuilder(uri).timeout(Duration.ofSeconds(20)).build(),
				HttpResponse.BodyHandlers.ofString());
	}

	@Configuration(proxyBeanMethods = false)
	@EnableAutoConfiguration
	static class Application {

		@Bean
		@LfHandler
		Gate gate() {
			return new Gate();
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
			assertThat(this.received.await(60, TimeUnit.SECONDS)).isTrue();
		}

		void open() {
			this.open.countDown();
		}

	}

}
