package org.leaderfollowers.spring.limit;

import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.leaderfollowers.Connection;

import static org.assertj.core.api.Assertions.assertThat;
import static org.mockito.BDDMockito.given;
import static org.mockito.Mockito.mock;

@Timeout(300)
class SuspensionTimerTests {

	@Test
	void aSuspensionEndsIfMemoryIsShort() throws Exception {
		CountDownLatch resumed = new CountDownLatch(1);
		Connection connection = mock(Connection.class);
		given(connection.isOpen()).willReturn(true);
		given(connection.suspend()).willReturn(resumed::countDown);
		AtomicInteger looks = new AtomicInteger();
		try (SuspensionTimer timer = new SuspensionTimer()) {
			SuspensionTimer.Pause pause = timer.suspend(connection, TimeUnit.HOURS.toNanos(1), () -> {
				if (looks.getAndIncrement() == 0) {
					return 1;
				}
				throw new OutOfMemoryError("from the test");
			});
			assertThat(resumed.await(60, TimeUnit.SECONDS)).isTrue();
			assertThat(pause.isOver()).isTrue();
		}
	}

}
