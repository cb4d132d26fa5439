package org.leaderfollowers.internal.promotion;

/** What tests of other packages may know of a follower. */
public final class FollowerStates {

	private FollowerStates() {
	}

	/**
	 * Whether a thread waits among the followers and has not been signalled. A thread
	 * that was signalled may still have to wait for a processor.
	 * @param member the thread
	 * @return whether the next signal can be for it
	 */
	public static boolean isWaiting(Member member) {
		return member.follower.isWaiting();
	}

}
