package org.leaderfollowers.internal.promotion;

import java.io.FileInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.TimeUnit;

/**
 * The processor time that the JDK and the system report. On Linux, reading the time of a
 * thread takes a system call of a microsecond or less. Reading the idle time takes some
 * 40 microseconds, a twentieth of the time that {@code OperatingSystemMXBean} needs.
 */
final class SystemProcessorTime implements ProcessorTime {

	/** Its first line has the sums of all processors; see proc(5). */
	private static final String STATISTICS = "/proc/stat";

	/** More bytes than the first line has up to the fields that are read. */
	private static final int LENGTH = 128;

	/** The index of the idle time in the line. */
	private static final int IDLE = 4;

	/**
	 * The index of the time in which processes waited for a disk and a processor was
	 * idle.
	 */
	private static final int IO_WAIT = 5;

	/**
	 * The number of words to split the line into: up to these two fields, and the rest.
	 */
	private static final int WORDS = 7;

	/** Linux reports these times in hundredths of a second. */
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
			// Another operating system, or no descriptor is left.
			return UNKNOWN;
		}
	}

	/**
	 * Parses the times in the first line: {@code cpu user nice system idle iowait ...}.
	 * @param line the bytes, which begin with the line
	 * @param length the number of bytes that were read
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

	/** Loaded when first needed, so a pool that is never busy does not load it. */
	private static final class Management {

		private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();

		private Management() {
		}

	}

}
