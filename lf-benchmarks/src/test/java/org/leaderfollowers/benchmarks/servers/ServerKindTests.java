package org.leaderfollowers.benchmarks.servers;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import java.util.stream.Stream;

import org.assertj.core.api.ListAssert;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

/**
 * Tests for the servers of each {@link ServerKind} that runs here.
 */
@Timeout(120)
class ServerKindTests {

	private static final ServerOptions OPTIONS = new ServerOptions(Work.NONE, 8, 0, 128 * 1024, 1_000);

	static Stream<ServerKind> kinds() {
		return Stream.of(ServerKind.values()).filter((kind) -> kind.unsupportedReason().isEmpty());
	}

	@ParameterizedTest
	@MethodSource("kinds")
	void echoesLineAfterLine(ServerKind kind) throws IOException {
		try (EchoServer server = kind.start(OPTIONS); LineClient client = new LineClient(server)) {
			for (int i = 0; i < 20; i++) {
				client.send("line " + i + "\n");
				assertThat(client.receive()).isEqualTo("line " + i);
			}
		}
	}

	@ParameterizedTest
	@MethodSource("kinds")
	void answersLinesThatArriveTogether(ServerKind kind) throws IOException {
		try (EchoServer server = kind.start(OPTIONS); LineClient client = new LineClient(server)) {
			for (int round = 0; round < 5; round++) {
				List<String> lines = lines("round " + round + " line ", 16);
				client.send(joined(lines));
				assertThatReplies(kind, client.receive(lines.size())).isEqualTo(inOrderOf(kind, lines));
			}
		}
	}

	@ParameterizedTest
	@MethodSource("kinds")
	void dropsCarriageReturnsAndKeepsEmptyLines(ServerKind kind) throws IOException {
		List<String> lines = List.of("one", "", "three", "fo\rur", "");
		try (EchoServer server = kind.start(OPTIONS); LineClient client = new LineClient(server)) {
			client.send("one\r\n\r\nthree\nfo\rur\r\n\n");
			assertThatReplies(kind, client.receive(lines.size())).isEqualTo(inOrderOf(kind, lines));
		}
	}

	@ParameterizedTest
	@MethodSource("kinds")
	void putsLinesTogetherThatArriveInPieces(ServerKind kind) throws IOException {
		try (EchoServer server = kind.start(OPTIONS); LineClient client = new LineClient(server)) {
			// A whole line and a begun one: the reply shows that both have been read.
			client.send("first\nsec");
			assertThat(client.receive()).isEqualTo("first");
			client.send("ond\nthird\r");
			assertThat(client.receive()).isEqualTo("second");
			client.send("\nfourth\n");
			List<String> lines = List.of("third", "fourth");
			assertThatReplies(kind, client.receive(2)).isEqualTo(inOrderOf(kind, lines));
		}
	}

	@ParameterizedTest
	@MethodSource("kinds")
	void echoesLongLines(ServerKind kind) throws IOException {
		String line = "0123456789abcdef".repeat(4 * 1024);
		try (EchoServer server = kind.start(OPTIONS); LineClient client = new LineClient(server)) {
			for (int i = 0; i < 3; i++) {
				client.send(line + "\n");
				assertThat(client.receive()).isEqualTo(line);
			}
			client.send("short\n");
			assertThat(client.receive()).isEqualTo("short");
		}
	}

	@ParameterizedTest
	@MethodSource("kinds")
	void losesNothingWhenTheSocketIsFull(ServerKind kind) throws IOException {
		String line = "0123456789abcdef".repeat(1024);
		List<String> lines = IntStream.range(0, 250).mapToObj((i) -> i + line).toList();
		try (EchoServer server = kind.start(OPTIONS)) {
			List<String> replies = StubbornClient.exchange(server, joined(lines));
			assertThatReplies(kind, replies).isEqualTo(inOrderOf(kind, lines));
		}
	}

	@ParameterizedTest
	@MethodSource("kinds")
	void answersEachConnectionInOrderWhileHandlersBlock(ServerKind kind) throws Exception {
		ServerOptions options = new ServerOptions(Work.of("block5pct2ms").orElseThrow(), 8, 0, 1024, 0);
		List<String> lines = lines("request ", 100);
		List<LineClient> clients = new ArrayList<>();
		try (EchoServer server = kind.start(options)) {
			for (int i = 0; i < 8; i++) {
				LineClient client = new LineClient(server);
				clients.add(client);
				client.send(joined(lines));
			}
			for (LineClient client : clients) {
				assertThatReplies(kind, client.receive(lines.size())).isEqualTo(inOrderOf(kind, lines));
			}
		}
		finally {
			for (LineClient client : clients) {
				client.close();
			}
		}
	}

	@ParameterizedTest
	@MethodSource("kinds")
	void refusesLinesThatAreTooLong(ServerKind kind) throws IOException {
		ServerOptions options = new ServerOptions(Work.NONE, 8, 0, 1024, 0);
		try (EchoServer server = kind.start(options)) {
			try (LineClient client = new LineClient(server)) {
				String longest = "x".repeat(1024);
				client.send(longest + "\r\n");
				assertThat(client.receive()).isEqualTo(longest);
			}
			try (LineClient client = new LineClient(server)) {
				client.send("x".repeat(4 * 1024) + "\n");
				assertThat(client.isClosedByServer()).isTrue();
			}
			try (LineClient client = new LineClient(server)) {
				client.send("others are served\n");
				assertThat(client.receive()).isEqualTo("others are served");
			}
		}
	}

	@ParameterizedTest
	@MethodSource("kinds")
	void closesItsConnections(ServerKind kind) throws IOException {
		EchoServer server = kind.start(OPTIONS);
		try (LineClient client = new LineClient(server)) {
			client.send("hello\n");
			assertThat(client.receive()).isEqualTo("hello");
			server.close();
			assertThat(client.isClosedByServer()).isTrue();
		}
	}

	@ParameterizedTest
	@EnumSource(names = { "LF_ADAPTIVE", "LF_METERED", "NETTY_NIO", "NETTY_NIO_EXECUTOR" })
	void servesWithAsManyLoopsAsItIsTold(ServerKind kind) throws IOException {
		for (int loops = 1; loops <= 2; loops++) {
			try (EchoServer server = kind.start(new ServerOptions(Work.NONE, 8, loops, 1024, 0));
					LineClient client = new LineClient(server)) {
				client.send("hello\n");
				assertThat(client.receive()).isEqualTo("hello");
			}
		}
	}

	@ParameterizedTest
	@EnumSource(names = { "NIO", "THREADS", "HSHR" })
	void rejectsLoopsThatItDoesNotHave(ServerKind kind) {
		assertThatExceptionOfType(UnsupportedOperationException.class)
			.isThrownBy(() -> kind.start(new ServerOptions(Work.NONE, 8, 2, 1024, 0)))
			.withMessageContaining("cannot be set");
	}

	@ParameterizedTest
	@EnumSource(names = { "LF_ADAPTIVE", "NETTY_NIO", "NETTY_NIO_EXECUTOR", "THREADS" })
	void servesAnotherPort(ServerKind kind) throws IOException {
		AtomicInteger worked = new AtomicInteger();
		EchoServer server = kind.start(OPTIONS);
		try (LineClient client = new LineClient(server);
				LineClient neighbour = new LineClient(server.open(worked::incrementAndGet))) {
			client.send("hello\n");
			assertThat(client.receive()).isEqualTo("hello");
			assertThat(worked).hasValue(0);
			neighbour.send("hello\n");
			assertThat(neighbour.receive()).isEqualTo("hello");
			assertThat(worked).hasValue(1);
			server.close();
			assertThat(neighbour.isClosedByServer()).isTrue();
		}
	}

	private static List<String> lines(String prefix, int count) {
		return IntStream.range(0, count).mapToObj((i) -> prefix + i).toList();
	}

	private static String joined(List<String> lines) {
		return String.join("\n", lines) + "\n";
	}

	private static ListAssert<String> assertThatReplies(ServerKind kind, List<String> replies) {
		return assertThat(inOrderOf(kind, replies));
	}

	/** As they are, if the kind keeps the order. */
	private static List<String> inOrderOf(ServerKind kind, List<String> lines) {
		return kind.isOrdered() ? lines : lines.stream().sorted().toList();
	}

}
