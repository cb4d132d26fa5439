package org.leaderfollowers.spring.actuate;

import java.net.http.HttpResponse;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;

import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.leaderfollowers.spring.LineClient;
import org.leaderfollowers.spring.actuate.OperatedApplication.Events;
import org.leaderfollowers.spring.actuate.OperatedApplication.Gate;
import org.leaderfollowers.spring.event.ServerPausedEvent;
import org.leaderfollowers.spring.event.ServerResumedEvent;
import org.leaderfollowers.spring.event.ServerStoppedEvent;

import org.springframework.boot.actuate.audit.AuditEvent;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.event.EventListener;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Tests for the operations of {@link LeaderFollowersEndpoint} on servers, over HTTP.
 */
@ExtendWith(OutputCaptureExtension.class)
class ServerOperationTests {

	/** For what is refused. */
	private static OperatedApplication untouched;

	@BeforeAll
	static void start() {
		untouched = OperatedApplication.run();
	}

	@AfterAll
	static void stop() {
		untouched.close();
	}

	private static final String SERVER = "/actuator/leaderfollowers/default/default";

	@Test
	void showsOneServerOfAPool() throws Exception {
		try (OperatedApplication application = OperatedApplication.run()) {
			HttpResponse<String> response = application.get(SERVER);
			assertThat(response.statusCode()).isEqualTo(200);
			assertThat(response.body()).contains("\"state\":\"RUNNING\"").contains("\"handler\":\"gate\"");
		}
	}

	@ParameterizedTest
	@CsvSource(delimiter = '|', textBlock = """
			/default/unknown | There is no such server of this pool, only: default
			/spare/default   | There is no such server of this pool
			/unknown/default | There is no such pool, only: default, spare
			/unknown         | There is no such pool, only: default, spare
			""")
	void nothingIsShownOfUnknownNamesButTheKnownOnes(String path, String reason) throws Exception {
		HttpResponse<String> response = untouched.get("/actuator/leaderfollowers" + path);
		assertThat(response.statusCode()).isEqualTo(404);
		assertThat(response.body()).isEqualTo("{\"reason\":\"" + reason + "\"}");
	}

	@Test
	void withoutRaisedAccessNothingCanBeWritten() throws Exception {
		try (OperatedApplication application = OperatedApplication
			.run("--management.endpoint.leaderfollowers.access=read-only")) {
			assertThat(application.post(SERVER, "{\"action\":\"pause\"}").statusCode()).isEqualTo(405);
			assertThat(isPaused(application)).isFalse();
		}
	}

	@Test
	void readOnlyIsTheDefault() throws Exception {
		try (OperatedApplication application = OperatedApplication
			.run("--management.endpoint.leaderfollowers.access=")) {
			assertThat(application.get(SERVER).statusCode()).isEqualTo(200);
			assertThat(application.post(SERVER, "{\"action\":\"pause\"}").statusCode()).isEqualTo(405);
			assertThat(isPaused(application)).isFalse();
		}
	}

	@Test
	void withoutAccessThereIsNothing() throws Exception {
		try (OperatedApplication application = OperatedApplication
			.run("--management.endpoint.leaderfollowers.access=none")) {
			assertThat(application.get(SERVER).statusCode()).isEqualTo(404);
			assertThat(application.post(SERVER, "{\"action\":\"pause\"}").statusCode()).isEqualTo(404);
		}
	}

	@Test
	void pauseAndResumeTakePlaceOnce(CapturedOutput output) throws Exception {
		try (OperatedApplication application = OperatedApplication.run()) {
			Events events = application.events();
			for (int i = 0; i < 2; i++) {
				HttpResponse<String> response = application.post(SERVER, "{\"action\":\"pause\"}");
				assertThat(response.statusCode()).isEqualTo(200);
				assertThat(response.body()).contains("\"paused\":true");
			}
			assertThat(isPaused(application)).isTrue();
			for (int i = 0; i < 2; i++) {
				HttpResponse<String> response = application.post(SERVER, "{\"action\":\"Resume\"}");
				assertThat(response.statusCode()).isEqualTo(200);
				assertThat(response.body()).contains("\"paused\":false");
			}
			assertThat(isPaused(application)).isFalse();
			assertThat(events.servers()).extracting(Object::getClass)
				.isEqualTo(List.of(ServerPausedEvent.class, ServerResumedEvent.class));
			assertThat(events.audit()).extracting(AuditEvent::getType)
				.containsExactly("LF_SERVER_PAUSED", "LF_SERVER_RESUMED");
			assertThat(events.audit().get(0).getPrincipal()).isEmpty();
			assertThat(events.audit().get(0).getData()).containsOnly(Map.entry("pool", "default"),
					Map.entry("server", "default"), Map.entry("before", Map.of("paused", false)),
					Map.entry("after", Map.of("paused", true)));
			assertThat(output).containsOnlyOnce("Server 'default' is paused through Actuator: it accepts nothing new")
				.containsOnlyOnce("Server 'default' is resumed through Actuator");
		}
	}

	@Test
	void aPauseIsAuditedAlthoughAListenerFails() throws Exception {
		try (OperatedApplication application = OperatedApplication
			.run("--spring.main.sources=" + FailingListener.class.getName())) {
			assertThat(application.post(SERVER, "{\"action\":\"pause\"}").statusCode()).isEqualTo(500);
			assertThat(isPaused(application)).isTrue();
			assertThat(application.events().audit()).extracting(AuditEvent::getType)
				.containsExactly("LF_SERVER_PAUSED");
		}
	}

	@Test
	void theAuditTellsThePoolFromTheServer() throws Exception {
		try (OperatedApplication application = OperatedApplication.run("--lf.server.pool=spare",
				"--lf.server.per-client.max-connections=100");
				LineClient first = new LineClient(application.port());
				LineClient second = new LineClient(application.port());
				LineClient third = new LineClient(application.port())) {
			for (LineClient client : List.of(first, second, third)) {
				assertThat(client.ask("hello")).isEqualTo("hello");
			}
			String path = "/actuator/leaderfollowers/spare/default";
			assertThat(application.delete(path + "/1").statusCode()).isEqualTo(204);
			for (String body : List.of("\"action\":\"pause\"", "\"action\":\"limit\",\"maxConnections\":9",
					"\"action\":\"evacuate\",\"rate\":\"1/h\"", "\"action\":\"drain\"")) {
				assertThat(application.post(path, "{%s}".formatted(body)).statusCode()).as(body).isEqualTo(200);
			}
			assertThat(application.events().audit()).hasSize(5)
				.allSatisfy((event) -> assertThat(event.getData()).containsEntry("pool", "spare")
					.containsEntry("server", "default"));
		}
	}

	@Test
	void drainedServerAnswersWhatItHasAndIsStopped(CapturedOutput output) throws Exception {
		try (OperatedApplication application = OperatedApplication.run()) {
			Events events = application.events();
			Gate gate = application.gate();
			try (LineClient client = new LineClient(application.port())) {
				client.send("wait");
				gate.awaitMessage();
				HttpResponse<String> response = application.post(SERVER, "{\"action\":\"drain\",\"timeout\":\"PT5M\"}");
				assertThat(response.statusCode()).isEqualTo(200);
				assertThat(response.body()).contains("\"state\":\"DRAINING\"");
				assertThat(application.get(SERVER).body()).contains("\"state\":\"DRAINING\"");
				assertThat(application.post(SERVER, "{\"action\":\"drain\"}")).satisfies((again) -> {
					assertThat(again.statusCode()).isEqualTo(409);
					assertThat(again.body())
						.isEqualTo("{\"reason\":\"The server cannot be drained, since it is DRAINING\"}");
				});
				gate.open();
				assertThat(client.read()).isEqualTo("wait");
			}
			await().untilAsserted(() -> assertThat(events.servers()).singleElement()
				.isInstanceOfSatisfying(ServerStoppedEvent.class,
						(event) -> assertThat(event.getServer().name()).isEqualTo("default")));
			assertThat(application.get(SERVER).body()).contains("\"state\":\"STOPPED\"");
			for (String action : List.of("pause", "resume")) {
				HttpResponse<String> refused = application.post(SERVER, "{\"action\":\"%s\"}".formatted(action));
				assertThat(refused.statusCode()).isEqualTo(409);
				assertThat(refused.body()).contains("STOPPED");
			}
			assertThat(events.audit()).singleElement().satisfies((event) -> {
				assertThat(event.getType()).isEqualTo("LF_SERVER_DRAINED");
				assertThat(event.getData()).containsOnly(Map.entry("pool", "default"), Map.entry("server", "default"),
						Map.entry("timeout", "PT5M"), Map.entry("before", Map.of("state", "RUNNING")),
						Map.entry("after", Map.of("state", "DRAINING")));
			});
			assertThat(output).containsOnlyOnce("Server 'default' is draining through Actuator")
				.containsOnlyOnce("Server 'default' is stopped");
		}
	}

	@Test
	void drainEndsWhenItsTimeIsUp() throws Exception {
		try (OperatedApplication application = OperatedApplication.run()) {
			Gate gate = application.gate();
			try (LineClient client = new LineClient(application.port())) {
				client.send("wait");
				gate.awaitMessage();
				assertThat(application.post(SERVER, "{\"action\":\"drain\",\"timeout\":\"1ms\"}").statusCode())
					.isEqualTo(200);
				await()
					.untilAsserted(() -> assertThat(application.get(SERVER).body()).contains("\"state\":\"STOPPED\""));
			}
			gate.open();
		}
	}

	@Test
	void shutdownOfMoreThanADayDoesNotPreventDraining() throws Exception {
		try (OperatedApplication application = OperatedApplication
			.run("--spring.lifecycle.timeout-per-shutdown-phase=2d")) {
			assertThat(application.post(SERVER, "{\"action\":\"drain\"}").statusCode()).isEqualTo(200);
			assertThat(application.events().audit()).singleElement()
				.satisfies((event) -> assertThat(event.getData()).containsEntry("timeout", "PT24H"));
		}
	}

	@Test
	void contextThatIsClosedWaitsForAServerThatDrains() throws Exception {
		CountDownLatch closed = new CountDownLatch(1);
		OperatedApplication application = OperatedApplication.run();
		Gate gate = application.gate();
		Events events = application.events();
		try (LineClient client = new LineClient(application.port())) {
			client.send("wait");
			gate.awaitMessage();
			assertThat(application.post(SERVER, "{\"action\":\"drain\",\"timeout\":\"1h\"}").statusCode())
				.isEqualTo(200);
			Thread closing = new Thread(() -> {
				// Without opening the gate
				application.context().close();
				closed.countDown();
			});
			closing.start();
			await().until(() -> Thread.getAllStackTraces()
				.keySet()
				.stream()
				.anyMatch((t) -> t.getName().equals("lf-shutdown-default")));
			gate.open();
			assertThat(client.read()).isEqualTo("wait");
			closing.join();
		}
		finally {
			gate.open();
			application.close();
		}
		await().untilAsserted(
				() -> assertThat(events.servers()).hasSize(1).hasOnlyElementsOfType(ServerStoppedEvent.class));
	}

	@Test
	void serverThatWasDrainedIsStartedAgainWithTheContext() throws Exception {
		try (OperatedApplication application = OperatedApplication.run()) {
			assertThat(application.post(SERVER, "{\"action\":\"drain\"}").statusCode()).isEqualTo(200);
			await().untilAsserted(() -> assertThat(application.events().servers()).hasSize(1));
			application.context().stop();
			application.context().start();
			application.gate().open();
			try (LineClient client = new LineClient(application.port())) {
				assertThat(client.ask("hello")).isEqualTo("hello");
			}
		}
	}

	@ParameterizedTest
	@CsvSource(delimiter = '|', quoteCharacter = '`',
			textBlock = """
					{}                                       | Nothing to do: give 'action' ('pause', 'resume', 'drain', 'evacuate' or 'limit'), with 'drain', if you like, 'timeout', with 'evacuate' 'rate', and with 'limit' the limits
					{"actoin":"pause"}                       | Nothing to do: give 'action' ('pause', 'resume', 'drain', 'evacuate' or 'limit'), with 'drain', if you like, 'timeout', with 'evacuate' 'rate', and with 'limit' the limits
					{"action":""}                            | Nothing to do: give 'action' ('pause', 'resume', 'drain', 'evacuate' or 'limit'), with 'drain', if you like, 'timeout', with 'evacuate' 'rate', and with 'limit' the limits
					{"action":"stop"}                        | 'action' must be one of 'pause', 'resume', 'drain', 'evacuate', 'limit', but is 'stop'
					{"action":"\\u001b[2Jx\\nforged"}        | 'action' must be one of 'pause', 'resume', 'drain', 'evacuate', 'limit', but is '?[2Jx?forged'
					{"action":"pause","timeout":"1s"}        | 'timeout' is for the action 'drain' only
					{"action":"drain","timeout":"soon"}      | 'timeout' must be a time such as '500ms', '30s' or 'PT30S', but is 'soon'
					{"action":"drain","timeout":"-1s"}       | 'timeout' must be from 0 to PT24H, but is PT-1S
					{"action":"drain","timeout":"PT24H0.1S"} | 'timeout' must be from 0 to PT24H, but is PT24H0.1S
					{"action":"drain","timeout":"99999999999999999999d"} | 'timeout' must be a time such as '500ms', '30s' or 'PT30S', but is '99999999999999999999d'
					""")
	void wrongInputIsRefusedWithTheReason(String body, String reason) throws Exception {
		HttpResponse<String> response = untouched.post(SERVER, body);
		assertThat(response.statusCode()).isEqualTo(400);
		assertThat(response.headers().firstValue("Content-Type")).get().asString().contains("json");
		assertThat(response.body()).isEqualTo("{\"reason\":\"" + reason + "\"}");
		assertThat(untouched.events().audit()).isEmpty();
		assertThat(untouched.events().servers()).isEmpty();
	}

	@Test
	void unknownNamesAreNotFound() throws Exception {
		HttpResponse<String> server = untouched.post("/actuator/leaderfollowers/default/x", "{\"action\":\"pause\"}");
		assertThat(server.statusCode()).isEqualTo(404);
		assertThat(server.body()).isEqualTo("{\"reason\":\"There is no such server of this pool, only: default\"}");
		HttpResponse<String> pool = untouched.post("/actuator/leaderfollowers/x/default", "{\"action\":\"pause\"}");
		assertThat(pool.statusCode()).isEqualTo(404);
		assertThat(pool.body()).isEqualTo("{\"reason\":\"There is no such pool, only: default, spare\"}");
		assertThat(untouched.post("/actuator/leaderfollowers/spare/default", "{\"action\":\"pause\"}").body())
			.isEqualTo("{\"reason\":\"There is no such server of this pool\"}");
	}

	private static boolean isPaused(OperatedApplication application) {
		return application.server().isPaused();
	}

	@Configuration(proxyBeanMethods = false)
	static class FailingListener {

		@EventListener
		void on(ServerPausedEvent event) {
			throw new IllegalStateException("from the test");
		}

	}

}
