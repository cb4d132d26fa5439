package org.leaderfollowers.docs;

import java.net.InetAddress;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;

import org.junit.jupiter.api.Test;
import org.leaderfollowers.Framing;
import org.leaderfollowers.LeaderFollowersPool;
import org.leaderfollowers.TcpServer;

import static org.assertj.core.api.Assertions.assertThat;

/** Tests for {@link LedgerClient}. */
class LedgerClientTests {

	@Test
	void booksOnEitherAddress() {
		try (LeaderFollowersPool pool = LeaderFollowersPool.builder().threads(2, 8).build()) {
			try (LedgerClient ledger = new LedgerClient(pool, start(pool).address(), start(pool).address())) {
				assertThat(ledger.book(1, "rent 500")).isEqualTo("1 rent 500 booked");
				assertThat(ledger.book(2, "gas 80")).isEqualTo("2 gas 80 booked");
			}
		}
	}

	private static TcpServer start(LeaderFollowersPool pool) {
		TcpServer server = TcpServer.builder(pool)
			.address(InetAddress.getLoopbackAddress())
			.port(0)
			.framing(Framing.line())
			.handler((connection, message) -> connection.send(reply(message)))
			.build();
		server.start();
		return server;
	}

	private static ByteBuffer reply(ByteBuffer message) {
		return StandardCharsets.US_ASCII.encode(StandardCharsets.US_ASCII.decode(message) + " booked");
	}

}
