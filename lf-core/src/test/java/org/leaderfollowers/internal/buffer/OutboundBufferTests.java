package org.leaderfollowers.internal.buffer;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.WritableByteChannel;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.leaderfollowers.internal.buffer.OutboundBuffer.Sent;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIOException;

/** Tests which bytes reach a socket, in how many writes, and how they are counted. */
class OutboundBufferTests {

	/** Otherwise it would take the place of the lost frame. */
	@Test
	void noFrameFollowsOneThatCouldNotBeWritten() throws IOException {
		OutboundBuffer buffer = new OutboundBuffer(new MemoryBudget(1000));
		List<String> written = new ArrayList<>();
		AtomicBoolean fails = new AtomicBoolean(true);
		WritableByteChannel channel = new WritableByteChannel() {

			@Override
			public int write(ByteBuffer source) throws IOException {
				if (fails.get()) {
					throw new IOException("for the test");
				}
				written.add(StandardCharsets.US_ASCII.decode(source).toString());
				return written.get(written.size() - 1).length();
			}

			@Override
			public boolean isOpen() {
				return true;
			}

			@Override
			public void close() {
			}

		};
		assertThatIOException().isThrownBy(() -> buffer.send(channel, ByteBuffer.wrap(new byte[3]), 100, null));
		fails.set(false);
		assertThat(buffer.send(channel, ByteBuffer.wrap(new byte[2]), 100, null)).isEqualTo(Sent.CLOSED);
		assertThat(written).isEmpty();
	}

	private final MemoryBudget budget = new MemoryBudget(1000);

	private final OutboundBuffer outbound = new OutboundBuffer(this.budget);

	private final Socket socket = new Socket();

	private final ByteBuffer gathered = ByteBuffer.allocateDirect(100);

	private final ByteBuffer view = this.gathered.duplicate();

	private Sent hold(String text) {
		int start = this.gathered.position();
		this.gathered.put(text.getBytes(StandardCharsets.US_ASCII));
		return this.outbound.cork(this.view, start, this.gathered.position());
	}

	private Sent send(String text, long limit) throws IOException {
		return this.outbound.send(this.socket, ByteBuffer.wrap(text.getBytes(StandardCharsets.US_ASCII)), limit, null);
	}

	@Test
	void severalFramesAreOneWrite() throws Exception {
		assertThat(hold("a")).isEqualTo(Sent.WAITS);
		assertThat(hold("bc")).isEqualTo(Sent.WAITS);
		assertThat(hold("d")).isEqualTo(Sent.WAITS);
		assertThat(this.socket.text()).isEmpty();
		assertThat(this.outbound.uncork(this.socket)).isEqualTo(Sent.WRITTEN);
		assertThat(this.socket.text()).isEqualTo("abcd");
		assertThat(this.socket.writes).isOne();
		assertThat(this.outbound.uncork(this.socket)).isEqualTo(Sent.WRITTEN);
		assertThat(this.socket.writes).isOne();
	}

	@Test
	void aFrameOfAnotherThreadGoesBehindThoseThatAreHeld() throws Exception {
		hold("a");
		assertThat(send("b", 100)).isEqualTo(Sent.WRITTEN);
		assertThat(hold("c")).isEqualTo(Sent.WAITS);
		this.outbound.uncork(this.socket);
		assertThat(this.socket.text()).isEqualTo("abc");
	}

	@Test
	void whatWasReleasedByAnotherThreadIsNotWrittenAgain() throws Exception {
		hold("a");
		hold("b");
		this.outbound.uncork(this.socket);
		hold("c");
		this.outbound.uncork(this.socket);
		assertThat(this.socket.text()).isEqualTo("abc");
	}

	@Test
	void nothingIsHeldBehindWhatWaits() throws Exception {
		this.socket.room = 1;
		assertThat(send("ab", 100)).isEqualTo(Sent.BEGAN_TO_WAIT);
		assertThat(hold("c")).isEqualTo(Sent.REFUSED);
		assertThat(this.outbound.waitingBytes()).isOne();
	}

	@Test
	void whatWasHeldWaitsIfTheSocketIsFull() throws Exception {
		this.socket.room = 1;
		hold("abc");
		assertThat(this.outbound.uncork(this.socket)).isEqualTo(Sent.BEGAN_TO_WAIT);
		assertThat(this.outbound.waitingBytes()).isEqualTo(2);
		assertThat(this.budget.used()).isEqualTo(2);
		this.socket.room = 100;
		assertThat(this.outbound.flush(this.socket, 100)).isZero();
		assertThat(this.socket.text()).isEqualTo("abc");
		assertThat(this.budget.used()).isZero();
	}

	@Test
	void aFrameIsWrittenAtOnceAfterTheLastByteThatWaitedWasWritten() throws Exception {
		this.socket.room = 0;
		assertThat(send("a", 100)).isEqualTo(Sent.BEGAN_TO_WAIT);
		this.socket.room = 100;
		assertThat(this.outbound.flush(this.socket, 100)).isZero();
		assertThat(send("b", 100)).isEqualTo(Sent.WRITTEN);
		assertThat(hold("c")).isEqualTo(Sent.WAITS);
		assertThat(this.outbound.uncork(this.socket)).isEqualTo(Sent.WRITTEN);
		assertThat(this.socket.text()).isEqualTo("abc");
	}

	@Test
	void bytesThatWaitAreReleasedFromTheBudgetThatTheyWereTransferredTo() throws Exception {
		MemoryBudget next = new MemoryBudget(1000);
		this.socket.room = 0;
		send("abc", 100);
		assertThat(this.outbound.transfer(next)).isTrue();
		assertThat(this.budget.used()).isZero();
		assertThat(next.used()).isEqualTo(3);
		send("defghij", 100);
		assertThat(this.budget.used()).isZero();
		assertThat(next.used()).isGreaterThanOrEqualTo(10);
		this.socket.room = 100;
		assertThat(this.outbound.flush(this.socket, 100)).isZero();
		assertThat(this.budget.used()).isZero();
		assertThat(next.used()).isZero();
	}

	@Test
	void bytesThatAnotherBudgetDoesNotAllowStayInTheirs() throws Exception {
		MemoryBudget next = new MemoryBudget(2);
		this.socket.room = 0;
		send("abc", 100);
		assertThat(this.outbound.transfer(next)).isFalse();
		assertThat(this.budget.used()).isEqualTo(3);
		assertThat(next.used()).isZero();
		this.outbound.discard();
		assertThat(this.budget.used()).isZero();
		assertThat(next.used()).isZero();
	}

	@ParameterizedTest
	@ValueSource(booleans = { false, true })
	void spareRoomOfSharedBuffersIsAccountedFor(boolean discards) throws Exception {
		MemoryBudget next = new MemoryBudget(1000);
		this.socket.room = 0;
		send("x".repeat(100), 1000);
		for (int i = 0; i < 10; i++) {
			send("y", 1000);
		}
		assertThat(this.budget.used()).isEqualTo(200);
		assertThat(this.outbound.transfer(next)).isTrue();
		assertThat(this.budget.used()).isZero();
		assertThat(next.used()).isEqualTo(200);
		if (discards) {
			assertThat(this.outbound.discard()).isEqualTo(110);
		}
		else {
			this.socket.room = 1000;
			this.socket.writes = 0;
			assertThat(this.outbound.flush(this.socket, 1000)).isZero();
			assertThat(this.socket.writes).isEqualTo(2);
		}
		assertThat(next.used()).isZero();
	}

	@Test
	void flushEndsWithItsBudget() throws Exception {
		OutboundBuffer large = new OutboundBuffer(new MemoryBudget(1 << 20));
		this.socket.room = 0;
		large.send(this.socket, ByteBuffer.allocate(400_000), Integer.MAX_VALUE, null);
		large.send(this.socket, ByteBuffer.allocate(1000), Integer.MAX_VALUE, null);
		this.socket.room = Integer.MAX_VALUE;
		assertThat(large.flush(this.socket, 100_000)).isEqualTo(401_000 - 128 * 1024);
		assertThat(large.flush(this.socket, 300_000 - 32 * 1024)).isEqualTo(1000);
		assertThat(large.flush(this.socket, 1)).isZero();
	}

	@Test
	void flushEndsWithItsBudgetInALaterBuffer() throws Exception {
		OutboundBuffer large = new OutboundBuffer(new MemoryBudget(1 << 20));
		this.socket.room = 0;
		large.send(this.socket, ByteBuffer.allocate(400_000), Integer.MAX_VALUE, null);
		large.send(this.socket, ByteBuffer.allocate(400_000), Integer.MAX_VALUE, null);
		this.socket.room = Integer.MAX_VALUE;
		assertThat(large.flush(this.socket, 450_000)).isEqualTo(400_000 - 128 * 1024);
	}

	/** The write timeout would never end. */
	@Test
	void flushThatWritesNothingIsNoProgress() throws Exception {
		this.socket.room = 0;
		send("abc", 100);
		long before = this.outbound.progressNanos(0);
		while (System.nanoTime() == before) {
			Thread.onSpinWait();
		}
		assertThat(this.outbound.flush(this.socket, 100)).isEqualTo(3);
		assertThat(this.outbound.progressNanos(0)).isEqualTo(before);
	}

	/** A frame would take the place of those that are lost. */
	@Test
	void noFrameFollowsCorkedFramesThatCannotBeKept() throws Exception {
		OutboundBuffer scarce = new OutboundBuffer(new MemoryBudget(1));
		this.gathered.put("abc".getBytes(StandardCharsets.US_ASCII));
		scarce.cork(this.view, 0, 3);
		this.socket.room = 1;
		assertThat(scarce.send(this.socket, ByteBuffer.wrap(new byte[1]), 100, null)).isEqualTo(Sent.OVERLOADED);
		this.socket.room = 100;
		assertThat(scarce.flush(this.socket, 100)).isZero();
		assertThat(this.socket.text()).isEqualTo("a");
	}

	@Test
	void acceptedBytesAreCountedWhetherTheyWaitOrNot() throws Exception {
		hold("a");
		assertThat(this.outbound.acceptedBytes()).isOne();
		hold("bc");
		this.outbound.uncork(this.socket);
		assertThat(this.outbound.acceptedBytes()).isEqualTo(3);
		send("xy", 100);
		assertThat(this.outbound.acceptedBytes()).isEqualTo(5);
		this.socket.room = 0;
		assertThat(send("d", 100)).isEqualTo(Sent.BEGAN_TO_WAIT);
		assertThat(send("e", 100)).isEqualTo(Sent.WAITS);
		assertThat(send("f", 2)).isEqualTo(Sent.REFUSED);
		this.outbound.close();
		this.outbound.discard();
		assertThat(send("g", 100)).isEqualTo(Sent.CLOSED);
		assertThat(this.outbound.acceptedBytes()).isEqualTo(7);
	}

	@Test
	void nobodyIsAskedAboutAFrameThatIsRefusedAnyway() throws Exception {
		this.socket.room = 0;
		send("a", 100);
		AtomicBoolean asked = new AtomicBoolean();
		assertThat(this.outbound.send(this.socket, ByteBuffer.wrap(new byte[1]), 1, () -> {
			asked.set(true);
			return true;
		})).isEqualTo(Sent.REFUSED);
		assertThat(asked).isFalse();
	}

	@Test
	void theFirstThatWaitsIsToldWhenAHeldOneComesBefore() throws Exception {
		this.socket.room = 0;
		hold("a");
		assertThat(send("b", 100)).isEqualTo(Sent.BEGAN_TO_WAIT);
		assertThat(send("c", 100)).isEqualTo(Sent.WAITS);
		this.socket.room = 100;
		this.outbound.flush(this.socket, 100);
		assertThat(this.socket.text()).isEqualTo("abc");
	}

	@Test
	void aFrameThatTheBudgetDoesNotAllowEndsAll() throws Exception {
		this.socket.room = 10;
		assertThat(send("x".repeat(1100), 5000)).isEqualTo(Sent.OVERLOADED);
		assertThat(send("y", 5000)).isEqualTo(Sent.CLOSED);
		assertThat(hold("y")).isEqualTo(Sent.CLOSED);
		this.outbound.discard();
		assertThat(this.budget.used()).isZero();
	}

	@Test
	void aFrameThatCannotBeKeptBehindAHeldOneEndsAll() throws Exception {
		this.socket.room = 0;
		hold("a");
		assertThat(send("x".repeat(1100), 5000)).isEqualTo(Sent.OVERLOADED);
	}

	@Test
	void whatWaitsIsWrittenAfterTheClose() throws Exception {
		this.socket.room = 0;
		ByteBuffer frame = ByteBuffer.wrap("abc".getBytes(StandardCharsets.US_ASCII));
		assertThat(this.outbound.send(this.socket, frame, 100, null)).isEqualTo(Sent.BEGAN_TO_WAIT);
		assertThat(frame.hasRemaining()).isFalse();
		this.outbound.close();
		assertThat(send("d", 100)).isEqualTo(Sent.CLOSED);
		assertThat(hold("d")).isEqualTo(Sent.CLOSED);
		this.socket.room = 100;
		assertThat(this.outbound.flush(this.socket, 100)).isZero();
		assertThat(this.socket.text()).isEqualTo("abc");
	}

	@Test
	void whatIsDiscardedIsGivenBackAndNotWritten() throws Exception {
		this.socket.room = 0;
		send("abc", 100);
		assertThat(this.outbound.discard()).isEqualTo(3);
		assertThat(this.budget.used()).isZero();
		assertThat(this.outbound.flush(this.socket, 100)).isZero();
		assertThat(send("d", 100)).isEqualTo(Sent.CLOSED);
		OutboundBuffer other = new OutboundBuffer(this.budget);
		this.gathered.put((byte) 'e');
		assertThat(other.cork(this.view, 0, 1)).isEqualTo(Sent.WAITS);
		other.discard();
		assertThat(other.uncork(this.socket)).isEqualTo(Sent.WRITTEN);
		assertThat(this.socket.text()).isEmpty();
	}

	/** The peer may have got a part of them. */
	@Test
	void corkedFramesThatCouldNotBeWrittenAreNotWrittenLater() throws Exception {
		hold("a");
		this.socket.fails = true;
		assertThatIOException().isThrownBy(() -> this.outbound.uncork(this.socket));
		this.socket.fails = false;
		assertThat(this.outbound.uncork(this.socket)).isEqualTo(Sent.WRITTEN);
		assertThat(this.socket.text()).isEmpty();
	}

	@Test
	void aSocketThatFailsFailsTheSender() {
		this.socket.fails = true;
		hold("a");
		assertThatIOException().isThrownBy(() -> this.outbound.uncork(this.socket));
	}

	@Test
	void aSocketThatIsSlowerThanTheMinimumRateFallsBehindTheClock() throws Exception {
		for (int rate : new int[] { 0, 1, 1_000_000_000 }) {
			OutboundBuffer limited = new OutboundBuffer(this.budget) {
				@Override
				protected int minRate() {
					return rate;
				}
			};
			this.socket.room = 0;
			limited.send(this.socket, ByteBuffer.wrap(new byte[10]), 100, null);
			long before = limited.progressNanos(0);
			while (System.nanoTime() - before < 1000) {
				Thread.onSpinWait();
			}
			this.socket.room = 3;
			long taken = System.nanoTime();
			limited.flush(this.socket, 100);
			if (rate == 1_000_000_000) {
				assertThat(limited.progressNanos(0) - before).isEqualTo(3);
			}
			else {
				// Any byte is enough, or three bytes are worth three seconds.
				assertThat(limited.progressNanos(0) - taken).isNotNegative();
				// A fast socket gains no time for later.
				assertThat(limited.progressNanos(0) - System.nanoTime()).isNotPositive();
			}
			assertThat(limited.waitingBytes()).isEqualTo(7);
		}
	}

	private static final class Socket implements WritableByteChannel {

		private final ByteArrayOutputStream bytes = new ByteArrayOutputStream();

		private int room = Integer.MAX_VALUE;

		private int writes;

		private boolean fails;

		@Override
		public int write(ByteBuffer source) throws IOException {
			if (this.fails) {
				throw new IOException("reset");
			}
			this.writes++;
			byte[] taken = new byte[Math.min(this.room, source.remaining())];
			source.get(taken);
			this.bytes.writeBytes(taken);
			this.room -= taken.length;
			return taken.length;
		}

		String text() {
			return this.bytes.toString(StandardCharsets.US_ASCII);
		}

		@Override
		public boolean isOpen() {
			return true;
		}

		@Override
		public void close() {
		}

	}

}
