package org.leaderfollowers;

import java.nio.channels.SelectableChannel;

/**
 * A channel whose events a handle set waits for: a listening socket, a connection, a
 * datagram socket. Handles are iterative (the paper, activity 1.1): only one thread at a
 * time works on a handle. The handle of a {@link UdpServer} is concurrent: one thread at
 * a time reads from it, and several threads process the datagrams that they have read.
 */
public interface Handle {

	/**
	 * The channel behind the handle.
	 * @return a channel in non-blocking mode
	 */
	SelectableChannel channel();

	/**
	 * The set that waits for the events of the handle.
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
