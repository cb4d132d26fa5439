package org.leaderfollowers;

import java.net.InetSocketAddress;
import java.util.Set;

import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.leaderfollowers.interleavings.Exploration;
import org.leaderfollowers.interleavings.Interleaving;
import org.leaderfollowers.interleavings.Mutation;
import org.leaderfollowers.interleavings.Scenario;

/**
 * The interleavings of a handler that suspends its datagram, the thread that replies
 * later, and the leader whose timer ends suspensions: the datagram ends once, and it ends
 * although nobody resumes it.
 */
@Tag("interleavings")
class DatagramInterleavingTests {

	/**
	 * What the handler does, a letter for each step: it suspends the datagram and
	 * <em>r</em>esumes it, leaves the resumption to a thread that does so <em>l</em>ater,
	 * or <em>n</em>ever resumes; or it ends replying, a <em>c</em>lose.
	 */
	private enum Handler {

		LATER("l"),

		NEVER("n"),

		NEVER_TWICE("nn"),

		RESUMES_AND_SUSPENDS_AGAIN("rn"),

		RESUMES_AND_LEAVES_IT_TO_ANOTHER("rl"),

		LATER_AND_NEVER("ln"),

		SUSPENDS_AND_CLOSES("nc"),

		CLOSES_AND_SUSPENDS("cn");

		private final String steps;

		Handler(String steps) {
			this.steps = steps;
		}

		Exploration exploration() {
			return Exploration.of(Suspending.class, this.steps)
				.preemptions(2)
				.adapted(Mutation.calledInstead(Datagram.class, "hold", "suspended", Suspending.class, "suspended"),
						Mutation.calledInstead(Datagram.class, "resume", "finished", Suspending.class, "finished"),
						Mutation.calledInstead(Datagram.class, "timeOut", "finished", Suspending.class, "finished"),
						Mutation.withoutCall(Datagram.class, "suspend", "require"),
						Mutation.calledInstead(DatagramSuspensions.class, "add", "add", Suspending.class, "add"),
						Mutation.calledInstead(DatagramSuspensions.class, "expire", "remove", Suspending.class,
								"remove"),
						Mutation.calledInstead(Datagram.class, "handled", "handlerReturned", Suspending.class,
								"handlerReturned"));
		}

	}

	private enum Rule {

		A_DATAGRAM_THAT_TIMES_OUT_CANNOT_BE_SUSPENDED_AGAIN(Handler.RESUMES_AND_SUSPENDS_AGAIN,
				Mutation.movedBehind(Datagram.class, "timeOut", "end", "getAndBitwiseAnd")),

		A_SUSPENSION_LOOKS_WHETHER_THE_DATAGRAM_HAS_TIMED_OUT_MEANWHILE(Handler.RESUMES_AND_SUSPENDS_AGAIN,
				Mutation.withoutCall(Datagram.class, "hold", "resume")),

		A_DATAGRAM_THAT_HAS_ENDED_IS_NOT_KEPT(Handler.LATER,
				Mutation.withoutCall(DatagramSuspensions.class, "remove", "remove"));

		private final Handler handler;

		private final Mutation mutation;

		Rule(Handler handler, Mutation mutation) {
			this.handler = handler;
			this.mutation = mutation;
		}

	}

	@ParameterizedTest
	@EnumSource
	void everyDatagramEndsOnce(Handler handler) {
		handler.exploration().assertSound();
	}

	@ParameterizedTest
	@EnumSource
	@Tag("stress")
	void everyDatagramEndsOnceWithOnePreemptionMore(Handler handler) {
		handler.exploration().preemptions(3).assertSound();
	}

	@ParameterizedTest
	@EnumSource
	void noRuleCanBeDropped(Rule rule) {
		rule.handler.exploration().with(rule.mutation).assertViolated();
	}

	/**
	 * The real datagram and {@link DatagramSuspensions}, with a receiver that counts
	 * instead of {@link DatagramReceiver}.
	 */
	static final class Suspending implements Scenario {

		private static final long TIMEOUT = 1_000_000_000;

		private static @Nullable Suspending latest;

		private final String steps;

		@SuppressWarnings("NullAway") // each use of the receiver is adapted
		private final Datagram datagram = new Datagram(null, 1, 1, new InetSocketAddress(1));

		private final DatagramSuspensions suspensions = new DatagramSuspensions(TIMEOUT);

		private volatile boolean handled;

		private volatile int ended;

		Suspending(String steps) {
			this.steps = steps;
			latest = this;
		}

		/** Other threads are let in before a set changes. */
		@SuppressWarnings("unchecked")
		static boolean add(Object suspended, Object datagram) {
			Interleaving.step("adds");
			return ((Set<Object>) suspended).add(datagram);
		}

		static boolean remove(Object suspended, Object datagram) {
			Interleaving.step("removes");
			return ((Set<?>) suspended).remove(datagram);
		}

		static void suspended(Object receiver, Datagram datagram) {
			current().suspensions.add(datagram);
		}

		static void finished(Object receiver, Datagram datagram) {
			current().suspensions.remove(datagram);
			current().ended++;
		}

		static void handlerReturned(Object receiver, Datagram datagram, boolean finished) {
			if (finished) {
				finished(receiver, datagram);
			}
			current().handled = true;
		}

		private static Suspending current() {
			if (latest == null) {
				throw new IllegalStateException("no scenario");
			}
			return latest;
		}

		@Override
		public void begin() {
			Interleaving.start("handler", this::handle);
			Interleaving.start("leader", this::expire);
		}

		private void handle() {
			this.steps.chars().forEach((step) -> step((char) step));
			this.datagram.handled();
		}

		private void step(char step) {
			if (step == 'c') {
				this.datagram.close();
				return;
			}
			Suspension suspension = this.datagram.suspend();
			if (step == 'r') {
				suspension.resume();
			}
			else if (step == 'l') {
				Interleaving.start("replies", suspension::resume);
			}
		}

		/** The time of the timer may come between any two steps of the others. */
		private void expire() {
			while (!isOver()) {
				Interleaving.await("timer",
						() -> this.suspensions.deadline() != EngineEventHandler.NO_DEADLINE || isOver());
				this.suspensions.expire(System.nanoTime() + TIMEOUT);
				Interleaving.beginAnew("leads");
			}
		}

		private boolean isOver() {
			return this.handled && this.ended > 0;
		}

		@Override
		public @Nullable String violationAtRest() {
			if (this.ended != 1) {
				return "ended %d times".formatted(this.ended);
			}
			return (this.suspensions.deadline() != EngineEventHandler.NO_DEADLINE) ? "the datagram is kept" : null;
		}

	}

}
