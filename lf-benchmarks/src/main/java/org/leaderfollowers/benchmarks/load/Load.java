package org.leaderfollowers.benchmarks.load;

import java.util.List;
import java.util.Locale;

/**
 * The task of the generator.
 *
 * @param host the server's host
 * @param port the server's port
 * @param connections how many connections are held
 * @param pipeline how many requests of a connection may be under way at once
 * @param payload the length of a request in bytes, its newline included
 * @param rate requests per second over all connections, sent on a schedule (open loop);
 * or 0 to send the next request when a reply has come (closed loop)
 * @param warmup seconds of the same load before the measured period
 * @param seconds length of the measured period
 * @param timeout seconds to wait, after the end, for replies that are still missing
 */
public record Load(String host, int port, int connections, int pipeline, int payload, int rate, double warmup,
		double seconds, double timeout) {

	/** 10,000 requests of 1 ms, one after the other, take ten seconds. */
	public static final double DEFAULT_TIMEOUT = 30;

	public Load {
		check(port > 0 && port < 65536, "port", port);
		check(connections > 0, "connections", connections);
		check(pipeline > 0, "pipeline", pipeline);
		check(payload >= Requests.SHORTEST, "payload", payload);
		check(rate >= 0, "rate", rate);
	}

	private static void check(boolean valid, String name, int value) {
		if (!valid) {
			throw new IllegalArgumentException("'" + name + "' must not be " + value);
		}
	}

	/**
	 * Whether requests are sent on a schedule, whatever the server does.
	 * @return {@code true} for an open loop
	 */
	public boolean open() {
		return this.rate > 0;
	}

	static Load of(Arguments arguments) {
		return new Load(arguments.text("host", "127.0.0.1"), arguments.number("port", 7070),
				arguments.number("connections", 64), arguments.number("pipeline", 1), arguments.number("payload", 64),
				arguments.number("rate", 0), arguments.decimal("warmup", 2), arguments.decimal("seconds", 5),
				arguments.decimal("timeout", DEFAULT_TIMEOUT));
	}

	/**
	 * The arguments that {@link LoadProcess} reads this load from.
	 * @return the arguments
	 */
	public List<String> arguments() {
		return List.of("--host=" + this.host, "--port=" + this.port, "--connections=" + this.connections,
				"--pipeline=" + this.pipeline, "--payload=" + this.payload, "--rate=" + this.rate,
				"--warmup=" + decimal(this.warmup), "--seconds=" + decimal(this.seconds),
				"--timeout=" + decimal(this.timeout));
	}

	private static String decimal(double value) {
		return String.format(Locale.ROOT, "%.3f", value);
	}

}
