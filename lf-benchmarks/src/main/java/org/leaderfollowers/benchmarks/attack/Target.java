package org.leaderfollowers.benchmarks.attack;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Locale;

import org.leaderfollowers.benchmarks.comparison.ChildProcess;

/**
 * The servers that are attacked.
 */
public enum Target {

	/** This engine. */
	LF(Wire.LINE),

	/** Netty. */
	NETTY(Wire.LINE),

	/** Tomcat, whose protocol is HTTP. */
	TOMCAT(Wire.HTTP),

	/**
	 * Ranch, on Erlang. It is not on the class path: a directory with its compiled
	 * modules must be named.
	 */
	RANCH(Wire.LINE);

	private static final Duration START_TIMEOUT = Duration.ofSeconds(120);

	private static final String RANCH_SCRIPT = "ranch_echo.escript";

	private final Wire wire;

	Target(Wire wire) {
		this.wire = wire;
	}

	/**
	 * How messages are separated.
	 * @return the wire
	 */
	public Wire wire() {
		return this.wire;
	}

	/**
	 * Its name on a command line and in reports.
	 * @return lower case
	 */
	public String id() {
		return name().toLowerCase(Locale.ROOT);
	}

	/**
	 * A server that runs.
	 *
	 * @param process its process
	 * @param plainPort its port without TLS
	 * @param tlsPort its port with TLS
	 */
	public record Running(ChildProcess process, int plainPort, int tlsPort) implements AutoCloseable {

		@Override
		public void close() {
			this.process.close();
		}

	}

	/**
	 * Starts a server on the loopback interface.
	 * @param vmArguments the arguments of a JVM, for example its heap
	 * @param ranch the directory with the modules of Ranch
	 * @param certificate its certificate
	 * @return the running server
	 * @throws IOException if it cannot be started
	 */
	public Running start(List<String> vmArguments, String ranch, Certificate certificate) throws IOException {
		Path directory = certificate.file().toAbsolutePath().getParent();
		Path log = directory.resolve(id() + ".log");
		ChildProcess process = (this == RANCH) ? startRanch(ranch, certificate, directory, log)
				: new ChildProcess(id(), vmArguments, TargetProcess.class.getName(),
						List.of("--server=" + id(), "--certificate=" + certificate.file()), log);
		try {
			String[] ports = process.read(START_TIMEOUT).split(" ");
			return new Running(process, Integer.parseInt(ports[0]), Integer.parseInt(ports[1]));
		}
		catch (IOException | RuntimeException ex) {
			process.close();
			throw ex;
		}
	}

	private static ChildProcess startRanch(String ranch, Certificate certificate, Path directory, Path log)
			throws IOException {
		Path script = directory.resolve(RANCH_SCRIPT);
		try (InputStream in = Target.class.getResourceAsStream(RANCH_SCRIPT)) {
			if (in == null) {
				throw new IOException(RANCH_SCRIPT + " is missing on the class path");
			}
			Files.write(script, in.readAllBytes());
		}
		Path pem = directory.resolve("certificate.pem");
		certificate.writePem(pem);
		return new ChildProcess("ranch", List.of("escript", "-c", script.toString(), ranch, pem.toString()), log);
	}

}
