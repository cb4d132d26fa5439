package org.leaderfollowers;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;
import java.nio.channels.SocketChannel;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;

import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.leaderfollowers.internal.buffer.MemoryBudget;
import org.leaderfollowers.internal.exchange.Exchange;
import org.leaderfollowers.internal.promotion.Follower;
import org.leaderfollowers.internal.transport.Transport.Progress;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests how a connection is released after each round, so that it misses nothing. The
 * pool has no threads: the test is the leader of its handle set and the owner of the
 * connection, and decides what the peer sends.
 */
class ConnectionRoundTests {

	private static final Duration TIMEOUT = Duration.ofSeconds(10);

	private final TestClock clock = new TestClock();

	private final LeaderFollowersPool pool = LeaderFollowersPool.builder()
		.name("test")
		.threads(1, 1)
		.maxBufferedBytes(1 << 20)
		.clock(this.clock)
		.build();

	private final MemoryBudget memory = this.pool.memory();

	private final List<String> seen = new ArrayList<>();

	private final TcpServer.Builder builder = TcpServer.builder(this.pool)
		.framing(Framing.line())
		.maxMessageSize(100)
		.handler(new MessageHandler() {

			@Override
			public void onMessage(Connection connection, ByteBuffer message) {
				ConnectionRoundTests.this.seen.add(Engine.text(message));
				ConnectionRoundTests.this.onMessage.run();
			}

			@Override
			public void onIdle(Connection connection, EventType type) {
				ConnectionRoundTests.this.seen.add("idle " + type);
			}

			@Override
			public void onError(Connection connection, Throwable failure) {
				ConnectionRoundTests.this.seen.add("error");
			}

			@Override
			public void onClose(Connection connection, CloseReason reason) {
				ConnectionRoundTests.this.seen.add("close " + reason);
			}

		});

	private Runnable onMessage = () -> {
	};

	private final Participant me = new Participant(1, new Follower(1, Thread.currentThread()), Thread.currentThread(),
			true, null, (participant, exchange) -> Exchange.State.REPLIED, this.memory, 0);

	private SocketChannel channel;

	private ScriptedTransport transport;

	private TcpConnection connection;

	private HandleSet set;

	/** Accepts a connection that the test owns. */
	private void accept() throws IOException {
		this.channel = SocketChannel.open();
		this.channel.configureBlocking(false);
		this.transport = new ScriptedTransport(this.channel);
		InetSocketAddress address = new InetSocketAddress(1);
		ConnectionContext context = this.builder.build().life.context();
		this.connection = new TcpConnection(context, this.channel, this.transport, address, address);
		new ServerExchanges(Correlation.byKey((message) -> {
			String text = Engine.text(message);
			return text.contains(":") ? text.substring(0, text.indexOf(':')) : null;
		}), 10).begin(this.connection);
		context.server().started();
		context.registry().add(this.connection);
		this.set = this.connection.handle.handleSet();
		this.connection.handle.request(SelectableHandle.REGISTER);
		this.set.applyUpdates();
		this.me.enter();
	}

	private void open() throws IOException {
		accept();
		round();
		assertThat(this.connection.opened).isTrue();
	}

	@AfterEach
	void close() throws IOException {
		this.me.withdraw();
		this.channel.close();
		this.pool.close();
	}

	/** Works on the connection until it is released. */
	private void round() {
		this.me.begin(this.connection.handle);
		boolean released = false;
		while (!released) {
			if (this.connection.prepare(this.me)) {
				this.connection.dispatch(this.me);
			}
			released = this.connection.release(this.me);
		}
		this.me.worksOn(null);
	}

	/** Leads. Returns whether there is work for an owner of the connection. */
	private boolean lead() {
		this.set.applyUpdates();
		return this.set.ready.take() != null;
	}

	private void receive(String lines) {
		this.transport.receive(lines);
		own();
		round();
	}

	/** Claims the connection, because it fires. */
	private void own() {
		this.set.applyUpdates();
		this.set.demultiplex(this.connection.handle, SelectionKey.OP_READ);
		assertThat(lead()).isTrue();
	}

	private @Nullable CloseReason reason() {
		CloseSequence end = this.connection.closing;
		return (end != null) ? end.reason() : null;
	}

	private CompletableFuture<ByteBuffer> ask() {
		return this.connection.exchangeAsync(Engine.bytes("a:?"), Duration.ofHours(1));
	}

	private void postpone(String message) {
		assertThat(this.connection.exchanges.postpone(Engine.bytes(message), false)).isTrue();
		assertThat(this.memory.used()).isPositive();
	}

	/** It must not keep a socket until the peer closes. */
	@Test
	void connectionThatIsRejectedIsClosedAtOnce() throws IOException {
		accept();
		this.transport.closes = false;
		this.transport.rejection = new GuardedPreamble.RejectedException();
		round();
		assertThat(this.channel.isOpen()).isFalse();
		assertThat(reason()).isEqualTo(CloseReason.CLIENT_LIMIT);
	}

	@Test
	void handshakeThatHasToWriteWaitsForRoom() throws IOException {
		accept();
		this.transport.handshake = Progress.WANTS_WRITE;
		this.transport.wantsWrite = true;
		round();
		this.set.applyUpdates();
		assertThat(this.connection.handle.isPaused()).isTrue();
		assertThat(this.connection.handle.key.interestOps()).isEqualTo(SelectionKey.OP_WRITE);
		this.transport.handshake = Progress.DONE;
		this.set.demultiplex(this.connection.handle, SelectionKey.OP_WRITE);
		assertThat(lead()).isTrue();
		round();
		assertThat(this.connection.opened).isTrue();
	}

	/** No event will report it. */
	@Test
	void inputThatTheTransportKeepsIsReadInALaterRound() throws IOException {
		open();
		this.transport.keepsInput = true;
		receive("");
		assertThat(lead()).isTrue();
		this.transport.keepsInput = false;
		this.transport.receive("x\n");
		round();
		assertThat(this.seen).containsExactly("x");
	}

	@Test
	void ownBytesOfTheTransportWaitForRoomWhileTheConnectionIsRead() throws IOException {
		open();
		this.onMessage = () -> this.transport.wantsWrite = true;
		receive("x\n");
		this.set.applyUpdates();
		assertThat(this.connection.handle.key.interestOps()).isEqualTo(SelectionKey.OP_READ | SelectionKey.OP_WRITE);
	}

	/** The peer could not know that it was waited for while the handler ran. */
	@Test
	void peerIsNotSilentWhileItsMessageIsHandled() throws IOException {
		open();
		this.connection.idleAfter(EventType.READ, TIMEOUT);
		this.onMessage = () -> this.clock.advance(TIMEOUT.multipliedBy(2));
		receive("x\n");
		receive("");
		this.clock.advance(TIMEOUT);
		receive("");
		assertThat(this.seen).containsExactly("x", "idle READ");
	}

	/** A message may be late because no thread was free to read it. */
	@ParameterizedTest
	@ValueSource(booleans = { false, true })
	void messageThatIsReadLateGetsTheFullTimeAgain(boolean skips) throws IOException {
		this.builder.messageTimeout(TIMEOUT).skipOversizedMessages(true);
		open();
		receive("x".repeat(skips ? 200 : 1));
		this.clock.advance(TIMEOUT.plusSeconds(1));
		receive("x");
		assertThat(reason()).isNull();
		this.clock.advance(TIMEOUT.minusMillis(1));
		receive("x\n");
		assertThat(this.seen).containsExactly(skips ? "error" : "xxx");
		assertThat(reason()).isNull();
	}

	@Test
	void messageThatIsNotCompleteInTimeEndsTheConnection() throws IOException {
		this.builder.messageTimeout(TIMEOUT);
		open();
		receive("x");
		assertThat(this.connection.deadline(this.clock.nanoTime()) - this.clock.nanoTime())
			.isEqualTo(TIMEOUT.toNanos());
		this.clock.advance(TIMEOUT);
		receive("");
		assertThat(reason()).isEqualTo(CloseReason.MESSAGE_TIMEOUT);
	}

	@Test
	void connectionThatPausesHasATimer() throws IOException {
		open();
		this.onMessage = () -> {
			this.connection.idleAfter(EventType.WRITE, TIMEOUT);
			this.connection.suspend();
		};
		receive("x\n");
		assertThat(this.connection.handle.isPaused()).isTrue();
		this.set.applyUpdates();
		assertThat(this.connection.handle.timerDeadline - this.clock.nanoTime()).isEqualTo(TIMEOUT.toNanos());
	}

	/** The reason for the pause may end after the last check. */
	@Test
	void connectionThatIsSuspendedReadsARequestedReply() throws IOException {
		open();
		this.connection.suspend();
		own();
		ask();
		assertThat(this.connection.pauseUntil(0)).isTrue();
		assertThat(lead()).isTrue();
	}

	@Test
	void connectionThatDrainsHandlesTheMessagesThatItHasKept() throws IOException {
		open();
		own();
		postpone("x");
		this.connection.drains = true;
		assertThat(this.connection.isHeldUp()).isTrue();
		assertThat(this.connection.pauseUntil(0)).isTrue();
		assertThat(lead()).isTrue();
		round();
		assertThat(this.seen).startsWith("x");
		assertThat(this.memory.used()).isZero();
	}

	@Test
	void keptMessagesAreNotHandledAfterTheHandlerHasFailed() throws IOException {
		open();
		postpone("x");
		this.connection.fail(new IllegalStateException("made for the test"));
		assertThat(lead()).isTrue();
		round();
		assertThat(this.seen).containsExactly("error", "close HANDLER_ERROR");
		assertThat(this.memory.used()).isZero();
	}

	@Test
	void keptMessagesAreHandledAfterThePeerHasFailed() throws IOException {
		open();
		own();
		postpone("x");
		this.connection.requestClose(CloseReason.IO_ERROR, null);
		round();
		assertThat(this.seen).containsExactly("x", "close IO_ERROR");
		assertThat(this.memory.used()).isZero();
	}

	@ParameterizedTest
	@ValueSource(booleans = { false, true })
	void nobodyWaitsForAConnectionThatCannotEnd(boolean isAbandoned) throws IOException {
		open();
		CompletableFuture<ByteBuffer> reply = ask();
		postpone("x");
		if (isAbandoned) {
			this.connection.abandon();
		}
		else {
			own();
			while (this.connection.failed(this.me, new IllegalStateException("made for the test"))) {
				assertThat(reply).isNotDone();
			}
		}
		assertThat(reply).isCompletedExceptionally();
		assertThat(this.memory.used()).isZero();
	}

}
