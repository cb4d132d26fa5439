package org.leaderfollowers;

import java.io.InputStream;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Tests for the idle timeout of a connection whose peer has read slowly.
 */
@Timeout(120)
class IdleAfterCongestionTests {

	private static final int REPLIES = 200;

	private static final int REPLY_BYTES = 60_000;

	@Test
	void idleTimeoutAppliesWhenNoBytesWaitAnyMore() throws Exception {
		CompletableFuture<CloseReason> reason = new CompletableFuture<>();
		try (LeaderFollowersPool pool = LeaderFollowersPool.builder().name("idle").build();
				TcpServer server = TcpServer.builder(pool)
					.address(InetAddress.getLoopbackAddress())
					.port(0)
					.framing(Framing.lengthField(2))
					.maxOutboundSize(2 * REPLIES * REPLY_BYTES)
					.idleTimeout(Duration.ofMillis(200))
					.writeTimeout(Duration.ofHours(1))
					.handler(new MessageHandler() {

						@Override
						public void onMessage(Connection connection, ByteBuffer message) {
							for (int i = 0; i < REPLIES; i++) {
								connection.send(ByteBuffer.allocate(REPLY_BYTES));
							}
						}

						@Override
						public void onClose(Connection connection, CloseReason closed) {
							reason.complete(closed);
						}

					})
					.build()) {
			server.start();
			try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), server.port())) {
				socket.getOutputStream().write(new byte[] { 0, 1, 'x' });
				await().atMost(Duration.ofSeconds(60))
					.until(() -> server.connections().anyMatch((connection) -> connection.pendingBytes() > 0));
				// The timer expires once, while bytes wait, and the write timeout
				// follows.
				await().atMost(Duration.ofSeconds(60))
					.until(() -> server.openConnections()
						.allMatch((connection) -> ((TcpConnection) connection).handle.timerDeadline
								- System.nanoTime() > TimeUnit.MINUTES.toNanos(30)));
				InputStream input = socket.getInputStream();
				assertThat(input.readNBytes(REPLIES * (REPLY_BYTES + 2))).hasSize(REPLIES * (REPLY_BYTES + 2));
				assertThat(reason.get(60, TimeUnit.SECONDS)).isEqualTo(CloseReason.IDLE_TIMEOUT);
			}
		}
	}

}
