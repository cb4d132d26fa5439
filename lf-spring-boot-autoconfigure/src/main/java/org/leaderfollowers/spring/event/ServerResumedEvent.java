package org.leaderfollowers.spring.event;

import org.leaderfollowers.Server;

/**
 * Published when a server was resumed: it accepts waiting and new connections or
 * datagrams.
 */
@SuppressWarnings("serial")
public final class ServerResumedEvent extends ServerEvent {

	/**
	 * Creates a new event.
	 * @param server the server
	 */
	public ServerResumedEvent(Server server) {
		super(server);
	}

}
