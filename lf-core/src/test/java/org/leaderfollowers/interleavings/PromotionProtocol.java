package org.leaderfollowers.interleavings;

import java.util.Arrays;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;

import org.leaderfollowers.interleavings.InterleavingExplorer.Steps;

/**
 * The promotion protocol in atomic steps: {@code Leadership}, {@code LifoFollowers} or
 * {@code OrderedFollowers}, and {@code Follower}, as {@code LeaderFollowersPool} composes
 * them. Each constant of {@link Pc} is one access to a shared word; its comment names the
 * line that it mirrors.
 * <p>
 * The version in the word of the stack and the term in the word of a leadership never
 * come down, so the model need not count them: a snapshot is <em>fresh</em> until
 * somebody changes the version (takes the next term), and a compare-and-set succeeds only
 * from a fresh one.
 * <p>
 * The queues of {@code OrderedFollowers} are one list here, in the order in which they
 * are promoted: by priority, joined threads come before the pool's own. Their lock is
 * taken with the first access under it and released with the last, which loses nothing:
 * in between, whoever wants the lock waits, and whoever does not may go on.
 * <p>
 * A handler runs until it ends, if ever; events may come, if ever; waiting times may end,
 * if ever. So the exploration is not bounded in time, only in the number of threads.
 */
final class PromotionProtocol implements InterleavingExplorer.Protocol {

	/**
	 * Which follower is promoted.
	 */
	enum Order {

		/** {@code LifoFollowers}. */
		LIFO,

		/** {@code OrderedFollowers} by arrival. */
		FIFO,

		/** {@code OrderedFollowers} by priority. */
		PRIORITY

	}

	/**
	 * A rule of the protocol that is dropped.
	 */
	enum Without {

		/** A follower looks for a vacancy once more after it has published itself. */
		SECOND_LOOK,

		/** Who was under way clears its mark before it looks for vacancies. */
		MARK_CLEARED_FIRST,

		/** A signaller that found nobody looks again after it has cleared its mark. */
		LOOK_AFTER_MARK,

		/**
		 * A signaller that could not start a thread looks at the number again after it
		 * has cleared its mark.
		 */
		LIMIT_AFTER_MARK,

		/** A thread that withdraws looks for a vacancy. */
		LOOK_BEFORE_END,

		/** The word of the stack has a version. */
		VERSION,

		/** The leadership is vacant before somebody is woken. */
		VACANT_BEFORE_WAKE_UP,

		/** The one that was under way wakes the next for the next vacancy. */
		NEXT_VACANCY,

		/** One that leaves by itself and was signalled at that moment has arrived. */
		ARRIVAL_OF_LEAVER,

		/** A signaller that popped one that had left goes on with the next. */
		NEXT_AFTER_AWAY,

		/** Leadership is taken by compare-and-set. */
		COMPARE_AND_SET,

		/** At most one is under way. */
		ONE_UNDER_WAY,

		/** A joined thread whose time is up does not take the leadership again. */
		END_OF_JOIN,

		/** A place that is popped late signals its owner, who waits again in place. */
		WAIT_AGAIN_IN_PLACE,

		/** Closing the pool sets the state before it wakes anybody. */
		STOP_BEFORE_WAKE_UP,

		/** A signaller that has locked the queue looks at the mark once more. */
		MARK_UNDER_LOCK,

		/** The mark is set before the permit of the one that is signalled. */
		MARK_BEFORE_PERMIT,

		/**
		 * One that leaves by itself finds out under the lock whether it was signalled.
		 */
		PERMIT_UNDER_LOCK,

		/** One that leaves by itself is taken out of the queue. */
		UNLINKED_AS_IT_LEAVES;

		/** Whether the followers of an order have this rule. */
		boolean isRuleOf(Order order) {
			return switch (this) {
				case VERSION, NEXT_AFTER_AWAY, WAIT_AGAIN_IN_PLACE -> order == Order.LIFO;
				case MARK_UNDER_LOCK, MARK_BEFORE_PERMIT, PERMIT_UNDER_LOCK, UNLINKED_AS_IT_LEAVES ->
					order != Order.LIFO;
				default -> true;
			};
		}

	}

	/** What a thread does next. */
	private enum Pc {

		/** Not a participant; the pool's own threads: not started. */
		ENDED,

		// participate, lead

		/** {@code while (!isStopping())}. */
		TOP,

		/** {@code UpdateQueue.beginWait}. */
		ANNOUNCE,

		/** {@code this.pool.isStopping()} in {@code HandleSet.await}. */
		STOPPING_BEFORE_SELECT,

		/** {@code Selector.select}. */
		SELECT,

		/** {@code UpdateQueue.endWait}. */
		END_WAIT,

		/** A handler runs. */
		HANDLER,

		// Leadership

		/** {@code take}: reads the word. */
		TAKE_READ,

		/** {@code take}: compare-and-set. */
		TAKE_CAS,

		/** {@code giveUp}. */
		GIVE_UP,

		// LifoFollowers.signal

		SIGNAL_READ, SIGNAL_BELOW, SIGNAL_CAS, SIGNAL_READ_AGAIN, POPPED_WAITING, POPPED_AWAY, UNPARK,

		// OrderedFollowers.signal, after the first and before the last of these

		/** Takes the lock, and looks at the mark again. */
		SIGNAL_LOCKED,

		/** {@code this.underWay = true}. */
		SIGNAL_MARK,

		/** {@code unlink}. */
		SIGNAL_UNLINK,

		/** {@code Follower.signal}. */
		SIGNAL_PERMIT,

		// signalFollower, startThread

		/** Counts a thread in, if there are fewer than the limit. */
		START_COUNT,

		/** {@code Thread.start}. */
		START_THREAD,

		/** It could not be started. */
		START_UNCOUNT,

		/** {@code arrive} of the signaller. */
		START_CLEAR,

		/** {@code isEmpty}. */
		START_EMPTY,

		/** Are there fewer threads than the limit again? */
		START_LIMIT,

		/** {@code isAnyVacant}. */
		START_VACANT,

		/** {@code signalNextVacancy}. */
		NEXT_VACANCY,

		/** {@code arrive} in {@code runOwnThread}. */
		NEW_ARRIVE,

		/** Only without {@link Without#MARK_CLEARED_FIRST}. */
		LATE_CLEAR,

		// LifoFollowers.enqueue

		ENQUEUE_AGAIN, ENQUEUE_BEGIN, ENQUEUE_READ, ENQUEUE_BELOW, ENQUEUE_CAS,

		// OrderedFollowers.enqueue

		/** Takes the lock, {@code beginWaiting}. */
		ENQUEUE_LOCKED,

		/** {@code link}. */
		ENQUEUE_LINK,

		// LifoFollowers.leave

		LEAVE_AWAY, LEAVE_CONSUME, LEAVE_ARRIVE,

		// OrderedFollowers.leave, before the last two of these

		/** Takes the lock, {@code isWaiting}. */
		LEAVE_LOCKED,

		/** {@code unlink}. */
		LEAVE_UNLINK,

		/** {@code endWaiting}. */
		LEAVE_OUT,

		/** Only without {@link Without#PERMIT_UNDER_LOCK}. */
		LEAVE_LOOK,

		// Followers.await

		AWAIT_CHECK, AWAIT_CANCELLED, PARKED, AWAIT_CONSUME, AWAIT_ARRIVE,

		// follow, withdraw

		/** {@code retireThread}. */
		RETIRE,

		/** Leaves {@code participate}. */
		EXIT,

		/** {@code withdraw}: counts itself out. */
		EXIT_COUNT,

		/** {@code withdraw}: {@code isAnyVacant}. */
		EXIT_VACANT,

		// The one who closes the pool

		CLOSE, CLOSE_WAITING, CLOSE_WAKE, CLOSE_UNPARK;

		private static final Pc[] ALL = values();

	}

	// Permits

	private static final int OUT = 0;

	private static final int WAITING = 1;

	private static final int SIGNALLED = 2;

	private static final int AWAY = 3;

	// Shared

	private static final int TOP = 0;

	private static final int MARK = 1;

	private static final int COUNT = 2;

	private static final int STOPPING = 3;

	private static final int HOLDER = 4;

	private static final int ANNOUNCED = 6;

	private static final int WAKE_UP = 8;

	private static final int DEPTH = 10;

	private static final int LOCK = 11;

	private static final int SHARED = 12;

	// Of each thread

	private static final int PC = 0;

	private static final int PERMIT = 1;

	private static final int BELOW = 2;

	private static final int UNPARKED = 3;

	private static final int LEADING = 4;

	private static final int SNAPSHOT_TOP = 5;

	private static final int SNAPSHOT_MARK = 6;

	private static final int SNAPSHOT_FRESH = 7;

	private static final int SNAPSHOT_BELOW = 8;

	private static final int MARKED = 9;

	private static final int SET = 10;

	private static final int TERM_FRESH = 11;

	/** Where {@code takeVacancy} was called. */
	private static final int TAKEN_IN = 12;

	/** Where {@code signalFollower} returns to. */
	private static final int SIGNALS_THEN = 13;

	/** Why it leaves the stack by itself. */
	private static final int LEAVES_AS = 14;

	private static final int RETIRED = 15;

	private static final int TIME_UP = 16;

	private static final int START_FAILED = 17;

	private static final int SNAPSHOT_DEPTH = 18;

	private static final int LOCALS = 19;

	private static final int IN_PARTICIPATE = 1;

	private static final int IN_FOLLOW = 2;

	private static final int IN_ARRIVE = 3;

	private static final int AS_LEADER = 1;

	private static final int AS_EXPIRED = 2;

	private final Order order;

	private final int sets;

	private final int min;

	private final int max;

	private final int own;

	private final int joiners;

	private final boolean keepAlive;

	private final boolean failingStarts;

	private final boolean closes;

	private final boolean fine;

	private final boolean symmetric;

	private final Set<Without> without;

	private final List<int[]> permutations;

	private PromotionProtocol(Builder builder) {
		this.order = builder.order;
		this.sets = builder.sets;
		this.min = builder.min;
		this.max = builder.max;
		this.joiners = builder.joiners;
		this.keepAlive = builder.keepAlive;
		this.failingStarts = builder.failingStarts;
		this.closes = builder.closes;
		this.fine = builder.fine || builder.without.contains(Without.WAIT_AGAIN_IN_PLACE)
				|| builder.without.contains(Without.MARK_BEFORE_PERMIT)
				|| builder.without.contains(Without.PERMIT_UNDER_LOCK);
		this.symmetric = builder.symmetric;
		this.own = this.max + builder.spare;
		this.without = builder.without;
		this.permutations = Permutations.of(this.own, this.own + this.joiners);
	}

	static Builder builder() {
		return new Builder();
	}

	@Override
	public byte[] start() {
		byte[] state = new byte[SHARED + actors() * LOCALS];
		state[COUNT] = (byte) this.min;
		for (int thread = 1; thread <= this.min; thread++) {
			top(state, thread);
		}
		if (this.closes) {
			go(state, actors(), Pc.CLOSE);
		}
		return state;
	}

	@Override
	public int actors() {
		return this.own + this.joiners + (this.closes ? 1 : 0);
	}

	@Override
	public void steps(byte[] state, int actor, Steps steps) {
		int me = actor + 1;
		Pc pc = pc(state, me);
		switch (pc) {
			case ENDED -> {
				if (isJoiner(me) && state[STOPPING] == 0) {
					top(steps.may(me + " joins"), me);
				}
			}
			case TOP -> {
				byte[] next = steps.must(me + " isStopping");
				if (state[STOPPING] != 0) {
					exit(next, me);
				}
				else {
					leadOrTake(next, me);
				}
			}
			case ANNOUNCE -> {
				byte[] next = steps.must(me + " beginWait");
				next[ANNOUNCED + get(state, me, LEADING) - 1] = 1;
				go(next, me, Pc.STOPPING_BEFORE_SELECT);
			}
			case STOPPING_BEFORE_SELECT ->
				go(steps.must(me + " isStopping before select"), me, (state[STOPPING] != 0) ? Pc.END_WAIT : Pc.SELECT);
			case SELECT -> select(state, me, steps);
			case END_WAIT -> {
				byte[] next = steps.must(me + " endWait");
				next[ANNOUNCED + get(state, me, LEADING) - 1] = 0;
				top(next, me);
			}
			case HANDLER -> {
				byte[] next = steps.may(me + " handler ends");
				if (get(state, me, TIME_UP) != 0 && !is(Without.END_OF_JOIN)) {
					exit(next, me);
				}
				else {
					top(next, me);
				}
			}
			case TAKE_READ -> {
				int set = get(state, me, SET);
				byte[] next = steps.must(me + " take: reads " + set);
				if (state[HOLDER + set] != 0) {
					takeNext(next, me);
				}
				else {
					set(next, me, TERM_FRESH, 1);
					go(next, me, Pc.TAKE_CAS);
				}
			}
			case TAKE_CAS -> {
				int set = get(state, me, SET);
				byte[] next = steps.must(me + " take: compare-and-set " + set);
				boolean free = get(state, me, TERM_FRESH) != 0 && state[HOLDER + set] == 0;
				set(next, me, TERM_FRESH, 0);
				if (free || is(Without.COMPARE_AND_SET)) {
					take(next, me, set);
				}
				else {
					takeNext(next, me);
				}
			}
			case GIVE_UP -> {
				byte[] next = steps.must(me + " giveUp");
				boolean late = is(Without.VACANT_BEFORE_WAKE_UP);
				next[HOLDER + get(state, me, LEADING) - 1] = 0;
				set(next, me, LEADING, 0);
				if (late) {
					Pc then = Pc.ALL[get(state, me, LEAVES_AS)];
					set(next, me, LEAVES_AS, 0);
					proceed(next, me, then);
				}
				else {
					go(next, me, Pc.SIGNAL_READ);
				}
			}
			case SIGNAL_READ, SIGNAL_READ_AGAIN, SIGNAL_BELOW, SIGNAL_CAS, POPPED_WAITING, POPPED_AWAY, UNPARK ->
				signal(state, me, pc, steps);
			case SIGNAL_LOCKED, SIGNAL_MARK, SIGNAL_UNLINK, SIGNAL_PERMIT -> signalInOrder(state, me, pc, steps);
			case START_COUNT, START_THREAD, START_UNCOUNT, START_CLEAR, START_EMPTY, START_LIMIT, START_VACANT ->
				startThread(state, me, pc, steps);
			case NEXT_VACANCY -> {
				int set = get(state, me, SET);
				byte[] next = steps.must(me + " signalNextVacancy: reads " + set);
				if (state[HOLDER + set] == 0) {
					set(next, me, SET, 0);
					signalThen(next, me, Pc.SELECT);
				}
				else if (set + 1 < this.sets) {
					set(next, me, SET, set + 1);
				}
				else {
					set(next, me, SET, 0);
					lead(next, me);
				}
			}
			case NEW_ARRIVE, AWAIT_ARRIVE -> {
				byte[] next = steps.must(me + " arrive: clears the mark");
				next[MARK] = 0;
				takeVacancy(next, me, IN_ARRIVE);
			}
			case LATE_CLEAR -> {
				byte[] next = steps.must(me + " arrive: clears the mark, late");
				next[MARK] = 0;
				if (get(state, me, LEADING) != 0) {
					// When it looked for the next vacancy, its own mark was in the way.
					lead(next, me);
				}
				else {
					foundNothing(next, me);
				}
			}
			case ENQUEUE_AGAIN, ENQUEUE_BEGIN, ENQUEUE_READ, ENQUEUE_BELOW, ENQUEUE_CAS ->
				enqueue(state, me, pc, steps);
			case ENQUEUE_LOCKED, ENQUEUE_LINK -> enqueueInOrder(state, me, pc, steps);
			case LEAVE_AWAY, LEAVE_CONSUME, LEAVE_ARRIVE -> leave(state, me, pc, steps);
			case LEAVE_LOOK, LEAVE_LOCKED, LEAVE_UNLINK, LEAVE_OUT -> leaveInOrder(state, me, pc, steps);
			case AWAIT_CHECK -> {
				byte[] next = steps.must(me + " await: isWaiting");
				if (get(state, me, PERMIT) != WAITING) {
					go(next, me, Pc.AWAIT_CONSUME);
				}
				else {
					go(next, me, this.closes ? Pc.AWAIT_CANCELLED : Pc.PARKED);
				}
			}
			case AWAIT_CANCELLED -> {
				byte[] next = steps.must(me + " await: cancelled?");
				if (state[STOPPING] != 0) {
					leaveAs(next, me, AS_EXPIRED);
				}
				else {
					go(next, me, Pc.PARKED);
				}
			}
			case PARKED -> {
				if (!this.fine) {
					if (get(state, me, PERMIT) != WAITING || state[STOPPING] != 0) {
						byte[] next = steps.must(me + " is woken");
						if (get(state, me, PERMIT) != WAITING) {
							set(next, me, PERMIT, OUT);
							signalConsumed(next, me);
						}
						else {
							leaveAs(next, me, AS_EXPIRED);
						}
					}
				}
				else if (get(state, me, UNPARKED) != 0) {
					byte[] next = steps.must(me + " is unparked");
					set(next, me, UNPARKED, 0);
					go(next, me, Pc.AWAIT_CHECK);
				}
				if (isJoiner(me) || this.keepAlive) {
					byte[] next = steps.may(me + " has waited long enough");
					leaveAs(next, me, AS_EXPIRED);
					set(next, me, TIME_UP, isJoiner(me) ? 1 : 0);
				}
			}
			case AWAIT_CONSUME -> {
				byte[] next = steps.must(me + " consumeSignal");
				set(next, me, PERMIT, OUT);
				signalConsumed(next, me);
			}
			case RETIRE -> {
				byte[] next = steps.must(me + " retireThread");
				if (state[COUNT] > this.min && state[STOPPING] == 0) {
					next[COUNT]--;
					set(next, me, RETIRED, 1);
					exit(next, me);
				}
				else {
					top(next, me);
				}
			}
			case EXIT_COUNT -> {
				byte[] next = steps.must(me + " withdraw: counts itself out");
				if (!isJoiner(me) && get(state, me, RETIRED) == 0) {
					next[COUNT]--;
				}
				exited(next, me);
			}
			case EXIT_VACANT -> {
				int set = get(state, me, SET);
				byte[] next = steps.must(me + " withdraw: reads " + set);
				if (state[HOLDER + set] == 0) {
					set(next, me, SET, 0);
					signalThen(next, me, Pc.ENDED);
				}
				else if (set + 1 < this.sets) {
					set(next, me, SET, set + 1);
				}
				else {
					end(next, me);
				}
			}
			case CLOSE, CLOSE_WAITING, CLOSE_WAKE, CLOSE_UNPARK -> close(state, me, pc, steps);
			case EXIT -> throw new IllegalStateException("not a step of its own");
		}
	}

	private void select(byte[] state, int me, Steps steps) {
		int set = get(state, me, LEADING) - 1;
		if (this.closes && state[WAKE_UP + set] != 0) {
			byte[] next = steps.must(me + " select: woken up");
			next[WAKE_UP + set] = 0;
			go(next, me, Pc.END_WAIT);
		}
		if (get(state, me, TIME_UP) != 0) {
			timeIsUp(steps.must(me + " select: nothing, and its time is up"), me);
		}
		else if (isJoiner(me)) {
			byte[] next = steps.may(me + " select: time is up");
			set(next, me, TIME_UP, 1);
			timeIsUp(next, me);
		}
		byte[] next = steps.may(me + " select: an event, promotes");
		next[ANNOUNCED + set] = 0;
		promote(next, me, Pc.HANDLER);
	}

	private void timeIsUp(byte[] next, int me) {
		next[ANNOUNCED + get(next, me, LEADING) - 1] = 0;
		if (is(Without.END_OF_JOIN)) {
			promote(next, me, Pc.TOP);
		}
		else {
			exit(next, me);
		}
	}

	private void signal(byte[] state, int me, Pc pc, Steps steps) {
		switch (pc) {
			case SIGNAL_READ, SIGNAL_READ_AGAIN -> {
				byte[] next = steps.must(me + " signal: reads the word");
				boolean marked = pc == Pc.SIGNAL_READ_AGAIN && get(state, me, MARKED) != 0;
				if (!marked && state[MARK] != 0 && !is(Without.ONE_UNDER_WAY)) {
					signalled(next, me);
					return;
				}
				if (this.order != Order.LIFO) {
					go(next, me, Pc.SIGNAL_LOCKED);
					return;
				}
				set(next, me, MARKED, marked ? 1 : 0);
				snapshot(next, me);
				if (this.fine) {
					go(next, me, Pc.SIGNAL_BELOW);
				}
				else {
					set(next, me, SNAPSHOT_BELOW, (state[TOP] != 0) ? get(state, state[TOP], BELOW) : 0);
					go(next, me, Pc.SIGNAL_CAS);
				}
			}
			case SIGNAL_BELOW -> {
				int top = get(state, me, SNAPSHOT_TOP);
				byte[] next = steps.must(me + " signal: reads what is below " + top);
				set(next, me, SNAPSHOT_BELOW, (top != 0) ? get(state, top, BELOW) : 0);
				go(next, me, Pc.SIGNAL_CAS);
			}
			case SIGNAL_CAS -> {
				int top = get(state, me, SNAPSHOT_TOP);
				byte[] next = steps.must(me + " signal: pops " + top);
				if (!isCurrent(state, me)) {
					forget(next, me, false);
					go(next, me, Pc.SIGNAL_READ_AGAIN);
					return;
				}
				next[TOP] = get(state, me, SNAPSHOT_BELOW);
				if (top != 0 && !this.fine) {
					set(next, top, BELOW, 0);
				}
				next[DEPTH] -= (byte) ((top != 0) ? 1 : 0);
				next[MARK] = 1;
				newVersion(next);
				forget(next, me, false);
				set(next, me, MARKED, 1);
				set(next, me, SNAPSHOT_TOP, top);
				go(next, me, (top != 0) ? Pc.POPPED_WAITING : Pc.START_COUNT);
			}
			case POPPED_WAITING -> {
				int top = get(state, me, SNAPSHOT_TOP);
				byte[] next = steps.must(me + " popped " + top + ": is it waiting?");
				if (get(state, top, PERMIT) == WAITING) {
					set(next, top, PERMIT, SIGNALLED);
					set(next, me, MARKED, 0);
					if (this.fine) {
						go(next, me, Pc.UNPARK);
					}
					else {
						signalled(next, me);
					}
				}
				else if (this.fine) {
					go(next, me, Pc.POPPED_AWAY);
				}
				else {
					wasAway(next, me, top);
				}
			}
			case POPPED_AWAY -> {
				int top = get(state, me, SNAPSHOT_TOP);
				byte[] next = steps.must(me + " popped " + top + ": is it away?");
				if (get(state, top, PERMIT) != AWAY) {
					go(next, me, is(Without.WAIT_AGAIN_IN_PLACE) ? Pc.SIGNAL_READ_AGAIN : Pc.POPPED_WAITING);
					return;
				}
				wasAway(next, me, top);
			}
			default -> {
				int top = get(state, me, SNAPSHOT_TOP);
				byte[] next = steps.must(me + " unparks " + top);
				set(next, top, UNPARKED, 1);
				signalled(next, me);
			}
		}
	}

	private void wasAway(byte[] next, int me, int top) {
		set(next, top, PERMIT, OUT);
		if (is(Without.NEXT_AFTER_AWAY)) {
			next[MARK] = 0;
			signalled(next, me);
		}
		else {
			set(next, me, SNAPSHOT_TOP, 0);
			go(next, me, Pc.SIGNAL_READ_AGAIN);
		}
	}

	private void signalInOrder(byte[] state, int me, Pc pc, Steps steps) {
		int first = state[TOP];
		boolean permitFirst = is(Without.MARK_BEFORE_PERMIT);
		switch (pc) {
			case SIGNAL_LOCKED -> {
				if (state[LOCK] != 0) {
					return;
				}
				byte[] next = steps.must(me + " signal: locks, reads the mark");
				if (state[MARK] != 0 && !is(Without.ONE_UNDER_WAY) && !is(Without.MARK_UNDER_LOCK)) {
					signalled(next, me);
				}
				else if (this.fine) {
					next[LOCK] = (byte) me;
					go(next, me, (permitFirst && first != 0) ? Pc.SIGNAL_UNLINK : Pc.SIGNAL_MARK);
				}
				else {
					next[MARK] = 1;
					if (first == 0) {
						go(next, me, Pc.START_COUNT);
					}
					else {
						unlink(next, first);
						set(next, first, PERMIT, SIGNALLED);
						signalled(next, me);
					}
				}
			}
			case SIGNAL_MARK -> {
				byte[] next = steps.must(me + " signal: sets the mark");
				next[MARK] = 1;
				if (get(state, me, SNAPSHOT_TOP) != 0) {
					next[LOCK] = 0;
					go(next, me, Pc.UNPARK);
				}
				else if (first == 0) {
					next[LOCK] = 0;
					go(next, me, Pc.START_COUNT);
				}
				else {
					go(next, me, Pc.SIGNAL_UNLINK);
				}
			}
			case SIGNAL_UNLINK -> {
				byte[] next = steps.must(me + " signal: unlinks " + first);
				unlink(next, first);
				set(next, me, SNAPSHOT_TOP, first);
				go(next, me, Pc.SIGNAL_PERMIT);
			}
			default -> {
				int signalled = get(state, me, SNAPSHOT_TOP);
				byte[] next = steps.must(me + " signal: signals " + signalled);
				set(next, signalled, PERMIT, SIGNALLED);
				if (permitFirst) {
					go(next, me, Pc.SIGNAL_MARK);
				}
				else {
					next[LOCK] = 0;
					go(next, me, Pc.UNPARK);
				}
			}
		}
	}

	private void startThread(byte[] state, int me, Pc pc, Steps steps) {
		switch (pc) {
			case START_COUNT -> {
				byte[] next = steps.must(me + " startThread: counts");
				if (state[COUNT] < this.max && state[STOPPING] == 0) {
					next[COUNT]++;
					go(next, me, Pc.START_THREAD);
				}
				else {
					go(next, me, Pc.START_CLEAR);
				}
			}
			case START_THREAD -> {
				// It waits for one that is ending if there is none: the model has no more
				// actors.
				boolean ending = Pc.ALL[get(state, me, SIGNALS_THEN)] == Pc.ENDED;
				for (int born = 1; born <= this.own; born++) {
					if (pc(state, born) == Pc.ENDED || (born == me && ending)) {
						byte[] next = steps.must(me + " starts " + born);
						signalled(next, me);
						go(next, born, Pc.NEW_ARRIVE);
					}
				}
				if (this.failingStarts) {
					go(steps.must(me + " cannot start a thread"), me, Pc.START_UNCOUNT);
				}
			}
			case START_UNCOUNT -> {
				byte[] next = steps.must(me + " startThread: counts back");
				next[COUNT]--;
				set(next, me, START_FAILED, 1);
				go(next, me, Pc.START_CLEAR);
			}
			case START_CLEAR -> {
				byte[] next = steps.must(me + " arrive: nobody was there");
				next[MARK] = 0;
				if (is(Without.LOOK_AFTER_MARK)) {
					signalled(next, me);
				}
				else {
					set(next, me, MARKED, 0);
					go(next, me, Pc.START_EMPTY);
				}
			}
			case START_EMPTY -> {
				byte[] next = steps.must(me + " isEmpty");
				if (state[TOP] != 0) {
					set(next, me, SET, 0);
					go(next, me, Pc.START_VACANT);
				}
				else if (get(state, me, START_FAILED) != 0 || is(Without.LIMIT_AFTER_MARK)) {
					signalled(next, me);
				}
				else {
					go(next, me, Pc.START_LIMIT);
				}
			}
			case START_LIMIT -> {
				byte[] next = steps.must(me + " are there fewer threads now?");
				if (state[COUNT] >= this.max || state[STOPPING] != 0) {
					signalled(next, me);
				}
				else {
					set(next, me, SET, 0);
					go(next, me, Pc.START_VACANT);
				}
			}
			default -> {
				int set = get(state, me, SET);
				byte[] next = steps.must(me + " isAnyVacant: reads " + set);
				if (state[HOLDER + set] == 0) {
					set(next, me, SET, 0);
					set(next, me, START_FAILED, 0);
					go(next, me, Pc.SIGNAL_READ);
				}
				else if (set + 1 < this.sets) {
					set(next, me, SET, set + 1);
				}
				else {
					set(next, me, SET, 0);
					signalled(next, me);
				}
			}
		}
	}

	private void enqueue(byte[] state, int me, Pc pc, Steps steps) {
		switch (pc) {
			case ENQUEUE_AGAIN -> {
				byte[] next = steps.must(me + " enqueue: waits again in place?");
				if (get(state, me, PERMIT) == AWAY) {
					set(next, me, PERMIT, WAITING);
					enqueued(next, me);
				}
				else if (this.fine) {
					go(next, me, Pc.ENQUEUE_BEGIN);
				}
				else {
					set(next, me, PERMIT, WAITING);
					go(next, me, Pc.ENQUEUE_READ);
				}
			}
			case ENQUEUE_BEGIN -> {
				byte[] next = steps.must(me + " enqueue: beginWaiting");
				set(next, me, PERMIT, WAITING);
				go(next, me, Pc.ENQUEUE_READ);
			}
			case ENQUEUE_READ -> {
				byte[] next = steps.must(me + " enqueue: reads the word");
				snapshot(next, me);
				if (this.fine) {
					go(next, me, Pc.ENQUEUE_BELOW);
				}
				else {
					set(next, me, BELOW, state[TOP]);
					go(next, me, Pc.ENQUEUE_CAS);
				}
			}
			case ENQUEUE_BELOW -> {
				byte[] next = steps.must(me + " enqueue: below = " + get(state, me, SNAPSHOT_TOP));
				set(next, me, BELOW, get(state, me, SNAPSHOT_TOP));
				go(next, me, Pc.ENQUEUE_CAS);
			}
			default -> {
				byte[] next = steps.must(me + " enqueue: pushes itself");
				boolean current = isCurrent(state, me);
				forget(next, me, true);
				if (current) {
					next[TOP] = (byte) me;
					next[DEPTH]++;
					newVersion(next);
					enqueued(next, me);
				}
				else {
					go(next, me, Pc.ENQUEUE_READ);
				}
			}
		}
	}

	private void enqueueInOrder(byte[] state, int me, Pc pc, Steps steps) {
		if (pc == Pc.ENQUEUE_LOCKED) {
			if (state[LOCK] != 0) {
				return;
			}
			byte[] next = steps.must(me + " enqueue: locks, beginWaiting");
			set(next, me, PERMIT, WAITING);
			if (this.fine) {
				next[LOCK] = (byte) me;
				go(next, me, Pc.ENQUEUE_LINK);
			}
			else {
				link(next, me);
				enqueued(next, me);
			}
		}
		else {
			byte[] next = steps.must(me + " enqueue: links itself");
			link(next, me);
			next[LOCK] = 0;
			enqueued(next, me);
		}
	}

	private void enqueued(byte[] next, int me) {
		if (is(Without.SECOND_LOOK)) {
			await(next, me);
		}
		else {
			takeVacancy(next, me, IN_FOLLOW);
		}
	}

	private void await(byte[] next, int me) {
		go(next, me, this.fine ? Pc.AWAIT_CHECK : Pc.PARKED);
	}

	private void signalConsumed(byte[] next, int me) {
		if (is(Without.MARK_CLEARED_FIRST)) {
			takeVacancy(next, me, IN_ARRIVE);
		}
		else {
			go(next, me, Pc.AWAIT_ARRIVE);
		}
	}

	private void leave(byte[] state, int me, Pc pc, Steps steps) {
		boolean leads = get(state, me, LEAVES_AS) == AS_LEADER;
		switch (pc) {
			case LEAVE_AWAY -> {
				byte[] next = steps.must(me + " leave: goes away?");
				if (get(state, me, PERMIT) != WAITING) {
					if (this.fine) {
						go(next, me, Pc.LEAVE_CONSUME);
					}
					else {
						set(next, me, PERMIT, OUT);
						go(next, me, Pc.LEAVE_ARRIVE);
					}
					return;
				}
				set(next, me, PERMIT, AWAY);
				left(next, me);
			}
			case LEAVE_CONSUME -> {
				byte[] next = steps.must(me + " leave: consumeSignal");
				set(next, me, PERMIT, OUT);
				go(next, me, Pc.LEAVE_ARRIVE);
			}
			default -> {
				byte[] next = steps.must(me + " leave: arrives");
				if (!is(Without.ARRIVAL_OF_LEAVER)) {
					next[MARK] = 0;
				}
				set(next, me, LEAVES_AS, 0);
				if (leads) {
					nextVacancy(next, me);
				}
				else {
					takeVacancy(next, me, IN_ARRIVE);
				}
			}
		}
	}

	private void leaveInOrder(byte[] state, int me, Pc pc, Steps steps) {
		switch (pc) {
			case LEAVE_LOOK -> {
				byte[] next = steps.must(me + " leave: isWaiting, without the lock");
				go(next, me, (get(state, me, PERMIT) == WAITING) ? Pc.LEAVE_LOCKED : Pc.LEAVE_CONSUME);
			}
			case LEAVE_LOCKED -> {
				if (state[LOCK] != 0) {
					return;
				}
				byte[] next = steps.must(me + " leave: locks, isWaiting");
				boolean waiting = get(state, me, PERMIT) == WAITING || is(Without.PERMIT_UNDER_LOCK);
				if (this.fine) {
					next[LOCK] = (byte) (waiting ? me : 0);
					go(next, me, waiting ? Pc.LEAVE_UNLINK : Pc.LEAVE_CONSUME);
				}
				else if (waiting) {
					if (!is(Without.UNLINKED_AS_IT_LEAVES)) {
						unlink(next, me);
					}
					set(next, me, PERMIT, OUT);
					left(next, me);
				}
				else {
					set(next, me, PERMIT, OUT);
					go(next, me, Pc.LEAVE_ARRIVE);
				}
			}
			case LEAVE_UNLINK -> {
				byte[] next = steps.must(me + " leave: unlinks itself");
				if (!is(Without.UNLINKED_AS_IT_LEAVES)) {
					unlink(next, me);
				}
				go(next, me, Pc.LEAVE_OUT);
			}
			default -> {
				byte[] next = steps.must(me + " leave: endWaiting");
				set(next, me, PERMIT, OUT);
				next[LOCK] = 0;
				left(next, me);
			}
		}
	}

	private void left(byte[] next, int me) {
		boolean leads = get(next, me, LEAVES_AS) == AS_LEADER;
		set(next, me, LEAVES_AS, 0);
		if (leads) {
			lead(next, me);
		}
		else if (isJoiner(me)) {
			exit(next, me);
		}
		else {
			go(next, me, Pc.RETIRE);
		}
	}

	private void close(byte[] state, int me, Pc pc, Steps steps) {
		int set = get(state, me, SET);
		switch (pc) {
			case CLOSE -> {
				byte[] next = steps.may("close: STOPPING");
				if (!is(Without.STOP_BEFORE_WAKE_UP)) {
					next[STOPPING] = 1;
				}
				go(next, me, Pc.CLOSE_WAITING);
			}
			case CLOSE_WAITING -> {
				byte[] next = steps.must("close: does anybody wait on " + set);
				if (state[ANNOUNCED + set] != 0) {
					next[ANNOUNCED + set] = 0;
					go(next, me, Pc.CLOSE_WAKE);
				}
				else {
					closeNextSet(next, me, set);
				}
			}
			case CLOSE_WAKE -> {
				byte[] next = steps.must("close: wakes the leader of " + set);
				next[WAKE_UP + set] = 1;
				closeNextSet(next, me, set);
			}
			default -> {
				byte[] next = steps.must("close: unparks " + (set + 1));
				if (pc(state, set + 1) != Pc.ENDED) {
					set(next, set + 1, UNPARKED, 1);
				}
				set(next, me, SET, set + 1);
				if (set + 1 == me - 1) {
					next[STOPPING] = 1;
					end(next, me);
				}
			}
		}
	}

	private void closeNextSet(byte[] next, int me, int set) {
		boolean more = set + 1 < this.sets;
		set(next, me, SET, more ? set + 1 : 0);
		go(next, me, more ? Pc.CLOSE_WAITING : Pc.CLOSE_UNPARK);
	}

	// Transfers of control without a step of their own

	private void top(byte[] next, int me) {
		if (this.closes) {
			go(next, me, Pc.TOP);
		}
		else {
			leadOrTake(next, me);
		}
	}

	private void leadOrTake(byte[] next, int me) {
		if (get(next, me, LEADING) != 0) {
			lead(next, me);
		}
		else {
			takeVacancy(next, me, IN_PARTICIPATE);
		}
	}

	private void lead(byte[] next, int me) {
		go(next, me, this.closes ? Pc.ANNOUNCE : Pc.SELECT);
	}

	private void takeVacancy(byte[] next, int me, int where) {
		set(next, me, TAKEN_IN, where);
		set(next, me, SET, 0);
		go(next, me, Pc.TAKE_READ);
	}

	private void take(byte[] next, int me, int set) {
		next[HOLDER + set] = (byte) me;
		for (int other = 1; other <= this.own + this.joiners; other++) {
			if (get(next, other, SET) == set) {
				set(next, other, TERM_FRESH, 0);
			}
		}
		set(next, me, LEADING, set + 1);
		set(next, me, SET, 0);
		int where = get(next, me, TAKEN_IN);
		set(next, me, TAKEN_IN, 0);
		switch (where) {
			case IN_FOLLOW -> leaveAs(next, me, AS_LEADER);
			case IN_ARRIVE -> {
				if (is(Without.MARK_CLEARED_FIRST)) {
					go(next, me, Pc.LATE_CLEAR);
				}
				else {
					nextVacancy(next, me);
				}
			}
			default -> lead(next, me);
		}
	}

	private void takeNext(byte[] next, int me) {
		int set = get(next, me, SET);
		if (set + 1 < this.sets) {
			set(next, me, SET, set + 1);
			go(next, me, Pc.TAKE_READ);
			return;
		}
		set(next, me, SET, 0);
		int where = get(next, me, TAKEN_IN);
		set(next, me, TAKEN_IN, 0);
		switch (where) {
			case IN_FOLLOW -> await(next, me);
			case IN_ARRIVE -> {
				if (is(Without.MARK_CLEARED_FIRST)) {
					go(next, me, Pc.LATE_CLEAR);
				}
				else {
					foundNothing(next, me);
				}
			}
			default -> go(next, me, (this.order == Order.LIFO) ? Pc.ENQUEUE_AGAIN : Pc.ENQUEUE_LOCKED);
		}
	}

	private void leaveAs(byte[] next, int me, int why) {
		set(next, me, LEAVES_AS, why);
		if (this.order == Order.LIFO) {
			go(next, me, Pc.LEAVE_AWAY);
		}
		else {
			go(next, me, is(Without.PERMIT_UNDER_LOCK) ? Pc.LEAVE_LOOK : Pc.LEAVE_LOCKED);
		}
	}

	private void foundNothing(byte[] next, int me) {
		if (get(next, me, TIME_UP) != 0) {
			exit(next, me);
		}
		else {
			top(next, me);
		}
	}

	private void nextVacancy(byte[] next, int me) {
		if (this.sets > 1 && !is(Without.NEXT_VACANCY)) {
			set(next, me, SET, 0);
			go(next, me, Pc.NEXT_VACANCY);
		}
		else {
			lead(next, me);
		}
	}

	private void promote(byte[] next, int me, Pc then) {
		if (is(Without.VACANT_BEFORE_WAKE_UP)) {
			// Not in use while it leads: where to go in the end.
			set(next, me, LEAVES_AS, then.ordinal());
			signalThen(next, me, Pc.GIVE_UP);
		}
		else {
			set(next, me, SIGNALS_THEN, then.ordinal());
			go(next, me, Pc.GIVE_UP);
		}
	}

	private void signalThen(byte[] next, int me, Pc then) {
		set(next, me, SIGNALS_THEN, then.ordinal());
		go(next, me, Pc.SIGNAL_READ);
	}

	private void signalled(byte[] next, int me) {
		Pc then = Pc.ALL[get(next, me, SIGNALS_THEN)];
		set(next, me, SIGNALS_THEN, 0);
		set(next, me, MARKED, 0);
		set(next, me, START_FAILED, 0);
		forget(next, me, false);
		proceed(next, me, then);
	}

	private void proceed(byte[] next, int me, Pc then) {
		switch (then) {
			case ENDED -> end(next, me);
			case TOP -> top(next, me);
			case SELECT -> lead(next, me);
			case EXIT_COUNT -> exit(next, me);
			default -> go(next, me, then);
		}
	}

	private void exit(byte[] next, int me) {
		if (get(next, me, LEADING) != 0) {
			promote(next, me, Pc.EXIT_COUNT);
		}
		else if (this.fine || this.closes) {
			go(next, me, Pc.EXIT_COUNT);
		}
		else {
			// Nothing to count: it is a joiner or has retired.
			exited(next, me);
		}
	}

	private void exited(byte[] next, int me) {
		if (next[STOPPING] != 0 || is(Without.LOOK_BEFORE_END)) {
			end(next, me);
		}
		else {
			set(next, me, SET, 0);
			go(next, me, Pc.EXIT_VACANT);
		}
	}

	private void end(byte[] next, int me) {
		byte permit = get(next, me, PERMIT);
		byte below = get(next, me, BELOW);
		Arrays.fill(next, SHARED + (me - 1) * LOCALS, SHARED + me * LOCALS, (byte) 0);
		// The place stays on the stack, and is the next one's who gets the slot.
		set(next, me, PERMIT, permit);
		set(next, me, BELOW, below);
	}

	// The word of the stack

	private void snapshot(byte[] next, int me) {
		set(next, me, SNAPSHOT_TOP, next[TOP]);
		set(next, me, SNAPSHOT_MARK, next[MARK]);
		set(next, me, SNAPSHOT_FRESH, 1);
		// Of use only without a version; it would but make more states of the same.
		set(next, me, SNAPSHOT_DEPTH, is(Without.VERSION) ? next[DEPTH] : 0);
	}

	private boolean isCurrent(byte[] state, int me) {
		boolean sameVersion = get(state, me, SNAPSHOT_FRESH) != 0 || (is(Without.VERSION)
				&& get(state, me, SNAPSHOT_TOP) == state[TOP] && get(state, me, SNAPSHOT_DEPTH) == state[DEPTH]);
		return sameVersion && get(state, me, SNAPSHOT_MARK) == state[MARK];
	}

	private void newVersion(byte[] next) {
		for (int thread = 1; thread <= this.own + this.joiners; thread++) {
			set(next, thread, SNAPSHOT_FRESH, 0);
		}
	}

	private void forget(byte[] next, int me, boolean keepsBelow) {
		set(next, me, SNAPSHOT_TOP, 0);
		set(next, me, SNAPSHOT_MARK, 0);
		set(next, me, SNAPSHOT_FRESH, 0);
		set(next, me, SNAPSHOT_DEPTH, 0);
		set(next, me, SNAPSHOT_BELOW, 0);
		if (!keepsBelow) {
			set(next, me, TERM_FRESH, 0);
		}
	}

	// The queue, linked from the one that is promoted next

	private void link(byte[] next, int me) {
		int before = 0;
		int after = next[TOP];
		while (after != 0 && isBefore(after, me)) {
			before = after;
			after = get(next, after, BELOW);
		}
		set(next, me, BELOW, after);
		setNext(next, before, me);
	}

	/** Whether one that waits is promoted before one that begins to wait now. */
	private boolean isBefore(int waiting, int me) {
		return this.order == Order.FIFO || (isJoiner(waiting) && !isJoiner(me));
	}

	private void unlink(byte[] next, int me) {
		int before = 0;
		int place = next[TOP];
		while (place != 0 && place != me) {
			before = place;
			place = get(next, place, BELOW);
		}
		if (place == me) {
			setNext(next, before, get(next, me, BELOW));
			set(next, me, BELOW, 0);
		}
	}

	private static void setNext(byte[] next, int before, int place) {
		if (before != 0) {
			set(next, before, BELOW, place);
		}
		else {
			next[TOP] = (byte) place;
		}
	}

	// Symmetry

	@Override
	public byte[] canonical(byte[] state) {
		if (!this.symmetric) {
			return state;
		}
		byte[] least = state;
		for (int[] permutation : this.permutations) {
			byte[] other = renumbered(state, permutation);
			if (Arrays.compare(other, least) < 0) {
				least = other;
			}
		}
		return least;
	}

	private byte[] renumbered(byte[] state, int[] numbers) {
		byte[] other = state.clone();
		other[TOP] = (byte) numbers[state[TOP]];
		other[LOCK] = (byte) numbers[state[LOCK]];
		for (int set = 0; set < this.sets; set++) {
			other[HOLDER + set] = (byte) numbers[state[HOLDER + set]];
		}
		for (int thread = 1; thread <= this.own + this.joiners; thread++) {
			int number = numbers[thread];
			System.arraycopy(state, SHARED + (thread - 1) * LOCALS, other, SHARED + (number - 1) * LOCALS, LOCALS);
			set(other, number, BELOW, numbers[get(state, thread, BELOW)]);
			set(other, number, SNAPSHOT_TOP, numbers[get(state, thread, SNAPSHOT_TOP)]);
			set(other, number, SNAPSHOT_BELOW, numbers[get(state, thread, SNAPSHOT_BELOW)]);
		}
		return other;
	}

	// What has to hold

	@Override
	public String violation(byte[] state) {
		int threads = this.own + this.joiners;
		int marks = 0;
		for (int thread = 1; thread <= threads; thread++) {
			int leading = get(state, thread, LEADING);
			if (leading != 0 && state[HOLDER + leading - 1] != thread) {
				return thread + " leads a handle set of which another is the leader";
			}
			marks += holdsMark(state, thread) ? 1 : 0;
		}
		for (int set = 0; set < this.sets; set++) {
			if (state[HOLDER + set] != 0 && get(state, state[HOLDER + set], LEADING) != set + 1) {
				return "the leader of " + set + " does not know";
			}
		}
		if (marks != state[MARK] && !is(Without.MARK_CLEARED_FIRST) && !is(Without.MARK_BEFORE_PERMIT)) {
			return "the mark is " + state[MARK] + ", but " + marks + " are under way";
		}
		int seen = 0;
		for (int place = state[TOP]; place != 0; place = get(state, place, BELOW)) {
			if ((seen & (1 << place)) != 0) {
				return place + " is on the stack twice";
			}
			seen |= 1 << place;
			int permit = get(state, place, PERMIT);
			if (permit != WAITING && (permit != AWAY || this.order != Order.LIFO)) {
				return place + " is on the stack but neither waiting nor away";
			}
		}
		if (this.order == Order.LIFO && state[DEPTH] != Integer.bitCount(seen) && !is(Without.VERSION)) {
			return "the depth is " + state[DEPTH] + ", but " + Integer.bitCount(seen) + " are on the stack";
		}
		if (this.order != Order.LIFO && state[LOCK] == 0) {
			for (int thread = 1; thread <= threads; thread++) {
				if (get(state, thread, PERMIT) == WAITING && (seen & (1 << thread)) == 0) {
					return thread + " waits but is not in the queue";
				}
			}
		}
		if (state[COUNT] > this.max) {
			return "too many threads";
		}
		return null;
	}

	/** Whoever is under way, or holds the mark to find out who will be. */
	private boolean holdsMark(byte[] state, int thread) {
		if (get(state, thread, PERMIT) == SIGNALLED) {
			return true;
		}
		return switch (pc(state, thread)) {
			case SIGNAL_BELOW, SIGNAL_CAS, SIGNAL_READ_AGAIN, POPPED_WAITING, POPPED_AWAY ->
				get(state, thread, MARKED) != 0;
			case SIGNAL_UNLINK, SIGNAL_PERMIT, START_COUNT, START_THREAD, START_UNCOUNT, START_CLEAR, NEW_ARRIVE,
					AWAIT_ARRIVE, LEAVE_ARRIVE ->
				true;
			default -> false;
		};
	}

	@Override
	public String violationAtRest(byte[] state) {
		if (state[MARK] != 0) {
			return "nobody is under way, but the mark says so";
		}
		if (state[LOCK] != 0) {
			return "the queue stays locked";
		}
		if (state[STOPPING] != 0) {
			for (int thread = 1; thread <= this.own + this.joiners; thread++) {
				if (pc(state, thread) != Pc.ENDED && pc(state, thread) != Pc.HANDLER) {
					return "the pool is closed, but " + thread + " has not ended";
				}
			}
			return null;
		}
		for (int thread = 1; thread <= this.own + this.joiners; thread++) {
			if (pc(state, thread) == Pc.PARKED && !isOnStack(state, thread)) {
				return thread + " waits where nobody finds it";
			}
		}
		for (int set = 0; set < this.sets; set++) {
			if (state[HOLDER + set] != 0) {
				continue;
			}
			for (int thread = 1; thread <= this.own + this.joiners; thread++) {
				if (pc(state, thread) == Pc.PARKED) {
					return "lost wake-up: " + set + " has no leader while " + thread + " waits";
				}
			}
			if (state[COUNT] < this.max && !this.failingStarts && this.own > this.max) {
				return set + " has no leader, and no thread was started though one more may be";
			}
		}
		return null;
	}

	private boolean isOnStack(byte[] state, int thread) {
		for (int place = state[TOP]; place != 0; place = get(state, place, BELOW)) {
			if (place == thread) {
				return true;
			}
		}
		return false;
	}

	@Override
	public String describe(byte[] state) {
		StringBuilder description = new StringBuilder(
				"top %d, mark %d, lock %d, threads %d, leaders %s;".formatted(state[TOP], state[MARK], state[LOCK],
						state[COUNT], Arrays.toString(Arrays.copyOfRange(state, HOLDER, HOLDER + this.sets))));
		for (int thread = 1; thread <= actors(); thread++) {
			description.append(" %d: %s, permit %d, below %d, unparked %d;".formatted(thread, pc(state, thread),
					get(state, thread, PERMIT), get(state, thread, BELOW), get(state, thread, UNPARKED)));
		}
		return description.toString();
	}

	// Access

	private boolean is(Without rule) {
		return this.without.contains(rule);
	}

	private boolean isJoiner(int thread) {
		return thread > this.own && thread <= this.own + this.joiners;
	}

	private static Pc pc(byte[] state, int thread) {
		return Pc.ALL[get(state, thread, PC)];
	}

	private static void go(byte[] state, int thread, Pc pc) {
		set(state, thread, PC, pc.ordinal());
	}

	private static byte get(byte[] state, int thread, int local) {
		return state[SHARED + (thread - 1) * LOCALS + local];
	}

	private static void set(byte[] state, int thread, int local, int value) {
		state[SHARED + (thread - 1) * LOCALS + local] = (byte) value;
	}

	/**
	 * Which pool is explored.
	 */
	static final class Builder {

		private Order order = Order.LIFO;

		private int sets = 1;

		private int min = 1;

		private int max = 1;

		private int spare;

		private int joiners;

		private boolean keepAlive;

		private boolean failingStarts;

		private boolean closes;

		private boolean fine;

		private boolean symmetric;

		private final Set<Without> without = EnumSet.noneOf(Without.class);

		Builder order(Order order) {
			this.order = order;
			return this;
		}

		Builder handleSets(int handleSets) {
			this.sets = handleSets;
			return this;
		}

		Builder threads(int min, int max) {
			this.min = min;
			this.max = max;
			return this;
		}

		/** How many threads may still be ending while others are started for them. */
		Builder spareThreads(int spareThreads) {
			this.spare = spareThreads;
			return this;
		}

		Builder joiners(int joiners) {
			this.joiners = joiners;
			return this;
		}

		Builder keepAlive() {
			this.keepAlive = true;
			return this;
		}

		Builder failingStarts() {
			this.failingStarts = true;
			return this;
		}

		Builder closes() {
			this.closes = true;
			return this;
		}

		/** Every access by itself, also those of which it cannot matter. */
		Builder fine() {
			this.fine = true;
			return this;
		}

		/** States that differ only in the numbers of the pool's threads are one. */
		Builder symmetric() {
			this.symmetric = true;
			return this;
		}

		Builder without(Without rule) {
			this.without.add(rule);
			return this;
		}

		PromotionProtocol build() {
			return new PromotionProtocol(this);
		}

	}

}
