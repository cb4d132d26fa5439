package org.leaderfollowers;

import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.stream.Stream;

import com.code_intelligence.jazzer.junit.FuzzTest;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.params.provider.MethodSource;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Any replies of a server to a client with several requests: each exchange ends, with the
 * reply that the server has sent to this request, or with a reason.
 */
class ClientRepliesFuzzTests {

	private static final Duration TIMEOUT = Duration.ofSeconds(60);

	private static final int SIZE = 64;

	/** The key of a line is its first character, if a colon follows. */
	private static final Correlation BY_KEY = Correlation.byKey(ClientRepliesFuzzTests::key);

	/** The correlations, and what the peer sees of a request. */
	private enum Kind {

		KEYED(Framing.line(), BY_KEY), STAMPED(Framing.lengthField(2), Correlation.stamped(0, 2)),
		ORDERED(Framing.line(), Correlation.inOrder()), REDIS(Framing.resp(), Correlation.inOrder());

		final Framing framing;

		final Correlation correlation;

		Kind(Framing framing, Correlation correlation) {
			this.framing = framing;
			this.correlation = correlation;
		}

		/** The payload of a request; the number of a stamped one is written later. */
		byte[] request(int number) {
			return switch (this) {
				case STAMPED -> new byte[] { 0, 0, (byte) number };
				case REDIS -> "+%d\r\n".formatted(number).getBytes(StandardCharsets.US_ASCII);
				default -> "%d:".formatted(number).getBytes(StandardCharsets.US_ASCII);
			};
		}

	}

	private static LeaderFollowersPool pool;

	private static ServerSocket listener;

	private static Object key(ByteBuffer message) {
		boolean hasKey = message.remaining() > 1 && message.get(message.position() + 1) == ':';
		return hasKey ? (Object) message.get(message.position()) : null;
	}

	private static synchronized void start() throws IOException {
		if (pool == null) {
			pool = LeaderFollowersPool.builder().name("replies").threads(2, 4).build();
			pool.start();
			listener = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
			listener.setSoTimeout((int) TIMEOUT.toMillis());
		}
	}

	/**
	 * Replies from which the fuzzer begins, behind the kind, the number and the splits.
	 */
	static Stream<byte[]> replies() {
		return Stream.of("000304", "010304", "020304", "030304")
			.flatMap((choices) -> Stream
				.of("313a610a303a0a323a7a7a0a", "000300000061000200020003000162", "2b6f6b0d0a2d0d0a2a310d0a",
						"31" + "3a".repeat(70) + "0a303a0a", "780a303a78")
				.map((replies) -> HexFormat.of().parseHex(choices + replies)));
	}

	@MethodSource("replies")
	@FuzzTest
	void exchangeEndsWithItsOwnReplyOrAReason(byte[] bytes) throws Exception {
		start();
		FuzzInput input = new FuzzInput(bytes);
		Kind kind = Kind.values()[input.below(4)];
		int count = 1 + input.below(4);
		int piece = 1 + input.below(64);
		byte[] stream = input.rest();
		FuzzedDecoding expected = FuzzedDecoding.whole(new FuzzedFraming(kind.framing, SIZE), false, stream);
		TcpClient client = TcpClient.builder(pool)
			.address("localhost", listener.getLocalPort())
			.framing(kind.framing)
			.maxMessageSize(SIZE)
			.correlation(kind.correlation)
			.requestTimeout(TIMEOUT)
			.backoff(TIMEOUT, TIMEOUT)
			.handler((connection, message) -> {
			})
			.build();
		client.start();
		try (Socket peer = listener.accept()) {
			peer.setSoTimeout((int) TIMEOUT.toMillis());
			assertThat(client.awaitConnected(TIMEOUT)).isTrue();
			List<CompletableFuture<ByteBuffer>> exchanges = new ArrayList<>();
			for (int i = 0; i < count; i++) {
				exchanges.add(client.exchangeAsync(ByteBuffer.wrap(kind.request(i))));
			}
			int length = count * kind.framing.maxFrameLength(kind.request(0).length);
			readRequests(peer.getInputStream(), kind, count, length);
			send(peer, stream, piece);
			peer.shutdownOutput();
			check(kind, exchanges, expected);
		}
		finally {
			client.close(Duration.ZERO);
		}
	}

	private static void readRequests(InputStream in, Kind kind, int count, int length) throws IOException {
		int least = switch (kind) {
			case STAMPED -> 5;
			case REDIS -> 4;
			default -> 3;
		};
		assertThat(in.readNBytes(count * least)).hasSizeLessThanOrEqualTo(length);
	}

	private static void send(Socket peer, byte[] stream, int piece) throws IOException {
		try {
			for (int at = 0; at < stream.length; at += piece) {
				peer.getOutputStream().write(stream, at, Math.min(piece, stream.length - at));
			}
		}
		catch (SocketException ex) {
			// The client may close as soon as it has read something invalid.
		}
	}

	private static void check(Kind kind, List<CompletableFuture<ByteBuffer>> exchanges, FuzzedDecoding expected)
			throws InterruptedException, TimeoutException {
		for (int i = 0; i < exchanges.size(); i++) {
			String reply;
			try {
				ByteBuffer message = exchanges.get(i).get(TIMEOUT.toSeconds(), TimeUnit.SECONDS);
				byte[] payload = new byte[message.remaining()];
				message.get(message.position(), payload);
				reply = HexFormat.of().formatHex(payload);
			}
			catch (ExecutionException ex) {
				assertThat(ex.getCause()).isInstanceOf(ExchangeLostException.class);
				assertThat(ex.getCause().getMessage()).matches("[ -~]+");
				continue;
			}
			switch (kind) {
				case KEYED -> {
					String begin = HexFormat.of().formatHex(kind.request(i));
					assertThat(expected.messages.stream().filter((message) -> message.startsWith(begin)).findFirst())
						.contains(reply);
				}
				case STAMPED -> {
					// The client has restored its own bytes, which are zero.
					String rest = reply.substring(4);
					assertThat(reply).startsWith("0000");
					assertThat(expected.messages)
						.anyMatch((message) -> message.substring(4 * (message.length() >= 4 ? 1 : 0)).equals(rest));
				}
				default -> assertThat(reply).isEqualTo(expected.messages.get(i));
			}
		}
	}

}
