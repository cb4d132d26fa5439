package org.leaderfollowers.benchmarks.load;

import java.io.IOException;

/**
 * Called by the receiving thread when the measured period begins and ends, so that
 * someone else can look at the server at the same moments.
 */
interface LoadListener {

	void started();

	void ended();

	/**
	 * Whether the load may stop. It goes on after the measured period until it may.
	 * @return whether the end has been dealt with
	 * @throws IOException if that cannot be known
	 */
	boolean released() throws IOException;

}
