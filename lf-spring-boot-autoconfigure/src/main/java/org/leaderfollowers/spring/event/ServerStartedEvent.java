package org.leaderfollowers.spring.event;

import org.leaderfollowers.Server;

/** Published when a server was started: its port is bound, and it accepts clients. */
@SuppressWarnings("serial")
public final class ServerStartedEvent extends ServerEvent {

	/**
	 * Creates a new event.
	 * @param server the server
	 */
	public ServerStartedEvent(Server server) {
		super(server);
	}

}
