package org.leaderfollowers.benchmarks.comparison;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * The file {@code stat} of a process in {@code /proc}.
 *
 * @param parent the process that started it
 * @param cpuTicks its CPU time, user and system, in ticks of the clock
 */
record ProcessStat(long parent, long cpuTicks) {

	/** On every system that Java runs on, unless it says otherwise. */
	private static final long USUAL_TICKS_PER_SECOND = 100;

	private static final double TICKS_PER_SECOND = ticksPerSecond();

	static ProcessStat read(Path directory) throws IOException {
		String stat = Files.readString(directory.resolve("stat"));
		// The name is in parentheses, and may have blanks and parentheses in it
		String[] fields = stat.substring(stat.lastIndexOf(')') + 2).split(" ");
		// In the manual's numbers, the first of these is field 3
		return new ProcessStat(Long.parseLong(fields[4 - 3]),
				Long.parseLong(fields[14 - 3]) + Long.parseLong(fields[15 - 3]));
	}

	static double seconds(long ticks) {
		return ticks / TICKS_PER_SECOND;
	}

	private static long ticksPerSecond() {
		try {
			Process process = new ProcessBuilder("getconf", "CLK_TCK").start();
			try (BufferedReader out = new BufferedReader(
					new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8))) {
				return Long.parseLong(out.readLine());
			}
		}
		catch (IOException | NumberFormatException ex) {
			return USUAL_TICKS_PER_SECOND;
		}
	}

}
