package org.leaderfollowers.spring.test.app;

import java.time.Duration;

import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.leaderfollowers.ClientSnapshot.State;
import org.leaderfollowers.spring.client.LeaderFollowersClients;
import org.leaderfollowers.spring.test.LfHandlerTest;
import org.leaderfollowers.spring.test.LfHandlerTest.ServerEnvironment;
import org.leaderfollowers.spring.test.LfTestClients;
import org.leaderfollowers.spring.test.LfTestPeers;
import org.leaderfollowers.spring.test.client.InMemoryTestClient;
import org.leaderfollowers.spring.test.client.LfTestPeer.Request;

import org.springframework.beans.factory.annotation.Autowired;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for {@link LfHandlerTest @LfHandlerTest} of a handler that uses a client, without
 * a network.
 */
@LfHandlerTest(handlers = TellerHandler.class, serverEnvironment = ServerEnvironment.IN_MEMORY,
		properties = "lf.clients.ledger.charset=ISO-8859-1")
class ClientSliceTests {

	@Autowired
	private LfTestPeers peers;

	@BeforeEach
	void reset() {
		this.peers.get("ledger").reset();
	}

	@Test
	void requestsReachThePeerInMemory(@Autowired LfTestClients clients) {
		this.peers.get("ledger").answer((request) -> "{\"account\":\"a\",\"amount\":7}");
		try (InMemoryTestClient client = clients.openInMemory("teller")) {
			client.send("alice");
			assertThat(client).receives("booked 7");
		}
		assertThat(this.peers.get("ledger").received()).extracting(Request::text)
			.containsExactly("{\"account\":\"alice\",\"amount\":1}");
	}

	@Test
	void thePeerUsesTheCharsetOfItsClient(@Autowired Ledger ledger) {
		this.peers.get("ledger").answer(Request::text);
		assertThat(ledger.note("\u00e9")).succeedsWithin(Duration.ofSeconds(30)).isEqualTo("\u00e9");
		assertThat(this.peers.get("ledger").received()).extracting(Request::bytes)
			.containsExactly(new byte[] { (byte) 0xe9 });
	}

	@Test
	void startsNothing(@Autowired LeaderFollowersClients clients) {
		assertThat(clients.names()).containsExactly("ledger");
		assertThat(clients.get("ledger").snapshot().state()).isEqualTo(State.NEW);
	}

}
