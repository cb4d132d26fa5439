package org.leaderfollowers.spring.handler;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.security.Principal;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;

import com.fasterxml.jackson.annotation.JsonSubTypes;
import com.fasterxml.jackson.annotation.JsonTypeInfo;
import jakarta.validation.Valid;
import jakarta.validation.constraints.Min;
import org.junit.jupiter.api.Test;
import org.leaderfollowers.Connection;
import org.leaderfollowers.spring.annotation.Discriminator;
import org.leaderfollowers.spring.annotation.LfHandler;
import org.leaderfollowers.spring.annotation.OnError;
import org.leaderfollowers.spring.annotation.OnMessage;
import org.leaderfollowers.spring.internal.LoginFailures;

import static org.assertj.core.api.Assertions.assertThat;
import static org.mockito.BDDMockito.given;
import static org.mockito.Mockito.mock;

/**
 * Which of several methods is called.
 */
class DispatchTests {

	@Test
	void longestPrefixWins() {
		HandlerRunner.talk(HandlerRunner.of(ByPrefix.class), (client, context) -> {
			assertThat(client.ask("PUT a b")).isEqualTo("put:a b");
			assertThat(client.ask("PUTX a b")).isEqualTo("putx: a b");
			assertThat(client.ask("0200abc")).isEqualTo("iso:0200abc");
			assertThat(client.ask("0210abc")).isEqualTo("iso:0210abc");
			assertThat(client.ask("QUIT")).isEqualTo("bye");
			assertThat(client.ask("secret")).isEqualTo(
					"UnmatchedMessageException: A message begins with none of the prefixes of the @OnMessage methods: "
							+ "0200, 0210, PUT , PUTX, QUIT");
			assertThat(client.ask("PU")).startsWith("UnmatchedMessageException");
			assertThat(client.ask("PUT")).startsWith("UnmatchedMessageException");
		});
	}

	@Test
	void longerPrefixWinsWhicheverMethodHasIt() {
		HandlerRunner.talk(HandlerRunner.of(NestedPrefixes.class), (client, context) -> {
			assertThat(client.ask("A1")).isEqualTo("one:1");
			assertThat(client.ask("AA2")).isEqualTo("two:2");
			assertThat(client.ask("B2")).isEqualTo("two:2");
			assertThat(client.ask("BB1")).isEqualTo("one:1");
		});
	}

	@Test
	void resetReturnsToThePayloadBehindThePrefix() {
		HandlerRunner.talk(HandlerRunner.of(Twice.class),
				(client, context) -> assertThat(client.ask("TWICE abc")).isEqualTo("abcabc"));
	}

	@Test
	void messageThatHasWaitedForTheLoginIsNoLogin() throws Throwable {
		Connection connection = mock();
		ConcurrentMap<String, Object> attributes = new ConcurrentHashMap<>();
		given(connection.attributes()).willReturn(attributes);
		LoginFailures failures = mock();
		attributes.put(LoginFailures.ATTRIBUTE, failures);
		given(failures.lock()).will((call) -> {
			attributes.put(LfHeaders.PRINCIPAL, (Principal) () -> "ada");
			return attributes;
		});
		MessageDispatch dispatch = new MessageDispatch.ByLogin((client, message) -> "login",
				(client, message) -> "message");
		assertThat(dispatch.dispatch(connection, ByteBuffer.allocate(0))).isEqualTo("message");
	}

	@Test
	void unmatchedTypeIsKnown() {
		HandlerRunner.talk(HandlerRunner.of(Untyped.class), (client, context) -> {
			assertThat(client.ask("{\"type\":\"other\"}")).isEqualTo("no other");
			assertThat(client.ask("{}")).isEqualTo("no null");
		});
	}

	@Test
	void defaultMethodGetsTheWholeMessage() {
		HandlerRunner.talk(HandlerRunner.of(PrefixOrDefault.class), (client, context) -> {
			assertThat(client.ask("PUT a")).isEqualTo("put:a");
			assertThat(client.ask("GET a")).isEqualTo("default:GET a");
		});
	}

	@Test
	void typeOfAJsonMessage() {
		HandlerRunner.talk(HandlerRunner.of(ByType.class), (client, context) -> {
			assertThat(client.ask("{\"type\":\"place\",\"item\":\"tea\"}")).isEqualTo("place tea");
			assertThat(client.ask("{\"item\":\"tea\",\"nested\":{\"type\":\"x\"},\"type\":\"order\"}"))
				.isEqualTo("place tea");
			assertThat(client.ask("{\"type\":7}")).isEqualTo("seven {\"type\":7}");
			for (String unmatched : new String[] { "{\"type\":\"secret\"}", "{}", "{\"type\":null}", "{\"type\":{}}",
					"[]", "1" }) {
				assertThat(client.ask(unmatched)).as(unmatched)
					.isEqualTo("UnmatchedMessageException: The property 'type' of a message is none of the types "
							+ "of the @OnMessage methods: place, order, 7");
			}
			assertThat(client.ask("secret")).startsWith("PayloadConversionException").doesNotContain("secret");
		});
	}

	@Test
	void otherPropertyAndDefaultMethod() {
		HandlerRunner.talk(HandlerRunner.of(ByKind.class), (client, context) -> {
			assertThat(client.ask("{\"kind\":\"place\",\"item\":\"tea\"}")).isEqualTo("place tea");
			assertThat(client.ask("{\"kind\":\"other\"}")).isEqualTo("default {\"kind\":\"other\"}");
		});
	}

	/** Which one is called must not depend on the order of a map. */
	@Test
	void payloadForWhichTwoMethodsAreEquallyNearMatchesNone() {
		HandlerRunner.talk(HandlerRunner.of(ByInterface.class),
				(client, context) -> assertThat(client.ask("{\"@type\":\"disc\"}"))
					.isEqualTo("IllegalStateException: The payload Disc has the classes Flat, Round of several "
							+ "@OnMessage methods, and none of these is a subclass of the others. "
							+ "Add a method whose payload is Disc."));
	}

	@Test
	void classOfAnOptionalPayload() {
		HandlerRunner.talk(HandlerRunner.of(ByOptional.class), (client, context) -> {
			assertThat(client.ask("{\"@type\":\"circle\",\"radius\":2}")).isEqualTo("circle 2");
			assertThat(client.ask("{\"@type\":\"square\",\"side\":3}")).isEqualTo("square 3");
		});
	}

	@Test
	void classOfThePayload() {
		HandlerRunner.talk(HandlerRunner.of(ByClass.class), (client, context) -> {
			assertThat(client.ask("{\"@type\":\"circle\",\"radius\":2}")).isEqualTo("circle 2");
			assertThat(client.ask("{\"@type\":\"square\",\"side\":3}")).isEqualTo("square 3");
			assertThat(client.ask("{\"@type\":\"cube\",\"side\":3}")).isEqualTo("square of Cube");
			assertThat(client.ask("{\"@type\":\"line\"}")).isEqualTo(
					"UnmatchedMessageException: The payload of a message has none of the classes of the @OnMessage methods: "
							+ "Circle, Square");
			assertThat(client.ask("{\"@type\":\"secret\"}")).startsWith("UnmatchedMessageException");
			assertThat(client.ask("{\"@type\":\"circle\",\"radius\":\"wide\"}"))
				.startsWith("PayloadConversionException");
			assertThat(client.ask("{\"@type\":\"circle\",\"radius\":0}"))
				.isEqualTo("PayloadValidationException: The payload 'circle' is not valid: radius (Min)");
		});
	}

	/** None of the classes of the methods tells Jackson itself how to choose. */
	@Test
	void theClassesOfThePayloadsMayExtendOneThatExtendsTheAnnotatedOne() {
		HandlerRunner.talk(HandlerRunner.of(ByExtension.class), (client, context) -> {
			assertThat(client.ask("{\"@type\":\"gain\"}")).isEqualTo("gain");
			assertThat(client.ask("{\"@type\":\"loss\"}")).isEqualTo("loss");
		});
	}

	@Test
	void methodForTheMostSpecificClassIsCalled() {
		HandlerRunner.talk(HandlerRunner.of(BySpecificClass.class), (client, context) -> {
			assertThat(client.ask("{\"@type\":\"line\"}")).isEqualTo("shape");
			assertThat(client.ask("{\"@type\":\"circle\",\"radius\":2}")).isEqualTo("circle");
			assertThat(client.ask("{\"@type\":\"square\",\"side\":3}")).isEqualTo("square");
			assertThat(client.ask("{\"@type\":\"cube\",\"side\":3}")).isEqualTo("cube");
		});
	}

	@LfHandler
	static class ByPrefix {

		@OnMessage(prefix = "PUT ")
		String put(String rest) {
			return "put:" + rest;
		}

		@OnMessage(prefix = "PUTX")
		String putx(String rest) {
			return "putx:" + rest;
		}

		@OnMessage(prefix = { "0200", "0210" }, stripPrefix = false)
		String iso(String message) {
			return "iso:" + message;
		}

		@OnMessage(prefix = "QUIT")
		String quit() {
			return "bye";
		}

		@OnError
		String failed(Exception ex) {
			return PayloadTests.failure(ex);
		}

	}

	@LfHandler
	static class NestedPrefixes {

		@OnMessage(prefix = { "A", "BB" })
		String one(String rest) {
			return "one:" + rest;
		}

		@OnMessage(prefix = { "AA", "B" })
		String two(String rest) {
			return "two:" + rest;
		}

	}

	@LfHandler
	static class Twice {

		@OnMessage(prefix = "TWICE ")
		String twice(ByteBuffer rest) {
			String first = StandardCharsets.UTF_8.decode(rest).toString();
			return first + StandardCharsets.UTF_8.decode(rest.reset());
		}

	}

	@LfHandler
	static class Untyped {

		@OnMessage("place")
		String place() {
			return "placed";
		}

		@OnError
		String unmatched(UnmatchedMessageException ex) {
			return "no " + ex.getType();
		}

	}

	@LfHandler
	static class PrefixOrDefault {

		@OnMessage(prefix = "PUT ")
		String put(String rest) {
			return "put:" + rest;
		}

		@OnMessage(isDefault = true)
		String other(String message) {
			return "default:" + message;
		}

	}

	record Order(String item) {
	}

	@LfHandler
	static class ByType {

		@OnMessage({ "place", "order" })
		String place(Order order) {
			return "place " + order.item();
		}

		@OnMessage(type = "7")
		String seven(String json) {
			return "seven " + json;
		}

		@OnError
		String failed(Exception ex) {
			return PayloadTests.failure(ex);
		}

	}

	@LfHandler
	@Discriminator("kind")
	static class ByKind {

		@OnMessage("place")
		String place(Order order) {
			return "place " + order.item();
		}

		@OnMessage(isDefault = true)
		String other(String json) {
			return "default " + json;
		}

	}

	@JsonTypeInfo(use = JsonTypeInfo.Id.NAME)
	@JsonSubTypes({ @JsonSubTypes.Type(value = Circle.class, name = "circle"),
			@JsonSubTypes.Type(value = Square.class, name = "square"),
			@JsonSubTypes.Type(value = Cube.class, name = "cube"),
			@JsonSubTypes.Type(value = Line.class, name = "line"),
			@JsonSubTypes.Type(value = Disc.class, name = "disc") })
	interface Shape {

	}

	record Circle(@Min(1) int radius) implements Shape {
	}

	static class Square implements Shape {

		public int side;

	}

	static class Cube extends Square {

	}

	record Line() implements Shape {
	}

	interface Round extends Shape {

	}

	interface Flat extends Shape {

	}

	record Disc() implements Round, Flat {
	}

	@LfHandler
	static class ByInterface {

		@OnMessage
		String shape(Shape shape) {
			return "shape";
		}

		@OnMessage
		String round(Round shape) {
			return "round";
		}

		@OnMessage
		String flat(Flat shape) {
			return "flat";
		}

		@OnError
		String failed(Exception ex) {
			return PayloadTests.failure(ex);
		}

	}

	@LfHandler
	static class ByOptional {

		@OnMessage
		String circle(Optional<Circle> circle) {
			return "circle " + circle.map(Circle::radius).orElseThrow();
		}

		@OnMessage
		String square(Square square) {
			return "square " + square.side;
		}

		@OnError
		String failed(Exception ex) {
			return PayloadTests.failure(ex);
		}

	}

	@LfHandler
	static class ByClass {

		@OnMessage
		String circle(@Valid Circle circle) {
			return "circle " + circle.radius();
		}

		@OnMessage
		String square(Square square) {
			return (square.getClass() == Square.class) ? "square " + square.side
					: "square of " + square.getClass().getSimpleName();
		}

		@OnError
		String failed(Exception ex) {
			return PayloadTests.failure(ex);
		}

	}

	@JsonTypeInfo(use = JsonTypeInfo.Id.NAME)
	@JsonSubTypes({ @JsonSubTypes.Type(value = Gain.class, name = "gain"),
			@JsonSubTypes.Type(value = Loss.class, name = "loss") })
	abstract static class Booking {

	}

	abstract static class Change extends Booking {

	}

	static class Gain extends Change {

	}

	static class Loss extends Change {

	}

	@LfHandler
	static class ByExtension {

		@OnMessage
		String gain(Gain gain) {
			return "gain";
		}

		@OnMessage
		String loss(Loss loss) {
			return "loss";
		}

	}

	@LfHandler
	static class BySpecificClass {

		@OnMessage
		String shape(Shape shape) {
			return "shape";
		}

		@OnMessage
		String circle(Circle circle) {
			return "circle";
		}

		@OnMessage
		String square(Square square) {
			return "square";
		}

		@OnMessage
		String cube(Cube cube) {
			return "cube";
		}

	}

}
