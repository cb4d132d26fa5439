package org.leaderfollowers.spring.event;

import org.jspecify.annotations.Nullable;

import org.springframework.context.ApplicationEvent;

/**
 * To be published by the application to pause a server, or all servers of the context:
 * the same as a call of {@code LeaderFollowersServers}, for those who do not know it.
 *
 * @serial exclude
 */
@SuppressWarnings("serial")
public final class PauseServerEvent extends ApplicationEvent {

	private final @Nullable String server;

	/**
	 * Creates a new event.
	 * @param source who wants it
	 * @param server the name of the server to be paused, or {@code null} for all of them
	 */
	public PauseServerEvent(Object source, @Nullable String server) {
		super(source);
		this.server = server;
	}

	/**
	 * Returns the server to be paused.
	 * @return its name, or {@code null} for all of them
	 */
	public @Nullable String getServer() {
		return this.server;
	}

}
