package org.leaderfollowers;

import java.lang.management.ManagementFactory;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;

import com.sun.management.ThreadMXBean;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.leaderfollowers.internal.buffer.MemoryBudget;
import org.leaderfollowers.internal.exchange.Exchange;
import org.leaderfollowers.internal.promotion.Clock;
import org.leaderfollowers.internal.promotion.Follower;
import org.leaderfollowers.internal.promotion.HandledWork;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

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

	private static Participant participant(Participant.ReplyWait wait) {
		Thread thread = Thread.currentThread();
		return new Participant(1, new Follower(1, thread), thread, true, null, wait, new MemoryBudget(1000), 0);
	}

	private static Participant participant() {
		return participant((participant, exchange) -> Exchange.State.REPLIED);
	}

	@Test
	void stateOfEachWaitingHandlerIsRestored() {
		Participant me = participant();
		Turn first = me.turn;
		ByteBuffer input = me.input();
		// The second time, the state of the first time is used again.
		for (int i = 0; i < 2; i++) {
			me.nest();
			Turn second = me.turn;
			assertThat(second).isNotSameAs(first);
			assertThat(me.input()).isNotSameAs(input);
			me.nest();
			assertThat(me.turn).isNotIn(first, second);
			me.unnest();
			assertThat(me.turn).isSameAs(second);
			me.handled(7);
			me.unnest();
			assertThat(me.turn).isSameAs(first);
			assertThat(me.input()).isSameAs(input);
			assertThat(me.takeHandledNanos()).as("of the handler on top").isZero();
		}
		assertThatIllegalStateException().isThrownBy(me::unnest);
	}

	/** Its events would otherwise be counted with those of the waiting handler. */
	@Test
	void handlerOnTopBeginsATurnOfItsOwn() {
		Participant me = participant();
		me.nest();
		me.turn.countRead();
		me.unnest();
		me.nest();
		assertThat(me.turn.reads()).isZero();
		me.unnest();
		me.turn.countRead();
		me.handled(7);
		me.begin(new Work());
		assertThat(me.turn.reads()).isZero();
		assertThat(me.takeHandledNanos()).isZero();
	}

	@Test
	void interruptOfAHandlerOnTopReachesTheLastOneThatWaits() {
		Participant me = participant();
		me.enter();
		try {
			Thread.currentThread().interrupt();
			Participant.endInterrupt();
			me.nestedUpcalls++;
			me.endNestedUpcall();
			assertThat(Thread.interrupted()).as("it was meant for a handler that has ended").isFalse();
			me.nestedUpcalls++;
			Thread.currentThread().interrupt();
			Participant.endInterrupt();
			assertThat(Thread.currentThread().isInterrupted()).isFalse();
			me.endNestedUpcall();
			assertThat(Thread.interrupted()).isTrue();
			assertThat(me.nestedUpcalls).isZero();
			me.nestedUpcalls++;
			me.endNestedUpcall();
			assertThat(Thread.interrupted()).as("once").isFalse();
		}
		finally {
			Thread.interrupted();
			me.withdraw();
		}
	}

	/** The place of a thread stays on the stack of followers for a while. */
	@Test
	void threadThatLeavesKeepsNoMemory() {
		Participant me = participant();
		me.enter();
		ByteBuffer input = me.input();
		ByteBuffer output = me.output(1);
		ByteBuffer gathered = me.gathered();
		assertThat(me.gatheredView()).isNotNull();
		me.withdraw();
		assertThat(Participant.current()).isNull();
		assertThat(me.hasWithdrawn()).isTrue();
		assertThatIllegalStateException().isThrownBy(me::gatheredView);
		assertThat(me.input()).isNotSameAs(input);
		assertThat(me.output(1)).isNotSameAs(output);
		assertThat(me.gathered()).isNotSameAs(gathered);
		Participant next = participant();
		next.enter();
		me.withdraw();
		assertThat(Participant.current()).as("in another pool since").isSameAs(next);
		next.withdraw();
	}

	@Test
	void buffersAreClearedAndBelongToTheThread() {
		Participant me = participant();
		ByteBuffer input = me.input().position(3).limit(5);
		assertThat(me.input()).isSameAs(input);
		assertThat(input.remaining()).isEqualTo(Participant.BUFFER_SIZE);
		ByteBuffer small = me.output(Participant.BUFFER_SIZE);
		assertThat(small.capacity()).isEqualTo(Participant.BUFFER_SIZE);
		small.position(3).order(ByteOrder.LITTLE_ENDIAN);
		assertThat(me.output(1)).isSameAs(small);
		assertThat(small.remaining()).isEqualTo(Participant.BUFFER_SIZE);
		assertThat(small.order()).isEqualTo(ByteOrder.BIG_ENDIAN);
		ByteBuffer large = me.output(Participant.BUFFER_SIZE + 1);
		assertThat(large.capacity()).isEqualTo(Participant.LARGEST_OUTPUT);
		assertThat(me.output(1)).isSameAs(large);
		ByteBuffer gathered = me.gathered();
		gathered.put((byte) 7);
		assertThat(me.gatheredView().position()).isZero();
		assertThat(me.gatheredView().get(0)).isEqualTo((byte) 7);
	}

	/** A record with a name, which threads wait for. */
	private record Named(String peer) implements Participant.Awaited {

		@Override
		public String toString() {
			return this.peer;
		}

	}

	@Test
	void threadWaitsForTheReplyOfTheHandlerOnTopUntilItHasEnded() {
		TestClock clock = new TestClock();
		List<String> waits = new ArrayList<>();
		Participant me = participant((participant, exchange) -> {
			waits.add(waits(participant, clock));
			if (waits.size() == 1) {
				clock.advance(Duration.ofSeconds(2));
				Participant.await(exchange, new Named("inner"), clock);
				waits.add(waits(participant, clock));
				assertThat(participant.awaits(null)).hasToString("outer");
				assertThat(participant.awaits()).isFalse();
				assertThat(participant.awaits(new Named("again"))).isNull();
				assertThat(participant.awaits()).isTrue();
			}
			return Exchange.State.REPLIED;
		});
		me.enter();
		me.worksOn(new Work());
		Participant.await(Exchange.ofCaller(0), new Named("outer"), clock);
		assertThat(waits).containsExactly("outer PT0S", "inner PT0S", "outer PT2S");
		assertThat(waits(me, clock)).isEqualTo("null PT0S");
		assertThat(me.awaits()).isFalse();
		me.withdraw();
	}

	private static String waits(Participant participant, TestClock clock) {
		PoolSnapshot.ThreadSnapshot snapshot = participant.snapshot(true, clock.nanoTime());
		return snapshot.waitsFor() + " " + snapshot.waitingFor();
	}

	@Test
	void threadOutsideOfAPoolWaitsItself() {
		Exchange late = Exchange.ofCaller(System.nanoTime() - 1);
		Participant.await(late, new Named("peer"), Clock.SYSTEM);
		assertThat(late.state()).isEqualTo(Exchange.State.TIMED_OUT);
		assertThat(Participant.await(new CompletableFuture<>(), 1, new Named("peer"))).isFalse();
	}

	@Test
	void waitForAFutureEndsWithItOrAtTheDeadlineByTheClockOfThePool() {
		TestClock clock = new TestClock();
		CompletableFuture<String> future = new CompletableFuture<>();
		List<Exchange> waits = new ArrayList<>();
		Participant me = participant(new Participant.ReplyWait() {

			@Override
			public Clock clock() {
				return clock;
			}

			@Override
			public Exchange.State await(Participant participant, Exchange exchange) {
				waits.add(exchange);
				assertThat(exchange.deadlineNanos()).isEqualTo(clock.nanoTime() + 5);
				assertThat(exchange.state()).isEqualTo(Exchange.State.PENDING);
				future.complete("now");
				return exchange.state();
			}

		});
		me.enter();
		assertThat(Participant.await(future, 5, new Named("peer"))).isTrue();
		assertThat(waits).singleElement().extracting(Exchange::state).isEqualTo(Exchange.State.LOST);
		assertThat(Participant.await(future, 5, new Named("peer"))).as("completed already").isTrue();
		assertThat(waits).hasSize(1);
		me.withdraw();
	}

	/** The handle set tells who leads; the role of the thread may be out of date. */
	@Test
	void snapshotTellsWhatAThreadWorksOn() {
		Participant me = participant();
		assertThat(me.snapshot(true, 0).role()).isEqualTo(ThreadRole.LEADER);
		assertThat(me.snapshot(false, 0).role()).isEqualTo(ThreadRole.FOLLOWER);
		me.worksOn(new Work());
		assertThat(me.snapshot(true, 0).server()).isEqualTo("server");
		assertThat(me.snapshot(false, 0).server()).as("it has just begun to wait").isNull();
		me.worksOn(null);
		me.awaits(new Named("peer"));
		assertThat(me.snapshot(true, 0).waitsFor()).isNull();
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
