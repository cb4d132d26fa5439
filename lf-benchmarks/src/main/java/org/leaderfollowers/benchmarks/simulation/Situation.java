package org.leaderfollowers.benchmarks.simulation;

/**
 * What is simulated.
 *
 * @param processors processors of the machine
 * @param handleSets handle sets of the server
 * @param connections connections, each of which has one request under way
 * @param handlerNanos what each request costs the handler
 * @param local whether the load generator runs on the same processors; otherwise it costs
 * none of them, and a request comes {@code roundTripNanos} after the reply, on average
 * @param roundTripNanos the time in the network and in the client
 */
record Situation(int processors, int handleSets, int connections, double handlerNanos, boolean local,
		double roundTripNanos) {

	private static final int CONNECTIONS_PER_PROCESSOR = 64;

	private static final double ROUND_TRIP_NANOS = 100_000;

	/**
	 * The load generator is a process on the same machine.
	 * @param processors processors of the machine
	 * @param connections connections
	 * @param handlerNanos what each request costs the handler
	 * @return the situation, with one handle set
	 */
	static Situation local(int processors, int connections, double handlerNanos) {
		return new Situation(processors, 1, connections, handlerNanos, true, 0);
	}

	/**
	 * The load comes from other machines, as much as the server can take.
	 * @param processors processors of the machine
	 * @param handleSets handle sets of the server
	 * @param handlerNanos what each request costs the handler
	 * @return the situation
	 */
	static Situation remote(int processors, int handleSets, double handlerNanos) {
		return new Situation(processors, handleSets, CONNECTIONS_PER_PROCESSOR * processors, handlerNanos, false,
				ROUND_TRIP_NANOS);
	}

}
