package org.leaderfollowers.internal.transport;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.SocketChannel;

import javax.net.ssl.SSLEngine;
import javax.net.ssl.SSLEngineResult;
import javax.net.ssl.SSLEngineResult.HandshakeStatus;
import javax.net.ssl.SSLException;
import javax.net.ssl.SSLHandshakeException;
import javax.net.ssl.SSLSession;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.internal.buffer.MemoryBudget;
import org.leaderfollowers.internal.buffer.RecordBuffers;

/**
 * TLS between the socket and the framing, driven by an {@link SSLEngine} of the JDK.
 * <p>
 * Between two calls, it keeps only what is unfinished: a record that has arrived in part,
 * and a record that the socket has accepted in part. An idle connection keeps only its
 * engine.
 * <p>
 * The two directions are independent, except for the records that the engine itself sends
 * in reply to its input (a key update, an alert). All output is written under the monitor
 * of this object; code under the monitor only encrypts and writes without blocking. Each
 * round of each loop moves bytes or changes the request of the engine; otherwise the
 * connection fails.
 * <p>
 * Renegotiation does not exist in TLS 1.3, and is refused in earlier versions: a peer
 * could use it to make the server compute without end, or to change its identity.
 */
public final class TlsTransport extends Transport {

	private static final ByteBuffer NOTHING = ByteBuffer.allocate(0).asReadOnlyBuffer();

	/** How often the socket is read before other handles get their turn. */
	private static final int MAX_FILLS = 16;

	/**
	 * The maximum number of records in a handshake. The engine ignores some alerts and
	 * all empty records, so a peer could send them without end.
	 */
	private static final int MAX_HANDSHAKE_RECORDS = 1024;

	/**
	 * The maximum number of consecutive records without data for the application: key
	 * updates, each of which costs as much as many records, ignored alerts, and empty
	 * records.
	 */
	private static final int MAX_BARREN_RECORDS = 32;

	/**
	 * The maximum number of records without data over the life of a TLS 1.3 connection,
	 * in addition to one for each {@value #BYTES_PER_BARREN_RECORD} bytes of data. The
	 * engine of the JDK keeps each key update as long as it lives, so a peer could
	 * otherwise use up the heap. Peers update their keys after gigabytes.
	 */
	private static final int MAX_BARREN_RECORDS_IN_ALL = 1024;

	private static final long BYTES_PER_BARREN_RECORD = 65_536;

	/**
	 * What the engine holds during a handshake, in bytes: up to 32 KB of an incomplete
	 * message (the limit of the JDK, {@code jdk.tls.maxHandshakeMessageSize}), the record
	 * that continues it, and its keys. Measured with a ClientHello of 31.8 KB that is not
	 * completed: 1,410 of them filled a heap of 64 MB.
	 */
	static final int HANDSHAKE_BYTES = 48 * 1024;

	/**
	 * What the engine keeps of each key update, in bytes. Counted in the heap after 960
	 * updates of each of 100 connections (JDK 17): the node of a list and an array.
	 */
	static final int KEY_UPDATE_BYTES = 48;

	/** The minimum capacity of a buffer for a partial record, in bytes. */
	private static final int SMALLEST_REST = 64;

	private final SSLEngine engine;

	private final RecordBuffers buffers;

	private final MemoryBudget budget;

	private final int generation;

	private volatile boolean established;

	/**
	 * How many bytes of the budget are charged for messages that the engine may hold: a
	 * handshake, or the beginning of a message after it. Written by the owner.
	 */
	private volatile int charged;

	/** How many of these bytes are for key updates, and remain. */
	private int chargedForUpdates;

	/** Since when more than that is charged, if it is. */
	private volatile long chargedSinceNanos;

	// Used by the owner only, except that any thread reads what is volatile

	/** Received bytes that are not decrypted yet, from position to limit. */
	private volatile @Nullable ByteBuffer received;

	/** When {@link #received} arrived, if it is the beginning of one record. */
	private volatile long partSinceNanos;

	/** The part that {@link #holdsNewPart()} has reported. */
	private long answeredPartNanos;

	/** Whether a record was decrypted since the input was borrowed. */
	private boolean recordTaken;

	/** Decrypted bytes that did not fit, from position to limit. */
	private volatile @Nullable ByteBuffer decrypted;

	private boolean begun;

	/** Whether any byte was received. */
	private boolean heardOf;

	private boolean tls13;

	private int handshakeRecords;

	/**
	 * The number of consecutive records without data, while nothing was written either.
	 */
	private int barrenRecords;

	/**
	 * How many more records without data the peer may send, times
	 * {@value #BYTES_PER_BARREN_RECORD}.
	 */
	private long barrenCredit = MAX_BARREN_RECORDS_IN_ALL * BYTES_PER_BARREN_RECORD;

	private Progress readNeeds = Progress.WANTS_READ;

	private boolean more;

	/** Whether a closing alert may be read, because all output has been written. */
	private boolean mayEnd;

	private boolean endOfInput;

	private boolean truncated;

	/** The failure, which is thrown when everything before it has been read. */
	private @Nullable SSLException failure;

	// Guarded by the monitor, except that any thread reads what is volatile

	/** Encrypted bytes that the socket has not accepted yet, from position to limit. */
	private volatile @Nullable ByteBuffer pending;

	/**
	 * How many of the next bytes of the application are encrypted already and in
	 * {@link #pending}. A byte counts as written when the socket has accepted a
	 * corresponding part of its record.
	 */
	private int sealed;

	/**
	 * Whether nothing more is encrypted, because the output is shut down or has failed.
	 */
	private boolean outputEnded;

	private boolean released;

	/**
	 * Whether anything was written since the last record without data. A peer that only
	 * listens may update its keys if there is much to listen to.
	 */
	private volatile boolean written;

	/** Whether {@link #pending} is not empty. Written under the monitor. */
	private volatile boolean wantsWrite;

	/**
	 * Creates the transport of one connection.
	 * @param socket in non-blocking mode
	 * @param engine in server mode, not used yet
	 * @param buffers provides buffers for the duration of a call
	 * @param budget accounts for the memory of kept bytes
	 * @param generation identifies the configuration of the engine
	 */
	public TlsTransport(SocketChannel socket, SSLEngine engine, RecordBuffers buffers, MemoryBudget budget,
			int generation) {
		super(socket);
		this.engine = engine;
		this.buffers = buffers;
		this.budget = budget;
		this.generation = generation;
	}

	/**
	 * The number of the TLS configuration of its engine.
	 * @return the number that it was created with
	 */
	public int generation() {
		return this.generation;
	}

	// Handshake

	@Override
	protected Progress handshake() throws IOException {
		ByteBuffer input = borrowInput();
		try {
			throwFailure();
			if (!this.begun) {
				this.begun = true;
				this.engine.beginHandshake();
			}
			Progress progress = runHandshake(input);
			keep(input);
			return progress;
		}
		catch (SSLException ex) {
			fail();
			throw ex;
		}
		finally {
			this.buffers.giveBack(input);
		}
	}

	private Progress runHandshake(ByteBuffer input) throws IOException {
		for (;;) {
			switch (this.engine.getHandshakeStatus()) {
				case NEED_TASK -> {
					return Progress.HAS_TASKS;
				}
				case NEED_WRAP -> {
					if (!wrapHandshake()) {
						return Progress.WANTS_WRITE;
					}
				}
				case NEED_UNWRAP -> {
					if (!unwrapHandshake(input)) {
						int count;
						try {
							count = fill(input);
						}
						catch (IOException ex) {
							if (this.heardOf) {
								throw ex;
							}
							// Some health checks connect and then reset the connection.
							count = -1;
						}
						if (count < 0 && !this.heardOf) {
							return Progress.ENDED;
						}
						if (count < 0) {
							throw new SSLHandshakeException("The peer closed the connection during the handshake");
						}
						if (count == 0) {
							return Progress.WANTS_READ;
						}
						if (!this.heardOf) {
							this.heardOf = true;
							charge(HANDSHAKE_BYTES);
						}
					}
				}
				case NOT_HANDSHAKING, FINISHED -> {
					this.tls13 = "TLSv1.3".equals(this.engine.getSession().getProtocol());
					this.established = true;
					discharge(0);
					return Progress.DONE;
				}
				default -> throw stuck();
			}
		}
	}

	/**
	 * Processes one record of the handshake.
	 * @return {@code false} if no complete record has arrived
	 */
	private boolean unwrapHandshake(ByteBuffer input) throws SSLException {
		if (TlsRecord.next(input) == 0) {
			return false;
		}
		ByteBuffer none = this.buffers.take();
		try {
			SSLEngineResult result = unwrap(input, none);
			switch (result.getStatus()) {
				case OK -> {
					if (++this.handshakeRecords > MAX_HANDSHAKE_RECORDS) {
						throw new SSLHandshakeException(
								"The handshake has more than %d records".formatted(MAX_HANDSHAKE_RECORDS));
					}
					if (result.bytesProduced() > 0
							|| (result.bytesConsumed() == 0 && changesNothing(HandshakeStatus.NEED_UNWRAP))) {
						throw stuck();
					}
					return true;
				}
				case BUFFER_UNDERFLOW -> {
					if (input.remaining() >= TlsRecord.LARGEST) {
						throw stuck();
					}
					return false;
				}
				case CLOSED -> throw new SSLHandshakeException("The peer ended TLS during the handshake");
				default -> throw stuck();
			}
		}
		finally {
			this.buffers.giveBack(none);
		}
	}

	/**
	 * Charges up to the limit of a handshake in all. From the first byte on: a peer that
	 * only connects costs an unused engine.
	 */
	private void charge(int bytes) throws MemoryBudget.ExhaustedException {
		int added = Math.min(bytes, HANDSHAKE_BYTES - this.charged);
		if (!this.budget.reserve(added)) {
			throw new MemoryBudget.ExhaustedException();
		}
		if (this.charged == this.chargedForUpdates) {
			this.chargedSinceNanos = System.nanoTime();
		}
		this.charged += added;
	}

	private void discharge(int rest) {
		int bytes = this.charged - rest;
		if (bytes > 0) {
			this.charged = rest;
			this.budget.release(bytes);
		}
	}

	@Override
	public int heldBytes() {
		return this.charged;
	}

	@Override
	public long heldSinceNanos() {
		return this.chargedSinceNanos;
	}

	@Override
	public int bufferedBytes() {
		return capacity(this.received) + capacity(this.decrypted) + capacity(this.pending);
	}

	private static int capacity(@Nullable ByteBuffer buffer) {
		return (buffer != null) ? buffer.capacity() : 0;
	}

	@Override
	public long partSinceNanos(long otherwise) {
		return (this.received != null) ? this.partSinceNanos : otherwise;
	}

	private boolean changesNothing(HandshakeStatus before) {
		return this.engine.getHandshakeStatus() == before;
	}

	private SSLException stuck() {
		return new SSLException("TLS makes no progress: its engine requests " + this.engine.getHandshakeStatus());
	}

	@Override
	public void runTasks() {
		try {
			Runnable task = this.engine.getDelegatedTask();
			if (task == null && this.engine.getHandshakeStatus() == HandshakeStatus.NEED_TASK) {
				this.failure = stuck();
			}
			while (task != null) {
				task.run();
				task = this.engine.getDelegatedTask();
			}
		}
		catch (VirtualMachineError ex) {
			throw ex;
		}
		catch (Throwable ex) {
			// For example of a trust manager whose libraries are missing.
			this.failure = new SSLException("A task of TLS failed", ex);
		}
	}

	@Override
	public @Nullable SSLSession session() {
		return this.established ? this.engine.getSession() : null;
	}

	// Reading

	@Override
	public int read(ByteBuffer destination) throws IOException {
		this.more = false;
		this.readNeeds = Progress.WANTS_READ;
		int start = destination.position();
		takeDecrypted(destination);
		if (this.decrypted == null) {
			throwFailure();
			if (this.endOfInput) {
				return -1;
			}
			ByteBuffer input = borrowInput();
			try {
				decrypt(input, destination, start);
				keep(input);
			}
			catch (SSLException ex) {
				fail();
				this.failure = ex;
			}
			finally {
				this.buffers.giveBack(input);
			}
		}
		int count = destination.position() - start;
		if (count == 0) {
			throwFailure();
			return this.endOfInput ? -1 : 0;
		}
		// If anything has stopped this read, the next read finds it again. It comes
		// because more input is reported.
		this.more |= this.decrypted != null || this.endOfInput || this.failure != null
				|| this.readNeeds != Progress.WANTS_READ;
		return count;
	}

	private void decrypt(ByteBuffer input, ByteBuffer destination, int start) throws IOException {
		boolean emptied = false;
		int fills = 0;
		while (!this.endOfInput && !needsMoreThanInput()) {
			int record = TlsRecord.next(input);
			if (record == 0) {
				if (emptied || fills++ == MAX_FILLS) {
					return;
				}
				int room = input.capacity() - input.remaining();
				int count = fill(input);
				if (count <= 0) {
					this.endOfInput = count < 0;
					this.truncated = count < 0;
					return;
				}
				emptied = count < room;
			}
			else if (!TlsRecord.isRecord(input)) {
				// The engine would wait for as many bytes as these seem to announce.
				throw new SSLException("The peer sent bytes that are not a record of TLS");
			}
			else if (isLastWord(input)) {
				this.readNeeds = Progress.WANTS_FLUSH;
				return;
			}
			else if (!destination.hasRemaining()) {
				this.more = true;
				return;
			}
			else if (!decryptRecord(input, destination, start)) {
				return;
			}
		}
	}

	/** Whether the engine needs something other than the next record. */
	private boolean needsMoreThanInput() throws IOException {
		for (;;) {
			switch (this.engine.getHandshakeStatus()) {
				case NEED_TASK -> {
					this.readNeeds = Progress.HAS_TASKS;
					return true;
				}
				case NEED_WRAP -> {
					if (!wrapHandshake()) {
						this.readNeeds = Progress.WANTS_WRITE;
						return true;
					}
				}
				default -> {
					return false;
				}
			}
		}
	}

	/**
	 * Whether the next record ends the input in a version of TLS that allows no output
	 * afterwards. Pending output must then be written first.
	 * @throws SSLException if the next record is not allowed
	 */
	private boolean isLastWord(ByteBuffer input) throws SSLException {
		if (this.tls13) {
			return false;
		}
		if (TlsRecord.isHandshake(input)) {
			throw new SSLException("The peer asked for a renegotiation, which is not allowed");
		}
		return TlsRecord.isAlert(input) && !this.mayEnd;
	}

	@Override
	public void endInput() {
		this.mayEnd = true;
	}

	/**
	 * Decrypts a record.
	 * @return {@code false} if this was not possible
	 */
	private boolean decryptRecord(ByteBuffer input, ByteBuffer destination, int start) throws IOException {
		HandshakeStatus before = this.engine.getHandshakeStatus();
		SSLEngineResult result = unwrap(input, destination);
		switch (result.getStatus()) {
			case OK -> {
				if (result.bytesConsumed() == 0 && result.bytesProduced() == 0 && changesNothing(before)) {
					throw stuck();
				}
				count(result);
				// Another alert than the closing one: that one may still follow.
				this.mayEnd = false;
				return true;
			}
			case CLOSED -> {
				this.endOfInput = true;
				return true;
			}
			case BUFFER_OVERFLOW -> {
				this.more = true;
				if (destination.position() == start) {
					spill(input, destination);
				}
				return false;
			}
			default -> throw stuck();
		}
	}

	/** Decrypts a record that does not fit into the destination. */
	private void spill(ByteBuffer input, ByteBuffer destination) throws IOException {
		ByteBuffer plain = this.buffers.take();
		try {
			SSLEngineResult result = unwrap(input, plain);
			switch (result.getStatus()) {
				case OK -> {
					count(result);
					this.decrypted = copy(plain.flip());
					takeDecrypted(destination);
				}
				case CLOSED -> this.endOfInput = true;
				default -> throw stuck();
			}
		}
		finally {
			this.buffers.giveBack(plain);
		}
	}

	/**
	 * Counts records without data for the application. The engine may hold them as the
	 * beginning of a message, and accepts data only after the end of that message. It
	 * keeps a part of those that were key updates.
	 */
	private void count(SSLEngineResult result) throws IOException {
		if (result.bytesProduced() > 0) {
			discharge(this.chargedForUpdates);
			this.barrenRecords = 0;
			this.barrenCredit += result.bytesProduced();
			return;
		}
		// Earlier versions have no key updates, but peers that send an empty record with
		// each message.
		if (this.tls13) {
			this.barrenCredit -= BYTES_PER_BARREN_RECORD;
			charge(Math.max(KEY_UPDATE_BYTES, result.bytesConsumed()));
			this.chargedForUpdates = Math.min(this.chargedForUpdates + KEY_UPDATE_BYTES, HANDSHAKE_BYTES);
		}
		if (this.barrenCredit < 0) {
			throw new SSLException("The peer sent more than %d records without data, and one for each %d bytes of data"
				.formatted(MAX_BARREN_RECORDS_IN_ALL, BYTES_PER_BARREN_RECORD));
		}
		if (this.written) {
			this.written = false;
			this.barrenRecords = 0;
		}
		if (++this.barrenRecords > MAX_BARREN_RECORDS) {
			throw new SSLException(
					"The peer sent more than %d records in a row without data".formatted(MAX_BARREN_RECORDS));
		}
	}

	private void takeDecrypted(ByteBuffer destination) {
		ByteBuffer plain = this.decrypted;
		if (plain == null) {
			return;
		}
		int count = Math.min(plain.remaining(), destination.remaining());
		destination.put(plain.array(), plain.position(), count);
		plain.position(plain.position() + count);
		if (!plain.hasRemaining()) {
			this.decrypted = null;
			this.budget.release(plain.capacity());
		}
	}

	private void throwFailure() throws SSLException {
		SSLException ex = this.failure;
		if (ex != null) {
			throw ex;
		}
	}

	@Override
	public boolean hasMoreInput() {
		return this.more;
	}

	@Override
	public Progress readNeeds() {
		return this.readNeeds;
	}

	@Override
	public boolean isTruncated() {
		return this.truncated;
	}

	// Records

	private SSLEngineResult unwrap(ByteBuffer input, ByteBuffer plain) throws SSLException {
		try {
			SSLEngineResult result = this.engine.unwrap(input, plain);
			this.recordTaken |= result.bytesConsumed() > 0;
			return result;
		}
		catch (RuntimeException | LinkageError ex) {
			throw new SSLException("TLS failed while it handled the input of the peer", ex);
		}
	}

	/** Returns the bytes that were received before, in a buffer with room for more. */
	private ByteBuffer borrowInput() {
		ByteBuffer input = this.buffers.take();
		ByteBuffer earlier = this.received;
		this.recordTaken = false;
		if (earlier != null) {
			input.put(earlier.array(), earlier.position(), earlier.remaining());
		}
		return input.flip();
	}

	private int fill(ByteBuffer input) throws IOException {
		input.compact();
		try {
			return receive(input);
		}
		finally {
			input.flip();
		}
	}

	/** Keeps received bytes that are not decrypted yet. */
	private void keep(ByteBuffer input) throws MemoryBudget.ExhaustedException {
		int rest = input.remaining();
		ByteBuffer earlier = this.received;
		if (rest > 0 && (earlier == null || this.recordTaken)) {
			this.partSinceNanos = System.nanoTime();
		}
		if (earlier != null && (rest == 0 || rest > earlier.capacity())) {
			this.received = null;
			this.budget.release(earlier.capacity());
			earlier = null;
		}
		if (rest > 0) {
			if (earlier == null) {
				int capacity = Math.max(SMALLEST_REST, Integer.highestOneBit(rest - 1) * 2);
				earlier = allocate(capacity);
				this.received = earlier;
			}
			earlier.clear().put(input).flip();
		}
	}

	@Override
	public int undecodedBytes() {
		return ((this.received != null) ? this.received.remaining() : 0)
				+ ((this.decrypted != null) ? this.decrypted.remaining() : 0);
	}

	@Override
	public boolean holdsPart() {
		return this.received != null;
	}

	@Override
	public boolean holdsNewPart() {
		boolean isNew = this.answeredPartNanos != this.partSinceNanos;
		this.answeredPartNanos = this.partSinceNanos;
		return isNew;
	}

	private ByteBuffer copy(ByteBuffer bytes) throws MemoryBudget.ExhaustedException {
		return allocate(bytes.remaining()).put(bytes).flip();
	}

	private ByteBuffer allocate(int capacity) throws MemoryBudget.ExhaustedException {
		ByteBuffer buffer = this.budget.allocate(capacity);
		if (buffer == null) {
			throw new MemoryBudget.ExhaustedException();
		}
		return buffer;
	}

	// Writing

	/**
	 * Writes bytes of the application. Bytes that were not counted as written must be
	 * passed again, in the same order.
	 */
	@Override
	public synchronized int write(ByteBuffer source) throws IOException {
		if (this.outputEnded || this.released) {
			throw new ClosedChannelException();
		}
		int start = source.position();
		countSealed(source);
		while (this.pending == null && source.hasRemaining()) {
			ByteBuffer output = this.buffers.take();
			boolean failed = true;
			try {
				int from = source.position();
				encrypt(source, output);
				int plain = source.position() - from;
				int length = output.position();
				send(output);
				if (this.pending != null) {
					int counted = (int) ((long) plain * (length - output.remaining()) / length);
					this.sealed = plain - counted;
					source.position(from + counted);
				}
				failed = false;
			}
			finally {
				// The peer could not decrypt a record that follows a lost one.
				this.outputEnded |= failed;
				this.buffers.giveBack(output);
			}
		}
		if (!this.written) {
			this.written = true;
		}
		return source.position() - start;
	}

	/**
	 * Skips the bytes that are encrypted already, as far as the socket accepts their
	 * records.
	 */
	private void countSealed(ByteBuffer source) throws IOException {
		ByteBuffer rest = this.pending;
		int counted = this.sealed;
		if (rest != null) {
			int length = rest.remaining();
			if (!flushPending()) {
				counted = (int) ((long) counted * (length - rest.remaining()) / length);
			}
		}
		source.position(source.position() + counted);
		this.sealed -= counted;
	}

	/** Encrypts at least one record, and as many as fit. */
	private void encrypt(ByteBuffer source, ByteBuffer output) throws IOException {
		do {
			int room = output.remaining();
			SSLEngineResult result = wrap(source, output);
			switch (result.getStatus()) {
				case OK -> {
					if (result.bytesConsumed() == 0 && output.remaining() == room) {
						// The engine asks for a handshake, although the handshake has
						// ended.
						throw stuck();
					}
				}
				case CLOSED -> throw new ClosedChannelException();
				default -> throw stuck();
			}
		}
		while (source.hasRemaining() && output.remaining() >= TlsRecord.LARGEST);
	}

	private SSLEngineResult wrap(ByteBuffer source, ByteBuffer output) throws SSLException {
		try {
			return this.engine.wrap(source, output);
		}
		catch (RuntimeException | LinkageError ex) {
			throw new SSLException("TLS failed on the output", ex);
		}
	}

	/**
	 * Writes the records that the engine itself sends.
	 * @return {@code false} if the socket has no room for it
	 */
	private synchronized boolean wrapHandshake() throws IOException {
		if (!flushPending()) {
			return false;
		}
		if (this.outputEnded) {
			throw new ClosedChannelException();
		}
		ByteBuffer output = this.buffers.take();
		try {
			while (this.engine.getHandshakeStatus() == HandshakeStatus.NEED_WRAP && this.pending == null) {
				if (output.remaining() < TlsRecord.LARGEST) {
					send(output);
					output.clear();
				}
				else {
					SSLEngineResult result = wrap(NOTHING, output);
					boolean progress = result.bytesProduced() > 0 || !changesNothing(HandshakeStatus.NEED_WRAP);
					if (result.getStatus() == SSLEngineResult.Status.CLOSED) {
						break;
					}
					if (result.getStatus() != SSLEngineResult.Status.OK || !progress) {
						throw stuck();
					}
				}
			}
			if (this.pending == null) {
				send(output);
			}
			boolean said = this.engine.getHandshakeStatus() != HandshakeStatus.NEED_WRAP;
			if (!said && this.pending == null) {
				// The engine is closed but still asks for output.
				throw stuck();
			}
			return said;
		}
		finally {
			this.buffers.giveBack(output);
		}
	}

	/**
	 * Writes to the socket, and keeps the bytes that it does not accept. Called under the
	 * monitor.
	 */
	private void send(ByteBuffer output) throws IOException {
		output.flip();
		if (!output.hasRemaining()) {
			return;
		}
		boolean failed = true;
		try {
			socket().write(output);
			if (output.hasRemaining()) {
				int position = output.position();
				this.pending = copy(output);
				output.position(position);
				this.wantsWrite = true;
			}
			failed = false;
		}
		finally {
			this.outputEnded |= failed;
		}
	}

	/**
	 * Writes pending bytes. Called under the monitor. Returns whether no bytes are
	 * pending any more.
	 */
	private boolean flushPending() throws IOException {
		ByteBuffer rest = this.pending;
		if (rest == null) {
			return true;
		}
		boolean failed = true;
		try {
			socket().write(rest);
			failed = false;
		}
		finally {
			this.outputEnded |= failed;
			if (failed || !rest.hasRemaining()) {
				discardPending();
			}
		}
		return this.pending == null;
	}

	private void discardPending() {
		ByteBuffer rest = this.pending;
		if (rest != null) {
			this.pending = null;
			this.wantsWrite = false;
			this.budget.release(rest.capacity());
		}
	}

	@Override
	public boolean wantsWrite() {
		return this.wantsWrite;
	}

	@Override
	public synchronized int pendingBytes() {
		ByteBuffer rest = this.pending;
		return (rest != null) ? rest.remaining() : 0;
	}

	@Override
	public synchronized void flush() throws IOException {
		flushPending();
	}

	// Shutdown

	/** Sends an alert about the failure, if this is possible at once. */
	private void fail() {
		try {
			wrapHandshake();
		}
		catch (IOException ex) {
			// Ignored, because the first failure is the one to report.
		}
	}

	@Override
	public Progress shutdownOutput(boolean closesNext) throws IOException {
		synchronized (this) {
			if (!flushPending()) {
				return Progress.WANTS_WRITE;
			}
			if (!this.outputEnded) {
				this.outputEnded = true;
				sendCloseNotify();
			}
			if (this.pending != null) {
				return Progress.WANTS_WRITE;
			}
		}
		return super.shutdownOutput(closesNext);
	}

	/** Sends the closing alert. Called under the monitor. */
	private void sendCloseNotify() throws IOException {
		ByteBuffer output = this.buffers.take();
		try {
			this.engine.closeOutbound();
			SSLEngineResult result;
			do {
				result = wrap(NOTHING, output);
			}
			while (result.bytesProduced() > 0 && !this.engine.isOutboundDone()
					&& output.remaining() >= TlsRecord.LARGEST);
			send(output);
		}
		catch (SSLException ex) {
			// The engine has failed before and has no alert to send.
		}
		finally {
			this.buffers.giveBack(output);
		}
	}

	@Override
	public void release() {
		discharge(0);
		giveBack(this.received);
		this.received = null;
		giveBack(this.decrypted);
		this.decrypted = null;
		this.endOfInput = true;
		synchronized (this) {
			this.released = true;
			discardPending();
		}
	}

	private void giveBack(@Nullable ByteBuffer buffer) {
		if (buffer != null) {
			this.budget.release(buffer.capacity());
		}
	}

}
