package org.leaderfollowers.spring.autoconfigure;

import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;

import org.awaitility.Awaitility;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.leaderfollowers.Connection;
import org.leaderfollowers.EventSource;
import org.leaderfollowers.spring.LineClient;
import org.leaderfollowers.spring.annotation.LfHandler;
import org.leaderfollowers.spring.annotation.OnError;
import org.leaderfollowers.spring.annotation.OnMessage;
import org.leaderfollowers.spring.client.LinePeer;
import org.leaderfollowers.spring.interceptor.HandlerCallInterceptor;
import org.leaderfollowers.spring.server.LeaderFollowersServers;
import org.slf4j.MDC;

import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.context.ApplicationContext;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.mockito.BDDMockito.given;
import static org.mockito.Mockito.mock;

/**
 * Tests for {@link LoggingContext}, mostly through sockets.
 */
class LoggingContextTests {

	private final ApplicationContextRunner contextRunner = new ApplicationContextRunner()
		.withConfiguration(AutoConfigurations.of(LeaderFollowersAutoConfiguration.class))
		.withPropertyValues("lf.servers.orders.port=0", "lf.logging.mdc=true");

	@AfterEach
	void clear() {
		MDC.clear();
	}

	@Test
	void handlerHasTheServerAndTheConnection() {
		this.contextRunner.withBean(Orders.class).run((context) -> {
			try (LineClient first = client(context); LineClient second = client(context)) {
				assertThat(first.ask("mdc")).isEqualTo("{lf.connection.id=1, lf.server=orders}");
				assertThat(second.ask("mdc")).isEqualTo("{lf.connection.id=2, lf.server=orders}");
				assertThat(first.ask("name 4711\u202E7")).isEqualTo("{lf.connection.id=1, lf.server=orders}");
				assertThat(first.ask("mdc"))
					.isEqualTo("{lf.connection.id=1, lf.connection.name=4711?7, lf.server=orders}");
			}
		});
	}

	@Test
	void methodsForFailuresHaveThemToo() {
		this.contextRunner.withBean(Orders.class).run((context) -> {
			try (LineClient client = client(context)) {
				assertThat(client.ask("fail")).isEqualTo("failed with {lf.connection.id=1, lf.server=orders}");
			}
		});
	}

	@Test
	void valuesOfInterceptorsStayBesideThem() {
		this.contextRunner.withBean(Orders.class).withBean(HandlerCallInterceptor.class, () -> (connection, call) -> {
			try (MDC.MDCCloseable trace = MDC.putCloseable("traceId", "t1")) {
				call.proceed();
			}
		}).run((context) -> {
			try (LineClient client = client(context)) {
				assertThat(client.ask("mdc")).isEqualTo("{lf.connection.id=1, lf.server=orders, traceId=t1}");
			}
		});
	}

	@Test
	void nothingIsPutByDefault() {
		this.contextRunner.withBean(Orders.class).withPropertyValues("lf.logging.mdc=false").run((context) -> {
			try (LineClient client = client(context)) {
				assertThat(client.ask("mdc")).isEqualTo("{}");
			}
		});
		assertThat(TestProperties.bind("lf.logging", LfProperties.Logging.class).values().mdc()).isFalse();
	}

	@Test
	void handlerOfAClientHasTheClientAndTheConnection() throws Exception {
		try (LinePeer peer = new LinePeer((line) -> null)) {
			this.contextRunner.withBean(Orders.class)
				.withBean(News.class)
				.withPropertyValues("lf.clients.ledger.addresses=" + peer.address(),
						"lf.clients.ledger.correlation.type=in-order")
				.run((context) -> {
					Awaitility.await().until(() -> !peer.connections.isEmpty());
					peer.connections.element().send(StandardCharsets.UTF_8.encode("news"));
					assertThat(context.getBean(News.class).contexts.poll(60, TimeUnit.SECONDS))
						.isEqualTo("{lf.client=ledger, lf.connection.id=1}");
				});
		}
	}

	@Test
	void handlerOfAnEventSourceHasTheSource() {
		BlockingQueue<String> words = new LinkedBlockingQueue<>();
		this.contextRunner.withBean(Orders.class)
			.withBean(Words.class)
			.withBean("words", EventSource.class, () -> EventSource.of(words))
			.run((context) -> {
				words.add("a");
				assertThat(context.getBean(Words.class).contexts.poll(60, TimeUnit.SECONDS))
					.isEqualTo("{lf.source=words}");
			});
	}

	@Test
	void threadHasWhatItHadBeforeEvenAfterAFailure() {
		MDC.put("lf.server", "outer");
		MDC.put("lf.connection.name", "outer name");
		MDC.put("other", "kept");
		Connection connection = mock(Connection.class);
		given(connection.id()).willReturn(7L);
		assertThatIllegalStateException()
			.isThrownBy(() -> new LoggingContext(LoggingContext.SERVER, "orders").aroundCall(connection, () -> {
				assertThat(context()).isEqualTo("{lf.connection.id=7, lf.server=orders, other=kept}");
				throw new IllegalStateException();
			}));
		assertThat(context()).isEqualTo("{lf.connection.name=outer name, lf.server=outer, other=kept}");
	}

	@Test
	void threadHasWhatItHadBeforeAnEventOfASource() throws Exception {
		MDC.put("lf.source", "outer");
		EventSource.Handler<Object> handler = (event) -> {
			assertThat(context()).isEqualTo("{lf.source=words}");
			throw new IllegalStateException();
		};
		assertThatIllegalStateException().isThrownBy(() -> LoggingContext.around(handler, "words").handleEvent("a"));
		assertThat(context()).isEqualTo("{lf.source=outer}");
	}

	/** Operators see the name beside the thread that runs the handler. */
	@Test
	void handlerOfAnEventSourceKeepsItsName() {
		EventSource.Handler<Object> handler = mock();
		given(handler.name()).willReturn("words");
		assertThat(LoggingContext.around(handler, "source").name()).isEqualTo("words");
	}

	private static LineClient client(ApplicationContext context) throws Exception {
		return new LineClient(context.getBean(LeaderFollowersServers.class).get("orders").port());
	}

	static String context() {
		Map<String, @Nullable String> context = MDC.getCopyOfContextMap();
		return (context != null) ? new TreeMap<>(context).toString() : "{}";
	}

	@LfHandler(server = "orders")
	static class Orders {

		@OnMessage
		String handle(String message, Connection connection) {
			if (message.equals("fail")) {
				throw new IllegalArgumentException();
			}
			if (message.startsWith("name ")) {
				connection.name(message.substring(5));
			}
			return context();
		}

		@OnError
		String failed(IllegalArgumentException failure) {
			return "failed with " + context();
		}

	}

	@LfHandler(client = "ledger")
	static class News {

		final BlockingQueue<String> contexts = new LinkedBlockingQueue<>();

		@OnMessage
		void handle(String message) {
			this.contexts.add(context());
		}

	}

	@LfHandler(source = "words")
	static class Words {

		final BlockingQueue<String> contexts = new LinkedBlockingQueue<>();

		@OnMessage
		void handle(String word) {
			this.contexts.add(context());
		}

	}

}
