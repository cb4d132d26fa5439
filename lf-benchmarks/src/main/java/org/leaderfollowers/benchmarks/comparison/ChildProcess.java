package org.leaderfollowers.benchmarks.comparison;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.Writer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;

/**
 * A JVM with the class path of this one, which reads and writes lines. It ends with this
 * JVM, since both mains end when their standard input does. Its error output goes to a
 * file: some servers write a lot when a connection is closed.
 */
public final class ChildProcess implements AutoCloseable {

	private static final Duration END_TIMEOUT = Duration.ofSeconds(5);

	/** Marks the end of the output: lines contain no newline, so none is equal to it. */
	private static final String END = "\n";

	/**
	 * From this JDK version on, there is a warning when Netty loads its native transport.
	 */
	private static final int NATIVE_ACCESS_WARNING = 24;

	private final String name;

	private final Process process;

	private final BlockingQueue<String> lines = new LinkedBlockingQueue<>();

	private final Writer in;

	/**
	 * Starts a JVM.
	 * @param name what messages call it
	 * @param vmArguments the arguments of the JVM
	 * @param mainClass the class with the main method
	 * @param arguments the arguments of the main method
	 * @param log the file to which its error output is appended
	 * @throws IOException if it cannot be started
	 */
	public ChildProcess(String name, List<String> vmArguments, String mainClass, List<String> arguments, Path log)
			throws IOException {
		this(name, java(vmArguments, mainClass, arguments), log);
	}

	/**
	 * Starts any program that ends when its standard input does.
	 * @param name what messages call it
	 * @param command the program and its arguments
	 * @param log the file to which its error output is appended
	 * @throws IOException if it cannot be started
	 */
	public ChildProcess(String name, List<String> command, Path log) throws IOException {
		this.name = name;
		this.process = new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.appendTo(log.toFile()))
			.start();
		this.in = this.process.outputWriter(StandardCharsets.UTF_8);
		Thread reader = new Thread(this::readLines, "output of " + name);
		reader.setDaemon(true);
		reader.start();
	}

	private static List<String> java(List<String> vmArguments, String mainClass, List<String> arguments) {
		List<String> command = new ArrayList<>();
		command.add(System.getProperty("java.home") + "/bin/java");
		command.addAll(vmArguments);
		if (Runtime.version().feature() >= NATIVE_ACCESS_WARNING) {
			command.add("--enable-native-access=ALL-UNNAMED");
		}
		command.addAll(List.of("-cp", System.getProperty("java.class.path"), mainClass));
		command.addAll(arguments);
		return command;
	}

	private void readLines() {
		try (BufferedReader out = new BufferedReader(
				new InputStreamReader(this.process.getInputStream(), StandardCharsets.UTF_8))) {
			for (String line = out.readLine(); line != null; line = out.readLine()) {
				this.lines.add(line);
			}
		}
		catch (IOException ex) {
			// It was closed
		}
		this.lines.add(END);
	}

	/**
	 * The identifier of the process.
	 * @return the identifier
	 */
	public long pid() {
		return this.process.pid();
	}

	/**
	 * Whether it has not ended.
	 * @return {@code false} if it has
	 */
	public boolean isAlive() {
		return this.process.isAlive();
	}

	/**
	 * Writes a line to its standard input.
	 * @param line without its end
	 * @throws IOException if the process has ended
	 */
	public void say(String line) throws IOException {
		this.in.write(line + "\n");
		this.in.flush();
	}

	/**
	 * Read a line. In a comparison that takes hours, one server that hangs must not stop
	 * the others.
	 * @param timeout how long to wait for it
	 * @return the line
	 * @throws IOException if it does not come
	 */
	public String read(Duration timeout) throws IOException {
		try {
			String line = this.lines.poll(timeout.toMillis(), TimeUnit.MILLISECONDS);
			if (line == null) {
				throw new IOException(this.name + " said nothing for " + timeout.toSeconds() + " s");
			}
			if (line.equals(END)) {
				this.lines.add(END);
				throw new IOException(this.name + " has ended");
			}
			return line;
		}
		catch (InterruptedException ex) {
			Thread.currentThread().interrupt();
			throw new IOException("Interrupted", ex);
		}
	}

	@Override
	public void close() {
		this.process.destroy();
		try {
			if (!this.process.waitFor(END_TIMEOUT.toMillis(), TimeUnit.MILLISECONDS)) {
				this.process.destroyForcibly();
			}
		}
		catch (InterruptedException ex) {
			this.process.destroyForcibly();
			Thread.currentThread().interrupt();
		}
	}

}
