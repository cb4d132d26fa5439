package org.leaderfollowers.internal.demultiplexing;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

import org.jspecify.annotations.Nullable;
import org.leaderfollowers.internal.linkage.Linkage;

/**
 * The state word of a handle: whether a thread owns it, and whether the demultiplexer
 * watches it.
 * <p>
 * This is a lazy form of the deactivation protocol of the pattern (the paper, activity
 * 2). A claimed handle stays active in the kernel. Only if it fires again while it is
 * owned, the leader deactivates it, and its owner looks again. Peers that wait for each
 * reply therefore never cause a change of interest, which would cost two system calls.
 * <table border="1">
 * <caption>Transitions of the claim. An "active" handle is watched by the kernel; L is
 * the leader of the handle set, O the owner of the handle</caption>
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
 * <td>it fired, but now belongs to another handle set, whose leader is asked to activate
 * it</td>
 * </tr>
 * <tr>
 * <td>CLAIMED (owned, active)</td>
 * <td>ARMED</td>
 * <td>O</td>
 * <td>released; no event has occurred meanwhile</td>
 * </tr>
 * <tr>
 * <td>CLAIMED</td>
 * <td>CLAIMED_FIRED</td>
 * <td>L</td>
 * <td>it fired again: the leader deactivates it, or the demultiplexer would report it
 * without end</td>
 * </tr>
 * <tr>
 * <td>CLAIMED_FIRED (owned, inactive, needs a look)</td>
 * <td>CLAIMED_DISARMED</td>
 * <td>O</td>
 * <td>instead of a release: the owner looks at the handle again</td>
 * </tr>
 * <tr>
 * <td>CLAIMED_DISARMED (owned, inactive)</td>
 * <td>CLAIMED_FIRED</td>
 * <td>L</td>
 * <td>a look is requested; the owner may just have finished looking</td>
 * </tr>
 * <tr>
 * <td>CLAIMED_DISARMED</td>
 * <td>CLAIMED</td>
 * <td>L</td>
 * <td>its owner waits for the next event in the middle of a handler, and has requested
 * this: activated although it is owned. If it fires, the owner is notified</td>
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
 * <td>activated before the next wait; level-triggered, so events in between are not
 * lost</td>
 * </tr>
 * <tr>
 * <td>CLAIMED, CLAIMED_DISARMED</td>
 * <td>PAUSED (not owned, events unwanted)</td>
 * <td>O</td>
 * <td>released, but no more events are wanted until a look is requested</td>
 * </tr>
 * <tr>
 * <td>DISARMED, PAUSED</td>
 * <td>CLAIMED_DISARMED</td>
 * <td>L</td>
 * <td>a look is requested and no thread owns the handle: claimed. A handle that was
 * PAUSED may still be active; if it fires, the leader deactivates it</td>
 * </tr>
 * <tr>
 * <td>ARMED, DISARMED</td>
 * <td>CLAIMED, CLAIMED_DISARMED</td>
 * <td>any thread</td>
 * <td>the thread has come to the place that the handle keeps in the ready queue</td>
 * </tr>
 * <tr>
 * <td>PAUSED</td>
 * <td>CLAIMED_DISARMED</td>
 * <td>any thread</td>
 * <td>the thread has ended the reason for the pause: claimed</td>
 * </tr>
 * <tr>
 * <td>CLAIMED, CLAIMED_FIRED, CLAIMED_DISARMED</td>
 * <td>CLOSED</td>
 * <td>O</td>
 * <td>final. Only an owner closes the handle, so no thread works on a closed handle, and
 * no outdated request can arm it again</td>
 * </tr>
 * <tr>
 * <td>CLAIMED, CLAIMED_FIRED, CLAIMED_DISARMED, CLOSED</td>
 * <td>PAUSED</td>
 * <td>O</td>
 * <td>memory is too short to close the handle, or to report that it is closed: the next
 * owner continues, and closes it again</td>
 * </tr>
 * </table>
 * A new handle is CLAIMED_DISARMED: owned by the thread that creates it, not yet active.
 * <p>
 * The second word holds the <em>requests</em> of other threads to the leader; see
 * {@link UpdateQueue}.
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
		Linkage.link(() -> CLAIM.compareAndSet((HandleState) null, 0, 0), () -> {
			int ignored = (int) REQUESTS.getAndBitwiseOr((HandleState) null, 0);
		}, () -> {
			int ignored = (int) REQUESTS.getAndSet((HandleState) null, 0);
		});
	}

	@SuppressWarnings("FieldMayBeFinal") // changed through CLAIM
	private volatile int claim = CLAIMED_DISARMED;

	@SuppressWarnings("FieldMayBeFinal") // changed through REQUESTS
	private volatile int requests;

	/** The next handle in the {@link UpdateQueue}, which alone uses this field. */
	@Nullable HandleState nextRequested;

	/** The index in {@link Deadlines}, which alone uses this field; -1 for none. */
	int deadlineIndex = -1;

	/** The key in {@link Deadlines}, which alone uses this field. */
	long deadlineNanos;

	/** The result of an attempt to claim a handle. */
	public enum Claim {

		/** The caller now owns the handle. */
		CLAIMED,

		/**
		 * Another thread owns the handle and will look at it again. The caller, which
		 * leads, deactivates it in the demultiplexer.
		 */
		OWNER_LOOKS_AGAIN,

		/** Its events are not wanted now, so the leader deactivates it. */
		UNWANTED,

		/** There is nothing to do: the event is outdated or the handle is closed. */
		STALE

	}

	/**
	 * Claims the handle because it fired. Called by the leader.
	 * @return the result
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
				// CLAIMED_DISARMED: the handle is still active if it was claimed while
				// PAUSED, and would be reported without end while its handler runs. The
				// owner reads anyway. If it stops before these bytes, the event is
				// reported again when the handle is armed.
				case PAUSED, CLAIMED_DISARMED -> {
					return Claim.UNWANTED;
				}
				// CLAIMED_FIRED: the owner already knows. DISARMED: the handle is armed
				// before the next wait, which reports the event again.
				default -> {
					return Claim.STALE;
				}
			}
		}
	}

	/**
	 * Claims the handle for a requested look, although it has not fired. Called by the
	 * leader, or by a thread that closes the handle by force.
	 * @return the result
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
	 * Claims the handle if no thread owns it and it waits for its next event. Any thread.
	 * @return whether the calling thread now owns the handle
	 */
	public final boolean claimReleased() {
		return CLAIM.compareAndSet(this, ARMED, CLAIMED) || CLAIM.compareAndSet(this, DISARMED, CLAIMED_DISARMED);
	}

	/**
	 * Claims the handle if it is paused. Called by a thread that has ended the reason for
	 * the pause.
	 * @return whether the calling thread now owns the handle
	 */
	public final boolean claimPaused() {
		return CLAIM.compareAndSet(this, PAUSED, CLAIMED_DISARMED);
	}

	/** The result of an attempt to release a handle. */
	public enum Release {

		/** The handle is released and still active. */
		RELEASED,

		/** The handle is released. The owner must ask the leader to activate it again. */
		REARM_NEEDED,

		/**
		 * The handle is not released: an event has occurred meanwhile, so the owner has
		 * to look again.
		 */
		LOOK_AGAIN

	}

	/**
	 * Releases the handle. Called by its owner.
	 * @return the result
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
					// Only the owner changes the state CLAIMED_FIRED.
					this.claim = CLAIMED_DISARMED;
					return Release.LOOK_AGAIN;
				}
				default -> throw new IllegalStateException("released without being owned: " + this);
			}
		}
	}

	/**
	 * Takes note of an event, so that the owner looks at the handle without releasing it.
	 * Called by its owner.
	 * @return whether an event has occurred since the handle was claimed or looked at
	 */
	public final boolean takeLook() {
		if (this.claim != CLAIMED_FIRED) {
			return false;
		}
		// Only the owner changes the state CLAIMED_FIRED.
		this.claim = CLAIMED_DISARMED;
		return true;
	}

	/**
	 * Whether the handle is owned but not active in the demultiplexer. The owner then
	 * learns of the next event only if it lets the leader arm the handle. Called by its
	 * owner.
	 * @return whether to request {@link #armOwned()} of the leader
	 */
	public final boolean isOwnedDisarmed() {
		return this.claim == CLAIMED_DISARMED;
	}

	/**
	 * Activates the handle while its owner waits for the next event. Called by the
	 * leader, which then activates it in the demultiplexer.
	 * @return whether the handle is now active and owned
	 */
	public final boolean armOwned() {
		return CLAIM.compareAndSet(this, CLAIMED_DISARMED, CLAIMED);
	}

	/**
	 * Releases the handle and pauses its events. Called by its owner, which must then
	 * check again whether the reason for the pause still holds, and request a look if it
	 * does not.
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
	 * Activates the handle again if it still waits for this. Called by the leader, which
	 * then activates it in the demultiplexer.
	 * @return whether it is armed now
	 */
	public final boolean arm() {
		return CLAIM.compareAndSet(this, DISARMED, ARMED);
	}

	/**
	 * Prevents the handle from being claimed until it is {@linkplain #arm armed} again.
	 * Called by the leader.
	 * @return {@code false} if a thread owns the handle
	 */
	public final boolean disarm() {
		return CLAIM.compareAndSet(this, ARMED, DISARMED);
	}

	/** Closes the handle permanently. Called by its owner. */
	public final void markClosed() {
		this.claim = CLOSED;
	}

	/**
	 * Leaves a handle, closed or not, to its next owner, and pauses its events. Called by
	 * its owner, which then requests a timer or a look. Allocates nothing.
	 */
	public final void leaveToNextOwner() {
		// Only the owner leaves these states. A look that the leader has just requested
		// would be of no use before the timer expires.
		this.claim = PAUSED;
	}

	/**
	 * Whether the handle is closed.
	 * @return {@code true} if no thread will ever own it again, unless its owner
	 * {@linkplain #leaveToNextOwner() could not finish}
	 */
	public final boolean isMarkedClosed() {
		return this.claim == CLOSED;
	}

	/**
	 * Whether no thread owns the handle and it waits only for its next event.
	 * @return whether it is armed
	 */
	public final boolean isArmed() {
		return this.claim == ARMED;
	}

	/**
	 * Whether no thread owns the handle and its events are not wanted.
	 * @return whether it is paused
	 */
	public final boolean isPaused() {
		return this.claim == PAUSED;
	}

	/**
	 * Whether a thread works on the handle.
	 * @return whether it is owned
	 */
	public final boolean isOwned() {
		int current = this.claim;
		return current == CLAIMED || current == CLAIMED_FIRED || current == CLAIMED_DISARMED;
	}

	/**
	 * Adds requests to the leader.
	 * @param request bits
	 * @return whether there were none before; the caller then queues the handle
	 */
	final boolean addRequests(int request) {
		return (int) REQUESTS.getAndBitwiseOr(this, request) == 0;
	}

	/**
	 * Takes all requests. Called by the leader after it has read {@link #nextRequested},
	 * because another thread may queue the handle again afterwards.
	 */
	final int takeRequests() {
		return (int) REQUESTS.getAndSet(this, 0);
	}

	/**
	 * The name of the state, for the log.
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
