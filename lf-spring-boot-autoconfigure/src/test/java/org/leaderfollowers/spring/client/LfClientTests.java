package org.leaderfollowers.spring.client;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;

import jakarta.validation.Valid;
import jakarta.validation.constraints.NotBlank;
import org.awaitility.Awaitility;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.leaderfollowers.ClientSnapshot.Outcome;
import org.leaderfollowers.ExchangeLostException;
import org.leaderfollowers.ExchangeRejectedException;
import org.leaderfollowers.ExchangeTimeoutException;
import org.leaderfollowers.TcpClient;
import org.leaderfollowers.spring.annotation.Exchange;
import org.leaderfollowers.spring.annotation.LfClient;
import org.leaderfollowers.spring.autoconfigure.LeaderFollowersAutoConfiguration;
import org.leaderfollowers.spring.client.app.Ledger;
import org.leaderfollowers.spring.client.app.LedgerApplication;
import org.leaderfollowers.spring.handler.InvalidReplyException;
import org.leaderfollowers.spring.handler.PayloadConversionException;
import org.leaderfollowers.spring.handler.PayloadValidationException;
import org.leaderfollowers.spring.interceptor.ExchangeInterceptor;

import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.jackson.autoconfigure.JacksonAutoConfiguration;
import org.springframework.boot.test.context.assertj.AssertableApplicationContext;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.boot.validation.autoconfigure.ValidationAutoConfiguration;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.core.annotation.Order;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

/**
 * Interfaces that are annotated with {@link LfClient @LfClient}, against a peer.
 */
class LfClientTests {

	private final LinePeer peer = new LinePeer(LfClientTests::answer);

	private static @Nullable String answer(String line) {
		if (line.contains("silence")) {
			return null;
		}
		if (line.contains("empty")) {
			return "";
		}
		if (line.contains("nonsense")) {
			return "neither JSON nor a number";
		}
		if (line.contains("invalid")) {
			return "{\"order\":\" \"}";
		}
		return line.startsWith("{") ? "{\"order\":\"booked\"}" : line;
	}

	@AfterEach
	void end() {
		this.peer.close();
	}

	private ApplicationContextRunner runner(Class<?>... configurations) {
		return new ApplicationContextRunner()
			.withConfiguration(AutoConfigurations.of(JacksonAutoConfiguration.class, ValidationAutoConfiguration.class,
					LeaderFollowersAutoConfiguration.class))
			.withUserConfiguration(configurations)
			.withPropertyValues("lf.clients.ledger.addresses=" + this.peer.address(),
					"lf.clients.ledger.correlation.type=in-order", "lf.clients.ledger.request-timeout=60s");
	}

	private static Journal journal(AssertableApplicationContext context) {
		assertThat(context).hasNotFailed();
		return context.getBean(Journal.class);
	}

	@Test
	void interfacesInThePackagesOfTheApplicationAreFound() {
		new ApplicationContextRunner().withUserConfiguration(LedgerApplication.class)
			.withPropertyValues("lf.clients.ledger.addresses=" + this.peer.address(),
					"lf.clients.ledger.correlation.type=in-order", "lf.clients.ledger.request-timeout=60s")
			.run((context) -> {
				assertThat(context).hasSingleBean(Ledger.class);
				assertThat(context.getBean(Ledger.class).book("one")).isEqualTo("one");
			});
	}

	@Test
	void interfacesThatAreImportedTwiceAreOneBean() {
		new ApplicationContextRunner().withUserConfiguration(LedgerApplication.class, ImportsByPackage.class)
			.withPropertyValues("lf.clients.ledger.addresses=" + this.peer.address(),
					"lf.clients.ledger.correlation.type=in-order")
			.run((context) -> assertThat(context).hasSingleBean(Ledger.class));
	}

	@Test
	void argumentsAndRepliesAreConverted() {
		runner(Imports.class).run((context) -> {
			Journal journal = journal(context);
			assertThat(journal.book(new Purchase("a"))).isEqualTo(new Receipt("booked"));
			assertThat(this.peer.received).containsExactly("{\"item\":\"a\"}");
			assertThat(journal.twice(7)).isEqualTo(7);
			assertThat(journal.text("x")).isEqualTo("x");
			assertThat((Object) StandardCharsets.UTF_8.decode(journal.raw(StandardCharsets.UTF_8.encode("bytes"))))
				.hasToString("bytes");
			assertThat(journal.all(List.of(new Purchase("a"), new Purchase("b"))))
				.isEqualTo("[{\"item\":\"a\"},{\"item\":\"b\"}]");
		});
	}

	@Test
	void variablesInTheTypeOfAReplyAreThoseOfTheInterface() {
		List<Purchase> purchases = List.of(new Purchase("a"), new Purchase("b"));
		runner(Imports.class).run((context) -> {
			assertThat(journal(context).copies(purchases)).isEqualTo(purchases);
			assertThat(journal(context).array(purchases)).isEqualTo(purchases.toArray());
			assertThat(journal(context).copiesLater(purchases).get(60, TimeUnit.SECONDS)).contains(purchases);
		});
	}

	@Test
	void emptyRepliesAreEmptyOptionalsOrNull() {
		runner(Imports.class).run((context) -> {
			Journal journal = journal(context);
			assertThat(journal.find("{")).contains(new Receipt("booked"));
			assertThat(journal.find("empty")).isEmpty();
			assertThat(journal.findOrNull("empty")).isNull();
			assertThat(journal.findLater("empty").get(60, TimeUnit.SECONDS)).isEmpty();
			assertThatExceptionOfType(InvalidReplyException.class).isThrownBy(() -> journal.get("empty"))
				.withCauseInstanceOf(PayloadConversionException.class)
				.withMessageContaining("Journal.get(String)");
		});
	}

	@Test
	void repliesMayBeIgnoredButAreWaitedFor() {
		runner(Imports.class).run((context) -> {
			journal(context).tell("something");
			journal(context).tellLater("more").get(60, TimeUnit.SECONDS);
			assertThat(this.peer.received).containsExactly("something", "more");
			Awaitility.await()
				.untilAsserted(() -> assertThat(context.getBean(TcpClient.class).snapshot().exchanges())
					.containsEntry(Outcome.REPLIED, 2L));
		});
	}

	@Test
	void futuresAreCompletedAndFailWithTheExceptionOfTheClient() {
		runner(Imports.class).run((context) -> {
			Journal journal = journal(context);
			awaitConnected(context);
			assertThat(journal.bookLater(new Purchase("a")).get(60, TimeUnit.SECONDS)).isEqualTo(new Receipt("booked"));
			CompletableFuture<String> lost = journal.textLater("silence");
			CompletableFuture<Throwable> failure = lost.handle((reply, ex) -> ex);
			Awaitility.await().until(() -> this.peer.received.contains("silence"));
			this.peer.connections.forEach((connection) -> connection.close());
			assertThat(failure.get(60, TimeUnit.SECONDS)).isExactlyInstanceOf(ExchangeLostException.class);
			awaitConnected(context);
			assertThatExceptionOfType(ExecutionException.class)
				.isThrownBy(() -> journal.bookLater(new Purchase("nonsense")).get(60, TimeUnit.SECONDS))
				.withCauseInstanceOf(InvalidReplyException.class);
		});
	}

	private static void awaitConnected(AssertableApplicationContext context) {
		Awaitility.await().until(() -> context.getBean(TcpClient.class).snapshot().connected() == 1);
	}

	@Test
	void aFutureThatIsCancelledGivesTheReplyUp() {
		runner(Imports.class).run((context) -> {
			awaitConnected(context);
			CompletableFuture<String> reply = journal(context).textLater("silence");
			reply.cancel(true);
			assertThatExceptionOfType(CancellationException.class).isThrownBy(reply::join);
			Awaitility.await()
				.untilAsserted(() -> assertThat(context.getBean(TcpClient.class).snapshot().exchanges())
					.containsEntry(Outcome.CANCELLED, 1L));
		});
	}

	@Test
	void exceptionsOfTheClientPassUnchanged() {
		runner(Imports.class).withPropertyValues("impatience=1ms").run((context) -> {
			Journal journal = journal(context);
			awaitConnected(context);
			assertThatExceptionOfType(ExchangeTimeoutException.class).isThrownBy(() -> journal.impatient("silence"));
		});
		runner(Imports.class).withPropertyValues("lf.clients.ledger.place-timeout=0s").run((context) -> {
			awaitConnected(context);
			// Only a reply shows that both sides have the connection: the system may
			// establish one side without an error while the other side closes its
			// listening socket.
			assertThat(journal(context).text("x")).isEqualTo("x");
			this.peer.close();
			Awaitility.await().until(() -> context.getBean(TcpClient.class).snapshot().connected() == 0);
			assertThatExceptionOfType(ExchangeRejectedException.class).isThrownBy(() -> journal(context).text("x"));
		});
	}

	@Test
	void argumentsAndRepliesAreValidated() {
		runner(Imports.class).run((context) -> {
			Journal journal = journal(context);
			assertThatExceptionOfType(PayloadValidationException.class)
				.isThrownBy(() -> journal.book(new Purchase(" ")))
				.withMessageContaining("'purchase' is not valid: item (NotBlank)");
			assertThat(this.peer.received).isEmpty();
			assertThatExceptionOfType(InvalidReplyException.class)
				.isThrownBy(() -> journal.book(new Purchase("invalid")))
				.withCauseInstanceOf(PayloadValidationException.class)
				.withMessageContaining("order (NotBlank)");
			assertThatIllegalArgumentException().isThrownBy(() -> journal.text(null))
				.withMessageContaining("Journal.text(Object)");
		});
	}

	@Test
	void defaultMethodsAndThoseOfObjectWork() {
		runner(Imports.class).run((context) -> {
			Journal journal = journal(context);
			assertThat(journal.sum(2, 3)).isEqualTo(5);
			assertThat(journal).isEqualTo(journal).hasSameHashCodeAs(journal).isNotEqualTo("journal");
			assertThat(journal).hasToString(Journal.class.getName() + " of client 'ledger'");
		});
	}

	@Test
	void charsetIsThatOfTheClient() {
		runner(Imports.class).withPropertyValues("lf.clients.ledger.charset=ISO-8859-1").run((context) -> {
			assertThat(journal(context).rawOf("ä").hasRemaining()).isTrue();
			assertThat(this.peer.received).as("read as UTF-8, which it is not").containsExactly("\uFFFD");
		});
	}

	@Test
	void interceptorsSurroundTheCallsInTheirOrder() {
		runner(Imports.class, Intercepted.class).run((context) -> {
			assertThat(journal(context).text("x")).isEqualTo("x");
			assertThat(context.getBean(Intercepted.class).log).containsExactly("outer ledger text x", "inner", "inner",
					"after");
			// The inner interceptor has sent the request twice.
			assertThat(this.peer.received).containsExactly("x", "x");
		});
	}

	@LfClient("ledger")
	interface Journal extends Texts<String>, Copies<Purchase> {

		@Exchange
		@Valid
		Receipt book(@Valid Purchase purchase);

		@Exchange
		CompletableFuture<Receipt> bookLater(Purchase purchase);

		@Exchange
		int twice(int number);

		@Exchange
		ByteBuffer raw(ByteBuffer bytes);

		@Exchange
		ByteBuffer rawOf(String text);

		@Exchange
		String all(List<Purchase> purchases);

		@Exchange
		Receipt get(String text);

		@Exchange
		Optional<Receipt> find(String text);

		@Exchange
		@Nullable Receipt findOrNull(String text);

		@Exchange
		CompletableFuture<Optional<Receipt>> findLater(String text);

		@Exchange
		void tell(String text);

		@Exchange
		CompletableFuture<Void> tellLater(String text);

		@Exchange
		CompletableFuture<String> textLater(String text);

		@Exchange(timeout = "${impatience:1m}")
		String impatient(String text);

		default int sum(int one, int other) {
			return twice(one) + twice(other);
		}

	}

	interface Texts<T> {

		@Exchange
		T text(T text);

	}

	interface Copies<T> {

		@Exchange
		List<T> copies(List<T> all);

		@Exchange
		CompletableFuture<Optional<List<T>>> copiesLater(List<T> all);

		@Exchange
		T[] array(List<T> all);

		/** Its variable is bounded by itself. */
		@Exchange
		<E extends Comparable<E>> List<E> ordered(List<E> all);

	}

	record Purchase(@NotBlank String item) {
	}

	record Receipt(@NotBlank String order) {
	}

	@Configuration(proxyBeanMethods = false)
	@ImportLfClients(Journal.class)
	static class Imports {

	}

	@Configuration(proxyBeanMethods = false)
	@ImportLfClients(basePackages = "org.leaderfollowers.spring.client.app")
	static class ImportsByPackage {

	}

	@Configuration
	static class Intercepted {

		final List<String> log = new ArrayList<>();

		@Bean
		@Order(2)
		ExchangeInterceptor inner() {
			return (call) -> {
				this.log.add("inner");
				call.proceed();
				this.log.add("inner");
				return call.proceed();
			};
		}

		@Bean
		@Order(1)
		ExchangeInterceptor outer() {
			return (call) -> {
				this.log.add("outer %s %s %s".formatted(call.client(), call.method().getName(), call.request()));
				Object reply = call.proceed();
				this.log.add("after");
				return reply;
			};
		}

		@Bean
		ExchangeInterceptor ofOthers() {
			return new ExchangeInterceptor() {

				@Override
				public boolean supports(String client) {
					return !client.equals("ledger");
				}

				@Override
				public Object aroundExchange(ExchangeCall call) {
					throw new IllegalStateException();
				}

			};
		}

	}

}
