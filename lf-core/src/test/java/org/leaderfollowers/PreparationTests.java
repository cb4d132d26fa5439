package org.leaderfollowers;

import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BiFunction;
import java.util.stream.Stream;

import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Named;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Code of the application that the engine calls before it has a message for the handler.
 * It may block, like a handler.
 */
@Timeout(300)
class PreparationTests {

	private static final byte BLOCKS = 'b';

	@RegisterExtension
	final Engine engine = new Engine();

	private final AtomicInteger inside = new AtomicInteger();

	private final CountDownLatch gate = this.engine.gate();

	/** The kinds of such code. Each calls {@link #look} for a payload. */
	static Stream<Named<BiFunction<PreparationTests, TcpServer.Builder, TcpServer.Builder>>> code() {
		return Stream.of(Named.of("decoding", (test, server) -> server.framing(test.new Lines())),
				Named.of("correlation",
						(test, server) -> server.framing(Framing.line())
							.correlation(Correlation.byKey(test::noReply))
							.maxExchanges(1)),
				Named.of("order",
						(test, server) -> server.framing(Framing.line())
							.maxInFlightPerConnection(2)
							.messageOrder(test::noReply)));
	}

	@ParameterizedTest
	@MethodSource("code")
	void otherConnectionsAreServedWhileItBlocks(
			BiFunction<PreparationTests, TcpServer.Builder, TcpServer.Builder> code) {
		blocksOneConnection(PromotionPolicy.ADAPTIVE, code);
	}

	@ParameterizedTest
	@MethodSource("code")
	void otherConnectionsAreServedWhileItBlocksIfThePolicyIsEager(
			BiFunction<PreparationTests, TcpServer.Builder, TcpServer.Builder> code) {
		blocksOneConnection(PromotionPolicy.EAGER, code);
	}

	private void blocksOneConnection(PromotionPolicy policy,
			BiFunction<PreparationTests, TcpServer.Builder, TcpServer.Builder> code) {
		LeaderFollowersPool pool = this.engine
			.pool(LeaderFollowersPool.builder().threads(2, 2).promotionPolicy(policy));
		TcpServer server = this.engine.start(code.apply(this, TcpServer.builder(pool).handler(Connection::send)));
		Peer blocked = this.engine.connect(server);
		Peer other = this.engine.connect(server);
		serve(other, 2000);
		blocked.send("b\n");
		Engine.eventually().until(() -> this.inside.get() == 1);
		serve(other, 20);
		serve(this.engine.connect(server), 1);
		assertThat(this.gate.getCount()).isOne();
		this.gate.countDown();
		assertThat(blocked.readLine()).isEqualTo("b");
		serve(blocked, 10);
	}

	@Test
	void openConnectionsAreServedWhileAGuardBlocks() {
		AtomicBoolean blocks = new AtomicBoolean();
		LeaderFollowersPool pool = this.engine.pool(2, 2);
		TcpServer server = this.engine.start(TcpServer.builder(pool)
			.framing(Framing.line())
			.connectionGuard((client) -> permit(client, blocks.get()))
			.handler(Connection::send));
		Peer other = this.engine.connect(server);
		for (int i = 0; i < 300; i++) {
			this.engine.connect(server).close();
		}
		serve(other, 2000);
		blocks.set(true);
		Peer admitted = this.engine.connect(server);
		Engine.eventually().until(() -> this.inside.get() == 1);
		blocks.set(false);
		serve(other, 20);
		this.gate.countDown();
		serve(admitted, 10);
	}

	/** A framing per connection is created before the connection opens. */
	@Test
	void otherConnectionsAreServedWhileTheFramingOfAConnectionIsCreated() {
		LeaderFollowersPool pool = this.engine.pool(2, 2);
		AtomicBoolean blocks = new AtomicBoolean();
		TcpServer server = this.engine.start(TcpServer.builder(pool).framing(new Lines() {

			@Override
			public Framing forConnection(Connection connection) {
				if (blocks.getAndSet(false)) {
					block();
				}
				return new Lines();
			}

		}).handler(Connection::send));
		Peer other = this.engine.connect(server);
		serve(other, 2000);
		blocks.set(true);
		Peer blocked = this.engine.connect(server);
		Engine.eventually().until(() -> this.inside.get() == 1);
		serve(other, 20);
		this.gate.countDown();
		serve(blocked, 10);
	}

	private static void serve(Peer peer, int messages) {
		for (int i = 0; i < messages; i++) {
			assertThat(peer.send("x\n").readLine()).isEqualTo("x");
		}
	}

	private void block() {
		this.inside.incrementAndGet();
		Engine.pass(this.gate);
	}

	private @Nullable Object noReply(ByteBuffer message) {
		if (message.get(message.position()) == BLOCKS) {
			block();
		}
		return null;
	}

	private ConnectionGuard.Permit permit(InetSocketAddress client, boolean blocks) {
		if (blocks) {
			block();
		}
		return () -> {
		};
	}

	private class Lines implements Framing {

		private final Framing lines = Framing.line();

		@Override
		public boolean decode(ByteBuffer input, Frame frame) {
			if (input.get(input.position()) == BLOCKS) {
				block();
			}
			return this.lines.decode(input, frame);
		}

		@Override
		public void encode(ByteBuffer payload, ByteBuffer output) {
			this.lines.encode(payload, output);
		}

		@Override
		public int maxFrameLength(int payloadLength) {
			return this.lines.maxFrameLength(payloadLength);
		}

	}

}
