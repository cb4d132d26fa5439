package org.leaderfollowers.spring.actuate;

import java.net.http.HttpResponse;
import java.time.Duration;
import java.time.Instant;
import java.util.Map;

import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.leaderfollowers.TcpServer;
import org.leaderfollowers.WireLog;
import org.leaderfollowers.spring.LineClient;

import org.springframework.boot.actuate.audit.AuditEvent;
import org.springframework.boot.actuate.endpoint.SecurityContext;
import org.springframework.boot.json.JsonParserFactory;
import org.springframework.boot.logging.LogLevel;
import org.springframework.boot.logging.LoggingSystem;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;
import static org.mockito.BDDMockito.given;
import static org.mockito.Mockito.mock;

/**
 * Tests for the wire logs that {@link ConnectionsEndpoint} turns on and off, over HTTP.
 */
@ExtendWith(OutputCaptureExtension.class)
class WireLogOperationTests {

	private static final String PATH = "/actuator/lfconnections";

	private static final String UNRESTRICTED = "--management.endpoint.lfconnections.access=unrestricted";

	/** For what is refused. */
	private static OperatedApplication untouched;

	@BeforeAll
	static void start() {
		untouched = OperatedApplication.run(UNRESTRICTED, "--lf.logging.wire.max-duration=30s");
	}

	@AfterAll
	static void stop() {
		untouched.close();
	}

	private static WireLog wireLog(OperatedApplication application) {
		return ((TcpServer) application.server()).wireLog();
	}

	private static void awaitOutput(CapturedOutput output, String text) {
		await().atMost(Duration.ofSeconds(60)).untilAsserted(() -> assertThat(output).contains(text));
	}

	@Test
	void logsMaskedForAMinuteAndIsTurnedOff(CapturedOutput output) throws Exception {
		try (OperatedApplication application = OperatedApplication.run(UNRESTRICTED, "--lf.server.pool=spare");
				LineClient client = new LineClient(application.port())) {
			Instant before = Instant.now();
			HttpResponse<String> on = application.post(PATH, "{\"wireLog\":\"on\",\"server\":\"default\"}");
			assertThat(on.statusCode()).isEqualTo(200);
			Map<String, Object> answer = JsonParserFactory.getJsonParser().parseMap(on.body());
			assertThat(answer).containsOnlyKeys("server", "until", "payload", "segments", "omitted")
				.containsEntry("server", "default")
				.containsEntry("payload", false);
			assertThat(Instant.parse((String) answer.get("until"))).isBetween(before.plusSeconds(60),
					Instant.now().plusSeconds(60));
			assertThat(client.ask("secret")).isEqualTo("secret");
			awaitOutput(output, " sent 7 bytes");
			assertThat(application.get(PATH).body()).contains("\"wireLogs\":[{\"server\":\"default\"",
					"\"segments\":2");
			HttpResponse<String> off = application.post(PATH, "{\"wireLog\":\"off\",\"server\":\"default\"}");
			assertThat(off.statusCode()).isEqualTo(200);
			assertThat(off.body()).contains("\"segments\":2", "\"omitted\":0");
			awaitOutput(output, "has ended, because it was stopped: 2 segments were logged, 0 were left out");
			assertThat(application.get(PATH).body()).contains("\"wireLogs\":[]");
			assertThat(application.post(PATH, "{\"wireLog\":\"off\",\"server\":\"default\"}").statusCode())
				.isEqualTo(204);
			assertThat(output).contains("org.leaderfollowers.wire", "with the payload masked", "received 7 bytes")
				.containsOnlyOnce("The wire log of server 'default' is on through Actuator")
				.containsOnlyOnce("The wire log of server 'default' is off through Actuator")
				.doesNotContain("secret", "73 65 63");
			assertThat(application.events().audit()).extracting(AuditEvent::getType)
				.containsExactly("LF_WIRE_LOG_STARTED", "LF_WIRE_LOG_STOPPED");
			assertThat(application.events().audit().get(0).getData()).containsOnly(Map.entry("pool", "spare"),
					Map.entry("server", "default"), Map.entry("duration", "PT1M"), Map.entry("payload", "false"));
		}
	}

	@Test
	void showsThePayloadOfOneConnectionIfThatIsAllowed(CapturedOutput output) throws Exception {
		try (OperatedApplication application = OperatedApplication.run(UNRESTRICTED, "--lf.logging.wire.payload=true",
				"--lf.logging.wire.max-segment-size=3B");
				LineClient client = new LineClient(application.port());
				LineClient other = new LineClient(application.port())) {
			assertThat(client.ask("one")).isEqualTo("one");
			assertThat(other.ask("two")).isEqualTo("two");
			HttpResponse<String> on = application.post(PATH,
					"{\"wireLog\":\"on\",\"server\":\"default\",\"connection\":2,\"duration\":\"5m\",\"payload\":true}");
			assertThat(on.statusCode()).isEqualTo(200);
			assertThat(on.body()).contains("\"connection\":2", "\"payload\":true");
			assertThat(client.ask("three")).isEqualTo("three");
			assertThat(other.ask("four")).isEqualTo("four");
			awaitOutput(output, " sent 5 bytes, which begin with 66 6f 75 | fou");
			assertThat(output).doesNotContain("| thr");
			assertThat(application.events().audit().get(0).getData()).containsEntry("connection", "2")
				.containsEntry("duration", "PT5M")
				.containsEntry("payload", "true");
		}
	}

	@Test
	void endsBeforeItIsLargerThanAllowed(CapturedOutput output) throws Exception {
		try (OperatedApplication application = OperatedApplication.run(UNRESTRICTED, "--lf.logging.wire.max-size=1B");
				LineClient client = new LineClient(application.port())) {
			assertThat(application.post(PATH, "{\"wireLog\":\"on\",\"server\":\"default\"}").statusCode())
				.isEqualTo(200);
			assertThat(client.ask("hello")).isEqualTo("hello");
			await().until(() -> wireLog(application).snapshot() == null);
			awaitOutput(output, "0 segments were logged");
		}
	}

	@Test
	void auditTellsWhoTurnsItOn() {
		SecurityContext caller = mock(SecurityContext.class);
		given(caller.getPrincipal()).willReturn(() -> "ada");
		try (OperatedApplication application = OperatedApplication.run(UNRESTRICTED)) {
			application.context()
				.getBean(ConnectionsEndpointWebExtension.class)
				.changeWireLog(caller, "on", "default", null, null, null);
			assertThat(application.events().audit()).singleElement()
				.extracting(AuditEvent::getPrincipal)
				.isEqualTo("ada");
		}
	}

	@Test
	void readOnlyIsTheDefault() throws Exception {
		try (OperatedApplication application = OperatedApplication.run()) {
			assertThat(application.post(PATH, "{\"wireLog\":\"on\",\"server\":\"default\"}").statusCode())
				.isEqualTo(405);
			assertThat(wireLog(application).snapshot()).isNull();
		}
	}

	@Test
	void aLogThatWouldNotAppearIsRefused() throws Exception {
		LoggingSystem logging = untouched.context().getBean(LoggingSystem.class);
		logging.setLogLevel("org.leaderfollowers.wire", LogLevel.OFF);
		try {
			HttpResponse<String> response = untouched.post(PATH, "{\"wireLog\":\"on\",\"server\":\"default\"}");
			assertThat(response.statusCode()).isEqualTo(409);
			assertThat(response.body()).contains("set the level of the logger 'org.leaderfollowers.wire' to INFO");
		}
		finally {
			logging.setLogLevel("org.leaderfollowers.wire", null);
		}
	}

	@ParameterizedTest
	@CsvSource(delimiter = '|', quoteCharacter = '!',
			textBlock = """
					{}                                                                | 400 | Nothing to do: give 'wireLog'
					{"wireLog":"on"}                                                  | 400 | Nothing to do: give 'wireLog'
					{"server":"default"}                                              | 400 | Nothing to do: give 'wireLog'
					{"wireLog":"on","server":" "}                                     | 400 | Nothing to do: give 'wireLog'
					{"wireLog":"perhaps","server":"default"}                          | 400 | 'wireLog' must be one of 'on', 'off', but is 'perhaps'
					{"wireLog":"on","server":"unknown"}                               | 404 | There is no such server, only: default
					{"wireLog":"on","server":"default","connection":"x"}              | 400 | 'connection' must be a whole number, but is 'x'
					{"wireLog":"on","server":"default","connection":0}                | 400 | 'connection' must be from 1 to
					{"wireLog":"on","server":"default","connection":99}               | 404 | There is no such open connection
					{"wireLog":"on","server":"default","duration":"31s"}              | 400 | 'duration' must be more than 0 and at most PT30S, but is PT31S
					{"wireLog":"on","server":"default","duration":"0s"}               | 400 | 'duration' must be more than 0 and at most PT30S, but is PT0S
					{"wireLog":"on","server":"default","payload":"yes"}               | 400 | 'payload' must be 'true' or 'false', but is 'yes'
					{"wireLog":"on","server":"default","payload":true}                | 409 | the property 'lf.logging.wire.payload' does not allow it
					{"wireLog":"off","server":"default","duration":"1s"}              | 400 | 'connection', 'duration' and 'payload' are for 'on' only
					{"wireLog":"off","server":"default","connection":1}               | 400 | 'connection', 'duration' and 'payload' are for 'on' only
					{"wireLog":"off","server":"default","payload":true}               | 400 | 'connection', 'duration' and 'payload' are for 'on' only
					""")
	void saysWhatIsWrong(String body, int status, String reason) throws Exception {
		HttpResponse<String> response = untouched.post(PATH, body);
		assertThat(response.statusCode()).isEqualTo(status);
		assertThat(response.body()).contains(reason);
		assertThat(wireLog(untouched).snapshot()).isNull();
		assertThat(untouched.events().audit()).isEmpty();
	}

}
