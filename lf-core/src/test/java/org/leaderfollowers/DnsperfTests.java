package org.leaderfollowers;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.IntStream;

import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assumptions.assumeThat;

/**
 * A real dnsperf, if it is installed, queries a DNS server over TCP whose answers
 * overtake each other.
 */
@Timeout(120)
class DnsperfTests {

	private static final List<Path> PLACES = List.of(Path.of("/usr/bin/dnsperf"), Path.of("/usr/local/bin/dnsperf"));

	private static final int QUERIES = 2000;

	/** It is an answer, recursion is available, and there is no such name. */
	private static final short NO_SUCH_NAME = (short) 0x8183;

	@RegisterExtension
	final Engine engine = new Engine();

	@TempDir
	Path directory;

	private static @Nullable Path executable() {
		return PLACES.stream().filter(Files::isExecutable).findFirst().orElse(null);
	}

	/**
	 * Takes up to 2 ms, so that answers leave in another order than that of the queries.
	 */
	private static void answer(Connection connection, ByteBuffer query) {
		LockSupport.parkNanos(ThreadLocalRandom.current().nextLong(TimeUnit.MILLISECONDS.toNanos(2)));
		ByteBuffer answer = ByteBuffer.allocate(query.remaining()).put(query).flip();
		connection.send(answer.putShort(2, NO_SUCH_NAME));
	}

	@ParameterizedTest
	@ValueSource(ints = { 1, 8, 100 })
	void everyQueryGetsItsOwnAnswer(int window) throws Exception {
		Path dnsperf = executable();
		assumeThat(dnsperf).as("dnsperf is installed").isNotNull();
		TcpServer server = this.engine.start(TcpServer.builder(this.engine.pool(2, 200))
			.framing(Framing.lengthField(2))
			.maxInFlightPerConnection(window)
			.handler(DnsperfTests::answer));
		String output = run(dnsperf, server);
		assertThat(output)
			.contains("Queries sent:         " + QUERIES, "Queries completed:    " + QUERIES,
					"Queries lost:         0 ", "NXDOMAIN " + QUERIES)
			.doesNotContain("Warning", "unexpected", "Error");
	}

	private String run(Path dnsperf, TcpServer server) throws IOException, InterruptedException {
		Path queries = Files.write(this.directory.resolve("queries"),
				IntStream.range(0, QUERIES).mapToObj((i) -> "host" + i + ".example. A").toList());
		Path output = this.directory.resolve("output");
		Process process = new ProcessBuilder(dnsperf.toString(), "-m", "tcp", "-s",
				server.address().getAddress().getHostAddress(), "-p", String.valueOf(server.port()), "-d",
				queries.toString(), "-n", "1", "-c", "2", "-q", "100", "-t", "30")
			.redirectErrorStream(true)
			.redirectOutput(output.toFile())
			.start();
		try {
			assertThat(process.waitFor(100, TimeUnit.SECONDS)).as("dnsperf ends").isTrue();
		}
		finally {
			process.destroyForcibly().waitFor();
		}
		return Files.readString(output, StandardCharsets.UTF_8);
	}

}
