package org.leaderfollowers.spring.autoconfigure;

import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;

import org.awaitility.Awaitility;
import org.awaitility.core.ThrowingRunnable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.leaderfollowers.Connection;
import org.leaderfollowers.MessageHandler;
import org.leaderfollowers.spring.LineClient;
import org.leaderfollowers.spring.annotation.LfHandler;
import org.leaderfollowers.spring.server.LeaderFollowersServers;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

import org.springframework.boot.Banner;
import org.springframework.boot.SpringBootConfiguration;
import org.springframework.boot.actuate.endpoint.ApiVersion;
import org.springframework.boot.actuate.endpoint.SecurityContext;
import org.springframework.boot.actuate.endpoint.web.WebEndpointResponse;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.boot.health.actuate.endpoint.HealthDescriptor;
import org.springframework.boot.health.actuate.endpoint.HealthEndpointGroups;
import org.springframework.boot.health.actuate.endpoint.ReactiveHealthEndpointWebExtension;
import org.springframework.boot.health.contributor.Status;
import org.springframework.boot.health.registry.HealthContributorRegistry;
import org.springframework.boot.health.registry.ReactiveHealthContributorRegistry;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Bean;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * The responses of the probes of a real application while every thread of the pool
 * blocks.
 */
@Timeout(180)
class HealthProbeTests {

	private static final String READINESS = "--management.endpoint.health.group.readiness.include=readinessState,lf";

	@Test
	void saturationIsSeenAndTakesNothingDown() throws Exception {
		try (ConfigurableApplicationContext context = run(READINESS); Saturation saturation = new Saturation(context)) {
			await(() -> {
				JsonNode pool = get(context, "health", 200).at("/components/lf/components/pools");
				assertThat(pool.at("/status").asString()).isEqualTo("UP");
				JsonNode details = pool.at("/components/default/details");
				assertThat(Duration.parse(details.at("/saturatedFor").asString())).isPositive();
				assertThat(details.at("/reason").asString()).contains("threads.max is 2",
						"2 x 'gate' of server 'default'");
				assertThat(details.at("/handlers").toString())
					.isEqualTo("[{\"server\":\"default\",\"handler\":\"gate\",\"threads\":2}]");
				assertThat(details.at("/threads").toString())
					.isEqualTo("{\"max\":2,\"current\":2,\"busy\":2,\"idle\":0}");
			});
			assertThat(get(context, "health/readiness", 200).at("/status").asString()).isEqualTo("UP");
			assertThat(get(context, "health/liveness", 200).at("/status").asString()).isEqualTo("UP");
		}
	}

	@Test
	void saturationTakesReadinessDownIfTheOperatorAsksForIt() throws Exception {
		try (ConfigurableApplicationContext context = run(READINESS, "--lf.health.saturated-after=200ms")) {
			assertThat(get(context, "health/readiness", 200).at("/status").asString()).isEqualTo("UP");
			try (Saturation saturation = new Saturation(context)) {
				await(() -> assertThat(get(context, "health/readiness", 503).at("/status").asString())
					.isEqualTo("OUT_OF_SERVICE"));
				assertThat(get(context, "health/liveness", 200).at("/status").asString()).isEqualTo("UP");
			}
			await(() -> assertThat(get(context, "health/readiness", 200).at("/status").asString()).isEqualTo("UP"));
		}
	}

	@Test
	void readinessMayDependOnOneServer() throws Exception {
		try (ConfigurableApplicationContext context = run(
				"--management.endpoint.health.group.readiness.include=readinessState,lf/servers/default",
				"--lf.health.saturated-after=200ms"); Saturation saturation = new Saturation(context)) {
			await(() -> assertThat(get(context, "health/lf/pools/default", 503).at("/status").asString())
				.isEqualTo("OUT_OF_SERVICE"));
			JsonNode readiness = get(context, "health/readiness", 200);
			assertThat(readiness.at("/components/lf/components/servers/components/default/status").asString())
				.isEqualTo("UP");
			assertThat(readiness.at("/components/lf/components").has("pools")).isFalse();
		}
	}

	@Test
	void serverThatIsDrainedIsOutOfService() throws Exception {
		try (ConfigurableApplicationContext context = run()) {
			context.getBean(LeaderFollowersServers.class).get("default").drain(Duration.ofSeconds(30));
			JsonNode health = get(context, "health", 503);
			assertThat(health.at("/status").asString()).isEqualTo("OUT_OF_SERVICE");
			assertThat(health.at("/components/lf/components/servers/components/default/status").asString())
				.isEqualTo("OUT_OF_SERVICE");
		}
	}

	@Test
	void detailsAreShownToNobodyByDefault() throws Exception {
		try (ConfigurableApplicationContext context = run("--management.endpoint.health.show-details=never")) {
			assertThat(get(context, "health", 200).has("components")).isFalse();
		}
	}

	@Test
	void reactiveEndpointTellsTheSame() throws Exception {
		try (ConfigurableApplicationContext context = run("--lf.health.saturated-after=200ms");
				Saturation saturation = new Saturation(context)) {
			ReactiveHealthEndpointWebExtension extension = new ReactiveHealthEndpointWebExtension(
					context.getBean(ReactiveHealthContributorRegistry.class),
					context.getBean(HealthContributorRegistry.class), context.getBean(HealthEndpointGroups.class),
					null);
			await(() -> {
				WebEndpointResponse<? extends HealthDescriptor> response = extension
					.health(ApiVersion.LATEST, null, SecurityContext.NONE, "lf", "pools", "default")
					.block(Duration.ofSeconds(30));
				assertThat(response).isNotNull();
				assertThat(response.getStatus()).isEqualTo(503);
				assertThat(response.getBody()).isNotNull();
				assertThat(response.getBody().getStatus()).isEqualTo(Status.OUT_OF_SERVICE);
			});
		}
	}

	private static JsonNode get(ConfigurableApplicationContext context, String path, int status) throws Exception {
		URI uri = URI.create("http://localhost:%s/actuator/%s"
			.formatted(context.getEnvironment().getRequiredProperty("local.server.port"), path));
		HttpResponse<String> response = HttpClient.newHttpClient()
			.send(HttpRequest.newBuilder(uri).timeout(Duration.ofSeconds(30)).build(),
					HttpResponse.BodyHandlers.ofString());
		assertThat(response.statusCode()).as(response.body()).isEqualTo(status);
		return JsonMapper.shared().readTree(response.body());
	}

	private static void await(ThrowingRunnable assertion) {
		Awaitility.await().atMost(Duration.ofSeconds(60)).untilAsserted(assertion);
	}

	private static ConfigurableApplicationContext run(String... arguments) {
		return new SpringApplicationBuilder(Application.class).bannerMode(Banner.Mode.OFF)
			.properties("server.port=0", "lf.server.port=0", "lf.pool.threads.min=1", "lf.pool.threads.max=2",
					"spring.lifecycle.timeout-per-shutdown-phase=5s", "management.endpoint.health.show-details=always")
			.run(arguments);
	}

	/** Every thread of the pool blocks until this is closed. */
	private static final class Saturation implements AutoCloseable {

		private final Gate gate;

		private final List<LineClient> clients = new ArrayList<>();

		Saturation(ConfigurableApplicationContext context) throws Exception {
			this.gate = context.getBean(Gate.class);
			int port = context.getBean(LeaderFollowersServers.class).get("default").port();
			for (int i = 0; i < 2; i++) {
				LineClient client = new LineClient(port);
				this.clients.add(client);
				client.send("hello");
				assertThat(this.gate.entered.tryAcquire(60, TimeUnit.SECONDS)).isTrue();
			}
		}

		@Override
		public void close() throws Exception {
			this.gate.passes.release(2);
			for (LineClient client : this.clients) {
				assertThat(client.read()).isEqualTo("hello");
				client.close();
			}
		}

	}

	@SpringBootConfiguration
	@EnableAutoConfiguration
	static class Application {

		@Bean
		Gate gate() {
			return new Gate();
		}

	}

	@LfHandler
	static class Gate implements MessageHandler {

		private final Semaphore entered = new Semaphore(0);

		private final Semaphore passes = new Semaphore(0);

		@Override
		public void onMessage(Connection connection, ByteBuffer message) throws Exception {
			this.entered.release();
			this.passes.acquire();
			connection.send(message);
		}

	}

}
