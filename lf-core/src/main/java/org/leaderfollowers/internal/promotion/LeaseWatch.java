package org.leaderfollowers.internal.promotion;

import java.util.concurrent.atomic.AtomicInteger;

/**
 * Who watches the leases of a pool: one of its waiting followers. It looks at every lease
 * when that runs out, with timed waits while handlers are run, and sleeps when none are,
 * so that a server without traffic uses no processor.
 * <p>
 * The word:
 * <table border="1">
 * <caption>Transitions; w is a follower that is published as waiting</caption>
 * <tr>
 * <th>from</th>
 * <th>to</th>
 * <th>by</th>
 * <th>why</th>
 * </tr>
 * <tr>
 * <td>NOBODY</td>
 * <td>AWAKE(w)</td>
 * <td>w</td>
 * <td>it is about to wait, and looks at all leases after this</td>
 * </tr>
 * <tr>
 * <td>AWAKE(w)</td>
 * <td>ASLEEP(w)</td>
 * <td>w</td>
 * <td>there was no lease for a while. It looks at all leases once more after this</td>
 * </tr>
 * <tr>
 * <td>ASLEEP(w)</td>
 * <td>AWAKE(w)</td>
 * <td>a leader, or w</td>
 * <td>a lease has begun. The leader wakes w, once for as long as handlers are run</td>
 * </tr>
 * <tr>
 * <td>AWAKE(w), ASLEEP(w)</td>
 * <td>NOBODY</td>
 * <td>w</td>
 * <td>it was promoted, takes over or ends. It looks at all leases after this: if there is
 * one, and somebody waits, a successor is needed</td>
 * </tr>
 * </table>
 * A leader publishes its lease and <em>then</em> looks at this word; a watcher that
 * leaves or falls asleep writes this word and <em>then</em> looks at the leases. One of
 * the two sees the other: no lease is unwatched while somebody waits.
 */
public final class LeaseWatch {

	private static final int NOBODY = 0;

	private static final int ASLEEP = 1 << 16;

	private final AtomicInteger word = new AtomicInteger(NOBODY);

	/**
	 * Whether a lease is watched.
	 */
	public enum Cover {

		/** Somebody watches, and will see the lease in time. */
		COVERED,

		/**
		 * The watcher sleeps: the leader {@link LeaseWatch#rouse rouses} it, or promotes
		 * somebody instead.
		 */
		ASLEEP,

		/** Nobody watches. */
		NOBODY

	}

	/**
	 * Whether the lease that the calling leader has just published is watched.
	 * @return what the leader can rely on
	 */
	public Cover cover() {
		int current = this.word.get();
		return (current == NOBODY) ? Cover.NOBODY : ((current & ASLEEP) != 0) ? Cover.ASLEEP : Cover.COVERED;
	}

	/**
	 * Rouses the watcher.
	 * @return the number of the participant that the caller is to unpark, or 0 if it need
	 * not or cannot be roused by the caller, who looks at {@link #cover} again
	 */
	public int rouse() {
		int current = this.word.get();
		return ((current & ASLEEP) != 0 && this.word.compareAndSet(current, current & ~ASLEEP)) ? current & ~ASLEEP : 0;
	}

	/**
	 * Makes the caller the watcher, if there is none.
	 * @param participant a follower that is published as waiting
	 * @return whether it watches now: it must look at all leases
	 */
	public boolean appoint(int participant) {
		return this.word.get() == NOBODY && this.word.compareAndSet(NOBODY, participant);
	}

	/**
	 * Announces that the watcher sleeps until it is roused. It must look at all leases
	 * after this, and {@link #rouse} itself if there is one.
	 * @param participant the watcher
	 */
	public void fallAsleep(int participant) {
		this.word.set(participant | ASLEEP);
	}

	/**
	 * Whether the watcher has been roused, or has never slept.
	 * @return whether the word says AWAKE
	 */
	public boolean isAwake() {
		return (this.word.get() & ASLEEP) == 0;
	}

	/**
	 * The watcher watches no more. It must look at all leases after this.
	 */
	public void resign() {
		this.word.set(NOBODY);
	}

	/**
	 * Whether nobody watches.
	 * @return whether somebody is to be appointed if there is a lease
	 */
	public boolean isVacant() {
		return this.word.get() == NOBODY;
	}

	/**
	 * Who watches. Any thread.
	 * @return the participant's number, or 0
	 */
	public int watcher() {
		return this.word.get() & ~ASLEEP;
	}

}
