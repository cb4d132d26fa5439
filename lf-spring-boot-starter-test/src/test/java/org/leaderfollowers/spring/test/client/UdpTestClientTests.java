package org.leaderfollowers.spring.test.client;

import java.io.IOException;
import java.net.DatagramPacket;
import java.net.DatagramSocket;
import java.net.InetAddress;
import java.nio.charset.StandardCharsets;
import java.time.Duration;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.Timeout.ThreadMode;
import org.leaderfollowers.LeaderFollowersPool;
import org.leaderfollowers.UdpServer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

/**
 * Tests for {@link UdpTestClient}.
 */
@Timeout(120)
class UdpTestClientTests {

	private static final Duration SHORT = Duration.ofMillis(200);

	@Test
	void sendsAndReceivesDatagrams() throws IOException {
		try (DatagramSocket server = server(); UdpTestClient client = LfTestClient.udp(server.getLocalPort()).open()) {
			client.send("a", "b\n");
			DatagramPacket first = receive(server);
			assertThat(text(first)).isEqualTo("a");
			assertThat(first.getSocketAddress()).isEqualTo(client.localAddress());
			assertThat(text(receive(server))).isEqualTo("b\n");
			for (String reply : new String[] { "A", "", "B\n" }) {
				byte[] bytes = reply.getBytes(StandardCharsets.UTF_8);
				server.send(new DatagramPacket(bytes, bytes.length, first.getSocketAddress()));
			}
			assertThat(client).receives("A", "", "B\n").receivesNothing();
		}
	}

	@Test
	void talksToAServer() {
		try (LeaderFollowersPool pool = LeaderFollowersPool.builder().name("udp").threads(2, 4).build()) {
			UdpServer server = UdpServer.builder(pool)
				.port(0)
				.handler((datagram, message) -> datagram.send(message))
				.build();
			server.start();
			try (UdpTestClient client = LfTestClient.udp(server.port()).open()) {
				client.send("hello");
				assertThat(client).receives("hello").receivesNothing();
			}
		}
	}

	/** Receiving cannot be interrupted, so the test needs a thread of its own. */
	@Test
	@Timeout(value = 60, threadMode = ThreadMode.SEPARATE_THREAD)
	void waitsAsLongAsTheAssertionSays() throws IOException {
		try (DatagramSocket server = server();
				UdpTestClient client = LfTestClient.udp(server.getLocalPort()).timeout(Duration.ofHours(1)).open()) {
			assertThat(client).receivesNothingFor(Duration.ofMillis(1));
		}
	}

	@Test
	void doesNotWaitForEver() throws IOException {
		try (DatagramSocket server = server();
				UdpTestClient client = LfTestClient.udp(server.getLocalPort()).timeout(SHORT).open()) {
			client.send("a");
			assertThatExceptionOfType(AssertionError.class).isThrownBy(client::receive)
				.withMessage("UDP client of port %d expected a message within 0.2s, but received nothing",
						server.getLocalPort());
		}
	}

	@Test
	void waitsForAWhileBeforeNothingHasArrived() throws IOException {
		try (DatagramSocket server = server(); UdpTestClient client = LfTestClient.udp(server.getLocalPort()).open()) {
			// The shortest time is no endless one.
			assertThat(client).receivesNothingFor(Duration.ofNanos(1));
			long begin = System.nanoTime();
			assertThat(client).receivesNothing();
			assertThat(Duration.ofNanos(System.nanoTime() - begin)).isGreaterThan(Duration.ofMillis(100));
		}
	}

	@Test
	void tellsThatNobodyListens() throws IOException {
		int port;
		try (DatagramSocket closed = server()) {
			port = closed.getLocalPort();
		}
		try (UdpTestClient client = LfTestClient.udp(port).timeout(SHORT).open()) {
			assertThatExceptionOfType(AssertionError.class).isThrownBy(() -> client.exchange("a"))
				.withMessageContaining("UDP client of port " + port);
		}
	}

	@Test
	void closedClientDoesNotTellThatNothingArrived() throws IOException {
		try (DatagramSocket server = server()) {
			UdpTestClient client = LfTestClient.udp(server.getLocalPort()).open();
			client.close();
			assertThatExceptionOfType(AssertionError.class).isThrownBy(() -> assertThat(client).receivesNothing());
		}
		assertThatIllegalArgumentException().isThrownBy(() -> LfTestClient.udp(0));
	}

	@Test
	void hasNoConnectionToClose() throws IOException {
		try (DatagramSocket server = server(); UdpTestClient client = LfTestClient.udp(server.getLocalPort()).open()) {
			assertThatExceptionOfType(UnsupportedOperationException.class)
				.isThrownBy(() -> assertThat(client).isClosedByServer())
				.withMessageContaining("it sends datagrams");
		}
	}

	@Test
	void textIsInTheCharsetOfTheClient() throws IOException {
		try (DatagramSocket server = server();
				UdpTestClient client = LfTestClient.udp(server.getLocalPort())
					.charset(StandardCharsets.ISO_8859_1)
					.open()) {
			client.send("\u00e9");
			DatagramPacket packet = receive(server);
			assertThat(packet.getLength()).isEqualTo(1);
			assertThat(packet.getData()[0]).isEqualTo((byte) 0xe9);
		}
	}

	private static DatagramSocket server() throws IOException {
		DatagramSocket socket = new DatagramSocket(0, InetAddress.getLoopbackAddress());
		socket.setSoTimeout(10_000);
		return socket;
	}

	private static DatagramPacket receive(DatagramSocket socket) throws IOException {
		DatagramPacket packet = new DatagramPacket(new byte[1500], 1500);
		socket.receive(packet);
		return packet;
	}

	private static String text(DatagramPacket packet) {
		return new String(packet.getData(), 0, packet.getLength(), StandardCharsets.UTF_8);
	}

}
