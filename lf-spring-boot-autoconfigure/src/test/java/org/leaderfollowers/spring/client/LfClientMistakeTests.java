package org.leaderfollowers.spring.client;

import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Flow;
import java.util.concurrent.FutureTask;
import java.util.stream.Stream;

import jakarta.validation.Valid;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.leaderfollowers.Connection;
import org.leaderfollowers.spring.annotation.Exchange;
import org.leaderfollowers.spring.annotation.LfClient;
import org.leaderfollowers.spring.annotation.LfHandler;
import org.leaderfollowers.spring.annotation.OnMessage;
import org.leaderfollowers.spring.autoconfigure.FailingApplication;
import org.leaderfollowers.spring.autoconfigure.LeaderFollowersAutoConfiguration;

import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.test.context.FilteredClassLoader;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * The failures that users see at start if interfaces and handlers of clients cannot work.
 */
@ExtendWith(OutputCaptureExtension.class)
class LfClientMistakeTests {

	private static void run(Class<?> configuration) {
		FailingApplication.run(configuration, "lf.clients.ledger.addresses=127.0.0.1:1",
				"lf.clients.ledger.correlation.type=in-order");
	}

	@Test
	void everyMethodIsCheckedBeforeAnythingIsStarted(CapturedOutput output) {
		run(Wrong.class);
		assertThat(output)
			.contains("APPLICATION FAILED TO START",
					"The interface " + Mistaken.class.getName()
							+ " is annotated with @LfClient, but cannot be implemented as it stands:")
			.contains("Method forgotten(String) is not annotated with @Exchange.")
			.contains("Method none() has no parameter, and so no request to send.")
			.contains("Method two(String, String) has 2 parameters, but a request is one message.")
			.contains(
					"Method later(CompletableFuture) has the parameter 'CompletableFuture<String> text', which is not one message.")
			.contains(
					"Method connection(Connection) has the parameter 'Connection connection', which is not one message.")
			.contains("Method many(String) returns a Stream, which a reply cannot be converted to.")
			.contains("Method reactive(String) returns a Publisher, which a reply cannot be converted to.")
			.contains("Method raw(String) returns a CompletableFuture, but does not tell of what.")
			.contains("Method nested(String) returns a CompletableFuture, which a reply cannot be converted to.")
			.contains("Method task(String) returns a FutureTask, which is not supported.")
			.contains("Method hasty(String) has the timeout 'soon', which is not a duration of more than 0.")
			.contains("Method never(String) has the timeout '0s', which is not a duration of more than 0.")
			.contains("Method checked(String) wants the request to be validated, but there is no validator.");
		assertThat(output).doesNotContain("Client 'ledger' connects");
	}

	@Test
	void whatNothingCanConvertIsRefused() {
		new ApplicationContextRunner().withConfiguration(AutoConfigurations.of(LeaderFollowersAutoConfiguration.class))
			.withClassLoader(new FilteredClassLoader("tools.jackson"))
			.withUserConfiguration(Unconverted.class)
			.withPropertyValues("lf.clients.ledger.addresses=127.0.0.1:1",
					"lf.clients.ledger.correlation.type=in-order")
			.run((context) -> assertThat(context).getFailure()
				.rootCause()
				.hasMessageContaining(
						"Method odd(Thread) has the request 'Thread request', but nothing can convert it to a message.")
				.hasMessageContaining(
						"Method odd(Thread) returns a java.lang.Runnable, but nothing can convert a reply to it."));
	}

	@Test
	void anUnknownClientIsNamedWithTheInterface(CapturedOutput output) {
		run(Unknown.class);
		assertThat(output).contains("APPLICATION FAILED TO START",
				"The interface %s is annotated with @LfClient(\"ladger\"), but there is no such client. Known clients: ledger."
					.formatted(OfLadger.class.getName()),
				"Did you mean 'ledger'?", "'lf.clients.ladger.addresses'");
	}

	@Test
	void anInterfaceWithoutAnythingToExchangeIsRefused(CapturedOutput output) {
		run(Empty.class);
		assertThat(output).contains("has no method to exchange messages with");
	}

	@Test
	void whatIsImportedMustBeAnInterfaceOfAClient(CapturedOutput output) {
		run(NoInterface.class);
		assertThat(output).contains("java.lang.String, which @ImportLfClients of " + NoInterface.class.getName());
	}

	@Test
	void handlersOfUnknownClientsAreRefused(CapturedOutput output) {
		run(LostHandler.class);
		assertThat(output).contains("is annotated with @LfHandler(client = \"lodger\"), but there is no such client");
	}

	@Test
	void methodsOfTwoHandlersThatNothingTellsApart(CapturedOutput output) {
		run(TwoHandlers.class);
		assertThat(output).contains("Client 'ledger' has 2 handlers, which cannot handle its messages as they stand:")
			.contains("nothing tells which of them a message is for: One.handle(String), Other.handle(String).");
	}

	@Test
	void handlersAreCheckedBeforeTheClientConnects(CapturedOutput output) {
		run(WrongHandler.class);
		assertThat(output).contains("which nothing can supply to a method for @OnMessage")
			.doesNotContain("Client 'ledger' connects");
	}

	@LfClient("ledger")
	interface Odd {

		@Exchange
		Runnable odd(Thread request);

	}

	@Configuration(proxyBeanMethods = false)
	@ImportLfClients(Odd.class)
	static class Unconverted {

	}

	@LfClient("ledger")
	interface Mistaken {

		String forgotten(String text);

		@Exchange
		String none();

		@Exchange
		FutureTask<String> task(String text);

		@Exchange
		String two(String one, String other);

		@Exchange
		String later(CompletableFuture<String> text);

		@Exchange
		String connection(Connection connection);

		@Exchange
		Stream<String> many(String text);

		@Exchange
		Flow.Publisher<String> reactive(String text);

		@Exchange
		@SuppressWarnings("rawtypes")
		CompletableFuture raw(String text);

		@Exchange
		Optional<CompletableFuture<String>> nested(String text);

		@Exchange(timeout = "soon")
		String hasty(String text);

		@Exchange(timeout = "0s")
		String never(String text);

		@Exchange
		String checked(@Valid String text);

	}

	@LfClient("ladger")
	interface OfLadger {

		@Exchange
		String text(String text);

	}

	@LfClient("ledger")
	interface WithoutMethods {

	}

	@Configuration(proxyBeanMethods = false)
	@ImportLfClients(Mistaken.class)
	static class Wrong {

	}

	@Configuration(proxyBeanMethods = false)
	@ImportLfClients(OfLadger.class)
	static class Unknown {

	}

	@Configuration(proxyBeanMethods = false)
	@ImportLfClients(WithoutMethods.class)
	static class Empty {

	}

	@Configuration(proxyBeanMethods = false)
	@ImportLfClients(String.class)
	static class NoInterface {

	}

	@LfHandler(client = "lodger")
	static class LostHandler {

		@OnMessage
		void handle(String text) {
		}

	}

	@Configuration(proxyBeanMethods = false)
	@Import({ One.class, Other.class })
	static class TwoHandlers {

	}

	@LfHandler(client = "ledger")
	static class One {

		@OnMessage
		void handle(String text) {
		}

	}

	@LfHandler(client = "ledger")
	static class Other {

		@OnMessage
		void handle(String text) {
		}

	}

	@LfHandler(client = "ledger")
	static class WrongHandler {

		@OnMessage
		void handle(String text, Throwable failure) {
		}

	}

}
