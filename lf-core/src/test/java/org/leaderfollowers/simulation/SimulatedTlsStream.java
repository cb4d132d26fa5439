package org.leaderfollowers.simulation;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;

import javax.net.ssl.SSLEngineResult;
import javax.net.ssl.SSLEngineResult.HandshakeStatus;
import javax.net.ssl.SSLEngineResult.Status;
import javax.net.ssl.SSLException;

/**
 * The TLS of a {@link SimulatedPeer}: between its messages and its socket. It also sends
 * records without data. If it offends, it violates the protocol at a place in the stream
 * that the seed chooses.
 */
final class SimulatedTlsStream {

	private static final int SIZE = 64 * 1024;

	private static final ByteBuffer NOTHING = ByteBuffer.allocate(0);

	/** More than the engine accepts in a row. */
	private static final int FLOOD = 60;

	/** Fewer than the 1,024 for which the engine closes a connection. */
	private static final int MAX_BARREN = 1_000;

	private enum Offence {

		NONE,

		/** Sends nothing more. */
		STALLS,

		/** Ends its output, perhaps in the middle of a record. */
		ENDS,

		/** Changes a bit. */
		CORRUPTS,

		/** Begins another handshake. */
		RENEGOTIATES,

		/** Sends many records without data. */
		FLOODS

	}

	private final Simulator simulator;

	private final SimulatedSocket socket;

	private final SimulatedTls tls;

	private final Offence offence;

	/** Before which byte of its output the offence happens. */
	private final long offenceAt;

	private boolean offended;

	/** How many of a thousand records follow one without data. */
	private final int barren;

	private int barrenRecords;

	/** Whether it ends its output without the closing alert. */
	private final boolean truncates;

	/** Received bytes that are not decrypted, from 0 to the position. */
	private final ByteBuffer input = ByteBuffer.allocate(SIZE);

	/** Decrypted bytes, from the position to the limit. */
	private final ByteBuffer plain = ByteBuffer.allocate(SIZE).limit(0);

	/** Bytes that the socket has not taken, from the position to the limit. */
	private final ByteBuffer output = ByteBuffer.allocate(SIZE).limit(0);

	/** The number of bytes of the output so far, whether written or not. */
	private long produced;

	private long consumed;

	/** For each record with data: where its data and the record itself end. */
	private final List<long[]> records = new ArrayList<>();

	private boolean ends;

	private boolean endOfInput;

	private boolean moved;

	SimulatedTlsStream(Simulator simulator, SimulatedSocket socket, SimulatedPeer.Tls options, byte[] preamble) {
		this.simulator = simulator;
		this.socket = socket;
		this.tls = options.context().peer();
		this.offence = (options.mayOffend() && simulator.choose(3) == 0)
				? Offence.values()[1 + simulator.choose(Offence.values().length - 1)] : Offence.NONE;
		this.offenceAt = preamble.length + simulator.choose((simulator.choose(2) == 0) ? 100 : 1500);
		this.barren = simulator.choose(3) * 50;
		this.truncates = simulator.choose(3) == 0;
		this.output.clear().put(preamble).flip();
		this.produced = preamble.length;
		this.tls.beginHandshake();
	}

	/** Whether its records are small. */
	boolean sendsSlowly() {
		return this.tls.sendsSlowly();
	}

	/** Whether its output has come to the place where it violates the protocol. */
	boolean offends() {
		return this.offence != Offence.NONE && this.produced >= this.offenceAt;
	}

	/** Whether the input has ended without the closing alert. */
	boolean isCutOff() {
		return this.endOfInput && !this.tls.isInboundDone();
	}

	/** Returns whether bytes were received or sent since the last call. */
	boolean takeMoved() {
		boolean was = this.moved;
		this.moved = false;
		return was;
	}

	/** Returns how many bytes of data are in the first bytes of the output. */
	long dataWithin(long bytes) {
		long data = 0;
		for (long[] each : this.records) {
			if (each[1] <= bytes) {
				data = each[0];
			}
		}
		return data;
	}

	boolean isReadable() {
		return this.plain.hasRemaining() || (this.socket.isReadable() && !this.endOfInput);
	}

	boolean isAtEnd() {
		return !this.plain.hasRemaining() && (this.endOfInput || this.tls.isInboundDone());
	}

	/** Reads data, and continues the handshake. */
	int read(ByteBuffer target) throws IOException {
		if (!this.plain.hasRemaining()) {
			int count = this.socket.read(this.input);
			this.moved |= count > 0;
			this.endOfInput |= count < 0;
			decrypt();
			flush();
		}
		int count = Math.min(this.plain.remaining(), target.remaining());
		target.put(this.plain.slice().limit(count));
		this.plain.position(this.plain.position() + count);
		return (count == 0 && isAtEnd()) ? -1 : count;
	}

	private void decrypt() throws IOException {
		this.input.flip();
		this.plain.compact();
		try {
			while (this.input.hasRemaining() && !this.tls.isInboundDone()) {
				if (isAsked()) {
					encrypt(NOTHING);
				}
				else if (this.tls.unwrap(this.input, this.plain).getStatus() != Status.OK) {
					return;
				}
			}
		}
		catch (SSLException ex) {
			if (SimulatedTls.BAD_RECORD.equals(ex.getMessage())) {
				this.simulator.fail("%s got a bad record".formatted(this.socket));
			}
			throw ex;
		}
		finally {
			this.plain.flip();
			this.input.compact();
		}
	}

	private boolean isAsked() {
		return this.tls.getHandshakeStatus() == HandshakeStatus.NEED_WRAP && !this.tls.isInboundDone();
	}

	/** Adds records to the output: as many as the engine has to send itself, or one. */
	private int encrypt(ByteBuffer source) throws SSLException {
		this.output.compact();
		int start = this.output.position();
		SSLEngineResult result = this.tls.wrap(source, this.output);
		long at = this.offenceAt - this.produced;
		this.produced += result.bytesProduced();
		if (this.offence == Offence.CORRUPTS && at >= 0 && at < result.bytesProduced()) {
			int index = start + (int) at;
			this.output.put(index, (byte) (this.output.get(index) ^ 1 << this.simulator.choose(8)));
			this.simulator.note("peer %d changes a bit".formatted(this.socket.port()));
		}
		this.output.flip();
		if (result.bytesConsumed() > 0) {
			this.consumed += result.bytesConsumed();
			this.records.add(new long[] { this.consumed, this.produced });
		}
		return result.bytesConsumed();
	}

	/**
	 * Writes data.
	 * @return how many bytes were encrypted, which the socket may not have taken yet
	 */
	int write(ByteBuffer source) throws IOException {
		flush();
		if (this.output.hasRemaining() || this.ends || this.tls.isOutboundDone()
				|| this.tls.getHandshakeStatus() != HandshakeStatus.NOT_HANDSHAKING) {
			return 0;
		}
		offend();
		if (this.simulator.chance(this.barren) && this.barrenRecords < MAX_BARREN) {
			this.barrenRecords++;
			sayNothing();
		}
		while (isAsked() && this.output.remaining() < SIZE / 2) {
			encrypt(NOTHING);
		}
		int count = isAsked() ? 0 : encrypt(source);
		flush();
		return count;
	}

	private void offend() {
		if (this.offended || this.produced < this.offenceAt) {
			return;
		}
		this.offended = true;
		if (this.offence == Offence.RENEGOTIATES) {
			this.simulator.note("peer %d begins another handshake".formatted(this.socket.port()));
			this.tls.say(SimulatedTls.HANDSHAKE, SimulatedTls.HELLO);
		}
		else if (this.offence == Offence.FLOODS) {
			this.simulator.note("peer %d sends many records without data".formatted(this.socket.port()));
			for (int i = 0; i < FLOOD; i++) {
				sayNothing();
			}
		}
	}

	private void sayNothing() {
		switch (this.simulator.choose(3)) {
			case 0 -> this.tls.say(SimulatedTls.DATA);
			case 1 -> this.tls.say(SimulatedTls.ALERT, SimulatedTls.WARNING);
			default -> {
				if (this.tls.isTls13()) {
					this.tls.say(SimulatedTls.HANDSHAKE, (this.simulator.choose(2) == 0) ? SimulatedTls.KEY_UPDATE
							: SimulatedTls.KEY_UPDATE_REQUEST);
				}
			}
		}
	}

	/** Sends what the handshake needs, and what the socket has not taken. */
	void flush() throws IOException {
		while (isAsked() && this.output.remaining() < SIZE / 2) {
			encrypt(NOTHING);
		}
		int count = this.output.hasRemaining() ? writeAllowed() : 0;
		this.moved |= count > 0;
		if (this.ends && !this.output.hasRemaining()) {
			this.socket.shutdownOutput();
		}
	}

	private int writeAllowed() throws IOException {
		long written = this.produced - this.output.remaining();
		boolean stops = this.offence == Offence.STALLS || this.offence == Offence.ENDS;
		if (!stops || this.produced <= this.offenceAt) {
			return this.socket.write(this.output);
		}
		int allowed = (int) Math.max(0, this.offenceAt - written);
		ByteBuffer part = this.output.slice().limit(allowed);
		int count = (allowed > 0) ? this.socket.write(part) : 0;
		this.output.position(this.output.position() + count);
		if (count == allowed && this.offence == Offence.ENDS) {
			this.socket.shutdownOutput();
		}
		return count;
	}

	/** Ends the output, as far as this is possible at once. */
	void close() {
		try {
			shutdownOutput();
		}
		catch (IOException ex) {
			// The connection is closed anyway.
		}
	}

	/** Ends the output when everything has been written. */
	void shutdownOutput() throws IOException {
		if (!this.ends) {
			if (!this.truncates) {
				this.tls.closeOutbound();
				while (!this.tls.isOutboundDone()) {
					encrypt(NOTHING);
				}
			}
			this.ends = true;
		}
		flush();
	}

}
