package org.leaderfollowers.internal.transport;

import java.io.EOFException;
import java.io.IOException;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.concurrent.TimeUnit;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.leaderfollowers.internal.transport.Transport.Progress;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIOException;

class TransportTests {

	private SocketPair sockets;

	private Transport transport;

	@BeforeEach
	void connect() throws IOException {
		this.sockets = new SocketPair();
		this.transport = new PlainTransport(this.sockets.own);
	}

	@AfterEach
	void close() throws IOException {
		this.sockets.close();
	}

	/**
	 * A preamble that ends with an exclamation mark and has an odd number of small
	 * letters before it.
	 */
	private static final class Greeting implements Preamble {

		private int received;

		@Override
		public int missing() {
			return (this.received % 2 == 0) ? 2 : 1;
		}

		@Override
		public boolean decode(ByteBuffer input) throws IOException {
			assertThat(input.remaining()).isBetween(1, missing());
			while (input.hasRemaining()) {
				this.received++;
				byte next = input.get();
				if (next == '!') {
					return true;
				}
				if (!Character.isLowerCase(next)) {
					throw new IOException("This is no greeting");
				}
			}
			return false;
		}

		@Override
		public String toString() {
			return "the greeting";
		}

	}

	private static byte[] bytes(String text) {
		return text.getBytes(StandardCharsets.US_ASCII);
	}

	/**
	 * Reads with a buffer that is much too small, so that every read is continued. If
	 * something else was unread when the peer sent its last bytes, these may come later.
	 */
	private String readAll(int length) throws IOException {
		StringBuilder text = new StringBuilder();
		ByteBuffer buffer = ByteBuffer.allocate(2);
		while (this.transport.read(buffer) > 0 || text.length() < length) {
			if (buffer.position() == 0) {
				this.sockets.awaitInput();
			}
			text.append(StandardCharsets.US_ASCII.decode(buffer.flip()));
			buffer.clear();
		}
		return text.toString();
	}

	@Test
	void aPlainTransportIsEstablishedAtOnce() throws IOException {
		assertThat(this.transport.establish()).isEqualTo(Progress.DONE);
		assertThat(this.transport.hasMoreInput()).isFalse();
		assertThat(this.transport.wantsWrite()).isFalse();
		assertThat(this.transport.session()).isNull();
	}

	@Test
	void aPreambleMayBeSplitAnywhere() throws IOException {
		byte[] all = bytes("hello!rest");
		for (int split = 1; split < all.length; split++) {
			close();
			connect();
			this.transport.expect(new Greeting());
			this.sockets.send(Arrays.copyOf(all, split));
			Progress progress = this.transport.establish();
			assertThat(progress).isEqualTo((split < 6) ? Progress.WANTS_READ : Progress.DONE);
			assertThat(this.transport.hasMoreInput()).isFalse();
			this.sockets.send(Arrays.copyOfRange(all, split, all.length));
			assertThat(this.transport.establish()).isEqualTo(Progress.DONE);
			assertThat(readAll(4)).as("split at %d", split).isEqualTo("rest");
			assertThat(this.transport.hasMoreInput()).isFalse();
		}
	}

	@Test
	void aLongPreambleIsRead() throws IOException {
		this.transport.expect(new Greeting());
		this.sockets.send(bytes("a".repeat(1999) + "!rest"));
		assertThat(this.transport.establish()).isEqualTo(Progress.DONE);
		assertThat(readAll(4)).isEqualTo("rest");
	}

	@Test
	void whatIsNoPreambleIsRefused() throws IOException {
		this.transport.expect(new Greeting());
		this.sockets.send(bytes("GET / HTTP/1.1"));
		assertThatIOException().isThrownBy(() -> this.transport.establish()).withMessage("This is no greeting");
	}

	@Test
	void aPeerThatSaysNothingAndClosesIsNoFailure() throws IOException {
		this.transport.expect(new Greeting());
		assertThat(this.transport.establish()).isEqualTo(Progress.WANTS_READ);
		this.sockets.peer.close();
		this.sockets.awaitInput();
		assertThat(this.transport.establish()).isEqualTo(Progress.ENDED);
	}

	@Test
	void aPeerThatSaysNothingAndResetsIsNoFailure() throws IOException {
		this.transport.expect(new Greeting());
		this.sockets.peer.setOption(StandardSocketOptions.SO_LINGER, 0);
		this.sockets.peer.close();
		this.sockets.awaitInput();
		assertThat(this.transport.establish()).isEqualTo(Progress.ENDED);
	}

	@Test
	void aPeerThatResetsInTheMiddleIsAFailure() throws IOException {
		this.transport.expect(new Greeting());
		this.sockets.send(bytes("hel"));
		assertThat(this.transport.establish()).isEqualTo(Progress.WANTS_READ);
		this.sockets.peer.setOption(StandardSocketOptions.SO_LINGER, 0);
		this.sockets.peer.close();
		this.sockets.awaitInput();
		assertThatIOException().isThrownBy(() -> this.transport.establish()).withMessageContaining("reset");
	}

	@Test
	void aPeerThatClosesInTheMiddleIsAFailure() throws IOException {
		this.transport.expect(new Greeting());
		this.sockets.send(bytes("hel"));
		assertThat(this.transport.establish()).isEqualTo(Progress.WANTS_READ);
		this.sockets.peer.close();
		this.sockets.awaitInput();
		assertThatExceptionOfType(EOFException.class).isThrownBy(() -> this.transport.establish())
			.withMessage("the peer closed before the greeting was complete");
	}

	/** A peer that sends what the test says while the connection lingers. */
	private static final class LastWords extends Transport {

		private long left;

		private long discarded;

		private boolean hasClosed;

		private int shutdowns;

		private boolean closesNext;

		private Progress shutdown = Progress.DONE;

		private int pending;

		private int taken;

		LastWords(SocketChannel socket) {
			super(socket);
		}

		@Override
		public int read(ByteBuffer destination) {
			throw new UnsupportedOperationException();
		}

		@Override
		public int write(ByteBuffer source) {
			throw new UnsupportedOperationException();
		}

		@Override
		public Progress shutdownOutput(boolean closesNext) {
			this.shutdowns++;
			this.closesNext = closesNext;
			this.pending -= this.taken;
			return this.shutdown;
		}

		@Override
		public int pendingBytes() {
			return this.pending;
		}

		@Override
		public int discard(ByteBuffer scratch) {
			int count = (int) Math.min(scratch.remaining(), this.left);
			this.left -= count;
			this.discarded += count;
			return (count == 0 && this.hasClosed) ? -1 : count;
		}

	}

	private static final long SECOND = TimeUnit.SECONDS.toNanos(1);

	private static Progress proceed(Linger linger, long nowNanos) {
		return linger.proceed(ByteBuffer.allocate(64 * 1024), false, nowNanos);
	}

	@Test
	void aPeerThatIsSilentHasASecondToClose() {
		LastWords peer = new LastWords(this.sockets.own);
		Linger linger = new Linger(peer, 0);
		assertThat(proceed(linger, 0)).isEqualTo(Progress.WANTS_READ);
		assertThat(linger.deadlineNanos()).isEqualTo(SECOND);
		assertThat(proceed(linger, SECOND - 1)).isEqualTo(Progress.WANTS_READ);
		assertThat(peer.shutdowns).isOne();
		assertThat(peer.closesNext).isFalse();
		assertThat(proceed(linger, SECOND)).isEqualTo(Progress.DONE);
	}

	@Test
	void aPeerThatHasClosedIsNotWaitedFor() {
		LastWords peer = new LastWords(this.sockets.own);
		assertThat(new Linger(peer, 0).proceed(ByteBuffer.allocate(10), true, 0)).isEqualTo(Progress.DONE);
		assertThat(peer.closesNext).isTrue();
		peer.hasClosed = true;
		assertThat(proceed(new Linger(peer, 0), 0)).isEqualTo(Progress.DONE);
	}

	@Test
	void aPeerThatDoesNotReadHasASecondToTakeTheEnd() {
		LastWords peer = new LastWords(this.sockets.own);
		peer.shutdown = Progress.WANTS_WRITE;
		Linger linger = new Linger(peer, 0);
		assertThat(proceed(linger, SECOND - 1)).isEqualTo(Progress.WANTS_WRITE);
		assertThat(proceed(linger, SECOND)).isEqualTo(Progress.DONE);
	}

	/** For example the rest of a handshake, which the closing alert follows. */
	@Test
	void aPeerThatReadsSlowlyHasASecondAfterEachByteAndFiveInAll() {
		LastWords peer = new LastWords(this.sockets.own);
		peer.shutdown = Progress.WANTS_WRITE;
		peer.pending = 100;
		peer.taken = 1;
		Linger linger = new Linger(peer, 0);
		for (long now = 0; now <= 4 * SECOND; now += SECOND) {
			assertThat(proceed(linger, now)).isEqualTo(Progress.WANTS_WRITE);
			assertThat(linger.deadlineNanos()).isEqualTo(now + SECOND);
		}
		assertThat(proceed(linger, 5 * SECOND)).isEqualTo(Progress.DONE);
		peer.taken = 0;
		assertThat(proceed(new Linger(peer, 0), SECOND)).isEqualTo(Progress.DONE);
		linger = new Linger(peer, 0);
		peer.pending--;
		assertThat(proceed(linger, SECOND)).as("the leader has written").isEqualTo(Progress.WANTS_WRITE);
	}

	@Test
	void aPeerThatSendsHasASecondAfterEachByteAndFiveInAll() {
		LastWords peer = new LastWords(this.sockets.own);
		Linger linger = new Linger(peer, 0);
		for (long now = 0; now <= 4 * SECOND; now += SECOND / 2) {
			peer.left = 1;
			assertThat(proceed(linger, now)).isEqualTo(Progress.WANTS_READ);
			assertThat(linger.deadlineNanos()).isEqualTo(now + SECOND);
		}
		peer.left = 1;
		assertThat(proceed(linger, 5 * SECOND - 1)).isEqualTo(Progress.WANTS_READ);
		peer.left = 1;
		assertThat(proceed(linger, 5 * SECOND)).isEqualTo(Progress.DONE);
	}

	@Test
	void aPeerThatFloodsIsNotReadAnyMoreAndHasFiveSecondsToRead() {
		LastWords peer = new LastWords(this.sockets.own);
		peer.left = Long.MAX_VALUE;
		Linger linger = new Linger(peer, 0);
		for (int round = 1; round < 64; round++) {
			assertThat(proceed(linger, 0)).isEqualTo(Progress.WANTS_READ);
			assertThat(peer.discarded).as("others have their turn").isEqualTo(round * 256 * 1024);
		}
		for (long now : new long[] { 0, 5 * SECOND - 1 }) {
			assertThat(proceed(linger, now)).isEqualTo(Progress.WANTS_TIME);
			assertThat(peer.discarded).isEqualTo(16 * 1024 * 1024);
			assertThat(linger.deadlineNanos()).isEqualTo(5 * SECOND);
		}
		assertThat(proceed(linger, 5 * SECOND)).isEqualTo(Progress.DONE);
	}

}
