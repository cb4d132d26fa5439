package org.leaderfollowers;

import java.nio.ByteBuffer;
import java.util.Deque;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.leaderfollowers.interleavings.Exploration;
import org.leaderfollowers.interleavings.Interleaving;
import org.leaderfollowers.interleavings.Mutation;
import org.leaderfollowers.interleavings.Scenario;
import org.leaderfollowers.internal.buffer.MemoryBudget;

/**
 * The interleavings of replies that leave in the order of arrival: each reply leaves once
 * and in its place, none remains or outlives the connection, and a connection that is to
 * be closed after a reply is closed there.
 */
@Tag("interleavings")
class OrderedRepliesInterleavingTests {

	/**
	 * The messages of a connection, a letter for each. All but those that fail are
	 * replied to twice: by the <em>h</em>andler; <em>l</em>ater, by another thread; by
	 * two <em>o</em>ther threads; by the handler, which then <em>q</em>uits; or later, by
	 * a thread that closes the connection <em>a</em>fter it has closed the owed reply.
	 * <em>f</em>: its handler fails. <em>s</em>: its handler is skipped if the connection
	 * is being closed.
	 */
	private enum Life {

		HANDLERS("hh", false),

		THREE_HANDLERS("hhh", false),

		LATER_REPLIES("lh", false),

		TWO_OWED_REPLIES("ho", false),

		CLOSED_BEHIND_A_REPLY("hqh", false),

		CLOSED_BEHIND_THE_FIRST_REPLY("qhh", false),

		CLOSED_BEHIND_A_FAILURE("hfh", false),

		CLOSED_AFTER_A_REPLY("ha", false),

		BROKEN("hh", true),

		SKIPPED_BECAUSE_ANOTHER_THREAD_CLOSES("sh", true),

		SKIPPED_BEHIND_A_REPLY("hsh", true),

		BROKEN_WITH_LATER_REPLIES("lh", true);

		private final String messages;

		private final boolean breaks;

		Life(String messages, boolean breaks) {
			this.messages = messages;
			this.breaks = breaks;
		}

		Exploration exploration() {
			return Exploration.of(Outlet.class, this.messages, this.breaks);
		}

	}

	private enum Rule {

		A_REPLY_WAITS_FOR_EARLIER_ONES(Life.HANDLERS, Mutation.fieldReads(OrderedReplies.class, "send", "ended", 1)),

		THE_OLDEST_MESSAGE_IS_REPLIED_TO_AT_ONCE(Life.HANDLERS,
				Mutation.callReturns(OrderedReplies.class, "send", "peekFirst", 0)),

		A_MESSAGE_THAT_IS_ANSWERED_GIVES_WAY(Life.HANDLERS,
				Mutation.fieldReads(OrderedReplies.class, "ended", "ended", 0)),

		THE_NEXT_MESSAGE_SENDS_WHAT_IT_HOLDS(Life.HANDLERS,
				Mutation.withoutCall(OrderedReplies.class, "ended", "sendHeld")),

		ALL_THAT_IS_HELD_IS_SENT(Life.HANDLERS, Mutation.callReturns(OrderedReplies.class, "sendHeld", "pollFirst", 0)),

		A_REPLY_THAT_IS_OWED_HOLDS_THE_PLACE(Life.LATER_REPLIES,
				Mutation.callReturns(InFlight.class, "letGo", "letGo", 1)),

		A_MESSAGE_IS_IN_FLIGHT_UNTIL_ITS_REPLY_HAS_LEFT(Life.HANDLERS,
				Mutation.movedBehind(InFlight.class, "letGo", "ended", "end")),

		NOTHING_LEAVES_BEHIND_THE_LAST_REPLY(Life.CLOSED_BEHIND_A_REPLY,
				Mutation.withoutCall(OrderedReplies.class, "ended", "closeNow")),

		NOTHING_THAT_IS_HELD_LEAVES_BEHIND_THE_LAST_REPLY(Life.CLOSED_BEHIND_THE_FIRST_REPLY,
				Mutation.fieldReads(OrderedReplies.class, "ended", "over", 0)),

		NOTHING_LEAVES_INSTEAD_OF_A_MISSING_REPLY(Life.CLOSED_BEHIND_A_FAILURE,
				Mutation.fieldReads(OrderedReplies.class, "hasReplied", "replied", 1)),

		A_MESSAGE_THAT_HAS_LEFT_CLOSES_AT_ONCE(Life.CLOSED_AFTER_A_REPLY,
				Mutation.callReturns(OrderedReplies.class, "closeBehind", "contains", 1)),

		NOTHING_LEAVES_INSTEAD_OF_A_MESSAGE_THAT_WAS_SKIPPED(Life.SKIPPED_BECAUSE_ANOTHER_THREAD_CLOSES,
				Mutation.callReturns(OrderedReplies.class, "ended", "isOpen", 1)),

		NOTHING_LEAVES_BEHIND_A_REPLY_THAT_WAS_REFUSED(Life.BROKEN,
				Mutation.fieldReads(OrderedReplies.class, "ended", "over", 0)),

		WHAT_IS_HELD_IS_FORGOTTEN_WITH_THE_CONNECTION(Life.BROKEN,
				Mutation.withoutCall(OrderedReplies.class, "discard", "release"));

		private final Life life;

		private final Mutation mutation;

		Rule(Life life, Mutation mutation) {
			this.life = life;
			this.mutation = mutation;
		}

	}

	@ParameterizedTest
	@EnumSource
	void everyReplyLeavesInItsPlace(Life life) {
		life.exploration().preemptions(2).assertSound();
	}

	@Test
	@Tag("stress")
	void everyReplyOfManyMessagesLeavesInItsPlace() {
		for (String messages : new String[] { "hlho", "lolh", "lhqh", "hlfl", "olal", "sslh" }) {
			for (boolean breaks : new boolean[] { false, true }) {
				Exploration.of(Outlet.class, messages, breaks).assertSoundAtRandom(10_000);
			}
		}
	}

	@ParameterizedTest
	@EnumSource
	void noRuleCanBeDropped(Rule rule) {
		rule.life.exploration().preemptions(2).with(rule.mutation).assertViolated();
	}

	/**
	 * One connection, which refuses what is sent while it closes; the owner that lets its
	 * messages in and closes it, and a thread for each handler and each reply that comes
	 * later.
	 */
	static final class Outlet implements Scenario, OrderedReplies.Outlet {

		private static final int PARTS = 2;

		private final String messages;

		private final boolean breaks;

		private final MemoryBudget memory = new MemoryBudget(1000);

		private final InFlight window;

		private final OrderedReplies replies;

		/** How many messages have been answered; written for the owner. */
		private volatile int answered;

		/** Whether the connection is to be closed. */
		private volatile boolean closing;

		private volatile boolean closed;

		/** Whether a frame is being written. */
		private volatile boolean writing;

		/** The letters of the parts of replies that have left, in order. */
		private volatile String sent = "";

		Outlet(String messages, boolean breaks) {
			this.messages = messages;
			this.breaks = breaks;
			this.window = new InFlight(this, new WindowOptions(messages.length(), null, ReplyOrder.ARRIVAL));
			this.replies = this.window.replies;
		}

		@Override
		public void begin() {
			Interleaving.start("owner", this::own);
			if (this.breaks) {
				Interleaving.start("breaks", () -> this.closing = true);
			}
		}

		/** Lets messages in, and closes the connection when all have been answered. */
		private void own() {
			this.window.reserve();
			for (int i = 0; i < this.messages.length() && !this.closing; i++) {
				WindowedMessage message = new WindowedMessage(null, this.window);
				int number = i;
				this.replies.arrived(message);
				this.window.enter(message, null);
				Interleaving.start("handler" + i, () -> handle(message, number));
			}
			for (int seen = this.answered; this.window.size() > 0 && !this.closing; seen = this.answered) {
				int before = seen;
				Interleaving.await("an answer", () -> this.answered != before || this.closing);
			}
			this.closed = true;
			this.window.close();
			while (this.window.dropNext() != null) {
				Interleaving.step("drops");
			}
			this.window.discardReplies(this.memory);
		}

		private void handle(WindowedMessage message, int number) {
			switch (this.messages.charAt(number)) {
				case 'l' -> later("reply" + number, message, () -> reply(message, number, PARTS));
				case 'o' -> {
					later("reply" + number, message, () -> reply(message, number, 1));
					later("other" + number, message, () -> reply(message, number, 1));
				}
				case 'a' -> {
					this.window.hold(message);
					Interleaving.start("reply" + number, () -> {
						reply(message, number, PARTS);
						letGo(message);
						this.window.closeBehind(message, CloseReason.LOCAL);
					});
				}
				case 's' -> {
					if (!this.closing) {
						reply(message, number, PARTS);
					}
				}
				case 'f' -> {
					if (!this.replies.hasReplied(message)) {
						this.window.closeBehind(message, CloseReason.HANDLER_ERROR);
					}
				}
				case 'q' -> {
					reply(message, number, PARTS);
					this.window.closeBehind(message, CloseReason.LOCAL);
				}
				default -> reply(message, number, PARTS);
			}
			letGo(message);
			this.window.depart();
		}

		private void later(String name, WindowedMessage message, Runnable replies) {
			this.window.hold(message);
			Interleaving.start(name, () -> {
				replies.run();
				letGo(message);
			});
		}

		private void reply(WindowedMessage message, int number, int parts) {
			try {
				for (int i = 0; i < parts; i++) {
					this.replies.send(message, ByteBuffer.allocate(1).put(0, (byte) letter(number, i)));
				}
			}
			catch (ConnectionClosedException ex) {
				if (!this.closing) {
					Interleaving.fail("refused though the connection is open");
				}
			}
		}

		private static char letter(int number, int part) {
			return (char) ('A' + number * PARTS + part);
		}

		private void letGo(WindowedMessage message) {
			this.window.letGo(message, true);
			noteAnswer();
		}

		private synchronized void noteAnswer() {
			this.answered++;
		}

		@Override
		public void sendNow(ByteBuffer reply) {
			checkOpen();
			write(reply.get(reply.position()));
		}

		private void checkOpen() {
			if (this.closing) {
				throw new ConnectionClosedException("closed", CloseReason.LOCAL, null);
			}
		}

		private void write(byte letter) {
			if (this.writing) {
				Interleaving.fail("two frames at a time");
			}
			this.writing = true;
			Interleaving.step("writes");
			this.sent += (char) letter;
			this.writing = false;
		}

		@Override
		public ByteBuffer hold(ByteBuffer reply, long heldBytes, Deque<ByteBuffer> frames) {
			checkOpen();
			ByteBuffer frame = this.memory.allocateLast(1, frames);
			return frame.put(0, reply.get(reply.position()));
		}

		@Override
		public boolean isOpen() {
			return !this.closing;
		}

		@Override
		public void relieve() {
		}

		@Override
		public void sendHeld(ByteBuffer frame) {
			if (this.closed && !this.closing) {
				Interleaving.fail("closed before a reply that was held");
			}
			if (!this.closed) {
				write(frame.get(0));
			}
			this.memory.release(frame.capacity());
		}

		@Override
		public void closeNow(CloseReason reason) {
			this.closing = true;
		}

		@Override
		public String violationAtRest() {
			if (!this.closed) {
				return "not closed; sent: " + this.sent;
			}
			if (this.memory.used() != 0 || this.replies.heldBytes() != 0) {
				return "memory is left behind";
			}
			StringBuilder all = new StringBuilder();
			int must = Integer.MAX_VALUE;
			for (int i = 0; i < this.messages.length(); i++) {
				char message = this.messages.charAt(i);
				for (int part = 0; part < PARTS && message != 'f'; part++) {
					// Each of two threads sends a first part.
					all.append(letter(i, (message != 'o') ? part : 0));
				}
				must = ("fqa".indexOf(message) >= 0) ? Math.min(must, all.length()) : must;
				if (message == 'f' || message == 'q') {
					break;
				}
			}
			if (must != Integer.MAX_VALUE && !this.closing) {
				return "the connection was not to be closed";
			}
			boolean complete = this.breaks || this.sent.length() >= Math.min(must, all.length());
			return (complete && all.toString().startsWith(this.sent)) ? null : "sent: " + this.sent;
		}

	}

}
