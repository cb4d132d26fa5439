package org.leaderfollowers;

import java.nio.channels.SelectableChannel;

/**
 * Makes handles of a pool for event handlers that do not know the pool.
 */
@FunctionalInterface
interface HandleFactory {

	/**
	 * Makes a handle that is owned by the caller and not yet registered.
	 * @param channel non-blocking
	 * @param handler the handler of its events
	 */
	SelectableHandle newHandle(SelectableChannel channel, EngineEventHandler handler);

}
