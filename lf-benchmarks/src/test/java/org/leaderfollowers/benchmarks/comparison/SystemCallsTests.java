package org.leaderfollowers.benchmarks.comparison;

import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * What the tools that count system calls print.
 */
class SystemCallsTests {

	@Test
	void perf() {
		assertThat(SystemCalls.PERF.parse("""
				# started on Sat Nov 21 18:17:19 2026

				123456,,raw_syscalls:sys_enter,5000000000,100.00,,
				789,,syscalls:sys_enter_futex,5000000000,100.00,,
				""".lines().toList())).contains(new SystemCalls.Count(123_456, 789));
	}

	@Test
	void perfThatSawNothing() {
		assertThat(SystemCalls.PERF.parse("""
				<not counted>,,raw_syscalls:sys_enter,0,100.00,,
				<not counted>,,syscalls:sys_enter_futex,0,100.00,,
				""".lines().toList())).contains(new SystemCalls.Count(0, 0));
	}

	@Test
	void strace() {
		assertThat(SystemCalls.STRACE.parse("""
				% time     seconds  usecs/call     calls    errors syscall
				------ ----------- ----------- --------- --------- ----------------
				 51.20    0.512000           5    100000           write
				 30.10    0.301000           3    100010         4 read
				 18.70    0.187000          18     10000      2000 futex
				------ ----------- ----------- --------- --------- ----------------
				100.00    1.000000           4    210010      2004 total
				""".lines().toList())).contains(new SystemCalls.Count(210_010, 10_000));
	}

	@Test
	void straceThatSawNothing() {
		assertThat(SystemCalls.STRACE.parse("""
				% time     seconds  usecs/call     calls    errors syscall
				""".lines().toList())).isEmpty();
	}

}
