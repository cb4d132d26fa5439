package org.leaderfollowers.benchmarks.comparison;

import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;

/**
 * What Linux has counted for a process until now, read from {@code /proc}.
 *
 * @param timeNs when it was read
 * @param cpuTicks CPU time, user and system, of all threads that there ever were, in
 * ticks of the clock
 * @param threads the counts of each living thread
 */
record ProcessSample(long timeNs, long cpuTicks, Map<Long, ThreadSample> threads) {

	private static final double SECOND_NS = 1e9;

	/**
	 * The counts of a thread.
	 *
	 * @param cpuNs its CPU time, or -1 if the kernel does not keep it
	 * @param voluntarySwitches how often it gave the processor up to wait
	 * @param involuntarySwitches how often the processor was taken away from it
	 */
	record ThreadSample(long cpuNs, long voluntarySwitches, long involuntarySwitches) {

		private static final ThreadSample NEW = new ThreadSample(0, 0, 0);

	}

	/**
	 * The counts between two samples, per second.
	 *
	 * @param cpuSeconds CPU time
	 * @param voluntarySwitches voluntary context switches; without those of threads that
	 * ended in between
	 * @param involuntarySwitches involuntary context switches, likewise
	 */
	record Rate(double cpuSeconds, double voluntarySwitches, double involuntarySwitches) {

	}

	/**
	 * Read a sample.
	 * @param directory the directory of the process in {@code /proc}
	 * @return the sample
	 * @throws IOException if it cannot be read
	 */
	static ProcessSample read(Path directory) throws IOException {
		Map<Long, ThreadSample> threads = new HashMap<>();
		try (DirectoryStream<Path> tasks = Files.newDirectoryStream(directory.resolve("task"))) {
			for (Path task : tasks) {
				try {
					threads.put(Long.valueOf(task.getFileName().toString()), readThread(task));
				}
				catch (IOException ex) {
					// Has ended since the directory was listed
				}
			}
		}
		return new ProcessSample(System.nanoTime(), ProcessStat.read(directory).cpuTicks(), threads);
	}

	private static ThreadSample readThread(Path task) throws IOException {
		long voluntary = 0;
		long involuntary = 0;
		for (String line : Files.readAllLines(task.resolve("status"))) {
			if (line.startsWith("voluntary_ctxt_switches:")) {
				voluntary = number(line);
			}
			else if (line.startsWith("nonvoluntary_ctxt_switches:")) {
				involuntary = number(line);
			}
		}
		return new ThreadSample(cpuNs(task.resolve("schedstat")), voluntary, involuntary);
	}

	private static long number(String line) {
		return Long.parseLong(line.substring(line.indexOf(':') + 1).trim());
	}

	private static long cpuNs(Path schedstat) throws IOException {
		if (!Files.exists(schedstat)) {
			return -1;
		}
		String content = Files.readString(schedstat);
		return Long.parseLong(content.substring(0, content.indexOf(' ')));
	}

	/**
	 * Returns the counts since an earlier sample. The CPU time is that of the threads, in
	 * nanoseconds, if none of them has ended; otherwise it is that of the process, which
	 * includes ended threads but is only counted in ticks of the clock.
	 * @param earlier the earlier sample
	 * @return the rates
	 */
	Rate since(ProcessSample earlier) {
		double seconds = (this.timeNs - earlier.timeNs) / SECOND_NS;
		boolean complete = this.threads.keySet().containsAll(earlier.threads.keySet());
		long cpuNs = 0;
		long voluntary = 0;
		long involuntary = 0;
		for (Map.Entry<Long, ThreadSample> entry : this.threads.entrySet()) {
			ThreadSample now = entry.getValue();
			ThreadSample before = earlier.threads.getOrDefault(entry.getKey(), ThreadSample.NEW);
			complete &= now.cpuNs >= 0;
			cpuNs += now.cpuNs - before.cpuNs;
			voluntary += now.voluntarySwitches - before.voluntarySwitches;
			involuntary += now.involuntarySwitches - before.involuntarySwitches;
		}
		double cpuSeconds = (complete) ? cpuNs / SECOND_NS : ProcessStat.seconds(this.cpuTicks - earlier.cpuTicks);
		return new Rate(cpuSeconds / seconds, voluntary / seconds, involuntary / seconds);
	}

}
