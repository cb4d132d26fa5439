package org.leaderfollowers;

/**
 * Holds up the messages of a connection; see {@link Connection#suspend()}.
 */
@FunctionalInterface
public interface Suspension {

	/**
	 * Ends the suspension: as soon as none is left, the messages of the connection are
	 * handled again, by the threads of the pool. Any thread; does not block, and does
	 * nothing the second time.
	 */
	void resume();

}
