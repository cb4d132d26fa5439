package org.leaderfollowers.integration;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.net.InetAddress;
import java.net.Socket;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

import org.springframework.boot.WebApplicationType;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * The endpoints answer the same with Spring MVC and WebFlux.
 */
class WebStackTests {

	private static final String EXPOSED = "management.endpoints.web.exposure.include=*";

	private static final String POOL = "/actuator/leaderfollowers/default";

	@ParameterizedTest
	@EnumSource(names = "NONE", mode = EnumSource.Mode.EXCLUDE)
	void nothingIsExposedByDefault(WebApplicationType stack) throws Exception {
		try (OperatedApplication application = OperatedApplication.withoutSecurity(stack)) {
			for (String endpoint : new String[] { "leaderfollowers", "lfhandoffs", "lfconnections" }) {
				assertThat(application.get("/actuator/" + endpoint).statusCode()).isEqualTo(404);
			}
			assertThat(application.get("/actuator").body()).contains("health").doesNotContain("\"l");
		}
	}

	@ParameterizedTest
	@EnumSource(names = "NONE", mode = EnumSource.Mode.EXCLUDE)
	void exposedEndpointsAreReadOnly(WebApplicationType stack) throws Exception {
		try (OperatedApplication application = OperatedApplication.withoutSecurity(stack, EXPOSED)) {
			for (String path : new String[] { POOL, POOL + "/default", "/actuator/leaderfollowers",
					"/actuator/lfhandoffs", "/actuator/lfconnections" }) {
				assertThat(application.get(path).statusCode()).as(path).isEqualTo(200);
				assertThat(application.post(path, "{}").statusCode()).as(path).isEqualTo(405);
				assertThat(application.delete(path).statusCode()).as(path).isEqualTo(405);
			}
			assertThat(application.delete(POOL + "/default/1").statusCode()).isEqualTo(404);
			assertThat(application.audit()).isEmpty();
		}
	}

	@ParameterizedTest
	@EnumSource(names = "NONE", mode = EnumSource.Mode.EXCLUDE)
	void writesAndRefusalsAreTheSame(WebApplicationType stack) throws Exception {
		try (OperatedApplication application = OperatedApplication.withoutSecurity(stack, EXPOSED,
				"management.endpoint.leaderfollowers.access=unrestricted",
				"management.endpoint.lfhandoffs.access=unrestricted",
				"management.endpoint.lfconnections.access=unrestricted", "lf.logging.wire.payload=true")) {
			assertThat(application.post(POOL, "{\"maxThreads\":9}").statusCode()).isEqualTo(200);
			assertThat(application.post(POOL + "/default", "{\"action\":\"pause\"}").body())
				.contains("\"paused\":true");
			assertThat(application.post(POOL + "/default", "{\"action\":\"resume\"}").body())
				.contains("\"paused\":false");
			try (Socket client = new Socket(InetAddress.getLoopbackAddress(), application.server().port())) {
				client.getOutputStream().write("hello\n".getBytes(StandardCharsets.US_ASCII));
				BufferedReader reader = new BufferedReader(
						new InputStreamReader(client.getInputStream(), StandardCharsets.US_ASCII));
				assertThat(reader.readLine()).isEqualTo("hello");
				assertThat(application.get("/actuator/lfconnections?sort=-age").body()).contains("\"id\":1,")
					.doesNotContain("127.0.0.1");
				assertThat(application
					.post("/actuator/lfconnections",
							"{\"wireLog\":\"on\",\"server\":\"default\",\"connection\":1,\"payload\":true}")
					.body()).startsWith("{\"server\":\"default\",\"connection\":1,").contains("\"payload\":true");
				assertThat(application.post("/actuator/lfconnections", "{\"wireLog\":\"off\",\"server\":\"default\"}")
					.statusCode()).isEqualTo(200);
				assertThat(application.delete(POOL + "/default/1").statusCode()).isEqualTo(204);
				assertThat(reader.readLine()).isNull();
			}
			assertThat(application.delete("/actuator/lfhandoffs").statusCode()).isEqualTo(200);
			assertThat(application.audit()).extracting((event) -> event.getType())
				.containsExactly("LF_POOL_CHANGED", "LF_SERVER_PAUSED", "LF_SERVER_RESUMED", "LF_WIRE_LOG_STARTED",
						"LF_WIRE_LOG_STOPPED", "LF_CONNECTION_CLOSED", "LF_HAND_OFFS_DRAINED");
			assertRefused(application.post(POOL, "{\"maxThread\":9}"), 400, "Nothing to change: ");
			assertRefused(application.post(POOL, "{\"maxThreads\":\"<b>\"}"), 400,
					"'maxThreads' must be a whole number, but is '<b>'");
			assertRefused(application.post("/actuator/leaderfollowers/x", "{\"maxThreads\":9}"), 404,
					"There is no such pool, only: default");
			assertRefused(application.delete(POOL + "/default/77"), 404, "There is no such open connection");
			assertRefused(application.delete(POOL + "/default/x"), 400, "'connection' must be a whole number");
			assertRefused(application.get("/actuator/lfconnections?sort=x"), 400, "'sort' must be one of ");
			assertRefused(application.get("/actuator/lfhandoffs?limit=x"), 400, "'limit' must be a whole number");
			HttpRequest.Builder form = HttpRequest.newBuilder()
				.header("Content-Type", "text/plain")
				.POST(HttpRequest.BodyPublishers.ofString("{\"maxThreads\":11}"));
			assertThat(application.send(POOL + "?maxThreads=11", form).statusCode()).isEqualTo(415);
			// A browser can send these to another site without asking it.
			HttpRequest.Builder untyped = HttpRequest.newBuilder()
				.POST(HttpRequest.BodyPublishers.ofString("{\"maxThreads\":11}"));
			assertThat(application.send(POOL, untyped).statusCode()).isEqualTo(415);
			HttpRequest.Builder empty = HttpRequest.newBuilder().POST(HttpRequest.BodyPublishers.noBody());
			assertThat(application.send(POOL + "?maxThreads=11", empty).statusCode()).isEqualTo(415);
			assertThat(application.get(POOL).body()).contains("\"max\":9");
			assertThat(application.audit()).hasSize(7);
		}
	}

	private static void assertRefused(HttpResponse<String> response, int status, String reason) {
		assertThat(response.statusCode()).isEqualTo(status);
		assertThat(response.headers().firstValue("Content-Type")).get().asString().contains("json");
		assertThat(response.body()).startsWith("{\"reason\":\"" + reason);
	}

	@ParameterizedTest
	@EnumSource(names = "NONE", mode = EnumSource.Mode.EXCLUDE)
	void settingsOfTheApplicationDoNotChangeTheJson(WebApplicationType stack) throws Exception {
		try (OperatedApplication application = OperatedApplication.withoutSecurity(stack, EXPOSED,
				"spring.jackson.property-naming-strategy=SNAKE_CASE",
				"spring.jackson.default-property-inclusion=always",
				"spring.jackson.datatype.datetime.write-dates-as-timestamps=true",
				"spring.jackson.datatype.datetime.write-durations-as-timestamps=true",
				"spring.jackson.mapper.sort-properties-alphabetically=true")) {
			String pool = application.get(POOL).body();
			assertThat(pool).contains("\"keepAlive\":\"PT1M\"")
				.contains("\"lease\":\"PT0.002S\"")
				.containsPattern("\"since\":\"20[0-9]{2}-");
			String all = application.get("/actuator/leaderfollowers").body();
			assertThat(all).containsPattern("^\\{\"time\":\"20[0-9]{2}-").doesNotContain("null");
			assertThat(application.get("/actuator/lfconnections").body()).matches(
					"\\{\"time\":\"20[^\"]+\",\"total\":0,\"page\":0,\"size\":20,\"connections\":\\[],\"wireLogs\":\\[]}");
			assertThat(application.get("/actuator/lfhandoffs").body()).startsWith("{\"time\":\"20");
		}
	}

	@ParameterizedTest
	@EnumSource(names = "NONE", mode = EnumSource.Mode.EXCLUDE)
	void managementMayHaveAPortOfItsOwn(WebApplicationType stack) throws Exception {
		try (OperatedApplication application = OperatedApplication.withoutSecurity(stack, EXPOSED,
				"management.server.port=0", "management.endpoint.leaderfollowers.access=unrestricted",
				// There are two web servers here that can do it.
				"spring.main.allow-bean-definition-overriding=true")) {
			int port = application.managementPort();
			assertThat(application.get(POOL).statusCode()).isEqualTo(404);
			assertThat(application.post(POOL + "/default", "{\"action\":\"pause\"}").statusCode()).isEqualTo(404);
			assertThat(application.server().isPaused()).isFalse();
			assertThat(application.send(port, POOL, HttpRequest.newBuilder()).statusCode()).isEqualTo(200);
			assertThat(application.send(port, POOL + "/default", OperatedApplication.posting("{\"action\":\"pause\"}"))
				.statusCode()).isEqualTo(200);
			assertThat(application.server().isPaused()).isTrue();
			assertRefused(application.send(port, POOL, OperatedApplication.posting("{}")), 400, "Nothing to change");
			assertThat(application.audit()).hasSize(1);
		}
	}

}
