package org.leaderfollowers.spring.test.app;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;

import org.assertj.core.api.InstanceOfAssertFactories;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.leaderfollowers.Correlation;
import org.leaderfollowers.ExchangeLostException;
import org.leaderfollowers.ExchangeTimeoutException;
import org.leaderfollowers.Framing;
import org.leaderfollowers.LeaderFollowersPool;
import org.leaderfollowers.PoolSnapshot;
import org.leaderfollowers.TcpClient;
import org.leaderfollowers.spring.autoconfigure.LeaderFollowersAutoConfiguration;
import org.leaderfollowers.spring.client.ImportLfClients;
import org.leaderfollowers.spring.handler.PayloadValidationException;
import org.leaderfollowers.spring.test.app.Ledger.Entry;
import org.leaderfollowers.spring.test.client.LfTestPeer;
import org.leaderfollowers.spring.test.client.LfTestPeer.Request;

import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.jackson.autoconfigure.JacksonAutoConfiguration;
import org.springframework.boot.test.context.assertj.AssertableApplicationContext;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.boot.test.context.runner.ContextConsumer;
import org.springframework.boot.validation.autoconfigure.ValidationAutoConfiguration;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

/**
 * Tests for {@link LfTestPeer}, on a socket and in memory.
 */
class LfTestPeerTests {

	private final LfTestPeer listening = LfTestPeer.listen(Framing.line());

	private final LfTestPeer inMemory = LfTestPeer.inMemory();

	@AfterEach
	void close() {
		this.listening.close();
		this.inMemory.close();
	}

	private void onSocket(ContextConsumer<AssertableApplicationContext> test) {
		new ApplicationContextRunner()
			.withConfiguration(AutoConfigurations.of(JacksonAutoConfiguration.class, ValidationAutoConfiguration.class,
					LeaderFollowersAutoConfiguration.class))
			.withUserConfiguration(Imports.class)
			.withPropertyValues("lf.clients.ledger.addresses=" + this.listening.address(),
					"lf.clients.ledger.correlation.bean=firstCharacter")
			.run((context) -> {
				Awaitility.await()
					.atMost(Duration.ofSeconds(60))
					.until(() -> context.getBean(TcpClient.class).snapshot().connected() == 1);
				test.accept(context);
			});
	}

	private static String get(CompletableFuture<String> reply) throws Exception {
		return reply.get(30, TimeUnit.SECONDS);
	}

	private static void outOfOrder(Ledger ledger, LfTestPeer peer) throws Exception {
		CompletableFuture<String> first = ledger.note("1");
		CompletableFuture<String> second = ledger.note("2");
		Request one = peer.next();
		Request two = peer.next();
		assertThat(List.of(one.text(), two.text())).containsExactly("1", "2");
		one.bytes()[0] = 'x';
		assertThat(one.bytes()).as("a copy").containsExactly('1');
		two.reply("2 second");
		assertThat(get(second)).isEqualTo("2 second");
		long begun = System.nanoTime();
		one.replyAfter(Duration.ofMillis(200), "1 first");
		assertThat(get(first)).isEqualTo("1 first");
		assertThat(Duration.ofNanos(System.nanoTime() - begun)).isGreaterThanOrEqualTo(Duration.ofMillis(200));
	}

	private static void closes(Ledger ledger, LfTestPeer peer) {
		CompletableFuture<String> reply = ledger.note("1");
		peer.next().close();
		assertThatExceptionOfType(ExecutionException.class).isThrownBy(() -> get(reply))
			.withCauseExactlyInstanceOf(ExchangeLostException.class);
	}

	@Test
	void repliesOutOfOrderAndLate() throws Exception {
		outOfOrder(this.inMemory.implement(Ledger.class), this.inMemory);
		onSocket((context) -> outOfOrder(context.getBean(Ledger.class), this.listening));
	}

	@Test
	void closesInBetween() {
		closes(this.inMemory.implement(Ledger.class), this.inMemory);
		onSocket((context) -> closes(context.getBean(Ledger.class), this.listening));
	}

	@Test
	void neverReplies() {
		assertThatExceptionOfType(ExchangeTimeoutException.class)
			.isThrownBy(() -> this.inMemory.implement(Ledger.class).hurry("x"))
			.withMessageContaining("PT0.001S");
		onSocket((context) -> assertThatExceptionOfType(ExchangeTimeoutException.class)
			.isThrownBy(() -> context.getBean(Ledger.class).hurry("x")));
		assertThat(this.listening.next().text()).isEqualTo("x");
	}

	@Test
	void answersByAFunctionAndRecords() {
		this.inMemory.answer((request) -> request.text().contains("a") ? request.text() : null);
		Ledger ledger = this.inMemory.implement(Ledger.class);
		assertThat(ledger.book(new Entry("a", 2))).isEqualTo(new Entry("a", 2));
		CompletableFuture<String> left = ledger.note("left to next");
		assertThat(this.inMemory.next().toString()).contains("left to next");
		assertThat(left).isNotDone();
		assertThat(this.inMemory.received()).hasSize(2);
		assertThatExceptionOfType(PayloadValidationException.class).isThrownBy(() -> ledger.book(new Entry("a", 0)));
		ledger.note("undone");
		this.inMemory.reset();
		assertThat(this.inMemory.received()).isEmpty();
		this.inMemory.closeConnections();
		assertThat(left).isCompletedExceptionally();
		CompletableFuture<String> after = ledger.note("after the reset");
		assertThat(this.inMemory.next().text()).isEqualTo("after the reset");
		assertThat(after).isNotDone();
		this.inMemory.close();
		assertThat(after).isCompletedExceptionally();
		assertThat(this.inMemory).extracting("exchanger.pending")
			.asInstanceOf(InstanceOfAssertFactories.COLLECTION)
			.isEmpty();
	}

	@Test
	void aRequestIsNotConsumed() {
		ByteBuffer request = ByteBuffer.wrap("12".getBytes(StandardCharsets.US_ASCII)).position(1);
		this.inMemory.exchanger().exchangeAsync(request, null);
		assertThat(request.position()).isEqualTo(1);
		assertThat(this.inMemory.next().text()).isEqualTo("2");
	}

	@Test
	void aThreadThatIsInterruptedStaysInterrupted() {
		Ledger ledger = this.inMemory.implement(Ledger.class);
		Thread.currentThread().interrupt();
		assertThatExceptionOfType(ExchangeLostException.class).isThrownBy(() -> ledger.book(new Entry("a", 2)));
		assertThat(Thread.interrupted()).isTrue();
		Thread.currentThread().interrupt();
		assertThatExceptionOfType(AssertionError.class).isThrownBy(this.inMemory::next).withMessageContaining("amount");
		assertThat(Thread.interrupted()).isTrue();
	}

	@Test
	void textHasTheCharsetOfThePeer() {
		try (LfTestPeer peer = LfTestPeer.inMemory(StandardCharsets.ISO_8859_1)) {
			CompletableFuture<String> reply = peer.implement(Ledger.class).note("\u00e9");
			Request request = peer.next();
			assertThat(request.bytes()).containsExactly(0xe9);
			request.reply("\u00fc");
			assertThat(reply).isCompletedWithValue("\u00fc");
		}
	}

	@Test
	void stopsItsThreads() {
		this.listening.close();
		assertThat(this.listening).extracting("listener.pool")
			.asInstanceOf(InstanceOfAssertFactories.type(LeaderFollowersPool.class))
			.extracting((pool) -> pool.snapshot().state())
			.isEqualTo(PoolSnapshot.State.STOPPED);
	}

	@Test
	void pushesMessagesAndCountsConnections() {
		onSocket((context) -> {
			Awaitility.await().atMost(Duration.ofSeconds(60)).until(() -> this.listening.connections() == 1);
			this.listening.push("unasked");
			Awaitility.await()
				.atMost(Duration.ofSeconds(60))
				.until(() -> context.getBean(TcpClient.class).snapshot().unexpectedMessages() == 1);
			this.listening.closeConnections();
			Awaitility.await()
				.atMost(Duration.ofSeconds(60))
				.until(() -> context.getBean(TcpClient.class).snapshot().disconnects() == 1);
		});
		Awaitility.await().atMost(Duration.ofSeconds(60)).until(() -> this.listening.connections() == 0);
		assertThatIllegalStateException().isThrownBy(() -> this.inMemory.push("x")).withMessageContaining("in memory");
		assertThatIllegalStateException().isThrownBy(this.inMemory::address);
	}

	@Configuration(proxyBeanMethods = false)
	@ImportLfClients(Ledger.class)
	static class Imports {

		@Bean
		Correlation firstCharacter() {
			return Correlation.byKey((message) -> message.get(message.position()));
		}

	}

}
