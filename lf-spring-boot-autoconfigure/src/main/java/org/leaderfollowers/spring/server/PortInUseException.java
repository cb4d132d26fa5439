package org.leaderfollowers.spring.server;

import org.leaderfollowers.Server;

/**
 * Thrown when a server cannot be started because something else listens on its port.
 */
@SuppressWarnings("serial")
public class PortInUseException extends ServerBindException {

	PortInUseException(Throwable cause, Server server, ServerRegistration registration) {
		super("Port %d is already in use".formatted(server.address().getPort()), cause, server, registration);
	}

}
