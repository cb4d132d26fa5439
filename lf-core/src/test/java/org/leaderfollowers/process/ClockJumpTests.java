package org.leaderfollowers.process;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.time.Duration;
import java.util.stream.Stream;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;
import org.leaderfollowers.CloseReason;
import org.leaderfollowers.Engine;
import org.leaderfollowers.Peer;
import org.leaderfollowers.TcpServer;
import org.leaderfollowers.process.ServerProcess.Baseline;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

/**
 * The wall clock jumps by hours, as it does when it is set. The library {@code faketime}
 * changes it for one process, and leaves the monotonic clock alone.
 */
@Tag("stress")
@Timeout(300)
@EnabledOnOs(OS.LINUX)
class ClockJumpTests {

	@TempDir
	private Path directory;

	private static final class Timed extends LineProgram {

		@Override
		void configure(TcpServer.Builder builder) {
			builder.idleTimeout(Duration.ofMinutes(10)).messageTimeout(Duration.ofSeconds(3));
		}

	}

	private static Path library() throws IOException {
		try (Stream<Path> files = Files.find(Path.of("/usr/lib"), 3,
				(file, attributes) -> file.endsWith("faketime/libfaketimeMT.so.1"))) {
			Path library = files.findFirst().orElse(null);
			assumeTrue(library != null, "libfaketime is not installed");
			return library;
		}
	}

	/** Sets the clock to so many hours from now, in one step. */
	private void setClock(ServerProcess server, int hours) throws IOException {
		Path next = Files.writeString(this.directory.resolve("next"), "%+dh\n".formatted(hours));
		Files.move(next, this.directory.resolve("time"), StandardCopyOption.ATOMIC_MOVE);
		Engine.eventually().untilAsserted(() -> assertThat(hoursAhead(server)).isEqualTo(hours));
	}

	private static long hoursAhead(ServerProcess server) {
		Duration ahead = Duration.ofMillis(server.state().currentTimeMillis() - System.currentTimeMillis());
		return Math.round(ahead.toMinutes() / 60.0);
	}

	@Test
	void timersDoNotCare() throws IOException {
		Path time = Files.writeString(this.directory.resolve("time"), "+0h\n");
		ServerProcess.Builder builder = ServerProcess.of(Timed.class)
			.environment("LD_PRELOAD", library().toString())
			.environment("FAKETIME_TIMESTAMP_FILE", time.toString())
			.environment("FAKETIME_CACHE_DURATION", "1")
			.environment("FAKETIME_DONT_FAKE_MONOTONIC", "1")
			// Without this, the library at times ends every timed wait at once.
			.environment("FAKETIME_FORCE_MONOTONIC_FIX", "0")
			.environment("NO_FAKE_STAT", "1");
		try (ServerProcess server = builder.start(); Peer patient = server.connect(); Peer blocked = server.connect()) {
			Baseline before = server.baseline();
			blocked.send("wait\n");
			for (int hours : new int[] { 5, -5, 0 }) {
				setClock(server, hours);
				// Not idle for so long, whatever the clock says.
				assertThat(patient.send("hello\n").readLine()).isEqualTo("hello");
				try (Peer late = server.connect()) {
					assertThat(late.send("x").readLine()).isNull();
				}
			}
			assertThat(server.ask("release")).isEqualTo(true);
			assertThat(blocked.readLine()).isEqualTo("wait");
			server.assertReturnedTo(before);
			assertThat(server.state().closedConnections()).containsEntry(CloseReason.MESSAGE_TIMEOUT, 3L)
				.doesNotContainKey(CloseReason.IDLE_TIMEOUT);
		}
	}

}
