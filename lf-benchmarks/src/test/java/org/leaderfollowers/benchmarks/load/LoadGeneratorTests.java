package org.leaderfollowers.benchmarks.load;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;

import org.HdrHistogram.Histogram;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIOException;

/**
 * What the generator counts, with servers that are good and servers that are not.
 */
@Timeout(120)
class LoadGeneratorTests {

	private static final LoadListener NOBODY = new Listener();

	@ParameterizedTest
	@CsvSource({ "1, 1, 64", "1, 16, 64", "7, 1, 64", "7, 5, 17", "3, 4, 70000" })
	void aClosedLoopCountsWhatTheServerAnswers(int connections, int pipeline, int payload) throws IOException {
		try (LineServer server = LineServer.echoing()) {
			// Long enough for a first reply on a busy machine
			LoadResult result = run(load(server, connections, pipeline, payload, 0, 2));
			assertThat(result.errors()).isZero();
			assertThat(result.total()).isEqualTo(server.received());
			assertThat(result.requests()).isPositive().isLessThanOrEqualTo(result.total());
			assertThat(result.latencyNs().getTotalCount()).isEqualTo(result.requests());
			assertThat(result.seconds()).isPositive();
			assertThat(result.requestsPerSecond()).isEqualTo(result.requests() / result.seconds());
		}
	}

	@Test
	void aClosedLoopHasExactlyAsManyRequestsUnderWayAsItShould() throws IOException {
		AtomicInteger surplus = new AtomicInteger();
		LineServer.Behaviour behaviour = (lines, out) -> {
			ByteArrayOutputStream first = new ByteArrayOutputStream();
			for (int i = 0; i < 8; i++) {
				first.write(lines.next());
			}
			surplus.addAndGet(lines.isEmpty() ? 0 : 1);
			out.write(first.toByteArray());
			out.flush();
			while (true) {
				out.write(lines.next());
				out.flush();
			}
		};
		try (LineServer server = LineServer.serving(behaviour)) {
			LoadResult result = run(load(server, 2, 8, 64, 0, 0.1));
			assertThat(result.errors()).isZero();
			assertThat(result.total()).isGreaterThanOrEqualTo(2 * 8);
			assertThat(surplus).hasValue(0);
		}
	}

	@Test
	void anOpenLoopSendsWhatIsDueAndNothingElse() throws IOException {
		try (LineServer server = LineServer.echoing()) {
			LoadResult result = run(load(server, 10, 4, 64, 1000, 0.3));
			assertThat(result.errors()).isZero();
			// The ends of the period are not those of an interval
			assertThat(result.latencyNs().getTotalCount()).isBetween(299L, 301L);
			assertThat(result.latenessNs().getTotalCount() + result.unsent())
				.isEqualTo(result.latencyNs().getTotalCount());
		}
	}

	/**
	 * A request a millisecond, and a server that does nothing for 200 ms, once. A
	 * generator that waits for it would see one slow request. Here all that were due
	 * meanwhile were slow: the first by 200 ms, the last hardly.
	 */
	@ParameterizedTest
	@CsvSource({ "1, 1", "1, 1000", "20, 1" })
	void latencyCountsFromTheTimeWhenARequestWasDue(int connections, int pipeline) throws IOException {
		Object all = new Object();
		LineServer.Handler stalling = (number, line, out) -> {
			synchronized (all) {
				if (number == 100) {
					pass(200);
				}
			}
			out.write(line);
		};
		try (LineServer server = LineServer.handling(stalling)) {
			LoadResult result = run(load(server, connections, pipeline, 64, 1000, 0.5));
			Histogram latencyNs = result.latencyNs();
			assertThat(result.errors()).isZero();
			assertThat(latencyNs.getMaxValue()).isGreaterThan(millis(195));
			assertThat(result.latencyUs(99.9)).isGreaterThan(190_000);
			for (int left = 180; left > 0; left -= 20) {
				assertThat(latencyNs.getCountBetweenValues(millis(left), Long.MAX_VALUE))
					.as("requests that took at least %s ms", left)
					.isGreaterThanOrEqualTo(200 - left - 5);
			}
		}
	}

	@Test
	void whatCannotBeSentInTimeCountsAsLate() throws IOException {
		try (LineServer server = LineServer.handling((number, line, out) -> {
			pass(50);
			out.write(line);
		})) {
			LoadResult result = run(load(server, 1, 1, 64, 200, 0.2));
			assertThat(result.errors()).isZero();
			assertThat(result.unsent()).isPositive();
			assertThat(result.latencyNs().getTotalCount()).isBetween(39L, 41L);
			assertThat(result.latencyNs().getMaxValue()).isGreaterThan(millis(1000));
		}
	}

	static Stream<Arguments> wrongServers() {
		return Stream.of(Arguments.of("a wrong byte", (LineServer.Handler) (number, line, out) -> {
			if (number == 5) {
				line[line.length / 2]++;
			}
			out.write(line);
		}), Arguments.of("a newline inside", (LineServer.Handler) (number, line, out) -> {
			if (number == 5) {
				line[line.length / 2] = '\n';
			}
			out.write(line);
		}), Arguments.of("a byte less", (LineServer.Handler) (number, line, out) -> {
			out.write(line, 0, (number == 5) ? line.length - 2 : line.length);
			if (number == 5) {
				out.write('\n');
			}
		}), Arguments.of("a reply twice", (LineServer.Handler) (number, line, out) -> {
			out.write(line);
			if (number == 5) {
				out.write(line);
			}
		}), Arguments.of("a closed connection", (LineServer.Handler) (number, line, out) -> {
			if (number == 5) {
				throw new IOException("As the test wants it");
			}
			out.write(line);
		}));
	}

	@ParameterizedTest(name = "{0}")
	@MethodSource("wrongServers")
	void aWrongReplyIsAnError(String what, LineServer.Handler handler) throws IOException {
		try (LineServer server = LineServer.handling(handler)) {
			LoadListener untilTenRequests = new Listener() {

				@Override
				public boolean released() {
					return server.received() >= 10;
				}

			};
			assertThat(LoadGenerator.run(load(server, 2, 1, 64, 0, 0.1), untilTenRequests).errors()).as("closed loop")
				.isPositive();
		}
		try (LineServer server = LineServer.handling(handler)) {
			assertThat(run(load(server, 2, 2, 64, 500, 0.1)).errors()).as("open loop").isPositive();
		}
	}

	@Test
	void repliesInAnotherOrderAreErrors() throws IOException {
		LineServer.Behaviour swapping = (lines, out) -> {
			while (true) {
				byte[] first = lines.next();
				out.write(lines.next());
				out.write(first);
				out.flush();
			}
		};
		try (LineServer server = LineServer.serving(swapping)) {
			assertThat(run(load(server, 3, 2, 64, 0, 0.1)).errors()).isGreaterThanOrEqualTo(3);
		}
	}

	@Test
	void missingRepliesAreErrors() throws IOException {
		try (LineServer server = LineServer.handling((number, line, out) -> {
		})) {
			LoadResult result = run(new Load("127.0.0.1", server.port(), 5, 2, 64, 0, 0, 0.1, 0.3));
			assertThat(result.total()).isZero();
			assertThat(result.errors()).isEqualTo(5 * 2);
		}
	}

	@Test
	void allConnectionsClosedEndTheRun() throws IOException {
		try (LineServer server = LineServer.serving((lines, out) -> lines.next())) {
			long start = System.nanoTime();
			LoadResult result = run(load(server, 4, 1, 64, 0, 50));
			assertThat(result.errors()).isEqualTo(4);
			assertThat(System.nanoTime() - start).isLessThan(TimeUnit.SECONDS.toNanos(40));
		}
	}

	@Test
	void theLoadGoesOnUntilTheListenerHasSeenEnough() throws IOException {
		try (LineServer server = LineServer.echoing()) {
			AtomicInteger atEnd = new AtomicInteger();
			LoadResult result = LoadGenerator.run(load(server, 2, 1, 64, 0, 0.1), new Listener() {

				@Override
				public void ended() {
					atEnd.set(server.received());
				}

				@Override
				public boolean released() {
					return server.received() > atEnd.get() + 100;
				}

			});
			assertThat(result.errors()).isZero();
			assertThat(result.total()).isGreaterThan(atEnd.get() + 100);
			assertThat(result.requests()).isLessThanOrEqualTo(atEnd.get() + 2);
		}
	}

	@Test
	void aServerThatIsNotThereIsAFailure() throws IOException {
		int port;
		try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
			port = socket.getLocalPort();
		}
		assertThatIOException().isThrownBy(() -> run(new Load("127.0.0.1", port, 1, 1, 64, 0, 0, 0.1, 1)));
	}

	private static LoadResult run(Load load) throws IOException {
		return LoadGenerator.run(load, NOBODY);
	}

	private static Load load(LineServer server, int connections, int pipeline, int payload, int rate, double seconds) {
		return new Load("127.0.0.1", server.port(), connections, pipeline, payload, rate, 0, seconds, 20);
	}

	private static long millis(long millis) {
		return TimeUnit.MILLISECONDS.toNanos(millis);
	}

	/** The server is to take time: nobody waits for anything. */
	private static void pass(long millis) {
		try {
			new CountDownLatch(1).await(millis, TimeUnit.MILLISECONDS);
		}
		catch (InterruptedException ex) {
			Thread.currentThread().interrupt();
		}
	}

	private static class Listener implements LoadListener {

		@Override
		public void started() {
		}

		@Override
		public void ended() {
		}

		@Override
		public boolean released() {
			return true;
		}

	}

}
