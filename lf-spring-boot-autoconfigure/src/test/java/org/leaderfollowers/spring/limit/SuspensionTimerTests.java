package org.leaderfollowers.spring.limit;

import java.time.Duration;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.LongSupplier;
import java.util.stream.Collectors;

import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.leaderfollowers.Connection;
import org.leaderfollowers.Suspension;
import org.leaderfollowers.spring.limit.ClientLimits.Action;

import static org.assertj.core.api.Assertions.assertThat;
import static org.mockito.BDDMockito.given;
import static org.mockito.BDDMockito.then;
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

	@Test
	void itsThreadEndsWithTheLimits() {
		ClientLimiters limiters = new ClientLimiters(null);
		ClientLimiter limiter = limiters.add("test", false, new ClientLimits(Map.of(), Action.SUSPEND), 10, 32, 64);
		Connection connection = mock(Connection.class);
		given(connection.isOpen()).willReturn(true);
		given(connection.suspend()).willReturn(mock(Suspension.class));
		Set<Thread> earlier = threads();
		limiter.timer().suspend(connection, TimeUnit.HOURS.toNanos(1), () -> TimeUnit.HOURS.toNanos(1));
		Set<Thread> started = threads();
		started.removeAll(earlier);
		assertThat(started).hasSize(1);
		limiters.close();
		Awaitility.await().atMost(Duration.ofSeconds(60)).until(() -> started.stream().noneMatch(Thread::isAlive));
	}

	/**
	 * Otherwise the timer would keep the connection until the client has paid its debt.
	 */
	@Test
	void aConnectionThatIsClosedIsNotKept() {
		Connection connection = mock(Connection.class);
		AtomicBoolean open = new AtomicBoolean(true);
		given(connection.isOpen()).will((call) -> open.get());
		given(connection.suspend()).willReturn(mock(Suspension.class));
		LongSupplier aLongTime = () -> TimeUnit.HOURS.toNanos(1);
		try (SuspensionTimer timer = new SuspensionTimer()) {
			SuspensionTimer.Pause pause = timer.suspend(connection, TimeUnit.HOURS.toNanos(1), aLongTime);
			assertThat(pause.isOver()).isFalse();
			open.set(false);
			Awaitility.await().atMost(Duration.ofSeconds(60)).until(pause::isOver);
		}
	}

	/** Nobody would end the thread. */
	@Test
	void aTimerThatWasClosedBeforeItsFirstUseStartsNoThread() {
		Connection connection = mock(Connection.class);
		Suspension suspension = mock(Suspension.class);
		given(connection.isOpen()).willReturn(true);
		given(connection.suspend()).willReturn(suspension);
		SuspensionTimer timer = new SuspensionTimer();
		timer.close();
		Set<Thread> earlier = threads();
		SuspensionTimer.Pause pause = timer.suspend(connection, TimeUnit.HOURS.toNanos(1),
				() -> TimeUnit.HOURS.toNanos(1));
		assertThat(pause.isOver()).isTrue();
		then(suspension).should().resume();
		assertThat(earlier).containsAll(threads());
	}

	private static Set<Thread> threads() {
		return Thread.getAllStackTraces()
			.keySet()
			.stream()
			.filter((thread) -> thread.getName().equals("lf-client-limits"))
			.collect(Collectors.toSet());
	}

}
