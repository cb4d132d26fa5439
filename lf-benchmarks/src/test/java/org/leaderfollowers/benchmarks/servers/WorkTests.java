package org.leaderfollowers.benchmarks.servers;

import java.lang.management.ManagementFactory;
import java.util.concurrent.TimeUnit;

import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for {@link Work}. Nothing is asserted of how long something takes at the most: a
 * loaded machine may take as long as it likes.
 */
class WorkTests {

	@Test
	void burnsTimeOfTheProcessor() {
		Runnable work = Work.CPU_20_US.prepare(0);
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
		Runnable little = Work.CPU_20_US.prepare(1);
		Runnable much = Work.CPU_20_US.prepare(10_000_000);
		assertThat(cpuNanos(little)).isLessThan(cpuNanos(much));
	}

	private static long cpuNanos(Runnable work) {
		long before = ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime();
		work.run();
		return ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime() - before;
	}

	@Test
	void blocksAtLeastAsLongAsItSays() {
		Runnable work = Work.BLOCK_1_MS.prepare(0);
		long before = System.nanoTime();
		for (int i = 0; i < 10; i++) {
			work.run();
		}
		assertThat(System.nanoTime() - before).isGreaterThanOrEqualTo(TimeUnit.MILLISECONDS.toNanos(10));
	}

	@Test
	void blocksNowAndThen() {
		Runnable work = Work.BLOCK_5_PERCENT_2_MS.prepare(0);
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
		for (Work work : Work.values()) {
			assertThat(Work.of(work.id())).contains(work);
		}
		assertThat(Work.of("lunch")).isEmpty();
	}

}
