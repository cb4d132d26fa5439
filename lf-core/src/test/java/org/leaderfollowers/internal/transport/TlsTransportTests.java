package org.leaderfollowers.internal.transport;

import java.io.IOException;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Arrays;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.SSLException;
import javax.net.ssl.SSLHandshakeException;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.leaderfollowers.internal.buffer.MemoryBudget;
import org.leaderfollowers.internal.buffer.RecordBuffers;
import org.leaderfollowers.internal.transport.Transport.Progress;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

/** The TLS engine of the JDK on a real socket, called step by step. */
class TlsTransportTests {

	private final RecordBuffers buffers = new RecordBuffers();

	private final MemoryBudget budget = new MemoryBudget(1024 * 1024);

	private final SSLContext context = Certificates.server();

	private SocketPair sockets;

	private TlsTransport transport;

	private ClientEngine client;

	private void connect(String protocol) throws IOException {
		if (this.sockets != null) {
			close();
		}
		this.sockets = new SocketPair();
		SSLEngine engine = this.context.createSSLEngine();
		engine.setUseClientMode(false);
		this.transport = new TlsTransport(this.sockets.own, engine, this.buffers, this.budget, 1);
		this.client = new ClientEngine(Certificates.client(), protocol);
		this.client.begin();
	}

	@AfterEach
	void close() throws IOException {
		if (this.sockets != null) {
			this.transport.release();
			assertThat(this.budget.used()).isZero();
			this.sockets.close();
		}
	}

	private Progress establish() throws IOException {
		Progress progress = this.transport.establish();
		while (progress == Progress.HAS_TASKS) {
			this.transport.runTasks();
			progress = this.transport.establish();
		}
		return progress;
	}

	/** Lets the client read the bytes that were written to it. */
	private void listen() throws IOException {
		this.sockets.peer.configureBlocking(false);
		ByteBuffer buffer = ByteBuffer.allocate(64 * 1024);
		while (this.sockets.peer.read(buffer.clear()) > 0) {
			this.client.hear(buffer.flip());
		}
		// The bytes that the client could not read before it had sent something.
		this.client.hear(buffer.limit(0));
		this.sockets.peer.configureBlocking(true);
	}

	private interface Condition {

		boolean holds() throws IOException;

	}

	private void listenUntil(Condition condition) throws IOException {
		long deadline = System.nanoTime() + Duration.ofSeconds(30).toNanos();
		listen();
		while (!condition.holds()) {
			assertThat(System.nanoTime()).as("time").isLessThan(deadline);
			Thread.yield();
			listen();
		}
	}

	private void shakeHands() throws IOException {
		Progress progress = Progress.WANTS_READ;
		long deadline = System.nanoTime() + Duration.ofSeconds(30).toNanos();
		while (progress != Progress.DONE) {
			assertThat(System.nanoTime()).isLessThan(deadline);
			byte[] flight = this.client.speak();
			if (flight.length > 0) {
				this.sockets.send(flight);
			}
			progress = establish();
			listen();
		}
		// The last flight may still be on its way to the client.
		listenUntil(() -> !this.client.isHandshaking());
	}

	private String read() throws IOException {
		return read(1024);
	}

	private String read(int size) throws IOException {
		StringBuilder text = new StringBuilder();
		ByteBuffer buffer = ByteBuffer.allocate(size);
		int count;
		do {
			count = this.transport.read(buffer.clear());
			text.append(StandardCharsets.ISO_8859_1.decode(buffer.flip()));
		}
		while (count > 0 && this.transport.hasMoreInput());
		return (count < 0) ? text + "<end>" : text.toString();
	}

	private static ByteBuffer bytes(String text) {
		return ByteBuffer.wrap(text.getBytes(StandardCharsets.ISO_8859_1));
	}

	@ParameterizedTest
	@ValueSource(strings = { "TLSv1.2", "TLSv1.3" })
	void echoes(String protocol) throws IOException {
		connect(protocol);
		assertThat(this.transport.session()).isNull();
		shakeHands();
		assertThat(this.transport.session().getProtocol()).isEqualTo(protocol);
		this.sockets.send(this.client.say("ping"));
		assertThat(read()).isEqualTo("ping");
		assertThat(this.transport.write(bytes("pong"))).isEqualTo(4);
		listenUntil(() -> this.client.heard().equals("pong"));
		assertThat(this.transport.wantsWrite()).isFalse();
		assertThat(this.budget.used()).as("held by an idle connection").isZero();
	}

	@ParameterizedTest
	@ValueSource(strings = { "TLSv1.2", "TLSv1.3" })
	void theHandshakeMayBeSplit(String protocol) throws IOException {
		splitHandshake(protocol, 11);
	}

	@Tag("stress")
	@ParameterizedTest
	@ValueSource(strings = { "TLSv1.2", "TLSv1.3" })
	void theHandshakeMayBeSplitAnywhere(String protocol) throws IOException {
		splitHandshake(protocol, 1);
	}

	private void splitHandshake(String protocol, int step) throws IOException {
		int total = 0;
		int length = 1;
		for (int flight = 0; length > 0; flight++) {
			int split = 1;
			do {
				connect(protocol);
				length = splitFlight(flight, split);
				listenUntil(() -> !this.client.isHandshaking());
				assertThat(read()).as("flight %d split at %d", flight, split).isEqualTo("ping");
				// In the middle of a long flight, every byte has the same meaning for the
				// transport.
				split += step * ((split < 80 || length - split < 20) ? 1 : 7);
			}
			while (split < length);
			total += length;
		}
		assertThat(total).as("bytes that came in two parts").isGreaterThan(250);
	}

	/**
	 * Sends the first part of a flight separately, and returns the length of the whole
	 * flight.
	 */
	private int splitFlight(int wanted, int split) throws IOException {
		int length = 0;
		Progress progress = Progress.WANTS_READ;
		for (int number = 0; progress != Progress.DONE;) {
			byte[] flight = this.client.speak();
			if (flight.length == 0) {
				listen();
				continue;
			}
			if (!this.client.isHandshaking()) {
				// Together with the first text of the client.
				byte[] first = this.client.say("ping");
				flight = Arrays.copyOf(flight, flight.length + first.length);
				System.arraycopy(first, 0, flight, flight.length - first.length, first.length);
			}
			if (number == wanted) {
				length = flight.length;
				this.sockets.send(Arrays.copyOf(flight, split));
				progress = establish();
				this.sockets.send(Arrays.copyOfRange(flight, split, length));
			}
			else {
				this.sockets.send(flight);
			}
			if (progress != Progress.DONE) {
				progress = establish();
			}
			number++;
		}
		listen();
		if ("TLSv1.2".equals(this.client.engine.getSession().getProtocol())) {
			listenUntil(() -> !this.client.isHandshaking());
			this.sockets.send(this.client.say("ping"));
		}
		return length;
	}

	@ParameterizedTest
	@ValueSource(strings = { "TLSv1.2", "TLSv1.3" })
	void recordsMayComeByteByByte(String protocol) throws IOException {
		connect(protocol);
		shakeHands();
		byte[] record = this.client.say("hello");
		for (int i = 0; i < record.length - 1; i++) {
			this.sockets.send(record[i]);
			assertThat(read()).isEmpty();
			assertThat(this.transport.hasMoreInput()).isFalse();
			assertThat(this.budget.used()).isBetween(i + 1L, Math.max(64L, 2L * (i + 1)));
		}
		this.sockets.send(record[record.length - 1]);
		assertThat(read()).isEqualTo("hello");
		assertThat(this.budget.used()).isZero();
	}

	@ParameterizedTest
	@ValueSource(ints = { 1, 7, 100, 16384, 20000 })
	void manyRecordsAreReadWithBuffersOfAnySize(int size) throws IOException {
		connect("TLSv1.3");
		shakeHands();
		String text = "0123456789".repeat(500);
		byte[] all = new byte[0];
		for (int i = 0; i < text.length(); i += 50) {
			byte[] record = this.client.say(text.substring(i, i + 50));
			all = Arrays.copyOf(all, all.length + record.length);
			System.arraycopy(record, 0, all, all.length - record.length, record.length);
		}
		this.sockets.send(all);
		StringBuilder heard = new StringBuilder();
		listenUntil(() -> heard.append(read(size)).length() >= text.length());
		assertThat(heard.toString()).isEqualTo(text);
		assertThat(this.budget.used()).isZero();
	}

	@Test
	void moreInputIsReportedUntilItWasRead() throws IOException {
		connect("TLSv1.3");
		shakeHands();
		this.sockets.send(this.client.say("0123456789"));
		assertThat(this.transport.read(ByteBuffer.allocate(4))).isEqualTo(4);
		assertThat(this.transport.hasMoreInput()).isTrue();
		assertThat(this.transport.read(ByteBuffer.allocate(100))).isEqualTo(6);
		assertThat(this.transport.hasMoreInput()).isFalse();
	}

	@ParameterizedTest
	@ValueSource(strings = { "TLSv1.2", "TLSv1.3" })
	void aRecordBehindOneThatFillsTheBufferIsReported(String protocol) throws IOException {
		connect(protocol);
		shakeHands();
		for (int size = 1; size <= 100; size++) {
			byte[] filling = this.client.say("x".repeat(size));
			byte[] behind = this.client.say("y");
			byte[] both = Arrays.copyOf(filling, filling.length + behind.length);
			System.arraycopy(behind, 0, both, filling.length, behind.length);
			this.sockets.send(both);
			ByteBuffer first = ByteBuffer.allocate(size);
			listenUntil(() -> this.transport.read(first) >= 0 && !first.hasRemaining());
			assertThat(this.transport.hasMoreInput()).as("behind %d bytes", size).isTrue();
			assertThat(read(100)).isEqualTo("y");
			assertThat(this.transport.hasMoreInput()).isFalse();
		}
	}

	/** The budget is checked after each test. */
	@Test
	void bytesThatWereNotReadAreReleasedWithTheTransport() throws IOException {
		connect("TLSv1.3");
		shakeHands();
		this.sockets.send(this.client.say("0123456789"));
		assertThat(this.transport.read(ByteBuffer.allocate(4))).isEqualTo(4);
		assertThat(this.budget.used()).isPositive();
	}

	@Test
	void eachPartialRecordIsNewOnce() throws IOException {
		connect("TLSv1.3");
		shakeHands();
		byte[] first = this.client.say("first");
		byte[] second = this.client.say("second");
		this.sockets.send(Arrays.copyOf(first, 7));
		assertThat(read()).isEmpty();
		assertThat(this.transport.holdsNewPart()).as("the first record").isTrue();
		this.sockets.send(Arrays.copyOfRange(first, 7, 9));
		assertThat(read()).isEmpty();
		assertThat(this.transport.holdsNewPart()).as("the same record").isFalse();
		byte[] both = Arrays.copyOfRange(first, 9, first.length + 3);
		System.arraycopy(second, 0, both, first.length - 9, 3);
		this.sockets.send(both);
		assertThat(read()).isEqualTo("first");
		assertThat(this.transport.holdsNewPart()).as("the next record").isTrue();
	}

	@Test
	void aHandshakeUsesTheSameBuffersInEachRound() throws IOException {
		connect("TLSv1.3");
		ByteBuffer first = this.buffers.take();
		this.buffers.giveBack(first);
		assertThat(establish()).isEqualTo(Progress.WANTS_READ);
		assertThat(this.buffers.take()).isSameAs(first);
		this.buffers.giveBack(first);
	}

	@Test
	void aPeerThatDoesNotReadGetsEverythingInTheEnd() throws IOException {
		connect("TLSv1.3");
		shakeHands();
		String text = "0123456789abcdef".repeat(4096);
		StringBuilder sent = new StringBuilder();
		ByteBuffer waiting = bytes(text);
		int refusals = 0;
		// A few writes find no room at all; then the client begins to read.
		while (refusals < 3) {
			int before = waiting.position();
			int taken = this.transport.write(waiting);
			assertThat(waiting.position() - before).isEqualTo(taken);
			if (!waiting.hasRemaining()) {
				sent.append(text);
				waiting = bytes(text);
			}
			else {
				assertThat(this.transport.wantsWrite()).isTrue();
				refusals++;
			}
		}
		sent.append(text);
		assertThat(this.budget.used()).isLessThanOrEqualTo(RecordBuffers.SIZE);
		ByteBuffer rest = waiting;
		listenUntil(() -> {
			this.transport.flush();
			this.transport.write(rest);
			return this.client.heard().length() == sent.length();
		});
		assertThat(this.client.heard()).isEqualTo(sent.toString());
		assertThat(this.transport.wantsWrite()).isFalse();
		assertThat(rest.hasRemaining()).isFalse();
	}

	@ParameterizedTest
	@ValueSource(strings = { "TLSv1.2", "TLSv1.3" })
	void anOrderlyEndIsNoTruncation(String protocol) throws IOException {
		connect(protocol);
		shakeHands();
		this.sockets.send(this.client.say("last"));
		assertThat(read()).isEqualTo("last");
		this.sockets.send(this.client.close());
		this.sockets.peer.shutdownOutput();
		assertThat(readToTheEnd()).isEqualTo("<end>");
		assertThat(this.transport.isTruncated()).isFalse();
	}

	private String readToTheEnd() throws IOException {
		String text = read();
		while (!text.endsWith("<end>")) {
			if (this.transport.readNeeds() == Progress.WANTS_FLUSH) {
				this.transport.endInput();
			}
			text += read();
		}
		return text;
	}

	@ParameterizedTest
	@ValueSource(strings = { "TLSv1.2", "TLSv1.3" })
	void anEndThatWasNotAnnouncedIsATruncation(String protocol) throws IOException {
		connect(protocol);
		shakeHands();
		this.sockets.send(this.client.say("last"));
		this.sockets.peer.shutdownOutput();
		assertThat(readToTheEnd()).isEqualTo("last<end>");
		assertThat(this.transport.isTruncated()).isTrue();
		assertThat(this.transport.write(bytes("reply"))).isEqualTo(5);
		assertThat(this.transport.shutdownOutput(false)).isEqualTo(Progress.DONE);
		listenUntil(() -> this.client.closed);
		assertThat(this.client.heard()).isEqualTo("reply");
	}

	@ParameterizedTest
	@ValueSource(strings = { "TLSv1.2", "TLSv1.3" })
	void whatWaitsIsWrittenBeforeTheEndIsTaken(String protocol) throws IOException {
		connect(protocol);
		shakeHands();
		byte[] last = this.client.say("last");
		byte[] notify = this.client.close();
		byte[] both = Arrays.copyOf(last, last.length + notify.length);
		System.arraycopy(notify, 0, both, last.length, notify.length);
		this.sockets.send(both);
		assertThat(this.transport.read(ByteBuffer.allocate(100))).isEqualTo(4);
		assertThat(this.transport.hasMoreInput()).isTrue();
		assertThat(this.transport.write(bytes("reply"))).isEqualTo(5);
		assertThat(readToTheEnd()).isEqualTo("<end>");
		assertThat(this.transport.shutdownOutput(false)).isEqualTo(Progress.DONE);
		listenUntil(() -> this.client.closed);
		assertThat(this.client.heard()).isEqualTo("reply");
	}

	@ParameterizedTest
	@ValueSource(strings = { "TLSv1.2", "TLSv1.3" })
	void nothingIsWrittenAfterTheEnd(String protocol) throws IOException {
		connect(protocol);
		shakeHands();
		assertThat(this.transport.shutdownOutput(false)).isEqualTo(Progress.DONE);
		assertThatExceptionOfType(IOException.class).isThrownBy(() -> this.transport.write(bytes("secret")));
		assertThat(this.transport.shutdownOutput(false)).isEqualTo(Progress.DONE);
		this.transport.flush();
		assertNothingFollowsTheEnd();
		assertThat(this.client.heard()).isEmpty();
	}

	/** Checks the bytes on the wire. */
	private void assertNothingFollowsTheEnd() throws IOException {
		this.sockets.peer.socket().setSoTimeout(30_000);
		new TlsWire(this.sockets.peer.socket().getInputStream(), this.client).hearToTheEnd("secret");
	}

	@ParameterizedTest
	@ValueSource(strings = { "TLSv1.2", "TLSv1.3" })
	void nothingIsWrittenAfterTheEndIfAnotherThreadWritesAtThatMoment(String protocol) throws Exception {
		for (int round = 0; round < 20; round++) {
			connect(protocol);
			shakeHands();
			CountDownLatch written = new CountDownLatch(round);
			AtomicInteger accepted = new AtomicInteger();
			TlsTransport writing = this.transport;
			CompletableFuture<Void> writer = CompletableFuture.runAsync(() -> {
				try {
					while (true) {
						accepted.addAndGet(writing.write(bytes("secret")));
						written.countDown();
					}
				}
				catch (IOException ex) {
					// The output has ended.
				}
			});
			CompletableFuture<Void> end = CompletableFuture.runAsync(() -> {
				try {
					assertThat(written.await(30, TimeUnit.SECONDS)).isTrue();
					while (writing.shutdownOutput(false) != Progress.DONE) {
						Thread.onSpinWait();
					}
				}
				catch (IOException | InterruptedException ex) {
					throw new AssertionError(ex);
				}
			});
			assertNothingFollowsTheEnd();
			end.get(30, TimeUnit.SECONDS);
			writer.get(30, TimeUnit.SECONDS);
			String heard = "secret".repeat(this.client.heard().length() / 6 + 1)
				.substring(0, this.client.heard().length());
			assertThat(this.client.heard()).isEqualTo(heard).hasSizeGreaterThanOrEqualTo(accepted.get());
		}
	}

	@Test
	void theEndIsAnnouncedEvenIfTheSocketHasNoRoom() throws IOException {
		connect("TLSv1.3");
		shakeHands();
		ByteBuffer text = bytes("x".repeat(8 * 1024 * 1024));
		assertThat(this.transport.pendingBytes()).isZero();
		fill(text);
		int counted = text.position();
		assertThat(this.transport.shutdownOutput(false)).isEqualTo(Progress.WANTS_WRITE);
		int pending = this.transport.pendingBytes();
		assertThat(pending).isPositive();
		listenUntil(() -> {
			this.transport.flush();
			return this.transport.pendingBytes() < pending;
		});
		listenUntil(() -> {
			this.transport.flush();
			return this.client.closed || this.transport.shutdownOutput(false) == Progress.DONE;
		});
		listenUntil(() -> this.client.closed);
		assertThat(this.client.heard().length()).isGreaterThanOrEqualTo(counted);
	}

	/** Writes until the socket has no room at all. */
	private void fill(ByteBuffer text) throws IOException {
		for (int refusals = 0; refusals < 3; refusals += this.transport.wantsWrite() ? 1 : 0) {
			this.transport.write(text);
		}
	}

	@Test
	void renegotiationIsRefusedBeforeItCostsAnything() throws IOException {
		connect("TLSv1.2");
		shakeHands();
		this.client.engine.beginHandshake();
		this.sockets.send(this.client.speak());
		assertThatExceptionOfType(SSLException.class).isThrownBy(this::read)
			.withMessage("The peer asked for a renegotiation, which is not allowed");
		assertThat(this.transport.readNeeds()).isEqualTo(Progress.WANTS_READ);
	}

	@Test
	void keysMayBeUpdated() throws IOException {
		connect("TLSv1.3");
		shakeHands();
		for (int i = 0; i < 20; i++) {
			this.client.engine.beginHandshake();
			this.sockets.send(this.client.speak());
			assertThat(read()).isEmpty();
			this.sockets.send(this.client.say("ping" + i));
			assertThat(read()).isEqualTo("ping" + i);
			this.transport.write(bytes("pong" + i));
			String last = "pong" + i;
			listenUntil(() -> this.client.heard().endsWith(last));
		}
	}

	private byte[] keyUpdate() throws IOException {
		this.client.engine.beginHandshake();
		return this.client.speak();
	}

	private void requireAtMost32UpdatesInARow() throws IOException {
		for (int i = 0; i < 32; i++) {
			this.sockets.send(keyUpdate());
			assertThat(read()).isEmpty();
		}
		this.sockets.send(keyUpdate());
		assertThatExceptionOfType(SSLException.class).isThrownBy(this::read)
			.withMessageContaining("more than 32 records in a row");
	}

	@Test
	void aPeerThatDoesNothingButUpdateItsKeysIsAFailure() throws IOException {
		connect("TLSv1.3");
		shakeHands();
		requireAtMost32UpdatesInARow();
	}

	@Test
	void aPeerThatHasListenedOnceMustNotUpdateItsKeysForEver() throws IOException {
		connect("TLSv1.3");
		shakeHands();
		this.transport.write(bytes("news"));
		listenUntil(() -> this.client.heard().equals("news"));
		requireAtMost32UpdatesInARow();
	}

	/** A transport cannot see whether the engine holds the record. */
	@Test
	void aRecordWithoutDataIsChargedUntilDataComesAndAKeyUpdateForEver() throws IOException {
		connect("TLSv1.3");
		shakeHands();
		long before = System.nanoTime();
		for (int updates = 1; updates <= 3; updates++) {
			this.sockets.send(keyUpdate());
			assertThat(read()).isEmpty();
			assertThat(this.transport.heldBytes()).isEqualTo(updates * TlsTransport.KEY_UPDATE_BYTES);
			this.sockets.send(this.client.say("data"));
			assertThat(read()).isEqualTo("data");
			assertThat(this.transport.heldBytes()).isEqualTo(updates * TlsTransport.KEY_UPDATE_BYTES);
			assertThat(this.budget.used()).isEqualTo(updates * TlsTransport.KEY_UPDATE_BYTES);
			assertThat(this.transport.heldSinceNanos() - before).isBetween(0L, System.nanoTime() - before);
		}
		this.transport.release();
		assertThat(this.budget.used()).isZero();
	}

	/** Listening gives no credit. */
	@Test
	void aPeerThatOnlyListensMayUpdateItsKeysAThousandTimes() throws IOException {
		connect("TLSv1.3");
		shakeHands();
		for (int i = 1; i <= 1024; i++) {
			this.sockets.send(keyUpdate());
			assertThat(read()).isEmpty();
			if (i % 20 == 0) {
				this.transport.write(bytes("news"));
				listen();
			}
		}
		this.sockets.send(keyUpdate());
		assertThatExceptionOfType(SSLException.class).isThrownBy(this::read)
			.withMessageContaining("more than 1024 records without data");
	}

	/**
	 * Data between the updates must not hide them: the engine keeps each as long as it
	 * lives.
	 */
	@Test
	void aPeerThatUpdatesItsKeysAllTheTimeIsAFailure() throws IOException {
		connect("TLSv1.3");
		shakeHands();
		updateKeys(1024);
		this.sockets.send(keyUpdate());
		assertThatExceptionOfType(SSLException.class).isThrownBy(this::read)
			.withMessageContaining("more than 1024 records without data");
	}

	@Test
	void aPeerThatSendsMuchMayUpdateItsKeysMoreOften() throws IOException {
		connect("TLSv1.3");
		shakeHands();
		for (int left = 10 * 65_536; left > 0;) {
			this.sockets.send(this.client.say("x".repeat(8192)));
			for (int inRecord = 8192; inRecord > 0;) {
				int count = read().length();
				inRecord -= count;
				left -= count;
			}
		}
		updateKeys(1034);
	}

	private void updateKeys(int count) throws IOException {
		for (int i = 1; i <= count; i++) {
			this.sockets.send(keyUpdate());
			assertThat(read()).isEmpty();
			if (i % 20 == 0) {
				this.sockets.send(this.client.say("x"));
				assertThat(read()).isEqualTo("x");
			}
		}
	}

	@Test
	void aPeerThatListensMayUpdateItsKeys() throws IOException {
		connect("TLSv1.3");
		shakeHands();
		for (int i = 0; i < 100; i++) {
			this.sockets.send(keyUpdate());
			assertThat(read()).isEmpty();
			String news = "news" + i;
			this.transport.write(bytes(news));
			listenUntil(() -> this.client.heard().endsWith(news));
		}
	}

	@Test
	void anEndForWhichThereIsNoRoomIsAnEnd() throws IOException {
		connect("TLSv1.3");
		shakeHands();
		this.sockets.send(this.client.close());
		assertThat(read(1)).isEqualTo("<end>");
		assertThat(this.transport.isTruncated()).isFalse();
	}

	@Test
	void aPeerThatUpdatesItsKeysWithoutReadingIsNotReadAnyMore() throws IOException {
		connect("TLSv1.3");
		shakeHands();
		ByteBuffer text = bytes("x".repeat(16 * 1024 * 1024));
		do {
			// Once more, if the system has made room for the reply meanwhile.
			fill(text);
			this.client.engine.beginHandshake();
			this.sockets.send(this.client.speak());
			assertThat(this.transport.read(ByteBuffer.allocate(100))).isZero();
			assertThat(text.hasRemaining()).isTrue();
		}
		while (this.transport.readNeeds() != Progress.WANTS_WRITE);
		this.sockets.send(this.client.say("late"));
		ByteBuffer late = ByteBuffer.allocate(100);
		this.transport.read(late);
		assertThat(late.position() == 0 || this.transport.readNeeds() != Progress.WANTS_WRITE).isTrue();
		listenUntil(() -> {
			this.transport.flush();
			return !this.transport.wantsWrite();
		});
		this.transport.read(late);
		assertThat(late.position()).isEqualTo(4);
		assertThat(this.transport.readNeeds()).isEqualTo(Progress.WANTS_READ);
	}

	@ParameterizedTest
	@ValueSource(strings = { "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", "\u0016\u0003\u0001\u00ff\u00ff",
			"\u0016\u0003\u0001\u0000\u0005aaaaa", "\u0080\u002e\u0001\u0000\u0002", "\u0000\u0000\u0000\u0000\u0000" })
	void whatIsNoTlsIsRefused(String garbage) throws IOException {
		connect("TLSv1.3");
		this.sockets.send(garbage.getBytes(StandardCharsets.ISO_8859_1));
		assertThatExceptionOfType(SSLException.class).isThrownBy(this::establish);
		assertThat(this.transport.shutdownOutput(false)).isEqualTo(Progress.DONE);
	}

	/** The engine waits for as many bytes as they seem to announce. */
	@ParameterizedTest
	@CsvSource({ "o,TLSv1.3", "o,TLSv1.2", "GET / HTTP/1.1,TLSv1.3", "GET / HTTP/1.1,TLSv1.2" })
	void whatIsNoTlsIsRefusedAtOnceAfterTheHandshake(String garbage, String protocol) throws IOException {
		connect(protocol);
		shakeHands();
		this.sockets.send(garbage.getBytes(StandardCharsets.ISO_8859_1));
		assertThatExceptionOfType(SSLException.class).isThrownBy(this::read).withMessageContaining("not a record");
		assertThat(this.transport.shutdownOutput(false)).isEqualTo(Progress.DONE);
		listenUntil(() -> this.client.closed);
	}

	@Test
	void aRecordThatIsTooLargeIsRefusedBeforeItArrives() throws IOException {
		connect("TLSv1.3");
		shakeHands();
		this.sockets.send((byte) 23, (byte) 3, (byte) 3, (byte) 0x48, (byte) 0x01);
		assertThatExceptionOfType(SSLException.class).isThrownBy(this::read).withMessageContaining("18438 bytes");
		assertThat(this.budget.used()).isZero();
	}

	@Test
	void whatCameBeforeAForgedRecordIsRead() throws IOException {
		connect("TLSv1.3");
		shakeHands();
		byte[] good = this.client.say("good");
		byte[] forged = this.client.say("forged");
		forged[forged.length - 1] ^= 1;
		byte[] both = Arrays.copyOf(good, good.length + forged.length);
		System.arraycopy(forged, 0, both, good.length, forged.length);
		this.sockets.send(both);
		ByteBuffer buffer = ByteBuffer.allocate(100);
		assertThat(this.transport.read(buffer)).isEqualTo(4);
		assertThat(this.transport.hasMoreInput()).isTrue();
		assertThatExceptionOfType(SSLException.class).isThrownBy(() -> this.transport.read(buffer));
		assertThatExceptionOfType(SSLException.class).isThrownBy(() -> this.transport.read(buffer));
		assertThatExceptionOfType(SSLException.class).isThrownBy(() -> listenUntil(() -> this.client.closed))
			.withMessageContaining("fatal alert");
	}

	@Test
	void aFailedHandshakeIsExplainedToThePeer() throws IOException {
		connect("TLSv1.2");
		SSLEngine engine = Certificates.server().createSSLEngine();
		engine.setUseClientMode(false);
		engine.setEnabledProtocols(new String[] { "TLSv1.3" });
		this.transport = new TlsTransport(this.sockets.own, engine, this.buffers, this.budget, 1);
		this.sockets.send(this.client.speak());
		assertThatExceptionOfType(SSLHandshakeException.class).isThrownBy(this::establish);
		assertThatExceptionOfType(SSLException.class).isThrownBy(() -> listenUntil(() -> this.client.closed))
			.withMessageContaining("fatal alert");
	}

	@Test
	void aPeerThatSaysNothingIsNoFailedHandshake() throws IOException {
		connect("TLSv1.3");
		assertThat(establish()).isEqualTo(Progress.WANTS_READ);
		this.sockets.peer.close();
		this.sockets.awaitInput();
		assertThat(establish()).isEqualTo(Progress.ENDED);
	}

	@Test
	void aPeerThatClosesDuringTheHandshakeIsAFailure() throws IOException {
		connect("TLSv1.3");
		this.sockets.send(Arrays.copyOf(this.client.speak(), 20));
		assertThat(establish()).isEqualTo(Progress.WANTS_READ);
		this.sockets.peer.close();
		this.sockets.awaitInput();
		assertThatExceptionOfType(SSLHandshakeException.class).isThrownBy(this::establish)
			.withMessageContaining("during the handshake");
	}

	@Test
	void aPeerThatResetsDuringTheHandshakeIsAFailureOfTheSocket() throws IOException {
		connect("TLSv1.3");
		this.sockets.send(Arrays.copyOf(this.client.speak(), 20));
		assertThat(establish()).isEqualTo(Progress.WANTS_READ);
		assertThat(this.transport.heldBytes()).isEqualTo(TlsTransport.HANDSHAKE_BYTES);
		assertThat(this.budget.used()).isGreaterThan(TlsTransport.HANDSHAKE_BYTES);
		this.sockets.peer.setOption(StandardSocketOptions.SO_LINGER, 0);
		this.sockets.peer.close();
		this.sockets.awaitInput();
		assertThatExceptionOfType(IOException.class).isThrownBy(this::establish).isNotInstanceOf(SSLException.class);
	}

	@ParameterizedTest
	@ValueSource(ints = { 10, TlsTransport.HANDSHAKE_BYTES - 1 })
	void memoryThatIsNotThereEndsIt(int memory) throws IOException {
		connect("TLSv1.3");
		SSLEngine engine = Certificates.server().createSSLEngine();
		engine.setUseClientMode(false);
		this.transport = new TlsTransport(this.sockets.own, engine, this.buffers, new MemoryBudget(memory), 1);
		this.sockets.send(Arrays.copyOf(this.client.speak(), 20));
		assertThatExceptionOfType(MemoryBudget.ExhaustedException.class).isThrownBy(this::establish);
	}

}
