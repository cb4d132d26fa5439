package org.leaderfollowers.interleavings;

import java.util.Arrays;
import java.util.EnumSet;
import java.util.Set;

import org.leaderfollowers.interleavings.InterleavingExplorer.Steps;

/**
 * The life of a connection's handle in atomic steps: {@code HandleState} and
 * {@code UpdateQueue} as {@code HandleSet}, {@code LeaderFollowersPool.lead} and
 * {@code TcpConnection} compose them.
 * <p>
 * The leaders of a handle set follow each other without overlap, so one actor stands for
 * all of them. Owners are two actors, since one that has released the handle may still
 * ask for something when the next already owns it. Further actors close the connection,
 * drain the server, send from outside, and are the peer.
 * <p>
 * A reply is three units, the socket has room for one, and the marks are at one and two
 * units: small, but enough for everything to be full and empty.
 */
final class HandleProtocol implements InterleavingExplorer.Protocol {

	/**
	 * A rule of the protocol that is dropped.
	 */
	enum Without {

		/** The handle is released by compare-and-set. */
		COMPARE_AND_SET_OF_RELEASE,

		/** The handle is armed only if that is still what it waits for. */
		COMPARE_AND_SET_OF_ARM,

		/** A requester queues the handle before it looks whether the leader waits. */
		REQUEST_BEFORE_LOOK,

		/** The leader announces that it will wait before it looks at the queue. */
		ANNOUNCEMENT_BEFORE_LOOK,

		/** The leader takes the requests before it attends to them. */
		TAKE_BEFORE_ATTENDING,

		/** Who pauses the handle checks once more whether the reason still holds. */
		CHECK_AFTER_PAUSE,

		/** Who wrote what waited has a paused handle looked at. */
		LOOK_AT_PAUSED,

		/** An owned handle that is active and fires is deactivated in any case. */
		DEACTIVATION_WHILE_DRAINING,

		/** What a broken socket does not take is not waited for. */
		DISCARD_AFTER_FAILURE,

		/** Who closes from outside asks for a look. */
		LOOK_TO_CLOSE,

		/** Who asks for a look at an owned handle has its owner look again. */
		LOOK_WHILE_OWNED,

		/** The first bytes that wait ask for write events. */
		INTEREST_TO_WRITE,

		/** Who drains sets the state before it asks for a look. */
		STATE_BEFORE_DRAIN

	}

	private enum Pc {

		IDLE,

		// UpdateQueue.request

		REQUEST, PUSH, IS_WAITING, NOT_WAITING_ANY_MORE, WAKE_UP,

		// HandleSet.await

		/** {@code drain}: is there anything? */
		DRAIN,

		/** {@code drain}: takes the list. */
		TAKE_LIST,

		/** {@code takeRequests}. */
		TAKE_REQUESTS,

		/** {@code attend}: {@code isMarkedClosed}. */
		ATTEND,

		/** {@code arm}. */
		ARM,

		/** {@code applyInterest}, and the end of {@code attend}. */
		APPLY_INTEREST,

		/** Only without {@link Without#TAKE_BEFORE_ATTENDING}. */
		TAKE_LATE,

		/** {@code beginWait}: announces. */
		ANNOUNCE,

		/** {@code beginWait}: looks at the list. */
		LOOK_ONCE_MORE,

		SELECT, SELECT_NOW, END_WAIT, END_WAIT_AT_ONCE,

		// LeaderFollowersPool.lead

		/** {@code Outbound.flush}. */
		FLUSH,

		/** {@code requestClose} after it failed. */
		FLUSH_FAILED,

		/** {@code Outbound.discard} after it failed. */
		FLUSH_DISCARD,

		/** {@code isPaused}. */
		IS_PAUSED,

		/** {@code applyInterest}. */
		FLUSH_INTEREST,

		/** {@code claimFired}, {@code claimForLook}: reads the state. */
		CLAIM_READ,

		/** {@code claimFired}, {@code claimForLook}: compare-and-set. */
		CLAIM_CAS,

		/** {@code deactivate}. */
		DEACTIVATE,

		// TcpConnection: handleEvent, receive

		BEGIN, STALLED, READ, HANDLER, SEND, HIGH_WATER,

		// settle, settleClosing, pauseUntil

		SETTLE, SETTLE_DRAINING, SETTLE_SHUTDOWN, SETTLE_AGAIN, CLOSE_OUTBOUND, FLUSHING, PAUSE_READ, PAUSE_CAS,
		PAUSE_FIRED, CHECK_MARK, RELEASE_READ, RELEASE_CAS, RELEASE_FIRED, DISCARD, MARK_CLOSED, CLOSE_CHANNEL,

		// From outside

		ASK, ASK_LATE, SEND_OUTSIDE, PEER;

		private static final Pc[] ALL = values();

	}

	// States of the claim

	private static final int ARMED = 0;

	private static final int CLAIMED = 1;

	private static final int CLAIMED_FIRED = 2;

	private static final int CLAIMED_DISARMED = 3;

	private static final int DISARMED = 4;

	private static final int PAUSED = 5;

	private static final int CLOSED = 6;

	// Requests

	private static final int FOR_REARM = 1;

	private static final int FOR_INTEREST = 2;

	private static final int FOR_LOOK = 4;

	private static final int FOR_GONE = 8;

	// Events

	private static final int IN = 1;

	private static final int OUT = 2;

	private static final int LOOK = 4;

	private static final int HIGH_MARK = 2;

	private static final int LOW_MARK = 1;

	// Shared

	private static final int CLAIM = 0;

	private static final int REQUESTS = 1;

	private static final int QUEUED = 2;

	private static final int ANNOUNCED = 3;

	private static final int WOKEN = 4;

	private static final int ACTIVE = 5;

	private static final int INTEREST = 6;

	private static final int WAITING = 7;

	private static final int ROOM = 8;

	private static final int DATA = 9;

	private static final int TO_COME = 10;

	private static final int BROKEN = 11;

	/** 0: no; 1: gracefully; 2: because something failed. */
	private static final int CLOSING = 12;

	private static final int SERVER_DRAINS = 13;

	private static final int PHASE_FLUSHING = 14;

	private static final int OUTBOUND_CLOSED = 15;

	private static final int IS_STALLED = 16;

	private static final int CHANNEL_CLOSED = 17;

	/** The ready ring, an event mask in each place. */
	private static final int RING = 18;

	private static final int RING_SIZE = 3;

	private static final int SHARED = RING + RING_SIZE;

	// Of each actor

	private static final int PC = 0;

	private static final int SAW = 1;

	private static final int BITS = 2;

	private static final int THEN = 3;

	private static final int LOCALS = 4;

	// Actors

	private static final int LEADER = 0;

	private static final int OWNER = 1;

	private static final int OWNERS = 2;

	private static final int CLOSER = 3;

	private static final int DRAINER = 4;

	private static final int SENDER = 5;

	private static final int THE_PEER = 6;

	private final int messages;

	private final boolean closer;

	private final boolean drainer;

	private final boolean sender;

	private final boolean breaks;

	private final boolean fine;

	private final Set<Without> without;

	private HandleProtocol(Builder builder) {
		this.messages = builder.messages;
		this.closer = builder.closer;
		this.drainer = builder.drainer;
		this.sender = builder.sender;
		this.breaks = builder.breaks;
		this.fine = builder.fine || builder.without.contains(Without.COMPARE_AND_SET_OF_RELEASE);
		this.without = builder.without;
	}

	static Builder builder() {
		return new Builder();
	}

	@Override
	public byte[] start() {
		byte[] state = new byte[SHARED + 7 * LOCALS];
		// TcpConnection.open: paused, and a look asked for.
		state[CLAIM] = PAUSED;
		state[ROOM] = 1;
		state[TO_COME] = (byte) this.messages;
		go(state, LEADER, Pc.DRAIN);
		request(state, OWNER, FOR_LOOK, Pc.IDLE);
		go(state, CLOSER, this.closer ? Pc.ASK : Pc.IDLE);
		go(state, DRAINER, this.drainer ? Pc.ASK : Pc.IDLE);
		go(state, SENDER, this.sender ? Pc.SEND_OUTSIDE : Pc.IDLE);
		go(state, THE_PEER, Pc.PEER);
		return state;
	}

	@Override
	public int actors() {
		return 7;
	}

	@Override
	public void steps(byte[] state, int me, Steps steps) {
		Pc pc = pc(state, me);
		String who = switch (me) {
			case LEADER -> "leader ";
			case CLOSER -> "closer ";
			case DRAINER -> "drainer ";
			case SENDER -> "sender ";
			case THE_PEER -> "peer ";
			default -> "owner " + me + " ";
		} + pc;
		switch (pc) {
			case IDLE -> {
			}
			case REQUEST, PUSH, IS_WAITING, NOT_WAITING_ANY_MORE, WAKE_UP -> request(state, me, pc, who, steps);
			case DRAIN, TAKE_LIST, TAKE_REQUESTS, ATTEND, ARM, APPLY_INTEREST, TAKE_LATE ->
				attend(state, pc, who, steps);
			case ANNOUNCE, LOOK_ONCE_MORE, SELECT, SELECT_NOW, END_WAIT, END_WAIT_AT_ONCE ->
				await(state, pc, who, steps);
			case FLUSH, FLUSH_FAILED, FLUSH_DISCARD, IS_PAUSED, FLUSH_INTEREST -> flush(state, pc, who, steps);
			case CLAIM_READ, CLAIM_CAS, DEACTIVATE -> claim(state, pc, who, steps);
			case BEGIN, STALLED, READ, HANDLER, SEND, HIGH_WATER -> receive(state, me, pc, who, steps);
			case SETTLE, SETTLE_DRAINING, SETTLE_SHUTDOWN, SETTLE_AGAIN, CLOSE_OUTBOUND, FLUSHING, DISCARD, MARK_CLOSED,
					CLOSE_CHANNEL ->
				settle(state, me, pc, who, steps);
			case PAUSE_READ, PAUSE_CAS, PAUSE_FIRED, CHECK_MARK, RELEASE_READ, RELEASE_CAS, RELEASE_FIRED ->
				release(state, me, pc, who, steps);
			case ASK -> {
				byte[] next = steps.may(who);
				int asked = (me == CLOSER) ? CLOSING : SERVER_DRAINS;
				boolean late = me == DRAINER && is(Without.STATE_BEFORE_DRAIN);
				if (next[asked] == 0 && !late) {
					next[asked] = 1;
				}
				if (is(Without.LOOK_TO_CLOSE)) {
					go(next, me, Pc.IDLE);
				}
				else {
					request(next, me, FOR_LOOK, late ? Pc.ASK_LATE : Pc.IDLE);
				}
			}
			case ASK_LATE -> {
				byte[] next = steps.must(who);
				next[SERVER_DRAINS] = 1;
				go(next, me, Pc.IDLE);
			}
			case SEND_OUTSIDE -> {
				if (state[CLOSING] == 0) {
					go(steps.may(who), me, Pc.SEND);
				}
			}
			case PEER -> peer(state, who, steps);
		}
	}

	private void peer(byte[] state, String who, Steps steps) {
		if (state[TO_COME] > 0 && state[CHANNEL_CLOSED] == 0 && state[BROKEN] == 0) {
			byte[] next = steps.may(who + " sends a message");
			next[TO_COME]--;
			next[DATA]++;
		}
		if (state[ROOM] == 0) {
			steps.may(who + " reads")[ROOM] = 1;
		}
		if (this.breaks && state[BROKEN] == 0) {
			steps.may(who + " resets")[BROKEN] = 1;
		}
	}

	private void request(byte[] state, int me, Pc pc, String who, Steps steps) {
		byte[] next = steps.must(who);
		boolean lookFirst = is(Without.REQUEST_BEFORE_LOOK);
		switch (pc) {
			case REQUEST -> {
				boolean first = state[REQUESTS] == 0;
				next[REQUESTS] |= get(state, me, BITS);
				set(next, me, BITS, 0);
				if (first) {
					go(next, me, lookFirst ? Pc.IS_WAITING : Pc.PUSH);
				}
				else {
					requested(next, me);
				}
			}
			case PUSH -> {
				next[QUEUED] = 1;
				if (!lookFirst) {
					go(next, me, Pc.IS_WAITING);
				}
				else if (get(state, me, SAW) != 0) {
					go(next, me, Pc.NOT_WAITING_ANY_MORE);
				}
				else {
					requested(next, me);
				}
			}
			case IS_WAITING -> {
				if (lookFirst) {
					set(next, me, SAW, state[ANNOUNCED]);
					go(next, me, Pc.PUSH);
				}
				else if (state[ANNOUNCED] == 0) {
					requested(next, me);
				}
				else if (this.fine) {
					go(next, me, Pc.NOT_WAITING_ANY_MORE);
				}
				else {
					next[ANNOUNCED] = 0;
					go(next, me, Pc.WAKE_UP);
				}
			}
			case NOT_WAITING_ANY_MORE -> {
				next[ANNOUNCED] = 0;
				if (state[ANNOUNCED] != 0) {
					go(next, me, Pc.WAKE_UP);
				}
				else {
					requested(next, me);
				}
			}
			default -> {
				next[WOKEN] = 1;
				requested(next, me);
			}
		}
	}

	private void attend(byte[] state, Pc pc, String who, Steps steps) {
		byte[] next = steps.must(who);
		int bits = get(state, LEADER, BITS);
		switch (pc) {
			case DRAIN -> {
				if (state[QUEUED] == 0) {
					attended(next);
				}
				else if (this.fine) {
					go(next, LEADER, Pc.TAKE_LIST);
				}
				else {
					next[QUEUED] = 0;
					takeRequests(next);
				}
			}
			case TAKE_LIST -> {
				next[QUEUED] = 0;
				if (this.fine) {
					go(next, LEADER, Pc.TAKE_REQUESTS);
				}
				else {
					takeRequests(next);
				}
			}
			case TAKE_REQUESTS -> takeRequests(next);
			case ATTEND -> {
				if (state[CLAIM] == CLOSED) {
					attended(next);
				}
				else {
					go(next, LEADER, ((bits & FOR_REARM) != 0) ? Pc.ARM : Pc.APPLY_INTEREST);
				}
			}
			case ARM -> {
				if (state[CLAIM] == DISARMED || is(Without.COMPARE_AND_SET_OF_ARM)) {
					next[CLAIM] = ARMED;
					next[ACTIVE] = 1;
				}
				go(next, LEADER, Pc.APPLY_INTEREST);
			}
			case APPLY_INTEREST -> {
				applyInterest(next);
				if ((bits & FOR_LOOK) != 0) {
					ready(next, LOOK);
				}
				attended(next);
			}
			default -> {
				next[REQUESTS] = 0;
				announceOrSelect(next);
			}
		}
	}

	private void takeRequests(byte[] next) {
		set(next, LEADER, BITS, next[REQUESTS]);
		if (!is(Without.TAKE_BEFORE_ATTENDING)) {
			next[REQUESTS] = 0;
		}
		go(next, LEADER, Pc.ATTEND);
	}

	private void attended(byte[] next) {
		boolean late = is(Without.TAKE_BEFORE_ATTENDING) && get(next, LEADER, BITS) != 0;
		set(next, LEADER, BITS, 0);
		if (late) {
			go(next, LEADER, Pc.TAKE_LATE);
		}
		else {
			announceOrSelect(next);
		}
	}

	private void announceOrSelect(byte[] next) {
		if (next[RING] != 0) {
			go(next, LEADER, Pc.SELECT_NOW);
		}
		else {
			go(next, LEADER, is(Without.ANNOUNCEMENT_BEFORE_LOOK) ? Pc.LOOK_ONCE_MORE : Pc.ANNOUNCE);
		}
	}

	private void await(byte[] state, Pc pc, String who, Steps steps) {
		boolean lookFirst = is(Without.ANNOUNCEMENT_BEFORE_LOOK);
		int events = selected(state);
		if (pc == Pc.SELECT && events == 0 && state[WOKEN] == 0) {
			return;
		}
		byte[] next = steps.must(who);
		switch (pc) {
			case ANNOUNCE -> {
				next[ANNOUNCED] = 1;
				go(next, LEADER, lookFirst ? Pc.SELECT : Pc.LOOK_ONCE_MORE);
			}
			case LOOK_ONCE_MORE -> {
				if (state[QUEUED] != 0) {
					go(next, LEADER, Pc.END_WAIT_AT_ONCE);
				}
				else {
					go(next, LEADER, lookFirst ? Pc.ANNOUNCE : Pc.SELECT);
				}
			}
			case SELECT -> {
				next[WOKEN] = 0;
				ready(next, events);
				go(next, LEADER, Pc.END_WAIT);
			}
			case END_WAIT_AT_ONCE -> {
				next[ANNOUNCED] = 0;
				go(next, LEADER, Pc.SELECT_NOW);
			}
			case SELECT_NOW -> {
				next[WOKEN] = 0;
				ready(next, events);
				leadOn(next);
			}
			default -> {
				next[ANNOUNCED] = 0;
				leadOn(next);
			}
		}
	}

	private static int selected(byte[] state) {
		if (state[CHANNEL_CLOSED] != 0) {
			return 0;
		}
		int happened = ((state[DATA] > 0 || state[BROKEN] != 0) ? IN : 0)
				| ((state[ROOM] != 0 || state[BROKEN] != 0) ? OUT : 0);
		return state[INTEREST] & happened;
	}

	/** Takes the next from the ready ring, or attends to requests if it is empty. */
	private void leadOn(byte[] next) {
		int events = next[RING];
		if (events == 0) {
			set(next, LEADER, BITS, 0);
			go(next, LEADER, Pc.DRAIN);
			return;
		}
		System.arraycopy(next, RING + 1, next, RING, RING_SIZE - 1);
		next[RING + RING_SIZE - 1] = 0;
		set(next, LEADER, BITS, events);
		go(next, LEADER, ((events & OUT) != 0) ? Pc.FLUSH : Pc.CLAIM_READ);
	}

	private static void ready(byte[] next, int events) {
		if (events != 0) {
			int place = RING;
			while (next[place] != 0) {
				place++;
			}
			next[place] = (byte) events;
		}
	}

	private static void applyInterest(byte[] next) {
		next[INTEREST] = (byte) (((next[ACTIVE] != 0) ? IN : 0) | ((next[WAITING] > 0) ? OUT : 0));
	}

	private void flush(byte[] state, Pc pc, String who, Steps steps) {
		byte[] next = steps.must(who);
		int events = get(state, LEADER, BITS);
		switch (pc) {
			case FLUSH -> {
				set(next, LEADER, BITS, events & ~OUT);
				if ((state[BROKEN] != 0 || state[CHANNEL_CLOSED] != 0) && state[WAITING] > 0) {
					go(next, LEADER, Pc.FLUSH_FAILED);
					return;
				}
				if (state[WAITING] > 0 && state[ROOM] != 0) {
					next[WAITING]--;
					next[ROOM] = 0;
				}
				// The phase is read at once: what it was before makes the mark no lower.
				int mark = (state[PHASE_FLUSHING] != 0) ? 0 : LOW_MARK;
				go(next, LEADER, (next[WAITING] <= mark) ? Pc.IS_PAUSED : Pc.FLUSH_INTEREST);
			}
			case FLUSH_FAILED -> {
				next[CLOSING] = 2;
				set(next, LEADER, BITS, events | LOOK);
				go(next, LEADER, is(Without.DISCARD_AFTER_FAILURE) ? Pc.FLUSH_INTEREST : Pc.FLUSH_DISCARD);
			}
			case FLUSH_DISCARD -> {
				next[WAITING] = 0;
				next[OUTBOUND_CLOSED] = 1;
				go(next, LEADER, Pc.FLUSH_INTEREST);
			}
			case IS_PAUSED -> {
				if (state[CLAIM] == PAUSED && !is(Without.LOOK_AT_PAUSED)) {
					set(next, LEADER, BITS, events | LOOK);
				}
				go(next, LEADER, Pc.FLUSH_INTEREST);
			}
			default -> {
				applyInterest(next);
				if (events != 0) {
					go(next, LEADER, Pc.CLAIM_READ);
				}
				else {
					leadOn(next);
				}
			}
		}
	}

	private void claim(byte[] state, Pc pc, String who, Steps steps) {
		boolean look = (get(state, LEADER, BITS) & LOOK) != 0;
		int saw = (pc == Pc.CLAIM_CAS) ? get(state, LEADER, SAW) : state[CLAIM];
		int to = switch (saw) {
			case ARMED -> CLAIMED;
			case CLAIMED -> (look && is(Without.LOOK_WHILE_OWNED)) ? -1 : CLAIMED_FIRED;
			case CLAIMED_DISARMED -> (look && !is(Without.LOOK_WHILE_OWNED)) ? CLAIMED_FIRED : -1;
			case DISARMED, PAUSED -> look ? CLAIMED_DISARMED : -1;
			default -> -1;
		};
		if (pc == Pc.CLAIM_READ && (this.fine || to < 0)) {
			byte[] next = steps.must(who);
			if (to >= 0) {
				set(next, LEADER, SAW, saw);
				go(next, LEADER, Pc.CLAIM_CAS);
			}
			else if (!look
					&& (saw == PAUSED || (saw == CLAIMED_DISARMED && !is(Without.DEACTIVATION_WHILE_DRAINING)))) {
				go(next, LEADER, Pc.DEACTIVATE);
			}
			else {
				leadOn(next);
			}
		}
		else if (pc == Pc.DEACTIVATE) {
			byte[] next = steps.must(who);
			next[ACTIVE] = 0;
			applyInterest(next);
			leadOn(next);
		}
		else if (state[CLAIM] != saw) {
			byte[] next = steps.must(who);
			set(next, LEADER, SAW, 0);
			go(next, LEADER, Pc.CLAIM_READ);
		}
		else if (to == CLAIMED_FIRED) {
			byte[] next = steps.must(who);
			next[CLAIM] = (byte) to;
			set(next, LEADER, SAW, 0);
			go(next, LEADER, Pc.DEACTIVATE);
		}
		else {
			int owner = (pc(state, OWNER) == Pc.IDLE) ? OWNER : OWNER + 1;
			if (pc(state, owner) == Pc.IDLE) {
				byte[] next = steps.must(who + " by owner " + owner);
				next[CLAIM] = (byte) to;
				set(next, LEADER, SAW, 0);
				go(next, owner, Pc.BEGIN);
				leadOn(next);
			}
		}
	}

	private void receive(byte[] state, int me, Pc pc, String who, Steps steps) {
		byte[] next = (pc == Pc.HANDLER) ? steps.may(who + " ends") : steps.must(who);
		switch (pc) {
			case BEGIN -> {
				if (state[CLOSING] != 0) {
					go(next, me, Pc.SETTLE);
				}
				else {
					go(next, me, (state[IS_STALLED] != 0) ? Pc.STALLED : Pc.READ);
				}
			}
			case STALLED -> {
				if (state[WAITING] > LOW_MARK) {
					go(next, me, Pc.SETTLE);
				}
				else {
					next[IS_STALLED] = 0;
					go(next, me, Pc.READ);
				}
			}
			case READ -> {
				if (state[BROKEN] != 0) {
					next[CLOSING] = 2;
					go(next, me, Pc.SETTLE);
				}
				else if (state[DATA] > 0) {
					next[DATA]--;
					go(next, me, Pc.HANDLER);
				}
				else {
					go(next, me, Pc.SETTLE);
				}
			}
			case HANDLER -> {
				go(next, me, Pc.SETTLE);
				go(steps.may(who + " replies"), me, Pc.SEND);
			}
			case SEND -> {
				Pc then = (me == SENDER) ? Pc.IDLE : Pc.HIGH_WATER;
				boolean first = state[WAITING] == 0;
				if (state[OUTBOUND_CLOSED] != 0 || state[WAITING] > 2 * HIGH_MARK) {
					go(next, me, then);
				}
				else if (first && state[BROKEN] != 0) {
					next[CLOSING] = 2;
					if (me == SENDER) {
						request(next, me, FOR_LOOK, Pc.IDLE);
					}
					else {
						go(next, me, Pc.SETTLE);
					}
				}
				else {
					next[WAITING] += (byte) (3 - (first ? state[ROOM] : 0));
					if (first) {
						next[ROOM] = 0;
					}
					if (first && !is(Without.INTEREST_TO_WRITE)) {
						request(next, me, FOR_INTEREST, then);
					}
					else {
						go(next, me, then);
					}
				}
			}
			default -> {
				if (state[WAITING] >= HIGH_MARK) {
					next[IS_STALLED] = 1;
				}
				go(next, me, Pc.SETTLE);
			}
		}
	}

	private void settle(byte[] state, int me, Pc pc, String who, Steps steps) {
		byte[] next = steps.must(who);
		switch (pc) {
			case SETTLE -> go(next, me, (state[CLOSING] != 0) ? Pc.CLOSE_OUTBOUND : Pc.SETTLE_DRAINING);
			case SETTLE_DRAINING -> go(next, me,
					(state[SERVER_DRAINS] != 0 && state[IS_STALLED] == 0) ? Pc.SETTLE_SHUTDOWN : Pc.SETTLE_AGAIN);
			case SETTLE_SHUTDOWN -> {
				if (state[CLOSING] == 0) {
					next[CLOSING] = 1;
				}
				go(next, me, Pc.CLOSE_OUTBOUND);
			}
			case SETTLE_AGAIN -> {
				if (state[CLOSING] != 0) {
					go(next, me, Pc.CLOSE_OUTBOUND);
				}
				else if (state[IS_STALLED] != 0) {
					pauseUntil(next, me, LOW_MARK);
				}
				else {
					go(next, me, Pc.RELEASE_READ);
				}
			}
			case CLOSE_OUTBOUND -> {
				next[OUTBOUND_CLOSED] = 1;
				go(next, me, Pc.FLUSHING);
			}
			case FLUSHING -> {
				next[PHASE_FLUSHING] = 1;
				if (state[CLOSING] == 1 && state[WAITING] > 0) {
					pauseUntil(next, me, 0);
				}
				else {
					go(next, me, Pc.DISCARD);
				}
			}
			case DISCARD -> {
				next[WAITING] = 0;
				go(next, me, Pc.MARK_CLOSED);
			}
			case MARK_CLOSED -> {
				next[CLAIM] = CLOSED;
				go(next, me, Pc.CLOSE_CHANNEL);
			}
			default -> {
				next[CHANNEL_CLOSED] = 1;
				next[DATA] = 0;
				request(next, me, FOR_GONE, Pc.IDLE);
			}
		}
	}

	private void pauseUntil(byte[] next, int me, int mark) {
		set(next, me, BITS, mark);
		go(next, me, Pc.PAUSE_READ);
	}

	private void release(byte[] state, int me, Pc pc, String who, Steps steps) {
		byte[] next = steps.must(who);
		int saw = get(state, me, SAW);
		switch (pc) {
			case PAUSE_READ -> {
				if (state[CLAIM] == CLAIMED_FIRED) {
					lookAgain(next, me, Pc.PAUSE_FIRED);
				}
				else if (this.fine) {
					set(next, me, SAW, state[CLAIM]);
					go(next, me, Pc.PAUSE_CAS);
				}
				else {
					paused(next, me);
				}
			}
			case PAUSE_CAS -> {
				set(next, me, SAW, 0);
				if (state[CLAIM] != saw) {
					go(next, me, Pc.PAUSE_READ);
				}
				else {
					paused(next, me);
				}
			}
			case CHECK_MARK -> {
				boolean drained = state[WAITING] <= get(state, me, BITS);
				set(next, me, BITS, 0);
				if (drained) {
					request(next, me, FOR_LOOK, Pc.IDLE);
				}
				else {
					go(next, me, Pc.IDLE);
				}
			}
			case RELEASE_READ -> {
				if (state[CLAIM] == CLAIMED_FIRED) {
					lookAgain(next, me, Pc.RELEASE_FIRED);
				}
				else if (this.fine) {
					set(next, me, SAW, state[CLAIM]);
					go(next, me, Pc.RELEASE_CAS);
				}
				else {
					released(next, me, state[CLAIM]);
				}
			}
			case RELEASE_CAS -> {
				set(next, me, SAW, 0);
				if (state[CLAIM] != saw && !is(Without.COMPARE_AND_SET_OF_RELEASE)) {
					go(next, me, Pc.RELEASE_READ);
				}
				else {
					released(next, me, saw);
				}
			}
			default -> lookAgain(next, me);
		}
	}

	private void paused(byte[] next, int me) {
		next[CLAIM] = PAUSED;
		if (is(Without.CHECK_AFTER_PAUSE)) {
			set(next, me, BITS, 0);
			go(next, me, Pc.IDLE);
		}
		else {
			go(next, me, Pc.CHECK_MARK);
		}
	}

	private void released(byte[] next, int me, int from) {
		if (from == CLAIMED) {
			next[CLAIM] = ARMED;
			go(next, me, Pc.IDLE);
		}
		else {
			next[CLAIM] = DISARMED;
			request(next, me, FOR_REARM, Pc.IDLE);
		}
	}

	/** Nobody else moves it away from CLAIMED_FIRED, so a plain write does. */
	private void lookAgain(byte[] next, int me, Pc ifFine) {
		if (this.fine) {
			go(next, me, ifFine);
		}
		else {
			lookAgain(next, me);
		}
	}

	private void lookAgain(byte[] next, int me) {
		next[CLAIM] = CLAIMED_DISARMED;
		set(next, me, SAW, 0);
		set(next, me, BITS, 0);
		go(next, me, Pc.BEGIN);
	}

	/** The two owners are interchangeable. */
	@Override
	public byte[] canonical(byte[] state) {
		int one = SHARED + OWNER * LOCALS;
		int other = one + LOCALS;
		if (Arrays.compare(state, one, other, state, other, other + LOCALS) <= 0) {
			return state;
		}
		byte[] swapped = state.clone();
		System.arraycopy(state, one, swapped, other, LOCALS);
		System.arraycopy(state, other, swapped, one, LOCALS);
		return swapped;
	}

	// What has to hold

	@Override
	public String violation(byte[] state) {
		int owners = 0;
		for (int owner = OWNER; owner < OWNER + OWNERS; owner++) {
			owners += owns(state, owner) ? 1 : 0;
		}
		boolean owned = state[CLAIM] == CLAIMED || state[CLAIM] == CLAIMED_FIRED || state[CLAIM] == CLAIMED_DISARMED;
		if (owners > 1) {
			return "two threads own the handle";
		}
		if (owned != (owners == 1)) {
			return "the state is " + state[CLAIM] + ", but " + owners + " own the handle";
		}
		if (state[CHANNEL_CLOSED] != 0 && state[CLAIM] != CLOSED) {
			return "a closed handle is in use again";
		}
		return null;
	}

	private static boolean owns(byte[] state, int owner) {
		return switch (pc(state, owner)) {
			case IDLE, CHECK_MARK, CLOSE_CHANNEL -> false;
			case REQUEST, PUSH, IS_WAITING, NOT_WAITING_ANY_MORE, WAKE_UP -> Pc.ALL[get(state, owner, THEN)] != Pc.IDLE;
			default -> true;
		};
	}

	@Override
	public String violationAtRest(byte[] state) {
		if (state[REQUESTS] != 0 || state[QUEUED] != 0) {
			return "a request is never attended to";
		}
		if (state[CLAIM] == CLOSED) {
			return null;
		}
		if ((state[WAITING] > 0) != ((state[INTEREST] & OUT) != 0)) {
			return "bytes wait without a write event, or a write event without bytes";
		}
		if (owns(state, OWNER) || owns(state, OWNER + 1)) {
			return null;
		}
		boolean flushing = state[PHASE_FLUSHING] != 0;
		boolean waits = state[CLAIM] == PAUSED && state[WAITING] > (flushing ? 0 : LOW_MARK);
		if (state[CLAIM] == DISARMED) {
			return "the handle is never armed again";
		}
		if (state[CLAIM] == PAUSED && !waits) {
			return "the handle stays paused though what waited is written";
		}
		if (state[CLOSING] != 0 && !(waits && flushing)) {
			return "the handle is never closed";
		}
		if (state[SERVER_DRAINS] != 0 && !waits) {
			return "the handle misses that the server drains";
		}
		if (state[DATA] > 0 && !waits) {
			return "a message is never read";
		}
		return null;
	}

	@Override
	public String describe(byte[] state) {
		StringBuilder description = new StringBuilder("claim %d, requests %d, queued %d, active %d, interest %d;"
			.formatted(state[CLAIM], state[REQUESTS], state[QUEUED], state[ACTIVE], state[INTEREST]));
		for (int actor = 0; actor < actors(); actor++) {
			description.append(" %d: %s;".formatted(actor, pc(state, actor)));
		}
		return description + " " + Arrays.toString(state);
	}

	// Access

	private boolean is(Without rule) {
		return this.without.contains(rule);
	}

	private static void request(byte[] state, int me, int bits, Pc then) {
		set(state, me, BITS, bits);
		set(state, me, THEN, then.ordinal());
		go(state, me, Pc.REQUEST);
	}

	private static void requested(byte[] next, int me) {
		Pc then = Pc.ALL[get(next, me, THEN)];
		set(next, me, THEN, 0);
		set(next, me, SAW, 0);
		go(next, me, then);
	}

	private static Pc pc(byte[] state, int actor) {
		return Pc.ALL[get(state, actor, PC)];
	}

	private static void go(byte[] state, int actor, Pc pc) {
		set(state, actor, PC, pc.ordinal());
	}

	private static byte get(byte[] state, int actor, int local) {
		return state[SHARED + actor * LOCALS + local];
	}

	private static void set(byte[] state, int actor, int local, int value) {
		state[SHARED + actor * LOCALS + local] = (byte) value;
	}

	/**
	 * What happens to the connection.
	 */
	static final class Builder {

		private int messages = 1;

		private boolean closer;

		private boolean drainer;

		private boolean sender;

		private boolean breaks;

		private boolean fine;

		private final Set<Without> without = EnumSet.noneOf(Without.class);

		/** How many messages the peer sends. */
		Builder messages(int messages) {
			this.messages = messages;
			return this;
		}

		/** Another thread closes the connection. */
		Builder closer() {
			this.closer = true;
			return this;
		}

		/** The server is drained. */
		Builder drainer() {
			this.drainer = true;
			return this;
		}

		/** Another thread sends on the connection. */
		Builder sender() {
			this.sender = true;
			return this;
		}

		/** The peer may reset the connection. */
		Builder breaks() {
			this.breaks = true;
			return this;
		}

		/** Every access by itself, also those that a retry makes one with the next. */
		Builder fine() {
			this.fine = true;
			return this;
		}

		Builder without(Without rule) {
			this.without.add(rule);
			return this;
		}

		HandleProtocol build() {
			return new HandleProtocol(this);
		}

	}

}
