package org.leaderfollowers.spring.limit;

import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;

import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.AppenderBase;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.leaderfollowers.spring.limit.ClientLimits.Action;
import org.leaderfollowers.spring.limit.ClientLimits.Limit;
import org.slf4j.LoggerFactory;

import static org.assertj.core.api.Assertions.assertThat;

/** Tests for {@link ClientLimiter}, with a log that nobody reads. */
class ClientLimiterTests {

	/** Far from 0, as the clock of a machine that has run for a while. */
	private final AtomicLong clock = new AtomicLong(Duration.ofDays(1).toNanos());

	private final ClientLimiter limiter = new ClientLimiter("default", false,
			new ClientLimits(Map.of(Limit.MAX_CONNECTIONS, 1L), Action.SUSPEND), null,
			new ClientTable(1000, 32, 64, this.clock::get), new SuspensionTimer(), this.clock::get);

	private final Logger logger = (Logger) LoggerFactory.getLogger(ClientLimiter.class);

	private final BlockedLog log = new BlockedLog();

	private static final class BlockedLog extends AppenderBase<ILoggingEvent> {

		private final CountDownLatch read = new CountDownLatch(1);

		private final List<String> lines = Collections.synchronizedList(new ArrayList<>());

		@Override
		protected void append(ILoggingEvent line) {
			try {
				this.lines.add(this.read.await(1, TimeUnit.MINUTES) ? line.getFormattedMessage() : "nobody reads");
			}
			catch (InterruptedException ex) {
				Thread.currentThread().interrupt();
			}
		}

	}

	@BeforeEach
	void log() {
		this.log.start();
		this.logger.addAppender(this.log);
	}

	@AfterEach
	void stopLog() {
		this.logger.detachAppender(this.log);
	}

	/** The thread that accepts connections calls it, and no other would accept any. */
	@Test
	void noLogBlocksTheThreadThatAccepts() {
		exceed(1);
		pass();
		exceed(2);
		assertThat(this.log.lines).isEmpty();
		this.log.read.countDown();
		awaitLines(1);
		AtomicInteger client = new AtomicInteger(2);
		Awaitility.await().atMost(Duration.ofMinutes(1)).until(() -> {
			// The thread of the first line ends soon after it.
			pass();
			exceed(client.incrementAndGet());
			return !this.log.lines.get(this.log.lines.size() - 1).contains("10.0.0.1");
		});
		assertThat(this.log.lines.get(0)).startsWith("Client 10.0.0.1");
		assertThat(this.log.lines.get(1)).contains("more such client");
	}

	/** An attacker with many addresses would fill the log otherwise. */
	@Test
	void clientsThatExceedTheirLimitsSoonAfterALineShareTheNextOne() {
		this.log.read.countDown();
		exceed(1);
		awaitLines(1);
		awaitEndOfLogThread();
		for (int client = 2; client < 5; client++) {
			exceed(client);
			awaitEndOfLogThread();
		}
		assertThat(this.log.lines).hasSize(1);
		this.clock.addAndGet(Duration.ofSeconds(10).toNanos());
		exceed(5);
		awaitLines(2);
		assertThat(this.log.lines.get(1)).startsWith("Client 10.0.0.5")
			.endsWith("(3 more such clients since the last such line)");
	}

	private void awaitEndOfLogThread() {
		Awaitility.await()
			.atMost(Duration.ofMinutes(1))
			.until(() -> Thread.getAllStackTraces()
				.keySet()
				.stream()
				.noneMatch((thread) -> thread.getName().equals("lf-client-limits-log")));
	}

	private void pass() {
		this.clock.addAndGet(Duration.ofMinutes(1).toNanos());
	}

	private void exceed(int number) {
		InetSocketAddress client = new InetSocketAddress("10.0.0." + number, 1);
		assertThat(this.limiter.admit(client)).isNotNull();
		assertThat(this.limiter.admit(client)).isNull();
	}

	private void awaitLines(int count) {
		Awaitility.await().atMost(Duration.ofMinutes(1)).until(() -> this.log.lines.size() >= count);
	}

}
