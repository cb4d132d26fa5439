package org.leaderfollowers.internal.transport;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedChannelException;
import java.util.ArrayList;
import java.util.List;

import javax.net.ssl.SSLEngineResult.HandshakeStatus;
import javax.net.ssl.SSLEngineResult.Status;
import javax.net.ssl.SSLException;
import javax.net.ssl.SSLHandshakeException;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.leaderfollowers.internal.buffer.MemoryBudget;
import org.leaderfollowers.internal.buffer.RecordBuffers;
import org.leaderfollowers.internal.transport.Transport.Progress;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

/**
 * Failures in the middle of a record, and sockets without room, with an engine whose
 * records consist of five bytes and the text. After each test, all memory and all buffers
 * must have been given back.
 */
class TlsTransportFaultTests {

	private static final int HEADER = 5;

	private final RecordBuffers buffers = new RecordBuffers();

	private final MemoryBudget budget = new MemoryBudget(1024 * 1024);

	private final MemoryChannel socket = new MemoryChannel();

	private final FakeEngine engine = new FakeEngine(HandshakeStatus.NOT_HANDSHAKING, this::answer);

	private final TlsTransport transport = new TlsTransport(this.socket, this.engine, this.buffers, this.budget, 1);

	private List<ByteBuffer> lent;

	/** What the engine throws next, or {@code null}. */
	private RuntimeException failure;

	@BeforeEach
	void storeBuffers() {
		this.lent = takeAllBuffers();
		this.lent.forEach(this.buffers::giveBack);
	}

	private List<ByteBuffer> takeAllBuffers() {
		List<ByteBuffer> all = new ArrayList<>();
		// As many as are stored for one thread.
		for (int i = 0; i < 4; i++) {
			all.add(this.buffers.take());
		}
		return all;
	}

	@AfterEach
	void releaseEverything() throws IOException {
		this.transport.release();
		assertThat(this.budget.used()).as("bytes of the budget").isZero();
		assertThat(takeAllBuffers()).as("buffers")
			.usingElementComparator((one, other) -> (one == other) ? 0 : 1)
			.containsExactlyInAnyOrderElementsOf(this.lent);
	}

	/** A record in each direction has five bytes more than its text. */
	private Status answer(ByteBuffer input, ByteBuffer output) {
		RuntimeException next = this.failure;
		this.failure = null;
		if (next != null) {
			throw next;
		}
		boolean decrypts = input.remaining() >= HEADER && input.get(input.position()) == 23;
		if (decrypts) {
			int length = input.getShort(input.position() + 3);
			if (output.remaining() < length) {
				return Status.BUFFER_OVERFLOW;
			}
			output.put(input.slice(input.position() + HEADER, length));
			input.position(input.position() + HEADER + length);
		}
		else {
			output.put(new byte[HEADER]).put(input);
			// It asks for one record at a time.
			this.engine.handshake = HandshakeStatus.NOT_HANDSHAKING;
		}
		return Status.OK;
	}

	private static byte[] record(String text) {
		byte[] bytes = text.getBytes();
		return ByteBuffer.allocate(HEADER + bytes.length)
			.put((byte) 23)
			.putShort((short) 0x0303)
			.putShort((short) bytes.length)
			.put(bytes)
			.array();
	}

	private static ByteBuffer bytes(int count) {
		return ByteBuffer.allocate(count);
	}

	private void establish() throws IOException {
		this.engine.outboundDone = true;
		assertThat(this.transport.establish()).isEqualTo(Progress.DONE);
	}

	@Test
	void aByteCountsAsWrittenOnlyWithItsPartOfTheRecord() throws IOException {
		establish();
		ByteBuffer text = bytes(1000);
		this.socket.room = 201;
		assertThat(this.transport.write(text)).isEqualTo(200);
		assertThat(this.transport.wantsWrite()).isTrue();
		this.socket.room = 402;
		assertThat(this.transport.write(text)).isEqualTo(400);
		this.socket.room = 401;
		assertThat(this.transport.write(text)).isLessThan(400);
		assertThat(text.hasRemaining()).as("the last byte is not written").isTrue();
		this.socket.room = 1;
		this.transport.write(text);
		assertThat(text.hasRemaining()).isFalse();
		assertThat(this.transport.wantsWrite()).isFalse();
		assertThat(this.socket.takeOutput()).hasSize(1005);
	}

	/** Its record is of no use to the peer without its last byte. */
	@Test
	void aSingleByteDoesNotCountAsWrittenBeforeTheEndOfItsRecord() throws IOException {
		establish();
		ByteBuffer text = bytes(1);
		this.socket.room = HEADER;
		assertThat(this.transport.write(text)).isZero();
		assertThat(this.transport.wantsWrite()).isTrue();
		this.socket.room = 1;
		assertThat(this.transport.write(text)).isOne();
		assertThat(this.transport.wantsWrite()).isFalse();
		assertThat(this.socket.takeOutput()).hasSize(HEADER + 1);
	}

	@Test
	void nothingIsEncryptedAfterAFailureOfTheEngine() throws IOException {
		establish();
		this.failure = new IllegalStateException("of the engine");
		assertThatExceptionOfType(SSLException.class).isThrownBy(() -> this.transport.write(bytes(10)));
		requireNoMoreOutput();
	}

	@Test
	void nothingIsEncryptedAfterTheSocketHasFailed() throws IOException {
		establish();
		this.socket.failure = new IOException("Broken pipe");
		assertThatExceptionOfType(IOException.class).isThrownBy(() -> this.transport.write(bytes(10)));
		requireNoMoreOutput();
	}

	@Test
	void nothingIsEncryptedAfterAPendingRecordIsLost() throws IOException {
		establish();
		this.socket.room = 3;
		this.transport.write(bytes(10));
		this.socket.failure = new IOException("Broken pipe");
		assertThatExceptionOfType(IOException.class).isThrownBy(this.transport::flush);
		assertThat(this.transport.wantsWrite()).isFalse();
		assertThat(this.budget.used()).isZero();
		requireNoMoreOutput();
	}

	@Test
	void nothingIsEncryptedAfterARecordOfTheEngineIsLost() throws IOException {
		establish();
		this.engine.handshake = HandshakeStatus.NEED_WRAP;
		this.socket.failure = new IOException("Broken pipe");
		assertThatExceptionOfType(IOException.class).isThrownBy(() -> this.transport.read(bytes(10)));
		requireNoMoreOutput();
	}

	private void requireNoMoreOutput() throws IOException {
		this.socket.room = 1000;
		this.engine.handshake = HandshakeStatus.NOT_HANDSHAKING;
		int calls = this.engine.calls;
		assertThatExceptionOfType(ClosedChannelException.class).isThrownBy(() -> this.transport.write(bytes(10)));
		assertThat(this.transport.shutdownOutput(false)).isEqualTo(Progress.DONE);
		assertThat(this.engine.calls).as("calls of the engine").isEqualTo(calls);
		this.engine.handshake = HandshakeStatus.NEED_WRAP;
		assertThatExceptionOfType(ClosedChannelException.class).isThrownBy(() -> this.transport.read(bytes(10)));
		assertThat(this.socket.takeOutput()).hasSizeLessThan(10);
	}

	@Test
	void nothingIsWrittenOrReadAfterTheRelease() throws IOException {
		establish();
		this.socket.receive(record("late"));
		this.socket.room = 3;
		this.transport.write(bytes(10));
		this.transport.release();
		assertThat(this.budget.used()).as("pending bytes").isZero();
		assertThatExceptionOfType(ClosedChannelException.class).isThrownBy(() -> this.transport.write(bytes(10)));
		assertThat(this.transport.read(bytes(10))).isEqualTo(-1);
		this.socket.room = 100;
		this.transport.flush();
		assertThat(this.socket.takeOutput()).hasSize(3);
	}

	@Test
	void theClosingAlertWaitsForRoom() throws IOException {
		establish();
		assertThat(this.transport.shutdownOutput(false)).isEqualTo(Progress.WANTS_WRITE);
		assertThat(this.transport.wantsWrite()).isTrue();
		int calls = this.engine.calls;
		assertThat(this.transport.shutdownOutput(false)).isEqualTo(Progress.WANTS_WRITE);
		this.socket.room = 1000;
		assertThat(this.transport.shutdownOutput(false)).isEqualTo(Progress.DONE);
		assertThat(this.engine.calls).as("calls of the engine, which has made its alert").isEqualTo(calls);
		assertThat(this.socket.takeOutput()).isNotEmpty();
	}

	@Test
	void anEngineThatHasNoClosingAlertIsNoFailure() throws IOException {
		establish();
		this.failure = new IllegalStateException("of the engine");
		assertThat(this.transport.shutdownOutput(false)).isEqualTo(Progress.DONE);
	}

	@Test
	void theEngineRepliesAsSoonAsPendingOutputIsWritten() throws IOException {
		establish();
		this.socket.room = 3;
		this.transport.write(bytes(10));
		this.engine.handshake = HandshakeStatus.NEED_WRAP;
		assertThat(this.transport.read(bytes(10))).isZero();
		assertThat(this.transport.readNeeds()).isEqualTo(Progress.WANTS_WRITE);
		this.socket.room = 100;
		assertThat(this.transport.read(bytes(10))).isZero();
		assertThat(this.transport.readNeeds()).isEqualTo(Progress.WANTS_READ);
		assertThat(this.socket.takeOutput()).hasSize(20);
	}

	@Test
	void aFailedTaskEndsTheInputEvenIfTheEngineGoesOn() throws IOException {
		establish();
		this.engine.handshake = HandshakeStatus.NEED_TASK;
		this.engine.task = () -> {
			throw new UnsupportedOperationException("of the trust manager");
		};
		assertThat(this.transport.read(bytes(10))).isZero();
		this.transport.runTasks();
		this.engine.handshake = HandshakeStatus.NOT_HANDSHAKING;
		this.socket.receive(record("text"));
		assertThatExceptionOfType(SSLException.class).isThrownBy(() -> this.transport.read(bytes(10)))
			.withRootCauseInstanceOf(UnsupportedOperationException.class);
	}

	@Test
	void aRecordThatDoesNotFitIsReported() throws IOException {
		establish();
		this.socket.receive(record("first"));
		this.socket.receive(record("second"));
		assertThat(this.transport.read(bytes(9))).as("without memory for the second one").isEqualTo(5);
		assertThat(this.transport.hasMoreInput()).isTrue();
		assertThat(this.transport.read(bytes(2))).isEqualTo(2);
		assertThat(this.transport.hasMoreInput()).isTrue();
		assertThat(this.transport.read(bytes(3))).isEqualTo(3);
		assertThat(this.transport.hasMoreInput()).isTrue();
		assertThat(this.transport.read(bytes(10))).isOne();
		assertThat(this.transport.hasMoreInput()).isFalse();
	}

	@Test
	void aSocketThatWasEmptiedIsNotReadAgain() throws IOException {
		establish();
		this.socket.receive(record("text"));
		assertThat(this.transport.read(bytes(10))).isEqualTo(4);
		assertThat(this.socket.reads).isOne();
	}

	@Test
	void aPartialRecordMayGrow() throws IOException {
		establish();
		this.engine.calls = -100_000;
		byte[] all = record("x".repeat(1000));
		for (byte each : all) {
			assertThat(this.transport.read(bytes(2000))).isZero();
			this.socket.receive(new byte[] { each });
		}
		assertThat(this.transport.read(bytes(2000))).isEqualTo(1000);
		assertThat(this.budget.used()).isZero();
	}

	@Test
	void aHandshakeHasAtMostAThousandRecords() throws IOException {
		this.engine.handshake = HandshakeStatus.NEED_UNWRAP;
		this.engine.calls = -100_000;
		for (int i = 0; i < 1024; i++) {
			this.socket.receive(record(""));
		}
		Progress progress = this.transport.establish();
		while (progress != Progress.WANTS_READ) {
			progress = this.transport.establish();
		}
		this.socket.receive(record(""));
		assertThatExceptionOfType(SSLHandshakeException.class).isThrownBy(this.transport::establish)
			.withMessageContaining("more than 1024 records");
	}

}
