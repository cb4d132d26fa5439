package org.leaderfollowers.spring.test;

import java.util.concurrent.LinkedBlockingQueue;

import org.junit.jupiter.api.Test;
import org.leaderfollowers.EventSource;
import org.leaderfollowers.TcpServer;
import org.leaderfollowers.spring.annotation.LfHandler;
import org.leaderfollowers.spring.annotation.OnMessage;
import org.leaderfollowers.spring.autoconfigure.LeaderFollowersAutoConfiguration;
import org.leaderfollowers.spring.server.LeaderFollowersServers;
import org.leaderfollowers.spring.test.LfHandlerTest.ServerEnvironment;

import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.test.context.MergedContextConfiguration;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.InstanceOfAssertFactories.type;
import static org.mockito.Mockito.mock;

/**
 * Tests for {@link LfHandlerTestContextCustomizer}: which servers and event sources are
 * part of a test.
 */
class LfHandlerTestContextCustomizerTests {

	private static final String SOURCE_LIFECYCLE = "leaderFollowersEventSourceLifecycle";

	private final ApplicationContextRunner runner = new ApplicationContextRunner()
		.withInitializer((context) -> new LfHandlerTestContextCustomizer(ServerEnvironment.IN_MEMORY)
			.customizeContext(context, mock(MergedContextConfiguration.class)))
		.withConfiguration(
				AutoConfigurations.of(LeaderFollowersAutoConfiguration.class, LfTestAutoConfiguration.class));

	@Test
	void aHandlerBelongsToWhatItsPlaceholdersSay() {
		ApplicationContextRunner either = this.runner.withBean(OfServerOrSource.class)
			.withBean("alarms", EventSource.class, () -> EventSource.of(new LinkedBlockingQueue<String>()))
			.withPropertyValues("lf.server.max-message-size=100B");
		either.run((context) -> {
			assertThat(context).hasNotFailed().doesNotHaveBean(SOURCE_LIFECYCLE);
			assertThat(context.getBean(LeaderFollowersServers.class).get("default")).asInstanceOf(type(TcpServer.class))
				.returns(100, TcpServer::maxMessageSize);
		});
		either.withPropertyValues("source=alarms").run((context) -> {
			assertThat(context).hasNotFailed().hasBean(SOURCE_LIFECYCLE);
			assertThat(context.getBean(LeaderFollowersServers.class).names()).isEmpty();
		});
	}

	@Test
	void theHandlerOfAClientIsNoneOfAServer() {
		this.runner.withBean(OfClient.class)
			.withPropertyValues("lf.server.port=1", "lf.clients.ledger.addresses=127.0.0.1:1",
					"lf.clients.ledger.correlation.type=in-order")
			.run((context) -> {
				assertThat(context).hasNotFailed();
				assertThat(context.getBean(LeaderFollowersServers.class).names()).isEmpty();
			});
	}

	@Test
	void theSystemChoosesThePortWhereverTheDefaultServerIsConfigured() {
		this.runner.withBean(OfDefaultServer.class).withPropertyValues("lf.servers.default.port=1").run((context) -> {
			// Configuration in both places would fail the start.
			assertThat(context).hasNotFailed();
			assertThat(context.getEnvironment().getProperty("lf.servers.default.port")).isEqualTo("0");
		});
	}

	@LfHandler
	static class OfDefaultServer {

		@OnMessage
		void handle(String message) {
		}

	}

	@LfHandler(client = "ledger")
	static class OfClient {

		@OnMessage
		void handle(String message) {
		}

	}

	@LfHandler(source = "${source:}")
	static class OfServerOrSource {

		@OnMessage
		void handle(String message) {
		}

	}

}
