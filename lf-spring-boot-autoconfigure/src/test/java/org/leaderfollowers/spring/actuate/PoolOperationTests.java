package org.leaderfollowers.spring.actuate;

import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.leaderfollowers.LeaderFollowersPool;
import org.leaderfollowers.PoolSnapshot;
import org.leaderfollowers.PromotionPolicy;
import org.leaderfollowers.spring.LineClient;
import org.leaderfollowers.spring.limit.ClientLimiters;
import org.leaderfollowers.spring.server.LeaderFollowersPools;
import org.leaderfollowers.spring.server.LeaderFollowersServers;

import org.springframework.boot.test.json.BasicJsonTester;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for the operations of {@link LeaderFollowersEndpoint} on pools, over HTTP.
 */
@ExtendWith(OutputCaptureExtension.class)
class PoolOperationTests {

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

	private static final String POOL = "/actuator/leaderfollowers/default";

	private final BasicJsonTester json = new BasicJsonTester(getClass());

	@Test
	void everythingChangesAtOnce(CapturedOutput output) throws Exception {
		try (OperatedApplication application = OperatedApplication.run("--lf.pool.threads.min=2",
				"--lf.pool.threads.max=4", "--lf.pool.promotion.lease=3ms")) {
			HttpResponse<String> response = application.post(POOL,
					"{\"minThreads\":3,\"maxThreads\":7,\"policy\":\"eager\",\"lease\":\"PT0.05S\"}");
			assertThat(response.statusCode()).isEqualTo(200);
			var body = this.json.from(response.body());
			assertThat(body).extractingJsonPathNumberValue("$.configuration.threads.min").isEqualTo(3);
			assertThat(body).extractingJsonPathNumberValue("$.configuration.threads.max").isEqualTo(7);
			assertThat(body).extractingJsonPathStringValue("$.configuration.promotion.policy").isEqualTo("EAGER");
			assertThat(body).extractingJsonPathStringValue("$.configuration.promotion.lease").isEqualTo("PT0.05S");
			PoolSnapshot pool = application.pool().snapshot();
			assertThat(pool.minThreads()).isEqualTo(3);
			assertThat(pool.maxThreads()).isEqualTo(7);
			assertThat(pool.promotionPolicy()).isEqualTo(PromotionPolicy.EAGER);
			assertThat(pool.promotionLease()).isEqualTo(Duration.ofMillis(50));
			assertThat(application.events().audit()).singleElement().satisfies((event) -> {
				assertThat(event.getType()).isEqualTo("LF_POOL_CHANGED");
				assertThat(event.getPrincipal()).isEmpty();
				assertThat(event.getData()).isEqualTo(Map.of("pool", "default", "before",
						Map.of("minThreads", 2, "maxThreads", 4, "policy", "ADAPTIVE", "lease", "PT0.003S"), "after",
						Map.of("minThreads", 3, "maxThreads", 7, "policy", "EAGER", "lease", "PT0.05S")));
			});
			assertThat(output).containsOnlyOnce("Pool 'default' is changed through Actuator: {minThreads=3, "
					+ "maxThreads=7, policy=EAGER, lease=PT0.05S}, was {minThreads=2, maxThreads=4, policy=ADAPTIVE, "
					+ "lease=PT0.003S}");
			try (LineClient client = new LineClient(application.port())) {
				assertThat(client.ask("hello")).isEqualTo("hello");
			}
		}
	}

	@ParameterizedTest
	@ValueSource(strings = { "{\"maxThreads\":9}", "{\"maxThreads\":\"9\"}", "{\"maxThreads\":\" 9 \",\"policy\":\"\"}",
			"{\"maxThreads\":9,\"unknown\":1}" })
	void whatIsNotGivenStays(String body) throws Exception {
		try (OperatedApplication application = OperatedApplication.run()) {
			PoolSnapshot before = application.pool().snapshot();
			assertThat(application.post(POOL, body).statusCode()).isEqualTo(200);
			PoolSnapshot pool = application.pool().snapshot();
			assertThat(pool.maxThreads()).isEqualTo(9);
			assertThat(pool.minThreads()).isEqualTo(before.minThreads());
			assertThat(pool.promotionPolicy()).isEqualTo(before.promotionPolicy());
			assertThat(pool.promotionLease()).isEqualTo(before.promotionLease());
			assertThat(application.events().audit()).singleElement()
				.satisfies((event) -> assertThat(event.getData()).containsEntry("after", Map.of("maxThreads", 9)));
		}
	}

	@Test
	void theMinimumAloneChangesUpToTheMaximum() throws Exception {
		try (OperatedApplication application = OperatedApplication.run("--lf.pool.threads.max=5")) {
			assertThat(application.post(POOL, "{\"minThreads\":5}").statusCode()).isEqualTo(200);
			assertThat(application.pool().snapshot().minThreads()).isEqualTo(5);
			assertThat(application.events().audit()).singleElement()
				.satisfies((event) -> assertThat(event.getData()).isEqualTo(Map.of("pool", "default", "before",
						Map.of("minThreads", 4), "after", Map.of("minThreads", 5))));
		}
	}

	@Test
	void whoIsToldOfAChangeMayWaitForThreadsOfThePool() {
		try (OperatedApplication application = OperatedApplication.run()) {
			LeaderFollowersPool pool = application.pool();
			LeaderFollowersEndpoint endpoint = new LeaderFollowersEndpoint(null,
					application.context().getBean(LeaderFollowersPools.class),
					application.context().getBean(LeaderFollowersServers.class), new ClientLimiters(null),
					(caller) -> false, (name) -> List.of(), Duration.ofSeconds(1),
					(event) -> CompletableFuture.runAsync(() -> pool.join(Duration.ZERO))
						.orTimeout(60, TimeUnit.SECONDS)
						.join());
			endpoint.changePool("default", null, "9", null, null);
			assertThat(pool.snapshot().maxThreads()).isEqualTo(9);
		}
	}

	@Test
	void valuesThatArePresentAlreadyAreNoChange(CapturedOutput output) throws Exception {
		try (OperatedApplication application = OperatedApplication.run()) {
			for (String body : List.of("{\"policy\":\"adaptive\"}", "{\"lease\":\"2ms\"}")) {
				assertThat(application.post(POOL, body).statusCode()).isEqualTo(200);
			}
			assertThat(application.events().audit()).isEmpty();
			assertThat(output).doesNotContain("through Actuator");
		}
	}

	@ParameterizedTest
	@CsvSource(delimiter = '|', quoteCharacter = '`',
			textBlock = """
					{}                              | Nothing to change: give 'minThreads', 'maxThreads', 'policy' or 'lease', or several of them
					{"maxThread":9}                 | Nothing to change: give 'minThreads', 'maxThreads', 'policy' or 'lease', or several of them
					{"maxThreads":null}             | Nothing to change: give 'minThreads', 'maxThreads', 'policy' or 'lease', or several of them
					{"maxThreads":"many"}           | 'maxThreads' must be a whole number, but is 'many'
					{"maxThreads":1.5}              | 'maxThreads' must be a whole number, but is '1.5'
					{"maxThreads":99999999999}      | 'maxThreads' must be from 1 to 10000, but is '99999999999'
					{"maxThreads":10001}            | 'maxThreads' must be from 1 to 10000, but is '10001'
					{"minThreads":-3}               | 'minThreads' must be from 1 to 10000, but is '-3'
					{"maxThreads":1}                | 'maxThreads' must be from 'minThreads' (4) to 10000, but is 1
					{"minThreads":65}               | 'minThreads' must be from 1 to 'maxThreads' (64), but is 65
					{"policy":"lazy"}               | 'policy' must be one of 'eager', 'adaptive', but is 'lazy'
					{"policy":"<script>alert(1)</script>"} | 'policy' must be one of 'eager', 'adaptive', but is '<script>alert(1)</script>'
					{"lease":"soon"}                | 'lease' must be a time such as '500ms', '30s' or 'PT30S', but is 'soon'
					""")
	void wrongInputIsRefusedWithTheReason(String body, String reason) throws Exception {
		PoolSnapshot before = untouched.pool().snapshot();
		HttpResponse<String> response = untouched.post(POOL, body);
		assertThat(response.statusCode()).isEqualTo(400);
		assertThat(response.headers().firstValue("Content-Type")).get().asString().matches("application/.*json.*");
		assertThat(response.body()).isEqualTo("{\"reason\":\"" + reason + "\"}");
		assertUnchanged(untouched, before);
	}

	@ParameterizedTest
	@CsvSource(delimiter = '|', quoteCharacter = '`', textBlock = """
			{"minThreads":0}                             | minThreads
			{"minThreads":-3}                            | minThreads
			{"maxThreads":0}                             | maxThreads
			{"maxThreads":10001}                         | maxThreads
			{"minThreads":5,"maxThreads":4}              | Threads
			{"minThreads":5,"maxThreads":4,"policy":"eager","lease":"7ms"} | Threads
			{"lease":"0ms"}                              | ease
			{"lease":"-1s"}                              | ease
			{"lease":"1h"}                               | ease
			{"maxThreads":9,"lease":"1h"}                | ease
			""")
	void whatTheEngineRefusesChangesNothing(String body, String about, CapturedOutput output) throws Exception {
		PoolSnapshot before = untouched.pool().snapshot();
		HttpResponse<String> response = untouched.post(POOL, body);
		assertThat(response.statusCode()).isEqualTo(400);
		assertThat(response.body()).startsWith("{\"reason\":\"'").contains(about).contains("must be");
		assertUnchanged(untouched, before);
		// Not even for a moment.
		assertThat(output).doesNotContain("was changed");
	}

	@Test
	void closedPoolIsAConflict() throws Exception {
		try (OperatedApplication application = OperatedApplication.run()) {
			application.pool().close(Duration.ZERO);
			HttpResponse<String> response = application.post(POOL, "{\"maxThreads\":9}");
			assertThat(response.statusCode()).isEqualTo(409);
			assertThat(response.body()).isEqualTo("{\"reason\":\"The pool is STOPPED\"}");
		}
	}

	@Test
	void unknownPoolIsNotFound() throws Exception {
		HttpResponse<String> response = untouched.post("/actuator/leaderfollowers/x", "{\"maxThreads\":9}");
		assertThat(response.statusCode()).isEqualTo(404);
		assertThat(response.body()).isEqualTo("{\"reason\":\"There is no such pool, only: default, spare\"}");
	}

	@ParameterizedTest
	@CsvSource({ "read-only, 405", "none, 404" })
	void nothingChangesWithoutAccess(String access, int status) throws Exception {
		try (OperatedApplication application = OperatedApplication
			.run("--management.endpoint.leaderfollowers.access=" + access)) {
			PoolSnapshot before = application.pool().snapshot();
			assertThat(application.post(POOL, "{\"maxThreads\":9}").statusCode()).isEqualTo(status);
			assertUnchanged(application, before);
		}
	}

	@ParameterizedTest
	@ValueSource(strings = { "text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=b", "" })
	void whatAFormOfAnotherSiteCanSendIsNotAccepted(String contentType) throws Exception {
		PoolSnapshot before = untouched.pool().snapshot();
		HttpRequest.Builder request = HttpRequest.newBuilder()
			.POST(HttpRequest.BodyPublishers
				.ofString(contentType.startsWith("multipart") ? "--b--\r\n" : "{\"maxThreads\":9}"));
		if (!contentType.isEmpty()) {
			request.header("Content-Type", contentType);
		}
		assertThat(untouched.send(POOL + "?maxThreads=9", request).statusCode()).isEqualTo(415);
		assertUnchanged(untouched, before);
	}

	@Test
	void requestWithoutBodyOrTypeChangesNothing() throws Exception {
		PoolSnapshot before = untouched.pool().snapshot();
		HttpRequest.Builder request = HttpRequest.newBuilder().POST(HttpRequest.BodyPublishers.noBody());
		assertThat(untouched.send(POOL + "?maxThreads=9", request).statusCode()).isEqualTo(415);
		assertUnchanged(untouched, before);
	}

	private static void assertUnchanged(OperatedApplication application, PoolSnapshot before) {
		PoolSnapshot pool = application.pool().snapshot();
		assertThat(PoolOperations.Change.values(pool)).isEqualTo(PoolOperations.Change.values(before));
		assertThat(application.events().audit()).isEmpty();
	}

}
