package org.leaderfollowers.internal.promotion;

import java.util.concurrent.atomic.AtomicInteger;

/**
 * The watcher of the leases of a pool, which is one of the waiting followers. It checks
 * each lease when the lease expires, with timed waits while handlers run. It sleeps while
 * none run, so that a server without traffic uses no processor.
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
 * <td>it is about to wait, and checks all leases after this</td>
 * </tr>
 * <tr>
 * <td>AWAKE(w)</td>
 * <td>ASLEEP(w)</td>
 * <td>w</td>
 * <td>there was no lease for a while. It checks all leases once more after this</td>
 * </tr>
 * <tr>
 * <td>ASLEEP(w)</td>
 * <td>AWAKE(w)</td>
 * <td>a leader, or w</td>
 * <td>a lease has begun. The leader wakes w, once for a period in which handlers run</td>
 * </tr>
 * <tr>
 * <td>AWAKE(w), ASLEEP(w)</td>
 * <td>NOBODY</td>
 * <td>w</td>
 * <td>it was promoted, takes over or ends. It checks all leases after this: if there is
 * one, and a follower waits, a successor is needed</td>
 * </tr>
 * </table>
 * A leader publishes its lease and <em>then</em> reads this word; a watcher that leaves
 * or falls asleep writes this word and <em>then</em> checks the leases. At least one of
 * the two sees the other, so every lease is watched while a follower waits.
 */
public final class LeaseWatch {

	private static final int NOBODY = 0;

	private static final int ASLEEP = 1 << 16;

	private final AtomicInteger word = new AtomicInteger(NOBODY);

	/** The result of looking for a watcher. */
	public enum Cover {

		/** A thread watches and will see the lease in time. */
		COVERED,

		/**
		 * The watcher sleeps: the leader {@link LeaseWatch#rouse rouses} it, or promotes
		 * a follower instead.
		 */
		ASLEEP,

		/** No thread watches. */
		NOBODY

	}

	/**
	 * Whether the lease that the calling leader has just published is watched.
	 * @return the result
	 */
	public Cover cover() {
		int current = this.word.get();
		return (current == NOBODY) ? Cover.NOBODY : ((current & ASLEEP) != 0) ? Cover.ASLEEP : Cover.COVERED;
	}

	/**
	 * Rouses the watcher.
	 * @return the number of the thread that the caller must unpark. If it is 0, the
	 * watcher is awake already or has gone, and the caller checks {@link #cover} again
	 */
	public int rouse() {
		int current = this.word.get();
		return ((current & ASLEEP) != 0 && this.word.compareAndSet(current, current & ~ASLEEP)) ? current & ~ASLEEP : 0;
	}

	/**
	 * Makes the caller the watcher if there is none.
	 * @param participant a follower that is published as waiting
	 * @return whether the caller is now the watcher, which must check all leases
	 */
	public boolean appoint(int participant) {
		return this.word.get() == NOBODY && this.word.compareAndSet(NOBODY, participant);
	}

	/**
	 * Announces that the watcher sleeps until it is roused. It must then check all leases
	 * again, and {@link #rouse} itself if there is one.
	 * @param participant the watcher
	 */
	public void fallAsleep(int participant) {
		this.word.set(participant | ASLEEP);
	}

	/**
	 * Whether the watcher has been roused or has never slept.
	 * @return whether the word says AWAKE
	 */
	public boolean isAwake() {
		return (this.word.get() & ASLEEP) == 0;
	}

	/** Ends the watch of the caller. It must check all leases afterwards. */
	public void resign() {
		this.word.set(NOBODY);
	}

	/**
	 * Whether no thread watches.
	 * @return whether a watcher must be appointed if there is a lease
	 */
	public boolean isVacant() {
		return this.word.get() == NOBODY;
	}

	/**
	 * The thread that watches. Any thread.
	 * @return the number of the thread, or 0
	 */
	public int watcher() {
		return this.word.get() & ~ASLEEP;
	}

}
