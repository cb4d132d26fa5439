package org.leaderfollowers.spring.actuate;

import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

import org.awaitility.Awaitility;
import org.awaitility.core.ConditionFactory;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.leaderfollowers.TcpServer;
import org.leaderfollowers.spring.LineClient;
import org.leaderfollowers.spring.event.ServerStoppedEvent;

import org.springframework.boot.actuate.audit.AuditEvent;
import org.springframework.boot.availability.ApplicationAvailability;
import org.springframework.boot.availability.ReadinessState;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for the operation {@code evacuate} of {@link LeaderFollowersEndpoint}, over HTTP.
 */
@ExtendWith(OutputCaptureExtension.class)
@Timeout(180)
class EvacuationTests {

	private static final String SERVER = "/actuator/leaderfollowers/default/default";

	private final OperatedApplication application = OperatedApplication.run();

	private final List<LineClient> clients = new ArrayList<>();

	@AfterEach
	void close() throws Exception {
		for (LineClient client : this.clients) {
			client.close();
		}
		this.application.close();
	}

	private void connect(int count) throws Exception {
		for (int i = 0; i < count; i++) {
			LineClient client = new LineClient(this.application.port());
			this.clients.add(client);
			assertThat(client.ask("hello")).isEqualTo("hello");
		}
	}

	private HttpResponse<String> evacuate(String rate) throws Exception {
		return this.application.post(SERVER, "{\"action\":\"evacuate\",\"rate\":\"%s\"}".formatted(rate));
	}

	private static ConditionFactory await() {
		return Awaitility.await().atMost(Duration.ofSeconds(60));
	}

	private ReadinessState readiness() {
		return this.application.context().getBean(ApplicationAvailability.class).getReadinessState();
	}

	private int open() {
		return this.application.server().snapshot().openConnections();
	}

	/** The connections have the numbers of their clients, from 1. */
	private LineClient openClient() {
		TcpServer server = (TcpServer) this.application.server();
		return this.clients.get((int) server.connections().findFirst().orElseThrow().id() - 1);
	}

	@Test
	void connectionsAreClosedAtTheRateAndTheServerStops(CapturedOutput output) throws Exception {
		connect(4);
		assertThat(readiness()).isEqualTo(ReadinessState.ACCEPTING_TRAFFIC);
		HttpResponse<String> response = evacuate("1/h");
		assertThat(response.statusCode()).isEqualTo(200);
		assertThat(response.body()).contains("\"state\":\"DRAINING\"")
			.contains("\"evacuation\":{\"rate\":\"1/h\",\"left\":");
		assertThat(readiness()).isEqualTo(ReadinessState.REFUSING_TRAFFIC);
		await().until(() -> open() == 3);
		assertThat(this.application.get(SERVER).body()).contains("\"evacuation\":{\"rate\":\"1/h\",\"left\":3}");
		assertThat(this.application.post(SERVER, "{\"action\":\"pause\"}").statusCode()).isEqualTo(409);
		assertThat(this.application.post(SERVER, "{\"action\":\"resume\"}").statusCode()).isEqualTo(409);
		assertThat(this.application.events().servers()).isEmpty();

		// Its reply keeps the server from stopping before the operation has ended.
		LineClient waiting = openClient();
		waiting.send("wait");
		await().until(() -> this.application.server().snapshot().receivedMessages() == 5);
		assertThat(evacuate("1000 / S").statusCode()).isEqualTo(200);
		this.application.gate().open();
		assertThat(waiting.read()).isEqualTo("wait");
		for (LineClient client : this.clients) {
			assertThat(client.read()).isNull();
		}
		await().untilAsserted(() -> assertThat(this.application.events().servers()).singleElement()
			.isInstanceOf(ServerStoppedEvent.class));
		assertThat(this.application.get(SERVER).body()).contains("\"state\":\"STOPPED\"").doesNotContain("evacuation");
		assertThat(evacuate("1/s")).satisfies((again) -> {
			assertThat(again.statusCode()).isEqualTo(409);
			assertThat(again.body()).isEqualTo("{\"reason\":\"The server cannot be evacuated, since it is STOPPED\"}");
		});
		List<AuditEvent> audit = this.application.events().audit();
		assertThat(audit).extracting(AuditEvent::getType).containsExactly("LF_SERVER_EVACUATED", "LF_SERVER_EVACUATED");
		assertThat(audit.get(0).getData()).containsOnly(Map.entry("pool", "default"), Map.entry("server", "default"),
				Map.entry("before", Map.of("state", "RUNNING")),
				Map.entry("after", Map.of("state", "DRAINING", "rate", "1/h")));
		assertThat(audit.get(1).getData()).containsEntry("before", Map.of("state", "DRAINING", "rate", "1/h"))
			.containsEntry("after", Map.of("state", "DRAINING", "rate", "1000/s"));
		assertThat(output)
			.containsOnlyOnce("Server 'default' is being evacuated through Actuator: it accepts nothing new, and "
					+ "closes 4 connections at most 1/h, in 10800 s at the earliest")
			.containsOnlyOnce("and closes 3 connections at most 1000/s, in 0 s at the earliest")
			.containsOnlyOnce("Server 'default' is stopped");
	}

	@Test
	void aDrainEndsTheEvacuation(CapturedOutput output) throws Exception {
		connect(3);
		assertThat(evacuate("1/h").statusCode()).isEqualTo(200);
		await().until(() -> open() == 2);
		assertThat(this.application.post(SERVER, "{\"action\":\"drain\"}").statusCode()).isEqualTo(200);
		await().untilAsserted(() -> assertThat(this.application.events().servers()).hasSize(1));
		assertThat(output).containsOnlyOnce("Server 'default' is stopped");
	}

	@Test
	void aDrainEndsTheWaitForAConnectionThatDoesNotEnd() throws Exception {
		connect(1);
		this.clients.get(0).send("wait");
		this.application.gate().awaitMessage();
		assertThat(evacuate("1/s").statusCode()).isEqualTo(200);
		await().until(() -> this.application.server().snapshot().evacuation() == null);
		assertThat(evacuate("1/s").statusCode()).isEqualTo(409);
		assertThat(this.application.post(SERVER, "{\"action\":\"drain\",\"timeout\":\"1ms\"}").statusCode())
			.isEqualTo(200);
		await().untilAsserted(() -> assertThat(this.application.get(SERVER).body()).contains("\"state\":\"STOPPED\""));
		assertThat(this.application.post(SERVER, "{\"action\":\"drain\"}").statusCode()).isEqualTo(409);
		// A drain publishes its event after the state has changed.
		await().untilAsserted(() -> assertThat(this.application.events().servers()).hasSize(1));
	}

	@Test
	void anotherRateNeedsNoOtherThread() throws Exception {
		connect(2);
		assertThat(evacuate("1/h").statusCode()).isEqualTo(200);
		assertThat(evacuate("2/h").statusCode()).isEqualTo(200);
		assertThat(Thread.getAllStackTraces().keySet())
			.filteredOn((thread) -> thread.getName().equals("lf-evacuation-default"))
			.hasSize(1);
	}

	@Test
	void theShutdownEndsTheEvacuation(CapturedOutput output) throws Exception {
		connect(3);
		assertThat(evacuate("1/h").statusCode()).isEqualTo(200);
		await().until(() -> open() == 2);
		OperatedApplication.Events events = this.application.events();
		this.application.context().close();
		for (LineClient client : this.clients) {
			assertThat(client.read()).isNull();
		}
		assertThat(events.servers()).hasSize(1);
		assertThat(output).contains("Graceful shutdown complete");
	}

	@Test
	void readinessComesBackWhenTheContextIsStartedAgain() throws Exception {
		assertThat(evacuate("1/s").statusCode()).isEqualTo(200);
		await().untilAsserted(() -> assertThat(this.application.events().servers()).hasSize(1));
		assertThat(readiness()).isEqualTo(ReadinessState.REFUSING_TRAFFIC);
		this.application.context().stop();
		this.application.context().start();
		assertThat(readiness()).isEqualTo(ReadinessState.ACCEPTING_TRAFFIC);
		connect(1);
	}

	@ParameterizedTest
	@CsvSource(delimiter = '|', quoteCharacter = '`',
			textBlock = """
					{"action":"evacuate"}                 | The action 'evacuate' needs 'rate': how many connections to close, such as '50/s'
					{"action":"evacuate","rate":"fast"}   | 'rate' must be from 1 to 1000000 connections for each second, minute or hour, such as '50/s', '30/m' or '100/h', but is 'fast'
					{"action":"evacuate","rate":"0/s"}    | 'rate' must be from 1 to 1000000 connections for each second, minute or hour, such as '50/s', '30/m' or '100/h', but is '0/s'
					{"action":"drain","rate":"50/s"}      | 'rate' is for the action 'evacuate' only
					{"action":"evacuate","rate":"1/s","timeout":"1s"} | 'timeout' is for the action 'drain' only
					""")
	void wrongInputIsRefusedWithTheReason(String body, String reason) throws Exception {
		HttpResponse<String> response = this.application.post(SERVER, body);
		assertThat(response.statusCode()).isEqualTo(400);
		assertThat(response.body()).isEqualTo("{\"reason\":\"" + reason + "\"}");
		assertThat(this.application.events().audit()).isEmpty();
		assertThat(readiness()).isEqualTo(ReadinessState.ACCEPTING_TRAFFIC);
	}

}
