package org.leaderfollowers.benchmarks.comparison;

import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.benchmarks.load.Load;
import org.leaderfollowers.benchmarks.load.LoadProcess;
import org.leaderfollowers.benchmarks.load.LoadResult;

/**
 * The load generator in a separate process. One process serves the whole comparison, so
 * that it is equally warm for all servers.
 */
final class Generator implements AutoCloseable {

	/**
	 * The generator allocates nothing while it measures, so the simplest collector is
	 * enough.
	 */
	private static final List<String> VM_ARGUMENTS = List.of("-Xms256m", "-Xmx256m", "-XX:+UseSerialGC");

	/** Longer than the generator itself waits for connections and replies. */
	private static final Duration PATIENCE = Duration.ofSeconds(120);

	private static final Action NOTHING = () -> {
	};

	private final Path log;

	private final double warmup;

	private ChildProcess process;

	private boolean warm;

	/**
	 * Start the process.
	 * @param log the file for its error output
	 * @param warmup the time in seconds that it is warmed up for
	 * @throws IOException if it cannot be started
	 */
	Generator(Path log, double warmup) throws IOException {
		this.log = log;
		this.warmup = warmup;
		this.process = start();
	}

	private ChildProcess start() throws IOException {
		return new ChildProcess("the load generator", VM_ARGUMENTS, LoadProcess.class.getName(),
				List.of("--commands=stdin"), this.log);
	}

	long pid() {
		return this.process.pid();
	}

	/**
	 * Run a load. A new process runs it twice, the first time for itself.
	 * @param load the load
	 * @param start what to do when the measured period begins
	 * @param end what to do when it ends
	 * @return the result
	 * @throws IOException if the load cannot be run, or the beginning or the end failed
	 */
	LoadResult run(Load load, Action start, Action end) throws IOException {
		if (!this.warm) {
			this.warm = true;
			runOnce(new Load(load.host(), load.port(), load.connections(), load.pipeline(), load.payload(), load.rate(),
					0, this.warmup, load.timeout()), NOTHING, NOTHING);
		}
		return runOnce(load, start, end);
	}

	LoadResult run(Load load) throws IOException {
		return run(load, NOTHING, NOTHING);
	}

	private LoadResult runOnce(Load load, Action start, Action end) throws IOException {
		Duration timeout = PATIENCE.plusMillis((long) ((load.warmup() + load.seconds()) * 1000));
		this.process.say(String.join(" ", load.arguments()));
		IOException failure = null;
		while (true) {
			String line = read(timeout);
			if (line.startsWith("RESULT ")) {
				if (failure != null) {
					throw failure;
				}
				return LoadResult.parse(line);
			}
			// Not thrown before the result is read: the next load would take its line for
			// its own result
			if (line.equals("START")) {
				failure = attempt(start);
			}
			else if (line.equals("END")) {
				failure = (failure != null) ? failure : attempt(end);
				this.process.say("");
			}
		}
	}

	/**
	 * Read a line. If it does not come, or reports a failure, a new process is started:
	 * the next load must not read late lines of the old process, and the old process must
	 * not read lines that are meant for the next load.
	 */
	private String read(Duration timeout) throws IOException {
		try {
			String line = this.process.read(timeout);
			if (line.startsWith("FAILED ")) {
				throw new IOException("the load generator: " + line.substring("FAILED ".length()));
			}
			return line;
		}
		catch (IOException ex) {
			this.process.close();
			this.process = start();
			this.warm = false;
			throw ex;
		}
	}

	private static @Nullable IOException attempt(Action action) {
		try {
			action.run();
			return null;
		}
		catch (IOException ex) {
			return ex;
		}
	}

	/**
	 * Hold idle connections that have had one reply each.
	 * @param load the connections
	 * @param action what to do meanwhile
	 * @return how many of them had another reply or none
	 * @throws IOException if they cannot be opened, or the action failed
	 */
	long idle(Load load, Action action) throws IOException {
		this.process.say(String.join(" ", load.arguments()) + " --idle=true");
		String line = read(PATIENCE);
		try {
			action.run();
		}
		finally {
			this.process.say("");
		}
		return Long.parseLong(line.substring(line.indexOf('=') + 1));
	}

	@Override
	public void close() {
		this.process.close();
	}

	/** An action at a moment of a load. */
	interface Action {

		void run() throws IOException;

	}

}
