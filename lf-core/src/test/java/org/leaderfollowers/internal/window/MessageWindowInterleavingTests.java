package org.leaderfollowers.internal.window;

import java.util.ArrayList;
import java.util.List;

import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.leaderfollowers.interleavings.Exploration;
import org.leaderfollowers.interleavings.Interleaving;
import org.leaderfollowers.interleavings.Mutation;
import org.leaderfollowers.interleavings.Scenario;
import org.leaderfollowers.internal.demultiplexing.HandleState;
import org.leaderfollowers.internal.demultiplexing.HandleState.Claim;
import org.leaderfollowers.internal.demultiplexing.HandleState.Release;

/**
 * Explores the interleavings of the messages of one connection: each message is handled
 * once, messages with equal keys are handled one after the other, no more messages are in
 * flight than allowed, no message is left behind while there is room, and exactly one
 * thread finds that everything has ended.
 */
@Tag("interleavings")
class MessageWindowInterleavingTests {

	/**
	 * The messages of a connection, a letter for the key of each: upper case if the reply
	 * comes later, from a thread that runs no handlers.
	 */
	private enum Life {

		EQUAL_KEYS("aa", 2, false),

		MORE_THAN_THERE_IS_ROOM_FOR("ab", 1, false),

		LATER_REPLIES("Aa", 2, false),

		LATER_REPLIES_WITHOUT_ROOM("Ab", 1, false),

		CLOSED("ab", 2, true),

		CLOSED_WITH_EQUAL_KEYS("aa", 2, true),

		CLOSED_WITH_LATER_REPLIES("Aa", 2, true);

		private final String keys;

		private final int limit;

		private final boolean closed;

		Life(String keys, int limit, boolean closed) {
			this.keys = keys;
			this.limit = limit;
			this.closed = closed;
		}

		Exploration exploration() {
			return Exploration.of(Connection.class, this.keys, this.limit, this.closed);
		}

	}

	private enum Rule {

		A_MESSAGE_WAITS_FOR_AN_EQUAL_KEY(Life.EQUAL_KEYS,
				Mutation.callReturns(MessageWindow.class, "enter", "find", 0)),

		THE_NEXT_MESSAGE_WITH_AN_EQUAL_KEY_HAS_ITS_TURN(Life.EQUAL_KEYS,
				Mutation.fieldReads(MessageWindow.class, "end", "successor", 0)),

		AN_OWNER_LOOKS_ONCE_MORE_AFTER_IT_HAS_PAUSED(Life.MORE_THAN_THERE_IS_ROOM_FOR,
				Mutation.withoutCall(Connection.class, "pauseOrGoOn", "lookIfThereIsRoom")),

		A_PAUSED_OWNER_IS_TOLD(Life.MORE_THAN_THERE_IS_ROOM_FOR,
				Mutation.callReturns(Connection.class, "goesOn", "claimPaused", 0)),

		A_LATER_REPLY_HAS_THE_OWNER_LOOK(Life.LATER_REPLIES, Mutation.withoutCall(Connection.class, "settle", "look")),

		A_REPLY_THAT_IS_OWED_HOLDS_THE_PLACE(Life.LATER_REPLIES,
				Mutation.callReturns(Connection.class, "letGo", "letGo", 1)),

		THE_LAST_THREAD_FINDS_THAT_IT_IS_THE_LAST(Life.CLOSED,
				Mutation.fieldReads(MessageWindow.class, "depart", "closed", 0)),

		A_THREAD_THAT_RUNS_A_HANDLER_IS_WAITED_FOR(Life.CLOSED,
				Mutation.fieldReads(MessageWindow.class, "close", "threads", 0)),

		A_WINDOW_THAT_IS_RESERVED_IS_NOT_GIVEN_UP(Life.EQUAL_KEYS,
				Mutation.fieldReads(MessageWindow.class, "giveUp", "reserved", 0)),

		A_WINDOW_THAT_WAS_GIVEN_UP_IS_NOT_RESERVED(Life.EQUAL_KEYS,
				Mutation.fieldReads(MessageWindow.class, "reserve", "givenUp", 0)),

		A_WINDOW_WITH_A_REPLY_THAT_IS_OWED_IS_NOT_GIVEN_UP(Life.LATER_REPLIES,
				Mutation.fieldReads(MessageWindow.class, "giveUp", "size", 0));

		private final Life life;

		private final Mutation mutation;

		Rule(Life life, Mutation mutation) {
			this.life = life;
			this.mutation = mutation;
		}

	}

	@ParameterizedTest
	@EnumSource
	void nothingIsLostOrHandledTwice(Life life) {
		life.exploration().preemptions(2).assertSound();
	}

	@Test
	@Tag("stress")
	void nothingOfManyMessagesIsLostOrHandledTwice() {
		for (boolean closed : new boolean[] { false, true }) {
			for (String keys : new String[] { "aba", "AbA", "aAab", "ABab" }) {
				Exploration.of(Connection.class, keys, 2, closed).preemptions(3).assertSoundAtRandom(10_000);
			}
		}
	}

	@ParameterizedTest
	@EnumSource
	void noRuleCanBeDropped(Rule rule) {
		rule.life.exploration().preemptions(2).with(rule.mutation).assertViolated();
	}

	/**
	 * One connection, and two threads that own it, lead and run handlers in turn.
	 */
	static final class Connection extends HandleState implements Scenario {

		private final String keys;

		private final int limit;

		private final boolean closes;

		/** The messages in flight, or {@code null} if there are none. */
		private volatile @Nullable MessageWindow<Message> window;

		/** The number of looks that were requested and have not been made. */
		private volatile int looks;

		private volatile boolean closing;

		// The owner's

		private int received;

		private boolean closed;

		// What has happened

		private final List<Message> running = new ArrayList<>();

		private final StringBuilder handled = new StringBuilder();

		private int ends;

		private static final class Message extends MessageWindow.Place {

			final int number;

			final char key;

			final MessageWindow<Message> window;

			Message(int number, char key, MessageWindow<Message> window) {
				this.number = number;
				this.key = key;
				this.window = window;
			}

		}

		Connection(String keys, int limit, boolean closes) {
			this.keys = keys;
			this.limit = limit;
			this.closes = closes;
		}

		private MessageWindow<Message> reserve() {
			MessageWindow<Message> current = this.window;
			if (current == null || !current.reserve()) {
				current = new MessageWindow<>(this.limit);
				current.reserve();
				use(current);
			}
			return current;
		}

		private synchronized void use(MessageWindow<Message> fresh) {
			this.window = fresh;
		}

		private synchronized void giveUpIfIdle(MessageWindow<Message> candidate) {
			if (candidate.giveUp() && this.window == candidate) {
				this.window = null;
			}
		}

		private boolean hasRoom() {
			MessageWindow<Message> current = this.window;
			return current == null || current.hasRoom(0);
		}

		private boolean hasDue() {
			MessageWindow<Message> current = this.window;
			return current != null && current.hasDue();
		}

		@Override
		public void begin() {
			pause();
			look();
			Interleaving.start("one", this::lead);
			Interleaving.start("other", this::lead);
			if (this.closes) {
				Interleaving.start("closer", () -> {
					this.closing = true;
					look();
				});
			}
		}

		private synchronized void look() {
			this.looks++;
		}

		private synchronized boolean seeLook() {
			boolean taken = this.looks > 0;
			this.looks -= taken ? 1 : 0;
			return taken;
		}

		private void lead() {
			for (;;) {
				Interleaving.beginAnew("lead");
				Interleaving.await("a look", () -> this.looks > 0);
				if (seeLook() && claimForLook() == Claim.CLAIMED) {
					own();
				}
			}
		}

		/** Runs in a loop as long as the handle is owned or there is a handler to run. */
		private void own() {
			boolean owns = true;
			while (owns) {
				Message message = prepare();
				if (message != null) {
					owns = run(message);
				}
				else if (this.closed) {
					markClosed();
					owns = false;
				}
				else {
					owns = pauseOrGoOn();
				}
			}
		}

		/** Returns a message to handle, after the handle was given back for it. */
		private @Nullable Message prepare() {
			if (this.closing) {
				end();
				return null;
			}
			MessageWindow<Message> current = this.window;
			Message message = (current != null) ? current.takeDue() : null;
			while (message == null && this.received < this.keys.length() && hasRoom()) {
				char key = Character.toLowerCase(this.keys.charAt(this.received));
				current = reserve();
				Message next = new Message(this.received++, key, current);
				if (current.enter(next, key)) {
					message = next;
				}
				if (current.size() > this.limit) {
					Interleaving.fail("more in flight than there may be");
				}
			}
			if (message != null) {
				Release released;
				do {
					released = release();
				}
				while (released == Release.LOOK_AGAIN);
				look();
			}
			return message;
		}

		private void end() {
			this.closed = true;
			MessageWindow<Message> current = this.window;
			boolean isLast = current == null || current.close();
			while (current != null && current.dropNext() != null) {
				Interleaving.step("drops");
			}
			if (isLast) {
				reportClose();
			}
		}

		private boolean pauseOrGoOn() {
			if (pause() == Release.LOOK_AGAIN) {
				return true;
			}
			lookIfThereIsRoom();
			return false;
		}

		private void lookIfThereIsRoom() {
			boolean more = this.received < this.keys.length() && hasRoom();
			if (more || hasDue() || this.closing) {
				look();
			}
		}

		private boolean run(Message first) {
			Message message = first;
			while (message != null) {
				if (!this.closing) {
					handle(message);
				}
				message = letGo(message, true);
				if (message != null && isPaused()) {
					look();
				}
			}
			if (first.window.depart()) {
				reportClose();
			}
			else {
				giveUpIfIdle(first.window);
			}
			return goesOn();
		}

		private boolean goesOn() {
			if (isPaused() && claimPaused()) {
				return true;
			}
			if (hasDue()) {
				look();
			}
			return false;
		}

		private void handle(Message message) {
			if (this.ends > 0) {
				Interleaving.fail("handled after the end");
			}
			if (this.running.stream().anyMatch((other) -> other.key == message.key)) {
				Interleaving.fail("two with equal keys at a time");
			}
			this.running.add(message);
			boolean later = Character.isUpperCase(this.keys.charAt(message.number));
			if (later) {
				if (!message.window.hold(message)) {
					Interleaving.fail("a message that is handled cannot be held");
				}
				Interleaving.start("reply" + message.number, () -> settle(message));
			}
			Interleaving.step("handles");
			if (this.window != message.window) {
				Interleaving.fail("the window of a message in flight was given up");
			}
			this.handled.append(message.number);
			if (!later) {
				this.running.remove(message);
			}
		}

		private void settle(Message message) {
			Interleaving.step("replies");
			this.running.remove(message);
			letGo(message, false);
			giveUpIfIdle(message.window);
			if (isPaused() || hasDue()) {
				look();
			}
		}

		private @Nullable Message letGo(Message message, boolean goesOn) {
			return message.window.letGo(message) ? message.window.end(message, goesOn) : null;
		}

		private void reportClose() {
			this.ends++;
			Interleaving.step("reports the end");
		}

		@Override
		public @Nullable String violationAtRest() {
			String all = this.handled.toString();
			if (!this.closes) {
				for (int i = 0; i < this.keys.length(); i++) {
					if (all.indexOf('0' + i) < 0 || all.indexOf('0' + i) != all.lastIndexOf('0' + i)) {
						return "handled: " + all;
					}
				}
				return (this.window == null) ? null : "a window is left, with " + this.window.size() + " in flight";
			}
			return (this.ends == 1) ? null : "ended " + this.ends + " times";
		}

	}

}
