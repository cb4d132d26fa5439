package org.leaderfollowers.internal.window;

import org.jspecify.annotations.Nullable;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.III_Result;

/** Races between the threads that end messages of one connection and its owner. */
public class MessageWindowStress {

	private static final class Message extends MessageWindow.Place {

		int handled;

	}

	/**
	 * A handler returns and a reply that it owed is settled, while the owner lets a
	 * message with an equal key in.
	 */
	@JCStressTest
	@State
	@Outcome(id = { "1, 0, 1", "0, 1, 1" }, expect = Expect.ACCEPTABLE, desc = "the next one is taken by one of them")
	@Outcome(id = "0, 0, 1", expect = Expect.ACCEPTABLE, desc = "the owner runs it at once, or takes it when it is due")
	@Outcome(expect = Expect.FORBIDDEN, desc = "the next message is lost, or handled twice")
	public static class HandlerReplyAndOwner {

		private final MessageWindow<Message> window = new MessageWindow<>(2);

		private final Message first = new Message();

		private final Message next = new Message();

		public HandlerReplyAndOwner() {
			this.window.enter(this.first, "key");
			this.window.hold(this.first);
		}

		private int letGo(boolean goesOn) {
			@Nullable Message taken = this.window.letGo(this.first) ? this.window.end(this.first, goesOn) : null;
			if (taken == null) {
				return 0;
			}
			taken.handled++;
			return 1;
		}

		@Actor
		public void handler(III_Result result) {
			result.r1 = letGo(true);
		}

		@Actor
		public void reply(III_Result result) {
			result.r2 = letGo(false);
		}

		@Actor
		public void owner() {
			if (this.window.enter(this.next, "key")) {
				this.next.handled++;
			}
		}

		@Arbiter
		public void outcome(III_Result result) {
			@Nullable Message due = this.window.takeDue();
			if (due != null) {
				due.handled++;
			}
			result.r3 = this.next.handled;
		}

	}

	/**
	 * Two handlers return while the connection is closed.
	 */
	@JCStressTest
	@State
	@Outcome(id = { "1, 0, 0", "0, 1, 0", "0, 0, 1" }, expect = Expect.ACCEPTABLE, desc = "one of them is the last")
	@Outcome(expect = Expect.FORBIDDEN, desc = "nobody is the last, or two are")
	public static class TheLast {

		private final MessageWindow<Message> window = new MessageWindow<>(2);

		public TheLast() {
			this.window.enter(new Message(), null);
			this.window.enter(new Message(), null);
		}

		@Actor
		public void one(III_Result result) {
			result.r1 = this.window.depart() ? 1 : 0;
		}

		@Actor
		public void other(III_Result result) {
			result.r2 = this.window.depart() ? 1 : 0;
		}

		@Actor
		public void closer(III_Result result) {
			result.r3 = this.window.close() ? 1 : 0;
		}

	}

}
