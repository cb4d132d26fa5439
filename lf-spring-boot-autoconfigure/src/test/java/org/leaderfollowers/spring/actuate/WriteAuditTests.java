package org.leaderfollowers.spring.actuate;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.Supplier;

import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.leaderfollowers.Framing;
import org.leaderfollowers.LeaderFollowersPool;
import org.leaderfollowers.TcpServer;
import org.leaderfollowers.spring.LineClient;
import org.leaderfollowers.spring.limit.ClientLimiters;
import org.leaderfollowers.spring.limit.ClientLimits;
import org.leaderfollowers.spring.limit.ClientLimits.Action;
import org.leaderfollowers.spring.limit.ClientLimits.Limit;
import org.leaderfollowers.spring.server.LeaderFollowersPools;
import org.leaderfollowers.spring.server.LeaderFollowersServers;

import org.springframework.boot.actuate.audit.AuditEvent;
import org.springframework.boot.actuate.audit.listener.AuditApplicationEvent;
import org.springframework.boot.actuate.endpoint.SecurityContext;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;

import static org.assertj.core.api.Assertions.assertThat;
import static org.mockito.BDDMockito.given;
import static org.mockito.Mockito.mock;

/**
 * Tests for {@link WriteAudit}: each write over the web names its caller in the audit and
 * in the log.
 */
@ExtendWith(OutputCaptureExtension.class)
class WriteAuditTests {

	private static final String POOL = "pool";

	private final SecurityContext caller = mock();

	private final List<AuditEvent> events = new ArrayList<>();

	@Test
	void eachWriteNamesItsCaller(CapturedOutput output) throws Exception {
		given(this.caller.getPrincipal()).willReturn(() -> "ada");
		try (LeaderFollowersPool pool = LeaderFollowersPool.builder().name(POOL).threads(2, 4).build();
				TcpServer server = server(pool, "one");
				TcpServer other = server(pool, "other")) {
			LeaderFollowersEndpointWebExtension web = web(pool, server, other);
			server.start();
			other.start();
			assertThat(web.changePool(this.caller, POOL, null, "9", null, null).getStatus()).isEqualTo(200);
			change(web, "one", "pause", null, null);
			change(web, "one", "resume", null, null);
			change(web, "one", "limit", null, "5");
			try (LineClient client = new LineClient(server.port())) {
				assertThat(client.ask("hello")).isEqualTo("hello");
				assertThat(web.closeConnection(this.caller, POOL, "one", "1", "0s").getStatus()).isEqualTo(204);
				assertThat(client.read()).isNull();
			}
			change(web, "one", "drain", null, null);
			change(web, "other", "evacuate", "50/s", null);
		}
		assertThat(this.events).extracting(AuditEvent::getType)
			.containsExactly(WriteAudit.POOL_CHANGED, WriteAudit.SERVER_PAUSED, WriteAudit.SERVER_RESUMED,
					WriteAudit.SERVER_LIMITED, WriteAudit.CONNECTION_CLOSED, WriteAudit.SERVER_DRAINED,
					WriteAudit.SERVER_EVACUATED);
		assertThat(this.events).extracting(AuditEvent::getPrincipal).containsOnly("ada");
		assertThat(output).contains("Pool 'pool' is changed by 'ada' through Actuator",
				"Server 'one' is paused by 'ada' through Actuator", "Server 'one' is resumed by 'ada' through Actuator",
				"The limits for each client of server 'one' are changed by 'ada' through Actuator",
				"Connection 1 of server 'one' is closed by 'ada' through Actuator",
				"Server 'one' is draining by 'ada' through Actuator",
				"Server 'other' is being evacuated by 'ada' through Actuator");
	}

	@Test
	void writesFollowEachOther() throws Exception {
		WriteAudit audit = new WriteAudit((event) -> {
		});
		List<String> ended = new CopyOnWriteArrayList<>();
		Thread second = new Thread(() -> audit.write(() -> ended.add("second")));
		audit.write(() -> {
			second.start();
			Awaitility.await()
				.until(second::getState, (state) -> state != Thread.State.NEW && state != Thread.State.RUNNABLE);
			return ended.add("first");
		});
		second.join();
		assertThat(ended).containsExactly("first", "second");
	}

	@Test
	void theNameOfACallerIsMadePrintable() {
		given(this.caller.getPrincipal()).willReturn(() -> "ada\nFORGED");
		assertThat(WriteAudit.Operator.of(this.caller).name()).isEqualTo("ada?FORGED");
		assertThat(WriteAudit.Operator.of(this.caller).by()).isEqualTo(" by 'ada?FORGED' through Actuator");
	}

	private static TcpServer server(LeaderFollowersPool pool, String name) {
		return TcpServer.builder(pool)
			.name(name)
			.port(0)
			.framing(Framing.line())
			.handler((connection, message) -> connection.send(message))
			.build();
	}

	private LeaderFollowersEndpointWebExtension web(LeaderFollowersPool pool, TcpServer server, TcpServer other) {
		Map<String, Supplier<LeaderFollowersPool>> none = Map.of();
		ClientLimiters limiters = new ClientLimiters(null);
		limiters.add("one", false, new ClientLimits(Map.of(Limit.MAX_CONNECTIONS, 100L), Action.REFUSE), 100, 32, 64);
		return new LeaderFollowersEndpointWebExtension(
				new LeaderFollowersEndpoint(null, new LeaderFollowersPools(List.of(pool), none),
						LeaderFollowersServers.builder().bean("one", server).bean("other", other).build(), limiters,
						(caller) -> false, (name) -> List.of(), Duration.ofSeconds(30),
						(event) -> this.events.add(((AuditApplicationEvent) event).getAuditEvent())));
	}

	private void change(LeaderFollowersEndpointWebExtension web, String server, String action, String rate,
			String maxConnections) {
		assertThat(web
			.changeServer(this.caller, POOL, server, action, null, rate, maxConnections, null, null, null, null, null)
			.getStatus()).as(action).isEqualTo(200);
	}

}
