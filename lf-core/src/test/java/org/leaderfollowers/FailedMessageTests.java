package org.leaderfollowers;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

import static org.assertj.core.api.Assertions.assertThat;

/** When a handler fails, it is told which message it could not handle. */
@Timeout(120)
class FailedMessageTests {

	@RegisterExtension
	final Engine engine = new Engine();

	private final List<String> told = new CopyOnWriteArrayList<>();

	/** Fails if the message says so, after it has changed the buffer. */
	private class Failing implements MessageHandler {

		@Override
		public void onMessage(Connection connection, ByteBuffer message) {
			String text = Engine.text(message);
			if (text.startsWith("fail")) {
				message.limit(message.position() + 2).position(message.position() + 1).mark();
				throw new IllegalStateException("as asked for");
			}
			connection.send(message);
		}

		@Override
		public void onError(Connection connection, Throwable failure) {
			FailedMessageTests.this.told.add("without message: " + failure.getClass().getSimpleName());
		}

		@Override
		public void onError(Connection connection, ByteBuffer message, Throwable failure) throws Exception {
			String text = Engine.text(message);
			FailedMessageTests.this.told.add(text);
			assertThat(message.get()).isEqualTo((byte) 'f');
			assertThat(Engine.text(message.reset())).isEqualTo(text);
			connection.send(Engine.bytes("not " + text));
		}

	}

	@ParameterizedTest
	@EnumSource(PromotionPolicy.class)
	void theMessageIsAsItWasAndTheReplyComesBehindTheEarlierOnes(PromotionPolicy policy) {
		LeaderFollowersPool pool = this.engine
			.pool(LeaderFollowersPool.builder().threads(2, 4).promotionPolicy(policy));
		TcpServer server = this.engine.lines(pool, new Failing());
		for (int i = 0; i < 20; i++) {
			assertThat(this.engine.connect(server).send("1\n2\nfail " + i + "\nnever\n").readTextToEnd())
				.isEqualTo("1\n2\nnot fail %d\n".formatted(i));
		}
		assertThat(this.told).hasSize(20).startsWith("fail 0");
		Engine.eventually().until(() -> server.snapshot().closedConnections().get(CloseReason.HANDLER_ERROR) == 20);
	}

	@Test
	void theMessageMayBeLargerThanTheBufferOfTheThread() {
		TcpServer server = this.engine.start(TcpServer.builder(this.engine.pool(2, 4))
			.framing(Framing.line())
			.handler(new Failing())
			.maxMessageSize(1_000_000));
		String large = "fail " + "x".repeat(500_000);
		assertThat(this.engine.connect(server).send(large + "\n").readTextToEnd()).isEqualTo("not " + large + "\n");
	}

	@Test
	void whatIsNoMessageIsToldWithoutOne() {
		TcpServer server = this.engine.start(TcpServer.builder(this.engine.pool(2, 4))
			.framing(Framing.line())
			.handler(new Failing())
			.maxMessageSize(10));
		this.engine.connect(server).send("x".repeat(100)).awaitClosed();
		Engine.eventually().until(() -> this.told.size() == 1);
		assertThat(this.told).containsExactly("without message: FramingException");
	}

	@Test
	void aFailureThatComesLaterIsToldWithoutMessage() {
		TcpServer server = this.engine.lines(this.engine.pool(2, 4), new Failing() {
			@Override
			public void onMessage(Connection connection, ByteBuffer message) {
				connection.fail(new IOException("later"));
			}
		});
		this.engine.connect(server).send("x\n").awaitClosed();
		Engine.eventually().until(() -> this.told.size() == 1);
		assertThat(this.told).containsExactly("without message: IOException");
	}

	@Test
	void aFailureAfterTheHandlerHasClosedTheConnectionIsNotTold() {
		TcpServer server = this.engine.lines(this.engine.pool(2, 4), new Failing() {
			@Override
			public void onMessage(Connection connection, ByteBuffer message) {
				connection.close();
				throw new IllegalStateException("too late");
			}
		});
		this.engine.connect(server).send("x\n").awaitClosed();
		Engine.eventually().until(() -> server.snapshot().closedConnections().get(CloseReason.LOCAL) == 1);
		assertThat(this.told).isEmpty();
	}

	@Test
	void whatTheHandlerThrowsThenIsLogged() {
		TcpServer server = this.engine.lines(this.engine.pool(2, 4), new Failing() {
			@Override
			public void onError(Connection connection, ByteBuffer message, Throwable failure) {
				throw new UnsupportedOperationException("nor this");
			}
		});
		this.engine.connect(server).send("fail\n").awaitClosed();
		Engine.eventually().until(() -> this.engine.log().stream().anyMatch((line) -> line.contains("nor this")));
		assertThat(this.told).isEmpty();
	}

	/** The same thread completes what the connection leaves behind. */
	@Test
	void nothingIsSentBehindTheReplyToTheFailure() {
		TcpServer server = this.engine.start(TcpServer.builder(this.engine.pool(2, 4))
			.framing(Framing.line())
			.correlation(Correlation.inOrder())
			.handler(new Failing() {
				@Override
				public void onMessage(Connection connection, ByteBuffer message) {
					connection.exchangeAsync(Engine.bytes("?"), Engine.DEADLINE).whenComplete((reply, failure) -> {
						try {
							connection.send(Engine.bytes("too late"));
						}
						catch (ConnectionClosedException ex) {
							FailedMessageTests.this.told.add("closed");
						}
					});
					throw new IllegalStateException("made for the test");
				}
			}));
		assertThat(this.engine.connect(server).send("fail\n").readTextToEnd()).isEqualTo("?\nnot fail\n");
		Engine.eventually().untilAsserted(() -> assertThat(this.told).containsExactly("fail", "closed"));
	}

	@Test
	void aDatagramIsToldAsWell() {
		UdpServer server = this.engine.start(UdpServer.builder(this.engine.pool(2, 4)).handler(new Failing()));
		try (DatagramPeer peer = new DatagramPeer(server)) {
			assertThat(peer.send("fail 1").receive()).isEqualTo("not fail 1");
			assertThat(peer.send("2").receive()).isEqualTo("2");
		}
		assertThat(this.told).containsExactly("fail 1");
	}

}
