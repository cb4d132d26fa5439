package org.leaderfollowers.spring.autoconfigure;

import java.util.List;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.leaderfollowers.Framing;
import org.leaderfollowers.MessageHandler;
import org.leaderfollowers.TcpServer;
import org.leaderfollowers.spring.EchoHandler;
import org.leaderfollowers.spring.annotation.LfAdvice;
import org.leaderfollowers.spring.annotation.LfHandler;
import org.leaderfollowers.spring.annotation.OnError;
import org.leaderfollowers.spring.annotation.OnMessage;
import org.leaderfollowers.spring.autoconfigure.LeaderFollowersAutoConfigurationTests.EchoBeanMethod;
import org.leaderfollowers.spring.autoconfigure.LeaderFollowersAutoConfigurationTests.ThreeHandlers;
import org.leaderfollowers.spring.server.LeaderFollowersPools;
import org.leaderfollowers.spring.server.UnknownNameException;
import org.leaderfollowers.spring.server.UnknownNameException.Kind;

import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;
import org.springframework.context.annotation.Scope;
import org.springframework.context.annotation.ScopedProxyMode;

import static org.assertj.core.api.Assertions.assertThat;

/** The failure that a user sees when servers, pools and handlers do not fit together. */
@ExtendWith(OutputCaptureExtension.class)
class HandlerFailureTests {

	private static final String HERE = HandlerFailureTests.class.getName();

	@Test
	void handlerOfAnUnknownServer(CapturedOutput output) {
		FailingApplication.run(ThreeHandlers.class, "lf.server.port=0", "lf.servers.order.port=0",
				"lf.servers.quotes.port=0");
		assertAnalysis(output,
				"""
						The bean 'orders', defined by method 'orders' in %s$ThreeHandlers, is annotated with \
						@LfHandler(server = "orders"), but there is no such server. Known servers: default, order, quotes."""
					.formatted(LeaderFollowersAutoConfigurationTests.class.getName()),
				"""
						Did you mean 'order'? To have a server 'orders', set the property 'lf.servers.orders.port'.""");
	}

	@Test
	void handlerOfAnUnknownServerThatResemblesNone(CapturedOutput output) {
		FailingApplication.run(ThreeHandlers.class);
		assertThat(output).contains("Known servers: default.")
			.doesNotContain("Did you mean")
			.contains("To have a server 'orders', set the property 'lf.servers.orders.port'.");
	}

	@Test
	void messageHandlerAmongSeveralHandlers(CapturedOutput output) {
		FailingApplication.run(TwoHandlers.class);
		assertAnalysis(output,
				"""
						Server 'default' has 2 handlers, which cannot handle its messages as they stand:

							- Class EchoHandler implements MessageHandler, which takes all messages of the connections, but is one of 2 handlers.
							- Class Another implements MessageHandler, which takes all messages of the connections, but is one of 2 handlers.""",
				"""
						Use @OnMessage instead, or give it a server of its own with @LfHandler(server = "<name>") \
						and the property 'lf.servers.<name>.port'.""");
	}

	@Test
	void serverWithoutAHandler(CapturedOutput output) {
		FailingApplication.run(NoHandler.class, "lf.servers.orders.port=0", "lf.servers.orders.framing.type=raw");
		assertAnalysis(output, """
				Server 'orders' has no handler for its messages.

				It is configured by the following properties:

					- lf.servers.orders.framing.type
					- lf.servers.orders.port""", """
				Add a handler, for example:

				    @LfHandler(server = "orders")
				    class MyHandler {

				        @OnMessage
				        String handle(String message) {
				            return message;
				        }

				    }

				Or, if there is to be no such server, remove the properties that start with 'lf.servers.orders.'.""");
	}

	@Test
	void serverWhoseHandlerIsNotAnnotated(CapturedOutput output) {
		FailingApplication.run(NotAnnotated.class, "lf.server.port=0");
		assertAnalysis(output, """
				Server 'default' has no handler for its messages.

				It is configured by the following properties:

					- lf.server.port

				The following beans could handle messages, but are not annotated with @LfHandler:

					- 'forgotten', defined by method 'forgotten' in %s$NotAnnotated""".formatted(HERE), """
				Annotate one of these beans with @LfHandler, or add a handler, for example:

				    @LfHandler
				    class MyHandler {
				""");
	}

	@Test
	void beansThatCouldBeHandlersAreNamedOnce(CapturedOutput output) {
		FailingApplication.run(AnnotatedAndScoped.class, "lf.server.port=0", "lf.servers.orders.port=0");
		assertAnalysis(output, """
				Server 'orders' has no handler for its messages.

				It is configured by the following properties:

					- lf.servers.orders.port

				The following beans could handle messages, but are not annotated with @LfHandler:

					- 'scoped', defined by method 'scoped' in %s$AnnotatedAndScoped
					- 'methods', defined by method 'methods' in %s$AnnotatedAndScoped

				Action:""".formatted(HERE, HERE), "Annotate one of these beans with @LfHandler(server = \"orders\")");
	}

	@Test
	void handlerThatIsNone(CapturedOutput output) {
		FailingApplication.run(NoMessageHandler.class, "lf.server.port=0");
		assertAnalysis(output, """
				The bean 'text', defined by method 'text' in %s$NoMessageHandler, is annotated with @LfHandler, \
				but its type java.lang.String has no method that is annotated with @OnMessage, \
				and does not implement org.leaderfollowers.MessageHandler either.""".formatted(HERE), """
				Annotate a method of java.lang.String with @OnMessage, let it implement MessageHandler, \
				or remove the annotation @LfHandler.""");
	}

	@Test
	void handlerThatIsNoneBesidesOneThatIs(CapturedOutput output) {
		FailingApplication.run(NoneAndOne.class, "lf.server.port=0");
		assertThat(output).contains("its type java.lang.String has no method").doesNotContain("must have one handler");
	}

	@Test
	void handlerOfAClientAndASource(CapturedOutput output) {
		FailingApplication.run(OfClientAndSource.class, "lf.server.port=0");
		assertAnalysis(output,
				"""
						The bean 'echo', defined by method 'echo' in %s$OfClientAndSource, is annotated with \
						@LfHandler(source = "words", client = "ledger"), but a handler belongs to one server, one event source or one client."""
					.formatted(HERE),
				"Keep one of these attributes, and give each of the others a bean of its own.");
	}

	@Test
	void handlerOfAServerAndASource(CapturedOutput output) {
		FailingApplication.run(OfServerAndSource.class, "lf.server.port=0");
		assertThat(output).contains(
				"is annotated with @LfHandler(server = \"orders\", source = \"words\"), but a handler belongs to one");
	}

	@Test
	void unknownPool(CapturedOutput output) {
		FailingApplication.run(EchoBeanMethod.class, "lf.server.port=0", "lf.server.pool=solw",
				"lf.pools.slow.threads.max=10");
		assertAnalysis(output, """
				The property 'lf.server.pool' names the pool 'solw', but there is no such pool. \
				Known pools: default, slow.""", """
				Did you mean 'slow'? To have a pool 'solw', set a property such as 'lf.pools.solw.threads.max', \
				or define a LeaderFollowersPool bean that has this name.""");
	}

	@Test
	void unknownPoolThatCodeAsksFor(CapturedOutput output) {
		FailingApplication.run(ServerOnUnknownPool.class);
		assertAnalysis(output, """
				The application asks for the pool 'Default', but there is no such pool. Known pools: default.""", """
				Did you mean 'default'? To have a pool 'Default', set a property such as \
				'lf.pools.Default.threads.max', or define a LeaderFollowersPool bean that has this name.""");
	}

	@Test
	void adviceForAnUnknownServer(CapturedOutput output) {
		FailingApplication.run(LostAdvice.class, "lf.server.port=0");
		assertThat(output).contains("The advice '", "$LostAdvice, is annotated with @LfAdvice(\"orders\"), "
				+ "but there is no such server. Known servers: default.");
	}

	@Test
	void theNearestOfTheKnownNamesIsSuggested() {
		UnknownNameException failure = unknown("quotes", "notes", "quote", "default");
		assertThat(failure).hasMessage("There is no server named 'quotes'. Known servers: notes, quote, default");
		assertThat(failure.getSimilarName()).isEqualTo("quote");
		assertThat(unknown("ledgers", "LEDGER").getSimilarName()).isEqualTo("LEDGER");
		assertThat(unknown("LEDGERS", "ledger").getSimilarName()).isEqualTo("ledger");
		assertThat(unknown("db", "web").getSimilarName()).as("nearly another word").isNull();
	}

	private static UnknownNameException unknown(String name, String... known) {
		return new UnknownNameException(Kind.SERVER, name, List.of(known), null);
	}

	private static void assertAnalysis(CapturedOutput output, String description, String action) {
		assertThat(output.toString().replace(System.lineSeparator(), "\n")).contains("APPLICATION FAILED TO START")
			.contains("Description:\n\n" + description)
			.contains("Action:\n\n" + action);
	}

	@LfAdvice("orders")
	@Import(EchoBeanMethod.class)
	static class LostAdvice {

		@OnError
		void failed(IllegalStateException ex) {
		}

	}

	@Configuration(proxyBeanMethods = false)
	@Import({ EchoBeanMethod.class, Another.class })
	static class TwoHandlers {

	}

	@LfHandler
	static class Another extends EchoHandler {

	}

	@Configuration(proxyBeanMethods = false)
	static class NoHandler {

	}

	@Configuration(proxyBeanMethods = false)
	static class NotAnnotated {

		@Bean
		MessageHandler forgotten() {
			return new EchoHandler();
		}

	}

	@Configuration(proxyBeanMethods = false)
	@Import(EchoBeanMethod.class)
	static class AnnotatedAndScoped {

		@Bean
		@Scope(scopeName = "prototype", proxyMode = ScopedProxyMode.INTERFACES)
		MessageHandler scoped() {
			return new EchoHandler();
		}

		@Bean
		Unmarked methods() {
			return new Unmarked();
		}

	}

	static class Unmarked {

		@OnMessage
		void handle(String message) {
		}

	}

	@Configuration(proxyBeanMethods = false)
	@Import({ EchoBeanMethod.class, NoMessageHandler.class })
	static class NoneAndOne {

	}

	@Configuration(proxyBeanMethods = false)
	static class NoMessageHandler {

		@Bean
		@LfHandler
		Object text() {
			return "text";
		}

	}

	@Configuration(proxyBeanMethods = false)
	static class OfClientAndSource {

		@Bean
		@LfHandler(client = "ledger", source = "words")
		EchoHandler echo() {
			return new EchoHandler();
		}

	}

	@Configuration(proxyBeanMethods = false)
	static class OfServerAndSource {

		@Bean
		@LfHandler(value = "orders", source = "words")
		EchoHandler echo() {
			return new EchoHandler();
		}

	}

	@Configuration(proxyBeanMethods = false)
	static class ServerOnUnknownPool {

		@Bean
		TcpServer server(LeaderFollowersPools pools) {
			return TcpServer.builder(pools.get("Default")).framing(Framing.line()).handler(new EchoHandler()).build();
		}

	}

}
