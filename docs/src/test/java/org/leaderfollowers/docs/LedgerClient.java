package org.leaderfollowers.docs;

import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Duration;

import org.leaderfollowers.Correlation;
import org.leaderfollowers.Framing;
import org.leaderfollowers.LeaderFollowersPool;
import org.leaderfollowers.TcpClient;

/**
 * A client of a ledger. Each request is a line that begins with a number, and the reply
 * begins with the same number.
 */
final class LedgerClient implements AutoCloseable {

	private final TcpClient client;

	LedgerClient(LeaderFollowersPool pool, InetSocketAddress first, InetSocketAddress second) {
		// tag::client[]
		TcpClient client = TcpClient.builder(pool)
			.name("ledger")
			.address(first)
			.address(second)
			.connections(2)
			.framing(Framing.line())
			.correlation(Correlation.byKey(LedgerClient::number))
			.requestTimeout(Duration.ofSeconds(30))
			.build();
		client.start();
		// end::client[]
		this.client = client;
	}

	// tag::exchange[]
	private static String number(ByteBuffer line) {
		String text = StandardCharsets.US_ASCII.decode(line).toString();
		return text.substring(0, text.indexOf(' '));
	}

	String book(int number, String entry) {
		ByteBuffer request = StandardCharsets.US_ASCII.encode(number + " " + entry);
		ByteBuffer reply = this.client.exchange(request);
		return StandardCharsets.US_ASCII.decode(reply).toString();
	}
	// end::exchange[]

	@Override
	public void close() {
		this.client.close();
	}

}
