package org.leaderfollowers.internal.window;

import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;

/** Tests how a window counts its messages and threads. */
class MessageWindowTests {

	private final MessageWindow<Message> window = new MessageWindow<>(2);

	private Message entered(Object key, boolean runs) {
		Message message = new Message();
		assertThat(this.window.reserve()).isTrue();
		assertThat(this.window.enter(message, key)).isEqualTo(runs);
		return message;
	}

	@Test
	void thereIsRoomUpToTheLimit() {
		assertThat(this.window.hasRoom(0)).isTrue();
		entered("a", true);
		assertThat(this.window.hasRoom(0)).isTrue();
		entered("b", true);
		assertThat(this.window.hasRoom(0)).isFalse();
		assertThat(this.window.hasRoom(1)).isTrue();
		assertThat(this.window.size()).isEqualTo(2);
		assertThat(this.window.threads()).isEqualTo(2);
	}

	@Test
	void messageThatIsDueIsTakenOnceAndItsThreadIsCounted() {
		Message first = entered("a", true);
		Message second = entered("a", false);
		assertThat(this.window.isBusy("a")).isTrue();
		assertThat(this.window.hasDue()).isFalse();
		assertThat(this.window.takeDue()).isNull();
		assertThat(this.window.letGo(first)).isTrue();
		assertThat(this.window.end(first, false)).isNull();
		assertThat(this.window.depart()).isFalse();
		assertThat(this.window.threads()).isZero();
		assertThat(this.window.hasDue()).isTrue();
		assertThat(this.window.takeDue()).isSameAs(second);
		assertThat(this.window.hasDue()).isFalse();
		assertThat(this.window.threads()).isOne();
		assertThat(this.window.letGo(second)).isTrue();
		assertThat(this.window.end(second, true)).isNull();
		assertThat(this.window.close()).isFalse();
		assertThat(this.window.depart()).isTrue();
	}

	@Test
	void messagesWithEqualKeysHaveTheirTurnsInTheOrderOfArrival() {
		Message first = entered("a", true);
		Message other = entered("b", true);
		Message second = entered("a", false);
		Message third = entered("a", false);
		this.window.letGo(other);
		assertThat(this.window.end(other, true)).isNull();
		this.window.letGo(first);
		assertThat(this.window.end(first, true)).isSameAs(second);
		Message fourth = entered("a", false);
		this.window.letGo(second);
		assertThat(this.window.end(second, true)).isSameAs(third);
		this.window.letGo(third);
		assertThat(this.window.end(third, true)).isSameAs(fourth);
		this.window.letGo(fourth);
		assertThat(this.window.end(fourth, true)).isNull();
	}

	/** Otherwise the thread would count for ever, and the next message would wait. */
	@Test
	void keysThatFailDoNotKeepAMessageFromItsEnd() {
		Key key = new Key();
		Message first = entered(key, true);
		Message second = entered(key, false);
		key.fails = true;
		this.window.letGo(first);
		assertThat(this.window.end(first, true)).isSameAs(second);
		this.window.letGo(second);
		assertThat(this.window.end(second, true)).isNull();
		this.window.depart();
		assertThat(this.window.giveUp()).isTrue();
	}

	private static final class Key {

		private boolean fails;

		@Override
		public boolean equals(Object other) {
			if (this.fails) {
				throw new IllegalStateException("made for the test");
			}
			return other == this;
		}

		@Override
		public int hashCode() {
			return 0;
		}

	}

	@Test
	void messagesThatAreDroppedAreNotDueAnyMore() {
		Message first = entered("a", true);
		Message second = entered("a", false);
		this.window.letGo(first);
		this.window.end(first, false);
		this.window.depart();
		assertThat(this.window.close()).isTrue();
		assertThat(this.window.dropNext()).isSameAs(second);
		assertThat(this.window.hasDue()).isFalse();
		assertThat(this.window.size()).isZero();
		assertThat(this.window.dropNext()).isNull();
	}

	@Test
	void messageIsInFlightUntilItsLastHoldHasEnded() {
		Message message = entered("a", true);
		assertThat(this.window.hold(message)).isTrue();
		assertThat(this.window.letGo(message)).isFalse();
		assertThat(this.window.hold(message)).isTrue();
		assertThat(this.window.letGo(message)).isFalse();
		assertThat(this.window.letGo(message)).isTrue();
		assertThat(this.window.hold(message)).isFalse();
		this.window.end(message, true);
		assertThat(this.window.size()).isZero();
	}

	@Test
	void windowIsGivenUpOnceAndNotWhileAMessageIsAboutToEnter() {
		assertThat(this.window.reserve()).isTrue();
		assertThat(this.window.giveUp()).isFalse();
		Message message = new Message();
		this.window.enter(message, "a");
		assertThat(this.window.giveUp()).isFalse();
		this.window.letGo(message);
		this.window.end(message, true);
		assertThat(this.window.giveUp()).isFalse();
		this.window.depart();
		assertThat(this.window.giveUp()).isTrue();
		assertThat(this.window.giveUp()).isFalse();
		assertThat(this.window.reserve()).isFalse();
	}

	@Test
	void nextMessageThatIsTakenIsNotDropped() {
		Message first = entered("a", true);
		Message second = entered("a", false);
		this.window.letGo(first);
		assertThat(this.window.end(first, true)).isSameAs(second);
		assertThat(this.window.close()).isFalse();
		assertThat(this.window.dropNext()).isNull();
		assertThat(this.window.size()).isOne();
	}

	@Test
	void windowIsNotGivenUpWhileAReplyIsOwedOrAfterItWasClosed() {
		Message message = entered("a", true);
		this.window.hold(message);
		this.window.letGo(message);
		this.window.depart();
		assertThat(this.window.giveUp()).isFalse();
		this.window.letGo(message);
		this.window.end(message, false);
		this.window.close();
		assertThat(this.window.giveUp()).isFalse();
	}

	private static final class Message extends MessageWindow.Place {

	}

}
