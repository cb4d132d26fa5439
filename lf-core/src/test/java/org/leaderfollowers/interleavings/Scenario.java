package org.leaderfollowers.interleavings;

import org.jspecify.annotations.Nullable;

/**
 * What threads do with the classes under exploration. One object of it lives for one
 * execution. A scenario and the classes that it uses are loaded anew and instrumented by
 * {@link InstrumentedClasses}, so it must be a top-level or static nested class with a
 * constructor that takes values of the JDK's types only.
 */
public interface Scenario {

	/**
	 * Starts the threads with {@link Interleaving#start}. Runs alone.
	 */
	void begin();

	/**
	 * Looks at a state in which no thread can go on and no waiting time is left to pass.
	 * A lost wake-up shows here, as a rest that ought not to be one.
	 * @return what is wrong, or {@code null}
	 */
	@Nullable String violationAtRest();

	/**
	 * How often time passes when no thread can go on, although nothing is wrong: until
	 * threads that wait for long enough have ended, for example.
	 * @return how often
	 */
	default int patience() {
		return 0;
	}

	/**
	 * For how long something may be wrong when no thread can go on, if a thread that
	 * waits for the time to pass puts it right then.
	 * @return nanoseconds
	 */
	default long delayNanos() {
		return 0;
	}

}
