package org.leaderfollowers;

import java.io.IOException;
import java.lang.ref.WeakReference;
import java.nio.ByteBuffer;
import java.nio.channels.Pipe;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.spi.SelectorProvider;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;

import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.leaderfollowers.internal.demultiplexing.HandleState.Claim;
import org.leaderfollowers.internal.demultiplexing.HandleState.Release;
import org.leaderfollowers.internal.logging.FailureLog;
import org.leaderfollowers.internal.promotion.HandledWork;
import org.leaderfollowers.internal.promotion.HandlerProfile;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatException;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatNoException;

/**
 * Tests what a leader does for its handles, step by step: the test is the leader of two
 * handle sets and the owner of their handles.
 */
class HandleSetUpdateTests {

	private final ScarceClock clock = new ScarceClock();

	private final HandleSets sets = new HandleSets("test", 2, 2, this.clock, SelectorProvider.provider(),
			new FailureLog());

	private final TestHandler handler = new TestHandler();

	private Pipe pipe;

	private SelectableHandle handle;

	private HandleSet set;

	private HandleSet other;

	@BeforeEach
	void register() throws IOException {
		this.pipe = Pipe.open();
		this.pipe.source().configureBlocking(false);
		this.handle = this.sets.newHandle(this.pipe.source(), this.handler, SelectionKey.OP_READ, new HandlerProfile());
		this.set = this.handle.handleSet();
		this.other = this.sets.get(1 - this.set.leadership.index());
		this.handle.release();
		request(SelectableHandle.REGISTER | SelectableHandle.REARM);
		assertThat(this.handle.isArmed()).isTrue();
		assertThat(interest()).isEqualTo(SelectionKey.OP_READ);
	}

	@AfterEach
	void close() throws IOException {
		for (HandleSet each : this.sets) {
			if (!each.closed) {
				each.close();
			}
		}
		this.pipe.source().close();
		this.pipe.sink().close();
	}

	private void request(int requests) {
		this.handle.request(requests);
		this.set.applyUpdates();
	}

	private int interest() {
		SelectionKey key = this.handle.key;
		return (key != null) ? key.interestOps() : -1;
	}

	/** Lets deadlines expire, without waiting for events. */
	private void advance(Duration duration) {
		this.clock.advance(duration);
		this.set.await(this.clock.nanoTime(), null, null);
	}

	private long in(Duration duration) {
		return this.clock.nanoTime() + duration.toNanos();
	}

	@Test
	void handleThatFiresWhileItIsOwnedIsDeactivatedUntilItsOwnerWaitsForAnEvent() {
		assertThat(this.handle.claimFired()).isEqualTo(Claim.CLAIMED);
		this.set.demultiplex(this.handle, SelectionKey.OP_READ);
		assertThat(this.handler.looks).isOne();
		assertThat(interest()).isZero();
		assertThat(this.set.ready.isEmpty()).isTrue();
		assertThat(this.handle.takeLook()).isTrue();
		request(SelectableHandle.ARM_OWNED);
		assertThat(interest()).isEqualTo(SelectionKey.OP_READ);
	}

	/** The owner may be the leader, which waits for a reply in its handler. */
	@Test
	void leaderDoesNotWaitAfterItHasAskedAnOwnerToLook() {
		assertThat(this.handle.claimFired()).isEqualTo(Claim.CLAIMED);
		this.handle.request(SelectableHandle.LOOK);
		// There is no protocol that would say how long to wait.
		this.set.await(in(Duration.ofHours(1)), null, null);
		assertThat(this.handler.looks).isOne();
	}

	@Test
	void handleWhoseConnectionIsMadeIsDeactivated() {
		this.set.demultiplex(this.handle, SelectionKey.OP_CONNECT);
		assertThat(interest()).isZero();
		assertThat(this.set.ready.take()).isSameAs(this.handle);
	}

	@Test
	void handleThatCannotBeDeactivatedIsReadyNevertheless() {
		this.handler.failsToSelect = true;
		assertThatExceptionOfType(OutOfMemoryError.class)
			.isThrownBy(() -> this.set.demultiplex(this.handle, SelectionKey.OP_CONNECT));
		assertThat(this.set.ready.take()).isSameAs(this.handle);
	}

	@Test
	void manyHandlesMayBeReady() {
		// The queue no longer begins with the first of its slots.
		taken(this.sets.get(0));
		List<SelectableHandle> timers = new ArrayList<>();
		for (int i = 0; i < 1000; i++) {
			SelectableHandle timer = this.sets.newTimer(this.handler);
			timer.giveBack();
			timer.handleSet().demultiplex(timer, SelectableHandle.LOOK);
			timers.add(timer);
		}
		assertThat(this.sets.get(0).ready.size()).isEqualTo(1000);
		timers.forEach((timer) -> assertThat(this.sets.get(0).ready.take()).isSameAs(timer));
	}

	/** The connection may be closed long before its place in the queue is used again. */
	@Test
	void readyQueueKeepsNoHandleThatWasTaken() {
		HandleSet first = this.sets.get(0);
		first.await(this.clock.nanoTime(), null, null);
		WeakReference<SelectableHandle> taken = new WeakReference<>(taken(first));
		first.await(this.clock.nanoTime(), null, null);
		Engine.awaitCollected(taken);
	}

	private SelectableHandle taken(HandleSet first) {
		SelectableHandle timer = this.sets.newTimer(this.handler);
		timer.giveBack();
		first.demultiplex(timer, SelectableHandle.LOOK);
		assertThat(first.ready.take()).isSameAs(timer);
		return timer;
	}

	/** Its time may come long after the connection has ended. */
	@Test
	void timersKeepNoHandleThatIsClosed() {
		WeakReference<SelectableHandle> closed = new WeakReference<>(closed());
		Engine.awaitCollected(closed);
	}

	private SelectableHandle closed() {
		this.handler.deadline = in(Duration.ofHours(1));
		SelectableHandle timer = this.sets.newTimer(this.handler);
		timer.giveBack();
		timer.request(SelectableHandle.TIMER);
		timer.handleSet().applyUpdates();
		assertThat(timer.timerDeadline).isEqualTo(this.handler.deadline);
		assertThat(timer.claimForLook()).isEqualTo(Claim.CLAIMED);
		timer.closeByOwner();
		timer.handleSet().applyUpdates();
		return timer;
	}

	@Test
	void timerThatHasExpiredIsNotScheduledAnyMore() {
		this.handler.deadline = in(Duration.ofSeconds(1));
		request(SelectableHandle.TIMER);
		assertThat(this.handle.timerDeadline).isEqualTo(this.handler.deadline);
		advance(Duration.ofSeconds(2));
		assertThat(this.handler.expired).isOne();
		assertThat(this.set.ready.take()).isSameAs(this.handle);
		// The owner sets a later deadline, and requests a timer only if there is none.
		assertThat(this.handle.timerDeadline).isEqualTo(EngineEventHandler.NO_DEADLINE);
	}

	/** Otherwise a later deadline, for example of output, would wait for that thread. */
	@Test
	void handleThatIsHeldForAnotherThreadIsAskedOnceInASecond() {
		this.handler.deadline = in(Duration.ofSeconds(1));
		request(SelectableHandle.TIMER);
		advance(Duration.ofSeconds(2));
		assertThat(this.set.ready.take()).isSameAs(this.handle);
		this.set.timers.hold(this.handle);
		assertThat(this.handle.timerDeadline).isEqualTo(in(Duration.ofSeconds(1)));
		advance(Duration.ofMillis(999));
		this.set.timers.hold(this.handle);
		assertThat(this.handler.expired).isOne();
		advance(Duration.ofMillis(1));
		assertThat(this.handler.expired).isEqualTo(2);
		this.handler.deadline = in(Duration.ofSeconds(3));
		this.set.timers.hold(this.handle);
		assertThat(this.handle.timerDeadline).isEqualTo(this.handler.deadline);
		advance(Duration.ofSeconds(3));
		this.handler.deadline = EngineEventHandler.NO_DEADLINE;
		this.set.timers.hold(this.handle);
		assertThat(this.handle.timerDeadline).isEqualTo(EngineEventHandler.NO_DEADLINE);
	}

	/** No owner requests a timer for it: a suspension that ends may be one of many. */
	@Test
	void timerThatHasExpiredIsScheduledForTheNextDeadlineOfItsHandler() {
		long later = in(Duration.ofSeconds(3));
		this.handler.deadline = in(Duration.ofSeconds(1));
		this.handler.whenExpired = () -> this.handler.deadline = later;
		request(SelectableHandle.TIMER);
		advance(Duration.ofSeconds(2));
		assertThat(this.handler.expired).isOne();
		assertThat(this.handle.timerDeadline).isEqualTo(later);
		advance(Duration.ofSeconds(2));
		assertThat(this.handler.expired).isEqualTo(2);
	}

	/** Its owner had too little memory to handle the failure. */
	@Test
	void handleThatIsToFailLaterBecomesReadyAfterAWhile() {
		this.handle.failLater();
		this.set.applyUpdates();
		assertThat(this.set.ready.isEmpty()).isTrue();
		advance(Duration.ofMinutes(1));
		assertThat(this.set.ready.take()).isSameAs(this.handle);
	}

	/**
	 * An owner that sets a deadline too late for this question sees that there is no
	 * timer, and requests one.
	 */
	@Test
	void noTimerIsToldOfWhileAHandlerIsAskedForItsDeadline() {
		this.handler.deadline = in(Duration.ofSeconds(1));
		request(SelectableHandle.TIMER);
		List<Long> told = new ArrayList<>();
		this.handler.whenAsked = () -> told.add(this.handle.timerDeadline);
		request(SelectableHandle.TIMER);
		assertThat(told).containsExactly(EngineEventHandler.NO_DEADLINE);
		assertThat(this.handle.timerDeadline).isEqualTo(this.handler.deadline);
	}

	@Test
	void timerEndsWithTheDeadlineOfItsHandler() {
		this.handler.deadline = in(Duration.ofSeconds(1));
		request(SelectableHandle.TIMER);
		this.handler.deadline = EngineEventHandler.NO_DEADLINE;
		request(SelectableHandle.TIMER);
		assertThat(this.handle.timerDeadline).isEqualTo(EngineEventHandler.NO_DEADLINE);
		int asked = this.handler.asked;
		advance(Duration.ofSeconds(2));
		assertThat(this.handler.asked).isEqualTo(asked);
	}

	@Test
	void handleThatPausesUntilItsDeadlineHasATimer() {
		assertThat(this.handle.claimFired()).isEqualTo(Claim.CLAIMED);
		this.handler.deadline = in(Duration.ofSeconds(1));
		this.handle.pauseUntilDeadline();
		this.set.applyUpdates();
		assertThat(this.handle.timerDeadline).isEqualTo(this.handler.deadline);
	}

	@Test
	void requestsThatFailForLackOfMemoryAreRepeated() {
		this.handler.deadline = in(Duration.ofSeconds(1));
		this.handler.lacksMemory = true;
		assertThatExceptionOfType(OutOfMemoryError.class).isThrownBy(() -> request(SelectableHandle.TIMER));
		this.handler.lacksMemory = false;
		this.set.applyUpdates();
		assertThat(this.handle.timerDeadline).isEqualTo(this.handler.deadline);
	}

	/** Ways in which memory is too short for the leader, once. */
	private enum Shortage {

		REQUEST {
			@Override
			void hit(HandleSetUpdateTests test) {
				test.handler.lacksMemory = true;
				assertThatExceptionOfType(OutOfMemoryError.class)
					.isThrownBy(() -> test.request(SelectableHandle.TIMER));
			}
		},

		TIMER {
			@Override
			void hit(HandleSetUpdateTests test) {
				test.handler.deadline = test.in(Duration.ofSeconds(1));
				test.request(SelectableHandle.TIMER);
				test.handler.lacksMemory = true;
				assertThatExceptionOfType(OutOfMemoryError.class).isThrownBy(() -> test.advance(Duration.ofSeconds(2)));
			}
		},

		EVENT {
			@Override
			void hit(HandleSetUpdateTests test) throws IOException {
				assertThat(test.handle.claimFired()).isEqualTo(Claim.CLAIMED);
				test.handle.active = true;
				test.handler.failsToSelect = true;
				test.pipe.sink().write(ByteBuffer.wrap(new byte[1]));
				test.advance(Duration.ZERO);
				assertThat(test.handle.takeLook()).isTrue();
				test.handle.giveBack();
			}
		},

		WAIT {
			@Override
			void hit(HandleSetUpdateTests test) {
				long now = test.clock.nanoTime();
				// The leader reads it before and after it looks for events.
				test.clock.reads = 2;
				assertThatExceptionOfType(OutOfMemoryError.class).isThrownBy(() -> test.set.await(now, null, null));
			}
		};

		abstract void hit(HandleSetUpdateTests test) throws IOException;

	}

	/** It may have been too short for the changes of a key. */
	@ParameterizedTest
	@EnumSource
	void leaderChecksItsKeysAfterMemoryWasShort(Shortage shortage) throws IOException {
		shortage.hit(this);
		this.handler.lacksMemory = false;
		this.handler.failsToSelect = false;
		assertThat(interest()).isEqualTo(SelectionKey.OP_READ);
		this.handle.key.interestOps(0);
		advance(Duration.ZERO);
		assertThat(interest()).isEqualTo(SelectionKey.OP_READ);
	}

	@Test
	void channelOfAHandleThatIsClosedByALookIsFreed() {
		Selector selector = this.handle.key.selector();
		this.handler.closes = this.handle;
		request(SelectableHandle.LOOK);
		assertThat(this.handler.gone).isOne();
		assertThat(selector.keys()).isEmpty();
	}

	@Test
	void handleTakesItsTimerAndItsRequestsToAnotherSet() {
		this.handler.deadline = in(Duration.ofSeconds(1));
		this.handle.request(SelectableHandle.LOOK);
		assertThat(this.handle.disarm()).isTrue();
		this.handle.moveTo(this.other);
		this.set.applyUpdates();
		this.other.applyUpdates();
		assertThat(this.handle.timerDeadline).isEqualTo(this.handler.deadline);
		assertThat(this.other.ready.take()).isSameAs(this.handle);
	}

	@Test
	void timerOfAHandleThatMovesIsCancelled() throws IOException {
		// The first set is always in use.
		if (this.set.leadership.index() == 0) {
			register();
		}
		this.handler.isMovable = true;
		this.handler.deadline = in(Duration.ofSeconds(2));
		request(SelectableHandle.TIMER);
		this.sets.deal().use(1);
		this.pipe.sink().write(ByteBuffer.wrap(new byte[1]));
		advance(Duration.ofSeconds(1));
		assertThat(this.handle.handleSet()).isSameAs(this.other);
		this.other.applyUpdates();
		int asked = this.handler.asked;
		advance(Duration.ofSeconds(2));
		assertThat(this.handler.asked).isEqualTo(asked);
	}

	@Test
	void timerOfAHandleThatMovesToAnotherPoolIsCancelled() {
		this.handler.deadline = in(Duration.ofSeconds(1));
		request(SelectableHandle.TIMER);
		assertThat(this.handle.claimFired()).isEqualTo(Claim.CLAIMED);
		this.handler.moves = () -> this.handle.moveTo(this.other, (short) this.other.leadership.index(),
				new HandlerProfile[] { new HandlerProfile() });
		request(SelectableHandle.MOVE);
		this.other.applyUpdates();
		assertThat(this.handle.timerDeadline).isEqualTo(this.handler.deadline);
		advance(Duration.ofSeconds(2));
		assertThat(this.handler.expired).isZero();
	}

	@Test
	void handleThatIsNotMovableStays() throws IOException {
		// The first set is always in use.
		if (this.set.leadership.index() == 0) {
			register();
		}
		this.sets.deal().use(1);
		this.pipe.sink().write(ByteBuffer.wrap(new byte[1]));
		advance(Duration.ZERO);
		assertThat(this.handle.handleSet()).isSameAs(this.set);
		assertThat(this.set.ready.take()).isSameAs(this.handle);
	}

	/** The selector would report it without end. */
	@Test
	void handleThatFiresWhileItIsPausedIsDeactivated() {
		assertThat(this.handle.claimFired()).isEqualTo(Claim.CLAIMED);
		this.handle.pause();
		this.set.demultiplex(this.handle, SelectionKey.OP_READ);
		assertThat(interest()).isZero();
		assertThat(this.set.ready.isEmpty()).isTrue();
	}

	@Test
	void handleThatWasClaimedWhileItWasPausedIsArmedAgain() {
		assertThat(this.handle.claimFired()).isEqualTo(Claim.CLAIMED);
		this.handle.pause();
		this.set.demultiplex(this.handle, SelectionKey.OP_READ);
		assertThat(this.handle.claimPaused()).isTrue();
		assertThat(this.handle.releaseOrLookAgain()).isTrue();
		this.set.applyUpdates();
		assertThat(interest()).isEqualTo(SelectionKey.OP_READ);
	}

	@Test
	void handleThatHasFiredAgainIsLookedAtBeforeItIsPaused() {
		fireTwice();
		assertThat(this.handle.pause()).isEqualTo(Release.LOOK_AGAIN);
		assertThat(this.handle.isOwned()).isTrue();
		assertThat(this.handle.pause()).isEqualTo(Release.RELEASED);
		assertThat(this.handle.isPaused()).isTrue();
	}

	/** The deadlines of a connection depend on this. */
	@Test
	void handleIsOwnedUntilItIsReleased() {
		assertThat(this.handle.isOwned()).isFalse();
		assertThat(this.handle.claimFired()).isEqualTo(Claim.CLAIMED);
		assertThat(this.handle.isOwned()).isTrue();
		assertThat(this.handle.claimFired()).isEqualTo(Claim.OWNER_LOOKS_AGAIN);
		assertThat(this.handle.isOwned()).isTrue();
		assertThat(this.handle.takeLook()).isTrue();
		assertThat(this.handle.isOwned()).isTrue();
		assertThat(this.handle.releaseOrLookAgain()).isTrue();
		assertThat(this.handle.isOwned()).isFalse();
	}

	@Test
	void handleThatMovesToAnotherPoolIsInactiveUntilItWasLookedAt() {
		assertThat(this.handle.claimFired()).isEqualTo(Claim.CLAIMED);
		this.handle.moveTo(this.other, (short) this.other.leadership.index(),
				new HandlerProfile[] { new HandlerProfile() });
		this.other.applyUpdates();
		assertThat(interest()).isZero();
		assertThat(this.other.ready.take()).isSameAs(this.handle);
		assertThat(this.handle.releaseOrLookAgain()).isTrue();
		this.other.applyUpdates();
		assertThat(interest()).isEqualTo(SelectionKey.OP_READ);
	}

	/** The leader or the owner of the other set would wait for it without end. */
	@Test
	void handleThatHasFiredAgainIsReleasedNevertheless() {
		fireTwice();
		this.handle.giveBack();
		assertThat(this.handle.isOwned()).isFalse();
		request(SelectableHandle.REARM);
		fireTwice();
		this.handle.pauseUntilDeadline();
		assertThat(this.handle.isPaused()).isTrue();
		assertThat(this.handle.claimPaused()).isTrue();
		assertThat(this.handle.claimForLook()).isEqualTo(Claim.OWNER_LOOKS_AGAIN);
		HandlerProfile[] profiles = { new HandlerProfile() };
		short number = (short) (this.handle.number + 2);
		this.handle.moveTo(this.other, number, profiles);
		assertThat(this.handle.isPaused()).isTrue();
		assertThat(this.handle.profile()).isSameAs(profiles[0]);
		assertThat(this.handle.number).isEqualTo(number);
	}

	private void fireTwice() {
		assertThat(this.handle.claimFired()).isEqualTo(Claim.CLAIMED);
		assertThat(this.handle.claimFired()).isEqualTo(Claim.OWNER_LOOKS_AGAIN);
	}

	@Test
	void handleWhoseFailureCannotBeHandledIsClosed() {
		assertThat(this.handle.claimFired()).isEqualTo(Claim.CLAIMED);
		this.handler.failure = new IllegalStateException("made for the test");
		assertThat(this.handle.closeAfterFailure(null, new IllegalStateException("made for the test"))).isTrue();
		assertThat(this.handle.isMarkedClosed()).isTrue();
		this.set.applyUpdates();
		assertThat(this.handler.gone).isOne();
	}

	@Test
	void failureThatIsLeftToTheNextOwnerIsHandledOnce() {
		assertThat(this.handle.claimFired()).isEqualTo(Claim.CLAIMED);
		this.handler.failure = new OutOfMemoryError("made for the test");
		assertThat(this.handle.closeAfterFailure(null, new IllegalStateException("made for the test"))).isTrue();
		assertThat(this.handle.isPaused()).isTrue();
		this.set.applyUpdates();
		assertThat(this.handle.timerDeadline).isNotEqualTo(EngineEventHandler.NO_DEADLINE);
		assertThatExceptionOfType(OutOfMemoryError.class).isThrownBy(this.handle::failIfPending);
		assertThatNoException().isThrownBy(this.handle::failIfPending);
	}

	@Test
	void failureThatIsLeftToTheNextOwnerMeanwhileIsHandledWithThisOne() {
		assertThat(this.handle.claimFired()).isEqualTo(Claim.CLAIMED);
		this.handle.failLater();
		this.set.applyUpdates();
		assertThat(this.handle.timerDeadline).isNotEqualTo(EngineEventHandler.NO_DEADLINE);
		assertThat(this.handle.isFailurePending()).isTrue();
		this.handle.closeAfterFailure(null, new IllegalStateException("made for the test"));
		assertThat(this.handle.isFailurePending()).isFalse();
	}

	@Test
	void handleReturnsFromASetThatIsClosed() {
		assertThat(this.handle.disarm()).isTrue();
		this.other.close();
		this.handle.moveTo(this.other);
		assertThat(this.handle.handleSet()).isSameAs(this.set);
		assertThat(this.handler.aborted).isOne();
		assertThat(this.set.ready.take()).isSameAs(this.handle);
	}

	@Test
	void handleThatIsClosedIsLookedAt() {
		this.handle.close();
		assertThat(this.handle.isOpen()).isFalse();
		this.set.applyUpdates();
		assertThat(this.set.ready.take()).isSameAs(this.handle);
	}

	@Test
	void channelOfAHandleThatIsGoneIsFreed() {
		Selector selector = this.handle.key.selector();
		assertThat(this.handle.claimFired()).isEqualTo(Claim.CLAIMED);
		this.handle.closeByOwner();
		this.set.applyUpdates();
		assertThat(this.handler.gone).isOne();
		assertThat(selector.keys()).isEmpty();
	}

	@Test
	void handlesOfASetThatClosesAreGivenBackAndAbandoned() {
		this.set.demultiplex(this.handle, SelectionKey.OP_READ);
		assertThat(this.handle.isOwned()).isTrue();
		this.set.close();
		assertThat(this.handle.isOwned()).isFalse();
		assertThat(this.handler.abandoned).isPositive();
	}

	/** The same if the leader has not applied its requests yet. */
	@ParameterizedTest
	@ValueSource(booleans = { false, true })
	void handleOfASetThatClosesIsAbandonedAgainIfThatHasFailed(boolean isRequested) {
		this.handler.failuresToAbandon = 3;
		Selector selector = this.handle.key.selector();
		if (isRequested) {
			this.handle.request(SelectableHandle.LOOK);
		}
		long begun = this.clock.nanoTime();
		this.set.close();
		assertThat(this.handler.failuresToAbandon).isZero();
		assertThat(this.clock.nanoTime() - begun).as("there may be memory again after a pause").isPositive();
		assertThat(this.handler.abandoned).isPositive();
		assertThat(selector.isOpen()).isFalse();
	}

	@Test
	void setClosesItsOtherHandlesAlthoughOneCannotBeAbandoned() throws IOException {
		this.handler.failuresToAbandon = Integer.MAX_VALUE;
		TestHandler neighbour = new TestHandler();
		this.pipe.sink().configureBlocking(false);
		SelectableHandle second = new SelectableHandle(this.pipe.sink(), (short) 0, this.set, neighbour,
				this.sets.newProfiles(), SelectionKey.OP_WRITE);
		second.giveBack();
		second.request(SelectableHandle.REGISTER);
		this.set.applyUpdates();
		Selector selector = this.handle.key.selector();
		this.set.close();
		assertThat(neighbour.abandoned).isPositive();
		assertThat(selector.isOpen()).isFalse();
	}

	/** For example because memory is too short for the iteration. */
	@Test
	void setClosesItsHandlesAlthoughItsKeysCannotBeListedAtFirst() throws IOException {
		AtomicInteger failures = new AtomicInteger();
		HandleSet failing = new HandleSets("test", 1, 1, this.clock, new FaultySelectors(() -> {
		}, () -> {
		}).whenListed(() -> {
			if (failures.getAndSet(0) > 0) {
				throw new LinkageError("made for the test");
			}
		}), new FailureLog()).get(0);
		SelectableHandle registered = this.sets.newHandle(this.pipe.source(), this.handler, SelectionKey.OP_READ,
				new HandlerProfile());
		registered.giveBack();
		registered.moveTo(failing);
		failing.applyUpdates();
		failures.set(1);
		failing.close();
		assertThat(this.handler.abandoned).isOne();
	}

	@Test
	void selectorOfASetThatClosesIsClosed() {
		Selector selector = this.handle.key.selector();
		this.set.close();
		assertThat(selector.isOpen()).isFalse();
	}

	@Test
	void handleThatWasNotRegisteredYetIsAbandonedWhenItsSetIsClosed() {
		TestHandler late = new TestHandler();
		SelectableHandle timer = this.sets.newTimer(late);
		timer.request(SelectableHandle.TIMER);
		timer.handleSet().close();
		assertThat(late.abandoned).isOne();
	}

	@ParameterizedTest
	@ValueSource(booleans = { false, true })
	void ownerLooksAtAHandleThatCannotBeRegistered(boolean isClosed) throws IOException {
		Pipe late = Pipe.open();
		TestHandler lateHandler = new TestHandler();
		try (Pipe.SourceChannel source = late.source(); Pipe.SinkChannel sink = late.sink()) {
			if (isClosed) {
				source.configureBlocking(false);
				source.close();
			}
			SelectableHandle unregistered = this.sets.newHandle(source, lateHandler, SelectionKey.OP_READ,
					new HandlerProfile());
			unregistered.release();
			unregistered.request(SelectableHandle.REGISTER | SelectableHandle.REARM);
			unregistered.handleSet().applyUpdates();
			assertThat(unregistered.handleSet().ready.take()).isSameAs(unregistered);
			assertThat(lateHandler.unregistered).isEqualTo(isClosed ? 0 : 1);
			assertThat(source.isOpen()).isFalse();
		}
	}

	@Test
	void handleThatWouldHaveMovedIsGivenBackWhenItsSetIsClosed() {
		assertThat(this.handle.claimFired()).isEqualTo(Claim.CLAIMED);
		this.handle.abandon(SelectableHandle.MOVE);
		assertThat(this.handle.isOwned()).isFalse();
		assertThat(this.handler.abandoned).isOne();
	}

	@Test
	void handleThatMovesBetweenTwoSetsThatAreClosedIsAbandoned() {
		HandleSet former = this.handle.handleSet();
		former.close();
		int before = this.handler.abandoned;
		this.handle.requestThere(SelectableHandle.REGISTER, former);
		assertThat(this.handler.abandoned).isEqualTo(before + 1);
		assertThat(this.handler.aborted).isZero();
	}

	/** Its owner still works with it. */
	@Test
	void handleThatDoesNotMoveStaysWithItsOwnerWhenItsSetIsClosed() {
		assertThat(this.handle.claimFired()).isEqualTo(Claim.CLAIMED);
		this.handle.abandon(SelectableHandle.LOOK);
		assertThat(this.handle.isOwned()).isTrue();
		assertThat(this.handler.abandoned).isOne();
	}

	@Test
	void failureThatCannotBeHandledIsAddedToItsCause() {
		assertThat(this.handle.claimFired()).isEqualTo(Claim.CLAIMED);
		IllegalStateException cause = new IllegalStateException("made for the test");
		this.handler.failure = cause;
		assertThat(this.handle.closeAfterFailure(null, cause)).isTrue();
		assertThat(cause.getSuppressed()).isEmpty();
		this.handler.failure = new IllegalStateException("another one");
		assertThat(this.handle.closeAfterFailure(null, cause)).isTrue();
		assertThat(cause.getSuppressed()).containsExactly(this.handler.failure);
	}

	@Test
	void handleWhoseChannelIsClosedIsNotOpen() throws IOException {
		assertThat(this.handle.isOpen()).isTrue();
		this.pipe.source().close();
		assertThat(this.handle.isOpen()).isFalse();
	}

	@Test
	void operationsAreAddedAndRemoved() {
		this.handle.operations(0, SelectionKey.OP_CONNECT);
		assertThat(this.handle.operations()).isEqualTo(SelectionKey.OP_READ | SelectionKey.OP_CONNECT);
		this.handle.operations(SelectionKey.OP_READ, 0);
		assertThat(this.handle.operations()).isEqualTo(SelectionKey.OP_CONNECT);
	}

	@Test
	void handleHasTheProfileOfItsSetOrTheOnlyOne() {
		HandlerProfile[] profiles = { new HandlerProfile(), new HandlerProfile() };
		HandlerProfile only = new HandlerProfile();
		for (int i = 0; i < 8; i++) {
			SelectableHandle each = this.sets.newHandle(this.pipe.source(), this.handler, 0, profiles);
			assertThat(each.profile()).isSameAs(profiles[each.handleSet().leadership.index()]);
			assertThat(this.sets.newHandle(this.pipe.source(), this.handler, 0, only).profile()).isSameAs(only);
		}
	}

	@Test
	void setsOfAnotherPoolAreNotContained() {
		HandleSets others = new HandleSets("other", 3, 3, this.clock, SelectorProvider.provider(), new FailureLog());
		try {
			assertThat(this.sets).allMatch(this.sets::contains);
			assertThat(others).noneMatch(this.sets::contains);
			assertThat(this.sets).noneMatch(others::contains);
		}
		finally {
			others.forEach(HandleSet::close);
		}
	}

	@Test
	void allItemsAreVisitedAndTheFirstFailureIsThrown() {
		List<Throwable> visited = new ArrayList<>();
		RuntimeException first = new IllegalStateException("first");
		RuntimeException second = new IllegalStateException("second");
		Error error = new AssertionError("made for the test");
		Error last = new AssertionError("last");
		Consumer<Throwable> fails = (failure) -> {
			visited.add(failure);
			if (failure instanceof RuntimeException ex) {
				throw ex;
			}
			throw (Error) failure;
		};
		assertThatException().isThrownBy(() -> HandleSets.forAll(List.of(first, second), fails)).isSameAs(first);
		assertThatExceptionOfType(AssertionError.class)
			.isThrownBy(() -> HandleSets.forAll(List.of(first, error, second, last), fails))
			.isSameAs(error);
		assertThat(visited).containsExactly(first, second, first, error, second, last);
	}

	/** A clock that lacks memory once. */
	private static final class ScarceClock extends TestClock {

		/** The number of calls, of which the last one fails. */
		private int reads;

		@Override
		public long nanoTime() {
			if (this.reads > 0 && --this.reads == 0) {
				throw new OutOfMemoryError("made for the test");
			}
			return super.nanoTime();
		}

		@Override
		public void parkNanos(Object blocker, long nanos) {
			advance(Duration.ofNanos(nanos));
		}

	}

	static class TestHandler implements EngineEventHandler {

		/** Moves the handle. */
		private Runnable moves = () -> {
		};

		/** Thrown when a failure is to be handled. */
		private @Nullable Throwable failure;

		/** Closed by a look. */
		private @Nullable SelectableHandle closes;

		long deadline = NO_DEADLINE;

		private Runnable whenAsked = () -> {
		};

		private Runnable whenExpired = () -> {
		};

		boolean lacksMemory;

		private boolean isMovable;

		private boolean failsToSelect;

		private int asked;

		private int expired;

		private int looks;

		private int gone;

		private int aborted;

		private int abandoned;

		private int failuresToAbandon;

		private int unregistered;

		@Override
		public boolean prepare(Participant me) {
			return false;
		}

		@Override
		public void dispatch(Participant me) {
		}

		@Override
		public boolean release(Participant me) {
			return true;
		}

		@Override
		public HandlerProfile profile() {
			return HandlerProfile.BLOCKING;
		}

		@Override
		public boolean failed(@Nullable Participant me, Throwable cause) {
			if (this.failure instanceof RuntimeException ex) {
				throw ex;
			}
			if (this.failure instanceof Error ex) {
				throw ex;
			}
			return false;
		}

		@Override
		public boolean isMovable() {
			return this.isMovable;
		}

		@Override
		public long deadline(long nowNanos) {
			this.asked++;
			this.whenAsked.run();
			if (this.lacksMemory) {
				throw new OutOfMemoryError("made for the test");
			}
			return this.deadline;
		}

		@Override
		public boolean lookAtOnce() {
			SelectableHandle closed = this.closes;
			if (closed != null) {
				assertThat(closed.claimForLook()).isEqualTo(Claim.CLAIMED);
				closed.closeByOwner();
			}
			return closed != null;
		}

		@Override
		public void expire(long nowNanos) {
			this.expired++;
			this.whenExpired.run();
		}

		@Override
		public boolean hasPendingBytes() {
			if (this.failsToSelect) {
				throw new OutOfMemoryError("made for the test");
			}
			return false;
		}

		@Override
		public void ownerLooksAgain() {
			this.looks++;
		}

		@Override
		public void gone() {
			this.gone++;
		}

		@Override
		public void registrationFailed(Throwable cause) {
			this.unregistered++;
		}

		@Override
		public void moveOut() {
			this.moves.run();
		}

		@Override
		public void abort() {
			this.aborted++;
		}

		@Override
		public void abandon() {
			if (this.failuresToAbandon > 0) {
				this.failuresToAbandon--;
				// An OutOfMemoryError would end the run of all tests.
				throw new LinkageError("made for the test");
			}
			this.abandoned++;
		}

		@Override
		public HandledWork work() {
			return new HandledWork("a handle", null, null);
		}

	}

}
