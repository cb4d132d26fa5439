package org.leaderfollowers.sample;

import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;

import javax.sql.DataSource;

import org.awaitility.Awaitility;
import org.awaitility.core.ThrowingRunnable;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.leaderfollowers.spring.test.LocalLfServerPort;
import org.leaderfollowers.spring.test.client.TcpTestClient;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.boot.test.web.server.LocalServerPort;
import org.springframework.web.client.RestClient;

import static org.assertj.core.api.Assertions.assertThat;

/** Tests the endpoints of the sample for operators. */
@OltpTest
@Timeout(120)
class ActuatorTests {

	private static final int MIN_THREADS = 4;

	@Autowired
	private DataSource dataSource;

	@Autowired
	private JsonMapper mapper;

	@LocalLfServerPort
	private int port;

	@LocalServerPort
	private int httpPort;

	/** It may take a busy machine longer than the states that the tests await. */
	@BeforeEach
	void makeTheFirstRequest() {
		get("leaderfollowers");
	}

	@Test
	void showsLeaderAndFollowers() {
		await(() -> {
			assertRoles(0);
			assertThat(pool().at("/threads"))
				.anySatisfy((thread) -> assertThat(thread.at("/role").asString()).isEqualTo("LEADER"))
				.anySatisfy((thread) -> assertThat(thread.at("/role").asString()).isEqualTo("FOLLOWER"));
		});
		assertThat(pool().at("/configuration/threads/min").asInt()).isEqualTo(MIN_THREADS);
		assertThat(pool().at("/configuration/threads/max").asInt()).isEqualTo(32);
	}

	@Test
	void showsThatProcessingThreadsDoNotStopTheLeader() throws SQLException {
		try (TcpTestClient client = Oltp.connect(this.port); TcpTestClient other = Oltp.connect(this.port)) {
			try (Connection lock = this.dataSource.getConnection(); Statement statement = lock.createStatement()) {
				lock.setAutoCommit(false);
				statement.execute("SELECT * FROM branch WHERE id = 1 FOR UPDATE");
				client.send(Oltp.request(9000, 1, 1, 0));
				other.send(Oltp.request(9001, 2, 1, 0));
				await(() -> assertRoles(2));
				assertProcessing("default", "frontEndHandler");
				assertProcessing("backend", "backEnd2");
				lock.rollback();
			}
			assertThat(client.receive()).contains("COMMITTED");
			assertThat(other.receive()).contains("COMMITTED");
			await(() -> assertRoles(0));
		}
	}

	@Test
	void isUp() {
		// The status is 503, here an exception, if a leader got no processor for a
		// second.
		Awaitility.await()
			.atMost(Duration.ofSeconds(30))
			.ignoreExceptions()
			.untilAsserted(() -> assertThat(get("health")).contains("\"status\":\"UP\""));
	}

	@Test
	void namesTheLibrariesThatItWasBuiltWith() {
		Assumptions.assumeTrue(getClass().getResource("/META-INF/sbom/application.cdx.json") != null,
				"Maven was offline, and made no bill of materials");
		JsonNode materials = this.mapper.readTree(get("sbom/application"));
		assertThat(materials.at("/bomFormat").asString()).isEqualTo("CycloneDX");
		assertThat(materials.at("/metadata/component/name").asString()).isEqualTo("sample-app");
		assertThat(materials.at("/components")).extracting((component) -> component.at("/name").asString())
			.contains("lf-core", "hazelcast", "tomcat-embed-core")
			.doesNotContain("junit-jupiter", "lf-spring-boot-starter-test");
	}

	@Test
	void tellsWhatWasBuilt() {
		JsonNode info = this.mapper.readTree(get("info"));
		assertThat(info.at("/build/artifact").asString()).isEqualTo("sample-app");
		assertThat(info.at("/lf/servers/default/port").asInt()).isEqualTo(this.port);
		assertThat(info.at("/lf/pools/default/threads/max").asInt()).isEqualTo(32);
	}

	@ParameterizedTest
	@ValueSource(strings = { "leaderfollowers", "lfhandoffs", "lfconnections", "lfclients", "lfsessions" })
	void exposesTheEndpointsOfTheStarter(String endpoint) {
		assertThat(get(endpoint)).startsWith("{");
	}

	@Test
	void hasMeters() {
		try (TcpTestClient client = Oltp.connect(this.port)) {
			assertThat(client.exchange(Oltp.request(9000, 1, 1, 0))).contains("COMMITTED");
			// A message is counted when its reply has been sent.
			await(() -> assertThat(get("prometheus")).contains("lf_pool_threads{", "lf_connections{",
					"lf_messages_seconds_count{", "lf_bytes_total{", "lf_promotions_total{",
					"lf_handoff_seconds_count{", "hikaricp_connections_active{"));
		}
		assertThat(get("metrics")).contains("\"lf.pool.threads\"", "\"lf.messages\"");
	}

	/**
	 * Each handle set that is in use has a leader, and so has one that was folded while a
	 * handler of it ran: the load of other tests may have unfolded the pool.
	 */
	private void assertRoles(int processing) {
		JsonNode pool = pool();
		int led = 0;
		for (JsonNode set : pool.at("/handleSets")) {
			led += (set.at("/inUse").asBoolean() || set.at("/handles/registered").asInt() > 0) ? 1 : 0;
		}
		JsonNode roles = pool.at("/roles");
		assertThat(led).isPositive();
		assertThat(roles.at("/LEADER").asInt()).isEqualTo(led);
		assertThat(roles.at("/PROCESSING").asInt()).isEqualTo(processing);
		assertThat(roles.at("/FOLLOWER").asInt()).isGreaterThanOrEqualTo(MIN_THREADS - led - processing);
	}

	private void assertProcessing(String pool, String handler) {
		await(() -> assertThat(pool(pool).at("/threads")).anySatisfy((thread) -> {
			assertThat(thread.at("/role").asString()).isEqualTo("PROCESSING");
			assertThat(thread.at("/handler").asString()).isEqualTo(handler);
		}));
	}

	private JsonNode pool() {
		return pool("default");
	}

	private JsonNode pool(String name) {
		return this.mapper.readTree(get("leaderfollowers")).at("/pools/" + name);
	}

	private String get(String endpoint) {
		String body = RestClient.create("http://localhost:" + this.httpPort + "/actuator/")
			.get()
			.uri(endpoint)
			.retrieve()
			.body(String.class);
		assertThat(body).isNotNull();
		return body;
	}

	private static void await(ThrowingRunnable assertion) {
		Awaitility.await().atMost(Duration.ofSeconds(30)).untilAsserted(assertion);
	}

}
