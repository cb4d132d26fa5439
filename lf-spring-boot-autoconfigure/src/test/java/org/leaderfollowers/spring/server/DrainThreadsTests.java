package org.leaderfollowers.spring.server;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Supplier;

import org.assertj.core.api.InstanceOfAssertFactories;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.leaderfollowers.ServerSnapshot;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

/** Tests for {@link DrainThreads}. */
@Timeout(120)
class DrainThreadsTests {

	private final DrainThreads drains = new DrainThreads();

	private final CountDownLatch open = new CountDownLatch(1);

	@AfterEach
	void end() throws Exception {
		this.open.countDown();
		for (Thread thread : this.drains.others()) {
			thread.join();
		}
	}

	private void start(Supplier<ServerSnapshot> begin) {
		this.drains.start("lf-drain-test", begin, () -> {
			try {
				this.open.await();
			}
			catch (InterruptedException ex) {
				Thread.currentThread().interrupt();
			}
		});
	}

	private static boolean isRunning() {
		return Thread.getAllStackTraces()
			.keySet()
			.stream()
			.anyMatch((thread) -> thread.getName().equals("lf-drain-test"));
	}

	@Test
	void aDrainBeginsWhenItsThreadHasStarted() throws Exception {
		AtomicBoolean hasBegun = new AtomicBoolean();
		CompletableFuture<Boolean> hadBegun = new CompletableFuture<>();
		this.drains.start("lf-drain-test", () -> {
			assertThat(isRunning()).isTrue();
			hasBegun.set(true);
			return null;
		}, () -> hadBegun.complete(hasBegun.get()));
		assertThat(hadBegun.get(60, TimeUnit.SECONDS)).isTrue();
	}

	@Test
	void theThreadOfADrainThatDoesNotBeginEnds() throws Exception {
		AtomicBoolean ended = new AtomicBoolean();
		CompletableFuture<Thread> started = new CompletableFuture<>();
		assertThatIllegalStateException().isThrownBy(() -> this.drains.start("lf-drain-test", () -> {
			started.complete(this.drains.others().get(0));
			throw new IllegalStateException("made for the test");
		}, () -> ended.set(true)));
		started.join().join();
		assertThat(ended).isFalse();
	}

	@Test
	void aThreadThatStopsTheServersDoesNotWaitForItself() throws Exception {
		CompletableFuture<List<Thread>> others = new CompletableFuture<>();
		this.drains.start("lf-drain-test", () -> null, () -> others.complete(this.drains.others()));
		assertThat(others.get(60, TimeUnit.SECONDS)).isEmpty();
	}

	@Test
	void threadsAreKnownUntilTheyEndAndDoNotKeepTheVirtualMachineAlive() throws Exception {
		start(() -> null);
		assertThat(this.drains.others()).singleElement().satisfies((thread) -> assertThat(thread.isDaemon()).isTrue());
		Thread first = this.drains.others().get(0);
		this.open.countDown();
		first.join();
		assertThat(this.drains.others()).isEmpty();
		start(() -> null);
		assertThat(this.drains).extracting("threads")
			.asInstanceOf(InstanceOfAssertFactories.LIST)
			.as("those that have ended are forgotten")
			.hasSize(1);
	}

	/**
	 * Spring gives up a phase after its timeout, and the virtual machine may end then.
	 */
	@Test
	void aPartOfTheShutdownDoesNotKeepTheVirtualMachine() {
		CompletableFuture<Boolean> daemon = new CompletableFuture<>();
		DrainThreads.run("part", () -> daemon.complete(Thread.currentThread().isDaemon()),
				() -> daemon.completeExceptionally(new IllegalStateException("no thread")));
		assertThat(daemon).succeedsWithin(Duration.ofMinutes(1)).isEqualTo(true);
	}

}
