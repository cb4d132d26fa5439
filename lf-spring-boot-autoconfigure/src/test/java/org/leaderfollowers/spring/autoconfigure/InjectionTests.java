package org.leaderfollowers.spring.autoconfigure;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Duration;

import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.leaderfollowers.Connection;
import org.leaderfollowers.Correlation;
import org.leaderfollowers.Framing;
import org.leaderfollowers.LeaderFollowersPool;
import org.leaderfollowers.MessageHandler;
import org.leaderfollowers.TcpClient;
import org.leaderfollowers.TcpServer;
import org.leaderfollowers.spring.LineClient;
import org.leaderfollowers.spring.annotation.LfHandler;
import org.leaderfollowers.spring.annotation.OnMessage;
import org.leaderfollowers.spring.client.LeaderFollowersClients;
import org.leaderfollowers.spring.handler.ErrorReply;
import org.leaderfollowers.spring.handler.LfErrorHandler;
import org.leaderfollowers.spring.interceptor.MessageHandlerInterceptor;
import org.leaderfollowers.spring.server.LeaderFollowersServers;

import org.springframework.beans.factory.BeanCurrentlyInCreationException;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Beans that servers and clients need have the registries of servers and clients
 * injected.
 */
class InjectionTests {

	private final ApplicationContextRunner runner = new ApplicationContextRunner()
		.withConfiguration(AutoConfigurations.of(LeaderFollowersAutoConfiguration.class))
		.withPropertyValues("lf.server.port=0", "lf.clients.ledger.addresses=127.0.0.1:1",
				"lf.clients.ledger.correlation.type=in-order");

	@Test
	void aServiceThatAHandlerUses() {
		this.runner.withUserConfiguration(Directory.class, Asking.class)
			.run((context) -> assertThat(ask(context.getBean(LeaderFollowersServers.class), "default", "x"))
				.isEqualTo("[default] and [ledger]"));
	}

	@Test
	void anInterceptorAndAnErrorHandler() {
		this.runner.withUserConfiguration(Directory.class, Asking.class, Adding.class, Explaining.class)
			.run((context) -> {
				LeaderFollowersServers servers = context.getBean(LeaderFollowersServers.class);
				assertThat(ask(servers, "default", "x")).isEqualTo("intercepted [default] and [ledger]");
				assertThat(ask(servers, "default", "fail")).isEqualTo("failed on [default] and [ledger]");
			});
	}

	@Test
	void handlersOfServersAndClientsThatAreBeans() {
		this.runner.withUserConfiguration(Directory.class, Asking.class, OwnServerAndClient.class).run((context) -> {
			LeaderFollowersServers servers = context.getBean(LeaderFollowersServers.class);
			assertThat(ask(servers, "own", "x")).isEqualTo("[own, default] and [mine, ledger]");
		});
	}

	@Test
	void mistakesAreFoundAlthoughNobodyAsks() {
		this.runner.withPropertyValues("lf.servers.lost.port=0")
			.withUserConfiguration(Directory.class, Asking.class)
			.run((context) -> assertThat(context).getFailure()
				.rootCause()
				.hasMessageContaining("Server 'lost' has no handler"));
	}

	@Test
	void aHandlerThatAsksInItsConstructorIsTold() {
		this.runner.withUserConfiguration(Hasty.class)
			.run((context) -> assertThat(context).getFailure()
				.rootCause()
				.isInstanceOf(BeanCurrentlyInCreationException.class)
				.hasMessageContaining("injectionTests.Hasty"));
	}

	private static String ask(LeaderFollowersServers servers, String server, String message) throws Exception {
		try (LineClient client = new LineClient(servers.get(server).port())) {
			return client.ask(message);
		}
	}

	record Directory(LeaderFollowersServers servers, LeaderFollowersClients clients) {

		String describe() {
			return this.servers.names() + " and " + this.clients.names();
		}

	}

	@LfHandler
	static class Asking {

		private final Directory directory;

		Asking(Directory directory) {
			this.directory = directory;
		}

		@OnMessage
		String ask(String message) {
			if (message.equals("fail")) {
				throw new IllegalStateException("failed");
			}
			return (message.startsWith("intercepted") ? "intercepted " : "") + this.directory.describe();
		}

	}

	record Adding(Directory directory) implements MessageHandlerInterceptor {

		@Override
		public void onMessage(Connection connection, ByteBuffer message, MessageHandler next) throws Exception {
			assertThat(this.directory.describe()).isNotEmpty();
			String text = StandardCharsets.UTF_8.decode(message).toString();
			next.onMessage(connection,
					text.equals("fail") ? message.flip() : StandardCharsets.UTF_8.encode("intercepted " + text));
		}

	}

	record Explaining(Directory directory) implements LfErrorHandler {

		@Override
		public @Nullable ErrorReply handle(Connection connection, Throwable failure) {
			return ErrorReply.of("failed on " + this.directory.describe());
		}

	}

	record Telling(Directory directory) implements MessageHandler {

		@Override
		public void onMessage(Connection connection, ByteBuffer message) {
			connection.send(StandardCharsets.UTF_8.encode(this.directory.describe()));
		}

	}

	@Configuration(proxyBeanMethods = false)
	static class OwnServerAndClient {

		@Bean(destroyMethod = "close")
		LeaderFollowersPool ownPool() {
			return LeaderFollowersPool.builder().name("own").threads(1, 4).build();
		}

		@Bean
		Telling telling(Directory directory) {
			return new Telling(directory);
		}

		@Bean
		TcpServer own(LeaderFollowersPool pool, Telling telling) {
			return TcpServer.builder(pool).name("own").port(0).framing(Framing.line()).handler(telling).build();
		}

		@Bean
		TcpClient mine(LeaderFollowersPool pool, Telling telling) {
			return TcpClient.builder(pool)
				.name("mine")
				.address("127.0.0.1", 1)
				.framing(Framing.line())
				.correlation(Correlation.inOrder())
				.requestTimeout(Duration.ofSeconds(60))
				.handler(telling)
				.build();
		}

	}

	@LfHandler
	static class Hasty {

		Hasty(LeaderFollowersServers servers) {
			servers.names();
		}

		@OnMessage
		String answer(String message) {
			return message;
		}

	}

}
