package org.leaderfollowers;

import java.time.Duration;
import java.time.Instant;
import java.util.concurrent.atomic.AtomicReference;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.internal.logging.WireLogWriter;

/**
 * Logs the bytes that the connections of a server or a client receive and send, to find
 * out what peers really do. It is off until it is {@linkplain #start started}, and ends
 * by itself.
 * <p>
 * Each line of the logger {@code org.leaderfollowers.wire}, at the level INFO, is a
 * segment: bytes that one call of the system received or sent. With TLS, these are the
 * decrypted bytes. Framing is included, so the log shows messages that are incomplete or
 * malformed too. Bytes appear in hexadecimal, and those that are printable ASCII as text
 * too; no byte of a peer can begin a line or control a terminal. By default, no bytes
 * appear, only their number.
 * <p>
 * A thread of its own writes the lines. If it is too slow, segments are left out. Each
 * line has its time since the start of the log. Lines of different threads may change
 * places: a reply that a fast peer has sent may come before the request. Any thread may
 * call all methods.
 */
public final class WireLog {

	private final String owner;

	/** Read for each segment, without a barrier: all that is used of it is final. */
	private final AtomicReference<@Nullable Running> running = new AtomicReference<>();

	/**
	 * What is logged, and how much.
	 *
	 * @param connection the {@linkplain Connection#id() identifier} of the only
	 * connection, or 0 for all connections
	 * @param duration how long, more than 0
	 * @param payload whether the lines show bytes. They may contain secrets
	 * @param maxSegmentSize how many bytes of a segment are shown, from 1 to 16384
	 * @param maxSize how long all lines together may be, in characters, at least 1. The
	 * log ends before the line that would exceed it
	 */
	public record Options(long connection, Duration duration, boolean payload, int maxSegmentSize, long maxSize) {

		private static final int LARGEST_SEGMENT = 16 * 1024;

		/**
		 * Creates options.
		 * @param connection the identifier of the only connection, or 0 for all
		 * @param duration how long, more than 0
		 * @param payload whether the lines show bytes
		 * @param maxSegmentSize how many bytes of a segment are shown, from 1 to 16384
		 * @param maxSize how long all lines together may be, in characters, at least 1
		 * @throws IllegalArgumentException if a value is not in its range
		 */
		public Options {
			Arguments.positive("duration", duration);
			Arguments.inRange("maxSegmentSize", maxSegmentSize, 1, LARGEST_SEGMENT);
			if (connection < 0 || maxSize < 1) {
				throw new IllegalArgumentException(
						"'connection' must not be negative, and 'maxSize' must be at least 1, but they are %d and %d"
							.formatted(connection, maxSize));
			}
		}

	}

	/**
	 * A log that runs.
	 *
	 * @param options what is logged
	 * @param until when it ends at the latest
	 * @param segments how many segments have been logged
	 * @param omitted how many segments have been left out because the log was too slow
	 */
	public record Snapshot(Options options, Instant until, long segments, long omitted) {
	}

	private record Running(Options options, Instant until, WireLogWriter writer) {

		Snapshot snapshot() {
			return new Snapshot(this.options, this.until, this.writer.segments(), this.writer.omitted());
		}

	}

	WireLog(String owner) {
		this.owner = owner;
	}

	/**
	 * Starts to log. A log that runs already is stopped.
	 * @param options what is logged, and how much
	 * @return the log that was started
	 * @throws IllegalStateException if the level of the logger hides the lines
	 */
	public Snapshot start(Options options) {
		if (!WireLogWriter.isEnabled()) {
			throw new IllegalStateException("The lines would not appear: set the level of the logger '%s' to INFO"
				.formatted(WireLogWriter.LOGGER));
		}
		WireLogWriter writer = new WireLogWriter(this.owner, new WireLogWriter.Limits(options.connection(),
				Arguments.nanos(options.duration()), options.payload(), options.maxSegmentSize(), options.maxSize()),
				this::ended);
		Running started = new Running(options, Instant.now().plusNanos(Arguments.nanos(options.duration())), writer);
		Running earlier = this.running.getAndSet(started);
		if (earlier != null) {
			earlier.writer().stop();
		}
		Thread thread = new Thread(writer, "lf-wire-log");
		thread.setDaemon(true);
		try {
			thread.start();
		}
		catch (Throwable ex) {
			ended(writer);
			throw ex;
		}
		return started.snapshot();
	}

	private void ended(WireLogWriter writer) {
		Running current = this.running.get();
		if (current != null && current.writer() == writer) {
			this.running.compareAndSet(current, null);
		}
	}

	/**
	 * Stops to log. Lines of what was received and sent before still follow.
	 * @return the log that was stopped, or {@code null} if none ran
	 */
	public @Nullable Snapshot stop() {
		Running stopped = this.running.getAndSet(null);
		if (stopped == null) {
			return null;
		}
		stopped.writer().stop();
		return stopped.snapshot();
	}

	/**
	 * Takes a snapshot of the log.
	 * @return {@code null} if none runs
	 */
	public @Nullable Snapshot snapshot() {
		Running current = this.running.get();
		return (current != null) ? current.snapshot() : null;
	}

	/** Asked for each segment. Costs a read without a barrier when nothing is logged. */
	@Nullable WireLogWriter writer() {
		Running current = this.running.getOpaque();
		return (current != null) ? current.writer() : null;
	}

}
