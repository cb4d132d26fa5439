package org.leaderfollowers;

import java.lang.management.ManagementFactory;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;

import com.sun.management.ThreadMXBean;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.leaderfollowers.internal.buffer.MemoryBudget;
import org.leaderfollowers.internal.exchange.Exchange;
import org.leaderfollowers.internal.promotion.Follower;
import org.leaderfollowers.internal.promotion.HandledWork;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for {@link Participant}.
 */
@Timeout(60)
class ParticipantTests {

	@Test
	void aWaitThatEndsWhileItIsLookedAtHasNotLastedSinceTheClockBegan() throws Exception {
		CountDownLatch end = new CountDownLatch(1);
		CountDownLatch looked = new CountDownLatch(1);
		CompletableFuture<Participant> waiting = new CompletableFuture<>();
		CompletableFuture<Void> ended = new CompletableFuture<>();
		TestClock clock = new TestClock();
		Thread thread = new Thread(() -> {
			Participant me = new Participant(1, new Follower(1, Thread.currentThread()), Thread.currentThread(), true,
					null, (participant, exchange) -> {
						waiting.complete(participant);
						awaitUninterruptibly(end);
						return Exchange.State.REPLIED;
					}, new MemoryBudget(1), 0);
			me.enter();
			me.worksOn(new Work());
			Participant.await(Exchange.ofCaller(0), new Awaited(end, ended), clock);
			ended.complete(null);
			awaitUninterruptibly(looked);
		});
		thread.start();
		Participant participant = waiting.get();
		clock.advance(Duration.ofMillis(1500));
		PoolSnapshot.ThreadSnapshot snapshot = participant.snapshot(true, clock.nanoTime());
		assertThat(snapshot.waitsFor()).isEqualTo("the reply");
		assertThat(snapshot.waitingFor()).hasMillis(1500);
		assertThat(participant.snapshot(true, clock.nanoTime()).waitsFor()).isNull();
		looked.countDown();
		thread.join();
	}

	/** With other state, it would release a handle that another thread owns. */
	@Test
	void stateOfAWaitingHandlerIsRestoredWithoutMemory() {
		ThreadMXBean threads = ManagementFactory.getPlatformMXBean(ThreadMXBean.class);
		Thread thread = Thread.currentThread();
		Participant me = new Participant(1, new Follower(1, thread), thread, true, null,
				(participant, exchange) -> Exchange.State.REPLIED, new MemoryBudget(1), 0);
		Turn turn = me.turn;
		long allocated = Long.MAX_VALUE;
		for (int i = 0; i < 10; i++) {
			me.nest();
			assertThat(me.turn).isNotSameAs(turn);
			long before = threads.getCurrentThreadAllocatedBytes();
			me.unnest();
			// The first rounds load classes.
			allocated = Math.min(allocated, threads.getCurrentThreadAllocatedBytes() - before);
			assertThat(me.turn).isSameAs(turn);
		}
		assertThat(allocated).isZero();
	}

	/** It would otherwise include the time of the previous message, too. */
	@Test
	void durationOfAMessageBeginsWithThePreviousOneOfItsConnection() {
		Thread thread = Thread.currentThread();
		Participant me = new Participant(1, new Follower(1, thread), thread, true, null,
				(participant, exchange) -> Exchange.State.REPLIED, new MemoryBudget(1), 0);
		me.handled(5);
		me.nest();
		me.handled(7);
		me.unnest();
		assertThat(me.handled(9)).isEqualTo(4);
	}

	private static void awaitUninterruptibly(CountDownLatch latch) {
		try {
			latch.await();
		}
		catch (InterruptedException ex) {
			throw new IllegalStateException(ex);
		}
	}

	/** The wait ends while its name is read. */
	private record Awaited(CountDownLatch end, CompletableFuture<Void> ended) implements Participant.Awaited {

		@Override
		public String peer() {
			return "peer";
		}

		@Override
		public String toString() {
			this.end.countDown();
			this.ended.join();
			return "the reply";
		}

	}

	private static final class Work implements HandledWork.Source {

		@Override
		public HandledWork work() {
			return HandledWork.ofConnections("server", "handler");
		}

		@Override
		public long workNumber() {
			return 1;
		}

		@Override
		public void uncork() {
		}

	}

}
