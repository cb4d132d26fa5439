package org.leaderfollowers.spring.autoconfigure;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;

import io.micrometer.context.ContextRegistry;
import io.micrometer.context.ContextSnapshot;
import io.micrometer.context.ContextSnapshotFactory;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.leaderfollowers.Connection;
import org.leaderfollowers.MessageHandler;
import org.leaderfollowers.spring.LineClient;
import org.leaderfollowers.spring.annotation.LfHandler;
import org.leaderfollowers.spring.server.LeaderFollowersServers;

import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.test.context.FilteredClassLoader;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for {@link LeaderFollowersContextPropagationAutoConfiguration}, through sockets.
 */
class LeaderFollowersContextPropagationAutoConfigurationTests {

	private static final ThreadLocal<String> TENANT = new ThreadLocal<>();

	private final ApplicationContextRunner contextRunner = new ApplicationContextRunner()
		.withConfiguration(AutoConfigurations.of(LeaderFollowersAutoConfiguration.class,
				LeaderFollowersContextPropagationAutoConfiguration.class))
		.withBean("tenants", TenantHandler.class)
		.withPropertyValues("lf.server.port=0", "lf.pool.threads.min=1", "lf.pool.threads.max=1");

	@BeforeEach
	void register() {
		ContextRegistry.getInstance().registerThreadLocalAccessor("tenant", TENANT);
	}

	@AfterEach
	void unregister() {
		ContextRegistry.getInstance().removeThreadLocalAccessor("tenant");
	}

	@Test
	void attributeIsBoundToTheThreadOfEveryCall() {
		this.contextRunner.run((context) -> {
			int port = context.getBean(LeaderFollowersServers.class).get("default").port();
			try (LineClient blue = new LineClient(port); LineClient red = new LineClient(port)) {
				assertThat(blue.ask("blue")).isEqualTo("null");
				assertThat(red.ask("?")).as("one thread for both").isEqualTo("null");
				assertThat(blue.ask("?")).isEqualTo("blue");
				assertThat(red.ask("red")).isEqualTo("null");
				assertThat(blue.ask("?")).isEqualTo("blue");
				assertThat(red.ask("?")).isEqualTo("red");
			}
		});
	}

	@Test
	void snapshotCanBeTakenFromAConnection() {
		this.contextRunner.run((context) -> {
			try (LineClient client = new LineClient(
					context.getBean(LeaderFollowersServers.class).get("default").port())) {
				assertThat(client.ask("blue")).isEqualTo("null");
				assertThat(client.ask("elsewhere")).isEqualTo("elsewhere blue");
			}
		});
	}

	@Test
	void withoutTheLibraryEverythingElseWorks() {
		this.contextRunner.withClassLoader(new FilteredClassLoader("io.micrometer.context"))
			.run((context) -> assertThat(context).hasNotFailed()
				.hasSingleBean(LeaderFollowersServers.class)
				.doesNotHaveBean(ContextPropagation.class));
	}

	@LfHandler
	static class TenantHandler implements MessageHandler {

		@Override
		public void onMessage(Connection connection, ByteBuffer message) throws Exception {
			String text = StandardCharsets.UTF_8.decode(message).toString();
			if (text.equals("elsewhere")) {
				ContextSnapshot snapshot = ContextSnapshotFactory.builder().build().captureFrom(connection);
				Thread thread = new Thread(snapshot.wrap(() -> send(connection, "elsewhere " + TENANT.get())));
				thread.start();
				thread.join();
				return;
			}
			send(connection, String.valueOf(TENANT.get()));
			if (!text.equals("?")) {
				connection.attributes().put("tenant", text);
			}
		}

		private static void send(Connection connection, String text) {
			connection.send(StandardCharsets.UTF_8.encode(text));
		}

	}

}
