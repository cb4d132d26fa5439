package org.leaderfollowers.spring.event;

import org.leaderfollowers.LeaderFollowersPool;
import org.leaderfollowers.PoolAlarm;

/**
 * Published when a thread of a pool has not come back for long: a leader that is stuck,
 * or a handler that is deadlocked or slow. The watchdog of the pool publishes it, once
 * for each such thread, and watches nothing while a listener runs.
 *
 * @serial exclude
 */
@SuppressWarnings("serial")
public final class PoolAlarmEvent extends LfEvent {

	private final PoolAlarm alarm;

	/**
	 * Creates a new event.
	 * @param pool the pool
	 * @param alarm describes the thread
	 */
	public PoolAlarmEvent(LeaderFollowersPool pool, PoolAlarm alarm) {
		super(pool);
		this.alarm = alarm;
	}

	/**
	 * Returns the pool.
	 * @return the pool
	 */
	public LeaderFollowersPool getPool() {
		return (LeaderFollowersPool) getSource();
	}

	/**
	 * Returns the alarm.
	 * @return a description of the thread and its stack
	 */
	public PoolAlarm getAlarm() {
		return this.alarm;
	}

	@Override
	public String toString() {
		return "PoolAlarmEvent[pool=%s, alarm=%s]".formatted(getPool().name(), this.alarm.description());
	}

}
