package org.leaderfollowers.spring.autoconfigure;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;

import io.micrometer.observation.ObservationRegistry;
import io.micrometer.observation.tck.TestObservationRegistry;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;
import org.leaderfollowers.CloseReason;
import org.leaderfollowers.Connection;
import org.leaderfollowers.EventType;
import org.leaderfollowers.MessageHandler;
import org.leaderfollowers.spring.LineClient;
import org.leaderfollowers.spring.autoconfigure.LeaderFollowersAutoConfigurationTests.EchoBeanMethod;
import org.leaderfollowers.spring.autoconfigure.LeaderFollowersAutoConfigurationTests.ThreeHandlers;
import org.leaderfollowers.spring.interceptor.HandlerCallInterceptor;
import org.leaderfollowers.spring.interceptor.MessageHandlerInterceptor;
import org.leaderfollowers.spring.server.LeaderFollowersServers;

import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.context.ApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.core.annotation.Order;

import static org.assertj.core.api.Assertions.assertThat;
import static org.mockito.BDDMockito.then;
import static org.mockito.Mockito.mock;

/** Interceptors of handler calls, tested through sockets. */
class InterceptorTests {

	private final Queue<String> calls = new ConcurrentLinkedQueue<>();

	private final ApplicationContextRunner contextRunner = new ApplicationContextRunner()
		.withConfiguration(AutoConfigurations.of(LeaderFollowersAutoConfiguration.class,
				LeaderFollowersObservationAutoConfiguration.class))
		.withBean("calls", Queue.class, () -> this.calls)
		.withPropertyValues("lf.server.port=0");

	@Test
	void everyCallIsSurroundedInOrder() {
		this.contextRunner.withUserConfiguration(EchoBeanMethod.class, OuterAndInner.class).run((context) -> {
			try (LineClient client = client(context, "default")) {
				assertThat(client.ask("hello")).isEqualTo("hello");
				client.send("fail");
				assertThat(client.read()).isNull();
			}
			Awaitility.await().untilAsserted(() -> assertThat(this.calls).contains("outer closed HANDLER_ERROR"));
			assertThat(this.calls).containsExactly("outer open", "inner open", "inner opened", "outer message",
					"inner message", "outer message", "inner message", "outer error IllegalStateException",
					"outer closed HANDLER_ERROR");
		});
	}

	@Test
	void interceptorOfOneServerLeavesTheOthersAlone() {
		this.contextRunner.withUserConfiguration(ThreeHandlers.class)
			.withPropertyValues("lf.servers.orders.port=0", "lf.servers.quotes.port=0")
			.withBean(MessageHandlerInterceptor.class, () -> new MessageHandlerInterceptor() {

				@Override
				public boolean supports(String server) {
					return server.equals("orders");
				}

				@Override
				public void onMessage(Connection connection, ByteBuffer message, MessageHandler next) throws Exception {
					next.onMessage(connection, StandardCharsets.UTF_8.encode("intercepted"));
				}

			})
			.run((context) -> {
				try (LineClient client = client(context, "default"); LineClient orders = client(context, "orders")) {
					assertThat(client.ask("hello")).isEqualTo("hello");
					assertThat(orders.ask("hello")).isEqualTo("orders intercepted");
				}
			});
	}

	@Test
	void whoThrowsWhenAConnectionOpensTurnsItsClientAway() {
		this.contextRunner.withUserConfiguration(EchoBeanMethod.class)
			.withBean(MessageHandlerInterceptor.class, () -> new MessageHandlerInterceptor() {

				@Override
				public void onOpen(Connection connection, MessageHandler next) {
					throw new SecurityException("Not you");
				}

				@Override
				public void onError(Connection connection, Throwable failure, MessageHandler next) {
					connection.send(StandardCharsets.UTF_8.encode("go away: " + failure.getMessage()));
				}

			})
			.run((context) -> {
				try (LineClient client = client(context, "default")) {
					assertThat(client.read()).isEqualTo("go away: Not you");
					assertThat(client.read()).isNull();
				}
			});
	}

	@Test
	void oneMethodSurroundsAllCalls() {
		this.contextRunner.withUserConfiguration(EchoBeanMethod.class)
			.withBean(HandlerCallInterceptor.class, () -> (connection, call) -> {
				this.calls.add("before");
				try {
					call.proceed();
				}
				finally {
					this.calls.add("after");
				}
			})
			.run((context) -> {
				try (LineClient client = client(context, "default")) {
					assertThat(client.ask("hello")).isEqualTo("hello");
				}
				Awaitility.await()
					.untilAsserted(() -> assertThat(this.calls).containsExactly("before", "after", "before", "after",
							"before", "after"));
			});
	}

	@Test
	void oneMethodSurroundsEveryMethod() throws Exception {
		MessageHandler handler = mock(MessageHandler.class, (call) -> {
			this.calls.add(call.getMethod().getName() + " " + call.getArguments().length);
			return null;
		});
		HandlerCallInterceptor surrounding = (connection, call) -> {
			this.calls.add("before");
			call.proceed();
			this.calls.add("after");
		};
		MessageHandler surrounded = surrounding.decorate(handler, "default", "echo");
		Connection connection = mock(Connection.class);
		surrounded.onOpen(connection);
		surrounded.onMessage(connection, ByteBuffer.allocate(1));
		surrounded.onWritable(connection);
		surrounded.onIdle(connection, EventType.READ);
		surrounded.onDrain(connection);
		surrounded.onClose(connection, CloseReason.LOCAL);
		surrounded.onError(connection, new IOException());
		surrounded.onError(connection, ByteBuffer.allocate(1), new IOException());
		assertThat(this.calls).containsExactly("before", "onOpen 1", "after", "before", "onMessage 2", "after",
				"before", "onWritable 1", "after", "before", "onIdle 2", "after", "before", "onDrain 1", "after",
				"before", "onClose 2", "after", "before", "onError 2", "after", "before", "onError 3", "after");
	}

	@Test
	void failureThatAnInterceptorPassesOnKeepsItsMessage() throws Exception {
		MessageHandler handler = mock(MessageHandler.class);
		MessageHandlerInterceptor passing = new MessageHandlerInterceptor() {

			@Override
			public void onError(Connection connection, Throwable failure, MessageHandler next) throws Exception {
				next.onError(connection, failure);
			}

		};
		Connection connection = mock(Connection.class);
		ByteBuffer message = ByteBuffer.allocate(1);
		IOException failure = new IOException();
		passing.decorate(handler, "default", "echo").onError(connection, message, failure);
		then(handler).should().onError(connection, message, failure);
	}

	@Test
	void interceptorWithoutAnOrderRunsWithinTheObservation() {
		TestObservationRegistry registry = TestObservationRegistry.create();
		this.contextRunner.withUserConfiguration(EchoBeanMethod.class)
			.withBean(ObservationRegistry.class, () -> registry)
			.withBean(MessageHandlerInterceptor.class, () -> new MessageHandlerInterceptor() {

				@Override
				public void onMessage(Connection connection, ByteBuffer message, MessageHandler next) throws Exception {
					InterceptorTests.this.calls.add("observed " + (registry.getCurrentObservation() != null));
					next.onMessage(connection, message);
				}

			})
			.run((context) -> {
				try (LineClient client = client(context, "default")) {
					assertThat(client.ask("hello")).isEqualTo("hello");
				}
				assertThat(this.calls).containsExactly("observed true");
			});
	}

	@Test
	void withoutInterceptorsTheServerCallsTheHandlerItself() {
		this.contextRunner.withUserConfiguration(EchoBeanMethod.class)
			.run((context) -> assertThat(context.getBean(LeaderFollowersServers.class).get("default"))
				.hasFieldOrPropertyWithValue("life.context.handler", context.getBean("echo")));
	}

	@Test
	void everyCallOfTheEngineCanBeIntercepted() {
		List<String> interceptable = Arrays.stream(MessageHandlerInterceptor.class.getMethods())
			.map((method) -> method.getName())
			.toList();
		assertThat(MessageHandler.class.getMethods())
			.allSatisfy((method) -> assertThat(interceptable).contains(method.getName()));
		assertThat(MessageHandler.class.getMethods()).allSatisfy((method) -> {
			List<Class<?>> types = new ArrayList<>(List.of(method.getParameterTypes()));
			types.add(MessageHandler.class);
			assertThat(HandlerCallInterceptor.class.getMethod(method.getName(), types.toArray(Class<?>[]::new))
				.getDeclaringClass()).isEqualTo(HandlerCallInterceptor.class);
		});
	}

	private static LineClient client(ApplicationContext context, String server) throws Exception {
		return new LineClient(context.getBean(LeaderFollowersServers.class).get(server).port());
	}

	@Configuration(proxyBeanMethods = false)
	static class OuterAndInner {

		@Bean
		@Order(2)
		MessageHandlerInterceptor inner(Queue<String> calls) {
			return new MessageHandlerInterceptor() {

				@Override
				public void onOpen(Connection connection, MessageHandler next) throws Exception {
					calls.add("inner open");
					next.onOpen(connection);
					calls.add("inner opened");
				}

				@Override
				public void onMessage(Connection connection, ByteBuffer message, MessageHandler next) throws Exception {
					calls.add("inner message");
					next.onMessage(connection, message);
				}

			};
		}

		@Bean
		@Order(1)
		MessageHandlerInterceptor outer(Queue<String> calls) {
			return new MessageHandlerInterceptor() {

				@Override
				public void onOpen(Connection connection, MessageHandler next) throws Exception {
					calls.add("outer open");
					next.onOpen(connection);
				}

				@Override
				public void onMessage(Connection connection, ByteBuffer message, MessageHandler next) throws Exception {
					calls.add("outer message");
					next.onMessage(connection, message);
				}

				@Override
				public void onError(Connection connection, Throwable failure, MessageHandler next) throws Exception {
					calls.add("outer error " + failure.getClass().getSimpleName());
					next.onError(connection, failure);
				}

				@Override
				public void onClose(Connection connection, CloseReason reason, MessageHandler next) throws Exception {
					next.onClose(connection, reason);
					calls.add("outer closed " + reason);
				}

			};
		}

	}

}
