package org.leaderfollowers;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.Pipe;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.spi.AbstractSelectableChannel;
import java.nio.channels.spi.AbstractSelector;
import java.nio.channels.spi.SelectorProvider;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.ConcurrentLinkedDeque;
import java.util.concurrent.atomic.AtomicInteger;

import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.leaderfollowers.internal.logging.EngineLog;
import org.leaderfollowers.internal.logging.FailureLog;
import org.leaderfollowers.internal.promotion.HandlerProfile;
import org.slf4j.LoggerFactory;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

/**
 * Tests how a leader repairs its selector, step by step: the test is the leader of a
 * handle set.
 */
class SelectorRepairTests {

	private static final Duration INTERVAL = Duration.ofSeconds(10);

	private final TestClock clock = new TestClock();

	private final Selectors selectors = new Selectors();

	private final HandleSets sets = new HandleSets("test", 1, 1, this.clock, this.selectors, new FailureLog());

	private final HandleSet set = this.sets.get(0);

	private final SelectorRepair repair = new SelectorRepair(this.set, this.selectors, this.clock.nanoTime());

	private Pipe pipe;

	private SelectableHandle handle;

	/** The system's selectors, unless they fail. */
	private static final class Selectors extends TestSelectors {

		private @Nullable IOException failure;

		private final Deque<AbstractSelector> opened = new ConcurrentLinkedDeque<>();

		@Override
		public AbstractSelector openSelector() throws IOException {
			if (this.failure != null) {
				throw this.failure;
			}
			this.opened.add(provider().openSelector());
			return this.opened.getLast();
		}

	}

	@BeforeEach
	void register() throws IOException {
		this.pipe = Pipe.open();
		this.pipe.source().configureBlocking(false);
		this.handle = this.sets.newHandle(this.pipe.source(), new HandleSetUpdateTests.TestHandler(),
				SelectionKey.OP_READ, new HandlerProfile());
		this.handle.release();
		this.handle.request(SelectableHandle.REGISTER | SelectableHandle.REARM);
		this.set.applyUpdates();
		assertThat(key().interestOps()).isEqualTo(SelectionKey.OP_READ);
	}

	@AfterEach
	void close() throws IOException {
		for (Selector each : this.selectors.opened) {
			each.close();
		}
		this.pipe.source().close();
		this.pipe.sink().close();
	}

	private SelectionKey key() {
		SelectionKey key = this.handle.key;
		assertThat(key).isNotNull();
		return key;
	}

	private Selector replace(Selector broken) {
		return this.repair.replace(broken, this.clock.nanoTime(), "made for the test", null);
	}

	@Test
	void handlesAreRegisteredWithTheReplacement() throws IOException {
		Selector broken = key().selector();
		Selector replacement = replace(broken);
		assertThat(broken.isOpen()).isFalse();
		assertThat(key().selector()).isSameAs(replacement);
		assertThat(key().attachment()).isSameAs(this.handle);
		assertThat(key().interestOps()).isEqualTo(SelectionKey.OP_READ);
		this.pipe.sink().write(ByteBuffer.wrap(new byte[1]));
		assertThat(replacement.select(Engine.DEADLINE.toMillis())).isOne();
	}

	/** Not what the handle would want now: what its leader has registered it for. */
	@Test
	void handlesAreRegisteredForWhatTheyWereRegisteredForBefore() {
		key().interestOps(0);
		this.handle.registeredOperations = 0;
		replace(key().selector());
		assertThat(key().interestOps()).isZero();
		this.set.applyInterest(this.handle);
		assertThat(key().interestOps()).isEqualTo(SelectionKey.OP_READ);
	}

	@Test
	void selectorIsReplacedAtMostOnceInTenSeconds() {
		assertThat(this.repair.isAllowed(this.clock.nanoTime())).isTrue();
		replace(key().selector());
		this.clock.advance(INTERVAL.minusNanos(1));
		assertThat(this.repair.isAllowed(this.clock.nanoTime())).isFalse();
		this.clock.advance(Duration.ofNanos(1));
		assertThat(this.repair.isAllowed(this.clock.nanoTime())).isTrue();
	}

	/** Each attempt logs a line. */
	@Test
	void selectorThatCannotBeReplacedIsKept() {
		Selector broken = key().selector();
		this.selectors.failure = new IOException("made for the test");
		assertThat(replace(broken)).isSameAs(broken);
		assertThat(broken.isOpen()).isTrue();
		assertThat(key().selector()).isSameAs(broken);
		assertThat(this.repair.isAllowed(this.clock.nanoTime())).isFalse();
	}

	@Test
	void replacementThatCannotTakeTheHandlesIsClosed() {
		Selector broken = key().selector();
		key().attach(new Object());
		assertThatExceptionOfType(ClassCastException.class).isThrownBy(() -> replace(broken));
		key().attach(this.handle);
		assertThat(broken.isOpen()).isTrue();
		assertThat(this.selectors.opened).hasSize(2);
		assertThat(this.selectors.opened.getLast().isOpen()).isFalse();
	}

	@Test
	void interestThatTheSelectorHasLostIsRepeated() {
		key().interestOps(0);
		this.repair.checkKeys(key().selector());
		assertThat(key().interestOps()).isZero();
		this.repair.doubtKeys();
		this.repair.checkKeys(key().selector());
		assertThat(key().interestOps()).isEqualTo(SelectionKey.OP_READ);
		assertThat(this.repair.hasLostKey()).isFalse();
		key().interestOps(0);
		this.repair.checkKeys(key().selector());
		assertThat(key().interestOps()).isZero();
	}

	/** A channel whose registration fails may leave a key behind. */
	@Test
	void keyThatBelongsToNoHandleIsRemoved() {
		SelectionKey former = key();
		this.handle.key = null;
		this.repair.doubtKeys();
		this.repair.checkKeys(former.selector());
		assertThat(former.isValid()).isFalse();
		assertThat(former.selector().keys()).isEmpty();
	}

	/** Its channel would keep its descriptor for ever. */
	@Test
	void cancelledKeyThatStaysIsLostUntilItsSelectorIsReplaced() throws IOException {
		// Nobody selects with it, so it does not notice the cancellation.
		Selector broken = this.selectors.openSelector();
		this.pipe.source().register(broken, SelectionKey.OP_READ, this.handle).cancel();
		this.repair.checkKeys(broken);
		assertThat(this.repair.hasLostKey()).as("nobody doubts the keys").isFalse();
		this.repair.doubtKeys();
		this.repair.checkKeys(broken);
		assertThat(this.repair.hasLostKey()).isTrue();
		this.repair.doubtKeys();
		this.repair.checkKeys(key().selector());
		assertThat(this.repair.hasLostKey()).as("not replaced yet").isTrue();
		assertThat(replace(broken).keys()).isEmpty();
		assertThat(this.repair.hasLostKey()).isFalse();
	}

	@Test
	void leaderReplacesASelectorThatHasLostAKeyOnce() throws IOException {
		LeaderFollowersPool pool = LeaderFollowersPool.builder()
			.threads(1, 1)
			.handleSets(1)
			.clock(this.clock)
			.selectorProvider(this.selectors)
			.build();
		try {
			HandleSet led = pool.handleSets().get(0);
			int opened = this.selectors.opened.size();
			Selector broken = this.selectors.openSelector();
			this.pipe.source().register(broken, SelectionKey.OP_READ).cancel();
			led.repair.doubtKeys();
			led.repair.checkKeys(broken);
			pool.start();
			Engine.eventually().untilAsserted(() -> assertThat(this.selectors.opened).hasSize(opened + 2));
			Engine.awaitSelecting(pool.living().get(0).thread());
			this.clock.advance(INTERVAL);
			long returned = led.nowNanos();
			led.doubtKeys();
			Engine.eventually().until(() -> led.nowNanos() != returned);
			Engine.awaitSelecting(pool.living().get(0).thread());
			assertThat(this.selectors.opened).hasSize(opened + 2);
		}
		finally {
			pool.close();
		}
	}

	/**
	 * Creates a pool with one handle set.
	 * @param whenOpened called before a selector is opened
	 */
	private LeaderFollowersPool pool(FaultySelectors faulty, Runnable whenOpened) {
		return LeaderFollowersPool.builder()
			.threads(1, 1)
			.handleSets(1)
			.clock(this.clock)
			.selectorProvider(new TestSelectors() {

				@Override
				public AbstractSelector openSelector() throws IOException {
					whenOpened.run();
					return faulty.openSelector();
				}

			})
			.build();
	}

	/** The leader pauses until it may replace the selector again. */
	@Test
	void leaderReplacesASelectorThatFails() {
		AtomicInteger failures = new AtomicInteger();
		FaultySelectors faulty = new FaultySelectors(() -> {
			if (failures.getAndUpdate((left) -> Math.max(0, left - 1)) > 0) {
				throw new IllegalStateException("made for the test");
			}
		}, () -> {
		});
		AtomicInteger opened = new AtomicInteger();
		LeaderFollowersPool pool = pool(faulty, () -> opened.incrementAndGet());
		try {
			HandleSet led = pool.handleSets().get(0);
			pool.start();
			Engine.eventually().until(() -> pool.living().size() == 1);
			Thread leader = pool.living().get(0).thread();
			Engine.awaitSelecting(leader);
			assertThat(opened).hasValue(1);
			failures.set(1);
			led.wakeSelector();
			Engine.eventually().until(() -> opened.get() == 2);
			Engine.awaitSelecting(leader);
			failures.set(2);
			led.wakeSelector();
			Engine.eventually().until(() -> this.clock.waits(leader) > 0);
			assertThat(opened).hasValue(2);
			this.clock.advance(INTERVAL);
			Engine.eventually().until(() -> opened.get() == 3);
			Engine.awaitSelecting(leader);
		}
		finally {
			failures.set(0);
			pool.close();
		}
	}

	/** The handles belong to the replacement by then. */
	@Test
	void leaderUsesTheReplacementOfASelectorThatCannotBeClosed() throws Exception {
		AtomicInteger failures = new AtomicInteger();
		AtomicInteger closeFailures = new AtomicInteger(1);
		FaultySelectors faulty = new FaultySelectors(() -> {
			if (failures.getAndSet(0) > 0) {
				throw new IllegalStateException("made for the test");
			}
		}, () -> {
		}).whenClosed(() -> {
			if (closeFailures.getAndSet(0) > 0) {
				throw new LinkageError("made for the test");
			}
		});
		LeaderFollowersPool pool = pool(faulty, () -> {
		});
		try (TcpServer server = TcpServer.builder(pool)
			.address(InetAddress.getLoopbackAddress())
			.port(0)
			.framing(Framing.line())
			.handler(Connection::send)
			.build()) {
			server.start();
			Peer peer = new Peer(new InetSocketAddress(InetAddress.getLoopbackAddress(), server.port()), 0);
			assertThat(peer.send("before\n").readLine()).isEqualTo("before");
			failures.set(1);
			pool.handleSets().get(0).wakeSelector();
			Engine.eventually().until(() -> closeFailures.get() == 0);
			assertThat(peer.send("after\n").readLine()).isEqualTo("after");
			peer.close();
		}
		finally {
			pool.close();
		}
	}

	/** Otherwise it would occupy a processor as long as memory is short. */
	@Test
	void leaderPausesAfterAnErrorAndSaysSo() {
		AtomicInteger failures = new AtomicInteger();
		FaultySelectors faulty = new FaultySelectors(() -> {
			if (failures.getAndSet(0) > 0) {
				// An OutOfMemoryError would end the run of all tests.
				throw new LinkageError("made for the test");
			}
		}, () -> {
		});
		ListAppender<ILoggingEvent> log = new ListAppender<>();
		Logger logger = (Logger) LoggerFactory.getLogger("org.leaderfollowers.engine");
		log.start();
		logger.addAppender(log);
		LeaderFollowersPool pool = pool(faulty, () -> {
		});
		try {
			pool.start();
			Engine.eventually().until(() -> pool.living().size() == 1);
			Thread leader = pool.living().get(0).thread();
			Engine.awaitSelecting(leader);
			failures.set(1);
			pool.handleSets().get(0).wakeSelector();
			Engine.eventually().until(() -> this.clock.waits(leader) > 0);
			this.clock.advance(Duration.ofMillis(10));
			Engine.awaitSelecting(leader);
			EngineLog.INSTANCE.flush(Engine.DEADLINE.toMillis());
			assertThat(log.list).extracting(ILoggingEvent::getFormattedMessage)
				.anyMatch((line) -> line.startsWith("Leading handle set") && line.contains("failed"));
		}
		finally {
			logger.detachAppender(log);
			pool.close();
		}
	}

	/** Nobody ends its waits, so it would occupy a processor. */
	@Test
	void leaderReplacesASelectorThatDoesNotWait() {
		// The selector asks twice for each wait.
		int most = 2 * 513;
		AtomicInteger asked = new AtomicInteger();
		AtomicInteger askedBefore = new AtomicInteger();
		List<HandleSet> led = new ArrayList<>();
		FaultySelectors faulty = new FaultySelectors(() -> {
			if (asked.getAndIncrement() < 2 * most) {
				this.clock.advance(Duration.ofMillis(1));
				led.get(0).wakeSelector();
			}
		}, () -> {
		});
		LeaderFollowersPool pool = pool(faulty, () -> askedBefore.set(asked.get()));
		try {
			pool.handleSets().forEach(led::add);
			pool.start();
			Engine.eventually().until(() -> askedBefore.get() != 0);
			assertThat(askedBefore.get()).isBetween(most, most + 10);
			Thread leader = pool.living().get(0).thread();
			// The leader may pause once more, for the time that it has read before.
			Engine.eventually().untilAsserted(() -> {
				this.clock.advance(INTERVAL);
				Engine.assertSelecting(leader);
			});
		}
		finally {
			pool.close();
		}
	}

	@Test
	void leaderChecksTheKeysWhenAnotherThreadDoubtsThem() {
		key().interestOps(0);
		this.set.doubtKeys();
		this.set.await(this.clock.nanoTime(), null, null);
		assertThat(key().interestOps()).isEqualTo(SelectionKey.OP_READ);
	}

	/** The channel counts as closed then, but its key may not be cancelled. */
	@Test
	void leaderChecksTheKeysWhenAChannelCouldNotBeClosed() throws IOException {
		LinkageError failure = new LinkageError("made for the test");
		SelectableHandle failing = this.sets.newHandle(new UnclosableChannel(failure),
				new HandleSetUpdateTests.TestHandler(), SelectionKey.OP_READ, new HandlerProfile());
		key().interestOps(0);
		assertThatExceptionOfType(LinkageError.class).isThrownBy(failing::closeChannel).isSameAs(failure);
		this.set.await(this.clock.nanoTime(), null, null);
		assertThat(key().interestOps()).isEqualTo(SelectionKey.OP_READ);
	}

	private static final class UnclosableChannel extends AbstractSelectableChannel {

		private final LinkageError failure;

		UnclosableChannel(LinkageError failure) {
			super(SelectorProvider.provider());
			this.failure = failure;
		}

		@Override
		public int validOps() {
			return SelectionKey.OP_READ;
		}

		@Override
		protected void implCloseSelectableChannel() {
			throw this.failure;
		}

		@Override
		protected void implConfigureBlocking(boolean block) {
			// It never blocks.
		}

	}

}
