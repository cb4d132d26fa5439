package org.leaderfollowers.benchmarks.comparison;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;

import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

/**
 * What is read from {@code /proc}, here a directory with files like those of Linux.
 */
class ProcessSampleTests {

	private static final long SECOND = TimeUnit.SECONDS.toNanos(1);

	@TempDir
	Path proc;

	@BeforeEach
	void writeProcess() throws IOException {
		writeStat(this.proc.resolve("4711"), 1, 345, 67);
		writeThread(4711, 5_000_000, 3, 1);
		writeThread(4712, 1_234_567_890, 12_345, 678);
	}

	@Test
	void ticksAndThreadsAreRead() throws IOException {
		ProcessSample sample = ProcessSample.read(this.proc.resolve("4711"));
		assertThat(sample.cpuTicks()).isEqualTo(345 + 67);
		assertThat(sample.threads()).isEqualTo(Map.of(4711L, new ProcessSample.ThreadSample(5_000_000, 3, 1), 4712L,
				new ProcessSample.ThreadSample(1_234_567_890, 12_345, 678)));
	}

	@Test
	void withoutScheduleStatisticsOfAThreadThereAreTicks() throws IOException {
		Files.delete(this.proc.resolve("4711/task/4712/schedstat"));
		ProcessSample sample = ProcessSample.read(this.proc.resolve("4711"));
		assertThat(sample.threads().get(4712L).cpuNs()).isEqualTo(-1);
		assertThat(new ProcessSample(sample.timeNs() + SECOND, sample.cpuTicks() + 25, sample.threads()).since(sample)
			.cpuSeconds()).isEqualTo(0.25);
	}

	@Test
	void theRateIsThatOfAllThreadsInNanoseconds() {
		ProcessSample before = new ProcessSample(0, 100, Map.of(1L, new ProcessSample.ThreadSample(1_000_000, 10, 5)));
		ProcessSample after = new ProcessSample(2 * SECOND, 101,
				Map.of(1L, new ProcessSample.ThreadSample(4_000_000, 30, 6), 2L,
						new ProcessSample.ThreadSample(1_000_000, 100, 7)));
		ProcessSample.Rate rate = after.since(before);
		assertThat(rate.cpuSeconds()).isCloseTo(0.002, within(1e-9));
		assertThat(rate.voluntarySwitches()).isEqualTo(60);
		assertThat(rate.involuntarySwitches()).isEqualTo(4);
	}

	@Test
	void ifAThreadHasEndedTheTicksOfTheProcessCount() {
		ProcessSample before = new ProcessSample(0, 100, Map.of(1L, new ProcessSample.ThreadSample(1_000_000, 10, 5),
				2L, new ProcessSample.ThreadSample(9_000_000, 10, 5)));
		ProcessSample after = new ProcessSample(SECOND, 150,
				Map.of(1L, new ProcessSample.ThreadSample(2_000_000, 30, 6)));
		ProcessSample.Rate rate = after.since(before);
		assertThat(rate.cpuSeconds()).isEqualTo(0.5);
		assertThat(rate.voluntarySwitches()).isEqualTo(20);
	}

	@Test
	void othersAreAllButOursAndTheKernel() throws IOException {
		writeStat(this.proc.resolve("12"), 2, 1000, 0);
		writeStat(this.proc.resolve("13"), 1, 10, 10);
		Files.createDirectory(this.proc.resolve("14"));
		Files.createDirectory(this.proc.resolve("self"));
		OtherProcesses before = OtherProcesses.read(this.proc, Set.of(4711L));
		assertThat(before.cpuTicks()).isEqualTo(Map.of(13L, 20L));
		OtherProcesses after = new OtherProcesses(before.timeNs() + 2 * SECOND, Map.of(13L, 70L, 15L, 50L));
		assertThat(after.percentSince(before, 2)).isEqualTo(100 * (0.5 + 0.5) / 2 / 2);
	}

	@Test
	@EnabledOnOs(OS.LINUX)
	void thisProcessCanBeRead() throws IOException {
		Path self = Path.of("/proc", Long.toString(ProcessHandle.current().pid()));
		ProcessSample before = ProcessSample.read(self);
		long end = System.nanoTime() + SECOND / 20;
		while (System.nanoTime() < end) {
			Thread.onSpinWait();
		}
		ProcessSample after = ProcessSample.read(self);
		assertThat(after.since(before).cpuSeconds()).isPositive();
	}

	private void writeThread(long id, long cpuNs, long voluntary, long involuntary) throws IOException {
		Path task = Files.createDirectories(this.proc.resolve("4711/task/" + id));
		Files.writeString(task.resolve("schedstat"), cpuNs + " 388519 2\n");
		Files.writeString(task.resolve("status"), """
				Name:	line-server
				State:	S (sleeping)
				Threads:	2
				voluntary_ctxt_switches:	%d
				nonvoluntary_ctxt_switches:	%d
				""".formatted(voluntary, involuntary));
	}

	/** With a name that looks like the end of a name. */
	private static void writeStat(Path directory, long parent, long user, long system) throws IOException {
		Files.createDirectories(directory);
		Files.writeString(directory.resolve("stat"),
				"4711 (a) b (c) S " + parent + " 4711 4711 0 -1 4194304 1000 0 0 0 " + user + " " + system
						+ " 9999 8888 20 0 2 0 1234 5678 90 18446744073709551615\n");
	}

}
