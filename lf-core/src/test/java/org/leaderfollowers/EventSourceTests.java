package org.leaderfollowers;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.DelayQueue;
import java.util.concurrent.Delayed;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Function;
import java.util.stream.Stream;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.leaderfollowers.PoolSnapshot.EventSourceSnapshot;
import org.leaderfollowers.internal.promotion.Clock;
import org.slf4j.LoggerFactory;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

/**
 * Events that no selector reports: each source has a leader of its own, one of the
 * threads that also lead the handle sets.
 */
@Timeout(180)
class EventSourceTests {

	@RegisterExtension
	private final Engine engine = new Engine();

	private final BlockingQueue<String> queue = new LinkedBlockingQueue<>();

	private final List<String> handled = new CopyOnWriteArrayList<>();

	@BeforeEach
	void logInformation() {
		engineLogger().setLevel(Level.INFO);
	}

	@AfterEach
	void logWarnings() {
		engineLogger().setLevel(null);
	}

	private static Logger engineLogger() {
		return (Logger) LoggerFactory.getLogger("org.leaderfollowers.engine");
	}

	private LeaderFollowersPool pool(int min, int max) {
		return this.engine.pool(LeaderFollowersPool.builder().threads(min, max).handleSets(1).eventSources("events"));
	}

	private static EventSourceSnapshot source(LeaderFollowersPool pool) {
		return pool.snapshot().eventSources().get(0);
	}

	/** In any order: events may overtake each other. */
	private void awaitHandled(String... events) {
		Engine.eventually().untilAsserted(() -> assertThat(this.handled).containsExactlyInAnyOrder(events));
	}

	// The path of an event

	@ParameterizedTest
	@EnumSource
	void eachEventIsHandledOnceAndTheSourceHasALeaderAgain(PromotionPolicy policy) {
		LeaderFollowersPool pool = this.engine.pool(LeaderFollowersPool.builder()
			.threads(2, 4)
			.handleSets(1)
			.eventSources("events")
			.promotionPolicy(policy));
		Set<String> seen = ConcurrentHashMap.newKeySet();
		AtomicInteger twice = new AtomicInteger();
		pool.register("events", EventSource.of(this.queue), (event) -> {
			if (!seen.add(event)) {
				twice.incrementAndGet();
			}
		});
		for (int i = 0; i < 5000; i++) {
			this.queue.add("event " + i);
		}
		Engine.eventually().untilAsserted(() -> assertThat(seen).hasSize(5000));
		PoolSnapshot idle = Engine.awaitIdle(pool);
		assertThat(twice).hasValue(0);
		assertThat(idle.eventSources()).singleElement().satisfies((source) -> {
			assertThat(source.name()).isEqualTo("events");
			assertThat(source.inUse()).isTrue();
			assertThat(source.events()).isEqualTo(5000);
			assertThat(source.term()).isPositive();
			assertThat(source.handlerFailures() + source.sourceFailures()).isZero();
		});
		assertThat(idle.handleSets()).singleElement()
			.satisfies((set) -> assertThat(set.leader()).isNotEqualTo(source(pool).leader()));
	}

	@Test
	void theElementsOfADelayQueueAreHandledWhenTheirDelayHasPassed() {
		LeaderFollowersPool pool = pool(2, 4);
		DelayQueue<Alarm> alarms = new DelayQueue<>();
		long began = System.nanoTime();
		// All are added before the first one is due: one that is added late would come
		// after its successor.
		alarms.add(new Alarm("second", began + TimeUnit.MILLISECONDS.toNanos(300)));
		alarms.add(new Alarm("first", began + TimeUnit.MILLISECONDS.toNanos(20)));
		alarms.add(new Alarm("third", began + TimeUnit.MILLISECONDS.toNanos(600)));
		pool.register("events", EventSource.of(alarms), 1, (alarm) -> {
			assertThat(System.nanoTime() - alarm.nanos()).isNotNegative();
			this.handled.add(alarm.name());
		});
		Engine.eventually().untilAsserted(() -> assertThat(this.handled).containsExactly("first", "second", "third"));
	}

	private record Alarm(String name, long nanos) implements Delayed {

		@Override
		public long getDelay(TimeUnit unit) {
			return unit.convert(this.nanos - System.nanoTime(), TimeUnit.NANOSECONDS);
		}

		@Override
		public int compareTo(Delayed other) {
			return Long.signum(this.nanos - ((Alarm) other).nanos);
		}

	}

	@Test
	void whileAHandlerBlocksAnotherThreadLeadsTheSource() {
		LeaderFollowersPool pool = pool(3, 4);
		CountDownLatch gate = this.engine.gate();
		pool.register("events", EventSource.of(this.queue), (event) -> {
			if (event.equals("blocks")) {
				Engine.pass(gate);
			}
			this.handled.add(event);
		});
		this.queue.add("blocks");
		Engine.eventually().until(() -> source(pool).handling() == 1);
		this.queue.addAll(List.of("a", "b"));
		awaitHandled("a", "b");
		// The snapshot shows the threads of the other events as busy for a moment longer.
		Engine.eventually().untilAsserted(() -> {
			PoolSnapshot snapshot = pool.snapshot();
			assertThat(snapshot.runningHandlers()).singleElement()
				.satisfies((running) -> assertThat(running.handler()).startsWith(EventSourceTests.class.getName()));
			assertThat(snapshot.threads()).filteredOn((thread) -> thread.handle() != null)
				.singleElement()
				.satisfies((thread) -> assertThat(thread.handle()).isEqualTo("Event source 'events'"));
		});
		gate.countDown();
		awaitHandled("a", "b", "blocks");
		assertThat(pool.handOffs()).anySatisfy((handOff) -> {
			assertThat(handOff.handleSet()).isEqualTo("events");
			assertThat(handOff.handle()).isEqualTo("Event source 'events'");
		});
	}

	@Test
	void aShortHandlerRunsWithoutPromotion() {
		LeaderFollowersPool pool = this.engine.pool(LeaderFollowersPool.builder()
			.threads(2, 4)
			.handleSets(1)
			.eventSources("events")
			.promotionLease(Duration.ofMinutes(1)));
		AtomicInteger count = new AtomicInteger();
		pool.register("events", EventSource.of(this.queue), (event) -> count.incrementAndGet());
		Engine.eventually().until(() -> {
			Map<PromotionKind, Long> before = pool.snapshot().promotions();
			int expected = count.get() + 100;
			for (int i = 0; i < 100; i++) {
				this.queue.add("event");
			}
			Engine.eventually().until(() -> count.get() == expected);
			return pool.snapshot().promotions().equals(before);
		});
	}

	@Test
	void aHandlerThatWasShortAndBlocksIsTakenOverFrom() {
		LeaderFollowersPool pool = pool(3, 4);
		CountDownLatch gate = this.engine.gate();
		pool.register("events", EventSource.of(this.queue), (event) -> {
			if (event.equals("blocks")) {
				Engine.pass(gate);
			}
			this.handled.add(event);
		});
		for (int i = 0; i < 3000; i++) {
			this.queue.add("short");
		}
		Engine.eventually().until(() -> this.handled.size() == 3000);
		this.queue.addAll(List.of("blocks", "next"));
		Engine.eventually().until(() -> this.handled.contains("next"));
		assertThat(this.handled).doesNotContain("blocks");
	}

	@Test
	void oneThreadAtATimeWaits() {
		LeaderFollowersPool pool = this.engine.pool(LeaderFollowersPool.builder()
			.threads(3, 8)
			.handleSets(1)
			.eventSources("events")
			.promotionPolicy(PromotionPolicy.EAGER));
		AtomicInteger waiting = new AtomicInteger();
		AtomicInteger most = new AtomicInteger();
		EventSource<String> inner = EventSource.of(this.queue);
		pool.register("events", new EventSource<String>() {

			@Override
			public @Nullable String await(Duration timeout) throws Exception {
				most.accumulateAndGet(waiting.incrementAndGet(), Math::max);
				try {
					return inner.await(timeout);
				}
				finally {
					waiting.decrementAndGet();
				}
			}

			@Override
			public void wakeup() {
				inner.wakeup();
			}

		}, this.handled::add);
		for (int i = 0; i < 5000; i++) {
			this.queue.add("event");
		}
		Engine.eventually().until(() -> this.handled.size() == 5000);
		assertThat(most).hasValue(1);
	}

	@Test
	void oneEventAtATimeKeepsTheOrder() {
		LeaderFollowersPool pool = pool(3, 8);
		CountDownLatch gate = this.engine.gate();
		AtomicInteger running = new AtomicInteger();
		AtomicInteger most = new AtomicInteger();
		pool.register("events", EventSource.of(this.queue), 1, (event) -> {
			most.accumulateAndGet(running.incrementAndGet(), Math::max);
			if (event.equals("0")) {
				Engine.pass(gate);
			}
			this.handled.add(event);
			running.decrementAndGet();
		});
		List<String> events = new ArrayList<>();
		for (int i = 0; i < 1000; i++) {
			events.add(String.valueOf(i));
		}
		this.queue.addAll(events);
		Engine.eventually().until(() -> source(pool).handling() == 1);
		assertThat(source(pool).leader()).isNull();
		assertThat(source(pool).vacantFor()).isZero();
		assertThat(this.queue).hasSize(999);
		gate.countDown();
		Engine.eventually().untilAsserted(() -> assertThat(this.handled).containsExactlyElementsOf(events));
		assertThat(most).hasValue(1);
	}

	@Test
	void asManyEventsAsAllowedAreHandledAtATime() {
		LeaderFollowersPool pool = pool(3, 16);
		CountDownLatch gate = this.engine.gate();
		pool.register("events", EventSource.of(this.queue), 3, (event) -> {
			Engine.pass(gate);
			this.handled.add(event);
		});
		for (int i = 0; i < 10; i++) {
			this.queue.add("event");
		}
		Engine.eventually().until(() -> source(pool).handling() == 3);
		assertThat(this.queue).hasSize(7);
		gate.countDown();
		Engine.eventually().until(() -> this.handled.size() == 10);
	}

	// Sources and connections in one pool

	@Test
	void handlersOfEventsLeaveThreadsToConnections() {
		LeaderFollowersPool pool = pool(2, 5);
		TcpServer server = this.engine.lines(pool, Connection::send);
		CountDownLatch gate = this.engine.gate();
		pool.register("events", EventSource.of(this.queue), (event) -> {
			Engine.pass(gate);
			this.handled.add(event);
		});
		for (int i = 0; i < 50; i++) {
			this.queue.add("event");
		}
		Engine.eventually().until(() -> source(pool).handling() == 4);
		for (int i = 0; i < 10; i++) {
			assertThat(this.engine.connect(server).send("hello\n").readLine()).isEqualTo("hello");
		}
		assertThat(source(pool).handling()).isEqualTo(4);
		gate.countDown();
		Engine.eventually().until(() -> this.handled.size() == 50);
	}

	@Test
	void moreThreadsLetMoreEventsBeHandled() {
		LeaderFollowersPool pool = pool(2, 2);
		CountDownLatch gate = this.engine.gate();
		pool.register("events", EventSource.of(this.queue), (event) -> {
			Engine.pass(gate);
			this.handled.add(event);
		});
		for (int i = 0; i < 10; i++) {
			this.queue.add("event");
		}
		Engine.eventually().until(() -> source(pool).handling() == 1);
		pool.resize(2, 5);
		Engine.eventually().until(() -> source(pool).handling() == 4);
		gate.countDown();
		Engine.eventually().until(() -> this.handled.size() == 10);
	}

	@Test
	void twoThreadsSufficeForAHandleSetAndASource() {
		LeaderFollowersPool pool = pool(2, 2);
		TcpServer server = this.engine.lines(pool, Connection::send);
		pool.register("events", EventSource.of(this.queue), this.handled::add);
		Peer peer = this.engine.connect(server);
		for (int i = 0; i < 200; i++) {
			this.queue.add("event");
			assertThat(peer.send("hello\n").readLine()).isEqualTo("hello");
		}
		Engine.eventually().until(() -> this.handled.size() == 200);
	}

	@Test
	void theLeaderOfASourceTakesAHandleSetInTurnIfNoThreadIsLeft() {
		LeaderFollowersPool pool = pool(2, 2);
		CountDownLatch gate = this.engine.gate();
		TcpServer server = this.engine.lines(pool, (connection, message) -> {
			if (Engine.text(message).equals("block")) {
				Engine.pass(gate);
			}
			connection.send(message);
		});
		pool.register("events", EventSource.of(this.queue), this.handled::add);
		Engine.awaitIdle(pool);
		Peer blocked = this.engine.connect(server).send("block\n");
		Engine.eventually().until(() -> pool.snapshot().runningHandlers().size() == 1);
		Peer peer = this.engine.connect(server);
		for (int i = 0; i < 20; i++) {
			assertThat(peer.send("hello\n").readLine()).isEqualTo("hello");
			this.queue.add("event");
			int expected = i + 1;
			Engine.eventually().until(() -> this.handled.size() == expected);
		}
		gate.countDown();
		assertThat(blocked.readLine()).isEqualTo("block");
	}

	@Test
	void aSourceWithoutALeaderIsStarved() {
		LeaderFollowersPool pool = this.engine
			.pool(LeaderFollowersPool.builder().threads(2, 2).handleSets(1).eventSources("events"));
		CountDownLatch gate = this.engine.gate();
		TcpServer server = this.engine.lines(pool, (connection, message) -> {
			Engine.pass(gate);
			connection.send(message);
		});
		pool.register("events", EventSource.of(this.queue), this.handled::add);
		Engine.awaitIdle(pool);
		List<Peer> peers = List.of(this.engine.connect(server).send("a\n"), this.engine.connect(server).send("b\n"));
		Engine.eventually().untilAsserted(() -> {
			PoolSnapshot snapshot = pool.snapshot();
			assertThat(snapshot.starvedFor()).isPositive();
			assertThat(snapshot.eventSources().get(0).leader()).isNull();
			assertThat(snapshot.eventSources().get(0).vacantFor()).isPositive();
		});
		Engine.eventually()
			.untilAsserted(() -> assertThat(this.engine.log())
				.anyMatch((line) -> line.contains("had no thread left to wait for events")));
		this.queue.add("late");
		gate.countDown();
		awaitHandled("late");
		assertThat(peers.get(0).readLine()).isEqualTo("a");
		assertThat(peers.get(1).readLine()).isEqualTo("b");
	}

	// Failures

	@Test
	void aSourceThatThrowsIsTriedAgainAfterAPauseAndKeepsItsLeader() {
		LeaderFollowersPool pool = pool(2, 4);
		AtomicReference<@Nullable Throwable> failure = new AtomicReference<>(new IllegalStateException("gone"));
		AtomicInteger attempts = new AtomicInteger();
		EventSource<String> inner = EventSource.of(this.queue);
		pool.register("events", source(inner, attempts, failure), this.handled::add);
		Engine.eventually().until(() -> source(pool).sourceFailures() >= 3);
		assertThat(source(pool).leader()).isNotNull();
		assertThat(this.engine.log())
			.filteredOn((line) -> line.contains("Event source 'events' has failed, and the pool retries"))
			.singleElement()
			.satisfies((line) -> assertThat(line).contains("gone"));
		// Three pauses of 100, 200 and 400 ms lie between four attempts.
		assertThat(attempts.get()).isLessThan(100);
		failure.set(new StackOverflowError());
		long before = source(pool).sourceFailures();
		Engine.eventually().until(() -> source(pool).sourceFailures() >= before + 2);
		assertThat(source(pool).leader()).isNotNull();
		assertThat(attempts.get()).isLessThan(100);
		this.queue.add("event");
		failure.set(null);
		awaitHandled("event");
		assertThat(this.engine.log()).contains("INFO Event source 'events' works again");
	}

	private static EventSource<String> source(EventSource<String> inner, AtomicInteger attempts,
			AtomicReference<@Nullable Throwable> failure) {
		return new EventSource<>() {

			@Override
			public @Nullable String await(Duration timeout) throws Exception {
				attempts.incrementAndGet();
				Throwable current = failure.get();
				if (current instanceof Exception exception) {
					throw exception;
				}
				if (current instanceof Error error) {
					throw error;
				}
				return inner.await(timeout);
			}

			@Override
			public void wakeup() {
				inner.wakeup();
				if (failure.get() != null) {
					throw new IllegalStateException("cannot be woken");
				}
			}

		};
	}

	@Test
	void aPauseOfAFailedSourceDoesNotDelayTheEnd() {
		LeaderFollowersPool pool = pool(2, 4);
		AtomicReference<@Nullable Throwable> failure = new AtomicReference<>(new IllegalStateException("gone"));
		pool.register("events", source(EventSource.of(this.queue), new AtomicInteger(), failure), this.handled::add);
		// The pause is 1.6 seconds by now, and twice as long with each failure.
		Engine.eventually().until(() -> source(pool).sourceFailures() >= 5);
		assertThat(pool.deregister("events", Engine.DEADLINE)).isTrue();
		assertThat(source(pool).inUse()).isFalse();
		Engine.eventually().until(() -> source(pool).leader() == null);
	}

	@Test
	void aSourceThatReturnsAtOnceIsAskedLessOften() {
		LeaderFollowersPool pool = pool(2, 4);
		pool.register("events", new EventSource<String>() {

			@Override
			public @Nullable String await(Duration timeout) {
				return EventSourceTests.this.queue.poll();
			}

			@Override
			public void wakeup() {
			}

		}, this.handled::add);
		Engine.eventually().until(() -> source(pool).sourceFailures() > 0);
		// A failure is counted before it is logged.
		Engine.eventually()
			.untilAsserted(() -> assertThat(this.engine.log())
				.anyMatch((line) -> line.contains("at once and without an event")));
		this.queue.add("event");
		awaitHandled("event");
	}

	@Test
	void aHandlerThatThrowsLosesItsEventAndNothingElse() {
		LeaderFollowersPool pool = pool(2, 4);
		pool.register("events", EventSource.of(this.queue), (event) -> {
			switch (event) {
				case "exception" -> throw new Exception("no");
				case "error" -> throw new StackOverflowError();
				case "interrupt" -> Thread.currentThread().interrupt();
				default -> this.handled.add(event);
			}
		});
		this.queue.addAll(List.of("exception", "error", "interrupt", "event"));
		awaitHandled("event");
		Engine.eventually().until(() -> source(pool).handlerFailures() == 2);
		assertThat(source(pool).events()).isEqualTo(4);
		// A failure is counted before it is logged.
		Engine.eventually()
			.untilAsserted(() -> assertThat(this.engine.log())
				.filteredOn((line) -> line.contains("The handler of event source 'events' failed; the event is lost"))
				.hasSizeBetween(1, 2));
	}

	// The lifecycle of a source

	@Test
	void aSourceIsWaitedOnFromItsRegistrationToItsEnd() {
		LeaderFollowersPool pool = pool(2, 4);
		this.queue.add("before");
		pool.start();
		Engine.awaitIdle(pool);
		assertThat(source(pool).leader()).isNull();
		assertThat(source(pool).inUse()).isFalse();
		pool.register("events", EventSource.of(this.queue), this.handled::add);
		awaitHandled("before");
		assertThat(pool.deregister("events", Engine.DEADLINE)).isTrue();
		this.queue.add("between");
		Engine.awaitIdle(pool);
		assertThat(this.queue).hasSize(1);
		pool.register("events", EventSource.of(this.queue), this.handled::add);
		awaitHandled("before", "between");
		assertThat(source(pool).events()).isEqualTo(2);
	}

	@Test
	void noEventIsLostWhileSourcesComeAndGo() {
		LeaderFollowersPool pool = this.engine
			.pool(LeaderFollowersPool.builder().threads(3, 6).handleSets(1).eventSources("a", "b"));
		TcpServer server = this.engine.lines(pool, Connection::send);
		Peer peer = this.engine.connect(server);
		BlockingQueue<String> other = new LinkedBlockingQueue<>();
		int added = 0;
		for (int round = 0; round < 100; round++) {
			pool.register("a", EventSource.of(this.queue), this.handled::add);
			pool.register("b", EventSource.of(other), 1, this.handled::add);
			for (int i = 0; i < 20; i++) {
				this.queue.add("event " + added++);
				other.add("event " + added++);
			}
			pool.resize(3, 4 + round % 3);
			assertThat(peer.send("hello\n").readLine()).isEqualTo("hello");
			assertThat(pool.deregister("a", Engine.DEADLINE)).isTrue();
			assertThat(pool.deregister("b", Engine.DEADLINE)).isTrue();
		}
		pool.register("a", EventSource.of(this.queue), this.handled::add);
		pool.register("b", EventSource.of(other), this.handled::add);
		int all = added;
		Engine.eventually().until(() -> this.handled.size() == all);
		assertThat(this.handled).doesNotHaveDuplicates();
	}

	@Test
	void theEndOfASourceWaitsForItsHandlers() {
		LeaderFollowersPool pool = pool(2, 4);
		CountDownLatch gate = this.engine.gate();
		pool.register("events", EventSource.of(this.queue), (event) -> {
			Engine.pass(gate);
			this.handled.add(event);
		});
		this.queue.add("event");
		Engine.eventually().until(() -> source(pool).handling() == 1);
		assertThat(pool.deregister("events", Duration.ofMillis(20))).isFalse();
		assertThatIllegalStateException()
			.isThrownBy(() -> pool.register("events", EventSource.of(this.queue), this.handled::add))
			.withMessageContaining("has not ended yet");
		gate.countDown();
		assertThat(pool.deregister("events", Engine.DEADLINE)).isTrue();
		assertThat(this.handled).containsExactly("event");
	}

	@Test
	void aHandlerMayEndItsOwnSource() {
		LeaderFollowersPool pool = pool(2, 4);
		AtomicReference<@Nullable Boolean> ended = new AtomicReference<>();
		pool.register("events", EventSource.of(this.queue),
				(event) -> ended.set(pool.deregister("events", Engine.DEADLINE)));
		this.queue.add("last");
		Engine.eventually().untilAsserted(() -> assertThat(ended.get()).isTrue());
		this.queue.add("later");
		Engine.awaitIdle(pool);
		assertThat(this.queue).hasSize(1);
	}

	@Test
	void closingThePoolWaitsForTheHandlersOfEvents() {
		LeaderFollowersPool pool = pool(2, 4);
		CountDownLatch gate = this.engine.gate();
		pool.register("events", EventSource.of(this.queue), (event) -> {
			Engine.pass(gate);
			this.handled.add(event);
		});
		this.queue.add("event");
		Engine.eventually().until(() -> source(pool).handling() == 1);
		Thread opener = new Thread(() -> {
			// A leader that still waits would be handed the next event.
			Engine.eventually().until(() -> !source(pool).inUse() && source(pool).leader() == null);
			this.queue.add("late");
			gate.countDown();
		});
		opener.start();
		assertThat(pool.close(Engine.DEADLINE)).isTrue();
		assertThat(this.handled).containsExactly("event");
		assertThat(this.queue).containsExactly("late");
		assertThatIllegalStateException()
			.isThrownBy(() -> pool.register("events", EventSource.of(this.queue), this.handled::add))
			.withMessageContaining("is closed");
	}

	/** Otherwise the pool would wait for its end until the grace period is over. */
	@Test
	void aSourceThatIsRegisteredWhileThePoolClosesEndsWithIt() {
		LeaderFollowersPool pool = pool(2, 4);
		pool.serves(new Drainable() {

			@Override
			public void beginDrain(long deadlineNanos) {
				pool.register("events", EventSource.of(EventSourceTests.this.queue),
						EventSourceTests.this.handled::add);
			}

			@Override
			public boolean close(Duration grace) {
				pool.servesNoMore(this);
				return true;
			}

		});
		assertThat(pool.close(Duration.ofHours(1))).isTrue();
		assertThat(source(pool).inUse()).isFalse();
	}

	@Test
	void aHandlerThatDoesNotReturnIsInterruptedWhenThePoolIsClosed() {
		LeaderFollowersPool pool = pool(2, 4);
		CountDownLatch never = this.engine.gate();
		pool.register("events", EventSource.of(this.queue), (event) -> {
			try {
				never.await();
			}
			catch (InterruptedException ex) {
				this.handled.add("interrupted");
			}
		});
		this.queue.add("event");
		Engine.eventually().until(() -> source(pool).handling() == 1);
		pool.close(Duration.ofMillis(100));
		assertThat(pool.close(Engine.DEADLINE)).isTrue();
		assertThat(this.handled).containsExactly("interrupted");
		assertThat(this.engine.log()).anyMatch((line) -> line.contains("it works on Event source 'events'"));
	}

	@Test
	void aSourceThatCannotBeWokenEndsThePoolWhenItReturns() {
		LeaderFollowersPool pool = pool(2, 4);
		pool.register("events", new EventSource<String>() {

			@Override
			public @Nullable String await(Duration timeout) throws InterruptedException {
				long nanos = Math.min(timeout.toNanos(), TimeUnit.MILLISECONDS.toNanos(50));
				return EventSourceTests.this.queue.poll(nanos, TimeUnit.NANOSECONDS);
			}

			@Override
			public void wakeup() {
			}

		}, this.handled::add);
		this.queue.add("event");
		awaitHandled("event");
		assertThat(pool.close(Engine.DEADLINE)).isTrue();
		assertThat(source(pool).sourceFailures()).isZero();
	}

	@Test
	void anInterruptThatComesWithAnEventIsRestoredAndDoesNotReachTheHandler() throws Exception {
		CountDownLatch gate = this.engine.gate();
		LeaderFollowersPool pool = poolWithBlockedThread(gate);
		EventSource<String> source = EventSource.of(this.queue);
		pool.register("events", new EventSource<String>() {

			@Override
			public @Nullable String await(Duration timeout) throws Exception {
				if (Thread.currentThread().getName().equals("joined") && EventSourceTests.this.handled.isEmpty()) {
					Thread.currentThread().interrupt();
					return "event";
				}
				return source.await(timeout);
			}

			@Override
			public void wakeup() {
				source.wakeup();
			}

		}, 2, (event) -> {
			if (event.equals("block")) {
				Engine.pass(gate);
			}
			else {
				this.handled.add(event + " " + Thread.currentThread().isInterrupted());
			}
		});
		CompletableFuture<Boolean> interrupted = new CompletableFuture<>();
		joinToLead(pool, Engine.DEADLINE, interrupted);
		awaitHandled("event false");
		gate.countDown();
		assertThat(pool.close(Engine.DEADLINE)).isTrue();
		assertThat(interrupted.get(30, TimeUnit.SECONDS)).isTrue();
	}

	/** A source that calls the given code in each wait, and knows no wake-up. */
	private static EventSource<String> awaiting(Function<Duration, @Nullable String> wait) {
		return new EventSource<>() {

			@Override
			public @Nullable String await(Duration timeout) {
				return wait.apply(timeout);
			}

			@Override
			public void wakeup() {
			}

		};
	}

	private static @Nullable String waitShortly() {
		LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(2));
		return null;
	}

	/** Each second return comes with an event, or after a wait. */
	@ParameterizedTest
	@ValueSource(booleans = { true, false })
	void aSourceThatSometimesReturnsAtOnceWorks(boolean withEvents) {
		LeaderFollowersPool pool = pool(2, 4);
		AtomicInteger returns = new AtomicInteger();
		AtomicLong since = new AtomicLong();
		pool.register("events", awaiting((timeout) -> {
			if (returns.getAndIncrement() == 0) {
				since.set(System.nanoTime());
			}
			boolean atOnce = returns.get() % 2 == 0;
			return atOnce ? null : withEvents ? "event" : waitShortly();
		}), (event) -> {
		});
		Engine.eventually()
			.until(() -> returns.get() > 1200 && System.nanoTime() - since.get() > TimeUnit.MILLISECONDS.toNanos(600));
		assertThat(source(pool).sourceFailures()).isZero();
	}

	/** On a busy machine, a call that does not wait may take long now and then. */
	@Test
	void aSourceThatSeldomWaitsIsAskedLessOften() {
		LeaderFollowersPool pool = pool(2, 4);
		AtomicInteger returns = new AtomicInteger();
		pool.register("events", awaiting((timeout) -> (returns.incrementAndGet() % 1000 == 0) ? waitShortly() : null),
				this.handled::add);
		Engine.eventually().until(() -> source(pool).sourceFailures() > 0);
	}

	@Test
	void aSourceThatWaitsAgainWorks() {
		LeaderFollowersPool pool = pool(2, 4);
		AtomicInteger attempts = new AtomicInteger();
		pool.register("events", awaiting((timeout) -> {
			if (attempts.getAndIncrement() == 0) {
				throw new IllegalStateException("made for the test");
			}
			return waitShortly();
		}), this.handled::add);
		Engine.eventually()
			.untilAsserted(() -> assertThat(this.engine.log()).contains("INFO Event source 'events' works again"));
	}

	@Test
	void aPauseOfAFailedSourceEndsWithTheSource() throws Exception {
		TestClock clock = new TestClock();
		LeaderFollowersPool pool = this.engine
			.pool(LeaderFollowersPool.builder().threads(2, 2).handleSets(1).eventSources("events").clock(clock));
		pool.register("events", awaiting((timeout) -> {
			throw new IllegalStateException("made for the test");
		}), this.handled::add);
		Engine.eventually().until(() -> {
			Thread leader = thread(source(pool).leader());
			return leader != null && clock.waits(leader) > 0;
		});
		CompletableFuture<Boolean> ended = CompletableFuture
			.supplyAsync(() -> pool.deregister("events", Engine.DEADLINE), (task) -> new Thread(task).start());
		try {
			assertThat(ended.get(Engine.DEADLINE.toSeconds(), TimeUnit.SECONDS)).isTrue();
		}
		finally {
			clock.advance(Duration.ofDays(1));
		}
	}

	private static @Nullable Thread thread(@Nullable String name) {
		return Thread.getAllStackTraces()
			.keySet()
			.stream()
			.filter((thread) -> thread.getName().equals(name))
			.findFirst()
			.orElse(null);
	}

	/** The source does not deliver it again. */
	@Test
	void anEventIsHandledAlthoughMemoryIsShortWhenItsLeaderIsToBeReplaced() {
		AtomicReference<@Nullable Thread> lacking = new AtomicReference<>();
		LeaderFollowersPool pool = this.engine
			.pool(LeaderFollowersPool.builder().threads(3, 4).handleSets(1).eventSources("events").clock(new Clock() {

				@Override
				public long nanoTime() {
					if (lacking.compareAndSet(Thread.currentThread(), null)) {
						throw new OutOfMemoryError("made for the test");
					}
					return super.nanoTime();
				}

			}));
		pool.register("events", awaiting((timeout) -> {
			waitShortly();
			String event = this.queue.poll();
			lacking.set((event != null) ? Thread.currentThread() : null);
			return event;
		}), this.handled::add);
		this.queue.add("event");
		awaitHandled("event");
		assertThat(this.engine.log())
			.anyMatch((line) -> line.startsWith("ERROR Promoting a leader of event source 'events' failed"));
	}

	/** Otherwise its handler would count for ever, and the source could not end. */
	@Test
	void anEventIsHandledAlthoughMemoryIsShortWhenItsSourceIsPutToRest() {
		AtomicBoolean fails = new AtomicBoolean();
		CountDownLatch gate = this.engine.gate();
		LeaderFollowersPool pool = poolWithOneFreeThread(withoutMemoryForRest(fails), gate);
		pool.register("events", EventSource.of(this.queue), 1, this.handled::add);
		fails.set(true);
		this.queue.add("event");
		awaitHandled("event");
		assertThat(fails).isFalse();
		gate.countDown();
		assertThat(pool.deregister("events", Engine.DEADLINE)).isTrue();
		assertThat(this.engine.log())
			.anyMatch((line) -> line.startsWith("ERROR Promoting a leader of event source 'events' failed"));
	}

	/** Otherwise its leader would seem to wait there still. */
	@Test
	void aHandlerEndsItsSourceAlthoughMemoryWasShortWhenItsSourceWasPutToRest() {
		AtomicBoolean fails = new AtomicBoolean();
		CountDownLatch gate = this.engine.gate();
		LeaderFollowersPool pool = poolWithOneFreeThread(withoutMemoryForRest(fails), gate);
		AtomicBoolean ended = new AtomicBoolean();
		pool.register("events", EventSource.of(this.queue), 1, (event) -> {
			ended.set(pool.deregister("events", Duration.ofSeconds(5)));
			this.handled.add(event);
		});
		fails.set(true);
		this.queue.add("event");
		awaitHandled("event");
		assertThat(fails).isFalse();
		assertThat(ended).isTrue();
		gate.countDown();
		assertThat(this.engine.log())
			.anyMatch((line) -> line.startsWith("ERROR Promoting a leader of event source 'events' failed"));
	}

	/** The other one of the two threads runs a handler until the gate opens. */
	private LeaderFollowersPool poolWithOneFreeThread(Clock clock, CountDownLatch gate) {
		LeaderFollowersPool pool = this.engine
			.pool(LeaderFollowersPool.builder().threads(2, 2).handleSets(1).eventSources("events").clock(clock));
		CountDownLatch blocks = new CountDownLatch(1);
		TcpServer server = this.engine.lines(pool, (connection, message) -> {
			blocks.countDown();
			Engine.pass(gate);
		});
		this.engine.connect(server).send("block\n");
		Engine.pass(blocks);
		return pool;
	}

	/** Fails once when a source is put to rest. */
	private static Clock withoutMemoryForRest(AtomicBoolean fails) {
		return new Clock() {

			@Override
			public long nanoTime() {
				if (fails.get() && isCalledBy("SourcePlaces") && isCalledBy("Vacancies")) {
					fails.set(false);
					throw new OutOfMemoryError("made for the test");
				}
				return super.nanoTime();
			}

		};
	}

	private static boolean isCalledBy(String type) {
		return StackWalker.getInstance()
			.walk((frames) -> frames.anyMatch((frame) -> frame.getClassName().endsWith("." + type)));
	}

	@ParameterizedTest
	@ValueSource(booleans = { false, true })
	void aSourceWhoseWakeupFailsCanEnd(boolean withError) {
		LeaderFollowersPool pool = pool(2, 4);
		EventSource<String> inner = EventSource.of(this.queue);
		AtomicBoolean waitsForLong = new AtomicBoolean();
		pool.register("events", new EventSource<String>() {

			@Override
			public @Nullable String await(Duration timeout) throws Exception {
				waitsForLong.set(timeout.toSeconds() > 1);
				return inner.await(timeout);
			}

			@Override
			public void wakeup() {
				inner.wakeup();
				if (withError) {
					throw new StackOverflowError("made for the test");
				}
				throw new IllegalStateException("made for the test");
			}

		}, this.handled::add);
		Engine.awaitIdle(pool);
		// Only a leader that waits is woken.
		Engine.eventually().until(waitsForLong::get);
		assertThat(pool.deregister("events", Engine.DEADLINE)).isTrue();
		assertThat(this.engine.log())
			.anyMatch((line) -> line.startsWith("ERROR Waking the leader of event source 'events' failed"));
	}

	// Other threads

	/** A pool of three threads, of which one waits at a gate. */
	private LeaderFollowersPool poolWithBlockedThread(CountDownLatch gate) {
		return poolWithBlockedThread(gate, Clock.SYSTEM);
	}

	private LeaderFollowersPool poolWithBlockedThread(CountDownLatch gate, Clock clock) {
		LeaderFollowersPool pool = this.engine
			.pool(LeaderFollowersPool.builder().threads(3, 3).handleSets(1).eventSources("events").clock(clock));
		CountDownLatch blocks = new CountDownLatch(1);
		TcpServer server = this.engine.lines(pool, (connection, message) -> {
			blocks.countDown();
			Engine.pass(gate);
		});
		this.engine.connect(server).send("block\n");
		Engine.pass(blocks);
		return pool;
	}

	/**
	 * Joins a pool whose other two threads lead, so the joined one follows. Then it leads
	 * the source.
	 */
	private Thread joinToLead(LeaderFollowersPool pool, Duration time, CompletableFuture<Boolean> interrupted) {
		Engine.eventually()
			.until(() -> pool.snapshot()
				.threads()
				.stream()
				.filter((thread) -> thread.role() == ThreadRole.LEADER && thread.handle() == null)
				.count() == 2);
		Thread joined = new Thread(() -> {
			pool.join(time);
			interrupted.complete(Thread.currentThread().isInterrupted());
		}, "joined");
		joined.start();
		awaitJoined(pool, joined);
		this.queue.add("block");
		return joined;
	}

	/**
	 * Waits until a thread waits as a follower. If it is a follower, but does not wait
	 * yet, the leader of the handle set may take over the source instead.
	 */
	private static void awaitJoined(LeaderFollowersPool pool, Thread joined) {
		Engine.eventually()
			.until(() -> Stream.of(joined.getStackTrace())
				.anyMatch((frame) -> frame.getMethodName().equals("parkNanos"))
					&& pool.snapshot()
						.threads()
						.stream()
						.anyMatch((thread) -> thread.name().equals("joined") && thread.role() == ThreadRole.FOLLOWER));
	}

	@Test
	void aJoinedThreadThatLeadsASourceReturnsWhenItsTimeIsUp() throws Exception {
		CountDownLatch gate = this.engine.gate();
		TestClock clock = new TestClock();
		LeaderFollowersPool pool = poolWithBlockedThread(gate, clock);
		pool.register("events", awaiting((timeout) -> {
			waitShortly();
			return this.queue.poll();
		}), 2, (event) -> Engine.pass(gate));
		CompletableFuture<Boolean> interrupted = new CompletableFuture<>();
		Thread joined = joinToLead(pool, Duration.ofSeconds(1), interrupted);
		Engine.eventually().until(() -> joined.getName().equals(source(pool).leader()));
		clock.advance(Duration.ofSeconds(1));
		assertThat(interrupted.get(Engine.DEADLINE.toSeconds(), TimeUnit.SECONDS)).isFalse();
		gate.countDown();
	}

	@ParameterizedTest
	@ValueSource(booleans = { true, false })
	void anInterruptOfTheApplicationIsRestoredButNotThatOfAWakeUp(boolean ofApplication) throws Exception {
		CountDownLatch gate = this.engine.gate();
		LeaderFollowersPool pool = poolWithBlockedThread(gate);
		pool.register("events", EventSource.of(this.queue), 2, (event) -> Engine.pass(gate));
		CompletableFuture<Boolean> interrupted = new CompletableFuture<>();
		Thread joined = joinToLead(pool, Engine.DEADLINE.multipliedBy(2), interrupted);
		Engine.eventually()
			.until(() -> joined.getName().equals(source(pool).leader())
					&& joined.getState() == Thread.State.TIMED_WAITING);
		if (ofApplication) {
			joined.interrupt();
			Engine.eventually().until(() -> !joined.isInterrupted());
		}
		gate.countDown();
		assertThat(pool.close(Engine.DEADLINE)).isTrue();
		assertThat(interrupted.get(Engine.DEADLINE.toSeconds(), TimeUnit.SECONDS)).isEqualTo(ofApplication);
	}

	@Test
	void aSourceWaitsForTenSecondsAtMostAndNotLongerThanItsLeader() throws Exception {
		CountDownLatch gate = this.engine.gate();
		LeaderFollowersPool pool = poolWithBlockedThread(gate);
		List<Duration> ofPool = new CopyOnWriteArrayList<>();
		List<Duration> ofJoined = new CopyOnWriteArrayList<>();
		EventSource<String> inner = EventSource.of(this.queue);
		pool.register("events", new EventSource<String>() {

			@Override
			public @Nullable String await(Duration timeout) throws Exception {
				(Thread.currentThread().getName().equals("joined") ? ofJoined : ofPool).add(timeout);
				return inner.await(timeout);
			}

			@Override
			public void wakeup() {
				inner.wakeup();
			}

		}, 2, (event) -> Engine.pass(gate));
		CompletableFuture<Boolean> interrupted = new CompletableFuture<>();
		joinToLead(pool, Duration.ofSeconds(9), interrupted);
		Engine.eventually().until(() -> !ofJoined.isEmpty() || interrupted.isDone());
		gate.countDown();
		assertThat(pool.close(Engine.DEADLINE)).isTrue();
		assertThat(ofPool).allSatisfy((time) -> assertThat(time).isBetween(Duration.ZERO, Duration.ofSeconds(10)));
		assertThat(ofJoined).allSatisfy((time) -> assertThat(time).isBetween(Duration.ZERO, Duration.ofSeconds(9)));
	}

	@Test
	void threadsThatWaitForMessagesDoNotLeadASource() {
		LeaderFollowersPool pool = pool(3, 3);
		CountDownLatch gate = this.engine.gate();
		TcpServer server = this.engine.lines(pool,
				(connection, message) -> connection.send(connection.receive(Duration.ofHours(1))));
		pool.register("events", EventSource.of(this.queue), (event) -> Engine.pass(gate));
		List<Peer> peers = List.of(this.engine.connect(server).send("wait\n"),
				this.engine.connect(server).send("wait\n"));
		Engine.eventually()
			.until(() -> pool.snapshot().threads().stream().filter((thread) -> thread.waitsFor() != null).count() == 2);
		this.queue.add("block");
		Engine.eventually().until(() -> source(pool).handling() == 1);
		assertThat(peers.get(0).send("first\n").readLine()).isEqualTo("first");
		assertThat(peers.get(1).send("second\n").readLine()).isEqualTo("second");
		gate.countDown();
	}

	@Test
	void aHandlerThatEndsAnotherSourceWaitsForItsHandlers() {
		LeaderFollowersPool pool = this.engine
			.pool(LeaderFollowersPool.builder().threads(4, 4).handleSets(1).eventSources("events", "others"));
		CountDownLatch gate = this.engine.gate();
		pool.register("others", EventSource.of(this.queue), (event) -> Engine.pass(gate));
		this.queue.add("block");
		Engine.eventually().until(() -> pool.snapshot().eventSources().get(1).handling() == 1);
		AtomicReference<@Nullable Boolean> ended = new AtomicReference<>();
		pool.register("events", EventSource.of(new LinkedBlockingQueue<>(List.of("end"))),
				(event) -> ended.set(pool.deregister("others", Duration.ofMillis(20))));
		Engine.eventually().untilAsserted(() -> assertThat(ended.get()).isFalse());
	}

	// Mistakes

	@Test
	void aPoolKnowsTheNamesOfItsSources() {
		LeaderFollowersPool pool = pool(2, 4);
		EventSource<String> source = EventSource.of(this.queue);
		assertThatIllegalArgumentException().isThrownBy(() -> pool.register("others", source, this.handled::add))
			.withMessage(
					"Pool '%s' was not built for an event source named 'others'. Name it with 'eventSources' of the builder"
						.formatted(pool.name()));
		assertThatIllegalArgumentException().isThrownBy(() -> pool.deregister("others", Duration.ZERO));
		assertThatIllegalArgumentException().isThrownBy(() -> pool.register("events", source, 0, this.handled::add))
			.withMessage("'concurrency' must be at least 1, but is 0");
		pool.register("events", source, this.handled::add);
		assertThatIllegalStateException().isThrownBy(() -> pool.register("events", source, this.handled::add));
	}

	@Test
	void eachSourceTakesAThreadBesideTheHandleSets() {
		LeaderFollowersPool.Builder builder = LeaderFollowersPool.builder()
			.name("few")
			.threads(3, 8)
			.handleSets(2)
			.eventSources("a", "b");
		assertThatIllegalArgumentException().isThrownBy(builder::build)
			.withMessage(
					"'min' must be at least the number of handle sets (2) and event sources (2) together, but is 3: each needs a thread to lead it");
		assertThatIllegalArgumentException()
			.isThrownBy(() -> LeaderFollowersPool.builder().threads(2, 8).eventSources("a", "b").build())
			.withMessageContaining("handle sets (1) and event sources (2)");
		LeaderFollowersPool pool = this.engine.pool(builder.threads(4, 8));
		assertThatIllegalArgumentException().isThrownBy(() -> pool.resize(3, 8))
			.withMessageContaining("'minThreads' must be at least the number of handle sets (2) and event sources (2)");
		LeaderFollowersPool unfolding = this.engine
			.pool(LeaderFollowersPool.builder().threads(4, 8).parallelism(8).eventSources("a", "b"));
		assertThat(unfolding.snapshot().unfolding().most()).isEqualTo(2);
	}

	@Test
	void namesAreUnlikeEachOtherAndThoseOfHandleSets() {
		assertThatIllegalArgumentException().isThrownBy(() -> LeaderFollowersPool.builder().eventSources("a", "a"))
			.withMessage("'names' must be different from each other, but contains 'a' twice");
		assertThatIllegalArgumentException().isThrownBy(() -> LeaderFollowersPool.builder().eventSources(" "));
		assertThatIllegalArgumentException()
			.isThrownBy(() -> LeaderFollowersPool.builder().name("x").eventSources("x-0").build())
			.withMessage("'x-0' is the name of a handle set: give the event source another one");
	}

}
