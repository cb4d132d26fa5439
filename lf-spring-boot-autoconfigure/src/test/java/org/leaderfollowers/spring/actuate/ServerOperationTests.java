package org.leaderfollowers.spring.actuate;

import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.leaderfollowers.Connection;
import org.leaderfollowers.MessageHandler;
import org.leaderfollowers.spring.LineClient;
import org.leaderfollowers.spring.annotation.LfHandler;
import org.leaderfollowers.spring.event.ServerEvent;
import org.leaderfollowers.spring.event.ServerPausedEvent;
import org.leaderfollowers.spring.event.ServerResumedEvent;
import org.leaderfollowers.spring.event.ServerStoppedEvent;
import org.leaderfollowers.spring.server.LeaderFollowersServers;

import org.springframework.boot.actuate.audit.AuditEvent;
import org.springframework.boot.actuate.audit.listener.AuditApplicationEvent;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.event.EventListener;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Tests for the operations of {@link LeaderFollowersEndpoint} on servers, over HTTP.
 */
@ExtendWith(OutputCaptureExtension.class)
class ServerOperationTests {

	private static final String SERVER = "/actuator/leaderfollowers/default/default";

	private final HttpClient http = HttpClient.newHttpClient();

	@Test
	void showsOneServerOfAPool() throws Exception {
		try (ConfigurableApplicationContext context = run()) {
			HttpResponse<String> response = get(context, SERVER);
			assertThat(response.statusCode()).isEqualTo(200);
			assertThat(response.body()).contains("\"state\":\"RUNNING\"").contains("\"handler\":\"gate\"");
			assertThat(get(context, "/actuator/leaderfollowers/default/unknown").statusCode()).isEqualTo(404);
			assertThat(get(context, "/actuator/leaderfollowers/spare/default").statusCode()).isEqualTo(404);
			assertThat(get(context, "/actuator/leaderfollowers/unknown/default").statusCode()).isEqualTo(404);
		}
	}

	@Test
	void withoutRaisedAccessNothingCanBeWritten() throws Exception {
		try (ConfigurableApplicationContext context = run("--management.endpoint.leaderfollowers.access=read-only")) {
			assertThat(post(context, SERVER, "{\"action\":\"pause\"}").statusCode()).isEqualTo(405);
			assertThat(isPaused(context)).isFalse();
		}
	}

	@Test
	void readOnlyIsTheDefault() throws Exception {
		try (ConfigurableApplicationContext context = run("--management.endpoint.leaderfollowers.access=")) {
			assertThat(get(context, SERVER).statusCode()).isEqualTo(200);
			assertThat(post(context, SERVER, "{\"action\":\"pause\"}").statusCode()).isEqualTo(405);
			assertThat(isPaused(context)).isFalse();
		}
	}

	@Test
	void withoutAccessThereIsNothing() throws Exception {
		try (ConfigurableApplicationContext context = run("--management.endpoint.leaderfollowers.access=none")) {
			assertThat(get(context, SERVER).statusCode()).isEqualTo(404);
			assertThat(post(context, SERVER, "{\"action\":\"pause\"}").statusCode()).isEqualTo(404);
		}
	}

	@Test
	void pauseAndResumeTakePlaceOnce(CapturedOutput output) throws Exception {
		try (ConfigurableApplicationContext context = run()) {
			Events events = context.getBean(Events.class);
			for (int i = 0; i < 2; i++) {
				HttpResponse<String> response = post(context, SERVER, "{\"action\":\"pause\"}");
				assertThat(response.statusCode()).isEqualTo(200);
				assertThat(response.body()).contains("\"paused\":true");
			}
			assertThat(isPaused(context)).isTrue();
			for (int i = 0; i < 2; i++) {
				HttpResponse<String> response = post(context, SERVER, "{\"action\":\"Resume\"}");
				assertThat(response.statusCode()).isEqualTo(200);
				assertThat(response.body()).contains("\"paused\":false");
			}
			assertThat(isPaused(context)).isFalse();
			assertThat(events.servers).extracting(Object::getClass)
				.isEqualTo(List.of(ServerPausedEvent.class, ServerResumedEvent.class));
			assertThat(events.audit).extracting(AuditEvent::getType)
				.containsExactly("LF_SERVER_PAUSED", "LF_SERVER_RESUMED");
			assertThat(events.audit.get(0).getPrincipal()).isEmpty();
			assertThat(events.audit.get(0).getData()).containsOnly(Map.entry("pool", "default"),
					Map.entry("server", "default"), Map.entry("before", Map.of("paused", false)),
					Map.entry("after", Map.of("paused", true)));
			assertThat(output).containsOnlyOnce("Server 'default' is paused through Actuator: it takes on nothing new")
				.containsOnlyOnce("Server 'default' is resumed through Actuator");
		}
	}

	@Test
	void drainedServerAnswersWhatItHasAndIsStopped(CapturedOutput output) throws Exception {
		try (ConfigurableApplicationContext context = run()) {
			Events events = context.getBean(Events.class);
			Gate gate = context.getBean(Gate.class);
			try (LineClient client = new LineClient(port(context))) {
				client.send("hello");
				gate.awaitMessage();
				HttpResponse<String> response = post(context, SERVER, "{\"action\":\"drain\",\"timeout\":\"PT5M\"}");
				assertThat(response.statusCode()).isEqualTo(200);
				assertThat(response.body()).contains("\"state\":\"DRAINING\"");
				assertThat(get(context, SERVER).body()).contains("\"state\":\"DRAINING\"");
				assertThat(post(context, SERVER, "{\"action\":\"drain\"}")).satisfies((again) -> {
					assertThat(again.statusCode()).isEqualTo(409);
					assertThat(again.body())
						.isEqualTo("{\"reason\":\"The server cannot be drained, since it is DRAINING\"}");
				});
				gate.open();
				assertThat(client.read()).isEqualTo("hello");
			}
			await().untilAsserted(() -> assertThat(events.servers).singleElement()
				.isInstanceOfSatisfying(ServerStoppedEvent.class,
						(event) -> assertThat(event.getServer().name()).isEqualTo("default")));
			assertThat(get(context, SERVER).body()).contains("\"state\":\"STOPPED\"");
			for (String action : List.of("pause", "resume")) {
				HttpResponse<String> refused = post(context, SERVER, "{\"action\":\"%s\"}".formatted(action));
				assertThat(refused.statusCode()).isEqualTo(409);
				assertThat(refused.body()).contains("STOPPED");
			}
			assertThat(events.audit).singleElement().satisfies((event) -> {
				assertThat(event.getType()).isEqualTo("LF_SERVER_DRAINED");
				assertThat(event.getData()).containsOnly(Map.entry("pool", "default"), Map.entry("server", "default"),
						Map.entry("timeout", "PT5M"), Map.entry("before", Map.of("state", "RUNNING")),
						Map.entry("after", Map.of("state", "DRAINING")));
			});
			assertThat(output).containsOnlyOnce("Server 'default' is being drained through Actuator")
				.containsOnlyOnce("Server 'default' is stopped");
		}
	}

	@Test
	void drainEndsWhenItsTimeIsUp() throws Exception {
		try (ConfigurableApplicationContext context = run()) {
			Gate gate = context.getBean(Gate.class);
			try (LineClient client = new LineClient(port(context))) {
				client.send("hello");
				gate.awaitMessage();
				assertThat(post(context, SERVER, "{\"action\":\"drain\",\"timeout\":\"1ms\"}").statusCode())
					.isEqualTo(200);
				await().untilAsserted(() -> assertThat(get(context, SERVER).body()).contains("\"state\":\"STOPPED\""));
			}
			gate.open();
		}
	}

	@Test
	void contextThatIsClosedWaitsForAServerThatDrains() throws Exception {
		CountDownLatch closed = new CountDownLatch(1);
		ConfigurableApplicationContext context = run();
		Gate gate = context.getBean(Gate.class);
		Events events = context.getBean(Events.class);
		try (LineClient client = new LineClient(port(context))) {
			client.send("hello");
			gate.awaitMessage();
			assertThat(post(context, SERVER, "{\"action\":\"drain\",\"timeout\":\"1h\"}").statusCode()).isEqualTo(200);
			Thread closing = new Thread(() -> {
				context.close();
				closed.countDown();
			});
			closing.start();
			await().until(() -> Thread.getAllStackTraces()
				.keySet()
				.stream()
				.anyMatch((t) -> t.getName().equals("lf-shutdown-default")));
			gate.open();
			assertThat(client.read()).isEqualTo("hello");
			closing.join();
		}
		finally {
			gate.open();
			context.close();
		}
		assertThat(events.servers).hasSize(1).hasOnlyElementsOfType(ServerStoppedEvent.class);
	}

	@Test
	void serverThatWasDrainedIsStartedAgainWithTheContext() throws Exception {
		try (ConfigurableApplicationContext context = run()) {
			assertThat(post(context, SERVER, "{\"action\":\"drain\"}").statusCode()).isEqualTo(200);
			await().untilAsserted(() -> assertThat(context.getBean(Events.class).servers).hasSize(1));
			context.stop();
			context.start();
			context.getBean(Gate.class).open();
			try (LineClient client = new LineClient(port(context))) {
				assertThat(client.ask("hello")).isEqualTo("hello");
			}
		}
	}

	@ParameterizedTest
	@CsvSource(delimiter = '|', quoteCharacter = '`',
			textBlock = """
					{}                                       | Nothing to do: give 'action' ('pause', 'resume' or 'drain'), and with 'drain', if you like, 'timeout'
					{"actoin":"pause"}                       | Nothing to do: give 'action' ('pause', 'resume' or 'drain'), and with 'drain', if you like, 'timeout'
					{"action":""}                            | Nothing to do: give 'action' ('pause', 'resume' or 'drain'), and with 'drain', if you like, 'timeout'
					{"action":"stop"}                        | 'action' must be one of 'pause', 'resume', 'drain', but is 'stop'
					{"action":"\\u001b[2Jx\\nforged"}        | 'action' must be one of 'pause', 'resume', 'drain', but is '?[2Jx?forged'
					{"action":"pause","timeout":"1s"}        | 'timeout' is for the action 'drain' only
					{"action":"drain","timeout":"soon"}      | 'timeout' must be a time such as '500ms', '30s' or 'PT30S', but is 'soon'
					{"action":"drain","timeout":"-1s"}       | 'timeout' must be from 0 to PT24H, but is PT-1S
					{"action":"drain","timeout":"PT24H0.1S"} | 'timeout' must be from 0 to PT24H, but is PT24H0.1S
					{"action":"drain","timeout":"99999999999999999999d"} | 'timeout' must be a time such as '500ms', '30s' or 'PT30S', but is '99999999999999999999d'
					""")
	void wrongInputIsRefusedWithTheReason(String body, String reason) throws Exception {
		try (ConfigurableApplicationContext context = run()) {
			HttpResponse<String> response = post(context, SERVER, body);
			assertThat(response.statusCode()).isEqualTo(400);
			assertThat(response.headers().firstValue("Content-Type")).get().asString().contains("json");
			assertThat(response.body()).isEqualTo("{\"reason\":\"" + reason + "\"}");
			assertThat(context.getBean(Events.class).audit).isEmpty();
			assertThat(context.getBean(Events.class).servers).isEmpty();
		}
	}

	@Test
	void unknownNamesAreNotFound() throws Exception {
		try (ConfigurableApplicationContext context = run()) {
			HttpResponse<String> server = post(context, "/actuator/leaderfollowers/default/x",
					"{\"action\":\"pause\"}");
			assertThat(server.statusCode()).isEqualTo(404);
			assertThat(server.body()).isEqualTo("{\"reason\":\"There is no such server of this pool, only: default\"}");
			HttpResponse<String> pool = post(context, "/actuator/leaderfollowers/x/default", "{\"action\":\"pause\"}");
			assertThat(pool.statusCode()).isEqualTo(404);
			assertThat(pool.body()).isEqualTo("{\"reason\":\"There is no such pool, only: default, spare\"}");
			assertThat(post(context, "/actuator/leaderfollowers/spare/default", "{\"action\":\"pause\"}").body())
				.isEqualTo("{\"reason\":\"There is no such server of this pool\"}");
		}
	}

	private static boolean isPaused(ConfigurableApplicationContext context) {
		return context.getBean(LeaderFollowersServers.class).get("default").isPaused();
	}

	private static int port(ConfigurableApplicationContext context) {
		return context.getBean(LeaderFollowersServers.class).get("default").port();
	}

	private HttpResponse<String> get(ConfigurableApplicationContext context, String path) throws Exception {
		return send(context, path, HttpRequest.newBuilder());
	}

	private HttpResponse<String> post(ConfigurableApplicationContext context, String path, String body)
			throws Exception {
		return send(context, path,
				HttpRequest.newBuilder()
					.header("Content-Type", "application/json")
					.POST(HttpRequest.BodyPublishers.ofString(body)));
	}

	private HttpResponse<String> send(ConfigurableApplicationContext context, String path, HttpRequest.Builder request)
			throws IOException, InterruptedException {
		String port = context.getEnvironment().getRequiredProperty("local.server.port");
		return this.http.send(
				request.uri(URI.create("http://localhost:" + port + path)).timeout(Duration.ofSeconds(60)).build(),
				HttpResponse.BodyHandlers.ofString());
	}

	private static ConfigurableApplicationContext run(String... arguments) {
		return new SpringApplicationBuilder(Application.class)
			.properties(Map.of("server.port", 0, "management.endpoints.web.exposure.include", "leaderfollowers",
					"management.endpoint.leaderfollowers.access", "unrestricted", "lf.server.port", 0,
					"lf.server.address", "127.0.0.1", "lf.pools.spare.handle-sets", 1))
			.run(arguments);
	}

	@Configuration(proxyBeanMethods = false)
	@EnableAutoConfiguration
	static class Application {

		@Bean
		@LfHandler
		Gate gate() {
			return new Gate();
		}

		@Bean
		Events events() {
			return new Events();
		}

	}

	static class Events {

		private final List<ServerEvent> servers = new CopyOnWriteArrayList<>();

		private final List<AuditEvent> audit = new CopyOnWriteArrayList<>();

		@EventListener({ ServerPausedEvent.class, ServerResumedEvent.class, ServerStoppedEvent.class })
		void on(ServerEvent event) {
			this.servers.add(event);
		}

		@EventListener
		void on(AuditApplicationEvent event) {
			this.audit.add(event.getAuditEvent());
		}

	}

	static class Gate implements MessageHandler {

		private final CountDownLatch received = new CountDownLatch(1);

		private final CountDownLatch open = new CountDownLatch(1);

		@Override
		public void onMessage(Connection connection, ByteBuffer message) throws Exception {
			this.received.countDown();
			this.open.await();
			connection.send(message);
		}

		void awaitMessage() throws InterruptedException {
			this.received.await();
		}

		void open() {
			this.open.countDown();
		}

	}

}
