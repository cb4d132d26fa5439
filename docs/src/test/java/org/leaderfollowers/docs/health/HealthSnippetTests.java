package org.leaderfollowers.docs.health;

import java.time.Duration;
import java.util.Map;

import org.awaitility.Awaitility;
import org.awaitility.core.ThrowingRunnable;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.leaderfollowers.MessageHandler;
import org.leaderfollowers.spring.annotation.LfHandler;
import org.leaderfollowers.spring.health.PoolHealthIndicator.Threads;

import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.health.actuate.endpoint.CompositeHealthDescriptor;
import org.springframework.boot.health.actuate.endpoint.HealthDescriptor;
import org.springframework.boot.health.actuate.endpoint.HealthEndpoint;
import org.springframework.boot.health.actuate.endpoint.IndicatedHealthDescriptor;
import org.springframework.boot.health.contributor.Status;
import org.springframework.boot.test.context.SpringBootTest;
import org.springframework.boot.test.context.SpringBootTest.WebEnvironment;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;

import static org.assertj.core.api.Assertions.assertThat;

/** Tests the settings and responses in the guide. */
@SpringBootTest(webEnvironment = WebEnvironment.NONE, properties = { "spring.config.import=classpath:health.yaml",
		"lf.server.port=0", "management.endpoint.health.show-details=always" })
class HealthSnippetTests {

	@Autowired
	private HealthEndpoint endpoint;

	@Test
	void readinessIncludesPoolsAndServers() {
		await(() -> assertThat(health("readiness")).isInstanceOfSatisfying(CompositeHealthDescriptor.class,
				(readiness) -> {
					assertThat(readiness.getStatus()).isEqualTo(Status.UP);
					assertThat(readiness.getComponents()).containsOnlyKeys("readinessState", "lf");
				}));
	}

	@Test
	void detailsAreThoseOfTheTables() {
		await(() -> assertThat(details("lf", "pools", "default"))
			.containsOnlyKeys("state", "threads", "saturatedFor", "handlers", "leaderless", "alarms")
			.extractingByKey("threads")
			.isInstanceOf(Threads.class));
		assertThat(details("lf", "servers", "default")).containsOnlyKeys("state", "pool", "listening",
				"acceptingSuspended", "paused", "connections");
	}

	/**
	 * Repeats an assertion: if a leader gets no processor for a second, the pool looks as
	 * if it hung.
	 */
	private static void await(ThrowingRunnable assertion) {
		Awaitility.await().atMost(Duration.ofSeconds(60)).untilAsserted(assertion);
	}

	private @Nullable Map<String, Object> details(String... path) {
		return ((IndicatedHealthDescriptor) health(path)).getDetails();
	}

	private HealthDescriptor health(String... path) {
		HealthDescriptor health = this.endpoint.healthForPath(path);
		assertThat(health).isNotNull();
		return health;
	}

	@Configuration(proxyBeanMethods = false)
	@EnableAutoConfiguration
	static class Application {

		@Bean
		@LfHandler
		MessageHandler echo() {
			return (connection, message) -> connection.send(message);
		}

	}

}
