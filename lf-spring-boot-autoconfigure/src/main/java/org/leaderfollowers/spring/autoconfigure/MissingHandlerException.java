package org.leaderfollowers.spring.autoconfigure;

import java.util.List;

/**
 * Thrown when there is no handler for a server that is configured by properties.
 */
@SuppressWarnings("serial")
class MissingHandlerException extends RuntimeException {

	private final String server;

	private final String prefix;

	private final List<String> unmarkedHandlers;

	MissingHandlerException(String server, String prefix, List<String> unmarkedHandlers) {
		super("Server '%s', configured by the properties '%s.*', has no handler".formatted(server, prefix));
		this.server = server;
		this.prefix = prefix;
		this.unmarkedHandlers = List.copyOf(unmarkedHandlers);
	}

	String getServer() {
		return this.server;
	}

	String getPrefix() {
		return this.prefix;
	}

	/**
	 * Message handlers without the annotation that would make them handlers of a server.
	 */
	List<String> getUnmarkedHandlers() {
		return this.unmarkedHandlers;
	}

}
