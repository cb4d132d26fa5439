package org.leaderfollowers.spring.event;

import org.leaderfollowers.Server;

/**
 * Something that happened to a server. Published by the thread that caused it.
 */
@SuppressWarnings("serial")
public abstract class ServerEvent extends LfEvent {

	ServerEvent(Server server) {
		super(server);
	}

	/**
	 * Returns the server.
	 * @return the server as it is in this life of the context
	 */
	public final Server getServer() {
		return (Server) getSource();
	}

	@Override
	public String toString() {
		return "%s[server=%s]".formatted(getClass().getSimpleName(), getServer().name());
	}

}
