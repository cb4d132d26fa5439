package org.leaderfollowers;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.stream.Stream;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Framings that know their connection, and messages that are left out because they are
 * too large.
 */
@Timeout(120)
class ConnectionFramingTests {

	@RegisterExtension
	final Engine engine = new Engine();

	/**
	 * Uploads: a line with the length of a body, followed by the body. The body is handed
	 * over in parts; if it is large, the client first has to ask.
	 */
	private static final class Uploads implements Framing {

		private final Framing lines = Framing.line();

		@Override
		public boolean decode(ByteBuffer input, Frame frame) {
			throw new IllegalStateException("each connection has its own");
		}

		@Override
		public void encode(ByteBuffer payload, ByteBuffer output) {
			this.lines.encode(payload, output);
		}

		@Override
		public int maxFrameLength(int payloadLength) {
			return this.lines.maxFrameLength(payloadLength);
		}

		@Override
		public Framing forConnection(Connection connection) {
			return new Upload(this, connection);
		}

	}

	private record State(int[] left) {
	}

	private static final class Upload implements Framing {

		private final Uploads all;

		private final Connection connection;

		private final State state = new State(new int[1]);

		Upload(Uploads all, Connection connection) {
			this.all = all;
			this.connection = connection;
		}

		@Override
		public boolean decode(ByteBuffer input, Frame frame) {
			int left = this.state.left()[0];
			if (left > 0) {
				int part = Math.min(Math.min(left, input.remaining()), frame.maxMessageSize());
				this.state.left()[0] = left - part;
				return frame.complete(0, part, part);
			}
			boolean complete = this.all.lines.decode(input, frame);
			if (complete) {
				byte[] line = new byte[frame.payloadLength()];
				input.get(input.position() + frame.payloadOffset(), line);
				this.state.left()[0] = Integer.parseInt(new String(line, StandardCharsets.US_ASCII));
				if (this.state.left()[0] > 1000) {
					this.connection.send(Engine.bytes("continue"));
				}
			}
			return complete;
		}

		@Override
		public void encode(ByteBuffer payload, ByteBuffer output) {
			this.all.encode(payload, output);
		}

		@Override
		public int maxFrameLength(int payloadLength) {
			return this.all.maxFrameLength(payloadLength);
		}

	}

	@Test
	void aFramingWithStateAnswersEarlyAndHandsABodyOverInParts() {
		Queue<Integer> parts = new ConcurrentLinkedQueue<>();
		TcpServer server = this.engine.start(TcpServer.builder(this.engine.pool(1, 4))
			.framing(new Uploads())
			.maxMessageSize(4096)
			.handler((connection, message) -> {
				int[] left = (int[]) connection.attributes().computeIfAbsent("left", (key) -> new int[1]);
				if (left[0] == 0) {
					left[0] = Integer.parseInt(Engine.text(message));
					return;
				}
				parts.add(message.remaining());
				left[0] -= message.remaining();
				if (left[0] == 0) {
					connection.send(Engine.bytes("stored"));
				}
			}));
		Peer peer = this.engine.connect(server).send("100000\n");
		assertThat(peer.readLine()).isEqualTo("continue");
		assertThat(parts).isEmpty();
		peer.send(new byte[100_000]);
		assertThat(peer.readLine()).isEqualTo("stored");
		assertThat(parts).hasSizeGreaterThan(24).allMatch((part) -> part <= 4096);
		assertThat(parts.stream().mapToInt(Integer::intValue).sum()).isEqualTo(100_000);
		// Each connection has its own state.
		Peer other = this.engine.connect(server).send("50000\n");
		assertThat(other.readLine()).isEqualTo("continue");
		assertThat(peer.send("3\nabc").readLine()).isEqualTo("stored");
		assertThat(other.send(new byte[50_000]).readLine()).isEqualTo("stored");
	}

	@ParameterizedTest
	@ValueSource(classes = { IllegalStateException.class, NoClassDefFoundError.class, IOException.class })
	void aConnectionWithoutAFramingIsClosed(Class<? extends Throwable> failure) {
		Recorder recorder = new Recorder();
		Framing lines = Framing.line();
		TcpServer server = this.engine.start(TcpServer.builder(this.engine.pool(1, 4)).framing(new Framing() {
			@Override
			public boolean decode(ByteBuffer input, Frame frame) {
				return lines.decode(input, frame);
			}

			@Override
			public void encode(ByteBuffer payload, ByteBuffer output) {
				lines.encode(payload, output);
			}

			@Override
			public int maxFrameLength(int payloadLength) {
				return lines.maxFrameLength(payloadLength);
			}

			@Override
			public Framing forConnection(Connection connection) {
				throw ConnectionFramingTests.<RuntimeException>newFailure(failure);
			}
		}).handler(recorder));
		this.engine.connect(server).awaitClosed();
		Engine.eventually().until(() -> server.snapshot().closedConnections().get(CloseReason.HANDSHAKE_FAILED) == 1);
		assertThat(recorder.connections).isEmpty();
		assertThat(this.engine.log()).singleElement().asString().contains("none left");
	}

	@SuppressWarnings("unchecked")
	private static <T extends Throwable> T newFailure(Class<? extends Throwable> type) throws T {
		try {
			throw (T) type.getConstructor(String.class).newInstance("none left");
		}
		catch (ReflectiveOperationException ex) {
			throw new AssertionError(ex);
		}
	}

	private static MessageHandler skipping(Queue<String> beginnings) {
		return new MessageHandler() {
			@Override
			public void onMessage(Connection connection, ByteBuffer message) {
				connection.send(message);
			}

			@Override
			public void onError(Connection connection, ByteBuffer message, Throwable failure) {
				beginnings.add(Engine.text(message).substring(0, Math.min(5, message.remaining())));
				assertThat(failure).isInstanceOf(FramingException.class).hasMessageContaining("skipped");
				connection.send(Engine.bytes("too large"));
			}
		};
	}

	@ParameterizedTest
	@ValueSource(ints = { 1, 4 })
	void anOversizedLineIsLeftOut(int window) {
		Queue<String> beginnings = new ConcurrentLinkedQueue<>();
		TcpServer server = this.engine.start(TcpServer.builder(this.engine.pool(1, 8))
			.framing(Framing.line())
			.maxMessageSize(100)
			.maxInFlightPerConnection(window)
			.replyOrder(ReplyOrder.ARRIVAL)
			.skipOversizedMessages(true)
			.handler(skipping(beginnings)));
		Peer peer = this.engine.connect(server);
		for (int length : new int[] { 101, 102, 103, 150, 5_000, 65_536, 200_000, 1_000_000 }) {
			peer.send("a\n" + "large".repeat(length / 5 + 1) + "\nb\n" + "large".repeat(length / 5 + 1) + "\nc\n");
			assertThat(List.of(peer.readLine(), peer.readLine(), peer.readLine(), peer.readLine(), peer.readLine()))
				.as("length %d", length)
				.containsExactly("a", "too large", "b", "too large", "c");
		}
		assertThat(beginnings).hasSize(16).containsOnly("large");
		Engine.eventually().until(() -> server.pool().snapshot().bufferedBytes() == 0);
	}

	@ParameterizedTest
	@ValueSource(ints = { 1, 4 })
	void anOversizedMessageWithALengthIsLeftOutAsItArrives(int window) {
		Queue<String> beginnings = new ConcurrentLinkedQueue<>();
		TcpServer server = this.engine.start(TcpServer.builder(this.engine.pool(1, 8))
			.framing(Framing.lengthField(4).offset(2))
			.maxMessageSize(100)
			.maxInFlightPerConnection(window)
			.replyOrder(ReplyOrder.ARRIVAL)
			.skipOversizedMessages(true)
			.handler(skipping(beginnings)));
		Peer peer = this.engine.connect(server);
		int length = 300_000;
		ByteBuffer frame = ByteBuffer.allocate(6 + length)
			.put((byte) 'a')
			.put((byte) 'b')
			.putInt(length)
			.put("cde".getBytes(StandardCharsets.US_ASCII));
		// The reply is sent before the rest of the frame has arrived.
		peer.send(frame.array(), 0, 20);
		assertThat(peer.read(13)).endsWith("o large".getBytes(StandardCharsets.US_ASCII));
		peer.send(frame.array(), 20, frame.capacity() - 20);
		peer.send(new byte[] { 'x', 'y', 0, 0, 0, 1, 'z' });
		assertThat(peer.read(7)).containsExactly('x', 'y', 0, 0, 0, 1, 'z');
		assertThat(beginnings).containsExactly("abcde");
	}

	static Stream<Arguments> oversized() {
		String large = "large".repeat(1_000);
		return Stream.of(
				Arguments.of(EnclosedFramingTests.MLLP, "\u000bok\u001c\r", "\u000b" + large + "\u001c\r",
						"\u000btoo large\u001c\r", "large", "large"),
				Arguments.of(EnclosedFramingTests.JT808, "~ok~", "~" + large + "}\u0002}\u0001~", "~too large~",
						"large", "large"),
				// The length may arrive alone.
				Arguments.of(Framing.decimalLength(6), "000002ok", "005000" + large, "000009too large", "large", ""),
				Arguments.of(Framing.resp(), "*1\r\n$2\r\nok\r\n",
						"*3\r\n$1\r\na\r\n$5000\r\n" + large + "\r\n*2\r\n$3\r\nabc\r\n+" + large + "\r\n", "too large",
						"*3\r\n$", "*3\r\n$"),
				Arguments.of(Framing.resp(), "ok\r\n", large + "\r\n", "too large", "large", "large"));
	}

	@ParameterizedTest
	@MethodSource("oversized")
	void anOversizedMessageOfEveryFramingIsLeftOut(Framing framing, String fits, String oversized, String reply,
			String beginning, String shortest) {
		Queue<String> beginnings = new ConcurrentLinkedQueue<>();
		TcpServer server = this.engine.start(TcpServer.builder(this.engine.pool(1, 8))
			.framing(framing)
			.maxMessageSize(100)
			.skipOversizedMessages(true)
			.handler(skipping(beginnings)));
		String expected = fits + reply + fits;
		Peer peer = this.engine.connect(server).send(fits + oversized + fits);
		assertThat(new String(peer.read(expected.length()), StandardCharsets.US_ASCII)).isEqualTo(expected);
		assertThat(beginnings.poll()).isEqualTo(beginning);
		for (char c : (oversized + fits).toCharArray()) {
			peer.send(String.valueOf(c));
		}
		assertThat(new String(peer.read(reply.length() + fits.length()), StandardCharsets.US_ASCII))
			.isEqualTo(reply + fits);
		assertThat(beginnings).singleElement()
			.satisfies((arrived) -> assertThat(arrived).startsWith(shortest))
			.satisfies((arrived) -> assertThat(beginning).startsWith(arrived));
		Engine.eventually().until(() -> server.pool().snapshot().bufferedBytes() == 0);
	}

	@Test
	void theTimeOfAMessageHoldsForOneThatIsLeftOut() {
		Queue<String> beginnings = new ConcurrentLinkedQueue<>();
		TcpServer server = this.engine.start(TcpServer.builder(this.engine.pool(1, 4))
			.framing(Framing.line())
			.maxMessageSize(100)
			.skipOversizedMessages(true)
			.messageTimeout(java.time.Duration.ofMillis(300))
			.handler(skipping(beginnings)));
		Peer peer = this.engine.connect(server).send("large".repeat(100));
		assertThat(peer.readTextToEnd()).isEqualTo("too large\n");
		Engine.eventually().until(() -> server.snapshot().closedConnections().get(CloseReason.MESSAGE_TIMEOUT) == 1);
	}

	@Test
	void anOversizedMessageIsLoggedIfNobodyHandlesIt() {
		TcpServer server = this.engine.start(TcpServer.builder(this.engine.pool(1, 4))
			.framing(Framing.line())
			.maxMessageSize(100)
			.skipOversizedMessages(true)
			.handler(Connection::send));
		assertThat(this.engine.connect(server).send("x".repeat(500) + "\nok\n").readLine()).isEqualTo("ok");
		assertThat(this.engine.log()).anyMatch((line) -> line.contains(
				"A message of Connection 1 of server 'default' was not handled: A message is larger than the maximum message size of 100 bytes"));
	}

}
