package org.leaderfollowers;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;
import java.nio.channels.SocketChannel;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.stream.Stream;

import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.leaderfollowers.internal.buffer.MemoryBudget;
import org.leaderfollowers.internal.buffer.OutboundBuffer.Sent;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

/**
 * Tests for {@link OutboundWriter}. The pool has no threads: the test is the leader of
 * its handle set and the owner of the connection, and decides what the socket accepts.
 */
class OutboundWriterTests {

	private static final int MAX_OUTBOUND = 1024;

	private static final Duration IDLE = Duration.ofSeconds(10);

	private final TestClock clock = new TestClock();

	private final LeaderFollowersPool pool = LeaderFollowersPool.builder()
		.name("test")
		.threads(1, 1)
		.maxBufferedBytes(1 << 20)
		.clock(this.clock)
		.build();

	private final TcpServer server = TcpServer.builder(this.pool)
		.framing(Framing.raw())
		.maxOutboundSize(MAX_OUTBOUND)
		.idleTimeout(IDLE)
		.writeTimeout(Duration.ofHours(1))
		.handler((connection, message) -> {
		})
		.build();

	private final MemoryBudget memory = this.pool.memory();

	private final Deque<ByteBuffer> frames = new ArrayDeque<>();

	private SocketChannel channel;

	private ScriptedTransport transport;

	private TcpConnection connection;

	private OutboundWriter outbound;

	private HandleSet set;

	@BeforeEach
	void open() throws IOException {
		this.channel = SocketChannel.open();
		this.channel.configureBlocking(false);
		this.transport = new ScriptedTransport(this.channel);
		InetSocketAddress address = new InetSocketAddress(1);
		this.connection = new TcpConnection(this.server.life.context(), this.channel, this.transport, address, address);
		this.outbound = this.connection.outbound;
		this.set = this.connection.handle.handleSet();
		this.connection.handle.request(SelectableHandle.REGISTER);
		this.set.applyUpdates();
		assertThat(this.connection.handle.key).isNotNull();
	}

	@AfterEach
	void close() throws IOException {
		this.channel.close();
		this.pool.close();
	}

	private static ByteBuffer frame(int length) {
		return ByteBuffer.wrap(new byte[length]);
	}

	private void cork(int length) {
		assertThat(this.outbound.cork(frame(length), 0, length)).isEqualTo(Sent.WAITS);
	}

	/** A frame in memory that is released when it has been sent. */
	private ByteBuffer held(int length) {
		return this.outbound.hold(frame(length), 0, this.frames);
	}

	private void exhaustMemory() {
		for (long bytes = this.memory.limit(); bytes > 0; bytes /= 2) {
			while (this.memory.reserve(bytes)) {
				assertThat(this.memory.used()).isLessThanOrEqualTo(this.memory.limit());
			}
		}
	}

	private boolean waitsForRoom() {
		this.set.applyUpdates();
		return (this.connection.handle.key.interestOps() & SelectionKey.OP_WRITE) != 0;
	}

	private @Nullable CloseReason reason() {
		CloseSequence end = this.connection.closing;
		return (end != null) ? end.reason() : null;
	}

	/** Otherwise the corked replies would never be written. */
	@Test
	void corkedRepliesWaitForRoomAlthoughTheNextMessageIsRefused() {
		this.transport.room = 0;
		cork(MAX_OUTBOUND);
		assertThatExceptionOfType(SlowConsumerException.class).isThrownBy(() -> this.outbound.send(frame(1)));
		assertThat(this.outbound.waitingBytes()).isEqualTo(MAX_OUTBOUND);
		assertThat(waitsForRoom()).isTrue();
	}

	@Test
	void corkedRepliesWaitForRoomAlthoughTheNextRequestIsRefused() {
		this.transport.room = 0;
		cork(1);
		assertThat(this.outbound.sendRequests(frame(1), () -> false)).isEqualTo(Sent.REFUSED);
		assertThat(this.outbound.waitingBytes()).isEqualTo(1);
		assertThat(waitsForRoom()).isTrue();
	}

	@Test
	void requestIsRefusedIfTheMaximumWaits() {
		this.transport.room = 0;
		this.outbound.send(frame(MAX_OUTBOUND - 1));
		assertThat(this.outbound.sendRequests(frame(1), null)).isEqualTo(Sent.WAITS);
		assertThat(this.outbound.sendRequests(frame(1), null)).isEqualTo(Sent.REFUSED);
	}

	@Test
	void connectionThatHasNoMemoryForABegunMessageCloses() {
		this.transport.room = 1;
		exhaustMemory();
		assertThatExceptionOfType(ConnectionClosedException.class).isThrownBy(() -> this.outbound.send(frame(2)));
		assertThat(reason()).isEqualTo(CloseReason.OVERLOADED);
	}

	@Test
	void connectionThatHasNoMemoryForABegunRequestCloses() {
		this.transport.room = 1;
		exhaustMemory();
		assertThat(this.outbound.sendRequests(frame(2), null)).isEqualTo(Sent.OVERLOADED);
		assertThat(reason()).isEqualTo(CloseReason.OVERLOADED);
	}

	@Test
	void connectionThatHasNoMemoryForCorkedRepliesCloses() {
		this.transport.room = 1;
		cork(2);
		exhaustMemory();
		this.outbound.uncork();
		assertThat(reason()).isEqualTo(CloseReason.OVERLOADED);
	}

	@Test
	void connectionThatHasNoMemoryToHoldAReplyCloses() {
		exhaustMemory();
		assertThatExceptionOfType(ConnectionClosedException.class).isThrownBy(() -> held(1));
		assertThat(reason()).isEqualTo(CloseReason.OVERLOADED);
	}

	@Test
	void connectionThatHasNoMemoryForAHeldReplyCloses() {
		this.transport.room = 1;
		ByteBuffer reply = held(2);
		exhaustMemory();
		long used = this.memory.used();
		this.outbound.sendHeld(reply);
		assertThat(reason()).isEqualTo(CloseReason.OVERLOADED);
		assertThat(this.memory.used()).isEqualTo(used - 2);
	}

	@Test
	void heldRepliesCountAsWaitingWhenMoreAreToBeHeld() {
		assertThatExceptionOfType(SlowConsumerException.class)
			.isThrownBy(() -> this.outbound.hold(frame(1), MAX_OUTBOUND, this.frames));
		assertThat(this.memory.used()).isZero();
		assertThat(this.frames).isEmpty();
		ByteBuffer held = this.outbound.hold(frame(1), MAX_OUTBOUND - 1, this.frames);
		assertThat(this.frames.peekLast()).isSameAs(held);
		this.outbound.sendHeld(held);
		assertThat(this.transport.written).isOne();
		assertThat(this.memory.used()).isZero();
	}

	@Test
	void replyThatCannotBeEncodedIsNotHeld() {
		this.connection.watch().framing = Framing.line();
		ByteBuffer held = this.outbound.hold(Engine.bytes("one"), 0, this.frames);
		assertThatIllegalArgumentException()
			.isThrownBy(() -> this.outbound.hold(Engine.bytes("two\nlines"), 0, this.frames));
		assertThat(this.frames).containsExactly(held);
		assertThat(this.memory.used()).isEqualTo(held.capacity());
	}

	@Test
	void heldReplyIsSentAlthoughTheMaximumWaits() {
		this.transport.room = 0;
		ByteBuffer reply = held(3);
		this.outbound.send(frame(MAX_OUTBOUND - 3));
		assertThatExceptionOfType(SlowConsumerException.class)
			.isThrownBy(() -> this.outbound.hold(frame(1), 3, this.frames));
		this.outbound.send(frame(3));
		this.outbound.sendHeld(reply);
		assertThat(this.outbound.waitingBytes()).isEqualTo(MAX_OUTBOUND + 3);
	}

	@Test
	void messageIsCountedUnlessItIsRefused() {
		this.transport.room = 3;
		ByteBuffer message = frame(3);
		this.outbound.send(message);
		assertThat(message.remaining()).isEqualTo(3);
		assertThat(this.server.snapshot().sentBytes()).isEqualTo(3);
		this.outbound.send(frame(MAX_OUTBOUND));
		assertThatExceptionOfType(SlowConsumerException.class).isThrownBy(() -> this.outbound.send(frame(1)));
		assertThat(this.server.snapshot().sentBytes()).isEqualTo(MAX_OUTBOUND + 3);
	}

	@Test
	void corkedRepliesWaitForRoom() {
		this.transport.room = 0;
		cork(2);
		this.outbound.uncork();
		assertThat(waitsForRoom()).isTrue();
	}

	@Test
	void heldReplyWaitsForRoom() {
		this.transport.room = 0;
		this.outbound.sendHeld(held(2));
		assertThat(waitsForRoom()).isTrue();
	}

	/** Messages that are sent when their peer reads too slowly, one or several. */
	@ParameterizedTest
	@ValueSource(ints = { 1, 2 })
	void ownerLooksWhenThePeerHasCaughtUp(int messages) {
		this.transport.room = 0;
		for (int i = 0; i < messages; i++) {
			this.outbound.send(frame(MAX_OUTBOUND / 2 / messages));
		}
		assertThat(this.connection.isWritable()).isFalse();
		assertThat(this.outbound.takeRelief()).isFalse();
		this.transport.room = MAX_OUTBOUND;
		assertThat(this.outbound.flush(SelectionKey.OP_WRITE)).isEqualTo(SelectableHandle.LOOK);
		assertThat(this.outbound.takeRelief()).isTrue();
		assertThat(this.outbound.takeRelief()).isFalse();
	}

	@Test
	void heldReplyThatIsSentIsCountedAndReleased() {
		this.outbound.sendHeld(held(3));
		assertThat(this.transport.written).isEqualTo(3);
		assertThat(this.server.snapshot().sentBytes()).isEqualTo(3);
		assertThat(this.memory.used()).isZero();
	}

	@Test
	void heldReplyThatWaitsBehindOthersMayMakeTheConnectionCongested() {
		this.transport.room = 0;
		this.outbound.send(frame(1));
		assertThat(this.connection.isWritable()).isTrue();
		this.outbound.sendHeld(held(MAX_OUTBOUND / 2));
		assertThat(this.connection.isWritable()).isFalse();
	}

	@Test
	void requestsThatWaitMakeTheConnectionCongested() {
		int half = (int) (this.connection.context.limits().highWaterMark() / 2);
		this.transport.room = 0;
		assertThat(this.outbound.sendRequests(frame(half), null)).isEqualTo(Sent.BEGAN_TO_WAIT);
		assertThat(this.connection.isWritable()).isTrue();
		this.clock.advance(Duration.ofSeconds(1));
		assertThat(this.outbound.sendRequests(frame(half + 1), null)).isEqualTo(Sent.WAITS);
		assertThat(this.connection.isWritable()).isFalse();
		assertThat(this.connection.lastActivity()).isEqualTo(this.clock.nanoTime());
	}

	@Test
	void requestsAreCountedAndKeepTheConnectionAlive() {
		this.clock.advance(Duration.ofSeconds(1));
		assertThat(this.outbound.sendRequests(frame(3), null)).isEqualTo(Sent.WRITTEN);
		assertThat(this.server.snapshot().sentBytes()).isEqualTo(3);
		assertThat(this.connection.lastActivity()).isEqualTo(this.clock.nanoTime());
	}

	@Test
	void messagesOfOtherThreadsKeepTheConnectionAlive() {
		this.clock.advance(Duration.ofSeconds(1));
		this.outbound.send(frame(3));
		assertThat(this.connection.lastActivity()).isEqualTo(this.clock.nanoTime());
	}

	/** The ways of sending, to a socket that fails. */
	private enum Way {

		SEND {
			@Override
			void send(OutboundWriterTests test) {
				test.outbound.send(frame(1));
			}
		},

		REQUEST {
			@Override
			void send(OutboundWriterTests test) {
				assertThat(test.outbound.sendRequests(frame(1), null)).isEqualTo(Sent.OVERLOADED);
			}
		},

		HELD {
			@Override
			void send(OutboundWriterTests test) {
				test.outbound.sendHeld(test.held(1));
			}
		},

		CORKED {
			@Override
			void send(OutboundWriterTests test) {
				test.cork(1);
				test.outbound.uncork();
			}
		};

		abstract void send(OutboundWriterTests test);

	}

	@ParameterizedTest
	@EnumSource
	void connectionWhoseSocketFailsCloses(Way way) {
		this.transport.failure = new IOException("made for the test");
		if (way == Way.SEND) {
			assertThatExceptionOfType(ConnectionClosedException.class).isThrownBy(() -> way.send(this))
				.matches(this.connection::isClosedException);
		}
		else {
			way.send(this);
		}
		assertThat(reason()).isEqualTo(CloseReason.IO_ERROR);
		assertThat(this.memory.used()).isZero();
	}

	/** With TLS, a record that the socket accepts only in part needs memory. */
	@ParameterizedTest
	@EnumSource
	void connectionWithoutMemoryForItsOutputIsOverloaded(Way way) {
		this.transport.failure = new MemoryBudget.ExhaustedException();
		if (way == Way.SEND) {
			assertThatExceptionOfType(ConnectionClosedException.class).isThrownBy(() -> way.send(this))
				.extracting(ConnectionClosedException::reason)
				.isEqualTo(CloseReason.OVERLOADED);
		}
		else {
			way.send(this);
		}
		assertThat(reason()).isEqualTo(CloseReason.OVERLOADED);
		assertThat(this.memory.used()).isZero();
	}

	private static Stream<Arguments> failures() {
		return Stream.of(Way.values())
			.flatMap((way) -> Stream
				.of(new IllegalStateException("made for the test"), new OutOfMemoryError("made for the test"))
				.map((failure) -> Arguments.of(way, failure)));
	}

	/** Otherwise it would stay open, although it accepts no more messages. */
	@ParameterizedTest
	@MethodSource("failures")
	void connectionThatFailsWhileItWritesCloses(Way way, Throwable failure) {
		this.transport.failure = failure;
		if (way == Way.HELD) {
			way.send(this);
		}
		else {
			assertThatExceptionOfType(Throwable.class).isThrownBy(() -> way.send(this)).isSameAs(failure);
		}
		assertThat(reason()).isEqualTo(CloseReason.IO_ERROR);
		assertThat(this.memory.used()).isZero();
	}

	@Test
	void handlerIsCalledIfThereWasRoomAgainBeforeItHadToWait() {
		this.transport.room = 0;
		this.outbound.send(frame(MAX_OUTBOUND / 4));
		this.connection.handle.pause();
		this.outbound.refused();
		this.set.applyUpdates();
		assertThat(this.set.ready.take()).isSameAs(this.connection.handle);
		assertThat(this.outbound.takeRelief()).isTrue();
		assertThat(this.connection.isWritable()).isTrue();
	}

	@ParameterizedTest
	@ValueSource(booleans = { false, true })
	void ownerThatWaitsForRoomLooksWhenFewBytesAreLeft(boolean waits) {
		int low = MAX_OUTBOUND / 4;
		this.transport.room = 0;
		this.outbound.send(frame(low + 2));
		if (waits) {
			this.connection.handle.pause();
		}
		this.transport.room = 1;
		assertThat(this.outbound.flush(SelectionKey.OP_WRITE)).isZero();
		this.transport.room = 1;
		assertThat(this.outbound.flush(SelectionKey.OP_WRITE)).isEqualTo(waits ? SelectableHandle.LOOK : 0);
		assertThat(this.outbound.waitingBytes()).isEqualTo(low);
		this.transport.room = low;
		assertThat(this.outbound.flush(SelectionKey.OP_WRITE | SelectionKey.OP_READ))
			.isEqualTo(SelectionKey.OP_READ | (waits ? SelectableHandle.LOOK : 0));
		assertThat(this.memory.used()).isZero();
	}

	/** Other handles need the leader meanwhile. */
	@Test
	void aPartOfManyBytesIsWrittenForOneEvent() {
		this.transport.room = 0;
		this.outbound.send(frame(600 * 1024));
		this.transport.room = Integer.MAX_VALUE;
		assertThat(this.outbound.flush(SelectionKey.OP_WRITE)).isZero();
		assertThat(this.outbound.waitingBytes()).isEqualTo((600 - 256) * 1024);
		assertThat(waitsForRoom()).isTrue();
	}

	@Test
	void ownBytesOfTheTransportAreFlushed() {
		this.transport.wantsWrite = true;
		assertThat(waitsForRoom()).isFalse();
		this.connection.handle.request(SelectableHandle.INTEREST);
		assertThat(waitsForRoom()).isTrue();
		this.set.demultiplex(this.connection.handle, SelectionKey.OP_WRITE);
		assertThat(this.transport.wantsWrite).isFalse();
		assertThat(waitsForRoom()).isFalse();
	}

	/** Otherwise the selector would report the socket without end. */
	@Test
	void bytesThatWaitForAFailedSocketAreDiscarded() {
		this.transport.room = 0;
		this.outbound.send(frame(1));
		assertThat(waitsForRoom()).isTrue();
		this.transport.failure = new IOException("made for the test");
		assertThat(this.outbound.flush(SelectionKey.OP_WRITE)).isEqualTo(SelectableHandle.LOOK);
		assertThat(reason()).isEqualTo(CloseReason.IO_ERROR);
		assertThat(this.connection.hasPendingBytes()).isFalse();
		assertThat(this.memory.used()).isZero();
	}

	/** It may wait for input that follows these bytes. */
	@Test
	void threadThatWaitsInAHandlerLooksWhenBytesAreWritten() {
		this.transport.room = 0;
		this.outbound.send(frame(1));
		assertThat(this.connection.notifyWritable(SelectionKey.OP_WRITE)).isZero();
		this.connection.readBy(new BoundInput(null));
		assertThat(this.connection.notifyWritable(SelectionKey.OP_WRITE)).isEqualTo(SelectableHandle.LOOK);
	}

	@ParameterizedTest
	@ValueSource(booleans = { false, true })
	void peerThatTakesNothingInTimeIsClosedUnlessItHasMadeRoom(boolean hasRoom) {
		this.transport.room = 0;
		this.outbound.send(frame(2));
		this.transport.room = hasRoom ? 2 : 0;
		this.connection.expire(System.nanoTime() + Duration.ofHours(2).toNanos());
		assertThat(reason()).isEqualTo(hasRoom ? null : CloseReason.WRITE_TIMEOUT);
		assertThat(this.connection.hasPendingBytes()).isFalse();
		assertThat(this.memory.used()).isZero();
	}

	@Test
	void peerThatTakesBytesIsActive() {
		this.transport.room = 0;
		this.outbound.send(frame(2));
		lead(Duration.ofSeconds(1));
		this.outbound.flush(SelectionKey.OP_WRITE);
		assertThat(this.connection.lastActivity()).isLessThan(this.clock.nanoTime());
		this.transport.room = 1;
		this.outbound.flush(SelectionKey.OP_WRITE);
		assertThat(this.connection.lastActivity()).isEqualTo(this.clock.nanoTime());
	}

	/** While bytes wait, the write timeout applies, which is longer. */
	@Test
	void connectionIsIdleSoonEnoughAfterThePeerHasTakenEverything() {
		this.connection.established();
		this.transport.room = 0;
		this.outbound.send(frame(1));
		this.connection.handle.release();
		this.set.applyUpdates();
		long first = this.connection.handle.timerDeadline;
		assertThat(first).isNotEqualTo(EngineEventHandler.NO_DEADLINE);
		this.transport.room = 1;
		this.outbound.flush(SelectionKey.OP_WRITE);
		this.set.applyUpdates();
		assertThat(this.connection.handle.timerDeadline - first).isNegative();
		assertThat(this.connection.handle.timerDeadline - this.clock.nanoTime()).isLessThanOrEqualTo(IDLE.toNanos());
	}

	/** Lets time pass for the leader too. */
	private void lead(Duration duration) {
		this.clock.advance(duration);
		this.connection.handle.pause();
		this.connection.handle.request(SelectableHandle.LOOK);
		this.set.await(this.clock.nanoTime(), null, null);
		assertThat(this.set.nowNanos()).isEqualTo(this.clock.nanoTime());
	}

}
