package org.leaderfollowers;

import java.time.Duration;
import java.util.concurrent.atomic.AtomicBoolean;

import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.leaderfollowers.interleavings.Exploration;
import org.leaderfollowers.interleavings.Interleaving;
import org.leaderfollowers.interleavings.Mutation;
import org.leaderfollowers.interleavings.Scenario;
import org.leaderfollowers.internal.demultiplexing.HandleState;
import org.leaderfollowers.internal.promotion.Clock;
import org.leaderfollowers.internal.promotion.PoolSettings;
import org.leaderfollowers.internal.promotion.ThreadSupply;

/**
 * The interleavings of a reader that stops at the limits of {@link DatagramsUnderWay} and
 * the threads that end datagrams: no limit is exceeded, no datagram stays in the socket
 * although it may be read, and a drained socket is closed.
 */
@Tag("interleavings")
class DatagramsUnderWayInterleavingTests {

	/**
	 * The datagrams, a letter for each: its <em>h</em>andler replies; a reply follows
	 * <em>l</em>ater, by another thread; or its handler <em>n</em>ever returns.
	 */
	private enum Life {

		ONE_AT_A_TIME("hhh", 1, 9, false),

		TWO_AT_A_TIME("hhhh", 2, 9, false),

		LATER_REPLIES("llh", 1, 9, false),

		ONE_NEVER_RETURNS("nhhh", 3, 9, false),

		ONE_OF_TWO_NEVER_RETURNS("hnh", 2, 9, false),

		THREE_OF_FOUR_NEVER_RETURN("nnnhh", 4, 9, false),

		REPLIES_BESIDE_HANDLERS_THAT_NEVER_RETURN("nnnlh", 4, 9, false),

		ONE_THREAD("hlh", 9, 1, false),

		THE_ONLY_THREAD_NEVER_RETURNS("nh", 9, 1, false),

		TWO_THREADS("hhhh", 9, 2, false),

		ONE_OF_TWO_THREADS_NEVER_RETURNS("nhhh", 9, 2, false),

		THREE_OF_FOUR_THREADS_NEVER_RETURN("nnnhh", 9, 4, false),

		BOTH_LIMITS("hlh", 2, 1, false),

		DRAINED("hl", 9, 9, true),

		DRAINED_AT_THE_LIMIT("hlh", 1, 9, true),

		DRAINED_WITHOUT_THREADS("lh", 9, 1, true);

		private final Object[] arguments;

		Life(String datagrams, int maxInFlight, int maxThreads, boolean drained) {
			this.arguments = new Object[] { datagrams, maxInFlight, maxThreads, drained };
		}

		Exploration exploration() {
			return withoutWarnings(Exploration.of(Datagrams.class, this.arguments));
		}

	}

	private enum Rule {

		DATAGRAMS_UNDER_WAY_COUNT(Life.ONE_AT_A_TIME,
				Mutation.callReturns(DatagramsUnderWay.class, "begin", "addAndGet", 0)),

		READING_STOPS_AT_THE_LIMIT(Life.ONE_AT_A_TIME,
				Mutation.fieldReads(DatagramsUnderWay.class, "hasRoom", "throttled", 0)),

		READING_RESUMES_BEFORE_ALL_HAVE_ENDED(Life.ONE_NEVER_RETURNS,
				Mutation.callReturns(DatagramsUnderWay.class, "ended", "hasRoom", 0)),

		AN_END_IS_REPORTED_IF_READING_STOPPED_AT_THE_LIMIT(Life.ONE_NEVER_RETURNS,
				Mutation.fieldReads(DatagramsUnderWay.class, "ended", "throttled", 0)),

		HANDLERS_COUNT(Life.ONE_THREAD, Mutation.callReturns(DatagramsUnderWay.class, "takeThread", "handlers", 0)),

		READING_STOPS_WITHOUT_THREADS(Life.THE_ONLY_THREAD_NEVER_RETURNS,
				Mutation.fieldReads(DatagramsUnderWay.class, "hasRoom", "crowded", 0)),

		A_RETURN_IS_REPORTED_IF_READING_STOPPED_WITHOUT_THREADS(Life.ONE_OF_TWO_THREADS_NEVER_RETURNS,
				Mutation.fieldReads(DatagramsUnderWay.class, "ended", "crowded", 0)),

		A_REASON_THAT_IS_GONE_DOES_NOT_STOP_READING(Life.ONE_THREAD,
				Mutation.callReturns(DatagramsUnderWay.class, "hasThread", "handlers", 9)),

		AFTER_A_PAUSE_THE_NUMBERS_ARE_CHECKED_ONCE_MORE(Life.ONE_OF_TWO_NEVER_RETURNS,
				Mutation.withoutCall(Datagrams.class, "pauseUntilRoom", "look")),

		THE_LAST_END_LOOKS_AT_THE_SOCKET(Life.DRAINED,
				Mutation.callReturns(DatagramsUnderWay.class, "finished", "ended", 0));

		private final Life life;

		private final Mutation mutation;

		Rule(Life life, Mutation mutation) {
			this.life = life;
			this.mutation = mutation;
		}

	}

	/** What two servers need that share a single thread. */
	private enum SharingRule {

		A_HANDLER_TAKES_ITS_THREAD("h", Mutation.callReturns(DatagramsUnderWay.class, "takeThread", "take", 1)),

		A_READ_WITHOUT_A_DATAGRAM_GIVES_THE_THREAD_BACK("",
				Mutation.withoutCall(DatagramsUnderWay.class, "giveBackThread", "giveBack")),

		THE_OTHER_SERVER_IS_TOLD_OF_A_FREE_THREAD("h",
				Mutation.withoutCall(DatagramShare.class, "giveBack", "threadsAdded"));

		private final String first;

		private final Mutation mutation;

		SharingRule(String first, Mutation mutation) {
			this.first = first;
			this.mutation = mutation;
		}

	}

	private static Exploration withoutWarnings(Exploration exploration) {
		return exploration.adapted(Mutation.withoutCall(DatagramsUnderWay.class, "begin", "tooManyInFlight"),
				Mutation.withoutCall(DatagramsUnderWay.class, "takeThread", "tooManyHandlers"));
	}

	@ParameterizedTest
	@EnumSource
	void everyDatagramIsReadWithinTheLimits(Life life) {
		life.exploration().assertSound();
	}

	@ParameterizedTest
	@EnumSource
	@Tag("stress")
	void everyDatagramIsReadWithinTheLimitsWithOnePreemptionMore(Life life) {
		life.exploration().preemptions(3).assertSound();
	}

	@ParameterizedTest
	@EnumSource
	void noRuleCanBeDropped(Rule rule) {
		rule.life.exploration().with(rule.mutation).assertViolated();
	}

	@ParameterizedTest
	@CsvSource({ "'',h", "h,h", "hh,h", "n,h" })
	void serversThatShareAThreadNeverRunTwoHandlers(String first, String second) {
		withoutWarnings(Exploration.of(Neighbours.class, first, second)).assertSound();
	}

	@ParameterizedTest
	@EnumSource
	void noRuleOfServersThatShareAThreadCanBeDropped(SharingRule rule) {
		withoutWarnings(Exploration.of(Neighbours.class, rule.first, "h")).with(rule.mutation).assertViolated();
	}

	private static DatagramShare share(int threads) {
		ThreadSupply supply = new StandInSupply(new PoolSettings(1, threads, false, 1, 0), Clock.SYSTEM);
		return new DatagramShare(supply, false);
	}

	/**
	 * The real numbers and {@link HandleState}, with a reader as {@link DatagramReceiver}
	 * has it. A look that was requested is a field, and each handler has a thread.
	 */
	static final class Datagrams extends HandleState implements Scenario {

		private final String datagrams;

		private final int maxInFlight;

		private final int maxThreads;

		private final boolean drained;

		private final DatagramShare share;

		private final DatagramsUnderWay underWay;

		private final AtomicBoolean lookRequested = new AtomicBoolean();

		private volatile boolean active;

		private volatile boolean draining;

		private volatile boolean inputEnded;

		private volatile boolean closed;

		/** How many datagrams have been read; written by the owner. */
		private volatile int read;

		/** How many datagrams are under way and how many handlers run, as they see it. */
		private int begun;

		private int handlers;

		private @Nullable Datagrams neighbour;

		/**
		 * A server whose neighbour has the other half of the threads, and reads nothing.
		 */
		Datagrams(String datagrams, int maxInFlight, int maxThreads, boolean drained) {
			this(datagrams, maxInFlight, maxThreads, drained, share(2 * maxThreads));
			this.share.add(new ServerOf(0, null));
			this.share.add(new ServerOf(1, null));
		}

		Datagrams(String datagrams, int maxInFlight, int maxThreads, boolean drained, DatagramShare share) {
			this.share = share;
			this.datagrams = datagrams;
			this.maxInFlight = maxInFlight;
			this.maxThreads = maxThreads;
			this.drained = drained;
			this.underWay = new DatagramsUnderWay(maxInFlight, share, new DatagramCounters(),
					new ServerWarnings("test", "handler", "pool"));
		}

		@Override
		public void begin() {
			arm(release());
			Interleaving.start("leader", this::lead);
			if (this.drained) {
				Interleaving.start("drain", () -> {
					this.draining = true;
					look();
				});
			}
		}

		private void look() {
			this.lookRequested.set(true);
		}

		private void arm(Release release) {
			if (release == Release.REARM_NEEDED && arm()) {
				this.active = true;
			}
		}

		private boolean fires() {
			return this.active && this.read < this.datagrams.length();
		}

		private void lead() {
			while (!this.closed) {
				Interleaving.await("selects", () -> this.lookRequested.get() || fires());
				boolean looks = this.lookRequested.getAndSet(false);
				Claim claim = looks ? claimForLook() : claimFired();
				if (claim == Claim.CLAIMED) {
					int datagram = take();
					if (datagram >= 0) {
						Interleaving.start("handler" + datagram, () -> handle(datagram));
					}
				}
				else if (claim == Claim.UNWANTED) {
					this.active = false;
				}
				Interleaving.beginAnew("leads");
			}
		}

		/** Reads one datagram and releases the handle. */
		private int take() {
			int datagram = -1;
			do {
				if (datagram < 0 && wantsInput() && this.underWay.takeThread()) {
					boolean ends = this.draining;
					if (this.read < this.datagrams.length()) {
						datagram = this.read;
						count(1, 1);
						this.read++;
						this.underWay.begin();
					}
					else {
						this.inputEnded |= ends;
						this.underWay.giveBackThread();
					}
				}
			}
			while (!releaseOrClose());
			return datagram;
		}

		private boolean wantsInput() {
			return !this.inputEnded && this.underWay.hasRoom();
		}

		private boolean isOver() {
			return this.inputEnded && this.underWay.count() == 0;
		}

		private boolean releaseOrClose() {
			if (isOver()) {
				close();
				return true;
			}
			if (!wantsInput()) {
				return pauseUntilRoom();
			}
			Release release = release();
			arm(release);
			if (release != Release.LOOK_AGAIN && this.draining) {
				look();
			}
			return release != Release.LOOK_AGAIN;
		}

		private void close() {
			if (this.handlers > 0) {
				Interleaving.fail("closed while a handler runs");
			}
			this.closed = true;
		}

		private boolean pauseUntilRoom() {
			if (pause() == Release.LOOK_AGAIN) {
				return false;
			}
			if (isOver() || wantsInput()) {
				look();
			}
			return true;
		}

		private void handle(int datagram) {
			switch (this.datagrams.charAt(datagram)) {
				case 'l' -> {
					count(0, -1);
					report(this.underWay.handlerReturned(false));
					Interleaving.start("reply" + datagram, () -> {
						count(-1, 0);
						report(this.underWay.finished());
					});
				}
				case 'h' -> {
					count(-1, -1);
					report(this.underWay.handlerReturned(true));
				}
				default -> Interleaving.await("nothing", () -> false);
			}
		}

		private void report(boolean resumes) {
			if (resumes && isPaused()) {
				look();
			}
		}

		/** Ends are counted before others hear of them, so this is never too much. */
		private synchronized void count(int changeOfDatagrams, int changeOfHandlers) {
			this.begun += changeOfDatagrams;
			this.handlers += changeOfHandlers;
			if (this.begun > this.maxInFlight) {
				Interleaving.fail("more datagrams under way than allowed");
			}
			int beside = (this.neighbour != null) ? this.neighbour.handlers : 0;
			if (this.handlers + beside > this.maxThreads) {
				Interleaving.fail("more handlers than threads");
			}
		}

		@Override
		public String violationAtRest() {
			if (this.drained && !this.closed) {
				return "not closed; read: " + this.read;
			}
			boolean stops = this.begun == this.maxInFlight || this.handlers == this.maxThreads;
			return (stops || this.hasReadAll()) ? null : "datagrams wait; read: " + this.read;
		}

		private boolean hasReadAll() {
			return this.read == this.datagrams.length();
		}

	}

	/** Two servers of a pool that has one thread. */
	static final class Neighbours implements Scenario {

		private final Datagrams first;

		private final Datagrams second;

		Neighbours(String first, String second) {
			DatagramShare share = share(1);
			this.first = new Datagrams(first, 9, 1, false, share);
			this.second = new Datagrams(second, 9, 1, false, share);
			this.first.neighbour = this.second;
			this.second.neighbour = this.first;
			share.add(new ServerOf(0, this.first));
			share.add(new ServerOf(1, this.second));
		}

		@Override
		public void begin() {
			this.first.begin();
			this.second.begin();
			// As when reading is resumed: there may be nothing to read.
			this.first.look();
		}

		@Override
		public String violationAtRest() {
			boolean stops = this.first.handlers + this.second.handlers == 1;
			boolean hasReadAll = this.first.hasReadAll() && this.second.hasReadAll();
			return (stops || hasReadAll) ? null
					: "datagrams of %d and %d were read".formatted(this.first.read, this.second.read);
		}

	}

	/** A server for the share: its hash decides in which order servers look. */
	private record ServerOf(int number, @Nullable Datagrams datagrams) implements Drainable {

		@Override
		public void threadsAdded() {
			if (this.datagrams != null && this.datagrams.isPaused()) {
				this.datagrams.look();
			}
		}

		@Override
		public int hashCode() {
			return this.number;
		}

		@Override
		public boolean equals(Object other) {
			return this == other;
		}

		@Override
		public void beginDrain(long deadlineNanos) {
		}

		@Override
		public boolean servesDatagrams() {
			return true;
		}

		@Override
		public boolean close(Duration grace) {
			return true;
		}

	}

}
