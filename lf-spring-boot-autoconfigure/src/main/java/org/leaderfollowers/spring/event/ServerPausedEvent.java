package org.leaderfollowers.spring.event;

import org.leaderfollowers.Server;

/**
 * Published when a server was paused: it accepts no new connections or datagrams until it
 * is resumed.
 */
@SuppressWarnings("serial")
public final class ServerPausedEvent extends ServerEvent {

	/**
	 * Creates a new event.
	 * @param server the server
	 */
	public ServerPausedEvent(Server server) {
		super(server);
	}

}
