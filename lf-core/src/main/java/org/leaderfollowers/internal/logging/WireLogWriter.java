package org.leaderfollowers.internal.logging;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.WritableByteChannel;
import java.util.Locale;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Logs segments of connections, each as one line, until its time is over, its lines have
 * reached their maximum size, or it is {@linkplain #stop() stopped}.
 * <p>
 * The threads of the pool copy what is to be logged and put it into a queue. If the queue
 * is full, the segment is left out and counted: a thread that leads never waits for the
 * log. The lines are written by a thread of this object.
 */
public final class WireLogWriter implements Runnable {

	/** What the lines are logged by, at the level INFO. */
	public static final String LOGGER = "org.leaderfollowers.wire";

	private static final Logger logger = LoggerFactory.getLogger(LOGGER);

	/** In segments. */
	private static final int QUEUE_SIZE = 1024;

	/** Wakes the thread when it waits. */
	private static final Segment END = new Segment(0, 0, false, 0, new byte[0]);

	private final BlockingQueue<Segment> queue = new ArrayBlockingQueue<>(QUEUE_SIZE);

	private final AtomicLong omitted = new AtomicLong();

	private final Limits limits;

	private final String owner;

	private final Consumer<WireLogWriter> ending;

	private final long startNanos = System.nanoTime();

	private volatile boolean stopped;

	/** Written by the thread only. */
	private volatile long segments;

	/**
	 * What is logged.
	 *
	 * @param connection the identifier of the only connection, or 0 for all
	 * @param durationNanos how long, in nanoseconds
	 * @param payload whether the lines show bytes
	 * @param maxSegmentSize how many bytes of a segment are shown
	 * @param maxSize how long all lines together may be, in characters
	 */
	public record Limits(long connection, long durationNanos, boolean payload, int maxSegmentSize, long maxSize) {
	}

	private record Segment(long nanos, long connection, boolean sent, int length, byte[] head) {
	}

	/**
	 * Creates a writer that logs nothing yet.
	 * @param owner whose connections these are, such as {@code server 'orders'}
	 * @param limits what is logged
	 * @param ending called by the thread of the writer before it ends: no segments come
	 * afterwards, except from threads that have asked for the writer before
	 */
	public WireLogWriter(String owner, Limits limits, Consumer<WireLogWriter> ending) {
		this.owner = RateLimit.printable(owner);
		this.limits = limits;
		this.ending = ending;
	}

	/**
	 * Whether the lines would appear.
	 * @return whether the logger has the level
	 */
	public static boolean isEnabled() {
		return logger.isInfoEnabled();
	}

	// The threads of the pool

	/**
	 * Logs bytes that were received. Never blocks.
	 * @param connection the identifier of the connection
	 * @param buffer the bytes end at its position
	 * @param count how many there are
	 */
	public void received(long connection, ByteBuffer buffer, int count) {
		if (isLogged(connection)) {
			offer(System.nanoTime(), connection, false, buffer, buffer.position() - count, count);
		}
	}

	/**
	 * Logs the bytes that a channel takes.
	 * @param connection the identifier of the connection
	 * @param channel where they are written to
	 * @return what to write to instead
	 */
	public WritableByteChannel sending(long connection, WritableByteChannel channel) {
		return isLogged(connection) ? new Tap(connection, channel) : channel;
	}

	private boolean isLogged(long connection) {
		return this.limits.connection() == 0 || this.limits.connection() == connection;
	}

	private void offer(long nanos, long connection, boolean sent, ByteBuffer buffer, int start, int count) {
		byte[] head = new byte[this.limits.payload() ? Math.min(count, this.limits.maxSegmentSize()) : 0];
		buffer.get(start, head);
		if (!this.queue.offer(new Segment(nanos, connection, sent, count, head))) {
			this.omitted.incrementAndGet();
		}
	}

	// Any thread

	/**
	 * Ends the log after the lines of what was sent and received before.
	 */
	public void stop() {
		this.stopped = true;
		// If the queue is full, the thread does not wait.
		this.queue.offer(END);
	}

	/**
	 * How many segments have been logged.
	 * @return lines
	 */
	public long segments() {
		return this.segments;
	}

	/**
	 * How many segments have been left out because the log was too slow.
	 * @return segments
	 */
	public long omitted() {
		return this.omitted.get();
	}

	// Its thread

	@Override
	public void run() {
		String reason = "it has failed";
		try {
			logger.info("Wire log of {} begins: {}, for {} s at most, {}", this.owner,
					(this.limits.connection() == 0) ? "all connections" : "connection " + this.limits.connection(),
					seconds(this.limits.durationNanos()),
					this.limits.payload() ? "with payload" : "with the payload masked");
			reason = log();
		}
		catch (InterruptedException ex) {
			Thread.currentThread().interrupt();
			reason = "its thread was interrupted";
		}
		finally {
			this.ending.accept(this);
			logger.info("Wire log of {} has ended, because {}: {} segments were logged, {} were left out", this.owner,
					reason, this.segments, this.omitted.get());
		}
	}

	/** Returns why it has ended. */
	private String log() throws InterruptedException {
		long size = 0;
		for (;;) {
			long left = this.stopped ? 0 : this.limits.durationNanos() - (System.nanoTime() - this.startNanos);
			if (left <= 0) {
				// What is in the queue belongs to the log, and nothing more comes.
				this.ending.accept(this);
			}
			Segment segment = this.queue.poll(Math.max(0, left), TimeUnit.NANOSECONDS);
			if (segment == null) {
				if (left <= 0) {
					return this.stopped ? "it was stopped" : "its time is over";
				}
			}
			else if (segment != END) {
				String line = line(segment);
				size += line.length();
				if (size > this.limits.maxSize()) {
					this.omitted.incrementAndGet();
					return "its lines have reached their maximum size";
				}
				logger.info(line);
				this.segments++;
			}
		}
	}

	/** Contains no byte of a peer but printable ASCII. */
	private String line(Segment segment) {
		StringBuilder line = new StringBuilder(96 + 4 * segment.head().length);
		line.append("Connection ").append(segment.connection()).append(" of ").append(this.owner);
		line.append(" after ").append(seconds(segment.nanos() - this.startNanos)).append(" s ");
		line.append(segment.sent() ? "sent " : "received ").append(segment.length()).append(" bytes");
		if (segment.head().length == 0) {
			return line.toString();
		}
		line.append((segment.head().length < segment.length()) ? ", which begin with" : ":");
		for (byte b : segment.head()) {
			line.append(' ').append(Character.forDigit((b >> 4) & 0xF, 16)).append(Character.forDigit(b & 0xF, 16));
		}
		line.append(" | ");
		for (byte b : segment.head()) {
			line.append((b >= ' ' && b <= '~') ? (char) b : '.');
		}
		return line.toString();
	}

	private static String seconds(long nanos) {
		return String.format(Locale.ROOT, "%.6f", nanos / 1e9);
	}

	/** Passes bytes on, and logs those that were taken. */
	private final class Tap implements WritableByteChannel {

		private final long connection;

		private final WritableByteChannel channel;

		Tap(long connection, WritableByteChannel channel) {
			this.connection = connection;
			this.channel = channel;
		}

		@Override
		public int write(ByteBuffer source) throws IOException {
			int start = source.position();
			// Before the peer can answer.
			long nanos = System.nanoTime();
			int count = this.channel.write(source);
			if (count > 0) {
				offer(nanos, this.connection, true, source, start, count);
			}
			return count;
		}

		@Override
		public boolean isOpen() {
			return this.channel.isOpen();
		}

		@Override
		public void close() throws IOException {
			this.channel.close();
		}

	}

}
