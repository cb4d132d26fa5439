package org.leaderfollowers;

import java.lang.management.ManagementFactory;

import com.sun.management.ThreadMXBean;
import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for {@link HeapReserve}. What it is for, storms of used-up heaps show.
 */
class HeapReserveTests {

	/** The compiler would leave out an array that nobody can see. */
	@Test
	void allocatesAlsoWhenItIsCompiled() {
		ThreadMXBean threads = ManagementFactory.getPlatformMXBean(ThreadMXBean.class);
		for (int i = 0; i < 50_000; i++) {
			HeapReserve.require();
		}
		long before = threads.getCurrentThreadAllocatedBytes();
		for (int i = 0; i < 1000; i++) {
			HeapReserve.require();
		}
		assertThat(threads.getCurrentThreadAllocatedBytes() - before).isGreaterThan(1000L * HeapReserve.BYTES);
	}

	@Test
	void needsMoreRoomIfLittleIsFree() {
		assertThat(HeapReserve.bytes(HeapReserve.BYTES_IF_SCARCE)).isEqualTo(HeapReserve.BYTES);
		assertThat(HeapReserve.bytes(HeapReserve.BYTES_IF_SCARCE - 1)).isEqualTo(HeapReserve.BYTES_IF_SCARCE);
	}

}
