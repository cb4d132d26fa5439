package org.leaderfollowers.benchmarks.attack;

import java.net.InetAddress;
import java.time.Duration;
import java.util.concurrent.Callable;
import java.util.concurrent.atomic.AtomicInteger;

import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.leaderfollowers.Connection;
import org.leaderfollowers.Framing;
import org.leaderfollowers.LeaderFollowersPool;
import org.leaderfollowers.MessageHandler;
import org.leaderfollowers.TcpServer;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * A check that cannot fail shows nothing, so each rule of the client is broken here.
 */
class HonestClientTests {

	private final LeaderFollowersPool pool = LeaderFollowersPool.builder().name("test").build();

	private final Tally tally = new Tally();

	private final AtomicInteger messages = new AtomicInteger();

	@AfterEach
	void close() {
		this.pool.close();
	}

	@Test
	void repliesInOrderAreCounted() {
		run(Connection::send, 2, () -> this.tally.served() > 30);
		assertThat(this.tally.failed()).isZero();
		assertThat(this.tally.wrong()).isZero();
		assertThat(this.tally.nextFailure()).isNull();
	}

	@Test
	void aReplyThatComesTwiceIsWrong() {
		run((connection, message) -> {
			connection.send(message.duplicate());
			if (this.messages.incrementAndGet() % 10 == 0) {
				connection.send(message);
			}
		}, 0, () -> this.tally.wrong() > 0);
		assertThat(this.tally.nextFailure()).contains("was answered by");
	}

	@Test
	void aReplyThatComesTwiceInTheEndIsWrong() {
		run((connection, message) -> {
			connection.send(message.duplicate());
			// The last request of each connection
			if (this.messages.incrementAndGet() % 3 == 0) {
				connection.send(message);
			}
		}, 1, () -> this.tally.wrong() > 0);
		assertThat(this.tally.nextFailure()).contains("more replies than requests");
	}

	@Test
	void aReplyThatIsMissingIsWrong() {
		run((connection, message) -> {
			if (this.messages.incrementAndGet() != 2) {
				connection.send(message);
			}
		}, 0, () -> this.tally.wrong() > 0);
	}

	@Test
	void requestsOfAClosedConnectionHaveFailed() {
		run((connection, message) -> connection.close(), 0, () -> this.tally.failed() >= 3);
		assertThat(this.tally.served()).isZero();
	}

	@Test
	void lengthFieldsAreAWireToo() {
		run(Framing.lengthField(Integer.BYTES), Wire.LENGTH_FIELD, Connection::send, 2, () -> this.tally.served() > 30);
		assertThat(this.tally.failed() + this.tally.wrong()).isZero();
	}

	private void run(MessageHandler handler, int perConnection, Callable<Boolean> until) {
		run(Framing.line(), Wire.LINE, handler, perConnection, until);
	}

	private void run(Framing framing, Wire wire, MessageHandler handler, int perConnection, Callable<Boolean> until) {
		TcpServer server = TcpServer.builder(this.pool)
			.address(InetAddress.getLoopbackAddress())
			.port(0)
			.framing(framing)
			.handler(handler)
			.build();
		server.start();
		try (HonestClient client = new HonestClient(
				new HonestClient.Options("honest", server.address(), InetAddress.getLoopbackAddress(), wire, null,
						perConnection, Duration.ofMillis(1), Duration.ofSeconds(60)),
				this.tally)) {
			Awaitility.await().atMost(Duration.ofSeconds(60)).until(until);
		}
	}

}
