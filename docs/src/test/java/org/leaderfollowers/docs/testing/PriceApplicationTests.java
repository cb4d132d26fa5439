package org.leaderfollowers.docs.testing;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;

import org.junit.jupiter.api.Test;
import org.leaderfollowers.spring.server.LeaderFollowersPools;
import org.leaderfollowers.spring.server.LeaderFollowersServers;
import org.leaderfollowers.spring.test.LfTestClients;
import org.leaderfollowers.spring.test.LocalLfServerPort;
import org.leaderfollowers.spring.test.client.LfTestClient;
import org.leaderfollowers.spring.test.client.TcpTestClient;

import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.boot.test.context.SpringBootTest;

import static org.assertj.core.api.Assertions.assertThat;
import static org.leaderfollowers.spring.test.assertion.LfAssertions.assertThat;

// tag::whole[]
@SpringBootTest(properties = "lf-test.random-ports=true")
class PriceApplicationTests {

	@Autowired
	private LfTestClients clients;

	@Test
	void tellsThePrice() {
		try (TcpTestClient client = this.clients.connect()) {
			client.send("tea");
			assertThat(client).receives("costs 2.50");
			client.sendRaw("te");
			client.sendRaw("a\r\n");
			assertThat(client).receives("costs 2.50").receivesNothing();
			client.send("bye");
			assertThat(client).isClosedByServer();
		}
	}

	@Test
	void listensOnThePort(@LocalLfServerPort int port) {
		try (LfTestClient client = LfTestClient.connect(port)) {
			assertThat(client.exchange("gold")).isEqualTo("unknown");
		}
	}

	// end::whole[]

	// tag::load[]
	@Test
	void answersManyAtOnce(@Autowired LeaderFollowersPools pools, @Autowired LeaderFollowersServers servers)
			throws Exception {
		int connections = 50;
		ExecutorService executor = Executors.newFixedThreadPool(connections);
		List<Future<List<String>>> replies = new ArrayList<>();
		for (int i = 0; i < connections; i++) {
			replies.add(executor.submit(() -> {
				try (LfTestClient client = this.clients.connect()) {
					client.send("tea", "gold", "tea");
					return client.receive(3);
				}
			}));
		}
		for (Future<List<String>> reply : replies) {
			assertThat(reply.get(30, TimeUnit.SECONDS)).containsExactly("costs 2.50", "unknown", "costs 2.50");
		}
		executor.shutdown();
		assertThat(servers.get("default")).eventually().hasOpenConnections(0).hasRejectedConnections(0);
		assertThat(pools.get("default")).eventually().isIdle().hasExactlyOneLeader();
	}
	// end::load[]

	// tag::whole[]

}
// end::whole[]
