package org.leaderfollowers.spring.autoconfigure;

import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.stream.Collectors;

import io.micrometer.context.ContextRegistry;
import io.micrometer.context.ContextSnapshot;
import io.micrometer.context.ContextSnapshotFactory;
import io.micrometer.observation.Observation;
import io.micrometer.observation.ObservationHandler;
import io.micrometer.observation.ObservationRegistry;
import org.assertj.core.api.ThrowingConsumer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.leaderfollowers.CloseReason;
import org.leaderfollowers.Connection;
import org.leaderfollowers.EventType;
import org.leaderfollowers.MessageHandler;
import org.leaderfollowers.spring.LineClient;
import org.leaderfollowers.spring.annotation.LfHandler;
import org.leaderfollowers.spring.observation.MessageObservationContext;
import org.leaderfollowers.spring.server.LeaderFollowersServers;

import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.test.context.FilteredClassLoader;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.mockito.BDDMockito.given;
import static org.mockito.Mockito.mock;

/**
 * Tests for {@link LeaderFollowersContextPropagationAutoConfiguration}, mostly through
 * sockets.
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
	void snapshotTakesOnlyTheChosenAttributesOfAConnection() {
		ContextSnapshot snapshot = ContextSnapshotFactory.builder()
			.captureKeyPredicate((key) -> !key.equals("tenant"))
			.build()
			.captureFrom(connection("blue"));
		snapshot.wrap(() -> assertThat(TENANT.get()).isNull()).run();
	}

	/** The parent of the observation may be among the attributes. */
	@Test
	void attributeIsBoundBeforeTheObservationOfTheMessageStarts() {
		List<String> seen = new CopyOnWriteArrayList<>();
		ObservationRegistry registry = ObservationRegistry.create();
		registry.observationConfig().observationHandler(new ObservationHandler<MessageObservationContext>() {

			@Override
			public void onStart(MessageObservationContext observed) {
				seen.add(String.valueOf(TENANT.get()));
			}

			@Override
			public boolean supportsContext(Observation.Context observed) {
				return observed instanceof MessageObservationContext;
			}

		});
		this.contextRunner.withConfiguration(AutoConfigurations.of(LeaderFollowersObservationAutoConfiguration.class))
			.withBean(ObservationRegistry.class, () -> registry)
			.run((context) -> {
				try (LineClient client = new LineClient(
						context.getBean(LeaderFollowersServers.class).get("default").port())) {
					assertThat(client.ask("blue")).isEqualTo("null");
					assertThat(client.ask("?")).isEqualTo("blue");
				}
			});
		assertThat(seen).containsExactly("null", "blue");
	}

	@Test
	void attributeIsBoundDuringEachKindOfCallAndNotAfterwards() {
		Connection connection = connection("blue");
		ContextPropagation propagation = new ContextPropagation(ContextRegistry.getInstance());
		Map<String, String> seen = new TreeMap<>();
		MessageHandler next = (MessageHandler) Proxy.newProxyInstance(getClass().getClassLoader(),
				new Class<?>[] { MessageHandler.class },
				(proxy, method, arguments) -> seen.put(method.getName(), TENANT.get()));
		List<ThrowingConsumer<MessageHandler>> callbacks = List.of((handler) -> propagation.onOpen(connection, handler),
				(handler) -> propagation.onMessage(connection, ByteBuffer.allocate(1), handler),
				(handler) -> propagation.onWritable(connection, handler),
				(handler) -> propagation.onIdle(connection, EventType.READ, handler),
				(handler) -> propagation.onDrain(connection, handler),
				(handler) -> propagation.onError(connection, new Exception("made for the test"), handler),
				(handler) -> propagation.onClose(connection, CloseReason.PEER, handler));
		MessageHandler failing = (MessageHandler) Proxy.newProxyInstance(getClass().getClassLoader(),
				new Class<?>[] { MessageHandler.class }, (proxy, method, arguments) -> {
					throw new IllegalStateException("made for the test");
				});
		for (ThrowingConsumer<MessageHandler> callback : callbacks) {
			callback.accept(next);
			assertThat(TENANT.get()).isNull();
			assertThatIllegalStateException().isThrownBy(() -> callback.accept(failing));
			assertThat(TENANT.get()).isNull();
		}
		assertThat(seen.keySet())
			.containsExactlyInAnyOrderElementsOf(Arrays.stream(MessageHandler.class.getDeclaredMethods())
				.map(Method::getName)
				.collect(Collectors.toSet()));
		assertThat(seen.values()).containsOnly("blue");
	}

	@Test
	void handlerOnTopOfAnotherOneDoesNotSeeItsValues() {
		ContextPropagation propagation = new ContextPropagation(ContextRegistry.getInstance());
		TENANT.set("outer");
		try {
			propagation.separate(() -> assertThat(TENANT.get()).isNull());
			assertThat(TENANT.get()).isEqualTo("outer");
			assertThatIllegalStateException().isThrownBy(() -> propagation.separate(() -> {
				assertThat(TENANT.get()).isNull();
				throw new IllegalStateException("made for the test");
			}));
			assertThat(TENANT.get()).isEqualTo("outer");
		}
		finally {
			TENANT.remove();
		}
	}

	@Test
	void snapshotCanBeWrittenToAConnection() {
		Connection connection = connection("blue");
		TENANT.set("red");
		try {
			ContextSnapshotFactory.builder().build().captureAll().updateContext(connection);
		}
		finally {
			TENANT.remove();
		}
		assertThat(connection.attributes()).containsEntry("tenant", "red");
	}

	private static Connection connection(String tenant) {
		Connection connection = mock();
		given(connection.attributes()).willReturn(new ConcurrentHashMap<>(Map.of("tenant", tenant)));
		return connection;
	}

	@Test
	void withoutTheLibraryEverythingElseWorks() {
		this.contextRunner.withClassLoader(new FilteredClassLoader("io.micrometer.context"))
			.run((context) -> assertThat(context).hasNotFailed()
				.hasSingleBean(LeaderFollowersServers.class)
				.doesNotHaveBean(ContextPropagation.class));
	}

	@Test
	void ifDisabledNothingIsBound() {
		this.contextRunner.withPropertyValues("lf.enabled=false")
			.run((context) -> assertThat(context).hasNotFailed().doesNotHaveBean(ContextPropagation.class));
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
