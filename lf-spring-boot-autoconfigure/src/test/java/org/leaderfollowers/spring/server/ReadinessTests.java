package org.leaderfollowers.spring.server;

import java.time.Duration;
import java.util.Objects;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;

import org.awaitility.Awaitility;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.leaderfollowers.MessageHandler;
import org.leaderfollowers.ServerSnapshot;
import org.leaderfollowers.spring.EchoHandler;
import org.leaderfollowers.spring.LineClient;
import org.leaderfollowers.spring.annotation.LfHandler;
import org.leaderfollowers.spring.autoconfigure.LeaderFollowersAutoConfiguration;

import org.springframework.boot.Banner;
import org.springframework.boot.WebApplicationType;
import org.springframework.boot.autoconfigure.ImportAutoConfiguration;
import org.springframework.boot.autoconfigure.availability.ApplicationAvailabilityAutoConfiguration;
import org.springframework.boot.autoconfigure.context.LifecycleAutoConfiguration;
import org.springframework.boot.availability.ApplicationAvailability;
import org.springframework.boot.availability.AvailabilityChangeEvent;
import org.springframework.boot.availability.ReadinessState;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.event.EventListener;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

/**
 * Tests for {@link ServerLifecycle#readiness}.
 */
@ExtendWith(OutputCaptureExtension.class)
class ReadinessTests {

	@Test
	void readinessGoesDownWhileTheServersAreServing(CapturedOutput output) {
		Probe probe;
		try (ConfigurableApplicationContext context = run()) {
			assertThat(readiness(context)).isEqualTo(ReadinessState.ACCEPTING_TRAFFIC);
			probe = context.getBean(Probe.class);
		}
		assertThat(probe.seen).containsExactly("ACCEPTING_TRAFFIC RUNNING hello", "REFUSING_TRAFFIC RUNNING hello");
		assertThat(output).as("without a delay").doesNotContain("Serving for another");
	}

	@Test
	void readinessComesBackWhenTheContextIsStartedAgain() {
		try (ConfigurableApplicationContext context = run()) {
			context.stop();
			assertThat(readiness(context)).isEqualTo(ReadinessState.REFUSING_TRAFFIC);
			context.start();
			assertThat(readiness(context)).isEqualTo(ReadinessState.ACCEPTING_TRAFFIC);
		}
	}

	@Test
	void readinessThatTheApplicationTookDownStaysDown() {
		try (ConfigurableApplicationContext context = run()) {
			context.stop();
			context.start();
			assertThat(readiness(context)).isEqualTo(ReadinessState.ACCEPTING_TRAFFIC);
			AvailabilityChangeEvent.publish(context, ReadinessState.REFUSING_TRAFFIC);
			context.stop();
			context.start();
			assertThat(readiness(context)).isEqualTo(ReadinessState.REFUSING_TRAFFIC);
		}
	}

	@Test
	void everythingIsServedDuringTheDelay(CapturedOutput output) throws Exception {
		ConfigurableApplicationContext context = run("lf.shutdown.delay=25s");
		try (LineClient client = new LineClient(port(context))) {
			Thread closing = new Thread(context::close);
			closing.start();
			Awaitility.await()
				.until(() -> readiness(context) == ReadinessState.REFUSING_TRAFFIC && output.toString()
					.contains("Readiness is down. Serving for another 25000 ms until draining begins"));
			assertThat(client.ask("still here")).isEqualTo("still here");
			try (LineClient late = new LineClient(port(context))) {
				assertThat(late.ask("welcome")).isEqualTo("welcome");
			}
			Thread delay = Awaitility.await().until(ReadinessTests::delay, Objects::nonNull);
			delay.interrupt();
			closing.join(Duration.ofSeconds(60).toMillis());
			assertThat(closing.isAlive()).isFalse();
		}
	}

	@Test
	void nobodyIsWaitedForWhenTheServersHaveStopped() {
		Probe probe;
		try (ConfigurableApplicationContext context = run("lf.shutdown.delay=25s")) {
			LeaderFollowersServers servers = context.getBean(LeaderFollowersServers.class);
			servers.drain("default", Duration.ofMinutes(1), "");
			Awaitility.await()
				.atMost(Duration.ofSeconds(60))
				.until(() -> servers.get("default").snapshot().state() == ServerSnapshot.State.STOPPED);
			probe = context.getBean(Probe.class);
		}
		assertThat(probe.seen).containsExactly("ACCEPTING_TRAFFIC RUNNING hello");
	}

	@ParameterizedTest
	@ValueSource(strings = { "30s", "40s" })
	void delayThatIsNotShorterThanAPhaseFails(String delay, CapturedOutput output) {
		assertThatExceptionOfType(Exception.class).isThrownBy(() -> run("lf.shutdown.delay=" + delay));
		assertThat(output).contains("configuration property 'lf.shutdown.delay'")
			.contains("Must be less than 'spring.lifecycle.timeout-per-shutdown-phase', which is 30000ms: "
					+ "no phase of the shutdown takes longer.");
	}

	@Test
	void negativeDelayFails(CapturedOutput output) {
		assertThatExceptionOfType(Exception.class).isThrownBy(() -> run("lf.shutdown.delay=-1s"));
		assertThat(output).contains("configuration property 'lf.shutdown.delay'").contains("Must not be negative.");
	}

	@Test
	void negativeMessageTimeoutFails(CapturedOutput output) {
		assertThatExceptionOfType(Exception.class).isThrownBy(() -> run("lf.shutdown.message-timeout=-1s"));
		assertThat(output).contains("configuration property 'lf.shutdown.message-timeout'")
			.contains("Must not be negative.");
	}

	private static @Nullable Thread delay() {
		return Thread.getAllStackTraces()
			.keySet()
			.stream()
			.filter((thread) -> thread.getName().equals("lf-shutdown-delay"))
			.findFirst()
			.orElse(null);
	}

	private static ReadinessState readiness(ConfigurableApplicationContext context) {
		return context.getBean(ApplicationAvailability.class).getReadinessState();
	}

	private static int port(ConfigurableApplicationContext context) {
		return context.getEnvironment().getRequiredProperty("local.lf.server.port", Integer.class);
	}

	private static ConfigurableApplicationContext run(String... properties) {
		String[] arguments = new String[properties.length + 1];
		arguments[0] = "--lf.server.port=0";
		for (int i = 0; i < properties.length; i++) {
			arguments[i + 1] = "--" + properties[i];
		}
		return new SpringApplicationBuilder(Application.class).web(WebApplicationType.NONE)
			.bannerMode(Banner.Mode.OFF)
			.run(arguments);
	}

	@Configuration(proxyBeanMethods = false)
	@ImportAutoConfiguration({ LeaderFollowersAutoConfiguration.class, LifecycleAutoConfiguration.class,
			ApplicationAvailabilityAutoConfiguration.class })
	static class Application {

		@Bean
		@LfHandler
		MessageHandler echo() {
			return new EchoHandler();
		}

		@Bean
		Probe probe(LeaderFollowersServers servers) {
			return new Probe(servers);
		}

	}

	/** Connects to the server whenever readiness changes. */
	static class Probe {

		private final LeaderFollowersServers servers;

		private final Queue<String> seen = new ConcurrentLinkedQueue<>();

		Probe(LeaderFollowersServers servers) {
			this.servers = servers;
		}

		@EventListener
		void on(AvailabilityChangeEvent<ReadinessState> event) throws Exception {
			ServerSnapshot server = this.servers.get("default").snapshot();
			if (server.state() == ServerSnapshot.State.STOPPED) {
				this.seen.add(event.getState() + " STOPPED");
				return;
			}
			try (LineClient client = new LineClient(server.port())) {
				this.seen.add(event.getState() + " " + server.state() + " " + client.ask("hello"));
			}
		}

	}

}
