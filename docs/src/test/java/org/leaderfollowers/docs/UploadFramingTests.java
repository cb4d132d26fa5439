package org.leaderfollowers.docs;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;

import org.junit.jupiter.api.Test;
import org.leaderfollowers.Framing;
import org.leaderfollowers.LeaderFollowersPool;
import org.leaderfollowers.TcpServer;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * The framing of uploads asks for large bodies, and hands them over in parts.
 */
class UploadFramingTests {

	@Test
	void aBodyThatIsLargerThanAMessageArrivesInParts() throws IOException {
		Framing framing = new UploadFraming();
		try (LeaderFollowersPool pool = LeaderFollowersPool.builder().name("uploads").threads(1, 4).build();
				TcpServer server = TcpServer.builder(pool)
					.port(0)
					.framing(framing)
					.maxMessageSize(4096)
					.handler((connection, message) -> {
						long[] left = (long[]) connection.attributes().computeIfAbsent("left", (key) -> new long[1]);
						if (left[0] == 0) {
							left[0] = Long.parseLong(StandardCharsets.US_ASCII.decode(message).toString());
						}
						else {
							left[0] -= message.remaining();
							if (left[0] == 0) {
								connection.send(ByteBuffer.wrap("stored".getBytes(StandardCharsets.US_ASCII)));
							}
						}
					})
					.build()) {
			server.start();
			try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), server.port())) {
				socket.setSoTimeout(20_000);
				BufferedReader reader = new BufferedReader(
						new InputStreamReader(socket.getInputStream(), StandardCharsets.US_ASCII));
				socket.getOutputStream().write("100000\n".getBytes(StandardCharsets.US_ASCII));
				assertThat(reader.readLine()).isEqualTo("continue");
				socket.getOutputStream().write(new byte[100_000]);
				assertThat(reader.readLine()).isEqualTo("stored");
				socket.getOutputStream().write("3\nabc".getBytes(StandardCharsets.US_ASCII));
				assertThat(reader.readLine()).isEqualTo("stored");
				socket.getOutputStream().write("many\n".getBytes(StandardCharsets.US_ASCII));
				assertThat(reader.readLine()).isNull();
			}
		}
	}

}
