package org.leaderfollowers.spring.autoconfigure;

import java.util.List;

/**
 * Thrown when there are several handlers for one server.
 */
@SuppressWarnings("serial")
class DuplicateHandlerException extends RuntimeException {

	private final String server;

	private final List<String> handlers;

	DuplicateHandlerException(String server, List<String> handlers) {
		super("Server '%s' has %d handlers: %s".formatted(server, handlers.size(), String.join("; ", handlers)));
		this.server = server;
		this.handlers = List.copyOf(handlers);
	}

	String getServer() {
		return this.server;
	}

	List<String> getHandlers() {
		return this.handlers;
	}

}
