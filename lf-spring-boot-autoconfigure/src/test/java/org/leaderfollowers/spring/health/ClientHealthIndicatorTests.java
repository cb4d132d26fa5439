package org.leaderfollowers.spring.health;

import java.util.Map;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.leaderfollowers.ClientSnapshot;
import org.leaderfollowers.ClientSnapshot.State;
import org.leaderfollowers.Correlation;
import org.leaderfollowers.Framing;
import org.leaderfollowers.LeaderFollowersPool;
import org.leaderfollowers.TcpClient;

import org.springframework.boot.health.contributor.Health;
import org.springframework.boot.health.contributor.Status;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for {@link ClientHealthIndicator}.
 */
class ClientHealthIndicatorTests {

	private final LeaderFollowersPool pool = LeaderFollowersPool.builder().name("demo").build();

	private final ClientSnapshot snapshot = TcpClient.builder(this.pool)
		.name("ledger")
		.address("localhost", 1)
		.framing(Framing.line())
		.correlation(Correlation.inOrder())
		.build()
		.snapshot();

	@AfterEach
	void closePool() {
		this.pool.close();
	}

	private Health health(boolean optional, State state, int connected) {
		ClientSnapshot changed = Snapshots.with(this.snapshot,
				Map.of("state", state, "connections", 2, "connected", connected));
		return new ClientHealthIndicator(() -> changed, optional).health();
	}

	@Test
	void aClientIsUpWithAnyOfItsConnections() {
		assertThat(health(false, State.RUNNING, 1).getStatus()).isEqualTo(Status.UP);
		assertThat(health(false, State.RUNNING, 1).getDetails()).doesNotContainKey("reason");
		assertThat(health(false, State.RUNNING, 2).getStatus()).isEqualTo(Status.UP);
	}

	@ParameterizedTest
	@CsvSource({ "RUNNING, DOWN, connected to none", "NEW, OUT_OF_SERVICE, not been started",
			"CLOSING, OUT_OF_SERVICE, no more requests", "CLOSED, OUT_OF_SERVICE, is closed" })
	void aClientWithoutAConnectionIsUpInNoState(State state, String status, String reason) {
		assertThat(health(false, state, 0).getStatus()).isEqualTo(new Status(status));
		assertThat(health(false, state, 0).getDetails().get("reason")).asString().contains(reason);
		assertThat(health(true, state, 0).getStatus()).isEqualTo(Status.UNKNOWN);
		assertThat(health(true, state, 0).getDetails().get("reason")).asString().contains(reason);
	}

}
