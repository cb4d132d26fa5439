package org.leaderfollowers.spring.event;

import org.leaderfollowers.Server;

/**
 * Published when a server was stopped: its port is free, and its connections are closed.
 */
@SuppressWarnings("serial")
public final class ServerStoppedEvent extends ServerEvent {

	/**
	 * Creates a new event.
	 * @param server the server
	 */
	public ServerStoppedEvent(Server server) {
		super(server);
	}

}
