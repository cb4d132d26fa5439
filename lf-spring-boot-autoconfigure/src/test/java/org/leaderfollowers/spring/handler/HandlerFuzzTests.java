package org.leaderfollowers.spring.handler;

import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.math.BigDecimal;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.Charset;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

import com.code_intelligence.jazzer.junit.FuzzTest;
import com.fasterxml.jackson.annotation.JsonSubTypes;
import com.fasterxml.jackson.annotation.JsonTypeInfo;
import jakarta.validation.Valid;
import jakarta.validation.constraints.Min;
import jakarta.validation.constraints.NotBlank;
import jakarta.validation.constraints.Pattern;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.params.provider.MethodSource;
import org.leaderfollowers.spring.annotation.LfHandler;
import org.leaderfollowers.spring.annotation.OnError;
import org.leaderfollowers.spring.annotation.OnMessage;
import org.leaderfollowers.spring.autoconfigure.LeaderFollowersAutoConfiguration;
import org.leaderfollowers.spring.server.LeaderFollowersServers;
import tools.jackson.databind.JsonNode;

import org.springframework.boot.convert.ApplicationConversionService;
import org.springframework.boot.jackson.autoconfigure.JacksonAutoConfiguration;
import org.springframework.boot.test.util.TestPropertyValues;
import org.springframework.boot.validation.autoconfigure.ValidationAutoConfiguration;
import org.springframework.context.annotation.AnnotationConfigApplicationContext;
import org.springframework.core.convert.ConversionService;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Any message for annotated methods, of several kinds: each gets exactly one reply, which
 * is that of the right method, or names one of our exceptions and does not repeat the
 * message. Later messages of the connection are answered as well.
 */
class HandlerFuzzTests {

	private static final List<String> SERVERS = List.of("prefixes", "types", "classes", "text", "latin", "wide");

	private static final Set<String> FAILURES = Set.of("PayloadConversionException", "PayloadValidationException",
			"UnmatchedMessageException");

	/** Long enough that it does not occur in a message by chance. */
	private static final int TELLING = 8;

	private static final ConversionService CONVERSION = ApplicationConversionService.getSharedInstance();

	private static List<Socket> sockets;

	private static AnnotationConfigApplicationContext context;

	private static synchronized List<Socket> sockets() {
		if (sockets == null) {
			context = new AnnotationConfigApplicationContext();
			context.getBeanFactory().setConversionService(CONVERSION);
			for (String server : SERVERS) {
				String prefix = "lf.servers." + server;
				TestPropertyValues
					.of(prefix + ".port=0", prefix + ".framing.type=length-field",
							prefix + ".framing.length-field.bytes=4", prefix + ".charset=" + charset(server))
					.applyTo(context);
			}
			context.register(JacksonAutoConfiguration.class, ValidationAutoConfiguration.class,
					LeaderFollowersAutoConfiguration.class, Prefixes.class, Types.class, Classes.class, Text8.class,
					Latin.class, Wide.class);
			context.refresh();
			LeaderFollowersServers servers = context.getBean(LeaderFollowersServers.class);
			sockets = SERVERS.stream().map((server) -> connect(servers.get(server).port())).toList();
		}
		return sockets;
	}

	@AfterAll
	static synchronized void closeContext() throws IOException {
		if (sockets != null) {
			for (Socket socket : sockets) {
				socket.close();
			}
			context.close();
			sockets = null;
		}
	}

	private static Socket connect(int port) {
		try {
			Socket socket = new Socket("localhost", port);
			socket.setSoTimeout(60_000);
			socket.setTcpNoDelay(true);
			return socket;
		}
		catch (IOException ex) {
			throw new UncheckedIOException(ex);
		}
	}

	private static Charset charset(String server) {
		return switch (server) {
			case "latin" -> Charset.forName("windows-1252");
			case "wide" -> StandardCharsets.UTF_16;
			default -> StandardCharsets.UTF_8;
		};
	}

	/** Messages from which the fuzzer begins, behind the number of their server. */
	static Stream<byte[]> messages() {
		return Stream
			.of("0PUT a", "0PUTX b", "00200abc", "0I12", "0U00000000-0000-0001-0000-000000000002", "0Lde_CH", "0B1e3",
					"0T1970-01-01T00:00:00Z", "0ESECONDS", "0prefixes",
					"1{\"type\":\"place\",\"item\":\"tea\",\"quantity\":2}",
					"1{\"item\":\"\",\"quantity\":0,\"type\":\"place\"}", "1{\"type\":7,\"a\":[{}]}",
					"2{\"@type\":\"circle\",\"radius\":2}", "2{\"side\":3,\"@type\":\"square\"}", "3gr\u00fc\u00dfe",
					"4\u20ac", "5a")
			.map((text) -> {
				byte[] bytes = text.substring(1).getBytes(charset(SERVERS.get(text.charAt(0) - '0')));
				return ByteBuffer.allocate(1 + bytes.length).put((byte) (text.charAt(0) - '0')).put(bytes).array();
			});
	}

	@MethodSource("messages")
	@FuzzTest
	void messageGetsTheReplyOfItsMethod(byte[] bytes) throws IOException {
		if (bytes.length == 0) {
			return;
		}
		int server = (bytes[0] & 0xFF) % SERVERS.size();
		byte[] message = Arrays.copyOfRange(bytes, 1, bytes.length);
		Charset charset = charset(SERVERS.get(server));
		byte[] answer = ask(sockets().get(server), message);
		String reply = new String(answer, charset);
		String text = text(message, charset);
		boolean isEcho = server >= SERVERS.indexOf("text");
		if (isEcho && text != null) {
			assertThat(reply).isEqualTo(text);
		}
		else if (isEcho || reply.startsWith("!")) {
			checkFailure(server, reply, new String(message, charset));
		}
		else if (server == 0) {
			assertThat(reply).isEqualTo(byPrefix(text));
		}
		else {
			assertThat(reply).matches("(?s)(place|seven|circle|square) .*");
		}
	}

	private static byte[] ask(Socket socket, byte[] message) throws IOException {
		DataOutputStream out = new DataOutputStream(socket.getOutputStream());
		out.write(ByteBuffer.allocate(4 + message.length).putInt(message.length).put(message).array());
		DataInputStream in = new DataInputStream(socket.getInputStream());
		return in.readNBytes(in.readInt());
	}

	private static void checkFailure(int server, String reply, String text) throws IOException {
		assertThat(FAILURES).as(reply).contains(reply.substring(1, reply.indexOf(':')));
		assertThat(reply.chars().noneMatch(Character::isISOControl)).as(reply).isTrue();
		if (text.length() >= TELLING && reply.contains(text)) {
			// The fuzzer may have found words of the reply itself. These do not change
			// with the message, whichever of its characters changes.
			for (int i = 0; i < text.length(); i++) {
				checkNotRepeated(server, text.substring(0, i) + neighbour(text.charAt(i)) + text.substring(i + 1));
			}
		}
	}

	private static char neighbour(char character) {
		return (character != '8' && character != 'x') ? (char) (character + 1) : (char) (character - 1);
	}

	private static void checkNotRepeated(int server, String text) throws IOException {
		Charset charset = charset(SERVERS.get(server));
		byte[] answer = ask(sockets().get(server), text.getBytes(charset));
		assertThat(new String(answer, charset)).doesNotContain(text);
	}

	/** Returns the text of a message, or {@code null} if it is none. */
	private static String text(byte[] message, Charset charset) {
		try {
			return charset.newDecoder().decode(ByteBuffer.wrap(message)).toString();
		}
		catch (CharacterCodingException ex) {
			return null;
		}
	}

	private static String byPrefix(String text) {
		if (text.startsWith("PUTX")) {
			return "putx:" + text.substring(4);
		}
		if (text.startsWith("PUT ")) {
			return "put:" + text.substring(4);
		}
		if (text.startsWith("0200") || text.startsWith("0210")) {
			return "iso:" + text;
		}
		Class<?> type = switch (text.charAt(0)) {
			case 'I' -> Integer.class;
			case 'U' -> UUID.class;
			case 'L' -> Locale.class;
			case 'B' -> BigDecimal.class;
			case 'T' -> Instant.class;
			case 'E' -> TimeUnit.class;
			default -> throw new AssertionError("no method has this prefix");
		};
		return text.charAt(0) + ":" + CONVERSION.convert(text.substring(1), type);
	}

	private static String describe(Throwable ex) {
		return "!" + ex.getClass().getSimpleName() + ": " + ex.getMessage();
	}

	@LfHandler(server = "prefixes")
	static class Prefixes {

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

		@OnMessage(prefix = "I")
		String number(Integer number) {
			return "I:" + number;
		}

		@OnMessage(prefix = "U")
		String id(UUID id) {
			return "U:" + id;
		}

		@OnMessage(prefix = "L")
		String locale(Locale locale) {
			return "L:" + locale;
		}

		@OnMessage(prefix = "B")
		String decimal(BigDecimal decimal) {
			return "B:" + decimal;
		}

		@OnMessage(prefix = "T")
		String time(Instant time) {
			return "T:" + time;
		}

		@OnMessage(prefix = "E")
		String constant(TimeUnit unit) {
			return "E:" + unit;
		}

		@OnError
		String failed(Throwable ex) {
			return describe(ex);
		}

	}

	record Place(@NotBlank String item, @Min(1) int quantity, @Pattern(regexp = "[a-z]*") String note) {
	}

	@LfHandler(server = "types")
	static class Types {

		@OnMessage(type = "place")
		String place(@Valid Place place) {
			return "place " + place.item();
		}

		@OnMessage(type = "7")
		String seven(JsonNode tree) {
			return "seven " + tree.size();
		}

		@OnError
		String failed(Throwable ex) {
			return describe(ex);
		}

	}

	@JsonTypeInfo(use = JsonTypeInfo.Id.NAME)
	@JsonSubTypes({ @JsonSubTypes.Type(value = Circle.class, name = "circle"),
			@JsonSubTypes.Type(value = Square.class, name = "square") })
	interface Shape {

	}

	record Circle(int radius) implements Shape {
	}

	record Square(long side) implements Shape {
	}

	@LfHandler(server = "classes")
	static class Classes {

		@OnMessage
		String circle(Circle circle) {
			return "circle " + circle.radius();
		}

		@OnMessage
		String square(Square square) {
			return "square " + square.side();
		}

		@OnError
		String failed(Throwable ex) {
			return describe(ex);
		}

	}

	/** Returns the text. */
	static class TextEcho {

		@OnMessage
		String echo(String text) {
			return text;
		}

		@OnError
		String failed(Throwable ex) {
			return describe(ex);
		}

	}

	@LfHandler(server = "text")
	static class Text8 extends TextEcho {

	}

	@LfHandler(server = "latin")
	static class Latin extends TextEcho {

	}

	@LfHandler(server = "wide")
	static class Wide extends TextEcho {

	}

}
