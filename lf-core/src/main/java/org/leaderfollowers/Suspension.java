package org.leaderfollowers;

/**
 * Holds up the messages of a connection; see {@link Connection#suspend()}.
 */
@FunctionalInterface
public interface Suspension {

	/**
	 * Ends the suspension. When no suspension of the connection is left, the threads of
	 * the pool handle its messages again. Any thread may call this method. It does not
	 * block, and a second call has no effect.
	 */
	void resume();

}
