package org.leaderfollowers.spring.actuate;

import java.net.InetSocketAddress;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import java.util.stream.IntStream;
import java.util.stream.Stream;

import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.leaderfollowers.Connection;
import org.leaderfollowers.ConnectionSnapshot;
import org.leaderfollowers.MessageHandler;
import org.leaderfollowers.TcpServer;
import org.leaderfollowers.WireLog;
import org.leaderfollowers.spring.DistinctAnswers;
import org.leaderfollowers.spring.EchoHandler;
import org.leaderfollowers.spring.LineClient;
import org.leaderfollowers.spring.annotation.LfHandler;
import org.leaderfollowers.spring.server.LeaderFollowersServers;

import org.springframework.boot.actuate.endpoint.SecurityContext;
import org.springframework.boot.actuate.endpoint.Show;
import org.springframework.boot.json.JsonParserFactory;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;
import static org.mockito.BDDMockito.given;
import static org.mockito.Mockito.mock;

/**
 * Tests for {@link ConnectionsEndpoint}, over HTTP.
 */
@ExtendWith(OutputCaptureExtension.class)
class ConnectionsEndpointTests {

	private static final List<LineClient> clients = new ArrayList<>();

	private static OperatedApplication application;

	@BeforeAll
	static void connect() throws Exception {
		application = OperatedApplication.run("--lf.servers.empty.port=0", "--lf.servers.empty.address=127.0.0.1",
				"--lf.servers.datagrams.port=0", "--lf.servers.datagrams.transport=udp",
				"--spring.main.sources=" + MoreHandlers.class.getName());
		for (int i = 0; i < 5; i++) {
			LineClient client = new LineClient(application.port());
			clients.add(client);
			for (int j = 0; j <= (i * 2) % 5; j++) {
				assertThat(client.ask("hello " + "x".repeat(i))).startsWith("hello");
			}
		}
		// A message counts after its reply.
		await().untilAsserted(() -> assertThat(connections(page("?sort=messages")))
			.extracting((connection) -> connection.get("messages"))
			.containsExactly(1, 2, 3, 4, 5));
	}

	@AfterAll
	static void disconnect() throws Exception {
		for (LineClient client : clients) {
			client.close();
		}
		application.close();
	}

	@Test
	void showsTheOldestFirst() throws Exception {
		Instant before = Instant.now();
		Map<String, Object> page = page("");
		assertThat(page).containsOnlyKeys("time", "total", "page", "size", "connections", "wireLogs")
			.containsEntry("total", 5)
			.containsEntry("page", 0)
			.containsEntry("size", 20);
		assertThat(Instant.parse((String) page.get("time"))).isBetween(before, Instant.now());
		assertThat(connections(page)).extracting((connection) -> connection.get("id")).isSorted().hasSize(5);
		Map<String, Object> oldest = connections(page).get(0);
		assertThat(oldest)
			.containsOnlyKeys("id", "server", "state", "age", "idle", "messages", "receivedBytes", "sentBytes",
					"pendingBytes", "tlsGeneration", "inFlight", "pool")
			.containsEntry("server", "default")
			.containsEntry("state", "OPEN")
			.containsEntry("messages", 1)
			.containsEntry("receivedBytes", 7)
			.containsEntry("sentBytes", 7)
			.containsEntry("pendingBytes", 0)
			.containsEntry("tlsGeneration", 0)
			.containsEntry("pool", "default");
		assertThat(Duration.parse((String) oldest.get("age")))
			.isGreaterThanOrEqualTo(Duration.parse((String) oldest.get("idle")));
	}

	@ParameterizedTest
	@CsvSource({ "messages, 1 2 3 4 5", "-messages, 5 4 3 2 1", "-Messages%20, 5 4 3 2 1" })
	void sortsByMessages(String sort, String expected) throws Exception {
		assertThat(connections(page("?sort=" + sort)))
			.extracting((connection) -> String.valueOf(connection.get("messages")))
			.containsExactly(expected.split(" "));
	}

	@ParameterizedTest
	@ValueSource(strings = { "age", "idle", "received", "sent", "pending" })
	void sortsBothWaysByEveryFigure(String sort) throws Exception {
		assertThat(connections(page("?sort=" + sort))).hasSize(5);
		assertThat(connections(page("?sort=-" + sort))).hasSize(5);
		String field = switch (sort) {
			case "received", "sent", "pending" -> sort + "Bytes";
			default -> sort;
		};
		assertThat(connections(page("?sort=" + sort))).extracting((connection) -> figure(connection.get(field)))
			.isSorted();
	}

	private static Long figure(Object value) {
		return (value instanceof String time) ? Duration.parse(time).toNanos() : ((Number) value).longValue();
	}

	@Test
	void eachOrderReadsItsOwnFigure() {
		TcpServer server = mock(TcpServer.class, new DistinctAnswers());
		TcpServer other = mock(TcpServer.class, new DistinctAnswers());
		given(server.name()).willReturn("b");
		// A server visits its connections in no order.
		given(server.connections())
			.willAnswer((call) -> IntStream.of(3, 5, 0, 4, 2, 1).mapToObj((id) -> snapshot("b", id)));
		given(other.name()).willReturn("a");
		given(other.connections()).willAnswer((call) -> Stream.of(snapshot("a", 9)));
		ConnectionsEndpoint endpoint = new ConnectionsEndpoint(
				LeaderFollowersServers.builder().bean("server", server).bean("other", other).build(), Show.NEVER,
				Set.of(), new WireLog.Options(0, Duration.ofMinutes(1), false, 1, 1), (event) -> {
				});
		List<String> sorts = List.of("age", "idle", "messages", "received", "sent", "pending");
		for (int i = 0; i < sorts.size(); i++) {
			assertThat(endpoint.connections(null, null, "-" + sorts.get(i), null, "2").connections())
				.extracting(ConnectionsEndpoint.ConnectionDescriptor::id)
				.as(sorts.get(i))
				.containsExactly((long) i, 9L);
		}
		assertThat(endpoint.connections(null, null, "age", null, null).connections())
			.extracting(ConnectionsEndpoint.ConnectionDescriptor::id)
			.as("equal ones by their servers and numbers")
			.containsExactly(9L, 1L, 2L, 3L, 4L, 5L, 0L);
	}

	@Test
	void everyFigureIsShownAsWhatItIs() {
		Duration age = Duration.ofSeconds(2);
		Duration idle = Duration.ofSeconds(3);
		ConnectionSnapshot.State state = ConnectionSnapshot.State.SUSPENDED;
		assertThat(ConnectionsEndpoint.ConnectionDescriptor.of(new ConnectionSnapshot(1, "meter", "a", state,
				new InetSocketAddress("::1", 10), age, idle, 4, 5, 6, 7, 8, 9, "pool"), true))
			.isEqualTo(new ConnectionsEndpoint.ConnectionDescriptor(1, "meter", "a", state, "[0:0:0:0:0:0:0:1]:10", age,
					idle, 4, 5, 6, 7, 8, 9, "pool"));
		TcpServer server = mock(TcpServer.class);
		given(server.name()).willReturn("a");
		assertThat(ConnectionsEndpoint.WireLogDescriptor.of(server,
				new WireLog.Snapshot(new WireLog.Options(1, age, true, 1, 1), Instant.EPOCH, 3, 4)))
			.isEqualTo(new ConnectionsEndpoint.WireLogDescriptor("a", 1L, Instant.EPOCH, true, 3, 4));
	}

	/** In this locale, {@code %d} writes other digits. */
	@Test
	void addressesAreShownToARole() {
		Locale locale = Locale.getDefault();
		Locale.setDefault(Locale.forLanguageTag("ar-EG"));
		try {
			TcpServer server = mock(TcpServer.class, new DistinctAnswers());
			given(server.name()).willReturn("a");
			given(server.connections()).willAnswer((call) -> Stream.of(snapshot("a", 1)));
			ConnectionsEndpoint endpoint = new ConnectionsEndpoint(
					LeaderFollowersServers.builder().bean("server", server).build(), Show.WHEN_AUTHORIZED,
					Set.of("OPERATOR"), new WireLog.Options(0, Duration.ofMinutes(1), false, 1, 1), (event) -> {
					});
			SecurityContext caller = mock(SecurityContext.class);
			given(caller.getPrincipal()).willReturn(() -> "ada");
			assertThat(endpoint.connections(caller, null, null, null, null, null).connections().get(0).remoteAddress())
				.isNull();
			given(caller.isUserInRole("OPERATOR")).willReturn(true);
			assertThat(new ConnectionsEndpointWebExtension(endpoint).connections(caller, null, null, null, null, null)
				.getBody()).asString().contains("remoteAddress=0.0.0.0:0");
		}
		finally {
			Locale.setDefault(locale);
		}
	}

	@Test
	void theRoleThatSeesAddressesIsConfigured() throws Exception {
		try (OperatedApplication other = OperatedApplication.run(
				"--management.endpoint.lfconnections.show-remote-addresses=when-authorized",
				"--management.endpoint.lfconnections.roles=OPERATOR");
				LineClient client = new LineClient(other.port())) {
			assertThat(client.ask("hello")).isEqualTo("hello");
			ConnectionsEndpointWebExtension endpoint = other.context().getBean(ConnectionsEndpointWebExtension.class);
			SecurityContext caller = mock(SecurityContext.class);
			given(caller.getPrincipal()).willReturn(() -> "ada");
			assertThat(endpoint.connections(caller, null, null, null, null, null).getBody()).asString()
				.contains("total=1")
				.doesNotContain("127.0.0.1");
			given(caller.isUserInRole("OPERATOR")).willReturn(true);
			assertThat(endpoint.connections(caller, null, null, null, null, null).getBody()).asString()
				.contains("remoteAddress=127.0.0.1:");
		}
	}

	/** One figure, which the number of the connection chooses, is greater than 0. */
	private static ConnectionSnapshot snapshot(String server, int id) {
		long[] figures = new long[10];
		figures[id] = 1;
		return new ConnectionSnapshot(id, null, server, ConnectionSnapshot.State.OPEN, new InetSocketAddress(0),
				Duration.ofSeconds(figures[0]), Duration.ofSeconds(figures[1]), figures[2], figures[3], figures[4],
				figures[5], 0, 0, "default");
	}

	@Test
	void pagesDoNotOverlapAndMissNothing() throws Exception {
		List<Object> ids = new ArrayList<>();
		for (int page = 0; page < 3; page++) {
			Map<String, Object> found = page("?size=2&page=" + page);
			assertThat(found).containsEntry("total", 5).containsEntry("page", page).containsEntry("size", 2);
			connections(found).forEach((connection) -> ids.add(connection.get("id")));
		}
		assertThat(ids).hasSize(5).doesNotHaveDuplicates();
		assertThat(connections(page("?size=2&page=3"))).isEmpty();
		assertThat(page("?page=499")).as("the last page of all").containsEntry("total", 5);
	}

	@Test
	void oneLookTakesMemoryAtATime() throws Exception {
		ReentrantLock looking = application.context().getBean(ConnectionsEndpoint.class).looking;
		looking.lock();
		List<CompletableFuture<String>> answers = new ArrayList<>();
		try {
			for (int i = 0; i < 3; i++) {
				answers.add(CompletableFuture.supplyAsync(() -> body("?size=1"), (task) -> new Thread(task).start()));
			}
			await().atMost(Duration.ofSeconds(60)).until(() -> looking.getQueueLength() == 3);
			assertThat(answers).noneMatch(CompletableFuture::isDone);
		}
		finally {
			looking.unlock();
		}
		for (CompletableFuture<String> answer : answers) {
			assertThat(answer.get(60, TimeUnit.SECONDS)).contains("\"total\":5");
		}
	}

	private static String body(String query) {
		try {
			return application.get("/actuator/lfconnections" + query).body();
		}
		catch (Exception ex) {
			throw new IllegalStateException(ex);
		}
	}

	@Test
	void choosesByServerAndState() throws Exception {
		assertThat(page("?server=default")).containsEntry("total", 5);
		assertThat(page("?server=empty")).containsEntry("total", 0);
		assertThat(page("?state=open")).containsEntry("total", 5);
		assertThat(page("?state=CLOSING&server=default")).containsEntry("total", 0);
		assertThat(page("?server=%20&state=%20&sort=%20&page=%20&size=%20")).containsEntry("total", 5);
	}

	@Test
	void unknownServerIsNotFound() throws Exception {
		HttpResponse<String> response = application.get("/actuator/lfconnections?server=x");
		assertThat(response.statusCode()).isEqualTo(404);
		assertThat(response.body())
			.isEqualTo("{\"reason\":\"There is no such server, only: default, datagrams, empty\"}");
	}

	@ParameterizedTest
	@CsvSource(delimiter = '|',
			textBlock = """
					server=datagrams  | The server has no connections, since its transport is UDP
					state=shut        | 'state' must be one of 'opening', 'open', 'suspended', 'closing', but is 'shut'
					sort=address      | 'sort' must be one of 'age', 'idle', 'messages', 'pending', 'received', 'sent', with a '-' in front for the greatest first, but is 'address'
					page=-1           | 'page' must be from 0 to 2147483647, but is '-1'
					page=one          | 'page' must be a whole number, but is 'one'
					size=501          | 'size' must be from 1 to 500, but is '501'
					size=0            | 'size' must be from 1 to 500, but is '0'
					page=500          | Pages reach to the connection number 10000 in the order of 'sort': turn 'sort' around, or choose by 'server' and 'state'
					page=2147483647&size=500 | Pages reach to the connection number 10000 in the order of 'sort': turn 'sort' around, or choose by 'server' and 'state'
					""",
			quoteCharacter = '`')
	void wrongInputIsRefusedWithTheReason(String query, String reason) throws Exception {
		HttpResponse<String> response = application.get("/actuator/lfconnections?" + query);
		assertThat(response.statusCode()).isEqualTo(400);
		assertThat(response.body()).isEqualTo("{\"reason\":\"" + reason + "\"}");
	}

	@Test
	void withoutSecurityNobodyIsAuthorized() throws Exception {
		try (OperatedApplication other = OperatedApplication
			.run("--management.endpoint.lfconnections.show-remote-addresses=when-authorized");
				LineClient client = new LineClient(other.port())) {
			assertThat(client.ask("hello")).isEqualTo("hello");
			name(other);
			assertThat(other.get("/actuator/lfconnections").body()).contains("\"total\":1")
				.doesNotContain("127.0.0.1")
				.doesNotContain("meter");
		}
	}

	@Test
	void addressAndNameAreShownWhereTheOperatorAllows() throws Exception {
		try (OperatedApplication other = OperatedApplication
			.run("--management.endpoint.lfconnections.show-remote-addresses=always");
				LineClient client = new LineClient(other.port())) {
			assertThat(client.ask("hello")).isEqualTo("hello");
			name(other);
			assertThat(other.get("/actuator/lfconnections").body())
				.containsPattern("\"remoteAddress\":\"127.0.0.1:[0-9]+\"")
				.contains("\"name\":\"meter?17\"");
		}
	}

	/** Gives a name to the only connection, which could forge a line of a log. */
	private static void name(OperatedApplication other) {
		Connection connection = ((TcpServer) other.server()).connection(1);
		assertThat(connection).isNotNull();
		connection.name("meter\n17");
	}

	@Test
	void closesOneConnection(CapturedOutput output) throws Exception {
		try (OperatedApplication other = OperatedApplication.run();
				LineClient client = new LineClient(other.port());
				LineClient second = new LineClient(other.port())) {
			assertThat(client.ask("hello")).isEqualTo("hello");
			assertThat(second.ask("hello")).isEqualTo("hello");
			Object id = connections(page(other, "?sort=-age&size=1")).get(0).get("id");
			HttpResponse<String> response = other.delete("/actuator/leaderfollowers/default/default/" + id);
			assertThat(response.statusCode()).isEqualTo(204);
			assertThat(client.read()).isNull();
			assertThat(second.ask("hello")).isEqualTo("hello");
			await().untilAsserted(() -> {
				HttpResponse<String> again = other.delete("/actuator/leaderfollowers/default/default/" + id);
				assertThat(again.statusCode()).isEqualTo(404);
				assertThat(again.body()).isEqualTo("{\"reason\":\"There is no such open connection\"}");
			});
			assertThat(other.events().audit()).singleElement().satisfies((event) -> {
				assertThat(event.getType()).isEqualTo("LF_CONNECTION_CLOSED");
				assertThat(event.getData()).isEqualTo(Map.of("pool", "default", "server", "default", "connection",
						String.valueOf(id), "timeout", "PT30S"));
			});
			assertThat(output).containsOnlyOnce(
					"Connection %s of server 'default' is closed through Actuator, within 30000 ms".formatted(id));
		}
	}

	@Test
	void closedConnectionAnswersWhatItHasReceived() throws Exception {
		try (OperatedApplication other = OperatedApplication.run(); LineClient client = new LineClient(other.port())) {
			client.send("wait for the reply");
			await().until(() -> other.server().snapshot().receivedMessages() == 1);
			assertThat(other.delete("/actuator/leaderfollowers/default/default/1").statusCode()).isEqualTo(204);
			assertThat(other.delete("/actuator/leaderfollowers/default/default/1?timeout=1h").statusCode())
				.isEqualTo(204);
			other.gate().open();
			assertThat(client.read()).isEqualTo("wait for the reply");
			assertThat(client.read()).isNull();
		}
	}

	@Test
	void connectionIsClosedAtOnceIfTheOperatorSaysSo(CapturedOutput output) throws Exception {
		try (OperatedApplication other = OperatedApplication.run(); LineClient client = new LineClient(other.port())) {
			client.send("wait for ever");
			await().until(() -> other.server().snapshot().receivedMessages() == 1);
			String path = "/actuator/leaderfollowers/default/default/1?timeout=";
			assertThat(other.delete(path + "soon").statusCode()).isEqualTo(400);
			assertThat(other.delete(path + "-1s").statusCode()).isEqualTo(400);
			assertThat(other.delete(path + "0s").statusCode()).isEqualTo(204);
			assertThat(output).contains("Connection 1 of server 'default' is closed through Actuator, at once");
			other.gate().open();
			assertThat(client.read()).isNull();
		}
	}

	@Test
	void whatIsNoConnectionCannotBeClosed() throws Exception {
		HttpResponse<String> response = application.delete("/actuator/leaderfollowers/default/default/first");
		assertThat(response.statusCode()).isEqualTo(400);
		assertThat(response.body()).isEqualTo("{\"reason\":\"'connection' must be a whole number, but is 'first'\"}");
		response = application.delete("/actuator/leaderfollowers/default/datagrams/1");
		assertThat(response.statusCode()).isEqualTo(400);
		assertThat(response.body())
			.isEqualTo("{\"reason\":\"The server has no connections, since its transport is UDP\"}");
		response = application.post("/actuator/leaderfollowers/default/datagrams",
				"{\"action\":\"evacuate\",\"rate\":\"1/s\"}");
		assertThat(response.statusCode()).isEqualTo(400);
		assertThat(response.body()).contains("The server has no connections");
		assertThat(application.delete("/actuator/leaderfollowers/default/x/1").statusCode()).isEqualTo(404);
		assertThat(application.delete("/actuator/leaderfollowers/x/default/1").statusCode()).isEqualTo(404);
		assertThat(page("")).containsEntry("total", 5);
	}

	@Test
	void connectionIsNotClosedWithoutAccess() throws Exception {
		try (OperatedApplication other = OperatedApplication
			.run("--management.endpoint.leaderfollowers.access=read-only");
				LineClient client = new LineClient(other.port())) {
			assertThat(client.ask("hello")).isEqualTo("hello");
			Object id = connections(page(other, "")).get(0).get("id");
			assertThat(other.delete("/actuator/leaderfollowers/default/default/" + id).statusCode()).isEqualTo(404);
			assertThat(client.ask("hello")).isEqualTo("hello");
		}
	}

	private static Map<String, Object> page(String query) throws Exception {
		return page(application, query);
	}

	private static Map<String, Object> page(OperatedApplication application, String query) throws Exception {
		HttpResponse<String> response = application.get("/actuator/lfconnections" + query);
		assertThat(response.statusCode()).as(response.body()).isEqualTo(200);
		return JsonParserFactory.getJsonParser().parseMap(response.body());
	}

	@SuppressWarnings("unchecked")
	private static List<Map<String, Object>> connections(Map<String, Object> page) {
		return (List<Map<String, Object>>) page.get("connections");
	}

	@Configuration(proxyBeanMethods = false)
	static class MoreHandlers {

		@Bean
		@LfHandler("empty")
		MessageHandler empty() {
			return new EchoHandler();
		}

		@Bean
		@LfHandler("datagrams")
		MessageHandler datagrams() {
			return new EchoHandler();
		}

	}

}
