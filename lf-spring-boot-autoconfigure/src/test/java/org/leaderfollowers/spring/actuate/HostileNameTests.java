package org.leaderfollowers.spring.actuate;

import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Supplier;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.leaderfollowers.Framing;
import org.leaderfollowers.LeaderFollowersPool;
import org.leaderfollowers.TcpServer;
import org.leaderfollowers.WireLog;
import org.leaderfollowers.spring.LineClient;
import org.leaderfollowers.spring.limit.ClientLimiters;
import org.leaderfollowers.spring.server.LeaderFollowersPools;
import org.leaderfollowers.spring.server.LeaderFollowersServers;

import org.springframework.boot.actuate.endpoint.Show;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

/**
 * Names that would forge lines of the log, or markup, if they were not made harmless.
 */
@ExtendWith(OutputCaptureExtension.class)
class HostileNameTests {

	private static final String NAME = "x\nFORGED \u001b[2J\u202e";

	@Test
	void namesOfPoolsAndServersDoNotForgeLines(CapturedOutput output) throws Exception {
		try (LeaderFollowersPool pool = LeaderFollowersPool.builder().name(NAME).threads(2, 4).build();
				TcpServer server = TcpServer.builder(pool)
					.name(NAME)
					.port(0)
					.framing(Framing.line())
					.handler((connection, message) -> connection.send(message))
					.build()) {
			Map<String, Supplier<LeaderFollowersPool>> none = Map.of();
			LeaderFollowersPools pools = new LeaderFollowersPools(List.of(pool), none);
			LeaderFollowersServers servers = LeaderFollowersServers.builder().bean("server", server).build();
			LeaderFollowersEndpoint endpoint = new LeaderFollowersEndpoint(null, pools, servers,
					new ClientLimiters(null), (caller) -> false, (name) -> List.of(), Duration.ofSeconds(30),
					(event) -> {
					});
			HandOffsEndpoint handOffs = new HandOffsEndpoint(pools, (event) -> {
			});
			ConnectionsEndpoint connections = new ConnectionsEndpoint(servers, Show.NEVER, Set.of(),
					new WireLog.Options(0, Duration.ofMinutes(1), false, 1, 1), (event) -> {
					});
			server.start();
			connections.changeWireLog("on", NAME, null, null, null);
			connections.changeWireLog("off", NAME, null, null, null);
			try (LineClient client = new LineClient(server.port())) {
				assertThat(client.ask("hello")).isEqualTo("hello");
				endpoint.changePool(NAME, null, "9", "eager", null);
				endpoint.changeServer(NAME, NAME, "pause", null, null, null, null, null, null, null, null);
				endpoint.changeServer(NAME, NAME, "resume", null, null, null, null, null, null, null, null);
				endpoint.closeConnection(NAME, NAME, "1", null);
				assertThat(client.read()).isNull();
			}
			handOffs.drainHandOffs((String) null);
			endpoint.changeServer(NAME, NAME, "drain", "1s", null, null, null, null, null, null, null);
			assertThatExceptionOfType(RefusedRequestException.class)
				.isThrownBy(() -> endpoint.changePool("x", null, "9", null, null))
				.withMessage("There is no such pool, only: x?FORGED ?[2J?");
		}
		assertThat(output).contains("Connection 1 of server 'x?FORGED ?[2J?' is closed through Actuator")
			.contains("The wire log of server 'x?FORGED ?[2J?' is on through Actuator")
			.contains("Pool 'x?FORGED ?[2J?' is changed through Actuator")
			.contains("hand-offs of x?FORGED ?[2J? are forgotten through Actuator");
		assertThat(output.getAll().lines()).noneMatch((line) -> line.startsWith("FORGED"));
		assertThat(output.getAll()).doesNotContain("\u001b[2J").doesNotContain("\u202e");
	}

	@Test
	void whatIsAskedForIsNotReflected(CapturedOutput output) throws Exception {
		try (OperatedApplication application = OperatedApplication.run()) {
			for (String path : List.of("/actuator/leaderfollowers/%3Cscript%3E%0AFORGED",
					"/actuator/leaderfollowers/default/%3Cscript%3E%0AFORGED")) {
				HttpResponse<String> response = application.post(path, "{\"action\":\"pause\",\"maxThreads\":1}");
				assertThat(response.statusCode()).isIn(400, 404);
				assertThat(response.headers().firstValue("Content-Type").orElse("")).doesNotContain("html");
				assertThat(response.body()).doesNotContain("<script").doesNotContain("FORGED");
			}
			assertThat(output.getAll().lines()).noneMatch((line) -> line.startsWith("FORGED"));
		}
	}

}
