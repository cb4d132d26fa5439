package org.leaderfollowers.docs;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;

import org.junit.jupiter.api.Test;
import org.leaderfollowers.LeaderFollowersPool;

import static org.assertj.core.api.Assertions.assertThat;

/** Tests for {@link TransferServer}. */
class TransferServerTests {

	@Test
	void booksWhatIsConfirmed() throws Exception {
		TransferServer transfers = new TransferServer();
		try (LeaderFollowersPool pool = LeaderFollowersPool.builder().threads(1, 4).build();
				Socket socket = new Socket(InetAddress.getLoopbackAddress(), transfers.start(pool).port())) {
			socket.setSoTimeout(20_000);
			BufferedReader reader = new BufferedReader(
					new InputStreamReader(socket.getInputStream(), StandardCharsets.UTF_8));
			assertConversation(socket, reader, "BEGIN", "OK", "rent", "OK", "COMMIT", "Book 1 entries?", "yes", "END");
			assertConversation(socket, reader, "BEGIN", "OK", "gas", "OK", "ROLLBACK", "END");
			assertConversation(socket, reader, "BEGIN", "OK", "tea", "OK", "COMMIT", "Book 1 entries?", "no", "END");
		}
		assertThat(transfers.booked).containsExactly("rent");
	}

	private static void assertConversation(Socket socket, BufferedReader reader, String... lines) throws Exception {
		for (int i = 0; i < lines.length; i += 2) {
			socket.getOutputStream().write((lines[i] + "\n").getBytes(StandardCharsets.UTF_8));
			assertThat(reader.readLine()).isEqualTo(lines[i + 1]);
		}
	}

}
