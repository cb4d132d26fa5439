package org.leaderfollowers.benchmarks.servers;

/**
 * A failure in a server makes its figures worthless. It is reported on standard error,
 * where the person who runs the comparison sees it, whatever logging the server uses.
 */
final class Failures {

	private Failures() {
	}

	static void report(String what, Throwable failure) {
		System.err.println(what + ": " + failure);
	}

}
