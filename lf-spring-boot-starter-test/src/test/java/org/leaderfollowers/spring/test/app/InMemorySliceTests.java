package org.leaderfollowers.spring.test.app;

import org.junit.jupiter.api.Test;
import org.leaderfollowers.ServerSnapshot.State;
import org.leaderfollowers.spring.server.LeaderFollowersPools;
import org.leaderfollowers.spring.server.LeaderFollowersServers;
import org.leaderfollowers.spring.test.LfHandlerTest;
import org.leaderfollowers.spring.test.LfHandlerTest.ServerEnvironment;
import org.leaderfollowers.spring.test.LfTestClients;
import org.leaderfollowers.spring.test.client.InMemoryTestClient;

import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.context.ApplicationContext;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

/**
 * Tests for {@link LfHandlerTest @LfHandlerTest} with one handler and without a network.
 */
@LfHandlerTest(handlers = EchoHandler.class, serverEnvironment = ServerEnvironment.IN_MEMORY)
class InMemorySliceTests {

	@Autowired
	private LfTestClients clients;

	@Test
	void loadsTheHandlerThatWasNamed(@Autowired ApplicationContext context, @Autowired LeaderFollowersServers servers) {
		assertThat(context.getBeanProvider(EchoHandler.class).stream()).hasSize(1);
		assertThat(context.getBeanProvider(GreetingHandler.class).stream()).isEmpty();
		assertThat(servers.names()).containsExactly("echo");
	}

	@Test
	void startsNothing(@Autowired LeaderFollowersServers servers, @Autowired LeaderFollowersPools pools) {
		assertThat(servers).allSatisfy((server) -> assertThat(server.snapshot().state()).isEqualTo(State.NEW));
		assertThat(pools).allSatisfy((pool) -> assertThat(pool.snapshot().threads()).isEmpty());
		assertThatIllegalStateException().isThrownBy(() -> this.clients.connect("echo"))
			.withMessageContaining("'echo' is not started")
			.withMessageContaining("openInMemory");
	}

	@Test
	void handlerIsCalledInMemoryWithTheFramingOfItsServer() {
		try (InMemoryTestClient client = this.clients.openInMemory("echo")) {
			client.sendRaw(new byte[] { 0, 2, 'h', 'i' });
			assertThat(client).receives("hi").receivesNothing();
			assertThat(client.connection().server()).isEqualTo("echo");
		}
	}

}
