package org.leaderfollowers.benchmarks.comparison;

import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;

/**
 * The CPU time of all processes that do not take part in a measurement. It shows whether
 * the machine was busy with something else, which makes a result worthless.
 *
 * @param timeNs when it was read
 * @param cpuTicks the CPU time of each process, in ticks of the clock
 */
record OtherProcesses(long timeNs, Map<Long, Long> cpuTicks) {

	private static final double SECOND_NS = 1e9;

	/** The parent of all of the kernel's threads, some of which work for the network. */
	private static final long KERNEL = 2;

	/**
	 * Read the CPU time of the other processes.
	 * @param proc the directory {@code /proc}
	 * @param ours the processes that have a part
	 * @return the CPU time until now
	 * @throws IOException if it cannot be read
	 */
	static OtherProcesses read(Path proc, Set<Long> ours) throws IOException {
		Map<Long, Long> cpuTicks = new HashMap<>();
		try (DirectoryStream<Path> directories = Files.newDirectoryStream(proc, "[0-9]*")) {
			for (Path directory : directories) {
				Long pid = Long.valueOf(directory.getFileName().toString());
				if (!ours.contains(pid)) {
					try {
						ProcessStat stat = ProcessStat.read(directory);
						if (stat.parent() != KERNEL) {
							cpuTicks.put(pid, stat.cpuTicks());
						}
					}
					catch (IOException ex) {
						// Has ended since the directory was listed
					}
				}
			}
		}
		return new OtherProcesses(System.nanoTime(), cpuTicks);
	}

	/**
	 * Returns the share of the machine that they have used since an earlier time.
	 * @param earlier the earlier time
	 * @param processors the number of processors
	 * @return a percentage of what the machine has
	 */
	double percentSince(OtherProcesses earlier, int processors) {
		long ticks = 0;
		for (Map.Entry<Long, Long> entry : this.cpuTicks.entrySet()) {
			ticks += entry.getValue() - earlier.cpuTicks.getOrDefault(entry.getKey(), 0L);
		}
		return 100 * ProcessStat.seconds(ticks) / ((this.timeNs - earlier.timeNs) / SECOND_NS) / processors;
	}

}
