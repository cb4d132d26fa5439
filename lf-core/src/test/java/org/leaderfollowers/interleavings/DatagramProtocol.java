package org.leaderfollowers.interleavings;

import java.util.Arrays;

import org.leaderfollowers.interleavings.InterleavingExplorer.Steps;

/**
 * The life of a datagram socket in atomic steps: {@code HandleState} and the count of
 * datagrams under way, as {@code DatagramReceiver} and {@code LeaderFollowersPool}
 * compose them.
 * <p>
 * Actors: threads that follow, lead, and run handlers, on a lease or after promoting; the
 * peer, who sends; one who drains; one who pauses and resumes. Handlers may run for ever.
 * That a request reaches a leader that waits, and that there is a leader whenever a
 * thread is idle, is proved elsewhere ({@code HandleInterleavingTests},
 * {@code PromotionInterleavingTests}) and taken for granted: an idle thread takes a
 * vacancy, and a lease that it sees, sooner or later.
 */
final class DatagramProtocol implements InterleavingExplorer.Protocol {

	/**
	 * A rule of the protocol that is dropped.
	 */
	enum Without {

		/** The handle is released before the handler is called. */
		RELEASE_BEFORE_HANDLER,

		/** A datagram is counted as under way before another thread may lead. */
		COUNT_BEFORE_DISPATCH,

		/**
		 * The thread that pauses the handle checks once more whether the reason still
		 * holds.
		 */
		CHECK_AFTER_PAUSE,

		/** When a handler ends, its thread requests a look at a paused handle. */
		LOOK_WHEN_FINISHED,

		/** While the server drains, each datagram is followed by a look. */
		LOOK_WHILE_DRAINING,

		/** Only a read that began while the server drained can end the input. */
		DRAINING_BEFORE_READ,

		/** A drain requests a look. */
		LOOK_TO_DRAIN,

		/** A resume requests a look. */
		LOOK_TO_RESUME,

		/** The socket is closed only if nothing is under way. */
		NONE_IN_FLIGHT

	}

	private enum Pc {

		FOLLOW,

		/** {@code lead}, {@code HandleSet.await}. */
		LEAD,

		/** {@code attend}: {@code arm}. */
		ARM,

		/** {@code attend}: {@code lookAtOnce}, or on the ready ring. */
		ATTEND_LOOK,

		CLAIM_FIRED, CLAIM_LOOK,

		// DatagramReceiver.take, by the owner

		WANTS, DRAINING_READ, RECEIVE, END_INPUT_LATE, BEGIN,

		// settle, by the owner

		IS_OVER, STILL_WANTS, PAUSE, RELEASE, CLOSE,

		// After the release

		CHECK_PAUSE, DRAINING_LOOK,

		DISPATCH, BEGIN_LATE, HANDLER, FINISH, FINISH_LOOK, REGAIN, NEXT, RELEASE_LATE;

		private static final Pc[] ALL = values();

		private boolean owns() {
			return compareTo(WANTS) >= 0 && compareTo(CLOSE) <= 0;
		}

	}

	// States of the claim

	private static final int ARMED = 0;

	private static final int CLAIMED = 1;

	private static final int CLAIMED_FIRED = 2;

	private static final int CLAIMED_DISARMED = 3;

	private static final int DISARMED = 4;

	private static final int PAUSED = 5;

	private static final int CLOSED = 6;

	// Requests and what is ready

	private static final int FOR_REARM = 1;

	private static final int LOOK = 2;

	private static final int IN = 4;

	// Shared

	private static final int CLAIM = 0;

	/** What the kernel watches: whether the socket is active. */
	private static final int ACTIVE = 1;

	private static final int REQUESTS = 2;

	private static final int READY = 3;

	/** The thread that leads, or 0 for none. */
	private static final int HOLDER = 4;

	private static final int LEASED = 5;

	/** Datagrams in the socket. */
	private static final int SOCKET = 6;

	/** Datagrams that the peer has not sent yet. */
	private static final int UNSENT = 7;

	private static final int IN_FLIGHT = 8;

	private static final int THROTTLED = 9;

	private static final int INPUT_ENDED = 10;

	/** 0; 1 when the state has been set; 2 when the look has been requested. */
	private static final int DRAINED = 11;

	private static final int USER_PAUSED = 12;

	/** Pauses that are left; odd between a resume and its look. */
	private static final int PAUSES = 13;

	/** Datagrams that had been received when the drain began. */
	private static final int OWED = 14;

	private static final int THREADS = 15;

	// Of each thread

	private static final int PC = 0;

	private static final int HAS = 1;

	/**
	 * The requests that were taken, or whether the server drained before the read, or the
	 * remaining work.
	 */
	private static final int LOCAL = 2;

	/** Whether the handler runs on a lease. */
	private static final int ON_LEASE = 3;

	private static final int WIDTH = 4;

	private final int threads;

	private final int messages;

	private final int limit;

	private final int resumeAt;

	private final boolean drainer;

	private final int pauses;

	private final Without without;

	private DatagramProtocol(Builder builder) {
		this.threads = builder.threads;
		this.messages = builder.messages;
		this.limit = builder.limit;
		this.resumeAt = Math.max(0, this.limit - 1 - this.limit / 4);
		this.drainer = builder.drainer;
		this.pauses = builder.pauses;
		this.without = builder.without;
	}

	static Builder builder() {
		return new Builder();
	}

	@Override
	public byte[] start() {
		byte[] state = new byte[THREADS + this.threads * WIDTH];
		state[CLAIM] = ARMED;
		state[ACTIVE] = 1;
		state[UNSENT] = (byte) this.messages;
		state[PAUSES] = (byte) (this.pauses * 2);
		return state;
	}

	@Override
	public int actors() {
		return this.threads + 3;
	}

	@Override
	public void steps(byte[] state, int actor, Steps steps) {
		if (actor < this.threads) {
			thread(state, actor, steps);
		}
		else if (actor == this.threads) {
			peer(state, steps);
		}
		else if (actor == this.threads + 1) {
			drainer(state, steps);
		}
		else {
			pauser(state, steps);
		}
	}

	private void peer(byte[] state, Steps steps) {
		if (state[UNSENT] > 0) {
			byte[] next = steps.may("the peer sends");
			next[UNSENT]--;
			if (state[CLAIM] != CLOSED) {
				next[SOCKET]++;
			}
		}
	}

	private void drainer(byte[] state, Steps steps) {
		if (this.drainer && state[DRAINED] == 0) {
			byte[] next = steps.may("drain: CLAIMED_DISARMED");
			next[DRAINED] = 1;
			// A paused server loses the datagrams that it has not read.
			next[OWED] = (state[USER_PAUSED] != 0) ? 0 : state[SOCKET];
		}
		else if (state[DRAINED] == 1) {
			byte[] next = steps.must("drain: asks for a look");
			next[DRAINED] = 2;
			if (this.without != Without.LOOK_TO_DRAIN) {
				next[REQUESTS] |= LOOK;
			}
		}
	}

	private void pauser(byte[] state, Steps steps) {
		if (state[PAUSES] == 0) {
			return;
		}
		if (state[PAUSES] % 2 != 0) {
			byte[] next = steps.must("resume: asks for a look");
			next[PAUSES]--;
			if (this.without != Without.LOOK_TO_RESUME) {
				next[REQUESTS] |= LOOK;
			}
		}
		else if (state[USER_PAUSED] == 0) {
			// A pause is in effect before the drain begins, or never.
			if (state[DRAINED] == 0) {
				steps.may("pause")[USER_PAUSED] = 1;
			}
		}
		else {
			byte[] next = steps.may("resume");
			next[USER_PAUSED] = 0;
			next[PAUSES]--;
		}
	}

	private boolean draining(byte[] state) {
		return state[DRAINED] != 0;
	}

	private boolean wantsInput(byte[] state) {
		return state[INPUT_ENDED] == 0 && (state[USER_PAUSED] == 0 || draining(state))
				&& (state[THROTTLED] == 0 || state[IN_FLIGHT] <= this.resumeAt);
	}

	private boolean isOver(byte[] state) {
		return state[INPUT_ENDED] != 0 && (state[IN_FLIGHT] == 0 || this.without == Without.NONE_IN_FLIGHT);
	}

	private void thread(byte[] state, int thread, Steps steps) {
		int at = THREADS + thread * WIDTH;
		int me = thread + 1;
		Pc pc = Pc.ALL[state[at + PC]];
		String name = "T" + me + " " + pc;
		switch (pc) {
			case FOLLOW -> {
				if (state[HOLDER] == 0 || (state[LEASED] != 0 && state[HOLDER] != me)) {
					byte[] next = go(steps.must(name + ": leads"), at, Pc.LEAD);
					next[HOLDER] = (byte) me;
					next[LEASED] = 0;
				}
			}
			case LEAD -> lead(state, at, name, steps);
			case ARM -> {
				byte[] next = go(steps.must(name), at, Pc.ATTEND_LOOK);
				if ((state[at + LOCAL] & FOR_REARM) != 0 && state[CLAIM] == DISARMED) {
					next[CLAIM] = ARMED;
					next[ACTIVE] = 1;
				}
			}
			case ATTEND_LOOK -> {
				boolean look = (state[at + LOCAL] & LOOK) != 0 && state[CLAIM] != CLOSED;
				if (look && isOver(state)) {
					go(steps.must(name + ": over"), at, Pc.CLAIM_LOOK)[at + LOCAL] = 0;
				}
				else {
					byte[] next = go(steps.must(name), at, Pc.LEAD);
					next[at + LOCAL] = 0;
					next[READY] |= (byte) (look ? LOOK : 0);
				}
			}
			case CLAIM_FIRED, NEXT -> claimFired(state, at, name, steps);
			case CLAIM_LOOK -> claimForLook(state, at, name, steps);
			case WANTS ->
				go(steps.must(name), at, (wantsInput(state) && state[at + HAS] == 0) ? Pc.DRAINING_READ : Pc.IS_OVER);
			case DRAINING_READ -> {
				if (draining(state) && state[USER_PAUSED] != 0) {
					go(steps.must(name + ": paused"), at, Pc.IS_OVER)[INPUT_ENDED] = 1;
				}
				else {
					go(steps.must(name), at, Pc.RECEIVE)[at + LOCAL] = (byte) (draining(state) ? 1 : 0);
				}
			}
			case RECEIVE -> receive(state, at, name, steps);
			case END_INPUT_LATE -> {
				byte[] next = go(steps.must(name), at, Pc.IS_OVER);
				if (draining(state)) {
					next[INPUT_ENDED] = 1;
				}
			}
			case BEGIN -> begin(go(steps.must(name), at, Pc.IS_OVER));
			case IS_OVER -> go(steps.must(name), at, isOver(state) ? Pc.CLOSE : Pc.STILL_WANTS);
			case STILL_WANTS -> {
				if (this.without == Without.RELEASE_BEFORE_HANDLER && state[at + HAS] != 0) {
					go(steps.must(name), at, Pc.DISPATCH);
				}
				else {
					go(steps.must(name), at, wantsInput(state) ? Pc.RELEASE : Pc.PAUSE);
				}
			}
			case PAUSE -> {
				byte[] next = steps.must(name);
				next[CLAIM] = (byte) ((state[CLAIM] == CLAIMED_FIRED) ? CLAIMED_DISARMED : PAUSED);
				go(next, at, (state[CLAIM] == CLAIMED_FIRED) ? Pc.WANTS : Pc.CHECK_PAUSE);
			}
			case RELEASE, RELEASE_LATE -> {
				byte[] next = steps.must(name);
				if (state[CLAIM] == CLAIMED_FIRED) {
					next[CLAIM] = CLAIMED_DISARMED;
					go(next, at, Pc.WANTS);
					break;
				}
				next[CLAIM] = (byte) ((state[CLAIM] == CLAIMED) ? ARMED : DISARMED);
				// No other thread can see the request before that.
				next[REQUESTS] |= (byte) ((state[CLAIM] == CLAIMED) ? 0 : FOR_REARM);
				go(next, at, Pc.DRAINING_LOOK);
			}
			case CLOSE -> {
				byte[] next = go(steps.must(name), at, Pc.DISPATCH);
				next[CLAIM] = CLOSED;
				next[ACTIVE] = 0;
				next[SOCKET] = 0;
			}
			case CHECK_PAUSE -> {
				byte[] next = go(steps.must(name), at, Pc.DISPATCH);
				if (this.without != Without.CHECK_AFTER_PAUSE && (isOver(state) || wantsInput(state))) {
					next[REQUESTS] |= LOOK;
				}
			}
			case DRAINING_LOOK -> {
				byte[] next = go(steps.must(name), at, Pc.DISPATCH);
				if (this.without != Without.LOOK_WHILE_DRAINING && draining(state) && state[INPUT_ENDED] == 0) {
					next[REQUESTS] |= LOOK;
				}
			}
			case BEGIN_LATE -> begin(go(steps.must(name), at, Pc.HANDLER));
			case DISPATCH -> {
				if (state[at + HAS] == 0) {
					go(steps.must(name + ": nothing"), at, Pc.LEAD);
					break;
				}
				Pc handler = (this.without == Without.COUNT_BEFORE_DISPATCH) ? Pc.BEGIN_LATE : Pc.HANDLER;
				byte[] leases = go(steps.must(name + ": leases"), at, handler);
				leases[LEASED] = 1;
				leases[at + ON_LEASE] = 1;
				byte[] promotes = go(steps.must(name + ": promotes"), at, handler);
				promotes[HOLDER] = 0;
			}
			case HANDLER -> go(steps.may(name + ": returns"), at, Pc.FINISH);
			case FINISH -> {
				byte[] next = go(steps.must(name), at, Pc.FINISH_LOOK);
				next[IN_FLIGHT]--;
				next[at + HAS] = 0;
				next[at + LOCAL] = next[IN_FLIGHT];
			}
			case FINISH_LOOK -> {
				byte[] next = go(steps.must(name), at, Pc.REGAIN);
				int left = state[at + LOCAL];
				next[at + LOCAL] = 0;
				if (this.without != Without.LOOK_WHEN_FINISHED && (left == this.resumeAt || left == 0)
						&& state[CLAIM] == PAUSED) {
					next[REQUESTS] |= LOOK;
				}
			}
			case REGAIN -> {
				boolean regains = state[at + ON_LEASE] != 0 && state[HOLDER] == me && state[LEASED] != 0;
				if (!regains) {
					go(steps.must(name + ": lost"), at, Pc.FOLLOW)[at + ON_LEASE] = 0;
					break;
				}
				Pc[] choices = (this.without != Without.RELEASE_BEFORE_HANDLER) ? new Pc[] { Pc.NEXT, Pc.LEAD }
						: new Pc[] { Pc.RELEASE_LATE };
				for (Pc choice : choices) {
					byte[] next = go(steps.must(name + " " + choice), at, choice);
					next[LEASED] = 0;
					next[at + ON_LEASE] = 0;
				}
			}
			default -> throw new IllegalStateException(name);
		}
	}

	private void lead(byte[] state, int at, String name, Steps steps) {
		if (state[READY] != 0) {
			byte[] next = steps.must(name + ": dispatches");
			go(next, at, ((state[READY] & LOOK) != 0) ? Pc.CLAIM_LOOK : Pc.CLAIM_FIRED);
			next[READY] = 0;
		}
		else if (state[REQUESTS] != 0) {
			byte[] next = go(steps.must(name + ": attends"), at, Pc.ARM);
			next[at + LOCAL] = state[REQUESTS];
			next[REQUESTS] = 0;
		}
		else if (state[ACTIVE] != 0 && state[SOCKET] > 0) {
			steps.must(name + ": selects")[READY] |= IN;
		}
	}

	private void claimFired(byte[] state, int at, String name, Steps steps) {
		byte[] next = steps.must(name);
		boolean reported = Pc.ALL[state[at + PC]] == Pc.CLAIM_FIRED;
		switch (state[CLAIM]) {
			case ARMED -> {
				next[CLAIM] = CLAIMED;
				go(next, at, Pc.WANTS);
			}
			case CLAIMED -> {
				next[CLAIM] = CLAIMED_FIRED;
				next[ACTIVE] = 0;
				go(next, at, Pc.LEAD);
			}
			case PAUSED, CLAIMED_DISARMED -> {
				if (reported) {
					next[ACTIVE] = 0;
				}
				go(next, at, Pc.LEAD);
			}
			default -> go(next, at, Pc.LEAD);
		}
	}

	private void claimForLook(byte[] state, int at, String name, Steps steps) {
		byte[] next = steps.must(name);
		switch (state[CLAIM]) {
			case ARMED -> {
				next[CLAIM] = CLAIMED;
				go(next, at, Pc.WANTS);
			}
			case DISARMED, PAUSED -> {
				next[CLAIM] = CLAIMED_DISARMED;
				go(next, at, Pc.WANTS);
			}
			case CLAIMED, CLAIMED_DISARMED -> {
				next[CLAIM] = CLAIMED_FIRED;
				next[ACTIVE] = 0;
				go(next, at, Pc.LEAD);
			}
			default -> go(next, at, Pc.LEAD);
		}
	}

	private void receive(byte[] state, int at, String name, Steps steps) {
		byte[] next = steps.must(name);
		next[at + LOCAL] = 0;
		if (state[SOCKET] > 0) {
			next[SOCKET]--;
			next[OWED] = (byte) Math.max(0, state[OWED] - 1);
			next[at + HAS] = 1;
			go(next, at, (this.without == Without.COUNT_BEFORE_DISPATCH) ? Pc.IS_OVER : Pc.BEGIN);
		}
		else if (this.without == Without.DRAINING_BEFORE_READ) {
			go(next, at, Pc.END_INPUT_LATE);
		}
		else {
			next[INPUT_ENDED] |= state[at + LOCAL];
			go(next, at, Pc.IS_OVER);
		}
	}

	private void begin(byte[] next) {
		next[IN_FLIGHT]++;
		next[THROTTLED] = (byte) ((next[IN_FLIGHT] >= this.limit) ? 1 : 0);
	}

	private static byte[] go(byte[] next, int at, Pc pc) {
		next[at + PC] = (byte) pc.ordinal();
		return next;
	}

	@Override
	public String violation(byte[] state) {
		int owners = 0;
		int leaders = 0;
		int counted = 0;
		for (int at = THREADS; at < state.length; at += WIDTH) {
			Pc pc = Pc.ALL[state[at + PC]];
			owners += pc.owns() ? 1 : 0;
			leaders += (pc != Pc.FOLLOW && pc.compareTo(Pc.DISPATCH) <= 0) ? 1 : 0;
			counted += (state[at + HAS] != 0 && pc != Pc.BEGIN) ? 1 : 0;
		}
		if (owners > 1) {
			return "two threads own the handle";
		}
		if (leaders > 1) {
			return "two threads lead";
		}
		if (this.without == null) {
			int claim = state[CLAIM];
			if ((owners == 1) != (claim == CLAIMED || claim == CLAIMED_FIRED || claim == CLAIMED_DISARMED)) {
				return "the handle is claimed by nobody who reads";
			}
			if (counted != state[IN_FLIGHT]) {
				return "what is under way is not what is counted";
			}
		}
		if (state[IN_FLIGHT] > this.limit) {
			return "more than allowed are under way";
		}
		if (state[CLAIM] == CLOSED && counted > 0) {
			return "closed while datagrams are under way";
		}
		if (state[INPUT_ENDED] != 0 && state[OWED] > 0) {
			return "the input ended before what had been received was read";
		}
		return null;
	}

	@Override
	public String violationAtRest(byte[] state) {
		int handlers = 0;
		for (int at = THREADS; at < state.length; at += WIDTH) {
			handlers += (Pc.ALL[state[at + PC]] == Pc.HANDLER) ? 1 : 0;
		}
		if (state[CLAIM] == CLOSED) {
			return null;
		}
		if (handlers < this.threads && state[HOLDER] == 0) {
			return "nobody leads although a thread is idle";
		}
		if (handlers == this.threads) {
			// Every thread is busy.
			return null;
		}
		if (draining(state)) {
			if (state[INPUT_ENDED] == 0 && wantsInput(state)) {
				return "a server that drains waits for more";
			}
			return (handlers == 0) ? "not closed although nothing is under way" : null;
		}
		if (state[SOCKET] > 0 && wantsInput(state)) {
			return "a datagram is not read although a thread is idle";
		}
		return null;
	}

	@Override
	public String describe(byte[] state) {
		StringBuilder text = new StringBuilder();
		text.append("claim %d active %d requests %d ready %d holder %d leased %d socket %d in flight %d throttled %d"
			.formatted(state[CLAIM], state[ACTIVE], state[REQUESTS], state[READY], state[HOLDER], state[LEASED],
					state[SOCKET], state[IN_FLIGHT], state[THROTTLED]));
		text.append(" ended %d drained %d paused %d".formatted(state[INPUT_ENDED], state[DRAINED], state[USER_PAUSED]));
		for (int at = THREADS; at < state.length; at += WIDTH) {
			text.append(" [")
				.append(Pc.ALL[state[at + PC]])
				.append(Arrays.toString(Arrays.copyOfRange(state, at + 1, at + WIDTH)))
				.append(']');
		}
		return text.toString();
	}

	/**
	 * Builds a protocol.
	 */
	static final class Builder {

		private int threads = 2;

		private int messages = 2;

		private int limit = 10;

		private boolean drainer;

		private int pauses;

		private Without without;

		private Builder() {
		}

		Builder threads(int threads) {
			this.threads = threads;
			return this;
		}

		Builder messages(int messages) {
			this.messages = messages;
			return this;
		}

		Builder limit(int limit) {
			this.limit = limit;
			return this;
		}

		Builder drainer() {
			this.drainer = true;
			return this;
		}

		Builder pauses(int pauses) {
			this.pauses = pauses;
			return this;
		}

		Builder without(Without rule) {
			this.without = rule;
			return this;
		}

		DatagramProtocol build() {
			return new DatagramProtocol(this);
		}

	}

}
