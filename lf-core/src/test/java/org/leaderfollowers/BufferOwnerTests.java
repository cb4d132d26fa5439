package org.leaderfollowers;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.Random;
import java.util.concurrent.Callable;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

import javax.net.ssl.SSLContext;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.leaderfollowers.internal.transport.Certificates;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Connections share buffers for records and for messages that arrive in parts. If one
 * were returned twice, two connections would use it at the same time. Each connection
 * therefore sends a text of its own, and must see no other.
 */
@Tag("stress")
@Timeout(300)
class BufferOwnerTests {

	private static final int CLIENTS = 24;

	private static final int CONNECTIONS_PER_CLIENT = 8;

	private static final int MESSAGES_PER_CONNECTION = 15;

	/** Several records, and more than the buffer of a thread. */
	private static final int LARGEST = 60_000;

	private static final int CANARY = "canary 000000 ".length();

	@RegisterExtension
	final Engine engine = new Engine();

	/** What the handler has received of more than one connection. */
	private final Queue<String> mixed = new ConcurrentLinkedQueue<>();

	private final SSLContext context = Certificates.client();

	@Test
	void everyConnectionSeesItsOwnBytesOnlyAlthoughOthersCloseAndReset() throws Exception {
		// So many that some of them share the places of their buffers.
		LeaderFollowersPool pool = this.engine.pool(CLIENTS, CLIENTS);
		TcpServer server = this.engine.start(TcpServer.builder(pool)
			.framing(Framing.line())
			.maxMessageSize(2 * LARGEST)
			.handler(this::echo)
			.tls(ServerTls.of(Certificates.server())));
		ExecutorService executor = Executors.newFixedThreadPool(CLIENTS);
		try {
			List<Callable<Void>> clients = new ArrayList<>();
			for (int i = 0; i < CLIENTS; i++) {
				int client = i;
				clients.add(() -> {
					Random random = new Random(client);
					for (int connection = 0; connection < CONNECTIONS_PER_CLIENT; connection++) {
						talk(server, "canary %06d ".formatted(client * 1000 + connection), random);
					}
					return null;
				});
			}
			for (Future<Void> client : executor.invokeAll(clients)) {
				client.get();
			}
		}
		finally {
			executor.shutdownNow();
		}
		assertThat(this.mixed).isEmpty();
		Engine.eventually().untilAsserted(() -> {
			assertThat(server.snapshot().openConnections()).isZero();
			assertThat(pool.snapshot().bufferedBytes()).isZero();
		});
		assertThat(server.snapshot().closedConnections().get(CloseReason.HANDLER_ERROR)).isZero();
	}

	private void echo(Connection connection, ByteBuffer message) {
		String text = Engine.text(message);
		if (!text.equals(repeat(text.substring(0, Math.min(CANARY, text.length())), text.length()))) {
			this.mixed.add(text);
		}
		connection.send(message);
	}

	private static String repeat(String canary, int length) {
		return canary.repeat(length / CANARY + 1).substring(0, length);
	}

	/** Sends messages in parts, and leaves at any point. */
	private void talk(TcpServer server, String canary, Random random) throws IOException {
		Socket socket = new Socket();
		try (TlsPeer peer = new TlsPeer(this.context, socket, server.port(), 0, null)) {
			int messages = random.nextInt(MESSAGES_PER_CONNECTION);
			for (int i = 0; i < messages; i++) {
				String text = repeat(canary, CANARY + random.nextInt(LARGEST));
				int split = random.nextInt(text.length());
				peer.send(text.substring(0, split)).send(text.substring(split) + "\n");
				assertThat(new String(peer.read(text.length() + 1), StandardCharsets.ISO_8859_1))
					.isEqualTo(text + "\n");
			}
			leave(peer, socket, canary, random);
		}
	}

	private static void leave(TlsPeer peer, Socket socket, String canary, Random random) throws IOException {
		try {
			if (random.nextBoolean()) {
				peer.send(repeat(canary, random.nextInt(LARGEST)));
			}
			if (random.nextBoolean()) {
				// The reply is on its way, and is written to a connection that is reset.
				peer.send("\n" + repeat(canary, CANARY + random.nextInt(LARGEST)) + "\n");
			}
			if (random.nextBoolean()) {
				socket.setSoLinger(true, 0);
				socket.close();
			}
		}
		catch (UncheckedIOException ex) {
			throw new AssertionError("The server has closed the connection of " + canary, ex);
		}
	}

}
