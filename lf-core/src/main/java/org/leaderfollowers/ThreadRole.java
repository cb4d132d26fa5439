package org.leaderfollowers;

/**
 * The role of a thread of the pool: the three states of the pattern (the paper, section
 * 7).
 */
public enum ThreadRole {

	/** Waits for events on a handle set, or takes a handle that is ready. */
	LEADER,

	/** Runs a handler. */
	PROCESSING,

	/** Waits to be promoted. */
	FOLLOWER

}
