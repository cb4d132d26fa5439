package org.leaderfollowers.spring.actuate;

import java.net.http.HttpResponse;
import java.util.List;
import java.util.Map;
import java.util.Objects;

import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.leaderfollowers.spring.LineClient;
import org.leaderfollowers.spring.limit.ClientLimiters;
import org.leaderfollowers.spring.limit.ClientLimits.Action;
import org.leaderfollowers.spring.limit.ClientLimits.Limit;

import org.springframework.boot.actuate.audit.AuditEvent;
import org.springframework.boot.actuate.endpoint.OperationResponseBody;
import org.springframework.boot.actuate.endpoint.SecurityContext;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;

import static org.assertj.core.api.Assertions.assertThat;
import static org.mockito.BDDMockito.given;
import static org.mockito.Mockito.mock;

/** Changing the limits that apply to each client, over HTTP. */
@ExtendWith(OutputCaptureExtension.class)
class LimitOperationTests {

	private static final String SERVER = "/actuator/leaderfollowers/default/default";

	private static OperatedApplication limited;

	@BeforeAll
	static void start() {
		limited = OperatedApplication.run("--lf.server.per-client.max-connections=100");
	}

	@AfterAll
	static void stop() {
		limited.close();
	}

	@Test
	void limitsAndOffendersAreShownAndLimitsAreChanged(CapturedOutput output) throws Exception {
		try (OperatedApplication application = OperatedApplication.run("--lf.server.per-client.max-connections=100",
				"--management.endpoint.lfconnections.show-remote-addresses=always")) {
			assertThat(application.get(SERVER).body()).contains(
					"\"clientLimits\":{\"limits\":{\"max-connections\":100},\"action\":\"SUSPEND\",\"clients\":0,\"aggregates\":0,\"offenders\":[]}");
			try (LineClient client = new LineClient(application.port())) {
				assertThat(client.ask("hello")).isEqualTo("hello");
				HttpResponse<String> changed = application.post(SERVER,
						"{\"action\":\"limit\",\"bytesPerSecond\":\"1B\",\"limitAction\":\"close\",\"maxConnections\":\"none\"}");
				assertThat(changed.statusCode()).isEqualTo(200);
				assertThat(changed.body()).contains(
						"\"clientLimits\":{\"limits\":{\"bytes-per-second\":1},\"action\":\"CLOSE\",\"clients\":1");
				assertThat(client.ask("x".repeat(600))).hasSize(600);
				assertThat(client.ask("too much")).isEqualTo("<closed>");
			}
			assertThat(application.get(SERVER).body()).contains(
					"\"offenders\":[{\"client\":\"127.0.0.1\",\"limit\":\"bytes-per-second\",\"count\":1,\"since\":\"");
			AuditEvent event = application.events().audit().get(0);
			assertThat(event.getType()).isEqualTo("LF_SERVER_LIMITED");
			assertThat(event.getData()).isEqualTo(Map.of("pool", "default", "server", "default", "before",
					Map.of("max-connections", 100L, "action", "SUSPEND"), "after",
					Map.of("bytes-per-second", 1L, "action", "CLOSE")));
			assertThat(output).containsOnlyOnce("The limits for each client of server 'default' are changed through "
					+ "Actuator: {bytes-per-second=1, action=CLOSE}, were {max-connections=100, action=SUSPEND}");
		}
	}

	@ParameterizedTest
	@CsvSource(delimiter = '|', quoteCharacter = '`',
			textBlock = """
					{"action":"limit"} | 400 | Nothing to change: give 'maxConnections', 'connectionsPerSecond',
					{"action":"limit","messagesPerSecond":"0"} | 400 | 'messagesPerSecond' must be from 1 to 1000000000, but is '0'
					{"action":"limit","messagesPerSecond":"x"} | 400 | 'messagesPerSecond' must be a whole number, but is 'x'
					{"action":"limit","bytesPerSecond":"1GB"} | 400 | 'bytesPerSecond' must be from 1 to 1000000000 bytes
					{"action":"limit","bytesPerSecond":"fast"} | 400 | 'bytesPerSecond' must be a size such as '500B'
					{"action":"limit","bytesPerSecond":"9999999999GB"} | 400 | 'bytesPerSecond' must be a size such as '500B'
					{"action":"limit","limitAction":"wait"} | 400 | 'limitAction' must be one of 'suspend', 'refuse', 'close'
					{"action":"pause","messagesPerSecond":"1"} | 400 | Limits are for the action 'limit' only
					{"action":"limit","timeout":"1s"} | 400 | 'timeout' is for the action 'drain' only
					""")
	void mistakesAreExplained(String body, int status, String reason) throws Exception {
		HttpResponse<String> response = limited.post(SERVER, body);
		assertThat(response.statusCode()).isEqualTo(status);
		assertThat(response.body()).contains(reason);
		assertThat(limited.context().getBean(ClientLimiters.class).get("default").limits())
			.satisfies((limits) -> assertThat(limits.values()).isEqualTo(Map.of(Limit.MAX_CONNECTIONS, 100L)))
			.satisfies((limits) -> assertThat(limits.action()).isEqualTo(Action.SUSPEND));
	}

	@Test
	void everyLimitCanBeChangedAloneAndRemoved() throws Exception {
		try (OperatedApplication application = OperatedApplication.run("--lf.server.per-client.max-connections=100")) {
			for (int i = 0; i < 2; i++) {
				assertThat(limit(application, "maxConnections", "7")).contains("\"max-connections\":7");
				assertThat(limit(application, "connectionsPerSecond", "8")).contains("\"connections-per-second\":8");
				assertThat(limit(application, "messagesPerSecond", "9")).contains("\"messages-per-second\":9");
				assertThat(limit(application, "bytesPerSecond", "10")).contains("\"bytes-per-second\":10");
				assertThat(limit(application, "failedLoginsPerMinute", "11"))
					.contains("\"failed-logins-per-minute\":11");
				assertThat(limit(application, "limitAction", "refuse")).contains("\"action\":\"REFUSE\"");
				assertThat(application.events().audit()).as("no change the second time").hasSize(6);
			}
			for (String each : List.of("connectionsPerSecond", "messagesPerSecond", "bytesPerSecond",
					"failedLoginsPerMinute")) {
				limit(application, each, " None ");
			}
			assertThat(application
				.post(SERVER, "{\"action\":\"limit\",\"maxConnections\":\" \",\"limitAction\":\"close\"}")
				.body()).contains("{\"limits\":{\"max-connections\":7},");
		}
	}

	private static String limit(OperatedApplication application, String name, String value) throws Exception {
		HttpResponse<String> response = application.post(SERVER,
				"{\"action\":\"limit\",\"%s\":\"%s\"}".formatted(name, value));
		assertThat(response.statusCode()).as(response.body()).isEqualTo(200);
		return response.body();
	}

	@Test
	void aServerForDatagramsHasNoLimitsOfConnections() throws Exception {
		try (OperatedApplication application = OperatedApplication.run("--lf.server.transport=udp",
				"--lf.server.per-client.messages-per-second=100")) {
			for (String argument : new String[] { "maxConnections", "limitAction" }) {
				HttpResponse<String> response = application.post(SERVER, "{\"action\":\"limit\",\"%s\":\"%s\"}"
					.formatted(argument, argument.equals("limitAction") ? "close" : "1"));
				assertThat(response.statusCode()).isEqualTo(400);
				assertThat(response.body())
					.contains("'" + argument + "' is for connections, but the server receives datagrams");
			}
			assertThat(application.post(SERVER, "{\"action\":\"limit\",\"messagesPerSecond\":\"5\"}").body())
				.contains("{\"messages-per-second\":5}");
		}
	}

	@Test
	void theAddressesOfOffendersAreHiddenByDefault() throws Exception {
		try (OperatedApplication application = OperatedApplication.run("--lf.server.per-client.bytes-per-second=1");
				LineClient client = new LineClient(application.port())) {
			assertThat(client.ask("too much")).isEqualTo("too much");
			assertThat(application.get(SERVER).body())
				.contains("\"offenders\":[{\"limit\":\"bytes-per-second\",\"count\":1,");
			assertThat(limit(application, "messagesPerSecond", "50")).contains("\"offenders\":[{\"limit\":");
		}
	}

	@Test
	void theAddressesOfOffendersAreShownToARole() throws Exception {
		try (OperatedApplication application = OperatedApplication.run("--lf.server.per-client.bytes-per-second=1",
				"--management.endpoint.lfconnections.show-remote-addresses=when-authorized",
				"--management.endpoint.lfconnections.roles=OPERATOR");
				LineClient client = new LineClient(application.port())) {
			assertThat(client.ask("too much")).isEqualTo("too much");
			LeaderFollowersEndpointWebExtension endpoint = application.context()
				.getBean(LeaderFollowersEndpointWebExtension.class);
			SecurityContext caller = mock(SecurityContext.class);
			given(caller.getPrincipal()).willReturn(() -> "ada");
			assertThat(offender(endpoint.server(caller, "default", "default").getBody())).isNull();
			given(caller.isUserInRole("OPERATOR")).willReturn(true);
			assertThat(offender(endpoint.server(caller, "default", "default").getBody())).isEqualTo("127.0.0.1");
		}
	}

	private static @Nullable String offender(@Nullable OperationResponseBody server) {
		return Objects.requireNonNull(((ServerDescriptor) server).clientLimits()).offenders().get(0).client();
	}

	@Test
	void aServerWithoutLimitsTellsHowToGetThem() throws Exception {
		try (OperatedApplication application = OperatedApplication.run()) {
			assertThat(application.get(SERVER).body()).doesNotContain("clientLimits");
			HttpResponse<String> response = application.post(SERVER,
					"{\"action\":\"limit\",\"messagesPerSecond\":\"50\"}");
			assertThat(response.statusCode()).isEqualTo(409);
			assertThat(response.body()).contains("start the application with a property such as");
		}
	}

}
