package org.leaderfollowers;

import java.nio.channels.SelectableChannel;

/**
 * An event source that can be waited on: a listening socket, a connection, a datagram
 * socket. Handles are iterative (the paper, activity 1.1): one thread at a time works on
 * one. The handle of a {@link UdpServer} is concurrent: one thread at a time reads from
 * it, and as many as there are work on what they have read.
 */
public interface Handle {

	/**
	 * The channel behind the handle.
	 * @return a channel in non-blocking mode
	 */
	SelectableChannel channel();

	/**
	 * The set in which the handle is waited on.
	 * @return the handle set
	 */
	HandleSet handleSet();

	/**
	 * Whether events of the handle can still occur.
	 * @return whether it is open
	 */
	boolean isOpen();

	/**
	 * Closes the handle and its channel. A handler that works on it is not interrupted.
	 * Any thread.
	 */
	void close();

}
