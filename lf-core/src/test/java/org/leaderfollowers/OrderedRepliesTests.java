package org.leaderfollowers;

import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;

import org.junit.jupiter.api.Test;
import org.leaderfollowers.internal.buffer.MemoryBudget;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

/**
 * Tests what {@link OrderedReplies} asks of its outlet. The messages are called by the
 * order of their arrival.
 */
class OrderedRepliesTests {

	private static final int HIGH_WATER_MARK = 20;

	private final MemoryBudget memory = new MemoryBudget(1000);

	private final Outlet outlet = new Outlet();

	private final InFlight window = new InFlight(this.outlet, new WindowOptions(4, null, ReplyOrder.ARRIVAL));

	private final OrderedReplies replies = this.window.replies;

	private final WindowedMessage first = arrived();

	private final WindowedMessage second = arrived();

	private final WindowedMessage third = arrived();

	/** A connection that records what is asked of it. It counts as open in any case. */
	private final class Outlet implements OrderedReplies.Outlet {

		private final List<String> seen = new ArrayList<>();

		/** What sending throws, or {@code null}. */
		private RuntimeException failure;

		/** What closing throws, or {@code null}. */
		private OutOfMemoryError shortage;

		@Override
		public void sendNow(ByteBuffer reply) {
			if (this.failure != null) {
				throw this.failure;
			}
			this.seen.add(Engine.text(reply.duplicate()));
		}

		@Override
		public ByteBuffer hold(ByteBuffer reply, long heldBytes, Deque<ByteBuffer> frames) {
			if (this.failure != null) {
				throw this.failure;
			}
			ByteBuffer frame = OrderedRepliesTests.this.memory.allocateLast(reply.remaining(), frames);
			return frame.put(reply.duplicate()).flip();
		}

		@Override
		public void sendHeld(ByteBuffer frame) {
			this.seen.add(Engine.text(frame));
			OrderedRepliesTests.this.memory.release(frame.capacity());
		}

		@Override
		public boolean isOpen() {
			return true;
		}

		@Override
		public void relieve() {
			this.seen.add("relieve");
		}

		@Override
		public void closeNow(CloseReason reason) {
			if (this.shortage != null) {
				throw this.shortage;
			}
			this.seen.add("close " + reason);
		}

	}

	private WindowedMessage arrived() {
		WindowedMessage message = new WindowedMessage(null, this.window);
		this.replies.arrived(message);
		return message;
	}

	private void send(WindowedMessage message, String reply) {
		this.replies.send(message, Engine.bytes(reply));
	}

	@Test
	void repliesLeaveInTheOrderOfTheMessages() {
		send(this.third, "third");
		send(this.second, "second");
		send(this.first, "first");
		this.replies.ended(this.third);
		assertThat(this.outlet.seen).containsExactly("first");
		assertThat(this.replies.heldBytes()).isEqualTo(11);
		this.replies.ended(this.first);
		assertThat(this.outlet.seen).containsExactly("first", "second");
		this.replies.ended(this.second);
		assertThat(this.outlet.seen).containsExactly("first", "second", "third");
		assertThat(this.memory.used()).isZero();
		assertThat(this.replies.heldBytes()).isZero();
	}

	@Test
	void partsOfAReplyThatWasHeldLeaveInTheirOrder() {
		send(this.second, "2a");
		send(this.second, "2b");
		send(this.second, "2c");
		this.replies.ended(this.second);
		this.replies.ended(this.first);
		assertThat(this.outlet.seen).containsExactly("2a", "2b", "2c");
	}

	/** What is sent after the answer is no part of it, and nothing waits for it. */
	@Test
	void messageThatHasBeenAnsweredHoldsNothing() {
		send(this.third, "x".repeat(HIGH_WATER_MARK));
		this.replies.ended(this.second);
		send(this.second, "news");
		assertThat(this.outlet.seen).containsExactly("news");
		assertThat(OrderedReplies.holdsBack(this.second, HIGH_WATER_MARK)).isFalse();
	}

	/** The next owner closes the connection. */
	@Test
	void noReplyFollowsAMissingOneIfMemoryIsTooShortToClose() {
		this.outlet.shortage = new OutOfMemoryError("made for the test");
		this.replies.closeBehind(this.first, CloseReason.HANDLER_ERROR);
		assertThatExceptionOfType(OutOfMemoryError.class).isThrownBy(() -> this.replies.ended(this.first));
		send(this.second, "second");
		this.replies.ended(this.second);
		send(this.third, "third");
		assertThat(this.outlet.seen).isEmpty();
		this.replies.discard(this.memory);
		assertThat(this.memory.used()).isZero();
	}

	@Test
	void laterRepliesAreHeldBackFromTheHighWaterMarkOn() {
		send(this.third, "x".repeat(HIGH_WATER_MARK - 1));
		assertThat(OrderedReplies.holdsBack(this.third, HIGH_WATER_MARK)).isFalse();
		send(this.third, "x");
		assertThat(OrderedReplies.holdsBack(this.third, HIGH_WATER_MARK)).isTrue();
		assertThat(OrderedReplies.holdsBack(this.first, HIGH_WATER_MARK)).isFalse();
	}

	@Test
	void whoIsHeldBackIsToldOnce() {
		send(this.third, "x".repeat(HIGH_WATER_MARK));
		assertThat(OrderedReplies.holdsBack(this.second, HIGH_WATER_MARK)).isTrue();
		this.replies.ended(this.first);
		assertThat(this.outlet.seen).containsExactly("relieve");
		this.replies.ended(this.second);
		assertThat(this.outlet.seen).containsExactly("relieve", "x".repeat(HIGH_WATER_MARK));
	}

	@Test
	void slowConsumerIsToldWhenThereIsRoomAgain() {
		this.outlet.failure = new SlowConsumerException("slow");
		assertThatExceptionOfType(SlowConsumerException.class).isThrownBy(() -> send(this.second, "second"));
		this.outlet.failure = null;
		this.replies.ended(this.first);
		assertThat(this.outlet.seen).containsExactly("relieve");
	}

	@Test
	void nothingFollowsAReplyThatIsMissing() {
		send(this.second, "second");
		this.outlet.failure = new ConnectionClosedException("closed", CloseReason.IO_ERROR, null);
		assertThatExceptionOfType(ConnectionClosedException.class).isThrownBy(() -> send(this.first, "first"));
		this.outlet.failure = null;
		this.replies.ended(this.first);
		assertThat(this.outlet.seen).isEmpty();
	}

	@Test
	void connectionClosesBehindAMessageAndItsPredecessors() {
		send(this.second, "second");
		send(this.third, "third");
		this.replies.ended(this.second);
		this.replies.closeBehind(this.second, CloseReason.LOCAL);
		assertThat(this.outlet.seen).isEmpty();
		this.replies.ended(this.first);
		assertThat(this.outlet.seen).containsExactly("second", "close LOCAL");
		this.replies.ended(this.third);
		assertThat(this.outlet.seen).as("no more").hasSize(2);
	}

	@Test
	void nothingFollowsAMessageThatHasBeenAnsweredAndClosesTheConnection() {
		send(this.third, "third");
		this.replies.ended(this.first);
		this.replies.closeBehind(this.first, CloseReason.LOCAL);
		this.replies.ended(this.second);
		assertThat(this.outlet.seen).containsExactly("close LOCAL");
	}

	@Test
	void onlyTheFirstReasonCountsAndNothingFollows() {
		send(this.third, "third");
		this.replies.closeBehind(this.first, CloseReason.HANDLER_ERROR);
		this.replies.closeBehind(this.first, CloseReason.LOCAL);
		this.replies.ended(this.first);
		assertThat(this.outlet.seen).containsExactly("close HANDLER_ERROR");
		this.replies.ended(this.second);
		assertThat(this.outlet.seen).as("no more").hasSize(1);
	}

	@Test
	void discardedRepliesGiveTheirMemoryBack() {
		send(this.second, "second");
		send(this.second, "part");
		send(this.third, "third");
		this.replies.discard(this.memory);
		assertThat(this.memory.used()).isZero();
		assertThat(this.replies.heldBytes()).isZero();
		this.replies.ended(this.first);
		assertThat(this.outlet.seen).isEmpty();
	}

	/** It never enters the window, so nothing would end it. */
	@Test
	void messageHasNotArrivedIfTheDequeFailsAfterwards() {
		OrderedReplies failing = new OrderedReplies(this.outlet, new ArrayDeque<>() {

			@Override
			public void addLast(WindowedMessage message) {
				super.addLast(message);
				if (message == OrderedRepliesTests.this.second) {
					throw new OutOfMemoryError("made for the test");
				}
			}

		});
		failing.arrived(this.first);
		assertThatExceptionOfType(OutOfMemoryError.class).isThrownBy(() -> failing.arrived(this.second));
		failing.arrived(this.third);
		failing.send(this.third, Engine.bytes("third"));
		failing.ended(this.first);
		assertThat(this.outlet.seen).containsExactly("third");
	}

	/** Otherwise the connection could never be counted out. */
	@Test
	void messageLeavesTheWindowAlthoughItsConnectionCannotBeClosed() {
		InFlight other = new InFlight(this.outlet, new WindowOptions(4, null, ReplyOrder.ARRIVAL));
		other.reserve();
		WindowedMessage message = new WindowedMessage(null, other);
		other.replies.arrived(message);
		assertThat(other.enter(message, null)).isTrue();
		assertThat(other.closeBehind(message, CloseReason.LOCAL)).isTrue();
		this.outlet.shortage = new OutOfMemoryError("made for the test");
		assertThatExceptionOfType(OutOfMemoryError.class).isThrownBy(() -> other.letGo(message, true));
		assertThat(other.size()).isZero();
	}

}
