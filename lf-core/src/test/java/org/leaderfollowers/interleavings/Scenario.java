package org.leaderfollowers.interleavings;

import org.jspecify.annotations.Nullable;

/**
 * The actions of threads that use the classes under exploration. Each execution has its
 * own object. A scenario and the classes that it uses are loaded anew and instrumented by
 * {@link InstrumentedClasses}, so it must be a top-level or static nested class with a
 * constructor that takes values of the JDK's types only.
 */
public interface Scenario {

	/**
	 * Starts the threads with {@link Interleaving#start}. No other thread runs meanwhile.
	 */
	void begin();

	/**
	 * Checks a state in which no thread can continue and no waiting time is left. A lost
	 * wake-up shows here: threads rest although there is work.
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
