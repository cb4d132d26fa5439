package org.leaderfollowers.spring.session;

import java.nio.ByteBuffer;
import java.nio.charset.Charset;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;
import java.util.function.Function;

import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.AppenderBase;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.leaderfollowers.CloseReason;
import org.leaderfollowers.Connection;
import org.leaderfollowers.spring.event.SessionClosedEvent;
import org.leaderfollowers.spring.event.SessionOpenedEvent;
import org.slf4j.LoggerFactory;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.assertThatNoException;
import static org.awaitility.Awaitility.await;
import static org.hamcrest.Matchers.equalTo;
import static org.mockito.ArgumentMatchers.any;
import static org.mockito.BDDMockito.given;
import static org.mockito.BDDMockito.then;
import static org.mockito.BDDMockito.willAnswer;
import static org.mockito.BDDMockito.willThrow;
import static org.mockito.Mockito.mock;
import static org.mockito.Mockito.never;
import static org.mockito.Mockito.times;
import static org.mockito.Mockito.withSettings;

/**
 * Tests for {@link SessionBindings} with events that come in the middle of a login.
 */
class SessionBindingsTests {

	private final SessionDirectory directory = mock();

	private final Connection connection = mock();

	private final CompletableFuture<CloseReason> closed = new CompletableFuture<>();

	private final SessionCounters counters = new SessionCounters();

	private final List<Object> events = new ArrayList<>();

	private Function<SessionClaim, CompletableFuture<SessionEntry>> claims = (claim) -> CompletableFuture
		.completedFuture(entry(claim.name(), 5));

	private final SessionBindings bindings = new SessionBindings(this.directory,
			new SessionOptions(5, 10, Duration.ofMinutes(1), Duration.ofSeconds(1)), this.events::add, this.counters,
			(server) -> StandardCharsets.UTF_8);

	@BeforeEach
	void prepare() {
		given(this.directory.node()).willReturn("here");
		given(this.directory.claim(any())).will((call) -> this.claims.apply(call.getArgument(0)));
		given(this.connection.isOpen()).willReturn(true);
		given(this.connection.server()).willReturn("default");
		given(this.connection.attributes()).willReturn(new ConcurrentHashMap<>());
		given(this.connection.whenClosed()).willReturn(this.closed);
	}

	private static SessionEntry entry(String name, long epoch) {
		return new SessionEntry(name, "here", "default", epoch, Instant.EPOCH, 0, Instant.EPOCH);
	}

	@Test
	void aNameMayHaveTheGreatestLength() {
		assertThat(this.bindings.bind(this.connection, "12345").name()).isEqualTo("12345");
		assertThatIllegalArgumentException().isThrownBy(() -> this.bindings.bind(this.connection, "123456"))
			.withMessageContaining("6 characters, but at most 5");
	}

	@Test
	void aLaterLoginElsewhereThatWasFasterEndsThisOne() {
		this.claims = (claim) -> {
			this.bindings.takenOver(entry("a", 6));
			return CompletableFuture.completedFuture(entry("a", 5));
		};
		this.bindings.bind(this.connection, "a");
		then(this.connection).should().close(CloseReason.TAKEN_OVER);
		then(this.connection).should(never()).loggedIn();
		assertThat(this.counters.takenOverSessions()).isEqualTo(1);
		assertThat(this.counters.openedSessions()).isZero();
		assertThat(this.bindings.held()).isEmpty();
		assertThat(this.events).isEmpty();
	}

	@Test
	void aConnectionThatIsClosedMeanwhileHoldsNoSession() {
		SessionEntry entry = entry("a", 5);
		this.claims = (claim) -> {
			this.closed.complete(CloseReason.PEER);
			return CompletableFuture.completedFuture(entry);
		};
		this.bindings.bind(this.connection, "a");
		assertThat(this.bindings.held()).isEmpty();
		assertThat(this.counters.open()).isZero();
		then(this.directory).should().release(entry);
		assertThat(this.events).hasExactlyElementsOfTypes(SessionOpenedEvent.class, SessionClosedEvent.class);
	}

	@Test
	void theEndOfASessionIsPublishedAfterItsBeginning() {
		AtomicReference<SessionBindings> bindings = new AtomicReference<>();
		bindings.set(new SessionBindings(this.directory,
				new SessionOptions(5, 10, Duration.ofMinutes(1), Duration.ofSeconds(1)), (event) -> {
					if (event instanceof SessionOpenedEvent) {
						bindings.get().unbind(this.connection);
					}
					this.events.add(event);
				}, this.counters, (server) -> StandardCharsets.UTF_8));
		bindings.get().bind(this.connection, "a");
		assertThat(this.events).hasExactlyElementsOfTypes(SessionOpenedEvent.class, SessionClosedEvent.class);
	}

	/** Each line has a stack trace: a client that logs in and out would fill the disk. */
	@Test
	void failuresOfAListenerAreNotLoggedForEachSession() {
		FailureLines lines = new FailureLines(new CountDownLatch(0));
		SessionBindings failing = withListenerThatFails();
		long start = System.nanoTime();
		int sessions = 50;
		lines.during(() -> {
			for (int i = 0; i < sessions; i++) {
				failing.bind(this.connection, "a");
				failing.unbind(this.connection);
			}
		});
		assertThat(this.events).hasSize(sessions);
		long periods = Duration.ofNanos(System.nanoTime() - start).dividedBy(Duration.ofSeconds(10));
		assertThat(lines.begun.get()).isBetween(1, (int) (1 + periods));
		assertThat(this.counters.open()).isZero();
	}

	@Test
	void nobodyWaitsForTheLogBehindTheFirstFailureOfAListener() {
		CountDownLatch read = new CountDownLatch(1);
		FailureLines lines = new FailureLines(read);
		SessionBindings failing = withListenerThatFails();
		lines.during(() -> {
			Thread first = new Thread(() -> {
				failing.bind(this.connection, "a");
				failing.unbind(this.connection);
			});
			first.start();
			await().atMost(Duration.ofMinutes(1)).untilAtomic(lines.begun, equalTo(1));
			failing.bind(this.connection, "b");
			failing.unbind(this.connection);
			assertThat(this.events).hasSize(2);
			assertThat(first.isAlive()).isTrue();
			read.countDown();
			first.join();
		});
		assertThat(lines.begun).hasValue(1);
	}

	/** An error too must not go by unnoticed. */
	private SessionBindings withListenerThatFails() {
		return new SessionBindings(this.directory,
				new SessionOptions(5, 10, Duration.ofMinutes(1), Duration.ofSeconds(1)), (event) -> {
					if (event instanceof SessionClosedEvent) {
						this.events.add(event);
						throw new AssertionError("made for the test");
					}
				}, this.counters, (server) -> StandardCharsets.UTF_8);
	}

	@Test
	void aSessionThatIsGivenUpMeanwhileLeavesNoName() {
		given(this.connection.name("a")).will((call) -> {
			this.bindings.unbind(this.connection);
			return null;
		});
		this.bindings.bind(this.connection, "a");
		// By the thread that gave up the session, and by this one.
		then(this.connection).should(times(2)).unname("a");
		assertThat(this.bindings.held()).isEmpty();
	}

	@Test
	void aNameThatWasLostIsClaimedAgain() {
		this.bindings.bind(this.connection, "a");
		this.bindings.takenOver(entry("a", 6));
		then(this.connection).should().close(CloseReason.TAKEN_OVER);
		this.claims = (claim) -> CompletableFuture.completedFuture(entry("a", 7));
		assertThat(this.bindings.bind(this.connection, "a").epoch()).isEqualTo(7);
		assertThat(this.bindings.held()).containsExactly(entry("a", 7));
		assertThat(this.bindings.connection("a", 5)).as("of the earlier session").isNull();
		assertThat(this.bindings.connection("a", 7)).isSameAs(this.connection);
	}

	@Test
	void twoLoginsOfOneConnectionThatMeetDoNotCloseIt() {
		bindMeanwhile(5, 6);
		bindMeanwhile(9, 8);
		then(this.connection).should(never()).close(CloseReason.TAKEN_OVER);
		assertThat(this.counters.takenOverSessions()).isZero();
		assertThat(this.counters.open()).isEqualTo(1);
	}

	/** The seat must not be for the login that has lost the name. */
	@Test
	void oneOfTwoLoginsOfOneConnectionAtTheSameTimeHoldsTheName() throws Exception {
		SessionDirectory quick = mock(SessionDirectory.class, withSettings().stubOnly());
		Connection shared = mock(Connection.class, withSettings().stubOnly());
		AtomicLong epochs = new AtomicLong();
		given(quick.node()).willReturn("here");
		given(quick.claim(any())).will((call) -> CompletableFuture
			.completedFuture(entry(call.<SessionClaim>getArgument(0).name(), epochs.incrementAndGet())));
		given(shared.isOpen()).willReturn(true);
		given(shared.server()).willReturn("default");
		given(shared.attributes()).willReturn(new ConcurrentHashMap<>());
		given(shared.whenClosed()).willReturn(this.closed);
		SessionBindings racing = new SessionBindings(quick,
				new SessionOptions(5, 10, Duration.ofMinutes(1), Duration.ofSeconds(1)), (event) -> {
				}, this.counters, (server) -> StandardCharsets.UTF_8);
		int rounds = 20_000;
		CyclicBarrier start = new CyclicBarrier(2);
		CyclicBarrier end = new CyclicBarrier(2);
		FutureTask<Void> other = new FutureTask<>(() -> {
			for (int i = 0; i < rounds; i++) {
				start.await(1, TimeUnit.MINUTES);
				racing.bind(shared, "a");
				end.await(1, TimeUnit.MINUTES);
			}
			return null;
		});
		new Thread(other).start();
		for (int i = 0; i < rounds; i++) {
			start.await(1, TimeUnit.MINUTES);
			racing.bind(shared, "a");
			end.await(1, TimeUnit.MINUTES);
			assertThat(racing.held()).as("round %d", i).hasSize(1);
			racing.unbind(shared);
			assertThat(racing.held()).as("after round %d", i).isEmpty();
		}
		other.get(1, TimeUnit.MINUTES);
		assertThat(this.counters.open()).isZero();
	}

	@Test
	void twoFirstLoginsOfOneConnectionShareItsSeat() {
		AtomicBoolean first = new AtomicBoolean(true);
		willAnswer((call) -> {
			if (first.getAndSet(false)) {
				this.bindings.bind(this.connection, "a");
			}
			return this.closed;
		}).given(this.connection).whenClosed();
		this.bindings.bind(this.connection, "b");
		assertThat(this.bindings.held()).containsExactly(entry("b", 5));
		this.closed.complete(CloseReason.PEER);
		assertThat(this.bindings.held()).isEmpty();
		assertThat(this.counters.open()).isZero();
	}

	/** For example because memory was short. */
	@Test
	void aSessionEndsAlthoughAnEarlierLoginCouldNotWaitForTheEnd() {
		given(this.connection.whenClosed()).willReturn(new CompletableFuture<>() {

			@Override
			public CompletableFuture<Void> thenAccept(Consumer<? super CloseReason> action) {
				throw new LinkageError("made for the test");
			}

		});
		assertThatExceptionOfType(LinkageError.class).isThrownBy(() -> this.bindings.bind(this.connection, "a"));
		given(this.connection.whenClosed()).willReturn(this.closed);
		this.bindings.bind(this.connection, "a");
		this.closed.complete(CloseReason.PEER);
		assertThat(this.bindings.held()).isEmpty();
	}

	/** A second login comes while the first one waits for the directory. */
	private void bindMeanwhile(long second, long first) {
		String name = "a" + first;
		this.claims = (claim) -> {
			this.claims = (meanwhile) -> CompletableFuture.completedFuture(entry(name, second));
			this.bindings.bind(this.connection, name);
			return CompletableFuture.completedFuture(entry(name, first));
		};
		SessionEntry latest = entry(name, Math.max(first, second));
		assertThat(this.bindings.bind(this.connection, name)).isEqualTo(latest);
		assertThat(this.bindings.held()).containsExactly(latest);
	}

	@Test
	void aBroadcastIsInTheCharsetOfTheServerAndMayNotFitItsFraming() {
		this.bindings.bind(this.connection, "a");
		given(this.connection.isWritable()).willReturn(true);
		Map<Charset, ByteBuffer> messages = new LinkedHashMap<>();
		messages.put(StandardCharsets.UTF_16, ByteBuffer.wrap(new byte[] { 16 }));
		messages.put(StandardCharsets.UTF_8, ByteBuffer.wrap(new byte[] { 8 }));
		willAnswer((send) -> {
			assertThat(send.<ByteBuffer>getArgument(0).get()).isEqualTo((byte) 8);
			return null;
		}).given(this.connection).send(any());
		for (int i = 0; i < 2; i++) {
			assertThat(this.bindings.broadcast(null, messages)).isEqualTo(new SessionBroadcast(1, 0, 0, 0));
		}
		willThrow(new IllegalArgumentException("two lines")).given(this.connection).send(any());
		assertThat(this.bindings.broadcast(null, messages)).isEqualTo(new SessionBroadcast(0, 0, 1, 0));
	}

	@Test
	void aMessageFindsASessionThatIsBoundMeanwhileAndNeverLeavesForThisNode() {
		SessionRouter router = new SessionRouter(this.bindings, this.directory, this.counters);
		given(this.directory.locate("a")).willReturn(CompletableFuture.completedFuture(entry("a", 5)));
		assertThat(route(router)).failsWithin(Duration.ZERO)
			.withThrowableThat()
			.withCauseInstanceOf(SessionRouter.AbsentException.class);
		given(this.directory.locate("a")).will((call) -> {
			this.bindings.bind(this.connection, "a");
			return CompletableFuture.completedFuture(entry("a", 5));
		});
		assertThat(route(router)).isCompletedWithValue(this.connection);
	}

	private static CompletableFuture<Connection> route(SessionRouter router) {
		return router.route("a", CompletableFuture::completedFuture,
				(entry) -> CompletableFuture.failedFuture(new AssertionError("sent to " + entry)));
	}

	@Test
	void aClaimThatFailsLeavesNothing() {
		Function<SessionClaim, CompletableFuture<SessionEntry>> later = this.claims;
		this.claims = (claim) -> {
			throw new IllegalStateException("away");
		};
		assertThatIllegalStateException().isThrownBy(() -> this.bindings.bind(this.connection, "a"));
		this.claims = later;
		// Nobody logs in here, so this login elsewhere is not remembered.
		this.bindings.takenOver(entry("a", 6));
		this.bindings.bind(this.connection, "a");
		assertThat(this.bindings.held()).containsExactly(entry("a", 5));
	}

	/** A log that blocks until somebody reads it. */
	private static final class FailureLines extends AppenderBase<ILoggingEvent> {

		final AtomicInteger begun = new AtomicInteger();

		private final CountDownLatch read;

		FailureLines(CountDownLatch read) {
			this.read = read;
		}

		void during(ThrowingCallable action) {
			Logger logger = (Logger) LoggerFactory.getLogger(LfSessions.class);
			start();
			logger.addAppender(this);
			try {
				assertThatNoException().isThrownBy(action);
			}
			finally {
				this.read.countDown();
				logger.detachAppender(this);
			}
		}

		@Override
		protected void append(ILoggingEvent line) {
			this.begun.incrementAndGet();
			assertThatNoException().isThrownBy(() -> this.read.await(1, TimeUnit.MINUTES));
		}

	}

}
