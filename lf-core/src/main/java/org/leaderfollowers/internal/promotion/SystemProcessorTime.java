package org.leaderfollowers.internal.promotion;

import java.io.FileInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.TimeUnit;

/**
 * The processors' time as the JDK and the system tell. On Linux, that of a thread costs a
 * system call of a microsecond or less; that which nobody has used costs some 40
 * microseconds, a twentieth of what {@code OperatingSystemMXBean} takes for it.
 */
final class SystemProcessorTime implements ProcessorTime {

	/** The sums of all processors are in the first line; see proc(5). */
	private static final String STATISTICS = "/proc/stat";

	/** More than the first line has up to the times that are wanted. */
	private static final int LENGTH = 128;

	/** Where the time without anything to do is in the line. */
	private static final int IDLE = 4;

	/** And the one in which processes waited for a disk, and no processor. */
	private static final int IO_WAIT = 5;

	/** Up to these two, and the rest as one. */
	private static final int WORDS = 7;

	/** Linux counts in hundredths of a second for programs. */
	private static final long UNIT_NANOS = TimeUnit.MILLISECONDS.toNanos(10);

	private final byte[] line = new byte[LENGTH];

	@Override
	public long nanos(Thread thread) {
		try {
			return Management.THREADS.getThreadCpuTime(thread.getId());
		}
		catch (UnsupportedOperationException ex) {
			return UNKNOWN;
		}
	}

	@Override
	public synchronized long idleNanos() {
		try (InputStream statistics = new FileInputStream(STATISTICS)) {
			return idleNanos(this.line, statistics.readNBytes(this.line, 0, LENGTH));
		}
		catch (IOException ex) {
			// Another system, or one without descriptors.
			return UNKNOWN;
		}
	}

	/**
	 * Finds the times in the first line: {@code cpu  user nice system idle iowait ...}.
	 * @param line begins with the line
	 * @param length how many bytes of it were read
	 */
	static long idleNanos(byte[] line, int length) {
		String[] words = new String(line, 0, Math.max(0, length), StandardCharsets.US_ASCII).split("\\s+", WORDS);
		try {
			return (words.length == WORDS) ? UNIT_NANOS * (Long.parseLong(words[IDLE]) + Long.parseLong(words[IO_WAIT]))
					: UNKNOWN;
		}
		catch (NumberFormatException ex) {
			return UNKNOWN;
		}
	}

	/** Loaded when it is needed first: a pool that is never busy does without. */
	private static final class Management {

		private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();

		private Management() {
		}

	}

}
