package org.leaderfollowers;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.internal.transport.Transport;

/** A transport without a peer: the test decides what it accepts and returns. */
final class ScriptedTransport extends Transport {

	/** How many bytes it accepts. */
	int room = Integer.MAX_VALUE;

	/** Thrown by each write. */
	@Nullable Throwable failure;

	/** How many bytes it has accepted. */
	int written;

	/** Whether it has bytes of its own to write. */
	boolean wantsWrite;

	/** How many bytes of its own it says that it has to write. */
	int pending;

	/** The input that the next reads return. */
	ByteBuffer input = ByteBuffer.allocate(0);

	/** The next read takes so many bytes that it cannot decode yet. */
	int part;

	private int parts;

	/** How many bytes one read returns at most. */
	int readable = Integer.MAX_VALUE;

	/** Whether the peer sends nothing after that. */
	boolean ends;

	/** Thrown by each read. */
	@Nullable Error readFailure;

	/** Thrown by each read as well. */
	@Nullable IOException failsToRead;

	/** Whether it holds the beginning of a record. */
	boolean holdsPart;

	/** Whether this beginning is reported for the first time. */
	boolean holdsNewPart;

	/** Whether it keeps input that no event will report. */
	boolean keepsInput;

	/** If this is not input, reads return nothing, and the input counts as undecoded. */
	Progress readNeeds = Progress.WANTS_READ;

	/** Whether the peer closes its side as soon as it is told that nothing follows. */
	boolean closes = true;

	/** How many bytes the peer sends before. */
	int flood;

	/** How much memory it holds, and since when. */
	int held;

	long heldSinceNanos;

	/** How much memory its buffers take, and since when one of them has a part. */
	int buffered;

	@Nullable Long partSinceNanos;

	/** How often it was released. */
	int releases;

	/** Whether its release fails. */
	boolean failsToRelease;

	/** The result of the handshake. */
	Progress handshake = Progress.DONE;

	/** Thrown by the handshake. */
	@Nullable IOException rejection;

	ScriptedTransport(SocketChannel socket) {
		super(socket);
	}

	/** The peer sends lines. */
	void receive(String lines) {
		this.input = Engine.bytes(lines);
	}

	@Override
	public int heldBytes() {
		return this.held;
	}

	@Override
	public long heldSinceNanos() {
		return this.heldSinceNanos;
	}

	@Override
	public int bufferedBytes() {
		return this.buffered;
	}

	@Override
	public long partSinceNanos(long otherwise) {
		return (this.partSinceNanos != null) ? this.partSinceNanos : otherwise;
	}

	@Override
	protected Progress handshake() throws IOException {
		if (this.rejection != null) {
			throw this.rejection;
		}
		return this.handshake;
	}

	@Override
	public int read(ByteBuffer destination) throws IOException {
		if (this.readFailure != null) {
			throw this.readFailure;
		}
		if (this.failsToRead != null) {
			throw this.failsToRead;
		}
		this.parts += this.part;
		this.part = 0;
		if (this.readNeeds != Progress.WANTS_READ) {
			return 0;
		}
		int count = Math.min(this.readable, Math.min(destination.remaining(), this.input.remaining()));
		destination.put(this.input.slice().limit(count));
		this.input.position(this.input.position() + count);
		return (count == 0 && this.ends) ? -1 : count;
	}

	@Override
	public boolean holdsPart() {
		return this.holdsPart;
	}

	@Override
	public boolean holdsNewPart() {
		return this.holdsNewPart;
	}

	@Override
	public boolean hasMoreInput() {
		return this.keepsInput;
	}

	@Override
	public Progress readNeeds() {
		return this.readNeeds;
	}

	/** The peer has said before that this is its end. */
	@Override
	public void endInput() {
		this.readNeeds = Progress.WANTS_READ;
		this.ends = true;
	}

	@Override
	public int undecodedBytes() {
		return this.parts + ((this.readNeeds != Progress.WANTS_READ) ? this.input.remaining() : 0);
	}

	@Override
	public void runTasks() {
		this.readNeeds = Progress.WANTS_READ;
	}

	@Override
	public int write(ByteBuffer source) throws IOException {
		if (this.failure instanceof IOException ex) {
			throw ex;
		}
		if (this.failure instanceof RuntimeException ex) {
			throw ex;
		}
		if (this.failure instanceof Error ex) {
			throw ex;
		}
		int count = Math.min(source.remaining(), this.room);
		source.position(source.position() + count);
		this.room -= count;
		this.written += count;
		return count;
	}

	@Override
	public Progress shutdownOutput(boolean closesNext) {
		return Progress.DONE;
	}

	@Override
	public int discard(ByteBuffer scratch) {
		int count = Math.min(scratch.remaining(), this.flood);
		this.flood -= count;
		return (count == 0 && this.closes) ? -1 : count;
	}

	@Override
	public boolean wantsWrite() {
		return this.wantsWrite;
	}

	@Override
	public int pendingBytes() {
		return this.pending;
	}

	@Override
	public void flush() {
		this.wantsWrite = false;
	}

	@Override
	public void release() {
		this.releases++;
		super.release();
		if (this.failsToRelease) {
			throw new InternalError("made for the test");
		}
	}

}
