package org.leaderfollowers.spring.server;

import java.util.Collection;
import java.util.List;

import org.jspecify.annotations.Nullable;

/**
 * Thrown when a server is asked for that does not exist.
 *
 * @serial exclude
 */
@SuppressWarnings("serial")
public class UnknownServerException extends RuntimeException {

	private final String server;

	private final List<String> knownServers;

	private final @Nullable String handler;

	/**
	 * Creates a new exception.
	 * @param server the server that was asked for
	 * @param knownServers the servers that there are
	 * @param handler the bean whose annotation names the server and where that is
	 * defined, if it was one
	 */
	public UnknownServerException(String server, Collection<String> knownServers, @Nullable String handler) {
		super("There is no server named '%s'. Known servers: %s".formatted(server, String.join(", ", knownServers)));
		this.server = server;
		this.knownServers = List.copyOf(knownServers);
		this.handler = handler;
	}

	/**
	 * Returns the server that was asked for.
	 * @return the name of the server
	 */
	public String getServer() {
		return this.server;
	}

	/**
	 * Returns the servers that there are.
	 * @return the names of the servers
	 */
	public List<String> getKnownServers() {
		return this.knownServers;
	}

	/**
	 * Returns the bean whose annotation names the server.
	 * @return the bean and where it is defined, or {@code null} if code asked for the
	 * server
	 */
	public @Nullable String getHandler() {
		return this.handler;
	}

}
