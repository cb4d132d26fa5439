package org.leaderfollowers;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.net.DatagramPacket;
import java.net.DatagramSocket;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.SocketException;
import java.net.SocketTimeoutException;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.HexFormat;
import java.util.List;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.stream.Stream;

import com.code_intelligence.jazzer.junit.FuzzTest;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.params.provider.MethodSource;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Any bytes of a peer on a real socket, while another peer of the same server is served:
 * the bad peer gets the replies to its messages and an end, the good one gets its reply,
 * and no memory is left behind.
 */
class BadPeerFuzzTests {

	private static final int DEADLINE_MILLIS = 60_000;

	private static final int SIZE = 64;

	/** Ends the connections of the bad peers at changing addresses. */
	private static int address;

	private static World world;

	/** The servers and their good peers. */
	private static final class World {

		final LeaderFollowersPool pool = LeaderFollowersPool.builder().name("fuzz").threads(2, 4).build();

		final Queue<Throwable> unexpected = new ConcurrentLinkedQueue<>();

		final List<Target> targets = new ArrayList<>();

		final UdpServer datagrams = UdpServer.builder(this.pool)
			.port(0)
			.maxMessageSize(SIZE)
			.maxReplyRate(0)
			.handler(handler())
			.build();

		World() throws IOException {
			for (boolean skips : new boolean[] { false, true }) {
				add(Framing.line(), "ping", skips);
				add(Framing.lengthField(2).offset(1), "ping", skips);
				add(EnclosedFramingTests.JT808, "ping", skips);
				add(Framing.resp(), "+ping\r\n", skips);
			}
			this.datagrams.start();
		}

		private void add(Framing framing, String ping, boolean skips) throws IOException {
			TcpServer server = TcpServer.builder(this.pool)
				.port(0)
				.framing(framing)
				.maxMessageSize(SIZE)
				.skipOversizedMessages(skips)
				.handler(handler())
				.build();
			server.start();
			this.targets.add(new Target(server, framing, skips, encode(framing, ping.getBytes())));
		}

		private MessageHandler handler() {
			return new MessageHandler() {

				@Override
				public void onMessage(Connection connection, ByteBuffer message) {
					connection.send(message);
				}

				@Override
				public void onError(Connection connection, Throwable failure) {
					// A peer that aborts causes an I/O exception.
					if (!(failure instanceof IOException) && !(failure instanceof FramingException)) {
						World.this.unexpected.add(failure);
					}
				}

			};
		}

	}

	private static final class Target {

		final TcpServer server;

		final FuzzedFraming framing;

		final boolean skips;

		private final byte[] ping;

		private final Socket good;

		Target(TcpServer server, Framing framing, boolean skips, byte[] ping) throws IOException {
			this.server = server;
			this.framing = new FuzzedFraming(framing, SIZE);
			this.skips = skips;
			this.ping = ping;
			this.good = new Socket(InetAddress.getLoopbackAddress(), server.port());
			this.good.setSoTimeout(DEADLINE_MILLIS);
		}

		void serveGoodPeer() throws IOException {
			this.good.getOutputStream().write(this.ping);
			assertThat(this.good.getInputStream().readNBytes(this.ping.length)).as("the good peer")
				.isEqualTo(this.ping);
		}

	}

	private static byte[] encode(Framing framing, byte[] payload) {
		ByteBuffer frame = ByteBuffer.allocate(framing.maxFrameLength(payload.length));
		framing.encode(ByteBuffer.wrap(payload), frame);
		return Arrays.copyOf(frame.array(), frame.position());
	}

	/** Streams from which the fuzzer begins, behind the server and the splits. */
	static Stream<byte[]> streams() {
		return Stream
			.of("61620a630a" + "64".repeat(70) + "0a650a", "010002616202000003ffff", "7e617d027e627e7e7d7e",
					"2a320d0a24320d0a61620d0a3a310d0a2b0d0a24")
			.flatMap((stream) -> Stream
				.of("000003070000", "010103010502", "020003070000", "030003070000", "080502020202")
				.map((choices) -> HexFormat.of().parseHex(choices + stream)));
	}

	@MethodSource("streams")
	@FuzzTest
	void badPeerAffectsNobodyElse(byte[] bytes) throws IOException {
		World world = world();
		FuzzInput input = new FuzzInput(bytes);
		int number = input.below(world.targets.size() + 1);
		FuzzInput splits = new FuzzInput(input.bytes(1 + input.below(4)));
		boolean aborts = input.below(8) == 7;
		byte[] stream = input.rest();
		if (number == world.targets.size()) {
			sendDatagrams(world.datagrams.port(), stream, splits);
		}
		else {
			talk(world.targets.get(number), stream, splits, aborts);
		}
		assertThat(world.unexpected).isEmpty();
		Awaitility.await()
			.pollInSameThread()
			.pollDelay(Duration.ZERO)
			.pollInterval(Duration.ofMillis(1))
			.atMost(Duration.ofMillis(DEADLINE_MILLIS))
			.until(() -> world.pool.snapshot().bufferedBytes() == 0);
	}

	@AfterAll
	static synchronized void closePool() throws IOException {
		if (world != null) {
			for (Target target : world.targets) {
				target.good.close();
			}
			world.pool.close();
			world = null;
		}
	}

	private static synchronized World world() throws IOException {
		if (world == null) {
			world = new World();
		}
		return world;
	}

	private static void talk(Target target, byte[] stream, FuzzInput splits, boolean aborts) throws IOException {
		FuzzedDecoding expected = FuzzedDecoding.whole(target.framing, target.skips, stream);
		ByteArrayOutputStream replies = new ByteArrayOutputStream();
		for (String message : expected.messages) {
			if (!message.equals("oversized")) {
				replies.writeBytes(encode(target.framing.framing, HexFormat.of().parseHex(message)));
			}
		}
		boolean mayBeReset = !expected.end.equals("open");
		// Else the ports of one address would be used up.
		InetAddress server = InetAddress.getByAddress(new byte[] { 127, 0, 0, (byte) (1 + address++ % 250) });
		try (Socket bad = new Socket()) {
			bad.setSoTimeout(DEADLINE_MILLIS);
			bad.setTcpNoDelay(true);
			bad.connect(new InetSocketAddress(server, target.server.port()));
			for (int at = 0; at < stream.length;) {
				int length = Math.min(stream.length - at, 1 + splits.below(256));
				bad.getOutputStream().write(stream, at, length);
				at += length;
			}
			target.serveGoodPeer();
			if (aborts) {
				bad.setSoLinger(true, 0);
				return;
			}
			bad.shutdownOutput();
			byte[] received = readAll(bad.getInputStream(), mayBeReset);
			assertThat(replies.toByteArray()).as(expected.observed()).startsWith(received);
			if (!mayBeReset) {
				assertThat(received).isEqualTo(replies.toByteArray());
			}
		}
		catch (SocketException ex) {
			assertThat(mayBeReset).as("%s", ex).isTrue();
		}
		target.serveGoodPeer();
	}

	private static byte[] readAll(InputStream in, boolean mayBeReset) throws IOException {
		ByteArrayOutputStream all = new ByteArrayOutputStream();
		try {
			for (int b = in.read(); b >= 0; b = in.read()) {
				all.write(b);
			}
		}
		catch (SocketException ex) {
			assertThat(mayBeReset).as("%s", ex).isTrue();
		}
		return all.toByteArray();
	}

	private static void sendDatagrams(int port, byte[] stream, FuzzInput splits) throws IOException {
		try (DatagramSocket socket = new DatagramSocket(0, InetAddress.getLoopbackAddress())) {
			socket.setSoTimeout(200);
			InetSocketAddress server = new InetSocketAddress(InetAddress.getLoopbackAddress(), port);
			Set<String> sent = new HashSet<>();
			for (int at = 0; at < stream.length && sent.size() < 16;) {
				int length = Math.min(stream.length - at, splits.below(256));
				byte[] datagram = Arrays.copyOfRange(stream, at, at + length);
				socket.send(new DatagramPacket(datagram, length, server));
				if (length <= SIZE) {
					sent.add(HexFormat.of().formatHex(datagram));
				}
				at += Math.max(1, length);
			}
			byte[] last = "the last datagram".getBytes();
			String end = HexFormat.of().formatHex(last);
			long deadline = System.nanoTime() + DEADLINE_MILLIS * 1_000_000L;
			String received = "";
			while (!received.equals(end)) {
				// A datagram may be lost.
				assertThat(System.nanoTime()).isLessThan(deadline);
				socket.send(new DatagramPacket(last, last.length, server));
				DatagramPacket reply = new DatagramPacket(new byte[1024], 1024);
				try {
					socket.receive(reply);
				}
				catch (SocketTimeoutException ex) {
					continue;
				}
				received = HexFormat.of().formatHex(reply.getData(), 0, reply.getLength());
				assertThat(received.equals(end) || sent.contains(received)).as("%s was sent", received).isTrue();
			}
		}
	}

}
