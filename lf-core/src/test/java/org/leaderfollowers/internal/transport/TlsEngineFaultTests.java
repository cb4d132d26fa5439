package org.leaderfollowers.internal.transport;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedChannelException;
import java.util.ArrayList;
import java.util.List;

import javax.net.ssl.SSLEngineResult.HandshakeStatus;
import javax.net.ssl.SSLEngineResult.Status;
import javax.net.ssl.SSLException;

import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.leaderfollowers.internal.buffer.MemoryBudget;
import org.leaderfollowers.internal.buffer.RecordBuffers;
import org.leaderfollowers.internal.transport.Transport.Progress;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

/**
 * TLS engines with arbitrary results. Whatever they return, a transport makes progress,
 * fails, or reports what it needs; it never loops for ever.
 */
class TlsEngineFaultTests {

	private final MemoryBudget budget = new MemoryBudget(1024 * 1024);

	private SocketPair sockets;

	@BeforeEach
	void connect() throws IOException {
		this.sockets = new SocketPair();
	}

	@AfterEach
	void close() throws IOException {
		this.sockets.close();
	}

	static List<Arguments> statusPairs() {
		List<Arguments> pairs = new ArrayList<>();
		for (Status status : Status.values()) {
			for (HandshakeStatus handshake : HandshakeStatus.values()) {
				pairs.add(Arguments.of(status, handshake));
			}
		}
		return pairs;
	}

	private TlsTransport transport(FakeEngine engine) {
		return new TlsTransport(this.sockets.own, engine, new RecordBuffers(), this.budget, 1);
	}

	/** The result of one call, if it returned. */
	private interface Call {

		Object run() throws IOException;

	}

	private static Object outcome(Call call) {
		try {
			return call.run();
		}
		catch (IOException ex) {
			return ex;
		}
	}

	@ParameterizedTest
	@MethodSource("statusPairs")
	void noAnswerKeepsAHandshakeInCircles(Status status, HandshakeStatus handshake) throws IOException {
		FakeEngine engine = new FakeEngine(handshake, (input, output) -> status);
		TlsTransport transport = transport(engine);
		this.sockets.send((byte) 22, (byte) 3, (byte) 3, (byte) 0, (byte) 1, (byte) 0);
		Object outcome = outcome(transport::establish);
		if (outcome == Progress.HAS_TASKS) {
			transport.runTasks();
			outcome = outcome(transport::establish);
		}
		if (handshake == HandshakeStatus.NOT_HANDSHAKING || handshake == HandshakeStatus.FINISHED) {
			assertThat(outcome).isEqualTo(Progress.DONE);
		}
		else if (handshake == HandshakeStatus.NEED_UNWRAP && status == Status.BUFFER_UNDERFLOW) {
			assertThat(outcome).isEqualTo(Progress.WANTS_READ);
		}
		else {
			assertThat(outcome).isInstanceOf(SSLException.class);
		}
		transport.release();
		assertThat(this.budget.used()).isZero();
	}

	@ParameterizedTest
	@MethodSource("statusPairs")
	void noAnswerKeepsAReaderInCircles(Status status, HandshakeStatus handshake) throws IOException {
		FakeEngine engine = new FakeEngine(HandshakeStatus.NOT_HANDSHAKING, (input, output) -> status);
		TlsTransport transport = transport(engine);
		assertThat(transport.establish()).isEqualTo(Progress.DONE);
		engine.handshake = handshake;
		this.sockets.send((byte) 23, (byte) 3, (byte) 3, (byte) 0, (byte) 1, (byte) 0);
		Object outcome = outcome(() -> transport.read(ByteBuffer.allocate(100)));
		if (handshake == HandshakeStatus.NEED_TASK) {
			assertThat(transport.readNeeds()).isEqualTo(Progress.HAS_TASKS);
			transport.runTasks();
			outcome = outcome(() -> transport.read(ByteBuffer.allocate(100)));
		}
		boolean ended = status == Status.CLOSED && handshake != HandshakeStatus.NEED_TASK
				&& handshake != HandshakeStatus.NEED_WRAP;
		if (ended) {
			assertThat(outcome).isEqualTo(-1);
		}
		else {
			assertThat(outcome).isInstanceOf(SSLException.class);
		}
		transport.release();
		assertThat(this.budget.used()).isZero();
	}

	@ParameterizedTest
	@MethodSource("statusPairs")
	void noAnswerKeepsAWriterInCircles(Status status, HandshakeStatus handshake) throws IOException {
		FakeEngine engine = new FakeEngine(HandshakeStatus.NOT_HANDSHAKING, (input, output) -> status);
		TlsTransport transport = transport(engine);
		assertThat(transport.establish()).isEqualTo(Progress.DONE);
		engine.handshake = handshake;
		assertThat(outcome(() -> transport.write(ByteBuffer.allocate(100)))).isInstanceOf(IOException.class);
		assertThat(outcome(() -> transport.shutdownOutput(false))).isEqualTo(Progress.DONE);
		transport.release();
		assertThat(this.budget.used()).isZero();
	}

	/** Half of a renegotiation: the engine waits for the peer and encrypts nothing. */
	@Test
	void aWriterDoesNotWaitForAPeerInTheMiddleOfAHandshake() throws IOException {
		FakeEngine engine = new FakeEngine(HandshakeStatus.NOT_HANDSHAKING, (input, output) -> Status.OK);
		TlsTransport transport = transport(engine);
		transport.establish();
		engine.handshake = HandshakeStatus.NEED_UNWRAP;
		assertThatExceptionOfType(SSLException.class).isThrownBy(() -> transport.write(ByteBuffer.allocate(100)))
			.withMessageContaining("NEED_UNWRAP");
	}

	@Test
	void anEngineThatThrowsEndsTheConnection() throws IOException {
		FakeEngine engine = new FakeEngine(HandshakeStatus.NEED_UNWRAP, (input, output) -> {
			throw new IllegalArgumentException("of the engine");
		});
		TlsTransport transport = transport(engine);
		this.sockets.send((byte) 22, (byte) 3, (byte) 3, (byte) 0, (byte) 1, (byte) 0);
		assertThatExceptionOfType(SSLException.class).isThrownBy(transport::establish)
			.withRootCauseInstanceOf(IllegalArgumentException.class);
	}

	@Test
	void aTaskThatThrowsEndsTheConnection() throws IOException {
		FakeEngine engine = new FakeEngine(HandshakeStatus.NEED_TASK, (input, output) -> Status.OK);
		engine.task = () -> {
			throw new IllegalStateException("of the trust manager");
		};
		TlsTransport transport = transport(engine);
		assertThat(transport.establish()).isEqualTo(Progress.HAS_TASKS);
		transport.runTasks();
		assertThatExceptionOfType(SSLException.class).isThrownBy(transport::establish)
			.withRootCauseInstanceOf(IllegalStateException.class);
	}

	@Test
	void aHandshakeThatFailsInATaskLeavesNothingCharged() throws IOException {
		FakeEngine engine = new FakeEngine(HandshakeStatus.NEED_UNWRAP, (input, output) -> Status.BUFFER_UNDERFLOW);
		TlsTransport transport = transport(engine);
		this.sockets.send((byte) 22);
		Awaitility.await().untilAsserted(() -> {
			assertThat(transport.establish()).isEqualTo(Progress.WANTS_READ);
			assertThat(this.budget.used()).isGreaterThanOrEqualTo(TlsTransport.HANDSHAKE_BYTES);
		});
		engine.handshake = HandshakeStatus.NEED_TASK;
		engine.task = () -> {
			throw new IllegalStateException("of the trust manager");
		};
		assertThat(transport.establish()).isEqualTo(Progress.HAS_TASKS);
		transport.runTasks();
		assertThatExceptionOfType(SSLException.class).isThrownBy(transport::establish);
		transport.release();
		assertThat(this.budget.used()).isZero();
	}

	@Test
	void recordsOfNothingDoNotKeepAReader() throws IOException {
		FakeEngine engine = new FakeEngine(HandshakeStatus.NOT_HANDSHAKING, (input, output) -> {
			if (input.hasRemaining()) {
				input.position(input.position() + Math.min(6, input.remaining()));
			}
			return Status.OK;
		});
		engine.calls = -100_000;
		TlsTransport transport = transport(engine);
		transport.establish();
		byte[] flood = new byte[60_000];
		for (int i = 0; i < flood.length; i += 6) {
			flood[i] = 23;
			flood[i + 1] = 3;
			flood[i + 2] = 3;
			flood[i + 4] = 1;
		}
		this.sockets.send(flood);
		assertThatExceptionOfType(SSLException.class).isThrownBy(() -> transport.read(ByteBuffer.allocate(100)))
			.withMessageContaining("more than 32 records in a row");
	}

	/** The JDK holds up to 32 KB of a message that comes after the handshake. */
	@Test
	void theBeginningOfALongMessageForTheEngineIsCharged() throws IOException {
		FakeEngine engine = new FakeEngine(HandshakeStatus.NOT_HANDSHAKING, (input, output) -> {
			input.get(new byte[10_005]);
			return Status.OK;
		});
		engine.speakTls13();
		byte[] record = new byte[10_005];
		record[0] = 23;
		record[1] = 3;
		record[2] = 3;
		record[3] = 10_000 >> 8;
		record[4] = (byte) (10_000 & 0xFF);
		for (int records = 1; records <= 6; records++) {
			TlsTransport transport = transport(engine);
			transport.establish();
			int held = Math.min(records * record.length, TlsTransport.HANDSHAKE_BYTES);
			for (int i = 0; i < records; i++) {
				this.sockets.send(record);
			}
			Awaitility.await().untilAsserted(() -> {
				assertThat(transport.read(ByteBuffer.allocate(100))).isZero();
				assertThat(transport.heldBytes()).isEqualTo(held);
				assertThat(transport.undecodedBytes()).isZero();
			});
			assertThat(this.budget.used()).isEqualTo(held);
			transport.release();
			assertThat(this.budget.used()).isZero();
		}
	}

	/**
	 * Data can only follow the end of the message, which the engine then no longer holds.
	 */
	@Test
	void theBeginningOfALongMessageIsChargedUntilDataComes() throws IOException {
		FakeEngine engine = new FakeEngine(HandshakeStatus.NOT_HANDSHAKING, (input, output) -> {
			byte[] record = new byte[5 + input.getShort(input.position() + 3)];
			input.get(record);
			if (record[5] != 0) {
				output.put(record[5]);
			}
			return Status.OK;
		});
		engine.calls = -100_000;
		engine.speakTls13();
		TlsTransport transport = transport(engine);
		transport.establish();
		byte[] beginning = new byte[1005];
		System.arraycopy(new byte[] { 23, 3, 3, 1000 >> 8, (byte) (1000 & 0xFF) }, 0, beginning, 0, 5);
		this.sockets.send(beginning);
		Awaitility.await().untilAsserted(() -> {
			assertThat(transport.read(ByteBuffer.allocate(100))).isZero();
			assertThat(transport.heldBytes()).isEqualTo(beginning.length);
		});
		long since = transport.heldSinceNanos();
		this.sockets.send(beginning);
		Awaitility.await().untilAsserted(() -> {
			assertThat(transport.read(ByteBuffer.allocate(100))).isZero();
			assertThat(transport.heldBytes()).isEqualTo(2 * beginning.length);
		});
		assertThat(transport.heldSinceNanos()).isEqualTo(since);
		this.sockets.send((byte) 23, (byte) 3, (byte) 3, (byte) 0, (byte) 1, (byte) 'x');
		Awaitility.await().untilAsserted(() -> assertThat(transport.read(ByteBuffer.allocate(100))).isOne());
		assertThat(transport.heldBytes()).isEqualTo(2 * TlsTransport.KEY_UPDATE_BYTES);
		assertThat(this.budget.used()).isEqualTo(2 * TlsTransport.KEY_UPDATE_BYTES);
	}

	/**
	 * A countermeasure against attacks on old cipher suites. The JDK's own client never
	 * sends such records.
	 */
	@Test
	void anEmptyRecordMayPrecedeEachMessageBeforeTls13() throws IOException {
		FakeEngine engine = new FakeEngine(HandshakeStatus.NOT_HANDSHAKING, (input, output) -> {
			byte[] record = new byte[6];
			input.get(record);
			if (record[5] != 0) {
				output.put(record[5]);
			}
			return Status.OK;
		});
		engine.calls = -100_000;
		TlsTransport transport = transport(engine);
		transport.establish();
		for (int i = 0; i < 3000; i++) {
			this.sockets.send(new byte[] { 23, 3, 3, 0, 1, 0, 23, 3, 3, 0, 1, 'x' });
			ByteBuffer message = ByteBuffer.allocate(1);
			while (message.hasRemaining()) {
				assertThat(transport.read(message)).isNotNegative();
			}
			assertThat(message.get(0)).isEqualTo((byte) 'x');
		}
	}

	/** Before TLS 1.3, nothing can be written after the closing alert. */
	@Test
	void pendingOutputIsWrittenBeforeEachAlert() throws IOException {
		FakeEngine engine = new FakeEngine(HandshakeStatus.NOT_HANDSHAKING, (input, output) -> {
			input.get(new byte[6]);
			return Status.OK;
		});
		TlsTransport transport = transport(engine);
		transport.establish();
		for (int i = 0; i < 2; i++) {
			this.sockets.send(new byte[] { 21, 3, 3, 0, 1, 1 });
			assertThat(transport.read(ByteBuffer.allocate(100))).isZero();
			assertThat(transport.readNeeds()).isEqualTo(Progress.WANTS_FLUSH);
			transport.endInput();
			assertThat(transport.read(ByteBuffer.allocate(100))).isZero();
			assertThat(transport.readNeeds()).isEqualTo(Progress.WANTS_READ);
		}
	}

	@Test
	void nothingFollowsARecordThatIsLostInPart() throws IOException {
		FakeEngine engine = new FakeEngine(HandshakeStatus.NOT_HANDSHAKING, (input, output) -> {
			output.put(new byte[5]).put(input);
			return Status.OK;
		});
		engine.calls = -100_000;
		TlsTransport transport = new TlsTransport(this.sockets.own, engine, new RecordBuffers(), new MemoryBudget(1),
				1);
		transport.establish();
		assertThatExceptionOfType(MemoryBudget.ExhaustedException.class).isThrownBy(() -> {
			while (transport.write(ByteBuffer.allocate(16_000)) > 0) {
				// The peer does not read.
			}
		});
		int calls = engine.calls;
		assertThatExceptionOfType(ClosedChannelException.class)
			.isThrownBy(() -> transport.write(ByteBuffer.allocate(100)));
		assertThat(transport.shutdownOutput(false)).isEqualTo(Progress.DONE);
		assertThat(engine.calls).as("calls of the engine").isEqualTo(calls);
	}

}
