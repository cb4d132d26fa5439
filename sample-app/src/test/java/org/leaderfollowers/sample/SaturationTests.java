package org.leaderfollowers.sample;

import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

import org.awaitility.Awaitility;
import org.awaitility.core.ThrowingRunnable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.leaderfollowers.spring.test.LocalLfServerPort;
import org.leaderfollowers.spring.test.client.TcpTestClient;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.boot.jdbc.autoconfigure.JdbcConnectionDetails;
import org.springframework.boot.test.context.SpringBootTest;
import org.springframework.boot.test.context.SpringBootTest.WebEnvironment;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;
import org.springframework.boot.test.web.server.LocalServerPort;
import org.springframework.test.annotation.DirtiesContext;
import org.springframework.web.client.RestClient;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * The sample as operators see it when somebody holds a lock that every thread of the pool
 * waits for.
 */
@SpringBootTest(webEnvironment = WebEnvironment.RANDOM_PORT, properties = { "lf.server.port=0",
		"lf.pools.backend.threads.max=" + SaturationTests.THREADS, "lf.health.saturated-after=1s",
		"management.endpoint.health.show-details=always",
		"management.endpoint.health.group.readiness.include=readinessState,lf",
		"spring.datasource.url=jdbc:h2:mem:saturation;DB_CLOSE_DELAY=-1;DB_CLOSE_ON_EXIT=FALSE;LOCK_TIMEOUT=60000" })
@DirtiesContext
@ExtendWith(OutputCaptureExtension.class)
@Timeout(120)
class SaturationTests {

	static final int THREADS = 8;

	@Autowired
	private JdbcConnectionDetails database;

	@LocalLfServerPort
	private int port;

	@LocalServerPort
	private int httpPort;

	@Test
	void causeIsNamedWithinSeconds(CapturedOutput output) throws SQLException {
		List<TcpTestClient> clients = new ArrayList<>();
		try {
			// A separate connection: the lock is not held by a connection of the
			// application.
			try (Connection lock = DriverManager.getConnection(this.database.getJdbcUrl(), this.database.getUsername(),
					this.database.getPassword()); Statement statement = lock.createStatement()) {
				lock.setAutoCommit(false);
				statement.execute("SELECT * FROM branch WHERE id = 1 FOR UPDATE");
				for (int i = 0; i < THREADS; i++) {
					TcpTestClient client = Oltp.connect(this.port);
					clients.add(client);
					client.send(Oltp.request(1000 + i, 1 + i, 1, 0));
				}
				await(() -> assertThat(status("readiness")).isEqualTo("OUT_OF_SERVICE"));
				assertThat(status("liveness")).isEqualTo("UP");
				JsonNode pool = get("lf/pools/backend").at("/details");
				assertThat(pool.at("/reason").asString()).contains("threads.max is " + THREADS,
						"'backEnd1' of server 'backend1'");
				assertThat(pool.at("/threads/idle").asInt()).isZero();
				assertThat(status("lf/servers/backend1")).isEqualTo("UP");
				await(() -> assertThat(output).contains("Pool 'backend' had no thread left",
						"Its threads (max 8) run: ", "'backEnd1' of server 'backend1'"));
				lock.rollback();
			}
			for (TcpTestClient client : clients) {
				assertThat(client.receive()).contains("COMMITTED");
			}
			await(() -> assertThat(status("readiness")).isEqualTo("UP"));
			assertThat(get("lf/pools/backend").at("/details/saturatedFor").asString()).isEqualTo("PT0S");
		}
		finally {
			clients.forEach(TcpTestClient::close);
		}
	}

	private String status(String path) {
		return get(path).at("/status").asString();
	}

	private JsonNode get(String path) {
		String body = RestClient.builder()
			.baseUrl("http://localhost:" + this.httpPort + "/actuator/health/")
			.defaultStatusHandler((status) -> true, (request, response) -> {
				// A response with the status 503 has a body, too.
			})
			.build()
			.get()
			.uri(path)
			.retrieve()
			.body(String.class);
		assertThat(body).isNotNull();
		return JsonMapper.shared().readTree(body);
	}

	private static void await(ThrowingRunnable assertion) {
		Awaitility.await().atMost(Duration.ofSeconds(60)).untilAsserted(assertion);
	}

}
