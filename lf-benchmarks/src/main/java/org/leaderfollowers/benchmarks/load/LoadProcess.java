package org.leaderfollowers.benchmarks.load;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.List;

/**
 * The load generator as a process: works against any server that echoes lines.
 *
 * <pre>
 * java -cp lf-benchmarks.jar org.leaderfollowers.benchmarks.load.LoadProcess \
 *     --host=127.0.0.1 --port=7070 --connections=64 --pipeline=1 --payload=64 \
 *     --rate=20000 --warmup=2 --seconds=5
 * </pre>
 *
 * Without {@code --rate}, or with 0, the next request is sent when a reply has come
 * (closed loop). It prints {@code START} and {@code END} when the measured period begins
 * and ends, and then one line {@code RESULT} with fields {@code name=value}, the times in
 * microseconds; the last two are histograms, compressed and in Base64.
 * <p>
 * With {@code --idle=true} it holds idle connections instead: it prints
 * {@code IDLE errors=<number>} when they are there and closes them when it reads a line.
 * <p>
 * With {@code --commands=stdin} it takes such arguments from each line of its standard
 * input, so that its code is compiled once and not again for each measurement. Then the
 * load goes on after {@code END} until another line is read, for someone to look at the
 * server. When a load fails, it prints {@code FAILED} and the reason.
 */
public final class LoadProcess {

	private final BufferedReader in;

	private final PrintStream out;

	LoadProcess(InputStream in, PrintStream out) {
		this.in = new BufferedReader(new InputStreamReader(in, StandardCharsets.UTF_8));
		this.out = out;
	}

	/**
	 * Run loads.
	 * @param args see the class
	 * @throws IOException if the server or the standard input fails
	 */
	public static void main(String[] args) throws IOException {
		LoadProcess process = new LoadProcess(System.in, System.out);
		if (List.of(args).equals(List.of("--commands=stdin"))) {
			process.runCommands();
		}
		else {
			process.run(List.of(args), false);
		}
	}

	void runCommands() throws IOException {
		for (String line = this.in.readLine(); line != null; line = this.in.readLine()) {
			try {
				run(List.of(line.split(" ")), true);
			}
			catch (IOException | RuntimeException ex) {
				print("FAILED " + ex);
			}
		}
	}

	private void run(List<String> args, boolean controlled) throws IOException {
		Arguments arguments = new Arguments(args);
		boolean idle = Boolean.parseBoolean(arguments.text("idle", "false"));
		Load load = Load.of(arguments);
		arguments.rejectUnread();
		if (idle) {
			hold(load);
		}
		else {
			print(LoadGenerator.run(load, new Signals(controlled)).line());
		}
	}

	private void hold(Load load) throws IOException {
		try (IdleConnections connections = new IdleConnections(load)) {
			print("IDLE errors=" + connections.errors());
			this.in.readLine();
		}
	}

	private void print(String line) {
		this.out.println(line);
		this.out.flush();
	}

	private final class Signals implements LoadListener {

		private final boolean controlled;

		private Signals(boolean controlled) {
			this.controlled = controlled;
		}

		@Override
		public void started() {
			print("START");
		}

		@Override
		public void ended() {
			print("END");
		}

		@Override
		public boolean released() throws IOException {
			if (!this.controlled) {
				return true;
			}
			if (!LoadProcess.this.in.ready()) {
				return false;
			}
			LoadProcess.this.in.readLine();
			return true;
		}

	}

}
