package org.leaderfollowers.spring.test.app;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.leaderfollowers.spring.server.LeaderFollowersPools;
import org.leaderfollowers.spring.server.LeaderFollowersServers;
import org.leaderfollowers.spring.test.LfHandlerTest;
import org.leaderfollowers.spring.test.LfTestClients;
import org.leaderfollowers.spring.test.LocalLfServerPort;
import org.leaderfollowers.spring.test.client.LfTestClient;

import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.context.ApplicationContext;
import org.springframework.test.context.bean.override.mockito.MockitoBean;
import org.springframework.web.context.WebApplicationContext;

import static org.assertj.core.api.Assertions.assertThat;
import static org.leaderfollowers.spring.test.assertion.LfAssertions.assertThat;
import static org.mockito.BDDMockito.given;

/**
 * Tests for {@link LfHandlerTest @LfHandlerTest} with all handlers.
 */
@LfHandlerTest
@Timeout(120)
class LfHandlerTestTests {

	@Autowired
	private ApplicationContext context;

	@Autowired
	private LfTestClients clients;

	@MockitoBean
	private Greetings greetings;

	@LocalLfServerPort
	private int port;

	@Test
	void loadsHandlersAndConverters() {
		assertThat(this.context.getBeanProvider(GreetingHandler.class).stream()).hasSize(1);
		assertThat(this.context.getBeanProvider(EchoHandler.class).stream()).hasSize(1);
		assertThat(this.context.getBeanProvider(YesNoConverter.class).stream()).hasSize(1);
	}

	@Test
	void loadsNothingElse() {
		assertThat(this.context.getBeanProvider(StatusController.class).stream()).isEmpty();
		// The only bean of this type is a mock.
		assertThat(this.context.getBeanNamesForType(Greetings.class)).hasSize(1).doesNotContain("greetings");
		assertThat(this.context).isNotInstanceOf(WebApplicationContext.class);
		assertThat(this.context.getBeanNamesForType(Object.class))
			.noneMatch((name) -> name.contains("dispatcherServlet"));
	}

	@Test
	void serversListenOnRandomPorts(@LocalLfServerPort("echo") int echoPort) {
		assertThat(this.port).isGreaterThan(1024).isNotEqualTo(echoPort);
		given(this.greetings.greet("you")).willReturn("Hi you");
		try (LfTestClient client = LfTestClient.connect(this.port); LfTestClient echo = this.clients.connect("echo")) {
			client.send("you");
			assertThat(client).receives("Hi you");
			echo.send("a\nb");
			assertThat(echo).receives("a\nb").receivesNothing();
		}
	}

	@Test
	void poolLeads(@Autowired LeaderFollowersPools pools, @Autowired LeaderFollowersServers servers) {
		assertThat(pools.get("default")).eventually().hasExactlyOneLeader().isIdle().isRunning();
		assertThat(servers.get("echo")).isRunning().isNotPaused();
	}

}
