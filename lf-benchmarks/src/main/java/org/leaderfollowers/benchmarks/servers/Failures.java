package org.leaderfollowers.benchmarks.servers;

/**
 * What goes wrong in a server makes its figures worthless: it is said on standard error,
 * where whoever runs the comparison sees it, whatever logging the server uses.
 */
final class Failures {

	private Failures() {
	}

	static void report(String what, Throwable failure) {
		System.err.println(what + ": " + failure);
	}

}
