package org.leaderfollowers.spring.handler;

import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CopyOnWriteArrayList;

import com.fasterxml.jackson.annotation.JsonSubTypes;
import com.fasterxml.jackson.annotation.JsonTypeInfo;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.leaderfollowers.CloseReason;
import org.leaderfollowers.spring.annotation.Discriminator;
import org.leaderfollowers.spring.annotation.LfAdvice;
import org.leaderfollowers.spring.annotation.LfHandler;
import org.leaderfollowers.spring.annotation.OnClose;
import org.leaderfollowers.spring.annotation.OnError;
import org.leaderfollowers.spring.annotation.OnMessage;
import org.leaderfollowers.spring.annotation.OnOpen;

import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;
import org.springframework.core.annotation.Order;
import org.springframework.messaging.handler.annotation.Payload;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Several handler classes for one server, and advices for all of them.
 */
@ExtendWith(OutputCaptureExtension.class)
class SeveralHandlersTests {

	private static final List<String> CALLS = new CopyOnWriteArrayList<>();

	@Test
	void prefixesOfAllClasses() {
		HandlerRunner.talk(HandlerRunner.of(Puts.class, Gets.class), (client, context) -> {
			assertThat(client.ask("GET a")).isEqualTo("get a");
			assertThat(client.ask("PUT b")).isEqualTo("put b");
			assertThat(client.ask("DEL c")).isEqualTo("unknown DEL c");
			assertThat(context.getBean(HandlerBeans.class).mappings("default")).containsExactlyInAnyOrder(
					new HandlerBeans.Mapping("severalHandlersTests.Puts", "Puts.put(String)", "@OnMessage",
							List.of("prefix 'PUT '")),
					new HandlerBeans.Mapping("severalHandlersTests.Gets", "Gets.get(String)", "@OnMessage",
							List.of("prefix 'GET '")),
					new HandlerBeans.Mapping("severalHandlersTests.Gets", "Gets.other(String)", "@OnMessage",
							List.of("default")));
		});
	}

	@Test
	void typesAndPayloadClassesOfAllClasses() {
		HandlerRunner.talk(HandlerRunner.of(Orders.class, Refunds.class), (client, context) -> {
			assertThat(client.ask("{\"kind\":\"order\"}")).isEqualTo("ordered");
			assertThat(client.ask("{\"kind\":\"refund\"}")).isEqualTo("refunded");
		});
		HandlerRunner.talk(HandlerRunner.of(Dogs.class, Cats.class), (client, context) -> {
			assertThat(client.ask("{\"type\":\"dog\"}")).isEqualTo("woof");
			assertThat(client.ask("{\"type\":\"cat\"}")).isEqualTo("meow");
		});
	}

	@Test
	void allClassesAreToldOfAConnectionInTheirOrder() {
		CALLS.clear();
		HandlerRunner.talk(HandlerRunner.of(Second.class, First.class), (client, context) -> {
			assertThat(client.read()).isEqualTo("first");
			assertThat(client.read()).isEqualTo("second");
			client.close();
			Awaitility.await().untilAsserted(() -> assertThat(CALLS).containsExactly("first PEER", "second PEER"));
		});
	}

	@Test
	void allFailuresOfTheEndAreLoggedWithTheFirst(CapturedOutput output) {
		HandlerRunner.talk(HandlerRunner.of(FailingEnd.class, SameFailingEnd.class, OtherFailingEnd.class),
				(client, context) -> client.close());
		assertThat(output).containsSubsequence("IllegalStateException: the first to fail",
				"Suppressed: java.lang.UnsupportedOperationException: the last to fail");
	}

	@Test
	void methodsForTheSameMessagesAreRefused() {
		assertRefused("Method MorePuts.put(String) is for the prefix 'PUT ', and so is Puts.put(String)", Puts.class,
				MorePuts.class);
		assertRefused("nothing tells which of them a message is for: One.one(String), Two.two(String)", One.class,
				Two.class);
		assertRefused("Server 'default' has 2 default methods: Gets.other(String), Others.other(String)", Gets.class,
				Others.class);
		assertRefused(
				"Server 'default' has handlers that choose their methods by different properties of a JSON message: ",
				Orders.class, Typed.class);
	}

	private static void assertRefused(String problem, Class<?>... handlers) {
		HandlerRunner.of(handlers)
			.run((context) -> assertThat(context).getFailure()
				.rootCause()
				.hasMessageStartingWith(
						"Server 'default' has 2 handlers, which cannot handle its messages as they stand:")
				.hasMessageContaining(problem));
	}

	@Test
	void adviceHandlesWhatHandlersDoNot() {
		HandlerRunner.talk(HandlerRunner.of(Failing.class, FailingToo.class, General.class, Special.class),
				(client, context) -> {
					assertThat(client.ask("a own")).isEqualTo("own: own");
					assertThat(client.ask("a state")).isEqualTo("special: a state");
					assertThat(client.ask("b state")).isEqualTo("special: b state");
					assertThat(client.ask("b other")).isEqualTo("general: UnsupportedOperationException");
					assertThat(client.ask("c")).isEqualTo("general: UnmatchedMessageException");
				});
	}

	@Test
	void adviceHandlesTheFailuresOfItsServersOnly() {
		HandlerRunner.talk(
				HandlerRunner.of(Failing.class, FailingToo.class, OfOrders.class)
					.withPropertyValues("lf.servers.orders.port=0")
					.withUserConfiguration(OrdersServer.class),
				(client, context) -> assertThat(client.ask("a state")).isEqualTo("<closed>"));
		HandlerRunner.talk(
				HandlerRunner.of(Failing.class, FailingToo.class, OfOrders.class)
					.withPropertyValues("lf.servers.orders.port=0", "my.server=default")
					.withUserConfiguration(OrdersServer.class),
				(client, context) -> assertThat(client.ask("a state")).isEqualTo("of orders"));
	}

	@Test
	void adviceThatCannotWorkIsRefused() {
		HandlerRunner.of(Gets.class, Empty.class)
			.run((context) -> assertThat(context).getFailure()
				.rootCause()
				.hasMessageContaining("is annotated with @LfAdvice, but")
				.hasMessageContaining("Class Empty must have methods that are annotated with @OnError, and no others"));
		HandlerRunner.of(Gets.class, OfOrders.class)
			.run((context) -> assertThat(context).getFailure()
				.rootCause()
				.hasMessageContaining("There is no server named 'orders'"));
	}

	@LfHandler
	static class Puts {

		@OnMessage(prefix = "PUT ")
		String put(String payload) {
			return "put " + payload;
		}

	}

	@LfHandler
	static class MorePuts extends Puts {

		@Override
		@OnMessage(prefix = "PUT ")
		String put(String payload) {
			return payload;
		}

	}

	@LfHandler
	static class Gets {

		@OnMessage(prefix = "GET ")
		String get(String payload) {
			return "get " + payload;
		}

		@OnMessage(isDefault = true)
		String other(String payload) {
			return "unknown " + payload;
		}

	}

	@LfHandler
	static class Others {

		@OnMessage(isDefault = true)
		String other(String payload) {
			return payload;
		}

	}

	@LfHandler
	static class One {

		@OnMessage
		String one(String payload) {
			return payload;
		}

	}

	@LfHandler
	static class Two {

		@OnMessage
		String two(String payload) {
			return payload;
		}

	}

	@LfHandler
	@Discriminator("kind")
	static class Orders {

		@OnMessage("order")
		String order() {
			return "ordered";
		}

	}

	@LfHandler
	@Discriminator("kind")
	static class Refunds {

		@OnMessage("refund")
		String refund() {
			return "refunded";
		}

	}

	@LfHandler
	static class Typed {

		@OnMessage("typed")
		String typed() {
			return "typed";
		}

	}

	@JsonTypeInfo(use = JsonTypeInfo.Id.NAME, property = "type")
	@JsonSubTypes({ @JsonSubTypes.Type(value = Dog.class, name = "dog"),
			@JsonSubTypes.Type(value = Cat.class, name = "cat") })
	interface Animal {

	}

	record Dog() implements Animal {
	}

	record Cat() implements Animal {
	}

	@LfHandler
	static class Dogs {

		@OnMessage
		String dog(@Payload Dog dog) {
			return "woof";
		}

	}

	@LfHandler
	static class Cats {

		@OnMessage
		String cat(Cat cat) {
			return "meow";
		}

	}

	@LfHandler
	@Order(1)
	static class First {

		@OnOpen
		String opened() {
			return "first";
		}

		@OnMessage
		void message(String payload) {
		}

		@OnClose
		void closed(CloseReason reason) {
			CALLS.add("first " + reason);
			throw new IllegalStateException("The others are told all the same");
		}

	}

	@LfHandler
	@Order(2)
	static class Second {

		@OnOpen
		String opened() {
			return "second";
		}

		@OnClose
		void closed(CloseReason reason) {
			CALLS.add("second " + reason);
		}

	}

	@LfHandler
	@Order(1)
	static class FailingEnd {

		private static final IllegalStateException FAILURE = new IllegalStateException("the first to fail");

		@OnMessage
		void message(String payload) {
		}

		@OnClose
		void closed() {
			throw FAILURE;
		}

	}

	@LfHandler
	@Order(2)
	static class SameFailingEnd {

		@OnClose
		void closed() {
			throw FailingEnd.FAILURE;
		}

	}

	@LfHandler
	@Order(3)
	static class OtherFailingEnd {

		@OnClose
		void closed() {
			throw new UnsupportedOperationException("the last to fail");
		}

	}

	@LfHandler
	static class Failing {

		@OnMessage(prefix = "a", stripPrefix = false)
		void fail(String text) {
			if (text.equals("a own")) {
				throw new IllegalArgumentException("own");
			}
			throw new IllegalStateException(text);
		}

		@OnError
		String own(IllegalArgumentException ex) {
			return "own: " + ex.getMessage();
		}

	}

	@LfHandler
	static class FailingToo {

		@OnMessage(prefix = "b", stripPrefix = false)
		void fail(String text) {
			if (text.equals("b state")) {
				throw new IllegalStateException();
			}
			throw new UnsupportedOperationException();
		}

	}

	@LfAdvice
	@Order(2)
	static class General {

		@OnError
		String failed(Exception ex) {
			return "general: " + ex.getClass().getSimpleName();
		}

	}

	@LfAdvice
	@Order(1)
	static class Special {

		private final Queue<String> messages = new ConcurrentLinkedQueue<>();

		@OnError
		String failed(IllegalStateException ex, String message) {
			this.messages.add(message);
			return "special: " + message;
		}

	}

	@LfAdvice("${my.server:orders}")
	static class OfOrders {

		@OnError
		String failed(IllegalStateException ex) {
			return "of orders";
		}

	}

	@LfHandler("orders")
	static class OrdersServer {

		@OnMessage
		void message(String text) {
		}

	}

	@LfAdvice
	static class Empty {

		@OnOpen
		void opened() {
		}

	}

}
