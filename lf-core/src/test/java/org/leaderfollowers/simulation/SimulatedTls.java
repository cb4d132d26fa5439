package org.leaderfollowers.simulation;

import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.Deque;

import javax.net.ssl.SSLEngine;
import javax.net.ssl.SSLEngineResult;
import javax.net.ssl.SSLEngineResult.HandshakeStatus;
import javax.net.ssl.SSLEngineResult.Status;
import javax.net.ssl.SSLException;
import javax.net.ssl.SSLHandshakeException;
import javax.net.ssl.SSLSession;

import org.jspecify.annotations.Nullable;

/**
 * One end of a TLS connection without cryptography. It has the records, the handshake,
 * the alerts and the results of an engine of the JDK, but the seed decides what a real
 * engine derives from keys: the number of records and tasks of a flight, how long a task
 * takes, and whether it fails. A record carries its number and a checksum, so an end
 * notices a record that is lost, repeated, cut or changed.
 * <p>
 * A call takes one step, before its effect. Real engines are atomic as well.
 */
final class SimulatedTls extends SSLEngine {

	/** The message of the exception for a record that is not the next one of the peer. */
	static final String BAD_RECORD = "bad record (simulated)";

	static final int ALERT = 21;

	static final int HANDSHAKE = 22;

	static final int DATA = 23;

	/** A part of a flight that is not its last one. */
	static final byte PART = 0;

	static final byte HELLO = 1;

	static final byte TICKET = 4;

	static final byte FLIGHT = 8;

	static final byte FINISHED = 20;

	static final byte KEY_UPDATE = 24;

	/** A key update that the other end has to answer. */
	static final byte KEY_UPDATE_REQUEST = 25;

	static final byte CLOSE_NOTIFY = 0;

	static final byte WARNING = 1;

	static final byte FATAL = 2;

	private static final int HEADER = 5;

	private static final int VERSION = 0x0303;

	/** The checksum and the type of the content. */
	private static final int TRAILER = 3;

	private static final int LARGEST_CONTENT = 16 * 1024;

	private static final int LARGEST_RECORD = HEADER + LARGEST_CONTENT + 256;

	private final Simulator simulator;

	private final SSLSession session;

	private final boolean tls13;

	/** Whether the other end is a thread of the engine, whose tasks may block. */
	private final boolean hasTasks;

	/** How many bytes of the application a record has at most. */
	private final int fragment;

	private final Deque<Message> outgoing = new ArrayDeque<>();

	private boolean client;

	private boolean begun;

	private boolean handshaking;

	/** The last message of the flight that the other end sends next. */
	private byte expected;

	/** The tasks that have not ended, the running one included. */
	private int tasks;

	private boolean taskGiven;

	/** What to send when the tasks have ended, or 0. */
	private byte next;

	private @Nullable SSLException thrown;

	private boolean inputClosed;

	private boolean outputClosed;

	private int sent;

	private int received;

	/** The content of a record. */
	private record Message(int type, byte[] content) {
	}

	SimulatedTls(Simulator simulator, SSLSession session, boolean tls13, boolean hasTasks) {
		this.simulator = simulator;
		this.session = session;
		this.tls13 = tls13;
		this.hasTasks = hasTasks;
		this.fragment = (simulator.choose(4) == 0) ? 1 + simulator.choose(400) : LARGEST_CONTENT;
	}

	/** Whether its records are small. */
	boolean sendsSlowly() {
		return this.fragment < 64;
	}

	boolean isTls13() {
		return this.tls13;
	}

	/** Sends a record before the next bytes of the application. */
	void say(int type, byte... content) {
		this.outgoing.add(new Message(type, content));
	}

	private void sayFlight(byte last) {
		for (int i = this.simulator.choose(3); i > 0; i--) {
			say(HANDSHAKE, new byte[1 + this.simulator.choose(300)]);
		}
		byte[] content = new byte[1 + this.simulator.choose(300)];
		content[0] = last;
		say(HANDSHAKE, content);
	}

	@Override
	public void beginHandshake() {
		if (!this.begun) {
			this.begun = true;
			this.handshaking = true;
			if (this.client) {
				sayFlight(HELLO);
				this.expected = FLIGHT;
			}
			else {
				this.expected = HELLO;
			}
		}
	}

	@Override
	public HandshakeStatus getHandshakeStatus() {
		SimulatedJdk.step();
		return status();
	}

	/** The same order as in the engine of the JDK. */
	private HandshakeStatus status() {
		if (!this.outgoing.isEmpty()) {
			return HandshakeStatus.NEED_WRAP;
		}
		if (this.outputClosed && this.inputClosed) {
			return HandshakeStatus.NOT_HANDSHAKING;
		}
		if (this.tasks > 0) {
			return HandshakeStatus.NEED_TASK;
		}
		if ((this.handshaking || this.outputClosed) && !this.inputClosed) {
			return HandshakeStatus.NEED_UNWRAP;
		}
		return this.inputClosed ? HandshakeStatus.NEED_WRAP : HandshakeStatus.NOT_HANDSHAKING;
	}

	// Tasks

	private void needTasks(int count, byte next) {
		this.next = next;
		this.tasks = this.hasTasks ? count : 0;
		if (this.tasks == 0) {
			tasksHaveEnded();
		}
	}

	private void tasksHaveEnded() {
		if (this.next != 0) {
			sayFlight(this.next);
			this.next = 0;
		}
	}

	@Override
	public @Nullable Runnable getDelegatedTask() {
		SimulatedJdk.step();
		if (this.tasks == 0 || this.taskGiven) {
			return null;
		}
		this.taskGiven = true;
		return this::runTask;
	}

	private void runTask() {
		if (this.simulator.choose(3) == 0) {
			this.simulator.sleep(this.simulator.choose(5_000_000));
		}
		if (this.simulator.fault(30)) {
			throw new IllegalStateException("simulated failure of a task");
		}
		if (this.simulator.fault(30)) {
			throw new SimulatedFailure();
		}
		this.taskGiven = false;
		this.tasks--;
		if (this.simulator.fault(30)) {
			this.tasks = 0;
			this.next = 0;
			// The next call throws it, and the one after that sends the alert.
			this.thrown = fatal("simulated failure of a key manager");
		}
		else if (this.tasks == 0) {
			tasksHaveEnded();
		}
	}

	private SSLException fatal(String message) {
		this.outgoing.clear();
		if (!this.outputClosed) {
			say(ALERT, FATAL);
		}
		this.inputClosed = true;
		this.outputClosed = true;
		return this.handshaking ? new SSLHandshakeException(message) : new SSLException(message);
	}

	private void throwFailure() throws SSLException {
		SSLException failure = this.thrown;
		if (failure != null) {
			this.thrown = null;
			throw failure;
		}
	}

	// Output

	@Override
	public SSLEngineResult wrap(ByteBuffer[] sources, int offset, int length, ByteBuffer target) throws SSLException {
		SimulatedJdk.step();
		beginHandshake();
		throwFailure();
		if (isDone()) {
			return result(Status.CLOSED, 0, 0);
		}
		if (target.remaining() < LARGEST_RECORD) {
			return result(Status.BUFFER_OVERFLOW, 0, 0);
		}
		Message message = this.outgoing.poll();
		if (message != null) {
			int produced = write(message.type(), ByteBuffer.wrap(message.content()), target);
			if (message.type() == HANDSHAKE) {
				said(message.content()[0]);
			}
			return result(isDone() ? Status.CLOSED : Status.OK, 0, produced);
		}
		if (this.handshaking) {
			return result(Status.OK, 0, 0);
		}
		ByteBuffer source = sources[offset];
		ByteBuffer content = source.slice().limit(Math.min(source.remaining(), this.fragment));
		int consumed = content.remaining();
		int produced = write(DATA, content, target);
		source.position(source.position() + consumed);
		return result(Status.OK, consumed, produced);
	}

	private void said(byte kind) {
		if (kind == FLIGHT) {
			this.expected = FINISHED;
		}
		else if (kind == FINISHED && this.client && !this.tls13) {
			this.expected = FINISHED;
		}
		else if (kind == FINISHED) {
			this.handshaking = false;
		}
	}

	private int write(int type, ByteBuffer content, ByteBuffer target) {
		int start = target.position();
		int outer = (this.tls13 && !this.handshaking) ? DATA : type;
		target.put((byte) outer).putShort((short) VERSION).putShort((short) (content.remaining() + TRAILER));
		int key = this.sent++;
		int sum = key + outer;
		while (content.hasRemaining()) {
			byte each = content.get();
			sum = sum * 31 + each;
			target.put((byte) (each ^ key ^ 0x5a));
		}
		target.put((byte) type).putShort((short) (sum * 31 + type));
		return target.position() - start;
	}

	// Input

	@Override
	public SSLEngineResult unwrap(ByteBuffer source, ByteBuffer[] targets, int offset, int length) throws SSLException {
		SimulatedJdk.step();
		beginHandshake();
		throwFailure();
		if (this.inputClosed) {
			return result(Status.CLOSED, 0, 0);
		}
		if (this.tasks > 0 || (this.handshaking && !this.outgoing.isEmpty())) {
			return result(Status.OK, 0, 0);
		}
		if (source.remaining() < HEADER) {
			return result(Status.BUFFER_UNDERFLOW, 0, 0);
		}
		int start = source.position();
		int size = source.getShort(start + 3) & 0xffff;
		if (source.get(start) < ALERT - 1 || source.getShort(start + 1) != VERSION || size < TRAILER
				|| size > LARGEST_RECORD) {
			throw fatal(BAD_RECORD);
		}
		if (source.remaining() < HEADER + size) {
			return result(Status.BUFFER_UNDERFLOW, 0, 0);
		}
		ByteBuffer target = targets[offset];
		if (!this.handshaking && target.remaining() < size) {
			// Like a real engine, it does not know how much of the record is padding.
			return result(Status.BUFFER_OVERFLOW, 0, 0);
		}
		byte[] content = new byte[size - TRAILER];
		int type = read(source, content);
		return take(type, content, target, HEADER + size);
	}

	private int read(ByteBuffer source, byte[] content) throws SSLException {
		int outer = source.get();
		source.position(source.position() + HEADER - 1);
		int key = this.received++;
		int sum = key + outer;
		for (int i = 0; i < content.length; i++) {
			content[i] = (byte) (source.get() ^ key ^ 0x5a);
			sum = sum * 31 + content[i];
		}
		int type = source.get();
		if (source.getShort() != (short) (sum * 31 + type)) {
			throw fatal(BAD_RECORD);
		}
		return type;
	}

	private SSLEngineResult take(int type, byte[] content, ByteBuffer target, int consumed) throws SSLException {
		if (type == ALERT) {
			takeAlert(content[0]);
			return result(this.inputClosed ? Status.CLOSED : Status.OK, consumed, 0);
		}
		if (type == HANDSHAKE) {
			takeHandshake(content[0]);
			return result(Status.OK, consumed, 0);
		}
		if (this.handshaking) {
			throw fatal("data during the handshake (simulated)");
		}
		target.put(content);
		return result(Status.OK, consumed, content.length);
	}

	private void takeAlert(byte kind) throws SSLException {
		if (kind == FATAL) {
			this.outgoing.clear();
			this.inputClosed = true;
			this.outputClosed = true;
			throw new SSLException("received a fatal alert (simulated)");
		}
		if (kind == CLOSE_NOTIFY) {
			if (this.handshaking) {
				throw fatal("closed during the handshake (simulated)");
			}
			this.inputClosed = true;
			if (!this.tls13) {
				closeOutbound();
			}
		}
	}

	private void takeHandshake(byte kind) throws SSLException {
		if (this.handshaking) {
			if (kind != PART && kind != this.expected) {
				throw fatal("unexpected message (simulated)");
			}
			flightHasArrived(kind);
		}
		else if (kind == KEY_UPDATE_REQUEST && this.tls13) {
			say(HANDSHAKE, KEY_UPDATE);
		}
		else if (!this.tls13 || (kind != KEY_UPDATE && kind != TICKET)) {
			throw fatal("unexpected message (simulated)");
		}
		else if (this.simulator.choose(4) == 0) {
			// The engine of the JDK has no such tasks, but others may.
			needTasks(1, (byte) 0);
		}
	}

	private void flightHasArrived(byte kind) {
		switch (kind) {
			case HELLO -> needTasks(this.simulator.choose(3), FLIGHT);
			case FLIGHT -> needTasks(this.simulator.choose(3), FINISHED);
			case FINISHED -> {
				if (this.client || this.tls13) {
					this.handshaking = false;
				}
				else {
					sayFlight(FINISHED);
				}
				for (int i = (!this.client && this.tls13) ? this.simulator.choose(3) : 0; i > 0; i--) {
					say(HANDSHAKE, TICKET);
				}
			}
			default -> {
			}
		}
	}

	// The end

	@Override
	public void closeOutbound() {
		if (!this.outputClosed) {
			this.outputClosed = true;
			if (this.begun) {
				say(ALERT, CLOSE_NOTIFY);
			}
		}
	}

	@Override
	public void closeInbound() {
		this.inputClosed = true;
	}

	@Override
	public boolean isInboundDone() {
		return this.inputClosed;
	}

	@Override
	public boolean isOutboundDone() {
		SimulatedJdk.step();
		return isDone();
	}

	private boolean isDone() {
		return this.outputClosed && this.outgoing.isEmpty();
	}

	private SSLEngineResult result(Status status, int consumed, int produced) {
		return new SSLEngineResult(status, status(), consumed, produced);
	}

	// Options

	@Override
	public SSLSession getSession() {
		return this.session;
	}

	@Override
	public void setUseClientMode(boolean mode) {
		this.client = mode;
	}

	@Override
	public boolean getUseClientMode() {
		return this.client;
	}

	@Override
	public String[] getSupportedCipherSuites() {
		return new String[0];
	}

	@Override
	public String[] getEnabledCipherSuites() {
		return new String[0];
	}

	@Override
	public void setEnabledCipherSuites(String[] suites) {
	}

	@Override
	public String[] getSupportedProtocols() {
		return new String[0];
	}

	@Override
	public String[] getEnabledProtocols() {
		return new String[0];
	}

	@Override
	public void setEnabledProtocols(String[] protocols) {
	}

	@Override
	public void setNeedClientAuth(boolean need) {
	}

	@Override
	public boolean getNeedClientAuth() {
		return false;
	}

	@Override
	public void setWantClientAuth(boolean want) {
	}

	@Override
	public boolean getWantClientAuth() {
		return false;
	}

	@Override
	public void setEnableSessionCreation(boolean flag) {
	}

	@Override
	public boolean getEnableSessionCreation() {
		return true;
	}

}
