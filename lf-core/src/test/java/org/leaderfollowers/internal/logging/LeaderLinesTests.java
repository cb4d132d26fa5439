package org.leaderfollowers.internal.logging;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;

import org.awaitility.Awaitility;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.slf4j.event.Level;

import static org.assertj.core.api.Assertions.assertThat;

class LeaderLinesTests {

	private static final Duration DEADLINE = Duration.ofSeconds(60);

	private final List<String> written = new CopyOnWriteArrayList<>();

	private final CountDownLatch opened = new CountDownLatch(1);

	private final LeaderLines lines = new LeaderLines(this::write);

	private void write(Level level, String line, @Nullable Throwable failure) {
		try {
			this.opened.await();
		}
		catch (InterruptedException ex) {
			throw new AssertionError(ex);
		}
		this.written.add(line);
	}

	private void add(String line) {
		this.lines.add(Level.WARN, line, null);
	}

	@Test
	void theLinesKeepTheirOrder() {
		this.opened.countDown();
		List<String> expected = IntStream.range(0, LeaderLines.CAPACITY).mapToObj(String::valueOf).toList();
		expected.forEach(this::add);
		this.lines.flush(DEADLINE.toMillis());
		assertThat(this.written).isEqualTo(expected);
	}

	/** The thread takes one line, and the queue takes its capacity. */
	@Test
	void aLogThatBlocksDropsLinesAndSaysSo() {
		add("first");
		Awaitility.await().atMost(DEADLINE).until(this.lines::noneWaits);
		IntStream.range(0, LeaderLines.CAPACITY + 7).forEach((i) -> add("line " + i));
		this.lines.flush(1);
		assertThat(this.written).isEmpty();
		this.opened.countDown();
		Awaitility.await().atMost(DEADLINE).until(() -> this.written.size() == LeaderLines.CAPACITY + 2);
		assertThat(this.written).startsWith("first",
				"7 log lines were dropped, because the log accepted no lines for a while", "line 0");
	}

	/** Usually because memory is short. */
	@Test
	void aLineWhoseWritingFailsIsCounted() {
		AtomicInteger failures = new AtomicInteger(3);
		LeaderLines lines = new LeaderLines((level, line, failure) -> {
			if (failures.getAndDecrement() > 0) {
				throw new OutOfMemoryError("made for the test");
			}
			this.written.add(line);
		}, (task) -> {
			Thread thread = new Thread(task);
			thread.setUncaughtExceptionHandler((failed, failure) -> {
			});
			return thread;
		});
		IntStream.range(0, 4).forEach((i) -> lines.add(Level.WARN, "line " + i, null));
		lines.flush(DEADLINE.toMillis());
		assertThat(this.written).containsExactly("line 3",
				"3 log lines were dropped, because the log accepted no lines for a while");
	}

	private LeaderLines linesWithoutThread(AtomicBoolean refused) {
		return new LeaderLines(this::write, (task) -> {
			if (refused.get()) {
				throw new OutOfMemoryError("unable to create native thread");
			}
			return new Thread(task);
		});
	}

	@Test
	void linesWaitWhileNoThreadCanBeStarted() {
		AtomicBoolean refused = new AtomicBoolean(true);
		LeaderLines lines = linesWithoutThread(refused);
		this.opened.countDown();
		lines.add(Level.WARN, "first", null);
		lines.add(Level.WARN, "second", null);
		lines.flush(1);
		assertThat(this.written).isEmpty();
		refused.set(false);
		lines.resume();
		lines.flush(DEADLINE.toMillis());
		assertThat(this.written).containsExactly("first", "second");
	}

	@Test
	void linesThatHaveWaitedForAThreadComeFirst() {
		AtomicBoolean refused = new AtomicBoolean(true);
		LeaderLines lines = linesWithoutThread(refused);
		this.opened.countDown();
		lines.add(Level.WARN, "first", null);
		refused.set(false);
		lines.add(Level.WARN, "second", null);
		lines.flush(DEADLINE.toMillis());
		assertThat(this.written).containsExactly("first", "second");
	}

	@Test
	void linesFollowAfterTheThreadHasEnded() {
		this.opened.countDown();
		add("first");
		Awaitility.await()
			.atMost(DEADLINE)
			.until(() -> Thread.getAllStackTraces()
				.keySet()
				.stream()
				.noneMatch((thread) -> thread.getName().equals("lf-log")));
		add("second");
		this.lines.flush(DEADLINE.toMillis());
		assertThat(this.written).containsExactly("first", "second");
	}

}
