package org.leaderfollowers.benchmarks.soak;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

import org.leaderfollowers.benchmarks.attack.Certificate;
import org.leaderfollowers.benchmarks.attack.Wire;
import org.leaderfollowers.benchmarks.comparison.ChildProcess;

/**
 * A {@link SoakServer} in a process of its own. Any thread may call all methods.
 */
final class SoakProcess implements AutoCloseable {

	/** Longer than a grace period of each server. */
	private static final Duration TIMEOUT = Duration.ofMinutes(10);

	private final ChildProcess process;

	private final Map<String, Integer> ports = new HashMap<>();

	SoakProcess(List<String> vmArguments, List<String> arguments, Path directory) throws IOException {
		List<String> certificates = new ArrayList<>();
		for (int i = 0; i < 2; i++) {
			certificates.add(Certificate.create(directory.resolve("certificate-" + i + ".p12")).file().toString());
		}
		List<String> all = new ArrayList<>(arguments);
		all.add("--certificates=" + String.join(",", certificates));
		this.process = new ChildProcess("the servers", vmArguments, SoakServer.class.getName(), all,
				directory.resolve("server.log"));
		for (String field : this.process.read(TIMEOUT).split(" ")) {
			int equals = field.indexOf('=');
			this.ports.put(field.substring(0, equals), Integer.valueOf(field.substring(equals + 1)));
		}
	}

	InetSocketAddress address(String server) {
		return new InetSocketAddress(InetAddress.getLoopbackAddress(), this.ports.get(server));
	}

	static Wire wire(String server) {
		return server.equals(SoakServer.LENGTHS) ? Wire.LENGTH_FIELD : Wire.LINE;
	}

	synchronized String ask(String command) throws IOException {
		this.process.say(command);
		return this.process.read(TIMEOUT);
	}

	/**
	 * What the servers have left.
	 *
	 * @param drained whether all of them were closed within their grace period
	 * @param before the figures of the process before the servers were started
	 * @param after the figures after they were closed
	 */
	record End(boolean drained, Map<Sample.Figure, Double> before, Map<Sample.Figure, Double> after) {
	}

	synchronized End end() throws IOException {
		boolean drained = Boolean.parseBoolean(ask("end"));
		return new End(drained, Sample.parse(this.process.read(TIMEOUT)), Sample.parse(this.process.read(TIMEOUT)));
	}

	@Override
	public void close() {
		this.process.close();
	}

}
