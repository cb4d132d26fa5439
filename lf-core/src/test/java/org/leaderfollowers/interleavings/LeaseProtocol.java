package org.leaderfollowers.interleavings;

import java.util.Arrays;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;

import org.leaderfollowers.interleavings.InterleavingExplorer.Steps;

/**
 * The lease protocol in atomic steps: {@code Leadership} with leases and
 * {@code LeaseWatch} as {@code LeaderFollowersPool} composes them, with the long and
 * short waits of {@code HandleSet}, and {@code Outbound.hold} and {@code release}.
 * <p>
 * Of {@code Followers} there is the contract only, which {@link PromotionProtocol} and
 * its like prove of each implementation: one step publishes a follower, one step picks
 * any one of those that wait and marks it as under way, one step clears the mark. So what
 * is shown here holds in whatever order followers are promoted.
 * <p>
 * There is no clock. A watcher that looks at a lease may find that it has run out, or
 * not; a timed wait of the watcher ends; how long ago a handler was run last may be long
 * or short. A word of a leadership has no stamp but is <em>fresh</em> for whoever has
 * read it, until somebody begins another term or lease. Handlers return, promote or send
 * if they like, and need not do any of it ever: a state of rest has handlers in it that
 * never return.
 * <p>
 * An operator may change the number of threads and the policy a few times: that is a
 * write to a volatile field, and then the steps of {@code changed}. How long a lease is
 * means nothing without a clock.
 * <p>
 * A thread that leads one handle set while another one has no leader waits for moments
 * only and goes round. It would never come to rest; so its wait has to end only as long
 * as there is a handle set that nobody has looked at since the last change.
 */
final class LeaseProtocol implements InterleavingExplorer.Protocol {

	/**
	 * A rule of the protocol that is dropped.
	 */
	enum Without {

		/** A leader publishes its lease before it looks who watches. */
		LEASE_BEFORE_COVER,

		/** A leader that finds the watcher asleep rouses it, or promotes. */
		ROUSING,

		/** Whoever rouses the watcher unparks it. */
		UNPARK,

		/** A watcher that is unparked looks whether it was roused. */
		AWAKE_AFTER_UNPARK,

		/** A watcher looks at the leases once more after it has fallen asleep. */
		LOOK_AFTER_FALLING_ASLEEP,

		/** A watcher looks at the leases when it has been appointed. */
		LOOK_AFTER_APPOINTMENT,

		/** Who is about to wait becomes the watcher if there is none. */
		APPOINTMENT,

		/** The watcher is appointed by compare-and-set. */
		COMPARE_AND_SET_OF_APPOINTMENT,

		/** A watcher that was promoted, or ends, watches no more. */
		RESIGNATION,

		/** A watcher resigns before it looks whether a successor is needed. */
		RESIGNATION_BEFORE_LOOK,

		/** Who was promoted has a successor woken if leases are not watched. */
		SUCCESSOR_OF_PROMOTED,

		/** Who took over has a successor woken if other leases are not watched. */
		SUCCESSOR_AFTER_TAKEOVER,

		/** A thread that ends has a successor woken if leases are not watched. */
		SUCCESSOR_OF_ENDED,

		/** Who found nobody to wake looks for unwatched leases again, too. */
		LEASES_AFTER_MARK,

		/** Who took over leaves the followers. */
		LEAVING_AFTER_TAKEOVER,

		/** A leader that nobody watches promotes if somebody waits. */
		PROMOTION_WITHOUT_WATCHER,

		/** A leader that nobody watches promotes if a thread may be started. */
		THREAD_WITHOUT_WATCHER,

		/** A leader regains the leadership by compare-and-set. */
		COMPARE_AND_SET_OF_REGAIN,

		/** A leased leadership is given up by compare-and-set. */
		COMPARE_AND_SET_OF_GIVE_UP,

		/** Leases have stamps. */
		STAMP,

		/** Who took over writes what the handler has sent. */
		RELEASE_AFTER_TAKEOVER,

		/** A handler's reply is held, and then looked at whether it is on lease still. */
		LEASE_AFTER_HOLD,

		/**
		 * Who takes a lease over only to attend to requests writes what was sent, too.
		 */
		RELEASE_BY_ATTENDANT,

		/** A leader announces a long wait before it looks whether it may. */
		LONG_WAIT_BEFORE_LOOK,

		/** Who found nobody to wake ends the long waits of other leaders. */
		END_OF_LONG_WAITS,

		/** A leader that nobody watches ends the long waits of other leaders. */
		END_OF_LONG_WAITS_WITHOUT_WATCHER,

		/** A leader waits for long only if no lease of another one is unwatched. */
		SHORT_WAIT_WITHOUT_WATCHER,

		/** A leader gives its handle set up in turn with one that has none. */
		ROTATION,

		/** A leader ends leases of others that have run out and that nobody watches. */
		END_OF_UNWATCHED_LEASES,

		/** Who ends a lease writes what the handler has sent. */
		RELEASE_AFTER_END_OF_LEASE,

		/** Who takes a leadership whose leader is busy writes what was sent. */
		RELEASE_BY_WHO_SHARES,

		/** With a policy without leases, too, who waits watches those that there are. */
		WATCH_OF_OLD_LEASES,

		/** A handler that began on a lease ends with it, whatever the policy is then. */
		END_OF_OLD_LEASE,

		/** Who changes the settings looks for what is vacant afterwards. */
		LOOK_AFTER_CHANGE,

		/** Who lowers the maximum unparks the followers. */
		UNPARK_OF_SURPLUS,

		/** A watcher that is unparked looks whether the settings were changed. */
		SETTINGS_AFTER_UNPARK,

		/** A follower looks whether it is surplus before it parks. */
		SURPLUS_BEFORE_PARK,

		/** Threads are counted out against the settings that hold then. */
		CURRENT_LIMIT

	}

	/** What a thread does next. */
	private enum Pc {

		/** Not a participant. */
		ENDED,

		// takeTurn, takeVacancy

		/** {@code endUnwatchedLeases}: the watch, then the leases. */
		TURN_LEASES,

		/** {@code Leadership.takeOver} of a lease that has run out. */
		END_LEASE,

		/** {@code Leadership.giveUp} after it. */
		LEASE_ENDED,

		/** {@code isAnyVacant}. */
		TURN_LOOK,

		/** {@code giveUp} in turn. */
		ROTATE,

		/** {@code takeVacancy}: the first of the handle sets. */
		TAKE,

		/** {@code takeVacancy}: the other one. */
		TAKE_OTHER,

		/** {@code releaseHeld} after it. */
		TAKEN_RELEASE,

		// HandleSet.await

		/** {@code this.longWait = true}. */
		LONG_WAIT,

		/** {@code beginWait}. */
		ANNOUNCE,

		/** {@code maxWaitNanos}. */
		WAIT_LOOK,

		/** {@code this.longWait = wait > ROTATION_NANOS}. */
		WAIT_SET,

		/** {@code Selector.select}. */
		SELECT,

		// beginDispatch, lease, endDispatch

		/** {@code beginDispatch}. */
		DISPATCH,

		/** {@code Leadership.lease}, after the policy was read. */
		DECIDED,

		/** {@code Leadership.lease}, only without {@link Without#LEASE_BEFORE_COVER}. */
		LATE_LEASE,

		/** {@code LeaseWatch.cover}. */
		COVER,

		/** {@code LeaseWatch.rouse}. */
		ROUSE,

		/** {@code LockSupport.unpark}. */
		UNPARK,

		/** {@code this.followers.isEmpty()}. */
		NOBODY_EMPTY,

		/** {@code this.threads.get() < this.maxThreads}. */
		NOBODY_LIMIT,

		/** {@code Leadership.giveUp}. */
		GIVE_UP,

		/** A handler runs. */
		HANDLER,

		/** {@code Outbound.hold}. */
		HOLD,

		/** {@code isOnLease} after it. */
		HELD,

		/** {@code Leadership.regain}. */
		REGAIN,

		// signalFollower

		/** {@code Followers.signal}. */
		SIGNAL,

		/** {@code startThread}. */
		START,

		/** The compare-and-set in it. */
		START_COUNT,

		/** {@code isSurplus} in it. */
		START_CHECK,

		/** {@code arrive} of the signaller. */
		START_CLEAR,

		/** {@code isEmpty}, and fewer threads than the limit. */
		START_ANYONE,

		/** {@code isAnythingVacant}. */
		ANYTHING,

		/** {@code endLongWait}: reads {@code longWait}. */
		END_LONG_WAIT,

		/** {@code wakeLeader}. */
		WAKE_LEADER,

		/** {@code arrive} in {@code runOwnThread}. */
		NEW_ARRIVE,

		// await, watchLeases

		ENQUEUE, APPOINT,

		/** {@code needsWatcher}: the policy. */
		NEEDED,

		/** {@code isAnyLeased} in it. */
		NEEDED_LOOK,

		/** {@code isSurplus} in {@code Followers.await}. */
		PARK_CHECK,

		/** Only without {@link Without#COMPARE_AND_SET_OF_APPOINTMENT}. */
		APPOINT_LATE,

		/** Parked in {@code Followers.await} until it is signalled. */
		PARKED,

		/** {@code leaseWord}. */
		SCAN,

		/** {@code Leadership.takeOver}. */
		TAKE_OVER,

		/** {@code releaseHeld}. */
		RELEASE,

		/** Parked until the next lease runs out. */
		TIMED,

		/** {@code LeaseWatch.fallAsleep}. */
		FALL_ASLEEP,

		/** {@code isAnyLeased}. */
		ASLEEP_LOOK,

		/** {@code isAwake}. */
		ASLEEP_CHECK,

		/** Parked until it is roused. */
		ASLEEP,

		/** {@code LeaseWatch.rouse} by the watcher. */
		ROUSE_SELF,

		/** {@code LeaseWatch.resign}. */
		RESIGN,

		/** Only without {@link Without#RESIGNATION_BEFORE_LOOK}. */
		LATE_RESIGN,

		/** {@code Followers.leave}. */
		LEAVE,

		/** {@code isSurplus} in {@code takeTurn}. */
		SURPLUS,

		/** {@code isSurplus} in {@code retire}. */
		RETIRE,

		/** {@code isAnythingVacant} in it. */
		RETIRE_LOOK,

		/** {@code countOut}. */
		COUNT_OUT,

		// changed, by an operator

		/** {@code startMinimum}. */
		START_MINIMUM,

		/** {@code isSurplus}, and unparks the pool's own threads. */
		WAKE_SURPLUS,

		/** Unparks the watcher. */
		WAKE_WATCHER;

		private static final Pc[] ALL = values();

	}

	// Permits

	private static final int OUT = 0;

	private static final int WAITING = 1;

	private static final int SIGNALLED = 2;

	private static final int AWAY = 3;

	// Shared, the first ones by handle set

	private static final int HOLDER = 0;

	private static final int LEASE = 2;

	private static final int READY = 4;

	private static final int LONG = 6;

	private static final int WAITED_ON = 8;

	private static final int WAKE_UP = 10;

	/** Whether a leader that goes round has looked since the last change. */
	private static final int LOOKED = 12;

	private static final int MARK = 14;

	private static final int COUNT = 15;

	private static final int WATCHER = 16;

	private static final int SLEEPS = 17;

	private static final int WRONG = 18;

	private static final int MIN = 19;

	private static final int MAX = 20;

	private static final int EAGER = 21;

	/** How many changes are still to come. */
	private static final int CHANGES = 22;

	private static final int SHARED = 23;

	// Of each thread

	private static final int PC = 0;

	private static final int PERMIT = 1;

	private static final int UNPARKED = 2;

	private static final int LEADING = 3;

	/** {@code Participant.leased}. */
	private static final int LEASED = 4;

	/** Which handle set it looks at, and what comes behind them. */
	private static final int INDEX = 5;

	/** Whether the lease that it has read is the current one still. */
	private static final int FRESH = 6;

	/** Where it is. */
	private static final int WHERE = 7;

	/** Where {@code signalFollower} and {@code signalNextVacancy} return to. */
	private static final int THEN = 8;

	/** Whether it has seen a lease since it began to look. */
	private static final int SAW_LEASE = 9;

	/** Whether the handler's reply waits for more, or was read as if it could. */
	private static final int HOLDS = 10;

	/** Whether the settings were changed since it began to look at leases. */
	private static final int CHANGED = 11;

	private static final int LOCALS = 12;

	// Where

	private static final int IN_TURN = 1;

	private static final int IN_FOLLOW = 2;

	private static final int IN_ARRIVE = 3;

	private static final int IN_BIRTH = 4;

	private static final int AS_LEADER = 5;

	private static final int AS_EXPIRED = 6;

	private static final int AS_SIGNALLED = 7;

	private static final int AFTER_TAKEOVER = 8;

	private static final int IN_SIGNAL = 9;

	private static final int AT_THE_END = 10;

	private static final int AS_SURPLUS = 11;

	/** What is wrong with a step, not with a state. */
	private static final String[] WRONGS = { null, "took over a lease that had only begun",
			"touched what belongs to a leader without being it" };

	private final int sets;

	private final int min;

	private final int max;

	private final int greatest;

	private final int[][] sizes;

	private final int changes;

	private final boolean policies;

	private final int own;

	private final boolean keepAlive;

	private final boolean burst;

	private final boolean replies;

	private final boolean attendant;

	private final boolean promotes;

	private final boolean endless;

	private final boolean shares;

	private final boolean fine;

	private final boolean symmetric;

	private final Set<Without> without;

	private final List<int[]> permutations;

	private LeaseProtocol(Builder builder) {
		this.sets = builder.sets;
		this.min = builder.min;
		this.max = builder.max;
		this.changes = builder.changes;
		this.sizes = builder.sizes;
		this.policies = builder.policies;
		this.greatest = Math.max(this.max, Arrays.stream(this.sizes).mapToInt((size) -> size[1]).max().orElse(0));
		this.own = this.greatest + builder.spare;
		this.keepAlive = builder.keepAlive;
		this.burst = builder.burst;
		this.replies = builder.replies;
		this.attendant = builder.attendant;
		this.promotes = builder.promotes;
		this.endless = builder.endless;
		this.shares = builder.shares;
		this.fine = builder.fine;
		this.symmetric = builder.symmetric;
		this.without = builder.without;
		this.permutations = Permutations.of(this.own, actors());
	}

	static Builder builder() {
		return new Builder();
	}

	@Override
	public byte[] start() {
		byte[] state = new byte[SHARED + actors() * LOCALS];
		state[COUNT] = (byte) this.min;
		state[MIN] = (byte) this.min;
		state[MAX] = (byte) this.max;
		state[CHANGES] = (byte) this.changes;
		for (int thread = 1; thread <= this.min; thread++) {
			turn(state, thread);
		}
		return state;
	}

	@Override
	public int actors() {
		return this.own + (this.attendant ? 1 : 0) + (this.changes > 0 ? 1 : 0);
	}

	/** Of a pool that is changed, the last actor is the one who does it. */
	private boolean isChanged() {
		return this.changes > 0;
	}

	private static boolean isSurplus(byte[] state) {
		return state[COUNT] > state[MAX];
	}

	@Override
	public void steps(byte[] state, int actor, Steps steps) {
		int me = actor + 1;
		Pc pc = pc(state, me);
		switch (pc) {
			case ENDED -> {
				if (isChanged() && me == actors()) {
					change(state, me, steps);
				}
				else if (me > this.own) {
					attend(state, me, steps);
				}
			}
			case START_MINIMUM, WAKE_SURPLUS, WAKE_WATCHER -> changed(state, me, pc, steps);
			case TURN_LEASES, END_LEASE, LEASE_ENDED, TURN_LOOK, ROTATE, TAKE, TAKE_OTHER, TAKEN_RELEASE ->
				takeTurn(state, me, pc, steps);
			case LONG_WAIT, ANNOUNCE, WAIT_LOOK, WAIT_SET, SELECT -> await(state, me, pc, steps);
			case DISPATCH, DECIDED, LATE_LEASE, COVER, ROUSE, UNPARK, NOBODY_EMPTY, NOBODY_LIMIT, REGAIN ->
				lease(state, me, pc, steps);
			case GIVE_UP, HANDLER, HOLD, HELD -> handle(state, me, pc, steps);
			case SIGNAL, START, START_COUNT, START_CHECK, START_CLEAR, START_ANYONE, ANYTHING, END_LONG_WAIT,
					WAKE_LEADER, NEW_ARRIVE ->
				signal(state, me, pc, steps);
			case ENQUEUE, NEEDED, NEEDED_LOOK, APPOINT, APPOINT_LATE, PARK_CHECK, PARKED, LEAVE ->
				follow(state, me, pc, steps);
			case SURPLUS, RETIRE, RETIRE_LOOK, COUNT_OUT -> retire(state, me, pc, steps);
			case SCAN, TAKE_OVER, RELEASE, TIMED, FALL_ASLEEP, ASLEEP_LOOK, ASLEEP_CHECK, ASLEEP, ROUSE_SELF, RESIGN,
					LATE_RESIGN ->
				watch(state, me, pc, steps);
		}
	}

	private void takeTurn(byte[] state, int me, Pc pc, Steps steps) {
		int index = get(state, me, INDEX);
		switch (pc) {
			case TURN_LEASES -> {
				if (!this.fine) {
					turnLook(state, me, steps);
					return;
				}
				byte[] next = steps.must(me + " takeTurn: is a lease unwatched? " + index);
				boolean watched = index == this.sets && state[WATCHER] != 0;
				boolean leased = index > this.sets && state[LEASE + index - this.sets - 1] != 0;
				turnLeasesNext(next, me, watched ? lastLook() : index);
				if (leased) {
					byte[] late = steps.must(me + " takeTurn: the lease has run out " + index);
					set(late, me, FRESH, 1);
					go(late, me, Pc.END_LEASE);
				}
			}
			case END_LEASE -> {
				int set = index - this.sets - 1;
				byte[] next = steps.must(me + " takeTurn: takeOver " + set);
				boolean fresh = get(state, me, FRESH) != 0;
				set(next, me, FRESH, 0);
				if (fresh) {
					if (!is(Without.RELEASE_AFTER_END_OF_LEASE)) {
						set(next, state[HOLDER + set], HOLDS, 0);
					}
					next[HOLDER + set] = (byte) me;
					next[LEASE + set] = 0;
					stale(next, set);
					go(next, me, Pc.LEASE_ENDED);
				}
				else if (this.fine) {
					turnLeasesNext(next, me, index);
				}
				else {
					turn(next, me);
				}
			}
			case LEASE_ENDED -> {
				byte[] next = steps.must(me + " takeTurn: ended the lease of " + (index - this.sets - 1));
				next[HOLDER + index - this.sets - 1] = 0;
				changed(next);
				if (this.fine) {
					turnLeasesNext(next, me, index);
				}
				else {
					turn(next, me);
				}
			}
			case TURN_LOOK -> {
				if (!this.fine) {
					turnLook(state, me, steps);
					return;
				}
				byte[] next = steps.must(me + " takeTurn: is it vacant? " + index);
				if (state[HOLDER + index] == 0) {
					signalThen(next, me, Pc.ROTATE);
				}
				else if (index + 1 < this.sets) {
					set(next, me, INDEX, index + 1);
				}
				else {
					set(next, me, INDEX, 0);
					lead(next, me);
				}
			}
			case ROTATE -> {
				byte[] next = steps.must(me + " gives up in turn");
				next[HOLDER + get(state, me, LEADING) - 1] = 0;
				set(next, me, LEADING, 0);
				takeVacancy(next, me, IN_TURN);
			}
			case TAKE -> {
				for (int set = 0; set < this.sets; set++) {
					takeBusy(state, me, set, steps);
				}
				if (!this.fine && !isAnyVacant(state)) {
					nothingTaken(steps.must(me + " take: nothing is vacant"), me);
					return;
				}
				for (int set = 0; set < this.sets; set++) {
					if (!this.fine && state[HOLDER + set] != 0) {
						continue;
					}
					byte[] next = steps.must(me + " take " + set);
					if (state[HOLDER + set] == 0) {
						take(next, me, set);
						taken(next, me);
					}
					else if (this.sets > 1 && this.fine) {
						set(next, me, INDEX, 1 - set);
						go(next, me, Pc.TAKE_OTHER);
					}
					else {
						nothingTaken(next, me);
					}
				}
			}
			case TAKE_OTHER -> {
				takeBusy(state, me, index, steps);
				byte[] next = steps.must(me + " take " + index);
				set(next, me, INDEX, 0);
				if (state[HOLDER + index] == 0) {
					take(next, me, index);
					taken(next, me);
				}
				else {
					nothingTaken(next, me);
				}
			}
			case TAKEN_RELEASE -> {
				byte[] next = steps.must(me + " writes what " + index + " has sent, whose place it took");
				set(next, index, HOLDS, 0);
				set(next, me, INDEX, 0);
				taken(next, me);
			}
			default -> throw new IllegalStateException(pc.name());
		}
	}

	/** All that {@code takeTurn} looks at, in one step. */
	private void turnLook(byte[] state, int me, Steps steps) {
		byte[] next = steps.must(me + " takeTurn: is anything vacant?");
		set(next, me, INDEX, 0);
		if (isAnyVacant(state)) {
			signalThen(next, me, Pc.ROTATE);
		}
		else {
			lead(next, me);
		}
		for (int set = 0; set < this.sets && state[WATCHER] == 0; set++) {
			if (state[LEASE + set] != 0 && !is(Without.END_OF_UNWATCHED_LEASES)) {
				byte[] late = steps.must(me + " takeTurn: the lease of %d has run out".formatted(set));
				set(late, me, INDEX, set + this.sets + 1);
				set(late, me, FRESH, 1);
				go(late, me, Pc.END_LEASE);
			}
		}
	}

	/**
	 * {@code takeVacancy} of a leadership that is leased to a handler worth a processor
	 * of its own, or is not.
	 */
	private void takeBusy(byte[] state, int me, int set, Steps steps) {
		if (this.shares && state[LEASE + set] != 0) {
			int former = state[HOLDER + set];
			byte[] next = steps.must(me + " takes " + set + ", whose leader is busy");
			take(next, me, set);
			if (this.replies && !is(Without.RELEASE_BY_WHO_SHARES)) {
				// Where it goes on is in WHERE.
				set(next, me, INDEX, former);
				go(next, me, Pc.TAKEN_RELEASE);
			}
			else {
				set(next, me, INDEX, 0);
				taken(next, me);
			}
		}
	}

	private void turnLeasesNext(byte[] next, int me, int index) {
		boolean more = index < lastLook();
		set(next, me, INDEX, more ? index + 1 : 0);
		go(next, me, more ? Pc.TURN_LEASES : Pc.TURN_LOOK);
	}

	private boolean isAnyVacant(byte[] state) {
		for (int set = 0; set < this.sets; set++) {
			if (state[HOLDER + set] == 0) {
				return true;
			}
		}
		return false;
	}

	private boolean isAnyLeased(byte[] state) {
		for (int set = 0; set < this.sets; set++) {
			if (state[LEASE + set] != 0) {
				return true;
			}
		}
		return false;
	}

	private void taken(byte[] next, int me) {
		int where = get(next, me, WHERE);
		set(next, me, WHERE, 0);
		switch (where) {
			case IN_FOLLOW -> {
				set(next, me, WHERE, AS_LEADER);
				go(next, me, Pc.LEAVE);
			}
			case IN_ARRIVE -> signalNextVacancy(next, me, Pc.SELECT);
			case IN_BIRTH -> signalNextVacancy(next, me, Pc.TURN_LOOK);
			default -> lead(next, me);
		}
	}

	private void nothingTaken(byte[] next, int me) {
		int where = get(next, me, WHERE);
		set(next, me, WHERE, 0);
		switch (where) {
			case IN_FOLLOW -> {
				if (is(Without.APPOINTMENT)) {
					go(next, me, Pc.PARKED);
				}
				else {
					go(next, me, isChanged() ? Pc.NEEDED : Pc.APPOINT);
				}
			}
			case IN_TURN -> go(next, me, isChanged() ? Pc.SURPLUS : Pc.ENQUEUE);
			default -> turn(next, me);
		}
	}

	private void await(byte[] state, int me, Pc pc, Steps steps) {
		int set = get(state, me, LEADING) - 1;
		int index = get(state, me, INDEX);
		switch (pc) {
			case LONG_WAIT -> {
				byte[] next = steps.must(me + " longWait");
				next[LONG + set] = 1;
				if (this.fine) {
					go(next, me, Pc.ANNOUNCE);
				}
				else {
					next[WAITED_ON + set] = 1;
					announced(next, me);
				}
			}
			case ANNOUNCE -> {
				byte[] next = steps.must(me + " beginWait");
				next[WAITED_ON + set] = 1;
				announced(next, me);
			}
			case WAIT_LOOK -> {
				byte[] next = steps.must(me + " may it wait for long? " + index);
				if (!this.fine) {
					boolean unwatched = state[WATCHER] == 0 && isAnyLeased(state)
							&& !is(Without.SHORT_WAIT_WITHOUT_WATCHER);
					set(next, me, SAW_LEASE, (isAnyVacant(state) || unwatched) ? 1 : 0);
					looked(next, me);
					return;
				}
				boolean watched = index == this.sets && state[WATCHER] != 0;
				if (isAnythingVacant(state, index, !is(Without.SHORT_WAIT_WITHOUT_WATCHER))) {
					set(next, me, INDEX, 0);
					set(next, me, SAW_LEASE, 1);
					looked(next, me);
				}
				else if (!watched && index < lastLook()) {
					set(next, me, INDEX, index + 1);
				}
				else {
					set(next, me, INDEX, 0);
					looked(next, me);
				}
			}
			case WAIT_SET -> {
				byte[] next = steps.must(me + " sets longWait");
				waits(next, me);
			}
			default -> {
				if (state[WAKE_UP + set] != 0) {
					byte[] next = steps.must(me + " select: woken up");
					next[WAKE_UP + set] = 0;
					endWait(next, me, set);
				}
				if (this.sets > 1 && state[LONG + set] == 0) {
					byte[] next = looksAgain(state) ? steps.must(me + " select: the moment is over")
							: steps.may(me + " select: the moment is over");
					endWait(next, me, set);
				}
				for (int events = 1; events <= (this.burst ? 2 : 1); events++) {
					byte[] next = steps.may(me + " select: " + events);
					next[READY + set] = (byte) events;
					endWait(next, me, set);
				}
			}
		}
	}

	/**
	 * Whether a leader that goes round still has something to find. An unwatched lease is
	 * not for it to find if somebody is there who could watch it.
	 */
	private boolean looksAgain(byte[] state) {
		boolean again = false;
		for (int set = 0; set < this.sets; set++) {
			again |= (state[HOLDER + set] == 0) ? state[LOOKED + set] == 0
					: state[LEASE + set] != 0 && !isAnybodyParked(state);
		}
		return again;
	}

	private boolean isAnybodyParked(byte[] state) {
		for (int thread = 1; thread <= this.own; thread++) {
			if (isParked(state, thread)) {
				return true;
			}
		}
		return false;
	}

	private void endWait(byte[] next, int me, int set) {
		next[WAITED_ON + set] = 0;
		if (!this.fine) {
			// Without the announcement it means nothing, and a wake-up that is left over
			// ends the next wait early, no more.
			next[LONG + set] = 0;
			next[WAKE_UP + set] = 0;
		}
		turn(next, me);
	}

	private void announced(byte[] next, int me) {
		if (!is(Without.LONG_WAIT_BEFORE_LOOK)) {
			go(next, me, Pc.WAIT_LOOK);
		}
		else if (this.fine) {
			go(next, me, Pc.WAIT_SET);
		}
		else {
			waits(next, me);
		}
	}

	private void looked(byte[] next, int me) {
		if (is(Without.LONG_WAIT_BEFORE_LOOK)) {
			go(next, me, Pc.LONG_WAIT);
		}
		else if (this.fine) {
			go(next, me, Pc.WAIT_SET);
		}
		else {
			waits(next, me);
		}
	}

	private void waits(byte[] next, int me) {
		int set = get(next, me, LEADING) - 1;
		boolean vacant = get(next, me, SAW_LEASE) != 0;
		set(next, me, SAW_LEASE, 0);
		next[LONG + set] = (byte) (vacant ? 0 : 1);
		next[LOOKED + set] = (byte) (vacant ? 1 : 0);
		if (!vacant) {
			next[LOOKED + 1 - set] = 0;
		}
		go(next, me, Pc.SELECT);
	}

	/** How far {@code isAnythingVacant} looks: vacancies, the watch, leases. */
	private int lastLook() {
		return 2 * this.sets;
	}

	private boolean isAnythingVacant(byte[] state, int index, boolean leases) {
		return (index < this.sets) ? state[HOLDER + index] == 0
				: leases && index > this.sets && state[LEASE + index - this.sets - 1] != 0;
	}

	private void lease(byte[] state, int me, Pc pc, Steps steps) {
		int set = get(state, me, LEADING) - 1;
		switch (pc) {
			case DISPATCH -> {
				byte[] eager = steps.must(me + " promotes and dispatches");
				giveUp(eager, me);
				signalThen(eager, me, Pc.HANDLER);
				if (isChanged()) {
					if (state[EAGER] == 0) {
						go(steps.must(me + " is to lease"), me, Pc.DECIDED);
					}
				}
				else if (is(Without.LEASE_BEFORE_COVER)) {
					byte[] next = steps.must(me + " looks before it leases");
					go(next, me, (state[WATCHER] != 0 && state[SLEEPS] == 0) ? Pc.LATE_LEASE : Pc.GIVE_UP);
				}
				else {
					byte[] next = steps.must(me + " leases");
					publish(next, me, set);
					go(next, me, Pc.COVER);
				}
			}
			case DECIDED -> {
				byte[] next = steps.must(me + " leases");
				publish(next, me, set);
				go(next, me, Pc.COVER);
			}
			case LATE_LEASE -> {
				byte[] next = steps.must(me + " leases, late");
				publish(next, me, set);
				go(next, me, Pc.HANDLER);
			}
			case COVER -> {
				byte[] next = steps.must(me + " cover");
				if (state[WATCHER] == 0) {
					go(next, me, Pc.NOBODY_EMPTY);
				}
				else if (state[SLEEPS] == 0 || is(Without.ROUSING)) {
					go(next, me, Pc.HANDLER);
				}
				else {
					go(next, me, Pc.ROUSE);
					go(steps.must(me + " cover: not worth a waking"), me, Pc.GIVE_UP);
				}
			}
			case ROUSE -> {
				byte[] next = steps.must(me + " rouse");
				if (state[SLEEPS] == 0) {
					go(next, me, Pc.COVER);
					return;
				}
				next[SLEEPS] = 0;
				if (is(Without.UNPARK)) {
					go(next, me, Pc.HANDLER);
				}
				else {
					set(next, me, INDEX, state[WATCHER]);
					go(next, me, Pc.UNPARK);
				}
			}
			case UNPARK -> {
				byte[] next = steps.must(me + " unparks " + get(state, me, INDEX));
				set(next, get(state, me, INDEX), UNPARKED, 1);
				set(next, me, INDEX, 0);
				go(next, me, Pc.HANDLER);
			}
			case NOBODY_EMPTY -> {
				byte[] next = steps.must(me + " is nobody there?");
				if (isAnybodyThere(state) && !is(Without.PROMOTION_WITHOUT_WATCHER)) {
					go(next, me, Pc.GIVE_UP);
				}
				else {
					go(next, me, Pc.NOBODY_LIMIT);
				}
			}
			case NOBODY_LIMIT -> {
				byte[] next = steps.must(me + " may a thread be started?");
				if (state[COUNT] < state[MAX] && !is(Without.THREAD_WITHOUT_WATCHER)) {
					go(next, me, Pc.GIVE_UP);
				}
				else if (this.sets > 1 && !is(Without.END_OF_LONG_WAITS_WITHOUT_WATCHER)) {
					set(next, me, THEN, Pc.HANDLER.ordinal());
					go(next, me, Pc.END_LONG_WAIT);
				}
				else {
					go(next, me, Pc.HANDLER);
				}
			}
			default -> {
				byte[] next = steps.must(me + " regain");
				boolean leased = state[HOLDER + set] == me && state[LEASE + set] != 0;
				set(next, me, LEASED, 0);
				if (leased || is(Without.COMPARE_AND_SET_OF_REGAIN)) {
					next[HOLDER + set] = (byte) me;
					next[LEASE + set] = 0;
					stale(next, set);
				}
				else {
					set(next, me, LEADING, 0);
				}
				turn(next, me);
			}
		}
	}

	private void publish(byte[] next, int me, int set) {
		next[HOLDER + set] = (byte) me;
		next[LEASE + set] = 1;
		set(next, me, LEASED, 1);
		stale(next, set);
	}

	private void handle(byte[] state, int me, Pc pc, Steps steps) {
		int set = get(state, me, LEADING) - 1;
		switch (pc) {
			case GIVE_UP -> {
				byte[] next = steps.must(me + " giveUp");
				boolean gaveUp = giveUp(next, me);
				if (gaveUp) {
					signalThen(next, me, Pc.HANDLER);
				}
				else {
					go(next, me, Pc.HANDLER);
				}
				// By itself, and after the leadership; but nobody else looks.
				set(next, me, HOLDS, 0);
			}
			case HANDLER -> {
				if (me > this.own) {
					byte[] next = steps.must(me + " attends and gives up");
					giveUp(next, me);
					signalThen(next, me, Pc.ENDED);
					return;
				}
				if (!this.endless) {
					byte[] next = steps.may(me + " handler returns");
					set(next, me, HOLDS, 0);
					if (get(state, me, LEASED) != 0 && !(is(Without.END_OF_OLD_LEASE) && state[EAGER] != 0)) {
						go(next, me, Pc.REGAIN);
					}
					else {
						turn(next, me);
					}
				}
				if (this.promotes && set >= 0) {
					go(steps.may(me + " promoteNewLeader"), me, Pc.GIVE_UP);
				}
				if (this.replies && isOnLease(state, me) && get(state, me, HOLDS) == 0) {
					go(steps.may(me + " sends"), me, Pc.HOLD);
				}
			}
			case HOLD -> {
				byte[] next = steps.must(me + " holds its reply");
				set(next, me, HOLDS, 1);
				go(next, me, is(Without.LEASE_AFTER_HOLD) ? Pc.HANDLER : Pc.HELD);
			}
			default -> {
				byte[] next = steps.must(me + " is it on lease still?");
				if (!isOnLease(state, me)) {
					set(next, me, HOLDS, 0);
				}
				go(next, me, Pc.HANDLER);
			}
		}
	}

	private boolean isOnLease(byte[] state, int me) {
		int set = get(state, me, LEADING) - 1;
		return set >= 0 && get(state, me, LEASED) != 0 && state[HOLDER + set] == me && state[LEASE + set] != 0;
	}

	private boolean giveUp(byte[] next, int me) {
		int set = get(next, me, LEADING) - 1;
		set(next, me, LEADING, 0);
		set(next, me, LEASED, 0);
		if (next[HOLDER + set] != me && !is(Without.COMPARE_AND_SET_OF_GIVE_UP)) {
			return false;
		}
		next[HOLDER + set] = 0;
		next[LEASE + set] = 0;
		changed(next);
		stale(next, set);
		return true;
	}

	private void signal(byte[] state, int me, Pc pc, Steps steps) {
		int index = get(state, me, INDEX);
		switch (pc) {
			case SIGNAL -> {
				if (state[MARK] != 0) {
					signalled(steps.must(me + " signal: somebody is under way"), me, true);
					return;
				}
				boolean anybody = false;
				for (int other = 1; other <= this.own; other++) {
					if (get(state, other, PERMIT) == WAITING) {
						byte[] next = steps.must(me + " signal: wakes " + other);
						next[MARK] = 1;
						set(next, other, PERMIT, SIGNALLED);
						signalled(next, me, true);
						anybody = true;
					}
				}
				if (!anybody) {
					byte[] next = steps.must(me + " signal: nobody waits");
					next[MARK] = 1;
					for (int other = 1; other <= this.own; other++) {
						if (get(next, other, PERMIT) == AWAY) {
							set(next, other, PERMIT, OUT);
						}
					}
					go(next, me, Pc.START);
				}
			}
			case START -> {
				if (isChanged()) {
					byte[] next = steps.must(me + " startThread: reads the limit");
					set(next, me, INDEX, state[MAX]);
					go(next, me, Pc.START_COUNT);
				}
				else if (state[COUNT] >= state[MAX]) {
					go(steps.must(me + " startThread: there are enough"), me, Pc.START_CLEAR);
				}
				else {
					starts(state, me, 1, steps);
				}
			}
			case START_COUNT -> {
				byte[] next = steps.must(me + " startThread: counts");
				set(next, me, INDEX, 0);
				if (state[COUNT] >= index) {
					go(next, me, Pc.START_CLEAR);
				}
				else {
					next[COUNT]++;
					go(next, me, Pc.START_CHECK);
				}
			}
			case START_CHECK -> {
				if (isSurplus(state)) {
					byte[] next = steps.must(me + " startThread: there are enough by now");
					next[COUNT]--;
					go(next, me, Pc.START_CLEAR);
				}
				else {
					starts(state, me, 0, steps);
				}
			}
			case START_CLEAR -> {
				byte[] next = steps.must(me + " arrive: nobody was there");
				next[MARK] = 0;
				go(next, me, Pc.START_ANYONE);
			}
			case START_ANYONE -> {
				byte[] next = steps.must(me + " is anybody there now?");
				if (isAnybodyThere(state) || state[COUNT] < state[MAX]) {
					set(next, me, WHERE, IN_SIGNAL);
					go(next, me, Pc.ANYTHING);
				}
				else {
					nobody(next, me);
				}
			}
			case ANYTHING -> {
				int where = get(state, me, WHERE);
				boolean leases = switch (where) {
					case IN_SIGNAL -> !is(Without.LEASES_AFTER_MARK);
					case AFTER_TAKEOVER -> !is(Without.SUCCESSOR_AFTER_TAKEOVER);
					case AT_THE_END -> !is(Without.SUCCESSOR_OF_ENDED);
					default -> !is(Without.SUCCESSOR_OF_PROMOTED);
				};
				byte[] next = steps.must(me + " is anything vacant? " + index);
				boolean vacant = this.fine ? isAnythingVacant(state, index, leases) : isAnyVacant(state)
						|| (leases && (state[WATCHER] == 0 || state[WATCHER] == me) && isAnyLeased(state));
				boolean watched = index == this.sets && state[WATCHER] != 0 && state[WATCHER] != me;
				if (this.fine && !vacant && !watched && index < lastLook()) {
					set(next, me, INDEX, index + 1);
					return;
				}
				set(next, me, INDEX, 0);
				set(next, me, WHERE, 0);
				if (vacant) {
					go(next, me, Pc.SIGNAL);
				}
				else if (where == IN_SIGNAL) {
					nobody(next, me);
				}
				else if (state[WATCHER] == me) {
					go(next, me, Pc.LATE_RESIGN);
				}
				else {
					proceed(next, me);
				}
			}
			case END_LONG_WAIT -> {
				if (!this.fine) {
					byte[] next = steps.must(me + " ends long waits");
					for (int set = 0; set < this.sets; set++) {
						if (state[LONG + set] != 0 && state[WAITED_ON + set] != 0) {
							next[WAITED_ON + set] = 0;
							next[WAKE_UP + set] = 1;
						}
					}
					signalled(next, me, false);
					return;
				}
				byte[] next = steps.must(me + " does the leader of " + index + " wait for long?");
				if (state[LONG + index] != 0) {
					go(next, me, Pc.WAKE_LEADER);
				}
				else {
					endNextLongWait(next, me, index);
				}
			}
			case WAKE_LEADER -> {
				byte[] next = steps.must(me + " wakes the leader of " + index);
				if (state[WAITED_ON + index] != 0) {
					next[WAITED_ON + index] = 0;
					next[WAKE_UP + index] = 1;
				}
				endNextLongWait(next, me, index);
			}
			default -> {
				byte[] next = steps.must(me + " begins, and clears the mark");
				next[MARK] = 0;
				takeVacancy(next, me, IN_BIRTH);
			}
		}
	}

	/**
	 * The one who holds the mark starts a thread. It waits for one that is ending if
	 * there is none left: the model has no more actors.
	 */
	private void starts(byte[] state, int me, int more, Steps steps) {
		boolean ending = Pc.ALL[get(state, me, THEN)] == Pc.ENDED && me <= this.own;
		for (int born = 1; born <= this.own; born++) {
			if (pc(state, born) == Pc.ENDED || (born == me && ending)) {
				byte[] next = steps.must(me + " starts " + born);
				next[COUNT] += (byte) more;
				signalled(next, me, true);
				go(next, born, Pc.NEW_ARRIVE);
				return;
			}
		}
	}

	private void endNextLongWait(byte[] next, int me, int index) {
		if (index + 1 < this.sets) {
			set(next, me, INDEX, index + 1);
			go(next, me, Pc.END_LONG_WAIT);
		}
		else {
			set(next, me, INDEX, 0);
			signalled(next, me, false);
		}
	}

	/** Every thread there can be is busy. */
	private void nobody(byte[] next, int me) {
		if (this.sets > 1 && !is(Without.END_OF_LONG_WAITS)) {
			go(next, me, Pc.END_LONG_WAIT);
		}
		else {
			signalled(next, me, false);
		}
	}

	private boolean isAnybodyThere(byte[] state) {
		for (int thread = 1; thread <= this.own; thread++) {
			int permit = get(state, thread, PERMIT);
			if (permit == WAITING || permit == AWAY) {
				return true;
			}
		}
		return false;
	}

	private void follow(byte[] state, int me, Pc pc, Steps steps) {
		switch (pc) {
			case ENQUEUE -> {
				byte[] next = steps.must(me + " enqueue");
				set(next, me, PERMIT, WAITING);
				changed(next);
				takeVacancy(next, me, IN_FOLLOW);
			}
			case NEEDED -> {
				byte[] next = steps.must(me + " needsWatcher: the policy");
				boolean looks = !is(Without.WATCH_OF_OLD_LEASES);
				go(next, me, (state[EAGER] == 0) ? Pc.APPOINT : looks ? Pc.NEEDED_LOOK : Pc.PARK_CHECK);
			}
			case NEEDED_LOOK -> {
				byte[] next = steps.must(me + " needsWatcher: is anything leased? " + get(state, me, INDEX));
				int index = get(state, me, INDEX);
				boolean leased = this.fine ? state[LEASE + index] != 0 : isAnyLeased(state);
				if (this.fine && !leased && index + 1 < this.sets) {
					set(next, me, INDEX, index + 1);
				}
				else {
					set(next, me, INDEX, 0);
					go(next, me, leased ? Pc.APPOINT : Pc.PARK_CHECK);
				}
			}
			case PARK_CHECK -> {
				if (get(state, me, PERMIT) != WAITING) {
					takeVacancy(arrived(steps, me), me, IN_ARRIVE);
					return;
				}
				byte[] next = steps.must(me + " await: is it surplus?");
				if (isSurplus(state) && !is(Without.SURPLUS_BEFORE_PARK)) {
					set(next, me, WHERE, AS_SURPLUS);
					go(next, me, Pc.LEAVE);
				}
				else {
					go(next, me, Pc.PARKED);
				}
			}
			case APPOINT -> {
				byte[] next = steps.must(me + " appoint");
				if (state[WATCHER] != 0) {
					go(next, me, isChanged() ? Pc.PARK_CHECK : Pc.PARKED);
				}
				else if (is(Without.COMPARE_AND_SET_OF_APPOINTMENT)) {
					go(next, me, Pc.APPOINT_LATE);
				}
				else {
					appointed(next, me);
				}
			}
			case APPOINT_LATE -> {
				byte[] next = steps.must(me + " appoint, late");
				appointed(next, me);
			}
			case PARKED -> {
				if (get(state, me, PERMIT) != WAITING) {
					takeVacancy(arrived(steps, me), me, IN_ARRIVE);
					return;
				}
				if (get(state, me, UNPARKED) != 0 && isChanged()) {
					byte[] next = steps.must(me + " is unparked");
					set(next, me, UNPARKED, 0);
					go(next, me, Pc.PARK_CHECK);
				}
				if (this.keepAlive) {
					byte[] next = steps.may(me + " has waited long enough");
					set(next, me, WHERE, AS_EXPIRED);
					go(next, me, Pc.LEAVE);
				}
			}
			default -> {
				int where = get(state, me, WHERE);
				byte[] next = steps.must(me + " leave");
				boolean left = get(state, me, PERMIT) == WAITING;
				set(next, me, PERMIT, (left && this.fine) ? AWAY : OUT);
				if (!left) {
					next[MARK] = 0;
				}
				set(next, me, WHERE, 0);
				switch (where) {
					case AFTER_TAKEOVER -> {
						signalNextVacancy(next, me, Pc.SELECT);
						if (pc(next, me) == Pc.ANYTHING) {
							set(next, me, WHERE, AFTER_TAKEOVER);
						}
					}
					case AS_LEADER -> {
						if (left) {
							lead(next, me);
						}
						else {
							signalNextVacancy(next, me, Pc.SELECT);
						}
					}
					default -> {
						if (left) {
							set(next, me, WHERE, where);
							go(next, me, isChanged() ? Pc.RETIRE : Pc.COUNT_OUT);
						}
						else {
							takeVacancy(next, me, IN_ARRIVE);
						}
					}
				}
			}
		}
	}

	private void retire(byte[] state, int me, Pc pc, Steps steps) {
		int where = get(state, me, WHERE);
		switch (pc) {
			case SURPLUS -> {
				byte[] next = steps.must(me + " takeTurn: is it surplus?");
				if (isSurplus(state)) {
					set(next, me, WHERE, IN_TURN);
					set(next, me, INDEX, is(Without.CURRENT_LIMIT) ? state[MAX] : 0);
					go(next, me, Pc.RETIRE_LOOK);
				}
				else {
					go(next, me, Pc.ENQUEUE);
				}
			}
			case RETIRE -> {
				byte[] next = steps.must(me + " retire: is it surplus?");
				if (is(Without.CURRENT_LIMIT)) {
					set(next, me, INDEX, (where == AS_EXPIRED) ? state[MIN] : state[MAX]);
				}
				if (isSurplus(state)) {
					go(next, me, Pc.RETIRE_LOOK);
				}
				else if (where == AS_EXPIRED) {
					go(next, me, Pc.COUNT_OUT);
				}
				else {
					stays(next, me);
				}
			}
			case RETIRE_LOOK -> {
				byte[] next = steps.must(me + " retire: is anything vacant?");
				if (isAnyVacant(state) || (state[WATCHER] == 0 && isAnyLeased(state))) {
					stays(next, me);
				}
				else {
					go(next, me, Pc.COUNT_OUT);
				}
			}
			default -> {
				byte[] next = steps.must(me + " countOut");
				int limit = is(Without.CURRENT_LIMIT) ? get(state, me, INDEX)
						: (where == AS_EXPIRED) ? state[MIN] : state[MAX];
				if (state[COUNT] > limit) {
					next[COUNT]--;
					set(next, me, INDEX, 0);
					set(next, me, THEN, Pc.ENDED.ordinal());
					set(next, me, WHERE, AT_THE_END);
					go(next, me, Pc.ANYTHING);
				}
				else {
					stays(next, me);
				}
			}
		}
	}

	private void stays(byte[] next, int me) {
		int where = get(next, me, WHERE);
		set(next, me, INDEX, 0);
		set(next, me, WHERE, 0);
		if (where == IN_TURN) {
			go(next, me, Pc.ENQUEUE);
		}
		else {
			turn(next, me);
		}
	}

	/** {@code resize} or {@code promotionPolicy}: a write to a volatile field. */
	private void change(byte[] state, int me, Steps steps) {
		if (state[CHANGES] == 0) {
			return;
		}
		for (int[] size : this.sizes) {
			if (size[0] != state[MIN] || size[1] != state[MAX]) {
				byte[] next = steps.may(me + " resize " + size[0] + ".." + size[1]);
				next[MIN] = (byte) size[0];
				next[MAX] = (byte) size[1];
				settingsChanged(next, me);
			}
		}
		if (this.policies) {
			byte[] next = steps.may(me + " promotionPolicy");
			next[EAGER] = (byte) (1 - state[EAGER]);
			settingsChanged(next, me);
		}
	}

	private void settingsChanged(byte[] next, int me) {
		next[CHANGES]--;
		for (int thread = 1; thread <= this.own; thread++) {
			set(next, thread, CHANGED, watches(next, thread) ? 1 : 0);
		}
		go(next, me, Pc.START_MINIMUM);
	}

	/** {@code changed}: what is to be done after that. */
	private void changed(byte[] state, int me, Pc pc, Steps steps) {
		switch (pc) {
			case START_MINIMUM -> {
				if (state[COUNT] >= state[MIN]) {
					go(steps.must(me + " startMinimum: there are enough"), me, Pc.WAKE_SURPLUS);
					return;
				}
				for (int born = 1; born <= this.own; born++) {
					if (pc(state, born) == Pc.ENDED) {
						byte[] next = steps.must(me + " startMinimum: starts " + born);
						next[COUNT]++;
						turn(next, born);
						return;
					}
				}
			}
			case WAKE_SURPLUS -> {
				byte[] next = steps.must(me + " changed: is there a surplus?");
				for (int thread = 1; thread <= this.own; thread++) {
					if (isSurplus(state) && !is(Without.UNPARK_OF_SURPLUS) && maySoonPark(state, thread)) {
						set(next, thread, UNPARKED, 1);
					}
				}
				go(next, me, Pc.WAKE_WATCHER);
			}
			default -> {
				byte[] next = steps.must(me + " changed: unparks the watcher");
				if (state[WATCHER] != 0) {
					set(next, state[WATCHER], UNPARKED, 1);
				}
				if (is(Without.LOOK_AFTER_CHANGE)) {
					go(next, me, Pc.ENDED);
				}
				else {
					signalNextVacancy(next, me, Pc.ENDED);
				}
			}
		}
	}

	/** To the others a permit means nothing: they look before they park. */
	private boolean maySoonPark(byte[] state, int thread) {
		return pc(state, thread) == Pc.PARK_CHECK || pc(state, thread) == Pc.PARKED || watches(state, thread);
	}

	private void appointed(byte[] next, int me) {
		next[WATCHER] = (byte) me;
		if (is(Without.LOOK_AFTER_APPOINTMENT)) {
			next[SLEEPS] = 1;
			go(next, me, Pc.ASLEEP);
		}
		else {
			scan(next, me);
		}
	}

	private byte[] arrived(Steps steps, int me) {
		byte[] next = steps.must(me + " is woken, and clears the mark");
		set(next, me, PERMIT, OUT);
		next[MARK] = 0;
		return next;
	}

	private void watch(byte[] state, int me, Pc pc, Steps steps) {
		int index = get(state, me, INDEX);
		switch (pc) {
			case SCAN -> {
				if (!this.fine) {
					byte[] next = steps.must(me + " watch: looks at all");
					scanned(next, me, isAnyLeased(state));
					for (int set = 0; set < this.sets; set++) {
						if (state[LEASE + set] != 0) {
							byte[] late = steps.must(me + " watch: the lease of %d has run out".formatted(set));
							set(late, me, INDEX, set);
							set(late, me, FRESH, 1);
							go(late, me, Pc.TAKE_OVER);
						}
					}
					return;
				}
				byte[] next = steps.must(me + " watch: looks at " + index);
				if (state[LEASE + index] == 0) {
					scanNext(next, me, index);
					return;
				}
				set(next, me, SAW_LEASE, 1);
				scanNext(next, me, index);
				byte[] late = steps.must(me + " watch: the lease of " + index + " has run out");
				set(late, me, FRESH, 1);
				go(late, me, Pc.TAKE_OVER);
			}
			case TAKE_OVER -> {
				byte[] next = steps.must(me + " takeOver " + index);
				boolean fresh = get(state, me, FRESH) != 0;
				set(next, me, FRESH, 0);
				if (fresh || (is(Without.STAMP) && state[LEASE + index] != 0)) {
					next[WRONG] = (byte) (fresh ? 0 : 1);
					int former = state[HOLDER + index];
					take(next, me, index);
					set(next, me, SAW_LEASE, 0);
					if (this.replies && !is(Without.RELEASE_AFTER_TAKEOVER)) {
						set(next, me, INDEX, former);
						go(next, me, Pc.RELEASE);
					}
					else {
						set(next, me, WHERE, AFTER_TAKEOVER);
						go(next, me, Pc.RESIGN);
					}
				}
				else if (this.fine) {
					scanNext(next, me, index);
				}
				else {
					scan(next, me);
				}
			}
			case RELEASE -> {
				byte[] next = steps.must(me + " writes what " + index + " has sent");
				set(next, index, HOLDS, 0);
				set(next, me, INDEX, 0);
				set(next, me, WHERE, AFTER_TAKEOVER);
				go(next, me, Pc.RESIGN);
			}
			case TIMED -> {
				if (get(state, me, PERMIT) != WAITING) {
					byte[] next = arrived(steps, me);
					set(next, me, WHERE, AS_SIGNALLED);
					go(next, me, Pc.RESIGN);
					return;
				}
				scan(steps.must(me + " watch: time passes"), me);
				expires(steps, me);
			}
			case FALL_ASLEEP -> {
				byte[] next = steps.must(me + " fallAsleep");
				next[SLEEPS] = 1;
				go(next, me, is(Without.LOOK_AFTER_FALLING_ASLEEP) ? Pc.ASLEEP_CHECK : Pc.ASLEEP_LOOK);
				go(steps.must(me + " watch: there was a lease not long ago"), me, Pc.TIMED);
			}
			case ASLEEP_LOOK -> {
				byte[] next = steps.must(me + " asleep: looks at " + index);
				if (this.fine ? state[LEASE + index] != 0 : isAnyLeased(state)) {
					set(next, me, INDEX, 0);
					go(next, me, Pc.ROUSE_SELF);
				}
				else if (this.fine && index + 1 < this.sets) {
					set(next, me, INDEX, index + 1);
				}
				else {
					set(next, me, INDEX, 0);
					go(next, me, Pc.ASLEEP_CHECK);
				}
			}
			case ASLEEP_CHECK -> {
				byte[] next = steps.must(me + " asleep: is it awake?");
				boolean changed = get(state, me, CHANGED) != 0 && !is(Without.SETTINGS_AFTER_UNPARK);
				if ((state[SLEEPS] == 0 && !is(Without.AWAKE_AFTER_UNPARK)) || changed) {
					go(next, me, Pc.ROUSE_SELF);
				}
				else {
					go(next, me, Pc.ASLEEP);
				}
			}
			case ASLEEP -> {
				if (get(state, me, PERMIT) != WAITING) {
					byte[] next = arrived(steps, me);
					set(next, me, WHERE, AS_SIGNALLED);
					go(next, me, Pc.ROUSE_SELF);
					return;
				}
				if (get(state, me, UNPARKED) != 0) {
					byte[] next = steps.must(me + " is unparked");
					set(next, me, UNPARKED, 0);
					go(next, me, Pc.ASLEEP_CHECK);
				}
				if (this.keepAlive) {
					byte[] next = steps.may(me + " has waited long enough, asleep");
					set(next, me, WHERE, AS_EXPIRED);
					go(next, me, Pc.ROUSE_SELF);
				}
			}
			case ROUSE_SELF -> {
				byte[] next = steps.must(me + " rouses itself");
				next[SLEEPS] = 0;
				if (get(state, me, WHERE) != 0) {
					go(next, me, Pc.RESIGN);
				}
				else {
					scan(next, me);
				}
			}
			case LATE_RESIGN -> {
				byte[] next = steps.must(me + " resign, late");
				next[WATCHER] = 0;
				proceed(next, me);
			}
			default -> resign(state, me, steps);
		}
	}

	private void resign(byte[] state, int me, Steps steps) {
		int where = get(state, me, WHERE);
		byte[] next = steps.must(me + " resign");
		if (!is(Without.RESIGNATION) && !is(Without.RESIGNATION_BEFORE_LOOK)) {
			next[WATCHER] = 0;
			next[SLEEPS] = 0;
		}
		switch (where) {
			case AS_SIGNALLED -> takeVacancy(next, me, IN_ARRIVE);
			case AFTER_TAKEOVER -> {
				if (is(Without.LEAVING_AFTER_TAKEOVER)) {
					signalNextVacancy(next, me, Pc.SELECT);
				}
				else {
					go(next, me, Pc.LEAVE);
				}
			}
			default -> go(next, me, Pc.LEAVE);
		}
	}

	private void expires(Steps steps, int me) {
		if (this.keepAlive) {
			byte[] next = steps.may(me + " has waited long enough, watching");
			set(next, me, WHERE, AS_EXPIRED);
			go(next, me, Pc.RESIGN);
		}
	}

	private void scanned(byte[] next, int me, boolean leased) {
		if (!leased && isSurplus(next)) {
			set(next, me, WHERE, AS_SURPLUS);
			go(next, me, Pc.RESIGN);
		}
		else {
			go(next, me, leased ? Pc.TIMED : Pc.FALL_ASLEEP);
		}
	}

	private void scan(byte[] next, int me) {
		set(next, me, CHANGED, 0);
		set(next, me, INDEX, 0);
		set(next, me, SAW_LEASE, 0);
		go(next, me, Pc.SCAN);
	}

	private void scanNext(byte[] next, int me, int index) {
		if (index + 1 < this.sets) {
			set(next, me, INDEX, index + 1);
			go(next, me, Pc.SCAN);
			return;
		}
		boolean leased = get(next, me, SAW_LEASE) != 0;
		set(next, me, INDEX, 0);
		set(next, me, SAW_LEASE, 0);
		scanned(next, me, leased);
	}

	/** {@code attendIfVacant} by a thread that has nothing to do with the pool's. */
	private void attend(byte[] state, int me, Steps steps) {
		for (int set = 0; set < this.sets; set++) {
			if (state[HOLDER + set] == 0) {
				byte[] next = steps.may(me + " takes " + set + " to attend");
				take(next, me, set);
				go(next, me, Pc.HANDLER);
			}
			else if (state[LEASE + set] != 0) {
				byte[] next = steps.may(me + " takes " + set + " over to attend");
				int former = state[HOLDER + set];
				take(next, me, set);
				go(next, me, Pc.HANDLER);
				if (!is(Without.RELEASE_BY_ATTENDANT)) {
					set(next, former, HOLDS, 0);
				}
			}
		}
	}

	// Transfers of control without a step of their own

	private void turn(byte[] next, int me) {
		int leading = get(next, me, LEADING);
		if (is(Without.RESIGNATION_BEFORE_LOOK) && next[WATCHER] == me) {
			next[WATCHER] = 0;
		}
		if (leading == 0) {
			takeVacancy(next, me, IN_TURN);
		}
		else if (this.sets > 1 && next[READY + leading - 1] == 0 && !is(Without.ROTATION)) {
			boolean leases = !is(Without.END_OF_UNWATCHED_LEASES);
			set(next, me, INDEX, leases ? this.sets : 0);
			go(next, me, leases ? Pc.TURN_LEASES : Pc.TURN_LOOK);
		}
		else {
			lead(next, me);
		}
	}

	private void lead(byte[] next, int me) {
		int set = get(next, me, LEADING) - 1;
		if (next[HOLDER + set] != me || next[LEASE + set] != 0) {
			next[WRONG] = 2;
		}
		if (next[READY + set] > 0) {
			next[READY + set]--;
			changed(next);
			go(next, me, Pc.DISPATCH);
		}
		else if (this.sets > 1) {
			go(next, me, is(Without.LONG_WAIT_BEFORE_LOOK) ? Pc.WAIT_LOOK : Pc.LONG_WAIT);
		}
		else {
			go(next, me, Pc.SELECT);
		}
	}

	private void takeVacancy(byte[] next, int me, int where) {
		set(next, me, INDEX, 0);
		set(next, me, WHERE, where);
		go(next, me, Pc.TAKE);
	}

	private void take(byte[] next, int me, int set) {
		next[HOLDER + set] = (byte) me;
		next[LEASE + set] = 0;
		set(next, me, LEADING, set + 1);
		stale(next, set);
	}

	private void signalNextVacancy(byte[] next, int me, Pc then) {
		set(next, me, INDEX, 0);
		set(next, me, THEN, then.ordinal());
		go(next, me, Pc.ANYTHING);
	}

	private void signalThen(byte[] next, int me, Pc then) {
		set(next, me, INDEX, 0);
		set(next, me, THEN, then.ordinal());
		go(next, me, Pc.SIGNAL);
	}

	private void signalled(byte[] next, int me, boolean onTheWay) {
		if (onTheWay && get(next, me, THEN) == Pc.ROTATE.ordinal()) {
			set(next, me, THEN, Pc.SELECT.ordinal());
		}
		if (is(Without.RESIGNATION_BEFORE_LOOK) && next[WATCHER] == me) {
			go(next, me, Pc.LATE_RESIGN);
		}
		else {
			proceed(next, me);
		}
	}

	private void proceed(byte[] next, int me) {
		Pc then = Pc.ALL[get(next, me, THEN)];
		set(next, me, THEN, 0);
		set(next, me, WHERE, 0);
		switch (then) {
			case ENDED -> end(next, me);
			case SELECT -> lead(next, me);
			case TURN_LOOK -> turn(next, me);
			default -> go(next, me, then);
		}
	}

	private void end(byte[] next, int me) {
		byte permit = get(next, me, PERMIT);
		Arrays.fill(next, SHARED + (me - 1) * LOCALS, SHARED + me * LOCALS, (byte) 0);
		// The place stays among the followers.
		set(next, me, PERMIT, permit);
	}

	private void changed(byte[] next) {
		next[LOOKED] = 0;
		next[LOOKED + 1] = 0;
	}

	/** Whoever has read the word of a leadership has read an old one. */
	private void stale(byte[] next, int set) {
		for (int thread = 1; thread <= actors(); thread++) {
			int index = get(next, thread, INDEX);
			boolean same = (pc(next, thread) == Pc.TAKE_OVER && index == set)
					|| (pc(next, thread) == Pc.END_LEASE && index == set + this.sets + 1);
			if (same) {
				set(next, thread, FRESH, 0);
			}
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
			if (this.sets > 1 && !this.fine) {
				byte[] exchanged = other.clone();
				exchangeSets(exchanged);
				if (Arrays.compare(exchanged, least) < 0) {
					least = exchanged;
				}
			}
		}
		return least;
	}

	/**
	 * If handle sets are looked at all at once, it does not matter which is the first.
	 */
	private void exchangeSets(byte[] state) {
		for (int of = HOLDER; of <= LOOKED; of += 2) {
			byte first = state[of];
			state[of] = state[of + 1];
			state[of + 1] = first;
		}
		for (int thread = 1; thread <= actors(); thread++) {
			int leading = get(state, thread, LEADING);
			set(state, thread, LEADING, (leading != 0) ? 3 - leading : 0);
			int index = get(state, thread, INDEX);
			switch (pc(state, thread)) {
				case TAKE_OVER -> set(state, thread, INDEX, 1 - index);
				case END_LEASE, LEASE_ENDED -> set(state, thread, INDEX, 7 - index);
				default -> {
				}
			}
		}
	}

	private byte[] renumbered(byte[] state, int[] numbers) {
		byte[] other = state.clone();
		for (int set = 0; set < this.sets; set++) {
			other[HOLDER + set] = (byte) numbers[state[HOLDER + set]];
		}
		other[WATCHER] = (byte) numbers[state[WATCHER]];
		for (int thread = 1; thread <= actors(); thread++) {
			int number = numbers[thread];
			System.arraycopy(state, SHARED + (thread - 1) * LOCALS, other, SHARED + (number - 1) * LOCALS, LOCALS);
			Pc pc = pc(state, thread);
			if (pc == Pc.UNPARK || pc == Pc.RELEASE || pc == Pc.TAKEN_RELEASE) {
				set(other, number, INDEX, numbers[get(state, thread, INDEX)]);
			}
		}
		return other;
	}

	// What has to hold

	@Override
	public String violation(byte[] state) {
		if (state[WRONG] != 0) {
			return WRONGS[state[WRONG]];
		}
		int marks = 0;
		for (int thread = 1; thread <= actors(); thread++) {
			int set = get(state, thread, LEADING) - 1;
			boolean holds = set >= 0 && state[HOLDER + set] == thread;
			boolean leased = get(state, thread, LEASED) != 0;
			if (set >= 0 && !leased && (!holds || state[LEASE + set] != 0)) {
				return thread + " leads a handle set of which another is the leader";
			}
			if (holds && leased && state[LEASE + set] == 0) {
				return thread + " has leased a leadership that is not";
			}
			if (watches(state, thread) && state[WATCHER] != thread) {
				return thread + " watches, but " + state[WATCHER] + " is the watcher";
			}
			marks += holdsMark(state, thread) ? 1 : 0;
		}
		for (int set = 0; set < this.sets; set++) {
			int holder = state[HOLDER + set];
			if (holder != 0 && get(state, holder, LEADING) != set + 1 && pc(state, holder) != Pc.LEASE_ENDED) {
				return "the leader of " + set + " does not know";
			}
		}
		if (marks != state[MARK]) {
			return "the mark is " + state[MARK] + ", but " + marks + " are under way";
		}
		return (state[COUNT] > this.greatest) ? "too many threads" : null;
	}

	private boolean watches(byte[] state, int thread) {
		return switch (pc(state, thread)) {
			case SCAN, TAKE_OVER, RELEASE, TIMED, FALL_ASLEEP, ASLEEP_LOOK, ASLEEP_CHECK, ASLEEP, ROUSE_SELF, RESIGN ->
				true;
			default -> false;
		};
	}

	private boolean holdsMark(byte[] state, int thread) {
		return switch (pc(state, thread)) {
			case START, START_COUNT, START_CHECK, START_CLEAR, NEW_ARRIVE -> true;
			default -> get(state, thread, PERMIT) == SIGNALLED;
		};
	}

	@Override
	public String violationAtRest(byte[] state) {
		if (state[MARK] != 0) {
			return "nobody is under way, but the mark says so";
		}
		int idle = 0;
		for (int thread = 1; thread <= actors(); thread++) {
			boolean waits = isParked(state, thread);
			if (waits && get(state, thread, PERMIT) != WAITING) {
				return thread + " waits where nobody finds it";
			}
			idle = (waits || (pc(state, thread) == Pc.SELECT && state[LONG + get(state, thread, LEADING) - 1] != 0))
					? thread : idle;
			if (get(state, thread, HOLDS) != 0 && !isOnLease(state, thread)) {
				return "what the handler of " + thread + " has sent is not written, though it leads no more";
			}
		}
		for (int set = 0; set < this.sets; set++) {
			boolean led = state[HOLDER + set] != 0 && state[LEASE + set] == 0;
			if (!led && idle != 0) {
				return "%d is led by nobody, or by one whose handler does not return, while %d waits".formatted(set,
						idle);
			}
			if (!led && state[COUNT] < state[MAX]) {
				return set + " has no leader, and no thread was started though one more may be";
			}
		}
		if (state[COUNT] < state[MIN]) {
			return "too few threads";
		}
		for (int thread = 1; thread <= this.own; thread++) {
			if (isParked(state, thread) && isSurplus(state)) {
				return thread + " waits though there are too many threads";
			}
		}
		return null;
	}

	private static boolean isParked(byte[] state, int thread) {
		return pc(state, thread) == Pc.PARKED || pc(state, thread) == Pc.ASLEEP;
	}

	@Override
	public String describe(byte[] state) {
		StringBuilder description = new StringBuilder("leaders");
		for (int set = 0; set < this.sets; set++) {
			description.append(" %d%s (%d ready)".formatted(state[HOLDER + set],
					(state[LEASE + set] != 0) ? " on lease" : "", state[READY + set]));
		}
		description.append(", mark %d, threads %d, watcher %d%s;".formatted(state[MARK], state[COUNT], state[WATCHER],
				(state[SLEEPS] != 0) ? " asleep" : ""));
		if (isChanged()) {
			description
				.append(" limits %d..%d%s;".formatted(state[MIN], state[MAX], (state[EAGER] != 0) ? " eager" : ""));
		}
		for (int thread = 1; thread <= actors(); thread++) {
			description.append(" %d: %s, permit %d, leads %d;".formatted(thread, pc(state, thread),
					get(state, thread, PERMIT), get(state, thread, LEADING) - 1));
		}
		return description.toString();
	}

	// Access

	private boolean is(Without rule) {
		return this.without.contains(rule);
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

		private int sets = 1;

		private int min = 1;

		private int max = 1;

		private int spare;

		private int changes;

		private int[][] sizes = {};

		private boolean policies;

		private boolean keepAlive;

		private boolean burst;

		private boolean replies;

		private boolean attendant;

		private boolean promotes;

		private boolean endless;

		private boolean shares;

		private boolean fine;

		private boolean symmetric;

		private final Set<Without> without = EnumSet.noneOf(Without.class);

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

		/** How often an operator changes the pool, and to which numbers of threads. */
		Builder changes(int changes, int[]... sizes) {
			this.changes = changes;
			this.sizes = sizes;
			return this;
		}

		/** The operator changes the policy, too. */
		Builder policies() {
			this.policies = true;
			return this;
		}

		Builder keepAlive() {
			this.keepAlive = true;
			return this;
		}

		/** Two handles can be ready at once. */
		Builder burst() {
			this.burst = true;
			return this;
		}

		/** Handlers on lease send replies. */
		Builder replies() {
			this.replies = true;
			return this;
		}

		/** Somebody from outside attends to the requests of handle sets. */
		Builder attendant() {
			this.attendant = true;
			return this;
		}

		/** Handlers call {@code promoteNewLeader}. */
		Builder promotingHandlers() {
			this.promotes = true;
			return this;
		}

		/** Handlers may be worth a processor of their own. */
		Builder sharedHandleSets() {
			this.shares = true;
			return this;
		}

		/** No handler ever returns: for pools of more threads. */
		Builder endlessHandlers() {
			this.endless = true;
			return this;
		}

		/** Handle sets are looked at one by one, not all in one step. */
		Builder fine() {
			this.fine = true;
			return this;
		}

		/** States that differ only in the numbers of the pool's threads are one. */
		Builder symmetric() {
			this.symmetric = true;
			return this;
		}

		Builder without(Without... rules) {
			this.without.addAll(List.of(rules));
			return this;
		}

		LeaseProtocol build() {
			return new LeaseProtocol(this);
		}

	}

}
