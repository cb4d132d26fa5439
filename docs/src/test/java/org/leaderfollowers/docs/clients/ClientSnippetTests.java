package org.leaderfollowers.docs.clients;

import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;
import org.leaderfollowers.ExchangeLostException;
import org.leaderfollowers.Framing;
import org.leaderfollowers.TcpClient;
import org.leaderfollowers.docs.clients.Ledger.Order;
import org.leaderfollowers.docs.clients.Ledger.Receipt;
import org.leaderfollowers.spring.server.LeaderFollowersServers;
import org.leaderfollowers.spring.test.client.LfTestPeer;
import org.leaderfollowers.spring.test.client.TcpTestClient;

import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

/** The examples with Spring in the chapter about clients behave as the chapter says. */
class ClientSnippetTests {

	private static ApplicationContextRunner runner(LfTestPeer peer, Class<?>... configurations) {
		return new ApplicationContextRunner().withUserConfiguration(Application.class)
			.withUserConfiguration(configurations)
			.withPropertyValues("lf.server.port=0", "lf.clients.ledger.addresses=" + peer.address(),
					"lf.clients.ledger.correlation.type=in-order", "lf.clients.ledger.request-timeout=30s");
	}

	@Test
	void anInterfaceIsInjected() {
		try (LfTestPeer peer = LfTestPeer.listen(Framing.line())) {
			peer.answer((request) -> "{\"account\":\"alice\",\"balance\":500}");
			runner(peer, ClientConfiguration.class).run((context) -> {
				try (TcpTestClient client = TcpTestClient
					.connect(context.getBean(LeaderFollowersServers.class).get("default").port())) {
					client.send("{\"account\":\"alice\",\"amount\":500}");
					assertThat(client).receives("500");
				}
				Ledger ledger = context.getBean(Ledger.class);
				assertThat(ledger.book("bob", 3)).isEqualTo(new Receipt("alice", 500));
				assertThatIllegalArgumentException().isThrownBy(() -> ledger.book("bob", 10_001));
			});
		}
	}

	@Test
	void messagesThatAreNoRepliesAreHandled() {
		try (LfTestPeer peer = LfTestPeer.listen(Framing.line())) {
			peer.answer((request) -> "welcome");
			runner(peer, LedgerNews.class).run((context) -> {
				LedgerNews news = context.getBean(LedgerNews.class);
				assertThat(news.news().poll(30, TimeUnit.SECONDS)).isEqualTo("welcome");
				peer.push("closed at six");
				assertThat(news.news().poll(30, TimeUnit.SECONDS)).isEqualTo("closed at six");
			});
		}
	}

	@Test
	void aPeerIsScripted() {
		// tag::listen[]
		try (LfTestPeer peer = LfTestPeer.listen(Framing.line())) {
			// end::listen[]
			runner(peer).run((context) -> {
				Awaitility.await()
					.atMost(Duration.ofSeconds(60))
					.until(() -> context.getBean(TcpClient.class).snapshot().connected() == 1);
				Ledger ledger = context.getBean(Ledger.class);
				// tag::script[]
				CompletableFuture<Receipt> first = ledger.bookLater(new Order("alice", 1));
				CompletableFuture<Receipt> second = ledger.bookLater(new Order("bob", 2));
				peer.next().reply("{\"account\":\"alice\",\"balance\":1}");
				peer.next().close();
				assertThat(first).succeedsWithin(10, TimeUnit.SECONDS);
				assertThat(second).failsWithin(10, TimeUnit.SECONDS)
					.withThrowableThat()
					.withCauseInstanceOf(ExchangeLostException.class);
				// end::script[]
			});
		}
	}

	@Test
	void anInterfaceIsTestedInMemory() {
		// tag::memory[]
		LfTestPeer peer = LfTestPeer.inMemory().answer((request) -> "{\"account\":\"alice\",\"balance\":7}");
		Teller teller = new Teller(peer.implement(Ledger.class));
		assertThat(teller.book(new Order("alice", 7))).isEqualTo(7);
		assertThat(peer.received()).singleElement()
			.satisfies((request) -> assertThat(request.text()).contains("\"amount\":7"));
		// end::memory[]
		peer.answer((request) -> {
			request.close();
			return null;
		});
		assertThatExceptionOfType(ExchangeLostException.class).isThrownBy(() -> teller.book(new Order("alice", 7)));
	}

	@Configuration(proxyBeanMethods = false)
	@EnableAutoConfiguration
	@Import(Teller.class)
	static class Application {

	}

}
