package org.leaderfollowers.spring.autoconfigure;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

import io.micrometer.common.KeyValues;
import io.micrometer.observation.ObservationRegistry;
import io.micrometer.observation.tck.TestObservationRegistry;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;
import org.leaderfollowers.Connection;
import org.leaderfollowers.MessageHandler;
import org.leaderfollowers.spring.EchoHandler;
import org.leaderfollowers.spring.LineClient;
import org.leaderfollowers.spring.annotation.LfHandler;
import org.leaderfollowers.spring.autoconfigure.LeaderFollowersAutoConfigurationTests.EchoBeanMethod;
import org.leaderfollowers.spring.interceptor.MessageHandlerDecorator;
import org.leaderfollowers.spring.observation.MessageObservationContext;
import org.leaderfollowers.spring.observation.MessageObservationConvention;
import org.leaderfollowers.spring.server.LeaderFollowersServers;

import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.test.context.FilteredClassLoader;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for {@link LeaderFollowersObservationAutoConfiguration}, and for the observation.
 */
class LeaderFollowersObservationAutoConfigurationTests {

	private final TestObservationRegistry registry = TestObservationRegistry.create();

	private final ApplicationContextRunner contextRunner = new ApplicationContextRunner()
		.withConfiguration(AutoConfigurations.of(LeaderFollowersAutoConfiguration.class,
				LeaderFollowersObservationAutoConfiguration.class))
		.withUserConfiguration(EchoBeanMethod.class)
		.withPropertyValues("lf.server.port=0");

	@Test
	void messageIsObserved() {
		run("hello", this.contextRunner);
		Awaitility.await()
			.untilAsserted(() -> assertThat(this.registry).hasSingleObservationThat()
				.hasNameEqualTo("lf.messages")
				.hasContextualNameEqualTo("default message")
				.hasLowCardinalityKeyValue("server", "default")
				.hasLowCardinalityKeyValue("handler", "echo")
				.hasLowCardinalityKeyValue("outcome", "success")
				.hasBeenStarted()
				.hasBeenStopped());
	}

	@Test
	void failureIsObserved() {
		run("fail", this.contextRunner);
		Awaitility.await()
			.untilAsserted(() -> assertThat(this.registry).hasSingleObservationThat()
				.hasLowCardinalityKeyValue("outcome", "error")
				.hasError()
				.hasBeenStopped());
	}

	@Test
	void conventionOfTheUserTakesItsPlace() {
		run("hello", this.contextRunner.withBean(MessageObservationConvention.class, OwnConvention::new));
		Awaitility.await()
			.untilAsserted(() -> assertThat(this.registry).hasSingleObservationThat()
				.hasNameEqualTo("my.messages")
				.hasOnlyKeys("mine")
				.hasBeenStopped());
	}

	@Test
	void withoutARegistryNothingIsObserved() {
		this.contextRunner.run((context) -> assertThat(context).hasNotFailed()
			.doesNotHaveBean(LeaderFollowersObservationAutoConfiguration.class));
	}

	@Test
	void registryThatDoesNothingCostsNothing() {
		this.contextRunner.withBean(ObservationRegistry.class, ObservationRegistry::create).run((context) -> {
			EchoHandler handler = new EchoHandler();
			assertThat(context.getBean("leaderFollowersObservationDecorator", MessageHandlerDecorator.class)
				.decorate(handler, "default", "echo")).isSameAs(handler);
		});
	}

	@Test
	void withoutObservationsEverythingElseWorks() {
		this.contextRunner.withClassLoader(new FilteredClassLoader("io.micrometer.observation"))
			.run((context) -> assertThat(context).hasNotFailed()
				.hasSingleBean(LeaderFollowersServers.class)
				.doesNotHaveBean(LeaderFollowersObservationAutoConfiguration.class));
	}

	@Test
	void ifDisabledNothingIsObserved() {
		this.contextRunner.withBean(ObservationRegistry.class, () -> this.registry)
			.withPropertyValues("lf.enabled=false")
			.run((context) -> assertThat(context).hasNotFailed().doesNotHaveBean(LeaderFollowersServers.class));
	}

	@Test
	void handlerIsToldThatItsPeerHasCaughtUp() {
		PushingHandler handler = new PushingHandler();
		this.contextRunner.withBean(ObservationRegistry.class, () -> this.registry)
			.withBean("pushing", PushingHandler.class, () -> handler)
			.withPropertyValues("lf.servers.push.port=0", "lf.servers.push.max-outbound-size=64KB")
			.run((context) -> {
				try (LineClient client = new LineClient(
						context.getBean(LeaderFollowersServers.class).get("push").port())) {
					client.send("go");
					assertThat(handler.fellBehind.await(60, TimeUnit.SECONDS)).isTrue();
					String line = client.read();
					while (PushingHandler.LINE.equals(line)) {
						line = client.read();
					}
					assertThat(line).isEqualTo("caught up");
				}
			});
	}

	private void run(String line, ApplicationContextRunner runner) {
		runner.withBean(ObservationRegistry.class, () -> this.registry).run((context) -> {
			try (LineClient client = new LineClient(
					context.getBean(LeaderFollowersServers.class).get("default").port())) {
				client.send(line);
				client.read();
			}
		});
	}

	/**
	 * Sends more than its peer reads, and then waits for it.
	 */
	@LfHandler(server = "push")
	static class PushingHandler implements MessageHandler {

		private static final String LINE = "x".repeat(8000);

		private final CountDownLatch fellBehind = new CountDownLatch(1);

		@Override
		public void onMessage(Connection connection, ByteBuffer message) {
			while (connection.isWritable()) {
				connection.send(StandardCharsets.UTF_8.encode(LINE));
			}
			this.fellBehind.countDown();
		}

		@Override
		public void onWritable(Connection connection) {
			connection.send(StandardCharsets.UTF_8.encode("caught up"));
		}

	}

	static class OwnConvention implements MessageObservationConvention {

		@Override
		public String getName() {
			return "my.messages";
		}

		@Override
		public KeyValues getLowCardinalityKeyValues(MessageObservationContext context) {
			return KeyValues.of("mine", context.getServer() + context.getHandler() + context.getConnection().id());
		}

	}

}
