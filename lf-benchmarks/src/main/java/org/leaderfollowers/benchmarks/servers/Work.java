package org.leaderfollowers.benchmarks.servers;

import java.util.Optional;
import java.util.concurrent.ThreadLocalRandom;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

import org.jspecify.annotations.Nullable;

/**
 * What a handler does before it replies: the kinds of load that tell designs of servers
 * apart. Its name is {@code none}, {@code cpu20} for 20 µs of the processor's time, or
 * {@code block5pct2ms} if 5% of the requests wait for 2 ms, as for a database that mostly
 * has them cached. {@code mixed-cpu20} is an echo, while a second port of the same server
 * has a handler that burns 20 µs.
 *
 * @param id how it is named on a command line and in reports
 * @param cpuMicros the processor's time that every request burns
 * @param blockPercent the share of the requests that block
 * @param blockMillis how long they do
 * @param neighbour the work of the second port; {@code null} if there is none
 */
public record Work(String id, int cpuMicros, int blockPercent, int blockMillis, @Nullable Work neighbour) {

	/** All names, for a reader. */
	public static final String NAMES = "none, cpu<microseconds> or block<percent>pct<milliseconds>ms, with mixed- before it for a neighbour";

	/** No work: what is measured is the cost of the server itself. */
	public static final Work NONE = new Work("none", 0, 0, 0, null);

	private static final Pattern NAME = Pattern
		.compile("none|cpu([1-9]\\d{0,4})|block([1-9]\\d?|100)pct([1-9]\\d{0,3})ms");

	private static final String MIXED = "mixed-";

	/** The number of iterations is given for this many microseconds. */
	private static final int CALIBRATED_MICROS = 20;

	/**
	 * Makes it ready to be done. To be called before the server is, for it may take a
	 * moment.
	 * <p>
	 * Processor time is a number of iterations, not a spin until the clock has moved: a
	 * thread that loses its processor meanwhile would be let off the rest, and servers
	 * with more runnable threads than processors would seem faster than they are.
	 * @param cpuIterations what 20 µs of the processor's time is; 0 to calibrate it
	 * @return does it once; for any thread
	 */
	public Runnable prepare(int cpuIterations) {
		if (this.cpuMicros > 0) {
			long calibrated = (cpuIterations > 0) ? cpuIterations : calibrate();
			int iterations = (int) Math.max(1, calibrated * this.cpuMicros / CALIBRATED_MICROS);
			return () -> CpuTime.burn(iterations);
		}
		if (this.blockPercent > 0) {
			return () -> {
				if (this.blockPercent == 100 || ThreadLocalRandom.current().nextInt(100) < this.blockPercent) {
					block(this.blockMillis);
				}
			};
		}
		return () -> {
		};
	}

	/**
	 * Describes it for a reader.
	 * @return a phrase that begins with a small letter
	 */
	public String title() {
		if (this.cpuMicros > 0) {
			return "every request burns " + this.cpuMicros + " µs of CPU";
		}
		if (this.blockPercent > 0) {
			return ((this.blockPercent == 100) ? "every request blocks" : this.blockPercent + "% of the requests block")
					+ " for " + this.blockMillis + " ms";
		}
		return (this.neighbour != null) ? "echo beside a neighbour (" + this.neighbour.title() + ")" : "echo";
	}

	/**
	 * Finds the kind of work with a name.
	 * @param id its {@link #id()}
	 * @return nothing if there is none
	 */
	public static Optional<Work> of(String id) {
		if (id.startsWith(MIXED)) {
			return ofOnePort(id.substring(MIXED.length())).map((neighbour) -> new Work(id, 0, 0, 0, neighbour));
		}
		return ofOnePort(id);
	}

	private static Optional<Work> ofOnePort(String id) {
		Matcher name = NAME.matcher(id);
		return name.matches() ? Optional.of(new Work(id, number(name, 1), number(name, 2), number(name, 3), null))
				: Optional.empty();
	}

	private static int number(Matcher name, int group) {
		return (name.group(group) != null) ? Integer.parseInt(name.group(group)) : 0;
	}

	/**
	 * Measures how many iterations take 20 µs of processor time on this machine, so that
	 * all servers of a comparison get the same number.
	 * @return iterations
	 */
	public static int calibrate() {
		return CpuTime.iterations(CALIBRATED_MICROS * 1_000L);
	}

	/**
	 * Not {@code LockSupport.parkNanos}: a server that wakes its threads by permits may
	 * have left a permit, and the call would return at once.
	 */
	private static void block(long millis) {
		try {
			Thread.sleep(millis);
		}
		catch (InterruptedException ex) {
			// The server is being closed.
			Thread.currentThread().interrupt();
		}
	}

	@Override
	public String toString() {
		return this.id;
	}

}
