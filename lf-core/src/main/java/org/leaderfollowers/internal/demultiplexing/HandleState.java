package org.leaderfollowers.internal.demultiplexing;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

import org.jspecify.annotations.Nullable;

/**
 * The state word of a handle: who owns it, and whether the demultiplexer watches it.
 * <p>
 * This is the deactivation protocol of the pattern (the paper, activity 2) made lazy. A
 * claimed handle stays active in the kernel; only if it fires again while it is owned is
 * it deactivated there, and its owner told to look again. Peers that wait for each reply
 * never cause a change of interest, each of which would cost two system calls.
 * <table border="1">
 * <caption>Transitions of the claim. "Active" is what the kernel watches; L is the leader
 * of the handle set, O the owner of the handle</caption>
 * <tr>
 * <th>from</th>
 * <th>to</th>
 * <th>by</th>
 * <th>why</th>
 * </tr>
 * <tr>
 * <td>ARMED (not owned, active)</td>
 * <td>CLAIMED</td>
 * <td>L</td>
 * <td>it fired: claimed. One compare-and-set, nothing in the kernel</td>
 * </tr>
 * <tr>
 * <td>ARMED</td>
 * <td>DISARMED</td>
 * <td>L</td>
 * <td>it fired, but is dealt to another handle set now, whose leader is asked to activate
 * it</td>
 * </tr>
 * <tr>
 * <td>CLAIMED (owned, active)</td>
 * <td>ARMED</td>
 * <td>O</td>
 * <td>released, nothing happened meanwhile</td>
 * </tr>
 * <tr>
 * <td>CLAIMED</td>
 * <td>CLAIMED_FIRED</td>
 * <td>L</td>
 * <td>it fired again: the leader deactivates it, or the demultiplexer would report it
 * without end</td>
 * </tr>
 * <tr>
 * <td>CLAIMED_FIRED (owned, inactive, to be looked at)</td>
 * <td>CLAIMED_DISARMED</td>
 * <td>O</td>
 * <td>instead of a release: the owner looks at the handle again</td>
 * </tr>
 * <tr>
 * <td>CLAIMED_DISARMED (owned, inactive)</td>
 * <td>CLAIMED_FIRED</td>
 * <td>L</td>
 * <td>somebody asks for a look; the owner may just have finished looking</td>
 * </tr>
 * <tr>
 * <td>CLAIMED_DISARMED</td>
 * <td>CLAIMED</td>
 * <td>L</td>
 * <td>its owner waits for the next event in the middle of a handler, and has asked for
 * it: activated though it is owned. If it fires, the owner is told</td>
 * </tr>
 * <tr>
 * <td>CLAIMED_DISARMED</td>
 * <td>DISARMED</td>
 * <td>O</td>
 * <td>released; the leader is asked to activate it again</td>
 * </tr>
 * <tr>
 * <td>DISARMED (not owned, inactive)</td>
 * <td>ARMED</td>
 * <td>L</td>
 * <td>activated before the next wait; level-triggered, so nothing that came in between is
 * lost</td>
 * </tr>
 * <tr>
 * <td>CLAIMED, CLAIMED_DISARMED</td>
 * <td>PAUSED (not owned, events unwanted)</td>
 * <td>O</td>
 * <td>released, but no more events are wanted until somebody asks for a look</td>
 * </tr>
 * <tr>
 * <td>DISARMED, PAUSED</td>
 * <td>CLAIMED_DISARMED</td>
 * <td>L</td>
 * <td>somebody asks for a look and nobody owns it: claimed. One that was PAUSED may be
 * active still; if it fires, the leader deactivates it</td>
 * </tr>
 * <tr>
 * <td>PAUSED</td>
 * <td>CLAIMED_DISARMED</td>
 * <td>any thread</td>
 * <td>it has ended what the handle was paused for: claimed</td>
 * </tr>
 * <tr>
 * <td>CLAIMED, CLAIMED_FIRED, CLAIMED_DISARMED</td>
 * <td>CLOSED</td>
 * <td>O</td>
 * <td>final. Only an owner closes, so nobody works on a closed handle and no stale
 * request can arm it again</td>
 * </tr>
 * </table>
 * A new handle is CLAIMED_DISARMED: owned by the thread that creates it, not yet active.
 * <p>
 * The second word, the <em>requests</em>, holds what other threads want of the leader;
 * see {@link UpdateQueue}.
 */
public abstract class HandleState {

	private static final int ARMED = 0;

	private static final int CLAIMED = 1;

	private static final int CLAIMED_FIRED = 2;

	private static final int CLAIMED_DISARMED = 3;

	private static final int DISARMED = 4;

	private static final int PAUSED = 5;

	private static final int CLOSED = 6;

	private static final VarHandle CLAIM;

	private static final VarHandle REQUESTS;

	static {
		try {
			MethodHandles.Lookup lookup = MethodHandles.lookup();
			CLAIM = lookup.findVarHandle(HandleState.class, "claim", int.class);
			REQUESTS = lookup.findVarHandle(HandleState.class, "requests", int.class);
		}
		catch (ReflectiveOperationException ex) {
			throw new ExceptionInInitializerError(ex);
		}
	}

	@SuppressWarnings("FieldMayBeFinal") // by CLAIM
	private volatile int claim = CLAIMED_DISARMED;

	@SuppressWarnings("FieldMayBeFinal") // by REQUESTS
	private volatile int requests;

	/** The next in the {@link UpdateQueue}; belongs to it. */
	@Nullable HandleState nextRequested;

	/** The place in the {@link Deadlines}, -1 for none; belongs to them. */
	int deadlineIndex = -1;

	/** The key in the {@link Deadlines}; belongs to them. */
	long deadlineNanos;

	/**
	 * What a thread that wanted a handle got.
	 */
	public enum Claim {

		/** The caller owns the handle now. */
		CLAIMED,

		/**
		 * Another thread owns it and will look at it again; the caller, the leader,
		 * deactivates it in the demultiplexer.
		 */
		OWNER_LOOKS_AGAIN,

		/** No events of it are wanted now: the leader deactivates it. */
		UNWANTED,

		/** Nothing to do: the event is stale, or the handle is closed. */
		STALE

	}

	/**
	 * Claims the handle because it fired. Called by the leader.
	 * @return what the leader got
	 */
	public final Claim claimFired() {
		for (;;) {
			switch (this.claim) {
				case ARMED -> {
					if (CLAIM.compareAndSet(this, ARMED, CLAIMED)) {
						return Claim.CLAIMED;
					}
				}
				case CLAIMED -> {
					if (CLAIM.compareAndSet(this, CLAIMED, CLAIMED_FIRED)) {
						return Claim.OWNER_LOOKS_AGAIN;
					}
				}
				// CLAIMED_DISARMED: it is active still if it was claimed when PAUSED, and
				// would
				// be reported without end while its handler runs. The owner reads
				// anyhow, and if it stops before these bytes, arming reports them
				// again.
				case PAUSED, CLAIMED_DISARMED -> {
					return Claim.UNWANTED;
				}
				// CLAIMED_FIRED: the owner is told already. DISARMED: the next wait is
				// preceded by
				// arming, which reports it again.
				default -> {
					return Claim.STALE;
				}
			}
		}
	}

	/**
	 * Claims the handle because somebody asked for a look at it, although it did not
	 * fire. Called by the leader, or by a thread that closes the handle by force.
	 * @return what the leader got
	 */
	public final Claim claimForLook() {
		for (;;) {
			int current = this.claim;
			switch (current) {
				case ARMED -> {
					if (CLAIM.compareAndSet(this, ARMED, CLAIMED)) {
						return Claim.CLAIMED;
					}
				}
				case DISARMED, PAUSED -> {
					if (CLAIM.compareAndSet(this, current, CLAIMED_DISARMED)) {
						return Claim.CLAIMED;
					}
				}
				case CLAIMED, CLAIMED_DISARMED -> {
					if (CLAIM.compareAndSet(this, current, CLAIMED_FIRED)) {
						return Claim.OWNER_LOOKS_AGAIN;
					}
				}
				default -> {
					return Claim.STALE;
				}
			}
		}
	}

	/**
	 * Claims the handle if it is paused. Any thread, that has ended what it was paused
	 * for.
	 * @return whether the calling thread owns it now
	 */
	public final boolean claimPaused() {
		return CLAIM.compareAndSet(this, PAUSED, CLAIMED_DISARMED);
	}

	/**
	 * What became of a handle that its owner wanted to release.
	 */
	public enum Release {

		/** Released, and still active. */
		RELEASED,

		/** Released; the owner asks the leader to activate it again. */
		REARM_NEEDED,

		/** Not released: something happened meanwhile, the owner looks again. */
		LOOK_AGAIN

	}

	/**
	 * Releases the handle. Called by its owner.
	 * @return what became of it
	 */
	public final Release release() {
		for (;;) {
			int current = this.claim;
			switch (current) {
				case CLAIMED -> {
					if (CLAIM.compareAndSet(this, CLAIMED, ARMED)) {
						return Release.RELEASED;
					}
				}
				case CLAIMED_DISARMED -> {
					if (CLAIM.compareAndSet(this, CLAIMED_DISARMED, DISARMED)) {
						return Release.REARM_NEEDED;
					}
				}
				case CLAIMED_FIRED -> {
					// Nobody else moves it away from CLAIMED_FIRED.
					this.claim = CLAIMED_DISARMED;
					return Release.LOOK_AGAIN;
				}
				default -> throw new IllegalStateException("released without being owned: " + this);
			}
		}
	}

	/**
	 * Takes the look that the owner is to have at the handle, without releasing it.
	 * Called by its owner.
	 * @return whether something happened since it was claimed or looked at
	 */
	public final boolean takeLook() {
		if (this.claim != CLAIMED_FIRED) {
			return false;
		}
		// Nobody else moves it away from CLAIMED_FIRED.
		this.claim = CLAIMED_DISARMED;
		return true;
	}

	/**
	 * Whether the handle is owned and the demultiplexer does not watch it, so that its
	 * owner learns of the next event only if it has it armed. Called by its owner.
	 * @return whether to ask the leader for {@link #armOwned()}
	 */
	public final boolean isOwnedDisarmed() {
		return this.claim == CLAIMED_DISARMED;
	}

	/**
	 * Activates the handle while its owner waits for the next event. Called by the
	 * leader, who then activates it in the demultiplexer.
	 * @return whether it is active now, and owned
	 */
	public final boolean armOwned() {
		return CLAIM.compareAndSet(this, CLAIMED_DISARMED, CLAIMED);
	}

	/**
	 * Releases the handle without wanting further events. Called by its owner, who then
	 * checks once more whether the reason for the pause still holds, and asks for a look
	 * if it does not.
	 * @return {@link Release#RELEASED} or {@link Release#LOOK_AGAIN}
	 */
	public final Release pause() {
		for (;;) {
			int current = this.claim;
			switch (current) {
				case CLAIMED, CLAIMED_DISARMED -> {
					if (CLAIM.compareAndSet(this, current, PAUSED)) {
						return Release.RELEASED;
					}
				}
				case CLAIMED_FIRED -> {
					this.claim = CLAIMED_DISARMED;
					return Release.LOOK_AGAIN;
				}
				default -> throw new IllegalStateException("paused without being owned: " + this);
			}
		}
	}

	/**
	 * Activates the handle again, if that is still what it waits for. Called by the
	 * leader, who then activates it in the demultiplexer.
	 * @return whether it is armed now
	 */
	public final boolean arm() {
		return CLAIM.compareAndSet(this, DISARMED, ARMED);
	}

	/**
	 * Withholds the handle from owners until it is {@linkplain #arm armed} again. Called
	 * by the leader.
	 * @return whether nobody owned it
	 */
	public final boolean disarm() {
		return CLAIM.compareAndSet(this, ARMED, DISARMED);
	}

	/**
	 * Closes the handle for good. Called by its owner.
	 */
	public final void markClosed() {
		this.claim = CLOSED;
	}

	/**
	 * Whether the handle is closed for good.
	 * @return whether nobody will ever own it again
	 */
	public final boolean isMarkedClosed() {
		return this.claim == CLOSED;
	}

	/**
	 * Whether nobody owns the handle and it waits for nothing but its next event.
	 * @return whether it is armed
	 */
	public final boolean isArmed() {
		return this.claim == ARMED;
	}

	/**
	 * Whether nobody owns the handle and its events are not wanted.
	 * @return whether it is paused
	 */
	public final boolean isPaused() {
		return this.claim == PAUSED;
	}

	/**
	 * Whether some thread works on the handle now.
	 * @return whether it is owned
	 */
	public final boolean isOwned() {
		int current = this.claim;
		return current == CLAIMED || current == CLAIMED_FIRED || current == CLAIMED_DISARMED;
	}

	/**
	 * Adds to what is wanted of the leader.
	 * @param request bits
	 * @return whether nothing was wanted before: the caller queues the handle
	 */
	final boolean addRequests(int request) {
		return (int) REQUESTS.getAndBitwiseOr(this, request) == 0;
	}

	/**
	 * Takes all that is wanted. Called by the leader, after it has read
	 * {@link #nextRequested}: from here on another thread may queue the handle again.
	 */
	final int takeRequests() {
		return (int) REQUESTS.getAndSet(this, 0);
	}

	/**
	 * The name of the state, for people.
	 * @return for example {@code ARMED}
	 */
	protected final String stateName() {
		return switch (this.claim) {
			case ARMED -> "ARMED";
			case CLAIMED -> "CLAIMED";
			case CLAIMED_FIRED -> "CLAIMED_FIRED";
			case CLAIMED_DISARMED -> "CLAIMED_DISARMED";
			case DISARMED -> "DISARMED";
			case PAUSED -> "PAUSED";
			default -> "CLOSED";
		};
	}

}
