package org.leaderfollowers.benchmarks.results;

import java.util.Locale;

import org.leaderfollowers.benchmarks.servers.Work;

/**
 * The load that all servers of a comparison are put under, and the work of their handler.
 *
 * @param work what the handler does with each request, as the servers name it
 * @param connections the number of connections
 * @param payload the length of a request in bytes
 * @param pipeline how many requests of a connection may be under way; 0 if the
 * connections are idle
 * @param rate requests per second, or 0 for a closed loop
 */
public record Scenario(String work, int connections, int payload, int pipeline, int rate) {

	private static final int KILOBYTE = 1024;

	/**
	 * The connections are there, have had one reply, and are idle.
	 * @param connections how many
	 * @return the scenario
	 */
	public static Scenario idle(int connections) {
		return new Scenario("none", connections, 64, 0, 0);
	}

	/**
	 * A scenario with one reply at a time, 64 bytes long, in a closed loop.
	 * @param work the handler's work
	 * @param connections the number of connections
	 * @return the scenario
	 */
	public static Scenario closed(String work, int connections) {
		return new Scenario(work, connections, 64, 1, 0);
	}

	/**
	 * A scenario with 64 bytes, in an open loop.
	 * @param work the handler's work
	 * @param connections the number of connections
	 * @param rate requests per second
	 * @return the scenario
	 */
	public static Scenario open(String work, int connections, int rate) {
		return new Scenario(work, connections, 64, 1, rate);
	}

	public boolean idle() {
		return this.pipeline == 0;
	}

	/**
	 * Whether a neighbour of the same server is busy meanwhile.
	 * @return whether it is
	 */
	public boolean mixed() {
		return Work.of(this.work).filter((work) -> work.neighbour() != null).isPresent();
	}

	/**
	 * A scenario in one word, for names of files and anchors.
	 * @return the name
	 */
	public String name() {
		String name = this.work + "-" + this.connections + "c-" + this.payload + "b";
		if (idle()) {
			return name + "-idle";
		}
		return name + "-" + this.pipeline + "p-" + ((this.rate != 0) ? this.rate + "rps" : "closed");
	}

	/**
	 * A scenario for a reader.
	 * @return a phrase that begins with a small letter
	 */
	public String title() {
		String connections = String.format(Locale.ROOT, "%,d connection%s", this.connections,
				(this.connections != 1) ? "s" : "");
		if (idle()) {
			return "idle, " + connections;
		}
		return workTitle() + ", " + connections + ", " + describePayload()
				+ ((this.pipeline != 1) ? ", " + this.pipeline + " requests under way on each" : "") + ", "
				+ ((this.rate != 0) ? String.format(Locale.ROOT, "%,d requests/s", this.rate) : "closed loop");
	}

	/**
	 * The work for a reader.
	 * @return a phrase that begins with a small letter
	 */
	public String workTitle() {
		return Work.of(this.work).map(Work::title).orElse(this.work);
	}

	private String describePayload() {
		return (this.payload % KILOBYTE != 0) ? this.payload + " B" : this.payload / KILOBYTE + " KB";
	}

}
