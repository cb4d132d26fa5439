package org.leaderfollowers.internal.demultiplexing;

import java.lang.management.ManagementFactory;
import java.lang.ref.WeakReference;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;

import com.sun.management.ThreadMXBean;
import org.junit.jupiter.api.Test;
import org.leaderfollowers.Engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

/**
 * Tests for {@link Deadlines}.
 */
class DeadlinesTests {

	private final Deadlines<TestHandle> deadlines = new Deadlines<>();

	@Test
	void leaderMayWaitForEverWithoutDeadlines() {
		assertThat(this.deadlines.maxWaitNanos(5)).isEqualTo(Long.MAX_VALUE);
	}

	@Test
	void leaderMayWaitUntilTheEarliestDeadline() {
		this.deadlines.schedule(new TestHandle(), 300);
		this.deadlines.schedule(new TestHandle(), 200);
		assertThat(this.deadlines.maxWaitNanos(50)).isEqualTo(150);
		assertThat(this.deadlines.maxWaitNanos(250)).isZero();
	}

	@Test
	void timesAreComparedAcrossTheOverflowOfNanoTime() {
		TestHandle before = new TestHandle();
		TestHandle after = new TestHandle();
		this.deadlines.schedule(after, Long.MIN_VALUE + 10);
		this.deadlines.schedule(before, Long.MAX_VALUE - 10);
		assertThat(poll(Long.MAX_VALUE)).containsExactly(before);
		assertThat(poll(Long.MIN_VALUE + 10)).containsExactly(after);
	}

	@Test
	void handleMayScheduleItselfAgainWhileItExpires() {
		TestHandle handle = new TestHandle();
		this.deadlines.schedule(handle, 10);
		this.deadlines.poll(10, (expired) -> this.deadlines.schedule(expired, 10));
		assertThat(this.deadlines.size()).isOne();
		assertThat(poll(10)).containsExactly(handle);
		assertThat(this.deadlines.size()).isZero();
	}

	@Test
	void schedulingAgainReplacesTheDeadline() {
		TestHandle handle = new TestHandle();
		this.deadlines.schedule(handle, 10);
		this.deadlines.schedule(handle, 20);
		assertThat(poll(15)).isEmpty();
		assertThat(poll(20)).containsExactly(handle);
	}

	@Test
	void aHandleThatReturnsFromAClosedSetDisturbsNoOther() {
		TestHandle returned = new TestHandle();
		Deadlines<TestHandle> closed = new Deadlines<>();
		closed.schedule(returned, 5);
		this.deadlines.cancel(returned);
		closed.schedule(returned, 5);
		TestHandle other = new TestHandle();
		this.deadlines.schedule(other, 10);
		this.deadlines.cancel(returned);
		assertThat(this.deadlines.size()).isOne();
		closed.schedule(returned, 5);
		TestHandle another = new TestHandle();
		for (int i = 0; i < 5; i++) {
			this.deadlines.schedule(new TestHandle(), 15);
		}
		this.deadlines.cancel(returned);
		assertThat(this.deadlines.size()).isEqualTo(6);
		closed.schedule(returned, 5);
		this.deadlines.schedule(another, 20);
		this.deadlines.schedule(returned, 25);
		assertThat(poll(20)).hasSize(7).startsWith(other).endsWith(another);
		assertThat(poll(25)).containsExactly(returned);
	}

	@Test
	void noTimerIsLostWhenThereIsNoMemoryToCollectDueHandles() {
		AtomicInteger left = new AtomicInteger(2);
		Deadlines<TestHandle> scarce = new Deadlines<>(new ArrayList<>() {

			@Override
			public void ensureCapacity(int minCapacity) {
				if (left.getAndDecrement() <= 0) {
					throw new OutOfMemoryError("injected");
				}
			}

		});
		List<TestHandle> handles = scheduled(scarce, 5);
		List<TestHandle> expired = new ArrayList<>();
		assertThatExceptionOfType(OutOfMemoryError.class).isThrownBy(() -> scarce.poll(10, expired::add));
		assertThat(expired).isEqualTo(handles.subList(0, 2));
		assertThat(scarce.maxWaitNanos(10)).isZero();
		left.set(Integer.MAX_VALUE);
		scarce.poll(10, expired::add);
		assertThat(expired).isEqualTo(handles);
	}

	/** What allocates after an entry was removed loses it when memory is short. */
	@Test
	void firstTimersAreCollectedWithoutMemory() {
		ThreadMXBean threads = ManagementFactory.getPlatformMXBean(ThreadMXBean.class);
		long allocated = Long.MAX_VALUE;
		for (int i = 0; i < 10; i++) {
			Deadlines<TestHandle> fresh = new Deadlines<>();
			scheduled(fresh, 5);
			Consumer<TestHandle> expired = TestHandle::stateName;
			long before = threads.getCurrentThreadAllocatedBytes();
			fresh.poll(10, expired);
			// The first rounds load classes.
			allocated = Math.min(allocated, threads.getCurrentThreadAllocatedBytes() - before);
			assertThat(fresh.size()).isZero();
		}
		assertThat(allocated).isZero();
	}

	@Test
	void handleThatFailsIsCalledAgainAndTheOthersOnce() {
		List<TestHandle> handles = scheduled(this.deadlines, 5);
		List<TestHandle> expired = new ArrayList<>();
		assertThatIllegalStateException().isThrownBy(() -> this.deadlines.poll(10, (handle) -> {
			expired.add(handle);
			if (handle == handles.get(1)) {
				throw new IllegalStateException("injected");
			}
			if (handle == handles.get(3)) {
				this.deadlines.schedule(handle, 50);
				throw new StackOverflowError("injected");
			}
		}));
		assertThat(expired).isEqualTo(handles);
		assertThat(poll(49)).isEmpty();
		assertThat(poll(50)).containsExactly(handles.get(3));
		assertThat(poll(9 + Deadlines.RETRY_NANOS)).isEmpty();
		assertThat(poll(10 + Deadlines.RETRY_NANOS)).containsExactly(handles.get(1));
		assertThat(this.deadlines.size()).isZero();
	}

	@Test
	void errorOfAHandleIsThrown() {
		List<TestHandle> handles = scheduled(this.deadlines, 2);
		List<TestHandle> expired = new ArrayList<>();
		assertThatExceptionOfType(StackOverflowError.class).isThrownBy(() -> this.deadlines.poll(10, (handle) -> {
			expired.add(handle);
			throw new StackOverflowError("injected");
		}));
		assertThat(expired).isEqualTo(handles);
	}

	@Test
	void closedHandlesAreNotKept() {
		this.deadlines.schedule(new TestHandle(), 5);
		WeakReference<TestHandle> closed = cancelled();
		Engine.awaitCollected(closed);
	}

	private WeakReference<TestHandle> cancelled() {
		TestHandle handle = new TestHandle();
		this.deadlines.schedule(handle, 10);
		this.deadlines.cancel(handle);
		return new WeakReference<>(handle);
	}

	private static List<TestHandle> scheduled(Deadlines<TestHandle> deadlines, int count) {
		List<TestHandle> handles = new ArrayList<>();
		for (int i = 0; i < count; i++) {
			handles.add(new TestHandle());
			deadlines.schedule(handles.get(i), i);
		}
		return handles;
	}

	@Test
	void anySequenceOfCallsAgreesWithASortedList() {
		long seed = System.nanoTime();
		Random random = new Random(seed);
		List<TestHandle> handles = new ArrayList<>();
		for (int i = 0; i < 200; i++) {
			handles.add(new TestHandle());
		}
		Map<TestHandle, Long> model = new HashMap<>();
		long now = 0;
		for (int step = 0; step < 20_000; step++) {
			TestHandle handle = handles.get(random.nextInt(handles.size()));
			switch (random.nextInt(4)) {
				case 0, 1 -> {
					long deadline = now + random.nextInt(1000) - 10;
					this.deadlines.schedule(handle, deadline);
					model.put(handle, deadline);
				}
				case 2 -> {
					this.deadlines.cancel(handle);
					model.remove(handle);
				}
				default -> {
					now += random.nextInt(20);
					long present = now;
					List<TestHandle> due = model.entrySet()
						.stream()
						.filter((entry) -> entry.getValue() <= present)
						.sorted(Comparator.comparingLong(Map.Entry::getValue))
						.map(Map.Entry::getKey)
						.toList();
					assertThat(poll(now)).as("seed %d, step %d", seed, step).containsExactlyInAnyOrderElementsOf(due);
					due.forEach(model::remove);
				}
			}
			assertThat(this.deadlines.size()).as("seed %d, step %d", seed, step).isEqualTo(model.size());
			long earliest = model.values().stream().mapToLong(Long::longValue).min().orElse(Long.MAX_VALUE);
			long expected = (earliest == Long.MAX_VALUE) ? Long.MAX_VALUE : Math.max(0, earliest - now);
			assertThat(this.deadlines.maxWaitNanos(now)).as("seed %d, step %d", seed, step).isEqualTo(expected);
		}
	}

	private List<TestHandle> poll(long now) {
		List<TestHandle> expired = new ArrayList<>();
		this.deadlines.poll(now, expired::add);
		return expired;
	}

	private static final class TestHandle extends HandleState {

	}

}
