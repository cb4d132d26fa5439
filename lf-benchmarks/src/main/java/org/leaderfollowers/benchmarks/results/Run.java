package org.leaderfollowers.benchmarks.results;

import java.util.Map;

/**
 * What was measured, and on which machine and how.
 *
 * @param facts what there is to know about the whole, by name
 * @param results what was measured
 */
public record Run(Map<String, String> facts, Results results) {

	/** The fact that names servers which could not be measured, and why. */
	public static final String LEFT_OUT = "left out";

	/** The fact that names the tool which counted system calls. */
	public static final String SYSTEM_CALLS = "system calls counted by";

}
