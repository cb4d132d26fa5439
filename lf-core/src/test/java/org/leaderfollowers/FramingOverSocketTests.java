package org.leaderfollowers;

import java.io.ByteArrayOutputStream;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.Stream;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

/** The framings in a server: valid and invalid input of clients. */
@Timeout(120)
class FramingOverSocketTests {

	@RegisterExtension
	final Engine engine = new Engine();

	private static final MessageHandler ECHO = (connection, message) -> connection.send(message);

	private static byte[] frame(Framing framing, byte[] payload) {
		ByteBuffer output = ByteBuffer.allocate(framing.maxFrameLength(payload.length));
		framing.encode(ByteBuffer.wrap(payload), output);
		return Arrays.copyOf(output.array(), output.position());
	}

	static Stream<Framing> framings() {
		return Stream.of(Framing.line(), Framing.delimiter("aab"), Framing.delimiter("\r\n\r\n"),
				Framing.fixedLength(7), Framing.lengthField(1), Framing.lengthField(2), Framing.lengthField(3),
				Framing.lengthField(4).inclusive(true),
				Framing.lengthField(2).offset(3).adjustment(-1).order(ByteOrder.LITTLE_ENDIAN),
				Framing.decimalLength(4), EnclosedFramingTests.MLLP, EnclosedFramingTests.JT808, Framing.raw());
	}

	private static byte[] stream(Framing framing, int messages) {
		ByteArrayOutputStream stream = new ByteArrayOutputStream();
		for (int i = 0; i < messages; i++) {
			stream.writeBytes(frame(framing, "m%06d".formatted(i).getBytes()));
		}
		return stream.toByteArray();
	}

	@ParameterizedTest
	@MethodSource("framings")
	void pipelinedMessagesAreEchoedAsTheyCame(Framing framing) {
		TcpServer server = this.engine
			.start(TcpServer.builder(this.engine.pool(2, 8)).framing(framing).handler(ECHO).maxMessageSize(64));
		byte[] stream = stream(framing, 2000);
		Peer peer = this.engine.connect(server);
		CompletableFuture<Void> sending = CompletableFuture.runAsync(() -> peer.send(stream).shutdownOutput());
		assertThat(peer.readToEnd()).isEqualTo(stream);
		sending.join();
	}

	@ParameterizedTest
	@MethodSource("framings")
	void messagesThatComeByteByByteAreEchoed(Framing framing) {
		TcpServer server = this.engine.start(TcpServer.builder(this.engine.pool(2, 8)).framing(framing).handler(ECHO));
		byte[] stream = stream(framing, 20);
		Peer peer = this.engine.connect(server);
		for (byte b : stream) {
			peer.send(new byte[] { b });
		}
		peer.shutdownOutput();
		assertThat(peer.readToEnd()).isEqualTo(stream);
	}

	@ParameterizedTest
	@MethodSource("framings")
	void messagesSplitAnywhereAreEchoed(Framing framing) {
		TcpServer server = this.engine.start(TcpServer.builder(this.engine.pool(2, 8)).framing(framing).handler(ECHO));
		byte[] stream = stream(framing, 4);
		for (int split = 1; split < stream.length; split++) {
			try (Peer peer = this.engine.connect(server)) {
				peer.send(stream, 0, split);
				// The first part is often read by itself; the next test makes sure of
				// that.
				Thread.onSpinWait();
				peer.send(stream, split, stream.length - split).shutdownOutput();
				assertThat(peer.readToEnd()).as("split at %d", split).isEqualTo(stream);
			}
		}
	}

	@Test
	void aSplitMessageIsKeptUntilItsRestComes() {
		TcpServer server = this.engine.lines(this.engine.pool(2, 8), ECHO);
		byte[] stream = "first\nsecond\r\n\nlast\n".getBytes();
		for (int split = 1; split < stream.length; split++) {
			try (Peer peer = this.engine.connect(server)) {
				long before = server.snapshot().receivedBytes();
				peer.send(stream, 0, split);
				long expected = before + split;
				Engine.eventually().until(() -> server.snapshot().receivedBytes() == expected);
				peer.send(stream, split, stream.length - split);
				peer.shutdownOutput();
				assertThat(peer.readTextToEnd()).isEqualTo("first\nsecond\n\nlast\n");
			}
		}
	}

	@Test
	void messagesOfEverySizeAroundTheSizesOfTheBuffersAreEchoed() {
		TcpServer server = this.engine.start(TcpServer.builder(this.engine.pool(2, 8))
			.framing(Framing.lengthField(4))
			.handler(ECHO)
			.maxMessageSize(1024 * 1024)
			.maxOutboundSize(8 * 1024 * 1024));
		int half = Participant.BUFFER_SIZE / 2;
		int whole = Participant.BUFFER_SIZE;
		long seed = System.nanoTime();
		Random random = new Random(seed);
		List<byte[]> payloads = new ArrayList<>();
		for (int around : new int[] { 0, half, whole, half + whole, 2 * whole, 128 * 1024, 1024 * 1024 - 9 }) {
			for (int delta = -5; delta <= 9; delta++) {
				byte[] payload = new byte[Math.max(0, around + delta)];
				random.nextBytes(payload);
				payloads.add(payload);
				payloads.add(new byte[random.nextInt(100)]);
			}
		}
		ByteArrayOutputStream all = new ByteArrayOutputStream();
		payloads.forEach((payload) -> all.writeBytes(frame(Framing.lengthField(4), payload)));
		byte[] stream = all.toByteArray();
		Peer peer = this.engine.connect(server);
		CompletableFuture<Void> sending = CompletableFuture.runAsync(() -> {
			Random cuts = new Random(seed);
			for (int at = 0; at < stream.length;) {
				int next = Math.min(stream.length, at + 1 + cuts.nextInt(cuts.nextInt(10) == 0 ? 300_000 : 20_000));
				peer.send(stream, at, next - at);
				at = next;
			}
			peer.shutdownOutput();
		});
		byte[] echo = peer.readToEnd();
		sending.join();
		assertThat(Arrays.mismatch(echo, stream)).as("first difference, seed %d", seed).isEqualTo(-1);
	}

	static Stream<Arguments> limited() {
		List<Arguments> all = new ArrayList<>();
		for (int max : new int[] { 1, 10, 1000, 32 * 1024, 64 * 1024, 200_000 }) {
			for (Framing framing : List.of(Framing.line(), Framing.delimiter("aab"), Framing.lengthField(3),
					Framing.lengthField(4).inclusive(true))) {
				all.add(Arguments.of(framing, max));
			}
			if (max > 2) {
				all.add(Arguments.of(Framing.lengthField(3).offset(2), max));
			}
		}
		return all.stream();
	}

	@ParameterizedTest
	@MethodSource("limited")
	void theLargestMessagePassesAndOneByteMoreCloses(Framing framing, int max) {
		Recorder recorder = new Recorder() {
			@Override
			void message(Connection connection, ByteBuffer message) {
				connection.send(Engine.bytes("ok"));
			}
		};
		MessageHandler lengths = new MessageHandler() {
			@Override
			public void onMessage(Connection connection, ByteBuffer message) throws Exception {
				recorder.onMessage(connection, ByteBuffer.wrap(("" + message.remaining()).getBytes()));
			}

			@Override
			public void onError(Connection connection, Throwable failure) throws Exception {
				recorder.onError(connection, failure);
			}

			@Override
			public void onClose(Connection connection, CloseReason reason) throws Exception {
				recorder.onClose(connection, reason);
			}
		};
		TcpServer server = this.engine
			.start(TcpServer.builder(this.engine.pool(2, 4)).framing(framing).handler(lengths).maxMessageSize(max));
		byte[] largest = new byte[max];
		Arrays.fill(largest, (byte) 'x');
		Peer peer = this.engine.connect(server);
		peer.send(frame(framing, largest)).send(frame(framing, largest));
		Engine.eventually().until(() -> recorder.of(1).size() == 2);
		assertThat(recorder.of(1)).containsExactly("" + max, "" + max);
		byte[] larger = new byte[max + 1];
		Arrays.fill(larger, (byte) 'x');
		peer.send(frame(framing, larger));
		peer.awaitClosed();
		assertThat(recorder.awaitClose(1)).containsExactly("" + max, "" + max, "error FramingException",
				"close MESSAGE_TOO_LARGE");
		// It is counted after the handler has been told.
		Engine.eventually()
			.untilAsserted(() -> assertThat(server.snapshot().closedConnections())
				.containsEntry(CloseReason.MESSAGE_TOO_LARGE, 1L));
	}

	@Test
	void aLineWithoutEndIsCutOffAtTheLimit() {
		TcpServer server = this.engine.start(TcpServer.builder(this.engine.pool(2, 4))
			.framing(Framing.line())
			.handler(ECHO)
			.maxMessageSize(100_000));
		Peer peer = this.engine.connect(server);
		byte[] endless = new byte[4096];
		assertThatExceptionOfType(UncheckedIOException.class).as("closed by the server").isThrownBy(() -> {
			long end = System.nanoTime() + Engine.DEADLINE.toNanos();
			while (System.nanoTime() - end < 0) {
				peer.send(endless);
			}
		});
		Engine.eventually()
			.untilAsserted(() -> assertThat(server.snapshot().closedConnections())
				.containsEntry(CloseReason.MESSAGE_TOO_LARGE, 1L));
	}

	@Test
	void aMessageTooLargeIsClosedAsSoonAsItsLengthIsKnown() {
		TcpServer server = this.engine
			.start(TcpServer.builder(this.engine.pool(2, 4)).framing(Framing.lengthField(4)).handler(ECHO));
		for (byte[] head : List.of(new byte[] { -1, -1, -1, -1 }, new byte[] { 127, -1, -1, -1 },
				new byte[] { -128, 0, 0, 0 }, new byte[] { 0, 1, 0, 1 })) {
			this.engine.connect(server).send(head).awaitClosed();
		}
		Engine.eventually()
			.untilAsserted(() -> assertThat(server.snapshot().closedConnections())
				.containsEntry(CloseReason.MESSAGE_TOO_LARGE, 4L));
	}

	@Test
	void aNegativeBodyClosesAsMalformed() {
		TcpServer server = this.engine.start(TcpServer.builder(this.engine.pool(2, 4))
			.framing(Framing.lengthField(4).inclusive(true))
			.handler(ECHO));
		this.engine.connect(server).send(new byte[] { 0, 0, 0, 3 }).awaitClosed();
		Engine.eventually()
			.untilAsserted(
					() -> assertThat(server.snapshot().closedConnections()).containsEntry(CloseReason.MALFORMED, 1L));
	}

	@Test
	void promisedLengthsCostNoMemory() {
		// 2,000 connections that announce 16 MB each would need 32 GB if the server
		// allocated what they announce.
		TcpServer server = this.engine.start(TcpServer.builder(this.engine.pool(2, 4))
			.framing(Framing.lengthField(4))
			.handler(ECHO)
			.maxMessageSize(16 * 1024 * 1024));
		int count = 2000;
		long before = Engine.usedHeap();
		byte[] head = { 1, 0, 0, 0, 'x' };
		for (int i = 0; i < count; i++) {
			this.engine.connect(server).send(head);
		}
		Engine.eventually().until(() -> server.snapshot().receivedBytes() == (long) count * head.length);
		assertThat((Engine.usedHeap() - before) / count).as("bytes for each connection, its client included")
			.isLessThan(40_000);
		assertThat(server.snapshot().openConnections()).isEqualTo(count);
	}

	@Test
	void emptyMessagesAreMessages() {
		Recorder recorder = new Recorder();
		TcpServer lines = this.engine.lines(this.engine.pool(2, 4), recorder);
		Peer peer = this.engine.connect(lines).send("\n\r\n\n").shutdownOutput();
		assertThat(peer.readTextToEnd()).isEqualTo("\n\n\n");
		assertThat(recorder.awaitClose(1)).containsExactly("open", "", "", "", "close PEER");
		TcpServer lengths = this.engine
			.start(TcpServer.builder(this.engine.pool(2, 4)).framing(Framing.lengthField(2)).handler(ECHO));
		byte[] twoEmpty = new byte[4];
		assertThat(this.engine.connect(lengths).send(twoEmpty).shutdownOutput().readToEnd()).isEqualTo(twoEmpty);
	}

	@Test
	void whatWasBegunWhenThePeerClosesIsNotAMessage() {
		Recorder recorder = new Recorder();
		TcpServer server = this.engine.lines(this.engine.pool(2, 4), recorder);
		assertThat(this.engine.connect(server).send("whole\nhal").shutdownOutput().readTextToEnd())
			.isEqualTo("whole\n");
		assertThat(recorder.awaitClose(1)).containsExactly("open", "whole", "close PEER");
	}

	@Test
	void sendRefusesWhatTheFramingCannotExpressAndTheConnectionLivesOn() {
		AtomicReference<Throwable> refusal = new AtomicReference<>();
		TcpServer server = this.engine.lines(this.engine.pool(2, 4), (connection, message) -> {
			ByteBuffer bad = Engine.bytes("two\nlines");
			try {
				connection.send(bad);
			}
			catch (IllegalArgumentException ex) {
				refusal.set(ex);
			}
			assertThat(bad.position()).isZero();
			assertThat(bad.remaining()).isEqualTo(9);
			connection.send(Engine.bytes("one line"));
		});
		Peer peer = this.engine.connect(server).send("x\ny\n");
		assertThat(peer.readLine()).isEqualTo("one line");
		assertThat(peer.readLine()).isEqualTo("one line");
		assertThat(refusal.get()).hasMessageContaining("delimiter");
	}

	/** A framing of one byte of length, with a hook that may misbehave. */
	private abstract static class OwnFraming implements Framing {

		@Override
		public boolean decode(ByteBuffer input, Frame frame) {
			int length = input.get(input.position()) & 0xFF;
			if (input.remaining() <= length) {
				return frame.incomplete(0);
			}
			return found(input, frame, length);
		}

		abstract boolean found(ByteBuffer input, Frame frame, int length);

		@Override
		public void encode(ByteBuffer payload, ByteBuffer output) {
			output.put((byte) payload.remaining()).put(payload);
		}

		@Override
		public int maxFrameLength(int payloadLength) {
			return payloadLength + 1;
		}

	}

	private interface Misbehaviour {

		boolean found(ByteBuffer input, Framing.Frame frame, int length) throws Throwable;

	}

	static Stream<Arguments> misbehaviours() {
		return Stream.of(misbehaviour("consumes nothing", (input, frame, length) -> frame.complete(0, 0, 0)),
				misbehaviour("says complete without a frame", (input, frame, length) -> true),
				misbehaviour("consumes more than there is", (input, frame, length) -> frame.complete(1, length, 1000)),
				misbehaviour("goes backwards", (input, frame, length) -> frame.complete(1, length, -5)),
				misbehaviour("points before the frame", (input, frame, length) -> frame.complete(-3, length, 5)),
				misbehaviour("points behind the frame", (input, frame, length) -> frame.complete(1, 100, 2)),
				misbehaviour("scans more than there is", (input, frame, length) -> frame.incomplete(1000)),
				misbehaviour("scans less than nothing", (input, frame, length) -> frame.incomplete(-1)),
				misbehaviour("throws an exception", (input, frame, length) -> {
					throw new IndexOutOfBoundsException("made for the test");
				}), misbehaviour("throws an error", (input, frame, length) -> {
					throw new StackOverflowError("made for the test");
				}), misbehaviour("reads beyond the input", (input, frame, length) -> {
					input.get(input.limit());
					return true;
				}));
	}

	private static Arguments misbehaviour(String what, Misbehaviour misbehaviour) {
		return Arguments.of(what, misbehaviour);
	}

	@SuppressWarnings("unchecked")
	private static <T extends Throwable> RuntimeException sneaky(Throwable failure) throws T {
		throw (T) failure;
	}

	@ParameterizedTest(name = "{0}")
	@MethodSource("misbehaviours")
	void aFramingThatMisbehavesClosesItsConnectionOnly(String what, Misbehaviour misbehaviour) {
		Recorder recorder = new Recorder();
		LeaderFollowersPool pool = this.engine.pool(2, 4);
		TcpServer server = this.engine.start(TcpServer.builder(pool).framing(new OwnFraming() {
			@Override
			boolean found(ByteBuffer input, Frame frame, int length) {
				if (length != 1) {
					return frame.complete(1, length, length + 1);
				}
				try {
					return misbehaviour.found(input, frame, length);
				}
				catch (Throwable ex) {
					throw FramingOverSocketTests.<RuntimeException>sneaky(ex);
				}
			}
		}).handler(recorder));
		Peer other = this.engine.connect(server).send("\2ab");
		assertThat(other.read(3)).isEqualTo("\2ab".getBytes());
		Peer peer = this.engine.connect(server).send("\3abc\1x\2de");
		assertThat(peer.read(4)).isEqualTo("\3abc".getBytes());
		peer.awaitClosed();
		assertThat(recorder.awaitClose(2)).hasSize(4)
			.startsWith("open", "abc")
			.endsWith("close MALFORMED")
			.element(2)
			.asString()
			.startsWith("error ");
		other.send("\2cd");
		assertThat(other.read(3)).isEqualTo("\2cd".getBytes());
		Engine.awaitIdle(pool);
	}

	@Test
	void aFramingThatMovesPositionAndLimitDoesNoHarm() {
		TcpServer server = this.engine.start(TcpServer.builder(this.engine.pool(2, 4)).framing(new OwnFraming() {
			@Override
			boolean found(ByteBuffer input, Frame frame, int length) {
				input.limit(input.position() + length + 1);
				input.get(new byte[length + 1]);
				return frame.complete(1, length, length + 1);
			}
		}).handler(ECHO));
		assertThat(this.engine.connect(server).send("\2ab\0\3cde").read(8)).isEqualTo("\2ab\0\3cde".getBytes());
	}

	/** The engine decodes and skips parts of messages as well. */
	@Test
	void aFramingThatMovesThePositionBehindPartsDoesNoHarm() {
		TcpServer server = this.engine.start(TcpServer.builder(this.engine.pool(1, 1)).framing(new Framing() {
			@Override
			public boolean decode(ByteBuffer input, Frame frame) {
				int start = input.position();
				while (input.hasRemaining()) {
					if (input.get() == '.') {
						int length = input.position() - start;
						return frame.complete(0, length - 1, length);
					}
				}
				int scanned = input.position() - start;
				return (scanned > frame.maxMessageSize()) ? frame.tooLarge(0, scanned, Frame.UNKNOWN)
						: frame.incomplete(0);
			}

			@Override
			public void encode(ByteBuffer payload, ByteBuffer output) {
				output.put(payload).put((byte) '.');
			}

			@Override
			public int maxFrameLength(int payloadLength) {
				return payloadLength + 1;
			}
		}).maxMessageSize(10).skipOversizedMessages(true).handler(ECHO));
		Peer peer = this.engine.connect(server);
		String all = "ab." + "x".repeat(50) + ".cd.";
		for (int at = 0; at < all.length(); at++) {
			peer.send(all.substring(at, at + 1));
			int received = at + 1;
			Engine.eventually().until(() -> server.snapshot().receivedBytes() == received);
		}
		assertThat(peer.read(6)).isEqualTo("ab.cd.".getBytes());
	}

	@ParameterizedTest
	@ValueSource(ints = { 10, 40_000, 150_000 })
	void aFramingMayRemoveEscapesInPlace(int length) {
		// Two bytes in the stream make one in the message, ended by a zero.
		Framing escaped = new Framing() {
			@Override
			public boolean decode(ByteBuffer input, Frame frame) {
				int start = input.position();
				for (int i = start + frame.scanned(); i < input.limit(); i++) {
					if (input.get(i) == 0) {
						int to = start;
						for (int from = start; from < i; from++) {
							byte b = input.get(from);
							input.put(to++, (b == '\\') ? (byte) (input.get(++from) - 1) : b);
						}
						return frame.complete(0, to - start, i - start + 1);
					}
				}
				return frame.incomplete(input.remaining());
			}

			@Override
			public void encode(ByteBuffer payload, ByteBuffer output) {
				while (payload.hasRemaining()) {
					byte b = payload.get();
					if (b == 0 || b == '\\') {
						output.put((byte) '\\').put((byte) (b + 1));
					}
					else {
						output.put(b);
					}
				}
				output.put((byte) 0);
			}

			@Override
			public int maxFrameLength(int payloadLength) {
				return 2 * payloadLength + 1;
			}
		};
		byte[] payload = new byte[length];
		new Random(7).nextBytes(payload);
		for (int i = 0; i < length; i += 5) {
			payload[i] = (i % 2 == 0) ? (byte) 0 : (byte) '\\';
		}
		ConcurrentLinkedQueue<byte[]> received = new ConcurrentLinkedQueue<>();
		TcpServer server = this.engine.start(TcpServer.builder(this.engine.pool(2, 4))
			.framing(escaped)
			.maxMessageSize(150_000)
			.handler((connection, message) -> {
				byte[] copy = new byte[message.remaining()];
				message.get(copy);
				received.add(copy);
				message.reset();
				connection.send(message);
			}));
		byte[] frame = frame(escaped, payload);
		Peer peer = this.engine.connect(server);
		for (int i = 0; i < 3; i++) {
			peer.send(frame);
		}
		for (int i = 0; i < 3; i++) {
			assertThat(Arrays.equals(peer.read(frame.length), frame)).isTrue();
		}
		assertThat(received).hasSize(3).allMatch((message) -> Arrays.equals(message, payload));
	}

	@Test
	void theLentBufferIsBigEndianWhateverTheLastHandlerMadeOfIt() {
		ConcurrentLinkedQueue<ByteOrder> orders = new ConcurrentLinkedQueue<>();
		TcpServer server = this.engine.lines(this.engine.pool(1, 1), (connection, message) -> {
			orders.add(message.order());
			message.order(ByteOrder.LITTLE_ENDIAN);
			connection.send(message);
		});
		Peer peer = this.engine.connect(server).send("1\n2\n");
		peer.readLine();
		peer.readLine();
		peer.send("3\n").readLine();
		assertThat(orders).containsExactly(ByteOrder.BIG_ENDIAN, ByteOrder.BIG_ENDIAN, ByteOrder.BIG_ENDIAN);
	}

	@Test
	void aFramingSeesItsBuffersBigEndianWhateverAHandlerMadeOfThem() {
		Framing shorts = new Framing() {
			@Override
			public boolean decode(ByteBuffer input, Frame frame) {
				if (input.remaining() < 2) {
					return frame.incomplete(0);
				}
				int length = input.getShort(input.position());
				return (input.remaining() < 2 + length) ? frame.incomplete(0, length)
						: frame.complete(2, length, 2 + length);
			}

			@Override
			public void encode(ByteBuffer payload, ByteBuffer output) {
				output.putShort((short) payload.remaining());
				// Another framing may do this on the same thread.
				output.order(ByteOrder.LITTLE_ENDIAN);
				output.put(payload);
			}

			@Override
			public int maxFrameLength(int payloadLength) {
				return 2 + payloadLength;
			}
		};
		TcpServer server = this.engine
			.start(TcpServer.builder(this.engine.pool(1, 1)).framing(shorts).handler((connection, message) -> {
				message.order(ByteOrder.LITTLE_ENDIAN);
				connection.send(message);
			}));
		byte[] three = "\0\1a\0\2bc\0\3def".getBytes();
		Peer peer = this.engine.connect(server).send(three);
		assertThat(peer.read(three.length)).isEqualTo(three);
		assertThat(peer.send(three).read(three.length)).isEqualTo(three);
	}

	@Test
	void aHandlerMayDoWithPositionAndLimitWhatItLikes() {
		TcpServer server = this.engine.lines(this.engine.pool(1, 1), (connection, message) -> {
			byte[] first = new byte[message.remaining()];
			message.get(first);
			message.reset();
			assertThat(message.remaining()).isEqualTo(first.length);
			switch (new String(first, StandardCharsets.US_ASCII)) {
				case "clear" -> message.clear();
				case "flip" -> message.flip();
				case "rewind" -> message.rewind();
				case "limit" -> message.limit(message.capacity()).position(message.capacity());
				case "zero" -> message.limit(0);
				case "mark" -> message.position(message.limit()).mark();
				default -> {
				}
			}
			connection.send(ByteBuffer.wrap(first));
		});
		String all = "clear\nflip\nrewind\nlimit\nzero\nmark\nnothing\n";
		Peer peer = this.engine.connect(server).send(all + all + "tail");
		assertThat(peer.read(2 * all.length())).isEqualTo((all + all).getBytes());
		assertThat(peer.send("\n").readLine()).isEqualTo("tail");
	}

	@Test
	void aFramingThatSaysNothingIsNotBlamedForAnotherConnection() {
		LeaderFollowersPool pool = this.engine.pool(1, 1);
		TcpServer lengths = this.engine.start(TcpServer.builder(pool).framing(Framing.lengthField(4)).handler(ECHO));
		TcpServer own = this.engine.start(TcpServer.builder(pool).framing(new Framing() {
			@Override
			public boolean decode(ByteBuffer input, Frame frame) {
				return input.get(input.limit() - 1) == '.' && frame.complete(0, input.remaining(), input.remaining());
			}

			@Override
			public void encode(ByteBuffer payload, ByteBuffer output) {
				output.put(payload);
			}

			@Override
			public int maxFrameLength(int payloadLength) {
				return payloadLength;
			}
		}).handler(ECHO));
		this.engine.connect(lengths).send(new byte[] { -1, -1, -1, -1 }).awaitClosed();
		Peer peer = this.engine.connect(own).send("ab");
		Engine.eventually().until(() -> own.snapshot().receivedBytes() == 2);
		assertThat(peer.send("c.").read(4)).isEqualTo("abc.".getBytes());
	}

}
