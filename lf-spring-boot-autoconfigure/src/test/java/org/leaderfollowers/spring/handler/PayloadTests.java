package org.leaderfollowers.spring.handler;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.nio.charset.Charset;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;

import javax.net.ssl.SSLSession;

import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.leaderfollowers.Connection;
import org.leaderfollowers.spring.annotation.LfHandler;
import org.leaderfollowers.spring.annotation.OnError;
import org.leaderfollowers.spring.annotation.OnMessage;
import org.leaderfollowers.spring.server.LeaderFollowersServers;
import tools.jackson.databind.JsonNode;

import org.springframework.beans.factory.support.DefaultListableBeanFactory;
import org.springframework.boot.test.context.FilteredClassLoader;
import org.springframework.core.ResolvableType;
import org.springframework.core.convert.converter.Converter;
import org.springframework.messaging.Message;
import org.springframework.messaging.MessageHeaders;
import org.springframework.messaging.converter.AbstractMessageConverter;
import org.springframework.messaging.converter.MessageConverter;
import org.springframework.messaging.handler.annotation.Header;
import org.springframework.messaging.handler.annotation.Headers;
import org.springframework.messaging.handler.annotation.Payload;
import org.springframework.util.MimeTypeUtils;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * What a message can be for a method, and a reply.
 */
class PayloadTests {

	@Test
	void textIsTextOfTheCharset() throws Exception {
		HandlerRunner.talk(HandlerRunner.of(Upper.class), (client, context) -> {
			assertThat(client.ask("grüße €")).isEqualTo("GRÜSSE €");
			assertThat(client.ask("")).isEmpty();
		});
		HandlerRunner.of(Upper.class).withPropertyValues("lf.server.charset=windows-1252").run((context) -> {
			Charset charset = Charset.forName("windows-1252");
			try (Socket socket = new Socket("localhost",
					context.getBean(LeaderFollowersServers.class).get("default").port())) {
				socket.getOutputStream().write("ü€\n".getBytes(charset));
				assertThat(socket.getInputStream().readNBytes(3)).isEqualTo("Ü€\n".getBytes(charset));
			}
		});
	}

	@Test
	void whatIsNoTextIsRefused() {
		HandlerRunner.of(Upper.class).run((context) -> {
			try (Socket socket = new Socket("localhost",
					context.getBean(LeaderFollowersServers.class).get("default").port())) {
				socket.getOutputStream().write(new byte[] { 'a', (byte) 0xff, '\n' });
				assertThat(new String(socket.getInputStream().readNBytes(27), StandardCharsets.UTF_8))
					.isEqualTo("PayloadConversionException:");
				socket.getOutputStream().write("\ufffd".getBytes(StandardCharsets.UTF_8));
			}
		});
	}

	@Test
	void replacementCharacterThatWasSentIsText() {
		HandlerRunner.talk(HandlerRunner.of(Upper.class),
				(client, context) -> assertThat(client.ask("a\ufffd")).isEqualTo("A\ufffd"));
	}

	@Test
	void replyThatTheCharsetCannotExpressIsAFailure() {
		HandlerRunner.talk(HandlerRunner.of(Snowman.class).withPropertyValues("lf.server.charset=ISO-8859-1"),
				(client, context) -> assertThat(client.ask("x")).isEqualTo("failed PayloadConversionException"));
	}

	/** A server that is not configured here has another charset than the first one. */
	@Test
	void outsideOfHandlersTextHasTheCharsetOfItsServer() {
		DefaultListableBeanFactory beanFactory = new DefaultListableBeanFactory();
		MessageConversion conversion = new MessageConversion(
				Map.of("new", StandardCharsets.UTF_8, "old", StandardCharsets.ISO_8859_1)::get, beanFactory,
				beanFactory.getBeanProvider(MessageConverter.class));
		for (String server : new String[] { "new", "old", "new" }) {
			ByteBuffer message = conversion.charset(server).encode("\u00fc");
			assertThat(conversion.write(server, null, "\u00fc")).isEqualTo(message);
			assertThat(conversion.read(server, ResolvableType.forClass(String.class), message)).isEqualTo("\u00fc");
		}
	}

	@Test
	void allHeadersAndAttributesAreAMapOfTheCall() {
		HandlerRunner.talk(HandlerRunner.of(AllHeaders.class), (client, context) -> {
			assertThat(client.ask("one")).isEqualTo("null null default true true");
			assertThat(client.ask("two")).isEqualTo("one one default true true");
		});
	}

	@Test
	void bytesAreBytes() {
		HandlerRunner.talk(HandlerRunner.of(Bytes.class),
				(client, context) -> assertThat(client.ask("abc")).isEqualTo("cba"));
		HandlerRunner.talk(HandlerRunner.of(Lent.class),
				(client, context) -> assertThat(client.ask("abc")).isEqualTo("abc"));
	}

	@Test
	void simpleTypesAreText() {
		HandlerRunner.talk(HandlerRunner.of(Square.class), (client, context) -> {
			assertThat(client.ask("12")).isEqualTo("144");
			assertThat(client.ask("twelve")).startsWith("PayloadConversionException: A message of 6 bytes")
				.doesNotContain("twelve");
		});
		HandlerRunner.talk(HandlerRunner.of(Ids.class), (client, context) -> {
			String id = UUID.randomUUID().toString();
			assertThat(client.ask(id)).isEqualTo(id);
		});
	}

	@Test
	void objectsAreJson() {
		HandlerRunner.talk(
				HandlerRunner.of(Orders.class).withPropertyValues("spring.jackson.serialization.indent-output=true"),
				(client, context) -> {
					assertThat(client.ask("{\"item\":\"tea\",\"quantity\":2}")).isEqualTo("{\"text\":\"2 x tea\"}");
					assertThat(client.ask("{\"item\":\"secret\",\"quantity\":\"many\"}")).startsWith(
							"PayloadConversionException: A message of 35 bytes is not the JSON of org.leaderfollowers.spring.handler.PayloadTests$Order")
						.contains("at line 1, column ")
						.doesNotContain("secret")
						.doesNotContain("many");
					assertThat(client.ask("secret")).startsWith("PayloadConversionException").doesNotContain("secret");
				});
	}

	@Test
	void jsonWorksInOtherCharsets() {
		HandlerRunner.of(Orders.class).withPropertyValues("lf.server.charset=ISO-8859-1").run((context) -> {
			try (Socket socket = new Socket("localhost",
					context.getBean(LeaderFollowersServers.class).get("default").port())) {
				socket.getOutputStream()
					.write("{\"item\":\"Gemüse\",\"quantity\":2}\n".getBytes(StandardCharsets.ISO_8859_1));
				byte[] expected = "{\"text\":\"2 x Gemüse\"}\n".getBytes(StandardCharsets.ISO_8859_1);
				assertThat(socket.getInputStream().readNBytes(expected.length)).isEqualTo(expected);
			}
		});
	}

	@Test
	void genericTypesAreResolved() {
		HandlerRunner.talk(HandlerRunner.of(Sums.class),
				(client, context) -> assertThat(client.ask("{\"a\":[1,2],\"b\":[3]}")).isEqualTo("6"));
		HandlerRunner.talk(HandlerRunner.of(FirstOrder.class),
				(client, context) -> assertThat(client.ask("[{\"item\":\"tea\",\"quantity\":2}]")).isEqualTo("tea"));
		HandlerRunner.talk(HandlerRunner.of(Trees.class),
				(client, context) -> assertThat(client.ask("[1,{\"a\":2}]")).isEqualTo("[1,{\"a\":2}]"));
	}

	@Test
	void emptyMessageIsNoPayloadWhereThatIsOptional() {
		HandlerRunner.talk(HandlerRunner.of(OptionalOrders.class), (client, context) -> {
			assertThat(client.ask("")).isEqualTo("nothing");
			assertThat(client.ask("{\"item\":\"tea\",\"quantity\":2}")).isEqualTo("tea");
		});
		HandlerRunner.talk(HandlerRunner.of(NullableOrders.class), (client, context) -> {
			assertThat(client.ask("")).isEqualTo("nothing");
			assertThat(client.ask("{\"item\":\"tea\",\"quantity\":2}")).isEqualTo("tea");
		});
		HandlerRunner.talk(HandlerRunner.of(NotRequiredOrders.class),
				(client, context) -> assertThat(client.ask("")).isEqualTo("nothing"));
		HandlerRunner.talk(HandlerRunner.of(Orders.class),
				(client, context) -> assertThat(client.ask("")).startsWith("PayloadConversionException"));
	}

	@Test
	void messageConvertersComeBeforeJson() {
		HandlerRunner.talk(HandlerRunner.of(Orders.class).withBean(MessageConverter.class, OrderConverter::new),
				(client, context) -> {
					assertThat(client.ask("tea,2")).isEqualTo("{\"text\":\"2 x tea\"}");
					assertThat(client.ask("secret")).isEqualTo("PayloadConversionException: No message converter makes"
							+ " a org.leaderfollowers.spring.handler.PayloadTests$Order of a message of 6 bytes");
					assertThat(client.ask("sold out")).isEqualTo("PayloadConversionException: sold out");
				});
		HandlerRunner.talk(HandlerRunner.of(SameOrders.class).withBean(MessageConverter.class, OrderConverter::new),
				(client, context) -> assertThat(client.ask("tea,2")).isEqualTo("Order[item=tea, quantity=2]"));
	}

	@Test
	void messageConverterNeedNotConvertEverything() {
		HandlerRunner.talk(HandlerRunner.of(Sums.class).withBean(MessageConverter.class, OrderConverter::new),
				(client, context) -> assertThat(client.ask("{\"a\":[1]}")).isEqualTo("1"));
	}

	@Test
	void withoutJacksonEverythingElseWorks() {
		FilteredClassLoader classLoader = new FilteredClassLoader("tools.jackson", "com.fasterxml.jackson");
		HandlerRunner.talk(HandlerRunner.of(Upper.class).withClassLoader(classLoader),
				(client, context) -> assertThat(client.ask("abc")).isEqualTo("ABC"));
		HandlerRunner.talk(HandlerRunner.of(Orders.class)
			.withClassLoader(classLoader)
			.withBean(MessageConverter.class, OrderConverter::new), (client, context) -> {
				assertThat(client.ask("tea,2")).startsWith("PayloadConversionException: Nothing can convert a ")
					.endsWith(" to a message");
			});
	}

	@Test
	void converterFromTextIsTheLastResort() {
		HandlerRunner.talk(
				HandlerRunner.of(Points.class)
					.withClassLoader(new FilteredClassLoader("tools.jackson", "com.fasterxml.jackson")),
				(client, context) -> assertThat(client.ask("3")).isEqualTo("point 3"));
	}

	@Test
	void payloadIsTheParameterThatIsNothingElse() {
		HandlerRunner.talk(HandlerRunner.of(Everything.class), (client, context) -> {
			assertThat(client.ask("hello")).matches("hello default 1 127.0.0.1:\\d+ nobody 0");
			assertThat(client.ask("again")).matches("again default 1 127.0.0.1:\\d+ hello 1");
		});
	}

	@Test
	void addressHasTheTypeOfTheParameter() {
		HandlerRunner.talk(HandlerRunner.of(Addresses.class),
				(client, context) -> assertThat(client.ask("where")).isEqualTo("127.0.0.1 true"));
	}

	@Test
	void tlsSessionMayBeMissing() {
		HandlerRunner.talk(HandlerRunner.of(Secure.class), (client, context) -> {
			assertThat(client.ask("optional")).matches("no session, 127.0.0.1:\\d+");
			assertThat(client.ask("required")).isEqualTo("MissingHeaderException: The connection has no TLS session, "
					+ "which the parameter 'SSLSession session' of Secure.required(SSLSession) needs");
		});
	}

	static String failure(Exception ex) {
		return ex.getClass().getSimpleName() + ": " + ex.getMessage();
	}

	record Order(String item, int quantity) {
	}

	record Receipt(String text) {
	}

	static class Failing {

		@OnError
		String failed(Exception ex) {
			return failure(ex);
		}

	}

	@LfHandler
	static class Upper extends Failing {

		@OnMessage
		String upper(String text) {
			return text.toUpperCase(java.util.Locale.ROOT);
		}

	}

	@LfHandler
	static class Snowman {

		@OnMessage
		String snow() {
			return "\u2603";
		}

		@OnError
		String failed(PayloadConversionException ex) {
			return "failed " + ex.getClass().getSimpleName();
		}

	}

	@LfHandler
	static class Bytes {

		@OnMessage
		byte[] reverse(byte[] bytes) {
			return new byte[] { bytes[2], bytes[1], bytes[0] };
		}

	}

	@LfHandler
	static class Lent {

		@OnMessage
		ByteBuffer echo(ByteBuffer message) {
			return message;
		}

	}

	@LfHandler
	static class Square extends Failing {

		@OnMessage
		int square(int n) {
			return n * n;
		}

	}

	@LfHandler
	static class Ids {

		@OnMessage
		UUID echo(UUID id) {
			return id;
		}

	}

	@LfHandler
	static class Orders extends Failing {

		@OnMessage
		Receipt place(Order order) {
			return new Receipt(order.quantity() + " x " + order.item());
		}

	}

	@LfHandler
	static class SameOrders {

		@OnMessage
		Order echo(Order order) {
			return order;
		}

	}

	@LfHandler
	static class OptionalOrders {

		@OnMessage
		String place(Optional<Order> order) {
			return order.map(Order::item).orElse("nothing");
		}

	}

	@LfHandler
	static class NullableOrders {

		@OnMessage
		String place(@Nullable Order order) {
			return (order != null) ? order.item() : "nothing";
		}

	}

	@LfHandler
	static class NotRequiredOrders {

		@OnMessage
		String place(@Payload(required = false) Order order) {
			return (order != null) ? order.item() : "nothing";
		}

	}

	abstract static class Summing<T> {

		@OnMessage
		int sum(Map<String, T> numbers) {
			return numbers.values().stream().mapToInt(this::sum).sum();
		}

		abstract int sum(T numbers);

	}

	@LfHandler
	static class Sums extends Summing<List<Integer>> {

		@Override
		int sum(List<Integer> numbers) {
			return numbers.stream().mapToInt(Integer::intValue).sum();
		}

	}

	abstract static class First<T> {

		@OnMessage
		String first(List<T> elements) {
			return describe(elements.get(0));
		}

		abstract String describe(T element);

	}

	@LfHandler
	static class FirstOrder extends First<Order> {

		@Override
		String describe(Order order) {
			return order.item();
		}

	}

	@LfHandler
	static class Trees {

		@OnMessage
		JsonNode echo(JsonNode tree) {
			return tree;
		}

	}

	record Point(int x) {

		public static Point valueOf(String text) {
			return new Point(Integer.parseInt(text));
		}

	}

	@LfHandler
	static class Points {

		@OnMessage
		String point(Point point) {
			return "point " + point.x();
		}

	}

	@LfHandler
	static class Everything {

		@OnMessage
		String all(@Header(LfHeaders.SERVER) String server, @Header(LfHeaders.CONNECTION_ID) long id,
				@Header(LfHeaders.REMOTE_ADDRESS) String address,
				@Header(name = "last", defaultValue = "nobody") String last, @Header Optional<Integer> count,
				Connection connection, @Payload String text) {
			connection.attributes().put("last", text);
			connection.attributes().merge("count", 1, (left, right) -> (int) left + (int) right);
			return String.join(" ", text, server, String.valueOf(id), address, last, String.valueOf(count.orElse(0)));
		}

	}

	@LfHandler
	static class Addresses {

		@OnMessage
		String where(String text, @Header(LfHeaders.REMOTE_ADDRESS) InetAddress host,
				@Header(LfHeaders.REMOTE_ADDRESS) InetSocketAddress socket) {
			return host.getHostAddress() + " " + host.equals(socket.getAddress());
		}

	}

	@LfHandler
	static class AllHeaders {

		@OnMessage
		String all(String text, @Headers Map<String, Object> map, MessageHeaders headers, Connection connection) {
			String seen = "%s %s %s %s %s".formatted(map.get("last"), map.get(LfHeaders.CONNECTION_NAME),
					map.get(LfHeaders.SERVER), map.get(LfHeaders.REMOTE_ADDRESS).equals(connection.remoteAddress()),
					map.entrySet().stream().allMatch((entry) -> entry.getValue().equals(headers.get(entry.getKey()))));
			connection.attributes().put("last", text);
			connection.name(text);
			return seen;
		}

	}

	@LfHandler
	static class Secure extends Failing {

		@OnMessage(prefix = "optional")
		String optional(Optional<SSLSession> session, @Nullable SSLSession same,
				@Header(LfHeaders.TRANSPORT_ADDRESS) String address) {
			return (session.isEmpty() && same == null) ? "no session, " + address : "session";
		}

		@OnMessage(prefix = "required")
		String required(SSLSession session) {
			return session.getProtocol();
		}

	}

	static class OrderConverter extends AbstractMessageConverter implements Converter<String, Order> {

		OrderConverter() {
			super(MimeTypeUtils.ALL);
		}

		@Override
		protected boolean supports(Class<?> type) {
			return type == Order.class;
		}

		@Override
		protected Object convertFromInternal(Message<?> message, Class<?> target, @Nullable Object hint) {
			return convert(new String((byte[]) message.getPayload(), StandardCharsets.UTF_8));
		}

		@Override
		protected @Nullable Object convertToInternal(Object payload, @Nullable MessageHeaders headers,
				@Nullable Object hint) {
			return payload.toString();
		}

		@Override
		public Order convert(String text) {
			if (text.equals("sold out")) {
				throw new PayloadConversionException(text, null);
			}
			String[] parts = text.split(",");
			return new Order(parts[0], Integer.parseInt(parts[1]));
		}

	}

}
