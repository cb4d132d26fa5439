package org.leaderfollowers;

/** The pool that serves a connection, for event handlers that do not know the pool. */
interface ServingPool extends HandleFactory {

	/** The name of the pool. */
	String name();

	/**
	 * Starts the pool, unless this has been done.
	 * @throws IllegalStateException if the pool was closed
	 */
	void start();

	/**
	 * Takes over a handle from another pool, and looks at it. If this pool has ended, the
	 * handle is abandoned. Called by the leader of the handle's current set, on behalf of
	 * the owner.
	 */
	void adopt(SelectableHandle handle);

}
