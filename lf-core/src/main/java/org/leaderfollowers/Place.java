package org.leaderfollowers;

import org.jspecify.annotations.Nullable;

/**
 * The place in the ready queue of a handle with postponed work; see
 * {@link EngineEventHandler#hasPostponed()}. The handle itself is released, so that its
 * next event is reported: it may be a reply, which must not wait. Its work nevertheless
 * has its turn before that of handles that became ready later.
 * <p>
 * A handle has at most one place in a handle set. No work is overlooked: the owner
 * postpones it <em>before</em> it looks whether there is a place, and releases the handle
 * afterwards. The thread that takes the place gives it up <em>before</em> it tries to
 * claim the handle, and requests a look if it cannot. Either the owner therefore adds
 * another place, or that thread or the look finds the work. If the handle is owned when
 * its place is taken, its work gets another place, at the end.
 */
final class Place implements Ready {

	private final HandleSet set;

	private final SelectableHandle handle;

	private volatile boolean taken;

	private Place(HandleSet set, SelectableHandle handle) {
		this.set = set;
		this.handle = handle;
	}

	/**
	 * Gives the handle a place at the end of the queue, unless it still has one. Called
	 * by the leader of the set, which owns the handle.
	 * @param latest the latest place of the handle
	 * @param set a handle set whose queue has room
	 * @return the place of the handle
	 */
	static Place keep(@Nullable Place latest, SelectableHandle handle, HandleSet set) {
		if (latest != null && latest.set == set && !latest.taken) {
			return latest;
		}
		Place place = new Place(set, handle);
		set.ready.add(place);
		return place;
	}

	@Override
	public @Nullable SelectableHandle own() {
		this.taken = true;
		boolean claimed = this.handle.claimReleased();
		if (claimed && isInSet()) {
			this.handle.claimedEvents = SelectableHandle.LOOK;
			return this.handle;
		}
		if (claimed) {
			// It has moved to another handle set, perhaps of another pool.
			this.handle.giveBack();
		}
		this.handle.request(SelectableHandle.LOOK);
		if (claimed && this.handle.handleSet().closed) {
			// That set abandons its handles after it is marked as closed, but leaves the
			// end of a handle that is owned to its owner.
			this.handle.handler.abandon();
		}
		return null;
	}

	private boolean isInSet() {
		return this.handle.handleSet() == this.set;
	}

	@Override
	public String toString() {
		return "place of " + this.handle;
	}

}
