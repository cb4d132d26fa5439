package org.leaderfollowers.sample;

import java.time.Duration;

import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.leaderfollowers.spring.client.LeaderFollowersClients;
import org.leaderfollowers.spring.server.LeaderFollowersServers;
import org.leaderfollowers.spring.test.LocalLfServerPort;
import org.leaderfollowers.spring.test.client.TcpTestClient;

import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.boot.health.contributor.Status;
import org.springframework.boot.health.actuate.endpoint.HealthEndpoint;
import org.springframework.boot.test.context.SpringBootTest;
import org.springframework.boot.test.context.SpringBootTest.WebEnvironment;
import org.springframework.test.annotation.DirtiesContext;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * The sample while one back end is away: the other one stands in, at once. An order that
 * waited for the first back end would wait longer than the client of this test.
 */
@SpringBootTest(webEnvironment = WebEnvironment.NONE,
		properties = { "lf.server.port=0", "lf.clients.backend1.request-timeout=5m",
				"spring.datasource.url=jdbc:h2:mem:away;DB_CLOSE_DELAY=-1;DB_CLOSE_ON_EXIT=FALSE;LOCK_TIMEOUT=5000" })
@DirtiesContext
@Timeout(120)
class BackEndAwayTests {

	@Autowired
	private LeaderFollowersServers servers;

	@Autowired
	private LeaderFollowersClients clients;

	@Autowired
	private HealthEndpoint health;

	@LocalLfServerPort
	private int port;

	@Test
	void ordersGoToTheOtherBackEnd() {
		this.servers.get("backend1").close();
		Awaitility.await()
			.atMost(Duration.ofSeconds(30))
			.until(() -> this.clients.get("backend1").snapshot().connected() == 0);
		try (TcpTestClient client = Oltp.connect(this.port)) {
			assertThat(client.exchange(Oltp.request(42, 3, 1, 5))).contains("COMMITTED", "\"balance\":5,");
		}
		// The front end can do its work.
		assertThat(this.health.healthForPath("lf", "clients").getStatus()).isNotEqualTo(Status.DOWN);
		assertThat(this.health.healthForPath("lf", "clients", "backend1").getStatus()).isEqualTo(Status.UNKNOWN);
	}

}
