package org.leaderfollowers;

import java.nio.channels.SelectableChannel;

/** Creates handles of a pool for event handlers that do not know the pool. */
@FunctionalInterface
interface HandleFactory {

	/**
	 * Creates a handle that is owned by the caller and not registered yet.
	 * @param channel in non-blocking mode
	 * @param handler the handler of its events
	 */
	SelectableHandle newHandle(SelectableChannel channel, EngineEventHandler handler);

}
