package org.leaderfollowers.benchmarks.servers;

import java.lang.management.ManagementFactory;
import java.util.concurrent.TimeUnit;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for {@link Work}. Nothing is asserted of how long something takes at the most: a
 * loaded machine may take as long as it likes.
 */
class WorkTests {

	@Test
	void burnsTimeOfTheProcessor() {
		Runnable work = work("cpu20").prepare(0);
		long before = ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime();
		for (int i = 0; i < 1_000; i++) {
			work.run();
		}
		long burnt = ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime() - before;
		// Less than a millisecond each way would say that the loop is not run at all.
		assertThat(burnt).isGreaterThan(TimeUnit.MILLISECONDS.toNanos(10));
	}

	@Test
	void takesTheNumberOfIterationsThatItIsGiven() {
		Runnable little = work("cpu20").prepare(1);
		Runnable much = work("cpu20").prepare(10_000_000);
		assertThat(cpuNanos(little)).isLessThan(cpuNanos(much));
	}

	@Test
	void burnsInProportionToItsName() {
		Runnable little = work("cpu2").prepare(10_000_000);
		Runnable much = work("cpu50").prepare(10_000_000);
		little.run();
		assertThat(5 * cpuNanos(little)).isLessThan(cpuNanos(much));
	}

	private static long cpuNanos(Runnable work) {
		long before = ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime();
		work.run();
		return ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime() - before;
	}

	@Test
	void blocksAtLeastAsLongAsItSays() {
		Runnable work = work("block100pct1ms").prepare(0);
		long before = System.nanoTime();
		for (int i = 0; i < 10; i++) {
			work.run();
		}
		assertThat(System.nanoTime() - before).isGreaterThanOrEqualTo(TimeUnit.MILLISECONDS.toNanos(10));
	}

	@Test
	void blocksNowAndThen() {
		Runnable work = work("block5pct2ms").prepare(0);
		int blocked = 0;
		for (int i = 0; i < 500; i++) {
			long before = ManagementFactory.getThreadMXBean()
				.getThreadInfo(Thread.currentThread().getId())
				.getWaitedCount();
			work.run();
			long after = ManagementFactory.getThreadMXBean()
				.getThreadInfo(Thread.currentThread().getId())
				.getWaitedCount();
			blocked += (after > before) ? 1 : 0;
		}
		// 25 are to be expected; neither none nor a quarter happen by chance.
		assertThat(blocked).isBetween(1, 125);
	}

	@Test
	void isFoundByItsName() {
		assertThat(Work.of("none")).contains(Work.NONE);
		assertThat(Work.of("cpu5")).contains(new Work("cpu5", 5, 0, 0, null));
		assertThat(Work.of("mixed-cpu5").map(Work::neighbour)).isEqualTo(Work.of("cpu5"));
		assertThat(Work.of("block5pct2ms")).contains(new Work("block5pct2ms", 0, 5, 2, null));
	}

	@ParameterizedTest
	@ValueSource(strings = { "lunch", "", "cpu", "cpu0", "cpu20us", "cpu05", "block1ms", "block101pct1ms", "mixed-",
			"mixed-mixed-none" })
	void isNotFoundByAnotherName(String name) {
		assertThat(Work.of(name)).isEmpty();
	}

	@Test
	void saysWhatItIs() {
		assertThat(work("none").title()).isEqualTo("echo");
		assertThat(work("cpu50").title()).isEqualTo("every request burns 50 µs of CPU");
		assertThat(work("block5pct2ms").title()).isEqualTo("5% of the requests block for 2 ms");
		assertThat(work("mixed-block100pct5ms").title())
			.isEqualTo("echo beside a neighbour (every request blocks for 5 ms)");
		assertThat(work("block100pct1ms").title()).isEqualTo("every request blocks for 1 ms");
	}

	private static Work work(String id) {
		return Work.of(id).orElseThrow();
	}

}
