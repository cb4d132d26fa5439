package org.leaderfollowers;

import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Messages that are decoded by a thread that reads only for replies, and are kept until
 * another one handles them: whatever the framing, and wherever the input is split. Some
 * of the framings rewrite a message when they decode it, or have state.
 */
class DecodedOnceTests {

	private static final Duration LONG = Engine.DEADLINE.multipliedBy(4);

	private static final String OVERSIZED = "oversized".repeat(20);

	@RegisterExtension
	final Engine engine = new Engine();

	private final BlockingQueue<Connection> devices = new LinkedBlockingQueue<>();

	private final BlockingQueue<String> seen = new LinkedBlockingQueue<>();

	/** Where a message is decoded that cannot be handled. */
	private enum Reader {

		/** The owner of a connection that is suspended. */
		SUSPENDED,

		/** The thread that waits for a reply before the connection is open. */
		OPENING,

		/** A thread that waits for a reply on another connection, and leads. */
		LEADING

	}

	private static Stream<Arguments> framings() {
		return Stream
			.of(Framing.line(), Framing.lengthField(2).offset(2), Framing.decimalLength(3).offset(3),
					Framing.fixedLength(4), EnclosedFramingTests.JT808, Framing.resp())
			.flatMap((framing) -> Stream.of(Reader.values()).map((reader) -> Arguments.of(framing, reader)));
	}

	private static ByteBuffer payload(Framing framing, String text) {
		return Engine.bytes((framing == Framing.resp()) ? text + "\r\n" : text);
	}

	private static byte[] frame(Framing framing, String... texts) {
		ByteBuffer output = ByteBuffer.allocate(1000);
		for (String text : texts) {
			framing.encode(payload(framing, text), output);
		}
		byte[] frames = new byte[output.flip().remaining()];
		output.get(frames);
		return frames;
	}

	private void ask(Connection connection, Framing framing) {
		this.seen.add(Engine.text(connection.exchange(payload(framing, "ask:"), LONG)).trim());
	}

	private String next() throws InterruptedException {
		return this.seen.poll(Engine.DEADLINE.toSeconds(), TimeUnit.SECONDS);
	}

	private MessageHandler handler(Framing framing, Reader reader) {
		return new MessageHandler() {

			@Override
			public void onOpen(Connection connection) {
				if (reader == Reader.OPENING) {
					ask(connection, framing);
				}
				DecodedOnceTests.this.devices.add(connection);
			}

			@Override
			public void onMessage(Connection connection, ByteBuffer message) throws InterruptedException {
				String text = Engine.text(message).trim();
				if (reader == Reader.LEADING && text.equals("go!!")) {
					ask(DecodedOnceTests.this.devices.take(), framing);
				}
				else if (text.equals("go!!")) {
					// Of the connection, not of the message.
					new Thread(() -> {
						Suspension suspension = connection.suspend();
						ask(connection, framing);
						suspension.resume();
					}).start();
				}
				else {
					DecodedOnceTests.this.seen.add(text);
				}
			}

			@Override
			public void onError(Connection connection, ByteBuffer message, Throwable failure) {
				DecodedOnceTests.this.seen.add("too large");
			}

		};
	}

	@ParameterizedTest
	@MethodSource("framings")
	void aMessageThatIsKept(Framing framing, Reader reader) throws Exception {
		TcpServer server = this.engine.start(TcpServer.builder(this.engine.pool(1, (reader == Reader.LEADING) ? 1 : 4))
			.framing(framing)
			.maxMessageSize(100)
			.skipOversizedMessages(true)
			.correlation(Correlation.byKey((message) -> (message.get(message.position() + 3) == ':') ? "ask" : null))
			.maxInFlightPerConnection(4)
			.handler(handler(framing, reader)));
		boolean sized = framing instanceof FixedLengthFraming;
		String large = sized ? "7~}8" : OVERSIZED;
		byte[] input = frame(framing, "ask:", "1~}2", large, "3456");
		for (int split = 1; split < input.length; split++) {
			Peer asked = this.engine.connect(server);
			Peer peer = asked;
			if (reader == Reader.LEADING) {
				Engine.eventually().until(() -> this.devices.size() == 1);
				peer = this.engine.connect(server);
			}
			if (reader != Reader.OPENING) {
				peer.send(frame(framing, "go!!"));
			}
			assertThat(asked.read(frame(framing, "ask:").length)).isEqualTo(frame(framing, "ask:"));
			asked.send(input, 0, split);
			if (split % 2 == 0) {
				// Otherwise both parts may be read at once.
				long received = split;
				Engine.eventually().until(() -> received(server) >= received);
			}
			asked.send(input, split, input.length - split);
			assertThat(List.of(next(), next(), next(), next())).as("split at %d", split)
				.containsExactlyInAnyOrder("ask:", "1~}2", sized ? large : "too large", "3456");
			asked.close();
			peer.close();
			Engine.eventually().until(() -> server.snapshot().openConnections() == 0);
			this.devices.clear();
		}
		Engine.eventually().until(() -> server.pool().snapshot().bufferedBytes() == 0);
	}

	private static long received(TcpServer server) {
		return server.connections().mapToLong(ConnectionSnapshot::receivedBytes).max().orElse(0);
	}

}
