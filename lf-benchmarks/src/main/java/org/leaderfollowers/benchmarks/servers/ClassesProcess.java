package org.leaderfollowers.benchmarks.servers;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;

import org.leaderfollowers.Framing;
import org.leaderfollowers.LeaderFollowersPool;
import org.leaderfollowers.TcpServer;
import org.leaderfollowers.benchmarks.load.Arguments;

/**
 * A server of this engine with two classes of clients, in a process of its own. Requests
 * of up to {@value #HIGH} bytes are of the high class and are only echoed. Longer ones
 * are of the low class and do work first. {@code --classes=true} serves the low class in
 * a pool of its own, with {@code --low-threads} of the {@code --threads}. Otherwise one
 * pool has all threads. Prints its port, and ends with its standard input.
 */
public final class ClassesProcess {

	/** The longest request of the high class, without its newline. */
	public static final int HIGH = 63;

	private ClassesProcess() {
	}

	/**
	 * Runs the server.
	 * @param args see the class
	 * @throws IOException if the standard input fails
	 */
	public static void main(String[] args) throws IOException {
		Arguments arguments = new Arguments(List.of(args));
		boolean classes = Boolean.parseBoolean(arguments.text("classes", "true"));
		int threads = arguments.number("threads", 12);
		int lowThreads = arguments.number("low-threads", 8);
		int priority = arguments.number("low-priority", Thread.NORM_PRIORITY);
		Runnable work = Work.of(arguments.text("work", "block100pct5ms"))
			.orElseThrow(() -> new IllegalArgumentException("--work must be " + Work.NAMES))
			.prepare(arguments.number("cpu-iterations", 0));
		arguments.rejectUnread();
		LeaderFollowersPool low = LeaderFollowersPool.builder()
			.name("low")
			.threads(1, lowThreads)
			.parallelism(1)
			.threadPriority(priority)
			.handleSets(1)
			.build();
		LeaderFollowersPool own = LeaderFollowersPool.builder()
			.name("high")
			.threads(2, classes ? threads - lowThreads : threads)
			.build();
		TcpServer.Builder server = TcpServer.builder(own)
			.address(Loopback.address())
			.port(0)
			.backlog(Loopback.BACKLOG)
			.framing(Framing.line())
			.handler((connection, message) -> {
				if (message.remaining() > HIGH) {
					work.run();
				}
				connection.send(message);
			});
		if (classes) {
			server.serviceClass((connection, first) -> (first.remaining() > HIGH) ? "low" : null, low);
		}
		TcpServer started = server.build();
		started.start();
		System.out.println(started.port());
		new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8)).readLine();
		own.close(Duration.ZERO);
		low.close(Duration.ZERO);
		System.exit(0);
	}

}
