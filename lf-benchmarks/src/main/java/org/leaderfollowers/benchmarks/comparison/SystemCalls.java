package org.leaderfollowers.benchmarks.comparison;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.concurrent.TimeUnit;

/**
 * Counts the system calls of a process. {@code perf} hardly disturbs the process. Where
 * it may not be used, {@code strace} counts the same, but makes each call so slow that
 * the server behaves differently: more requests are ready at once, and threads block each
 * other more often.
 */
enum SystemCalls {

	/** Counts in the kernel. */
	PERF {

		@Override
		List<String> command(long pid, Path output) {
			return List.of("perf", "stat", "-x,", "-o", output.toString(), "-e",
					"raw_syscalls:sys_enter,syscalls:sys_enter_futex", "-p", Long.toString(pid));
		}

		@Override
		Optional<Count> parse(List<String> lines) {
			long all = -1;
			long futex = -1;
			for (String line : lines) {
				String[] fields = line.split(",");
				if (line.contains("raw_syscalls:sys_enter")) {
					all = number(fields[0]);
				}
				else if (line.contains("sys_enter_futex")) {
					futex = number(fields[0]);
				}
			}
			return (all < 0) ? Optional.empty() : Optional.of(new Count(all, Math.max(0, futex)));
		}

	},

	/** Stops the process at each call. */
	STRACE {

		@Override
		List<String> command(long pid, Path output) {
			return List.of("strace", "-f", "-c", "-o", output.toString(), "-p", Long.toString(pid));
		}

		@Override
		Optional<Count> parse(List<String> lines) {
			long all = 0;
			long futex = 0;
			for (String line : lines) {
				// % time, seconds, usecs/call, calls, errors if there are any, syscall
				String[] fields = line.trim().split("\\s+");
				String name = fields[fields.length - 1];
				// The line of the total has other columns in some versions
				if (fields.length > 4 && Character.isDigit(fields[0].charAt(0)) && !name.equals("total")) {
					long calls = number(fields[3]);
					all += calls;
					futex += name.equals("futex") ? calls : 0;
				}
			}
			return (all == 0) ? Optional.empty() : Optional.of(new Count(all, futex));
		}

	};

	/**
	 * Both tools need some time to attach to all threads, and do not report when they
	 * have done so.
	 */
	private static final long ATTACH_MS = 500;

	/**
	 * Calls that were counted.
	 *
	 * @param all all system calls
	 * @param futex those by which threads block on each other, and wake each other
	 */
	record Count(long all, long futex) {

	}

	/** The activity of the process meanwhile. */
	interface Activity {

		void run() throws IOException;

	}

	abstract List<String> command(long pid, Path output);

	abstract Optional<Count> parse(List<String> lines);

	/**
	 * Returns the tool that can be used here. To see whether it is installed and allowed,
	 * it is used on this process.
	 * @return the tool, or nothing if there is none
	 */
	static Optional<SystemCalls> available() {
		for (SystemCalls tool : values()) {
			try {
				if (tool.count(ProcessHandle.current().pid(), () -> {
				}).isPresent()) {
					return Optional.of(tool);
				}
			}
			catch (IOException ex) {
				// This tool cannot be used
			}
		}
		return Optional.empty();
	}

	/**
	 * Count the system calls of a process.
	 * @param pid the process
	 * @param activity what it does meanwhile
	 * @return the number of calls, or nothing if they could not be counted
	 * @throws IOException if the activity fails
	 */
	Optional<Count> count(long pid, Activity activity) throws IOException {
		Path output = Files.createTempFile("system-calls", ".txt");
		try {
			Process tool = new ProcessBuilder(command(pid, output)).redirectErrorStream(true)
				.redirectOutput(ProcessBuilder.Redirect.DISCARD)
				.start();
			try {
				if (tool.waitFor(ATTACH_MS, TimeUnit.MILLISECONDS)) {
					return Optional.empty();
				}
				activity.run();
				// Both print when they are interrupted, not when they are terminated
				new ProcessBuilder("kill", "-INT", Long.toString(tool.pid())).start().waitFor();
				tool.waitFor(10, TimeUnit.SECONDS);
				return parse(Files.readAllLines(output));
			}
			finally {
				tool.destroyForcibly();
			}
		}
		catch (InterruptedException ex) {
			throw new IOException("Interrupted", ex);
		}
		finally {
			Files.deleteIfExists(output);
		}
	}

	private static long number(String text) {
		return text.startsWith("<not") ? 0 : Long.parseLong(text.trim());
	}

	@Override
	public String toString() {
		return name().toLowerCase(Locale.ROOT);
	}

}
