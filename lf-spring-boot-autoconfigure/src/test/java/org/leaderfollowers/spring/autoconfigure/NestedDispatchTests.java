package org.leaderfollowers.spring.autoconfigure;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Duration;

import io.micrometer.context.ContextRegistry;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.leaderfollowers.Connection;
import org.leaderfollowers.MessageHandler;
import org.leaderfollowers.NestingGuard;
import org.leaderfollowers.spring.LineClient;
import org.leaderfollowers.spring.actuate.LeaderFollowersEndpoint;
import org.leaderfollowers.spring.actuate.PoolDescriptor;
import org.leaderfollowers.spring.annotation.LfHandler;
import org.leaderfollowers.spring.server.LeaderFollowersPools;
import org.leaderfollowers.spring.server.LeaderFollowersServers;

import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.test.context.FilteredClassLoader;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.transaction.support.TransactionSynchronizationManager;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Handlers that run on top of a handler that waits, in a pool of one thread.
 */
class NestedDispatchTests {

	private static final ThreadLocal<String> TENANT = new ThreadLocal<>();

	private final ApplicationContextRunner contextRunner = new ApplicationContextRunner()
		.withConfiguration(AutoConfigurations.of(LeaderFollowersAutoConfiguration.class,
				LeaderFollowersContextPropagationAutoConfiguration.class,
				LeaderFollowersEndpointAutoConfiguration.class))
		.withBean(Waiting.class)
		.withPropertyValues("lf.server.port=0", "lf.pool.threads.min=1", "lf.pool.threads.max=1",
				"management.endpoints.web.exposure.include=*");

	private final ApplicationContextRunner nesting = this.contextRunner
		.withPropertyValues("lf.pool.nested-dispatch=when-starved");

	@BeforeEach
	void register() {
		ContextRegistry.getInstance().registerThreadLocalAccessor("tenant", TENANT);
	}

	@AfterEach
	void unregister() {
		ContextRegistry.getInstance().removeThreadLocalAccessor("tenant");
	}

	@FunctionalInterface
	private interface Talk {

		void with(LineClient waiting, LineClient other, LeaderFollowersPools pools) throws Exception;

	}

	private static void talk(ApplicationContextRunner runner, Talk talk) {
		runner.run((context) -> {
			int port = context.getBean(LeaderFollowersServers.class).get("default").port();
			try (LineClient waiting = new LineClient(port); LineClient other = new LineClient(port)) {
				talk.with(waiting, other, context.getBean(LeaderFollowersPools.class));
			}
		});
	}

	@Test
	void handlerRunsOnTopWithNothingOfTheOuterOne() {
		talk(this.nesting, (waiting, other, pools) -> {
			assertThat(waiting.ask("wait blue")).isEqualTo("waiting");
			assertThat(other.ask("who")).isEqualTo("null");
			assertThat(waiting.ask("go")).isEqualTo("blue");
			assertThat(pools.get("default").snapshot().nestedUpcalls()).isPositive();
		});
	}

	@Test
	void nothingRunsOnTopOfATransaction() {
		assertKept(this.nesting, "transaction");
	}

	/** For example a connection of the database, without a transaction. */
	@Test
	void nothingRunsOnTopOfAResourceThatIsBoundToTheThread() {
		assertKept(this.nesting, "resource");
	}

	@Test
	void guardsOfTheApplicationAreAskedToo() {
		assertKept(this.nesting.withBean("own", NestingGuard.class, () -> new NestingGuard() {

			@Override
			public boolean mayNest() {
				return TENANT.get() == null;
			}

		}), "blue");
	}

	@Test
	void neverIsTheDefault() {
		assertKept(this.contextRunner, "blue");
	}

	@Test
	void withoutTransactionsAndContextPropagationItWorksAsWell() {
		talk(this.nesting.withClassLoader(
				new FilteredClassLoader("io.micrometer.context", "org.springframework.transaction.support")),
				(waiting, other, pools) -> {
					assertThat(waiting.ask("wait blue")).isEqualTo("waiting");
					assertThat(other.ask("who")).isEqualTo("blue");
					assertThat(waiting.ask("go")).isEqualTo("blue");
				});
	}

	@Test
	void endpointTellsForWhatAThreadWaits() {
		this.contextRunner.run((context) -> {
			int port = context.getBean(LeaderFollowersServers.class).get("default").port();
			LeaderFollowersEndpoint endpoint = context.getBean(LeaderFollowersEndpoint.class);
			try (LineClient waiting = new LineClient(port)) {
				assertThat(waiting.ask("wait blue")).isEqualTo("waiting");
				Awaitility.await().untilAsserted(() -> {
					PoolDescriptor.ThreadDescriptor thread = endpoint.pool("default").threads().get(0);
					assertThat(thread.waitsFor()).isEqualTo("the next message of Connection 1 of server 'default'");
					assertThat(thread.waitingSince()).isNotNull();
				});
			}
		});
	}

	private static void assertKept(ApplicationContextRunner runner, String tenant) {
		talk(runner, (waiting, other, pools) -> {
			assertThat(waiting.ask("wait " + tenant)).isEqualTo("waiting");
			other.send("who");
			// The only thread has found the message, and leaves it to others.
			Awaitility.await()
				.until(() -> pools.get("default").snapshot().handleSets().stream().anyMatch((set) -> set.ready() > 0));
			assertThat(waiting.ask("go")).isEqualTo(tenant);
			assertThat(other.read()).isEqualTo("null");
			assertThat(pools.get("default").snapshot().nestedUpcalls()).isZero();
		});
	}

	@LfHandler
	static class Waiting implements MessageHandler {

		@Override
		public void onMessage(Connection connection, ByteBuffer message) {
			String text = text(message);
			if (!text.startsWith("wait ")) {
				connection.send(bytes(String.valueOf(TENANT.get())));
				return;
			}
			TENANT.set(text.substring(5));
			boolean inTransaction = text.endsWith("transaction");
			boolean hasResource = text.endsWith("resource");
			if (hasResource) {
				TransactionSynchronizationManager.bindResource(this, "resource");
			}
			if (inTransaction) {
				TransactionSynchronizationManager.initSynchronization();
			}
			try {
				connection.send(bytes("waiting"));
				connection.receive(Duration.ofSeconds(60));
				connection.send(bytes(String.valueOf(TENANT.get())));
			}
			finally {
				if (inTransaction) {
					TransactionSynchronizationManager.clearSynchronization();
				}
				if (hasResource) {
					TransactionSynchronizationManager.unbindResource(this);
				}
				TENANT.remove();
			}
		}

		private static String text(ByteBuffer message) {
			return StandardCharsets.UTF_8.decode(message.duplicate()).toString();
		}

		private static ByteBuffer bytes(String text) {
			return StandardCharsets.UTF_8.encode(text);
		}

	}

}
