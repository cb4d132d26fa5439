package org.leaderfollowers.docs;

import java.net.InetAddress;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

import org.leaderfollowers.Connection;
import org.leaderfollowers.Correlation;
import org.leaderfollowers.Framing;
import org.leaderfollowers.LeaderFollowersPool;
import org.leaderfollowers.TcpServer;

/**
 * A server whose handler has a conversation with its client: {@code BEGIN}, some
 * bookings, and {@code COMMIT} or {@code ROLLBACK}. It asks for a confirmation before it
 * books.
 */
final class TransferServer {

	private static final Duration PATIENCE = Duration.ofSeconds(30);

	/** The completed bookings. */
	final List<String> booked = Collections.synchronizedList(new ArrayList<>());

	TcpServer start(LeaderFollowersPool pool) {
		// tag::server[]
		TcpServer server = TcpServer.builder(pool)
			.name("transfers")
			.port(0)
			.framing(Framing.line())
			.correlation(Correlation.inOrder())
			.handler(this::transfer)
			// end::server[]
			.address(InetAddress.getLoopbackAddress())
			// tag::server[]
			.build();
		server.start();
		// end::server[]
		return server;
	}

	// tag::handler[]
	private void transfer(Connection connection, ByteBuffer message) {
		List<String> bookings = new ArrayList<>();
		String line = text(message);
		while (!line.equals("COMMIT") && !line.equals("ROLLBACK")) {
			if (!line.equals("BEGIN")) {
				bookings.add(line);
			}
			connection.send(bytes("OK"));
			line = text(connection.receive(PATIENCE)); // <1>
		}
		if (line.equals("COMMIT")) {
			ByteBuffer question = bytes("Book " + bookings.size() + " entries?");
			String answer = text(connection.exchange(question, PATIENCE)); // <2>
			if (answer.equals("yes")) {
				this.booked.addAll(bookings);
			}
		}
		connection.send(bytes("END"));
	}
	// end::handler[]

	private static String text(ByteBuffer message) {
		return StandardCharsets.UTF_8.decode(message).toString();
	}

	private static ByteBuffer bytes(String text) {
		return StandardCharsets.UTF_8.encode(text);
	}

}
