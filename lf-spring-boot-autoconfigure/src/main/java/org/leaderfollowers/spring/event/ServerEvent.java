package org.leaderfollowers.spring.event;

import org.leaderfollowers.Server;

/** An event of a server. The thread that has caused it publishes it. */
@SuppressWarnings("serial")
public abstract class ServerEvent extends LfEvent {

	ServerEvent(Server server) {
		super(server);
	}

	/**
	 * Returns the server.
	 * @return the server, which is a new object each time the context is started
	 */
	public final Server getServer() {
		return (Server) getSource();
	}

	@Override
	public String toString() {
		return "%s[server=%s]".formatted(getClass().getSimpleName(), getServer().name());
	}

}
