package org.leaderfollowers.spring.handler;

import java.nio.ByteBuffer;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Flow;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;

import jakarta.validation.Valid;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.leaderfollowers.CloseReason;
import org.leaderfollowers.Connection;
import org.leaderfollowers.EventType;
import org.leaderfollowers.MessageHandler;
import org.leaderfollowers.spring.handler.elsewhere.PackagePrivateHandler;
import org.leaderfollowers.spring.annotation.Discriminator;
import org.leaderfollowers.spring.annotation.LfHandler;
import org.leaderfollowers.spring.annotation.OnClose;
import org.leaderfollowers.spring.annotation.OnDrain;
import org.leaderfollowers.spring.annotation.OnError;
import org.leaderfollowers.spring.annotation.OnIdle;
import org.leaderfollowers.spring.annotation.OnLogin;
import org.leaderfollowers.spring.annotation.OnMessage;
import org.leaderfollowers.spring.annotation.OnOpen;
import org.leaderfollowers.spring.handler.HandlerBeanTests.Proxies;

import org.springframework.beans.factory.support.DefaultListableBeanFactory;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.diagnostics.FailureAnalysis;
import org.springframework.boot.test.context.FilteredClassLoader;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.messaging.handler.annotation.Header;
import org.springframework.messaging.handler.annotation.Payload;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * What a user sees when the methods of a handler cannot handle messages.
 */
class HandlerMistakeTests {

	private static final String JACKSON = "Add the dependency 'org.springframework.boot:spring-boot-starter-jackson'";

	private final ApplicationContextRunner runner = HandlerRunner.of();

	@Test
	void allMistakesAreToldAtOnce() {
		FailureAnalysis analysis = analyze(this.runner.withUserConfiguration(Careless.class));
		assertThat(analysis.getDescription()).isEqualTo(
				"""
						The bean 'handlerMistakeTests.Careless', made from org.leaderfollowers.spring.handler.HandlerMistakeTests$Careless, \
						is annotated with @LfHandler, but org.leaderfollowers.spring.handler.HandlerMistakeTests$Careless \
						cannot handle messages as it stands:

							- Method failed() is annotated with @OnError, but does not tell for which exceptions.
							- Method opened() is private.
							- Method closed() returns a value, but nothing can be sent when the connection is closed.
							- Method message(CloseReason) has the parameter 'CloseReason reason', which nothing can supply to a method for @OnMessage."""
					.replace("\n", System.lineSeparator()));
		assertThat(analysis.getAction()).startsWith("Correct all of this in %s:".formatted(Careless.class.getName()))
			.contains(
					"- Method failed(): Add a parameter of the type of the exception, or write @OnError(<type>.class).")
			.contains("- Method opened(): Let it be package-private, protected or public.")
			.contains("- Method closed(): Let it return void.")
			.contains(
					"- Method message(CloseReason): Remove the parameter. There can be: the Connection, its SSLSession, its Principal, "
							+ "parameters annotated with @Header for attributes and addresses of the connection, and the payload.");
	}

	@Test
	void aBeanWithoutADefinitionIsDescribed() {
		DefaultListableBeanFactory beanFactory = new DefaultListableBeanFactory();
		beanFactory.registerSingleton("quotes", new Careless());
		assertThat(InvalidHandlerException.describe(beanFactory, "quotes")).isEqualTo("'quotes', registered by code");
	}

	@Test
	void noMessageMethod() {
		assertMistake(NoMessages.class, "Class NoMessages has no method that is annotated with @OnMessage.",
				"Annotate the method that handles messages with @OnMessage.");
	}

	@Test
	void messageHandlerWithMessageMethod() {
		assertMistake(Both.class,
				"Class Both implements MessageHandler, whose onMessage handles the messages, but has the method text(String) annotated with @OnMessage.",
				"Remove @OnMessage, or no longer implement MessageHandler.");
	}

	@Test
	void messageHandlerWithMethodsTwice() {
		FailureAnalysis analysis = analyze(this.runner.withUserConfiguration(Twice.class));
		assertThat(analysis.getDescription()).contains(
				"Method onOpen(Connection) implements MessageHandler, but opened() is annotated with @OnOpen.",
				"Method onIdle(Connection, EventType) implements MessageHandler, but idle() is annotated with @OnIdle.",
				"Method onDrain(Connection) implements MessageHandler, but drained() is annotated with @OnDrain.",
				"Method onClose(Connection, CloseReason) implements MessageHandler, but closed() is annotated with @OnClose.",
				"Method onError(Connection, Throwable) implements MessageHandler, but failed(Exception) is annotated with @OnError.",
				"Method onError(Connection, ByteBuffer, Throwable) implements MessageHandler, but failed(Exception) is annotated with @OnError.");
		assertThat(analysis.getAction()).contains("Keep one of the two.");
	}

	@Test
	void methodsThatNothingTellsApart() {
		assertMistake(Ambiguous.class,
				"Class Ambiguous has several methods annotated with @OnMessage, and nothing tells which of them a message is for: one(String), two(String).",
				"Annotate each with @OnMessage(\"<type>\") to choose by the property 'type' of a JSON message, or with @OnMessage(prefix = \"<prefix>\")");
	}

	@Test
	void twoDefaultMethods() {
		assertMistake(TwoDefaults.class, "Class TwoDefaults has 2 default methods: one(String), two(String).",
				"Let isDefault be true for one method at most.");
	}

	@Test
	void twoOpenMethods() {
		assertMistake(TwoOpen.class, "Class TwoOpen has 2 methods that are annotated with @OnOpen: one(), two().",
				"Keep one of them.");
	}

	@Test
	void sameTypeTwice() {
		assertMistake(SameType.class, "Method two(String) is for the type 'a', and so is one(String).",
				"Let each type be that of one method.");
	}

	@Test
	void methodWithoutTypeAmongOthers() {
		assertMistake(OneWithout.class,
				"Method two(String) does not tell which messages it is for, while other methods do.",
				"Write @OnMessage(\"<type>\"), or @OnMessage(isDefault = true) for all messages that no other method is for.");
	}

	@Test
	void methodWithoutPrefixAmongOthers() {
		assertMistake(OneWithoutPrefix.class,
				"Method two(String) does not tell which messages it is for, while other methods do.",
				"Write @OnMessage(prefix = \"<prefix>\"), or @OnMessage(isDefault = true) for all messages that no other method is for.");
	}

	@Test
	void typesAndPrefixes() {
		assertMistake(TypesAndPrefixes.class,
				"Class TypesAndPrefixes has methods annotated with @OnMessage for types and others for prefixes.",
				"Choose all of them by type, or all by prefix.");
	}

	@Test
	void typeAndPrefixOfOneMethod() {
		assertMistake(TypeAndPrefix.class,
				"Method one(String) is annotated with @OnMessage for a type and for a prefix.",
				"Remove the type or the prefix.");
	}

	@Test
	void discriminatorWithoutTypes() {
		assertMistake(NoTypes.class,
				"Class NoTypes is annotated with @Discriminator, but no method is annotated with @OnMessage(\"<type>\").",
				"Write the types into the @OnMessage annotations, or remove @Discriminator.");
	}

	@Test
	void emptyPrefixAndDefaultWithPrefix() {
		FailureAnalysis analysis = analyze(this.runner.withUserConfiguration(OddPrefixes.class));
		assertThat(analysis.getDescription()).contains("Method one(String) has an empty prefix.")
			.contains("Method two(String) is the default method, but is annotated with a type or prefix as well.");
	}

	@Test
	void severalPayloads() {
		assertMistake(TwoPayloads.class,
				"Method two(String, String) has several parameters that could be the payload: 'String user', 'String text'.",
				"Annotate one of them with @Payload, and the others with @Header, or remove them.");
	}

	@Test
	void payloadWhereThereIsNoMessage() {
		assertMistake(OpenPayload.class,
				"Method opened(String) has the parameter 'String text', which nothing can supply to a method for @OnOpen.",
				"Remove the parameter. There can be: the Connection, its SSLSession, its Principal, parameters annotated with @Header for attributes and addresses of the connection, and nothing else: no message has arrived yet.");
	}

	@Test
	void mapOfHeadersWithoutOrWithTheWrongType() {
		assertMistake(NoHeaders.class, "has the parameter 'Map<String, Object> map', which nothing can supply",
				"Annotate it with @Headers for all headers and attributes of the connection");
		assertMistake(OddHeaders.class,
				"Method opened(List) has the parameter 'List<String> list', which nothing can supply to a method for @OnOpen.",
				"Use the type Map<String, Object> or MessageHeaders.");
	}

	@Test
	void addressWithoutHeader() {
		assertMistake(Address.class, "has the parameter 'InetSocketAddress address', which nothing can supply",
				"Annotate it with @Header(LfHeaders.REMOTE_ADDRESS) or @Header(LfHeaders.LOCAL_ADDRESS).");
	}

	@Test
	void headers() {
		FailureAnalysis analysis = analyze(this.runner.withUserConfiguration(Headers.class));
		assertThat(analysis.getDescription()).contains(
				"Method unknown(String) has the parameter 'String a', whose header cannot be supplied: The header 'lf_what' does not exist. There are: lf_connection, lf_connectionId, lf_connectionName, lf_server, lf_remoteAddress, lf_localAddress, lf_transportAddress, lf_principal.")
			.contains(
					"Method primitive(int) has the parameter 'int count', whose header cannot be supplied: Optional int parameter 'count' is present but cannot be translated into a null value due to being declared as a primitive type.")
			.contains(
					"Method wrongDefault(int) has the parameter 'int count', whose header cannot be supplied: Failed to convert from type [java.lang.String] to type [@org.springframework.messaging.handler.annotation.Header int] for value [many].");
		assertThat(analysis.getAction())
			.contains("Correct the name or the default value of the header, or the type of the parameter.");
	}

	@Test
	void errorMethods() {
		FailureAnalysis analysis = analyze(this.runner.withUserConfiguration(Errors.class));
		assertThat(analysis.getDescription()).contains(
				"Method b(IllegalStateException) is annotated with @OnError for IllegalStateException, and so is a(IllegalStateException).")
			.contains(
					"Method c(ArithmeticException) is annotated with @OnError for NumberFormatException, which its parameter 'ArithmeticException ex' cannot take.");
	}

	@Test
	void nothingConvertsThePayloadOrTheReply() {
		ApplicationContextRunner withoutJackson = this.runner
			.withClassLoader(new FilteredClassLoader("tools.jackson", "com.fasterxml.jackson"));
		FailureAnalysis analysis = analyze(withoutJackson.withUserConfiguration(Objects.class));
		assertThat(analysis.getDescription()).contains(
				"Method place(Item) has the payload 'HandlerMistakeTests$Item item', but nothing can convert a message to it.")
			.contains(
					"Method place(Item) returns a java.util.List<org.leaderfollowers.spring.handler.HandlerMistakeTests$Item>, but nothing can convert it to a message.");
		assertThat(analysis.getAction()).contains(JACKSON);
		analysis = analyze(withoutJackson.withUserConfiguration(SameType.class));
		assertThat(analysis.getDescription()).contains(
				"Class SameType has methods that are chosen by the property 'type' of a JSON message, but there is no JsonMapper.");
	}

	@Test
	void validationWithoutValidator() {
		ApplicationContextRunner withoutValidation = new ApplicationContextRunner()
			.withConfiguration(AutoConfigurations
				.of(org.leaderfollowers.spring.autoconfigure.LeaderFollowersAutoConfiguration.class))
			.withPropertyValues("lf.server.port=0");
		FailureAnalysis analysis = analyze(withoutValidation.withUserConfiguration(Validating.class));
		assertThat(analysis.getDescription()).contains(
				"Method place(Item) wants the payload 'HandlerMistakeTests$Item item' to be validated, but there is no validator.");
		assertThat(analysis.getAction())
			.contains("Add the dependency 'org.springframework.boot:spring-boot-starter-validation'");
	}

	@Test
	void methodsThatCannotBeCalled() {
		assertMistake(Static.class, "Method text(String) is static.", "Make it an instance method.");
		assertMistake(Private.class, "Method text(String) is private.",
				"Let it be package-private, protected or public.");
	}

	@Test
	void repliesThatWouldComeTooLate() {
		assertMistake(LateError.class,
				"Method failed(Exception) is annotated with @OnError(close = true), but the connection would be closed before its reply.",
				"Return the reply itself, or let close be false.");
		assertMistake(SuspendingCloseHandler.class,
				"is a suspending function, but nothing waits for it when the connection is closed.",
				"Remove the modifier 'suspend'.");
	}

	@Test
	void loginWithoutConnections() {
		FailureAnalysis analysis = analyze(
				this.runner.withUserConfiguration(Logins.class).withPropertyValues("lf.server.transport=udp"));
		assertThat(analysis.getDescription()).contains(
				"Method login(String) logs clients in, but only clients of a server with connections can log in.");
	}

	@LfHandler
	static class LateError {

		@OnMessage
		void message(String text) {
		}

		@OnError(close = true)
		CompletableFuture<String> failed(Exception ex) {
			return new CompletableFuture<>();
		}

	}

	@LfHandler
	static class Logins {

		@OnLogin
		void login(String text) {
		}

		@OnMessage
		void message(String text) {
		}

	}

	@Test
	void methodsThatAProxyDoesNotHave() {
		FailureAnalysis analysis = analyze(this.runner.withUserConfiguration(OnlyClass.class)
			.withBean(Proxies.class, () -> new Proxies(false, new AtomicInteger())));
		assertThat(analysis.getDescription()).contains(
				"Method text(String) is not declared by an interface, but the bean is behind a JDK proxy, which has the methods of interfaces only.");
		assertThat(analysis.getAction()).isEqualTo(
				"Declare the method in an interface of the bean, or let the proxy extend the class (proxyTargetClass=true).");
		for (Class<?> handler : List.of(Final.class, Elsewhere.class)) {
			analysis = analyze(this.runner.withUserConfiguration(handler)
				.withBean(Proxies.class, () -> new Proxies(true, new AtomicInteger())));
			assertThat(analysis.getDescription()).contains("Method text(String) is final or not visible to the proxy");
		}
	}

	@LfHandler
	static class Elsewhere extends PackagePrivateHandler {

	}

	private void assertMistake(Class<?> handler, String description, String action) {
		FailureAnalysis analysis = analyze(this.runner.withUserConfiguration(handler));
		assertThat(analysis.getDescription()).contains(handler.getName()).contains(description);
		assertThat(analysis.getAction()).startsWith(action);
	}

	private static FailureAnalysis analyze(ApplicationContextRunner runner) {
		FailureAnalysis[] analyses = new FailureAnalysis[1];
		runner.run((context) -> {
			assertThat(context).hasFailed();
			analyses[0] = new InvalidHandlerException.Analyzer().analyze(context.getStartupFailure());
		});
		assertThat(analyses[0]).isNotNull();
		return analyses[0];
	}

	@LfHandler
	static class Careless {

		@OnOpen
		private void opened() {
		}

		@OnMessage
		void message(CloseReason reason) {
		}

		@OnClose
		String closed() {
			return "closed";
		}

		@OnError
		void failed() {
		}

	}

	@LfHandler
	static class NoMessages {

		@OnOpen
		void opened() {
		}

	}

	@LfHandler
	static class Both implements MessageHandler {

		@Override
		public void onMessage(Connection connection, ByteBuffer message) {
		}

		@OnMessage
		void text(String text) {
		}

	}

	@LfHandler
	static class Twice implements MessageHandler {

		@Override
		public void onOpen(Connection connection) {
		}

		@Override
		public void onMessage(Connection connection, ByteBuffer message) {
		}

		@Override
		public void onIdle(Connection connection, EventType type) {
		}

		@Override
		public void onDrain(Connection connection) {
		}

		@Override
		public void onClose(Connection connection, CloseReason reason) {
		}

		@Override
		public void onError(Connection connection, Throwable failure) {
		}

		@Override
		public void onError(Connection connection, ByteBuffer message, Throwable failure) {
		}

		@OnOpen
		void opened() {
		}

		@OnIdle
		void idle() {
		}

		@OnDrain
		void drained() {
		}

		@OnClose
		void closed() {
		}

		@OnError
		void failed(Exception ex) {
		}

	}

	@LfHandler
	static class Ambiguous {

		@OnMessage
		void one(String text) {
		}

		@OnMessage
		void two(String text) {
		}

	}

	@LfHandler
	static class TwoDefaults {

		@OnMessage(isDefault = true)
		void one(String text) {
		}

		@OnMessage(isDefault = true)
		void two(String text) {
		}

		@OnMessage("three")
		void three(String text) {
		}

	}

	@LfHandler
	static class TwoOpen {

		@OnOpen
		void one() {
		}

		@OnOpen
		void two() {
		}

		@OnMessage
		void message() {
		}

	}

	@LfHandler
	static class SameType {

		@OnMessage("a")
		void one(String text) {
		}

		@OnMessage({ "b", "a" })
		void two(String text) {
		}

	}

	@LfHandler
	static class OneWithout {

		@OnMessage("a")
		void one(String text) {
		}

		@OnMessage
		void two(String text) {
		}

	}

	@LfHandler
	static class OneWithoutPrefix {

		@OnMessage(prefix = "a")
		void one(String text) {
		}

		@OnMessage
		void two(String text) {
		}

	}

	@LfHandler
	static class TypesAndPrefixes {

		@OnMessage("a")
		void one(String text) {
		}

		@OnMessage(prefix = "b")
		void two(String text) {
		}

	}

	@LfHandler
	static class TypeAndPrefix {

		@OnMessage(value = "a", prefix = "b")
		void one(String text) {
		}

	}

	@LfHandler
	@Discriminator("kind")
	static class NoTypes {

		@OnMessage
		void one(String text) {
		}

	}

	@LfHandler
	static class OddPrefixes {

		@OnMessage(prefix = "")
		void one(String text) {
		}

		@OnMessage(prefix = "b", isDefault = true)
		void two(String text) {
		}

	}

	@LfHandler
	static class TwoPayloads {

		@OnMessage
		void two(String user, String text) {
		}

	}

	@LfHandler
	static class OpenPayload {

		@OnOpen
		void opened(String text) {
		}

		@OnMessage
		void message(@Payload String text, Connection connection) {
		}

	}

	@LfHandler
	static class Address {

		@OnMessage
		void message(String text, java.net.InetSocketAddress address) {
		}

	}

	@LfHandler
	static class Headers {

		@OnMessage("a")
		void unknown(@Header("lf_what") String a) {
		}

		@OnMessage("b")
		void primitive(@Header(required = false) int count) {
		}

		@OnMessage("c")
		void wrongDefault(@Header(defaultValue = "many") int count) {
		}

	}

	@LfHandler
	static class NoHeaders {

		@OnMessage
		void text(String text) {
		}

		@OnOpen
		void opened(Map<String, Object> map) {
		}

	}

	@LfHandler
	static class OddHeaders {

		@OnMessage
		void text(String text) {
		}

		@OnOpen
		void opened(@org.springframework.messaging.handler.annotation.Headers List<String> list) {
		}

	}

	@LfHandler
	static class Errors {

		@OnMessage
		void message() {
		}

		@OnError
		void a(IllegalStateException ex) {
		}

		@OnError
		void b(IllegalStateException ex) {
		}

		@OnError({ ArithmeticException.class, NumberFormatException.class })
		void c(ArithmeticException ex) {
		}

	}

	record Item(@Nullable String name) {
	}

	@LfHandler
	static class Objects {

		@OnMessage
		List<Item> place(Item item) {
			return List.of(item);
		}

	}

	@LfHandler
	static class Validating {

		@OnMessage
		void place(@Valid Item item) {
		}

	}

	@LfHandler
	static class Static {

		@OnMessage
		static void text(String text) {
		}

	}

	@LfHandler
	static class Private {

		@OnMessage
		private void text(String text) {
		}

	}

	interface Named {

	}

	@LfHandler
	static class OnlyClass implements Named {

		@OnMessage
		public void text(String text) {
		}

	}

	@LfHandler
	static class Final {

		@OnMessage
		public final void text(String text) {
		}

	}

}
