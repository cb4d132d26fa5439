package org.leaderfollowers.internal.demultiplexing;

import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.leaderfollowers.interleavings.Exploration;
import org.leaderfollowers.interleavings.Interleaving;
import org.leaderfollowers.interleavings.Mutation;
import org.leaderfollowers.interleavings.Scenario;

import static org.leaderfollowers.interleavings.Interleaving.step;

/**
 * Explores the interleavings in the life of a connection's handle: it has one owner at a
 * time, and no event, request, close or drain is lost.
 */
@Tag("interleavings")
class HandleInterleavingTests {

	private enum Life {

		ONE_MESSAGE(1, "", 2),

		TWO_MESSAGES(2, "", 1),

		THREE_MESSAGES_AND_A_HANDLER_THAT_NEVER_RETURNS(3, "endless", 1),

		CLOSED_FROM_OUTSIDE(1, "closed", 1),

		CLOSED_WHILE_THE_PEER_DOES_NOT_READ(1, "closed, unread", 1),

		DRAINED(1, "drained", 1),

		SENT_TO_FROM_OUTSIDE(1, "sent to", 1),

		RESET_BY_THE_PEER(1, "reset", 1),

		RESET_WHILE_A_HANDLER_DOES_NOT_RETURN(2, "reset, endless", 0),

		CLOSED_AND_DRAINED(0, "closed, drained", 1),

		CLOSED_AND_SENT_TO(0, "closed, sent to", 1),

		CONVERSATION(2, "conversation", 1),

		CONVERSATION_AND_ONE_MESSAGE_MORE(3, "conversation", 1),

		CONVERSATION_THAT_IS_CLOSED(1, "conversation, closed", 1),

		CONVERSATION_AND_DRAIN(2, "conversation, drained", 2);

		private final int messages;

		private final String events;

		private final int preemptions;

		Life(int messages, String events, int preemptions) {
			this.messages = messages;
			this.events = events;
			this.preemptions = preemptions;
		}

		Exploration exploration() {
			return Exploration.of(Connection.class, this.messages, this.events).preemptions(this.preemptions);
		}

	}

	private enum Rule {

		A_HANDLE_IS_RELEASED_BY_COMPARE_AND_SET(Life.DRAINED,
				Mutation.setsWithoutComparing(HandleState.class, "release")),

		A_HANDLE_IS_PAUSED_BY_COMPARE_AND_SET(Life.CLOSED_WHILE_THE_PEER_DOES_NOT_READ,
				Mutation.setsWithoutComparing(HandleState.class, "pause")),

		A_HANDLE_IS_ARMED_ONLY_IF_IT_WAITS_FOR_THAT(Life.DRAINED,
				Mutation.setsWithoutComparing(HandleState.class, "arm")),

		A_REQUESTER_QUEUES_THE_HANDLE_BEFORE_IT_LOOKS_WHETHER_THE_LEADER_WAITS(Life.TWO_MESSAGES,
				Mutation.movedBefore(UpdateQueue.class, "request", "wakeLeader", "get")),

		A_LEADER_ANNOUNCES_ITS_WAIT_BEFORE_IT_LOOKS_AT_THE_QUEUE(Life.TWO_MESSAGES,
				Mutation.calledBefore(UpdateQueue.class, "beginWait", "get", "set")),

		A_LEADER_TAKES_THE_REQUESTS_BEFORE_IT_ATTENDS_TO_THEM(Life.SENT_TO_FROM_OUTSIDE,
				Mutation.calledAfter(UpdateQueue.class, "applyUpdates", "takeRequests", "accept", -1)),

		AN_OWNED_HANDLE_THAT_FIRES_IS_DEACTIVATED(Life.THREE_MESSAGES_AND_A_HANDLER_THAT_NEVER_RETURNS,
				Mutation.withoutCases(HandleState.class, "claimFired", 3)),

		AN_OWNER_LOOKS_AGAIN_IF_ITS_HANDLE_FIRED(Life.THREE_MESSAGES_AND_A_HANDLER_THAT_NEVER_RETURNS,
				Mutation.withoutCases(HandleState.class, "claimFired", 1)),

		AN_OWNER_LOOKS_AGAIN_IF_SOMEBODY_ASKS_FOR_IT(Life.DRAINED,
				Mutation.withoutCases(HandleState.class, "claimForLook", 1, 3)),

		A_PAUSED_HANDLE_IS_CLAIMED_FOR_A_LOOK(Life.ONE_MESSAGE,
				Mutation.withoutCases(HandleState.class, "claimForLook", 5)),

		// Of a handler that waits for the next message

		AN_OWNER_THAT_WAITS_TAKES_THE_LOOK_FIRST(Life.CONVERSATION,
				Mutation.callReturns(Connection.class, "looksAgain", "takeLook", 0)),

		AN_OWNER_THAT_WAITS_HAS_ITS_HANDLE_ARMED(Life.CONVERSATION_AND_ONE_MESSAGE_MORE,
				Mutation.withoutCall(Connection.class, "converse", "request")),

		AN_OWNED_HANDLE_IS_ARMED_BY_COMPARE_AND_SET(Life.CONVERSATION_AND_DRAIN,
				Mutation.setsWithoutComparing(HandleState.class, "armOwned")),

		AN_OWNER_THAT_WAITS_IS_TOLD_OF_EVENTS(Life.CONVERSATION,
				Mutation.withoutCall(Connection.class, "takeEvents", "ownerLooksAgain")),

		AN_OWNER_MAKES_ITSELF_KNOWN_BEFORE_IT_TAKES_THE_LOOK(Life.CONVERSATION_THAT_IS_CLOSED,
				Mutation.movedBehind(Connection.class, "firstLook", "becomesReader", "takeLook")),

		// Of the connection

		AFTER_A_PAUSE_ITS_REASON_IS_CHECKED_ONCE_MORE(Life.ONE_MESSAGE,
				Mutation.withoutCall(Connection.class, "pauseUntil", "request")),

		A_PAUSED_HANDLE_IS_LOOKED_AT_WHEN_ENOUGH_IS_WRITTEN(Life.ONE_MESSAGE,
				Mutation.callReturns(Connection.class, "flush", "isPaused", 0)),

		BYTES_FOR_A_BROKEN_SOCKET_ARE_DISCARDED(Life.RESET_WHILE_A_HANDLER_DOES_NOT_RETURN,
				Mutation.withoutCall(Connection.class, "flush", "discard")),

		A_CLOSER_ASKS_FOR_A_LOOK(Life.CLOSED_FROM_OUTSIDE, Mutation.withoutCall(Connection.class, "close", "request")),

		THE_FIRST_BYTES_THAT_WAIT_ASK_FOR_WRITE_EVENTS(Life.ONE_MESSAGE,
				Mutation.withoutCall(Connection.class, "outbound", "request")),

		A_SERVER_DRAINS_BEFORE_IT_ASKS_FOR_A_LOOK(Life.DRAINED,
				Mutation.movedBefore(Connection.class, "drain", "request", "serverDrains"));

		private final Life life;

		private final Mutation mutation;

		Rule(Life life, Mutation mutation) {
			this.life = life;
			this.mutation = mutation;
		}

	}

	@ParameterizedTest
	@EnumSource
	void oneOwnerAtATimeAndNothingIsLost(Life life) {
		life.exploration().assertSound();
	}

	@ParameterizedTest
	@EnumSource(names = { "TWO_MESSAGES", "THREE_MESSAGES_AND_A_HANDLER_THAT_NEVER_RETURNS",
			"CLOSED_WHILE_THE_PEER_DOES_NOT_READ", "RESET_WHILE_A_HANDLER_DOES_NOT_RETURN", "CLOSED_AND_DRAINED" })
	@Tag("stress")
	void oneOwnerAtATimeAndNothingIsLostWithOnePreemptionMore(Life life) {
		life.exploration().preemptions(life.preemptions + 1).assertSound();
	}

	@ParameterizedTest
	@EnumSource
	@Tag("stress")
	void oneOwnerAtATimeAndNothingIsLostAtRandom(Life life) {
		life.exploration().assertSoundAtRandom(20_000);
	}

	@ParameterizedTest
	@EnumSource
	void noRuleCanBeDropped(Rule rule) {
		rule.life.exploration().with(rule.mutation).assertViolated();
	}

	/**
	 * The real {@link HandleState} and {@link UpdateQueue}, with a minimal handle set,
	 * connection and socket around them. A reply has three units, the socket has room for
	 * one, and the low and high marks are at one and two units: small numbers, but enough
	 * to make every buffer full and empty.
	 */
	static final class Connection extends HandleState implements Scenario {

		private static final int READ = 1;

		private static final int WRITE = 2;

		private static final int LOOK = 4;

		private static final int REARM = 8;

		private static final int INTEREST = 16;

		private static final int GONE = 32;

		private static final int ARM_OWNED = 64;

		private static final int HIGH_MARK = 2;

		private static final int LOW_MARK = 1;

		private final UpdateQueue updates = new UpdateQueue(this::wakeUp);

		private final int messages;

		private final String events;

		// The leader's

		private int ready;

		private boolean active;

		// The selector's and the socket's

		private int interest;

		private boolean woken;

		private int room = 1;

		private int data;

		private boolean broken;

		private boolean channelClosed;

		// The connection's

		private boolean owned;

		private boolean handling;

		private boolean reader;

		private boolean wanted;

		private int waiting;

		private boolean stalled;

		private boolean closing;

		private boolean failed;

		private boolean flushing;

		private boolean outboundClosed;

		private boolean serverDrains;

		Connection(int messages, String events) {
			this.messages = messages;
			this.events = events;
		}

		@Override
		public void begin() {
			pause();
			this.updates.request(this, LOOK);
			Interleaving.start("leader", this::lead);
			Interleaving.start("peer", this::peer);
			Interleaving.start("reading peer", this::peerReads);
			start("closed", this::close);
			start("drained", this::drain);
			start("sent to", () -> outbound());
			start("reset", () -> {
				step("resets");
				this.broken = true;
			});
		}

		private void start(String event, Runnable body) {
			if (this.events.contains(event)) {
				Interleaving.start(event, body);
			}
		}

		private void peer() {
			for (int i = 0; i < this.messages; i++) {
				step("peer sends");
				this.data++;
			}
		}

		private void peerReads() {
			while (!this.events.contains("unread")) {
				Interleaving.await("peer reads", () -> this.room == 0);
				this.room = 1;
				Interleaving.beginAnew("peer reads");
			}
		}

		// The leader, as HandleSet and LeaderFollowersPool do it

		private void lead() {
			for (;;) {
				Interleaving.beginAnew("leads");
				this.updates.applyUpdates(Connection.class, Connection::attend);
				if (this.ready == 0 && this.updates.beginWait()) {
					Interleaving.await("selects", () -> this.woken || selected() != 0);
				}
				this.woken = false;
				this.ready |= selected();
				this.updates.endWait();
				takeEvents();
			}
		}

		private void wakeUp() {
			step("wakes the selector");
			this.woken = true;
		}

		private int selected() {
			if (this.channelClosed) {
				return 0;
			}
			int happened = ((this.data > 0 || this.broken) ? READ : 0) | ((this.room > 0 || this.broken) ? WRITE : 0);
			return this.interest & happened;
		}

		private void attend(int requests) {
			if (isMarkedClosed()) {
				return;
			}
			if (((requests & REARM) != 0 && arm()) || ((requests & ARM_OWNED) != 0 && armOwned())) {
				this.active = true;
			}
			applyInterest();
			this.ready |= requests & LOOK;
		}

		private void applyInterest() {
			this.interest = (this.active ? READ : 0) | ((this.waiting > 0) ? WRITE : 0);
		}

		private void takeEvents() {
			int events = this.ready;
			this.ready = 0;
			if ((events & WRITE) != 0) {
				events = flush(events & ~WRITE);
				applyInterest();
			}
			if (events == 0) {
				return;
			}
			switch (((events & LOOK) != 0) ? claimForLook() : claimFired()) {
				case CLAIMED -> {
					begin(this.owned);
					Interleaving.start("owner", this::own);
				}
				case OWNER_LOOKS_AGAIN, UNWANTED -> {
					this.active = false;
					applyInterest();
					ownerLooksAgain();
				}
				case STALE -> {
				}
			}
		}

		private void ownerLooksAgain() {
			step("looks for the reader");
			if (this.reader) {
				this.wanted = true;
			}
		}

		private void begin(boolean owned) {
			if (owned) {
				Interleaving.fail("two threads own the handle");
			}
			this.owned = true;
		}

		private int flush(int events) {
			step("flushes");
			int requested = events;
			if ((this.broken || this.channelClosed) && this.waiting > 0) {
				this.closing = true;
				this.failed = true;
				requested |= LOOK;
				discard();
			}
			else if (this.waiting > 0 && this.room > 0) {
				this.waiting--;
				this.room = 0;
			}
			int mark = this.flushing ? 0 : LOW_MARK;
			if (this.waiting <= mark && isPaused()) {
				requested |= LOOK;
			}
			return requested;
		}

		private void discard() {
			step("discards");
			this.waiting = 0;
			this.outboundClosed = true;
		}

		// The owner, as TcpConnection does it

		private void own() {
			do {
				Interleaving.beginAnew("owns");
				receive();
			}
			while (settle() == Release.LOOK_AGAIN);
		}

		private void receive() {
			step("receives");
			if (this.closing || (this.stalled && this.waiting > LOW_MARK)) {
				return;
			}
			this.stalled = false;
			if (this.broken) {
				this.closing = true;
				this.failed = true;
			}
			else if (this.data > 0) {
				this.data--;
				if (this.events.contains("conversation")) {
					converse();
				}
				if (this.events.contains("endless") && Interleaving.choose(2) == 1) {
					this.handling = true;
					Interleaving.await("handles for ever", () -> false);
				}
				if (!outbound()) {
					this.closing = true;
					this.failed = true;
				}
				else {
					step("looks at the high mark");
					this.stalled = this.waiting >= HIGH_MARK;
				}
			}
		}

		/** The handler waits for the next message, as BoundInput does it. */
		private void converse() {
			boolean looks = firstLook();
			while (!(looks && (this.closing || this.data > 0))) {
				if (!looks) {
					if (isOwnedDisarmed()) {
						this.updates.request(this, ARM_OWNED);
					}
					Interleaving.await("waits for the next message", () -> this.wanted);
					this.wanted = false;
				}
				looks = looksAgain();
			}
			this.reader = false;
			this.data -= (this.data > 0) ? 1 : 0;
		}

		private boolean firstLook() {
			becomesReader();
			return takeLook();
		}

		private boolean looksAgain() {
			boolean looks = takeLook();
			step("reads for the handler");
			return looks;
		}

		private void becomesReader() {
			step("becomes the reader");
			this.reader = true;
		}

		/** Sends. Returns {@code false} if the socket is broken. */
		private boolean outbound() {
			step("sends");
			if (this.outboundClosed || this.waiting > 2 * HIGH_MARK) {
				return true;
			}
			boolean first = this.waiting == 0;
			if (first && this.broken) {
				return false;
			}
			this.waiting += 3 - (first ? this.room : 0);
			if (first) {
				this.room = 0;
				this.updates.request(this, INTEREST);
			}
			return true;
		}

		private Release settle() {
			step("settles");
			if (this.serverDrains && !this.stalled) {
				this.closing = true;
			}
			if (this.closing) {
				this.outboundClosed = true;
				step("begins to flush");
				this.flushing = true;
				return (!this.failed && this.waiting > 0) ? pauseUntil(0) : closed();
			}
			if (this.stalled) {
				return pauseUntil(LOW_MARK);
			}
			this.owned = false;
			Release release = release();
			switch (release) {
				case REARM_NEEDED -> this.updates.request(this, REARM);
				case LOOK_AGAIN -> begin(this.owned);
				case RELEASED -> {
				}
			}
			return release;
		}

		private Release pauseUntil(int mark) {
			this.owned = false;
			Release release = pause();
			if (release == Release.LOOK_AGAIN) {
				begin(this.owned);
				return release;
			}
			step("looks at the mark");
			if (this.waiting <= mark) {
				this.updates.request(this, LOOK);
			}
			return release;
		}

		private Release closed() {
			this.waiting = 0;
			this.owned = false;
			markClosed();
			step("closes the channel");
			this.channelClosed = true;
			this.updates.request(this, GONE);
			return Release.RELEASED;
		}

		// From outside

		private void close() {
			step("closes from outside");
			this.closing = true;
			this.updates.request(this, LOOK);
		}

		private void drain() {
			step("drains the server");
			this.serverDrains = true;
			this.updates.request(this, LOOK);
		}

		@Override
		public @Nullable String violationAtRest() {
			if (isMarkedClosed()) {
				return this.channelClosed ? null : "the channel is never closed";
			}
			if (this.reader) {
				return (this.data > 0 || this.closing) ? "a conversation misses a message or the end" : null;
			}
			if (this.owned != isOwned() || (this.owned && !this.handling)) {
				return "the handle is never released";
			}
			if ((this.waiting > 0) != ((this.interest & WRITE) != 0)) {
				return "bytes wait without a write event, or a write event without bytes";
			}
			if (this.handling) {
				return null;
			}
			boolean waits = isPaused() && this.waiting > (this.flushing ? 0 : LOW_MARK);
			if (!waits && !isArmed()) {
				return "the handle is never armed again";
			}
			if (this.closing && !(waits && this.flushing)) {
				return "the handle is never closed";
			}
			if (this.serverDrains && !waits) {
				return "the handle misses that the server drains";
			}
			return (this.data > 0 && !waits) ? "a message is never read" : null;
		}

	}

}
